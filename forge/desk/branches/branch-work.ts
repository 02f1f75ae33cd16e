/**
 * The work on one branch: its tip, its drafts, and its open files, in the desk and in the repository. Everything that
 * reads or moves its refs goes through one queue. Typing does not wait for the queue, and drafts are written while a
 * commit waits for its signature (branch-lock.ts).
 *
 * The changes themselves are elsewhere: commits in branch-commits.ts, conflicts of drafts in conflicts/, undo in
 * branch-undo.ts.
 */

import { Failure } from '../../../core/failure.ts'
import { changedFiles } from '../../../core/git/diffs.ts'
import type { Maintenance } from '../../../core/git/maintenance.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import { isFolderOfOther } from '../../../core/git/patience.ts'
import { listRefs, type Move, RefMoved } from '../../../core/git/refs.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { firstOf, visiblePath } from '../../../core/text.ts'
import { type Operations, type Renamed, refsOf } from '../../operations.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import type { Edit, File, Moved } from '../contract/branches.ts'
import type { News } from '../contract/news.ts'
import { nameBeforeAside } from '../contract/paths.ts'
import type { Filters } from '../reading/filters.ts'
import { branchOfWork, DRAFTS, draftsRef, MERGING, mergingRef } from '../refs.ts'
import { BranchLock } from './branch-lock.ts'
import { cameIn, headRef } from './branches.ts'
import type { Checkouts } from './checkouts.ts'
import { textsOf, typedIn } from './clash-texts.ts'
import type { Taken } from './documents.ts'
import { mergeDrafts } from './draft-merges.ts'
import { originsIn } from './draft-renames.ts'
import {
  asChanges,
  type Drafts,
  entryIn,
  entryInTip,
  isByTheirs,
  isOpen,
  isSameClash,
  isSameDrafts,
  makeDrafts,
  type NewDrafts,
  noDrafts,
  readDrafts,
  withSettled,
  written,
} from './drafts.ts'
import type { MovedBranches } from './moved-branches.ts'
import { isInTheWay, moveOwnRefs, putAside, puttingAside } from './moving-refs.ts'
import { OpenFiles } from './open-files.ts'
import { type CommitSignature, readSignature, whyNotWritten } from './save.ts'
import { Writing } from './writing.ts'
import type { WrittenHere } from './written-here.ts'

/** Drafts can't be written, since git can't keep their ref beside that of another branch's. */
class InTheWay extends Failure {}

/** The services that all branches share. */
export type BranchServices = {
  /** An id of this run of the desk. */
  run: string
  objects: Objects
  operations: Operations
  checkouts: Checkouts
  filters: Filters
  maintenance: Maintenance
  moved: MovedBranches
  writtenHere: WrittenHere
  /** The branches, with their commits, when the desk last looked for changes by other programs. */
  seen: { branches: ReadonlyMap<string, Oid> }
  say: (news: News) => void
}

/**
 * The files as an AI is changing them, shown read-only instead of the branch's own. `why`: the reason, as a sentence.
 */
export type AtWork = { files: Drafts; why: string }

/**
 * The next state of a branch: its drafts, its commit, and the commit of a waiting merge (null: none; undefined:
 * unchanged). `base`: the content of the tip, if the tip is not written yet (see makeDrafts). `gone`: the branch is
 * deleted, with its drafts.
 */
export type Next = {
  drafts: Drafts
  head?: Oid | null
  merging?: Oid | null
  base?: Parameters<typeof makeDrafts>[2]
  /** The renames of files and folders that the transition includes. */
  renamed?: readonly Renamed[] | undefined
  /** The files and folders that the user deletes: windows keep showing what they have unsaved of these. */
  deleted?: readonly Path[] | undefined
}

/** The files of a branch in one state of it. */
export type BranchFiles = Pick<BranchWork, 'name' | 'room' | 'tip' | 'head' | 'merging' | 'drafts'>

/** The description of an operation, and the refs that move with it. */
export type Deed = {
  kind: string
  words: string
  /** The operation that this one undoes or redoes. */
  of?: Oid
  /** Other refs that move with the branch, and are restored by an undo. */
  also?: readonly Move[]
  /** Refs that move with the branch, but are not restored by an undo. */
  unrecorded?: readonly Move[]
  /** Objects to write before the refs move. */
  made?: readonly NewObject[]
}

/** A change of a branch: the objects to write, the refs to move, and the actions before and after. */
export type Transition = {
  moves: Move[]
  /** The moves of refs that an undo of the operation reverts; undefined: `moves`. */
  recorded?: readonly Move[]
  made?: readonly NewObject[]
  renamed?: readonly Renamed[] | undefined
  /** Called before the refs move. Returns a function to call if the refs could not be moved. */
  announce?: () => Promise<() => Promise<void>>
  /** Called after the refs have moved. */
  arrive: () => Promise<void>
}

/** A locked branch. Only through it are edits collected, drafts written, and refs moved. */
export interface HeldBranch {
  readonly work: BranchWork
  /** Adds the edits of open files to the drafts. A file that is as it was saved is no draft. */
  collect(): Promise<void>
  /** Writes the drafts into the repository, unless they are there already. */
  writeDrafts(): Promise<void>
  /** Reads the refs of the branch and its drafts again; if one of these refs has moved, merges the drafts with that. */
  lookAgain(): Promise<void>
  /** Runs a task; if another program has moved a ref meanwhile, runs the task again on the new state. */
  again<Result>(task: () => Promise<Result>): Promise<Result>
  /**
   * Waits for something that may need the user, such as a signature. Meanwhile files can be opened and edits are
   * written: {@link BranchWork.drafts} then contains them. Throws {@link RefMoved} if the branch has moved, so that the
   * result does not apply.
   */
  unlocked<Result>(wait: () => Promise<Result>): Promise<Result>
  /** Shows the branch's files as an AI changes them, read-only; undefined ends that. */
  showAtWork(atWork: AtWork | undefined): Promise<void>
  /** Replaces the branch's drafts without a commit. They are written soon. */
  becomeSoon(drafts: Drafts): Promise<void>
  /**
   * Changes the branch: all its refs move or none, and the checkouts follow. With `deed`, the change is recorded as an
   * operation that can be undone, and its id is returned. Throws {@link RefMoved}, without any effect, if a ref has
   * moved.
   */
  become(next: Next, deed?: Deed): Promise<Oid | undefined>
  /**
   * Deletes the branch with its drafts, in one operation. Like {@link become}, it throws {@link RefMoved} if a ref has
   * moved.
   */
  vanish(deed: Deed): Promise<Oid | undefined>
  /** The transition that {@link become} would run, for {@link becomeTogether}, which runs those of several branches. */
  transitionTo(next: Next | 'gone'): Promise<Transition>
  /** Sets the names of the branch's refs after a rename. */
  rename(to: string): void
}

/** Changes several branches in one operation. Returns its id; without `deed`, no operation is recorded. */
export async function becomeTogether(
  room: BranchServices,
  all: readonly (readonly [HeldBranch, Next | 'gone'])[],
  deed?: Deed,
): Promise<Oid | undefined> {
  const transitions = await Promise.all(all.map(([held, next]) => held.transitionTo(next)))
  return await carryOutTransitions(room, transitions, deed)
}

/**
 * Calls `announce` of all transitions, moves all their refs or none, and calls `arrive`; if the refs could not be
 * moved, reverts the announcements. Returns the id of the operation, which is recorded only with `deed`.
 */
export async function carryOutTransitions(
  room: BranchServices,
  transitions: readonly Transition[],
  deed: Deed | undefined,
): Promise<Oid | undefined> {
  const withdrawals: (() => Promise<void>)[] = []
  let operation: Oid | undefined
  try {
    for (const { announce } of transitions) if (announce) withdrawals.push(await announce())
    operation = await record(room, transitions, deed)
  } catch (error) {
    for (const withdraw of withdrawals) await withdraw()
    throw error
  }
  for (const { arrive } of transitions) await arrive()
  return operation
}

async function record(
  { objects, operations }: BranchServices,
  transitions: readonly Transition[],
  deed?: Deed,
): Promise<Oid | undefined> {
  const own = transitions.flatMap(({ moves }) => moves)
  const made = [...(deed?.made ?? []), ...transitions.flatMap(it => it.made ?? [])]
  if (!deed) {
    await writeObjects(objects.repository, made)
    await moveOwnRefs(objects, own, '')
    return undefined
  }
  const { kind, words, of, also = [], unrecorded = [] } = deed
  const recorded = [...transitions.flatMap(it => it.recorded ?? it.moves), ...also].filter(isMove)
  const renamed = transitions.flatMap(it => it.renamed ?? [])
  const moves = [...own, ...[...also, ...unrecorded].filter(isMove)]
  return await operations.record({ kind, words, moves, refs: refsOf(recorded), made, renamed, ...(of && { of }) })
}

/** Whether a ref actually moves. */
export const isMove = ({ from, to }: Move): boolean => from !== to

/** Time after which waiting for a signature is shown, in milliseconds: it probably waits for the user. */
const WAIT_NOTICE_DELAY_MS = 500

/** At most this many branches are named in a message. */
const MAX_NAMED_BRANCHES = 3

/** At most this many tries while other programs move the same refs. */
const MAX_TRIES = 10

type Listed = { paths: readonly Path[]; all: ReadonlySet<Path> }
type SaidDrafts = { paths: readonly Path[]; conflicts: readonly Path[] }

function listed(drafts: Drafts): Listed {
  const all = new Set([...drafts.files.keys(), ...drafts.clashes.keys()])
  const origins = originsIn(drafts)
  const hidden = new Set(origins.values())
  // Nothing is left of a draft that was resolved by the branch's version; until a save, the choice can be changed.
  for (const [path, clash] of drafts.clashes)
    if (isByTheirs(clash) && !drafts.files.has(path) && !origins.has(path)) hidden.add(path)
  return { paths: [...all].filter(path => !hidden.has(path)).sort(), all }
}

const isSameList = (one: readonly Path[], other: readonly Path[]): boolean =>
  one === other || (one.length === other.length && one.every((path, at) => path === other[at]))

export class BranchWork {
  #name: string
  #drafts: Drafts
  /** The drafts in the repository, and their commit. */
  #written: { commit: Oid | undefined; drafts: Drafts }
  #isGone = false
  /** A waiting merge: the drafts are on its commit, and the branch itself stays at `head` until it ends. */
  #merging: { commit: Oid; head: Oid | undefined } | undefined
  #atWork: AtWork | undefined
  #moved: Moved | undefined
  #unwritten: string | undefined
  readonly #files: OpenFiles
  readonly #writing: Writing
  readonly #lock = new BranchLock(isWaiting => this.#sayWaiting(isWaiting))
  #waitingTimer: ReturnType<typeof setTimeout> | undefined
  #hasSaidWaiting = false
  /** The drafts as {@link draftPaths} lists them, cached since every edit reads the list. */
  #listed: Listed & { drafts: Drafts }
  /** The files with drafts in the last news. */
  #saidDrafts: SaidDrafts = { paths: [], conflicts: [] }
  /** The operations that need the branch's lock: given only to tasks that have locked it. */
  readonly #held: HeldBranch = {
    work: this,
    collect: () => this.#collect(),
    writeDrafts: () => this.#writeDrafts(),
    lookAgain: () => this.#lookAgain(),
    again: task => this.#again(task),
    unlocked: wait => this.#unlocked(wait),
    showAtWork: atWork => this.#showAtWork(atWork),
    becomeSoon: drafts => this.#becomeSoon(drafts),
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
    this.#listed = { drafts: this.#drafts, ...listed(this.#drafts) }
    this.#files = new OpenFiles(name, room)
    const tell = { failing: (error: unknown) => this.#tellFailing(error), again: () => this.#tellAgain() }
    this.#writing = new Writing(() => this.write(), tell)
  }

  /** Opens a branch with the drafts in the repository. `was`: its last commit, if it is deleted. */
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

  /** Why what is typed can't be written into the repository now, as the end of a sentence; undefined if it can be. */
  get unwritten(): string | undefined {
    return this.#unwritten
  }

  /** The commit that the drafts are on: the branch's own, or that of a waiting merge. */
  get tip(): Oid | undefined {
    return this.#drafts.tip
  }

  /** The commit that the branch's ref is at, also while a merge waits. */
  get head(): Oid | undefined {
    return this.#merging ? this.#merging.head : this.tip
  }

  /** The commit of the merge that waits in the branch. */
  get merging(): Oid | undefined {
    return this.#merging?.commit
  }

  /** The drafts without the newest edits, which {@link HeldBranch.collect} adds. */
  get drafts(): Drafts {
    return this.#drafts
  }

  /** The commit of the drafts in the repository, if there are any. */
  get draftsCommit(): Oid | undefined {
    return this.#written.commit
  }

  /** Whether another program deleted the branch; its drafts are kept. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** The files as windows show them: the drafts, or those that an AI is changing. */
  get shown(): Drafts {
    return this.#atWork?.files ?? this.#drafts
  }

  /** How another program moved the branch under its drafts, or under an AI's turn; undefined without either. */
  get moved(): Moved | undefined {
    return this.#isWorkedOn ? this.#moved : undefined
  }

  /** Whether the branch has unsaved changes or shows an AI's turn. */
  get #isWorkedOn(): boolean {
    return this.draftPaths.length > 0 || this.isHeld
  }

  get hasOpenFiles(): boolean {
    return this.#files.hasAny
  }

  /** The files with unsaved changes. A renamed file is listed by its new path only. */
  get draftPaths(): readonly Path[] {
    const drafts = this.#drafts
    if (this.#listed.drafts !== drafts) this.#listed = { drafts, ...listed(drafts) }
    const { paths, all } = this.#listed
    const typed = [...this.#files.typed].filter(path => !all.has(path))
    return typed.length === 0 ? paths : [...paths, ...typed].sort()
  }

  /** The files that the AI has changed in a turn that is not over; undefined without such a turn. */
  get changedByAi(): readonly Path[] | undefined {
    return this.#atWork && listed(this.#atWork.files).paths
  }

  /** The new paths of the files that the AI has renamed in a turn that is not over, by their old paths. */
  get renamedByAi(): ReadonlyMap<Path, Path> {
    const origins = this.#atWork ? originsIn(this.#atWork.files) : new Map<Path, Path>()
    return new Map([...origins].map(([path, origin]) => [origin, path]))
  }

  /**
   * The commit that the shown files of an AI's turn are compared with, where that is not the branch's last one: the
   * branch has been moved since the turn began. Undefined while a merge waits, which the turn works on.
   */
  get turnBase(): Oid | undefined {
    if (!this.#atWork || this.#merging) return undefined
    const { tip } = this.#atWork.files
    return tip === this.head ? undefined : tip
  }

  /** The unsaved files that conflict with the branch's new commit. */
  get conflictPaths(): Path[] {
    return [...this.#drafts.clashes].flatMap(([path, clash]) => (isOpen(clash) ? [path] : [])).sort()
  }

  /** Runs a task while no other task works on this branch's refs. */
  async locked<Result>(task: (held: HeldBranch) => Promise<Result>): Promise<Result> {
    return await this.#lock.hold(() => task(this.#held))
  }

  /**
   * Runs a task that only reads, or collects and writes edits. It does not wait for a commit's signature (see {@link
   * HeldBranch.unlocked}).
   */
  async brieflyLocked<Result>(task: (held: Pick<HeldBranch, 'collect'>) => Promise<Result>): Promise<Result> {
    return await this.#lock.hold(() => task(this.#held), { isBrief: true })
  }

  async #unlocked<Result>(wait: () => Promise<Result>): Promise<Result> {
    const { tip, head, merging, isGone } = this
    const { clashes } = this.#drafts
    const result = await this.#lock.stepAside(wait)
    const isSame = this.tip === tip && this.head === head && this.merging === merging && this.isGone === isGone
    const noFiles = { files: new Map(), renames: [] }
    if (isSame && isSameDrafts({ ...noDrafts(tip), clashes }, { ...this.#drafts, ...noFiles })) return result
    throw new RefMoved(headRef(this.name), head, this.head)
  }

  // --- Files ---

  async open(path: Path): Promise<File> {
    return await this.brieflyLocked(async () => {
      await this.#collect()
      return await this.#files.open(this.shown, path)
    })
  }

  async close(path: Path): Promise<void> {
    await this.brieflyLocked(async () => {
      this.#files.close(path)
      await this.#collect()
    })
  }

  /** Applies edits to an open file at once. They are written soon. */
  edit(path: Path, version: number, edits: readonly Edit[]): Taken {
    this.verifyFree()
    const taken = this.#files.edit(path, version, edits)
    if (!taken.accepted || taken.edits.length === 0) return taken
    this.#sayDrafts()
    this.#writing.begin()
    return taken
  }

  /** Restores a deleted file as a draft with the text that windows still show of it. Returns whether they show any. */
  restoreShown(path: Path): boolean {
    this.verifyFree()
    if (!this.#files.restore(path)) return false
    this.#sayDrafts()
    this.#writing.begin(0)
    return true
  }

  /** The mode and id of a deleted file when windows showed it last; undefined if none has it open. */
  lastShown(path: Path): Entry {
    return this.#files.lastShown(path)
  }

  /** The text of an open file as it is typed, and its version; undefined for a file that is not open or no text. */
  textOf(path: Path): { text: string; version: number } | undefined {
    return this.#files.textOf(path)
  }

  /** The current files of the branch with all drafts. */
  async vfs(): Promise<WorkInProgressVfs> {
    return await this.brieflyLocked(async () => {
      await this.#collect()
      const { tip, files, clashes } = this.shown
      const changes = asChanges(files)
      for (const [path, { mode, draft, bytes, working }] of clashes) {
        const shown = working ?? { oid: draft, bytes }
        const file = shown.oid === undefined ? undefined : { mode, oid: shown.oid }
        changes.set(path, shown.bytes ? { mode, bytes: shown.bytes } : file)
      }
      return new WorkInProgressVfs(this.room.objects, tip, changes)
    })
  }

  async #collect(): Promise<void> {
    const { objects } = this.room
    const typed = [...this.#files.typed].map(async path => {
      const clash = this.#drafts.clashes.get(path)
      return [path, await entryInTip(objects, this.tip, path), clash && (await textsOf(objects, clash))] as const
    })
    for (const [path, saved, before] of await Promise.all(typed)) {
      // No await from here on: an edit comes before all of this or after it.
      const texts = this.#files.take(path)
      const bytes = texts.at(-1)
      if (!bytes) continue
      const mode = (this.#drafts.files.get(path) ?? saved)?.mode ?? '100644'
      const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
      const files = new Map(this.#drafts.files)
      const clashes = new Map(this.#drafts.clashes)
      const clash = clashes.get(path)
      if (clash && before) clashes.set(path, typedIn(objects, clash, before, texts))
      else if (saved?.oid === oid && saved.mode === mode) files.delete(path)
      else files.set(path, { mode, oid, bytes })
      this.#drafts = { ...this.#drafts, files, clashes }
      this.#files.took(path, { mode, oid })
    }
    this.#files.forgetClosed()
    await this.#files.tellRestored(this.shown)
  }

  // --- Writing drafts ---

  /** Writes the drafts that are not written yet. Throws if this is impossible now; it will be tried again. */
  async write(): Promise<void> {
    await this.brieflyLocked(async () => {
      try {
        await this.#collect()
        // Tells the windows which files have drafts: files whose edits were reverted have none any more.
        this.#sayDrafts()
        await this.#writeDrafts()
        this.#writing.succeeded()
      } catch (error) {
        await this.#writing.failed(error)
        throw error
      }
    })
  }

  /**
   * Writes the drafts when the desk ends. Those of a deleted branch that git can't keep beside those of another branch
   * are kept by an operation, whose undo gives them back.
   */
  async writeAtEnd(): Promise<void> {
    await this.write().catch(async error => {
      if (!(error instanceof InTheWay)) throw error
      const { objects, operations } = this.room
      const made = await makeDrafts(objects, this.#drafts)
      const refs = [{ ref: draftsRef(this.name), before: made?.oid, after: this.#written.commit }]
      await operations.record({ ...puttingAside(this.name), moves: [], refs, made: made?.made ?? [] })
    })
  }

  /** Schedules writing, if the drafts have changed. */
  #writeSoon(): void {
    if (!isSameDrafts(this.#drafts, this.#written.drafts)) this.#writing.begin()
  }

  writeNow(): void {
    this.#writing.begin(0)
  }

  async #writeDrafts(): Promise<void> {
    const { objects } = this.room
    for (let tries = 0; tries < MAX_TRIES; tries++) {
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

  /** The move of the drafts' ref to these drafts. */
  #draftsMove(made: NewDrafts | undefined): Move {
    return { ref: draftsRef(this.name), from: this.#written.commit, to: made?.oid }
  }

  /** Records that drafts are written. Their content need not stay in memory. */
  #wrote(commit: Oid | undefined, drafts: Drafts): void {
    const kept = written(drafts)
    this.#written = { commit, drafts: kept }
    if (this.#drafts === drafts) this.#drafts = kept
  }

  async #tellFailing(error: unknown): Promise<void> {
    this.#unwritten = await whyNotWritten(this.room.objects.repository, error)
    this.#sayBranch()
    await this.#files.showWritten(this.shown, this.#written.drafts)
  }

  #tellAgain(): void {
    this.#unwritten = undefined
    this.#sayBranch()
    this.#files.showWritten(this.shown, undefined).catch(() => undefined)
    const words = 'What is typed can be written to the disk again: nothing was lost.'
    this.room.say({ say: 'notice', topic: `drafts of ${this.name}`, words, isBad: false })
  }

  /** Stops writing drafts to the repository. */
  end(): void {
    this.#writing.end()
    this.#sayWaiting(false)
  }

  /**
   * Tells the windows that an operation waits for a signature: without that, a discard or undo would seem to do
   * nothing.
   */
  #sayWaiting(isWaiting: boolean): void {
    clearTimeout(this.#waitingTimer)
    const { say } = this.room
    if (isWaiting)
      this.#waitingTimer = setTimeout(() => {
        this.#hasSaidWaiting = true
        const words = `A commit in ${visiblePath(this.name)} is still being made: what you wanted there comes after it. If it is to be signed, sign it or refuse that.`
        say({ say: 'waiting', branch: this.name, words })
      }, WAIT_NOTICE_DELAY_MS)
    else if (this.#hasSaidWaiting) {
      this.#hasSaidWaiting = false
      say({ say: 'waiting', branch: this.name })
    }
  }

  #sayDrafts(): void {
    const { paths, conflicts } = this.#saidDrafts
    const isSame = isSameList(paths, this.draftPaths) && isSameList(conflicts, this.conflictPaths)
    if (!isSame) this.#sayBranch({ isOfDrafts: true })
  }

  #sayBranch(what: { isOfDrafts?: true } = {}): void {
    this.#saidDrafts = { paths: this.draftPaths, conflicts: this.conflictPaths }
    this.room.say({ say: 'branch', branch: this.name, ...what })
  }

  // --- One after the other ---

  /**
   * Runs a task on the newest state, and again while another program moves a ref meanwhile. While an AI works in the
   * branch, only a task that ends its turn is allowed (`isTurn`); while a merge waits, only one that resolves or ends
   * it (`isMerging`).
   */
  async inOneGo<Result>(
    task: (held: HeldBranch, signature: Promise<CommitSignature>) => Promise<Result>,
    { isTurn = false, isMerging = false } = {},
  ): Promise<Result> {
    return await this.locked(async () => {
      if (!isTurn) this.verifyFree()
      if (!isMerging) this.verifyNotMerging()
      const signature = readSignature(this.room.objects.repository)
      // A task that awaits the signature gets its error; for a task that makes no commit, the error is ignored.
      signature.catch(() => undefined)
      await this.#collect()
      this.#verifyThere()
      return await this.#again(async () => {
        if (!isMerging) this.verifyNotMerging()
        await this.#settleResolved()
        return await task(this.#held, signature)
      })
    })
  }

  /** Makes ordinary drafts of the conflicts that are resolved. A file that is as in the branch again is none. */
  async #settleResolved(): Promise<void> {
    const settled = await withSettled(this.room.objects, this.#drafts)
    if (settled === this.#drafts) return
    this.#drafts = settled
    // The task may have nothing left to do, as a save of what was resolved by theirs.
    this.#sayDrafts()
    this.#writing.begin()
  }

  /**
   * Runs a task that changes the drafts by an operation: on the newest drafts, which are in the repository, since the
   * operation's undo needs them, and again while another program moves a ref meanwhile. Throws while an AI works in the
   * branch, and while a merge waits.
   */
  async editDrafts<Result>(task: (held: HeldBranch) => Promise<Result>): Promise<Result> {
    return await this.locked(async held => {
      this.verifyFree()
      this.verifyNotMerging()
      await held.collect()
      return await held.again(async () => {
        await held.writeDrafts()
        return await task(held)
      })
    })
  }

  async #again<Result>(task: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await task()
      } catch (error) {
        if (tries >= MAX_TRIES) throw await this.#inWords(error)
        await this.#makeWay(error)
      }
      await this.#collect()
      await this.#lookAgain()
      this.#verifyThere()
    }
  }

  /**
   * Prepares another try after an error: removes a ref that was in the way. Throws errors that no other try can
   * overcome.
   */
  async #makeWay(error: unknown): Promise<void> {
    if (error instanceof RefMoved) return
    if (!isInTheWay(error)) throw await this.#inWords(error)
    const others = await this.#othersInTheWay()
    // Another branch may have been renamed to this one: its drafts come along as soon as the desk notices that.
    const isSettled = !others.some(name => this.room.seen.branches.has(name))
    // If this branch exists, the ref in its way belongs to the drafts of a deleted branch, which can be removed.
    if (!this.#isGone && isSettled) return await putAside(this.room, this.name)
    const names = firstOf(others.map(visiblePath), MAX_NAMED_BRANCHES)
    throw new InTheWay(`git can’t keep it beside what is typed in ${names}`)
  }

  /** The branches whose drafts, or what waits in them, are in the way of this branch's. */
  async #othersInTheWay(): Promise<string[]> {
    const refs = await listRefs(this.room.objects.repository, [DRAFTS, MERGING])
    const names = new Set(refs.map(({ name }) => branchOfWork(name)))
    return [...names].filter(it => isFolderOfOther(it, this.name))
  }

  /** Converts an error of git or the disk to a sentence for the user. */
  async #inWords(error: unknown): Promise<unknown> {
    if (!(error instanceof GitError)) return error
    const why = await whyNotWritten(this.room.objects.repository, error)
    return new Failure(`Nothing was done in ${visiblePath(this.name)}: ${why}. What was typed is kept.`)
  }

  /** Whether an AI works in the branch, or its result has to be kept or discarded. */
  get isHeld(): boolean {
    return this.#atWork !== undefined
  }

  /** Throws a {@link Failure} if the branch is held by an AI's turn. */
  verifyFree(): void {
    if (this.#atWork) throw new Failure(this.#atWork.why)
  }

  /** Why the branch can't be changed now, as a turn of its AI is not over; undefined if it can be. */
  get whyBusy(): string | undefined {
    return this.#atWork?.why
  }

  /** Throws a {@link Failure} if a merge waits in the branch. */
  verifyNotMerging(): void {
    if (this.#merging) throw new Failure(this.#whyMerging)
  }

  get #whyMerging(): string {
    return `A merge, rebase or other step waits in ${visiblePath(this.name)}: finish it, which saves all of it, or abort it first.`
  }

  /** Sets the waiting merge. Once it has ended, windows still show what was refused because of it. */
  #waitWith(merging: { commit: Oid; head: Oid | undefined } | undefined): void {
    const hasEnded = this.#merging !== undefined && merging === undefined
    this.#merging = merging
    if (hasEnded) this.room.say({ say: 'refusal over', words: this.#whyMerging })
  }

  #verifyThere(): void {
    if (!this.#isGone) return
    const name = visiblePath(this.name)
    throw new Failure(`The branch ${name} was deleted: restore it first. What was typed in it is kept.`)
  }

  // --- Changes by others ---

  /** Reads the refs of the branch and its drafts, and merges the drafts if another program has moved one. */
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
    this.#waitWith(merging && { commit: merging.oid, head: head?.oid ?? known })
    const tip = merging ?? head
    const isOther = wasGone !== this.#isGone || wasMerging !== this.merging || (merging && known !== this.head)
    if (tip && tip.oid !== this.tip) await this.#moveTo(tip.oid)
    else if (isOther) this.#sayBranch()
  }

  /** Merges drafts that another desk, or an earlier process, has written. */
  async #takeDraftsOf(commit: Oid | undefined): Promise<void> {
    const { objects } = this.room
    const theirs = commit === undefined ? noDrafts(this.tip) : await readDrafts(objects, commit)
    if (!theirs) throw new Failure(`${draftsRef(this.name)} is no commit: delete it by git update-ref -d.`)
    // Without written drafts, the comparison starts at the current tip, since the branch may have moved.
    const before = this.#written.commit === undefined ? noDrafts(this.tip) : this.#written.drafts
    const merged = await this.#merged(drafts => mergeDrafts(objects, before, drafts, theirs))
    this.#written = { commit, drafts: theirs }
    await this.#show(merged)
  }

  async #moveTo(tip: Oid): Promise<void> {
    const { objects } = this.room
    this.#keepMoved(this.tip === undefined || !this.#isWorkedOn ? undefined : await this.#movedTo(tip))
    let renamed: Renamed[] = []
    const merged = await this.#merged(async drafts => {
      const next = await mergeDrafts(objects, noDrafts(this.tip), drafts, noDrafts(tip))
      // While the files of an AI's turn are shown, renames in the drafts are not seen: open files follow at its end.
      renamed = this.#atWork ? [] : await this.#renamedBetween(drafts, next)
      return next
    })
    // The open files follow in the same step in which the drafts change: an edit comes before both or after both.
    this.#drafts = merged
    if (renamed.length > 0) this.#reopen(renamed)
    await this.#show(merged)
  }

  /**
   * How other programs have moved the branch under its drafts since it was last changed on the desk, so that no own
   * save is between the two commits; undefined if it is back where it was.
   */
  async #movedTo(tip: Oid): Promise<Moved | undefined> {
    const { moved, tip: before = tip } = this
    const { from, otherConflicts = [] } =
      moved?.to === before ? moved : { from: before, otherConflicts: this.conflictPaths }
    if (from === tip) return undefined
    const found = await cameIn(this.room.objects.repository, from, tip)
    return { from, to: tip, ...found, ...(otherConflicts.length > 0 && { otherConflicts }) }
  }

  /**
   * An operation brings conflicts to the drafts: how other programs have moved the branch before is not the reason for
   * those in files which that has not changed.
   */
  async #setApart(drafts: Drafts): Promise<void> {
    const { objects } = this.room
    const moved = this.#moved
    if (!moved) return
    const isChanged = async (path: Path) => {
      const [was, is] = await Promise.all([moved.from, moved.to].map(tip => entryInTip(objects, tip, path)))
      return was?.oid !== is?.oid || was?.mode !== is?.mode
    }
    const others: Path[] = []
    for (const path of conflictsBrought(this.#drafts, drafts)) if (!(await isChanged(path))) others.push(path)
    const known = moved.otherConflicts ?? []
    if (others.length > 0) this.#keepMoved({ ...moved, otherConflicts: [...new Set([...known, ...others])] })
  }

  /**
   * The open files that are under another name afterwards: drafts that were put aside, or by a rename that the drafts
   * had or get, or in the next commit of the branch, as git detects renames.
   */
  async #renamedBetween(before: Drafts, after: Drafts): Promise<Renamed[]> {
    const { objects } = this.room
    const renamed = putAsideBetween(before, after)
    const missing = new Set(await this.#files.missingIn(after))
    for (const { from } of renamed) missing.delete(from)
    if (missing.size === 0) return renamed
    const [was, is] = [before.tip, after.tip]
    const pairs = [
      ...originsIn(before),
      ...[...originsIn(after)].map(([path, origin]) => [origin, path]),
      ...(was === undefined || is === undefined || was === is ? [] : await changedFiles(objects.repository, was, is)),
    ]
    for (const [from, to] of pairs) {
      if (from === undefined || to === undefined || !missing.has(from)) continue
      const [own, there] = [await entryIn(objects, before, to), await entryIn(objects, after, to)]
      if (own || !there) continue
      missing.delete(from)
      renamed.push({ from, to })
    }
    return renamed
  }

  /** Applies `merge` to the drafts; again if edits were typed meanwhile, at most {@link MAX_TRIES} times. */
  async #merged(merge: (drafts: Drafts) => Promise<Drafts>): Promise<Drafts> {
    for (let tries = 1; ; tries++) {
      const merged = await merge(this.#drafts)
      if (this.#files.typed.size === 0 || tries >= MAX_TRIES) return merged
      await this.#collect()
    }
  }

  // --- State ---

  /** Replaces the drafts, and updates the open files. */
  async #show(drafts: Drafts): Promise<void> {
    this.#drafts = drafts
    await this.#files.follow(this.shown)
    this.#forgetMoved()
    this.#sayBranch()
  }

  /** Forgets how the branch was moved where nothing is left that it was moved under. */
  #forgetMoved(): void {
    if (!this.#isWorkedOn) this.#keepMoved(undefined)
  }

  #keepMoved(moved: Moved | undefined): void {
    this.#moved = moved
    this.room.moved.keep(this.name, moved)
  }

  /** Sets the state before the first await, so that no edit comes between the caller's check and this. */
  async #showAtWork(atWork: AtWork | undefined): Promise<void> {
    const [shown, why] = [this.shown, this.#atWork?.why]
    this.#atWork = atWork
    // Windows still show what was refused for that reason, also those of other branches.
    if (why !== undefined && why !== atWork?.why) this.room.say({ say: 'refusal over', words: why })
    this.#reopen(await this.#renamedBetween(shown, this.shown))
    await this.#files.hold(this.shown, atWork?.why)
    this.#forgetMoved()
    this.#sayBranch()
  }

  async #becomeSoon(drafts: Drafts): Promise<void> {
    await this.#show(drafts)
    this.#writeSoon()
  }

  /** Replaces the drafts by drafts that are written in the repository. */
  async #showWritten(commit: Oid | undefined, drafts: Drafts): Promise<void> {
    this.#written = { commit, drafts: written(drafts) }
    await this.#show(this.#written.drafts)
  }

  async #transitionTo({ drafts, head, merging, base, renamed, deleted }: Next): Promise<Transition> {
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
    const arrive = async () => {
      // Open files follow the renames of the operation, or those that git detects in what it brought.
      const followed = renamed?.length ? renamed : await this.#renamedBetween(this.#drafts, drafts)
      if (head === undefined) await this.#setApart(drafts)
      else {
        if (before !== after) checkouts.follow(name, before, after)
        this.#isGone = false
        // What came in from outside before is not what these drafts are in conflict with.
        if (conflictsBrought(this.#drafts, drafts).length > 0) this.#keepMoved(undefined)
      }
      this.#waitWith(waiting === undefined ? undefined : { commit: waiting, head: after })
      this.#reopen(followed)
      if (deleted) this.#files.keepDeleted(this.#drafts, deleted)
      await this.#showWritten(made?.oid, drafts)
    }
    const announce = () => checkouts.announce(name, before, after)
    return { moves: moves.filter(isMove), made: made?.made ?? [], renamed, announce, arrive }
  }

  /**
   * The transition that deletes the branch. Edits made since the branch was read are kept as a draft of the deleted
   * branch.
   */
  async #vanishing(): Promise<Transition> {
    await this.room.checkouts.verifyNotRebased(this.name)
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

  /** Moves open files to their new paths after files or folders were renamed. */
  #reopen(renamed: readonly Renamed[]): void {
    for (const it of renamed) this.#files.reopen(it)
    if (this.#files.typed.size > 0) this.#writing.begin()
  }
}

/** The drafts that were put aside, since there is something else in their places, and those that are back. */
function putAsideBetween(before: Drafts, after: Drafts): Renamed[] {
  const has = ({ files, clashes }: Drafts, path: Path) => files.get(path) !== undefined || clashes.has(path)
  const isMoved = (from: Path, to: Path) =>
    from !== to && has(before, from) && !has(before, to) && !has(after, from) && has(after, to)
  const pathsIn = ({ files, clashes }: Drafts) => [...files.keys(), ...clashes.keys()]
  return [
    ...pathsIn(after).map(to => ({ from: nameBeforeAside(to), to })),
    ...pathsIn(before).map(from => ({ from, to: nameBeforeAside(from) })),
  ].filter(({ from, to }) => isMoved(from, to))
}

/** The files with conflicts that the drafts did not have before. */
const conflictsBrought = (before: Drafts, after: Drafts): Path[] =>
  [...after.clashes].flatMap(([path, clash]) => {
    return isOpen(clash) && !isSameClash(before.clashes.get(path), clash) ? [path] : []
  })
