/** Undo and redo, of the branch that is shown or of the whole repository. */
import type { Operation } from '../../contract/branches.ts'
import { branchOf } from './branch-facts.ts'
import type { Page } from './state.ts'

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
  // The desk tells what can be done again a little after it has answered. What was known before says nothing of it.
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

/** What an undo or a redo did, from the words of its operation: `undo: save a.ts` is "Undone: save a.ts". */
export function reversalOf(words: string): { isUndo: boolean; title: string } {
  const isUndo = !words.startsWith('redo: ')
  return { isUndo, title: `${isUndo ? 'Undone' : 'Redone'}: ${words.replace(/^(undo|redo): /, '')}` }
}
