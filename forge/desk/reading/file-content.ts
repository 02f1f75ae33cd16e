/** A file of the repository as it is shown: its text, or a description. */

import type { Objects } from '../../../core/git/objects.ts'
import type { Entry, Path } from '../../../core/git/repository.ts'
import type { File } from '../contract/branches.ts'
import type { LineEnd } from '../contract/editable-text.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import {
  type Content,
  decodeText,
  guess,
  MAX_SHOWN_BYTES,
  NEW_FORM,
  showWithoutText,
  whyGuessed,
  whyReadOnly,
} from './text.ts'

/** A file's content, unless it is too large to show. */
export async function readContent(objects: Objects, entry: NonNullable<Entry>): Promise<Content | undefined> {
  if (entry.mode === '160000' || entry.mode === '040000') return undefined
  const object = await objects.read(entry.oid, { limit: MAX_SHOWN_BYTES })
  return object && { ...entry, size: object.size, bytes: object.bytes }
}

/** The text of a file for display, and its line ends; undefined if it has none, or is too large. */
export async function textAt(
  objects: Objects,
  path: Path,
  entry: NonNullable<Entry>,
): Promise<{ text: string; lineEnd: LineEnd } | undefined> {
  const content = await readContent(objects, entry)
  if (!content?.bytes || showWithoutText(path, entry, content)) return undefined
  return decodeText(content.bytes) ?? guess(content.bytes)
}

/** A read-only file as shown; `why`: the reason, as a sentence. */
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
  const form = { lineEnd, bom: decoded?.bom ?? false, ...(guessed && { encoding: guessed.encoding }) }
  return { kind: 'text', text, version: 0, saved, ...form, mode: entry.mode, readOnly: why ?? because }
}

/** The bytes of a file that can be edited as text. */
export async function textBytes(objects: Objects, entry: Entry): Promise<Buffer | undefined> {
  if (entry?.mode !== '100644' && entry?.mode !== '100755') return undefined
  const object = await objects.read(entry.oid, { limit: MAX_EDITABLE_BYTES })
  if (!object?.bytes || object.type !== 'blob') return undefined
  const content = { ...entry, size: object.size, bytes: object.bytes }
  return showWithoutText('', entry, content) || !decodeText(object.bytes) ? undefined : object.bytes
}
