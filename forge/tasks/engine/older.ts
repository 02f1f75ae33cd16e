/**
 * Moves runs that were begun by another version of Forge. Old workflow code is not kept, as all decisions are in git.
 * So a worker ends such a run on the server and submits it again with its own flows: answers already paid for are found
 * by their requests, and the user's approvals and answers are remembered.
 */
import { Client } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { Failure } from '../../../core/failure.ts'
import { openObjects } from '../../../core/git/objects.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { readRunInput } from '../runs/plans.ts'
import { RunStore } from '../runs/store.ts'
import { forgetRun, namespaceOf, openRuns, type QueuePlace, RUN_TYPE, startRun } from './client.ts'
import { scheduleOf } from './daily.ts'
import { formerQueuesOf } from './repository-id.ts'

/** The workflow types of earlier versions, whose flows began with other steps. */
const OLDER_TYPES = ['run']

/**
 * Submits runs of earlier versions again, also those on a queue that the repository had before. Gives their ids.
 */
export async function moveOlder(
  connection: NativeConnection,
  repository: Repository,
  { server, queue }: QueuePlace,
): Promise<string[]> {
  const client = new Client({ connection, ...namespaceOf(server) })
  const former = await formerQueuesOf(repository)
  const open = await Promise.all([
    openRuns(client, queue, OLDER_TYPES),
    ...former.map(name => openRuns(client, name, [...OLDER_TYPES, RUN_TYPE])),
  ])
  const older = open.flat()
  if (older.length === 0) return []
  await using objects = openObjects(repository)
  const moved: string[] = []
  for (const run of older) {
    try {
      const input = await readRunInput(new RunStore(objects, run))
      await forgetRun(client, run, 'Another version of Forge goes on with it.')
      await startRun(client, queue, input)
      moved.push(run)
    } catch (error) {
      // A run that git no longer knows is left as it is; forge stop ends it.
      if (!(error instanceof Failure)) throw error
    }
  }
  if (moved.length > 0) for (const name of former) await leaveQueue(client, name)
  return moved
}

/**
 * Ends what no worker serves any more on a queue: its collectors, whose requests are found again by the batches'
 * records in git, and its daily round.
 */
async function leaveQueue(client: Client, queue: string): Promise<void> {
  const query = `WorkflowType = 'forgeBatch' AND TaskQueue = '${queue}' AND ExecutionStatus = 'Running'`
  for await (const { workflowId } of client.workflow.list({ query })) {
    const end = client.workflow.getHandle(workflowId).terminate('The queue of this repository has another name now.')
    // It may have ended meanwhile.
    await end.catch(() => undefined)
  }
  // There may be none.
  await client.schedule
    .getHandle(scheduleOf(queue))
    .delete()
    .catch(() => undefined)
}
