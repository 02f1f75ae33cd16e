/** What a turn may take: steps, minutes and money. Reaching a limit is an ordinary end, which says so. */
import { many } from '../../core/text.ts'
import type { Usage } from './request.ts'
import { addUsage, NO_USAGE } from './session.ts'

/**
 * Requests to the model, seconds, and US dollars, which can only be held where what a request costs is known: the
 * provider tells it, or its price is in the settings.
 */
export type TurnLimits = { steps: number; seconds: number; cost: number }

/** A turn has taken all that it may: the message says what, as a sentence. */
export class LimitReached extends Error {}

/** What one turn has taken so far. To be closed, which stops its clock. */
export class Budget implements Disposable {
  #usage: Usage = NO_USAGE
  #steps = 0
  /** What the dearest request so far has cost: the next one may cost as much. */
  #dearest = 0
  readonly #control = new AbortController()
  /** Milliseconds that it had taken when its clock was last started, and when that was; it may stand still. */
  #before = 0
  #started: number | undefined
  #clock: ReturnType<typeof setTimeout> | undefined

  constructor(readonly limits: TurnLimits) {
    this.#start()
  }

  /** Is aborted when the time is over, with a {@link LimitReached}. */
  get signal(): AbortSignal {
    return this.#control.signal
  }

  get usage(): Usage {
    return this.#usage
  }

  /** In seconds. */
  get taken(): number {
    return (this.#before + (this.#started === undefined ? 0 : performance.now() - this.#started)) / 1000
  }

  /** Waits for a person; the turn's clock is stopped meanwhile. */
  async standStill<Value>(wait: () => Promise<Value>): Promise<Value> {
    this.#stop()
    try {
      return await wait()
    } finally {
      this.#start()
    }
  }

  /** Sets aside what the next request takes. Throws a {@link LimitReached} where that is more than there is. */
  reserve(): void {
    this.signal.throwIfAborted()
    const { steps, cost } = this.limits
    if (this.#steps >= steps)
      throw new LimitReached(`It has made ${many(steps, 'step')}, which is the limit of a turn.`)
    if ((this.#usage.cost ?? 0) + this.#dearest > cost)
      throw new LimitReached(`The next step could cost more than $${cost.toFixed(2)}, which is the limit of a turn.`)
    this.#steps++
  }

  /** Takes what a request has used. */
  spend(usage: Usage): void {
    this.#usage = addUsage(this.#usage, usage)
    this.#dearest = Math.max(this.#dearest, usage.cost ?? 0)
  }

  [Symbol.dispose](): void {
    this.#stop()
  }

  #start(): void {
    const { seconds } = this.limits
    const words = `It has taken ${seconds < 120 ? many(seconds, 'second') : many(Math.round(seconds / 60), 'minute')}`
    const end = () => this.#control.abort(new LimitReached(`${words}, which is the limit of a turn.`))
    this.#started = performance.now()
    // A clock can't be set further than that.
    this.#clock = setTimeout(end, Math.min(Math.max(seconds * 1000 - this.#before, 0), 2 ** 31 - 1))
  }

  #stop(): void {
    clearTimeout(this.#clock)
    this.#before = this.taken * 1000
    this.#started = undefined
  }
}
