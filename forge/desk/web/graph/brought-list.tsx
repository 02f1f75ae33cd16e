/** The preview of a merge, a pull or a push: the commits that it brings, newest first. */
import type { Brought } from '../../contract/steps.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'

export function BroughtList({ count, newest }: Brought) {
  if (newest.length === 0) return null
  return (
    <ul class="step-commits" aria-label="Commits">
      {newest.map(({ oid, subject }) => (
        <li key={oid}>
          <Icon name="commit" size="xs" />
          <span class="hash">{shortId(oid)}</span>
          <bdi class="cut subject">{withoutTricks(subject)}</bdi>
        </li>
      ))}
      {count > newest.length ? <li class="meta">and {count - newest.length} more</li> : null}
    </ul>
  )
}
