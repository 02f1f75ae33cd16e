/** The words for an operation that takes another one back. */

/** What an undo or a redo did, from the words of its operation: `undo: save a.ts` is "Undone: save a.ts". */
export function reversalOf(words: string): { isUndo: boolean; title: string } {
  const isUndo = !words.startsWith('redo: ')
  return { isUndo, title: `${isUndo ? 'Undone' : 'Redone'}: ${words.replace(/^(undo|redo): /, '')}` }
}
