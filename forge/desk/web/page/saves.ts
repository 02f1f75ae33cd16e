/** Runs saves: those of one branch one after the other, those of different branches independently. */
import { signal } from '@preact/signals'

export class Saves {
  /** The branches in which a save is running. */
  readonly running = signal<ReadonlySet<string>>(new Set())
  /** The last save of each branch in which one is running: whether it, or one that it followed, has made a commit. */
  readonly #last = new Map<string, Promise<boolean>>()

  /** Resolves when the saves of the branch that were asked for so far have ended: to whether one has made a commit. */
  async ended(branch: string): Promise<boolean> {
    return (await this.#last.get(branch)) ?? false
  }

  /**
   * Saves at once, or after the other saves of the branch. `run` gives whether it has made a commit, and must not
   * throw. Resolves when it has ended.
   */
  async add(branch: string, run: () => Promise<boolean>): Promise<void> {
    const last = this.#last.get(branch)
    const ended = last ? last.then(async wasMade => (await run()) || wasMade) : run()
    this.#last.set(branch, ended)
    this.running.value = new Set([...this.running.peek(), branch])
    await ended
    if (this.#last.get(branch) !== ended) return
    this.#last.delete(branch)
    this.running.value = new Set([...this.running.peek()].filter(other => other !== branch))
  }
}
