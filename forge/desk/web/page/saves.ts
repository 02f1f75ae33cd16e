/** Saves: in each branch one after the other, in no branch held up by another one. */
import { signal } from '@preact/signals'

export class Saves {
  /** The branches in which a save is under way. */
  readonly running = signal<ReadonlySet<string>>(new Set())
  /** What is to be saved after that, by branch, and by what it saves: the same twice is saved once. */
  readonly #next = new Map<string, Map<string, () => Promise<void>>>()

  /** Saves at once, or after the save that is under way in the branch. `run` must not throw. */
  async add(branch: string, key: string, run: () => Promise<void>): Promise<void> {
    const next = this.#next.get(branch)
    if (next) {
      next.set(key, run)
      return
    }
    const waiting = new Map([[key, run]])
    this.#next.set(branch, waiting)
    this.running.value = new Set([...this.running.peek(), branch])
    for (const [first, save] of waiting) {
      waiting.delete(first)
      await save()
    }
    this.#next.delete(branch)
    this.running.value = new Set([...this.running.peek()].filter(other => other !== branch))
  }
}
