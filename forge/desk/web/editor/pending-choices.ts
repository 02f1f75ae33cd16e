/** Choices in conflicts that the server does not have yet: what others have resolved meanwhile counts. */
import { ChangeSet, type Text, type Transaction } from '@codemirror/state'

/** The user event of an edit that resolves a conflict, or opens it again. */
export const CHOICE = 'choose'

/** An edit that the server has not confirmed, and the transaction that made it. */
export interface PendingEdit {
  changes: ChangeSet
  origin: Transaction
}

/**
 * All pending edits as one change of the server's text, but for the choices in conflicts that `change`, which starts at
 * the same text, touches. Undefined if there is no such choice.
 */
export function withoutVoidChoices(
  pending: readonly PendingEdit[],
  before: Text,
  change: ChangeSet,
): ChangeSet | undefined {
  let isVoid = false
  let text = before
  // From the text with all edits so far to the text without void choices, and from that before the edits to the latter.
  let back = ChangeSet.empty(before.length)
  let kept = ChangeSet.empty(before.length)
  let theirs = change
  for (const { changes, origin } of pending) {
    const after = changes.apply(text)
    if (origin.isUserEvent(CHOICE) && touches(theirs, changes)) {
      isVoid = true
      back = changes.invert(text).compose(back)
    } else {
      kept = kept.compose(changes.map(back))
      back = back.map(changes, true)
    }
    theirs = theirs.map(changes)
    text = after
  }
  return isVoid ? kept : undefined
}

/** Whether a change touches what another one replaces. */
function touches(change: ChangeSet, replaced: ChangeSet): boolean {
  let isTouched = false
  replaced.iterChangedRanges((from, to) => {
    isTouched ||= change.touchesRange(from, to) !== false
  })
  return isTouched
}
