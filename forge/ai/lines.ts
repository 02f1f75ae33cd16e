/** Lines of files for a model: with numbers, decoded where they are text, and bounded. */
import { lengthOfCharacter } from './places.ts'

/** At most this many characters of a line are shown; longer lines are generated. */
const MAX_LINE_CHARS = 1000

/** The offset at which each line starts. A line end at the very end starts no further line. */
export function lineStarts(bytes: Buffer): Int32Array {
  let count = bytes.length > 0 ? 1 : 0
  for (let at = 0; at < bytes.length - 1; at++) if (bytes[at] === 10) count++
  const starts = new Int32Array(count)
  let line = 1
  for (let at = 0; at < bytes.length - 1; at++) if (bytes[at] === 10) starts[line++] = at + 1
  return starts
}

/** The number, from 1, of the line that contains a byte. */
export function lineAt(starts: Int32Array, offset: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((starts[middle] as number) <= offset) low = middle + 1
    else high = middle
  }
  return Math.max(low, 1)
}

const strict = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether bytes are UTF-8 throughout. */
export function isUtf8(bytes: Buffer): boolean {
  try {
    strict().decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Bytes as text, with bytes that are no UTF-8 written as \xe9. */
export function readableLine(bytes: Buffer): string {
  try {
    return strict().decode(bytes)
  } catch {
    let text = ''
    for (let at = 0; at < bytes.length; ) {
      const length = lengthOfCharacter(bytes, at)
      if (length === 0) text += `\\x${(bytes[at] as number).toString(16).padStart(2, '0')}`
      else text += bytes.toString('utf8', at, at + length)
      at += Math.max(length, 1)
    }
    return text
  }
}

/** Lines, each with its number and a tab in front. `last`: the number of the last line within the limit. */
export type Numbered = { text: string; last: number; isCut: boolean }

/** Lines `first` to `last`, from 1, without their line ends, of at most `most` characters in all. */
export function numbered(
  bytes: Buffer,
  starts: Int32Array,
  { first, last, most }: { first: number; last: number; most: number },
): Numbered {
  const rows: string[] = []
  let [size, isCut] = [0, false]
  for (let line = first; line <= Math.min(last, starts.length); line++) {
    const from = starts[line - 1] as number
    const to = starts[line] ?? bytes.length
    const { text, isShort } = lineText(bytes.subarray(from, to))
    const row = `${line}\t${text}`
    if (rows.length > 0 && size + row.length > most) return { text: rows.join('\n'), last: line - 1, isCut }
    rows.push(row)
    size += row.length + 1
    isCut ||= isShort
  }
  return { text: rows.join('\n'), last: first + rows.length - 1, isCut }
}

function lineText(line: Buffer): { text: string; isShort: boolean } {
  // A character has at most four bytes, and the last one may be cut off.
  const start = line.subarray(0, MAX_LINE_CHARS * 4)
  const text = readableLine(start).replace(/\r?\n$/, '')
  if (text.length <= MAX_LINE_CHARS && start.length === line.length) return { text, isShort: false }
  const shown = text.slice(0, MAX_LINE_CHARS).toWellFormed()
  return { text: `${shown}… [${line.length} bytes in this line]`, isShort: true }
}
