/** Words for the commits that a step leaves out, since they would change nothing. */
import { firstOf, many, visible } from '../../../core/text.ts'

/** At most this many commits are named in a message; for the others it gives their number. */
const MAX_NAMED_COMMITS = 3

/** Says which commits a step has left out, after a blank; empty if it has none. `of`: the number of all commits. */
export function leftOut(subjects: readonly string[], of: number): string {
  const names = subjects.map(subject => `“${visible(subject)}”`)
  if (names.length === 0) return ''
  if (names.length === 1) return ` ${names[0]} changed nothing any more, and was left out.`
  const named = firstOf(names, MAX_NAMED_COMMITS)
  return ` ${names.length} of ${many(of, 'commit')} changed nothing any more, and were left out: ${named}.`
}
