/** The run directories: what each run was about, how it ended, and what has been paid for already. */
import { access, constants, copyFile, link, mkdir, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT, Failure } from '../core/failure.ts'
import {
  type AgentEnd,
  type AgentRun,
  type AgentRunTask,
  isByAgent,
  listRunDirectories,
  type RecordedRun,
  type RunFile,
  type RunMetadata,
  type RunOutcome,
  type RunSubject,
  readRunsOf,
  runFileOf,
  runName,
  runsFolderIn,
  STUCK_FILE,
  workspaceOf,
} from '../core/formats/forklift-run.ts'
import { mergeTrees } from '../core/git/merges.ts'
import type { Oid } from '../core/git/repository.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { visible, visiblePath } from '../core/text.ts'
import { version } from '../package.json'
import type { Fork } from './fork.ts'
import type { AgentSetup } from './settings.ts'
import type { Report } from './terminal.ts'

/** A run whose agent has ended. */
export type FinishedRun = AgentRun & { agent: AgentEnd }
/** What a run has found so far. */
export type RunFindings = Partial<Omit<RunOutcome, 'exitCode' | 'outcome' | 'startedAt' | 'endedAt'>>

export const sha256 = (data: string | Uint8Array): string => new Bun.CryptoHasher('sha256').update(data).digest('hex')

/** The conflicts between two commits: each path with the blobs of both sides and of their base. */
async function conflictsBetween(scratch: Scratch, ours: Oid, theirs: Oid): Promise<RunMetadata['conflicts']> {
  const stages = Map.groupBy((await mergeTrees(scratch, ours, theirs)).stages, ({ path }) => path)
  return [...stages].map(([path, entries]) => {
    const blob = (stage: number) => entries.find(entry => entry.stage === stage)?.oid ?? ''
    return { path: visiblePath(path), base: blob(1), ours: blob(2), theirs: blob(3) }
  })
}

/** Makes the folder `<project>_<YYYYMMDD_HHMMSS>`. If another run has taken the name, waits for the next second. */
export async function claimRunDirectory({ state, project }: Fork): Promise<string> {
  const runs = runsFolderIn(state)
  try {
    await mkdir(runs, { recursive: true, mode: 0o700 })
    for (;;) {
      const path = join(runs, runName(project))
      const taken = await mkdir(path, { mode: 0o700 }).catch(error => error)
      if (!taken) return path
      if (taken.code !== 'EEXIST') throw taken
      await sleep(1000 - (Date.now() % 1000))
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Failure(`${visible(runs)} can't be written (${code}): check its disk and its owner.`)
  }
}

/** Writes one of a run's files atomically. Never overwrites: gives false where the file exists. */
export async function recordFile(path: string, file: RunFile, value: object): Promise<boolean> {
  const draft = join(path, `.${file}.${process.pid}`)
  try {
    await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o444 })
    const target = runFileOf({ path }, file)
    await link(draft, target).catch(error => {
      if (error.code === 'EEXIST' || error.code === 'ENOSPC') throw error
      // Not every file system has hard links.
      return copyFile(draft, target, constants.COPYFILE_EXCL)
    })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** The runs of one fork, the newest first. */
export const earlierRuns = async ({ state, project, origin }: Fork): Promise<RecordedRun[]> =>
  await readRunsOf(await listRunDirectories(runsFolderIn(state), project), origin.url)

/** The facts for the harness (run.txt): lines of `key=value`, and the networks that the host is in. */
export function factsOf({
  branch,
  upstreamBranch,
  startCommit,
  upstreamCommit,
  timeLimitSeconds,
}: AgentRunTask): string {
  const names = { branch, upstream_branch: upstreamBranch, start: startCommit, upstream: upstreamCommit }
  const facts = Object.entries({ ...names, seconds: timeLimitSeconds }).map(([key, value]) => `${key}=${value}`)
  return [...facts, ...networksOf(networkInterfaces()).map(network => `reject=${network}`), ''].join('\n')
}

/**
 * The networks that the host is in, as ADDRESS/PREFIX. The host and its neighbours may have public addresses, which the
 * container's firewall can't know. A prefix that would block much of the internet comes from a tunnel's configuration
 * and says nothing of neighbours: then only the address itself is given. (IPv4 is assigned by /8 at most, IPv6 by /16.)
 */
export function networksOf(interfaces: ReturnType<typeof networkInterfaces>): string[] {
  const networks = Object.values(interfaces).flatMap(list => list ?? [])
  const isLoopback = (address: string) => address.startsWith('127.') || address === '::1'
  const rejected = networks.flatMap(({ address, cidr, family }) => {
    const [shortest, whole] = family === 'IPv4' ? [8, 32] : [16, 128]
    const prefix = Number(cidr?.split('/')[1] ?? whole)
    return isLoopback(address) ? [] : [`${address}/${prefix < shortest ? whole : prefix}`]
  })
  return [...new Set(rejected)]
}

const samePair = (run: RecordedRun, { startCommit, upstreamCommit }: RunSubject): boolean =>
  run.metadata.startCommit === startCommit && run.metadata.upstreamCommit === upstreamCommit

/** An earlier run of the same two commits whose agent ended well, but whose result was not published. */
async function unpublished(earlier: RecordedRun[], metadata: RunSubject): Promise<FinishedRun | undefined> {
  const kept: unknown[] = [undefined, EXIT.error, EXIT.interrupted, EXIT.terminated]
  for (const { agent, ...run } of earlier.filter(isByAgent)) {
    if (!agent || agent.exitCode !== EXIT.done || !samePair(run, metadata)) continue
    if (kept.includes(run.outcome?.exitCode) && (await exists(workspaceOf(run)))) return { ...run, agent }
  }
  return undefined
}

/**
 * The exit code of the newest earlier run that asked an agent the same question. A refused result only counts for the
 * same two commits: on others the agent's answer may be good.
 */
function answerBefore(earlier: RecordedRun[], metadata: AgentRunTask): { code: number; path: string } | undefined {
  const answers: unknown[] = [EXIT.done, EXIT.timedOut, EXIT.refused, EXIT.stuck, EXIT.agentFailed]
  const codeOf = (run: RecordedRun) => (run.outcome ?? run.agent)?.exitCode ?? -1
  const asked = earlier.filter(isByAgent)
  const run = asked.find(it => questionDigest(it.metadata) === questionDigest(metadata) && answers.includes(codeOf(it)))
  if (!run || (codeOf(run) === EXIT.refused && !samePair(run, metadata))) return undefined
  return { code: codeOf(run), path: run.path }
}

/**
 * The branch of an earlier published result that a person has rejected. Where the host of pull requests can tell about
 * rejections, only results for the same two commits count. Elsewhere, all results for this upstream commit count as
 * rejected if all of their branches are deleted from origin.
 */
export function thrownAway(
  earlier: RecordedRun[],
  metadata: RunSubject,
  heads: ReadonlyMap<string, Oid>,
  pullsTell: boolean,
): string | undefined {
  const published = earlier.filter(({ outcome, metadata: { branch, upstreamCommit } }) => {
    const isSame = branch === metadata.branch && upstreamCommit === metadata.upstreamCommit
    return isSame && outcome?.exitCode === EXIT.done && outcome.branch
  })
  const isGone = !pullsTell && !published.some(({ outcome }) => heads.has(outcome?.branch ?? ''))
  const run = published.find(it => samePair(it, metadata)) ?? (isGone ? published[0] : undefined)
  return run?.outcome?.branch
}

/** A digest of the agent's task: the conflicts, or else the two commits; FORK.md; the model. */
function questionDigest({
  conflicts,
  startCommit,
  upstreamCommit,
  branch,
  forkMd,
  model,
  variant,
}: AgentRunTask): string {
  const matter = conflicts.length > 0 ? conflicts : [startCommit, upstreamCommit]
  return sha256(JSON.stringify([matter, branch, forkMd, model, variant]))
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** The metadata of a run, with its conflicts. */
export async function describeMerge({ origin, upstream }: Fork, scratch: Scratch, start: Oid): Promise<RunSubject> {
  return {
    version,
    origin: origin.url,
    upstream: upstream.url,
    branch: origin.branch,
    upstreamBranch: upstream.branch,
    originCommit: origin.tip,
    startCommit: start,
    upstreamCommit: upstream.tip,
    conflicts: await conflictsBetween(scratch, start, upstream.tip),
    startedAt: new Date().toISOString(),
  }
}

/** The metadata of a run in which an agent merges; the container's name is added later. */
export async function describeRun(
  fork: Fork,
  { agent, image, seconds }: AgentSetup,
  scratch: Scratch,
  start: Oid,
  forkMd: Buffer | undefined,
): Promise<AgentRunTask> {
  return {
    ...(await describeMerge(fork, scratch, start)),
    forkMd: forkMd ? sha256(forkMd) : null,
    image,
    container: '',
    model: agent.model,
    variant: agent.variant,
    agent: agent.agent,
    timeLimitSeconds: seconds,
  }
}

/** With more files in conflict, or after this number of runs out of time, a merge is called too large. */
const TOO_LARGE = { files: 20, timeOuts: 2 }

/**
 * Says how a merge can be done that is too large for one agent: many files, or out of time twice at the same question.
 */
export async function sayWhereItIsTooLarge({ path, metadata, agent }: FinishedRun, report: Report): Promise<void> {
  const files = metadata.conflicts.length
  const paths = await listRunDirectories(dirname(path), basename(path).slice(0, -16))
  const others = (await readRunsOf(paths, metadata.origin)).filter(isByAgent).filter(it => it.path !== path)
  const question = questionDigest(metadata)
  const isSame = (run: AgentRun) => questionDigest(run.metadata) === question
  const timeOuts = others.filter(run => isSame(run) && (run.outcome ?? run.agent)?.exitCode === EXIT.timedOut).length
  const all = timeOuts + (agent.exitCode === EXIT.timedOut ? 1 : 0)
  const isLarge = files > TOO_LARGE.files
  if (!isLarge && all < TOO_LARGE.timeOuts) return
  const what = isLarge
    ? `${files} files in conflict are much for one agent`
    : 'Time ran out on this merge more than once'
  report.note(`${what}: forge resolve --forklift ${basename(path)} does it in parts.`)
}

/**
 * An earlier run whose result was never published. Throws where one ended without a result, so that it is not paid for
 * again.
 */
export async function whatIsPaidForAlready(
  earlier: RecordedRun[],
  task: AgentRunTask,
): Promise<FinishedRun | undefined> {
  const waiting = await unpublished(earlier, task)
  if (waiting) return waiting
  const { code, path } = answerBefore(earlier, task) ?? {}
  const remedy = 'Change FORK.md or the model, or run forklift --retry.'
  if (code === EXIT.stuck) throw new Failure(`Still stuck: see ${path}/${STUCK_FILE}. ${remedy}`, code)
  if (code === EXIT.timedOut) throw new Failure(`Time ran out on this before: see ${path}. ${remedy}`, code)
  if (code !== EXIT.refused) return undefined
  throw new Failure(`This result was refused before: see ${path}. Run forklift --retry to ask again.`, code)
}
