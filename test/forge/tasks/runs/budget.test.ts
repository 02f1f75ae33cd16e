/** Budgets: never one request more than allowed, whoever asks at the same time and whatever dies. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Limits } from '../../../../forge/tasks/contract.ts'
import {
  estimateOf,
  Ledger,
  missingPrice,
  OutOfBudget,
  priceOf,
  usualLimits,
} from '../../../../forge/tasks/runs/budget.ts'
import { makeFolder } from '../../../support/repository.ts'
import { settingsOf } from '../../ai/models.ts'
import { answer, makeScene, RUN, wholeStep } from '../activities/scene.ts'

const SPENDER = join(import.meta.dir, 'budget-spender.ts')
const USAGE = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, cost: 0.5 }
const SMALL = { tokens: 200, cost: 1 }

const open = (folder: string) => Ledger.open(folder, { paid: async () => [] })
const limits = (more: Partial<Limits> = {}): Limits => ({ depth: 1, ...more })

test('the request after the last one is refused, with a sentence', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  for (let at = 0; at < 3; at++) ledger.reserve(`${at}`, SMALL, limits({ requests: 3 }))
  expect(() => ledger.reserve('more', SMALL, limits({ requests: 3 }))).toThrow(
    new OutOfBudget('It has sent 3 requests, which is the limit of this run.'),
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
  expect(() => ledger.reserve('more', SMALL, limits({ cost: 1.5 }))).toThrow(OutOfBudget)
  ledger.reserve('more', SMALL, limits({ cost: 2 }))
})

test('settled, a request counts as what it used', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  ledger.settle(ledger.reserve('one', SMALL, limits({ cost: 1 })), USAGE)
  expect(ledger.spent()).toEqual({ requests: 1, input: 100, output: 10, cost: 0.5 })
  expect(() => ledger.reserve('two', SMALL, limits({ cost: 1 }))).toThrow(/beyond \$1\.00/)
  ledger.reserve('two', { tokens: 1, cost: 0.5 }, limits({ cost: 1 }))
})

test('tokens are held, too', async () => {
  await using place = await makeFolder()
  using ledger = await open(place.path)
  expect(() => ledger.reserve('one', SMALL, limits({ tokens: 199 }))).toThrow(/beyond 199 tokens/)
  ledger.reserve('one', SMALL, limits({ tokens: 200 }))
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
  ledger.reserve('one', SMALL, limits())
  ledger.settleKnown('one', USAGE)
  ledger.settleKnown('one', USAGE)
  expect(ledger.spent()).toEqual({ requests: 1, input: 100, output: 10, cost: 0.5 })
})

test('with a limit in dollars, a model whose price nobody knows is named before anything is sent', async () => {
  const settings = await settingsOf({ ANTHROPIC_API_KEY: 'key-of-nobody', FORGE_MODEL: 'anthropic/claude-x' })
  expect(missingPrice(['anthropic/claude-x'], settings, limits({ cost: 5 }))).toMatch(
    /^A limit of \$5\.00 can't be held, since the price of anthropic\/claude-x is not known: set FORGE_PRICES=/,
  )
  expect(missingPrice(['anthropic/claude-x'], settings, limits())).toBeUndefined()
})

test('a price that is set is what a request may cost, and a model of one’s own costs nothing', async () => {
  const settings = await settingsOf({
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    FORGE_PRICES: 'anthropic/claude-x=4/20/0.4/5',
  })
  const own = estimateOf({ input: 1e6, output: 1e6 }, priceOf('openai/local', settings))
  expect(own.cost).toBe(0)
  expect(estimateOf({ input: 1e6, output: 1e5 }, priceOf('anthropic/claude-x', settings)).cost).toBe(7)
})

test('a run has a limit also where nobody knows what its models cost: in requests, and it is said', async () => {
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
  // Who names a budget means it: that is refused where it can't be held.
  expect(usualLimits({ cost: 3 }, models, priced)).toEqual({ limits: { cost: 3 } })
})
