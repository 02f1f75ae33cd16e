/**
 * What the desk shows of a run of Forklift, from its directory. An agent has worked there, so its content is untrusted.
 */
import { join } from 'node:path'
import { EXIT } from '../../../core/failure.ts'
import {
  isByAgent,
  listRunDirectories,
  MAX_STUCK_CHARS,
  type RecordedRun,
  readRunsOf,
  STUCK_FILE,
  workspaceOf,
} from '../../../core/formats/forklift-run.ts'
import { parseRemote } from '../../../core/git/remote-url.ts'
import { many, visible } from '../../../core/text.ts'
import { readUntrusted } from '../../../core/untrusted.ts'
import type { ForkliftRun } from '../contract/forklift.ts'

/** At most this many directories are read, the newest. */
const MAX_RUNS_READ = 100
/** Time after the agent's limit, in seconds, in which a run without an outcome may still be judging or pushing. */
const PUBLISHING_SECONDS = 15 * 60
/** Time that a run by hand may take, in seconds; it has no limit of its own. */
const BY_HAND_SECONDS = 10 * 60

/** The runs of one fork, newest first. */
export const readRuns = async (folder: string, project: string, origin: string): Promise<RecordedRun[]> =>
  await readRunsOf((await listRunDirectories(folder, project)).slice(0, MAX_RUNS_READ), origin)

const timeLimitOf = (run: RecordedRun): number | undefined =>
  isByAgent(run) ? run.metadata.timeLimitSeconds : undefined

/** The outcome for each exit code of Forklift. */
const ENDS: Record<number, ForkliftRun['end']> = {
  [EXIT.done]: 'merged',
  [EXIT.timedOut]: 'timed out',
  [EXIT.refused]: 'refused',
  [EXIT.stuck]: 'stuck',
}

export function endOfRun(run: RecordedRun, now = Date.now()): ForkliftRun['end'] {
  const { metadata, outcome, agent } = run
  const code = outcome?.exitCode ?? (agent?.exitCode === EXIT.done ? undefined : agent?.exitCode)
  if (code !== undefined) return ENDS[code] ?? 'failed'
  const since = (now - Date.parse(metadata.startedAt)) / 1_000
  return since < (timeLimitOf(run) ?? BY_HAND_SECONDS) + PUBLISHING_SECONDS ? 'running' : 'failed'
}

/** Facts about a run besides its directory. */
type KnownOfRun = {
  /** The number of upstream's commits that the run merged; undefined if unknown. */
  commits: number | undefined
  /** Whether this desk has started the run, which is still under way. */
  isOwn: boolean
}

/** The outcome of a run in one line. */
export function wordsOfRun(run: RecordedRun, { commits, isOwn }: KnownOfRun): string {
  const { conflicts } = run.metadata
  const some = conflicts.length === 0 ? 'no conflict of git’s' : `${many(conflicts.length, 'file')} in conflict`
  const said = visible(run.outcome?.outcome ?? '').slice(0, 300)
  switch (endOfRun(run)) {
    case 'merged':
      // The pull request contained upstream already.
      if (commits === 0) return 'Updated the merge'
      return `Merged ${commits === undefined ? 'upstream' : many(commits, 'commit')}${'byHand' in run.metadata ? ' by hand' : ''}`
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

/** The state, in a line, of a run that this desk did not start and that has no recorded end. */
function wordsOfUnknown(run: RecordedRun): string {
  const not = 'not started here'
  const timeLimitSeconds = timeLimitOf(run)
  if (run.agent) return `Its agent has ended: being judged or published, or cut off (${not})`
  if (timeLimitSeconds === undefined) return `At work, or cut off: it has no end yet (${not})`
  const until = new Date(Date.parse(run.metadata.startedAt) + timeLimitSeconds * 1_000)
  const clock = `${until.getHours()}:${String(until.getMinutes()).padStart(2, '0')}`
  const isOver = until.getTime() < Date.now()
  return `At work, or cut off: its agent ${isOver ? 'had' : 'has'} until ${clock} (${not})`
}

/** The address of a pull request, if it is at the fork's own host. */
export function pullRequestOf({ outcome, metadata: { origin } }: RecordedRun): string | undefined {
  const address = outcome?.pullRequest
  if (address === undefined || !URL.canParse(address)) return undefined
  const { protocol, hostname, href } = new URL(address)
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  // A host that only serves ssh for another one (ssh.github.com) counts as that other one.
  const host = parseRemote(origin)?.host.replace(/^(ssh|www)\.github\.com$/, 'github.com')
  return hostname === host ? href : undefined
}

/** The text shown first when a run is opened: STUCK.md, or why the result was rejected. */
export async function letterOf(run: RecordedRun): Promise<string | undefined> {
  // The copy in the run's folder comes first, since Forklift made it; the workspace belongs to the agent.
  for (const folder of [run.path, workspaceOf(run)]) {
    const file = await readUntrusted(join(folder, STUCK_FILE), MAX_STUCK_CHARS).catch(() => undefined)
    if (file?.kind === 'file' && file.bytes.length > 0) return file.bytes.toString()
  }
  return run.outcome?.outcome
}
