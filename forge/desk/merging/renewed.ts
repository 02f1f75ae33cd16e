/** What waits in a branch, applied to the branch's newest commit after it was moved. */
import { Failure } from '../../../core/failure.ts'
import type { MergedTree } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Repository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { treeWithUntracked } from '../../../core/git/stash.ts'
import { emptyTree } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import type { HeldBranch } from '../branches/branch-work.ts'
import type { StoredMerging, StoredRewrite } from '../branches/merging-commits.ts'
import type { CommitSignature } from '../branches/save.ts'
import { nounOf } from '../contract/merging.ts'
import type { Source } from '../contract/steps.ts'
import { commonTo, mergeSourceInto } from '../steps/merge.ts'
import { writeChain } from '../steps/perform.ts'
import { applyChange, planPicks } from '../steps/picks.ts'
import { treeOfCommit } from '../steps/plan.ts'
import type { Plannings } from '../steps/plannings.ts'

/** A step on its branch's newest commit: git's merge, our side (a commit or tree), and the commit to go on from. */
export type Renewed = { merge: MergedTree; ours: Oid; commit: Oid }

/** A waiting step, and the newest commit of its branch. */
type Moved = StoredMerging & { head: Oid }

/**
 * Applies a merge, landing, cherry-pick or revert to its branch's newest commit. Throws a {@link Failure} where nothing
 * is left to do, or where a commit that was picked before this one has conflicts now.
 */
export async function onNewestCommit(
  objects: Objects,
  plannings: Plannings,
  held: HeldBranch,
  state: Moved,
  signature: Promise<CommitSignature>,
): Promise<Renewed> {
  const { head } = state
  const { name } = held.work
  if (state.does !== 'merge' && state.does !== 'land')
    return await pickedAnew(objects, plannings, held, state, signature)
  const source: Source = { commit: state.theirsCommit, words: state.theirs }
  const target = { branch: name, tip: head }
  if ((await commonTo(objects.repository, source, target)).includes(source.commit))
    throw new Failure(
      `${visiblePath(name)} has all of ${visiblePath(state.theirs)} already: abort the ${nounOf(state.does)}.`,
    )
  return { merge: await mergeSourceInto(objects, source, target), ours: head, commit: head }
}

/** Picks the commits before the one in conflict onto the branch's newest commit, and applies that one. */
async function pickedAnew(
  objects: Objects,
  plannings: Plannings,
  held: HeldBranch,
  { head, from, oursCommit, theirsCommit, base, does }: Moved,
  signature: Promise<CommitSignature>,
): Promise<Renewed> {
  const { repository } = objects
  const branch = held.work.name
  const picked = await newCommits(repository, [from], oursCommit)
  return await plannings.run(async pace => {
    const rules = { does: 'cherry-pick', ours: branch, of: picked.length } as const
    const { chain, tree, stop } = await planPicks(objects, head, picked, rules, pace)
    if (stop)
      throw new Failure(
        `${does === 'revert' ? 'A revert' : 'A commit that was picked'} before this one conflicts with the newest \
commit of ${visiblePath(branch)}: abort the ${nounOf(does)}, and begin anew.`,
      )
    const commit = await held.unlocked(() => writeChain(objects, head, chain, signature, pace.signal))
    const before = base ? await treeOfCommit(objects, base) : emptyTree(repository.format)
    const theirs = ((does === 'revert' ? base : undefined) ?? theirsCommit).slice(0, 8)
    const to = does === 'cherry-pick' ? await treeWithUntracked(objects, theirsCommit) : theirsCommit
    const change = { tree, from: before, to, owner: tree, theirs, signal: pace.signal }
    return { merge: await applyChange(objects, change), ours: tree, commit }
  })
}

/** The commits of a branch that others do not have, oldest first, without merges. */
export async function newCommits(repository: Repository, others: readonly Oid[], tip: Oid): Promise<Oid[]> {
  const excluded = others.map(oid => `^${oid}`)
  const words = ['rev-list', '--no-merges', '--topo-order', '--reverse', tip, ...excluded, '--']
  return (await read(repository, words)).split('\n').filter(Boolean)
}

/** A rewriting of commits with more commits after the last one, each of which is applied unchanged. */
export function withItems(
  { items: [first, ...later], ...rewrite }: StoredRewrite,
  added: readonly Oid[],
): StoredRewrite {
  const more = added.map((oid): StoredRewrite['items'][0] => ({ commits: [oid] }))
  return { ...rewrite, items: [first, ...later, ...more] }
}
