/**
 * What a promise that must fail fails by. Bun's own `expect(…).rejects` waits in a loop of its own inside of whatever
 * the test does; what is imported or read meanwhile may never come to its end in there.
 */

/** The error of a promise. Fails where there is none. */
export async function refusalOf(promise: Promise<unknown> | (() => Promise<unknown>)): Promise<unknown> {
  let value: unknown
  try {
    value = await (typeof promise === 'function' ? promise() : promise)
  } catch (error) {
    return error
  }
  throw new Error(`Nothing failed, and this came of it: ${Bun.inspect(value)}`)
}

/** The same as a function that throws it, for `expect(…).toThrow`. */
export async function refusedBy(promise: Promise<unknown> | (() => Promise<unknown>)): Promise<() => never> {
  const error = await refusalOf(promise)
  return () => {
    throw error
  }
}
