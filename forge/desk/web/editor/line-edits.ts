/** Edits of the selected lines and words: joining, changing case, sorting, trimming. */
import { type ChangeSpec, EditorSelection, type EditorState, type Line, type TransactionSpec } from '@codemirror/state'

/** An edit of a state; undefined if there is nothing to change. */
export type LineEdit = (state: EditorState) => TransactionSpec | undefined

const edit = (changes: ChangeSpec[]): TransactionSpec | undefined =>
  changes.length === 0 ? undefined : { changes, userEvent: 'input', scrollIntoView: true }

/** The first and last line of each selection. The line in whose first column a selection ends is not part of it. */
function selectedLines({ doc, selection }: EditorState): [first: Line, last: Line][] {
  return selection.ranges.map(({ from, to, empty }) => {
    const [first, last] = [doc.lineAt(from), doc.lineAt(to)]
    return [first, !empty && last.from === to && last.number > first.number ? doc.line(last.number - 1) : last]
  })
}

/** Joins the selected lines, or a line with the next one, with a blank between them. */
export const joinLines: LineEdit = state => {
  const { doc } = state
  const changes: ChangeSpec[] = []
  let joined = 0
  for (const [first, last] of selectedLines(state)) {
    const end = Math.min(first.number === last.number ? first.number + 1 : last.number, doc.lines)
    for (let number = Math.max(first.number, joined); number < end; number++) {
      const [line, next] = [doc.line(number), doc.line(number + 1)]
      const from = line.from + line.text.trimEnd().length
      const to = next.from + next.text.length - next.text.trimStart().length
      // A line of blanks is left out as a whole.
      const isBlank = from === line.from || to === next.to
      changes.push({ from, to, insert: isBlank ? '' : ' ' })
      joined = number + 1
    }
  }
  return edit(changes)
}

/** Changes the case of the selected text, or of the word at the cursor. */
const transformTo =
  (change: (text: string) => string): LineEdit =>
  state => {
    const ranges = state.selection.ranges.map(range => (range.empty ? (state.wordAt(range.head) ?? range) : range))
    const changes = ranges.flatMap(({ from, to }) => {
      const text = state.sliceDoc(from, to)
      const insert = change(text)
      return insert === text ? [] : [{ from, to, insert }]
    })
    const spec = edit(changes)
    if (!spec) return undefined
    // What was selected stays selected, also where its length changes.
    const after = state.changes(changes)
    const selection = state.selection.ranges.map(({ anchor, head, from, empty }, index) => {
      const word = ranges[index]
      if (empty && word) return EditorSelection.cursor(after.mapPos(word.from, -1) + head - word.from)
      const [one, other] = [anchor, head].map(at => after.mapPos(at, at === from ? -1 : 1))
      return EditorSelection.range(one ?? anchor, other ?? head)
    })
    return { ...spec, selection: EditorSelection.create(selection, state.selection.mainIndex) }
  }

export const toUppercase: LineEdit = transformTo(text => text.toUpperCase())
export const toLowercase: LineEdit = transformTo(text => text.toLowerCase())

/** Sorts the selected lines; without a selection of several lines, all lines of the file. */
export const sortLinesAscending: LineEdit = state => {
  const { doc } = state
  const selected = selectedLines(state)
  const [[first, last] = [doc.line(1), doc.line(1)]] = selected
  const isWhole = selected.length === 1 && first.number === last.number
  // The line end at the end of the file stays there.
  const end = doc.line(doc.lines).length === 0 && doc.lines > 1 ? doc.line(doc.lines - 1) : doc.line(doc.lines)
  const parts: [Line, Line][] = isWhole ? [[doc.line(1), end]] : selected
  const { compare } = new Intl.Collator()
  const changes = parts.flatMap(([from, to]) => {
    const text = doc.sliceString(from.from, to.to)
    const insert = text.split('\n').toSorted(compare).join('\n')
    return insert === text ? [] : [{ from: from.from, to: to.to, insert }]
  })
  const spec = edit(changes)
  // The text is as long as before, so that the cursor can stay where it is.
  return spec && { ...spec, selection: state.selection }
}

/** Removes blanks at the ends of all lines, but no \r, which is part of a line end. */
export const trimTrailingWhitespace: LineEdit = ({ doc }) => {
  const changes: ChangeSpec[] = []
  for (let number = 1; number <= doc.lines; number++) {
    const { from, text } = doc.line(number)
    const written = text.endsWith('\r') ? text.slice(0, -1) : text
    const length = written.trimEnd().length
    if (length < written.length) changes.push({ from: from + length, to: from + written.length })
  }
  return edit(changes)
}
