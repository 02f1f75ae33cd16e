/** A move of a branch to any commit: a reset, which has to be confirmed. */
import type { Objects } from '../../../core/git/objects.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { firstOf, many, visible, visiblePath } from '../../../core/text.ts'
import type { Source } from '../contract/steps.ts'
import { countBetween } from './merge.ts'
import { type StepPlan, type StepTarget, treeOfCommit } from './plan.ts'

/** Of the commits that are on no branch any more after the move, at most this many are named. */
const MAX_NAMED_COMMITS = 3

export async function planMove(objects: Objects, { branch, tip }: StepTarget, to: Source): Promise<StepPlan> {
  const { repository } = objects
  const [name, where] = [visiblePath(branch), visiblePath(to.words)]
  const plan = { branch, before: tip, kind: 'move branch', does: `move ${name} to ${where}`, onto: to.commit, also: [] }
  const tree = await treeOfCommit(objects, to.commit)
  if (tip === to.commit)
    return { ...plan, is: 'nothing', words: 'nothing to do', chain: [], tree, commits: 0, warnings: [] }
  const [lost, dropped, ahead] = await Promise.all([
    lostBy(repository, branch, tip, to.commit),
    countBetween(repository, to.commit, tip),
    countBetween(repository, tip, to.commit),
  ])
  const words =
    dropped === 0 ? 'moves the branch' : `drops ${many(dropped, 'commit')}${whereElse(dropped, lost.length)}`
  // The warning is repeated in the message after the step, which offers Undo.
  const how = dropped === 0 ? '' : `: ${words}`
  const named = lost.map(subject => `“${visible(subject)}”`)
  const they = lost.length === 1 ? 'the operation keeps it' : 'the operation keeps them'
  const warnings =
    lost.length === 0
      ? []
      : [`No other branch or tag has ${firstOf(named, MAX_NAMED_COMMITS)}: ${they}, and can be undone.`]
  return { ...plan, how, is: dropped === 0 ? 'clean' : 'drops', words, chain: [], tree, commits: ahead, warnings }
}

/** Whether other branches and tags contain the commits that leave a branch, as the end of a sentence. */
function whereElse(dropped: number, lost: number): string {
  if (lost === 0) return dropped === 1 ? ' that is on another branch or tag' : ', all on other branches or tags'
  return lost === dropped ? '' : `, ${lost} of them on no other branch or tag`
}

/** At most this many bytes of subjects are read. */
const MAX_SUBJECTS_BYTES = 1 << 20

/** The subjects of the commits that no other branch contains after a branch is moved. */
async function lostBy(repository: Repository, branch: string, from: Oid, to: Oid): Promise<string[]> {
  const others = [`--exclude=${asText(branch)}`, '--branches', '--tags', '--remotes']
  const log = ['log', '--encoding=UTF-8', '--format=%s', from, '--not', to, ...others, '--']
  const { stdout } = await run(repository, log, { limit: MAX_SUBJECTS_BYTES })
  return stdout.toString().split('\n').slice(0, -1)
}
