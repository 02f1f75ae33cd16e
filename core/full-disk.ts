/** Finds out whether a full disk made a command fail, independent of the command's own message. */
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from './git/run.ts'
import { visible } from './text.ts'

/** With less than this many bytes or files free, a failure may be due to the disk. */
const NEARLY_FULL = { bytes: 16 << 20, files: 16 }

/** Error codes for a full disk, an exceeded quota, and a file size limit of the process. */
const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Whether the disk of a folder is full, by the file system's numbers or by writing a small file. */
export async function isFull(folder: string): Promise<boolean> {
  return FULL.includes((await troubleIn(folder)) ?? '')
}

/** Whether a file can be written in a folder: false on a full, broken or read-only disk. */
export async function canBeWritten(folder: string): Promise<boolean> {
  return (await troubleIn(folder)) === undefined
}

/** A sentence that names the folder whose disk is full, where that made `error` happen; undefined for other errors. */
export async function whyFull(error: unknown, folders: readonly string[]): Promise<string | undefined> {
  const isSaid = saysFull(error)
  if (!isSaid && !mayBeFull(error)) return undefined
  for (const folder of folders) {
    if (!(await isFull(folder).catch(() => false))) continue
    return `No space is left on the disk of ${visible(folder)}: make room there.`
  }
  return isSaid ? 'No space is left on a disk that is written to: make room there.' : undefined
}

/** Whether an error of git or SQLite may be due to a full disk: they do not always say why a write failed. */
const mayBeFull = (error: unknown): boolean =>
  error instanceof GitError || `${(error as { code?: unknown } | undefined)?.code}`.startsWith('SQLITE_IOERR')

/** Whether an error or one of its causes says that the disk is full, in the words of the system, SQLite or git. */
function saysFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, stderr = '' } = at as { code?: unknown; stderr?: unknown }
    if (typeof code === 'string' && (FULL.includes(code) || code === 'SQLITE_FULL')) return true
    if (/No space left on device|Disk quota exceeded|File too large/.test(`${stderr}`)) return true
  }
  return false
}

/** The error code for writing a small file in a folder; undefined where it can be written. */
async function troubleIn(folder: string): Promise<string | undefined> {
  const probe = join(folder, `.probe-${process.pid}`)
  try {
    const { bavail, bsize, files, ffree } = await statfs(folder)
    if (bavail * bsize < NEARLY_FULL.bytes || (files > 0 && ffree < NEARLY_FULL.files)) return 'ENOSPC'
    // Quotas and file size limits are not among the file system's numbers: only writing shows them.
    await writeFile(probe, Buffer.alloc(1 << 20))
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EIO'
  } finally {
    await rm(probe, { force: true }).catch(() => undefined)
  }
}
