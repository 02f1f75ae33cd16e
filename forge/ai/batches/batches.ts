/**
 * Requests sent as a batch: a provider answers them within a day, at half the price. What is inside of a line is the AI
 * SDK's own request and answer (see ask.ts); the services in this folder only carry lines there and back.
 */
import { Failure } from '../../../core/failure.ts'
import type { Model, ModelAnswer, Request } from '../request.ts'

/**
 * A request as a line of a batch. `body`: as the AI SDK would send it now, without streaming. `betas`: the features in
 * preview that its headers ask for.
 */
export type BatchLine = { body: string; betas: readonly string[] }

/** A line with the name by which its result is found: letters, digits, `-` and `_`, at most 64. */
export type NamedLine = BatchLine & { id: string }

/** The result of one line: the body of an answer, or a sentence's end that says why there is none. */
export type LineResult = { id: string } & (
  | { body: string; why?: undefined }
  | { body?: undefined; why: string; isCancelled?: boolean }
)

/**
 * How a batch is. `why`: with `ended`, why lines may have no result, as a sentence's end. `gone`: the provider does not
 * know it, or not its results any more.
 */
export type BatchState = { is: 'under way' } | { is: 'ended'; why?: string; isCancelled?: boolean } | { is: 'gone' }

/** A batch found at the provider. `isSure`: false where only its size and time match. */
export type FoundBatch = { id: string; isSure: boolean }

/** What is known of a submission that may have reached the provider. */
export type SoughtBatch = {
  /** The submission's own name, for providers that keep one. */
  name: string
  /** The number of its lines. */
  count: number
  /** The newest batch before the submission, '' where there was none; and its time, in milliseconds since 1970. */
  newest: string
  at: number
  /** Batches that are known to be others. */
  not: readonly string[]
}

/**
 * The batch interface of a provider for one model. All methods throw a ModelError, or {@link NoBatches}, or the
 * signal's reason.
 */
export interface BatchService {
  /** The most lines and bytes of one batch. */
  readonly limits: { requests: number; bytes: number }
  /** The id of the provider's newest batch; '' where there is none. */
  newest(signal: AbortSignal): Promise<string>
  /** Finds the batch that an interrupted submission has made. */
  find(sought: SoughtBatch, signal: AbortSignal): Promise<FoundBatch | undefined>
  /** Submits lines. Gives the batch's id. Not idempotent. */
  submit(name: string, lines: readonly NamedLine[], signal: AbortSignal): Promise<string>
  look(id: string, signal: AbortSignal): Promise<BatchState>
  /** The results of a batch that has ended, in any order. Lines may be missing. */
  results(id: string, signal: AbortSignal): AsyncIterable<LineResult>
  /** Asks the provider to cancel; what is done already is still paid for. */
  cancel(id: string, signal: AbortSignal): Promise<void>
  /** Deletes files that were uploaded and made for a batch, where there are any. */
  tidy(id: string, signal: AbortSignal): Promise<void>
}

/** The batches of one model: its provider's service, and the AI SDK's requests and answers. */
export interface ModelBatches {
  readonly service: BatchService
  /** The line for a request. Sends nothing. */
  line(request: Request): Promise<BatchLine>
  /** Reads the answer to a request from the body of a result, without a cost. Throws a ModelError. */
  answer(request: Request, body: string): Promise<ModelAnswer>
}

/** A model whose requests can be sent in batches, too; without `batches` where its provider has none. */
export interface BatchableModel extends Model {
  readonly batches?: ModelBatches | undefined
}

/** The address has no batch interface. */
export class NoBatches extends Failure {}
