/** The runs of changed lines in a diff, and the line ranges that a choice of these lines stands for. */
import type { Text } from '@codemirror/state'
import type { LineRange } from '../../contract/values.ts'
import type { Diff, DiffLine } from './diff.ts'

/** Changed lines without unchanged ones between them: deleted ones first, then those added in their place. */
export interface LineRun {
  range: LineRange
  lines: DiffLine[]
  /** For each added line, the number of deleted lines of the run that it comes after: see {@link placesOf}. */
  places: number[]
}

/** Identifies a changed line within its diff. */
export const keyOfLine = ({ kind, before, after }: DiffLine): string =>
  kind === 'deleted' ? `-${before}` : `+${after}`

/** All runs of adjacent changed lines in a diff that was made without ignoring whitespace. */
export function runsOf({ parts, before, after }: Pick<Diff, 'parts' | 'before' | 'after'>): LineRun[] {
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
      run = { range: { fromA: a, toA: a, fromB: b, toB: b }, lines: [], places: [] }
      runs.push(run)
    }
    if (line.kind === 'deleted') a++
    else b++
    run.lines.push(line)
    run.range = { ...run.range, toA: a, toB: b }
  }
  const textsOf = (text: Text, from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => text.line(from + at + 1).text)
  return runs.map(({ lines, range }) => {
    const { fromA, toA, fromB, toB } = range
    return { lines, range, places: placesOf(textsOf(before, fromA, toA), textsOf(after, fromB, toB)) }
  })
}

/** Runs with more pairs of a deleted and an added line than this are not compared line by line. */
const MAX_PAIRS = 10_000
/** The share of words that two lines have in common, above which one is a new version of the other. */
const MIN_LIKENESS = 0.5

/**
 * For each added line, the number of deleted lines that it comes after, where only some of them are taken: an added
 * line comes directly after the deleted line that it is a new version of. One without comes after the deleted lines up
 * to that of the next added line.
 */
export function placesOf(deleted: readonly string[], added: readonly string[]): number[] {
  const places: number[] = added.map(() => deleted.length)
  if (deleted.length * added.length > MAX_PAIRS) return places
  const [old, now] = [deleted, added].map(texts => texts.map(wordsOf)) as [string[][], string[][]]
  // best[i][j]: the likeness of the best pairs of the deleted lines from i on with the added lines from j on.
  const best = deleted.concat('').map(() => new Array<number>(added.length + 1).fill(0))
  const at = (i: number, j: number) => best[i]?.[j] ?? 0
  const likeness = (i: number, j: number) => {
    const share = shareOf(old[i] ?? [], now[j] ?? [])
    return share > MIN_LIKENESS ? share : 0
  }
  for (let i = deleted.length - 1; i >= 0; i--) {
    const row = best[i] ?? []
    for (let j = added.length - 1; j >= 0; j--)
      row[j] = Math.max(likeness(i, j) + at(i + 1, j + 1), at(i + 1, j), at(i, j + 1))
  }
  for (let i = 0, j = 0; i < deleted.length && j < added.length; ) {
    const here = likeness(i, j)
    if (here > 0 && at(i, j) === here + at(i + 1, j + 1)) {
      places[j] = i + 1
      // Those before it that are a version of no line come before the deleted line of this one.
      for (let k = j - 1; k >= 0 && places[k] === deleted.length; k--) places[k] = i
      i++
      j++
    } else if (at(i, j) === at(i + 1, j)) i++
    else j++
  }
  return places
}

const wordsOf = (text: string): string[] => text.match(/\w+|[^\w\s]/g) ?? []

/** The share of words that two lines have in common, from 0 to 1. */
function shareOf(one: readonly string[], other: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const word of one) counts.set(word, (counts.get(word) ?? 0) + 1)
  let common = 0
  for (const word of other) {
    const count = counts.get(word) ?? 0
    if (count > 0) common++
    counts.set(word, count - 1)
  }
  return one.length + other.length === 0 ? 0 : (2 * common) / (one.length + other.length)
}

/** The ranges that apply only the chosen lines. Deleted lines that are not chosen stay, each at its place. */
export function rangesOf(runs: readonly LineRun[], chosen: ReadonlySet<string>): LineRange[] {
  return runs.flatMap(({ range, lines, places }) => {
    const isChosen = (line: DiffLine) => chosen.has(keyOfLine(line))
    if (lines.every(isChosen)) return [range]
    const { fromA, fromB } = range
    const deleted = lines.filter(({ kind }) => kind === 'deleted')
    const added = lines.filter(({ kind }) => kind === 'added')
    const ranges: LineRange[] = []
    let next = 0
    const addUpTo = (place: number) => {
      for (; next < added.length && (places[next] ?? 0) <= place; next++) {
        const [at, from] = [fromA + place, fromB + next]
        if (isChosen(added[next] as DiffLine)) ranges.push({ fromA: at, toA: at, fromB: from, toB: from + 1 })
      }
    }
    for (const [index, line] of deleted.entries()) {
      addUpTo(index)
      const [at, from] = [fromA + index, fromB + next]
      if (isChosen(line)) ranges.push({ fromA: at, toA: at + 1, fromB: from, toB: from })
    }
    addUpTo(deleted.length)
    return ranges
  })
}
