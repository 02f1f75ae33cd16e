/**
 * Files of a branch that were changed in two ways that can't be merged, until a person has chosen: what that means
 * stands in draft-merges.ts.
 */
import { Failure } from '../../../core/failure.ts'
import { oidOf } from '../../../core/git/objects.ts'
import type { Entry, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Clash, ClashSide } from '../contract/branches.ts'
import { readContent, sideOf } from '../reading/file-content.ts'
import { decodeText, encode, NEW_FORM } from '../reading/text.ts'
import type { BranchWork } from './branch-work.ts'
import { type Clashing, type DraftFile, entryInTip, entryOf } from './drafts.ts'

/** The kind of operation by which a person chooses. */
export const SETTLE = 'choose'

export async function clashesOf(work: BranchWork): Promise<Clash[]> {
  return await work.brieflyLocked(async held => {
    await held.collect()
    return await Promise.all([...work.drafts.clashes].map(([path, clash]) => sidesOf(work, path, clash)))
  })
}

async function sidesOf(work: BranchWork, path: Path, { mode, base, draft, bytes }: Clashing): Promise<Clash> {
  const { objects } = work.room
  const side = async (entry: Entry, what: string): Promise<ClashSide> =>
    entry ? await sideOf(objects, path, entry) : { what }
  const typed = bytes && decodeText(bytes)?.text
  return {
    path,
    base: await side(base === undefined ? undefined : { mode, oid: base }, 'There was no such file.'),
    draft: typed ?? (await side({ mode, oid: draft }, '')),
    tip: await side(await entryBeside(work, path), 'The file was deleted.'),
    choice: await choiceIn(work, path),
  }
}

/** Names the texts that a choice is about. */
async function choiceIn(work: BranchWork, path: Path): Promise<string> {
  const { base, draft } = work.drafts.clashes.get(path) ?? {}
  return [base, draft, (await entryBeside(work, path))?.oid].map(oid => oid ?? 'none').join(' ')
}

/** The other end of a clash: what the file is in the branch, or in the drafts of another desk. */
async function entryBeside({ drafts: { tip, files }, room }: BranchWork, path: Path): Promise<Entry> {
  if (files.has(path)) return entryOf(files.get(path))
  return await entryInTip(room.objects, tip, path)
}

/** Takes a text for a file that clashed: it is an ordinary draft from then on. */
export async function settle(work: BranchWork, path: Path, text: string, choice?: string): Promise<void> {
  if (!text.isWellFormed() || text.includes('\0')) throw new Failure('That is no text that can be written to a file.')
  await settleAs(work, { path, choice, what: 'what becomes of' }, async ({ mode, draft, bytes: typed }) => {
    const { objects } = work.room
    const old = typed ?? (await readContent(objects, { mode, oid: draft }))?.bytes
    const bytes = encode(text, (old && decodeText(old)) ?? NEW_FORM)
    return { mode, oid: oidOf(objects.repository.format, { type: 'blob', bytes }), bytes }
  })
}

/** Takes one side of a file that clashed, byte by byte: the draft is an ordinary one then, or there is none. */
export async function takeSide(work: BranchWork, path: Path, side: 'draft' | 'tip', choice?: string): Promise<void> {
  const what = side === 'draft' ? 'what was typed in' : 'what the branch has of'
  await settleAs(work, { path, choice, what }, async ({ mode, draft, bytes }) => {
    const { files } = work.drafts
    if (side === 'tip') return files.has(path) ? files.get(path) : await entryInTip(work.room.objects, work.tip, path)
    return { mode, oid: draft, ...(bytes && { bytes }) }
  })
}

/** What is chosen: a file, what it becomes in words, and which choice it was that the person has seen. */
type Chosen = { path: Path; what: string; choice: string | undefined }

/**
 * As an operation, which keeps both ends: that of a draft is nowhere else. Throws a {@link Failure} where there is
 * nothing to choose any more, or where one of the ends is not what it was when the person chose.
 */
async function settleAs(
  work: BranchWork,
  { path, what, choice }: Chosen,
  choose: (clash: Clashing) => Promise<DraftFile>,
): Promise<void> {
  const { objects } = work.room
  await work.locked(async held => {
    work.verifyFree()
    await held.collect()
    const seen = choice ?? (await choiceIn(work, path))
    await held.again(async () => {
      // What the operation is to bring back has to be in the repository.
      await held.writeDrafts()
      const clash = work.drafts.clashes.get(path)
      if (!clash) throw new Failure(`There is nothing left to choose in ${visiblePath(path)}.`)
      if ((await choiceIn(work, path)) !== seen)
        throw new Failure(`${visiblePath(path)} has changed again meanwhile: look at both ends of it, and choose anew.`)
      const file = await choose(clash)
      const before = await entryInTip(objects, work.tip, path)
      const files = new Map(work.drafts.files)
      if (before?.oid === file?.oid && before?.mode === file?.mode) files.delete(path)
      else files.set(path, file)
      const clashes = new Map(work.drafts.clashes)
      clashes.delete(path)
      const words = `choose ${what} ${visiblePath(path)} in ${visiblePath(work.name)}`
      await held.become({ drafts: { ...work.drafts, files, clashes } }, { kind: SETTLE, words })
    })
  })
}
