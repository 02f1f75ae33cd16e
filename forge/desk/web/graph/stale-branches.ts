/** Which branches of a remote are stale, and folded. */

/** A remote branch is stale if its tip is this many seconds older than the newest one of the remote. */
const STALE_AGE_S = 90 * 24 * 3600

/**
 * Splits the branches of a remote into fresh ones, newest first, and stale ones. `committed`: the time of the tip, in
 * seconds since 1970; undefined if the commit is missing.
 */
export function splitByAge<Branch extends { committed?: number | undefined }>(
  branches: readonly Branch[],
): { fresh: Branch[]; stale: Branch[] } {
  const timeOf = ({ committed = 0 }: Branch) => committed
  const sorted = branches.toSorted((one, other) => timeOf(other) - timeOf(one))
  const newest = sorted[0] === undefined ? 0 : timeOf(sorted[0])
  const isStale = (branch: Branch) => timeOf(branch) < newest - STALE_AGE_S
  return { fresh: sorted.filter(it => !isStale(it)), stale: sorted.filter(isStale) }
}
