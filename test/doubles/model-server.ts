/**
 * A local server that speaks the APIs of model providers by a script: a list of turns, or a function from request to
 * answer. It can misbehave as real servers do, records every request byte for byte, and counts what a provider's cache
 * would have held.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { BatchServer } from './batch-server.ts'
import { type Counted, ModelCache } from './model-cache.ts'
import {
  answerOf,
  beginsWith,
  errorBody,
  errorEvent,
  eventsOf,
  type Heard,
  hear,
  type Provider,
  Refusal,
  type Said,
  type ScriptedCall,
  WORDS,
} from './model-formats.ts'

export type { Heard, Provider, Said, ScriptedCall }
export { beginsWith }

/** The response to one request: its content, and how it fails. */
export type Turn = Said & {
  /** Milliseconds until the answer begins. */
  delay?: number
  /**
   * Sends the stream in pieces of this many bytes instead of event by event. `pause`: the milliseconds between them.
   */
  pieces?: number
  pause?: number
  /** The stream ends after this many bytes: the connection is reset, or closed as if the answer were complete. */
  cut?: { at: number; how: 'reset' | 'close' }
  /** After this many bytes nothing more is sent, and the connection stays open. With `life`, keep-alives are sent. */
  stall?: { at: number; life?: boolean }
  /** Sends text without an end. */
  isEndless?: boolean
  /** Another status than 200, with the provider's error. */
  status?: number
  words?: string
  headers?: Record<string, string>
  /** After this many bytes, at the end of an event, the stream contains an error with this status, and ends. */
  errorAt?: { at: number; status: number; words?: string }
  /** After this many bytes, at the end of an event, the stream contains invalid JSON. */
  nonsenseAt?: number
  /** Replaces the answer by a body, such as a proxy's error page. */
  page?: string
  /** Closes the connection without an answer. */
  isDropped?: boolean
  /** Replaces the computed usage. */
  counted?: Counted
  /** Sends no usage, like some servers. */
  hasNoUsage?: boolean
}

export type Script = Turn[] | ((heard: Heard, count: number) => Turn | Promise<Turn>)

/** A request as received, and what became of it. */
export type Asked = {
  path: string
  headers: IncomingHttpHeaders
  /** The bytes of the request's body, as received. */
  body: Buffer
  heard?: Heard
  counted?: Counted
  /** Times in milliseconds on this process's clock: when the request came, and when the connection was closed. */
  at: number
  /** The number of bytes of the whole answer; `sent`: how many of them were sent. */
  bytes: number
  sent: number
  /** Why the request was refused; undefined where it was not. */
  refused?: string
  /** Settled when the answer has ended in any way. */
  closed: Promise<{ at: number; isWhole: boolean }>
}

const KEY = 'key-of-nobody-0123456789'

export type ModelServerOptions = {
  /** Prompts with fewer tokens are not cached. */
  leastCached?: number
  /** Any other key is refused with 401. */
  key?: string
}

export class ModelServer {
  readonly requests: Asked[] = []
  /** The batch interfaces. Their requests are not among {@link requests}. */
  readonly batches = new BatchServer((provider, body) => this.answerLine(provider, body))
  readonly cache: ModelCache
  readonly key: string
  private readonly answers = new Map<string, Heard>()
  private offset = 0
  /** The number of lines of batches that were answered. */
  private lines = 0
  private waiting: { count: number; resolve: () => void }[] = []

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private script: Script,
    options: ModelServerOptions,
  ) {
    this.key = options.key ?? KEY
    this.cache = new ModelCache(() => performance.now() / 1000 + this.offset, options.leastCached)
    server.on('request', (request, response) => void this.answer(request, response))
  }

  /** Listens on a free local port. */
  static async start(script: Script = [], options: ModelServerOptions = {}): Promise<ModelServer> {
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return new ModelServer(server, (server.address() as AddressInfo).port, script, options)
  }

  /** Plays a script from the next request on; turns begin at the first. */
  play(script: Script): void {
    this.script = script
    this.requests.length = 0
  }

  /** Advances the cache's clock. */
  pass(seconds: number): void {
    this.offset += seconds
  }

  /** Resolves after this many requests in total. */
  asked(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve()
    return new Promise(resolve => this.waiting.push({ count, resolve }))
  }

  /** The settings for this server; with a default model for the desk where `model` is given. */
  environment(provider: Provider, model = MODELS[provider]): Record<string, string> {
    const name = provider.toUpperCase()
    return { FORGE_MODEL: model, [`${name}_API_KEY`]: this.key, [`${name}_BASE_URL`]: this.base(provider) }
  }

  base(provider: Provider): string {
    return `http://127.0.0.1:${this.port}${BASES[provider]}`
  }

  /** The share of all input tokens that came from the cache. */
  get shareRead(): number {
    const counts = this.requests.map(({ counted }) => counted).filter(counted => counted !== undefined)
    const all = counts.reduce((sum, { input }) => sum + input, 0)
    return all ? counts.reduce((sum, { read }) => sum + read, 0) / all : 0
  }

  async stop(): Promise<void> {
    const stopped = new Promise(resolve => this.server.close(resolve))
    this.server.closeAllConnections()
    await stopped
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isOfBatches(request.url ?? '')) {
      const key = request.headers['x-api-key'] ?? request.headers.authorization?.replace(/^Bearer /, '')
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      if (key !== this.key) return refuse(response, 401, errorBody('openai', 401, WORDS[401] ?? ''))
      await this.batches.handle(request, Buffer.concat(chunks), response)
      return
    }
    const asked = await this.record(request, response)
    const provider = providerOf(asked.path)
    if (!provider) return refuse(response, 404, 'no such path')
    const key = asked.headers['x-api-key'] ?? asked.headers.authorization?.replace(/^Bearer /, '')
    if (key !== this.key) return refuse(response, 401, errorBody(provider, 401, WORDS[401] ?? ''))
    try {
      const heard = hear(provider, asked.body)
      asked.heard = heard
      await this.reply(asked, heard, response)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      asked.refused = error.message
      refuse(response, 400, errorBody(provider, 400, error.message))
    }
  }

  /** Answers a line of a batch, by the script. */
  private async answerLine(provider: Provider, body: Buffer): Promise<{ status: number; json: string }> {
    try {
      const heard = hear(provider, body, { isStreamed: false })
      const script = this.script
      const count = this.lines++
      const turn = typeof script === 'function' ? await script(heard, count) : script[count]
      if (!turn) throw new Refusal(`The script has no answer to line ${count + 1}.`)
      if (turn.status) return { status: turn.status, json: errorBody(provider, turn.status, turn.words ?? '') }
      const json = answerOf(heard, turn, turn.counted ?? this.count(heard), `msg_batched_${count}`)
      return { status: 200, json }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { status: 400, json: errorBody(provider, 400, error.message) }
    }
  }

  private async record(request: IncomingMessage, response: ServerResponse): Promise<Asked> {
    const at = performance.now()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const closed = new Promise<{ at: number; isWhole: boolean }>(resolve =>
      response.on('close', () => resolve({ at: performance.now(), isWhole: response.writableFinished })),
    )
    const asked: Asked = {
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks),
      at,
      bytes: 0,
      sent: 0,
      closed,
    }
    this.requests.push(asked)
    for (const { resolve } of this.waiting.filter(({ count }) => count <= this.requests.length)) resolve()
    return asked
  }

  private async reply(asked: Asked, heard: Heard, response: ServerResponse): Promise<void> {
    const count = this.requests.indexOf(asked)
    const script = this.script
    const turn = typeof script === 'function' ? await script(heard, count) : script[count]
    if (!turn) throw new Refusal(`The script has no answer to request ${count + 1}.`)
    if (turn.delay) await Bun.sleep(turn.delay)
    if (turn.isDropped) return void response.socket?.destroy()
    if (turn.status) {
      const words = turn.words ?? WORDS[turn.status] ?? 'scripted'
      return refuse(response, turn.status, turn.page ?? errorBody(heard.provider, turn.status, words), turn.headers)
    }
    if (turn.page !== undefined) {
      response.writeHead(200, { 'content-type': 'text/html', ...turn.headers })
      return void response.end(turn.page)
    }
    asked.counted = turn.counted ?? this.count(heard)
    const id = `msg_scripted_${String(this.answers.size).padStart(8, '0')}`
    const events = eventsOf(heard, turn, asked.counted, { id, earlier: this.answers, hasUsage: !turn.hasNoUsage })
    this.answers.set(id, heard)
    asked.bytes = Buffer.byteLength(events.join(''))
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...turn.headers })
    await stream(asked, heard.provider, events, turn, response)
  }

  private count(heard: Heard): Counted {
    return heard.provider === 'openai'
      ? this.cache.countAutomatic(heard.model, heard.pieces)
      : this.cache.countMarked(heard.model, heard.pieces)
  }
}

const isOfBatches = (path: string): boolean =>
  /^\/(anthropic\/v1\/messages\/batches|v1\/(files|batches|batch\/jobs))([/?]|$)/.test(path)

const BASES: Record<Provider, string> = { anthropic: '/anthropic', openrouter: '/api/v1', openai: '/v1' }
const MODELS: Record<Provider, string> = {
  anthropic: 'anthropic/claude-scripted',
  openrouter: 'openrouter/anthropic/claude-scripted',
  openai: 'openai/scripted',
}

function providerOf(path: string): Provider | undefined {
  if (path === '/anthropic/v1/messages') return 'anthropic'
  if (path === '/api/v1/chat/completions') return 'openrouter'
  return path === '/v1/chat/completions' ? 'openai' : undefined
}

function refuse(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body)
}

/** Sends the scripted stream up to the point where it breaks, and breaks it. */
async function stream(
  asked: Asked,
  provider: Provider,
  events: string[],
  turn: Turn,
  response: ServerResponse,
): Promise<void> {
  const whole = Buffer.from(events.join(''))
  const stop = turn.cut?.at ?? turn.stall?.at ?? turn.errorAt?.at ?? turn.nonsenseAt ?? (turn.isEndless ? 0 : Infinity)
  const isBetween = Boolean(turn.errorAt || turn.stall?.life) || turn.nonsenseAt !== undefined
  const part = whole.subarray(0, isBetween ? endOfEvent(events, stop) : Math.min(stop, whole.length))
  const bits = turn.isEndless
    ? beginning(provider, events)
    : turn.pieces
      ? slices(part, turn.pieces)
      : atEvents(part, events)
  for (const bit of bits) {
    if (response.closed) return
    await write(response, bit)
    asked.sent += bit.length
    if (turn.pause) await Bun.sleep(turn.pause)
  }
  if (turn.cut?.how === 'reset') return void response.socket?.destroy()
  if (turn.errorAt)
    response.write(errorEvent(provider, turn.errorAt.status, turn.errorAt.words ?? WORDS[turn.errorAt.status] ?? ''))
  if (turn.nonsenseAt !== undefined) response.write('data: {"type": "content_block_delta", "choices": [{]\n\n')
  if (turn.isEndless) return sayForEver(provider, response)
  if (turn.stall) return turn.stall.life ? liveForEver(provider, response) : undefined
  response.end()
}

/** Resolves when the bytes are sent, or the client has disconnected. */
const write = (response: ServerResponse, bytes: Uint8Array): Promise<void> =>
  new Promise(resolve => {
    response.once('close', resolve)
    response.write(bytes, () => {
      response.off('close', resolve)
      resolve()
    })
  })

function slices(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

/** The end of the event that contains this byte. */
function endOfEvent(events: string[], at: number): number {
  let end = 0
  for (const event of events) {
    if (end >= at) return end
    end += Buffer.byteLength(event)
  }
  return end
}

/** Splits the bytes at events; the last piece may be part of one. */
function atEvents(bytes: Buffer, events: string[]): Buffer[] {
  const bits: Buffer[] = []
  let at = 0
  for (const event of events) {
    if (at >= bytes.length) break
    const end = at + Buffer.byteLength(event)
    bits.push(bytes.subarray(at, end))
    at = end
  }
  return bits
}

/** The events of an answer's stream before its first text. */
function beginning(provider: Provider, events: string[]): Buffer[] {
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  const opened = provider === 'anthropic' ? [`event: ${block.type}\ndata: ${JSON.stringify(block)}\n\n`] : []
  return [...events.slice(0, 1), ...opened].map(event => Buffer.from(event))
}

async function sayForEver(provider: Provider, response: ServerResponse): Promise<void> {
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'and so on, ' } }
  const chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'and so on, ' }, finish_reason: null }] }
  const event =
    provider === 'anthropic'
      ? `event: ${delta.type}\ndata: ${JSON.stringify(delta)}\n\n`
      : `data: ${JSON.stringify(chunk)}\n\n`
  while (!response.closed) {
    response.write(event)
    await Bun.sleep(5)
  }
}

async function liveForEver(provider: Provider, response: ServerResponse): Promise<void> {
  const sign = provider === 'anthropic' ? 'event: ping\ndata: {"type": "ping"}\n\n' : ': OPENROUTER PROCESSING\n\n'
  while (!response.closed) {
    response.write(sign)
    await Bun.sleep(20)
  }
}
