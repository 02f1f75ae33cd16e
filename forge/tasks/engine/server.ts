/**
 * Our own Temporal server: one for each user of a machine, started by the first command that needs it, found by later
 * ones, ended by `forge down`. It listens only on this machine, keeps its data in the state folder, and its web
 * interface is locked, since any page in the user's browser could reach it.
 */
import { randomUUID } from 'node:crypto'
import { readFile, stat, truncate } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { Claim, openFolder, readJson, writeJson } from '../../../core/state.ts'
import { visible } from '../../../core/text.ts'
import { type Program, withoutSecrets } from './find.ts'
import { endProcess, isProcessAlive, markOf, ProcessMark, sleep, startDetached } from './processes.ts'

type Environment = Record<string, string | undefined>

/** The namespace on our own server. */
export const NAMESPACE = 'forge'
/** The search attributes by which runs are listed. */
export const SEARCH_ATTRIBUTES = ['forgeRun', 'forgeTask', 'forgeState'] as const

const LOOPBACK = '127.0.0.1'
/** Milliseconds that a server may take to listen; on an idle machine it takes 200. */
const START_TIMEOUT_MS = 30_000
const POLL_MS = 20
/** Milliseconds to wait until the port of the last server is free again. */
const LAST_PORT_MS = 2_000
/** Milliseconds for a server to store its state when ending; it takes about a second. */
const GRACE = 10_000
/** A log with more bytes is truncated. */
const MAX_LOG_BYTES = 4_000_000

const Port = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535))
const RunningServer = v.object({
  process: ProcessMark,
  port: Port,
  /** The port of Temporal's web interface, where that was requested. */
  ui: v.optional(Port),
  program: v.string(),
  version: v.string(),
})
export type RunningServer = v.InferOutput<typeof RunningServer>

/**
 * The paths of our server: its data, the record of the running one, the lock of the command that starts one, and the
 * log.
 */
type ServerPlace = { folder: string; record: string; claim: string; log: string }

export async function openServerPlace(env: Environment): Promise<ServerPlace> {
  const folder = await openFolder(join(xdgFolder(env.XDG_STATE_HOME, '.local/state'), 'forge', 'temporal'))
  const at = (name: string) => join(folder, name)
  await boundLog(at('server.log'))
  return { folder, record: at('server.json'), claim: at('lock'), log: at('server.log') }
}

/** The address of our server. */
export const addressOf = ({ port }: Pick<RunningServer, 'port'>): string => `${LOOPBACK}:${port}`

/** The running server; undefined where there is none, whatever an old record says. */
export async function findRunning(place: ServerPlace): Promise<RunningServer | undefined> {
  const record = await readJson(place.record, RunningServer)
  return record && (await isProcessAlive(record.process)) ? record : undefined
}

/**
 * Gives the running server, or starts one; of several commands at once, only one starts it. It listens when this
 * resolves. With `ui`, it has Temporal's web interface: a server without that is restarted.
 */
export async function ensureServer(
  place: ServerPlace,
  { program, env, ui }: { program: Program; env: Environment; ui: boolean },
): Promise<RunningServer> {
  const there = await findRunning(place)
  if (there && (!ui || there.ui !== undefined)) return there
  using _ = await claim(place)
  const started = await findRunning(place)
  if (started && (!ui || started.ui !== undefined)) return started
  if (started) await endProcess(started.process, GRACE)
  return await start(place, { program, env, ui })
}

/** Ends the server. Gives whether one was running. */
export async function endServer(place: ServerPlace): Promise<boolean> {
  using _ = await claim(place)
  const running = await findRunning(place)
  if (running) await endProcess(running.process, GRACE)
  return running !== undefined
}

async function claim(place: ServerPlace): Promise<Claim> {
  for (const last = performance.now() + 2 * START_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const taken = Claim.take(place.claim)
    if (taken) return taken
    if (performance.now() > last)
      throw new Failure(`Another forge has been starting or ending the Temporal server for a minute: try again.`)
  }
}

async function start(
  place: ServerPlace,
  { program, env, ui }: { program: Program; env: Environment; ui: boolean },
): Promise<RunningServer> {
  const version = await versionOf(program.path)
  const last = await readJson(place.record, RunningServer)
  // The last port, if it is free: running workers then find the server again.
  const port = await freePort(last?.port)
  const uiPort = ui ? await freePort(last?.ui) : undefined
  const args = argumentsOf(place, { version, port, uiPort })
  // Earlier output in the log is no reason for this failure.
  const said = await sizeOf(place.log)
  const started = await startDetached([program.path, ...args], {
    cwd: place.folder,
    env: withoutSecrets(env),
    log: place.log,
  })
  const mark = started && (await markOf(started.pid))
  if (!started || !mark) throw await notStarted(place, program, said)
  const record = { process: mark, port, ...(uiPort && { ui: uiPort }), program: program.path, version }
  await writeJson(place.record, record)
  await untilItListens(port, started.ended).catch(async () => {
    await endProcess(mark, GRACE)
    throw await notStarted(place, program, said)
  })
  return record
}

/**
 * One partition for each queue, as it has only a few workers: with the default of four, polling takes a sixth more
 * processor time.
 */
export const ONE_PARTITION = ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1']

/**
 * The server's command line. Its database is synchronised with the disk only at checkpoints of the write-ahead log:
 * after a power failure the last moments may be missing, and are repeated. The web interface can't be switched off in
 * this server, so it answers only to an unguessable host name, and no page in the user's browser gets an answer.
 */
function argumentsOf(
  place: ServerPlace,
  { version, port, uiPort }: { version: string; port: number; uiPort: number | undefined },
): string[] {
  const attributes = SEARCH_ATTRIBUTES.flatMap(name => ['--search-attribute', `${name}=Keyword`])
  return [
    ['server', 'start-dev', '--ip', LOOPBACK, '--port', String(port), '--namespace', NAMESPACE],
    // Servers of other versions can't read each other's files.
    ['--db-filename', join(place.folder, `temporal-${version}.db`)],
    ['journal_mode=wal', 'synchronous=normal'].flatMap(pragma => ['--sqlite-pragma', pragma]),
    ONE_PARTITION.flatMap(value => ['--dynamic-config-value', value]),
    uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)],
    ['--dynamic-config-value', `frontend.httpAllowedHosts=["${randomUUID()}.invalid"]`],
    ['--log-level', 'error', '--log-format', 'text', '--color', 'never'],
    attributes,
  ].flat()
}

/** The server's version without its patch number: 1.32. */
async function versionOf(path: string): Promise<string> {
  const child = Bun.spawn([path, '--version'], {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: START_TIMEOUT_MS,
  })
  const words = await child.stdout.text()
  const [, version] = /Server (\d+\.\d+)\./.exec(words) ?? []
  await child.exited
  if (!version && child.signalCode)
    throw new Failure(`${visible(path)} did not tell its version in ${START_TIMEOUT_MS / 1000} seconds: try again.`)
  if (!version)
    throw new Failure(`${visible(path)} does not say that it is Temporal with a server in it: install another one.`)
  return version
}

async function notStarted(place: ServerPlace, program: Program, said: number): Promise<Failure> {
  const words = await readFile(place.log).catch(() => Buffer.alloc(0))
  const last =
    words
      .subarray(said)
      .toString()
      .trimEnd()
      .split('\n')
      .findLast(line => /error/i.test(line)) ?? 'it said nothing'
  const reason = visible(last).slice(0, 300)
  return new Failure(
    `The Temporal server (${visible(program.path)}) did not start: ${reason}. All that it said is in ${visible(place.log)}.`,
  )
}

/**
 * A free port of this machine: `wanted`, if it is free within LAST_PORT_MS. The port of a killed server can stay taken
 * for a moment, by the remains of its connections or by a client that keeps trying to connect.
 */
async function freePort(wanted?: number): Promise<number> {
  if (wanted === undefined) return (await tryPort(0)) ?? freePort()
  for (const last = performance.now() + LAST_PORT_MS; ; await sleep(POLL_MS)) {
    const port = await tryPort(wanted)
    if (port !== undefined) return port
    if (performance.now() > last) return freePort()
  }
}

/** The port, if it can be listened at; for 0, one that the kernel chooses. */
async function tryPort(wanted: number): Promise<number | undefined> {
  const server = createServer()
  const port = await new Promise<number | undefined>(resolve => {
    server.once('error', () => resolve(undefined))
    server.listen(wanted, LOOPBACK, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : undefined)
    })
  })
  await new Promise(resolve => server.close(resolve))
  return port
}

async function untilItListens(port: number, ended: Promise<void>): Promise<void> {
  let hasEnded = false
  ended.then(() => {
    hasEnded = true
  })
  for (const last = performance.now() + START_TIMEOUT_MS; !(await answers(port)); await sleep(POLL_MS)) {
    if (hasEnded || performance.now() > last) throw new Error('It does not listen')
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, LOOPBACK)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

/** Truncates the log. The server appends to it, so it continues after the cut. */
async function boundLog(path: string): Promise<void> {
  if ((await sizeOf(path)) > MAX_LOG_BYTES) await truncate(path)
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )
