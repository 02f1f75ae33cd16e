/** Undo and Redo, for the shown branch or the whole repository. */
import type { Operation } from '../../contract/branches.ts'
import { branchOf } from './branch-facts.ts'
import type { Page } from './state.ts'

/**
 * What Undo and Redo would revert here: the last operation of the shown branch, or of the repository if none is shown.
 */
export function undoableHere(page: Page): { canUndo?: string | undefined; canRedo?: string | undefined } {
  const branch = branchOf(page.tab.value)
  return (branch === undefined ? page.desk.value : page.branch(branch)) ?? {}
}

/** Undoes the last operation of the shown branch or of the repository. */
export function undoHere(page: Page): Promise<void> {
  const branch = branchOf(page.tab.peek())
  return reverse(page, () => page.connection.ask('undo', branch === undefined ? {} : { branch }))
}

export function redoHere(page: Page): Promise<void> {
  const branch = branchOf(page.tab.peek())
  return reverse(page, () => page.connection.ask('redo', branch === undefined ? {} : { branch }))
}

/** Undoes an operation; without one, the last of all. */
export function undo(page: Page, operation?: Operation): Promise<void> {
  return reverse(page, () => page.connection.ask('undo', operation ? { operation: operation.id } : {}))
}

export function redo(page: Page): Promise<void> {
  return reverse(page, () => page.connection.ask('redo', {}))
}

/** Returns a condition for a notice with Undo: true until there is a later operation, which Undo would revert. */
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

/** Runs an undo or a redo. One notice in this view shows the last result, as long as it can be reverted. */
async function reverse(page: Page, ask: () => Promise<{ words: string }>): Promise<void> {
  // The state before the answer is stale: only the desk's news after it say what can be undone then.
  const before = page.desk.peek()
  try {
    const { words } = await ask()
    const { isUndo, title } = reversalOf(words)
    page.notices.value = page.notices.peek().filter(({ topic }) => topic !== UNDO)
    let wasThere = false
    page.tell({
      title,
      lasts: now => {
        const { canUndo, canRedo } = undoableHere(now)
        const isThere = (isUndo ? canRedo : canUndo) !== undefined
        wasThere ||= isThere && now.desk.value !== before
        return isThere || !wasThere
      },
      actions: [isUndo ? { words: 'Redo', run: () => redoHere(page) } : { words: 'Undo', run: () => undoHere(page) }],
    })
  } catch (error) {
    page.complain(error, { topic: UNDO, branch: branchOf(page.tab.peek()) })
  }
}

/** The result of an undo or a redo in words: `undo: save a.ts` becomes "Undone: save a.ts". */
export function reversalOf(words: string): { isUndo: boolean; title: string } {
  const isUndo = !words.startsWith('redo: ')
  return { isUndo, title: `${isUndo ? 'Undone' : 'Redone'}: ${words.replace(/^(undo|redo): /, '')}` }
}
