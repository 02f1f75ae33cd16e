/**
 * What the user has switched on for a repository: each is a file in the desk's state folder, since the repository's own
 * settings are untrusted.
 */
import { randomUUID } from 'node:crypto'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The names of the files. */
export type Switch = 'commands-are-on' | 'language-servers-are-on'

/** Whether something is switched on, for the repository of this state folder. */
export async function isSwitchedOn(state: string, name: Switch): Promise<boolean> {
  const found = await stat(join(state, name)).catch(() => undefined)
  return found?.isFile() === true
}

/** Switches something on or off. Throws where the state folder is not writable. */
export async function switchTo(state: string, name: Switch, isOn: boolean): Promise<void> {
  const path = join(state, name)
  if (!isOn) return await rm(path, { force: true })
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, '', { mode: 0o600, flag: 'wx' })
  await rename(draft, path)
}
