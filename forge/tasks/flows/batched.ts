/**
 * The requests of one flow that are out in batches. The collector of their model signals when there is news; then, and
 * by a timer of its own, the flow looks into the run's store. So a lost signal, a lost line or a lost collector delays a
 * request, and never stops it: what has no answer is sent now.
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
import { atOnce, enlisting, sending } from './effects.ts'

/** There may be answers for this flow. */
export const news = defineSignal('news')
/** A flow of the run has requests out in batches, or none any more. */
export const away = defineSignal<[flow: string, task: TaskId | undefined, isAway: boolean, number: number]>('away')

/** Requests that are looked up by one activity. */
const LOOKED_AT_ONCE = 200

type Waiting = { request: WaitingRequest; sent?: Sent; isOver: boolean }

/** Sends requests of a flow in batches. */
export class Batched {
  /** By the requests' steps. */
  readonly #waiting = new Map<string, Waiting>()
  /** How many signals have come, and how many of them were followed by a look. */
  #heard = 0
  #seen = 0
  #isWatching = false
  #isAway = false
  #told = 0
  #telling = 0
  #withdrawn: WaitingRequest[] = []
  #withdrawing: Promise<void> | undefined

  /**
   * @param tell Called with true when the first request goes out, and with false when none is out any more; `number`
   * goes up with each call. It never rejects.
   */
  constructor(private readonly tell: (isAway: boolean, number: number) => Promise<void>) {
    setHandler(news, () => {
      this.#heard++
    })
  }

  /** The number of requests that are out. */
  get out(): number {
    return this.#waiting.size
  }

  /** Sends a request in a batch; now, where it can't be or nothing comes of it. Throws as `send`, or a cancellation. */
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
      // Answers of requests that are out give back a part of what was reserved for them.
      const before = this.#heard
      await condition(() => this.#heard > before, enlisted.pace.look)
    }
    return await sending.send(input)
  }

  /** Waits for the answer of a request; undefined where it has to be sent now. */
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

  /** Looks for answers while there are requests out. Never throws: what fails is tried again at the next look. */
  async #watch(pace: BatchPace): Promise<void> {
    if (this.#isWatching) return
    this.#isWatching = true
    // Not cancelled with the request that has begun it: others may wait, too.
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
      for (const { step, sent } of there) this.#end(step, sent)
      for (const step of now) this.#end(step)
    }
  }

  #end(step: string, sent?: Sent): void {
    const waiting = this.#waiting.get(step)
    if (!waiting) return
    waiting.isOver = true
    if (sent) waiting.sent = sent
  }

  /** Tells the collector that these requests are not needed any more, those of one moment together. */
  async #withdraw(request: WaitingRequest): Promise<void> {
    this.#withdrawn.push(request)
    this.#withdrawing ??= CancellationScope.nonCancellable(async () => {
      await Promise.resolve()
      const requests = this.#withdrawn.splice(0)
      this.#withdrawing = undefined
      const given = requests.map(({ model, key }) => ({ model, key }))
      // The batch ends by itself, too: only its answers would be paid for in vain.
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

  /** Waits until all that was told has arrived: the server drops signals of a workflow that has ended. */
  async settled(): Promise<void> {
    await condition(() => this.#telling === 0)
  }
}

/** Sends the requests of a child flow in batches; it tells the run's own flow when it waits for one. */
export function batchedOf(task: TaskId | undefined): Batched {
  const { workflowId, root } = workflowInfo()
  return new Batched(async (isAway, number) => {
    if (!root) return
    // The run may have ended meanwhile.
    const tell = () => getExternalWorkflowHandle(root.workflowId).signal(away, workflowId, task, isAway, number)
    await CancellationScope.nonCancellable(tell).catch(() => undefined)
  })
}
