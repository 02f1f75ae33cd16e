/**
 * The run directories of Forklift, as they lie on the disk: two programs meet there. An agent has worked in them, so
 * all of it is read as a stranger's.
 */
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import * as v from 'valibot'
import { many, visible } from '../../../core/text.ts'
import { readUntrusted } from '../../../core/untrusted.ts'
import type { ForkliftRun } from '../contract/forklift.ts'

const Words = v.string()
/** metadata.json: what a run is about, complete before anything is done. By hand, no agent is told. */
const Metadata = v.object({
  origin: Words,
  upstream: Words,
  branch: Words,
  upstreamBranch: Words,
  startCommit: Words,
  upstreamCommit: Words,
  conflicts: v.array(v.object({ path: Words })),
  startedAt: v.pipe(Words, v.isoTimestamp()),
  model: v.optional(Words),
  timeLimitSeconds: v.optional(v.number()),
  byHand: v.optional(Words),
})
/** outcome.json, and published.json of a later run that published this one's result. */
const Outcome = v.object({ exitCode: v.number(), outcome: Words, pullRequest: v.optional(Words) })
/** agent.json: how the container ended, written before anything is judged. */
const Agent = v.object({ exitCode: v.number() })

export type Run = {
  /** Its folder's name. */
  name: string
  path: string
  metadata: v.InferOutput<typeof Metadata>
  outcome: v.InferOutput<typeof Outcome> | undefined
  agent: v.InferOutput<typeof Agent> | undefined
}

/** A file of a run is never larger. */
const LARGEST = 4 << 20
/** So many directories are looked into, the newest first. */
const MOST = 100
/** How long after its time a run that has no end yet may still be at work: judging, pushing. In seconds. */
const PATIENCE = 15 * 60
/** Of a run by hand, which has no limit of its own. */
const USUAL = 10 * 60

/** The name that Forklift gives the runs of a checkout in this folder. */
const projectOf = (top: string): string =>
  basename(top)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[-.]+/, '') || 'fork'

/** The runs of one fork, the newest first. What is not Forklift's is passed over. */
export async function readRuns(folder: string, top: string, origin: string): Promise<Run[]> {
  const project = projectOf(top)
  const names = await readdir(folder).catch(() => [])
  const ours = names.filter(name => /_\d{8}_\d{6}$/.test(name) && name.slice(0, -16) === project)
  const newest = ours.sort().reverse().slice(0, MOST)
  const runs = await Promise.all(newest.map(name => readRun(folder, name)))
  return runs.filter(run => run !== undefined).filter(run => isSameUrl(run.metadata.origin, origin))
}

async function readRun(folder: string, name: string): Promise<Run | undefined> {
  const path = join(folder, name)
  const metadata = await readJson(join(path, 'metadata.json'), Metadata)
  if (!metadata) return undefined
  const [published, outcome, agent] = await Promise.all([
    readJson(join(path, 'published.json'), Outcome),
    readJson(join(path, 'outcome.json'), Outcome),
    readJson(join(path, 'agent.json'), Agent),
  ])
  return { name, path, metadata, outcome: published ?? outcome, agent }
}

async function readJson<Schema extends v.GenericSchema>(
  path: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | undefined> {
  const file = await readUntrusted(path, LARGEST).catch(() => undefined)
  if (file?.kind !== 'file') return undefined
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), file.bytes.toString())
  return parsed.success ? parsed.output : undefined
}

/** Whether two addresses are those of one repository, however they are written. */
function isSameUrl(one: string, other: string): boolean {
  const plain = (url: string) =>
    url
      .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
      .replace(/^[^@/]*@/, '')
      .replace(/^([^/:]+):/, '$1/')
      .replace(/(\.git)?\/*$/, '')
      .toLowerCase()
  return plain(one) === plain(other)
}

/** Forklift's exit codes, as a run ends. */
const ENDS: Record<number, ForkliftRun['end']> = { 0: 'merged', 2: 'timed out', 3: 'refused', 4: 'stuck' }

export function endOfRun({ metadata, outcome, agent }: Run, now = Date.now()): ForkliftRun['end'] {
  const code = outcome?.exitCode ?? (agent?.exitCode === 0 ? undefined : agent?.exitCode)
  if (code !== undefined) return ENDS[code] ?? 'failed'
  const since = (now - Date.parse(metadata.startedAt)) / 1_000
  return since < (metadata.timeLimitSeconds ?? USUAL) + PATIENCE ? 'running' : 'failed'
}

/** What is known of a run beside what lies in its folder. */
export type KnownOfRun = {
  /** How many of upstream's commits it was about. */
  commits: number | undefined
  /** This desk has started it, and it has not ended. */
  isOwn: boolean
}

/** How a run ended, in a line. */
export function wordsOfRun(run: Run, { commits, isOwn }: KnownOfRun): string {
  const { conflicts, byHand } = run.metadata
  const some = conflicts.length === 0 ? 'no conflict of git’s' : `${many(conflicts.length, 'file')} in conflict`
  const said = visible(run.outcome?.outcome ?? '').slice(0, 300)
  switch (endOfRun(run)) {
    case 'merged':
      return `Merged ${commits === undefined ? 'upstream' : many(commits, 'commit')}${byHand === undefined ? '' : ' by hand'}`
    case 'nothing':
      return 'Nothing to do'
    case 'stuck':
      return `Stuck, ${some}`
    case 'timed out':
      return `Out of time, ${some}`
    case 'refused':
      return said || 'Refused'
    case 'running':
      return isOwn ? 'Running' : wordsOfUnknown(run)
    case 'failed':
      return said || 'Cut off: it has no end'
  }
}

/** Of a run that was started elsewhere nothing is known but what it has written. */
function wordsOfUnknown({ agent, metadata: { startedAt, timeLimitSeconds } }: Run): string {
  const not = 'not started here'
  if (agent) return `Its agent has ended: being judged or published, or cut off (${not})`
  if (timeLimitSeconds === undefined) return `At work, or cut off: it has no end yet (${not})`
  const until = new Date(Date.parse(startedAt) + timeLimitSeconds * 1_000)
  const clock = `${until.getHours()}:${String(until.getMinutes()).padStart(2, '0')}`
  const isOver = until.getTime() < Date.now()
  return `At work, or cut off: its agent ${isOver ? 'had' : 'has'} until ${clock} (${not})`
}

/** The address of a pull request, where it is one at the fork's own host. */
export function pullRequestOf({ outcome, metadata: { origin } }: Run): string | undefined {
  const address = outcome?.pullRequest
  if (address === undefined || !URL.canParse(address)) return undefined
  const { protocol, hostname, href } = new URL(address)
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  return hostname === hostOf(origin) ? href : undefined
}

/** The host of a remote, https://HOST/… or git@HOST:…; those that only serve ssh for it count as it. */
function hostOf(url: string): string | undefined {
  const [, host] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^@/]*@)?([^/:]+)[:/]/i.exec(url) ?? []
  return host?.toLowerCase().replace(/^(ssh|www)\.github\.com$/, 'github.com')
}

/** What somebody who opens a run should read first: STUCK.md, or why the result was not taken. */
export async function letterOf(run: Run): Promise<string | undefined> {
  // The copy beside the workspace is Forklift's own.
  for (const path of [join(run.path, 'STUCK.md'), join(run.path, 'workspace/STUCK.md')]) {
    const file = await readUntrusted(path, LONGEST_LETTER).catch(() => undefined)
    if (file?.kind === 'file' && file.bytes.length > 0) return file.bytes.toString()
  }
  return run.outcome?.outcome
}

const LONGEST_LETTER = 65_536
