/**
 * Git, run as it is: no shell, no zx, exact bytes in and out, and never a question on a terminal. What a person should
 * read in a script is run with zx instead (../shell.ts), in the same environment.
 */
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

export type RunOptions = {
  input?: string | Uint8Array
  /** The exit codes that are an answer; any other is thrown. A command that was killed has none. */
  ok?: readonly number[] | 'any'
  env?: Variables
  /** At most so many bytes are read; git is ended then, and the answer is `cut`. */
  limit?: number
  /** Instead of those of the place. */
  bounds?: Bounds
  /** Gets what git prints as it comes, and may have enough of it; `stdout` stays empty then. */
  onOutput?: (piece: Buffer) => 'enough' | undefined
  /** Gets git's own words (its counts, with --progress) as they come. */
  onWords?: (text: string) => void
}

export type Answer = { code: number; stdout: Buffer; stderr: string; cut: boolean }

/** How git was ended: by a bound of its place, or by a signal that was not ours. */
export type Ending = { bound?: 'time' | 'output'; signal?: NodeJS.Signals | number }

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
 * For a git that reads very many blobs at once: memory for those that others are stored as changes to. With git's own
 * 96 MiB it takes such blobs apart again and again, and three times as long.
 */
export const MANY_BLOBS = ['-c', 'core.deltaBaseCacheLimit=256m']

/** The word that says what git does: the first that is neither a flag nor the value of -c. */
const commandOf = (args: readonly string[]): string =>
  args.find((word, at) => !word.startsWith('-') && args[at - 1] !== '-c') ?? ''

/** A git that was {@link start}ed. Who keeps one running writes to it by {@link writeTo}. */
export type Git = Bun.Subprocess<'pipe' | 'ignore' | Uint8Array, 'pipe', 'pipe'>

/**
 * Starts git, for {@link run} and for those that keep one running. It gets a process group of its own: what git starts
 * ends with it ({@link end}), and nothing can ask on the terminal. Its memory is bounded by those of the place. What it
 * is given to read all at once is given here. Throws the error of the system where git can't be started.
 */
export function start(
  where: Where,
  args: readonly string[],
  input: 'pipe' | 'ignore' | Uint8Array,
  env?: Variables,
): Git {
  // Node's own way to start a process takes three times as long, and the first time as long as twenty of these.
  return Bun.spawn([...commandWithin(where.bounds), 'git', ...args], {
    cwd: where.cwd,
    env: unattended({ ...where.env, ...env }),
    detached: true,
    stdio: [input, 'pipe', 'pipe'],
  })
}

/** Gives something to read to a git that was started with a pipe. */
export function writeTo(git: Git, bytes: Uint8Array): void {
  const { stdin } = git
  if (stdin === undefined || typeof stdin === 'number') return
  // One that ends before it has read its input tells why by its exit code, not by a broken pipe.
  const written = async () => {
    stdin.write(bytes)
    await stdin.flush()
  }
  written().catch(() => undefined)
}

/** What git prints, piece by piece, until it has closed that or the signal says that nobody waits for more. */
export async function readEach(
  stream: ReadableStream<Uint8Array>,
  take: (piece: Buffer) => void,
  letGo?: AbortSignal,
): Promise<void> {
  const reader = stream.getReader()
  const leave = () => void reader.cancel().catch(() => undefined)
  letGo?.addEventListener('abort', leave, { once: true })
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const { buffer, byteOffset, byteLength } = next.value
    take(Buffer.from(buffer, byteOffset, byteLength))
  }
  letGo?.removeEventListener('abort', leave)
}

/** So many of git's last words are kept: they are for a sentence; more is the chatter of a progress, or mischief. */
const MOST_WORDS = 65_536

/** Git's own words, at most the last {@link MOST_WORDS}, when it has closed them; each as it comes to `onWords`. */
export async function readWords(
  git: Git,
  { onWords, letGo }: { onWords?: ((text: string) => void) | undefined; letGo?: AbortSignal } = {},
): Promise<string> {
  const decoder = new TextDecoder()
  let words = ''
  const take = (piece: Buffer) => {
    const text = decoder.decode(piece, { stream: true })
    words = (words + text).slice(-MOST_WORDS)
    onWords?.(text)
  }
  await readEach(git.stderr, take, letGo)
  return words
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
export function end(git: Git, how: NodeJS.Signals): void {
  try {
    process.kill(-git.pid, how)
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
  const { input, ok = [0], limit, bounds = where.bounds, onOutput, onWords } = options
  signal?.throwIfAborted()
  const given = typeof input === 'string' ? Buffer.from(input) : input
  const git = start({ ...where, ...(bounds && { bounds }) }, args, given ?? 'ignore', options.env)
  const clocks: ReturnType<typeof setTimeout>[] = []
  // Somebody who left the group may still hold what it would print to: nobody waits for that.
  const letGo = new AbortController()
  const kill = () => {
    end(git, 'SIGKILL')
    clocks.push(setTimeout(() => letGo.abort(), LAST_WORDS))
  }
  const interrupt = () => {
    end(git, 'SIGTERM')
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
    let [size, cut] = [0, false]
    const most = limit ?? bounds?.output ?? Number.POSITIVE_INFINITY
    const take = (piece: Buffer) => {
      if (cut) return
      size += piece.length
      cut = onOutput?.(piece) === 'enough' || size > most
      if (!onOutput) pieces.push(size > most ? piece.subarray(0, most - size) : piece)
      if (!cut) return
      if (size > most && limit === undefined) bound = 'output'
      kill()
    }
    const [stderr] = await Promise.all([
      readWords(git, { onWords, letGo: letGo.signal }),
      readEach(git.stdout, take, letGo.signal),
      git.exited,
    ])
    const [code, by] = [git.exitCode ?? undefined, git.signalCode ?? undefined]
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
export async function read(where: Where, args: readonly string[], options?: RunOptions): Promise<string> {
  return (await run(where, args, options)).stdout.toString().trimEnd()
}

/** For commands that answer by their exit code: 0 is yes, 1 is no, and anything else is thrown. */
export async function holds(where: Where, args: readonly string[], options?: RunOptions): Promise<boolean> {
  return (await run(where, args, { ...options, ok: [0, 1] })).code === 0
}
