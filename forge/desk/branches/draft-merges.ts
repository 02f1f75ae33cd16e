/**
 * Merges drafts with other changes since a common start: a branch that has moved, or the drafts of another desk. A file
 * that git can't merge becomes a clash, until it is resolved.
 *
 * A clash has three texts:
 * - The draft: everything that was typed, in one window or several. It has each line that was typed and not deleted
 * again.
 * - The base: the text before typing, such that each line of it that the draft lacks was deleted by typing. For two
 * drafts with different bases, it is what these have in common: a line that came into the branch after one draft was
 * begun was not deleted by that draft.
 * - The other end: the file without the draft, in the branch's commit or in the drafts of another desk. It is not
 * stored with the clash, and may change, while the draft stays.
 *
 * Text is resolved as the conflicts of a merge are, in one text with markers (conflicts/draft-conflicts.ts); only lines
 * that one end deleted are removed without asking. For other content, one end is chosen as a whole, as an operation
 * that can be undone.
 *
 * A clash needs no choice if its other end equals the draft, or the base again, or changes so that git can merge it:
 * the draft is an ordinary one then. If another side ends a clash, as an undo of what brought it does, only what was
 * typed in it meanwhile stays, as a draft, or as a new clash.
 */
import { mergeTrees } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { addClash, mergeClashes, withTypingInClashes } from './clash-merges.ts'
import { withMarks, withoutSettled } from './clash-updates.ts'
import {
  filesMovedAside,
  plainName,
  withFoldersAside,
  withNamesBack,
  withNewNames,
  withOurNames,
} from './draft-merge-names.ts'
import { withoutUnused } from './draft-renames.ts'
import {
  type Clashing,
  type Drafts,
  filesBetween,
  isSameDrafts,
  noDrafts,
  readDrafts,
  writeDraftTree,
} from './drafts.ts'
import { type Merging, withSameLineEnds } from './merged-line-ends.ts'
import { entryBeside } from './other-versions.ts'

/**
 * Merges drafts with other changes since a common start: the drafts of another desk, or a branch that has moved (then
 * `theirs` has the new tip and no drafts). Files that git can't merge become clashes: conflicts that keep both
 * versions.
 */
export async function mergeDrafts(objects: Objects, start: Drafts, ours: Drafts, theirs: Drafts): Promise<Drafts> {
  const sameEnds = await withSameLineEnds(objects, { start, ours, theirs })
  const renamed = await withNewNames(objects, await withNamesBack(objects, sameEnds))
  const typed = await withTypingInClashes(objects, renamed)
  const merging = await withoutOvertakenDeletions(objects, typed)
  const clashes = await mergeClashes(objects, merging.start.clashes, merging.ours.clashes, merging.theirs.clashes)
  const merged = await withMergedFiles(objects, merging, clashes)
  return await withMarks(objects, withoutUnused(await withoutSettled(objects, merged)))
}

/**
 * Reads the drafts in a commit (without one: no drafts), merged onto `tip`; undefined if the commit holds no readable
 * drafts.
 */
export async function readDraftsAt(
  objects: Objects,
  commit: Oid | undefined,
  tip: Oid | undefined,
): Promise<Drafts | undefined> {
  const drafts = commit === undefined ? noDrafts(tip) : await readDrafts(objects, commit)
  if (!drafts || drafts.tip === tip) return drafts
  return await mergeDrafts(objects, noDrafts(drafts.tip), drafts, noDrafts(tip))
}

/**
 * Their drafts with what ours have changed since the start, as git merges files. `known`: the clashes of both sides, to
 * which each file is added that git can't merge.
 */
async function withMergedFiles(
  objects: Objects,
  { start, ours, theirs }: Merging,
  known: ReadonlyMap<Path, Clashing>,
): Promise<Drafts> {
  if (isSameDrafts({ ...ours, clashes: new Map() }, { ...start, clashes: new Map() }))
    return await withFoldersAside(objects, theirs, { ...theirs, clashes: known })
  const trees = { base: await writeDraftTree(objects, start), one: await writeDraftTree(objects, ours) }
  const moved = await withOurNames(objects, start, ours, theirs, trees)
  const base = moved.start === start ? trees.base : await writeDraftTree(objects, moved.start)
  const other = await writeDraftTree(objects, moved.theirs)
  const renames = [...theirs.renames, ...ours.renames, ...moved.renames]
  const merge = await mergeTrees(objects.repository, trees.one, other, { base, objects })
  const files = await filesBetween(objects, theirs.tip, merge.tree)
  const clashes = new Map(known)
  const aside = await filesMovedAside(objects, theirs, merge.conflicts)
  for (const path of [...aside].flat()) files.delete(path)
  const movedByGit = new Set(aside.values())
  for (const [at, stages] of Map.groupBy(merge.stages, stage => stage.path)) {
    if (movedByGit.has(at)) continue
    const path = plainName(at)
    const [from, mine, other] = [1, 2, 3].map(number => stages.find(({ stage }) => stage === number))
    // Conflict markers are never written into a draft: the file stays as in `theirs`.
    files.delete(at)
    const there = await entryBeside(objects, theirs, path)
    // If our side renamed the file or its folder, git has applied their change at the new path.
    if (other && there?.oid !== other.oid) files.set(path, { mode: other.mode, oid: other.oid })
    else if (theirs.files.has(path)) files.set(path, theirs.files.get(path))
    if (mine) await addClash(objects, clashes, path, { mode: mine.mode, base: from?.oid, draft: mine.oid })
    else if (from && other)
      await addClash(objects, clashes, path, { mode: from.mode, base: from.oid, draft: undefined })
  }
  return await withFoldersAside(objects, theirs, { tip: theirs.tip, files, clashes, renames })
}

/**
 * A merge whose start is without the deletions of files that both sides have. Example: a file is deleted, another
 * window types in it, and the deletion is undone. What was typed was typed in the branch's text: both sides start from
 * that.
 */
async function withoutOvertakenDeletions(objects: Objects, merging: Merging): Promise<Merging> {
  const { start, ours, theirs } = merging
  const files = new Map(start.files)
  for (const [path, file] of start.files) {
    if (file || !ours.files.get(path) || theirs.clashes.has(path)) continue
    if (await entryBeside(objects, theirs, path)) files.delete(path)
  }
  return { ...merging, start: { ...start, files } }
}
