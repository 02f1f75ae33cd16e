/** A cursor that is found again by its line in a text that has changed. */
import { describe, expect, test } from 'bun:test'
import { EditorState } from '@codemirror/state'
import { cursorIn, cursorPlaceOf } from '../../../../forge/desk/web/editor/cursor-line.ts'

describe('a cursor kept by its line', () => {
  const TEXT = 'one\n\ntwo words\n\nthree\n'
  const stateOf = (doc: string, anchor = 0) => EditorState.create({ doc, selection: { anchor } })
  /** The text with `|` at the place of the cursor, kept where TEXT has `before` before it. */
  const found = (before: string, text: string) => {
    const at = cursorIn(stateOf(text).doc, cursorPlaceOf(stateOf(TEXT, TEXT.indexOf(before) + before.length)))
    return `${text.slice(0, at)}|${text.slice(at)}`
  }

  test('is in the same line of the same text, also at its ends', () => {
    expect(found('two', TEXT)).toBe('one\n\ntwo| words\n\nthree\n')
    expect(found('', TEXT)).toBe(`|${TEXT}`)
    expect(found(TEXT, TEXT)).toBe(`${TEXT}|`)
  })

  test('follows its line where others were inserted or removed above', () => {
    expect(found('two', `new\nnew\n${TEXT}`)).toBe(`new\nnew\none\n\ntwo| words\n\nthree\n`)
    expect(found('two', 'two words\n\nthree\n')).toBe('two| words\n\nthree\n')
  })

  test('is in the nearest one of several equal lines', () => {
    expect(found('two', 'two words\ntwo words\nthe\ntwo words\n')).toBe('two words\ntwo| words\nthe\ntwo words\n')
  })

  test('stays in the line of its number where the line has changed, in a shorter text in the last one', () => {
    expect(found('two', 'one\n\n2\n\nthree\n')).toBe('one\n\n2|\n\nthree\n')
    expect(found('three', 'one\n')).toBe('one\n|')
  })

  test('in a long line keeps a part of it', () => {
    const line = 'x'.repeat(5_000)
    const { cursorLine } = cursorPlaceOf(stateOf(line, 4_000))
    expect(cursorLine?.text.length).toBe(100)
    expect(cursorIn(stateOf(`new\n${line}`).doc, { cursor: 0, cursorLine })).toBe(4_004)
  })

  test('without a line is where it was kept as an offset, at most at the end', () => {
    expect(cursorIn(stateOf(TEXT).doc, { cursor: 5 })).toBe(5)
    expect(cursorIn(stateOf('one').doc, { cursor: 5 })).toBe(3)
  })
})
