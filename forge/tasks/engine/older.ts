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
import { forgetRun, namespaceOf, openRuns, type QueuePlace, startRun } from './client.ts'

/** The workflow types of earlier versions, whose flows began with other steps. */
const OLDER_TYPES = ['run']

/** Submits runs of earlier versions again. Gives their ids. */
export async function moveOlder(
  connection: NativeConnection,
  repository: Repository,
  { server, queue }: QueuePlace,
): Promise<string[]> {
  const client = new Client({ connection, ...namespaceOf(server) })
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
      // A run that git no longer knows is left as it is; forge stop ends it.
      if (!(error instanceof Failure)) throw error
    }
  }
  return moved
}
