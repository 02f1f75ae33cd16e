/** What can be measured of the disk, where a command failed and its words can't be believed. */
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes, and files, that must be left for a command to have failed of something else. */
const LEAST = { bytes: 16 << 20, files: 16 }

/** How the system says that no more fits: on the disk, in a quota, in a limit of this process. */
const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Whether nothing more fits on the disk of a folder, as the file system says or a small file in it shows. */
export async function isFull(folder: string): Promise<boolean> {
  return FULL.includes((await troubleIn(folder)) ?? '')
}

/** Whether a folder can be written to: not on a full or a broken disk, nor on one that has become read-only. */
export async function canBeWritten(folder: string): Promise<boolean> {
  return (await troubleIn(folder)) === undefined
}

/** The system's word for why a small file can't be written. */
async function troubleIn(folder: string): Promise<string | undefined> {
  const probe = join(folder, `.probe-${process.pid}`)
  try {
    const { bavail, bsize, files, ffree } = await statfs(folder)
    if (bavail * bsize < LEAST.bytes || (files > 0 && ffree < LEAST.files)) return 'ENOSPC'
    // A quota or a limit of this process is not among the numbers of the file system.
    await writeFile(probe, Buffer.alloc(1 << 20))
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EIO'
  } finally {
    await rm(probe, { force: true }).catch(() => undefined)
  }
}
