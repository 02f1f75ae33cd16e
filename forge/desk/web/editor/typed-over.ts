/**
 * Typing goes over the closing tags and triple quotes that the editor has inserted, character by character, as it does
 * over brackets. (closeBrackets() would go over all three quotes at the first one typed.)
 */
import {
  type EditorState,
  type Extension,
  Prec,
  StateEffect,
  StateField,
  type Transaction,
  type TransactionSpec,
} from '@codemirror/state'
import { EditorView } from '@codemirror/view'

interface Range {
  from: number
  to: number
}

/** An inserted closing tag or triple quote. */
interface Closer extends Range {
  /** Where the insertion began: once the cursor is before that, the closer is text like any other. */
  start: number
  /** The next character to go over: those before it were typed. */
  next: number
}

interface Inserted {
  closers: readonly Closer[]
  /** What the editor has inserted before the cursor to complete a `</`. */
  completed: Range | undefined
}

const CLOSER = /^(?:<\/[^<>]*>|"""|''')$/

/** The cursor has gone over a character, which was typed. */
const wentOver = StateEffect.define<null>()

const insertedText = StateField.define<Inserted>({
  create: () => ({ closers: [], completed: undefined }),
  update(value, transaction) {
    const { changes, state } = transaction
    const { head } = state.selection.main
    const isOver = transaction.effects.some(effect => effect.is(wentOver))
    const known = value.closers.map(({ start, from, to, next }): Closer => {
      const range = { start: changes.mapPos(start, -1), from: changes.mapPos(from, 1), to: changes.mapPos(to, -1) }
      if (head <= range.from) return { ...range, next: range.from }
      return { ...range, next: isOver ? head : changes.mapPos(next) }
    })
    const closers = [...known, ...closersIn(transaction)].filter(({ start, from, to, next }) => {
      return start <= head && head < to && (head <= from || head === next)
    })
    return { closers, completed: completedIn(transaction) ?? stillCompleted(value.completed, transaction) }
  },
})

/** The text that typing or the completion of a tag has inserted, of which a part may be behind the cursor. */
function insertionsIn(transaction: Transaction): Range[] {
  const ranges: Range[] = []
  if (transaction.isUserEvent('input.type') || transaction.isUserEvent('input.complete'))
    transaction.changes.iterChanges((_fromA, _toA, from, to) => ranges.push({ from, to }))
  return ranges
}

function closersIn(transaction: Transaction): Closer[] {
  const { state } = transaction
  const { head } = state.selection.main
  return insertionsIn(transaction)
    .filter(({ from, to }) => from <= head && CLOSER.test(state.sliceDoc(head, to)))
    .map(({ from, to }) => ({ start: from, from: head, to, next: head }))
}

function completedIn(transaction: Transaction): Range | undefined {
  const { state } = transaction
  if (!transaction.isUserEvent('input.complete')) return undefined
  return insertionsIn(transaction).find(({ from, to }) => {
    return to === state.selection.main.head && /^<\/[^<>]*>$/.test(state.sliceDoc(from - 2, to))
  })
}

/** What completed a tag, as long as only the same text is typed behind it. */
function stillCompleted(completed: Range | undefined, { changes, state }: Transaction): Range | undefined {
  if (!completed) return undefined
  const [from, to] = [changes.mapPos(completed.from, 1), changes.mapPos(completed.to, -1)]
  const { head } = state.selection.main
  return head >= to && state.sliceDoc(from, to).startsWith(state.sliceDoc(to, head)) ? { from, to } : undefined
}

/** The edit for a character typed at a cursor, if it goes over inserted text. */
function goingOver(state: EditorState, at: number, character: string): TransactionSpec | undefined {
  const { closers, completed } = state.field(insertedText)
  // The rest of a tag that was completed is typed as well: it is there once.
  if (completed && character === '>') {
    const { from, to } = completed
    if (`${state.sliceDoc(to, at)}>` === state.sliceDoc(from, to)) return { changes: { from: to, to: at } }
  }
  const closer = closers.find(({ next }) => next === at)
  if (!closer) return undefined
  const { from } = closer
  const effects = wentOver.of(null)
  // Only the `/` shows that a `<` begins the closing tag.
  if (character === '/' && state.sliceDoc(at - 1, at + 2) === '<</')
    return { changes: { from: at - 1, to: at }, selection: { anchor: at + 1 }, effects }
  if (from === at && character === '<') return undefined
  if (character === state.sliceDoc(at, at + 1)) return { selection: { anchor: at + 1 }, effects }
  // The closing tag of another element is typed, or a quote in the string: the inserted closer stays behind it.
  const typed = state.sliceDoc(from, at) + character
  return from < at && /^(?:<\/|["'])/.test(typed)
    ? { changes: { from, insert: typed }, selection: { anchor: at + 1 } }
    : undefined
}

const inputHandler = EditorView.inputHandler.of((view, from, to, text) => {
  const { selection, readOnly } = view.state
  const isAtCursor = selection.ranges.length === 1 && selection.main.empty && selection.main.head === from
  if (view.compositionStarted || readOnly || from !== to || !isAtCursor) return false
  const edit = goingOver(view.state, from, text)
  if (edit) view.dispatch({ ...edit, userEvent: 'input.type', scrollIntoView: true })
  return edit !== undefined
})

/** Typing goes over inserted closing tags and triple quotes. */
export const typedOver: Extension = [insertedText, Prec.high(inputHandler)]
