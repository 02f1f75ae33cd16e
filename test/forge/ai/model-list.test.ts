/** What is known of models without asking: the kept copy of models.dev's list, and the servers that a user names. */
import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { LIST_DATE, listedModel } from '../../../forge/ai/model-list.ts'
import { openModel } from '../../../forge/ai/providers.ts'
import { updateModels } from '../../../forge/ai/update-models.ts'
import { priceOf, requestEstimateOf } from '../../../forge/tasks/runs/prices.ts'
import { ModelServer } from '../../doubles/model-server.ts'
import { ask, HASTY, settingsOf, textOf, troubleOf } from './models.ts'

const KEY = 'key-of-nobody-0123456789'

test('the list has a date, and windows, prices and abilities of the usual providers’ models', async () => {
  expect(LIST_DATE).toMatch(/^20\d\d-\d\d-\d\d$/)
  expect(listedModel('anthropic/claude-sonnet-4-5')).toMatchObject({ window: 200_000, price: [3, 15, 0.3, 3.75] })
  expect(listedModel('openai/gpt-5')?.can).toEqual(['tools', 'schema', 'thinking', 'batch'])
  expect(listedModel('mistral/mistral-large-2512')?.can).toContain('batch')
  expect(listedModel('openrouter/anthropic/claude-sonnet-4.5:nitro')?.window).toBe(1_000_000)
})

test('a model’s price comes from the list at its maker’s own address, and FORGE_PRICES goes before it', async () => {
  const own = await settingsOf({ ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY })
  expect(priceOf('anthropic/claude-sonnet-4-5', own)).toMatchObject({ input: 3, output: 15, cacheRead: 0.3 })
  const set = await settingsOf({ ANTHROPIC_API_KEY: KEY, FORGE_PRICES: 'anthropic/claude-sonnet-4-5=1/2' })
  expect(priceOf('anthropic/claude-sonnet-4-5', set)).toMatchObject({ input: 1, output: 2 })
  const gateway = await settingsOf({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: 'https://gateway.example' })
  expect(priceOf('anthropic/claude-sonnet-4-5', gateway)).toBeUndefined()
})

test('a long request costs what its maker takes for long ones', async () => {
  const price = priceOf('openai/gpt-5.5', await settingsOf({ OPENAI_API_KEY: KEY }))
  expect(requestEstimateOf({ input: 200_000, output: 0 }, price).cost).toBe(1)
  expect(requestEstimateOf({ input: 300_000, output: 0 }, price).cost).toBe(3)
})

test('several named servers are asked side by side, each with its own key', async () => {
  await using mistral = await ModelServer.start([{ text: 'from one' }])
  await using company = await ModelServer.start([{ text: 'from the other' }])
  const settings = await settingsOf({
    FORGE_ENDPOINT_MISTRAL: `${mistral.base('openai')}`,
    MISTRAL_API_KEY: mistral.key,
    FORGE_ENDPOINT_MY_COMPANY: `${company.base('openai')}`,
    FORGE_TIER_REASONING: 'mistral/mistral-large-2512,my-company/team/model',
    MY_COMPANY_API_KEY: company.key,
    NOT_NAMED_API_KEY: 'not-read-by-anything',
  })
  expect(settings.modelsOf('reasoning').map(name => settings.missing(name))).toEqual([undefined, undefined])
  expect(settings.secrets).toEqual([mistral.key, company.key])
  const large = await openModel('mistral/mistral-large-2512', settings, HASTY)
  expect(large.window).toBe(262_144)
  expect(textOf((await ask(large)).answer)).toBe('from one')
  expect(mistral.requests[0]?.headers.authorization).toBe(`Bearer ${mistral.key}`)
  const own = await openModel('my-company/team/model', settings, HASTY)
  expect([own.window, textOf((await ask(own)).answer)]).toEqual([32_768, 'from the other'])
  expect(JSON.parse(company.requests[0]?.body.toString() ?? '')).toMatchObject({
    model: 'team/model',
    max_tokens: 1000,
  })
})

test('a named server that is missing, or refuses the key, is told by its own settings', async () => {
  const none = await settingsOf({ FORGE_MODEL: 'openai/a', OPENAI_API_KEY: KEY })
  expect(none.missing('mistral/large')).toContain('set FORGE_ENDPOINT_MISTRAL=https://… ')
  await using server = await ModelServer.start([{ status: 401, words: 'no' }])
  const settings = await settingsOf({ FORGE_ENDPOINT_MISTRAL: server.base('openai'), MISTRAL_API_KEY: server.key })
  const { message } = troubleOf(await ask(await openModel('mistral/large', settings, HASTY)))
  expect(message).toContain('does not take the key in MISTRAL_API_KEY')
})

test('prices of a named server count where it has a provider’s name; on this machine it costs nothing', async () => {
  const away = await settingsOf({ FORGE_ENDPOINT_MISTRAL: 'https://api.mistral.ai/v1', MISTRAL_API_KEY: KEY })
  expect(priceOf('mistral/mistral-large-2512', away)).toMatchObject({ input: 0.5, output: 1.5 })
  const here = await settingsOf({ FORGE_ENDPOINT_VLLM: 'http://127.0.0.1:8000/v1' })
  expect(priceOf('vllm/qwen', here)).toMatchObject({ input: 0, output: 0 })
  expect(here.missing('vllm/qwen')).toBeUndefined()
  const unknown = await settingsOf({ FORGE_ENDPOINT_GATEWAY: 'https://gateway.example/v1' })
  expect(priceOf('gateway/x', unknown)).toBeUndefined()
})

test('the list is made from a checkout of models.dev, and from its api.json', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'forge-models-'))
  try {
    const write = async (path: string, text: string) => {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
    await write(
      'models/mistral/big.toml',
      'tool_call = true\n[limit]\ncontext = 1_000\noutput = 500\n[modalities]\ninput = ["text"]\noutput = ["text"]\n',
    )
    await write(
      'providers/mistral/models/big.toml',
      'base_model = "mistral/big"\n[limit]\ncontext = 2_000\n[cost]\ninput = 1\noutput = 2\n',
    )
    const made = join(folder, 'made.json')
    expect(await updateModels(folder, made)).toBe(1)
    const wanted = { window: 2000, output: 500, price: [1, 2, 1, 1], can: ['tools', 'batch'] }
    expect(JSON.parse(await readFile(made, 'utf8')).models).toEqual({ 'mistral/big': wanted })
    const limit = { context: 2000, output: 500 }
    const modalities = { input: ['text'], output: ['text'] }
    const big = { tool_call: true, limit, modalities, cost: { input: 1, output: 2 } }
    const image = { ...big, modalities: { input: ['text'], output: ['image'] } }
    await write('api.json', JSON.stringify({ mistral: { models: { big, image } }, unknown: { models: { big } } }))
    expect(await updateModels(join(folder, 'api.json'), made)).toBe(1)
    expect(JSON.parse(await readFile(made, 'utf8')).models).toEqual({ 'mistral/big': wanted })
    expect(updateModels(join(folder, 'nothing'), made)).rejects.toThrow('name an address, a file, or a checkout')
  } finally {
    await rm(folder, { recursive: true })
  }
})
