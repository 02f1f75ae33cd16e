/** Keeps the cursor of a text field at its place in the text when the text is replaced, as from another window. */
import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { commonEnds } from '../../contract/common-ends.ts'

/**
 * Call it in each render of a field whose `value` can be replaced while the user types there: the browser puts the
 * cursor at the end of a replaced text, and the next letter would go there.
 */
export function useKeptSelection(field: RefObject<HTMLTextAreaElement | null>): void {
  // The render that replaces the text has not done so yet.
  const { value: before = '', selectionStart = 0, selectionEnd = 0, selectionDirection } = field.current ?? {}
  useLayoutEffect(() => {
    const { current } = field
    // An empty text has no place to keep.
    if (!current || before === '' || before === current.value || document.activeElement !== current) return
    const [from, to] = [selectionStart, selectionEnd].map(at => movedPosition(before, current.value, at))
    current.setSelectionRange(from ?? 0, to ?? 0, selectionDirection)
  })
}

/**
 * Where a position of a text is in the text that replaces it. Only what is between their common beginning and their
 * common end counts as changed; a position inside of that stays as near to its place as the new text allows.
 */
export function movedPosition(before: string, after: string, position: number): number {
  const { start: same, end: sameAtEnd } = commonEnds(before, after)
  if (position <= same) return position
  const moved = position + after.length - before.length
  return position >= before.length - sameAtEnd ? moved : Math.min(position, after.length - sameAtEnd)
}
