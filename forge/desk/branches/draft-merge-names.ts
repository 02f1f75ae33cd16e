/** One name for each file in a merge of drafts, where a side has renamed it. */
import { renamedFiles } from '../../../core/git/diffs.ts'
import { isFileOrFolder, type MergeConflict } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { entriesAt, isFolder } from '../../../core/git/trees.ts'
import type { Renamed } from '../../operations.ts'
import { foldersAbove, isIn, nameBeforeAside, pathAfter } from '../contract/paths.ts'
import { originsIn } from './draft-renames.ts'
import { type Drafts, entryInTip, entryOf, writeDraftTree } from './drafts.ts'
import type { Merging } from './merged-line-ends.ts'
import { entryBeside } from './other-versions.ts'

/** A merge whose start and our drafts have their clashes under the names that theirs give the files in their commit. */
export async function withNewNames(objects: Objects, merging: Merging): Promise<Merging> {
  const { start, ours, theirs } = merging
  const { tip } = theirs
  const paths = [...ours.clashes.keys()]
  if (start.tip === undefined || tip === undefined || start.tip === tip || paths.length === 0) return merging
  const there = await Promise.all(paths.map(path => entryInTip(objects, tip, path)))
  if (!there.includes(undefined)) return merging
  const names = await renamedFiles(objects.repository, start.tip, tip)
  const renamed = ({ clashes }: Drafts) => new Map([...clashes].map(([path, it]) => [names.get(path) ?? path, it]))
  return { start: { ...start, clashes: renamed(start) }, ours: { ...ours, clashes: renamed(ours) }, theirs }
}

type WithOurNames = { start: Drafts; theirs: Drafts; renames: Renamed[] }

/**
 * The start and the other side with some files under the names that our drafts give them, so that these files are
 * merged with each other: those that both sides rename, where our name counts, and those of which so little is left
 * that git does not see our rename. `renames`: what the drafts have to record of that. `trees`: those of the start and
 * of our drafts.
 */
export async function withOurNames(
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

/** The name of a draft that is in the way of a folder: that which git gives it, with a word instead of an id. */
export const plainName = (path: Path): Path => path.replace(ASIDE, '~draft$1')

/**
 * The files of theirs that git has moved aside in a merge, since our drafts have a folder of that name, with the names
 * that it gave them. `conflicts`: those of the merge.
 */
export async function filesMovedAside(
  objects: Objects,
  theirs: Drafts,
  conflicts: readonly MergeConflict[],
): Promise<Map<Path, Path>> {
  const moved = new Map<Path, Path>()
  for (const { paths } of conflicts.filter(isFileOrFolder)) {
    const aside = paths.find(path => plainName(path) !== path)
    const path = aside?.replace(ASIDE, '')
    if (aside !== undefined && path !== undefined && isFile(await entryBeside(objects, theirs, path)))
      moved.set(path, aside)
  }
  return moved
}

/**
 * Drafts whose folders are not in the place of a file of theirs: a file in such a folder would delete theirs when it is
 * saved. The folder gets another name, as git gives the file in the opposite case.
 */
export async function withFoldersAside(objects: Objects, theirs: Drafts, drafts: Drafts): Promise<Drafts> {
  const paths = [...drafts.clashes.keys(), ...[...drafts.files].flatMap(([path, file]) => (file ? [path] : []))]
  const folders = [...new Set(paths.flatMap(foldersAbove))].sort()
  const saved = theirs.tip === undefined ? [] : await entriesAt(objects, theirs.tip, folders)
  const moves: Renamed[] = []
  for (const [at, from] of folders.entries()) {
    const isDeleted = drafts.files.has(from) && !drafts.files.get(from)
    const there = theirs.files.has(from) ? entryOf(theirs.files.get(from)) : saved[at]
    if (isDeleted || !isFile(there) || moves.some(it => isIn(from, it.from))) continue
    moves.push({ from, to: await freeName(objects, theirs, paths, `${from}~draft`) })
  }
  if (moves.length === 0) return drafts
  const moved = (path: Path) => moves.reduce((at, move) => (at === move.from ? at : pathAfter(move, at)), path)
  const all = <Value>(map: ReadonlyMap<Path, Value>) => new Map([...map].map(([path, it]) => [moved(path), it]))
  const renames = drafts.renames.map(({ from, to }) => ({ from, to: moved(to) }))
  return { ...drafts, files: all(drafts.files), clashes: all(drafts.clashes), renames }
}

/**
 * A merge whose start and our drafts have those under their own names again that were put aside, where what was in
 * their places is gone from the other side, as by the undo of what brought it.
 */
export async function withNamesBack(objects: Objects, { start, ours, theirs }: Merging): Promise<Merging> {
  const back = new Map<Path, Path>()
  for (const aside of [...ours.files.keys(), ...ours.clashes.keys()]) {
    const path = nameBeforeAside(aside)
    const isDraft = ours.files.has(path) || ours.clashes.has(path) || [...back.values()].includes(path)
    if (path === aside || isDraft) continue
    if (!(await isTaken(objects, start, path)) || (await isTaken(objects, theirs, path))) continue
    // Only a draft that was made from the file is merged with it: a text of its own would be put together with that.
    const isOfFile = ours.clashes.get(aside)?.base !== undefined && !ours.files.has(aside)
    if (isOfFile || !(await entryBeside(objects, theirs, path))) back.set(aside, path)
  }
  if (back.size === 0) return { start, ours, theirs }
  const named = <Value>(all: ReadonlyMap<Path, Value>) => new Map([...all].map(([at, it]) => [back.get(at) ?? at, it]))
  const renamed = (drafts: Drafts) => ({ ...drafts, files: named(drafts.files), clashes: named(drafts.clashes) })
  return { start: renamed(start), ours: renamed(ours), theirs }
}

/** Whether there is something else in the place of a file: a folder or a link, or a file instead of its folder. */
async function isTaken(objects: Objects, drafts: Drafts, path: Path): Promise<boolean> {
  const there = await entryBeside(objects, drafts, path)
  if (there && there.mode !== '100644' && there.mode !== '100755') return true
  for (const folder of foldersAbove(path)) if (isFile(await entryBeside(objects, drafts, folder))) return true
  return false
}

const isFile = (entry: Entry): boolean => entry !== undefined && !isFolder(entry)

/** A name that neither a file or folder of theirs has, nor a folder of drafts with these paths. */
async function freeName(objects: Objects, theirs: Drafts, drafts: readonly Path[], name: Path): Promise<Path> {
  for (let number = 0; ; number++) {
    const at = number === 0 ? name : `${name}_${number - 1}`
    if (!drafts.some(path => isIn(path, at)) && !(await entryBeside(objects, theirs, at))) return at
  }
}
