/** Turns of an AI in a branch with a waiting merge: the request, and the result as drafts on the merge. */

import { Failure } from '../../../core/failure.ts'
import { mergeLines } from '../../../core/git/merges.ts'
import { type Objects, oidOf, writeBlob, writeObjects } from '../../../core/git/objects.ts'
import type { Entry, Oid } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import type { BranchWork, Deed } from '../branches/branch-work.ts'
import { mergeDrafts } from '../branches/draft-merges.ts'
import { type DraftFile, type Drafts, draftsOf, entryIn, entryInTip, isEmpty, noDrafts } from '../branches/drafts.ts'
import {
  type ByModel,
  type ConflictRow,
  makeMerging,
  readMerging,
  type StoredMerging,
} from '../branches/merging-commits.ts'
import { conflictsLeft, differsBeyondOne, pathNow } from '../merging/mergings.ts'
import type { Checkpoint } from './turn-checkpoints.ts'
import { keepWords, nameOf, renamesOf, sessionChanges, type TurnEnd } from './turn-ends.ts'

/** Whether a turn began in a waiting merge: it can then be kept only while that merge waits. */
export async function isInMerging(objects: Objects, { base }: Checkpoint): Promise<boolean> {
  return base !== undefined && (await readMerging(objects, base)) !== undefined
}

/**
 * Adds the changes of a turn and its conversation to the drafts of the waiting merge: they are committed when the merge
 * is finished. `isKept`: whether the turn was unfinished, and the user keeps it; an undo then lets it wait again.
 */
export async function settleByTurn(
  work: BranchWork,
  turn: Checkpoint,
  { checkpoints, over }: TurnEnd,
  isKept: boolean,
): Promise<void> {
  await work.inOneGo(
    async held => {
      const { objects } = work.room
      const { merging, name } = work
      const state = merging === undefined ? undefined : await readMerging(objects, merging)
      if (!state)
        throw new Failure(
          `What waited in ${visiblePath(name)} is over: what the AI did for it is kept until you choose.`,
        )
      // The operation's undo needs the drafts in the repository.
      await held.writeDrafts()
      const files = new Map(turn.files)
      for (const [path, change] of await sessionChanges(work, turn)) {
        if (!change || 'oid' in change) files.set(path, change)
        else files.set(path, draftOf(work, change))
      }
      for (const [path, file] of files) {
        const before = await entryInTip(objects, turn.base, path)
        if (before?.oid === file?.oid && before?.mode === file?.mode) files.delete(path)
      }
      const done = { ...draftsOf(turn.base, files), renames: await renamesOf(work.room, turn) }
      const isSame = work.tip === turn.base
      const drafts = isSame || isEmpty(done) ? done : await mergeDrafts(objects, noDrafts(turn.base), done, work.drafts)
      const by = { ...state.by }
      for (const row of state.rows) {
        const is = await entryIn(objects, drafts, await pathNow({ room: work.room, drafts }, row))
        const was = await entryIn(objects, work.drafts, await pathNow(work, row))
        if (was?.oid !== is?.oid) by[row.path] = await byTurn(turn, { work, state, row, drafts, was, is })
      }
      const { tree, ...rest } = state
      const next = makeMerging(objects.repository, { ...rest, by }, tree)
      await writeObjects(objects.repository, next.made)
      const settled = { merging: next.oid, drafts: { ...drafts, tip: next.oid } }
      const deed: Deed = isKept
        ? { kind: 'keep turn', words: keepWords(work, turn), also: [checkpoints.end] }
        : {
            kind: 'settle',
            words: `resolve conflicts in ${visiblePath(name)} with ${nameOf(turn.model)}`,
            unrecorded: [checkpoints.end],
          }
      await held.become(settled, deed)
      await over(held)
    },
    { isTurn: true, isMerging: true },
  )
}

/** A file in conflict that a turn has changed from `was` to `is`. `drafts`: those of `work` with the turn's files. */
type Changed = { work: BranchWork; state: StoredMerging; row: ConflictRow; drafts: Drafts; was: Entry; is: Entry }

/** What is known of the model of a turn in a file that the turn has changed. */
async function byTurn(turn: Checkpoint, { work, state, row, drafts, was, is }: Changed): Promise<ByModel> {
  const { room } = work
  const earlier = state.by[row.path]
  const [before, left, leftThen] = await Promise.all([
    withoutTurns(room.objects, earlier, was),
    conflictsLeft({ room, drafts }, state, row),
    conflictsLeft(work, state, row),
  ])
  const settled = Math.max(0, leftThen - left)
  const isUnasked = earlier?.isUnasked || (await hasDoneMore(turn, row, work, drafts))
  return {
    model: turn.model,
    ...(is && { oid: is.oid }),
    ...(before !== undefined && { before }),
    settled: Math.min(row.all, settled + (earlier ? (earlier.settled ?? row.all) : 0)),
    ...(isUnasked && { isUnasked }),
  }
}

/**
 * The content of a file without what the AI's turns have done to it: before the first one, with what was changed
 * between them. Undefined if it did not exist. `was`: the file before the last turn.
 */
async function withoutTurns(objects: Objects, earlier: ByModel | undefined, was: Entry): Promise<Oid | undefined> {
  if (earlier?.before === undefined || !was) return was?.oid
  if (earlier.oid === was.oid) return earlier.before
  const texts = [earlier.oid, earlier.before, was.oid].map(async oid => oid && (await objects.read(oid))?.bytes)
  const [made, before, now] = await Promise.all(texts)
  if (!made || !before || !now) return was.oid
  const merged = mergeLines(objects.repository, made, before, now, 'theirs').catch(error => {
    if (error instanceof GitError) return now
    throw error
  })
  return await writeBlob(objects.repository, await merged)
}

/**
 * Whether a turn that was asked to resolve conflicts has changed more of a file in conflict, which it has changed, than
 * that: also what the user had resolved in it.
 */
async function hasDoneMore({ asked }: Checkpoint, row: ConflictRow, work: BranchWork, drafts: Drafts) {
  if (!asked) return false
  if (!asked.paths.includes(row.path)) return true
  return asked.isOne && (await differsBeyondOne(work, { room: work.room, drafts }, row))
}

function draftOf({ room: { objects } }: BranchWork, { mode, bytes }: { mode: string; bytes: Uint8Array }): DraftFile {
  const content = Buffer.from(bytes)
  return { mode, oid: oidOf(objects.repository.format, { type: 'blob', bytes: content }), bytes: content }
}
