/** Finds commits that no branch or tag contains any more: those in reflogs and in the desk's operations. */
import { onlyInReflogs } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { asText } from '../../../core/git/repository.ts'
import type { Operations } from '../../operations.ts'
import { branchOfRef, HEADS } from '../branches/branches.ts'
import { OWN_REFS } from '../refs.ts'

/** A commit, and what still refers to it, such as main@{3}. */
export type Abandoned = { oid: Oid; words: string }

/** At most this many abandoned commits are listed. */
const MAX_ABANDONED = 1000
/** At most this many of the newest operations are searched for abandoned commits. */
const MAX_OPERATIONS_READ = 300

/** The abandoned commits, newest first. `isReached`: whether a shown ref contains a commit. */
export async function findAbandoned(
  objects: Objects,
  operations: Operations,
  isReached: (oid: Oid) => boolean,
): Promise<Abandoned[]> {
  const found = new Map<Oid, { words: string; seconds: number }>()
  for (const { oid, ref, entry, seconds } of await onlyInReflogs(objects, isReached)) {
    // Notes are no commits of the code, and their ref has them.
    if (ref === 'refs/stash' || ref.startsWith(OWN_REFS) || ref.startsWith('refs/notes/')) continue
    found.set(oid, { words: `${asText(ref.replace(/^refs\/(heads|remotes)\//, ''))}@{${entry}}`, seconds })
  }
  let looked = 0
  for await (const { refs, words, time } of operations.newestFirst()) {
    if (looked++ >= MAX_OPERATIONS_READ) break
    for (const { ref, before, after } of refs)
      for (const [oid, when] of [
        [before, 'before'],
        [after, 'after'],
      ] as const) {
        if (oid === undefined || !ref.startsWith(HEADS) || found.has(oid) || isReached(oid)) continue
        if ((await objects.info(oid))?.type !== 'commit') continue
        found.set(oid, { words: `${asText(branchOfRef(ref))} ${when}: ${words}`, seconds: time })
      }
  }
  const newest = [...found].sort(([, one], [, other]) => other.seconds - one.seconds)
  return newest.slice(0, MAX_ABANDONED).map(([oid, { words }]) => ({ oid, words }))
}
