/** Warnings before a step: hooks that do not run, checkouts that can't follow, commits that are on a remote. */
import { access, constants, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { countOnRemotes, type RemoteCounts } from '../../../core/git/commits.ts'
import type { Oid, Repository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { firstOf, many, visible, visiblePath } from '../../../core/text.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { branchesWith, headRef } from '../branches/branches.ts'
import type { RewrittenCommit, Step } from '../contract/steps.ts'
import type { StepPlan } from './plan.ts'

/** The hooks that git would run, by step. */
const HOOKS: Partial<Record<Step['step'], readonly string[]>> = {
  merge: ['pre-merge-commit', 'prepare-commit-msg', 'commit-msg', 'post-merge'],
  land: ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit', 'post-merge'],
  rebase: ['pre-rebase', 'prepare-commit-msg', 'commit-msg', 'post-commit', 'post-checkout', 'post-rewrite'],
  'cherry-pick': ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit'],
  revert: ['prepare-commit-msg', 'commit-msg', 'post-commit'],
  rewrite: ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit', 'post-rewrite'],
  push: ['pre-push', 'reference-transaction'],
  'delete remote branch': ['pre-push', 'reference-transaction'],
}

/** The hooks that git would run in a repository: executable files with a hook's name. */
export async function hooksOf(repository: Repository): Promise<string[]> {
  const folder = await read(repository, ['rev-parse', '--path-format=absolute', '--git-path', 'hooks'])
  const names = await readdir(folder).catch(() => [])
  const candidates = names.filter(name => /^[a-z][a-z0-9-]*$/.test(name))
  const isProgram = (name: string) =>
    access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    )
  const runnable = await Promise.all(candidates.map(isProgram))
  return candidates.filter((_, at) => runnable[at]).sort()
}

/** All warnings about a plan. */
export async function warningsFor(
  { objects, checkouts }: BranchServices,
  step: Step['step'],
  plan: StepPlan,
): Promise<string[]> {
  if (plan.is === 'nothing') return [...plan.warnings]
  const { repository } = objects
  const { branch, before } = plan
  const isForward = step === 'merge' && plan.chain.every(({ is }) => is === 'there') && !plan.stop
  const [hooks, checkout, remotes, keepers] = await Promise.all([
    isForward ? [] : hooksFor(repository, step),
    checkouts.whyNotFollowing(branch, before, plan.tree),
    step === 'rebase' || step === 'move' || step === 'rewrite' ? onRemotes(repository, plan) : undefined,
    plan.replaced === undefined ? [] : othersWith(repository, plan.replaced, branch),
  ])
  const skipped = `Hooks of this repository do not run: ${hooks.join(', ')}.`
  const name = visiblePath(branch)
  const behind = checkout && `The checkout in ${visible(checkout.folder)} stays behind: ${visible(checkout.why)}`
  return [
    ...plan.warnings,
    ...(hooks.length > 0 ? [skipped] : []),
    ...(behind === undefined ? [] : [behind]),
    ...(remotes ? remoteWords(remotes, step, name) : []),
    ...(keepers.length > 0 ? [keepersInWords(keepers)] : []),
  ]
}

/** The other local branches that contain a commit. */
const othersWith = async (repository: Repository, commit: Oid, besides: string): Promise<string[]> =>
  (await branchesWith(repository, commit)).filter(name => name !== besides)

/** At most this many branches are named; above that, the rest is counted. */
const MAX_NAMED_BRANCHES = 3

function keepersInWords(branches: readonly string[]): string {
  const names = firstOf(branches.map(visiblePath), MAX_NAMED_BRANCHES)
  return `${names} ${branches.length === 1 ? 'keeps' : 'keep'} the commits as they are now.`
}

/** The hooks of a repository that git would run for a step, and the desk does not. */
export async function hooksFor(repository: Repository, step: Step['step']): Promise<string[]> {
  const wanted = HOOKS[step] ?? []
  return wanted.length === 0 ? [] : (await hooksOf(repository)).filter(name => wanted.includes(name))
}

/** What becomes of the commits of a rewriting, and which of them a remote has. */
export async function rewrittenCommits(
  repository: Repository,
  { before, onto, rewritten }: StepPlan,
): Promise<RewrittenCommit[] | undefined> {
  if (!rewritten) return undefined
  const range = [before, '--not', '--remotes', ...(onto === undefined ? [] : [onto]), '--']
  const own = new Set((await read(repository, ['rev-list', ...range])).split('\n'))
  return rewritten.map(row => ({ ...row, isPushed: row.from.some(oid => !own.has(oid)) }))
}

/** Counts the commits that leave the branch and are on a remote. */
async function onRemotes(repository: Repository, { branch, before, onto, chain }: StepPlan): Promise<RemoteCounts> {
  const kept = chain.findLast(({ is }) => is === 'there')
  return await countOnRemotes(repository, headRef(branch), kept?.is === 'there' ? kept.commit : onto, before)
}

/**
 * Warns that commits which leave the branch are on a remote already: in a remote branch that a push of this branch
 * updates, or else, unless the step is a move, in any other remote branch.
 */
function remoteWords({ pushed, anywhere }: RemoteCounts, step: Step['step'], name: string): string[] {
  const count = pushed > 0 || step === 'move' ? pushed : anywhere
  if (count === 0) return []
  const there = `${many(count, 'commit')} that ${count === 1 ? 'goes is' : 'go are'} on a remote already`
  return [pushed > 0 ? `${there}: a push of ${name} has to be forced.` : `${there}, in other branches.`]
}
