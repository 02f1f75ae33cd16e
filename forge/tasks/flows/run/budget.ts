/** What a run may take and what it has taken: its limits, what its requests have used, and the clock of its minutes. */
import { condition } from '@temporalio/workflow'
import type { Limits, Spent } from '../../contract.ts'
import { added, type Halt, NOTHING } from '../ends.ts'
import type { Carried } from './records.ts'

export class Budget {
  #limits: Limits
  #raises = 0
  #spent: Spent
  /** Milliseconds in which something was under way, until the clock was last stopped. */
  #used: number
  /** Since when the clock goes. */
  #since: number | undefined

  constructor(limits: Limits, carried?: Pick<Carried, 'limits' | 'spent' | 'used'>) {
    this.#limits = carried?.limits ?? limits
    this.#spent = carried?.spent ?? NOTHING
    this.#used = carried?.used ?? 0
  }

  get limits(): Limits {
    return this.#limits
  }

  /** How often a person has set other limits. */
  get raises(): number {
    return this.#raises
  }

  raise(limits: Partial<Limits>): void {
    this.#limits = { ...this.#limits, ...limits }
    this.#raises++
  }

  /** What was used by steps of the run itself, and by attempts that others have followed. */
  get spent(): Spent {
    return this.#spent
  }

  spend(spent: Spent): void {
    this.#spent = added(this.#spent, spent)
  }

  /** Milliseconds in which something was under way, until now. */
  get used(): number {
    return this.#used + (this.#since === undefined ? 0 : Date.now() - this.#since)
  }

  get #left(): number {
    return (this.#limits.minutes ?? Number.POSITIVE_INFINITY) * 60_000 - this.used
  }

  /**
   * Halts the run whenever its minutes are over; never ends itself. Time that a person takes is nobody's expense: the
   * clock goes while something is under way.
   */
  async watchClock(isUnderWay: () => boolean, halt: (why: Halt) => Promise<void>): Promise<never> {
    for (;;) {
      await condition(() => isUnderWay() && this.#limits.minutes !== undefined && this.#left > 0)
      const { minutes } = this.#limits
      this.#since = Date.now()
      await condition(() => !isUnderWay() || this.#limits.minutes !== minutes, this.#left)
      this.#used = this.used
      this.#since = undefined
      if (this.#left > 0) continue
      const words = minutes === 1 ? 'The minute of this run is over.' : `The ${minutes} minutes of this run are over.`
      await halt({ why: 'budget', words, limit: 'minutes' })
    }
  }

  carried(): Pick<Carried, 'limits' | 'spent' | 'used'> {
    return { limits: this.#limits, spent: this.#spent, used: this.used }
  }
}
