/**
 * Which edits of a file a desk has lost that ended without writing them all. A window knows the texts that the file had
 * one after the other, but not which of them the desk has got since: another window may have sent it what both knew,
 * with more that was typed.
 */
import type { ChangeSet, Text } from '@codemirror/state'

/** Compares two texts: the change that leads from one to the other, as small as can be found. */
type Compare = (from: Text, to: Text) => ChangeSet

/**
 * The text from which the desk's text `theirs` has come, of those that the file had, and the change between them: the
 * text to which least was added, and from which nothing was taken away. Undefined if there is none; also with text that
 * others deleted.
 */
export function cameFrom(
  theirs: Text,
  texts: readonly Text[],
  compare: Compare,
): { text: Text; change: ChangeSet } | undefined {
  let nearest: { text: Text; change: ChangeSet; added: number } | undefined
  for (const text of texts.toReversed()) {
    const added = theirs.length - text.length
    if (added < 0 || (nearest && added >= nearest.added)) continue
    const change = compare(text, theirs)
    if (addsOnly(change)) nearest = { text, change, added }
  }
  return nearest
}

function addsOnly(change: ChangeSet): boolean {
  let isSo = true
  change.iterChangedRanges((from, to) => {
    if (to > from) isSo = false
  })
  return isSo
}
