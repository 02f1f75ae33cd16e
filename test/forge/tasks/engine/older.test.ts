/** Runs begun by an older version of Forge: a worker submits them again with its own flows. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { openRuns, workflowIdOf } from '../../../../forge/tasks/engine/client.ts'
import { moveOlder } from '../../../../forge/tasks/engine/older.ts'
import { formerQueuesOf, queueOf } from '../../../../forge/tasks/engine/repository-id.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { commit } from '../../../support/git.ts'
import { makePlace, type Place, until } from '../../../support/repository.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../../../support/temporal.ts'

const QUEUE = 'a-queue-without-a-worker'

describe.skipIf(hasNoTemporal)('a run of an older version', () => {
  let temporal: TestTemporal
  let connection: NativeConnection
  let place: Place
  beforeAll(async () => {
    temporal = await startTemporal()
    connection = await NativeConnection.connect({ address: temporal.address })
    place = await makePlace()
  }, 60_000)
  afterAll(async () => {
    await connection.close()
    await place[Symbol.asyncDispose]()
    await temporal[Symbol.asyncDispose]()
  }, 60_000)

  /** Begins a run under its former workflow type, and waits until the server lists it. */
  async function begin(run: string, taskQueue = QUEUE, type = 'run') {
    const { client } = temporal
    const handle = await client.workflow.start(type, { args: [{ run }], taskQueue, workflowId: workflowIdOf(run) })
    await until(async () => (await openRuns(client, taskQueue, [type])).includes(run))
    return handle
  }

  test('is submitted again as it was asked for; one that git does not know, or of another queue, is left alone', async () => {
    const base = await commit(place.path, 'main', { 'a.txt': 'a' })
    const store = new RunStore(place.objects, 'known')
    const wish = await store.put('wish', 'Write notes')
    const input = { run: 'known', wish, base, limits: { depth: 1 }, isApproved: true, onlyPlan: false, atMost: 4 }
    await store.set('run.json', JSON.stringify({ ...input, began: 1 }))
    const [known, unknown, elsewhere] = [
      await begin('known'),
      await begin('unknown'),
      await begin('other', 'other-queue'),
    ]
    const { namespace } = temporal
    const queuePlace = { server: { namespace }, queue: QUEUE }
    expect(await moveOlder(connection, place.repository, queuePlace)).toEqual(['known'])
    const client = new Client({ connection, namespace })
    // The latest workflow with this id.
    const now = await client.workflow.getHandle(workflowIdOf('known')).describe()
    expect([now.type, now.status.name]).toEqual(['forgeRun', 'RUNNING'])
    const before = await client.workflow.getHandle(workflowIdOf('known'), known.firstExecutionRunId).describe()
    expect(before.status.name).toBe('TERMINATED')
    const { events = [] } = await client.workflow.getHandle(workflowIdOf('known')).fetchHistory()
    const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data
    expect(JSON.parse(Buffer.from(payload ?? []).toString())).toEqual(input)
    for (const handle of [unknown, elsewhere]) expect((await handle.describe()).status.name).toBe('RUNNING')
    // The next worker moves nothing: only the unknown run is left, which can't be moved.
    await until(async () => !(await openRuns(client, QUEUE, ['run'])).includes('known'))
    expect(await moveOlder(connection, place.repository, queuePlace)).toEqual([])
  }, 60_000)

  test('is found on the queue that was named after the path of the repository, and goes on in the new one', async () => {
    const base = await commit(place.path, 'main', { 'b.txt': 'b' })
    const store = new RunStore(place.objects, 'by-path')
    const wish = await store.put('wish', 'Write notes')
    const input = { run: 'by-path', wish, base, limits: { depth: 1 }, isApproved: true, onlyPlan: false, atMost: 4 }
    await store.set('run.json', JSON.stringify({ ...input, began: 1 }))
    const [former = ''] = await formerQueuesOf(place.repository)
    await begin('by-path', former, 'forgeRun')
    const { namespace, client } = temporal
    const collector = `forge-batch-${former}-a/model`
    await client.workflow.start('forgeBatch', { args: [], taskQueue: former, workflowId: collector })
    const listed = () => Array.fromAsync(client.workflow.list({ query: `WorkflowId = '${collector}'` }))
    await until(async () => (await listed()).length === 1)
    const queue = await queueOf(place.repository)
    expect(queue).toMatch(/^forge\/[0-9a-f]{20}$/)
    expect(await moveOlder(connection, place.repository, { server: { namespace }, queue })).toEqual(['by-path'])
    const now = await client.workflow.getHandle(workflowIdOf('by-path')).describe()
    expect([now.type, now.status.name, now.taskQueue]).toEqual(['forgeRun', 'RUNNING', queue])
    expect((await client.workflow.getHandle(collector).describe()).status.name).toBe('TERMINATED')
  }, 60_000)
})
