/**
 * Reads and writes conflict markers in git's diff3 style. Texts have one character per byte (latin1), so that untouched
 * lines keep their bytes.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { visiblePath } from '../text.ts'
import type { Repository } from './repository.ts'
import { run } from './run.ts'

/**
 * Lines outside of conflicts, or a conflict: the lines of each side and of the common ancestor. `lines` has the markers
 * too.
 */
export type MarkedPart = { same: string } | { ours: string; base: string; theirs: string; lines: string }

/** The length of conflict markers that git uses by default. */
export const USUAL_MARK_LENGTH = 7
/** The byte order mark of UTF-8. It stands before the first line, and is in no side of a conflict. */
const BOM = '\xef\xbb\xbf'
/** A pattern for a byte order mark that may stand before a marker: only at the start of a file there is one. */
const ANY_BOM = `(?:${BOM})?`
/** `git merge-file` exits with the number of conflicts, up to 127. */
const CODES = Array.from({ length: 128 }, (_, at) => at)

/**
 * Gives a length for conflict markers that no line of the texts can be mistaken for: at least git's 7, and one more
 * than the longest run of marker characters that a line begins with.
 */
export function markLength(sides: readonly (Uint8Array | undefined)[]): number {
  const texts = sides.map(bytes => Buffer.from(withoutBom(bytes ?? new Uint8Array())).toString('latin1'))
  const runs = texts.flatMap(text => [...text.matchAll(/^([<=>|])\1{6,}/gm)].map(([marks]) => marks.length))
  return runs.length === 0
    ? USUAL_MARK_LENGTH
    : runs.reduce((most, length) => Math.max(most, length), USUAL_MARK_LENGTH) + 1
}

export type Sides = { base: Uint8Array | undefined; ours: Uint8Array; theirs: Uint8Array }

/**
 * Merges two versions of a text line by line, with markers around conflicts. `labels` (byte strings) stand behind the
 * markers. Throws a GitError where a version is binary.
 */
export async function mergeWithMarks(
  repository: Repository,
  { base, ours, theirs }: Sides,
  labels: { ours: string; theirs: string },
  length: number,
): Promise<Buffer> {
  const folder = await mkdtemp(join(repository.temporary, 'conflict-'))
  const bom = mergedBom(base, ours, theirs)
  try {
    const files = { ours: withoutBom(ours), base: withoutBom(base ?? new Uint8Array()), theirs: withoutBom(theirs) }
    await Promise.all(Object.entries(files).map(([name, bytes]) => writeFile(join(folder, name), bytes)))
    const words = [labels.ours, 'base', labels.theirs].flatMap(label => ['-L', visiblePath(label)])
    const how = ['-p', ...(base ? ['--diff3'] : []), `--marker-size=${length}`]
    const where = { ...repository, cwd: folder }
    // Without --diff3, git takes the style of the person's configuration.
    const args = ['-c', 'merge.conflictStyle=merge', 'merge-file', ...how, ...words, 'ours', 'base', 'theirs']
    const { stdout } = await run(where, args, { ok: CODES })
    const marked = base ? withoutAgreed(stdout, length) : withEmptyBases(stdout, length)
    return Buffer.concat([Buffer.from(bom, 'latin1'), marked])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const bomOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.subarray(0, BOM.length)).toString('latin1') === BOM ? BOM : ''

const withoutBom = (bytes: Uint8Array): Uint8Array => bytes.subarray(bomOf(bytes).length)

/** The byte order mark of a merge: a side that has added or removed it decides. */
function mergedBom(base: Uint8Array | undefined, ours: Uint8Array, theirs: Uint8Array): string {
  const [one, other] = [bomOf(ours), bomOf(theirs)]
  if (one === other) return one
  return base !== undefined && bomOf(base) === one ? other : one
}

/**
 * Removes the markers where both sides made the same change: diff3 style marks these too, though there is no conflict.
 */
function withoutAgreed(bytes: Buffer, length: number): Buffer {
  const parts = markedPartsOf(bytes.toString('latin1'), length)
  if (!parts) return bytes
  const text = parts.map(part => ('same' in part ? part.same : part.ours === part.theirs ? part.ours : part.lines))
  return Buffer.from(text.join(''), 'latin1')
}

/**
 * Adds an empty base to conflicts without one. Where both sides added a file, git compares the sides themselves only
 * without the diff3 style: with it, the whole file is one conflict.
 */
function withEmptyBases(bytes: Buffer, length: number): Buffer {
  const middle = new RegExp(`^={${length}}(\\r?\\n)`, 'gm')
  return Buffer.from(bytes.toString('latin1').replace(middle, `${'|'.repeat(length)} base$1$&`), 'latin1')
}

/** Three sides of one conflict as lines with markers, each side ended by a line end. */
export function withMarks(
  { ours, base, theirs }: { ours: string; base: string; theirs: string },
  labels: { ours: string; theirs: string },
  length: number,
): string {
  const [begin, middle, then, end] = ['<', '|', '=', '>'].map(char => char.repeat(length))
  const [one, from, other] = [ours, base, theirs].map(side => (side === '' || side.endsWith('\n') ? side : `${side}\n`))
  return `${begin} ${labels.ours}\n${one}${middle} base\n${from}${then}\n${other}${end} ${labels.theirs}\n`
}

const mark = (char: string, length: number): RegExp => new RegExp(`^[${char}]{${length}}(?: .*)?\\r?\\n?$`)

/**
 * Splits a text with markers into parts; undefined where the markers do not match up. A byte order mark before the
 * first marker is a part of its own.
 */
export function markedPartsOf(text: string, length: number): MarkedPart[] | undefined {
  if (text.startsWith(BOM)) {
    const parts = markedPartsOf(text.slice(BOM.length), length)
    const [first] = parts ?? []
    if (first && 'same' in first) first.same = BOM + first.same
    else parts?.unshift({ same: BOM })
    return parts
  }
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const [begin, middle, then, end] = ['<', '|', '=', '>'].map(char => mark(char, length)) as [
    RegExp,
    RegExp,
    RegExp,
    RegExp,
  ]
  const parts: MarkedPart[] = []
  let same: string[] = []
  let at = 0
  const until = (pattern: RegExp): string | undefined => {
    const found: string[] = []
    for (; at < lines.length; at++) {
      const line = lines[at] ?? ''
      if (pattern.test(line)) {
        at++
        return found.join('')
      }
      if ([begin, middle, then, end].some(it => it.test(line))) return undefined
      found.push(line)
    }
    return undefined
  }
  while (at < lines.length) {
    const line = lines[at] ?? ''
    if (!begin.test(line)) {
      if ([middle, then, end].some(it => it.test(line))) return undefined
      same.push(line)
      at++
      continue
    }
    const first = at++
    const [ours, base, theirs] = [until(middle), until(then), until(end)]
    if (ours === undefined || base === undefined || theirs === undefined) return undefined
    if (same.length > 0) parts.push({ same: same.join('') })
    same = []
    parts.push({ ours, base, theirs, lines: lines.slice(first, at).join('') })
  }
  if (same.length > 0) parts.push({ same: same.join('') })
  return parts
}

/** Whether the last line of a text is the last marker of a conflict. */
export function endsInConflict(text: string, length: number): boolean {
  const last = markedPartsOf(text, length)?.at(-1)
  return last !== undefined && 'ours' in last
}

/** Counts the conflicts left in a text; a stray marker line counts as one. */
export function marksLeft(text: string, length: number): number {
  const counts = ['<', '|', '=', '>'].map(
    char => text.match(new RegExp(`^${ANY_BOM}[${char}]{${length}}(?= |\\r?$)`, 'gm'))?.length ?? 0,
  )
  return Math.max(...counts)
}

/** The line number of the first marker, from 1. */
export function firstMark(text: string, length: number): number | undefined {
  const at = text.search(new RegExp(`^${ANY_BOM}([<|=>])\\1{${length - 1}}(?= |\\r?$)`, 'm'))
  return at < 0 ? undefined : text.slice(0, at).split('\n').length
}

/** The conflicts of a text: the numbers of their first and last lines, from 1, and how many lines our side has. */
export function conflictLines(text: string, length: number): { first: number; last: number; ours: number }[] {
  const lines = (text.startsWith(BOM) ? text.slice(BOM.length) : text).split('\n')
  const found: { first: number; last: number; ours: number }[] = []
  for (let at = 0; at < lines.length; at++) {
    const isMark = MARK.exec(lines[at] ?? '')?.[1]?.length === length
    const places = isMark ? conflictFrom(lines, at) : undefined
    if (!places) continue
    const [middle, , end] = places
    found.push({ first: at + 1, last: end + 1, ours: middle - at - 1 })
    at = end
  }
  return found
}

/** Resolves all conflicts left in a text with one side; undefined where the markers do not match up. */
export function withSide(text: string, length: number, side: 'ours' | 'base' | 'theirs'): string | undefined {
  const parts = markedPartsOf(text, length)
  return parts?.map(part => ('same' in part ? part.same : part[side])).join('')
}

/** Resolves all conflicts left in a text with both sides: ours, then theirs. */
export function withBoth(text: string, length: number): string | undefined {
  const parts = markedPartsOf(text, length)
  return parts?.map(part => ('same' in part ? part.same : lineEnded(part.ours, part.theirs))).join('')
}

/** Two texts one after the other, the first with a line end. */
export const lineEnded = (one: string, other: string): string =>
  one === '' || one.endsWith('\n') || other === '' ? one + other : `${one}\n${other}`

/** A line with markers, its sign and their length. */
const MARK = /^(([<|=>])\2{6,})(?: .*)?\r?$/

/**
 * Leaves of each conflict its one side, with empty lines in place of the markers and the rest: all lines keep their
 * numbers, and the text can be read as code. That side is ours, or theirs if ours is empty. Unlike markedPartsOf, this
 * takes the markers of any program: of any length, without a base, and beside lines that only look like markers.
 */
export function withOneSideInPlace(text: string): string {
  if (!/^<{7}/m.test(text)) return text
  const lines = text.split('\n')
  let at = 0
  while (at < lines.length) {
    const places = conflictFrom(lines, at)
    if (!places) {
      at++
      continue
    }
    const [middle = at, then = at, end = at] = places
    const [from, to] = middle === at + 1 ? [then, end] : [at, middle]
    for (let line = at; line <= end; line++) if (line <= from || line >= to) lines[line] = ''
    at = end + 1
  }
  return lines.join('\n')
}

/**
 * The lines at which our side, the base and their side end, of the conflict that begins at a line; undefined where none
 * does. The base may be missing.
 */
function conflictFrom(lines: readonly string[], at: number): [middle: number, then: number, end: number] | undefined {
  const [, marks = '', sign] = MARK.exec(lines[at] ?? '') ?? []
  if (sign !== '<') return undefined
  let middle: number | undefined
  let then: number | undefined
  for (let line = at + 1; line < lines.length; line++) {
    const [, found, kind] = MARK.exec(lines[line] ?? '') ?? []
    if (found?.length !== marks.length) continue
    if (kind === '|' && middle === undefined) middle = line
    else if (kind === '=' && then === undefined) then = line
    else if (kind === '>' && then !== undefined) return [middle ?? then, then, line]
    else return undefined
  }
  return undefined
}
