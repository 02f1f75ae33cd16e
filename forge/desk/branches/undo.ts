/** Undo and redo: all refs of an operation move back together, with the drafts of their branches. */

import { Failure } from '../../../core/failure.ts'
import { countOnRemotes, isPushed } from '../../../core/git/commits.ts'
import { isFolderOfOther } from '../../../core/git/patience.ts'
import { RefMoved, type RefName } from '../../../core/git/refs.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { STASH } from '../../../core/git/stash.ts'
import { firstOf, many, visible, visiblePath } from '../../../core/text.ts'
import { PUT_ASIDE, type Recorded } from '../../operations.ts'
import type { Operation, Reversed } from '../contract/branches.ts'
import { branchOfWork, DRAFTS, draftsRef, MERGING, mergingRef, OWN_REFS, TURNS, turnRef } from '../refs.ts'
import { branchNames, type How, moveBranch, NEW_BRANCH, verifyNotCheckedOut } from './branch-operations.ts'
import {
  DRAFTS_ELSEWHERE,
  DRAFTS_ONTO,
  draftsMovedBy,
  reverseDraftsElsewhere,
  reverseSaveElsewhere,
  SAVE_ELSEWHERE,
} from './branch-split.ts'
import { prepare } from './branch-undo.ts'
import { reverseUpstream } from './branch-upstream.ts'
import { becomeTogether, type HeldBranch, type Next } from './branch-work.ts'
import { branchOfRef, HEADS, headRef, tipsBelow } from './branches.ts'
import { type Drafts, missingIn } from './drafts.ts'
import { COPY, DELETE, NEW_FILE, RESTORE } from './file-operations.ts'
import { LINE_ENDS } from './line-ends.ts'
import { MODE } from './modes.ts'
import { branchNameOf, heldIn, lockedAll, nameOfRef, type OpenBranches, renamedBy } from './open-branches.ts'
import { DROP_STASH, reverseDrop } from './stash-drops.ts'

/**
 * Whether an undo is refused if the ref has moved since. Drafts and waiting merges may have changed. The ref of the
 * stashes names the newest one, whichever was dropped.
 */
const isHeld = ({ ref }: { ref: RefName }): boolean =>
  !ref.startsWith(DRAFTS) && !ref.startsWith(MERGING) && ref !== STASH

/** At most this many tries while another desk writes drafts. */
const MAX_TRIES = 10

/** Among this many of the newest operations, the one that moved a branch last is looked for. */
const RECENT_OPERATIONS = 200

/**
 * Undoes an operation, or redoes one that was undone: all its refs move, or none if one has moved since. This is an
 * operation itself.
 */
export async function reverse(branches: OpenBranches, operation: Recorded): Promise<Reversed> {
  const { original, how } = await whatReverses(branches, operation)
  const heads = operation.refs.filter(isHead)
  await verifyPossible(branches, operation)
  let [lost, gone]: [Path[], FilesGone[]] = [[], []]
  let stash: string | undefined
  const rename = renameBack(operation, original)
  if (rename) await moveBranch(branches, rename.from, rename.to, how)
  else if (original.kind === DROP_STASH) stash = await reverseDrop(branches, operation, how)
  else if (operation.upstream) await reverseUpstream(branches, operation, how)
  else if (original.kind === SAVE_ELSEWHERE) await reverseSaveElsewhere(branches, operation, how)
  else if (original.kind === DRAFTS_ELSEWHERE) await reverseDraftsElsewhere(branches, original, how)
  else [lost, gone] = await moveBack(branches, operation, original, how)
  const { say } = branches.room
  // First those tabs are opened again that the operation has closed.
  say({ say: 'undone', operation: original.id })
  for (const it of gone) say({ say: 'files gone', ...it, operation: original.id })
  const stays = await whatStays(branches, heads, original, how.kind)
  const moved = draftsMovedBy(original)
  const deleted = rename || isFirst(original) ? [] : heads.filter(({ before }) => before === undefined)
  return {
    words: [
      how.words,
      ...(stash === undefined ? [] : [stash]),
      ...whatWaits(operation),
      ...whatGoes(lost),
      ...stays,
    ].join('; '),
    refs: operation.refs.map(({ ref }) => ref),
    of: original.id,
    ...(moved && { moved: how.kind === 'redo' ? moved : { from: moved.to, to: moved.from } }),
    ...(deleted.length > 0 && { deleted: deleted.map(({ ref }) => branchOfRef(ref)) }),
  }
}

/**
 * Why {@link reverse} would refuse an operation now, in its words; undefined if nothing is known to be in the way.
 * Nothing is undone, but what is typed in the branches is written as drafts.
 */
export async function whyNotReversed(branches: OpenBranches, operation: Recorded): Promise<string | undefined> {
  try {
    const { original, how } = await whatReverses(branches, operation)
    await verifyPossible(branches, operation)
    const isOther = [DROP_STASH, SAVE_ELSEWHERE, DRAFTS_ELSEWHERE].includes(original.kind) || operation.upstream
    if (!isOther && !renameBack(operation, original)) await moveBack(branches, operation, original, how, true)
    return undefined
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}

/**
 * The operation that reverses one, and the original: of an undo, the operation that it is about. Undoing an undo redoes
 * the original, and is undone like the original.
 */
async function whatReverses(
  { room: { operations } }: OpenBranches,
  operation: Recorded,
): Promise<{ original: Recorded; how: How & { kind: 'undo' | 'redo' } }> {
  const original = operation.of === undefined ? operation : await operations.find(operation.of)
  if (!original) throw new Failure('The operation that this one was about is not there any more.')
  const kind = operation.kind === 'undo' ? 'redo' : 'undo'
  return { original, how: { kind, words: `${kind}: ${original.words}`, of: original.id } }
}

/** The rename that undoes the rename of a branch; undefined for any other operation. */
function renameBack({ refs }: Recorded, original: Operation): { from: string; to: string } | undefined {
  const heads = refs.filter(isHead)
  const [made, gone] = [heads.filter(({ before }) => !before), heads.filter(({ after }) => !after)]
  if (original.kind !== 'rename branch' || made.length !== 1 || gone.length !== 1) return undefined
  return { from: branchOfRef(made[0]?.ref ?? ''), to: branchOfRef(gone[0]?.ref ?? '') }
}

/** Throws if a ref has moved since an operation, or what it put aside can't be given back now. */
async function verifyPossible(branches: OpenBranches, operation: Recorded): Promise<void> {
  await verifyUnmoved(branches, operation.refs)
  if (operation.kind !== PUT_ASIDE) return
  const blocked = await whatBlocks(branches, operation, await namesOf(branches))
  if (blocked !== undefined) throw new Failure(`${blocked} Nothing was undone.`)
}

/** A sentence for each branch in which a merge waits again, since its end was undone. */
const whatWaits = ({ refs }: Recorded): string[] =>
  refs.flatMap(({ ref, before, after }) =>
    ref.startsWith(MERGING) && before !== undefined && after === undefined
      ? [`its conflicts wait in ${visiblePath(ref.slice(MERGING.length))} again`]
      : [],
  )

/** At most this many files are named in a notice. */
const MAX_NAMED_FILES = 5

/** A sentence about files of which something that was typed or resolved is not there after an undo. */
function whatGoes(lost: readonly Path[]): string[] {
  if (lost.length === 0) return []
  const files = firstOf(lost.map(visiblePath), MAX_NAMED_FILES)
  return [`what was resolved or typed in ${files} goes with it, and comes back by Redo`]
}

/**
 * A sentence about undone commits that a push of the branch has brought to a remote, which stay there. If the branch
 * was not pushed since the operation, its commits there are those of others that a pull, merge or rebase brought: the
 * branch is behind again, and a forced push would drop them.
 */
async function whatStays(
  { room }: OpenBranches,
  heads: Operation['refs'],
  original: Pick<Operation, 'kind'>,
  kind: 'undo' | 'redo',
): Promise<string[]> {
  const said: string[] = []
  const { repository } = room.objects
  for (const { ref, before, after } of heads) {
    if (before === undefined || after === undefined) continue
    const { pushed: count } = await countOnRemotes(repository, ref, [before], after)
    const [are, stay] = count === 1 ? ['is', 'stays'] : ['are', 'stay']
    if (count === 0) continue
    const name = nameOfRef(ref)
    const there = `${many(count, 'commit')} of it ${are} on a remote already and ${stay} there`
    const isForced = kind === 'redo' || (original.kind !== 'pull' && (await isPushed(repository, ref, after)))
    said.push(
      isForced
        ? `${there}: a push of ${name} has to be forced now`
        : `${name} is ${many(count, 'commit')} behind the remote again`,
    )
  }
  return said
}

/** The names of the branches, and of those with drafts. */
type Names = { heads: readonly string[]; drafts: readonly string[] }

async function namesOf(branches: OpenBranches): Promise<Names> {
  const drafts = await tipsBelow(branches.room.objects.repository, DRAFTS)
  return { heads: await branchNames(branches), drafts: [...drafts.keys()] }
}

/** Why drafts that were put aside can't be given back now, and what to do first; undefined if they can be. */
async function whatBlocks(
  branches: OpenBranches,
  { refs }: Operation,
  { heads, drafts }: Names,
): Promise<string | undefined> {
  const what = refs.some(({ ref }) => ref.startsWith(MERGING)) ? 'what waits' : 'what was typed'
  for (const { ref } of refs) {
    // If the branch was renamed, its drafts become those of its new name.
    const name = await branches.nameNow(branchOfWork(ref))
    const other = [...heads, ...drafts].find(it => isFolderOfOther(it, name))
    if (other === undefined) continue
    const [gone, there] = [visiblePath(name), visiblePath(other)]
    return heads.includes(other)
      ? `Git can’t keep ${what} in ${gone} beside the branch ${there}: rename ${there} first.`
      : `Git can’t keep ${what} in ${gone} beside the drafts of ${there}: restore and rename ${there} first.`
  }
  return undefined
}

/** A ref that is not where an operation left it, with what it named after that and what it names now. */
type MovedRef = { ref: RefName; after: Oid | undefined; now: Oid | undefined }

/** The refs that are not where an operation left them: its undo is refused. */
export async function refsMovedSince({ room: { objects } }: OpenBranches, all: Operation['refs']) {
  const refs = all.filter(isHeld)
  const infos = await Promise.all(refs.map(({ ref }) => objects.info(ref)))
  return refs.flatMap(({ ref, after }, at): MovedRef[] => {
    const now = infos[at]?.oid
    return now === after ? [] : [{ ref, after, now }]
  })
}

/** Throws if a branch is not where the operation left it. Drafts may have changed: they are merged. */
async function verifyUnmoved(branches: OpenBranches, all: Operation['refs']): Promise<void> {
  const moved = await refsMovedSince(branches, all)
  if (moved.length === 0) return
  const recent = await branches.room.operations.list(0, RECENT_OPERATIONS)
  throw new Failure(refusalOf(whatMoved(moved, recent)))
}

/** What prevents an undo, as part of a sentence, and what to do first. */
type Obstacle = { words: string; next: string }

const refusalOf = ({ words, next }: Obstacle): string => `${words}: nothing was undone. ${next}`

const otherTurn = (branch: string): Obstacle => ({
  words: `There is another turn of the AI in ${visiblePath(branch)}`,
  next: 'Wait until it has ended, or keep or discard it first.',
})

/** The refusal of an undo because of another turn of the branch's AI; windows show it until that turn is over. */
export const whyTurnPreventsUndo = (branch: string): string => refusalOf(otherTurn(branch))

/**
 * Lists `count` of the newest operations after the first `from`, each with whether it can be undone, as far as the refs
 * say. An operation can't be undone if a later one has undone or redone it; for the other reasons see {@link whyNot}.
 */
export async function shownOperations(branches: OpenBranches, from: number, count: number): Promise<Operation[]> {
  const { operations } = branches.room
  const all: Operation[] = await operations.list(0, from + count)
  const newest = new Map<Oid, Oid>()
  for (const { id, of } of all) if (!newest.has(of ?? id)) newest.set(of ?? id, id)
  const isPast = ({ id, of }: Operation) => newest.get(of ?? id) !== id
  const state = await stateFor(branches, all)
  const endedMerges = new Set<RefName>()
  const shown: Operation[] = []
  for (const operation of all) {
    if (isPast(operation)) {
      shown.push({ ...operation, isPast: true })
      continue
    }
    const inTheWay = whyNot(operation, state, endedMerges)
    shown.push(inTheWay === undefined ? operation : { ...operation, inTheWay })
    for (const { ref, after } of operation.refs) if (ref.startsWith(MERGING) && !after) endedMerges.add(ref)
  }
  return shown.slice(from)
}

/** What decides whether operations can be undone. `all`: the newest operations, newest first. */
type State = {
  all: readonly Operation[]
  /** The objects of the refs that the operations moved, and of their branches' waiting merges. */
  tips: ReadonlyMap<RefName, Oid | undefined>
  /** Why a branch can't be changed now, by its name: a turn of its AI is not over. */
  busy: ReadonlyMap<string, string>
  /** The folders in which branches are checked out. */
  checkouts: ReadonlyMap<RefName, string>
  /** Why drafts that were put aside can't be given back now, by operation. */
  blocked: ReadonlyMap<Oid, string>
}

async function stateFor(branches: OpenBranches, all: readonly Operation[]): Promise<State> {
  const { objects, checkouts } = branches.room
  const refs = all.flatMap(operation => operation.refs.map(({ ref }) => ref))
  const names = [...new Set(refs.flatMap(ref => branchNameOf(ref) ?? []))]
  const wanted = [...new Set([...refs, ...names.map(mergingRef)])]
  const [infos, listed] = await Promise.all([Promise.all(wanted.map(ref => objects.info(ref))), checkouts.list()])
  const busy = new Map<string, string>()
  // A branch with a turn is open.
  for (const name of names.filter(it => branches.has(it))) {
    const why = (await branches.work(name)).whyBusy
    if (why !== undefined) busy.set(name, why)
  }
  const blocked = new Map<Oid, string>()
  const putAside = all.filter(({ kind }) => kind === PUT_ASIDE)
  const known = putAside.length > 0 ? await namesOf(branches) : { heads: [], drafts: [] }
  for (const operation of putAside) {
    const why = await whatBlocks(branches, operation, known)
    if (why !== undefined) blocked.set(operation.id, why)
  }
  return {
    all,
    blocked,
    tips: new Map(wanted.map((ref, at) => [ref, infos[at]?.oid])),
    busy,
    checkouts: new Map(listed.flatMap(({ head, folder }) => (head === undefined ? [] : [[head, folder] as const]))),
  }
}

/**
 * Why an operation can't be undone now, and what to do first; undefined if nothing is known to be in the way.
 * `endedMerges`: the merges that later operations have ended.
 */
function whyNot(
  operation: Operation,
  { all, tips, busy, checkouts, blocked }: State,
  endedMerges: ReadonlySet<RefName>,
): string | undefined {
  const { refs } = operation
  if (blocked.has(operation.id)) return blocked.get(operation.id)
  const moved = refs.filter(ref => isHeld(ref) && tips.get(ref.ref) !== ref.after)
  if (moved.length > 0) {
    const { words, next } = whatMoved(
      moved.map(({ ref, after }) => ({ ref, after, now: tips.get(ref) })),
      all,
    )
    return `${words}. ${next}`
  }
  for (const { ref, before, after } of refs) {
    const name = branchNameOf(ref)
    if (name === undefined) continue
    const isAboutTurn = refs.some(it => it.ref === turnRef(name))
    const why = isAboutTurn ? undefined : busy.get(name)
    if (why !== undefined) return why
    const isWaiting = tips.get(mergingRef(name)) !== undefined
    if (ref.startsWith(MERGING)) {
      const hasEnded = after !== undefined && (!isWaiting || endedMerges.has(ref))
      if (hasEnded) return `What waited in ${visiblePath(name)} has ended. Undo what came later first.`
      if (after === undefined && isWaiting) return `Something waits in ${visiblePath(name)}. Finish or abort it first.`
    }
    if (!ref.startsWith(HEADS)) continue
    const isMove = before !== undefined && after !== undefined && before !== after
    if (isMove && isWaiting && !refs.some(it => it.ref === mergingRef(name)))
      return `Something waits in ${visiblePath(name)}. Finish or abort it first.`
    const folder = before === undefined && !isRename(operation) && !isFirst(operation) ? checkouts.get(ref) : undefined
    if (folder !== undefined)
      return `${visiblePath(name)} is checked out in ${visible(folder)}. Switch to another branch there first.`
  }
  return undefined
}

/** The refs that prevent an undo. `recent`: the newest operations. */
function whatMoved(moved: readonly MovedRef[], recent: readonly Operation[]): Obstacle {
  const turn = moved.find(({ ref, now }) => ref.startsWith(TURNS) && now !== undefined)
  if (turn) return otherTurn(turn.ref.slice(TURNS.length))
  const isByDesk = moved.every(it => hasDeskMoved(it, recent))
  const deleted = moved.filter(({ ref, now }) => now === undefined && !ref.startsWith(OWN_REFS))
  const others = moved.filter(it => !deleted.includes(it))
  const [isOne, areAllBranches] = [deleted.length === 1, moved.every(it => deleted.includes(it) && isHead(it))]
  const outside = areAllBranches
    ? `Restore the ${isOne ? 'branch' : 'branches'} first.`
    : 'What came later was done outside of the desk: take it back there first.'
  return {
    words: [
      ...(deleted.length === 0 ? [] : [`${namesOfRefs(deleted)} ${isOne ? 'was' : 'were'} deleted since`]),
      ...(others.length === 0 ? [] : [`${namesOfRefs(others)} ${others.length === 1 ? 'has' : 'have'} moved since`]),
    ].join(', and '),
    next: isByDesk ? 'Undo what came later first.' : outside,
  }
}

/** Whether operations alone have moved a ref on. `recent`: the newest operations, newest first. */
function hasDeskMoved({ ref, after, now }: MovedRef, recent: readonly Operation[]): boolean {
  let at = now
  for (const move of recent.flatMap(({ refs }) => refs.filter(it => it.ref === ref))) {
    if (at === after) break
    if (move.after !== at) return false
    at = move.before
  }
  return true
}

const isHead = ({ ref }: { ref: RefName }): boolean => ref.startsWith(HEADS)

const namesOfRefs = (refs: readonly { ref: RefName }[]): string => refs.map(({ ref }) => nameOfRef(ref)).join(' and ')

/** Whether an operation renames a branch, which its checkouts follow. */
const isRename = ({ refs }: Operation): boolean => renamedBy({ refs }) !== undefined

/**
 * Moves all refs of an operation back, with the drafts of their branches. Returns the files of which something that was
 * typed goes with a merge. `isTrial`: only finds out whether it would be refused.
 */
async function moveBack(
  branches: OpenBranches,
  operation: Recorded,
  original: Operation,
  how: How,
  isTrial = false,
): Promise<[lost: Path[], gone: FilesGone[]]> {
  const { refs } = operation
  const names = [...new Set(refs.map(({ ref }) => branchNameOf(ref)).filter(name => name !== undefined))].sort()
  for (const { ref, before } of refs)
    if (ref.startsWith(HEADS) && !before && !isFirst(original)) await verifyNotCheckedOut(branches, branchOfRef(ref))
  // A branch that was renamed since is found by its old name, which the refs of the operation have.
  const works = new Map(await Promise.all(names.map(async name => [await branches.work(name), name] as const)))
  const done = await lockedAll([...works.keys()], async all => {
    const held = [...works].map(([work, name]) => ({ held: heldIn(all, work), name }))
    for (let tries = 1; ; tries++) {
      const { error, lost, gone } = await tryToMoveBack(branches, held, operation, original, { ...how, isTrial })
      if (!error) return [lost, gone] satisfies [Path[], FilesGone[]]
      // Throws if a branch has moved. Otherwise another desk wrote drafts, and the next try merges these.
      await verifyUnmoved(branches, refs)
      if (tries >= MAX_TRIES) throw error
    }
  })
  if (isTrial) return done
  for (const { ref, before } of refs) if (ref.startsWith(HEADS) && !before) await branches.leave(branchOfRef(ref))
  return done
}

/**
 * Whether an operation made a commit. Undone on a branch without earlier commits, it leaves the branch empty; the undo
 * of any other creation of a branch deletes the branch. (Earlier versions have committed a new file at once.)
 */
const isFirst = ({ kind }: Operation): boolean => ['save', NEW_FILE, 'turn', 'keep turn'].includes(kind)

/** The files among the drafts, without those that are deleted. */
const filesIn = ({ files, clashes }: Drafts): Path[] => [
  ...[...files].flatMap(([path, file]) => (file ? [path] : [])),
  ...clashes.keys(),
]

/** The kind of operation that resolves a conflicting draft by one of its sides. */
export const SETTLE = 'choose'
/** The kind of the operations that amend the newest commit of a branch, possibly with its drafts. */
export const AMEND = 'amend'
/** The kind of operation that takes back parts of a commit, as drafts. */
export const TAKE_BACK = 'take back'
/** The kind of operation that applies a stash to the drafts of a branch. */
export const APPLY_STASH = 'apply stash'

/** The kinds of operations that discard or move drafts, or restore or add some. */
const ABOUT_DRAFTS = [
  ...['discard', 'replace', 'delete branch', 'keep turn', PUT_ASIDE],
  ...[TAKE_BACK, APPLY_STASH, SETTLE, DRAFTS_ONTO, DELETE, RESTORE, NEW_FILE, COPY, NEW_BRANCH, LINE_ENDS, MODE],
]

/** Drafts that a branch had, and that are no files of it any more. */
interface FilesGone {
  branch: string
  gone: Path[]
}

/**
 * One try of {@link moveBack}. Returns the error if a ref has moved, the files of which something that was typed goes
 * with a merge, and those that are gone. `all`: the branches with their names in the operation.
 */
async function tryToMoveBack(
  branches: OpenBranches,
  all: readonly { held: HeldBranch; name: string }[],
  { refs, renamed }: Recorded,
  original: Operation,
  { isTrial, ...how }: How & { isTrial: boolean },
): Promise<{ error?: RefMoved; lost: Path[]; gone: FilesGone[] }> {
  const back = renamed.map(({ from, to }) => ({ from: to, to: from })).reverse()
  const prepared: [HeldBranch, Next][] = []
  const lost: Path[] = []
  try {
    for (const { held, name } of all) {
      const moved = refs.find(({ ref }) => ref === headRef(name))
      // If the undo deletes the branch, its drafts stay on the commit that they are on.
      const head = moved && !moved.before && !isFirst(original) ? undefined : moved
      const drafts = refs.find(({ ref }) => ref === draftsRef(name))
      const isAboutDrafts = drafts && ABOUT_DRAFTS.includes(original.kind)
      const change = isAboutDrafts ? { from: drafts.after, to: drafts.before } : undefined
      const isUnsaved = ['save', AMEND].includes(original.kind) && how.kind === 'undo'
      const isAdded = [NEW_FILE, COPY, NEW_BRANCH].includes(original.kind) && how.kind === 'undo'
      const isTurn = refs.some(({ ref }) => ref === turnRef(name))
      const waits = refs.find(({ ref }) => ref === mergingRef(name))
      const merging = waits && {
        ...{ before: waits.before, after: waits.after, isRedo: how.kind === 'redo' },
        drafts: { before: drafts?.before, after: drafts?.after },
      }
      const isMovedAgain = how.kind === 'redo' && head !== undefined && !isAboutDrafts
      const redone = isMovedAgain ? { from: drafts?.after, to: drafts?.before } : undefined
      const unsaved = isUnsaved ? { drafts: drafts?.before } : undefined
      const target = { head, unsaved, isAdded, drafts: change, redone, renamed: back, isTurn, merging }
      const { next, lost: some } = await prepare(held, target)
      prepared.push([held, next])
      lost.push(...some)
    }
    if (isTrial) return { lost, gone: [] }
    const own = new Set(prepared.flatMap(([{ work }, { head }]) => (head === undefined ? [] : [headRef(work.name)])))
    const others = refs.filter(isHeld).filter(({ ref }) => !own.has(ref))
    const also = others.map(({ ref, before, after }) => ({ ref, from: after, to: before }))
    const drafts = all.map(({ held: { work } }) => filesIn(work.drafts))
    await becomeTogether(branches.room, prepared, { ...how, also })
    const gone = all.map(async ({ held: { work } }, at): Promise<FilesGone> => {
      // The tab of a renamed file is renamed, and that of a deleted one, which offers to restore it, is as it was.
      const stays = renamed.length > 0 || original.kind === RESTORE
      const known = stays ? [] : (drafts[at] ?? [])
      // The undo is done: it does not fail where its tabs can't be told.
      const gone = await missingIn(branches.room.objects, work.drafts, known).catch(() => [])
      return { branch: work.name, gone }
    })
    return { lost, gone: (await Promise.all(gone)).filter(it => it.gone.length > 0) }
  } catch (error) {
    if (error instanceof RefMoved) return { error, lost, gone: [] }
    throw error
  }
}
