/** The selected lines, or those of a function, in the last commit: a history of lines is one of saved lines. */
import type { EditorState } from '@codemirror/state'
import { savedLineOf } from './change-marks.ts'
import { definitionAt } from './symbols.ts'

/**
 * The selected lines, or those of the function around the cursor, by their numbers in the last commit; `name`: that
 * of the function. Undefined if there is no function, or if none of the lines is saved.
 */
export function linesInCommit(
  state: EditorState,
  of: 'selection' | 'function',
): { from: number; to: number; name?: string } | undefined {
  const { main } = state.selection
  const around = of === 'function' ? definitionAt(state, main.head) : undefined
  if (of === 'function' && !around) return undefined
  const { from, to } = around ?? main
  const [first, end] = [state.doc.lineAt(from), state.doc.lineAt(to)]
  // A selection of whole lines ends at the start of the next one. After the last line end, git has no line.
  const isOutside =
    (end.from === to && end.number > first.number) || (end.number === state.doc.lines && end.length === 0)
  const last = isOutside ? end.number - 1 : end.number
  const saved: number[] = []
  for (let line = first.number; line <= last; line++) saved.push(...[savedLineOf(state, line) ?? []].flat())
  const [begin, finish] = [saved[0], saved.at(-1)]
  if (begin === undefined || finish === undefined) return undefined
  return { from: begin, to: finish, ...(around && { name: around.name }) }
}
