/** Runs saves: those of one branch one after the other, those of different branches independently. */
import { signal } from '@preact/signals'

export class Saves {
  /** The branches in which a save is running. */
  readonly running = signal<ReadonlySet<string>>(new Set())
  /** The last save of each branch in which one is running. */
  readonly #last = new Map<string, Promise<void>>()

  /** Resolves when no save of the branch is running any more. */
  async ended(branch: string): Promise<void> {
    await this.#last.get(branch)
  }

  /** Saves at once, or after the other saves of the branch. `run` must not throw. Resolves when it has ended. */
  async add(branch: string, run: () => Promise<void>): Promise<void> {
    const last = this.#last.get(branch)
    const ended = last ? last.then(run) : run()
    this.#last.set(branch, ended)
    this.running.value = new Set([...this.running.peek(), branch])
    await ended
    if (this.#last.get(branch) !== ended) return
    this.#last.delete(branch)
    this.running.value = new Set([...this.running.peek()].filter(other => other !== branch))
  }
}
