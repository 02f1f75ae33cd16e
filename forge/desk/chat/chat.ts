/** The chats of a repository's branches: the user's actions in them, and reading them. */
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { firstOf, visiblePath } from '../../../core/text.ts'
import type { Recorded, Renamed } from '../../operations.ts'
import { branchOfRef, HEADS, headRef } from '../branches/branches.ts'
import type { OpenBranches } from '../branches/open-branches.ts'
import { reverse } from '../branches/undo.ts'
import type { Reversed } from '../contract/branches.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { isIn, pathAfter } from '../contract/paths.ts'
import { decodeText } from '../reading/text.ts'
import { TURNS } from '../refs.ts'
import { Ai, type AiOptions } from './ai.ts'
import { Choices } from './choices.ts'
import { Conversations } from './conversations.ts'
import { reverseTurn } from './turn-ends.ts'
import { Turns } from './turns.ts'

/** At most this many files are named in a notice. */
const MAX_NAMED_FILES = 5
const UNDO = 'undo'
/** The kinds of the operations that make the commit of a turn. */
const COMMITS_OF_TURNS: readonly string[] = ['turn', 'keep turn']

export class Chat implements AsyncDisposable {
  readonly turns: Turns
  readonly conversations: Conversations
  /** Ends when the last rename of a file is followed: the next one may be of the same file. */
  #following: Promise<unknown> = Promise.resolve()

  private constructor(
    readonly branches: OpenBranches,
    readonly ai: Ai,
    readonly choices: Choices,
    lookAtBranches: () => Promise<void>,
  ) {
    const open = (branch: string) => branches.work(branch)
    const { room } = branches
    this.turns = new Turns(room, ai, choices, open, lookAtBranches)
    this.conversations = new Conversations(room, ai, choices, this.turns, open)
  }

  /** `lookAtBranches`: checks now whether another program has moved or renamed a branch. */
  static async open(branches: OpenBranches, options: AiOptions, lookAtBranches: () => Promise<void>): Promise<Chat> {
    const choices = await Choices.open(join(options.state, 'chat.json'))
    return new Chat(branches, new Ai(branches.room.objects, options), choices, lookAtBranches)
  }

  /**
   * Undoes a turn: its operation if its commit is the branch's newest one; otherwise by a commit that reverts its
   * changes. A turn that was kept waits to be kept or discarded again, and its changes are no drafts any more.
   */
  async undoTurn(branch: string, turn: string): Promise<Reversed> {
    const work = await this.branches.work(branch)
    work.verifyFree()
    const commit = await this.conversations.commitOf(work, turn)
    const operation = work.tip === commit ? await this.#operationOf(branch, commit) : undefined
    if (!operation) return { words: await reverseTurn(work, turn, commit), refs: [headRef(branch)] }
    return await this.reversed(operation, await reverse(this.branches, operation))
  }

  /**
   * Follows an undo or a redo that has brought a turn back, or removed it. Returns what was done, with the branch that
   * is without its last turn now, and in words the drafts that are not shown while a turn waits.
   */
  async reversed(operation: Recorded, done: Reversed): Promise<Reversed> {
    const original = operation.of === undefined ? operation : await this.branches.room.operations.find(operation.of)
    const kind = original?.kind ?? ''
    if (operation.kind !== UNDO && COMMITS_OF_TURNS.includes(kind)) await this.#chooseAgain(operation)
    const withoutTurn = branchWithoutTurn(operation, kind)
    const reversed = { ...done, ...(withoutTurn !== undefined && { withoutTurn }) }
    const turn = operation.refs.find(({ ref }) => ref.startsWith(TURNS))
    if (!turn) return reversed
    await this.turns.look()
    const { whyBusy, merging, draftPaths, renamedByAi } = await this.branches.work(turn.ref.slice(TURNS.length))
    // The drafts of a waiting merge are its resolutions, which the turn has begun with.
    if (whyBusy === undefined || merging !== undefined || draftPaths.length === 0) return reversed
    // Files are named as they are shown.
    const paths = draftPaths.map(path => renamedByAi.get(path) ?? path)
    const files = firstOf(paths.map(visiblePath), MAX_NAMED_FILES)
    const kept = `what was typed in ${files} is kept, and shown again when the turn is kept or discarded`
    return { ...reversed, words: `${reversed.words}; ${kept}` }
  }

  /** Chooses again what was chosen for the message of an undone turn, which the conversation lacks without it. */
  async #chooseAgain({ refs }: Recorded): Promise<void> {
    const { ref, after } = refs.find(it => it.ref.startsWith(HEADS)) ?? {}
    const turn = after && (await this.conversations.lastTurnIn(after))
    if (ref === undefined || turn === undefined) return
    const branch = branchOfRef(ref)
    await this.choices.wishAgain(branch, turn)
    this.#sayBranch(branch)
  }

  /** The operation that made a turn's commit, also where the branch has come back to it since by an undo or a redo. */
  async #operationOf(branch: string, commit: Oid): Promise<Recorded | undefined> {
    for await (const operation of this.branches.room.operations.newestFirst()) {
      if (!COMMITS_OF_TURNS.includes(operation.kind)) continue
      if (operation.refs.some(({ ref, after }) => ref === headRef(branch) && after === commit)) return operation
    }
    return undefined
  }

  /** Takes what was chosen in a branch along to its new name. */
  async renamed(from: string, to: string): Promise<void> {
    await this.choices.renamed(from, to)
    // The page has learned of the rename before, and may have asked for the conversation since.
    this.#sayBranch(to)
  }

  /** Keeps what the context of a branch's AI has of a renamed file or folder there. */
  renamedFile(branch: string, renamed: Renamed): Promise<void> {
    const followed = this.#following.then(() => this.#follow(branch, renamed))
    this.#following = followed.catch(() => undefined)
    return followed
  }

  async #follow(branch: string, renamed: Renamed): Promise<void> {
    const active = await this.conversations.activeIn(branch)
    const moved = active.filter(path => isIn(path, renamed.from))
    if (moved.length === 0) return
    await this.choices.moveInContext(
      branch,
      moved.map(from => ({ from, to: pathAfter(renamed, from) })),
    )
    this.#sayBranch(branch)
  }

  async chooseModel(branch: string, model: string): Promise<void> {
    await this.branches.work(branch)
    await this.ai.verifyModel(model)
    await this.choices.chooseModel(branch, model)
    this.#sayBranch(branch)
  }

  /** Puts a whole file into the context of a branch's AI, or removes it. */
  async setContext(branch: string, path: Path, isWhole: boolean): Promise<void> {
    await this.branches.work(branch)
    await this.choices.setContext(branch, path, isWhole)
    this.#sayBranch(branch)
  }

  /** Switches commands of AIs on or off. They run only in the container. */
  async allowCommands(isAllowed: boolean): Promise<void> {
    await this.ai.tools.allowCommands(isAllowed)
  }

  /** The commands that the branch's FORGE.md lists as formatters. */
  async formatters(branch: string): Promise<string[]> {
    return (await this.ai.tools.listed(await (await this.branches.work(branch)).vfs())).mend
  }

  /** Gives a file's text, with its draft, as the formatters of the branch's FORGE.md leave it. Changes nothing. */
  async format(branch: string, path: Path): Promise<string> {
    const work = await this.branches.work(branch)
    const vfs = await work.vfs()
    const { signal } = this.branches.room.objects.repository
    const bytes = await this.ai.tools.format(vfs, {
      path,
      limit: MAX_EDITABLE_BYTES,
      signal: signal ?? new AbortController().signal,
    })
    const decoded = bytes.length <= MAX_EDITABLE_BYTES ? decodeText(bytes) : undefined
    if (!decoded) throw new Failure(`The formatter made of ${visiblePath(path)} what can't be edited.`)
    return decoded.text
  }

  #sayBranch(branch: string): void {
    this.branches.room.say({ say: 'branch', branch })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#following
    await this.turns[Symbol.asyncDispose]()
    await this.ai[Symbol.asyncDispose]()
  }
}

/**
 * The branch whose last turn was removed when an operation was undone: the turn's commit, or the undo of its discard,
 * which was a redo then. `kind`: that of the operation which was undone or redone.
 */
function branchWithoutTurn({ kind: last, refs }: Recorded, kind: string): string | undefined {
  const [removed, prefix] = last === UNDO ? ['discard turn', TURNS] : ['turn', HEADS]
  if (kind !== removed) return undefined
  return refs.find(({ ref }) => ref.startsWith(prefix))?.ref.slice(prefix.length)
}
