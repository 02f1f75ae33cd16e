/**
 * The requests of one flow that are in batches. The collector of their model (collector.ts) signals when a batch has
 * ended; then, and by a timer of its own, the flow looks for answers in the run's store. So a lost signal, line or
 * collector only delays a request: one that gets no answer from a batch is sent as a single request.
 */
import {
  CancellationScope,
  condition,
  defineSignal,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { BatchPace, Constructed, Sent, StepPlace, TaskId, WaitingRequest } from '../contract.ts'
import { atOnce, endWorkflowTask, enlisting, sending } from './effects.ts'

/** The signal by which a collector (it gathers requests into batches) tells a flow that its answers may be there. */
export const news = defineSignal('news')
/** The signal to a run that one of its flows has begun to wait for batches (`isAway`), or waits for none any more. */
export const away = defineSignal<[flow: string, task: TaskId | undefined, isAway: boolean, number: number]>('away')

/** At most this many requests are looked up by one activity. */
const LOOKED_AT_ONCE = 200
/** At most this many answers are read in one workflow task, in some activities each. */
const ENDED_AT_ONCE = 10
/** At most this many requests that got no answer from a batch are sent at the same time. */
const MAX_SENDING = 40

type Waiting = { request: WaitingRequest; sent?: Sent; isOver: boolean }

/** Sends the requests of one flow in batches, and waits for their answers. */
export class Batched {
  /** The requests that wait for an answer from a batch, by their steps. */
  readonly #waiting = new Map<string, Waiting>()
  /** How many `news` signals have arrived. `#seen`: how many of them had arrived at the last look for answers. */
  #heard = 0
  #seen = 0
  #sending = 0
  #isWatching = false
  #isAway = false
  #told = 0
  #telling = 0
  #withdrawn: WaitingRequest[] = []
  #withdrawing: Promise<void> | undefined

  /**
   * @param tell Called with true when the first request goes into a batch, and with false when none is in one any more;
   * `number` goes up with each call. It never rejects.
   */
  constructor(private readonly tell: (isAway: boolean, number: number) => Promise<void>) {
    setHandler(news, () => {
      this.#heard++
    })
  }

  /** The number of requests that wait for an answer from a batch. */
  get out(): number {
    return this.#waiting.size
  }

  /**
   * Sends a request in a batch; as a single request where that is not possible, or the batch brings no answer. Throws
   * as `send`, or a cancellation.
   */
  async send(input: StepPlace & Constructed): Promise<Sent> {
    for (;;) {
      const enlisted = await enlisting.enlist({ ...input, waiter: workflowInfo().workflowId })
      if (enlisted.is === 'there') return enlisted.sent
      if (enlisted.is === 'now') break
      if (enlisted.is === 'out') {
        const sent = await this.#wait(input, enlisted.pace)
        if (sent) return sent
        break
      }
      // The budget is full: wait until an answer from a batch frees a part of what was reserved for its request.
      const before = this.#heard
      await condition(() => this.#heard > before, enlisted.pace.look)
    }
    await condition(() => this.#sending < MAX_SENDING)
    this.#sending++
    try {
      return await sending.send(input)
    } finally {
      this.#sending--
    }
  }

  /** Waits for the answer to a request in a batch; undefined where it has to be sent as a single request. */
  async #wait(input: StepPlace & Constructed, pace: BatchPace): Promise<Sent | undefined> {
    const request: WaitingRequest = { ...input, since: Date.now() }
    const waiting: Waiting = { request, isOver: false }
    this.#waiting.set(input.step, waiting)
    this.#tellAway()
    void this.#watch(pace)
    try {
      await condition(() => waiting.isOver)
      return waiting.sent
    } catch (error) {
      if (isCancellation(error)) await this.#withdraw(request)
      throw error
    } finally {
      this.#waiting.delete(input.step)
      this.#tellAway()
    }
  }

  /** Looks for answers while requests are in batches. Never throws: a look that fails is repeated with the next one. */
  async #watch(pace: BatchPace): Promise<void> {
    if (this.#isWatching) return
    this.#isWatching = true
    // The watching goes on when the request that has started it is cancelled: other requests may still wait.
    await CancellationScope.nonCancellable(async () => {
      const isOver = () => this.#open().length === 0
      while (!isOver()) {
        const isTimer = !(await condition(() => this.#heard > this.#seen || isOver(), pace.look))
        this.#seen = this.#heard
        if (!isOver()) await this.#look(isTimer).catch(() => undefined)
      }
    })
    this.#isWatching = false
  }

  #open(): Waiting[] {
    return [...this.#waiting.values()].filter(({ isOver }) => !isOver)
  }

  async #look(isTimer: boolean): Promise<void> {
    const open = this.#open()
    for (let at = 0; at < open.length; at += LOOKED_AT_ONCE) {
      const part = open.slice(at, at + LOOKED_AT_ONCE)
      const requests = part.map(({ request }) => request)
      const [{ run } = { run: '' }] = requests
      const { there, now } = await atOnce.lookUp({ run, requests, isTimer, now: Date.now() })
      for (const step of now) this.#end(step)
      for (const [number, { step, sent }] of there.entries()) {
        this.#end(step, sent)
        if ((number + 1) % ENDED_AT_ONCE === 0) await endWorkflowTask()
      }
    }
  }

  #end(step: string, sent?: Sent): void {
    const waiting = this.#waiting.get(step)
    if (!waiting) return
    waiting.isOver = true
    if (sent) waiting.sent = sent
  }

  /**
   * Tells the collectors that requests are no longer needed. Requests withdrawn at the same moment are sent together.
   */
  async #withdraw(request: WaitingRequest): Promise<void> {
    this.#withdrawn.push(request)
    this.#withdrawing ??= CancellationScope.nonCancellable(async () => {
      await Promise.resolve()
      const requests = this.#withdrawn.splice(0)
      this.#withdrawing = undefined
      const given = requests.map(({ model, key }) => ({ model, key }))
      // If withdrawing fails, the batch still ends by itself: only the money for unneeded answers is lost.
      const { workflowId: waiter } = workflowInfo()
      await atOnce.withdraw({ run: request.run, waiter, requests: given }).catch(() => undefined)
    })
    await this.#withdrawing
  }

  #tellAway(): void {
    const isAway = this.#waiting.size > 0
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    this.#telling++
    void this.tell(isAway, ++this.#told).finally(() => {
      this.#telling--
    })
  }

  /** Waits until all signals to the run have arrived: the server drops signals of a workflow that has ended. */
  async settled(): Promise<void> {
    await condition(() => this.#telling === 0)
  }
}

/**
 * Makes the object by which a child workflow sends requests in batches. It signals the run's own workflow when the wait
 * for answers begins and ends.
 */
export function batchedOf(task: TaskId | undefined): Batched {
  const { workflowId, root } = workflowInfo()
  return new Batched(async (isAway, number) => {
    if (!root) return
    // A failure to send the signal is ignored: the run may have ended meanwhile.
    const tell = () => getExternalWorkflowHandle(root.workflowId).signal(away, workflowId, task, isAway, number)
    await CancellationScope.nonCancellable(tell).catch(() => undefined)
  })
}
