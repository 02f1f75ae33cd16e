/**
 * The worker: it does what the flows of one repository ask for. Keys of models are in its environment alone. Asked to
 * end, it lets what it does go on for a moment, then ends that too; asked to drain, since a newer worker is there, it
 * takes nothing new and finishes what it does.
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
import type { IdleWatch } from './idle.ts'
import { giveBackLeftBehind, ownIdentity } from './left-behind.ts'
import { moveOlder } from './older.ts'
import { SignsOfLife } from './signs-of-life.ts'
import { startTelemetry, type Telemetry } from './telemetry.ts'

type Environment = Record<string, string | undefined>

type WorkerOptions = {
  server: Server
  queue: string
  /** Every function of it is an activity. */
  activities: object
  env: Environment
  /** Lets it go in seconds. */
  signal: AbortSignal
  /** Lets it go when what it does is done. */
  drain: AbortSignal
  log: (line: string) => void
  /** Called when it takes work. */
  onReady: () => Promise<void> | void
  /** Called when it takes work, with its connection; what it throws is logged. */
  onBegun?: (connection: NativeConnection) => Promise<void>
  /** A file of a bundle; by default that of this code. */
  bundle?: string
  /** Hears of each activity, so that it can end a worker without work. */
  idle?: Pick<IdleWatch, 'during'>
}

/** How many workflows are kept in memory between their steps; others are replayed when they go on. */
const CACHED_WORKFLOWS = 100
/** Activities at the same time. How many requests there may be, the activities themselves bound for each provider. */
const ACTIVITIES = 64
/** Milliseconds after TERM at which running activities are cancelled, and at which the process exits. */
const [MERCY, LAST] = [3000, 10_000]
/** After a worker was killed, workflows that it had in memory wait so long for it. */
const STICKY_TIMEOUT = '5 seconds'
/** The longest that a worker drains. */
const DRAIN_TIMEOUT = '15 minutes'

/** The worker of a repository, with its real activities. Works until it is asked to end or to drain. */
export async function runWorker({
  repository,
  ...options
}: { repository: Repository } & Omit<WorkerOptions, 'activities' | 'onBegun'>): Promise<void> {
  await using opened = await makeActivities({ repository, env: options.env })
  const onBegun = async (connection: NativeConnection): Promise<void> => {
    const place = { namespace: options.server.namespace, queue: options.queue }
    const moved = await moveOlder(connection, repository, place)
    if (moved.length > 0) options.log(`Goes on with runs that another version of Forge has begun: ${moved.join(', ')}.`)
  }
  await hostWorker({ ...options, activities: opened.activities, onBegun })
}

/** A worker with any activities. Throws a Failure where the server or the bundle can't be had. */
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
        // The server notices by itself, a little later.
        () => undefined,
      )
    }
    await workUntilAsked(worker, { ...options, onReady }, last)
  } finally {
    // Not possible while a worker is still ending, which then ends with the process.
    await connection.close().catch(() => undefined)
  }
}

/** Once for a process: the library allows no more. What it says goes to the log; signals are not its business. */
function installRuntime(log: (line: string) => void): void {
  try {
    const logger = new DefaultLogger('WARN', ({ level, message, meta }) => log(`${level} ${message}${reasonIn(meta)}`))
    Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } } })
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'IllegalStateError') throw error
  }
}

/** Names and the first line of a reason alone: what else is known may hold arguments. */
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
    // A workflow that another version began with other steps would be retried without end, and no error would be shown.
    workflowFailureErrorTypes: { '*': ['NondeterminismError' as const] },
    // A cancellation comes with a heartbeat, and is to be heard within seconds.
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

/** Says to the trace where in a run an activity belongs: all of them are told that in their first argument. */
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

/**
 * Sends heartbeats for every activity, so that the server soon notices one whose worker is gone. Local activities have
 * none.
 */
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
 * Ends the tries of an activity that fails by itself. Those that were only lost with a worker are not counted: however
 * often one is killed, what it did is done again.
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

/** Gives every activity a signal that is aborted too when a worker is about to end. */
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
          // It did not fail, and is done again at once.
          if (last.aborted) throw ApplicationFailure.retryable('The worker was ended', 'WorkerEnded')
          throw error
        }
      },
    },
  })
