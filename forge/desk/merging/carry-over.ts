/**
 * Keeps resolutions when a waiting merge is made anew on a later commit of its branch: a conflict whose three sides are
 * still the same keeps what it was resolved to, as with git's rerere.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { markedPartsOf, markLength, mergeWithMarks } from '../../../core/git/conflict-marks.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { entryAt, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { asChanges, contentIn, type Drafts, entryIn } from '../branches/drafts.ts'
import { ConflictRow, type StoredMerging } from '../conflicts/merging-commits.ts'

/** The conflicts of a merge, and its tree with all markers. */
type Marked = { rows: readonly ConflictRow[]; tree: Oid }
type Before = Marked & Pick<StoredMerging, 'kept' | 'by'> & { drafts: Drafts }

/** The new merge's tree with the resolutions that still fit, and what the merge's commit says of them. */
export type Carried = Pick<StoredMerging, 'kept' | 'by'> & { result: Oid }

/**
 * Whether a path is resolved together with a conflict: one of its own, or the original path of a file that git renamed.
 */
export const isSettledWith = ({ paths, original }: ConflictRow, path: Path): boolean =>
  paths.includes(path) || (original !== undefined && (path === original || path.startsWith(`${original}/`)))

/** The resolutions of a waiting merge that fit a new merge of the same two branches. Writes the resulting tree. */
export async function carryOver(objects: Objects, before: Before, next: Marked): Promise<Carried> {
  const changes = new Map<Path, TreeChange>()
  const kept: Path[] = []
  const by: Carried['by'] = {}
  for (const row of next.rows) {
    const old = before.rows.find(({ path, kind }) => path === row.path && kind === row.kind)
    if (!old) continue
    if (!isSameConflict(old, row)) {
      const change = row.kind === 'text' ? await carryText(objects, { before, old, next, row }) : undefined
      if (change) changes.set(row.path, change)
      continue
    }
    const files = [...before.drafts.files].filter(([path]) => isSettledWith(row, path))
    for (const [path, change] of asChanges(new Map(files))) changes.set(path, change)
    if (before.kept.includes(row.path)) kept.push(row.path)
    const model = before.by[row.path]
    if (model) by[row.path] = model
  }
  const { oid, made } = await makeTree(objects, next.tree, changes)
  await writeObjects(objects.repository, made)
  return { result: oid, kept, by }
}

/** Whether two rows are the same conflict. A row just made is parsed first, since one that was stored has no more. */
const isSameConflict = (stored: ConflictRow, made: ConflictRow): boolean =>
  isDeepStrictEqual(stored, v.parse(ConflictRow, made))

type TextPair = { before: Before; old: ConflictRow; next: Marked; row: ConflictRow }

/** A file of which only some conflicts have other sides now; undefined where nothing fits. */
async function carryText(objects: Objects, { before, old, next, row }: TextPair): Promise<TreeChange | undefined> {
  const { repository } = objects
  const { path } = row
  const draft = before.drafts.files.get(path)
  const entry = draft && (await entryIn(objects, before.drafts, path))
  const typed = entry && (await contentIn(objects, before.drafts, path, entry))?.bytes
  const [oldText, newText] = await Promise.all([before, next].map(({ tree }) => readText(objects, tree, path)))
  const mode = (await entryAt(objects, next.tree, path))?.mode
  if (!typed || oldText === undefined || newText === undefined || mode === undefined) return undefined
  const [base, ours] = [oldText, typed.toString('latin1')].map(text => folded(text, old.mark ?? 0))
  const theirs = folded(newText, row.mark ?? 0)
  if (!base || !ours || !theirs) return undefined
  const sides = [base, ours, theirs].map(({ text }) => Buffer.from(text, 'latin1')) as [Buffer, Buffer, Buffer]
  const [oldBase, typedText, newMerge] = sides
  const length = row.mark ?? markLength(sides)
  const labels = { ours: 'typed in the merge', theirs: 'the branch' }
  const versions = { base: oldBase, ours: typedText, theirs: newMerge }
  const merged = await mergeWithMarks(repository, versions, labels, length).catch(error => {
    if (error instanceof GitError) return undefined
    throw error
  })
  // Where a resolution no longer fits, the new merge's conflict is left to be resolved. Where the branch changed lines
  // beside the conflicts that were also changed by typing, this is a conflict of its own.
  const hasConflict = (lines: string) => lines.match(FOLDED) !== null
  const parts = merged && markedPartsOf(merged.toString('latin1'), length)
  const together = parts?.map(part => {
    if ('same' in part) return part.same
    return hasConflict(part.base) || hasConflict(part.theirs) ? part.theirs : part.lines
  })
  const text = together && unfolded(together.join(''), theirs.conflicts)
  if (text === undefined) return undefined
  const blob: NewObject = { type: 'blob', bytes: Buffer.from(text, 'latin1') }
  await writeObjects(repository, [blob])
  return { mode, oid: oidOf(repository.format, blob) }
}

async function readText(objects: Objects, tree: Oid, path: Path): Promise<string | undefined> {
  const entry = await entryAt(objects, tree, path)
  return entry && (await objects.read(entry.oid))?.bytes?.toString('latin1')
}

/** A text in which each conflict is one line, with the hash of its three sides; `conflicts`: what each line is for. */
type Folded = { text: string; conflicts: ReadonlyMap<string, string> }

const FOLDED = /^conflict [0-9a-f]{64}$/gm

function folded(text: string, length: number): Folded | undefined {
  const conflicts = new Map<string, string>()
  const parts = markedPartsOf(text, length)?.map(part => {
    if ('same' in part) return part.same
    const { ours, base, theirs, lines } = part
    const hash = createHash('sha256')
      .update(JSON.stringify([ours, base, theirs]), 'latin1')
      .digest('hex')
    const line = `conflict ${hash}`
    const isEnded = lines.endsWith('\n')
    conflicts.set(line, isEnded ? lines.slice(0, -1) : lines)
    return isEnded ? `${line}\n` : line
  })
  return parts && { text: parts.join(''), conflicts }
}

/** Puts the conflicts back in place of their lines; undefined if one of them is unknown. */
function unfolded(text: string, conflicts: Folded['conflicts']): string | undefined {
  const lines = text.match(FOLDED) ?? []
  if (lines.some(line => !conflicts.has(line))) return undefined
  return text.replace(FOLDED, line => conflicts.get(line) ?? line)
}
