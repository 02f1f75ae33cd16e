/** Commands of the editor that CodeMirror does not bring. */
import { type CommentTokens, indentMore, toggleComment } from '@codemirror/commands'
import { SearchCursor, selectSelectionMatches } from '@codemirror/search'
import {
  type ChangeSet,
  EditorSelection,
  EditorState,
  type Extension,
  Prec,
  type SelectionRange,
  type StateCommand,
  Text,
} from '@codemirror/state'
import { keymap } from '@codemirror/view'

/** Inserts an empty line above that of each cursor, with its indentation, and moves the cursor there. */
export const insertLineAbove: StateCommand = ({ state, dispatch }) => {
  if (state.readOnly) return false
  const changes = state.changeByRange(({ head }) => {
    const { from, text } = state.doc.lineAt(head)
    const indentation = /^\s*/.exec(text)?.[0] ?? ''
    return {
      changes: { from, insert: Text.of([indentation, '']) },
      range: EditorSelection.cursor(from + indentation.length),
    }
  })
  dispatch(state.update(changes, { scrollIntoView: true, userEvent: 'input' }))
  return true
}

/**
 * Enter in front of the first letter of a line, or after words that were typed in front of its indentation: moves the
 * line down unchanged. CodeMirror's own Enter would indent it anew by its language, and so change its indentation.
 */
export const moveLineDownByEnter: StateCommand = ({ state, dispatch }) => {
  const places = state.selection.ranges.map(range => lineStartFor(state, range))
  if (state.readOnly || places.includes(undefined)) return false
  const changes = state.changeByRange(range => ({
    changes: { from: lineStartFor(state, range) ?? range.head, insert: state.lineBreak },
    range: EditorSelection.cursor(range.head + 1),
  }))
  dispatch(state.update(changes, { scrollIntoView: true, userEvent: 'input' }))
  return true
}

/** Where the line begins that Enter at a cursor moves down unchanged; undefined if the cursor is in its words. */
function lineStartFor(state: EditorState, { head, empty }: SelectionRange): number | undefined {
  const { from, text } = state.doc.lineAt(head)
  const [before, after] = [text.slice(0, head - from), text.slice(head - from)]
  if (!empty || after.trim() === '') return undefined
  if (before.trim() === '') return from
  const isTypedInFront = /^\S/.test(before) && /^(?:\t| {2})/.test(after)
  return isTypedInFront ? head : undefined
}

/**
 * Indents the selected lines. Of several, the empty ones stay empty, as in VS Code: CodeMirror's own command makes them
 * lines of spaces.
 */
export const indentLines: StateCommand = ({ state, dispatch }) =>
  indentMore({
    state,
    dispatch: ({ changes }) => {
      const kept: { from: number; insert: Text }[] = []
      changes.iterChanges((from, _to, _fromNew, _toNew, insert) => {
        const isAlone = state.selection.ranges.some(range => range.empty && range.head === from)
        if (isAlone || state.doc.lineAt(from).length > 0) kept.push({ from, insert })
      })
      const indented = state.changes(kept)
      const ranges = state.selection.ranges.map(range => fromLineStart(state, indented, range))
      const selection = EditorSelection.create(ranges, state.selection.mainIndex)
      dispatch(state.update({ changes: indented, selection, userEvent: 'input.indent' }))
    },
  })

/** A range after its lines were indented: one that began at the start of a line still does, and has whole lines. */
function fromLineStart(state: EditorState, indented: ChangeSet, range: SelectionRange): SelectionRange {
  const after = range.map(indented, 1)
  if (range.empty || state.doc.lineAt(range.from).from !== range.from) return after
  const from = indented.mapPos(range.from, -1)
  return range.anchor === range.from ? EditorSelection.range(from, after.to) : EditorSelection.range(after.to, from)
}

/** At most this many occurrences are selected, as by CodeMirror's own command. */
const MAX_OCCURRENCES = 1000

/**
 * Selects all occurrences of what is selected; without a selection, of the word at the cursor, as a whole word, as in
 * VS Code: CodeMirror's own command does nothing then.
 */
export const selectAllOccurrences: StateCommand = target => {
  const { state, dispatch } = target
  const { main, ranges } = state.selection
  const word = ranges.length === 1 && main.empty ? state.wordAt(main.head) : null
  if (!word) return selectSelectionMatches(target)
  const found: SelectionRange[] = []
  const search = new SearchCursor(state.doc, state.sliceDoc(word.from, word.to))
  while (!search.next().done && found.length <= MAX_OCCURRENCES) {
    const { from, to } = search.value
    const around = state.wordAt(from)
    if (around?.from === from && around.to === to) found.push(EditorSelection.range(from, to))
  }
  if (found.length > MAX_OCCURRENCES) return false
  const at = found.findIndex(({ from }) => from === word.from)
  dispatch(state.update({ selection: EditorSelection.create(found, at), userEvent: 'select.search.matches' }))
  return true
}

/**
 * The key that comments lines. `tokens`: the comments of the file, where its language does not name them; undefined
 * where they are not known. `onUnknown` is called if neither names them.
 */
export function commentKey(tokens: () => CommentTokens | undefined, onUnknown: () => void): Extension {
  const toggle: StateCommand = target => {
    const { state } = target
    const { from } = state.doc.lineAt(state.selection.main.from)
    if (state.readOnly || toggleComment(target)) return !state.readOnly
    if (state.languageDataAt('commentTokens', from, 1).length === 0) onUnknown()
    return true
  }
  const ofName = EditorState.languageData.of(() => {
    const commentTokens = tokens()
    return commentTokens ? [{ commentTokens }] : []
  })
  return [Prec.lowest(ofName), keymap.of([{ key: 'Mod-/', run: toggle }])]
}
