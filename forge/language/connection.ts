/**
 * JSON-RPC with a language server, as the Language Server Protocol frames it. The server is untrusted: what it sends is
 * bounded in size and rate, and every answer is parsed by the caller's schema.
 */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import type { ServerProcess } from './launch.ts'

/** Messages of more bytes are skipped without being parsed. */
const MAX_MESSAGE_BYTES = 16 << 20
/** A server that announces a message of more bytes is ended. */
const MAX_ANNOUNCED_BYTES = 1 << 30
const MAX_HEADER_BYTES = 4 << 10
/** At most this many open requests of ours. */
const MAX_OPEN_REQUESTS = 200
/** What a server may send at once, and per second. One that sends more is ended. */
const FLOOD = { messages: { atOnce: 20_000, perSecond: 2_000 }, bytes: { atOnce: 256 << 20, perSecond: 16 << 20 } }
/** A server that does not answer this many requests in a row is ended. */
const MAX_TIMEOUTS = 3

/** The default time limit of a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 20_000

const Message = v.object({
  id: v.optional(v.union([v.number(), v.pipe(v.string(), v.maxLength(200)), v.null()])),
  method: v.optional(v.pipe(v.string(), v.maxLength(200))),
  params: v.optional(v.unknown()),
  result: v.optional(v.unknown()),
  error: v.optional(v.unknown()),
})
const RpcError = v.object({ message: v.string(), code: v.optional(v.number()) })

type Open = { resolve: (value: unknown) => void; reject: (error: Error) => void; timer: ReturnType<typeof setTimeout> }

export type ConnectionOptions = {
  /** Called with the notifications of the server. */
  onNotification: (method: string, params: unknown) => void
  /** Gives the answer to a request of the server. Throws for one that is not known. */
  onRequest: (method: string, params: unknown) => unknown
  /** Called once when the server has ended, or was ended; `why`: a sentence. */
  onEnd: (why: string) => void
  /** A factor for the time limits of answers. */
  patience: number
}

/** An answer that says that the request failed; the message is the server's, so it may be anything. */
export class RequestRefused extends Error {}

export class Connection {
  readonly #open = new Map<number, Open>()
  #lastId = 0
  #timeouts = 0
  #why: string | undefined
  readonly #messages = new Allowance(FLOOD.messages)
  readonly #bytes = new Allowance(FLOOD.bytes)

  constructor(
    readonly process: ServerProcess,
    readonly options: ConnectionOptions,
  ) {
    this.#read().then(
      () => undefined,
      error => this.end(error instanceof Failure ? error.message : 'What it sent is not the protocol.'),
    )
    process.ended.then(why => this.end(why))
  }

  get hasEnded(): boolean {
    return this.#why !== undefined
  }

  /** Ends the server. Open requests fail with the reason, a sentence. */
  end(why: string): void {
    if (this.#why !== undefined) return
    this.#why = why
    this.process.kill()
    for (const { reject, timer } of this.#open.values()) {
      clearTimeout(timer)
      reject(new Failure(`The language server has ended. ${why}`))
    }
    this.#open.clear()
    this.options.onEnd(why)
  }

  notify(method: string, params: unknown): void {
    this.#write({ method, params })
  }

  /**
   * Asks the server. Throws a {@link Failure} where it does not answer in time, has ended, or answers what the schema
   * does not allow, and {@link RequestRefused} where it answers with an error.
   *
   * @param options.timeout In milliseconds.
   */
  async request<Schema extends v.GenericSchema>(
    method: string,
    params: unknown,
    schema: Schema,
    { timeout = REQUEST_TIMEOUT_MS, signal }: { timeout?: number; signal?: AbortSignal } = {},
  ): Promise<v.InferOutput<Schema>> {
    signal?.throwIfAborted()
    if (this.#why !== undefined) throw new Failure(`The language server has ended. ${this.#why}`)
    if (this.#open.size >= MAX_OPEN_REQUESTS) throw new Failure('The language server has too many open requests.')
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => this.#timedOut(id), timeout * this.options.patience)
    this.#open.set(id, { resolve, reject, timer })
    const abort = () => {
      if (!this.#take(id)) return
      this.notify('$/cancelRequest', { id })
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    try {
      this.#write({ id, method, params })
      const parsed = v.safeParse(schema, await promise)
      if (!parsed.success) throw new Failure('The answer of the language server is not as the protocol has it.')
      return parsed.output
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  #timedOut(id: number): void {
    const open = this.#take(id)
    if (!open) return
    this.#timeouts++
    this.notify('$/cancelRequest', { id })
    open.reject(new Failure('The language server did not answer in time.'))
    if (this.#timeouts >= MAX_TIMEOUTS) this.end('It did not answer any more.')
  }

  #take(id: number): Open | undefined {
    const open = this.#open.get(id)
    this.#open.delete(id)
    clearTimeout(open?.timer)
    return open
  }

  #write(message: object): void {
    if (this.#why !== undefined) return
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
    try {
      this.process.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]))
    } catch {
      this.end('It can’t be written to any more.')
    }
  }

  async #read(): Promise<void> {
    const frames = new Frames(start => this.#tooLarge(start))
    for await (const chunk of this.process.output) {
      if (this.#why !== undefined) return
      if (!this.#bytes.take(chunk.length)) throw new Failure('It sent too much.')
      for (const body of frames.add(chunk)) {
        if (!this.#messages.take(1)) throw new Failure('It sent too many messages.')
        this.#hear(body)
        // A notification may have ended the server.
        if (this.#why !== undefined) return
      }
    }
  }

  /** Answers a request whose answer is too large to be read, where the start of the message names it. */
  #tooLarge(start: Buffer): void {
    const [, id] = /"id": ?(\d{1,15})\b/.exec(start.toString('latin1')) ?? []
    this.#take(Number(id))?.reject(new Failure('The answer of the language server is too large.'))
  }

  /** Handles a message. One that is not JSON, not of the protocol, or answers no request is ignored. */
  #hear(body: Buffer): void {
    const parsed = v.safeParse(Message, parseJson(body))
    if (!parsed.success) return
    const { id, method, params, result, error } = parsed.output
    if (method !== undefined && id !== undefined && id !== null) this.#answer(id, method, params)
    else if (method !== undefined) this.options.onNotification(method, params)
    else if (typeof id === 'number') this.#answered(id, result, error)
  }

  #answered(id: number, result: unknown, error: unknown): void {
    const open = this.#take(id)
    if (!open) return
    this.#timeouts = 0
    if (error === undefined) {
      open.resolve(result)
      return
    }
    const refused = v.safeParse(RpcError, error)
    open.reject(new RequestRefused(refused.success ? refused.output.message.slice(0, 500) : 'It gave no reason.'))
  }

  #answer(id: number | string, method: string, params: unknown): void {
    try {
      this.#write({ id, result: this.options.onRequest(method, params) ?? null })
    } catch {
      this.#write({ id, error: { code: -32601, message: 'This client does not do that.' } })
    }
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/** A bound on a rate: `atOnce` may be taken, which fills up again by `perSecond`. */
class Allowance {
  #left: number
  #counted = performance.now()

  constructor(readonly rate: { atOnce: number; perSecond: number }) {
    this.#left = rate.atOnce
  }

  /** Takes an amount. Gives false where too much was taken. */
  take(amount: number): boolean {
    const now = performance.now()
    const { atOnce, perSecond } = this.rate
    this.#left = Math.min(atOnce, this.#left + ((now - this.#counted) / 1000) * perSecond)
    this.#counted = now
    this.#left -= amount
    return this.#left >= 0
  }
}

/** Takes the bodies of messages out of a stream. */
export class Frames {
  #chunks: Buffer[] = []
  #size = 0
  /** The length of the body that is being read; undefined within a header. */
  #length: number | undefined
  /** How many bytes of a body that is too large are still to be skipped. */
  #skipped = 0

  /** `onTooLarge` is called with the start of a message that is skipped, since it is too large. */
  constructor(readonly onTooLarge: (start: Buffer) => void) {}

  /** The messages that a chunk completes. Throws a {@link Failure} for a header that is not of the protocol. */
  add(bytes: Uint8Array): Buffer[] {
    const bodies: Buffer[] = []
    let chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    if (this.#skipped > 0) {
      const part = Math.min(this.#skipped, chunk.length)
      this.#skipped -= part
      chunk = chunk.subarray(part)
    }
    if (chunk.length === 0) return bodies
    this.#chunks.push(chunk)
    this.#size += chunk.length
    for (;;) {
      if (this.#length === undefined && !this.#readHeader()) return bodies
      const length = this.#length ?? 0
      if (length > MAX_MESSAGE_BYTES) {
        // The start of the message may be still to come.
        if (this.#size < MAX_HEADER_BYTES) return bodies
        const part = Math.min(length, this.#size)
        this.onTooLarge(this.#cut(part).subarray(0, MAX_HEADER_BYTES))
        this.#skipped = length - part
        this.#length = undefined
        if (this.#skipped > 0) return bodies
        continue
      }
      if (this.#size < length) return bodies
      bodies.push(this.#cut(length))
      this.#length = undefined
    }
  }

  #readHeader(): boolean {
    const start = this.#joined().subarray(0, MAX_HEADER_BYTES)
    const end = start.indexOf('\r\n\r\n')
    if (end < 0) {
      if (this.#size >= MAX_HEADER_BYTES) throw new Failure('What it sent is not the protocol.')
      return false
    }
    const length = Number(/^content-length: *(\d{1,12})\r?$/im.exec(start.subarray(0, end + 1).toString('latin1'))?.[1])
    if (!(length <= MAX_ANNOUNCED_BYTES)) throw new Failure('What it sent is not the protocol.')
    this.#cut(end + 4)
    this.#length = length
    return true
  }

  #joined(): Buffer {
    const all = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all
  }

  #cut(length: number): Buffer {
    const all = this.#joined()
    const rest = all.subarray(length)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#size = rest.length
    return all.subarray(0, length)
  }
}
