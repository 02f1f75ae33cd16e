/** The version of a file that its draft conflicts with. */
import type { Objects } from '../../../core/git/objects.ts'
import type { Entry, Path } from '../../../core/git/repository.ts'
import { originsIn } from './draft-renames.ts'
import { type Drafts, entryInTip, entryOf } from './drafts.ts'

/** The version of a file that conflicts with its draft: that of the branch, or of another desk's drafts. */
export async function entryBeside(objects: Objects, { tip, files }: Drafts, path: Path): Promise<Entry> {
  if (files.has(path)) return entryOf(files.get(path))
  return await entryInTip(objects, tip, path)
}

/**
 * Whether the version of a file that conflicts with its draft is a draft, too. A file that the drafts rename has the
 * branch's version, until it is resolved, under its new name.
 */
export async function isDraftBeside(objects: Objects, drafts: Drafts, path: Path): Promise<boolean> {
  if (!drafts.files.has(path)) return false
  const origin = originsIn(drafts).get(path)
  if (origin === undefined) return true
  const there = await entryInTip(objects, drafts.tip, origin)
  return there?.oid !== entryOf(drafts.files.get(path))?.oid
}
