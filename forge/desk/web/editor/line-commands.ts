/** Commands of the editor that CodeMirror does not bring. */
import { EditorSelection, type StateCommand, Text } from '@codemirror/state'

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
