/** Asking models of three providers that behave and misbehave, over real connections. */
import { describe, expect, test } from 'bun:test'
import { openModel } from '../../../forge/ai/providers.ts'
import type { ModelTrouble } from '../../../forge/ai/request.ts'
import { ModelServer, type Turn } from '../../doubles/model-server.ts'
import { ask, calls, openScripted, PROVIDERS, requestOf, settingsOf, textOf, troubleOf } from './models.ts'

const HELLO: Turn = { text: 'Hello, world: ✓ 🎉' }
const CALL: Turn = {
  text: 'I write it.',
  calls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'ä\n' } }],
}

describe.each(PROVIDERS)('%s', provider => {
  test('text comes as it is said, and whole at the end', async () => {
    await using server = await ModelServer.start([HELLO])
    const { answer, progress } = await ask(await openScripted(server, provider))
    expect(answer).toMatchObject({ blocks: [{ type: 'text', text: HELLO.text }], end: 'done' })
    const deltas = progress.map(news => (news.type === 'text' ? news.delta : ''))
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.join('')).toBe(HELLO.text ?? '')
  })

  test('a thought, text and several calls are kept in their order, and calls are seen while they come', async () => {
    const second = { name: 'delete_file', arguments: {} }
    await using server = await ModelServer.start([
      { reasoning: 'Let me think.', ...CALL, calls: [...(CALL.calls ?? []), second] },
    ])
    const { answer, progress } = await ask(await openScripted(server, provider))
    expect(answer?.blocks.map(block => block.type)).toEqual(['reasoning', 'text', 'call', 'call'])
    expect(calls(answer)).toMatchObject([CALL.calls?.[0] ?? {}, second])
    expect(answer?.end).toBe('calls')
    const [first] = calls(answer)
    expect(progress).toContainEqual({ type: 'call', id: first?.id ?? '', name: 'write_file' })
    const shown = progress.map(news => (news.type === 'arguments' && news.id === first?.id ? news.delta : '')).join('')
    expect(JSON.parse(shown)).toEqual(first?.arguments)
  })

  test.each([1, 7, 100])('a stream in pieces of %i bytes says the same', async pieces => {
    await using server = await ModelServer.start([{ ...CALL, pieces }])
    const { answer } = await ask(await openScripted(server, provider))
    expect(textOf(answer)).toBe(CALL.text ?? '')
    expect(calls(answer)).toMatchObject(CALL.calls ?? [])
  })

  test('an answer that is slow is waited for', async () => {
    await using server = await ModelServer.start([{ ...HELLO, delay: 300, pause: 20 }])
    const { answer } = await ask(await openScripted(server, provider))
    expect(textOf(answer)).toBe(HELLO.text ?? '')
    expect(server.requests).toHaveLength(1)
  })

  type Refusal = [status: number, turn: Turn, trouble: ModelTrouble, word: RegExp]
  const refusals: Refusal[] = [
    [401, {}, 'key', /_API_KEY/],
    [402, {}, 'credit', /no credit left/],
    [403, {}, 'key', /may not use/],
    [404, {}, 'no such model', /choose another/],
    [413, {}, 'too long', /too long/],
    [400, { words: 'prompt is too long: 208310 tokens > 200000 maximum' }, 'too long', /too long/],
    [400, { words: "This model's maximum context length is 8192 tokens." }, 'too long', /too long/],
    [400, { words: 'Your credit balance is too low to access the API.' }, 'credit', /no credit left/],
    [400, { words: 'tools.0: is odd' }, 'refused', /tools\.0: is odd/],
    [429, { words: 'You exceeded your current quota, please check your plan.' }, 'credit', /no credit left/],
    [307, { headers: { location: 'http://127.0.0.1:9/steal' } }, 'broken', /not followed/],
  ]
  test.each(refusals)('%i %j is no use to try again', async (status, turn, trouble, word) => {
    await using server = await ModelServer.start(() => ({ ...turn, status }))
    const asked = await ask(await openScripted(server, provider))
    expect(troubleOf(asked)).toMatchObject({ trouble, message: expect.stringMatching(word) })
    expect(server.requests).toHaveLength(1)
    expect(asked.progress).toEqual([])
  })

  type Passing = [what: string, turn: Turn, trouble: ModelTrouble, requests: number]
  const passing: Passing[] = [
    ['429', { status: 429 }, 'rate', 7],
    ['500', { status: 500 }, 'overloaded', 6],
    ['503 with a page', { status: 503, page: '<html>Down</html>' }, 'overloaded', 6],
    ['529', { status: 529 }, 'overloaded', 6],
    ['an overloaded model in the stream', { ...HELLO, errorAt: { at: 700, status: 529 } }, 'overloaded', 6],
    ['an overloaded model as the first event', { ...HELLO, errorAt: { at: 0, status: 529 } }, 'overloaded', 6],
    ['a rate limit in the stream', { ...HELLO, errorAt: { at: 700, status: 429 } }, 'rate', 7],
    ['a connection that breaks before the answer', { isDropped: true }, 'unreachable', 3],
    ['a stream that breaks', { ...HELLO, cut: { at: 500, how: 'reset' } }, 'cut', 3],
    ['a stream that ends too soon', { ...HELLO, cut: { at: 500, how: 'close' } }, 'cut', 3],
    ['an answer that ends with an error', { ...CALL, end: 'error' }, 'cut', 3],
    ['a stream that ends at once', { ...HELLO, cut: { at: 0, how: 'close' } }, 'cut', 3],
  ]
  test.each(passing)('%s is tried again, with a bound', async (_, turn, trouble, requests) => {
    await using server = await ModelServer.start(() => turn)
    const asked = await ask(await openScripted(server, provider))
    expect(troubleOf(asked).trouble).toBe(trouble)
    expect(server.requests).toHaveLength(requests)
    expect(asked.progress.filter(news => news.type === 'again')).toHaveLength(requests - 1)
  })

  test.each(passing)('%s is over when it is over', async (_, turn) => {
    await using server = await ModelServer.start((__, count) => (count ? CALL : turn))
    const { answer, progress } = await ask(await openScripted(server, provider))
    expect(calls(answer)).toMatchObject(CALL.calls ?? [])
    expect(textOf(answer)).toBe(CALL.text ?? '')
    expect(progress.filter(news => news.type === 'again')).toHaveLength(1)
    expect(server.requests).toHaveLength(2)
    expect(server.requests[1]?.body).toEqual(server.requests[0]?.body ?? Buffer.of())
  })

  test('a rate limit is waited for as long as the provider says', async () => {
    const turns = [{ status: 429, headers: { 'retry-after': '1' } }, HELLO]
    await using server = await ModelServer.start(turns)
    const { answer, progress } = await ask(await openScripted(server, provider))
    expect(textOf(answer)).toBe(HELLO.text ?? '')
    expect(progress.slice(0, 2)).toMatchObject([{ type: 'again', seconds: 1 }, { type: 'resent' }])
    const [first, second] = server.requests
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990)
  })

  test('an answer that breaks off after a rate limit is asked for as often as one without it', async () => {
    const cut: Turn = { ...HELLO, cut: { at: 500, how: 'close' } }
    await using server = await ModelServer.start((_, count) => (count === 0 ? { status: 429 } : cut))
    const asked = await ask(await openScripted(server, provider))
    expect(troubleOf(asked).trouble).toBe('cut')
    expect(server.requests).toHaveLength(4)
  })

  test('what the provider says of its fault is told while that is tried again, and at the end', async () => {
    await using server = await ModelServer.start(() => ({ status: 500, words: 'Internal error at backend 17' }))
    const asked = await ask(await openScripted(server, provider))
    const again = asked.progress.flatMap(news => (news.type === 'again' ? [news.words] : []))
    expect(again[0]).toMatch(/^127\S+ has a fault \(500\); it says: Internal error at backend 17$/)
    expect(troubleOf(asked).message).toMatch(/fault \(500\); it says: Internal error at backend 17: send the message/)
    expect(troubleOf(asked).inRun).toMatch(/fault \(500\)\.$/)
  })

  test('a rate limit for an hour is told with its time, and not waited for', async () => {
    await using server = await ModelServer.start(() => ({ status: 429, headers: { 'retry-after': '3600' } }))
    const trouble = troubleOf(await ask(await openScripted(server, provider)))
    expect(trouble).toMatchObject({ trouble: 'rate', retryAfter: 3600 })
    expect(trouble.message).toContain('60 minutes')
    expect(server.requests).toHaveLength(1)
  })

  test('a connection that breaks after the last word does no harm', async () => {
    await using server = await ModelServer.start(() => ({
      ...CALL,
      pieces: 800,
      pause: 20,
      cut: { at: 1e9, how: 'reset' },
    }))
    const { answer, progress } = await ask(await openScripted(server, provider))
    expect(calls(answer)).toMatchObject(CALL.calls ?? [])
    expect(progress.filter(news => news.type === 'again')).toEqual([])
    expect(server.requests).toHaveLength(1)
  })

  test('a stream that says nothing more is cut, and what came of it is told', async () => {
    await using server = await ModelServer.start(() => ({ text: 'Hello, this is a long text', stall: { at: 900 } }))
    const trouble = troubleOf(await ask(await openScripted(server, provider, { silence: 0.1, again: {} })))
    expect(trouble.trouble).toBe('cut')
    expect(trouble.message).toContain('said nothing')
    expect('Hello, this is a long text').toStartWith(trouble.text)
    expect((await server.requests[0]?.closed)?.isWhole).toBe(false)
  })

  test('signs of life keep a stream alive', async () => {
    const stop = new AbortController()
    await using server = await ModelServer.start(() => ({ ...HELLO, stall: { at: 900, life: true } }))
    const model = await openScripted(server, provider, { silence: 0.2 })
    setTimeout(() => stop.abort(new Error('enough')), 600)
    expect((await ask(model, requestOf(), stop.signal)).error).toEqual(new Error('enough'))
  })

  test('a broken event is an error, and nothing of it is called', async () => {
    await using server = await ModelServer.start(() => ({ ...CALL, nonsenseAt: 1500 }))
    const asked = await ask(await openScripted(server, provider))
    expect(troubleOf(asked).trouble).toBe('broken')
    expect(server.requests).toHaveLength(1)
  })

  test('a page in place of an answer is told as what it is', async () => {
    await using server = await ModelServer.start(() => ({ page: '<html>Log in</html>' }))
    const trouble = troubleOf(await ask(await openScripted(server, provider)))
    expect(trouble.trouble).toBe('broken')
    expect(trouble.message).toContain(`127.0.0.1:${server.port}`)
  })

  test('arguments that are no JSON are in the answer as they came', async () => {
    const broken = '{"path": "a.txt", "content": '
    await using server = await ModelServer.start([{ calls: [{ name: 'write_file', arguments: broken }] }])
    const { answer } = await ask(await openScripted(server, provider))
    expect(calls(answer)).toMatchObject([{ name: 'write_file', arguments: broken }])
  })

  test('arguments that are no JSON and come at once are not taken for none', async () => {
    await using server = await ModelServer.start([{ calls: [{ name: 'write_file', arguments: '{"a":' }] }])
    const { answer } = await ask(await openScripted(server, provider))
    expect(calls(answer)).toMatchObject([{ name: 'write_file', arguments: '{"a":' }])
  })

  test('a tool that was not offered is in the answer by its name', async () => {
    await using server = await ModelServer.start([{ calls: [{ name: 'format disk', arguments: { all: true } }] }])
    const { answer } = await ask(await openScripted(server, provider))
    expect(calls(answer)).toMatchObject([{ name: 'format disk', arguments: { all: true } }])
  })

  test('an answer that reached its most tokens calls nothing', async () => {
    await using server = await ModelServer.start([{ ...CALL, end: 'length' }])
    const { answer } = await ask(await openScripted(server, provider))
    expect(answer?.end).toBe('length')
    expect(calls(answer)).toEqual([])
    expect(textOf(answer)).toBe(CALL.text ?? '')
  })

  test('a model that refuses says so, and calls nothing', async () => {
    await using server = await ModelServer.start([{ ...CALL, text: 'I will not.', end: 'refused' }])
    const { answer } = await ask(await openScripted(server, provider))
    expect(answer?.end).toBe('refused')
    expect(calls(answer)).toEqual([])
  })

  test('a model that answers nothing has an empty answer', async () => {
    await using server = await ModelServer.start([{}])
    const { answer } = await ask(await openScripted(server, provider))
    expect(answer).toMatchObject({ blocks: [], end: 'done' })
  })

  test('two calls with one id get one each, also where it was used before', async () => {
    const call = { name: 'write_file', arguments: { path: 'a' }, id: 'call_0' }
    await using server = await ModelServer.start([{ calls: [call, call] }])
    const earlier = requestOf(
      { role: 'user', blocks: [{ type: 'text', text: 'Write.' }] },
      { role: 'assistant', blocks: [{ type: 'call', id: 'call_0', name: 'write_file', arguments: {} }] },
      { role: 'tool', blocks: [{ type: 'result', id: 'call_0', name: 'write_file', text: 'ok', isError: false }] },
    )
    const { answer } = await ask(await openScripted(server, provider), earlier)
    expect(new Set(['call_0', ...calls(answer).map(({ id }) => id)]).size).toBe(3)
  })

  test('a model that never ends is stopped, and its server hears of it within a second', async () => {
    await using server = await ModelServer.start(() => ({ isEndless: true }))
    const model = await openScripted(server, provider)
    const stop = new AbortController()
    const asked = ask(model, requestOf(), stop.signal)
    await server.asked(1)
    await Bun.sleep(50)
    const at = performance.now()
    stop.abort(new Error('stopped'))
    expect((await asked).error).toEqual(new Error('stopped'))
    expect(performance.now() - at).toBeLessThan(1000)
    expect(((await server.requests[0]?.closed)?.at ?? Number.NaN) - at).toBeLessThan(1000)
  })

  test('a stop while it waits to try again sends nothing more', async () => {
    await using server = await ModelServer.start(() => ({ status: 529 }))
    const model = await openScripted(server, provider, { firstPause: 60, longestPause: 60 })
    const stop = new AbortController()
    const asked = ask(model, requestOf(), stop.signal)
    await server.asked(1)
    await Bun.sleep(50)
    stop.abort(new Error('stopped'))
    expect((await asked).error).toEqual(new Error('stopped'))
    expect(server.requests).toHaveLength(1)
  })

  test('a wrong key is in no error', async () => {
    await using server = await ModelServer.start([], { key: 'another-key-than-that' })
    const environment = server.environment(provider)
    const name = `${provider.toUpperCase()}_API_KEY`
    const settings = await settingsOf({ ...environment, [name]: 'sk-secret-1234567890' })
    const trouble = troubleOf(await ask(await openModel(environment.FORGE_MODEL ?? '', settings)))
    expect(trouble.trouble).toBe('key')
    expect(Bun.inspect(trouble)).not.toContain('sk-secret')
  })

  test('a key that a server sends back is taken out of its words', async () => {
    await using server = await ModelServer.start()
    server.play(() => ({ status: 400, words: `bad ${server.key} ‮txt` }))
    const trouble = troubleOf(await ask(await openScripted(server, provider)))
    expect(trouble.message).toContain('bad ***')
    expect(trouble.message).not.toContain('‮')
  })

  test('what can not be reached is told by its host', async () => {
    const server = await ModelServer.start()
    const model = await openScripted(server, provider, { again: {} })
    await server.stop()
    const trouble = troubleOf(await ask(model))
    expect(trouble.trouble).toBe('unreachable')
    expect(trouble.message).toContain(`127.0.0.1:${server.port} can't be reached`)
  })
})

test('what a request costs is told by the price that is set, where the provider does not', async () => {
  await using server = await ModelServer.start([
    { ...HELLO, counted: { input: 1000, read: 600, write: { '5m': 300, '1h': 0 } } },
  ])
  const environment = server.environment('anthropic')
  const prices = `${environment.FORGE_MODEL}=4/20/0.2/5`
  const settings = await settingsOf({ ...environment, FORGE_PRICES: prices })
  const { answer } = await ask(await openModel(environment.FORGE_MODEL ?? '', settings))
  const { output = 0, cost } = answer?.usage ?? {}
  expect(answer?.usage).toMatchObject({ input: 1000, cacheRead: 600, cacheWrite: 300 })
  expect(cost).toBeCloseTo((100 * 4 + output * 20 + 600 * 0.2 + 300 * 5) / 1e6, 9)
})
