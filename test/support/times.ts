/** Measures durations, largely independent of the machine's load. */

/** The CPU milliseconds that this process needs for a task. */
export function workOf(task: () => unknown): number {
  const before = process.cpuUsage()
  task()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** The shortest duration of several tries, in milliseconds; stops at the first below `enough`. */
export async function shortest(enough: number, task: () => Promise<unknown>, tries = 10): Promise<number> {
  const took: number[] = []
  while (took.length < tries && Math.min(...took) >= enough) {
    const begun = performance.now()
    await task()
    took.push(performance.now() - begun)
  }
  return Math.min(...took)
}
