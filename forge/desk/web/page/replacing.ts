/** What a search in files would replace: a hit for each match, with its replacement. */
import type { LineEdit } from '../../contract/branches.ts'
import type { Match } from '../../contract/reading.ts'
import { withCaseOf } from '../ui/letter-case.ts'

/** The fields of a search that its replacements depend on. */
export interface Replacing {
  words: string
  isRegex: boolean
  matchCase: boolean
  replacement: string
  /** Whether each replacement has the case of its match. */
  preservesCase?: boolean
}

/** A match in a line, and what replaces it. */
export interface Hit {
  /** Identifies the hit in its search. */
  key: string
  path: string
  line: number
  /** The line's number beside the text, if that is another one. */
  shownLine?: number
  text: string
  from: number
  to: number
  insert: string
}

/** A hit of an earlier search: what finds it again in the next one, and whether it is not to be replaced. */
export type EarlierHit = Pick<Hit, 'path' | 'line' | 'from' | 'text'> & { isLeftOut: boolean }

export interface Hits {
  hits: Hit[]
  /** Why nothing can be replaced, as a sentence. */
  problem?: string
  /** The number of lines that are too long to replace in. */
  tooLong: number
  /**
   * The number of matches of git that the browser's regular expression does not match alike, so that their groups
   * (`$1`) are unknown.
   */
  unread: number
}

const BOM = '\ufeff'

/**
 * The hits of a search. In a regular expression, `$1` to `$99` in the replacement are groups, `$&` is the match, `$$` a
 * dollar sign, and `\\n`, `\\t` and `\\\\` are characters, as in the find panel of a file.
 */
export function hitsOf(matches: readonly Match[], replacing: Replacing): Hits {
  const insertFor = replacementFor(replacing)
  if (typeof insertFor === 'string') return { hits: [], problem: insertFor, tooLong: 0, unread: 0 }
  const emptyIn = emptyMatchIn(replacing)
  const hits: Hit[] = []
  let tooLong = 0
  let unread = 0
  for (const { path, line, shownLine, text: whole, ranges, isCut } of matches) {
    if (isCut) {
      tooLong++
      continue
    }
    // A byte order mark is no part of the text.
    const shift = line === 1 && whole.startsWith(BOM) ? 1 : 0
    const text = whole.slice(shift)
    const empty = ranges.length === 0 ? emptyIn(text) : undefined
    if (ranges.length === 0 && empty === undefined) unread++
    const all = empty === undefined ? ranges : [[empty + shift, empty + shift] as const]
    for (const [start, end] of all) {
      const [from, to] = [Math.max(0, start - shift), end - shift]
      const given = insertFor(text, from, to)
      if (given === undefined) {
        unread++
        continue
      }
      const insert = replacing.preservesCase ? withCaseOf(text.slice(from, to), given) : given
      const key = `${path}\0${line}\0${from}`
      hits.push({ key, path, line, ...(shownLine && { shownLine }), text, from, to, insert })
    }
  }
  return { hits, tooLong, unread }
}

/**
 * Makes the function that gives the replacement of a match (undefined if the browser's regular expression does not
 * match the same text); or gives a sentence that says why there is none.
 */
function replacementFor({
  words,
  isRegex,
  matchCase,
  replacement,
}: Replacing): ((text: string, from: number, to: number) => string | undefined) | string {
  if (!isRegex) return () => replacement
  const literal = unescaped(replacement)
  if (!/\$(?:[$&]|\d)/.test(literal)) return () => literal
  let expression: RegExp
  try {
    expression = new RegExp(words, `yu${matchCase ? '' : 'i'}`)
  } catch {
    return 'The replacement uses groups ($1), for which the expression has to be one that browsers read, too: change one of them.'
  }
  return (text, from, to) => {
    expression.lastIndex = from
    const match = expression.exec(text)
    if (!match || match[0].length !== to - from) return undefined
    return literal.replace(/\$([$&]|\d{1,2})/g, (all, sign: string) => {
      if (sign === '$') return '$'
      if (sign === '&') return match[0]
      return groupIn(match, sign) ?? all
    })
  }
}

/**
 * Makes the function that finds where a line has its first match of no character, as of `^$`: git marks only others.
 * It gives undefined if the browser's regular expression has no such match.
 */
function emptyMatchIn({ words, isRegex, matchCase }: Replacing): (text: string) => number | undefined {
  if (!isRegex) return () => undefined
  let expression: RegExp
  try {
    expression = new RegExp(words, `u${matchCase ? '' : 'i'}`)
  } catch {
    return () => undefined
  }
  return text => {
    const match = expression.exec(text)
    return match?.[0] === '' ? match.index : undefined
  }
}

/** Whether a regular expression asks for a line end (`\\n`), outside of a class of characters such as `[^\\n]`. */
export const hasLineEnd = (expression: string): boolean =>
  /\\n/.test(expression.replace(/\\\\/g, '').replace(/(?<!\\)\[(?:\\.|[^\]\\])*\]/g, ''))

/**
 * The text that `$` and some digits stand for: `$12` is the twelfth group if there are as many, else the first one and
 * a 2.
 */
function groupIn(match: RegExpExecArray, digits: string): string | undefined {
  for (let length = digits.length; length > 0; length--) {
    const number = Number(digits.slice(0, length))
    if (number > 0 && number < match.length) return (match[number] ?? '') + digits.slice(length)
  }
  return undefined
}

const ESCAPED: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\' }

function unescaped(text: string): string {
  return text.replace(/\\([nrt\\])/g, (_, char: string) => ESCAPED[char] ?? char)
}

/** The hits as edits of files. */
export function editsOf(hits: readonly Hit[]): { path: string; edits: LineEdit[] }[] {
  return [...Map.groupBy(hits, ({ path }) => path)].map(([path, all]) => ({
    path,
    edits: all.map(({ line, from, to, insert }) => ({ line, from, to, insert })),
  }))
}

/** Hits of an earlier search as they are after some of them were replaced: lines and texts may have changed. */
export function afterReplacing(hits: readonly EarlierHit[], replaced: readonly Hit[]): EarlierHit[] {
  const replacedPlaces = new Set(replaced.map(placeOf))
  const kept = hits.filter(hit => !replacedPlaces.has(placeOf(hit)))
  return kept.map(hit => {
    const before = replaced.filter(it => it.path === hit.path && it.line < hit.line)
    const beside = replaced.filter(it => it.path === hit.path && it.line === hit.line)
    const lines = before.reduce((sum, { insert }) => sum + insert.split('\n').length - 1, 0)
    const left = beside.filter(({ from }) => from < hit.from)
    const moved = left.reduce((sum, { from, to, insert }) => sum + insert.length - (to - from), 0)
    const text = beside
      .toSorted((one, other) => other.from - one.from)
      .reduce((line, { from, to, insert }) => line.slice(0, from) + insert + line.slice(to), hit.text)
    return { ...hit, line: hit.line + lines, from: hit.from + moved, text }
  })
}

const placeOf = ({ path, line, from }: Pick<Hit, 'path' | 'line' | 'from'>): string => `${path}\0${line}\0${from}`

/** The keys of the hits that were left out of an earlier search, of which `before` are the hits. */
export function leftOutNow(before: readonly EarlierHit[], now: readonly Hit[]): Set<string> {
  const nowIn = Map.groupBy(now, ({ path }) => path)
  const beforeIn = Map.groupBy(before, ({ path }) => path)
  const pairs = [...beforeIn].flatMap(([path, hits]) => [...paired(hits, nowIn.get(path) ?? [])])
  return new Set(pairs.flatMap(([hit, { key }]) => (hit.isLeftOut ? [key] : [])))
}

/**
 * Pairs the hits of an earlier search in a file with those of a later one, between which lines may have been added,
 * deleted and edited. Hits in lines of the same text are paired first, then those whose lines were edited.
 */
function paired(before: readonly EarlierHit[], now: readonly Hit[]): Map<EarlierHit, Hit> {
  const textOf = ({ from, text }: Pick<Hit, 'from' | 'text'>) => `${from}\0${text}`
  const nowOf = Map.groupBy(now, textOf)
  const beforeOf = Map.groupBy(before, textOf)
  const pairs = new Map([...beforeOf].flatMap(([text, hits]) => pairedByLine(hits, nowOf.get(text) ?? [])))
  const taken = new Set(pairs.values())
  const edited = pairedByLine(
    before.filter(hit => !pairs.has(hit)),
    now.filter(hit => !taken.has(hit)),
  )
  for (const [hit, same] of edited) pairs.set(hit, same)
  return pairs
}

/** Pairs hits one by one where there are as many as before, else those that are nearest to each other. */
function pairedByLine(before: readonly EarlierHit[], now: readonly Hit[]): [EarlierHit, Hit][] {
  if (before.length === now.length) return before.flatMap((hit, at) => pairOf(hit, now[at]))
  let next = 0
  const neighbours = before.flatMap(hit => {
    while (next < now.length && (now[next]?.line ?? 0) < hit.line) next++
    return [...pairOf(hit, now[next - 1]), ...pairOf(hit, now[next])]
  })
  const distance = ([one, other]: [EarlierHit, Hit]) => Math.abs(one.line - other.line)
  const pairs = new Map<EarlierHit, Hit>()
  const taken = new Set<Hit>()
  for (const [hit, same] of neighbours.toSorted((one, other) => distance(one) - distance(other))) {
    if (pairs.has(hit) || taken.has(same)) continue
    pairs.set(hit, same)
    taken.add(same)
  }
  return [...pairs]
}

const pairOf = (hit: EarlierHit, same: Hit | undefined): [EarlierHit, Hit][] => (same ? [[hit, same]] : [])
