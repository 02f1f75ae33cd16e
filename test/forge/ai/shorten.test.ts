/** A conversation that is too long: its older part is summarised, or it stays as it was. */
import { describe, expect, test } from 'bun:test'
import { requestFor } from '../../../forge/ai/context.ts'
import { prepareSession } from '../../../forge/ai/opening.ts'
import { type Model, type ModelAnswer, ModelError, type Request, type Usage } from '../../../forge/ai/request.ts'
import { type Session, withAnswer, withUser } from '../../../forge/ai/session.ts'
import { readSession, writeSession } from '../../../forge/ai/session-file.ts'
import { shorten } from '../../../forge/ai/shorten.ts'
import { beginsWith } from '../../doubles/model-server.ts'
import { refusedBy } from '../../support/refusals.ts'
import { clean, Talk } from './talk.ts'

const usage: Usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
const WINDOW = 20_000
const READ = { calls: [0, 1, 2, 3].map(at => ({ name: 'get_lines', arguments: { path: `f${at}.ts` } })) }
const FILES = Object.fromEntries(
  Array.from({ length: 6 }, (_, at) => [`f${at}.ts`, `// File ${at}.\n${'x = 1\n'.repeat(300)}`]),
)

/** A model with fixed answers, and the requests that it got. */
function modelThat(answers: () => Partial<ModelAnswer>): { model: Model; requests: Request[] } {
  const requests: Request[] = []
  const ask = async (request: Request): Promise<ModelAnswer> => {
    requests.push(request)
    return { blocks: [], end: 'done', usage, ...answers() }
  }
  return { model: { name: 'anthropic/claude-scripted', window: WINDOW, ask }, requests }
}

/** A conversation of four turns, each of which reads four files. */
async function longTalk(): Promise<Talk> {
  const talk = await Talk.open(FILES)
  for (let turn = 0; turn < 4; turn++) await talk.turn(`Read them, the ${turn}. time.`, [READ, { text: 'Read.' }])
  return talk
}

const options = async (talk: Talk, model: Model) => ({
  state: { ...(await talk.state()), model: { name: model.name, window: WINDOW } },
  model,
  turn: 'turn-5',
  now: talk.now,
  signal: new AbortController().signal,
  onProgress: () => undefined,
  clean,
})

const textOf = (request: Request): string =>
  request.messages.flatMap(({ blocks }) => blocks.map(block => ('text' in block ? block.text : ''))).join('\n')

test('the older part is sent as its summary; the session keeps all of it', async () => {
  await using talk = await longTalk()
  const { model, requests } = modelThat(() => ({ blocks: [{ type: 'text', text: 'They were read with sk-1.' }] }))
  const given = { ...(await options(talk, model)), clean: (text: string) => text.replace('sk-1', '[secret]') }
  const before = talk.session
  const { session, isShortened, words } = await shorten(before, given)
  expect([isShortened, words]).toEqual([true, expect.stringContaining('is sent as a summary')])
  expect(session.messages.filter(({ kind }) => kind !== 'summary')).toEqual(before.messages)
  expect(textOf(requests[0] as Request)).toMatch(/This conversation becomes too long.*$/s)
  const next = await requestFor(withUser(session, { turn: 'turn-5', at: talk.now, text: 'Go on' }, clean), given.state)
  const text = textOf(next)
  expect(text).toContain('Your own summary of the conversation so far:\nThey were read with [secret].')
  expect(text).not.toContain('Read them, the 0. time.')
  expect(text).toContain('Read them, the 3. time.')
  expect(text.length / 3.6).toBeLessThan(WINDOW / 2)
  expect(readSession(writeSession(session))).toEqual({ session })
})

test('in the middle of a turn, what the person wants is said again', async () => {
  await using talk = await Talk.open(FILES)
  talk.session = await prepareSession(talk.session, await talk.state(), talk.now)
  talk.session = withUser(talk.session, { turn: 'turn-5', at: talk.now, text: 'Do the one thing.' }, clean)
  const blocks = Array.from({ length: 5 }, (_, at) => ({
    type: 'text' as const,
    text: `${at} ${'word '.repeat(4000)}`,
  }))
  for (const block of blocks)
    talk.session = withAnswer(talk.session, { turn: 'turn-5', model: 'm', answer: { blocks: [block], usage } }, clean)
  const { model } = modelThat(() => ({ blocks: [{ type: 'text', text: 'Half done.' }] }))
  const given = await options(talk, model)
  const { session } = await shorten(talk.session, given)
  const { messages } = await requestFor(session, given.state)
  const texts = messages.flatMap(({ role, blocks }) =>
    blocks.map(block => `${role}: ${'text' in block ? block.text : ''}`),
  )
  expect(texts.slice(1, 3)).toEqual([
    'user: [The desk says:] Your own summary of the conversation so far:\nHalf done.',
    'user: # The person says\nDo the one thing.',
  ])
})

test('no request for a summary has the large last message or answer that does not fit into the window', async () => {
  const large = 'word '.repeat(15_000)
  for (const isAnswer of [false, true]) {
    await using talk = await longTalk()
    const count = talk.session.messages.length
    talk.session = withUser(talk.session, { turn: 'turn-5', at: talk.now, text: isAnswer ? 'Go on' : large }, clean)
    const answer = { blocks: [{ type: 'text' as const, text: large }], usage: { ...usage, output: 25_000 } }
    if (isAnswer) talk.session = withAnswer(talk.session, { turn: 'turn-5', model: 'm', answer }, clean)
    const { model, requests } = modelThat(() => ({ blocks: [{ type: 'text', text: 'They were read.' }] }))
    const { session, isShortened } = await shorten(talk.session, await options(talk, model))
    expect([isShortened, requests.length]).toEqual([true, 1])
    expect(textOf(requests[0] as Request)).not.toContain('word word')
    expect(session.messages.findIndex(({ kind }) => kind === 'summary')).toBe(isAnswer ? count + 1 : count)
  }
})

describe('where nothing comes of it, the session stays as it was, and it is said', () => {
  const FAILURES: [what: string, answer: () => Partial<ModelAnswer>, words: RegExp][] = [
    ['nothing', () => ({}), /was empty/],
    ['a call', () => ({ blocks: [{ type: 'call', id: 'c', name: 'x', arguments: {} }], end: 'calls' }), /was empty/],
    ['half of it', () => ({ blocks: [{ type: 'text', text: 'Half' }], end: 'length' }), /too long/],
    ['far too much', () => ({ blocks: [{ type: 'text', text: 'x'.repeat(50_000) }] }), /too long/],
    ['no', () => ({ blocks: [{ type: 'text', text: 'No.' }], end: 'refused' }), /refused/],
    [
      'an error',
      () => {
        throw new ModelError('overloaded', 'The model is overloaded: try again.')
      },
      /overloaded: try again/,
    ],
  ]
  test.each(FAILURES)('the model answers %s', async (_, answers, words) => {
    await using talk = await longTalk()
    const { model } = modelThat(answers)
    const shortened = await shorten(talk.session, await options(talk, model))
    expect(shortened).toMatchObject({ session: talk.session, isShortened: false })
    expect(shortened.words).toMatch(words)
  })

  test('the conversation is not what is long', async () => {
    await using talk = await Talk.open(FILES)
    await talk.turn('Hello', [{ text: 'Hi' }])
    const { model, requests } = modelThat(() => ({}))
    const shortened = await shorten(talk.session, await options(talk, model))
    expect([shortened.isShortened, requests.length]).toEqual([false, 0])
    expect(shortened.words).toMatch(/take files out of the context/)
  })

  test('the person stops it', async () => {
    await using talk = await longTalk()
    const stop = new AbortController()
    const { model } = modelThat(() => {
      stop.abort(new Error('stopped by the person'))
      throw stop.signal.reason
    })
    expect(await refusedBy(shorten(talk.session, { ...(await options(talk, model)), signal: stop.signal }))).toThrow(
      'stopped by the person',
    )
  })
})

test('on the wire, the summary is asked for at the end of the chain, and the chain goes on behind it', async () => {
  await using talk = await longTalk()
  const asked = talk.server.requests.length
  talk.server.play(() => ({ text: 'They were read.' }))
  const given = { ...(await options(talk, talk.model)), model: talk.model }
  const ask = async (session: Session) => {
    const signal = new AbortController().signal
    const answer = await talk.model.ask(await requestFor(session, given.state), { signal, onProgress: () => undefined })
    return withAnswer(session, { turn: 'turn-5', model: talk.model.name, answer }, clean)
  }
  const { session } = await shorten(talk.session, {
    ...given,
    state: { ...given.state, model: { ...given.state.model, name: talk.model.name } },
  })
  const first = withUser(session, { turn: 'turn-5', at: talk.now, text: 'Go on' }, clean)
  await ask(withUser(await ask(first), { turn: 'turn-5', at: talk.now, text: 'And on' }, clean))
  expect(asked).toBeGreaterThan(0)
  const [summary, one, two] = talk.server.requests
  expect(talk.server.requests.map(({ refused }) => refused).filter(Boolean)).toEqual([])
  if (!summary?.counted || !one?.heard || !two?.heard) throw new Error('Three requests should have come')
  expect(summary.counted.read / summary.counted.input).toBeGreaterThan(0.5)
  expect(beginsWith(two.heard, one.heard)).toBe(true)
})
