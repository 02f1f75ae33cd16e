/** The drafts of a branch after an undo or a redo that moves it. */

import { Failure } from '../../../core/failure.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Renamed } from '../../operations.ts'
import type { BranchWork, HeldBranch, Next } from './branch-work.ts'
import { headRef } from './branches.ts'
import { verifyMovable, withMoved } from './draft-files.ts'
import { mergeDrafts, readDraftsAt } from './draft-merges.ts'
import { withoutUnused } from './draft-renames.ts'
import {
  type DraftFile,
  type Drafts,
  draftsBelow,
  entryInTip,
  filesBetween,
  noDrafts,
  readDrafts,
  renamedFiles,
  whyClashing,
  withSettled,
} from './drafts.ts'
import { type MergingTarget, mergingAgain } from './merging-undo.ts'

/** Where an undo or a redo moves a branch. */
type UndoTarget = {
  /** The branch's move; undefined if it stays. */
  head: { before?: Oid | undefined; after?: Oid | undefined } | undefined
  /**
   * For the undo of a save, whose changes become drafts again: the commit of the drafts as they were before the save.
   */
  unsaved: { drafts: Oid | undefined } | undefined
  /**
   * Whether the operation added files. Its undo removes them with the edits typed in them, and a redo restores both.
   */
  isAdded: boolean
  /**
   * The drafts, by their commits, between which the undo changes the branch: `from` are those after the operation, `to`
   * those before it.
   */
  drafts: { from: Oid | undefined; to: Oid | undefined } | undefined
  /** For a redo that moves the branch: the drafts, by their commits, after the undo (`from`) and before it (`to`). */
  redone: { from: Oid | undefined; to: Oid | undefined } | undefined
  /** The renames of files and folders, in this order. */
  renamed: readonly Renamed[]
  /** Whether the operation concerns an AI's turn, during which the branch's files are read-only. */
  isTurn: boolean
  /** The merge that waits in the branch, if the operation concerns one. */
  merging: MergingTarget | undefined
}

/** The next state of a branch. `lost`: the files of which what was typed since goes with a merge that waited. */
type Prepared = { next: Next; lost: Path[] }

/**
 * Prepares the undo or redo of an operation for one branch. Throws {@link RefMoved} if the branch is not where that
 * operation left it.
 */
export async function prepare(held: HeldBranch, target: UndoTarget): Promise<Prepared> {
  const { work } = held
  if (!target.isTurn) work.verifyFree()
  await held.collect()
  // Another desk may have moved the branch or written drafts since its refs were read.
  await held.lookAgain()
  // What an undo takes away, and a redo restores, has to be in the repository. For the drafts of a deleted branch,
  // another ref may be in the way.
  if (target.isAdded || target.merging || !work.isGone) await held.writeDrafts()
  const { head, merging, renamed } = target
  const there = work.isGone ? undefined : work.head
  if (head && there !== head.after) throw new RefMoved(headRef(work.name), head.after, there)
  const to = head && { head: head.before ?? null }
  if (merging) {
    const { next, lost } = await mergingAgain(held, head, merging)
    return { next: { ...to, ...next, renamed }, lost }
  }
  // While a merge waits, the branch moves only when that merge ends: an undo that would move it is refused.
  if (head) work.verifyNotMerging()
  return { next: { ...to, drafts: await draftsFor(work, target), renamed }, lost: [] }
}

async function draftsFor(
  work: BranchWork,
  { head, unsaved: saved, isAdded, renamed, drafts, redone }: UndoTarget,
): Promise<Drafts> {
  const tip = head ? head.before : work.tip
  if (saved) return await unsaved(work, tip, saved.drafts)
  if (renamed.length > 0) return await renamedAgain(work, tip, head !== undefined, renamed)
  if (redone) return await draftsRedone(work, tip, redone)
  const there = await draftsOn(work, tip)
  if (isAdded && drafts) return await withoutAdded(work, there, drafts)
  return drafts ? await changed(work, there, drafts) : there
}

async function draftsOn({ tip: now, drafts, room }: BranchWork, tip: Oid | undefined): Promise<Drafts> {
  if (tip === now) return drafts
  return await mergeDrafts(room.objects, noDrafts(now), drafts, noDrafts(tip))
}

/**
 * The drafts as they were before an undo, with the edits since. The undo has put what it took from the branch into the
 * drafts: merged onto the branch, this would conflict with itself.
 */
async function draftsRedone(
  { tip: now, drafts, room: { objects } }: BranchWork,
  tip: Oid | undefined,
  { from, to }: NonNullable<UndoTarget['redone']>,
): Promise<Drafts> {
  const start = (await readDraftsAt(objects, from, now)) ?? noDrafts(now)
  const end = (await readDraftsAt(objects, to, tip)) ?? noDrafts(tip)
  // A conflict that was resolved since is an ordinary draft, which can be merged with what the redo brings back.
  return await mergeDrafts(objects, await withSettled(objects, start), await withSettled(objects, drafts), end)
}

/**
 * Reverts renames of files and folders. A rename is a draft, except where an earlier version of the desk has committed
 * it (`isCommitted`): then only the paths of the drafts change.
 */
async function renamedAgain(
  { room: { objects }, drafts: now, name }: BranchWork,
  tip: Oid | undefined,
  isCommitted: boolean,
  renamed: readonly Renamed[],
): Promise<Drafts> {
  let drafts: Drafts = { ...now, tip }
  for (const it of renamed) {
    if (isCommitted) drafts = { ...drafts, files: renamedFiles(drafts, it) }
    else {
      verifySettled(drafts, it.from)
      await verifyMovable(objects, drafts, it, name)
      drafts = await withMoved(objects, drafts, it)
    }
  }
  return drafts
}

function verifySettled(drafts: Drafts, folder: Path): void {
  const open = [...draftsBelow(drafts, folder)].find(path => whyClashing(drafts, path) !== undefined)
  if (open === undefined) return
  throw new Failure(`${visiblePath(open)} is in conflict with the branch: nothing was undone. Resolve it first.`)
}

/**
 * The drafts without the files that an operation added; those that took the place of deleted ones are deleted again.
 * Throws a {@link Failure} if one was saved since.
 */
async function withoutAdded(
  work: BranchWork,
  now: Drafts,
  { from, to }: NonNullable<UndoTarget['drafts']>,
): Promise<Drafts> {
  const { objects } = work.room
  const [after, before] = await Promise.all(
    [from, to].map(commit => (commit ? readDrafts(objects, commit) : undefined)),
  )
  const added = [...(after?.files ?? [])].flatMap(([path, file]) => (file && !before?.files.get(path) ? [path] : []))
  // Where a deleted file was added again as it was saved, its deletion was a draft, and there is none now.
  const deleted = [...(before?.files ?? [])].flatMap(([path, file]) =>
    file === undefined && (!after?.files.has(path) || after.files.get(path)) ? [path] : [],
  )
  const gone = new Set([...added, ...deleted])
  const files = new Map([...now.files].filter(([path]) => !gone.has(path)))
  const clashes = new Map([...now.clashes].filter(([path]) => !gone.has(path)))
  for (const path of gone) {
    const saved = await entryInTip(objects, now.tip, path)
    const then = await entryInTip(objects, after?.tip ?? before?.tip, path)
    if (saved && (saved.oid !== then?.oid || saved.mode !== then.mode))
      throw new Failure(
        `${visiblePath(path)} was saved since: nothing was undone. Undo the save first, or delete the file.`,
      )
    if (saved) files.set(path, undefined)
  }
  return withoutUnused({ ...now, files, clashes })
}

/** For the undo of a save: its changes become drafts again, with the edits since. */
async function unsaved(
  { tip: now, drafts, room: { objects } }: BranchWork,
  tip: Oid | undefined,
  before: Oid | undefined,
): Promise<Drafts> {
  const saved = now === undefined ? new Map() : await filesBetween(objects, tip, now)
  const files = new Map<Path, DraftFile>()
  for (const [path, file] of [...saved, ...drafts.files]) {
    const entry = await entryInTip(objects, tip, path)
    if (entry?.oid === file?.oid && entry?.mode === file?.mode) files.delete(path)
    else files.set(path, file)
  }
  const known = before === undefined ? undefined : await readDrafts(objects, before)
  return withoutUnused({ ...drafts, tip, files, renames: [...drafts.renames, ...(known?.renames ?? [])] })
}

/** Restores discarded drafts, or discards them again; the edits since stay. */
async function changed(
  work: BranchWork,
  now: Drafts,
  { from, to }: NonNullable<UndoTarget['drafts']>,
): Promise<Drafts> {
  const { objects } = work.room
  const [start, end] = await Promise.all([from, to].map(commit => readDraftsAt(objects, commit, now.tip)))
  return start && end ? await mergeDrafts(objects, start, now, end) : now
}
