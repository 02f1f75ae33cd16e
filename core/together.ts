/** Helpers for concurrent work. */

/**
 * Waits for all promises, so that nothing continues after an error; then throws the first error, or gives all results.
 */
export async function allOf<T extends readonly unknown[]>(work: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const ends = await Promise.allSettled(work)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return ends.map(end => (end as PromiseFulfilledResult<unknown>).value) as unknown as T
}
