/** Actions on the tab of a branch or a commit, and on its panes. */
import type { Actions } from '../ui/action.ts'
import { baseName, named, readable, shortId } from '../ui/names.ts'
import { copy, newBranch, type Start } from './actions.ts'
import { showsConflicts } from './branch-facts.ts'
import { compareWith } from './comparing.ts'
import { type Page, type Pane, paneKey, type Tab } from './state.ts'
import { FOLDER } from './tree.ts'

export interface InTab {
  page: Page
  tab: Tab
}

export const tabActions = {
  review: {
    label: 'Review',
    inPalette: ({ tab }) => (tab.at.kind === 'branch' ? 'Review this branch' : 'Changes of this commit'),
    keys: 'Alt+R',
    icon: 'diff',
    run: ({ page, tab }) => showIn(page, tab, { kind: 'review' }),
  },
  compareWith: {
    label: 'Compare with…',
    inPalette: ({ tab }) => `Compare this ${tab.at.kind} with…`,
    keys: 'Ctrl+Alt+R',
    icon: 'compare',
    isPossible: ({ page, tab }) => !page.isGone(tab.at),
    run: ({ page, tab }) => compareWith(page, tab),
  },
  history: {
    label: 'History',
    keys: 'Alt+H',
    icon: 'clock',
    run: ({ page, tab }) => showIn(page, tab, { kind: 'history', path: undefined }),
  },
  chat: { label: 'AI chat', keys: 'Alt+J', icon: 'chat', run: ({ page, tab }) => page.showChat(tab) },
  goToExplorer: {
    label: 'Go to the explorer',
    keys: 'Alt+X',
    otherKeys: 'Ctrl+Shift+E',
    icon: 'file',
    isPossible: about => !isAtConflicts(about),
    run: ({ page, tab }) => showExplorer(page, tab, () => page.places.focus('explorer')),
  },
  goToConflicts: {
    label: 'Go to the conflicted files',
    keys: 'Alt+X',
    otherKeys: 'Ctrl+Shift+E',
    icon: 'clash',
    isPossible: about => isAtConflicts(about),
    run: ({ page }) => {
      page.dropFocusWishes()
      page.places.focus('conflicted files')
    },
  },
  goToEditor: {
    label: 'Go to the editor',
    keys: 'Alt+I',
    icon: 'pencil',
    isPossible: ({ tab }) => tab.lastFile !== undefined,
    run: ({ page, tab }) => {
      page.dropFocusWishes()
      if (!page.places.focus('editor') && tab.lastFile) page.showHere(tab, tab.lastFile)
    },
  },
  nextFile: {
    label: 'Next file tab',
    keys: 'Alt+PageDown',
    icon: 'chevron-right',
    run: ({ page, tab }) => step(page, tab, 1),
  },
  previousFile: {
    label: 'Previous file tab',
    keys: 'Alt+PageUp',
    icon: 'chevron-right',
    run: ({ page, tab }) => step(page, tab, -1),
  },
  toggleSide: {
    label: 'Show or hide the side bar',
    keys: 'Ctrl+B',
    icon: 'panel-left',
    run: ({ page }) => page.graph.panes.toggle('side'),
  },
  splitRight: {
    label: 'Split right',
    keys: 'Ctrl+\\',
    icon: 'columns',
    isPossible: ({ tab }) => tab.split.value === undefined && tab.lastFile !== undefined,
    run: ({ tab }) => tab.splitRight(),
  },
  otherHalf: {
    label: 'Go to the other half',
    keys: 'Alt+\\',
    icon: 'move',
    isPossible: ({ tab }) => tab.otherPane !== undefined,
    run: ({ page, tab }) => {
      tab.toOtherHalf()
      if (tab.path === undefined) page.wantFocus()
      else tab.focusWish.make()
    },
  },
  joinHalves: {
    label: 'Close the other half',
    keys: 'Ctrl+Shift+\\',
    icon: 'x',
    isPossible: ({ tab }) => tab.split.value !== undefined,
    run: ({ tab }) => {
      tab.split.value = undefined
    },
  },
  branchFromHere: {
    label: 'New branch from here…',
    icon: 'branch',
    isPossible: ({ page, tab }) => !page.isGone(tab.at),
    run: ({ page, tab }) => newBranch(page, startOf(page, tab)),
  },
  copyName: {
    label: 'Copy name',
    inMenu: ({ tab }) => (tab.at.kind === 'branch' ? 'Copy name' : 'Copy id'),
    inPalette: ({ tab: { at } }) =>
      at.kind === 'branch' ? `Copy the name of ${named(at.branch)}` : 'Copy the id of this commit',
    keys: 'Alt+Shift+P',
    icon: 'copy',
    run: ({ page, tab: { at } }) => copy(page, at.kind === 'branch' ? readable(at.branch) : at.commit),
  },
  closeOthers: {
    label: 'Close other branch tabs',
    inMenu: 'Close other tabs',
    keys: 'Alt+Shift+X',
    icon: 'x',
    isPossible: ({ page }) => page.tabs.value.length > 1,
    run: ({ page, tab }) => page.closeOthers(tab),
  },
  close: {
    label: 'Close this branch tab',
    inMenu: 'Close the tab',
    keys: 'Alt+Shift+W',
    icon: 'x',
    run: ({ page, tab }) => page.close(tab),
  },
} satisfies Actions<InTab>

/**
 * Shows the side bar with the explorer, which a review replaces by its own list, and then runs `act`. The last file is
 * shown instead of a review, or else the chat.
 */
export function showExplorer(page: Page, tab: Tab, act: () => unknown): void {
  page.dropFocusWishes()
  const { panes } = page.graph
  const isReview = tab.pane.kind === 'review'
  if (!isReview && panes.isSideShown.peek()) {
    act()
    return
  }
  if (!panes.isSideShown.peek()) panes.toggle('side')
  if (isReview) tab.show(tab.lastFile ?? { kind: 'chat' })
  // The explorer is in the page after the next frame.
  requestAnimationFrame(() => requestAnimationFrame(() => act()))
}

/** Opens a file. A folder is opened in the explorer. */
export async function openPath(page: Page, tab: Tab, path: string): Promise<void> {
  // What can't be asked for says why in its tab.
  const [entry] = await page.connection.ask('entries', { at: tab.at, paths: [path] }).catch(() => [])
  if (entry?.mode !== FOLDER) {
    tab.edit(path)
    return
  }
  tab.merging.showsExplorer.value = true
  showExplorer(page, tab, () => {
    tab.tree.reveal(path)
    if (!tab.tree.open.peek().has(path)) tab.tree.toggle(path)
    page.places.focus('explorer')
  })
}

function showIn(page: Page, tab: Tab, pane: Pane): void {
  page.open(tab.at)
  page.showHere(tab, pane)
}

function startOf(page: Page, { at }: Tab): Start | undefined {
  if (at.kind === 'commit') return { commit: at.commit, words: shortId(at.commit) }
  const branch = page.branch(at.branch)
  return branch && { commit: branch.tip, words: at.branch }
}

function isAtConflicts({ page, tab }: InTab): boolean {
  return showsConflicts(page, tab)
}

function step(page: Page, tab: Tab, by: number): void {
  const panes = tab.panes.peek()
  const index = panes.findIndex(pane => paneKey(pane) === tab.active.peek())
  const next = panes.at((index + by + panes.length) % panes.length)
  if (next) page.showHere(tab, next)
}

/** A pane of a tab: a file, the chat, a review. */
export interface InPane extends InTab {
  pane: Pane
}

export const paneActions = {
  close: {
    label: 'Close this file tab',
    inMenu: 'Close',
    keys: 'Alt+W',
    icon: 'x',
    isPossible: ({ pane }) => pane.kind !== 'chat',
    run: ({ page, tab, pane }) => page.closePane(tab, pane),
  },
  moveLeft: {
    label: 'Move the tab left',
    keys: 'Alt+Shift+PageUp',
    icon: 'chevron-right',
    isPossible: ({ pane }) => pane.kind !== 'chat',
    run: about => moveBy(about, -1),
  },
  moveRight: {
    label: 'Move the tab right',
    keys: 'Alt+Shift+PageDown',
    icon: 'chevron-right',
    isPossible: ({ pane }) => pane.kind !== 'chat',
    run: about => moveBy(about, 1),
  },
  pin: {
    label: 'Pin or unpin the tab',
    inMenu: ({ tab, pane }) => (tab.isPinned(pane) ? 'Unpin' : 'Pin'),
    inPalette: ({ tab, pane }) => (tab.isPinned(pane) ? 'Unpin the tab' : 'Pin the tab'),
    keys: 'Alt+Shift+Enter',
    icon: 'pin',
    isPossible: ({ pane }) => pane.kind === 'file',
    run: ({ tab, pane }) => {
      if (pane.kind === 'file') tab.pin(pane.path)
    },
  },
  keepOpen: {
    label: 'Keep the tab open',
    inMenu: 'Keep open',
    keys: 'Ctrl+Alt+K',
    icon: 'check',
    isPossible: ({ tab, pane }) => tab.isPreviewed(pane),
    run: about => keepOpen(about),
  },
  closeOthers: {
    label: 'Close other file tabs',
    inMenu: 'Close others',
    keys: 'Alt+Shift+O',
    icon: 'x',
    isPossible: ({ tab, pane }) => tab.panes.value.length > (pane.kind === 'chat' ? 1 : 2),
    run: ({ page, tab, pane }) => page.closeOtherPanes(tab, pane),
  },
  reopen: {
    label: 'Reopen closed file tab',
    keys: 'Ctrl+Alt+O',
    icon: 'undo',
    isPossible: ({ tab }) => tab.closedPane !== undefined,
    run: ({ page, tab }) => {
      const pane = tab.reopenClosed()
      if (pane) page.showHere(tab, pane)
    },
  },
} satisfies Actions<InPane>

/** Makes a preview tab an ordinary one, and says so to screen readers. */
export function keepOpen({ page, tab, pane }: InPane): void {
  if (pane.kind !== 'file' || !tab.keepOpen(pane.path)) return
  page.spoken.value = `${readable(baseName(pane.path))} stays open`
}

function moveBy({ tab, pane }: InPane, by: 1 | -1): void {
  const panes = tab.panes.peek()
  const index = panes.indexOf(pane)
  if (index + by < 1 || index + by >= panes.length) return
  tab.move(pane, by < 0 ? panes[index - 1] : panes[index + 2])
}
