/** Writes the repository's own configuration, while other programs may write it too. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Repository } from './repository.ts'
import { GitError, run } from './run.ts'

/** At most this many further tries where another process has locked the configuration file. */
const TRIES = 20
/** Milliseconds between two tries. */
const RETRY_MS = 50

/**
 * Sets a key in the repository's configuration. Retries while another git process has locked the file. Throws a {@link
 * GitError} where that fails.
 */
export async function setConfig(repository: Repository, key: string, value: string): Promise<void> {
  await write(repository, [key, value])
}

/** Adds a value to a key that may have several, as {@link setConfig} sets one. */
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
