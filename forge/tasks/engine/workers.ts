/**
 * The workers of this machine: one for each repository, detached, so that it outlives the terminal. Its output goes to
 * a log beside its record.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, renameSync, statSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { Claim, openFolder, openState, readJson, writeJson } from '../../../core/state.ts'
import { visible } from '../../../core/text.ts'
import { readSettings, settingsFile } from '../../ai/settings.ts'
import type { Server } from './client.ts'
import { endProcess, isProcessAlive, markOf, ProcessMark, sendSignal, sleep, startDetached } from './processes.ts'
import { codeVersion } from './versions.ts'

type Environment = Record<string, string | undefined>

const FORGE = join(import.meta.dir, '../../../forge.ts')
/** As in the first line of forge.ts: configuration in the current folder is ignored. */
const BUN_FLAGS = ['--no-env-file', '--config=/dev/null', '--no-install']
/** Milliseconds that a worker may take to start; on an idle machine it takes 1000. */
const START_TIMEOUT_MS = 60_000
const POLL_MS = 25
/** Milliseconds that a worker gets to end by itself before it is killed. */
const GRACE = 15_000
/** A log with more bytes is renamed, replacing the one before. */
const MAX_LOG_BYTES = 2_000_000

const WorkerRecord = v.object({
  process: ProcessMark,
  /** The version of the worker's code. */
  version: v.string(),
  /** A digest of the settings that the worker was started with, and their names. */
  settings: v.object({ digest: v.string(), names: v.array(v.string()) }),
  /** The server that the worker polls. */
  address: v.string(),
  namespace: v.string(),
  queue: v.string(),
  /** The folder of the worker's repository, for messages. */
  folder: v.string(),
})
type WorkerRecord = v.InferOutput<typeof WorkerRecord>

type WorkerPlace = { record: string; claim: string; starting: string; log: string; folder: string }

export async function openWorkerPlace(
  repository: Pick<Repository, 'commonDir'>,
  env: Environment,
): Promise<WorkerPlace> {
  const folder = await openFolder(join(await openState(repository, env), 'tasks'))
  const at = (name: string) => join(folder, name)
  return {
    folder,
    record: at('worker.json'),
    claim: at('worker.lock'),
    starting: at('start.lock'),
    log: at('worker.log'),
  }
}

/** The worker of a repository; undefined where none runs. */
export async function findWorker(place: WorkerPlace): Promise<WorkerRecord | undefined> {
  return await readRunning(place.record)
}

async function readRunning(path: string): Promise<WorkerRecord | undefined> {
  const record = await readJson(path, WorkerRecord)
  return record && (await isProcessAlive(record.process)) ? record : undefined
}

/** All workers of this user on this machine. */
export async function findWorkers(env: Environment): Promise<WorkerRecord[]> {
  const state = join(xdgFolder(env.XDG_STATE_HOME, '.local/state'), 'forge')
  const names = await readdir(state).catch(() => [])
  const found = await Promise.all(names.map(name => readRunning(join(state, name, 'tasks', 'worker.json'))))
  return found.filter(record => record !== undefined)
}

/**
 * Ensures that a worker serves a repository. One with older code is drained and replaced; so is one that polls another
 * server, or was started with other settings, unless this environment only lacks some of the worker's settings. Gives
 * undefined where the settings say that this machine has none. @throws Failure where it does not start.
 */
export async function ensureWorker(
  repository: Repository,
  env: Environment,
  { server, queue }: { server: Server; queue: string },
): Promise<WorkerRecord | undefined> {
  // Unreadable settings are reported by the first activity that needs them.
  const settings = await readSettings(env).catch(() => undefined)
  if (settings?.worker === 'none') return undefined
  const place = await openWorkerPlace(repository, env)
  const wanted = await describe(env, { server, queue })
  const there = await findWorker(place)
  if (there && isGood(there, wanted)) return there
  using _ = await claim(place.starting)
  const meanwhile = await findWorker(place)
  if (meanwhile && isGood(meanwhile, wanted)) return meanwhile
  if (meanwhile) await drain(place, meanwhile)
  return await start(place, repository, env)
}

type Wanted = Pick<WorkerRecord, 'version' | 'settings' | 'address' | 'namespace' | 'queue'>

async function describe(env: Environment, { server, queue }: { server: Server; queue: string }): Promise<Wanted> {
  const [version, settings] = await Promise.all([codeVersion(), settingsOf(env)])
  return { version, settings, address: server.address, namespace: server.namespace, queue }
}

function isGood(there: WorkerRecord, wanted: Wanted): boolean {
  const isElsewhere =
    there.address !== wanted.address || there.namespace !== wanted.namespace || there.queue !== wanted.queue
  if (isElsewhere || there.version !== wanted.version) return false
  if (there.settings.digest === wanted.settings.digest) return true
  // A terminal without keys must not replace a worker that has them.
  return !there.settings.names.every(name => wanted.settings.names.includes(name))
}

/**
 * The variables that a worker reads when it starts. Only a short digest of the values is stored, from which none can be
 * recovered.
 */
const SETTINGS = /^(FORGE_(?!PAGE$|TEMPORAL_)\w+|(ANTHROPIC|OPENAI|OPENROUTER)_\w+|OTEL_\w+|HTTPS?_PROXY|NO_PROXY)$/

async function settingsOf(env: Environment): Promise<WorkerRecord['settings']> {
  const set = Object.entries(env).filter(([name, value]) => value && SETTINGS.test(name))
  const names = set.map(([name]) => name).sort()
  const file = await stat(settingsFile(env)).then(
    ({ size, mtimeMs }) => `${size} ${mtimeMs}`,
    () => '',
  )
  const lines = [...names.map(name => `${name}=${env[name]}`), file]
  const digest = createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 12)
  return { digest, names }
}

async function start(place: WorkerPlace, repository: Repository, env: Environment): Promise<WorkerRecord> {
  turnOver(place.log)
  // Not the worktree's folder, which may be removed while the worker runs.
  const cwd = basename(repository.commonDir) === '.git' ? dirname(repository.commonDir) : repository.commonDir
  const command = [process.execPath, ...BUN_FLAGS, FORGE, 'worker', '--detached'] as const
  const started = await startDetached(command, { cwd, env, log: place.log })
  if (!started) throw new Failure('No worker could be started: check that Bun and Forge are where they were.')
  let hasEnded = false
  started.ended.then(() => {
    hasEnded = true
  })
  for (const last = performance.now() + START_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const record = await findWorker(place)
    if (record?.process.pid === started.pid) return record
    if (!hasEnded && performance.now() < last) continue
    const mark = await markOf(started.pid)
    if (mark) await endProcess(mark, GRACE)
    const words = (await readFile(place.log, 'utf8').catch(() => '')).trimEnd().split('\n').at(-1) || 'it said nothing'
    throw new Failure(`The worker did not begin: ${visible(words)} (all that it said is in ${visible(place.log)}).`)
  }
}

/** Asks a worker to take nothing new, finish its running work, and end. */
async function drain(place: WorkerPlace, worker: WorkerRecord): Promise<void> {
  sendSignal(worker.process, 'SIGUSR2')
  for (const last = performance.now() + GRACE; await isHeld(place.claim); await sleep(POLL_MS)) {
    if (performance.now() < last) continue
    await endProcess(worker.process, GRACE)
    return
  }
}

function isHeld(path: string): boolean {
  const taken = Claim.take(path)
  taken?.[Symbol.dispose]()
  return taken === undefined
}

/** Ends a worker; the next one repeats its running work. */
export async function endWorker(worker: WorkerRecord): Promise<void> {
  await endProcess(worker.process, GRACE)
}

/**
 * The claim of this process to be a repository's worker, held until it takes no more work. @throws Failure where
 * another process has it.
 */
export class WorkerClaim implements AsyncDisposable {
  private constructor(
    private readonly place: WorkerPlace,
    private readonly claim: Claim,
  ) {}

  static async take(place: WorkerPlace): Promise<WorkerClaim> {
    const taken = Claim.take(place.claim)
    if (taken) return new WorkerClaim(place, taken)
    const other = await findWorker(place)
    const which = other ? ` (process ${other.process.pid})` : ''
    throw new Failure(`A worker for this repository runs already${which}: end it with forge down.`)
  }

  /** Records that this worker is ready. */
  async announce(
    repository: Pick<Repository, 'commonDir'>,
    env: Environment,
    { server, queue }: { server: Server; queue: string },
  ): Promise<void> {
    const mark = await markOf(process.pid)
    if (!mark) throw new Error('This process is not in the list of processes')
    const folder = basename(repository.commonDir) === '.git' ? dirname(repository.commonDir) : repository.commonDir
    const record: WorkerRecord = { process: mark, folder, ...(await describe(env, { server, queue })) }
    await writeJson(this.place.record, record)
  }

  /** Releases the claim for another worker, while this one finishes its running work. */
  async [Symbol.asyncDispose](): Promise<void> {
    const record = await readJson(this.place.record, WorkerRecord)
    if (record?.process.pid === process.pid) await rm(this.place.record, { force: true })
    this.claim[Symbol.dispose]()
  }
}

async function claim(path: string): Promise<Claim> {
  for (const last = performance.now() + 2 * START_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const taken = Claim.take(path)
    if (taken) return taken
    if (performance.now() > last)
      throw new Failure('Another forge has been starting a worker for two minutes: try again.')
  }
}

// --- The log

/** Writes lines with their time to a log of bounded size. */
export function logTo(path: string): (line: string) => void {
  return line => {
    turnOver(path)
    appendFileSync(path, `${new Date().toISOString()} ${visible(line)}\n`, { mode: 0o600 })
  }
}

function turnOver(path: string): void {
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
  if (size > MAX_LOG_BYTES) renameSync(path, `${path}.1`)
}
