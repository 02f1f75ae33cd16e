/** OpenAI's batches: a file of requests, a file of results, and a file of errors. */
import * as v from 'valibot'
import type { ModelEndpoint } from '../errors.ts'
import type { BatchService, BatchState, FoundBatch, LineResult, NamedLine, SoughtBatch } from './batches.ts'
import { deleteFiles, resultsIn, submitFile } from './files.ts'
import { BatchHttp, Id, ignoreEnded, MAX_SKEW_MS } from './http.ts'

const PAGE = 100
/** At most this many pages of the list of batches are read. */
const MAX_PAGES = 50

const Batch = v.object({
  id: Id,
  status: v.string(),
  created_at: v.number(),
  input_file_id: v.nullish(Id),
  output_file_id: v.nullish(Id),
  error_file_id: v.nullish(Id),
  metadata: v.nullish(v.record(v.string(), v.unknown())),
  errors: v.nullish(v.object({ data: v.nullish(v.array(v.looseObject({ message: v.nullish(v.string()) }))) })),
})
const Page = v.object({ data: v.array(Batch), has_more: v.optional(v.boolean(), false), last_id: v.nullish(Id) })

export class OpenAiBatches implements BatchService {
  /** The provider takes 50,000 requests and 200 MB. */
  readonly limits = { requests: 50_000, bytes: 195_000_000 }
  readonly #http: BatchHttp

  constructor(asked: ModelEndpoint, key: string) {
    this.#http = new BatchHttp(asked, key === '' ? {} : { authorization: `Bearer ${key}` })
  }

  async newest(signal: AbortSignal): Promise<string> {
    const { data } = await this.#http.need('/batches?limit=1', Page, signal)
    return data[0]?.id ?? ''
  }

  async find({ name, newest, at }: SoughtBatch, signal: AbortSignal): Promise<FoundBatch | undefined> {
    let after = ''
    for (let page = 0; page < MAX_PAGES; page++) {
      const path = `/batches?limit=${PAGE}${after === '' ? '' : `&after=${after}`}`
      const { data, has_more, last_id } = await this.#http.need(path, Page, signal)
      for (const { id, metadata, created_at } of data) {
        if (metadata?.forge === name) return { id, isSure: true }
        if (id === newest || created_at * 1000 < at - MAX_SKEW_MS) return undefined
      }
      const last = last_id ?? data.at(-1)?.id
      if (!has_more || !last) return undefined
      after = last
    }
    return undefined
  }

  async submit(name: string, lines: readonly NamedLine[], signal: AbortSignal): Promise<string> {
    const url = '/v1/chat/completions'
    const head = `"method":"POST","url":"${url}"`
    const sent = lines.map(({ id, body }) => `{"custom_id":${JSON.stringify(id)},${head},"body":${body}}`)
    const { id } = await submitFile(this.#http, { name, lines: sent, signal }, file =>
      this.#http.need('/batches', v.object({ id: Id }), signal, {
        method: 'POST',
        body: JSON.stringify({
          input_file_id: file,
          endpoint: url,
          completion_window: '24h',
          metadata: { forge: name },
        }),
        headers: { 'content-type': 'application/json' },
      }),
    )
    return id
  }

  async look(id: string, signal: AbortSignal): Promise<BatchState> {
    const batch = await this.#batch(id, signal)
    if (!batch) return { is: 'gone' }
    switch (batch.status) {
      case 'completed':
        return { is: 'ended' }
      case 'expired':
        return { is: 'ended', why: 'its batch expired before its turn came' }
      case 'cancelled':
        return { is: 'ended', why: 'its batch was cancelled', isCancelled: true }
      case 'failed':
        return { is: 'ended', why: `the provider refused its batch: ${batch.errors?.data?.[0]?.message ?? ''}` }
      default:
        return { is: 'under way' }
    }
  }

  async *results(id: string, signal: AbortSignal): AsyncGenerator<LineResult> {
    const batch = await this.#batch(id, signal)
    for (const file of [batch?.output_file_id, batch?.error_file_id])
      if (file) yield* resultsIn(this.#http, file, signal)
  }

  async cancel(id: string, signal: AbortSignal): Promise<void> {
    const path = `/batches/${id}/cancel`
    await ignoreEnded(this.#http.json(path, v.looseObject({}), signal, { method: 'POST', mayBeMissing: true }))
  }

  async tidy(id: string, signal: AbortSignal): Promise<void> {
    const batch = await this.#batch(id, signal)
    await deleteFiles(this.#http, [batch?.input_file_id, batch?.output_file_id, batch?.error_file_id], signal)
  }

  #batch(id: string, signal: AbortSignal): Promise<v.InferOutput<typeof Batch> | undefined> {
    return this.#http.json(`/batches/${id}`, Batch, signal, { mayBeMissing: true })
  }
}
