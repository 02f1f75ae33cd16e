/** Takes some of the lines in which two versions of a file differ. */
import { Failure } from '../failure.ts'

/**
 * Lines of one version that stand for lines of another: counted from 0, `to` exclusive. A line ends after its `\n`, as
 * in git.
 */
export type LineRange = { fromA: number; toA: number; fromB: number; toB: number }

/**
 * Version A with some ranges replaced by those of version B. Throws a {@link Failure} if the ranges overlap, are not in
 * order, or are outside of a version.
 */
export function withLines(a: Buffer, b: Buffer, ranges: readonly LineRange[]): Buffer {
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
  return Buffer.concat(withEnds(pieces))
}

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

/** A line without an end gets one where another line follows. */
function withEnds(lines: readonly Buffer[]): Buffer[] {
  const end = lines.some(line => line.length > 1 && line.at(-2) === 0x0d) ? '\r\n' : '\n'
  return lines.map((line, at) => {
    return at === lines.length - 1 || line.at(-1) === 0x0a ? line : Buffer.concat([line, Buffer.from(end)])
  })
}
