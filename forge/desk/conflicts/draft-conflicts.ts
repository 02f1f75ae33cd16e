/**
 * Drafts that do not fit the new commit of their branch (branches/draft-merges.ts), shown as the conflicts of a merge:
 * one row per file, with its sides, of which one can be taken as a whole. Text is resolved in the editor, and becomes
 * an ordinary draft once no conflict is left. Other files of the branch can still be edited and saved.
 */
import { Failure } from '../../../core/failure.ts'
import { marksLeft, withBoth } from '../../../core/git/conflict-marks.ts'
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { BranchFiles, BranchWork } from '../branches/branch-work.ts'
import { textsOf, typedIn } from '../branches/clash-texts.ts'
import { originsIn } from '../branches/draft-renames.ts'
import { type Clashing, type DraftFile, draftFileOf, entryInTip, isOpen, leaveAsSaved } from '../branches/drafts.ts'
import type { MergingKind } from '../branches/merging-commits.ts'
import { entryBeside, isDraftBeside } from '../branches/other-versions.ts'
import { SETTLE } from '../branches/undo.ts'
import type { ConflictFile, Merging, MergingFile, WholeSide } from '../contract/merging.ts'
import { placeLeft } from '../contract/paths.ts'
import { decodeText } from '../reading/text.ts'
import { byPath, sideOf, textBySide, thing, wordsFor, wordsOfResolved } from './conflicts.ts'

/** The name of the draft's side. */
const DRAFT = 'your draft'
/**
 * The name of the other side where that is no file of the branch, but a draft: of another desk, or brought by an undo.
 */
const OTHER_DRAFT = 'the other draft'
/** The name of such a side that was brought by a stash. */
const STASH = 'the stash'
/** The name of the other side while a merge waits: the file of the merge, with the resolutions so far. */
const WAITING = 'what waits here'

/** Lists the files of a branch whose drafts are in conflict with it; undefined if there are none. */
export async function draftConflictsIn(work: BranchWork): Promise<Merging | undefined> {
  return await work.brieflyLocked(async held => {
    await held.collect()
    const { drafts, tip, name } = work
    if (drafts.clashes.size === 0 || tip === undefined) return undefined
    const names = await Promise.all([...drafts.clashes.keys()].map(path => theirsOf(work, path)))
    const [theirs = name, ...others] = new Set(names)
    return {
      kind: 'drafts' as const,
      ...{
        ours: DRAFT,
        theirs: others.length > 0 ? name : theirs,
        oursCommit: work.moved?.from ?? tip,
        theirsCommit: tip,
      },
      files: await Promise.all([...drafts.clashes].map(([path, clash]) => rowOf(work, path, clash))),
      ...{ byGit: 0, message: '', odd: [] },
    }
  })
}

/**
 * The conflicts of a waiting merge, `rows`, with those of drafts with what waits. A file that has both counts both, and
 * that of its draft is resolved first.
 */
export async function withDraftConflicts(work: BranchFiles, rows: readonly MergingFile[]): Promise<MergingFile[]> {
  const { clashes } = work.drafts
  const all = new Map(rows.map(row => [row.path, row]))
  for (const [path, clash] of clashes) {
    const other = all.get(path)
    if (!isOfDraft(work, path, other !== undefined)) continue
    const row = await rowOf(work, path, clash)
    const [left, sum] = [row.left + (other?.left ?? 0), row.all + (other?.all ?? 0)]
    all.set(path, { ...row, left, all: sum, isOfDraft: true })
  }
  return [...all.values()].sort(byPath)
}

/**
 * Whether the conflict that is to be resolved in a file is that of its draft. `isInMerge`: whether there is another.
 */
export function isOfDraft({ drafts }: BranchFiles, path: Path, isInMerge: boolean): boolean {
  const clash = drafts.clashes.get(path)
  return clash !== undefined && (!isInMerge || isOpen(clash))
}

/** Gives a file whose draft is in conflict with the branch, with its sides. */
export async function draftConflict(work: BranchWork, path: Path): Promise<ConflictFile> {
  const { objects } = work.room
  const clash = clashAt(work, path)
  const entries = await entriesOf(work, path, clash)
  const [base, theirs] = await Promise.all([entries.base, entries.theirs].map(entry => sideOf(objects, entry)))
  const { kind, words } = await rowOf(work, path, clash)
  const { working, mode, bytes } = clash
  const typed = bytes && decodeText(bytes)?.text
  const ours = typed === undefined ? await sideOf(objects, entries.ours) : ({ is: 'text', text: typed, mode } as const)
  const nothing = { is: 'nothing' } as const
  const marked = working && decodeText((await objects.read(working.marked))?.bytes ?? Buffer.of())?.text
  return {
    ...{
      path,
      kind,
      words: words ?? '',
      oursName: DRAFT,
      theirsName: await theirsOf(work, path),
      base: base ?? nothing,
      ours,
      theirs: theirs ?? nothing,
    },
    ...(working && { mark: working.mark, marked }),
  }
}

/** Replaces a file by one side, or, in text, all its open conflicts by that side. Returns what was done in words. */
export async function takeDraftSide(work: BranchWork, path: Path, side: WholeSide): Promise<{ words: string }> {
  const { objects } = work.room
  return await work.locked(async held => {
    work.verifyFree()
    await held.collect()
    return await held.again(async () => {
      // The operation's undo needs the draft in the repository, which is its only copy.
      await held.writeDrafts()
      const clash = clashAt(work, path)
      const file = await fileOf(work, path, clash, side)
      const before = await entryInTip(objects, work.tip, path)
      const files = new Map(work.drafts.files)
      const isSaved = before?.oid === file?.oid && before?.mode === file?.mode
      if (isSaved) leaveAsSaved(files, path, originsIn(work.drafts).get(path))
      else files.set(path, file)
      const clashes = new Map(work.drafts.clashes)
      clashes.delete(path)
      const theirs = await theirsOf(work, path)
      const taken = side === 'theirs' && theirs !== work.name ? theirs : WORDS[side]
      const resolved = `${visiblePath(path)} in ${visiblePath(work.name)} by ${taken}`
      const deed = { kind: SETTLE, words: `resolve ${resolved}` }
      await held.become({ drafts: { ...work.drafts, files, clashes } }, deed)
      return { words: `Resolved ${resolved}.` }
    })
  })
}

/**
 * Resolves the open conflicts of drafts in text by one side, as one operation. What was resolved or typed beside them
 * stays.
 */
export async function takeDraftConflicts(
  work: BranchWork,
  paths: readonly Path[],
  side: 'ours' | 'theirs',
): Promise<{ words: string }> {
  const resolved = wordsOfResolved(paths, side)
  await work.locked(async held => {
    work.verifyFree()
    await held.collect()
    await held.again(async () => {
      // The operation's undo needs the drafts in the repository.
      await held.writeDrafts()
      const clashes = new Map(work.drafts.clashes)
      for (const path of paths) clashes.set(path, await resolvedBy(work, path, side))
      const words = `resolve ${resolved} in ${visiblePath(work.name)}`
      await held.become({ drafts: { ...work.drafts, clashes } }, { kind: SETTLE, words })
    })
  })
  return { words: `Resolved ${resolved}.` }
}

/** Resolves the open conflicts of a draft by one side. A draft without text is returned unchanged. */
async function resolvedBy({ room, drafts }: BranchWork, path: Path, side: 'ours' | 'theirs'): Promise<Clashing> {
  const { objects } = room
  const clash = clashAt({ drafts }, path)
  const { draft, working } = clash
  if (!working) return clash
  const read = async (oid: Oid | undefined) => (oid === undefined ? undefined : (await objects.read(oid))?.bytes)
  const marked = (working.bytes ?? (await read(working.oid)))?.toString('latin1') ?? ''
  const own = side === 'ours' ? (clash.bytes ?? (await read(draft))) : await read(working.theirs)
  const text = textBySide(marked, working.mark, side, own)
  if (text === undefined) throw marksNotTogether(path)
  return typedIn(objects, clash, await textsOf(objects, clash), [Buffer.from(text, 'latin1')])
}

const marksNotTogether = (path: Path): Failure =>
  new Failure(`The marks in ${visiblePath(path)} do not belong together: mend them in the editor.`)

const WORDS: Record<WholeSide, string> = { ours: DRAFT, theirs: 'the branch', base: 'the base', both: 'both sides' }

function clashAt({ drafts }: Pick<BranchWork, 'drafts'>, path: Path): Clashing {
  const clash = drafts.clashes.get(path)
  if (clash) return clash
  throw new Failure(`${visiblePath(path)} is in no conflict.`)
}

/** The name of the side that conflicts with a file's draft. */
async function theirsOf({ room, drafts, merging, name }: BranchFiles, path: Path): Promise<string> {
  if (merging !== undefined) return WAITING
  if (!(await isDraftBeside(room.objects, drafts, path))) return name
  return drafts.clashes.get(path)?.isWithStash ? STASH : OTHER_DRAFT
}

async function entriesOf({ room, drafts }: BranchFiles, path: Path, { mode, base, draft }: Clashing) {
  const theirs: Entry = await entryBeside(room.objects, drafts, path)
  const entryOf = (oid: Oid | undefined): Entry => (oid === undefined ? undefined : { mode, oid })
  return { base: entryOf(base), ours: entryOf(draft), theirs }
}

/** A file whose draft is in conflict, for the list of conflicts. */
async function rowOf(work: BranchFiles, path: Path, clash: Clashing): Promise<MergingFile> {
  const { working } = clash
  const { base, ours, theirs } = await entriesOf(work, path, clash)
  const kind: MergingKind = working ? 'text' : ours && theirs ? 'binary' : 'modify/delete'
  const stages = ([base, ours, theirs] as const).flatMap((entry, at) =>
    entry ? [{ ...entry, path, stage: STAGES[at] ?? 1 }] : [],
  )
  const sides = { ours: DRAFT, theirs: await theirsOf(work, path) }
  const words = (theirs ? undefined : await wordsOfAside(work, path, sides.theirs)) ?? wordsFor({ kind, stages }, sides)
  const left = working?.left ?? 1
  const all = working ? await marksIn(work.room.objects, working.marked, working.mark) : 1
  const state = isOpen(clash) ? 'open' : 'settled'
  const more = working ? { marked: working.marked } : { isWholeOpen: true as const }
  return { path, kind, all, left, words, state, ...more }
}

/** What is in the place of a draft that was put aside, in a sentence; undefined for one that was not. */
async function wordsOfAside({ room, drafts }: BranchFiles, path: Path, theirs: string): Promise<string | undefined> {
  const place = placeLeft(path)
  const there = place === undefined ? undefined : await entryBeside(room.objects, drafts, place)
  if (place === undefined || !there) return undefined
  return `${visiblePath(place)} is a ${thing(there.mode)} in ${visiblePath(theirs)}: your draft stands beside it`
}

const STAGES = [1, 2, 3] as const

async function marksIn(objects: Objects, oid: Oid, mark: number): Promise<number> {
  return marksLeft((await objects.read(oid))?.bytes?.toString('latin1') ?? '', mark)
}

async function fileOf(work: BranchWork, path: Path, clash: Clashing, side: WholeSide): Promise<DraftFile> {
  const { objects } = work.room
  const { mode, working } = clash
  const { base, theirs } = await entriesOf(work, path, clash)
  if (side === 'base') return base
  if (side === 'theirs') return work.drafts.files.has(path) ? work.drafts.files.get(path) : theirs
  if (side === 'ours' || !working) return draftFileOf(clash)
  const text = (working.bytes ?? (await objects.read(working.oid))?.bytes)?.toString('latin1') ?? ''
  const both = withBoth(text, working.mark)
  if (both === undefined) throw marksNotTogether(path)
  const merged = Buffer.from(both, 'latin1')
  return { mode, oid: oidOf(objects.repository.format, { type: 'blob', bytes: merged }), bytes: merged }
}
