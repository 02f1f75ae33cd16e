/** The bound on how many language servers start and run at a time. */
import { Failure } from '../../../core/failure.ts'

/** What takes a slot: a server that starts or runs. */
export type SlotUser = {
  /** When it was used last, in milliseconds. */
  readonly used: number
  /** Whether a task waits for its answers: it is not ended for another one then. */
  readonly isHeld: boolean
  /** Ends it, since another one gets its slot. */
  giveUp: () => void
}

type Waiting = { user: SlotUser; resolve: () => void; reject: (error: Error) => void }

export class Slots {
  readonly #taken = new Set<SlotUser>()
  /** The users that wait for a slot, the first one first. */
  readonly #waiting: Waiting[] = []

  constructor(readonly count: number) {}

  /**
   * Takes a slot. Where none is free, the user that is not held and was used least recently gives up its own; where all
   * are held, this waits. Rejects with a {@link Failure} where the user is freed meanwhile.
   */
  async take(user: SlotUser): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ user, resolve, reject })
    this.look()
    await promise
  }

  /** Frees the slot of a user, or its place among the waiting ones. */
  free(user: SlotUser): void {
    const at = this.#waiting.findIndex(waiting => waiting.user === user)
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.reject(new Failure('The language server is not needed any more.'))
    if (this.#taken.delete(user)) this.look()
  }

  /** Gives slots to waiting users, as far as there are any. Called when a user is not held any more. */
  look(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (this.#taken.size < this.count) {
        this.#waiting.shift()
        this.#taken.add(next.user)
        next.resolve()
        continue
      }
      const oldest = this.#leastRecentlyUsed()
      if (!oldest) return
      this.#taken.delete(oldest)
      oldest.giveUp()
    }
  }

  #leastRecentlyUsed(): SlotUser | undefined {
    let oldest: SlotUser | undefined
    for (const user of this.#taken) if (!user.isHeld && !(oldest && oldest.used <= user.used)) oldest = user
    return oldest
  }
}
