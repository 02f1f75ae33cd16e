/**
 * Statistics of earlier runs by tier and model, which show the user and planners which work smaller models can do. They
 * are read from what runs store in git, so pruned runs are not in them.
 */

import type { Objects } from '../../../core/git/objects.ts'
import { visible } from '../../../core/text.ts'
import type { WrittenLine } from '../../formats/tasks-json.ts'
import type { Oid, RunId, TaskId, Tier } from '../contract.ts'
import { TIERS } from '../plan/schema.ts'
import { type Domain, domainOf } from './domains.ts'
import { readJournal } from './journal.ts'
import { readPlan } from './plans.ts'
import { RunStore } from './store.ts'
import { allStoredAnswers, type StoredAnswer } from './stored-answer.ts'

/** The statistics of one model in one tier. */
type StatsRow = {
  /** `unknown` for answers that an older version stored without their tier. */
  tier: Tier | 'unknown'
  model: string
  /** Finished tasks whose first attempt this model wrote. `firstTry`: those of them that passed by that attempt. */
  tasks: number
  firstTry: number
  /** Answered requests of all kinds, and their usage; no cost where a price is unknown. */
  requests: number
  input: number
  output: number
  cost?: number
  /** Answered requests by kind of step. `good`: those whose step ended well, so that nothing had to be asked again. */
  kinds: Record<string, { requests: number; good: number }>
  /** Finished tasks by domain: how many (`tasks`), and how many of them passed at the first attempt (`firstTry`). */
  domains: Partial<Record<Domain, { tasks: number; firstTry: number }>>
}

/** The kinds of steps that write an attempt; reviews do not count. */
const WRITING: readonly string[] = ['outline', 'implement']

/** The statistics of runs that were read before, with the commit of the run's store. */
export type KnownStats = Map<RunId, { tip: Oid; rows: StatsRow[] }>

/**
 * Reads runs in the given order; with `enough`, stops after that many answers. A run in `known` is read again only
 * where its store has changed.
 */
export async function readStats(
  objects: Objects,
  runs: readonly RunId[],
  { enough = Number.POSITIVE_INFINITY, known = new Map() }: { enough?: number; known?: KnownStats } = {},
): Promise<StatsRow[]> {
  const rows = new Map<string, StatsRow>()
  let seen = 0
  for (const run of runs) {
    if (seen >= enough) break
    const store = new RunStore(objects, run)
    const tip = (await objects.info(store.ref))?.oid ?? ''
    const before = known.get(run)
    const own = before?.tip === tip ? before.rows : await readRun(store)
    known.set(run, { tip, rows: own })
    for (const row of own) {
      seen += row.requests
      addTo(rowOf(rows, row), row)
    }
  }
  const rank = ({ tier }: StatsRow): number => (tier === 'unknown' ? -1 : TIERS.indexOf(tier))
  return [...rows.values()].sort((a, b) => rank(b) - rank(a) || (a.model < b.model ? -1 : 1))
}

/** The statistics of one run. */
async function readRun(store: RunStore): Promise<StatsRow[]> {
  const rows = new Map<string, StatsRow>()
  const [answers, lines, plan] = await Promise.all([
    allStoredAnswers(store),
    readJournal(store),
    readPlan(store).catch(() => undefined),
  ])
  const good = stepsThatEndedWell(lines)
  for (const answer of answers) countAnswer(rowOf(rows, answer), answer, good.has(answer.step))
  for (const [task, hasPassed] of firstEnds(lines)) {
    const writer = firstWriter(answers, task)
    if (!writer) continue
    const row = rowOf(rows, writer)
    row.tasks++
    if (hasPassed) row.firstTry++
    const planned = plan?.tasks.find(({ id }) => id === task)
    const domain = planned && domainOf(planned)
    if (!domain) continue
    const count = row.domains[domain] ?? { tasks: 0, firstTry: 0 }
    row.domains[domain] = { tasks: count.tasks + 1, firstTry: count.firstTry + (hasPassed ? 1 : 0) }
  }
  return [...rows.values()]
}

/** Adds the counts of a row to those of another one of the same tier and model. */
function addTo(row: StatsRow, more: StatsRow): void {
  row.tasks += more.tasks
  row.firstTry += more.firstTry
  row.requests += more.requests
  row.input += more.input
  row.output += more.output
  if (more.cost !== undefined) row.cost = (row.cost ?? 0) + more.cost
  for (const [kind, { requests, good }] of Object.entries(more.kinds)) {
    const count = row.kinds[kind] ?? { requests: 0, good: 0 }
    row.kinds[kind] = { requests: count.requests + requests, good: count.good + good }
  }
  for (const [name, { tasks, firstTry }] of Object.entries(more.domains)) {
    const count = row.domains[name as Domain] ?? { tasks: 0, firstTry: 0 }
    row.domains[name as Domain] = { tasks: count.tasks + tasks, firstTry: count.firstTry + firstTry }
  }
}

function rowOf(
  rows: Map<string, StatsRow>,
  { model, tier = 'unknown' }: { model: string; tier?: StatsRow['tier'] | undefined },
): StatsRow {
  const key = `${tier} ${model}`
  const none = { tasks: 0, firstTry: 0, requests: 0, input: 0, output: 0, kinds: {}, domains: {} }
  const row: StatsRow = rows.get(key) ?? { tier, model, ...none }
  rows.set(key, row)
  return row
}

function countAnswer(row: StatsRow, { usage, kind = 'unknown' }: StoredAnswer, isGood: boolean): void {
  const count = row.kinds[kind] ?? { requests: 0, good: 0 }
  row.kinds[kind] = { requests: count.requests + 1, good: count.good + (isGood ? 1 : 0) }
  row.requests++
  row.input += usage.input
  row.output += usage.output
  if (usage.cost !== undefined) row.cost = (row.cost ?? 0) + usage.cost
}

/** The names of the steps that ended well, by the journal. */
function stepsThatEndedWell(lines: readonly WrittenLine[]): Set<string> {
  const ended = lines.flatMap(({ id, what }) =>
    what === 'success' ? (/^(.+) ends [0-9a-f]{12}$/.exec(id)?.[1] ?? []) : [],
  )
  return new Set(ended)
}

/** For each task whose first attempt has ended: whether it passed. */
function firstEnds(lines: readonly WrittenLine[]): Map<TaskId, boolean> {
  const ends = new Map<TaskId, boolean>()
  for (const { task, attempt = 0, what } of lines) {
    if (task === undefined) continue
    if (attempt === 1 && what === 'passed') ends.set(task, true)
    else if (!ends.has(task) && (attempt > 1 || what === 'failed')) ends.set(task, false)
  }
  return ends
}

/**
 * The first writing step (in the order of step names) of a task's first attempt. Its model and tier count for the whole
 * attempt, since all writing steps of an attempt have the same tier.
 */
function firstWriter(answers: readonly StoredAnswer[], task: TaskId): StoredAnswer | undefined {
  const [first] = answers
    .filter(it => it.task === task && it.attempt === 1 && WRITING.includes(it.kind ?? ''))
    .sort((a, b) => (a.step < b.step ? -1 : 1))
  return first
}

/** The rows as a table with a heading and an explanation of its columns; empty where there are no rows. */
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
    ...rows.flatMap(sharesOf),
  ]
}

/** How a model of a tier did by kind of step and by domain, with the number of samples. */
function sharesOf({ tier, model, kinds, domains }: StatsRow): string[] {
  const share = (of: number, all: number) => `${Math.round((100 * of) / all)}% of ${all.toLocaleString('en')}`
  const byKind = Object.entries(kinds).map(([kind, { requests, good }]) => `${kind} ${share(good, requests)}`)
  const byDomain = Object.entries(domains).map(([name, { tasks, firstTry }]) => `${name} ${share(firstTry, tasks)}`)
  const parts = [
    byDomain.length > 0 && `at the first try by domain: ${byDomain.sort().join(', ')}`,
    byKind.length > 0 && `steps that ended well by kind: ${byKind.sort().join(', ')}`,
  ].filter(Boolean)
  return parts.length === 0 ? [] : [`${tier} ${visible(model)}: ${parts.join('; ')}.`]
}

/** The table for planners is made of at most this many answers, of the newest runs, which are read within a second. */
const ENOUGH_TO_PLAN = 3000

/** The table for planners; undefined where no task has ended yet. */
export async function statsForPlanners(
  objects: Objects,
  runs: readonly RunId[],
  known: KnownStats = new Map(),
): Promise<string | undefined> {
  const rows = await readStats(objects, runs, { enough: ENOUGH_TO_PLAN, known })
  if (rows.every(({ tasks }) => tasks === 0)) return undefined
  return statsTable(rows).join('\n')
}
