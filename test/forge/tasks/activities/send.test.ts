/** Sending requests: misbehaving providers, bursts of refusals, budgets, and cancellation. */
import { expect, test } from 'bun:test'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CancelledFailure } from '@temporalio/common'
import { openModel } from '../../../../forge/ai/providers.ts'
import { ModelError } from '../../../../forge/ai/request.ts'
import { Gate } from '../../../../forge/tasks/activities/gate.ts'
import type { Sent } from '../../../../forge/tasks/contract.ts'
import { NOTHING_SPENT } from '../../../../forge/tasks/run/state.ts'
import { Ledger } from '../../../../forge/tasks/runs/budget.ts'
import { readTroubles, troubleInWords } from '../../../../forge/tasks/runs/troubles.ts'
import { ModelServer, type Script, type Turn } from '../../../doubles/model-server.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { until } from '../../../support/repository.ts'
import type { Script as Steps } from '../../../support/scripted-model.ts'
import { settingsOf } from '../../ai/models.ts'
import { answer, failureOf, MODEL, makeScene, makeSharedScene, RUN, type Scene, sendAgain } from './scene.ts'

const GIVEN_UP = { signal: 'failure_terminal', words: 'No.' }

/** A scene with models at a server that plays a script. */
async function serve(script: Script, options: Parameters<typeof makeScene>[0] = {}) {
  const server = await ModelServer.start(script)
  const env = server.environment('openai')
  const settings = await settingsOf(env)
  const scene = await makeScene({ ...options, env, openModel: name => openModel(name, settings, { again: {} }) })
  const close = async () => {
    await scene[Symbol.asyncDispose]()
    await server.stop()
  }
  return { server, scene, [Symbol.asyncDispose]: close }
}

const send = async ({ activities, input }: Scene, step = 'stack/1/1', attempt = 1): Promise<Sent> => {
  const constructed = await activities.construct(input({ step, attempt }))
  return await activities.send({ run: RUN, task: 'stack', attempt, step, ...constructed })
}

test.each([
  [{ status: 401 }, 'key'],
  [{ status: 402 }, 'credit'],
  [{ status: 404 }, 'no such model'],
  [{ status: 400, words: 'prompt is too long' }, 'too long'],
  [{ status: 400, words: 'I do not like it' }, 'refused'],
  [{ page: '<html>Log in</html>' }, 'broken'],
] as [Turn, string][])('after %j it is not asked again: %s', async (turn, trouble) => {
  await using it = await serve([turn])
  const failure = await failureOf(send(it.scene))
  expect({ type: failure.type, final: failure.nonRetryable, details: failure.details }).toEqual({
    type: 'ModelError',
    final: true,
    details: [trouble],
  })
  expect(it.server.requests).toHaveLength(1)
})

test.each([
  [{ status: 429, headers: { 'retry-after': '7' } }, 'rate', 7000],
  [{ status: 529 }, 'overloaded', 1000],
  [{ cut: { at: 60, how: 'reset' } }, 'cut', 0],
  [{ isDropped: true }, 'unreachable', 0],
] as [Turn, string, number][])('after %j it may be asked again: %s', async (turn, trouble, wait) => {
  await using it = await serve([{ text: 'A long enough text to be cut.', ...turn }])
  const failure = await failureOf(send(it.scene))
  expect({ type: failure.type, final: failure.nonRetryable ?? false }).toEqual({ type: 'ModelError', final: false })
  expect(failure.details?.[0]).toBe(trouble)
  if (wait > 0) expect(Number(failure.nextRetryDelay)).toBeGreaterThanOrEqual(wait)
  expect(it.server.requests).toHaveLength(1)
})

test('of three that ask the same, one is sent at a time: also when the first one fails', async () => {
  await using it = await serve([{ status: 401 }, answer(GIVEN_UP), answer(GIVEN_UP)])
  const ends = await Promise.allSettled([send(it.scene), send(it.scene), send(it.scene)])
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected'])
  expect(it.server.requests).toHaveLength(2)
})

test('an answer that was cut at its most tokens is an answer, and the model is told', async () => {
  await using it = await serve([{ text: '{"answer": {"signal": "succ', end: 'length' }])
  const { answer: reference } = await send(it.scene)
  const place = { run: RUN, task: 'stack', attempt: 1, step: 'stack/1/1' }
  const received = await it.scene.activities.receive({ ...place, kind: 'implement', answer: reference })
  expect(received.words).toContain('was cut')
})

test('a provider in trouble is told of while that lasts: what, since when, and when it is asked again', async () => {
  await using it = await serve([
    { status: 503 },
    { status: 429, headers: { 'retry-after': '86400' } },
    answer(GIVEN_UP),
  ])
  const folder = join(it.scene.place.folder, 'state/forge')
  const [id = ''] = await readdir(folder)
  const read = () => readTroubles(join(folder, id, 'runs', RUN), Date.now())
  const began = Date.now()
  const first = await failureOf(send(it.scene))
  expect(first.message).toMatch(/^127\.0\.0\.1:\d+ is overloaded \(503\)\.$/)
  const [trouble] = await read()
  expect([trouble?.words, trouble?.tries]).toEqual([first.message, 1])
  expect(trouble?.since).toBeGreaterThanOrEqual(began)
  expect((trouble?.next ?? 0) - (trouble?.since ?? 0)).toBeGreaterThanOrEqual(1000)
  expect(trouble && troubleInWords(trouble, began)).toMatch(
    /^127\S+ is overloaded \(503\) \(\S+, since \d\d:\d\d:\d\d\): one try so far, the next is at \d\d:\d\d:\d\d\.$/,
  )
  // A worker with a gate of its own, which knows nothing of the first refusal, sends the next request without delay.
  const later = it.scene.again({ openGate: () => new Gate({ firstPause: 0.01 }) })
  const constructed = await later.construct(it.scene.input())
  const place = { run: RUN, task: 'stack', attempt: 1, step: 'stack/1/1' }
  const second = await failureOf(later.send({ ...place, ...constructed }))
  expect(second.message).toMatch(/^127\S+ takes no more requests for now\.$/)
  expect(await read()).toMatchObject([{ words: second.message }])
  const last = it.scene.again()
  await last.send({ ...place, ...constructed })
  const lines = (await it.scene.store.all('journal')).map(bytes => JSON.parse(bytes.toString()))
  // The second worker reads the trouble (a failing model) that the first has recorded, so it is recorded only once.
  expect(lines.filter(({ what }) => what === 'trouble').map(({ words }) => words)).toEqual([first.message])
  expect(lines.filter(({ what }) => what === 'trouble over')).toHaveLength(1)
  expect(await read()).toEqual([])
})

test('a provider that answers again is in no trouble any more, and the journal says for how long it was', async () => {
  await using it = await serve([{ status: 503 }, { status: 503 }, answer(GIVEN_UP)], {
    openGate: () => new Gate({ firstPause: 0.01, longestPause: 0.02 }),
  })
  await sendAgain(it.scene.activities, it.scene.input())
  const folder = join(it.scene.place.folder, 'state/forge')
  const [id = ''] = await readdir(folder)
  expect(await readTroubles(join(folder, id, 'runs', RUN), Date.now())).toEqual([])
  const lines = (await it.scene.store.all('journal')).map(bytes => JSON.parse(bytes.toString()))
  const told = lines.filter(({ what }) => what.startsWith('trouble')).sort((a, b) => a.at - b.at)
  expect(told.map(({ what }) => what)).toEqual(['trouble', 'trouble over'])
  expect(told.at(-1).words).toMatch(/ answers again, after \d+ seconds? and 2 tries\.$/)
})

test('one account of what was spent: what was cut and what was lost is in it, and nothing that is only set aside', async () => {
  await using it = await serve([
    { text: 'A long enough text to be cut.', cut: { at: 60, how: 'reset' } },
    answer(GIVEN_UP),
  ])
  await failureOf(send(it.scene))
  await send(it.scene)
  const [id = ''] = await readdir(join(it.scene.place.folder, 'state/forge'))
  const seen = Ledger.look(join(it.scene.place.folder, 'state/forge', id, 'runs', RUN))
  expect(seen).toMatchObject({ spent: { requests: 2 }, sending: { count: 0 } })
  const status = { run: RUN, state: 'paused', words: '', complaints: [], tasks: [], spent: NOTHING_SPENT } as const
  await it.scene.activities.rest({ ...status, complaints: [], tasks: [] })
  const kept = JSON.parse((await it.scene.store.get('status.json'))?.toString() ?? '')
  expect(kept.spent).toEqual(seen?.spent)
})

test('called off, a request ends within a second, and gives no answer', async () => {
  await using it = await serve([{ text: 'Slowly.', stall: { at: 30, life: true } }])
  const sending = send(it.scene).catch(error => error)
  await it.server.asked(1)
  const began = performance.now()
  it.scene.calls.off.abort(new CancelledFailure('stopped'))
  expect(await sending).toBeInstanceOf(CancelledFailure)
  expect(performance.now() - began).toBeLessThan(1000)
  const [asked] = it.server.requests
  expect((await asked?.closed)?.isWhole).toBe(false)
})

test('that the server has lost sight of a request is no reason to break it off: the next try gets its answer', async () => {
  await using it = await serve(() => ({ ...answer(GIVEN_UP), delay: 500 }))
  const lost = send(it.scene).catch(error => error)
  await it.server.asked(1)
  it.scene.calls.off.abort(new CancelledFailure('NOT_FOUND'))
  it.scene.calls.off = new AbortController()
  const again = await send(it.scene)
  await lost
  expect(it.server.requests).toHaveLength(1)
  expect(again).toMatchObject({ wasThere: true, spent: { requests: 1 } })
})

test('with sixty-four in flight, a budget of twenty stops before the twenty-first request', async () => {
  await using scene = await makeScene({ script: () => answer(GIVEN_UP), limits: { requests: 20 } })
  const workers = [scene.activities, scene.again()]
  const all = Array.from({ length: 64 }, async (_, at) => {
    const activities = workers[at % 2] ?? scene.activities
    const step = `stack/1/${at}`
    const constructed = await activities.construct(scene.input({ step, attempt: at + 1 }))
    return await activities.send({ run: RUN, task: 'stack', attempt: at + 1, step, ...constructed })
  })
  const ends = await Promise.allSettled(all)
  expect(scene.model.requests).toHaveLength(20)
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
  const refused = ends.find(({ status }) => status === 'rejected')
  expect(refused?.status === 'rejected' && refused.reason).toMatchObject({
    type: 'OutOfBudget',
    nonRetryable: true,
    message: 'It has sent 20 requests, which is the limit of this run.',
  })
}, 60_000)

const OPENROUTER = { FORGE_MODEL: 'openrouter/vendor/name', OPENROUTER_API_KEY: 'key-of-nobody-0123456789' }

test('sixteen requests that cost cents each all fit into the usual budget, though one of them could cost three dollars', async () => {
  const cheap = { ...answer(GIVEN_UP), cost: 0.0025 }
  await using scene = await makeScene({ script: () => cheap, env: OPENROUTER, limits: { cost: 5 } })
  const all = Array.from({ length: 16 }, (_, at) => send(scene, `stack/1/${at}`, at + 1))
  expect((await Promise.all(all)).map(({ spent }) => spent.cost)).toEqual(Array(16).fill(0.0025))
})

test('an answer that was cut, since the budget left no more room for it, is asked for with all that it may have', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const script: Steps = (_, count) => {
    if (count === 1) return { ...answer(GIVEN_UP), cost: 0.01, until: promise }
    if (count === 2) setTimeout(resolve, 20)
    return count === 2 ? { text: 'Too lo', end: 'length', cost: 0.01 } : { ...answer(GIVEN_UP), cost: 0.01 }
  }
  await using scene = await makeScene({ script, env: OPENROUTER, limits: { cost: 5 } })
  const [, cut] = await Promise.all([send(scene, 'stack/1/1', 1), send(scene, 'stack/1/2', 2)])
  const [whole, less, again] = scene.model.requests.map(({ output }) => output)
  expect([less, again]).toEqual([8000, whole])
  expect(whole).toBeGreaterThan(8000)
  expect(cut?.wasThere).toBe(false)
})

test('a request that waits for room asks the budget of all machines again when another one is settled', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const script: Steps = () => ({ ...answer(GIVEN_UP), cost: 0.01, until: promise })
  await using scene = await makeSharedScene({ script, env: OPENROUTER, limits: { cost: 1 } })
  const sent = [send(scene, 'stack/1/1', 1), send(scene, 'stack/1/2', 2)]
  await until(() => scene.budgets.asked === 2)
  // Long enough for two questions that nothing has caused.
  setTimeout(resolve, 1200)
  await Promise.all(sent)
  expect(scene.budgets.asked).toBe(3)
})

test('with a larger budget from a person, it goes on', async () => {
  await using scene = await makeScene({ script: () => answer(GIVEN_UP), limits: { requests: 1 } })
  await send(scene)
  expect((await failureOf(send(scene, 'stack/2/1', 2))).type).toBe('OutOfBudget')
  const wish = await scene.store.put('wish', 'Add undo.')
  const limits = { depth: 3, requests: 2 }
  await scene.activities.begin({
    run: RUN,
    wish,
    base: scene.base,
    limits,
    isApproved: true,
    onlyPlan: false,
    atMost: 8,
  })
  await send(scene, 'stack/2/1', 2)
  expect(scene.model.requests).toHaveLength(2)
})

test('limits that a push to the hub has raised do not count, nor do answers that have cost less than nothing', async () => {
  await using scene = await makeSharedScene({ script: () => answer(GIVEN_UP), limits: { requests: 1 } })
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, cost: -1000 }
  const free = { key: 'x', model: MODEL, step: 'x', end: 'done', usage, blocks: [] }
  for (const key of ['1', '2']) await scene.store.keep('answers', key.repeat(64), JSON.stringify(free))
  await scene.step()
  expect((await failureOf(scene.step({ task: 'docs', step: 'docs/1/1' }))).message).toContain('the limit of this run')
  const run = JSON.parse(String(await scene.store.get('run.json')))
  await scene.store.set('run.json', JSON.stringify({ ...run, limits: { depth: 3, requests: 100 } }))
  expect((await failureOf(scene.step({ task: 'docs', step: 'docs/1/1' }))).message).toStartWith(
    `You have not asked for ${RUN} with these limits in this repository`,
  )
  expect(scene.model.requests).toHaveLength(1)
})

test('a machine passes no limit by itself, though a stranger on the same server answers for the budget', async () => {
  await using scene = await makeSharedScene({ script: () => answer(GIVEN_UP), limits: { requests: 2 } })
  scene.budgets.reserve = async (_, { rooms }) => ({
    id: 'theirs',
    granting: { is: 'granted', output: rooms[0]?.output ?? 0 },
  })
  await send(scene, 'stack/1/1', 1)
  await send(scene, 'stack/1/2', 2)
  const failure = await failureOf(send(scene, 'stack/1/3', 3))
  expect({ type: failure.type, details: failure.details }).toEqual({ type: 'OutOfBudget', details: ['requests'] })
  expect(scene.model.requests).toHaveLength(2)
})

test('a storm of 429 ends with all answers, and few requests are sent in it', async () => {
  let refused = 0
  let end = 0
  const script: Script = () => {
    // All requests are refused for 1.5 s from the first one on.
    end ||= performance.now() + 1500
    if (performance.now() > end) return answer(GIVEN_UP)
    refused++
    return { status: 429 }
  }
  await using it = await serve(script, { openGate: () => new Gate({ most: 16, firstPause: 0.1, longestPause: 0.5 }) })
  const { activities, input } = it.scene
  const all = Array.from({ length: 40 }, (_, at) =>
    sendAgain(activities, input({ step: `stack/1/${at}`, attempt: at + 1 })),
  )
  const ends = await Promise.all(all)
  console.log(`a storm of 1.5 s: ${refused} refused, ${it.server.requests.length} sent for 40 answers`)
  // Refused: at most the 16 requests under way at the beginning, and one after each pause: 0.1 s, 0.2 s, 0.4 s, 0.5 s …
  expect(refused).toBeLessThanOrEqual(16 + 6)
  expect(it.server.requests.length).toBe(40 + refused)
  expect(Math.max(...ends.map(({ tries }) => tries))).toBeLessThanOrEqual(8)
}, 60_000)

test('an answer that came before a crash could say so is paid once', async () => {
  await using scene = await makeScene({ script: [answer(GIVEN_UP)], limits: { requests: 1 } })
  await send(scene)
  // Another process, which does not know the earlier request.
  const again = scene.again()
  const constructed = await again.construct(scene.input())
  const sent = await again.send({ run: RUN, task: 'stack', attempt: 1, step: 'stack/1/1', ...constructed })
  expect(sent.wasThere).toBe(true)
  expect(scene.model.requests).toHaveLength(1)
})

test('an answer that could not be kept is not asked for again while its process lives', async () => {
  const refs = (scene: Scene, name: string) => join(scene.place.path, 'refs', name)
  await using scene: Scene = await makeScene({
    script: () => {
      renameSync(refs(scene, 'forge'), refs(scene, 'away'))
      writeFileSync(refs(scene, 'forge'), 'in the way')
      return answer(GIVEN_UP)
    },
  })
  expect(await refusedBy(send(scene))).toThrow()
  rmSync(refs(scene, 'forge'))
  renameSync(refs(scene, 'away'), refs(scene, 'forge'))
  expect(await send(scene)).toMatchObject({ wasThere: false, spent: { requests: 1 } })
  expect(scene.model.requests).toHaveLength(1)
})

test('a model that can’t be opened is a model’s trouble', async () => {
  const model = () => Promise.reject(new ModelError('key', 'The key is wrong.'))
  await using scene = await makeScene({ openModel: model })
  const failure = await failureOf(scene.activities.construct(scene.input()))
  expect(failure).toMatchObject({
    message: 'The key is wrong.',
    type: 'ModelError',
    nonRetryable: true,
    details: ['key'],
  })
})
