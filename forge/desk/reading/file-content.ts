/** A file of the repository as it is shown: its text, or what is said of it where it has none. */

import type { Objects } from '../../../core/git/objects.ts'
import type { Entry, Path } from '../../../core/git/repository.ts'
import { sizeInWords } from '../../../core/text.ts'
import type { ClashSide, File } from '../contract/branches.ts'
import { type Content, decodeText, guess, NEW_FORM, SHOWN, showWithoutText, whyGuessed, whyReadOnly } from './text.ts'

/** A file's content, where it is not too large to be shown. */
export async function readContent(objects: Objects, entry: NonNullable<Entry>): Promise<Content | undefined> {
  if (entry.mode === '160000' || entry.mode === '040000') return undefined
  const object = await objects.read(entry.oid, { limit: SHOWN })
  return object && { ...entry, size: object.size, bytes: object.bytes }
}

/** The text of a file, for the eye; undefined where it is none, or too large. */
export async function textAt(objects: Objects, path: Path, entry: NonNullable<Entry>): Promise<string | undefined> {
  const content = await readContent(objects, entry)
  if (!content?.bytes || showWithoutText(path, entry, content)) return undefined
  return (decodeText(content.bytes) ?? guess(content.bytes))?.text
}

/** What is shown of a read-only file; `why` says so in a sentence. */
export async function showFile(
  objects: Objects,
  path: Path,
  entry: NonNullable<Entry>,
  saved: string | undefined,
  why?: string,
): Promise<File> {
  const content = await readContent(objects, entry)
  const other = showWithoutText(path, entry, content)
  if (other) return other
  const bytes = content?.bytes ?? new Uint8Array()
  const decoded = decodeText(bytes)
  const guessed = decoded ? undefined : guess(bytes)
  const { text, lineEnd } = decoded ?? guessed ?? { text: '', ...NEW_FORM }
  const because = guessed ? whyGuessed(path, guessed.encoding) : whyReadOnly(path, content?.size ?? 0)
  const form = { lineEnd, bom: decoded?.bom ?? false }
  return { kind: 'text', text, version: 0, saved, ...form, mode: entry.mode, readOnly: why ?? because }
}

/** A file as one side of a conflict: its text if it is editable, otherwise a sentence that says what it is. */
export async function sideOf(objects: Objects, path: Path, entry: NonNullable<Entry>): Promise<ClashSide> {
  const content = await readContent(objects, entry)
  const other = showWithoutText(path, entry, content)
  const text = other || !content?.bytes ? undefined : decodeText(content.bytes)?.text
  if (text !== undefined) return text
  const size = content ? ` It has ${sizeInWords(content.size)}.` : ''
  if (other?.kind === 'image') return { what: `An image.${size}` }
  if (other?.kind === 'other') return { what: other.what + (['120000', '160000'].includes(entry.mode) ? '' : size) }
  return { what: `Text that is no UTF-8: in ${guess(content?.bytes ?? new Uint8Array())?.encoding}, perhaps.${size}` }
}
