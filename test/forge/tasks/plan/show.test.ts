/** The plan as a person sees it before saying yes. */
import { expect, test } from 'bun:test'
import { planEstimateOf } from '../../../../forge/tasks/plan/estimate.ts'
import { showPlan } from '../../../../forge/tasks/plan/show.ts'
import { checks, command, plan, review, task } from './plans.ts'

const PRICE = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6 }
const PLAN = plan(
  [
    task('base', { size: 'small', claims: ['A1'] }),
    task('left', {
      depends_on: ['base'],
      claims: ['A2'],
      objective: { outputs: ['src/left.ts', 'src/more.ts'] },
      boundaries: { write: ['src/*.ts'], never: ['src/deep/**'] },
    }),
    task('right', { depends_on: ['base'], boundaries: { write: [] }, recursion: 1 }),
    task('end', { depends_on: ['left', 'right'], ...checks('bun test\ntsc --noEmit') }),
  ],
  [command('A1', 'bun test'), review('A2')],
)

test('what it may cost both ways, where its models have batches', () => {
  const half = { input: PRICE.input / 2, output: PRICE.output / 2, cacheRead: 0, cacheWrite: 0 }
  const estimate = planEstimateOf(PLAN, () => PRICE, { batchPriceOf: () => half })
  const now = showPlan(PLAN, { estimate, limits: { depth: 2 } }).replace(/\s+/g, ' ')
  const [, low, high, lowHalf, highHalf] =
    /\$([\d.]+) to \$([\d.]+) \(\$([\d.]+) to \$([\d.]+) in batches, whose answers may take a day\)/.exec(now) ?? []
  expect(Number(low)).toBeGreaterThan(0)
  expect(Number(lowHalf)).toBeCloseTo(Number(low) / 2, 1)
  expect(Number(highHalf)).toBeCloseTo(Number(high) / 2, 1)
  const batched = showPlan(PLAN, { estimate, limits: { depth: 2 }, inBatch: true }).replace(/\s+/g, ' ')
  expect(batched).toContain(
    `$${lowHalf} to $${highHalf} in batches, as you have asked ($${low} to $${high} if all were`,
  )
})

test('tasks in their order, boundaries, commands in full, and what it may cost', () => {
  const shown = showPlan(PLAN, {
    estimate: planEstimateOf(PLAN, () => PRICE),
    limits: { depth: 2, cost: 5, requests: 100 },
  })
  expect(shown).toBe(`Count lines

Counting first, then showing it.

What must be true in the end
  A1   It works. ([1])
  A2   It reads well. (a review: Does it?)

First
  base  Make base (small, generation)
      writes     src/base.ts
      makes true A1
      checks     [1]
      reviews    Is it right?

Then, at the same time
  left  Make left (medium, generation)
      after      base
      writes     src/*.ts
      never      src/deep/**
      makes true A2
      checks     [1]
      reviews    Is it right?
  right  Make right (medium, generation, sub-agents, 1 level deep)
      after      base
      writes     not known: runs alone
      checks     [1]
      reviews    Is it right?

Then (3)
  end  Make end (small, generation)
      after      left, right
      writes     src/end.ts
      checks     [2]
      reviews    Is it right?

Commands that will run, in a container without network
  [1]  $ bun test
         at most 300 s, for A1, base, left, right
  [2]  $ bun test
         tsc --noEmit
         at most 300 s, for end

It may take 16 to 56 requests and 150,000 to 1,700,000 tokens; $1.05 to $13.88.
That is a guess by the sizes of the tasks (2 small, 2 medium): from where all goes well to where
each needs its second attempt. Sub-agents are not in it.
It stops at $5.00, 100 requests.
`)
})

test('what costs nothing is said to, and no limit in dollars is promised to stop it', () => {
  const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  const shown = showPlan(PLAN, { estimate: planEstimateOf(PLAN, () => free), limits: { depth: 2, cost: 5 } })
  expect(shown.replaceAll('\n', ' ')).toContain('it costs nothing, as its models run on this machine.')
  expect(shown).toContain('There is no limit: set one with --requests or --minutes.')
  expect(shown).not.toContain('$0.00')
})

test('what costs less than cents is shown in its digits', () => {
  const cheap = { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0 }
  const shown = showPlan(PLAN, { estimate: planEstimateOf(PLAN, () => cheap), limits: { depth: 2 } })
  expect(shown).toMatch(/tokens; \$0\.00\d\d to \$0\.0\d\d\d\./)
})

test('a command that hides behind control characters or blank lines is seen', () => {
  const it = plan([task('a', checks(`bun test\u001b[2K${'\n'.repeat(3)}rm -rf /`))])
  const shown = showPlan(it, { estimate: planEstimateOf(it, () => undefined), limits: { depth: 0 } })
  expect(shown).toContain('$ bun test\\x1b[2K')
  expect(shown).toContain('rm -rf /')
  expect(shown).not.toContain('\u001b')
})

test('what the repository itself asks for is shown, also where another command has the same words in it', () => {
  const it = plan([task('a', checks('bun test test/a.test.ts'))], [review('A1')])
  const shown = showPlan(it, {
    estimate: planEstimateOf(it, () => PRICE),
    limits: { depth: 0 },
    commands: ['bun install', 'bun test', 'bun test test/a.test.ts'],
  })
  expect(shown).toContain(`

And what the repository itself asks for (FORGE.md, ready-made checks)
       $ bun install
       $ bun test

`)
})

test('a network that was allowed is shown where the commands are', () => {
  const it = plan([task('a')])
  const shown = showPlan(it, { estimate: planEstimateOf(it, () => PRICE), limits: { depth: 0 }, hasNetwork: true })
  expect(shown).toContain('in a container with the network, as you have allowed')
})

test('without prices and limits, it says so', () => {
  const it = plan([task('a', { tier: 'reasoning' }), task('b')])
  const shown = showPlan(it, {
    estimate: planEstimateOf(it, tier => (tier === 'generation' ? PRICE : undefined)),
    limits: { depth: 0 },
  })
  expect(shown.replaceAll('\n', ' ')).toContain('as no price is known for reasoning: set FORGE_PRICES')
  expect(shown).toContain('There is no limit')
})
