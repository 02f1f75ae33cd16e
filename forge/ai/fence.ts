/**
 * Shows repository content to a model. It is untrusted: it may pretend to end, to be the desk's words, or to give
 * orders. So it is put between fences that are longer than any in it, under a name on one line.
 */
import type { Path } from '../../core/git/repository.ts'
import { many, visiblePath } from '../../core/text.ts'

/** Of a longer file, only this many bytes at its beginning are sent. */
export const MAX_SENT_BYTES = 128 << 10

/**
 * The assumed size of a token when a request is packed. It never follows a provider's counts, since the same session
 * must always give the same bytes.
 */
const BYTES_PER_TOKEN = 3.6
export const bytesIn = (tokens: number): number => Math.floor(tokens * BYTES_PER_TOKEN)
/** The estimated tokens of a number of bytes. No tokenizer is used, since those take minutes on hostile input. */
export const tokensOf = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)
/** The estimated tokens of a file of `bytes` bytes, counting only the part that is sent. */
export const tokensSent = (bytes: number): number => tokensOf(Math.min(bytes, MAX_SENT_BYTES))
export const tokensIn = (text: string): number => tokensOf(Buffer.byteLength(text))

/** Whether a file is binary, by its beginning. Its content is not sent. */
export const isBinary = (bytes: Buffer): boolean => bytes.subarray(0, 8192).includes(0)

/** Puts a text between two fence lines that do not occur in it. */
export function fenced(text: string): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((length, run) => Math.max(length, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}${text.endsWith('\n') || text === '' ? '' : '\n'}${fence}`
}

/** A path as a model reads and writes it: on one line, in quotes. */
export const quoted = (path: Path): string => JSON.stringify(visiblePath(path))

/**
 * A file's content with a heading. `said`: how the file came here, e.g. `is active`. A binary file is only named. A
 * file of more than `most` bytes is cut and says so. `bytes` is undefined where the content is missing or far too
 * large.
 */
export function fileInWords(path: Path, said: string, bytes: Buffer | undefined, most = MAX_SENT_BYTES): string {
  const name = `The file ${quoted(path)} ${said}`
  const limit = Math.min(most, MAX_SENT_BYTES)
  if (!bytes) return `${name}, but its content is too large or not in this repository: it is not shown.`
  if (bytes.length === 0) return `${name}. It is empty.`
  if (isBinary(bytes)) return `${name}. It is binary, ${many(bytes.length, 'byte')}: not shown.`
  const sent = bytes.length > limit ? cutAtLine(bytes, limit) : bytes
  const text = sent.toString()
  const notes = [
    `${many(linesOf(bytes), 'line')}`,
    /^[^\n]*\r\n/.test(text) && 'which end in CRLF',
    !bytes.includes(0x0a, bytes.length - 1) && 'without a newline at the end',
    sent !== bytes && `of which the first ${linesOf(sent).toLocaleString('en')} follow (get_lines reads the others)`,
    !Buffer.from(text).equals(sent) && 'not all of it UTF-8: \ufffd stands for bytes that are none',
  ]
  return `${name} (${notes.filter(Boolean).join(', ')}):\n${fenced(text.replaceAll('\r\n', '\n'))}`
}

function cutAtLine(bytes: Buffer, limit: number): Buffer {
  const end = bytes.lastIndexOf(0x0a, limit)
  if (end > 0) return bytes.subarray(0, end + 1)
  // The part has no line end: cut it between two UTF-8 characters.
  let at = limit
  while (((bytes[at] ?? 0) & 0xc0) === 0x80 && at > limit - 4) at--
  return bytes.subarray(0, at)
}

function linesOf(bytes: Buffer): number {
  let count = bytes.at(-1) === 0x0a ? 0 : 1
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) count++
  return count
}
