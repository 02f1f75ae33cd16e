/**
 * What holds a run as a whole: a pause, a limit, a model or machine that fails, too many failures, or an outcome that
 * can't be classified. While it is held nothing new is begun, and running work continues to its next step.
 */
import type { TaskId } from '../contract.ts'
import type { Draft } from './draft.ts'
import type { Halt } from './events.ts'
import { asSentence, command, toGoOn } from './sentences.ts'
import type { Hold, RunRecord, TaskRecord } from './state.ts'

/**
 * A run is degraded where at least this many tasks have ended their first attempt, and at least this share of them
 * failed.
 */
const DEGRADED = { tasks: 6, share: 0.5 }

/** What holds a run now, as shown to the user; undefined where nothing does. */
export function heldBy(run: RunRecord): Pick<Hold, 'state' | 'words' | 'question' | 'limit'> | undefined {
  if (run.hold) return run.hold
  const words = `It is paused: go on with ${command('resume', run.input.run)}.`
  return run.isPaused ? { state: 'paused', words } : undefined
}

/**
 * The hold of the whole run that ends with an answer of the user; undefined for a pause or a limit, which end
 * otherwise.
 */
export const askingHold = ({ hold }: RunRecord): Hold | undefined => (hold?.why === 'budget' ? undefined : hold)

/** The task whose outcome can't be classified, where that holds the run. */
export const confusedBy = ({ hold }: RunRecord): TaskId | undefined =>
  hold?.why === 'confused' ? hold.task : undefined

/** Holds the run until the user has fixed something, and reports what. */
export function halt(draft: Draft, why: Halt, task?: TaskId): void {
  const { run } = draft
  if (heldBy(run) || run.ending || run.isStopping) return
  const goOn = toGoOn(run.input.run, why)
  const isBudget = why.why === 'budget'
  const next = isBudget ? `go on with more: ${goOn}` : `set it right, then ${goOn}.`
  const words = `${asSentence(why.words)} What is done is kept; ${next}`
  draft.hold({
    why: why.why,
    state: isBudget ? 'out of budget' : 'paused',
    words,
    ...(why.limit && { limit: why.limit }),
    task,
  })
  draft.sayOnce('halted', why.words)
  draft.report({ hold: words }, { words: why.words, evidence: [] }, { resume: goOn, task })
}

/** Holds the run since the journal can't be written: its decisions would not be recorded. */
export function journalIsLost(draft: Draft): void {
  const { run } = draft
  if (heldBy(run) || run.ending) return
  const words = `The journal can't be written. Set it right, then ${command('resume', run.input.run)}.`
  draft.hold({ why: 'machine', state: 'paused', words })
}

/**
 * Holds the run, since a task has ended in a way that can't be classified, until the user answers the task's question.
 */
export function confuse(draft: Draft, { shape, question, words: asked }: TaskRecord): void {
  const words = `${shape.id} ended in a way that nobody can classify, so all is held. ${asked}`
  draft.hold({ why: 'confused', state: 'asks', words, task: shape.id, question })
}

/** Counts the end of a task's first attempt; where a large share fails, has the plan checked again. */
export function countFirst(draft: Draft, record: TaskRecord, hasFailed: boolean): void {
  const { run } = draft
  if (!record.isCounted) {
    const { ended, failed } = run.counted
    run.counted = { ended: ended + 1, failed: failed + (hasFailed ? 1 : 0) }
  }
  record.isCounted = true
  const { ended, failed } = run.counted
  if (heldBy(run) || ended < (run.degradedAfter ?? DEGRADED.tasks) || failed < ended * DEGRADED.share) return
  run.counted = { ended: 0, failed: 0 }
  const words = `${failed} of ${ended} tasks failed at their first attempt: is the plan right?`
  run.doubts = [...run.doubts, { why: 'failures', words }]
}

/**
 * Holds a run of which a large share fails though the planner finds nothing wrong with the plan, before more is spent.
 */
export function holdAsDegraded(draft: Draft, words: string): void {
  const { run } = draft
  if (heldBy(run)) return
  // The user may let the run continue: it is held again only after twice as many first attempts.
  run.degradedAfter = 2 * (run.degradedAfter ?? DEGRADED.tasks)
  const { run: id } = run.input
  const whole = `${words} Go on: ${command('resume', id)}, or end it: ${command('stop', id)}.`
  draft.hold({ why: 'degraded', state: 'asks', words: whole })
  draft.sayOnce('degraded', words)
  draft.report({ hold: whole }, { words, evidence: [] }, { resume: command('resume', id) })
}
