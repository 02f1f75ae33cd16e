/** A search in all text of a branch or a commit. Matches arrive in pieces. */
import { signal } from '@preact/signals'
import type { News } from '../../contract/news.ts'
import type { Match } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import type { Connection } from '../ui/socket.ts'

type Found = Extract<News, { say: 'found' }>

/** At most this many matches are kept; above that, the list is marked as cut. */
const MAX_MATCHES = 20_000

export class TextSearch {
  readonly words = signal('')
  /** Increases when the field should get the focus. */
  readonly focusWanted = signal(0)
  readonly isRegex = signal(false)
  readonly matchCase = signal(false)
  readonly matches = signal<Match[]>([])
  readonly isRunning = signal(false)
  readonly isCut = signal(false)
  readonly problem = signal<string | undefined>(undefined)
  /** The query of the matches that are shown; undefined before the first search. */
  readonly found = signal<string | undefined>(undefined)

  readonly #connection: Connection
  readonly #at: At
  #search: number | undefined
  #turn = 0
  /** Matches that arrived before the id of their search was known. */
  #early: Found[] = []

  constructor(connection: Connection, at: At) {
    this.#connection = connection
    this.#at = at
  }

  async start(): Promise<void> {
    const turn = ++this.#turn
    this.stop()
    this.#early = []
    this.matches.value = []
    this.isCut.value = false
    this.problem.value = undefined
    const words = this.words.peek()
    this.found.value = words || undefined
    if (words === '') return
    this.isRunning.value = true
    try {
      const { search } = await this.#connection.ask('find text', {
        at: this.#at,
        words,
        isRegex: this.isRegex.peek(),
        matchCase: this.matchCase.peek(),
      })
      if (turn !== this.#turn) this.#stop(search)
      else this.#started(search)
    } catch (error) {
      if (turn !== this.#turn) return
      this.isRunning.value = false
      this.problem.value = (error as Error).message
    }
  }

  stop(): void {
    if (this.#search !== undefined && this.isRunning.peek()) this.#stop(this.#search)
    this.#search = undefined
    this.isRunning.value = false
  }

  receive(found: Found): void {
    if (found.search === this.#search) this.#take(found)
    else if (this.isRunning.peek() && this.#search === undefined) this.#early.push(found)
  }

  #started(search: number): void {
    this.#search = search
    for (const found of this.#early.splice(0)) this.receive(found)
  }

  #take(found: Found): void {
    this.matches.value = [...this.matches.peek(), ...found.matches].slice(0, MAX_MATCHES)
    if (found.isCut || this.matches.peek().length === MAX_MATCHES) this.isCut.value = true
    if (found.isDone) this.isRunning.value = false
  }

  #stop(search: number): void {
    this.#connection.ask('stop finding', { search }).catch(() => {})
  }
}
