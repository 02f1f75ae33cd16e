/** Acts on the review of a result: throws a sentence where it can't be published, and publishes it where it can. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EXIT, Failure } from '../core/failure.ts'
import { STUCK_FILE, workspaceOf } from '../core/formats/forklift-run.ts'
import type { Oid } from '../core/git/repository.ts'
import { run as runGit } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { type Commits, type MergeReview, review } from '../core/review.ts'
import { clockFace } from '../core/text.ts'
import { allOf } from '../core/together.ts'
import { twice } from '../core/untrusted.ts'
import { hasFilledTheDisk, removeWhatTheAgentWrote } from './disk-space.ts'
import type { Fork } from './fork.ts'
import { lastWords } from './logs.ts'
import { lastLineOf, type RunSteps } from './outcome.ts'
import { mergeCommit, type Publishable, publish, storyOf } from './publication.ts'
import { commitMessage, ledgerText, type Story, wordsIn } from './pull-request.ts'
import * as runs from './runs.ts'
import { harmlessCopy, newStuckFile, preview } from './stuck-md.ts'
import type { Report } from './terminal.ts'

/**
 * Throws unless the agent's run ended well. If several reasons apply, running out of time comes before being stuck, and
 * being stuck before a failure.
 */
export async function verifyTheAgentEndedWell(scratch: Scratch, run: runs.FinishedRun, report: Report): Promise<void> {
  const { exitCode } = run.agent
  const { startCommit, upstreamCommit, timeLimitSeconds } = run.metadata
  const stuck = await newStuckFile(scratch, workspaceOf(run), [startCommit, upstreamCommit])
  const place = stuck === undefined ? run.path : join(run.path, STUCK_FILE)
  if (stuck !== undefined) await show(stuck, place, report)
  const left = (await hasFilledTheDisk(run)) && (await removeWhatTheAgentWrote(run))
  if (left) report.note(`Removing the agent's files took too long: rm -rf ${left}`)
  if (stuck !== undefined || exitCode === EXIT.timedOut) await runs.sayWhereItIsTooLarge(run, report)
  if (exitCode === EXIT.timedOut)
    throw new Failure(`Time ran out (${clockFace(timeLimitSeconds)}): see ${place}.`, exitCode)
  if (stuck !== undefined)
    throw new Failure(`The agent is stuck: answer ${place} in FORK.md and run forklift again.`, EXIT.stuck)
  if (exitCode === 0) return
  throw new Failure(`The agent or its harness failed (${await lastWords(run)}): see ${place}.`, EXIT.agentFailed)
}

/** A result to judge and publish. `verify` throws a {@link Failure} where it is not acceptable. */
type Candidate = {
  commits: Commits
  /** The newest commit of the agent or person; the pull request quotes its message and those of the commits before. */
  tip: Oid
  /** Facts about the agent or person for the text of the pull request. */
  maker: Partial<Story>
  /** The command that publishes the result again after a failure. */
  again: string
  verify: (judged: MergeReview) => Promise<void> | void
}

/** Judges a result, makes one commit of it, and publishes that. */
export async function* judgeAndPublish(
  fork: Fork,
  scratch: Scratch,
  decided: Publishable,
  { commits, tip, maker, again, verify }: Candidate,
  report: Report,
): RunSteps {
  const [found, words] = await twice(scratch, 'the result is not what can be judged', async () => [
    await review(scratch, commits),
    await wordsOf(scratch, tip, commits),
  ])
  const judged = maker.byHand === undefined ? found : asAPersonMeant(found)
  await verify(judged)
  // A refused result is not pushed to a pull request that people consider ready: it gets one of its own.
  const plan = judged.refusals.length > 0 ? apart(decided) : decided
  const story = { ...storyOf(fork, plan), ...maker, words }
  const isThere = plan.kind === 'propose'
  const commit = isThere
    ? plan.head.tip
    : await mergeCommit(scratch, commits, fork.identity, commitMessage(judged, story))
  yield { commit }
  return yield* publish(fork, plan, { from: scratch, commit, judged, story, again }, report)
}

/** The review of a person's merge: intended decisions are shown, but do not count as refusals. */
function asAPersonMeant(judged: MergeReview): MergeReview {
  const { refusals, partial, meantByHand } = judged
  const left = refusals.filter(refusal => !meantByHand.includes(refusal))
  return { ...judged, refusals: left, partial: [...meantByHand, ...partial] }
}

/** Changes a plan so that it makes a new branch instead of continuing one. */
function apart(plan: Publishable): Publishable {
  if (plan.kind !== 'merge' || !plan.head) return plan
  const { head, ...rest } = plan
  return { ...rest, leftBehind: [...plan.leftBehind, head] }
}

/** Publishes a commit that needs no new merge: upstream's own, or one of Forklift's that is already on origin. */
export async function publishAsItIs(
  fork: Fork,
  scratch: Scratch,
  plan: Publishable,
  commit: Oid,
  report: Report,
): Promise<string> {
  const [origin, upstream] = [fork.origin.tip, fork.upstream.tip]
  const fastForward = commit === upstream
  const [judged, made] = await allOf<[MergeReview, Partial<Story>]>([
    review(scratch, { origin, start: origin, upstream, result: commit }),
    fastForward ? Promise.resolve({}) : madeBefore(fork, scratch, commit),
  ])
  const story = { ...storyOf(fork, plan), ...made, fastForward }
  return await lastLineOf(publish(fork, plan, { from: scratch, commit, judged, story, again: 'forklift' }, report))
}

/**
 * How an existing commit of Forklift's was made, from its message and the record of its run, which may be on another
 * machine.
 */
async function madeBefore(fork: Fork, scratch: Scratch, commit: Oid): Promise<Partial<Story>> {
  const earlier = await runs.earlierRuns(fork)
  const run = earlier.find(({ outcome }) => outcome?.commit === commit)
  const { stdout } = await runGit(scratch, ['show', '--no-patch', '--format=%B', commit], { limit: 65_536 })
  const { words, isByHand } = wordsIn(stdout.toString())
  if (run && 'byHand' in run.metadata) return { words, byHand: run.metadata.byHand }
  if (isByHand) return { words, byHand: '' }
  if (!run?.agent || !('model' in run.metadata)) return { words }
  const { model, variant, agent } = run.metadata
  const { seconds, requests, tokens } = run.agent
  return { words, model, variant, agent, seconds, requests, tokens }
}

/** Throws where the agent committed a STUCK.md that neither side has; shows it and keeps a copy. */
export async function verifyItIsNotStuck(
  scratch: Scratch,
  { path }: { path: string },
  { stuck }: MergeReview,
  report: Report,
): Promise<void> {
  if (!stuck) return
  const committed = await runGit(scratch, ['cat-file', 'blob', stuck], { limit: 1 << 20 })
  await show(harmlessCopy(committed.stdout), join(path, STUCK_FILE), report)
  throw new Failure(`The agent is stuck: answer ${path}/STUCK.md in FORK.md and run forklift again.`, EXIT.stuck)
}

/** Shows the beginning of a STUCK.md, and keeps a harmless copy in the run directory. */
async function show(stuck: string, place: string, report: Report): Promise<void> {
  // The copy of STUCK.md exists already if the result of an earlier run is judged again.
  await writeFile(place, stuck, { flag: 'wx' }).catch(() => undefined)
  report.step(preview(stuck))
}

/** Throws where the result is refused, after printing the findings. `remedy` is the end of the sentence. */
export function verifyItIsAccepted(judged: MergeReview, remedy: string, report: Report): void {
  if (judged.refusals.length === 0) return
  report.step(ledgerText(judged))
  throw new Failure(`Refused: ${judged.refusals.join(' ')} Nothing was pushed: ${remedy}.`, EXIT.refused)
}

/** The messages of the result's commits: at most 20 of them, and 20,000 bytes. */
async function wordsOf(scratch: Scratch, tip: Oid, { start, upstream }: Commits): Promise<string> {
  const log = ['log', '--format=%B', '-n', '20', tip, '--not', start, upstream]
  return (await runGit(scratch, log, { limit: 20_000 })).stdout.toString()
}
