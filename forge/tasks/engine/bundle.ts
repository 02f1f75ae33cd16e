/** The bundle of the workflows: built ahead, so that a worker starts soon and every worker runs the same. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Where the workflows are, all of them. */
export const FLOWS = join(import.meta.dirname, '../flows/flows.ts')
/** Where the bundle is, as make builds it. */
export const BUNDLE = join(import.meta.dirname, '../../../.tools/tasks/workflows.js')

/**
 * Workflows trace themselves whether or not anybody listens: with the interceptors in some workers and not in others,
 * what happens at the same time could happen in another order in a replay.
 */
const INTERCEPTORS = ['@temporalio/interceptors-opentelemetry/lib/workflow-interceptors']

/**
 * The code of all workflows in a file. Throws where one of them imports what a workflow may not have, such as files and
 * network.
 */
export async function buildBundle(flows = FLOWS): Promise<string> {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker')
  const words: string[] = []
  const logger = new DefaultLogger('WARN', ({ message }) => words.push(message))
  try {
    const { code } = await bundleWorkflowCode({
      workflowsPath: flows,
      workflowInterceptorModules: INTERCEPTORS.map(name => import.meta.resolve(name).replace(/^file:\/\//, '')),
      logger,
    })
    return code
  } catch (error) {
    throw new Error(`The workflows can't be bundled: ${[...words, (error as Error).message].join('\n')}`)
  }
}

/** Builds the bundle into a file, whole or not at all. */
export async function writeBundle(path: string, flows = FLOWS): Promise<number> {
  const code = await buildBundle(flows)
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  await writeFile(draft, code)
  await rename(draft, path)
  return code.length
}
