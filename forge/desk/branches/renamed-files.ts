/** Finds the current names of files for a window that was disconnected while they were renamed. */
import type { Oid, Path } from '../../../core/git/repository.ts'
import type { Renamed } from '../../operations.ts'
import { pathAfter } from '../contract/paths.ts'
import { draftsRef } from '../refs.ts'
import { headRef } from './branches.ts'
import { entryIn } from './drafts.ts'
import { type OpenBranches, renamedBy } from './open-branches.ts'

/** At most this many operations are read to find a rename. */
const MAX_OPERATIONS_READ = 1_000

/**
 * The current paths of files of a branch. A path that does not exist any more is followed through the renames on the
 * desk since the branch was at commit `since`; without a rename it stays as it is.
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
  // Renames in drafts come last, since drafts are on top of the newest commit.
  const renames = [...(await renamesSince(branches, branch, since)), ...drafts.renames]
  const now = paths.map(async (path, at) => {
    if (!gone[at]) return path
    const other = renames.reduce((name, renamed) => pathAfter(renamed, name), path)
    return (await isThere(other)) ? other : path
  })
  return await Promise.all(now)
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
