/** What a merge itself decided: its differences from what git makes of its parents, as `git show --remerge-diff`. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import type { Change } from '../contract/values.ts'
import { changesBetween } from '../reading/changes.ts'
import { mergeSourceInto } from '../steps/merge.ts'
import { readCommit } from '../steps/picks.ts'

/**
 * The changes that were made by hand in a merge: where git has conflicts, from its markers. Throws a {@link Failure}
 * for a commit that is no merge of two, or whose parents have nothing in common.
 */
export async function changesByHand(objects: Objects, commit: Oid): Promise<Change[]> {
  const { parents, tree } = await readCommit(objects, commit)
  const [ours, theirs, third] = parents
  const short = commit.slice(0, 8)
  if (ours === undefined || theirs === undefined || third !== undefined)
    throw new Failure(`${short} is no merge of two commits: git has no merge of its own to compare it with.`)
  const source = { commit: theirs, words: theirs.slice(0, 8) }
  const merge = await mergeSourceInto(objects, source, { branch: ours.slice(0, 8), tip: ours }).catch(error => {
    if (error instanceof GitError) throw new Failure(`Git can't merge the two parents of ${short} by itself.`)
    throw error
  })
  return await changesBetween(objects, merge.tree, tree)
}
