/**
 * The deletion of a branch or a tag on a remote, as previewed, and its undo, which pushes the same object there again.
 * Both are recorded as operations: of the tracking ref, or of the tag here, which is deleted together with that there.
 */
import { Failure } from '../../../core/failure.ts'
import { listRefs, type RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { GitError, read, run } from '../../../core/git/run.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { NewOperation, Recorded } from '../../operations.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { branchOfRef, HEADS } from '../branches/branches.ts'
import type { Reversed } from '../contract/branches.ts'
import type { Preview, Step } from '../contract/steps.ts'
import { fetchOne } from './fetch.ts'
import { Stopped } from './plannings.ts'
import { type RemoteSettings, type Remotes, readRemotes, remoteNamed, trackedRef, verifyUtf8 } from './remotes.ts'
import { refOf, TAGS } from './tag.ts'
import { shown, type Transfers, whyFailed } from './transfer.ts'
import { hooksFor } from './warnings.ts'

/** The step, and the kind of its operation: an undo or a redo of it is a push. */
export const DELETE_REMOTE_BRANCH = 'delete remote branch'
/** The kind of the operation that deletes a tag here and on a remote. */
const DELETE_REMOTE_TAG = 'delete remote tag'

/** Whether an operation has deleted something on a remote: its undo and redo are a push. */
export const isRemoteDeletion = (kind: string): boolean => [DELETE_REMOTE_BRANCH, DELETE_REMOTE_TAG].includes(kind)

export type DeleteRemoteBranchStep = Extract<Step, { step: typeof DELETE_REMOTE_BRANCH }>

const REMOTES = 'refs/remotes/'

/** A branch or a tag of a remote. */
type RemoteRef = {
  is: 'branch' | 'tag'
  remotes: Remotes
  remote: RemoteSettings
  /** The ref on the remote. */
  ref: RefName
  /** The ref that a fetch writes here; of a tag, the tag here. */
  tracking: RefName
  /** The names of the branch or tag, of the remote, and of both, on the screen. */
  name: string
  there: string
  words: string
}

/** The branch of a remote that a ref tracks. Throws a {@link Failure} if no remote is fetched to it, or several are. */
async function remoteBranchOf(repository: Repository, tracking: RefName): Promise<RemoteRef> {
  const remotes = await readRemotes(repository)
  const found = remotes.all.flatMap(remote => {
    const ref = tracking.startsWith(REMOTES) ? trackedRef(remote, tracking) : undefined
    return ref === undefined ? [] : [{ remote, ref }]
  })
  const [one] = found
  const words = visiblePath(tracking.replace(REMOTES, ''))
  if (!one || found.length > 1)
    throw new Failure(
      `${one ? 'Several remotes are' : 'No remote is'} fetched to ${words}: delete the branch with git push --delete.`,
    )
  verifyUtf8(one.remote.name)
  verifyUtf8(one.ref)
  const name = visiblePath(one.ref.startsWith(HEADS) ? branchOfRef(one.ref) : one.ref)
  const there = visiblePath(one.remote.name)
  return { is: 'branch', remotes, ...one, tracking, name, there, words: `${there}/${name}` }
}

/** A tag of a remote. Throws a {@link Failure} if there is no such remote. */
async function remoteTagOf(repository: Repository, ref: RefName, to: string): Promise<RemoteRef> {
  const remotes = await readRemotes(repository)
  const remote = remoteNamed(remotes, to)
  verifyUtf8(ref)
  const [name, there] = [visiblePath(ref.slice(TAGS.length)), visiblePath(remote.name)]
  return { is: 'tag', remotes, remote, ref, tracking: ref, name, there, words: `the tag ${name} on ${there}` }
}

/**
 * Deletes a tag here and on a remote, unless it is another one there. Returns the result in words. Throws a {@link
 * Failure} in one sentence.
 */
export async function deleteRemoteTag(
  transfers: Transfers,
  name: string,
  remote: string,
  signal: AbortSignal,
): Promise<string> {
  const { objects } = transfers.room
  const tag = await remoteTagOf(objects.repository, refOf(name), remote)
  const tip = (await objects.info(tag.ref))?.oid
  if (tip === undefined) throw new Failure(`There is no tag ${tag.name}.`)
  const words = `delete the tag ${tag.name} here and on ${tag.there}`
  return await pushDeletion(transfers, tag, tip, { kind: DELETE_REMOTE_TAG, words, remote }, signal)
}

/** The preview of a deletion. Throws a {@link Failure} if the branch is not known here. */
export async function previewRemoteDeletion(
  { objects }: BranchServices,
  { ref: tracking }: DeleteRemoteBranchStep,
): Promise<Preview> {
  const { repository } = objects
  const { words } = await remoteBranchOf(repository, tracking)
  const tip = (await objects.info(`${tracking}^{commit}`))?.oid
  if (tip === undefined) throw new Failure(`There is no ${words} here any more.`)
  const [own, hooks, followers] = await Promise.all([
    countOwn(repository, tracking, tip),
    hooksFor(repository, DELETE_REMOTE_BRANCH),
    followersOf(repository, tracking),
  ])
  const lost = `${many(own, 'commit')} that ${own === 1 ? 'is' : 'are'} on no other branch or tag`
  return {
    is: own === 0 ? 'clean' : 'drops',
    ...{ conflicts: 0, commits: 0, conflictsIn: [], there: tip },
    words: own === 0 ? `deletes ${words}` : `deletes ${words} with ${lost}`,
    warnings: hooks.length > 0 ? [`Hooks of this repository do not run: ${hooks.join(', ')}.`] : [],
    notes: [
      ...(own === 0 ? ['All of its commits are on other branches or tags, too.'] : []),
      ...followers.map(name => `The local branch ${name} stays, and keeps ${words} as its upstream.`),
    ],
  }
}

/** The number of commits that no other branch, remote branch or tag contains, as last fetched. */
async function countOwn(repository: Repository, tracking: RefName, tip: Oid): Promise<number> {
  const refs = await listRefs(repository, [REMOTES])
  // A symbolic ref, such as origin/HEAD, contains the commits only by the branch that it points to.
  const own = [tracking, ...refs.flatMap(({ name, symbolic }) => (symbolic === tracking ? [name] : []))]
  const excluded = own.map(ref => `--exclude=${asText(ref.slice(REMOTES.length))}`)
  const others = [...excluded, '--remotes', '--branches', '--tags']
  return Number(await read(repository, ['rev-list', '--count', tip, '--not', ...others]))
}

/** The names of the local branches whose upstream a ref is, for the screen. */
async function followersOf(repository: Repository, tracking: RefName): Promise<string[]> {
  const { stdout } = await run(repository, ['for-each-ref', '--format=%(refname)%00%(upstream)', HEADS])
  const pairs = stdout.toString('latin1').split('\n')
  return pairs.flatMap(pair => {
    const [ref = '', upstream] = pair.split('\0')
    return upstream === tracking ? [visiblePath(branchOfRef(ref))] : []
  })
}

/**
 * Deletes a branch on its remote, unless it has moved there since the preview, where it was at `previewed`. Returns the
 * result in words. Throws a {@link Failure} in one sentence.
 */
export async function deleteRemoteBranch(
  transfers: Transfers,
  { ref: tracking }: DeleteRemoteBranchStep,
  previewed: Oid | null | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { objects } = transfers.room
  const branch = await remoteBranchOf(objects.repository, tracking)
  const tip = (await objects.info(tracking))?.oid
  if (tip === undefined) throw new Failure(`There is no ${branch.words} here any more.`)
  if (tip !== previewed)
    throw new Failure(`${branch.words} was fetched since its preview: nothing was deleted. Review it again.`)
  const words = `delete the branch ${branch.name} on ${branch.there}`
  return await pushDeletion(transfers, branch, tip, { kind: DELETE_REMOTE_BRANCH, words }, signal)
}

/**
 * Undoes or redoes a deletion, of which `operation` is the last. Returns the result in words, with the ref that it is
 * about. Throws a {@link Failure} if the branch is not where that operation left it, here or on the remote.
 */
export async function reverseRemoteDeletion(
  transfers: Transfers,
  operation: Recorded,
  original: Recorded,
  signal: AbortSignal,
): Promise<Reversed> {
  const { objects } = transfers.room
  const [moved] = operation.refs
  if (!moved) throw new Error('The deletion of a remote branch has no ref')
  const { ref: tracking, before: to, after: from } = moved
  const { repository } = objects
  const { remote } = original
  const branch = await (remote === undefined
    ? remoteBranchOf(repository, tracking)
    : remoteTagOf(repository, tracking, remote))
  if ((await objects.info(tracking))?.oid !== from)
    throw new Failure(`${branch.words} has moved since: nothing was undone. Undo what came later first.`)
  const kind = operation.kind === 'undo' ? 'redo' : 'undo'
  const how = { kind, words: `${kind}: ${original.words}`, of: original.id }
  if (to !== undefined) await pushAgain(transfers, branch, to, how, signal)
  else if (from !== undefined) await pushDeletion(transfers, branch, from, how, signal)
  return { words: how.words, refs: [tracking], of: original.id }
}

type How = Pick<NewOperation, 'kind' | 'words' | 'of' | 'remote'>

/** Deletes a branch or tag on its remote if it is at `tip` there. If it is gone there, only the ref here is removed. */
async function pushDeletion(
  transfers: Transfers,
  branch: RemoteRef,
  tip: Oid,
  how: How,
  signal: AbortSignal,
): Promise<string> {
  const { is, name, there, words } = branch
  return await begun(transfers, branch, 'Deleting', async () => {
    const { rejected, said } = await push(transfers, branch, { from: tip, to: undefined }, signal)
    if (rejected === undefined) {
      await record(transfers, branch, { from: tip, to: undefined }, how)
      return [`Deleted the ${is} ${name} ${is === 'tag' ? 'here and ' : ''}on ${there}.`, ...said].join(' ')
    }
    if (!STALE.test(rejected)) throw new Failure(whyNotDeleted(branch, rejected, said))
    if (await isOnRemote(transfers, branch, signal)) {
      if (is === 'tag')
        throw new Failure(`${there} has another tag ${name}, so neither was deleted: delete only the one here.`)
      // Fetches, so that the next preview shows what the remote has.
      const { remotes, remote } = branch
      await fetchOne(transfers, remotes, remote, { signal, isFirst: true }).catch(() => {})
      throw new Failure(
        `Rejected: ${words} has moved since the last fetch, so it was not deleted. Review it, then delete it again.`,
      )
    }
    // Undone, the tracking ref comes back; nothing is pushed.
    const pruning =
      is === 'tag'
        ? { kind: 'delete tag', words: `delete the tag ${name}` }
        : { kind: 'prune', words: `remove ${words}, which is not on ${there} any more` }
    await record(transfers, branch, { from: tip, to: undefined }, pruning)
    return is === 'tag'
      ? `Deleted the tag ${name} here; ${there} does not have it.`
      : `${name} was deleted on ${there} already: removed ${words} here.`
  })
}

/** Pushes a deleted branch or tag to its remote again, if there is none of that name there. */
async function pushAgain(
  transfers: Transfers,
  branch: RemoteRef,
  to: Oid,
  how: How,
  signal: AbortSignal,
): Promise<void> {
  const { is, remotes, remote, name, there, words } = branch
  await begun(transfers, branch, 'Pushing', async () => {
    const { rejected, said } = await push(transfers, branch, { from: undefined, to }, signal)
    if (rejected === undefined) {
      await record(transfers, branch, { from: undefined, to }, how)
      return
    }
    if (!STALE.test(rejected)) {
      const why = [shown(remotes, rejected), ...said].join('; ')
      throw new Failure(`${there} rejected ${words} (${why}): nothing was undone.`)
    }
    await fetchOne(transfers, remotes, remote, { signal, isFirst: true }).catch(() => {})
    throw new Failure(`${there} has a ${is} ${name} again: nothing was undone.`)
  })
}

/** Runs a push, and turns its errors into sentences. */
async function begun<Result>(
  transfers: Transfers,
  { is, remotes, remote, there, name }: RemoteRef,
  what: string,
  task: () => Promise<Result>,
): Promise<Result> {
  try {
    return await transfers.begin(what, task)
  } catch (error) {
    if (error instanceof Stopped)
      throw new Failure(`The push was stopped: look on ${there} whether it has the ${is} ${name}.`)
    throw whyFailed(error, remotes, remote.name)
  }
}

/** Git's message for a branch that is not where the lease demands. */
const STALE = /stale info/

/** Moves a ref on its remote, with a lease on `from`. `rejected`: why the remote has not done so, in git's words. */
async function push(
  transfers: Transfers,
  { remotes, remote, ref }: RemoteRef,
  { from, to }: { from: Oid | undefined; to: Oid | undefined },
  signal: AbortSignal,
): Promise<{ rejected: string | undefined; said: string[] }> {
  const name = asText(ref)
  const flags = ['--porcelain', '--progress', '--no-verify', '--no-follow-tags', '--no-recurse-submodules']
  const lease = `--force-with-lease=${name}:${from ?? ''}`
  const args = ['push', ...flags, lease, '--', asText(remote.name), `${to ?? ''}:${name}`]
  const { code, stdout, stderr, remote: said } = await transfers.run(args, { remotes, signal, ok: [0, 1] })
  const printed = stdout.toString()
  const [, rejected] = /^!\t[^\t]*\t(.*)$/m.exec(printed) ?? []
  if (rejected === undefined && code !== 0) throw new GitError('push', code, stderr, printed)
  return { rejected: rejected === undefined ? undefined : (/\((.*)\)\s*$/.exec(rejected)?.[1] ?? rejected), said }
}

async function isOnRemote(
  transfers: Transfers,
  { remotes, remote, ref }: RemoteRef,
  signal: AbortSignal,
): Promise<boolean> {
  const args = ['ls-remote', '--', asText(remote.name), asText(ref)]
  const { stdout } = await transfers.run(args, { remotes, signal })
  return stdout
    .toString('latin1')
    .split('\n')
    .some(line => line.endsWith(`\t${ref}`))
}

/** Records the move of the ref here. Git's push has moved a tracking ref already. */
async function record(
  { room: { objects, operations } }: Transfers,
  { tracking }: RemoteRef,
  { from, to }: { from: Oid | undefined; to: Oid | undefined },
  how: How,
): Promise<void> {
  const now = (await objects.info(tracking))?.oid
  const moves = now === to ? [] : [{ ref: tracking, from: now, to }]
  await operations.record({ ...how, moves, refs: [{ ref: tracking, before: from, after: to }] })
}

/** Why a remote has not deleted a branch, and what to do next. */
function whyNotDeleted({ remotes, name, there }: RemoteRef, reason: string, said: readonly string[]): string {
  const why = [shown(remotes, reason), ...said].join('; ')
  if (/delet\w+ (of )?the current branch/.test(why))
    return `${name} is the default branch of ${there}, which can't be deleted: choose another one there first (${why}).`
  if (/protected/i.test(why))
    return `${name} is protected on ${there}, so it was not deleted: remove the protection there first (${why}).`
  if (/denied|not allowed|permission|forbidden/i.test(why))
    return `${there} does not let you delete ${name}: ask a maintainer to delete it (${why}).`
  return `${there} did not delete ${name} (${why}).`
}
