/** Splits a commit in two: some of its changes, then the rest. */
import { Failure } from '../../../core/failure.ts'
import type { Commit } from '../../../core/git/commits.ts'
import { withLines } from '../../../core/git/line-parts.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Change, Part } from '../contract/values.ts'
import { changesBetween } from '../reading/changes.ts'
import { treeOfCommit } from './plan.ts'
import type { Item } from './rewrite-items.ts'

/** Files above this size are not split by lines. */
const MAX_SPLIT_BYTES = 2 << 20

/**
 * The two commits that a commit becomes, without their messages. Throws a {@link Failure} if it is a merge, or if the
 * parts are all of its changes or none.
 */
export async function splitItems(
  objects: Objects,
  { oid, parents, tree }: Commit & { oid: Oid },
  parts: readonly Part[],
): Promise<{ first: Item; rest: Item }> {
  const short = oid.slice(0, 8)
  if (parents.length > 1) throw new Failure(`${short} is a merge, and can’t be split.`)
  const [parent] = parents
  const before = parent === undefined ? emptyTree(objects.repository.format) : await treeOfCommit(objects, parent)
  const between = await treeWithParts(objects, before, tree, parts)
  if (between === before) throw new Failure('Select the changes of the first commit.')
  if (between === tree) throw new Failure('Leave some of the changes to the second commit.')
  return {
    first: { commits: [oid], part: { from: before, to: between } },
    rest: { commits: [oid], part: { from: between, to: tree } },
  }
}

/** A tree with some of the changes between it and another one. Throws a {@link Failure} for a file without changes. */
export async function treeWithParts(objects: Objects, from: Oid, to: Oid, parts: readonly Part[]): Promise<Oid> {
  if (parts.length === 0) return from
  const changes = new Map((await changesBetween(objects, from, to)).map(change => [change.path, change]))
  const wanted = new Map<Path, TreeChange>()
  for (const part of parts) {
    const change = changes.get(part.path)
    if (!change) throw new Failure(`${visiblePath(part.path)} is not among the changed files.`)
    if (change.from !== undefined) wanted.set(change.from, undefined)
    wanted.set(part.path, part.lines ? await withPart(objects, change, part.lines) : change.after)
  }
  return await writeTree(objects, from, wanted)
}

async function withPart(
  objects: Objects,
  { path, before, after }: Change,
  lines: NonNullable<Part['lines']>,
): Promise<TreeChange> {
  const texts = await Promise.all([before, after].map(entry => textOf(objects, path, entry)))
  const [old = Buffer.of(), now = Buffer.of()] = texts
  return { mode: (before ?? after)?.mode ?? '100644', bytes: withLines(old, now, lines) }
}

async function textOf(objects: Objects, path: Path, entry: Entry): Promise<Buffer> {
  if (!entry) return Buffer.of()
  const blob = await objects.read(entry.oid, { limit: MAX_SPLIT_BYTES })
  if (blob?.bytes && blob.type === 'blob') return blob.bytes
  throw new Failure(`${visiblePath(path)} is too large to be split by lines: take all of its changes or none.`)
}
