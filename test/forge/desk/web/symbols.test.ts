/** The symbols of files, in languages with a syntax tree. */
import { expect, test } from 'bun:test'
import { EditorState } from '@codemirror/state'
import { symbolsAt, symbolsOf } from '../../../../forge/desk/web/editor/symbols.ts'
import { loadLanguage } from '../../../../forge/desk/web/ui/languages.ts'

async function stateOf(path: string, doc: string): Promise<EditorState> {
  const language = await loadLanguage(path)
  return EditorState.create({ doc, extensions: language ? [language] : [] })
}

const TEXTS: Record<string, { text: string; symbols: string[] }> = {
  'a.ts': {
    text: 'export class Keeper {\n  async keep(): Promise<void> {}\n  #hidden() {}\n}\nconst f = () => 1\nconst n = 1\ninterface I { a: 1 }\ntype T = 1\nfunction g() {}\n',
    symbols: ['Keeper', '  keep', '  #hidden', 'f', 'I', 'T', 'g'],
  },
  'a.py': { text: 'class A:\n    def b(self):\n        pass\n\ndef c():\n    pass\n', symbols: ['A', '  b', 'c'] },
  'a.rs': {
    text: 'struct A;\nimpl Display for A {\n    fn fmt(&self) {}\n}\nfn main() {}\n',
    symbols: ['A', 'impl Display for A', '  fmt', 'main'],
  },
  'a.go': {
    text: 'package a\n\ntype T struct {\n}\n\nfunc (t T) M() {\n}\n\nfunc main() {\n}\n',
    symbols: ['T', 'M', 'main'],
  },
  'A.java': { text: 'class A {\n  A() {}\n  void b() {}\n}\n', symbols: ['A', '  A', '  b'] },
  'a.cpp': {
    text: 'namespace n {\nclass A {\n  int *b() { return 0; }\n};\n}\nint main() { return 0; }\n',
    symbols: ['n', '  A', '    b', 'main'],
  },
  'a.md': { text: '# One\n\ntext\n\n## Two ##\n\nThree\n---\n', symbols: ['One', '  Two', '  Three'] },
  'a.txt': { text: '# not a heading\n', symbols: [] },
}

for (const [path, { text, symbols }] of Object.entries(TEXTS)) {
  test(`the symbols of ${path}`, async () => {
    const found = symbolsOf(await stateOf(path, text))
    expect(found.map(({ name, depth }) => '  '.repeat(depth) + name)).toEqual(symbols)
  })
}

test('those around a place are from the outside in', async () => {
  const state = await stateOf('a.ts', TEXTS['a.ts']?.text ?? '')
  symbolsOf(state)
  const at = (words: string) => symbolsAt(state, state.doc.toString().indexOf(words)).map(({ name }) => name)
  expect(at('Promise')).toEqual(['Keeper', 'keep'])
  expect(at('async keep')).toEqual(['Keeper', 'keep'])
  expect(at('const n')).toEqual([])
})

test('the headings around a place are those of its section', async () => {
  const text = '# One\n\n## Two\n\na\n\n## Three\n\nb\n\n# Four\n\nc\n'
  const state = await stateOf('a.md', text)
  symbolsOf(state)
  const at = (words: string) => symbolsAt(state, text.indexOf(words)).map(({ name }) => name)
  expect([at('a\n'), at('b\n'), at('c\n')]).toEqual([['One', 'Two'], ['One', 'Three'], ['Four']])
})
