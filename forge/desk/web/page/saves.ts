/** Runs saves: those of one branch one after the other, those of different branches independently. */
import { signal } from '@preact/signals'

export class Saves {
  /** The branches in which a save is running. */
  readonly running = signal<ReadonlySet<string>>(new Set())
  /** The saves that follow, by branch and key: the same save queued twice runs once. */
  readonly #next = new Map<string, Map<string, () => Promise<void>>>()

  /** Saves at once, or after the running save of the branch. `run` must not throw. */
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
