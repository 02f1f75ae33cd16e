/** The run directories: what a run is told, how it ended, and what earlier runs already paid for. */
import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { Failure } from './outcome.ts'
import { visible } from './terminal.ts'

const MetadataSchema = v.object({
  version: v.string(),
  origin: v.string(),
  upstream: v.string(),
  branch: v.string(),
  upstreamBranch: v.string(),
  originCommit: v.string(),
  startCommit: v.string(),
  upstreamCommit: v.string(),
  conflicts: v.array(v.object({ path: v.string(), base: v.string(), ours: v.string(), theirs: v.string() })),
  forkMd: v.nullable(v.string()),
  image: v.string(),
  container: v.string(),
  model: v.string(),
  variant: v.string(),
  agent: v.string(),
  timeLimitSeconds: v.number(),
  startedAt: v.string(),
})
const AgentSchema = v.object({
  exitCode: v.number(),
  seconds: v.number(),
  requests: v.optional(v.number()),
  tokens: v.optional(v.number()),
})
const OutcomeSchema = v.object({
  exitCode: v.number(),
  outcome: v.string(),
  startedAt: v.string(),
  endedAt: v.string(),
  agentSeconds: v.optional(v.number()),
  result: v.optional(v.string()),
  commit: v.optional(v.string()),
  branch: v.optional(v.string()),
  pullRequest: v.optional(v.string()),
})
/** metadata.json: complete before the container starts, never touched again. Commits and blobs are full ids. */
export type Metadata = v.InferOutput<typeof MetadataSchema>
/** agent.json: how the container ended (with Forklift's own exit codes), written before anything is judged. */
export type Agent = v.InferOutput<typeof AgentSchema>
/** outcome.json: written once, at the end. `result` is the tip of the agent's branch, `commit` what was published. */
export type Outcome = v.InferOutput<typeof OutcomeSchema>
/** One run directory. A run that was killed outright has no outcome. */
export type Run = { path: string; metadata: Metadata; agent?: Agent; outcome?: Outcome }

export const workspaceOf = (run: { path: string }): string => join(run.path, 'workspace')
export const harnessStateOf = (run: { path: string }): string => join(run.path, 'harness-state')

/** Makes `<project>_<YYYYMMDD_HHMMSS>` for the local time; a second that is taken belongs to another run: the next one. */
export async function claimRunDirectory(runs: string, project: string): Promise<string> {
  try {
    await mkdir(runs, { recursive: true, mode: 0o700 })
    for (;;) {
      const path = join(runs, `${project}_${stamp(new Date())}`)
      const claimed = await mkdir(path, { mode: 0o700 }).then(
        () => true,
        error => {
          if (error.code === 'EEXIST') return false
          throw error
        },
      )
      if (claimed) return path
      await sleep(1000 - (Date.now() % 1000))
    }
  } catch (error) {
    throw new Failure(
      `${visible(runs)} can't be written (${(error as NodeJS.ErrnoException).code}): check its disk and owner.`,
    )
  }
}

/** YYYYMMDD_HHMMSS in local time. */
export function stamp(date: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`
  return `${day}_${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`
}

export const writeMetadata = (path: string, metadata: Metadata): Promise<void> =>
  writeOnce(path, 'metadata.json', metadata)
export const writeAgent = (path: string, agent: Agent): Promise<void> => writeOnce(path, 'agent.json', agent)
export const writeOutcome = (path: string, outcome: Outcome): Promise<void> => writeOnce(path, 'outcome.json', outcome)

const writeOnce = (path: string, name: string, value: object): Promise<void> =>
  writeFile(join(path, name), `${JSON.stringify(value, null, 2)}\n`, { flag: 'wx', mode: 0o444 })

/** The runs of one project's fork, newest first. A directory whose files are not ours to read is passed over. */
export async function earlierRuns(runs: string, project: string, origin: string): Promise<Run[]> {
  const names = await readdir(runs).catch(() => [])
  const ours = names
    .filter(name => name.startsWith(`${project}_`) && /_\d{8}_\d{6}$/.test(name))
    .sort()
    .reverse()
  const found: Run[] = []
  for (const name of ours) {
    const path = join(runs, name)
    const metadata = await readJson(MetadataSchema, join(path, 'metadata.json'))
    if (metadata?.origin !== origin) continue
    const outcome = await readJson(OutcomeSchema, join(path, 'outcome.json'))
    const agent = await readJson(AgentSchema, join(path, 'agent.json'))
    found.push({ path, metadata, ...(agent && { agent }), ...(outcome && { outcome }) })
  }
  return found
}

async function readJson<S extends v.GenericSchema>(schema: S, file: string): Promise<v.InferOutput<S> | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  try {
    return v.parse(schema, JSON.parse(text))
  } catch {
    return undefined
  }
}

/** What an agent would be paid for: the conflicts where there are any, else the pair of commits, FORK.md and the model. */
export function question(run: Metadata): string {
  const matter = run.conflicts.length > 0 ? run.conflicts : [run.startCommit, run.upstreamCommit]
  return sha256(JSON.stringify([matter, run.branch, run.forkMd, run.model, run.variant]))
}

export const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')

/** A file out of a folder that strangers could write: what it is, and at most `limit` bytes of a regular file or link. */
export async function readUntrusted(
  path: string,
  limit: number,
): Promise<{ stats: Stats; bytes?: Buffer } | undefined> {
  const stats = await lstat(path).catch(() => undefined)
  if (!stats) return undefined
  if (stats.isSymbolicLink()) return { stats, bytes: Buffer.from(await readlink(path)) }
  if (!stats.isFile()) return { stats }
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(stats.size, limit)), 0)
    return { stats, bytes: buffer.subarray(0, bytesRead) }
  } finally {
    await file.close()
  }
}

/** The end of a log of our own, as far back as it is worth reading. */
export async function readText(path: string): Promise<string> {
  const file = Bun.file(path)
  return (await file.exists()) ? await file.slice(Math.max(0, file.size - (4 << 20))).text() : ''
}
