/** How a run is, as a person sees it, and as git keeps it for where no server is. */
import { condition } from '@temporalio/workflow'
import type { Reference, RunId, RunState, RunStatus, Spent } from '../../contract.ts'
import { short } from '../effects.ts'
import { added, NOTHING } from '../ends.ts'
import type { Budget } from './budget.ts'
import type { Holds } from './holds.ts'
import type { OwnWork } from './own-work.ts'
import type { Phase } from './phase.ts'
import type { Planning } from './planning.ts'
import type { Questions } from './questions.ts'
import { statusOf } from './records.ts'
import type { Scheduler } from './scheduler.ts'
import { command } from './sentences.ts'
import { proposed, type Tasks } from './tasks.ts'

type Means = {
  run: RunId
  phase: Phase
  tasks: Tasks
  budget: Budget
  holds: Holds
  ownWork: OwnWork
  questions: Questions
  planning: Planning
  scheduler: Scheduler
}

export class Status {
  readonly #means: Means
  #isBeingKept = false

  constructor(means: Means) {
    this.#means = means
  }

  get whole(): RunStatus {
    const { run, phase, tasks, budget, holds, questions, planning } = this.#means
    const { state, words } = this.now
    const { ending } = phase
    // What held it, or was asked, when it has ended is nobody's matter any more.
    const limit = ending ? undefined : holds.now?.limit
    const question = ending ? undefined : this.#question
    const proposal = ending ? undefined : questions.open?.proposal
    const records = tasks.records.length === 0 && proposal ? proposed(proposal.tasks) : tasks.records
    const plan = planning.shown
    return {
      run,
      state,
      words,
      complaints: planning.complaints,
      tasks: records.map(statusOf),
      spent: records.reduce<Spent>((sum, { spent }) => added(sum, spent ?? NOTHING), budget.spent),
      ...(plan && { plan }),
      ...(question && { question }),
      ...(limit && { limit }),
      ...(ending?.result && { result: ending.result }),
      ...(ending?.report && { report: ending.report }),
    }
  }

  /** Its state, and why it is in that. */
  get now(): { state: RunState; words: string } {
    const { run, phase, tasks, holds, ownWork, questions, scheduler } = this.#means
    if (phase.ending) return phase.ending
    if (holds.now) return holds.now
    const { open } = questions
    if (open) return { state: open.about === 'approval' ? 'approving' : 'asks', words: open.words }
    if (phase.doing === 'planning') return { state: 'planning', words: '' }
    if (phase.doing === 'finishes' || ownWork.isUnderWay || !scheduler.isIdle || tasks.isOneReady)
      return { state: 'runs', words: '' }
    const asking = tasks.all.filter(({ record }) => record.state === 'asks').map(({ id }) => id)
    if (asking.length > 0) {
      const verb = asking.length === 1 ? 'waits' : 'wait'
      const words = `${asking.join(', ')} ${verb} for an answer: ${command('answer', run, asking[0])} "…"`
      return { state: 'asks', words }
    }
    const paused = tasks.all.filter(({ record }) => record.isPaused).map(({ id }) => id)
    if (paused.length === 0) return { state: 'runs', words: '' }
    return { state: 'paused', words: `Paused: ${paused.join(', ')}. Go on: ${command('resume', run, paused[0])}.` }
  }

  /** What a person has to read before it goes on. */
  get #question(): Reference | undefined {
    const { holds, questions } = this.#means
    return holds.now ? holds.now.question : questions.open?.report
  }

  get isBeingKept(): boolean {
    return this.#isBeingKept
  }

  /** Keeps how it is in git, whenever it rests or goes on, until it has ended. */
  async keep(): Promise<void> {
    for (let kept = ''; ; ) {
      await condition(() => this.#mark !== kept)
      kept = this.#mark
      const isLast = this.#means.phase.ending !== undefined
      this.#isBeingKept = true
      // The server knows it too: what can't be kept is no reason to halt.
      await short.rest(this.whole).catch(() => undefined)
      this.#isBeingKept = false
      if (isLast) return
    }
  }

  /** Another one wherever what a person reads of a resting run has changed; while it is busy, its state is enough. */
  get #mark(): string {
    const { phase, tasks, scheduler } = this.#means
    const { state, words } = this.now
    if (!phase.ending && (!scheduler.isIdle || state === 'planning' || state === 'runs')) return state
    const each = tasks.records.map(({ state, attempt, isPaused }) => `${state} ${attempt} ${isPaused}`)
    return [state, words, this.#question?.oid, ...each].join('\n')
  }
}
