/** The budget of a run that several machines share: what is granted, and what counts where requests are lost. */
import { expect, test } from 'bun:test'
import {
  batchedId,
  close,
  emptyPurse,
  type Purse,
  reserve,
  settle,
  settleKnown,
  type Wanted,
} from '../../../../forge/tasks/run/purse.ts'
import { randomFrom } from '../../../support/random.ts'

const LIMITS = { depth: 1 }
const small = { output: 100, tokens: 200, cost: 1 }

const wanted = (sender: string, attempt: number, rest: Partial<Wanted> = {}): Wanted => ({
  ...{ id: `${sender} ${attempt}`, sender, key: sender, rooms: [small], limits: LIMITS },
  ...rest,
})

test('a request gets the largest room that fits, and none beyond a limit', () => {
  const rooms = [{ output: 1000, tokens: 1100, cost: 5 }, small]
  const limits = { ...LIMITS, cost: 6 }
  const first = reserve(emptyPurse(), wanted('a', 1, { rooms, limits }), 0)
  expect(first.granting).toEqual({ is: 'granted', output: 1000 })
  const second = reserve(first.purse, wanted('b', 1, { rooms, limits }), 0)
  expect(second.granting).toEqual({ is: 'granted', output: 100 })
  const third = reserve(second.purse, wanted('c', 1, { rooms, limits }), 0)
  expect(third.granting).toEqual({ is: 'wait' })
  const settled = ['a 1', 'b 1'].reduce((purse, id) => settle(purse, id, { tokens: 10, cost: 3 }), third.purse)
  const last = reserve(settled, wanted('c', 1, { rooms, limits }), 0)
  expect(last.granting).toEqual({ is: 'beyond', limit: 'cost', used: 6, most: 6, room: small })
})

test('the same question asked twice is granted once', () => {
  const first = reserve(emptyPurse(), wanted('a', 1), 0)
  const again = reserve(first.purse, wanted('a', 1), 0)
  expect(again).toEqual(first)
  const settled = settle(again.purse, 'a 1', { tokens: 7, cost: 0.5 })
  expect(settle(settled, 'a 1', { tokens: 9, cost: 9 })).toEqual(settled)
})

test('a request whose worker was lost counts, until its answer turns up', () => {
  const first = reserve(emptyPurse(), wanted('a', 1), 0)
  const again = reserve(first.purse, wanted('a', 2), 0)
  expect(again.purse).toMatchObject({ requests: 2, tokens: 400, cost: 2, open: [{ id: 'a 2' }], lost: [{ id: 'a 1' }] })
  const known = settleKnown(settle(again.purse, 'a 2', { tokens: 20, cost: 0.1 }), 'a', { tokens: 10, cost: 0.2 })
  expect(known).toEqual({ requests: 2, tokens: 30, cost: expect.closeTo(0.3), open: [], lost: [] })
  expect(settleKnown(known, 'a', { tokens: 99, cost: 9 })).toEqual(known)
})

test('a request that never ends does not hold others up for ever', () => {
  const limits = { ...LIMITS, tokens: 300 }
  const first = reserve(emptyPurse(), wanted('a', 1, { limits }), 0)
  expect(reserve(first.purse, wanted('b', 1, { limits }), 1000).granting).toEqual({ is: 'wait' })
  const late = reserve(first.purse, wanted('b', 1, { limits }), 3 * 3_600_000)
  expect(late.granting).toEqual({ is: 'beyond', limit: 'tokens', used: 200, most: 300, room: small })
})

test('no order of questions, answers and losses lets more through than the limits', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const { below, pick, chance } = randomFrom(seed)
    const limits = { ...LIMITS, requests: 20, tokens: 2000, cost: 12 }
    let purse: Purse = emptyPurse()
    let sent = 0
    const paid = { tokens: 0, cost: 0 }
    const open: { id: string; tokens: number; cost: number }[] = []
    for (let step = 0; step < 120; step++) {
      if (open.length > 0 && chance(0.4)) {
        const [done] = open.splice(below(open.length), 1)
        if (!done) continue
        // The answer of every tenth is lost after it was paid for.
        paid.tokens += done.tokens
        paid.cost += done.cost
        if (!chance(0.1)) purse = settle(purse, done.id, done)
        continue
      }
      const sender = `worker-${below(12)}`
      const id = `${sender} ${step}`
      const before = open.findIndex(it => it.id.startsWith(`${sender} `))
      const rooms = [pick([small, { output: 300, tokens: 400, cost: 2 }]), small]
      const { purse: next, granting } = reserve(purse, { ...wanted(sender, step), id, rooms, limits }, step)
      purse = next
      if (granting.is !== 'granted') continue
      sent++
      const lost = before >= 0 ? open.splice(before, 1) : []
      for (const it of lost) {
        paid.tokens += it.tokens
        paid.cost += it.cost
      }
      const room = rooms.find(({ output }) => output === granting.output) ?? small
      open.push({ id, tokens: below(room.tokens), cost: room.cost / 2 })
    }
    expect(sent).toBeLessThanOrEqual(limits.requests)
    expect(sent).toBe(purse.requests)
    expect(paid.tokens).toBeLessThanOrEqual(limits.tokens)
    expect(paid.cost).toBeLessThanOrEqual(limits.cost)
    expect(purse.tokens).toBeLessThanOrEqual(limits.tokens)
  }
})

test('a request in a batch is granted once for all machines, and answered, free or lost', () => {
  const batched = (key: string, room = small): Wanted => {
    const id = batchedId(key)
    return { id, sender: id, key, rooms: [room], limits: LIMITS, isBatched: true }
  }
  let { purse } = reserve(emptyPurse(), batched('a'), 0)
  // Another machine estimates it otherwise, a day later.
  const again = reserve(purse, batched('a', { output: 500, tokens: 700, cost: 3 }), 24 * 3_600_000)
  expect(again).toEqual({ purse, granting: { is: 'granted', output: 100 } })
  for (const key of ['b', 'c']) purse = reserve(purse, batched(key), 0).purse
  const closings = [
    { key: 'a', used: { tokens: 20, cost: 0.5 } },
    { key: 'b', is: 'free' as const },
    { key: 'c', is: 'lost' as const },
  ]
  const closed = close(purse, closings)
  expect(closed).toMatchObject({ requests: 2, tokens: 220, cost: 1.5, open: [], lost: [{ key: 'c' }] })
  expect(close(closed, closings)).toEqual(closed)
})
