/** Places of cursors by their line: as an offset, they would be elsewhere once something is inserted above. */
import type { EditorState, Text } from '@codemirror/state'
import type { CursorLine } from '../../contract/desk.ts'

/** Of longer lines, the first characters are kept. */
const MAX_TEXT = 100

/** A cursor as an offset, and by its line; only the offset, where the line is not known. */
export interface CursorPlace {
  cursor: number
  cursorLine?: CursorLine | undefined
}

export function cursorPlaceOf({ doc, selection: { main } }: EditorState): Required<CursorPlace> {
  const { number, from, text } = doc.lineAt(main.head)
  return { cursor: main.head, cursorLine: { line: number, column: main.head - from, text: text.slice(0, MAX_TEXT) } }
}

/** The offset of a cursor in a text that may have changed: in the nearest line with the text of the cursor's line. */
export function cursorIn(doc: Text, { cursor, cursorLine }: CursorPlace): number {
  if (!cursorLine) return Math.min(cursor, doc.length)
  const line = doc.line(nearestLine(doc, cursorLine) ?? Math.min(Math.max(1, cursorLine.line), doc.lines))
  return line.from + Math.min(cursorLine.column, line.length)
}

function nearestLine(doc: Text, { line, text }: CursorLine): number | undefined {
  let nearest: number | undefined
  let number = 0
  for (const found of doc.iterLines()) {
    number++
    // Farther lines can't be nearer.
    if (nearest !== undefined && number - line >= Math.abs(nearest - line)) break
    if (found.slice(0, MAX_TEXT) === text) nearest = number
  }
  return nearest
}
