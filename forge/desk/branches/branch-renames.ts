/**
 * A branch gets another name. No transaction of git's takes along what is no ref: the HEADs of the checkouts that are
 * on the branch, and what the configuration says of it. So it is done in three steps, each of which can be the last one
 * of a process that is killed:
 *
 * 1. In the transaction of the operation: the branch is there under its new name, and its drafts are there alone. A ref
 *    below `refs/forge/renaming/` says what is not done yet. Where no checkout is on it, the old name goes in this
 *    step.
 * 2. The HEADs are put on the new name, and the configuration is moved. Neither is ever on a branch that is not there.
 * 3. The old name goes, with the ref that was waiting for it.
 *
 * What an earlier process has begun is finished at the start of the next one ({@link finishRenames}).
 */

import type { Checkout } from '../../../core/git/checkouts.ts'
import { type Move, RefMoved } from '../../../core/git/refs.ts'
import { asText, fields, type Oid } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { type NewOperation, refsOf } from '../../operations.ts'
import { draftsRef, renamingRef } from '../refs.ts'
import type { BranchServices } from './branch-work.ts'
import { HEADS, headRef } from './branches.ts'
import { moveOwnRefs } from './moving-refs.ts'
import { type Renaming, renamedBy } from './open-branches.ts'

/**
 * Renames a branch at a commit, with its drafts, as an operation. Throws where one of its refs has moved: then nothing
 * has happened.
 */
export async function renameRefs(
  room: BranchServices,
  { from, to }: Renaming,
  { tip, drafts }: { tip: Oid; drafts: Oid | undefined },
  operation: Omit<NewOperation, 'moves'>,
): Promise<void> {
  const { checkouts, operations } = room
  const made: Move[] = [{ ref: headRef(to), from: undefined, to: tip }]
  if (drafts) made.push({ ref: draftsRef(from), from: drafts, to: undefined })
  if (drafts) made.push({ ref: draftsRef(to), from: undefined, to: drafts })
  const gone = { ref: headRef(from), from: tip, to: undefined }
  const on = (await checkouts.list()).filter(({ head }) => head === headRef(from))
  const begun = (await room.objects.info(renamingRef(from)))?.oid
  const mark = { ref: renamingRef(from), from: begun, to: tip }
  // Where somebody is on it, the old name is only held to where it is.
  const first = on.length === 0 ? gone : { ...gone, to: tip }
  await operations.record({ ...operation, moves: [first, ...made, mark], refs: refsOf([gone, ...made]) })
  await finish(room, { from, to }, tip, operation.words)
}

/** Finishes what was begun, by their old names and where they were. What can't be done is said, and not thrown. */
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

/** The steps after the first one. They are done again from the start where a process was killed between them. */
async function finish(room: BranchServices, { from, to }: Renaming, tip: Oid, words: string): Promise<void> {
  const { checkouts, objects } = room
  try {
    const old = (await objects.info(headRef(from)))?.oid
    const isOther = old !== undefined && old !== tip
    if (isOther) return await keepBoth(room, { from, to }, tip)
    if (old !== undefined) for (const checkout of await onBranch(room, from)) await turn(room, checkout, to, words)
    await checkouts.renamed(from, to)
    // The branch has its other name by now: that goes on, whatever becomes of its configuration.
    await renameConfiguration(room, from, to).catch(error => tellUnconfigured(room, from, to, error))
    const mark = { ref: renamingRef(from), from: tip, to: undefined }
    const gone = { ref: headRef(from), from: old, to: undefined }
    await moveOwnRefs(objects, old === undefined ? [mark] : [gone, mark], words)
  } catch (error) {
    // Another desk has finished it, or somebody has gone on under the old name at this moment.
    if (error instanceof RefMoved && error.found === undefined) return
    if (error instanceof RefMoved) return await keepBoth(room, { from, to }, tip)
    const why = visible(error instanceof Error ? error.message : String(error))
    const rest = 'what is left of its old name goes with the next start of the desk'
    room.say({ say: 'notice', words: `${visiblePath(to)} has its new name, but ${rest}: ${why}.`, isBad: true })
  }
}

const onBranch = async ({ checkouts }: BranchServices, branch: string): Promise<Checkout[]> =>
  (await checkouts.list()).filter(({ head }) => head === headRef(branch))

const turn = ({ checkouts }: BranchServices, checkout: Checkout, to: string, words: string): Promise<void> =>
  checkouts.turnTo(checkout, `${HEADS}${to}`, words)

/** Somebody has gone on under the old name: that is theirs, and stays. */
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
  const why = visible(error instanceof Error ? error.message : String(error))
  const kept = `what git’s configuration says of it (the branch that it follows) is still that of ${visiblePath(name)}`
  room.say({ say: 'notice', words: `${visiblePath(to)} has its new name, but ${kept}: ${why}.`, isBad: true })
}

/** Takes along what the configuration says of a branch; where that is nothing, the file is not written. */
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
