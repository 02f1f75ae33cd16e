/** Finds the current names of files for a window that was disconnected while they were renamed. */
import { renamedFiles } from '../../../core/git/diffs.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import type { Renamed } from '../../operations.ts'
import { pathAfter } from '../contract/paths.ts'
import { draftsRef } from '../refs.ts'
import { headRef } from './branches.ts'
import { missingIn } from './drafts.ts'
import { type OpenBranches, renamedBy } from './open-branches.ts'

/** At most this many operations are read to find a rename. */
const MAX_OPERATIONS_READ = 1_000

/**
 * The current paths of files of a branch. A path that does not exist any more is followed through the renames on the
 * desk since the branch was at commit `since`, or to the file that git detects as renamed between that commit and the
 * branch's present one. A path without a rename is given unchanged.
 *
 * `missing`: those of the paths that the branch does not have. `tip`: its commit; undefined before the first one.
 */
export async function pathsNow(
  branches: OpenBranches,
  branch: string,
  { since, paths }: { since: Oid; paths: readonly Path[] },
): Promise<{ paths: Path[]; missing: Path[]; tip: Oid | undefined }> {
  const { shown: drafts, tip } = await branches.work(branch)
  const { objects } = branches.room
  const gone = new Set(await missingIn(objects, drafts, paths))
  if (gone.size === 0) return { paths: [...paths], missing: [], tip }
  // Renames in drafts come last, since drafts are on top of the newest commit.
  const onDesk = await renamesSince(branches, branch, since)
  const inCommits = await renamesBetween(objects, since, drafts.tip)
  const all = paths.map(async path => {
    if (!gone.has(path)) return path
    // The path may have come by a rename on the desk, before another program renamed the file in a commit.
    const names = [path, before(onDesk, path)].map(name => inCommits.get(name) ?? path)
    const saved = [after(onDesk, path), ...names]
    const others = saved.map(other => after(drafts.renames, other))
    const missing = await missingIn(objects, drafts, others)
    return others.find(other => !missing.includes(other)) ?? path
  })
  const now = await Promise.all(all)
  return { paths: now, missing: await missingIn(objects, drafts, now), tip }
}

/** The path of a file after renames, one after the other. */
const after = (renames: readonly Renamed[], path: Path): Path =>
  renames.reduce((name, renamed) => pathAfter(renamed, name), path)

/** The path that a file had before these renames. */
const before = (renames: readonly Renamed[], path: Path): Path =>
  renames.toReversed().reduce((name, { from, to }) => pathAfter({ from: to, to: from }, name), path)

/** The new paths of the files that git detects as renamed between two commits; none if one of these is not there. */
async function renamesBetween(objects: Objects, from: Oid, to: Oid | undefined): Promise<Map<Path, Path>> {
  const commit = await objects.info(`${from}^{commit}`)
  if (!commit || to === undefined || to === from) return new Map()
  return await renamedFiles(objects.repository, from, to)
}

/** The renames of files and folders in a branch since it was at a commit, oldest first. */
async function renamesSince({ room }: OpenBranches, branch: string, since: Oid): Promise<Renamed[]> {
  const renames: Renamed[] = []
  let [name, count] = [branch, 0]
  // Drafts on the commit may include a rename: what came before its first successor counts, too.
  let isAtStart = false
  for await (const operation of room.operations.newestFirst()) {
    if (++count > MAX_OPERATIONS_READ) break
    const head = operation.refs.find(({ ref }) => ref === headRef(name))
    const isHere = head !== undefined || operation.refs.some(({ ref }) => ref === draftsRef(name))
    if (head && (isAtStart || head.after === since)) break
    if (isHere) renames.unshift(...operation.renamed)
    isAtStart ||= head?.before === since
    const renaming = renamedBy(operation)
    if (renaming?.to === name) name = renaming.from
  }
  return renames
}
