/**
 * Drafts: the unsaved changes of a branch. In the repository they are a commit on the branch's tip at
 * `refs/forge/drafts/<branch>`, whose tree is the tip's with the drafts.
 */
import { Failure } from '../../../core/failure.ts'
import { bytesOf, identityLine, parseCommit, textOf } from '../../../core/git/commits.ts'
import { marksLeft } from '../../../core/git/conflict-marks.ts'
import { changesIn, diffTrees } from '../../../core/git/diffs.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, entryAt, isFolder, listFiles, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { FORGE_AUTHOR, type Renamed } from '../../operations.ts'
import { isIn, pathAfter } from '../contract/paths.ts'
import { readContent } from '../reading/file-content.ts'
import type { Content } from '../reading/text.ts'
import { originsIn, readRenameLines, renameLines, withoutUnused } from './draft-renames.ts'

/** A draft's file; undefined if it is deleted. `bytes`: its content, until it is written. */
export type DraftFile = { mode: string; oid: Oid; bytes?: Buffer } | undefined
/**
 * A file that could not be merged: its draft (undefined: the draft deletes it), and the base of that (see
 * draft-merges.ts). `isWithStash`: the other version in the drafts was brought by a stash.
 */
export type Clashing = {
  mode: string
  base: Oid | undefined
  draft: Oid | undefined
  bytes?: Buffer
  working?: Working
  isWithStash?: true
}

/**
 * A conflicting draft and the other version in one text with conflict markers, as resolved in the editor. The draft is
 * this text with our side of each open conflict. Only text has it: other content is chosen as a whole.
 */
export type Working = {
  oid: Oid
  bytes?: Buffer
  /** The length of a conflict marker, in characters. */
  mark: number
  /** The number of open conflicts. */
  left: number
  /** The text with all its conflict markers, before any was resolved. */
  marked: Oid
  /** The other side's version of the file, from which the conflict markers were made. */
  theirs: Oid
  /**
   * The text with the conflicts open again that were resolved by theirs or both, and with our sides as they were then:
   * an undo of what brought the other version leaves these. Undefined if no conflict was resolved so.
   */
  unchosen?: Buffer
}

/** Whether a conflicting draft still has open conflicts. */
export const isOpen = ({ working }: Clashing): boolean => working === undefined || working.left > 0
/** Whether a conflicting draft was resolved such that the file is as on the other side. */
export const isByTheirs = (clash: Clashing): boolean => !isOpen(clash) && clash.working?.oid === clash.working?.theirs

export type Drafts = {
  /** The commit that the drafts are on; undefined before a branch's first one. */
  tip: Oid | undefined
  files: ReadonlyMap<Path, DraftFile>
  clashes: ReadonlyMap<Path, Clashing>
  /** The renames of files and folders in these drafts: see draft-renames.ts. */
  renames: readonly Renamed[]
}

export const noDrafts = (tip: Oid | undefined): Drafts => ({ tip, files: new Map(), clashes: new Map(), renames: [] })
/** Drafts of these files, without conflicts. */
export const draftsOf = (tip: Oid | undefined, files: Drafts['files']): Drafts => ({ ...noDrafts(tip), files })
export const isEmpty = ({ files, clashes }: Drafts): boolean => files.size === 0 && clashes.size === 0

export function isSameDrafts(one: Drafts, other: Drafts): boolean {
  if (one === other) return true
  if (one.tip !== other.tip || one.files.size !== other.files.size || one.clashes.size !== other.clashes.size)
    return false
  if (renameLines(one.renames) !== renameLines(other.renames)) return false
  for (const [path, file] of one.files) {
    const twin = other.files.get(path)
    if (!other.files.has(path) || twin?.oid !== file?.oid || twin?.mode !== file?.mode) return false
  }
  for (const [path, clash] of one.clashes) if (!isSameClash(clash, other.clashes.get(path))) return false
  return true
}

export const isSameClash = (one: Clashing | undefined, other: Clashing | undefined): boolean =>
  one?.base === other?.base &&
  one?.draft === other?.draft &&
  one?.mode === other?.mode &&
  one?.working?.oid === other?.working?.oid &&
  one?.working?.marked === other?.working?.marked &&
  one?.working?.unchosen?.toString('latin1') === other?.working?.unchosen?.toString('latin1')

/** The file of a conflict as the draft has it. */
export const draftFileOf = ({ mode, draft, bytes }: Clashing): DraftFile =>
  draft === undefined ? undefined : { mode, oid: draft, ...(bytes && { bytes }) }

// --- One file ---

export const entryOf = (file: DraftFile): Entry => file && { mode: file.mode, oid: file.oid }

/** A file as these drafts have it, including drafts in conflict. */
export async function entryIn(objects: Objects, { tip, files, clashes }: Drafts, path: Path): Promise<Entry> {
  const clash = clashes.get(path)
  const shown = clash && (clash.working?.oid ?? clash.draft)
  if (clash) return shown === undefined ? undefined : { mode: clash.mode, oid: shown }
  if (files.has(path)) return entryOf(files.get(path))
  return await entryInTip(objects, tip, path)
}

/** Those of some files that these drafts do not contain, also those in whose place there is a folder. */
export async function missingIn(objects: Objects, drafts: Drafts, paths: readonly Path[]): Promise<Path[]> {
  const entries = await Promise.all(paths.map(path => entryIn(objects, drafts, path)))
  return paths.filter((_, at) => entries[at] === undefined || isFolder(entries[at]))
}

/** A file in a branch's last commit; undefined if missing, and before the first commit. */
export async function entryInTip(objects: Objects, tip: Oid | undefined, path: Path): Promise<Entry> {
  return tip === undefined ? undefined : await entryAt(objects, tip, path)
}

/** The content of an entry that {@link entryIn} found. */
export async function contentIn(
  objects: Objects,
  { files, clashes }: Drafts,
  path: Path,
  entry: NonNullable<Entry>,
): Promise<Content | undefined> {
  const clash = clashes.get(path)
  const bytes = clash ? (clash.working ?? clash).bytes : files.get(path)?.bytes
  if (bytes) return { ...entry, size: bytes.length, bytes }
  return await readContent(objects, entry)
}

/** Why a file can't be saved or edited; undefined if it can. */
export function whyClashing({ clashes }: Drafts, path: Path): string | undefined {
  const clash = clashes.get(path)
  if (!clash || !isOpen(clash)) return undefined
  const name = visiblePath(path)
  return `${name} has conflicts between your draft and the branch: resolve them first.`
}

export function verifyNoClash(drafts: Drafts, paths: Iterable<Path>): void {
  for (const path of paths) {
    const why = whyClashing(drafts, path)
    if (why) throw new Failure(why)
  }
}

/**
 * The drafts as a save takes them: files whose conflicts are all resolved are ordinary drafts, or none if they are as
 * in the last commit.
 */
export async function withSettled(objects: Objects, drafts: Drafts): Promise<Drafts> {
  const files = new Map(drafts.files)
  const clashes = new Map(drafts.clashes)
  const origins = originsIn(drafts)
  for (const [path, clash] of drafts.clashes) {
    if (isOpen(clash) || !clash.working) continue
    const { oid, bytes } = clash.working
    const saved = await entryInTip(objects, drafts.tip, path)
    clashes.delete(path)
    if (saved?.oid === oid && saved.mode === clash.mode) leaveAsSaved(files, path, origins.get(path))
    else files.set(path, { mode: clash.mode, oid, ...(bytes && { bytes }) })
  }
  return clashes.size < drafts.clashes.size ? withoutUnused({ ...drafts, files, clashes }) : drafts
}

/**
 * Removes a draft that is as it was saved from the files of drafts. If it was renamed, from `origin`, nothing is left
 * of that file under the new name: it stays where it is.
 */
export function leaveAsSaved(files: Map<Path, DraftFile>, path: Path, origin: Path | undefined): void {
  files.delete(path)
  if (origin !== undefined) files.delete(origin)
}

// --- Several files ---

/** The drafts at a path and below it. */
export function draftsBelow({ files, clashes }: Drafts, path: Path): Set<Path> {
  return new Set([...files.keys(), ...clashes.keys()].filter(it => isIn(it, path)))
}

/** The files of these drafts after a committed rename of a file or folder. */
export function renamedFiles({ files }: Drafts, renamed: Renamed): Map<Path, DraftFile> {
  return new Map([...files].map(([path, file]) => [pathAfter(renamed, path), file]))
}

function without<Value>(all: ReadonlyMap<Path, Value>, paths: Iterable<Path>): Map<Path, Value> {
  const left = new Map(all)
  for (const path of paths) left.delete(path)
  return left
}

/** The drafts without some files, which are then as they were saved. */
export const withoutFiles = (drafts: Drafts, paths: Iterable<Path>): Drafts => {
  const gone = new Set(paths)
  return withoutUnused({ ...drafts, files: without(drafts.files, gone), clashes: without(drafts.clashes, gone) })
}

// --- As a commit ---

const asChange = (file: DraftFile): TreeChange => file && (file.bytes ? { mode: file.mode, bytes: file.bytes } : file)
export const asChanges = (files: ReadonlyMap<Path, DraftFile>): Map<Path, TreeChange> =>
  new Map([...files].map(([path, file]) => [path, asChange(file)]))

/** A commit that is not written yet: its id, its tree, and all objects to write with it. */
export type NewDrafts = { oid: Oid; tree: Oid; made: NewObject[] }

const CLASHES = /^Forge-Clashes: ([0-9a-f]+)$/m

/**
 * The commit of drafts; undefined if there are none. If the tip is not written yet, `from` gives its content: another
 * commit, and changes to it.
 */
export async function makeDrafts(
  objects: Objects,
  drafts: Drafts,
  from: { base: Oid | undefined; changes: ReadonlyMap<Path, TreeChange> } = { base: drafts.tip, changes: new Map() },
): Promise<NewDrafts | undefined> {
  if (isEmpty(drafts)) return undefined
  const tree = await makeTree(objects, from.base, new Map([...from.changes, ...asChanges(drafts.files)]))
  const clashes = drafts.clashes.size > 0 ? await makeClashes(objects, drafts.clashes) : undefined
  const parents = [drafts.tip, clashes?.oid].filter(oid => oid !== undefined)
  const trailers = `${clashes ? `Forge-Clashes: ${clashes.oid}\n` : ''}${renameLines(drafts.renames)}`
  const message = `Drafts\n${trailers && `\n${trailers}`}`
  const who = identityLine(FORGE_AUTHOR)
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree: tree.oid, parents, message }, who, who) }
  const oid = oidOf(objects.repository.format, commit)
  return { oid, tree: tree.oid, made: [...tree.made, ...(clashes?.made ?? []), commit] }
}

/** The folder with an empty file for each conflict of a draft with a stash. */
const STASHED = 'with-stash'

/**
 * Stores conflicting drafts (clashes) as a commit of their own, a parent of the drafts' commit, so that garbage
 * collection keeps their texts: a folder for each text, such as `draft` and `base`. The name of the folder with the
 * marked texts contains the length of their markers.
 */
async function makeClashes(objects: Objects, clashes: ReadonlyMap<Path, Clashing>): Promise<NewDrafts> {
  const changes = new Map<Path, TreeChange>()
  for (const [path, { mode, base, draft, bytes, working, isWithStash }] of clashes) {
    if (isWithStash) changes.set(`${STASHED}/${path}`, { mode, bytes: Buffer.of() })
    if (draft !== undefined) changes.set(`draft/${path}`, bytes ? { mode, bytes } : { mode, oid: draft })
    if (base) changes.set(`base/${path}`, { mode, oid: base })
    if (!working) continue
    const { mark, oid, bytes: typed, marked, theirs, unchosen } = working
    changes.set(`working-${mark}/${path}`, typed ? { mode, bytes: typed } : { mode, oid })
    changes.set(`marked/${path}`, { mode, oid: marked })
    changes.set(`theirs/${path}`, { mode, oid: theirs })
    if (unchosen) changes.set(`unchosen/${path}`, { mode, bytes: unchosen })
  }
  const tree = await makeTree(objects, undefined, changes)
  const who = identityLine(FORGE_AUTHOR)
  const message = 'Drafts and what they were made from\n'
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree: tree.oid, parents: [], message }, who, who) }
  return { oid: oidOf(objects.repository.format, commit), tree: tree.oid, made: [...tree.made, commit] }
}

/** At most this many drafts are listed. */
const MAX_DRAFTS = 100_000

/** Reads the drafts from a commit made by {@link makeDrafts}; undefined if it is none. */
export async function readDrafts(objects: Objects, oid: Oid): Promise<Drafts | undefined> {
  const object = await objects.read(oid)
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { tree, parents, ...parsed } = parseCommit(object.bytes)
  const message = textOf(parsed.message, undefined)
  const clashing = CLASHES.exec(message)?.[1]
  const [tip] = parents.filter(parent => parent !== clashing)
  const clashes = clashing && parents.includes(clashing) ? await readClashes(objects, clashing) : new Map()
  return { tip, files: await filesBetween(objects, tip, tree), clashes, renames: readRenameLines(message) }
}

async function readClashes(objects: Objects, commit: Oid): Promise<Map<Path, Clashing>> {
  const { files } = await listFiles(objects, commit, { limit: MAX_DRAFTS })
  const folders = new Map<string, Map<Path, { mode: string; oid: Oid }>>()
  for (const { path, mode, oid } of files) {
    const [folder = '', name = ''] = path.split(/\/(.*)/s)
    folders.set(folder, (folders.get(folder) ?? new Map()).set(name, { mode, oid }))
  }
  const oidIn = (folder: string, path: Path): Oid | undefined => folders.get(folder)?.get(path)?.oid
  const working = new Map<Path, Working>()
  for (const [folder, texts] of folders) {
    const mark = Number(/^working-(\d+)$/.exec(folder)?.[1] ?? 0)
    for (const [path, { oid }] of mark > 0 ? texts : []) {
      const [marked, theirs] = [oidIn('marked', path), oidIn('theirs', path)]
      const text = (await objects.read(oid))?.bytes?.toString('latin1') ?? ''
      const kept = oidIn('unchosen', path)
      const unchosen = kept === undefined ? undefined : (await objects.read(kept))?.bytes
      const left = marksLeft(text, mark)
      if (marked && theirs) working.set(path, { oid, mark, left, marked, theirs, ...(unchosen && { unchosen }) })
    }
  }
  // A path in `base` that is not in `draft` is that of a file which its draft deletes.
  const all = new Map([...(folders.get('base') ?? []), ...(folders.get('draft') ?? [])])
  return new Map(
    [...all].map(([path, { mode }]) => {
      const known = working.get(path)
      const sides = { base: oidIn('base', path), draft: oidIn('draft', path) }
      const isWithStash = oidIn(STASHED, path) !== undefined
      return [path, { mode, ...sides, ...(known && { working: known }), ...(isWithStash && { isWithStash }) }]
    }),
  )
}

/** Writes the tree of drafts on their tip into the repository. */
export async function writeDraftTree(objects: Objects, drafts: Drafts): Promise<Oid> {
  const { oid, made } = await makeTree(objects, drafts.tip, asChanges(drafts.files))
  await writeObjects(objects.repository, made)
  return oid
}

/** The differences of a tree from a commit (undefined: from nothing), as drafts. */
export async function filesBetween(objects: Objects, tip: Oid | undefined, tree: Oid): Promise<Map<Path, DraftFile>> {
  const { repository } = objects
  const before = tip ?? emptyTree(repository.format)
  const files = new Map<Path, DraftFile>()
  for (const [path, , after] of changesIn(await diffTrees(repository, before, tree))) files.set(path, after)
  return files
}

/** The drafts without content in memory, after they were written. */
export const written = (drafts: Drafts): Drafts => ({
  ...drafts,
  files: new Map([...drafts.files].map(([path, file]) => [path, file && { mode: file.mode, oid: file.oid }])),
  clashes: new Map([...drafts.clashes].map(([path, clash]) => [path, withoutBytes(clash)])),
})

function withoutBytes({ bytes: _, working, ...clash }: Clashing): Clashing {
  if (!working) return clash
  const { bytes: __, ...rest } = working
  return { ...clash, working: rest }
}
