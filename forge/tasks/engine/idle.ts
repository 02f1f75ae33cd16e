/**
 * When an idle worker ends: it holds several hundred megabytes, and the next command that needs one starts it again
 * within a second.
 */

/** Milliseconds without an activity after which a worker looks whether it is needed. */
export const IDLE_MS = 15 * 60_000
/** Milliseconds between two looks. */
const LOOK_MS = 60_000

type IdleOptions = {
  /** Whether a run is under way that may go on by itself, such as one that waits for a provider. */
  isNeeded: () => Promise<boolean>
  /** Ends the worker. */
  end: () => void
  /** Milliseconds of a monotonic clock. */
  now?: () => number
}

/** Counts what a worker does. To be closed, which ends its clock. */
export class IdleWatch implements Disposable {
  #active = 0
  #last: number
  readonly #now: () => number
  #clock: ReturnType<typeof setInterval> | undefined

  constructor(private readonly options: IdleOptions) {
    this.#now = options.now ?? (() => performance.now())
    this.#last = this.#now()
  }

  /** Looks from now on, each minute. */
  begin(): void {
    this.#clock = setInterval(() => void this.look(), LOOK_MS)
    this.#clock.unref()
  }

  /** Does some work, during which the worker is not idle. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#active++
    try {
      return await work()
    } finally {
      this.#active--
      this.#last = this.#now()
    }
  }

  /** Ends the worker where it has had nothing to do for long, and no run may go on by itself. */
  async look(): Promise<void> {
    const isIdle = () => this.#active === 0 && this.#now() - this.#last >= IDLE_MS
    if (!isIdle()) return
    // A server that can't be asked is no reason to end.
    if (await this.options.isNeeded().catch(() => true)) return
    if (isIdle()) this.options.end()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#clock)
  }
}
