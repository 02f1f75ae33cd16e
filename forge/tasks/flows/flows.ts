/** All workflows. */
import { proxyActivities } from '@temporalio/workflow'

const { hello } = proxyActivities<{ hello(name: string): Promise<string> }>({ startToCloseTimeout: '1 minute' })

/** Stands here until there is a real one. */
export async function run({ run: name }: { run: string }): Promise<string> {
  return await hello(name)
}
