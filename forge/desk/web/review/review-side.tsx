/** The side bar of a review: its files. */
import type { Change } from '../../contract/values.ts'
import { MAX_COMMITS_ONE_BY_ONE, type ReviewState } from '../page/review-state.ts'
import { type Tab, usePage } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'
import { age, plural } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { ChangedPath, titleOf } from './changed-path.tsx'
import { LineCounts } from './line-counts.tsx'

const ROW_HEIGHT = 24
const LETTERS: Record<Change['status'], { letter: string; look: string }> = {
  added: { letter: 'A', look: 'is-ok' },
  changed: { letter: 'M', look: 'is-you' },
  deleted: { letter: 'D', look: 'is-bad' },
  renamed: { letter: 'R', look: 'is-theirs' },
  mode: { letter: 'm', look: '' },
}

export function ReviewSide({ tab }: { tab: Tab }) {
  const { review } = tab
  const isKnown = review.latest.value !== undefined
  const changes = review.latest.value ?? []
  const added = changes.reduce((sum, change) => sum + (change.added ?? 0), 0)
  const deleted = changes.reduce((sum, change) => sum + (change.deleted ?? 0), 0)
  // Of a branch, one commit after the other is reviewed; between two commits, they are listed beside all changes.
  const hasCommits = review.kind.value === (tab.at.kind === 'branch' ? 'commit' : 'all')
  return (
    <aside class="side" aria-label="Side bar">
      {hasCommits ? <Commits tab={tab} /> : null}
      <div class="side-head">
        <h2 class="grow">{isKnown ? plural(changes.length, 'file') : 'Files'}</h2>
        {isKnown ? (
          <span class="meta">
            <span class="add-n">{added ? `+${added}` : ''}</span>{' '}
            <span class="del-n">{deleted ? `−${deleted}` : ''}</span>
          </span>
        ) : null}
      </div>
      <VirtualList
        class="list"
        role="navigation"
        aria-label="Changed files"
        count={changes.length}
        rowHeight={ROW_HEIGHT}
        active={changes.findIndex(({ path }) => path === review.readPath.value)}
        row={index => {
          const change = changes[index]
          return change ? <ChangeRow key={change.path} review={review} change={change} /> : null
        }}
      />
      <LookedAtCount review={review} changes={changes} />
    </aside>
  )
}

/** A letter for the kind of change, and the word for assistive technology. */
export function ChangeLetter({ status }: { status: Change['status'] }) {
  const { letter, look } = LETTERS[status]
  return (
    <span class={`letter ${look}`}>
      <span aria-hidden="true">{letter}</span>
      <span class="vh">{status}</span>
    </span>
  )
}

function ChangeRow({ review, change }: { review: ReviewState; change: Change }) {
  return (
    <button
      type="button"
      class="filerow"
      aria-current={review.readPath.value === change.path}
      title={titleOf(change)}
      onClick={() => {
        review.current.value = { path: change.path }
      }}
    >
      <ChangeLetter status={change.status} />
      <ChangedPath of={change} />
      <LineCounts count={change} />
      {review.isLookedAt(change) ? <Icon name="check" size="xs" /> : <span />}
    </button>
  )
}

function Commits({ tab: { at, review } }: { tab: Tab }) {
  const page = usePage()
  const commits = review.commits.value
  return (
    <>
      <div class="side-head">
        <h2 class="grow">
          {commits.length < MAX_COMMITS_ONE_BY_ONE
            ? plural(commits.length, 'commit')
            : `The newest ${MAX_COMMITS_ONE_BY_ONE} commits`}
        </h2>
      </div>
      <div class="list commits">
        {commits.map(({ oid, subject, committed, model }) => (
          <button
            key={oid}
            type="button"
            class="step"
            aria-current={at.kind === 'branch' && review.commit.value === oid}
            title={`${shortId(oid)} ${withoutTricks(subject)}`}
            onClick={() => {
              if (at.kind === 'branch') review.commit.value = oid
              else page.open({ kind: 'commit', commit: oid }).show({ kind: 'review' })
            }}
          >
            <Icon name={model ? 'bot' : 'user'} tone={model ? 'by-ai' : ''} />
            <bdi class="cut">{withoutTricks(subject)}</bdi>
            <span class="meta">{age(committed)}</span>
          </button>
        ))}
      </div>
    </>
  )
}

function LookedAtCount({ review, changes }: { review: ReviewState; changes: Change[] }) {
  const page = usePage()
  const count = changes.filter(change => review.isLookedAt(change)).length
  if (changes.length === 0 || !page.desk.value) return null
  return (
    <div class="foot">
      <div class="row">
        <span class="grow">Viewed</span>
        <span>
          {count} of {changes.length}
        </span>
      </div>
      <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="b0" width="100" height="4" />
        <rect class="b1" width={(100 * count) / changes.length} height="4" />
      </svg>
    </div>
  )
}
