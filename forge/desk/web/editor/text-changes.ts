/** Texts of the editor, and the changes that lead from one to another. */
import { diff } from '@codemirror/merge'
import { ChangeSet, Text } from '@codemirror/state'
import { byLines } from './by-lines.ts'

/** Limits of one comparison of characters (to scan, milliseconds); beyond them whole lines differ. */
const DIFF = byLines({ scanLimit: 500, timeout: 100 })

export function textOf(text: string): Text {
  return Text.of(text.split('\n'))
}

/** The parts that differ, as changes of the first text. */
export function changesBetween(from: Text, to: Text): ChangeSet {
  const before = from.toString()
  const after = to.toString()
  const changes = diff(before, after, DIFF).map(({ fromA, toA, fromB, toB }) => {
    return { from: fromA, to: toA, insert: to.slice(fromB, toB) }
  })
  return ChangeSet.of(changes, from.length)
}
