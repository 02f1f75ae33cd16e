/** Actions on a waiting merge: resolve a file, ask the AI, finish, abort. */
import { type Merging, type MergingFile, nounOf } from '../../contract/merging.ts'
import { attempt } from '../page/actions.ts'
import { branchOf, draftsOf, isInConflict, mergingFile, mergingFiles, shownPath } from '../page/branch-facts.ts'
import { isOfForge, SESSION } from '../page/conversation-files.ts'
import { deskActions } from '../page/desk-actions.ts'
import { following } from '../page/dialog-content.ts'
import { settle } from '../page/saving.ts'
import type { Page, Tab } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import { heldKeys } from '../ui/held-keys.ts'
import { shownKeys } from '../ui/keys.ts'
import { named, readable, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'

const TOPIC = 'merging'

/** The keys that finish a merge. */
export const FINISH_KEYS = 'Alt+Shift+F'

/** Shows the conflicts of drafts with the branch's new commit, starting at the first. */
export async function resolveDrafts(page: Page, tab: Tab): Promise<void> {
  tab.merging.showsExplorer.value = false
  await goToFirstConflict(page, tab)
}

/** Resolves a whole file: with one side, with the common base, or with git's own result (`both`). */
export async function takeSide(
  page: Page,
  tab: Tab,
  path: string,
  side: 'ours' | 'theirs' | 'base' | 'both',
): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const take = async () => {
    const shown = mergingFile(page, tab, path)
    await settle(page, branch, [path, shown?.result ?? path])
    const { words: title } = await page.connection.ask('take side', { branch, path, side })
    if (title !== undefined) page.tell({ topic: TOPIC, branch, title, ...undoOfLast(page) })
    await tab.merging.refresh()
    const now = tab.merging.latest.peek()?.files.find(file => file.path === path)
    if (shown && now) follow(page, tab, shown.result ?? path, now.result ?? path)
  }
  await attempt(page, take, { branch, topic: TOPIC })
}

/** Says which keys take back what was done last in the branch: a choice of a whole file is not undone as typing is. */
export function sayUndo(page: Page, tab: Tab): void {
  const { canUndo } = page.branch(branchOf(tab) ?? '') ?? {}
  if (canUndo === undefined) return
  page.tell({ title: `Press ${shownKeys(deskActions.undo.keys)} to undo: ${withoutTricks(canUndo)}` }, 'info')
}

/** Where one side is taken for all conflicts, in the words of the action. */
export type TakenIn = 'the file' | 'all files'

/** Resolves all open conflicts of some texts by one side, and says which files of `what` still need a choice. */
export async function takeConflicts(
  page: Page,
  tab: Tab,
  paths: string[],
  side: 'ours' | 'theirs',
  what: TakenIn,
): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const take = async () => {
    const all = mergingFiles(page, tab)
    const taken = all.filter(({ path }) => paths.includes(path))
    await settle(page, branch, taken.map(shownPath))
    const words = leftWords(what === 'all files' ? all : taken, paths)
    const { words: title } = await page.connection.ask('take conflicts', { branch, paths, side })
    page.tell({ topic: TOPIC, branch, title, ...(words && { words }), ...undoOfLast(page) })
    await tab.merging.refresh()
  }
  await attempt(page, take, { branch, topic: TOPIC })
}

/** At most this many files are named in a notice; for the others it gives their number. */
const MAX_NAMED_FILES = 3

/**
 * Says which files stay open after one side was taken for the conflicts in the text of others, and why; undefined if
 * none does. `taken`: the paths of those texts.
 */
function leftWords(files: readonly MergingFile[], taken: readonly string[]): string | undefined {
  const left = files.filter(it => it.state === 'open' && (it.isWholeOpen || !taken.includes(it.path)))
  if (left.length === 0) return undefined
  const named = left.slice(0, MAX_NAMED_FILES).map(file => {
    return `${readable(shownPath(file))} (${withoutTricks(file.words ?? file.kind)})`
  })
  const more = left.length > MAX_NAMED_FILES ? [`${left.length - MAX_NAMED_FILES} more`] : []
  const need = plural(left.length, 'file still needs a choice of its own', 'files still need a choice of their own')
  return `${need}: ${[...named, ...more].join(', ')}.`
}

/** Has the tab of the file under the name that was chosen of two, in place of the one that is gone. */
function follow(page: Page, tab: Tab, from: string, to: string): void {
  if (from === to) return
  tab.rename({ from, to })
  page.files.close(tab.at, from)
}

/**
 * Asks the AI to resolve the open conflicts of some files or of all; `only`: one open conflict of a file, by index. The
 * conversation shows its work.
 */
export async function askAi(page: Page, tab: Tab, paths: string[] | 'all', only?: number): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  const ask = async () => {
    await settle(page, branch, 'all')
    await page.connection.ask('ask for conflicts', { branch, paths, ...(only !== undefined && { only }) })
    const what = paths === 'all' ? 'all conflicts' : only === undefined ? 'this file' : 'this conflict'
    page.spoken.value = `The AI is asked for ${what}`
    await tab.conversation.refresh()
  }
  await attempt(page, ask, { branch, topic: TOPIC })
}

/**
 * Why a merge can't be finished now; undefined if it can. What the server said before it went away may be outdated: the
 * conflicts can be resolved meanwhile.
 */
export function whyNotFinished(page: Page, { notYet }: Merging): string | undefined {
  return page.connection.isLost.value ? 'The desk does not answer at the moment: finish when it is back.' : notYet
}

/** Commits the merge; a rebase continues to its next conflict or its end. */
export async function finish(page: Page, tab: Tab): Promise<void> {
  const branch = branchOf(tab)
  const { merging } = tab
  const shown = merging.latest.peek()
  if (branch === undefined || !shown || merging.isEnding.peek()) return
  if (page.connection.isLost.peek()) {
    page.spoken.value = whyNotFinished(page, shown) ?? ''
    return
  }
  merging.isEnding.value = true
  // What is typed in the message after that is for what is shown when the merge has ended.
  const keys = page.places.hasFocus('end of merge') ? heldKeys.hold() : undefined
  const run = async () => {
    await settle(page, branch, 'all')
    // What is shown may still count a conflict that was just resolved here.
    const known = shown.notYet === undefined ? shown : await page.connection.ask('merging', { branch })
    if (!known) return
    if (known.notYet !== undefined) {
      page.spoken.value = known.notYet
      return
    }
    await merging.sendMessage()
    const { words, merging: again } = await page.connection.ask('finish merging', { branch })
    merging.writeMessage(undefined)
    if (again !== undefined) {
      // Some of the keys would choose a side in a conflict that the user has not seen yet.
      keys?.forget()
      page.tell({ topic: TOPIC, branch, title: words }, 'info')
      await goToFirstConflict(page, tab)
      return
    }
    const { lasts, actions } = undoOfLast(page)
    const all = [...(merging.next ? [merging.next] : []), ...actions]
    page.tell({ topic: TOPIC, branch, title: words, lasts, actions: all })
    merging.next = undefined
    await merging.refresh()
  }
  await attempt(page, run, { branch })
  merging.isEnding.value = false
  keys?.release()
}

/** Makes the merge anew after its branch was moved; what still fits stays resolved. */
export async function update(page: Page, tab: Tab): Promise<void> {
  const branch = branchOf(tab)
  const { merging } = tab
  if (branch === undefined || merging.latest.peek()?.canUpdate !== true || merging.isEnding.peek()) return
  merging.isEnding.value = true
  const run = async () => {
    await settle(page, branch, 'all')
    const { words } = await page.connection.ask('update merging', { branch })
    page.tell({ topic: TOPIC, branch, title: words, ...undoOfLast(page) })
    await merging.refresh()
  }
  await attempt(page, run, { branch })
  merging.isEnding.value = false
}

/** At most this many commits are named in a dialog; for the others it gives their number. */
const MAX_NAMED_COMMITS = 3

/** Says of which commits, that are made already, the resolutions go with a waiting rebase. */
function finishedWords({ finished = [] }: Merging): string[] {
  if (finished.length === 0) return []
  const named = finished.slice(0, MAX_NAMED_COMMITS).map(subject => `“${withoutTricks(subject)}”`)
  const more = finished.length > MAX_NAMED_COMMITS ? ` and ${finished.length - MAX_NAMED_COMMITS} more` : ''
  const commits = plural(finished.length, 'finished commit')
  return [`What was resolved in ${commits} goes with it: ${named.join(', ')}${more}.`]
}

export function abort(page: Page, tab: Tab): void {
  const branch = branchOf(tab)
  const known = tab.merging.latest.peek()
  if (branch === undefined || !known) return
  const settled = mergingFiles(page, tab).flatMap(({ state, path }) => (state === 'open' ? [] : [path]))
  const drafts = draftsOf(page, branch)
  const typed = drafts.map(path => mergingFile(page, tab, path)?.path ?? path)
  const { size: lost } = new Set([...settled, ...typed].filter(path => !isOfForge(path)))
  const noun = nounOf(known.kind)
  const gone = [
    ...(lost > 0 ? [`What was resolved or typed in ${plural(lost, 'file')} goes with it.`] : []),
    ...finishedWords(known),
    ...(drafts.includes(SESSION) ? [`The conversation with the AI since the ${noun} began goes with it.`] : []),
  ]
  page.dialog.value = following(branch, it => ({
    kind: 'confirm',
    title: `Abort the ${noun} in ${named(it)}?`,
    words: [
      `The ${noun} ends, and ${readable(it)} stays at its last commit.`,
      gone.length === 0 ? 'Undo restores it.' : [...gone, 'Undo brings all of it back.'].join(' '),
    ],
    list: [],
    button: 'Abort',
    isDangerous: true,
    run: async () => {
      await tab.merging.sendMessage()
      const { words } = await page.connection.ask('abort merging', { branch: it })
      page.tell({ topic: TOPIC, branch: it, title: words, ...undoOfLast(page) })
      tab.merging.writeMessage(undefined)
      tab.merging.next = undefined
      await tab.merging.refresh()
    },
  }))
}

/**
 * Goes to the first conflict of a merge that has just begun to wait, once it is loaded: that of the shown file, if that
 * has one.
 */
export async function goToFirstConflict(page: Page, tab: Tab): Promise<void> {
  await tab.merging.refresh()
  const { path } = tab
  const isInShown = mergingFiles(page, tab).some(file => file.state === 'open' && shownPath(file) === path)
  if (path === undefined || !isInShown || page.tab.peek() !== tab) {
    await goToConflict(page, tab, 1)
    return
  }
  if (!page.files.find(tab.at, path)?.goToConflict(1, 'edge')) enterShown(page, tab, path, 1)
}

/**
 * Goes to the next or previous open conflict: in the text of this file, then to the choice of its name, else in another
 * file. If none is left, says so, and how the merge is finished.
 */
export async function goToConflict(page: Page, tab: Tab, by: 1 | -1): Promise<void> {
  const shown = tab.active.peek()
  const known = tab.merging.latest.peek() ?? (await tab.merging.known())
  // If the user has opened another view meanwhile, that one stays.
  if (page.tab.peek() !== tab || tab.active.peek() !== shown) return
  const { path } = tab
  const { goingTo } = tab.merging
  const all = mergingFiles(page, tab)
  const open = all.filter(({ state }) => state === 'open')
  const here = open.find(other => shownPath(other) === path)
  // The shown file is still loading: its first conflict is the next one.
  if (here && goingTo && goingTo.path === path) {
    tab.merging.goTo(goingTo.path, goingTo.by)
    return
  }
  const file = path === undefined ? undefined : page.files.find(tab.at, path)
  // The choice of the name is behind the conflicts of the text.
  const hasChoice = here?.isWholeOpen === true
  const isAtChoice = page.places.hasFocus('versions')
  const isAlone = open.every(other => other === here)
  const start = isAtChoice ? 'edge' : hasChoice || !isAlone ? 'cursor' : 'cursor, wrapping'
  const isAtEnd = isAtChoice && hasChoice && by === 1 && !isAlone
  if (here && !isAtEnd && file?.goToConflict(by, start)) return
  if (hasChoice && !isAtChoice && (by === 1 || isAlone) && page.places.focus('versions')) return
  const next = nextFile(all, open, path, by)
  if (next === undefined) {
    const branch = branchOf(tab)
    if (known && branch !== undefined)
      await attempt(page, () => sayNoneLeft(page, tab, branch), { branch, topic: TOPIC })
    return
  }
  if (next !== path) {
    tab.merging.goTo(next, by)
    tab.show({ kind: 'file', path: next })
    return
  }
  enterShown(page, tab, next, by)
}

/** Goes to a conflict of the shown file: it focuses itself when it is drawn. */
function enterShown(page: Page, tab: Tab, path: string, by: 1 | -1): void {
  // The choice of a whole file may be drawn already.
  const sides = tab.merging.files.peek().get(mergingFile(page, tab, path)?.path ?? path)
  if (sides && sides.mark === undefined) page.wantFocus()
  else tab.merging.goTo(path, by)
}

/** The next or previous file with open conflicts in the order of all files, around the end. */
function nextFile(
  all: readonly MergingFile[],
  open: readonly MergingFile[],
  path: string | undefined,
  by: 1 | -1,
): string | undefined {
  const files = by === 1 ? all : all.toReversed()
  const at = files.findIndex(file => shownPath(file) === path)
  const around = [...files.slice(at + 1), ...files.slice(0, at + 1)]
  const next = around.find(file => open.includes(file))
  return next && shownPath(next)
}

/**
 * Says that no conflict is left, or why the merge can't be finished yet. Finish gets the focus, if it is shown: the key
 * of a choice, pressed once too often, is not typed into the text then.
 */
async function sayNoneLeft(page: Page, tab: Tab, branch: string): Promise<void> {
  page.places.focus('finish')
  // The server may still count a conflict that was just resolved here.
  await settle(page, branch, 'all')
  const known = await page.connection.ask('merging', { branch })
  if (!known) return
  const end = known.nothingLeft === undefined ? 'finish' : 'nothing is left to commit, so skip it'
  const way = known.kind === 'drafts' ? 'save the files' : `${end} with ${shownKeys(FINISH_KEYS)}`
  const title = known.notYet ?? `No conflicts are left: ${way}`
  page.tell({ topic: TOPIC, branch, title, lasts: now => isInConflict(now, tab) }, 'info')
}
