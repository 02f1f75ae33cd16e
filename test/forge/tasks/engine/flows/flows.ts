/** Small workflows for tests of the engine, with a child, queries and updates as a run's workflows have them. */
import { condition, defineQuery, defineUpdate, executeChild, proxyActivities, setHandler } from '@temporalio/workflow'

type Place = { run: string; task?: string }
const activities = proxyActivities<{ ask(place: Place): Promise<string>; wait(place: Place): Promise<string> }>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '10 ms' },
})

/** Starts a child for a task, which asks a model. */
export async function forgeRun({ run }: Place): Promise<string> {
  return await executeChild(task, { workflowId: `forge-run-${run}/one/1`, args: [{ run, task: 'one' }] })
}

export async function task(place: Place): Promise<string> {
  return await activities.ask(place)
}

/** Runs until it is told to end. */
export async function waits(): Promise<string> {
  let word: string | undefined
  setHandler(defineQuery<string>('status'), () => word ?? 'waits')
  setHandler(
    defineUpdate<void, [string]>('answer'),
    said => {
      word = said
    },
    {
      validator: said => {
        if (said === '') throw new Error('An empty answer is none: say something.')
      },
    },
  )
  await condition(() => word !== undefined)
  return word ?? ''
}

/** Runs an activity that ends only when its signal is aborted. */
export async function long(place: Place): Promise<string> {
  return await activities.wait(place)
}

/** Fails, as its activity does at its only attempt. */
export async function fails(place: Place): Promise<string> {
  const { ask } = proxyActivities<{ ask(place: Place): Promise<string> }>({
    startToCloseTimeout: '5 minutes',
    retry: { maximumAttempts: 1 },
  })
  return await ask(place)
}
