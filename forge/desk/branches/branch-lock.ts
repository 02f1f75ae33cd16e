/**
 * What keeps the work on one branch in order: one thing after the other. While the one that is under way waits for
 * something that may take as long as a person does (a signature: a passphrase, the touch of a key), it steps aside, and
 * what is brief goes on: files are opened, and what is typed is written.
 */

type Waiting = { isBrief: boolean; begin: () => void }

export class BranchLock {
  readonly #waiting: Waiting[] = []
  #isHeld = false
  /** The holder has stepped aside: only brief tasks may run meanwhile. */
  #isAside = false
  #isSomebodyWaiting = false

  /**
   * Called with true when a task that is not brief queues behind a holder that has stepped aside, and with false when
   * none does any more.
   */
  constructor(readonly onWaiting: (isWaiting: boolean) => void) {}

  /** Does something when all that came before is done. What is brief moves no branch, and never steps aside. */
  async hold<Result>(task: () => Promise<Result>, { isBrief = false } = {}): Promise<Result> {
    await this.#enter(isBrief)
    try {
      return await task()
    } finally {
      this.#leave()
    }
  }

  /** Called by the holder: waits for something, and lets brief tasks run meanwhile. */
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

  /** Before all others: it has only stepped aside. */
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
    if (isWaiting === this.#isSomebodyWaiting) return
    this.#isSomebodyWaiting = isWaiting
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
