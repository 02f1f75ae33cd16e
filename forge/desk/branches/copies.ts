/**
 * Copies of files and folders as drafts, from the same branch, another one or a commit. They are made by object id:
 * modes and bytes stay as they are, whatever a file contains.
 */
import { Failure } from '../../../core/failure.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { Renamed } from '../../operations.ts'
import { type Vfs, verifyPath, WorkInProgressVfs } from '../../vfs.ts'
import { isIn, nameOfCopy, pathAfter } from '../contract/paths.ts'
import type { At } from '../contract/values.ts'
import type { BranchWork } from './branch-work.ts'
import { filesIn, MAX_FILES, withCopies } from './draft-files.ts'
import { type DraftFile, draftsBelow, verifyNoClash } from './drafts.ts'
import { COPY, change, folderInWords, namesOf, verifyFilters } from './file-operations.ts'
import type { OpenBranches } from './open-branches.ts'
import { commitNamed, isSamePlace, vfsAt } from './places.ts'

type Copies = {
  /** Where the files are copied from. */
  at: At
  copies: readonly Renamed[]
  /** Whether a copy whose name is taken gets another one. Without it, nothing is copied then. */
  findsNames: boolean
}

/** A file or folder that is copied: the files in it by their old paths. */
type Source = Renamed & { isFolder: boolean; files: ReadonlyMap<Path, NonNullable<DraftFile>> }

/** Copies files and folders into a branch as drafts, with what is typed in them now. Returns their new paths. */
export async function copyFiles(branches: OpenBranches, work: BranchWork, wanted: Copies): Promise<Path[]> {
  const { at } = wanted
  if (isSamePlace(at, { kind: 'branch', branch: work.name })) for (const copy of wanted.copies) verifyOutside(copy)
  const source = await sourceOf(branches, at, wanted.copies)
  const copies = wanted.findsNames ? await withFreeNames(work, source.copies) : source.copies
  const what = namesOf(copies.map(({ from }) => from))
  const words = `copy ${what} to ${targetInWords(copies)} in ${visiblePath(work.name)}`
  await change(work, { kind: COPY, words }, async drafts => {
    const { room } = work
    const { objects } = room
    let after = drafts
    for (const copy of copies) {
      await filesIn(objects, after).verifyFree(copy.to)
      verifyNoClash(after, draftsBelow(after, copy.to))
      const files = new Map([...copy.files].map(([path, file]) => [pathAfter(copy, path), file]))
      for (const path of files.keys()) verifyPath(path)
      const pairs = [...copy.files.keys()].map(path => ({ from: path, to: pathAfter(copy, path) }))
      await verifyFilters(room, pairs, { from: source.tip, to: drafts.tip })
      // With any other content, the copy could not be saved.
      await room.filters.verifyContents(drafts.tip, files)
      after = await withCopies(objects, after, copy.to, files)
    }
    return after
  })
  return copies.map(({ to }) => to)
}

function verifyOutside({ from, to }: Renamed): void {
  if (to !== from && isIn(to, from)) throw new Failure(`${visiblePath(from)} can't be copied into itself.`)
}

const targetInWords = (copies: readonly Renamed[]): string => {
  const [first] = copies
  return copies.length === 1 && first ? visiblePath(first.to) : folderInWords(copies)
}

/** The files and folders to copy as they are now, and the commit that they, or the drafts of them, are on. */
async function sourceOf(
  branches: OpenBranches,
  at: At,
  copies: readonly Renamed[],
): Promise<{ copies: Source[]; tip: Oid | undefined }> {
  const work = at.kind === 'branch' ? await branches.work(at.branch) : undefined
  const vfs = await vfsAt(branches, at)
  if (work) for (const { from } of copies) verifyNoClash(work.drafts, draftsBelow(work.drafts, from))
  const tip = at.kind === 'commit' ? await commitNamed(branches.room.objects, at.commit) : work?.tip
  const sources: Source[] = []
  for (const copy of copies) sources.push({ ...copy, ...(await filesAt(vfs, at, copy.from)) })
  return { copies: sources, tip }
}

async function filesAt(vfs: Vfs, at: At, path: Path): Promise<Pick<Source, 'isFolder' | 'files'>> {
  const entry = await vfs.entryAt(path)
  const found = entry ? [{ path, ...entry }] : await vfs.listFiles(path)
  if (found.length === 0) throw new Failure(`There is no ${visiblePath(path)} in ${nameOf(at)} any more.`)
  if (found.length > MAX_FILES)
    throw new Failure(
      `${visiblePath(path)} has more than ${many(MAX_FILES, 'file')}: copy it by git, or a part of it at a time.`,
    )
  const submodule = found.find(({ mode }) => mode === '160000')
  if (submodule)
    throw new Failure(`${visiblePath(submodule.path)} is a submodule: add another one by git submodule add.`)
  const unwritten = vfs instanceof WorkInProgressVfs ? vfs.changes : undefined
  const files = found.map(({ path, mode, oid }) => {
    const change = unwritten?.get(path)
    // The content of a draft is in memory until it is written.
    return [path, { mode, oid, ...(change && 'bytes' in change && { bytes: Buffer.from(change.bytes) }) }] as const
  })
  return { isFolder: entry === undefined, files: new Map(files) }
}

const nameOf = (at: At): string =>
  at.kind === 'branch' ? visiblePath(at.branch) : `the commit ${at.commit.slice(0, 8)}`

/** The copies under names that no file or folder of the branch has, nor another one of them. */
async function withFreeNames(work: BranchWork, copies: readonly Source[]): Promise<Source[]> {
  const vfs = await work.vfs()
  const taken = new Set<Path>()
  const named: Source[] = []
  for (const copy of copies) {
    const slash = copy.to.lastIndexOf('/') + 1
    const folder = copy.to.slice(0, slash)
    let name = copy.to.slice(slash)
    while (taken.has(folder + name) || (await vfs.isTaken(folder + name))) name = nameOfCopy(name, copy.isFolder)
    taken.add(folder + name)
    named.push({ ...copy, to: folder + name })
  }
  return named
}
