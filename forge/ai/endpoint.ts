/**
 * One request to a provider and its answer: sent to the configured address only, ended when the provider sends nothing
 * for too long or too much, and abortable at any time.
 */
import { hostOf, type ModelEndpoint, sendAgain } from './errors.ts'
import { ModelError } from './request.ts'

/** An answer with more bytes than this is refused. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** The last event of the streams of all providers; `length` is the most bytes that it takes. */
const LAST_EVENT = { pattern: /(?:data: ?\[DONE\]|"message_stop" ?\})\s*$/, length: 100 }

/** The fetch function that the AI SDK's providers send their requests by. */
export type Fetch = typeof fetch

type LineOptions = {
  asked: ModelEndpoint
  /** The connection is cut after this many seconds without a byte. */
  silence: number
  /** Aborted when the caller no longer wants the answer. */
  signal: AbortSignal
  /** Changes the request's body before it is sent. */
  rewrite?: (body: string) => string
}

/** One request to a model, and its answer. */
export class ModelExchange {
  /** The number of bytes of the request's body. */
  sent = 0
  /** Whether any byte of the answer has arrived. */
  hasBegun = false
  /** Why this side has cut the connection; undefined where it has not. */
  trouble: ModelError | undefined
  private readonly cutter = new AbortController()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly options: LineOptions) {}

  /** Sends the request, as the AI SDK calls it. */
  readonly fetch: Fetch = Object.assign(this.send.bind(this), { preconnect: fetch.preconnect })

  /** Ends the request in any state and stops the timer. */
  close(): void {
    clearTimeout(this.timer)
    this.cutter.abort()
  }

  private async send(...[address, init]: Parameters<Fetch>): Promise<Response> {
    const { rewrite, signal } = this.options
    const given = String(init?.body ?? '')
    const body = rewrite ? rewrite(given) : given
    this.sent = Buffer.byteLength(body)
    this.listen()
    // Redirects are not followed, so that the key is sent to no other host.
    const response = await fetch(address, {
      ...init,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([this.cutter.signal, signal]),
      timeout: false,
    })
    this.hasBegun = true
    if (response.ok && /html|json/.test(response.headers.get('content-type') ?? '')) return this.noStream(response)
    return new Response(response.body ? this.heard(response.body) : null, {
      status: response.status,
      headers: response.headers,
    })
  }

  /** Throws for a response that is no stream, e.g. the page of a proxy that wants a login. */
  private noStream(response: Response): never {
    response.body?.cancel().catch(() => undefined)
    throw this.cut(new ModelError('broken', `${this.host} answered what is no answer of a model: check its address.`))
  }

  /** Passes the bytes on and watches for silence. A connection that breaks after the last event has lost nothing. */
  private heard(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader()
    let bytes = 0
    let end = ''
    return new ReadableStream({
      pull: async controller => {
        try {
          const { done, value } = await reader.read()
          if (done) return this.hush(controller)
          this.listen()
          bytes += value.byteLength
          if (bytes > MAX_ANSWER_BYTES)
            throw this.cut(new ModelError('broken', `${this.host} answered without an end.`))
          end = (end + Buffer.from(value.subarray(-LAST_EVENT.length)).toString('latin1')).slice(-LAST_EVENT.length)
          controller.enqueue(value)
        } catch (error) {
          if (!this.trouble && LAST_EVENT.pattern.test(end)) return this.hush(controller)
          controller.error(error)
        }
      },
      cancel: reason => reader.cancel(reason),
    })
  }

  private hush(controller: ReadableStreamDefaultController): void {
    clearTimeout(this.timer)
    controller.close()
  }

  /** Restarts the timer that ends a silent connection. */
  private listen(): void {
    clearTimeout(this.timer)
    const { silence } = this.options
    const words = sendAgain(`${this.host} said nothing for ${silence} s`, ', or choose another model')
    this.timer = setTimeout(() => this.cut(new ModelError('cut', words)), silence * 1000)
  }

  private cut(trouble: ModelError): ModelError {
    this.trouble ??= trouble
    this.cutter.abort(trouble)
    return trouble
  }

  private get host(): string {
    return hostOf(this.options.asked.address)
  }
}
