/**
 * What a worker was doing when it was killed. The server would wait until it has missed its signs of life; the worker
 * that comes next on the same machine knows that it is dead, and says so: then all of it is done again at once.
 */
import { hostname } from 'node:os'
import { ApplicationFailure } from '@temporalio/activity'
import { Client, WorkflowNotFoundError } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import * as v from 'valibot'
import { isProcessAlive, markOf, ProcessMark } from './processes.ts'

const PREFIX = 'forge worker '
const Identity = v.pipe(v.string(), v.parseJson(), v.object({ host: v.string(), process: ProcessMark }))

/** The name of this process for the server: by it a later worker of the same machine knows whether it still runs. */
export async function ownIdentity(): Promise<string> {
  return `${PREFIX}${JSON.stringify({ host: hostname(), process: await markOf(process.pid) })}`
}

/** Whether a worker of that name is a process of this machine that has ended. */
async function isDead(identity: string): Promise<boolean> {
  if (!identity.startsWith(PREFIX)) return false
  const parsed = v.safeParse(Identity, identity.slice(PREFIX.length))
  return parsed.success && parsed.output.host === hostname() && !(await isProcessAlive(parsed.output.process))
}

/** Gives back what dead workers of a queue were doing; gives how much that was. */
export async function giveBackLeftBehind(
  connection: NativeConnection,
  { namespace, queue }: { namespace: string; queue: string },
): Promise<number> {
  const client = new Client({ connection, namespace })
  let count = 0
  const running = client.workflow.list({ query: `TaskQueue = '${queue}' AND ExecutionStatus = 'Running'` })
  for await (const { workflowId, runId } of running) {
    const { pendingActivities } = await connection.workflowService
      .describeWorkflowExecution({ namespace, execution: { workflowId, runId } })
      // It may have ended meanwhile.
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

/** Its time may have been over just now. */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof WorkflowNotFoundError) && !/NotFound/.test((error as Error).name)) throw error
}

/** Temporal's number for an activity that a worker has. */
const STARTED = 2
