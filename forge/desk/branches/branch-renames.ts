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

import { Failure } from '../../../core/failure.ts'
import type { Checkout } from '../../../core/git/checkouts.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import { asText, fields, type Oid } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { draftsRef, renamingRef } from '../refs.ts'
import { type BranchServices, isMove, type Transition } from './branch-work.ts'
import { HEADS, headRef } from './branches.ts'
import { moveOwnRefs } from './moving-refs.ts'
import { type Renaming, renamedBy } from './open-branches.ts'

/** How a locked branch gets another name, with its drafts. `arrive` is called when all is done. */
export async function renameTransition(
  room: BranchServices,
  { from, to }: Renaming,
  words: string,
  arrive: () => void,
): Promise<Transition> {
  const { checkouts, objects } = room
  // A checkout that is still to follow a save is looked for by the name that the branch has had then.
  await checkouts.settled()
  const infos = await Promise.all([headRef(from), draftsRef(from), renamingRef(from)].map(ref => objects.info(ref)))
  const [tip, drafts, begun] = infos.map(info => info?.oid)
  if (tip === undefined) throw new Failure(`There is no branch ${visiblePath(from)}.`)
  const gone = { ref: headRef(from), from: tip, to: undefined }
  const made = [
    { ref: headRef(to), from: undefined, to: tip },
    { ref: draftsRef(from), from: drafts, to: undefined },
    { ref: draftsRef(to), from: undefined, to: drafts },
  ].filter(isMove)
  // While a checkout is on it, the old name stays, and is only verified.
  const first = (await onBranch(room, from)).length === 0 ? gone : { ...gone, to: tip }
  return {
    moves: [first, ...made, { ref: renamingRef(from), from: begun, to: tip }],
    recorded: [gone, ...made],
    arrive: async () => {
      await finish(room, { from, to }, tip, words)
      arrive()
    },
  }
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
    // Either another desk has finished the rename, or another program has just committed to the old name.
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

/** Another program has committed to the old name: both branches stay. */
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
