/**
 * The worker, which runs the flows and activities of one repository. Only its environment has the keys of models. Asked
 * to end, it gives running work a moment and then stops it; asked to drain, since a newer worker exists, it takes
 * nothing new and finishes running work.
 */

import { trace } from '@opentelemetry/api'
import { ApplicationFailure, asyncLocalStorage, type Context } from '@temporalio/activity'
import {
  type ActivityInterceptors,
  DefaultLogger,
  type MetricsExporterConfig,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker'
import { Failure } from '../../../core/failure.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { firstLine, visible } from '../../../core/text.ts'
import { makeActivities } from '../activities/activities.ts'
import { FULL_DISK, TRIES } from '../activities/means.ts'
import { ACTIVITIES_OF, PARTS, type Part, queueOfPart } from '../run/queues.ts'
import { ensureBundle, flowsVersion } from './bundle.ts'
import { namespaceOf, type Server, serverErrorInWords, serverReason } from './client.ts'
import { ensureDailyRound } from './daily.ts'
import { Deployments, type Version, versionOf, whyNoDeployments } from './deployments.ts'
import { isEncrypting, verifyKey } from './encryption.ts'
import type { IdleWatch } from './idle.ts'
import { giveBackLeftBehind, ownIdentity } from './left-behind.ts'
import { metricsOf } from './metrics.ts'
import { moveOlder } from './older.ts'
import { SignsOfLife } from './signs-of-life.ts'
import { startTelemetry, type Telemetry } from './telemetry.ts'

type Environment = Record<string, string | undefined>

type WorkerOptions = {
  server: Server
  queue: string
  /** An object whose functions are the activities. */
  activities: object
  env: Environment
  /** When aborted, the worker ends within seconds; its running work is cancelled. */
  signal: AbortSignal
  /** When aborted, the worker takes no new work, and ends when its running work is done. */
  drain: AbortSignal
  log: (line: string) => void
  /** Awaited when the worker runs, before `onBegun` is called. */
  onReady: () => Promise<void> | void
  /** Called when the worker is ready for work, with its connection; errors are logged. */
  onBegun?: (connection: NativeConnection) => Promise<void>
  /**
   * The parts of the work for which the worker has a queue each. Without it, one queue has all activities.
   */
  parts?: readonly Part[]
  /** Whether the worker runs workflows; by default it does. */
  runsFlows?: boolean
  /**
   * The version of the workflows, for servers with workers of several versions; without it, the worker has none.
   */
  version?: string
  /** The path of a bundle; by default that of the current sources. */
  bundle?: string
  /** Counts the running activities, so that an idle worker can be ended. */
  idle?: Pick<IdleWatch, 'during'>
}

/** At most this many workflows are kept in memory between their steps; others are replayed. */
const CACHED_WORKFLOWS = 100
/** At most this many activities at once. The activities themselves limit the requests to each provider. */
const ACTIVITIES = 64
/** Milliseconds after TERM until running activities are cancelled, and until the process exits. */
const [MERCY, LAST] = [3000, 10_000]
/** How long workflows in the memory of a killed worker wait for it. */
const STICKY_TIMEOUT = '5 seconds'
/** The longest time for draining. */
const DRAIN_TIMEOUT = '15 minutes'

/**
 * Runs the worker of a repository, with the real activities, until it is asked to end or drain. `only`: the part of the
 * work that it serves; without it, all. Workflows run where models are asked: their settings are there. `isShared`:
 * whether other machines may have workers on the server.
 */
export async function runWorker({
  repository,
  only,
  isShared,
  ...options
}: { repository: Repository; only?: Part | undefined; isShared: boolean } & Omit<
  WorkerOptions,
  'activities' | 'onBegun' | 'parts' | 'runsFlows' | 'version'
>): Promise<void> {
  await using opened = await makeActivities({ repository, env: options.env })
  const onBegun = async (connection: NativeConnection): Promise<void> => {
    const { server, queue } = options
    const place = { server, queue }
    const { shared, learns } = opened
    // A worker that was killed may have had answers that were paid for and not pushed.
    shared?.pushLeft().catch(error => options.log(`What is left here is not on the hub yet: ${serverReason(error)}`))
    if (only === 'checks') return
    if (learns) await ensureDailyRound(connection, place)
    const moved = await moveOlder(connection, repository, place)
    if (moved.length > 0) options.log(`Goes on with runs that another version of Forge has begun: ${moved.join(', ')}.`)
  }
  const parts = only === undefined ? PARTS : [only]
  // On this machine's own server, the next worker takes the place of the one before.
  const version = isShared ? { version: await flowsVersion() } : {}
  await hostWorker({
    ...options,
    activities: opened.activities,
    onBegun,
    parts,
    runsFlows: only !== 'checks',
    ...version,
  })
}

/** Runs a worker with any activities. Throws a Failure where the server or the bundle is not available. */
export async function hostWorker(options: WorkerOptions): Promise<void> {
  const { server, log, env } = options
  installRuntime(log, metricsOf(env))
  await using telemetry = await startTelemetry(env, log)
  const { tls, apiKey, metadata } = server.options
  const given = { ...(tls !== undefined && { tls }), ...(apiKey && { apiKey }), ...(metadata && { metadata }) }
  const connection = await NativeConnection.connect({ address: server.address, ...given }).catch(error => {
    throw serverErrorInWords(error, server)
  })
  const last = new AbortController()
  using signs = new SignsOfLife()
  try {
    const bundle = options.bundle ?? (await ensureBundle(isEncrypting(server.converter)))
    await verifyKey(connection, options)
    const means = { telemetry, signs, last: last.signal }
    const settings = { identity: await ownIdentity(), ...settingsOf({ ...options, bundle }, means) }
    const deployed = await deploymentOf(connection, options)
    const isNew = deployed !== undefined && !(await deployed.deployments.isKnown())
    const workers = await Promise.all(
      queuesOf(options, settings, deployed?.version).map(of =>
        Worker.create({ connection, ...settings, ...of }).catch(error => {
          throw inTheWay(error, server)
        }),
      ),
    )
    const ending = AbortSignal.any([options.signal, options.drain])
    const onReady = async () => {
      if (deployed) {
        // New runs have to find a version, so the worker is not ready before.
        await deployed.deployments.takeOver({ isNew }).catch(error => {
          throw new Failure(`The worker's version could not be made known to the server (${serverReason(error)}).`)
        })
        void deployed.deployments.keepMoving(bundle, { signal: ending, log })
      }
      await options.onReady()
      options
        .onBegun?.(connection)
        .catch(error => log(`Runs of another version stay as they are: ${serverReason(error)}`))
      giveBackLeftBehind(connection, { server, queue: options.queue }).then(
        count =>
          count > 0 && log(`Does again what a worker was doing when it was killed (${count} of its activities).`),
        // If this fails, the server notices the dead worker by itself, a little later.
        () => undefined,
      )
    }
    await workUntilAsked(workers, { ...options, onReady }, last)
  } finally {
    // Fails while a worker is still ending; the connection then ends with the process.
    await connection.close().catch(() => undefined)
  }
}

/**
 * Installs the library's runtime, which is possible once in a process. Its messages go to the log; it does not handle
 * signals.
 */
function installRuntime(log: (line: string) => void, metrics: MetricsExporterConfig | undefined): void {
  try {
    const logger = new DefaultLogger('WARN', ({ level, message, meta }) => log(`${level} ${message}${reasonIn(meta)}`))
    const telemetryOptions = { logging: { forward: {}, filter: 'ERROR' }, ...(metrics && { metrics }) }
    Runtime.install({ logger, shutdownSignals: [], telemetryOptions })
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'IllegalStateError') throw error
  }
}

/**
 * The reason in a message's metadata, for the log: only names and the first line of an error, since other metadata may
 * contain arguments.
 */
function reasonIn(meta: unknown): string {
  const { error, workflowId, activityType } = (meta ?? {}) as Record<string, unknown>
  const reason = error instanceof Error ? firstLine(error.message).slice(0, 300) : undefined
  const words = [workflowId, activityType, reason].filter(word => typeof word === 'string')
  return words.length === 0 ? '' : ` (${words.join(', ')})`
}

function settingsOf(
  { server, queue, activities, idle, bundle }: WorkerOptions & { bundle: string },
  { telemetry, signs, last }: { telemetry: Telemetry; signs: SignsOfLife; last: AbortSignal },
) {
  return {
    ...namespaceOf(server),
    taskQueue: queue,
    workflowBundle: { codePath: bundle },
    activities,
    maxCachedWorkflows: CACHED_WORKFLOWS,
    maxConcurrentActivityTaskExecutions: ACTIVITIES,
    shutdownGraceTime: DRAIN_TIMEOUT,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT,
    // Otherwise a workflow begun by another version with other steps would be retried forever, without an error.
    workflowFailureErrorTypes: { '*': ['NondeterminismError' as const] },
    // A cancellation arrives with a heartbeat, and should be noticed within seconds.
    maxHeartbeatThrottleInterval: '2 seconds' as const,
    defaultHeartbeatThrottleInterval: '1 second' as const,
    sinks: telemetry.sinks,
    interceptors: {
      client: { workflow: telemetry.client },
      activity: [
        ...telemetry.activity,
        ...(idle ? [countingBy(idle)] : []),
        placing,
        livingBy(signs),
        failing,
        endingWith(last),
      ],
    },
  }
}

/** The versions of a worker's queue; undefined where it has none, or the server lacks them, which is told. */
async function deploymentOf(
  connection: NativeConnection,
  { server, queue, version: buildId, runsFlows = true, log }: WorkerOptions,
): Promise<{ version: Version; deployments: Deployments } | undefined> {
  if (buildId === undefined || !runsFlows) return undefined
  const why = await whyNoDeployments(connection, server.namespace)
  if (why !== undefined) {
    log(why)
    return undefined
  }
  const version = versionOf(queue, buildId)
  return { version, deployments: new Deployments(connection, { server, queue }, version) }
}

/** What the workers of one process differ in: one for the repository's own queue, and one for each part of the work. */
function queuesOf(
  { queue, activities, parts = [], runsFlows = true }: WorkerOptions,
  { workflowBundle }: { workflowBundle: { codePath: string } },
  version: Version | undefined,
) {
  const named = activities as Record<string, unknown>
  const workerDeploymentOptions = version && {
    version,
    useWorkerVersioning: true as const,
    defaultVersioningBehavior: 'PINNED' as const,
  }
  const own = { taskQueue: queue, workflowBundle, activities, ...(version && { workerDeploymentOptions }) }
  const ofParts = parts.map(part => ({
    taskQueue: queueOfPart(queue, part),
    workflowBundle: undefined,
    activities: Object.fromEntries(ACTIVITIES_OF[part].map(name => [name, named[name]])),
  }))
  return [...(runsFlows ? [own] : []), ...ofParts]
}

async function workUntilAsked(
  workers: readonly Worker[],
  options: WorkerOptions,
  last: AbortController,
): Promise<void> {
  const { signal, drain, onReady, log } = options
  const running = Promise.all(workers.map(worker => worker.run()))
  const left = Promise.withResolvers<void>()
  const isRunning = () => workers.every(worker => worker.getState() === 'RUNNING')
  const stop = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  // If one of them fails, the others must not go on alone.
  running.catch(stop)
  const end = () => {
    stop()
    setTimeout(() => last.abort(), MERCY).unref()
    setTimeout(left.resolve, LAST).unref()
  }
  if (signal.aborted) end()
  if (drain.aborted) stop()
  signal.addEventListener('abort', end, { once: true })
  drain.addEventListener('abort', stop, { once: true })
  if (isRunning()) await onReady()
  const hasEnded = await Promise.race([running.then(() => true), left.promise.then(() => false)])
  running.catch(() => undefined)
  if (!hasEnded) log('What was under way did not end in time: the next worker does it again.')
}

function inTheWay(error: unknown, server: Server): Error {
  const { message } = error as Error
  if (/namespace/i.test(message)) return serverErrorInWords(error, server)
  return new Failure(`The worker could not begin: ${visible(firstLine(message))}`)
}

// --- Around every activity

const countingBy = (idle: Pick<IdleWatch, 'during'>) => (): ActivityInterceptors => ({
  inbound: { execute: (input, next) => idle.during(() => next(input)) },
})

/**
 * Adds the run, task, attempt and step of an activity to its trace span: every activity has them in its first argument.
 */
const placing = (): ActivityInterceptors => ({
  inbound: {
    execute: async (input, next) => {
      const { run, task, attempt, step } = (input.args[0] ?? {}) as Record<string, unknown>
      const told = Object.entries({ run, task, attempt, step }).filter(([, value]) => isPlain(value))
      const attributes = Object.fromEntries(told.map(([name, value]) => [`forge.${name}`, value as string | number]))
      trace.getActiveSpan()?.setAttributes(attributes)
      return await next(input)
    },
  },
})

const isPlain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

/** Sends heartbeats for every activity, so that the server soon notices a lost worker. Local activities have none. */
const livingBy =
  (signs: SignsOfLife) =>
  (context: Context): ActivityInterceptors => ({
    inbound: {
      execute: async (input, next) => {
        if (context.info.isLocal) return await next(input)
        const { run, task } = (input.args[0] ?? {}) as Record<string, unknown>
        const group = JSON.stringify([run, task])
        using _ = signs.add(group, () => context.heartbeat())
        const { cancellationSignal } = context
        const tellOthers = () => signs.askAll(group)
        cancellationSignal.addEventListener('abort', tellOthers, { once: true })
        try {
          return await next(input)
        } finally {
          cancellationSignal.removeEventListener('abort', tellOthers)
        }
      },
    },
  })

/**
 * Ends the retries of an activity that fails by itself. Tries lost with a killed worker are not counted: those are
 * always repeated.
 */
const failing = ({ info, cancellationSignal }: Context): ActivityInterceptors => ({
  inbound: {
    execute: async (input, next) => {
      try {
        return await next(input)
      } catch (error) {
        if (error instanceof ApplicationFailure) {
          const { message, type, details, nonRetryable } = error
          const most = type === FULL_DISK ? TRIES.unexpected : TRIES.passing
          if (nonRetryable || type === 'WorkerEnded' || info.attempt < most) throw error
          throw ApplicationFailure.create({
            message,
            nonRetryable: true,
            ...(type && { type }),
            ...(details && { details }),
          })
        }
        if (cancellationSignal.aborted || info.attempt < TRIES.unexpected) throw error
        throw ApplicationFailure.nonRetryable(error instanceof Error ? error.message : String(error))
      }
    },
  },
})

/** Gives every activity a signal that is also aborted when the worker is about to end. */
const endingWith =
  (last: AbortSignal) =>
  (context: Context): ActivityInterceptors => ({
    inbound: {
      execute: async (input, next) => {
        const cancellationSignal = AbortSignal.any([context.cancellationSignal, last])
        const inTime: Context = Object.create(context, { cancellationSignal: { value: cancellationSignal } })
        try {
          return await asyncLocalStorage.run(inTime, () => next(input))
        } catch (error) {
          // The activity did not fail, and is repeated at once.
          if (last.aborted) throw ApplicationFailure.retryable('The worker was ended', 'WorkerEnded')
          throw error
        }
      },
    },
  })
