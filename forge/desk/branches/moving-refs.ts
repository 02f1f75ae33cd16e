/** Moves refs, with retries, and removes refs that are in the way of another. */

import type { Objects } from '../../../core/git/objects.ts'
import { moveRefsPatiently as movePatiently } from '../../../core/git/patience.ts'
import { listRefs, type Move } from '../../../core/git/refs.ts'
import { GitError } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import { type Operations, PUT_ASIDE } from '../../operations.ts'
import { DRAFTS, OWN_REFS } from '../refs.ts'

/**
 * Whether git refused to create a ref since there is a ref in the folder of its name, or the reverse: `a` and `a/b`.
 */
export const isInTheWay = (error: unknown): boolean =>
  error instanceof GitError && /exists; cannot create|there are still refs under/.test(error.stderr)

/** Moves refs, waiting for locks of other git processes. A stale lock on one of the forge's own refs is removed. */
export const moveOwnRefs = (objects: Objects, moves: readonly Move[], message: string): Promise<void> =>
  movePatiently(objects.repository, moves, { message, own: OWN_REFS })

/**
 * Removes the drafts of deleted branches whose refs are in the way of a branch, since git can't have a ref and a folder
 * of the same name. The operation keeps them, and its undo restores them.
 */
export async function putAside(operations: Operations, branch: string): Promise<void> {
  const drafts = await listRefs(operations.objects.repository, [DRAFTS])
  for (const { name, oid } of drafts) {
    const other = name.slice(DRAFTS.length)
    if (!other.startsWith(`${branch}/`) && !branch.startsWith(`${other}/`)) continue
    const words = `put aside what was typed in ${visiblePath(other)}, which is gone`
    await operations.record({ kind: PUT_ASIDE, words, moves: [{ ref: name, from: oid, to: undefined }] })
  }
}
