/** What a run asks a person about itself as a whole, and what was answered before. */
import { condition } from '@temporalio/workflow'
import type { PersonAnswer, Reference, RunId, TaskId } from '../../contract.ts'
import type { Escalation } from './escalation.ts'
import type { Carried, GoodPlan } from './records.ts'
import { command, sentence } from './sentences.ts'

/** Why there is no plan, or no result, that a person could be shown. */
export type Stuck = { words: string; evidence: Reference[] }

/** What a person says to a question. */
export type Decision = { kind: 'answer'; answer: Reference } | { kind: 'approve'; plan: GoodPlan } | { kind: 'resume' }

type About = 'plan' | 'approval' | 'result'

/** A question that waits for a person. `proposal` is the plan that waits for a yes, `report` what that person reads. */
export class Question {
  #decision: Decision | undefined

  constructor(
    readonly about: About,
    readonly words: string,
    readonly proposal: GoodPlan | undefined,
    readonly report: Reference | undefined,
  ) {}

  /** The first decision counts. */
  decide(decision: Decision): void {
    this.#decision ??= decision
  }

  get decision(): Decision | undefined {
    return this.#decision
  }
}

/** `onAsked` hears of each question before it is waited for. */
type Means = { run: RunId; escalation: Escalation; onAsked: () => void }

export class Questions {
  readonly #means: Means
  #open: Question | undefined
  /** Counted, so that a question has the same number when it is asked again after the server has lost everything. */
  #count: number
  #remembered: PersonAnswer[]

  constructor(means: Means, carried?: Pick<Carried, 'questions' | 'remembered'>) {
    this.#means = means
    this.#count = carried?.questions ?? 0
    this.#remembered = carried?.remembered ?? []
  }

  /** The one that waits for a person now. */
  get open(): Question | undefined {
    return this.#open
  }

  /** The number of the last one. */
  get count(): number {
    return this.#count
  }

  /** Takes what was answered before the server has lost everything. */
  remember(answers: PersonAnswer[]): void {
    this.#remembered = answers
  }

  /** The run's own answers that are remembered are used up: its next question is a new one. */
  skipRemembered(): void {
    this.#count = Math.max(0, ...this.#remembered.filter(({ task }) => !task).map(({ count }) => count))
  }

  /** What a person has answered before to that question of a task, or of the run itself where that is ''. */
  answerTo(task: TaskId | '', count: number): Reference | undefined {
    return this.#remembered.find(one => one.task === task && one.count === count)?.answer
  }

  /** Asks, and waits; what was answered before is not asked again. */
  async ask(about: About, { words, evidence }: Stuck, proposal?: GoodPlan): Promise<Decision> {
    const { run, escalation, onAsked } = this.#means
    const before = this.answerTo('', ++this.#count)
    if (before) return { kind: 'answer', answer: before }
    const asks = proposal ? words : `${sentence(words)} Answer it: ${command('answer', run)} "…"`
    const question = new Question(about, asks, proposal, await escalation.report({ words, evidence }))
    this.#open = question
    onAsked()
    await condition(() => question.decision !== undefined)
    this.#open = undefined
    return question.decision ?? { kind: 'resume' }
  }

  carried(): Pick<Carried, 'questions' | 'remembered'> {
    return { questions: this.#count, remembered: this.#remembered }
  }
}
