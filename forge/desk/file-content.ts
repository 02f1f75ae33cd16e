/** A file of the repository as it is shown: its text, or what is said of it where it has none. */
import type { Objects } from '../../core/git/objects.ts'
import type { Entry, Path } from '../../core/git/repository.ts'
import type { File } from './messages.ts'
import { type Content, decode, NEW_FORM, SHOWN, showWithoutText, whyReadOnly } from './text.ts'

/** A file's content, where it is not too large to be shown. */
export async function readContent(objects: Objects, entry: NonNullable<Entry>): Promise<Content | undefined> {
  if (entry.mode === '160000' || entry.mode === '040000') return undefined
  const object = await objects.read(entry.oid, { limit: SHOWN })
  return object && { ...entry, size: object.size, bytes: object.bytes }
}

/** The text of a file; undefined where it is none, or too large. */
export async function textAt(objects: Objects, path: Path, entry: NonNullable<Entry>): Promise<string | undefined> {
  const content = await readContent(objects, entry)
  if (!content?.bytes || showWithoutText(path, entry, content)) return undefined
  return decode(content.bytes)?.text
}

/** What is shown of a file that nobody edits; `why` says so in a sentence. */
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
  const decoded = decode(content?.bytes ?? new Uint8Array())
  const { text, ...form } = decoded ?? { text: '', ...NEW_FORM }
  const readOnly = why ?? whyReadOnly(path, content?.size ?? 0)
  return { kind: 'text', text, version: 0, saved, ...form, mode: entry.mode, readOnly }
}
