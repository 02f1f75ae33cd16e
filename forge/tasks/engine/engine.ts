/**
 * Opens the engine for a command: a client of the Temporal server and the repository's queue. On request it first
 * starts a server and a worker, which outlive the command.
 */

import type { Client, Connection } from '@temporalio/client'
import { Failure } from '../../../core/failure.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import {
  CONNECT_TIMEOUT_MS,
  connect,
  FIRST_ANSWER_MS,
  namespaceOf,
  prepareNamespace,
  type Server,
  type Warning,
} from './client.ts'
import { openConverter } from './encryption.ts'
import { findConfigured, findServer } from './find.ts'
import { queueOf } from './repository-id.ts'
import {
  addressOf,
  endServer,
  ensureServer,
  findRunning,
  NAMESPACE,
  openServerPlace,
  type RunningServer,
  SEARCH_ATTRIBUTES,
} from './server.ts'
import { startTelemetry } from './telemetry.ts'
import { ensureWorker } from './workers.ts'

type Environment = Record<string, string | undefined>

export type Engine = AsyncDisposable & {
  /** Temporal's client. */
  client: Client
  /** The task queue of this repository. */
  queue: string
  server: OpenServer
  close: () => Promise<void>
}

/**
 * A server that was found or started. `running`: the record of the server, if it is the one that Forge itself starts.
 * `isNew`: this call has started it.
 */
export type OpenServer = Server & { running?: RunningServer; isNew?: boolean }

/** Milliseconds after which a person is told that the server has not answered yet. */
const SLOW_MS = 4500

type OpenOptions = {
  /** Whether to start a server and a worker where there is none. */
  start: boolean
  /** Called with a line for the user about something that takes long. */
  say?: (line: string) => void
}

/** Loads Temporal's client, which takes a quarter of a second. */
export const loadClient = () => import('@temporalio/client')

/**
 * Opens the engine for a repository. @throws Failure where there is no server, it does not answer, or a worker does not
 * start.
 */
export async function openEngine(
  repository: Repository,
  env: Environment,
  { start, say = () => undefined }: OpenOptions,
): Promise<Engine> {
  // Load the client while the server starts.
  const loaded = loadClient()
  loaded.catch(() => undefined)
  const [server, queue] = await Promise.all([openServer(env, { start, say }), queueOf(repository)])
  const warn = ({ words, isCertain }: Warning) => {
    if (start && isCertain) say(words)
  }
  const slow = setTimeout(() => say(`The Temporal server at ${visible(server.address)} has not answered yet.`), SLOW_MS)
  const connection = await connectTo(server, warn).finally(() => clearTimeout(slow))
  try {
    if (start) await ensureWorker(repository, env, { server, queue })
    const telemetry = await startTelemetry(env, say)
    const { Client } = await loaded
    const interceptors = { workflow: telemetry.client }
    const client = new Client({ connection, ...namespaceOf(server), interceptors })
    const close = async () => {
      await telemetry[Symbol.asyncDispose]()
      await connection.close()
    }
    return { client, queue, server, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** Finds the server, or with `start` starts our own. */
export async function openServer(env: Environment, options: OpenOptions & { ui?: boolean }): Promise<OpenServer> {
  const [server, converter] = await Promise.all([findOrStart(env, options), openConverter(env)])
  return { ...server, converter }
}

async function findOrStart(
  env: Environment,
  { start, say = () => undefined, ui = false }: OpenOptions & { ui?: boolean },
): Promise<OpenServer> {
  const theirs = await findConfigured(env)
  if (theirs) return theirs
  const place = await openServerPlace(env)
  const running = await findRunning(place)
  if (running && !(ui && running.ui === undefined)) return ours(running)
  if (!start) throw new Failure('No Temporal server runs here: start one with forge up.')
  const program = await findServer(env, say)
  if (program.kind === 'theirs') return program
  return { ...ours(await ensureServer(place, { program, env, ui })), isNew: true }
}

const ours = (running: RunningServer): OpenServer => ({
  address: addressOf(running),
  namespace: NAMESPACE,
  options: { tls: false },
  running,
})

/** Connects, and prepares the namespace. */
export async function connectTo(
  server: OpenServer,
  warn: (warning: Warning) => void = () => undefined,
): Promise<Connection> {
  const { isNew = false } = server
  const patience = isNew ? FIRST_ANSWER_MS : CONNECT_TIMEOUT_MS
  const connection = await connect(server, patience)
  const options = { isOurs: server.running !== undefined, isNew, attributes: SEARCH_ATTRIBUTES }
  try {
    const until = Date.now() + 2 * patience
    const warning = await connection.withDeadline(until, () => prepareNamespace(connection, server, options))
    if (warning) warn(warning)
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** Ends our own server. Gives whether there was one. */
export async function endOurServer(env: Environment): Promise<boolean> {
  return await endServer(await openServerPlace(env))
}
