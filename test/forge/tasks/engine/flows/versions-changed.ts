/** As versions.ts, but a run begins with a timer: its earlier histories do not replay. */
import { sleep } from '@temporalio/workflow'
import { ask, same, waitFor } from './versions.ts'

export { same }

export async function forgeRun({ run }: { run: string }): Promise<string> {
  const waiting = waitFor('waits, changed')
  await sleep('1 millisecond')
  const said = await ask(run)
  return `changed, ${await waiting}: ${said}`
}
