/**
 * A run as a workflow: everything that happens to it becomes an event; run/ decides what follows; this file carries
 * that out and decides nothing. Questions to the user are in its status and wait without a timeout.
 */
import {
  allHandlersFinished,
  CancellationScope,
  type ChildWorkflowHandle,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  isCancellation,
  ParentClosePolicy,
  setHandler,
  startChild,
  Trigger,
  workflowInfo,
} from '@temporalio/workflow'
import type {
  Limits,
  Linted,
  List,
  NewJournalLine,
  PassedBefore,
  PersonAnswer,
  Reference,
  RunEnd,
  RunInput,
  RunStatus,
  StepKind,
  TaskId,
  TaskShape,
} from '../contract.ts'
import { decide, isIdle, leftOf } from '../run/decide.ts'
import type { Event, Halt, LintedTasks, RunCommand, Worked } from '../run/events.ts'
import { goodIn, planOrWish, planRefusal, standingsOf } from '../run/planning.ts'
import { type Wanted, whyNot } from '../run/said.ts'
import { type GoodPlan, newRun, type RunRecord, type TaskWork } from '../run/state.ts'
import { stateOf, statusMarkOf, statusOf } from '../run/status.ts'
import { attributesOfTask, ListedState } from './attributes.ts'
import { away, Batched } from './batched.ts'
import { atOnce, checking, slow } from './effects.ts'
import type { AttemptFlow } from './ends.ts'
import { type Holding, hold } from './held.ts'
import type { forgeLearn } from './learn.ts'
import { readList } from './lists.ts'
import { step } from './step.ts'
import { haltOf } from './troubles.ts'
import { handle, orRefused, refused } from './updates.ts'

/**
 * A new history is begun after this many events or bytes, with room for what is under way; the server ends a run at
 * 51,200 events or 50 MB.
 */
const HISTORY = { events: 15_000, bytes: 15_000_000 }

const status = defineQuery<RunStatus>('status')
const approve = defineUpdate<void, [Reference]>('approve')
const answer = defineUpdate<void, [TaskId | '', Reference]>('answer')
const mend = defineUpdate<void, [Reference, { task: TaskId; answer: Reference }?]>('mend')
const replan = defineUpdate<void, [Reference]>('replan')
const pause = defineUpdate<void, [TaskId?]>('pause')
const resume = defineUpdate<void, [TaskId?]>('resume')
const stop = defineUpdate<void, [TaskId?]>('stop')
const raise = defineUpdate<void, [Partial<Limits>]>('raise')

/** Runs from the plan to the result. `carried`: the state at the end of the history before this one. */
export async function forgeRun(input: RunInput, carried?: List): Promise<RunEnd> {
  const root = CancellationScope.current()
  const running = new Running(input)
  root.cancelRequested.catch(() => running.happens({ is: 'stopped' }))
  return await CancellationScope.nonCancellable(() => running.whole(carried))
}

/** An attempt under way. */
type Out = { scope: CancellationScope; child: Trigger<ChildWorkflowHandle<AttemptFlow> | undefined> }

class Running {
  #run: RunRecord
  /** Events that arrive before the state of the earlier history is read; undefined afterwards. */
  #early: Event[] | undefined = []
  readonly #out = new Map<TaskId, Out>()
  #work: CancellationScope | undefined
  /** The number of commands (what decide.ts has decided to do) that are being carried out. */
  #jobs = 0
  readonly #lines: NewJournalLine[] = []
  #isWriting = false
  readonly #listed = new ListedState()
  readonly #batched = new Batched(async (isAway, number) => this.happens({ is: 'away', flow: '', isAway, number }))
  /** Tasks whose questions are being answered right now; '' for the run's own. */
  readonly #beingAnswered = new Set<TaskId | ''>()

  constructor(readonly input: RunInput) {
    this.#run = newRun(input, workflowInfo().firstExecutionRunId.slice(0, 8))
    this.#listen()
  }

  async whole(carried: List | undefined): Promise<RunEnd> {
    if (carried) {
      const [text] = [await readList<string>(this.input.run, carried)]
      this.#run = { ...JSON.parse(text.join('')), isDraining: false }
    }
    const early = this.#early ?? []
    this.#early = undefined
    if (!carried) this.happens({ is: 'begun' })
    else this.happens({ is: 'time' })
    for (const event of early) this.happens(event)
    const kept = this.#keepStatus()
    this.#watchClock().catch(() => undefined)
    for (;;) {
      await condition(() => (this.#run.ending !== undefined && isIdle(this.#run)) || this.#isHistoryLong)
      if (this.#run.ending) break
      this.happens({ is: 'drain' })
      await condition(() => isIdle(this.#run) && this.#isQuiet && allHandlersFinished() && !this.#isKeeping)
      if (!this.#run.ending) await this.#goOnAnew()
    }
    await Promise.all([kept, condition(() => this.#isQuiet && allHandlersFinished())])
    await this.#learn()
    return this.#run.ending ?? { state: 'stopped', words: '' }
  }

  /** Starts the workflow that draws lessons from this run. It outlives the workflow of the run itself. */
  async #learn(): Promise<void> {
    if (!this.#run.learns) return
    const { run } = this.input
    // If the learning can't be started, the run has ended all the same.
    await startChild<typeof forgeLearn>('forgeLearn', {
      workflowId: `${workflowInfo().workflowId}/lessons`,
      args: [{ run }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
    }).catch(() => undefined)
  }

  /** Handles an event: decides what follows, and carries that out. */
  happens(event: Event): void {
    if (this.#early) {
      this.#early.push(event)
      return
    }
    const { run, commands } = decide(this.#run, event, Date.now())
    this.#run = run
    this.#listed.show(stateOf(run).state)
    for (const command of commands) this.#carryOut(command)
  }

  get #isQuiet(): boolean {
    return this.#jobs === 0 && !this.#isWriting && this.#lines.length === 0
  }

  get #isHistoryLong(): boolean {
    const { events = HISTORY.events } = this.input
    const { historyLength, historySize } = workflowInfo()
    return historyLength > events || historySize > HISTORY.bytes
  }

  /** Stores the state and continues as a new workflow with it, whose history is empty. */
  async #goOnAnew(): Promise<void> {
    const text = JSON.stringify(this.#run)
    const items: string[] = []
    for (let at = 0; at < text.length; at += PART) items.push(text.slice(at, at + PART))
    const carried = await atOnce.keepItems({ run: this.input.run, kind: 'state', items })
    await continueAsNew<typeof forgeRun>(this.input, carried)
  }

  /**
   * Creates an event when the run reaches its limit of minutes. The timer goes on while the run waits, and is begun
   * anew only where it comes too late or too early: a timer that is begun and cancelled within one workflow task is
   * left out of the history, and which ones were is not the same in a replay.
   */
  async #watchClock(): Promise<never> {
    const due = () => Date.now() + (leftOf(this.#run, Date.now()) ?? Number.POSITIVE_INFINITY)
    for (;;) {
      await condition(() => Number.isFinite(due()))
      const expected = due()
      await condition(() => due() < expected, expected - Date.now() + 1)
      if (leftOf(this.#run, Date.now()) === 0) this.happens({ is: 'time' })
    }
  }

  #isKeeping = false

  /** Stores the status in git whenever the run stops to wait or continues, until it has ended. */
  async #keepStatus(): Promise<void> {
    const mark = () => statusMarkOf(this.#run, Date.now())
    for (let kept = ''; ; ) {
      await condition(() => mark() !== kept)
      kept = mark()
      const isLast = this.#run.ending !== undefined
      this.#isKeeping = true
      // The server has the status too, so a failure to store it does not halt the run.
      await atOnce.rest(statusOf(this.#run, Date.now())).catch(() => undefined)
      this.#isKeeping = false
      if (isLast) return
    }
  }

  // --- Commands

  #carryOut(command: RunCommand): void {
    switch (command.do) {
      case 'note':
        this.#lines.push(command.line)
        if (!this.#isWriting) this.#job(() => this.#write())
        return
      case 'work':
        this.#job(() => this.#doWork(command.id, command.what))
        return
      case 'start':
        this.#job(() => this.#attempt(command))
        return
      case 'hold':
        this.#job(() => this.#tellHeld(command))
        return
      case 'cancel':
        this.#out.get(command.task)?.scope.cancel()
        return
      case 'cancel work':
        this.#work?.cancel()
        return
      case 'report':
        this.#job(() => this.#report(command))
        return
    }
  }

  /**
   * Runs `work` without awaiting it, so it must not throw: an unhandled rejection would fail the workflow task again
   * and again.
   */
  #job(work: () => Promise<void>): void {
    this.#jobs++
    work()
      .catch(error => {
        if (!isCancellation(error)) throw error
      })
      .finally(() => {
        this.#jobs--
      })
  }

  /** Writes the journal's lines in order; lines that have piled up are written together. */
  async #write(): Promise<void> {
    this.#isWriting = true
    // Wait for further lines of the same event, to write them together.
    await Promise.resolve()
    while (this.#lines.length > 0) {
      const lines = this.#lines.splice(0)
      try {
        await atOnce.note({ run: this.input.run, lines })
      } catch {
        this.happens({ is: 'journal lost' })
      }
    }
    this.#isWriting = false
  }

  async #attempt({ input, raises }: Extract<RunCommand, { do: 'start' }>): Promise<void> {
    const { task, attempt } = input
    const scope = new CancellationScope()
    const started = new Trigger<ChildWorkflowHandle<AttemptFlow> | undefined>()
    this.#out.set(task, { scope, child: started })
    try {
      const end = await scope.run(async () => {
        const options = {
          workflowId: `${workflowInfo().workflowId}/${task}`,
          args: [input] as [typeof input],
          ...attributesOfTask(this.input.run, task),
        }
        const child = await startChild<AttemptFlow>('forgeAttempt', options)
        started.resolve(child)
        return await child.result()
      })
      this.#out.delete(task)
      this.happens({ is: 'ended', task, attempt, end, raises })
    } catch (error) {
      started.resolve(undefined)
      this.#out.delete(task)
      const halt = isCancellation(error) ? {} : { halt: haltOf(error) }
      this.happens({ is: 'not ended', task, attempt, ...halt })
    }
  }

  async #tellHeld({ task, isHeld, number }: Extract<RunCommand, { do: 'hold' }>): Promise<void> {
    // #out has only the attempts under way: no signal is sent to one that has ended.
    const child = await this.#out.get(task)?.child
    await child?.signal(hold, isHeld, number).catch(() => undefined)
  }

  async #report({ do: _, matter, ...about }: Extract<RunCommand, { do: 'report' }>): Promise<void> {
    const { plan } = this.#run
    const now = statusOf(this.#run, Date.now())
    try {
      const report = await atOnce.escalate({ run: this.input.run, ...about, status: now, plan })
      this.happens({ is: 'reported', matter, report })
    } catch (error) {
      // Where the report can't be stored, the question is asked without it.
      if (isCancellation(error)) throw error
    }
  }

  // --- What the run does itself

  async #doWork(id: number, what: TaskWork): Promise<void> {
    const scope = new CancellationScope()
    this.#work = scope
    try {
      const worked = await scope.run(() => this.#worked(what))
      if ('halt' in worked) this.happens({ is: 'not worked', id, halt: worked.halt })
      else this.happens({ is: 'worked', id, what: worked })
    } catch (error) {
      const halt = isCancellation(error) ? {} : { halt: haltOf(error) }
      this.happens({ is: 'not worked', id, ...halt })
    }
  }

  async #worked(what: TaskWork): Promise<Worked | { halt: Halt }> {
    const { run, base } = this.input
    const place = { run, attempt: 1 }
    switch (what.do) {
      case 'begin': {
        const {
          approvedPlan: plan,
          answers,
          passed,
          facts = [],
          used = 0,
          above,
          learns,
        } = await slow.begin(this.input)
        const known = {
          answers: await readList<PersonAnswer>(run, answers),
          passed: await readList<PassedBefore>(run, passed),
        }
        return { of: 'begin', ...known, facts, used, plan, above, ...(learns && { learns }) }
      }
      case 'lint':
        return { of: 'lint', linted: await this.#lint(what.plan, what.standing) }
      case 'ask': {
        const means = { held: NEVER_HELD, fanOuts: new Set<never>(), batched: this.#batched }
        const { batch } = this.input
        const inBatch = batch === 'all' || (batch === 'work' && !PLANNING.includes(what.wish.kind))
        const asked = { ...place, choice: 0, depth: 0, step: what.step, ...what.wish, ...(inBatch && { inBatch }) }
        const end = await step(asked, means)
        return end.halt ? { halt: end.halt } : { of: 'ask', result: end.result, spent: end.spent }
      }
      case 'keep': {
        const { kind, words, step } = what
        return { of: 'keep', reference: await atOnce.keepWords({ ...place, step, kind, words }) }
      }
      case 'remember':
        await atOnce.remember({ run, kind: what.kind, ...what.what })
        return { of: 'remember' }
      case 'finish': {
        const results = await atOnce.keepItems({ run, kind: 'results', items: what.results })
        const { resolved } = what
        const input = { run, base, plan: planOrWish(this.#run), results, ...(resolved && { resolved }) }
        return { of: 'finish', finished: await checking.finish(input) }
      }
      case 'judge': {
        const { attempt, ours, theirs, resolved } = what
        return { of: 'judge', ...(await atOnce.judge({ run, attempt, ours, theirs, resolved })) }
      }
    }
  }

  async #lint(plan: Reference, standings = standingsOf(this.#run)): Promise<LintedTasks> {
    const { run, base } = this.input
    const standing =
      standings.length === 0 ? undefined : await atOnce.keepItems({ run, kind: 'standing', items: standings })
    const linted: Linted = await slow.lintPlan({ run, parsed: plan, base, ...(standing && { standing }) })
    return { ...linted, tasks: await readList<TaskShape>(run, linted.tasks) }
  }

  // --- A person

  /** Handles the user's updates and the queries. An update that can't be followed is refused with a sentence. */
  #listen(): void {
    setHandler(away, (flow, task, isAway, number) => this.happens({ is: 'away', flow, isAway, number, ...some(task) }))
    setHandler(status, () => statusOf(this.#run, Date.now()))
    handle(
      approve,
      plan => this.#verify({ is: 'approve', plan }),
      plan => this.#approve(plan),
    )
    handle(
      answer,
      task => this.#verifyAnswer({ is: 'answer', task }, task),
      (task, said) => this.#answer(task, said),
    )
    handle(
      mend,
      (_, said) => this.#verifyAnswer({ is: 'mend', ...(said && { answered: said.task }) }, said?.task),
      (plan, said) => this.#mend(plan, said),
    )
    handle(
      replan,
      () => this.#verify({ is: 'replan' }),
      said => this.happens({ is: 'replan', answer: said }),
    )
    const onTask = (update: typeof pause, is: 'pause' | 'resume' | 'stop', event: 'paused' | 'resumed' | 'stopped') =>
      handle(
        update,
        task => this.#verify({ is, ...some(task) }),
        task => this.happens({ is: event, ...some(task) }),
      )
    onTask(pause, 'pause', 'paused')
    onTask(resume, 'resume', 'resumed')
    onTask(stop, 'stop', 'stopped')
    handle(
      raise,
      limits => this.#verify({ is: 'raise', limits }),
      limits => this.#raise(limits),
    )
  }

  #verify(wanted: Wanted): void {
    const why = whyNot(this.#run, wanted, Date.now())
    if (why !== undefined) throw refused(why)
  }

  #verifyAnswer(wanted: Wanted, task: TaskId | '' | undefined): void {
    if (task !== undefined && this.#beingAnswered.has(task)) throw refused('This question is being answered right now.')
    this.#verify(wanted)
  }

  /** Approves the plan that the user is shown, or the version of it that the user has edited. */
  async #approve(plan: Reference): Promise<void> {
    const { question } = this.#run
    const shown = question?.proposal?.plan.oid === plan.oid ? question.proposal : undefined
    const good = shown ?? (await this.#good(plan))
    if (this.#run.question?.count !== question?.count) throw refused('That was decided meanwhile.')
    this.happens({ is: 'decided', decision: { is: 'approve', plan: good } })
  }

  async #good(plan: Reference): Promise<GoodPlan> {
    const good = goodIn(this.#run, await orRefused(this.#lint(plan)))
    if ('complaints' in good) throw refused(planRefusal(good.complaints))
    return good
  }

  async #answer(task: TaskId | '', said: Reference): Promise<void> {
    this.#beingAnswered.add(task)
    try {
      await this.#remember(task, said)
      this.happens({ is: 'answered', task, answer: said })
    } finally {
      this.#beingAnswered.delete(task)
    }
  }

  /** Stores the user's answer, so that the question is not asked again if the Temporal server loses all its data. */
  async #remember(task: TaskId | '', said: Reference): Promise<void> {
    const run = this.#run
    const id = task || (run.hold?.why === 'confused' ? (run.hold.task ?? '') : '')
    const record = run.tasks.find(({ shape }) => shape.id === id)
    // Answers are stored by the number of the question, which only a task's and the run's own questions have. An answer
    // to a hold (the reason why the whole run waits) is not stored.
    if (!record && !run.question) return
    const count = record ? record.questions : run.questions
    await orRefused(atOnce.remember({ run: this.input.run, kind: 'answer', task: id, count, answer: said }))
  }

  /**
   * Switches the run to another plan, optionally with the user's answer for a task. Nothing new starts while the plan
   * is checked.
   */
  async #mend(plan: Reference, said: { task: TaskId; answer: Reference } | undefined): Promise<void> {
    if (said) this.#beingAnswered.add(said.task)
    this.happens({ is: 'mending', isOver: false })
    try {
      const good = await this.#good(plan)
      const approval = { task: '', count: this.#run.questions, answer: good.plan } as const
      await orRefused(atOnce.remember({ run: this.input.run, kind: 'approval', ...approval }))
      if (said) await this.#remember(said.task, said.answer)
      this.happens({ is: 'mended', plan: good, answered: said })
    } finally {
      this.happens({ is: 'mending', isOver: true })
      if (said) this.#beingAnswered.delete(said.task)
    }
  }

  async #raise(limits: Partial<Limits>): Promise<void> {
    await orRefused(slow.begin({ ...this.input, limits: { ...this.#run.limits, ...limits } }))
    this.happens({ is: 'raised', limits })
  }
}

/** The kinds of steps that plan: where only the work goes into batches, these are sent as single requests. */
const PLANNING: readonly StepKind[] = ['plan', 'check plan']

/** For the run's own steps, which have no sub-agents and are not begun while the run is held. */
const NEVER_HELD: Holding = { isHeld: false, mayGoOn: async () => undefined }

/** The run's state, as JSON, is stored as a list of pieces of this many characters. */
const PART = 8000

const some = (task: TaskId | undefined): { task?: TaskId } => (task === undefined ? {} : { task })
