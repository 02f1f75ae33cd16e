/** What the user tells a running run: why it is refused, or how it changes the run. */
import type { Limits, Reference, TaskId } from '../contract.ts'
import type { Draft } from './draft.ts'
import type { PersonSaid } from './events.ts'
import { askingHold, confusedBy, heldBy } from './holds.ts'
import { goOn } from './outcomes.ts'
import { adopt, decideOnPlan, sayChanged } from './planning.ts'
import { decideOnResult } from './result.ts'
import { command, toGoOn, wordOf } from './sentences.ts'
import type { Decision, RunRecord, TaskRecord } from './state.ts'
import { usedOf } from './status.ts'

/** A request of the user, as a command or the desk sends it. */
export type Wanted =
  | { is: 'approve'; plan: Reference }
  | { is: 'answer'; task: TaskId | '' }
  | { is: 'mend'; answered?: TaskId }
  | { is: 'replan' }
  | { is: 'pause' | 'resume' | 'stop'; task?: TaskId | undefined }
  | { is: 'raise'; limits: Partial<Limits> }

/** Why a run can't follow a request, as a sentence; undefined where it can. */
export function whyNot(run: RunRecord, wanted: Wanted, now: number): string | undefined {
  const { run: id } = run.input
  if (run.ending) return `${id} has ended: ${run.ending.words}`
  if (run.isStopping) return `${id} is being stopped.`
  switch (wanted.is) {
    case 'approve':
      return run.question && run.question.about !== 'result' ? undefined : `No plan of ${id} waits for a yes.`
    case 'answer':
      return whyNoAnswer(run, wanted.task)
    case 'mend':
      if (!run.plan) return `${id} has no plan yet that could be changed: ${command('show', id)} says how it is.`
      return wanted.answered === undefined ? undefined : whyNoAnswer(run, wanted.answered)
    case 'replan':
      if (!run.plan) return `${id} has no plan yet that could be changed: ${command('show', id)} says how it is.`
      return run.planning
        ? `The plan of ${id} is being looked at already: ${command('attach', id)} shows it.`
        : undefined
    case 'pause':
      return wanted.task === undefined
        ? run.isPaused
          ? `${id} is paused already.`
          : undefined
        : whyNotTask(run, wanted.task, whyNoPause)
    case 'resume':
      return wanted.task === undefined ? whyNoResume(run) : whyNotTask(run, wanted.task, whyNoResumeOfTask)
    case 'stop':
      return wanted.task === undefined ? undefined : whyNotTask(run, wanted.task, whyNoStop)
    case 'raise':
      return whyNoRaise(run, wanted.limits, now)
  }
}

const known = (run: RunRecord, id: TaskId): TaskRecord | undefined => run.tasks.find(({ shape }) => shape.id === id)

function whyNotTask(run: RunRecord, id: TaskId, why: (record: TaskRecord) => string | undefined): string | undefined {
  const record = known(run, id)
  const { run: name } = run.input
  return record ? why(record) : `${name} has no task ${id}: ${command('show', name)} lists them.`
}

function whyNoAnswer(run: RunRecord, task: TaskId | ''): string | undefined {
  const answers = `${command('show', run.input.run)} says what waits for an answer.`
  if (task === '') return run.question || askingHold(run) ? undefined : `The run asks nothing itself: ${answers}`
  return whyNotTask(run, task, ({ state }) => (state === 'asks' ? undefined : `${task} asks nothing: ${answers}`))
}

function whyNoPause({ state, isPaused, shape: { id } }: TaskRecord): string | undefined {
  if (isPaused) return `${id} is paused already.`
  return state === 'waits' || state === 'runs' ? undefined : `${id} does not run: ${wordOf(state)}.`
}

function whyNoResume(run: RunRecord): string | undefined {
  const { run: id } = run.input
  if (run.hold?.why === 'budget') return `${id} has used up its limits: give it more with ${toGoOn(id, run.hold)}`
  if (heldBy(run) || (run.question && run.question.about !== 'approval')) return undefined
  return `${id} is not paused.`
}

function whyNoResumeOfTask({ state, isPaused, isOut, shape: { id } }: TaskRecord): string | undefined {
  if (state === 'stopped' && isOut) return `${id} is just being stopped: try again.`
  if (isPaused || state === 'asks' || state === 'stopped') return undefined
  return `${id} is not paused: ${wordOf(state)}.`
}

const whyNoStop = ({ state, shape: { id } }: TaskRecord): string | undefined =>
  state === 'done' || state === 'stopped' ? `${id} does not run: ${wordOf(state)}.` : undefined

function whyNoRaise(run: RunRecord, limits: Partial<Limits>, now: number): string | undefined {
  if (Object.values(limits).length === 0) return 'Say which limit is another one from now on.'
  const { minutes = run.limits.minutes } = limits
  const used = usedOf(run, now)
  if (minutes === undefined || used < minutes * 60_000) return undefined
  const { run: id } = run.input
  const worked = `${Math.ceil(used / 6000) / 10} minutes`
  return `${id} has worked ${worked} already: ${command('resume', id)} --minutes N with more.`
}

/** Handles an accepted request of the user. */
export function hear(draft: Draft, said: PersonSaid): void {
  const { run } = draft
  switch (said.is) {
    case 'decided':
      decide(draft, said.decision)
      return
    case 'answered':
      answered(draft, said.task, said.answer)
      return
    case 'mending':
      run.mending += said.isOver ? -1 : 1
      return
    case 'mended':
      mended(draft, said)
      return
    case 'replan':
      run.doubts = [...run.doubts, { why: 'asked', words: 'A person wants another plan.', answer: said.answer }]
      draft.sayOnce('answered', 'A person wants the plan to be changed.', { refs: [said.answer] })
      return
    case 'paused':
      paused(draft, said.task)
      return
    case 'resumed':
      resumed(draft, said.task)
      return
    case 'stopped':
      stopped(draft, said.task)
      return
    case 'raised':
      raised(draft, said.limits)
      return
  }
}

/** Handles the decision on a question of the run itself. */
function decide(draft: Draft, decision: Decision): void {
  const { question } = draft.run
  if (!question) return
  if (question.about === 'result') decideOnResult(draft, decision)
  else decideOnPlan(draft, decision, question.proposal)
}

function answered(draft: Draft, task: TaskId | '', answer: Reference): void {
  const { run } = draft
  const held = askingHold(run)
  // An answer to the run as a whole counts for the task that holds the run, if one does.
  const id = task || (confusedBy(run) ?? '')
  const record = id ? draft.edit(id) : undefined
  if (held && (!task || held.task === task)) draft.letGo()
  if (record) {
    const { attempt } = record
    draft.say(`${id}/${attempt}/answered`, 'answered', 'A person has answered.', { refs: [answer], task: record })
    if (record.state === 'asks') goOn(draft, record, answer)
    return
  }
  // If something holds the whole run, the answer ends only that; otherwise it answers the run's own question.
  if (held || !run.question) {
    draft.sayOnce('answered', 'A person says to go on.', { refs: [answer] })
    return
  }
  draft.say(`answered/${run.question.count}`, 'answered', 'A person has answered.', { refs: [answer] })
  decide(draft, { is: 'answer', answer })
}

/** Switches to another plan that the linter has accepted. */
function mended(draft: Draft, { plan, answered: said }: Extract<PersonSaid, { is: 'mended' }>): void {
  const { run } = draft
  // Planning or finishing in progress belongs to the previous plan, so it is cancelled.
  if (run.planning || run.finishing) {
    if (run.work?.isUnderWay) draft.do({ do: 'cancel work' })
    delete run.work
    delete run.planning
    delete run.finishing
    delete run.question
  }
  const found = adopt(draft, plan)
  sayChanged(draft, plan, found, 'A person has changed it.')
  if (run.hold?.why === 'degraded' || run.hold?.why === 'confused') draft.letGo()
  if (said === undefined) return
  const record = draft.edit(said.task)
  if (!record) return
  draft.say(`${said.task}/${record.attempt}/answered`, 'answered', 'A person has answered.', {
    refs: [said.answer],
    task: record,
  })
  goOn(draft, record, said.answer)
}

function paused(draft: Draft, id: TaskId | undefined): void {
  const record = id === undefined ? undefined : draft.edit(id)
  if (record) record.isPaused = true
  else draft.run.isPaused = true
  draft.sayOnce('paused', `A person pauses ${id ?? 'the run'}.`)
}

function resumed(draft: Draft, id: TaskId | undefined): void {
  const { run } = draft
  draft.sayOnce('resumed', `A person lets ${id ?? 'the run'} go on.`)
  const isHeld = heldBy(run) !== undefined
  const confused = confusedBy(run)
  const record = draft.edit(id ?? confused ?? '')
  if (record) resumeTask(draft, record)
  if (id !== undefined) {
    if (id === confused) draft.letGo()
  } else if (isHeld) {
    run.isPaused = false
    draft.letGo()
  } else decide(draft, { is: 'resume' })
}

function resumeTask(draft: Draft, record: TaskRecord): void {
  const { state, isPaused } = record
  record.isPaused = false
  if (state !== 'asks' && (state !== 'stopped' || isPaused)) return
  goOn(draft, record)
  // A question about the run's combined result is closed: this task's result will become part of it.
  if (draft.run.question?.about === 'result') decideOnResult(draft, { is: 'resume' })
}

function stopped(draft: Draft, id: TaskId | undefined): void {
  const { run } = draft
  if (id === undefined) {
    run.isStopping = true
    for (const { shape, isOut } of run.tasks) if (isOut) draft.do({ do: 'cancel', task: shape.id })
    if (run.work?.isUnderWay) draft.do({ do: 'cancel work' })
    return
  }
  const record = draft.edit(id)
  if (!record) return
  record.state = 'stopped'
  record.words = 'A person stopped it.'
  delete record.question
  if (record.isOut) draft.do({ do: 'cancel', task: id })
  if (confusedBy(run) === id) draft.letGo()
  draft.sayOnce('stopped', `A person stops ${id}.`, { task: record })
}

function raised(draft: Draft, limits: Partial<Limits>): void {
  const { run } = draft
  run.limits = { ...run.limits, ...limits }
  run.raises++
  const words = Object.entries(limits).map(([name, limit]) => `${name} ${limit}`)
  draft.sayOnce('raised', `A person sets other limits: ${words.join(', ')}.`)
  if (run.hold?.why !== 'budget') return
  run.isPaused = false
  draft.letGo()
}
