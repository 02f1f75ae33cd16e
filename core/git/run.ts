/**
 * Runs git without a shell or zx, with exact bytes in and out, and never with a prompt on the terminal. Commands that a
 * reader should see in a script run by zx instead (../shell.ts), in the same environment.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { firstLine } from '../text.ts'
import type { Bounds } from './bounds.ts'
import { unattended, type Variables } from './environment.ts'

/** Where and how git runs. A {@link Repository} is a Where whose `env` names the repository. */
export type Where = {
  cwd: string
  /** Environment variables in addition to those of {@link unattended}; undefined removes a variable. */
  env?: Variables
  /** Ends running commands when aborted; later calls throw its reason. */
  signal?: AbortSignal
  /** Limits for each git process that reads untrusted objects; undefined: none. */
  bounds?: Bounds
}

export type GitOptions = {
  input?: string | Uint8Array
  /** The expected exit codes; others throw. `any` does not include a killed command. */
  ok?: readonly number[] | 'any'
  env?: Variables
  /** Git is ended after this many bytes of output, and the answer is `cut`. */
  limit?: number
  /** The limits for this git process, in place of those of its {@link Where}. */
  bounds?: Bounds
  /** Gets the output as it comes, in place of `stdout`, which stays empty. Returns 'enough' to end git. */
  onOutput?: (piece: Buffer) => 'enough' | undefined
  /** Gets git's messages (progress, with --progress) as they come. */
  onWords?: (text: string) => void
}

export type GitAnswer = { code: number; stdout: Buffer; stderr: string; cut: boolean }

/** How git was killed: by a bound, or by a signal from outside. */
export type Ending = { bound?: 'time' | 'output'; signal?: NodeJS.Signals }

/** Git failed. `code` is undefined where it was killed; `stderr` may contain untrusted text. */
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
 * Options for a git process that reads very many blobs: a larger cache for delta bases. With the default of 96 MiB, git
 * unpacks the same bases repeatedly and takes three times as long.
 */
export const MANY_BLOBS = ['-c', 'core.deltaBaseCacheLimit=256m']

/** The git command in some arguments: the first that is neither a flag nor the value of -c. */
const commandOf = (args: readonly string[]): string =>
  args.find((word, at) => !word.startsWith('-') && args[at - 1] !== '-c') ?? ''

/**
 * Starts git, for {@link run} and for long-running processes. It runs in a process group of its own: processes that git
 * starts end with it ({@link endChild}), and none can prompt on the terminal. The memory bound applies.
 */
export function start(where: Where, args: readonly string[], input: 'pipe' | 'ignore', env?: Variables): ChildProcess {
  const [command = '', ...words] = [...commandWithin(where.bounds), 'git', ...args]
  const child = spawn(command, words, {
    cwd: where.cwd,
    env: unattended({ ...where.env, ...env }),
    detached: true,
    stdio: [input, 'pipe', 'pipe'],
  })
  // A command that ends before it has read its input reports by its exit code, not by a broken pipe.
  child.stdin?.on('error', () => undefined)
  return child
}

/**
 * A command prefix that limits memory and switches off core dumps. Not every system enforces the memory limit; Linux
 * does.
 */
function commandWithin(bounds: Bounds | undefined): string[] {
  if (!bounds || !Number.isFinite(bounds.memory)) return []
  return ['sh', '-c', 'ulimit -c 0; ulimit -d "$0" 2>/dev/null; exec "$@"', String(Math.floor(bounds.memory / 1024))]
}

/** Milliseconds from TERM to KILL, in which git removes its locks; and from KILL until its pipes are closed. */
const [GRACE, LAST_WORDS] = [2_000, 500]

/** Ends a git process of {@link start}, and the processes that it has started. Does nothing where it has ended. */
export function endChild(child: ChildProcess, how: NodeJS.Signals): void {
  try {
    if (child.pid) process.kill(-child.pid, how)
  } catch {
    // The process group has already ended.
  }
}

/**
 * Runs git to its end. Throws {@link GitError} where the exit code is not among `ok`, the reason of an aborted signal,
 * and the system's error where git can't be started.
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
    // A process that left the group may still hold the pipes open, so they are closed here.
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
      // Error messages fit into this; longer output is progress, or hostile.
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

/** Runs git and gives its output as text, without the last line end. For paths use {@link run}. */
export async function read(where: Where, args: readonly string[], options?: GitOptions): Promise<string> {
  return (await run(where, args, options)).stdout.toString().trimEnd()
}

/** For commands that answer by their exit code: true for 0, false for 1; others throw. */
export async function holds(where: Where, args: readonly string[], options?: GitOptions): Promise<boolean> {
  return (await run(where, args, { ...options, ok: [0, 1] })).code === 0
}
