/** What becomes of a branch's drafts where an operation is taken back or done again, which takes it elsewhere. */

import { Failure } from '../../../core/failure.ts'
import type { NewObject } from '../../../core/git/objects.ts'
import type { Move } from '../../../core/git/refs.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Renamed } from '../../operations.ts'
import { mergingRef } from '../refs.ts'
import type { BranchWork, Standing } from './branch-work.ts'
import { mergeDrafts } from './draft-merges.ts'
import {
  type DraftFile,
  type Drafts,
  entryInTip,
  filesBetween,
  makeDrafts,
  noDrafts,
  readDrafts,
  renamedFiles,
} from './drafts.ts'

/** Where an operation takes a branch. */
export type Target = {
  /** Where the branch is to go; undefined where it stays. */
  head: { before?: Oid | undefined } | undefined
  /** What is not in the commit any more becomes drafts. */
  isUnsaved: boolean
  /** The commits of the drafts that it was about: what they were after it, and before. */
  drafts: { from: Oid | undefined; to: Oid | undefined } | undefined
  /** A file or folder that gets another name by it. */
  renamed: Renamed | undefined
  /** It is about the turn of an AI, which has the branch's files. */
  isTurn: boolean
  /** The merge that waited in the branch before it and after it, and the drafts that were made on the former. */
  merging?: { before: Oid | undefined; after: Oid | undefined; drafts: Oid | undefined } | undefined
}

/** Drafts for another commit, and what has to be written and moved so that they are in the repository. */
export type Prepared = {
  drafts: Drafts
  standing: Standing
  commit: Oid | undefined
  moves: Move[]
  made: NewObject[]
  renamed: Renamed | undefined
}

/**
 * What comes of the drafts where an operation takes the branch to another commit. To be called while it is locked.
 */
export async function prepare(work: BranchWork, target: Target): Promise<Prepared> {
  if (!target.isTurn) work.verifyFree()
  await work.collect()
  // Another desk may have moved the branch, or written drafts, since somebody looked here.
  await work.lookAgain()
  if (target.merging) return await prepareMerging(work, target, target.merging)
  // The commit under a merge that waits is moved by what ends the merge alone.
  if (target.head) work.verifyNotMerging()
  const drafts = await draftsFor(work, target)
  const made = await makeDrafts(work.room.objects, drafts)
  const moves = [work.draftsMove(made)].filter(isMove)
  const standing = { head: target.head ? drafts.tip : work.head, merging: work.merging }
  return { drafts, standing, commit: made?.oid, moves, made: made?.made ?? [], renamed: target.renamed }
}

const isMove = ({ from, to }: Move): boolean => from !== to

/**
 * A merge that waits comes, goes, or becomes what it was: the drafts of the one that goes are kept by the operation,
 * and those of the one that comes are there again, with what has been typed in the branch since.
 */
async function prepareMerging(
  work: BranchWork,
  { head, renamed }: Target,
  { before, after, drafts: commit }: NonNullable<Target['merging']>,
): Promise<Prepared> {
  const { objects } = work.room
  const name = visiblePath(work.name)
  if ((work.merging === undefined) !== (after === undefined))
    throw new Failure(`What waits in ${name} is not what did then: nothing was undone. Undo what came later first.`)
  await work.writeDrafts()
  const standing = { head: head ? head.before : work.head, merging: before }
  const tip = before ?? standing.head
  const restored = (commit === undefined ? undefined : await readDrafts(objects, commit)) ?? noDrafts(tip)
  const isFromBranch = work.merging === undefined
  const drafts = isFromBranch ? await mergeDrafts(objects, noDrafts(work.tip), work.drafts, restored) : restored
  const made = await makeDrafts(objects, drafts)
  const waits = { ref: mergingRef(work.name), from: work.merging, to: before }
  const moves = [work.draftsMove(made), waits].filter(isMove)
  return { drafts, standing, commit: made?.oid, moves, made: made?.made ?? [], renamed }
}

/** Takes what was prepared, after the refs have moved. */
export async function take(work: BranchWork, { drafts, commit, standing, renamed }: Prepared): Promise<void> {
  await work.comeTo(commit, drafts, standing, renamed)
}

async function draftsFor(work: BranchWork, { head, isUnsaved, renamed, drafts }: Target): Promise<Drafts> {
  const tip = head ? head.before : work.tip
  if (isUnsaved) return await unsaved(work, tip)
  if (renamed) return { ...work.drafts, tip, files: renamedFiles(work.drafts, renamed) }
  const there = await draftsOn(work, tip)
  return drafts ? await changed(work, there, drafts) : there
}

async function draftsOn({ tip: now, drafts, room }: BranchWork, tip: Oid | undefined): Promise<Drafts> {
  if (tip === now) return drafts
  return await mergeDrafts(room.objects, noDrafts(now), drafts, noDrafts(tip))
}

/** A save is taken back: what it saved is typed and not saved again, with what has been typed since. */
async function unsaved({ tip: now, drafts, room: { objects } }: BranchWork, tip: Oid | undefined): Promise<Drafts> {
  const saved = now === undefined ? new Map() : await filesBetween(objects, tip, now)
  const files = new Map<Path, DraftFile>()
  for (const [path, file] of [...saved, ...drafts.files]) {
    const before = await entryInTip(objects, tip, path)
    if (before?.oid === file?.oid && before?.mode === file?.mode) files.delete(path)
    else files.set(path, file)
  }
  return { ...drafts, tip, files }
}

/** Drafts that were let go come back, and the reverse; what has been typed since stays. */
async function changed(work: BranchWork, now: Drafts, { from, to }: NonNullable<Target['drafts']>): Promise<Drafts> {
  const [start, end] = await Promise.all([from, to].map(commit => draftsIn(work, commit, now.tip)))
  return start && end ? await mergeDrafts(work.room.objects, start, now, end) : now
}

/** The drafts of another time, as they are on a commit. */
async function draftsIn(
  { room: { objects } }: BranchWork,
  commit: Oid | undefined,
  tip: Oid | undefined,
): Promise<Drafts | undefined> {
  const drafts = commit === undefined ? noDrafts(tip) : await readDrafts(objects, commit)
  if (!drafts || drafts.tip === tip) return drafts
  return await mergeDrafts(objects, noDrafts(drafts.tip), drafts, noDrafts(tip))
}
