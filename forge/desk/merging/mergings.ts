/**
 * Waiting merges, rebases and cherry-picks: their open conflicts, resolving a file, and their end. Resolutions are
 * drafts on the merge's commit (see merging-commits.ts), until Finish commits them.
 */

import { isDeepStrictEqual } from 'node:util'
import { Failure } from '../../../core/failure.ts'
import { isAncestor, outsideOf, textOf } from '../../../core/git/commits.ts'
import { firstMark, type MarkedPart, markedPartsOf, marksLeft, withBoth } from '../../../core/git/conflict-marks.ts'
import { subjectOf } from '../../../core/git/history.ts'
import { type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Move } from '../../../core/git/refs.ts'
import { asBytes, type Entry, type Oid, type Path } from '../../../core/git/repository.ts'
import { entryAt, listFiles, makeTree } from '../../../core/git/trees.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import type { BranchFiles, BranchServices, BranchWork, Deed, HeldBranch, Next } from '../branches/branch-work.ts'
import { verifyMovable, withCopies, withMoved, withoutFileAt } from '../branches/draft-files.ts'
import {
  asChanges,
  contentIn,
  type DraftFile,
  entryIn,
  entryInTip,
  isSameDrafts,
  missingIn,
  noDrafts,
  verifyNoClash,
} from '../branches/drafts.ts'
import {
  type ConflictRow,
  isRenamed,
  isSettledWith,
  makeMerging,
  type Names,
  namesIn,
  readMerging,
  type StoredMerging,
  type StoredRewrite,
} from '../branches/merging-commits.ts'
import type { CommitSignature } from '../branches/save.ts'
import { SETTLE } from '../branches/undo.ts'
import { conflictRows, sideOf, textBySide, wordsFor, wordsOfResolved } from '../conflicts/conflicts.ts'
import {
  draftConflict,
  draftConflictsIn,
  isOfDraft,
  takeDraftConflicts,
  takeDraftSide,
  withDraftConflicts,
} from '../conflicts/draft-conflicts.ts'
import type { BranchInfo } from '../contract/branches.ts'
import { type ConflictFile, type Merging, type MergingFile, nounOf, type WholeSide } from '../contract/merging.ts'
import type { Done, Source } from '../contract/steps.ts'
import { withModels } from '../reading/model-trailers.ts'
import { mergingRef } from '../refs.ts'
import { leftOut } from '../steps/left-out.ts'
import { planMerge } from '../steps/merge.ts'
import { arrive, type WaitingMerge, waitForPerson, writeChain } from '../steps/perform.ts'
import { planPicks, readCommit } from '../steps/picks.ts'
import { type Planned, pastOf, type Stop, treeOfCommit } from '../steps/plan.ts'
import type { Plannings } from '../steps/plannings.ts'
import { applyItems } from '../steps/rewrite-items.ts'
import { carryOver } from './carry-over.ts'
import { MergingReviews, type Oddities } from './merging-review.ts'
import { newCommits, onNewestCommit, type Renewed, withItems } from './renewed.ts'
import { type Asked, type ConflictPlace, requestOf } from './request.ts'

type State = StoredMerging & { tree: Oid }
/** The files in which conflicts are counted. */
type ConflictFiles = Pick<BranchFiles, 'room' | 'drafts'>
/** Additional content of a merge that is not begun by a step. */
export type Beginning = { result?: Oid | undefined; forklift?: StoredMerging['forklift'] }

/** The resolution of a conflict in a rewriting. `settled`: the drafts that the resolution contains. */
type RewriteEnd = {
  state: State
  rewrite: StoredRewrite
  tree: Oid
  settled: BranchWork['drafts']
  /** The models that have a part in it. */
  models: readonly string[]
}

/** At most this many states are cached; a state never changes. */
const MAX_KEPT_STATES = 200

export class Mergings {
  readonly #known = new Map<Oid, State>()
  readonly #reviews: MergingReviews

  constructor(
    readonly room: BranchServices,
    /** Opens the work on a branch. */
    readonly open: (branch: string) => Promise<BranchWork>,
    readonly plannings: Plannings,
  ) {
    this.#reviews = new MergingReviews(room.objects)
  }

  // --- State ---

  /** The kind of the merge that waits in a branch. */
  async kindIn({ merging }: BranchWork): Promise<BranchInfo['merging']> {
    const state = merging === undefined ? undefined : await this.#read(merging)
    return state?.does
  }

  /** The merge that waits in a branch; undefined if there is none. */
  async in(branch: string): Promise<Merging | undefined> {
    const work = await this.open(branch)
    if (work.merging === undefined) return await draftConflictsIn(work)
    return await work.brieflyLocked(async held => {
      await held.collect()
      const { merging } = work
      if (merging === undefined) return undefined
      const state = await this.#state(work)
      const shown = asShown(work)
      const rows = await filesOf(shown, state)
      const isOpen = rows.some(row => row.state === 'open')
      const result = isOpen ? undefined : await this.#writeResult(shown)
      const review = result === undefined ? undefined : await this.#reviews.of(state, result)
      const files = review ? withOdd(state, rows, review) : rows
      const { ours, theirs, oursCommit, theirsCommit, byGit, number, of, subject = '', onto, rewrite, forklift } = state
      const canUpdate = await this.#canUpdate(work, state)
      const notYet = work.whyBusy ?? whyNotYet(work, state, rows, canUpdate)
      const isSkipped = notYet === undefined && result !== undefined && (await this.#isEmpty(state, result))
      return {
        kind: state.does,
        ...{ ours, theirs, oursCommit, theirsCommit, files, byGit },
        ...(number !== undefined && of !== undefined && { at: { number, of, subject: visible(subject) } }),
        ...(state.finished && { finished: state.finished.map(visible) }),
        ...(state.does === 'revert' && { reverts: await this.#revertedBy(state) }),
        ...(onto !== undefined && { onto }),
        ...(rewrite && { rewrites: rewrite.does }),
        message: await this.#shownMessage(state),
        odd: review ? wordsOfOdd(state, rows, review) : [],
        ...(notYet !== undefined && { notYet }),
        ...(isSkipped && { nothingLeft: whySkipped(state) }),
        ...(canUpdate && { canUpdate: true as const }),
        ...(forklift && {
          forklift: { run: forklift.run, ...(forklift.stuck !== undefined && { stuck: forklift.stuck }) },
        }),
      }
    })
  }

  /** Writes the tree of a branch with all resolutions. */
  async #writeResult(work: BranchFiles): Promise<Oid> {
    const { oid, made } = await resultTree(work)
    await writeObjects(this.room.objects.repository, made)
    return oid
  }

  /** Whether a commit with this tree would change nothing, so that none is made. A merge always makes one. */
  async #isEmpty({ does, oursCommit, rewrite }: State, tree: Oid): Promise<boolean> {
    const { objects } = this.room
    if (does === 'merge' || tree !== (await treeOfCommit(objects, oursCommit))) return false
    if (!rewrite) return true
    const [{ commits, message }] = rewrite.items
    // A commit that is reworded or squashed stays, and so does a merge.
    if (commits.length > 1 || message !== undefined) return false
    return (await readCommit(objects, commits[0])).parents.length < 2
  }

  async #messageOf({ message, theirsCommit }: State): Promise<string> {
    return message ?? (await this.#messageOfCommit(theirsCommit))
  }

  async #messageOfCommit(commit: Oid): Promise<string> {
    const { message, encoding } = await readCommit(this.room.objects, commit)
    return textOf(message, encoding)
  }

  /** The commit that a revert undoes, with its subject. */
  async #revertedBy({ base }: State): Promise<string> {
    const oid = base ?? ''
    const subject = subjectOf(await readCommit(this.room.objects, oid))
    return asBytes(`${oid.slice(0, 8)} (${visible(subject)})`)
  }

  async #state({ name, merging }: BranchWork): Promise<State> {
    if (merging === undefined) throw new Failure(`Nothing waits in ${visiblePath(name)} to be merged.`)
    const state = await this.#read(merging)
    // The branch may have been renamed since.
    if (state) return state.isOurs ? { ...state, ours: name } : state
    throw new Failure(`${visiblePath(mergingRef(name))} is no merge of the desk: delete it by git update-ref -d.`)
  }

  async #read(commit: Oid): Promise<State | undefined> {
    const known = this.#known.get(commit)
    if (known) return known
    const state = await readMerging(this.room.objects, commit)
    if (this.#known.size >= MAX_KEPT_STATES) this.#known.clear()
    if (state) this.#known.set(commit, state)
    return state
  }

  /**
   * Lets a merge into a branch wait even if git could resolve all of it, to continue a run of Forklift. The files of
   * `result`, a commit or tree, become drafts.
   */
  async begin(branch: string, source: Source, { result, forklift }: Beginning): Promise<void> {
    const work = await this.open(branch)
    await work.inOneGo(async held => {
      const { objects } = this.room
      const { head } = work
      if (head === undefined) throw new Failure(`${visiblePath(branch)} has no commit yet that could be merged into.`)
      const plan = await planMerge(objects, source, { branch, tip: head }, { isCommitWanted: true })
      if (plan.is === 'nothing')
        throw new Failure(
          `There is nothing to do: ${visiblePath(branch)} has all of ${visiblePath(source.words)} already.`,
        )
      const words = { ours: branch, theirs: source.words }
      const state: Stop['state'] = { does: 'merge', message: plan.message, todo: [] }
      const clean = { merge: { tree: plan.tree, stages: [], conflicts: [] }, ours: head, theirs: source.commit }
      const stop: Stop = plan.stop ?? { ...clean, words, state }
      await waitForPerson(held, {
        stop,
        ours: head,
        kind: 'begin merge',
        does: `begin to ${plan.does}`,
        result,
        forklift,
      })
    })
  }

  // --- A file in conflict ---

  /** A file in conflict, with its sides. */
  async conflict(branch: string, path: Path): Promise<ConflictFile> {
    const { objects } = this.room
    const work = await this.open(branch)
    if (work.merging === undefined) return await draftConflict(work, path)
    const state = await this.#state(work)
    if (isOfDraft(asShown(work), path, isRow(state, path))) return await draftConflict(work, path)
    const row = rowAt(state, path)
    const sides = ([1, 2, 3] as const).map(number => entryOfSide(objects, state, row, number))
    const [base, ours, theirs] = await Promise.all(sides.map(async entry => sideOf(objects, await entry)))
    const nothing = { is: 'nothing' } as const
    const names = namesIn(row)
    const leftAs = names ? undefined : await sideAt(objects, state, row, at => entryInTip(objects, work.tip, at))
    return {
      ...{ path: row.path, kind: row.kind, words: wordsFor(row, state) },
      ...(leftAs !== undefined && { leftAs }),
      ...(names && { names }),
      ...(row.mark !== undefined && { mark: row.mark }),
      ...{ base: base ?? nothing, ours: ours ?? nothing, theirs: theirs ?? nothing },
    }
  }

  /**
   * Resolves a whole file by one side, as one operation. `both` keeps what can be kept: in text all open conflicts with
   * both sides, ours first; of other files what git left. Of a file that both sides renamed, only the name is chosen
   * where git has merged its text. Returns what was done in words; none if that was chosen already.
   */
  async takeSide(branch: string, path: Path, side: WholeSide): Promise<{ words?: string }> {
    const work = await this.open(branch)
    const isDraft = work.merging === undefined || isOfDraft(work, path, isRow(await this.#state(work), path))
    if (isDraft) return await takeDraftSide(work, path, side)
    return await work.inOneGo(async held => this.#take(held, path, side), { isMerging: true })
  }

  async #take(held: HeldBranch, path: Path, side: WholeSide): Promise<{ words?: string }> {
    const { work } = held
    const { objects } = this.room
    const state = await this.#state(work)
    const row = rowAt(state, path)
    verifyNoClash(work.drafts, row.paths)
    const names = namesIn(row)
    if (names) return await this.#takeName(held, { state, row, names }, side)
    const wanted = await filesBy(work, state, row, side)
    // Drops an earlier choice, which may have several files.
    const files = new Map([...work.drafts.files].filter(([at]) => !isSettledWith(row, at)))
    for (const [at, file] of wanted) {
      const before = await entryInTip(objects, work.tip, at)
      if (before?.oid === file?.oid && before?.mode === file?.mode) files.delete(at)
      else files.set(at, file)
    }
    // If the user chooses what git left in the files, no file changes: only the list `kept` records the choice.
    const isKept = ![...files.keys()].some(at => isSettledWith(row, at))
    const { [row.path]: _, ...by } = state.by
    const drafts = { ...work.drafts, files }
    const [from, to] = [await pathNow(work, row), await pathNow({ room: this.room, drafts }, row)]
    const where = `${visiblePath(from)} in ${visiblePath(work.name)}`
    const words = (await replacesText(work, state, row, wanted))
      ? `discard what was ${row.mark === undefined ? 'typed' : 'resolved'} in ${where}`
      : `resolve ${where} by ${WORDS[side]}`
    // Windows follow the file to its path on that side, and back at the undo.
    const renamed = from === to ? undefined : [{ from, to }]
    return await this.#choose(held, { ...withKept(state, row, isKept), by }, drafts, { words, renamed })
  }

  /** Chooses a name of a file that both sides renamed, or both. Its text keeps its edits and open conflicts. */
  async #takeName(
    held: HeldBranch,
    { state, row, names }: { state: State; row: ConflictRow; names: Names },
    side: WholeSide,
  ): Promise<{ words?: string }> {
    const { work } = held
    const { objects } = this.room
    const wanted = side === 'both' ? ([names.ours, names.theirs] as const) : ([names[side]] as const)
    if (side === 'both' && (await marksIn(work, row)).left > 0)
      throw new Failure(
        `${visiblePath(await pathNow(work, row))} still has conflicts: resolve them first, so that both files get the same text.`,
      )
    let { drafts } = work
    // A file that was deleted is restored as git has merged it.
    if ((await pathsNow(work, row)).length === 0)
      drafts = { ...drafts, files: new Map([...drafts.files].filter(([at]) => !isSettledWith(row, at))) }
    const now = await pathsNow({ room: this.room, drafts }, row)
    const [from = names.ours] = now
    const kept = wanted.find(path => now.includes(path))
    const renamed = kept === undefined ? { from, to: wanted[0] } : undefined
    if (renamed) {
      await verifyMovable(objects, drafts, renamed, work.name)
      drafts = await withMoved(objects, drafts, renamed)
    }
    const source = kept ?? wanted[0]
    const file = drafts.files.get(source) ?? (await entryInTip(objects, work.tip, source))
    const missing = wanted.filter(path => path !== source && !now.includes(path))
    for (const path of file ? missing : [])
      drafts = await withCopies(objects, drafts, path, new Map(file && [[path, file]]))
    const others = now.filter(path => !wanted.includes(path) && path !== renamed?.from)
    const texts = await Promise.all(others.map(path => entryIn(objects, drafts, path)))
    for (const path of others) drafts = await withoutFileAt(objects, drafts, path)
    // Another text is gone: that of the second file, where there were two.
    const isTextReplaced = texts.some(text => text?.oid !== file?.oid)
    const branch = visiblePath(work.name)
    const words = isTextReplaced
      ? `discard what was typed in ${others.map(visiblePath).join(' and ')} in ${branch}`
      : `resolve the name of ${visiblePath(from)} in ${branch} by ${WORDS[side]}`
    const next = withKept(state, row, !isRenamed(drafts.files, names))
    return await this.#choose(held, next, drafts, { words, renamed: renamed && [renamed] })
  }

  /** Makes the choice of a version or a name an operation, unless it changes nothing. */
  async #choose(
    held: HeldBranch,
    state: State,
    drafts: BranchWork['drafts'],
    { words, renamed }: Pick<Next, 'renamed'> & { words: string },
  ): Promise<{ words?: string }> {
    const { work } = held
    if (isDeepStrictEqual(state, await this.#state(work)) && isSameDrafts(drafts, work.drafts)) return {}
    // The operation's undo needs the drafts in the repository.
    await held.writeDrafts()
    await this.#replace(held, state, drafts, { renamed, deed: { kind: SETTLE, words } })
    return { words: `${pastOf(words)}.` }
  }

  /**
   * Resolves the open conflicts of texts by one side, as one operation: those of a waiting merge, or those of drafts.
   * What git has merged, and what was resolved or typed beside them, stays.
   */
  async takeConflicts(branch: string, paths: readonly Path[], side: 'ours' | 'theirs'): Promise<{ words: string }> {
    const work = await this.open(branch)
    const state = work.merging === undefined ? undefined : await this.#state(work)
    const areOfDrafts = paths.every(path => isOfDraft(work, path, state !== undefined && isRow(state, path)))
    if (areOfDrafts) return await takeDraftConflicts(work, paths, side)
    return await work.inOneGo(async held => this.#takeConflicts(held, paths, side), { isMerging: true })
  }

  async #takeConflicts(held: HeldBranch, paths: readonly Path[], side: 'ours' | 'theirs'): Promise<{ words: string }> {
    const { work } = held
    const state = await this.#state(work)
    const rows = paths.map(path => rowAt(state, path)).filter(({ mark }) => mark !== undefined)
    const resolved = rows.flatMap(row => row.paths)
    verifyNoClash(work.drafts, resolved)
    const texts = await Promise.all(rows.map(row => textsBy(work, state, row, side)))
    const files = new Map([...work.drafts.files, ...texts.flatMap(files => [...files])])
    const words = wordsOfResolved(paths, side)
    // The operation's undo needs the drafts in the repository.
    await held.writeDrafts()
    const deed = { kind: SETTLE, words: `resolve ${words} in ${visiblePath(work.name)}` }
    await this.#replace(held, state, { ...work.drafts, files }, { deed })
    return { words: `Resolved ${words}.` }
  }

  /** Replaces what waits by another state of the same merge, with these drafts on it. */
  async #replace(
    held: HeldBranch,
    { tree, ...state }: State,
    drafts: BranchWork['drafts'],
    { renamed, deed }: Pick<Next, 'renamed'> & { deed?: Deed | undefined } = {},
  ): Promise<void> {
    const { repository } = this.room.objects
    const next = makeMerging(repository, state, tree)
    await writeObjects(repository, next.made)
    await held.become({ merging: next.oid, drafts: { ...drafts, tip: next.oid }, renamed }, deed)
  }

  /**
   * Keeps what the user types as the message of what waits, for all windows, unless it was changed from `before`
   * meanwhile. Returns the message that is kept. Nothing is done if another commit than `theirs` is merged by now, for
   * which it was not meant.
   */
  async writeMessage(
    branch: string,
    theirs: Oid,
    { before, message }: { before: string; message: string },
  ): Promise<{ message?: string }> {
    const work = await this.open(branch)
    return await work.locked(async held => {
      work.verifyFree()
      await held.collect()
      return await held.again(async () => {
        const state = work.merging === undefined ? undefined : await this.#read(work.merging)
        if (state?.theirsCommit !== theirs) return {}
        const kept = await this.#shownMessage(state)
        if (kept === message || kept !== before) return { message: kept }
        await this.#replace(held, { ...state, typedMessage: message }, work.drafts)
        return { message }
      })
    })
  }

  /** The message that the windows show: the typed one unchanged, or else the usual one without blanks at its end. */
  async #shownMessage(state: State): Promise<string> {
    return state.typedMessage ?? (await this.#messageOf(state)).trimEnd()
  }

  /** Gives what waits the message that the user typed. An undo of its end restores it. */
  async #keepMessage(held: HeldBranch, { typedMessage: message, ...state }: State): Promise<State> {
    const typed = message?.trim()
    if (!typed || typed === (await this.#messageOf(state)).trim()) return state
    const next = { ...state, message }
    await this.#replace(held, next, held.work.drafts)
    return next
  }

  /**
   * The request to an AI to resolve the open conflicts of some files. The files contain both sides and the base.
   * `only`: the index of one open conflict in the first file.
   */
  async requestFor(
    branch: string,
    paths: readonly Path[] | 'all',
    only?: number,
  ): Promise<{ text: string; asked: Asked }> {
    const work = await this.open(branch)
    return await work.locked(async held => {
      await held.collect()
      const state = await this.#state(work)
      const wanted = paths === 'all' ? state.rows : paths.map(path => rowAt(state, path))
      const files = await Promise.all(wanted.map(async row => ({ row, file: await fileOf(work, state, row) })))
      const open = files.filter(({ file }) => file.state === 'open')
      if (open.length === 0) throw new Failure(`No conflict is left there in ${visiblePath(branch)}.`)
      const [first] = open
      const place = only === undefined || !first ? undefined : await placeOf(work, first.row, only)
      const asked = (place ? open.slice(0, 1) : open).map(({ row }) => row.path)
      return { text: requestOf(state, open, place), asked: { paths: asked, isOne: place !== undefined } }
    })
  }

  // --- The end ---

  /** Commits the resolutions. A rebase continues to its next conflict or its end. */
  async finish(branch: string): Promise<Done> {
    const work = await this.open(branch)
    return await work.inOneGo(async (held, signature) => this.#finish(held, signature), { isMerging: true })
  }

  async #finish(held: HeldBranch, signature: Promise<CommitSignature>): Promise<Done> {
    const { work } = held
    const { objects } = this.room
    const found = await this.#state(work)
    const rows = await filesOf(work, found)
    const why = whyNotYet(work, found, rows, await this.#canUpdate(work, found))
    if (why !== undefined) throw new Failure(why)
    verifyNoClash(work.drafts, work.drafts.clashes.keys())
    const state = await this.#keepMessage(held, found)
    // The operation's undo needs the drafts in the repository.
    await held.writeDrafts()
    const tree = await this.#writeResult(work)
    const settled = work.drafts
    const models = await modelsIn(work, state)
    if (state.rewrite)
      return await this.#goOn(held, signature, { state, rewrite: state.rewrite, tree, settled, models })
    const planned = await this.#planned(state, tree, models)
    const first = await held.unlocked(() => writeChain(objects, state.oursCommit, planned, signature))
    const name = visiblePath(work.name)
    if (state.does === 'merge' || state.does === 'land') {
      const does = operationOf(state, { does: state.does, name, isSkipped: planned.length === 0 })
      const also = planned.length === 0 ? [] : await keptMoves(objects, state)
      await arrive(held, { kind: state.does, does, to: first, also, settled })
      return { words: `${pastOf(does)}.`, commit: first }
    }
    const { does, of = 1, onto, subject = '', leftOut: before = [] } = state
    const ours = onto ?? state.ours
    const hasRebased = first !== state.oursCommit || state.ours !== ours
    const skipped = planned.length === 0 ? [subject] : []
    const { picks, tip } = await this.plannings.run(async pace => {
      const rules = { does, ours, of, onto, isBegun: true, hasRebased, leftOut: [...before, ...skipped] }
      const picks = await planPicks(objects, first, state.todo, rules, pace)
      const write = () => writeChain(objects, first, picks.chain, signature, pace.signal)
      return { picks, tip: await held.unlocked(write) }
    })
    const left = [...skipped, ...picks.dropped.map(it => it.subject)]
    const isSkipped = !picks.stop && tip === state.from
    const whole =
      does === 'rebase' ? `rebase ${name} onto ${visiblePath(ours)}` : pickingOf(state, { does, name, isSkipped })
    if (!picks.stop) {
      await arrive(held, { kind: does, does: whole, to: tip, settled })
      // What is skipped is named already where a revert is of one commit.
      const isNamed = does === 'revert' && of === 1
      return { words: `${pastOf(whole)}.${isNamed ? '' : leftOut([...before, ...left], of)}`, commit: tip }
    }
    const waiting: WaitingMerge = {
      stop: withFinished(picks.stop, state, planned.length > 0),
      ours: tip,
      kind: `go on with ${does}`,
      does: `go on: ${whole}`,
      settled,
    }
    await waitForPerson(held, waiting)
    const { number = 0 } = picks.stop.state
    const words = `There are conflicts again, at commit ${number} of ${of}.${leftOut(left, of)}`
    return { words, merging: work.name }
  }

  /** Goes on with a rewriting after a conflict, to its end or the next conflict. */
  async #goOn(held: HeldBranch, signature: Promise<CommitSignature>, end: RewriteEnd): Promise<Done> {
    const { work } = held
    const { objects, writtenHere } = this.room
    const { state, rewrite, tree, settled, models } = end
    const { applied, amends, does } = rewrite
    const onto = amends ? (await readCommit(objects, state.oursCommit)).parents[0] : state.oursCommit
    const [first, ...later] = rewrite.items
    const { message } = state
    const own = first.message ?? (await this.#messageOfCommit(first.commits[0]))
    const isSame = message === undefined || message.trim() === own.trim()
    const named = await withModels(objects.repository, isSame ? own : message, models)
    // A commit that is skipped has no use for a message; with one it would be made, without any change.
    const isEmpty = await this.#isEmpty(state, tree)
    const isKept = (isSame && models.length === 0) || isEmpty
    const items = [isKept ? first : { ...first, message: named }, ...later]
    const { of = items.length, onto: ontoWords = '', leftOut: before = [] } = state
    const course = {
      ...{ onto, items, begun: { tree, applied }, of, ontoWords, ours: state.ours, does, leftOut: before },
      writtenHere,
    }
    const { picks, tip } = await this.plannings.run(async pace => {
      const picks = await applyItems(objects, course, pace)
      return { picks, tip: await held.unlocked(() => writeChain(objects, onto, picks.chain, signature, pace.signal)) }
    })
    const left = picks.dropped.map(({ subject }) => subject)
    if (!picks.stop) {
      await arrive(held, { kind: 'rewrite', does, to: tip, settled })
      return { words: `${pastOf(does)}.${leftOut([...before, ...left], of)}`, commit: tip }
    }
    const stop = withFinished(picks.stop, state, !isEmpty)
    await waitForPerson(held, {
      ...{ stop, ours: tip, kind: 'go on with rewrite', does: `go on: ${does}`, settled },
    })
    const { number = 0 } = picks.stop.state
    return {
      words: `There are conflicts again, at commit ${number} of ${of}.${leftOut(left, of)}`,
      merging: work.name,
    }
  }

  /** The commit to make; none if it would change nothing. `models`: those that have a part in it. */
  async #planned(state: State, tree: Oid, models: readonly string[]): Promise<Planned[]> {
    const { does, message, theirsCommit } = state
    const { repository } = this.room.objects
    if (does !== 'merge' && (await this.#isEmpty(state, tree))) return []
    if (does === 'merge' || does === 'land' || does === 'revert') {
      const others = does === 'merge' ? [theirsCommit] : []
      return [{ is: 'new', tree, others, message: await withModels(repository, message ?? '', models) }]
    }
    const { message: own, encoding, author } = await readCommit(this.room.objects, theirsCommit)
    const isSame = message === undefined || message.trim() === textOf(own, encoding).trim()
    if (isSame)
      return [{ is: 'new', tree, others: [], message: await withModels(repository, own, models), encoding, author }]
    return [{ is: 'new', tree, others: [], message: await withModels(repository, message, models), author }]
  }

  /**
   * Makes a merge, a cherry-pick or a revert anew after its branch was moved: conflicts whose sides are still the same
   * keep their resolution. A rebase stays as it is, and also gets the branch's new commits to do. One operation, which
   * can be undone.
   */
  async update(branch: string): Promise<Done> {
    const work = await this.open(branch)
    return await work.inOneGo(async (held, signature) => this.#update(held, signature), { isMerging: true })
  }

  async #update(held: HeldBranch, signature: Promise<CommitSignature>): Promise<Done> {
    const { work } = held
    const name = visiblePath(work.name)
    const { head } = work
    const state = await this.#state(work)
    if (head === undefined || !(await this.#canUpdate(work, state)))
      throw new Failure(`What waits in ${name} can't be updated: finish or abort it.`)
    verifyNoClash(work.drafts, work.drafts.clashes.keys())
    await held.writeDrafts()
    if (state.does === 'rebase') return await this.#addNewCommits(held, state, head)
    const before = await this.#resolvedIn(work, state)
    const { room, plannings } = this
    await this.#beginAnew(
      held,
      state,
      await onNewestCommit(room.objects, plannings, held, { ...state, head }, signature),
    )
    const now = await this.#resolvedIn(work, await this.#state(work))
    const open = `${many(now.left, 'conflict')} ${now.left === 1 ? 'is' : 'are'} left`
    const lost = before.resolved - now.resolved
    const more = lost > 0 ? `, and ${lost} of ${before.resolved} resolutions no longer fit` : ''
    return {
      words: `Updated the ${nounOf(state.does)} to the newest commit of ${name}: ${open}${more}.`,
      merging: work.name,
    }
  }

  /** Lets the conflicts that a step has now wait in its branch, with the resolutions that still fit. */
  async #beginAnew(held: HeldBranch, state: State, { merge, ours, commit }: Renewed): Promise<void> {
    const { work } = held
    const { objects } = this.room
    const { drafts } = work
    const ends = { ours, theirs: state.theirsCommit, words: { ours: state.ours, theirs: state.theirs } }
    const next = await conflictRows(objects, merge, ends)
    const after = { ...next, ours: { commit, words: state.ours } }
    const { result, marked, ...carried } = await carryOver(objects, { ...state, drafts }, after)
    const { does, base, message, typedMessage, todo, number, of, subject, leftOut, finished, keep } = state
    const kept = { does, base, message, typedMessage, todo, number, of, subject, leftOut, finished, keep }
    await waitForPerson(held, {
      stop: { merge, ...ends, state: kept },
      ours: commit,
      kind: 'update merging',
      does: `update the ${nounOf(state.does)} in ${visiblePath(work.name)}`,
      // What was typed in other files is not part of a resolution, and is merged like every draft.
      settled: { ...drafts, files: new Map([...drafts.files].filter(([at]) => isInConflict(state, at))) },
      result,
      carried,
      marked,
    })
  }

  /** Adds the commits that a branch got since its rebase began, up to `head`, to those that are left to rebase. */
  async #addNewCommits(held: HeldBranch, state: State, head: Oid): Promise<Done> {
    const { work } = held
    const { repository } = this.room.objects
    const name = visiblePath(work.name)
    const { tree, todo, of = 1, rewrite, ...rest } = state
    const added = await newCommits(repository, [state.from, state.oursCommit], head)
    const next = makeMerging(
      repository,
      {
        ...rest,
        ...{ from: head, todo: [...todo, ...added], of: of + added.length },
        ...(rewrite && { rewrite: withItems(rewrite, added) }),
      },
      tree,
    )
    await writeObjects(repository, next.made)
    const drafts = { ...work.drafts, tip: next.oid }
    await held.become({ merging: next.oid, drafts }, { kind: 'update merging', words: `update the rebase in ${name}` })
    this.room.say({ say: 'repository' })
    return {
      words: `Updated the rebase: it goes on with ${many(added.length, 'new commit')} of ${name}.`,
      merging: work.name,
    }
  }

  /**
   * Whether the branch was moved since the merge began, so that it can be made anew: a rebase only if the branch still
   * has the rebased commits, a revert only if it still has the reverted ones. A merge of Forklift is never made anew:
   * it is published for the commit that it began with.
   */
  async #canUpdate({ head }: BranchWork, { from, does, base, todo, forklift }: State): Promise<boolean> {
    const { repository } = this.room.objects
    if (head === undefined || head === from || forklift) return false
    if (does === 'rebase') return await isAncestor(repository, from, head)
    if (does === 'revert')
      return typeof base === 'string' && (await outsideOf(repository, [base, ...todo], [head])).size === 0
    return true
  }

  /** The number of conflicts in a merge that are resolved, and that are left. */
  async #resolvedIn(work: BranchWork, state: State): Promise<{ resolved: number; left: number }> {
    const rows = await Promise.all(state.rows.map(row => fileOf(work, state, row)))
    const [all, left] = [rows.reduce((sum, row) => sum + row.all, 0), rows.reduce((sum, row) => sum + row.left, 0)]
    return { resolved: all - left, left }
  }

  /** Discards a merge with all resolutions. An undo restores it, with the message that the user typed for it. */
  async abort(branch: string): Promise<Done> {
    const { say } = this.room
    const work = await this.open(branch)
    const { does, gone, operation } = await work.locked(async held => {
      work.verifyFree()
      await held.collect()
      return await held.again(async () => {
        const { merging, head } = work
        if (merging === undefined) throw new Failure(`Nothing waits in ${visiblePath(branch)} to be merged.`)
        const state = await this.#read(merging)
        if (state) await this.#keepMessage(held, state)
        await held.writeDrafts()
        const does = `abort the ${nounOf(state?.does ?? 'merge')} in ${visiblePath(branch)}`
        const { files, clashes } = work.drafts
        const paths = new Set([...files.keys(), ...clashes.keys(), ...(state?.rows ?? []).map(({ path }) => path)])
        const after = noDrafts(head)
        const operation = await held.become({ merging: null, drafts: after }, { kind: 'abort merging', words: does })
        return { does, gone: await missingIn(work.room.objects, after, [...paths]), operation }
      })
    })
    say({ say: 'files gone', branch, gone, ...(operation && { operation }) })
    say({ say: 'repository' })
    return { words: `${pastOf(does)}. ${visiblePath(branch)} is as it was.` }
  }
}

/** The next stop of several commits. `isMade`: whether the commit in conflict before it is made, not skipped. */
function withFinished(stop: Stop, { finished = [], subject = '' }: State, isMade: boolean): Stop {
  return { ...stop, state: { ...stop.state, finished: isMade ? [...finished, subject] : finished } }
}

const isInConflict = ({ rows }: State, path: Path): boolean => rows.some(row => isSettledWith(row, path))

type Ending<Does> = { does: Does; name: string; isSkipped: boolean }

/** The sentence for the operation that finishes a merge or a landing. */
function operationOf({ theirs }: State, { does, name, isSkipped }: Ending<'merge' | 'land'>): string {
  if (isSkipped) return `skip the landing of ${visiblePath(theirs)} on ${name}`
  return `${does} ${visiblePath(theirs)} ${does === 'land' ? 'on' : 'into'} ${name}`
}

/** The sentence for the operation that finishes a cherry-pick or a revert. */
function pickingOf(state: State, { does, name, isSkipped }: Ending<'cherry-pick' | 'revert'>): string {
  const { base, theirsCommit, of = 1 } = state
  const one = ((does === 'revert' ? base : undefined) ?? theirsCommit).slice(0, 8)
  const picked = of === 1 ? one : many(of, 'commit')
  if (does === 'revert') return isSkipped ? `skip the revert of ${picked} in ${name}` : `revert ${picked} in ${name}`
  return isSkipped ? `skip the cherry-pick onto ${name}` : `cherry-pick ${picked} onto ${name}`
}

/** The branch with the files that windows show: those of a turn of its AI, if that works on what waits now. */
function asShown({ name, room, tip, head, merging, drafts, shown }: BranchWork): BranchFiles {
  return { name, room, tip, head, merging, drafts: shown.tip === tip ? shown : drafts }
}

/** The tree of the branch with all resolutions. */
const resultTree = ({ room: { objects }, tip, drafts }: BranchFiles) => makeTree(objects, tip, asChanges(drafts.files))

async function keptMoves(objects: Objects, { keep, theirsCommit }: State): Promise<Move[]> {
  if (keep === undefined) return []
  return [{ ref: keep, from: (await objects.info(keep))?.oid, to: theirsCommit }]
}

// --- Open conflicts ---

function rowAt({ rows }: State, path: Path): ConflictRow {
  const row = rows.find(it => it.path === path) ?? rows.find(it => it.paths.includes(path))
  if (row) return row
  throw new Failure(`${visiblePath(path)} is in no conflict.`)
}

const isRow = ({ rows }: State, path: Path): boolean => rows.some(row => row.path === path)

/** The files in conflict: those of the merge, and those whose drafts are in conflict with it. */
async function filesOf(work: BranchFiles, state: State): Promise<MergingFile[]> {
  const files = state.rows.map(async row => {
    const file = await fileOf(work, state, row)
    const mark = isOfDraft(work, row.path, true) ? work.drafts.clashes.get(row.path)?.working?.mark : undefined
    // With markers of the same length, the conflicts of the draft are counted in the file already.
    return mark !== undefined && mark === row.mark ? { ...file, left: 0, all: 0 } : file
  })
  return await withDraftConflicts(work, await Promise.all(files))
}

const UNASKED = 'the AI has changed more of it than it was asked to'

async function fileOf(work: BranchFiles, state: State, row: ConflictRow): Promise<MergingFile> {
  const marks = await marksIn(work, row)
  const wholes = wholesLeft(work, state, row)
  const left = marks.left + wholes
  const by = await modelBehind(work, state, row)
  // What the user has changed since, the user has looked at.
  const isUnasked = left === 0 && state.by[row.path]?.isUnasked === true && by?.isChanged === false
  const words =
    left > 0 && marks.line !== undefined && marks.left > row.all
      ? `a mark in line ${marks.line}`
      : isUnasked
        ? UNASKED
        : wordsFor(row, state)
  const { path, kind, all } = row
  const now = await pathNow(work, row)
  const taken = wholes > 0 || kind === 'text' ? undefined : await takenIn(work, state, row)
  return {
    ...{ path, kind, all, left, state: left > 0 ? 'open' : isUnasked ? 'odd' : 'settled', words },
    ...(by !== undefined && { by }),
    ...(now !== path && { result: now }),
    ...(taken !== undefined && { taken }),
    ...(wholes > 0 && { isWholeOpen: true as const }),
  }
}

/** How many conflicts of a row are open. */
export async function conflictsLeft(work: ConflictFiles, state: StoredMerging, row: ConflictRow): Promise<number> {
  return (await marksIn(work, row)).left + wholesLeft(work, state, row)
}

/** The state in which a conflict is recorded as resolved by what git left of it, or is not. */
function withKept(state: State, { path }: ConflictRow, isKept: boolean): State {
  if (state.kept.includes(path) === isKept) return state
  return { ...state, kept: isKept ? [...state.kept, path] : state.kept.filter(it => it !== path) }
}

/** 1 if a version of the whole file, or its name, is to be chosen. */
function wholesLeft(work: ConflictFiles, { kept }: StoredMerging, row: ConflictRow): number {
  if (row.kind === 'text' || kept.includes(row.path)) return 0
  const names = namesIn(row)
  return (names ? isRenamed(work.drafts.files, names) : isTouched(work, row)) ? 0 : 1
}

/**
 * The paths that the files of a conflict have now, its own first if it is one of them: a side that was taken may have
 * another one. None where all are deleted.
 */
async function pathsNow(
  { room: { objects }, drafts }: ConflictFiles,
  { path, paths, original }: ConflictRow,
): Promise<Path[]> {
  const all = [...new Set([path, ...paths, ...(original === undefined ? [] : [original])])]
  const entries = await Promise.all(all.map(at => entryIn(objects, drafts, at)))
  return all.filter((_, at) => (entries[at]?.mode ?? '040000') !== '040000')
}

/** The path that the file of a conflict has now; its own path if it is deleted. */
export async function pathNow(work: ConflictFiles, row: ConflictRow): Promise<Path> {
  const [path = row.path] = await pathsNow(work, row)
  return path
}

/** The model that changed a file, with what it made of the file. */
async function modelBehind(work: BranchFiles, state: State, row: ConflictRow): Promise<MergingFile['by']> {
  const by = state.by[row.path]
  if (!by) return undefined
  const isChanged = (await entryIn(work.room.objects, work.drafts, await pathNow(work, row)))?.oid !== by.oid
  const { isUnasked: _, ...rest } = by
  return { ...rest, isChanged }
}

/**
 * The models that have a part in the files in conflict: their version of a file is there, or was edited since. What the
 * user has set back, or replaced by a side, is none.
 */
async function modelsIn(work: BranchFiles, { rows, by }: State): Promise<string[]> {
  const found = rows.map(async row => {
    const known = by[row.path]
    if (!known) return []
    const now = (await entryIn(work.room.objects, work.drafts, await pathNow(work, row)))?.oid
    return now === known.oid || now !== known.before ? [known.model] : []
  })
  return [...new Set((await Promise.all(found)).flat())]
}

/** Whether drafts exist at the paths of a conflict. */
const isTouched = ({ drafts }: ConflictFiles, row: ConflictRow): boolean =>
  [...drafts.files.keys()].some(path => isSettledWith(row, path))

/** The number of open conflicts in the text of a row, and the line of the first marker. */
export async function marksIn(work: ConflictFiles, row: ConflictRow) {
  const { mark } = row
  const none: { left: number; line: number | undefined } = { left: 0, line: undefined }
  if (mark === undefined) return none
  const paths = await pathsNow(work, row)
  const texts = await Promise.all(paths.map(path => textAt(work, path)))
  // Of two files with the same conflicts, only the one with more open ones counts.
  return texts
    .map(text => ({ left: marksLeft(text, mark), line: firstMark(text, mark) }))
    .reduce((most, it) => (it.left > most.left ? it : most), none)
}

/** The text of a file, a character a byte; '' where there is no text. */
async function textAt({ room: { objects }, drafts }: ConflictFiles, path: Path): Promise<string> {
  const entry = await entryIn(objects, drafts, path)
  const content = entry && (await contentIn(objects, drafts, path, entry))
  return content?.bytes?.toString('latin1') ?? ''
}

/** The text of a row. */
const textIn = async (work: ConflictFiles, row: ConflictRow): Promise<string> =>
  await textAt(work, await pathNow(work, row))

/** The text of a row in parts; undefined where it has no marks, or these do not match up. */
async function markedParts(work: ConflictFiles, row: ConflictRow): Promise<MarkedPart[] | undefined> {
  return row.mark === undefined ? undefined : markedPartsOf(await textIn(work, row), row.mark)
}

/**
 * Whether the text of a row differs in more than one of the conflicts that it had before: in another one, in a
 * resolution, or in a line without conflict.
 */
export async function differsBeyondOne(
  before: ConflictFiles,
  after: ConflictFiles,
  row: ConflictRow,
): Promise<boolean> {
  const parts = await markedParts(before, row)
  if (!parts) return (await marksIn(before, row)).left - (await marksIn(after, row)).left > 1
  const texts = parts.map(part => ('same' in part ? part.same : part.lines))
  const is = await textIn(after, row)
  return !parts.some((part, at) => {
    const [start, end] = [texts.slice(0, at).join(''), texts.slice(at + 1).join('')]
    const hasBoth = is.length >= start.length + end.length && is.startsWith(start) && is.endsWith(end)
    return 'ours' in part && hasBoth
  })
}

/** The position of one of the open conflicts in a text. */
async function placeOf(work: ConflictFiles, row: ConflictRow, number: number): Promise<ConflictPlace> {
  const parts = await markedParts(work, row)
  const places: number[] = []
  let line = 1
  for (const part of parts ?? []) {
    if (!('same' in part)) places.push(line)
    line += ('same' in part ? part.same : part.lines).split('\n').length - 1
  }
  const at = places[number]
  if (at === undefined) throw new Failure(`There is no such conflict left in ${visiblePath(row.path)}.`)
  return { line: at, number: number + 1, of: places.length }
}

function whyNotYet(
  { name, head }: BranchWork,
  state: State,
  rows: readonly MergingFile[],
  canUpdate: boolean,
): string | undefined {
  const open = rows.filter(row => row.state === 'open')
  const branch = visiblePath(name)
  if (head !== state.from)
    return canUpdate
      ? `${branch} was moved since this began: update the ${nounOf(state.does)}, which keeps what is resolved. Nothing was overwritten.`
      : `${branch} was moved since this began: abort it, and begin anew on what is there now. Nothing was overwritten.`
  if (open.length === 0) return undefined
  const left = open.reduce((sum, row) => sum + row.left, 0)
  const files = open.length <= 2 ? open.map(({ path }) => visiblePath(path)).join(' and ') : many(open.length, 'file')
  return `${many(left, 'conflict')} ${left === 1 ? 'is' : 'are'} left in ${files}.`
}

/** Says that a step whose result changes nothing makes no commit. */
function whySkipped({ does }: State): string {
  if (does === 'land') return 'Nothing is left to land: no commit is made.'
  if (does === 'revert') return 'Nothing is left to revert: no commit is made, as with git revert --skip.'
  const command = does === 'rebase' ? 'git rebase --skip' : 'git cherry-pick --skip'
  return `Nothing is left of this commit: it is left out, as with ${command}.`
}

// --- Taking a side ---

const STAGE = { base: 1, ours: 2, theirs: 3 } as const

/** The versions, in the words of an operation. */
const WORDS: Record<WholeSide, string> = { ours: 'ours', theirs: 'theirs', base: 'the base', both: 'both sides' }

/** The tree entry that one side has in a conflict; undefined if that side has no file there. */
async function entryOfSide(
  objects: Objects,
  { oursCommit, theirsCommit }: StoredMerging,
  { kind, mark, stages }: ConflictRow,
  number: 1 | 2 | 3,
): Promise<Entry> {
  const found = stages.find(({ stage }) => stage === number)
  if (!found) return undefined
  // In a rename/rename conflict, stages 2 and 3 hold git's merged text with markers. A side's own version is read from
  // its commit.
  const isMarked = kind === 'rename/rename' && mark !== undefined && number !== 1
  if (isMarked) return await entryAt(objects, number === 2 ? oursCommit : theirsCommit, found.path)
  return { mode: found.mode, oid: found.oid }
}

/** The tree entries at the paths of a conflict if one side is taken. */
async function entriesOf(
  objects: Objects,
  state: State,
  row: ConflictRow,
  side: Exclude<WholeSide, 'both'>,
): Promise<Map<Path, DraftFile>> {
  const { paths, original, stages } = row
  const wanted = new Map<Path, DraftFile>()
  const chosen = await entryOfSide(objects, state, row, STAGE[side])
  if (original === undefined) {
    const place = stages.find(({ stage }) => stage === STAGE[side])?.path
    for (const path of paths) wanted.set(path, path === place ? chosen : undefined)
    return wanted
  }
  // Git has put the file aside under another name: move it back to its own path, or delete it. A folder at that path is
  // deleted.
  for (const path of paths) wanted.set(path, undefined)
  if (!chosen) return wanted
  const there = await entryAt(objects, state.tree, original)
  if (there?.mode === '040000') {
    const { files } = await listFiles(objects, there.oid, { limit: 100_000 })
    for (const file of files) wanted.set(`${original}/${file.path}`, undefined)
  }
  return wanted.set(original, chosen)
}

/** The tree entries at the paths of a conflict if it is resolved by one side, or by both. */
async function filesBy(
  work: BranchWork,
  state: State,
  row: ConflictRow,
  side: WholeSide,
): Promise<Map<Path, DraftFile>> {
  if (side === 'both') return await textsBy(work, state, row, 'both')
  return await entriesOf(work.room.objects, state, row, side)
}

/** Whether a choice replaces text that was typed or resolved in the files of a conflict: it is none of the versions. */
async function replacesText(
  work: BranchFiles,
  state: State,
  row: ConflictRow,
  wanted: ReadonlyMap<Path, DraftFile>,
): Promise<boolean> {
  const { drafts, room } = work
  if ((await sideAt(room.objects, state, row, path => entryIn(room.objects, drafts, path))) !== undefined) return false
  const kept = new Set([...wanted.values(), ...row.stages].map(file => file?.oid))
  return [...drafts.files].some(([path, file]) => isSettledWith(row, path) && file && !kept.has(file.oid))
}

/** The version that the files of a conflict have now; undefined if it is none of those to choose from. */
async function takenIn(work: BranchFiles, state: State, row: ConflictRow): Promise<WholeSide | undefined> {
  const { drafts, room } = work
  const names = namesIn(row)
  if (names) {
    // A name stays chosen also where its text was typed in.
    const now = await pathsNow(work, row)
    const taken = (['ours', 'theirs', 'base'] as const).filter(side => now.includes(names[side]))
    return taken.length > 1 ? 'both' : taken[0]
  }
  const side = await sideAt(room.objects, state, row, path => entryIn(room.objects, drafts, path))
  return side ?? (row.mark === undefined && !isTouched(work, row) ? 'both' : undefined)
}

/** The side whose files are those at the paths of a conflict; undefined if none is. */
async function sideAt(
  objects: Objects,
  state: State,
  row: ConflictRow,
  entryOf: (path: Path) => Promise<Entry>,
): Promise<Exclude<WholeSide, 'both'> | undefined> {
  const isAt = async (path: Path, wanted: DraftFile) => {
    const there = await entryOf(path)
    return there?.oid === wanted?.oid && there?.mode === wanted?.mode
  }
  const sides = (['ours', 'theirs', 'base'] as const).map(async side => ({
    side,
    wanted: await entriesOf(objects, state, row, side),
  }))
  // A side with a file where the other has a folder names the files of that folder, too: it is compared first.
  const bySize = (await Promise.all(sides)).sort((one, other) => other.wanted.size - one.wanted.size)
  for (const { side, wanted } of bySize) {
    const same = await Promise.all([...wanted].map(([path, file]) => isAt(path, file)))
    if (!same.includes(false)) return side
  }
  return undefined
}

/** The texts of a conflict as they are now, with one side or both of each open conflict instead of its markers. */
async function textsBy(
  work: BranchWork,
  state: State,
  row: ConflictRow,
  side: 'ours' | 'theirs' | 'both',
): Promise<Map<Path, DraftFile>> {
  const { drafts, name, tip } = work
  const { objects } = work.room
  const wanted = new Map<Path, DraftFile>()
  if (row.mark === undefined) return wanted
  const now = await pathsNow(work, row)
  // A file that was deleted is restored.
  for (const path of now.length > 0 ? now : row.paths) {
    const entry = (await entryIn(objects, drafts, path)) ?? (await entryInTip(objects, tip, path))
    const content = entry && (await contentIn(objects, drafts, path, entry))
    if (!entry || !content?.bytes) continue
    const marked = content.bytes.toString('latin1')
    const own = side === 'both' ? undefined : await ownText(objects, state, row, side)
    const text = side === 'both' ? withBoth(marked, row.mark) : textBySide(marked, row.mark, side, own)
    if (text === undefined)
      throw new Failure(
        `The marks in ${visiblePath(path)} in ${visiblePath(name)} do not belong together: mend them in the editor.`,
      )
    const bytes = Buffer.from(text, 'latin1')
    wanted.set(path, { mode: entry.mode, oid: oidOf(objects.repository.format, { type: 'blob', bytes }), bytes })
  }
  return wanted
}

/** The text of a file in conflict as one side has it. */
async function ownText(
  objects: Objects,
  state: StoredMerging,
  row: ConflictRow,
  side: 'ours' | 'theirs',
): Promise<Uint8Array | undefined> {
  const entry = await entryOfSide(objects, state, row, STAGE[side])
  return entry && (await objects.read(entry.oid))?.bytes
}

// --- Oddities ---

/** Whether a model may have resolved a file: the model of the branch's chat (`by`), or that of Forklift's agent. */
const mayBeByModel = ({ forklift }: StoredMerging, { by }: MergingFile): boolean =>
  by?.isChanged === false || forklift !== undefined

function wordsOfOdd(state: StoredMerging, rows: readonly MergingFile[], { words, whole }: Oddities): string[] {
  return whole !== undefined && rows.some(row => mayBeByModel(state, row)) ? [...words, whole] : words
}

function withOdd(state: StoredMerging, rows: readonly MergingFile[], { files: odd, shrunk }: Oddities): MergingFile[] {
  const known = new Set(rows.map(({ path }) => path))
  const settled = rows.map((row): MergingFile => {
    const words = odd.get(row.path) ?? (mayBeByModel(state, row) ? shrunk.get(row.path) : undefined)
    return words === undefined || row.state === 'open' ? row : { ...row, state: 'odd', words }
  })
  const others = [...odd].filter(([path]) => !known.has(path))
  return [
    ...settled,
    ...others.map(
      ([path, words]): MergingFile => ({ path, kind: 'no conflict', state: 'odd', left: 0, all: 0, words }),
    ),
  ]
}
