/** The ranges of a text in which the user's edits are that can be undone, and whether a change takes these back. */
import { type ChangeSet, type EditorState, type Extension, StateField, type Text, Transaction } from '@codemirror/state'

interface Range {
  from: number
  to: number
}

/** More ranges are recorded as one, with all that is between them. */
const MAX_RANGES = 500

const typedRanges = StateField.define<readonly Range[]>({
  create: () => [],
  update(ranges, transaction) {
    const { changes } = transaction
    if (changes.empty) return ranges
    const moved = ranges.map(({ from, to }) => ({ from: changes.mapPos(from, -1), to: changes.mapPos(to, 1) }))
    if (transaction.annotation(Transaction.addToHistory) === false) return moved
    changes.iterChangedRanges((_fromA, _toA, from, to) => moved.push({ from, to }))
    return joined(moved)
  },
})

/** Joins the ranges that touch each other. The range of a deletion is empty. */
function joined(ranges: Range[]): Range[] {
  const all: Range[] = []
  for (const range of ranges.sort((one, other) => one.from - other.from)) {
    const last = all.at(-1)
    if (last && (range.from <= last.to || all.length === MAX_RANGES)) last.to = Math.max(last.to, range.to)
    else all.push(range)
  }
  return all
}

/** Records the ranges from now on. */
export const noTypedRanges = (): Extension => typedRanges.init(() => [])

/** Goes on with the ranges of a state of the same text. */
export const typedRangesOf = (state: EditorState): Extension => typedRanges.init(() => state.field(typedRanges))

/** Whether a change of the text touches a range in which the user's edits are. */
export function touchesTyped(state: EditorState, changes: ChangeSet): boolean {
  const ranges = state.field(typedRanges, false)
  if (!ranges || ranges.length === 0) return false
  const after = changes.apply(state.doc)
  let isTouched = false
  changes.iterChangedRanges((fromA, toA, fromB, toB) => {
    const back = Math.max(equalBefore(state.doc, fromA, toA), equalBefore(after, fromB, toB))
    const on = Math.max(equalAfter(state.doc, fromA, toA), equalAfter(after, fromB, toB))
    isTouched ||= ranges.some(({ from, to }) => from <= toA + on && to >= fromA - back)
  })
  return isTouched
}

/*
 * Of several equal lines in a row, a comparison of two texts can't tell which was removed or inserted: all count.
 */

/** How far a range could be moved back so that the rest of the text, without the range, is the same. */
function equalBefore(text: Text, from: number, to: number): number {
  let by = 0
  if (from === to) return by
  while (by < from && characterAt(text, from - by - 1) === characterAt(text, to - by - 1)) by++
  return by
}

/** How far a range could be moved on so. */
function equalAfter(text: Text, from: number, to: number): number {
  let by = 0
  if (from === to) return by
  while (to + by < text.length && characterAt(text, from + by) === characterAt(text, to + by)) by++
  return by
}

const characterAt = (text: Text, at: number): string => text.sliceString(at, at + 1)
