/** A place where files are looked at: a branch as it is being worked on, or a commit. */
import { Failure } from '../../../core/failure.ts'
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, makeTree } from '../../../core/git/trees.ts'
import { CommitVfs, type Vfs, WorkInProgressVfs } from '../../vfs.ts'

export type ReadingPlace = {
  /** What the place stands on; undefined in a branch that has no commit yet. */
  commit: Oid | undefined
  /** All files as they are there, drafts included. */
  tree: Oid
  /** Files whose text is not saved. */
  drafts: ReadonlySet<Path>
}

/**
 * The place in which some files are. Drafts become objects of the repository: so whatever reads trees can read them.
 */
export async function readingPlace(objects: Objects, files: Vfs): Promise<ReadingPlace> {
  if (files instanceof WorkInProgressVfs && files.changes.size > 0)
    return { commit: files.base, tree: await files.writeTree(), drafts: new Set(files.changes.keys()) }
  if (files instanceof WorkInProgressVfs)
    return { commit: files.base, tree: await treeOf(objects, files.base), drafts: new Set() }
  if (!(files instanceof CommitVfs)) throw new Error('These files belong to no commit')
  return { commit: files.commit, tree: await treeOf(objects, files.commit), drafts: new Set() }
}

/** What is enough of a place to list its folders. */
export type FolderPlace = Pick<ReadingPlace, 'tree' | 'drafts'> & {
  /** The trees that are only here, by their ids. */
  unwritten: ReadonlyMap<Oid, Uint8Array>
}

/** The same without writing anything: with each first letter in a file its folders are listed again. */
export async function listedAt(objects: Objects, files: Vfs): Promise<FolderPlace> {
  if (!(files instanceof WorkInProgressVfs) || files.changes.size === 0)
    return { ...(await readingPlace(objects, files)), unwritten: new Map() }
  const { oid: tree, made } = await makeTree(objects, files.base, files.changes)
  const trees = made.filter(({ type }) => type === 'tree')
  const unwritten = new Map(trees.map(object => [oidOf(objects.repository.format, object), object.bytes]))
  return { tree, drafts: new Set(files.changes.keys()), unwritten }
}

async function treeOf(objects: Objects, commit: Oid | undefined): Promise<Oid> {
  if (commit === undefined) return emptyTree(objects.repository.format)
  const tree = await objects.info(`${commit}^{tree}`)
  if (!tree) throw new Failure(`There is no commit ${commit.slice(0, 12)} in this repository.`)
  return tree.oid
}
