/** How long something takes, as far as it is not other work of the machine that makes it longer. */

/** Milliseconds of a processor that this process takes for something. */
export function workOf(task: () => unknown): number {
  const before = process.cpuUsage()
  task()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** The shortest of some tries, in milliseconds; the first that is below `enough` is the last one. */
export async function shortest(enough: number, task: () => Promise<unknown>, tries = 10): Promise<number> {
  const took: number[] = []
  while (took.length < tries && Math.min(...took) >= enough) {
    const begun = performance.now()
    await task()
    took.push(performance.now() - begun)
  }
  return Math.min(...took)
}
