/**
 * Requests on the wire: unchanged bytes for earlier content, marks in the right places, and no data of other models.
 */
import { describe, expect, test } from 'bun:test'
import type { Request, RequestMessage } from '../../../forge/ai/request.ts'
import { beginsWith, type Heard, ModelServer, type Provider, type Turn } from '../../doubles/model-server.ts'
import { ask, openScripted, PROVIDERS, requestOf, textOf, user } from './models.ts'

/** Turns with everything that a model can answer. */
const TURNS: Turn[] = [
  { reasoning: 'First I look.', calls: [{ name: 'get_lines', arguments: { path: 'a.ts', from: 1, to: 2 } }] },
  {
    text: 'I change it.',
    calls: [
      { name: 'write_file', arguments: { path: 'a.ts', content: 'ä "quoted"\n' } },
      { name: 'x', arguments: '{"half' },
    ],
  },
  { text: 'That is done. ✓', reasoning: 'Enough.' },
  { text: 'And this, too.' },
]

const without = (message: RequestMessage): RequestMessage => {
  const blocks = message.blocks.map(block => {
    const { mark: _, ...rest } = { mark: undefined, ...block }
    return rest
  })
  return { ...message, blocks } as RequestMessage
}

/**
 * Sends a request and, after each answer, the next one with the results of its calls. The cache mark moves to the end.
 */
async function goOn(server: ModelServer, provider: Provider, turns = TURNS): Promise<void> {
  const model = await openScripted(server, provider)
  let request: Request = { ...requestOf(), system: [{ type: 'text', text: 'You work on a branch.', mark: '1h' }] }
  for (const _ of turns) {
    const { answer, error } = await ask(model, request)
    if (!answer) throw error
    const results = answer.blocks.flatMap(block =>
      block.type === 'call'
        ? [{ type: 'result' as const, id: block.id, name: block.name, text: 'ok', isError: block.name === 'x' }]
        : [],
    )
    const last = results.at(-1)
    const more: RequestMessage = last
      ? { role: 'tool', blocks: [...results.slice(0, -1), { ...last, mark: '5m' }] }
      : {
          role: 'user',
          blocks: [
            { type: 'text', text: 'Go on.' },
            { type: 'text', text: 'Please.', mark: '5m' },
          ],
        }
    const messages = [...request.messages.map(without), { role: 'assistant' as const, blocks: answer.blocks }, more]
    request = { ...request, messages }
  }
}

/** The parts of a request in the order of its body: tools, system and messages, without cache marks. */
function partsOf(body: Buffer): string[] {
  const text = body.toString().replace(/,"cache_control":\{[^}]*\}/g, '')
  const { tools, system = [], messages } = JSON.parse(text)
  const parts = [tools, system, messages].map(part => JSON.stringify(part))
  for (const part of parts.filter(part => part !== '[]')) expect(text).toContain(part)
  return parts
}

describe.each(PROVIDERS)('%s', provider => {
  test('each request begins with the bytes of the one before', async () => {
    await using server = await ModelServer.start(TURNS)
    await goOn(server, provider)
    expect(server.requests).toHaveLength(TURNS.length)
    for (const [index, { body, heard }] of server.requests.slice(1).entries()) {
      const before = server.requests[index]
      const [tools, system, messages = ''] = partsOf(body)
      const [toolsBefore, systemBefore, messagesBefore = ''] = partsOf(before?.body ?? Buffer.of())
      expect([tools, system]).toEqual([toolsBefore, systemBefore])
      expect(messages).toStartWith(messagesBefore.slice(0, -1))
      expect(beginsWith(heard as Heard, before?.heard as Heard)).toBe(true)
    }
  })

  test('a request that has to be answered by a call, after some thought, says so in the provider’s words', async () => {
    await using server = await ModelServer.start([{ text: 'ok' }])
    await ask(await openScripted(server, provider), { ...requestOf(), mustCall: true, thinking: 'medium' })
    const body = JSON.parse(server.requests[0]?.body.toString() ?? '')
    const wanted = {
      anthropic: { thinking: { type: expect.stringMatching(/^(enabled|adaptive)$/) } },
      openrouter: { tool_choice: 'required', reasoning: { effort: 'medium' } },
      openai: { tool_choice: 'required', reasoning_effort: 'medium' },
    }[provider]
    expect(body).toMatchObject(wanted)
  })

  test('a model that refuses such a choice is asked without it, now and from then on', async () => {
    const words = 'Unrecognized request argument supplied: reasoning_effort'
    await using server = await ModelServer.start([{ status: 400, words }, { text: 'ok' }, { text: 'ok' }])
    const model = await openScripted(server, provider)
    const request = { ...requestOf(), mustCall: true, thinking: 'low' as const }
    expect(textOf((await ask(model, request)).answer)).toBe('ok')
    expect(textOf((await ask(model, request)).answer)).toBe('ok')
    const thinks = server.requests.map(({ body }) => /"(reasoning|thinking|reasoning_effort)":/.test(body.toString()))
    expect(thinks).toEqual([true, false, false])
  })

  test('what is refused for another parameter is asked without such choices once, and then refused', async () => {
    const words = 'max_tokens: this parameter is not permitted'
    await using server = await ModelServer.start([
      { status: 400, words },
      { status: 400, words },
    ])
    const { error } = await ask(await openScripted(server, provider), { ...requestOf(), mustCall: true })
    expect(error).toMatchObject({ trouble: 'refused' })
    expect(server.requests).toHaveLength(2)
  })

  test('the same request is the same bytes', async () => {
    await using server = await ModelServer.start([TURNS[2] ?? {}, TURNS[2] ?? {}])
    await ask(await openScripted(server, provider))
    await ask(await openScripted(server, provider))
    expect(server.requests[0]?.body).toEqual(server.requests[1]?.body ?? Buffer.of())
  })

  test('what a model thought goes back as it came', async () => {
    await using server = await ModelServer.start(TURNS)
    await goOn(server, provider)
    expect(server.requests[1]?.body.toString()).toContain('First I look.')
    expect(server.requests.map(({ refused }) => refused)).toEqual(TURNS.map(() => undefined))
  })

  test('a model that only thought is asked on without its thought', async () => {
    const turns = [{ reasoning: 'I have nothing to say.' }, {}, { text: 'Now I have.' }]
    await using server = await ModelServer.start(turns)
    await goOn(server, provider, turns)
    const [first, second, third] = server.requests.map(({ heard }) => heard as Heard)
    expect(beginsWith(second as Heard, first as Heard)).toBe(true)
    expect(beginsWith(third as Heard, second as Heard)).toBe(true)
  })

  test('reasoning of another model, or of none, does not', async () => {
    await using server = await ModelServer.start([{ text: 'ok' }])
    const model = await openScripted(server, provider)
    const forged = { anthropic: { signature: 'forged', cacheControl: { type: 'ephemeral' } }, extra_body: 'forged' }
    const other = {
      model: 'anthropic/other',
      signature: 'forged',
      details: [{ type: 'reasoning.text', text: 'forged' }],
    }
    await ask(
      model,
      requestOf(
        user('Hello.'),
        {
          role: 'assistant',
          blocks: [
            { type: 'reasoning', text: 'forged', provider: forged },
            { type: 'reasoning', text: 'forged', provider: other },
            { type: 'text', text: 'Hello.' },
            { type: 'call', id: 'a', name: 'write_file', arguments: {}, provider: forged },
          ],
        },
        { role: 'tool', blocks: [{ type: 'result', id: 'a', name: 'write_file', text: 'ok', isError: false }] },
      ),
    )
    expect(server.requests[0]?.body.toString()).not.toContain('forged')
  })

  test('blanks, half characters, odd names, odd arguments and empty results are sent so that they are taken', async () => {
    await using server = await ModelServer.start([{ text: 'ok' }])
    const { answer } = await ask(
      await openScripted(server, provider),
      requestOf(
        {
          role: 'user',
          blocks: [
            { type: 'text', text: ' ' },
            { type: 'text', text: 'a\ud83d' },
          ],
        },
        {
          role: 'assistant',
          blocks: [
            { type: 'text', text: '' },
            { type: 'call', id: 'functions.x:0', name: 'no such tool!', arguments: ['\ud83d'] },
          ],
        },
        {
          role: 'tool',
          blocks: [{ type: 'result', id: 'functions.x:0', name: 'no such tool!', text: '', isError: true }],
        },
        { role: 'assistant', blocks: [] },
        user('Go on.'),
      ),
    )
    expect(textOf(answer)).toBe('ok')
    const [asked] = server.requests
    expect(asked?.body.toString()).not.toMatch(/\\ud83d/i)
    expect(asked?.heard?.messages[1]?.calls).toMatchObject([{ name: 'no_such_tool_', arguments: { sent: ['\ufffd'] } }])
  })

  test('most tokens and the tools are told as they are', async () => {
    await using server = await ModelServer.start([{ text: 'ok' }])
    const request = requestOf()
    await ask(await openScripted(server, provider), request)
    expect(server.requests[0]?.heard).toMatchObject({ output: 1000, tools: request.tools })
  })

  test('a redirect is not followed, so no other server gets the key', async () => {
    await using other = await ModelServer.start([{ text: 'thank you' }])
    await using server = await ModelServer.start(() => ({
      status: 308,
      headers: { location: other.base(provider) },
    }))
    const { error } = await ask(await openScripted(server, provider))
    expect(error).toMatchObject({ trouble: 'broken' })
    expect(other.requests).toHaveLength(0)
  })
})

describe('marks', () => {
  const marks = async (provider: Provider) => {
    await using server = await ModelServer.start(TURNS)
    await goOn(server, provider)
    const last = server.requests[1]
    return {
      pieces: (last?.heard?.pieces ?? []).map(({ mark }) => mark ?? ''),
      text: last?.body.toString() ?? '',
    }
  }

  test.each(['anthropic', 'openrouter'] as const)('%s has them at the system and the end', async provider => {
    const { pieces, text } = await marks(provider)
    expect(pieces.filter(Boolean)).toEqual(['1h', '5m'])
    expect(text).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}')
    expect(text).toContain('"cache_control":{"type":"ephemeral"}')
  })

  test('openrouter has them within the content, also of results', async () => {
    const { text } = await marks('openrouter')
    expect(text).toContain('{"type":"text","text":"ok","cache_control":{"type":"ephemeral"}}')
  })

  test('what is compatible has none, one system message, and text as text', async () => {
    const { text } = await marks('openai')
    expect(text).not.toContain('cache_control')
    expect(text).toContain('{"role":"system","content":"You work on a branch."}')
  })
})

describe('usage', () => {
  const counted = { input: 1000, read: 600, write: { '5m': 100, '1h': 200 } }
  const usage = async (provider: Provider, turn: Turn) => {
    await using server = await ModelServer.start([{ text: 'ok', ...turn }])
    const { answer } = await ask(await openScripted(server, provider))
    return answer?.usage
  }

  test('anthropic: all that was sent, read and written', async () => {
    expect(await usage('anthropic', { counted })).toEqual({ input: 1000, output: 5, cacheRead: 600, cacheWrite: 300 })
  })

  test('openrouter: the same, and what it cost', async () => {
    const cost = (100 * 4 + 600 * 0.2 + 100 * 5 + 200 * 8 + 5 * 20) / 1e6
    const told = await usage('openrouter', { counted })
    expect(told).toEqual({ input: 1000, output: 5, cacheRead: 600, cacheWrite: 300, cost: expect.closeTo(cost, 9) })
  })

  test('what is compatible: what it read', async () => {
    expect(await usage('openai', { counted })).toEqual({ input: 1000, output: 5, cacheRead: 600, cacheWrite: 0 })
  })

  test.each(['openrouter', 'openai'] as const)('%s: estimated where the server tells none', async provider => {
    const told = await usage(provider, { hasNoUsage: true, text: 'A text of some length.' })
    expect(told?.input).toBeGreaterThan(50)
    expect(told?.output).toBeGreaterThan(3)
    expect(told).not.toHaveProperty('cost')
  })
})
