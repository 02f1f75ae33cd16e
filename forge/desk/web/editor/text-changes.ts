/** Texts of the editor, and the changes that lead from one to another. */
import { diff } from '@codemirror/merge'
import { ChangeSet, Text } from '@codemirror/state'
import { BY_LINES } from './by-lines.ts'

export function textOf(text: string): Text {
  return Text.of(text.split('\n'))
}

/** The parts that differ, as changes of the first text. */
export function changesBetween(from: Text, to: Text): ChangeSet {
  const before = from.toString()
  const after = to.toString()
  const changes = diff(before, after, BY_LINES).map(({ fromA, toA, fromB, toB }) => {
    return { from: fromA, to: toA, insert: to.slice(fromB, toB) }
  })
  return ChangeSet.of(changes, from.length)
}
