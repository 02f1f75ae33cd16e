/** Copies of files and folders: by Copy or Cut and Paste in the explorer, or under a new name. Each is a draft. */
import { isIn, nameOfCopy } from '../../contract/paths.ts'
import { attempt } from '../page/actions.ts'
import { branchOf } from '../page/branch-facts.ts'
import { fileWarnings } from '../page/case-twins.ts'
import type { CopiedFiles } from '../page/copied-files.ts'
import { following } from '../page/dialog-content.ts'
import { placeOf } from '../page/open-files.ts'
import { settle } from '../page/saving.ts'
import type { Page, Tab } from '../page/state.ts'
import { baseName, folderOf, joinPath, named, readable, typedName } from '../ui/names.ts'
import { countOf, foldersIn } from './file-dialogs.ts'
import { move, movesInto } from './file-moves.ts'

/** Takes files and folders of a tab for Paste. `isCut`: Paste moves them. */
export function takeFiles(page: Page, tab: Tab, paths: readonly string[], isCut: boolean): void {
  const folders = foldersIn(tab)
  page.copied.value = { at: tab.at, paths, isCut, folders: new Set(paths.filter(path => folders.has(path))) }
  page.spoken.value = `${isCut ? 'Cut' : 'Copied'} ${countOf(paths, folders)}`
}

/** What Paste would paste, in words. */
export function copiedInWords({ paths, folders }: CopiedFiles): string {
  return paths.length === 1 ? named(baseName(paths[0] ?? '')) : countOf(paths, folders)
}

/** Whether a row of a tab is a file or folder that was cut, or in such a folder. */
export function isCut(page: Page, tab: Tab, path: string): boolean {
  const { value: copied } = page.copied
  return copied?.isCut === true && isSame(copied, tab) && copied.paths.some(cut => isIn(path, cut))
}

const isSame = (copied: CopiedFiles, tab: Tab): boolean => placeOf(copied.at) === placeOf(tab.at)

/** Pastes what was copied or cut into a folder ('' for the top); a copied folder is pasted beside itself. */
export async function paste(page: Page, tab: Tab, folder: string): Promise<void> {
  const copied = page.copied.peek()
  const branch = branchOf(tab)
  if (!copied || branch === undefined) return
  const isItself = isSame(copied, tab) && copied.paths.includes(folder)
  const into = isItself ? folderOf(folder).replace(/\/$/, '') : folder
  const run = copied.isCut ? pasteCut : pasteCopies
  await attempt(page, () => run(page, tab, branch, copied, into), { branch, topic: 'paste' })
}

async function pasteCut(page: Page, tab: Tab, branch: string, copied: CopiedFiles, folder: string): Promise<void> {
  if (!isSame(copied, tab))
    throw new Error(`${copiedInWords(copied)} can’t be moved to another branch: use Copy in place of Cut.`)
  const inside = copied.paths.find(path => path !== folder && isIn(folder, path))
  if (inside !== undefined) throw new Error(`${named(inside)} can’t be moved into itself.`)
  const moves = movesInto(copied.paths, folder)
  if (moves.length > 0) await move(page, tab, branch, moves, copied.folders)
  page.copied.value = undefined
}

async function pasteCopies(page: Page, tab: Tab, branch: string, copied: CopiedFiles, folder: string): Promise<void> {
  const { at, paths, folders } = copied
  await settleBelow(page, at, paths)
  const copies = paths.map(from => ({ from, to: joinPath(folder, baseName(from)) }))
  const { paths: made } = await page.connection.ask('copy', { at, branch, copies, findsNames: true })
  const [first] = made
  if (first !== undefined) tab.tree.reveal(first)
  page.spoken.value = `Pasted ${countOf(paths, folders)}`
}

/** Resolves when the server has all text typed in some files and folders. */
async function settleBelow(page: Page, at: CopiedFiles['at'], paths: readonly string[]): Promise<void> {
  if (at.kind !== 'branch') return
  const open = page.files.of(at.branch).map(({ path }) => path)
  await settle(
    page,
    at.branch,
    open.filter(path => paths.some(copied => isIn(path, copied))),
  )
}

/** Asks for the path of a copy of a file or folder. */
export async function duplicate(page: Page, tab: Tab, path: string, isFolder: boolean): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const folder = folderOf(path)
  await attempt(page, async () => {
    const entries = await page.connection.ask('folder', { at: tab.at, path: folder.replace(/\/$/, '') })
    const taken = new Set(entries.flatMap(({ name, draft }) => (draft === 'deleted' ? [] : [name])))
    let name = nameOfCopy(baseName(path), isFolder)
    while (taken.has(name)) name = nameOfCopy(name, isFolder)
    const dot = isFolder ? -1 : name.lastIndexOf('.')
    const stem = dot > 0 ? name.slice(0, dot) : name
    page.dialog.value = following(branch, it => {
      const warnings = fileWarnings(page, it)
      return {
        kind: 'ask',
        title: `Duplicate ${named(baseName(path))}`,
        label: `Path in ${named(it)}`,
        value: readable(folder + name),
        selection: [readable(folder).length, readable(folder + stem).length],
        button: 'Duplicate',
        hint: 'Missing folders are created with it. It is a draft until you save.',
        warn: words => warnings([typedName(words, folder, name)]),
        run: async words => {
          const to = typedName(words, folder, name)
          await settleBelow(page, tab.at, [path])
          const copies = [{ from: path, to }]
          await page.connection.ask('copy', { at: tab.at, branch: it, copies, findsNames: false })
          if (isFolder) tab.tree.reveal(to)
          else tab.edit(to)
        },
      }
    })
  })
}
