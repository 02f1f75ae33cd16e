/** Steps and activities of the run itself. Each is done again whenever a person has mended what it failed by. */
import { startChild, workflowInfo } from '@temporalio/workflow'
import type { RunId, StepInput, StepResult } from '../../contract.ts'
import type { StepFlow } from '../ends.ts'
import { haltOf } from '../troubles.ts'
import type { Budget } from './budget.ts'
import type { Holds } from './holds.ts'
import type { Phase } from './phase.ts'

type Means = { run: RunId; phase: Phase; holds: Holds; budget: Budget }

export class OwnWork {
  readonly #means: Means
  #underWay = 0

  constructor(means: Means) {
    this.#means = means
  }

  get isUnderWay(): boolean {
    return this.#underWay > 0
  }

  /** Does what may be done again, until it is done. Throws a cancellation, and what fails when the run has ended. */
  async patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      await this.#means.holds.untilLetGo()
      this.#underWay++
      try {
        return await work()
      } catch (error) {
        // Of a run that has ended, nobody would mend it.
        if (this.#means.phase.ending) throw error
        await this.#means.holds.halt(haltOf(error))
      } finally {
        this.#underWay--
      }
    }
  }

  /** Asks a model, as a step of the run. */
  async step(step: string, wish: Pick<StepInput, 'kind' | 'base' | 'about' | 'tier'>): Promise<StepResult> {
    const input: StepInput = { run: this.#means.run, attempt: 1, step, choice: 0, depth: 0, ...wish }
    for (;;) {
      const result = await this.patiently(() => this.#tryStep(input))
      if (result) return result
    }
  }

  /** Undefined where it was halted: it is done again, and then says all that it has used. */
  async #tryStep(input: StepInput): Promise<StepResult | undefined> {
    const workflowId = `${workflowInfo().workflowId}/${input.step}`
    const child = await startChild<StepFlow>('step', { workflowId, args: [input] })
    const end = await child.result()
    if (end.halt) {
      await this.#means.holds.halt(end.halt)
      return undefined
    }
    this.#means.budget.spend(end.spent)
    return end.result
  }
}
