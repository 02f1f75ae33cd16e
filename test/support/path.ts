import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Fills a new folder with all programs of PATH but some, and gives what PATH must be to find those alone. */
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
