/**
 * Where a text stands in a file, byte for byte or with less care, one step at a time. What is found is never merely
 * alike: at each rung of the ladder, everything but what that rung overlooks is the same.
 */

/** What was overlooked to find a place, each with all before it; `exact` is nothing. */
export type Rung = 'exact' | 'line ends' | 'trailing blanks' | 'indentation' | 'punctuation'

/** One place in a file, in bytes from its start. */
export type TextPlace = {
  from: number
  to: number
  /**
   * The place in the file of a byte of the text that was looked for, or of its end; undefined where only a larger part
   * of that text has a counterpart: in the middle of a quote that is another one in the file.
   */
  at: (position: number) => number | undefined
  /** The text ended with a line end and the file, here, ends without one. */
  isAtOpenEnd: boolean
  /** Where the file has another indentation: the one that stands for one of the text; undefined where none can. */
  shift?: Shift
}
export type Shift = (indent: string) => string | undefined

/** Places at the first rung that has any: never none. */
export type FoundPlaces = { rung: Rung; places: TextPlace[] }

/** Further places are not looked for. */
const MAX_PLACES = 1000
const [TAB, LF, CR, SPACE] = [9, 10, 13, 32]

/**
 * Where a text stands in a file, overlooking as little as possible; undefined where it does not. Places may overlap
 * each other. `indented` are the indentations that are to be brought over to a place with {@link TextPlace.shift}: they show
 * how wide a tab is meant to be. Takes time in proportion to the lengths of both, whatever is in them.
 */
export function findPlaces(file: Buffer, text: Buffer, indented: readonly string[] = []): FoundPlaces | undefined {
  if (text.length === 0) return undefined
  // \r\n is one line end: no place begins or ends in the middle of one.
  const isWhole = (at: number) => file[at - 1] !== CR || file[at] !== LF
  const exact = findAll(file, text, from => isWhole(from) && isWhole(from + text.length))
  if (exact.length > 0) {
    const places = exact.map(from => {
      return { from, to: from + text.length, at: (position: number) => from + position, isAtOpenEnd: false }
    })
    return { rung: 'exact', places }
  }
  // Less care with a text of blanks would find it everywhere.
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
  /** Whether there is anything more to overlook. */
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

/** The first of some lines that is nowhere in a file, neither whole nor within a line, whatever is overlooked. */
export function findMissing(file: Buffer, lines: readonly string[]): string | undefined {
  const everything = { blanks: true, punctuation: true } as const
  const { bytes } = fold(file, everything)
  return lines.find(line => occurrences(bytes, withoutEnd(fold(Buffer.from(line.trim()), everything))).next().done)
}

export const BOM = Buffer.from([0xef, 0xbb, 0xbf])
export const hasBom = (bytes: Uint8Array): boolean => BOM.equals(bytes.subarray(0, BOM.length))

/**
 * The places of some bytes or numbers in others, overlapping ones too, by Knuth, Morris and Pratt: the engine's own
 * search takes as long as both lengths multiplied where they are full of repetitions.
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

/** Those that are places indeed; there may be more where there are very many. */
function findAll(text: Buffer, wanted: Buffer, isPlace: (at: number) => boolean): number[] {
  const places: number[] = []
  for (const at of occurrences(text, wanted)) {
    if (isPlace(at)) places.push(at)
    if (places.length === MAX_PLACES) break
  }
  return places
}

/** For each beginning of something, the length of the longest shorter beginning that it also ends with. */
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

/** Line ends always are. */
type Overlooked = { blanks?: true; punctuation?: true }

/** Bytes without what is overlooked in them. */
type Folded = {
  bytes: Buffer
  /** Where each byte came from, and the end. Blanks before a line end belong to it. */
  starts: Int32Array
  /** There was something after the last line end, so that one was put there, with nothing behind it. */
  isOpen: boolean
  /** Blanks at the very end were left out. */
  isStripped: boolean
}

/**
 * Punctuation that people's editors make of what they type, and what they type. Each is one character for one: a place
 * between two of them is the same in both.
 */
const PUNCTUATION = new Map(
  Object.entries({
    "'": '\u2018\u2019\u201a\u201b\u2032\u2039\u203a\u00b4',
    '"': '\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb',
    '-': '\u2010\u2011\u2012\u2013\u2014\u2015\u2212',
    ' ': '\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000',
  }).flatMap(([plain, others]) => [...others].map(other => [keyOf(Buffer.from(other), 0), plain.charCodeAt(0)])),
)
/** The same in Windows-1252 and Latin-1, where a byte is a character: only what can't be part of UTF-8 is taken so. */
const SINGLE = new Map([
  ...[0x91, 0x92, 0x82, 0xb4, 0x8b, 0x9b].map(byte => [byte, 39] as const),
  ...[0x93, 0x94, 0x84, 0xab, 0xbb].map(byte => [byte, 34] as const),
  ...[0x96, 0x97].map(byte => [byte, 45] as const),
  [0xa0, 32] as const,
])

/** The bytes of a character of two or three of them as one number. */
function keyOf(bytes: Buffer, at: number): number {
  const [one = 0, two = 0, three = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]]
  return one < 0xe0 ? (one << 8) | two : (one << 16) | (two << 8) | three
}

/** How many bytes the character at a place has in UTF-8; 0 where it is none. */
export function lengthOfCharacter(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) return 1
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  for (let next = 1; next < length; next++) if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return 0
  const second = bytes[at + 1] ?? 0
  // Too long for what they say, half characters, and what is beyond Unicode.
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

/** Folded bytes without the line end that was put behind them. */
const withoutEnd = ({ bytes, isOpen }: Folded): Buffer => (isOpen ? bytes.subarray(0, -1) : bytes)

// --- Within rows -----------------------------------------------------------------------------------------------------

function placesWithin(file: Buffer, folded: Folded, text: Buffer, wanted: Folded): TextPlace[] {
  const bytes = withoutEnd(wanted)
  const isUpToEnd = (found: number) => !wanted.isStripped || folded.bytes[found + bytes.length] === LF
  return findAll(folded.bytes, bytes, isUpToEnd).map(found => {
    const start = (position: number) => folded.starts[position] as number
    const end = found + bytes.length
    // Where the text had blanks at its end, those of the file are part of the place.
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

/** Where a number stands in a list of rising ones. */
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

/** Rows of folded bytes: where each starts, and where its blanks in front end. */
type Rows = { count: number; starts: Int32Array; contents: Int32Array }

function rowsOf({ bytes }: Folded): Rows {
  let count = 0
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === LF) count++
  // One more, for the end.
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

/** How many rows are compared for each row that there is, before a file is taken for one that repeats itself. */
const MAX_COMPARISONS_PER_ROW = 3

/** Whole rows that are the same but for an indentation that all of them have more or less of. */
function placesOfRows(folded: Folded, text: Buffer, wanted: Folded, indented: readonly string[]): TextPlace[] {
  // A last line of blanks alone is the start of a line whose rest is unknown.
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
      // In a row of blanks alone, they mean nothing.
      if (wantedRows.contents[row] === (wantedRows.starts[row + 1] as number) - 1) continue
      const [from, to] = [indentsOf(wanted, wantedRows, row), indentsOf(folded, rows, found + row)]
      isOne = (pairs.get(from) ?? to) === to
      pairs.set(from, to)
    }
    const shift = isOne ? shiftBetween(pairs, indented) : undefined
    if (shift) places.push(placeOfRows(folded, rows, found, text, wanted, wantedRows, shift))
    // Two are as many as two thousand: nothing is done then. One may not be the only one.
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
  // Without a line end at its end, the text goes up to that of the last row.
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

/** How wide a tab may be; the first ones are taken first where several would do. */
const WIDTHS = [4, 2, 8, 3]

/**
 * How indentations get from the ones to the others: the same characters more or less in front of each, or as many
 * columns more or less, where one has tabs and the other spaces. Undefined where it is not the same for all.
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
  // One step is one tab; where nothing shows how wide a step is, nothing is moved.
  const step = stepOf([...pairs.keys(), ...indented])
  const likely = fitting.find(({ width, more }) => (step === undefined ? more === 0 : step === width)) ?? fitting[0]
  if (!likely) return undefined
  const { width, more } = likely
  const isTabbed = [...pairs.values()].some(indent => indent.includes('\t'))
  // What the file has there already is taken as it is.
  return indent => pairs.get(indent) ?? indentOf(columns(indent, width) + more, isTabbed ? width : undefined)
}

/** By how many spaces some indentations differ at least; undefined where they do not, or have tabs. */
function stepOf(indents: readonly string[]): number | undefined {
  if (indents.some(indent => indent.includes('\t'))) return undefined
  const widths = [...new Set(indents.map(indent => indent.length))].sort((a, b) => a - b)
  const steps = widths.slice(1).map((width, at) => width - (widths[at] as number))
  return steps.length === 0 ? undefined : Math.min(...steps)
}

/** Whether there are tabs in some and spaces in others. */
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
