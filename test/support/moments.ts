/** Waits for moments of a run at which a test does something: while the agent works, or before origin takes a push. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Ended, exists, until, type World } from './world.ts'

/** In an agent's script: reports that it is at work, for {@link untilTheAgentWorks}. */
export const AT_WORK = 'touch "$state/here"'

/** An agent that waits for {@link letTheAgentGo}, and then merges well. */
export const waitingAgent = (world: World): string =>
  `${AT_WORK}; until [ -e '${world.path('go')}' ]; do sleep 0.05; done; good`

export const letTheAgentGo = (world: World): Promise<void> => writeFile(world.path('go'), '')

/** Waits until the newest run's agent is {@link AT_WORK}. */
export const untilTheAgentWorks = (world: World): Promise<boolean> =>
  until('the agent works', async () => {
    const run = (await world.runs()).at(-1)
    return run !== undefined && !run.outcome && (await exists(join(run.state, 'here')))
  })

/** Runs forklift, and calls `meanwhile` while the agent works. */
export async function whileTheAgentWorks(world: World, meanwhile: () => Promise<unknown>): Promise<Ended> {
  await rm(world.path('go'), { force: true })
  await world.agent(waitingAgent(world))
  const started = world.start()
  try {
    await untilTheAgentWorks(world)
    await meanwhile()
  } finally {
    await letTheAgentGo(world)
  }
  return await started.ended
}

/** Adds a hook to origin's server. Gives a function that removes it. */
export async function addHook(world: World, name: string, script: string): Promise<() => Promise<void>> {
  const path = join(world.origin, 'hooks', name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return () => rm(path)
}

/** Makes origin's server refuse all pushes until the returned function is called. */
export const refusePushes = (world: World, words?: string): Promise<() => Promise<void>> =>
  addHook(world, 'pre-receive', `${words ? `echo "${words}" >&2; ` : ''}exit 1`)
