/** Options that are sent only to the providers themselves, not to compatible servers. */
import { afterEach, expect, mock, spyOn, test } from 'bun:test'
import { openModel } from '../../../forge/ai/providers.ts'
import { ModelServer } from '../../doubles/model-server.ts'
import { ask, HASTY, requestOf, settingsOf, textOf, user } from './models.ts'

afterEach(() => mock.restore())

/** Opens a model at the provider's own address, which is redirected to a local server. */
async function openOwn(server: ModelServer, provider: 'anthropic' | 'openai', name: string) {
  const own = { anthropic: 'https://api.anthropic.com/v1', openai: 'https://api.openai.com/v1' }[provider]
  const here = server.base(provider) + (provider === 'anthropic' ? '/v1' : '')
  const really = globalThis.fetch
  const led = (address: unknown, init?: RequestInit) => really(String(address).replace(own, here), init)
  spyOn(globalThis, 'fetch').mockImplementation(Object.assign(led, { preconnect: really.preconnect }))
  return openModel(name, await settingsOf({ [`${provider.toUpperCase()}_API_KEY`]: server.key }), HASTY)
}

const answered = { role: 'assistant' as const, blocks: [{ type: 'text' as const, text: 'One.' }] }

test('OpenAI is told the most tokens by the name that its newer models take', async () => {
  await using server = await ModelServer.start([{ text: 'ok' }])
  const { answer } = await ask(await openOwn(server, 'openai', 'openai/gpt-5'))
  expect(textOf(answer)).toBe('ok')
  const body = JSON.parse(server.requests[0]?.body.toString() ?? '')
  expect(body).toMatchObject({ max_completion_tokens: 1000 })
  expect(body).not.toHaveProperty('max_tokens')
})

test('where Anthropic says why its cache did not hold, the answer says it', async () => {
  await using server = await ModelServer.start([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  const model = await openOwn(server, 'anthropic', 'anthropic/claude-opus-5-5')
  const first = await ask(model, requestOf(user('Hello.')))
  const held = await ask(model, requestOf(user('Hello.'), answered, user('Go on.')))
  const missed = await ask(
    model,
    requestOf(user('Hello.'), answered, user('Something else.'), answered, user('Go on.')),
  )
  expect([first, held].map(({ answer }) => answer?.miss)).toEqual([undefined, undefined])
  expect(missed.answer?.miss).toBe('an earlier part of the conversation changed')
})

test('where Anthropic does not know that question, it is not asked again', async () => {
  await using server = await ModelServer.start(heard =>
    heard.previous === undefined
      ? { text: 'ok' }
      : { status: 400, words: 'diagnostics: Extra inputs are not permitted' },
  )
  const model = await openOwn(server, 'anthropic', 'anthropic/claude-opus-5-5')
  expect(textOf((await ask(model)).answer)).toBe('ok')
  expect(textOf((await ask(model)).answer)).toBe('ok')
  expect(server.requests).toHaveLength(3)
})

test('a server that only speaks as Anthropic does is asked nothing that is new there', async () => {
  await using server = await ModelServer.start([{ text: 'ok' }])
  const environment = server.environment('anthropic')
  await ask(await openModel(environment.FORGE_MODEL ?? '', await settingsOf(environment)))
  expect(server.requests[0]?.body.toString()).not.toMatch(/diagnostics|eager_input_streaming/)
})
