/** A real Temporal server for a test, started as the tasks start it, in a temporary home folder. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type Connection } from '@temporalio/client'
import { namespaceOf } from '../../forge/tasks/engine/client.ts'
import { connectTo, endOurServer, type OpenServer, openServer } from '../../forge/tasks/engine/engine.ts'
import { sendSignal } from '../../forge/tasks/engine/processes.ts'
import { findRunning, openServerPlace } from '../../forge/tasks/engine/server.ts'
import { endWorker, findWorkers } from '../../forge/tasks/engine/workers.ts'
import { PROJECT } from './world.ts'

type Environment = Record<string, string | undefined>

const INSTALLED = join(PROJECT, '.tools/temporal/temporal')

/** The server's program, as `make test` finds or installs it; undefined where there is none. */
export const TEMPORAL: string | undefined =
  process.env.FORGE_TEMPORAL_BIN || (existsSync(INSTALLED) ? INSTALLED : Bun.which('temporal')) || undefined

/** For `describe.skipIf` and `test.skipIf`: true where there is no server. */
export const hasNoTemporal = TEMPORAL === undefined
if (hasNoTemporal) console.error('No temporal program: tests with a server are skipped (make temporal installs it).')

export type TestTemporal = AsyncDisposable & {
  server: OpenServer
  address: string
  namespace: string
  connection: Connection
  client: Client
  /**
   * The environment in which a command, or openEngine, finds this server, without the settings of the person who runs
   * the tests.
   */
  env: Environment
  /** A temporary folder for the test. */
  folder: string
}

/** The environment for a temporary home in a folder. */
export async function homeIn(folder: string): Promise<Environment> {
  const at = (name: string) => join(folder, name)
  await Promise.all(['home', 'state', 'cache', 'config'].map(name => mkdir(at(name), { recursive: true })))
  return {
    PATH: process.env.PATH,
    TMPDIR: process.env.TMPDIR,
    HOME: at('home'),
    XDG_STATE_HOME: at('state'),
    XDG_CACHE_HOME: at('cache'),
    XDG_CONFIG_HOME: at('config'),
    TEMPORAL_CONFIG_FILE: at('config/temporal.toml'),
    FORGE_TEMPORAL_BIN: TEMPORAL,
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(PROJECT, 'node_modules/.cache/bun'),
  }
}

/** Kills the workers and the server of a temporary home: a server that is stopped takes a second to save its state. */
export async function endAtOnce(env: Environment): Promise<void> {
  await Promise.all((await findWorkers(env)).map(endWorker))
  const running = await findRunning(await openServerPlace(env))
  if (running) sendSignal(running.process, 'SIGKILL')
  // This also waits for another process that is just starting a server.
  await endOurServer(env)
}

/**
 * Starts a server. Disposing ends it, and all workers that were started with its environment, to which `variables` are
 * added.
 */
export async function startTemporal(variables: Environment = {}): Promise<TestTemporal> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'forge-temporal-')))
  const env = { ...(await homeIn(folder)), ...variables }
  const end = async () => {
    await endAtOnce(env)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const server = await openServer(env, { start: true })
    const connection = await connectTo(server)
    const client = new Client({ connection, ...namespaceOf(server) })
    const close = async () => {
      await connection.close()
      await end()
    }
    const { address, namespace } = server
    return { server, address, namespace, connection, client, env, folder, [Symbol.asyncDispose]: close }
  } catch (error) {
    await end()
    throw error
  }
}
