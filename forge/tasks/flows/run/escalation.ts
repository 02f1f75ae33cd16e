/** Reports for a person, who has to decide something: what the matter is, what there is to see, and how the run is. */
import { isCancellation } from '@temporalio/workflow'
import type { Reference, RunId, RunStatus, TaskId } from '../../contract.ts'
import { short } from '../effects.ts'

/** What a report is about. `resume` is what a person types, where no answer ends the matter. */
type Matter = { words: string; evidence: Reference[]; task?: TaskId | undefined; resume?: string }

export class Escalation {
  readonly #run: RunId
  readonly #plan: () => Reference | undefined
  readonly #status: () => RunStatus

  constructor(run: RunId, plan: () => Reference | undefined, status: () => RunStatus) {
    this.#run = run
    this.#plan = plan
    this.#status = status
  }

  /** Undefined where it can't be written: a question without a report is still a question. */
  async report({ words, evidence, task, resume }: Matter): Promise<Reference | undefined> {
    const plan = this.#plan()
    const about = { run: this.#run, ...(task !== undefined && { task }), ...(plan && { plan }) }
    try {
      return await short.escalate({ ...about, words, evidence, status: this.#status(), ...(resume && { resume }) })
    } catch (error) {
      if (isCancellation(error)) throw error
      return undefined
    }
  }
}
