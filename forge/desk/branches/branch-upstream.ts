/** Sets and unsets the upstream of a branch, which is in git's configuration, as operations that can be undone. */
import { Failure } from '../../../core/failure.ts'
import type { RefName } from '../../../core/git/refs.ts'
import { asText, type Repository } from '../../../core/git/repository.ts'
import { read, run } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Recorded, Upstream } from '../../operations.ts'
import { type How, trackRef } from './branch-operations.ts'
import { branchOfRef, headRef, nameOfUpstream } from './branches.ts'
import type { OpenBranches } from './open-branches.ts'

/** Sets the upstream of a branch to a ref; null unsets it. */
export async function setUpstream(branches: OpenBranches, name: string, upstream: RefName | null): Promise<void> {
  const { objects } = branches.room
  const { repository } = objects
  const words = visiblePath(name)
  if (!(await objects.info(headRef(name)))) throw new Failure(`There is no branch ${words}.`)
  if (upstream !== null && !(await objects.info(upstream)))
    throw new Failure(`There is no ${visiblePath(nameOfUpstream(upstream))} any more: fetch, or choose another one.`)
  const before = await upstreamOf(repository, name)
  if (upstream === null && !before) throw new Failure(`${words} has no upstream.`)
  if (upstream === null) await unset(repository, name)
  else await trackRef(repository, name, upstream)
  const does =
    upstream === null
      ? `unset the upstream of ${words}`
      : `set the upstream of ${words} to ${visiblePath(nameOfUpstream(upstream))}`
  await recordChange(branches, name, { kind: 'upstream', words: does }, before)
}

/** Undoes or redoes such an operation. Throws a {@link Failure} if the upstream is another one by now. */
export async function reverseUpstream(branches: OpenBranches, { refs, upstream }: Recorded, how: How): Promise<void> {
  const { repository } = branches.room.objects
  const name = branchOfRef(refs[0]?.ref ?? '')
  const now = await upstreamOf(repository, name)
  if (now?.remote !== upstream?.after?.remote || now?.merge !== upstream?.after?.merge)
    throw new Failure(`The upstream of ${visiblePath(name)} has changed since: nothing was undone.`)
  const before = upstream?.before
  if (before) {
    await run(repository, ['config', '--replace-all', `branch.${asText(name)}.remote`, asText(before.remote)])
    await run(repository, ['config', '--replace-all', `branch.${asText(name)}.merge`, asText(before.merge)])
  } else await unset(repository, name)
  await recordChange(branches, name, how, now)
}

const unset = (repository: Repository, name: string) =>
  run(repository, ['branch', '--quiet', '--unset-upstream', asText(name)])

/** The configured upstream of a branch. */
async function upstreamOf(repository: Repository, name: string): Promise<Upstream | undefined> {
  const [remote, merge] = await Promise.all(
    ['remote', 'merge'].map(key =>
      read(repository, ['config', '--get', `branch.${asText(name)}.${key}`], { ok: [0, 1] }),
    ),
  )
  return remote && merge ? { remote, merge } : undefined
}

/** Records that the upstream of a branch has changed. No ref moves: the branch's is named, since it is about that. */
async function recordChange(branches: OpenBranches, name: string, how: How, before: Upstream | undefined) {
  const { objects, operations, say } = branches.room
  const tip = (await objects.info(headRef(name)))?.oid
  const after = await upstreamOf(objects.repository, name)
  await operations.record({
    ...how,
    moves: [],
    refs: [{ ref: headRef(name), before: tip, after: tip }],
    upstream: { ...(before && { before }), ...(after && { after }) },
  })
  say({ say: 'branch', branch: name })
}
