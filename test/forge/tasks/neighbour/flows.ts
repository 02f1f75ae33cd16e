/**
 * An attack by another process that can reach the server: it has the user's worker run one activity with its own input.
 */
import { proxyActivities } from '@temporalio/workflow'

type Call = { queue: string; activity: string; input: unknown }
type Any = Record<string, (input: unknown) => Promise<unknown>>

export async function call({ queue, activity, input }: Call): Promise<unknown> {
  const options = { taskQueue: queue, startToCloseTimeout: '2 minutes', retry: { maximumAttempts: 1 } } as const
  return await proxyActivities<Any>(options)[activity]?.(input)
}
