/**
 * Formats the journal as a story for people: how the run was planned, then each task, then the end. Texts of models and
 * programs are escaped, and secrets blacked out.
 */

import { many, visible, wrap } from '../../../core/text.ts'
import { blackOutFor } from '../../ai/secrets.ts'
import type { WrittenLine } from '../../formats/tasks-json.ts'
import type { RunId, TaskId } from '../contract.ts'
import type { Plan } from '../plan/schema.ts'

type StoryOptions = {
  run?: RunId
  /** The plan, for the titles of tasks. */
  plan?: Plan | undefined
  secrets?: readonly string[]
  /** All lines of the journal, for the totals, where the story tells only some of them. */
  all?: readonly WrittenLine[]
  columns?: number
  /** The reader's time zone, in minutes east of UTC. */
  zone?: number
}

/** The story as lines of text. */
export function journalStory(written: readonly WrittenLine[], options: StoryOptions = {}): string[] {
  const { all = written, plan, columns = 100 } = options
  const [first] = all
  const last = all.at(-1)
  if (!first || !last) return ['Nothing is written in the journal yet.']
  const { run = first.run } = options
  const ofTasks = Map.groupBy(
    written.filter(({ task }) => task),
    ({ task = '' }) => task,
  )
  const lastOfTasks = written.findLastIndex(({ task }) => task)
  const firstOfTasks = written.findIndex(({ task }) => task)
  const ofRun = (isThis: (at: number) => boolean) => written.filter(({ task }, at) => !task && isThis(at))
  // Decisions of the run as a whole that fall between those of its tasks get a section of their own, sorted by time.
  const before = ofRun(at => firstOfTasks < 0 || at < firstOfTasks)
  const between = ofRun(at => firstOfTasks >= 0 && at > firstOfTasks && at < lastOfTasks)
  const after = ofRun(at => firstOfTasks >= 0 && at > lastOfTasks)
  const day = new Date(first.at).toISOString().slice(0, 10)
  const some =
    all.length > written.length ? `, of which ${written.length} ${written.length === 1 ? 'is' : 'are'} told here` : ''
  const length = `${many(all.length, 'decision')} in ${duration(last.at - first.at)}${some}`
  const head = `Run ${visible(run)}: ${length}, begun on ${day}.`
  const title = plan ? wrap(`It does: ${visible(plan.title)}`, columns) : []
  const parts = [
    part('The plan', before, options),
    ...[...ofTasks].map(([task, lines]) => part(headingOf(task, plan), lines, options)),
    part('The run meanwhile', between, options),
    part('The end', after, options),
  ]
  return [head, ...title, ...parts.flat()]
}

const headingOf = (task: TaskId, plan: Plan | undefined): string => {
  const title = plan?.tasks.find(({ id }) => id === task)?.title
  return `The task ${visible(task)}${title === undefined ? '' : `: ${visible(title)}`}`
}

function part(heading: string, lines: readonly WrittenLine[], options: StoryOptions): string[] {
  if (lines.length === 0) return []
  const rows: string[] = []
  let attempt: number | undefined
  for (const line of lines) {
    if (line.task && line.attempt !== undefined && line.attempt !== attempt) {
      attempt = line.attempt
      rows.push(`  Attempt ${attempt}`)
    }
    rows.push(...rowsOf(line, options))
  }
  return ['', ...wrap(heading, options.columns ?? 100), ...rows]
}

/** A line with time and event, and below it the reason. */
function rowsOf(
  { at, what, words, why }: WrittenLine,
  { columns = 100, zone = 0, secrets = [] }: StoryOptions,
): string[] {
  const time = new Date(at + zone * 60_000).toISOString().slice(11, 19)
  const black = blackOutFor(secrets)
  const clean = (text: string) => visible(black(text).replace(/\s+/g, ' ').trim())
  const said = clean(words)
  const label = clean(what).replaceAll('_', ' ')
  const text = said === '' ? label : `${label}: ${said}`
  const indent = ' '.repeat(12)
  const told = wrap(text, columns - 12).map((line, row) => `${row === 0 ? `  ${time}  ` : indent}${line}`)
  const because =
    why === undefined || why === '' ? [] : wrap(clean(why), columns - 14).map(line => `${indent}  ${line}`)
  return [...told, ...because]
}

/** A duration as in "40 seconds", "12 minutes", "3 hours and 5 minutes". */
function duration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 120) return many(seconds, 'second')
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return many(minutes, 'minute')
  const rest = minutes % 60
  const hours = many(Math.floor(minutes / 60), 'hour')
  return rest === 0 ? hours : `${hours} and ${many(rest, 'minute')}`
}
