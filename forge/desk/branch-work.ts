/**
 * The work on one branch: its tip, its drafts, and the files of it that are open. Everything that reads or moves its
 * refs goes through one queue; typing does not wait for that.
 */
import { Failure } from '../../core/failure.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../core/git/objects.ts'
import { type Move, RefMoved } from '../../core/git/refs.ts'
import type { Entry, Oid, Path } from '../../core/git/repository.ts'
import { GitError } from '../../core/git/run.ts'
import { type Change, entryAt, makeTree } from '../../core/git/trees.ts'
import { many, visiblePath } from '../../core/text.ts'
import { WorkInProgressVfs } from '../vfs.ts'
import { headRef } from './branches.ts'
import type { Checkouts } from './checkouts.ts'
import { Document } from './documents.ts'
import {
  asChanges,
  type DraftFile,
  type Drafts,
  draftsRef,
  filesBetween,
  isSameDrafts,
  makeDrafts,
  mergeDrafts,
  type NewDrafts,
  noDrafts,
  readDrafts,
  written,
} from './drafts.ts'
import type { Clash, Edit, File, News } from './messages.ts'
import { isInTheWay, moveRefsPatiently, type Operations, type Renamed } from './operations.ts'
import { makeCommit, messageFor, readSignature, type Signature, type Step, whyNotWritten } from './save.ts'
import { type Content, decode, encode, NEW_FORM, SHOWN, showWithoutText, whyReadOnly } from './text.ts'

/** What the work on all branches shares. */
export type Room = {
  objects: Objects
  operations: Operations
  checkouts: Checkouts
  say: (news: News) => void
}

/** Milliseconds from the first unwritten keystroke until it is written, and between tries where the disk refuses. */
const WRITE_AFTER = 500
const TRY_AGAIN_AFTER = 1000
/** How often work begins anew because somebody else has moved the same refs. */
const TRIES = 10

/** A file that windows have open. Where it is no text that can be edited, there is no document. */
type OpenFile = { windows: number; document: Document | undefined; shown: Entry }

/** What is saved: some files, or all. */
export type Selection = readonly Path[] | 'all'

export class BranchWork {
  readonly #room: Room
  #drafts: Drafts
  /** The drafts as they are in the repository, and their commit. */
  #written: { commit: Oid | undefined; drafts: Drafts }
  #isGone = false
  readonly #open = new Map<Path, OpenFile>()
  /** Open files with edits that are not among the drafts yet. */
  readonly #typed = new Set<Path>()
  #last: Promise<unknown> = Promise.resolve()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isTold = false
  /** The files with drafts when it was last said that there are others. */
  #saidDrafts = ''
  #isEnded = false

  private constructor(
    readonly name: string,
    room: Room,
    tip: Oid | undefined,
  ) {
    this.#room = room
    this.#drafts = noDrafts(tip)
    this.#written = { commit: undefined, drafts: this.#drafts }
  }

  /** The work on a branch as the repository has it: with the drafts of an earlier time. */
  static async open(room: Room, name: string): Promise<BranchWork> {
    const tip = (await room.objects.info(`${headRef(name)}^{commit}`))?.oid
    const work = new BranchWork(name, room, tip)
    await work.refresh()
    return work
  }

  get tip(): Oid | undefined {
    return this.#drafts.tip
  }

  /** The branch was deleted by somebody else; what was typed in it is kept. */
  get isGone(): boolean {
    return this.#isGone
  }

  get hasOpenFiles(): boolean {
    return this.#open.size > 0
  }

  /** The files with something in them that is not saved. */
  get draftPaths(): Path[] {
    return [...new Set([...this.#drafts.files.keys(), ...this.#drafts.clashes.keys(), ...this.#typed])].sort()
  }

  /** Does something that no other work on this branch's refs may come between. */
  locked<Result>(task: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(task)
    this.#last = next.catch(() => undefined)
    return next
  }

  // --- Files that are open
  // ---------------------------------------------------------------------------------------------

  async open(path: Path): Promise<File> {
    return await this.locked(async () => {
      await this.#collect()
      const open = this.#open.get(path) ?? (await this.#load(path))
      open.windows++
      this.#open.set(path, open)
      return await this.#show(path, open)
    })
  }

  async close(path: Path): Promise<void> {
    await this.locked(async () => {
      const open = this.#open.get(path)
      if (!open) return
      open.windows--
      await this.#collect()
    })
  }

  /** Takes edits of an open file, at once: they are written soon. False where they were made for an older version. */
  edit(path: Path, version: number, edits: readonly Edit[]): boolean {
    const { document } = this.#open.get(path) ?? {}
    if (!document) throw new Failure(`${visiblePath(path)} is not open, or can't be edited: open it again.`)
    if (this.#drafts.clashes.has(path)) throw new Failure(this.#whyClashing(path))
    const taken = document.take(version, edits)
    if (!taken.accepted) return false
    if (taken.edits.length === 0) return true
    this.#typed.add(path)
    this.#room.say({ say: 'edited', branch: this.name, path, version, edits: taken.edits })
    if (this.draftPaths.join('\0') !== this.#saidDrafts) this.#sayBranch()
    this.#writeSoon(WRITE_AFTER)
    return true
  }

  #whyClashing(path: Path): string {
    const name = visiblePath(path)
    return `${name} was changed in two places that can't be merged: choose what it shall be, then go on.`
  }

  async #load(path: Path): Promise<OpenFile> {
    const shown = await this.#entryAt(path)
    return { windows: 0, document: await this.#documentFor(path, shown), shown }
  }

  async #documentFor(path: Path, entry: Entry): Promise<Document | undefined> {
    if (!entry) return undefined
    const content = await this.#contentOf(path, entry)
    if (showWithoutText(path, entry, content) || whyReadOnly(path, content?.size ?? 0)) return undefined
    const decoded = content?.bytes && decode(content.bytes)
    return decoded && new Document(decoded.text, decoded)
  }

  async #show(path: Path, { document }: OpenFile): Promise<File> {
    const entry = await this.#entryAt(path)
    if (!entry) return { kind: 'nothing' }
    const before = this.tip === undefined ? undefined : await entryAt(this.#room.objects, this.tip, path)
    const saved = before && (await textAt(this.#room.objects, path, before))
    const clashing = this.#drafts.clashes.has(path) ? this.#whyClashing(path) : undefined
    if (document) {
      const { text, version, form } = document
      const shown = { kind: 'text', text, version, saved, ...form, mode: entry.mode } as const
      return { ...shown, readOnly: clashing }
    }
    return await showFile(this.#room.objects, path, entry, saved)
  }

  // --- What stands in the branch
  // ---------------------------------------------------------------------------------------

  /** The file as it is being worked on. */
  async #entryAt(path: Path): Promise<Entry> {
    const { tip, files, clashes } = this.#drafts
    const clash = clashes.get(path)
    if (clash) return { mode: clash.mode, oid: clash.draft }
    if (files.has(path)) return asEntry(files.get(path))
    return tip === undefined ? undefined : await entryAt(this.#room.objects, tip, path)
  }

  async #contentOf(path: Path, entry: NonNullable<Entry>): Promise<Content | undefined> {
    const { files, clashes } = this.#drafts
    const bytes = clashes.has(path) ? clashes.get(path)?.bytes : files.get(path)?.bytes
    if (bytes) return { ...entry, size: bytes.length, bytes }
    return await readContent(this.#room.objects, entry)
  }

  /** The files of the branch with all drafts, as they are at this moment. */
  async vfs(): Promise<WorkInProgressVfs> {
    return await this.locked(async () => {
      await this.#collect()
      const { tip, files, clashes } = this.#drafts
      const changes = asChanges(files)
      for (const [path, { mode, draft, bytes }] of clashes)
        changes.set(path, bytes ? { mode, bytes } : { mode, oid: draft })
      return new WorkInProgressVfs(this.#room.objects, tip, changes)
    })
  }

  /**
   * Takes what was typed in open files among the drafts; a file that is as it was saved is none. What is typed from
   * then on is known to come after it.
   */
  async #collect(): Promise<void> {
    const { objects } = this.#room
    for (const path of [...this.#typed]) {
      const before = this.tip === undefined ? undefined : await entryAt(objects, this.tip, path)
      // From here on nothing is waited for: an edit comes before all of this or after it.
      this.#typed.delete(path)
      const document = this.#open.get(path)?.document
      if (!document) continue
      const bytes = document.mark()
      const mode = (this.#drafts.files.get(path) ?? before)?.mode ?? '100644'
      const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
      const files = new Map(this.#drafts.files)
      const clashes = new Map(this.#drafts.clashes)
      const clash = clashes.get(path)
      if (clash) clashes.set(path, { ...clash, draft: oid, bytes })
      else if (before?.oid === oid && before.mode === mode) files.delete(path)
      else files.set(path, { mode, oid, bytes })
      this.#drafts = { ...this.#drafts, files, clashes }
      const open = this.#open.get(path)
      if (open) open.shown = { mode, oid }
    }
    for (const [path, { windows }] of this.#open) if (windows === 0 && !this.#typed.has(path)) this.#open.delete(path)
  }

  // --- Drafts, written
  // -------------------------------------------------------------------------------------------------

  #writeSoon(milliseconds: number): void {
    if (this.#isEnded) return
    // The first keystroke that is not written counts: the clock is not set back by the next one.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.write().catch(() => undefined)
    }, milliseconds)
  }

  /** Writes what is not written yet; throws where that is not possible now. It will be tried again then. */
  async write(): Promise<void> {
    await this.locked(() => this.#write())
  }

  async #write(): Promise<void> {
    try {
      await this.#collect()
      // What was typed and taken out again is no draft any more.
      if (this.draftPaths.join('\0') !== this.#saidDrafts) this.#sayBranch()
      await this.#writeDrafts()
      if (this.#isTold) this.#notice('What is typed can be written to the disk again: nothing was lost.', false)
      this.#isTold = false
    } catch (error) {
      this.#writeSoon(TRY_AGAIN_AFTER)
      await this.#tellOnce(error)
      throw error
    }
  }

  async #writeDrafts(): Promise<void> {
    const { objects } = this.#room
    for (let tries = 0; tries < TRIES; tries++) {
      if (isSameDrafts(this.#drafts, this.#written.drafts)) return
      const drafts = this.#drafts
      const made = await makeDrafts(objects, drafts)
      await writeObjects(objects.repository, made?.made ?? [])
      try {
        await moveRefsPatiently(objects, [this.#draftsMove(made)], '')
        this.#wrote(made?.oid, drafts)
        return
      } catch (error) {
        await this.#makeWay(error)
      }
      await this.#refresh()
    }
    throw new Failure(`Drafts of ${visiblePath(this.name)} are written by another program all the time.`)
  }

  /** After what can be mended, so that it is worth another try; throws what can't be. */
  async #makeWay(error: unknown): Promise<void> {
    if (error instanceof RefMoved) return
    // A branch that is there is in no other's way: the drafts are those of one that is gone.
    if (!isInTheWay(error) || this.#isGone) throw await this.#inWords(error)
    await this.#room.operations.putAside(this.name)
  }

  #draftsMove(made: NewDrafts | undefined): Move {
    return { ref: draftsRef(this.name), from: this.#written.commit, to: made?.oid }
  }

  /** What is written need not be in memory any more. */
  #wrote(commit: Oid | undefined, drafts: Drafts): void {
    const kept = written(drafts)
    this.#written = { commit, drafts: kept }
    if (this.#drafts === drafts) this.#drafts = kept
  }

  async #tellOnce(error: unknown): Promise<void> {
    if (this.#isTold) return
    this.#isTold = true
    const why = await whyNotWritten(this.#room.objects.repository, error)
    const kept = 'It is kept as long as the desk runs, and written as soon as it can be'
    this.#notice(`What is typed in ${visiblePath(this.name)} can't be written: ${why}. ${kept}.`, true)
  }

  /** Nothing is written any more. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }

  #notice(words: string, isBad: boolean): void {
    this.#room.say({ say: 'notice', words, isBad })
  }

  #sayBranch(): void {
    this.#saidDrafts = this.draftPaths.join('\0')
    this.#room.say({ say: 'branch', branch: this.name })
  }

  // --- Commits
  // ---------------------------------------------------------------------------------------------------------

  /** Commits some drafts, or all, to the branch. Gives undefined where there was nothing to commit. */
  async save(selection: Selection, message?: string): Promise<Oid | undefined> {
    return await this.#inOneGo(async signature => {
      const paths = this.#selected(selection)
      const changes = asChanges(pick(this.#drafts.files, paths))
      const after = { ...this.#drafts, files: without(this.#drafts.files, paths) }
      const steps = await this.#stepsOf(paths)
      const words = `save ${namesOf(paths)} to ${visiblePath(this.name)}`
      const commit = { kind: 'save', words, message: message?.trim() || messageFor(steps), changes, after }
      return paths.length === 0 ? undefined : await this.#commit(commit, signature)
    })
  }

  /** What a save would be called. */
  async messageFor(selection: Selection): Promise<string> {
    return await this.locked(async () => {
      await this.#collect()
      return messageFor(await this.#stepsOf(this.#selected(selection)))
    })
  }

  /** Commits a new file with nothing in it. */
  async newFile(path: Path): Promise<Oid> {
    return await this.#inOneGo(async signature => {
      await this.#vfs().verifyFree(path)
      const changes = new Map<Path, Change>([[path, { mode: '100644', bytes: new Uint8Array() }]])
      const message = messageFor([{ path, does: 'add' }])
      const words = `add ${visiblePath(path)} to ${visiblePath(this.name)}`
      return await this.#commitAlways({ kind: 'new file', words, message, changes, after: this.#drafts }, signature)
    })
  }

  /** Commits another name for a file or folder. What is typed in it goes along, and stays a draft. */
  async rename(from: Path, to: Path): Promise<Oid> {
    return await this.#inOneGo(async signature => {
      const entry = await this.#existing(from)
      if (entry.mode === '160000') throw new Failure(`${visiblePath(from)} is a submodule: move it by git mv.`)
      if (`${to}/`.startsWith(`${from}/`)) throw new Failure(`${visiblePath(from)} can't be moved into itself.`)
      await this.#vfs().verifyFree(to)
      this.#verifyNoClash(this.#below(from))
      const renamed = { from, to }
      const saved = this.tip === undefined ? undefined : await entryAt(this.#room.objects, this.tip, from)
      const changes = new Map<Path, Change>(
        saved
          ? [
              [from, undefined],
              [to, saved],
            ]
          : [],
      )
      const message = `rename: ${visiblePath(from)} → ${visiblePath(to)}`
      const words = `rename ${visiblePath(from)} to ${visiblePath(to)} in ${visiblePath(this.name)}`
      const after = { ...this.#drafts, files: this.#renamed(renamed) }
      return await this.#commitAlways({ kind: 'rename', words, message, changes, after, renamed }, signature)
    })
  }

  /** Commits that a file or folder is gone. What was typed in it comes back when that is undone. */
  async delete(path: Path): Promise<Oid> {
    return await this.#inOneGo(async signature => {
      const entry = await this.#existing(path)
      if (entry.mode === '160000') throw new Failure(`${visiblePath(path)} is a submodule: delete it by git rm.`)
      // What the operation is to bring back has to be in the repository.
      await this.#writeDrafts()
      const gone = this.#below(path)
      const after = withoutFiles(this.#drafts, gone)
      const message = messageFor([{ path, does: 'delete' }])
      const words = `delete ${visiblePath(path)} from ${visiblePath(this.name)}`
      const changes = new Map<Path, Change>([[path, undefined]])
      return await this.#commitAlways({ kind: 'delete', words, message, changes, after }, signature)
    })
  }

  /** Lets drafts go: the files are as they were saved. The operation can be undone. */
  async discard(paths: readonly Path[]): Promise<void> {
    await this.locked(async () => {
      await this.#collect()
      await this.#again(async () => {
        await this.#writeDrafts()
        const after = withoutFiles(this.#drafts, new Set(paths))
        if (isSameDrafts(after, this.#drafts)) return
        const made = await makeDrafts(this.#room.objects, after)
        const words = `discard what was typed in ${namesOf(paths)} in ${visiblePath(this.name)}`
        const move = this.#draftsMove(made)
        await this.#room.operations.record({ kind: 'discard', words, moves: [move], made: made?.made ?? [] })
        await this.#wroteAndBecome(made?.oid, after)
      })
    })
  }

  /** Works on the newest state there is, and anew where somebody else has moved a ref meanwhile. */
  async #inOneGo<Result>(task: (signature: Promise<Signature>) => Promise<Result>): Promise<Result> {
    return await this.locked(async () => {
      const signature = readSignature(this.#room.objects.repository)
      // Whoever waits for it is told; where nobody does, nothing was to be signed.
      signature.catch(() => undefined)
      await this.#collect()
      this.#verifyThere()
      return await this.#again(() => task(signature))
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
      await this.#refresh()
      this.#verifyThere()
    }
  }

  /** A refusal of git's or of the disk's, as a sentence for the person who wanted something done. */
  async #inWords(error: unknown): Promise<unknown> {
    if (!(error instanceof GitError)) return error
    const why = await whyNotWritten(this.#room.objects.repository, error)
    return new Failure(`Nothing was done in ${visiblePath(this.name)}: ${why}. What was typed is kept.`)
  }

  #verifyThere(): void {
    if (!this.#isGone) return
    const name = visiblePath(this.name)
    throw new Failure(`The branch ${name} was deleted: bring it back first. What was typed in it is kept.`)
  }

  #verifyNoClash(paths: Iterable<Path>): void {
    for (const path of paths) if (this.#drafts.clashes.has(path)) throw new Failure(this.#whyClashing(path))
  }

  /** The drafts that are meant. Throws where one of them can't be saved yet. */
  #selected(selection: Selection): Path[] {
    const all = selection === 'all' ? [...this.#drafts.files.keys(), ...this.#drafts.clashes.keys()] : selection
    this.#verifyNoClash(all)
    return [...new Set(all)].filter(path => this.#drafts.files.has(path)).sort()
  }

  async #stepsOf(paths: readonly Path[]): Promise<Step[]> {
    const { objects } = this.#room
    const { tip } = this
    const before = await Promise.all(paths.map(path => (tip === undefined ? undefined : entryAt(objects, tip, path))))
    return paths.map((path, at) => {
      if (!this.#drafts.files.get(path)) return { path, does: 'delete' }
      return { path, does: before[at] ? 'edit' : 'add' }
    })
  }

  #vfs(): WorkInProgressVfs {
    return new WorkInProgressVfs(this.#room.objects, this.tip, asChanges(this.#drafts.files))
  }

  /** A file or folder that is there, in the last commit or as a draft. */
  async #existing(path: Path): Promise<NonNullable<Entry>> {
    const entry = await this.#entryAt(path)
    if (entry) return entry
    if (this.#below(path).size > 0) return { mode: '040000', oid: '' }
    throw new Failure(`There is no ${visiblePath(path)} in ${visiblePath(this.name)}.`)
  }

  /** The drafts at a path and below it. */
  #below(path: Path): Set<Path> {
    const all = [...this.#drafts.files.keys(), ...this.#drafts.clashes.keys()]
    return new Set(all.filter(it => isIn(it, path)))
  }

  async #commitAlways(commit: NewCommit, signature: Promise<Signature>): Promise<Oid> {
    const made = (await this.#commit(commit, signature)) ?? this.tip
    if (made === undefined) throw new Failure('There is nothing to commit.')
    return made
  }

  /**
   * Makes a commit on the tip and moves the branch to it; drafts and the operation are moved and written in the same
   * transaction. Gives undefined where the commit would change nothing.
   */
  async #commit(
    { kind, words, message, changes, after, renamed }: NewCommit,
    signature: Promise<Signature>,
  ): Promise<Oid | undefined> {
    const { objects, operations, checkouts, say } = this.#room
    const { tip } = this
    const tree = await makeTree(objects, tip, changes)
    const before = tip === undefined ? undefined : (await objects.info(`${tip}^{tree}`))?.oid
    if (tree.oid === before) {
      if (renamed) this.#reopen(renamed)
      await this.#become(after)
      this.#writeIfNeeded()
      return undefined
    }
    const parents = tip === undefined ? [] : [tip]
    const commit = await makeCommit(objects.repository, await signature, { tree, parents, message })
    const drafts = { ...after, tip: commit.oid }
    const made = await makeDrafts(objects, drafts, { base: tip, changes })
    const objectsMade = [...commit.made, ...(made?.made ?? [])]
    const moves = [{ ref: headRef(this.name), from: tip, to: commit.oid }, this.#draftsMove(made)]
    const withdraw = await checkouts.announce(this.name, tip, commit.oid)
    try {
      await operations.record({ kind, words, moves: moves.filter(isMove), made: objectsMade, renamed })
    } catch (error) {
      await withdraw()
      throw error
    }
    checkouts.follow(this.name, tip, commit.oid)
    await this.#wroteAndBecome(made?.oid, drafts, renamed)
    say({ say: 'saved', branch: this.name, commit: commit.oid })
    return commit.oid
  }

  async #wroteAndBecome(commit: Oid | undefined, drafts: Drafts, renamed?: Renamed): Promise<void> {
    this.#written = { commit, drafts: written(drafts) }
    if (renamed) this.#reopen(renamed)
    await this.#become(this.#written.drafts)
  }

  /** Files that were open under another name stay open until what was typed in them is among the drafts. */
  #reopen(renamed: Renamed): void {
    for (const [path, open] of [...this.#open]) {
      const other = pathAfter(renamed, path)
      if (other === path) continue
      this.#open.delete(path)
      this.#open.set(other, { ...open, windows: 0 })
      if (this.#typed.delete(path)) this.#typed.add(other)
      this.#room.say({ say: 'replaced', branch: this.name, path, file: { kind: 'nothing' } })
    }
    if (this.#typed.size > 0) this.#writeSoon(WRITE_AFTER)
  }

  // --- What can't be merged
  // --------------------------------------------------------------------------------------------

  async clashes(): Promise<Clash[]> {
    return await this.locked(async () => {
      await this.#collect()
      const { objects } = this.#room
      const all = [...this.#drafts.clashes].map(async ([path, { mode, base, draft, bytes }]) => {
        const now = await this.#entryBeside(path)
        const texts = await Promise.all([base, draft, now?.oid].map(oid => oid && textAt(objects, path, { mode, oid })))
        const [baseText = '', draftText = '', tipText = ''] = texts
        return { path, base: baseText, draft: (bytes && decode(bytes)?.text) ?? draftText, tip: tipText }
      })
      return await Promise.all(all)
    })
  }

  /** The other end of a clash: what the file is in the branch, or in the drafts of another desk. */
  async #entryBeside(path: Path): Promise<Entry> {
    const { tip, files } = this.#drafts
    if (files.has(path)) return asEntry(files.get(path))
    return tip === undefined ? undefined : await entryAt(this.#room.objects, tip, path)
  }

  /** Takes a text for a file that clashed: it is an ordinary draft from then on. */
  async settle(path: Path, text: string): Promise<void> {
    await this.locked(async () => {
      await this.#collect()
      const { objects } = this.#room
      const clash = this.#drafts.clashes.get(path)
      if (!clash) throw new Failure(`There is nothing left to choose in ${visiblePath(path)}.`)
      if (!text.isWellFormed() || text.includes('\0'))
        throw new Failure('That is no text that can be written to a file.')
      const { mode } = clash
      const old = clash.bytes ?? (await readContent(objects, { mode, oid: clash.draft }))?.bytes
      const bytes = encode(text, (old && decode(old)) ?? NEW_FORM)
      const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
      const before = this.tip === undefined ? undefined : await entryAt(objects, this.tip, path)
      const files = new Map(this.#drafts.files)
      if (before?.oid === oid) files.delete(path)
      else files.set(path, { mode, oid, bytes })
      const clashes = new Map(this.#drafts.clashes)
      clashes.delete(path)
      await this.#become({ ...this.#drafts, files, clashes })
      this.#writeSoon(0)
    })
  }

  // --- Undo
  // ------------------------------------------------------------------------------------------------------------

  /**
   * What comes of the drafts where an operation takes the branch to another commit. To be called while it is locked.
   */
  async prepare(target: Target): Promise<Prepared> {
    const { objects } = this.#room
    await this.#collect()
    // Another desk may have moved the branch, or written drafts, since somebody looked here.
    await this.#refresh()
    const drafts = await this.#draftsFor(target)
    const made = await makeDrafts(objects, drafts)
    const moves = [this.#draftsMove(made)].filter(isMove)
    return { drafts, commit: made?.oid, moves, made: made?.made ?? [], renamed: target.renamed }
  }

  async #draftsFor({ head, isUnsaved, renamed, drafts }: Target): Promise<Drafts> {
    const tip = head ? head.before : this.tip
    if (isUnsaved) return await this.#unsaved(tip)
    if (renamed) return { ...this.#drafts, tip, files: this.#renamed(renamed) }
    const there = await this.#draftsOn(tip)
    return drafts ? await this.#changed(there, drafts) : there
  }

  #renamed(renamed: Renamed): Map<Path, DraftFile> {
    return new Map([...this.#drafts.files].map(([path, file]) => [pathAfter(renamed, path), file]))
  }

  /** Drafts that were let go come back, and the reverse; what has been typed since stays. */
  async #changed(now: Drafts, { from, to }: NonNullable<Target['drafts']>): Promise<Drafts> {
    const [start, end] = await Promise.all([from, to].map(commit => this.#draftsIn(commit, now.tip)))
    return start && end ? await mergeDrafts(this.#room.objects, start, now, end) : now
  }

  /** The drafts of another time, as they are on a commit. */
  async #draftsIn(commit: Oid | undefined, tip: Oid | undefined): Promise<Drafts | undefined> {
    const { objects } = this.#room
    const drafts = commit === undefined ? noDrafts(tip) : await readDrafts(objects, commit)
    if (!drafts || drafts.tip === tip) return drafts
    return await mergeDrafts(objects, noDrafts(drafts.tip), drafts, noDrafts(tip))
  }

  /** Takes what was prepared, after the refs have moved. */
  async take({ drafts, commit, renamed }: Prepared): Promise<void> {
    if (this.tip !== drafts.tip) this.#room.checkouts.follow(this.name, this.tip, drafts.tip)
    this.#isGone = false
    await this.#wroteAndBecome(commit, drafts, renamed)
  }

  async #draftsOn(tip: Oid | undefined): Promise<Drafts> {
    if (tip === this.tip) return this.#drafts
    return await mergeDrafts(this.#room.objects, noDrafts(this.tip), this.#drafts, noDrafts(tip))
  }

  /** A save is taken back: what it saved is typed and not saved again, with what has been typed since. */
  async #unsaved(tip: Oid | undefined): Promise<Drafts> {
    const { objects } = this.#room
    const saved = this.tip === undefined ? new Map() : await filesBetween(objects, tip, this.tip)
    const files = new Map<Path, DraftFile>()
    for (const [path, file] of [...saved, ...this.#drafts.files]) {
      const before = tip === undefined ? undefined : await entryAt(objects, tip, path)
      if (before?.oid === file?.oid && before?.mode === file?.mode) files.delete(path)
      else files.set(path, file)
    }
    return { ...this.#drafts, tip, files }
  }

  // --- What others have done
  // -------------------------------------------------------------------------------------------

  /** Looks where the branch and its drafts are, and brings the drafts along where somebody has moved one of them. */
  async refresh(): Promise<void> {
    await this.locked(async () => {
      await this.#collect()
      await this.#refresh()
    })
    this.#writeIfNeeded()
  }

  #writeIfNeeded(): void {
    if (!isSameDrafts(this.#drafts, this.#written.drafts)) this.#writeSoon(WRITE_AFTER)
  }

  async #refresh(): Promise<void> {
    const { objects } = this.#room
    const [tip, draftsCommit] = await Promise.all([
      objects.info(`${headRef(this.name)}^{commit}`),
      objects.info(draftsRef(this.name)),
    ])
    if (draftsCommit?.oid !== this.#written.commit) await this.#takeDraftsOf(draftsCommit?.oid)
    const wasGone = this.#isGone
    this.#isGone = tip === undefined && this.tip !== undefined
    if (tip && tip.oid !== this.tip) await this.#moveTo(tip.oid)
    else if (wasGone !== this.#isGone) this.#sayBranch()
  }

  /** The drafts that another desk, or an earlier time, has written. */
  async #takeDraftsOf(commit: Oid | undefined): Promise<void> {
    const { objects } = this.#room
    const theirs = commit === undefined ? noDrafts(this.tip) : await readDrafts(objects, commit)
    if (!theirs) throw new Failure(`${draftsRef(this.name)} is no commit: delete it by git update-ref -d.`)
    const merged = await this.#merged(drafts => mergeDrafts(objects, this.#written.drafts, drafts, theirs))
    this.#written = { commit, drafts: theirs }
    await this.#become(merged)
  }

  async #moveTo(tip: Oid): Promise<void> {
    const { objects } = this.#room
    await this.#become(await this.#merged(drafts => mergeDrafts(objects, noDrafts(this.tip), drafts, noDrafts(tip))))
  }

  /** A merge of all that was typed until it was done, if people do not type all too fast. */
  async #merged(merge: (drafts: Drafts) => Promise<Drafts>): Promise<Drafts> {
    for (let tries = 1; ; tries++) {
      const merged = await merge(this.#drafts)
      if (this.#typed.size === 0 || tries >= TRIES) return merged
      await this.#collect()
    }
  }

  /** Makes other drafts those of this branch, and lets the open files follow. */
  async #become(drafts: Drafts): Promise<void> {
    const clashed = [...drafts.clashes.keys()].filter(path => !this.#drafts.clashes.has(path))
    this.#drafts = drafts
    for (const [path, open] of this.#open) await this.#followIn(path, open)
    if (clashed.length > 0) this.#room.say({ say: 'clashes', branch: this.name, paths: [...drafts.clashes.keys()] })
    this.#sayBranch()
  }

  async #followIn(path: Path, open: OpenFile): Promise<void> {
    const entry = await this.#entryAt(path)
    const isSame = entry?.oid === open.shown?.oid && entry?.mode === open.shown?.mode
    open.shown = entry
    const content = entry && (await this.#contentOf(path, entry))
    const isText = entry && content && !showWithoutText(path, entry, content) && !whyReadOnly(path, content.size)
    const decoded = isText && content.bytes ? decode(content.bytes) : undefined
    if (!isSame && open.document && decoded) {
      // What was typed in the meantime is on top of it, and among the files that were typed in.
      const edit = open.document.become(decoded.text, decoded)
      if (edit) this.#room.say({ say: 'edited', branch: this.name, path, version: edit.version, edits: [edit.edit] })
    } else if (!isSame) {
      open.document = decoded && new Document(decoded.text, decoded)
    }
    this.#room.say({ say: 'replaced', branch: this.name, path, file: await this.#show(path, open) })
  }
}

/** Where an operation takes a branch. */
export type Target = {
  /** Where the branch is to go; undefined where it stays. */
  head: { before?: Oid | undefined } | undefined
  /** What is not in the commit any more becomes drafts. */
  isUnsaved: boolean
  /** The commits of the drafts that it was about: what they were after it, and before. */
  drafts: { from: Oid | undefined; to: Oid | undefined } | undefined
  /** A file or folder that gets another name by it. */
  renamed: Renamed | undefined
}
export type Prepared = {
  drafts: Drafts
  commit: Oid | undefined
  moves: Move[]
  made: NewObject[]
  renamed: Renamed | undefined
}

type NewCommit = {
  kind: string
  words: string
  message: string
  changes: ReadonlyMap<Path, Change>
  /** What is left of the drafts. */
  after: Drafts
  renamed?: Renamed
}

const isMove = ({ from, to }: Move): boolean => from !== to
/** Whether a path is another one or below it. */
const isIn = (path: Path, folder: Path): boolean => path === folder || path.startsWith(`${folder}/`)

const pathAfter = ({ from, to }: Renamed, path: Path): Path => (isIn(path, from) ? to + path.slice(from.length) : path)

function pick(files: Drafts['files'], paths: readonly Path[]): Map<Path, DraftFile> {
  return new Map(paths.map(path => [path, files.get(path)]))
}

function without<Value>(all: ReadonlyMap<Path, Value>, paths: Iterable<Path>): Map<Path, Value> {
  const left = new Map(all)
  for (const path of paths) left.delete(path)
  return left
}

const withoutFiles = ({ tip, files, clashes }: Drafts, paths: ReadonlySet<Path>): Drafts => ({
  tip,
  files: without(files, paths),
  clashes: without(clashes, paths),
})

const namesOf = (paths: readonly Path[]): string =>
  paths.length <= 2 ? paths.map(visiblePath).join(' and ') : many(paths.length, 'file')

const asEntry = (file: DraftFile): Entry => file && { mode: file.mode, oid: file.oid }

/** A file's content, where it is not too large to be shown. */
export async function readContent(objects: Objects, entry: NonNullable<Entry>): Promise<Content | undefined> {
  if (entry.mode === '160000' || entry.mode === '040000') return undefined
  const object = await objects.read(entry.oid, { limit: SHOWN })
  return object && { ...entry, size: object.size, bytes: object.bytes }
}

async function textAt(objects: Objects, path: Path, entry: NonNullable<Entry>): Promise<string | undefined> {
  const content = await readContent(objects, entry)
  if (!content?.bytes || showWithoutText(path, entry, content)) return undefined
  return decode(content.bytes)?.text
}

/** What is shown of a file that nobody edits. */
export async function showFile(
  objects: Objects,
  path: Path,
  entry: NonNullable<Entry>,
  saved: string | undefined,
  why?: string,
): Promise<File> {
  const content = await readContent(objects, entry)
  const other = showWithoutText(path, entry, content)
  if (other) return other
  const decoded = decode(content?.bytes ?? new Uint8Array())
  const { text, ...form } = decoded ?? { text: '', ...NEW_FORM }
  const readOnly = why ?? whyReadOnly(path, content?.size ?? 0)
  return { kind: 'text', text, version: 0, saved, ...form, mode: entry.mode, readOnly }
}
