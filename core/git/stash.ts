/** What `git stash` makes: a commit on top of the one below, that of the index, and that of untracked files. */
import { type Commit, parseCommit } from './commits.ts'
import type { Objects } from './objects.ts'
import { moveRefs } from './refs.ts'
import type { Oid, Path } from './repository.ts'
import { read, run } from './run.ts'
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

/** The ref of the newest stash. All others are in its reflog alone. */
export const STASH = 'refs/stash'

/** `name`: as git names it, such as stash@{0}, which is the newest one. */
export type Stash = { name: string; tip: Oid }

/** The entries of `git stash list`, newest first; at most `count`. */
export async function listStashes(objects: Objects, count?: number): Promise<Stash[]> {
  if (!(await objects.info(STASH))) return []
  const limit = count === undefined ? [] : [`--max-count=${count}`]
  const args = ['log', '--walk-reflogs', '--format=%H', ...limit, STASH, '--']
  const { stdout } = await run(objects.repository, args, { ok: 'any' })
  const tips = stdout.toString().split('\n').filter(Boolean)
  return tips.map((tip, at) => ({ name: `stash@{${at}}`, tip }))
}

/**
 * Drops a stash as `git stash drop` does, which refuses to run in a bare repository. Gives its name before that;
 * undefined where it is no stash any more.
 */
export async function dropStash(objects: Objects, oid: Oid): Promise<string | undefined> {
  const { repository } = objects
  const stash = (await listStashes(objects)).find(({ tip }) => tip === oid)
  if (!stash) return undefined
  await run(repository, ['reflog', 'delete', '--updateref', '--rewrite', `refs/${stash.name}`])
  const isLast = (await listStashes(objects)).length === 0
  // Git leaves the ref of the last stash.
  if (isLast) await moveRefs(repository, [{ ref: STASH, from: oid, to: undefined }], { message: '' })
  return stash.name
}

/** Makes a commit the newest stash, as `git stash store` does. */
export async function storeStash({ repository }: Objects, oid: Oid): Promise<void> {
  const words = (await read(repository, ['log', '--max-count=1', '--format=%s', oid, '--'])) || 'stash'
  const command = ['-c', 'core.hooksPath=/dev/null', 'update-ref', '--create-reflog']
  await run(repository, [...command, '-m', words, STASH, oid])
}
