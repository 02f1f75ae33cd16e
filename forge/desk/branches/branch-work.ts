/**
 * The work on one branch: its tip, its drafts, and the files of it that are open, as they are at the desk and in the
 * repository. Everything that reads or moves its refs goes through one queue; typing does not wait for that, nor does
 * what is typed wait to be written while a commit waits for its signature (branch-lock.ts).
 *
 * What is done with it stands elsewhere: commits in branch-commits.ts, conflicts of drafts in conflicts/, undo
 * in branch-undo.ts.
 */

import { Failure } from '../../../core/failure.ts'
import { marksLeft, withSide } from '../../../core/git/conflict-marks.ts'
import type { Maintenance } from '../../../core/git/maintenance.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import { type Move, RefMoved } from '../../../core/git/refs.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import { type Operations, type Renamed, refsOf } from '../../operations.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import type { Edit, File, Moved } from '../contract/branches.ts'
import type { News } from '../contract/news.ts'
import type { Filters } from '../reading/filters.ts'
import { draftsRef, mergingRef } from '../refs.ts'
import { BranchLock } from './branch-lock.ts'
import { cameIn, headRef } from './branches.ts'
import type { Checkouts } from './checkouts.ts'
import type { Taken } from './documents.ts'
import { mergeDrafts } from './draft-merges.ts'
import {
  asChanges,
  type Clashing,
  type Drafts,
  entryInTip,
  isOpen,
  isSameDrafts,
  makeDrafts,
  type NewDrafts,
  noDrafts,
  readDrafts,
  written,
} from './drafts.ts'
import type { MovedBranches } from './moved-branches.ts'
import { isInTheWay, moveOwnRefs, putAside } from './moving-refs.ts'
import { OpenFiles } from './open-files.ts'
import { type CommitSignature, readSignature, whyNotWritten } from './save.ts'
import { Writing } from './writing.ts'

/** What the work on all branches shares. */
export type BranchServices = {
  objects: Objects
  operations: Operations
  checkouts: Checkouts
  filters: Filters
  maintenance: Maintenance
  moved: MovedBranches
  say: (news: News) => void
}

/**
 * The branch's files as an AI is changing them: they are shown instead of its own, and can't be edited meanwhile. `why`
 * says so in a sentence.
 */
export type AtWork = { files: Drafts; why: string }

/**
 * What a branch is to become: its drafts, and its commit and that of a merge which waits in it, each null for none and
 * left out where it stays. `base`: what the tip is made of, where it is not written yet (see makeDrafts). `gone`: the
 * branch is deleted, with its drafts.
 */
export type Next = {
  drafts: Drafts
  head?: Oid | null
  merging?: Oid | null
  base?: Parameters<typeof makeDrafts>[2]
  /** A file or folder that gets another name by it. */
  renamed?: Renamed | undefined
}

/** What an operation is written down as, and what else belongs to it. */
export type Deed = {
  kind: string
  words: string
  /** The operation that it undoes or does again. */
  of?: Oid
  /** Other refs that move with the branch, and come back with it when it is undone. */
  also?: readonly Move[]
  /** Refs that move with it, and do not come back. */
  unrecorded?: readonly Move[]
  /** What has to be written before the refs can move. */
  made?: readonly NewObject[]
}

/** How a branch becomes something: what has to be written and moved, and what follows, or what is taken back. */
export type Transition = {
  moves: Move[]
  /** What undo takes back, where these are not the moves themselves. */
  recorded?: readonly Move[]
  made?: readonly NewObject[]
  renamed?: Renamed | undefined
  /** Before the refs move; gives what takes that back where they don't. */
  announce?: () => Promise<() => Promise<void>>
  /** After the refs have moved. */
  arrive: (deed: Deed | undefined) => Promise<void>
}

/** A locked branch: the only way to collect its edits, write its drafts or move its refs. */
export interface HeldBranch {
  readonly work: BranchWork
  /** Takes what was typed in open files among the drafts; a file that is as it was saved is none. */
  collect(): Promise<void>
  /** Writes the drafts, where they are not written yet. */
  writeDrafts(): Promise<void>
  /** Looks where the branch and its drafts are in the repository, and brings the drafts along. */
  lookAgain(): Promise<void>
  /** Retries a task on the new state where another program has moved a ref meanwhile. */
  again<Result>(task: () => Promise<Result>): Promise<Result>
  /**
   * Waits for something (a commit's signature) that may take as long as a person does: files are opened meanwhile, and
   * what is typed is written. What has come among the drafts by then is in {@link BranchWork.drafts}, and in the
   * repository. Throws {@link RefMoved} where something else has become of the branch: what was waited for is not about
   * what is there now.
   */
  unlocked<Result>(wait: () => Promise<Result>): Promise<Result>
  /** Gives the branch's files to an AI, shows what has become of them, or (undefined) gives them back. */
  showAtWork(atWork: AtWork | undefined): Promise<void>
  /** Makes other drafts those of the branch, without a commit: they are written soon. */
  becomeSoon(drafts: Drafts, renamed?: Renamed): Promise<void>
  /**
   * Makes something else of the branch: its refs move, all or none, the checkouts follow, and it can be undone where a
   * deed is given. Throws {@link RefMoved} where one of the refs is not where it was seen: then nothing has happened.
   */
  become(next: Next, deed?: Deed): Promise<void>
  /** The same for a branch that is deleted, with its drafts. */
  vanish(deed: Deed): Promise<void>
  /** How {@link become} does it, for several branches at once: see {@link becomeTogether}. */
  transitionTo(next: Next | 'gone'): Promise<Transition>
  /** The refs of the branch and of its drafts have another name. */
  rename(to: string): void
}

/** Makes something else of several branches in one operation. */
export async function becomeTogether(
  room: BranchServices,
  all: readonly (readonly [HeldBranch, Next | 'gone'])[],
  deed?: Deed,
): Promise<void> {
  const transitions = await Promise.all(all.map(([held, next]) => held.transitionTo(next)))
  await carryOutTransitions(room, transitions, deed)
}

/** Announces transitions of locked branches, moves their refs, all or none, and follows up; or takes all back. */
export async function carryOutTransitions(
  room: BranchServices,
  transitions: readonly Transition[],
  deed: Deed | undefined,
): Promise<void> {
  const withdrawals = await Promise.all(transitions.map(({ announce }) => announce?.()))
  try {
    await record(room, transitions, deed)
  } catch (error) {
    for (const withdraw of withdrawals) await withdraw?.()
    throw error
  }
  for (const { arrive } of transitions) await arrive(deed)
}

async function record(
  { objects, operations }: BranchServices,
  transitions: readonly Transition[],
  deed?: Deed,
): Promise<void> {
  const own = transitions.flatMap(({ moves }) => moves)
  const made = [...(deed?.made ?? []), ...transitions.flatMap(it => it.made ?? [])]
  if (!deed) {
    await writeObjects(objects.repository, made)
    await moveOwnRefs(objects, own, '')
    return
  }
  const { kind, words, of, also = [], unrecorded = [] } = deed
  const recorded = [...transitions.flatMap(it => it.recorded ?? it.moves), ...also].filter(isMove)
  const renamed = transitions.find(it => it.renamed)?.renamed
  const moves = [...own, ...[...also, ...unrecorded].filter(isMove)]
  await operations.record({ kind, words, moves, refs: refsOf(recorded), made, renamed, ...(of && { of }) })
}

/** Whether a ref really moves. */
export const isMove = ({ from, to }: Move): boolean => from !== to

/** Milliseconds after which a wait for a signature is shown: it probably waits for a person. */
const LONG_WAIT = 500

/** How often a task is retried because another program has moved the same refs. */
const TRIES = 10

export class BranchWork {
  #name: string
  #drafts: Drafts
  /** The drafts as they are in the repository, and their commit. */
  #written: { commit: Oid | undefined; drafts: Drafts }
  #isGone = false
  /** A merge that waits for a person: the drafts stand on it, and the branch itself stays where it is until it ends. */
  #merging: { commit: Oid; head: Oid | undefined } | undefined
  #atWork: AtWork | undefined
  #moved: Moved | undefined
  readonly #files: OpenFiles
  readonly #writing: Writing
  readonly #lock = new BranchLock(isWaiting => this.#sayWaiting(isWaiting))
  #waitingTimer: ReturnType<typeof setTimeout> | undefined
  #hasSaidWaiting = false
  /** The files with drafts when it was last said that there are others. */
  #saidDrafts = ''
  /** Given only to tasks that have locked the branch. */
  readonly #held: HeldBranch = {
    work: this,
    collect: () => this.#collect(),
    writeDrafts: () => this.#writeDrafts(),
    lookAgain: () => this.#lookAgain(),
    again: task => this.#again(task),
    unlocked: wait => this.#unlocked(wait),
    showAtWork: atWork => this.#showAtWork(atWork),
    becomeSoon: (drafts, renamed) => this.#becomeSoon(drafts, renamed),
    become: (next, deed) => becomeTogether(this.room, [[this.#held, next]], deed),
    vanish: deed => becomeTogether(this.room, [[this.#held, 'gone']], deed),
    transitionTo: next => (next === 'gone' ? this.#vanishing() : this.#transitionTo(next)),
    rename: to => this.#rename(to),
  }

  private constructor(
    name: string,
    readonly room: BranchServices,
    tip: Oid | undefined,
  ) {
    this.#name = name
    this.#drafts = noDrafts(tip)
    this.#written = { commit: undefined, drafts: this.#drafts }
    this.#files = new OpenFiles(name, room.objects, room.filters, room.say)
    const tell = { failing: (error: unknown) => this.#tellFailing(error), again: () => this.#tellAgain() }
    this.#writing = new Writing(() => this.write(), tell)
  }

  /**
   * The work on a branch as the repository has it: with the drafts of an earlier time. `was` is where it was, if it is
   * gone.
   */
  static async open(room: BranchServices, name: string, was?: Oid): Promise<BranchWork> {
    const tip = (await room.objects.info(`${headRef(name)}^{commit}`))?.oid
    const work = new BranchWork(name, room, tip ?? was)
    work.#moved = room.moved.of(name)
    await work.refresh()
    return work
  }

  get name(): string {
    return this.#name
  }

  /** The commit that the drafts stand on: the branch's own, or that of a merge which waits in it. */
  get tip(): Oid | undefined {
    return this.#drafts.tip
  }

  /** The branch's own commit. */
  get head(): Oid | undefined {
    return this.#merging ? this.#merging.head : this.tip
  }

  /** The commit of a merge that waits in the branch for a person. */
  get merging(): Oid | undefined {
    return this.#merging?.commit
  }

  /** The drafts without what was typed a moment ago: {@link HeldBranch.collect} brings it among them. */
  get drafts(): Drafts {
    return this.#drafts
  }

  /** The commit of the drafts as they are in the repository, if there are any. */
  get draftsCommit(): Oid | undefined {
    return this.#written.commit
  }

  /** The branch was deleted by another program; its drafts are kept. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** What is shown of the branch: its drafts, or what an AI is making of its files. */
  get #shown(): Drafts {
    return this.#atWork?.files ?? this.#drafts
  }

  /** How another program moved the branch while there were drafts, for as long as there are. */
  get moved(): Moved | undefined {
    return this.draftPaths.length > 0 ? this.#moved : undefined
  }

  get hasOpenFiles(): boolean {
    return this.#files.hasAny
  }

  /** The files with something in them that is not saved. */
  get draftPaths(): Path[] {
    return [...new Set([...this.#drafts.files.keys(), ...this.#drafts.clashes.keys(), ...this.#files.typed])].sort()
  }

  /** Those of them that are in conflict with what has become of the branch. */
  get conflictPaths(): Path[] {
    return [...this.#drafts.clashes].flatMap(([path, clash]) => (isOpen(clash) ? [path] : [])).sort()
  }

  /** Does something that no other work on this branch's refs may come between. */
  async locked<Result>(task: (held: HeldBranch) => Promise<Result>): Promise<Result> {
    return await this.#lock.hold(() => task(this.#held))
  }

  /**
   * The same for what only looks, or takes and writes what is typed: it need not wait while a commit waits for its
   * signature (see {@link HeldBranch.unlocked}).
   */
  async brieflyLocked<Result>(task: (held: Pick<HeldBranch, 'collect'>) => Promise<Result>): Promise<Result> {
    return await this.#lock.hold(() => task(this.#held), { isBrief: true })
  }

  async #unlocked<Result>(wait: () => Promise<Result>): Promise<Result> {
    const { tip, head, merging, isGone } = this
    const { clashes } = this.#drafts
    const result = await this.#lock.stepAside(wait)
    const isSame = this.tip === tip && this.head === head && this.merging === merging && this.isGone === isGone
    if (isSame && isSameDrafts({ ...noDrafts(tip), clashes }, { ...this.#drafts, files: new Map() })) return result
    throw new RefMoved(headRef(this.name), head, this.head)
  }

  // --- Files ---------------------------------------------------------------------------------------------------------

  async open(path: Path): Promise<File> {
    return await this.brieflyLocked(async () => {
      await this.#collect()
      return await this.#files.open(this.#shown, path)
    })
  }

  async close(path: Path): Promise<void> {
    await this.brieflyLocked(async () => {
      this.#files.close(path)
      await this.#collect()
    })
  }

  /** Takes edits of an open file, at once: they are written soon. */
  edit(path: Path, version: number, edits: readonly Edit[]): Taken {
    this.verifyFree()
    const taken = this.#files.edit(path, version, edits)
    if (!taken.accepted || taken.edits.length === 0) return taken
    this.#sayDrafts()
    this.#writing.begin()
    return taken
  }

  /** The files of the branch with all drafts, as they are at this moment. */
  async vfs(): Promise<WorkInProgressVfs> {
    return await this.brieflyLocked(async () => {
      await this.#collect()
      const { tip, files, clashes } = this.#shown
      const changes = asChanges(files)
      for (const [path, { mode, draft, bytes, working }] of clashes) {
        const shown = working ?? { oid: draft, bytes }
        changes.set(path, shown.bytes ? { mode, bytes: shown.bytes } : { mode, oid: shown.oid })
      }
      return new WorkInProgressVfs(this.room.objects, tip, changes)
    })
  }

  /** What is typed in a file in conflict is in its working text, and the draft is what that has on its own side. */
  #typedIn(clash: Clashing, { oid, bytes }: { oid: Oid; bytes: Buffer }): Clashing {
    const { working } = clash
    if (!working) return { ...clash, draft: oid, bytes }
    const text = bytes.toString('latin1')
    const own = Buffer.from(withSide(text, working.mark, 'ours') ?? text, 'latin1')
    const draft = oidOf(this.room.objects.repository.format, { type: 'blob', bytes: own })
    const left = marksLeft(text, working.mark)
    return { ...clash, draft, bytes: own, working: { ...working, oid, bytes, left } }
  }

  /** Files in which no conflict is left are ordinary drafts from now on. */
  async #takeSettled(): Promise<void> {
    const files = new Map(this.#drafts.files)
    const clashes = new Map(this.#drafts.clashes)
    for (const [path, clash] of this.#drafts.clashes) {
      if (isOpen(clash) || !clash.working) continue
      const { oid, bytes } = clash.working
      const saved = await entryInTip(this.room.objects, this.tip, path)
      clashes.delete(path)
      if (saved?.oid === oid && saved.mode === clash.mode) files.delete(path)
      else files.set(path, { mode: clash.mode, oid, ...(bytes && { bytes }) })
    }
    if (clashes.size < this.#drafts.clashes.size) this.#drafts = { ...this.#drafts, files, clashes }
  }

  async #collect(): Promise<void> {
    const { objects } = this.room
    const typed = [...this.#files.typed].map(async path => [path, await entryInTip(objects, this.tip, path)] as const)
    for (const [path, saved] of await Promise.all(typed)) {
      // From here on nothing is waited for: an edit comes before all of this or after it.
      const bytes = this.#files.take(path)
      if (!bytes) continue
      const mode = (this.#drafts.files.get(path) ?? saved)?.mode ?? '100644'
      const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
      const files = new Map(this.#drafts.files)
      const clashes = new Map(this.#drafts.clashes)
      const clash = clashes.get(path)
      if (clash) clashes.set(path, this.#typedIn(clash, { oid, bytes }))
      else if (saved?.oid === oid && saved.mode === mode) files.delete(path)
      else files.set(path, { mode, oid, bytes })
      this.#drafts = { ...this.#drafts, files, clashes }
      this.#files.took(path, { mode, oid })
    }
    this.#files.forgetClosed()
  }

  // --- Drafts, written -----------------------------------------------------------------------------------------------

  /** Writes what is not written yet; throws where that is not possible now. It will be tried again then. */
  async write(): Promise<void> {
    await this.brieflyLocked(async () => {
      try {
        await this.#collect()
        // What was typed and taken out again is no draft any more.
        this.#sayDrafts()
        await this.#writeDrafts()
        this.#writing.succeeded()
      } catch (error) {
        await this.#writing.failed(error)
        throw error
      }
    })
  }

  /** What has become of the drafts is written soon, if it is not yet. */
  #writeSoon(): void {
    if (!isSameDrafts(this.#drafts, this.#written.drafts)) this.#writing.begin()
  }

  writeNow(): void {
    this.#writing.begin(0)
  }

  async #writeDrafts(): Promise<void> {
    const { objects } = this.room
    for (let tries = 0; tries < TRIES; tries++) {
      if (isSameDrafts(this.#drafts, this.#written.drafts)) return
      const drafts = this.#drafts
      const made = await makeDrafts(objects, drafts)
      await writeObjects(objects.repository, made?.made ?? [])
      try {
        await moveOwnRefs(objects, [this.#draftsMove(made)], '')
        this.#wrote(made?.oid, drafts)
        return
      } catch (error) {
        await this.#makeWay(error)
      }
      await this.#lookAgain()
    }
    throw new Failure(`Drafts of ${visiblePath(this.name)} are written by another program all the time.`)
  }

  /** What takes the drafts in the repository to these. */
  #draftsMove(made: NewDrafts | undefined): Move {
    return { ref: draftsRef(this.name), from: this.#written.commit, to: made?.oid }
  }

  /** What is written need not be in memory any more. */
  #wrote(commit: Oid | undefined, drafts: Drafts): void {
    const kept = written(drafts)
    this.#written = { commit, drafts: kept }
    if (this.#drafts === drafts) this.#drafts = kept
  }

  async #tellFailing(error: unknown): Promise<void> {
    const why = await whyNotWritten(this.room.objects.repository, error)
    const kept = 'It is kept as long as the desk runs, and written as soon as it can be'
    this.#noticeOfDrafts(`What is typed in ${visiblePath(this.name)} can't be written: ${why}. ${kept}.`, true)
  }

  #tellAgain(): void {
    this.#noticeOfDrafts('What is typed can be written to the disk again: nothing was lost.', false)
  }

  /** Nothing is written any more. */
  end(): void {
    this.#writing.end()
    this.#sayWaiting(false)
  }

  /** Otherwise a discard or an undo would show nothing while a commit waits for its signature. */
  #sayWaiting(isWaiting: boolean): void {
    clearTimeout(this.#waitingTimer)
    const { say } = this.room
    if (isWaiting)
      this.#waitingTimer = setTimeout(() => {
        this.#hasSaidWaiting = true
        const words = `A commit in ${visiblePath(this.name)} is still being made: what you wanted there comes after it. If it is to be signed, sign it or refuse that.`
        say({ say: 'waiting', branch: this.name, words })
      }, LONG_WAIT)
    else if (this.#hasSaidWaiting) {
      this.#hasSaidWaiting = false
      say({ say: 'waiting', branch: this.name })
    }
  }

  #noticeOfDrafts(words: string, isBad: boolean): void {
    this.room.say({ say: 'notice', topic: `drafts of ${this.name}`, words, isBad })
  }

  #sayDrafts(): void {
    if (this.#draftsInWords !== this.#saidDrafts) this.#sayBranch({ isOfDrafts: true })
  }

  get #draftsInWords(): string {
    return [...this.draftPaths, '', ...this.conflictPaths].join('\0')
  }

  #sayBranch(what: { isOfDrafts?: true } = {}): void {
    this.#saidDrafts = this.#draftsInWords
    this.room.say({ say: 'branch', branch: this.name, ...what })
  }

  // --- One thing after the other -------------------------------------------------------------------------------------

  /**
   * Works on the newest state, and retries where another program has moved a ref meanwhile. While an AI is at work in
   * the branch, only that which ends its work may do so (`isTurn`); while a merge waits in it, only what settles or
   * ends that (`isMerging`).
   */
  async inOneGo<Result>(
    task: (held: HeldBranch, signature: Promise<CommitSignature>) => Promise<Result>,
    { isTurn = false, isMerging = false } = {},
  ): Promise<Result> {
    return await this.locked(async () => {
      if (!isTurn) this.verifyFree()
      if (!isMerging) this.verifyNotMerging()
      const signature = readSignature(this.room.objects.repository)
      // Waiting callers get the error; without any, nothing was to be signed.
      signature.catch(() => undefined)
      await this.#collect()
      this.#verifyThere()
      return await this.#again(async () => {
        if (!isMerging) this.verifyNotMerging()
        await this.#takeSettled()
        return await task(this.#held, signature)
      })
    })
  }

  async #again<Result>(task: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await task()
      } catch (error) {
        if (tries >= TRIES) throw await this.#inWords(error)
        await this.#makeWay(error)
      }
      await this.#collect()
      await this.#lookAgain()
      this.#verifyThere()
    }
  }

  /** After what can be mended, so that it is worth another try; throws what can't be. */
  async #makeWay(error: unknown): Promise<void> {
    if (error instanceof RefMoved) return
    // A branch that is there is in no other's way: the drafts are those of one that is gone.
    if (!isInTheWay(error) || this.#isGone) throw await this.#inWords(error)
    await putAside(this.room.operations, this.name)
  }

  /** An error of git or of the disk, as a sentence for the person. */
  async #inWords(error: unknown): Promise<unknown> {
    if (!(error instanceof GitError)) return error
    const why = await whyNotWritten(this.room.objects.repository, error)
    return new Failure(`Nothing was done in ${visiblePath(this.name)}: ${why}. What was typed is kept.`)
  }

  /** An AI is at work in the branch, or what it left has to be kept or let go. */
  get isHeld(): boolean {
    return this.#atWork !== undefined
  }

  /** Throws a {@link Failure} where it is. */
  verifyFree(): void {
    if (this.#atWork) throw new Failure(this.#atWork.why)
  }

  /** Throws a {@link Failure} where a merge waits in the branch for a person. */
  verifyNotMerging(): void {
    if (!this.#merging) return
    const name = visiblePath(this.name)
    throw new Failure(`A merge waits in ${name}: finish it, which saves all of it, or abort it first.`)
  }

  #verifyThere(): void {
    if (!this.#isGone) return
    const name = visiblePath(this.name)
    throw new Failure(`The branch ${name} was deleted: bring it back first. What was typed in it is kept.`)
  }

  // --- What others have done -----------------------------------------------------------------------------------------

  /**
   * Looks where the branch and its drafts are, and brings the drafts along where another program has moved one of them.
   */
  async refresh(): Promise<void> {
    await this.brieflyLocked(async () => {
      await this.#collect()
      await this.#lookAgain()
    })
    this.#writeSoon()
  }

  async #lookAgain(): Promise<void> {
    const { objects } = this.room
    const [head, draftsCommit, merging] = await Promise.all([
      objects.info(`${headRef(this.name)}^{commit}`),
      objects.info(draftsRef(this.name)),
      objects.info(`${mergingRef(this.name)}^{commit}`),
    ])
    if (draftsCommit?.oid !== this.#written.commit) await this.#takeDraftsOf(draftsCommit?.oid)
    const [wasGone, wasMerging, known] = [this.#isGone, this.merging, this.head]
    this.#isGone = head === undefined && known !== undefined
    this.#merging = merging && { commit: merging.oid, head: head?.oid ?? known }
    const tip = merging ?? head
    const isOther = wasGone !== this.#isGone || wasMerging !== this.merging || (merging && known !== this.head)
    if (tip && tip.oid !== this.tip) await this.#moveTo(tip.oid)
    else if (isOther) this.#sayBranch()
  }

  /** The drafts that another desk, or an earlier time, has written. */
  async #takeDraftsOf(commit: Oid | undefined): Promise<void> {
    const { objects } = this.room
    const theirs = commit === undefined ? noDrafts(this.tip) : await readDrafts(objects, commit)
    if (!theirs) throw new Failure(`${draftsRef(this.name)} is no commit: delete it by git update-ref -d.`)
    // Without written drafts, the branch may have moved since its refs were last read.
    const before = this.#written.commit === undefined ? noDrafts(this.tip) : this.#written.drafts
    const merged = await this.#merged(drafts => mergeDrafts(objects, before, drafts, theirs))
    this.#written = { commit, drafts: theirs }
    await this.#show(merged)
  }

  async #moveTo(tip: Oid): Promise<void> {
    const { objects } = this.room
    const before = this.moved?.from ?? this.tip
    this.#moved =
      before === undefined || this.draftPaths.length === 0
        ? undefined
        : { from: before, to: tip, ...(await cameIn(objects.repository, before, tip)) }
    this.room.moved.keep(this.name, this.#moved)
    await this.#show(await this.#merged(drafts => mergeDrafts(objects, noDrafts(this.tip), drafts, noDrafts(tip))))
  }

  /** A merge of all that was typed until it was done, if people do not type all too fast. */
  async #merged(merge: (drafts: Drafts) => Promise<Drafts>): Promise<Drafts> {
    for (let tries = 1; ; tries++) {
      const merged = await merge(this.#drafts)
      if (this.#files.typed.size === 0 || tries >= TRIES) return merged
      await this.#collect()
    }
  }

  // --- What becomes of it --------------------------------------------------------------------------------------------

  /** Makes other drafts those of this branch, and lets the open files follow. */
  async #show(drafts: Drafts): Promise<void> {
    this.#drafts = drafts
    await this.#files.follow(this.#shown)
    if (this.draftPaths.length === 0) {
      this.#moved = undefined
      this.room.moved.keep(this.name, undefined)
    }
    this.#sayBranch()
  }

  /** At once with what was looked at before: from then on nothing can be typed. */
  async #showAtWork(atWork: AtWork | undefined): Promise<void> {
    this.#atWork = atWork
    await this.#files.hold(this.#shown, atWork?.why)
    this.#sayBranch()
  }

  async #becomeSoon(drafts: Drafts, renamed: Renamed | undefined): Promise<void> {
    if (renamed) this.#reopen(renamed)
    await this.#show(drafts)
    this.#writeSoon()
  }

  /** The drafts as they are written now are those of the branch. */
  async #showWritten(commit: Oid | undefined, drafts: Drafts): Promise<void> {
    this.#written = { commit, drafts: written(drafts) }
    await this.#show(this.#written.drafts)
  }

  async #transitionTo({ drafts, head, merging, base, renamed }: Next): Promise<Transition> {
    const { name } = this
    const { checkouts } = this.room
    const before = this.head
    const after = head === undefined ? before : (head ?? undefined)
    const waiting = merging === undefined ? this.merging : (merging ?? undefined)
    const made = await makeDrafts(this.room.objects, drafts, base)
    const own = { ref: headRef(name), from: this.#isGone ? undefined : before, to: after }
    const moves = [
      ...(head === undefined ? [] : [own]),
      { ref: mergingRef(name), from: this.merging, to: waiting },
      this.#draftsMove(made),
    ]
    const arrive = async (deed: Deed | undefined) => {
      if (head !== undefined) {
        if (before !== after) checkouts.follow(name, before, after, deed?.kind === 'save')
        this.#isGone = false
      }
      this.#merging = waiting === undefined ? undefined : { commit: waiting, head: after }
      if (renamed) this.#reopen(renamed)
      await this.#showWritten(made?.oid, drafts)
    }
    const announce = () => checkouts.announce(name, before, after)
    return { moves: moves.filter(isMove), made: made?.made ?? [], renamed, announce, arrive }
  }

  /** What was typed since the branch was looked at is kept with all before it, as a draft of a branch that is gone. */
  async #vanishing(): Promise<Transition> {
    const moves = [
      { ref: headRef(this.name), from: this.#isGone ? undefined : this.head, to: undefined },
      this.#draftsMove(undefined),
    ]
    const arrive = async () => {
      this.#isGone = this.tip !== undefined
      const isTypedIn = this.#files.typed.size > 0
      this.#written = { commit: undefined, drafts: noDrafts(this.tip) }
      await this.#show(isTypedIn ? this.#drafts : this.#written.drafts)
    }
    return { moves: moves.filter(isMove), arrive }
  }

  #rename(to: string): void {
    this.room.moved.keep(this.#name, undefined)
    this.#name = to
    this.room.moved.keep(to, this.#moved)
    this.#files.rename(to)
  }

  /** Files that are open follow a file or folder to its other name. */
  #reopen(renamed: Renamed): void {
    this.#files.reopen(renamed)
    if (this.#files.typed.size > 0) this.#writing.begin()
  }
}
