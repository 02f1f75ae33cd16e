/**
 * zx as the commands use it for git and docker: unattended, one process group a command, no word taken for an option.
 */
import { type SpawnOptions, spawn } from 'node:child_process'
import { $, type Options, type Shell } from 'zx/core'
import { unattended } from './git/environment.ts'
import type { Where } from './git/run.ts'

/**
 * Starts a command, or nothing where the run has been interrupted: with an aborted signal node starts it all the same,
 * and ends it a moment later. A broken pipe is no error: a command that ends before it has read its input says why by
 * its exit code.
 */
const spawnUnlessAborted = ((command: string, args: string[], options: SpawnOptions) => {
  const child = spawn(options.signal?.aborted ? 'kill $$' : command, args, options)
  child.stdin?.on('error', () => undefined)
  return child
}) as typeof spawn

/** zx for one folder, e.g. a repository, with the environment that git needs to run unattended. */
export function shellIn({ cwd, env, signal, bounds }: Where, options: Partial<Options> = {}): Shell {
  const memory = bounds && Number.isFinite(bounds.memory) ? Math.floor(bounds.memory / 1024) : 'unlimited'
  return $({
    cwd,
    quiet: true,
    // A process group of its own, so that an interruption ends what git started, too, and nothing can ask on the
    // terminal.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    spawn: spawnUnlessAborted,
    ...(signal && { signal }),
    ...(bounds && { timeout: `${bounds.seconds}s`, prefix: `ulimit -d ${memory} 2>/dev/null; ${$.prefix ?? ''}` }),
    ...options,
    env: unattended(env),
  }) as Shell
}
