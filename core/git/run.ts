/**
 * Git, run as it is: no shell, no zx, exact bytes in and out, and never a question on a terminal. What a person should
 * read in a script is run with zx instead (../shell.ts), in the same environment.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { firstLine } from '../text.ts'
import { unattended, type Variables } from './environment.ts'

/** Where git runs, and how: a {@link Repository} is one whose `env` names it. */
export type Where = {
  cwd: string
  /** What git is told beyond the unattended environment; undefined takes a variable away. */
  env?: Variables
  /** Ends what runs, and lets nothing more begin: every call then throws its reason. */
  signal?: AbortSignal
}

export type RunOptions = {
  input?: string | Uint8Array
  /** The exit codes that are an answer; any other is thrown. A command that was killed has none. */
  ok?: readonly number[] | 'any'
  env?: Variables
  /** At most so many bytes are read; git is ended then, and the answer is `cut`. */
  limit?: number
  /** Milliseconds, after which git is ended and {@link GitError} thrown. */
  timeout?: number
  /** Gets git's own words (its counts, with --progress) as they come. */
  onWords?: (text: string) => void
}

export type Answer = { code: number; stdout: Buffer; stderr: string; cut: boolean }

/** Git ended otherwise than it should. `code` is undefined where it was ended; `stderr` may hold words of strangers. */
export class GitError extends Error {
  constructor(
    readonly command: string,
    readonly code: number | undefined,
    readonly stderr: string,
    readonly stdout: string,
  ) {
    super(stderr ? firstLine(stderr) : `git ${command} ended with ${code ?? 'a signal'}`)
  }
}

/** The word that says what git does: the first that is neither a flag nor the value of -c. */
const commandOf = (args: readonly string[]): string =>
  args.find((word, at) => !word.startsWith('-') && args[at - 1] !== '-c') ?? ''

/**
 * Starts git, for {@link run} and for those that keep one running. It gets a process group of its own: what git starts
 * ends with it ({@link end}), and nothing can ask on the terminal.
 */
export function start(where: Where, args: readonly string[], input: 'pipe' | 'ignore', env?: Variables): ChildProcess {
  const child = spawn('git', args, {
    cwd: where.cwd,
    env: unattended({ ...where.env, ...env }),
    detached: true,
    stdio: [input, 'pipe', 'pipe'],
  })
  // A command that ends before it has read its input tells why by its exit code, not by a broken pipe.
  child.stdin?.on('error', () => undefined)
  return child
}

/** Ends a git that was {@link start}ed, and what it has started itself. One that has ended already is left alone. */
export function end(child: ChildProcess, how: NodeJS.Signals): void {
  try {
    if (child.pid) process.kill(-child.pid, how)
  } catch {
    // It has ended already.
  }
}

/**
 * Runs git to its end. Throws {@link GitError} where the exit code is not among `ok`, the signal's reason where that is
 * aborted, and the error of the system where git can't be started.
 */
export async function run(where: Where, args: readonly string[], options: RunOptions = {}): Promise<Answer> {
  const { signal } = where
  const { input, ok = [0], limit = Number.POSITIVE_INFINITY, timeout, onWords } = options
  signal?.throwIfAborted()
  const child = start(where, args, input === undefined ? 'ignore' : 'pipe', options.env)
  const interrupt = () => end(child, 'SIGTERM')
  signal?.addEventListener('abort', interrupt, { once: true })
  let timedOut = false
  const clock =
    timeout === undefined
      ? undefined
      : setTimeout(() => {
          timedOut = true
          end(child, 'SIGKILL')
        }, timeout)
  try {
    const pieces: Buffer[] = []
    let [size, stderr, cut] = [0, '', false]
    child.stdout?.on('data', (piece: Buffer) => {
      if (cut) return
      pieces.push(size + piece.length > limit ? piece.subarray(0, limit - size) : piece)
      size += piece.length
      if (size <= limit) return
      cut = true
      end(child, 'SIGKILL')
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // Words are for a sentence: what goes beyond is the chatter of a progress, or somebody's mischief.
      stderr = (stderr + text).slice(-65_536)
      onWords?.(text)
    })
    child.stdin?.end(input)
    const code = await new Promise<number | undefined>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', status => resolve(status ?? undefined))
    })
    signal?.throwIfAborted()
    const stdout = Buffer.concat(pieces)
    if (cut) return { code: code ?? 0, stdout, stderr, cut }
    if (timedOut) throw new GitError(commandOf(args), undefined, `git took longer than ${timeout} ms`, '')
    if (code === undefined || (ok !== 'any' && !ok.includes(code)))
      throw new GitError(commandOf(args), code, stderr, stdout.toString().slice(0, 65_536))
    return { code, stdout, stderr, cut }
  } finally {
    clearTimeout(clock)
    signal?.removeEventListener('abort', interrupt)
  }
}

/** What git prints, as text, without the line end after it. For paths take {@link run} and its bytes. */
export async function read(where: Where, args: readonly string[], options?: RunOptions): Promise<string> {
  return (await run(where, args, options)).stdout.toString().trimEnd()
}

/** For commands that answer by their exit code: 0 is yes, 1 is no, and anything else is thrown. */
export async function holds(where: Where, args: readonly string[], options?: RunOptions): Promise<boolean> {
  return (await run(where, args, { ...options, ok: [0, 1] })).code === 0
}
