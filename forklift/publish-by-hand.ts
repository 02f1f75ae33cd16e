/** `forklift --publish`: judges and publishes a merge of upstream that a person made, as an agent's merge. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../core/failure.ts'
import { isAncestor, mergeBases } from '../core/git/commits.ts'
import { mergeTrees } from '../core/git/merges.ts'
import type { Oid } from '../core/git/repository.ts'
import { read, run } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import type { MergeReview } from '../core/review.ts'
import { many, visible } from '../core/text.ts'
import { allOf } from '../core/together.ts'
import { type Fork, type Head, remoteBranchName } from './fork.ts'
import { nothingToDo, type RunSteps, recordTheEnd } from './outcome.ts'
import { decideWhereToStart, helperCommit, joinOf, nameOfHead } from './plan.ts'
import { verifyItCanBePublished } from './preflight.ts'
import type { Publishable } from './publication.ts'
import { fetchHead } from './remotes.ts'
import * as runs from './runs.ts'
import { exists } from './runs.ts'
import type { RunOptions } from './settings.ts'
import type { Report } from './terminal.ts'
import { judgeAndPublish, publishAsItIs, verifyItIsAccepted } from './verdict.ts'

/**
 * Judges and publishes the merge on the branch that the options name, relative to origin's default branch, or to the
 * branch of the pull request that Forklift keeps updating. Records the run. `base` is the common ancestor of origin and
 * upstream.
 */
export async function publishByHand(
  fetched: Fork,
  scratch: Scratch,
  { publish: branch = '', anyway }: RunOptions,
  base: Oid,
  report: Report,
): Promise<string> {
  await verifyNothingIsUnderWay(fetched, branch, report)
  const tip = await commitOf(fetched, branch, report)
  if (base === fetched.upstream.tip) return await nothingOfUpstream(fetched, branch, tip)
  const asItMerged = await asMerged(fetched, branch, tip)
  const newer = await countBetween(asItMerged, asItMerged.upstream.tip, fetched.upstream.tip)
  const decided = await decideWhereToStart(asItMerged, scratch, true, report)
  if (decided.kind === 'nothing') return nothingToDo(decided.because, asItMerged.repository.signal)
  const fork = await withUpstreamOf(decided.head, asItMerged, fetched.upstream.tip)
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
  if (newer > 0) report.note(`upstream has ${many(newer, 'newer commit')} than ${branch}, left for another run.`)
  const result = await resultOf(fork, scratch, { branch, tip, start, head: decided.head }, report)
  const isUpdate = decided.kind === 'merge' && (await isAncestor(scratch, fork.upstream.tip, start))
  if (isUpdate && decided.head && (await haveSameFiles(scratch, [result, decided.head.tip])))
    return nothingToDo(`${nameOfHead(decided.head)} already brings this`, fork.repository.signal)
  const plan = await planFor(scratch, decided, start, result)
  const path = await runs.claimRunDirectory(fork)
  const metadata = { ...(await runs.describeMerge(fork, scratch, start)), byHand: branch, anyway }
  const again = `forklift --publish ${branch}`
  const verify = (judged: MergeReview) => {
    const isFinal = judged.unliftable.length > 0
    if (anyway && !isFinal) return
    verifyItIsAccepted(judged, isFinal ? `mend it, then ${again}` : `mend it, or ${again} --anyway`, report)
  }
  const steps = async function* (): RunSteps {
    await runs.recordFile(path, 'metadata', metadata)
    yield { result }
    report.step(`Judging ${branch}`)
    const commits = { origin: fork.origin.tip, start, upstream: fork.upstream.tip, result }
    const candidate = { commits, tip, maker: { byHand: branch, isUpdate }, again, verify }
    return yield* judgeAndPublish(fork, scratch, plan, candidate, report)
  }
  return await recordTheEnd({ path, metadata }, 'outcome', steps(), fork.repository.signal)
}

/** Called where origin already has all of upstream: throws where the branch has commits of its own. */
async function nothingOfUpstream({ repository, origin, upstream }: Fork, branch: string, tip: Oid): Promise<string> {
  const all = `${remoteBranchName(upstream)} is in ${remoteBranchName(origin)}`
  if (await isAncestor(repository, tip, origin.tip))
    return nothingToDo(`${all}, and so is ${branch}`, repository.signal)
  throw new Failure(`${all} already, so ${visible(branch)} brings nothing of upstream: push it as any other branch.`)
}

/**
 * The commit that a name stands for: a branch of this clone, a branch of origin as it is now, or any other revision. If
 * the branch is in both places, the newer commit is taken; throws where the two have diverged.
 */
async function commitOf(fork: Fork, branch: string, report: Report): Promise<Oid> {
  const find = async (name: string) => {
    const words = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`]
    const found = await run(fork.repository, words, { ok: 'any' })
    return found.code === 0 ? found.stdout.toString().trim() : undefined
  }
  const local = await find(`refs/heads/${branch}`)
  const remote = branch.replace(/^origin\//, '')
  const isThere = fork.origin.heads.has(remote)
  // The local branch is taken where origin has none of its name, and for origin's default branch, whose new commits are
  // merged in later.
  if (local && (!isThere || remote !== branch || branch === fork.origin.branch)) return local
  const fetched = isThere ? await fetchHead(fork, remote, report) : undefined
  const found = local && fetched ? await newerOf(fork, { branch, local, fetched }, report) : (fetched ?? local)
  if (found) return found
  const other = await find(branch)
  if (other) return other
  throw new Failure(`There is no branch ${visible(branch)} here, nor on origin: see git branch --all.`)
}

async function newerOf(
  fork: Fork,
  { branch, local, fetched }: { branch: string; local: Oid; fetched: Oid },
  report: Report,
): Promise<Oid> {
  const { repository } = fork
  if (await isAncestor(repository, fetched, local)) return local
  if (!(await isAncestor(repository, local, fetched)))
    throw new Failure(
      `${visible(branch)} here and on origin have gone apart: git pull there (or push what counts), and publish it again.`,
    )
  const count = await countBetween(fork, local, fetched)
  report.note(`${branch} has ${many(count, 'newer commit')} on origin: it is taken as it is there.`)
  return fetched
}

/** Files that git keeps during an operation, the name of the operation, and the command that ends it. */
const UNDER_WAY = [
  ['rebase-merge', 'A rebase', 'git rebase --continue'],
  ['rebase-apply', 'A rebase', 'git rebase --continue'],
  ['MERGE_HEAD', 'A merge', 'git commit'],
  ['CHERRY_PICK_HEAD', 'A cherry-pick', 'git cherry-pick --continue'],
  ['REVERT_HEAD', 'A revert', 'git revert --continue'],
] as const

/** Throws where a merge, rebase or similar is in progress on the branch in any checkout. Notes uncommitted changes. */
async function verifyNothingIsUnderWay({ repository }: Fork, branch: string, report: Report): Promise<void> {
  const { gitDir, commonDir } = repository
  const isHead = branch === 'HEAD' || branch === '@'
  const linked = await readdir(join(commonDir, 'worktrees')).catch(() => [])
  for (const folder of new Set([gitDir, commonDir, ...linked.map(name => join(commonDir, 'worktrees', name))])) {
    if (isHead && folder !== gitDir) continue
    const said = await Promise.all(
      ['HEAD', 'rebase-merge/head-name', 'rebase-apply/head-name'].map(name => firstLineOf(join(folder, name))),
    )
    if (!isHead && !said.some(line => line.replace(/^ref: /, '') === `refs/heads/${branch}`)) continue
    for (const [file, what, remedy] of UNDER_WAY) {
      if (await exists(join(folder, file)))
        throw new Failure(`${what} is under way on ${visible(branch)}: ${remedy}, and publish it again.`)
    }
  }
  const head = await run(repository, ['symbolic-ref', '--quiet', 'HEAD'], { ok: 'any' })
  if (!isHead && head.stdout.toString().trim() !== `refs/heads/${branch}`) return
  const changes = await read(repository, ['status', '--porcelain', '--untracked-files=no', '--ignore-submodules'])
  if (changes) report.note(`what is not committed on ${branch} is no part of it.`)
}

const firstLineOf = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n')[0] ?? ''

/**
 * The fork, with the upstream commit that the person merged as upstream's tip: newer commits of upstream are left for
 * another run.
 */
async function asMerged(fork: Fork, branch: string, tip: Oid): Promise<Fork> {
  const { repository, origin, upstream } = fork
  const bases = await mergeBases(repository, tip, upstream.tip)
  const isOld = await allOf(bases.map(base => isAncestor(repository, base, origin.tip)))
  const [merged, ...others] = bases.filter((_, at) => !isOld[at])
  const remedy = `git merge ${remoteBranchName(upstream)} there, commit, and publish it again.`
  if (!merged) throw new Failure(`${visible(branch)} has none of upstream's new commits in it: ${remedy}`)
  if (others.length > 0)
    throw new Failure(`${visible(branch)} has lines of upstream's in it that upstream has joined since: ${remedy}`)
  return { ...fork, upstream: { ...upstream, tip: merged } }
}

/** The fork; where the pull request has merged a newer upstream commit than the person, with that as upstream's tip. */
async function withUpstreamOf(head: Head | undefined, fork: Fork, newest: Oid): Promise<Fork> {
  const { repository, upstream } = fork
  const bases = head ? await mergeBases(repository, head.tip, newest) : []
  const [there = '', ...others] = bases
  const isMore = there && others.length === 0 && (await isAncestor(repository, upstream.tip, there))
  return isMore ? { ...fork, upstream: { ...upstream, tip: there } } : fork
}

/**
 * The branch that the person's merge should contain, as git names it: that of the pull request which Forklift keeps
 * updating (`head`), or origin's default branch.
 */
const startOf = (fork: Fork, head: Head | undefined): string =>
  head ? `origin/${head.ref}` : remoteBranchName(fork.origin)

/** The number of commits that `tip` has and `old` lacks. */
async function countBetween({ repository }: Fork, old: Oid, tip: Oid): Promise<number> {
  return Number(await read(repository, ['rev-list', '--count', `${old}..${tip}`]))
}

type Where = { branch: string; tip: Oid; start: Oid; head: Head | undefined }

/**
 * The commit to judge in place of an agent's result. `start` is the commit that Forklift would merge upstream into. The
 * first case that applies:
 * - the branch itself, where the start is in its history;
 * - where the start contains an earlier published state of the branch, the start with the changes since then;
 * - where the start only records that an earlier pull request was squashed (it has origin's files, and exists only in
 * the scratch repository), a commit that joins the branch with the start;
 * - the branch itself, where the person rebased the fork onto upstream, so that none of the fork's old commits are in
 * it; the page shows what was lost;
 * - git's own merge of the branch and the start, where there is no conflict.
 * Throws otherwise: the start must be merged into the branch first.
 */
async function resultOf(
  fork: Fork,
  scratch: Scratch,
  { branch, tip, start, head }: Where,
  report: Report,
): Promise<Oid> {
  if (await isAncestor(scratch, start, tip)) return tip
  const continued = head && (await continuedFrom(fork, scratch, tip, start))
  if (continued) return continued
  const [files, origins, starts] = await treesOf(scratch, [tip, fork.origin.tip, start])
  if (files && origins === starts && (await isAncestor(scratch, fork.origin.tip, tip)))
    return await helperCommit(scratch, files, [tip, start], 'Join what an earlier pull request brought')
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

/**
 * A merge of `tip` (the person's branch) into `start`, for a branch that was published before and has changed since.
 * What was published is known by a commit of Forklift's in `start` with the same tree as a commit of the branch. (A
 * person's commit may have the tree of an older one by a revert; continuing from there would bring back what was
 * reverted.) Undefined where there is no such commit, or where the branch's changes conflict with those of others.
 */
async function continuedFrom(fork: Fork, scratch: Scratch, tip: Oid, start: Oid): Promise<Oid | undefined> {
  const { origin, upstream } = fork
  const format = '%H %T %(trailers:key=Forklift-Upstream,valueonly,separator=%x2C)'
  const list = async (...range: string[]) => {
    const log = await read(scratch, ['log', `--max-count=${MAX_COMMITS_LOOKED_AT}`, `--format=${format}`, ...range])
    return log.split('\n').map(line => line.split(' ') as [commit: Oid, tree: Oid, upstream?: Oid])
  }
  const [published, own] = await allOf([
    list('--first-parent', start, '--not', origin.tip),
    list(tip, '--not', origin.tip, upstream.tip),
  ])
  const trees = new Set(own.map(([, tree]) => tree))
  const [from] = published.find(([, tree, upstream]) => upstream && trees.has(tree)) ?? []
  if (!from) return undefined
  const { tree, stages } = await mergeTrees(scratch, start, tip, { base: from })
  return stages.length > 0 ? undefined : await helperCommit(scratch, tree, [start, tip], 'Bring what has changed since')
}

/** At most this many commits are compared: more than a person commits on a merge. */
const MAX_COMMITS_LOOKED_AT = 1_000

async function haveSameFiles(scratch: Scratch, commits: [Oid, Oid]): Promise<boolean> {
  const [one, other] = await treesOf(scratch, commits)
  return one === other
}

async function treesOf(scratch: Scratch, commits: Oid[]): Promise<Oid[]> {
  return (await read(scratch, ['rev-parse', ...commits.map(oid => `${oid}^{tree}`)])).split('\n')
}

/**
 * The plan for the result. An earlier run may have pushed a branch and failed to open its pull request: if that branch
 * has the same files, only the pull request is missing; otherwise this is another merge, which gets a new branch.
 */
async function planFor(scratch: Scratch, decided: Publishable, start: Oid, result: Oid): Promise<Publishable> {
  if (decided.kind === 'merge') return decided
  const [there, here] = await treesOf(scratch, [decided.head.tip, result])
  return there === here ? decided : { kind: 'merge', start, leftBehind: decided.leftBehind }
}
