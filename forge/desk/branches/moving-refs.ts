/** Moving refs with patience, and what stands in the way of one. */

import type { Objects } from '../../../core/git/objects.ts'
import { moveRefsPatiently as movePatiently } from '../../../core/git/patience.ts'
import { listRefs, type Move } from '../../../core/git/refs.ts'
import { GitError } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import { type Operations, PUT_ASIDE } from '../../operations.ts'
import { DRAFTS, OWN_REFS } from '../refs.ts'

/** Whether a ref could not be made because another one is in its way. */
export const isInTheWay = (error: unknown): boolean =>
  error instanceof GitError && /exists; cannot create|there are still refs under/.test(error.stderr)

/** Moves refs with patience for other gits; a lock that stays on one of the forge's own refs is taken away. */
export const moveOwnRefs = (objects: Objects, moves: readonly Move[], message: string): Promise<void> =>
  movePatiently(objects.repository, moves, { message, own: OWN_REFS })

/**
 * Takes the drafts of branches that are gone out of the way of a branch: git keeps no ref beside a folder of its
 * name. They are kept by the operation, and come back with their branch.
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
