/** Enter in a block comment whose lines begin with an asterisk, as in VS Code: CodeMirror has no command for it. */
import type { CommentTokens } from '@codemirror/commands'
import { EditorSelection, type EditorState, type SelectionRange, type StateCommand, Text } from '@codemirror/state'

/** The first line of a comment, with its indentation. */
const FIRST = /^(\s*)\/\*(?!.*\*\/)/
/** A line between the first one and the end of a comment, with what is in front of its asterisk. */
const FURTHER = /^(\s*)\*(?=\s|$)/

/** Begins a line with ` * ` at each cursor, where all of them are in such comments. */
export const continueComment: StateCommand = ({ state, dispatch }) => {
  if (state.readOnly) return false
  let areInComments = true
  const changes = state.changeByRange(range => {
    const broken = lineBreak(state, range)
    areInComments &&= broken !== undefined
    return broken ?? { range }
  })
  if (!areInComments) return false
  dispatch(state.update(changes, { scrollIntoView: true, userEvent: 'input' }))
  return true
}

function lineBreak(state: EditorState, { from, to }: SelectionRange) {
  const margin = hasSuchComments(state, from) ? marginAt(state, from) : undefined
  if (margin === undefined) return undefined
  const line = state.doc.lineAt(to)
  const after = line.text.slice(to - line.from)
  const rest = after.trimStart()
  const isEnd = rest.trimEnd() === '*/'
  const end = isEnd ? [margin] : rest === '' && isUnclosed(state, from) ? [`${margin}*/`] : []
  return {
    changes: { from, to: line.to - rest.length, insert: Text.of(['', `${margin}* `, ...end]) },
    range: EditorSelection.cursor(from + margin.length + '\n* '.length),
  }
}

function hasSuchComments(state: EditorState, at: number): boolean {
  const tokens = state.languageDataAt<CommentTokens>('commentTokens', at, 1)
  return tokens.some(({ block }) => block?.open === '/*')
}

/** What is in front of the asterisk of the next line; undefined outside of comments whose lines begin with one. */
function marginAt({ doc }: EditorState, at: number): string | undefined {
  const { number, from, text } = doc.lineAt(at)
  const before = text.slice(0, at - from)
  const first = FIRST.exec(before)
  if (first) {
    const next = number < doc.lines ? doc.line(number + 1).text : ''
    return /^\s*\/\*\*/.test(before) || FURTHER.test(next) ? `${first[1]} ` : undefined
  }
  const margin = before.includes('*/') ? undefined : FURTHER.exec(before)?.[1]
  if (margin === undefined) return undefined
  let above = number - 1
  while (above > 0 && FURTHER.test(doc.line(above).text)) above--
  return above > 0 && FIRST.test(doc.line(above).text) ? margin : undefined
}

/** Whether a cursor is at the end of the first line of a comment that was only begun. */
function isUnclosed({ doc }: EditorState, at: number): boolean {
  const line = doc.lineAt(at)
  if (!FIRST.test(line.text) || (line.number < doc.lines && FURTHER.test(doc.line(line.number + 1).text))) return false
  const rest = doc.sliceString(at)
  const [open, close] = [rest.indexOf('/*'), rest.indexOf('*/')]
  return close < 0 || (open >= 0 && open < close)
}
