/** Moves refs with retries while another git process has locked them, and removes locks that killed processes left. */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Move, moveRefs } from './refs.ts'
import type { Repository } from './repository.ts'
import { GitError } from './run.ts'

/**
 * At most this many tries while another process has locked a ref; about four times as many where the ref is one of the
 * caller's own, whose lock a killed process may have left.
 */
const TRIES = 6
/** Milliseconds between two tries to move refs. */
const RETRY_MS = 50

/**
 * Moves refs as {@link moveRefs} does, and retries while another git process has locked one of them. A lock that stays
 * on a ref below `own` was left by a killed process and is removed. A lock on any other ref may belong to another
 * program, so it is left to the user. Throws what moveRefs throws.
 */
export async function moveRefsPatiently(
  repository: Repository,
  moves: readonly Move[],
  { message, own }: { message: string; own: string },
): Promise<void> {
  let seen: string | undefined
  for (let tries = 1; ; tries++) {
    try {
      return await moveRefs(repository, moves, { message })
    } catch (error) {
      const lock = error instanceof GitError ? LOCKED.exec(error.stderr)?.[1] : undefined
      if (lock === undefined) throw error
      const now = await identityOf(lock)
      const isOwn = lock.startsWith(join(repository.commonDir, own))
      if (tries >= TRIES && !isOwn) throw error
      if (tries >= 2 * TRIES && now !== undefined && now === seen) await rm(lock, { force: true })
      if (tries > 4 * TRIES) throw error
      // Remembers the lock file by its inode and time: it is removed only if the same file is still there after another
      // TRIES tries.
      if (tries === TRIES) seen = now
    }
    await sleep(RETRY_MS)
  }
}

const LOCKED = /Unable to create '(.*\.lock)': File exists/s

async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found && `${found.ino} ${found.mtimeNs}`
}
