/**
 * Branches that belong to a run of the tasks: there are many of them, one for each attempt at each task. Lists show
 * them behind their run, or where somebody types their name.
 */
const OF_RUN = /^forge\/(\d{8}-[a-z0-9-]{1,71})\/(?:result|[a-z0-9][a-z0-9-]{0,39}\/(?:\d+|done))$/

/** The run that a branch belongs to; undefined for everybody's own. */
export const runOfBranch = (name: string): string | undefined => OF_RUN.exec(name)?.[1]

/** A list in two parts, each in its order: everybody's own branches, and those of runs. */
export function splitByRun<T extends { name: string }>(branches: readonly T[]): { own: T[]; ofRuns: T[] } {
  const own: T[] = []
  const ofRuns: T[] = []
  for (const branch of branches) (runOfBranch(branch.name) === undefined ? own : ofRuns).push(branch)
  return { own, ofRuns }
}
