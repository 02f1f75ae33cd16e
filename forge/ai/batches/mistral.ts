/** Mistral's batch jobs: a file of requests, a file of results, and a file of errors. */
import * as v from 'valibot'
import type { ModelEndpoint } from '../errors.ts'
import type { BatchService, BatchState, FoundBatch, LineResult, NamedLine, SoughtBatch } from './batches.ts'
import { deleteFiles, resultsIn, submitFile } from './files.ts'
import { BatchHttp, Id, ignoreEnded, MAX_SKEW_MS } from './http.ts'

const PAGE = 100
/** At most this many pages of the list of jobs are read. */
const MAX_PAGES = 50

const Job = v.object({
  id: Id,
  status: v.string(),
  /** Seconds since 1970. */
  created_at: v.number(),
  input_files: v.optional(v.array(Id), []),
  output_file: v.nullish(Id),
  error_file: v.nullish(Id),
  metadata: v.nullish(v.record(v.string(), v.unknown())),
  errors: v.nullish(v.array(v.looseObject({ message: v.nullish(v.string()) }))),
})
const Page = v.object({ data: v.optional(v.array(Job), []), total: v.number() })

export class MistralBatches implements BatchService {
  /** The provider takes a million requests, in files of 512 MB. */
  readonly limits = { requests: 100_000, bytes: 250_000_000 }
  readonly #http: BatchHttp

  constructor(
    asked: ModelEndpoint,
    key: string,
    private readonly model: string,
  ) {
    this.#http = new BatchHttp(asked, key === '' ? {} : { authorization: `Bearer ${key}` })
  }

  async newest(signal: AbortSignal): Promise<string> {
    const { data } = await this.#http.need('/batch/jobs?page=0&page_size=1', Page, signal)
    return data[0]?.id ?? ''
  }

  async find({ name, at }: SoughtBatch, signal: AbortSignal): Promise<FoundBatch | undefined> {
    for (let page = 0; page < MAX_PAGES; page++) {
      const { data, total } = await this.#http.need(`/batch/jobs?page=${page}&page_size=${PAGE}`, Page, signal)
      const found = data.find(({ metadata }) => metadata?.forge === name)
      if (found) return { id: found.id, isSure: true }
      const isOld = data.every(({ created_at }) => created_at * 1000 < at - MAX_SKEW_MS)
      if (isOld || (page + 1) * PAGE >= total) return undefined
    }
    return undefined
  }

  async submit(name: string, lines: readonly NamedLine[], signal: AbortSignal): Promise<string> {
    const sent = lines.map(({ id, body }) => `{"custom_id":${JSON.stringify(id)},"body":${body}}`)
    const { id } = await submitFile(this.#http, { name, lines: sent, signal }, file =>
      this.#http.need('/batch/jobs', v.object({ id: Id }), signal, {
        method: 'POST',
        body: JSON.stringify({
          input_files: [file],
          model: this.model,
          endpoint: '/v1/chat/completions',
          timeout_hours: 24,
          metadata: { forge: name },
        }),
        headers: { 'content-type': 'application/json' },
      }),
    )
    return id
  }

  async look(id: string, signal: AbortSignal): Promise<BatchState> {
    const job = await this.#job(id, signal)
    if (!job) return { is: 'gone' }
    switch (job.status) {
      case 'SUCCESS':
        return { is: 'ended' }
      case 'TIMEOUT_EXCEEDED':
        return { is: 'ended', why: 'its batch expired before its turn came' }
      case 'CANCELLED':
        return { is: 'ended', why: 'its batch was cancelled', isCancelled: true }
      case 'FAILED':
        return { is: 'ended', why: `the provider refused its batch: ${job.errors?.[0]?.message ?? ''}` }
      default:
        return { is: 'under way' }
    }
  }

  async *results(id: string, signal: AbortSignal): AsyncGenerator<LineResult> {
    const job = await this.#job(id, signal)
    for (const file of [job?.output_file, job?.error_file]) if (file) yield* resultsIn(this.#http, file, signal)
  }

  async cancel(id: string, signal: AbortSignal): Promise<void> {
    const path = `/batch/jobs/${id}/cancel`
    await ignoreEnded(this.#http.json(path, v.looseObject({}), signal, { method: 'POST', mayBeMissing: true }))
  }

  async tidy(id: string, signal: AbortSignal): Promise<void> {
    const job = await this.#job(id, signal)
    await deleteFiles(this.#http, [...(job?.input_files ?? []), job?.output_file, job?.error_file], signal)
  }

  #job(id: string, signal: AbortSignal): Promise<v.InferOutput<typeof Job> | undefined> {
    return this.#http.json(`/batch/jobs/${id}`, Job, signal, { mayBeMissing: true })
  }
}
