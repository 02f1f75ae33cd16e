/** New, moved and deleted files in drafts. Nothing here writes: each function returns the drafts that result. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { listFiles } from '../../../core/git/trees.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { Renamed } from '../../operations.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import { isIn, pathAfter } from '../contract/paths.ts'
import { withoutUnused, withRename } from './draft-renames.ts'
import { asChanges, type DraftFile, type Drafts, draftsBelow, entryIn, entryInTip, verifyNoClash } from './drafts.ts'

/** A folder with more files can't be moved, copied or deleted as a draft, since each file becomes one. */
export const MAX_FILES = 50_000

/** The entry (mode and id) of a file in the branch's last commit. */
type SavedFile = NonNullable<Entry>

/** The drafts with a new or replaced file. */
export function withFile(drafts: Drafts, path: Path, file: NonNullable<DraftFile>): Drafts {
  return { ...drafts, files: new Map(drafts.files).set(path, file) }
}

/** The drafts after the deletion of a file or folder. */
export async function withoutFileAt(objects: Objects, drafts: Drafts, path: Path): Promise<Drafts> {
  const saved = await savedBelow(objects, drafts.tip, path)
  const files = new Map(drafts.files)
  const clashes = new Map(drafts.clashes)
  for (const draft of draftsBelow(drafts, path)) {
    files.delete(draft)
    clashes.delete(draft)
  }
  for (const below of saved.keys()) files.set(below, undefined)
  return withoutUnused({ ...drafts, files, clashes })
}

/** The drafts after a file or folder was moved. Unsaved edits move with it. */
export async function withMoved(objects: Objects, drafts: Drafts, renamed: Renamed): Promise<Drafts> {
  const { from, to } = renamed
  const [here, there] = await Promise.all([from, to].map(path => savedBelow(objects, drafts.tip, path)))
  const files = new Map(drafts.files)
  for (const path of new Set([...(here?.keys() ?? []), ...draftsBelow(drafts, from)])) {
    const saved = here?.get(path)
    const file = drafts.files.has(path) ? drafts.files.get(path) : saved
    if (saved) files.set(path, undefined)
    else files.delete(path)
    if (file) put(files, pathAfter(renamed, path), file, there)
  }
  return withoutUnused({ ...drafts, files, renames: withRename(drafts, renamed) })
}

/** The drafts with copies of files, by their new paths, all of them at `to` or below it. */
export async function withCopies(
  objects: Objects,
  drafts: Drafts,
  to: Path,
  copies: ReadonlyMap<Path, NonNullable<DraftFile>>,
): Promise<Drafts> {
  const there = await savedBelow(objects, drafts.tip, to)
  const files = new Map(drafts.files)
  for (const [path, file] of copies) put(files, path, file, there)
  return { ...drafts, files }
}

/** Puts a file at a path. A file that equals the saved one there is no draft. */
function put(
  files: Map<Path, DraftFile>,
  path: Path,
  file: NonNullable<DraftFile>,
  saved: ReadonlyMap<Path, SavedFile> | undefined,
): void {
  const before = saved?.get(path)
  if (before?.oid === file.oid && before.mode === file.mode) files.delete(path)
  else files.set(path, file)
}

/** The file at a path in a branch's last commit, or the files in that folder. */
export async function savedBelow(objects: Objects, tip: Oid | undefined, path: Path): Promise<Map<Path, SavedFile>> {
  const entry = await entryInTip(objects, tip, path)
  if (!entry) return new Map()
  if (entry.mode !== '040000') return new Map([[path, entry]])
  const { files, cut } = await listFiles(objects, entry.oid, { limit: MAX_FILES })
  if (cut)
    throw new Failure(
      `${visiblePath(path)} has more than ${many(MAX_FILES, 'file')}: move or delete it by git, or a part of it at a time.`,
    )
  return new Map(files.map(({ path: name, mode, oid }) => [`${path}/${name}`, { mode, oid }]))
}

/** A branch's files with its drafts, for lookups by path. */
export const filesIn = (objects: Objects, { tip, files }: Drafts): WorkInProgressVfs =>
  new WorkInProgressVfs(objects, tip, asChanges(files))

/** The file or folder at a path of a branch's drafts. Throws a {@link Failure} if there is none. */
export async function existing(
  objects: Objects,
  drafts: Drafts,
  path: Path,
  branch: string,
): Promise<NonNullable<Entry>> {
  const entry = await entryIn(objects, drafts, path)
  if (entry && entry.mode !== '040000') return entry
  const isDraft = [...draftsBelow(drafts, path)].some(it => drafts.files.get(it) ?? drafts.clashes.get(it))
  if (isDraft) return { mode: '040000', oid: '' }
  const saved = entry ? await savedBelow(objects, drafts.tip, path) : new Map()
  if (entry && [...saved.keys()].some(it => !drafts.files.has(it))) return entry
  throw new Failure(`There is no ${visiblePath(path)} in ${visiblePath(branch)}.`)
}

/**
 * Throws a {@link Failure} if there is a submodule at a path or below it: .gitmodules names its path, too, and would
 * go on to do so. `remedy`: what to do instead, as the end of a sentence.
 */
export async function verifyNoSubmodule(objects: Objects, drafts: Drafts, path: Path, remedy: string): Promise<void> {
  const saved = await savedBelow(objects, drafts.tip, path)
  for (const below of new Set([...saved.keys(), ...draftsBelow(drafts, path)])) {
    const entry = drafts.files.has(below) ? drafts.files.get(below) : saved.get(below)
    if (entry?.mode === '160000') throw new Failure(`${visiblePath(below)} is a submodule: ${remedy}.`)
  }
}

/** Throws a {@link Failure} if the file or folder `from` can't be moved to `to`. */
export async function verifyMovable(
  objects: Objects,
  drafts: Drafts,
  { from, to }: Renamed,
  branch: string,
): Promise<void> {
  await existing(objects, drafts, from, branch)
  if (isIn(to, from)) throw new Failure(`${visiblePath(from)} can't be moved into itself.`)
  await filesIn(objects, drafts).verifyFree(to)
  verifyNoClash(drafts, draftsBelow(drafts, from))
}
