/**
 * Undo and redo of what begins, changes or ends a waiting merge. What was typed since the operation stays: it is merged
 * with the drafts that the undo restores. Only an undo that removes conflicts takes away what they were resolved to,
 * until its redo.
 */

import { isDeepStrictEqual } from 'node:util'
import { Failure } from '../../../core/failure.ts'
import { marksLeft } from '../../../core/git/conflict-marks.ts'
import { type Objects, writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { HeldBranch, Next } from './branch-work.ts'
import { mergeDrafts, readDraftsAt } from './draft-merges.ts'
import {
  type Clashing,
  contentIn,
  type Drafts,
  entryIn,
  isSameClash,
  noDrafts,
  withoutFiles,
  withSettled,
} from './drafts.ts'
import { isOfForge } from './forge-folder.ts'
import {
  type ConflictRow,
  isRenamed,
  isSettledWith,
  makeMerging,
  namesIn,
  readMerging,
  type StoredMerging,
} from './merging-commits.ts'

/** An operation on a waiting merge: the commits of the merge, and of the drafts, before and after it. */
export type MergingTarget = {
  before: Oid | undefined
  after: Oid | undefined
  drafts: { before: Oid | undefined; after: Oid | undefined }
  /** Whether the operation is an undo, which is redone. */
  isRedo: boolean
}

type State = StoredMerging & { tree: Oid }

/** The drafts after the operation, now, and before it, and the third of these with what was typed since the first. */
type Merged = { start: Drafts; typed: Drafts; end: Drafts; merged: Drafts }

/** The merge that waits now, and the one that the undo restores; undefined where none waits. */
type Waiting = { now: State | undefined; next: State | undefined }

/**
 * Prepares the undo or redo of an operation on a waiting merge. `head`: the branch's move, if it had one. Returns the
 * next state of the branch, and the files of which something typed or resolved since is not in it. Throws a {@link
 * Failure} if another merge waits now, or if what was typed since can't be kept.
 */
export async function mergingAgain(
  held: HeldBranch,
  head: { before?: Oid | undefined } | undefined,
  { before, after, drafts: { before: to, after: from }, isRedo }: MergingTarget,
): Promise<{ next: Next; lost: Path[] }> {
  const { work } = held
  const { objects } = work.room
  const read = async (commit: Oid | undefined) =>
    commit === undefined ? undefined : await readMerging(objects, commit)
  const [now, then, next] = await Promise.all([work.merging, after, before].map(read))
  if ((work.merging === undefined) !== (after === undefined) || !isSameMerge(now, then))
    throw new Failure(
      `What waits in ${visiblePath(work.name)} is not what did then: nothing was undone. Undo what came later first.`,
    )
  const tip = before ?? (head ? head.before : work.head)
  const start = (await readDraftsAt(objects, from, work.tip)) ?? noDrafts(work.tip)
  const end = (await readDraftsAt(objects, to, tip)) ?? noDrafts(tip)
  const typed = await withSettled(objects, work.drafts)
  const all = { start, typed, end, merged: await mergeDrafts(objects, start, typed, end) }
  // At the commit that ended the merge, a draft that does not fit is in conflict like any other.
  const lost = before === undefined && head ? [] : lostFiles(all, { now, next })
  const isTaken = (path: Path) =>
    !isRedo && (next === undefined || isOfForge(path) || rowOf(goneRows({ now, next }), path))
  const kept = lost.find(path => !isTaken(path))
  if (kept !== undefined)
    throw new Failure(
      `${visiblePath(kept)} was changed since, which can’t be merged with this: nothing was ${isRedo ? 'redone' : 'undone'}. Take that change back first.`,
    )
  const drafts = withVersionsOf(all.merged, end, lost)
  await verifyResolved(objects, { now, next }, drafts, end)
  const names = lost.filter(path => !isOfForge(path)).sort()
  const state = now && then && next && withChoicesSince(next, then, now)
  if (!state) return { next: { merging: before ?? null, drafts }, lost: names }
  const { tree, ...stored } = state
  const made = makeMerging(objects.repository, stored, tree)
  await writeObjects(objects.repository, made.made)
  return { next: { merging: made.oid, drafts: { ...drafts, tip: made.oid } }, lost: names }
}

/** Whether two commits describe the same step at the same conflict, with other choices perhaps. */
function isSameMerge(one: State | undefined, other: State | undefined): boolean {
  if (!one || !other) return true
  const of = ({ does, oursCommit, theirsCommit, from, number }: State) => [does, oursCommit, theirsCommit, from, number]
  return isDeepStrictEqual(of(one), of(other))
}

/** The conflicts that wait now, and not after the undo. */
const goneRows = ({ now, next }: Waiting): ConflictRow[] => (now?.rows ?? []).filter(row => !hasRow(next, row))

const hasRow = (state: State | undefined, row: ConflictRow): boolean =>
  state?.rows.some(it => isDeepStrictEqual(it, row)) ?? false

const rowOf = (rows: readonly ConflictRow[], path: Path): ConflictRow | undefined =>
  rows.find(row => isSettledWith(row, path))

/**
 * The files of which what was typed or resolved since is not kept: it does not fit what the undo restores, or is the
 * version chosen in a conflict that the undo removes. The conversation of an AI belongs to the merge, too.
 */
function lostFiles({ start, typed, end, merged }: Merged, waiting: Waiting): Path[] {
  const gone = goneRows(waiting)
  // A file may have a draft and another draft that is in conflict with it.
  const changed = [...new Set([...merged.files.keys(), ...merged.clashes.keys()])]
  const isLost = (path: Path): boolean => {
    const clash = merged.clashes.get(path)
    const row = rowOf(gone, path)
    // A conflict with the version chosen in one that the undo removes would have that one's markers in its base.
    const isShown = clash && row?.mark === undefined && isShownIn(waiting.next, path, clash)
    if (clash && !isSameClash(clash, end.clashes.get(path)) && !isShown) return true
    if (waiting.next === undefined && isOfForge(path)) return true
    return row !== undefined && isChosen(row, typed) && typed.files.has(path) && !start.files.has(path)
  }
  const lost = changed.filter(isLost)
  const rows = gone.filter(row => lost.some(path => isSettledWith(row, path)))
  return changed.filter(path => lost.includes(path) || rowOf(rows, path))
}

/** Whether the drafts of a conflict's files are a version or a name that was chosen, not only a resolved text. */
function isChosen(row: ConflictRow, { files }: Drafts): boolean {
  const names = namesIn(row)
  return row.mark === undefined || (names !== undefined && isRenamed(files, names))
}

/**
 * Whether a conflict of a draft is shown beside the merge's own: the file is in none of these, or has markers of the
 * same length, so that the draft's take the place of the merge's.
 */
function isShownIn(next: State | undefined, path: Path, { working }: Clashing): boolean {
  if (!next) return false
  const row = next.rows.find(({ paths }) => paths.includes(path))
  return row === undefined || (working !== undefined && row.mark === working.mark)
}

/** The drafts with some files as other drafts on the same commit have them. */
function withVersionsOf(drafts: Drafts, other: Drafts, paths: readonly Path[]): Drafts {
  const kept = withoutFiles(drafts, paths)
  const [files, clashes] = [new Map(kept.files), new Map(kept.clashes)]
  for (const path of paths) {
    if (other.files.has(path)) files.set(path, other.files.get(path))
    const clash = other.clashes.get(path)
    if (clash) clashes.set(path, clash)
  }
  return { ...kept, files, clashes }
}

/** Throws if conflict markers of a conflict that the undo removes would become text of a draft. */
async function verifyResolved(objects: Objects, waiting: Waiting, drafts: Drafts, end: Drafts): Promise<void> {
  for (const { mark, paths } of goneRows(waiting)) {
    if (mark === undefined) continue
    for (const path of paths) {
      if (waiting.next?.rows.some(row => row.paths.includes(path))) continue
      const [entry, before] = [await entryIn(objects, drafts, path), await entryIn(objects, end, path)]
      if (!entry || entry.oid === before?.oid) continue
      const content = await contentIn(objects, drafts, path, entry)
      if (marksLeft(content?.bytes?.toString('latin1') ?? '', mark) > 0)
        throw new Failure(`${visiblePath(path)} has open conflicts again: nothing was redone. Resolve them first.`)
    }
  }
}

/**
 * A merge with the choices made since the operation, in conflicts that it has, too: those to keep a file as git left
 * it, and the models that resolved a file. Undefined if there are none.
 */
function withChoicesSince(next: State, then: State, now: State): State | undefined {
  const kept = new Set(next.kept)
  const by = { ...next.by }
  for (const { path } of next.rows.filter(row => hasRow(now, row))) {
    const isKept = now.kept.includes(path)
    if (isKept !== then.kept.includes(path)) kept[isKept ? 'add' : 'delete'](path)
    if (isDeepStrictEqual(now.by[path], then.by[path])) continue
    const model = now.by[path]
    if (model) by[path] = model
    else delete by[path]
  }
  const state = { ...next, kept: [...kept], by }
  return isDeepStrictEqual(state, next) ? undefined : state
}
