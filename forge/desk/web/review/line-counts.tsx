/** The added and deleted lines of a file. */
import type { LineCount } from '../page/review-state.ts'
import { digits } from '../ui/times.ts'

/** Why the lines of a file are not counted. */
export const UNCOUNTED = 'The lines of binary files, and of files larger than 2 MB, are not counted.'

/** The number of files that a sum of lines leaves out; 0 where no lines are counted, so that there is no sum. */
export function uncountedIn(changes: readonly LineCount[]): number {
  const uncounted = changes.filter(({ added }) => added === undefined).length
  return uncounted === changes.length ? 0 : uncounted
}

export function LineCounts({ count }: { count: LineCount }) {
  const { added, deleted } = count
  return (
    <>
      <span class="num add-n">{added ? `+${digits(added)}` : ''}</span>
      <span class="num del-n">{deleted ? `−${digits(deleted)}` : ''}</span>
    </>
  )
}
