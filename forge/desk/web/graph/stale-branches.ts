/** Which branches of a remote are stale, and folded. */

/** A remote branch is stale if its tip is this many seconds older than the newest one of the remote. */
const STALE_AGE_S = 90 * 24 * 3600

/**
 * Splits the branches of a remote into fresh ones, its default branch and then the newest first, and stale ones.
 * `committed`: the time of the tip, in seconds since 1970; undefined if the commit is missing.
 */
export function splitByAge<Branch extends { committed?: number | undefined; isDefault?: boolean | undefined }>(
  branches: readonly Branch[],
): { fresh: Branch[]; stale: Branch[] } {
  const timeOf = ({ committed = 0 }: Branch) => committed
  const newest = Math.max(0, ...branches.map(timeOf))
  const isStale = (branch: Branch) => !branch.isDefault && timeOf(branch) < newest - STALE_AGE_S
  const rankOf = ({ isDefault }: Branch) => (isDefault ? 0 : 1)
  const sorted = branches.toSorted((one, other) => rankOf(one) - rankOf(other) || timeOf(other) - timeOf(one))
  return { fresh: sorted.filter(it => !isStale(it)), stale: sorted.filter(isStale) }
}
