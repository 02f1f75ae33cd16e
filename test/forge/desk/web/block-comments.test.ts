/** Enter in block comments, in languages whose further lines begin with an asterisk. */
import { expect, test } from 'bun:test'
import { EditorSelection, EditorState } from '@codemirror/state'
import { continueComment } from '../../../../forge/desk/web/editor/block-comments.ts'
import { loadLanguage } from '../../../../forge/desk/web/ui/languages.ts'

/** The text after Enter; undefined where the key is left to CodeMirror. In both texts, each ^ is a cursor. */
async function entered(path: string, text: string, isReadOnly = false): Promise<string | undefined> {
  const language = (await loadLanguage(path)) ?? []
  const [first = '', ...others] = text.split('^')
  let doc = first
  const cursors = others.map(part => {
    const cursor = EditorSelection.cursor(doc.length)
    doc += part
    return cursor
  })
  const several = EditorState.allowMultipleSelections.of(true)
  const extensions = [language, several, EditorState.readOnly.of(isReadOnly)]
  const selection = EditorSelection.create(cursors)
  let after: EditorState | undefined
  continueComment({
    state: EditorState.create({ doc, selection, extensions }),
    dispatch: transaction => {
      after = transaction.state
    },
  })
  return after?.selection.ranges
    .toReversed()
    .reduce((all, { head }) => `${all.slice(0, head)}^${all.slice(head)}`, after.doc.toString())
}

test.each([
  ['/**^*/', '/**\n * ^\n */'],
  ['  /** a^ */\nb', '  /** a\n   * ^\n   */\nb'],
  // A comment that was only begun gets its end.
  ['\t/**^\nb', '\t/**\n\t * ^\n\t */\nb'],
  ['/**^\nb\n/* c */', '/**\n * ^\n */\nb\n/* c */'],
  ['/** a^\nb */', '/** a\n * ^\nb */'],
  ['/** a ^ b */', '/** a \n * ^b */'],
  ['/**\n * a^\n */', '/**\n * a\n * ^\n */'],
  ['/**\n * a^ b\n */', '/**\n * a\n * ^b\n */'],
  ['/**\n *^\n */', '/**\n *\n * ^\n */'],
  ['/* a^\n * src/**\n */', '/* a\n * ^\n * src/**\n */'],
  ['/*\n\t* a\n\t* b^\n*/', '/*\n\t* a\n\t* b\n\t* ^\n*/'],
  ['/**\n * a^\n */\n/**\n * b^\n */', '/**\n * a\n * ^\n */\n/**\n * b\n * ^\n */'],
])('Enter in %j continues the comment', async (before, after) => {
  expect(await entered('a.ts', before)).toBe(after)
})

test.each([
  '/**\n * a\n */^',
  '/** a */^',
  '/** a */\n * b^',
  '/**\n * a */^',
  '/**\n a^\n */',
  '/*^*/',
  '/* a^',
  'a\n * b^',
  '// a^',
  '/**\n * a^\n */\nb^',
])('Enter in %j is CodeMirror’s', async text => {
  expect(await entered('a.ts', text)).toBeUndefined()
})

test.each(['a.css', 'a.scss', 'a.java', 'a.go', 'a.rs', 'a.c', 'a.kt', 'a.swift', 'a.cs', 'a.dart'])(
  'Enter continues a comment of %s',
  async path => {
    expect(await entered(path, '/**\n * a^\n */\n')).toBe('/**\n * a\n * ^\n */\n')
  },
)

test.each(['a.py', 'a.md', 'a.html', 'a.txt'])('Enter is CodeMirror’s in %s', async path => {
  expect(await entered(path, '/**\n * a^\n */\n')).toBeUndefined()
})

test('a text that is read-only stays as it is', async () => {
  expect(await entered('a.ts', '/**^*/', true)).toBeUndefined()
})
