/** What files are called now: for a window that was away while they were renamed. */
import type { Oid, Path } from '../../../core/git/repository.ts'
import type { Renamed } from '../../operations.ts'
import { pathAfter } from '../contract/paths.ts'
import { headRef } from './branches.ts'
import { entryIn } from './drafts.ts'
import { type OpenBranches, renamedBy } from './open-branches.ts'

/** Operations that are read to find a rename. */
const MAX_OPERATIONS_READ = 1_000

/**
 * The paths of files of a branch now: that of a file which is not there any more is the one that operations on the desk
 * have given it since the branch was at the commit `since`. A path stays as it is where nothing of it is found.
 */
export async function pathsNow(
  branches: OpenBranches,
  branch: string,
  { since, paths }: { since: Oid; paths: readonly Path[] },
): Promise<Path[]> {
  const { drafts } = await branches.work(branch)
  const { objects } = branches.room
  const isThere = async (path: Path) => (await entryIn(objects, drafts, path)) !== undefined
  const gone = await Promise.all(paths.map(async path => !(await isThere(path))))
  if (!gone.includes(true)) return [...paths]
  const renames = await renamesSince(branches, branch, since)
  const now = paths.map(async (path, at) => {
    if (!gone[at]) return path
    const other = renames.reduce((name, renamed) => pathAfter(renamed, name), path)
    return (await isThere(other)) ? other : path
  })
  return await Promise.all(now)
}

/** The files and folders that operations have renamed in a branch since it was at a commit, the oldest first. */
async function renamesSince({ room }: OpenBranches, branch: string, since: Oid): Promise<Renamed[]> {
  const renames: Renamed[] = []
  let [name, count] = [branch, 0]
  for await (const operation of room.operations.newestFirst()) {
    if (++count > MAX_OPERATIONS_READ) break
    const head = operation.refs.find(({ ref }) => ref === headRef(name))
    if (!head) continue
    if (head.after === since) break
    if (operation.renamed) renames.unshift(operation.renamed)
    if (head.before === since) break
    const renaming = renamedBy(operation)
    if (renaming?.to === name) name = renaming.from
  }
  return renames
}
