/** The tab bar: the repository and the tasks, then the open branches and commits. Switching tabs checks nothing out. */
import { useEffect, useRef } from 'preact/hooks'
import type { At } from '../../contract/values.ts'
import { type Sign, TurnWord, turnSign } from '../chat/turn-sign.tsx'
import { branchTitle, draftsOf, MERGING } from '../page/branch-facts.ts'
import { deskActions, findActions } from '../page/desk-actions.ts'
import { usePlace } from '../page/places.ts'
import { type Page, REPOSITORY, TASKS, type Tab, usePage } from '../page/state.ts'
import { BranchIcon, Icon, type IconName } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { readable, shortId } from '../ui/names.ts'
import { onTabKeys, onTabsWheel, useSelectedTabInView } from '../ui/tab-keys.ts'
import { IconButton } from '../ui/words.tsx'
import { tabMenu } from './tab-menus.ts'

export function Tabs() {
  const page = usePage()
  const shown = page.tab.value
  const { find, openBranch } = findActions
  const list = useRef<HTMLDivElement>(null)
  useSelectedTabInView(list)
  return (
    <header class="top">
      <h1 class="vh">{pageTitle(page)}</h1>
      <div
        role="tablist"
        aria-label="Branches"
        class="tabs branches"
        ref={list}
        onKeyDown={onTabKeys}
        onWheel={onTabsWheel}
      >
        <span class="pinned-tabs" role="presentation">
          <PinnedTab to={REPOSITORY} icon="graph" words="Repository" />
          <PinnedTab to={TASKS} icon="workflow" words="Tasks" />
        </span>
        {page.tabs.value.map((tab, index) => (
          <BranchTab key={tab} tab={tab} index={index} />
        ))}
      </div>
      <IconButton
        icon="plus"
        words="Open or create a branch"
        keys={openBranch.keys}
        onClick={() => openBranch.run(page)}
      />
      {shown ? (
        <IconButton
          icon="more"
          words="More tab actions"
          onClick={event => {
            const button = event.currentTarget
            page.openMenu(tabMenu(page, shown), placeOfMenu(event, button), button)
          }}
        />
      ) : null}
      <div class="top-end">
        <IconButton
          icon="clock"
          words="Operations, undo and redo"
          keys={deskActions.operations.keys}
          onClick={() => deskActions.operations.run(page)}
        />
        <button type="button" class="find" aria-keyshortcuts="Control+K" onClick={() => find.run(page)}>
          <Icon name="search" />
          <span class="word">{find.label}</span>
          <kbd>{shownKeys(find.keys)}</kbd>
        </button>
      </div>
    </header>
  )
}

export function pageTitle(page: Page): string {
  const tab = page.tab.value
  const repository = page.desk.value?.name ?? 'desk'
  if (!tab) return `${page.active.value === TASKS ? 'Tasks' : 'Repository'} · ${repository}`
  const place = tab.at.kind === 'branch' ? readable(tab.at.branch) : shortId(tab.at.commit)
  const { path } = tab
  return path === undefined ? `${place} · ${repository}` : `${readable(path)} · ${place} · ${repository}`
}

/** A tab that can't be closed: the repository or the tasks. */
function PinnedTab({ to, icon, words }: { to: typeof REPOSITORY | typeof TASKS; icon: IconName; words: string }) {
  const page = usePage()
  const isSelected = page.active.value === to
  const element = usePlace<HTMLButtonElement>(...(isSelected ? (['branch tab'] as const) : []))
  return (
    <button
      type="button"
      ref={element}
      role="tab"
      class="tab pinned"
      aria-selected={isSelected}
      tabIndex={isSelected ? 0 : -1}
      onClick={event => {
        page.active.value = to
        // Only after a click: with the arrow keys, the focus stays in the tab bar.
        if (event.detail > 0) page.wantFocus()
      }}
    >
      <Icon name={icon} />
      <span class="cut">{words}</span>
    </button>
  )
}

function BranchTab({ tab, index }: { tab: Tab; index: number }) {
  const page = usePage()
  const { at } = tab
  const isSelected = page.active.value === index
  const element = usePlace<HTMLButtonElement>(...(isSelected ? (['branch tab'] as const) : []))
  const isGone = page.isGone(at)
  const hasDrafts = at.kind === 'branch' && draftsOf(page, at.branch).length > 0
  const merging = at.kind === 'branch' ? page.branch(at.branch)?.merging : undefined
  useEffect(() => {
    if (isSelected) element.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [isSelected])
  return (
    <button
      type="button"
      ref={element}
      role="tab"
      class={`tab ${isGone ? 'gone' : ''}`}
      aria-selected={isSelected}
      tabIndex={isSelected ? 0 : -1}
      title={
        at.kind === 'branch'
          ? branchTitle(at.branch, page.branch(at.branch)?.checkout)
          : `The commit ${at.commit}, read-only`
      }
      onPointerEnter={() => page.need(tab)}
      onFocus={() => page.need(tab)}
      onClick={event => {
        if (isCross(event)) page.close(tab)
        else {
          page.active.value = index
          // Only after a click: with the arrow keys, the focus stays in the tab bar.
          if (event.detail > 0) page.wantFocusBack()
        }
      }}
      onAuxClick={event => {
        if (event.button === 1) page.close(tab)
      }}
      onContextMenu={event => {
        event.preventDefault()
        page.openMenu(tabMenu(page, tab), placeOfMenu(event, event.currentTarget), event.currentTarget)
      }}
      onKeyDown={event => {
        if (asksForMenu(event)) {
          event.preventDefault()
          page.openMenu(tabMenu(page, tab), placeOfMenu(event, event.currentTarget), event.currentTarget)
        } else if (event.key === 'Delete' && !event.altKey) page.close(tab)
      }}
    >
      <TabIcon at={at} />
      <bdi class="cut">{at.kind === 'branch' ? readable(at.branch) : shortId(at.commit)}</bdi>
      {isGone ? <span class="vh">, deleted</span> : null}
      {merging ? <span class="vh">, {MERGING[merging]}</span> : null}
      {hasDrafts ? <span class="vh">, drafts</span> : null}
      {at.kind === 'branch' ? <TurnWord branch={at.branch} /> : null}
      <TabEnd
        hasDot={hasDrafts}
        dotWords="has drafts"
        sign={at.kind === 'branch' ? turnSign(page, at.branch) : undefined}
      />
    </button>
  )
}

function TabIcon({ at }: { at: At }) {
  const page = usePage()
  if (at.kind === 'commit') return <Icon name="clock" />
  if (page.isGone(at)) return <Icon name="alert" tone="is-bad" />
  if (page.branch(at.branch)?.merging) return <Icon name="merge" tone="is-warn" />
  return <BranchIcon hasSession={page.branch(at.branch)?.session ?? false} />
}

/** The right end of a tab: a dot if there are drafts, or a close button for the mouse (the keyboard has Delete). */
export function TabEnd({ hasDot, dotWords, sign }: { hasDot: boolean; dotWords: string; sign?: Sign | undefined }) {
  if (sign) {
    return (
      <span class="end has-dot" title={sign.words}>
        <span class="dot-place">
          <Icon name={sign.icon} size="xs" tone={sign.tone} />
        </span>
        <Icon name="x" size="xs" tone="cross" />
      </span>
    )
  }
  if (!hasDot) {
    return (
      <span class="end x" aria-hidden="true">
        <Icon name="x" size="xs" />
      </span>
    )
  }
  return (
    <span class="end has-dot" title={dotWords}>
      <span class="dot" />
      <Icon name="x" size="xs" />
    </span>
  )
}

export function isCross(event: Event): boolean {
  return event.target instanceof Element && event.target.closest('.end') !== null
}
