/** Creates, deletes, restores and renames branches: each is an operation that can be undone. */

import { Failure } from '../../../core/failure.ts'
import { isFolderOfOther } from '../../../core/git/patience.ts'
import { listRefs, type Move, RefMoved, type RefName, readHead } from '../../../core/git/refs.ts'
import { asText, isOid, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { treeWithUntracked } from '../../../core/git/stash.ts'
import { whyGitFailed } from '../../../core/git/troubles.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import type { NewOperation } from '../../operations.ts'
import type { Answer } from '../contract/contract.ts'
import { draftsRef, mergingRef, turnRef } from '../refs.ts'
import { movesOfTurn, movesOfWork, renameTransition } from './branch-renames.ts'
import { type BranchWork, carryOutTransitions, type HeldBranch } from './branch-work.ts'
import { branchOfRef, HEADS, headRef, verifyBranchName } from './branches.ts'
import { mergeDrafts, readDraftsAt } from './draft-merges.ts'
import { draftsOf, filesBetween, makeDrafts, type NewDrafts, noDrafts } from './drafts.ts'
import { putAside } from './moving-refs.ts'
import { heldIn, lockedAll, nameOfRef, type OpenBranches, type Renaming } from './open-branches.ts'

/** The kind of operation that creates a branch. */
export const NEW_BRANCH = 'new branch'

/**
 * Creates a branch at a commit; without one, at the checked out commit. `tracks`: the ref of its upstream. The
 * untracked files of a stash become drafts of the branch, in the same operation.
 */
export async function newBranch(
  branches: OpenBranches,
  name: string,
  from: Oid | null,
  tracks?: RefName,
): Promise<void> {
  const { say } = branches.room
  verifyBranchName(name, await branchNames(branches))
  const at = from ?? (await readHead(branches.room.objects.repository)).oid
  if (at === undefined) throw new Failure('There is no commit yet to create a branch from: save a first file.')
  const commit = isOid(branches.room.objects.repository.format, at)
    ? await branches.room.objects.info(`${at}^{commit}`)
    : undefined
  if (!commit) throw new Failure(`There is no commit ${visiblePath(at)}.`)
  const words = `create the branch ${visiblePath(name)}`
  const moves: Move[] = [{ ref: headRef(name), from: undefined, to: commit.oid }]
  const drafts = await untrackedAsDrafts(branches, commit.oid)
  if (drafts) {
    await verifyNoDrafts(branches, name)
    await putAside(branches.room, name)
    moves.push({ ref: draftsRef(name), from: undefined, to: drafts.oid })
  }
  await recordOperation(branches, { kind: NEW_BRANCH, words, moves, made: drafts?.made ?? [] })
  const upstream = tracks === undefined ? undefined : trackRef(branches.room.objects.repository, name, tracks)
  // The branch is there, even if the configuration can't be written.
  const problem = await upstream?.then(
    () => undefined,
    (error: Error) => error,
  )
  branches.vanished.delete(name)
  await branches.refresh(name)
  say({ say: 'branch', branch: name })
  if (problem && tracks !== undefined) {
    const why = whyGitFailed(problem) ?? visible(problem.message)
    throw new Failure(
      `${visiblePath(name)} was created, but does not track ${visiblePath(tracks)}: ${why}. Then set its upstream.`,
    )
  }
}

/** The drafts of a branch that begins at a stash: its untracked files. Undefined for any other commit. */
async function untrackedAsDrafts({ room }: OpenBranches, stash: Oid): Promise<NewDrafts | undefined> {
  const { objects, filters } = room
  const files = await filesBetween(objects, stash, await treeWithUntracked(objects, stash))
  // With any other content, the drafts could not be saved.
  await filters.verifyContents(stash, files)
  return await makeDrafts(objects, draftsOf(stash, files))
}

/** Makes a remote-tracking ref the upstream of a branch, as git does. */
export async function trackRef(repository: Repository, name: string, upstream: RefName): Promise<void> {
  await run(repository, ['branch', '--quiet', `--set-upstream-to=${asText(upstream)}`, asText(name)])
}

/**
 * Creates a branch with a merge that starts in it: `begin` records one operation for both. Throws a {@link Failure} if
 * the branch exists by then.
 */
export async function newMergingBranch<Result>(
  branches: OpenBranches,
  name: string,
  from: Oid,
  begin: (held: HeldBranch) => Promise<Result>,
): Promise<Result> {
  verifyBranchName(name, await branchNames(branches))
  try {
    return await branches.workToBe(name, from, begin)
  } catch (error) {
    throw inWords(error)
  } finally {
    branches.vanished.delete(name)
    branches.room.say({ say: 'branch', branch: name })
  }
}

/** Throws a {@link Failure} if an AI's turn runs or is unfinished, also one without changes: its ref has the name. */
async function verifyNoTurn(work: BranchWork): Promise<void> {
  work.verifyFree()
  if (!(await work.room.objects.info(turnRef(work.name)))) return
  throw new Failure(`The last turn in ${visiblePath(work.name)} did not end well: keep or discard what it did first.`)
}

/**
 * What the deletion of a branch would take: the number of commits that no other branch, remote branch or tag has, and
 * all drafts, also those that another desk wrote. `tip`: the branch's last commit, for which these were found.
 */
export async function deletionOf(branches: OpenBranches, name: string): Promise<Answer<'branch deletion'>> {
  const { objects } = branches.room
  const tip = (await objects.info(headRef(name)))?.oid
  if (tip === undefined) return { commits: 0, drafts: [] }
  const work = await branches.work(name)
  await work.refresh()
  const others = [`--exclude=${asText(name)}`, '--branches', '--remotes', '--tags']
  const { stdout } = await run(objects.repository, ['rev-list', '--count', tip, '--not', ...others])
  return { commits: Number(stdout.toString()), tip, drafts: [...work.draftPaths] }
}

/** What the user has seen of a branch before confirming its deletion: its last commit, and its drafts. */
type SeenBranch = { before?: Oid | undefined; drafts?: readonly Path[] | undefined }

/**
 * Deletes a branch with its drafts. The operation keeps both, and its undo restores them. Throws a {@link Failure} if
 * the branch is at another commit than the user has seen, or has other drafts, whose loss was not shown.
 */
export async function deleteBranch(branches: OpenBranches, name: string, seen: SeenBranch = {}): Promise<void> {
  const work = await branches.work(name)
  await verifyNotCheckedOut(branches, name)
  await work.write()
  await work.locked(async held => {
    await verifyNoTurn(work)
    work.verifyNotMerging()
    // Adds the newest edits to the drafts, so that the operation keeps them, too.
    await held.collect()
    await held.lookAgain()
    verifySeen(work, seen)
    await held.writeDrafts()
    const words = `delete the branch ${visiblePath(name)}`
    await orInWords(held.vanish({ kind: 'delete branch', words }))
  })
  await branches.leave(name)
}

function verifySeen({ name, head, draftPaths }: BranchWork, { before, drafts }: SeenBranch): void {
  const since = (what: string) => new Failure(`${what} since this was shown: nothing was deleted. Look at it again.`)
  if (before !== undefined && head !== before) throw since(`${visiblePath(name)} was moved`)
  const others = draftPaths.filter(path => drafts?.includes(path) === false)
  if (others.length === 0) return
  const files = others.length <= 2 ? others.map(visiblePath).join(' and ') : many(others.length, 'file')
  throw since(`${files} in ${visiblePath(name)} ${others.length === 1 ? 'was' : 'were'} edited`)
}

/** Restores a branch at its last commit, after the desk or another program has deleted it. */
export async function restoreBranch(branches: OpenBranches, name: string): Promise<void> {
  const names = await branchNames(branches)
  const other = names.find(it => isFolderOfOther(it, name))
  if (other !== undefined) {
    const [gone, there] = [visiblePath(name), visiblePath(other)]
    throw new Failure(`Git keeps no branch ${gone} beside ${there}: rename ${there} first, then restore ${gone}.`)
  }
  verifyBranchName(name, names)
  const { tip, drafts, hasOthers, merging } = await branches.whereItWas(name)
  if (tip === undefined) throw new Failure(`Where the branch ${visiblePath(name)} was is not known.`)
  const moves: Move[] = [{ ref: headRef(name), from: undefined, to: tip }]
  if (drafts !== undefined || merging !== undefined) await putAside(branches.room, name)
  if (drafts !== undefined && !hasOthers) moves.push({ ref: draftsRef(name), from: undefined, to: drafts })
  if (merging !== undefined) moves.push({ ref: mergingRef(name), from: undefined, to: merging })
  await recordOperation(branches, {
    kind: 'restore branch',
    words: `restore the branch ${visiblePath(name)}`,
    moves,
  })
  branches.vanished.delete(name)
  const work = await branches.work(name)
  await work.refresh()
  branches.room.say({ say: 'branch', branch: name })
  if (drafts !== undefined && hasOthers) await takeBack(work, drafts)
}

/** Merges the drafts that a deletion took with those that were typed in the deleted branch since. */
async function takeBack(work: BranchWork, drafts: Oid): Promise<void> {
  const { objects } = work.room
  await work.locked(async held => {
    await held.collect()
    const { tip } = work
    const taken = await readDraftsAt(objects, drafts, tip)
    if (!taken)
      throw new Failure(
        `${visiblePath(work.name)} is restored. The drafts that its deletion took can’t be read: see Operations.`,
      )
    await held.becomeSoon(await mergeDrafts(objects, noDrafts(tip), work.drafts, taken))
  })
}

/**
 * Renames a branch. As with `git branch -m`, its configuration (the upstream) and the checkouts on it follow; so do its
 * drafts.
 */
export async function renameBranch(branches: OpenBranches, name: string, to: string): Promise<void> {
  const work = await branches.work(name)
  work.verifyNotMerging()
  // Only its own name may be a folder of the new one, or the reverse.
  const others = (await branchNames(branches)).filter(it => it !== name || it === to)
  verifyBranchName(to, others)
  const words = `rename the branch ${visiblePath(name)} to ${visiblePath(to)}`
  await moveBranch(branches, name, to, { kind: 'rename branch', words })
}

/** Renames a branch with its drafts and its waiting merge, as an operation. Throws if one of its refs has moved. */
export async function moveBranch(branches: OpenBranches, name: string, to: string, operation: How): Promise<void> {
  const work = await branches.work(name)
  await verifyNoDrafts(branches, to)
  await work.write()
  // Checkouts are waited for before the branch is locked: this may take long, and edits should be written meanwhile.
  await branches.room.checkouts.settled()
  await work.locked(async held => {
    await verifyNoTurn(work)
    // Edits not written yet move, too; later ones follow, since the open branch is renamed.
    await held.collect()
    await held.writeDrafts()
    await makeWayFor(branches, { from: name, to })
    const renaming = await renameTransition(branches.room, { from: name, to }, operation.words, () =>
      branches.rename(held, to),
    )
    await orInWords(carryOutTransitions(branches.room, [renaming], operation))
  })
  await branches.refresh(to)
  for (const branch of [name, to]) branches.room.say({ say: 'branch', branch })
}

/**
 * Follows a rename by another program, which has moved the ref, the configuration and the checkouts: the drafts, the
 * waiting merge and the open files of the branch come along. It is an operation, as if it had been done here. `tip`:
 * the branch's commit. `isTurnOurs`: whether the turn of its AI is this desk's, which comes along, too, while it runs
 * and while it waits; asked while the branch is locked. The turn of another desk is refused.
 */
export async function followRename(
  branches: OpenBranches,
  { from, to }: Renaming,
  { tip, isTurnOurs }: { tip: Oid; isTurnOurs: () => boolean },
): Promise<void> {
  const { checkouts, say } = branches.room
  const operation = { kind: 'rename branch', words: `rename the branch ${visiblePath(from)} to ${visiblePath(to)}` }
  const heads = [
    { ref: headRef(from), from: tip, to: undefined },
    { ref: headRef(to), from: undefined, to: tip },
  ]
  if (branches.has(from) || (await movesOfWork(branches.room, { from, to })).length > 0) {
    const work = await branches.work(from)
    const early = (await hasWork(branches, to)) ? [await branches.work(to)] : []
    await lockedAll([work, ...early], async all => {
      const held = heldIn(all, work)
      if (!isTurnOurs()) await verifyNoTurn(work)
      await held.collect()
      await held.writeDrafts()
      for (const other of early) await takeDrafts(held, heldIn(all, other))
      await makeWayFor(branches, { from, to })
      const recorded = await movesOfWork(branches.room, { from, to })
      // The turn is not recorded: an undo would be refused as soon as the turn has ended.
      const moves = [...recorded, ...(await movesOfTurn(branches.room, { from, to }))]
      const arrive = async () => branches.rename(held, to)
      await carryOutTransitions(branches.room, [{ moves, recorded: [...heads, ...recorded], arrive }], operation)
    })
    await branches.refresh(to)
  } else {
    await carryOutTransitions(branches.room, [{ moves: [], recorded: heads, arrive: async () => undefined }], operation)
    say({ say: 'renamed', branch: from, to })
  }
  await checkouts.renamed(from, to)
  for (const branch of [from, to]) say({ say: 'branch', branch })
}

/** Puts the drafts of deleted branches aside that are in the way of those of a branch under its new name. */
async function makeWayFor({ room }: OpenBranches, { from, to }: Renaming): Promise<void> {
  if (await room.objects.info(draftsRef(from))) await putAside(room, to, from)
}

/** Whether a branch is open, or has drafts. */
async function hasWork(branches: OpenBranches, name: string): Promise<boolean> {
  return branches.has(name) || (await branches.room.objects.info(draftsRef(name))) !== undefined
}

/**
 * Takes the drafts of a branch's new name, typed before its rename was noticed, into the work that gets this name. They
 * are in both before they are in one, so that an interruption loses none.
 */
async function takeDrafts(held: HeldBranch, other: HeldBranch): Promise<void> {
  const { tip } = other.work
  await other.collect()
  const { objects } = held.work.room
  await held.becomeSoon(await mergeDrafts(objects, noDrafts(tip), other.work.drafts, held.work.drafts))
  await held.writeDrafts()
  await other.becomeSoon(noDrafts(tip))
  await other.writeDrafts()
}

/** Throws a {@link Failure} if a deleted branch of this name still has drafts. */
export async function verifyNoDrafts(branches: OpenBranches, name: string): Promise<void> {
  if (!(await hasWork(branches, name)) || (await branches.work(name)).draftPaths.length === 0) return
  throw new Failure(`There are drafts of a branch ${visiblePath(name)} that is gone: choose another name.`)
}

/** Renames are looked for among this many of the newest entries of a reflog: the branch may have moved since. */
const RECENT_MOVES = 20
const RENAMED = `Branch: renamed ${HEADS}`

/** The names from which `git branch -m` gave a branch its name, newest first: git writes them into its reflog. */
export async function formerNames(repository: Repository, name: string): Promise<string[]> {
  const log = ['log', '-g', `-${RECENT_MOVES}`, '--format=%gs', asText(headRef(name)), '--']
  const { stdout } = await run(repository, log, { ok: 'any' })
  const end = ` to ${headRef(name)}`
  const renames = stdout.toString('latin1').split('\n')
  return renames
    .filter(line => line.startsWith(RENAMED) && line.endsWith(end))
    .map(line => line.slice(RENAMED.length, -end.length))
}

/** A rename by `git branch -m`. `time`: in seconds since 1970. */
type RenameByGit = Renaming & { time: number }

/** The renames in the reflogs of all branches, the oldest of each branch first. */
export async function renamesByGit(repository: Repository): Promise<RenameByGit[]> {
  const which = ['--branches', '--fixed-strings', `--grep-reflog=${RENAMED}`]
  const log = ['log', '-g', ...which, '--date=unix', '--format=%gd%x00%gs', '--']
  const { stdout } = await run(repository, log, { ok: 'any' })
  const lines = stdout.toString('latin1').split('\n').reverse()
  return lines.flatMap(line => {
    const [, time, from, to] = /@\{(\d+)\}\0Branch: renamed refs\/heads\/(\S+) to refs\/heads\/(\S+)$/.exec(line) ?? []
    return from === undefined || to === undefined ? [] : [{ from, to, time: Number(time) }]
  })
}

/** The names, among those of `tips`, that a branch has got by renames since a time, by way of any others. */
export function laterNames(
  renames: readonly RenameByGit[],
  { from, since }: { from: string; since: number },
  tips: ReadonlyMap<string, Oid>,
): Set<string> {
  /** The names that the branch had, and from when on. */
  const names = new Map([[from, since]])
  for (const rename of renames.toSorted((one, other) => one.time - other.time)) {
    const begun = names.get(rename.from)
    const isOwn = begun !== undefined && rename.time >= begun && !tips.has(rename.from)
    if (isOwn && !names.has(rename.to)) names.set(rename.to, rename.time)
  }
  return new Set([...names.keys()].filter(name => name !== from && tips.has(name)))
}

/** Describes an operation: its kind, its sentence for the user, and the operation that it undoes or redoes (`of`). */
export type How = { kind: string; words: string; of?: Oid }

/** Throws a {@link Failure} that names the folder in which a branch is checked out. */
export async function verifyNotCheckedOut(branches: OpenBranches, name: string): Promise<void> {
  const checkout = await branches.room.checkouts.of(headRef(name))
  if (!checkout) return
  throw new Failure(
    `${visiblePath(name)} is checked out in ${visible(checkout.folder)}: switch to another branch there.`,
  )
}

/** The names of all branches. */
export async function branchNames(branches: OpenBranches): Promise<string[]> {
  return (await listRefs(branches.room.objects.repository, [HEADS])).map(({ name }) => branchOfRef(name))
}

/** Records an operation. Throws a {@link Failure} if one of its refs has moved. */
async function recordOperation(branches: OpenBranches, operation: NewOperation): Promise<void> {
  await orInWords(branches.room.operations.record(operation))
}

/** Waits for an operation. Throws a {@link Failure} if one of its refs has moved. */
export async function orInWords<Result>(operation: Promise<Result>): Promise<Result> {
  try {
    return await operation
  } catch (error) {
    throw inWords(error)
  }
}

/** Converts a ref that has moved to a {@link Failure}; returns any other error as it is. */
function inWords(error: unknown): unknown {
  if (!(error instanceof RefMoved)) return error
  return new Failure(
    `${nameOfRef(error.ref)} was moved by another program at this moment: nothing was done. Try again.`,
  )
}
