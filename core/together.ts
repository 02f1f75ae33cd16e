/** Things that are done at the same time. */

/** Waits for all, so that nothing goes on behind an error; then throws the first, or gives what they gave. */
export async function allOf<T extends readonly unknown[]>(work: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const ends = await Promise.allSettled(work)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return ends.map(end => (end as PromiseFulfilledResult<unknown>).value) as unknown as T
}
