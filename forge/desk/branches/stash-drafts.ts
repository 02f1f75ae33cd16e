/** A stash of a checkout, applied to the drafts of a branch as `git stash apply` does. The stash stays. */
import { Failure } from '../../../core/failure.ts'
import { parseCommit } from '../../../core/git/commits.ts'
import { renamedFiles } from '../../../core/git/diffs.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { listStashes, readStash, treeWithUntracked } from '../../../core/git/stash.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Answer } from '../contract/contract.ts'
import type { BranchWork } from './branch-work.ts'
import { mergeDrafts } from './draft-merges.ts'
import { filesBetween, isOpen, isSameDrafts, noDrafts } from './drafts.ts'
import { isOfForge } from './forge-folder.ts'
import { APPLY_STASH } from './undo.ts'

/**
 * Merges what a stash has put away, with its untracked files, into the drafts of a branch. Returns the files whose
 * drafts are newly in conflict, and the stash's name, if it has one. The operation can be undone. Throws a
 * {@link Failure} where the commit is no stash, or where the drafts have all of it.
 */
export async function applyStash(work: BranchWork, oid: Oid): Promise<Answer<'apply stash'>> {
  const { objects } = work.room
  const name = visiblePath(work.name)
  const short = oid.slice(0, 8)
  const object = await objects.read(oid)
  const stash = object?.bytes && object.type === 'commit' && (await readStash(objects, parseCommit(object.bytes)))
  if (!stash) throw new Failure(`${short} is no stash.`)
  const tree = await treeWithUntracked(objects, oid)
  const put = await filesBetween(objects, stash.base, tree)
  // As in every step, the conversation with the AI stays that of the branch.
  const files = new Map([...put].filter(([path]) => !isOfForge(path)))
  // A stash records no renames: those that git detects become renames in the drafts, too.
  const renamed = await renamedFiles(objects.repository, stash.base, tree)
  const renames = [...renamed].map(([from, to]) => ({ from, to })).filter(({ to }) => files.has(to))
  const stashName = (await listStashes(objects)).find(({ tip }) => tip === oid)?.name
  return await work.editDrafts(async held => {
    const start = noDrafts(stash.base)
    const before = work.drafts
    const drafts = await mergeDrafts(objects, start, { ...start, files, renames }, before)
    if (isSameDrafts(drafts, before)) throw new Failure(`${name} has all of this stash already.`)
    await held.become({ drafts }, { kind: APPLY_STASH, words: `apply the stash ${short} to the drafts of ${name}` })
    const isNew = (path: Path) => !before.clashes.has(path)
    const conflicts = [...drafts.clashes].flatMap(([path, it]) => (isOpen(it) && isNew(path) ? [path] : []))
    return { conflicts, ...(stashName !== undefined && { name: stashName }) }
  })
}
