/** Workflows on a real server: one server for a test file, and a queue, a worker and a script for each test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client,
  Connection,
  type WorkflowHandle,
  type WorkflowHandleWithFirstExecutionRunId,
  WorkflowUpdateFailedError,
} from '@temporalio/client'
import {
  DefaultLogger,
  GracefulShutdownPeriodExpiredError,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker'
import type { RunInput, RunStatus } from '../../forge/tasks/contract.ts'
import { ensureBundle } from '../../forge/tasks/engine/bundle.ts'
import { isAskedAgain, withAttempts } from '../../forge/tasks/engine/client.ts'
import { ONE_PARTITION } from '../../forge/tasks/engine/server.ts'
import type { forgeRun } from '../../forge/tasks/flows/run.ts'
import { PARTS, queueOfPart } from '../../forge/tasks/run/queues.ts'
import { type Overrides, type Script, ScriptedActivities } from './flow-activities.ts'

const INSTALLED = join(import.meta.dir, '../../.tools/temporal/temporal')
const TEMPORAL =
  process.env.FORGE_TEMPORAL_BIN || (existsSync(INSTALLED) ? INSTALLED : Bun.which('temporal')) || undefined

/** For `describe.skipIf`: true where there is no server. */
export const hasNoTemporal = TEMPORAL === undefined

/** A free port. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (!address || typeof address === 'string') throw new Error('There is no port.')
  return address.port
}

export class FlowServer {
  private constructor(
    readonly process: ChildProcess,
    readonly folder: string,
    readonly client: Client,
    readonly native: NativeConnection,
    /** The path of the workflows' bundle, which `make test-tasks` has built. */
    readonly bundle: string,
  ) {}

  static async start(): Promise<FlowServer> {
    const folder = await mkdtemp(join(tmpdir(), 'forge-flows-'))
    const port = await freePort()
    const options = ['--headless', '--ip', '127.0.0.1', '--port', `${port}`, '--log-level', 'error']
    // No data has to survive the test, so nothing is synced to disk.
    const pragmas = ['journal_mode=wal', 'synchronous=0'].flatMap(it => ['--sqlite-pragma', it])
    const database = ['--db-filename', join(folder, 'temporal.db'), ...pragmas]
    const attributes = ['forgeRun', 'forgeTask', 'forgeState'].flatMap(it => ['--search-attribute', `${it}=Keyword`])
    const partitions = ONE_PARTITION.flatMap(it => ['--dynamic-config-value', it])
    const args = ['server', 'start-dev', ...options, ...database, ...attributes, ...partitions]
    const server = spawn(TEMPORAL ?? 'temporal', args, { stdio: 'ignore' })
    Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
    const address = `127.0.0.1:${port}`
    const native = await again(() => NativeConnection.connect({ address }))
    const connection = await again(() => Connection.connect({ address }))
    const client = new Client({ connection })
    await again(() => client.workflowService.describeNamespace({ namespace: 'default' }))
    return new FlowServer(server, folder, client, native, await ensureBundle())
  }

  async close(): Promise<void> {
    await this.client.connection.close()
    await this.native.close()
    const ended = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await ended
    await rm(this.folder, { recursive: true, force: true })
  }

  /** Makes a worker for this script. */
  async host(script: Script, overrides: Overrides = {}): Promise<FlowHost> {
    const host = new FlowHost(this, new ScriptedActivities(script, overrides))
    await host.begin()
    return host
  }
}

/** Repeats work that fails while a server starts, until it succeeds. */
async function again<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries >= 800) throw error
      await Bun.sleep(50)
    }
  }
}

let hosts = 0

export class FlowHost {
  readonly queue = `queue-${process.pid}-${++hosts}`
  readonly run = `run-${hosts}`
  #workers: Worker[] = []
  #working: Promise<unknown> | undefined
  #handle: WorkflowHandle<typeof forgeRun> | undefined

  constructor(
    readonly server: FlowServer,
    readonly activities: ScriptedActivities,
  ) {}

  /** Starts the worker. */
  async begin(): Promise<void> {
    const options = {
      connection: this.server.native,
      activities: this.activities.functions(),
      maxCachedWorkflows: 200,
      maxHeartbeatThrottleInterval: '200 milliseconds',
      defaultHeartbeatThrottleInterval: '200 milliseconds',
      shutdownForceTime: '2 seconds',
      // Workflows always trace: without a collector, their spans are dropped.
      sinks: { exporter: { export: { fn: () => undefined } } },
    } as const
    const own = { ...options, taskQueue: this.queue, workflowBundle: { codePath: this.server.bundle } }
    const ofParts = PARTS.map(part => ({ ...options, taskQueue: queueOfPart(this.queue, part) }))
    this.#workers = await Promise.all([own, ...ofParts].map(it => Worker.create(it)))
    this.#working = Promise.all(this.#workers.map(worker => worker.run()))
  }

  /** Stops the worker; the runs stay where they are. */
  async end(): Promise<void> {
    for (const worker of this.#workers) worker.shutdown()
    await this.#working?.catch(error => {
      // A busy machine may need longer than `shutdownForceTime`: the worker has ended all the same.
      if (!(error instanceof GracefulShutdownPeriodExpiredError)) throw error
    })
  }

  async start(
    more: Partial<RunInput> = {},
    withAttributes = false,
  ): Promise<WorkflowHandleWithFirstExecutionRunId<typeof forgeRun>> {
    const input: RunInput = {
      run: this.run,
      wish: this.activities.put('wish', 'Build it.'),
      base: this.activities.commit(['base']),
      limits: { depth: 3 },
      isApproved: true,
      onlyPlan: false,
      atMost: 4,
      ...more,
    }
    const handle = await this.server.client.workflow.start<typeof forgeRun>('forgeRun', {
      taskQueue: this.queue,
      workflowId: this.queue,
      args: [input],
      ...(withAttributes && {
        typedSearchAttributes: [{ key: { name: 'forgeRun', type: 'KEYWORD' as const }, value: this.run }],
      }),
    })
    // Not the handle of `start`: it would only follow the first run of the workflow.
    this.#handle = this.server.client.workflow.getHandle<typeof forgeRun>(this.queue)
    return handle
  }

  get handle(): WorkflowHandle<typeof forgeRun> {
    if (!this.#handle) throw new Error('Nothing was started.')
    return this.#handle
  }

  /** The status after the workflow has ended. */
  result = async (): Promise<RunStatus> => {
    await this.handle.result()
    return await this.status()
  }
  status = async (): Promise<RunStatus> =>
    withAttempts(this.server.client, this.queue, await this.handle.query<RunStatus>('status'))

  /** Sends an update, again where the moment was unclear. Gives undefined where it was accepted, else the error. */
  async says(name: string, ...args: unknown[]): Promise<string | undefined> {
    try {
      const [first, ...others] = args
      if (args.length === 0) await this.handle.executeUpdate(name)
      else await this.handle.executeUpdate<void, [unknown, ...unknown[]]>(name, { args: [first, ...others] })
      return undefined
    } catch (error) {
      if (isAskedAgain(error)) return await this.says(name, ...args)
      if (error instanceof WorkflowUpdateFailedError) return error.cause?.message ?? ''
      throw error
    }
  }

  answer = (task: string, words: string): Promise<string | undefined> =>
    this.says('answer', task, this.activities.put('answer of a person', words))

  /** Waits until the run's status matches. */
  async until(looks: (status: RunStatus) => boolean, seconds = 90): Promise<RunStatus> {
    const end = Date.now() + seconds * 1000
    for (;;) {
      const status = await this.status()
      if (looks(status)) return status
      if (Date.now() > end) throw new Error(`It never came to that: ${JSON.stringify(status, null, 1)}`)
      await Bun.sleep(30)
    }
  }

  untilState = (state: RunStatus['state'], seconds?: number): Promise<RunStatus> =>
    this.until(status => status.state === state, seconds)

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.terminate().catch(() => undefined)
    await this.end()
  }
}

/** A task of a status by its id; a waiting one where it is not planned yet. */
export function taskOf(status: RunStatus, id: string): RunStatus['tasks'][number] {
  const none = { id, title: '', state: 'waits' as const, attempt: 0, doing: '', words: 'not planned', dependsOn: [] }
  return status.tasks.find(one => one.id === id) ?? none
}
