/**
 * A run of many tasks that all fail twice, with answers of 100 KB that can't be applied: it ends in an orderly way, its
 * histories stay far below the server's limits, and they contain nothing of a file or an answer.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporal } from '@temporalio/proto'
import { statusOfRun, updateRun, workflowIdOf } from '../../../forge/tasks/engine/client.ts'
import { done, says, task } from '../../support/task-model.ts'
import { runIn, TaskScene } from '../../support/tasks.ts'
import { hasNoTemporal } from '../../support/temporal.ts'
import { until } from '../../support/world.ts'

/** FORGE_TEST_FAILING=1000 takes minutes and prints measurements. */
const TASKS = Number(process.env.FORGE_TEST_FAILING || 30)
const LONG = 120_000 + TASKS * 8000
const ANSWER_BYTES = 100_000
/** At most this many bytes in an event of a history. */
const MAX_EVENT_BYTES = 64 << 10
/** Text in a file of the repository and in each answer. */
const CONTENT = 'the content of a file which no history may have'

describe.skipIf(hasNoTemporal)('a run whose tasks all fail twice', () => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await TaskScene.open()
    await writeFile(join(scene.folder, 'lib.txt'), `${CONTENT}\n`.repeat(40))
    await scene.git('add', 'lib.txt')
    await scene.git('-c', 'user.name=You', '-c', 'user.email=you@forge.example', 'commit', '--quiet', '-m', 'A file')
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  test(
    `ends in an orderly way (${TASKS} tasks)`,
    async () => {
      const begun = performance.now()
      const check = (id: string) => ({ checks: [{ command: `grep -q done ${id}.txt` }] })
      const ids = Array.from({ length: TASKS }, (_, at) => `t${at}`)
      const tasks = ids.map((id, at) => ({
        ...task(id, check(id)),
        claims: at === 0 ? ['A1'] : [],
        context: { files: ['lib.txt'] },
      }))
      const contract = [{ id: 'A1', says: 'It is done.', how: { kind: 'command', command: 'grep -q done t0.txt' } }]
      const plan = { title: 'failing', summary: 'Many tasks.', contract, tasks }
      scene.model.knows('failing', {
        tasks: [],
        plan,
        answer: ({ kind, task: id }) => {
          if (kind === 'check plan') return says('success', 'It stays.')
          if (kind !== 'implement') return undefined
          const search = `${id}: ${CONTENT}\n`.repeat(Math.ceil(ANSWER_BYTES / (CONTENT.length + 6)))
          return done('Change it.', { kind: 'replace', path: 'lib.txt', search, replace: 'x' })
        },
      })
      const begin = await scene.forge(['run', '--yes', '--budget', '100000', '--at-most', '8', 'failing'])
      // The run asks whether to continue, since so many tasks fail.
      expect(begin).toMatchObject({ code: 4, out: expect.stringContaining('tasks failed at their first attempt') })
      const run = runIn(begin.err)
      const { client } = scene.temporal
      let times = 0
      await until(
        'all tasks ask',
        async () => {
          const { state, tasks } = await statusOfRun(client, run)
          expect(['asks', 'runs', 'planning']).toContain(state)
          if (tasks.length === TASKS && tasks.every(it => it.state === 'asks')) return true
          if (state !== 'asks' || tasks.some(it => it.state === 'runs')) return false
          await updateRun(client, run, 'resume', [undefined]).catch(() => undefined)
          times++
          return false
        },
        LONG / 1000,
      )
      const minutes = (performance.now() - begun) / 60_000
      expect(scene.model.asked('failing').filter(it => it.startsWith('implement'))).toHaveLength(TASKS * 4)
      const told = await eventsOf(run)
      expect(told.largest.bytes).toBeLessThan(MAX_EVENT_BYTES)
      expect(told.withContent).toEqual([])
      expect((await scene.forge(['show', run])).code).toBe(0)
      expect((await scene.forge(['stop', run])).code).toBe(0)
      expect((await scene.status(run)).state).toBe('stopped')
      // The user is not asked again and again about the same.
      expect(times).toBeLessThan(12)
      if (!process.env.FORGE_TEST_FAILING) return
      const store = Number(await scene.git('rev-list', '--objects', '--disk-usage', `refs/forge/runs/${run}/store`))
      console.log({ tasks: TASKS, minutes, resumed: times, ...told, storeMB: store / (1 << 20) })
    },
    LONG,
  )

  /** All events of all workflows of a run. */
  async function eventsOf(run: string) {
    const { client } = scene.temporal
    const found = {
      events: 0,
      workflows: 0,
      histories: 0,
      largest: { bytes: 0, type: '' },
      withContent: [] as string[],
    }
    const query = `WorkflowId = '${workflowIdOf(run)}' OR WorkflowId STARTS_WITH '${workflowIdOf(run)}/'`
    for await (const { workflowId, runId } of client.workflow.list({ query })) {
      found.workflows++
      if (workflowId === workflowIdOf(run)) found.histories++
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory()
      for (const event of events ?? []) {
        found.events++
        const bytes = Buffer.from(temporal.api.history.v1.HistoryEvent.encode(event).finish())
        const type = temporal.api.enums.v1.EventType[event.eventType ?? 0] ?? ''
        if (bytes.length > found.largest.bytes) found.largest = { bytes: bytes.length, type }
        if (bytes.includes(CONTENT)) found.withContent.push(`${workflowId} ${event.eventId} ${type}`)
      }
    }
    return found
  }
})
