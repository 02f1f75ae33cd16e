/** Cherry-picks: copies commits to a branch, each as a new one, as `git cherry-pick` does. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { readStash } from '../../../core/git/stash.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { groupsOf } from '../conflicts/conflicts.ts'
import { planPicks, readCommit } from './picks.ts'
import { filesInConflict, notesOn, type StepPlan, type StepTarget } from './plan.ts'
import { everyTime, type Once } from './plannings.ts'

/**
 * Plans a cherry-pick of some commits, in this order. Of a merge it picks the changes against its first parent, as
 * `git cherry-pick --mainline 1` does; of a stash also its untracked files. Throws a {@link Failure} if there is no
 * commit.
 */
export async function planCherryPick(
  objects: Objects,
  picked: readonly Oid[],
  { branch, tip }: StepTarget,
  once: Once = everyTime,
): Promise<StepPlan> {
  if (picked.length === 0) throw new Failure('Select a commit to cherry-pick.')
  const merges = (await Promise.all(picked.map(oid => noteOnMerge(objects, oid)))).flat()
  const one = picked.length === 1 ? (picked[0]?.slice(0, 8) ?? '') : many(picked.length, 'commit')
  const name = visiblePath(branch)
  const { picks } = await once(`cherry-pick ${tip} ${branch} ${picked.join()}`, async pace => {
    const rules = { does: 'cherry-pick', ours: branch, of: picked.length } as const
    return { picks: await planPicks(objects, tip, picked, rules, pace), commits: picked, same: 0 }
  })
  const { chain, tree, dropped, stop } = picks
  const plan = {
    branch,
    before: tip,
    kind: 'cherry-pick',
    does: `cherry-pick ${one} onto ${name}`,
    onto: tip,
    also: [],
  }
  const isNothing = chain.length === 0 && !stop
  const left = dropped.map(({ subject }) => `“${visible(subject)}” changes nothing in ${name}, and is left out.`)
  const commits = chain.length + (stop ? 1 + stop.state.todo.length : 0)
  const notes = [...merges, ...notesOn(stop)]
  const leftOut = dropped.map(({ subject }) => subject)
  const shared = { ...plan, chain, tree, commits, leftOut, warnings: isNothing ? [] : left, notes }
  if (isNothing) return { ...shared, is: 'nothing', words: 'nothing to do' }
  if (!stop) return { ...shared, is: 'clean', words: 'applies cleanly' }
  const at = picked.length > 1 ? `, at commit ${stop.state.number} of ${stop.state.of}` : ''
  return { ...shared, is: 'conflicts', words: `${filesInConflict(groupsOf(stop.merge).length)}${at}`, stop }
}

/** A note on what is picked of a stash or another commit of several parents; none for other commits. */
async function noteOnMerge(objects: Objects, oid: Oid): Promise<string[]> {
  const commit = await readCommit(objects, oid)
  const [first, second] = commit.parents
  if (first === undefined || second === undefined) return []
  const stash = await readStash(objects, commit)
  const short = oid.slice(0, 8)
  if (!stash)
    return [`${short} is a merge: what it brought into its first parent ${first.slice(0, 8)} is picked, as one commit.`]
  const untracked = stash.untracked === undefined ? '' : ', with its untracked files'
  return [`${short} is a stash: its changes since ${first.slice(0, 8)} are picked as one commit${untracked}.`]
}
