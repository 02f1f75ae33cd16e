/** The limits of a turn: steps, time and money. Reaching one ends the turn in an orderly way, with a message. */
import { many } from '../../core/text.ts'
import type { Usage } from './request.ts'
import { addUsage, NO_USAGE } from './session.ts'

/**
 * `steps`: requests to the model. `cost`: US dollars; enforced only where a request's cost is known: reported by the
 * provider, or from a price of the settings or the list of models.
 */
export type TurnLimits = { steps: number; seconds: number; cost: number }

/** Thrown when a turn has used up one of its limits. The message is a sentence that says which. */
export class LimitReached extends Error {}

/** What one turn has used so far. Dispose it to stop its clock. */
export class Budget implements Disposable {
  #usage: Usage = NO_USAGE
  #steps = 0
  /** The cost of the most expensive request so far: the estimate for the next one. */
  #dearest = 0
  readonly #control = new AbortController()
  /**
   * Milliseconds used before the clock was last started. `#started`: when that was; undefined while the clock is
   * stopped.
   */
  #before = 0
  #started: number | undefined
  #clock: ReturnType<typeof setTimeout> | undefined

  constructor(readonly limits: TurnLimits) {
    this.#start()
  }

  /** Aborted with a {@link LimitReached} when the time is used up. */
  get signal(): AbortSignal {
    return this.#control.signal
  }

  get usage(): Usage {
    return this.#usage
  }

  /** The time used, in seconds. */
  get taken(): number {
    return (this.#before + (this.#started === undefined ? 0 : performance.now() - this.#started)) / 1000
  }

  /** Runs `wait`, which waits for the user, with the turn's clock stopped. */
  async standStill<Value>(wait: () => Promise<Value>): Promise<Value> {
    this.#stop()
    try {
      return await wait()
    } finally {
      this.#start()
    }
  }

  /** Counts the next request. Throws a {@link LimitReached} where a limit does not allow it. */
  reserve(): void {
    this.signal.throwIfAborted()
    const { steps, cost } = this.limits
    if (this.#steps >= steps)
      throw new LimitReached(`It has made ${many(steps, 'step')}, which is the limit of a turn.`)
    const spent = this.#usage.cost ?? 0
    const limit = `$${cost.toFixed(2)}, which is the limit of a turn.`
    if (spent > cost) throw new LimitReached(`It has cost $${spent.toFixed(2)}, more than ${limit}`)
    if (spent + this.#dearest > cost) throw new LimitReached(`With the next step, it could cost more than ${limit}`)
    this.#steps++
  }

  /** Adds what a request has used. */
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
    // setTimeout takes no longer delay than 2^31 - 1 milliseconds.
    this.#clock = setTimeout(end, Math.min(Math.max(seconds * 1000 - this.#before, 0), 2 ** 31 - 1))
  }

  #stop(): void {
    clearTimeout(this.#clock)
    this.#before = this.taken * 1000
    this.#started = undefined
  }
}
