/** Actions on a file or folder, in a tab or the explorer. */

import { copy } from '../page/actions.ts'
import { branchOf, draftsOf } from '../page/branch-facts.ts'
import { findActions } from '../page/desk-actions.ts'
import type { Page, Tab } from '../page/state.ts'
import type { TreeRow } from '../page/tree.ts'
import { previewKindOf } from '../preview/kinds.ts'
import { type Actions, itemsWith } from '../ui/action.ts'
import type { Offer } from '../ui/menu-content.ts'
import { baseName, folderOf, named, readable } from '../ui/names.ts'
import { deleteFile, discard, newFile, newFolder, renameFile } from './file-dialogs.ts'

/** The row, if it is in the explorer. */
export interface OneFile {
  page: Page
  tab: Tab
  path: string
  row?: TreeRow | undefined
}

const nameOf = ({ path }: OneFile): string => named(baseName(path))
const isShown = ({ tab, path }: OneFile): boolean => tab.path === path
const isInBranch = ({ tab }: { tab: Tab }): boolean => tab.at.kind === 'branch'

export const fileActions = {
  open: {
    label: 'Open',
    inMenu: ({ row }) => (row?.kind === 'folder' && row.isOpen ? 'Close' : 'Open'),
    icon: ({ row }) => (row?.kind !== 'folder' ? 'file' : row.isOpen ? 'chevron-down' : 'chevron-right'),
    listKeys: 'Enter',
    isPossible: ({ row }) => row !== undefined,
    run: ({ tab, path, row }) => (row?.kind === 'folder' ? tab.tree.toggle(path) : tab.edit(path)),
  },
  history: {
    label: 'History of the file',
    inMenu: 'History',
    inPalette: about => `History of ${nameOf(about)}`,
    keys: 'Alt+Shift+H',
    icon: 'clock',
    run: ({ page, tab, path }) => page.showHere(tab, { kind: 'history', path }),
  },
  copyPath: {
    label: 'Copy path',
    inPalette: about => `Copy path of ${nameOf(about)}`,
    keys: 'Alt+Shift+C',
    icon: 'copy',
    run: ({ page, path }) => copy(page, readable(path)),
  },
  goToSymbol: {
    label: 'Go to symbol…',
    keys: 'Alt+L',
    icon: 'list',
    isPossible: isShown,
    run: ({ page }) => {
      page.palette.value = 'symbols'
    },
  },
  goToLine: {
    label: 'Go to line…',
    keys: 'Ctrl+G',
    icon: 'list',
    isPossible: isShown,
    run: ({ page }) => {
      page.palette.value = 'line'
    },
  },
  nextChange: {
    label: 'Next change',
    keys: 'Alt+F5',
    icon: 'arrow-down',
    isPossible: isShown,
    run: ({ page, tab, path }) => page.files.find(tab.at, path)?.goToNextChange(),
  },
  wordWrap: {
    label: 'Word wrap',
    keys: 'Alt+Z',
    icon: 'wrap',
    isPossible: isShown,
    run: ({ page }) => {
      page.isWrapped.value = !page.isWrapped.peek()
    },
  },
  blame: {
    label: 'Blame',
    inPalette: ({ page }) => (page.isBlamed.value ? 'Hide the blame' : 'Blame: the commit of each line'),
    keys: 'Ctrl+Alt+B',
    icon: 'user',
    isPossible: about => isShown(about) && about.page.files.find(about.tab.at, about.path)?.file.value?.kind === 'text',
    run: ({ page }) => {
      page.isBlamed.value = !page.isBlamed.peek()
    },
  },
  preview: {
    label: 'Preview',
    inPalette: ({ page }) => (page.isPreviewed.value ? 'Hide the preview' : 'Preview beside the text'),
    keys: 'Ctrl+Alt+V',
    icon: 'preview',
    isPossible: about => isShown(about) && previewKindOf(about.path) !== undefined,
    run: ({ page }) => {
      page.isPreviewed.value = !page.isPreviewed.peek()
    },
  },
  discard: {
    label: 'Discard changes…',
    inPalette: about => `Discard changes to ${nameOf(about)}`,
    keys: 'Alt+Shift+D',
    icon: 'trash',
    isPossible: ({ page, tab, path }) => {
      const branch = branchOf(tab)
      return branch !== undefined && !page.isGone(tab.at) && draftsOf(page, branch).includes(path)
    },
    run: ({ page, tab, path }) => discard(page, branchOf(tab) ?? '', [path]),
  },
  rename: {
    label: 'Rename file…',
    inMenu: 'Rename…',
    inPalette: about => `Rename file ${nameOf(about)}…`,
    keys: 'F2',
    listKeys: 'F2',
    icon: 'pencil',
    isPossible: ({ page, tab }) => isInBranch({ tab }) && !page.isGone(tab.at),
    run: ({ page, tab, path }) => renameFile(page, tab, path),
  },
  delete: {
    label: 'Delete file…',
    inMenu: 'Delete…',
    inPalette: about => `Delete file ${nameOf(about)}…`,
    keys: 'Alt+Delete',
    listKeys: 'Delete',
    icon: 'trash',
    isPossible: ({ page, tab }) => isInBranch({ tab }) && !page.isGone(tab.at),
    run: ({ page, tab, path }) => deleteFile(page, tab, path),
  },
} satisfies Actions<OneFile>

/** The folder in which something is created; undefined: the one selected in the explorer. */
export interface InFolder {
  page: Page
  tab: Tab
  folder?: string
}

export const folderActions = {
  newFile: {
    label: 'New file…',
    inMenu: 'New file here…',
    keys: 'Alt+N',
    icon: 'new-file',
    isPossible: ({ page, tab }) => isInBranch({ tab }) && !page.isGone(tab.at),
    run: ({ page, tab, folder }) => newFile(page, tab, folder),
  },
  newFolder: {
    label: 'New folder…',
    inMenu: 'New folder here…',
    keys: 'Alt+Shift+N',
    icon: 'new-folder',
    isPossible: ({ page, tab }) => isInBranch({ tab }) && !page.isGone(tab.at),
    run: ({ page, tab, folder }) => newFolder(page, tab, folder),
  },
} satisfies Actions<InFolder>

/** The menu of a row of the explorer; without a row, of the explorer itself. */
export function rowMenu(page: Page, tab: Tab, row: TreeRow | undefined): Offer {
  const folder = row === undefined ? '' : row.kind === 'folder' ? `${row.path}/` : folderOf(row.path)
  const making = itemsWith({ page, tab, folder }, [folderActions.newFile, folderActions.newFolder], 'list')
  if (!row) {
    return { title: 'Explorer', groups: isInBranch({ tab }) ? [making] : [itemsWith(page, [findActions.findInFiles])] }
  }
  const about = { page, tab, path: row.path, row }
  const { open, rename, delete: remove, history, copyPath } = fileActions
  const groups = [[open], [rename, remove], [history, copyPath]].map(actions => itemsWith(about, actions, 'list'))
  return { title: readable(row.name), groups: groups.toSpliced(1, 0, making) }
}
