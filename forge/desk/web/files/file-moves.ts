/** Moves of files and folders: each is previewed, and is a draft until it is saved. */
import { isIn } from '../../contract/paths.ts'
import { branchOf } from '../page/branch-facts.ts'
import { fileWarnings } from '../page/case-twins.ts'
import { type AskContent, following } from '../page/dialog-content.ts'
import { settle } from '../page/saving.ts'
import type { Page, Tab } from '../page/state.ts'
import { baseName, folderOf, joinPath, named, readable, toName, typedName } from '../ui/names.ts'
import { countOf, foldersIn } from './file-dialogs.ts'

interface Move {
  from: string
  to: string
}

/**
 * The moves of files and folders into a folder ('' for the top), without those that are in it already and the folder
 * itself.
 */
export function movesInto(paths: readonly string[], folder: string): Move[] {
  return paths
    .filter(path => !isIn(folder, path) && folderOf(path) !== (folder === '' ? '' : `${folder}/`))
    .map(path => ({ from: path, to: joinPath(folder, baseName(path)) }))
}

/** Shows what a move into a folder changes, and moves after a confirmation, unless a name is taken there. */
export async function previewMove(page: Page, tab: Tab, paths: readonly string[], folder: string): Promise<void> {
  const branch = branchOf(tab)
  const moves = movesInto(paths, folder)
  if (branch === undefined || moves.length === 0) return
  const taken = await takenBy(page, branch, moves, folder)
  const from = moves.map(move => move.from)
  const what = from.length === 1 ? named(baseName(from[0] ?? '')) : countOf(from, foldersIn(tab))
  page.dialog.value = following(branch, it => ({
    kind: 'confirm',
    title: `Move ${what} to ${folder === '' ? 'the top folder' : named(folder)}?`,
    words: [
      taken.length === 0
        ? `It is a draft in ${named(it)} until you save. Open files and what you typed in them move along.`
        : wordsOnTaken(taken),
    ],
    list: (taken.length === 0 ? moves : taken).map(({ from, to }) => `${from} ${toName('→')} ${to}`),
    button: 'Move',
    isOff: taken.length > 0,
    isSafe: taken.length === 0,
    run: async () => await move(page, tab, it, moves),
  }))
}

/** The moves to a path at which there is something in the folder already, or to which another one of them leads. */
async function takenBy(page: Page, branch: string, moves: readonly Move[], folder: string): Promise<Move[]> {
  const at = { kind: 'branch', branch } as const
  // A folder that can't be listed has no preview of what is in it; the move itself says what is wrong.
  const entries = await page.connection.ask('folder', { at, path: folder }).catch(() => [])
  const there = entries.filter(({ draft }) => draft !== 'deleted').map(({ name }) => joinPath(folder, name))
  return moves.filter(move => there.includes(move.to) || moves.some(other => other !== move && other.to === move.to))
}

function wordsOnTaken(taken: readonly Move[]): string {
  const paths = new Set(taken.map(({ to }) => to))
  const [path = ''] = paths
  return paths.size === 1
    ? `Two files or folders would be ${named(path)}: rename one of them first.`
    : 'At each of these paths there would be two files or folders: rename one of them first.'
}

/** Moves files and folders (`folders`) as drafts, and shows the first of them in the explorer. */
export async function move(
  page: Page,
  tab: Tab,
  branch: string,
  moves: Move[],
  folders: ReadonlySet<string> = foldersIn(tab),
): Promise<void> {
  const paths = moves.map(({ from }) => from)
  await settle(page, branch, 'all')
  await page.connection.ask('move', { branch, moves })
  const [first] = moves
  if (first) tab.tree.reveal(first.to)
  page.spoken.value = `Moved ${countOf(paths, folders)}`
}

/** Asks for a folder, and moves files and folders there. */
export function moveTo(page: Page, tab: Tab, paths: readonly string[]): void {
  const branch = branchOf(tab)
  if (branch !== undefined) page.dialog.value = following(branch, it => moveToContent(page, tab, it, paths))
}

function moveToContent(page: Page, tab: Tab, branch: string, paths: readonly string[]): AskContent {
  const [first = ''] = paths
  const folder = readable(folderOf(first)).replace(/\/$/, '')
  const movesTo = (words: string): Move[] => {
    const typed = words.replace(/^\.?\/|\/$/g, '').replace(/^\.$/, '')
    return movesInto(paths, typedName(typed, folderOf(first).replace(/\/$/, '')))
  }
  const warnings = fileWarnings(page, branch, paths)
  // The same words are there again after a refused move, whichever files of the folder are moved then.
  const refused = { title: `move from ${folder} in ${branch}`, field: 'folder' }
  const value = page.dialogTexts.of(refused) ?? folder
  return {
    kind: 'ask',
    title: paths.length === 1 ? `Move ${named(baseName(first))}` : `Move ${countOf(paths, foldersIn(tab))}`,
    label: 'To the folder (. for the top)',
    value,
    selection: [0, value.length],
    button: 'Move',
    hint: 'Missing folders are created with it. It is a draft until you save.',
    warn: words => warnings(movesTo(words).map(({ to }) => to)),
    run: async words => {
      const moves = movesTo(words)
      page.dialogTexts.keep(refused, words)
      if (moves.length > 0) await move(page, tab, branch, moves)
      page.dialogTexts.drop(refused.title)
    },
  }
}
