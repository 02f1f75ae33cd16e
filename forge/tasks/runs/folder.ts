/**
 * Where runs are stored: refs in the repository, and a folder for each in the user's state folder. A run is found by
 * either, since one may be lost or on another machine.
 */
import { createHash, randomInt } from 'node:crypto'
import { chmod, mkdir, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { listRefs, type RefName } from '../../../core/git/refs.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import { RUNS, RunId, resultBranch, type TaskId } from '../../formats/tasks-json.ts'

type Environment = Record<string, string | undefined>

/** The prefix of all branches of runs. */
export const BRANCHES = 'refs/heads/forge/'

/** The ref of the commit whose tree has everything that a run stores. */
export const storeRef = (run: RunId): RefName => `${RUNS}${run}/store`
/**
 * The prefix of a run's attempts. They are no branches, as a run of a hundred tasks has hundreds, and few are ever
 * looked at.
 */
export const attemptsRef = (run: RunId): RefName => `${RUNS}${run}/attempts/`
/** The ref of the commits of an attempt. */
export const attemptRef = (run: RunId, task: TaskId, attempt: number): RefName =>
  `${attemptsRef(run)}${task}/${attempt}`
/** The branch of a task's result, while the run works. */
export const doneRef = (run: RunId, task: TaskId): RefName => `refs/heads/${resultBranch(run, task)}`
/** The ref to which the result of a task is moved from its branch once the run has a combined result. */
export const hiddenDoneRef = (run: RunId, task: TaskId): RefName => `${RUNS}${run}/done/${task}`
/** The branch of the combined result. No task may have this name. */
export const resultRef = (run: RunId): RefName => `refs/heads/${resultBranch(run)}`

/** Whether a text has the form of a run's id. */
export const isRunId = (text: string): boolean => v.is(RunId, text)

/**
 * Gives a text as a run's id. Throws a {@link Failure} where it is not a valid one, as ids become part of refs and
 * paths.
 */
export function verifyRunId(text: string): RunId {
  if (isRunId(text)) return text
  throw new Failure(`${visible(text) || 'An empty text'} is no run: forge runs lists them.`)
}

/** Makes a run's id: the date, a few words of the user's request (`about`), and a unique suffix that grows in a day. */
export function newRunId(about: string, now: Date): RunId {
  const day = now.toISOString().slice(0, 10).replaceAll('-', '')
  const plain = about.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const words = (plain.match(/[a-z0-9]+/g) ?? []).slice(0, 4).map(word => word.slice(0, 12))
  const second = Math.floor((now.getTime() % 86_400_000) / 1000)
  const sign = (second * SIGNS_A_SECOND + randomInt(SIGNS_A_SECOND)).toString(36).padStart(5, '0')
  return [day, ...words, sign].join('-')
}

/** The number of suffixes for each second of a day, so that all have five characters. */
const SIGNS_A_SECOND = Math.floor(36 ** 5 / 86_400)

/** A sort key for runs in the order of their beginning: date and suffix. */
const orderOf = (run: RunId): string => `${run.slice(0, 8)} ${run.slice(run.lastIndexOf('-') + 1)}`

/** The folder of a repository's runs, shared by its worktrees. It need not exist. */
export async function runsFolder(repository: Repository, env: Environment): Promise<string> {
  const common = await realpath(repository.commonDir)
  const digest = createHash('sha256').update(common).digest('hex').slice(0, 16)
  return join(xdgFolder(env.XDG_STATE_HOME, '.local/state'), 'forge', digest, 'runs')
}

/** Opens a run's folder, creating it if needed; only the user can read it. */
export async function openRunFolder(repository: Repository, run: RunId, env: Environment): Promise<string> {
  const folder = join(await runsFolder(repository, env), verifyRunId(run))
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // Permissions that were widened are narrowed again.
    await chmod(folder, 0o700)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new Failure(`${visible(folder)} can't be used (${code}): check its owner and its disk.`)
  }
  return folder
}

/** A stored run: in git, in a folder of this machine, or both. */
export type FoundRun = { run: RunId; isInGit: boolean; folder?: string }

/** All runs of a repository, newest first. */
export async function listRuns(repository: Repository, env: Environment): Promise<FoundRun[]> {
  const top = await runsFolder(repository, env)
  const [refs, names] = await Promise.all([listRefs(repository, [RUNS]), readdir(top).catch(() => [])])
  const inGit = new Set(refs.map(({ name }) => name.slice(RUNS.length).split('/')[0] ?? ''))
  const folders = new Set(names)
  return [...new Set([...inGit, ...folders])]
    .filter(isRunId)
    .sort((a, b) => (orderOf(a) < orderOf(b) ? 1 : -1))
    .map(run => ({ run, isInGit: inGit.has(run), ...(folders.has(run) && { folder: join(top, run) }) }))
}
