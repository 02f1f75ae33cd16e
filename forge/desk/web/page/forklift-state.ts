/** The state of Forklift: the fork, its last runs, and the output of the current run. */
import type { Forklift } from '../../contract/forklift.ts'
import type { News } from '../../contract/news.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'

/** At most this many lines of the output are shown, the last ones. */
const MAX_LINES = 500

export class ForkliftState extends ServerValue<Forklift> {
  /** The branch names in the last news, joined to one text: when they change, the runs are loaded again. */
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
    // When a branch is created, renamed or deleted, the branch as which a run of Forklift is open may be another one.
    if (news.say === 'desk') this.#look(news.desk.branches.map(({ name }) => name).join('\0'))
    if (news.say !== 'forklift') return
    const { line, end } = news
    const info = this.latest.peek()
    if (info && line !== undefined) {
      const lines = [...(info.said?.lines ?? []), line].slice(-MAX_LINES)
      this.latest.value = { ...info, said: { ...info.said, lines } }
    }
    // When a run begins or ends, the whole state is loaded: it includes the lines printed so far, so that none is lost.
    if (line === undefined || end !== undefined) this.touch()
  }
}
