/**
 * A commit of a branch undone by a new commit, as `git revert` does; of a merge, what it brought into its first parent.
 */

import { Failure } from '../../../core/failure.ts'
import { isAncestor } from '../../../core/git/commits.ts'
import { subjectOf } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, type Oid } from '../../../core/git/repository.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { groupsOf, isClean } from '../conflicts/conflicts.ts'
import { hasSameFolder } from './merge.ts'
import { applyChange, readCommit } from './picks.ts'
import { filesInConflict, type StepPlan, type StepTarget, type Stop, treeOfCommit } from './plan.ts'

/** Plans a revert. Throws a {@link Failure} where the branch does not have the commit, or nothing was before it. */
export async function planRevert(
  objects: Objects,
  oid: Oid,
  { branch, tip }: StepTarget,
  message: string | undefined,
  signal: AbortSignal = new AbortController().signal,
): Promise<StepPlan> {
  const name = visiblePath(branch)
  const short = oid.slice(0, 8)
  if (!(await isAncestor(objects.repository, oid, tip))) throw new Failure(`${name} does not have ${short}.`)
  const reverted = await readCommit(objects, oid)
  const { tree: from, parents } = reverted
  const [parent] = parents
  if (parent === undefined)
    throw new Failure(`${short} is a first commit: there is nothing before it to go back to. Delete its files instead.`)
  const subject = subjectOf(reverted)
  const usual = message ?? messageFor(subject, oid, parents)
  const plan = { branch, before: tip, kind: 'revert', does: `revert ${short} in ${name}`, onto: tip, also: [] }
  const tree = await treeOfCommit(objects, tip)
  const merge = await applyChange(objects, { tree, from, to: parent, owner: tree, theirs: short, signal })
  const warnings = parents.length > 1 ? [WHAT_A_MERGE_LEAVES] : []
  const notes = (await hasSameFolder(objects, parent, oid)) ? [] : [CONVERSATION_STAYS]
  const shared = { ...plan, tree: merge.tree, commits: 1, message: usual, warnings, notes }
  if (!isClean(merge)) {
    const words = { ours: branch, theirs: asBytes(`parent of ${short} (${visible(subject)})`) }
    const state: Stop['state'] = { does: 'revert', base: oid, message: usual, todo: [] }
    const stop = { merge, ours: tree, theirs: parent, words, state }
    return { ...shared, is: 'conflicts', words: filesInConflict(groupsOf(merge).length), chain: [], stop }
  }
  if (merge.tree === tree)
    return { ...plan, is: 'nothing', words: 'nothing to do', chain: [], tree, commits: 0, warnings: [], notes }
  const chain = [{ is: 'new', tree: merge.tree, others: [], message: usual } as const]
  return { ...shared, is: 'clean', words: 'reverts cleanly', chain }
}

const WHAT_A_MERGE_LEAVES =
  'Its commits stay in the history: merging that branch again does not bring them back. To get them back, revert the revert.'

const CONVERSATION_STAYS =
  'The conversation with the AI in .forge/ stays: a revert leaves it as it is. To take it out, drop the commit.'

/** The message of a revert, as git writes it: the revert of a revert is a reapplication. */
function messageFor(subject: string, oid: Oid, [parent = '', ...others]: readonly Oid[]): string {
  const [, reverted] = /^Revert "(.*)"$/.exec(subject) ?? []
  const title = reverted === undefined ? `Revert "${subject}"` : `Reapply "${reverted}"`
  const what = others.length > 0 ? `${oid}, reversing\nchanges made to ${parent}` : oid
  return `${title}\n\nThis reverts commit ${what}.\n`
}
