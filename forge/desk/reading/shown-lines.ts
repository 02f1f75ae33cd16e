/** The line numbers that the page shows for places in files with open conflicts, whose markers it hides. */
import { conflictLines } from '../../../core/git/conflict-marks.ts'
import type { Path } from '../../../core/git/repository.ts'
import type { Vfs } from '../../vfs.ts'
import { type ConflictLines, lineInOurs } from '../contract/conflict-lines.ts'

/** The lengths of conflict markers, in characters, of the files of a branch that can have them. */
export type MarkLengths = ReadonlyMap<Path, number>

/** Adds the shown line number to a place in a file with open conflicts. */
export type WithShownLine = <Place extends { path: Path; line: number }>(place: Place) => Place & { shownLine?: number }

/** Reads the files that can have conflict markers, and makes the function that adds shown line numbers to places. */
export async function withShownLines(files: Vfs, marks: MarkLengths): Promise<WithShownLine> {
  const conflicts = new Map<Path, ConflictLines[]>()
  for (const [path, length] of marks) {
    const entry = await files.entryAt(path)
    if (!entry?.mode.startsWith('100')) continue
    const open = conflictLines((await files.readFile(path)).toString('latin1'), length)
    if (open.length > 0) conflicts.set(path, open)
  }
  return place => {
    const open = conflicts.get(place.path)
    return open ? { ...place, shownLine: lineInOurs(open, place.line) } : place
  }
}
