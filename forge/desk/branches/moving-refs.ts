/** Moves refs, with retries, and removes refs that are in the way of another. */

import type { Objects } from '../../../core/git/objects.ts'
import { finishMoves, isFolderOfOther, moveRefsPatiently as movePatiently } from '../../../core/git/patience.ts'
import { listRefs, type Move } from '../../../core/git/refs.ts'
import { GitError } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import { type Operations, PUT_ASIDE } from '../../operations.ts'
import type { News } from '../contract/news.ts'
import { branchOfWork, DRAFTS, MERGING, OWN_REFS } from '../refs.ts'

/**
 * Whether git refused to create a ref since there is a ref in the folder of its name, or the reverse: `a` and `a/b`.
 */
export const isInTheWay = (error: unknown): boolean =>
  error instanceof GitError && /exists; cannot create|there are still refs under/.test(error.stderr)

/** Moves refs, waiting for locks of other git processes. A stale lock on one of the forge's own refs is removed. */
export const moveOwnRefs = (objects: Objects, moves: readonly Move[], message: string): Promise<void> =>
  movePatiently(objects.repository, moves, { message, own: OWN_REFS })

/** Creates the refs that a killed process has not created while it moved them. What can't be created is reported. */
export async function finishOwnMoves({ repository }: Objects, say: (news: News) => void): Promise<void> {
  for (const ref of await finishMoves(repository, OWN_REFS)) {
    const words = `A rename was not finished, and ${visiblePath(ref)} can't be created now: it is kept until the next start of the desk.`
    say({ say: 'notice', words, isBad: true })
  }
}

/** The kind and the words of an operation that puts the drafts of a deleted branch aside, or what waits in it. */
export const puttingAside = (branch: string, isWaiting = false) => ({
  kind: PUT_ASIDE,
  words: `put aside what ${isWaiting ? 'waits' : 'was typed'} in ${visiblePath(branch)}, which is gone`,
})

/**
 * Removes the drafts of deleted branches, and what waits in them, whose refs are in the way of those of a branch, since
 * git can't have a ref and a folder of the same name. The operation keeps them, its undo restores them, and a notice
 * says so. `but`: a branch whose refs stay.
 */
export async function putAside(
  { operations, say }: { operations: Operations; say: (news: News) => void },
  branch: string,
  but?: string,
): Promise<void> {
  const refs = await listRefs(operations.objects.repository, [DRAFTS, MERGING])
  for (const [other, own] of Map.groupBy(refs, ({ name }) => branchOfWork(name))) {
    if (other === but || !isFolderOfOther(other, branch)) continue
    const isWaiting = own.some(({ name }) => name.startsWith(MERGING))
    const moves = own.map(({ name, oid }): Move => ({ ref: name, from: oid, to: undefined }))
    await operations.record({ ...puttingAside(other, isWaiting), moves })
    const [gone, there] = [visiblePath(other), visiblePath(branch)]
    const what = `What ${isWaiting ? 'waits' : 'was typed'} in ${gone}, which is gone, was put aside`
    const why = `git can’t keep it beside ${isWaiting ? 'the branch' : 'what is typed in'} ${there}`
    const told = `${what}, since ${why}. It is kept in Operations.`
    for (const it of [branch, other]) say({ say: 'notice', branch: it, words: told, isBad: true })
  }
}
