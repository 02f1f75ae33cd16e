/**
 * A run that was ended on the server, or whose server is gone: what every command says of it. A command that followed
 * it forever would hang this test; how long each takes depends on the machine.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { task } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'
import { until } from '../../../support/world.ts'

const LONG = 120_000
describe.skipIf(hasNoTemporal)('a run that is dead', () => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await TaskScene.open()
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  /** Begins a run whose only task is not answered until `answer` is called. */
  async function begin(name: string) {
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    scene.model.knows(name, {
      tasks: [task('a')],
      answer: async ({ kind }) => {
        if (kind !== 'implement') return undefined
        asked.resolve()
        await answered.promise
        return undefined
      },
    })
    const following = scene.forge(['run', '--yes', name])
    await asked.promise
    const [listed = ''] = (await scene.forge(['runs'])).out.split('\n').filter(line => line.includes(`-${name}-`))
    return { run: listed.split(' ')[0] ?? '', following, answer: answered.resolve }
  }

  test(
    'since it was terminated says so everywhere within seconds, and is taken up again',
    async () => {
      const { run, following, answer } = await begin('terminated')
      const handle = scene.temporal.client.workflow.getHandle(`forge-run-${run}`)
      await handle.terminate('No room on this cluster')
      const words = `It was terminated on the Temporal server (No room on this cluster): forge resume ${run}`
      const ended = await following
      expect(ended.code).toBe(1)
      expect(ended.out).toContain(words)
      const [runs, shown, attached] = await Promise.all([
        scene.forge(['runs', '--json']),
        scene.status(run),
        scene.forge(['attach', run]),
      ])
      const listed = runs.out.split('\n').find(line => line.includes(run)) ?? '{}'
      expect(JSON.parse(listed)).toMatchObject({ isUnderWay: false, status: { state: 'failed' } })
      expect([shown.state, shown.tasks[0]?.state]).toEqual(['failed', 'stopped'])
      expect(shown.words).toStartWith(words)
      expect([attached.code, attached.out.includes('No room on this cluster')]).toEqual([1, true])
      expect((await scene.forge(['pause', run])).err).toContain(`The run ${run} has ended already`)
      expect((await scene.forge(['resume', run])).out).toContain(
        'It was terminated on the server: it was submitted again',
      )
      answer()
      expect((await scene.forge(['attach', run])).code).toBe(0)
      // The request under way at the termination is not sent again.
      expect(scene.model.asked('terminated')).toEqual(['plan', 'implement a'])
    },
    LONG,
  )

  test(
    'since somebody cancelled it on the server was stopped',
    async () => {
      const { run, following, answer } = await begin('cancelled')
      await scene.temporal.client.workflow.getHandle(`forge-run-${run}`).cancel()
      expect((await following).code).toBe(1)
      expect((await scene.status(run)).state).toBe('stopped')
      answer()
    },
    LONG,
  )

  test(
    'since a time limit of the server ended it says so',
    async () => {
      const { run } = await scene.run('timed-out', { tasks: [task('a')], answer: () => ASKS })
      const { client } = scene.temporal
      const handle = client.workflow.getHandle(`forge-run-${run}`)
      await handle.terminate()
      await client.workflow.start('forgeRun', {
        ...{ workflowId: `forge-run-${run}`, taskQueue: 'nobody-works-here', args: [{}] },
        workflowExecutionTimeout: '1 second',
      })
      await handle.result().catch(() => undefined)
      const shown = await scene.status(run)
      // The run's question is kept, but can't be answered before the run is submitted again.
      expect([shown.state, shown.words]).toEqual([
        'failed',
        `It ran into a time limit of the Temporal server: forge resume ${run} submits it again; what is done stays done.`,
      ])
      expect((await scene.forge(['attach', run])).code).toBe(1)
    },
    LONG,
  )

  test(
    'since its server is gone says that, and is shown as it was last',
    async () => {
      const { run, following, answer } = await begin('unreachable')
      const env = { TEMPORAL_ADDRESS: '127.0.0.1:9' }
      const runs = await scene.forge(['runs', '--json'], { env })
      const attached = await scene.forge(['attach', run], { env })
      expect(attached.err).not.toContain('    at ')
      const listed = JSON.parse(runs.out.split('\n').find(line => line.includes(run)) ?? '{}')
      expect(listed).toMatchObject({ status: { state: 'unreachable', tasks: [{ id: 'a', state: 'waits' }] } })
      expect(listed.status.words).toStartWith('No Temporal server answers at 127.0.0.1:9')
      expect([attached.code, attached.err]).toEqual([1, expect.stringContaining('No Temporal server answers')])
      answer()
      await following
    },
    LONG,
  )

  test(
    'since its host accepts connections and says nothing more is shown as it was last, and the person hears why it takes so long',
    async () => {
      const { run, following, answer } = await begin('silent-host')
      const silent = createServer().listen(0, '127.0.0.1')
      await once(silent, 'listening')
      const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`
      const env = { TEMPORAL_ADDRESS: address }
      const terminal = scene.terminal(['attach', run], { env, columns: 200 })
      const [runs, shown] = await Promise.all([
        scene.forge(['runs', '--json'], { env }),
        scene.forge(['show', run], { env }),
        terminal.shows(`The Temporal server at ${address} has not answered yet.`),
      ])
      const attached = await terminal.ended()
      silent.close()
      const listed = JSON.parse(runs.out.split('\n').find(line => line.includes(run)) ?? '{}')
      expect(listed).toMatchObject({ status: { state: 'unreachable' } })
      const words = `No Temporal server answers at ${address} (no answer in time)`
      expect([shown.code, shown.out.replace(/\s+/g, ' ')]).toEqual([0, expect.stringContaining(words)])
      expect([attached.code, attached.text]).toEqual([1, expect.stringContaining(words)])
      answer()
      await following
    },
    LONG,
  )

  test(
    'since its server hangs says so to its followers, and goes on when that answers again',
    async () => {
      const { run, following, answer } = await begin('hung-server')
      const { pid } = scene.temporal.server.running?.process ?? {}
      if (pid === undefined) throw new Error('The server of this test is not its own.')
      const terminal = scene.terminal(['attach', run])
      await terminal.shows('▸ a')
      process.kill(pid, 'SIGSTOP')
      try {
        await terminal.shows('The Temporal server does not answer')
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      answer()
      expect((await terminal.ended()).code).toBe(0)
      expect((await following).code).toBe(0)
    },
    LONG,
  )

  test(
    'says in each list that its provider does not answer, and goes on when that does',
    async () => {
      let isBusy = true
      scene.model.knows('busy-provider', {
        tasks: [task('a')],
        answer: ({ kind }) => (kind === 'implement' && isBusy ? { turn: { status: 503 } } : undefined),
      })
      const following = scene.forge(['run', '--yes', 'busy-provider'])
      const said = /is overloaded \(503\) \(\S+, since \d\d:\d\d:\d\d\): (one try|\d+ tries) so far/
      await until('forge runs says it', async () => said.test((await scene.forge(['runs'])).out), 60)
      expect((await scene.forge(['show', 'last'])).out.replace(/\s+/g, ' ')).toMatch(said)
      isBusy = false
      expect((await following).code).toBe(0)
    },
    LONG,
  )

  test(
    'is traced by the command itself, which says so where nobody takes that',
    async () => {
      scene.model.knows('untraced', { tasks: [task('a')] })
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://key-in-it@127.0.0.1:9' }
      const { code, err } = await scene.forge(['run', '--plan', 'untraced'], { env })
      expect([code, err.match(/Traces can't be sent/g)]).toEqual([0, ["Traces can't be sent"]])
      expect(err).not.toContain('key-in-it')
    },
    LONG,
  )

  test(
    'since its namespace was deleted says that',
    async () => {
      await using other = await TaskScene.open()
      other.model.knows('no-namespace', { tasks: [task('a')], answer: () => ASKS })
      const run = runIn((await other.forge(['run', '--yes', 'no-namespace'])).err)
      const { connection, namespace } = other.temporal
      await connection.operatorService.deleteNamespace({ namespace })
      const attached = await other.forge(['attach', run])
      expect(attached.code).toBe(1)
      expect(attached.err).toContain(`no namespace ${namespace}`)
    },
    LONG,
  )
})

const ASKS = { signal: 'blocked_on_human', words: 'Which?', question: 'Red or blue?' }
