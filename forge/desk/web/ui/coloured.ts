/** Syntax colours of a text outside the editor: pieces of lines, each with its classes. */
import type { Text } from '@codemirror/state'
import { highlightTree } from '@lezer/highlight'
import { codeStyle } from './code-style.ts'
import { loadLanguage } from './languages.ts'
import { isTooDeepToColour } from './nesting.ts'

/** A range of characters: start and end (exclusive). */
export type Range = [number, number]

export interface Piece {
  text: string
  look: string
}

interface Span {
  from: number
  to: number
  look: string
}

/** At most this many characters are coloured, since colouring a longer text takes too long. */
const MAX_LENGTH = 300_000

/** The spans in each line, by line, in order. */
export type Colours = ReadonlyMap<number, Span[]>

export async function coloursOf(path: string, text: Text): Promise<Colours> {
  const colours = new Map<number, Span[]>()
  if (text.length > MAX_LENGTH) return colours
  const support = await loadLanguage(path, text)
  if (!support) return colours
  const content = text.toString()
  if (isTooDeepToColour(content)) return colours
  const tree = support.language.parser.parse(content)
  highlightTree(tree, codeStyle, (from, to, look) => addSpan(colours, text, { from, to, look }))
  return colours
}

function addSpan(colours: Map<number, Span[]>, text: Text, span: Span): void {
  let at = span.from
  while (at < span.to) {
    const line = text.lineAt(at)
    const to = Math.min(span.to, line.to)
    const spans = colours.get(line.number) ?? []
    if (to > at) spans.push({ from: at - line.from, to: to - line.from, look: span.look })
    colours.set(line.number, spans)
    at = line.to + 1
  }
}

/**
 * Splits a line into pieces, each with its colour, and marked if its words changed. A range of no width, where words
 * are gone, is a piece without text.
 */
export function piecesOf(text: string, spans: Span[] | undefined, words: Range[]): Piece[] {
  const edges = new Set([0, text.length])
  for (const { from, to } of spans ?? []) edges.add(from).add(to)
  for (const [from, to] of words) edges.add(from).add(to)
  const places = [...edges].filter(at => at <= text.length).sort((one, other) => one - other)
  // A line that is shown without the \r of its end is shorter than the one that the ranges are of.
  const placeOf = (at: number) => Math.min(at, text.length)
  const gapAt = (place: number) =>
    words.some(([start, end]) => start === end && placeOf(start) === place) ? [{ text: '', look: 'gap' }] : []
  const pieces = places.slice(1).flatMap((to, index) => {
    const from = places[index] ?? 0
    const look = spans?.find(span => span.from <= from && span.to >= to)?.look ?? ''
    const isWord = words.some(([start, end]) => start <= from && end >= to)
    return [...gapAt(from), { text: text.slice(from, to), look: isWord ? `${look} w` : look }]
  })
  return [...pieces, ...gapAt(text.length)]
}
