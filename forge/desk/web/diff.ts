/** Two texts as the lines of a diff: what changed, line by line and word by word, and what may be folded between. */
import { Chunk } from '@codemirror/merge'
import { Text } from '@codemirror/state'

/** A bound on the work: beyond it the differences are coarser. */
const DIFF = { scanLimit: 1_000, timeout: 200 }
/** Unchanged lines that stay around a change. */
const CONTEXT = 3
/** Where more than this part of a line is new, marking its words would say nothing. */
const MOST_MARKED = 0.7
/** Fewer lines than this are not worth a fold. */
const SHORTEST_FOLD = 4

/** A place in a line, from and to. */
export type Range = [number, number]

export interface DiffLine {
  kind: 'same' | 'added' | 'deleted'
  /** Numbers in the text before and after, from one. */
  before: number | undefined
  after: number | undefined
  /** The words in it that changed. */
  words: Range[]
}

/** Lines that are shown, or unchanged ones that are folded. */
export interface DiffPart {
  kind: 'lines' | 'fold'
  lines: DiffLine[]
  /** Of a fold: the line that says what it is in. */
  where: string
}

export interface Diff {
  before: Text
  after: Text
  parts: DiffPart[]
  added: number
  deleted: number
  /** Whether the last line got a line end, or lost it. */
  end: 'added' | 'removed' | undefined
}

export function diffOf(before: string, after: string, ignoresBlanks: boolean): Diff {
  if (before === '' || after === '') return wholeOf(before, after)
  const one = textOf(before)
  const other = textOf(after)
  const chunks = Chunk.build(one, other, DIFF).filter(chunk => !ignoresBlanks || !isBlank(one, other, chunk))
  const parts: DiffPart[] = []
  let [line, shift] = [0, 0]
  let [added, deleted] = [0, 0]
  for (const [index, chunk] of chunks.entries()) {
    const start = lineIndex(one, chunk.fromA)
    parts.push(...unchanged(other, line, start, shift, { isFirst: index === 0, isLast: false }))
    const changed = changedLines(one, other, chunk)
    parts.push({ kind: 'lines', lines: changed, where: '' })
    line = lineIndex(one, chunk.toA)
    shift = lineIndex(other, chunk.toB) - line
    added += lineIndex(other, chunk.toB) - lineIndex(other, chunk.fromB)
    deleted += line - start
  }
  const end = ignoresBlanks ? Math.min(one.lines, other.lines - shift) : one.lines
  parts.push(...unchanged(other, line, end, shift, { isFirst: chunks.length === 0, isLast: true }))
  return { before: one, after: other, parts: joined(parts), added, deleted, end: endOf(before, after) }
}

/** A text that was not there, or is not any more: it has no lines, not one empty line. */
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
  return { before: one, after: other, parts, added: added.length, deleted: deleted.length, end: undefined }
}

/** What became of the line end at the end of the file. */
function endOf(before: string, after: string): Diff['end'] {
  const [had, has] = [before.endsWith('\n'), after.endsWith('\n')]
  if (had === has) return undefined
  return has ? 'added' : 'removed'
}

/** A text that ends with a line end has no line behind it. */
function textOf(text: string): Text {
  if (text === '') return Text.empty
  return Text.of((text.endsWith('\n') ? text.slice(0, -1) : text).split('\n'))
}

/** How many lines begin before a place. */
export function lineIndex(text: Text, at: number): number {
  if (text.length === 0 && at === 0) return 0
  return at > text.length ? text.lines : text.lineAt(at).number - 1
}

function isBlank(one: Text, other: Text, { fromA, endA, fromB, endB }: Chunk): boolean {
  const before = one.sliceString(fromA, Math.min(endA, one.length)).replace(/\s+/g, '')
  const after = other.sliceString(fromB, Math.min(endB, other.length)).replace(/\s+/g, '')
  return before === after
}

function changedLines(one: Text, other: Text, chunk: Chunk): DiffLine[] {
  const deleted = linesOf(one, chunk.fromA, chunk.toA).map((number): DiffLine => {
    const { from, to } = one.line(number)
    const words = chunk.changes.map(({ fromA, toA }): Range => [chunk.fromA + fromA, chunk.fromA + toA])
    return { kind: 'deleted', before: number, after: undefined, words: within(words, from, to) }
  })
  const added = linesOf(other, chunk.fromB, chunk.toB).map((number): DiffLine => {
    const { from, to } = other.line(number)
    const words = chunk.changes.map(({ fromB, toB }): Range => [chunk.fromB + fromB, chunk.fromB + toB])
    return { kind: 'added', before: undefined, after: number, words: within(words, from, to) }
  })
  // Where all of it is new, no word of it is more so than another.
  const isOneSided = deleted.length === 0 || added.length === 0
  return [...deleted, ...added].map(line => (isOneSided ? { ...line, words: [] } : line))
}

function linesOf(text: Text, from: number, to: number): number[] {
  const first = lineIndex(text, from)
  const count = lineIndex(text, to) - first
  return Array.from({ length: count }, (_, index) => first + index + 1)
}

/** The parts of ranges that are in a line, counted from its beginning; none where that is most of it. */
function within(ranges: Range[], from: number, to: number): Range[] {
  const inside = ranges.flatMap(([start, end]): Range[] => {
    const range: Range = [Math.max(start, from) - from, Math.min(end, to) - from]
    return range[0] < range[1] ? [range] : []
  })
  const marked = inside.reduce((sum, [start, end]) => sum + end - start, 0)
  return marked > MOST_MARKED * (to - from) ? [] : inside
}

interface Place {
  isFirst: boolean
  isLast: boolean
}

/** Unchanged lines from one to another, of which those far from a change are folded. */
function unchanged(after: Text, start: number, end: number, shift: number, { isFirst, isLast }: Place): DiffPart[] {
  const lines = Array.from({ length: Math.max(0, end - start) }, (_, index): DiffLine => {
    const before = start + index + 1
    return { kind: 'same', before, after: before + shift, words: [] }
  })
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

/** The last folded line that begins at the left with a word: a function or a class, mostly. */
function scopeOf(after: Text, folded: DiffLine[]): string {
  const line = folded.findLast(
    ({ after: number }) => number !== undefined && /^[\p{L}_$#]/u.test(textAt(after, number)),
  )
  if (line?.after === undefined) return ''
  return textAt(after, line.after)
    .replace(/\s*[{(:]?\s*$/, '')
    .slice(0, 100)
}

function textAt(text: Text, number: number): string {
  return number >= 1 && number <= text.lines ? text.line(number).text : ''
}

/** Lines beside lines are one part. */
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
