/** Warnings before a step: hooks that do not run, checkouts that can't follow, commits that are on a remote. */
import { access, constants, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { countOnRemotes, type RemoteCounts } from '../../../core/git/commits.ts'
import type { Oid, Repository } from '../../../core/git/repository.ts'
import { read, run } from '../../../core/git/run.ts'
import { firstOf, many, visible, visiblePath } from '../../../core/text.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { branchesWith, headRef } from '../branches/branches.ts'
import type { RewrittenCommit, Step } from '../contract/steps.ts'
import { mergesLeftOut } from './left-out-merges.ts'
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
  const [hooks, checkout, remotes, keepers, merges] = await Promise.all([
    isForward ? [] : hooksFor(repository, step),
    checkouts.whyNotFollowing(branch, before, plan.tree),
    step === 'rebase' || step === 'move' || step === 'rewrite' ? onRemotes(repository, plan) : undefined,
    plan.replaced === undefined ? [] : keepersInWords(repository, { branch, before, replaced: plan.replaced }),
    step === 'rebase' ? mergesLeftOut(objects, plan) : [],
  ])
  const skipped = `Hooks of this repository do not run: ${hooks.join(', ')}.`
  const name = visiblePath(branch)
  const behind = checkout && `The checkout in ${visible(checkout.folder)} stays behind: ${visible(checkout.why)}`
  return [
    ...plan.warnings,
    ...merges,
    ...(hooks.length > 0 ? [skipped] : []),
    ...(behind === undefined ? [] : [behind]),
    ...(remotes ? remoteWords(remotes, step, name) : []),
    ...keepers,
  ]
}

/** At most this many branches and tags are named; above that, the rest is counted. */
const MAX_NAMED_KEEPERS = 3

/** The commits that a rewriting of a branch replaces: from the oldest one, `replaced`, to its tip, `before`. */
type ReplacedCommits = { branch: string; before: Oid; replaced: Oid }

/** Names the other branches and the tags that keep all replaced commits, and those that keep the older ones of them. */
async function keepersInWords(
  repository: Repository,
  { branch, before, replaced }: ReplacedCommits,
): Promise<string[]> {
  const [all, any] = await Promise.all([before, replaced].map(oid => keepersOf(repository, oid, branch)))
  const whole = new Set(all)
  return [
    ...sentencesOn([...whole], 'the commits'),
    ...sentencesOn(any?.filter(name => !whole.has(name)) ?? [], 'some of the commits'),
  ]
}

function sentencesOn(keepers: readonly string[], what: string): string[] {
  if (keepers.length === 0) return []
  const names = firstOf(keepers, MAX_NAMED_KEEPERS).replace(/^the tag /, 'The tag ')
  return [`${names} ${keepers.length === 1 ? 'keeps' : 'keep'} ${what} as they are now.`]
}

/** The other local branches and the tags that contain a commit, in words. */
async function keepersOf(repository: Repository, commit: Oid, besides: string): Promise<string[]> {
  const [branches, tags] = await Promise.all([branchesWith(repository, commit), tagsWith(repository, commit)])
  const others = branches.filter(name => name !== besides)
  return [...others.map(visiblePath), ...tags.map(name => `the tag ${visiblePath(name)}`)]
}

/** The names of the tags that contain a commit. */
async function tagsWith(repository: Repository, commit: Oid): Promise<string[]> {
  // Most often none does, which is found out without reading the history of each tag.
  if ((await read(repository, ['rev-list', '-n', '1', commit, '--not', '--tags', '--'])) !== '') return []
  const { stdout } = await run(repository, ['tag', '--no-column', '--format=%(refname)', '--contains', commit])
  const refs = stdout.toString('latin1').split('\n').filter(Boolean)
  return refs.map(ref => ref.slice('refs/tags/'.length))
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
async function onRemotes(
  repository: Repository,
  { branch, before, onto, chain, merged = [] }: StepPlan,
): Promise<RemoteCounts> {
  const kept = chain.findLast(({ is }) => is === 'there')
  const base = kept?.is === 'there' ? kept.commit : onto
  const stay = base === undefined ? merged : [base, ...merged]
  return await countOnRemotes(repository, headRef(branch), stay, before)
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
