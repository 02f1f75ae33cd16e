/** The marked words in a side of a conflict: all that differ from the base. */
import { expect, test } from 'bun:test'
import { changedWords } from '../../../../forge/desk/web/editor/conflict-words.ts'

/** The words of `text` that are marked as changed, by line. */
const marked = (before: string, text: string) =>
  changedWords(before, text).map((ranges, index) =>
    ranges.map(([from, to]) => (text.split('\n')[index] ?? '').slice(from, to)),
  )

test('an operator that lost a character is marked, and not only the comment behind it', () => {
  expect(marked('if (kind === wanted) return all\n', 'if (kind == wanted) return all // loose\n')).toEqual([
    ['==', ' // loose'],
    [],
  ])
})

test('where words are gone, the word before them is marked', () => {
  expect(marked('  call(one, two)\nnext()\n', '  call(one)\nnext()\n')).toEqual([['one'], [], []])
  expect(marked('await save(file)\n', 'save(file)\n')).toEqual([['save'], []])
})

test('a line that is new is marked as a whole, without its indentation, and one that is the same not at all', () => {
  const before = 'const one = 1\nconst two = 2\n'
  expect(marked(before, 'const one = 1\n  something(else)\nconst two = 2\n')).toEqual([[], ['something(else)'], [], []])
})

test('nothing is marked where there is nothing to compare with', () => {
  expect(changedWords(undefined, 'one\ntwo')).toEqual([[], []])
  expect(changedWords('', 'one')).toEqual([[]])
})
