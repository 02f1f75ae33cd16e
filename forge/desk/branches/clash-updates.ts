/** The conflicts of drafts after a merge: ended where there is no choice left, with a new text where theirs changed. */
import type { Objects } from '../../../core/git/objects.ts'
import type { Path } from '../../../core/git/repository.ts'
import { baseWithMerged, marked, withoutMarkedText } from './clash-texts.ts'
import { type Clashing, type Drafts, draftFileOf, entryInTip } from './drafts.ts'
import { entryBeside, isDraftBeside } from './other-versions.ts'

/** Removes clashes that need no choice: the other version of the file equals the draft, or the draft's base. */
export async function withoutSettled(objects: Objects, drafts: Drafts): Promise<Drafts> {
  const files = new Map(drafts.files)
  const clashes = new Map<Path, Clashing>()
  for (const [path, clash] of drafts.clashes) {
    const { base, draft } = clash
    const isDraftElsewhere = files.has(path)
    const entry = isDraftElsewhere ? files.get(path) : await entryInTip(objects, drafts.tip, path)
    // Where theirs was chosen, an undo of what brought it needs the clash.
    const isChosen = clash.working?.unchosen !== undefined && clash.working.theirs === entry?.oid
    if (entry?.oid === draft && !isChosen) continue
    const isOnBase = !isDraftElsewhere && entry?.oid === base
    const typed = (isOnBase && (await withoutMarkedText(objects, clash))) || clash
    if (isOnBase && typed.base === base) files.set(path, draftFileOf(typed))
    else clashes.set(path, typed)
  }
  return { ...drafts, files, clashes }
}

/**
 * Gives each clash of text (a conflict of a draft) its text with conflict markers. The text that it has already is kept
 * if the other version is still the same. A clash without a conflict is an ordinary draft.
 */
export async function withMarks(objects: Objects, drafts: Drafts): Promise<Drafts> {
  const files = new Map(drafts.files)
  const clashes = new Map<Path, Clashing>()
  for (const [path, clash] of drafts.clashes) {
    const { working, ...plain } = clash
    const other = await entryBeside(objects, drafts, path)
    if (working !== undefined && working.theirs === other?.oid) {
      clashes.set(path, clash)
      continue
    }
    const base = working ? await baseWithMerged(objects, clash, working, 'theirs') : plain.base
    const theirs = (await isDraftBeside(objects, drafts, path)) ? 'other draft' : 'branch'
    const made = await marked(objects, { ...plain, base }, other, theirs)
    if (made.working?.left === 0) files.set(path, { mode: clash.mode, oid: made.working.oid })
    else clashes.set(path, { ...plain, base, ...made })
  }
  return { ...drafts, files, clashes }
}
