/** The request to an AI to resolve the conflicts of a waiting merge. */

import type { Path } from '../../../core/git/repository.ts'
import { many, visiblePath } from '../../../core/text.ts'
import { type ConflictRow, namesIn, type StoredMerging } from '../branches/merging-commits.ts'
import type { MergingFile } from '../contract/merging.ts'

/** The number of an open conflict in a file, and the line of its first marker. */
export type ConflictPlace = { line: number; number: number; of: number }

/** The conflicts that an AI is asked to resolve: those of some files, or only one of them. */
export type Asked = { paths: Path[]; isOne: boolean }

/**
 * The text of the request. It contains no content of files, which the AI reads itself and which is untrusted. `only`:
 * one conflict of the first file.
 */
export function requestOf(
  state: StoredMerging,
  open: readonly { row: ConflictRow; file: MergingFile }[],
  only?: ConflictPlace,
): string {
  const [ours, theirs] = [visiblePath(state.ours), visiblePath(state.theirs)]
  const what = whatIsDone(state.does, ours, theirs)
  const lines = open.map(({ row, file }) => {
    const marks = row.mark === undefined ? '' : `; its marks are ${row.mark} characters long`
    const left = row.mark === undefined ? '' : `, ${many(file.left, 'conflict')} left`
    return `- \`${visiblePath(row.path)}\` (${row.kind}${left}): ${file.words ?? 'in conflict'}${marks}`
  })
  const isNamed = open.some(({ row }) => namesIn(row) !== undefined)
  const named = isNamed ? ' Of a file that both sides renamed, settle the text alone: the person chooses the name.' : ''
  const wanted =
    only === undefined
      ? 'Settle them.'
      : `Settle one conflict of it and no other: the one that begins in line ${only.line}, number ${only.number} of the \
${only.of} that are left. All others stay as they are, with their marks: the person settles them.`
  return `${what}, and git could not settle ${only === undefined ? 'these files' : 'this file'}:

${(only === undefined ? lines : lines.slice(0, 1)).join('\n')}

${wanted} In a text, each conflict stands between marks in git's diff3 style: first the lines of ${ours}, then, \
after the line of bars, those that both were made from, then, after the line of equals signs, those of ${theirs}. Find \
out what each side wanted, and write what does both. Take all marks out of what you have settled, and change nothing \
that is in no conflict, except where it has to follow. What you can't decide leave as it is, with its marks, and say \
what the person has to know to decide it. A file that one side deleted is there with what the other made of it: delete \
it, carry its change to where it belongs now, or leave it and say why.${named} Nothing is committed when you are done: the \
person looks at it first.`
}

function whatIsDone(does: StoredMerging['does'], ours: string, theirs: string): string {
  if (does === 'revert') return `A commit of ${ours} is being reverted to its ${theirs}`
  if (does === 'rebase' || does === 'cherry-pick') return `The commit ${theirs} is being put on ${ours}`
  return `${theirs} is being merged into ${ours}`
}
