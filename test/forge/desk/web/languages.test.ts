/** The languages of files, by their names. */
import { expect, test } from 'bun:test'
import { toggleComment } from '@codemirror/commands'
import { EditorState } from '@codemirror/state'
import { loadLanguage } from '../../../../forge/desk/web/ui/languages.ts'

/** The text after Ctrl+/ on its only line. */
async function commented(path: string, doc: string): Promise<string> {
  const language = await loadLanguage(path)
  let state = EditorState.create({ doc, extensions: language ? [language] : [] })
  toggleComment({ state, dispatch: transaction => (state = transaction.state) })
  return state.doc.toString()
}

const COMMENTED: Record<string, string> = {
  'a.ini': '# a = 1',
  'a.conf': '# a = 1',
  '.env': '# a = 1',
  '.gitconfig': '# a = 1',
  'a.proto': '// a = 1',
  'a.cmake': '# a = 1',
  'CMakeLists.txt': '# a = 1',
  'a.toml': '# a = 1',
  'a.ts': '// a = 1',
  'poetry.lock': '# a = 1',
}

for (const [path, text] of Object.entries(COMMENTED)) {
  test(`Ctrl+/ comments a line of ${path}`, async () => {
    expect(await commented(path, 'a = 1')).toBe(text)
  })
}
