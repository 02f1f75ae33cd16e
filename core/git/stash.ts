/** What `git stash` makes: a commit on top of the one below, that of the index, and that of untracked files. */
import { type Commit, parseCommit } from './commits.ts'
import type { Objects } from './objects.ts'
import type { Oid, Path } from './repository.ts'
import { isFolder, readTree, type TreeEntry, treeOf, writeTree } from './trees.ts'

/** A larger commit, in bytes, is not read, and counts as none of a stash. */
const MAX_COMMIT_BYTES = 1 << 20

/** `base`: the commit it was made on. `untracked`: the commit of its untracked files; undefined for none. */
export type StashParents = { base: Oid; untracked: Oid | undefined }

/** The parents of a stash; undefined for any other commit. Git gives the commit of the index always the same words. */
export async function readStash(
  objects: Objects,
  { parents }: Pick<Commit, 'parents'>,
): Promise<StashParents | undefined> {
  const [base, index, untracked, ...others] = parents
  if (base === undefined || index === undefined || others.length > 0) return undefined
  const object = await objects.read(index, { limit: MAX_COMMIT_BYTES })
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { message, parents: below } = parseCommit(object.bytes)
  const isIndex = below.length === 1 && below[0] === base && message.toString('latin1').startsWith('index on ')
  return isIndex ? { base, untracked } : undefined
}

/**
 * The tree of a commit with all files that it stands for: for a stash, also the untracked ones, which `git stash apply`
 * restores, too. The tree of these is written to the repository.
 */
export async function treeWithUntracked(objects: Objects, oid: Oid): Promise<Oid> {
  const tree = await treeOf(objects, oid)
  const object = await objects.read(oid, { limit: MAX_COMMIT_BYTES })
  if (object?.type !== 'commit' || !object.bytes) return tree
  const commit = parseCommit(object.bytes)
  // Most commits have at most two parents, so that no other commit is read for them.
  const untracked = commit.parents.length === 3 ? (await readStash(objects, commit))?.untracked : undefined
  if (untracked === undefined) return tree
  return await writeTree(objects, tree, new Map(await added(objects, tree, await treeOf(objects, untracked), '')))
}

/** The entries of a tree that are to be put into another one: a folder that only the first has is put there whole. */
async function added(objects: Objects, into: Oid, tree: Oid, folder: Path): Promise<[Path, TreeEntry][]> {
  const there = new Map((await readTree(objects, into)).map(entry => [entry.name, entry]))
  const all = (await readTree(objects, tree)).map(async (entry): Promise<[Path, TreeEntry][]> => {
    const path = `${folder}${entry.name}`
    const before = there.get(entry.name)
    if (!before || !isFolder(before) || !isFolder(entry)) return [[path, entry]]
    return await added(objects, before.oid, entry.oid, `${path}/`)
  })
  return (await Promise.all(all)).flat()
}
