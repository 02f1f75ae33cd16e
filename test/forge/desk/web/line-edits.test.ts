/** Edits of the selected lines and words of the editor. */
import { describe, expect, test } from 'bun:test'
import { EditorSelection, EditorState } from '@codemirror/state'
import { indentLines } from '../../../../forge/desk/web/editor/line-commands.ts'
import {
  joinLines,
  type LineEdit,
  sortLinesAscending,
  toLowercase,
  toUppercase,
  trimTrailingWhitespace,
} from '../../../../forge/desk/web/editor/line-edits.ts'

/** The text after an edit. In `text` and in the result, < and > are the ends of selections, and ^ is a cursor. */
function edited(edit: LineEdit, text: string): string | undefined {
  const ranges: [number, number][] = []
  let doc = ''
  for (const sign of text) {
    if (sign === '<') ranges.push([doc.length, doc.length])
    else if (sign === '>') ranges.push([ranges.pop()?.[0] ?? 0, doc.length])
    else if (sign === '^') ranges.push([doc.length, doc.length])
    else doc += sign
  }
  const selection = EditorSelection.create(ranges.map(([from, to]) => EditorSelection.range(from, to)))
  const extensions = [EditorState.allowMultipleSelections.of(true), EditorState.lineSeparator.of('\n')]
  const state = EditorState.create({ doc, selection, extensions })
  const spec = edit(state)
  if (!spec) return undefined
  const after = state.update(spec).state
  return after.selection.ranges.toReversed().reduce((all, { from, to, empty }) => {
    const inner = empty ? '^' : `<${all.slice(from, to)}>`
    return all.slice(0, from) + inner + all.slice(to)
  }, after.doc.toString())
}

const CASES: Record<string, [LineEdit, string, string | undefined][]> = {
  'lines are joined': [
    [joinLines, 'a^\n  b\nc', 'a^ b\nc'],
    [joinLines, '<a  \n\tb\n>c', '<a b\n>c'],
    [joinLines, '<a\nb\nc>\nd', '<a b c>\nd'],
    [joinLines, 'a^\n\nb', 'a^\nb'],
    [joinLines, 'a^\nb^\nc\n', 'a^ b^ c\n'],
    [joinLines, 'a\nb^', undefined],
  ],
  'case is changed': [
    [toUppercase, 'one t^wo', 'one T^WO'],
    [toUppercase, '<stra\u00dfe> <x>', '<STRASSE> <X>'],
    [toLowercase, 'A <BC>D', 'A <bc>D'],
    [toLowercase, 'a ^ b', undefined],
  ],
  'lines are sorted': [
    [sortLinesAscending, 'c\nb^\na\n', 'a\nb^\nc\n'],
    [sortLinesAscending, 'z\n<c\nb\n>a', 'z\n<b\nc\n>a'],
    [sortLinesAscending, 'a^\nb\n', undefined],
    [sortLinesAscending, '^', undefined],
  ],
  'blanks at the ends of lines are removed, and line ends stay': [
    [trimTrailingWhitespace, '^a \t\nb\r\n c  \r\n  ', '^a\nb\r\n c\r\n'],
    [trimTrailingWhitespace, '^a\r\n b\n', undefined],
  ],
}

describe.each(Object.entries(CASES))('%s', (_, cases) => {
  test.each(cases)('%p: %j', (edit, before, after) => {
    expect(edited(edit, before)).toBe(after as string)
  })
})

test('a long line of blanks is trimmed at once', () => {
  const blanks = ' '.repeat(1_000_000)
  const began = performance.now()
  expect(edited(trimTrailingWhitespace, `^${blanks}x${blanks}`)).toBe(`^${blanks}x`)
  expect(performance.now() - began).toBeLessThan(2_000)
})

test('whole lines that are indented stay selected as whole lines, in both directions', () => {
  for (const [anchor, head] of [
    [0, 8],
    [8, 0],
  ] as const) {
    let state = EditorState.create({ doc: 'one\ntwo\nthree', selection: { anchor, head } })
    indentLines({
      state,
      dispatch: transaction => {
        state = transaction.state
      },
    })
    expect(state.sliceDoc()).toBe('  one\n  two\nthree')
    const { main } = state.selection
    expect([main.anchor, main.head]).toEqual(anchor === 0 ? [0, 12] : [12, 0])
  }
})
