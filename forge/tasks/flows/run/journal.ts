/** The journal of a run: a line for each decision, for people. */
import { isCancellation, workflowInfo } from '@temporalio/workflow'
import type { JournalLine, Reference, RunId } from '../../contract.ts'
import { short } from '../effects.ts'
import type { Task } from './tasks.ts'

/** What a line says besides: what it is about, why that was decided, and of which task. */
type Besides = { refs?: Reference[]; why?: string; task?: Task }

export class Journal {
  readonly #run: RunId
  readonly #onLost: () => void
  #lines: number

  /** `onLost` hears of each line that can't be written; `lines` is how many ids a history before this one has given. */
  constructor(run: RunId, onLost: () => void, lines = 0) {
    this.#run = run
    this.#onLost = onLost
    this.#lines = lines
  }

  /** Writes a line. One with an id that is there already is that line. Throws nothing but a cancellation. */
  async say(id: string, what: string, words: string, { refs = [], why, task }: Besides = {}): Promise<void> {
    const line: JournalLine = { run: this.#run, id, what, words, refs }
    if (why) line.why = why
    if (task) Object.assign(line, { task: task.id, attempt: task.record.attempt })
    try {
      await short.note(line)
    } catch (error) {
      if (isCancellation(error)) throw error
      this.#onLost()
    }
  }

  /** An id for what happens at no fixed place: it is the run's own, also after the server has lost everything. */
  ownId(what: string): string {
    return `${what}/${workflowInfo().firstExecutionRunId.slice(0, 8)}/${++this.#lines}`
  }

  get lines(): number {
    return this.#lines
  }
}
