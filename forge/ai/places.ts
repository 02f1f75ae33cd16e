/**
 * Finds a text in a file: byte for byte, or overlooking small differences, one step at a time. Similarity is never
 * enough: at each step (rung), everything but the listed differences must be equal.
 */

/** What was overlooked to find a place; each rung includes those before it. `exact`: nothing. */
export type Rung = 'exact' | 'line ends' | 'trailing blanks' | 'indentation' | 'punctuation'

/** A found place in a file, as byte offsets. */
export type TextPlace = {
  from: number
  to: number
  /**
   * Maps an offset of the search text, or its end, to an offset in the file; undefined for an offset inside a character
   * that the file spells differently.
   */
  at: (position: number) => number | undefined
  /** The search text ended with a line end, but the file ends here without one. */
  isAtOpenEnd: boolean
  /**
   * Converts an indentation of the search text to that of the file; missing where both are indented alike. Gives
   * undefined for an indentation that can't be converted.
   */
  shift?: Shift
}
export type Shift = (indent: string) => string | undefined

/** The places of a search text in a file, at least one; and how small differences had to be overlooked to find them. */
export type FoundPlaces = { rung: Rung; places: TextPlace[] }

/** At most this many places of a text in one file are found. */
const MAX_PLACES = 1000
const [TAB, LF, CR, SPACE] = [9, 10, 13, 32]

/**
 * Finds a text in a file, ignoring as few differences as possible; undefined where it is not found. Places may overlap.
 * `indented`: indentations that {@link TextPlace.shift} has to convert; they show the width of a tab. Takes time
 * proportional to both lengths, for any content.
 */
export function findPlaces(file: Buffer, text: Buffer, indented: readonly string[] = []): FoundPlaces | undefined {
  if (text.length === 0) return undefined
  // \r\n is one line end: no place may start or end in the middle of it.
  const isWhole = (at: number) => file[at - 1] !== CR || file[at] !== LF
  const exact = findAll(file, text, from => isWhole(from) && isWhole(from + text.length))
  if (exact.length > 0) {
    const places = exact.map(from => {
      return { from, to: from + text.length, at: (position: number) => from + position, isAtOpenEnd: false }
    })
    return { rung: 'exact', places }
  }
  // A text of only blanks would be found everywhere if blanks were overlooked.
  if (text.every(byte => byte === TAB || byte === LF || byte === CR || byte === SPACE)) return undefined
  const start = hasBom(file) ? BOM.length : 0
  let [folded, wanted] = [fold(file, {}, start), fold(text, {})]
  const within = (rung: Rung): FoundPlaces | undefined => {
    const places = placesWithin(file, folded, text, wanted)
    return places.length > 0 ? { rung, places } : undefined
  }
  const rows = (rung: Rung): FoundPlaces | undefined => {
    const places = placesOfRows(folded, text, wanted, indented)
    return places.length > 0 ? { rung, places } : undefined
  }
  /** Folds the file and the text again, overlooking `what`. Gives whether that changed either of them. */
  const overlook = (what: Overlooked): boolean => {
    const before = [folded, wanted]
    folded = fold(file, what, start)
    wanted = fold(text, what)
    return !folded.bytes.equals(before[0]?.bytes ?? BOM) || !wanted.bytes.equals(before[1]?.bytes ?? BOM)
  }
  const asItIs = within('line ends')
  if (asItIs) return asItIs
  const withoutBlanks = overlook({ blanks: true }) && within('trailing blanks')
  const moved = withoutBlanks || rows('indentation')
  if (moved) return moved
  if (!overlook({ blanks: true, punctuation: true })) return undefined
  return within('punctuation') ?? rows('punctuation')
}

/**
 * The first of these lines that a file does not have, also without regard to blanks and punctuation; undefined where it
 * has all.
 */
export function findMissing(file: Buffer, lines: readonly string[]): string | undefined {
  const everything = { blanks: true, punctuation: true } as const
  const { bytes } = fold(file, everything)
  return lines.find(line => occurrences(bytes, withoutEnd(fold(Buffer.from(line.trim()), everything))).next().done)
}

export const BOM = Buffer.from([0xef, 0xbb, 0xbf])
export const hasBom = (bytes: Uint8Array): boolean => BOM.equals(bytes.subarray(0, BOM.length))

/**
 * Yields all occurrences, overlapping ones included, by the Knuth-Morris-Pratt algorithm: the built-in search takes the
 * product of both lengths on repetitive content.
 */
function* occurrences(text: Buffer | Int32Array, wanted: Buffer | Int32Array): Generator<number> {
  if (wanted.length === 0 || wanted.length > text.length) return
  const first = wanted[0] as number
  let table: Int32Array | undefined
  let matched = 0
  for (let at = 0; at < text.length; at++) {
    if (matched === 0) {
      at = text.indexOf(first, at)
      if (at < 0) return
    }
    table ??= prefixes(wanted)
    const it = text[at]
    while (matched > 0 && wanted[matched] !== it) matched = table[matched - 1] as number
    if (wanted[matched] === it) matched++
    if (matched < wanted.length) continue
    yield at + 1 - matched
    matched = table[matched - 1] as number
  }
}

/** The occurrences for which `isPlace` holds, at most MAX_PLACES. */
function findAll(text: Buffer, wanted: Buffer, isPlace: (at: number) => boolean): number[] {
  const places: number[] = []
  for (const at of occurrences(text, wanted)) {
    if (isPlace(at)) places.push(at)
    if (places.length === MAX_PLACES) break
  }
  return places
}

/**
 * The prefix function of Knuth-Morris-Pratt: for each prefix, the length of its longest proper prefix that is also its
 * suffix.
 */
function prefixes(wanted: Buffer | Int32Array): Int32Array {
  const table = new Int32Array(wanted.length)
  let length = 0
  for (let at = 1; at < wanted.length; at++) {
    while (length > 0 && wanted[at] !== wanted[length]) length = table[length - 1] as number
    if (wanted[at] === wanted[length]) length++
    table[at] = length
  }
  return table
}

// --- Overlooking -----------------------------------------------------------------------------------------------------

/** The differences that a search ignores besides differences in line ends, which it always ignores. */
type Overlooked = { blanks?: true; punctuation?: true }

/** Bytes in a normal form, in which the ignored differences ({@link Overlooked}) are removed. */
type Folded = {
  bytes: Buffer
  /** For each of the bytes, and their end, the offset in the original. Removed blanks belong to their line end. */
  starts: Int32Array
  /** Whether a final line end was added to `bytes`, which the original does not have. */
  isOpen: boolean
  /** Blanks at the end of the text were removed. */
  isStripped: boolean
}

/**
 * Typographic punctuation and the ASCII characters that are typed for it. Each is one character for one character, so
 * that offsets between characters correspond.
 */
const PUNCTUATION = new Map(
  Object.entries({
    "'": '\u2018\u2019\u201a\u201b\u2032\u2039\u203a\u00b4',
    '"': '\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb',
    '-': '\u2010\u2011\u2012\u2013\u2014\u2015\u2212',
    ' ': '\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000',
  }).flatMap(([plain, others]) => [...others].map(other => [keyOf(Buffer.from(other), 0), plain.charCodeAt(0)])),
)
/**
 * Punctuation in Windows-1252 and Latin-1, one byte each, by the ASCII character that it counts as; used only for bytes
 * that can't be UTF-8.
 */
const SINGLE = new Map([
  ...[0x91, 0x92, 0x82, 0xb4, 0x8b, 0x9b].map(byte => [byte, 39] as const),
  ...[0x93, 0x94, 0x84, 0xab, 0xbb].map(byte => [byte, 34] as const),
  ...[0x96, 0x97].map(byte => [byte, 45] as const),
  [0xa0, 32] as const,
])

/** The two or three bytes of a character as one number. */
function keyOf(bytes: Buffer, at: number): number {
  const [one = 0, two = 0, three = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]]
  return one < 0xe0 ? (one << 8) | two : (one << 16) | (two << 8) | three
}

/** The length in bytes of the UTF-8 character at an offset; 0 where there is none. */
export function lengthOfCharacter(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) return 1
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  for (let next = 1; next < length; next++) if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return 0
  const second = bytes[at + 1] ?? 0
  // Overlong encodings, surrogates, and code points beyond Unicode are invalid.
  const isNone = [
    first === 0xe0 && second < 0xa0,
    first === 0xed && second > 0x9f,
    first === 0xf0 && second < 0x90,
    first === 0xf4 && second > 0x8f,
  ]
  return isNone.includes(true) ? 0 : length
}

function fold(raw: Buffer, { blanks, punctuation }: Overlooked, from = 0): Folded {
  const bytes = Buffer.allocUnsafe(raw.length - from + 1)
  const starts = new Int32Array(raw.length - from + 2)
  let size = 0
  const put = (byte: number, start: number) => {
    bytes[size] = byte
    starts[size++] = start
  }
  let at = from
  let end = raw.length
  while (at < raw.length) {
    const byte = raw[at] as number
    if (byte === LF || (byte === CR && raw[at + 1] === LF)) {
      put(LF, at)
      at += byte === LF ? 1 : 2
      continue
    }
    if (blanks && (byte === SPACE || byte === TAB)) {
      const start = at
      while (raw[at] === SPACE || raw[at] === TAB) at++
      const isAtEnd = at === raw.length
      const isBeforeLineEnd = raw[at] === LF || (raw[at] === CR && raw[at + 1] === LF)
      if (isAtEnd) end = start
      else if (isBeforeLineEnd) {
        put(LF, start)
        at += raw[at] === LF ? 1 : 2
      } else for (let blank = start; blank < at; blank++) put(raw[blank] as number, blank)
      continue
    }
    if (byte < 0x80 || !punctuation) {
      put(byte, at++)
      continue
    }
    const length = lengthOfCharacter(raw, at)
    const plain = length === 0 ? SINGLE.get(byte) : PUNCTUATION.get(keyOf(raw, at))
    if (plain !== undefined) put(plain, at)
    else for (let part = 0; part < Math.max(length, 1); part++) put(raw[at + part] as number, at + part)
    at += Math.max(length, 1)
  }
  const isOpen = raw.length > from && raw[raw.length - 1] !== LF
  if (isOpen) put(LF, end)
  starts[size] = raw.length
  return {
    bytes: bytes.subarray(0, size),
    starts: starts.subarray(0, size + 1),
    isOpen,
    isStripped: end < raw.length,
  }
}

/** Folded bytes (a text in which small differences are removed), without the line end that folding has added. */
const withoutEnd = ({ bytes, isOpen }: Folded): Buffer => (isOpen ? bytes.subarray(0, -1) : bytes)

// --- Within rows -----------------------------------------------------------------------------------------------------

function placesWithin(file: Buffer, folded: Folded, text: Buffer, wanted: Folded): TextPlace[] {
  const bytes = withoutEnd(wanted)
  const isUpToEnd = (found: number) => !wanted.isStripped || folded.bytes[found + bytes.length] === LF
  return findAll(folded.bytes, bytes, isUpToEnd).map(found => {
    const start = (position: number) => folded.starts[position] as number
    const end = found + bytes.length
    // The search text had blanks at its end: the file's blanks there are part of the found place.
    const to = wanted.isStripped ? endOfBlanks(file, start(end)) : start(end)
    const at = (position: number) => {
      if (position === text.length) return to
      const index = indexOf(wanted.starts, position)
      return index === undefined || index > bytes.length ? undefined : start(found + index)
    }
    return { from: start(found), to, at, isAtOpenEnd: folded.isOpen && end === folded.bytes.length }
  })
}

function endOfBlanks(file: Buffer, from: number): number {
  let at = from
  while (file[at] === SPACE || file[at] === TAB) at++
  return at
}

/** The index of a number in a sorted list; undefined where it is not in it. */
function indexOf(rising: Int32Array, wanted: number): number | undefined {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rising[middle] as number) < wanted) low = middle + 1
    else high = middle
  }
  return rising[low] === wanted ? low : undefined
}

// --- Rows with another indentation -----------------------------------------------------------------------------------

/** The lines of folded bytes: the offsets where each starts, and where its indentation ends. */
type Rows = { count: number; starts: Int32Array; contents: Int32Array }

function rowsOf({ bytes }: Folded): Rows {
  let count = 0
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === LF) count++
  // One more start, for the end of the last line.
  const [starts, contents] = [new Int32Array(count + 1), new Int32Array(count)]
  let at = 0
  for (let row = 0; row < count; row++) {
    starts[row] = at
    while (bytes[at] === SPACE || bytes[at] === TAB) at++
    contents[row] = at
    while (bytes[at] !== LF) at++
    at++
  }
  starts[count] = at
  return { count, starts, contents }
}

/**
 * At most this many comparisons for each line of the file; above that, the file is too repetitive and the search stops.
 */
const MAX_COMPARISONS_PER_ROW = 3

/** Finds whole lines of the file that equal those of the search text except for a common shift in indentation. */
function placesOfRows(folded: Folded, text: Buffer, wanted: Folded, indented: readonly string[]): TextPlace[] {
  // A search text whose last line has only blanks may mean any line with that indentation, so no whole lines are
  // searched.
  if (wanted.isStripped && wanted.bytes[wanted.bytes.length - 2] === LF) return []
  const [rows, wantedRows] = [rowsOf(folded), rowsOf(wanted)]
  const contentOf = ({ bytes }: Folded, { starts, contents }: Rows) => {
    const all = bytes.toString('latin1')
    return (row: number) => all.slice(contents[row], (starts[row + 1] as number) - 1)
  }
  const [contents, wantedContents] = [contentOf(folded, rows), contentOf(wanted, wantedRows)]
  const numbers = new Map<string, number>()
  const ofWanted = new Int32Array(wantedRows.count)
  for (const row of ofWanted.keys()) {
    const content = wantedContents(row)
    const number = numbers.get(content) ?? numbers.size
    numbers.set(content, number)
    ofWanted[row] = number
  }
  const ofFile = new Int32Array(rows.count)
  for (let row = 0; row < rows.count; row++) ofFile[row] = numbers.get(contents(row)) ?? -1
  const indentsOf = ({ bytes }: Folded, { starts, contents }: Rows, row: number) =>
    bytes.toString('latin1', starts[row], contents[row])
  const places: TextPlace[] = []
  let patience = MAX_COMPARISONS_PER_ROW * (rows.count + wantedRows.count)
  for (const found of occurrences(ofFile, ofWanted)) {
    patience -= wantedRows.count
    const pairs = new Map<string, string>()
    let isOne = true
    for (let row = 0; row < wantedRows.count && isOne; row++) {
      // The indentation of a blank line does not matter.
      if (wantedRows.contents[row] === (wantedRows.starts[row + 1] as number) - 1) continue
      const [from, to] = [indentsOf(wanted, wantedRows, row), indentsOf(folded, rows, found + row)]
      isOne = (pairs.get(from) ?? to) === to
      pairs.set(from, to)
    }
    const shift = isOne ? shiftBetween(pairs, indented) : undefined
    if (shift) places.push(placeOfRows(folded, rows, found, text, wanted, wantedRows, shift))
    // Once `patience` is used up, the search ends: with the places found if there are two, since an edit is refused for
    // more than one; else with none, since a second place may exist further on.
    if (places.length === MAX_PLACES || (patience < 0 && places.length > 1)) break
    if (patience < 0) return []
  }
  return places
}

function placeOfRows(
  folded: Folded,
  rows: Rows,
  found: number,
  text: Buffer,
  wanted: Folded,
  wantedRows: Rows,
  shift: Shift,
): TextPlace {
  const startOf = (row: number) => folded.starts[rows.starts[row] as number] as number
  const end = found + wantedRows.count
  // Where the search text has no final line end, the place ends before the line end of its last line.
  const to = wanted.isOpen ? (folded.starts[(rows.starts[end] as number) - 1] as number) : startOf(end)
  const at = (position: number) => {
    if (position === text.length) return to
    const index = indexOf(wanted.starts, position)
    const row = index === undefined ? undefined : indexOf(wantedRows.starts, index)
    return row === undefined || row === wantedRows.count ? undefined : startOf(found + row)
  }
  const isAtOpenEnd = folded.isOpen && !wanted.isOpen && end === rows.count
  return { from: startOf(found), to, at, isAtOpenEnd, shift }
}

/** Possible widths of a tab; where several fit, the first one is used. */
const WIDTHS = [4, 2, 8, 3]

/**
 * A function that converts indentations: by adding or removing the same characters, or as many columns where one side
 * has tabs and the other spaces. Undefined where the difference is not the same for all pairs.
 */
function shiftBetween(pairs: ReadonlyMap<string, string>, indented: readonly string[]): Shift | undefined {
  const [first] = pairs
  if (!first) return undefined
  const [one, other] = first
  if (!hasBoth([...pairs.values(), ...pairs.keys(), ...indented])) {
    const more = other.slice(0, Math.max(0, other.length - one.length))
    const less = one.slice(0, Math.max(0, one.length - other.length))
    const shift: Shift = indent => (indent.startsWith(less) ? more + indent.slice(less.length) : undefined)
    if ([...pairs].every(([indent, there]) => shift(indent) === there)) return shift
  }
  const fitting = WIDTHS.flatMap(width => {
    const steps = new Set([...pairs].map(([indent, there]) => columns(there, width) - columns(indent, width)))
    const [more = 0] = steps
    return steps.size === 1 ? [{ width, more }] : []
  })
  // One step of indentation is one tab. Where nothing shows the width of a step, nothing is converted.
  const step = stepOf([...pairs.keys(), ...indented])
  const likely = fitting.find(({ width, more }) => (step === undefined ? more === 0 : step === width)) ?? fitting[0]
  if (!likely) return undefined
  const { width, more } = likely
  const isTabbed = [...pairs.values()].some(indent => indent.includes('\t'))
  // Indentations found in the file are used as they are there.
  return indent => pairs.get(indent) ?? indentOf(columns(indent, width) + more, isTabbed ? width : undefined)
}

/** The smallest difference between indentations, in spaces; undefined where there is none, or where they have tabs. */
function stepOf(indents: readonly string[]): number | undefined {
  if (indents.some(indent => indent.includes('\t'))) return undefined
  const widths = [...new Set(indents.map(indent => indent.length))].sort((a, b) => a - b)
  const steps = widths.slice(1).map((width, at) => width - (widths[at] as number))
  return steps.length === 0 ? undefined : Math.min(...steps)
}

/** Whether some of these indentations have tabs and others spaces. */
const hasBoth = (indents: readonly string[]): boolean =>
  indents.some(indent => indent.includes('\t')) && indents.some(indent => indent.includes(' '))

function columns(indent: string, width: number): number {
  let count = 0
  for (const character of indent) count = character === '\t' ? count - (count % width) + width : count + 1
  return count
}

function indentOf(count: number, width: number | undefined): string | undefined {
  if (count < 0) return undefined
  if (width === undefined) return ' '.repeat(count)
  return '\t'.repeat(Math.floor(count / width)) + ' '.repeat(count % width)
}
