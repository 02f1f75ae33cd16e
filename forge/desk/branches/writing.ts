/** Schedules writing drafts: soon after edits, and again if the disk refuses, which is reported once. */

/**
 * The delay from the first unwritten edit until it is written, in milliseconds. At most a second of edits should be
 * lost if the process is killed; but each write leaves objects that are not needed later.
 */
const WRITE_DELAY_MS = 800
/** The delay before a failed write is tried again, in milliseconds. */
const RETRY_DELAY_MS = 1000

export class Writing {
  #timer: ReturnType<typeof setTimeout> | undefined
  #isTold = false
  #isEnded = false

  constructor(
    /** Writes the drafts. It reports to {@link succeeded} or {@link failed} itself. */
    readonly write: () => Promise<void>,
    /** Reports that writing fails, and why, or that it works again. */
    readonly tell: { failing: (error: unknown) => Promise<void>; again: () => void },
  ) {}

  /** Schedules a write of the typed edits after a delay, unless one is scheduled. */
  begin(milliseconds = WRITE_DELAY_MS): void {
    if (this.#isEnded) return
    // The delay counts from the first unwritten edit: later ones do not extend it.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.write().catch(() => undefined)
    }, milliseconds)
  }

  succeeded(): void {
    if (this.#isTold) this.tell.again()
    this.#isTold = false
  }

  /** Reports a failure and schedules another try. */
  async failed(error: unknown): Promise<void> {
    this.begin(RETRY_DELAY_MS)
    if (this.#isTold) return
    this.#isTold = true
    await this.tell.failing(error)
  }

  /** Stops scheduled writes. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }
}
