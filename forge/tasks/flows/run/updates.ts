/** What a person says to a run while it is under way. Each word is refused with a sentence where it can't be followed. */
import {
  ApplicationFailure,
  type CancellationScope,
  defineQuery,
  defineUpdate,
  isCancellation,
  setHandler,
} from '@temporalio/workflow'
import type { Limits, Reference, RunInput, RunStatus, TaskId } from '../../contract.ts'
import { short } from '../effects.ts'
import { wordsOf } from '../troubles.ts'
import type { Budget } from './budget.ts'
import type { Holds } from './holds.ts'
import type { Journal } from './journal.ts'
import type { Phase } from './phase.ts'
import { type Planning, refusalOf } from './planning.ts'
import type { Questions } from './questions.ts'
import type { Scheduler } from './scheduler.ts'
import { command, toGoOn, wordOf } from './sentences.ts'
import type { Status } from './status.ts'
import type { Task, Tasks } from './tasks.ts'

const status = defineQuery<RunStatus>('status')
const approve = defineUpdate<void, [Reference]>('approve')
const answer = defineUpdate<void, [TaskId | '', Reference]>('answer')
const pause = defineUpdate<void, [TaskId?]>('pause')
const resume = defineUpdate<void, [TaskId?]>('resume')
const stop = defineUpdate<void, [TaskId?]>('stop')
const raise = defineUpdate<void, [Partial<Limits>]>('raise')

/** `scope` is that of the whole run. */
type Means = {
  input: RunInput
  scope: CancellationScope
  phase: Phase
  tasks: Tasks
  budget: Budget
  holds: Holds
  questions: Questions
  planning: Planning
  scheduler: Scheduler
  status: Status
  journal: Journal
}

export class Updates {
  readonly #means: Means
  /** Whose questions are being answered right now. */
  readonly #beingAnswered = new Set<TaskId | ''>()

  constructor(means: Means) {
    this.#means = means
  }

  /** Hears a person from now on. */
  listen(): void {
    setHandler(status, () => this.#means.status.whole)
    setHandler(approve, plan => this.#approve(plan), { validator: (_: Reference) => this.#verifyPlanWaits() })
    setHandler(answer, (task, said) => this.#answer(task, said), {
      validator: (task: TaskId | '', _: Reference) => this.#verifyAsks(task),
    })
    setHandler(pause, task => this.#pause(task), { validator: (task?: TaskId) => this.#verifyPausable(task) })
    setHandler(resume, task => this.#resume(task), { validator: (task?: TaskId) => this.#verifyResumable(task) })
    setHandler(stop, task => this.#stop(task), { validator: (task?: TaskId) => this.#verifyStoppable(task) })
    setHandler(raise, limits => this.#raise(limits), {
      validator: (limits: Partial<Limits>) => this.#verifyLimits(limits),
    })
  }

  #verifyPlanWaits(): void {
    this.#verifyIsOpen()
    const { open } = this.#means.questions
    if (open && open.about !== 'result' && !open.decision) return
    throw refused(`No plan of ${this.#means.input.run} waits for a yes.`)
  }

  /** The plan that is shown, or another one that a person has made of it. */
  async #approve(plan: Reference): Promise<void> {
    const { questions, planning } = this.#means
    const { open } = questions
    if (!open) return
    const isShown = open.proposal?.plan.oid === plan.oid
    const good = isShown && open.proposal ? open.proposal : await planning.lint(plan)
    if (!('plan' in good)) throw refused(refusalOf(good))
    open.decide({ kind: 'approve', plan: good })
  }

  #verifyAsks(task: TaskId | ''): void {
    this.#verifyIsOpen()
    const { input, holds, questions } = this.#means
    if (this.#beingAnswered.has(task)) throw refused(`This question is being answered right now.`)
    const answers = `${command('show', input.run)} says what waits for an answer.`
    if (task) {
      if (this.#known(task).record.state !== 'asks') throw refused(`${task} asks nothing: ${answers}`)
      return
    }
    const isAsked = questions.open && !questions.open.decision
    if (!isAsked && !holds.asking) throw refused(`The run asks nothing itself: ${answers}`)
  }

  async #answer(task: TaskId | '', said: Reference): Promise<void> {
    const { holds } = this.#means
    const held = holds.asking
    this.#beingAnswered.add(task)
    try {
      // What a run was stopped by is the question of that task.
      await this.#takeAnswer(task || (holds.confused ?? ''), said)
      if (held && holds.asking?.words === held.words && (!task || held.task === task)) holds.letGo()
    } finally {
      this.#beingAnswered.delete(task)
    }
  }

  async #takeAnswer(id: TaskId | '', said: Reference): Promise<void> {
    const { input, tasks, holds, questions, scheduler, journal } = this.#means
    const task = id ? tasks.find(id) : undefined
    // What holds it all is asked first.
    const question = holds.asking ? undefined : questions.open
    if (!task && !question) {
      return await journal.say(journal.ownId('answered'), 'answered', 'A person says to go on.', { refs: [said] })
    }
    const count = task ? task.record.questions : questions.count
    await orRefused(short.remember({ run: input.run, kind: 'answer', task: id, count, answer: said }))
    const line = task ? `${id}/${task.record.attempt}/answered` : `answered/${count}`
    await journal.say(line, 'answered', 'A person has answered.', { refs: [said], ...(task && { task }) })
    if (task?.record.state === 'asks') {
      tasks.goOn(task, said)
      scheduler.wake()
    } else question?.decide({ kind: 'answer', answer: said })
  }

  #verifyPausable(id?: TaskId): void {
    this.#verifyIsOpen()
    if (id === undefined) {
      if (this.#means.holds.isPaused) throw refused(`${this.#means.input.run} is paused already.`)
      return
    }
    const { state, isPaused } = this.#known(id).record
    if (isPaused) throw refused(`${id} is paused already.`)
    if (state !== 'waits' && state !== 'runs') throw refused(`${id} does not run: ${wordOf(state)}.`)
  }

  async #pause(id?: TaskId): Promise<void> {
    const { holds, scheduler, journal } = this.#means
    if (id === undefined) holds.pause()
    else {
      this.#known(id).pause()
      scheduler.tellHeld()
      scheduler.wake()
    }
    await journal.say(journal.ownId('paused'), 'paused', `A person pauses ${id ?? 'the run'}.`)
  }

  #verifyResumable(id?: TaskId): void {
    this.#verifyIsOpen()
    const { input, holds, questions, scheduler } = this.#means
    const { run } = input
    if (id === undefined) {
      if (holds.budget) throw refused(`${run} has used up its limits: give it more with ${toGoOn(run, holds.budget)}`)
      if (holds.now || (questions.open && questions.open.about !== 'approval')) return
      throw refused(`${run} is not paused.`)
    }
    const { state, isPaused } = this.#known(id).record
    if (state === 'stopped' && scheduler.isRunning(id)) throw refused(`${id} is just being stopped: try again.`)
    if (isPaused || state === 'asks' || state === 'stopped') return
    throw refused(`${id} is not paused: ${wordOf(state)}.`)
  }

  async #resume(id?: TaskId): Promise<void> {
    const { tasks, holds, questions, journal } = this.#means
    await journal.say(journal.ownId('resumed'), 'resumed', `A person lets ${id ?? 'the run'} go on.`)
    const { now, confused } = holds
    const task = tasks.find(id ?? confused ?? '')
    if (task) this.#resumeTask(task)
    if (id !== undefined) {
      if (id === confused) holds.letGo()
    } else if (now) holds.resume()
    else questions.open?.decide({ kind: 'resume' })
  }

  #resumeTask(task: Task): void {
    const { tasks, questions, scheduler } = this.#means
    const { state, isPaused } = task.record
    task.unpause()
    if (state === 'asks' || (state === 'stopped' && !isPaused)) {
      tasks.goOn(task)
      // With one more to be done, the result is another one.
      if (questions.open?.about === 'result') questions.open.decide({ kind: 'resume' })
    }
    scheduler.tellHeld()
    scheduler.wake()
  }

  #verifyStoppable(id?: TaskId): void {
    this.#verifyIsOpen()
    if (id === undefined) return
    const { state } = this.#known(id).record
    if (state === 'done' || state === 'stopped') throw refused(`${id} does not run: ${wordOf(state)}.`)
  }

  async #stop(id?: TaskId): Promise<void> {
    const { scope, holds, scheduler, journal } = this.#means
    if (id === undefined) return scope.cancel()
    const task = this.#known(id)
    task.stop('A person stopped it.')
    scheduler.cancel(id)
    if (holds.confused === id) holds.letGo()
    scheduler.wake()
    await journal.say(journal.ownId('stopped'), 'stopped', `A person stops ${id}.`, { task })
  }

  #verifyLimits(limits: Partial<Limits>): void {
    this.#verifyIsOpen()
    const { input, budget } = this.#means
    if (Object.values(limits).length === 0) throw refused('Say which limit is another one from now on.')
    const { minutes = budget.limits.minutes } = limits
    if (minutes === undefined || budget.used < minutes * 60_000) return
    const worked = `${Math.ceil(budget.used / 6000) / 10} minutes`
    throw refused(`${input.run} has worked ${worked} already: ${command('resume', input.run)} --minutes N with more.`)
  }

  async #raise(limits: Partial<Limits>): Promise<void> {
    const { input, budget, holds, journal } = this.#means
    await orRefused(short.begin({ ...input, limits: { ...budget.limits, ...limits } }))
    budget.raise(limits)
    const words = Object.entries(limits).map(([name, limit]) => `${name} ${limit}`)
    await journal.say(journal.ownId('raised'), 'raised', `A person sets other limits: ${words.join(', ')}.`)
    if (holds.budget) holds.resume()
  }

  #verifyIsOpen(): void {
    const { input, scope, phase } = this.#means
    if (phase.ending) throw refused(`${input.run} has ended: ${phase.ending.words}`)
    if (scope.consideredCancelled) throw refused(`${input.run} is being stopped.`)
  }

  /** The task with that id. Throws where there is none. */
  #known(id: TaskId): Task {
    const task = this.#means.tasks.find(id)
    if (task) return task
    const { run } = this.#means.input
    throw refused(`${run} has no task ${id}: ${command('show', run)} lists them.`)
  }
}

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
