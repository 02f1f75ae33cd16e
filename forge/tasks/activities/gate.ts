/**
 * Limits the concurrent requests to a provider. After a rate limit, all requests wait for as long as the provider asks,
 * then one is sent as a test, and each good answer raises the limit by one.
 */

/** How a sent request ended. `busy`: the provider takes no more for now; `retryAfter`: seconds until it does. */
export type Ended = { how: 'good' | 'other' } | { how: 'busy'; retryAfter?: number }

/** The permission to send one request. Dispose it when the request has ended. */
type Pass = { epoch: number }

type GateOptions = {
  /** The most concurrent requests that are allowed while the provider refuses none. */
  most?: number
  /**
   * Seconds to wait after a first refusal without a given time. Each further one doubles this, up to `longestPause`.
   */
  firstPause?: number
  longestPause?: number
  /** A monotonic clock in milliseconds. */
  now?: () => number
}

type Waiting = { resolve: (pass: Pass) => void; reject: (reason: unknown) => void; signal: AbortSignal }

/** Limits the concurrent requests to one provider, of all runs in this process. */
export class Gate {
  readonly #options: Required<GateOptions>
  #limit: number
  #running = 0
  #waiting: Waiting[] = []
  /** No request is sent before this time, in milliseconds of the clock. */
  #closedUntil = 0
  #pause = 0
  /**
   * Goes up when a refusal closes the gate. A refusal of a request that was sent before that does not lengthen the
   * pause again.
   */
  #epoch = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor({ most = 64, firstPause = 2, longestPause = 60, now = () => performance.now() }: GateOptions = {}) {
    this.#options = { most, firstPause, longestPause, now }
    this.#limit = most
  }

  /** Milliseconds until a request may be sent, as far as the provider has said. */
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

  /** Reports how a request ended. */
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
    // Random, so that several workers do not retry at the same moment.
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
