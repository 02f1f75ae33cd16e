/**
 * The batch interfaces of Anthropic, OpenAI and Mistral, as their documents describe them: limits, states, results in
 * any order, lines that fail, expire or are lost, cancelling, pagination, refused submissions, results that are gone.
 * Part of {@link ModelServer}, whose script answers the lines.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorBody, type Provider, Refusal, WORDS } from './model-formats.ts'

/** What becomes of a line (one request of a batch). `lost`: no file of results has it. `doubled`: it is there twice. */
export type LineEnd = 'answered' | 'errored' | 'expired' | 'lost' | 'doubled'

/** How batches end. By default all their lines are answered. */
export type BatchScript = {
  /** Milliseconds until a batch has ended. */
  delay?: number
  /** What becomes of a line, by its number in the batch. */
  end?: (at: number, body: string) => LineEnd
  /** The refusal of a submission, by its number from 0. */
  refuse?: (count: number) => { status: number; words?: string; headers?: Record<string, string> } | undefined
  /** Takes a submission, and closes the connection instead of answering. */
  isDropped?: (count: number) => boolean
  /** The whole batch ends in this way, without any line processed. */
  fate?: 'failed' | 'expired'
  /** Whether batches, or only their results, are deleted as soon as they have ended. */
  gone?: 'batch' | 'results'
  /** The provider has no batch interface: every request to it is answered with 404. */
  isMissing?: boolean
}

type Format = 'anthropic' | 'openai' | 'mistral'
type Line = { id: string; body: string }
type State = 'under way' | 'cancelled' | 'ended'

/** A batch as it was submitted. */
export type ServedBatch = {
  id: string
  format: Format
  lines: Line[]
  at: number
  state: State
  metadata: unknown
  headers: IncomingMessage['headers']
  files: { input?: string; output?: string; errors?: string }
}

/** Answers one line: with the status and JSON of an answer to the same request outside of a batch. */
type AnswerLine = (provider: Provider, body: Buffer) => Promise<{ status: number; json: string }>

/** The most requests of a batch, by provider. */
const MAX_REQUESTS: Record<Format, number> = { anthropic: 100_000, openai: 50_000, mistral: 1_000_000 }
const MAX_BYTES: Record<Format, number> = { anthropic: 256e6, openai: 200e6, mistral: 512e6 }

export class BatchServer {
  script: BatchScript = {}
  readonly batches: ServedBatch[] = []
  /** All submissions, refused ones too. */
  submissions = 0
  /** The messages with which requests were refused; most tests expect none. */
  readonly refused: string[] = []
  readonly #files = new Map<string, string>()
  #count = 0

  constructor(private readonly answerLine: AnswerLine) {}

  /** The lines of all batches that were accepted. */
  get lines(): Line[] {
    return this.batches.flatMap(({ lines }) => lines)
  }

  /** The names of files that were not deleted. */
  get files(): string[] {
    return [...this.#files.keys()]
  }

  /** Forgets all batches and files, and the script. */
  reset(): void {
    this.script = {}
    this.submissions = 0
    for (const list of [this.batches, this.refused]) list.length = 0
    this.#files.clear()
  }

  /** Answers a request to one of the batch interfaces; gives whether it was one. */
  async handle({ method = '', url = '', headers }: IncomingMessage, body: Buffer, response: ServerResponse) {
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    const format = formatOf(pathname)
    if (!format) return false
    if (this.script.isMissing) {
      refuse(response, format, 404, 'Not Found')
      return true
    }
    try {
      const rest = pathname.replace(PREFIXES[format], '')
      if (pathname.startsWith('/v1/files')) await this.#file(method, pathname, { headers, body }, response)
      else if (method === 'POST' && rest === '') await this.#submit(format, { headers, body }, response)
      else if (method === 'GET' && rest === '') this.#list(format, searchParams, response)
      else await this.#one(format, method, rest, response)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.refused.push(error.message)
      refuse(response, format, 400, error.message)
    }
    return true
  }

  async #submit(
    format: Format,
    { headers, body }: { headers: IncomingMessage['headers']; body: Buffer },
    response: ServerResponse,
  ): Promise<void> {
    const count = this.submissions++
    const refusal = this.script.refuse?.(count)
    if (refusal) {
      refuse(response, format, refusal.status, refusal.words ?? WORDS[refusal.status] ?? '', refusal.headers)
      return
    }
    const sent = JSON.parse(body.toString())
    const input = format === 'openai' ? sent.input_file_id : sent.input_files?.[0]
    const text = format === 'anthropic' ? '' : this.#files.get(input)
    if (text === undefined) throw new Refusal(`No such file: ${input}`)
    const lines = format === 'anthropic' ? linesOfMessages(body.toString()) : linesOfFile(format, text)
    verifyLines(format, lines, format === 'anthropic' ? body.length : text.length)
    const batch: ServedBatch = {
      id: `${format === 'anthropic' ? 'msgbatch' : 'batch'}_${String(++this.#count).padStart(6, '0')}`,
      format,
      lines,
      at: Date.now(),
      state: 'under way',
      metadata: sent.metadata ?? null,
      headers,
      files: { ...(format !== 'anthropic' && { input }) },
    }
    this.batches.push(batch)
    if (this.script.isDropped?.(count)) return void response.socket?.destroy()
    send(response, this.#shown(batch))
  }

  #list(format: Format, query: URLSearchParams, response: ServerResponse): void {
    const all = this.batches.filter(it => it.format === format).reverse()
    if (format === 'mistral') {
      const size = Number(query.get('page_size') ?? 100)
      const from = Number(query.get('page') ?? 0) * size
      const data = all.slice(from, from + size).map(it => this.#shown(it))
      send(response, { object: 'list', data, total: all.length })
      return
    }
    const after = query.get(format === 'anthropic' ? 'after_id' : 'after')
    const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
    const page = all.slice(from, from + Number(query.get('limit') ?? 20))
    send(response, {
      ...(format === 'openai' && { object: 'list' }),
      data: page.map(it => this.#shown(it)),
      has_more: from + page.length < all.length,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
    })
  }

  async #one(format: Format, method: string, rest: string, response: ServerResponse): Promise<void> {
    const [, id, what = ''] = /^\/(\w+)(?:\/(\w+))?$/.exec(rest) ?? []
    const batch = this.batches.find(it => it.format === format && it.id === id)
    const hasEnded = batch && (await this.#hasEnded(batch))
    if (!batch || (hasEnded && this.script.gone === 'batch')) return refuse(response, format, 404, 'Not found')
    if (method === 'POST' && what === 'cancel') {
      if (hasEnded) throw new Refusal(`Batch ${id} cannot be canceled because it has already finished processing.`)
      batch.state = 'cancelled'
      return send(response, this.#shown(batch))
    }
    if (what === 'results') {
      if (!hasEnded) throw new Refusal(`Batch ${id} has no available results; it is still in progress`)
      const text = this.#files.get(batch.files.output ?? '')
      if (this.script.gone === 'results' || text === undefined) return refuse(response, format, 404, 'Not found')
      response.writeHead(200, { 'content-type': 'application/x-jsonl' })
      return void response.end(text)
    }
    send(response, this.#shown(batch))
  }

  async #file(
    method: string,
    path: string,
    { headers, body }: { headers: IncomingMessage['headers']; body: Buffer },
    response: ServerResponse,
  ): Promise<void> {
    const [, id = '', content] = /^\/v1\/files\/(\w+)(\/content)?$/.exec(path) ?? []
    if (method === 'POST' && path === '/v1/files') {
      const form = await new Response(new Uint8Array(body), {
        headers: { 'content-type': headers['content-type'] ?? '' },
      }).formData()
      const file = form.get('file')
      if (form.get('purpose') !== 'batch' || !(file instanceof Blob)) throw new Refusal('A file with purpose batch')
      const text = await file.text()
      const facts = {
        object: 'file',
        purpose: 'batch',
        bytes: text.length,
        filename: 'batch.jsonl',
        status: 'processed',
      }
      return send(response, { id: this.#keep(text), ...facts, created_at: Math.floor(Date.now() / 1000) })
    }
    const text = this.script.gone === 'results' ? undefined : this.#files.get(id)
    if (text === undefined) return refuse(response, 'openai', 404, 'No such File object')
    if (method === 'DELETE') this.#files.delete(id)
    if (content === undefined) return send(response, { id, object: 'file', deleted: method === 'DELETE' })
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    response.end(text)
  }

  #keep(text: string): string {
    const id = `file_${this.#files.size}_${++this.#count}`
    this.#files.set(id, text)
    return id
  }

  /** Whether a batch has ended. Once its delay is over, answers its lines and ends it. */
  async #hasEnded(batch: ServedBatch): Promise<boolean> {
    if (batch.state === 'ended' || batch.files.output !== undefined) return true
    if (batch.state === 'under way' && Date.now() - batch.at < (this.script.delay ?? 0)) return false
    const isProcessed = batch.state === 'under way' && !this.script.fate
    const results = await Promise.all(batch.lines.map((line, at) => this.#resultOf(batch, line, at, isProcessed)))
    // The results are out of order: the second half comes first.
    const half = Math.floor(results.length / 2)
    const mixed = [...results.slice(half), ...results.slice(0, half)].flat()
    const isApart = batch.format !== 'anthropic'
    const text = (ofErrors: boolean) =>
      mixed.filter(it => !isApart || it.isError === ofErrors).map(({ json }) => `${JSON.stringify(json)}\n`)
    batch.files.output ??= this.#keep(text(false).join(''))
    if (isApart) batch.files.errors ??= this.#keep(text(true).join(''))
    if (batch.state === 'under way') batch.state = 'ended'
    return true
  }

  async #resultOf(
    { format }: ServedBatch,
    { id, body }: Line,
    at: number,
    isProcessed: boolean,
  ): Promise<{ json: object; isError: boolean }[]> {
    if (!isProcessed && this.script.fate === 'failed') return []
    const end = this.script.end?.(at, body) ?? 'answered'
    if (isProcessed && end === 'lost') return []
    if (!isProcessed || end === 'expired') {
      const isExpired = isProcessed || this.script.fate === 'expired'
      if (format === 'anthropic')
        return [{ json: { custom_id: id, result: { type: isExpired ? 'expired' : 'canceled' } }, isError: true }]
      const error = { code: isExpired ? 'batch_expired' : 'batch_cancelled', message: 'This request was not executed.' }
      return [{ json: { id: `r${at}`, custom_id: id, response: null, error }, isError: true }]
    }
    const provider = format === 'anthropic' ? 'anthropic' : 'openai'
    const { status, json } =
      end === 'errored'
        ? { status: 400, json: errorBody(provider, 400, 'Invalid request') }
        : await this.answerLine(provider, Buffer.from(body))
    const isError = status !== 200
    const parsed = JSON.parse(json)
    const ofMessages = isError ? { type: 'errored', error: parsed } : { type: 'succeeded', message: parsed }
    const ofFiles = { id: `r${at}`, response: { status_code: status, request_id: `q${at}`, body: parsed }, error: null }
    const result = format === 'anthropic' ? { custom_id: id, result: ofMessages } : { custom_id: id, ...ofFiles }
    return end === 'doubled' ? [1, 2].map(() => ({ json: result, isError })) : [{ json: result, isError }]
  }

  /** The JSON in which the provider's API describes a batch. */
  #shown(batch: ServedBatch): object {
    const { id, format, lines, at, state, metadata, files } = batch
    const isOver = files.output !== undefined
    if (format === 'anthropic') {
      const none = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 }
      return {
        ...{ id, type: 'message_batch' },
        processing_status: isOver ? 'ended' : state === 'cancelled' ? 'canceling' : 'in_progress',
        request_counts: { ...none, [isOver ? 'succeeded' : 'processing']: lines.length },
        ...{ created_at: new Date(at).toISOString(), expires_at: new Date(at + DAY_MS).toISOString() },
        ...{ ended_at: isOver ? new Date().toISOString() : null, archived_at: null },
        // An address on another host, to which the client must not send its key.
        results_url: isOver ? 'http://attacker.example/results' : null,
      }
    }
    const fate = this.script.fate
    const seconds = Math.floor(at / 1000)
    if (format === 'openai') {
      const over = state === 'cancelled' ? 'cancelled' : (fate ?? 'completed')
      return {
        ...{ id, object: 'batch', endpoint: '/v1/chat/completions', completion_window: '24h' },
        status: isOver ? over : state === 'cancelled' ? 'cancelling' : 'in_progress',
        errors: isOver && fate === 'failed' ? { object: 'list', data: [FAILED] } : null,
        ...{ created_at: seconds, metadata, input_file_id: files.input },
        ...{ output_file_id: files.output ?? null, error_file_id: files.errors ?? null },
        request_counts: { total: lines.length, completed: 0, failed: 0 },
      }
    }
    const over =
      state === 'cancelled'
        ? 'CANCELLED'
        : { failed: 'FAILED', expired: 'TIMEOUT_EXCEEDED', ok: 'SUCCESS' }[fate ?? 'ok']
    return {
      ...{ id, object: 'batch', endpoint: '/v1/chat/completions', model: 'scripted' },
      status: isOver ? over : state === 'cancelled' ? 'CANCELLATION_REQUESTED' : 'RUNNING',
      errors: isOver && fate === 'failed' ? [{ message: FAILED.message, count: 1 }] : [],
      ...{ created_at: seconds, metadata, input_files: [files.input] },
      ...{ output_file: files.output ?? null, error_file: files.errors ?? null },
      ...{ total_requests: lines.length, completed_requests: 0, succeeded_requests: 0, failed_requests: 0 },
    }
  }
}

const DAY_MS = 24 * 3_600_000
const FAILED = { code: 'token_limit_exceeded', message: 'Enqueued token limit reached for scripted.', line: null }
const PREFIXES: Record<Format, string> = {
  anthropic: '/anthropic/v1/messages/batches',
  openai: '/v1/batches',
  mistral: '/v1/batch/jobs',
}

function formatOf(path: string): Format | undefined {
  if (path.startsWith('/v1/files')) return 'openai'
  return (Object.keys(PREFIXES) as Format[]).find(format => path.startsWith(PREFIXES[format]))
}

/** The lines of a request to Anthropic, each with the exact bytes that were sent. */
function linesOfMessages(text: string): Line[] {
  const { requests } = JSON.parse(text) as { requests: { custom_id: string; params: object }[] }
  return requests.map(({ custom_id, params }) => ({ id: custom_id, body: JSON.stringify(params) }))
}

function linesOfFile(format: Format, text: string): Line[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map(row => {
      const { custom_id, method, url, body } = JSON.parse(row)
      if (format === 'openai' && (method !== 'POST' || url !== '/v1/chat/completions'))
        throw new Refusal('Each line needs its method and url.')
      return { id: custom_id, body: JSON.stringify(body) }
    })
}

function verifyLines(format: Format, lines: readonly Line[], bytes: number): void {
  if (lines.length === 0) throw new Refusal('requests: at least one item is required')
  if (lines.length > MAX_REQUESTS[format]) throw new Refusal('requests: too many items')
  if (bytes > MAX_BYTES[format]) throw new Refusal('Request exceeds the maximum size')
  if (new Set(lines.map(({ id }) => id)).size < lines.length) throw new Refusal('custom_id: must be unique')
  if (lines.some(({ id }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(id))) throw new Refusal('custom_id: invalid')
  if (lines.some(({ body }) => 'stream' in JSON.parse(body))) throw new Refusal('stream: not supported in batches')
}

function send(response: ServerResponse, json: object): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(json))
}

function refuse(
  response: ServerResponse,
  format: Format,
  status: number,
  words: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(errorBody(format === 'anthropic' ? 'anthropic' : 'openai', status, words))
}
