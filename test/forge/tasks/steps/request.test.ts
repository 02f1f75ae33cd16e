/** Which model a step asks, of those that are set for its tier. */
import { expect, test } from 'bun:test'
import { modelFor, reviewersOf } from '../../../../forge/tasks/steps/request.ts'
import { settingsOf } from '../../ai/models.ts'

const KEYS = {
  ANTHROPIC_API_KEY: 'key-of-nobody',
  OPENAI_API_KEY: 'key-of-nobody',
  OPENROUTER_API_KEY: 'key-of-nobody',
}

const settingsWith = (names: string) => settingsOf({ ...KEYS, FORGE_TIER_REASONING: names })

test('two reviewers are of two providers where there are two, in whatever order they are named', async () => {
  const settings = await settingsWith('openai/a,openai/b,anthropic/c')
  expect(reviewersOf(settings, 'reasoning')).toBe(2)
  expect([0, 1].map(choice => modelFor(settings, 'reasoning', choice))).toEqual(['openai/a', 'anthropic/c'])
})

test('of one provider’s models one is asked, since a second one is no other opinion', async () => {
  for (const names of ['openai/a', 'openai/a,openai/b'])
    expect(reviewersOf(await settingsWith(names), 'reasoning')).toBe(1)
})

test('what OpenRouter passes on is its maker’s', async () => {
  const two = await settingsWith('openrouter/one/a,openrouter/one/b,openrouter/two/c')
  expect(reviewersOf(two, 'reasoning')).toBe(2)
  expect([0, 1].map(choice => modelFor(two, 'reasoning', choice))).toEqual(['openrouter/one/a', 'openrouter/two/c'])
  expect(reviewersOf(await settingsWith('anthropic/a,openrouter/anthropic/b'), 'reasoning')).toBe(1)
})
