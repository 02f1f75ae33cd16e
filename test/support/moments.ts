/** Moments at which something else happens: while the agent works, and when origin's server is about to take a push. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Ended, exists, until, type World } from './world.ts'

/** In an agent's script: says that it is at work, for {@link untilTheAgentWorks}. */
export const AT_WORK = 'touch "$state/here"'

/** An agent that is at work until {@link letTheAgentGo}, and then merges well. */
export const waitingAgent = (world: World): string =>
  `${AT_WORK}; until [ -e '${world.path('go')}' ]; do sleep 0.05; done; good`

export const letTheAgentGo = (world: World): Promise<void> => writeFile(world.path('go'), '')

/** Waits until the agent of the newest run is {@link AT_WORK}. */
export const untilTheAgentWorks = (world: World): Promise<boolean> =>
  until('the agent works', async () => {
    const run = (await world.runs()).at(-1)
    return run !== undefined && !run.outcome && (await exists(join(run.state, 'here')))
  })

/** Runs forklift, and does something at the moment when the agent works. */
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

/** Gives origin's server a hook, and a way to take it back. */
export async function addHook(world: World, name: string, script: string): Promise<() => Promise<void>> {
  const path = join(world.origin, 'hooks', name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return () => rm(path)
}

/** Lets origin's server refuse every push, until it is undone. */
export const refusePushes = (world: World, words?: string): Promise<() => Promise<void>> =>
  addHook(world, 'pre-receive', `${words ? `echo "${words}" >&2; ` : ''}exit 1`)
