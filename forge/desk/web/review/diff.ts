/** Computes the lines of a diff: the changes by line and by word, and what can be folded between them. */
import { presentableDiff } from '@codemirror/merge'
import { Text } from '@codemirror/state'
import { differingLines, type Hunk } from '../../contract/line-diff.ts'
import type { Range } from '../ui/coloured.ts'

/** Limits of the comparison of words (characters to scan, milliseconds for a text); beyond them none are marked. */
const [MAX_SCANNED_CHARS, WORDS_TIMEOUT_MS] = [1_000, 200]
/** What git takes for white space. */
const BLANKS = /[ \t\r]+/g
/** The number of unchanged lines shown around a change. */
const CONTEXT = 3
/** If a larger share of a line is new, its words are not marked. */
const MAX_MARKED_SHARE = 0.7
/** Fewer lines than this are not folded. */
const SHORTEST_FOLD = 4

export interface DiffLine {
  kind: 'same' | 'added' | 'deleted'
  /** The line numbers in the old and the new text, from 1; undefined where the line is missing. */
  before: number | undefined
  after: number | undefined
  /** The ranges of the changed words. */
  words: Range[]
}

/** Lines to show, or unchanged lines to fold. */
export interface DiffPart {
  kind: 'lines' | 'fold'
  lines: DiffLine[]
  /** For a fold: the line that begins the function or class in which the fold ends. */
  where: string
}

export interface Diff {
  before: Text
  after: Text
  parts: DiffPart[]
  added: number
  deleted: number
  /** Whether the final line end was added or removed, where blanks are ignored: otherwise the last line says so. */
  end: 'added' | 'removed' | undefined
  /** Whether the last line of the old and of the new text has no line end. */
  isUnended: { before: boolean; after: boolean }
  /** The old and the new kind of line end, if all lines changed it. */
  lineEnds: [LineEnd, LineEnd] | undefined
}

export type LineEnd = 'LF' | 'CRLF'

/** Whether a changed line is the last one of its text and has no line end: git names that below the line. */
export function isWithoutNewline({ before, after, isUnended }: Diff, line: DiffLine): boolean {
  if (line.kind === 'deleted') return isUnended.before && line.before === before.lines
  return line.kind === 'added' && isUnended.after && line.after === after.lines
}

/** The number in `after` of a line of `before`; of a line that is gone, that of the next one which both have. */
export function lineIn(before: string, after: string, line: number): number {
  // A last line that only gets a line end, or loses it, is still there.
  const lines = diffOf(withEnd(before), withEnd(after), false).parts.flatMap(part => part.lines)
  const rest = lines.slice(lines.findIndex(it => it.before === line))
  return rest.find(({ kind }) => kind === 'same')?.after ?? lines.findLast(it => it.after !== undefined)?.after ?? 1
}

const withEnd = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/**
 * Compares two texts. `ignoresBlanks`: lines that differ in white space alone are equal, as by `git diff -w`.
 * Otherwise, a last line without a line end differs from the same line with one, as in git. If all lines of a text end
 * alike, their line end is not compared by line, but once for the whole text.
 */
export function diffOf(before: string, after: string, ignoresBlanks: boolean): Diff {
  const ends = [lineEndOf(before), lineEndOf(after)] as const
  const isUniform = !ends.includes('mixed')
  const diff = isUniform
    ? diffOfLines(withoutReturns(before), withoutReturns(after), ignoresBlanks)
    : diffOfLines(before, after, ignoresBlanks)
  const [one, other] = ends
  if (!isUniform || one === undefined || other === undefined || one === other) return diff
  return { ...diff, lineEnds: [one as LineEnd, other as LineEnd] }
}

function lineEndOf(text: string): LineEnd | 'mixed' | undefined {
  const hasCrlf = text.includes('\r\n')
  const hasLf = /(^|[^\r])\n/.test(text)
  if (hasCrlf && hasLf) return 'mixed'
  if (hasCrlf) return 'CRLF'
  return hasLf ? 'LF' : undefined
}

function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

function diffOfLines(before: string, after: string, ignoresBlanks: boolean): Diff {
  if (before === '' || after === '') return wholeOf(before, after)
  const [sideA, sideB] = [sideOf(before, ignoresBlanks), sideOf(after, ignoresBlanks)]
  const [one, other] = [sideA.shown, sideB.shown]
  const end = performance.now() + WORDS_TIMEOUT_MS
  const parts: DiffPart[] = []
  let same: DiffLine[] = []
  let [lineA, lineB] = [0, 0]
  let [added, deleted] = [0, 0]
  for (const hunk of slidHunks(sideA, sideB)) {
    const { fromA, toA, fromB, toB } = hunk
    same.push(...sameLines(lineA, lineB, fromB))
    lineA = toA
    lineB = toB
    parts.push(...unchanged(other, same, { isFirst: parts.length === 0, isLast: false }))
    parts.push({ kind: 'lines', lines: changedLines(one, other, hunk, end), where: '' })
    same = []
    added += toB - fromB
    deleted += toA - fromA
  }
  same.push(...sameLines(lineA, lineB, other.lines))
  parts.push(...unchanged(other, same, { isFirst: parts.length === 0, isLast: true }))
  return {
    before: one,
    after: other,
    parts: joined(parts),
    added,
    deleted,
    end: ignoresBlanks ? endOf(before, after) : undefined,
    isUnended: { before: isUnended(before), after: isUnended(after) },
    lineEnds: undefined,
  }
}

/**
 * The diff of a created or deleted text: the side on which it does not exist has no lines, rather than one empty line.
 */
function wholeOf(before: string, after: string): Diff {
  const one = textOf(before)
  const other = textOf(after)
  const numbers = (text: Text, whole: string) =>
    whole === '' ? [] : Array.from({ length: text.lines }, (_, index) => index + 1)
  const deleted = numbers(one, before).map((number): DiffLine => {
    return { kind: 'deleted', before: number, after: undefined, words: [] }
  })
  const added = numbers(other, after).map((number): DiffLine => {
    return { kind: 'added', before: undefined, after: number, words: [] }
  })
  const parts = joined([{ kind: 'lines', lines: [...deleted, ...added], where: '' }])
  return {
    before: one,
    after: other,
    parts,
    added: added.length,
    deleted: deleted.length,
    end: undefined,
    isUnended: { before: isUnended(before), after: isUnended(after) },
    lineEnds: undefined,
  }
}

/** Whether the final line end was added or removed. */
function endOf(before: string, after: string): Diff['end'] {
  if (isUnended(before) === isUnended(after)) return undefined
  return isUnended(before) ? 'added' : 'removed'
}

const isUnended = (text: string): boolean => !text.endsWith('\n')

/** Behind the last line of a text, where it has no line end. No text has this character: it would be binary. */
const NO_LINE_END = '\0'

/** A text to show, and its lines to compare: those are without white space, or with {@link NO_LINE_END}. */
interface Side {
  shown: Text
  lines: readonly string[]
}

function sideOf(text: string, ignoresBlanks: boolean): Side {
  const shown = textOf(text)
  const lines = shown.toJSON()
  if (ignoresBlanks) return { shown, lines: lines.map(line => line.replace(BLANKS, '')) }
  return { shown, lines: isUnended(text) ? lines.with(-1, `${lines.at(-1)}${NO_LINE_END}`) : lines }
}

/**
 * The hunks between two texts. Lines that were only added or only deleted can often begin at several places, where a
 * line after them is the same as their first one: they begin at the lowest of the least indented ones, so that a new
 * function is shown from its first line to its last.
 */
function slidHunks(one: Side, other: Side): Hunk[] {
  const hunks = differingLines(one.lines, other.lines)
  const slid: Hunk[] = []
  for (const [index, hunk] of hunks.entries()) {
    const { fromA, toA, fromB, toB } = hunk
    if (fromA < toA && fromB < toB) {
      slid.push(hunk)
      continue
    }
    const [{ lines, shown }, from, to] = fromA === toA ? [other, fromB, toB] : [one, fromA, toA]
    // A line stays between two hunks.
    const above = fromB - (slid.at(-1)?.toB ?? -1) - 1
    const below = (hunks[index + 1]?.fromB ?? other.lines.length + 1) - toB - 1
    let [first, last] = [0, 0]
    while (-first < above && lines[from + first - 1] === lines[to + first - 1]) first--
    while (last < below && lines[from + last] === lines[to + last]) last++
    const by = leastIndented(shown, from + first, from + last) - from
    slid.push({ fromA: fromA + by, toA: toA + by, fromB: fromB + by, toB: toB + by })
  }
  return slid
}

/** The last of the least indented lines from..to, by index; blank lines count as the most indented ones. */
function leastIndented(text: Text, from: number, to: number): number {
  let [least, at] = [Number.POSITIVE_INFINITY, to]
  for (let index = to; index >= from; index--) {
    const indentation = textAt(text, index + 1).search(/\S/)
    if (indentation < 0 || indentation >= least) continue
    least = indentation
    at = index
  }
  return at
}

/** Splits a text into lines; a final line end begins no empty line. */
function textOf(text: string): Text {
  if (text === '') return Text.empty
  return Text.of((text.endsWith('\n') ? text.slice(0, -1) : text).split('\n'))
}

function changedLines(one: Text, other: Text, hunk: Hunk, end: number): DiffLine[] {
  const { fromA, toA, fromB, toB } = hunk
  const words = changedWords(one, other, hunk, end)
  const deleted = numbersOf(fromA, toA).map((number): DiffLine => {
    const { from, to } = one.line(number)
    return { kind: 'deleted', before: number, after: undefined, words: within(words.before, from, to) }
  })
  const added = numbersOf(fromB, toB).map((number): DiffLine => {
    const { from, to } = other.line(number)
    return { kind: 'added', before: undefined, after: number, words: within(words.after, from, to) }
  })
  return [...deleted, ...added]
}

/** The changed words of a hunk in both texts. If lines were only added or only deleted, there are none. */
function changedWords(one: Text, other: Text, { fromA, toA, fromB, toB }: Hunk, end: number) {
  const timeout = end - performance.now()
  if (fromA === toA || fromB === toB || timeout <= 0) return { before: [], after: [] }
  const [startA, startB] = [one.line(fromA + 1).from, other.line(fromB + 1).from]
  const linesA = one.sliceString(startA, one.line(toA).to)
  const linesB = other.sliceString(startB, other.line(toB).to)
  const changes = presentableDiff(linesA, linesB, { scanLimit: MAX_SCANNED_CHARS, timeout })
  return {
    before: changes.map((it): Range => [startA + it.fromA, startA + it.toA]),
    after: changes.map((it): Range => [startB + it.fromB, startB + it.toB]),
  }
}

/** Line numbers, from 1, of a range of indices from 0. */
function numbersOf(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index + 1)
}

/** The parts of ranges inside a line, relative to its start; empty if they cover most of it. */
function within(ranges: Range[], from: number, to: number): Range[] {
  const inside = ranges.flatMap(([start, end]): Range[] => {
    const range: Range = [Math.max(start, from) - from, Math.min(end, to) - from]
    return range[0] < range[1] ? [range] : []
  })
  const marked = inside.reduce((sum, [start, end]) => sum + end - start, 0)
  return marked > MAX_MARKED_SHARE * (to - from) ? [] : inside
}

interface Place {
  isFirst: boolean
  isLast: boolean
}

/** Unchanged lines, up to an index in the new text. */
function sameLines(fromA: number, fromB: number, toB: number): DiffLine[] {
  return numbersOf(fromB, toB).map((after, index) => ({ kind: 'same', before: fromA + index + 1, after, words: [] }))
}

/** A run of unchanged lines; those far from a change are folded. */
function unchanged(after: Text, lines: DiffLine[], { isFirst, isLast }: Place): DiffPart[] {
  const head = isFirst ? 0 : CONTEXT
  const tail = isLast ? 0 : CONTEXT
  const folded = lines.slice(head, lines.length - tail)
  if (folded.length < SHORTEST_FOLD) return [{ kind: 'lines', lines, where: '' }]
  return [
    { kind: 'lines', lines: lines.slice(0, head), where: '' },
    { kind: 'fold', lines: folded, where: isLast ? '' : scopeOf(after, folded) },
    { kind: 'lines', lines: lines.slice(lines.length - tail), where: '' },
  ]
}

/**
 * The last folded line that starts with an unindented word: mostly a function or a class. As in git's hunk headers, it
 * needs no syntax, which the page would have to ask for, for the text of each side.
 */
function scopeOf(after: Text, folded: DiffLine[]): string {
  const line = folded.findLast(
    ({ after: number }) => number !== undefined && /^[\p{L}_$#]/u.test(textAt(after, number)),
  )
  if (line?.after === undefined) return ''
  return (
    textAt(after, line.after)
      // The colon of `:heart:` belongs to the line.
      .replace(/\s*(?:[{(]|(?<!\s:\w+):)?\s*$/, '')
      .slice(0, 100)
  )
}

/** A line of a text; '' where it has no such line. */
export function textAt(text: Text, number: number): string {
  return number >= 1 && number <= text.lines ? text.line(number).text : ''
}

/**
 * The parts of a fold of which some lines are shown: those that are opened, and the commented ones with as many lines
 * around them as around a change.
 */
export function partsOfFold(
  { after }: Pick<Diff, 'after'>,
  { lines, where }: DiffPart,
  isOpened: (line: DiffLine) => boolean,
  isCommented: (line: DiffLine) => boolean,
): DiffPart[] {
  const isShown = lines.map(isOpened)
  for (const [at, line] of lines.entries()) {
    if (isCommented(line)) isShown.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1)
  }
  const parts: DiffPart[] = []
  for (let from = 0, to = 0; from < lines.length; from = to) {
    to = isShown.indexOf(!isShown[from], from)
    if (to < 0) to = lines.length
    const run = lines.slice(from, to)
    const isFold = !isShown[from] && run.length >= SHORTEST_FOLD
    if (isFold) parts.push({ kind: 'fold', lines: run, where: to === lines.length ? where : scopeOf(after, run) })
    else parts.push({ kind: 'lines', lines: run, where: '' })
  }
  return joined(parts)
}

/** Joins adjacent parts that show lines, and drops empty parts. */
function joined(parts: DiffPart[]): DiffPart[] {
  const all: DiffPart[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if (part.lines.length === 0) continue
    if (part.kind === 'lines' && last?.kind === 'lines')
      all[all.length - 1] = { ...last, lines: [...last.lines, ...part.lines] }
    else all.push(part)
  }
  return all
}
