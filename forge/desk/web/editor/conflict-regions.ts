/**
 * Conflicts in a text. Only lines with markers of exactly the length that the server gives count; markers of other
 * lengths are content of the file. Positions are offsets in the text, whose lines end with \n.
 */
import { differingLines, linesOf, placeAfter, startsOf } from '../../contract/line-diff.ts'

/** A conflict: from the start of its first marker line to the end of its last one, without the line end. */
export interface ConflictRegion {
  from: number
  to: number
  /** The lines of each side. `base` is undefined if its marker was removed. */
  ours: string
  base: string | undefined
  theirs: string
}

/** A marker line that belongs to no conflict. */
export interface StrayMark {
  from: number
  to: number
  /** The character that the marker consists of. */
  sign: string
  /** The line number, from 1. */
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
  /** The offset at which the line after this one begins. */
  next: number
}

/** The markers that may follow each marker. The base's marker may be missing. */
const FOLLOWING: Record<string, string> = { '': '<', '<': '|=', '|': '=', '=': '>' }

/** Finds all conflicts of a text, and the markers that belong to none. */
export function parseConflicts(text: string, mark: number): Conflicts {
  const regions: ConflictRegion[] = []
  const strays: MarkLine[] = []
  let open: MarkLine[] = []
  for (const line of markLines(text, mark)) {
    const expected = FOLLOWING[open.at(-1)?.sign ?? ''] ?? ''
    if (!expected.includes(line.sign)) {
      // The conflict begun before has no end: a new one may begin here.
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

/** The line number, from 1, of the first conflict of a text; undefined if there is none. */
export function firstConflictLine(text: string, mark: number): number | undefined {
  const [first] = parseConflicts(text, mark).regions
  return first && text.slice(0, first.from).split('\n').length
}

/** The marker lines: a marker alone, or with a blank and words after it. */
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
  return strays.map(({ sign, from, to }) => {
    for (let end = text.indexOf('\n', at); end >= 0 && end < from; end = text.indexOf('\n', at)) {
      line++
      at = end + 1
    }
    return { sign, from, to, line }
  })
}

/** The offset after a conflict, including its line end. */
export function endOf(text: string, { to }: ConflictRegion): number {
  return Math.min(to + 1, text.length)
}

/** The text that resolves a conflict by a choice: for both sides, ours comes first. */
export function chosen({ ours, theirs }: ConflictRegion, choice: SideChoice): string {
  if (choice === 'ours') return ours
  if (choice === 'theirs') return theirs
  const isCut = ours !== '' && theirs !== '' && !ours.endsWith('\n')
  return isCut ? `${ours}\n${theirs}` : ours + theirs
}

/** Whether each side's own text ends with a line end. */
export interface FinalNewlines {
  ours: boolean
  theirs: boolean
}

/**
 * The edit that resolves a conflict. In a conflict at the end of the file, git adds a line end to each side so that a
 * marker can follow: the resolution ends as the chosen side's own text does.
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

/** Describes how a conflict was resolved, by comparing its range with its sides. */
export function wordsOfSettled(region: ConflictRegion, now: string): string {
  const is = (words: string) => now.replace(/\r?\n$/, '') === words.replace(/\r?\n$/, '')
  if (is(region.ours)) return 'Ours'
  if (is(region.theirs)) return 'Theirs'
  if (is(chosen(region, 'both'))) return 'Both'
  if (region.base !== undefined && is(region.base)) return 'Base'
  return now.trim() === '' ? 'Neither' : 'Edited'
}

/** Finds the conflicts of a text in its edited version: a range for each. */
export function placesAfter(
  before: string,
  regions: readonly ConflictRegion[],
  after: string,
): { from: number; to: number }[] {
  const [linesBefore, linesAfter] = [linesOf(before), linesOf(after)]
  const changes = differingLines(linesBefore, linesAfter)
  const [starts, startsAfter] = [startsOf(linesBefore), startsOf(linesAfter)]
  return regions.map(region => {
    const [first, behind] = [lineAt(starts, region.from), lineAt(starts, endOf(before, region))]
    const { from, to } = placeAfter({ from: first, to: behind }, changes)
    return { from: startsAfter[from] ?? after.length, to: startsAfter[to] ?? after.length }
  })
}

/** The index of the first line that begins at or after an offset. `starts`: where each line begins. */
function lineAt(starts: readonly number[], offset: number): number {
  const index = starts.findIndex(start => start >= offset)
  return index < 0 ? starts.length : index
}

/** The ranges to parse as code: all but the conflicts, and of each conflict our side, or theirs if ours is empty. */
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
