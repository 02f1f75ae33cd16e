/** Undo and Redo, for the shown branch or the whole repository. */
import { signal, untracked } from '@preact/signals'
import type { Operation, Reversed } from '../../contract/branches.ts'
import type { Fields } from '../../contract/contract.ts'
import { named } from '../ui/names.ts'
import { branchOf } from './branch-facts.ts'
import { shownDraft, showWithDraft } from './draft-tabs.ts'
import type { Notice, NoticeAction, Page } from './state.ts'
import { lastMessagesToGiveBack } from './turn-messages.ts'

/**
 * What Undo and Redo would revert here: what a shown notice offers to revert; else the last operation of the shown
 * branch, or of the repository if none is shown.
 */
export function undoableHere(page: Page): { canUndo?: string | undefined; canRedo?: string | undefined } {
  const branch = branchOf(page.tab.value)
  const ofAll = page.desk.value
  const ofBranch = branch === undefined ? ofAll : page.branch(branch)
  return {
    canUndo: (offered(page, 'undo') ? ofAll : ofBranch)?.canUndo,
    canRedo: (offered(page, 'redo') ? ofAll : ofBranch)?.canRedo,
  }
}

/** The action of the shown notice that a key does. It is about the last operation of all branches. */
const offered = (page: Page, key: 'undo' | 'redo'): NoticeAction | undefined =>
  page.shownToast?.actions?.find(action => action.key === key)

/**
 * Undoes what a shown notice offers to undo, or the last operation of the shown branch or of the repository; after a
 * save of the branch that is running, for which Undo is meant.
 */
export async function undoHere(page: Page): Promise<void> {
  const branch = branchOf(page.tab.peek())
  if (branch !== undefined && page.saves.running.peek().has(branch)) {
    const isRunning = () => page.saves.running.value.has(branch)
    page.tell({ title: `${named(branch)} is being saved. Undo runs when that has ended.`, lasts: isRunning }, 'info')
    // A save that failed says so itself.
    if (await page.saves.ended(branch)) await undoIn(page, branch)
    return
  }
  const action = untracked(() => offered(page, 'undo'))
  if (action) action.run()
  else await undoIn(page, branchOf(page.tab.peek()))
}

export async function redoHere(page: Page): Promise<void> {
  const action = untracked(() => offered(page, 'redo'))
  if (action) action.run()
  else await redoIn(page, branchOf(page.tab.peek()))
}

/** Undoes an operation; without one, the last of all. */
export function undo(page: Page, operation?: Operation): Promise<void> {
  return reverse(page, { kind: 'undo', ...(operation && { operation: operation.id }) })
}

export function redo(page: Page): Promise<void> {
  return redoIn(page, undefined)
}

/** What undoes the operation that has just ended, for its notice, which lasts until there is a later operation. */
export function undoOfLast(page: Page): { lasts: (page: Page) => boolean; actions: [NoticeAction] } {
  const newest = signal<readonly Operation[] | undefined>(undefined)
  const found = page.connection.ask('operations', { from: 0, count: 1 }).then(
    operations => {
      newest.value = operations
    },
    () => {},
  )
  const run = async () => {
    await found
    await undo(page, newest.peek()?.[0])
  }
  const isOwn = (words: string | undefined) => newest.value !== undefined && words === newest.value[0]?.words
  return {
    lasts: untilOther(({ desk }) => desk.value?.canUndo, isOwn),
    actions: [{ words: 'Undo', key: 'undo', run: () => void run() }],
  }
}

/** Undoes the last operation of a branch, or, without one, of all. */
function undoIn(page: Page, branch: string | undefined): Promise<void> {
  return reverse(page, { kind: 'undo', ...(branch !== undefined && { branch }) })
}

function redoIn(page: Page, branch: string | undefined): Promise<void> {
  return reverse(page, { kind: 'redo', ...(branch !== undefined && { branch }) })
}

/**
 * Returns a condition that is true until a value that the desk tells, once it is the own one, becomes another one. What
 * it is before that may be older than the operation: the desk's state comes later than the answers.
 */
function untilOther(
  valueIn: (page: Page) => string | undefined,
  isOwn: (value: string | undefined) => boolean,
): (page: Page) => boolean {
  let own: { value: string | undefined } | undefined
  return now => {
    const value = valueIn(now)
    if (!own && isOwn(value)) own = { value }
    return !own || value === own.value
  }
}

/** What Undo or Redo would revert here, with the commit of the branch: several saves of a file have the same words. */
function valueHere(branch: string | undefined, kind: 'canUndo' | 'canRedo'): (page: Page) => string | undefined {
  return page => {
    const words = (branch === undefined ? page.desk.value : page.branch(branch))?.[kind]
    return words === undefined ? undefined : `${words} ${branch === undefined ? '' : page.branch(branch)?.tip}`
  }
}

const UNDO = 'undo'
const HEADS = 'refs/heads/'
/** Delay after a change before the desk is asked whether an undo would still be refused, in milliseconds. */
const ASK_AFTER_MS = 150

/** An undo or a redo: of an operation, or else of the last one, of a branch or of all. */
type Reversal = Fields<'why not reversed'>

/** Runs an undo or a redo, and shows its result. */
async function reverse(page: Page, reversal: Reversal): Promise<void> {
  const { kind, ...fields } = reversal
  const finish = prepareReversal(page, fields.branch)
  try {
    await finish(await page.connection.ask(kind, fields))
  } catch (error) {
    page.complain(error, { topic: UNDO, branch: branchOf(page.tab.peek()) })
    await hideWhenOver(page, reversal, (error as Error).message)
  }
}

/**
 * Removes the notice of a refused undo or redo once the desk would not refuse it any more, or for another reason.
 * `title`: the refusal, which is the notice's title. A refusal that the desk can't foresee stays until it is dismissed.
 */
async function hideWhenOver(page: Page, reversal: Reversal, title: string): Promise<void> {
  const isRefusal = (notice: Notice) => notice.topic === UNDO && notice.title === title
  // Where there is no answer, the next change asks again.
  const answer = () => page.connection.ask('why not reversed', reversal).catch(() => undefined)
  if ((await answer())?.why !== title) return
  const ask = async () => {
    const now = await answer()
    if (now && now.why !== title) page.notices.value = page.notices.peek().filter(notice => !isRefusal(notice))
  }
  const stop = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(timer)
    if (page.notices.peek().some(isRefusal)) timer = setTimeout(ask, ASK_AFTER_MS)
    else stop.abort()
  }
  // A change of any branch may end the reason.
  for (const value of [page.desk, page.changed, page.notices])
    stop.signal.addEventListener('abort', value.subscribe(look))
}

/**
 * Prepares for an undo or a redo that is to be asked for. The function returned shows its result: one notice in this
 * view is about the last one, as long as it can be reverted, and the message of a turn that it removed is in the field
 * again.
 */
export function prepareReversal(page: Page, branch: string | undefined): (reversed: Reversed) => Promise<void> {
  const shown = branchOf(page.tab.peek())
  const draft = shown === undefined ? undefined : shownDraft(page, shown)
  const messages = lastMessagesToGiveBack(page)
  return async ({ words, refs, of, moved, deleted = [], withoutTurn }) => {
    if (of === undefined) {
      page.tell({ title: words }, 'info')
      return
    }
    const branches = refs.flatMap(ref => (ref.startsWith(HEADS) ? [ref.slice(HEADS.length)] : []))
    for (const it of branches) if (!deleted.includes(it)) page.reopen(it)
    const { isUndo, title, does } = reversalOf(words)
    // The news that its branch is gone may have closed the tab already.
    const wasShown =
      moved?.from === branchOf(page.tab.peek()) || (moved?.from === shown && deleted.includes(shown ?? ''))
    if (moved && wasShown) await showWithDraft(page, moved.to, draft)
    hideRefusedUndo(page)
    const key = isUndo ? 'redo' : 'undo'
    const again: NoticeAction = {
      words: isUndo ? 'Redo' : 'Undo',
      // In the branch itself the key does the same anyway, but the tab of a deleted branch has closed.
      ...((branch === undefined || deleted.includes(branch)) && { key }),
      run: () => void (isUndo ? redoIn : undoIn)(page, branch),
    }
    const lasts = untilOther(
      valueHere(branch, isUndo ? 'canRedo' : 'canUndo'),
      value => value?.startsWith(does) === true,
    )
    page.tell({ title, lasts, actions: [again] })
    if (withoutTurn !== undefined) await messages.get(withoutTurn)?.()
  }
}

/** Removes the notices of undos that were refused: after one that succeeded, they would be taken for its result. */
export function hideRefusedUndo(page: Page): void {
  page.notices.value = page.notices.peek().filter(({ topic }) => topic !== UNDO)
}

/** The result of an undo or a redo in words: `undo: save a.ts` becomes "Undone: save a.ts". `does`: "save a.ts". */
export function reversalOf(words: string): { isUndo: boolean; does: string; title: string } {
  const isUndo = !words.startsWith('redo: ')
  const does = words.replace(/^(undo|redo): /, '')
  return { isUndo, does, title: `${isUndo ? 'Undone' : 'Redone'}: ${does}` }
}
