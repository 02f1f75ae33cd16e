/**
 * Runs a repository's own tools in QuickJS inside WebAssembly, in a child process without any privileges
 * (sandbox-child.ts), with the Vfs as the only interface. Each call gets its own child, which is killed at the end, so
 * that nothing of a tool remains for the next one, even where it has taken its child over. The next child is started
 * ahead, as one needs 40 ms. The parent trusts no message of a child: it parses and counts them, and kills the child
 * with SIGKILL when its time is over, since nothing else ends a loop inside WebAssembly.
 *
 * Should a tool escape from WebAssembly, it is in a process of this user. So that process has no secrets in its
 * environment, no open files but its pipes, no permission to write files, and system limits on memory and processor
 * time, which hold even after the parent was killed. On Linux with user namespaces, it also has an empty network
 * namespace and no capabilities. What remains is that it can read this user's files, and report them to the model only,
 * by its result.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { asBytes, asText, type Path } from '../../core/git/repository.ts'
import { visible } from '../../core/text.ts'
import type { Vfs } from '../vfs.ts'
import {
  BOUNDS,
  type Frame,
  frameOf,
  framesOf,
  MAX_CHILD_MESSAGE_BYTES,
  METHODS,
  type SandboxOrder,
  type SandboxReply,
} from './sandbox-messages.ts'
import { verifyMayBeWritten } from './trial.ts'

/** A tool failed. The message is for the model and the user, and may quote the tool. */
export class SandboxError extends Failure {
  constructor(
    /** What caused the failure: the tool itself; the sandbox, which the tool broke; or a limit that was reached. */
    readonly by: 'tool' | 'sandbox' | 'bound',
    message: string,
  ) {
    super(message)
  }
}

/** A tool's source, and its file name for error messages. */
export type ToolSource = { file: string; source: string }

type SandboxOptions = {
  /** The time limit of a run, in seconds. `schemaSeconds`: that of reading a schema. */
  seconds?: number
  schemaSeconds?: number
  /** A child that waits unused for this many seconds is ended; the next call starts a new one. */
  idleSeconds?: number
  /** Another program for the child, for tests of a child that a tool has taken over. */
  program?: string
}

/** The result of a run: its text and the files that it changed. */
export type Ran = { text: string; touched: Path[] }

const Said = v.variant('type', [
  v.object({ type: v.literal('ready') }),
  v.object({
    type: v.literal('call'),
    call: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(BOUNDS.calls)),
    method: v.picklist(METHODS),
    path: v.pipe(v.string(), v.maxLength(BOUNDS.path)),
    executable: v.boolean(),
  }),
  v.object({ type: v.literal('done'), text: v.pipe(v.string(), v.maxLength(BOUNDS.text + 100)) }),
  v.object({
    type: v.literal('failed'),
    by: v.picklist(['tool', 'sandbox']),
    words: v.pipe(v.string(), v.maxLength(BOUNDS.words)),
  }),
])
type Call = Extract<v.InferOutput<typeof Said>, { type: 'call' }>

/** At most this many seconds until a child is ready, as the machine may be busy. */
const START_SECONDS = 30
/** Seconds of processor time beyond a run's own, after which the system ends a child whose parent was killed. */
const SPARE_SECONDS = 2
/**
 * The limit of writable mappings of a child, in KiB. Bun maps 6.3 GB and uses 50 MB of it; with a lower limit,
 * WebAssembly takes twice as long.
 */
const CHILD_MEMORY = 8_000_000
/** A longer list of files is not given to a tool. */
const MAX_LISTED_FILES = 200_000

const CHILD = join(import.meta.dir, 'sandbox-child.ts')

/** Starts children and runs tools in them. Dispose it to end the waiting child. */
export class Sandbox implements AsyncDisposable {
  readonly #seconds: number
  readonly #schemaSeconds: number
  readonly #idleSeconds: number
  readonly #program: string
  /** An empty folder: the working directory of the children. */
  #folder: Promise<string> | undefined
  #wall: Promise<readonly string[]> | undefined
  #spare: Promise<Child> | undefined
  #idle: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor({ seconds = 10, schemaSeconds = 2, idleSeconds = 120, program = CHILD }: SandboxOptions = {}) {
    this.#seconds = seconds
    this.#schemaSeconds = schemaSeconds
    this.#idleSeconds = idleSeconds
    this.#program = program
  }

  /** Starts a child ahead, so that the next call need not wait for it. */
  warm(): void {
    if (this.#isClosed) return
    this.#spare ??= this.#start()
    this.#spare.catch(() => undefined)
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#endSpare(), this.#idleSeconds * 1000)
    this.#idle.unref()
  }

  /**
   * Gives the JSON of the schema that a tool exports, by running the tool without a Vfs. Throws a {@link SandboxError},
   * or the signal's reason.
   */
  async schema(tool: ToolSource, signal: AbortSignal): Promise<string> {
    const order: SandboxOrder = { type: 'schema', ...tool, arguments: '' }
    return await this.#run(order, this.#schemaSeconds, signal, refuseCalls)
  }

  /**
   * Runs a tool on files. Throws a {@link SandboxError}, unexpected errors of the Vfs, or the signal's reason; files
   * may have been written by then.
   */
  async execute(tool: ToolSource, sent: unknown, vfs: Vfs, signal: AbortSignal): Promise<Ran> {
    const calls = new Calls(vfs)
    const order: SandboxOrder = { type: 'execute', ...tool, arguments: JSON.stringify(sent) ?? 'null' }
    const text = await this.#run(order, this.#seconds, signal, (call, bytes) => calls.answer(call, bytes))
    return { text, touched: [...calls.touched].sort() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#endSpare()
    const folder = await this.#folder?.catch(() => undefined)
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }

  async #run(order: SandboxOrder, seconds: number, signal: AbortSignal, answer: Answerer): Promise<string> {
    signal.throwIfAborted()
    const child = await this.#take()
    const clock = setTimeout(() => child.end('time'), seconds * 1000)
    const stop = () => child.end('stop')
    signal.addEventListener('abort', stop, { once: true })
    try {
      if (signal.aborted) stop()
      return await child.follow(order, answer, seconds)
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      clearTimeout(clock)
      signal.removeEventListener('abort', stop)
      child.end('over')
      await child.ended
      // Start a child for the next call while the model thinks.
      this.warm()
    }
  }

  async #take(): Promise<Child> {
    const waiting = this.#spare
    this.#spare = undefined
    const spare = await waiting?.catch(() => undefined)
    // The system may have killed the waiting child for lack of memory.
    return spare && !spare.hasEnded ? spare : await this.#start()
  }

  async #start(): Promise<Child> {
    this.#wall ??= findWall()
    const seconds = Math.max(this.#seconds, this.#schemaSeconds)
    return await Child.start({
      program: this.#program,
      folder: await this.#makeFolder(),
      seconds,
      wall: await this.#wall,
    })
  }

  /** Creates the temporary folder of the children, once. A failure is retried with the next child. */
  async #makeFolder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'forge-sandbox-'))
    return await this.#folder.catch(error => {
      this.#folder = undefined
      throw error
    })
  }

  async #endSpare(): Promise<void> {
    clearTimeout(this.#idle)
    const spare = this.#spare
    this.#spare = undefined
    const child = await spare?.catch(() => undefined)
    child?.end('over')
    await child?.ended
  }
}

/**
 * The command prefix that runs a program in an empty network namespace and as a user without capabilities; empty where
 * the system does not support or allow this. It takes 4 ms for each child.
 */
async function findWall(): Promise<readonly string[]> {
  const unshare = process.platform === 'linux' ? Bun.which('unshare') : null
  if (!unshare) return []
  const wall = [unshare, '--user', '--net', '--']
  const trial = spawn(wall[0] ?? '', [...wall.slice(1), 'true'], { stdio: 'ignore' })
  const [code] = await once(trial, 'exit').catch(() => [undefined])
  return code === 0 ? wall : []
}

type ChildOptions = { program: string; folder: string; seconds: number; wall: readonly string[] }

/** A function that answers a call of the vfs. */
type Answerer = (call: Call, bytes: Buffer) => Promise<{ reply: SandboxReply; bytes?: Uint8Array }>

const refuseCalls: Answerer = async ({ call }) => ({
  reply: { type: 'reply', call, ok: false, words: 'There are no files while a schema is read.' },
})

type Why = 'time' | 'stop' | 'over'

/** A child process that runs one call of a tool, or reads its schema. */
class Child {
  /** Settled when the process has exited. */
  readonly ended: Promise<void>
  readonly #process: ChildProcess
  readonly #frames: AsyncGenerator<Frame>
  #why: Why | undefined
  #hasEnded = false

  private constructor(child: ChildProcess) {
    this.#process = child
    this.ended = new Promise(resolve => {
      const end = () => {
        this.#hasEnded = true
        // The rest of an ended child's output is not read; a pipe with unread data would stay open.
        child.stdin?.destroy()
        child.stdout?.destroy()
        resolve()
      }
      child.on('error', end)
      child.on('exit', end)
    })
    // A write fails where the child exits first; its exit is reported elsewhere.
    child.stdin?.on('error', () => undefined)
    this.#frames = framesOf(piecesOf(child), { message: MAX_CHILD_MESSAGE_BYTES, bytes: BOUNDS.file })
  }

  /** Starts a child and waits until it is ready. */
  static async start({ program, folder, seconds, wall }: ChildOptions): Promise<Child> {
    const processorTime = Math.ceil(seconds) + SPARE_SECONDS
    // All limits that the system supports. A file size limit of 0: nothing can be written.
    const limits = `ulimit -c 0; ulimit -f 0; ulimit -n 32; ulimit -t ${processorTime}; ulimit -d ${CHILD_MEMORY}`
    const bun = [process.execPath, '--no-env-file', '--config=/dev/null', '--no-install', program]
    const process_ = spawn('/bin/sh', ['-c', `{ ${limits}; } 2>/dev/null; exec "$@"`, 'sh', ...wall, ...bun], {
      cwd: folder,
      env: { BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0' },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const child = new Child(process_)
    const clock = setTimeout(() => child.end('time'), START_SECONDS * 1000)
    try {
      const said = await child.#next()
      if (said?.message.type === 'ready') return child
      throw new SandboxError('sandbox', 'The sandbox for tools did not start: try it again.')
    } catch (error) {
      child.end('over')
      await child.ended
      throw error
    } finally {
      clearTimeout(clock)
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Kills the child. The first reason given is the one that {@link follow} throws. */
  end(why: Why): void {
    this.#why ??= why
    this.#process.kill('SIGKILL')
  }

  /** Has the child run a tool or read its schema. Answers the tool's calls until the child reports the result. */
  async follow(order: SandboxOrder, answer: Answerer, seconds: number): Promise<string> {
    await this.#write(frameOf(order))
    let calls = 0
    for (;;) {
      const said = await this.#next()
      // Messages that arrive after the child was ended are ignored.
      if (!said || this.#why) throw this.#whyItEnded(order, seconds)
      const { message, bytes } = said
      if (message.type === 'done') return message.text
      if (message.type === 'failed') throw failureOf(order, message)
      if (message.type !== 'call' || ++calls > BOUNDS.calls) throw brokenBy(order)
      // Calls are answered one by one: further ones wait in the pipe, so that no queue grows here.
      const answered = await answer(message, bytes)
      await this.#write(frameOf(answered.reply, answered.bytes))
    }
  }

  /** The child's next message; undefined where it has exited or sent an invalid message. */
  async #next() {
    try {
      const { value, done } = await this.#frames.next()
      if (done) return undefined
      return { message: v.parse(Said, value.message), bytes: value.bytes }
    } catch {
      return undefined
    }
  }

  async #write(frame: Buffer): Promise<void> {
    const { stdin } = this.#process
    if (!stdin || stdin.destroyed || stdin.write(frame)) return
    const drained = once(stdin, 'drain').catch(() => undefined)
    await Promise.race([drained, this.ended])
  }

  #whyItEnded(order: SandboxOrder, seconds: number): SandboxError {
    if (this.#why === 'time') {
      const longer = `${order.file} took longer than ${seconds} seconds and was ended`
      return new SandboxError('bound', `${longer}: nothing of it is kept.`)
    }
    return brokenBy(order)
  }
}

async function* piecesOf(child: ChildProcess): AsyncGenerator<Uint8Array> {
  if (child.stdout) yield* child.stdout
}

const brokenBy = ({ file }: SandboxOrder): SandboxError =>
  new SandboxError('sandbox', `${file} broke the sandbox that it ran in: nothing of it is kept.`)

function failureOf(order: SandboxOrder, { by, words }: { by: 'tool' | 'sandbox'; words: string }): SandboxError {
  if (by === 'tool') return new SandboxError('tool', words)
  return new SandboxError('sandbox', `${order.file} broke the sandbox that it ran in (${visible(words)}).`)
}

/** The Vfs for one run of a tool, with limits, and without the files that tools may not write. */
class Calls {
  readonly touched = new Set<Path>()
  readonly #vfs: Vfs
  #read = 0
  #written = 0

  constructor(vfs: Vfs) {
    this.#vfs = vfs
  }

  /** Answers a tool's call; expected failures are replies, too. */
  async answer(said: Call, bytes: Buffer): Promise<{ reply: SandboxReply; bytes?: Uint8Array }> {
    const { call } = said
    try {
      const { value = null, bytes: content } = await this.#answer(said, bytes)
      return { reply: { type: 'reply', call, ok: true, value }, bytes: content }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return { reply: { type: 'reply', call, ok: false, words: error.message } }
    }
  }

  async #answer(said: Call, bytes: Buffer): Promise<{ value?: boolean | string[]; bytes?: Uint8Array }> {
    const path = asBytes(said.path)
    switch (said.method) {
      case 'readFile':
        return { bytes: await this.#readFile(path) }
      case 'fileExists':
        return { value: await this.#vfs.fileExists(path) }
      case 'listFiles':
        return { value: await this.#listFiles(path) }
      case 'writeFile':
        await this.#writeFile(path, bytes, said.executable)
        return {}
      case 'deleteFile':
        await this.#deleteFile(path)
        return {}
    }
  }

  async #readFile(path: Path): Promise<Buffer> {
    const content = await this.#vfs.readFile(path)
    if (content.length > BOUNDS.file) throw new Failure(`${asText(path)} is larger than 16 MB: no tool reads it.`)
    this.#read += content.length
    if (this.#read > BOUNDS.read) throw new Failure('A tool may read 256 MB in all.')
    return content
  }

  async #listFiles(folder: Path): Promise<string[]> {
    const files = await this.#vfs.listFiles(folder)
    if (files.length > MAX_LISTED_FILES)
      throw new Failure(`There are ${files.length} files, and at most ${MAX_LISTED_FILES} are listed: name a folder.`)
    return files.map(file => asText(file.path))
  }

  async #writeFile(path: Path, bytes: Buffer, isExecutable: boolean): Promise<void> {
    verifyMayBeWritten(path)
    this.#written += bytes.length
    if (this.#written > BOUNDS.written) throw new Failure('A tool may write 64 MB in all.')
    await this.#vfs.writeFile(path, bytes, isExecutable ? { mode: '100755' } : {})
    this.touched.add(path)
  }

  async #deleteFile(path: Path): Promise<void> {
    verifyMayBeWritten(path)
    const isFile = await this.#vfs.fileExists(path)
    const gone = isFile ? [path] : (await this.#vfs.listFiles(path)).map(file => file.path)
    await this.#vfs.deleteFile(path)
    for (const file of gone) this.touched.add(file)
  }
}
