/** The messages of turns: that of a turn which is removed goes back into the message field of its branch. */
import { branchOf, isMerging } from './branch-facts.ts'
import type { Page, Tab } from './state.ts'

/** What the user has asked for in a turn; without `turn`, in the last one. */
export function requestOf(page: Page, tab: Tab, turn?: string): string | undefined {
  // A request to resolve a merge was written by the desk rather than the user.
  if (isMerging(page, tab)) return undefined
  const section = tab.conversation.sections.peek().findLast(it => turn === undefined || it.turn === turn)
  const asked = section?.items.peek().find(item => item.kind === 'user')
  return asked?.kind === 'user' ? asked.text : undefined
}

/**
 * Reads the message of a turn that is to be removed; without `id`, of the last one. Returns a function to call when the
 * turn is removed: it puts the message back into the field, before another one there, and loads the conversation.
 */
export function messageToGiveBack(page: Page, tab: Tab, id?: string): () => Promise<void> {
  const { composer, conversation } = tab
  const turn = id ?? conversation.sections.peek().at(-1)?.turn
  const request = requestOf(page, tab, turn)
  return async () => {
    // If it was put there when the turn failed, it may have been changed since: it is not repeated.
    const isThere = turn !== undefined && composer.returned === turn && composer.text.peek() !== ''
    if (request !== undefined && !isThere) composer.putBack(request)
    await conversation.refresh()
    if (request !== undefined) composer.removed.value = turn
  }
}

/** The same for the last turn of each branch that is open, by branch: an undo or a redo may remove it. */
export function lastMessagesToGiveBack(page: Page): ReadonlyMap<string, () => Promise<void>> {
  return new Map(
    page.tabs.peek().flatMap(tab => {
      const branch = branchOf(tab)
      return branch === undefined ? [] : [[branch, messageToGiveBack(page, tab)] as const]
    }),
  )
}
