/** The activities that send requests in batches, called as by their workflow, and as by a hostile process. */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { openModel } from '../../../../forge/ai/providers.ts'
import type {
  BatchRequest,
  Constructed,
  GivenRequest,
  StepPlace,
  Submission,
} from '../../../../forge/tasks/contract.ts'
import { Ledger } from '../../../../forge/tasks/runs/budget.ts'
import { openRunFolder } from '../../../../forge/tasks/runs/folder.ts'
import { ModelServer, type Provider } from '../../../doubles/model-server.ts'
import { settingsOf } from '../../ai/models.ts'
import { answer, failureOf, makeScene, makeSharedScene, RUN, type Scene, type SceneOptions } from './scene.ts'

const DONE = answer({ signal: 'success', words: 'Said.', text: 'Something.' })

type BatchScene<Base extends Scene> = Base & {
  server: ModelServer
  given: GivenRequest[]
  /** Constructs the request of a step. */
  made: (step: string) => Promise<StepPlace & Constructed>
  /** Gives a step's request to the collector (the workflow that gathers requests into batches). */
  enlist: (step: string) => Promise<BatchRequest>
  submission: (requests: BatchRequest[]) => Promise<Submission>
  /** The run's folder. */
  folder: string
  out: () => Promise<number | undefined>
}

const makeBatchScene = (provider: Provider = 'openai') => makeBatchSceneBy(makeScene, provider)

async function makeBatchSceneBy<Base extends Scene>(
  make: (options: SceneOptions) => Promise<Base>,
  provider: Provider,
): Promise<BatchScene<Base>> {
  const server = await ModelServer.start(() => DONE)
  const env = { ...server.environment(provider), FORGE_BATCH_WINDOW: '0.01' }
  const settings = await settingsOf(env)
  const given: GivenRequest[] = []
  const collectors = {
    give: async (_: unknown, request: GivenRequest) => void given.push(request),
    withdraw: async () => undefined,
    held: async (_: string, requests: readonly unknown[]) => requests.map(() => true),
  }
  const scene = await make({ env, openModel: name => openModel(name, settings, { again: {} }), collectors })
  const made = async (step: string) => {
    const about = [await scene.store.put('asks', `Say something about ${step}.`)]
    const input = scene.input({ step, kind: 'artifact', depth: 0, about })
    const { run, task, attempt } = input
    return { run, task, attempt, step, ...(await scene.activities.construct(input)) }
  }
  const enlist = async (step: string) => {
    expect(await scene.activities.enlist({ ...(await made(step)), waiter: 'flow' })).toMatchObject({ is: 'out' })
    const last = given.at(-1)
    if (!last) throw new Error('Nothing was given to the collector.')
    return last.request
  }
  const submission = async (requests: BatchRequest[]): Promise<Submission> => {
    const id = createHash('sha256').update(JSON.stringify(requests)).digest('hex').slice(0, 36)
    return { id, home: RUN, list: await scene.activities.keepItems({ run: RUN, kind: 'batch', items: requests }) }
  }
  const folder = await openRunFolder(scene.place.objects.repository, RUN, {
    XDG_STATE_HOME: `${scene.place.folder}/state`,
  })
  const close = async () => {
    await scene[Symbol.asyncDispose]()
    await server.stop()
  }
  const out = async () => Ledger.look(folder)?.batch.out
  return { ...scene, server, folder, given, made, enlist, submission, out, [Symbol.asyncDispose]: close }
}

const MODELS = { openai: 'openai/scripted', anthropic: 'anthropic/claude-scripted' }

test('a request without reserved budget is left out of a batch, and one that is out stays reserved', async () => {
  await using scene = await makeBatchScene()
  const { activities, server } = scene
  const one = await scene.enlist('stack/1/1/one')
  const two = { ...(await scene.made('stack/1/1/two')), output: 32_000, bytes: 1000, waiter: 'flow' }
  const submission = await scene.submission([one, two])
  const place = { run: RUN, model: MODELS.openai, submission }
  const { batch } = await activities.submitBatch({ ...place, not: [] })
  expect(server.batches.lines.map(({ id }) => id)).toEqual([one.key])
  await activities.dropRequests({ run: RUN, keys: [one.key] })
  expect(await scene.out()).toBe(1)
  expect(await activities.collectBatch({ ...place, batch, isSure: true })).toEqual({ isOther: false })
  expect(await scene.out()).toBe(0)
  const requests = [one, two].map(it => ({ ...it, since: 0 }))
  const looked = await activities.lookUp({ run: RUN, requests, isTimer: false, now: 0 })
  expect(looked.there.map(({ step, sent }) => [step, sent.spent.requests])).toEqual([[one.step, 1]])
  expect(looked.now).toEqual([two.step])
})

test('a request that was never submitted gives its budget back', async () => {
  await using scene = await makeBatchScene()
  const { key } = await scene.enlist('stack/1/1/one')
  expect(await scene.out()).toBe(1)
  await scene.activities.dropRequests({ run: RUN, keys: [key] })
  expect(await scene.out()).toBe(0)
})

test('a request that is not the one that was constructed is given to no collector', async () => {
  await using scene = await makeBatchScene()
  const one = await scene.made('stack/1/1/one')
  const two = await scene.made('stack/1/1/two')
  const failure = await failureOf(scene.activities.enlist({ ...one, request: two.request, waiter: 'flow' }))
  expect(failure.message).toContain('is not the one that was constructed')
  expect(scene.given).toEqual([])
})

test('at Anthropic, a batch of another program with the same size is not taken for a lost one, nor cancelled', async () => {
  await using scene = await makeBatchScene('anthropic')
  const { activities, server } = scene
  const one = await scene.enlist('stack/1/1/one')
  const submission = await scene.submission([one])
  const place = { run: RUN, model: MODELS.anthropic, submission }
  // The first submission fails, and it is unknown whether the provider has accepted it.
  server.batches.script = { refuse: count => (count === 0 ? { status: 500 } : undefined) }
  expect((await failureOf(activities.submitBatch({ ...place, not: [] }))).nonRetryable).not.toBe(true)
  const { batches } = await openModel(MODELS.anthropic, await settingsOf(server.environment('anthropic')))
  const line = await batches?.line({ tools: [], system: [], messages: [], output: 1 })
  const signal = new AbortController().signal
  const other = await batches?.service.submit(
    'other',
    [{ id: 'of-another-program', body: line?.body ?? '', betas: [] }],
    signal,
  )
  const found = await activities.submitBatch({ ...place, not: [] })
  expect(found).toEqual({ batch: other ?? '', isSure: false })
  expect(await activities.collectBatch({ ...place, ...found })).toEqual({ isOther: true })
  const { batch, isSure } = await activities.submitBatch({ ...place, not: [found.batch] })
  expect(isSure).toBe(true)
  expect(server.batches.batches.map(({ id, lines }) => [id, lines.length])).toContainEqual([batch, 1])
  expect(server.batches.lines.map(({ id }) => id)).toEqual(['of-another-program', one.key])
  expect(await activities.collectBatch({ ...place, batch, isSure })).toEqual({ isOther: false })
})

test('a batch that was submitted before a crash is found again, and its answers are stored once', async () => {
  await using scene = await makeBatchScene('anthropic')
  const { activities, server } = scene
  const requests = [await scene.enlist('stack/1/1/one'), await scene.enlist('stack/1/1/two')]
  const submission = await scene.submission(requests)
  const place = { run: RUN, model: MODELS.anthropic, submission }
  server.batches.script = { isDropped: count => count === 0, delay: 0 }
  await failureOf(activities.submitBatch({ ...place, not: [] }))
  // Another process repeats the submission.
  const again = scene.again({ collectors: undefined })
  const found = await again.submitBatch({ ...place, not: [] })
  expect(found).toEqual({ batch: server.batches.batches[0]?.id ?? '', isSure: false })
  for (let times = 0; times < 2; times++)
    expect(await again.collectBatch({ ...place, ...found })).toEqual({ isOther: false })
  expect(server.batches.batches).toHaveLength(1)
  expect(await scene.out()).toBe(0)
  expect(await again.submitBatch({ ...place, not: [] })).toEqual({ batch: found.batch, isSure: true })
})

test('where a server has no batches, nothing stays reserved, and the next request is sent now at once', async () => {
  await using scene = await makeBatchScene()
  const { activities, server } = scene
  const one = await scene.enlist('stack/1/1/one')
  const submission = await scene.submission([one])
  const place = { run: RUN, model: MODELS.openai, submission }
  server.batches.script = { isMissing: true }
  const failure = await failureOf(activities.submitBatch({ ...place, not: [] }))
  expect(failure.nonRetryable).toBe(true)
  expect(failure.message).toMatch(/^127\.0\.0\.1:\d+ has no interface for batches\.$/)
  await activities.failBatch({ ...place, words: failure.message })
  const look = () => Ledger.look(scene.folder)
  expect(look()).toMatchObject({ batch: { out: 0 }, spent: { requests: 0 } })
  const looked = await activities.lookUp({ run: RUN, requests: [{ ...one, since: 0 }], isTimer: false, now: 0 })
  expect(looked).toEqual({ there: [], now: [one.step] })
  expect(await activities.enlist({ ...(await scene.made('stack/1/1/two')), waiter: 'flow' })).toEqual({ is: 'now' })
  expect(look()).toMatchObject({ batch: { out: 0 }, spent: { requests: 0 } })
})

test('the hub knows what is about to be submitted, and another machine goes on with it: nothing is sent or paid twice', async () => {
  await using scene = await makeBatchSceneBy(makeSharedScene, 'openai')
  const { activities, server, budgets } = scene
  const requests = [await scene.enlist('stack/1/1/one'), await scene.enlist('stack/1/1/two')]
  // Asked again, as after a crash, nothing more is set aside.
  await scene.enlist('stack/1/1/one')
  expect(await budgets.used(RUN)).toMatchObject({ requests: 2, open: [{ isBatched: true }, { isBatched: true }] })
  const submission = await scene.submission(requests)
  const place = { run: RUN, model: MODELS.openai, submission }
  const intents = () =>
    Bun.spawnSync(['git', '-C', scene.hub, 'grep', '-l', '"newest"', scene.store.ref, '--', 'batches'])
      .stdout.toString()
      .split('\n')
      .filter(Boolean).length
  const known: number[] = []
  // The provider accepts the batch, but its answer never arrives.
  server.batches.script = {
    isDropped: count => {
      known.push(intents())
      return count === 0
    },
  }
  await failureOf(activities.submitBatch({ ...place, not: [] }))
  expect(known).toEqual([1])
  const other = await scene.elsewhere()
  const found = await other.submitBatch({ ...place, not: [] })
  expect(server.batches.batches.map(({ id }) => id)).toEqual([found.batch])
  expect(await other.collectBatch({ ...place, ...found })).toEqual({ isOther: false })
  const looked = await activities.lookUp({
    run: RUN,
    requests: requests.map(it => ({ ...it, since: 0 })),
    isTimer: false,
    now: 0,
  })
  expect(looked.there.map(({ step }) => step)).toEqual(requests.map(({ step }) => step))
  const { requests: count, open } = (await budgets.used(RUN)) ?? {}
  expect({ count, open }).toEqual({ count: 2, open: [] })
  expect(server.batches.lines).toHaveLength(2)
})

test('nothing is submitted while the hub refuses to know of it', async () => {
  await using scene = await makeBatchSceneBy(makeSharedScene, 'openai')
  const { activities, server, hub } = scene
  const requests = [await scene.enlist('stack/1/1/one')]
  const submission = await scene.submission(requests)
  const place = { run: RUN, model: MODELS.openai, submission }
  await mkdir(`${hub}/hooks`, { recursive: true })
  await writeFile(`${hub}/hooks/pre-receive`, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const failure = await failureOf(activities.submitBatch({ ...place, not: [] }))
  expect(failure.type).toBe('HubTrouble')
  expect(failure.nonRetryable).not.toBe(true)
  expect(server.batches.lines).toEqual([])
  await rm(`${hub}/hooks/pre-receive`)
  await activities.submitBatch({ ...place, not: [] })
  expect(server.batches.lines.map(({ id }) => id)).toEqual(requests.map(({ key }) => key))
})
