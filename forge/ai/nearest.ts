/**
 * For an edit without a place: what may be wrong with it, and the lines of the file that have most in common with it.
 * They are shown and nothing else: no edit is ever made because of a likeness.
 */
import { short } from '../../core/text.ts'
import { lineAt, numbered } from './lines.ts'
import { findMissing, findPlaces } from './places.ts'

/** The most lines that are shown, and characters of them. */
const MAX_SHOWN_LINES = 30
const MAX_SHOWN_CHARS = 6000
/** Lines before and after what is nearest. */
const AROUND = 2
/** Bytes of a file that are looked through for likeness, and words of the search that are looked for. */
const MAX_SEARCHED_BYTES = 4 << 20
const MAX_SEARCH_WORDS = 2000
/** What a file has more often than that tells nothing of a place in it. */
const TELLING = 1000
/** Lines of a search that are looked for one by one. */
const MAX_TRIED_LINES = 8

/** What a model needs to send an edit again, and rightly. `starts` are those of the file's lines. */
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

/** What was put into a search by mistake, where without it there would be a place. */
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

/** The first line of a search that is nowhere in the file: mostly, that is what is wrong. */
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

/** Hands over each word of some bytes and where it begins. */
function eachWord(bytes: Buffer, found: (word: string, at: number) => void): void {
  for (let at = 0; at < bytes.length; at++) {
    if (!isWord(bytes[at] as number)) continue
    const start = at
    while (at < bytes.length && isWord(bytes[at] as number)) at++
    found(bytes.toString('latin1', start, Math.min(at, start + 64)), start)
  }
}

/** The first line of the passage that shares most words with a search; rare words count more. */
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
    // What rounding leaves over is no reason to prefer one.
    if (sum <= best + 1e-9) continue
    best = sum
    place = Math.max(0, line - count + 1)
  }
  return place + 1
}
