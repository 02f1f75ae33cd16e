/** Untrusted text for terminals, pages and models: what is kept, and what is spelled out. */
import { expect, test } from 'bun:test'
import { harmless, reflow, visible, visibleLines, visiblePath } from '../../core/text.ts'

test.each([
  ['an escape sequence', '\u001b[31m', '\\x1b[31m'],
  ['a carriage return', 'a\rb', 'a\\x0db'],
  ['a C1 control', '\u009b31m', '\\x9b31m'],
  ['a mark that reverses text', '\u202eevil', '\\u202eevil'],
  ['a zero-width space', 'a\u200bb', 'a\\u200bb'],
  ['invisible tags', '\u{e0041}\u{e007f}', '\\u{e0041}\\u{e007f}'],
  ['a variation selector that hides a byte', 'a\ufe0e\u{e0100}', 'a\\ufe0e\\u{e0100}'],
  ['a Mongolian variation selector', '\u180b', '\\u180b'],
  ['a combining grapheme joiner', 'a\u034fb', 'a\\u034fb'],
  ['Hangul fillers', '\u3164\uffa0\u115f', '\\u3164\\uffa0\\u115f'],
  ['interlinear marks', '\ufff9a\ufffb', '\\ufff9a\\ufffb'],
  ['a private character', '\ue000\u{f0000}', '\\ue000\\u{f0000}'],
  ['musical controls', '\u{1d173}', '\\u{1d173}'],
  ['half a character', '\ud800', '\\ud800'],
  ['what is no character', '\ufdd0\uffff\u{1fffe}\u{10ffff}', '\\ufdd0\\uffff\\u{1fffe}\\u{10ffff}'],
])('%s is spelled out', (_, text, shown) => {
  expect(visible(text)).toBe(shown)
})

test.each(['Grüße, 世界, שלום, مرحبا', '✔️ done ❤️', '👍🏽 🇩🇪', 'e\u0301'])('%s stays as it is', text => {
  expect(visible(text)).toBe(text)
})

test('only the first selector after an emoji stays: a row of them could carry a message', () => {
  expect(visible('❤\ufe0f\ufe0f\ufe01')).toBe('❤\ufe0f\\ufe0f\\ufe01')
})

test('line ends and tabs of several lines stay', () => {
  expect(visibleLines('a\tb\r\nc\u001b')).toBe('a\tb\nc\\x1b')
})

test('a file name that is no UTF-8 has its bytes spelled out', () => {
  expect(visiblePath('caf\xe9')).toBe('caf\\xe9')
  expect(visiblePath(Buffer.from('café').toString('latin1'))).toBe('café')
})

test('lines that fit stay as they are', () => {
  const text = 'Keep both greetings\n\n- a: the fork\n    more of it\n- b:\n\n    code  with   spaces\n1. one'
  expect(reflow(text, 30)).toEqual(text.split('\n'))
})

test('a paragraph that does not fit is wrapped again, whole', () => {
  const text = 'Upstream moved the greeting into a file of its own, which did not\nexist\nhere before.\n\nNext.'
  expect(reflow(text, 40)).toEqual([
    'Upstream moved the greeting into a file',
    'of its own, which did not exist here',
    'before.',
    '',
    'Next.',
  ])
})

test('items of a list keep their indentation, and the others of the list their lines', () => {
  const text =
    '- short\n  - an item that is a good deal longer than\n    a line\n  - short, too\n10. another one that does not fit'
  expect(reflow(text, 24)).toEqual([
    '- short',
    '  - an item that is a',
    '    good deal longer',
    '    than a line',
    '  - short, too',
    '10. another one that',
    '    does not fit',
  ])
})

test('code, tables and quotes are not filled; a word longer than a line is cut', () => {
  const fixed = '```\nlet a = 1\nb\n```\n| a | b |\n> said'
  expect(reflow(fixed, 12)).toEqual(fixed.split('\n'))
  expect(reflow('x'.repeat(25), 10)).toEqual(['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)])
  expect(reflow(`- ${'y'.repeat(9)} z`, 6)).toEqual(['- yyyy', '  yyyy', '  y z'])
})

test('the number of a merged pull request stays whole; what refers or closes does not', () => {
  expect(harmless('Port the fix (#37465) and #12')).toBe('Port the fix (#37465) and # 12')
  expect(harmless('see www.evil.example and awww.')).toBe('see www .evil.example and awww.')
  expect(harmless('Fixes #1, (up/x#2), (see #3), (#4 and #5), #abc, @me')).not.toMatch(/#\w|@\w/)
})
