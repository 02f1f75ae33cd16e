/** Forklift as the page knows it: the fork, its last runs, and what the one that is under way says. */
import { signal } from '@preact/signals'
import type { Forklift } from '../../contract/forklift.ts'
import type { News } from '../../contract/news.ts'
import type { Connection } from '../app/socket.ts'

/** How long after a change it is asked for again, in milliseconds. */
const ASK_AFTER = 150
/** So many lines of what it says are shown. */
const MOST_LINES = 500

export class ForkliftState {
  readonly info = signal<Forklift | undefined>(undefined)
  readonly problem = signal<string | undefined>(undefined)

  readonly #connection: Connection
  #isAsked = false
  #asking = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The branches that there were when somebody last told. */
  #names = ''

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Asks for it at the first time. */
  load(): void {
    if (!this.#isAsked) this.refresh()
  }

  /** Asks again, if it was asked for before. */
  touch(): void {
    if (!this.#isAsked) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.refresh(), ASK_AFTER)
  }

  async refresh(): Promise<void> {
    this.#isAsked = true
    clearTimeout(this.#timer)
    const asking = ++this.#asking
    try {
      const info = await this.#connection.ask('forklift', {})
      if (asking !== this.#asking) return
      this.problem.value = undefined
      this.info.value = info
    } catch (error) {
      if (asking === this.#asking) this.problem.value = (error as Error).message
    }
  }

  #look(names: string): void {
    if (names === this.#names) return
    this.#names = names
    this.touch()
  }

  hear(news: News): void {
    if (news.say === 'repository') this.touch()
    // A branch that is made, renamed or deleted may be one that a run is open as.
    if (news.say === 'desk') this.#look(news.desk.branches.map(({ name }) => name).join('\0'))
    if (news.say !== 'forklift') return
    const { line, end } = news
    const info = this.info.peek()
    if (info && line !== undefined) {
      const lines = [...(info.said?.lines ?? []), line].slice(-MOST_LINES)
      this.info.value = { ...info, said: { ...info.said, lines } }
    }
    // How it began and how it ended is in the answer.
    if (line === undefined || end !== undefined) this.touch()
  }
}
