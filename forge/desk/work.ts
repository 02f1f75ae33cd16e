/**
 * Everything about work in progress in one repository: branches, their files as they are typed and saved, and what can
 * be undone. The server asks it and passes on what it says.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../core/failure.ts'
import { isRefName, type Objects, openObjects } from '../../core/git/objects.ts'
import { listRefs, type Move, RefMoved, type RefName, readHead } from '../../core/git/refs.ts'
import { asText, fields, isOid, type Oid, type Path, type Repository } from '../../core/git/repository.ts'
import { run } from '../../core/git/run.ts'
import { entryAt } from '../../core/git/trees.ts'
import { visible, visiblePath } from '../../core/text.ts'
import { CommitVfs, removeLeftBehind, type Vfs } from '../vfs.ts'
import { Ai } from './ai.ts'
import { clashesOf, settle } from './branch-clashes.ts'
import * as commits from './branch-commits.ts'
import { type Prepared, prepare, take } from './branch-undo.ts'
import { BranchWork, type Room } from './branch-work.ts'
import { BranchFacts, branchOf, HEADS, headRef, listBranches, tipsBelow, verifyBranchName } from './branches.ts'
import { Checkouts } from './checkouts.ts'
import { Choices } from './choices.ts'
import type { Conversation } from './conversation.ts'
import { Conversations } from './conversations.ts'
import { branchOfDrafts, DRAFTS, draftsRef, readDrafts } from './drafts.ts'
import { showFile } from './file-content.ts'
import type { At, BranchInfo, Clash, Edit, File, FolderEntry, News, Operation } from './messages.ts'
import { type Models, NO_MODELS } from './models.ts'
import { moveRefsPatiently, type NewOperation, Operations, PUT_ASIDE, type Recorded } from './operations.ts'
import { TURNS, turnRef } from './turn-checkpoints.ts'
import { reverseTurn } from './turn-ends.ts'
import { Turns } from './turns.ts'
import { type Part, Watch } from './watch.ts'

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

/** An undo or a redo: an operation about another one. */
type Reversal = { kind: string; words: string; of: Oid }

/** How often an undo begins anew because another desk has written drafts. */
const TRIES = 10

const NEVER_CHANGES = 'A commit never changes: make a branch from it to edit its files.'

/** Opens the work on a repository; drafts of an earlier time are there again. To be closed. */
export async function openWork(repository: Repository, options: WorkOptions): Promise<Work> {
  await mkdir(options.state, { recursive: true })
  await removeLeftBehind(join(options.state, 'materialized'))
  const objects = openObjects(repository)
  try {
    const checkouts = await Checkouts.open(objects, options.state, options.onNews)
    const room = { objects, operations: new Operations(objects), checkouts, say: options.onNews }
    const work = new Work(room)
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
  readonly #branches = new Map<string, Promise<BranchWork>>()
  /** Where branches were that somebody else has deleted while the desk ran. */
  readonly #vanished = new Map<string, Oid>()
  readonly #watch: Watch
  #chat: { ai: Ai; turns: Turns; choices: Choices; conversations: Conversations } | undefined
  /** Where branches and checkouts were when somebody last looked. */
  #tips: ReadonlyMap<string, Oid> = new Map()
  #heads: ReadonlyMap<RefName, string> = new Map()

  constructor(room: Room) {
    this.#room = room
    this.#watch = new Watch(
      room.objects.repository,
      parts => this.#takeNoticeOf(parts),
      error => this.#complain(error),
    )
    this.#facts = new BranchFacts(room.objects, branch => room.say({ say: 'branch', branch }))
  }

  get #objects(): Objects {
    return this.#room.objects
  }

  get #repository(): Repository {
    return this.#objects.repository
  }

  get #turns(): Turns {
    return this.#opened.turns
  }

  get #opened() {
    if (!this.#chat) throw new Error('The work has not begun yet')
    return this.#chat
  }

  /** Opens the branches that have drafts or turns from an earlier time, and looks from now on what others do. */
  async begin({ state, config = state, models = NO_MODELS }: WorkOptions): Promise<void> {
    const open = (branch: string) => this.#work(branch)
    const ai = new Ai(this.#objects, { state, config, models })
    const choices = await Choices.open(join(state, 'chat.json'))
    const turns = new Turns(this.#room, ai, choices, open)
    const conversations = new Conversations(this.#objects, ai, choices, turns, open, this.#room.say)
    this.#chat = { ai, choices, turns, conversations }
    await this.#watch.begin()
    const [tips, drafts] = await Promise.all([HEADS, DRAFTS].map(prefix => tipsBelow(this.#repository, prefix)))
    this.#tips = tips ?? new Map()
    this.#heads = await this.#checkedOut()
    for (const name of drafts?.keys() ?? []) {
      await this.#work(name).catch(error => this.#complain(error))
    }
    await this.#turns.look().catch(error => this.#complain(error))
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
    if (parts.has('checkouts'))
      for (const name of await this.#checkoutsMoved()) this.#room.say({ say: 'branch', branch: name })
    for (const name of touched) await (await this.#branches.get(name))?.refresh().catch(error => this.#complain(error))
  }

  /** The branches that are not where they were. Of those that nobody works on it is said at once. */
  async #branchesMoved(): Promise<string[]> {
    const before = this.#tips
    this.#tips = await tipsBelow(this.#repository, HEADS)
    const names = [...new Set([...before.keys(), ...this.#tips.keys()])]
    const moved = names.filter(name => before.get(name) !== this.#tips.get(name))
    for (const name of moved) {
      const [was, is] = [before.get(name), this.#tips.get(name)]
      if (is !== undefined) this.#vanished.delete(name)
      else if (was !== undefined) this.#vanished.set(name, was)
      if (!this.#branches.has(name)) this.#room.say({ say: 'branch', branch: name })
    }
    return moved
  }

  /** The branches with drafts that are not known here: another desk wrote them. */
  async #draftsMoved(): Promise<string[]> {
    const drafts = await tipsBelow(this.#repository, DRAFTS)
    for (const name of drafts.keys())
      if (!this.#branches.has(name)) await this.#work(name).catch(error => this.#complain(error))
    return [...this.#branches.keys()]
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
    const [sessions, counts, drafts] = await Promise.all([
      this.#facts.withSession(listed.map(({ tip }) => tip)),
      this.#facts.counts(listed),
      this.#draftPaths(),
    ])
    const folders = new Map(checkouts.map(({ head, folder }) => [head, folder]))
    return listed.map(({ name, tip, committed, subject, upstream }) => {
      const count = counts.get(name)
      const checkout = folders.get(headRef(name))
      return {
        name,
        tip,
        committed,
        subject,
        session: sessions.has(tip) || this.#turns.stateIn(name) !== undefined,
        ...(upstream && count && { upstream: { name: upstream.replace(/^refs\/(remotes|heads)\//, ''), ...count } }),
        ...(checkout !== undefined && { checkout }),
        drafts: drafts.get(name) ?? [],
        ...turnOf(this.#turns.stateIn(name)),
      }
    })
  }

  /** Branches that somebody else deleted, and that have drafts: they can be brought back. */
  async vanished(): Promise<{ branch: string; drafts: Path[] }[]> {
    const works = await Promise.all(this.#branches.values())
    return works.filter(({ isGone }) => isGone).map(({ name, draftPaths }) => ({ branch: name, drafts: draftPaths }))
  }

  async #draftPaths(): Promise<Map<string, Path[]>> {
    const works = await Promise.all(this.#branches.values())
    return new Map(works.map(({ name, draftPaths }) => [name, draftPaths]))
  }

  /** Makes a branch at a commit; at the one that is checked out, where none is named. */
  async newBranch(name: string, from: Oid | null): Promise<void> {
    const { say } = this.#room
    verifyBranchName(name, await this.#names())
    const at = from ?? (await readHead(this.#repository)).oid
    if (at === undefined) throw new Failure('There is no commit yet to make a branch from: save a first file.')
    const commit = isOid(this.#repository.format, at) ? await this.#objects.info(`${at}^{commit}`) : undefined
    if (!commit) throw new Failure(`There is no commit ${visiblePath(at)}.`)
    const words = `make the branch ${visiblePath(name)}`
    const moves = [{ ref: headRef(name), from: undefined, to: commit.oid }]
    await this.#record({ kind: 'new branch', words, moves })
    this.#vanished.delete(name)
    await this.#refreshIfOpen(name)
    say({ say: 'branch', branch: name })
  }

  /** Deletes a branch with its drafts. Both are kept by the operation, and come back when it is undone. */
  async deleteBranch(name: string): Promise<void> {
    const work = await this.#work(name)
    await this.#verifyNotCheckedOut(name)
    await work.write()
    await work.locked(async () => {
      work.verifyFree()
      const refs = [headRef(name), draftsRef(name)]
      const infos = await Promise.all(refs.map(ref => this.#objects.info(ref)))
      const moves = refs.map((ref, at) => ({ ref, from: infos[at]?.oid, to: undefined }))
      const words = `delete the branch ${visiblePath(name)}`
      await this.#record({ kind: 'delete branch', words, moves: moves.filter(({ from }) => from !== undefined) })
    })
    this.#forget(name)
  }

  /** Makes a branch again where it was when it vanished, whoever deleted it. */
  async restoreBranch(name: string): Promise<void> {
    verifyBranchName(name, await this.#names())
    const [tip, drafts] = await this.#whereItWas(name)
    if (tip === undefined) throw new Failure(`Nobody knows where the branch ${visiblePath(name)} was.`)
    const moves: Move[] = [{ ref: headRef(name), from: undefined, to: tip }]
    if (drafts !== undefined) await this.#room.operations.putAside(name)
    if (drafts !== undefined) moves.push({ ref: draftsRef(name), from: undefined, to: drafts })
    await this.#record({ kind: 'restore branch', words: `bring back the branch ${visiblePath(name)}`, moves })
    this.#vanished.delete(name)
    await (await this.#work(name)).refresh()
    this.#room.say({ say: 'branch', branch: name })
  }

  /** Where a branch was when it vanished, and the drafts that went with it, unless they are still there. */
  async #whereItWas(name: string): Promise<[tip: Oid | undefined, drafts: Oid | undefined]> {
    const there = await this.#objects.info(draftsRef(name))
    let tip = this.#vanished.get(name)
    let drafts: Oid | undefined
    let last: Oid | undefined
    for await (const { kind, refs } of this.#room.operations.newestFirst()) {
      const [head, draft] = [headRef(name), draftsRef(name)].map(it => refs.find(({ ref }) => ref === it))
      const isKept = kind === 'delete branch' || kind === PUT_ASIDE
      if (draft && isKept && !there) drafts ??= draft.before
      if (head && !head.after) tip ??= head.before
      if (head) last = head.after
      if (head || (draft && !isKept)) break
    }
    const known = there?.oid ?? drafts
    tip ??= known && (await readDrafts(this.#objects, known))?.tip
    return [tip ?? this.#turns.baseIn(name) ?? last, drafts]
  }

  /**
   * Gives a branch another name. As `git branch -m` does, its drafts, its configuration (the branch that it follows)
   * and the checkouts that are on it go along.
   */
  async renameBranch(name: string, to: string): Promise<void> {
    const work = await this.#work(name)
    verifyBranchName(to, await this.#names())
    await work.write()
    const words = `rename the branch ${visiblePath(name)} to ${visiblePath(to)}`
    await work.locked(async () => await this.#moveBranch(work, to, { kind: 'rename branch', words }))
    await this.#opened.choices.renamed(name, to)
    this.#forget(name)
    await this.#refreshIfOpen(to)
    this.#room.say({ say: 'branch', branch: to })
  }

  async #moveBranch(work: BranchWork, to: string, operation: { kind: string; words: string; of?: Oid }): Promise<void> {
    work.verifyFree()
    const { name } = work
    const { operations, checkouts } = this.#room
    const head = headRef(to)
    const infos = await Promise.all([headRef(name), draftsRef(name)].map(ref => this.#objects.info(ref)))
    const [tip, drafts] = infos.map(info => info?.oid)
    if (tip === undefined) throw new Failure(`There is no branch ${visiblePath(name)}.`)
    const moves: Move[] = [
      { ref: headRef(name), from: tip, to: undefined },
      { ref: head, from: undefined, to: tip },
    ]
    if (drafts) moves.push({ ref: draftsRef(name), from: drafts, to: undefined })
    if (drafts) moves.push({ ref: draftsRef(to), from: undefined, to: drafts })
    const refs = moves.map(({ ref, from, to: after }) => ({ ref, before: from, after }))
    // A checkout is at no moment on a branch that is not there: the new one is made before the old one goes.
    const on = (await checkouts.list()).filter(checkout => checkout.head === headRef(name))
    if (on.length > 0)
      await moveRefsPatiently(this.#objects, [{ ref: head, from: undefined, to: tip }], operation.words)
    for (const checkout of on) await checkouts.turnTo(checkout, head, operation.words)
    const rest = on.length > 0 ? moves.map(move => (move.ref === head ? { ...move, from: tip } : move)) : moves
    await operations.record({ ...operation, moves: rest, refs })
    await this.#renameConfiguration(name, to)
  }

  /** Takes along what the configuration says of a branch; where that is nothing, the file is not written. */
  async #renameConfiguration(name: string, to: string): Promise<void> {
    const listed = await run(this.#repository, ['config', '--local', '-z', '--name-only', '--list'])
    if (!fields(listed.stdout).some(key => key.startsWith(`branch.${name}.`))) return
    const [before = '', after = ''] = [name, to].map(it => `branch.${asText(it)}`)
    await run(this.#repository, ['config', '--local', '--rename-section', before, after])
  }

  async #verifyNotCheckedOut(name: string): Promise<void> {
    const checkout = await this.#room.checkouts.of(headRef(name))
    if (!checkout) return
    throw new Failure(
      `${visiblePath(name)} is checked out in ${visible(checkout.folder)}: switch to another branch there.`,
    )
  }

  async #names(): Promise<string[]> {
    return (await listRefs(this.#repository, [HEADS])).map(({ name }) => branchOf(name))
  }

  // --- Files
  // -----------------------------------------------------------------------------------------------------------

  /** The files of a branch with its drafts, as they are at this moment, or those of a commit. */
  async vfsOf(at: At): Promise<Vfs> {
    if (at.kind === 'branch') return await (await this.#work(at.branch)).vfs()
    return new CommitVfs(this.#objects, await this.#commit(at.commit))
  }

  /** What is shown for a file. What becomes of it is told until it is closed as often as it was opened. */
  async open(at: At, path: Path): Promise<File> {
    if (at.kind === 'branch') return await (await this.#work(at.branch)).open(path)
    const entry = await entryAt(this.#objects, await this.#commit(at.commit), path)
    if (!entry) return { kind: 'nothing' }
    return await showFile(this.#objects, path, entry, undefined, NEVER_CHANGES)
  }

  async close(at: At, path: Path): Promise<void> {
    if (at.kind === 'branch') await (await this.#work(at.branch)).close(path)
  }

  /** Takes edits of an open file; false where they were made for an older version of it. */
  async edit(branch: string, path: Path, version: number, edits: readonly Edit[]): Promise<boolean> {
    return (await this.#work(branch)).edit(path, version, edits)
  }

  /** Commits drafts to their branch; undefined where nothing was different. */
  async save(branch: string, paths: commits.Selection, message?: string): Promise<Oid | undefined> {
    return await commits.save(await this.#work(branch), paths, message)
  }

  /** What a save would be called. */
  async messageFor(branch: string, paths: commits.Selection): Promise<string> {
    return await commits.messageForSave(await this.#work(branch), paths)
  }

  /** Lets drafts go; the operation can be undone. */
  async discard(branch: string, paths: readonly Path[]): Promise<void> {
    await commits.discard(await this.#work(branch), paths)
  }

  async newFile(branch: string, path: Path): Promise<Oid> {
    return await commits.newFile(await this.#work(branch), path)
  }

  async rename(branch: string, from: Path, to: Path): Promise<Oid> {
    return await commits.rename(await this.#work(branch), from, to)
  }

  async delete(branch: string, path: Path): Promise<Oid> {
    return await commits.deleteFile(await this.#work(branch), path)
  }

  /** Files that were changed in two ways that can't be merged. */
  async clashes(branch: string): Promise<Clash[]> {
    return await clashesOf(await this.#work(branch))
  }

  /** Takes a text for a file that clashed. */
  async settle(branch: string, path: Path, text: string): Promise<void> {
    await settle(await this.#work(branch), path, text)
  }

  async #commit(oid: Oid): Promise<Oid> {
    const commit = isOid(this.#repository.format, oid) ? await this.#objects.info(`${oid}^{commit}`) : undefined
    if (!commit) throw new Failure(`There is no commit ${visiblePath(oid)} in this repository.`)
    return commit.oid
  }

  // --- Turns of AIs
  // ----------------------------------------------------------------------------------------------------

  /** The conversation in a branch, or as it was in a commit. */
  async conversation(at: At): Promise<Conversation> {
    const { conversations } = this.#opened
    return await conversations.at(at.kind === 'branch' ? at : { ...at, commit: await this.#commit(at.commit) })
  }

  /** Begins a turn; gives its id. What becomes of it is told. */
  async send(branch: string, text: string): Promise<string> {
    return await this.#turns.send(branch, text)
  }

  stopTurn(branch: string): void {
    this.#turns.stop(branch)
  }

  /** Keeps or discards what a turn did that did not end well. */
  async endTurn(branch: string, keep: boolean): Promise<void> {
    await this.#turns.end(branch, keep)
  }

  /**
   * Takes a turn back: its operation, where it was the last thing that was done to the branch; else its changes, by a
   * commit on top of what came after it.
   */
  async undoTurn(branch: string, turn: string): Promise<{ words: string; refs: RefName[] }> {
    const work = await this.#work(branch)
    work.verifyFree()
    const commit = await this.#opened.conversations.commitOf(work, turn)
    const operation = work.tip === commit ? await this.#operationOf(branch, commit) : undefined
    if (operation) return await this.#reverse(operation)
    const words = await reverseTurn(work, turn, commit)
    return { words, refs: [headRef(branch)] }
  }

  async #operationOf(branch: string, commit: Oid): Promise<Recorded | undefined> {
    for await (const operation of this.#room.operations.newestFirst()) {
      const head = operation.refs.find(({ ref }) => ref === headRef(branch))
      if (head) return operation.kind === 'turn' && head.after === commit ? operation : undefined
    }
    return undefined
  }

  /** What the person says of a tool of the repository that waits to be run. */
  approveTool(branch: string, path: Path, oid: Oid, isApproved: boolean): void {
    this.#turns.approve(branch, path, oid, isApproved)
  }

  async chooseModel(branch: string, model: string): Promise<void> {
    await this.#turns.chooseModel(branch, model)
  }

  async setContext(branch: string, path: Path, isWhole: boolean): Promise<void> {
    await this.#turns.setContext(branch, path, isWhole)
  }

  /** How the AI of a branch knows some files: by their summaries, whole, or not at all. */
  async circlesIn(branch: string, paths: readonly Path[]): Promise<ReadonlyMap<Path, FolderEntry['context']>> {
    return await this.#opened.conversations.circlesIn(branch, paths)
  }

  // --- Undo
  // ------------------------------------------------------------------------------------------------------------

  /** What the desk did to refs, the newest first. */
  async operations(from: number, count: number): Promise<Operation[]> {
    return await this.#room.operations.list(from, count)
  }

  /** In words, what an undo and a redo would do. */
  async undoable(): Promise<{ undo?: string; redo?: string }> {
    const { operations } = this.#room
    const [undo, redo] = await Promise.all([operations.nextToUndo(), operations.nextToRedo()])
    const again = redo?.of === undefined ? undefined : await operations.find(redo.of)
    return { ...(undo && { undo: undo.words }), ...(again && { redo: again.words }) }
  }

  /**
   * Takes an operation back, the last one where none is named: all its refs, or none where one of them has moved since.
   * That is an operation itself.
   */
  async undo(id?: Oid): Promise<{ words: string; refs: RefName[] }> {
    const { operations } = this.#room
    const operation = id === undefined ? await operations.nextToUndo() : await operations.find(id)
    if (!operation)
      throw new Failure(id ? `${id.slice(0, 8)} is no operation of the desk.` : 'There is nothing to undo.')
    return await this.#reverse(operation)
  }

  /** Does again what was undone last. */
  async redo(): Promise<{ words: string; refs: RefName[] }> {
    const undone = await this.#room.operations.nextToRedo()
    if (!undone) throw new Failure('There is nothing to do again.')
    return await this.#reverse(undone)
  }

  async #reverse(operation: Recorded): Promise<{ words: string; refs: RefName[] }> {
    const { operations } = this.#room
    // To undo an undo is to do it again, and that is taken back as the operation itself.
    const original = operation.of === undefined ? operation : await operations.find(operation.of)
    if (!original) throw new Failure('The operation that this one was about is not there any more.')
    const kind = operation.kind === 'undo' ? 'redo' : 'undo'
    const how = { kind, words: `${kind}: ${original.words}`, of: original.id }
    const heads = operation.refs.filter(({ ref }) => ref.startsWith(HEADS))
    await this.#verifyUnmoved(operation.refs.filter(({ ref }) => !ref.startsWith(DRAFTS)))
    const [made, gone] = [heads.filter(({ before }) => !before), heads.filter(({ after }) => !after)]
    if (original.kind === 'rename branch' && made.length === 1 && gone.length === 1)
      await this.#renameBack(branchOf(made[0]?.ref ?? ''), branchOf(gone[0]?.ref ?? ''), how)
    else await this.#moveBack(operation, original, how)
    // A turn that was discarded waits again.
    if (operation.refs.some(({ ref }) => ref.startsWith(TURNS))) await this.#turns.look()
    return { words: how.words, refs: operation.refs.map(({ ref }) => ref) }
  }

  async #renameBack(name: string, to: string, how: Reversal): Promise<void> {
    const work = await this.#work(name)
    await work.write()
    await work.locked(async () => await this.#moveBranch(work, to, how))
    await this.#opened.choices.renamed(name, to)
    this.#forget(name)
    await this.#refreshIfOpen(to)
    this.#room.say({ say: 'branch', branch: to })
  }

  async #verifyUnmoved(refs: Operation['refs']): Promise<void> {
    const infos = await Promise.all(refs.map(({ ref }) => this.#objects.info(ref)))
    const moved = refs.filter(({ after }, at) => infos[at]?.oid !== after).map(({ ref }) => nameOf(ref))
    if (moved.length === 0) return
    const have = moved.length === 1 ? 'has' : 'have'
    throw new Failure(`${moved.join(' and ')} ${have} moved since: nothing was undone. Undo what came later first.`)
  }

  async #moveBack(operation: Recorded, original: Operation, how: Reversal): Promise<void> {
    const { refs } = operation
    const names = [...new Set(refs.map(({ ref }) => branchNameOf(ref)).filter(name => name !== undefined))].sort()
    const isFirst = ['save', 'new file', 'turn', 'keep turn'].includes(original.kind)
    // A branch goes back to having no commit where its first one is undone; any other can't go while it is checked out.
    for (const { ref, before } of refs)
      if (ref.startsWith(HEADS) && !before && !isFirst) await this.#verifyNotCheckedOut(branchOf(ref))
    const works = await Promise.all(names.map(name => this.#work(name)))
    await lockedAll(works, async () => {
      for (let tries = 1; ; tries++) {
        const error = await this.#tryToMoveBack(works, operation, original, how)
        if (!error) return
        // Where it was a branch that moved, this says so; drafts of another desk are brought along by another try.
        await this.#verifyUnmoved(refs.filter(({ ref }) => !ref.startsWith(DRAFTS)))
        if (tries >= TRIES) throw error
      }
    })
    for (const { ref, before } of refs) if (ref.startsWith(HEADS) && !before) await this.#forgetIfEmpty(branchOf(ref))
  }

  /** Moves all refs of an operation back, with the drafts of their branches; gives the error where one has moved. */
  async #tryToMoveBack(
    works: readonly BranchWork[],
    { refs, renamed }: Recorded,
    original: Operation,
    how: Reversal,
  ): Promise<RefMoved | undefined> {
    const { checkouts, operations } = this.#room
    const back = renamed && { from: renamed.to, to: renamed.from }
    const prepared = new Map<BranchWork, Prepared>()
    for (const work of works) {
      const head = refs.find(({ ref }) => ref === headRef(work.name))
      const drafts = refs.find(({ ref }) => ref === draftsRef(work.name))
      const isAboutDrafts = drafts && ['discard', 'delete', 'delete branch', 'keep turn'].includes(original.kind)
      const change = isAboutDrafts ? { from: drafts.after, to: drafts.before } : undefined
      const isUnsaved = original.kind === 'save' && how.kind === 'undo'
      prepared.set(work, await prepare(work, { head, isUnsaved, drafts: change, renamed: back }))
    }
    const all = [...prepared.values()]
    const heads = refs.filter(({ ref }) => !ref.startsWith(DRAFTS))
    const moves = heads.map(({ ref, before, after }) => ({ ref, from: after, to: before }))
    const announced = [...prepared].map(([work, { drafts }]) => checkouts.announce(work.name, work.tip, drafts.tip))
    const withdrawals = await Promise.all(announced)
    try {
      const made = all.flatMap(it => it.made)
      await operations.record({ ...how, renamed: back, moves: [...moves, ...all.flatMap(it => it.moves)], made })
    } catch (error) {
      for (const withdraw of withdrawals) await withdraw()
      if (error instanceof RefMoved) return error
      throw error
    }
    for (const [work, it] of prepared) await take(work, it)
    return undefined
  }

  async #record(operation: NewOperation): Promise<void> {
    try {
      await this.#room.operations.record(operation)
    } catch (error) {
      if (!(error instanceof RefMoved)) throw error
      throw new Failure(
        `${nameOf(error.ref)} was moved by another program at this moment: nothing was done. Try again.`,
      )
    }
  }

  // --- Branches that are worked on
  // -------------------------------------------------------------------------------------

  /** The work on a branch. Throws a {@link Failure} where there is no such branch, nor drafts of one. */
  async #work(name: string): Promise<BranchWork> {
    const known = this.#branches.get(name)
    if (known) return await known
    const opened = this.#openBranch(name)
    this.#branches.set(name, opened)
    opened.catch(() => this.#branches.delete(name))
    return await opened
  }

  async #openBranch(name: string): Promise<BranchWork> {
    if (!isRefName(headRef(name))) throw new Failure(`${visiblePath(name)} can't be the name of a branch.`)
    const refs = [headRef(name), draftsRef(name), turnRef(name)]
    const [head, drafts, turn] = await Promise.all(refs.map(ref => this.#objects.info(ref)))
    if (!head && !drafts && !turn && (await readHead(this.#repository)).ref !== headRef(name))
      await this.#verifyOnceThere(name)
    return await BranchWork.open(this.#room, name)
  }

  /** A branch that an operation deleted may come back; any other that is not there is none. */
  async #verifyOnceThere(name: string): Promise<void> {
    for await (const { refs } of this.#room.operations.newestFirst())
      if (refs.some(({ ref }) => ref === headRef(name))) return
    throw new Failure(`There is no branch ${visiblePath(name)}.`)
  }

  #forget(name: string): void {
    this.#branches.delete(name)
    this.#room.say({ say: 'branch', branch: name })
  }

  async #forgetIfEmpty(name: string): Promise<void> {
    const work = await this.#branches.get(name)
    if (work && work.draftPaths.length === 0 && !work.hasOpenFiles) this.#forget(name)
  }

  async #refreshIfOpen(name: string): Promise<void> {
    await (await this.#branches.get(name))?.refresh()
  }

  /** Writes what is typed, and waits for the checkouts that follow. Throws where it can't be written. */
  async flush(): Promise<void> {
    const works = await Promise.all(this.#branches.values())
    await Promise.all(works.map(work => work.write()))
    await this.#room.checkouts.settled()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]()
    try {
      await this.#chat?.turns[Symbol.asyncDispose]()
      await this.#chat?.ai[Symbol.asyncDispose]()
      await this.flush()
    } finally {
      const works = await Promise.all(this.#branches.values())
      for (const work of works) work.end()
      await this.#objects[Symbol.asyncDispose]()
    }
  }
}

const turnOf = (turn: BranchInfo['turn']) => (turn === undefined ? {} : { turn })

const branchNameOf = (ref: RefName): string | undefined => {
  if (ref.startsWith(HEADS)) return branchOf(ref)
  return ref.startsWith(DRAFTS) ? branchOfDrafts(ref) : undefined
}
const nameOf = (ref: RefName): string => visiblePath(branchNameOf(ref) ?? ref)

/** Does something while no other work on any of these branches' refs comes between. */
const lockedAll = <Result>(works: readonly BranchWork[], task: () => Promise<Result>): Promise<Result> => {
  const [first, ...rest] = works
  return first ? first.locked(() => lockedAll(rest, task)) : task()
}
