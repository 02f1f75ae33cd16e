/** The list of changed files, one line each; where there is room, with each diff below its line. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Change } from '../../contract/values.ts'
import { isOfForge } from '../page/conversation-files.ts'
import { byKind } from '../page/review-state.ts'
import { readable } from '../ui/names.ts'
import { digits, plural } from '../ui/times.ts'
import { endingAlike } from '../ui/words.tsx'
import { Blobs } from './blobs.tsx'
import { ChangedPath, titleOf } from './changed-path.tsx'
import { LineCounts, UNCOUNTED, uncountedIn } from './line-counts.tsx'
import { ChangeLetter, ConversationHead } from './review-side.tsx'

/** At most this many files are listed; the rest is only counted. */
const MAX_FILES = 300

interface Props {
  changes: readonly Change[]
  most?: number
}

/** Lists the changed files of the code, without showing their diffs. */
export function ChangeList({ changes, most = MAX_FILES }: Props) {
  const { code } = byKind(changes)
  const alike = endingAlike(code.map(({ path }) => path))
  return (
    <>
      {code.slice(0, most).map(change => (
        <div class="filerow" key={change.path}>
          <ChangeCells change={change} isCutAtEnd={alike.has(change.path)} />
        </div>
      ))}
      <MoreFiles than={most} all={code.length} />
    </>
  )
}

function MoreFiles({ than, all }: { than: number; all: number }) {
  return all > than ? <p class="meta more-files">and {all - than} more</p> : null
}

/** The diffs that are open at first: the first file's, all, or that of one path. */
type Opened = 'first' | 'all' | { path: string }

/**
 * The files, each a button that opens and closes its diff below. As in a review, those of the conversation with the AI
 * are folded below the code.
 */
export function ChangesWithDiffs({ changes, most = MAX_FILES, open = 'first' }: Props & { open?: Opened }) {
  const wanted = typeof open === 'object' ? changes.filter(({ path, from }) => [path, from].includes(open.path)) : []
  const { code, conversation } = byKind(changes)
  const first = wanted.length > 0 ? wanted : open === 'all' ? changes : code.slice(0, 1)
  const showsConversation = useSignal(wanted.some(({ path }) => isOfForge(path)))
  const opened = useSignal<ReadonlySet<string>>(new Set(first.map(({ path }) => path)))
  const shownAt = useSignal<string | undefined>(undefined)
  const toggle = (path: string) => {
    const next = new Set(opened.peek())
    // If all diffs are open, a click on a file closes none, and scrolls to its diff.
    if (open === 'all' || !next.has(path)) {
      next.add(path)
      shownAt.value = path
    } else next.delete(path)
    opened.value = next
  }
  const diffs = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const path = shownAt.value
    if (path === undefined) return
    shownAt.value = undefined
    const all = [...(diffs.current?.querySelectorAll<HTMLElement>('[data-diff-of]') ?? [])]
    all.find(({ dataset }) => dataset.diffOf === path)?.scrollIntoView({ block: 'start' })
  }, [shownAt.value])
  const [shown, below] = [code.slice(0, most), showsConversation.value ? conversation.slice(0, most) : []]
  const alike = endingAlike(changes.map(({ path }) => path))
  const rows = (some: readonly Change[]) => (
    <div class="filerows">
      {some.map(change => (
        <button
          type="button"
          class="filerow"
          key={change.path}
          aria-expanded={opened.value.has(change.path)}
          title={titleOf(change)}
          onClick={() => toggle(change.path)}
        >
          <ChangeCells change={change} isCutAtEnd={alike.has(change.path)} />
        </button>
      ))}
    </div>
  )
  return (
    <>
      {rows(shown)}
      <MoreFiles than={most} all={code.length} />
      {conversation.length > 0 ? (
        <>
          <ConversationHead review={{ showsConversation }} count={conversation.length} />
          {rows(below)}
        </>
      ) : null}
      <div ref={diffs}>
        {[...shown, ...below]
          .filter(({ path }) => opened.value.has(path))
          .map(change => (
            <section
              class="diff"
              key={change.path}
              data-diff-of={change.path}
              aria-label={`Diff of ${readable(change.path)}`}
            >
              <header class="diff-head">
                <ChangedPath of={change} />
                <LineCounts count={change} />
              </header>
              <Diff change={change} />
            </section>
          ))}
      </div>
    </>
  )
}

/** The diff of a file, rendered once it is near the view. */
function Diff({ change }: { change: Change }) {
  const place = useRef<HTMLDivElement>(null)
  const isNear = useSignal(false)
  useEffect(() => {
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) isNear.value = true
      },
      { rootMargin: '800px' },
    )
    if (place.current) observer.observe(place.current)
    return () => observer.disconnect()
  }, [isNear])
  if (!isNear.value) return <div ref={place} class="diff-far" aria-busy="true" />
  return <Blobs change={change} isSideBySide={false} ignoresBlanks={false} />
}

function ChangeCells({ change, isCutAtEnd }: { change: Change; isCutAtEnd: boolean }) {
  return (
    <>
      <ChangeLetter status={change.status} />
      <ChangedPath of={change} isCutAtEnd={isCutAtEnd} />
      <LineCounts count={change} />
      <Bars change={change} />
    </>
  )
}

const BAR = 44

/** Bars for the added and deleted lines, whose length grows slower than their number. */
function Bars({ change }: { change: Change }) {
  const { added = 0, deleted = 0 } = change
  const all = added + deleted
  const length = all === 0 ? 0 : Math.min(BAR, 6 + 6 * Math.log2(1 + all))
  // The second bar's length is computed like the first's: as the rest of the whole length, rounding could make it
  // negative.
  const [first, second] = all === 0 ? [0, 0] : [(length * added) / all, (length * deleted) / all]
  return (
    <svg class="bars" viewBox="0 0 44 4" aria-hidden="true">
      <rect class="ba" width={first} height="4" />
      <rect class="bd" x={first} width={second} height="4" />
    </svg>
  )
}

/**
 * The number of files of the code, with their added and deleted lines, and how many files these leave out. As in a
 * review, the conversation with the AI does not count.
 */
export function ChangeSum({ changes, look }: { changes: readonly Change[]; look: string }) {
  const { code } = byKind(changes)
  const sum = (side: 'added' | 'deleted') => code.reduce((all, change) => all + (change[side] ?? 0), 0)
  const [added, deleted] = [sum('added'), sum('deleted')]
  const uncounted = uncountedIn(code)
  return (
    <>
      <span class={look}>{plural(code.length, 'file')}</span>
      {uncounted > 0 ? (
        <span class="meta cut" title={UNCOUNTED}>
          {digits(uncounted)} not counted
        </span>
      ) : null}
      <span class="add-n">{added ? `+${digits(added)}` : ''}</span>
      <span class="del-n">{deleted ? `−${digits(deleted)}` : ''}</span>
    </>
  )
}
