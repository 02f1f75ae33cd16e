/**
 * The activities with their timeouts and retries. Everything that a machine does has a timeout. Retries are for
 * machines (a crash, the network, a busy provider), never for a bad answer.
 */
import {
  ActivityCancellationType,
  type ActivityOptions,
  condition,
  type LocalActivityOptions,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from '../contract.ts'
import { type ACTIVITIES_OF, type Part, queueOfPart } from '../run/queues.ts'

/**
 * The most attempts of an activity that are lost with killed workers; fewer for model requests, since a lost one may be
 * paid for. (The worker itself bounds the retries of failures.)
 */
const LOST = { any: 100, requests: 30 }

/**
 * An activity without a heartbeat for this long was lost with its machine and is repeated. Heartbeats are sent every 20
 * seconds (engine/signs-of-life.ts). The activities of a killed worker are repeated earlier if another worker starts on
 * the same machine (engine/left-behind.ts).
 */
const SILENCE = '60 seconds'

/** Options of activities that use git, files and the image's programs. They are retried, e.g. when the disk is busy. */
const SHORT: ActivityOptions = {
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: SILENCE,
  retry: { initialInterval: '500 milliseconds', maximumInterval: '20 seconds', maximumAttempts: LOST.any },
}

/** For a request to a model. A cancellation waits until the request has ended, so that nothing is sent unnoticed. */
const SENDING: ActivityOptions = {
  startToCloseTimeout: '60 minutes',
  heartbeatTimeout: SILENCE,
  scheduleToCloseTimeout: '6 hours',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  // The delay that a provider asks for overrides these intervals, by nextRetryDelay.
  retry: {
    initialInterval: '2 seconds',
    backoffCoefficient: 2,
    maximumInterval: '2 minutes',
    maximumAttempts: LOST.requests,
  },
}

/**
 * For the checks in the container. Each check has its own timeout; this one is for all checks of an attempt together.
 */
const CHECKING: ActivityOptions = {
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: SILENCE,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: LOST.any },
}

/**
 * For activities that take milliseconds and can be repeated. They run in the flow's worker, within its workflow task:
 * the server is told of all at once, without their input. As normal activities they would take twice as long and three
 * times the events. A killed worker is noticed by the timeout of the workflow task, after ten seconds.
 */
const AT_ONCE: LocalActivityOptions = {
  startToCloseTimeout: '5 minutes',
  // A longer wait for a retry is a timer of the flow, which can answer queries meanwhile.
  localRetryThreshold: '800 milliseconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '20 seconds', maximumAttempts: LOST.any },
}

/** How many activities of `atOnce` this flow has under way, or has still to begin. */
let outstanding = 0
const ended = () => {
  outstanding--
}

/**
 * Waits until no activity of `atOnce` is under way, and ends the workflow task. The server fails a workflow task during
 * which more than 100 events have come (history.maximumBufferedEventsBatch), and what is done again then may be in
 * another order than what is recorded.
 */
export async function endWorkflowTask(): Promise<void> {
  await condition(() => outstanding === 0)
  await sleep(1)
}

/** Activities that may take seconds: they are not local ones, so that the workflow can answer queries meanwhile. */
type Slow = 'construct' | 'begin' | 'lintPlan' | 'gatherLessons' | 'unlearned'
type Checking = (typeof ACTIVITIES_OF)['checks'][number]
/** Activities of a collector (the workflow that gathers requests into batches), which call a provider's batch API. */
type Batching = Exclude<(typeof ACTIVITIES_OF)['models'][number], 'send'>

export const slow = proxyActivities<Pick<Activities, Slow>>(SHORT)
export const sending = onQueueOf<Pick<Activities, 'send'>>('models', SENDING)
/** A cancellation waits until it is certain whether a collector has the request, so that it can be withdrawn there. */
export const enlisting = proxyActivities<Pick<Activities, 'enlist'>>({
  ...SHORT,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
})
export const batching = onQueueOf<Pick<Activities, Batching>>('models', SENDING)
export const checking = onQueueOf<Pick<Activities, Checking>>('checks', CHECKING)
export const atOnce = inTurn(
  proxyLocalActivities<Omit<Activities, Slow | Checking | Batching | 'send' | 'enlist'>>(AT_ONCE),
)

/** Activities on the queue of a part of the work; its name is known only while a workflow runs. */
function onQueueOf<All extends object>(part: Part, options: ActivityOptions): All {
  return new Proxy({} as All, {
    get: (_, name) => {
      const taskQueue = queueOfPart(workflowInfo().taskQueue, part)
      return Reflect.get(proxyActivities({ ...options, taskQueue }), name)
    },
  })
}

/**
 * Runs activities of a flow one at a time. Several local activities at once may end in another order, or in other
 * groups, when a history is replayed (github.com/temporalio/sdk-python/issues/1578 and 1881), and a flow that decides
 * by that order would differ. Each gets the time of the flow as the field `at` of its input, which is the server's: by
 * it, the journals of several machines are in one order.
 */
function inTurn<All extends object>(activities: All): All {
  let before: Promise<unknown> = Promise.resolve()
  return new Proxy(activities, {
    get: (all, name: keyof All & string) => {
      const begin = all[name] as (input: object) => Promise<unknown>
      return (input: object) => {
        outstanding++
        const result = before.then(() => begin({ ...input, at: Date.now() }))
        before = result.then(ended, ended)
        return result
      }
    },
  })
}
