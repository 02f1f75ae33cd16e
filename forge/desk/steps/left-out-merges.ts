/** Warns of merge commits with changes of their own, which a rebase leaves out as `git rebase` does. */
import { subjectOf } from '../../../core/git/history.ts'
import { mergeMany } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { firstOf, many, visible } from '../../../core/text.ts'
import { withOwnFolder } from '../branches/forge-folder.ts'
import { isClean } from '../conflicts/conflicts.ts'
import { readCommit } from './picks.ts'
import { type StepPlan, treeOfCommit } from './plan.ts'

/** At most this many merge commits, the newest, are made again, to see whether they have changes of their own. */
const MAX_COMPARED_MERGES = 32
/** At most this many merge commits are named in a warning. */
const MAX_NAMED_MERGES = 3

/** A merge commit of two parents. */
type Merge = { oid: Oid; ours: Oid; theirs: Oid }

/**
 * Warnings about the merge commits that a rebase leaves out: those that differ from what git makes of their parents,
 * and those that are not compared with that, since there are very many of them or they have more than two parents.
 */
export async function mergesLeftOut(
  objects: Objects,
  { before, onto, forkPoint }: Pick<StepPlan, 'before' | 'onto' | 'forkPoint'>,
): Promise<string[]> {
  const { repository } = objects
  const range = [before, ...[onto, forkPoint].flatMap(oid => (oid === undefined ? [] : [`^${oid}`]))]
  const listed = await read(repository, ['rev-list', '--min-parents=2', '--parents', ...range, '--'])
  const all = listed.split('\n').filter(Boolean)
  const merges = all.slice(0, MAX_COMPARED_MERGES).flatMap((line): Merge[] => {
    const [oid = '', ours = '', theirs = '', third] = line.split(' ')
    return third === undefined ? [{ oid, ours, theirs }] : []
  })
  const own = await withOwnChanges(objects, merges)
  const others = all.length - merges.length
  return [...(own.length > 0 ? [await leftOutInWords(objects, own)] : []), ...(others > 0 ? [notCompared(others)] : [])]
}

function notCompared(count: number): string {
  const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them']
  return `${many(count, 'merge commit')} ${are} left out without a look at what was changed in ${them}.`
}

async function leftOutInWords(objects: Objects, merges: readonly Oid[]): Promise<string> {
  const commits = await Promise.all(merges.slice(0, MAX_NAMED_MERGES).map(oid => readCommit(objects, oid)))
  const names = merges.map((oid, at) => {
    const commit = commits[at]
    return commit ? `“${visible(subjectOf(commit))}”` : oid
  })
  const [which, are, them] = merges.length === 1 ? ['The merge', 'is', 'it'] : ['The merges', 'are', 'them']
  return `${which} ${firstOf(names, MAX_NAMED_MERGES)} ${are} left out, and with ${them} what was changed in the merge itself, such as resolved conflicts.`
}

/** Those of some merges whose files are not what git makes of their parents. The .forge folder does not count. */
async function withOwnChanges(objects: Objects, merges: readonly Merge[]): Promise<Oid[]> {
  if (merges.length === 0) return []
  const pairs = merges.map(({ ours, theirs }) => [ours, theirs] as const)
  const made = await mergeMany(objects.repository, pairs, objects)
  const isOwn = await Promise.all(
    merges.map(async ({ oid, ours }, at) => {
      const byGit = made[at]
      if (!byGit) return true
      const byDesk = await withOwnFolder(objects, ours, byGit)
      return !isClean(byDesk) || ![byGit.tree, byDesk.tree].includes(await treeOfCommit(objects, oid))
    }),
  )
  return merges.flatMap(({ oid }, at) => (isOwn[at] ? [oid] : []))
}
