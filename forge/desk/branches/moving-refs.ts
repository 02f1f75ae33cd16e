/** Moves refs, with retries, and removes refs that are in the way of another. */

import type { Objects } from '../../../core/git/objects.ts'
import { finishMoves, isFolderOfOther, moveRefsPatiently as movePatiently } from '../../../core/git/patience.ts'
import { listRefs, type Move } from '../../../core/git/refs.ts'
import { GitError } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import { type Operations, PUT_ASIDE } from '../../operations.ts'
import type { News } from '../contract/news.ts'
import { DRAFTS, OWN_REFS } from '../refs.ts'

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

/** The kind and the words of an operation that puts the drafts of a deleted branch aside. */
export const puttingAside = (branch: string) => ({
  kind: PUT_ASIDE,
  words: `put aside what was typed in ${visiblePath(branch)}, which is gone`,
})

/**
 * Removes the drafts of deleted branches whose refs are in the way of those of a branch, since git can't have a ref and
 * a folder of the same name. The operation keeps them, its undo restores them, and a notice says so. `but`: a branch
 * whose drafts stay.
 */
export async function putAside(
  { operations, say }: { operations: Operations; say: (news: News) => void },
  branch: string,
  but?: string,
): Promise<void> {
  const drafts = await listRefs(operations.objects.repository, [DRAFTS])
  for (const { name, oid } of drafts) {
    const other = name.slice(DRAFTS.length)
    if (other === but || !isFolderOfOther(other, branch)) continue
    const gone = visiblePath(other)
    await operations.record({ ...puttingAside(other), moves: [{ ref: name, from: oid, to: undefined }] })
    const why = `git can’t keep it beside what is typed in ${visiblePath(branch)}`
    const told = `What was typed in ${gone}, which is gone, was put aside, since ${why}. It is kept in Operations.`
    for (const it of [branch, other]) say({ say: 'notice', branch: it, words: told, isBad: true })
  }
}
