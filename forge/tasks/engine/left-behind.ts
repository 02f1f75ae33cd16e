/**
 * Gives back the activities of killed workers. The server would wait for their missing heartbeats; the next worker of
 * the same machine knows that they are dead and reports that, so that the activities are repeated at once.
 */
import { hostname } from 'node:os'
import { ApplicationFailure } from '@temporalio/activity'
import { Client, WorkflowNotFoundError } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import * as v from 'valibot'
import { namespaceOf, type QueuePlace } from './client.ts'
import { isProcessAlive, markOf, ProcessMark } from './processes.ts'

const PREFIX = 'forge worker '
const Identity = v.pipe(v.string(), v.parseJson(), v.object({ host: v.string(), process: ProcessMark }))

/**
 * The identity of this process for the server, by which later workers of the machine can tell whether it still runs.
 */
export async function ownIdentity(): Promise<string> {
  return `${PREFIX}${JSON.stringify({ host: hostname(), process: await markOf(process.pid) })}`
}

/** Whether a worker's identity belongs to a process of this machine that has ended. */
export async function isDead(identity: string): Promise<boolean> {
  if (!identity.startsWith(PREFIX)) return false
  const parsed = v.safeParse(Identity, identity.slice(PREFIX.length))
  return parsed.success && parsed.output.host === hostname() && !(await isProcessAlive(parsed.output.process))
}

/** Reports the activities of dead workers as failed, so that the server repeats them; gives how many. */
export async function giveBackLeftBehind(connection: NativeConnection, { server, queue }: QueuePlace): Promise<number> {
  const { namespace } = server
  const client = new Client({ connection, ...namespaceOf(server) })
  let count = 0
  const running = client.workflow.list({ query: `TaskQueue = '${queue}' AND ExecutionStatus = 'Running'` })
  for await (const { workflowId, runId } of running) {
    const { pendingActivities } = await connection.workflowService
      .describeWorkflowExecution({ namespace, execution: { workflowId, runId } })
      // The run may have ended meanwhile.
      .catch(() => ({ pendingActivities: [] }))
    for (const { activityId, lastWorkerIdentity, lastStartedTime, state } of pendingActivities ?? []) {
      if (!activityId || !lastStartedTime || state !== STARTED || !(await isDead(lastWorkerIdentity ?? ''))) continue
      const failure = ApplicationFailure.create({
        message: 'The worker was killed',
        type: 'WorkerEnded',
        nextRetryDelay: 1,
      })
      await client.activity.fail({ workflowId, runId, activityId }, failure).catch(ignoreEnded)
      count++
    }
  }
  return count
}

/** Ignores that an activity has ended or timed out meanwhile. */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof WorkflowNotFoundError) && !/NotFound/.test((error as Error).name)) throw error
}

/** Temporal's state of an activity that a worker has started. */
const STARTED = 2
