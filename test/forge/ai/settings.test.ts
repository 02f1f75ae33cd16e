/** Keys, models and limits, set correctly and wrongly. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openModel } from '../../../forge/ai/providers.ts'
import { readSettings, type Settings } from '../../../forge/ai/settings.ts'
import { refusalOf } from '../../support/refusals.ts'

const KEY = 'sk-ant-very-secret-0123456789'
const OTHER = 'sk-or-also-secret-9876543210'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'forge-settings-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** Settings from a forge.env of these lines, and an environment. */
async function read(lines: string, env: Record<string, string> = {}, mode = 0o600): Promise<Settings> {
  const config = await mkdtemp(join(folder, 'config-'))
  await mkdir(join(config, 'forge'))
  const file = join(config, 'forge', 'forge.env')
  await writeFile(file, lines)
  await chmod(file, mode)
  return readSettings({ XDG_CONFIG_HOME: config, ...env })
}

const refused = (lines: string, env: Record<string, string> = {}, mode?: number): Promise<string> =>
  read(lines, env, mode).then(
    () => 'it was taken',
    (error: Error) => error.message,
  )

test('checks run after a turn, unless that is switched off', async () => {
  expect((await read('')).checksAfterTurn).toBe(true)
  expect((await read('FORGE_TURN_CHECKS=off')).checksAfterTurn).toBe(false)
})

test('forge.env is read as people write it', async () => {
  const settings = await read(
    `# keys\nexport ANTHROPIC_API_KEY="${KEY}"\n\nFORGE_MODEL=anthropic/claude-x\nOPENAI_API_KEY=\n`,
  )
  expect(settings.model).toBe('anthropic/claude-x')
  expect(settings.endpoint('anthropic')).toEqual({
    provider: 'anthropic',
    address: 'https://api.anthropic.com/v1',
    key: KEY,
  })
  expect(settings.endpoint('openai')).toBeUndefined()
  expect(settings.missing()).toBeUndefined()
})

test('the environment goes before forge.env', async () => {
  const settings = await read(`FORGE_MODEL=anthropic/a\nANTHROPIC_API_KEY=${KEY}`, {
    FORGE_MODEL: 'openrouter/v/b',
    FORGE_MODELS: 'anthropic/a, openai/q/c,openrouter/v/b',
  })
  expect(settings.models).toEqual(['openrouter/v/b', 'anthropic/a', 'openai/q/c'])
  expect(settings.endpoint('anthropic')?.key).toBe(KEY)
})

describe('a tier means the models that are set for it:', () => {
  test('its own, in their order, also of several providers', async () => {
    const settings = await read(
      'FORGE_TIER_REASONING=anthropic/big, openrouter/v/big,anthropic/big\nFORGE_MODEL=openai/m',
    )
    expect(settings.modelsOf('reasoning')).toEqual(['anthropic/big', 'openrouter/v/big'])
  })

  test('one that is not set takes the next higher one that is', async () => {
    const settings = await read(
      'FORGE_TIER_REASONING=anthropic/big\nFORGE_TIER_GENERATION=anthropic/mid\nFORGE_MODEL=openai/m',
    )
    expect(settings.modelsOf('summarization')).toEqual(['anthropic/mid'])
    expect(settings.modelsOf('classification')).toEqual(['anthropic/mid'])
  })

  test('where none is higher, the next lower one', async () => {
    const settings = await read('FORGE_TIER_CLASSIFICATION=openai/tiny\nFORGE_TIER_SUMMARIZATION=openai/small')
    expect(settings.modelsOf('reasoning')).toEqual(['openai/small'])
  })

  test('where no tier is set, the default model, or none', async () => {
    expect((await read('FORGE_MODEL=openai/m')).modelsOf('generation')).toEqual(['openai/m'])
    expect((await read('')).modelsOf('generation')).toEqual([])
  })

  test('the tier above is one that means other models', async () => {
    const settings = await read('FORGE_TIER_REASONING=anthropic/big\nFORGE_TIER_SUMMARIZATION=openai/small')
    expect(settings.tierAbove('classification')).toBe('generation')
    expect(settings.tierAbove('summarization')).toBe('generation')
    expect(settings.tierAbove('generation')).toBeUndefined()
    expect(settings.tierAbove('reasoning')).toBeUndefined()
    expect((await read('FORGE_MODEL=openai/m')).tierAbove('classification')).toBeUndefined()
  })

  test('a name that is none is refused by its setting', async () => {
    expect(await refused('FORGE_TIER_GENERATION=gpt')).toContain('FORGE_TIER_GENERATION')
  })
})

test('limits have defaults, and are what is set', async () => {
  expect((await read('')).limits).toEqual({ steps: 100, seconds: 1800, cost: 5 })
  const set = await read('FORGE_TURN_STEPS=7\nFORGE_TURN_MINUTES=2\nFORGE_TURN_COST=0.25')
  expect(set.limits).toEqual({ steps: 7, seconds: 120, cost: 0.25 })
})

describe('without a key, one line says what to set:', () => {
  test('nothing is set', async () => {
    const words = (await read('')).missing() ?? ''
    expect(words).toContain('FORGE_MODEL')
    expect(words).toContain('forge.env')
    expect(words).not.toContain('\n')
  })

  test.each([
    ['anthropic/a', 'ANTHROPIC_API_KEY'],
    ['openrouter/v/a', 'OPENROUTER_API_KEY'],
    ['openai/a', 'OPENAI_BASE_URL'],
  ])('%s needs %s', async (model, name) => {
    const settings = await read(`FORGE_MODEL=${model}`)
    expect(settings.missing()).toContain(name)
    const refusal = await refusalOf(openModel(model, settings))
    expect(refusal).toMatchObject({ trouble: 'key', message: settings.missing() })
  })

  test('a server of one’s own needs none', async () => {
    const settings = await read('FORGE_MODEL=openai/qwen\nOPENAI_BASE_URL=http://localhost:11434/v1/')
    expect(settings.missing()).toBeUndefined()
    expect(settings.endpoint('openai')).toEqual({ provider: 'openai', address: 'http://localhost:11434/v1' })
  })

  test('what a model costs, where the provider does not tell', async () => {
    const settings = await read('FORGE_PRICES=anthropic/a=4/20/0.2/5, openai/b:c=1.5/3')
    expect(settings.price('anthropic/a')).toEqual({ input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 })
    expect(settings.price('openai/b:c')).toEqual({ input: 1.5, output: 3, cacheRead: 1.5, cacheWrite: 1.5 })
    expect(settings.price('openai/c')).toBeUndefined()
  })

  test('a branch that has chosen what is no model', async () => {
    expect((await read('')).missing('gpt\n5')).toContain('gpt\\x0a5')
  })
})

describe('a wrong setting is told by its name and never by its value:', () => {
  const wrong: [string, RegExp][] = [
    [`ANTHROPIC_API_KEY="${KEY} ${OTHER}"`, /ANTHROPIC_API_KEY.*blanks/],
    ['OPENAI_BASE_URL=https://me:hidden-password@host/v1', /OPENAI_BASE_URL.*without user/],
    ['FORGE_MODEL=hidden-password', /FORGE_MODEL in .* must be/],
    ['FORGE_MODELS=anthropic/a,hidden-password', /FORGE_MODELS in .* must be/],
    ['FORGE_TURN_STEPS=0', /FORGE_TURN_STEPS in .* must be/],
    ['FORGE_TURN_MINUTES=soon', /FORGE_TURN_MINUTES in .* must be/],
    ['FORGE_TURN_CHECKS=maybe', /FORGE_TURN_CHECKS in .* must be on or off/],
    ['FORGE_TURN_COST=-1', /FORGE_TURN_COST in .* must be/],
    ['FORGE_TURN_COST=0', /FORGE_TURN_COST in .* must be/],
    ['FORGE_PRICES=anthropic/a=4', /FORGE_PRICES in .* must be/],
    ['FORGE_PRICES=hidden-password=4/5', /FORGE_PRICES in .* must be/],
    ['FORGE_WINDOW=12', /FORGE_WINDOW in .* must be/],
    ['FORGE_WINDOW=openai/a=12', /FORGE_WINDOW in .* must be/],
    ['FORGE_THINKING_REASONING=hidden-password', /FORGE_THINKING_REASONING in .* must be none, low/],
    ['FORGE_ENDPOINT_MISTRAL=https://me:hidden-password@host/v1', /FORGE_ENDPOINT_MISTRAL.*without user/],
    ['FORGE_ENDPOINT_OPENAI=https://host/v1', /FORGE_ENDPOINT_OPENAI.*use OPENAI_BASE_URL/],
    ['FORGE_TIER_REASONING=mistral/large', /FORGE_TIER_REASONING in .* must be .*no server of that name/],
    ['FORGE_MODLE=hidden-password', /FORGE_MODLE.*no setting/],
    ['hidden-password', /Line 1 .*NAME=value/],
  ]
  test.each(wrong)('%s', async (line, words) => {
    const inFile = await refused(line)
    expect(inFile).toMatch(words)
    expect(inFile).not.toMatch(/hidden-password|secret/)
    const [name = '', ...value] = line.split('=')
    if (/NAME|MODLE/.test(words.source)) return
    const inEnvironment = await refused('', { [name]: value.join('=') })
    expect(inEnvironment).toContain(`${name} in the environment`)
    expect(inEnvironment).not.toMatch(/hidden-password|secret/)
  })

  test('all of them at once', async () => {
    const words = await refused('FORGE_TURN_STEPS=0\nFORGE_TURN_COST=x')
    expect(words).toContain('FORGE_TURN_STEPS')
    expect(words).toContain('FORGE_TURN_COST')
  })
})

test('a forge.env that others can read is not taken', async () => {
  expect(await refused(`ANTHROPIC_API_KEY=${KEY}`, {}, 0o644)).toMatch(/chmod 600/)
})

test('settings show no key, however they are shown', async () => {
  const settings = await read(`ANTHROPIC_API_KEY=${KEY}\nOPENROUTER_API_KEY=${OTHER}\nOPENAI_API_KEY=x`)
  expect(settings.secrets).toEqual([KEY, OTHER])
  const shown = [
    JSON.stringify({ settings }),
    Bun.inspect(settings),
    String(settings),
    Bun.inspect({ deep: [settings] }),
  ]
  for (const text of shown) expect(text).not.toMatch(/secret/)
  expect(JSON.stringify(settings)).toContain('anthropic')
})

test.each([
  ['https://proxy.example/anthropic', 'https://proxy.example/anthropic/v1'],
  ['https://proxy.example/v1/', 'https://proxy.example/v1'],
])('Anthropic at %s is asked at %s', async (set, address) => {
  const settings = await read(`ANTHROPIC_API_KEY=${KEY}\nANTHROPIC_BASE_URL=${set}`)
  expect(settings.endpoint('anthropic')?.address).toBe(address)
})

test.each([
  ['anthropic/claude-opus-5-5', 1_000_000],
  ['anthropic/claude-haiku-4-5', 200_000],
  ['anthropic/claude-3-5-sonnet-20241022', 200_000],
  ['openrouter/anthropic/claude-opus-4.6', 1_000_000],
  ['openrouter/vendor/unknown', 200_000],
  ['openai/qwen', 32_768],
])('%s has a window of %i tokens', async (name, window) => {
  const lines = `ANTHROPIC_API_KEY=${KEY}\nOPENROUTER_API_KEY=${OTHER}\nOPENAI_BASE_URL=http://localhost:1/v1`
  expect((await openModel(name, await read(lines))).window).toBe(window)
})

test('FORGE_WINDOW goes before what is known of a model: for all, or for those that it names', async () => {
  const lines = `ANTHROPIC_API_KEY=${KEY}\nOPENAI_BASE_URL=http://localhost:1/v1\n`
  const all = await read(`${lines}FORGE_WINDOW=65536`)
  expect((await openModel('openai/qwen', all)).window).toBe(65_536)
  expect((await openModel('anthropic/claude-opus-5-5', all)).window).toBe(65_536)
  const one = await read(`${lines}FORGE_WINDOW=openai/qwen=8192`)
  expect((await openModel('openai/qwen', one)).window).toBe(8192)
  expect((await openModel('anthropic/claude-opus-5-5', one)).window).toBe(1_000_000)
})
