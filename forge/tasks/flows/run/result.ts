/** The end of a run: the results of its tasks are brought together, and the contract is checked. */
import type {
  Finished,
  Gathered,
  Oid,
  Reference,
  RunInput,
  StepInput,
  StepResult,
  TaskId,
  Tier,
} from '../../contract.ts'
import { checking, short } from '../effects.ts'
import { tierAbove } from '../tiers.ts'
import type { Journal } from './journal.ts'
import type { OwnWork } from './own-work.ts'
import type { Phase } from './phase.ts'
import type { Planning } from './planning.ts'
import type { Questions, Stuck } from './questions.ts'
import { command, names } from './sentences.ts'
import type { Tasks } from './tasks.ts'

/** Models are asked about a conflict between results so often. */
const RESOLVE_TRIES = 2

type Means = {
  input: RunInput
  phase: Phase
  tasks: Tasks
  planning: Planning
  ownWork: OwnWork
  questions: Questions
  journal: Journal
}

/** A merge of results that a model made and git may have, or why there is none. */
type Resolution = { commit: Oid; words?: undefined } | { commit?: undefined; words: string }

type TaskResult = { task: TaskId; head: Oid }

/** All results together and what shows that they are good, or why they are not. */
type Checked = { isGood: true; head: Oid; report: Reference } | ({ isGood: false } & Stuck)

export class Result {
  readonly #means: Means

  constructor(means: Means) {
    this.#means = means
  }

  /** Ends the run where its result is good. Otherwise there is more to do, and the tasks go on. */
  async finish(): Promise<void> {
    const { input, phase, tasks, planning, questions, journal } = this.#means
    const results = tasks.records.flatMap(({ shape, head }) => (head ? [{ task: shape.id, head }] : []))
    const stopped = tasks.records.filter(({ state }) => state === 'stopped')
    if (results.length === 0) {
      const words = `No task was done: ${names(stopped)} stopped.`
      phase.end({ state: 'stopped', words })
      return await journal.say('finish/nothing', 'stopped', words)
    }
    const checked = await this.#check(results)
    // A person has let a task that was stopped go on meanwhile: its result belongs to it.
    if (!tasks.areOver) return
    const share = `${results.length} of ${tasks.records.length} tasks are done`
    if (checked.isGood) {
      const whole = results.length === 1 ? 'Its one task is done' : `All ${results.length} tasks are done`
      const all = stopped.length ? `${share} (${names(stopped)} stopped)` : whole
      const words = `${all}, and the contract holds: look at it and merge it with ${command('land', input.run)}.`
      phase.end({ state: 'done', words, result: checked.head, report: checked.report })
      return await journal.say('finish/done', 'done', words, { refs: [checked.report] })
    }
    const { words, evidence, isLacking } = checked
    await journal.say(journal.ownId('finish'), 'asks', words, { refs: evidence })
    const stuck = { words: `${share}, but ${words}`, evidence, ...(isLacking && { isLacking }) }
    const decision = await questions.ask('result', stuck)
    if (decision.kind === 'answer') await planning.mend(evidence, decision.answer)
  }

  /** Brings results together, one conflict resolved after the other, and lets the contract be checked and reviewed. */
  async #check(results: TaskResult[]): Promise<Checked> {
    const { input, tasks, planning, ownWork } = this.#means
    const { run, base } = input
    const plan = planning.planOrWish
    let resolved: Oid | undefined
    for (let number = 1; ; number++) {
      const gathered = { run, base, plan, results, ...(resolved && { resolved }) }
      const end = await ownWork.patiently(() => checking.finish(gathered))
      const { isGood, words, head, report, conflicts, question } = end
      if (!conflicts) {
        if (question) return { isGood: false, words, evidence: [question, report], isLacking: true }
        if (!isGood) return { isGood, words, evidence: [report] }
        // Nobody is asked about what is another result by now.
        const refused = end.review && tasks.areOver && (await this.#review(end, end.review))
        return refused ? { isGood: false, ...refused } : { isGood, head, report }
      }
      // Each result can be in conflict once; whoever finds one more does not go on from what was resolved.
      const evidence = [conflicts.report]
      if (number > results.length || !tasks.areOver) return { isGood: false, words, evidence }
      const resolution = await this.#resolve(number, head, conflicts)
      if (resolution.commit === undefined)
        return { isGood: false, words: `Results are in conflict: ${resolution.words}`, evidence }
      resolved = resolution.commit
    }
  }

  /** Why reviewers don't accept all results together; where they are not of one mind, a more capable one decides. */
  async #review(
    { head, report }: Finished,
    { asks, count, tier }: NonNullable<Finished['review']>,
  ): Promise<Stuck | undefined> {
    const about = [this.#means.planning.planOrWish, report, asks]
    const ask = (name: string, by: Tier, choice: number) =>
      this.#means.ownWork.step(`finish/review/${name}`, { kind: 'review', base: head, about, tier: by, choice })
    const results: StepResult[] = []
    for (let at = 0; at < count; at++) results.push(await ask(`${at + 1}`, tier, at))
    if (results.every(isAccepted)) return undefined
    if (results.some(isAccepted)) results.push(await ask('last', tierAbove(tier) ?? tier, 0))
    const last = results.at(-1)
    if (last && isAccepted(last)) return undefined
    const evidence = results.flatMap(({ parsed }) => (parsed ? [{ ...parsed, kind: 'review' }] : []))
    return { words: `a review does not accept the whole: ${last?.words ?? ''}`, evidence }
  }

  /** The merge of two results that git can't bring together. */
  async #resolve(
    number: number,
    base: Oid,
    { ours, theirs, report }: NonNullable<Gathered['conflicts']>,
  ): Promise<Resolution> {
    const { input, planning, ownWork } = this.#means
    const about: Reference[] = [...(planning.plan ? [planning.plan] : []), report]
    let words = ''
    for (let tries = 1; tries <= RESOLVE_TRIES; tries++) {
      const tier: StepInput['tier'] = tries === 1 ? 'generation' : 'reasoning'
      const result = await ownWork.step(`finish/resolve/${number}/${tries}`, { kind: 'resolve', base, about, tier })
      words = result.words
      const { commit } = result
      if (result.outcome !== 'success' || !commit) continue
      const resolution = { run: input.run, attempt: tries, ours, theirs, resolved: commit }
      const judged = await ownWork.patiently(() => short.judge(resolution))
      if (judged.commit) return { commit: judged.commit }
      about.push(judged.report)
      words = judged.words
    }
    return { words }
  }
}

const isAccepted = ({ outcome, isGood }: StepResult): boolean => outcome === 'success' && isGood === true
