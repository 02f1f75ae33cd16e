/** A pull: brings the fetched upstream into a branch, by a fast-forward, a merge or a rebase. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { holds, run } from '../../../core/git/run.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { headRef } from '../branches/branches.ts'
import type { Source, Step } from '../contract/steps.ts'
import { type DroppedUpstream, droppedUpstream } from './dropped-upstream.ts'
import { commonTo, countBetween, planMerge } from './merge.ts'
import { FORWARD, type StepPlan, type StepTarget, treeOfCommit } from './plan.ts'
import type { Once } from './plannings.ts'
import { planRebase } from './rebase.ts'
import { readRemotes, remoteNamed, trackingRef, type Upstream, upstreamOf, verifyUtf8 } from './remotes.ts'

export type PullStep = Extract<Step, { step: 'pull' }>

/** The branch has no upstream to pull from; pushing it sets one. */
export class NoUpstream extends Failure {}

/**
 * What a branch pulls from, with its tracking ref: its upstream, or, with `remote`, the branch there that a push to it
 * goes to. Throws {@link NoUpstream} if the branch has no upstream and no remote is given.
 */
export async function followed(
  repository: Repository,
  branch: string,
  remote?: string,
): Promise<Upstream & { tracking: string; words: string }> {
  const own = await upstreamOf(repository, branch)
  const upstream = remote === undefined || own?.remote === remote ? own : await namesakeOn(repository, branch, remote)
  const name = visiblePath(branch)
  if (!upstream)
    throw new NoUpstream(`${name} has no upstream branch: publish it, or set one with git branch --set-upstream-to.`)
  const { remote: from, ref, tracking } = upstream
  if (tracking === undefined)
    throw new Failure(
      `${visiblePath(from)} is not set to keep its ${visiblePath(ref)} here (remote.${visiblePath(from)}.fetch): nothing was pulled.`,
    )
  return { ...upstream, tracking, words: tracking.replace(/^refs\/(remotes|heads)\//, '') }
}

/** The branch of a remote that has the name of a local one. */
async function namesakeOn(repository: Repository, branch: string, remote: string): Promise<Upstream> {
  const ref = headRef(branch)
  return { remote, ref, tracking: trackingRef(remoteNamed(await readRemotes(repository), remote), ref) }
}

/** The upstream as last fetched; undefined if it never was. */
export async function pullSource(
  objects: Objects,
  { tracking, words, remote, ref }: { tracking: string; words: string; remote: string; ref: string },
): Promise<Source | undefined> {
  const commit = await objects.info(`${tracking}^{commit}`)
  const branch = remote === '.' ? ref.replace(/^refs\/heads\//, '') : undefined
  return commit && { commit: commit.oid, words, ...(branch !== undefined && headRef(branch) === ref && { branch }) }
}

/**
 * How `git pull` would bring an upstream into a branch: by merge or rebase only if the branch has commits of its own.
 */
export async function wayToPull(
  repository: Repository,
  branch: string,
  { tip, upstream }: { tip: Oid | undefined; upstream: Oid | undefined },
): Promise<PullStep['how']> {
  if (tip === undefined || upstream === undefined || (await isIn(repository, tip, upstream))) return 'fast-forward'
  return (await isPulledByRebase(repository, branch)) ? 'rebase' : 'merge'
}

/** Whether `git pull` would rebase a branch, by `branch.NAME.rebase` or else `pull.rebase`. */
async function isPulledByRebase(repository: Repository, branch: string): Promise<boolean> {
  verifyUtf8(branch)
  for (const key of [`branch.${asText(branch)}.rebase`, 'pull.rebase']) {
    const { stdout } = await run(repository, ['config', '--get', key], { ok: [0, 1] })
    const value = stdout.toString().trim()
    // Besides true, git knows several ways to rebase.
    if (value !== '') return !/^(false|no|off|0)$/i.test(value)
  }
  return false
}

/**
 * Plans what a pull does after its fetch. Throws a {@link Failure} if it is impossible in the chosen way (`how`). Where
 * the upstream was rewritten, a rebase leaves out what was dropped there, as `git pull` does by its fork point.
 */
export async function planPull(
  objects: Objects,
  { source, tracking }: { source: Source; tracking: RefName },
  target: StepTarget,
  how: PullStep['how'],
  once: Once,
): Promise<StepPlan> {
  const { repository } = objects
  const { branch, tip } = target
  if (await isIn(repository, tip, source.commit))
    return tip === source.commit ? await planNothing(objects, target) : await planForward(objects, source, target)
  const dropped = await droppedUpstream(repository, tracking, { tip, upstream: source.commit })
  const warns = (plan: StepPlan, does: keyof typeof DROPPED): StepPlan =>
    dropped ? { ...plan, warnings: [droppedInWords(source, dropped, does), ...plan.warnings] } : plan
  if (how === 'rebase' && dropped)
    return warns(await planRebase(objects, target, source, once, dropped.forkPoint), 'rebase')
  if (await isIn(repository, source.commit, tip)) return warns(await planNothing(objects, target), 'nothing')
  if (how === 'merge') return warns(await planMerge(objects, source, target, {}), 'merge')
  if (how === 'rebase') return await planRebase(objects, target, source, once)
  await commonTo(repository, source, target)
  const own = await countBetween(repository, source.commit, tip)
  const rewritten = dropped ? ` ${droppedInWords(source, dropped, 'nothing')}` : ''
  throw new Failure(
    `${visiblePath(branch)} has ${many(own, 'commit')} of its own beside ${visiblePath(source.words)}: merge or rebase instead.${rewritten}`,
  )
}

/** At most this many dropped commits are named in a warning. */
const MAX_NAMED_COMMITS = 3

/** What a pull does with commits that were dropped from the upstream. */
const DROPPED = {
  rebase: (commits: string, are: string) => `${commits} that it had before ${are} left out`,
  merge: (commits: string) => `the merge brings back ${commits} that it had before`,
  nothing: (commits: string, are: string) => `${commits} that it had before ${are} still here`,
}

function droppedInWords({ words }: Source, { commits }: DroppedUpstream, does: keyof typeof DROPPED): string {
  const { count, newest } = commits
  const names = newest.slice(0, MAX_NAMED_COMMITS).map(({ subject }) => `“${visible(subject)}”`)
  const rest = count > names.length ? ` and ${count - names.length} more` : ''
  const what = DROPPED[does](many(count, 'commit'), count === 1 ? 'is' : 'are')
  return `${visiblePath(words)} was rewritten: ${what}: ${names.join(', ')}${rest}.`
}

async function planNothing(objects: Objects, { branch, tip }: StepTarget): Promise<StepPlan> {
  return {
    ...{ branch, before: tip, is: 'nothing', words: 'nothing to do', kind: 'pull' },
    ...{ does: `pull ${visiblePath(branch)}`, onto: tip, chain: [], tree: await treeOfCommit(objects, tip) },
    ...{ commits: 0, also: [], warnings: [] },
  }
}

/** Plans a fast-forward to the upstream. As in git, it also brings the upstream's .forge folder. */
async function planForward(objects: Objects, source: Source, { branch, tip }: StepTarget): Promise<StepPlan> {
  const tree = await treeOfCommit(objects, source.commit)
  return {
    ...{ branch, before: tip, is: 'clean', words: 'fast-forward', kind: 'pull' },
    ...{ does: `pull ${visiblePath(source.words)} into ${visiblePath(branch)}`, how: FORWARD },
    ...{ onto: tip, chain: [{ is: 'there', commit: source.commit, tree }], tree },
    ...{ commits: await countBetween(objects.repository, tip, source.commit), also: [], warnings: [] },
  }
}

/** Whether a commit equals another one or is in its history. */
const isIn = async (repository: Repository, one: Oid, other: Oid): Promise<boolean> =>
  await holds(repository, ['merge-base', '--is-ancestor', one, other])
