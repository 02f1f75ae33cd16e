/**
 * A file as a step needs it: whole where it is short, else the parts that the task is about and the names of
 * definitions in between. Lines have no numbers, so that edits can copy them.
 */
import type { Path } from '../../../core/git/repository.ts'
import { short } from '../../../core/text.ts'
import { fenced, fileInWords, quoted } from '../../ai/fence.ts'
import type { Offer, ReadInterface } from './offers.ts'

export type Excerpting = {
  /** Names in the task, which say what matters in the file. */
  names: ReadonlySet<string>
  readInterface: ReadInterface
  /** Whether conflict markers, and lines around them, are shown before all else. */
  conflicts?: boolean
  /** The most bytes for a whole file. `parts`: the most bytes for the parts of a longer one. */
  whole: number
  parts: number
}

/** Lines shown at the top of a code file, and at the top and end of a text, which often gets new entries there. */
const HEAD_LINES = { code: 25, text: 40 }
const TAIL_LINES = { code: 4, text: 12 }
/** At most this many lines of a definition are shown; and LINES_AROUND lines on each side of a line with a name. */
const MAX_DEFINITION_LINES = 150
const LINES_AROUND = 4
/** At most this many lines outside of definitions are shown because they contain one of the searched names. */
const MAX_MENTIONS = 15
/** Left-out parts of fewer lines are shown in full. */
const MIN_GAP_LINES = 8
/** At most this many definitions are named for a left-out part, with `MAX_SIGNATURE` characters each. */
const MAX_NAMED = 20
const MAX_SIGNATURE = 110

/** The names in some texts, by which parts of a file are chosen. */
export const namesIn = (...texts: readonly string[]): Set<string> =>
  new Set(texts.flatMap(text => text.match(/[A-Za-z_$][\w$]{2,60}/g) ?? []))

/** Whether a name can only be code. Other names also occur in sentences, and say little about a line. */
const looksLikeCode = (name: string): boolean => /_|\d|[a-z][A-Z]/.test(name)

/** The file as text. `isWhole`: nothing was left out. */
export async function excerptInWords(
  path: Path,
  said: string,
  bytes: Buffer,
  { names, readInterface, conflicts = false, whole, parts }: Excerpting,
): Promise<{ text: string; isWhole: boolean }> {
  const isText = !bytes.subarray(0, 8192).includes(0)
  if (bytes.length <= whole || !isText) return { text: fileInWords(path, said, bytes, whole), isWhole: true }
  const lines = bytes.toString().replaceAll('\r\n', '\n').split('\n').map(cutLine)
  if (lines.at(-1) === '') lines.pop()
  const { offers } = await readInterface(path, lines.join('\n'))
  const kept = chosenLines(lines, offers, { names, most: parts, marked: conflicts ? conflictsIn(lines) : [] })
  const pieces: string[] = []
  for (let at = 0; at < lines.length; ) {
    const isShown = kept.has(at)
    let end = at
    while (end < lines.length && kept.has(end) === isShown) end++
    pieces.push(isShown ? shownWords(lines, at, end) : gapWords(offers, at, end))
    at = end
  }
  const crlf = /^[^\n]*\r\n/.test(bytes.toString('latin1', 0, 4096)) ? ', which end in CRLF' : ''
  const head = `The file ${quoted(path)} ${said} (${lines.length.toLocaleString('en')} lines${crlf}; only parts of it are here):`
  return { text: [head, ...pieces].join('\n'), isWhole: false }
}

/** Longer lines, in characters, are cut: they are generated. */
const MAX_LINE = 1000

const cutLine = (line: string): string =>
  line.length <= MAX_LINE ? line : `${line.slice(0, MAX_LINE).toWellFormed()}… (the line is cut here)`

const shownWords = (lines: readonly string[], from: number, to: number): string =>
  `Lines ${from + 1} to ${to}:\n${fenced(lines.slice(from, to).join('\n'))}`

function gapWords(offers: readonly Offer[], from: number, to: number): string {
  const inside = [...new Map(offers.filter(({ at }) => at >= from && at < to).map(it => [it.at, it])).values()]
  const head = `Lines ${from + 1} to ${to} are left out`
  if (inside.length === 0) return `${head}.`
  const more = inside.length > MAX_NAMED ? `\n(${inside.length - MAX_NAMED} more)` : ''
  const list = inside.slice(0, MAX_NAMED).map(({ line }) => short(line, MAX_SIGNATURE))
  return `${head}; they define:\n${fenced(list.join('\n'))}${more}`
}

type Range = [from: number, to: number]

/** Lines shown before and after a conflict. */
const LINES_AROUND_CONFLICT = 15

/** The conflicts in a file, each with lines around it. */
function conflictsIn(lines: readonly string[]): Range[] {
  const ranges: Range[] = []
  let from: number | undefined
  for (const [at, line] of lines.entries()) {
    if (/^<{7}( |$)/.test(line)) from ??= at
    if (from === undefined || !/^>{7}( |$)/.test(line)) continue
    ranges.push([Math.max(0, from - LINES_AROUND_CONFLICT), Math.min(lines.length, at + 1 + LINES_AROUND_CONFLICT)])
    from = undefined
  }
  return ranges
}

/** The lines to show, by index from 0: the most important first, until there is no more room. */
function chosenLines(
  lines: readonly string[],
  offers: readonly Offer[],
  { names, most, marked }: { names: ReadonlySet<string>; most: number; marked: readonly Range[] },
): Set<number> {
  const kind = offers.length > 0 ? 'code' : 'text'
  const head = Math.min(HEAD_LINES[kind], lines.length)
  const top = kind === 'code' ? topOf(lines) : 0
  const ranges: Range[] = [...marked, [top, Math.min(top + head, lines.length)]]
  for (const offer of offers) if (names.has(offer.name)) ranges.push(definitionAt(lines, offer))
  ranges.push([Math.max(0, lines.length - TAIL_LINES[kind]), lines.length])
  const telling = [...names].filter(looksLikeCode)
  const mention = telling.length > 0 ? new RegExp(`\\b(?:${telling.map(escaped).join('|')})\\b`) : undefined
  let mentions = 0
  for (const [at, line] of lines.entries()) {
    if (!mention?.test(line) || ranges.some(([from, to]) => at >= from && at < to)) continue
    if (++mentions > MAX_MENTIONS) break
    ranges.push([Math.max(0, at - LINES_AROUND), Math.min(lines.length, at + LINES_AROUND + 1)])
  }
  const kept = new Set<number>()
  let left = most
  for (const [from, to] of ranges) {
    for (let at = from; at < to && left > 0; at++) {
      if (kept.has(at)) continue
      kept.add(at)
      left -= Buffer.byteLength(lines[at] ?? '') + 1
    }
  }
  return withoutShortGaps(kept, lines.length)
}

/** A comment of at least this many lines at the top of a code file is taken for a licence. */
const MIN_LICENCE_LINES = 12

/** The first line of a code file after a licence. */
function topOf(lines: readonly string[]): number {
  const end = lines.findIndex(line => !/^\s*(?:#|\/\/|\/?\*|--|;|$)/.test(line))
  return end >= MIN_LICENCE_LINES ? end : 0
}

const escaped = (name: string): string => name.replaceAll('$', '\\$')

/** A definition with the comment directly above it. */
function definitionAt(lines: readonly string[], { at, end }: Offer): [from: number, to: number] {
  let from = at
  while (from > 0 && at - from < 12 && /^\s*(?:@|#|\/\/|\/?\*|--|;)/.test(lines[from - 1] ?? '')) from--
  return [from, Math.min(end, at + MAX_DEFINITION_LINES)]
}

function withoutShortGaps(kept: ReadonlySet<number>, count: number): Set<number> {
  const all = new Set(kept)
  let gap = 0
  for (let at = 0; at <= count; at++) {
    if (at < count && !kept.has(at)) {
      gap++
      continue
    }
    if (gap > 0 && gap < MIN_GAP_LINES) for (let back = at - gap; back < at; back++) all.add(back)
    gap = 0
  }
  return all
}
