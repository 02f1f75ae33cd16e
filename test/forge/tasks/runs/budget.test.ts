/** Budgets: never one request more than allowed, with concurrent processes and crashes. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Limits } from '../../../../forge/tasks/contract.ts'
import { type AskedBudget, Ledger, OutOfBudget, type Reservation } from '../../../../forge/tasks/runs/budget.ts'
import {
  batchPriceOf,
  missingPrice,
  priceOf,
  requestEstimateOf,
  usualLimits,
} from '../../../../forge/tasks/runs/prices.ts'
import { makeFolder } from '../../../support/repository.ts'
import { settingsOf } from '../../ai/models.ts'
import { answer, makeScene, RUN, wholeStep } from '../activities/scene.ts'

const SPENDER = join(import.meta.dir, 'budget-spender.ts')
const USAGE = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, cost: 0.5 }

/** A request of 100 tokens with an answer of at most 100, at a dollar per hundred tokens. */
const asked = (key: string, more: Partial<AskedBudget> = {}): AskedBudget => ({
  ...{ key, model: 'anthropic/a', kind: 'implement', tier: 'generation', input: 100, output: 100 },
  price: { input: 0, output: 10_000, cacheRead: 0, cacheWrite: 0 },
  ...more,
})

function reserve(ledger: Ledger, wanted: AskedBudget, of: Limits): Reservation {
  const reservation = ledger.reserve(wanted, of)
  if (reservation === 'wait') throw new Error('It waits')
  return reservation
}

const open = (folder: string) => Ledger.open(folder, { paid: async () => [] })
const limits = (more: Partial<Limits> = {}): Limits => ({ depth: 1, ...more })

test('the request after the last one is refused, with a sentence', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  for (let at = 0; at < 3; at++) reserve(ledger, asked(`${at}`), limits({ requests: 3 }))
  expect(() => reserve(ledger, asked('more'), limits({ requests: 3 }))).toThrow(
    new OutOfBudget('It has sent 3 requests, which is the limit of this run.', 'requests'),
  )
})

test('eight processes with sixty-four requests in flight stop at exactly the budget', async () => {
  await using place = await makeFolder()
  const spenders = Array.from({ length: 8 }, (_, at) =>
    Bun.spawn(['bun', SPENDER, place.path, `${at}`, '8', '37'], { stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  const told = await Promise.all(spenders.map(spender => new Response(spender.stdout).text()))
  expect(told.join('').replace(/[^r]/g, '')).toHaveLength(37)
  using ledger = await open(place.path)
  expect(ledger.spent().requests).toBe(37)
}, 60_000)

test('what was reserved and never settled counts as spent', async () => {
  await using place = await makeFolder()
  const spender = Bun.spawn(['bun', SPENDER, place.path, 'dies', '1', '10', 'die'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await spender.exited
  using ledger = await open(place.path)
  expect(() => reserve(ledger, asked('more'), limits({ cost: 1.5 }))).toThrow(OutOfBudget)
  reserve(ledger, asked('more'), limits({ cost: 2 }))
})

test('settled, a request counts as what it used', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  ledger.settle(reserve(ledger, asked('one'), limits({ cost: 1 })), USAGE)
  expect(ledger.spent()).toEqual({ requests: 1, input: 100, output: 10, cost: 0.5 })
  expect(() => reserve(ledger, asked('two'), limits({ cost: 1 }))).toThrow(/beyond \$1\.00/)
  reserve(ledger, asked('two', { output: 50 }), limits({ cost: 1 }))
})

test('tokens are held, too', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  expect(() => reserve(ledger, asked('one'), limits({ tokens: 199 }))).toThrow(/beyond 199 tokens/)
  reserve(ledger, asked('one'), limits({ tokens: 200 }))
})

test('a night in which a run waits for its person is no minute of it', async () => {
  await using scene = await makeScene({ script: () => answer({ signal: 'failure_terminal', words: 'No.' }) })
  const hour = 60 * 60_000
  const tomorrow = scene.again({ now: () => Date.now() + 12 * hour })
  const wish = await scene.store.put('wish', 'Add undo.')
  const limits = { depth: 3, minutes: 60 }
  const run = { run: RUN, wish, base: scene.base, limits, isApproved: true, onlyPlan: false, atMost: 8 }
  await scene.activities.begin(run)
  const sent = wholeStep(tomorrow, scene.input())
  expect((await sent).outcome).toBe('failure_terminal')
})

test('a ledger that was lost is made again from the answers that git has', async () => {
  await using place = await makeFolder()
  const paid = async () => [
    { key: 'one', usage: USAGE },
    { key: 'two', usage: USAGE },
  ]
  using ledger = await Ledger.open(place.path, { paid })
  expect(ledger.spent()).toEqual({ requests: 2, input: 200, output: 20, cost: 1 })
  using again = await Ledger.open(place.path, { paid })
  expect(again.spent().requests).toBe(2)
})

test('a request whose answer is found after a crash is settled by it, once', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  reserve(ledger, asked('one'), limits())
  ledger.settleKnown('one', USAGE)
  ledger.settleKnown('one', USAGE)
  expect(ledger.spent()).toEqual({ requests: 1, input: 100, output: 10, cost: 0.5 })
})

test('with a limit in dollars, a model without a known price is named before anything is sent', async () => {
  const settings = await settingsOf({ ANTHROPIC_API_KEY: 'key-of-nobody', FORGE_MODEL: 'anthropic/claude-x' })
  expect(missingPrice(['anthropic/claude-x'], settings, limits({ cost: 5 }))).toMatch(
    /^A limit of \$5\.00 can't be held, since the price of anthropic\/claude-x is not known: set FORGE_PRICES=/,
  )
  expect(missingPrice(['anthropic/claude-x'], settings, limits())).toBeUndefined()
})

test('only a server on this machine costs nothing: another one may be a gateway that is paid for', async () => {
  const models = ['openai/a']
  for (const address of ['http://127.0.0.1:4000/v1', 'http://localhost:4000/v1', 'http://[::1]:4000/v1']) {
    const settings = await settingsOf({ OPENAI_BASE_URL: address })
    expect(priceOf('openai/a', settings)?.output).toBe(0)
  }
  for (const address of ['https://gateway.example/v1', 'http://192.168.1.7:4000/v1', 'https://127.0.0.1.example/v1']) {
    const settings = await settingsOf({ OPENAI_BASE_URL: address })
    expect(priceOf('openai/a', settings)).toBeUndefined()
    expect(usualLimits({}, models, settings).limits).toEqual({ requests: 200 })
    expect(missingPrice(models, settings, limits({ cost: 1 }))).toContain('the price of openai/a is not known')
  }
})

test('what does not fit beside a request that is under way waits for it, and fits when that came to less', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  const first = reserve(ledger, asked('one'), limits({ cost: 1.5 }))
  expect(ledger.reserve(asked('two'), limits({ cost: 1.5 }))).toBe('wait')
  const settled = ledger.settled(new AbortController().signal)
  ledger.settle(first, USAGE)
  await settled
  expect(reserve(ledger, asked('two'), limits({ cost: 1.5 })).output).toBe(100)
})

test('an answer has the room that those of its kind and tier have needed, where there is not enough for the longest', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  // 8,000 tokens are assumed until some answers have come: 32,000 would cost 320 dollars.
  const long = (key: string, kind = 'implement') => asked(key, { kind, output: 32_000 })
  const first = reserve(ledger, long('one'), limits({ cost: 100 }))
  expect(first.output).toBe(8000)
  ledger.settle(first, { ...USAGE, output: 2000, cost: 20 })
  for (const key of ['two', 'three']) {
    const next = reserve(ledger, long(key), limits({ cost: 1000 }))
    expect(next.output).toBe(32_000)
    ledger.settle(next, { ...USAGE, output: 400, cost: 4 })
  }
  expect(reserve(ledger, long('four'), limits({ cost: 60 })).output).toBe(3000)
  // No review has been answered yet, so the usual length of its answers is not known.
  expect(() => ledger.reserve(long('five', 'review'), limits({ cost: 58 }))).not.toThrow()
  expect(() => ledger.reserve(long('six'), limits({ requests: 3 }))).toThrow(OutOfBudget)
})

test('a refused request says what was spent, and what the next one may cost', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  ledger.settle(reserve(ledger, asked('one'), limits({ cost: 1 })), USAGE)
  expect(() => ledger.reserve(asked('two'), limits({ cost: 1 }))).toThrow(
    'It has spent $0.50, and the next request, with an answer of up to 100 tokens, may cost $1.00: that would take it ' +
      'beyond $1.00, which is the limit of this run.',
  )
})

test('a price that was only assumed is lowered by what the provider says that requests have cost', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  const wanted = (key: string) => asked(key, { output: 100, isAssumed: true })
  for (const key of ['one', 'two', 'three'])
    ledger.settle(reserve(ledger, wanted(key), limits({ cost: 3 })), { ...USAGE, cost: 0.01 }, 1)
  // One dollar by the assumed price; 0.015 by the known costs.
  expect(reserve(ledger, wanted('four'), limits({ cost: 0.05 })).output).toBe(100)
  expect(() => ledger.reserve({ ...wanted('five'), model: 'other/b' }, limits({ cost: 0.5 }))).not.toThrow()
})

test('what is under way counts as sent, and what it may cost at most is not yet spent', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  reserve(ledger, asked('one'), limits())
  expect(ledger.spent()).toEqual({ requests: 1, input: 0, output: 0, cost: 0 })
})

test('a ledger of an earlier version is read, and goes on', async () => {
  await using place = await makeFolder()
  const old = new Database(join(place.path, 'ledger.sqlite'), { create: true })
  old.exec(`CREATE TABLE requests (id INTEGER PRIMARY KEY, key TEXT NOT NULL, settled INTEGER NOT NULL DEFAULT 0,
      input INTEGER NOT NULL DEFAULT 0, output INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL, cost REAL NOT NULL);
    CREATE TABLE facts (name TEXT PRIMARY KEY, value REAL NOT NULL); INSERT INTO facts VALUES ('complete', 1);
    INSERT INTO requests (key, settled, tokens, cost) VALUES ('one', 1, 10, 0.25), ('two', 0, 10, 1)`)
  old.close()
  using ledger = await open(place.path)
  expect(ledger.spent()).toMatchObject({ requests: 2, cost: 1.25 })
  expect(() => ledger.reserve(asked('three'), limits({ cost: 2 }))).toThrow(OutOfBudget)
})

test('a price that is set is what a request may cost, and a model of one’s own costs nothing', async () => {
  const settings = await settingsOf({
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    FORGE_PRICES: 'anthropic/claude-x=4/20/0.4/5',
  })
  const own = requestEstimateOf({ input: 1e6, output: 1e6 }, priceOf('openai/local', settings))
  expect(own.cost).toBe(0)
  expect(requestEstimateOf({ input: 1e6, output: 1e5 }, priceOf('anthropic/claude-x', settings)).cost).toBe(7)
})

test('a run has a limit also where prices are not known: in requests, and it is said', async () => {
  const key = { OPENAI_API_KEY: 'key-of-nobody', ANTHROPIC_API_KEY: 'key-of-nobody' }
  const priced = await settingsOf({ ...key, FORGE_PRICES: 'openai/a=1/2' })
  expect(usualLimits({}, ['openai/a'], priced)).toEqual({ limits: { cost: 5 } })
  expect(usualLimits({ requests: 7 }, ['openai/a'], priced)).toEqual({ limits: { cost: 5, requests: 7 } })
  const models = ['openai/a', 'anthropic/b']
  const { limits: usual, words } = usualLimits({}, models, priced)
  expect(usual).toEqual({ requests: 200 })
  expect(words).toStartWith(
    'No limit in dollars holds, since the price of anthropic/b is not known: it stops after 200 requests.',
  )
  expect(usualLimits({ requests: 1000 }, models, priced).limits).toEqual({ requests: 1000 })
  // An explicit budget is refused where it can't be enforced.
  expect(usualLimits({ cost: 3 }, models, priced)).toEqual({ limits: { cost: 3 } })
})

test('a request in a batch reserves half, stays reserved when its process is gone, and is settled by what it cost', async () => {
  const settings = await settingsOf({ FORGE_PRICES: 'anthropic/a=4/20/0.4/5,openai/b=4/20' })
  const half = { input: 2, output: 10, cacheRead: 0.2 }
  // Writing to Anthropic's cache for an hour costs twice the price of input (4), in a batch half of that: 4 again.
  expect(batchPriceOf('anthropic/a', settings)).toEqual({ ...half, cacheWrite: 4 })
  expect(batchPriceOf('openai/b', settings)).toEqual({ ...half, cacheRead: 2, cacheWrite: 2 })
  await using place = await makeFolder()
  const begun = Date.now()
  {
    using ledger = await open(place.path)
    reserve(ledger, asked('one', { isBatched: true }), limits({ cost: 2 }))
    reserve(ledger, asked('two', { isBatched: true }), limits({ cost: 2 }))
    // The first two requests may cost less than was reserved for them, and then leave enough budget for the third.
    expect(ledger.reserve(asked('three'), limits({ cost: 2 }))).toBe('wait')
  }
  const out = Ledger.look(place.path)
  expect(out).toMatchObject({ batch: { out: 2, answered: 0, saved: 0 }, sending: { count: 0 } })
  expect(out?.batch.since ?? 0).toBeGreaterThanOrEqual(begun)
  using ledger = await open(place.path)
  expect(ledger.findBatched('one')).toMatchObject({ output: 100 })
  ledger.settleBatched('one', USAGE, 0.5)
  ledger.settleBatched('one', USAGE, 0.5)
  ledger.releaseBatched('two')
  expect(Ledger.look(place.path)).toMatchObject({
    spent: { requests: 1, cost: 0.5 },
    batch: { out: 0, answered: 1, saved: 0.5 },
  })
  reserve(ledger, asked('four', { isBatched: true }), limits({ cost: 2 }))
  ledger.loseBatched('four')
  // The provider may have answered the lost request and charged for it, so its whole reservation counts as spent.
  expect(Ledger.look(place.path)).toMatchObject({ spent: { requests: 2, cost: 1.5 }, batch: { out: 0 } })
})

test('an answer of a batch counts where the ledger was lost meanwhile', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  ledger.settleBatched('one', USAGE, 0.5)
  expect(Ledger.look(place.path)).toMatchObject({
    spent: { requests: 1, cost: 0.5 },
    batch: { answered: 1, saved: 0.5 },
  })
})

test('requests that wait for budget are asked for one at a time, in their order', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  const asks: string[] = []
  let room = 0
  const { signal } = new AbortController()
  const wait = (name: string) => {
    const ask = async () => {
      asks.push(name)
      if (room === 0) return 'wait' as const
      room--
      return name
    }
    return ledger.inLine(ask, { signal, milliseconds: 3_600_000 })
  }
  const settleOne = async (places: number) => {
    await Bun.sleep(0)
    room = places
    asks.length = 0
    ledger.settle(reserve(ledger, asked('other'), limits()), USAGE)
  }
  const [a, b, c] = [wait('a'), wait('b'), wait('c')]
  await settleOne(1)
  expect(await a).toBe('a')
  await Bun.sleep(0)
  // The next one is asked for, as there might be room for it as well; the one behind it is not.
  expect(asks).toEqual(['a', 'b'])
  await settleOne(2)
  expect(await Promise.all([b, c])).toEqual(['b', 'c'])
  expect(asks).toEqual(['b', 'c'])
})
