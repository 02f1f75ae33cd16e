/**
 * Notices. One that needs a decision stands above the editor, which it pushes down and never covers, one at a time.
 * News of success stands above the status bar and disappears by itself.
 */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Moved } from '../../contract/branches.ts'
import { nameBeforeAside } from '../../contract/paths.ts'
import { turnNotice } from '../chat/turn-state.tsx'
import { resolveDrafts } from '../merging/merging-actions.ts'
import { RESTORE, restoreBranch, showWhatCameIn } from '../page/actions.ts'
import { conflictsIn, draftsOf, isAtWork, showsTurn } from '../page/branch-facts.ts'
import { draftsElsewhere } from '../page/saving.ts'
import { type Notice, type NoticeAction, type Page, type Tab, usePage } from '../page/state.ts'
import { Icon, type IconName } from '../ui/icons.tsx'
import { placeOfMenu } from '../ui/menu-content.ts'
import { baseName, named, readable, shortId, visible, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { UnfoldButton, useUnfolding } from '../ui/unfolding.tsx'
import { Button, IconButton } from '../ui/words.tsx'
import { useToastPlace } from './toast-place.ts'

/** At most this many file names in a sentence; above that, their number. */
const MAX_NAMED_FILES = 3

/** At most this many characters of a text are shown in a notice. */
const MAX_TEXT_CHARS = 20_000

/** Milliseconds after which a notice of success disappears. */
const GOOD_NEWS_MS = 8_000

/**
 * The order of notices that would be shown at the same time: the lowest number is shown first. What needs a decision or
 * can cost work is `bad` or `warn`.
 */
const URGENCY: Record<Notice['tone'], number> = { bad: 0, warn: 1, plain: 2, info: 3, good: 3 }

/** A notice, and the function that dismisses it; undefined if it can't be dismissed. */
interface Shown {
  notice: Notice
  /** What it is about, if its words change meanwhile: it then stays the same notice. */
  about?: string
  dismiss?: () => void
}

/**
 * The notices of a tab that need a decision, one at a time. `hasChat`: whether the chat is shown; the chat itself says
 * what its turn waits for, so no notice does.
 */
export function Notices({ tab, hasChat = true }: { tab: Tab | undefined; hasChat?: boolean }) {
  const page = usePage()
  const all = noticesIn(page, tab, hasChat)
  return all.length > 0 ? <OneOf key={tab ?? page.place} all={all} /> : null
}

const keyOf = ({ notice, about }: Shown): string => about ?? `${notice.topic} ${notice.branch} ${notice.title}`

/**
 * One of the notices. A new one is shown as soon as it comes, unless the shown one is more urgent, or has the focus
 * without one of its actions having been chosen: then only their number changes.
 */
function OneOf({ all }: { all: readonly Shown[] }) {
  const chosen = useSignal<string | undefined>(undefined)
  const known = useRef<ReadonlySet<string> | undefined>(undefined)
  const hasActed = useRef(false)
  const movesFocus = useRef(false)
  const box = useRef<HTMLDivElement>(null)
  const keys = all.map(keyOf)
  const index = Math.max(0, keys.indexOf(chosen.value ?? ''))
  const shown = all[index] as Shown
  useLayoutEffect(() => {
    const before = known.current
    known.current = new Set(keys)
    const come = before && all.find(one => !before.has(keyOf(one)))
    const isUrgent = come && URGENCY[come.notice.tone] <= URGENCY[shown.notice.tone]
    const isHeld = !hasActed.current && box.current?.contains(document.activeElement) === true
    if (come) hasActed.current = false
    chosen.value = isUrgent && !isHeld ? keyOf(come) : keys[index]
  }, [keys.join('\n')])
  const next = () => {
    movesFocus.current = true
    chosen.value = keys[(index + 1) % all.length]
  }
  useLayoutEffect(() => {
    // The notice with the button that was chosen is gone.
    if (movesFocus.current) box.current?.querySelector<HTMLElement>('.next-notice')?.focus()
    movesFocus.current = false
  }, [keys[index]])
  return (
    <Line
      key={keys[index]}
      shown={shown}
      box={box}
      onAct={() => {
        hasActed.current = true
      }}
      {...(all.length > 1 && { others: { words: `${index + 1} of ${all.length}`, next } })}
    />
  )
}

function noticesIn(page: Page, tab: Tab | undefined, hasChat: boolean): Shown[] {
  const branch = tab?.at.kind === 'branch' ? tab.at.branch : undefined
  const { place } = page
  const isHere = (notice: Notice) =>
    notice.branch === undefined
      ? notice.place === undefined || notice.place === place
      : notice.branch === branch && (notice.place === undefined || notice.place === place)
  const kept = page.notices.value
    .filter(notice => isHere(notice) && notice.lasts?.(page) !== false)
    .map((notice): Shown => ({ notice, dismiss: () => page.dismiss(notice) }))
    .toReversed()
  const states = [
    disconnected(page),
    tab && unwritten(page, tab),
    tab && gone(page, tab),
    tab && !hasChat ? turnNotice(page, tab) : undefined,
  ]
  const own = states.flatMap((notice): Shown[] => (notice ? [{ notice }] : []))
  // Why a branch can't be restored stands before the notice that offers to restore it.
  const answers = kept.filter(({ notice }) => notice.topic === RESTORE)
  const others = kept.filter(it => !answers.includes(it))
  const all = [...answers, ...own, ...(tab ? aboutDrafts(page, tab) : []), ...others]
  return all.toSorted((one, other) => URGENCY[one.notice.tone] - URGENCY[other.notice.tone])
}

/**
 * The notices about a branch that was moved from outside while it has drafts, and about drafts in conflict with what
 * was brought in otherwise: by a step on the desk, or before a save.
 */
function aboutDrafts(page: Page, tab: Tab): Shown[] {
  if (tab.at.kind === 'commit') return []
  const { branch } = tab.at
  const move = page.branch(branch)?.moved
  const conflicts = conflictsIn(page, branch)
  const isOther = (path: string) => !move || move.otherConflicts?.includes(path) === true
  const [others, since] = [conflicts.filter(isOther), conflicts.filter(path => !isOther(path))]
  const shown: Shown[] = []
  if (move && (since.length > 0 || !page.seen.value.has(move.to)))
    shown.push({
      notice: moved(page, tab, branch, move, since),
      about: `moved ${branch}`,
      ...(since.length === 0 && { dismiss: () => page.see(move.to) }),
    })
  if (others.length > 0) shown.push({ notice: inConflict(page, tab, branch, others), about: `conflicts ${branch}` })
  return shown
}

/** News of success, shown for some seconds above the status bar. It overlays the page, so that nothing moves. */
export function Toast() {
  const page = usePage()
  const { value: notice } = page.toast
  const isStale = notice !== undefined && page.shownToast === undefined
  const dismiss = () => {
    if (page.toast.peek() === notice) page.toast.value = undefined
  }
  const isHeld = useSignal(false)
  const box = useRef<HTMLDivElement>(null)
  const tab = page.tab.value
  const isUnfinished = tab?.conversation.isUnfinished.value
  useToastPlace(box, [notice, tab?.active.value, page.isDocked.value, isUnfinished])
  useEffect(() => {
    if (isStale) dismiss()
  }, [isStale, notice])
  useEffect(() => {
    if (!notice || isHeld.value) return undefined
    const timer = setTimeout(dismiss, GOOD_NEWS_MS)
    return () => clearTimeout(timer)
  }, [notice, isHeld.value])
  if (!notice || isStale) return null
  return (
    <div
      class="toast"
      ref={box}
      onPointerEnter={() => {
        isHeld.value = true
      }}
      onPointerLeave={event => {
        isHeld.value = event.currentTarget.contains(document.activeElement)
      }}
      onFocusIn={() => {
        isHeld.value = true
      }}
      onFocusOut={() => {
        isHeld.value = false
      }}
    >
      <Line key={notice.title} shown={{ notice, dismiss }} isToast />
    </div>
  )
}

const ICONS: Record<Notice['tone'], IconName> = {
  good: 'check',
  info: 'info',
  plain: 'clock',
  warn: 'warning',
  bad: 'alert',
}

/** The ARIA role of a notice, by its tone. */
const ROLES: Record<Notice['tone'], 'status' | 'alert'> = {
  good: 'status',
  info: 'status',
  plain: 'status',
  warn: 'alert',
  bad: 'alert',
}

interface LineProps {
  shown: Shown
  /** Is given the element of the notice. */
  box?: RefObject<HTMLDivElement | null>
  /** Called when one of its actions is chosen. */
  onAct?: () => void
  /** Whether it is shown for some seconds alone: the status bar announces it. */
  isToast?: boolean
  /** Of several notices: which of them this one is, in words, and the function that shows the next one. */
  others?: { words: string; next: () => void }
}

/**
 * One notice. All have the same height; longer text can be unfolded, and a narrow window has some actions in a menu.
 */
function Line({ shown: { notice, dismiss }, box, onAct, isToast, others }: LineProps) {
  const page = usePage()
  const { tone, title, words, text: about, actions = [] } = notice
  const main = actions.find(({ isMain }) => isMain) ?? actions[0]
  const rest = actions.filter(action => action !== main)
  const choose = (action: NoticeAction) => {
    onAct?.()
    if (!action.stays) dismiss?.()
    action.run()
  }
  const isQuiet = tone === 'plain' || tone === 'info' || tone === 'good'
  const text = useRef<HTMLDivElement>(null)
  const { isOpen, isCut } = useUnfolding(text, [title, words], element => [...element.children])
  return (
    <div class={`notice line ${tone} ${isOpen.value ? 'open' : ''}`} role={isToast ? undefined : ROLES[tone]} ref={box}>
      <Icon name={ICONS[tone]} size="m" />
      <div class={`text grow ${words ? '' : 'alone'}`} ref={text}>
        <p class={isQuiet ? '' : 'strong'}>{title}</p>
        {words ? <p>{words}</p> : null}
        {isOpen.value && about !== undefined ? <TextOf text={about} /> : null}
      </div>
      {isCut.value || about !== undefined ? <UnfoldButton isOpen={isOpen} /> : null}
      {actions.map(action => (
        <Button
          key={action.words}
          words={action.words}
          look={`${action.isMain ? 'main' : 'quiet'} ${action === main ? '' : 'rest'}`}
          onClick={() => choose(action)}
        />
      ))}
      {rest.length > 0 ? (
        <button
          type="button"
          class="icon-button more"
          aria-label="More actions"
          aria-haspopup="menu"
          title="More actions"
          onClick={event => {
            const { currentTarget: button } = event
            const items = rest.map(action => ({
              words: action.words,
              icon: 'chevron-right' as const,
              run: () => choose(action),
            }))
            page.openMenu({ title, groups: [items] }, placeOfMenu(event, button), button)
          }}
        >
          <Icon name="more" />
        </button>
      ) : null}
      {others ? (
        <button type="button" class="button quiet small next-notice" title="Show the next notice" onClick={others.next}>
          {others.words}
          <Icon name="chevron-right" size="xs" />
        </button>
      ) : null}
      {dismiss ? <IconButton icon="x" words="Dismiss" onClick={dismiss} /> : null}
    </div>
  )
}

/** The text that a notice is about, which can be selected and scrolled. */
function TextOf({ text }: { text: string }) {
  const shown = text.slice(0, MAX_TEXT_CHARS).split('\n').map(visible).join('\n')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that a long text can be scrolled by keys
    <pre tabIndex={0}>{text.length > MAX_TEXT_CHARS ? `${shown}…` : shown}</pre>
  )
}

function disconnected(page: Page): Notice | undefined {
  const { isLost, isLockedOut, isSilent } = page.connection
  const hasBegun = page.desk.value !== undefined
  if (!(isLost.value || isSilent.value) || !(hasBegun || isLockedOut.value)) return undefined
  const folder = page.desk.value?.folder ?? 'the folder of your repository'
  const kept = page.unsent.isOnlyHere.value
    ? 'The browser’s storage is full: what you type is kept in this window alone, so leave it open.'
    : 'What you type is kept in this browser, also if you load the page again, and sent when the desk is back.'
  if (isLockedOut.value) {
    return {
      tone: 'warn',
      title: 'This window is no longer signed in to the desk',
      words:
        `Run forge again in ${folder} and open the address that it prints in another tab of this browser: ` +
        `this window then goes on by itself. ${kept}`,
    }
  }
  return {
    // No older failure hides it.
    tone: 'bad',
    title: 'The desk does not answer',
    words: isLost.value ? `${kept} If it was ended, run forge again in ${folder}.` : kept,
  }
}

/** The disk refuses what is typed. While the desk is away, that may not be so any more. */
function unwritten(page: Page, { at }: Tab): Notice | undefined {
  if (at.kind === 'commit' || page.connection.isLost.value) return undefined
  const why = (page.branch(at.branch) ?? page.deleted(at.branch))?.unwritten
  if (why === undefined) return undefined
  return {
    tone: 'bad',
    title: `What is typed in ${named(at.branch)} can’t be written: ${withoutTricks(why)}`,
    words: 'It is kept as long as the desk runs, and written as soon as it can be.',
  }
}

function gone(page: Page, tab: Tab): Notice | undefined {
  const { at } = tab
  if (at.kind === 'commit' || !page.isGone(at)) return undefined
  const { unwritten, hasTurn, drafts = [] } = page.deleted(at.branch) ?? {}
  const ofDrafts =
    drafts.length > 0
      ? 'Its drafts are kept, also if you close this tab (Alt+B lists it). What you type here is kept as a draft, too.'
      : 'What you type here is kept as a draft.'
  const kept = hasTurn ? 'What the AI did in it is kept, also if you close this tab (Alt+B lists it).' : ofDrafts
  return {
    tone: 'bad',
    title: `${named(at.branch)} was deleted`,
    words: unwritten === undefined ? kept : 'Other drafts of it are kept.',
    actions: [
      { words: 'Close the tab', run: () => page.close(tab) },
      { words: 'Restore branch', isMain: true, run: () => restoreBranch(page, at.branch) },
    ],
  }
}

/**
 * The notice about a branch that was moved from outside while it has drafts: what moved it, whether the drafts still
 * apply, and the actions offered. `conflicts`: the drafts that are in conflict with that.
 */
function moved(page: Page, tab: Tab, branch: string, move: Moved, conflicts: string[]): Notice {
  const moveDrafts = {
    words: 'Move drafts to a new branch',
    stays: true,
    run: () => draftsElsewhere(page, branch),
  }
  return {
    // Where all drafts apply, there is nothing to decide.
    tone: conflicts.length > 0 ? 'warn' : 'info',
    title: `${named(branch)} moved outside the desk: ${whatMoved(move)}`,
    words: whatOfDrafts(page, branch, conflicts),
    actions: [
      { words: 'Incoming changes', stays: true, run: () => showWhatCameIn(tab, move) },
      ...(showsTurn(page, branch) ? [] : [moveDrafts]),
      ...resolving(page, tab, branch, conflicts),
    ],
  }
}

/** The notice about drafts in conflict with what came in otherwise. */
function inConflict(page: Page, tab: Tab, branch: string, conflicts: string[]): Notice {
  return {
    tone: 'warn',
    title: `Drafts of ${named(branch)} are in conflict with what was brought in`,
    words: whatConflicts(page, branch, conflicts),
    actions: resolving(page, tab, branch, conflicts),
  }
}

/** The action that shows the conflicts, unless the shown file is one of them. */
function resolving(page: Page, tab: Tab, branch: string, conflicts: string[]): NoticeAction[] {
  const isThere = tab.path !== undefined && conflicts.includes(tab.path)
  if (conflicts.length === 0 || isThere || showsTurn(page, branch)) return []
  return [{ words: 'Resolve', isMain: true, stays: true, run: () => resolveDrafts(page, tab) }]
}

/** What became of the drafts of a branch that has moved, or becomes of its AI's turn. */
function whatOfDrafts(page: Page, branch: string, conflicts: string[]): string {
  if (conflicts.length > 0) return whatConflicts(page, branch, conflicts)
  if (showsTurn(page, branch)) {
    const until = isAtWork(page, branch) ? 'its turn is over' : 'you keep them'
    return `Files are shown as the AI has them. Its changes are merged onto the new commit when ${until}.`
  }
  if (draftsOf(page, branch).length === 0) return 'There are no drafts.'
  const aside = whatIsAside(page, branch)
  return aside === '' ? 'Your drafts merge cleanly with it.' : `No conflict is left.${aside}`
}

/** Which drafts have another name since the branch has something else in their places. */
function whatIsAside(page: Page, branch: string): string {
  const aside = draftsOf(page, branch).filter(path => nameBeforeAside(path) !== path)
  const [first, ...more] = aside
  if (first === undefined) return ''
  const others = more.length > 0 ? `, and so ${more.length === 1 ? 'is 1 more' : `are ${more.length} more`}` : ''
  return ` ${readable(first)} is your draft of ${readable(nameBeforeAside(first))}, where the branch has something else${others}.`
}

function whatMoved({ commits, by, gone = 0, from, to }: Moved): string {
  const came = `${plural(commits, 'new commit')} by ${by.map(withoutTricks).join(', ')}`
  return [
    ...(commits > 0 ? [came] : []),
    ...(gone > 0 ? [`${plural(gone, 'old commit')} gone`] : []),
    `${shortId(from)} → ${shortId(to)}`,
  ].join(', ')
}

function whatConflicts(page: Page, branch: string, paths: string[]): string {
  const others = draftsOf(page, branch).length - conflictsIn(page, branch).length
  const first = paths.slice(0, MAX_NAMED_FILES).map(path => named(baseName(path)))
  const more = paths.length > MAX_NAMED_FILES ? ` and ${paths.length - MAX_NAMED_FILES} more` : ''
  const rest = others > 0 ? ` ${plural(others, 'other draft merges cleanly', 'other drafts merge cleanly')}.` : ''
  const [are, them] = paths.length === 1 ? ['is', 'it'] : ['are', 'them']
  if (showsTurn(page, branch))
    return `${first.join(', ')}${more} ${are} in conflict: keep or discard what the AI did, then resolve ${them}.${rest}`
  const end = page.branch(branch)?.merging ? 'finish' : 'save'
  const aside = whatIsAside(page, branch)
  return `${first.join(', ')}${more} ${are} in conflict: resolve ${them}, then ${end}. Nothing is overwritten until then.${rest}${aside}`
}
