/**
 * A file's bytes as an editor shows them, and the text of an editor as the file's bytes: untouched parts keep their
 * bytes.
 */
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { sizeInWords, visiblePath } from '../../../core/text.ts'
import type { File } from '../contract/branches.ts'
import type { Form, LineEnd } from '../contract/editable-text.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { imageTypeOf } from '../server/images.ts'

export type { Form, LineEnd }

/** Files of more bytes are not shown: only their size is said. */
export const SHOWN = 10 << 20

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * The text in some bytes, with \n between lines; undefined where they are no text: not UTF-8, or with a NUL in it.
 * Where line ends differ, the \r stay in the text, so that no line loses its own. {@link encode} is the exact reverse.
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

/** What may be the encoding of a text of one byte a character, as far as its bytes tell. */
type Guess = 'Latin-1' | 'Windows-1252'

// biome-ignore lint/suspicious/noControlCharactersInRegex: a text has none of these
const IN_NO_TEXT = /[\0-\x06\x0e-\x1a\x1c-\x1f\x7f]/
const ONLY_IN_WINDOWS = /[\x80-\x9f]/
const IN_NO_WINDOWS = /[\x81\x8d\x8f\x90\x9d]/

/**
 * The text in bytes that are no UTF-8 but look like a text of one byte a character, for the eye alone: which encoding
 * it is can't be told for sure, so nothing is ever written that comes of this.
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

/** Why a text whose encoding is guessed is only shown. */
export const whyGuessed = (path: Path, encoding: Guess): string =>
  `${visiblePath(path)} is not UTF-8. Shown as ${encoding} (a guess), read-only.`

function lineEndOf(text: string): LineEnd {
  if (!text.includes('\r')) return 'LF'
  const isUniform = !/\r(?!\n)|(?<!\r)\n/.test(text)
  return isUniform ? 'CRLF' : 'mixed'
}

/** The bytes of a text in this form. */
export function encode(text: string, { lineEnd, bom }: Form): Buffer {
  const body = Buffer.from(lineEnd === 'CRLF' ? text.replaceAll('\n', '\r\n') : text)
  return bom ? Buffer.concat([BOM, body]) : body
}

/** What a new file is: nothing yet, with the line ends that git itself writes. */
export const NEW_FORM: Form = { lineEnd: 'LF', bom: false }

/** What stands at a path: its mode and id, its size, and its bytes where they are not too many to be read. */
export type Content = { mode: string; oid: Oid; size: number; bytes: Buffer | undefined }

/** What is shown for a file that has no text; undefined for one that has. */
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
  if (/^(\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1', 0, 2)))
    return other('Text in UTF-16, which is not edited here.')
  if (bytes.includes(0)) return other('A binary file.')
  if (!decodeText(bytes) && !guess(bytes)) return other('Bytes that are no text in UTF-8: a binary file, perhaps.')
  return undefined
}

const isPointer = (bytes: Buffer): boolean =>
  bytes.length < 1024 && bytes.toString('latin1', 0, 43).startsWith('version https://git-lfs.github.com/spec/v1\n')

/** Why a text of that size is read-only. */
export function whyReadOnly(path: Path, size: number): string | undefined {
  if (size <= MAX_EDITABLE_BYTES) return undefined
  return `${visiblePath(path)} has ${sizeInWords(size)}: files of more than 2 MB are shown and not edited.`
}
