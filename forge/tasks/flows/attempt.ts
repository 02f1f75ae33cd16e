/**
 * One attempt at a task: it merges the results that the task builds on, divides the task into steps, does these one
 * after the other, and then runs checks and reviews. What follows a failure is decided by the run. It reports its
 * progress by a query, which costs no events of its history.
 */

import { type ChildWorkflowHandle, defineQuery, setHandler } from '@temporalio/workflow'
import type {
  AttemptStatus,
  Gathered,
  Oid,
  Outcome,
  Reference,
  StepInput,
  StepResult,
  Tier,
  Validated,
} from '../contract.ts'
import type { TaskEnd, TaskInput } from '../run/events.ts'
import { added, NOTHING_SPENT } from '../run/state.ts'
import { nextTier } from '../run/tiers.ts'
import { type Batched, batchedOf } from './batched.ts'
import { atOnce, checking } from './effects.ts'
import type { FanOutFlow } from './ends.ts'
import { Held } from './held.ts'
import { step, tellOn } from './step.ts'
import { errorWords, failureOf, haltOf } from './troubles.ts'

const doing = defineQuery<AttemptStatus>('doing')

/** At most this many requests to resolve one conflict; then the attempt fails. */
const RESOLVE_TRIES = 2

/** Runs one attempt. Throws only a cancellation. */
export async function forgeAttempt(input: TaskInput): Promise<TaskEnd> {
  return new Attempt(input).whole()
}

/** Thrown to end an attempt from anywhere. */
class Over extends Error {
  constructor(readonly end: Pick<TaskEnd, 'outcome' | 'words'> & Partial<TaskEnd>) {
    super(end.words)
  }
}

class Attempt {
  readonly #fanOuts = new Set<ChildWorkflowHandle<FanOutFlow>>()
  readonly #held = new Held(false, (isHeld, number) => tellOn(this.#fanOuts, isHeld, number))
  readonly #batched: Batched
  /** The evidence of a failure, for the user and the next attempt. */
  readonly #evidence: Reference[] = []
  #doing = 'begins'
  /** Whether the attempt is waiting because its run holds it: nothing new may begin. */
  #waits = false
  #spent = NOTHING_SPENT

  constructor(readonly input: TaskInput) {
    this.#batched = batchedOf(input.task)
    setHandler(doing, () => ({
      attempt: input.attempt,
      doing: this.#batched.out > 0 ? `${this.#doing}, in a batch` : this.#doing,
      isHeld: this.#waits,
      spent: this.#spent,
    }))
  }

  async whole(): Promise<TaskEnd> {
    try {
      const passed = this.input.recheck ? await this.#recheck(this.input.recheck) : await this.#work()
      return { outcome: 'success', words: 'It passed.', ...passed, spent: this.#spent }
    } catch (error) {
      const { end } = error instanceof Over ? error : overBy(error)
      return await this.#written({ ...end, spent: this.#spent })
    }
  }

  /**
   * Runs all parts of the attempt in order. Gives the commit that passed (`head`), and the commit that the attempt
   * began with (`from`).
   */
  async #work(): Promise<{ head: Oid; from: Oid }> {
    const base = await this.#gather()
    const steps = await this.#outline(base)
    let head = base
    for (const [at, about] of steps.entries()) {
      const doing = steps.length === 1 ? 'writes' : `step ${at + 1} of ${steps.length}`
      head = await this.#change(doing, `${at + 1}`, head, about)
    }
    if (head === base) {
      throw new Over({
        outcome: 'failure_retryable',
        words: 'It changed nothing, so there is nothing that could be checked.',
      })
    }
    return await this.#judge(base, head)
  }

  /** Checks again, by the changed plan, a result that has passed. */
  async #recheck({ from, head }: { from: Oid; head: Oid }): Promise<{ head: Oid; from: Oid }> {
    return await this.#judge(from, head)
  }

  async #judge(base: Oid, head: Oid): Promise<{ head: Oid; from: Oid }> {
    const validated = await this.#validate(base, head)
    await this.#review(validated)
    await this.#reached('delivers')
    await atOnce.deliver({ ...this.#place, head: validated.head })
    return { head: validated.head, from: base }
  }

  /** Merges the results of the task's dependencies into the base; conflicts are resolved one by one. */
  async #gather(): Promise<Oid> {
    const { base, results, plan } = this.input
    await this.#reached('gathers')
    let resolved: Oid | undefined
    // Each result can conflict once. With more conflicts, a merge did not continue from the last resolution.
    for (let number = 1; number <= results.length + 1; number++) {
      const gathered = await atOnce.gather({ ...this.#place, base, results, plan, ...(resolved && { resolved }) })
      if (!gathered.conflicts) return gathered.commit
      resolved = await this.#resolve(number, gathered, gathered.conflicts)
    }
    throw new Over({
      outcome: 'failure_retryable',
      words: 'The results that it waits for are in conflict again and again.',
    })
  }

  async #resolve(number: number, { commit }: Gathered, conflicts: NonNullable<Gathered['conflicts']>): Promise<Oid> {
    const { ours, theirs, report } = conflicts
    const about = [report]
    let words = ''
    let { tier } = this.input
    for (let tries = 1; tries <= RESOLVE_TRIES; tries++) {
      await this.#reached('resolves a conflict')
      const result = await this.#ask(`resolve/${number}/${tries}`, { kind: 'resolve', base: commit, about, tier })
      if (result.outcome !== 'success' && result.outcome !== 'failure_retryable') throw new Over(endOf(result))
      words = result.words
      if (result.outcome === 'success' && result.commit) {
        const judged = await atOnce.judge({ ...this.#place, ours, theirs, resolved: result.commit })
        if (judged.commit) return judged.commit
        about.push(judged.report)
        this.#evidence.push(judged.report)
        words = judged.words
      }
      tier = nextTier(this.input, tier) ?? tier
    }
    throw new Over({
      outcome: 'failure_retryable',
      words: `What it waits for is in conflict, and no resolution holds: ${words}`,
    })
  }

  /**
   * Divides the task into steps; gives the text of each. Undefined stands for the task itself, the only step of a small
   * one.
   */
  async #outline(base: Oid): Promise<(Reference | undefined)[]> {
    if (this.input.shape.isSmall) return [undefined]
    await this.#reached('outlines')
    const result = await this.#need('outline', { kind: 'outline', base })
    if (!result.steps?.length) throw new Over({ outcome: 'failure_retryable', words: 'Its outline has no steps.' })
    return result.steps
  }

  /**
   * Runs one step on the commit of the one before. Gives the commit after it: the same one where nothing had to change.
   */
  async #change(doing: string, name: string, base: Oid, about: Reference | undefined): Promise<Oid> {
    await this.#reached(doing)
    const { kind = 'implement' } = this.input.shape
    const result = await this.#need(name, { kind, base, about: about ? [about] : [] })
    return result.commit ?? base
  }

  async #validate(base: Oid, head: Oid): Promise<Validated> {
    await this.#reached('is checked')
    const validated = await checking.validate({ ...this.#place, plan: this.input.plan, base, head })
    this.#evidence.push(validated.report)
    if (validated.question) {
      const { words, question } = validated
      throw new Over({ outcome: 'blocked_on_human', words, question, isUnchecked: true })
    }
    if (!validated.isGood) throw new Over({ outcome: 'failure_retryable', words: validated.words })
    return validated
  }

  /** Has several models review the result; where they disagree, a more capable one decides. */
  async #review({ head, report }: Validated): Promise<void> {
    const { shape, tier } = this.input
    if (shape.reviews === 0) return
    await this.#reached('is reviewed')
    const ask = (name: string, by: Tier, choice: number) =>
      this.#ask(`review/${name}`, { kind: 'review', base: head, about: [report], tier: by, choice })
    const asked = Array.from({ length: shape.reviews }, (_, at) => ask(`${at + 1}`, tier, at))
    const results = await allOf(asked)
    const verdicts = results.map(result => this.#verdictOf(result))
    if (verdicts.every(isGood => isGood === true)) return
    if (verdicts.every(isGood => isGood === false)) throw new Over(refusedBy(results))
    await this.#reached('is reviewed again')
    const above = nextTier(this.input, tier)
    const last = await ask('last', above ?? tier, above ? 0 : shape.reviews)
    if (this.#verdictOf(last) !== true) throw new Over(refusedBy([...results, last]))
  }

  /**
   * The verdict of a review; undefined where the model gave none. The findings of a negative one are added to the
   * evidence.
   */
  #verdictOf(result: StepResult): boolean | undefined {
    if (result.outcome === 'confused' || result.outcome === 'blocked_on_human') throw new Over(endOf(result))
    if (result.outcome !== 'success') return undefined
    if (!result.isGood && result.parsed) this.#evidence.push(result.parsed)
    return result.isGood === true
  }

  /** Runs a step that has to succeed for the attempt to continue. */
  async #need(name: string, wish: Wish): Promise<StepResult> {
    const result = await this.#ask(name, wish)
    if (result.outcome === 'success') return result
    if (result.evidence) this.#evidence.push(result.evidence)
    else if (result.parsed) this.#evidence.push(result.parsed)
    throw new Over(endOf(result))
  }

  async #ask(name: string, { about = [], tier = this.input.tier, choice = 0, kind, base }: Wish): Promise<StepResult> {
    const { plan, depth } = this.input
    const asked: StepInput = {
      ...this.#place,
      step: `${this.input.task}/${this.input.attempt}/${name}`,
      kind,
      base,
      tier,
      choice,
      depth: kind === 'implement' ? depth : 0,
      ...(this.input.inBatch && { inBatch: true }),
      about: [plan, ...this.input.about, ...about],
    }
    const end = await step(asked, { held: this.#held, fanOuts: this.#fanOuts, batched: this.#batched })
    this.#spent = added(this.#spent, end.spent)
    if (end.halt) throw new Over({ outcome: 'failure_retryable', words: end.halt.words, halt: end.halt })
    return end.result
  }

  /** Waits while the run lets the attempt start nothing new, then records what the attempt does next. */
  async #reached(doing: string): Promise<void> {
    this.#waits = this.#held.isHeld
    await this.#held.mayGoOn()
    this.#waits = false
    this.#doing = doing
  }

  /** Stores the report of a failure, for the next attempt and the user. */
  async #written(end: TaskEnd): Promise<TaskEnd> {
    if (end.halt || !WRITTEN.includes(end.outcome)) return end
    const { outcome, words } = end
    try {
      const report = await atOnce.reportFailure({ ...this.#place, outcome, words, evidence: this.#evidence })
      return { ...end, report }
    } catch (error) {
      return { ...end, halt: haltOf(error) }
    }
  }

  get #place() {
    const { run, task, attempt } = this.input
    return { run, task, attempt }
  }
}

/** Waits for all, even after one has failed, since requests under way are paid for. Throws the first error. */
async function allOf<Result>(works: Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(works)
  return await Promise.all(works)
}

/** The request for a step, without what all steps of an attempt have in common. */
type Wish = Pick<StepInput, 'kind' | 'base'> & Partial<Pick<StepInput, 'about' | 'tier' | 'choice'>>

/** Outcomes for which a report is stored; all others are passed to the run as they are. */
const WRITTEN: Outcome[] = ['failure_retryable', 'failure_terminal', 'blocked_on_sibling', 'confused']

const endOf = ({ outcome, words, question, sibling, parsed }: StepResult) => ({
  outcome,
  words,
  question,
  sibling,
  parsed,
})

const refusedBy = (results: StepResult[]) => ({
  outcome: 'failure_retryable' as const,
  words: `A review does not accept it: ${results.findLast(result => !result.isGood)?.words ?? ''}`,
})

/** Converts what an activity or a child threw to the end of the attempt. */
function overBy(error: unknown): Over {
  const trouble = failureOf(error)
  const words = errorWords(error)
  return new Over({ outcome: 'failure_retryable', words, ...('halt' in trouble && { halt: trouble.halt }) })
}
