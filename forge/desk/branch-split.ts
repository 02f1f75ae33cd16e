/**
 * A save that a checkout of its branch could not follow goes to a branch of its own instead: that gets the commits and
 * the drafts, and the saved branch goes back to where the files of the checkout are. So a commit that is made there
 * later does not take the save back.
 */
import { Failure } from '../../core/failure.ts'
import type { Oid } from '../../core/git/repository.ts'
import { visible, visiblePath } from '../../core/text.ts'
import { branchNames, type How, record, verifyNotCheckedOut } from './branch-operations.ts'
import { branchOf, HEADS, headRef, verifyBranchName } from './branches.ts'
import { mergeDrafts } from './draft-merges.ts'
import { draftsRef, makeDrafts, noDrafts } from './drafts.ts'
import { lockedAll, type OpenBranches } from './open-branches.ts'
import type { Recorded } from './operations.ts'

/** The kind of these operations. */
export const SAVE_ELSEWHERE = 'save elsewhere'

/** A branch, the one that gets its commits, and the commits at both ends: `base` is undefined before the first one. */
type Split = { name: string; to: string; tip: Oid; base: Oid | undefined }

/** Throws a {@link Failure} where no checkout of the branch was left behind, or where the branch has moved since. */
export async function saveElsewhere(branches: OpenBranches, name: string, to: string): Promise<Oid> {
  const { checkouts } = branches.room
  const work = await branches.work(name)
  verifyBranchName(to, await branchNames(branches))
  if (await branches.room.objects.info(draftsRef(to)))
    throw new Failure(`There are drafts of a branch ${visiblePath(to)} that is gone: choose another name.`)
  await checkouts.settled()
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

/** Takes it back, or does it again. */
export async function reverseSaveElsewhere(branches: OpenBranches, { refs, kind }: Recorded, how: How): Promise<void> {
  const heads = refs.filter(({ ref }) => ref.startsWith(HEADS))
  const isThere = kind !== 'undo'
  // Of the two, the new branch is the one that is nowhere before, or after where that was taken back.
  const own = heads.find(({ before, after }) => (isThere ? before : after) === undefined)
  const other = heads.find(head => head !== own)
  const tip = isThere ? own?.after : own?.before
  if (!own || !other || tip === undefined) throw new Failure('What is written down of this operation makes no sense.')
  const base = isThere ? other.after : other.before
  const parts = { name: branchOf(other.ref), to: branchOf(own.ref), tip, base }
  await (isThere ? join : split)(branches, parts, how)
}

async function split(branches: OpenBranches, { name, to, tip, base }: Split, how: How): Promise<void> {
  const { checkouts } = branches.room
  const work = await branches.work(name)
  await work.locked(async () => {
    await work.collect()
    await work.lookAgain()
    await work.writeDrafts()
    const drafts = work.draftsCommit
    const moves = [
      { ref: headRef(to), from: undefined, to: tip },
      { ref: headRef(name), from: tip, to: base },
    ]
    if (drafts) moves.push({ ref: draftsRef(name), from: drafts, to: undefined })
    if (drafts) moves.push({ ref: draftsRef(to), from: undefined, to: drafts })
    const withdraw = await checkouts.announce(name, tip, base)
    try {
      await record(branches, { ...how, moves })
    } catch (error) {
      await withdraw()
      throw error
    }
    await work.comeTo(undefined, noDrafts(base))
  })
  branches.vanished.delete(to)
  await branches.refresh(to)
  branches.room.say({ say: 'branch', branch: to })
}

async function join(branches: OpenBranches, { name, to, tip, base }: Split, how: How): Promise<void> {
  const { objects, checkouts } = branches.room
  await verifyNotCheckedOut(branches, to)
  const [work, other] = await Promise.all([branches.work(name), branches.work(to)])
  await lockedAll([work, other], async () => {
    for (const it of [work, other]) {
      await it.collect()
      await it.lookAgain()
      await it.writeDrafts()
    }
    const own = await mergeDrafts(objects, noDrafts(base), work.drafts, noDrafts(tip))
    const drafts = await mergeDrafts(objects, noDrafts(tip), own, other.drafts)
    const made = await makeDrafts(objects, drafts)
    const moves = [
      { ref: headRef(name), from: base, to: tip },
      { ref: headRef(to), from: tip, to: undefined },
      work.draftsMove(made),
      other.draftsMove(undefined),
    ]
    const withdraw = await checkouts.announce(name, base, tip)
    try {
      const differing = moves.filter(move => move.from !== move.to)
      await record(branches, { ...how, moves: differing, made: made?.made ?? [] })
    } catch (error) {
      await withdraw()
      throw error
    }
    await other.wasDeleted()
    await work.comeTo(made?.oid, drafts)
  })
  await branches.leave(to)
}
