/** How lines of Rust are indented while they are typed. */
import { expect, test } from 'bun:test'
import { closeBrackets, insertBracket } from '@codemirror/autocomplete'
import { insertNewlineAndIndent } from '@codemirror/commands'
import { indentOnInput, indentUnit } from '@codemirror/language'
import { EditorState } from '@codemirror/state'
import { loadLanguage } from '../../../../forge/desk/web/ui/languages.ts'

const BEFORE = 'impl Tide {\n    '

/** The text of an implementation up to the cursor, after some keys. */
async function typed(keys: string): Promise<string> {
  const language = (await loadLanguage('tide.rs')) ?? []
  const extensions = [language, indentUnit.of('    '), indentOnInput(), closeBrackets()]
  let state = EditorState.create({ doc: `${BEFORE}\n}\n`, selection: { anchor: BEFORE.length }, extensions })
  for (const key of keys) {
    const { head } = state.selection.main
    const dispatch = (transaction: { state: EditorState }) => {
      state = transaction.state
    }
    const insert = { changes: { from: head, insert: key }, selection: { anchor: head + 1 }, userEvent: 'input.type' }
    const isThere = key === ')' && state.sliceDoc(head, head + 1) === key
    if (key === '\n') insertNewlineAndIndent({ state, dispatch })
    else if (isThere) dispatch(state.update({ selection: { anchor: head + 1 } }))
    else dispatch(insertBracket(state, key) ?? state.update(insert))
  }
  return state.sliceDoc(BEFORE.length, state.selection.main.head)
}

test('the bounds of a function are one step deeper than it, and its block is not', async () => {
  expect(await typed('fn next<T>()\nwhere\nT: Send,\nT: Sync,\n{\nread();\nread')).toBe(
    'fn next<T>()\n    where\n        T: Send,\n        T: Sync,\n    {\n        read();\n        read',
  )
})

test.each(['if', 'while'])(
  'the block after a condition of several lines (%s) is one step deeper than its brace',
  async word => {
    const lines = [`fn next() {`, `        ${word} a == 1`, '            && a != 2']
    expect(await typed(`fn next() {\n${word} a == 1\n&& a != 2 {\nread`)).toBe(
      [`${lines.join('\n')} {`, '                read'].join('\n'),
    )
    expect(await typed(`fn next() {\n${word} a == 1\n&& a != 2\n{\nread`)).toBe(
      [...lines, '        {', '            read'].join('\n'),
    )
  },
)
