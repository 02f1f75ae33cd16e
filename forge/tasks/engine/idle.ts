/**
 * Decides when an idle worker ends: a worker uses several hundred megabytes, and the next command that needs one starts
 * it within a second.
 */

/** Milliseconds without an activity after which a worker checks whether it is needed. */
export const IDLE_MS = 15 * 60_000
/** Milliseconds between two checks. */
const LOOK_MS = 60_000

type IdleOptions = {
  /** Whether a run under way may continue by itself, e.g. one that waits for a provider. */
  isNeeded: () => Promise<boolean>
  /** Ends the worker. */
  end: () => void
  /** A monotonic clock in milliseconds. */
  now?: () => number
}

/** Tracks whether a worker is idle. Dispose it to stop its timer. */
export class IdleWatch implements Disposable {
  #active = 0
  #last: number
  readonly #now: () => number
  #clock: ReturnType<typeof setInterval> | undefined

  constructor(private readonly options: IdleOptions) {
    this.#now = options.now ?? (() => performance.now())
    this.#last = this.#now()
  }

  /** Starts to check regularly whether the worker is idle. */
  begin(): void {
    this.#clock = setInterval(() => void this.look(), LOOK_MS)
    this.#clock.unref()
  }

  /** Runs `work`, during which the worker is not idle. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#active++
    try {
      return await work()
    } finally {
      this.#active--
      this.#last = this.#now()
    }
  }

  /** Ends the worker if it has been idle for IDLE_MS, and there is no run that may continue without the user. */
  async look(): Promise<void> {
    const isIdle = () => this.#active === 0 && this.#now() - this.#last >= IDLE_MS
    if (!isIdle()) return
    // If the server does not answer, the worker stays.
    if (await this.options.isNeeded().catch(() => true)) return
    if (isIdle()) this.options.end()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#clock)
  }
}
