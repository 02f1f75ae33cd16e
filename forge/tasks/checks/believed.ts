/**
 * Tells whether a worker of this user's has checked a result: by a chain of signatures of keys that count, from the
 * run's base to the result. Branches, the journal and the server's word do not count.
 */
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, TaskId } from '../contract.ts'
import { isReviewed } from '../plan/estimate.ts'
import type { Plan } from '../plan/schema.ts'
import { hashOfCommands } from './validate.ts'
import { type BelievedFacts, type Fact, type FactOf, hashOfPart } from './verdicts.ts'

export class Believed {
  #own: ReadonlySet<Oid> | undefined

  constructor(
    readonly objects: Objects,
    readonly plan: Plan,
    readonly known: BelievedFacts,
  ) {}

  /**
   * Why a commit is not known to have passed the checks of a task, or, without a task, of the whole plan, as the end of
   * a sentence; undefined where it has.
   */
  async whyNot(task: TaskId | undefined, head: Oid): Promise<string | undefined> {
    const plan = hashOfPart(this.plan, task)
    const about = this.#all('checked').filter(it => it.task === (task ?? '') && it.head === head)
    const passed = about.filter(it => it.isGood && it.plan === plan)
    if (passed.length === 0) return this.#whyNothing(about)
    const same: typeof passed = []
    for (const it of passed) if (it.commands === (await this.#commandsOf(task, it))) same.push(it)
    if (same.length === 0) return 'it was checked by other commands than the plan and the repository ask for now'
    // A fact with `isWhole` was signed by `forge land --check`, which checks everything again and tells the user which
    // questions no command answers.
    if (same.some(({ isWhole }) => isWhole)) return undefined
    if (!this.#isApproved) return 'you have not approved the plan that it was checked by'
    this.#own ??= this.#findOwn()
    const own = this.#own
    // All results are judged against the run's base.
    const isBase = (base: Oid) => this.#all('asked').some(it => it.base === base)
    if (!same.some(({ base, from }) => (task === undefined ? isBase(base) && own.has(from) : own.has(base))))
      return 'there is work in it that was not checked'
    if (!(await this.isAffirmed(task, head))) return 'not all reviews that the plan asks for have accepted it'
    return undefined
  }

  #whyNothing(about: readonly FactOf<'checked'>[]): string {
    const { facts, hasKey, strangers } = this.known
    if (about.some(({ isGood }) => isGood)) return 'it was checked by another plan than the one that holds'
    if (about.length > 0) return 'its checks failed'
    const [stranger] = strangers
    if (facts.length > 0 || stranger === undefined) return 'there is no signature of yours for its checks'
    if (!hasKey) return 'the key that its checks were signed with is gone (signing_key in ~/.config/forge)'
    return `its checks were signed with a key that does not count here (${stranger}): forge trust adds that of another machine`
  }

  #commandsOf(task: TaskId | undefined, { base, from, isWhole }: FactOf<'checked'>): Promise<string> {
    const of = this.plan.tasks.find(({ id }) => id === task)
    const attempt = { plan: this.plan, base, head: from, task: of, ...(isWhole && { isWhole }) }
    return hashOfCommands(this.objects, attempt)
  }

  get #isApproved(): boolean {
    const plan = hashOfPart(this.plan, undefined)
    return this.#all('approved').some(it => it.plan === plan)
  }

  /**
   * The run's base, and all commits made from it only by tasks that passed and by their merges. It is searched from the
   * base forwards, so that commits with a forged ancestry are never reached.
   */
  #findOwn(): ReadonlySet<Oid> {
    const own = new Set(this.#all('asked').map(({ base }) => base))
    const ways = [
      ...[...this.#all('gathered'), ...this.#all('judged')].map(({ commit, of }) => ({ to: commit, from: of })),
      ...this.#all('checked')
        .filter(it => this.#hasPassed(it))
        .map(({ head, base, isWhole }) => ({ to: head, from: isWhole ? [] : [base] })),
    ]
    for (let before = -1; before < own.size; ) {
      before = own.size
      for (const { to, from } of ways) if (from.every(part => own.has(part))) own.add(to)
    }
    return own
  }

  /**
   * Whether a signed check shows that a task's result has passed. The caller has to find out that for the commit that
   * the result was made from, too.
   */
  #hasPassed({ task, head, plan, isGood, isWhole }: FactOf<'checked'>): boolean {
    const of = this.plan.tasks.find(({ id }) => id === task)
    if (!of || !isGood || plan !== hashOfPart(this.plan, task)) return false
    return isWhole || !isReviewed(of, this.plan) || this.#isAccepted(task, head)
  }

  /** Whether models have affirmed all questions to reviewers, for exactly a commit's files. */
  async isAffirmed(task: TaskId | undefined, head: Oid): Promise<boolean> {
    const of = this.plan.tasks.find(({ id }) => id === task)
    if (of) return !isReviewed(of, this.plan) || this.#isAccepted(of.id, head)
    const questions = this.plan.contract.filter(({ how }) => how.kind === 'review')
    if (questions.length === 0 || this.#isAccepted('', head)) return true
    for (const { id } of questions) if (!(await this.#wasAffirmed(id, head))) return false
    return true
  }

  /** Whether reviewers have accepted the task that has to make an assertion true, with exactly the files of `head`. */
  async #wasAffirmed(assertion: string, head: Oid): Promise<boolean> {
    const task = this.plan.tasks.find(({ claims }) => claims.includes(assertion))?.id
    if (task === undefined) return false
    const tree = await this.#treeOf(head)
    const heads = new Set(this.#all('reviewed').flatMap(it => (it.task === task ? [it.head] : [])))
    for (const other of heads) {
      if (this.#isAccepted(task, other) && (await this.#treeOf(other)) === tree) return true
    }
    return false
  }

  /** Whether all reviewers affirm the result, or the last one, which was asked because they disagreed. */
  #isAccepted(task: TaskId | '', head: Oid): boolean {
    const plan = hashOfPart(this.plan, task === '' ? undefined : task)
    const words = this.#all('reviewed').filter(it => it.task === task && it.head === head && it.plan === plan)
    if (words.some(({ step, isGood }) => isGood && step.endsWith('/last'))) return true
    return words.length > 0 && words.every(({ isGood }) => isGood)
  }

  async #treeOf(commit: Oid): Promise<Oid | undefined> {
    return (await this.objects.info(`${commit}^{tree}`))?.oid
  }

  #all<Kind extends Fact['fact']>(kind: Kind): FactOf<Kind>[] {
    return this.known.facts.filter((it): it is FactOf<Kind> => it.fact === kind)
  }
}
