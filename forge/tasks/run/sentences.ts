/** Sentences about a run for people: in its status, journal and questions. */
import type { LimitName, RunId, TaskId } from '../contract.ts'
import { type Doubt, type Hold, isFrozen, isLacking, type TaskRecord, waitsFor } from './state.ts'

/** A command to type, as the sentences quote it. */
export const command = (name: string, run: RunId, task?: TaskId | ''): string =>
  `forge ${name} ${run}${task ? ` ${task}` : ''}`

/** The sentence that says how to answer the run, or a task of it. */
export const answerSentence = (run: RunId, task?: TaskId): string => `Answer it: ${command('answer', run, task)} "…"`

/** The sentence that says how to continue after something was fixed, without an answer. */
export const whenSetRight = (run: RunId, task?: TaskId): string =>
  `When that is set right: ${command('resume', run, task)} (--yes approves all commands of the run).`

const OPTIONS: Record<LimitName, string> = {
  cost: '--budget DOLLARS',
  requests: '--requests N',
  tokens: '--requests N',
  minutes: '--minutes N',
}
/** The sentence that says how to continue a held run; with a higher limit where one was reached. */
export const toGoOn = (run: RunId, { why, limit = 'cost' }: Pick<Hold, 'why' | 'limit'>): string =>
  why === 'budget' ? `${command('resume', run)} ${OPTIONS[limit]}` : command('resume', run)

/** Why this task is begun now. */
export function whyNow(record: TaskRecord, row: number): string {
  const { shape } = record
  const before = waitsFor(record)
  const ready = before.length > 0 ? `What it waits for is done: ${before.join(', ')}.` : 'It waits for nothing.'
  const alone = shape.isAlone ? ' Nothing runs beside it, as its boundaries are not known.' : ''
  return row > 1 ? `${ready} ${row - 1} more in a row after it.${alone}` : `${ready}${alone}`
}

/** Why the plan is checked again. */
export const because = (doubts: Doubt[]): string =>
  doubts
    .map(doubt => ('task' in doubt ? `${doubt.task}: ${doubt.words}` : doubt.words))
    .join(' ')
    .slice(0, 1000)

/** At most this many tasks are described to a planner with more than their state. */
const MAX_TOLD = 200

/** The progress of tasks, for a planner that checks the plan. */
export function progress(records: TaskRecord[]): string {
  const told = ({ shape, state, isOut, attempt, words }: TaskRecord): string => {
    const is = isOut ? 'it is under way' : wordOf(state)
    const tries = attempt > 1 ? `, attempt ${attempt}` : ''
    return `${shape.id} (${is}${tries}${words && !isOut ? `: ${words}` : ''})`
  }
  const frozen = records.filter(isFrozen)
  const open = records.filter(record => !isFrozen(record))
  return [
    `Done or under way, and to be left exactly as they are: ${frozen.map(told).join(', ') || 'none'}.`,
    `Open, and to be changed where that helps: ${open.slice(0, MAX_TOLD).map(told).join(', ') || 'none'}.`,
  ].join('\n')
}

/** The sentence for tasks that wait for the user; at least one. */
export function waiting(run: RunId, asking: TaskRecord[]): string {
  const ids = asking.map(({ shape }) => shape.id)
  const verb = ids.length === 1 ? 'waits' : 'wait'
  // An answer to a task that has no question would begin a new attempt.
  const first = asking.find(record => !isLacking(record))?.shape.id
  const all = listed(ids)
  if (first) return `${all} ${verb} for an answer: ${command('answer', run, first)} "…"`
  return `${all} ${verb} for something to be set right: ${command('resume', run, ids[0])}`
}

/** At most five names of tasks and "was" or "were", as the beginning of a sentence. */
export function names(records: TaskRecord[]): string {
  const ids = records.map(({ shape }) => shape.id)
  return `${listed(ids, 5)} ${ids.length === 1 ? 'was' : 'were'}`
}

/** The first ids, and the number of further ones. */
export const listed = (ids: TaskId[], most = 12): string =>
  ids.length > most ? `${ids.slice(0, most).join(', ')} and ${ids.length - most} more` : ids.join(', ')

const WORDS = {
  waits: 'it waits',
  runs: 'it runs',
  asks: 'it waits for an answer',
  done: 'it is done',
  stopped: 'it was stopped',
}
/** A task's state as a clause, for sentences that refuse a request. */
export const wordOf = (state: TaskRecord['state']): string => WORDS[state]

/** A text with a full stop at its end. */
export const asSentence = (words: string): string => (/[.!?…]$/.test(words.trim()) ? words.trim() : `${words.trim()}.`)

/** A number of things, e.g. "2 tasks". */
export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
