/**
 * Drafts: what was typed in a branch and is not saved yet. In the repository they are a commit on the branch's tip, at
 * `refs/forge/drafts/<branch>`: its tree is the tip's with the drafts in it.
 */
import { Failure } from '../../../core/failure.ts'
import { bytesOf, identityLine, parseCommit, textOf } from '../../../core/git/commits.ts'
import { marksLeft } from '../../../core/git/conflict-marks.ts'
import { changesIn, diffTrees } from '../../../core/git/diffs.ts'
import { type NewObject, type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, entryAt, listFiles, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { FORGE_AUTHOR, type Renamed } from '../../operations.ts'
import { isIn, pathAfter } from '../contract/paths.ts'
import { readContent } from '../reading/file-content.ts'
import type { Content } from '../reading/text.ts'

/**
 * A file as a draft has it, undefined where it is deleted. The bytes are here for as long as they may not be written.
 */
export type DraftFile = { mode: string; oid: Oid; bytes?: Buffer } | undefined
/**
 * One end of a file whose two could not be brought together: a draft, and what it was made from (see draft-merges.ts).
 */
export type Clashing = { mode: string; base: Oid | undefined; draft: Oid; bytes?: Buffer; working?: Working }

/**
 * The draft and the other end in one text, with marks where they conflict, as the person settles it in the editor. The
 * draft is this text with its own side in each conflict that is left. Only texts have it: of all else a whole is chosen.
 */
export type Working = {
  oid: Oid
  bytes?: Buffer
  /** The characters of a mark, and how many conflicts are left. */
  mark: number
  left: number
  /** The text as it was at first, and the other end that it was made with. */
  marked: Oid
  theirs: Oid
}

/** Whether there is something left to settle. */
export const isOpen = ({ working }: Clashing): boolean => working === undefined || working.left > 0

export type Drafts = {
  /** The commit that they were made on; undefined before a branch's first one. */
  tip: Oid | undefined
  files: ReadonlyMap<Path, DraftFile>
  clashes: ReadonlyMap<Path, Clashing>
}

export const noDrafts = (tip: Oid | undefined): Drafts => ({ tip, files: new Map(), clashes: new Map() })
export const isEmpty = ({ files, clashes }: Drafts): boolean => files.size === 0 && clashes.size === 0

export function isSameDrafts(one: Drafts, other: Drafts): boolean {
  if (one.tip !== other.tip || one.files.size !== other.files.size || one.clashes.size !== other.clashes.size)
    return false
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
  one?.working?.marked === other?.working?.marked

// --- One file among them ---------------------------------------------------------------------------------------------

export const entryOf = (file: DraftFile): Entry => file && { mode: file.mode, oid: file.oid }

/** A file as it is with these drafts: the draft where there is one, the one that can't be merged too. */
export async function entryIn(objects: Objects, { tip, files, clashes }: Drafts, path: Path): Promise<Entry> {
  const clash = clashes.get(path)
  if (clash) return { mode: clash.mode, oid: clash.working?.oid ?? clash.draft }
  if (files.has(path)) return entryOf(files.get(path))
  return await entryInTip(objects, tip, path)
}

/** A file as it is in a branch's last commit; undefined also before the first one. */
export async function entryInTip(objects: Objects, tip: Oid | undefined, path: Path): Promise<Entry> {
  return tip === undefined ? undefined : await entryAt(objects, tip, path)
}

/** What {@link entryIn} has found. */
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

/** Why a file can't be saved or typed in; undefined where it can. */
function whyClashing({ clashes }: Drafts, path: Path): string | undefined {
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

// --- Some of them ----------------------------------------------------------------------------------------------------

/** The drafts at a path and below it. */
export function draftsBelow({ files, clashes }: Drafts, path: Path): Set<Path> {
  return new Set([...files.keys(), ...clashes.keys()].filter(it => isIn(it, path)))
}

/** The files of drafts when one of them, or a folder of them, has got another name. */
export function renamedFiles({ files }: Drafts, renamed: Renamed): Map<Path, DraftFile> {
  return new Map([...files].map(([path, file]) => [pathAfter(renamed, path), file]))
}

function without<Value>(all: ReadonlyMap<Path, Value>, paths: Iterable<Path>): Map<Path, Value> {
  const left = new Map(all)
  for (const path of paths) left.delete(path)
  return left
}

/** The drafts without some files, as they are where these are as they were saved. */
export const withoutFiles = ({ tip, files, clashes }: Drafts, paths: Iterable<Path>): Drafts => {
  const gone = new Set(paths)
  return { tip, files: without(files, gone), clashes: without(clashes, gone) }
}

// --- As a commit -----------------------------------------------------------------------------------------------------

const asChange = (file: DraftFile): TreeChange => file && (file.bytes ? { mode: file.mode, bytes: file.bytes } : file)
export const asChanges = (files: ReadonlyMap<Path, DraftFile>): Map<Path, TreeChange> =>
  new Map([...files].map(([path, file]) => [path, asChange(file)]))

/** A commit that is not written yet: its id, its tree, and all that has to be written with it. */
export type NewDrafts = { oid: Oid; tree: Oid; made: NewObject[] }

const CLASHES = /^Forge-Clashes: ([0-9a-f]+)$/m

/**
 * The commit for some drafts; undefined where there are none. Where the tip itself is not written yet, `from` says what
 * it is made of: another commit and changes.
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
  const message = `Drafts\n${clashes ? `\nForge-Clashes: ${clashes.oid}\n` : ''}`
  const who = identityLine(FORGE_AUTHOR)
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree: tree.oid, parents, message }, who, who) }
  const oid = oidOf(objects.repository.format, commit)
  return { oid, tree: tree.oid, made: [...tree.made, ...(clashes?.made ?? []), commit] }
}

/**
 * Clashes as a commit of their own, which is a parent of the drafts': a folder for each of the texts, such as `draft` and
 * `base`, so that no garbage collection takes them. The folder of the working texts says how long their marks are.
 */
async function makeClashes(objects: Objects, clashes: ReadonlyMap<Path, Clashing>): Promise<NewDrafts> {
  const changes = new Map<Path, TreeChange>()
  for (const [path, { mode, base, draft, bytes, working }] of clashes) {
    changes.set(`draft/${path}`, bytes ? { mode, bytes } : { mode, oid: draft })
    if (base) changes.set(`base/${path}`, { mode, oid: base })
    if (!working) continue
    const { mark, oid, bytes: typed, marked, theirs } = working
    changes.set(`working-${mark}/${path}`, typed ? { mode, bytes: typed } : { mode, oid })
    changes.set(`marked/${path}`, { mode, oid: marked })
    changes.set(`theirs/${path}`, { mode, oid: theirs })
  }
  const tree = await makeTree(objects, undefined, changes)
  const who = identityLine(FORGE_AUTHOR)
  const message = 'Drafts and what they were made from\n'
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree: tree.oid, parents: [], message }, who, who) }
  return { oid: oidOf(objects.repository.format, commit), tree: tree.oid, made: [...tree.made, commit] }
}

/** Further drafts are not listed. */
const MAX_DRAFTS = 100_000

/** The drafts in a commit that {@link makeDrafts} made; undefined where it is none. */
export async function readDrafts(objects: Objects, oid: Oid): Promise<Drafts | undefined> {
  const object = await objects.read(oid)
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { tree, parents, message } = parseCommit(object.bytes)
  const clashing = CLASHES.exec(textOf(message, undefined))?.[1]
  const [tip] = parents.filter(parent => parent !== clashing)
  const clashes = clashing && parents.includes(clashing) ? await readClashes(objects, clashing) : new Map()
  return { tip, files: await filesBetween(objects, tip, tree), clashes }
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
      if (marked && theirs) working.set(path, { oid, mark, left: marksLeft(text, mark), marked, theirs })
    }
  }
  const drafts = [...(folders.get('draft') ?? [])]
  return new Map(
    drafts.map(([path, { mode, oid }]) => {
      const known = working.get(path)
      return [path, { mode, base: oidIn('base', path), draft: oid, ...(known && { working: known }) }]
    }),
  )
}

/** What a tree has otherwise than a commit (undefined: than nothing), as drafts. */
export async function filesBetween(objects: Objects, tip: Oid | undefined, tree: Oid): Promise<Map<Path, DraftFile>> {
  const { repository } = objects
  const before = tip ?? emptyTree(repository.format)
  const files = new Map<Path, DraftFile>()
  for (const [path, , after] of changesIn(await diffTrees(repository, before, tree))) files.set(path, after)
  return files
}

/** Drafts that nothing of is only in memory any more. */
export const written = (drafts: Drafts): Drafts => ({
  ...drafts,
  files: new Map([...drafts.files].map(([path, file]) => [path, file && { mode: file.mode, oid: file.oid }])),
  clashes: new Map([...drafts.clashes].map(([path, clash]) => [path, withoutBytes(clash)])),
})

function withoutBytes({ mode, base, draft, working }: Clashing): Clashing {
  if (!working) return { mode, base, draft }
  const { bytes: _, ...rest } = working
  return { mode, base, draft, working: rest }
}
