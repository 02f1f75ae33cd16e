/**
 * Parses texts in child processes, so that the program itself never waits for a grammar, and can end one that takes too
 * long, grows or crashes: such a text has no facts.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { type CodeFacts, NO_FACTS } from './facts.ts'
import type { GrammarName } from './languages.ts'

export type ParseOrder = { grammar: GrammarName; text: string }
/** `isLast`: the process ends after this reply, as it has taken much memory. */
export type ParseReply = { facts: CodeFacts; isLast: boolean }

type ParsersOptions = {
  /** At most this many processes; by default one for each processor, and at most four. */
  most?: number
  /** A text that takes longer, in seconds, is given up, and its process is killed. */
  seconds?: number
  /** A process without work for this many seconds is ended. */
  idleSeconds?: number
  /** Another program for the child, for tests of one that hangs or crashes. */
  program?: string
}

type Job = { order: ParseOrder; resolve: (facts: CodeFacts) => void }

export class Parsers implements Disposable {
  readonly #most: number
  readonly #seconds: number
  readonly #idleSeconds: number
  readonly #program: string
  readonly #waiting: Job[] = []
  readonly #idle: Child[] = []
  readonly #all = new Set<Child>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(options: ParsersOptions = {}) {
    this.#most = options.most ?? Math.min(4, availableParallelism())
    this.#seconds = options.seconds ?? 30
    this.#idleSeconds = options.idleSeconds ?? 60
    this.#program = options.program ?? join(import.meta.dir, 'parser-child.ts')
  }

  /** The facts of a text; none where it can't be parsed in time. */
  parse(order: ParseOrder): Promise<CodeFacts> {
    if (this.#isClosed) return Promise.resolve(NO_FACTS)
    const { promise, resolve } = Promise.withResolvers<CodeFacts>()
    this.#waiting.push({ order, resolve })
    this.#next()
    return promise
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const child of this.#all) child.kill()
    for (const { resolve } of this.#waiting.splice(0)) resolve(NO_FACTS)
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
    const child = new Child(this.#program)
    this.#all.add(child)
    return child
  }

  async #run(child: Child, { order, resolve }: Job): Promise<void> {
    const reply = await child.ask(order, this.#seconds)
    resolve(reply?.facts ?? NO_FACTS)
    if (reply && !reply.isLast && !this.#isClosed) this.#idle.push(child)
    else this.#end(child)
    this.#next()
  }

  #end(child: Child): void {
    this.#all.delete(child)
    child.kill()
  }
}

/** One process, which gets one text at a time. */
class Child {
  readonly #process: Subprocess
  #reply: ((reply: ParseReply | undefined) => void) | undefined

  constructor(program: string) {
    const flags = ['--no-env-file', '--config=/dev/null', '--no-install']
    this.#process = Bun.spawn([process.execPath, ...flags, program], {
      // The process must not depend on the user's working directory or, except for PATH, on the user's variables.
      cwd: import.meta.dir,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'json',
      ipc: (reply: ParseReply) => this.#reply?.(reply),
      onExit: () => this.#reply?.(undefined),
    })
    // The program may end while a child waits.
    this.#process.unref()
  }

  /** The reply; undefined where the process ends without one, or takes too long. */
  async ask(order: ParseOrder, seconds: number): Promise<ParseReply | undefined> {
    const { promise, resolve } = Promise.withResolvers<ParseReply | undefined>()
    this.#reply = resolve
    const timer = setTimeout(() => resolve(undefined), seconds * 1000)
    try {
      this.#process.send(order)
    } catch {
      resolve(undefined)
    }
    const reply = await promise
    clearTimeout(timer)
    this.#reply = undefined
    return reply
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}
