/** The files of a branch with its drafts, or of a commit. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { isOid, type Oid, type Path } from '../../../core/git/repository.ts'
import { treeWithUntracked } from '../../../core/git/stash.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { CommitVfs, type Vfs } from '../../vfs.ts'
import type { File } from '../contract/branches.ts'
import type { At } from '../contract/values.ts'
import { showFile } from '../reading/file-content.ts'
import type { DraftRenames } from '../reading/folders.ts'
import type { MarkLengths } from '../reading/shown-lines.ts'
import type { BranchWork } from './branch-work.ts'
import { originsIn, renamesFor } from './draft-renames.ts'
import { readMerging } from './merging-commits.ts'
import type { OpenBranches } from './open-branches.ts'

const NEVER_CHANGES = 'A commit never changes: create a branch from it to edit its files.'

/** The current files of a branch with its drafts, or those of a commit; of a stash, also the untracked ones. */
export async function vfsAt(branches: OpenBranches, at: At): Promise<Vfs> {
  if (at.kind === 'branch') return await (await branches.work(at.branch)).vfs()
  const { objects } = branches.room
  const commit = await commitNamed(objects, at.commit)
  return new CommitVfs(objects, commit, await treeWithUntracked(objects, commit))
}

/** The renames that the shown files of a branch include: its drafts, or those of an AI's turn. */
export async function renamesIn(branches: OpenBranches, branch: string): Promise<DraftRenames> {
  const { shown } = await branches.work(branch)
  const origins = originsIn(shown)
  const records = [...renamesFor(shown, origins).values()]
  return { origins, folders: new Map(records.map(({ from, to }) => [to, from])) }
}

/** The lengths of conflict markers in the files of a place that can have them: of a waiting merge, and of drafts. */
export async function marksAt(branches: OpenBranches, at: At): Promise<MarkLengths> {
  return at.kind === 'branch' ? await marksOf(await branches.work(at.branch)) : new Map()
}

/** The lengths of conflict markers in the files of a branch: see {@link marksAt}. */
export async function marksOf({ room, merging, drafts }: BranchWork): Promise<MarkLengths> {
  const waiting = merging === undefined ? undefined : await readMerging(room.objects, merging)
  const rows = waiting?.rows ?? []
  const ofMerge = rows.flatMap(({ paths, mark }) =>
    mark === undefined ? [] : paths.map(path => [path, mark] as const),
  )
  const ofDrafts = [...drafts.clashes].flatMap(([path, { working }]) =>
    working ? [[path, working.mark] as const] : [],
  )
  return new Map([...ofMerge, ...ofDrafts])
}

/** Opens a file and returns what it shows. News about it is sent until it is closed as often as it was opened. */
export async function openFile(branches: OpenBranches, at: At, path: Path): Promise<File> {
  if (at.kind === 'branch') return await (await branches.work(at.branch)).open(path)
  const { objects } = branches.room
  const tree = await treeWithUntracked(objects, await commitNamed(objects, at.commit))
  const entry = await entryAt(objects, tree, path)
  if (!entry) return { kind: 'nothing' }
  return await showFile(objects, path, entry, undefined, NEVER_CHANGES)
}

export async function closeFile(branches: OpenBranches, at: At, path: Path): Promise<void> {
  if (at.kind === 'branch') await (await branches.work(at.branch)).close(path)
}

/** The id, if it is that of a commit. Throws a {@link Failure} otherwise. */
export async function commitNamed(objects: Objects, oid: Oid): Promise<Oid> {
  const commit = isOid(objects.repository.format, oid) ? await objects.info(`${oid}^{commit}`) : undefined
  if (!commit) throw new Failure(`There is no commit ${visiblePath(oid)} in this repository.`)
  return commit.oid
}

export const isSamePlace = (one: At, other: At): boolean =>
  one.kind === 'branch'
    ? other.kind === 'branch' && one.branch === other.branch
    : other.kind === 'commit' && one.commit === other.commit
