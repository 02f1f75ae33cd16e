/**
 * The activities that send requests to models in batches. A task's workflow reserves budget for a request and gives it
 * to its model's collector, the workflow that submits batches (flows/collector.ts). The collector's activities submit
 * the requests as a batch, look at its state, and store its answers, each under its request's hash. Each activity may
 * be killed at any point and repeated.
 */
import { createHash } from 'node:crypto'
import { ApplicationFailure } from '@temporalio/common'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { many, visible } from '../../../core/text.ts'
import { type LineResult, type ModelBatches, type NamedLine, NoBatches } from '../../ai/batches/batches.ts'
import { tokensIn } from '../../ai/fence.ts'
import { withCost } from '../../ai/price.ts'
import { ModelError } from '../../ai/request.ts'
import { MARK } from '../../ai/secrets.ts'
import type {
  BatchActivities,
  BatchPace,
  BatchRequest,
  Constructed,
  Enlisted,
  RunId,
  Sent,
  StepPlace,
  Submission,
  WaitingRequest,
} from '../contract.ts'
import { temporalCollectors } from '../engine/collectors.ts'
import type { SharedRun } from '../hub/shared-runs.ts'
import { BatchRecords, BatchRequests } from '../runs/batch-records.ts'
import { OutOfBudget } from '../runs/budget.ts'
import { batchPriceOf, missingPrice, priceOf } from '../runs/prices.ts'
import { parseStoredAnswer, storedAnswer } from '../runs/stored-answer.ts'
import { parseRequest, type StoredRequest } from '../steps/request.ts'
import { brief } from './brief.ts'
import { allItems } from './lists.ts'
import type { Means, OpenRun } from './means.ts'
import { BatchBudget } from './shared-budget.ts'
import type { StepWork } from './step.ts'

/** At most this many requests in one batch: the loss of a larger batch would cost too much. */
const MAX_BATCH_REQUESTS = 1000
/** If no signal comes, a flow looks for its answers after this many windows (times in which requests are gathered). */
const LOOK_WINDOWS = 30
const HOUR_MS = 3_600_000
/** At most this many answers of a batch are stored at the same time. */
const STORED_AT_ONCE = 100
/**
 * How long a repeated submission waits until the provider's list shows a batch of the first try, as a share of the
 * window (the time for which requests are gathered).
 */
const LISTED_WINDOWS = 0.25
/**
 * How much longer a batch's line is than the stored request in it: by LINE_FACTOR, for escaped characters, and this
 * many bytes.
 */
const LINE_BYTES = 2000
const LINE_FACTOR = 1.2

type Asked = StepPlace & Constructed
type Place = { run: RunId; model: string; submission: Submission }

export class BatchWork implements BatchActivities {
  /** Models whose servers have answered that they have no batch interface. */
  readonly #without = new Set<string>()

  constructor(
    private readonly means: Means,
    private readonly steps: StepWork,
  ) {}

  // --- The activities of flows that wait

  async enlist({ waiter, ...input }: Asked & { waiter: string }): Promise<Enlisted> {
    const run = await this.means.run(input.run)
    const { store } = run
    const sent = await this.steps.findAnswer(run, input)
    if (sent) return { is: 'there', sent }
    const records = new BatchRecords(store)
    if ((await records.failureOf(input.key)) !== undefined) return { is: 'now' }
    const { batches } = await this.means.model(input.model)
    if (!batches || this.#without.has(input.model)) {
      await this.#sayNow(
        run,
        `no batches ${input.model}`,
        `Requests to ${input.model} are sent now: its provider has no batches.`,
      )
      return { is: 'now' }
    }
    const bytes = await store.readText(input.request)
    const stored = requestIn(bytes, input)
    const before = await records.submissionOf(input.key)
    const reservation = await this.#reserve(run, input, stored)
    if (reservation === 'full') return { is: 'full', pace: this.#pace }
    const size = Math.ceil(Buffer.byteLength(bytes) * LINE_FACTOR) + LINE_BYTES
    const { output, room } = reservation
    const aside = room && { room: { tokens: room.tokens, cost: room.cost } }
    const request: BatchRequest = { ...input, output, bytes: size, waiter, ...aside }
    const { requests, bytes: most } = batches.service.limits
    const limits = { requests: Math.min(MAX_BATCH_REQUESTS, requests), bytes: most }
    const collectors = this.means.options.collectors ?? temporalCollectors
    await collectors.give({ model: input.model, pace: this.#pace, limits }, { request, ...(before && { before }) })
    return { is: 'out', pace: this.#pace }
  }

  async lookUp(input: {
    run: RunId
    requests: WaitingRequest[]
    isTimer: boolean
    now: number
  }): Promise<{ there: { step: string; sent: Sent }[]; now: string[] }> {
    const run = await this.means.run(input.run)
    const records = new BatchRecords(run.store)
    const there: { step: string; sent: Sent }[] = []
    const now: string[] = []
    const open: WaitingRequest[] = []
    for (const request of input.requests) {
      // What an answer has used is told to the budget where it is stored.
      const sent = await this.steps.findAnswer({ ...run, budget: undefined }, request)
      // `wasThere`: another step with the same request got the answer, so that it costs this step nothing.
      if (sent) there.push({ step: request.step, sent: { ...sent, wasThere: sent.spent.requests === 0 } })
      else if ((await records.failureOf(request.key)) !== undefined) now.push(request.step)
      else open.push(request)
    }
    if (!input.isTimer) return { there, now }
    const { wait } = this.#pace
    const late = open.filter(({ since }) => input.now - since > wait)
    const hours = this.means.settings.batch.hours
    await this.#lose(run, late, `no answer has come within ${many(hours, 'hour')}`)
    const lost = await this.#withoutCollector(open.filter(it => !late.includes(it)))
    await this.#lose(run, lost, 'what had gathered them is gone')
    return { there, now: [...now, ...[...late, ...lost].map(({ step }) => step)] }
  }

  async withdraw({
    run,
    waiter,
    requests,
  }: {
    run: RunId
    waiter: string
    requests: { model: string; key: string }[]
  }): Promise<void> {
    const collectors = this.means.options.collectors ?? temporalCollectors
    for (const [model, of] of Map.groupBy(requests, it => it.model)) {
      const keys = of.map(({ key }) => key)
      await collectors.withdraw(model, run, keys, waiter)
    }
  }

  // --- The activities of a collector

  async submitBatch({
    submission,
    model,
    not,
  }: Place & { not: string[] }): Promise<{ batch: string; isSure: boolean }> {
    const { id, home } = submission
    const { signal } = this.means.surroundings()
    const records = new BatchRecords((await this.means.run(home)).store)
    const known = await records.batchOf(id)
    if (known !== undefined) return { batch: known, isSure: true }
    const { service, ...batches } = await this.#batches(model)
    const requests = await this.#requestsOf(submission)
    const runs = new Set([home, ...requests.map(({ run }) => run)])
    await this.#withHub(runs, run => run.fetch())
    try {
      const intent = await records.intent(id)
      if (intent) {
        const listed = LISTED_WINDOWS * this.#pace.window
        // Another machine's clock may differ.
        await pause(this.means.options.shared ? listed : intent.at + listed - this.means.now(), signal)
        const count = (await this.#mine(requests, submission)).length
        const found = await service.find({ name: id, count, ...intent, not }, signal)
        if (found?.isSure) await this.#isSubmitted(submission, found.id, requests)
        if (found) return { batch: found.id, isSure: found.isSure }
      }
      const lines = await this.#linesOf(requests, { service, ...batches }, model)
      if (lines.length === 0) throw new Failure('none of its requests may be sent in a batch')
      const newest = intent ? '' : await service.newest(signal)
      await Promise.all(lines.map(({ request: { run, key } }) => this.#joins(run, key, submission)))
      if (!intent) await records.intends(id, { newest, at: this.means.now() })
      // A machine that takes over from this one knows then what may have been sent.
      await this.#withHub(runs, run => run.push())
      signal.throwIfAborted()
      const batch = await service.submit(
        id,
        lines.map(({ line }) => line),
        signal,
      )
      await this.#isSubmitted(submission, batch, requests)
      return { batch, isSure: true }
    } catch (error) {
      throw this.#retried(error, signal, model)
    }
  }

  async lookAtBatch({ model, batch }: { run: RunId; model: string; batch: string }) {
    const { signal } = this.means.surroundings()
    try {
      const { service } = await this.#batches(model)
      const { is } = await service.look(batch, signal)
      return { is }
    } catch (error) {
      throw this.#retried(error, signal, model)
    }
  }

  async cancelBatch({ model, batch }: { run: RunId; model: string; batch: string }): Promise<void> {
    const { signal } = this.means.surroundings()
    try {
      await (await this.#batches(model)).service.cancel(batch, signal)
    } catch (error) {
      throw this.#retried(error, signal, model)
    }
  }

  async collectBatch({
    model,
    submission,
    batch,
    isSure,
  }: Place & { batch: string; isSure: boolean }): Promise<{ isOther: boolean }> {
    const { signal } = this.means.surroundings()
    const batches = await this.#batches(model)
    const requests = new Map((await this.#requestsOf(submission)).map(it => [it.key, it]))
    const runs = new Set([submission.home, ...[...requests.values()].map(({ run }) => run)])
    const ends = new Ends()
    const seen = new Set<string>()
    try {
      await this.#withHub(runs, run => run.fetch())
      const state = await batches.service.look(batch, signal)
      const { why = state.is === 'gone' ? 'its batch is gone' : 'it was not among the results' } =
        state.is === 'ended' ? state : {}
      const isCancelled = state.is === 'ended' && state.isCancelled === true
      let group: [BatchRequest, LineResult][] = []
      const storeGroup = async () => {
        await Promise.all(group.map(([request, result]) => this.#store(request, result, batches, submission, ends)))
        group = []
      }
      for await (const result of batches.service.results(batch, signal)) {
        const request = requests.get(result.id)
        if (!request || seen.has(result.id)) continue
        seen.add(result.id)
        group.push([request, result])
        if (group.length === STORED_AT_ONCE) await storeGroup()
      }
      await storeGroup()
      if (!isSure && seen.size === 0) return { isOther: true }
      if (!isSure) await this.#isSubmitted(submission, batch, [...requests.values()])
      const missing = [...requests.values()].filter(({ key }) => !seen.has(key))
      const lost = await this.#mine(missing, submission)
      await Promise.all(
        lost.map(request => this.#store(request, { id: request.key, why, isCancelled }, batches, submission, ends)),
      )
      await this.#sayEnd(model, submission, ends)
      // Nothing is deleted at the provider before other machines can have the answers.
      await this.#withHub(runs, run => run.push())
      await batches.service.tidy(batch, signal).catch(() => signal.throwIfAborted())
      return { isOther: false }
    } catch (error) {
      throw this.#retried(error, signal, model)
    }
  }

  async failBatch({ submission, words }: Place & { words: string }): Promise<void> {
    const ends = new Ends()
    // The intent is recorded before anything is sent: without it, nothing was sent.
    const home = new BatchRecords((await this.means.run(submission.home)).store)
    const isSent = (await home.intent(submission.id)) !== undefined
    const requests = await this.#requestsOf(submission)
    const runs = new Set(requests.map(({ run }) => run))
    await this.#withHub(runs, run => run.fetch())
    for (const { run: id, key } of requests) {
      const run = await this.means.run(id)
      if ((await run.store.find('answers', key)) !== undefined) continue
      const why = brief(this.means.clean(words)).replace(/\.$/, '')
      await new BatchRecords(run.store).fails(key, why)
      await new BatchBudget(run)[isSent ? 'lose' : 'release']([key])
      ends.failed(id, why)
    }
    await this.#sayEnd('', submission, ends)
    await this.#withHub(runs, run => run.push())
  }

  async dropRequests({ run, keys }: { run: RunId; keys: string[] }): Promise<void> {
    const opened = await this.means.run(run)
    const records = new BatchRecords(opened.store)
    // A request that was submitted may be answered, so its budget stays reserved, whatever the caller says.
    const unsent: string[] = []
    for (const key of keys) if (!(await records.submissionOf(key))) unsent.push(key)
    await new BatchBudget(opened).release(unsent)
  }

  // --- Parts

  get #pace(): BatchPace {
    const { seconds, hours } = this.means.settings.batch
    const wait = hours * HOUR_MS
    return { window: seconds * 1000, look: Math.min(LOOK_WINDOWS * seconds * 1000, wait), wait }
  }

  async #batches(model: string): Promise<ModelBatches> {
    const { batches } = await this.means.model(model)
    if (!batches) throw new Failure(`the provider of ${visible(model)} has no batches`)
    return batches
  }

  async #requestsOf({ home, list }: Submission): Promise<BatchRequest[]> {
    const { store } = await this.means.run(home)
    return v.parse(BatchRequests, await allItems(store, list)) as BatchRequest[]
  }

  /**
   * Reserves budget for a request at the price of a batch. Gives 'full' where there may be room once other requests are
   * settled.
   */
  async #reserve(
    run: OpenRun,
    input: Asked,
    { request }: StoredRequest,
  ): Promise<Exclude<Awaited<ReturnType<BatchBudget['reserve']>>, 'wait'> | 'full'> {
    const { settings } = this.means
    const { limits } = await this.means.stored(run.store)
    const missing = missingPrice([input.model], settings, limits)
    if (missing) throw ApplicationFailure.nonRetryable(missing, 'ModelError', 'key')
    const { tools, system, messages, output } = request
    const { key, model, kind = '', tier = '' } = input
    const tokens = tokensIn(JSON.stringify([tools, system, messages]))
    const asked = { key, model, kind, tier, output, input: tokens, price: batchPriceOf(model, settings) }
    try {
      const reservation = await new BatchBudget(run).reserve(asked, limits)
      return reservation === 'wait' ? 'full' : reservation
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error
      throw ApplicationFailure.nonRetryable(error.message, 'OutOfBudget', error.limit)
    }
  }

  /**
   * Fetches or pushes runs, where they are shared. @throws HubTrouble where the hub does not answer: it is tried again.
   */
  async #withHub(runs: ReadonlySet<RunId>, transfer: (run: SharedRun) => Promise<void>): Promise<void> {
    const { shared } = this.means.options
    if (shared) await Promise.all([...runs].map(run => transfer(shared.of(run))))
  }

  async #joins(run: RunId, key: string, submission: Submission): Promise<void> {
    await new BatchRecords((await this.means.run(run)).store).joins(key, submission)
  }

  #retried(error: unknown, signal: AbortSignal, model: string): unknown {
    if (error instanceof NoBatches) this.#without.add(model)
    return failureOf(error, signal)
  }

  /** Those of the requests whose runs have recorded that they belong to this submission (a batch to be sent). */
  async #mine(requests: readonly BatchRequest[], { id }: Submission): Promise<BatchRequest[]> {
    const own = requests.map(async request => {
      const records = new BatchRecords((await this.means.run(request.run)).store)
      return (await records.submissionOf(request.key))?.id === id ? [request] : []
    })
    return (await Promise.all(own)).flat()
  }

  /**
   * The lines of a batch. A request without reserved budget is left out: any process that can reach the server could
   * have given it to the collector (the workflow that submits batches).
   */
  async #linesOf(
    requests: readonly BatchRequest[],
    batches: ModelBatches,
    model: string,
  ): Promise<{ request: BatchRequest; line: NamedLine }[]> {
    const outputs = new Map<RunId, Map<string, number>>()
    for (const [run, of] of Map.groupBy(requests, it => it.run))
      outputs.set(run, await new BatchBudget(await this.means.run(run)).outputsOf(of.map(({ key }) => key)))
    const made = requests.map(async request => {
      const { store } = await this.means.run(request.run)
      const records = new BatchRecords(store)
      if (request.model !== model || (await store.find('answers', request.key)) !== undefined) return []
      const output = outputs.get(request.run)?.get(request.key)
      if (output === undefined) {
        await records.fails(request.key, 'the budget for it was not reserved')
        return []
      }
      const stored = requestIn(await store.readText(request.request), request)
      const line = await batches.line({ ...stored.request, output })
      return [{ request, line: { id: request.key, ...line } }]
    })
    return (await Promise.all(made)).flat()
  }

  async #isSubmitted(submission: Submission, batch: string, requests: readonly BatchRequest[]): Promise<void> {
    const { store } = await this.means.run(submission.home)
    await new BatchRecords(store).isSent(submission.id, batch)
    for (const [id, of] of Map.groupBy(requests, it => it.run)) {
      const { journal } = await this.means.run(id)
      const words = `${many(of.length, 'request')} to ${of[0]?.model} went out in a batch, at half the price.`
      const why = `Batch ${visible(batch)}. Answers come within a day; what has none then is sent now.`
      await journal.note({ run: id, id: `batch ${submission.id} out`, what: 'batch', words, why })
    }
  }

  /** Stores the answer to a request, and settles its cost; or records why there is none. */
  async #store(
    request: BatchRequest,
    result: LineResult,
    batches: ModelBatches,
    submission: Submission,
    ends: Ends,
  ): Promise<void> {
    const { run: id, key, model } = request
    const run = await this.means.run(id)
    const records = new BatchRecords(run.store)
    const budget = new BatchBudget(run)
    const there = await run.store.find('answers', key)
    if (there !== undefined) {
      const { usage, saved = 0 } = parseStoredAnswer(await run.store.read({ kind: 'answer', oid: there }))
      // The process that has stored it may have been killed before it was settled.
      await budget.settle(key, usage, saved)
      ends.answered(id)
      return
    }
    if (result.body === undefined) {
      // A cancelled request has not failed: it may go into another batch when the user resumes the run.
      if (result.isCancelled) await records.leaves(key, submission)
      else await records.fails(key, brief(this.means.clean(result.why)).replace(/\.$/, ''))
      await budget.release([key])
      ends.failed(id, brief(this.means.clean(result.why)).replace(/\.$/, ''))
      return
    }
    const { request: asked } = requestIn(await run.store.readText(request.request), request)
    try {
      const answer = await batches.answer(asked, result.body)
      const usage = withCost(answer.usage, batchPriceOf(model, this.means.settings))
      this.means.count(model, { sent: 'batch', usage })
      if (answer.end === 'length' && request.output < asked.output) {
        await budget.settle(key, usage, 0)
        throw new ModelError('cut', 'its answer was longer than the budget had room for')
      }
      const full = withCost({ ...answer.usage }, priceOf(model, this.means.settings)).cost ?? 0
      const saved = Math.max(0, full - (usage.cost ?? 0))
      const stored = storedAnswer({ ...request, saved }, { ...answer, usage })
      const bytes = Buffer.from(this.#hidden(JSON.stringify(stored)))
      await this.steps.signAnswered(run, request, bytes)
      await run.store.keep('answers', key, bytes)
      await budget.settle(key, usage, saved)
      ends.answered(id, saved)
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      const why = brief(this.means.clean(error.inRun)).replace(/\.$/, '')
      await records.fails(key, why)
      await budget.lose([key])
      ends.failed(id, why)
    }
  }

  /** Removes this process's keys. Text that only looks like a key is kept, since it may be the model's code. */
  #hidden(text: string): string {
    return this.means.settings.secrets.reduce((hidden, secret) => hidden.replaceAll(secret, MARK), text)
  }

  async #withoutCollector(requests: readonly WaitingRequest[]): Promise<WaitingRequest[]> {
    const collectors = this.means.options.collectors ?? temporalCollectors
    const lost: WaitingRequest[] = []
    for (const [model, of] of Map.groupBy(requests, it => it.model)) {
      const held = await collectors.held(
        model,
        of.map(({ run, key }) => ({ run, key })),
      )
      lost.push(...of.filter((_, at) => !held[at]))
    }
    return lost
  }

  /**
   * Records that these requests are no longer waited for in a batch, so that their flows send them as single requests.
   */
  async #lose(run: OpenRun, requests: readonly WaitingRequest[], why: string): Promise<void> {
    const [first] = requests
    if (!first) return
    const records = new BatchRecords(run.store)
    for (const { key } of requests) await records.fails(key, why)
    await new BatchBudget(run).lose(requests.map(({ key }) => key))
    await this.#sayNow(run, `batch lost ${first.step}`, nowWords(requests.length, why))
  }

  async #sayNow({ store, journal }: OpenRun, id: string, words: string): Promise<void> {
    await journal.note({ run: store.run, id, what: 'batch lost', words })
  }

  async #sayEnd(model: string, { id }: Submission, ends: Ends): Promise<void> {
    for (const [run, { answers, saved, failures }] of ends.byRun) {
      const opened = await this.means.run(run)
      if (answers > 0) {
        const money = saved > 0 ? `, which saved $${saved.toFixed(saved < 0.1 ? 4 : 2)}` : ''
        const words = `${many(answers, 'answer')} of ${model} came from a batch${money}.`
        await opened.journal.note({ run, id: `batch ${id} answers`, what: 'batch answers', words })
      }
      for (const [why, count] of failures) await this.#sayNow(opened, `batch ${id} ${why}`, nowWords(count, why))
    }
  }
}

const nowWords = (count: number, why: string): string =>
  count === 1 ? `A request is sent now: ${why}.` : `${many(count, 'request')} are sent now: ${why}.`

/** Counts, for each run, the answers and the failures of one batch's requests. */
class Ends {
  readonly byRun = new Map<RunId, { answers: number; saved: number; failures: Map<string, number> }>()

  answered(run: RunId, saved = 0): void {
    const of = this.#of(run)
    of.answers++
    of.saved += saved
  }

  failed(run: RunId, why: string): void {
    const { failures } = this.#of(run)
    failures.set(why, (failures.get(why) ?? 0) + 1)
  }

  #of(run: RunId) {
    const known = this.byRun.get(run) ?? { answers: 0, saved: 0, failures: new Map<string, number>() }
    this.byRun.set(run, known)
    return known
  }
}

/** Parses a stored request. Throws a {@link Failure} where its hash is not `key`, or it is for another model. */
function requestIn(bytes: string, { step, key, model }: Pick<Asked, 'step' | 'key' | 'model'>): StoredRequest {
  if (createHash('sha256').update(bytes).digest('hex') !== key)
    throw new Failure(`The request of the step ${visible(step)} is not the one that was constructed.`)
  const stored = parseRequest(JSON.parse(bytes))
  if (stored.model !== model) throw new Failure(`The step ${visible(step)} is for another model.`)
  return stored
}

/** Temporary troubles of a provider: Temporal retries after these, with the provider's delay. */
const PASSING: readonly string[] = ['rate', 'overloaded', 'cut', 'unreachable']

/** Converts what was thrown at a batch interface to a failure of an activity. */
function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof NoBatches) return ApplicationFailure.nonRetryable(error.message, 'NoBatches')
  if (!(error instanceof ModelError)) return error
  const { inRun: message, trouble, retryAfter } = error
  if (!PASSING.includes(trouble)) return ApplicationFailure.nonRetryable(message, 'ModelError', trouble)
  const nextRetryDelay = retryAfter === undefined ? {} : { nextRetryDelay: Math.ceil(retryAfter * 1000) }
  return ApplicationFailure.create({ message, type: 'ModelError', details: [trouble], ...nextRetryDelay })
}

/** Waits. Throws the signal's reason when that is aborted. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0) return
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const clock = setTimeout(resolve, milliseconds)
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await promise
  } finally {
    clearTimeout(clock)
    signal.removeEventListener('abort', abort)
  }
}
