/** The keys that the editor handles itself, most of them CodeMirror's defaults. */
export const EDITOR_KEYS = {
  find: { label: 'Find and replace in the file', keys: 'Ctrl+F' },
  goToLine: { label: 'Go to a line', keys: 'Alt+G' },
  selectNext: { label: 'Add the next occurrence to the selection', keys: 'Ctrl+D' },
  moveLine: { label: 'Move the line up', keys: 'Alt+ArrowUp' },
  comment: { label: 'Toggle comment', keys: 'Ctrl+/' },
  tabMoves: { label: 'Toggle whether Tab indents or moves the focus', keys: 'Ctrl+M' },
  insertRefused: { label: 'Insert what can be inserted of a refused text', keys: 'Ctrl+.' },
}
