/**
 * Errors of promises that must reject. Bun's own `expect(…).rejects` runs a loop of its own within the test, in which
 * imports and reads may never finish.
 */

/** The error of a promise. Throws where it does not reject. */
export async function refusalOf(promise: Promise<unknown> | (() => Promise<unknown>)): Promise<unknown> {
  let value: unknown
  try {
    value = await (typeof promise === 'function' ? promise() : promise)
  } catch (error) {
    return error
  }
  throw new Error(`Nothing failed, and this came of it: ${Bun.inspect(value)}`)
}

/** Gives the error of {@link refusalOf} as a function that throws it, for `expect(…).toThrow`. */
export async function refusedBy(promise: Promise<unknown> | (() => Promise<unknown>)): Promise<() => never> {
  const error = await refusalOf(promise)
  return () => {
    throw error
  }
}
