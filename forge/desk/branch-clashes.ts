/** Files of a branch that were changed in two ways that can't be merged, until a person has chosen what they shall be. */
import { Failure } from '../../core/failure.ts'
import { oidOf } from '../../core/git/objects.ts'
import type { Entry, Path } from '../../core/git/repository.ts'
import { visiblePath } from '../../core/text.ts'
import type { BranchWork } from './branch-work.ts'
import { entryInTip, entryOf } from './drafts.ts'
import { readContent, textAt } from './file-content.ts'
import type { Clash } from './messages.ts'
import { decode, encode, NEW_FORM } from './text.ts'

export async function clashesOf(work: BranchWork): Promise<Clash[]> {
  return await work.locked(async () => {
    await work.collect()
    const { objects } = work.room
    const all = [...work.drafts.clashes].map(async ([path, { mode, base, draft, bytes }]) => {
      const now = await entryBeside(work, path)
      const texts = await Promise.all([base, draft, now?.oid].map(oid => oid && textAt(objects, path, { mode, oid })))
      const [baseText = '', draftText = '', tipText = ''] = texts
      return { path, base: baseText, draft: (bytes && decode(bytes)?.text) ?? draftText, tip: tipText }
    })
    return await Promise.all(all)
  })
}

/** The other end of a clash: what the file is in the branch, or in the drafts of another desk. */
async function entryBeside({ drafts: { tip, files }, room }: BranchWork, path: Path): Promise<Entry> {
  if (files.has(path)) return entryOf(files.get(path))
  return await entryInTip(room.objects, tip, path)
}

/** Takes a text for a file that clashed: it is an ordinary draft from then on. */
export async function settle(work: BranchWork, path: Path, text: string): Promise<void> {
  await work.locked(async () => {
    work.verifyFree()
    await work.collect()
    const { objects } = work.room
    const clash = work.drafts.clashes.get(path)
    if (!clash) throw new Failure(`There is nothing left to choose in ${visiblePath(path)}.`)
    if (!text.isWellFormed() || text.includes('\0')) throw new Failure('That is no text that can be written to a file.')
    const { mode } = clash
    const old = clash.bytes ?? (await readContent(objects, { mode, oid: clash.draft }))?.bytes
    const bytes = encode(text, (old && decode(old)) ?? NEW_FORM)
    const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
    const before = await entryInTip(objects, work.tip, path)
    const files = new Map(work.drafts.files)
    if (before?.oid === oid) files.delete(path)
    else files.set(path, { mode, oid, bytes })
    const clashes = new Map(work.drafts.clashes)
    clashes.delete(path)
    await work.become({ ...work.drafts, files, clashes })
    work.writeNow()
  })
}
