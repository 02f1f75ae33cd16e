/** The gate that requests to a provider pass: it limits their number, and holds them back after refusals. */
import { expect, test } from 'bun:test'
import { Gate } from '../../../../forge/tasks/activities/gate.ts'
import { refusedBy } from '../../../support/refusals.ts'

const signal = new AbortController().signal

test('a fixed number go through at a time, the others wait their turn', async () => {
  const gate = new Gate({ most: 2 })
  const passes = [await gate.enter(signal), await gate.enter(signal)]
  let isIn = false
  const third = gate.enter(signal).then(pass => {
    isIn = true
    return pass
  })
  await Promise.resolve()
  expect(isIn).toBe(false)
  if (passes[0]) gate.leave(passes[0], { how: 'good' })
  await third
  expect(isIn).toBe(true)
})

test('many refusals of requests that were under way together are one reason to wait', async () => {
  let now = 0
  const gate = new Gate({ most: 8, firstPause: 2, now: () => now })
  const passes = await Promise.all(Array.from({ length: 8 }, () => gate.enter(signal)))
  for (const pass of passes) gate.leave(pass, { how: 'busy' })
  expect(gate.closedFor).toBeGreaterThanOrEqual(2000)
  expect(gate.closedFor).toBeLessThanOrEqual(2500)
  now += 3000
  expect(gate.closedFor).toBe(0)
})

test('the provider’s own time counts where it is longer', async () => {
  const gate = new Gate({ firstPause: 2, now: () => 0 })
  gate.leave(await gate.enter(signal), { how: 'busy', retryAfter: 30 })
  expect(gate.closedFor).toBeGreaterThanOrEqual(30_000)
})

test('after a refusal one goes first, and with each good answer one more', async () => {
  const gate = new Gate({ most: 8, firstPause: 0.01, longestPause: 0.02 })
  gate.leave(await gate.enter(signal), { how: 'busy' })
  const first = await gate.enter(signal)
  let inside = 0
  const enter = async () => {
    const pass = await gate.enter(signal)
    inside++
    return pass
  }
  const waiting = Array.from({ length: 4 }, enter)
  await Bun.sleep(30)
  expect(inside).toBe(0)
  gate.leave(first, { how: 'good' })
  const second = await waiting[0]
  await waiting[1]
  expect(inside).toBe(2)
  if (second) gate.leave(second, { how: 'good' })
  await Promise.all(waiting.slice(0, 4))
  expect(inside).toBe(4)
})

test('a caller that is cancelled while waiting leaves, and takes no place', async () => {
  const gate = new Gate({ most: 1 })
  const pass = await gate.enter(signal)
  const control = new AbortController()
  const waiting = refusedBy(gate.enter(control.signal))
  control.abort(new Error('stopped'))
  expect(await waiting).toThrow('stopped')
  gate.leave(pass, { how: 'other' })
  await gate.enter(signal)
})

test('a clock that is set back blocks no caller', async () => {
  const now = Date.now
  try {
    const gate = new Gate({ firstPause: 0.05 })
    gate.leave(await gate.enter(signal), { how: 'busy' })
    Date.now = () => now() - 3_600_000
    await gate.enter(signal)
    expect(gate.closedFor).toBe(0)
  } finally {
    Date.now = now
  }
})
