/** Providers with many refusals, limits with many requests under way, and broken answers. */
import { describe, expect, test } from 'bun:test'
import type { Heard, Turn } from '../../doubles/model-server.ts'
import { fansOut, saying, turnFor } from '../../support/chaos-model.ts'
import { TasksWorld } from '../../support/tasks-world.ts'
import { hasNoTemporal } from '../../support/temporal.ts'

const isVoice = ({ system }: Heard): boolean => system.includes('# Your task: a text')
/**
 * The other requests of a run: one for the plan, and two for each of two tasks, which ask sub-agents and then write.
 */
const OTHERS = 5
const MINUTE = 60_000 * 3

describe.skipIf(hasNoTemporal)('requests by the dozen', () => {
  test(
    'a limit of requests is held with sixty-four of them under way, and a higher one goes on',
    async () => {
      const answer = fansOut(2, 40)
      // No request is answered before most of those that a worker sends at once have arrived.
      const many = Promise.withResolvers<void>()
      let asked = 0
      const script = async (heard: Heard): Promise<Turn> => {
        if (isVoice(heard)) {
          if (++asked === 48) many.resolve()
          await many.promise
        }
        return saying(answer(heard))
      }
      await using world = await TasksWorld.make({ script })
      const limit = 3 + 70
      const { code, out } = await world.forge(['run', '--yes', '--requests', String(limit), 'Ask many'])
      expect(code).toBe(2)
      expect(out).toContain(`It has sent ${limit} requests, which is the limit of this run.`)
      expect(world.model.requests).toHaveLength(limit)
      expect(await world.forge(['resume', 'last'])).toMatchObject({
        code: 1,
        err: expect.stringContaining('give it more'),
      })
      expect(await world.forge(['resume', 'last', '--requests', '1000'])).toMatchObject({ code: 0 })
      expect((await world.forge(['attach', 'last'])).code).toBe(0)
      // No answered request was sent again.
      expect(world.model.requests).toHaveLength(2 * 40 + OTHERS)
    },
    MINUTE,
  )

  test.each([
    ['with a time to wait', { 'retry-after': '1' }],
    ['without one', {}],
  ])(
    'a storm of 429 %s slows a run, and does not multiply',
    async (_, headers: Record<string, string>) => {
      const answer = fansOut(2, 32)
      let refused = 0
      let isStormy = true
      // Concurrent requests are refused, until one comes alone. The storm begins when there are many.
      const many = Promise.withResolvers<void>()
      let asked = 0
      let inside = 0
      const script = async (heard: Heard): Promise<Turn> => {
        if (!isVoice(heard)) return saying(answer(heard))
        inside++
        if (++asked === 16) many.resolve()
        await many.promise
        await Bun.sleep(300)
        const isAlone = inside === 1
        inside--
        if (isAlone && refused > 0) isStormy = false
        if (!isStormy) return saying(answer(heard))
        refused++
        return { status: 429, headers }
      }
      await using world = await TasksWorld.make({ script })
      const { code } = await world.forge(['run', '--yes', 'Ask many'])
      expect(code).toBe(0)
      expect(refused).toBeGreaterThanOrEqual(16)
      // Only requests that were under way at the beginning are refused.
      expect(refused).toBeLessThanOrEqual(64)
      expect(world.model.requests).toHaveLength(2 * 32 + OTHERS + refused)
    },
    MINUTE,
  )
})

/** What the model's server sends in place of a good answer, one for each task. */
const TROUBLES: Record<string, Turn> = {
  alpha: { cut: { at: 200, how: 'reset' } },
  beta: { cut: { at: 200, how: 'close' } },
  gamma: { nonsenseAt: 100 },
  delta: { page: '<html><body>Sign in to the Wi-Fi</body></html>' },
  epsilon: { status: 529 },
  zeta: { errorAt: { at: 100, status: 500 } },
  move: { isDropped: true },
  more: { calls: [], text: '' },
  outlined: { text: '\x1b[2J\x1b]0;owned\x07 I would rather talk about \u202e something else' },
  failing: { hasNoUsage: true },
  last: { calls: [{ name: 'answer', arguments: '{"answer": {"signal": "success", "words": "cut' }] },
}

test.skipIf(hasNoTemporal)(
  'whatever comes in the place of an answer, the run ends, and says why in sentences',
  async () => {
    const seen = new Set<string>()
    const script = (heard: Heard): Turn => {
      const asked = heard.messages.map(({ text }) => text).join('\n')
      const [, id = ''] = /^# The task ([a-z-]+):/m.exec(asked) ?? []
      const trouble = TROUBLES[id]
      if (!trouble || seen.has(id)) return turnFor(heard, 0)
      seen.add(id)
      return { ...turnFor(heard, 0), ...trouble }
    }
    await using world = await TasksWorld.make({ script })
    const first = await world.forge(['run', '--yes', 'Write a dozen notes'])
    let { code, out } = first
    // The user lets the run continue after each halt.
    for (let times = 0; code === 4 && times < 4; times++) {
      await world.forge(['resume', 'last'])
      const { code: next, out: more } = await world.forge(['attach', 'last'])
      code = next
      out += more
    }
    const story = (await world.forge(['show', 'last', '--journal'])).out
    expect(code).toBe(0)
    expect(seen.size).toBe(Object.keys(TROUBLES).length)
    for (const text of [out, story]) {
      expect(text).not.toMatch(/^\s+at |\.ts:\d+|\b(Type|Syntax|Reference)Error\b|undefined|\[object|NaN/m)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\u202e]/)
    }
  },
  2 * MINUTE,
)
