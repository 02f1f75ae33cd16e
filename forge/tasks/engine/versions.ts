/** The version of Temporal, and the version of the code that a worker runs. */
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The downloaded release of Temporal's command line, which contains the server. */
export const SERVER_VERSION = 'v1.9.1'

const ROOT = join(import.meta.dir, '../../..')
/** The files and folders that a worker runs. */
export const PARTS = [
  ...['core', 'forge.ts', 'forge/ai', 'forge/cache-file.ts', 'forge/code', 'forge/formats', 'forge/tasks'],
  ...['forge/vfs.ts', 'bun.lock'],
]

/** A digest of the names, sizes and times of all files that a worker runs; it differs after any change. */
export async function codeVersion(): Promise<string> {
  const lists = await Promise.all(PARTS.map(part => describe(part)))
  return createHash('sha256').update(lists.flat().sort().join('\n')).digest('hex').slice(0, 16)
}

async function describe(part: string): Promise<string[]> {
  const path = join(ROOT, part)
  const info = await stat(path).catch(() => undefined)
  if (!info) return []
  if (!info.isDirectory()) return [`${part} ${info.size} ${info.mtimeMs}`]
  const names = await readdir(path)
  return (
    await Promise.all(names.filter(name => name !== 'node_modules').map(name => describe(`${part}/${name}`)))
  ).flat()
}
