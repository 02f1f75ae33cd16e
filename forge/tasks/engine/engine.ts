/**
 * The engine that a command works with: a client of the Temporal server, and the queue of this repository. Where it is
 * asked to, it first starts a server and a worker, which stay when the command ends.
 */

import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import type { Client, Connection } from '@temporalio/client'
import { Failure } from '../../../core/failure.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import { CONNECT_TIMEOUT_MS, connect, prepareNamespace, type Server, type Warning } from './client.ts'
import { findConfigured, findServer } from './find.ts'
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
  /** Temporal's own. */
  client: Client
  /** What the flows and activities of this repository are called from. */
  queue: string
  server: OpenServer
  close: () => Promise<void>
}

/** A server that was found or started, and what it is called in sentences. */
export type OpenServer = Server & { running?: RunningServer; isNew?: boolean }

/** Milliseconds after which a person is told that the server has not answered yet. */
const SLOW_MS = 4500

type OpenOptions = {
  /** Whether to start a server and a worker where there is none. */
  start: boolean
  /** Is told what takes long. */
  say?: (line: string) => void
}

/**
 * Opens the engine for a repository.
 * @throws Failure where there is no server, where it does not answer, or where a worker does not begin.
 */
export async function openEngine(
  repository: Repository,
  env: Environment,
  { start, say = () => undefined }: OpenOptions,
): Promise<Engine> {
  // The client is loaded while the server starts.
  const loaded = import('@temporalio/client')
  loaded.catch(() => undefined)
  const server = await openServer(env, { start, say })
  const queue = await queueOf(repository)
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
    const client = new Client({ connection, namespace: server.namespace, interceptors })
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

/** The server that runs go through; one of ours is started where there is none, if that is asked for. */
export async function openServer(
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

/** Connects, and sees to it that all is there which runs need. */
export async function connectTo(
  server: OpenServer,
  warn: (warning: Warning) => void = () => undefined,
): Promise<Connection> {
  const connection = await connect(server)
  const { isNew = false } = server
  const options = { isOurs: server.running !== undefined, isNew, attributes: SEARCH_ATTRIBUTES }
  try {
    const until = Date.now() + 2 * CONNECT_TIMEOUT_MS
    const warning = await connection.withDeadline(until, () => prepareNamespace(connection, server, options))
    if (warning) warn(warning)
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** Each repository has a queue of its own, which all of its worktrees share: so no worker gets what is another's. */
export async function queueOf(repository: Pick<Repository, 'commonDir'>): Promise<string> {
  const common = await realpath(repository.commonDir)
  return `forge-${createHash('sha256').update(common).digest('hex').slice(0, 16)}`
}

/** Ends the server of our own. Gives whether there was one. */
export async function endOurServer(env: Environment): Promise<boolean> {
  return await endServer(await openServerPlace(env))
}
