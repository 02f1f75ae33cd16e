/** What the page shows after a step was done to a branch: that it is done, or the conflicts that wait. */
import { sentence } from '../page/actions.ts'
import type { Page } from '../page/state.ts'
import { undo, untilMore } from '../page/undo.ts'
import { goToFirstConflict } from './merging-actions.ts'

/** The topic of these notices: a new one replaces the one before it. */
export const STEP_TOPIC = 'step'

export interface DoneStep {
  words: string
  /** The branch in which conflicts wait. */
  merging?: string
  isUndoable: boolean
}

/** Shows a notice with Undo, or goes to the first conflict where some wait. */
export function showDone(page: Page, { words, merging, isUndoable }: DoneStep): void {
  if (merging === undefined) {
    page.tell({
      topic: STEP_TOPIC,
      title: sentence(words),
      lasts: untilMore(page),
      ...(isUndoable && { actions: [{ words: 'Undo', run: () => void undo(page) }] }),
    })
    return
  }
  // The branch's tab has all of it, with Abort.
  page.solved(STEP_TOPIC)
  page.spoken.value = words
  goToFirstConflict(page, page.open({ kind: 'branch', branch: merging }))
}
