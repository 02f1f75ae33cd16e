/** The run directories: what a run was told, how it ended, and so what was paid for already. */
import { access, constants, copyFile, link, mkdir, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
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

/** A run whose agent has ended. */
export type FinishedRun = AgentRun & { agent: AgentEnd }
/** What a run found on its way, and how far it came. */
export type RunFindings = Partial<Omit<RunOutcome, 'exitCode' | 'outcome' | 'startedAt' | 'endedAt'>>

export const sha256 = (data: string | Uint8Array): string => new Bun.CryptoHasher('sha256').update(data).digest('hex')

/** What git can't settle between two commits: each path with the blobs of both sides and of their base. */
async function conflictsBetween(scratch: Scratch, ours: Oid, theirs: Oid): Promise<RunMetadata['conflicts']> {
  const stages = Map.groupBy((await mergeTrees(scratch, ours, theirs)).stages, ({ path }) => path)
  return [...stages].map(([path, entries]) => {
    const blob = (stage: number) => entries.find(entry => entry.stage === stage)?.oid ?? ''
    return { path: visiblePath(path), base: blob(1), ours: blob(2), theirs: blob(3) }
  })
}

/**
 * Makes the folder `<project>_<YYYYMMDD_HHMMSS>`. Where another run has the name already, it waits for the next second.
 */
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

/** Writes one of a run's files, whole or not at all. None is ever written twice: gives false where it is there. */
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

/** What the harness must know of the run (run.txt): a line `key=value` each, and the networks that the host is in. */
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
 * The networks that the host is in, as ADDRESS/PREFIX, with its own address: it and its neighbours may have public
 * ones, which the container's firewall can't know. A prefix that would cut off much of the internet is the
 * configuration of a tunnel and says nothing of neighbours: then it is the address alone. (IPv4 is given out by /8 at
 * most, IPv6 by /16.)
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

/** An earlier run of the same two commits whose agent ended well, and whose result was kept from being published. */
async function unpublished(earlier: RecordedRun[], metadata: RunSubject): Promise<FinishedRun | undefined> {
  const kept: unknown[] = [undefined, EXIT.error, EXIT.interrupted, EXIT.terminated]
  for (const { agent, ...run } of earlier.filter(isByAgent)) {
    if (!agent || agent.exitCode !== EXIT.done || !samePair(run, metadata)) continue
    if (kept.includes(run.outcome?.exitCode) && (await exists(workspaceOf(run)))) return { ...run, agent }
  }
  return undefined
}

/**
 * How the newest earlier run ended that asked an agent the same question. One that was refused counts only for the same
 * two commits: on others its answer may be a good one.
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
 * The branch of what a person threw away: a merge of the same two commits that an earlier run published, or, where no
 * pull request tells, all that was pushed for this upstream commit.
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

/** What an agent would be paid for: the conflicts where there are any, else the pair of commits; FORK.md; the model. */
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

/** What a run is about, with its conflicts. */
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

/** The same for a run in which an agent merges; its container has no name yet. */
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

/** An earlier run whose result was never published. Where one ended without a result, it is not paid for again. */
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
