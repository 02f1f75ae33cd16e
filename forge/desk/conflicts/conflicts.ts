/**
 * The conflicts of a merge as rows to show, and the merge's tree: with conflict markers in text, and with what git left
 * for other content.
 */
import { Failure } from '../../../core/failure.ts'
import {
  endsInConflict,
  markLength,
  marksLeft,
  mergeWithMarks,
  USUAL_MARK_LENGTH,
  withSide,
} from '../../../core/git/conflict-marks.ts'
import {
  isFileOrFolder,
  isPutAside,
  type MergeConflict,
  type MergedTree,
  type Stage,
} from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { writeBlob } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { entryAt, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { many, sizeInWords, visiblePath } from '../../../core/text.ts'
import { type ConflictRow, type MergingKind, namesIn, type StoredMerging } from '../branches/merging-commits.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import type { ConflictFile } from '../contract/merging.ts'
import { textBytes } from '../reading/file-content.ts'
import { decodeText, guess, isPointer, isUtf16 } from '../reading/text.ts'
import { readImage } from '../server/images.ts'

/** Conflicting paths that are resolved together, and git's names for the conflict. */
export type Group = { path: Path; paths: Path[]; original: Path | undefined; stages: Stage[]; git: Set<string> }

/** At most this many texts are merged in parallel. */
const MAX_CONCURRENT_MERGES = 4
/**
 * Matches the name of a file that git has put aside (renamed, since another thing has its path): the path, the side it
 * is from, and a number if that name is taken.
 */
const ASIDE = /^(.*)~([0-9a-f]{40}|[0-9a-f]{64})(_\d+)?$/s

/**
 * Whether git reported only that a file was in the way of a folder. Git may have resolved that itself: it is a conflict
 * only if the index has stages of it.
 */
const onlyInTheWay = (conflict: MergeConflict): boolean => isFileOrFolder(conflict)

export const isClean = ({ stages, conflicts }: Pick<MergedTree, 'stages' | 'conflicts'>): boolean =>
  stages.length === 0 && conflicts.every(onlyInTheWay)

/** The conflicts of a merge, grouped by the paths that belong together. */
export function groupsOf({ stages, conflicts }: Pick<MergedTree, 'stages' | 'conflicts'>): Group[] {
  const byPath = Map.groupBy(stages, ({ path }) => path)
  const groups = new Map<Path, Group>()
  const groupOf = (path: Path): Group => {
    const known = groups.get(path)
    if (known) return known
    const group = { path, paths: [path], original: undefined, stages: byPath.get(path) ?? [], git: new Set<string>() }
    groups.set(path, group)
    return group
  }
  for (const path of byPath.keys()) groupOf(path)
  for (const { kind, paths } of conflicts) {
    const known = paths.filter(path => groups.has(path))
    if (known.length === 0 && paths[0] !== undefined && !onlyInTheWay({ kind, paths })) known.push(paths[0])
    const members = known.map(groupOf)
    for (const group of members) group.git.add(kind)
    if (isOne(kind, members)) join(groups, members)
  }
  return [...new Set(groups.values())].map(withOriginal)
}

/**
 * Whether a conflict that git reports for several paths is one to the user: a file that the sides renamed to two names,
 * or a file on one side and a link on the other at the same path, one of which git put at another name.
 */
function isOne(kind: string, members: readonly Group[]): boolean {
  if (members.length < 2) return false
  return kind === 'distinct modes' || (kind === 'rename/rename' && members.every(({ stages }) => stages.length === 1))
}

function join(groups: Map<Path, Group>, members: readonly Group[]): void {
  const all = [...new Set(members)]
  const stages = all.flatMap(group => group.stages)
  // The united group gets the name of its file on our side, if it has one there.
  const { path = '' } = stages.find(({ stage }) => stage === 2) ?? stages[0] ?? {}
  const paths = [...new Set(all.flatMap(group => group.paths))]
  const git = new Set(all.flatMap(group => [...group.git]))
  const one: Group = { path, paths, original: undefined, stages, git }
  for (const member of paths) groups.set(member, one)
}

function withOriginal(group: Group): Group {
  const aside = [...group.git].some(kind => isPutAside({ kind })) && group.paths.find(path => /~[^/]*$/.test(path))
  const original = aside ? aside.replace(/~[^/]*$/, '') : undefined
  return { ...group, original }
}

/**
 * Renames files that git has put aside (renamed, since another thing has their path): their names get the names of the
 * sides, as in a checkout, instead of commit ids.
 */
export async function withPlainNames(objects: Objects, merge: MergedTree, theirs: string): Promise<MergedTree> {
  const aside = [...new Set(merge.conflicts.filter(isPutAside).flatMap(({ paths }) => paths))]
  const names = new Map<Path, Path>()
  const changes = new Map<Path, TreeChange>()
  for (const path of aside) {
    const [, original = '', , number = ''] = ASIDE.exec(path) ?? []
    const stage = merge.stages.find(it => it.path === path && it.stage !== 1)?.stage
    if (original === '' || stage === undefined) continue
    // The label becomes part of a file name, so it must be valid on all systems.
    const label = stage === 2 ? 'HEAD' : theirs.replace(/[^\w.@+\x80-\xff-]/g, '_').slice(0, 80)
    const plain = `${original}~${label}${number}`
    const isTaken = [...names.values()].includes(plain) || (await entryAt(objects, merge.tree, plain)) !== undefined
    const entry = await entryAt(objects, merge.tree, path)
    if (isTaken || !entry) continue
    if (entry.mode === '000000')
      throw new Failure(
        `Git itself fails at this merge (it puts nothing at ${visiblePath(plain)}): rename one of the folders first, on a side of its own.`,
      )
    names.set(path, plain)
    changes.set(path, undefined).set(plain, entry)
  }
  if (names.size === 0) return merge
  const named = (path: Path): Path => names.get(path) ?? path
  const stages = merge.stages.map(stage => ({ ...stage, path: named(stage.path) }))
  const conflicts = merge.conflicts.map(({ kind, paths }): MergeConflict => ({ kind, paths: paths.map(named) }))
  return { tree: await writeTree(objects, merge.tree, changes), stages, conflicts }
}

/** The order of the conflicts of a merge. */
export const byPath = (one: { path: Path }, other: { path: Path }): number => (one.path < other.path ? -1 : 1)

/** The two merged trees, and their names on the screen. */
export type MergedTrees = { ours: Oid; theirs: Oid; words: { ours: string; theirs: string } }

/** The conflicts of a merge as rows, and its tree with all markers. */
export async function conflictRows(
  objects: Objects,
  merge: MergedTree,
  ends: MergedTrees,
): Promise<{ rows: ConflictRow[]; tree: Oid }> {
  const groups = groupsOf(merge).sort(byPath)
  const rows: ConflictRow[] = []
  const changes = new Map<Path, TreeChange>()
  for (let at = 0; at < groups.length; at += MAX_CONCURRENT_MERGES) {
    const some = await Promise.all(
      groups.slice(at, at + MAX_CONCURRENT_MERGES).map(group => rowOf(objects, merge, group, ends)),
    )
    for (const { row, puts } of some) {
      rows.push(row)
      for (const [path, change] of puts) changes.set(path, change)
    }
  }
  const tree = changes.size === 0 ? merge.tree : await writeTree(objects, merge.tree, changes)
  return { rows, tree }
}

/** The kind of a conflict, without writing markers: enough for a preview. */
export async function kindOf(
  objects: Objects,
  merge: MergedTree,
  group: Group,
  ends: MergedTrees,
): Promise<MergingKind> {
  const kind = plainKindOf(group)
  if (kind !== 'text') return kind
  return (await textSides(objects, merge, group, ends)) ? 'text' : 'binary'
}

type About = { kind: MergingKind; stages: readonly Stage[]; original?: Path | undefined }

/** The names of the two sides, and what meets the conflict; not given for drafts. */
interface Sides {
  ours: string
  theirs: string
  does?: StoredMerging['does']
}

/**
 * Describes a conflict with the names of the two sides. It begins with no name: the page shows the first letter as a
 * capital.
 */
export function wordsFor({ kind, stages, original }: About, sides: Sides): string {
  const [ours, theirs] = [visiblePath(sides.ours), visiblePath(sides.theirs)]
  const has = (number: number) => stages.find(({ stage }) => stage === number)
  const [gone, there] = has(2) ? [theirs, ours] : [ours, theirs]
  // A commit that is applied elsewhere brings its own base: the branch may never have had the file.
  const isApplied = sides.does !== undefined && sides.does !== 'merge' && sides.does !== 'land'
  const lacks = isApplied && !has(2) ? 'not' : 'deleted'
  const named = (number: number) => visiblePath(has(number)?.path ?? '')
  switch (kind) {
    case 'text':
      return has(1) ? 'both changed the same lines' : 'both added it, each with other lines'
    case 'binary':
      return `both ${has(1) ? 'changed' : 'added'} it, and it can’t be merged as text here`
    case 'modify/delete':
      return `${lacks} in ${gone}, changed in ${there}`
    case 'rename/delete':
      return `${lacks} in ${gone}, renamed in ${there}`
    case 'rename/rename':
      return `the file ${named(1)} is ${named(2)} in ${ours}, and ${named(3)} in ${theirs}`
    case 'file/folder':
      return `the path ${visiblePath(original ?? '')} is a file in ${there}, and a folder in ${gone}: the file stands beside it`
    case 'file/link':
      return `a ${thing(has(2)?.mode)} in ${ours}, and a ${thing(has(3)?.mode)} in ${theirs}: git keeps both, under two names`
    case 'mode':
      return `the same file, ${modeWords(has(2)?.mode)} in ${ours}, ${modeWords(has(3)?.mode)} in ${theirs}`
    case 'symlink':
      return 'a link that leads elsewhere on each side'
    case 'submodule':
      return 'a submodule that is at another commit on each side'
    case 'folder rename':
      return 'added in a folder that the other side has renamed: git has put it into the renamed one'
    case 'other':
      return 'git could not tell what becomes of it'
  }
}

/** What an entry of this mode is, in a word. */
export const thing = (mode: string | undefined): string =>
  mode === '120000' ? 'link' : mode === '160000' ? 'submodule' : mode === '040000' ? 'folder' : 'file'
const modeWords = (mode: string | undefined): string => (mode === '100755' ? 'executable' : 'not executable')

async function rowOf(objects: Objects, merge: MergedTree, group: Group, ends: MergedTrees) {
  const { path, paths, original } = group
  const kind = plainKindOf(group)
  const puts = new Map<Path, TreeChange>()
  const isRead = kind === 'text' || kind === 'rename/rename' || kind === 'file/folder'
  const sides = isRead ? await textSides(objects, merge, group, ends) : undefined
  const own = kind === 'rename/rename' && !sides ? await ownVersions(objects, group, ends) : undefined
  for (const { path: at, mode, oid } of own ?? []) puts.set(at, { mode, oid })
  const stages = own ? [...group.stages.filter(({ stage }) => stage === 1), ...own] : group.stages
  const names = namesIn({ kind, stages })
  // Git puts the merged text under both names. It stays under ours, until a name is chosen: it is edited once.
  if (names) puts.set(names.theirs, undefined)
  const plain = { path, paths, stages, ...(original !== undefined && { original }) }
  if (!sides) {
    const settled = kind === 'text' ? 'binary' : kind
    await putOurs(objects, merge, group, settled, puts)
    return { row: { ...plain, kind: settled, all: 1 } satisfies ConflictRow, puts }
  }
  const mark = markLength([sides.base, sides.ours, sides.theirs])
  const bytes = await mergeWithMarks(objects.repository, sides, ends.words, mark)
  const all = marksLeft(bytes.toString('latin1'), mark)
  // Where git has merged the texts without conflict, its result stays: only the name or the place is to be chosen.
  if (kind !== 'text' && all === 0) return { row: { ...plain, kind, all: 1 } satisfies ConflictRow, puts }
  const oid = await writeBlob(objects.repository, bytes)
  for (const it of kind === 'text' || names ? [path] : paths) {
    const there = await entryAt(objects, merge.tree, it)
    if (there) puts.set(it, { mode: there.mode, oid })
  }
  const row: ConflictRow = { ...plain, kind, mark, all: kind === 'text' ? all : all + 1 }
  return { row, puts }
}

/**
 * The versions of the sides of a file that both renamed, if it can't be edited here and git has left conflict markers
 * in it: a whole version is to be chosen then, as of a file that git can't merge. Undefined if git has merged it.
 */
async function ownVersions(objects: Objects, { stages }: Group, ends: MergedTrees): Promise<Stage[] | undefined> {
  const [ours, theirs] = [2, 3].map(number => stages.find(({ stage }) => stage === number))
  if (!ours || !theirs) return undefined
  const [one, other] = await Promise.all([
    entryAt(objects, ends.ours, ours.path),
    entryAt(objects, ends.theirs, theirs.path),
  ])
  if (!one || !other) return undefined
  const [merged = 0, ...before] = await Promise.all([ours, one, other].map(({ oid }) => marksOfGit(objects, oid)))
  if (merged <= Math.max(...before)) return undefined
  return [
    { ...ours, ...one },
    { ...theirs, ...other },
  ]
}

/** The number of git's conflict markers of one kind in a file that both sides renamed: they are longer by one there. */
async function marksOfGit(objects: Objects, oid: Oid): Promise<number> {
  return marksLeft((await objects.read(oid))?.bytes?.toString('latin1') ?? '', USUAL_MARK_LENGTH + 1)
}

/** Puts our side in place of a text that can't be edited here, as git does with files that it can't merge. */
async function putOurs(
  objects: Objects,
  merge: MergedTree,
  { path, stages }: Group,
  kind: MergingKind,
  puts: Map<Path, TreeChange>,
): Promise<void> {
  const ours = stages.find(({ stage }) => stage === 2)
  if (kind !== 'binary' || !ours) return
  const there = await entryAt(objects, merge.tree, path)
  if (there && there.oid !== ours.oid) puts.set(path, { mode: there.mode, oid: ours.oid })
}

const isFile = (mode: string | undefined): boolean => mode === '100644' || mode === '100755'

/** The kind of a conflict by git's message and the modes; `text` if it may be text, since no content was read. */
function plainKindOf({ stages, git, paths }: Group): MergingKind {
  const modes = [2, 3].map(number => stages.find(({ stage }) => stage === number)?.mode)
  const [ours, theirs] = modes
  if (git.has('distinct modes')) return 'file/link'
  if (git.has('file/directory')) return 'file/folder'
  if (git.has('rename/rename') && paths.length > 1) return 'rename/rename'
  // Where both sides have a file at the path, the deleted one was at another path: both added this one.
  const isOnBoth = isFile(ours) && isFile(theirs)
  if (git.has('rename/delete') && !isOnBoth) return 'rename/delete'
  if (git.has('modify/delete') && !isOnBoth) return 'modify/delete'
  if (modes.includes('160000')) return 'submodule'
  if (ours === '120000' || theirs === '120000') return 'symlink'
  if (git.has('binary')) return 'binary'
  if (isOnBoth) {
    const [one, other] = [2, 3].map(number => stages.find(({ stage }) => stage === number)?.oid)
    return one === other ? 'mode' : 'text'
  }
  return git.has('file location') || git.has('directory rename suggested') ? 'folder rename' : 'other'
}

/** The three texts of a conflict; undefined if one of them is not editable text. */
async function textSides(objects: Objects, merge: MergedTree, { stages, git }: Group, ends: MergedTrees) {
  if (git.has('binary')) return undefined
  const [from, one, other] = [1, 2, 3].map(number => stages.find(({ stage }) => stage === number))
  if (!one || !other) return undefined
  // In a file renamed to two names, the stages contain git's conflict markers: the sides are read from their commits.
  const isTwice = one.path !== other.path
  const ours = isTwice ? await entryAt(objects, ends.ours, one.path) : one
  const theirs = isTwice ? await entryAt(objects, ends.theirs, other.path) : other
  const there = await entryAt(objects, merge.tree, one.path)
  if (!there || !isFile(there.mode)) return undefined
  const [base, left, right] = await Promise.all([from, ours, theirs].map(entry => textBytes(objects, entry)))
  if ((from && isFile(from.mode) && !base) || !left || !right) return undefined
  return { base, ours: left, theirs: right }
}

/** A file as one side of a conflict: its text if editable, else a description. */
export async function sideOf(objects: Objects, entry: Entry): Promise<ConflictFile['ours']> {
  if (!entry) return { is: 'nothing' }
  const { mode, oid } = entry
  const text = await textBytes(objects, entry)
  if (text) return { is: 'text', text: decodeText(text)?.text ?? '', mode }
  if (mode === '160000') return { is: 'other', words: `a submodule, at its commit ${oid.slice(0, 12)}`, mode, oid }
  const object = await objects.read(oid, { limit: MAX_EDITABLE_BYTES })
  if (mode === '120000')
    return { is: 'other', words: `a link to ${visiblePath(object?.bytes?.toString('latin1') ?? '')}`, mode, oid }
  const image = await readImage(objects, oid)
  const size = object?.size ?? 0
  if (image)
    return { is: 'other', words: `an image of ${many(size, 'byte')}`, mode, oid, image: { type: image.type, size } }
  return { is: 'other', words: wordsOfOther(object?.bytes, size), mode, oid }
}

/** What a file is that is not edited here. `bytes`: its content, unless that is too large. */
function wordsOfOther(bytes: Buffer | undefined, size: number): string {
  if (!bytes) return `a file of ${sizeInWords(size)}: more than can be edited here`
  if (isPointer(bytes)) return 'a pointer of Git LFS'
  if (isUtf16(bytes)) return `a text of ${sizeInWords(size)} in UTF-16, which is not edited here`
  const guessed = bytes.includes(0) ? undefined : guess(bytes)
  if (guessed) return `a text of ${sizeInWords(size)} in ${guessed.encoding}, which is not edited here`
  return `a binary file of ${sizeInWords(size)}`
}

/** What is resolved where one side is taken for all open conflicts of some texts, for notices and operations. */
export function wordsOfResolved(paths: readonly Path[], side: 'ours' | 'theirs'): string {
  const [first = ''] = paths
  const what = paths.length === 1 ? visiblePath(first) : many(paths.length, 'file')
  return `the conflicts left in ${what} by ${side}`
}

/**
 * A text with one side of each open conflict instead of its markers; undefined if these do not belong together. `own`:
 * the text of the whole file on that side.
 */
export function textBySide(
  marked: string,
  mark: number,
  side: 'ours' | 'theirs',
  own: Uint8Array | undefined,
): string | undefined {
  const text = withSide(marked, mark, side)
  // A marker needs a line of its own: at the end of a file, git adds a line end that the side's own text may not have.
  const isCut = own !== undefined && own.length > 0 && own.at(-1) !== LINE_FEED && endsInConflict(marked, mark)
  return isCut ? text?.replace(/\r?\n$/, '') : text
}

const LINE_FEED = 10
