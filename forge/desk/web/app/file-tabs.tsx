/** The tabs of a branch or a commit: the chat, the open files, the review, the history and the search. */
import { useEffect, useRef } from 'preact/hooks'
import { ChatEnd, LOCKED, turnSign } from '../chat/turn-sign.tsx'
import { changedIn, hasDraft, isAtWork, isDeleted, isInConflict, mergingFile } from '../page/branch-facts.ts'
import { usePlace } from '../page/places.ts'
import { type Page, type Pane, paneKey, type Tab, usePage } from '../page/state.ts'
import { keepOpen, tabActions } from '../page/tab-actions.ts'
import { titleOfLines } from '../review/line-history.tsx'
import { Icon, type IconName } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { baseName, readable, shortId, tellingFolder } from '../ui/names.ts'
import { onTabKeys, onTabsWheel, useSelectedTabInView } from '../ui/tab-keys.ts'
import { Button, IconButton } from '../ui/words.tsx'
import { paneMenu } from './tab-menus.ts'
import { isCross, TabEnd } from './tabs.tsx'

export function FileTabs({ tab }: { tab: Tab }) {
  const list = useRef<HTMLDivElement>(null)
  useSelectedTabInView(list)
  return (
    <div class="files">
      <div role="tablist" aria-label="Files" class="tabs" ref={list} onKeyDown={onTabKeys} onWheel={onTabsWheel}>
        {tab.panes.value.map(pane => (
          <PaneTab key={paneKey(pane)} tab={tab} pane={pane} />
        ))}
      </div>
      <EndBar tab={tab} />
    </div>
  )
}

function EndBar({ tab }: { tab: Tab }) {
  const page = usePage()
  const { at } = tab
  const drafts = at.kind === 'branch' ? changedIn(page, at.branch).length : 0
  const { pane } = tab
  const { branchFromHere, history, review } = tabActions
  const branchWords = branchFromHere.label.replace(/…$/, '')
  return (
    <div class="end-bar">
      {pane.kind === 'file' ? (
        <IconButton
          icon="more"
          words="More file actions"
          onClick={event => openMenu(page, tab, pane, event, event.currentTarget)}
        />
      ) : null}
      {at.kind === 'commit' ? (
        <Button
          look="small"
          icon="branch"
          title={branchWords}
          words={<span class="word">{branchWords}</span>}
          onClick={() => branchFromHere.run({ page, tab })}
        />
      ) : null}
      {/* These buttons keep their position, whether their tab is open or not. */}
      <Button
        look="quiet small"
        icon="clock"
        title={`${history.label}  ${shownKeys(history.keys)}`}
        words={<span class="word">{history.label}</span>}
        onClick={() => history.run({ page, tab })}
      />
      <Button
        look="quiet small"
        icon="diff"
        title={`${review.label}  ${shownKeys(review.keys)}`}
        words={drafts > 0 ? `Review ${drafts}` : 'Review'}
        onClick={() => review.run({ page, tab })}
      />
    </div>
  )
}

/** The MIME type under which a drag carries the key of the dragged tab. */
const DRAGGED_TAB = 'application/x-forge-tab'

function PaneTab({ tab, pane }: { tab: Tab; pane: Pane }) {
  const page = usePage()
  const isSelected = tab.active.value === paneKey(pane)
  const element = usePlace<HTMLButtonElement>(...(isSelected ? (['file tab'] as const) : []))
  const hasDot = pane.kind === 'file' && hasDraft(page, tab.at, pane.path)
  const isOpenConflict =
    pane.kind === 'file' && isInConflict(page, tab) && mergingFile(page, tab, pane.path)?.state === 'open'
  const isGone = pane.kind === 'file' && isDeleted(page, tab, pane.path)
  const isPreviewed = tab.isPreviewed(pane)
  const folder = pane.kind === 'file' ? tellingFolder(pane.path, pathsIn(tab)) : ''
  const icon = isOpenConflict ? 'clash' : iconOf(pane)
  const branch = tab.at.kind === 'branch' ? tab.at.branch : ''
  const isLocked = pane.kind === 'file' && isAtWork(page, branch)
  const sign = pane.kind === 'chat' ? turnSign(page, branch) : isLocked ? LOCKED : undefined
  // An edited file stays open.
  useEffect(() => {
    if (hasDot && pane.kind === 'file') tab.keepOpen(pane.path)
  }, [tab, pane, hasDot])
  useEffect(() => {
    if (isSelected) element.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [isSelected])
  return (
    <button
      type="button"
      ref={element}
      role="tab"
      class={`tab ${pane.kind === 'chat' ? 'pinned' : ''} ${isLocked ? 'locked' : ''} ${isPreviewed ? 'preview-tab' : ''} ${isGone ? 'gone' : ''}`}
      aria-selected={isSelected}
      tabIndex={isSelected ? 0 : -1}
      draggable={pane.kind !== 'chat'}
      onDragStart={event => event.dataTransfer?.setData(DRAGGED_TAB, paneKey(pane))}
      onDragOver={event => {
        if (event.dataTransfer?.types.includes(DRAGGED_TAB)) event.preventDefault()
      }}
      onDrop={event => {
        const key = event.dataTransfer?.getData(DRAGGED_TAB)
        const panes = tab.panes.peek()
        const dragged = panes.find(other => paneKey(other) === key)
        if (!dragged) return
        event.preventDefault()
        // A tab dragged from the left is put after the one that it is dropped on, a tab from the right before it.
        const index = panes.indexOf(pane)
        tab.move(dragged, panes.indexOf(dragged) < index ? panes[index + 1] : pane)
      }}
      title={pane.kind === 'file' ? readable(pane.path) : undefined}
      onClick={event => {
        if (pane.kind !== 'chat' && isCross(event)) page.closePane(tab, pane)
        else if (pane.kind === 'chat') page.showChat(tab)
        else if (event.detail > 0) page.showHere(tab, pane)
        else tab.show(pane)
      }}
      onDblClick={() => keepOpen({ page, tab, pane })}
      onAuxClick={event => {
        if (event.button === 1) page.closePane(tab, pane)
      }}
      onContextMenu={event => {
        event.preventDefault()
        openMenu(page, tab, pane, event, event.currentTarget)
      }}
      onKeyDown={event => {
        if (asksForMenu(event)) {
          event.preventDefault()
          openMenu(page, tab, pane, event, event.currentTarget)
        } else if (event.key === 'Delete' && !event.altKey) page.closePane(tab, pane)
      }}
    >
      {tab.isPinned(pane) ? <Icon name="pin" size="xs" /> : null}
      {icon ? <Icon name={icon} tone={isOpenConflict ? 'is-warn' : ''} /> : null}
      <bdi class="cut">{wordsOf(tab, pane)}</bdi>
      {folder === '' ? null : <bdi class="cut folder">{readable(folder)}</bdi>}
      {isGone ? <span class="vh">, deleted</span> : null}
      {isOpenConflict ? <span class="vh">, in conflict</span> : null}
      {tab.isPinned(pane) ? <span class="vh">, pinned</span> : null}
      {isPreviewed ? <span class="vh">, preview</span> : null}
      {hasDot ? <span class="vh">, draft</span> : null}
      {sign ? <span class="vh">, {sign.words}</span> : null}
      {pane.kind === 'chat' ? <ChatEnd sign={sign} /> : <TabEnd hasDot={hasDot} dotWords="unsaved draft" sign={sign} />}
    </button>
  )
}

const pathsIn = ({ panes }: Tab): string[] => panes.value.flatMap(pane => (pane.kind === 'file' ? [pane.path] : []))

function openMenu(page: Page, tab: Tab, pane: Pane, event: MouseEvent | KeyboardEvent, opener: HTMLElement): void {
  page.openMenu(paneMenu(page, tab, pane, wordsOf(tab, pane)), placeOfMenu(event, opener), opener)
}

function iconOf(pane: Pane): IconName | undefined {
  const icons: Record<Pane['kind'], IconName | undefined> = {
    chat: 'chat',
    file: undefined,
    review: 'diff',
    history: 'clock',
    find: 'search',
  }
  return icons[pane.kind]
}

function wordsOf(tab: Tab, pane: Pane): string {
  switch (pane.kind) {
    case 'chat':
      return 'AI chat'
    case 'file':
      return readable(baseName(pane.path))
    case 'review':
      return tab.at.kind === 'commit' ? `Changes of ${shortId(tab.at.commit)}` : 'Review'
    case 'history':
      if (pane.path === undefined) return 'History'
      return pane.lines ? titleOfLines(pane.path, pane.lines) : `History of ${readable(baseName(pane.path))}`
    case 'find':
      return 'Find'
  }
}
