/** The bundle of the workflows, built ahead, so that workers start quickly and all run the same code. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ENCODED_FAILURES } from './encryption.ts'

/** The module that exports all workflows. */
export const FLOWS = join(import.meta.dirname, '../flows/flows.ts')
/** The sources of the workflows, besides packages. */
const SOURCES = ['flows', 'run', 'contract.ts', 'engine/bundle.ts', 'engine/encoded-failures.ts']
const TASKS = join(import.meta.dirname, '..')
const BUNDLES = join(TASKS, '../../.tools/tasks')

/**
 * The path of the bundle for the current sources; for data that is encrypted, it has another one. It contains their
 * hash, so that a worker never runs another version's bundle.
 */
export async function bundlePath(isEncrypted = false): Promise<string> {
  return join(BUNDLES, `workflows-${await flowsVersion()}${isEncrypted ? '-encrypted' : ''}.js`)
}

/** A hash of the sources of the workflows, the same on all machines with the same ones. */
export async function flowsVersion(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(TASKS, 'package.json')))
  for (const source of SOURCES) {
    const path = join(TASKS, source)
    const names = (await stat(path)).isDirectory() ? (await readdir(path)).sort() : ['']
    for (const name of names) hash.update(`${source}/${name}\n`).update(await readFile(join(path, name)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Gives the path of the bundle, and builds it where it is missing. */
export async function ensureBundle(isEncrypted = false): Promise<string> {
  const path = await bundlePath(isEncrypted)
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  if (!isThere) await writeBundle(path, FLOWS, isEncrypted)
  return path
}

/** The module that keeps what reaches a workflow in one order. */
const ORDER = join(import.meta.dirname, '../flows/order.ts')
/**
 * Workflows always have the tracing interceptors: if only some workers had them, the order of concurrent events could
 * differ in a replay.
 */
const TRACING = '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors'

/**
 * Bundles all workflows. `isEncrypted`: with the failure converter of encryption.ts, which a bundle has to contain.
 * Throws where one imports what workflows may not use, such as files and network.
 */
export async function buildBundle(flows = FLOWS, isEncrypted = false): Promise<string> {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker')
  const words: string[] = []
  const logger = new DefaultLogger('WARN', ({ message }) => words.push(message))
  try {
    const { code } = await bundleWorkflowCode({
      workflowsPath: flows,
      workflowInterceptorModules: [import.meta.resolve(TRACING).replace(/^file:\/\//, ''), ORDER],
      ...(isEncrypted && { failureConverterPath: ENCODED_FAILURES }),
      logger,
    })
    return code
  } catch (error) {
    throw new Error(`The workflows can't be bundled: ${[...words, (error as Error).message].join('\n')}`)
  }
}

/** Writes the bundle to a file, completely or not at all. */
export async function writeBundle(path: string, flows = FLOWS, isEncrypted = false): Promise<number> {
  const code = await buildBundle(flows, isEncrypted)
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  await writeFile(draft, code)
  await rename(draft, path)
  return code.length
}
