/** The bundle of the workflows, built ahead, so that workers start quickly and all run the same code. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The module that exports all workflows. */
export const FLOWS = join(import.meta.dirname, '../flows/flows.ts')
/** The sources of the workflows, besides packages. */
const SOURCES = ['flows', 'run', 'contract.ts', 'engine/bundle.ts']
const TASKS = join(import.meta.dirname, '..')
const BUNDLES = join(TASKS, '../../.tools/tasks')

/**
 * The path of the bundle for the current sources. It contains their hash, so that a worker never runs another version's
 * bundle.
 */
export async function bundlePath(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(TASKS, 'package.json')))
  for (const source of SOURCES) {
    const path = join(TASKS, source)
    const names = (await stat(path)).isDirectory() ? (await readdir(path)).sort() : ['']
    for (const name of names) hash.update(`${source}/${name}\n`).update(await readFile(join(path, name)))
  }
  return join(BUNDLES, `workflows-${hash.digest('hex').slice(0, 16)}.js`)
}

/** Gives the path of the bundle, and builds it where it is missing. */
export async function ensureBundle(): Promise<string> {
  const path = await bundlePath()
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  if (!isThere) await writeBundle(path)
  return path
}

/**
 * Workflows always have the tracing interceptors: if only some workers had them, the order of concurrent events could
 * differ in a replay.
 */
const INTERCEPTORS = ['@temporalio/interceptors-opentelemetry/lib/workflow-interceptors']

/** Bundles all workflows. Throws where one imports what workflows may not use, such as files and network. */
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

/** Writes the bundle to a file, completely or not at all. */
export async function writeBundle(path: string, flows = FLOWS): Promise<number> {
  const code = await buildBundle(flows)
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  await writeFile(draft, code)
  await rename(draft, path)
  return code.length
}
