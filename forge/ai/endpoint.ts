/**
 * The way to a provider for one request: it goes to the address that was set and nowhere else, ends when the provider
 * says nothing for too long or too much, and can be cut at any time.
 */
import { hostOf, type ModelEndpoint, sendAgain } from './errors.ts'
import { ModelError } from './request.ts'

/** No answer of a model is larger. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** How the streams of all providers end, and how long that is at most. */
const LAST_EVENT = { pattern: /(?:data: ?\[DONE\]|"message_stop" ?\})\s*$/, length: 100 }

/** What the AI SDK's providers send their requests by. */
export type Fetch = typeof fetch

type LineOptions = {
  asked: ModelEndpoint
  /** Seconds without a byte after which the line is cut. */
  silence: number
  /** Aborted by the caller when it no longer wants the answer. */
  signal: AbortSignal
  /** Changes the body before it is sent. */
  rewrite?: (body: string) => string
}

/** One request and its answer. */
export class ModelExchange {
  /** How many bytes were sent. */
  sent = 0
  /** Whether anything came back. */
  hasBegun = false
  /** Why the line was cut from here, where it was. */
  trouble: ModelError | undefined
  private readonly cutter = new AbortController()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly options: LineOptions) {}

  /** Sends the one request of this line. */
  readonly fetch: Fetch = Object.assign(this.send.bind(this), { preconnect: fetch.preconnect })

  /** Ends the request, whatever its state. */
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
    // A redirect is not followed: the key must not go to anyone else.
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

  /** Refuses a page, e.g. that of a proxy that wants a login. */
  private noStream(response: Response): never {
    response.body?.cancel().catch(() => undefined)
    throw this.cut(new ModelError('broken', `${this.host} answered what is no answer of a model: check its address.`))
  }

  /** What comes, listened to. A connection that breaks after the last event has done no harm. */
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

  /** Waits for the next byte. */
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
