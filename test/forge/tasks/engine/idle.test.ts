/** When a worker ends by itself: only after being idle for long, and if no run may continue by itself. */
import { expect, test } from 'bun:test'
import { IDLE_MS, IdleWatch } from '../../../../forge/tasks/engine/idle.ts'

function makeWatch(isNeeded: () => Promise<boolean> = async () => false) {
  const state = { now: 0, ended: 0 }
  const watch = new IdleWatch({ isNeeded, end: () => state.ended++, now: () => state.now })
  return { state, watch }
}

test('a worker without work for a quarter of an hour ends', async () => {
  const { state, watch } = makeWatch()
  state.now = IDLE_MS - 1
  await watch.look()
  expect(state.ended).toBe(0)
  state.now = IDLE_MS
  await watch.look()
  expect(state.ended).toBe(1)
})

test('it stays while something is done, and for a quarter of an hour after that', async () => {
  const { state, watch } = makeWatch()
  const { promise, resolve } = Promise.withResolvers<void>()
  const work = watch.during(() => promise)
  state.now = 3 * IDLE_MS
  await watch.look()
  resolve()
  await work
  await watch.look()
  expect(state.ended).toBe(0)
  state.now += IDLE_MS
  await watch.look()
  expect(state.ended).toBe(1)
})

test('it stays where a run may go on by itself, and where the server can’t be asked', async () => {
  for (const isNeeded of [async () => true, async () => Promise.reject(new Error('no server'))]) {
    const { state, watch } = makeWatch(isNeeded)
    state.now = IDLE_MS
    await watch.look()
    expect(state.ended).toBe(0)
  }
})
