/**
 * Explains why an edit's search text was not found: what may be wrong, and the most similar lines of the file. These
 * are only shown: no edit is ever made because of similarity.
 */
import { short } from '../../core/text.ts'
import { lineAt, numbered } from './lines.ts'
import { findMissing, findPlaces } from './places.ts'

/** At most this many lines are shown, with `MAX_SHOWN_CHARS` in all. */
const MAX_SHOWN_LINES = 30
const MAX_SHOWN_CHARS = 6000
/** Lines shown before and after the most similar ones. */
const AROUND = 2
/** At most this many bytes of a file are searched for similar lines. */
const MAX_SEARCHED_BYTES = 4 << 20
/** At most this many words of the search text are used. */
const MAX_SEARCH_WORDS = 2000
/** A word that occurs in the file more often than this is ignored. */
const TELLING = 1000
/** At most this many lines of the search text are searched one by one, to find a line that the file does not have. */
const MAX_TRIED_LINES = 8

/** What a model needs to correct its search text. `starts`: where the file's lines start. */
export function nearestLines(file: Buffer, starts: Int32Array, search: string): string {
  if (file.length === 0) return 'The file is empty: write the whole file.'
  const slip = slipIn(file, search)
  if (slip) return slip
  const wanted = search.replace(/\n$/, '').split('\n')
  const count = Math.min(wanted.length, MAX_SHOWN_LINES - 2 * AROUND)
  const place = nearest(file, starts, search, count)
  if (place === undefined) return `No line of it has any word in common: the file has ${starts.length} lines.`
  const first = Math.max(1, place - AROUND)
  const shown = numbered(file, starts, { first, last: place + count - 1 + AROUND, most: MAX_SHOWN_CHARS })
  const cause = missingLine(file, wanted)
  return `${cause}The nearest lines, ${first} to ${shown.last}, are (number and a tab in front):\n${shown.text}`
}

/**
 * What was put into the search text by mistake (e.g. line numbers), where the text is found without it; else undefined.
 */
function slipIn(file: Buffer, search: string): string | undefined {
  const isThere = (text: string) => text !== search && text.trim() !== '' && findPlaces(file, Buffer.from(text))
  const lines = search.split('\n')
  const number = /^ *\d+(?:\t|: ?| ?\| ?|→)/
  if (lines.every(line => number.test(line) || line.trim() === '')) {
    const bare = lines.map(line => line.replace(number, '')).join('\n')
    if (isThere(bare)) return 'It has line numbers in front of its lines: without them, it is there.'
  }
  if (search.includes('\\') && isThere(unescaped(search)))
    return 'It has backslashes too many (\\n for a line end, for example): without them, it is there.'
  return undefined
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r' }
const unescaped = (text: string): string => text.replace(/\\([ntr"'\\])/g, (_, it: string) => ESCAPES[it] ?? it)

/** Quotes the first line of the search text that the file does not have: that line is mostly the mistake. */
function missingLine(file: Buffer, wanted: readonly string[]): string {
  const tried = wanted.filter(line => line.trim() !== '').slice(0, MAX_TRIED_LINES)
  const missing = findMissing(file, tried)
  if (missing !== undefined) return `This line of it is nowhere: ${short(missing.trim(), 200)}\n`
  return wanted.length > MAX_TRIED_LINES || tried.length < 2
    ? ''
    : 'Each of its lines is there, but not together like this. '
}

const isWord = (byte: number): boolean =>
  (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90) || (byte >= 48 && byte <= 57) || byte === 95 || byte > 127

/** Calls `found` with each word of some bytes and its offset. */
function eachWord(bytes: Buffer, found: (word: string, at: number) => void): void {
  for (let at = 0; at < bytes.length; at++) {
    if (!isWord(bytes[at] as number)) continue
    const start = at
    while (at < bytes.length && isWord(bytes[at] as number)) at++
    found(bytes.toString('latin1', start, Math.min(at, start + 64)), start)
  }
}

/**
 * The first line of the passage that shares most words with the search text, weighted by rarity; undefined where none
 * does.
 */
function nearest(file: Buffer, starts: Int32Array, search: string, count: number): number | undefined {
  const wanted = new Set<string>()
  eachWord(Buffer.from(search), word => {
    if (wanted.size < MAX_SEARCH_WORDS) wanted.add(word)
  })
  const start = file.subarray(0, MAX_SEARCHED_BYTES)
  const frequency = new Map<string, number>()
  const hits: { word: string; at: number }[] = []
  eachWord(start, (word, at) => {
    if (!wanted.has(word)) return
    const times = (frequency.get(word) ?? 0) + 1
    frequency.set(word, times)
    if (times <= TELLING) hits.push({ word, at })
  })
  if (hits.length === 0) return undefined
  const scores = new Float64Array(lineAt(starts, start.length))
  for (const { word, at } of hits) {
    const line = lineAt(starts, at) - 1
    scores[line] = (scores[line] as number) + 1 / (frequency.get(word) as number)
  }
  let [sum, best, place] = [0, -1, 0]
  for (let line = 0; line < scores.length; line++) {
    sum += (scores[line] as number) - (scores[line - count] ?? 0)
    // Differences within the rounding error do not count.
    if (sum <= best + 1e-9) continue
    best = sum
    place = Math.max(0, line - count + 1)
  }
  return place + 1
}
