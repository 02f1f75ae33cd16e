/** A push of one branch to one branch of a remote, exactly as previewed, and only on request. */
import { Failure } from '../../../core/failure.ts'
import { setConfig } from '../../../core/git/config.ts'
import { isRefName } from '../../../core/git/objects.ts'
import type { RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { GitError, read } from '../../../core/git/run.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { headRef } from '../branches/branches.ts'
import { FORGE_FOLDER } from '../branches/forge-folder.ts'
import type { Preview, Step } from '../contract/steps.ts'
import { broughtCommits, lostCommits } from './brought-commits.ts'
import { fetchOne } from './fetch.ts'
import type { StepTarget } from './plan.ts'
import { Stopped } from './plannings.ts'
import {
  type RemoteSettings,
  type Remotes,
  readRemotes,
  remoteNamed,
  trackingRef,
  upstreamOf,
  verifyUtf8,
} from './remotes.ts'
import { areRewrittenHere } from './rewritten-here.ts'
import { shown, type Transfers, whyFailed } from './transfer.ts'
import { hooksFor } from './warnings.ts'

export type PushStep = Extract<Step, { step: 'push' }>

/** The effect of a push according to this repository: the server is not asked. */
type PushPlan = {
  remotes: Remotes
  remote: RemoteSettings
  target: StepTarget
  /** The ref on the remote. */
  ref: RefName
  /** The remote branch's name on the screen. */
  words: string
  /** The remote branch's commit when last fetched; undefined if it did not exist. */
  fetched: Oid | undefined
  isForced: boolean
  is: 'clean' | 'drops' | 'nothing'
  says: string
  /** The number of commits that the remote branch gets. */
  commits: number
  /** The number of commits that leave the remote branch. */
  replaced: number
  /** Whether all of these are old versions of commits that were rewritten here. */
  isRewritten: boolean
  setsUpstream: boolean
}

/** The remote branch has commits that must be pulled before a push. */
export class PullFirst extends Failure {}

/** The remote branch has only commits that were rewritten here: a push has to be forced. */
export class ForceNeeded extends Failure {}

/** Plans a push. Throws {@link PullFirst} or {@link ForceNeeded} if the remote would reject it, as far as known. */
export async function planPush(
  room: BranchServices,
  { remote: name, to, isForced }: PushStep,
  target: StepTarget,
): Promise<PushPlan> {
  const { objects } = room
  const { repository } = objects
  const { branch, tip } = target
  const [remotes, upstream] = await Promise.all([readRemotes(repository), upstreamOf(repository, branch)])
  const remote = remoteNamed(remotes, name)
  const ref = to === undefined && upstream?.remote === name ? upstream.ref : headRef(to ?? branch)
  if (!isRefName(ref)) throw new Failure(`${visiblePath(to ?? branch)} can't be the name of a branch on a remote.`)
  verifyUtf8(ref)
  const words = `${visiblePath(name)}/${visiblePath(ref.replace(/^refs\/heads\//, ''))}`
  const kept = trackingRef(remote, ref)
  const fetched = kept === undefined || !isRefName(kept) ? undefined : (await objects.info(`${kept}^{commit}`))?.oid
  const [commits, replaced] = await Promise.all([
    read(repository, ['rev-list', '--count', ...outgoing(tip, remote, fetched), '--']).then(Number),
    fetched === undefined ? 0 : read(repository, ['rev-list', '--count', fetched, `^${tip}`, '--']).then(Number),
  ])
  const isRewritten = fetched !== undefined && replaced > 0 && (await areRewrittenHere(room, target, fetched))
  if (isRewritten && !isForced)
    throw new ForceNeeded(
      `${words} has ${many(replaced, 'commit')} that ${replaced === 1 ? 'was' : 'were'} rewritten here: force push to replace ${replaced === 1 ? 'it' : 'them'}.`,
    )
  if (replaced > 0 && !isForced)
    throw new PullFirst(
      `${words} has ${many(replaced, 'commit')} that ${visiblePath(branch)} does not have: pull first, then push.`,
    )
  const says = fetched === undefined ? `creates ${words}` : `${many(commits, 'commit')} to ${words}`
  return {
    ...{ remotes, remote, target, ref, words, fetched, isForced, commits, replaced, isRewritten },
    ...(fetched === tip
      ? { is: upstream ? 'nothing' : 'clean', says: `${words} is up to date` }
      : replaced > 0
        ? { is: 'drops', says: `overwrites ${words}: drops ${many(replaced, 'commit')} there` }
        : { is: 'clean', says }),
    setsUpstream: upstream === undefined,
  }
}

/**
 * The commits that the remote branch gets, as arguments of `git rev-list`: also those that another branch of the remote
 * has, as a merged one does. Of a new branch, only those that the remote does not have.
 */
const outgoing = (tip: Oid, remote: RemoteSettings, fetched: Oid | undefined): string[] =>
  fetched === undefined ? unknownTo(remote, tip, undefined) : [tip, `^${fetched}`]

/** The commits of `tip` that no known branch of a remote has, as arguments of `git rev-list`. */
const unknownTo = ({ name }: RemoteSettings, tip: Oid, fetched: Oid | undefined): string[] => [
  ...[tip, '--not', ...(fetched === undefined ? [] : [fetched])],
  `--remotes=${asText(name)}`,
]

/** Whether a push makes files of .forge/ public: a commit that the remote does not have yet changes some. */
async function publishesForge(
  repository: Repository,
  tip: Oid,
  remote: RemoteSettings,
  fetched: Oid | undefined,
): Promise<boolean> {
  const args = ['rev-list', '--max-count=1', '--full-history', ...unknownTo(remote, tip, fetched), '--', FORGE_FOLDER]
  return (await read(repository, args)) !== ''
}

/** The preview of a push. */
export async function previewPush(room: BranchServices, plan: PushPlan, drafts: number): Promise<Preview> {
  const { repository } = room.objects
  const { target, remote, fetched, words, isForced, replaced, isRewritten, setsUpstream, is, says, commits } = plan
  const [hasForge, hooks, brings, loses] = await Promise.all([
    publishesForge(repository, target.tip, remote, fetched),
    hooksFor(repository, 'push'),
    broughtCommits(repository, outgoing(target.tip, remote, fetched)),
    replaced > 0 && fetched !== undefined ? lostCommits(repository, [fetched, `^${target.tip}`]) : undefined,
  ])
  const name = visiblePath(target.branch)
  const which = isRewritten ? `which ${replaced === 1 ? 'was' : 'were'} rewritten here` : `that ${name} does not have`
  const lost = `${words} loses ${many(replaced, 'commit')}${isRewritten ? ',' : ''} ${which}. Others may have built on ${replaced === 1 ? 'it' : 'them'}.`
  const warnings = [
    ...(replaced > 0 ? [lost] : []),
    ...(hasForge
      ? [`${FORGE_FOLDER}/ goes out too: the conversation with the AI is then public to all who can read ${words}.`]
      : []),
    ...(drafts > 0 ? [`Drafts in ${many(drafts, 'file')} of ${name} are not saved, so they are not pushed.`] : []),
    ...(hooks.length > 0 ? [`Hooks of this repository do not run: ${hooks.join(', ')}.`] : []),
  ]
  const notes = [
    ...(isForced && replaced === 0 && fetched !== target.tip
      ? [`As last fetched, ${words} has nothing to overwrite: a push does the same.`]
      : []),
    ...(setsUpstream ? [`${name} will track ${words}.`] : []),
  ]
  const shared = {
    conflicts: 0,
    before: target.tip,
    there: fetched ?? null,
    commits,
    brings,
    conflictsIn: [],
    ...(loses && { loses }),
  }
  return { ...shared, is, words: says, ...(is === 'nothing' ? { warnings: [] } : { warnings, notes }) }
}

/**
 * Throws a {@link Failure} if the remote branch, as last fetched, is not at the commit in the preview (null: there was
 * no such branch).
 */
export function verifyThere({ words, fetched, isForced }: PushPlan, previewed: Oid | null | undefined): void {
  if (previewed === undefined && !isForced) return
  if (previewed === undefined) throw new Failure(`A force push of ${words} needs a preview first: nothing was pushed.`)
  if (previewed !== (fetched ?? null))
    throw new Failure(`${words} was fetched since this preview: nothing was pushed. Review it again.`)
}

/** Pushes, and returns the result in words. Throws a {@link Failure} in one sentence. */
export async function push(transfers: Transfers, plan: PushPlan, signal: AbortSignal): Promise<string> {
  const { remotes, remote, target, ref, words, fetched, isForced, setsUpstream } = plan
  const { repository } = transfers.room.objects
  if (plan.is === 'nothing') throw new Failure(`Nothing to push: ${words} is up to date.`)
  const name = visiblePath(target.branch)
  if (fetched === target.tip) {
    await follow(repository, target.branch, remote, ref)
    return `${name} tracks ${words} now; there was nothing to push.`
  }
  // The previewed commit is pushed, whatever is saved meanwhile.
  const refspec = `${target.tip}:${asText(ref)}`
  const lease = isForced ? [`--force-with-lease=${asText(ref)}:${fetched ?? ''}`] : []
  const flags = ['--porcelain', '--progress', '--no-verify', '--no-follow-tags', '--no-recurse-submodules']
  const args = ['push', ...flags, ...lease, '--', asText(remote.name), refspec]
  let said: string[] = []
  try {
    await transfers.begin('Pushing', async () => {
      const { code, stdout, stderr, remote: lines } = await transfers.run(args, { remotes, signal, ok: [0, 1] })
      said = lines
      const rejected = /^!\t[^\t]*\t(.*)$/m.exec(stdout.toString())?.[1]
      if (rejected !== undefined) {
        // Fetches, so that the next preview shows what the remote has.
        if (BEHIND.test(rejected)) await fetchOne(transfers, remotes, remote, { signal, isFirst: true }).catch(() => {})
        throw new Failure(whyRejected(plan, rejected, lines))
      }
      if (code !== 0) throw new GitError('push', code, stderr, stdout.toString())
    })
  } catch (error) {
    if (error instanceof Stopped)
      throw new Failure(`The push was stopped: nothing moved here, and a fetch tells what ${words} has got.`)
    throw whyFailed(error, remotes, remote.name)
  }
  const lost = many(plan.replaced, 'commit')
  const done = [
    `Pushed ${name} to ${words}: ${many(plan.commits, 'commit')}.`,
    ...(plan.replaced > 0 ? [`${words} lost ${lost}: it was at ${fetched?.slice(0, 12)}.`] : []),
    ...said,
  ]
  // The push has succeeded, even if the configuration can't be written.
  if (setsUpstream)
    await follow(repository, target.branch, remote, ref).catch(() =>
      done.push(`But ${name} does not follow it: git could not write its configuration.`),
    )
  return done.join(' ')
}

/** Git's messages for a push rejected because the remote branch has moved since the last fetch. */
const BEHIND = /stale info|fetch first|non-fast-forward/

/** Why a remote rejected a branch, from the end of git's line about it. */
function whyRejected({ remotes, remote, words, target }: PushPlan, summary: string, lines: readonly string[]): string {
  const [, reason = summary] = /\((.*)\)\s*$/.exec(summary) ?? []
  const why = shown(remotes, reason)
  if (/stale info/.test(reason))
    return `Rejected: ${words} has moved since the last fetch, so nothing was overwritten. Review what is there now.`
  if (/fetch first|non-fast-forward/.test(reason))
    return `Rejected: ${words} has commits that ${visiblePath(target.branch)} does not have. Pull first, then push.`
  const said = lines.length > 0 ? `; ${lines.join(' ')}` : ''
  return `${visiblePath(remote.name)} rejected ${words} (${why}${said}): nothing was pushed.`
}

/** Writes the configuration of `git push --set-upstream`. */
async function follow(repository: Repository, branch: string, { name }: RemoteSettings, ref: RefName): Promise<void> {
  const key = `branch.${asText(branch)}`
  await setConfig(repository, `${key}.remote`, asText(name))
  await setConfig(repository, `${key}.merge`, asText(ref))
}
