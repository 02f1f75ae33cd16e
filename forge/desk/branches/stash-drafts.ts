/** A stash of a checkout, applied to the drafts of a branch as `git stash apply` does. The stash stays. */
import { Failure } from '../../../core/failure.ts'
import { parseCommit } from '../../../core/git/commits.ts'
import { markedPartsOf, withSide } from '../../../core/git/conflict-marks.ts'
import { renamedFiles } from '../../../core/git/diffs.ts'
import { type Objects, writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { listStashes, readStash, treeWithUntracked } from '../../../core/git/stash.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Answer } from '../contract/contract.ts'
import type { BranchWork } from './branch-work.ts'
import { otherSideWith } from './clash-texts.ts'
import { mergeDrafts } from './draft-merges.ts'
import {
  type Clashing,
  type DraftFile,
  type Drafts,
  draftFileOf,
  filesBetween,
  isOpen,
  isSameDrafts,
  noDrafts,
} from './drafts.ts'
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
    const stashed = await mergeDrafts(objects, start, { ...start, files, renames }, noDrafts(before.tip))
    const drafts = await withStashed(objects, before, stashed)
    if (isSameDrafts(drafts, before)) throw new Failure(`${name} has all of this stash already.`)
    await held.become({ drafts }, { kind: APPLY_STASH, words: `apply the stash ${short} to the drafts of ${name}` })
    const isNew = (path: Path) => !before.clashes.has(path)
    const conflicts = [...drafts.clashes].flatMap(([path, it]) => (isOpen(it) && isNew(path) ? [path] : []))
    return { conflicts, ...(stashName !== undefined && { name: stashName }) }
  })
}

/** Merges a stash, as drafts on the branch, into the drafts there: in a conflict with one of them, that one is ours. */
async function withStashed(objects: Objects, before: Drafts, stashed: Drafts): Promise<Drafts> {
  const [starting, files, clashes] = [new Map<Path, DraftFile>(), new Map(stashed.files), new Map(stashed.clashes)]
  for (const [path, clash] of stashed.clashes) {
    if (!before.files.has(path)) continue
    // The stash's conflict with the branch's text becomes one with the draft of that text.
    const { base, stash } = await sidesOf(objects, clash)
    starting.set(path, base)
    files.set(path, stash)
    clashes.delete(path)
  }
  const start = { ...noDrafts(before.tip), files: starting }
  const drafts = await mergeDrafts(objects, start, before, { ...stashed, files, clashes })
  const isWithStash = (path: Path) => drafts.files.has(path) && !(before.clashes.has(path) && before.files.has(path))
  const named = [...drafts.clashes].map(([path, clash]): [Path, Clashing] => {
    return [path, isWithStash(path) ? { ...clash, isWithStash: true } : clash]
  })
  return { ...drafts, clashes: new Map(named) }
}

/** The base and the stash's version of a file in conflict, both with what git has merged from the branch. */
async function sidesOf(objects: Objects, clash: Clashing): Promise<{ base: DraftFile; stash: DraftFile }> {
  const { mode, base, working } = clash
  const marked = working && (await objects.read(working.marked))?.bytes?.toString('latin1')
  const parts = marked === undefined ? undefined : markedPartsOf(marked, working?.mark ?? 0)
  const before = parts && working && (await otherSideWith(objects, parts, working.theirs, () => 'base'))
  const stash = marked === undefined ? undefined : withSide(marked, working?.mark ?? 0, 'ours')
  if (before === undefined || stash === undefined)
    return { base: base === undefined ? undefined : { mode, oid: base }, stash: draftFileOf(clash) }
  const [oid = ''] = await writeObjects(objects.repository, [{ type: 'blob', bytes: Buffer.from(stash, 'latin1') }])
  return { base: { mode, oid: before }, stash: { mode, oid } }
}
