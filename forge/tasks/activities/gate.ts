/**
 * Limits the concurrent requests to a provider. After a rate limit, all requests wait for as long as the provider asks,
 * then one is sent as a test, and each good answer raises the limit by one.
 */

/** How a request ended that went through. `busy`: the provider takes no more for now. */
export type Ended = { how: 'good' | 'other' } | { how: 'busy'; retryAfter?: number }

/** The permission to send one request; to be disposed of when that has ended. */
type Pass = { epoch: number }

type GateOptions = {
  /** Requests at a time while all is well. */
  most?: number
  /** Seconds that all wait for after a first refusal that names no time; after each further one twice as long. */
  firstPause?: number
  longestPause?: number
  /** Milliseconds of a monotonic clock. */
  now?: () => number
}

type Waiting = { resolve: (pass: Pass) => void; reject: (reason: unknown) => void; signal: AbortSignal }

/** One provider's gate, for all requests of this process. */
export class Gate {
  readonly #options: Required<GateOptions>
  #limit: number
  #running = 0
  #waiting: Waiting[] = []
  /** Until then nothing goes through, in milliseconds. */
  #closedUntil = 0
  #pause = 0
  /** Counts the refusals that closed the gate: a request that was sent before one says nothing new about it. */
  #epoch = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor({ most = 64, firstPause = 2, longestPause = 60, now = () => performance.now() }: GateOptions = {}) {
    this.#options = { most, firstPause, longestPause, now }
    this.#limit = most
  }

  /** Milliseconds until a request may be sent again, as far as the provider has said. */
  get closedFor(): number {
    return Math.max(0, this.#closedUntil - this.#options.now())
  }

  /** Waits until a request may be sent. Throws the signal's reason. */
  async enter(signal: AbortSignal): Promise<Pass> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<Pass>()
    const waiting: Waiting = { resolve, reject, signal }
    const leave = () => {
      this.#waiting = this.#waiting.filter(it => it !== waiting)
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    this.#waiting.push(waiting)
    this.#next()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Says how a request ended. */
  leave({ epoch }: Pass, ended: Ended): void {
    this.#running--
    if (ended.how === 'busy') this.#close(epoch, ended.retryAfter)
    if (ended.how === 'good' && epoch === this.#epoch) {
      this.#pause = 0
      this.#limit = Math.min(this.#options.most, this.#limit + 1)
    }
    this.#next()
  }

  #close(epoch: number, retryAfter: number | undefined): void {
    const { firstPause, longestPause, now } = this.#options
    const isNews = epoch === this.#epoch
    if (isNews) {
      this.#epoch++
      this.#pause = Math.min(longestPause, Math.max(firstPause, this.#pause * 2))
      this.#limit = 1
    }
    const seconds = Math.max(retryAfter ?? 0, isNews ? this.#pause : 0)
    // Several workers that were sent away together must not come back together.
    this.#closedUntil = Math.max(this.#closedUntil, now() + seconds * 1000 * (1 + Math.random() / 4))
  }

  #next(): void {
    clearTimeout(this.#timer)
    const closed = this.closedFor
    if (closed > 0) {
      this.#timer = this.#waiting.length > 0 ? setTimeout(() => this.#next(), closed + 1) : undefined
      return
    }
    while (this.#waiting.length > 0 && this.#running < this.#limit) {
      const next = this.#waiting.shift()
      this.#running++
      next?.resolve({ epoch: this.#epoch })
    }
  }
}
