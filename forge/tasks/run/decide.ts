/**
 * Decides for a run: from its state and an event, the new state and the commands. Nothing here waits, asks or writes;
 * the same state and event always give the same result.
 */
import type { TaskId } from '../contract.ts'
import { Draft } from './draft.ts'
import type { Event, RunCommand, TaskInput } from './events.ts'
import { rowLengths } from './graph.ts'
import { halt, heldBy, journalIsLost } from './holds.ts'
import { interrupt, settleAttempt } from './outcomes.ts'
import { beginPlanning, planOn, planOrWish, settleDoubts } from './planning.ts'
import { areOver, finishOn, finishRun } from './result.ts'
import { hear } from './said.ts'
import { whyNow } from './sentences.ts'
import { added, nodeOf, type RunRecord, type TaskRecord, waitsFor } from './state.ts'
import { readyIn, usedOf } from './status.ts'

export type Decided = { run: RunRecord; commands: RunCommand[] }

/** Handles an event; `now` in milliseconds. */
export function decide(before: RunRecord, event: Event, now: number): Decided {
  const draft = new Draft(before, now)
  draft.run.used = usedOf(before, now)
  delete draft.run.since
  happened(draft, event)
  follow(draft)
  const { run, commands } = draft
  if (isUnderWay(run)) run.since = now
  return { run, commands }
}

/** The milliseconds that a run may still work; undefined where its time is not limited, or it is not working. */
export function leftOf(run: RunRecord, now: number): number | undefined {
  if (run.since === undefined || run.limits.minutes === undefined) return undefined
  return Math.max(0, run.limits.minutes * 60_000 - usedOf(run, now))
}

/**
 * Whether nothing is under way, so that the workflow may continue in a new history (Temporal limits the length of one).
 */
export const isIdle = (run: RunRecord): boolean => !run.work?.isUnderWay && !run.tasks.some(({ isOut }) => isOut)

/** Whether the run is working. Time in which it waits for the user or for a batch does not count. */
const isUnderWay = (run: RunRecord): boolean =>
  !run.ending &&
  !run.away?.some(({ isAway }) => isAway) &&
  !heldBy(run) &&
  (run.tasks.some(({ isOut }) => isOut) || (run.work?.isUnderWay === true && !run.question))

function happened(draft: Draft, event: Event): void {
  const { run } = draft
  switch (event.is) {
    case 'begun':
      beginPlanning(draft)
      return
    case 'worked':
      worked(draft, event)
      return
    case 'not worked':
      notWorked(draft, event)
      return
    case 'ended':
      ended(draft, event)
      return
    case 'not ended':
      notEnded(draft, event)
      return
    case 'reported':
      reported(draft, event)
      return
    case 'journal lost':
      journalIsLost(draft)
      return
    case 'drain':
      run.isDraining = true
      return
    case 'away':
      away(draft, event)
      return
    case 'time':
      return
    default:
      hear(draft, event)
      return
  }
}

// --- What comes of commands

function worked(draft: Draft, { id, what }: Extract<Event, { is: 'worked' }>): void {
  const { run } = draft
  if (run.work?.id !== id) return
  const { work } = run
  if (what.of === 'ask') run.spent = added(run.spent, what.spent)
  // `run.work` stays set while the result is handled, as the handling may set the next work.
  run.work = { ...work, isUnderWay: false }
  if (run.planning) planOn(draft, what)
  else finishOn(draft, what)
  if (run.work?.id === id) delete run.work
}

/**
 * Handles the failure of work that the run itself does, such as planning: it is repeated when nothing holds the run any
 * more.
 */
function notWorked(draft: Draft, { id, halt: why }: Extract<Event, { is: 'not worked' }>): void {
  const { run } = draft
  if (run.work?.id !== id) return
  run.work = { ...run.work, isUnderWay: false }
  if (why) halt(draft, why)
}

function away({ run }: Draft, { is: _, ...told }: Extract<Event, { is: 'away' }>): void {
  const { away = [] } = run
  const before = away.find(({ flow }) => flow === told.flow)
  if (before && before.number > told.number) return
  // Ignores late news of waiting requests from a flow whose attempt has ended: no news of their end would follow.
  if (told.task !== undefined && !run.tasks.some(({ shape, isOut }) => shape.id === told.task && isOut)) return
  run.away = [...away.filter(it => it !== before), told]
}

/** Forgets that workflows of a task wait for answers from batches, since these workflows have ended. */
function comeBack({ run }: Draft, task: TaskId): void {
  if (run.away) run.away = run.away.filter(it => it.task !== task)
}

function ended(draft: Draft, { task, attempt, end, raises }: Extract<Event, { is: 'ended' }>): void {
  const record = draft.edit(task)
  if (!record?.isOut || record.attempt !== attempt) return
  record.isOut = false
  record.isHeld = false
  comeBack(draft, task)
  // An attempt that was refused by a limit which the user has raised since is begun again.
  settleAttempt(draft, record, end, end.halt?.why === 'budget' && raises !== draft.run.raises)
}

function notEnded(draft: Draft, { task, attempt, halt: why }: Extract<Event, { is: 'not ended' }>): void {
  const record = draft.edit(task)
  if (!record?.isOut || record.attempt !== attempt) return
  record.isOut = false
  record.isHeld = false
  comeBack(draft, task)
  interrupt(record)
  if (why) halt(draft, why, task)
}

/** Adds a stored report to the question that it explains, unless the question was settled meanwhile. */
function reported(draft: Draft, { matter, report }: Extract<Event, { is: 'reported' }>): void {
  const { run } = draft
  if ('task' in matter) {
    const record = draft.edit(matter.task)
    if (record?.state !== 'asks') return
    record.question ??= report
    if (run.hold?.why === 'confused' && run.hold.task === matter.task && !run.hold.question)
      run.hold = { ...run.hold, question: report }
    return
  }
  if ('hold' in matter) {
    if (run.hold?.words === matter.hold) run.hold = { ...run.hold, question: report }
    return
  }
  if (run.question?.count === matter.question) run.question = { ...run.question, report }
}

// --- What follows from how it is now

function follow(draft: Draft): void {
  const { run } = draft
  if (run.isStopping && !run.ending) {
    stopWhenIdle(draft)
    return
  }
  if (!run.ending) {
    holdWhenLate(draft)
    if (run.doubts.length > 0 && !run.planning && !run.finishing && !run.isDraining) settleDoubts(draft)
    giveUp(draft)
    begin(draft)
    if (isFinished(run)) finishRun(draft)
    work(draft)
  }
  if (run.ending) for (const { shape } of run.tasks) close(draft, shape.id)
  tellHeld(draft)
}

/** Ends a run that the user has stopped, once nothing is under way. */
function stopWhenIdle(draft: Draft): void {
  const { run } = draft
  if (!isIdle(run)) return
  const done = run.tasks.filter(({ state }) => state === 'done').length
  for (const { shape } of run.tasks) close(draft, shape.id)
  const words =
    run.tasks.length === 0
      ? 'It was stopped before it had a plan.'
      : `It was stopped; the branches of ${done} of ${run.tasks.length} tasks are there.`
  run.ending = { state: 'stopped', words }
  draft.sayOnce('stopped', words)
}

function close(draft: Draft, id: TaskId): void {
  const { state } = draft.find(id) ?? {}
  if (state === 'done' || state === 'stopped') return
  const record = draft.edit(id)
  if (record) record.state = 'stopped'
}

function holdWhenLate(draft: Draft): void {
  const { run } = draft
  const { minutes } = run.limits
  if (minutes === undefined || run.used < minutes * 60_000) return
  const hasMore = run.work || run.tasks.some(record => record.isOut || record.state === 'waits')
  if (!hasMore || run.question) return
  const words = minutes === 1 ? 'The minute of this run is over.' : `The ${minutes} minutes of this run are over.`
  halt(draft, { why: 'budget', words, limit: 'minutes' })
}

/** Stops tasks whose dependencies were stopped. */
function giveUp(draft: Draft): void {
  const { run } = draft
  const isGone = (id: TaskId): boolean => (draft.find(id)?.state ?? 'stopped') === 'stopped'
  for (let isMore = true; isMore; ) {
    isMore = false
    for (const { shape, state, isOut } of run.tasks) {
      if (state !== 'waits' || isOut) continue
      const before = draft.find(shape.id)
      const missing = before && waitsFor(before).find(isGone)
      const record = missing === undefined ? undefined : draft.edit(shape.id)
      if (!record || missing === undefined) continue
      record.state = 'stopped'
      record.isGivenUp = true
      record.words = `It needs the result of ${missing}, which was stopped.`
      isMore = true
    }
  }
}

/** Begins the tasks that are ready, those with the longest chain of dependents first. */
function begin(draft: Draft): void {
  const { run } = draft
  if (!run.plan || run.planning || run.finishing || run.mending > 0 || run.isDraining || heldBy(run)) return
  const ready = readyIn(run)
  if (ready.length === 0) return
  const rows = rowLengths(run.tasks.map(nodeOf))
  const rowOf = ({ shape }: TaskRecord): number => rows.get(shape.id) ?? 1
  const out = run.tasks.filter(({ isOut }) => isOut)
  let running = out.length
  let isOneAlone = out.some(({ shape }) => shape.isAlone)
  for (const record of ready.toSorted((a, b) => rowOf(b) - rowOf(a))) {
    if (isOneAlone || running >= run.input.atMost) return
    // A task that has to run alone must not starve: it waits for the running ones, and no other one is begun meanwhile.
    if (record.shape.isAlone && running > 0) return
    start(draft, record.shape.id, rowOf(record))
    running++
    isOneAlone = record.shape.isAlone
  }
}

function start(draft: Draft, id: TaskId, row: number): void {
  const { run } = draft
  const record = draft.edit(id)
  if (!record) return
  if (!record.isAgain) {
    record.attempt++
    run.spent = added(run.spent, record.spent)
    delete record.spent
  }
  // A repeated attempt keeps the plan that it began with, unless it is repeated only to run checks that have changed.
  const isOfBefore = record.isAgain && !record.isRechecked
  const plan = (isOfBefore ? record.plan : undefined) ?? planOrWish(run)
  Object.assign(record, { state: 'runs', isOut: true, isHeld: false, isAgain: false, words: '', plan })
  const { shape, attempt, tier, about } = record
  const what = record.isRechecked ? 'its checks again' : `attempt ${attempt} by the tier ${tier}`
  const name = `${id}/${attempt}/begins${record.isRechecked ? `/${shape.hash.slice(0, 8)}` : ''}`
  draft.say(name, 'begins', `${shape.title}: ${what}.`, { refs: about, why: whyNow(record, row), task: record })
  draft.do({ do: 'start', input: inputOf(draft, record, plan), raises: run.raises })
}

function inputOf(draft: Draft, record: TaskRecord, plan: TaskInput['plan']): TaskInput {
  const { input, limits } = draft.run
  const { shape, attempt, tier, about, head, from, isRechecked } = record
  return {
    run: input.run,
    task: shape.id,
    attempt,
    plan,
    shape,
    tier,
    base: input.base,
    results: waitsFor(record).flatMap(id => draft.find(id)?.head ?? []),
    depth: Math.min(shape.recursion, limits.depth),
    about,
    above: draft.run.above,
    ...(input.batch && { inBatch: true }),
    ...(isRechecked && head && from && { recheck: { from, head } }),
  }
}

const isFinished = (run: RunRecord): boolean =>
  run.plan !== undefined &&
  !run.planning &&
  !run.finishing &&
  run.mending === 0 &&
  !run.isDraining &&
  run.doubts.length === 0 &&
  areOver(run)

/** Begins what the run itself has to do, such as planning or merging, unless something holds the run. */
function work(draft: Draft): void {
  const { run } = draft
  if (!run.work || run.work.isUnderWay || run.isDraining || heldBy(run)) return
  run.work = { ...run.work, isUnderWay: true }
  draft.do({ do: 'work', id: run.work.id, what: run.work.what })
}

/** Tells each running attempt whether it is held (it must not begin anything new), where that has changed. */
function tellHeld(draft: Draft): void {
  const { run } = draft
  for (const { shape, isOut, isHeld, isPaused } of run.tasks) {
    const shouldBe = heldBy(run) !== undefined || isPaused
    const record = isOut && isHeld !== shouldBe ? draft.edit(shape.id) : undefined
    if (!record) continue
    record.isHeld = shouldBe
    draft.do({ do: 'hold', task: shape.id, isHeld: shouldBe, number: ++run.told })
  }
}
