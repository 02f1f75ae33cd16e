/**
 * The work in progress in one repository: branches, their files as typed and saved, and undo. The server asks it, and
 * sends its news.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../core/failure.ts'
import { parseCommit } from '../../core/git/commits.ts'
import { Maintenance } from '../../core/git/maintenance.ts'
import { type Objects, openObjects } from '../../core/git/objects.ts'
import { RefMoved, type RefName } from '../../core/git/refs.ts'
import type { Oid, Path, Repository } from '../../core/git/repository.ts'
import { visiblePath } from '../../core/text.ts'
import { allOf } from '../../core/together.ts'
import type { StartParser } from '../code/reader.ts'
import type { Launcher } from '../language/launch.ts'
import { Operations, type Recorded, type RefFilter } from '../operations.ts'
import { materializedIn, removeLeftBehind } from '../vfs.ts'
import {
  followRename,
  formerNames,
  laterNames,
  renameBranch,
  renamesByGit,
  restoreBranch,
} from './branches/branch-operations.ts'
import { finishRenames, movesOfWork } from './branches/branch-renames.ts'
import type { BranchServices, BranchWork } from './branches/branch-work.ts'
import {
  BranchFacts,
  branchOfRef,
  HEADS,
  headRef,
  listBranches,
  nameOfUpstream,
  tipsBelow,
  tipsBelowEach,
} from './branches/branches.ts'
import { Checkouts } from './branches/checkouts.ts'
import { branchHandlers } from './branches/handlers.ts'
import { MovedBranches } from './branches/moved-branches.ts'
import { finishOwnMoves } from './branches/moving-refs.ts'
import { branchNameOf, OpenBranches, type Renaming, renamedBy } from './branches/open-branches.ts'
import { whyNotWritten } from './branches/save.ts'
import { refsMovedSince, reverse, whyNotReversed } from './branches/undo.ts'
import { Watch, type WatchedPart } from './branches/watch.ts'
import { WrittenHere } from './branches/written-here.ts'
import { Chat } from './chat/chat.ts'
import { chatHandlers } from './chat/handlers.ts'
import { type Models, NO_MODELS } from './chat/models.ts'
import type { BranchInfo, branchQuestions, DeletedBranch, Reversed } from './contract/branches.ts'
import type { LeftBehind } from './contract/desk.ts'
import type { News } from './contract/news.ts'
import type { FieldsOf, Handlers } from './contract/question.ts'
import type { At } from './contract/values.ts'
import { LazyLanguages } from './language/lazy.ts'
import { mergingHandlers } from './merging/handlers.ts'
import { Mergings } from './merging/mergings.ts'
import { keepRefsPrivate } from './private-refs.ts'
import { Filters } from './reading/filters.ts'
import { DRAFTS, draftsRef, MERGING, MOVING, mergingRef, RENAMING, TURNS, turnRef } from './refs.ts'
import { errorInWords, type Window } from './server/window.ts'
import { isRemoteDeletion } from './steps/delete-on-remote.ts'
import { stepHandlers } from './steps/handlers.ts'
import { Plannings } from './steps/plannings.ts'
import { Steps } from './steps/steps.ts'

type WorkOptions = {
  /** The desk's folder for data about this repository, outside of the repository. */
  state: string
  /** Called with news of changes. It must not throw. */
  onNews: (news: News) => void
  /** The folder of the user's settings for the forge, with the key of approvals. Default: the state folder. */
  config?: string | undefined
  /** The models for turns; without them everything but the chat works. */
  models?: Models | undefined
  /** The files that windows show, for language servers. Default: none. */
  shown?: (() => Iterable<{ at: At; path: Path }>) | undefined
  /** How language servers are started. Default: in the locked container. */
  languageServers?: Launcher | undefined
  /** How parsers of code are started. Default: with processes of their own. */
  startParser?: StartParser | undefined
}

/** Opens the work on a repository, with the drafts in it. The caller must close it. */
export async function openWork(repository: Repository, options: WorkOptions): Promise<Work> {
  await mkdir(options.state, { recursive: true })
  // Folders that can't be removed yet, since a command has locked them, do not prevent opening the desk.
  await removeLeftBehind(materializedIn(options.state)).catch(() => undefined)
  const objects = openObjects(repository)
  try {
    const checkouts = await Checkouts.open(objects, options.state, options.onNews)
    const operations = new Operations(objects)
    const filters = new Filters(objects)
    const maintenance = new Maintenance(repository)
    const moved = await MovedBranches.open(options.state, repository)
    const writtenHere = await WrittenHere.open(join(options.state, 'conversations'))
    const seen = { branches: new Map() }
    const run = crypto.randomUUID()
    const services = { run, objects, operations, checkouts, filters, maintenance, moved, writtenHere, seen }
    const work = new Work({ ...services, say: options.onNews })
    await work.begin(options)
    return work
  } catch (error) {
    await objects[Symbol.asyncDispose]()
    throw error
  }
}

export class Work implements AsyncDisposable {
  readonly #room: BranchServices
  readonly #facts: BranchFacts
  /** The branches that are worked on. */
  readonly branches: OpenBranches
  readonly #watch: Watch
  #chat: Chat | undefined
  #languages: LazyLanguages | undefined
  /** Steps on refs: merges, rebases, pushes and the like. */
  readonly steps: Steps
  /** The waiting merges. */
  readonly mergings: Mergings
  /** The commits of branches when the refs were last read. */
  #tips: ReadonlyMap<string, Oid> = new Map()
  /** The branches that were checked out when HEADs were last read, each with the folder of its checkout. */
  #heads: ReadonlyMap<RefName, string> = new Map()

  constructor(room: BranchServices) {
    this.#room = room
    this.branches = new OpenBranches(room)
    this.#watch = new Watch(
      room.objects.repository,
      parts => this.#takeNoticeOf(parts),
      error => this.#complain(error),
      () => room.checkouts.signs,
    )
    this.#facts = new BranchFacts(room.objects, branch => room.say({ say: 'branch', branch }))
    const open = (branch: string) => this.branches.work(branch)
    const plannings = new Plannings(room.objects, room.say)
    this.steps = new Steps(room, this.branches, plannings)
    this.mergings = new Mergings(room, open, plannings)
  }

  get #objects(): Objects {
    return this.#room.objects
  }

  get #repository(): Repository {
    return this.#objects.repository
  }

  /** The chats of all branches. */
  get chat(): Chat {
    if (!this.#chat) throw new Error('The work has not begun yet')
    return this.#chat
  }

  /** The language servers of all branches. */
  get languages(): LazyLanguages {
    if (!this.#languages) throw new Error('The work has not begun yet')
    return this.#languages
  }

  /** Opens the branches that have drafts or turns, and starts watching for changes by other programs. */
  async begin({
    state,
    config = state,
    models = NO_MODELS,
    shown = () => [],
    languageServers: launcher,
    startParser,
  }: WorkOptions): Promise<void> {
    const languages = new LazyLanguages({
      ...{ state, config, shown, launcher },
      say: this.#room.say,
      work: branch => this.branches.work(branch),
    })
    this.#languages = languages
    this.#chat = await Chat.open(this.branches, { state, config, models, languages, startParser }, () => this.look())
    await this.#watch.begin()
    const readRefs = () => tipsBelowEach(this.#repository, [HEADS, DRAFTS, MERGING, TURNS, RENAMING, MOVING])
    const [read, heads] = await Promise.all([
      readRefs(),
      this.#checkedOut(),
      keepRefsPrivate(this.#repository).catch(error => this.#complain(error)),
    ])
    const isMoving = (read.at(-1)?.size ?? 0) > 0
    if (isMoving) await finishOwnMoves(this.#objects, this.#room.say)
    const refs = isMoving ? await readRefs() : read
    const [tips = new Map(), drafts = new Map(), merging = new Map(), unfinished = new Map(), renaming = new Map()] =
      refs
    this.#tips = tips
    this.#heads = heads
    if (renaming.size > 0) {
      await finishRenames(this.#room, renaming)
      this.#tips = await tipsBelow(this.#repository, HEADS)
      this.#heads = await this.#checkedOut()
    }
    this.#room.seen.branches = this.#tips
    for (const name of new Set([...drafts.keys(), ...merging.keys()])) {
      await this.branches.work(name).catch(error => this.#complain(error, name))
    }
    await this.chat.turns.look(unfinished)
    await this.#followEarlierRenames(new Set([drafts, merging, unfinished].flatMap(all => [...all.keys()])))
  }

  /**
   * Follows the branches that another program has renamed while no desk ran. `names`: the branches with refs of the
   * desk. A branch is followed where the reflogs name one branch alone that got its name after these were written.
   */
  async #followEarlierRenames(names: ReadonlySet<string>): Promise<void> {
    const gone = [...names].filter(name => !this.#tips.has(name))
    const renames = gone.length === 0 ? [] : await renamesByGit(this.#repository)
    for (const from of renames.length === 0 ? [] : gone) {
      const since = await this.#lastWritten(from)
      const [to, ...others] = laterNames(renames, { from, since }, this.#tips)
      if (to !== undefined && others.length === 0) await this.#followRename({ from, to })
    }
  }

  /** The time when the desk last wrote something of a branch, in seconds since 1970. */
  async #lastWritten(name: string): Promise<number> {
    const commits = [draftsRef, mergingRef, turnRef].map(refOf => this.#objects.read(`${refOf(name)}^{commit}`))
    const times = (await Promise.all(commits)).map(object =>
      object?.bytes ? (parseCommit(object.bytes).committer.date?.seconds ?? 0) : 0,
    )
    return Math.max(...times)
  }

  /** Checks now whether another program has moved a ref, as is done every second. */
  async look(): Promise<void> {
    await this.#watch.look()
  }

  async #takeNoticeOf(parts: ReadonlySet<WatchedPart>): Promise<void> {
    const touched = new Set<string>()
    if (parts.has('remotes')) this.#room.say({ say: 'repository' })
    if (parts.has('branches')) for (const name of await this.#branchesMoved()) touched.add(name)
    if (parts.has('drafts')) for (const name of await this.#draftsMoved()) touched.add(name)
    // Another desk may have begun or ended a turn.
    if (parts.has('turns')) await this.chat.turns.look()
    if (parts.has('checkouts')) {
      for (const name of await this.#checkoutsMoved()) this.#room.say({ say: 'branch', branch: name })
      await this.#room.checkouts.look()
    }
    for (const name of touched) await this.branches.refresh(name).catch(error => this.#complain(error, name))
  }

  /** The branches that have moved. For branches that are not open, the news is sent here. */
  async #branchesMoved(): Promise<string[]> {
    const before = this.#tips
    // The desk may have moved a branch since it last looked, and another program may have set it back since then.
    const known = new Map([...before, ...(await this.branches.heads())])
    this.#tips = await tipsBelow(this.#repository, HEADS)
    const isMoved = (name: string) => [before, known].some(tips => tips.get(name) !== this.#tips.get(name))
    const moved = [...new Set([...known.keys(), ...this.#tips.keys()])].filter(isMoved)
    const followed = await this.#followRenames(before, moved)
    this.#room.seen.branches = this.#tips
    for (const name of moved) {
      const [was, is] = [known.get(name), this.#tips.get(name)]
      if (is !== undefined) this.branches.vanished.delete(name)
      else if (was !== undefined && !followed.has(name)) this.branches.vanished.set(name, was)
      if (!this.branches.has(name)) this.#room.say({ say: 'branch', branch: name })
    }
    return moved
  }

  /**
   * Follows the branches that another program has renamed, and gives their old names. A branch in which another desk's
   * turn runs counts as deleted.
   */
  async #followRenames(before: ReadonlyMap<string, Oid>, moved: readonly string[]): Promise<Set<string>> {
    const followed = new Set<string>()
    // Git deletes the old name before it makes the new one: a look in between has taken the branch for deleted.
    const gone = new Set([...moved, ...this.branches.vanished.keys()].filter(name => !this.#tips.has(name)))
    for (const to of gone.size === 0 ? [] : moved.filter(name => !before.has(name))) {
      const from = (await formerNames(this.#repository, to)).find(name => gone.has(name))
      if (from === undefined || !(await this.#followRename({ from, to }))) continue
      followed.add(from)
      this.branches.vanished.delete(from)
    }
    return followed
  }

  /** Follows one rename by another program. Returns whether that was possible; if not, a notice says so. */
  async #followRename({ from, to }: Renaming): Promise<boolean> {
    // The branch may also have been moved meanwhile: this is its commit now.
    const tip = this.#tips.get(to)
    if (tip === undefined) return false
    try {
      const { turns } = this.chat
      await followRename(this.branches, { from, to }, { tip, isTurnOurs: () => turns.isOwnIn(from) })
      await turns.renamed(to)
      await this.chat.renamed(from, to)
      return true
    } catch (error) {
      await this.#tellUnfollowed({ from, to }, error)
      return false
    }
  }

  /** Says that drafts have not followed a rename, unless another desk was first, or there are none. */
  async #tellUnfollowed({ from, to }: Renaming, error: unknown): Promise<void> {
    const isWritten = (await movesOfWork(this.#room, { from, to })).length > 0
    const isMoved = error instanceof RefMoved
    const open = this.branches.has(from) ? await this.branches.work(from) : undefined
    const isTyped = !isMoved && open !== undefined && open.draftPaths.length > 0
    if (!isWritten && !isTyped) return
    const why = isMoved ? 'another program moved it, too' : await whyNotWritten(this.#repository, error)
    const [old, young] = [visiblePath(from), visiblePath(to)]
    const words = `${old} was renamed to ${young} by another program, but what was typed in ${old} could not follow, and is kept there: ${why}.`
    this.#room.say({ say: 'notice', branch: from, words, isBad: true })
  }

  /** The branches with drafts or a waiting merge. */
  async #inProgress(): Promise<Set<string>> {
    const below = await tipsBelowEach(this.#repository, [DRAFTS, MERGING])
    return new Set(below.flatMap(tips => [...tips.keys()]))
  }

  /** The branches with drafts that another desk wrote. */
  async #draftsMoved(): Promise<string[]> {
    for (const name of await this.#inProgress())
      if (!this.branches.has(name)) await this.branches.work(name).catch(error => this.#complain(error, name))
    return this.branches.names
  }

  async #checkoutsMoved(): Promise<string[]> {
    const before = this.#heads
    this.#heads = await this.#checkedOut()
    const refs = [...new Set([...before.keys(), ...this.#heads.keys()])]
    return refs.filter(ref => before.get(ref) !== this.#heads.get(ref)).map(branchOfRef)
  }

  async #checkedOut(): Promise<Map<RefName, string>> {
    const checkouts = await this.#room.checkouts.list()
    return new Map(checkouts.flatMap(({ head, folder }) => (head?.startsWith(HEADS) ? [[head, folder] as const] : [])))
  }

  /** The handlers of the questions about work in progress. */
  get handlers() {
    return {
      ...branchHandlers(this.branches),
      ...this.#ownHandlers,
      ...stepHandlers(this.steps),
      ...mergingHandlers(this.mergings),
      ...chatHandlers(this.chat, this.mergings),
      ...this.languages.handlers,
    }
  }

  /** Called with all news: language servers and the contexts of AIs follow the files. */
  hear(news: News): void {
    this.languages.hear(news)
    if (news.say !== 'renamed file') return
    this.chat.renamedFile(news.branch, news).catch(error => this.#complain(error, news.branch))
  }

  /** Answers the questions that rename or move branches, after which the chats are updated, too. */
  get #ownHandlers(): Handlers<
    Pick<typeof branchQuestions, 'rename branch' | 'restore branch' | 'undo' | 'redo' | 'why not reversed'>,
    Window
  > {
    return {
      'rename branch': ({ branch, to }) => this.renameBranch(branch, to),
      'restore branch': ({ branch }) => this.#restoreBranch(branch),
      undo: ({ operation, branch }) => this.undo(operation, branch).catch(asNothing),
      redo: ({ branch }) => this.redo(branch).catch(asNothing),
      'why not reversed': async asked => ({ why: await this.whyNotReversed(asked) }),
    }
  }

  /** Tells the windows of a failure. `branch`: the branch that it is about. */
  #complain(error: unknown, branch?: string): void {
    this.#room.say({ say: 'notice', words: errorInWords(error), isBad: true, ...(branch !== undefined && { branch }) })
  }

  // --- Branches ---

  /**
   * All local branches. A branch deleted by another program is not listed, but its drafts are kept: see {@link
   * vanished}.
   */
  async describeBranches(): Promise<BranchInfo[]> {
    const [listed, checkouts] = await Promise.all([listBranches(this.#repository), this.#room.checkouts.list()])
    const [sessions, { counts, gone }, all, merging] = await Promise.all([
      this.#facts.withSession(listed.map(({ tip }) => tip)),
      this.#facts.upstreams(listed),
      this.branches.all(),
      this.#mergingKinds(),
    ])
    const works = new Map(all.map(work => [work.name, work]))
    const folders = new Map(checkouts.map(({ head, folder }) => [head, folder]))
    return listed.map(({ name, tip, committed, subject, upstream }) => {
      const count = counts.get(name)
      const checkout = folders.get(headRef(name))
      const { moved, unwritten, changedByAi, renamedByAi, turnBase } = works.get(name) ?? {}
      const turn = this.chat.turns.stateIn(name)
      const kind = merging.get(name)
      const conflicts = works.get(name)?.conflictPaths ?? []
      return {
        name,
        tip,
        committed,
        subject,
        session: sessions.has(tip) || turn !== undefined,
        ...(upstream &&
          count && { upstream: { name: nameOfUpstream(upstream), ...count, isLocal: upstream.startsWith(HEADS) } }),
        ...(upstream && gone.has(name) && { goneUpstream: nameOfUpstream(upstream) }),
        ...(checkout !== undefined && { checkout }),
        drafts: [...(works.get(name)?.draftPaths ?? [])],
        ...(changedByAi && { changedByAi: [...changedByAi] }),
        ...(renamedByAi && renamedByAi.size > 0 && { renamedByAi: [...renamedByAi.keys()] }),
        ...(turnBase !== undefined && { turnBase }),
        ...(conflicts.length > 0 && { conflicts }),
        ...(moved && { moved }),
        ...(unwritten !== undefined && { unwritten }),
        ...(turn && { turn }),
        ...(kind && { merging: kind }),
      }
    })
  }

  /** The kinds of waiting merges, by branch. */
  async #mergingKinds(): Promise<Map<string, NonNullable<BranchInfo['merging']>>> {
    const works = await this.branches.all()
    const kinds = await Promise.all(works.map(async work => [work.name, await this.mergings.kindIn(work)] as const))
    return new Map(kinds.flatMap(([name, kind]) => (kind ? [[name, kind] as const] : [])))
  }

  /** The files with unsaved changes in a branch that may have no commit yet. */
  async draftsIn(name: string): Promise<Path[]> {
    const open = (await this.branches.all()).find(work => work.name === name && !work.isGone)
    return [...(open?.draftPaths ?? [])]
  }

  /** Branches with drafts, or with a turn of their AI, that another program deleted: they can be restored. */
  async vanished(): Promise<DeletedBranch[]> {
    const works = await this.branches.all()
    const hasTurn = (name: string) => this.chat.turns.in(name) !== undefined
    const gone = works.filter(({ isGone, draftPaths, name }) => isGone && (draftPaths.length > 0 || hasTurn(name)))
    return gone.map(({ name, draftPaths, unwritten }) => ({
      branch: name,
      drafts: [...draftPaths],
      ...(hasTurn(name) && { hasTurn: true }),
      ...(unwritten !== undefined && { unwritten }),
    }))
  }

  /** The checkouts that could not follow their branches. */
  async checkoutsLeftBehind(): Promise<LeftBehind[]> {
    return await this.#room.checkouts.allLeftBehind()
  }

  /** Renames a branch, as `git branch -m` does. */
  async renameBranch(name: string, to: string): Promise<void> {
    await renameBranch(this.branches, name, to)
    await this.chat.renamed(name, to)
  }

  /** Restores a deleted branch. Reads the refs first, since the page may know of the deletion earlier than the desk. */
  async #restoreBranch(name: string): Promise<void> {
    await this.look()
    await restoreBranch(this.branches, name)
  }

  // --- Undo ---

  /**
   * What Undo and Redo would do, in words. Of the whole repository, an undo that would be refused since refs have moved
   * is left out; of a branch, its refusal says what to do first.
   */
  async undoable(branch?: string): Promise<Undoable> {
    const { operations } = this.#room
    const part = partIn(branch)
    const [undo, redo] = await Promise.all([operations.nextToUndo(part), operations.nextToRedo(part)])
    const again = redo?.of === undefined ? undefined : await operations.find(redo.of)
    const moved = undo && branch === undefined ? await refsMovedSince(this.branches, undo.refs) : []
    return { ...(undo && moved.length === 0 && { undo: undo.words }), ...(again && { redo: again.words }) }
  }

  /** What Undo and Redo would do in each branch that one of the newest operations changed. */
  async undoableInBranches(): Promise<Map<string, Undoable>> {
    const names = await this.#room.operations.recentParts(RECENT_OPERATIONS, branchToUndoIn)
    const all = [...names].map(async name => [name, await this.undoable(name)] as const)
    return new Map(await Promise.all(all))
  }

  /**
   * Undoes an operation: the given one, else the last one, of the branch or of all. All its refs move, or none if one
   * has moved since. This is an operation itself.
   */
  async undo(id?: Oid, branch?: string): Promise<Reversed> {
    const operation = await this.#toUndo(id, branch)
    if (!operation) throw nothingTo('undo', branch)
    return await this.#reverse(operation)
  }

  async #toUndo(id?: Oid, branch?: string): Promise<Recorded | undefined> {
    const { operations } = this.#room
    if (id === undefined) return await operations.nextToUndo(partIn(branch))
    const operation = await operations.find(id)
    if (!operation) throw new Failure(`${id.slice(0, 8)} is no operation of the desk.`)
    return operation
  }

  /** Redoes the operation that was undone last, in the branch or, without one, in the repository. */
  async redo(branch?: string): Promise<Reversed> {
    const undone = await this.#room.operations.nextToRedo(partIn(branch))
    if (!undone) throw nothingTo('redo', branch)
    return await this.#reverse(undone)
  }

  /** Why {@link undo} or {@link redo} would be refused now; undefined if nothing is known to be in the way. */
  async whyNotReversed({ kind, operation: id, branch }: Reversal): Promise<string | undefined> {
    const undone = kind === 'redo' ? this.#room.operations.nextToRedo(partIn(branch)) : this.#toUndo(id, branch)
    const operation = await undone
    return operation && (await whyNotReversed(this.branches, operation))
  }

  async #reverse(operation: Recorded): Promise<Reversed> {
    const original = operation.of === undefined ? operation : await this.#room.operations.find(operation.of)
    const reversed: Reversed =
      original && isRemoteDeletion(original.kind)
        ? await this.steps.reverseRemoteDeletion(operation, original)
        : await reverse(this.branches, operation)
    const renamed = renamedBy(operation)
    if (renamed) await this.chat.renamed(renamed.to, renamed.from)
    for (const branch of reversed.deleted ?? [])
      if (!(await this.#isKept(branch))) this.#room.say({ say: 'branch gone', branch })
    return await this.chat.reversed(operation, reversed)
  }

  /** Whether a deleted branch has something that is not saved, and so stays open. */
  async #isKept(branch: string): Promise<boolean> {
    if (this.chat.turns.in(branch) !== undefined) return true
    return this.branches.has(branch) && (await this.branches.work(branch)).draftPaths.length > 0
  }

  /** Writes all edits, then waits for updates of checkouts and for git maintenance. Throws if a write fails. */
  async flush(): Promise<void> {
    await this.#flush(work => work.write())
  }

  async #flush(write: (work: BranchWork) => Promise<void>): Promise<void> {
    const works = await this.branches.all()
    // A failure in one branch does not keep the others from being written.
    await allOf(works.map(write))
    await this.#room.checkouts.settled()
    await this.#room.moved.settled()
    await this.#room.maintenance.settled()
  }

  async #endChat(): Promise<void> {
    await this.#chat?.[Symbol.asyncDispose]().catch(error => this.#complain(error))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]()
    await this.steps.end()
    try {
      // Edits are written even if ending the chat fails.
      await this.#endChat()
      await this.#languages?.[Symbol.asyncDispose]().catch(error => this.#complain(error))
      await this.#flush(work => work.writeAtEnd())
    } finally {
      const works = await this.branches.all()
      for (const work of works) work.end()
      await this.#objects[Symbol.asyncDispose]()
    }
  }
}

/** An undo or a redo: of an operation, or else of the last one, of a branch or of all. */
type Reversal = FieldsOf<(typeof branchQuestions)['why not reversed']>

/** What Undo and Redo would do, in words. */
type Undoable = { undo?: string; redo?: string }

/** Undo is offered in the branches that at most this many of the newest operations changed. */
const RECENT_OPERATIONS = 300

/** The branch in which Undo and Redo offer what moved a ref: also the one of a turn that was discarded. */
const branchToUndoIn = (ref: RefName): string | undefined =>
  ref.startsWith(TURNS) ? ref.slice(TURNS.length) : branchNameOf(ref)

/** Selects the refs that belong to a branch; undefined without one. */
const partIn = (branch: string | undefined): RefFilter | undefined =>
  branch === undefined ? undefined : ref => branchToUndoIn(ref) === branch

/** There is no operation to undo or redo. */
class NothingToReverse extends Failure {}

const nothingTo = (verb: string, branch: string | undefined): NothingToReverse =>
  new NothingToReverse(`There is nothing to ${verb}${branch === undefined ? '' : ` in ${visiblePath(branch)}`}.`)

/** The reply where there was nothing to undo or redo, which is no error to the user. Throws any other error. */
function asNothing(error: unknown): Reversed {
  if (error instanceof NothingToReverse) return { words: error.message, refs: [] }
  throw error
}
