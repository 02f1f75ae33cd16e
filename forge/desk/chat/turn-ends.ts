/** Ends turns: as one commit, as drafts, or discarded; and undoes committed ones later. */
import { Failure } from '../../../core/failure.ts'
import { parseCommit } from '../../../core/git/commits.ts'
import { renamedFiles } from '../../../core/git/diffs.ts'
import { subjectOf } from '../../../core/git/history.ts'
import { mergeTrees } from '../../../core/git/merges.ts'
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { firstOf, visible, visiblePath } from '../../../core/text.ts'
import { cleanMessage } from '../../ai/commit-message.ts'
import { SESSION, type Session } from '../../ai/session.ts'
import { readSession, writeSession } from '../../ai/session-file.ts'
import type { Renamed } from '../../operations.ts'
import { commitTo } from '../branches/branch-commits.ts'
import type { BranchServices, BranchWork, HeldBranch } from '../branches/branch-work.ts'
import { mergeDrafts } from '../branches/draft-merges.ts'
import {
  asChanges,
  type DraftFile,
  type Drafts,
  draftsOf,
  entryInTip,
  filesBetween,
  isEmpty,
  noDrafts,
} from '../branches/drafts.ts'
import { attributesChange, isOfForge, withOwnFolder } from '../branches/forge-folder.ts'
import { messageFor, type SaveStep } from '../branches/save.ts'
import { modelTrailer } from '../reading/model-trailers.ts'
import type { Checkpoint, Checkpoints } from './turn-checkpoints.ts'

/**
 * The names of commit trailers: for the id of the turn that made the commit, and of the turn that the commit undoes.
 */
export const TURN = 'Forge-Turn'
export const UNDOES = 'Forge-Undoes'

/** At most this many files are named in a refusal. */
const MAX_NAMED_FILES = 3

/** What ends a turn, in the task of its branch that commits, keeps or discards it. */
export interface TurnEnd {
  checkpoints: Checkpoints
  /** Called last in that task, so that the next one, such as a save that waits behind it, finds the branch free. */
  over: (held: HeldBranch) => Promise<void>
}

/**
 * Commits a turn to its branch, code and conversation together. If the branch was moved meanwhile, the changes are
 * merged onto the new tip; if git can't do that alone, nothing is done, and the files in conflict are returned.
 */
export async function commitTurn(
  work: BranchWork,
  turn: Checkpoint,
  { checkpoints, over }: TurnEnd,
): Promise<{ commit: Oid } | { clashing: Path[] }> {
  return await work.inOneGo(
    async (held, signature) => {
      const code = await changesOnto(work, turn)
      if ('clashing' in code) return code
      const changes = new Map([...code.changes, ...(await sessionChanges(work, turn))])
      const message = `${await messageOf(work, turn)}\n\n${trailersOf(turn)}\n`
      const words = `turn of ${nameOf(turn.model)} in ${visiblePath(work.name)}: ${message.split('\n', 1)[0]}`
      const wanted = {
        kind: 'turn',
        words,
        message,
        changes,
        after: work.drafts,
        mayMeetDrafts: true,
        unrecorded: [checkpoints.end],
      }
      const commit = await commitTo(held, wanted, signature)
      // A turn's commit is never empty, since the conversation has grown.
      if (commit === undefined) throw new Error('A turn has changed nothing')
      await over(held)
      return { commit }
    },
    { isTurn: true },
  )
}

/** The changes of a turn on the branch's tip; or the files in conflict. */
async function changesOnto(
  { room: { objects }, tip }: BranchWork,
  { base, files }: Checkpoint,
): Promise<{ changes: Map<Path, TreeChange> } | { clashing: Path[] }> {
  if (tip === base || files.size === 0) return { changes: asChanges(files) }
  const start = base ?? emptyTree(objects.repository.format)
  const theirs = await writeTree(objects, start, asChanges(files))
  const ours = tip ?? emptyTree(objects.repository.format)
  const { tree, stages } = await mergeTrees(objects.repository, ours, theirs, { base: start, objects })
  if (stages.length > 0) return { clashing: [...new Set(stages.map(({ path }) => path))] }
  return { changes: asChanges(await filesBetween(objects, tip, tree)) }
}

/**
 * The files that a turn's commit has besides the code: the conversation, and the git attributes by which a merge keeps
 * each branch's own conversation.
 */
export async function sessionChanges(
  { room: { objects, writtenHere }, tip }: BranchWork,
  turn: Checkpoint,
): Promise<Map<Path, TreeChange>> {
  const bytes = writeSession(await sessionOnto(objects, tip, turn))
  await writtenHere.add(oidOf(objects.repository.format, { type: 'blob', bytes }))
  const changes = await attributesChange(objects, tip)
  return changes.set(SESSION, { mode: '100644', bytes })
}

/**
 * The conversation to commit: the turn's own, or, if the branch has got another one since, that with the turn appended.
 */
async function sessionOnto(objects: Objects, tip: Oid | undefined, turn: Checkpoint): Promise<Session> {
  const [before, now] = await Promise.all([turn.base, tip].map(commit => entryInTip(objects, commit, SESSION)))
  if (!now || now.oid === before?.oid) return turn.session
  const { session, unreadable } = readSession((await objects.read(now.oid))?.bytes)
  if (unreadable !== undefined) return turn.session
  const { opening: _, ...rest } = session
  const active_files = [...new Set([...session.active_files, ...turn.session.active_files])]
  return { ...rest, active_files, messages: [...session.messages, ...turn.session.messages.slice(turn.from)] }
}

const trailersOf = ({ model, turn }: Checkpoint): string => `${modelTrailer(model)}\n${TURN}: ${turn}`

/** The last part of a model's id. */
export const nameOf = (model: string): string => visible(model.slice(model.lastIndexOf('/') + 1))

/** The message of a turn's commit: the model's subject, else one made from the changes or the request. */
async function messageOf({ room: { objects } }: BranchWork, { session, turn, files, base }: Checkpoint) {
  const end = session.messages.findLast(entry => entry.kind === 'end' && entry.turn === turn)
  if (end?.kind === 'end' && end.message !== undefined) return end.message
  if (files.size > 0) return messageFor(await stepsIn(objects, base, files))
  return talkMessage({ session, turn })
}

/** The message of a commit that contains only the conversation of a turn. */
function talkMessage({ session, turn }: Pick<Checkpoint, 'session' | 'turn'>): string {
  const asked = session.messages.findLast(entry => entry.kind === 'user' && entry.turn === turn)
  return cleanMessage(`chat: ${asked?.kind === 'user' ? asked.text.trim().split('\n', 1)[0] : ''}`) ?? 'chat'
}

async function stepsIn(
  objects: Objects,
  base: Oid | undefined,
  files: ReadonlyMap<Path, DraftFile>,
): Promise<SaveStep[]> {
  const steps = [...files].map(async ([path, file]): Promise<SaveStep> => {
    if (!file) return { path, does: 'delete' }
    return { path, does: (await entryInTip(objects, base, path)) ? 'edit' : 'add' }
  })
  return await Promise.all(steps)
}

// --- Unfinished turns ---

/** The renames among the changes of a turn: those by its tools, and others as git detects them. */
export async function renamesOf({ objects }: BranchServices, turn: Checkpoint): Promise<Renamed[]> {
  const { base, renames } = turn
  const files = filesOf(turn, path => !isOfForge(path))
  if (base === undefined || ![...files.values()].includes(undefined)) return []
  const tree = await writeTree(objects, base, asChanges(files))
  const renamed = await renamedFiles(objects.repository, base, tree)
  const known = new Set(renames.flatMap(({ from, to }) => [from, to]))
  const others = [...renamed].filter(([from, to]) => !known.has(from) && !known.has(to))
  return [...renames, ...others.map(([from, to]) => ({ from, to }))]
}

/** Keeps an unfinished turn: commits its conversation, and turns its files into drafts. */
export async function keepTurn(work: BranchWork, turn: Checkpoint, { checkpoints, over }: TurnEnd): Promise<void> {
  await work.inOneGo(
    async (held, signature) => {
      const after = await draftsWith(work, { ...turn, files: filesOf(turn, path => !isOfForge(path)) })
      const changes = new Map([...(await ownChanges(work, turn)), ...(await sessionChanges(work, turn))])
      // The turn's files become drafts and are not in this commit, so the model's commit message does not describe it.
      const message = `${talkMessage(turn)}\n\n${trailersOf(turn)}\n`
      const words = keepWords(work, turn)
      const also = [checkpoints.end]
      await commitTo(held, { kind: 'keep turn', words, message, changes, after, also }, signature)
      await over(held)
    },
    { isTurn: true },
  )
}

/** The operation of keeping an unfinished turn, in words. */
export const keepWords = ({ name }: BranchWork, { model }: Checkpoint): string =>
  `keep what ${nameOf(model)} did in ${visiblePath(name)}`

const filesOf = ({ files }: Checkpoint, isWanted: (path: Path) => boolean): Map<Path, DraftFile> =>
  new Map([...files].filter(([path]) => isWanted(path)))

/**
 * Files that belong to the conversation, such as approvals: committed with it, unless another program has changed them.
 */
async function ownChanges({ room: { objects }, tip }: BranchWork, turn: Checkpoint): Promise<Map<Path, TreeChange>> {
  const own = asChanges(filesOf(turn, isOfForge))
  for (const path of own.keys()) {
    const [before, now] = await Promise.all([turn.base, tip].map(commit => entryInTip(objects, commit, path)))
    if (now?.oid !== before?.oid) own.delete(path)
  }
  return own
}

async function draftsWith(
  { room: { objects }, tip, drafts }: BranchWork,
  { base, files, renames }: Checkpoint,
): Promise<Drafts> {
  const done = { ...draftsOf(base, files), renames }
  if (tip === base && isEmpty(drafts)) return done
  return await mergeDrafts(objects, noDrafts(base), done, drafts)
}

/** Discards an unfinished turn. The operation can be undone: the turn then waits to be kept or discarded again. */
export async function discardTurn(work: BranchWork, turn: Checkpoint, { checkpoints, over }: TurnEnd): Promise<void> {
  await work.locked(async held => {
    const words = `discard what ${nameOf(turn.model)} did in ${visiblePath(work.name)}`
    await work.room.operations.record({ kind: 'discard turn', words, moves: [checkpoints.end] })
    await over(held)
  })
}

// --- Undo ---

/**
 * Undoes the changes of a turn's commit by a new commit on top of later ones. The conversation stays. Returns what was
 * done, in words. Throws a {@link Failure} if later work has changed the same lines.
 */
export async function reverseTurn(work: BranchWork, turn: string, commit: Oid): Promise<string> {
  return await work.inOneGo(async (held, signature) => {
    const { objects } = work.room
    const { tip } = work
    if (tip === undefined) throw new Failure(`There is no commit in ${visiblePath(work.name)} to be taken back.`)
    const { parent, subject } = await aboutCommit(objects, commit)
    const before = parent ?? emptyTree(objects.repository.format)
    const merge = await mergeTrees(objects.repository, tip, before, { base: commit, objects })
    const { tree, stages } = await withOwnFolder(objects, tip, merge)
    verifyNothingMeets(stages.map(({ path }) => path))
    const changes = asChanges(await filesBetween(objects, tip, tree))
    if (changes.size === 0) throw new Failure(await whyNothing(objects, commit, parent))
    const message = `${cleanMessage(`Undo: ${subject}`)}\n\n${UNDOES}: ${turn}\n`
    const words = `take back a turn in ${visiblePath(work.name)}: ${visible(subject)}`
    const wanted = { kind: 'undo turn', words, message, changes, after: work.drafts, mayMeetDrafts: true }
    const made = await commitTo(held, wanted, signature)
    if (made === undefined) throw new Error('A reversal has changed nothing')
    return words
  })
}

/** Why the reversal of a turn's commit would change nothing, as a sentence. */
async function whyNothing(objects: Objects, commit: Oid, parent: Oid | undefined): Promise<string> {
  const changed = [...(await filesBetween(objects, parent, commit)).keys()]
  return changed.every(isOfForge)
    ? 'The commit of this turn has only the conversation: there is nothing to undo in it.'
    : 'Nothing of this turn is left in the branch: there is nothing to undo.'
}

async function aboutCommit(objects: Objects, oid: Oid): Promise<{ parent: Oid | undefined; subject: string }> {
  const object = await objects.read(oid)
  if (object?.type !== 'commit' || !object.bytes) throw new Failure('The commit of this turn is not there any more.')
  const commit = parseCommit(object.bytes)
  return { parent: commit.parents[0], subject: subjectOf(commit) }
}

function verifyNothingMeets(paths: readonly Path[]): void {
  const met = [...new Set(paths)]
  if (met.length === 0) return
  const where = firstOf(met.map(visiblePath), MAX_NAMED_FILES)
  throw new Failure(
    `Later work has changed the same places in ${where}: nothing was undone. Undo that first, or ask for it in the chat.`,
  )
}
