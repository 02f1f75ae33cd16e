/** A place whose files are read: a branch with its drafts, or a commit. */
import { Failure } from '../../../core/failure.ts'
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { CommitVfs, type Vfs, WorkInProgressVfs } from '../../vfs.ts'

export type ReadingPlace = {
  /** The commit of the place; undefined in a branch that has none yet. */
  commit: Oid | undefined
  /** The tree of all files, including drafts. */
  tree: Oid
}

/**
 * Gives the commit and the tree that some files are read from. Drafts are first written as objects, so that everything
 * that reads trees can read them.
 */
export async function readingPlace(objects: Objects, files: Vfs): Promise<ReadingPlace> {
  if (files instanceof WorkInProgressVfs && files.changes.size > 0)
    return { commit: files.base, tree: await files.writeTree() }
  if (files instanceof WorkInProgressVfs) return { commit: files.base, tree: await treeOf(objects, files.base) }
  if (!(files instanceof CommitVfs)) throw new Error('These files belong to no commit')
  return { commit: files.commit, tree: await treeOf(objects, files.tree) }
}

/** What listing folders needs of a {@link ReadingPlace}. */
export type FolderPlace = Pick<ReadingPlace, 'tree'> & {
  /** The tree without the drafts. */
  saved: Oid
  /** The drafts by path. A draft without a value deletes the file. */
  drafts: ReadonlyMap<Path, TreeChange>
  /** Trees that are not written to the repository, by id. */
  unwritten: ReadonlyMap<Oid, Uint8Array>
}

/**
 * As {@link readingPlace}, but writes no trees. The first letter typed in a file lists folders again, and must not
 * leave objects behind.
 */
export async function listedAt(objects: Objects, files: Vfs): Promise<FolderPlace> {
  if (!(files instanceof WorkInProgressVfs) || files.changes.size === 0)
    return withoutDrafts(await readingPlace(objects, files))
  const { oid: tree, made } = await makeTree(objects, files.base, files.changes)
  const trees = made.filter(({ type }) => type === 'tree')
  const unwritten = new Map(trees.map(object => [oidOf(objects.repository.format, object), object.bytes]))
  return { tree, saved: await treeOf(objects, files.base), drafts: files.changes, unwritten }
}

const withoutDrafts = ({ tree }: ReadingPlace): FolderPlace => ({
  ...{ tree, saved: tree },
  ...{ drafts: new Map(), unwritten: new Map() },
})

async function treeOf(objects: Objects, commit: Oid | undefined): Promise<Oid> {
  if (commit === undefined) return emptyTree(objects.repository.format)
  const tree = await objects.info(`${commit}^{tree}`)
  if (!tree) throw new Failure(`There is no commit ${commit.slice(0, 12)} in this repository.`)
  return tree.oid
}
