/** The desk's commits on a branch: saves, new files, renames, deletions; and the discarding of drafts. */
import { Failure } from '../../../core/failure.ts'
import { type Objects, writeObjects } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { listFiles, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { Renamed } from '../../operations.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import { pathAfter } from '../contract/paths.ts'
import { whyFiltered } from '../reading/filters.ts'
import type { BranchWork, Deed, HeldBranch } from './branch-work.ts'
import { mergeDrafts } from './draft-merges.ts'
import {
  asChanges,
  type DraftFile,
  type Drafts,
  draftsBelow,
  entryIn,
  entryInTip,
  isEmpty,
  isSameDrafts,
  noDrafts,
  renamedFiles,
  verifyNoClash,
  withoutFiles,
} from './drafts.ts'
import { type CommitSignature, makeCommit, messageFor, type SaveStep } from './save.ts'

/** At most this many files of a renamed folder are checked for git filters (such as LFS). */
const MAX_CHECKED_FILES = 100_000

/** What is saved: some files, or all drafts. */
type Selection = readonly Path[] | 'all'

/** Commits some drafts, or all, to the branch. Returns undefined if there is nothing to commit. */
export async function save(work: BranchWork, selection: Selection, message?: string): Promise<Oid | undefined> {
  return await work.inOneGo(async (held, signature) => {
    const paths = selected(work.drafts, selection)
    const written = paths.filter(path => work.drafts.files.get(path))
    await work.room.filters.verifyNone(work.tip, written)
    const changes = asChanges(new Map(paths.map(path => [path, work.drafts.files.get(path)])))
    const after = withoutFiles(work.drafts, paths)
    const steps = await stepsOf(work, paths)
    const words = `save ${namesOf(paths)} to ${visiblePath(work.name)}`
    const commit = { kind: 'save', words, message: message?.trim() || messageFor(steps), changes, after }
    return paths.length === 0 ? undefined : await commitTo(held, commit, signature)
  })
}

/** The message that a save would have. */
export async function messageForSave(work: BranchWork, selection: Selection): Promise<string> {
  return await work.brieflyLocked(async held => {
    await held.collect()
    return messageFor(await stepsOf(work, selected(work.drafts, selection)))
  })
}

/** Commits a new empty file. */
export async function newFile(work: BranchWork, path: Path): Promise<Oid> {
  return await work.inOneGo(async (held, signature) => {
    await filesOf(work).verifyFree(path)
    await work.room.filters.verifyNone(work.tip, [path])
    const changes = new Map<Path, TreeChange>([[path, { mode: '100644', bytes: new Uint8Array() }]])
    const message = messageFor([{ path, does: 'add' }])
    const words = `add ${visiblePath(path)} to ${visiblePath(work.name)}`
    return await commitAlways(held, { kind: 'new file', words, message, changes, after: work.drafts }, signature)
  })
}

/** Commits the rename of a file or folder. Unsaved edits move with it, and stay drafts. */
export async function rename(work: BranchWork, from: Path, to: Path): Promise<Oid> {
  return await work.inOneGo(async (held, signature) => {
    const entry = await existing(work, from)
    if (entry.mode === '160000') throw new Failure(`${visiblePath(from)} is a submodule: move it by git mv.`)
    if (`${to}/`.startsWith(`${from}/`)) throw new Failure(`${visiblePath(from)} can't be moved into itself.`)
    await filesOf(work).verifyFree(to)
    verifyNoClash(work.drafts, draftsBelow(work.drafts, from))
    await verifySameFilters(work, { from, to })
    const renamed = { from, to }
    const saved = await entryInTip(work.room.objects, work.tip, from)
    const changes = new Map<Path, TreeChange>()
    if (saved) changes.set(from, undefined).set(to, saved)
    const message = `rename: ${visiblePath(from)} → ${visiblePath(to)}`
    const words = `rename ${visiblePath(from)} to ${visiblePath(to)} in ${visiblePath(work.name)}`
    const after = { ...work.drafts, files: renamedFiles(work.drafts, renamed) }
    return await commitAlways(held, { kind: 'rename', words, message, changes, after, renamed }, signature)
  })
}

/**
 * Throws a {@link Failure} if a filter (such as LFS) applies to a file under one of its names, but not under the other.
 */
async function verifySameFilters({ room, tip, drafts }: BranchWork, renamed: Renamed): Promise<void> {
  const { objects, filters } = room
  const { from } = renamed
  const entry = await entryInTip(objects, tip, from)
  const below =
    entry?.mode === '040000' ? await listFiles(objects, entry.oid, { limit: MAX_CHECKED_FILES }) : { files: [] }
  const saved = entry?.mode === '040000' ? below.files.map(({ path }) => `${from}/${path}`) : [from]
  const paths = [...new Set([...saved, ...draftsBelow(drafts, from)])]
  const [before, after] = await Promise.all([
    filters.ofMany(tip, paths),
    filters.ofMany(
      tip,
      paths.map(path => pathAfter(renamed, path)),
    ),
  ])
  // A .gitattributes file among the renamed files moves with the folder.
  const hasOwn = paths.some(path => path.endsWith('/.gitattributes'))
  for (const path of paths) {
    const other = pathAfter(renamed, path)
    const [was, will] = [before.get(path), after.get(other)]
    if (will !== undefined && will !== was) throw new Failure(whyFiltered(other, will))
    if (was !== undefined && will === undefined && !hasOwn) throw new Failure(whyFiltered(path, was))
  }
}

/** Commits the deletion of a file or folder. Undo brings its drafts back, too. */
export async function deleteFile(work: BranchWork, path: Path): Promise<Oid> {
  return await work.inOneGo(async (held, signature) => {
    const entry = await existing(work, path)
    if (entry.mode === '160000') throw new Failure(`${visiblePath(path)} is a submodule: delete it by git rm.`)
    // The operation's undo needs the drafts in the repository.
    await held.writeDrafts()
    const after = withoutFiles(work.drafts, draftsBelow(work.drafts, path))
    const message = messageFor([{ path, does: 'delete' }])
    const words = `delete ${visiblePath(path)} from ${visiblePath(work.name)}`
    const changes = new Map<Path, TreeChange>([[path, undefined]])
    return await commitAlways(held, { kind: 'delete', words, message, changes, after }, signature)
  })
}

/** Discards drafts: the files are as they were saved. The operation can be undone. */
export async function discard(work: BranchWork, paths: readonly Path[]): Promise<void> {
  await work.locked(async held => {
    work.verifyFree()
    await held.collect()
    await held.again(async () => {
      await held.writeDrafts()
      const after = withoutFiles(work.drafts, paths)
      if (isSameDrafts(after, work.drafts)) return
      const words = `discard what was typed in ${namesOf(paths)} in ${visiblePath(work.name)}`
      await held.become({ drafts: after }, { kind: 'discard', words })
    })
  })
}

/** The drafts to save. Throws if one of them can't be saved yet. */
function selected(drafts: Drafts, selection: Selection): Path[] {
  const all = selection === 'all' ? [...drafts.files.keys(), ...drafts.clashes.keys()] : selection
  verifyNoClash(drafts, all)
  return [...new Set(all)].filter(path => drafts.files.has(path)).sort()
}

export async function stepsOf({ tip, drafts, room }: BranchWork, paths: readonly Path[]): Promise<SaveStep[]> {
  const before = await Promise.all(paths.map(path => entryInTip(room.objects, tip, path)))
  return paths.map((path, at) => {
    if (!drafts.files.get(path)) return { path, does: 'delete' }
    return { path, does: before[at] ? 'edit' : 'add' }
  })
}

const filesOf = ({ room, tip, drafts }: BranchWork): WorkInProgressVfs =>
  new WorkInProgressVfs(room.objects, tip, asChanges(drafts.files))

/** A file or folder that exists in the last commit or as a draft; throws if it does not. */
async function existing({ room, drafts, name }: BranchWork, path: Path): Promise<NonNullable<Entry>> {
  const entry = await entryIn(room.objects, drafts, path)
  if (entry) return entry
  if (draftsBelow(drafts, path).size > 0) return { mode: '040000', oid: '' }
  throw new Failure(`There is no ${visiblePath(path)} in ${visiblePath(name)}.`)
}

const namesOf = (paths: readonly Path[]): string =>
  paths.length <= 2 ? paths.map(visiblePath).join(' and ') : many(paths.length, 'file')

// --- Every commit ---

type NewCommit = {
  kind: string
  words: string
  message: string
  changes: ReadonlyMap<Path, TreeChange>
  /** The drafts that remain unsaved, still based on the branch's commit before this one. */
  after: Drafts
  /** Whether the commit may change files that have drafts: the drafts are then merged onto the commit. */
  mayMeetDrafts?: boolean
  renamed?: Renamed
} & Pick<Deed, 'also' | 'unrecorded'>

async function commitAlways(held: HeldBranch, commit: NewCommit, signature: Promise<CommitSignature>): Promise<Oid> {
  const made = (await commitTo(held, commit, signature)) ?? held.work.tip
  if (made === undefined) throw new Failure('There is nothing to commit.')
  return made
}

/**
 * The edits typed since a commit was begun (it may have waited for its signature), as drafts on that commit. A file
 * that was edited back to its text before the commit is a draft, too.
 */
async function typedSince({ room, drafts }: BranchWork, begun: Drafts, renamed: Renamed | undefined) {
  const typed = new Map<Path, DraftFile>()
  for (const path of new Set([...begun.files.keys(), ...drafts.files.keys()])) {
    const [before, now] = await Promise.all([begun, drafts].map(them => fileIn(room.objects, them, path)))
    if (before?.oid === now?.oid && before?.mode === now?.mode) continue
    typed.set(renamed ? pathAfter(renamed, path) : path, now)
  }
  return typed
}

const fileIn = async (objects: Objects, { tip, files }: Drafts, path: Path): Promise<DraftFile> =>
  files.has(path) ? files.get(path) : await entryInTip(objects, tip, path)

/**
 * Makes a commit on the tip and moves the branch to it. The drafts and the operation are written in the same
 * transaction. Returns undefined if the commit would change nothing.
 */
export async function commitTo(
  held: HeldBranch,
  { message, changes, after, mayMeetDrafts = false, renamed, ...deed }: NewCommit,
  signature: Promise<CommitSignature>,
): Promise<Oid | undefined> {
  const { work } = held
  const { objects, maintenance, say } = work.room
  const { tip, name, drafts: begun } = work
  const tree = await makeTree(objects, tip, changes)
  const before = tip === undefined ? undefined : (await objects.info(`${tip}^{tree}`))?.oid
  if (tree.oid === before) {
    await held.becomeSoon(after, renamed)
    return undefined
  }
  const parents = tip === undefined ? [] : [tip]
  const who = await signature
  const make = () => makeCommit(objects.repository, who, { tree, parents, message })
  const commit = who.sign ? await held.unlocked(make) : await make()
  const typed = await typedSince(work, begun, renamed)
  const left = { ...after, files: new Map([...after.files, ...typed]) }
  const meets = mayMeetDrafts && !isEmpty(left)
  if (meets) await writeObjects(objects.repository, commit.made)
  const drafts = meets
    ? await mergeDrafts(objects, noDrafts(tip), left, noDrafts(commit.oid))
    : { ...left, tip: commit.oid }
  const base = meets ? undefined : { base: tip, changes }
  await held.become({ head: commit.oid, drafts, renamed, ...(base && { base }) }, { ...deed, made: commit.made })
  say({ say: 'saved', branch: name, commit: commit.oid, drafts: work.draftPaths })
  maintenance.afterCommit()
  return commit.oid
}
