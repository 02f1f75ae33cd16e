/**
 * Files that both sides of a merge renamed, each to another name: git puts the merged text under both, with the same
 * conflicts. One of the names is chosen, or both; the text stays as it is then.
 */
import type { Path } from '../../../core/git/repository.ts'
import type { BranchFiles, Next } from '../branches/branch-work.ts'
import { type DraftFile, type Drafts, entryIn, entryInTip } from '../branches/drafts.ts'
import type { ConflictRow } from '../branches/merging-commits.ts'
import type { ConflictFile, WholeSide } from '../contract/merging.ts'

type Names = NonNullable<ConflictFile['names']>

/**
 * The names that both sides gave a file whose text git has merged, with or without conflicts. Of a file that can't be
 * merged, the index has each side's own version instead, and a version is chosen.
 */
export function namesIn({ kind, stages }: ConflictRow): Names | undefined {
  const [ours, theirs] = [2, 3].map(number => stages.find(({ stage }) => stage === number))
  if (kind !== 'rename/rename' || !ours || ours.oid !== theirs?.oid) return undefined
  return { ours: ours.path, theirs: theirs.path }
}

const isDeleted = ({ files }: Drafts, path: Path): boolean => files.has(path) && !files.get(path)

/** Whether drafts choose a name: the file is not under the other one, or both were edited. */
export const isNameChosen = (drafts: Drafts, { ours, theirs }: Names): boolean =>
  isDeleted(drafts, ours) || isDeleted(drafts, theirs) || (drafts.files.has(ours) && drafts.files.has(theirs))

/**
 * The paths whose texts have the conflicts of a row. Of a file with two names, that is the text that was edited, since
 * that one stays when a name is chosen.
 */
export function textPathsOf(drafts: Drafts, row: ConflictRow): Path[] {
  const names = namesIn(row)
  const there = names ? [names.ours, names.theirs].filter(path => !isDeleted(drafts, path)) : []
  if (there.length === 0) return row.paths
  const edited = there.filter(path => drafts.files.has(path))
  return edited.length > 0 ? edited : there.slice(0, 1)
}

/** The path of the text of a row. */
export function textPathOf(drafts: Drafts, row: ConflictRow): Path {
  const [path = row.path] = namesIn(row) ? textPathsOf(drafts, row) : []
  return path
}

/** `resolved`: texts that take the place of those that are there now. */
type Named = { row: ConflictRow; names: Names; resolved: ReadonlyMap<Path, DraftFile> }

/**
 * The tree entries at the paths of a file that both sides renamed, with one name chosen, or both. The text stays as it
 * is now, with what was typed and resolved in it.
 */
export async function filesNamed(
  { drafts, tip, room }: BranchFiles,
  { row, names, resolved }: Named,
  side: Exclude<WholeSide, 'base'>,
): Promise<Map<Path, DraftFile>> {
  const [ours, theirs] = [names.ours, names.theirs].map(path => resolved.get(path) ?? drafts.files.get(path))
  const merged = async () => await entryInTip(room.objects, tip, names.ours)
  const wanted = new Map<Path, DraftFile>(row.paths.map(path => [path, undefined]))
  if (side !== 'theirs') wanted.set(names.ours, ours ?? theirs ?? (await merged()))
  if (side !== 'ours') wanted.set(names.theirs, theirs ?? ours ?? (await merged()))
  return wanted
}

/** The names of a conflict under which the file is now. */
export async function namesNow({ drafts, room }: BranchFiles, { ours, theirs }: Names): Promise<('ours' | 'theirs')[]> {
  const [our, their] = await Promise.all([ours, theirs].map(path => entryIn(room.objects, drafts, path)))
  return [...(our ? ['ours' as const] : []), ...(their ? ['theirs' as const] : [])]
}

/** The rename of a file that has one name of a conflict if the other one is chosen: windows follow it. */
export async function renamedTo(work: BranchFiles, names: Names, side: WholeSide): Promise<Next['renamed']> {
  const [now, ...more] = await namesNow(work, names)
  const isOther = now !== undefined && more.length === 0 && now !== side
  return isOther && (side === 'ours' || side === 'theirs') ? [{ from: names[now], to: names[side] }] : undefined
}
