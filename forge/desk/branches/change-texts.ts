/** Changes the texts of several files of a branch: drafts of all of them, by one operation. */
import { Failure } from '../../../core/failure.ts'
import { oidOf } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { allOf } from '../../../core/together.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { whyFiltered } from '../reading/filters.ts'
import { decodeText, encode, type Form, showWithoutText, whyReadOnly } from '../reading/text.ts'
import type { BranchWork } from './branch-work.ts'
import {
  contentIn,
  type DraftFile,
  type Drafts,
  entryIn,
  entryInTip,
  isSameDrafts,
  verifyNoClash,
  whyClashing,
} from './drafts.ts'

/** A file to change. `change` gives its new text; undefined where the edits do not fit. `count`: how many edits. */
export interface FileChange {
  path: Path
  count: number
  change: (text: string) => string | undefined
}

/**
 * Changes of texts. `tree`: the tree that they were made for. `words`: a description of the operation, for a number of
 * changed files.
 */
export interface TextChanges {
  tree: Oid
  kind: string
  words: (files: number) => string
  files: readonly FileChange[]
  /** The error for a file that has changed since. */
  hasChanged: (path: Path) => Failure
}

/** A file that can't be edited, and why, as a sentence. */
export interface Skipped {
  path: Path
  why: string
}

/**
 * Changes the texts of files of a branch. The files become drafts, and the operation can be undone. Files that can't be
 * edited are skipped.
 *
 * @returns The number of changed files and of edits, and the skipped files.
 * @throws A {@link Failure}, without any effect, if a file has changed since the edits were made.
 */
export async function changeTexts(
  work: BranchWork,
  wanted: TextChanges,
): Promise<{ files: number; edits: number; skipped: Skipped[] }> {
  return await work.editDrafts(async held => {
    verifyNoClash(
      work.drafts,
      wanted.files.map(({ path }) => path),
    )
    const made = await allOf(wanted.files.map(file => changedFile(work, wanted, file)))
    const skipped = made.flatMap(file => ('why' in file ? [file] : []))
    const changed = made.flatMap(file => ('why' in file ? [] : [file]))
    const after = await withFiles(work, changed)
    const edits = changed.reduce((sum, file) => sum + file.count, 0)
    if (!isSameDrafts(after, work.drafts))
      await held.become({ drafts: after }, { kind: wanted.kind, words: wanted.words(changed.length) })
    return { files: changed.length, edits, skipped }
  })
}

interface ChangedFile {
  path: Path
  file: NonNullable<DraftFile>
  count: number
}

/** A file with its edits made; or why it can't be edited. */
async function changedFile(
  work: BranchWork,
  { tree, hasChanged }: TextChanges,
  { path, count, change }: FileChange,
): Promise<ChangedFile | Skipped> {
  const { drafts } = work
  const { objects } = work.room
  const [entry, before] = await Promise.all([entryIn(objects, drafts, path), entryAt(objects, tree, path)])
  if (!entry || entry.oid !== before?.oid || entry.mode !== before.mode) throw hasChanged(path)
  const decoded = await editableText(work, path, entry)
  if ('why' in decoded) return { path, why: decoded.why }
  const text = change(decoded.text)
  if (text === undefined) throw hasChanged(path)
  if (text.includes('\0') || !text.isWellFormed())
    throw new Failure('The replacement has a character that no text file can contain: nothing was replaced.')
  const bytes = encode(text, decoded)
  if (bytes.length > MAX_EDITABLE_BYTES)
    return { path, why: `${visiblePath(path)} would have more than 2 MB, and is left as it is.` }
  const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
  return { path, file: { mode: entry.mode, oid, bytes }, count }
}

/** The text of a file; or why it can't be edited, as a sentence. */
export async function editableText(
  { room: { objects, filters }, drafts }: BranchWork,
  path: Path,
  entry: NonNullable<Entry>,
): Promise<(Form & { text: string }) | { why: string }> {
  const filter = await filters.of(drafts.tip, path)
  if (filter !== undefined) return { why: whyFiltered(path, filter) }
  const content = await contentIn(objects, drafts, path, entry)
  const tooLarge = content && whyReadOnly(path, content.size)
  if (tooLarge !== undefined) return { why: tooLarge }
  const decoded = content?.bytes && !showWithoutText(path, entry, content) ? decodeText(content.bytes) : undefined
  return decoded ?? { why: `${visiblePath(path)} is not text in UTF-8, so it can’t be edited.` }
}

/**
 * Why files of a branch can't be edited, as sentences, by path: files that can, and those that are gone, are missing.
 */
export async function whyNotEditable(work: BranchWork, paths: readonly Path[]): Promise<Map<Path, string>> {
  const { drafts, room } = work
  const reasons = await allOf(
    paths.map(async (path): Promise<[Path, string][]> => {
      const clash = whyClashing(drafts, path)
      if (clash !== undefined) return [[path, clash]]
      const entry = await entryIn(room.objects, drafts, path)
      const decoded = entry && (await editableText(work, path, entry))
      return decoded && 'why' in decoded ? [[path, decoded.why]] : []
    }),
  )
  return new Map(reasons.flat())
}

/** The drafts with new content for some files. A file that is as it was saved is no draft. */
export async function withFiles(
  { room, drafts }: BranchWork,
  changed: readonly Pick<ChangedFile, 'path' | 'file'>[],
): Promise<Drafts> {
  const saved = await allOf(changed.map(({ path }) => entryInTip(room.objects, drafts.tip, path)))
  const files = new Map(drafts.files)
  for (const [at, { path, file }] of changed.entries()) {
    if (saved[at]?.oid === file.oid && saved[at]?.mode === file.mode) files.delete(path)
    else files.set(path, file)
  }
  return { ...drafts, files }
}
