/**
 * The sandbox's child process: it takes one order, runs one tool in QuickJS inside WebAssembly, and is killed by its
 * parent. The tool gets a `vfs`, whose calls all go to the parent, and nothing else: no import, timer, network or
 * process. This process has no secrets in its environment and no open files but its pipes, since a tool that escaped
 * from WebAssembly would have the same.
 */
import variant from '@jitl/quickjs-ng-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSDeferredPromise,
  type QuickJSHandle,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import {
  BOUNDS,
  type Frame,
  frameOf,
  framesOf,
  MAX_MESSAGE_BYTES,
  type Method,
  type SandboxMessage,
  type SandboxOrder,
  type SandboxReply,
} from './sandbox-messages.ts'

/**
 * The engine's memory, in pages of 64 KiB: at most 64 MB. The engine's own limit is not enforced by its allocator (it
 * was seen to grow to 2 GB), but the maximum of its WebAssembly memory limits everything inside it.
 */
const MEMORY = { initial: 256, maximum: 1024 }

/** The most characters of a result, plus the note in the middle of one that was cut. */
const MAX_RESULT_CHARS = BOUNDS.text + 100

/**
 * Code that runs in the JavaScript engine of the sandbox before the tool and defines its `vfs`. A tool that changes
 * built-ins afterwards harms only itself: this process reads nothing but strings and buffers from the engine. Text is
 * passed to this process as JSON, since a string read from the engine would end at its first NUL.
 */
const PRELUDE = `(host => {
  const { stringify, parse } = JSON
  const refuse = words => { throw new TypeError(words) }
  const quote = value => stringify(typeof value === 'string' ? value : refuse('A path is a string.'))
  const buffer = content => {
    if (content instanceof ArrayBuffer) return content.slice(0)
    if (!ArrayBuffer.isView(content)) return refuse('The content of a file is a string or a Uint8Array.')
    return content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength)
  }
  const vfs = Object.freeze({
    readFile: async (path, as = 'text') => {
      if (as !== 'text' && as !== 'bytes') refuse("readFile(path) gives text, and readFile(path, 'bytes') a Uint8Array.")
      const content = await host('readFile', quote(path), as)
      return as === 'bytes' ? new Uint8Array(content) : parse(content)
    },
    writeFile: async (path, content, options) => {
      const plain = typeof content === 'string' ? stringify(content) : buffer(content)
      await host('writeFile', quote(path), plain, options?.executable === true ? 'executable' : '')
    },
    deleteFile: async path => { await host('deleteFile', quote(path)) },
    listFiles: async (folder = '') => await host('listFiles', quote(folder)),
    fileExists: async path => await host('fileExists', quote(path)),
  })
  const textOf = value => typeof value === 'string' ? value : value === undefined ? '' : stringify(value) ?? ''
  // Shortens a text that is too long to its two ends. This is done here, since a copy of the text may not fit beside
  // it.
  const shortened = text => {
    const more = text.length - ${BOUNDS.text}
    if (more <= 0) return text
    const [head, tail] = [text.slice(0, ${BOUNDS.text / 2}), text.slice(${-BOUNDS.text / 2})]
    return head + '\\n… ' + more + ' characters are left out here …\\n' + tail
  }
  const explain = error => {
    // Where there is no memory left for an error, the engine throws null.
    if (error === null) return 'It needs more than 64 MB of memory, or threw null.'
    if (!(error instanceof Error)) return 'threw ' + (textOf(error) || typeof error)
    const at = /:(\\d+)(?::\\d+)?\\)?$/m.exec(error.stack ?? '')
    return error.name + ': ' + error.message + (at ? ' (line ' + at[1] + ' of the compiled source)' : '')
  }
  return {
    schema: value => stringify(textOf(value)),
    execute: async (execute, args) => stringify(shortened(textOf(await execute(vfs, parse(args))))),
    explain: error => stringify(explain(error)),
  }
})`

/** A failure that is the tool's own fault; its message is the tool's own, or describes the failure. */
class Failed extends Error {}

/**
 * Opens Bun's transpiler, which removes types. By default it runs imports marked as macros, here outside of the
 * sandbox. So macros are switched off, and this is verified before any source is transpiled.
 */
function openTranspiler(): Bun.Transpiler {
  const noMacros: object = { macro: false }
  const transpiler = new Bun.Transpiler({ ...noMacros, loader: 'ts', target: 'browser', trimUnusedImports: true })
  const probe = `import { basename } from 'node:path' with { type: 'macro' }\nexport const found = basename('/a/macro-ran')`
  if (!isRefused(transpiler, probe)) throw new Error('This Bun runs macros: no tool is looked at')
  return transpiler
}

function isRefused(transpiler: Bun.Transpiler, source: string): boolean {
  try {
    transpiler.transformSync(source)
    return false
  } catch {
    return true
  }
}

function withoutTypes(transpiler: Bun.Transpiler, { file, source }: SandboxOrder): string {
  try {
    return transpiler.transformSync(source)
  } catch (error) {
    const errors = error instanceof AggregateError ? error.errors : [error]
    const { message = String(error), position } = (errors[0] ?? {}) as Partial<BuildMessage>
    throw new Failed(`${file} can't be compiled: ${message}${position ? ` (line ${position.line})` : ''}`)
  }
}

class Guest {
  readonly #context: QuickJSContext
  /** The frames with the parent's replies. */
  readonly #frames: AsyncGenerator<Frame, void>
  readonly #waiting = new Map<number, { deferred: QuickJSDeferredPromise; method: Method; wantsBytes: boolean }>()
  readonly #prelude: QuickJSHandle
  #calls = 0
  #written = 0

  constructor(context: QuickJSContext, frames: AsyncGenerator<Frame, void>) {
    this.#context = context
    this.#frames = frames
    context.runtime.setModuleLoader(name => ({ error: this.#noImport(name) }))
    const host = context.newFunction('host', (...handles) => this.#call(...handles))
    const prelude = context.unwrapResult(context.evalCode(PRELUDE, 'prelude'))
    this.#prelude = context.unwrapResult(context.callFunction(prelude, context.undefined, host))
  }

  /** The tool's schema, as JSON. */
  async schema(file: string, source: string): Promise<string> {
    const tool = await this.#open(file, source)
    this.#exportOf(tool, 'execute', 'function')
    const schema = this.#textOf(this.#callPrelude('schema', this.#exportOf(tool, 'schema', 'object')))
    if (schema.length <= BOUNDS.schema) return schema
    throw new Failed(`The schema is longer than ${BOUNDS.schema} characters.`)
  }

  async execute(file: string, source: string, args: string): Promise<string> {
    const tool = await this.#open(file, source)
    const execute = this.#exportOf(tool, 'execute', 'function')
    const ended = this.#callPrelude('execute', execute, this.#context.newString(args))
    return this.#textOf(await this.#settled(ended)).slice(0, MAX_RESULT_CHARS)
  }

  #take(reply: SandboxReply, bytes: Buffer): void {
    const waiting = this.#waiting.get(reply.call)
    if (!waiting) return
    this.#waiting.delete(reply.call)
    const { deferred, method, wantsBytes } = waiting
    if (!reply.ok) deferred.reject(this.#error(reply.words))
    else if (method !== 'readFile') deferred.resolve(this.#valueOf(reply.value))
    else if (wantsBytes) deferred.resolve(this.#context.newArrayBuffer(Uint8Array.from(bytes).buffer))
    else this.#resolveText(deferred, bytes)
  }

  async #open(file: string, source: string): Promise<QuickJSHandle> {
    return await this.#settled(this.#unwrap(this.#context.evalCode(source, file, { type: 'module' })))
  }

  #exportOf(tool: QuickJSHandle, name: string, type: 'function' | 'object'): QuickJSHandle {
    const handle = this.#context.getProp(tool, name)
    if (this.#context.typeof(handle) === type) return handle
    const needed = type === 'function' ? 'export async function execute(vfs, args)' : 'export const schema = { … }'
    throw new Failed(`It has no \`${needed}\`.`)
  }

  /** The prelude's `host(method, path, …)`: sends a call and gives a promise of its reply. */
  #call(...[name, place, content, mode]: QuickJSHandle[]): QuickJSHandle {
    const wordOf = (handle: QuickJSHandle | undefined) => (handle ? this.#context.getString(handle) : '')
    const method = wordOf(name) as Method
    const path = place ? this.#textOf(place) : ''
    if (path.length > BOUNDS.path) throw new Error('The path is longer than any file system takes.')
    if (this.#calls >= BOUNDS.calls) throw new Error(`A tool may call the vfs ${BOUNDS.calls} times.`)
    if (this.#waiting.size >= BOUNDS.waiting)
      throw new Error(`More than ${BOUNDS.waiting} calls of the vfs wait for an answer: await some of them first.`)
    const bytes = method === 'writeFile' && content ? this.#contentOf(content) : undefined
    if (bytes && bytes.length > BOUNDS.file) throw new Error('A tool may write files of at most 16 MB.')
    this.#written += bytes?.length ?? 0
    if (this.#written > BOUNDS.written) throw new Error('A tool may write 64 MB in all.')
    const call = ++this.#calls
    const deferred = this.#context.newPromise()
    this.#waiting.set(call, { deferred, method, wantsBytes: method === 'readFile' && wordOf(content) === 'bytes' })
    say({ type: 'call', call, method, path, executable: wordOf(mode) === 'executable' }, bytes)
    return deferred.handle
  }

  /** Reads a string that the prelude (the code run before the tool) has sent as JSON. */
  #textOf(handle: QuickJSHandle): string {
    return String(JSON.parse(this.#context.getString(handle)))
  }

  #contentOf(handle: QuickJSHandle): Buffer {
    if (this.#context.typeof(handle) === 'string') return Buffer.from(this.#textOf(handle))
    using content = this.#context.getArrayBuffer(handle)
    return Buffer.from(content.value)
  }

  #resolveText(deferred: QuickJSDeferredPromise, bytes: Buffer): void {
    try {
      // The BOM is kept; otherwise a tool that writes the text back would lose it.
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
      deferred.resolve(this.#context.newString(JSON.stringify(text)))
    } catch {
      deferred.reject(this.#error("The file is not UTF-8: read it by readFile(path, 'bytes')."))
    }
  }

  #valueOf(value: boolean | string[] | null): QuickJSHandle {
    const context = this.#context
    if (value === null) return context.undefined
    if (typeof value === 'boolean') return value ? context.true : context.false
    const list = context.newArray()
    for (const [at, name] of value.entries()) {
      using handle = context.newString(name)
      context.setProp(list, at, handle)
    }
    return list
  }

  #error = (message: string): QuickJSHandle => this.#context.newError({ name: 'Error', message })

  #noImport(name: string): Error {
    if (name === 'bun:wrap') return new Error('`using` and decorators can not be used in a tool.')
    return new Error(`A tool can import nothing: ${name.slice(0, 200)}.`)
  }

  #callPrelude(name: 'schema' | 'execute' | 'explain', ...args: QuickJSHandle[]): QuickJSHandle {
    using method = this.#context.getProp(this.#prelude, name)
    return this.#unwrap(this.#context.callFunction(method, this.#context.undefined, ...args), name === 'explain')
  }

  /**
   * Gives the value of a result, or throws the tool's error with its message; without the message where getting that
   * fails.
   */
  #unwrap(result: ReturnType<QuickJSContext['evalCode']>, isExplaining = false): QuickJSHandle {
    if (!result.error) return result.value
    throw isExplaining ? new Failed('It threw what has no words.') : this.#explained(result.error)
  }

  #explained(error: QuickJSHandle): Failed {
    return new Failed(this.#textOf(this.#callPrelude('explain', error)))
  }

  /** Waits until a promise of the tool is settled. Throws where nothing is left that could settle it. */
  async #settled(promise: QuickJSHandle): Promise<QuickJSHandle> {
    for (;;) {
      // What a job throws rejects its promise and is not thrown here.
      this.#context.runtime.executePendingJobs().dispose()
      const state = this.#context.getPromiseState(promise)
      if (state.type === 'fulfilled') return state.value
      if (state.type === 'rejected') throw this.#explained(state.error)
      if (this.#waiting.size === 0)
        throw new Failed('It waits for what never comes: there are no timers and no events.')
      await this.#takeAnswers()
    }
  }

  /** Takes at least one reply of the parent, and all others that have arrived. */
  async #takeAnswers(): Promise<void> {
    const { value: frame, done } = await this.#frames.next()
    if (done) process.exit()
    this.#take(frame.message as SandboxReply, frame.bytes)
  }
}

const say = (message: SandboxMessage, bytes?: Uint8Array): void => {
  process.stdout.write(frameOf(message, bytes))
}

async function run(guest: Guest, transpiler: Bun.Transpiler, order: SandboxOrder): Promise<SandboxMessage> {
  try {
    const source = withoutTypes(transpiler, order)
    const { type, file } = order
    const text =
      type === 'schema' ? await guest.schema(file, source) : await guest.execute(file, source, order.arguments)
    return { type: 'done', text }
  } catch (error) {
    const words = (error instanceof Failed ? error.message : String(error)).slice(0, BOUNDS.words)
    // Any other error comes from WebAssembly itself: out of memory or stack where the engine does not check.
    return { type: 'failed', by: error instanceof Failed ? 'tool' : 'sandbox', words }
  }
}

/**
 * Runs a small tool first, in a separate runtime, since the engine's code is compiled on first use: a later call need
 * not wait for that.
 */
async function warm(engine: QuickJSWASMModule, transpiler: Bun.Transpiler, frames: AsyncGenerator<Frame, void>) {
  const source = 'export const schema = {}\nexport async function execute(vfs, args: unknown) { await 0; return args }'
  await run(new Guest(engine.newContext(), frames), transpiler, {
    type: 'execute',
    file: 'warm.ts',
    source,
    arguments: '{}',
  })
}

async function main(): Promise<void> {
  const transpiler = openTranspiler()
  const memory = new WebAssembly.Memory(MEMORY)
  const engine = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory: memory }))
  const frames = framesOf(Bun.stdin.stream(), { message: MAX_MESSAGE_BYTES, bytes: BOUNDS.file })
  await warm(engine, transpiler, frames)
  const guest = new Guest(engine.newContext(), frames)
  say({ type: 'ready' })
  const { value: first, done } = await frames.next()
  // The parent has exited, or needs no tool any more.
  if (done) return
  say(await run(guest, transpiler, first.message as SandboxOrder))
  // Keep running until the parent kills this process, so that all output is sent; replies to ended calls are ignored.
  while (!(await frames.next()).done);
}

await main()
