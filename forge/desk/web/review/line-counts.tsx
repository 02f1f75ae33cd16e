/** The added and deleted lines of a file. */
import type { LineCount } from '../page/review-state.ts'
import { digits } from '../ui/times.ts'

export function LineCounts({ count }: { count: LineCount }) {
  const { added, deleted } = count
  return (
    <>
      <span class="num add-n">{added ? `+${digits(added)}` : ''}</span>
      <span class="num del-n">{deleted ? `−${digits(deleted)}` : ''}</span>
    </>
  )
}
