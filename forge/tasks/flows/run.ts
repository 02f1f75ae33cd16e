/**
 * A run: plans, waits for a person's yes, does the tasks in their order, some at a time, brings their results together
 * and checks the contract. All that needs a person stands in its status, and waits without a clock.
 */
import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  type ChildWorkflowHandle,
  condition,
  continueAsNew,
  isCancellation,
  setHandler,
  startChild,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type {
  Finished,
  JournalLine,
  Limits,
  Oid,
  Reference,
  Remembered,
  RunInput,
  RunState,
  RunStatus,
  Spent,
  StepInput,
  StepResult,
  TaskId,
  Tier,
} from '../contract.ts'
import { hold as holdSignal } from './children.ts'
import { checking, short } from './effects.ts'
import { added, type Halt, NOTHING, type StepFlow, type TaskEnd, type TaskFlow } from './ends.ts'
import { rowsOf, tierAbove, wayBetween } from './graph.ts'
import {
  type Carried,
  type Discovered,
  entryOf,
  type GoodPlan,
  type Hold,
  hasBegun,
  isOver,
  newRecord,
  nodeOf,
  renewed,
  statusOf,
  type TaskRecord,
  waitsFor,
} from './records.ts'
import { because, command, names, progress, sentence, toGoOn, whyNow, wordOf } from './sentences.ts'
import { told } from './task.ts'
import { troubleOf, wordsOf } from './troubles.ts'
import { answer, approve, pause, raise, resume, status, stop } from './words.ts'

/** Plans that a model may propose before a person is asked. */
const PLAN_TRIES = 3
/** Models are asked about a conflict between results so often. */
const RESOLVE_TRIES = 2
/** How often a task may question the plan; after that it has failed. */
const DISCOVERIES = 2
/** A run is degraded where of at least so many tasks at least this share failed in its first attempt. */
const DEGRADED = { tasks: 6, share: 0.5 }
/** Events and bytes of a history, with room for what is under way; the server ends a run at 51,200 and 50 MB. */
const HISTORY = { events: 15_000, bytes: 15_000_000 }

/** Runs from the plan to the result; `carried` is what the history before this one had come to. */
export async function run(input: RunInput, carried?: Carried): Promise<RunStatus> {
  return new Run(input, carried).whole()
}

/** What a person says to a question of the run itself. */
type Decision = { kind: 'answer'; answer: Reference } | { kind: 'approve'; plan: GoodPlan } | { kind: 'resume' }

/** A question of the run itself. `proposal` is the plan that waits for a yes. */
type Question = {
  about: 'plan' | 'approval' | 'result'
  words: string
  proposal?: GoodPlan
  question?: Reference
  decision?: Decision
}

type Running = { scope: CancellationScope; child?: ChildWorkflowHandle<TaskFlow>; isHeld: boolean }

class Run {
  readonly #input: RunInput
  readonly #id = workflowInfo().workflowId
  readonly #scope = new CancellationScope()
  #limits: Limits
  #tasks = new Map<TaskId, TaskRecord>()
  #plan: Reference | undefined
  /** The plan that a person looks at: before the first yes there is no other. */
  #shownPlan: Reference | undefined
  /** What the linter said of the last plan, as sentences and for a model. */
  #complaints: string[] = []
  #report: Reference | undefined
  #spent = NOTHING
  #used = 0
  #activeSince: number | undefined
  /** Counted, so that ids of questions, of steps and of the journal's lines are the same when they are made again. */
  #questions = 0
  #plans = 0
  #lines = 0
  /** How often a person has set other limits. */
  #raises = 0
  /** The number of the last word about holding that was told on. */
  #told = 0
  #counted = { ended: 0, failed: 0 }
  #discovered: Discovered[] = []
  #remembered: Remembered['answers'] = []
  /** What whoever plans is told besides. */
  #facts: Reference[] = []
  #hold: Hold | undefined
  #question: Question | undefined
  readonly #running = new Map<TaskId, Running>()
  /** Steps and activities of the run itself that are under way. */
  #busy = 0
  readonly #beingAnswered = new Set<TaskId | ''>()
  #doing: 'planning' | 'works' | 'finishes' = 'planning'
  #isDraining = false
  #hasChanged = false
  #final: { state: RunState; words: string; result?: Oid; report?: Reference } | undefined
  #shownState = ''
  #isKeeping = false

  constructor(
    input: RunInput,
    readonly carried: Carried | undefined,
  ) {
    this.#input = input
    this.#limits = carried?.limits ?? input.limits
    if (carried) this.#take(carried)
    this.#listen()
  }

  async whole(): Promise<RunStatus> {
    const kept = CancellationScope.nonCancellable(() => this.#keepStatus())
    try {
      await this.#scope.run(() => this.#live())
    } catch (error) {
      if (!isCancellation(error)) throw error
    }
    return await CancellationScope.nonCancellable(async () => {
      if (!this.#final) await this.#stopped()
      this.#show()
      await Promise.all([kept, condition(allHandlersFinished)])
      return this.#status()
    })
  }

  async #live(): Promise<void> {
    this.#watchClock().catch(() => undefined)
    if (!this.carried) {
      const { approvedPlan, answers, facts = [] } = await this.#patiently(() => short.begin(this.#input))
      this.#remembered = answers
      this.#facts = facts
      const isPlanned = await this.#planned(approvedPlan)
      if (!isPlanned) return
    }
    for (;;) {
      this.#doing = 'works'
      await this.#work()
      this.#doing = 'finishes'
      if (await this.#finished()) return
    }
  }

  // --- The plan

  /** Comes to a plan that a person has approved, or that was approved before. False where that was all. */
  async #planned(approved: Reference | undefined): Promise<boolean> {
    const { run: id, onlyPlan, plan } = this.#input
    if (approved) {
      const linted = await this.#lint(approved)
      if (linted) {
        // The answers by which it came about are used up.
        this.#questions = Math.max(0, ...this.#remembered.filter(({ task }) => !task).map(({ count }) => count))
        await this.#say('plan/remembered', 'approved', 'Goes on with the plan that was approved before.', [approved])
        this.#adopt(linted)
      }
    }
    if (!this.#plan) {
      const agreed = await this.#agree('plan', [this.#input.wish], plan)
      if (agreed) this.#adopt(agreed)
    }
    if (!onlyPlan) return true
    this.#final = { state: 'done', words: `The plan is made and nothing is begun: ${command('show', id)} shows it.` }
    return false
  }

  /** A plan that the linter lets through and a person approves. Undefined: the one that is there stays. */
  async #agree(kind: 'plan' | 'check plan', wish: Reference[], brought?: Reference): Promise<GoodPlan | undefined> {
    const about = [...wish]
    let own = brought
    for (;;) {
      const proposed = own ? await this.#brought(own) : await this.#propose(kind, about)
      own = undefined
      if (proposed === 'kept') return undefined
      const decision = 'plan' in proposed ? await this.#approval(proposed) : await this.#askRun('plan', proposed)
      if (decision.kind === 'approve') return await this.#approved(decision.plan)
      if (decision.kind === 'answer') about.push(...('plan' in proposed ? [proposed.plan] : []), decision.answer)
      else if (kind === 'check plan') return undefined
    }
  }

  /** A person's own plan passes the same linter. */
  async #brought(plan: Reference): Promise<GoodPlan | Stuck> {
    const linted = await this.#lint(plan)
    if (linted) return linted
    return { words: `The linter refuses this plan: ${this.#complaints.join(' ')}`, evidence: [plan] }
  }

  /** Asks a model for a plan, with the linter's sentences, until one is good; after some tries that is a person's matter. */
  async #propose(kind: 'plan' | 'check plan', about: Reference[]): Promise<GoodPlan | 'kept' | Stuck> {
    const { run: id } = this.#input
    const told = [...about]
    let words = ''
    for (let tries = 1; tries <= PLAN_TRIES; tries++) {
      const step = `${kind === 'plan' ? 'plan' : 'check-plan'}/${++this.#plans}`
      const result = await this.#step(step, {
        kind,
        base: this.#input.base,
        about: [...this.#facts, ...told],
        tier: 'reasoning',
      })
      words = result.words
      const evidence = [...(result.question ? [result.question] : []), ...(result.parsed ? [result.parsed] : [])]
      if (['confused', 'failure_terminal', 'blocked_on_human'].includes(result.outcome)) return { words, evidence }
      if (result.outcome !== 'success') {
        told.push(await this.#patiently(() => short.keepWords({ run: id, attempt: 1, step, kind: 'report', words })))
        continue
      }
      const plan = result.plan ?? (kind === 'plan' ? result.parsed : undefined)
      if (!plan) {
        await this.#say(`${step}/kept`, 'planned', `The plan stays as it is: ${words}`)
        return 'kept'
      }
      const linted = await this.#lint(plan)
      if (linted) return linted
      words = `The linter refuses the plan: ${this.#complaints.join(' ')}`
      await this.#say(`${step}/refused`, 'refused', words, [plan])
      told.push(plan, ...(this.#report ? [this.#report] : []))
    }
    return { words: `No plan is good after ${PLAN_TRIES} tries. ${words}`, evidence: told.slice(about.length) }
  }

  async #lint(parsed: Reference): Promise<GoodPlan | undefined> {
    const { run: id, base } = this.#input
    const done = [...this.#tasks.values()].filter(hasBegun).map(({ shape }) => shape.id)
    const { plan, tasks, complaints, report } = await this.#patiently(() =>
      short.lintPlan({ run: id, parsed, base, done }),
    )
    this.#complaints = complaints
    this.#report = report
    if (!plan || complaints.length > 0) return undefined
    const most = this.#limits.tasks
    if (most === undefined || tasks.length <= most) return { plan, tasks }
    const words = `The plan has ${tasks.length} tasks, and this run may have ${most}.`
    this.#complaints = [words]
    const place = { run: id, attempt: 1, step: 'plan' }
    this.#report = await this.#patiently(() => short.keepWords({ ...place, kind: 'report', words }))
    return undefined
  }

  async #approval(proposal: GoodPlan): Promise<Decision> {
    const { run: id, isApproved, onlyPlan } = this.#input
    this.#shownPlan = proposal.plan
    if (isApproved || onlyPlan) return { kind: 'approve', plan: proposal }
    const count = proposal.tasks.length
    const words = `A plan of ${count} task${count === 1 ? '' : 's'} waits for a yes: ${command('attach', id)} shows it and asks.`
    return await this.#askRun('approval', { words, evidence: [proposal.plan] }, proposal)
  }

  async #approved(plan: GoodPlan): Promise<GoodPlan> {
    const { run: id, onlyPlan } = this.#input
    if (onlyPlan) return plan
    await this.#patiently(() =>
      short.remember({ run: id, kind: 'approval', task: '', count: this.#questions, answer: plan.plan }),
    )
    const names = plan.tasks.map(shape => shape.id)
    const count = `${names.length} task${names.length === 1 ? '' : 's'}`
    const words = `The plan is approved: ${count}, at most ${this.#input.atMost} at a time.`
    await this.#say(`plan/${this.#plans}/approved`, 'approved', words, [plan.plan])
    return plan
  }

  /** What has begun stays as it is; everything else is as the new plan has it. */
  #adopt({ plan, tasks }: GoodPlan): void {
    const begun = new Map([...this.#tasks].filter(([, record]) => hasBegun(record)))
    const next = new Map<TaskId, TaskRecord>(begun)
    for (const shape of tasks) if (!begun.has(shape.id)) next.set(shape.id, renewed(shape, this.#tasks.get(shape.id)))
    const order = [...tasks.map(shape => shape.id), ...begun.keys()]
    this.#tasks = new Map([...new Set(order)].flatMap(id => entryOf(next, id)))
    this.#plan = plan
    this.#shownPlan = plan
    this.#complaints = []
  }

  /** A task says that there is more to do than the plan knows. Until that is settled nothing new is begun. */
  async #replan(): Promise<void> {
    const discovered = [...this.#discovered]
    const { wish } = this.#input
    const found = discovered.flatMap(({ parsed }) => (parsed ? [parsed] : []))
    const plan = this.#plan ? [this.#plan] : []
    const agreed = await this.#agree('check plan', [wish, ...plan, await this.#progress(), ...found])
    if (agreed) {
      const before = new Set(this.#tasks.keys())
      this.#adopt(agreed)
      const added = [...this.#tasks.keys()].filter(id => !before.has(id))
      const words = `There is a new plan; new in it: ${added.join(', ') || 'no task'}.`
      await this.#say(`plan/${this.#plans}/adopted`, 'replanned', words, [agreed.plan], because(discovered))
    }
    this.#discovered = this.#discovered.slice(discovered.length)
  }

  /** Which tasks a new plan has to leave as they are. */
  async #progress(): Promise<Reference> {
    const place = { run: this.#input.run, attempt: 1, step: `check-plan/${this.#plans + 1}` }
    const words = progress([...this.#tasks.values()])
    return await this.#patiently(() => short.keepWords({ ...place, kind: 'status', words }))
  }

  // --- The tasks

  /** Until every task is done or stopped. */
  async #work(): Promise<void> {
    for (;;) {
      this.#hasChanged = false
      if (this.#discovered.length > 0 && !this.#isDraining) {
        await this.#patiently(() => this.#replan())
        continue
      }
      this.#begin()
      this.#giveUp()
      this.#show()
      if (this.#running.size === 0 && this.#areAllOver) return
      const { events = HISTORY.events } = this.#input
      const { historyLength, historySize } = workflowInfo()
      this.#isDraining = historyLength > events || historySize > HISTORY.bytes
      if (this.#isDraining && this.#running.size === 0) await this.#goOnAnew()
      await condition(() => this.#hasChanged)
    }
  }

  get #areAllOver(): boolean {
    return [...this.#tasks.values()].every(isOver)
  }

  /** Begins what may begin: what the longest row of others waits for goes first. */
  #begin(): void {
    if (this.#hold || this.#isDraining || this.#discovered.length > 0) return
    const records = [...this.#tasks.values()]
    const rows = rowsOf(records.map(nodeOf))
    const rowOf = (record: TaskRecord): number => rows.get(record.shape.id) ?? 1
    const ready = records.filter(record => this.#isReady(record)).sort((a, b) => rowOf(b) - rowOf(a))
    for (const record of ready) {
      const isOneAlone = [...this.#running.keys()].some(id => this.#tasks.get(id)?.shape.isAlone)
      if (isOneAlone || this.#running.size >= this.#input.atMost) return
      // One that has to be alone is not overtaken for ever: it waits for what runs, and nothing is begun meanwhile.
      if (record.shape.isAlone && this.#running.size > 0) return
      this.#launch(record, rowOf(record))
    }
  }

  #isReady(record: TaskRecord): boolean {
    if (record.state !== 'waits' || record.isPaused || this.#running.has(record.shape.id)) return false
    return waitsFor(record).every(id => this.#tasks.get(id)?.state === 'done')
  }

  /** What waits for a task that was stopped will never begin. */
  #giveUp(): void {
    const records = [...this.#tasks.values()]
    for (let isMore = true; isMore; ) {
      isMore = false
      for (const record of records) {
        if (record.state !== 'waits' || this.#running.has(record.shape.id)) continue
        const missing = waitsFor(record).find(id => (this.#tasks.get(id)?.state ?? 'stopped') === 'stopped')
        if (missing === undefined) continue
        record.state = 'stopped'
        record.isGivenUp = true
        record.words = `It needs the result of ${missing}, which was stopped.`
        isMore = true
      }
    }
  }

  #launch(record: TaskRecord, row: number): void {
    record.state = 'runs'
    record.doing = 'begins'
    record.words = ''
    if (!record.isAgain) {
      record.attempt++
      this.#spent = added(this.#spent, record.spent ?? NOTHING)
      delete record.spent
    }
    record.isAgain = false
    const { id } = record.shape
    const scope = new CancellationScope()
    this.#running.set(id, { scope, isHeld: false })
    // Nobody awaits it: whatever it throws ends here, or the workflow's task would fail for ever.
    scope
      .run(() => this.#attempt(record, row))
      .catch(async error => {
        if (record.state === 'runs') record.state = 'waits'
        record.isAgain = true
        if (!isCancellation(error)) await this.#halted(haltOf(error), id)
      })
      .catch(() => undefined)
      .finally(() => {
        this.#running.delete(id)
        this.#hasChanged = true
      })
  }

  async #attempt(record: TaskRecord, row: number): Promise<void> {
    const { shape, attempt } = record
    const { id } = shape
    const { run, base } = this.#input
    const before = waitsFor(record)
    await this.#say(
      `${id}/${attempt}/begins`,
      'begins',
      `${shape.title}: attempt ${attempt} by the tier ${record.tier}.`,
      record.about,
      whyNow(record, before, row),
      record,
    )
    const results = before.map(other => this.#tasks.get(other)?.head).filter(head => head !== undefined)
    const taskInput = {
      run,
      task: id,
      attempt,
      plan: this.#plan ?? this.#input.wish,
      shape,
      tier: record.tier,
      base,
      results,
      depth: Math.min(shape.recursion, this.#limits.depth),
      about: record.about,
    }
    const child = await startChild<TaskFlow>('task', {
      workflowId: `${this.#id}/${id}`,
      args: [taskInput],
      ...this.#attributes({ forgeTask: id }),
    })
    const running = this.#running.get(id)
    if (running) running.child = child
    const raises = this.#raises
    this.#tellHeld()
    const end = await child.result()
    record.spent = end.spent
    record.doing = ''
    // What was refused by limits that are higher by now is tried again: only that shows whether it still is too much.
    const isStale = end.halt?.why === 'budget' && raises !== this.#raises
    if (isStale) this.#beginAgain(record)
    else await this.#settle(record, end)
  }

  #beginAgain(record: TaskRecord): void {
    record.state = 'waits'
    record.isAgain = true
  }

  /** Decides what follows from how an attempt ended. */
  async #settle(record: TaskRecord, end: TaskEnd): Promise<void> {
    record.words = end.words
    if (end.halt) {
      this.#beginAgain(record)
      return await this.#halted(end.halt, record.shape.id)
    }
    const evidence = end.report ? [end.report] : []
    switch (end.outcome) {
      case 'success':
        return await this.#passed(record, end)
      case 'failure_retryable':
        return await this.#failed(record, end.words, evidence)
      case 'failure_terminal':
        this.#count(record, true)
        record.about.push(...evidence)
        return await this.#asks(record, `It can't be done as it is: ${end.words}`, evidence)
      case 'blocked_on_human':
        record.isAgain = end.isUnchecked === true
        return await this.#asks(record, end.words, end.question ? [end.question] : [], end.question)
      case 'blocked_on_sibling':
        return await this.#blockedBy(record, end)
      case 'new_tasks_discovered':
        return await this.#discovers(record, end)
      case 'confused':
        record.about.push(...evidence)
        return await this.#confused(record, end.words, evidence)
    }
  }

  async #passed(record: TaskRecord, { head }: TaskEnd): Promise<void> {
    if (head) record.head = head
    record.state = 'done'
    record.words = ''
    const tries = record.attempt === 1 ? 'at the first attempt' : `at attempt ${record.attempt}`
    await this.#say(
      `${record.shape.id}/${record.attempt}/passed`,
      'passed',
      `It passed ${tries}.`,
      [],
      undefined,
      record,
    )
    this.#count(record, false)
    await this.#verifyNotDegraded()
  }

  /** Another attempt, from a fresh base, with the report, one tier higher; or a person is asked. */
  async #failed(record: TaskRecord, words: string, evidence: Reference[]): Promise<void> {
    record.failures++
    record.about.push(...evidence)
    this.#count(record, true)
    const { id } = record.shape
    if (record.failures >= record.mayFail) {
      const count = record.failures === 1 ? 'An attempt' : `${record.failures} attempts`
      const reports = record.about.filter(({ kind }) => kind === 'report')
      await this.#asks(record, `${count} failed, the last one so: ${words}`, reports)
    } else {
      const above = tierAbove(record.tier)
      record.tier = above ?? record.tier
      const next = `Another attempt follows from a fresh base, ${above ? `one tier higher (${above})` : 'by the same tier'}.`
      await this.#say(`${id}/${record.attempt}/failed`, 'failed', words, evidence, next, record)
      if (record.state === 'runs') record.state = 'waits'
    }
    await this.#verifyNotDegraded()
  }

  /** Halts a task until a person has answered; the rest goes on. What was answered before is not asked again. */
  async #asks(record: TaskRecord, words: string, evidence: Reference[], question?: Reference): Promise<void> {
    const { id } = record.shape
    const { run: runId } = this.#input
    record.questions++
    const before = this.#answerOf(id, record.questions)
    if (before) {
      await this.#say(
        `${id}/${record.attempt}/answered`,
        'answered',
        'A person has answered this before.',
        [before],
        words,
        record,
      )
      return this.#goesOn(record, before)
    }
    await this.#say(`${id}/${record.attempt}/asks`, 'asks', words, evidence, undefined, record)
    record.words = record.isAgain
      ? `${sentence(words)} When that is set right: ${command('resume', runId, id)} (--yes approves all commands of the run).`
      : `${sentence(words)} Answer it: ${command('answer', runId, id)} "…"`
    const report = await this.#escalated(words, evidence, id)
    // It may have been stopped while its report was written.
    if (record.state !== 'runs') return
    const asked = question ?? report
    if (asked) record.question = asked
    record.state = 'asks'
  }

  /** Another attempt, with a person's answer where there is one. */
  #goesOn(record: TaskRecord, answered?: Reference): void {
    if (answered) {
      record.about.push(answered)
      record.isAgain = false
    }
    record.mayFail = Math.max(record.mayFail, record.failures + 1)
    record.state = 'waits'
    record.words = ''
    record.isGivenUp = false
    // What was given up with it has a chance again; what still lacks something is given up anew.
    for (const other of this.#tasks.values()) {
      if (!other.isGivenUp) continue
      Object.assign(other, { isGivenUp: false, state: 'waits', words: '' })
    }
    delete record.question
    this.#hasChanged = true
  }

  /** The order is looked at again: it waits for that task too, unless they would wait for each other. */
  async #blockedBy(record: TaskRecord, { sibling = '', words }: TaskEnd): Promise<void> {
    const { id } = record.shape
    const { run: runId, wish } = this.#input
    const why = this.#whyNotAfter(record, sibling)
    if (!why) {
      record.siblings.push(sibling)
      record.state = 'waits'
      record.words = `It waits for ${sibling}: ${words}`
      await this.#say(`${id}/${record.attempt}/order`, 'order', `Waits for ${sibling} from now on.`, [], words, record)
      return
    }
    const failed = `It says that it waits for ${sibling || 'another task'} (${words}), but ${why}.`
    const place = { run: runId, task: id, attempt: record.attempt, plan: this.#plan ?? wish }
    const report = await short.reportFailure({ ...place, outcome: 'blocked_on_sibling', words: failed, evidence: [] })
    await this.#failed(record, failed, [report])
  }

  #whyNotAfter(record: TaskRecord, sibling: TaskId): string | undefined {
    const { id } = record.shape
    const other = this.#tasks.get(sibling)
    if (!other) return 'the plan has no such task'
    if (sibling === id) return 'that is the task itself'
    if (waitsFor(record).includes(sibling)) return `it had the result of ${sibling} already`
    if (other.state === 'stopped') return `${sibling} was stopped`
    const way = wayBetween([...this.#tasks.values()].map(nodeOf), sibling, id)
    return way && `they would wait for each other: ${id} for ${way.join(' for ')}`
  }

  async #discovers(record: TaskRecord, { words, parsed }: TaskEnd): Promise<void> {
    const { id } = record.shape
    record.discoveries++
    if (parsed) record.about.push(parsed)
    if (record.discoveries > DISCOVERIES) {
      return await this.#failed(record, `It finds ever more to do instead of doing its own part: ${words}`, [])
    }
    record.state = 'waits'
    this.#discovered.push({ task: id, words, ...(parsed && { parsed }) })
    await this.#say(`${id}/${record.attempt}/discovers`, 'discovers', words, parsed ? [parsed] : [], undefined, record)
  }

  /** What nobody can classify stops the whole run. */
  async #confused(record: TaskRecord, words: string, evidence: Reference[]): Promise<void> {
    const { id } = record.shape
    await this.#asks(record, `Nobody can tell what it means: ${words}`, evidence)
    if (record.state !== 'asks') return
    const { question } = record
    const held = `${id} ended in a way that nobody can classify, so all is held. ${record.words}`
    this.#holdAll({ why: 'confused', state: 'asks', words: held, task: id, ...(question && { question }) })
  }

  // --- What halts it all

  #count(record: TaskRecord, hasFailed: boolean): void {
    if (record.isCounted) return
    record.isCounted = true
    this.#counted = { ended: this.#counted.ended + 1, failed: this.#counted.failed + (hasFailed ? 1 : 0) }
  }

  /** Where a large share of the tasks fails something is wrong with the plan, and a person is asked before more is spent. */
  async #verifyNotDegraded(): Promise<void> {
    const { ended, failed } = this.#counted
    if (this.#hold || ended < DEGRADED.tasks || failed < ended * DEGRADED.share) return
    this.#counted = { ended: 0, failed: 0 }
    const { run: runId } = this.#input
    const words = `${failed} of ${ended} tasks failed at their first attempt: is the plan right?`
    const next = `Go on: ${command('resume', runId)}, or end it: ${command('stop', runId)}.`
    const held: Hold = { why: 'degraded', state: 'asks', words: `${words} ${next}` }
    this.#holdAll(held)
    await this.#say(this.#ownId('degraded'), 'degraded', words)
    await this.#withQuestion(held, words)
  }

  /** Nothing new is begun, what is under way ends, and a person is told what to mend. */
  async #halted(halt: Halt, task?: TaskId): Promise<void> {
    if (this.#hold || this.#final) return
    const goOn = toGoOn(this.#input.run, halt)
    const isBudget = halt.why === 'budget'
    const next = isBudget ? `go on with more: ${goOn}` : `set it right, then ${goOn}.`
    this.#holdAll({
      why: halt.why,
      state: isBudget ? 'out of budget' : 'paused',
      words: `${sentence(halt.words)} What is done is kept; ${next}`,
      ...(halt.limit && { limit: halt.limit }),
      ...(task !== undefined && { task }),
    })
    const shown = this.#hold
    await this.#say(this.#ownId('halted'), 'halted', halt.words)
    if (shown) await this.#withQuestion(shown, halt.words)
  }

  #holdAll(held: Hold): void {
    this.#hold = held
    this.#show()
    this.#tellHeld()
    this.#hasChanged = true
  }

  async #withQuestion(held: Hold, words: string): Promise<void> {
    const question = await this.#escalated(words, [], held.task, toGoOn(this.#input.run, held))
    // The one that holds now is the one that is asked about: a person may have been quick.
    if (question && this.#hold?.words === held.words) this.#hold = { ...this.#hold, question }
  }

  #letGo(): void {
    this.#hold = undefined
    this.#show()
    this.#tellHeld()
    this.#hasChanged = true
  }

  /** What runs hears whether it may go on. */
  #tellHeld(): void {
    for (const [id, running] of this.#running) {
      const isHeld = this.#hold !== undefined || this.#tasks.get(id)?.isPaused === true
      if (!running.child || running.isHeld === isHeld) continue
      running.isHeld = isHeld
      // One that has ended meanwhile needs not hear it.
      running.child.signal(holdSignal, isHeld, ++this.#told).catch(() => undefined)
    }
  }

  /** Time that a person takes is nobody's expense: the clock goes while something is under way. */
  async #watchClock(): Promise<void> {
    for (;;) {
      await condition(() => this.#isActive && this.#limits.minutes !== undefined && this.#timeLeft > 0)
      const { minutes } = this.#limits
      this.#activeSince = Date.now()
      await condition(() => !this.#isActive || this.#limits.minutes !== minutes, this.#timeLeft)
      this.#used = this.#usedTime
      this.#activeSince = undefined
      if (this.#timeLeft > 0) continue
      const words = minutes === 1 ? 'The minute of this run is over.' : `The ${minutes} minutes of this run are over.`
      await this.#halted({ why: 'budget', words, limit: 'minutes' })
    }
  }

  /** Milliseconds in which something was under way, until now. */
  get #usedTime(): number {
    return this.#used + (this.#activeSince === undefined ? 0 : Date.now() - this.#activeSince)
  }

  get #timeLeft(): number {
    return (this.#limits.minutes ?? Number.POSITIVE_INFINITY) * 60_000 - this.#usedTime
  }

  get #isActive(): boolean {
    if (this.#hold || this.#final) return false
    return this.#running.size > 0 || (this.#busy > 0 && !this.#question)
  }

  // --- The result

  /** Brings all results together and checks the contract. False where there is more to do. */
  async #finished(): Promise<boolean> {
    const { run: id, base } = this.#input
    const plan = this.#plan ?? this.#input.wish
    const records = [...this.#tasks.values()]
    const results = records.flatMap(({ shape, head }) => (head ? [{ task: shape.id, head }] : []))
    const stopped = records.filter(({ state }) => state === 'stopped')
    const share = `${results.length} of ${records.length} tasks are done`
    if (results.length === 0) {
      const words = `No task was done: ${names(stopped)} stopped.`
      this.#final = { state: 'stopped', words }
      await this.#say('finish/nothing', 'stopped', words)
      return true
    }
    let resolved: Oid | undefined
    for (let number = 1; ; number++) {
      const end = await this.#patiently(() =>
        checking.finish({ run: id, base, plan, results, ...(resolved && { resolved }) }),
      )
      // A person has let a task that was stopped go on meanwhile: its result belongs to it.
      if (!this.#areAllOver) return false
      let { words } = end
      const refused = end.review && (await this.#reviewWhole(end, end.review, plan))
      // Asking takes its time, too.
      if (end.review && !this.#areAllOver) return false
      if (!end.conflicts && end.isGood && !refused) {
        const whole = results.length === 1 ? 'Its one task is done' : `All ${results.length} tasks are done`
        const all = stopped.length ? `${share} (${names(stopped)} stopped)` : whole
        const said = `${all}, and the contract holds: look at it and merge it with ${command('land', id)}.`
        this.#final = { state: 'done', words: said, result: end.head, report: end.report }
        await this.#say('finish/done', 'done', said, [end.report])
        return true
      }
      if (end.conflicts && number <= results.length) {
        const merged = await this.#resolve(number, end.head, end.conflicts)
        if (typeof merged !== 'string') {
          resolved = merged.commit
          continue
        }
        words = `Results are in conflict: ${merged}`
      }
      const evidence = refused ? refused.evidence : [end.conflicts?.report ?? end.report]
      if (refused) words = refused.words
      await this.#say(this.#ownId('finish'), 'asks', words, evidence)
      const decision = await this.#askRun('result', { words: `${share}, but ${words}`, evidence })
      if (decision.kind === 'answer') {
        this.#doing = 'works'
        const about = [this.#input.wish, plan, await this.#progress(), ...evidence, decision.answer]
        const agreed = await this.#agree('check plan', about)
        if (agreed) this.#adopt(agreed)
      }
      return false
    }
  }

  /** Why reviewers don't accept all results together; where they are not of one mind, a more capable one decides. */
  async #reviewWhole(
    { head, report }: Finished,
    { asks, count, tier }: NonNullable<Finished['review']>,
    plan: Reference,
  ): Promise<Stuck | undefined> {
    const ask = (name: string, by: Tier, choice: number) =>
      this.#step(`finish/review/${name}`, { kind: 'review', base: head, about: [plan, report, asks], tier: by, choice })
    const results: StepResult[] = []
    for (let at = 0; at < count; at++) results.push(await ask(`${at + 1}`, tier, at))
    const isGood = (result: StepResult) => result.outcome === 'success' && result.isGood === true
    if (results.every(isGood)) return undefined
    if (results.some(isGood)) results.push(await ask('last', tierAbove(tier) ?? tier, 0))
    const last = results.at(-1)
    if (last && isGood(last)) return undefined
    const evidence = results.flatMap(({ parsed }) => (parsed ? [{ ...parsed, kind: 'review' }] : []))
    return { words: `a review does not accept the whole: ${last?.words ?? ''}`, evidence }
  }

  /** The merge of two results that git can't bring together, or why there is none. */
  async #resolve(
    number: number,
    base: Oid,
    { ours, theirs, report }: { ours: Oid; theirs: Oid; report: Reference },
  ): Promise<{ commit: Oid } | string> {
    const { run: id } = this.#input
    const about = [...(this.#plan ? [this.#plan] : []), report]
    let words = ''
    for (let tries = 1; tries <= RESOLVE_TRIES; tries++) {
      const step = `finish/resolve/${number}/${tries}`
      const tier = tries === 1 ? 'generation' : 'reasoning'
      const result = await this.#step(step, { kind: 'resolve', base, about, tier })
      words = result.words
      const { commit } = result
      if (result.outcome !== 'success' || !commit) continue
      const judged = await this.#patiently(() =>
        short.judge({ run: id, attempt: tries, ours, theirs, resolved: commit }),
      )
      if (judged.commit) return { commit: judged.commit }
      about.push(judged.report)
      words = judged.words
    }
    return words
  }

  async #stopped(): Promise<void> {
    await condition(() => this.#running.size === 0)
    for (const record of this.#tasks.values()) if (record.state !== 'done') record.state = 'stopped'
    const done = [...this.#tasks.values()].filter(({ state }) => state === 'done').length
    const words = `It was stopped; the branches of ${done} of ${this.#tasks.size} tasks are there.`
    this.#final = { state: 'stopped', words }
    this.#hold = undefined
    this.#question = undefined
    await this.#say(this.#ownId('stopped'), 'stopped', words)
  }

  // --- Steps, activities and questions of the run itself

  async #step(step: string, wish: StepWish): Promise<StepResult> {
    const args = { run: this.#input.run, attempt: 1, step, choice: 0, depth: 0, ...wish }
    for (;;) {
      await condition(() => !this.#hold)
      this.#busy++
      try {
        const child = await startChild<StepFlow>('step', { workflowId: `${this.#id}/${step}`, args: [args] })
        const end = await child.result()
        if (!end.halt) {
          this.#spent = added(this.#spent, end.spent)
          return end.result
        }
        // It is done again, and then says all that it has used.
        await this.#halted(end.halt)
      } catch (error) {
        await this.#orOver(error)
      } finally {
        this.#busy--
      }
    }
  }

  /** Halts the run; of one that has ended, nobody will mend it. */
  async #orOver(error: unknown): Promise<void> {
    if (this.#final) throw error
    await this.#halted(haltOf(error))
  }

  /** Does it again whenever a person has mended what it failed by. */
  async #patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      await condition(() => !this.#hold)
      this.#busy++
      try {
        return await work()
      } catch (error) {
        await this.#orOver(error)
      } finally {
        this.#busy--
      }
    }
  }

  /** Asks a person about the run as a whole, and waits. */
  async #askRun(about: Question['about'], { words, evidence }: Stuck, proposal?: GoodPlan): Promise<Decision> {
    const { run: id } = this.#input
    const before = this.#answerOf('', ++this.#questions)
    if (before) return { kind: 'answer', answer: before }
    const asks = proposal ? words : `${sentence(words)} Answer it: ${command('answer', id)} "…"`
    const asked: Question = { about, words: asks }
    if (proposal) asked.proposal = proposal
    const question = await this.#escalated(words, evidence)
    if (question) asked.question = question
    this.#question = asked
    this.#show()
    await condition(() => asked.decision !== undefined)
    this.#question = undefined
    return asked.decision ?? { kind: 'resume' }
  }

  #answerOf(task: TaskId | '', count: number): Reference | undefined {
    return this.#remembered.find(one => one.task === task && one.count === count)?.answer
  }

  /** The report for a person. A question without one is still a question. `resume` is for what an answer can't end. */
  async #escalated(
    words: string,
    evidence: Reference[],
    task?: TaskId,
    resume?: string,
  ): Promise<Reference | undefined> {
    const { run: id } = this.#input
    const about = { run: id, ...(task !== undefined && { task }), ...(this.#plan && { plan: this.#plan }) }
    try {
      return await short.escalate({ ...about, words, evidence, status: this.#status(), ...(resume && { resume }) })
    } catch (error) {
      if (isCancellation(error)) throw error
      return undefined
    }
  }

  /** A line in the journal. Where it can't be written, the run is halted: what nobody can read should not go on. */
  async #say(id: string, what: string, words: string, refs: Reference[] = [], why?: string, of?: TaskRecord) {
    const line: JournalLine = { run: this.#input.run, id, what, words, refs }
    if (why) line.why = why
    if (of) Object.assign(line, { task: of.shape.id, attempt: of.attempt })
    try {
      await short.note(line)
    } catch (error) {
      if (isCancellation(error)) throw error
      if (this.#hold) return
      const held = `The journal can't be written. Set it right, then ${command('resume', this.#input.run)}.`
      this.#holdAll({ why: 'machine', state: 'paused', words: held })
    }
  }

  /** An id for what happens at no fixed place: it is the run's own, also after the server has lost everything. */
  #ownId(what: string): string {
    return `${what}/${workflowInfo().firstExecutionRunId.slice(0, 8)}/${++this.#lines}`
  }

  // --- What a person says

  #listen(): void {
    setHandler(status, () => this.#status())
    setHandler(told, ({ task, attempt, doing, spent }) => {
      const record = this.#tasks.get(task)
      if (record?.state !== 'runs' || record.attempt !== attempt) return
      record.doing = doing
      record.spent = spent
    })
    setHandler(approve, plan => this.#heardYes(plan), { validator: (_: Reference) => this.#verifyPlanWaits() })
    setHandler(answer, (task, said) => this.#heardAnswer(task, said), {
      validator: (task: TaskId | '', _: Reference) => this.#verifyAsks(task),
    })
    setHandler(pause, task => this.#heardPause(task), { validator: (task?: TaskId) => this.#verifyPausable(task) })
    setHandler(resume, task => this.#heardResume(task), { validator: (task?: TaskId) => this.#verifyResumable(task) })
    setHandler(stop, task => this.#heardStop(task), { validator: (task?: TaskId) => this.#verifyStoppable(task) })
    setHandler(raise, limits => this.#heardLimits(limits), {
      validator: (limits: Partial<Limits>) => this.#verifyLimits(limits),
    })
  }

  #verifyPlanWaits(): void {
    this.#verifyIsOpen()
    if (this.#question && this.#question.about !== 'result' && !this.#question.decision) return
    throw refused(`No plan of ${this.#input.run} waits for a yes.`)
  }

  async #heardYes(plan: Reference): Promise<void> {
    const question = this.#question
    if (!question) return
    const isShown = question.proposal?.plan.oid === plan.oid
    const good = isShown ? question.proposal : await this.#lint(plan)
    if (!good) throw refused(`The linter refuses this plan: ${this.#complaints.join(' ')}`)
    question.decision ??= { kind: 'approve', plan: good }
  }

  #verifyAsks(task: TaskId | ''): void {
    this.#verifyIsOpen()
    const { run: id } = this.#input
    if (this.#beingAnswered.has(task)) throw refused(`This question is being answered right now.`)
    if (task) {
      const { state } = this.#known(task)
      if (state !== 'asks') throw refused(`${task} asks nothing: ${command('show', id)} says what waits for an answer.`)
      return
    }
    const isAsked = this.#question && !this.#question.decision
    if (isAsked || this.#askingHold) return
    throw refused(`The run asks nothing itself: ${command('show', id)} says what waits for an answer.`)
  }

  /** What holds it all until a person says something to that; a pause and a limit end by other words. */
  get #askingHold(): Hold | undefined {
    return this.#hold?.why === 'person' || this.#hold?.why === 'budget' ? undefined : this.#hold
  }

  async #heardAnswer(task: TaskId | '', said: Reference): Promise<void> {
    const held = this.#askingHold
    // What a run was stopped by is the question of that task.
    const whose = task || (held?.why === 'confused' ? (held.task ?? '') : '')
    this.#beingAnswered.add(task)
    try {
      await this.#takeAnswer(whose, said)
      if (held && this.#hold?.words === held.words && (!task || held.task === task)) this.#letGo()
    } finally {
      this.#beingAnswered.delete(task)
    }
  }

  async #takeAnswer(task: TaskId | '', said: Reference): Promise<void> {
    const { run: id } = this.#input
    const record = task ? this.#tasks.get(task) : undefined
    // What holds it all is asked first.
    const question = this.#askingHold ? undefined : this.#question
    if (!record && !question) {
      await this.#say(this.#ownId('answered'), 'answered', 'A person says to go on.', [said])
      return
    }
    const count = record ? record.questions : this.#questions
    await orRefused(short.remember({ run: id, kind: 'answer', task, count, answer: said }))
    const name = record ? `${task}/${record.attempt}/answered` : `answered/${count}`
    await this.#say(name, 'answered', 'A person has answered.', [said], undefined, record)
    if (record?.state === 'asks') this.#goesOn(record, said)
    else if (question) question.decision ??= { kind: 'answer', answer: said }
  }

  #verifyPausable(task?: TaskId): void {
    this.#verifyIsOpen()
    if (task === undefined) {
      if (this.#hold?.why === 'person') throw refused(`${this.#input.run} is paused already.`)
      return
    }
    const { state, isPaused } = this.#known(task)
    if (isPaused) throw refused(`${task} is paused already.`)
    if (state !== 'waits' && state !== 'runs') throw refused(`${task} does not run: ${wordOf(state)}.`)
  }

  async #heardPause(task?: TaskId): Promise<void> {
    const { run: id } = this.#input
    if (task === undefined) {
      const words = `It is paused: go on with ${command('resume', id)}.`
      if (!this.#hold) this.#holdAll({ why: 'person', state: 'paused', words })
    } else {
      this.#known(task).isPaused = true
      this.#tellHeld()
      this.#hasChanged = true
    }
    await this.#say(this.#ownId('paused'), 'paused', `A person pauses ${task ?? 'the run'}.`)
  }

  #verifyResumable(task?: TaskId): void {
    this.#verifyIsOpen()
    const { run: id } = this.#input
    if (task === undefined) {
      if (this.#hold?.why === 'budget') {
        throw refused(`${id} has used up its limits: give it more with ${toGoOn(id, this.#hold)}`)
      }
      if (this.#hold || (this.#question && this.#question.about !== 'approval')) return
      throw refused(`${id} is not paused.`)
    }
    const { state, isPaused } = this.#known(task)
    if (state === 'stopped' && this.#running.has(task)) throw refused(`${task} is just being stopped: try again.`)
    if (isPaused || state === 'asks' || state === 'stopped') return
    throw refused(`${task} is not paused: ${wordOf(state)}.`)
  }

  async #heardResume(task?: TaskId): Promise<void> {
    await this.#say(this.#ownId('resumed'), 'resumed', `A person lets ${task ?? 'the run'} go on.`)
    const held = this.#hold
    const record = this.#tasks.get(task ?? (held?.why === 'confused' ? (held.task ?? '') : ''))
    if (record) {
      const wasPaused = record.isPaused
      record.isPaused = false
      if (record.state === 'asks' || (record.state === 'stopped' && !wasPaused)) {
        this.#goesOn(record)
        // With one more to be done, the result is another one.
        if (this.#question?.about === 'result') this.#question.decision ??= { kind: 'resume' }
      }
      this.#tellHeld()
      this.#hasChanged = true
    }
    if (task === undefined && !held && this.#question) this.#question.decision ??= { kind: 'resume' }
    if (held && (task === undefined || (held.why === 'confused' && held.task === task))) this.#letGo()
  }

  #verifyStoppable(task?: TaskId): void {
    this.#verifyIsOpen()
    if (task === undefined) return
    const { state } = this.#known(task)
    if (state === 'done' || state === 'stopped') throw refused(`${task} does not run: ${wordOf(state)}.`)
  }

  async #heardStop(task?: TaskId): Promise<void> {
    if (task === undefined) {
      this.#scope.cancel()
      return
    }
    const record = this.#known(task)
    record.state = 'stopped'
    record.words = 'A person stopped it.'
    delete record.question
    this.#running.get(task)?.scope.cancel()
    const held = this.#hold
    if (held?.why === 'confused' && held.task === task) this.#letGo()
    this.#hasChanged = true
    await this.#say(this.#ownId('stopped'), 'stopped', `A person stops ${task}.`, [], undefined, record)
  }

  #verifyLimits(limits: Partial<Limits>): void {
    this.#verifyIsOpen()
    if (Object.values(limits).length === 0) throw refused('Say which limit is another one from now on.')
    const { minutes = this.#limits.minutes } = limits
    if (minutes === undefined || this.#usedTime < minutes * 60_000) return
    const worked = `${Math.ceil(this.#usedTime / 6000) / 10} minutes`
    throw refused(
      `${this.#input.run} has worked ${worked} already: ${command('resume', this.#input.run)} --minutes N with more.`,
    )
  }

  async #heardLimits(limits: Partial<Limits>): Promise<void> {
    const next = { ...this.#limits, ...limits }
    await orRefused(short.begin({ ...this.#input, limits: next }))
    this.#limits = next
    this.#raises++
    const words = Object.entries(limits).map(([name, limit]) => `${name} ${limit}`)
    await this.#say(this.#ownId('raised'), 'raised', `A person sets other limits: ${words.join(', ')}.`)
    if (this.#hold?.why === 'budget') this.#letGo()
  }

  #verifyIsOpen(): void {
    const { run: id } = this.#input
    if (this.#final) throw refused(`${id} has ended: ${this.#final.words}`)
    if (this.#scope.consideredCancelled) throw refused(`${id} is being stopped.`)
  }

  #known(task: TaskId): TaskRecord {
    const record = this.#tasks.get(task)
    if (record) return record
    throw refused(`${this.#input.run} has no task ${task}: ${command('show', this.#input.run)} lists them.`)
  }

  // --- What is seen of it

  #status(): RunStatus {
    const { state, words } = this.#now()
    const question = this.#hold ? this.#hold.question : this.#question?.question
    const plan = this.#shownPlan ?? this.#plan
    const records = [...this.#tasks.values()]
    const shown =
      records.length > 0 || !this.#question?.proposal ? records : this.#question.proposal.tasks.map(newRecord)
    return {
      run: this.#input.run,
      state,
      words,
      complaints: this.#complaints,
      tasks: shown.map(statusOf),
      spent: records.reduce<Spent>((sum, { spent }) => added(sum, spent ?? NOTHING), this.#spent),
      ...(plan && { plan }),
      ...(question && { question }),
      ...(this.#hold?.limit && { limit: this.#hold.limit }),
      ...(this.#final?.result && { result: this.#final.result }),
      ...(this.#final?.report && { report: this.#final.report }),
    }
  }

  #now(): { state: RunState; words: string } {
    if (this.#final) return this.#final
    if (this.#hold) return this.#hold
    if (this.#question) {
      return { state: this.#question.about === 'approval' ? 'approving' : 'asks', words: this.#question.words }
    }
    if (this.#doing === 'planning') return { state: 'planning', words: '' }
    const records = [...this.#tasks.values()]
    const mayGoOn = this.#doing === 'finishes' || this.#busy > 0 || this.#running.size > 0
    if (mayGoOn || records.some(record => this.#isReady(record))) return { state: 'runs', words: '' }
    const asking = records.filter(({ state }) => state === 'asks').map(({ shape }) => shape.id)
    const { run: id } = this.#input
    if (asking.length > 0) {
      const verb = asking.length === 1 ? 'waits' : 'wait'
      const words = `${asking.join(', ')} ${verb} for an answer: ${command('answer', id, asking[0])} "…"`
      return { state: 'asks', words }
    }
    const paused = records.filter(({ isPaused }) => isPaused).map(({ shape }) => shape.id)
    if (paused.length === 0) return { state: 'runs', words: '' }
    return { state: 'paused', words: `Paused: ${paused.join(', ')}. Go on: ${command('resume', id, paused[0])}.` }
  }

  /** Keeps how it is in git, whenever it rests or goes on, until it has ended. */
  async #keepStatus(): Promise<void> {
    for (let kept = ''; ; ) {
      await condition(() => this.#restMark() !== kept)
      kept = this.#restMark()
      const isLast = this.#final !== undefined
      this.#isKeeping = true
      // The server knows it too: what can't be kept is no reason to halt.
      await short.rest(this.#status()).catch(() => undefined)
      this.#isKeeping = false
      if (isLast) return
    }
  }

  /** Another one wherever what a person reads of a resting run has changed; while it is busy, its state is enough. */
  #restMark(): string {
    const { state, words } = this.#now()
    if (!this.#final && (this.#running.size > 0 || state === 'planning' || state === 'runs')) return state
    const { question } = this.#hold ?? this.#question ?? {}
    const tasks = [...this.#tasks.values()].map(({ state, attempt, isPaused }) => `${state} ${attempt} ${isPaused}`)
    return [state, words, question?.oid, ...tasks].join('\n')
  }

  /** The server can list runs by their state, where the attributes are known to it: whoever starts a run says so by one. */
  #show(): void {
    const { state } = this.#now()
    if (state === this.#shownState || !this.#hasAttributes) return
    this.#shownState = state
    upsertSearchAttributes([{ key: FORGE_STATE, value: state }])
  }

  get #hasAttributes(): boolean {
    return workflowInfo().typedSearchAttributes.get(FORGE_RUN) !== undefined
  }

  #attributes({ forgeTask }: { forgeTask: TaskId }) {
    if (!this.#hasAttributes) return {}
    return {
      typedSearchAttributes: [
        { key: FORGE_RUN, value: this.#input.run },
        { key: FORGE_TASK, value: forgeTask },
      ],
    }
  }

  // --- From one history to the next

  async #goOnAnew(): Promise<void> {
    await condition(() => allHandlersFinished() && this.#busy === 0 && !this.#isKeeping)
    if (!this.#plan) return
    await continueAsNew<typeof run>(this.#input, {
      plan: this.#plan,
      tasks: [...this.#tasks.values()],
      limits: this.#limits,
      spent: this.#spent,
      used: this.#usedTime,
      questions: this.#questions,
      plans: this.#plans,
      lines: this.#lines,
      counted: this.#counted,
      discovered: this.#discovered,
      remembered: this.#remembered,
      facts: this.#facts,
      ...(this.#hold && { hold: this.#hold }),
    })
  }

  #take(carried: Carried): void {
    this.#plan = carried.plan
    this.#shownPlan = carried.plan
    this.#tasks = new Map(carried.tasks.map(record => [record.shape.id, record]))
    this.#spent = carried.spent
    this.#used = carried.used
    this.#questions = carried.questions
    this.#plans = carried.plans
    this.#lines = carried.lines
    this.#counted = carried.counted
    this.#discovered = carried.discovered
    this.#remembered = carried.remembered
    this.#facts = carried.facts ?? []
    this.#hold = carried.hold
    this.#doing = 'works'
  }
}

type StepWish = Pick<StepInput, 'kind' | 'base' | 'about' | 'tier'> & Partial<Pick<StepInput, 'choice'>>

/** Why there is no plan, or no result, that a person could be shown. */
type Stuck = { words: string; evidence: Reference[] }

const FORGE_RUN = { name: 'forgeRun', type: 'KEYWORD' } as const
const FORGE_TASK = { name: 'forgeTask', type: 'KEYWORD' } as const
const FORGE_STATE = { name: 'forgeState', type: 'KEYWORD' } as const

const refused = (words: string): ApplicationFailure => ApplicationFailure.nonRetryable(words, 'Refused')

/** What an activity comes to on behalf of a person, who hears why where it fails. */
async function orRefused<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (isCancellation(error)) throw error
    throw refused(wordsOf(error))
  }
}

function haltOf(error: unknown): Halt {
  const trouble = troubleOf(error)
  return 'halt' in trouble ? trouble.halt : { why: 'machine', words: trouble.words }
}
