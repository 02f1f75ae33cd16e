/** What can be measured of the disk, where a command failed and its words can't be believed. */
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes, and files, that must be left for a command to have failed of something else. */
const LEAST = { bytes: 16 << 20, files: 16 }

/** Whether nothing more can be written to the disk of a folder, as the file system says or a small file in it shows. */
export async function isFull(folder: string): Promise<boolean> {
  const { bavail, bsize, files, ffree } = await statfs(folder)
  if (bavail * bsize < LEAST.bytes || (files > 0 && ffree < LEAST.files)) return true
  // A quota or a limit of this process is not among the numbers of the file system.
  const probe = join(folder, `.probe-${process.pid}`)
  try {
    await writeFile(probe, Buffer.alloc(1 << 20))
    return false
  } catch {
    return true
  } finally {
    await rm(probe, { force: true })
  }
}
