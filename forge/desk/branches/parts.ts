/** Takes some of the changes between two trees, or of a branch's drafts: by files, or by lines of them. */
import { Failure } from '../../../core/failure.ts'
import { type LineRange, withLines } from '../../../core/git/line-parts.ts'
import { mergeTrees } from '../../../core/git/merges.ts'
import { type Objects, writeObjects } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, makeTree, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { firstOf, many, visiblePath } from '../../../core/text.ts'
import type { Change, Part } from '../contract/values.ts'
import { changesBetween, changesOfDrafts } from '../reading/changes.ts'
import { treeBefore } from '../reading/history.ts'
import { commitTo, stepsOf, withoutOrigins } from './branch-commits.ts'
import type { BranchWork } from './branch-work.ts'
import { originsIn, withoutUnused, withRename, withWhatBelongs } from './draft-renames.ts'
import { asChanges, filesBetween, isSameDrafts, verifyNoClash } from './drafts.ts'
import { withOwnFolder } from './forge-folder.ts'
import { messageFor } from './save.ts'
import { TAKE_BACK } from './undo.ts'

/** Of a larger file, in bytes, single lines can't be chosen: its change is taken as a whole. */
const MAX_TEXT_BYTES = 2 << 20
/** At most this many files are named in a message. */
const MAX_NAMED_FILES = 3

/** Writes a tree with some of the changes between it and another one, as {@link treeWithSome} does. */
export async function treeWithParts(objects: Objects, from: Oid, to: Oid, parts: readonly Part[]): Promise<Oid> {
  return parts.length === 0 ? from : await treeWithSome(objects, from, await changesBetween(objects, from, to), parts)
}

/**
 * Writes a tree with some of the changes to it. Throws a {@link Failure} for a file without changes, or with others
 * than those that were shown.
 */
async function treeWithSome(objects: Objects, from: Oid, all: readonly Change[], parts: readonly Part[]): Promise<Oid> {
  const changes = new Map(all.map(change => [change.path, change]))
  const wanted = new Map<Path, TreeChange>()
  for (const part of parts) {
    const change = changes.get(part.path)
    if (!change) throw new Failure(`${visiblePath(part.path)} is not among the changed files.`)
    if (part.shown && !isShown(part.shown, change))
      throw new Failure(
        `${visiblePath(part.path)} was changed meanwhile, and nothing was done: look at its changes again.`,
      )
    if (change.from !== undefined) wanted.set(change.from, undefined)
    wanted.set(part.path, part.lines ? await withLinesOf(objects, change, part, part.lines) : change.after)
  }
  return await writeTree(objects, from, wanted)
}

const isShown = (shown: NonNullable<Part['shown']>, { before, after }: Change): boolean =>
  shown.before === before?.oid && shown.after === after?.oid

async function withLinesOf(
  objects: Objects,
  { path, before, after }: Change,
  part: Part,
  lines: NonNullable<Part['lines']>,
): Promise<TreeChange> {
  const texts = await Promise.all([before, after].map(entry => textOf(objects, path, entry)))
  const [old = Buffer.of(), now = Buffer.of()] = texts
  const { mode = '100644' } = (part.mode ? after : before) ?? after ?? {}
  return { mode, bytes: withLines(old, now, lines, part.lineEnds) }
}

async function textOf(objects: Objects, path: Path, entry: Entry): Promise<Buffer> {
  if (!entry) return Buffer.of()
  const blob = await objects.read(entry.oid, { limit: MAX_TEXT_BYTES })
  if (blob?.bytes && blob.type === 'blob') return blob.bytes
  throw new Failure(`${visiblePath(path)} is too large to be taken by lines: take all of its changes or none.`)
}

/**
 * The tree of a branch's last commit, and the one with its drafts. Of a draft in conflict, the latter has the text with
 * markers: the caller refuses its changes.
 */
async function draftTrees({ room: { objects }, tip, drafts }: BranchWork): Promise<{ saved: Oid; typed: Oid }> {
  const { oid: typed, made } = await makeTree(objects, tip, asChanges(drafts.files))
  await writeObjects(objects.repository, made)
  const saved = tip === undefined ? undefined : await objects.info(`${tip}^{tree}`)
  return { saved: saved?.oid ?? emptyTree(objects.repository.format), typed }
}

/**
 * Commits some of a branch's drafts. What is left out stays a draft. Returns the commit. Throws a {@link Failure} where
 * what was chosen changes nothing, or is in conflict with the branch.
 */
export async function saveParts(work: BranchWork, parts: readonly Part[], message?: string): Promise<Oid> {
  return await work.inOneGo(async (held, signature) => {
    const { objects, filters } = work.room
    const wanted = parts.map(({ path }) => path)
    verifyNoClash(work.drafts, withWhatBelongs(work.drafts, wanted))
    const { saved, typed } = await draftTrees(work)
    const changes = await changesOfDrafts(objects, saved, typed, originsIn(work.drafts))
    const chosen = await treeWithSome(objects, saved, changes, parts)
    const files = await filesBetween(objects, saved, chosen)
    const paths = [...files.keys()].sort()
    await filters.verifyContents(work.tip, new Map([...files].filter(([, file]) => file)))
    const left = new Map(work.drafts.files)
    for (const [path, file] of files) {
      const draft = left.get(path)
      if (left.has(path) && draft?.oid === file?.oid && draft?.mode === file?.mode) left.delete(path)
    }
    const steps = await stepsOf(work.room.objects, work.drafts, paths)
    const name = visiblePath(work.name)
    const count = many(withoutOrigins(work.drafts, paths).length, 'file')
    const commit = {
      ...{ kind: 'save', words: `save some changes of ${count} to ${name}` },
      ...{ message: message?.trim() || messageFor(steps), changes: asChanges(files) },
      after: withoutUnused({ ...work.drafts, files: left }),
    }
    const made = await commitTo(held, commit, signature)
    if (made === undefined) throw new Failure('Nothing was saved: what is selected is in the last commit already.')
    return made
  })
}

/**
 * Takes some of a commit's changes back in a branch's drafts, without a commit. A rename that is taken back is a rename
 * in the drafts. The operation can be undone.
 *
 * @throws A {@link Failure}, without any effect, if later changes are in the way.
 */
export async function takeBackParts(work: BranchWork, oid: Oid, parts: readonly Part[]): Promise<void> {
  await work.editDrafts(async held => {
    const { objects } = work.room
    const commit = await objects.info(`${oid}^{tree}`)
    if (!commit) throw new Failure(`There is no commit ${oid.slice(0, 8)} in this repository.`)
    verifyNoClash(work.drafts, work.drafts.clashes.keys())
    const before = await treeBefore(objects, oid)
    const changes = new Map((await changesBetween(objects, before, commit.oid)).map(change => [change.path, change]))
    // The changes are compared from after to before, so a renamed file has its old name.
    const nameBefore = (path: Path) => changes.get(path)?.from ?? path
    const back = parts.map(({ path, lines, lineEnds, mode }): Part => {
      return { path: nameBefore(path), ...(lines && { lines: lines.map(backwards), lineEnds, mode }) }
    })
    const without = await treeWithParts(objects, commit.oid, before, back)
    const { saved, typed } = await draftTrees(work)
    const merge = await mergeTrees(objects.repository, typed, without, { base: commit.oid, objects })
    const conflicts = new Set([...merge.stages, ...merge.conflicts].flatMap(it => ('paths' in it ? it.paths : it.path)))
    if (conflicts.size > 0) {
      const chosen = parts.map(({ path }) => path)
      const found = chosen.filter(path => conflicts.has(path) || conflicts.has(nameBefore(path)))
      // Of a file that was renamed since, git names only the new path.
      const names = firstOf((found.length > 0 ? found : [...conflicts]).map(visiblePath), MAX_NAMED_FILES)
      throw new Failure(
        `Later changes of the same lines of ${names} are in the way: select other files, or revert the whole commit, which lets you resolve them.`,
      )
    }
    const { tree } = await withOwnFolder(objects, typed, merge)
    const moved = parts.map(({ path }) => ({ from: path, to: nameBefore(path) })).filter(({ from, to }) => from !== to)
    const renames = moved.reduce((all, it) => withRename({ ...work.drafts, renames: all }, it), work.drafts.renames)
    const after = withoutUnused({ ...work.drafts, files: await filesBetween(objects, saved, tree), renames })
    if (isSameDrafts(after, work.drafts))
      throw new Failure(`${visiblePath(work.name)} does not have these changes any more.`)
    const words = `take back some of ${oid.slice(0, 8)} in the drafts of ${visiblePath(work.name)}`
    await held.become({ drafts: after }, { kind: TAKE_BACK, words })
  })
}

const backwards = ({ fromA, toA, fromB, toB }: LineRange): LineRange => ({
  ...{ fromA: fromB, toA: toB, fromB: fromA, toB: toA },
})
