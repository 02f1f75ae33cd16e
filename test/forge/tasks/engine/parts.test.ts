/** Workers with one part of the work: each serves only that, and what no machine serves is said within seconds. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { writeBundle } from '../../../../forge/tasks/engine/bundle.ts'
import { startRun } from '../../../../forge/tasks/engine/client.ts'
import { unservedIn } from '../../../../forge/tasks/engine/unserved.ts'
import { ownQueueOf, queueOfPart } from '../../../../forge/tasks/run/queues.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../../../support/temporal.ts'
import { workOn } from '../../../support/test-worker.ts'
import { until } from '../../../support/world.ts'

/** The number that Temporal's API has for queues of activities. */
const ACTIVITIES = 2

test('the queue of a part names the repository’s own', () => {
  expect(queueOfPart('forge/abc', 'checks')).toBe('forge/abc/checks')
  for (const queue of ['forge/abc', 'forge/abc/checks', 'forge/abc/models']) expect(ownQueueOf(queue)).toBe('forge/abc')
})

describe.skipIf(hasNoTemporal)('a worker', () => {
  let temporal: TestTemporal
  let bundle = ''
  beforeAll(async () => {
    temporal = await startTemporal()
    bundle = join(temporal.folder, 'flows.js')
    await writeBundle(bundle, join(import.meta.dir, 'flows/parts.ts'))
  }, 60_000)
  afterAll(() => temporal[Symbol.asyncDispose](), 60_000)

  const named = (who: string) => ({
    send: async () => `asked by ${who}`,
    validate: async () => `checked by ${who}`,
  })

  test('with models alone asks, one with checks alone checks, and one with both does both', async () => {
    const { client } = temporal
    await using models = await workOn(temporal, { bundle, activities: named('models'), parts: ['models'] })
    const { queue } = models
    const run = await startRun(client, queue, { run: 'parted' })
    const words: string[] = []
    await until('it is said that nothing checks', async () => {
      words.splice(0, words.length, ...(await unservedIn(client, queue)))
      return words.length > 0
    })
    expect(words).toEqual([
      expect.stringMatching(
        /^No machine with docker serves checks since \d\d:\d\d:\d\d: start forge worker, or forge worker --only checks, on one\.$/,
      ),
    ])
    await using _ = await workOn(temporal, {
      ...{ bundle, queue, activities: named('checks') },
      ...{ parts: ['checks'], runsFlows: false },
    })
    expect(await run.result()).toEqual(['asked by models', 'checked by checks'] as never)
    expect(await unservedIn(client, queue)).toEqual([])

    await using both = await workOn(temporal, { bundle, activities: named('both'), parts: ['models', 'checks'] })
    const other = await startRun(client, both.queue, { run: 'whole' })
    expect(await other.result()).toEqual(['asked by both', 'checked by both'] as never)
  }, 60_000)

  test('that was there and is gone is told of by the work that waits', async () => {
    const { client } = temporal
    const first = await workOn(temporal, { bundle, activities: named('first'), parts: ['models'] })
    const checks = await workOn(temporal, {
      ...{ bundle, queue: first.queue, activities: named('checks') },
      ...{ parts: ['checks'], runsFlows: false },
    })
    await until('the worker has asked for checks', () => isServed(client, queueOfPart(first.queue, 'checks')))
    await checks[Symbol.asyncDispose]()
    const run = await startRun(client, first.queue, { run: 'left' })
    // Also where this machine's clock is wrong by an hour.
    const clocks = [Date.now(), Date.now() - 3_600_000, Date.now() + 3_600_000]
    for (const now of clocks) {
      await until('it is told', async () => (await unservedIn(client, first.queue, now)).length > 0)
      const [words] = await unservedIn(client, first.queue, now)
      expect(words).toMatch(/^No machine with docker has taken checks since .*: those that serve them have no room/)
    }
    await run.terminate()
    await first[Symbol.asyncDispose]()
  }, 60_000)
})

/** Whether a worker has asked the server for activities of the queue. */
async function isServed({ workflowService, options: { namespace } }: Client, name: string): Promise<boolean> {
  const request = { namespace, taskQueue: { name }, taskQueueType: ACTIVITIES }
  const { pollers } = await workflowService.describeTaskQueue(request)
  return (pollers ?? []).length > 0
}
