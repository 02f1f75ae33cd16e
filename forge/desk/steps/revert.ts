/**
 * Commits of a branch undone, each by a new commit, as `git revert` does; of a merge, what it brought into its first
 * parent.
 */

import { Failure } from '../../../core/failure.ts'
import { type Commit, outsideOf } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { groupsOf } from '../conflicts/conflicts.ts'
import { hasSameFolder } from './merge.ts'
import { planPicks, readCommit, revertMessage } from './picks.ts'
import { filesInConflict, notesOn, type StepPlan, type StepTarget } from './plan.ts'
import { everyTime, type Once } from './plannings.ts'

/**
 * Plans the revert of some commits, in this order. `message`: of the new commit, if it is only one. Throws a
 * {@link Failure} where the branch does not have one of the commits, or nothing was before it.
 */
export async function planRevert(
  objects: Objects,
  reverted: readonly Oid[],
  { branch, tip }: StepTarget,
  message: string | undefined,
  once: Once = everyTime,
): Promise<StepPlan> {
  const name = visiblePath(branch)
  const [first = '', ...others] = reverted
  const isOne = others.length === 0
  await verifyIn(objects, reverted, { branch, tip })
  const commits = await Promise.all(reverted.map(async oid => ({ ...(await readCommit(objects, oid)), oid })))
  for (const { oid, parents } of commits) verifyNotFirst(oid, parents)
  const { picks } = await once(`revert ${tip} ${branch} ${reverted.join()} ${message ?? ''}`, async pace => {
    const rules = { does: 'revert', ours: branch, of: reverted.length, message } as const
    return { picks: await planPicks(objects, tip, reverted, rules, pace), commits: reverted, same: 0 }
  })
  const { chain, tree, dropped, stop } = picks
  const one = isOne ? first.slice(0, 8) : many(reverted.length, 'commit')
  const plan = { branch, before: tip, kind: 'revert', does: `revert ${one} in ${name}`, onto: tip, also: [] }
  const merges = commits.filter(({ parents }) => parents.length > 1).map(({ oid }) => oid.slice(0, 8))
  const onMerges = isOne
    ? merges.map(() => WHAT_A_MERGE_LEAVES)
    : merges.map(oid => `${oid} is a merge: what it brought is reverted. ${WHAT_A_MERGE_LEAVES}`)
  const left = dropped.map(({ subject }) => `Nothing of “${visible(subject)}” is left to revert: it is left out.`)
  const notes = [...((await hasConversation(objects, commits)) ? [CONVERSATION_STAYS] : []), ...notesOn(stop)]
  const leftOut = dropped.map(({ subject }) => subject)
  const made = chain.length + (stop ? 1 + stop.state.todo.length : 0)
  const shared = { ...plan, chain, tree, commits: made, leftOut, notes }
  if (chain.length === 0 && !stop) return { ...shared, is: 'nothing', words: 'nothing to do', warnings: [] }
  const usual = isOne && commits[0] ? (message ?? revertMessage(first, commits[0])) : undefined
  const next = { ...shared, warnings: [...left, ...onMerges], message: usual }
  if (!stop) return { ...next, is: 'clean', words: 'reverts cleanly' }
  const at = isOne ? '' : `, at commit ${stop.state.number} of ${stop.state.of}`
  return { ...next, is: 'conflicts', words: `${filesInConflict(groupsOf(stop.merge).length)}${at}`, stop }
}

/** Throws if the branch does not have one of the commits. */
async function verifyIn({ repository }: Objects, commits: readonly Oid[], { branch, tip }: StepTarget): Promise<void> {
  const [missing] = await outsideOf(repository, commits, [tip])
  if (missing !== undefined) throw new Failure(`${visiblePath(branch)} does not have ${missing.slice(0, 8)}.`)
}

function verifyNotFirst(oid: Oid, parents: readonly Oid[]): void {
  if (parents.length > 0) return
  throw new Failure(
    `${oid.slice(0, 8)} is a first commit: there is nothing before it to go back to. Delete its files instead.`,
  )
}

/** Whether one of the commits has changed the conversation in .forge/. */
async function hasConversation(objects: Objects, commits: readonly (Commit & { oid: Oid })[]): Promise<boolean> {
  const same = await Promise.all(commits.map(({ oid, parents: [parent = ''] }) => hasSameFolder(objects, parent, oid)))
  return same.includes(false)
}

const WHAT_A_MERGE_LEAVES =
  'Its commits stay in the history: merging that branch again does not bring them back. To get them back, revert the revert.'

const CONVERSATION_STAYS =
  'The conversation with the AI in .forge/ stays: a revert leaves it as it is. To take it out, drop the commit.'
