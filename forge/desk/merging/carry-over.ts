/**
 * Keeps resolutions when a waiting merge is made anew on a later commit of its branch: a conflict whose three sides are
 * still the same keeps what it was resolved to, as with git's rerere.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import {
  type MarkedPart,
  markedPartsOf,
  markLength,
  marksLeft,
  mergeWithMarks,
  withMarks,
} from '../../../core/git/conflict-marks.ts'
import { mergeLines } from '../../../core/git/merges.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path, Repository } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { entryAt, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { asChanges, contentIn, type Drafts, entryIn } from '../branches/drafts.ts'
import { ConflictRow, isSettledWith, namesIn, type StoredMerging } from '../branches/merging-commits.ts'
import { byPath } from '../conflicts/conflicts.ts'
import { notMerged } from '../conflicts/typed-conflicts.ts'
import { CHANGED_IN_MERGE, ENDS_CHANGED_IN_MERGE } from '../contract/merging.ts'

/** The conflicts of a merge, and its tree with all markers. */
type Marked = { rows: readonly ConflictRow[]; tree: Oid }
type Before = Marked & Pick<StoredMerging, 'kept' | 'by'> & { drafts: Drafts }
/** `ours`: the branch's newest commit, and the name of the branch on the screen. */
type Next = Marked & { ours: { commit: Oid; words: string } }

/**
 * The new merge's tree with the resolutions that still fit, and what the merge's commit says of them. Where something
 * was typed outside of a conflict into lines that the branch has changed, `marked` has one more conflict.
 */
export type Carried = Pick<StoredMerging, 'kept' | 'by'> & { result: Oid; marked: { rows: ConflictRow[]; tree: Oid } }

/**
 * The resolutions of a waiting merge that fit a new merge of the same two branches. Writes the resulting trees. Throws
 * a {@link Failure} if an edited text is to be chosen as a whole now: it is none of the versions to choose from.
 */
export async function carryOver(objects: Objects, before: Before, next: Next): Promise<Carried> {
  const changes = new Map<Path, TreeChange>()
  const marks = new Map<Path, TreeChange>()
  const rows = new Map(next.rows.map(row => [row.path, row]))
  const kept: Path[] = []
  const by: Carried['by'] = {}
  for (const old of before.rows) {
    const row = rows.get(old.path)
    if (row && row.kind === old.kind && isSameConflict(old, row)) {
      const files = [...before.drafts.files].filter(([path]) => isSettledWith(row, path))
      for (const [path, change] of asChanges(new Map(files))) changes.set(path, change)
      if (before.kept.includes(row.path)) kept.push(row.path)
      const model = before.by[row.path]
      if (model) by[row.path] = model
    } else if (isSameText(old, row)) {
      // A text that has both names may have other words under each.
      const hasBothNames = (await pathsOf(objects, before.drafts, old)).length > 1
      if (hasBothNames && isTyped(before.drafts, old)) throw notMerged(old.path, next.ours.words)
      const at = await pathOf(objects, before.drafts, old)
      await verifyMarksMatch(objects, before.drafts, { ...old, path: at })
      const carried = await carryText(objects, { before, old, at, next, row })
      if (!carried && isTyped(before.drafts, old)) throw notMerged(old.path, next.ours.words)
      if (!carried) continue
      // A name that was chosen stays chosen.
      if (at !== old.path) changes.set(old.path, undefined)
      if (before.kept.includes(old.path)) kept.push(old.path)
      changes.set(at, carried.result)
      if (!carried.marked) continue
      marks.set(old.path, carried.marked.file)
      rows.set(old.path, carried.marked.row)
    } else if (isTyped(before.drafts, old)) throw notMerged(old.path, next.ours.words)
  }
  const [resolved, tree] = [await makeTree(objects, next.tree, changes), await makeTree(objects, next.tree, marks)]
  await writeObjects(objects.repository, [...resolved.made, ...tree.made])
  return { result: resolved.oid, kept, by, marked: { rows: [...rows.values()].sort(byPath), tree: tree.oid } }
}

/** Whether two rows are the same conflict. A row just made is parsed first, since one that was stored has no more. */
const isSameConflict = (stored: ConflictRow, made: ConflictRow): boolean =>
  isDeepStrictEqual(stored, v.parse(ConflictRow, made))

/** Whether two merges have a text of one file, under the same names to choose from if both sides renamed it. */
function isSameText(old: ConflictRow, row: ConflictRow | undefined): boolean {
  if (old.kind === 'text') return row === undefined || row.kind === 'text'
  const names = namesIn(old)
  return names !== undefined && row !== undefined && isDeepStrictEqual(names, namesIn(row))
}

/** The path that a text in conflict has now: of a file that both sides renamed, the name that is chosen. */
async function pathOf(objects: Objects, drafts: Drafts, row: ConflictRow): Promise<Path> {
  const [path = row.path] = await pathsOf(objects, drafts, row)
  return path
}

/** Those of the names of a file that both sides renamed under which it is now. */
async function pathsOf(objects: Objects, drafts: Drafts, row: ConflictRow): Promise<Path[]> {
  const names = namesIn(row)
  const all = names ? [names.ours, names.theirs, names.base] : []
  const entries = await Promise.all(all.map(path => entryIn(objects, drafts, path)))
  return all.filter((_, at) => entries[at] !== undefined)
}

/** Whether a file in conflict was edited, and is not a whole side that was chosen. */
function isTyped({ files }: Drafts, { paths, stages }: ConflictRow): boolean {
  const drafts = paths.flatMap(path => files.get(path) ?? [])
  return drafts.some(draft => !stages.some(({ oid }) => oid === draft.oid))
}

/** Throws a {@link Failure} if a text has a marker that belongs to no conflict: it can't be carried over. */
async function verifyMarksMatch(objects: Objects, drafts: Drafts, { path, mark }: ConflictRow): Promise<void> {
  const text = (await draftBytes(objects, drafts, path))?.toString('latin1')
  if (text === undefined || mark === undefined || markedPartsOf(text, mark) !== undefined) return
  throw new Failure(
    `The conflict markers in ${visiblePath(path)} do not belong together: mend them in the editor, then update.`,
  )
}

/** The content of a file with the drafts; undefined where it is deleted or not read. */
async function draftBytes(objects: Objects, drafts: Drafts, path: Path): Promise<Buffer | undefined> {
  const entry = await entryIn(objects, drafts, path)
  return entry && (await contentIn(objects, drafts, path, entry))?.bytes
}

/** `at`: the path of the text now. `row`: undefined if the new merge has no conflict in the file. */
type TextPair = { before: Before; old: ConflictRow; at: Path; next: Next; row: ConflictRow | undefined }
/** `marked`: the file and its row if there is a conflict that the new merge does not have. */
type CarriedText = { result: TreeChange; marked?: { file: TreeChange; row: ConflictRow } }

/** A file of which only some conflicts have other sides now; undefined where nothing fits. */
async function carryText(objects: Objects, { before, old, at, next, row }: TextPair): Promise<CarriedText | undefined> {
  const { repository } = objects
  const { path } = old
  // Without a draft, the file still has all of its conflicts, among them what an earlier update has added.
  const typed = await draftBytes(objects, before.drafts, at)
  const [oldText, newText] = await Promise.all([before, next].map(({ tree }) => readText(objects, tree, path)))
  const mode = (await entryAt(objects, next.tree, path))?.mode
  if (!typed || oldText === undefined || newText === undefined || mode === undefined) return undefined
  const mark = row?.mark ?? markLength([Buffer.from(newText, 'latin1')])
  const [base, ours] = [oldText, typed.toString('latin1')].map(text => folded(text, old.mark ?? 0))
  const theirs = folded(newText, mark)
  if (!base || !ours || !theirs) return undefined
  const isOpen = (conflict: Conflict) => ours.text.includes(foldedLine(conflict))
  const texts = {
    base: withoutAdded(base, conflict => (isOpen(conflict) ? conflict.base : conflict.ours)),
    ours: withoutAdded(ours, ({ theirs }) => theirs),
    theirs,
  }
  const united = await uniteTexts(repository, texts, { mark, name: next.ours.words }).catch(error => {
    if (error instanceof GitError) return undefined
    throw error
  })
  if (united === undefined) return undefined
  const write = async (text: string): Promise<TreeChange> => {
    const blob: NewObject = { type: 'blob', bytes: Buffer.from(text, 'latin1') }
    await writeObjects(repository, [blob])
    return { mode, oid: oidOf(repository.format, blob) }
  }
  const result = await write(united.result)
  if (united.marked === undefined) return { result }
  const all = marksLeft(united.marked, mark) + (namesIn(old) ? 1 : 0)
  const there = await entryAt(objects, next.ours.commit, path)
  const stages = old.stages.map(it => (it.stage === 2 && there ? { ...it, ...there } : it))
  return { result, marked: { file: await write(united.marked), row: { ...(row ?? { ...old, stages }), mark, all } } }
}

type ThreeTexts = { base: Folded; ours: Folded; theirs: Folded }

/**
 * Applies the resolutions and what was typed beside them (from `base` to `ours`) to the new merge (`theirs`). Where
 * both changed the same lines, a conflict of the new merge is left to be resolved; other lines become a conflict with
 * what was typed. `marked`: the new merge with the conflicts added in this way, if there are some. Undefined if nothing
 * fits.
 */
async function uniteTexts(
  repository: Repository,
  { base, ours, theirs }: ThreeTexts,
  { mark, name }: { mark: number; name: string },
): Promise<{ result: string; marked?: string } | undefined> {
  const [from, typed, merge] = [base, ours, theirs].map(({ text }) => Buffer.from(text, 'latin1')) as Bytes
  const length = markLength([from, typed, merge])
  const bytes = await mergeWithMarks(repository, { base: from, ours: typed, theirs: merge }, NO_LABELS, length)
  const parts = markedPartsOf(bytes.toString('latin1'), length)
  if (!parts) return undefined
  const conflicts = new Map([...ours.conflicts, ...theirs.conflicts])
  const added: string[] = []
  const pieces = parts.map(part => {
    if ('same' in part) return { result: part.same, merge: part.same }
    const isLeft = part.theirs.match(FOLDED) !== null && withSides(part.base, base, () => '') === ''
    if (isLeft) return { result: part.theirs, merge: part.theirs }
    const sides = {
      ours: withSides(part.theirs, theirs, it => it.ours),
      base: withSides(part.base, base, it => it.base),
      theirs: withSides(part.ours, ours, it => it.theirs),
    }
    const line = foldedLine(sides)
    conflicts.set(line, {
      ...sides,
      lines: withMarks(sides, { ours: visiblePath(name), theirs: CHANGED_IN_MERGE }, mark),
    })
    added.push(line)
    return { result: `${line}\n`, merge: part.theirs }
  })
  const [whole, plain] = [pieces.map(({ result }) => result).join(''), pieces.map(it => it.merge).join('')]
  const result = unfolded(whole, conflicts)
  if (result === undefined || added.length === 0) return result === undefined ? undefined : { result }
  const [start, end] = [Buffer.from(plain, 'latin1'), Buffer.from(whole, 'latin1')]
  const marked = unfolded((await mergeLines(repository, start, merge, end, 'theirs')).toString('latin1'), conflicts)
  return marked === undefined ? undefined : { result, marked }
}

type Bytes = [Buffer, Buffer, Buffer]
const NO_LABELS = { ours: '', theirs: '' }

async function readText(objects: Objects, tree: Oid, path: Path): Promise<string | undefined> {
  const entry = await entryAt(objects, tree, path)
  return entry && (await objects.read(entry.oid))?.bytes?.toString('latin1')
}

type Conflict = Extract<MarkedPart, { lines: string }>
type ConflictSides = Omit<Conflict, 'lines'>
/** A text in which each conflict is one line, with the hash of its three sides; `conflicts`: what each line is for. */
type Folded = { text: string; conflicts: ReadonlyMap<string, Conflict> }

const FOLDED = /^conflict [0-9a-f]{64}$/gm
const FOLDED_WITH_END = /^conflict [0-9a-f]{64}(?:\n|$(?![\s\S]))/gm

function foldedLine({ ours, base, theirs }: ConflictSides): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([ours, base, theirs]), 'latin1')
    .digest('hex')
  return `conflict ${hash}`
}

function folded(text: string, length: number): Folded | undefined {
  const conflicts = new Map<string, Conflict>()
  const parts = markedPartsOf(text, length)?.map(part => {
    if ('same' in part) return part.same
    const line = foldedLine(part)
    conflicts.set(line, part)
    return part.lines.endsWith('\n') ? `${line}\n` : line
  })
  return parts && { text: parts.join(''), conflicts }
}

/** Puts the conflicts back in place of their lines; undefined if one of them is unknown. */
function unfolded(text: string, conflicts: Folded['conflicts']): string | undefined {
  const lines = text.match(FOLDED) ?? []
  if (lines.some(line => !conflicts.has(line))) return undefined
  return text.replace(FOLDED, line => conflicts.get(line)?.lines.replace(/\n$/, '') ?? line)
}

/** Puts one side of each conflict in place of its line; the line stays if `sideOf` gives none. */
const withSides = (text: string, { conflicts }: Folded, sideOf: (conflict: Conflict) => string | undefined): string =>
  text.replace(FOLDED_WITH_END, line => {
    const conflict = conflicts.get(line.trimEnd())
    return (conflict && sideOf(conflict)) ?? line
  })

/** Puts one side of each conflict that an earlier update has added in place of its line. */
const withoutAdded = (text: Folded, sideOf: (conflict: Conflict) => string): Folded => ({
  ...text,
  text: withSides(text.text, text, it => (ENDS_CHANGED_IN_MERGE.test(it.lines) ? sideOf(it) : undefined)),
})
