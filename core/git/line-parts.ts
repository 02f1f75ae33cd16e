/** Takes some of the lines in which two versions of a file differ. */
import { Failure } from '../failure.ts'

/**
 * Lines of one version that stand for lines of another: counted from 0, `to` exclusive. A line ends after its `\n`, as
 * in git.
 */
export type LineRange = { fromA: number; toA: number; fromB: number; toB: number }

/**
 * Version A with some ranges replaced by those of version B. Where all lines of B have another line end than all lines
 * of A, that is a change of its own: all lines get the line end of A, or with `lineEnds` that of B. Throws a
 * {@link Failure} if the ranges overlap, are not in order, or are outside of a version.
 */
export function withLines(a: Buffer, b: Buffer, ranges: readonly LineRange[], lineEnds = false): Buffer {
  const [one, other] = [linesOf(a), linesOf(b)]
  const pieces: Buffer[] = []
  let [at, last] = [0, 0]
  for (const { fromA, toA, fromB, toB } of ranges) {
    const isSound = at <= fromA && fromA <= toA && toA <= one.length && fromB <= toB && toB <= other.length
    if (!isSound || fromB < last) throw new Failure('The file has changed since these lines were shown: try again.')
    pieces.push(...one.slice(at, fromA), ...other.slice(fromB, toB))
    at = toA
    last = toB
  }
  pieces.push(...one.slice(at))
  const [end, otherEnd] = [lineEndOf(one), lineEndOf(other)]
  const isOwnChange = end !== undefined && otherEnd !== undefined && end !== otherEnd
  return Buffer.concat(withEnds(pieces, isOwnChange ? (lineEnds ? otherEnd : end) : undefined))
}

type LineEnd = '\n' | '\r\n'

/** The line end of all lines; undefined if they have different ones, or none. */
function lineEndOf(lines: readonly Buffer[]): LineEnd | undefined {
  const ends = new Set(lines.filter(isEnded).map((line): LineEnd => (hasReturn(line) ? '\r\n' : '\n')))
  return ends.size === 1 ? [...ends][0] : undefined
}

const isEnded = (line: Buffer): boolean => line.at(-1) === 0x0a
const hasReturn = (line: Buffer): boolean => line.at(-2) === 0x0d

/** The lines of a text with their line ends. */
function linesOf(text: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf(0x0a, at)
    const next = end < 0 ? text.length : end + 1
    lines.push(text.subarray(at, next))
    at = next
  }
  return lines
}

/** Gives a line end to each line, or only to those that have none; a last line without a line end stays so. */
function withEnds(lines: readonly Buffer[], end: LineEnd | undefined): Buffer[] {
  const usual = lines.some(line => isEnded(line) && hasReturn(line)) ? '\r\n' : '\n'
  return lines.map((line, at) => {
    if (isEnded(line) ? end === undefined : at === lines.length - 1) return line
    return Buffer.concat([withoutEnd(line), Buffer.from(end ?? usual)])
  })
}

function withoutEnd(line: Buffer): Buffer {
  if (!isEnded(line)) return line
  return line.subarray(0, hasReturn(line) ? -2 : -1)
}
