/** Saves drafts as commits, and moves drafts to another branch. */
import type { LeftBehind } from '../../contract/desk.ts'
import type { Gone } from '../../contract/values.ts'
import type { OpenFile } from '../editor/open-file.ts'
import { baseName, branchWhileTyping, folderOf, named, readable, shortId, typedName } from '../ui/names.ts'
import { Disconnected } from '../ui/socket.ts'
import { plural } from '../ui/times.ts'
import { attempt } from './actions.ts'
import { branchOf, conflictsIn, draftsOf } from './branch-facts.ts'
import { branchWarning } from './case-twins.ts'
import { type AskContent, following } from './dialog-content.ts'
import { shownDraft, showWithDraft } from './draft-tabs.ts'
import { SaveMessage } from './save-message.ts'
import { CHECKOUT, type Page, type Tab } from './state.ts'
import { placeIn } from './texts-of-places.ts'
import { undoOfLast } from './undo.ts'

export type Paths = string[] | 'all'

/** Saves the shown file or all drafts of the branch, as one commit. Without a shown file, `this` saves nothing. */
export async function save(page: Page, tab: Tab | undefined, which: 'this' | 'all'): Promise<void> {
  const branch = branchOf(tab)
  if (!tab || branch === undefined) return
  const { path } = tab
  if (which === 'this' && path === undefined) {
    sayNoFile(page, tab, branch)
    return
  }
  const paths: Paths = which === 'this' && path !== undefined ? [path] : 'all'
  const hasConflicts = () => conflictsIn(page, branch).some(it => paths === 'all' || paths.includes(it))
  // A refusal because of conflicts is outdated as soon as they are resolved.
  const lasts = hasConflicts() ? hasConflicts : undefined
  const run = savingNow(page, tab.saveMessage, branch, paths)
  await page.saves.add(branch, async () => {
    let isMade = false
    const saved = async () => {
      isMade = await run()
    }
    await attempt(page, saved, { branch, topic: 'save', lasts })
    return isMade
  })
}

/** Says that Save saves the shown file only, and offers to save all drafts. */
function sayNoFile(page: Page, tab: Tab, branch: string): void {
  const drafts = draftsOf(page, branch).length
  if (drafts === 0) page.tell({ title: 'Nothing to save', topic: 'save', branch }, 'info')
  else
    page.tell(
      {
        title: `No file is shown. ${plural(drafts, 'draft')} of ${named(branch)} ${drafts === 1 ? 'is' : 'are'} not saved.`,
        topic: 'save',
        branch,
        actions: [{ words: 'Save all drafts', run: () => void save(page, tab, 'all') }],
      },
      'info',
    )
}

/** Saves all drafts of the branch, as {@link save} does. Throws if that fails. */
export async function saveOrThrow(page: Page, { saveMessage }: Tab, branch: string): Promise<void> {
  await saveAllWith(page, saveMessage, branch)
  page.solved('save', branch)
}

/** Saves all drafts of a branch with a message. Throws if that fails. */
async function saveAllWith(page: Page, typed: SaveMessage, branch: string): Promise<void> {
  let failure: unknown
  const run = savingNow(page, typed, branch, 'all')
  await page.saves.add(branch, async () => {
    try {
      return await run()
    } catch (error) {
      failure = error
      return false
    }
  })
  if (failure !== undefined) throw failure
}

/**
 * Makes the function that saves files as they are now, with the message that is typed now, also if it runs later. It
 * gives whether a commit was made.
 */
function savingNow(page: Page, typed: SaveMessage, branch: string, paths: Paths): () => Promise<boolean> {
  const messageNow = typed.forSave()
  const ends = filesOf(page, branch, paths).map(file => file.markForSave())
  return async () => {
    try {
      return await saveBegun(page, { typed, message: messageNow(), branch, paths })
    } finally {
      for (const end of ends) end()
    }
  }
}

type BegunSave = { typed: SaveMessage; message: string | undefined; branch: string; paths: Paths }

async function saveBegun(page: Page, { typed, message, branch, paths }: BegunSave): Promise<boolean> {
  for (;;) {
    await page.connection.up()
    await Promise.all(filesOf(page, branch, paths).map(file => file.settledForSave()))
    try {
      await restoreDeleted(page, branch, paths)
      const fields = { branch, paths, ...(message ? { message } : {}) }
      const drafts = draftsOf(page, branch).filter(path => paths === 'all' || paths.includes(path))
      const { commit } = await page.connection.ask('save', fields)
      // What is typed while the save runs is the message of the next one.
      if (message !== undefined) typed.used(message)
      if (commit) page.saved(branch, commit)
      else if (drafts.length === 0) page.spoken.value = 'Nothing to save'
      else page.tell({ title: nothingLeft(drafts), topic: 'save', branch }, 'info')
      return commit !== undefined
    } catch (error) {
      // The save may have succeeded before the connection broke. Saving again is harmless: it makes no second commit.
      if (!(error instanceof Disconnected)) throw error
    }
  }
}

/** What is said of drafts that a save found to be as they were saved, as after a conflict whose rename is given up. */
function nothingLeft([path = '', ...others]: readonly string[]): string {
  return others.length === 0
    ? `Nothing to save: ${readable(path)} is as in the last commit`
    : 'Nothing to save: all files are as in the last commit'
}

/**
 * Saves all drafts of a branch, with the message that was typed for them, also where the branch's tab was closed since.
 * Throws if some can't be saved.
 */
export async function saveAll(page: Page, branch: string): Promise<void> {
  const open = page.tabs.peek().find(({ at }) => at.kind === 'branch' && at.branch === branch)
  const place = placeIn(page.desk.peek()?.folder, { kind: 'branch', branch })
  await saveAllWith(page, open?.saveMessage ?? new SaveMessage(place), branch)
}

/** Restores the files to save that are deleted, but whose text this window still shows. */
async function restoreDeleted(page: Page, branch: string, paths: Paths): Promise<void> {
  for (const path of paths === 'all' ? [] : paths)
    if (page.files.find({ kind: 'branch', branch }, path)?.isKeptDeleted)
      await page.connection.ask('restore file', { branch, path })
}

/** Resolves when the server has all typed text. Throws if it refuses some of it. */
export async function settle(page: Page, branch: string, paths: Paths): Promise<void> {
  await Promise.all(filesOf(page, branch, paths).map(file => file.settled()))
}

const filesOf = (page: Page, branch: string, paths: Paths): OpenFile[] =>
  page.files.of(branch).filter(({ path }) => paths === 'all' || paths.includes(path))

/** Shows a notice that a checkout did not follow a save or another step, and what to do. */
export function sayLeftBehind(page: Page, { branch, folder, why, isAhead }: LeftBehind): void {
  const elsewhere = {
    words: 'Save to a new branch instead',
    stays: true,
    run: () => saveElsewhere(page, branch),
  }
  page.notify({
    topic: CHECKOUT,
    branch,
    tone: 'warn',
    title: `The checkout in ${folder} stays behind`,
    words: `${why} Nothing in that folder was touched. Until the checkout follows, a commit there takes back what was done here: clear the way, then try again.`,
    actions: [
      { words: 'Try again', stays: true, run: () => followAgain(page, branch) },
      ...(isAhead ? [elsewhere] : []),
    ],
  })
}

function followAgain(page: Page, branch: string): void {
  page.connection
    .ask('follow again', { branch })
    .catch(error => page.complain(error, { branch, topic: 'follow again' }))
}

/**
 * For a branch whose checkout could not follow a save: offers to move the saved commits and the drafts to a new branch,
 * and opens it.
 */
export function saveElsewhere(page: Page, branch: string): void {
  page.dialog.value = following(branch, it => savingElsewhere(page, it))
}

function savingElsewhere(page: Page, branch: string): AskContent {
  return {
    kind: 'ask',
    title: 'Save to a new branch instead',
    label: 'Branch name',
    value: `${readable(branch)}-saved`,
    button: 'Create',
    hint: `It gets the saved commits and the drafts. ${readable(branch)} goes back to the commit of its checkout.`,
    whileTyping: branchWhileTyping,
    warn: words => branchWarning(page, typedName(words, folderOf(branch), baseName(branch))),
    run: async words => {
      const to = typedName(words, folderOf(branch), baseName(branch))
      await settle(page, branch, 'all')
      await page.connection.ask('save elsewhere', { branch, to })
      page.renamed(branch, to)
      page.solved(CHECKOUT, branch)
    },
  }
}

/**
 * Offers to move the drafts of a branch to a new branch: at the branch's commit, or, if it was moved outside the desk
 * last, at its commit before that. All that was saved on the desk is in either. The new branch is then shown, with the
 * same file and the cursor at the same place.
 */
export function draftsElsewhere(page: Page, branch: string): void {
  const info = page.branch(branch)
  if (!info) return
  const { tip, moved } = info
  // After a save on the desk, the branch's commit has it, and what was moved before.
  const isMovedLast = moved?.to === tip
  const from = isMovedLast ? moved.from : tip
  page.dialog.value = following(branch, it => {
    const where = isMovedLast ? `where ${named(it)} was before it moved outside the desk` : `the commit of ${named(it)}`
    return draftsElsewhereContent(page, it, { from, where })
  })
}

/** `from`: the commit at which the new branch begins; `where`: that in words. */
function draftsElsewhereContent(
  page: Page,
  branch: string,
  { from, where }: { from: string; where: string },
): AskContent {
  return {
    kind: 'ask',
    title: 'Move drafts to a new branch',
    label: 'Branch name',
    value: `${readable(branch)}-draft`,
    button: 'Create',
    hint: `It starts at ${shortId(from)}, ${where}, and gets all of its drafts.`,
    whileTyping: branchWhileTyping,
    warn: words => branchWarning(page, typedName(words, folderOf(branch), baseName(branch))),
    run: async words => {
      const to = typedName(words, folderOf(branch), baseName(branch))
      await moveDrafts(page, branch, to, () => page.connection.ask('drafts elsewhere', { branch, from, to }))
    },
  }
}

/**
 * Moves the drafts of a branch by `move`, and shows the branch `to`, which has them now, with the same file and place.
 */
export async function moveDrafts(page: Page, branch: string, to: string, move: () => Promise<Gone>): Promise<void> {
  await settle(page, branch, 'all')
  const draft = shownDraft(page, branch)
  page.closeFiles(branch, await move())
  await showWithDraft(page, to, draft)
  page.tell({ title: `Moved the drafts of ${named(branch)} to ${named(to)}`, ...undoOfLast(page) })
}
