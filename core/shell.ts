/**
 * zx for the commands that run git and docker: unattended, each command in a process group of its own, no argument
 * taken for an option.
 */
import { type SpawnOptions, spawn } from 'node:child_process'
import { $, type Options, type Shell } from 'zx/core'
import { unattended } from './git/environment.ts'
import type { Where } from './git/run.ts'

/**
 * Starts a command unless the signal is aborted: node would start it and kill it a moment later. A broken pipe is
 * ignored: a command that ends before it has read its input reports by its exit code.
 */
const spawnUnlessAborted = ((command: string, args: string[], options: SpawnOptions) => {
  const child = spawn(options.signal?.aborted ? 'kill $$' : command, args, options)
  child.stdin?.on('error', () => undefined)
  return child
}) as typeof spawn

/** zx for commands in one folder, with the environment in which git runs unattended. */
export function shellIn({ cwd, env, signal, bounds }: Where, options: Partial<Options> = {}): Shell {
  const memory = bounds && Number.isFinite(bounds.memory) ? Math.floor(bounds.memory / 1024) : 'unlimited'
  return $({
    cwd,
    quiet: true,
    // A process group of its own, so that an interruption also ends what git started, and nothing can prompt on the
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
