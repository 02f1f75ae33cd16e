/**
 * Drafts that do not fit what has become of their branch (branches/draft-merges.ts), as the conflicts of a merge: one
 * row a file, with the sides that it has, and the whole of a side to be taken. A text is settled in its editor, and is
 * an ordinary draft once no conflict is left in it. The branch itself goes on: other files are typed in and saved.
 */
import { Failure } from '../../../core/failure.ts'
import { marksLeft, withBoth } from '../../../core/git/conflict-marks.ts'
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { BranchWork } from '../branches/branch-work.ts'
import { entryBeside } from '../branches/draft-merges.ts'
import { type Clashing, type DraftFile, entryInTip, isOpen } from '../branches/drafts.ts'
import { SETTLE } from '../branches/undo.ts'
import type { ConflictFile, Merging, MergingFile, WholeSide } from '../contract/merging.ts'
import { decodeText } from '../reading/text.ts'
import { sideOf, wordsFor } from './conflicts.ts'
import type { MergingKind } from './merging-commits.ts'

/** How the draft is called beside the branch. */
const DRAFT = 'your draft'

/** The files of a branch whose drafts are in conflict with it; undefined where none is. */
export async function draftConflictsIn(work: BranchWork): Promise<Merging | undefined> {
  return await work.brieflyLocked(async held => {
    await held.collect()
    const { drafts, tip, name } = work
    if (drafts.clashes.size === 0 || tip === undefined) return undefined
    return {
      kind: 'drafts' as const,
      ...{ ours: DRAFT, theirs: name, oursCommit: work.moved?.from ?? tip, theirsCommit: tip },
      files: await Promise.all([...drafts.clashes].map(([path, clash]) => rowOf(work, path, clash))),
      ...{ byGit: 0, message: '', odd: [] },
    }
  })
}

/** A file of them, with its sides. */
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
    ...{ path, kind, words: words ?? '', base: base ?? nothing, ours, theirs: theirs ?? nothing },
    ...(working && { mark: working.mark, marked }),
  }
}

/** The whole file becomes what one side has there, or of a text that of both in each conflict that is left. */
export async function takeDraftSide(work: BranchWork, path: Path, side: WholeSide): Promise<void> {
  const { objects } = work.room
  await work.locked(async held => {
    work.verifyFree()
    await held.collect()
    await held.again(async () => {
      // What the operation is to bring back has to be in the repository: the draft is nowhere else.
      await held.writeDrafts()
      const clash = clashAt(work, path)
      const file = await fileOf(work, path, clash, side)
      const before = await entryInTip(objects, work.tip, path)
      const files = new Map(work.drafts.files)
      if (before?.oid === file?.oid && before?.mode === file?.mode) files.delete(path)
      else files.set(path, file)
      const clashes = new Map(work.drafts.clashes)
      clashes.delete(path)
      const words = `resolve ${visiblePath(path)} in ${visiblePath(work.name)} by ${WORDS[side]}`
      await held.become({ drafts: { ...work.drafts, files, clashes } }, { kind: SETTLE, words })
    })
  })
}

const WORDS: Record<WholeSide, string> = { ours: DRAFT, theirs: 'the branch', base: 'the base', both: 'both sides' }

function clashAt({ drafts }: BranchWork, path: Path): Clashing {
  const clash = drafts.clashes.get(path)
  if (clash) return clash
  throw new Failure(`${visiblePath(path)} is in no conflict.`)
}

async function entriesOf({ room, drafts }: BranchWork, path: Path, { mode, base, draft }: Clashing) {
  const theirs: Entry = await entryBeside(room.objects, drafts, path)
  return { base: base === undefined ? undefined : { mode, oid: base }, ours: { mode, oid: draft }, theirs }
}

async function rowOf(work: BranchWork, path: Path, clash: Clashing): Promise<MergingFile> {
  const { working } = clash
  const { base, ours, theirs } = await entriesOf(work, path, clash)
  const kind: MergingKind = working ? 'text' : theirs ? 'binary' : 'modify/delete'
  const stages = ([base, ours, theirs] as const).flatMap((entry, at) =>
    entry ? [{ ...entry, path, stage: STAGES[at] ?? 1 }] : [],
  )
  const words = wordsFor({ kind, stages }, { ours: DRAFT, theirs: work.name })
  const left = working?.left ?? 1
  const all = working ? await marksIn(work.room.objects, working.marked, working.mark) : 1
  return { path, kind, all, left, words, state: isOpen(clash) ? 'open' : 'settled' }
}

const STAGES = [1, 2, 3] as const

async function marksIn(objects: Objects, oid: Oid, mark: number): Promise<number> {
  return marksLeft((await objects.read(oid))?.bytes?.toString('latin1') ?? '', mark)
}

async function fileOf(work: BranchWork, path: Path, clash: Clashing, side: WholeSide): Promise<DraftFile> {
  const { objects } = work.room
  const { mode, draft, bytes, working } = clash
  const { base, theirs } = await entriesOf(work, path, clash)
  if (side === 'base') return base
  if (side === 'theirs') return work.drafts.files.has(path) ? work.drafts.files.get(path) : theirs
  if (side === 'ours' || !working) return { mode, oid: draft, ...(bytes && { bytes }) }
  const text = (working.bytes ?? (await objects.read(working.oid))?.bytes)?.toString('latin1') ?? ''
  const both = withBoth(text, working.mark)
  if (both === undefined)
    throw new Failure(`The marks in ${visiblePath(path)} do not belong together: mend them in the editor.`)
  const merged = Buffer.from(both, 'latin1')
  return { mode, oid: oidOf(objects.repository.format, { type: 'blob', bytes: merged }), bytes: merged }
}
