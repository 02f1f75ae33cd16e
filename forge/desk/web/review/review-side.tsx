/** The side bar of a review: its files. */
import type { RefObject } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import type { Change } from '../../contract/values.ts'
import { usePlace } from '../page/places.ts'
import { byKind, MAX_COMMITS_ONE_BY_ONE, type ReviewState } from '../page/review-state.ts'
import { type Tab, usePage } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import { shortId, withoutTricks } from '../ui/names.ts'
import { age, digits, plural } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { endingAlike } from '../ui/words.tsx'
import { ChangedPath, titleOf } from './changed-path.tsx'
import { LineCounts, UNCOUNTED, uncountedIn } from './line-counts.tsx'

const ROW_HEIGHT = 24
/** The row above the files of the conversation with the AI. */
const CONVERSATION = 'conversation' as const
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
  const { code } = byKind(changes)
  const shown = byKind(review.filtered)
  const rows = [
    ...shown.code,
    ...(shown.conversation.length > 0 ? [CONVERSATION] : []),
    ...(review.showsConversation.value ? shown.conversation : []),
  ]
  const alike = useMemo(() => endingAlike(changes.map(({ path }) => path)), [changes])
  const list = useRef<HTMLDivElement>(null)
  const added = code.reduce((sum, change) => sum + (change.added ?? 0), 0)
  const deleted = code.reduce((sum, change) => sum + (change.deleted ?? 0), 0)
  const uncounted = uncountedIn(code)
  // Of a branch, one commit after the other is reviewed; between two commits, they are listed beside all changes.
  const hasCommits = review.kind.value === (tab.at.kind === 'branch' ? 'commit' : 'all')
  return (
    <aside class="side" aria-label="Side bar">
      {hasCommits ? <Commits tab={tab} /> : null}
      <div class="side-head">
        <h2 class="grow">{isKnown ? countWords(shown.code.length, code.length) : 'Files'}</h2>
        {isKnown ? (
          <span class="meta">
            <span class="add-n">{added ? `+${digits(added)}` : ''}</span>{' '}
            <span class="del-n">{deleted ? `−${digits(deleted)}` : ''}</span>
          </span>
        ) : null}
      </div>
      {uncounted > 0 ? (
        <p class="meta no-row" title={UNCOUNTED}>
          The lines of {plural(uncounted, 'file')} are not counted
        </p>
      ) : null}
      {changes.length > 0 ? <FilterField review={review} list={list} /> : null}
      {changes.length > 0 && rows.length === 0 ? <p class="meta none">No results</p> : null}
      <VirtualList
        class="list"
        box={list}
        role="navigation"
        aria-label="Changed files"
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        active={rows.findIndex(row => row !== CONVERSATION && row.path === review.readPath.value)}
        row={index => {
          const row = rows[index]
          if (row === CONVERSATION) {
            return <ConversationHead key={row} review={review} count={shown.conversation.length} look="filerow plain" />
          }
          if (!row) return null
          return <ChangeRow key={row.path} review={review} change={row} isCutAtEnd={alike.has(row.path)} />
        }}
      />
      <LookedAtCount review={review} changes={code} />
    </aside>
  )
}

const countWords = (shown: number, all: number): string =>
  shown === all ? plural(all, 'file') : `${shown} of ${plural(all, 'file')}`

interface FilterProps {
  review: ReviewState
  list: RefObject<HTMLElement | null>
}

/**
 * The field that filters the list of files. Enter goes to the first file, the down arrow moves the focus to it, and
 * Escape ends the filter.
 */
function FilterField({ review, list }: FilterProps) {
  const field = usePlace<HTMLInputElement>('changed files filter')
  return (
    <div class="filter">
      <input
        ref={field}
        class="field"
        aria-label="Filter changed files"
        placeholder="Filter changed files"
        autocomplete="off"
        spellcheck={false}
        value={review.filter.value}
        onInput={event => {
          review.filter.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          const [first] = review.filtered
          if (event.key === 'Escape' && review.filter.peek() !== '') review.filter.value = ''
          else if (event.key === 'ArrowDown') list.current?.querySelector<HTMLElement>('.filerow')?.focus()
          else if (event.key === 'Enter' && first) review.select(first.path)
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
    </div>
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

interface ConversationHeadProps {
  review: Pick<ReviewState, 'showsConversation'>
  count: number
  look?: string
}

/** Folds and unfolds the files of the conversation with the AI, which are no code of the branch. */
export function ConversationHead({ review, count, look = 'conversation-head' }: ConversationHeadProps) {
  const { value: isOpen } = review.showsConversation
  return (
    <button
      type="button"
      class={look}
      aria-expanded={isOpen}
      onClick={() => {
        review.showsConversation.value = !isOpen
      }}
    >
      <Icon name={isOpen ? 'chevron-down' : 'chevron-right'} size="xs" />
      <span class="cut">Conversation with the AI</span>
      <span class="meta">{plural(count, 'file')}</span>
    </button>
  )
}

interface ChangeRowProps {
  review: ReviewState
  change: Change
  isCutAtEnd: boolean
}

function ChangeRow({ review, change, isCutAtEnd }: ChangeRowProps) {
  return (
    <button
      type="button"
      class="filerow"
      aria-current={review.readPath.value === change.path}
      title={titleOf(change)}
      onClick={() => review.select(change.path)}
    >
      <ChangeLetter status={change.status} />
      <ChangedPath of={change} isCutAtEnd={isCutAtEnd} />
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
          {digits(count)} of {digits(changes.length)}
        </span>
      </div>
      <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="b0" width="100" height="4" />
        <rect class="b1" width={(100 * count) / changes.length} height="4" />
      </svg>
    </div>
  )
}
