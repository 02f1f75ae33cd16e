/** Which of a tier's models a step asks, and the content of its request. */
import { expect, test } from 'bun:test'
import type { StepKind, Tier } from '../../../../forge/tasks/contract.ts'
import type { Plan } from '../../../../forge/tasks/plan/schema.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import {
  buildRequest,
  modelFor,
  parseRequest,
  reviewersOf,
  thinkingFor,
} from '../../../../forge/tasks/steps/request.ts'
import { commit } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'
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

const PLAN: Plan = {
  title: 'Tides',
  summary: 'Tides.',
  contract: [{ id: 'A1', says: 'There is a tide.', how: { kind: 'command', command: 'test -e a.ts', seconds: 9 } }],
  tasks: [
    {
      id: 'tide',
      title: 'A tide',
      objective: { behaviour: 'Write a tide.', outputs: ['a.ts'], acceptance: [] },
      claims: ['A1'],
      boundaries: { write: ['a.ts'], never: [] },
      context: { files: [], tests: [], documents: [] },
      validation: { checks: [], reviews: ['Is it one?'] },
      depends_on: [],
      tier: 'generation',
      recursion: 0,
      size: 'small',
    },
  ],
}

test('after an attempt that failed, the next one is told why, and its reviewer is not', async () => {
  await using place = await makePlace()
  const from = await commit(place.path, 'main', {
    'a.ts': 'export const tide = 1\n',
    'b.ts': 'export const wind = 1\n',
  })
  const base = await commit(place.path, 'main', {
    'a.ts': 'export const tide = 2\n',
    'b.ts': 'export const wind = 1\n',
  })
  const run = '20261123-request-test'
  const store = new RunStore(place.objects, run)
  const about = [await store.putJson('plan', PLAN), await store.put('report', 'b.ts: the wind was not changed')]
  const asked = async (kind: StepKind): Promise<string> => {
    const input = { run, attempt: 2, step: kind, kind, tier: 'generation', choice: 0, depth: 0, about } as const
    const sources = { objects: place.objects, store, model: { name: 'anthropic/x', window: 200_000 }, secrets: [] }
    const built = await buildRequest(
      { ...input, base, task: 'tide' },
      { ...sources, ...(kind === 'review' && { from }) },
    )
    return built.bytes
  }
  expect(await asked('implement')).toContain('the wind was not changed')
  const review = await asked('review')
  expect(review).not.toContain('the wind was not changed')
  expect(review).not.toContain('export const wind')
})

test('an answer has room by its kind, and thoughts on top by its tier; each is to end with a call', async () => {
  await using place = await makePlace()
  const base = await commit(place.path, 'main', { 'a.ts': 'export const tide = 1\n' })
  const run = '20261123-request-test'
  const store = new RunStore(place.objects, run)
  const about = [await store.putJson('plan', PLAN)]
  const settings = await settingsOf({ FORGE_THINKING_SUMMARIZATION: 'medium' })
  const roomFor = async (kind: StepKind, tier: Tier, name = 'anthropic/x') => {
    const input = { run, attempt: 1, step: kind, kind, tier, choice: 0, depth: 0, about, base, task: 'tide' } as const
    const model = { name, window: 200_000, thinking: thinkingFor(settings, tier, name) }
    const sources = { objects: place.objects, store, model, secrets: [] }
    const { request } = parseRequest(JSON.parse((await buildRequest(input, sources)).bytes))
    return [request.output, request.thinking, request.mustCall]
  }
  expect(await roomFor('review', 'generation')).toEqual([12_000, 'low', true])
  expect(await roomFor('implement', 'generation')).toEqual([36_000, 'low', true])
  expect(await roomFor('implement', 'reasoning')).toEqual([48_000, 'high', true])
  expect(await roomFor('summarise', 'classification')).toEqual([8000, undefined, true])
  expect(await roomFor('summarise', 'summarization')).toEqual([16_000, 'medium', true])
  // By the list of models, this one answers with at most 16,384 tokens, and does not think.
  expect(await roomFor('implement', 'reasoning', 'openai/gpt-4o')).toEqual([16_384, undefined, true])
})

test('how much a model thinks is set by tier, as far as it can', async () => {
  const settings = await settingsOf({
    FORGE_THINKING_GENERATION: 'xhigh',
    FORGE_THINKING_REASONING: 'none',
    FORGE_THINKING_CLASSIFICATION: 'medium',
  })
  expect(thinkingFor(settings, 'generation', 'anthropic/x')).toBe('xhigh')
  expect(thinkingFor(settings, 'reasoning', 'anthropic/x')).toBeUndefined()
  expect(thinkingFor(settings, 'generation', 'openai/o3')).toBe('high')
  // This model knows no effort but high.
  expect(thinkingFor(settings, 'classification', 'mistral/mistral-medium-2604')).toBe('high')
  expect(thinkingFor(settings, 'classification', 'openai/gpt-4o')).toBeUndefined()
})

test('a model that can’t call tools is not asked', async () => {
  const settings = await settingsOf({ FORGE_MODEL: 'openai/gpt-3.5-turbo', OPENAI_API_KEY: 'key-of-nobody' })
  expect(() => modelFor(settings, 'generation', 0)).toThrow("can't call tools, by which every step answers")
})
