/** Text of strangers: what reaches a terminal, a page or a model, and what is spelled out. */
import { expect, test } from 'bun:test'
import { visible, visibleLines, visiblePath } from '../../core/text.ts'

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
  ['what is no character', '\ufdd0', '\\ufdd0'],
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
