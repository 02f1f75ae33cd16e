import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Links all programs of PATH except some into a new folder. Gives the PATH that finds only those. */
export async function pathWithout(folder: string, programs: string[]): Promise<string> {
  const found = new Map<string, string>()
  for (const place of (process.env.PATH ?? '').split(':')) {
    for (const name of await readdir(place).catch(() => [] as string[]))
      if (!found.has(name) && !programs.includes(name)) found.set(name, join(place, name))
  }
  await mkdir(folder, { recursive: true })
  await Promise.all([...found].map(([name, place]) => symlink(place, join(folder, name))))
  return folder
}
