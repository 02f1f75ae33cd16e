/** As flows.ts, but the task begins with another step: a change that breaks running runs. */
import { executeChild, proxyActivities, sleep } from '@temporalio/workflow'

type Place = { run: string; task?: string }
const { ask } = proxyActivities<{ ask(place: Place): Promise<string> }>({ startToCloseTimeout: '5 minutes' })

export async function forgeRun({ run }: Place): Promise<string> {
  return await executeChild(task, { workflowId: `forge-run-${run}/one/1`, args: [{ run, task: 'one' }] })
}

export async function task(place: Place): Promise<string> {
  await sleep('1 second')
  return await ask(place)
}
