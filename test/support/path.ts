import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
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

/** Programs that take a large part of a second to print their version. */
const SLOW = ['java', 'javac', 'mvn', 'npm', 'npx', 'pip', 'pip3', 'pytest', 'yq']

/**
 * Puts programs into a folder, first on PATH, that print a version at once in place of slow ones. A run of the tasks
 * asks all programs of an image for their versions, and each new repository of a test asks again.
 */
export async function shadowSlowPrograms(folder: string): Promise<void> {
  const script = '#!/bin/sh\necho 1.2.3\n'
  await Promise.all(SLOW.map(name => writeFile(join(folder, name), script, { mode: 0o755 })))
}
