/** What a person can do, each as the questions and dialogs that it takes. */
import type { Operation } from '../../contract/branches.ts'
import type { News } from '../../contract/news.ts'
import type { At } from '../../contract/values.ts'
import { baseName, folderOf, named, readable, shortId, toName } from '../ui/names.ts'
import { Disconnected } from '../ui/socket.ts'
import { plural } from '../ui/times.ts'
import { reversalOf } from './reversal.ts'
import type { Page, Tab } from './state.ts'

type Paths = string[] | 'all'

interface About {
  branch?: string | undefined
  /** What earlier notices of this topic said is solved when it works now. */
  topic?: string
}

/** What is said of actions without a topic of their own: what failed last, until the next one works. */
const ACTION = 'action'

/** Runs something, and says in the page why it did not work. */
export async function attempt(page: Page, run: () => Promise<unknown>, about: About = {}): Promise<void> {
  const { branch, topic = ACTION } = about
  try {
    await run()
    page.solved(topic, branch)
  } catch (error) {
    page.complain(error, { branch, topic })
  }
}

export function branchOf(tab: Tab | undefined): string | undefined {
  return tab?.at.kind === 'branch' ? tab.at.branch : undefined
}

/** Files of a branch that are not saved: what the server knows, and what was typed just now. */
export function draftsOf(page: Page, branch: string): string[] {
  const known = page.branch(branch)?.drafts ?? []
  const typed = page.files.of(branch).flatMap(({ isDraft, path }) => (isDraft.value ? [path] : []))
  return [...new Set([...known, ...typed])]
}

/** Files of a branch whose drafts are in conflict with what has become of it. */
export function conflictsIn(page: Page, branch: string): string[] {
  // What was settled just now is not yet known to the server.
  const isSettled = (path: string) => {
    const { all = 0, open = [] } = page.files.find({ kind: 'branch', branch }, path)?.conflicts.value ?? {}
    return all > 0 && open.length === 0
  }
  return (page.branch(branch)?.conflicts ?? []).filter(path => !isSettled(path))
}

/** The drafts of a file, or of all files of a folder. */
function draftsAt(page: Page, branch: string, path: string): string[] {
  return draftsOf(page, branch).filter(draft => draft === path || draft.startsWith(`${path}/`))
}

export function hasDraft(page: Page, at: At, path: string): boolean {
  if (at.kind === 'commit') return false
  const file = page.files.find(at, path)
  if (file?.file.value?.kind === 'text') return file.isDraft.value
  return page.branch(at.branch)?.drafts.includes(path) ?? false
}

/** Saves the file that is shown, or all of the branch's drafts: one commit. */
export async function save(page: Page, tab: Tab | undefined, which: 'this' | 'all'): Promise<void> {
  const branch = branchOf(tab)
  if (!tab || branch === undefined) return
  const { path } = tab
  // Where no file is shown, all of them are meant.
  const paths: Paths = which === 'this' && path !== undefined ? [path] : 'all'
  await page.saves.add(branch, JSON.stringify(paths), () =>
    attempt(page, () => saveWhenSettled(page, tab, branch, paths), { branch, topic: 'save' }),
  )
}

async function saveWhenSettled(page: Page, tab: Tab, branch: string, paths: Paths): Promise<void> {
  const message = tab.message.peek()?.trim()
  for (;;) {
    await page.connection.up()
    await settle(page, branch, paths)
    try {
      const fields = { branch, paths, ...(message ? { message } : {}) }
      const { commit } = await page.connection.ask('save', fields)
      tab.writeMessage(undefined)
      if (commit) page.saved(branch, commit)
      else page.spoken.value = 'Nothing to save'
      return
    } catch (error) {
      // Saving what is saved already makes nothing: it can be asked again.
      if (!(error instanceof Disconnected)) throw error
    }
  }
}

/** Saves all drafts of a branch, with the message that the server makes. Throws where some can't be saved. */
export async function saveAll(page: Page, branch: string): Promise<void> {
  await settle(page, branch, 'all')
  const { commit } = await page.connection.ask('save', { branch, paths: 'all' })
  if (commit) page.saved(branch, commit)
}

/** Waits until the server has all that was typed. Throws where it refuses some of that. */
export async function settle(page: Page, branch: string, paths: Paths): Promise<void> {
  const files = page.files.of(branch).filter(({ path }) => paths === 'all' || paths.includes(path))
  await Promise.all(files.map(file => file.settled()))
}

/** Says that a checkout did not follow a save or another step, and what to do. */
export function sayLeftBehind(page: Page, news: Extract<News, { say: 'checkout left behind' }>): void {
  page.notify({
    topic: 'checkout',
    branch: news.branch,
    tone: 'warn',
    title: `The checkout in ${news.folder} stays behind`,
    words: `${news.why} Nothing in that folder was touched. Move what is in the way aside before you commit there, or that commit takes back what was done here; with the next save the checkout follows.`,
    actions: [{ words: 'Save to a new branch instead', stays: true, run: () => saveElsewhere(page, news.branch) }],
  })
}

/** Where a checkout could not follow: what was saved goes to a branch of its own, and this window with it. */
export function saveElsewhere(page: Page, branch: string): void {
  page.dialog.value = {
    kind: 'ask',
    title: 'Save to a new branch instead',
    label: 'Branch name',
    value: `${readable(branch)}-saved`,
    button: 'Create',
    hint: `It gets the saved commits and the drafts. ${readable(branch)} goes back to the commit of its checkout.`,
    run: async words => {
      const to = toName(words)
      await settle(page, branch, 'all')
      await page.connection.ask('save elsewhere', { branch, to })
      page.renamed(branch, to)
      page.solved('checkout', branch)
    },
  }
}

/** A branch was moved by somebody else: what is typed there goes to a branch of its own, where it was. */
export function draftsElsewhere(page: Page, branch: string, from: string): void {
  page.dialog.value = {
    kind: 'ask',
    title: 'Move drafts to a new branch',
    label: 'Branch name',
    value: `${readable(branch)}-draft`,
    button: 'Create',
    hint: `It starts at ${shortId(from)}, where you typed your drafts, and gets all of them.`,
    run: async words => {
      const to = toName(words)
      await settle(page, branch, 'all')
      await page.connection.ask('drafts elsewhere', { branch, from, to })
      page.open({ kind: 'branch', branch: to })
    },
  }
}

/** What somebody else has brought to a branch, as a review. */
export function showWhatCameIn(tab: Tab, moved: { from: string; to: string }): void {
  tab.review.cameIn.value = { from: moved.from, to: moved.to }
  tab.review.kind.value = 'came in'
  tab.show({ kind: 'review' })
}

export function discard(page: Page, branch: string, paths: string[]): void {
  if (paths.length === 0) return
  page.dialog.value = {
    kind: 'confirm',
    title: paths.length === 1 ? `Discard changes to ${names(paths)}?` : `Discard changes to ${paths.length} files?`,
    words: ['The files are then as in the last commit. Undo restores the drafts.'],
    list: paths,
    button: 'Discard',
    isDangerous: true,
    run: async () => {
      await page.connection.ask('discard', { branch, paths })
    },
  }
}

function names(paths: string[]): string {
  return paths.map(path => named(baseName(path))).join(', ')
}

export function newFile(page: Page, tab: Tab, folder = selectedFolder(tab)): void {
  const branch = branchOf(tab)
  if (branch === undefined) return
  page.dialog.value = {
    kind: 'ask',
    title: 'New file',
    label: `Path in ${named(branch)}`,
    value: readable(folder),
    button: 'Create',
    hint: 'Missing folders are created with it. This creates a commit.',
    run: async words => {
      const path = toName(words)
      await page.connection.ask('new file', { branch, path })
      tab.edit(path)
    },
  }
}

/** Git keeps no empty folders, so a folder starts with its first file. */
export function newFolder(page: Page, tab: Tab, folder = selectedFolder(tab)): void {
  const branch = branchOf(tab)
  if (branch === undefined) return
  page.dialog.value = {
    kind: 'ask',
    title: 'New folder',
    label: 'Path, with the name of its first file',
    value: `${readable(folder)}folder/README.md`,
    selection: [readable(folder).length, `${readable(folder)}folder`.length],
    button: 'Create',
    hint: 'Git keeps no empty folders, so a folder starts with its first file.',
    run: async words => {
      const path = toName(words)
      await page.connection.ask('new file', { branch, path })
      tab.edit(path)
    },
  }
}

function selectedFolder(tab: Tab): string {
  const selected = tab.tree.selected.peek()
  const isFolder = tab.tree.rows.peek().some(row => row.path === selected && row.kind === 'folder')
  return isFolder ? `${selected}/` : folderOf(selected)
}

export function renameFile(page: Page, tab: Tab, path: string): void {
  const branch = branchOf(tab)
  if (branch === undefined) return
  page.dialog.value = {
    kind: 'ask',
    title: `Rename ${named(baseName(path))}`,
    label: 'New path',
    value: readable(path),
    selection: [readable(folderOf(path)).length, readable(path).length],
    button: 'Rename',
    hint: `This creates a commit.${draftsAt(page, branch, path).length > 0 ? ' Drafts move along.' : ''}`,
    run: async words => {
      const to = toName(words)
      await settle(page, branch, [path])
      await page.connection.ask('rename', { branch, from: path, to })
    },
  }
}

export function deleteFile(page: Page, tab: Tab, path: string): void {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const drafts = draftsAt(page, branch, path).length
  const alsoDraft = `${drafts === 1 ? 'The draft in it goes' : `The ${drafts} drafts in it go`} with it, and Undo restores that, too.`
  page.dialog.value = {
    kind: 'confirm',
    title: `Delete ${named(baseName(path))}?`,
    words: [`This creates a commit on ${named(branch)}. Undo restores it.`, ...(drafts > 0 ? [alsoDraft] : [])],
    list: [path],
    button: 'Delete',
    isDangerous: true,
    run: async () => {
      await page.connection.ask('delete', { branch, path })
      page.closePane(tab, { kind: 'file', path })
    },
  }
}

/** Where a new branch begins: a commit, and how a person calls it. */
export interface Start {
  commit: string
  words: string
}

/** Where a new branch begins if nobody says: at the commit or branch that is shown, else at the branch of HEAD. */
function startHere(page: Page): Start | undefined {
  const tab = page.tab.peek()
  if (tab?.at.kind === 'commit') return { commit: tab.at.commit, words: shortId(tab.at.commit) }
  const branch = page.branch(branchOf(tab) ?? page.desk.peek()?.head ?? '') ?? page.desk.peek()?.branches[0]
  return branch && { commit: branch.tip, words: branch.name }
}

/** Asks for the name of a new branch, which may have been typed elsewhere already, and makes it. */
export function newBranch(page: Page, start: Start | undefined = startHere(page), name = ''): void {
  page.dialog.value = {
    kind: 'ask',
    title: 'New branch',
    label: 'Branch name',
    value: name,
    button: 'Create branch',
    ...(start && { hint: `It starts at ${whereOf(start)}.` }),
    run: async typed => {
      const branch = toName(typed)
      await page.connection.ask('new branch', { branch, from: start?.commit ?? null })
      page.open({ kind: 'branch', branch })
    },
  }
}

/** What a branch starts at: the name of a branch, and its commit. */
export const whereOf = ({ commit, words }: Start): string =>
  words === shortId(commit) ? words : `${named(words)} (${shortId(commit)})`

export function renameBranch(page: Page, branch: string): void {
  page.dialog.value = {
    kind: 'ask',
    title: `Rename ${named(branch)}`,
    label: 'New name',
    value: readable(branch),
    button: 'Rename',
    hint: `${draftsOf(page, branch).length > 0 ? 'Drafts move along. ' : ''}The remote branch keeps its name.`,
    run: async words => {
      const to = toName(words)
      await settle(page, branch, 'all')
      await page.connection.ask('rename branch', { branch, to })
      page.renamed(branch, to)
    },
  }
}

export function deleteBranch(page: Page, branch: string): void {
  const drafts = draftsOf(page, branch)
  page.dialog.value = {
    kind: 'confirm',
    title: `Delete the branch ${named(branch)}?`,
    words: [
      'Undo restores it; its commits are kept for that.',
      ...(drafts.length > 0 ? [`It has ${plural(drafts.length, 'draft')}, restored by Undo too:`] : []),
    ],
    list: drafts,
    button: 'Delete',
    isDangerous: true,
    run: async () => {
      const lasts = untilMore(page)
      await page.connection.ask('delete branch', { branch })
      const tab = page.tabs.peek().find(({ at }) => at.kind === 'branch' && at.branch === branch)
      if (tab) page.close(tab)
      page.tell({ title: `Deleted ${named(branch)}`, lasts, actions: [{ words: 'Undo', run: () => undo(page) }] })
    },
  }
}

export function restoreBranch(page: Page, branch: string): Promise<void> {
  return attempt(page, () => page.connection.ask('restore branch', { branch }), { branch, topic: 'restore' })
}

/** What Undo and Redo would do where the person is: in a branch the last thing about that, else the last of all. */
export function undoableHere(page: Page): { canUndo?: string | undefined; canRedo?: string | undefined } {
  const branch = branchOf(page.tab.value)
  return (branch === undefined ? page.desk.value : page.branch(branch)) ?? {}
}

/** Takes the last operation back where the person is. */
export function undoHere(page: Page): Promise<void> {
  const branch = branchOf(page.tab.peek())
  return reverse(page, () => page.connection.ask('undo', branch === undefined ? {} : { branch }))
}

export function redoHere(page: Page): Promise<void> {
  const branch = branchOf(page.tab.peek())
  return reverse(page, () => page.connection.ask('redo', branch === undefined ? {} : { branch }))
}

/** Takes an operation back: the last one of all, where none is named. */
export function undo(page: Page, operation?: Operation): Promise<void> {
  return reverse(page, () => page.connection.ask('undo', operation ? { operation: operation.id } : {}))
}

export function redo(page: Page): Promise<void> {
  return reverse(page, () => page.connection.ask('redo', {}))
}

/** Until something else is done: what is undone by then is another operation. */
export function untilMore(page: Page): (page: Page) => boolean {
  const before = page.desk.peek()?.canUndo
  let own: string | undefined
  return ({ desk }) => {
    const now = desk.value?.canUndo
    if (own === undefined && now !== before) own = now
    return own === undefined || now === own
  }
}

const UNDO = 'undo'

/** Undoes or does again. One notice says what came of it last, where it was asked for, while there is a way back. */
async function reverse(page: Page, ask: () => Promise<{ words: string }>): Promise<void> {
  try {
    const { words } = await ask()
    const { isUndo, title } = reversalOf(words)
    page.notices.value = page.notices.peek().filter(({ topic }) => topic !== UNDO)
    // The desk tells what can be done again a little after it has answered.
    let wasThere = false
    page.tell({
      title,
      lasts: now => {
        const { canUndo, canRedo } = undoableHere(now)
        const isThere = (isUndo ? canRedo : canUndo) !== undefined
        wasThere ||= isThere
        return isThere || !wasThere
      },
      actions: [isUndo ? { words: 'Redo', run: () => redoHere(page) } : { words: 'Undo', run: () => undoHere(page) }],
    })
  } catch (error) {
    page.complain(error, { topic: UNDO, branch: branchOf(page.tab.peek()) })
  }
}

export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Opens a commit that a person names by its id. */
export function goToCommit(page: Page): void {
  page.dialog.value = {
    kind: 'ask',
    title: 'Go to a commit',
    label: 'Commit hash, or its first digits',
    value: '',
    button: 'Open',
    run: async words => {
      const { row } = await page.connection.ask('commit', { commit: words.slice(0, 64) })
      page.open({ kind: 'commit', commit: row.oid })
    },
  }
}

export async function copy(page: Page, words: string): Promise<void> {
  await attempt(page, async () => {
    await navigator.clipboard.writeText(words)
    page.spoken.value = 'Copied'
  })
}
