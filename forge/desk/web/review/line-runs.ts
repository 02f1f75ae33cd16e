/** The runs of changed lines in a diff, and the line ranges that a choice of these lines stands for. */
import type { LineRange } from '../../contract/values.ts'
import type { Diff, DiffLine } from './diff.ts'

/** Changed lines without unchanged ones between them: deleted ones first, then those added in their place. */
export interface LineRun {
  range: LineRange
  lines: DiffLine[]
}

/** Identifies a changed line within its diff. */
export const keyOfLine = ({ kind, before, after }: DiffLine): string =>
  kind === 'deleted' ? `-${before}` : `+${after}`

/** All runs of adjacent changed lines in a diff that was made without ignoring whitespace. */
export function runsOf({ parts }: Pick<Diff, 'parts'>): LineRun[] {
  const runs: LineRun[] = []
  let run: LineRun | undefined
  let [a, b] = [0, 0]
  for (const line of parts.flatMap(({ lines }) => lines)) {
    if (line.kind === 'same') {
      run = undefined
      a = line.before ?? a
      b = line.after ?? b
      continue
    }
    if (!run) {
      run = { range: { fromA: a, toA: a, fromB: b, toB: b }, lines: [] }
      runs.push(run)
    }
    if (line.kind === 'deleted') a++
    else b++
    run.lines.push(line)
    run.range = { ...run.range, toA: a, toB: b }
  }
  return runs
}

/**
 * The ranges that apply only the chosen lines. An added line comes after all deleted lines of its run, also those that
 * are not chosen and so stay.
 */
export function rangesOf(runs: readonly LineRun[], chosen: ReadonlySet<string>): LineRange[] {
  return runs.flatMap(({ range, lines }) => {
    const some = lines.filter(line => chosen.has(keyOfLine(line)))
    if (some.length === lines.length) return [range]
    return some.map((line): LineRange => {
      const { toA, fromB } = range
      const [before = 0, after = 0] = [line.before, line.after]
      if (line.kind === 'deleted') return { fromA: before - 1, toA: before, fromB, toB: fromB }
      return { fromA: toA, toA, fromB: after - 1, toB: after }
    })
  })
}
