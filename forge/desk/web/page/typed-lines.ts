/** What was typed, for the user to read and copy where it can't be added to its file. */
import { ChangeSet, Text } from '@codemirror/state'
import { insertedBy } from '../../contract/editable-text.ts'

/**
 * The lines of the text after `steps` that are not as they were in `start`. A step is a ChangeSet as JSON, of the text
 * after the step before it. If the steps do not fit the texts, what they insert.
 */
export function typedLines(start: string, steps: readonly unknown[]): string {
  const changes = steps.flatMap(step => changeOf(step) ?? [])
  const before = Text.of(start.split('\n'))
  try {
    const all = changes.reduce((one, next) => one.compose(next), ChangeSet.empty(before.length))
    const after = all.apply(before)
    const numbers = new Set<number>()
    all.iterChangedRanges((_fromA, _toA, from, to) => {
      const last = after.lineAt(Math.max(from, to - 1)).number
      for (let number = after.lineAt(from).number; number <= last; number++) numbers.add(number)
    })
    return [...numbers].map(number => after.line(number).text).join('\n')
  } catch {
    return changes.map(insertedBy).join('')
  }
}

function changeOf(json: unknown): ChangeSet | undefined {
  try {
    return ChangeSet.fromJSON(json)
  } catch {
    return undefined
  }
}
