/** Clicks in the gutter. The editor always keeps the focus, so that typing goes into the text. */
import { EditorSelection } from '@codemirror/state'
import type { BlockInfo, EditorView } from '@codemirror/view'

/** Selects the line whose number is clicked; with Shift or by dragging, all lines from the start of the selection. */
export function selectLines(view: EditorView, { from }: BlockInfo, event: Event): boolean {
  if (!isMainButton(event)) return false
  const anchor = event.shiftKey ? view.state.selection.main.anchor : from
  const select = (head: number) => {
    const { doc } = view.state
    const [first, last] = [doc.lineAt(Math.min(anchor, head)), doc.lineAt(Math.max(anchor, head))]
    const end = Math.min(last.to + 1, doc.length)
    const range = head < anchor ? EditorSelection.range(end, first.from) : EditorSelection.range(first.from, end)
    view.dispatch({ selection: EditorSelection.create([range]), userEvent: 'select.pointer' })
  }
  const drag = (moved: MouseEvent) => select(view.lineBlockAtHeight(moved.clientY - view.documentTop).from)
  const { ownerDocument } = view.dom
  ownerDocument.addEventListener('mousemove', drag)
  ownerDocument.addEventListener('mouseup', () => ownerDocument.removeEventListener('mousemove', drag), { once: true })
  select(from)
  return keepFocus(view, null, event)
}

/** Moves the cursor to the line whose change mark is clicked. */
export function goToLine(view: EditorView, { from }: BlockInfo, event: Event): boolean {
  if (!isMainButton(event)) return false
  view.dispatch({ selection: { anchor: from }, userEvent: 'select.pointer' })
  return keepFocus(view, null, event)
}

/** Keeps the focus in the editor: by default the browser would move it to the page. */
export function keepFocus(view: EditorView, _line: BlockInfo | null, event: Event): boolean {
  event.preventDefault()
  view.focus()
  return true
}

function isMainButton(event: Event): event is MouseEvent {
  return event instanceof MouseEvent && event.button === 0
}
