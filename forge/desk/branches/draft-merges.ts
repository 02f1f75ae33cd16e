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
import { markLength, marksLeft, mergeWithMarks, withSide } from '../../../core/git/conflict-marks.ts'
import { renamedFiles } from '../../../core/git/diffs.ts'
import { commonLines, mergeLines, mergeTrees } from '../../../core/git/merges.ts'
import { type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { makeTree } from '../../../core/git/trees.ts'
import type { Renamed } from '../../operations.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { DRAFT_SIDE } from '../contract/merging.ts'
import { textBytes } from '../reading/file-content.ts'
import { decodeText } from '../reading/text.ts'
import { originsIn, withoutUnused } from './draft-renames.ts'
import {
  asChanges,
  type Clashing,
  type Drafts,
  draftFileOf,
  entryInTip,
  entryOf,
  filesBetween,
  isSameClash,
  isSameDrafts,
  noDrafts,
  readDrafts,
  type Working,
} from './drafts.ts'
import { withSameLineEnds } from './merged-line-ends.ts'

/** Writes the tree of drafts on their tip into the repository. */
async function writeDraftTree(objects: Objects, drafts: Drafts): Promise<Oid> {
  const { oid, made } = await makeTree(objects, drafts.tip, asChanges(drafts.files))
  await writeObjects(objects.repository, made)
  return oid
}

/**
 * Merges drafts with other changes since a common start: the drafts of another desk, or a branch that has moved (then
 * `theirs` has the new tip and no drafts). Files that git can't merge become clashes: conflicts that keep both
 * versions.
 */
export async function mergeDrafts(objects: Objects, start: Drafts, ours: Drafts, theirs: Drafts): Promise<Drafts> {
  const same = await withSameLineEnds(objects, { start, ours, theirs })
  return await withMarks(objects, await bringTogether(objects, same.start, same.ours, same.theirs))
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

async function bringTogether(objects: Objects, start: Drafts, ours: Drafts, theirs: Drafts): Promise<Drafts> {
  const clashes = await mergeClashes(objects, start.clashes, ours.clashes, theirs.clashes)
  if (isSameDrafts({ ...ours, clashes: new Map() }, { ...start, clashes: new Map() }))
    return await withoutSettled(objects, { ...theirs, clashes })
  const trees = { base: await writeDraftTree(objects, start), one: await writeDraftTree(objects, ours) }
  const moved = await withOurNames(objects, start, ours, theirs, trees)
  const base = moved.start === start ? trees.base : await writeDraftTree(objects, moved.start)
  const other = await writeDraftTree(objects, moved.theirs)
  const renames = [...theirs.renames, ...ours.renames, ...moved.renames]
  const merge = await mergeTrees(objects.repository, trees.one, other, { base, objects })
  const files = await filesBetween(objects, theirs.tip, merge.tree)
  for (const [at, stages] of Map.groupBy(merge.stages, stage => stage.path)) {
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
  return withoutUnused(await withoutSettled(objects, { tip: theirs.tip, files, clashes, renames }))
}

type WithOurNames = { start: Drafts; theirs: Drafts; renames: Renamed[] }

/**
 * The start and the other side with some files under the names that our drafts give them, so that these files are
 * merged with each other: those that both sides rename, where our name counts, and those of which so little is left
 * that git does not see our rename. `renames`: what the drafts have to record of that. `trees`: those of the start and
 * of our drafts.
 */
async function withOurNames(
  objects: Objects,
  start: Drafts,
  ours: Drafts,
  theirs: Drafts,
  trees: { base: Oid; one: Oid },
): Promise<WithOurNames> {
  const origins = originsIn(ours)
  if (origins.size === 0) return { start, theirs, renames: [] }
  const [seen, there] = await Promise.all([
    renamedFiles(objects.repository, trees.base, trees.one),
    renamedFiles(objects.repository, trees.base, await writeDraftTree(objects, theirs)),
  ])
  const [starting, other] = [new Map(start.files), new Map(theirs.files)]
  const renames: Renamed[] = []
  for (const [path, origin] of origins) {
    const name = there.get(origin) ?? origin
    if (name === path || (name === origin && seen.get(origin) === path)) continue
    const [before, after] = [await entryBeside(objects, start, origin), await entryBeside(objects, theirs, name)]
    const isTaken = (await entryBeside(objects, start, path)) ?? (await entryBeside(objects, theirs, path))
    if (!before || !after || isTaken) continue
    starting.set(origin, undefined).set(path, before)
    other.set(name, undefined).set(path, after)
    renames.push({ from: name, to: path })
  }
  if (renames.length === 0) return { start, theirs, renames }
  return { start: { ...start, files: starting }, theirs: { ...theirs, files: other }, renames }
}

/** The name that git gives a file that is in the way of a folder, by the id of its commit. */
const ASIDE = /~(?:[0-9a-f]{40}|[0-9a-f]{64})(_\d+)?$/

const plainName = (path: Path): Path => path.replace(ASIDE, '~draft$1')

async function mergeClashes(
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
  const [from, to] = await Promise.all([before, after].map(it => ownText(objects, it)))
  if (!from || !to) return after
  if (from.equals(to)) return undefined
  const blobs = [from, to].map(bytes => ({ type: 'blob' as const, bytes }))
  const [base, draft] = await writeObjects(objects.repository, blobs)
  return { mode: after.mode, base, draft }
}

/** The text of a conflicting draft with what git has merged from the other side; undefined if it deletes the file. */
async function ownText(objects: Objects, { draft, bytes, working }: Clashing): Promise<Buffer | undefined> {
  const text = working && (working.bytes ?? (await readBytes(objects, working.oid)))?.toString('latin1')
  const ours = text === undefined ? undefined : withSide(text, working?.mark ?? 0, 'ours')
  return ours === undefined ? (bytes ?? (await readBytes(objects, draft))) : Buffer.from(ours, 'latin1')
}

/** Adds a clash (a conflict of a draft); if the file already has one, the two are united. */
async function addClash(objects: Objects, clashes: Map<Path, Clashing>, path: Path, clash: Clashing): Promise<void> {
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
  const bytes = await mergeLines(repository, start, ours, theirs).catch(error => {
    if (!(error instanceof GitError)) throw error
    return Buffer.concat([ours, theirs])
  })
  const { mode } = other
  return { mode, base, draft: oidOf(repository.format, { type: 'blob', bytes }), bytes }
}

/** The common part of two base texts, written into the repository; undefined if a base has no file. */
async function commonBase(objects: Objects, one: Oid | undefined, other: Oid | undefined): Promise<Oid | undefined> {
  const [first, second] = await Promise.all([one, other].map(blob => readBytes(objects, blob)))
  if (!first || !second) return undefined
  const bytes = await commonLines(objects.repository, first, second)
  const [oid] = await writeObjects(objects.repository, [{ type: 'blob', bytes }])
  return oid
}

const readBytes = async (objects: Objects, blob: Oid | undefined): Promise<Buffer | undefined> =>
  blob === undefined ? undefined : (await objects.read(blob))?.bytes

/** Removes clashes that need no choice: the other version of the file equals the draft, or the draft's base. */
async function withoutSettled(objects: Objects, drafts: Drafts): Promise<Drafts> {
  const files = new Map(drafts.files)
  const clashes = new Map<Path, Clashing>()
  for (const [path, clash] of drafts.clashes) {
    const { base, draft } = clash
    const isDraftElsewhere = files.has(path)
    const entry = isDraftElsewhere ? files.get(path) : await entryInTip(objects, drafts.tip, path)
    if (entry?.oid === draft) continue
    if (!isDraftElsewhere && entry?.oid === base) files.set(path, draftFileOf(clash))
    else clashes.set(path, clash)
  }
  return { ...drafts, files, clashes }
}

/**
 * Gives each clash of text (a conflict of a draft) its text with conflict markers. The text that it has already is kept
 * if the other version is still the same. A clash without a conflict is an ordinary draft.
 */
async function withMarks(objects: Objects, drafts: Drafts): Promise<Drafts> {
  const files = new Map(drafts.files)
  const clashes = new Map<Path, Clashing>()
  for (const [path, clash] of drafts.clashes) {
    const { working, ...plain } = clash
    const other = await entryBeside(objects, drafts, path)
    if (working !== undefined && working.theirs === other?.oid) {
      clashes.set(path, clash)
      continue
    }
    const base = working ? await baseWithMerged(objects, clash, working) : plain.base
    const theirs = (await isDraftBeside(objects, drafts, path)) ? 'other draft' : 'branch'
    const made = await marked(objects, { ...plain, base }, other, theirs)
    if (made.working?.left === 0) files.set(path, { mode: clash.mode, oid: made.working.oid })
    else clashes.set(path, { ...plain, base, ...made })
  }
  return { ...drafts, files, clashes }
}

/**
 * The base of a clash (a conflict of a draft), whose other side is about to change. Once its text was typed in, the
 * draft has what git has merged from that side: the base gets that, too, as it was not typed.
 */
async function baseWithMerged(
  objects: Objects,
  clash: Clashing,
  { mark, marked, theirs }: Working,
): Promise<Oid | undefined> {
  const { base, draft, bytes } = clash
  if (base === undefined || draft === undefined) return base
  const [own, typed, text, there] = await Promise.all([
    ownText(objects, clash),
    bytes ?? readBytes(objects, draft),
    readBytes(objects, marked),
    readBytes(objects, theirs),
  ])
  const isMerged = own && typed && withoutLastLineEnd(own) === withoutLastLineEnd(typed)
  const [before, after] = (['base', 'theirs'] as const).map(
    side => text && withSide(text.toString('latin1'), mark, side),
  )
  if (!isMerged || before === undefined || after === undefined || !there) return base
  // The other side's text, with the base in place of each conflict.
  const sides = { base: Buffer.from(after, 'latin1'), ours: Buffer.from(before, 'latin1'), theirs: there }
  const length = markLength(Object.values(sides))
  const merged = await mergeWithMarks(objects.repository, sides, { ours: 'base', theirs: 'theirs' }, length)
  if (marksLeft(merged.toString('latin1'), length) > 0) return base
  const [oid] = await writeObjects(objects.repository, [{ type: 'blob', bytes: merged }])
  return oid
}

const withoutLastLineEnd = (bytes: Buffer): string => bytes.toString('latin1').replace(/\r?\n$/, '')

async function marked(
  objects: Objects,
  clash: Clashing,
  other: Entry,
  label: string,
): Promise<Pick<Clashing, 'working'>> {
  const { mode, base: from, draft, bytes } = clash
  if (draft === undefined) return {}
  const [base, theirs] = await Promise.all(
    [from === undefined ? undefined : { mode, oid: from }, other].map(it => textBytes(objects, it)),
  )
  const ours = bytes ? editable(bytes) : await textBytes(objects, { mode, oid: draft })
  if (!other || !ours || !theirs || (from !== undefined && !base)) return {}
  const { repository } = objects
  const mark = markLength([base, ours, theirs])
  const text = await mergeWithMarks(repository, { base, ours, theirs }, { ours: DRAFT_SIDE, theirs: label }, mark)
  if (!editable(text)) return {}
  const [oid = ''] = await writeObjects(repository, [{ type: 'blob', bytes: text }])
  const left = marksLeft(text.toString('latin1'), mark)
  return { working: { oid, mark, left, marked: oid, theirs: other.oid } }
}

const editable = (bytes: Buffer): Buffer | undefined =>
  bytes.length <= MAX_EDITABLE_BYTES && decodeText(bytes) ? bytes : undefined

/** The version of a file that conflicts with its draft: that of the branch, or of another desk's drafts. */
export async function entryBeside(objects: Objects, { tip, files }: Drafts, path: Path): Promise<Entry> {
  if (files.has(path)) return entryOf(files.get(path))
  return await entryInTip(objects, tip, path)
}

/**
 * Whether the version of a file that conflicts with its draft is a draft, too. A file that the drafts rename has the
 * branch's version, until it is resolved, under its new name.
 */
export async function isDraftBeside(objects: Objects, drafts: Drafts, path: Path): Promise<boolean> {
  if (!drafts.files.has(path)) return false
  const origin = originsIn(drafts).get(path)
  if (origin === undefined) return true
  const there = await entryInTip(objects, drafts.tip, origin)
  return there?.oid !== entryOf(drafts.files.get(path))?.oid
}
