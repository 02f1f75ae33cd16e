/** The commits of a branch that its upstream had before and has dropped since, as after a force-push. */
import type { RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import type { Brought } from '../contract/steps.ts'
import { broughtCommits } from './brought-commits.ts'

/** `forkPoint`: the newest commit of the branch that the upstream had before it was rewritten. */
export type DroppedUpstream = { forkPoint: Oid; commits: Brought }

/**
 * What a branch has of the upstream that `upstream`, its commit now, lacks. It is known from the reflog of the tracking
 * ref, as with `git merge-base --fork-point`: without a reflog, as in many bare repositories, nothing is found.
 */
export async function droppedUpstream(
  repository: Repository,
  tracking: RefName,
  { tip, upstream }: { tip: Oid; upstream: Oid },
): Promise<DroppedUpstream | undefined> {
  const { stdout } = await run(repository, ['merge-base', '--fork-point', asText(tracking), tip], { ok: [0, 1] })
  const forkPoint = stdout.toString().trim()
  if (forkPoint === '') return undefined
  const commits = await broughtCommits(repository, [forkPoint, `^${upstream}`])
  return commits.count === 0 ? undefined : { forkPoint, commits }
}
