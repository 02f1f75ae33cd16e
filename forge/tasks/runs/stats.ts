/**
 * How tasks went in earlier runs, by tier and model: so that a person sees what can be given to a smaller model, and a
 * planner too. All of it is read from what runs keep in git; what was pruned is no longer in it.
 */

import type { Objects } from '../../../core/git/objects.ts'
import { visible } from '../../../core/text.ts'
import type { WrittenLine } from '../../formats/tasks-json.ts'
import type { RunId, TaskId, Tier } from '../contract.ts'
import { TIERS } from '../plan/schema.ts'
import { readJournal } from './journal.ts'
import { RunStore } from './store.ts'
import { parseStoredAnswer, type StoredAnswer } from './stored-answer.ts'

/** What models of a tier did. */
type StatsRow = {
  /** `unknown` for what was kept before tiers were written down. */
  tier: Tier | 'unknown'
  model: string
  /** Tasks whose first attempt it wrote and that came to an end, and of these, those that passed by it. */
  tasks: number
  firstTry: number
  /** Answered requests of all kinds, and what they took; no cost where a price is not known. */
  requests: number
  input: number
  output: number
  cost?: number
}

/** The kinds of steps that write an attempt: a reviewer has no part in its success. */
const WRITING: readonly string[] = ['outline', 'implement']

/** Over runs in the order given; with `enough`, until that many answers were counted. */
export async function readStats(
  objects: Objects,
  runs: readonly RunId[],
  { enough = Number.POSITIVE_INFINITY }: { enough?: number } = {},
): Promise<StatsRow[]> {
  const rows = new Map<string, StatsRow>()
  let seen = 0
  for (const run of runs) {
    if (seen >= enough) break
    const store = new RunStore(objects, run)
    const answers = (await store.all('answers')).flatMap(bytes => parsed(bytes) ?? [])
    seen += answers.length
    for (const answer of answers) countAnswer(rowOf(rows, answer), answer)
    const ends = firstEnds(await readJournal(store))
    for (const [task, hasPassed] of ends) {
      const writer = firstWriter(answers, task)
      if (!writer) continue
      const row = rowOf(rows, writer)
      row.tasks++
      if (hasPassed) row.firstTry++
    }
  }
  const rank = ({ tier }: StatsRow): number => (tier === 'unknown' ? -1 : TIERS.indexOf(tier))
  return [...rows.values()].sort((a, b) => rank(b) - rank(a) || (a.model < b.model ? -1 : 1))
}

/** What can't be read is not counted: it is no reason to say nothing of all else. */
function parsed(bytes: Buffer): StoredAnswer | undefined {
  try {
    return parseStoredAnswer(bytes)
  } catch {
    return undefined
  }
}

function rowOf(rows: Map<string, StatsRow>, answer: StoredAnswer): StatsRow {
  const { model } = answer
  const tier: StatsRow['tier'] = answer.tier ?? 'unknown'
  const key = `${tier} ${model}`
  const row = rows.get(key) ?? { tier, model, tasks: 0, firstTry: 0, requests: 0, input: 0, output: 0 }
  rows.set(key, row)
  return row
}

function countAnswer(row: StatsRow, { usage }: StoredAnswer): void {
  row.requests++
  row.input += usage.input
  row.output += usage.output
  if (usage.cost !== undefined) row.cost = (row.cost ?? 0) + usage.cost
}

/** The tasks whose first attempt has come to an end, and whether it passed. */
function firstEnds(lines: readonly WrittenLine[]): Map<TaskId, boolean> {
  const ends = new Map<TaskId, boolean>()
  for (const { task, attempt = 0, what } of lines) {
    if (task === undefined) continue
    if (attempt === 1 && what === 'passed') ends.set(task, true)
    else if (!ends.has(task) && (attempt > 1 || what === 'failed')) ends.set(task, false)
  }
  return ends
}

/** Of the first attempt's steps the first one, by its name: all of them are of one tier. */
function firstWriter(answers: readonly StoredAnswer[], task: TaskId): StoredAnswer | undefined {
  const [first] = answers
    .filter(it => it.task === task && it.attempt === 1 && WRITING.includes(it.kind ?? ''))
    .sort((a, b) => (a.step < b.step ? -1 : 1))
  return first
}

/** The rows as a table with a heading, and what its columns mean. Empty where there are none. */
export function statsTable(rows: readonly StatsRow[]): string[] {
  if (rows.length === 0) return []
  const number = (count: number) => count.toLocaleString('en')
  const cells = [
    ['tier', 'model', 'tasks', 'first try', 'requests', 'read', 'written', 'cost'],
    ...rows.map(row => [
      row.tier,
      visible(row.model),
      number(row.tasks),
      row.tasks > 0 ? `${number(row.firstTry)} (${Math.round((100 * row.firstTry) / row.tasks)}%)` : '-',
      number(row.requests),
      number(row.input),
      number(row.output),
      row.cost === undefined ? '-' : `$${row.cost.toFixed(row.cost < 0.1 ? 4 : 2)}`,
    ]),
  ]
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map(line => (line[at] ?? '').length)))
  const inColumns = (line: string[]) =>
    line.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')
  return [
    ...cells.map(line => inColumns(line).trimEnd()),
    'First try: of the tasks that were first written by it, those that passed their checks and reviews at once.',
  ]
}

/** The answers that a planner's table is made of: of the newest runs, and no more than take a second to be read. */
const ENOUGH_TO_PLAN = 3000

/** The same table for planners; undefined where no task has ended yet. */
export async function statsForPlanners(objects: Objects, runs: readonly RunId[]): Promise<string | undefined> {
  const rows = await readStats(objects, runs, { enough: ENOUGH_TO_PLAN })
  if (rows.every(({ tasks }) => tasks === 0)) return undefined
  return statsTable(rows).join('\n')
}
