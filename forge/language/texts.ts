/** Positions in texts, as the Language Server Protocol counts them: lines and UTF-16 code units from 0. */
import * as v from 'valibot'
import { asBytes, asText, type Path } from '../../core/git/repository.ts'
import { verifyPath } from '../vfs.ts'
import { WORKSPACE } from './launch.ts'

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
export const Position = v.object({ line: Count, character: Count })
export type Position = v.InferOutput<typeof Position>
export const Range = v.object({ start: Position, end: Position })
export type Range = v.InferOutput<typeof Range>

/**
 * A text as servers get it: characters that some servers take for the end of a line, and CodeMirror does not, are
 * blanks. All positions stay the same.
 */
export const forServer = (text: string): string => text.replace(/[\r\u2028\u2029]/g, ' ')

/** The offsets at which the lines of a text begin. */
export function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** The offset of a position. One beyond the line's or the text's end is the nearest that exists. */
export function offsetOf(text: string, starts: readonly number[], { line, character }: Position): number {
  const start = starts[line]
  if (start === undefined) return text.length
  const next = starts[line + 1]
  const end = next === undefined ? text.length : next - 1
  return Math.min(start + character, end)
}

/** The position of an offset. */
export function positionOf(starts: readonly number[], offset: number): Position {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return { line: low, character: offset - (starts[low] ?? 0) }
}

/** The one replacement that makes a text another: without their common start and end. Undefined for the same text. */
export function editBetween(before: string, after: string): { from: number; to: number; text: string } | undefined {
  if (before === after) return undefined
  const shorter = Math.min(before.length, after.length)
  let from = 0
  while (from < shorter && before.charCodeAt(from) === after.charCodeAt(from)) from++
  let end = 0
  while (
    end < shorter - from &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  )
    end++
  // A pair of surrogates is one character, which no server can split.
  if (from > 0 && isHigh(before.charCodeAt(from - 1))) from--
  if (end > 0 && isLow(before.charCodeAt(before.length - end))) end--
  return { from, to: before.length - end, text: after.slice(from, after.length - end) }
}

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00
const isLow = (code: number): boolean => code >= 0xdc00 && code < 0xe000

/** A text with edits made; undefined where one does not fit the text, or two overlap. */
export function withTextEdits(text: string, edits: readonly { range: Range; newText: string }[]): string | undefined {
  const starts = lineStarts(text)
  const placed = edits.map(({ range, newText }, index) => {
    const [from, to] = [range.start, range.end].map(position => offsetOf(text, starts, position)) as [number, number]
    return { from, to, newText, index }
  })
  if (placed.some(({ from, to }) => to < from)) return undefined
  placed.sort((one, other) => one.from - other.from || one.to - other.to || one.index - other.index)
  let made = ''
  let at = 0
  for (const { from, to, newText } of placed) {
    if (from < at) return undefined
    made += text.slice(at, from) + newText
    at = to
  }
  return made + text.slice(at)
}

/** A range in one text as a range in another one that it became: the changed part moves as a whole. */
export function movedRange(range: Range, before: string, after: string): Range {
  const edit = editBetween(before, after)
  if (!edit) return range
  const [starts, movedStarts] = [lineStarts(before), lineStarts(after)]
  const { from, to, text } = edit
  const moved = (position: Position, side: 'start' | 'end'): Position => {
    const offset = offsetOf(before, starts, position)
    if (offset <= from) return positionOf(movedStarts, offset)
    if (offset >= to) return positionOf(movedStarts, offset + text.length - (to - from))
    return positionOf(movedStarts, side === 'start' ? from : from + text.length)
  }
  return { start: moved(range.start, 'start'), end: moved(range.end, 'end') }
}

/** The address of a file in the container; undefined for a path that is not UTF-8. */
export function uriOf(path: Path): string | undefined {
  const text = asText(path)
  if (asBytes(text) !== path) return undefined
  return `file://${WORKSPACE}/${text.split('/').map(encodeURIComponent).join('/')}`
}

/** The path of a file of the branch in a server's address; undefined for any other address. */
export function pathOf(uri: string): Path | undefined {
  const start = `file://${WORKSPACE}/`
  if (!uri.startsWith(start) || uri.length > 16_384) return undefined
  try {
    const path = asBytes(decodeURIComponent(uri.slice(start.length)))
    verifyPath(path)
    return path
  } catch {
    return undefined
  }
}
