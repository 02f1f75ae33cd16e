/** The added and deleted lines of a file. */
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
