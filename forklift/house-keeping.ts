/** Removes old runs, and makes the folders of killed runs safe to look at. */
import { readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { EXIT } from '../core/failure.ts'
import {
  type AgentRun,
  isByAgent,
  listRunDirectories,
  type RecordedRun,
  readRun,
  runsFolderIn,
  stamp,
  stampOf,
  workspaceOf,
} from '../core/formats/forklift-run.ts'
import { isRunning } from '../core/processes.ts'
import { isSafeToLookAt, makeSafeToLookAt, removeFolders } from './leftovers.ts'
import { exists } from './runs.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const KEEP = { workspace: 7 * DAY, directory: 30 * DAY }

/**
 * Removes the workspaces of runs published over 7 days ago, run directories over 30 days old, and scratch folders of
 * killed runs. `living` gives the names of running containers, whose runs are kept. Gives the removed folders,
 * including those of which a part is left for the next time.
 */
export async function tidy(state: string, living: () => Promise<string[]>, signal?: AbortSignal): Promise<string[]> {
  const paths = await listRunDirectories(runsFolderIn(state))
  const isOld = (path: string, age: number) => stampOf(path) < stamp(new Date(Date.now() - age))
  const old = paths.filter(path => isOld(path, KEEP.workspace))
  const forsaken = await filter(paths, async path => isOld(path, HOUR) && !(await isSafeToLookAt({ path })))
  const alive = old.length > 0 || forsaken.length > 0 ? await living() : []
  const isAlive = (run: RecordedRun | undefined) => run && isByAgent(run) && alive.includes(run.metadata.container)
  for (const path of forsaken) {
    const run = await readRun(path)
    if (run && isByAgent(run) && !isAlive(run) && isOver(run)) await makeSafeToLookAt(run)
  }
  const gone: string[] = []
  const remove = async (path: string) => {
    if (!(await exists(path))) return
    await removeFolders([path], signal)
    gone.push(path)
  }
  for (const path of old) {
    if (signal?.aborted) return gone
    const run = await readRun(path)
    if (isAlive(run)) continue
    if (isOld(path, KEEP.directory)) await remove(path)
    else if (run?.outcome?.exitCode === EXIT.done) await remove(workspaceOf(run))
  }
  for (const name of await readdir(state).catch(() => []))
    if (await isAbandoned(join(state, name))) await rm(join(state, name), { recursive: true, force: true })
  return gone
}

/** Whether a run must have ended, even one that had not started its container yet. */
const isOver = ({ metadata: { startedAt, timeLimitSeconds } }: AgentRun): boolean =>
  Date.now() - Date.parse(startedAt) > HOUR + timeLimitSeconds * 1000

async function filter<T>(list: T[], holds: (value: T) => Promise<boolean>): Promise<T[]> {
  const answers = await Promise.all(list.map(holds))
  return list.filter((_, at) => answers[at])
}

/**
 * Whether a scratch folder's process has ended. A folder of another machine that shares the state folder (or of this
 * one under an earlier host name) counts as abandoned after a day, since its process can't be checked.
 */
async function isAbandoned(path: string): Promise<boolean> {
  const [, host, pid] = /^scratch-(.*)-(\d+)-[^-]*$/.exec(basename(path)) ?? []
  if (!pid) return false
  if (host === hostname()) return !isRunning(Number(pid))
  const { mtimeMs = Date.now() } = (await stat(path).catch(() => undefined)) ?? {}
  return Date.now() - mtimeMs > DAY
}
