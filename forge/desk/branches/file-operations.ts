/**
 * New files, moves and deletions. They are drafts, saved with what belongs to them, and each is one operation that can
 * be undone. The drafts are written with it, so that it survives when the process is killed.
 */
import { Failure } from '../../../core/failure.ts'
import { oidOf } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { Renamed } from '../../operations.ts'
import { isIn, pathAfter } from '../contract/paths.ts'
import { whyFiltered } from '../reading/filters.ts'
import type { BranchServices, BranchWork, Next } from './branch-work.ts'
import {
  existing,
  filesIn,
  savedBelow,
  verifyMovable,
  verifyNoSubmodule,
  withFile,
  withMoved,
  withoutFileAt,
} from './draft-files.ts'
import { type Drafts, draftsBelow, isSameDrafts, verifyNoClash } from './drafts.ts'

/** The kinds of operations that add, move, delete and restore files as drafts. */
export const NEW_FILE = 'new file'
export const MOVE = 'rename'
export const REPLACE = 'replace'
export const DELETE = 'delete'
export const RESTORE = 'restore'
export const COPY = 'copy'

/** The content of a new file. */
export type NewFile = { path: Path; bytes: Uint8Array }

/** Adds new files. */
export async function addFiles(work: BranchWork, added: readonly NewFile[]): Promise<void> {
  const words = `add ${namesOf(added.map(({ path }) => path))} to ${visiblePath(work.name)}`
  await putFiles(work, { kind: NEW_FILE, words }, added)
}

/**
 * Adds files, and replaces existing ones. Without `isReplacing`, nothing is done if some of the files exist.
 * @returns The files that exist.
 */
export async function addOrReplaceFiles(
  work: BranchWork,
  added: readonly NewFile[],
  isReplacing: boolean,
): Promise<Path[]> {
  const vfs = await work.vfs()
  const isThere = await Promise.all(added.map(({ path }) => vfs.fileExists(path)))
  const existing = added.flatMap(({ path }, at) => (isThere[at] ? [path] : []))
  if (existing.length === 0) await addFiles(work, added)
  if (existing.length === 0 || !isReplacing) return existing
  const [all, old, branch] = [namesOf(added.map(({ path }) => path)), namesOf(existing), visiblePath(work.name)]
  const words =
    existing.length === added.length ? `replace ${old} in ${branch}` : `add ${all} to ${branch}, and replace ${old}`
  await putFiles(work, { kind: REPLACE, words }, added, new Set(existing))
  return existing
}

async function putFiles(
  work: BranchWork,
  deed: About,
  added: readonly NewFile[],
  replaced: ReadonlySet<Path> = new Set(),
): Promise<void> {
  await change(work, deed, async drafts => {
    const { objects, filters } = work.room
    let after = drafts
    for (const { path, bytes } of added) {
      const before = replaced.has(path) ? await existing(objects, after, path, work.name) : undefined
      if (before === undefined) await filesIn(objects, after).verifyFree(path)
      verifyNoClash(after, [path])
      const mode = before?.mode === '100755' ? '100755' : '100644'
      const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
      after = withFile(after, path, { mode, oid, bytes: Buffer.from(bytes) })
    }
    await filters.verifyNone(
      work.tip,
      added.map(({ path }) => path),
    )
    return after
  })
}

/** Moves or renames files and folders. Unsaved edits and open windows move with them. */
export async function move(work: BranchWork, moves: readonly Renamed[]): Promise<void> {
  const [first] = moves
  const what = moves.length === 1 && first ? visiblePath(first.from) : many(moves.length, 'file')
  const where = moves.length === 1 && first ? visiblePath(first.to) : folderInWords(moves)
  const words = `rename ${what} to ${where} in ${visiblePath(work.name)}`
  await change(work, { kind: MOVE, words, renamed: moves }, async drafts => {
    let after = drafts
    for (const renamed of moves) {
      await verifyMovable(work.room.objects, after, renamed, work.name)
      await verifyNoSubmodule(work.room.objects, after, renamed.from, 'move it by git mv')
      await verifySameFilters(work, after, renamed)
      after = await withMoved(work.room.objects, after, renamed)
    }
    return after
  })
}

/** The folder that some files are moved or copied to, in words. */
export function folderInWords(moves: readonly Renamed[]): string {
  const folders = new Set(moves.map(({ to }) => to.slice(0, Math.max(0, to.lastIndexOf('/')))))
  const [folder] = folders
  if (folders.size !== 1 || folder === undefined) return 'other names'
  return folder === '' ? 'the top folder' : visiblePath(folder)
}

/** Deletes files and folders. Undo brings their unsaved edits back, too. Returns the operation. */
export async function deleteFiles(work: BranchWork, paths: readonly Path[]): Promise<Oid | undefined> {
  const words = `delete ${namesOf(paths)} from ${visiblePath(work.name)}`
  return await change(work, { kind: DELETE, words, deleted: paths }, async drafts => {
    let after = drafts
    for (const path of paths) {
      // Skip a path in a folder of the same selection: it is deleted with the folder.
      if (paths.some(other => other !== path && isIn(path, other))) continue
      await existing(work.room.objects, after, path, work.name)
      await verifyNoSubmodule(work.room.objects, after, path, 'delete it by git rm')
      after = await withoutFileAt(work.room.objects, after, path)
    }
    return after
  })
}

type About = { kind: string; words: string } & Pick<Next, 'renamed' | 'deleted'>

/** Replaces the drafts of a branch in one operation, on the newest state. Returns it, if anything has changed. */
export async function change(
  work: BranchWork,
  { renamed, deleted, ...deed }: About,
  next: (drafts: Drafts) => Promise<Drafts>,
): Promise<Oid | undefined> {
  return await work.inOneGo(async held => {
    // The operation's undo needs the drafts from before in the repository.
    await held.writeDrafts()
    const drafts = await next(work.drafts)
    if (isSameDrafts(drafts, work.drafts)) return undefined
    return await held.become({ drafts, renamed, deleted }, deed)
  })
}

async function verifySameFilters({ room }: BranchWork, drafts: Drafts, renamed: Renamed): Promise<void> {
  const saved = await savedBelow(room.objects, drafts.tip, renamed.from)
  const paths = new Set([...saved.keys(), ...draftsBelow(drafts, renamed.from)])
  const pairs = [...paths].map(path => ({ from: path, to: pathAfter(renamed, path) }))
  await verifyFilters(room, pairs, { from: drafts.tip, to: drafts.tip })
}

/**
 * Throws a {@link Failure} if a filter (such as LFS) applies to a file under its path in one commit, but not under its
 * path in another one. `files`: all files that are moved or copied together.
 */
export async function verifyFilters(
  { filters }: BranchServices,
  files: readonly Renamed[],
  tips: { from: Oid | undefined; to: Oid | undefined },
): Promise<void> {
  const [before, after] = await Promise.all([
    filters.ofMany(
      tips.from,
      files.map(({ from }) => from),
    ),
    filters.ofMany(
      tips.to,
      files.map(({ to }) => to),
    ),
  ])
  // A folder's own .gitattributes go with it.
  const hasOwn = files.some(({ from }) => from.endsWith('/.gitattributes'))
  for (const { from, to } of files) {
    const [was, will] = [before.get(from), after.get(to)]
    if (will !== undefined && will !== was) throw new Failure(whyFiltered(to, will))
    if (was !== undefined && will === undefined && !hasOwn) throw new Failure(whyFiltered(from, was))
  }
}

/** The names of at most two files, or the number of more. */
export const namesOf = (paths: readonly Path[]): string =>
  paths.length <= 2 ? paths.map(visiblePath).join(' and ') : many(paths.length, 'file')
