/** Anthropic's message batches. */
import * as v from 'valibot'
import type { ModelEndpoint } from '../errors.ts'
import type { BatchService, BatchState, FoundBatch, LineResult, NamedLine, SoughtBatch } from './batches.ts'
import { BatchHttp, Id, ignoreEnded, MAX_SKEW_MS } from './http.ts'

const VERSION = '2023-06-01'
const PAGE = 100
/** At most this many pages of the list of batches are read. */
const MAX_PAGES = 50

const Counts = v.object({
  processing: v.number(),
  succeeded: v.number(),
  errored: v.number(),
  canceled: v.number(),
  expired: v.number(),
})
const Batch = v.object({
  id: Id,
  processing_status: v.string(),
  request_counts: Counts,
  created_at: v.string(),
  archived_at: v.nullish(v.string()),
})
const Page = v.object({ data: v.array(Batch), has_more: v.boolean(), last_id: v.nullish(Id) })
const Line = v.object({
  custom_id: v.string(),
  result: v.variant('type', [
    v.object({ type: v.literal('succeeded'), message: v.looseObject({}) }),
    v.object({
      type: v.literal('errored'),
      error: v.looseObject({ error: v.optional(v.looseObject({ message: v.optional(v.string(), '') })) }),
    }),
    v.object({ type: v.literal('canceled') }),
    v.object({ type: v.literal('expired') }),
  ]),
})

export class AnthropicBatches implements BatchService {
  /** The provider takes 100,000 requests and 256 MB. */
  readonly limits = { requests: 100_000, bytes: 250_000_000 }
  readonly #http: BatchHttp

  constructor(asked: ModelEndpoint, key: string) {
    this.#http = new BatchHttp(asked, { 'x-api-key': key, 'anthropic-version': VERSION })
  }

  async newest(signal: AbortSignal): Promise<string> {
    const { data } = await this.#http.need('/messages/batches?limit=1', Page, signal)
    return data[0]?.id ?? ''
  }

  /**
   * Finds a submitted batch by its size, and by being newer than the newest batch before the submission: a batch does
   * not keep a name that the client gives it, and its lines can be read only when it has ended.
   */
  async find({ count, newest, at, not }: SoughtBatch, signal: AbortSignal): Promise<FoundBatch | undefined> {
    let after = ''
    for (let page = 0; page < MAX_PAGES; page++) {
      const path = `/messages/batches?limit=${PAGE}${after === '' ? '' : `&after_id=${after}`}`
      const { data, has_more, last_id } = await this.#http.need(path, Page, signal)
      for (const { id, request_counts, created_at } of data) {
        if (id === newest || Date.parse(created_at) < at - MAX_SKEW_MS) return undefined
        const total = Object.values(request_counts).reduce((sum, it) => sum + it, 0)
        if (total === count && !not.includes(id)) return { id, isSure: false }
      }
      if (!has_more || !last_id) return undefined
      after = last_id
    }
    return undefined
  }

  async submit(_name: string, lines: readonly NamedLine[], signal: AbortSignal): Promise<string> {
    const parts = lines.map(({ id, body }) => `{"custom_id":${JSON.stringify(id)},"params":${body}}`)
    const betas = [...new Set(lines.flatMap(line => line.betas))]
    const { id } = await this.#http.need('/messages/batches', v.object({ id: Id }), signal, {
      method: 'POST',
      body: new Blob(['{"requests":[', ...parts.flatMap((part, at) => (at === 0 ? [part] : [',', part])), ']}']),
      headers: {
        'content-type': 'application/json',
        ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
      },
    })
    return id
  }

  async look(id: string, signal: AbortSignal): Promise<BatchState> {
    const batch = await this.#http.json(`/messages/batches/${id}`, Batch, signal, { mayBeMissing: true })
    if (!batch || batch.archived_at) return { is: 'gone' }
    return batch.processing_status === 'ended' ? { is: 'ended' } : { is: 'under way' }
  }

  /** The address of the results is made here and not taken from the provider's answer, since the key is sent to it. */
  async *results(id: string, signal: AbortSignal): AsyncGenerator<LineResult> {
    const path = `/messages/batches/${id}/results`
    for await (const line of this.#http.lines(path, Line, signal, { mayBeMissing: true })) {
      const { custom_id: id, result } = line
      switch (result.type) {
        case 'succeeded':
          yield { id, body: JSON.stringify(result.message) }
          break
        case 'errored':
          yield { id, why: `the provider refused it: ${result.error.error?.message ?? ''}` }
          break
        case 'canceled':
          yield { id, why: 'its batch was cancelled', isCancelled: true }
          break
        case 'expired':
          yield { id, why: 'its batch expired before its turn came' }
      }
    }
  }

  async cancel(id: string, signal: AbortSignal): Promise<void> {
    const path = `/messages/batches/${id}/cancel`
    await ignoreEnded(this.#http.json(path, v.looseObject({}), signal, { method: 'POST', mayBeMissing: true }))
  }

  /** Does nothing: this provider's batches use no uploaded files. */
  async tidy(): Promise<void> {}
}
