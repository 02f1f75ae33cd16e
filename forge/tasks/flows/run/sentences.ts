/** Sentences of a run for people: in its status, its journal and its questions. */
import type { LimitName, RunId, TaskId } from '../../contract.ts'
import { type Discovered, type Hold, hasBegun, type TaskRecord, waitsFor } from './records.ts'

/** What a person types next, as the sentences of a run have it. */
export const command = (name: string, run: RunId, task?: TaskId | ''): string =>
  `forge ${name} ${run}${task ? ` ${task}` : ''}`

const OPTIONS: Record<LimitName, string> = {
  cost: '--budget DOLLARS',
  requests: '--requests N',
  tokens: '--requests N',
  minutes: '--minutes N',
}
/** What a person types to let a run go on that is held; one that is out of something, with more of that. */
export const toGoOn = (run: RunId, { why, limit = 'cost' }: Pick<Hold, 'why' | 'limit'>): string =>
  why === 'budget' ? `${command('resume', run)} ${OPTIONS[limit]}` : command('resume', run)

/** Why this task, now. */
export function whyNow(record: TaskRecord, row: number): string {
  const { shape } = record
  const before = waitsFor(record)
  const ready = before.length > 0 ? `What it waits for is done: ${before.join(', ')}.` : 'It waits for nothing.'
  const alone = shape.isAlone ? ' Nothing runs beside it, as its boundaries are not known.' : ''
  return row > 1 ? `${ready} ${row - 1} more in a row after it.${alone}` : `${ready}${alone}`
}

/** What tasks have said by which the plan is looked at again. */
export const because = (discovered: Discovered[]): string =>
  discovered
    .map(({ task, words }) => `${task}: ${words}`)
    .join(' ')
    .slice(0, 1000)

/** How far the tasks are, for whoever looks at the plan again. */
export function progress(records: TaskRecord[]): string {
  const [begun, open] = [true, false].map(has => records.filter(record => hasBegun(record) === has))
  const told = (begun ?? []).map(({ shape, state }) => `${shape.id} (${wordOf(state)})`)
  return [
    `Begun or done, and to be left exactly as they are: ${told.join(', ') || 'none'}.`,
    `Not begun: ${(open ?? []).map(({ shape }) => shape.id).join(', ') || 'none'}.`,
  ].join('\n')
}

/** Some by name, with their verb. */
export function names(records: TaskRecord[]): string {
  const ids = records.map(({ shape }) => shape.id)
  const listed = ids.length > 5 ? `${ids.slice(0, 5).join(', ')} and ${ids.length - 5} more` : ids.join(', ')
  return `${listed} ${ids.length === 1 ? 'was' : 'were'}`
}

const WORDS = {
  waits: 'it waits',
  runs: 'it runs',
  asks: 'it waits for an answer',
  done: 'it is done',
  stopped: 'it was stopped',
}
/** What a task does, in place of what was asked of it. */
export const wordOf = (state: TaskRecord['state']): string => WORDS[state]

/** Ends as a sentence does. */
export const sentence = (words: string): string => (/[.!?…]$/.test(words.trim()) ? words.trim() : `${words.trim()}.`)

/** Some things by their number. */
export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
