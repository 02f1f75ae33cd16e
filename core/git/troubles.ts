/** Why git could not read or write its files, in words for the user: what happened, and what to do next. */
import { visible } from '../text.ts'
import { GitError } from './run.ts'

/** A file that another git process has locked, in git's words: a lock file, or the configuration. */
const LOCKED = /Unable to create '(.*\.lock)': File exists|could not lock config file (.*): File exists/

/** A file or folder that git may not write, in git's words. */
const DENIED = [
  /(?:unable to (?:create|open|write)|could not (?:lock config file|open)|cannot open) '?(.+?)'?: (?:Permission denied|Read-only file system)$/im,
  /insufficient permission for adding an object to repository database (.+)$/m,
]

const FULL = /: (?:No space left on device|Disk quota exceeded)$/m

/** What to say where the disk is full, as part of a sentence. */
export const DISK_IS_FULL = 'the disk is full, so free some space on it'

/**
 * Why git failed, as part of a sentence, where that was due to a lock, to missing permissions or to a full disk of this
 * machine; undefined for other errors. What a remote says of its own files does not count.
 */
export function whyGitFailed(error: unknown): string | undefined {
  if (!(error instanceof GitError)) return undefined
  const own = error.stderr.split('\n').filter(line => !line.startsWith('remote: '))
  const stderr = own.join('\n')
  const [, lock, config] = LOCKED.exec(stderr) ?? []
  const locked = lock ?? (config && `${config}.lock`)
  if (locked)
    return `another git command is at work, so wait for its end, or delete ${visible(locked)} if there is none`
  const denied = DENIED.map(pattern => pattern.exec(stderr)?.[1]).find(path => path !== undefined)
  if (denied !== undefined) return `you have no permission to write ${visible(denied)}, so give it to yourself`
  return FULL.test(stderr) ? DISK_IS_FULL : undefined
}
