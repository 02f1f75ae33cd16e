/** The numbers of lines in a text with conflict markers, as shown: of an open conflict, our lines count. */

/** An open conflict: its first and its last line, from 1, both markers, and the number of our lines. */
export interface ConflictLines {
  first: number
  last: number
  ours: number
}

/**
 * Converts a line number of a text with conflict markers to one of our side of the file. The other lines of a conflict
 * have the number of its first line.
 */
export function lineInOurs(conflicts: Iterable<ConflictLines>, line: number): number {
  let hidden = 0
  for (const { first, last, ours } of conflicts) {
    if (line < first) break
    // Our lines follow the first marker.
    const isOurs = line > first && line <= first + ours
    if (line <= last) return (isOurs ? line - 1 : first) - hidden
    hidden += last - first + 1 - ours
  }
  return line - hidden
}
