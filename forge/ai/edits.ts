/**
 * Makes a model's search-and-replace edits. They work on bytes, so that everything else in the file stays: line ends, a
 * BOM, Latin-1 text.
 */
import { lineAt, lineStarts, readableLine } from './lines.ts'
import { nearestLines } from './nearest.ts'
import {
  BOM,
  type FoundPlaces,
  findPlaces,
  hasBom,
  lengthOfCharacter,
  type Rung,
  type Shift,
  type TextPlace,
} from './places.ts'

export type TextEdit = { search: string; replace: string }

/** An edit that was made: `rung` is how its place was found, `line` its line in the new file. */
export type Made = { rung: Rung; line: number; added: number; deleted: number }

/**
 * Why an edit was not made. `none`, `several`: its search text was found not at all, or more than once. `same`: it
 * changes nothing. `there`: its replacement is in the file already. `empty`: its search text is empty. `overlap`: an
 * earlier edit of the same call has replaced the lines that it is for. `encoding`: it would mix encodings.
 * `indentation`: its place is indented differently, and its replacement can't be converted.
 */
export type Why = 'none' | 'several' | 'same' | 'there' | 'empty' | 'overlap' | 'encoding' | 'indentation'

/** `edit`: the index of the edit, from 0. `text`: tells the model what to do next. */
export type EditRefusal = { edit: number; why: Why; text: string }

/** The result of several edits: either all are made, or none. */
type EditOutcome = { bytes: Buffer; made: Made[] } | { refusals: EditRefusal[] }

/** At most this many refusals are explained, as each takes a search of the whole file. */
const MAX_REFUSALS = 3
const MAX_NAMED_LINES = 20
/** A replacement with at least this many characters is unlikely to be in the file by chance. */
const TELLING = 10

/** The bytes `from` to `to` of a file are replaced by `bytes`. */
type Hunk = { from: number; to: number; bytes: Buffer }

/** A file after some of the edits of a call. */
type State = {
  /** The file before the first edit. */
  original: Buffer
  bytes: Buffer
  /** The changes of each edit, with positions in the file as it was just before that edit. */
  applied: { edit: number; hunks: readonly Hunk[] }[]
}

/**
 * Makes edits one after the other, each on the result of the ones before. The search text of each must be found exactly
 * once, as {@link findPlaces} does. If it is not, the edit may have been written for the original file: it is made at
 * its place there, if the lines that it changes are still the same. Unchanged parts of an edit keep the file's bytes;
 * new lines get the line ends around them; a final line end, or its absence, stays.
 */
export function applyEdits(file: Buffer, edits: readonly TextEdit[]): EditOutcome {
  const refusals: EditRefusal[] = []
  const made: (Omit<Made, 'line'> & { at: number })[] = []
  const state: State = { original: file, bytes: file, applied: [] }
  for (const [edit, wanted] of edits.entries()) {
    const answer = applyEdit(state, wanted)
    if ('why' in answer) {
      refusals.push({ edit, ...answer })
      if (refusals.length === MAX_REFUSALS) break
      continue
    }
    const { hunks, rung, counts } = answer
    state.bytes = splice(state.bytes, hunks)
    state.applied.push({ edit, hunks })
    for (const earlier of made) earlier.at = movedBy(hunks, earlier.at)
    made.push({ rung, ...counts, at: hunks[0]?.from ?? 0 })
  }
  if (refusals.length > 0) return { refusals }
  const starts = lineStarts(state.bytes)
  return { bytes: state.bytes, made: made.map(({ at, ...rest }) => ({ ...rest, line: lineAt(starts, at) })) }
}

type Applied = { hunks: Hunk[]; rung: Rung; counts: { added: number; deleted: number } }
type Refused = Omit<EditRefusal, 'edit'>

function applyEdit(state: State, wanted: TextEdit): Applied | Refused {
  const { search, replace } = wanted
  if (search === '')
    return { why: 'empty', text: 'The search is empty: give the lines to be replaced, or write the whole file.' }
  if (search === replace) return { why: 'same', text: 'Search and replacement are identical: that changes nothing.' }
  if (!search.isWellFormed() || !replace.isWellFormed())
    return { why: 'encoding', text: 'There is half a character (a lone surrogate) in it: send whole characters.' }
  const { bytes } = state
  const located = locate(bytes, wanted) ?? locateInOriginal(state, wanted)
  if (!located) return refusalWithoutPlace(bytes, search, Buffer.from(replace))
  if ('why' in located) return located
  const { hunks, rung } = located
  const foreign = foreignTo(bytes, hunks)
  if (foreign) return { why: 'encoding', text: foreign }
  return { hunks, rung, counts: countWithin(bytes, hunks) }
}

type Located = { hunks: Hunk[]; rung: Rung }

/** The changes that an edit makes to a file, or its refusal; undefined where its search text is not found. */
function locate(file: Buffer, { search, replace }: TextEdit): Located | Refused | undefined {
  const [text, replacement] = [Buffer.from(search), Buffer.from(replace)]
  const found = findPlaces(file, text, indentsOf(replace))
  if (!found) return undefined
  const [place, another] = found.places
  if (!place || another) return { why: 'several', text: severalPlaces(file, found) }
  const hunks = hunksOf(file, place, text, replacement, found.rung)
  if (!hunks) return { why: 'indentation', text: shiftedTooFar(file, place) }
  if (hunks.every(({ from, to, bytes }) => file.subarray(from, to).equals(bytes))) {
    const words = `That changes nothing: line ${lineAt(lineStarts(file), place.from)} is like the replacement already.`
    return { why: 'same', text: words }
  }
  return { hunks, rung: found.rung }
}

/**
 * Locates an edit that was written for the file before the call: its context may include lines that an earlier edit
 * changed, as long as it leaves those lines alone itself.
 */
function locateInOriginal({ original, applied }: State, wanted: TextEdit): Located | Refused | undefined {
  if (applied.length === 0) return undefined
  const located = locate(original, wanted)
  if (!located || 'why' in located) return undefined
  const hunks: Hunk[] = []
  for (const hunk of located.hunks) {
    let { from, to } = hunk
    for (const { edit, hunks: earlier } of applied) {
      if (earlier.some(it => touches(it, from, to))) {
        const words = `Edit ${edit + 1} has changed its lines already: search for them as that edit leaves them.`
        return { why: 'overlap', text: words }
      }
      from = movedBy(earlier, from)
      to = movedBy(earlier, to)
    }
    hunks.push({ from, to, bytes: hunk.bytes })
  }
  return { hunks, rung: located.rung }
}

/** Whether a hunk and the bytes `from` to `to` overlap (also an empty range inside the other one), or are equal. */
const touches = (hunk: Hunk, from: number, to: number): boolean =>
  (hunk.from < to && from < hunk.to) || (hunk.from === from && hunk.to === to)

// --- Refusals

const OVERLOOKING: Record<Rung, string> = {
  exact: '',
  'line ends': 'with other line ends',
  'trailing blanks': 'without blanks at the ends of lines',
  indentation: 'with another indentation',
  punctuation: 'with other quotes and dashes',
}

function severalPlaces(file: Buffer, { rung, places }: FoundPlaces): string {
  const starts = lineStarts(file)
  const lines = [...new Set(places.slice(0, MAX_NAMED_LINES).map(({ from }) => lineAt(starts, from)))]
  const rest = places.length > MAX_NAMED_LINES ? ' and further ones' : ''
  const where = lines.length === 1 && !rest ? `all in line ${lines[0]}` : `in lines ${listed(lines)}${rest}`
  const how = rung === 'exact' ? 'The search' : `As it is, the search is nowhere; ${OVERLOOKING[rung]} it`
  return `${how} stands in ${places.length} places, ${where}: add lines before or after it until only one fits.`
}

const listed = (lines: readonly number[]): string =>
  lines.length < 2 ? lines.join('') : `${lines.slice(0, -1).join(', ')} and ${lines.at(-1)}`

function refusalWithoutPlace(file: Buffer, search: string, replacement: Buffer): Refused {
  const starts = lineStarts(file)
  // A replacement of a word or a bracket stands in any file by chance: finding it does not show that the edit is done.
  const isTelling = replacement.toString().trim().length >= TELLING
  const [there, another] = (isTelling && findPlaces(file, replacement)?.places) || []
  if (there && !another) {
    const words = `The search is nowhere, but the replacement is there already, in line ${lineAt(starts, there.from)}`
    return { why: 'there', text: `${words}: this edit is done, don't send it again.` }
  }
  return { why: 'none', text: `The search is nowhere in the file. ${nearestLines(file, starts, search)}` }
}

function shiftedTooFar(file: Buffer, { from }: TextPlace): string {
  const line = lineAt(lineStarts(file), from)
  return [
    `The search fits at line ${line} with another indentation,`,
    'but a line of the replacement has too little of it to be moved likewise:',
    'send both with the indentation of the file.',
  ].join(' ')
}

/** Why the bytes of `hunks` can't be written to a file in another encoding, as a sentence; undefined where they can. */
function foreignTo(file: Buffer, hunks: readonly Hunk[]): string | undefined {
  const isForeign = (byte: number) => byte > 0x7f
  if (!hunks.some(({ bytes }) => bytes.some(isForeign))) return undefined
  let single: number | undefined
  for (let at = file.findIndex(isForeign); at >= 0 && at < file.length; ) {
    const length = lengthOfCharacter(file, at)
    // A multi-byte UTF-8 character: the file is mostly UTF-8.
    if (length > 1) return undefined
    if (length === 0) single ??= at
    at += Math.max(length, 1)
  }
  if (single === undefined) return undefined
  const line = lineAt(lineStarts(file), single)
  return [
    `This file is no UTF-8 (see ${readableLine(file.subarray(single, single + 1))} in line ${line}),`,
    'and the replacement has letters beyond ASCII: they would make a mixture of it.',
    'Write them in ASCII, as escapes for example, or leave them out.',
  ].join(' ')
}

// --- What changes

/** The range `from` to `to` of the search text, and its replacement. */
type Gap = { from: number; to: number; text: string }

/**
 * The byte changes that put the replacement in the place of the search text; undefined where the replacement's
 * indentation can't be converted.
 */
function hunksOf(file: Buffer, place: TextPlace, search: Buffer, replacement: Buffer, rung: Rung): Hunk[] | undefined {
  let [old, young] = [search.toString('latin1'), replacement.toString('latin1')]
  // A search text with \r that was found exactly is taken literally.
  const isLiteral = rung === 'exact' && (old.includes('\r') || unified(old) === unified(young))
  if (isLiteral) return [hunkOf(file, place, old, { from: 0, to: old.length, text: young }, false)]
  young = unified(young)
  if (place.isAtOpenEnd) {
    old = old.replace(/\r?\n$/, '')
    young = young.replace(/\n$/, '')
  }
  const whole = place.isAtOpenEnd ? { ...place, at: atOpenEnd(place, old.length) } : place
  const gaps = gapsBetween(old, young)
  const isPlaced = gaps.every(({ from, to }) => whole.at(from) !== undefined && whole.at(to) !== undefined)
  const parts = isPlaced ? gaps : [{ from: 0, to: old.length, text: young }]
  const hunks: Hunk[] = []
  for (const gap of parts) {
    const text = whole.shift ? shifted(gap.text, whole.shift) : gap.text
    if (text === undefined) return undefined
    hunks.push(hunkOf(file, whole, old, { ...gap, text }, true))
  }
  return hunks
}

const unified = (text: string): string => text.replaceAll('\r\n', '\n')

/**
 * Wraps {@link TextPlace.at} for a search text with a final line end, found at the end of a file without one: maps the
 * end of the search text to the end of the file.
 */
const atOpenEnd =
  ({ at, to }: TextPlace, length: number): TextPlace['at'] =>
  position =>
    position === length ? to : at(position)

/**
 * A text with the indentation of each of its lines converted; blank lines stay. Undefined where that is not possible.
 */
function shifted(text: string, shift: Shift): string | undefined {
  const lines = text.split('\n').map(line => {
    const [indent = ''] = /^[ \t]*/.exec(line) ?? []
    if (indent.length === line.length) return line
    const other = shift(indent)
    return other === undefined ? undefined : other + line.slice(indent.length)
  })
  return lines.includes(undefined) ? undefined : lines.join('\n')
}

/** The differences between two texts by lines. Where as many lines are removed as added, they are paired. */
function gapsBetween(search: string, replacement: string): Gap[] {
  const [old, young] = [linesOf(search), linesOf(replacement)]
  const starts = [0]
  for (const line of old) starts.push((starts.at(-1) ?? 0) + line.length)
  const gapOf = (a: number, b: number, text: string) => ({ from: starts[a] as number, to: starts[b] as number, text })
  return differences(old.map(unified), young).flatMap(({ from, to, lines }) =>
    to - from === lines.length
      ? lines.map((line, at) => gapOf(from + at, from + at + 1, line))
      : [gapOf(from, to, lines.join(''))],
  )
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/**
 * The byte change for one range of the search text that is replaced (a gap). Equal characters at both of its ends keep
 * the file's bytes.
 */
function hunkOf(file: Buffer, place: TextPlace, search: string, { from, to, text }: Gap, endsLikePlace: boolean): Hunk {
  const most = Math.min(to - from, text.length)
  let front = 0
  // If the edit's indentation is converted to the file's, whole lines are replaced, without looking for equal
  // beginnings.
  while (!place.shift && front < most && search[from + front] === text[front]) front++
  while (place.at(from + front) === undefined) front--
  let back = 0
  while (!place.shift && back < most - front && search[to - 1 - back] === text[text.length - 1 - back]) back++
  while (place.at(to - back) === undefined) back--
  const range = { from: place.at(from + front) as number, to: place.at(to - back) as number }
  const middle = text.slice(front, text.length - back)
  const isOtherEnd = endsLikePlace && middle.includes('\n') && lineEndAt(file, range.from, range.to) === '\r\n'
  const bytes = Buffer.from(isOtherEnd ? middle.replaceAll('\n', '\r\n') : middle, 'latin1')
  return { ...range, bytes }
}

/** The line end of the line around a range; for an insertion between two lines, that of the line before. */
function lineEndAt(file: Buffer, from: number, to: number): '\n' | '\r\n' {
  const endBefore = file.lastIndexOf(10, from - 1)
  const isAtStart = from > 0 && endBefore === from - 1
  let end = file.indexOf(10, from)
  if (from > 0 && (end < 0 || (isAtStart && end >= to))) end = endBefore
  return end > 0 && file[end - 1] === 13 ? '\r\n' : '\n'
}

/** The indentations of a text's lines, without repetitions. */
const indentsOf = (text: string): string[] => [...new Set(text.match(/^[ \t]*(?=[^ \t\r\n])/gm) ?? [])].slice(0, 1000)

// --- Bytes

function splice(file: Buffer, hunks: readonly Hunk[]): Buffer {
  const pieces: Buffer[] = []
  let at = 0
  for (const { from, to, bytes } of hunks) {
    pieces.push(file.subarray(at, from), bytes)
    at = to
  }
  return Buffer.concat([...pieces, file.subarray(at)])
}

/** The new position of `at` after the hunks before it have changed the file's length. */
function movedBy(hunks: readonly Hunk[], at: number): number {
  const before = hunks.filter(({ to }) => to <= at)
  return before.reduce((sum, { from, to, bytes }) => sum + bytes.length - (to - from), at)
}

// --- Lines

/** Counts the added and deleted lines between two versions of a file, or of a part that begins at a line start. */
export function countLines(before: Buffer, after: Buffer): { added: number; deleted: number } {
  const gaps = differences(linesOf(before.toString('latin1')), linesOf(after.toString('latin1')))
  return {
    added: gaps.reduce((sum, { lines }) => sum + lines.length, 0),
    deleted: gaps.reduce((sum, { from, to }) => sum + to - from, 0),
  }
}

/** As {@link countLines}, but compares only the lines around the hunks, for large files. */
function countWithin(file: Buffer, hunks: readonly Hunk[]): { added: number; deleted: number } {
  const [first, last] = [hunks[0], hunks.at(-1)]
  if (!first || !last) return { added: 0, deleted: 0 }
  const isLineStart = (at: number) => at === 0 || file[at - 1] === 10
  const from = isLineStart(first.from) ? first.from : file.lastIndexOf(10, first.from - 1) + 1
  const isWhole = isLineStart(last.from) && isLineStart(last.to) && (last.bytes.at(-1) ?? 10) === 10
  const lineEnd = file.indexOf(10, last.to)
  const to = isWhole ? last.to : lineEnd < 0 ? file.length : lineEnd + 1
  const part = file.subarray(from, to)
  const within = hunks.map(hunk => ({ ...hunk, from: hunk.from - from, to: hunk.to - from }))
  return countLines(part, splice(part, within))
}

/** Lines `from` to `to` of the old list are replaced by `lines`. */
type Difference = { from: number; to: number; lines: string[] }

/**
 * The differences between two lists of lines: common lines at the start and end are skipped, and lines that both have
 * exactly once divide the rest. Not always the shortest result, but a correct one in nearly linear time.
 */
function differences(old: readonly string[], young: readonly string[]): Difference[] {
  const found: Difference[] = []
  const look = (from: number, to: number, start: number, end: number): void => {
    while (from < to && start < end && old[from] === young[start]) {
      from++
      start++
    }
    while (from < to && start < end && old[to - 1] === young[end - 1]) {
      to--
      end--
    }
    if (from < to || start < end) found.push({ from, to, lines: young.slice(start, end) })
  }
  let [from, start] = [0, 0]
  while (from < old.length && start < young.length && old[from] === young[start]) {
    from++
    start++
  }
  for (const [a, b] of anchors(old, young, from)) {
    look(from, a, start, b)
    from = a + 1
    start = b + 1
  }
  look(from, old.length, start, young.length)
  return found
}

/**
 * Pairs of equal lines that occur exactly once in each list after `from`, in an order valid for both, as many as
 * possible.
 */
function anchors(old: readonly string[], young: readonly string[], from: number): [number, number][] {
  const places = (lines: readonly string[]) => {
    const known = new Map<string, number>()
    for (let at = from; at < lines.length; at++)
      known.set(lines[at] as string, known.has(lines[at] as string) ? -1 : at)
    return known
  }
  const there = places(young)
  const pairs = [...places(old)].flatMap(([line, at]): [number, number][] => {
    const other = there.get(line) ?? -1
    return at < 0 || other < 0 ? [] : [[at, other]]
  })
  // The longest increasing subsequence: `ends` has, for each length, the pair with the lowest end; `before` its
  // predecessor.
  const ends: number[] = []
  const before = new Int32Array(pairs.length)
  for (const [index, [, other]] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((pairs[ends[middle] as number]?.[1] ?? 0) < other) low = middle + 1
      else high = middle
    }
    before[index] = low > 0 ? (ends[low - 1] as number) : -1
    ends[low] = index
  }
  const row: [number, number][] = []
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index] as number)
    row.push(pairs[index] as [number, number])
  return row.reverse()
}

/** The line ends of a text; `mixed` where both occur, undefined where there is only one line. */
export function lineEnds(bytes: Buffer): 'LF' | 'CRLF' | 'mixed' | undefined {
  const text = bytes.toString('latin1')
  if (!text.includes('\n')) return text.includes('\r') ? 'mixed' : undefined
  if (!text.includes('\r')) return 'LF'
  return /\r(?!\n)|(?<!\r)\n/.test(text) ? 'mixed' : 'CRLF'
}

/**
 * Converts a new text to the form of the old file: its BOM, and CRLF where all its lines had that and the new text has
 * only LF. `kept` names what was taken from the old file.
 */
export function inFormOf(old: Buffer, text: string): { bytes: Buffer; kept: string[] } {
  const kept: string[] = []
  const young = Buffer.from(text)
  const isCrlf = lineEnds(old) === 'CRLF' && lineEnds(young) === 'LF'
  if (isCrlf) kept.push('its line ends, CRLF')
  const body = isCrlf ? Buffer.from(text.replaceAll('\n', '\r\n')) : young
  if (!hasBom(old) || hasBom(body)) return { bytes: body, kept }
  return { bytes: Buffer.concat([BOM, body]), kept: [...kept, 'its BOM'] }
}
