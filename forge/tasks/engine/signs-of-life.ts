/**
 * Sends the heartbeats of activities. The server's answer to a heartbeat tells an activity that it was cancelled. Of
 * the activities of one task, the first sends one every few seconds and passes a cancellation on; the others send three
 * within the server's timeout. So a thousand sub-agents cost the server little.
 */

/**
 * Milliseconds between two heartbeats: of the first activity of a group (the activities of one task), and of the
 * others.
 */
export const SIGNS = { first: 4000, others: 20_000 }

type Member = { beat: () => void; last: number }

/** Schedules heartbeats. Dispose it to stop its timer. */
export class SignsOfLife implements Disposable {
  readonly #groups = new Map<string, Set<Member>>()
  #clock: ReturnType<typeof setInterval> | undefined

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Adds an activity until the result is disposed of. `beat` sends a heartbeat. */
  add(group: string, beat: () => void): Disposable {
    const members = this.#groups.get(group) ?? new Set()
    this.#groups.set(group, members)
    const member: Member = { beat, last: this.now() }
    members.add(member)
    this.#clock ??= setInterval(() => this.look(), SIGNS.first)
    return {
      [Symbol.dispose]: () => {
        members.delete(member)
        if (members.size === 0 && this.#groups.get(group) === members) this.#groups.delete(group)
        if (this.#groups.size === 0) this[Symbol.dispose]()
      },
    }
  }

  /** Sends a heartbeat for each activity of a group (of one task), so that all learn of a cancellation. */
  askAll(group: string): void {
    for (const member of this.#groups.get(group) ?? []) this.#beat(member)
  }

  /** Sends the heartbeats that are due. */
  look(): void {
    const now = this.now()
    for (const members of this.#groups.values()) {
      const [first] = members
      for (const member of members) if (member === first || now - member.last >= SIGNS.others) this.#beat(member)
    }
  }

  #beat(member: Member): void {
    member.last = this.now()
    member.beat()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#clock)
    this.#clock = undefined
  }
}
