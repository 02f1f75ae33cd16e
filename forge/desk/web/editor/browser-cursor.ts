/**
 * Keeps the browser's cursor where the editor's is. As a text gets its colours, CodeMirror moves the node of the text
 * at the cursor into an element, whereupon the browser puts its cursor at the start of the line. CodeMirror finds the
 * cursor in the same node as before, and leaves it there: what is typed next would stand at the start of the line.
 */
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'

export const withBrowserCursor: Extension = EditorView.updateListener.of(({ view }) => {
  const { main } = view.state.selection
  if (!view.hasFocus || !main.empty || view.composing) return
  const selection = document.getSelection()
  const node = selection?.focusNode
  // In a text node, the cursor is where CodeMirror or the user has put it.
  if (!selection || !(node instanceof Element) || !view.contentDOM.contains(node)) return
  const place = view.domAtPos(main.head)
  const isInText = place.node instanceof Text && node !== view.contentDOM && node.contains(place.node)
  if (!isInText || view.posAtDOM(node, selection.focusOffset) === main.head) return
  selection.collapse(place.node, place.offset)
})
