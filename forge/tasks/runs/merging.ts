/**
 * A run that resolves a merge: its base is git's merge with its conflict markers, with both sides as parents. What comes
 * of it is landed as a merge commit.
 */
import { tmpdir } from 'node:os'
import { parseCommit } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { openScratch } from '../../../core/git/scratch.ts'
import { review } from '../../../core/review.ts'
import type { Oid } from '../contract.ts'

const TRAILER = 'Forge-Conflicts: unresolved'

/** The message of such a base. */
export const mergeMessage = (title: string): string => `${title}\n\n${TRAILER}\n`

/** The two sides of a merge: the branch's commit at the run's begin, and the commit that is merged into it. */
export type Sides = { ours: Oid; theirs: Oid }

/** What a run merges, as its base says; undefined for a run that resolves no merge. */
export async function mergedBy(objects: Objects, base: Oid): Promise<Sides | undefined> {
  const found = await objects.read(base)
  if (!found?.bytes) return undefined
  const { parents, message } = parseCommit(found.bytes)
  const [ours, theirs, ...more] = parents
  if (ours === undefined || theirs === undefined || more.length > 0) return undefined
  return message.toString().trimEnd().endsWith(`\n\n${TRAILER}`) ? { ours, theirs } : undefined
}

/** Judges a merge commit as Forklift's are. Gives the reasons against it, a sentence each. */
export async function judgeMerge(
  { repository }: Objects,
  { ours, theirs, result }: Sides & { result: Oid },
): Promise<string[]> {
  await using scratch = await openScratch({
    parent: tmpdir(),
    borrowed: [repository.objects],
    format: repository.format,
  })
  const { refusals } = await review(scratch, { origin: ours, start: ours, upstream: theirs, result })
  return refusals
}
