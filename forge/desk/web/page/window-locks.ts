/** Locks by which the windows of a browser know what another one that exists has begun. */

/** Holds a lock, which several windows can hold, until the returned function is called or this window is closed. */
export function holdLock(name: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  navigator.locks?.request(name, { mode: 'shared' }, () => promise).catch(() => {})
  return resolve
}

/** Whether a window that exists holds a lock. */
export async function isLocked(name: string): Promise<boolean> {
  const locks = await navigator.locks?.query()
  return locks?.held?.some(held => held.name === name) === true
}
