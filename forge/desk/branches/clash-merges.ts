/** The conflicts of drafts on both sides of a merge, as those of one. */
import { commonLines, mergeLines } from '../../../core/git/merges.ts'
import { type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { baseWithMerged, mergedText, ownText, readBytes, textsOf, textWithoutChoices, typedIn } from './clash-texts.ts'
import { type Clashing, type Drafts, isOpen, isSameClash } from './drafts.ts'
import type { Merging } from './merged-line-ends.ts'

/**
 * What was typed in drafts of which the other side has made clashes meanwhile, as a redo does that moves the branch: it
 * becomes a part of those clashes, whose base stays that of the drafts. A clash that is resolved stays so; if what was
 * typed does not fit its text, that is an ordinary draft, and in conflict with what was typed.
 */
export async function withTypingInClashes(objects: Objects, { start, ours, theirs }: Merging): Promise<Merging> {
  const [files, others, clashes] = [new Map(ours.files), new Map(theirs.files), new Map(theirs.clashes)]
  for (const [path, clash] of theirs.clashes) {
    const [before, typed] = [start.files.get(path), ours.files.get(path)]
    if (!before || !typed || start.clashes.has(path) || ours.clashes.has(path)) continue
    const [from, to] = await Promise.all([before, typed].map(({ bytes, oid }) => bytes ?? readBytes(objects, oid)))
    const there = await ownText(objects, clash)
    if (!from || !to || !there) continue
    const next = from.equals(to)
      ? clash
      : await withTyping(objects, { ...clash, mode: typed.mode }, there, { from, to })
    if (next) {
      files.set(path, before)
      clashes.set(path, next)
    } else {
      others.set(path, { mode: clash.mode, oid: clash.working?.oid ?? '' })
      clashes.delete(path)
    }
  }
  return { start, ours: { ...ours, files }, theirs: { ...theirs, files: others, clashes } }
}

/**
 * A clash (a conflict of a draft) with what was typed in its draft, which was `from` and is `to`; undefined if the
 * clash is resolved, and what was typed is in conflict with that. `there`: our text of the clash.
 */
async function withTyping(
  objects: Objects,
  clash: Clashing,
  there: Buffer,
  { from, to }: { from: Buffer; to: Buffer },
): Promise<Clashing | undefined> {
  if (!isOpen(clash)) {
    const text = await mergedText(objects, { base: from, ours: there, theirs: to })
    return text && typedIn(objects, clash, await textsOf(objects, clash), [text])
  }
  const { mode, working, isWithStash } = clash
  const bytes = await mergeTexts(objects, from, there, to)
  const base = working ? await baseWithMerged(objects, clash, working, 'theirs') : clash.base
  const [draft] = await writeObjects(objects.repository, [{ type: 'blob', bytes }])
  return { mode, base, draft, ...(isWithStash && { isWithStash }) }
}

/**
 * The conflicts of drafts that began as `start` and became `ours` on one side and `theirs` on the other. One that both
 * sides have is one again, with everything typed on either.
 */
export async function mergeClashes(
  objects: Objects,
  start: Drafts['clashes'],
  ours: Drafts['clashes'],
  theirs: Drafts['clashes'],
): Promise<Map<Path, Clashing>> {
  const clashes = new Map(theirs)
  // A clash (a conflict of a draft) resolved on one side stays resolved, unless the other side resolved it differently.
  for (const [path, clash] of start) if (!ours.has(path) && isSameClash(theirs.get(path), clash)) clashes.delete(path)
  for (const [path, clash] of ours) {
    const before = start.get(path)
    if (isSameClash(before, clash)) continue
    // If `theirs` still has the clash that `clash` was made from, `clash` is the newer one and replaces it.
    if (isSameClash(theirs.get(path), before)) clashes.delete(path)
    const isEnded = before !== undefined && !theirs.has(path)
    const added = isEnded ? await typedBetween(objects, before, clash) : clash
    if (added) await addClash(objects, clashes, path, added)
  }
  return clashes
}

/**
 * What was typed in a clash (a conflict of a draft) that the other side has ended: an undo of what brought it, or a
 * choice. Undefined if nothing was. Only this is merged with the file there, and not the whole draft.
 */
async function typedBetween(objects: Objects, before: Clashing, after: Clashing): Promise<Clashing | undefined> {
  const [from, to] = await Promise.all([before, after].map(it => textWithoutChoices(objects, it)))
  if (!from || !to) return after
  if (from.equals(to)) return undefined
  const blobs = [from, to].map(bytes => ({ type: 'blob' as const, bytes }))
  const [base, draft] = await writeObjects(objects.repository, blobs)
  return { mode: after.mode, base, draft }
}

/** Adds a clash (a conflict of a draft); if the file already has one, the two are united. */
export async function addClash(
  objects: Objects,
  clashes: Map<Path, Clashing>,
  path: Path,
  clash: Clashing,
): Promise<void> {
  const other = clashes.get(path)
  clashes.set(path, other ? await united(objects, other, clash) : clash)
}

/** Unites two clashes (conflicts) of a file: the draft then has everything typed in either. */
async function united(objects: Objects, one: Clashing, other: Clashing): Promise<Clashing> {
  const { repository } = objects
  const base = one.base === other.base ? one.base : await commonBase(objects, one.base, other.base)
  if (one.draft === other.draft) return { ...other, base }
  // A draft that deletes the file gives way to one with content.
  if (one.draft === undefined || other.draft === undefined) return { ...(one.draft === undefined ? other : one), base }
  const [start, ours = Buffer.of(), theirs = Buffer.of()] = await Promise.all([
    readBytes(objects, base),
    one.bytes ?? readBytes(objects, one.draft),
    other.bytes ?? readBytes(objects, other.draft),
  ])
  const bytes = await mergeTexts(objects, start, ours, theirs)
  const { mode } = other
  const isWithStash = one.isWithStash ?? other.isWithStash
  const draft = oidOf(repository.format, { type: 'blob', bytes })
  return { mode, base, draft, bytes, ...(isWithStash && { isWithStash }) }
}

/** Merges two versions of a text, with the lines of both where they conflict; binary ones are put together. */
async function mergeTexts(
  { repository }: Objects,
  start: Buffer | undefined,
  ours: Buffer,
  theirs: Buffer,
): Promise<Buffer> {
  return await mergeLines(repository, start, ours, theirs).catch(error => {
    if (!(error instanceof GitError)) throw error
    return Buffer.concat([ours, theirs])
  })
}

/** The common part of two base texts, written into the repository; undefined if a base has no file. */
async function commonBase(objects: Objects, one: Oid | undefined, other: Oid | undefined): Promise<Oid | undefined> {
  const [first, second] = await Promise.all([one, other].map(blob => readBytes(objects, blob)))
  if (!first || !second) return undefined
  const bytes = await commonLines(objects.repository, first, second)
  const [oid] = await writeObjects(objects.repository, [{ type: 'blob', bytes }])
  return oid
}
