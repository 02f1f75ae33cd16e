/**
 * The results of evaluations, kept at refs/forge/evaluations: one file for each answer, by the hash of its request, so
 * that what was paid for is not asked again. Planners are given a table of them.
 */
import * as v from 'valibot'
import type { Objects } from '../../../core/git/objects.ts'
import type { Path } from '../../../core/git/repository.ts'
import { listFiles, type TreeChange } from '../../../core/git/trees.ts'
import { visible } from '../../../core/text.ts'
import { EVALUATIONS } from '../../formats/tasks-json.ts'
import { TIERS } from '../plan/schema.ts'
import { DOMAINS } from '../runs/domains.ts'
import { changeFilesAt } from '../runs/ref-files.ts'

/** At most this many results are read. MAX_BYTES: at most this many bytes of each. */
const MAX_RESULTS = 20_000
const MAX_BYTES = 64 << 10

/**
 * The judgement of an answer to a stored request. `key`: the hash of the request as it was sent. `of`: the hash of the
 * stored request that it was made from.
 */
export const EvaluationResult = v.object({
  key: v.string(),
  of: v.string(),
  run: v.string(),
  step: v.string(),
  kind: v.string(),
  tier: v.picklist(TIERS),
  domain: v.optional(v.picklist(DOMAINS)),
  model: v.string(),
  /** The version of the prompt. */
  prompt: v.number(),
  passes: v.boolean(),
  by: v.picklist(['parsing', 'edits', 'linter', 'checks']),
  words: v.optional(v.string()),
  input: v.number(),
  output: v.number(),
  cost: v.optional(v.number()),
  /** The seconds until the answer; undefined for answers from the runs themselves, which were not timed. */
  seconds: v.optional(v.number()),
})
export type EvaluationResult = v.InferOutput<typeof EvaluationResult>

const fileOf = ({ key }: Pick<EvaluationResult, 'key'>): Path => `${key.slice(0, 2)}/${key.slice(2)}.json`

export async function readResults(objects: Objects): Promise<EvaluationResult[]> {
  const tip = (await objects.info(EVALUATIONS))?.oid
  if (tip === undefined) return []
  const { files } = await listFiles(objects, tip, { limit: MAX_RESULTS })
  const texts = await Promise.all(files.map(({ oid }) => objects.read(oid, { limit: MAX_BYTES })))
  return texts.flatMap(object => {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), EvaluationResult), object?.bytes?.toString() ?? '')
    return parsed.success ? [parsed.output] : []
  })
}

export async function keepResult(objects: Objects, result: EvaluationResult): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(result)}\n`)
  const changes = new Map<Path, TreeChange>([[fileOf(result), { mode: '100644', bytes }]])
  const date = { seconds: Math.floor(Date.now() / 1000), zone: '+0000' }
  const who = { name: 'Forge', email: 'forge@localhost.invalid', date }
  await changeFilesAt(objects, EVALUATIONS, async () => changes, { words: `Evaluate ${result.model}`, who })
}

/** The results of one model for one kind of step. */
export type EvaluationRow = {
  kind: string
  model: string
  prompt: number
  /** How many answers were judged, and how many of them pass. */
  samples: number
  passes: number
  /** How many answers were judged by the checks in the container. */
  checked: number
  input: number
  output: number
  cost?: number
  /** The mean seconds of the answers that were timed. */
  seconds?: number
}

/** Sums up the results: one row for each combination of kind of step, model and version of the prompt. */
export function rowsOf(results: readonly EvaluationResult[]): EvaluationRow[] {
  const groups = Map.groupBy(results, ({ kind, model, prompt }) => `${kind}\0${model}\0${prompt}`)
  const rows = [...groups.values()].map((all): EvaluationRow => {
    const [{ kind, model, prompt }] = all as [EvaluationResult]
    const sum = (of: (it: EvaluationResult) => number | undefined) =>
      all.reduce((total, it) => total + (of(it) ?? 0), 0)
    const timed = all.filter(({ seconds }) => seconds !== undefined)
    const isPriced = all.some(({ cost }) => cost !== undefined)
    return {
      ...{ kind, model, prompt, samples: all.length },
      passes: all.filter(({ passes }) => passes).length,
      checked: all.filter(({ by }) => by === 'checks').length,
      input: sum(it => it.input),
      output: sum(it => it.output),
      ...(isPriced && { cost: sum(it => it.cost) }),
      ...(timed.length > 0 && { seconds: sum(it => it.seconds) / timed.length }),
    }
  })
  return rows.sort((a, b) => (`${a.kind} ${a.model}` < `${b.kind} ${b.model}` ? -1 : 1))
}

/** The rows as a table with a heading, and an explanation of its columns. */
export function evaluationTable(rows: readonly EvaluationRow[]): string[] {
  if (rows.length === 0) return []
  const number = (count: number) => count.toLocaleString('en')
  const cells = [
    ['kind', 'model', 'prompt', 'samples', 'pass', 'checked', 'read', 'written', 'cost', 'seconds'],
    ...rows.map(row => [
      row.kind,
      visible(row.model),
      `v${row.prompt}`,
      number(row.samples),
      `${number(row.passes)} (${Math.round((100 * row.passes) / row.samples)}%)`,
      number(row.checked),
      number(row.input),
      number(row.output),
      row.cost === undefined ? '-' : `$${row.cost.toFixed(row.cost < 0.1 ? 4 : 2)}`,
      row.seconds === undefined ? '-' : row.seconds.toFixed(1),
    ]),
  ]
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map(line => (line[at] ?? '').length)))
  const inColumns = (line: string[]) =>
    line.map((cell, at) => (at < 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')
  return [
    ...cells.map(line => inColumns(line).trimEnd()),
    'Kept requests of earlier runs, asked again. Pass: the answer can be read, its edits can be made, its plan is taken',
    'by the linter; for those that are "checked", the checks of the task passed in the container.',
  ]
}

/** The table for planners; undefined where nothing was evaluated. */
export async function evaluationsForPlanners(objects: Objects): Promise<string | undefined> {
  const rows = rowsOf(await readResults(objects))
  return rows.length === 0 ? undefined : evaluationTable(rows).join('\n')
}
