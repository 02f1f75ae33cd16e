/** The status of a run, as shown to the user. */
import type { Reference, RunState, RunStatus } from '../contract.ts'
import { heldBy } from './holds.ts'
import { command, waiting } from './sentences.ts'
import { added, isLacking, newRecord, type RunRecord, type TaskRecord, waitsFor } from './state.ts'

/** At most this many characters of a sentence in a status: longer texts are blobs. */
const MAX_WORDS = 300

/** Milliseconds of work until now. */
export const usedOf = ({ used, since }: RunRecord, now: number): number =>
  used + (since === undefined ? 0 : now - since)

export function statusOf(run: RunRecord, now: number): RunStatus {
  const { state, words } = stateOf(run)
  const { ending, question, plan, shown } = run
  // Holds and questions are not shown after the run has ended.
  const limit = ending ? undefined : heldBy(run)?.limit
  const asked = ending ? undefined : askedOf(run)
  const proposal = ending ? undefined : question?.proposal
  const records = run.tasks.length === 0 && proposal ? proposal.tasks.map(newRecord) : run.tasks
  const looked = shown ?? plan
  return {
    run: run.input.run,
    state,
    words,
    complaints: run.complaints,
    tasks: records.map(record => taskStatus(record)),
    spent: records.reduce((sum, { spent }) => added(sum, spent), run.spent),
    ...(run.limits.minutes !== undefined && { used: usedOf(run, now) }),
    plan: looked,
    question: asked,
    ...(limit && { limit }),
    ...(ending?.result && { result: ending.result }),
    ...(ending?.report && { report: ending.report }),
  }
}

/** The state of a run and the reason for it. */
export function stateOf(run: RunRecord): { state: RunState; words: string } {
  const { ending, question, tasks } = run
  if (ending) return ending
  const held = heldBy(run)
  if (held) return held
  if (question) return { state: question.about === 'approval' ? 'approving' : 'asks', words: question.words }
  if (!run.plan) return { state: 'planning', words: '' }
  const isBusy = run.work || run.planning || run.finishing || run.mending > 0 || tasks.some(({ isOut }) => isOut)
  if (isBusy || run.doubts.length > 0 || readyIn(run).length > 0) return { state: 'runs', words: '' }
  const asking = tasks.filter(({ state }) => state === 'asks')
  if (asking.length > 0) return { state: 'asks', words: waiting(run.input.run, asking) }
  const paused = tasks.filter(({ isPaused }) => isPaused).map(({ shape }) => shape.id)
  if (paused.length === 0) return { state: 'runs', words: '' }
  const goOn = command('resume', run.input.run, paused[0])
  return { state: 'paused', words: `Paused: ${paused.join(', ')}. Go on: ${goOn}.` }
}

/** Tasks that may begin, as all their dependencies are done, in the plan's order. */
export function readyIn({ tasks }: RunRecord): TaskRecord[] {
  const done = new Set(tasks.filter(({ state }) => state === 'done').map(({ shape }) => shape.id))
  return tasks.filter(
    record =>
      record.state === 'waits' && !record.isPaused && !record.isOut && waitsFor(record).every(id => done.has(id)),
  )
}

/** The text that the user has to read before the run continues. */
function askedOf(run: RunRecord): Reference | undefined {
  const held = heldBy(run)
  return held ? held.question : run.question?.report
}

const taskStatus = (record: TaskRecord): RunStatus['tasks'][number] => ({
  id: record.shape.id,
  title: record.shape.title,
  state: isResting(record) ? 'paused' : record.state,
  attempt: record.attempt,
  doing: record.state === 'runs' ? 'is at work' : '',
  words: record.words.slice(0, MAX_WORDS * 2),
  dependsOn: waitsFor(record),
  ...(record.head && { head: record.head }),
  question: record.question,
  ...(record.state === 'asks' && isLacking(record) && { isLacking: true }),
})

/** Whether the user has paused a task and it is not working. */
const isResting = ({ state, isPaused }: TaskRecord): boolean => isPaused && (state === 'runs' || state === 'waits')

/**
 * A text that changes whenever the status has to be stored in git again. For a run that waits or has ended, it has
 * everything that the user reads. For a busy one, it has the state and, where minutes are limited, the minutes used: if
 * the server loses the run, it continues with the stored number.
 */
export function statusMarkOf(run: RunRecord, now: number): string {
  const { state, words } = stateOf(run)
  const minutes = run.limits.minutes === undefined ? '' : ` ${Math.floor(usedOf(run, now) / 60_000)}`
  const isBusy = state === 'planning' || state === 'runs' || run.tasks.some(({ isOut }) => isOut)
  if (!run.ending && isBusy) return `${state}${minutes}`
  const each = run.tasks.map(({ state, attempt, isPaused }) => `${state} ${attempt} ${isPaused}`)
  return [state, words, askedOf(run)?.oid, ...each].join('\n')
}
