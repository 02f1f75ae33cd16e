/** Batches at local servers that behave as the providers' documents say. */
import { describe, expect, test } from 'bun:test'
import type { BatchableModel, BatchService, LineResult, NamedLine } from '../../../forge/ai/batches/batches.ts'
import { NoBatches } from '../../../forge/ai/batches/batches.ts'
import { MistralBatches } from '../../../forge/ai/batches/mistral.ts'
import { ModelError, type Request } from '../../../forge/ai/request.ts'
import { ModelServer, type Turn } from '../../doubles/model-server.ts'
import { ask, openScripted, requestOf, user } from './models.ts'

type Format = 'anthropic' | 'openai' | 'mistral'
const FORMATS: Format[] = ['anthropic', 'openai', 'mistral']
const NEVER = new AbortController().signal

/** A request with everything that a step's request has. */
const REQUEST: Request = {
  ...requestOf(user('Say “hello” ✓')),
  system: [{ type: 'text', text: 'You work on a branch.', mark: '1h' }],
  mustCall: true,
  thinking: 'low',
  output: 3000,
}
const TURN: Turn = { reasoning: 'Hm.', text: 'Hello.', calls: [{ name: 'write_file', arguments: { path: 'ä' } }] }

type Opened = { model: BatchableModel; service: BatchService; line: (id: string) => Promise<NamedLine> }

async function open(server: ModelServer, format: Format): Promise<Opened> {
  const model: BatchableModel = await openScripted(server, format === 'anthropic' ? 'anthropic' : 'openai')
  const { batches } = model
  if (!batches) throw new Error('The model has no batches.')
  const asked = { name: 'mistral/scripted', provider: 'openai' as const, address: server.base('openai'), secrets: [] }
  const service = format === 'mistral' ? new MistralBatches(asked, server.key, 'scripted') : batches.service
  return { model, service, line: async id => ({ id, ...(await batches.line(REQUEST)) }) }
}

async function collected(service: BatchService, id: string): Promise<Map<string, LineResult>> {
  const results = new Map<string, LineResult>()
  for await (const result of service.results(id, NEVER)) results.set(result.id, result)
  return results
}

const linesOf = async ({ line }: Opened, count: number): Promise<NamedLine[]> =>
  await Promise.all(Array.from({ length: count }, (_, at) => line(`line-${at}`)))

describe.each(FORMATS)('%s', format => {
  test('a line has the bytes of the same request sent now, without what asks for a stream', async () => {
    await using server = await ModelServer.start(() => TURN)
    const { model, service, line } = await open(server, format)
    const { answer, error } = await ask(model, REQUEST)
    if (!answer) throw error
    const sent = server.requests[0]?.body.toString() ?? ''
    const streamed = /,"stream":true(,"stream_options":\{"include_usage":true\})?/
    expect(sent).toMatch(streamed)
    const own = await line('a')
    expect(own.body).toBe(sent.replace(streamed, ''))
    // The provider gets exactly these bytes.
    await service.submit('one', [own], NEVER)
    expect(server.batches.lines).toEqual([{ id: 'a', body: own.body }])
  })

  test('an answer of a batch is read as one that was sent now', async () => {
    await using server = await ModelServer.start(() => TURN)
    const opened = await open(server, format)
    const { model, service } = opened
    const id = await service.submit('one', await linesOf(opened, 3), NEVER)
    expect(await service.look(id, NEVER)).toEqual({ is: 'ended' })
    const results = await collected(service, id)
    expect([...results.keys()].sort()).toEqual(['line-0', 'line-1', 'line-2'])
    const read = await model.batches?.answer(REQUEST, results.get('line-1')?.body ?? '')
    const { answer: now } = await ask(model, REQUEST)
    const plain = (blocks: unknown) => JSON.parse(JSON.stringify(blocks, (key, it) => (key === 'id' ? '' : it)))
    expect(plain(read?.blocks)).toEqual(plain(now?.blocks))
    expect(read?.end).toBe('calls')
    expect(read?.usage).toMatchObject({ input: now?.usage.input, output: now?.usage.output })
    expect(server.batches.refused).toEqual([])
    await service.tidy(id, NEVER)
    expect(server.batches.files).toHaveLength(format === 'anthropic' ? 1 : 0)
  })

  test('lines that fail, expire, come twice or are lost are told apart', async () => {
    await using server = await ModelServer.start(() => TURN)
    server.batches.script = {
      end: at => (['errored', 'expired', 'lost', 'doubled', 'answered'] as const)[at] ?? 'lost',
    }
    const opened = await open(server, format)
    const id = await opened.service.submit('one', await linesOf(opened, 5), NEVER)
    await opened.service.look(id, NEVER)
    const results = await collected(opened.service, id)
    expect(results.get('line-0')?.why).toBe('the provider refused it: Invalid request')
    expect(results.get('line-1')?.why).toBe('its batch expired before its turn came')
    expect(results.has('line-2')).toBe(false)
    expect(results.get('line-3')?.body).toBeDefined()
    expect(results.get('line-4')?.body).toBeDefined()
  })

  test('a cancelled batch ends, and a second cancelling is no error', async () => {
    await using server = await ModelServer.start(() => TURN)
    server.batches.script = { delay: 60_000 }
    const opened = await open(server, format)
    const { service } = opened
    const id = await service.submit('one', await linesOf(opened, 2), NEVER)
    expect(await service.look(id, NEVER)).toEqual({ is: 'under way' })
    await service.cancel(id, NEVER)
    expect((await service.look(id, NEVER)).is).toBe('ended')
    await service.cancel(id, NEVER)
    const results = await collected(service, id)
    expect([...results.values()].map(({ why }) => why)).toEqual(Array(2).fill('its batch was cancelled'))
  })

  test('a batch that an interrupted submission has made is found among hundreds, and no other one', async () => {
    await using server = await ModelServer.start(() => TURN)
    server.batches.script = { delay: 60_000 }
    const opened = await open(server, format)
    const { service, line } = opened
    const one = await line('a')
    expect(await service.newest(NEVER)).toBe('')
    for (let at = 0; at < 3; at++) await service.submit(`before-${at}`, [one, { ...one, id: 'b' }], NEVER)
    const newest = await service.newest(NEVER)
    const sought = { name: 'mine', count: 2, newest, at: Date.now(), not: [] }
    expect(await service.find(sought, NEVER)).toBeUndefined()
    const mine = await service.submit('mine', [one, { ...one, id: 'b' }], NEVER)
    for (let at = 0; at < 150; at++) await service.submit(`after-${at}`, [one], NEVER)
    expect(await service.find(sought, NEVER)).toEqual({ id: mine, isSure: format !== 'anthropic' })
    if (format === 'anthropic') expect(await service.find({ ...sought, not: [mine] }, NEVER)).toBeUndefined()
  })

  test('a submission at a bad time says when to try again', async () => {
    await using server = await ModelServer.start(() => TURN)
    server.batches.script = { refuse: () => ({ status: 429, headers: { 'retry-after': '7' } }) }
    const opened = await open(server, format)
    const error = await opened.service.submit('one', await linesOf(opened, 1), NEVER).catch(it => it)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ trouble: 'rate', retryAfter: 7 })
  })

  test('results that are gone are no results, and a batch that is gone says so', async () => {
    await using server = await ModelServer.start(() => TURN)
    const opened = await open(server, format)
    const { service } = opened
    const id = await service.submit('one', await linesOf(opened, 1), NEVER)
    await service.look(id, NEVER)
    server.batches.script = { gone: 'results' }
    expect((await collected(service, id)).size).toBe(0)
    server.batches.script = { gone: 'batch' }
    expect(await service.look(id, NEVER)).toEqual({ is: 'gone' })
  })

  test('an address without batches is told from one in trouble', async () => {
    await using server = await ModelServer.start(() => TURN)
    server.batches.script = { isMissing: true }
    const { service } = await open(server, format)
    expect(await service.newest(NEVER).catch(it => it)).toBeInstanceOf(NoBatches)
  })
})

test.each(['openai', 'mistral'] as const)('%s: a batch that was refused as a whole says why', async format => {
  await using server = await ModelServer.start(() => TURN)
  server.batches.script = { fate: 'failed' }
  const opened = await open(server, format)
  const id = await opened.service.submit('one', await linesOf(opened, 1), NEVER)
  await opened.service.look(id, NEVER)
  const why = 'the provider refused its batch: Enqueued token limit reached for scripted.'
  expect(await opened.service.look(id, NEVER)).toEqual({ is: 'ended', why })
})

test('at Anthropic, marks last an hour in a batch, and five minutes where a request is sent now', async () => {
  await using server = await ModelServer.start(() => TURN)
  const { model, service } = await open(server, 'anthropic')
  const request: Request = { ...REQUEST, system: [{ type: 'text', text: 'You work on a branch.', mark: '5m' }] }
  const line = await model.batches?.line(request)
  expect(line?.body).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}')
  await ask(model, request)
  expect(server.requests[0]?.body.toString()).toContain('"cache_control":{"type":"ephemeral"}')
  await service.submit('one', [{ id: 'a', body: '{}', betas: ['one', 'two'] }], NEVER)
  expect(server.batches.batches[0]?.headers['anthropic-beta']).toBe('one,two')
})
