/**
 * CRLF in a text of mixed line ends, where each \r is a character of the text. Here it is a part of its line end, as in
 * a text that has only CRLF: no cursor stands behind it, what is typed goes before it, and one key deletes both. A line
 * break in a line that ends in CRLF is CRLF, too. What is not typed, such as a replacement of \r, changes it as asked.
 */
import {
  type ChangeSpec,
  EditorSelection,
  EditorState,
  type Extension,
  Prec,
  StateField,
  type Text,
  Transaction,
  type TransactionSpec,
} from '@codemirror/state'
import { type Command, EditorView, keymap } from '@codemirror/view'
import { type LineEnd, lineEndOf } from '../../contract/editable-text.ts'
import { byteForm } from './refused-text.ts'

/** Whether an offset is between the \r and the \n of a line end. */
const isInside = (doc: Text, at: number): boolean => doc.sliceString(at - 1, at + 1) === '\r\n'

const TYPING = ['input.type', 'input.paste', 'input.drop', 'input.complete', 'delete']

/** Whether a transaction is typing. Enter has the event `input`, as CodeMirror gives it. */
const isTyping = (transaction: Transaction): boolean =>
  transaction.annotation(Transaction.userEvent) === 'input' || TYPING.some(event => transaction.isUserEvent(event))

/** Whether the line at an offset ends in CRLF; for the last line, whether the one before it does. */
function hasCrlf(doc: Text, at: number): boolean {
  const { number, to } = doc.lineAt(at)
  return number < doc.lines ? isInside(doc, to) : number > 1 && isInside(doc, doc.line(number - 1).to)
}

/** The changes that make the line ends whole after typing, in the text after it. */
function completion(transaction: Transaction): ChangeSpec[] {
  const { startState, newDoc, changes } = transaction
  const completed: ChangeSpec[] = []
  changes.iterChanges((fromA, toA, fromB, toB, inserted) => {
    const isCut = isInside(startState.doc, fromA) && newDoc.sliceString(fromB, fromB + 1) !== '\n'
    if (isCut) completed.push({ from: fromB - 1, to: fromB })
    const isEndLeft = isInside(startState.doc, toA) && newDoc.sliceString(toB - 1, toB) !== '\r'
    // A key that deletes only the \r is meant for the line end.
    if (isEndLeft && toA - fromA === 1 && transaction.isUserEvent('delete.forward')) {
      completed.push({ from: toB, to: toB + 1 })
      return
    }
    if (inserted.lines > 1 && hasCrlf(startState.doc, fromA)) {
      for (let { to, text } = newDoc.lineAt(fromB); to < toB; { to, text } = newDoc.lineAt(to + 1))
        if (!text.endsWith('\r')) completed.push({ from: to, insert: '\r' })
    }
    if (isEndLeft) completed.push({ from: toB, insert: '\r' })
  })
  return completed
}

const wholeLineEnds = EditorState.transactionFilter.of(transaction => {
  const changes = transaction.docChanged && isTyping(transaction) ? completion(transaction) : []
  return changes.length === 0 ? transaction : [transaction, { changes, sequential: true }]
})

/** A selection with its ends before the \r of a line end; the key that moves right from there goes to the next line. */
const cursorsOutside = EditorState.transactionFilter.of((transaction): TransactionSpec | readonly TransactionSpec[] => {
  // A search may be for \r.
  if (!(transaction.selection || transaction.docChanged) || transaction.isUserEvent('select.search')) return transaction
  const { newDoc, newSelection, startState } = transaction
  const isStep = !transaction.docChanged && !transaction.isUserEvent('select.pointer')
  const outside = (at: number, before: number | undefined) => {
    if (!isInside(newDoc, at)) return at
    return isStep && before === at - 1 ? at + 1 : at - 1
  }
  const ranges = newSelection.ranges.map((range, index) => {
    const before = startState.selection.ranges[index]
    const [anchor, head] = [outside(range.anchor, before?.anchor), outside(range.head, before?.head)]
    if (anchor === range.anchor && head === range.head) return range
    return EditorSelection.range(anchor, head, range.goalColumn, range.bidiLevel ?? undefined)
  })
  if (ranges.every((range, index) => range === newSelection.ranges[index])) return transaction
  return [transaction, { selection: EditorSelection.create(ranges, newSelection.mainIndex), sequential: true }]
})

/** Goes to the line end, or selects up to it, where a cursor is before the \r of one: that is there already. */
const toLineEnd =
  (isSelecting: boolean): Command =>
  view => {
    const { doc, selection } = view.state
    const isAtEnd = (head: number) => isInside(doc, head + 1)
    if (!selection.ranges.some(({ head }) => isAtEnd(head))) return false
    const ranges = selection.ranges.map(range => {
      const head = isAtEnd(range.head) ? range.head : view.moveToLineBoundary(range, true).head
      return EditorSelection.range(isSelecting ? range.anchor : head, head)
    })
    const after = EditorSelection.create(ranges, selection.mainIndex)
    view.dispatch({ selection: after, userEvent: 'select', scrollIntoView: true })
    return true
  }
const END = { run: toLineEnd(false), shift: toLineEnd(true) }

/** The line ends that a text of mixed ones has now. */
export const lineEndsNow = StateField.define<LineEnd>({
  create: state => (isMixed(state) ? lineEndOf(state.doc.toString()) : 'LF'),
  update: (value, { docChanged, state, startState }) => {
    if (!docChanged && isMixed(state) === isMixed(startState)) return value
    return isMixed(state) ? lineEndOf(state.doc.toString()) : 'LF'
  },
  // While all line ends are CRLF, their \r is not shown.
  provide: field => EditorView.editorAttributes.from(field, value => ({ class: value === 'CRLF' ? 'has-crlf' : '' })),
})

const isMixed = (state: EditorState): boolean => state.facet(byteForm)?.lineEnd === 'mixed'

export const crlf: Extension = [
  // CodeMirror applies the last filter first.
  cursorsOutside,
  wholeLineEnds,
  lineEndsNow,
  Prec.high(
    keymap.of([
      { key: 'End', ...END },
      { mac: 'Cmd-ArrowRight', ...END },
      { mac: 'Ctrl-e', ...END },
    ]),
  ),
]
