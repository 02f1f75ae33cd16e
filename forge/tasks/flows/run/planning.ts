/** How a run comes to its plan, and to another one: a model proposes, the linter judges, a person approves. */
import type { Linted, Reference, RunInput } from '../../contract.ts'
import { short } from '../effects.ts'
import type { Budget } from './budget.ts'
import type { Journal } from './journal.ts'
import type { OwnWork } from './own-work.ts'
import type { Decision, Questions, Stuck } from './questions.ts'
import { type Carried, type Discovered, type GoodPlan, hasBegun } from './records.ts'
import { because, command, counted, progress } from './sentences.ts'
import type { Tasks } from './tasks.ts'

/** Plans that a model may propose before a person is asked. */
const TRIES = 3

/** Why the linter does not let a plan through, as sentences and for a model. */
type Refusal = Pick<Linted, 'complaints' | 'report'>

type Means = {
  input: RunInput
  tasks: Tasks
  budget: Budget
  ownWork: OwnWork
  questions: Questions
  journal: Journal
}

export class Planning {
  readonly #means: Means
  #plan: Reference | undefined
  /** The plan that a person looks at: before the first yes there is no other. */
  #shown: Reference | undefined
  /** What the linter said of the last plan. */
  #complaints: string[] = []
  /** Counted, so that the steps that propose have the same ids when they are done again. */
  #proposals: number
  /** What was found out when the run began. */
  #facts: Reference[]
  #discovered: Discovered[]

  constructor(means: Means, carried?: Pick<Carried, 'plan' | 'plans' | 'facts' | 'discovered'>) {
    this.#means = means
    this.#plan = carried?.plan
    this.#shown = carried?.plan
    this.#proposals = carried?.plans ?? 0
    this.#facts = carried?.facts ?? []
    this.#discovered = carried?.discovered ?? []
  }

  /** The one that a person has approved. */
  get plan(): Reference | undefined {
    return this.#plan
  }

  /** The plan, and before there is one what the person wants. */
  get planOrWish(): Reference {
    return this.#plan ?? this.#means.input.wish
  }

  get shown(): Reference | undefined {
    return this.#shown
  }

  get complaints(): string[] {
    return this.#complaints
  }

  /** Whether a task has found that the plan may be wrong, and that is not settled. */
  get isDoubted(): boolean {
    return this.#discovered.length > 0
  }

  /** A task says that there is more to do than the plan knows. */
  doubt(discovered: Discovered): void {
    this.#discovered.push(discovered)
  }

  /** Whoever plans is told this besides. */
  tell(facts: Reference[]): void {
    this.#facts = facts
  }

  /** Comes to the first plan: the one that was approved before, or one that a person approves now. */
  async begin(approved: Reference | undefined): Promise<void> {
    const { input, questions, journal } = this.#means
    if (approved) {
      const linted = await this.lint(approved)
      if ('plan' in linted) {
        // The answers by which it came about are used up.
        questions.skipRemembered()
        const words = 'Goes on with the plan that was approved before.'
        await journal.say('plan/remembered', 'approved', words, { refs: [approved] })
        this.#adopt(linted)
        return
      }
    }
    const agreed = await this.#agree('plan', [input.wish], input.plan)
    if (agreed) this.#adopt(agreed)
  }

  /** Settles what tasks have found; a plan that is still right stays. */
  async settleDoubts(): Promise<void> {
    const discovered = [...this.#discovered]
    const found = discovered.flatMap(({ parsed }) => (parsed ? [parsed] : []))
    const plan = this.#plan ? [this.#plan] : []
    const agreed = await this.#agree('check plan', [this.#means.input.wish, ...plan, await this.#progress(), ...found])
    if (agreed) {
      const added = this.#adopt(agreed)
      const words = `There is a new plan; new in it: ${added.join(', ') || 'no task'}.`
      const besides = { refs: [agreed.plan], why: because(discovered) }
      await this.#means.journal.say(`plan/${this.#proposals}/adopted`, 'replanned', words, besides)
    }
    this.#discovered = this.#discovered.slice(discovered.length)
  }

  /** Looks at the plan again, since its result is not what a person wants. */
  async mend(evidence: Reference[], answer: Reference): Promise<void> {
    const about = [this.#means.input.wish, this.planOrWish, await this.#progress(), ...evidence, answer]
    const agreed = await this.#agree('check plan', about)
    if (agreed) this.#adopt(agreed)
  }

  /** What the linter and the run's own limit say of a model's plan, or of a person's. */
  async lint(parsed: Reference): Promise<GoodPlan | Refusal> {
    const { input, tasks: all, budget, ownWork } = this.#means
    const { run, base } = input
    const done = all.records.filter(hasBegun).map(({ shape }) => shape.id)
    const { plan, tasks, complaints, report } = await ownWork.patiently(() =>
      short.lintPlan({ run, parsed, base, done }),
    )
    this.#complaints = complaints
    if (!plan || complaints.length > 0) return { complaints, ...(report && { report }) }
    const most = budget.limits.tasks
    if (most === undefined || tasks.length <= most) return { plan, tasks }
    const words = `The plan has ${tasks.length} tasks, and this run may have ${most}.`
    this.#complaints = [words]
    const place = { run, attempt: 1, step: 'plan' }
    return {
      complaints: [words],
      report: await ownWork.patiently(() => short.keepWords({ ...place, kind: 'report', words })),
    }
  }

  /** A plan that the linter lets through and a person approves. Undefined: the one that is there stays. */
  async #agree(kind: 'plan' | 'check plan', wish: Reference[], brought?: Reference): Promise<GoodPlan | undefined> {
    const about = [...wish]
    let own = brought
    for (;;) {
      const proposed = own ? await this.#brought(own) : await this.#propose(kind, about)
      own = undefined
      if (proposed === 'kept') return undefined
      const isGood = 'plan' in proposed
      const decision = isGood ? await this.#approval(proposed) : await this.#means.questions.ask('plan', proposed)
      if (decision.kind === 'approve') return await this.#approved(decision.plan)
      if (decision.kind === 'answer') about.push(...(isGood ? [proposed.plan] : []), decision.answer)
      else if (kind === 'check plan') return undefined
    }
  }

  /** A person's own plan passes the same linter. */
  async #brought(plan: Reference): Promise<GoodPlan | Stuck> {
    const linted = await this.lint(plan)
    return 'plan' in linted ? linted : { words: refusalOf(linted), evidence: [plan] }
  }

  /** Asks a model for a plan, with the linter's sentences, until one is good; after some tries that is a person's matter. */
  async #propose(kind: 'plan' | 'check plan', wish: Reference[]): Promise<GoodPlan | 'kept' | Stuck> {
    const { input, ownWork, journal } = this.#means
    const told = [...wish]
    let words = ''
    for (let tries = 1; tries <= TRIES; tries++) {
      const step = `${kind === 'plan' ? 'plan' : 'check-plan'}/${++this.#proposals}`
      const about = [...this.#facts, ...told]
      const result = await ownWork.step(step, { kind, base: input.base, about, tier: 'reasoning' })
      words = result.words
      const evidence = [...(result.question ? [result.question] : []), ...(result.parsed ? [result.parsed] : [])]
      if (['confused', 'failure_terminal', 'blocked_on_human'].includes(result.outcome)) return { words, evidence }
      if (result.outcome !== 'success') {
        const place = { run: input.run, attempt: 1, step }
        told.push(await ownWork.patiently(() => short.keepWords({ ...place, kind: 'report', words })))
        continue
      }
      const plan = result.plan ?? (kind === 'plan' ? result.parsed : undefined)
      if (!plan) {
        await journal.say(`${step}/kept`, 'planned', `The plan stays as it is: ${words}`)
        return 'kept'
      }
      const linted = await this.lint(plan)
      if ('plan' in linted) return linted
      words = refusalOf(linted)
      await journal.say(`${step}/refused`, 'refused', words, { refs: [plan] })
      told.push(plan, ...(linted.report ? [linted.report] : []))
    }
    return { words: `No plan is good after ${TRIES} tries. ${words}`, evidence: told.slice(wish.length) }
  }

  async #approval(proposal: GoodPlan): Promise<Decision> {
    const { run, isApproved, onlyPlan } = this.#means.input
    this.#shown = proposal.plan
    if (isApproved || onlyPlan) return { kind: 'approve', plan: proposal }
    const count = counted(proposal.tasks.length, 'task')
    const words = `A plan of ${count} waits for a yes: ${command('attach', run)} shows it and asks.`
    return await this.#means.questions.ask('approval', { words, evidence: [proposal.plan] }, proposal)
  }

  async #approved(good: GoodPlan): Promise<GoodPlan> {
    const { input, ownWork, questions, journal } = this.#means
    const { run, onlyPlan, atMost } = input
    if (onlyPlan) return good
    const { plan, tasks } = good
    const approval = { run, kind: 'approval', task: '', count: questions.count, answer: plan } as const
    await ownWork.patiently(() => short.remember(approval))
    const words = `The plan is approved: ${counted(tasks.length, 'task')}, at most ${atMost} at a time.`
    await journal.say(`plan/${this.#proposals}/approved`, 'approved', words, { refs: [plan] })
    return good
  }

  /** What has begun stays as it is; everything else is as the new plan has it. Gives the tasks that are new. */
  #adopt({ plan, tasks }: GoodPlan): string[] {
    this.#plan = plan
    this.#shown = plan
    this.#complaints = []
    return this.#means.tasks.adopt(tasks)
  }

  /** Which tasks a new plan has to leave as they are. */
  async #progress(): Promise<Reference> {
    const { input, tasks, ownWork } = this.#means
    const place = { run: input.run, attempt: 1, step: `check-plan/${this.#proposals + 1}` }
    const words = progress(tasks.records)
    return await ownWork.patiently(() => short.keepWords({ ...place, kind: 'status', words }))
  }

  /** What the next history begins with; there is none before there is a plan. */
  carried(): Pick<Carried, 'plan' | 'plans' | 'facts' | 'discovered'> | undefined {
    if (!this.#plan) return undefined
    return { plan: this.#plan, plans: this.#proposals, facts: this.#facts, discovered: this.#discovered }
  }
}

/** For a person. */
export const refusalOf = ({ complaints }: Refusal): string => `The linter refuses this plan: ${complaints.join(' ')}`
