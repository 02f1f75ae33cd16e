/** What can be done with a row of the explorer, a branch's tab or a file's tab, as the items of its menu. */

import type { Row } from '../files/tree.ts'
import { remoteItems, stepItems } from '../graph/branch-steps.ts'
import type { MenuItem, Offer } from '../ui/menu-content.ts'
import { folderOf, readable, shortId } from '../ui/names.ts'
import {
  copy,
  deleteBranch,
  deleteFile,
  discard,
  draftsOf,
  newBranch,
  newFile,
  newFolder,
  renameBranch,
  renameFile,
} from './actions.ts'
import { type Page, type Pane, paneKey, type Tab } from './state.ts'

/** Of a row; without one, of the explorer itself. */
export function rowMenu(page: Page, tab: Tab, row: Row | undefined): Offer {
  const canEdit = tab.at.kind === 'branch'
  const folder = row === undefined ? '' : row.kind === 'folder' ? `${row.path}/` : folderOf(row.path)
  const making: MenuItem[] = [
    { words: 'New file here…', icon: 'new-file', keys: 'Alt+N', run: () => newFile(page, tab, folder) },
    { words: 'New folder here…', icon: 'new-folder', keys: 'Alt+Shift+N', run: () => newFolder(page, tab, folder) },
  ]
  if (!row) return { title: 'Explorer', groups: canEdit ? [making] : [[findItem(tab)]] }
  const { path } = row
  const changing: MenuItem[] = [
    { words: 'Rename…', icon: 'pencil', keys: 'F2', run: () => renameFile(page, tab, path) },
    { words: 'Delete…', icon: 'trash', keys: 'Delete', run: () => deleteFile(page, tab, path) },
  ]
  const looking: MenuItem[] = [historyItem(page, tab, path), copyPathItem(page, path)]
  const groups = [[openItem(tab, row)], ...(canEdit ? [making, changing] : []), looking]
  return { title: readable(row.name), groups }
}

function openItem(tab: Tab, row: Row): MenuItem {
  if (row.kind !== 'folder') {
    return { words: 'Open', icon: 'file', keys: 'Enter', run: () => tab.edit(row.path) }
  }
  return {
    words: row.isOpen ? 'Close' : 'Open',
    icon: row.isOpen ? 'chevron-down' : 'chevron-right',
    keys: 'Enter',
    run: () => tab.tree.toggle(row.path),
  }
}

function findItem(tab: Tab): MenuItem {
  return { words: 'Find in all files', icon: 'search', keys: 'Ctrl+Shift+F', run: () => tab.find() }
}

function historyItem(page: Page, tab: Tab, path: string): MenuItem {
  return {
    words: 'History',
    icon: 'clock',
    keys: 'Alt+Shift+H',
    run: () => page.showHere(tab, { kind: 'history', path }),
  }
}

function copyPathItem(page: Page, path: string): MenuItem {
  return { words: 'Copy path', icon: 'copy', keys: 'Alt+Shift+C', run: () => copy(page, readable(path)) }
}

/** Of the tab of a branch or of a commit. */
export function branchMenu(page: Page, tab: Tab): Offer {
  const { at } = tab
  const close: MenuItem = { words: 'Close the tab', icon: 'x', keys: 'Alt+Shift+W', run: () => page.close(tab) }
  const others: MenuItem = { words: 'Close other tabs', icon: 'x', run: () => page.closeOthers(tab) }
  const closing = page.tabs.peek().length > 1 ? [close, others] : [close]
  const history: MenuItem = {
    words: 'History',
    icon: 'clock',
    keys: 'Alt+H',
    run: () => {
      page.open(at)
      page.showHere(tab, { kind: 'history', path: undefined })
    },
  }
  const review: MenuItem = {
    words: 'Compare with…',
    icon: 'diff',
    keys: 'Alt+R',
    run: () => {
      page.open(at)
      page.showHere(tab, { kind: 'review' })
    },
  }
  if (at.kind === 'commit') {
    const { commit } = at
    const from: MenuItem = {
      words: 'Branch from here…',
      icon: 'branch',
      run: () => newBranch(page, { commit, words: shortId(commit) }),
    }
    const copied: MenuItem = { words: 'Copy id', icon: 'copy', keys: 'Alt+Shift+P', run: () => copy(page, commit) }
    return { title: shortId(commit), groups: [[from], [history, copied], closing] }
  }
  const { branch } = at
  const copied: MenuItem = {
    words: 'Copy name',
    icon: 'copy',
    keys: 'Alt+Shift+P',
    run: () => copy(page, readable(branch)),
  }
  if (page.isGone(at)) return { title: readable(branch), groups: [[copied], closing] }
  const info = page.branch(branch)
  const changing: MenuItem[] = [
    {
      words: 'New branch from here…',
      icon: 'branch',
      run: () => newBranch(page, info && { commit: info.tip, words: branch }),
    },
    { words: 'Rename…', icon: 'pencil', keys: 'Shift+F2', run: () => renameBranch(page, branch) },
    { words: 'Delete…', icon: 'trash', keys: 'Alt+Shift+Delete', run: () => deleteBranch(page, branch) },
  ]
  const steps = info ? [remoteItems(page, info), ...(info.merging ? [] : [stepItems(page, info)])] : []
  return { title: readable(branch), groups: [...steps, changing, [review, history, copied], closing] }
}

/** Of the tab of a file, or of something else that is shown of a branch. */
export function paneMenu(page: Page, tab: Tab, pane: Pane, title: string): Offer {
  const key = paneKey(pane)
  const others = tab.panes.peek().filter(other => other.kind !== 'chat' && paneKey(other) !== key)
  const close: MenuItem = { words: 'Close', icon: 'x', keys: 'Alt+W', run: () => page.closePane(tab, pane) }
  const closeOthers: MenuItem = {
    words: 'Close others',
    icon: 'x',
    keys: 'Alt+Shift+O',
    run: () => page.closeOtherPanes(tab, pane),
  }
  const closing = [...(pane.kind === 'chat' ? [] : [close]), ...(others.length > 0 ? [closeOthers] : [])]
  if (pane.kind !== 'file') return { title, groups: [closing] }
  const { path } = pane
  const branch = tab.at.kind === 'branch' ? tab.at.branch : undefined
  const changing: MenuItem[] =
    branch === undefined
      ? []
      : [
          { words: 'Rename…', icon: 'pencil', keys: 'F2', run: () => renameFile(page, tab, path) },
          { words: 'Delete…', icon: 'trash', keys: 'Alt+Delete', run: () => deleteFile(page, tab, path) },
          ...(draftsOf(page, branch).includes(path)
            ? [
                {
                  words: 'Discard the draft…',
                  icon: 'undo',
                  keys: 'Alt+Shift+D',
                  run: () => discard(page, branch, [path]),
                } satisfies MenuItem,
              ]
            : []),
        ]
  const looking = [historyItem(page, tab, path), copyPathItem(page, path)]
  return { title, groups: [closing, changing, looking] }
}
