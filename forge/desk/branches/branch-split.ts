/**
 * Moves what belongs to one branch to another one, in one operation:
 *
 * - Commits and drafts to a new branch, after a save that a checkout could not follow. The saved branch goes back to
 *   the commit whose files the checkout has, so that a commit made there does not revert the save.
 *
 * - Drafts to a new branch: it begins at the branch's commit, or at that where it was before another program moved it.
 *
 * - Drafts to an existing branch: they are merged with what that has, as a cherry-pick of them would be.
 */

import { Failure } from '../../../core/failure.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import type { Operation, Recorded } from '../../operations.ts'
import type { Gone } from '../contract/values.ts'
import { branchOfDrafts, DRAFTS, draftsRef } from '../refs.ts'
import { branchNames, type How, orInWords, verifyNoDrafts, verifyNotCheckedOut } from './branch-operations.ts'
import { type BranchWork, becomeTogether, type Deed, type HeldBranch, type Next } from './branch-work.ts'
import { branchOfRef, HEADS, headRef, verifyBranchName } from './branches.ts'
import { mergeDrafts } from './draft-merges.ts'
import {
  type Drafts,
  draftFileOf,
  isEmpty,
  makeDrafts,
  missingIn,
  noDrafts,
  verifyNoClash,
  withSettled,
} from './drafts.ts'
import { branchNameOf, heldIn, lockedAll, type OpenBranches } from './open-branches.ts'

/** The kinds of the operations that move commits, and drafts, to a new branch. */
export const SAVE_ELSEWHERE = 'save elsewhere'
export const DRAFTS_ELSEWHERE = 'drafts elsewhere'
/** The kind of operation that moves drafts to a branch that exists. */
export const DRAFTS_ONTO = 'drafts onto'

/** The branches between which an operation moved all drafts; undefined if it moved none. */
export function draftsMovedBy({ kind, refs }: Operation): { from: string; to: string } | undefined {
  if (![SAVE_ELSEWHERE, DRAFTS_ELSEWHERE, DRAFTS_ONTO].includes(kind)) return undefined
  const names = new Set(refs.map(({ ref }) => branchNameOf(ref)).filter(name => name !== undefined))
  // The branch that got the drafts is new, or has some afterwards.
  const got = refs.find(({ ref, before, after }) => (ref.startsWith(HEADS) ? !before : after))
  const to = got && branchNameOf(got.ref)
  const from = [...names].find(name => name !== to)
  return to === undefined || from === undefined ? undefined : { from, to }
}

/** A branch, the new one that gets its commits, and the range of these: `base` is undefined before the first commit. */
type Split = { name: string; to: string; tip: Oid; base: Oid | undefined }

/**
 * Moves the commits that a checkout of the branch could not follow to a new branch. Throws a {@link Failure} if no
 * checkout was left behind, or if the branch has moved since.
 */
export async function saveElsewhere(branches: OpenBranches, name: string, to: string): Promise<Oid> {
  const { checkouts } = branches.room
  const work = await branches.work(name)
  await verifyNew(branches, to)
  // The checkout may have been put in order since the save.
  await checkouts.look()
  const behind = await checkouts.leftBehind(name)
  if (!behind) throw new Failure(`The checkout of ${visiblePath(name)} has followed: its saves need no other branch.`)
  const tip = (await branches.room.objects.info(headRef(name)))?.oid
  if (tip === undefined || tip !== behind.to)
    throw new Failure(
      `${visiblePath(name)} was moved by another program since it was saved: look at the checkout in ${visible(behind.folder)} before you go on.`,
    )
  const words = `move what was saved to ${visiblePath(name)} to the new branch ${visiblePath(to)}`
  await work.write()
  await split(branches, { name, to, tip, base: behind.from }, { kind: SAVE_ELSEWHERE, words })
  return tip
}

/** Undoes or redoes {@link saveElsewhere}. */
export async function reverseSaveElsewhere(branches: OpenBranches, { refs, kind }: Recorded, how: How): Promise<void> {
  const heads = refs.filter(({ ref }) => ref.startsWith(HEADS))
  const isThere = kind !== 'undo'
  // The new branch is the one without a commit before the operation, or, for an undo, after it.
  const own = heads.find(({ before, after }) => (isThere ? before : after) === undefined)
  const other = heads.find(head => head !== own)
  const tip = isThere ? own?.after : own?.before
  if (!own || !other || tip === undefined) throw new Failure('What is written down of this operation makes no sense.')
  const base = isThere ? other.after : other.before
  const parts = { name: branchOfRef(other.ref), to: branchOfRef(own.ref), tip, base }
  await (isThere ? join : split)(branches, parts, how)
}

/** Throws a {@link Failure} if the branch exists, or if drafts of a deleted one do. */
async function verifyNew(branches: OpenBranches, name: string): Promise<void> {
  verifyBranchName(name, await branchNames(branches))
  await verifyNoDrafts(branches, name)
}

async function split(branches: OpenBranches, { name, to, tip, base }: Split, how: How): Promise<void> {
  const work = await branches.work(name)
  await work.locked(async held => {
    work.verifyFree()
    await held.collect()
    await held.lookAgain()
    await held.writeDrafts()
    const also = [
      { ref: headRef(to), from: undefined, to: tip },
      { ref: draftsRef(to), from: undefined, to: work.draftsCommit },
    ]
    const next = { head: base ?? null, drafts: noDrafts(base) }
    await orInWords(becomeFrom(held, tip, next, { ...how, also }))
  })
  branches.vanished.delete(to)
  await branches.refresh(to)
  branches.room.say({ say: 'branch', branch: to })
}

async function join(branches: OpenBranches, { name, to, tip, base }: Split, how: How): Promise<void> {
  await together(branches, name, to, how, async (work, other) => {
    if (work.head !== base) throw new RefMoved(headRef(name), base, work.head)
    return { head: tip, drafts: await draftsOfBoth(work, other, tip) }
  })
}

/** Moves a branch that must be at `from`. Throws {@link RefMoved} if it is not. */
async function becomeFrom(held: HeldBranch, from: Oid | undefined, next: Next, deed: Deed): Promise<void> {
  const { name, head } = held.work
  if (head !== from) throw new RefMoved(headRef(name), from, head)
  await held.become(next, deed)
}

// --- Drafts alone ---

/**
 * Moves the drafts of a branch to a new one at the same or an earlier commit of the branch. Of a file in conflict, the
 * new branch gets the text that was typed. Returns the files that the branch does not have any more.
 */
export async function draftsElsewhere(branches: OpenBranches, name: string, from: Oid, to: string): Promise<Gone> {
  await verifyNew(branches, to)
  if (!(await branches.room.objects.info(`${from}^{commit}`)))
    throw new Failure(`There is no commit ${visiblePath(from)} in this repository.`)
  const words = `move what was typed in ${visiblePath(name)} to the new branch ${visiblePath(to)}`
  await (await branches.work(name)).write()
  return await moveDrafts(branches, { name, to, from }, { kind: DRAFTS_ELSEWHERE, words })
}

/** Undoes or redoes {@link draftsElsewhere}. */
export async function reverseDraftsElsewhere(branches: OpenBranches, { refs }: Recorded, how: How): Promise<void> {
  const own = refs.find(({ ref }) => ref.startsWith(HEADS))
  const drafts = refs.filter(({ ref }) => ref.startsWith(DRAFTS)).map(({ ref }) => branchOfDrafts(ref))
  const to = own && branchOfRef(own.ref)
  const name = drafts.find(it => it !== to)
  const from = own?.after
  if (to === undefined || name === undefined || from === undefined)
    throw new Failure('What is written down of this operation makes no sense.')
  if (how.kind === 'redo') await moveDrafts(branches, { name, to, from }, how)
  else await bringDraftsBack(branches, { name, to }, how)
}

type DraftsMove = { name: string; to: string; from: Oid }

async function moveDrafts(branches: OpenBranches, { name, to, from }: DraftsMove, how: How): Promise<Gone> {
  const { objects } = branches.room
  const work = await branches.work(name)
  const gone = await work.locked(async held => {
    work.verifyFree()
    work.verifyNotMerging()
    await held.collect()
    await held.lookAgain()
    await held.writeDrafts()
    const { drafts, tip } = work
    if (isEmpty(drafts)) throw new Failure(`There are no drafts in ${visiblePath(name)} any more.`)
    const fitting = { ...drafts, clashes: new Map() }
    const back = await mergeDrafts(objects, noDrafts(tip), fitting, noDrafts(from))
    const files = new Map(back.files)
    const clashes = new Map(back.clashes)
    for (const [path, clash] of drafts.clashes) {
      // If the drafts also have another version of the file, typed on another desk, the conflict remains.
      if (drafts.files.has(path)) clashes.set(path, clash)
      else files.set(path, draftFileOf(clash))
    }
    const made = await makeDrafts(objects, { ...back, files, clashes })
    const also = [
      { ref: headRef(to), from: undefined, to: from },
      { ref: draftsRef(to), from: undefined, to: made?.oid },
    ]
    const become = held.become({ drafts: noDrafts(tip) }, { ...how, also, made: made?.made ?? [] })
    const operation = await orInWords(become)
    return { gone: await missingIn(objects, work.drafts, [...drafts.files.keys()]), ...(operation && { operation }) }
  })
  branches.vanished.delete(to)
  await branches.refresh(to)
  branches.room.say({ say: 'branch', branch: to })
  return gone
}

/**
 * Moves the drafts of a branch to another one that exists. A file that git can't merge there is a conflict of the
 * draft. Returns the files that the first branch does not have any more. Throws a {@link Failure} where there are no
 * drafts, where some are in conflict, or where a merge or an AI's turn is in the way in either branch.
 */
export async function draftsOnto(branches: OpenBranches, name: string, to: string): Promise<Gone> {
  if (name === to) throw new Failure(`The drafts are in ${visiblePath(to)} already: choose another branch.`)
  const [work, other] = await Promise.all([branches.work(name), branches.work(to)])
  const { objects } = branches.room
  return await lockedAll([work, other], async all => {
    const [one, two] = [heldIn(all, work), heldIn(all, other)]
    for (const held of [one, two]) {
      held.work.verifyFree()
      held.work.verifyNotMerging()
      await held.collect()
      await held.lookAgain()
      await held.writeDrafts()
    }
    if (other.isGone) throw new Failure(`The branch ${visiblePath(to)} was deleted: restore it first.`)
    verifyNoClash(work.drafts, work.drafts.clashes.keys())
    const drafts = await withSettled(objects, work.drafts)
    if (isEmpty(drafts)) throw new Failure(`There are no drafts in ${visiblePath(name)} any more.`)
    const joined = await mergeDrafts(objects, noDrafts(work.tip), drafts, other.drafts)
    const next: [HeldBranch, Next][] = [
      [one, { drafts: noDrafts(work.tip) }],
      [two, { drafts: joined }],
    ]
    const words = `move what was typed in ${visiblePath(name)} to ${visiblePath(to)}`
    const operation = await orInWords(becomeTogether(branches.room, next, { kind: DRAFTS_ONTO, words }))
    return { gone: await missingIn(objects, work.drafts, [...drafts.files.keys()]), ...(operation && { operation }) }
  })
}

async function bringDraftsBack(
  branches: OpenBranches,
  { name, to }: Omit<DraftsMove, 'from'>,
  how: How,
): Promise<void> {
  await together(branches, name, to, how, async (work, other) => ({
    drafts: await draftsOfBoth(work, other, work.tip),
  }))
}

/** Joins two branches in one operation: the first becomes what `next` returns, the second is deleted. */
async function together(
  branches: OpenBranches,
  name: string,
  to: string,
  how: How,
  next: (work: BranchWork, other: BranchWork) => Promise<Next>,
): Promise<void> {
  await verifyNotCheckedOut(branches, to)
  const [work, other] = await Promise.all([branches.work(name), branches.work(to)])
  await lockedAll([work, other], async all => {
    for (const it of all.keys()) it.verifyFree()
    for (const held of all.values()) {
      await held.collect()
      await held.lookAgain()
      await held.writeDrafts()
    }
    const [one, gone] = [heldIn(all, work), heldIn(all, other)]
    const become = async () =>
      await becomeTogether(
        branches.room,
        [
          [one, await next(work, other)],
          [gone, 'gone'],
        ],
        how,
      )
    await orInWords(become())
  })
  await branches.leave(to)
}

/** The drafts of two branches, merged onto one commit. */
async function draftsOfBoth(work: BranchWork, other: BranchWork, tip: Oid | undefined): Promise<Drafts> {
  const { objects } = work.room
  const onTip = async (it: BranchWork) =>
    it.tip === tip ? it.drafts : await mergeDrafts(objects, noDrafts(it.tip), it.drafts, noDrafts(tip))
  return await mergeDrafts(objects, noDrafts(tip), await onTip(work), await onTip(other))
}
