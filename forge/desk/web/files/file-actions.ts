/** Actions on a file or folder, in a tab or the explorer. */

import { attempt, copy } from '../page/actions.ts'
import { branchOf, draftsAt, hasDraft, isMerging } from '../page/branch-facts.ts'
import { findActions } from '../page/desk-actions.ts'
import type { Page, Tab } from '../page/state.ts'
import { showExplorer } from '../page/tab-actions.ts'
import type { TreeRow } from '../page/tree.ts'
import { previewKindOf } from '../preview/kinds.ts'
import { type Actions, itemsWith } from '../ui/action.ts'
import type { Offer } from '../ui/menu-content.ts'
import { baseName, folderOf, named, readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { setExecutable } from './executable.ts'
import { copiedInWords, duplicate, paste, takeFiles } from './file-copies.ts'
import { deleteFiles, discard, newFile, newFolder, renameFile, restoreFiles, selectedFolder } from './file-dialogs.ts'
import { moveTo } from './file-moves.ts'
import { chooseFiles, download } from './file-transfers.ts'
import { openIndentationMenu } from './indentation-menu.ts'
import { canChangeLineEnds, openLineEndsMenu } from './line-ends.ts'

/** A file or folder of a tab; `row`: its row, if the explorer lists it. */
export interface OneFile {
  page: Page
  tab: Tab
  path: string
  row?: TreeRow | undefined
}

/** The files and folders that an action applies to: all selected ones, if the row is among them. */
const rowsOf = ({ tab, row }: OneFile): TreeRow[] => (row ? tab.tree.rowsFor(row) : [])
const pathsOf = (about: OneFile): string[] => (about.row ? rowsOf(about).map(({ path }) => path) : [about.path])
const isSingle = (about: OneFile): boolean => pathsOf(about).length === 1

const nameOf = ({ path }: OneFile): string => named(baseName(path))
const isShown = ({ tab, path }: OneFile): boolean => tab.path === path
const fileOf = ({ page, tab, path }: OneFile) => page.files.find(tab.at, path)
const hasDraftOf = ({ page, tab, path }: OneFile): boolean => hasDraft(page, tab.at, path) && !page.isGone(tab.at)
const isShownText = (about: OneFile): boolean => isShown(about) && fileOf(about)?.file.value?.kind === 'text'
/** The folder of the work tree in which the branch is checked out. In that of another branch, other files are. */
const checkoutOf = ({ page, tab }: OneFile): string | undefined => page.branch(branchOf(tab) ?? '')?.checkout
const isInBranch = ({ tab }: { tab: Tab }): boolean => tab.at.kind === 'branch'

/** Whether a row, or an open file, is a file with content. */
const hasContent = ({ row }: OneFile): boolean =>
  row === undefined || ((row.kind === 'file' || row.kind === 'link') && row.draft !== 'deleted')

const canBeExecutable = ({ page, tab, row }: OneFile): boolean =>
  row?.isExecutable !== undefined && row.draft !== 'deleted' && tab.at.kind === 'branch' && !isMerging(page, tab)

/** Whether a file or folder can be copied: a submodule can't be. */
const canCopy = (about: OneFile): boolean =>
  rowsOf(about).every(({ kind, draft }) => kind !== 'submodule' && draft !== 'deleted')

/** The drafts in the files and folders that an action applies to. */
function draftsFor(about: OneFile): string[] {
  const branch = branchOf(about.tab)
  if (branch === undefined) return []
  return [...new Set(pathsOf(about).flatMap(path => draftsAt(about.page, branch, path)))]
}

/** Whether a file can be renamed or deleted: not one that a draft has deleted. */
const canChange = (about: OneFile): boolean =>
  isInBranch(about) && !about.page.isGone(about.tab.at) && rowsOf(about).every(({ draft }) => draft !== 'deleted')

export const fileActions = {
  open: {
    label: 'Open',
    inMenu: ({ row }) => (row?.kind === 'folder' && row.isOpen ? 'Close' : 'Open'),
    icon: ({ row }) => (row?.kind !== 'folder' ? 'file' : row.isOpen ? 'chevron-down' : 'chevron-right'),
    listKeys: 'Enter',
    isPossible: about => about.row !== undefined && isSingle(about),
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
    inMenu: about => (isSingle(about) ? 'Copy path' : 'Copy paths'),
    run: about => copy(about.page, pathsOf(about).map(readable).join('\n')),
  },
  copyAbsolutePath: {
    label: 'Copy absolute path',
    icon: 'copy',
    isPossible: about => checkoutOf(about) !== undefined,
    run: about => {
      const folder = checkoutOf(about)
      const paths = pathsOf(about).map(path => `${folder}/${readable(path)}`)
      return copy(about.page, paths.join('\n'))
    },
  },
  download: {
    label: 'Download',
    icon: 'download',
    isPossible: about => hasContent(about) && isSingle(about),
    run: ({ page, tab, path }) => download(page, tab, path),
  },
  executable: {
    label: 'Make executable',
    inMenu: ({ row }) => (row?.isExecutable ? 'Make not executable' : 'Make executable'),
    icon: 'play',
    isPossible: about => canBeExecutable(about) && isSingle(about),
    run: ({ page, tab, path, row }) => setExecutable(page, tab, path, row?.isExecutable !== true),
  },
  reveal: {
    label: 'Reveal in the explorer',
    keys: 'Alt+Shift+0',
    icon: 'list',
    isPossible: ({ row }) => row === undefined,
    run: ({ page, tab, path }) => {
      tab.merging.showsExplorer.value = true
      tab.tree.reveal(path)
      page.dropFocusWishes()
      page.places.focus('explorer')
    },
  },
  goToSymbol: {
    label: 'Go to symbol…',
    keys: 'Alt+L',
    otherKeys: 'Ctrl+Shift+O',
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
  indentation: {
    label: 'Change the indentation…',
    inPalette: about => `Change the indentation of ${nameOf(about)}…`,
    keys: 'Ctrl+Alt+Shift+T',
    icon: 'list',
    isPossible: isShownText,
    run: about => {
      const file = fileOf(about)
      if (file) openIndentationMenu(about.page, file, about.page.places.find('editor'))
    },
  },
  lineEnds: {
    label: 'Change the line endings…',
    inPalette: about => `Change the line endings of ${nameOf(about)}…`,
    keys: 'Ctrl+Alt+Shift+L',
    icon: 'list',
    isPossible: about => {
      const file = fileOf(about)
      return isShown(about) && file !== undefined && canChangeLineEnds(file) && !isMerging(about.page, about.tab)
    },
    run: about => {
      const file = fileOf(about)
      if (file) openLineEndsMenu(about.page, file, about.page.places.find('editor'))
    },
  },
  language: {
    label: 'Change the language…',
    inPalette: about => `Change the language of ${nameOf(about)}…`,
    keys: 'Ctrl+Alt+Shift+M',
    icon: 'list',
    isPossible: isShownText,
    run: ({ page }) => {
      page.palette.value = 'languages'
    },
  },
  blame: {
    label: 'Blame',
    inPalette: ({ page }) => (page.isBlamed.value ? 'Hide the blame' : 'Blame: the commit of each line'),
    keys: 'Ctrl+Alt+B',
    icon: 'user',
    isPossible: isShownText,
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
  lineHistory: {
    label: 'History of the selected lines',
    keys: 'Ctrl+Alt+G',
    icon: 'clock',
    isPossible: isShownText,
    run: about => showLineHistory(about, 'selection'),
  },
  functionHistory: {
    label: 'History of this function',
    keys: 'Ctrl+Alt+Shift+G',
    icon: 'clock',
    isPossible: isShownText,
    run: about => showLineHistory(about, 'function'),
  },
  format: {
    label: 'Format the file',
    inPalette: about => `Format ${nameOf(about)}`,
    keys: 'Alt+Shift+F',
    icon: 'list',
    isPossible: about =>
      isShownText(about) && isInBranch(about) && !isMerging(about.page, about.tab) && !about.page.isGone(about.tab.at),
    run: ({ page, tab, path }) =>
      attempt(page, async () => (await import('./format-file.ts')).formatFile(page, tab, path), { topic: 'format' }),
  },
  discardChange: {
    label: 'Discard this change',
    inMenu: 'Discard the change in these lines',
    keys: 'Alt+Shift+F5',
    icon: 'undo',
    isPossible: about => isShownText(about) && isInBranch(about) && hasDraftOf(about),
    run: about => {
      const { page } = about
      if (!fileOf(about)?.discardChanges())
        page.tell({ topic: 'discard change', title: 'The selected lines are as in the last commit' }, 'info')
    },
  },
  discard: {
    label: 'Discard changes…',
    inPalette: about => `Discard changes to ${nameOf(about)}`,
    keys: 'Alt+Shift+D',
    icon: 'trash',
    inMenu: ({ row }) => (row?.draft === 'deleted' ? 'Restore' : 'Discard changes…'),
    isPossible: about => !about.page.isGone(about.tab.at) && draftsFor(about).length > 0,
    run: about => {
      const branch = branchOf(about.tab) ?? ''
      const isRestoring = about.row !== undefined && rowsOf(about).every(({ draft }) => draft === 'deleted')
      const paths = draftsFor(about)
      return isRestoring ? restoreFiles(about.page, branch, paths) : discard(about.page, branch, paths)
    },
  },
  cut: {
    label: 'Cut file',
    inMenu: 'Cut',
    inPalette: about => `Cut file ${nameOf(about)}`,
    listKeys: 'Ctrl+X',
    icon: 'cut',
    isPossible: about => canChange(about) && canCopy(about),
    run: about => takeFiles(about.page, about.tab, pathsOf(about), true),
  },
  copy: {
    label: 'Copy file',
    inMenu: 'Copy',
    inPalette: about => `Copy file ${nameOf(about)}`,
    listKeys: 'Ctrl+C',
    icon: 'copy',
    isPossible: canCopy,
    run: about => takeFiles(about.page, about.tab, pathsOf(about), false),
  },
  duplicate: {
    label: 'Duplicate file…',
    inMenu: 'Duplicate…',
    inPalette: about => `Duplicate file ${nameOf(about)}…`,
    keys: 'Ctrl+Shift+F2',
    listKeys: 'Ctrl+Shift+F2',
    icon: 'copy',
    isPossible: about => canChange(about) && canCopy(about) && isSingle(about),
    run: ({ page, tab, path, row }) => duplicate(page, tab, path, row?.kind === 'folder'),
  },
  rename: {
    label: 'Rename file…',
    inMenu: 'Rename…',
    inPalette: about => `Rename file ${nameOf(about)}…`,
    keys: 'F2',
    listKeys: 'F2',
    icon: 'pencil',
    isPossible: about => canChange(about) && isSingle(about),
    run: ({ page, tab, path }) => renameFile(page, tab, path),
  },
  move: {
    label: 'Move file to a folder…',
    inMenu: 'Move to…',
    inPalette: about => `Move file ${nameOf(about)} to a folder…`,
    keys: 'Ctrl+F2',
    listKeys: 'Ctrl+F2',
    icon: 'new-folder',
    isPossible: canChange,
    run: about => moveTo(about.page, about.tab, pathsOf(about)),
  },
  delete: {
    label: 'Delete file…',
    inMenu: 'Delete…',
    inPalette: about => `Delete file ${nameOf(about)}…`,
    keys: 'Alt+Delete',
    listKeys: 'Delete',
    icon: 'trash',
    isPossible: canChange,
    run: about => deleteFiles(about.page, about.tab, pathsOf(about)),
  },
} satisfies Actions<OneFile>

/** Shows the commits that changed the selected lines, or the function around the cursor. */
async function showLineHistory(about: OneFile, of: 'selection' | 'function'): Promise<void> {
  const { page, tab, path } = about
  if (of === 'function') await fileOf(about)?.structured()
  const lines = fileOf(about)?.linesInCommit(of)
  if (!lines) {
    const title = of === 'function' ? 'No function with saved lines is at the cursor' : 'No saved line is selected'
    page.tell({ topic: 'line history', title, words: 'Only saved lines have a history.' }, 'info')
    return
  }
  const { from, to, name } = lines
  const where = name ?? (from === to ? `line ${from}` : `lines ${from} to ${to}`)
  page.showHere(tab, { kind: 'history', path, lines: { from, to, words: where } })
}

/** The menu of the line numbers: what can be asked about the selected lines. */
export function linesMenu(page: Page, tab: Tab, path: string): Offer {
  const about = { page, tab, path }
  const { lineHistory, functionHistory, blame, history, discardChange } = fileActions
  const groups = [itemsWith(about, [discardChange]), itemsWith(about, [lineHistory, functionHistory, history, blame])]
  return { title: readable(baseName(path)), groups }
}

/** Shows the field that filters the explorer, and focuses it. */
export function runFilter({ merging, tree }: Tab): void {
  merging.showsExplorer.value = true
  if (tree.filter.peek() === undefined) tree.filterBy('')
  tree.filterWish.make()
}

/** A tab, and the folder to create something in; undefined: the folder selected in the explorer. */
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
  filter: {
    label: 'Filter the files',
    keys: 'Ctrl+Alt+F',
    listKeys: '/',
    icon: 'filter',
    // A review has its own list of files, if any has changed.
    run: ({ page, tab }) => {
      if (tab.pane.kind === 'review' && page.places.focus('changed files filter')) return
      showExplorer(page, tab, () => runFilter(tab))
    },
  },
  paste: {
    label: 'Paste files',
    inMenu: 'Paste',
    inPalette: ({ page }) => (page.copied.value ? `Paste ${copiedInWords(page.copied.value)}` : 'Paste files'),
    listKeys: 'Ctrl+V',
    icon: 'paste',
    isPossible: ({ page, tab }) => page.copied.value !== undefined && isInBranch({ tab }) && !page.isGone(tab.at),
    run: ({ page, tab, folder = selectedFolder(tab) }) => paste(page, tab, folder.replace(/\/$/, '')),
  },
  upload: {
    label: 'Upload files…',
    inMenu: 'Upload files here…',
    icon: 'upload',
    isPossible: ({ page, tab }) => isInBranch({ tab }) && !page.isGone(tab.at),
    run: ({ page, tab, folder }) => chooseFiles(page, tab, (folder ?? '').replace(/\/$/, '')),
  },
  findHere: {
    label: 'Find in folder…',
    icon: 'search',
    isPossible: ({ folder }) => folder !== undefined && folder !== '',
    run: ({ tab, folder = '' }) => {
      tab.search.files.value = folder
      if (tab.search.words.peek() !== '') void tab.search.start()
      tab.find()
    },
  },
} satisfies Actions<InFolder>

/** The folder of a row, with a slash at the end: itself, or the one that its file is in; '' for the top. */
export const folderOfRow = (row: TreeRow | undefined): string =>
  row === undefined ? '' : row.kind === 'folder' ? `${row.path}/` : folderOf(row.path)

/** The menu of a row of the explorer; without a row, of the explorer itself. */
export function rowMenu(page: Page, tab: Tab, row: TreeRow | undefined): Offer {
  const folder = folderOfRow(row)
  const { newFile, newFolder, upload, paste: pasteHere, findHere } = folderActions
  const making = itemsWith({ page, tab, folder }, [newFile, newFolder, upload], 'list')
  const pasting = itemsWith({ page, tab, folder }, [pasteHere], 'list')
  if (!row) {
    return {
      title: 'Explorer',
      groups: isInBranch({ tab }) ? [making, pasting] : [itemsWith(page, [findActions.findInFiles])],
    }
  }
  const about = { page, tab, path: row.path, row }
  const { open, history, copyPath, copyAbsolutePath, download } = fileActions
  const { cut, copy: take, duplicate: again, rename, move, delete: remove, discard, executable } = fileActions
  const count = rowsOf(about).length
  const looking = count === 1 ? [history, download, copyPath, copyAbsolutePath] : [copyPath, copyAbsolutePath]
  const items = (actions: Parameters<typeof itemsWith<OneFile>>[1]) => itemsWith(about, actions, 'list')
  const copying = [...items([cut, take]), ...pasting, ...items([again])]
  const groups = [items([open]), copying, items([rename, move, executable, remove, discard]), items(looking)]
  if (count > 1) return { title: plural(count, 'file'), groups }
  const finding = row.kind === 'folder' ? itemsWith({ page, tab, folder }, [findHere], 'list') : []
  return { title: readable(row.name), groups: groups.toSpliced(1, 0, making, finding) }
}
