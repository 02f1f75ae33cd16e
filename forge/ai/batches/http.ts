/** Requests to the batch interface of a provider. Answers are untrusted: they are bounded, and ids are checked. */
import { APICallError } from '@ai-sdk/provider'
import * as v from 'valibot'
import { hostOf, type ModelEndpoint, troubleOf } from '../errors.ts'
import { ModelError } from '../request.ts'
import { NoBatches } from './batches.ts'

/** Milliseconds for one request, with an upload or a download of up to 200 MB. */
const REQUEST_TIMEOUT_MS = 15 * 60_000
/** At most this many bytes of a JSON answer, of a line of results, and of all results. */
const MAX_JSON_BYTES = 16 << 20
const MAX_LINE_BYTES = 64 << 20
const MAX_RESULT_BYTES = 2 ** 31

/** HTTP statuses with which an address answers that has no batch interface. */
const NOT_THERE = [404, 405, 501]

/** An id that the provider gave, with only characters that can't lead to another path of its address. */
export const Id = v.pipe(v.string(), v.regex(/^[\w.-]{1,200}$/))

type Sent = { method?: 'GET' | 'POST' | 'DELETE'; body?: string | Blob | FormData; headers?: Record<string, string> }

/** The HTTP client of one provider. Keys are private, so that they do not show when this is printed. */
export class BatchHttp {
  readonly #headers: Record<string, string>

  constructor(
    private readonly asked: ModelEndpoint,
    headers: Record<string, string>,
  ) {
    this.#headers = headers
  }

  /** Sends a request and parses the JSON answer. Undefined for 404, where `mayBeMissing`. */
  async json<Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
    signal: AbortSignal,
    { mayBeMissing = false, ...sent }: Sent & { mayBeMissing?: boolean } = {},
  ): Promise<v.InferOutput<Schema> | undefined> {
    const response = await this.#send(path, sent, signal)
    if (response.status === 404 && mayBeMissing) {
      await response.body?.cancel()
      return undefined
    }
    const text = await this.#text(response, signal)
    if (!response.ok) throw this.#refusal(path, response, text)
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text)
    if (parsed.success) return parsed.output
    throw new ModelError('broken', `${this.host} answered what is no answer about a batch.`)
  }

  /** As {@link json}, but throws where there is no answer. */
  async need<Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
    signal: AbortSignal,
    sent: Sent = {},
  ): Promise<v.InferOutput<Schema>> {
    return (await this.json(path, schema, signal, sent)) as v.InferOutput<Schema>
  }

  /** The lines of a JSONL answer, parsed; invalid ones are left out. None for 404, where `mayBeMissing`. */
  async *lines<Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
    signal: AbortSignal,
    { mayBeMissing = false } = {},
  ): AsyncGenerator<v.InferOutput<Schema>> {
    const response = await this.#send(path, {}, signal)
    if (response.status === 404 && mayBeMissing) {
      await response.body?.cancel()
      return
    }
    if (!response.ok) throw this.#refusal(path, response, await this.#text(response, signal))
    const line = v.pipe(v.string(), v.parseJson(), schema)
    for await (const text of this.#linesOf(response, signal)) {
      const parsed = v.safeParse(line, text)
      if (parsed.success) yield parsed.output
    }
  }

  get host(): string {
    return hostOf(this.asked.address)
  }

  async #send(path: string, { method = 'GET', body, headers }: Sent, signal: AbortSignal): Promise<Response> {
    try {
      return await fetch(`${this.asked.address}${path}`, {
        method,
        headers: { ...this.#headers, ...headers },
        // Redirects are not followed, so that the key is sent to no other host.
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
        ...(body !== undefined && { body }),
      })
    } catch (error) {
      signal.throwIfAborted()
      throw this.#trouble(error)
    }
  }

  async #text(response: Response, signal: AbortSignal): Promise<string> {
    const pieces: Uint8Array[] = []
    for await (const piece of this.#pieces(response, signal, MAX_JSON_BYTES)) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }

  async *#pieces(response: Response, signal: AbortSignal, most: number): AsyncGenerator<Uint8Array> {
    let bytes = 0
    try {
      for await (const piece of response.body ?? []) {
        bytes += piece.byteLength
        if (bytes > most) throw new ModelError('broken', `${this.host} answered without an end.`)
        yield piece
      }
    } catch (error) {
      signal.throwIfAborted()
      throw this.#trouble(error)
    }
  }

  async *#linesOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
    let rest: Uint8Array[] = []
    let length = 0
    for await (const piece of this.#pieces(response, signal, MAX_RESULT_BYTES)) {
      let from = 0
      for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
        yield Buffer.concat([...rest, piece.subarray(from, end)]).toString()
        rest = []
        length = 0
        from = end + 1
      }
      rest.push(piece.subarray(from))
      length += piece.byteLength - from
      if (length > MAX_LINE_BYTES) throw new ModelError('broken', `${this.host} sent a result without an end.`)
    }
    if (length > 0) yield Buffer.concat(rest).toString()
  }

  #trouble(error: unknown): ModelError {
    return troubleOf(error, this.asked, { hasBegun: false, text: '' })
  }

  #refusal(path: string, { status, headers }: Response, body: string): Error {
    if (NOT_THERE.includes(status)) return new NoBatches(`${this.host} has no interface for batches.`)
    return this.#trouble(
      new APICallError({
        message: wordsIn(body),
        url: path,
        requestBodyValues: {},
        statusCode: status,
        responseHeaders: Object.fromEntries(headers),
        responseBody: body,
      }),
    )
  }
}

const ErrorBody = v.union([
  v.pipe(
    v.object({ error: v.object({ message: v.string() }) }),
    v.transform(it => it.error.message),
  ),
  v.pipe(
    v.object({ message: v.string() }),
    v.transform(it => it.message),
  ),
  v.pipe(
    v.object({ detail: v.string() }),
    v.transform(it => it.detail),
  ),
])

/** The message in the body of a refusal. */
function wordsIn(body: string): string {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ErrorBody), body)
  return parsed.success ? parsed.output : ''
}

/** Milliseconds by which the provider's clock may differ from this one's. */
export const MAX_SKEW_MS = 24 * 3_600_000

/** Awaits a cancellation. A refusal because the batch has ended meanwhile is ignored. */
export async function ignoreEnded(cancelling: Promise<unknown>): Promise<void> {
  try {
    await cancelling
  } catch (error) {
    if (!(error instanceof ModelError) || error.trouble !== 'refused') throw error
  }
}
