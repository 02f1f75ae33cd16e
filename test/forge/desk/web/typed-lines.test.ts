/** What was typed, for the user to read where it can't be added to its file. */
import { expect, test } from 'bun:test'
import { typedLines } from '../../../../forge/desk/web/page/typed-lines.ts'
import { replacement } from '../../../support/desk.ts'

const LINES = 'one\ntwo\nthree\nfour\n'

test('is the lines that are not as they were, each once, whatever was typed before in the same line', () => {
  const steps = [replacement(19, 0, 0, 'typed '), replacement(25, 6, 0, 'in '), replacement(28, 17, 5, '3\n3½')]
  expect(typedLines(LINES, steps)).toBe('typed in one\n3\n3½')
})

test('has no line behind a line that was inserted, and the line from which characters were deleted', () => {
  expect(typedLines(LINES, [replacement(19, 4, 0, 'new\n')])).toBe('new')
  expect(typedLines(LINES, [replacement(19, 4, 2, '')])).toBe('o')
})

test('is what was inserted where the changes do not fit the text, or are none', () => {
  expect(typedLines('else\n', [replacement(19, 0, 0, 'typed '), 'no change', replacement(3, 0, 0, 'on')])).toBe(
    'typed on',
  )
  expect(typedLines(LINES, [])).toBe('')
})
