/** The daily round of a repository, as a schedule of the server: it learns from runs that were not learned from. */
import { Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { namespaceOf, type QueuePlace } from './client.ts'

/** The id of a repository's schedule. */
export const scheduleOf = (queue: string): string => `${queue}-lessons`

/**
 * Makes the repository's schedule on the Temporal server, unless it exists: once a day, lessons are learned from ended
 * runs. If no worker runs at that time, the workflow waits for the next worker.
 */
export async function ensureDailyRound(connection: NativeConnection, { server, queue }: QueuePlace): Promise<void> {
  const { schedule } = new Client({ connection, ...namespaceOf(server) })
  try {
    await schedule.create({
      scheduleId: scheduleOf(queue),
      spec: { intervals: [{ every: '1 day' }] },
      action: { type: 'startWorkflow', workflowType: 'forgeLessons', taskQueue: queue, args: [] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 day' },
    })
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
  }
}
