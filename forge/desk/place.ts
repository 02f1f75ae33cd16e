/** A place where files are looked at: a branch as it is being worked on, or a commit. */
import { Failure } from '../../core/failure.ts'
import type { Objects } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { emptyTree } from '../../core/git/trees.ts'

export type Place = {
  /** What the place stands on; undefined in a branch that has no commit yet. */
  commit: Oid | undefined
  /** All files as they are there, drafts included. */
  tree: Oid
  /** Files whose text is not saved. */
  drafts: ReadonlySet<Path>
}

/** Files that belong to a commit, or to a commit and what is not saved on top of it. */
type Files = { commit: Oid } | { base: Oid | undefined; changes: ReadonlyMap<Path, unknown>; writeTree(): Promise<Oid> }

/** The place in which some files are. Drafts become objects of the repository: so whatever reads trees can read them. */
export async function placeOf(objects: Objects, files: Files): Promise<Place> {
  if ('base' in files && files.changes.size > 0)
    return { commit: files.base, tree: await files.writeTree(), drafts: new Set(files.changes.keys()) }
  const commit = 'base' in files ? files.base : files.commit
  return { commit, tree: await treeOf(objects, commit), drafts: new Set() }
}

async function treeOf(objects: Objects, commit: Oid | undefined): Promise<Oid> {
  if (commit === undefined) return emptyTree(objects.repository.format)
  const tree = await objects.info(`${commit}^{tree}`)
  if (!tree) throw new Failure(`There is no commit ${commit.slice(0, 12)} in this repository.`)
  return tree.oid
}
