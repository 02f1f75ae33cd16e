/** The dialogs that create, rename, delete and discard files. */
import { isIn } from '../../contract/paths.ts'
import { attempt } from '../page/actions.ts'
import { branchOf, draftsAt } from '../page/branch-facts.ts'
import { fileWarnings } from '../page/case-twins.ts'
import { type AskContent, type ConfirmContent, following } from '../page/dialog-content.ts'
import { settle } from '../page/saving.ts'
import type { Page, Tab } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import { baseName, folderOf, named, readable, typedName } from '../ui/names.ts'
import { plural } from '../ui/times.ts'

export function discard(page: Page, branch: string, paths: string[]): void {
  if (paths.length > 0) page.dialog.value = following(branch, it => discardContent(page, it, paths))
}

function discardContent(page: Page, branch: string, paths: string[]): ConfirmContent {
  return {
    kind: 'confirm',
    title:
      paths.length === 1
        ? `Discard changes to ${names(paths)}?`
        : `Discard changes to ${plural(paths.length, 'file')}?`,
    words: ['The files are then as in the last commit. Undo restores the drafts.'],
    list: paths,
    button: 'Discard',
    isDangerous: true,
    run: async () => {
      // What is typed while a save runs is sent to the desk after it, and is to be discarded, too. Text that the desk
      // refuses is discarded as well, so an error here is ignored.
      await settle(page, branch, paths).catch(() => undefined)
      page.closeFiles(branch, await page.connection.ask('discard', { branch, paths }))
      const what = paths.length === 1 ? names(paths) : plural(paths.length, 'file')
      page.tell({ topic: 'discard', branch, title: `Discarded changes to ${what}`, ...undoOfLast(page) })
    },
  }
}

/** Restores files that drafts delete. */
export function restoreFiles(page: Page, branch: string, paths: string[]): Promise<void> {
  return attempt(page, () => page.connection.ask('discard', { branch, paths }), { branch })
}

/** Restores a deleted file: with the text that windows still show of it, or else with its last content. */
export function restoreFile(page: Page, branch: string, path: string): Promise<void> {
  return attempt(page, () => page.connection.ask('restore file', { branch, path }), { branch })
}

function names(paths: string[]): string {
  return paths.map(path => named(baseName(path))).join(', ')
}

export function newFile(page: Page, tab: Tab, folder = selectedFolder(tab)): void {
  const branch = branchOf(tab)
  if (branch === undefined) return
  page.dialog.value = following(branch, it => ({
    kind: 'ask',
    title: 'New file',
    label: `Path in ${named(it)}`,
    value: readable(folder),
    button: 'Create',
    hint: 'Missing folders are created with it. It is a draft until you save.',
    ...creation(page, tab, it, folder),
  }))
}

/** Creates a file under the typed name and opens it. */
function creation(page: Page, tab: Tab, branch: string, folder: string) {
  const warnings = fileWarnings(page, branch)
  return {
    warn: (words: string) => warnings([typedName(words, folder)]),
    run: async (words: string) => {
      await page.connection.ask('new file', { branch, path: typedName(words, folder) })
    },
    goOn: (words: string) => tab.edit(typedName(words, folder)),
  }
}

/** Creates a folder with its first file, since git keeps no empty folders. */
export function newFolder(page: Page, tab: Tab, folder = selectedFolder(tab)): void {
  const branch = branchOf(tab)
  if (branch === undefined) return
  page.dialog.value = following(branch, it => ({
    kind: 'ask',
    title: 'New folder',
    label: 'Path, with the name of its first file',
    value: `${readable(folder)}folder/README.md`,
    selection: [readable(folder).length, `${readable(folder)}folder`.length],
    button: 'Create',
    hint: 'Git keeps no empty folders, so a folder starts with its first file. It is a draft until you save.',
    ...creation(page, tab, it, folder),
  }))
}

/** The folder selected in the explorer, or that of the selected file, with a slash at the end; '' for the top. */
export function selectedFolder(tab: Tab): string {
  const selected = tab.tree.selected.peek()
  const isFolder = tab.tree.rows.peek().some(row => row.path === selected && row.kind === 'folder')
  return isFolder ? `${selected}/` : folderOf(selected)
}

/** The name of a file without its extension, which a new name mostly keeps; of a folder, the whole name. */
function stemOf(tab: Tab, path: string): string {
  const name = baseName(path)
  const isFolder = tab.tree.rows.peek().some(row => row.path === path && row.kind === 'folder')
  const dot = name.lastIndexOf('.')
  return isFolder || dot <= 0 ? name : name.slice(0, dot)
}

export function renameFile(page: Page, tab: Tab, path: string): void {
  const branch = branchOf(tab)
  if (branch !== undefined) page.dialog.value = following(branch, it => renameContent(page, tab, it, path))
}

function renameContent(page: Page, tab: Tab, branch: string, path: string): AskContent {
  const warnings = fileWarnings(page, branch, [path])
  return {
    kind: 'ask',
    title: `Rename ${named(baseName(path))}`,
    label: 'New path',
    value: readable(path),
    selection: [readable(folderOf(path)).length, readable(folderOf(path) + stemOf(tab, path)).length],
    button: 'Rename',
    hint: `It is a draft until you save.${draftsAt(page, branch, path).length > 0 ? ' What you typed moves along.' : ''}`,
    warn: words => warnings([typedName(words, folderOf(path), baseName(path))]),
    run: async words => {
      const to = typedName(words, folderOf(path), baseName(path))
      await settle(page, branch, [path])
      await page.connection.ask('move', { branch, moves: [{ from: path, to }] })
      tab.tree.reveal(to)
    },
  }
}

/** The folders among the rows of the explorer. */
export const foldersIn = (tab: Tab): Set<string> =>
  new Set(tab.tree.rows.peek().flatMap(({ kind, path }) => (kind === 'folder' ? [path] : [])))

/** How many folders and files these paths are, as words. */
export function countOf(paths: readonly string[], folders: ReadonlySet<string>): string {
  const count = paths.filter(path => folders.has(path)).length
  const counts = [count > 0 && plural(count, 'folder'), count < paths.length && plural(paths.length - count, 'file')]
  return counts.filter(it => it !== false).join(' and ')
}

/** Deletes files and folders, after a confirmation. */
export function deleteFiles(page: Page, tab: Tab, paths: string[]): void {
  const branch = branchOf(tab)
  if (branch === undefined || paths.length === 0) return
  page.dialog.value = following(branch, it => deletionContent(page, tab, it, paths))
}

function deletionContent(page: Page, tab: Tab, branch: string, paths: string[]): ConfirmContent {
  const drafts = paths.reduce((sum, path) => sum + draftsAt(page, branch, path).length, 0)
  const alsoDraft = `${drafts === 1 ? 'The draft in it goes' : `The ${drafts} drafts in it go`} with it, and Undo restores that, too.`
  return {
    kind: 'confirm',
    title: `Delete ${paths.length === 1 ? names(paths) : countOf(paths, foldersIn(tab))}?`,
    words: [`It is a draft in ${named(branch)} until you save. Undo restores it.`, ...(drafts > 0 ? [alsoDraft] : [])],
    list: paths,
    button: 'Delete',
    isDangerous: true,
    run: async () => {
      tab.tree.leave(paths)
      const { operation } = await page.connection.ask('delete', { branch, paths })
      const open = tab.panes.peek().flatMap(pane => (pane.kind === 'file' ? [pane.path] : []))
      page.closeFiles(branch, { gone: open.filter(path => paths.some(deleted => isIn(path, deleted))), operation })
    },
  }
}
