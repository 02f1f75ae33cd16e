/**
 * The order of an edit of the server and of text typed meanwhile, where both insert at the same position: the server's
 * lines come first, as `@codemirror/collab` has it. Only at the end of a text without a final line end they come after
 * what is typed, which stays in its line: conflict markers are put around that line.
 */
import { ChangeSet, Text } from '@codemirror/state'

/** The client id of the server's own edits, such as after a merge or a discard. */
export const DESK_CLIENT = 'forge'

/** Whether a change inserts lines behind the last line of a text, which has no line end. */
export const insertsBehindLastLine = (change: ChangeSet): boolean => linesBehind(change) !== undefined

/** Moves a change of the server onto the text with what was typed meanwhile. Both changes start at the same text. */
export function afterTyped(change: ChangeSet, typed: ChangeSet): ChangeSet {
  const [rest, end] = split(change)
  const moved = rest.map(typed, true)
  return moved.compose(insertedAtEnd(end, moved.newLength))
}

/** Moves typed text onto the server's text with a change. Both changes start at the same text. */
export function typedAfter(change: ChangeSet, typed: ChangeSet): ChangeSet {
  const [rest, end] = split(change)
  return typed.map(rest).map(insertedAtEnd(end, rest.newLength), true)
}

/** Splits a change into what it inserts behind the last line, and the rest. */
function split(change: ChangeSet): [rest: ChangeSet, end: Text] {
  const end = linesBehind(change) ?? Text.empty
  const { newLength: to } = change
  return [change.compose(ChangeSet.of({ from: to - end.length, to }, to)), end]
}

const insertedAtEnd = (insert: Text, length: number): ChangeSet => ChangeSet.of({ from: length, insert }, length)

function linesBehind(change: ChangeSet): Text | undefined {
  let end: Text | undefined
  change.iterChanges((from, _to, _fromB, _toB, inserted) => {
    if (from === change.length && inserted.lines > 1 && inserted.line(1).length === 0) end = inserted
  })
  return end
}
