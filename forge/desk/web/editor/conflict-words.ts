/** The words of a conflict's side that differ from the base. */
import { diff } from '@codemirror/merge'
import type { Range } from '../ui/coloured.ts'

/** The limit of one comparison, in words; beyond it the differences are coarser, but none is omitted. */
const DIFF = { scanLimit: 1_000 }
/** If a larger share of a line is new, the whole line is marked. */
const MAX_MARKED_SHARE = 0.7
/** Each distinct word is mapped to one UTF-16 character, of which there are this many below the surrogates. */
const MAX_DISTINCT_WORDS = 0xd800

/** A word, blanks, a line end, or an operator such as === and =>. */
const WORDS = /[\p{L}\p{N}_$]+|[^\S\n]+|\n|[=<>!&|+\-*/%^~?:.]+|./gsu

interface Words {
  /** One character for each word. */
  code: string
  /** The offset of each word, and of the end of the text. */
  starts: number[]
}

/**
 * For each line of `text`, a side of a conflict: the ranges that differ from `before`. They have no width where words
 * are gone; there are none where `before` is missing.
 */
export function changedWords(before: string | undefined, text: string): Range[][] {
  const lines = text.split('\n')
  if (before === undefined || before === '') return lines.map(() => [])
  const known = new Map<string, number>()
  const [one, other] = [wordsOf(before, known), wordsOf(text, known)]
  if (known.size >= MAX_DISTINCT_WORDS) return lines.map(() => [])
  // Behind the last line end, nothing is shown.
  const end = text.endsWith('\n') ? text.length - 1 : text.length
  const changed = diff(one.code, other.code, DIFF).map(({ fromB, toB }): Range => {
    const [from, to] = [other.starts[fromB] ?? text.length, other.starts[toB] ?? text.length]
    return from < to ? [from, to] : [Math.min(from, end), Math.min(from, end)]
  })
  let at = 0
  return lines.map(line => {
    const [from, to] = [at, at + line.length]
    at = to + 1
    return marksIn(line, from, to, changed)
  })
}

function marksIn(line: string, from: number, to: number, changed: readonly Range[]): Range[] {
  const inside = changed
    .filter(([start, end]) => (start === end ? from <= start && start <= to : start < to && end > from))
    .map(([start, end]): Range => [Math.max(start, from) - from, Math.min(end, to) - from])
  const marked = inside.reduce((sum, [start, end]) => sum + end - start, 0)
  if (marked <= MAX_MARKED_SHARE * line.length) return inside
  const indent = line.length - line.trimStart().length
  return indent < line.length ? [[indent, line.length]] : []
}

function wordsOf(text: string, known: Map<string, number>): Words {
  const starts: number[] = []
  let code = ''
  for (const { 0: word, index } of text.matchAll(WORDS)) {
    const number = known.get(word) ?? known.size
    known.set(word, number)
    code += String.fromCharCode(number % MAX_DISTINCT_WORDS)
    starts.push(index)
  }
  starts.push(text.length)
  return { code, starts }
}
