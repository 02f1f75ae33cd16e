/**
 * When activities tell the server that they live, by which it also tells them that they are cancelled. Of the
 * activities of one task, one tells it every few seconds, so that a cancellation is heard soon, and passes that on; the
 * others tell it three times within the server's patience. So a thousand sub-agents cost the server next to nothing.
 */

/** Milliseconds between two signs of life of the first activity of a group, and of each other one. */
export const SIGNS = { first: 4000, others: 20_000 }

type Member = { beat: () => void; last: number }

/** To be closed, which ends its clock. */
export class SignsOfLife implements Disposable {
  readonly #groups = new Map<string, Set<Member>>()
  #clock: ReturnType<typeof setInterval> | undefined

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Counts an activity in, from now until what it gives is closed: `beat` is called whenever it is to say so. */
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

  /** Lets all of a group say that they live, so that they hear what one of them has heard. */
  askAll(group: string): void {
    for (const member of this.#groups.get(group) ?? []) this.#beat(member)
  }

  /** Lets those say that they live whose time has come. */
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
