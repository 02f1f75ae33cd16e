/** `forklift --publish`: a merge of upstream that a person made gets what an agent's gets. */
import { join } from 'node:path'
import { Failure } from '../core/failure.ts'
import { isAncestor, mergeBases } from '../core/git/commits.ts'
import type { Oid } from '../core/git/repository.ts'
import { read, run } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import type { Review } from '../core/review.ts'
import { many, visible } from '../core/text.ts'
import { allOf } from '../core/together.ts'
import { type Fork, type Head, nameOf } from './fork.ts'
import { nothingToDo, recordTheEnd, type Steps } from './outcome.ts'
import { aidTo, decideWhereToStart, joinOf } from './plan.ts'
import { verifyItCanBePublished } from './preflight.ts'
import type { Publishable } from './publication.ts'
import { fetchHead } from './remotes.ts'
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
  const tip = await commitOf(fetched, branch, report)
  await verifyNothingIsUnderWay(fetched, branch, report)
  const fork = await asMerged(fetched, branch, tip)
  const newer = await countBetween(fork, fork.upstream.tip, fetched.upstream.tip)
  if (newer > 0) report.note(`upstream has ${many(newer, 'newer commit')} than ${branch}, left for another run.`)
  const decided = await decideWhereToStart(fork, scratch, true, report)
  if (decided.kind === 'nothing') return nothingToDo(decided.because, fork.repository.signal)
  const start = decided.kind === 'merge' ? decided.start : fork.origin.tip
  await verifyItCanBePublished(fork, scratch, base, report)
  const [isForward, isUpstreams] = await allOf([
    isAncestor(scratch, start, tip),
    isAncestor(scratch, tip, fork.upstream.tip),
  ])
  if (isForward && isUpstreams) return await publishAsItIs(fork, scratch, decided, tip, report)
  if (isUpstreams)
    throw new Failure(
      `${visible(branch)} is upstream's own, without the fork's commits: git merge ${startOf(fork, decided.head)} there, and publish it again.`,
    )
  const result = await resultOf(fork, scratch, { branch, tip, start, head: decided.head }, report)
  const plan = await planFor(scratch, decided, start, result)
  const path = await runs.claimRunDirectory(join(fork.state, 'runs'), fork.project)
  const metadata = { ...(await runs.describeMerge(fork, scratch, start)), byHand: branch, anyway }
  const again = `forklift --publish ${branch}`
  const verify = (judged: Review) => {
    const isFinal = judged.unliftable.length > 0
    if (anyway && !isFinal) return
    verifyItIsAccepted(judged, isFinal ? `mend it, then ${again}` : `mend it, or ${again} --anyway`, report)
  }
  const steps = async function* (): Steps {
    await runs.record(path, 'metadata', metadata)
    yield { result }
    report.step(`Judging ${branch}`)
    const commits = { origin: fork.origin.tip, start, upstream: fork.upstream.tip, result }
    const candidate = { commits, tip, maker: { byHand: branch }, again, verify }
    return yield* judgeAndPublish(fork, scratch, plan, candidate, report)
  }
  return await recordTheEnd({ path, metadata }, 'outcome', steps(), fork.repository.signal)
}

/** The commit of a branch of this clone, of a branch on origin as it is there now, or of whatever else git knows. */
async function commitOf(fork: Fork, branch: string, report: Report): Promise<Oid> {
  const find = async (name: string) => {
    const words = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`]
    const found = await run(fork.repository, words, { ok: 'any' })
    return found.code === 0 ? found.stdout.toString().trim() : undefined
  }
  const local = await find(`refs/heads/${branch}`)
  if (local) return local
  const remote = branch.replace(/^origin\//, '')
  const fetched = fork.origin.heads.has(remote) ? await fetchHead(fork, remote, report) : undefined
  const found = fetched ?? (await find(branch))
  if (found) return found
  throw new Failure(`There is no branch ${visible(branch)} here, nor on origin: see git branch --all.`)
}

/** Throws where the branch is checked out with a merge that is not committed; other changes are worth a note. */
async function verifyNothingIsUnderWay({ repository }: Fork, branch: string, report: Report): Promise<void> {
  const head = await run(repository, ['symbolic-ref', '--quiet', 'HEAD'], { ok: 'any' })
  if (head.stdout.toString().trim() !== `refs/heads/${branch}`) return
  if ((await run(repository, ['rev-parse', '--verify', '--quiet', 'MERGE_HEAD'], { ok: 'any' })).code === 0)
    throw new Failure(`A merge is under way on ${visible(branch)}: git commit it, and publish it again.`)
  const changes = await read(repository, ['status', '--porcelain', '--untracked-files=no', '--ignore-submodules'])
  if (changes) report.note(`what is not committed on ${branch} is no part of it.`)
}

/**
 * The fork, with upstream as the person merged it: upstream may have gone on since, and what it has brought since is
 * for another run.
 */
async function asMerged(fork: Fork, branch: string, tip: Oid): Promise<Fork> {
  const { repository, origin, upstream } = fork
  const bases = await mergeBases(repository, tip, upstream.tip)
  const isOld = await allOf(bases.map(base => isAncestor(repository, base, origin.tip)))
  const [merged, ...others] = bases.filter((_, at) => !isOld[at])
  const remedy = `git merge ${nameOf(upstream)} there, commit, and publish it again.`
  if (!merged) throw new Failure(`${visible(branch)} has none of upstream's new commits in it: ${remedy}`)
  if (others.length > 0)
    throw new Failure(`${visible(branch)} has lines of upstream's in it that upstream has joined since: ${remedy}`)
  return { ...fork, upstream: { ...upstream, tip: merged } }
}

/**
 * The branch that the person's merge should hold, as git calls it: the living pull request's, or origin's default one.
 */
const startOf = (fork: Fork, head: Head | undefined): string => (head ? `origin/${head.ref}` : nameOf(fork.origin))

/** How many commits `tip` has and `old` lacks. */
async function countBetween({ repository }: Fork, old: Oid, tip: Oid): Promise<number> {
  return Number(await read(repository, ['rev-list', '--count', `${old}..${tip}`]))
}

type Where = { branch: string; tip: Oid; start: Oid; head: Head | undefined }

/**
 * What is judged in the agent's place. The branch itself, where the start is in its history. The branch with a start
 * joined to it that only says what an earlier, squashed pull request brought: such a start is nowhere but here, and has
 * origin's files. The branch as it is where the person rebased the fork onto upstream, which leaves none of the fork's
 * old commits in it; what is lost by that is shown. Else git's own merge of the branch and the start, where that has no
 * conflict. Any other branch must have the start merged in first: that is thrown.
 */
async function resultOf(
  fork: Fork,
  scratch: Scratch,
  { branch, tip, start, head }: Where,
  report: Report,
): Promise<Oid> {
  if (await isAncestor(scratch, start, tip)) return tip
  const [files, origins, starts] = await treesOf(scratch, [tip, fork.origin.tip, start])
  if (files && origins === starts && (await isAncestor(scratch, fork.origin.tip, tip)))
    return await aidTo(scratch, files, [tip, start], 'Join what an earlier pull request brought')
  const bases = await mergeBases(scratch, tip, start)
  const areUpstreams = await allOf(bases.map(base => isAncestor(scratch, base, fork.upstream.tip)))
  if (areUpstreams.every(Boolean)) return tip
  const join = await joinOf(scratch, tip, start)
  const missing = startOf(fork, head)
  if (join) {
    report.note(`what is new in ${missing} since then was merged in.`)
    return join
  }
  throw new Failure(
    `${visible(branch)} lacks what is new in ${missing}, and the two conflict: git merge ${missing} there, and publish it again.`,
  )
}

async function treesOf(scratch: Scratch, commits: Oid[]): Promise<Oid[]> {
  return (await read(scratch, ['rev-parse', ...commits.map(oid => `${oid}^{tree}`)])).split('\n')
}

/**
 * An earlier run may have pushed a branch and failed to open its pull request. Where that branch holds the same files,
 * only the pull request is missing; else it is another merge, and this one gets a branch of its own.
 */
async function planFor(scratch: Scratch, decided: Publishable, start: Oid, result: Oid): Promise<Publishable> {
  if (decided.kind === 'merge') return decided
  const [there, here] = await treesOf(scratch, [decided.head.tip, result])
  return there === here ? decided : { kind: 'merge', start, leftBehind: decided.leftBehind }
}
