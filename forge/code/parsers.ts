/**
 * Parses texts in child processes, so that the program itself never waits for a grammar, and can end one that takes too
 * long, grows or crashes: such a text has no facts.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { availableParallelism, constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Subprocess } from 'bun'
import type { CodeFacts, TextRange } from './facts.ts'
import type { GrammarName } from './languages.ts'

const run = promisify(execFile)

/** What is wanted of a text: its facts, its facts and folds, or what is around some ranges. */
export type Wanted = { kind: 'facts' | 'structure' } | { kind: 'around'; ranges: readonly TextRange[] }
export type ParseOrder = { grammar: GrammarName; text: string; wanted: Wanted }
/** `folds` and `around` are empty unless they are wanted. `around`: for each range, the smallest first. */
export type Parsed = { facts: CodeFacts; folds: readonly TextRange[]; around: readonly (readonly TextRange[])[] }
/** `isLast`: the process ends after this reply, as it has taken much memory. */
export type ParseReply = Parsed & { isLast: boolean }
/** What a process says of a text: that its grammar is loaded and parsing begins, then the reply. */
export type ParserMessage = 'begins' | ParseReply
/**
 * Why a text has no reply. `fatal`: it ends each process that parses it. `given up`: the reason may be another one (the
 * process was killed from outside, the machine is busy), so the text may be parsed the next time.
 */
export type NoReply = 'fatal' | 'given up'

type ParsersOptions = {
  /** At most this many processes; by default one for each processor, and at most four. */
  most?: number
  /** A text that takes longer, in seconds, is given up, and its process is killed. */
  seconds?: number
  /** A process that takes more memory than this, in bytes, is killed as well. */
  memory?: number
  /** A process without work for this many seconds is ended. */
  idleSeconds?: number
  /** Whether the processes leave the processor to all others. */
  isBackground?: boolean
  /** Another program for the child, for tests of one that hangs or crashes. */
  program?: string
}

/** Parses texts; ends when it is disposed of. */
export type TextParser = Disposable & { parse: (order: ParseOrder) => Promise<Parsed | NoReply> }

type Job = { order: ParseOrder; resolve: (outcome: Parsed | NoReply) => void }

/** A process that has more memory, in bytes, is killed. The parser itself gives up at less, where it is asked. */
const MAX_MEMORY = 1500 << 20
/** Milliseconds between two looks at the memory of a process, the first one included: nearly all texts take less. */
const LOOK_AT_MEMORY_MS = 500
/** The unit of /proc/PID/statm: a page of memory, in bytes; on machines with larger ones, the limit is higher. */
const LINUX_PAGE_BYTES = 4096

export class Parsers implements TextParser {
  readonly #most: number
  readonly #seconds: number
  readonly #memory: number
  readonly #idleSeconds: number
  readonly #program: string
  readonly #isBackground: boolean
  readonly #waiting: Job[] = []
  readonly #idle: Child[] = []
  readonly #all = new Set<Child>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(options: ParsersOptions = {}) {
    this.#most = options.most ?? Math.min(4, availableParallelism())
    this.#seconds = options.seconds ?? 30
    this.#memory = options.memory ?? MAX_MEMORY
    this.#idleSeconds = options.idleSeconds ?? 60
    this.#program = options.program ?? join(import.meta.dir, 'parser-child.ts')
    this.#isBackground = options.isBackground ?? false
  }

  /** What is known of a text, or why it can't be parsed. */
  async parse(order: ParseOrder): Promise<Parsed | NoReply> {
    if (this.#isClosed) return 'given up'
    const { promise, resolve } = Promise.withResolvers<Parsed | NoReply>()
    this.#waiting.push({ order, resolve })
    this.#next()
    return await promise
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const child of this.#all) child.kill()
    for (const { resolve } of this.#waiting.splice(0)) resolve('given up')
  }

  #next(): void {
    clearTimeout(this.#timer)
    while (this.#waiting.length > 0) {
      const child = this.#idle.pop() ?? this.#started()
      if (!child) return
      const job = this.#waiting.shift()
      if (job) void this.#run(child, job)
    }
    this.#timer = setTimeout(() => {
      for (const child of this.#idle.splice(0)) this.#end(child)
    }, this.#idleSeconds * 1000)
    this.#timer.unref()
  }

  #started(): Child | undefined {
    if (this.#all.size >= this.#most) return undefined
    const child = new Child(this.#program, this.#isBackground)
    this.#all.add(child)
    return child
  }

  async #run(child: Child, { order, resolve }: Job): Promise<void> {
    const reply = await child.ask(order, { seconds: this.#seconds, memory: this.#memory })
    resolve(reply)
    if (typeof reply === 'object' && !reply.isLast && !this.#isClosed) this.#idle.push(child)
    else this.#end(child)
    this.#next()
  }

  #end(child: Child): void {
    this.#all.delete(child)
    child.kill()
  }
}

/** Signals that other programs and people send; a text that crashes its process causes others. */
const SENT_SIGNALS: ReadonlySet<number | string> = new Set(['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM'])

/** One process, which gets one text at a time. */
class Child {
  readonly #process: Subprocess
  #reply: ((reply: ParseReply | NoReply) => void) | undefined
  /** Whether the process has begun to parse the text that it got last. */
  #hasBegun = false

  constructor(
    program: string,
    readonly isBackground: boolean,
  ) {
    const flags = ['--no-env-file', '--config=/dev/null', '--no-install']
    this.#process = Bun.spawn([process.execPath, ...flags, program], {
      // The process must not depend on the user's working directory or, except for PATH, on the user's variables.
      cwd: import.meta.dir,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'json',
      ipc: (message: ParserMessage) => {
        if (message === 'begins') this.#hasBegun = true
        else this.#reply?.(message)
      },
      onExit: ({ signalCode }) => {
        const wasSent = signalCode !== null && SENT_SIGNALS.has(signalCode)
        this.#reply?.(this.#hasBegun && !wasSent ? 'fatal' : 'given up')
      },
    })
    if (isBackground) leaveProcessorToOthers(this.#process.pid)
    // The program may end while a child waits.
    this.#process.unref()
  }

  /** The reply to a text, or why there is none: the process ends, takes too long, or takes too much memory. */
  async ask(order: ParseOrder, limits: { seconds: number; memory: number }): Promise<ParseReply | NoReply> {
    const { promise, resolve } = Promise.withResolvers<ParseReply | NoReply>()
    this.#reply = resolve
    this.#hasBegun = false
    // A process in the background may have waited for the processor all the time.
    const late = () => resolve(this.#hasBegun && !this.isBackground ? 'fatal' : 'given up')
    const timer = setTimeout(late, limits.seconds * 1000)
    const look = setInterval(async () => {
      if ((await memoryOf(this.#process.pid)) > limits.memory) resolve('fatal')
    }, LOOK_AT_MEMORY_MS)
    try {
      this.#process.send(order)
    } catch {
      resolve('given up')
    }
    const reply = await promise
    clearTimeout(timer)
    clearInterval(look)
    this.#reply = undefined
    return reply
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}

function leaveProcessorToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // The process may have ended already, or the system may not allow it: it is only slower for others then.
  }
}

/** The memory of a process, in bytes; 0 where it is not known. */
async function memoryOf(pid: number): Promise<number> {
  try {
    if (process.platform === 'linux') {
      const [, resident] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')
      return Number(resident) * LINUX_PAGE_BYTES
    }
    const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)])
    return Number(stdout) * 1024
  } catch {
    return 0
  }
}
