/**
 * Requests sent as a batch: a provider answers them within a day, at half the price. The content of a line is the AI
 * SDK's own request or answer (see ask.ts); the services in this folder only carry lines to the provider and back.
 */
import { Failure } from '../../../core/failure.ts'
import type { Model, ModelAnswer, Request } from '../request.ts'

/**
 * A request as a line of a batch. `body`: as the AI SDK would send it now, without streaming. `betas`: the features in
 * preview that its headers ask for.
 */
export type BatchLine = { body: string; betas: readonly string[] }

/** A line with the id by which its result is found: at most 64 letters, digits, `-` and `_`. */
export type NamedLine = BatchLine & { id: string }

/**
 * The result of one line (request) of a batch: the body of the answer, or why there is none, as the end of a sentence.
 */
export type LineResult = { id: string } & (
  | { body: string; why?: undefined }
  | { body?: undefined; why: string; isCancelled?: boolean }
)

/**
 * The state of a batch. `why`: for an ended one, why lines may have no result, as the end of a sentence. `gone`: the
 * provider does not know the batch, or no longer has its results.
 */
export type BatchState = { is: 'under way' } | { is: 'ended'; why?: string; isCancelled?: boolean } | { is: 'gone' }

/** A batch found at the provider. `isSure`: false where only its size and time match. */
export type FoundBatch = { id: string; isSure: boolean }

/** What is known of a submission that was interrupted and may have reached the provider, to find its batch. */
export type SoughtBatch = {
  /** The name that the submission gave its batch; not every provider keeps it. */
  name: string
  /** The number of requests in the submission. */
  count: number
  /**
   * The id of the provider's newest batch before the submission, '' where there was none. `at`: the time of the
   * submission, in milliseconds since 1970.
   */
  newest: string
  at: number
  /** The ids of batches that were found before, but belong to other submissions: they are not taken again. */
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
  /** Finds the batch of a submission that was interrupted; undefined where the provider has none that matches. */
  find(sought: SoughtBatch, signal: AbortSignal): Promise<FoundBatch | undefined>
  /** Submits lines as a new batch, each time it is called. Gives the batch's id. */
  submit(name: string, lines: readonly NamedLine[], signal: AbortSignal): Promise<string>
  look(id: string, signal: AbortSignal): Promise<BatchState>
  /** The results of a batch that has ended, in any order. Lines may be missing. */
  results(id: string, signal: AbortSignal): AsyncIterable<LineResult>
  /** Asks the provider to cancel a batch. Answers that it has by then are paid for. */
  cancel(id: string, signal: AbortSignal): Promise<void>
  /** Deletes a batch's files at the provider, where there are any: those that were uploaded, and those of results. */
  tidy(id: string, signal: AbortSignal): Promise<void>
}

/** The batches of one model: the provider's service, and requests and answers in the AI SDK's form. */
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

/** The address that a batch was sent to has no batch interface. */
export class NoBatches extends Failure {}
