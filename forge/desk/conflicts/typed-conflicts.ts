/**
 * Makes conflicts of drafts with a merge that begins to wait part of that merge. They arise in files that git has
 * merged without conflict, where what was typed in an earlier state of the merge does not fit the new one.
 */
import { Failure } from '../../../core/failure.ts'
import { markLength, marksLeft, mergeWithMarks } from '../../../core/git/conflict-marks.ts'
import type { Stage } from '../../../core/git/merges.ts'
import { type Objects, writeBlob } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Clashing, DraftFile, Drafts } from '../branches/drafts.ts'
import { type ConflictRow, isSettledWith } from '../branches/merging-commits.ts'
import { entryBeside } from '../branches/other-versions.ts'
import { CHANGED_IN_MERGE } from '../contract/merging.ts'
import { textBytes } from '../reading/file-content.ts'
import { byPath } from './conflicts.ts'

/** The conflicts of a merge, its tree with all markers, and the drafts on that tree. */
type Waiting = { rows: ConflictRow[]; tree: Oid; drafts: Drafts }

/**
 * Adds a conflict for each text whose draft conflicts with the merge. `ours`: the name of our side, a byte string. A
 * file that already is in conflict keeps the conflict of its draft. Throws a {@link Failure} if the merge has no text
 * to which a draft could be compared.
 */
export async function withTypedConflicts(objects: Objects, waiting: Waiting, ours: string): Promise<Waiting> {
  const { drafts } = waiting
  const inConflict = new Set(waiting.rows.flatMap(({ paths }) => paths))
  const [files, clashes] = [new Map(drafts.files), new Map(drafts.clashes)]
  const rows = [...waiting.rows]
  const changes = new Map<Path, TreeChange>()
  for (const [path, clash] of drafts.clashes) {
    if (inConflict.has(path)) continue
    const { row, file } = await typedConflict(objects, drafts, path, clash, ours)
    rows.push(row)
    changes.set(path, file)
    files.delete(path)
    clashes.delete(path)
  }
  if (changes.size === 0) return waiting
  const tree = await writeTree(objects, waiting.tree, changes)
  return { rows: rows.sort(byPath), tree, drafts: { ...drafts, files, clashes } }
}

/**
 * Throws a {@link Failure} if a file of which a whole version is to be chosen was edited: its draft would count as that
 * choice. `resolved`: the drafts that are such choices.
 */
export function verifyNotChosen(
  rows: readonly ConflictRow[],
  { files, clashes }: Drafts,
  resolved: ReadonlyMap<Path, DraftFile>,
  ours: string,
): void {
  const whole = rows.filter(({ kind }) => kind !== 'text')
  const isResolved = (path: Path) => resolved.has(path) && resolved.get(path)?.oid === files.get(path)?.oid
  for (const path of [...files.keys(), ...clashes.keys()])
    if ((clashes.has(path) || !isResolved(path)) && whole.some(row => isSettledWith(row, path)))
      throw notMerged(path, ours)
}

/** Says that what was typed in a file does not fit the merge that begins to wait. `ours`: the name of our side. */
export function notMerged(path: Path, ours: string): Failure {
  const [file, branch] = [visiblePath(path), visiblePath(ours)]
  return new Failure(
    `What was typed in ${file} can’t be merged with what ${branch} has there now: discard the changes to ${file}, then try again.`,
  )
}

async function typedConflict(
  objects: Objects,
  drafts: Drafts,
  path: Path,
  { mode, base: from, draft, bytes, working }: Clashing,
  name: string,
): Promise<{ row: ConflictRow; file: TreeChange }> {
  const other = await entryBeside(objects, drafts, path)
  const entryOf = (oid: Oid | undefined): Entry => (oid === undefined ? undefined : { mode, oid })
  const [base, ours, typed] = await Promise.all(
    [entryOf(from), other, entryOf(draft)].map(it => textBytes(objects, it)),
  )
  const theirs = bytes ?? typed
  if (!working || !other || !ours || !theirs) throw notMerged(path, name)
  const mark = markLength([base, ours, theirs])
  const labels = { ours: name, theirs: CHANGED_IN_MERGE }
  const text = await mergeWithMarks(objects.repository, { base, ours, theirs }, labels, mark)
  const [oid, own] = await Promise.all([text, theirs].map(it => writeBlob(objects.repository, it)))
  const stage = (number: Stage['stage'], entry: Entry) => (entry ? [{ ...entry, stage: number, path }] : [])
  const stages = [...stage(1, entryOf(from)), ...stage(2, other), ...stage(3, entryOf(own))]
  const all = marksLeft(text.toString('latin1'), mark)
  return { row: { path, kind: 'text', paths: [path], stages, mark, all }, file: { mode: other.mode, oid: oid ?? '' } }
}
