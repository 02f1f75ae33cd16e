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
 * The worker itself ends the tries of what fails; those that were lost since it was killed are only bounded. (A request
 * that is lost may be paid for, so these less.)
 */
const LOST = { any: 100, requests: 30 }

/**
 * Every activity says that it lives, each 20 seconds (engine/signs-of-life.ts); one that is silent for so long was lost
 * with its machine, and is done again. (What a killed worker of this machine leaves behind, the next one gives back.)
 */
const SILENCE = '60 seconds'

/** Git and files: a few seconds at most, and a little patience where the disk is busy. */
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
 * What comes after an answer takes some milliseconds, and can be done twice: it is done by the worker that has the
 * flow, and the server hears of all of it at once. As activities of their own, these would take as long again, and the
 * server twice as much work for the whole step. The server knows of a killed worker by the flow's task, after ten
 * seconds.
 */
const AFTER_ANSWER: LocalActivityOptions = {
  startToCloseTimeout: '5 minutes',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '20 seconds', maximumAttempts: LOST.any },
}

export const short = proxyActivities<Omit<Activities, 'send' | 'validate' | 'finish'>>(SHORT)
export const sending = proxyActivities<Pick<Activities, 'send'>>(SENDING)
export const checking = proxyActivities<Pick<Activities, 'validate' | 'finish'>>(CHECKING)

type AfterAnswer = Pick<Activities, 'receive' | 'serialize' | 'transition'>

/** The activities that come after an answer, for a step that ends at once or for one that does not. */
export const afterAnswer = (endsAtOnce: boolean | undefined): AfterAnswer => (endsAtOnce ? atOnce : short)
const atOnce = proxyLocalActivities<AfterAnswer>(AFTER_ANSWER)
