/**
 * Renames a branch. A git transaction covers only refs, not the HEADs of the checkouts on the branch, nor its
 * configuration. So there are three steps, and the process may be killed after each:
 *
 * 1. In the operation's transaction: the branch exists under its new name, and its drafts and its waiting merge only
 * there. A ref below `refs/forge/renaming/` marks the unfinished rename. If no checkout is on the branch, the old name
 * is deleted in this step; so it is where one name is a folder of the other, since git can't have both.
 * 2. The HEADs are moved to the new name, and the configuration is. Neither names a branch that does not exist, unless
 * one name is a folder of the other.
 * 3. The old name is deleted, with the marker ref.
 *
 * A rename that an earlier process began is finished at the next start ({@link finishRenames}).
 */

import { Failure } from '../../../core/failure.ts'
import type { Checkout } from '../../../core/git/checkouts.ts'
import { isFolderOfOther } from '../../../core/git/patience.ts'
import { type Move, RefMoved, type RefName } from '../../../core/git/refs.ts'
import { asText, fields, type Oid } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { whyGitFailed } from '../../../core/git/troubles.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { draftsRef, mergingRef, renamingRef, turnRef } from '../refs.ts'
import { type BranchServices, isMove, type Transition } from './branch-work.ts'
import { HEADS, headRef } from './branches.ts'
import { moveOwnRefs } from './moving-refs.ts'
import { type Renaming, renamedBy } from './open-branches.ts'
import { whyNotWritten } from './save.ts'

/** The transition that renames a locked branch with its drafts. Its `arrive` resolves when all steps are done. */
export async function renameTransition(
  room: BranchServices,
  { from, to }: Renaming,
  words: string,
  arrive: () => void,
): Promise<Transition> {
  const { checkouts, objects } = room
  // Waits for checkouts that still have to follow a save: they are recorded under the branch's old name.
  await checkouts.settled()
  await checkouts.verifyNotRebased(from)
  const infos = await Promise.all([headRef(from), renamingRef(from)].map(ref => objects.info(ref)))
  const [tip, begun] = infos.map(info => info?.oid)
  if (tip === undefined) throw new Failure(`There is no branch ${visiblePath(from)}.`)
  const gone = { ref: headRef(from), from: tip, to: undefined }
  const made = [{ ref: headRef(to), from: undefined, to: tip }, ...(await movesOfWork(room, { from, to }))]
  // While a checkout is on it, the old name is only verified, not deleted, where git can have both names.
  const isDeleted = isFolderOfOther(from, to) || (await onBranch(room, from)).length === 0
  const first = isDeleted ? gone : { ...gone, to: tip }
  return {
    moves: [first, ...made, { ref: renamingRef(from), from: begun, to: tip }],
    recorded: [gone, ...made],
    arrive: async () => {
      await finish(room, { from, to }, tip, words)
      arrive()
    },
  }
}

/** The moves of a branch's drafts and of its waiting merge to its new name. */
export async function movesOfWork({ objects }: BranchServices, { from, to }: Renaming): Promise<Move[]> {
  const moves = [draftsRef, mergingRef].map(refOf => movesOf(objects, refOf, { from, to }))
  return (await Promise.all(moves)).flat()
}

/** The moves of a branch's turn, which runs or waits to be kept or discarded, to the branch's new name. */
export async function movesOfTurn({ objects }: BranchServices, renaming: Renaming): Promise<Move[]> {
  return await movesOf(objects, turnRef, renaming)
}

async function movesOf(
  objects: BranchServices['objects'],
  refOf: (branch: string) => RefName,
  { from, to }: Renaming,
): Promise<Move[]> {
  const oid = (await objects.info(refOf(from)))?.oid
  const moves = [
    { ref: refOf(from), from: oid, to: undefined },
    { ref: refOf(to), from: undefined, to: oid },
  ]
  return moves.filter(isMove)
}

/** Finishes the renames that were begun, by old name and commit. Failures are reported, not thrown. */
export async function finishRenames(room: BranchServices, begun: ReadonlyMap<string, Oid>): Promise<void> {
  for (const [from, tip] of begun) {
    const renaming = await lastRenaming(room, from)
    const isThere = renaming && (await room.objects.info(headRef(renaming.to)))
    if (isThere) await finish(room, renaming, tip, `rename the branch ${visiblePath(from)}`)
    else await forget(room, from, tip)
  }
}

async function lastRenaming({ operations }: BranchServices, from: string): Promise<Renaming | undefined> {
  for await (const operation of operations.newestFirst()) {
    const renaming = renamedBy(operation)
    if (renaming?.from === from) return renaming
  }
  return undefined
}

/** Carries out the steps of a rename after the first one. All are repeated if the process was killed between them. */
async function finish(room: BranchServices, { from, to }: Renaming, tip: Oid, words: string): Promise<void> {
  const { checkouts, objects } = room
  try {
    const old = (await objects.info(headRef(from)))?.oid
    const isOther = old !== undefined && old !== tip
    if (isOther) return await keepBoth(room, { from, to }, tip)
    for (const checkout of await onBranch(room, from)) await turn(room, checkout, to, words)
    await checkouts.renamed(from, to)
    // The rename goes on even if the configuration can't be changed.
    await renameConfiguration(room, from, to).catch(error => tellUnconfigured(room, from, to, error))
    const mark = { ref: renamingRef(from), from: tip, to: undefined }
    const gone = { ref: headRef(from), from: old, to: undefined }
    await moveOwnRefs(objects, old === undefined ? [mark] : [gone, mark], words)
  } catch (error) {
    // If the old name is gone, another desk has finished the rename; otherwise another program has just committed to
    // it.
    if (error instanceof RefMoved && error.found === undefined) return
    if (error instanceof RefMoved) return await keepBoth(room, { from, to }, tip)
    const why = await whyNotWritten(objects.repository, error)
    const rest = 'what is left of its old name goes with the next start of the desk'
    room.say({ say: 'notice', words: `${visiblePath(to)} has its new name, but ${rest}: ${why}.`, isBad: true })
  }
}

const onBranch = async ({ checkouts }: BranchServices, branch: string): Promise<Checkout[]> =>
  (await checkouts.list()).filter(({ head }) => head === headRef(branch))

const turn = ({ checkouts }: BranchServices, checkout: Checkout, to: string, words: string): Promise<void> =>
  checkouts.turnTo(checkout, `${HEADS}${to}`, words)

/** Keeps both branches, since another program has committed to the old name. */
async function keepBoth(room: BranchServices, { from, to }: Renaming, tip: Oid): Promise<void> {
  await forget(room, from, tip)
  const [old, young] = [visiblePath(from), visiblePath(to)]
  const words = `${old} was moved by another program while it was renamed to ${young}: there are both now.`
  room.say({ say: 'notice', words, isBad: true })
}

async function forget({ objects }: BranchServices, from: string, tip: Oid): Promise<void> {
  const mark = { ref: renamingRef(from), from: tip, to: undefined }
  await moveOwnRefs(objects, [mark], '').catch(error => {
    if (!(error instanceof RefMoved)) throw error
  })
}

function tellUnconfigured(room: BranchServices, name: string, to: string, error: unknown): void {
  const why = whyGitFailed(error) ?? visible(error instanceof Error ? error.message : String(error))
  const kept = `what git’s configuration says of it (the branch that it follows) is still that of ${visiblePath(name)}`
  room.say({ say: 'notice', words: `${visiblePath(to)} has its new name, but ${kept}: ${why}.`, isBad: true })
}

/** Renames the configuration of a branch. Without any, the file is not written. */
async function renameConfiguration(
  { objects: { repository } }: BranchServices,
  name: string,
  to: string,
): Promise<void> {
  const listed = await run(repository, ['config', '--local', '-z', '--name-only', '--list'])
  if (!fields(listed.stdout).some(key => key.startsWith(`branch.${name}.`))) return
  const [before = '', after = ''] = [name, to].map(it => `branch.${asText(it)}`)
  await run(repository, ['config', '--local', '--rename-section', before, after])
}
