/** Commands of the editor that CodeMirror does not bring. */
import { type CommentTokens, toggleComment } from '@codemirror/commands'
import { EditorSelection, EditorState, type Extension, Prec, type StateCommand, Text } from '@codemirror/state'
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
 * Enter in front of the first letter of a line: moves the line down unchanged. CodeMirror's own Enter would indent it
 * anew by its language, and so drop an indentation that the language does not expect.
 */
export const moveLineDownByEnter: StateCommand = ({ state, dispatch }) => {
  const isInFront = state.selection.ranges.every(({ head, empty }) => {
    const { from, text } = state.doc.lineAt(head)
    return empty && text.trim() !== '' && text.slice(0, head - from).trim() === ''
  })
  if (state.readOnly || !isInFront) return false
  const changes = state.changeByRange(({ head }) => ({
    changes: { from: state.doc.lineAt(head).from, insert: state.lineBreak },
    range: EditorSelection.cursor(head + 1),
  }))
  dispatch(state.update(changes, { scrollIntoView: true, userEvent: 'input' }))
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
