/** Splits a commit in two: some of its changes, then the rest. */
import { Failure } from '../../../core/failure.ts'
import type { Commit } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { emptyTree } from '../../../core/git/trees.ts'
import { treeWithParts } from '../branches/parts.ts'
import type { Part } from '../contract/values.ts'
import { treeOfCommit } from './plan.ts'
import type { Item } from './rewrite-items.ts'

/**
 * The two commits that a commit becomes, without their messages. Throws a {@link Failure} if it is a merge, or if the
 * parts are all of its changes or none.
 */
export async function splitItems(
  objects: Objects,
  { oid, parents, tree }: Commit & { oid: Oid },
  parts: readonly Part[],
): Promise<{ first: Item; rest: Item }> {
  const short = oid.slice(0, 8)
  if (parents.length > 1) throw new Failure(`${short} is a merge, and can’t be split.`)
  const [parent] = parents
  const before = parent === undefined ? emptyTree(objects.repository.format) : await treeOfCommit(objects, parent)
  const between = await treeWithParts(objects, before, tree, parts)
  if (between === before) throw new Failure('Select the changes of the first commit.')
  if (between === tree) throw new Failure('Leave some of the changes to the second commit.')
  return {
    first: { commits: [oid], part: { from: before, to: between } },
    rest: { commits: [oid], part: { from: between, to: tree } },
  }
}
