/** Forklift as the page knows it: the fork, its last runs, and what the one that is under way says. */
import type { Forklift } from '../../contract/forklift.ts'
import type { News } from '../../contract/news.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'

/** So many lines of what it says are shown. */
const MAX_LINES = 500

export class ForkliftState extends ServerValue<Forklift> {
  /** The branches that there were when somebody last told. */
  #names = ''

  constructor(connection: Connection) {
    super(() => connection.ask('forklift', {}))
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
    const info = this.latest.peek()
    if (info && line !== undefined) {
      const lines = [...(info.said?.lines ?? []), line].slice(-MAX_LINES)
      this.latest.value = { ...info, said: { ...info.said, lines } }
    }
    // How it began and how it ended is in the answer.
    if (line === undefined || end !== undefined) this.touch()
  }
}
