/** Replaces text in several files of a branch: drafts of all of them, by one operation. */
import { Failure } from '../../../core/failure.ts'
import { oidOf } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { allOf } from '../../../core/together.ts'
import type { LineEdit } from '../contract/branches.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { whyFiltered } from '../reading/filters.ts'
import { decodeText, encode, showWithoutText, whyReadOnly } from '../reading/text.ts'
import type { BranchWork } from './branch-work.ts'
import { contentIn, type DraftFile, type Drafts, entryIn, entryInTip, isSameDrafts, verifyNoClash } from './drafts.ts'

interface FileEdits {
  path: Path
  edits: readonly LineEdit[]
}

/**
 * What is to be replaced. `tree`: the tree that the edits were made for. `words`: a description, as part of a sentence.
 */
interface Replacing {
  tree: Oid
  words: string
  files: readonly FileEdits[]
}

/** A file that can't be edited, and why, as a sentence. */
interface Skipped {
  path: Path
  why: string
}

/** At most this many replacements in one operation. */
const MAX_EDITS = 10_000

/**
 * Replaces parts of lines in files of a branch. The files become drafts, and the operation can be undone. Files that
 * can't be edited are skipped.
 *
 * @returns The number of changed files and of replaced places, and the skipped files.
 * @throws A {@link Failure}, without any effect, if a file has changed since the edits were made.
 */
export async function replaceInFiles(
  work: BranchWork,
  wanted: Replacing,
): Promise<{ files: number; edits: number; skipped: Skipped[] }> {
  const edits = wanted.files.reduce((sum, file) => sum + file.edits.length, 0)
  if (edits > MAX_EDITS) throw new Failure(`At most ${MAX_EDITS} places are replaced at once: narrow the search.`)
  return await work.locked(async held => {
    work.verifyFree()
    work.verifyNotMerging()
    await held.collect()
    return await held.again(async () => {
      // The operation's undo needs the drafts in the repository.
      await held.writeDrafts()
      verifyNoClash(
        work.drafts,
        wanted.files.map(({ path }) => path),
      )
      const made = await allOf(wanted.files.map(file => replacedFile(work, wanted.tree, file)))
      const skipped = made.flatMap(file => ('why' in file ? [file] : []))
      const changed = made.flatMap(file => ('why' in file ? [] : [file]))
      const after = await withFiles(work, changed)
      const count = changed.reduce((sum, file) => sum + file.count, 0)
      if (!isSameDrafts(after, work.drafts)) {
        const words = `replace ${visible(wanted.words)} in ${many(changed.length, 'file')} in ${visiblePath(work.name)}`
        await held.become({ drafts: after }, { kind: 'replace', words })
      }
      return { files: changed.length, edits: count, skipped }
    })
  })
}

interface ReplacedFile {
  path: Path
  file: NonNullable<DraftFile>
  /** The number of replaced places. */
  count: number
}

/** A file with its edits made; or why it can't be edited. */
async function replacedFile(
  { room, drafts }: BranchWork,
  tree: Oid,
  { path, edits }: FileEdits,
): Promise<ReplacedFile | Skipped> {
  const { objects, filters } = room
  const [entry, before] = await Promise.all([entryIn(objects, drafts, path), entryAt(objects, tree, path)])
  if (!entry || entry.oid !== before?.oid || entry.mode !== before.mode) throw hasChanged(path)
  const content = await contentIn(objects, drafts, path, entry)
  const filter = await filters.of(drafts.tip, path)
  if (filter !== undefined) return { path, why: whyFiltered(path, filter) }
  const decoded = content?.bytes && !showWithoutText(path, entry, content) ? decodeText(content.bytes) : undefined
  if (!content || !decoded) return { path, why: `${visiblePath(path)} is not text in UTF-8, so it can’t be edited.` }
  const tooLarge = whyReadOnly(path, content.size)
  if (tooLarge !== undefined) return { path, why: tooLarge }
  const text = withEdits(decoded.text, edits)
  if (text === undefined) throw hasChanged(path)
  if (text.includes('\0') || !text.isWellFormed())
    throw new Failure('The replacement has a character that no text file can contain: nothing was replaced.')
  const bytes = encode(text, decoded)
  if (bytes.length > MAX_EDITABLE_BYTES)
    return { path, why: `${visiblePath(path)} would have more than 2 MB, and is left as it is.` }
  const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
  return { path, file: { mode: entry.mode, oid, bytes }, count: edits.length }
}

const hasChanged = (path: Path): Failure =>
  new Failure(`${visiblePath(path)} has changed since this search. Nothing was replaced: search again.`)

/** A text with parts of its lines replaced; undefined if an edit does not fit the text. */
function withEdits(text: string, edits: readonly LineEdit[]): string | undefined {
  const lines = text.split('\n')
  const byLine = Map.groupBy(edits, ({ line }) => line)
  for (const [number, all] of byLine) {
    const line = lines[number - 1]
    if (line === undefined) return undefined
    let replaced = ''
    let at = 0
    for (const { from, to, insert } of all.toSorted((one, other) => one.from - other.from)) {
      if (from < at || to < from || to > line.length) return undefined
      replaced += line.slice(at, from) + insert
      at = to
    }
    lines[number - 1] = replaced + line.slice(at)
  }
  return lines.join('\n')
}

/** The drafts with new content for some files. A file that is as it was saved is no draft. */
async function withFiles({ room, drafts }: BranchWork, changed: readonly ReplacedFile[]): Promise<Drafts> {
  const saved = await allOf(changed.map(({ path }) => entryInTip(room.objects, drafts.tip, path)))
  const files = new Map(drafts.files)
  for (const [at, { path, file }] of changed.entries()) {
    if (saved[at]?.oid === file.oid && saved[at]?.mode === file.mode) files.delete(path)
    else files.set(path, file)
  }
  return { ...drafts, files }
}
