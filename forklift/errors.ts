/** Turns any error into one sentence and an exit code. */
import { ProcessOutput } from 'zx/core'
import { Failure } from '../core/failure.ts'
import { isFull } from '../core/full-disk.ts'
import { TooLarge } from '../core/git/bounds.ts'
import { GitError } from '../core/git/run.ts'
import { firstLine, visible } from '../core/text.ts'

/**
 * Turns an error into a Failure. `folder` is where Forklift writes: whether its disk is full is measured, since git's
 * messages may contain untrusted text.
 */
export async function inWords(error: unknown, signal: AbortSignal, folder: string): Promise<Failure> {
  if (signal.aborted) return signal.reason as Failure
  if (error instanceof Failure) return error
  if (error instanceof TooLarge)
    return new Failure(
      `What upstream or the fork brings is too large to be judged: ${error.message}. Merge it by hand.`,
    )
  const full = new Failure('The disk is full: free some space and run forklift again.')
  if (error instanceof ProcessOutput || error instanceof GitError) {
    if (await isFull(folder).catch(() => false)) return full
    if (MISSING_OBJECT.test(reasonOf(error))) return new DamagedClone(reasonOf(error))
    return new Failure(`git or docker failed: ${reasonOf(error)}.`)
  }
  const { code, path, message } = error as NodeJS.ErrnoException
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code ?? '')) return full
  if (code && path) return new Failure(`${path} can't be used (${code}): check its owner and its disk.`)
  return new Failure(`${message}: this was not expected, please report it.`)
}

/** How git says that an object is missing or unreadable. */
const MISSING_OBJECT =
  /unable to (read|find|parse)|could not (read|parse|open) .*(object|commit|tree)|missing (blob|tree|commit|object)|bad (tree )?object|(object|packfile).* (is )?corrupt|corrupt (loose )?object|unable to unpack|did not receive expected object|failed to traverse|revision walk setup failed/i

/** The failure for a clone in which objects are missing or unreadable. Its message says how to get them. */
export class DamagedClone extends Failure {
  constructor(reason: string) {
    super(
      `This clone lacks an object, or can't read it (${visible(reason)}): see git fsck, then git fetch --refetch origin and upstream (or clone anew), and run forklift again.`,
    )
  }
}

function reasonOf(error: ProcessOutput | GitError): string {
  if (error instanceof GitError) return error.message
  return error.stderr ? firstLine(error.stderr) : `ended by ${error.signal ?? error.exitCode}`
}
