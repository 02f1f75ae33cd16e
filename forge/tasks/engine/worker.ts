/**
 * The worker, which runs the flows and activities of one repository. Only its environment has the keys of models. Asked
 * to end, it gives running work a moment and then stops it; asked to drain, since a newer worker exists, it takes
 * nothing new and finishes running work.
 */

import { trace } from '@opentelemetry/api'
import { ApplicationFailure, asyncLocalStorage, type Context } from '@temporalio/activity'
import { type ActivityInterceptors, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { Failure } from '../../../core/failure.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { firstLine, visible } from '../../../core/text.ts'
import { makeActivities } from '../activities/activities.ts'
import { FULL_DISK, TRIES } from '../activities/means.ts'
import { ensureBundle } from './bundle.ts'
import { type Server, serverErrorInWords } from './client.ts'
import { ensureDailyRound } from './daily.ts'
import type { IdleWatch } from './idle.ts'
import { giveBackLeftBehind, ownIdentity } from './left-behind.ts'
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

/** Runs the worker of a repository, with the real activities, until it is asked to end or drain. */
export async function runWorker({
  repository,
  ...options
}: { repository: Repository } & Omit<WorkerOptions, 'activities' | 'onBegun'>): Promise<void> {
  await using opened = await makeActivities({ repository, env: options.env })
  const onBegun = async (connection: NativeConnection): Promise<void> => {
    const place = { namespace: options.server.namespace, queue: options.queue }
    const { shared, learns } = opened
    // A worker that was killed may have had answers that were paid for and not pushed.
    shared?.pushLeft().catch(error => options.log(`What is left here is not on the hub yet (${String(error)}).`))
    if (learns) await ensureDailyRound(connection, place)
    const moved = await moveOlder(connection, repository, place)
    if (moved.length > 0) options.log(`Goes on with runs that another version of Forge has begun: ${moved.join(', ')}.`)
  }
  await hostWorker({ ...options, activities: opened.activities, onBegun })
}

/** Runs a worker with any activities. Throws a Failure where the server or the bundle is not available. */
export async function hostWorker(options: WorkerOptions): Promise<void> {
  const { server, log, env } = options
  installRuntime(log)
  await using telemetry = await startTelemetry(env, log)
  const { tls, apiKey, metadata } = server.options
  const given = { ...(tls !== undefined && { tls }), ...(apiKey && { apiKey }), ...(metadata && { metadata }) }
  const connection = await NativeConnection.connect({ address: server.address, ...given }).catch(error => {
    throw serverErrorInWords(error, server)
  })
  const last = new AbortController()
  using signs = new SignsOfLife()
  try {
    const bundle = options.bundle ?? (await ensureBundle())
    const means = { telemetry, signs, last: last.signal }
    const settings = { identity: await ownIdentity(), ...settingsOf({ ...options, bundle }, means) }
    const worker = await Worker.create({ connection, ...settings }).catch(error => {
      throw inTheWay(error, server)
    })
    const onReady = async () => {
      await options.onReady()
      const { namespace } = server
      options.onBegun?.(connection).catch(error => log(`Runs of another version stay as they are (${String(error)}).`))
      giveBackLeftBehind(connection, { namespace, queue: options.queue }).then(
        count =>
          count > 0 && log(`Does again what a worker was doing when it was killed (${count} of its activities).`),
        // If this fails, the server notices the dead worker by itself, a little later.
        () => undefined,
      )
    }
    await workUntilAsked(worker, { ...options, onReady }, last)
  } finally {
    // Fails while a worker is still ending; the connection then ends with the process.
    await connection.close().catch(() => undefined)
  }
}

/**
 * Installs the library's runtime, which is possible once in a process. Its messages go to the log; it does not handle
 * signals.
 */
function installRuntime(log: (line: string) => void): void {
  try {
    const logger = new DefaultLogger('WARN', ({ level, message, meta }) => log(`${level} ${message}${reasonIn(meta)}`))
    Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } } })
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
    namespace: server.namespace,
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

async function workUntilAsked(worker: Worker, options: WorkerOptions, last: AbortController): Promise<void> {
  const { signal, drain, onReady, log } = options
  const running = worker.run()
  const left = Promise.withResolvers<void>()
  const stop = () => worker.getState() === 'RUNNING' && worker.shutdown()
  const end = () => {
    stop()
    setTimeout(() => last.abort(), MERCY).unref()
    setTimeout(left.resolve, LAST).unref()
  }
  if (signal.aborted) end()
  if (drain.aborted) stop()
  signal.addEventListener('abort', end, { once: true })
  drain.addEventListener('abort', stop, { once: true })
  if (worker.getState() === 'RUNNING') await onReady()
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
