/**
 * Workers: how runs are called, what happens to running work when a worker ends, and that workers outlive the command.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Context } from '@temporalio/activity'
import { openRepository } from '../../../../core/git/repository.ts'
import { run as git } from '../../../../core/git/run.ts'
import { writeBundle } from '../../../../forge/tasks/engine/bundle.ts'
import { openRuns, queryRun, startRun, updateRun, workflowIdOf } from '../../../../forge/tasks/engine/client.ts'
import { openEngine } from '../../../../forge/tasks/engine/engine.ts'
import { isProcessAlive } from '../../../../forge/tasks/engine/processes.ts'
import { findWorker, openWorkerPlace } from '../../../../forge/tasks/engine/workers.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../../../support/temporal.ts'
import { workOn } from '../../../support/test-worker.ts'
import { PROJECT, until } from '../../../support/world.ts'

describe.skipIf(hasNoTemporal)('with a server,', () => {
  let temporal: TestTemporal
  let bundle = ''
  beforeAll(async () => {
    temporal = await startTemporal()
    bundle = join(temporal.folder, 'flows.js')
    await writeBundle(bundle, join(import.meta.dir, 'flows/flows.ts'))
  }, 60_000)
  afterAll(() => temporal[Symbol.asyncDispose](), 60_000)

  test('a run that is submitted twice is one run, and is found while it is under way', async () => {
    const { client } = temporal
    await using worker = await workOn(temporal, { bundle })
    const [first, second] = await Promise.all([1, 2].map(() => startRun(client, worker.queue, { run: 'twice' })))
    expect(await Promise.all([first?.result(), second?.result()])).toEqual(['answered', 'answered'])
    expect((await first?.describe())?.runId).toBe((await second?.describe())?.runId as string)
  }, 60_000)

  test('a run answers, and refuses in its own words', async () => {
    const { client } = temporal
    await using worker = await workOn(temporal, { bundle })
    const start = { taskQueue: worker.queue, workflowId: workflowIdOf('waits') }
    const handle = await client.workflow.start('waits', start)
    expect(await queryRun<string>(client, 'waits', 'status')).toBe('waits')
    // `rejects` would block this process, in which client and worker run.
    const refusal = await updateRun(client, 'waits', 'answer', ['']).catch(error => error)
    expect(refusal).toMatchObject({ message: 'An empty answer is none: say something.' })
    await updateRun(client, 'waits', 'answer', ['yes'])
    expect(await handle.result()).toBe('yes')
    const lost = await updateRun(client, 'nobody', 'answer', ['yes']).catch(error => error)
    expect(lost).toMatchObject({
      message: 'The Temporal server knows no run nobody that is under way: see forge runs.',
    })
  }, 60_000)

  test('a worker that is asked to end aborts what it does, and the next one does it again', async () => {
    const { client } = temporal
    const begun = Promise.withResolvers<void>()
    const reasons: unknown[] = []
    const wait = async (): Promise<string> => {
      begun.resolve()
      const { cancellationSignal, heartbeat } = Context.current()
      heartbeat.call(Context.current())
      const ended = Promise.withResolvers<string>()
      cancellationSignal.addEventListener('abort', () => {
        reasons.push(cancellationSignal.reason)
        ended.reject(new Error('aborted'))
      })
      return await ended.promise
    }
    const first = await workOn(temporal, { bundle, activities: { wait } })
    const handle = await client.workflow.start('long', {
      args: [{ run: 'ended' }],
      taskQueue: first.queue,
      workflowId: workflowIdOf('ended'),
    })
    await begun.promise
    const asked = performance.now()
    await first[Symbol.asyncDispose]()
    expect(performance.now() - asked).toBeLessThan(9000)
    expect(reasons).toHaveLength(1)
    await using _ = await workOn(temporal, { bundle, queue: first.queue, activities: { wait: async () => 'done' } })
    expect(await handle.result()).toBe('done')
  }, 60_000)

  test('a worker that drains takes nothing new, and finishes what it does', async () => {
    const { client } = temporal
    const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
    const wait = async (): Promise<string> => {
      begun.resolve()
      return await go.promise
    }
    const old = await workOn(temporal, { bundle, activities: { wait, ask: async () => 'by the old one' } })
    const long = await client.workflow.start('long', {
      args: [{ run: 'drained' }],
      taskQueue: old.queue,
      workflowId: workflowIdOf('drained'),
    })
    await begun.promise
    old.drain()
    const ask = async () => 'by the new one'
    await using _ = await workOn(temporal, { bundle, queue: old.queue, activities: { ask, wait: async () => 'again' } })
    const run = await startRun(client, old.queue, { run: 'newer' })
    expect(await run.result()).toBe('by the new one')
    go.resolve('once')
    expect(await long.result()).toBe('once')
    await old.ended
  }, 60_000)

  describe('a repository', () => {
    let folder = ''
    beforeAll(async () => {
      folder = join(temporal.folder, 'a repository')
      await mkdir(folder)
      await git({ cwd: folder }, ['init', '--quiet'])
    })

    const forge = (...args: string[]) => forgeIn(folder, ...args)
    const forgeIn = async (cwd: string, ...args: string[]) => {
      const child = Bun.spawn([join(PROJECT, 'forge.ts'), ...args], {
        cwd,
        env: temporal.env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
      return { code: await child.exited, out, err }
    }

    test('has a worker that outlives the command, is replaced when it was killed, and is ended by forge down', async () => {
      const repository = await openRepository(folder)
      const place = await openWorkerPlace(repository, temporal.env)
      expect(await forge('up')).toMatchObject({ code: 0, err: '' })
      const first = await findWorker(place)
      expect(first).toMatchObject({ folder, address: temporal.address })
      process.kill(first?.process.pid ?? 0, 'SIGKILL')
      await until('the worker is gone', async () => !(await findWorker(place)))

      await using engine = await openEngine(repository, temporal.env, { start: true })
      const second = await findWorker(place)
      expect(second?.process.pid).not.toBe(first?.process.pid as number)
      expect(engine.queue).toBe(second?.queue as string)
      const asked = { namespace: 'forge', taskQueue: { name: engine.queue }, taskQueueType: 1 }
      // The server lists ended workers for a while.
      const polls = async () => {
        const { pollers } = await temporal.connection.workflowService.describeTaskQueue(asked)
        return pollers?.some(({ identity }) => identity?.includes(`:${second?.process.pid},`))
      }
      await until('the worker polls', polls)

      expect((await forge('worker')).err).toMatch(/^A worker for this repository runs already \(process \d+\): end it/)
      const doctor = await forge('doctor')
      expect(doctor.out).toContain(`✓ worker      process ${second?.process.pid}\n`)
      expect(doctor.out).toContain(`✓ Temporal    answers at ${temporal.address}`)
      expect(doctor.code).toBe(1)
    }, 120_000)

    test('has its worker replaced when its settings or its code are others, but not by a terminal without keys', async () => {
      const repository = await openRepository(folder)
      const place = await openWorkerPlace(repository, temporal.env)
      const open = async (env: Record<string, string | undefined>) => {
        await using _ = await openEngine(repository, { ...temporal.env, ...env }, { start: true })
        return await findWorker(place)
      }
      const bare = await open({})
      const keyed = await open({ ANTHROPIC_API_KEY: 'sk-ant-SECRET-0123456789' })
      expect(keyed?.process.pid).not.toBe(bare?.process.pid as number)
      expect((await open({}))?.process).toEqual(keyed?.process as never)
      await until('the first one has drained', async () => !bare || !(await isProcessAlive(bare.process)))
      const record = await readFile(place.record, 'utf8')
      expect(record + (await readFile(place.log, 'utf8'))).not.toContain('SECRET')

      await writeFile(place.record, JSON.stringify({ ...keyed, version: 'an older one' }))
      const newer = await open({})
      expect(newer?.process.pid).not.toBe(keyed?.process.pid as number)
      await until('the older one has drained', async () => !keyed || !(await isProcessAlive(keyed.process)))
    }, 120_000)

    test('ends its own worker alone while another repository has one on the server, and all with --all', async () => {
      const other = join(temporal.folder, 'another-repository')
      await git({ cwd: '/' }, ['init', '--quiet', other])
      expect(await forge('up')).toMatchObject({ code: 0 })
      expect(await forgeIn(other, 'up')).toMatchObject({ code: 0 })
      const stays = `The Temporal server stays, as another worker is on it (${other}): forge down --all ends all.\n`
      expect((await forge('down')).out).toBe(`Ended 1 worker.\n${stays}`)
      expect((await forge('down')).out).toBe(stays)
      expect((await forgeIn('/', 'down')).out).toBe(stays)
      expect(await forge('up')).toMatchObject({ code: 0 })
      expect((await forge('down', '--all')).out).toBe('Ended 2 workers.\nEnded the Temporal server.\n')
      expect(await forge('up')).toMatchObject({ code: 0 })
    }, 120_000)

    test('is told which runs go on at the next start', async () => {
      const repository = await openRepository(folder)
      await using engine = await openEngine(repository, temporal.env, { start: false })
      await startRun(engine.client, 'a queue without a worker', { run: '20261122-undo-x7k2' })
      // The server's list is updated a moment later.
      await until('it is listed', async () => (await openRuns(engine.client)).includes('20261122-undo-x7k2'))
      expect(await openRuns(engine.client, engine.queue)).toEqual([])
      const { out } = await forge('down')
      expect(out).toMatch(/^Ended 1 worker\.\nEnded the Temporal server\.\n1 run under way, .*: 20261122-undo-x7k2\n$/)
      expect((await forge('down')).out).toBe('Nothing was there to end.\n')
    }, 120_000)
  })
})
