/** A rebase: applies the commits of a branch since the merge base to another commit, as with `git rebase`. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Repository } from '../../../core/git/repository.ts'
import { read, run } from '../../../core/git/run.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { groupsOf } from '../conflicts/conflicts.ts'
import type { Source } from '../contract/steps.ts'
import type { Pace } from './picks.ts'
import { endedBy, planPicks, readCommit } from './picks.ts'
import { filesInConflict, notesOn, type StepPlan, type StepTarget, treeOfCommit } from './plan.ts'
import { everyTime, type Once } from './plannings.ts'

/** A rebase of more commits is refused. */
const MAX_COMMITS = 5000

/** Plans a rebase. `forkPoint`: a commit in the branch that is left out, with its history. */
export async function planRebase(
  objects: Objects,
  { branch, tip }: StepTarget,
  onto: Source,
  once: Once = everyTime,
  forkPoint?: Oid,
): Promise<StepPlan> {
  const { repository } = objects
  const [name, to] = [visiblePath(branch), visiblePath(onto.words)]
  const does = `rebase ${name} onto ${to}`
  const plan = { branch, before: tip, kind: 'rebase', does, onto: onto.commit, forkPoint, also: [] }
  if (forkPoint === undefined && (await isThere(repository, tip, onto.commit))) {
    const tree = await treeOfCommit(objects, tip)
    return { ...plan, is: 'nothing', words: 'nothing to do', chain: [], tree, commits: 0, warnings: [] }
  }
  const key = `rebase ${tip} ${onto.commit} ${forkPoint ?? ''} ${onto.words}`
  const { picks, commits, same } = await once(key, async pace => {
    const { commits, same } = await commitsToPick(objects, { tip, onto: onto.commit, forkPoint }, pace)
    if (commits.length > MAX_COMMITS)
      throw new Failure(`${many(commits.length, 'commit')} are too many to be rebased here: merge, or git rebase them.`)
    const rules = { does: 'rebase', ours: onto.words, of: commits.length, onto: onto.words } as const
    return { picks: await planPicks(objects, onto.commit, commits, rules, pace), commits, same }
  })
  const { chain, tree, dropped, stop } = picks
  const warnings = [
    ...(same > 0
      ? [`${many(same, 'commit')} that ${to} has already, as another commit, ${same === 1 ? 'is' : 'are'} left out.`]
      : []),
    ...dropped.map(({ subject }) => `“${visible(subject)}” changes nothing there any more, and is left out.`),
  ]
  const made = chain.filter(({ is }) => is === 'new').length + (stop ? 1 + stop.state.todo.length : 0)
  const left = { leftOut: dropped.map(({ subject }) => subject), notes: notesOn(stop) }
  const gone = new Set(dropped.map(({ commit }) => commit))
  const rebased = commits.filter(oid => !gone.has(oid))
  const shared = { ...plan, ...left, chain, tree, commits: made, rebased, warnings }
  if (!stop) return { ...shared, is: 'clean', words: chain.length === 0 ? 'moves the branch' : 'rebases cleanly' }
  const where = `${filesInConflict(groupsOf(stop.merge).length)}, at commit ${stop.state.number} of ${stop.state.of}`
  return { ...shared, is: 'conflicts', words: where, stop }
}

/** Whether a branch is already on top of a commit, without merges between. */
async function isThere(repository: Repository, tip: Oid, onto: Oid): Promise<boolean> {
  if (tip === onto) return true
  const behind = await read(repository, ['rev-list', '-n', '1', onto, `^${tip}`, '--'])
  if (behind !== '') return false
  return (await read(repository, ['rev-list', '-n', '1', '--min-parents=2', tip, `^${onto}`, '--'])) === ''
}

/** The commits to rebase, oldest first; those that already exist as another commit are only counted. */
async function commitsToPick(
  objects: Objects,
  { tip, onto, forkPoint }: { tip: Oid; onto: Oid; forkPoint: Oid | undefined },
  { signal }: Pace,
): Promise<{ commits: Oid[]; same: number }> {
  const how = ['--right-only', '--cherry-mark', '--no-merges', '--topo-order', '--reverse']
  const range = [`${onto}...${tip}`, ...(forkPoint === undefined ? [] : [`^${forkPoint}`])]
  const { stdout } = await run(endedBy(objects.repository, signal), ['rev-list', ...how, ...range, '--'])
  const commits: Oid[] = []
  let same = 0
  for (const line of stdout.toString('latin1').split('\n').filter(Boolean)) {
    const oid = line.replace(/^[+=]/, '')
    // Empty commits all count as equal to each other, so they are kept for their messages.
    if (line.startsWith('=') && !(await isEmptyCommit(objects, oid))) same++
    else commits.push(oid)
  }
  return { commits, same }
}

async function isEmptyCommit(objects: Objects, oid: Oid): Promise<boolean> {
  const { tree, parents } = await readCommit(objects, oid)
  const [parent] = parents
  return parent !== undefined && (await treeOfCommit(objects, parent)) === tree
}
