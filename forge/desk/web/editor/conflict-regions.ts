/**
 * Conflicts in a text, between marks of exactly so many characters as the server says: only these are ours. Lines that
 * look alike with more or fewer are the file's own. Places are offsets in the text, whose lines end with \n.
 */
import { type Change, diff } from '@codemirror/merge'

/** One conflict. `from` is where its first mark begins, `to` the end of its last mark's line, without the line end. */
export interface ConflictRegion {
  from: number
  to: number
  /** What each side has there, whole lines. `base` is undefined where somebody has taken out its mark. */
  ours: string
  base: string | undefined
  theirs: string
}

/** The line of a mark that belongs to no conflict. */
export interface StrayMark {
  from: number
  to: number
  /** Counted from 1. */
  line: number
}

export interface Conflicts {
  regions: ConflictRegion[]
  strays: StrayMark[]
}

export type SideChoice = 'ours' | 'theirs' | 'both'

interface MarkLine {
  sign: string
  from: number
  to: number
  /** Where the next line begins. */
  next: number
}

/** Which signs may follow which. The base's own mark may be missing. */
const FOLLOWING: Record<string, string> = { '': '<', '<': '|=', '|': '=', '=': '>' }

/** All conflicts of a text, and the marks that are left over. */
export function parseConflicts(text: string, mark: number): Conflicts {
  const regions: ConflictRegion[] = []
  const strays: MarkLine[] = []
  let open: MarkLine[] = []
  for (const line of markLines(text, mark)) {
    const expected = FOLLOWING[open.at(-1)?.sign ?? ''] ?? ''
    if (!expected.includes(line.sign)) {
      // What was begun has no end: a conflict may begin anew here.
      strays.push(...open)
      open = []
      if (line.sign === '<') open = [line]
      else strays.push(line)
      continue
    }
    open.push(line)
    if (line.sign !== '>') continue
    regions.push(regionOf(text, open))
    open = []
  }
  strays.push(...open)
  strays.sort((one, other) => one.from - other.from)
  return { regions, strays: numbered(text, strays) }
}

/** The line, counted from 1, in which the first conflict of a text begins; undefined where there is none. */
export function firstConflictLine(text: string, mark: number): number | undefined {
  const [first] = parseConflicts(text, mark).regions
  return first && text.slice(0, first.from).split('\n').length
}

/** The lines that are a mark: its characters, and then a blank with words, or nothing. */
function markLines(text: string, mark: number): MarkLine[] {
  const pattern = new RegExp(
    `(?<=^|\\n)(?:<{${mark}}|\\|{${mark}}|={${mark}}|>{${mark}})(?= |\\r?(?:\\n|$))[^\\n]*`,
    'g',
  )
  return [...text.matchAll(pattern)].map(({ 0: line, index }) => {
    const to = index + line.length
    return { sign: line[0] ?? '', from: index, to, next: Math.min(to + 1, text.length) }
  })
}

function regionOf(text: string, lines: MarkLine[]): ConflictRegion {
  const [first, last] = [lines[0], lines.at(-1)] as [MarkLine, MarkLine]
  const behind = (sign: string): string | undefined => {
    const at = lines.findIndex(line => line.sign === sign)
    const [line, following] = [lines[at], lines[at + 1]]
    return line && following && text.slice(line.next, following.from)
  }
  return {
    from: first.from,
    to: last.to,
    ours: behind('<') ?? '',
    base: behind('|'),
    theirs: behind('=') ?? '',
  }
}

function numbered(text: string, strays: MarkLine[]): StrayMark[] {
  let [line, at] = [1, 0]
  return strays.map(({ from, to }) => {
    for (let end = text.indexOf('\n', at); end >= 0 && end < from; end = text.indexOf('\n', at)) {
      line++
      at = end + 1
    }
    return { from, to, line }
  })
}

/** Where the line behind a conflict begins: all before it is the conflict's. */
export function endOf(text: string, { to }: ConflictRegion): number {
  return Math.min(to + 1, text.length)
}

/** What stands in a conflict's place when it is settled: ours first, where both are wanted. */
export function chosen({ ours, theirs }: ConflictRegion, choice: SideChoice): string {
  if (choice === 'ours') return ours
  if (choice === 'theirs') return theirs
  const isCut = ours !== '' && theirs !== '' && !ours.endsWith('\n')
  return isCut ? `${ours}\n${theirs}` : ours + theirs
}

/** Whether the sides' own texts end with a line end. */
export interface FinalNewlines {
  ours: boolean
  theirs: boolean
}

/**
 * The edit that settles a conflict. Git ends the last line of each side so that a mark can follow: where the conflict
 * is the end of the file, the last line ends as the side's own does.
 */
export function settling(
  text: string,
  region: ConflictRegion,
  choice: SideChoice,
  ends: FinalNewlines,
): { from: number; to: number; insert: string } {
  const to = endOf(text, region)
  const words = chosen(region, choice)
  const isLast = to === text.length
  const last = choice === 'both' ? (region.theirs === '' ? 'ours' : 'theirs') : choice
  const insert = isLast && !ends[last] ? words.replace(/\r?\n$/, '') : words
  return { from: region.from, to, insert }
}

/** How a conflict was settled, by what stands in its place now. */
export function wordsOfSettled(region: ConflictRegion, now: string): string {
  const is = (words: string) => now.replace(/\r?\n$/, '') === words.replace(/\r?\n$/, '')
  if (is(region.ours)) return 'Ours'
  if (is(region.theirs)) return 'Theirs'
  if (is(chosen(region, 'both'))) return 'Both'
  if (region.base !== undefined && is(region.base)) return 'Base'
  return now.trim() === '' ? 'Neither' : 'Edited by hand'
}

// A bound on the work of one comparison: beyond it, places are coarser.
const DIFF = { scanLimit: 500, timeout: 50 }
/** Each line that is different from all others becomes one character: there are not more. */
const MAX_DISTINCT_LINES = 0xd800

/** Where the conflicts of a text are in what has become of it: a place each, or none at all in an enormous file. */
export function placesAfter(
  before: string,
  regions: readonly ConflictRegion[],
  after: string,
): { from: number; to: number }[] {
  const known = new Map<string, number>()
  const [one, other] = [before, after].map(text => linesAsCharacters(text, known)) as [Coded, Coded]
  if (known.size >= MAX_DISTINCT_LINES) return []
  const changes = diff(one.code, other.code, DIFF)
  return regions.map(region => {
    const [first, behind] = [lineAt(one, region.from), lineAt(one, endOf(before, region))]
    const { from, to } = placeOf({ from: first, to: behind }, changes)
    return { from: other.starts[from] ?? after.length, to: other.starts[to] ?? after.length }
  })
}

interface Coded {
  /** One character for each line. */
  code: string
  starts: number[]
}

function linesAsCharacters(text: string, known: Map<string, number>): Coded {
  const starts: number[] = []
  let [code, at] = ['', 0]
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const number = known.get(line) ?? known.size
    known.set(line, number)
    code += String.fromCharCode(number % MAX_DISTINCT_LINES)
    starts.push(at)
    at += line.length
  }
  return { code, starts }
}

/** The number of the line that begins at or behind an offset, from 0. */
function lineAt({ starts }: Coded, offset: number): number {
  const index = starts.findIndex(start => start >= offset)
  return index < 0 ? starts.length : index
}

type Replaced = Pick<Change, 'fromA' | 'toA' | 'fromB' | 'toB'>

/** Where the lines from..to are after some changes. What was put in right before or behind them is no part of it. */
function placeOf(
  { from, to }: { from: number; to: number },
  changes: readonly Replaced[],
): { from: number; to: number } {
  let [before, behind] = [from, to]
  for (const { fromA, toA, fromB, toB } of changes) {
    if (toA <= from) {
      before = from + toB - toA
      behind = to + toB - toA
    } else if (fromA < to) {
      if (fromA <= from) before = fromB
      behind = toA >= to ? toB : to + toB - toA
    }
  }
  return { from: before, to: Math.max(before, behind) }
}

/** What of a text is code: all but its conflicts, and of those our side, or theirs where we have nothing. */
export function outsideConflicts(text: string, mark: number): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = []
  let at = 0
  for (const region of parseConflicts(text, mark).regions) {
    const { ours, theirs } = region
    const behindFirst = text.indexOf('\n', region.from) + 1
    const beforeLast = text.lastIndexOf('\n', region.to - 1) + 1
    const side =
      ours === ''
        ? { from: beforeLast - theirs.length, to: beforeLast }
        : { from: behindFirst, to: behindFirst + ours.length }
    ranges.push({ from: at, to: region.from }, side)
    at = endOf(text, region)
  }
  ranges.push({ from: at, to: text.length })
  const filled = ranges.filter(({ from, to }) => to > from)
  return filled.length > 0 ? filled : [{ from: 0, to: 0 }]
}
