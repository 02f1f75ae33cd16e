/** Files that a branch does not have any more: the commit that deleted them, and their return as drafts. */
import { Failure } from '../../../core/failure.ts'
import { renamedFiles } from '../../../core/git/diffs.ts'
import { touching } from '../../../core/git/history.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import type { DeletedFile } from '../contract/branches.ts'
import { whyFiltered } from '../reading/filters.ts'
import { rowsOf, treeBefore } from '../reading/history.ts'
import type { BranchWork } from './branch-work.ts'
import { filesIn, withFile } from './draft-files.ts'
import { entryInTip } from './drafts.ts'
import { change, RESTORE } from './file-operations.ts'

/** After more renames than these, where a file is now is not looked for. */
const MAX_RENAMES = 20

/** The commit that took a file from a branch, where it is now, and whether {@link restoreFile} can bring it back. */
export async function deletedFile(work: BranchWork, path: Path): Promise<DeletedFile> {
  const { objects } = work.room
  const oid = await deletingCommit(work, path)
  const [row] = oid === undefined ? [] : await rowsOf(objects, [oid])
  const canRestore = (await lastEntry(work, path, oid)) !== undefined
  const renamedTo = oid && (await renamedInto(work, path, oid))
  return {
    ...(row && { commit: { oid: row.oid, subject: row.subject } }),
    ...(renamedTo !== undefined && { renamedTo }),
    canRestore,
  }
}

/**
 * The path in the branch's last commit of a file that a commit (`by`) took away; undefined if it was not renamed, or is
 * gone since.
 */
async function renamedInto(work: BranchWork, path: Path, by: Oid): Promise<Path | undefined> {
  let next = (await renamesOf(work, by)).get(path)
  for (let renames = 1; next !== undefined && renames < MAX_RENAMES; renames++) {
    const oid = await deletingCommit(work, next)
    if (oid === undefined) return next
    next = (await renamesOf(work, oid)).get(next)
  }
  return undefined
}

/** The files that a commit renamed, as far as that can be found out: contents may be missing in a partial clone. */
async function renamesOf({ room: { objects } }: BranchWork, oid: Oid): Promise<Map<Path, Path>> {
  try {
    return await renamedFiles(objects.repository, await treeBefore(objects, oid), oid)
  } catch (error) {
    if (error instanceof GitError) return new Map()
    throw error
  }
}

/**
 * Restores a deleted file as a draft: with the text that windows still show of it, or else as windows showed it last or
 * as it was before the commit that deleted it. The latter is an operation that can be undone. Throws a {@link Failure}
 * if nothing is known of the file.
 */
export async function restoreFile(work: BranchWork, path: Path): Promise<void> {
  if (work.restoreShown(path)) return
  const name = visiblePath(path)
  await change(work, { kind: RESTORE, words: `restore ${name} in ${visiblePath(work.name)}` }, async drafts => {
    const { objects, filters } = work.room
    const entry = await lastEntry(work, path, await deletingCommit(work, path))
    if (!entry) throw new Failure(`The content of ${name} is not known any more: undo its deletion.`)
    await filesIn(objects, drafts).verifyFree(path)
    const filter = await filters.of(drafts.tip, path)
    if (filter !== undefined) throw new Failure(whyFiltered(path, filter))
    return withFile(drafts, path, entry)
  })
}

/** The file as windows showed it last, or as it was before the commit that deleted it (`oid`). */
async function lastEntry(work: BranchWork, path: Path, oid: Oid | undefined): Promise<Entry> {
  const { objects } = work.room
  const shown = work.lastShown(path)
  if (shown && (await objects.info(shown.oid))) return shown
  return oid === undefined ? undefined : await entryAt(objects, await treeBefore(objects, oid), path)
}

/** The newest commit that touched a file which the branch's last commit does not have: it has deleted the file. */
async function deletingCommit({ room: { objects }, tip }: BranchWork, path: Path): Promise<Oid | undefined> {
  if (tip === undefined || (await entryInTip(objects, tip, path))) return undefined
  const { touches } = await touching(objects.repository, tip, path, { count: 1 })
  return touches[0]?.oid
}
