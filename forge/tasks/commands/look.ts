/**
 * Finds out the state of a run: from the server's record of its workflow, then from the workflow itself; without these,
 * from git.
 */
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { RunId, RunStatus, TaskState } from '../contract.ts'
import { NoAnswer, OtherVersion, type WorkflowStanding } from '../engine/client.ts'
import { Ledger, type Sending } from '../runs/budget.ts'
import { runsFolder } from '../runs/folder.ts'
import { readLastStatus, readStoredRun } from '../runs/plans.ts'
import type { RunStore } from '../runs/store.ts'
import { readTroubles, troubleInWords } from '../runs/troubles.ts'
import type { RunServer } from './server.ts'

type Environment = Record<string, string | undefined>

/** A run's status with what this machine knows of its requests. `began`: milliseconds since 1970. */
export type Seen = RunStatus & { began?: number; sending?: Sending }

/** `isUnderWay`: the server works on the run, or waits for the user. `status`: undefined where nothing is known. */
export type Looked = { isUnderWay: boolean; status?: Seen }

/** States in which a run changes only when the user acts, whether or not its server is reachable. */
const RESTING: readonly RunStatus['state'][] = [
  'done',
  'failed',
  'stopped',
  'asks',
  'paused',
  'approving',
  'out of budget',
]

/** Whether the run continues only after the user acts. */
export const isResting = ({ state }: RunStatus): boolean => RESTING.includes(state)

/** Whether the run is over. */
export const hasEnded = ({ state }: RunStatus): boolean => ['done', 'failed', 'stopped'].includes(state)

/**
 * The state of a run. `env`: for the run's folder. @throws Failure where the server can't be reached or does not
 * answer.
 */
export async function lookAtRun(server: RunServer, store: RunStore, env: Environment): Promise<Looked> {
  const looked = await lookAtServer(server, store)
  return await withLocal(await withUnserved(looked, server), store, env)
}

/** Adds to the status of a run that works which parts of its work wait, as no machine serves them. */
async function withUnserved(looked: Looked, server: RunServer): Promise<Looked> {
  const { status } = looked
  if (!status || !WORKING.includes(status.state)) return looked
  const unserved = await server.unserved()
  if (unserved.length === 0) return looked
  return { ...looked, status: { ...status, words: [status.words, ...unserved].filter(Boolean).join(' ') } }
}

/**
 * Adds what this machine knows: the ledger, as a run is not told of answers that broke off or of requests lost in a
 * crash; and a provider's troubles, during which the run's state does not change.
 */
async function withLocal(looked: Looked, store: RunStore, env: Environment): Promise<Looked> {
  const { status } = looked
  if (!status) return looked
  const folder = join(await runsFolder(store.objects.repository, env), store.run)
  const ledger = Ledger.look(folder)
  const { batch } = ledger ?? {}
  const hasBatches = batch && (batch.out > 0 || batch.answered > 0)
  const seen: Seen = { ...status, ...(ledger?.spent && { spent: ledger.spent }), ...(hasBatches && { batch }) }
  if (!WORKING.includes(status.state)) return { ...looked, status: seen }
  const now = Date.now()
  const [troubles, stored] = await Promise.all([readTroubles(folder, now), readStoredRun(store).catch(() => undefined)])
  const words = troubles.map(trouble => troubleInWords(trouble, now)).join(' ')
  return {
    ...looked,
    status: {
      ...seen,
      ...(words !== '' && { words: [status.words, words].filter(Boolean).join(' ') }),
      ...(stored && { began: stored.began }),
      ...(ledger && ledger.sending.count > 0 && { sending: ledger.sending }),
    },
  }
}

/** States in which something is under way. */
const WORKING: readonly RunStatus['state'][] = ['planning', 'runs']

async function lookAtServer(server: RunServer, store: RunStore): Promise<Looked> {
  const { run } = store
  const standing = await server.standing(run)
  const last = await readLastStatus(store)
  // This machine's idle worker may have ended: then none answers queries for a resting run.
  if (standing.is === 'open' && last && isResting(last) && !hasEnded(last) && !(await server.hasWorker()))
    return { isUnderWay: true, status: last }
  if (standing.is === 'open') {
    const status = await server.status(run).catch(async error => {
      // Without a worker that continues runs, none answers either.
      const [words] = error instanceof NoAnswer ? await server.unserved() : []
      throw words === undefined ? error : new NoAnswer(words)
    })
    return { isUnderWay: true, status }
  }
  if (!last || hasEnded(last)) return { isUnderWay: false, status: last }
  // A run stores its status in git before it ends, unless the disk was full: then the server is asked for it.
  const own = standing.is === 'completed' ? await server.status(run).catch(() => undefined) : undefined
  return { isUnderWay: false, status: own && hasEnded(own) ? own : failed(last, whyEnded(run, standing)) }
}

/** The run's status as last stored in git, where there is no server or it does not answer; `why` is the reason. */
async function lookWithout(store: RunStore, why: string): Promise<Looked> {
  const last = (await readLastStatus(store)) ?? (await notBegun(store))
  if (!last || RESTING.includes(last.state)) return { isUnderWay: false, status: last }
  return { isUnderWay: false, status: { ...withoutWork(last, 'waits'), state: 'unreachable', words: why } }
}

/**
 * The status of a run that was submitted, and that no worker has taken yet; undefined where nothing is stored of it.
 */
async function notBegun(store: RunStore): Promise<RunStatus | undefined> {
  if (!(await readStoredRun(store).catch(() => undefined))) return undefined
  const spent = { requests: 0, input: 0, output: 0, cost: 0 }
  return { run: store.run, state: 'planning', words: '', complaints: [], tasks: [], spent }
}

/** The status from the server where possible, else from git. */
export async function lookSomehow(server: RunServer | Failure, store: RunStore, env: Environment): Promise<Looked> {
  if (server instanceof Failure) return await withLocal(await lookWithout(store, server.message), store, env)
  try {
    return await lookAtRun(server, store, env)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const looked = await withLocal(await lookWithout(store, error.message), store, env)
    // A run whose state is unknown counts as under way, so that nothing of it is pruned.
    return { ...looked, isUnderWay: true }
  }
}

/** How a run has ended according to the server, and what to do next. */
function whyEnded(run: RunId, standing: Exclude<WorkflowStanding, { is: 'open' }>): string {
  const again = `forge resume ${run} submits it again; what is done stays done.`
  switch (standing.is) {
    case 'unknown':
      return `The Temporal server does not know it any more: ${again}`
    case 'terminated':
      return `It was terminated on the Temporal server${standing.words ? ` (${standing.words})` : ''}: ${again}`
    case 'timed out':
      return `It ran into a time limit of the Temporal server: ${again}`
    case 'cancelled':
      return `It was cancelled on the Temporal server: ${again}`
    case 'failed':
      return `It failed on the Temporal server${standing.words ? ` (${standing.words})` : ''}: ${again}`
    case 'completed':
      return `It has ended, and how was not kept: ${again}`
  }
}

const failed = (last: RunStatus, words: string): RunStatus => {
  const { question: _, limit: __, ...rest } = withoutWork(last, 'stopped')
  return { ...rest, state: 'failed', words }
}

/** A copy of the status in which running tasks have the state `instead`. */
const withoutWork = (status: RunStatus, instead: TaskState): RunStatus => ({
  ...status,
  tasks: status.tasks.map(task => (task.state === 'runs' ? { ...task, state: instead, doing: '' } : task)),
})

/** Whether a run was begun by another version of the workflows than the worker's. */
export async function isOfOtherVersion(server: RunServer, run: RunId): Promise<boolean> {
  try {
    await server.status(run)
    return false
  } catch (error) {
    if (error instanceof OtherVersion) return true
    throw error
  }
}
