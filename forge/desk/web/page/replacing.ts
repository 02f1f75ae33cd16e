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

/** A hit that is not to be replaced: what finds it again in the next search. */
export type LeftOut = Pick<Hit, 'path' | 'line' | 'from' | 'text'>

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

/** Hits as they are in the files after other hits were replaced: lines and texts may have changed. */
export function afterReplacing(hits: readonly LeftOut[], replaced: readonly Hit[]): LeftOut[] {
  return hits.map(hit => {
    const before = replaced.filter(it => it.path === hit.path && it.line < hit.line)
    const beside = replaced.filter(it => it.path === hit.path && it.line === hit.line)
    const lines = before.reduce((sum, { insert }) => sum + insert.split('\n').length - 1, 0)
    const left = beside.filter(({ from }) => from < hit.from)
    const moved = left.reduce((sum, { from, to, insert }) => sum + insert.length - (to - from), 0)
    const text = beside
      .toSorted((one, other) => other.from - one.from)
      .reduce((line, { from, to, insert }) => line.slice(0, from) + insert + line.slice(to), hit.text)
    return { path: hit.path, line: hit.line + lines, from: hit.from + moved, text }
  })
}

/** The keys of the hits that some hits of an earlier search are now: the nearest with the same text, one for each. */
export function sameHits(before: readonly LeftOut[], now: readonly Hit[]): Set<string> {
  const keys = new Set<string>()
  const placeOf = ({ path, from, text }: LeftOut) => `${path}\0${from}\0${text}`
  const byPlace = Map.groupBy(now, placeOf)
  for (const hit of before) {
    const [nearest] = (byPlace.get(placeOf(hit)) ?? [])
      .filter(({ key }) => !keys.has(key))
      .toSorted((one, other) => Math.abs(one.line - hit.line) - Math.abs(other.line - hit.line))
    if (nearest) keys.add(nearest.key)
  }
  return keys
}
