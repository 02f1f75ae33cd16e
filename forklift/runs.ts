/** The run directories: what a run was told, how it ended, and so what was paid for already. */
import { access, constants, copyFile, link, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { EXIT, Failure } from '../core/failure.ts'
import { mergeTrees } from '../core/git/merges.ts'
import type { Oid } from '../core/git/repository.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { visible, visiblePath } from '../core/text.ts'
import { version } from '../package.json'
import type { Fork } from './fork.ts'
import { sameRepository } from './github.ts'
import type { AgentSetup } from './settings.ts'

const text = v.string()
const Conflict = v.object({ path: text, base: text, ours: text, theirs: text })
/** What every run is about. Commits and blobs are full ids. */
const Task = {
  version: text,
  origin: text,
  upstream: text,
  branch: text,
  upstreamBranch: text,
  originCommit: text,
  startCommit: text,
  upstreamCommit: text,
  conflicts: v.array(Conflict),
  startedAt: text,
}
/** metadata.json of a run in which an agent merges: complete before the container starts, never touched again. */
const AgentTask = v.object({
  ...Task,
  forkMd: v.nullable(text),
  image: text,
  container: text,
  model: text,
  variant: text,
  agent: text,
  timeLimitSeconds: v.number(),
})
/** metadata.json of a run that publishes what a person merged: on which branch, and whether they lifted refusals. */
const HandTask = v.object({ ...Task, byHand: text, anyway: v.boolean() })
const Metadata = v.union([AgentTask, HandTask])
/** agent.json: how the container ended, in Forklift's own exit codes. Written before anything is judged. */
const Agent = v.object({
  exitCode: v.number(),
  seconds: v.number(),
  requests: v.optional(v.number()),
  tokens: v.optional(v.number()),
})
/** outcome.json: written once, at the end. `result` is the tip of the agent's branch, `commit` what was published. */
const Outcome = v.object({
  exitCode: v.number(),
  outcome: text,
  startedAt: text,
  endedAt: text,
  agentSeconds: v.optional(v.number()),
  result: v.optional(text),
  commit: v.optional(text),
  branch: v.optional(text),
  pullRequest: v.optional(text),
})
/** published.json has the same form: a later run published this one's result. */
const files = { metadata: Metadata, agent: Agent, outcome: Outcome, published: Outcome }

export type Task = { [Fact in keyof typeof Task]: v.InferOutput<(typeof Task)[Fact]> }
export type AgentTask = v.InferOutput<typeof AgentTask>
export type HandTask = v.InferOutput<typeof HandTask>
export type Metadata = v.InferOutput<typeof Metadata>
export type Agent = v.InferOutput<typeof Agent>
export type Outcome = v.InferOutput<typeof Outcome>
/** One run directory. A run whose host was killed has no outcome, and maybe no agent. */
export type Run = { path: string; metadata: Metadata; agent?: Agent | undefined; outcome?: Outcome | undefined }
/** A run in which an agent merges; and one whose agent has ended. */
export type AgentRun = Run & { metadata: AgentTask }
export type Finished = AgentRun & { agent: Agent }
/** What a run found on its way, and how far it came. */
export type Found = Partial<Omit<Outcome, 'exitCode' | 'outcome' | 'startedAt' | 'endedAt'>>

export const isByAgent = (run: Run): run is AgentRun => 'model' in run.metadata

export const workspaceOf = (run: { path: string }): string => join(run.path, 'workspace')
export const harnessStateOf = (run: { path: string }): string => join(run.path, 'harness-state')
export const sha256 = (data: string | Uint8Array): string => new Bun.CryptoHasher('sha256').update(data).digest('hex')

/** YYYYMMDD_HHMMSS in local time. */
export function stamp(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString()
  return local.slice(0, 19).replace(/[-:]/g, '').replace('T', '_')
}

/** What git can't settle between two commits: each path with the blobs of both sides and of their base. */
export async function conflictsBetween(scratch: Scratch, ours: Oid, theirs: Oid): Promise<Metadata['conflicts']> {
  const stages = Map.groupBy((await mergeTrees(scratch, ours, theirs)).stages, ({ path }) => path)
  return [...stages].map(([path, entries]) => {
    const blob = (stage: number) => entries.find(entry => entry.stage === stage)?.oid ?? ''
    return { path: visiblePath(path), base: blob(1), ours: blob(2), theirs: blob(3) }
  })
}

/**
 * Makes the folder `<project>_<YYYYMMDD_HHMMSS>`. Where another run has the name already, it waits for the next second.
 */
export async function claimRunDirectory(runs: string, project: string): Promise<string> {
  try {
    await mkdir(runs, { recursive: true, mode: 0o700 })
    for (;;) {
      const path = join(runs, `${project}_${stamp(new Date())}`)
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

/** Writes one of a run's files, whole or not at all. None is ever written twice. */
export async function record(path: string, file: keyof typeof files, value: object): Promise<void> {
  const draft = join(path, `.${file}.${process.pid}`)
  try {
    await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o444 })
    const target = join(path, `${file}.json`)
    await link(draft, target).catch(error => {
      if (error.code === 'EEXIST' || error.code === 'ENOSPC') throw error
      // Not every file system has hard links.
      return copyFile(draft, target, constants.COPYFILE_EXCL)
    })
  } finally {
    await rm(draft, { force: true })
  }
}

/** The runs of one fork, newest first. What is not Forklift's is passed over. */
export async function earlierRuns(runs: string, project: string, origin: string): Promise<Run[]> {
  const names = (await readdir(runs).catch(() => [])).filter(name => /_\d{8}_\d{6}$/.test(name))
  const ours = names
    .filter(name => name.slice(0, -16) === project)
    .sort()
    .reverse()
  const found = await Promise.all(ours.map(name => readRun(join(runs, name))))
  return found.filter(run => run !== undefined && sameRepository(run.metadata.origin, origin)) as Run[]
}

/** A run by its directory; undefined for what is none. */
export async function readRun(path: string): Promise<Run | undefined> {
  const read = async <F extends keyof typeof files>(file: F) => {
    const json = await Bun.file(join(path, `${file}.json`))
      .json()
      .catch(() => undefined)
    const parsed = v.safeParse(files[file], json)
    return parsed.success ? (parsed.output as v.InferOutput<(typeof files)[F]>) : undefined
  }
  const metadata = await read('metadata')
  const outcome = (await read('published')) ?? (await read('outcome'))
  return metadata && { path, metadata, agent: await read('agent'), outcome }
}

/** What the harness must know of the run (run.txt): a line `key=value` each, and the networks that the host is in. */
export function factsOf({ branch, upstreamBranch, startCommit, upstreamCommit, timeLimitSeconds }: AgentTask): string {
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

const samePair = (run: Run, { startCommit, upstreamCommit }: Task): boolean =>
  run.metadata.startCommit === startCommit && run.metadata.upstreamCommit === upstreamCommit

/** An earlier run of the same two commits whose agent ended well, and whose result was kept from being published. */
async function unpublished(earlier: Run[], metadata: Task): Promise<Finished | undefined> {
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
function answerBefore(earlier: Run[], metadata: AgentTask): { code: number; path: string } | undefined {
  const answers: unknown[] = [EXIT.done, EXIT.timedOut, EXIT.refused, EXIT.stuck, EXIT.agentFailed]
  const codeOf = (run: Run) => (run.outcome ?? run.agent)?.exitCode ?? -1
  const asked = earlier.filter(isByAgent)
  const run = asked.find(it => question(it.metadata) === question(metadata) && answers.includes(codeOf(it)))
  if (!run || (codeOf(run) === EXIT.refused && !samePair(run, metadata))) return undefined
  return { code: codeOf(run), path: run.path }
}

/**
 * The branch of what a person threw away: a merge of the same two commits that an earlier run published, or, where no
 * pull request tells, all that was pushed for this upstream commit.
 */
export function thrownAway(
  earlier: Run[],
  metadata: Task,
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
export function question({
  conflicts,
  startCommit,
  upstreamCommit,
  branch,
  forkMd,
  model,
  variant,
}: AgentTask): string {
  const matter = conflicts.length > 0 ? conflicts : [startCommit, upstreamCommit]
  return sha256(JSON.stringify([matter, branch, forkMd, model, variant]))
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** What a run is about, with its conflicts. */
export async function describeMerge({ origin, upstream }: Fork, scratch: Scratch, start: Oid): Promise<Task> {
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
): Promise<AgentTask> {
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
export async function whatIsPaidForAlready(earlier: Run[], task: AgentTask): Promise<Finished | undefined> {
  const waiting = await unpublished(earlier, task)
  if (waiting) return waiting
  const { code, path } = answerBefore(earlier, task) ?? {}
  const remedy = 'Change FORK.md or the model, or run forklift --retry.'
  if (code === EXIT.stuck) throw new Failure(`Still stuck: see ${path}/STUCK.md. ${remedy}`, code)
  if (code === EXIT.timedOut) throw new Failure(`Time ran out on this before: see ${path}. ${remedy}`, code)
  if (code !== EXIT.refused) return undefined
  throw new Failure(`This result was refused before: see ${path}. Run forklift --retry to ask again.`, code)
}
