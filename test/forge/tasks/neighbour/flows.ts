/**
 * What somebody else does who can reach the server: lets the user's own worker do one thing, with an input of theirs.
 */
import { proxyActivities } from '@temporalio/workflow'

type Call = { queue: string; activity: string; input: unknown }
type Any = Record<string, (input: unknown) => Promise<unknown>>

export async function call({ queue, activity, input }: Call): Promise<unknown> {
  const options = { taskQueue: queue, startToCloseTimeout: '2 minutes', retry: { maximumAttempts: 1 } } as const
  return await proxyActivities<Any>(options)[activity]?.(input)
}
