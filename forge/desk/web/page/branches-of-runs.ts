/**
 * Branches of the runs of the tasks. A run has many, one for each attempt at each task, so lists show them after the
 * other branches or when their name is typed.
 */
const OF_RUN = /^forge\/(\d{8}-[a-z0-9-]{1,71})\/(?:result|[a-z0-9][a-z0-9-]{0,39}\/(?:\d+|done))$/

/** The run that a branch belongs to; undefined for any other branch. */
export const runOfBranch = (name: string): string | undefined => OF_RUN.exec(name)?.[1]

/** Splits a list into branches of no run and branches of runs, keeping the order. */
export function splitByRun<T extends { name: string }>(branches: readonly T[]): { own: T[]; ofRuns: T[] } {
  const own: T[] = []
  const ofRuns: T[] = []
  for (const branch of branches) (runOfBranch(branch.name) === undefined ? own : ofRuns).push(branch)
  return { own, ofRuns }
}
