/**
 * What holds a run as a whole: a person's pause, a limit, a model or a machine that does not do, too many failures, or
 * an end that can't be classified. While it is held nothing new is begun, and what is under way comes to its next step.
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

/** What holds a run now, as a person is shown it. */
export function heldBy(run: RunRecord): Pick<Hold, 'state' | 'words' | 'question' | 'limit'> | undefined {
  if (run.hold) return run.hold
  const words = `It is paused: go on with ${command('resume', run.input.run)}.`
  return run.isPaused ? { state: 'paused', words } : undefined
}

/** What holds it until a person says something to that; a pause and a limit end by other words. */
export const askingHold = ({ hold }: RunRecord): Hold | undefined => (hold?.why === 'budget' ? undefined : hold)

/** The task whose end can't be classified, where that holds the run. */
export const confusedBy = ({ hold }: RunRecord): TaskId | undefined =>
  hold?.why === 'confused' ? hold.task : undefined

/** Something has to be mended before the run can go on, and a person is told what. */
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

/** A line of the journal could not be written: the run stops, since its decisions would not be recorded. */
export function journalIsLost(draft: Draft): void {
  const { run } = draft
  if (heldBy(run) || run.ending) return
  const words = `The journal can't be written. Set it right, then ${command('resume', run.input.run)}.`
  draft.hold({ why: 'machine', state: 'paused', words })
}

/** An end that can't be classified holds the whole run until its task is answered. */
export function confuse(draft: Draft, { shape, question, words: asked }: TaskRecord): void {
  const words = `${shape.id} ended in a way that nobody can classify, so all is held. ${asked}`
  draft.hold({ why: 'confused', state: 'asks', words, task: shape.id, question })
}

/** Counts how a task's first attempt has ended; where a large share fails, the plan is looked at again. */
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

/** The planner finds nothing wrong with a plan of which a large share fails: a person is asked before more is spent. */
export function holdAsDegraded(draft: Draft, words: string): void {
  const { run } = draft
  if (heldBy(run)) return
  // Whoever lets it go on is not asked about as few again.
  run.degradedAfter = 2 * (run.degradedAfter ?? DEGRADED.tasks)
  const { run: id } = run.input
  const whole = `${words} Go on: ${command('resume', id)}, or end it: ${command('stop', id)}.`
  draft.hold({ why: 'degraded', state: 'asks', words: whole })
  draft.sayOnce('degraded', words)
  draft.report({ hold: whole }, { words, evidence: [] }, { resume: command('resume', id) })
}
