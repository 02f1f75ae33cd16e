/** What can be measured of the disk, where a command failed and its words can't be believed. */
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from './git/run.ts'
import { visible } from './text.ts'

/** Bytes, and files, that must be left for a command to have failed of something else. */
const NEARLY_FULL = { bytes: 16 << 20, files: 16 }

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

/**
 * A sentence where something failed since nothing more fits on a disk, with the one of the folders that is full;
 * undefined where it failed of something else.
 */
export async function whyFull(error: unknown, folders: readonly string[]): Promise<string | undefined> {
  const isSaid = saysFull(error)
  if (!isSaid && !mayBeFull(error)) return undefined
  for (const folder of folders) {
    if (!(await isFull(folder).catch(() => false))) continue
    return `No space is left on the disk of ${visible(folder)}: make room there.`
  }
  return isSaid ? 'No space is left on a disk that is written to: make room there.' : undefined
}

/** Git and SQLite do not always say why they can't write. */
const mayBeFull = (error: unknown): boolean =>
  error instanceof GitError || `${(error as { code?: unknown } | undefined)?.code}`.startsWith('SQLITE_IOERR')

/** Whether an error, or what it was caused by, is that nothing more fits: as the system, SQLite and git say it. */
function saysFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, stderr = '' } = at as { code?: unknown; stderr?: unknown }
    if (typeof code === 'string' && (FULL.includes(code) || code === 'SQLITE_FULL')) return true
    if (/No space left on device|Disk quota exceeded|File too large/.test(`${stderr}`)) return true
  }
  return false
}

/** The system's word for why a small file can't be written. */
async function troubleIn(folder: string): Promise<string | undefined> {
  const probe = join(folder, `.probe-${process.pid}`)
  try {
    const { bavail, bsize, files, ffree } = await statfs(folder)
    if (bavail * bsize < NEARLY_FULL.bytes || (files > 0 && ffree < NEARLY_FULL.files)) return 'ENOSPC'
    // A quota or a limit of this process is not among the numbers of the file system.
    await writeFile(probe, Buffer.alloc(1 << 20))
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EIO'
  } finally {
    await rm(probe, { force: true }).catch(() => undefined)
  }
}
