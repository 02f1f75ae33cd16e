/**
 * A queue for the work on one branch: tasks run one after the other. While a task waits for something that may need the
 * user (a signature's passphrase or a touch of a key), it steps aside, and brief tasks run: opening files and writing
 * drafts.
 */

type Waiting = { isBrief: boolean; begin: () => void }

export class BranchLock {
  readonly #waiting: Waiting[] = []
  #isHeld = false
  /** Whether the task that holds the lock waits for the user: only brief tasks may run. */
  #isAside = false
  #isTaskWaiting = false

  /**
   * Called with true when a task that is not brief queues behind a holder that waits for the user, and with false when
   * none is queued any more.
   */
  constructor(readonly onWaiting: (isWaiting: boolean) => void) {}

  /** Runs a task after all earlier ones. A brief task moves no branch and never waits for the user. */
  async hold<Result>(task: () => Promise<Result>, { isBrief = false } = {}): Promise<Result> {
    await this.#enter(isBrief)
    try {
      return await task()
    } finally {
      this.#leave()
    }
  }

  /**
   * Waits for something that may need the user, while brief tasks run. Only the task that holds the lock calls this.
   */
  async stepAside<Result>(wait: () => Promise<Result>): Promise<Result> {
    this.#isAside = true
    this.#leave()
    try {
      return await wait()
    } finally {
      await this.#comeBack()
    }
  }

  async #enter(isBrief: boolean): Promise<void> {
    await new Promise<void>(begin => {
      this.#waiting.push({ isBrief, begin })
      this.#next()
    })
  }

  /** Takes the lock back, before all queued tasks, for a holder that has let brief tasks run while it waited. */
  async #comeBack(): Promise<void> {
    await new Promise<void>(begin => {
      const backAgain = () => {
        this.#isAside = false
        begin()
      }
      this.#waiting.unshift({ isBrief: true, begin: backAgain })
      this.#next()
    })
  }

  #leave(): void {
    this.#isHeld = false
    this.#next()
  }

  #next(): void {
    this.#begin()
    const isWaiting = this.#isAside && this.#waiting.some(({ isBrief }) => !isBrief)
    if (isWaiting === this.#isTaskWaiting) return
    this.#isTaskWaiting = isWaiting
    this.onWaiting(isWaiting)
  }

  #begin(): void {
    if (this.#isHeld) return
    const at = this.#waiting.findIndex(({ isBrief }) => isBrief || !this.#isAside)
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1)
    if (!next) return
    this.#isHeld = true
    next.begin()
  }
}
