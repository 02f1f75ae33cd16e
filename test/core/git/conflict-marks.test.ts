/** One side of each conflict of a text, in its place. */
import { expect, test } from 'bun:test'
import { conflictLines, withOneSideInPlace } from '../../../core/git/conflict-marks.ts'

/** A conflict with markers of a length. */
const conflict = (ours: string, theirs: string, { base = '| base\nold\n', length = 7 } = {}): string => {
  const [begin, then, end] = ['<', '=', '>'].map(sign => sign.repeat(length))
  const middle = base.replace('|', '|'.repeat(length))
  return `${begin} main\n${ours}${middle}${then}\n${theirs}${end} other\n`
}

test.each([
  ['our side', conflict('a\nb\n', 'c\n'), '\na\nb\n\n\n\n\n\n'],
  ['their side where ours is empty', conflict('', 'c\n'), '\n\n\n\nc\n\n'],
  ['our side without a base', conflict('a\n', 'c\n', { base: '' }), '\na\n\n\n\n'],
  ['our side between longer markers', conflict('a\n=======\n', 'c\n', { length: 9 }), '\na\n=======\n\n\n\n\n\n'],
  ['our side of two conflicts', `${conflict('a\n', '')}mid\n${conflict('b\n', '')}`, '\na\n\n\n\n\nmid\n\nb\n\n\n\n\n'],
])('%s stays on its lines', (_, text, wanted) => {
  expect(withOneSideInPlace(`above\n${text}below\n`)).toBe(`above\n${wanted}below\n`)
})

test.each([
  ['a heading with a line below it', 'Heading\n=======\n\ntext\n'],
  ['markers that do not belong together', '<<<<<<< main\na\n>>>>>>> other\n=======\n'],
  ['a conflict without an end', '<<<<<<< main\na\n=======\nb\n'],
])('%s stays as it is', (_, text) => {
  expect(withOneSideInPlace(text)).toBe(text)
})

test('the lines of conflicts are those between markers of the given length', () => {
  const two = `above\n${conflict('a\nb\n', 'c\n')}mid\n${conflict('', 'c\n', { base: '' })}`
  expect(conflictLines(two, 7)).toEqual([
    { first: 2, last: 9, ours: 2 },
    { first: 11, last: 14, ours: 0 },
  ])
  expect(conflictLines(two, 8)).toEqual([])
  expect(conflictLines(`\xef\xbb\xbf${conflict('a\n', 'c\n')}`, 7)).toEqual([{ first: 1, last: 7, ours: 1 }])
})
