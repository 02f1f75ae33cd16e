/** Whether a change of the server takes back what the user has typed or deleted. */
import { describe, expect, test } from 'bun:test'
import { ChangeSet, type ChangeSpec, EditorState, Transaction } from '@codemirror/state'
import { noTypedRanges, touchesTyped } from '../../../../forge/desk/web/editor/typed-ranges.ts'

describe('a change of the server touches', () => {
  const stateOf = (doc: string) => EditorState.create({ doc, extensions: noTypedRanges() })
  const edited = (state: EditorState, changes: ChangeSpec) => state.update({ changes }).state
  const moved = (state: EditorState, changes: ChangeSpec) =>
    state.update({ changes, annotations: Transaction.addToHistory.of(false) }).state
  const touches = (state: EditorState, changes: ChangeSpec) =>
    touchesTyped(state, ChangeSet.of(changes, state.doc.length))

  test('what was inserted or deleted there, and nothing else', () => {
    const inserted = edited(stateOf('one two three'), { from: 4, insert: 'new ' })
    expect(touches(inserted, { from: 4, to: 8 })).toBe(true)
    expect(touches(inserted, { from: 13, to: 15 })).toBe(false)
    const deleted = edited(stateOf('one two three'), { from: 4, to: 8 })
    expect(touches(deleted, { from: 4, insert: 'two ' })).toBe(true)
    expect(touches(deleted, { from: 0, insert: 'zero ' })).toBe(false)
    expect(touches(stateOf('one'), { from: 0, to: 3 })).toBe(false)
  })

  test('also where other changes have moved it, or taken all around it out', () => {
    const deleted = edited(stateOf('one two three'), { from: 4, to: 8 })
    expect(touches(moved(deleted, { from: 0, insert: 'zero ' }), { from: 9, insert: 'two ' })).toBe(true)
    expect(touches(moved(deleted, { from: 2, to: 6 }), { from: 2, insert: 'e two th' })).toBe(true)
  })

  test('one of several equal lines, whichever the comparison of the texts has found', () => {
    const typed = edited(stateOf('top\nsame\nsame\nsame\nend\n'), { from: 4, insert: 'same\n' })
    expect(touches(typed, { from: 19, to: 24 })).toBe(true)
    const deleted = edited(stateOf('top\nsame\nsame\nsame\nend\n'), { from: 4, to: 9 })
    expect(touches(deleted, { from: 14, insert: 'same\n' })).toBe(true)
    expect(touches(deleted, { from: 18, insert: 'last\n' })).toBe(false)
  })
})
