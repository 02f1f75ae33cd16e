/**
 * Git, run as it is: no shell, no zx, exact bytes in and out, and never a question on a terminal. What a person should
 * read in a script is run with zx instead (../shell.ts), in the same environment.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { firstLine } from '../text.ts'
import type { Bounds } from './bounds.ts'
import { unattended, type Variables } from './environment.ts'

/** Where git runs, and how: a {@link Repository} is one whose `env` names it. */
export type Where = {
  cwd: string
  /** What git is told beyond the unattended environment; undefined takes a variable away. */
  env?: Variables
  /** Ends what runs, and lets nothing more begin: every call then throws its reason. */
  signal?: AbortSignal
  /** What each git may take, where it is asked about objects of strangers; without them, what it needs. */
  bounds?: Bounds
}

export type GitOptions = {
  input?: string | Uint8Array
  /** The exit codes that are an answer; any other is thrown. A command that was killed has none. */
  ok?: readonly number[] | 'any'
  env?: Variables
  /** The most bytes that are read: git is ended there, and the answer is `cut`. */
  limit?: number
  /** Instead of those of the place. */
  bounds?: Bounds
  /** Gets what git prints as it comes, and may have enough of it; `stdout` stays empty then. */
  onOutput?: (piece: Buffer) => 'enough' | undefined
  /** Gets git's own words (its counts, with --progress) as they come. */
  onWords?: (text: string) => void
}

export type GitAnswer = { code: number; stdout: Buffer; stderr: string; cut: boolean }

/** How git was ended: by a bound of its place, or by a signal that was not ours. */
export type Ending = { bound?: 'time' | 'output'; signal?: NodeJS.Signals }

/** Git ended otherwise than it should. `code` is undefined where it was ended; `stderr` may hold words of strangers. */
export class GitError extends Error {
  constructor(
    readonly command: string,
    readonly code: number | undefined,
    readonly stderr: string,
    readonly stdout: string,
    readonly ending: Ending = {},
  ) {
    super(ending.bound || !stderr ? `git ${command} ${wayTo(code, ending)}` : firstLine(stderr))
  }
}

const wayTo = (code: number | undefined, { bound, signal }: Ending): string =>
  bound ? `took too much ${bound === 'time' ? 'time' : 'space'}` : `ended with ${code ?? signal ?? 'a signal'}`

/**
 * For a git that reads very many blobs at once: memory for the bases of deltas. With git's default of 96 MiB it unpacks
 * the same bases again and again, and takes three times as long.
 */
export const MANY_BLOBS = ['-c', 'core.deltaBaseCacheLimit=256m']

/** The word that says what git does: the first that is neither a flag nor the value of -c. */
const commandOf = (args: readonly string[]): string =>
  args.find((word, at) => !word.startsWith('-') && args[at - 1] !== '-c') ?? ''

/**
 * Starts git, for {@link run} and for those that keep one running. It gets a process group of its own: what git starts
 * ends with it ({@link endChild}), and nothing can ask on the terminal. Its memory is bounded by those of the place.
 */
export function start(where: Where, args: readonly string[], input: 'pipe' | 'ignore', env?: Variables): ChildProcess {
  const [command = '', ...words] = [...commandWithin(where.bounds), 'git', ...args]
  const child = spawn(command, words, {
    cwd: where.cwd,
    env: unattended({ ...where.env, ...env }),
    detached: true,
    stdio: [input, 'pipe', 'pipe'],
  })
  // A command that ends before it has read its input tells why by its exit code, not by a broken pipe.
  child.stdin?.on('error', () => undefined)
  return child
}

/**
 * What is put before a command so that it can't take more memory than it should. Not every system counts it (Linux
 * does); no core is dumped either.
 */
function commandWithin(bounds: Bounds | undefined): string[] {
  if (!bounds || !Number.isFinite(bounds.memory)) return []
  return ['sh', '-c', 'ulimit -c 0; ulimit -d "$0" 2>/dev/null; exec "$@"', String(Math.floor(bounds.memory / 1024))]
}

/** Milliseconds in which a git that is to end may take its locks away, and in which it and all of its group go. */
const [GRACE, LAST_WORDS] = [2_000, 500]

/** Ends a git that was {@link start}ed, and what it has started itself. One that has ended already is left alone. */
export function endChild(child: ChildProcess, how: NodeJS.Signals): void {
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
export async function run(where: Where, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  const { signal } = where
  const { input, ok = [0], limit, bounds = where.bounds, onOutput, onWords } = options
  signal?.throwIfAborted()
  const child = start(
    { ...where, ...(bounds && { bounds }) },
    args,
    input === undefined ? 'ignore' : 'pipe',
    options.env,
  )
  const clocks: ReturnType<typeof setTimeout>[] = []
  const kill = () => {
    endChild(child, 'SIGKILL')
    // A process that left the group may still hold the pipes open: they are closed from this side.
    const letGo = () => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    }
    clocks.push(setTimeout(letGo, LAST_WORDS))
  }
  const interrupt = () => {
    endChild(child, 'SIGTERM')
    clocks.push(setTimeout(kill, GRACE))
  }
  signal?.addEventListener('abort', interrupt, { once: true })
  let bound: Ending['bound']
  const outOfTime = () => {
    bound = 'time'
    kill()
  }
  if (bounds) clocks.push(setTimeout(outOfTime, bounds.seconds * 1000))
  try {
    const pieces: Buffer[] = []
    let [size, stderr, cut] = [0, '', false]
    const most = limit ?? bounds?.output ?? Number.POSITIVE_INFINITY
    child.stdout?.on('data', (piece: Buffer) => {
      if (cut) return
      size += piece.length
      cut = onOutput?.(piece) === 'enough' || size > most
      if (!onOutput) pieces.push(size > most ? piece.subarray(0, most - size) : piece)
      if (!cut) return
      if (size > most && limit === undefined) bound = 'output'
      kill()
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // An error text fits into this; more than that is progress output, or hostile.
      stderr = (stderr + text).slice(-65_536)
      onWords?.(text)
    })
    child.stdin?.end(input)
    const [code, by] = await new Promise<[number | undefined, NodeJS.Signals | undefined]>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (status, name) => resolve([status ?? undefined, name ?? undefined]))
    })
    signal?.throwIfAborted()
    if (bound) throw new GitError(commandOf(args), undefined, stderr, '', { bound })
    const stdout = Buffer.concat(pieces)
    if (cut) return { code: code ?? 0, stdout, stderr, cut }
    if (code === undefined || (ok !== 'any' && !ok.includes(code)))
      throw new GitError(commandOf(args), code, stderr, stdout.toString().slice(0, 65_536), by ? { signal: by } : {})
    return { code, stdout, stderr, cut }
  } finally {
    for (const clock of clocks) clearTimeout(clock)
    signal?.removeEventListener('abort', interrupt)
  }
}

/** What git prints, as text, without the line end after it. For paths take {@link run} and its bytes. */
export async function read(where: Where, args: readonly string[], options?: GitOptions): Promise<string> {
  return (await run(where, args, options)).stdout.toString().trimEnd()
}

/** For commands that answer by their exit code: 0 is yes, 1 is no, and anything else is thrown. */
export async function holds(where: Where, args: readonly string[], options?: GitOptions): Promise<boolean> {
  return (await run(where, args, { ...options, ok: [0, 1] })).code === 0
}
