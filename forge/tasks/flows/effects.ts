/**
 * The activities with their clocks. Whatever a machine does has an end: a retry is for the machine (a crash, the
 * network, a provider that is busy), never for an answer that is bad.
 */
import {
  ActivityCancellationType,
  type ActivityOptions,
  type LocalActivityOptions,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow'
import type { Activities } from '../contract.ts'

/**
 * The worker itself bounds the retries of failures. These bounds are for attempts that were lost when a worker was
 * killed (fewer for model requests, since a lost one may be paid for).
 */
const LOST = { any: 100, requests: 30 }

/**
 * Every activity says that it lives, each 20 seconds (engine/signs-of-life.ts); one that is silent for so long was lost
 * with its machine, and is done again. (What a killed worker of this machine leaves behind, the next one gives back.)
 */
const SILENCE = '60 seconds'

/** Git and files, and the image's programs: with a little patience where the disk is busy. */
const SHORT: ActivityOptions = {
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: SILENCE,
  retry: { initialInterval: '500 milliseconds', maximumInterval: '20 seconds', maximumAttempts: LOST.any },
}

/** A model's answer. It is cancelled only when the request has ended, so that nothing is sent behind a run's back. */
const SENDING: ActivityOptions = {
  startToCloseTimeout: '60 minutes',
  heartbeatTimeout: SILENCE,
  scheduleToCloseTimeout: '6 hours',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  // A provider's own delay comes before these, by nextRetryDelay.
  retry: {
    initialInterval: '2 seconds',
    backoffCoefficient: 2,
    maximumInterval: '2 minutes',
    maximumAttempts: LOST.requests,
  },
}

/** Checks in the container: each has its own clock, this one is for all of them together. */
const CHECKING: ActivityOptions = {
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: SILENCE,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: LOST.any },
}

/**
 * What takes some milliseconds and can be done twice is done by the worker that has the flow, within the flow's own task:
 * the server hears of all of it at once, and of none of its input. As activities of their own, these would take as long
 * again, and three times the events. The server knows of a killed worker by the flow's task, after ten seconds.
 */
const AT_ONCE: LocalActivityOptions = {
  startToCloseTimeout: '5 minutes',
  // While one waits to be tried again, the flow has to answer: longer waits are timers of the flow.
  localRetryThreshold: '800 milliseconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '20 seconds', maximumAttempts: LOST.any },
}

/** Activities that may take seconds: scheduled by the server, so that the workflow answers queries meanwhile. */
type Slow = 'construct' | 'begin' | 'lintPlan'
type Checking = 'validate' | 'finish'

export const slow = proxyActivities<Pick<Activities, Slow>>(SHORT)
export const sending = proxyActivities<Pick<Activities, 'send'>>(SENDING)
export const checking = proxyActivities<Pick<Activities, Checking>>(CHECKING)
export const atOnce = inTurn(proxyLocalActivities<Omit<Activities, Slow | Checking | 'send'>>(AT_ONCE))

/**
 * The same activities, of which a flow has one under way at a time. Several local activities at once may end in another
 * order, or in other groups, when a history is replayed than they did the first time
 * (github.com/temporalio/sdk-python/issues/1578 and 1881), and a flow that decides by that order is no longer the same.
 */
function inTurn<All extends object>(activities: All): All {
  let before: Promise<unknown> = Promise.resolve()
  return new Proxy(activities, {
    get: (all, name: keyof All & string) => {
      const begin = all[name] as (...args: unknown[]) => Promise<unknown>
      return (...args: unknown[]) => {
        const result = before.then(() => begin(...args))
        before = result.catch(() => undefined)
        return result
      }
    },
  })
}
