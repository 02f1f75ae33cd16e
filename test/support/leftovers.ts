/** Folders that tests, and programs that use their scenes, leave until they end. */
import { rmSync } from 'node:fs'

const folders: string[] = []

/** Has a folder removed, with all that is in it, when this process ends. */
export function removeAtEnd(folder: string): void {
  folders.push(folder)
}

/** Removes these folders. */
export function removeLeftovers(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

// `bun test` does not emit this event: see tests-end.ts.
process.on('exit', removeLeftovers)
