/** The end of a run: the results of its tasks are brought together, and the contract is checked. */
import type { Gathered, Oid, Reference, RunInput, StepInput } from '../../contract.ts'
import { checking, short } from '../effects.ts'
import type { Journal } from './journal.ts'
import type { OwnWork } from './own-work.ts'
import type { Phase } from './phase.ts'
import type { Planning } from './planning.ts'
import type { Questions } from './questions.ts'
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

export class Result {
  readonly #means: Means

  constructor(means: Means) {
    this.#means = means
  }

  /** Ends the run where its result is good. Otherwise there is more to do, and the tasks go on. */
  async finish(): Promise<void> {
    const { input, phase, tasks, planning, ownWork, questions, journal } = this.#means
    const { run, base } = input
    const plan = planning.planOrWish
    const results = tasks.records.flatMap(({ shape, head }) => (head ? [{ task: shape.id, head }] : []))
    const stopped = tasks.records.filter(({ state }) => state === 'stopped')
    const share = `${results.length} of ${tasks.records.length} tasks are done`
    if (results.length === 0) {
      const words = `No task was done: ${names(stopped)} stopped.`
      phase.end({ state: 'stopped', words })
      return await journal.say('finish/nothing', 'stopped', words)
    }
    let resolved: Oid | undefined
    for (let number = 1; ; number++) {
      const gathered = { run, base, plan, results, ...(resolved && { resolved }) }
      const end = await ownWork.patiently(() => checking.finish(gathered))
      // A person has let a task that was stopped go on meanwhile: its result belongs to it.
      if (!tasks.areOver) return
      let { words } = end
      if (!end.conflicts && end.isGood) {
        const whole = results.length === 1 ? 'Its one task is done' : `All ${results.length} tasks are done`
        const all = stopped.length ? `${share} (${names(stopped)} stopped)` : whole
        const said = `${all}, and the contract holds: look at it and merge it with ${command('land', run)}.`
        phase.end({ state: 'done', words: said, result: end.head, report: end.report })
        return await journal.say('finish/done', 'done', said, { refs: [end.report] })
      }
      if (end.conflicts && number <= results.length) {
        const resolution = await this.#resolve(number, end.head, end.conflicts)
        if (resolution.commit !== undefined) {
          resolved = resolution.commit
          continue
        }
        words = `Results are in conflict: ${resolution.words}`
      }
      const evidence = [end.conflicts?.report ?? end.report]
      await journal.say(journal.ownId('finish'), 'asks', words, { refs: evidence })
      const decision = await questions.ask('result', { words: `${share}, but ${words}`, evidence })
      if (decision.kind === 'answer') await planning.mend(evidence, decision.answer)
      return
    }
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
