/**
 * The collector of one model: a workflow that gathers requests of all runs for a short time, submits them as one batch,
 * looks at it from time to time, has its answers stored, and wakes the flows that wait. Each repository has one for
 * each model: the signal with the first request starts it.
 */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  getExternalWorkflowHandle,
  setHandler,
  sleep,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow'
import type { BatchRequest, CollectorInput, GivenRequest, RunId, Submission } from '../contract.ts'
import { news } from './batched.ts'
import { atOnce, batching } from './effects.ts'
import { readList } from './lists.ts'
import { errorWords } from './troubles.ts'

const enlist = defineSignal<[GivenRequest]>('enlist')
const withdraw = defineSignal<[run: RunId, keys: string[], waiter: string]>('withdraw')
/** The query whether the collector has these requests, one answer for each. */
const holds = defineQuery<boolean[], [{ run: RunId; key: string }[]]>('holds')

/** Milliseconds after which a collector that has no requests ends. */
const IDLE_MS = 60_000
/**
 * The pause between two queries of a batch's state grows by this factor, up to MAX_PAUSE_WINDOWS times the gathering
 * time.
 */
const SLOWER = 1.5
const MAX_PAUSE_WINDOWS = 15
/**
 * A batch counts as lost if the provider does not know it in this many queries in a row. (A new batch may not be in the
 * provider's list yet.)
 */
const MAX_GONE = 3
/** After this many events the workflow continues as a new one, with an empty history. */
const MAX_EVENTS = 8000
/** Milliseconds until the next try where a list of requests can't be stored, mostly since the disk is full. */
const FULL_DISK_MS = 60_000

type Out = Submission & {
  began: number
  /** The ids of the flows that wait for answers of this submission. */
  waiters: Set<string>
  /**
   * The requests of this submission, by run and key. `wanted`: those for which a flow still waits, by run, key and
   * flow.
   */
  names: Set<string>
  wanted: Set<string>
}

const nameOf = ({ run, key }: { run: RunId; key: string }): string => `${run} ${key}`
const wishOf = (request: Pick<BatchRequest, 'run' | 'key' | 'waiter'>): string => `${nameOf(request)} ${request.waiter}`

export async function forgeBatch(input: CollectorInput): Promise<void> {
  await new Collector(input).whole()
}

class Collector {
  #waiting: BatchRequest[]
  readonly #out = new Map<string, Out>()
  /** How many submissions of earlier histories are being taken over, by reading their stored lists of requests. */
  #reading = 0
  /** How many submissions this workflow history handles now: a new history begins only when it handles none. */
  #carried = 0
  #isDraining = false
  /**
   * How many signals to waiting workflows are being sent. The collector does not end before: its signals would be
   * dropped.
   */
  #waking = 0

  constructor(private readonly input: CollectorInput) {
    this.#waiting = input.waiting ?? []
    setHandler(enlist, given => this.#enlist(given))
    setHandler(withdraw, (run, keys, waiter) => this.#withdraw(run, keys, waiter))
    setHandler(holds, asked => asked.map(it => this.#holds(nameOf(it))))
  }

  async whole(): Promise<void> {
    for (const submission of this.input.out ?? []) void this.#adopt(submission, submission.began, submission.waiters)
    await condition(() => this.#hasWork, IDLE_MS)
    while (this.#hasWork) {
      if (this.#isLong) await this.#goOnAnew()
      if (this.#waiting.length === 0) {
        await condition(() => this.#waiting.length > 0 || this.#isLong || !this.#hasWork)
        continue
      }
      await condition(() => this.#isFull || this.#isLong, this.input.pace.window)
      if (this.#waiting.length > 0 && !this.#isLong) await this.#submit()
    }
    await condition(allHandlersFinished)
  }

  get #hasWork(): boolean {
    return this.#waiting.length > 0 || this.#out.size > 0 || this.#reading > 0 || this.#waking > 0
  }

  get #isLong(): boolean {
    return workflowInfo().historyLength > MAX_EVENTS
  }

  get #isFull(): boolean {
    const { requests, bytes } = this.input.limits
    return this.#waiting.length >= requests || this.#waiting.reduce((sum, it) => sum + it.bytes, 0) >= bytes
  }

  async #goOnAnew(): Promise<void> {
    this.#isDraining = true
    await condition(() => this.#carried === 0 && this.#reading === 0 && this.#waking === 0)
    const { model, pace, limits } = this.input
    const out = [...this.#out.values()].map(({ id, home, list, began, waiters }) => {
      return { id, home, list, began, waiters: [...waiters] }
    })
    await continueAsNew<typeof forgeBatch>({ model, pace, limits, waiting: this.#waiting, out })
  }

  // --- Signals

  #enlist({ request, before }: GivenRequest): void {
    const name = nameOf(request)
    const known = [...this.#out.values()].find(({ id, names }) => id === before?.id || names.has(name))
    if (known) {
      known.waiters.add(request.waiter)
      known.wanted.add(wishOf(request))
    } else if (before) {
      void this.#adopt(before, Date.now(), [request.waiter])
    } else if (!this.#waiting.some(it => wishOf(it) === wishOf(request))) {
      this.#waiting.push(request)
    }
  }

  #withdraw(run: RunId, keys: string[], waiter: string): void {
    const wishes = new Set(keys.map(key => wishOf({ run, key, waiter })))
    const dropped = this.#waiting.filter(it => wishes.has(wishOf(it)))
    this.#waiting = this.#waiting.filter(it => !wishes.has(wishOf(it)))
    for (const { wanted } of this.#out.values()) for (const wish of wishes) wanted.delete(wish)
    const unwanted = dropped.filter(it => !this.#holds(nameOf(it)))
    if (unwanted.length === 0) return
    // Without this, the budget that is reserved for these requests would be released only after two days.
    void atOnce.dropRequests({ run, keys: unwanted.map(({ key }) => key) }).catch(() => undefined)
  }

  #holds(name: string): boolean {
    return this.#waiting.some(it => nameOf(it) === name) || [...this.#out.values()].some(it => it.names.has(name))
  }

  // --- A submission

  /**
   * Takes the requests that fit into one batch. Of requests with the same key from different runs, one is taken, and
   * the others wait for the next batch.
   */
  #take(): BatchRequest[] {
    const { requests, bytes } = this.input.limits
    const taken: BatchRequest[] = []
    const left: BatchRequest[] = []
    const runs = new Map<string, RunId>()
    let size = 0
    for (const it of this.#waiting) {
      const other = runs.get(it.key)
      const fits = runs.has(it.key) || (runs.size < requests && (runs.size === 0 || size + it.bytes <= bytes))
      if ((other !== undefined && other !== it.run) || !fits) {
        left.push(it)
        continue
      }
      if (other === undefined) size += it.bytes
      runs.set(it.key, it.run)
      taken.push(it)
    }
    this.#waiting = left
    return taken
  }

  async #submit(): Promise<void> {
    const taken = this.#take()
    const [first] = taken
    if (!first) return
    const unique = [...new Map(taken.map(it => [it.key, it])).values()]
    const id = uuid4()
    const submission: Out = {
      id,
      home: first.run,
      list: { kind: 'batch', oid: '', count: unique.length },
      began: Date.now(),
      waiters: new Set(taken.map(({ waiter }) => waiter)),
      names: new Set(unique.map(nameOf)),
      wanted: new Set(taken.map(wishOf)),
    }
    this.#out.set(id, submission)
    try {
      submission.list = await atOnce.keepItems({ run: first.run, kind: 'batch', items: unique })
    } catch {
      this.#out.delete(id)
      this.#waiting.unshift(...taken)
      await sleep(FULL_DISK_MS)
      return
    }
    void this.#carry(submission)
  }

  /** Takes over a submission (a batch of requests) from this workflow's earlier history or from another collector. */
  async #adopt({ id, home, list }: Submission, began: number, waiters: string[]): Promise<void> {
    const submission: Out = { id, home, list, began, waiters: new Set(waiters), names: new Set(), wanted: new Set() }
    this.#out.set(id, submission)
    this.#reading++
    try {
      for (const request of await readList<BatchRequest>(home, list)) {
        submission.names.add(nameOf(request))
        submission.wanted.add(wishOf(request))
      }
    } catch {
      // The list of the submission's requests can't be read, so it is unknown which runs still want them. The
      // submission is not cancelled early then.
      submission.wanted.add('')
    }
    this.#reading--
    void this.#carry(submission)
  }

  /**
   * Carries a submission out to its end. Never throws: after a final failure its requests are sent singly by their
   * flows.
   */
  async #carry(out: Out): Promise<void> {
    this.#carried++
    try {
      const isOver = await this.#carryOn(out)
      if (isOver) {
        this.#out.delete(out.id)
        this.#wake(out)
      }
    } catch (error) {
      const words = errorWords(error)
      const { home: run } = out
      const { model } = this.input
      // If this fails as well, the flows find by their own timers that no collector has their requests.
      await batching.failBatch({ run, model, submission: plain(out), words }).catch(() => undefined)
      this.#out.delete(out.id)
      this.#wake(out)
    }
    this.#carried--
  }

  /**
   * Submits a batch, waits for its end, and has its answers stored. Gives false where a new history has to continue it.
   */
  async #carryOn(out: Out): Promise<boolean> {
    const { model } = this.input
    const { home: run } = out
    const submission = plain(out)
    for (const not: string[] = []; ; ) {
      const { batch, isSure } = await batching.submitBatch({ run, model, submission, not })
      const place = { run, model, batch }
      if (!(await this.#hasEnded(out, place, isSure))) return false
      const { isOther } = await batching.collectBatch({ ...place, submission, isSure })
      if (!isOther) return true
      not.push(batch)
    }
  }

  /** Polls a batch until it has ended. Gives false where this workflow has to begin a new history, which polls on. */
  async #hasEnded(
    { wanted, began }: Out,
    place: { run: RunId; model: string; batch: string },
    isSure: boolean,
  ): Promise<boolean> {
    const { window, wait } = this.input.pace
    let isCancelled = false
    let gone = 0
    for (let pause = window / 2; ; pause = Math.min(pause * SLOWER, MAX_PAUSE_WINDOWS * window)) {
      const isUnwanted = () => wanted.size === 0 && isSure && !isCancelled
      await condition(() => this.#isDraining || isUnwanted(), Math.max(pause, 1))
      if (this.#isDraining) return false
      const isLate = Date.now() - began > wait
      if (isUnwanted() || (isLate && isSure && !isCancelled)) {
        await batching.cancelBatch(place).catch(() => undefined)
        isCancelled = true
      }
      // A failed look is ignored: the provider may be reachable at the next one.
      const { is } = await batching.lookAtBatch(place).catch(() => ({ is: 'under way' as const }))
      gone = is === 'gone' ? gone + 1 : 0
      if (is === 'ended' || gone === MAX_GONE) return true
      if (Date.now() - began > 2 * wait) throw new Error('its provider does not end its batch')
    }
  }

  /** Signals the waiting flows that there may be answers. A flow that has ended can't be signalled: that is ignored. */
  #wake({ waiters }: Out): void {
    for (const id of waiters) {
      this.#waking++
      const done = () => {
        this.#waking--
      }
      getExternalWorkflowHandle(id).signal(news).then(done, done)
    }
  }
}

const plain = ({ id, home, list }: Submission): Submission => ({ id, home, list })
