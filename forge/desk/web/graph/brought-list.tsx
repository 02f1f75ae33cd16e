/** The preview of a merge, a pull or a push: the commits that it brings, newest first. */
import type { Preview } from '../../contract/steps.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'

interface Props {
  commits: NonNullable<Preview['brings']>
  /** The number of all commits, of which only the newest are listed. */
  count: number
}

export function BroughtList({ commits, count }: Props) {
  if (commits.length === 0) return null
  return (
    <ul class="step-commits" aria-label="Commits">
      {commits.map(({ oid, subject }) => (
        <li key={oid}>
          <Icon name="commit" size="xs" />
          <span class="hash">{shortId(oid)}</span>
          <bdi class="cut subject">{withoutTricks(subject)}</bdi>
        </li>
      ))}
      {count > commits.length ? <li class="meta">and {count - commits.length} more</li> : null}
    </ul>
  )
}
