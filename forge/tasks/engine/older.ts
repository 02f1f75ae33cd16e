/**
 * Runs that another version of Forge has begun. The code of that version is gone, and its steps are not kept beside
 * today's: what decides is in git. So a worker ends such a run on the server and submits it again, with the flows of its
 * own version; every answer that was paid for is found by its request, and what a person approved and said is remembered.
 */
import { Client } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { Failure } from '../../../core/failure.ts'
import { openObjects } from '../../../core/git/objects.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { readRunInput } from '../runs/plans.ts'
import { RunStore } from '../runs/store.ts'
import { forgetRun, openRuns, startRun } from './client.ts'

/** The names that runs had in versions before: by another name a flow begins with other steps. */
const OLDER_TYPES = ['run']

type Place = { namespace: string; queue: string }

/** Submits runs of versions before again. Gives their ids. */
export async function moveOlder(
  connection: NativeConnection,
  repository: Repository,
  { namespace, queue }: Place,
): Promise<string[]> {
  const client = new Client({ connection, namespace })
  const older = await openRuns(client, queue, OLDER_TYPES)
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
      // One that git does not know any more stays as it is: forge stop ends it.
      if (!(error instanceof Failure)) throw error
    }
  }
  return moved
}
