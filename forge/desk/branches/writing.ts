/** When drafts are written: soon after they were typed, and again where the disk refuses, which is told once. */

/**
 * Milliseconds from the first unwritten keystroke until it is written, and between tries where the disk refuses. No
 * more than a second is to be lost where everything is killed; but each write leaves some objects that are not needed
 * later.
 */
const WRITE_DELAY_MS = 800
const RETRY_DELAY_MS = 1000

export class Writing {
  #timer: ReturnType<typeof setTimeout> | undefined
  #isTold = false
  #isEnded = false

  constructor(
    /** Writes what is not written yet. It reports to {@link succeeded} or {@link failed} itself. */
    readonly write: () => Promise<void>,
    /** Tells a person that writing fails, and why, or that it succeeds again. */
    readonly tell: { failing: (error: unknown) => Promise<void>; again: () => void },
  ) {}

  /** Something is to be written: soon, or at once. */
  begin(milliseconds = WRITE_DELAY_MS): void {
    if (this.#isEnded) return
    // The first keystroke that is not written counts: the clock is not set back by the next one.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.write().catch(() => undefined)
    }, milliseconds)
  }

  succeeded(): void {
    if (this.#isTold) this.tell.again()
    this.#isTold = false
  }

  /** It will be tried again. */
  async failed(error: unknown): Promise<void> {
    this.begin(RETRY_DELAY_MS)
    if (this.#isTold) return
    this.#isTold = true
    await this.tell.failing(error)
  }

  /** Nothing is written by itself any more. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }
}
