/** The repository's own configuration, written beside others that write it, too. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Repository } from './repository.ts'
import { GitError, run } from './run.ts'

/** How often a file that another git writes at this moment is tried again, and after how many milliseconds. */
const TRIES = 20
const PAUSE = 50

/**
 * Sets a key of the repository's own configuration, with patience for another git that is just writing it. Throws
 * {@link GitError} where git can't.
 */
export async function setConfig(repository: Repository, key: string, value: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await run(repository, ['config', '--local', key, value])
      return
    } catch (error) {
      const isLocked = error instanceof GitError && /could not lock config file .*: File exists/.test(error.stderr)
      if (!isLocked || tries >= TRIES) throw error
    }
    await sleep(PAUSE)
  }
}
