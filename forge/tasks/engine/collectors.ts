/**
 * Lets an activity signal and query the collectors, the workflows that gather requests into batches
 * (flows/collector.ts).
 */
import { Context } from '@temporalio/activity'
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common'
import type { CollectorInput, GivenRequest, RunId } from '../contract.ts'
import { ownQueueOf } from '../run/queues.ts'

/** A request that a collector may have, identified by its run and its key. */
type Held = { run: RunId; key: string }

/** The collectors of a repository, one for each model. */
export interface Collectors {
  /** Gives a request to a model's collector, and starts the collector if it is not running. */
  give(input: CollectorInput, given: GivenRequest): Promise<void>
  /** Tells a collector that the workflow `waiter` does not wait for answers to these requests any more. */
  withdraw(model: string, run: RunId, keys: string[], waiter: string): Promise<void>
  /**
   * For each of these requests, whether the model's collector has it; true for all where the collector does not answer.
   */
  held(model: string, requests: readonly Held[]): Promise<boolean[]>
}

/** Milliseconds for a collector's answer to a query. */
const QUERY_TIMEOUT_MS = 10_000

/** Access to the collectors on the Temporal server that runs the calling activity. */
export const temporalCollectors: Collectors = {
  async give(input, given) {
    const { client, info } = Context.current()
    const options = {
      workflowId: idOf(info.taskQueue, input.model),
      taskQueue: ownQueueOf(info.taskQueue),
      args: [input],
      signal: 'enlist',
      signalArgs: [given],
    }
    await client.workflow.signalWithStart('forgeBatch', options).catch(error => {
      // A server with a thousand requests at once may be slow: that is tried for longer than unexpected errors are.
      throw ApplicationFailure.create({ message: 'The Temporal server does not answer.', type: 'Busy', cause: error })
    })
  },

  async withdraw(model, run, keys, waiter) {
    const { client, info } = Context.current()
    const handle = client.workflow.getHandle(idOf(info.taskQueue, model))
    await handle.signal('withdraw', run, keys, waiter).catch(ignoreEnded)
  },

  async held(model, requests) {
    const { client, info } = Context.current()
    const handle = client.workflow.getHandle(idOf(info.taskQueue, model))
    try {
      const { status } = await handle.describe()
      if (status.name !== 'RUNNING') return requests.map(() => false)
      return await client.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () =>
        handle.query<boolean[], [readonly Held[]]>('holds', requests),
      )
    } catch (error) {
      const isGone = error instanceof WorkflowNotFoundError
      return requests.map(() => !isGone)
    }
  },
}

const idOf = (queue: string, model: string): string => `forge-batch-${ownQueueOf(queue)}-${model}`

/** Ignores that a collector has ended, since it then has no requests to withdraw. Throws any other error. */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof WorkflowNotFoundError)) throw error
}
