/** What the page shows after a step on a branch: a notice that it is done, or the waiting conflicts. */
import type { Page } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import { goToFirstConflict } from './merging-actions.ts'

/** The topic of notices that a step is done: a newer one replaces the one before. */
export const STEP_TOPIC = 'step'

export interface DoneStep {
  /** The result, as a sentence. */
  words: string
  /** The branch in which a merge waits because of conflicts. */
  merging?: string
  isUndoable: boolean
  /** What comes next, as a button of the notice. */
  next?: { words: string; run: () => void }
}

/** Shows a notice with Undo, or goes to the first conflict if there are any. */
export function showDone(page: Page, { words, merging, isUndoable, next }: DoneStep): void {
  if (merging === undefined) {
    const { lasts, actions: undoing } = undoOfLast(page)
    const actions = [...(next ? [next] : []), ...(isUndoable ? undoing : [])]
    page.tell({
      topic: STEP_TOPIC,
      title: words,
      lasts,
      ...(actions.length > 0 && { actions }),
    })
    return
  }
  // No notice is needed: the branch's tab shows the waiting merge, with Abort.
  page.solved(STEP_TOPIC)
  page.spoken.value = words
  const tab = page.open({ kind: 'branch', branch: merging })
  tab.merging.next = next
  goToFirstConflict(page, tab)
}
