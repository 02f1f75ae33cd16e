/** The default branch of a repository: from it others start, and into it they are merged. */
import type { RefName } from '../../../core/git/refs.ts'

const ORIGIN = 'refs/remotes/origin/'

/** The usual names of default branches. */
const USUAL = ['main', 'master', 'trunk', 'develop']

/**
 * The local branch of the remote's default, else one with a usual name, else the checked out one (`head`). `origin`:
 * what `refs/remotes/origin/HEAD` points to. Undefined if there is none of them.
 */
export function defaultBranchOf(
  branches: ReadonlySet<string>,
  { origin, head }: { origin: RefName | undefined; head: string | undefined },
): string | undefined {
  const own = origin?.startsWith(ORIGIN) ? origin.slice(ORIGIN.length) : undefined
  return [own, ...USUAL, head].find(name => name !== undefined && branches.has(name))
}
