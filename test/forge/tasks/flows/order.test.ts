/** Runs whose histories are replayed, as they are after a worker was killed: nothing may follow in another order. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { replay } from '../../../../forge/tasks/engine/replay.ts'
import { shape } from '../../../support/flow-activities.ts'
import { type FlowHost, FlowServer, hasNoTemporal } from '../../../support/flows.ts'
import { randomFrom } from '../../../support/random.ts'

describe.skipIf(hasNoTemporal)('a run that is looked at all the time', () => {
  let server: FlowServer
  beforeAll(async () => {
    server = await FlowServer.start()
  }, 60_000)
  afterAll(() => server.close())

  test('goes on from its history as it went', async () => {
    const random = randomFrom(19)
    const within = (milliseconds: number) => Bun.sleep(random.below(milliseconds))
    const tasks = Array.from({ length: 16 }, (_, at) =>
      shape(`t${at}`, { isSmall: at % 3 > 0, reviews: at % 4 > 0 ? 0 : 2, ...(at > 5 && { dependsOn: ['t1', 't2'] }) }),
    )
    await using host = await server.host(
      async ({ kind }) => {
        await within(60)
        if (kind === 'plan') return { plan: tasks }
        if (kind === 'outline') return { steps: ['one', 'two'] }
        return { isGood: true }
      },
      // Local activities, too, so that queries are answered while they are under way.
      { before: () => within(40) },
    )
    await host.start({ atMost: 8, limits: { depth: 3, minutes: 5 } })
    const flows = [host.queue, ...tasks.map(({ id }) => `${host.queue}/${id}`)]
    const looks = new AbortController()
    const looking = flows.map(async id => {
      for (; !looks.signal.aborted; await within(80)) await lookAt(host, id)
    })
    for (let times = 0; times < 3; times++) {
      await within(400)
      expect(await host.says('pause')).toBeUndefined()
      await within(60)
      expect(await host.says('resume')).toBeUndefined()
    }
    expect((await host.handle.result()).state).toBe('done')
    looks.abort()
    await Promise.all(looking)
    const histories = await Promise.all(
      flows.map(async workflowId => {
        const history = await server.client.workflow.getHandle(workflowId).fetchHistory()
        return { workflowId, history: JSON.parse(historyToJSON(history)) }
      }),
    )
    expect(await replay(histories, server.bundle)).toEqual([])
  }, 180_000)
})

/** Asks a run or an attempt what it does; an attempt may not have begun. */
async function lookAt(host: FlowHost, id: string): Promise<void> {
  const query = id === host.queue ? 'status' : 'doing'
  await host.server.client.workflow
    .getHandle(id)
    .query(query)
    .catch(() => undefined)
}
