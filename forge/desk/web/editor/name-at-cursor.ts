/** The name at the cursor, by which other files are searched, and its declaration in the function around it. */
import type { EditorState } from '@codemirror/state'

/** A longer word, in characters, is no name. */
const MAX_NAME_CHARS = 400
/** Files of Ruby and Elixir, where the name of a function may end in a question or an exclamation mark. */
const NAMES_WITH_MARKS = /\.(?:rb|rake|gemspec|exs?)$|(?:^|\/)(?:Rake|Gem)file$/

/** The name that is selected or at the cursor in a file of this path; undefined where there is none. */
export function nameAtCursor(state: EditorState, path: string): string | undefined {
  const word = wordAtCursor(state)
  if (!word || word.to - word.from > MAX_NAME_CHARS) return undefined
  const [name, next] = [state.sliceDoc(word.from, word.to), state.sliceDoc(word.to, word.to + 2)]
  const mark = NAMES_WITH_MARKS.test(path) ? (/^[?!](?!=)/.exec(next)?.[0] ?? '') : ''
  return /^[\p{L}\p{N}_$]+[?!]?$/u.test(name) ? name + mark : undefined
}

/** The place in the function around the cursor that declares the variable or parameter there, if it is one. */
export async function declarationAtCursor(
  state: EditorState,
): Promise<{ line: number; range: [number, number]; text: string } | undefined> {
  const word = wordAtCursor(state)
  if (!word) return undefined
  const { declarationOf } = await import('./local-names.ts')
  const at = declarationOf(state, state.sliceDoc(word.from, word.to), word.from)
  if (at === undefined) return undefined
  const { number, from, text } = state.doc.lineAt(at)
  return { line: number, range: [at - from, at - from + word.to - word.from], text }
}

/** The selected text, or the word at the cursor. */
function wordAtCursor(state: EditorState): { from: number; to: number } | null {
  const { from, to, head } = state.selection.main
  return from === to ? state.wordAt(head) : { from, to }
}
