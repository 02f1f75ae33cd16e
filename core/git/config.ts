/** The repository's own configuration, written beside others that write it, too. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Repository } from './repository.ts'
import { GitError, run } from './run.ts'

/** How often a file that another git writes at this moment is tried again, and after how many milliseconds. */
const TRIES = 20
const RETRY_MS = 50

/**
 * Sets a key of the repository's own configuration, with patience for another git that is just writing it. Throws
 * {@link GitError} where git can't.
 */
export async function setConfig(repository: Repository, key: string, value: string): Promise<void> {
  await write(repository, [key, value])
}

/** The same for one more value of a key that may have several. */
export async function addConfig(repository: Repository, key: string, value: string): Promise<void> {
  await write(repository, ['--add', key, value])
}

async function write(repository: Repository, args: readonly string[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await run(repository, ['config', '--local', ...args])
      return
    } catch (error) {
      const isLocked = error instanceof GitError && /could not lock config file .*: File exists/.test(error.stderr)
      if (!isLocked || tries >= TRIES) throw error
    }
    await sleep(RETRY_MS)
  }
}
