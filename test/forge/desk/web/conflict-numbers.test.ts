/** The numbers of a file's open conflicts, while the text around them changes. */
import { expect, test } from 'bun:test'
import { EditorState } from '@codemirror/state'
import { conflictExtension, conflictsOf } from '../../../../forge/desk/web/editor/conflict-editor.ts'

const COUNT = 11

/** A file of 2,200 lines with conflicts. `settled`: how many of these, from the first, are resolved. */
function textWith(settled: number): string {
  const sides = (at: number) =>
    `<<<<<<< ours\nours ${at}\n||||||| base\nbase ${at}\n=======\ntheirs ${at}\n>>>>>>> theirs\n`
  const parts = Array.from({ length: COUNT }, (_, at) => {
    const lines = Array.from({ length: 200 }, (_, line) => `line ${line} of part ${at}\n`).join('')
    return `${lines}${at < settled ? `ours ${at}\n` : sides(at)}`
  })
  return `${parts.join('')}the end\n`
}

function stateOf(settled: number): EditorState {
  const names = { ours: 'ours', base: 'base', theirs: 'theirs' }
  const marked = EditorState.create({ doc: textWith(0) }).doc
  const settings = { path: 'a.txt', mark: 7, marked, isSaved: false, ends: { ours: true, theirs: true }, names }
  const others = { noun: 'the merge', by: undefined, askAi: undefined, onCount: () => {} }
  return EditorState.create({ doc: textWith(settled), extensions: conflictExtension({ ...settings, ...others }) })
}

const numbersIn = (state: EditorState) => conflictsOf(state).open.map(({ number }) => number)
const from = (first: number) => Array.from({ length: COUNT + 1 - first }, (_, at) => first + at)

test.each([0, 3, 10])('stay while all of that is replaced, with %d resolved before', settled => {
  const state = stateOf(settled)
  expect(numbersIn(state)).toEqual(from(settled + 1))
  const replaced = state.update({ changes: { from: 0, to: state.doc.length, insert: 'x' } }).state
  expect(replaced.doc.toString()).not.toContain('line ')
  expect(numbersIn(replaced)).toEqual(from(settled + 1))
})
