/** Carries out a plan on its branch: makes the commits, and moves all refs in one operation, or none. */

import { Failure } from '../../../core/failure.ts'
import { bytesOf, commit, identityLine, textOf } from '../../../core/git/commits.ts'
import { changedFiles } from '../../../core/git/diffs.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import { type Move, RefMoved } from '../../../core/git/refs.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { BranchWork, HeldBranch } from '../branches/branch-work.ts'
import { headRef } from '../branches/branches.ts'
import { mergeDrafts } from '../branches/draft-merges.ts'
import { withoutUnused } from '../branches/draft-renames.ts'
import { type DraftFile, type Drafts, filesBetween, noDrafts } from '../branches/drafts.ts'
import { isOfForge } from '../branches/forge-folder.ts'
import { type ConflictRow, makeMerging, namesIn, type StoredMerging } from '../branches/merging-commits.ts'
import type { CommitSignature } from '../branches/save.ts'
import { conflictRows } from '../conflicts/conflicts.ts'
import { verifyNotChosen, withTypedConflicts } from '../conflicts/typed-conflicts.ts'
import type { Planned, StepPlan, Stop } from './plan.ts'

/** Writes the commits of a chain, each on the one before; returns the last one. Throws the signal's reason. */
export async function writeChain(
  objects: Objects,
  onto: Oid | undefined,
  chain: readonly Planned[],
  signature: Promise<CommitSignature>,
  signal?: AbortSignal,
): Promise<Oid> {
  let tip = onto
  const made: NewObject[] = []
  for (const planned of chain) {
    signal?.throwIfAborted()
    if (planned.is === 'there') {
      tip = planned.commit
      continue
    }
    const bytes = await commitBytes(planned, tip, await signature)
    if (bytes) {
      const object: NewObject = { type: 'commit', bytes }
      made.push(object)
      tip = oidOf(objects.repository.format, object)
      continue
    }
    // Git signs, and reads the parents and the tree: they must be written before.
    await writeObjects(objects.repository, made.splice(0))
    tip = await signedCommit(objects, planned, tip)
  }
  await writeObjects(objects.repository, made)
  if (tip === undefined) throw new Error('A chain without commits leads nowhere')
  return tip
}

type NewPlanned = Extract<Planned, { is: 'new' }>

/** The bytes of a commit; undefined if it has to be signed. */
async function commitBytes(
  { tree, others, message, encoding, author }: NewPlanned,
  parent: Oid | undefined,
  signature: CommitSignature,
): Promise<Buffer | undefined> {
  if (signature.sign) return undefined
  const words = typeof message === 'string' ? asMessage(message) : message
  const who = author ? identityLine(author) : signature.author
  return bytesOf({ tree, parents: parentsOf(parent, others), message: words, encoding }, who, signature.committer)
}

const parentsOf = (first: Oid | undefined, others: readonly Oid[]): Oid[] =>
  first === undefined ? [...others] : [first, ...others]

/** Converts typed text to a commit message. */
function asMessage(text: string): string {
  if (text.includes('\0')) throw new Failure('A commit message can have no NUL character in it: take it out.')
  return `${text.trimEnd()}\n`
}

async function signedCommit(objects: Objects, planned: NewPlanned, parent: Oid | undefined): Promise<Oid> {
  const { tree, others, message, encoding, author } = planned
  // Git signs only UTF-8: a message in another encoding is converted.
  const text = typeof message === 'string' ? asMessage(message) : textOf(message, encoding)
  const { bytes: _, ...plain } = author ?? { name: '', email: '' }
  const who = author && { author: plain }
  return await commit(objects, { tree, parents: parentsOf(parent, others), message: text, ...who, sign: true })
}

/**
 * The move of a branch to a commit: its operation, and refs that move with it. `settled`: the drafts of a waiting merge
 * that the commit contains; edits typed after them stay drafts.
 */
export type Arrival = { kind: string; does: string; to: Oid; also?: readonly Move[]; settled?: Drafts }

/** Moves a branch to an existing commit, in one operation. The branch's drafts are merged onto the commit. */
export async function arrive(held: HeldBranch, { kind, does, to, also = [], settled }: Arrival): Promise<void> {
  const { work } = held
  const { objects, say } = work.room
  // The undo of the end of a merge needs the newest edits in the repository: it merges what is typed later with these.
  if (settled) await held.writeDrafts()
  // Drafts whose edits the new commit contains are dropped; the others stay drafts.
  const drafts = await mergeDrafts(objects, settled ?? noDrafts(work.tip), work.drafts, noDrafts(to))
  await held.become({ head: to, merging: null, drafts }, { kind, words: does, also })
  say({ say: 'repository' })
}

/**
 * A merge that waits in a branch until its conflicts are resolved: the conflict where it stopped, and the branch's
 * commit.
 */
export type WaitingMerge = {
  stop: Stop
  ours: Oid
  kind: string
  does: string
  also?: readonly Move[]
  forklift?: StoredMerging['forklift']
  /**
   * Where a rebase or cherry-pick stops again: the resolutions that were just committed, so that only edits typed after
   * them stay drafts. By default, the branch's drafts.
   */
  settled?: Drafts
  /** A commit or tree with resolutions, which become drafts. */
  result?: Oid | undefined
  /** The model that made the resolutions in `result`. */
  by?: string | undefined
  /** What is known of the resolutions in `result` if they come from an earlier merge of the same two branches. */
  carried?: Pick<StoredMerging, 'kept' | 'by'>
  /** The conflicts of the merge, and its tree with markers. By default, those that git finds. */
  marked?: Awaited<ReturnType<typeof conflictRows>>
  /** Whether the operation creates the branch at `ours`. */
  isNew?: boolean
}

/** Makes a merge wait in a branch for the user: writes its conflicts, and does not move the branch. */
export async function waitForPerson(
  held: HeldBranch,
  { stop, ours, kind, does, also = [], settled = held.work.drafts, ...more }: WaitingMerge,
): Promise<void> {
  const { work } = held
  const { objects, say } = work.room
  const { forklift, result, by, carried, marked, isNew = false } = more
  if (isNew && !work.isGone) throw new RefMoved(headRef(work.name), undefined, work.head)
  const head = isNew ? ours : work.head
  if (head === undefined) throw new Error('A branch without a commit has nothing to merge into')
  verifyNothingTyped(work)
  // As in `arrive`.
  await held.writeDrafts()
  const { merge, words, theirs, state } = stop
  const found = marked ?? (await conflictRows(objects, merge, { ours: stop.ours, theirs, words }))
  const files = result === undefined ? new Map<Path, DraftFile>() : await filesBetween(objects, found.tree, result)
  for (const path of files.keys()) if (isOfForge(path)) files.delete(path)
  // A name that was chosen in an earlier merge of the same branches is a rename.
  const resolved = withoutUnused({ ...noDrafts(found.tree), files, renames: settled.renames })
  // Edits made while a commit waited for its signature are in the drafts, and not in what is resolved.
  const merged = await mergeDrafts(objects, settled, work.drafts, resolved)
  verifyNotChosen(found.rows, merged, files, words.ours)
  const { rows, tree, drafts } = await withTypedConflicts(objects, { ...found, drafts: merged }, words.ours)
  const inConflict = new Set(rows.flatMap(row => row.paths))
  const changed = await changedFiles(objects.repository, stop.ours, merge.tree)
  const byGit = changed.filter(paths => !paths.some(path => inConflict.has(path))).length
  const byModel = by === undefined ? [] : rows.filter(({ path }) => files.has(path))
  const waiting = makeMerging(
    objects.repository,
    {
      ...state,
      ...{ ours: words.ours, theirs: words.theirs, isOurs: words.ours === work.name },
      ...{ oursCommit: ours, theirsCommit: theirs, from: head },
      ...{ rows, byGit, kept: carried?.kept ?? keptIn(rows, files) },
      by:
        carried?.by ??
        Object.fromEntries(byModel.map(({ path }) => [path, { model: by ?? '', oid: files.get(path)?.oid }])),
      ...(forklift && { forklift }),
    },
    tree,
  )
  await writeObjects(objects.repository, waiting.made)
  const next = { ...(isNew && { head }), merging: waiting.oid, drafts: { ...drafts, tip: waiting.oid } }
  await held.become(next, { kind, words: does, also })
  say({ say: 'repository' })
}

/** The files that both sides renamed of which a result has another text under our name alone: that name is chosen. */
function keptIn(rows: readonly ConflictRow[], files: ReadonlyMap<Path, DraftFile>): Path[] {
  return rows.flatMap(row => {
    const names = namesIn(row)
    return names && files.get(names.ours) && !files.has(names.theirs) ? [row.path] : []
  })
}

/** Throws if there are unsaved edits, which would be mixed with resolutions. */
function verifyNothingTyped({ name, merging, draftPaths }: BranchWork): void {
  if (merging !== undefined || draftPaths.length === 0) return
  const files = draftPaths.length <= 2 ? draftPaths.map(visiblePath).join(' and ') : many(draftPaths.length, 'file')
  throw new Failure(
    `This has conflicts, and what was typed in ${files} in ${visiblePath(name)} is not saved: save or discard it first.`,
  )
}

/** Carries out a plan, unless the signal stops it before a ref has moved. Returns the branch's new commit. */
export async function carryOutStep(
  held: HeldBranch,
  { onto, chain, stop, kind, does, also }: StepPlan,
  signature: Promise<CommitSignature>,
  signal: AbortSignal,
): Promise<Oid> {
  const { work } = held
  if (stop) verifyNothingTyped(work)
  const tip = await held.unlocked(() => writeChain(work.room.objects, onto, chain, signature, signal))
  // From here on the step can't be stopped.
  signal.throwIfAborted()
  if (stop) await waitForPerson(held, { stop, ours: tip, kind: `begin ${kind}`, does: `begin to ${does}` })
  else await arrive(held, { kind, does, to: tip, also })
  return tip
}
