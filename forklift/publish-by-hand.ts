/** `forklift --publish`: a merge of upstream that a person made gets what an agent's gets. */
import { join } from 'node:path'
import { Failure } from '../core/failure.ts'
import { isAncestor } from '../core/git/commits.ts'
import type { Oid } from '../core/git/repository.ts'
import { read, run } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import type { Review } from '../core/review.ts'
import { many, visible } from '../core/text.ts'
import { type Fork, type Head, nameOf } from './fork.ts'
import { nothingToDo, recordTheEnd, type Steps } from './outcome.ts'
import { decideWhereToStart, joinOf } from './plan.ts'
import { verifyItCanBePublished } from './preflight.ts'
import type { Publishable } from './publication.ts'
import * as runs from './runs.ts'
import type { Options } from './settings.ts'
import type { Report } from './terminal.ts'
import { judgeAndPublish, publishAsItIs, verifyItIsAccepted } from './verdict.ts'

/**
 * Judges and publishes the merge on the branch that the options name: from origin's branch, or from the living pull
 * request's. The run is recorded. `base` is what origin and upstream have in common.
 */
export async function publishByHand(
  fetched: Fork,
  scratch: Scratch,
  { publish: branch = '', anyway }: Options,
  base: Oid,
  report: Report,
): Promise<string> {
  const tip = await commitOf(fetched, branch)
  const fork = await asMerged(fetched, branch, tip)
  const newer = await countBetween(fork, fork.upstream.tip, fetched.upstream.tip)
  if (newer > 0) report.note(`upstream has ${many(newer, 'newer commit')} than ${branch}, left for another run.`)
  const decided = await decideWhereToStart(fork, scratch, true, report)
  if (decided.kind === 'nothing') return nothingToDo(decided.because, fork.repository.signal)
  const start = decided.kind === 'merge' ? decided.start : fork.origin.tip
  await verifyItCanBePublished(fork, scratch, base, report)
  const isForward = tip === fork.upstream.tip && (await isAncestor(scratch, start, tip))
  if (isForward) return await publishAsItIs(fork, scratch, decided, tip, report)
  const result = await resultOf(fork, scratch, { branch, tip, start, head: decided.head })
  if (result !== tip) report.note(`what is new in ${startOf(fork, decided.head)} since then was merged in.`)
  const plan = await planFor(scratch, decided, start, result)
  const path = await runs.claimRunDirectory(join(fork.state, 'runs'), fork.project)
  const metadata = { ...(await runs.describeMerge(fork, scratch, start)), byHand: branch, anyway }
  const again = `forklift --publish ${branch}`
  const steps = async function* (): Steps {
    await runs.record(path, 'metadata', metadata)
    yield { result }
    report.step(`Judging ${branch}`)
    const commits = { origin: fork.origin.tip, start, upstream: fork.upstream.tip, result }
    const verify = (judged: Review) => {
      const isFinal = judged.unliftable.length > 0
      if (anyway && !isFinal) return
      verifyItIsAccepted(judged, isFinal ? `mend it, then ${again}` : `mend it, or ${again} --anyway`, report)
    }
    return yield* judgeAndPublish(
      fork,
      scratch,
      plan,
      { commits, tip, maker: { byHand: branch }, again, verify },
      report,
    )
  }
  return await recordTheEnd({ path, metadata }, 'outcome', steps(), fork.repository.signal)
}

/** The commit of a branch, or of whatever else git knows by that name. */
async function commitOf({ repository }: Fork, branch: string): Promise<Oid> {
  for (const name of [`refs/heads/${branch}`, branch]) {
    const found = await run(repository, ['rev-parse', '--verify', '--quiet', `${name}^{commit}`], { ok: 'any' })
    if (found.code === 0) return found.stdout.toString().trim()
  }
  throw new Failure(`There is no branch ${visible(branch)} here: see git branch.`)
}

/**
 * The fork, with upstream as the person merged it: upstream may have gone on since, and what it has brought since is
 * for another run.
 */
async function asMerged(fork: Fork, branch: string, tip: Oid): Promise<Fork> {
  const { repository, origin, upstream } = fork
  const bases = await run(repository, ['merge-base', tip, upstream.tip], { ok: [0, 1] })
  const merged = bases.stdout.toString().trim()
  if (merged && !(await isAncestor(repository, merged, origin.tip)))
    return { ...fork, upstream: { ...upstream, tip: merged } }
  throw new Failure(
    `${visible(branch)} has none of upstream's new commits in it: git merge ${nameOf(upstream)} there, commit, and publish it again.`,
  )
}

/**
 * The remote-tracking branch that the person's merge should hold: the living pull request's, or origin's default one.
 */
const startOf = (fork: Fork, head: Head | undefined): string => (head ? `origin/${head.ref}` : nameOf(fork.origin))

/** How many commits `tip` has and `old` lacks. */
async function countBetween({ repository }: Fork, old: Oid, tip: Oid): Promise<number> {
  return Number(await read(repository, ['rev-list', '--count', `${old}..${tip}`]))
}

/**
 * What is judged in the agent's place: the branch itself where the start is in its history; else git's own merge of
 * both, where that has no conflict. A branch on which the person rebased the fork holds no commit of the fork's and is
 * judged as it is. Any other branch must have the start merged in first: that is thrown.
 */
async function resultOf(
  fork: Fork,
  scratch: Scratch,
  { branch, tip, start, head }: { branch: string; tip: Oid; start: Oid; head: Head | undefined },
): Promise<Oid> {
  const join = await joinOf(scratch, tip, start)
  if (join) return join
  const common = await read(scratch, ['merge-base', tip, start])
  if (await isAncestor(scratch, common, fork.upstream.tip)) return tip
  const missing = startOf(fork, head)
  throw new Failure(
    `${visible(branch)} lacks what is new in ${missing}, and the two conflict: git merge ${missing} there, and publish it again.`,
  )
}

/**
 * An earlier run may have pushed a branch and failed to open its pull request. Where that branch holds the same files,
 * only the pull request is missing; else it is another merge, and this one gets a branch of its own.
 */
async function planFor(scratch: Scratch, decided: Publishable, start: Oid, result: Oid): Promise<Publishable> {
  if (decided.kind === 'merge') return decided
  const trees = await read(scratch, ['rev-parse', `${decided.head.tip}^{tree}`, `${result}^{tree}`])
  const [there, here] = trees.split('\n')
  return there === here ? decided : { kind: 'merge', start, leftBehind: decided.leftBehind }
}
