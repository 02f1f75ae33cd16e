/** What can be done with the tab of a branch or a commit, and with the files of it that are open. */
import { fileActions } from '../files/file-actions.ts'
import { branchActions, REMOTE, STEPS } from '../graph/branch-actions.ts'
import { resolveDrafts, showsConflicts } from '../merging/merging-actions.ts'
import { conflictsIn, copy, discard, draftsOf, newBranch, restoreBranch, type Start, save } from '../page/actions.ts'
import { type Page, type Pane, paneKey, type Tab } from '../page/state.ts'
import { type Actions, itemsWith } from '../ui/action.ts'
import type { Offer } from '../ui/menu-content.ts'
import { named, readable, shortId } from '../ui/names.ts'

export interface InTab {
  page: Page
  tab: Tab
}

export const tabActions = {
  review: {
    label: 'Compare with…',
    inPalette: ({ tab }) =>
      tab.at.kind === 'branch' ? 'Compare this branch with… (review)' : 'Changes of this commit',
    keys: 'Alt+R',
    icon: 'diff',
    run: ({ page, tab }) => showIn(page, tab, { kind: 'review' }),
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
    icon: 'file',
    isPossible: about => !isAtConflicts(about),
    run: ({ page }) => page.places.focus('explorer'),
  },
  goToConflicts: {
    label: 'Go to the conflicted files',
    keys: 'Alt+X',
    icon: 'clash',
    isPossible: about => isAtConflicts(about),
    run: ({ page }) => page.places.focus('conflicted files'),
  },
  goToEditor: {
    label: 'Go to the editor',
    keys: 'Alt+I',
    icon: 'pencil',
    run: ({ page }) => page.places.focus('editor'),
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
  branchFromHere: {
    label: 'Branch from here…',
    inMenu: ({ tab }) => (tab.at.kind === 'branch' ? 'New branch from here…' : 'Branch from here…'),
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

/** What a tab shows: a file, the chat, a review. */
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
  closeOthers: {
    label: 'Close other file tabs',
    inMenu: 'Close others',
    keys: 'Alt+Shift+O',
    icon: 'x',
    isPossible: ({ tab, pane }) => tab.panes.value.length > (pane.kind === 'chat' ? 1 : 2),
    run: ({ page, tab, pane }) => page.closeOtherPanes(tab, pane),
  },
} satisfies Actions<InPane>

/** The branch of a tab. */
export interface OnBranch extends InTab {
  branch: string
}

const isThere = ({ page, tab }: OnBranch): boolean => !page.isGone(tab.at)

export const branchTabActions = {
  restore: {
    label: 'Restore the branch',
    inPalette: ({ branch }) => `Restore the branch ${named(branch)}`,
    keys: 'Alt+Shift+G',
    icon: 'branch',
    isPossible: about => !isThere(about),
    run: ({ page, branch }) => restoreBranch(page, branch),
  },
  settleDrafts: {
    label: 'Resolve the conflicts',
    keys: 'Alt+Shift+K',
    icon: 'clash',
    isPossible: about => isThere(about) && conflictsIn(about.page, about.branch).length > 0,
    run: ({ page, tab }) => resolveDrafts(page, tab),
  },
  save: {
    label: 'Save this file',
    keys: 'Ctrl+S',
    icon: 'check',
    isPossible: isThere,
    run: ({ page, tab }) => save(page, tab, 'this'),
  },
  saveAll: {
    label: 'Save all drafts',
    keys: 'Ctrl+Shift+S',
    icon: 'check',
    isPossible: isThere,
    run: ({ page, tab }) => save(page, tab, 'all'),
  },
  discardAll: {
    label: 'Discard all drafts',
    inPalette: ({ page, branch }) => `Discard all ${draftsOf(page, branch).length} drafts`,
    keys: 'Alt+Shift+A',
    icon: 'trash',
    isPossible: about => isThere(about) && draftsOf(about.page, about.branch).length > 1,
    run: ({ page, branch }) => discard(page, branch, draftsOf(page, branch)),
  },
} satisfies Actions<OnBranch>

/** The menu of the tab of a branch or a commit. */
export function tabMenu(page: Page, tab: Tab): Offer {
  const about = { page, tab }
  const { at } = tab
  const { review, history, copyName, branchFromHere, close, closeOthers } = tabActions
  const closing = page.tabs.peek().length > 1 ? itemsWith(about, [close, closeOthers]) : []
  if (at.kind === 'commit') {
    const looking = itemsWith(about, [history, copyName])
    return { title: shortId(at.commit), groups: [itemsWith(about, [branchFromHere]), looking, closing] }
  }
  const title = readable(at.branch)
  if (page.isGone(at)) return { title, groups: [itemsWith(about, [copyName]), closing] }
  const branch = { page, branch: at.branch }
  const { rename, delete: remove } = branchActions
  const changing = [...itemsWith(about, [branchFromHere]), ...itemsWith(branch, [rename, remove])]
  const groups = [itemsWith(branch, REMOTE), itemsWith(branch, STEPS), changing]
  return { title, groups: [...groups, itemsWith(about, [review, history, copyName]), closing] }
}

/** The menu of the tab of a file, or of something else that is shown of a branch or a commit. */
export function paneMenu(page: Page, tab: Tab, pane: Pane, title: string): Offer {
  const closing = itemsWith({ page, tab, pane }, [paneActions.close, paneActions.closeOthers])
  if (pane.kind !== 'file') return { title, groups: [closing] }
  const about = { page, tab, path: pane.path }
  const { rename, delete: remove, discard, history, copyPath } = fileActions
  return {
    title,
    groups: [closing, itemsWith(about, [rename, remove, discard]), itemsWith(about, [history, copyPath])],
  }
}
