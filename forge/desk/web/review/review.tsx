/** The review: the list of files at the side, and their diffs one below the other. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { CommitRow } from '../../contract/reading.ts'
import type { Change } from '../../contract/values.ts'
import { useMergingFile } from '../merging/merging-pane.tsx'
import { branchOf } from '../page/branch-facts.ts'
import { type CommentPlace, isSamePlace } from '../page/comment-draft.ts'
import { compareWith } from '../page/comparing.ts'
import { SESSION } from '../page/conversation-files.ts'
import { usePlace } from '../page/places.ts'
import { byKind, FILES_AT_ONCE, type Kind, ReviewState } from '../page/review-state.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import { Failed } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { readable, shortId, withoutTricks } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { onTabKeys } from '../ui/tab-keys.ts'
import { ago } from '../ui/times.ts'
import { ActionIcon, Button, Empty, Waiting } from '../ui/words.tsx'
import { BaseName } from './base-dialog.tsx'
import { Blobs } from './blobs.tsx'
import { ChangedPath } from './changed-path.tsx'
import { beginComment, CommentCount, commentsAt, HiddenComments, LineComments, OtherComments } from './comments.tsx'
import { type DiffLine, lineIn, textAt } from './diff.ts'
import type { DiffComments } from './diff-view.tsx'
import { LineCounts } from './line-counts.tsx'
import { reviewActions } from './review-actions.ts'
import { ConversationHead } from './review-side.tsx'
import { useScrollPlace } from './scroll-place.ts'
import { useCommit } from './use-commit.ts'

/** The review of a branch. `children`: shown above the changes. */
export function ReviewPane({ tab, children }: { tab: Tab; children: ComponentChildren }) {
  const { review } = tab
  const page = usePage()
  useEffect(() => review.watch(), [review])
  const isAgainstRemote = review.chosenBase.value?.kind === 'remote branch'
  useEffect(() => (isAgainstRemote ? page.graph.followRefs() : undefined), [page, isAgainstRemote])
  return (
    <>
      <ReviewBar tab={tab} />
      {children}
      <Diffs tab={tab} />
    </>
  )
}

function ReviewBar({ tab }: { tab: Tab }) {
  const { review } = tab
  const page = usePage()
  const isBranch = tab.at.kind === 'branch'
  const { value: kind } = review.kind
  // Unsaved and incoming changes are those since a commit of the branch itself, whatever the base is.
  const hasBase = !isBranch || (kind !== 'unsaved' && kind !== 'came in')
  return (
    <div class="review-bar of-review">
      {hasBase ? (
        <div class="review-base">
          <BaseChoice tab={tab} choose={() => compareWith(page, tab)} />
          {!isBranch && kind === 'all' ? (
            <Button
              look="quiet small"
              words="Only this commit"
              onClick={() => {
                review.kind.value = 'commit'
              }}
            />
          ) : null}
        </div>
      ) : null}
      <div class="review-ways">
        <CommentCount tab={tab} />
        {isBranch ? <KindTabs review={review} /> : null}
        <ActionIcon action={reviewActions.sideBySide} about={tab} isPressed={review.isSideBySide.value} />
        <ActionIcon action={reviewActions.ignoreWhitespace} about={tab} isPressed={review.ignoresBlanks.value} />
      </div>
    </div>
  )
}

const WAYS = {
  base: 'Only what changed here since the merge base',
  straight: 'All differences between the two',
}

function BaseChoice({ tab, choose }: { tab: Tab; choose: () => void }) {
  const { review } = tab
  const isOneCommit = tab.at.kind === 'commit' && review.kind.value === 'commit'
  const { commit } = useCommit(isOneCommit && tab.at.kind === 'commit' ? tab.at.commit : undefined)
  const base = isOneCommit ? undefined : review.base
  const way = review.isStraight.value ? 'straight' : 'base'
  return (
    <>
      <button type="button" class="pick base-pick" aria-haspopup="dialog" onClick={choose}>
        <Icon name="compare" />
        <span>against</span>
        {base ? (
          <span class="strong">
            <BaseName of={base} />
          </span>
        ) : (
          <span class="strong">{isOneCommit ? parentWords(commit?.row.parents.length) : 'its last commit'}</span>
        )}
      </button>
      {base && base.kind !== 'own merge' && review.kind.value === 'all' ? (
        <label class="pick" title={WAYS[way]}>
          <span class="vh">Compared</span>
          <select
            aria-label="Compared"
            value={way}
            onChange={event => {
              review.isStraight.value = event.currentTarget.value === 'straight'
            }}
          >
            <option value="base">from the merge base</option>
            <option value="straight">straight</option>
          </select>
        </label>
      ) : null}
    </>
  )
}

/** What a commit is compared with, by the number of its parents; undefined while that is unknown. */
function parentWords(parents: number | undefined): string {
  if (parents === 0) return 'an empty tree'
  return parents === undefined || parents === 1 ? 'its parent' : 'its first parent'
}

const KINDS: { kind: Kind; words: string }[] = [
  { kind: 'all', words: 'All changes' },
  { kind: 'commit', words: 'By commit' },
  { kind: 'unsaved', words: 'Unsaved changes' },
]
const CAME_IN = { kind: 'came in', words: 'Incoming changes' } as const

function KindTabs({ review }: { review: ReviewState }) {
  return (
    <div class="pill-tabs" role="tablist" aria-label="What to review" onKeyDown={onTabKeys}>
      {[...KINDS, ...(review.cameIn.value ? [CAME_IN] : [])].map(({ kind, words }) => {
        const isSelected = review.kind.value === kind
        return (
          <button
            key={kind}
            type="button"
            role="tab"
            aria-selected={isSelected}
            tabIndex={isSelected ? 0 : -1}
            onClick={() => {
              review.kind.value = kind
            }}
          >
            {words}
          </button>
        )
      })}
    </div>
  )
}

function Diffs({ tab }: { tab: Tab }) {
  const { review } = tab
  const count = review.filesShown
  const box = usePlace<HTMLElement>('diffs')
  const changes = review.latest.value
  const { code, conversation } = byKind(changes ?? [])
  const onScroll = useScrollPlace(review, box, changes)
  const more = code.length - count.value
  const isAsking = changes === undefined && review.problem.value === undefined
  return (
    // The section scrolls, and stays when the comparison changes, so the keyboard must be able to focus it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section ref={box} class="diffs" tabIndex={0} aria-label="Diff" aria-busy={isAsking} onScroll={onScroll}>
      {review.problem.value === undefined ? null : (
        <Failed title="The changes could not be loaded" problem={review.problem.value} again={() => review.refresh()} />
      )}
      {changes?.length === 0 ? <NoChanges review={review} branch={branchOf(tab)} /> : null}
      {isAsking ? <Waiting words="Comparing" /> : null}
      <OtherComments tab={tab} />
      {code.slice(0, count.value).map(change => (
        <FileDiff key={review.keyOf(change.path)} tab={tab} change={change} />
      ))}
      {more > 0 ? (
        <Button
          words={`Show ${Math.min(more, FILES_AT_ONCE)} of ${more} more files`}
          look="more"
          onClick={() => {
            count.value += FILES_AT_ONCE
          }}
        />
      ) : null}
      {conversation.length > 0 ? <ConversationHead review={review} count={conversation.length} /> : null}
      {review.showsConversation.value
        ? conversation.map(change => <FileDiff key={review.keyOf(change.path)} tab={tab} change={change} />)
        : null}
    </section>
  )
}

const nameOf = ({ base }: ReviewState): string => (base ? readable(base.name) : 'its last commit')

function NoChanges({ review, branch }: { review: ReviewState; branch: string | undefined }) {
  const { containedBy } = review
  if (branch !== undefined && containedBy.value)
    return <Contained review={review} branch={branch} merge={containedBy.value.merge} />
  return (
    <Empty title="No changes">
      <p class="lede">{emptyWords(review)}</p>
      {review.kind.value === 'unsaved' ? (
        <p class="after">
          <Button
            look="main"
            words={reviewActions.all.label}
            onClick={() => {
              review.kind.value = 'all'
            }}
          />
        </p>
      ) : null}
    </Empty>
  )
}

/** For a branch whose commits are all in the base: says which merge brought them there, and offers to review it. */
function Contained({ review, branch, merge }: { review: ReviewState; branch: string; merge: CommitRow | undefined }) {
  const before = merge?.parents[0]
  return (
    <Empty title={merge ? 'Already merged' : 'No commits of its own'}>
      <p class="lede">
        {nameOf(review)} has all commits of {readable(branch)} already.
      </p>
      {merge ? (
        <p class="lede">
          Merged {ago(merge.committed)} by <span class="mono">{shortId(merge.oid)}</span>{' '}
          <bdi>{withoutTricks(merge.subject)}</bdi>
        </p>
      ) : null}
      {before === undefined ? null : (
        <p class="after">
          <Button look="main" words="Review as it was merged" onClick={() => review.compareAsMerged(before)} />
        </p>
      )}
    </Empty>
  )
}

function emptyWords(review: ReviewState): string {
  if (review.kind.value === 'unsaved') return 'No unsaved changes.'
  if (review.kind.value === 'came in') return 'The incoming changes affect no file.'
  if (review.kind.value === 'commit') return 'No files changed in this commit.'
  if (review.base?.kind === 'own merge') return 'Nothing was changed by hand: git makes the same of both parents.'
  return `No changes compared with ${nameOf(review)}.`
}

function FileDiff({ tab, change }: { tab: Tab; change: Change }) {
  const page = usePage()
  const { review } = tab
  const element = useRef<HTMLElement>(null)
  const isNear = useSignal(false)
  const isLookedAt = review.isLookedAt(change)
  const version = ReviewState.mark(change)
  // The record of a conversation is folded at first: it is read in the chat.
  const isOpen = useSignal(review.unfolded.get(version) ?? (!isLookedAt && change.path !== SESSION))
  const setOpen = (isUnfolded: boolean) => {
    isOpen.value = isUnfolded
    review.unfolded.set(version, isUnfolded)
  }
  const isOfDrafts = review.kind.value === 'all' || review.kind.value === 'unsaved'
  const merging = useMergingFile(tab, change.path)
  const mark = isOfDrafts && merging?.state === 'open' ? tab.merging.files.value.get(merging.path)?.mark : undefined

  // A file that changes after it was viewed is to be viewed again.
  const shownVersion = useRef(version)
  useEffect(() => {
    if (shownVersion.current === version) return
    shownVersion.current = version
    if (!isOpen.value) isOpen.value = change.path !== SESSION
  }, [version])
  const tabWidth = useTabWidth(tab, change.path, isOpen.value && isNear.value)
  const isCommented = review.draft.place.value?.path === change.path
  useEffect(() => {
    if (!isCommented) return
    isOpen.value = true
    isNear.value = true
  }, [isCommented])
  useEffect(() => {
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) isNear.value = true
      },
      { root: element.current?.closest('.diffs') ?? null, rootMargin: '800px' },
    )
    if (element.current) observer.observe(element.current)
    return () => observer.disconnect()
  }, [isNear])

  return (
    <article
      class="diff"
      ref={element}
      data-path={change.path}
      aria-label={readable(change.path)}
      style={tabWidth === undefined ? undefined : { '--tab-size': tabWidth }}
    >
      <header class="diff-head">
        <button
          type="button"
          class="twister"
          aria-expanded={isOpen.value}
          aria-label={`Diff of ${readable(change.path)}`}
          onClick={() => setOpen(!isOpen.value)}
        >
          <Icon name={isOpen.value ? 'chevron-down' : 'chevron-right'} />
        </button>
        <ChangedPath of={change} />
        <LineCounts count={change} />
        <span class="grow" />
        {change.after && tab.at.kind === 'branch' ? (
          <Button look="quiet small" words="Open" onClick={() => tab.edit(change.path)} />
        ) : null}
        {/* Last, since all files have it: below each other, the boxes are in line. */}
        <LookedAt review={review} change={change} close={() => setOpen(false)} />
      </header>
      {isOpen.value && isNear.value ? (
        <Blobs
          change={change}
          mark={mark}
          isSideBySide={review.isSideBySide.value}
          ignoresBlanks={review.ignoresBlanks.value}
          comments={commentsOf(page, tab, change)}
        />
      ) : null}
      {isOpen.value && !isNear.value ? <div class="diff-far" /> : null}
    </article>
  )
}

/** The width of a tab in a file, as in the editor: by the user's settings, else by .editorconfig. */
function useTabWidth(tab: Tab, path: string, isWanted: boolean): number | undefined {
  const page = usePage()
  const ask = isWanted ? () => page.connection.ask('editor config', { at: tab.at, path }) : undefined
  const asked = useServerValue(ask, [path, isWanted])
  return page.settings.values.value['editor.tabSize'] ?? asked.latest.value?.tabWidth
}

/** The comments of a file's diff. */
function commentsOf(page: Page, tab: Tab, { path }: Change): DiffComments {
  /** The place of a new comment on a line, and, for an unchanged line, also that in the other version. */
  const placesOf = ({ before, after }: DiffLine): [CommentPlace, ...CommentPlace[]] => {
    const old: CommentPlace = { path, side: 'before', line: before ?? 0 }
    if (after === undefined) return [old]
    return [{ path, side: 'after', line: after }, ...(before === undefined ? [] : [old])]
  }
  return {
    has: (line, side) =>
      placesOf(line).some(
        place =>
          (side ?? place.side) === place.side &&
          (isSamePlace(place, tab.review.draft.place.value) || commentsAt(tab, place).length > 0),
      ),
    below: (line, text, side) => (
      <LineComments tab={tab} places={placesOf(line).filter(it => (side ?? it.side) === it.side)} text={text} />
    ),
    hidden: ({ parts, ...diff }) => (
      <HiddenComments
        tab={tab}
        path={path}
        isDrawn={(side, number) => parts.some(({ lines }) => lines.some(line => line[side] === number))}
        textOf={(side, number) => textAt(diff[side], number)}
      />
    ),
    begin: line => beginComment(page, tab, placesOf(line)[0]),
    follow: (side, from, to) => {
      const { draft } = tab.review
      if (draft.place.peek()?.path !== path) return
      const linesOf = (version: string) => version.split(/\r?\n/)
      const numberNow = (line: number) => (from === undefined ? line : lineIn(from, to, line))
      draft.follow(side, linesOf(to), from === undefined ? undefined : { lines: linesOf(from), numberNow })
    },
  }
}

function LookedAt({ review, change, close }: { review: ReviewState; change: Change; close: () => void }) {
  return (
    <label class="viewed">
      <input
        type="checkbox"
        checked={review.isLookedAt(change)}
        onChange={event => {
          const { checked } = event.currentTarget
          review.setLookedAt(change, checked)
          if (checked) close()
        }}
      />
      Viewed
    </label>
  )
}
