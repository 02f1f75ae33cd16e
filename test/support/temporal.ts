/** A Temporal server of a test's own: the real one, started as the tasks start it, in a home for a moment. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type Connection } from '@temporalio/client'
import { connectTo, endOurServer, type OpenServer, openServer } from '../../forge/tasks/engine/engine.ts'
import { sendSignal } from '../../forge/tasks/engine/processes.ts'
import { findRunning, openServerPlace } from '../../forge/tasks/engine/server.ts'
import { endWorker, findWorkers } from '../../forge/tasks/engine/workers.ts'
import { PROJECT } from './world.ts'

type Environment = Record<string, string | undefined>

const INSTALLED = join(PROJECT, '.tools/temporal/temporal')

/** The program of the server, as `make test` finds or installs it; undefined where there is none. */
export const TEMPORAL: string | undefined =
  process.env.FORGE_TEMPORAL_BIN || (existsSync(INSTALLED) ? INSTALLED : Bun.which('temporal')) || undefined

/** For `describe.skipIf` and `test.skipIf`: whether there is no server to test with. */
export const hasNoTemporal = TEMPORAL === undefined
if (hasNoTemporal) console.error('No temporal program: tests with a server are skipped (make temporal installs it).')

export type TestTemporal = AsyncDisposable & {
  server: OpenServer
  address: string
  namespace: string
  connection: Connection
  client: Client
  /** With which a command, or openEngine, finds this server, and nothing of the person who runs the tests. */
  env: Environment
  /** A folder for the test, which goes when it ends. */
  folder: string
}

/** The environment of a home for a moment, in a folder. */
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

/** Ends the workers and the server of a home that goes: the server would take a second to write down what it knows. */
export async function endAtOnce(env: Environment): Promise<void> {
  await Promise.all((await findWorkers(env)).map(endWorker))
  const running = await findRunning(await openServerPlace(env))
  if (running) sendSignal(running.process, 'SIGKILL')
  // Waits for it, and for another process that is starting one.
  await endOurServer(env)
}

/** Starts a server; closing it ends it, and all workers that were started with its environment. */
export async function startTemporal(): Promise<TestTemporal> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'forge-temporal-')))
  const env = await homeIn(folder)
  const end = async () => {
    await endAtOnce(env)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const server = await openServer(env, { start: true })
    const connection = await connectTo(server)
    const client = new Client({ connection, namespace: server.namespace })
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
