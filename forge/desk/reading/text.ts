/** Converts a file's bytes to an editor's text and back: unchanged parts keep their bytes. */
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { sizeInWords, visiblePath } from '../../../core/text.ts'
import type { File } from '../contract/branches.ts'
import { type Form, type LineEnd, lineEndOf } from '../contract/editable-text.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { imageTypeOf } from '../server/images.ts'

export type { Form, LineEnd }

/** Larger files, in bytes, are not shown, only their size. */
export const MAX_SHOWN_BYTES = 10 << 20

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Decodes bytes to text with \n between lines; undefined if they are not UTF-8 or contain a NUL. With mixed line ends
 * each \r stays in the text, so that no line loses its own. {@link encode} is the exact reverse.
 */
export function decodeText(bytes: Uint8Array): (Form & { text: string }) | undefined {
  if (bytes.includes(0)) return undefined
  const bom = BOM.equals(bytes.subarray(0, BOM.length))
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bom ? bytes.subarray(BOM.length) : bytes)
  } catch {
    return undefined
  }
  const lineEnd = lineEndOf(text)
  return { text: lineEnd === 'CRLF' ? text.replaceAll('\r\n', '\n') : text, lineEnd, bom }
}

/** A guessed single-byte encoding. */
type Guess = 'Latin-1' | 'Windows-1252'

// biome-ignore lint/suspicious/noControlCharactersInRegex: a text has none of these
const IN_NO_TEXT = /[\0-\x06\x0e-\x1a\x1c-\x1f\x7f]/
const ONLY_IN_WINDOWS = /[\x80-\x9f]/
const IN_NO_WINDOWS = /[\x81\x8d\x8f\x90\x9d]/

/**
 * Decodes bytes that are not UTF-8 but look like text in a single-byte encoding, for display only: the encoding is a
 * guess, so the text is never written.
 */
export function guess(bytes: Uint8Array): { text: string; lineEnd: LineEnd; encoding: Guess } | undefined {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  if (raw.startsWith('\xff\xfe') || raw.startsWith('\xfe\xff') || IN_NO_TEXT.test(raw)) return undefined
  if (IN_NO_WINDOWS.test(raw)) return undefined
  const encoding = ONLY_IN_WINDOWS.test(raw) ? 'Windows-1252' : 'Latin-1'
  const text = new TextDecoder('windows-1252').decode(bytes)
  const lineEnd = lineEndOf(text)
  return { text: lineEnd === 'CRLF' ? text.replaceAll('\r\n', '\n') : text, lineEnd, encoding }
}

/** Why a text with a guessed encoding is read-only. */
export const whyGuessed = (path: Path, encoding: Guess): string =>
  `${visiblePath(path)} is not UTF-8. Shown as ${encoding} (a guess), read-only.`

/** Encodes a text with the line ends and the byte order mark of a form. */
export function encode(text: string, { lineEnd, bom }: Form): Buffer {
  const body = Buffer.from(lineEnd === 'CRLF' ? text.replaceAll('\n', '\r\n') : text)
  return bom ? Buffer.concat([BOM, body]) : body
}

/** The form of a new file: line ends as git writes them. */
export const NEW_FORM: Form = { lineEnd: 'LF', bom: false }

/** The content at a path: mode, id, size, and the bytes unless there are too many. */
export type Content = { mode: string; oid: Oid; size: number; bytes: Buffer | undefined }

/** What is shown for a file without text; undefined if it has text. */
export function showWithoutText(path: Path, entry: NonNullable<Entry>, content: Content | undefined): File | undefined {
  const { mode } = entry
  const size = content?.size ?? 0
  const other = (what: string): File => ({ kind: 'other', mode, size, what })
  if (mode === '160000') return other(`A submodule: another repository, at its commit ${entry.oid}.`)
  if (mode === '040000') return other('A folder.')
  if (!content) return other(`The content of ${visiblePath(path)} is not in this repository.`)
  const { bytes } = content
  if (mode === '120000') return other(`A symbolic link to ${visiblePath(bytes?.toString('latin1') ?? '')}.`)
  if (!bytes) return other(`${sizeInWords(size)}: too large to be shown.`)
  const type = imageTypeOf(bytes)
  if (type) return { kind: 'image', mode, size, type, oid: content.oid }
  if (isPointer(bytes)) return other('A pointer of Git LFS: the file itself is kept elsewhere.')
  if (isUtf16(bytes)) return other('Text in UTF-16, which is not edited here.')
  if (bytes.includes(0)) return other('A binary file.')
  if (!decodeText(bytes) && !guess(bytes)) return other('Bytes that are no text in UTF-8: a binary file, perhaps.')
  return undefined
}

/** Whether bytes begin with the byte order mark of UTF-16. */
export const isUtf16 = (bytes: Buffer): boolean => /^(\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1', 0, 2))

/** Whether bytes are a pointer of Git LFS. */
export const isPointer = (bytes: Buffer): boolean =>
  bytes.length < 1024 && bytes.toString('latin1', 0, 43).startsWith('version https://git-lfs.github.com/spec/v1\n')

/** Why a text of this size is read-only; undefined if it is not. */
export function whyReadOnly(path: Path, size: number): string | undefined {
  if (size <= MAX_EDITABLE_BYTES) return undefined
  return `${visiblePath(path)} has ${sizeInWords(size)}: files of more than 2 MB are shown and not edited.`
}
