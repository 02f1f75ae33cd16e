/** The marked words in a side of a conflict: all that differ from the base. */
import { expect, test } from 'bun:test'
import { changedWords } from '../../../../forge/desk/web/editor/conflict-words.ts'
import { piecesOf } from '../../../../forge/desk/web/ui/coloured.ts'

/** The words of `text` that are marked as changed, by line. */
const marked = (before: string, text: string) =>
  changedWords(before, text).map((ranges, index) =>
    ranges.map(([from, to]) => (text.split('\n')[index] ?? '').slice(from, to)),
  )

/** The lines of `text`, with `|` where words are gone and `[]` around those that are marked as changed. */
const drawn = (before: string, text: string) => {
  const words = changedWords(before, text)
  const drawnPiece = ({ text, look }: { text: string; look: string }) =>
    look === 'gap' ? '|' : look.endsWith(' w') ? `[${text}]` : text
  return text
    .split('\n')
    .map((line, at) =>
      piecesOf(line, undefined, words[at] ?? [])
        .map(drawnPiece)
        .join(''),
    )
    .join('\n')
}

test('an operator that lost a character is marked, and not only the comment behind it', () => {
  expect(marked('if (kind === wanted) return all\n', 'if (kind == wanted) return all // loose\n')).toEqual([
    ['==', ' // loose'],
    [],
  ])
})

test('where words are gone, that place is marked, and no word that stays', () => {
  expect(drawn('  call(one, two)\nnext()\n', '  call(one)\nnext()\n')).toBe('  call(one|)\nnext()\n')
  expect(drawn('await save(file)\n', 'save(file)\n')).toBe('|save(file)\n')
  expect(drawn('save(file) // now\n', 'save(file)\n')).toBe('save(file)|\n')
  expect(drawn('You can configure them directly via', 'You configure them via')).toBe('You |configure them| via')
  const age = 'crypto: [max_age: 1_209_600, key_length: 32], compress: true'
  expect(drawn(age, 'crypto: [max_age: 1_209_600]')).toBe('crypto: [max_age: 1_209_600|]|')
})

test('where lines are gone, a place of the text that is left is marked', () => {
  expect(drawn('one\ntwo\nthree\n', 'one\nthree\n')).toMatch(/^one\|?\n\|?three\n$/)
  expect(drawn('one\ntwo\nthree\n', 'one\nthree\n')).toContain('|')
  expect(drawn('one\ntwo\n', 'one\n')).toBe('one|\n')
})

test('a line that is new is marked as a whole, without its indentation, and one that is the same not at all', () => {
  const before = 'const one = 1\nconst two = 2\n'
  expect(marked(before, 'const one = 1\n  something(else)\nconst two = 2\n')).toEqual([[], ['something(else)'], [], []])
})

test('nothing is marked where there is nothing to compare with', () => {
  expect(changedWords(undefined, 'one\ntwo')).toEqual([[], []])
  expect(changedWords('', 'one')).toEqual([[]])
})
