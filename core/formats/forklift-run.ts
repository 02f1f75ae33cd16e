/**
 * The run directories of Forklift, one for each run, in the folder `forklift/runs` of the user's state folder. Forklift
 * writes and reads them; the desk reads them to show the runs and to open one that got stuck.
 *
 *   <project>_<YYYYMMDD_HHMMSS>/
 *     metadata.json    the facts of the run; complete before anything is done, never changed
 *     agent.json       how the container ended; written before the result is judged
 *     outcome.json     how the run ended; written once
 *     published.json   the end of a later run that published this run's result, in the format of outcome.json
 *     STUCK.md         the agent's questions, with control characters made visible
 *     workspace/       the repository that the agent worked in: untrusted
 *     harness-state/   input and logs of the harness: the agent can write there
 */
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import * as v from 'valibot'
import { xdgFolder } from '../folders.ts'
import { sameRepository } from '../git/remote-url.ts'
import { readUntrusted } from '../untrusted.ts'

const text = v.string()
const Conflict = v.object({ path: text, base: text, ours: text, theirs: text })
/** The facts that every run records. Commits and blobs are full ids. */
const RunSubject = {
  version: text,
  origin: text,
  upstream: text,
  branch: text,
  upstreamBranch: text,
  originCommit: text,
  startCommit: text,
  upstreamCommit: text,
  conflicts: v.array(Conflict),
  startedAt: v.pipe(text, v.isoTimestamp()),
}
/** A run in which an agent merges. */
const AgentRunTask = v.object({
  ...RunSubject,
  forkMd: v.nullable(text),
  image: text,
  container: text,
  model: text,
  variant: text,
  agent: text,
  timeLimitSeconds: v.number(),
})
/** A run that publishes a person's own merge, which is on the branch `byHand`. `anyway`: refusals are lifted. */
const HandRunTask = v.object({ ...RunSubject, byHand: text, anyway: v.boolean() })
const RunMetadata = v.union([AgentRunTask, HandRunTask])
/** How the container ended; `exitCode` is one of Forklift's own. */
const AgentEnd = v.object({
  exitCode: v.number(),
  seconds: v.number(),
  requests: v.optional(v.number()),
  tokens: v.optional(v.number()),
})
/** How the run ended. `result` is the tip of the agent's branch, `commit` the published commit. */
const RunOutcome = v.object({
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
const SCHEMAS = { metadata: RunMetadata, agent: AgentEnd, outcome: RunOutcome, published: RunOutcome }

/** The JSON files of a run, by their names without `.json`. */
export type RunFile = keyof typeof SCHEMAS
export type RunSubject = { [Fact in keyof typeof RunSubject]: v.InferOutput<(typeof RunSubject)[Fact]> }
export type AgentRunTask = v.InferOutput<typeof AgentRunTask>
export type RunMetadata = v.InferOutput<typeof RunMetadata>
export type AgentEnd = v.InferOutput<typeof AgentEnd>
export type RunOutcome = v.InferOutput<typeof RunOutcome>
/** A run directory as read. A run whose process was killed has no outcome, and maybe no agent end. */
export type RecordedRun = {
  path: string
  metadata: RunMetadata
  agent?: AgentEnd | undefined
  outcome?: RunOutcome | undefined
}
/** A run in which an agent merges. */
export type AgentRun = RecordedRun & { metadata: AgentRunTask }

/** The file with the agent's open questions, in a run directory and in the top folder of its workspace. */
export const STUCK_FILE = 'STUCK.md'
/** At most this many UTF-16 code units of the agent's STUCK.md are kept in the run directory. */
export const MAX_STUCK_CHARS = 65_536
/** Larger JSON files are not read. Only the metadata can be long: it lists each file in conflict. */
const MAX_JSON_BYTES = 32 << 20

export const isByAgent = (run: RecordedRun): run is AgentRun => 'model' in run.metadata

export const workspaceOf = (run: { path: string }): string => join(run.path, 'workspace')
export const harnessStateOf = (run: { path: string }): string => join(run.path, 'harness-state')
export const runFileOf = (run: { path: string }, file: RunFile): string => join(run.path, `${file}.json`)

/** The folder in which Forklift keeps its runs and its scratch repositories. */
export const stateFolder = (env: Record<string, string | undefined>): string =>
  join(xdgFolder(env.XDG_STATE_HOME, '.local/state'), 'forklift')
/** The folder of the run directories, in Forklift's state folder. */
export const runsFolderIn = (state: string): string => join(state, 'runs')

/** The name of a checkout's folder, with only characters that are safe in file names. */
export const projectOf = (top: string): string =>
  basename(top)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[-.]+/, '') || 'fork'

/** A date as YYYYMMDD_HHMMSS in local time. */
export function stamp(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString()
  return local.slice(0, 19).replace(/[-:]/g, '').replace('T', '_')
}

/** The time stamp at the end of the name or path of a run directory. */
export const stampOf = (run: string): string => run.slice(-15)
/** The name of the run directory for a run that begins now. */
export const runName = (project: string): string => `${project}_${stamp(new Date())}`

/** Lists the paths of all run directories, or of those of one project, newest first. */
export async function listRunDirectories(folder: string, project?: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const runs = names.filter(name => /_\d{8}_\d{6}$/.test(name))
  return runs
    .filter(name => project === undefined || name.slice(0, -16) === project)
    .sort((one, other) => stampOf(other).localeCompare(stampOf(one)))
    .map(name => join(folder, name))
}

/** Reads those of the run directories at `paths` that belong to one fork. Other folders are skipped. */
export async function readRunsOf(paths: readonly string[], origin: string): Promise<RecordedRun[]> {
  const runs = await Promise.all(paths.map(readRun))
  return runs.filter(run => run !== undefined).filter(run => sameRepository(run.metadata.origin, origin))
}

/** Reads a run directory; undefined where its metadata is missing or malformed. */
export async function readRun(path: string): Promise<RecordedRun | undefined> {
  const metadata = await readRunFile({ path }, 'metadata')
  if (!metadata) return undefined
  const outcome = (await readRunFile({ path }, 'published')) ?? (await readRunFile({ path }, 'outcome'))
  return { path, metadata, agent: await readRunFile({ path }, 'agent'), outcome }
}

async function readRunFile<File extends RunFile>(
  run: { path: string },
  file: File,
): Promise<v.InferOutput<(typeof SCHEMAS)[File]> | undefined> {
  const found = await readUntrusted(runFileOf(run, file), MAX_JSON_BYTES).catch(() => undefined)
  if (found?.kind !== 'file') return undefined
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SCHEMAS[file]), found.bytes.toString())
  return parsed.success ? (parsed.output as v.InferOutput<(typeof SCHEMAS)[File]>) : undefined
}
