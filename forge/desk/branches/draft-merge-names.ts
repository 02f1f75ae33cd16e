/** One name for each file in a merge of drafts, where a side has renamed it. */
import { renamedFiles } from '../../../core/git/diffs.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import type { Renamed } from '../../operations.ts'
import { originsIn } from './draft-renames.ts'
import { type Drafts, entryInTip, writeDraftTree } from './drafts.ts'
import type { Merging } from './merged-line-ends.ts'
import { entryBeside } from './other-versions.ts'

/** A merge whose start and our drafts have their clashes under the names that theirs give the files in their commit. */
export async function withNewNames(objects: Objects, merging: Merging): Promise<Merging> {
  const { start, ours, theirs } = merging
  const { tip } = theirs
  const paths = [...ours.clashes.keys()]
  if (start.tip === undefined || tip === undefined || start.tip === tip || paths.length === 0) return merging
  const there = await Promise.all(paths.map(path => entryInTip(objects, tip, path)))
  if (!there.includes(undefined)) return merging
  const names = await renamedFiles(objects.repository, start.tip, tip)
  const renamed = ({ clashes }: Drafts) => new Map([...clashes].map(([path, it]) => [names.get(path) ?? path, it]))
  return { start: { ...start, clashes: renamed(start) }, ours: { ...ours, clashes: renamed(ours) }, theirs }
}

type WithOurNames = { start: Drafts; theirs: Drafts; renames: Renamed[] }

/**
 * The start and the other side with some files under the names that our drafts give them, so that these files are
 * merged with each other: those that both sides rename, where our name counts, and those of which so little is left
 * that git does not see our rename. `renames`: what the drafts have to record of that. `trees`: those of the start and
 * of our drafts.
 */
export async function withOurNames(
  objects: Objects,
  start: Drafts,
  ours: Drafts,
  theirs: Drafts,
  trees: { base: Oid; one: Oid },
): Promise<WithOurNames> {
  const origins = originsIn(ours)
  if (origins.size === 0) return { start, theirs, renames: [] }
  const [seen, there] = await Promise.all([
    renamedFiles(objects.repository, trees.base, trees.one),
    renamedFiles(objects.repository, trees.base, await writeDraftTree(objects, theirs)),
  ])
  const [starting, other] = [new Map(start.files), new Map(theirs.files)]
  const renames: Renamed[] = []
  for (const [path, origin] of origins) {
    const name = there.get(origin) ?? origin
    if (name === path || (name === origin && seen.get(origin) === path)) continue
    const [before, after] = [await entryBeside(objects, start, origin), await entryBeside(objects, theirs, name)]
    const isTaken = (await entryBeside(objects, start, path)) ?? (await entryBeside(objects, theirs, path))
    if (!before || !after || isTaken) continue
    starting.set(origin, undefined).set(path, before)
    other.set(name, undefined).set(path, after)
    renames.push({ from: name, to: path })
  }
  if (renames.length === 0) return { start, theirs, renames }
  return { start: { ...start, files: starting }, theirs: { ...theirs, files: other }, renames }
}

/** The name that git gives a file that is in the way of a folder, by the id of its commit. */
const ASIDE = /~(?:[0-9a-f]{40}|[0-9a-f]{64})(_\d+)?$/

export const plainName = (path: Path): Path => path.replace(ASIDE, '~draft$1')
