/**
 * Everything about work in progress in one repository: branches, their files as they are typed and saved, and what can
 * be undone. The server asks it and passes on what it says.
 */

import { mkdir } from 'node:fs/promises'
import { Failure } from '../../core/failure.ts'
import { Maintenance } from '../../core/git/maintenance.ts'
import { type Objects, openObjects } from '../../core/git/objects.ts'
import type { RefName } from '../../core/git/refs.ts'
import { isOid, type Oid, type Path, type Repository } from '../../core/git/repository.ts'
import { entryAt } from '../../core/git/trees.ts'
import { visiblePath } from '../../core/text.ts'
import { allOf } from '../../core/together.ts'
import { Operations, type Recorded, type RefFilter } from '../operations.ts'
import { CommitVfs, materializedIn, removeLeftBehind, type Vfs } from '../vfs.ts'
import { clashesOf, settle, takeSide } from './branches/branch-clashes.ts'
import * as commits from './branches/branch-commits.ts'
import { deleteBranch, newBranch, newMergingBranch, renameBranch, restoreBranch } from './branches/branch-operations.ts'
import { finishRenames } from './branches/branch-renames.ts'
import { draftsElsewhere, saveElsewhere } from './branches/branch-split.ts'
import type { BranchWork, Room } from './branches/branch-work.ts'
import { BranchFacts, branchOf, HEADS, headRef, listBranches, tipsBelow, tipsBelowEach } from './branches/branches.ts'
import { Checkouts } from './branches/checkouts.ts'
import { MovedBranches } from './branches/moved-branches.ts'
import { branchNameOf, OpenBranches, renamedBy } from './branches/open-branches.ts'
import { reverse } from './branches/undo.ts'
import { type Part, Watch } from './branches/watch.ts'
import { Chat } from './chat/chat.ts'
import type { Conversation } from './chat/conversation.ts'
import { type Models, NO_MODELS } from './chat/models.ts'
import { Mergings } from './merging/mergings.ts'
import type { At, BranchInfo, Clash, Edit, File, News, Operation } from './messages.ts'
import { keepRefsPrivate } from './private-refs.ts'
import { showFile } from './reading/file-content.ts'
import { Filters } from './reading/filters.ts'
import { DRAFTS, MERGING, RENAMING, TURNS } from './refs.ts'
import { Plannings } from './steps/plannings.ts'
import { Steps } from './steps/steps.ts'

export type WorkOptions = {
  /** The folder for this repository's files outside of it. */
  state: string
  /** What has become different. It must not throw. */
  onNews: (news: News) => void
  /** The user's folder of settings for the forge: the key of approvals is in there. By default, that of the state. */
  config?: string | undefined
  /** Whom turns ask; without them everything but the chat works. */
  models?: Models | undefined
}

const NEVER_CHANGES = 'A commit never changes: make a branch from it to edit its files.'

/** Opens the work on a repository; drafts of an earlier time are there again. To be closed. */
export async function openWork(repository: Repository, options: WorkOptions): Promise<Work> {
  await mkdir(options.state, { recursive: true })
  // What can't be removed yet, since a command has closed it, is no reason not to open the desk.
  await removeLeftBehind(materializedIn(options.state)).catch(() => undefined)
  const objects = openObjects(repository)
  try {
    const checkouts = await Checkouts.open(objects, options.state, options.onNews)
    const operations = new Operations(objects)
    const filters = new Filters(objects)
    const maintenance = new Maintenance(repository)
    const moved = await MovedBranches.open(options.state, repository)
    const work = new Work({ objects, operations, checkouts, filters, maintenance, moved, say: options.onNews })
    await work.begin(options)
    return work
  } catch (error) {
    await objects[Symbol.asyncDispose]()
    throw error
  }
}

export class Work implements AsyncDisposable {
  readonly #room: Room
  readonly #facts: BranchFacts
  readonly #branches: OpenBranches
  readonly #watch: Watch
  #chat: Chat | undefined
  /** What can be done to refs, and what waits for a person because of it. */
  readonly steps: Steps
  readonly mergings: Mergings
  /** Where branches and checkouts were when somebody last looked. */
  #tips: ReadonlyMap<string, Oid> = new Map()
  #heads: ReadonlyMap<RefName, string> = new Map()

  constructor(room: Room) {
    this.#room = room
    this.#branches = new OpenBranches(room)
    this.#watch = new Watch(
      room.objects.repository,
      parts => this.#takeNoticeOf(parts),
      error => this.#complain(error),
    )
    this.#facts = new BranchFacts(room.objects, branch => room.say({ say: 'branch', branch }))
    const open = (branch: string) => this.#branches.work(branch)
    const plannings = new Plannings(room.objects, room.say)
    this.steps = new Steps(room, this.#branches, plannings)
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

  /** Opens the branches that have drafts or turns from an earlier time, and looks from now on what others do. */
  async begin({ state, config = state, models = NO_MODELS }: WorkOptions): Promise<void> {
    this.#chat = await Chat.open(this.#branches, { state, config, models })
    await this.#watch.begin()
    const [refs, heads] = await Promise.all([
      tipsBelowEach(this.#repository, [HEADS, DRAFTS, MERGING, TURNS, RENAMING]),
      this.#checkedOut(),
      keepRefsPrivate(this.#repository).catch(error => this.#complain(error)),
    ])
    const [tips = new Map(), drafts = new Map(), merging = new Map(), unfinished = new Map(), renaming = new Map()] =
      refs
    this.#tips = tips
    this.#heads = heads
    if (renaming.size > 0) {
      await finishRenames(this.#room, renaming)
      this.#tips = await tipsBelow(this.#repository, HEADS)
      this.#heads = await this.#checkedOut()
    }
    for (const name of new Set([...drafts.keys(), ...merging.keys()])) {
      await this.#branches.work(name).catch(error => this.#complain(error))
    }
    await this.chat.turns.look(unfinished)
  }

  /** Looks now whether somebody else has moved a ref, as it does by itself every second. */
  async look(): Promise<void> {
    await this.#watch.look()
  }

  async #takeNoticeOf(parts: ReadonlySet<Part>): Promise<void> {
    const touched = new Set<string>()
    if (parts.has('remotes')) this.#room.say({ say: 'repository' })
    if (parts.has('branches')) for (const name of await this.#branchesMoved()) touched.add(name)
    if (parts.has('drafts')) for (const name of await this.#draftsMoved()) touched.add(name)
    // Another desk may have begun or ended one.
    if (parts.has('turns')) await this.chat.turns.look()
    if (parts.has('checkouts'))
      for (const name of await this.#checkoutsMoved()) this.#room.say({ say: 'branch', branch: name })
    for (const name of touched) await this.#branches.refresh(name).catch(error => this.#complain(error))
  }

  /** The branches that are not where they were. Of those that nobody works on it is said at once. */
  async #branchesMoved(): Promise<string[]> {
    const before = this.#tips
    this.#tips = await tipsBelow(this.#repository, HEADS)
    const names = [...new Set([...before.keys(), ...this.#tips.keys()])]
    const moved = names.filter(name => before.get(name) !== this.#tips.get(name))
    for (const name of moved) {
      const [was, is] = [before.get(name), this.#tips.get(name)]
      if (is !== undefined) this.#branches.vanished.delete(name)
      else if (was !== undefined) this.#branches.vanished.set(name, was)
      if (!this.#branches.has(name)) this.#room.say({ say: 'branch', branch: name })
    }
    return moved
  }

  /** The branches with drafts, or with a merge that waits. */
  async #inProgress(): Promise<Set<string>> {
    const below = await tipsBelowEach(this.#repository, [DRAFTS, MERGING])
    return new Set(below.flatMap(tips => [...tips.keys()]))
  }

  /** The branches with drafts that are not known here: another desk wrote them. */
  async #draftsMoved(): Promise<string[]> {
    for (const name of await this.#inProgress())
      if (!this.#branches.has(name)) await this.#branches.work(name).catch(error => this.#complain(error))
    return this.#branches.names
  }

  async #checkoutsMoved(): Promise<string[]> {
    const before = this.#heads
    this.#heads = await this.#checkedOut()
    const refs = [...new Set([...before.keys(), ...this.#heads.keys()])]
    return refs.filter(ref => before.get(ref) !== this.#heads.get(ref)).map(branchOf)
  }

  async #checkedOut(): Promise<Map<RefName, string>> {
    const checkouts = await this.#room.checkouts.list()
    return new Map(checkouts.flatMap(({ head, folder }) => (head?.startsWith(HEADS) ? [[head, folder] as const] : [])))
  }

  #complain(error: unknown): void {
    this.#room.say({ say: 'notice', words: error instanceof Error ? error.message : String(error), isBad: true })
  }

  // --- Branches
  // --------------------------------------------------------------------------------------------------------

  /** All local branches. A branch that was deleted elsewhere is none, but its drafts are kept: see {@link vanished}. */
  async branches(): Promise<BranchInfo[]> {
    const [listed, checkouts] = await Promise.all([listBranches(this.#repository), this.#room.checkouts.list()])
    const [sessions, counts, all, merging] = await Promise.all([
      this.#facts.withSession(listed.map(({ tip }) => tip)),
      this.#facts.counts(listed),
      this.#branches.all(),
      this.#mergingKinds(),
    ])
    const works = new Map(all.map(work => [work.name, work]))
    const folders = new Map(checkouts.map(({ head, folder }) => [head, folder]))
    return listed.map(({ name, tip, committed, subject, upstream }) => {
      const count = counts.get(name)
      const checkout = folders.get(headRef(name))
      const moved = works.get(name)?.moved
      const turn = this.chat.turns.stateIn(name)
      const kind = merging.get(name)
      return {
        name,
        tip,
        committed,
        subject,
        session: sessions.has(tip) || turn !== undefined,
        ...(upstream && count && { upstream: { name: upstream.replace(/^refs\/(remotes|heads)\//, ''), ...count } }),
        ...(checkout !== undefined && { checkout }),
        drafts: works.get(name)?.draftPaths ?? [],
        ...(moved && { moved }),
        ...(turn && { turn }),
        ...(kind && { merging: kind }),
      }
    })
  }

  /** What waits for a person, by the branch that it waits in. */
  async #mergingKinds(): Promise<Map<string, NonNullable<BranchInfo['merging']>>> {
    const works = await this.#branches.all()
    const kinds = await Promise.all(works.map(async work => [work.name, await this.mergings.kindIn(work)] as const))
    return new Map(kinds.flatMap(([name, kind]) => (kind ? [[name, kind] as const] : [])))
  }

  /** Branches that somebody else deleted, and that have drafts: they can be brought back. */
  async vanished(): Promise<{ branch: string; drafts: Path[] }[]> {
    const works = await this.#branches.all()
    const gone = works.filter(({ isGone, draftPaths }) => isGone && draftPaths.length > 0)
    return gone.map(({ name, draftPaths }) => ({ branch: name, drafts: draftPaths }))
  }

  /** Makes a branch at a commit; at the one that is checked out, where none is named. */
  async newBranch(name: string, from: Oid | null): Promise<void> {
    await newBranch(this.#branches, name, from)
  }

  /**
   * Makes a branch in which a merge waits from the start, by the one operation of `begin`: where that fails there is no
   * branch.
   */
  async newMergingBranch<Result>(
    name: string,
    from: Oid,
    begin: (work: BranchWork) => Promise<Result>,
  ): Promise<Result> {
    return await newMergingBranch(this.#branches, name, from, begin)
  }

  /** Deletes a branch with its drafts. Both are kept by the operation, and come back when it is undone. */
  async deleteBranch(name: string): Promise<void> {
    await deleteBranch(this.#branches, name)
  }

  /** Makes a branch again where it was when it vanished, whoever deleted it. */
  async restoreBranch(name: string): Promise<void> {
    await restoreBranch(this.#branches, name)
  }

  /** Gives a branch another name, as `git branch -m` does. */
  async renameBranch(name: string, to: string): Promise<void> {
    await renameBranch(this.#branches, name, to)
    await this.chat.choices.renamed(name, to)
  }

  /** Gives what was saved to a branch that a checkout could not follow a branch of its own. Gives the saved commit. */
  async saveElsewhere(branch: string, to: string): Promise<Oid> {
    return await saveElsewhere(this.#branches, branch, to)
  }

  /** Gives the drafts of a branch that has moved a branch of their own, where it was. */
  async draftsElsewhere(branch: string, from: Oid, to: string): Promise<void> {
    await draftsElsewhere(this.#branches, branch, from, to)
  }

  /** The commit of a branch, whatever waits in it; undefined before its first one. */
  async headOf(branch: string): Promise<Oid | undefined> {
    return (await this.#branches.work(branch)).head
  }

  /** What a branch is called now, where operations of any time have renamed it. */
  async nameNow(name: string): Promise<string> {
    return await this.#branches.nameNow(name)
  }

  // --- Files
  // -----------------------------------------------------------------------------------------------------------

  /** The files of a branch with its drafts, as they are at this moment, or those of a commit. */
  async vfsOf(at: At): Promise<Vfs> {
    if (at.kind === 'branch') return await (await this.#branches.work(at.branch)).vfs()
    return new CommitVfs(this.#objects, await this.#commit(at.commit))
  }

  /** What is shown for a file. What becomes of it is told until it is closed as often as it was opened. */
  async open(at: At, path: Path): Promise<File> {
    if (at.kind === 'branch') return await (await this.#branches.work(at.branch)).open(path)
    const entry = await entryAt(this.#objects, await this.#commit(at.commit), path)
    if (!entry) return { kind: 'nothing' }
    return await showFile(this.#objects, path, entry, undefined, NEVER_CHANGES)
  }

  async close(at: At, path: Path): Promise<void> {
    if (at.kind === 'branch') await (await this.#branches.work(at.branch)).close(path)
  }

  /** Takes edits of an open file; false where they were made for an older version of it. */
  async edit(branch: string, path: Path, version: number, edits: readonly Edit[]): Promise<boolean> {
    return (await this.#branches.work(branch)).edit(path, version, edits)
  }

  /** Commits drafts to their branch; undefined where nothing was different. */
  async save(branch: string, paths: commits.Selection, message?: string): Promise<Oid | undefined> {
    return await commits.save(await this.#branches.work(branch), paths, message)
  }

  /** What a save would be called. */
  async messageFor(branch: string, paths: commits.Selection): Promise<string> {
    return await commits.messageForSave(await this.#branches.work(branch), paths)
  }

  /** Lets drafts go; the operation can be undone. */
  async discard(branch: string, paths: readonly Path[]): Promise<void> {
    await commits.discard(await this.#branches.work(branch), paths)
  }

  async newFile(branch: string, path: Path): Promise<Oid> {
    return await commits.newFile(await this.#branches.work(branch), path)
  }

  async rename(branch: string, from: Path, to: Path): Promise<Oid> {
    return await commits.rename(await this.#branches.work(branch), from, to)
  }

  async delete(branch: string, path: Path): Promise<Oid> {
    return await commits.deleteFile(await this.#branches.work(branch), path)
  }

  /** Files that were changed in two ways that can't be merged. */
  async clashes(branch: string): Promise<Clash[]> {
    return await clashesOf(await this.#branches.work(branch))
  }

  /** Takes a text for a file that clashed; `choice` says which one it was that was seen. */
  async settle(branch: string, path: Path, text: string, choice?: string): Promise<void> {
    await settle(await this.#branches.work(branch), path, text, choice)
  }

  /** Takes one side of a file that clashed, as it is. */
  async takeSide(branch: string, path: Path, side: 'draft' | 'tip', choice?: string): Promise<void> {
    await takeSide(await this.#branches.work(branch), path, side, choice)
  }

  async #commit(oid: Oid): Promise<Oid> {
    const commit = isOid(this.#repository.format, oid) ? await this.#objects.info(`${oid}^{commit}`) : undefined
    if (!commit) throw new Failure(`There is no commit ${visiblePath(oid)} in this repository.`)
    return commit.oid
  }

  /** The conversation in a branch, or as it was in a commit. */
  async conversation(at: At): Promise<Conversation> {
    const { conversations } = this.chat
    return await conversations.at(at.kind === 'branch' ? at : { ...at, commit: await this.#commit(at.commit) })
  }

  /**
   * Begins a turn in which the AI settles what is left of a merge's conflicts, in some files or in all; `only`: nothing
   * but one of those that are left in a file.
   */
  async askForConflicts(branch: string, paths: readonly Path[] | 'all', only?: number): Promise<string> {
    return await this.chat.turns.send(branch, await this.mergings.requestFor(branch, paths, only))
  }

  // --- Undo
  // ------------------------------------------------------------------------------------------------------------

  /** What the desk did to refs, the newest first. */
  async operations(from: number, count: number): Promise<Operation[]> {
    return await this.#room.operations.list(from, count)
  }

  /** In words, what an undo and a redo would do. */
  async undoable(branch?: string): Promise<Undoable> {
    const { operations } = this.#room
    const part = branch === undefined ? undefined : partOf(branch)
    const [undo, redo] = await Promise.all([operations.nextToUndo(part), operations.nextToRedo(part)])
    const again = redo?.of === undefined ? undefined : await operations.find(redo.of)
    return { ...(undo && { undo: undo.words }), ...(again && { redo: again.words }) }
  }

  /** The same for each branch that one of the newest operations was about. */
  async undoableInBranches(): Promise<Map<string, Undoable>> {
    const names = await this.#room.operations.recentParts(RECENT_OPERATIONS, branchNameOf)
    const all = [...names].map(async name => [name, await this.undoable(name)] as const)
    return new Map(await Promise.all(all))
  }

  /**
   * Takes an operation back: the named one, else the last one, of all or of those about a branch. All its refs, or none
   * where one of them has moved since. That is an operation itself.
   */
  async undo(id?: Oid, branch?: string): Promise<{ words: string; refs: RefName[] }> {
    const { operations } = this.#room
    const part = branch === undefined ? undefined : partOf(branch)
    const operation = id === undefined ? await operations.nextToUndo(part) : await operations.find(id)
    if (!operation) throw new Failure(id ? `${id.slice(0, 8)} is no operation of the desk.` : nothingTo('undo', branch))
    return await this.#reverse(operation)
  }

  /** Does again what was undone last, of all or of what is about a branch. */
  async redo(branch?: string): Promise<{ words: string; refs: RefName[] }> {
    const undone = await this.#room.operations.nextToRedo(branch === undefined ? undefined : partOf(branch))
    if (!undone) throw new Failure(nothingTo('redo', branch))
    return await this.#reverse(undone)
  }

  async #reverse(operation: Recorded): Promise<{ words: string; refs: RefName[] }> {
    const reversed = await reverse(this.#branches, operation)
    const renamed = renamedBy(operation)
    if (renamed) await this.chat.choices.renamed(renamed.to, renamed.from)
    // A turn that was kept or discarded waits again, or does not any more.
    if (operation.refs.some(({ ref }) => ref.startsWith(TURNS))) await this.chat.turns.look()
    return reversed
  }

  /** Writes what is typed, and waits for the checkouts that follow. Throws where it can't be written. */
  async flush(): Promise<void> {
    const works = await this.#branches.all()
    // One that can't be written keeps none of the others from it.
    await allOf(works.map(work => work.write()))
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
      // Whatever becomes of the chat: what is typed is written.
      await this.#endChat()
      await this.flush()
    } finally {
      const works = await this.#branches.all()
      for (const work of works) work.end()
      await this.#objects[Symbol.asyncDispose]()
    }
  }
}

/** In words, what an undo and a redo would do. */
type Undoable = { undo?: string; redo?: string }

/** Branches are told what can be undone in them if one of so many operations was about them: the newest. */
const RECENT_OPERATIONS = 300

/** All refs that are about a branch. */
const partOf =
  (branch: string): RefFilter =>
  ref =>
    branchNameOf(ref) === branch

const nothingTo = (verb: string, branch: string | undefined): string =>
  `There is nothing to ${verb}${branch === undefined ? '' : ` in ${visiblePath(branch)}`}.`
