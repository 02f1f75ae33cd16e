/** Workers of two versions on one server: a run stays with its version, or moves where its history replays. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { NativeConnection } from '@temporalio/worker'
import { writeBundle } from '../../../../forge/tasks/engine/bundle.ts'
import { queryRun, startRun, updateRun, workflowIdOf } from '../../../../forge/tasks/engine/client.ts'
import { Deployments, versionOf, whyNoDeployments } from '../../../../forge/tasks/engine/deployments.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../../../support/temporal.ts'
import { workOn } from '../../../support/test-worker.ts'
import { until } from '../../../support/world.ts'

describe.skipIf(hasNoTemporal)('a new version of the worker', () => {
  let temporal: TestTemporal
  let native: NativeConnection
  let [bundle, changed] = ['', '']
  beforeAll(async () => {
    temporal = await startTemporal()
    ;[bundle, changed] = ['flows.js', 'changed.js'].map(name => join(temporal.folder, name)) as [string, string]
    await Promise.all([
      writeBundle(bundle, join(import.meta.dir, 'flows/versions.ts')),
      writeBundle(changed, join(import.meta.dir, 'flows/versions-changed.ts')),
    ])
    // The first worker of the process sets what the library logs.
    await (await workOn(temporal, { bundle }))[Symbol.asyncDispose]()
    native = await NativeConnection.connect({ address: temporal.address })
  }, 60_000)
  afterAll(async () => {
    await native?.close()
    await temporal[Symbol.asyncDispose]()
  }, 60_000)

  const begin = (queue: string, run: string, type = 'forgeRun') =>
    temporal.client.workflow.start(type, { taskQueue: queue, workflowId: workflowIdOf(run), args: [{ run }] })
  const asks = (who: string) => ({ send: async () => who, validate: async () => who })

  test('gets the new runs, while the earlier ones end with theirs', async () => {
    const { client } = temporal
    const first = await workOn(temporal, {
      bundle,
      version: 'one',
      activities: asks('one'),
      parts: ['models', 'checks'],
    })
    const { queue } = first
    const early = await begin(queue, 'early')
    await until('it waits', async () => (await queryRun<string>(client, 'early', 'status')) === 'waits')

    const more = { queue, activities: asks('two'), parts: ['models', 'checks'] as const }
    await using second = await workOn(temporal, { ...more, parts: [...more.parts], bundle: changed, version: 'two' })
    const late = await begin(queue, 'late')
    await until('it waits', async () => (await queryRun<string>(client, 'late', 'status')) === 'waits, changed')
    // The first version again, on another machine: it is known, and does not take the new runs back.
    await using _ = await workOn(temporal, { ...more, parts: [...more.parts], bundle, version: 'one' })
    const later = await begin(queue, 'later')
    await until('it waits', async () => (await queryRun<string>(client, 'later', 'status')) === 'waits, changed')

    for (const run of ['early', 'late', 'later']) await updateRun(client, run, 'answer', ['yes'])
    // Requests and checks are served by every version.
    expect(await early.result()).toMatch(/^yes: (one|two)$/)
    expect(await Promise.all([late.result(), later.result()])).toEqual([
      expect.stringMatching(/^changed, yes: (one|two)$/),
      expect.stringMatching(/^changed, yes: (one|two)$/),
    ])
    await first[Symbol.asyncDispose]()
    expect([...first.log, ...second.log]).toEqual([])
  }, 90_000)

  test('goes on with a run whose version no machine has, if its history replays, and says of another why not', async () => {
    const { client, server } = temporal
    const first = await workOn(temporal, {
      bundle,
      version: 'one',
      activities: asks('one'),
      parts: ['models', 'checks'],
    })
    const { queue } = first
    const fits = await begin(queue, 'fits', 'same')
    await begin(queue, 'breaks')
    for (const run of ['fits', 'breaks'])
      await until('it waits', async () => (await queryRun<string>(client, run, 'status')) === 'waits')
    await first[Symbol.asyncDispose]()

    await using _ = await workOn(temporal, { queue, bundle: changed, version: 'two' })
    const place = { server, queue }
    const there = new Deployments(native, place, versionOf(queue, 'two'))
    // The first version has asked for work just now: it may be back at once.
    expect(await there.moveStranded(changed)).toEqual({ moved: [], stays: [] })
    const gone = new Deployments(native, place, versionOf(queue, 'two'), 0)
    const { moved, stays } = await gone.moveStranded(changed)
    expect(moved).toEqual(['forge-run-fits'])
    expect(stays).toEqual([
      expect.stringMatching(
        /^forge-run-breaks began with another version of Forge, .*: forge resume submits its run again\.$/,
      ),
    ])
    // Its history is not fetched and replayed again.
    expect(await gone.moveStranded('/nowhere')).toEqual({ moved: [], stays })
    await updateRun(client, 'fits', 'answer', ['yes'])
    expect(await fits.result()).toBe('yes')
  }, 90_000)

  test('is no matter where the server has no versions: that is one sentence', async () => {
    const refuses = { workflowService: { listWorkerDeployments: () => Promise.reject(new Error('unknown method')) } }
    expect(await whyNoDeployments(refuses as unknown as NativeConnection, 'forge')).toBe(
      'The server has no versions of workers (unknown method): a run goes on with whatever version of Forge takes it.',
    )
    expect(await whyNoDeployments(native, 'forge')).toBeUndefined()
  })

  test('has none on the server of one machine', async () => {
    await using worker = await workOn(temporal, { bundle, activities: asks('one'), parts: ['models', 'checks'] })
    const run = await startRun(temporal.client, worker.queue, { run: 'alone' })
    const { raw } = await run.describe()
    expect(raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion ?? null).toBeNull()
    await run.terminate()
  }, 60_000)
})
