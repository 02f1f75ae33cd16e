/** How many lines of a file were added and deleted. */
import type { LineCount } from '../page/review-state.ts'

export function LineCounts({ count }: { count: LineCount }) {
  const { added, deleted } = count
  return (
    <>
      <span class="num add-n">{added ? `+${added}` : ''}</span>
      <span class="num del-n">{deleted ? `−${deleted}` : ''}</span>
    </>
  )
}
