/** Scroll positions in lines: in pixels, they would show another part of the text once lines are wrapped elsewhere. */
import type { EditorView } from '@codemirror/view'

/** The line, from 1, at a height in the scrolled text, and as its decimals the part of it that is above that height. */
export function lineAtHeight(view: EditorView, height: number): number {
  const inText = height - view.documentPadding.top
  const block = view.lineBlockAtHeight(inText)
  const part = Math.min(1, Math.max(0, (inText - block.top) / block.height))
  return view.state.doc.lineAt(block.from).number + part
}

/** Scrolls a new view, which is at the beginning, to a line that `lineAtHeight` has returned. */
export function scrollToLine(view: EditorView, line: number): void {
  if (line <= 1) return
  const scroll = () =>
    view.requestMeasure({
      read: () => heightOfLine(view, line),
      write: height => {
        view.scrollDOM.scrollTop = height
      },
    })
  scroll()
  // The heights of lines that are not drawn are estimated: scroll again when those around the line are.
  view.requestMeasure({ read: () => {}, write: scroll })
}

function heightOfLine(view: EditorView, line: number): number {
  const { doc } = view.state
  const number = Math.min(Math.floor(line), doc.lines)
  const block = view.lineBlockAt(doc.line(number).from)
  return Math.round(view.documentPadding.top + block.top + (line % 1) * block.height)
}
