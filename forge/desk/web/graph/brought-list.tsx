/** The preview of a merge, a pull or a push: the commits that it brings, and those that it drops, newest first. */
import type { Brought, Lost } from '../../contract/steps.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'

/** `title`: what the step does with these commits, where it has more than one list. */
export function BroughtList({ count, newest, title }: Brought & { title?: string }) {
  if (newest.length === 0) return null
  return (
    <ul class="step-commits" aria-label={title ?? 'Commits'}>
      {title === undefined ? null : <li class="meta">{title}</li>}
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

/** The commits that a forced push drops from the remote branch. */
export function LostList({ count, newest }: Lost) {
  return (
    <ul class="step-commits" aria-label="Dropped commits">
      {newest.map(({ oid, subject, author }) => (
        <li key={oid} class="gone">
          <Icon name="trash" size="xs" tone="is-bad" />
          <span class="hash">{shortId(oid)}</span>
          <bdi class="cut subject">{withoutTricks(subject)}</bdi>
          <bdi class="cut meta">{withoutTricks(author)}</bdi>
          <span class="meta is-bad">dropped</span>
        </li>
      ))}
      {count > newest.length ? <li class="meta is-bad">and {count - newest.length} more dropped</li> : null}
    </ul>
  )
}
