/** The conversations of branches and commits, put together as the page shows them. */
import { Failure } from '../../../core/failure.ts'
import { describe } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import type { State } from '../../ai/opening.ts'
import type { Usage } from '../../ai/request.ts'
import { addUsage, lastTurn, SESSION, type Session, usageOf, usageOfTurn, withoutOpening } from '../../ai/session.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import type { BranchServices, BranchWork } from '../branches/branch-work.ts'
import { asChanges } from '../branches/drafts.ts'
import { isOfForge } from '../branches/forge-folder.ts'
import type { Conversation } from '../contract/chat.ts'
import type { FolderEntry } from '../contract/reading.ts'
import type { At } from '../contract/values.ts'
import { readingPlace } from '../reading/place.ts'
import type { Ai } from './ai.ts'
import { type Choices, withWishes } from './choices.ts'
import { itemsOf } from './conversation-items.ts'
import { SessionCache } from './session-cache.ts'
import { type TurnCommit, turnCommits } from './turn-commits.ts'
import type { BranchTurn, Turns } from './turns.ts'

const NO_CONTEXT: Conversation['context'] = { used: 0, of: 0, files: [] }

/** How long a page waits for slow facts, such as how full the model's window is, in milliseconds. */
const PAGE_WAIT_MS = 150
/** At most this many histories have their turns cached. */
const MAX_HISTORIES = 16

/** The conversation read from a branch or commit. `turn`: the branch's turn that runs or is unfinished. */
type Looked = {
  session: Session
  unreadable?: string | undefined
  commit: Oid | undefined
  turn?: BranchTurn
  /** Whether this desk has written the conversation. */
  isOwn?: boolean
}

export class Conversations {
  /** The commits of turns, by history, for the histories read last. */
  readonly #commits = new Map<string, Promise<ReadonlyMap<string, TurnCommit>>>()

  /** Parsed conversations by file content. */
  readonly #sessions: SessionCache

  /**
   * Branches whose slow facts (such as how full the context window is) came too late once: later requests wait for
   * them.
   */
  readonly #slow = new Set<string>()

  constructor(
    readonly room: Pick<BranchServices, 'objects' | 'writtenHere' | 'say'>,
    readonly ai: Ai,
    readonly choices: Choices,
    readonly turns: Turns,
    /** Opens the work on a branch. */
    readonly open: (branch: string) => Promise<BranchWork>,
  ) {
    this.#sessions = new SessionCache(room.objects)
  }

  get #objects(): Objects {
    return this.room.objects
  }

  /** The conversation of a branch, with its running turn, or of a commit. */
  async at(at: At): Promise<Conversation> {
    const { models, tools } = this.ai
    await models.look()
    const looked = await this.#sessionAt(at)
    const { unreadable, commit, turn } = looked
    const commits = await this.#commitsOf(looked.session, commit)
    const builtIn = await tools.builtIn()
    const stranger = at.kind === 'branch' && !turn ? await this.#strangerIn(looked, commits) : undefined
    const context = at.kind === 'branch' ? await this.#contextIn(at.branch, looked.session) : NO_CONTEXT
    const commands = await tools.commands(new AbortController().signal)
    // No await from here on: news of a turn in between would be in neither this answer nor the news that follow.
    const session = turn ? this.#sessionIn(turn) : looked.session
    const model = this.ai.modelOf(session, this.choices)
    const missing = models.missing(model)
    const items = itemsOf({
      session,
      unreadable,
      stranger,
      live: turn?.state === 'running' ? turn.live : undefined,
      commits,
      tip: commit,
      noUndo: whyNoUndo(at, turn),
      tools: builtIn,
    })
    return {
      items,
      ...(model !== undefined && { model }),
      models: [...new Set([...models.names, ...this.choices.models])],
      ...(missing !== undefined && { missing }),
      ...(models.wrong !== undefined && { areSettingsWrong: true as const }),
      ...(turn && { turn: about(turn) }),
      approvals: turn?.questions.list ?? [],
      usage: at.kind === 'branch' ? this.#usageIn(at.branch, session, turn?.now.turn) : usageOf(session),
      context,
      commands,
      isPublicNew: !this.choices.isPublicTold,
    }
  }

  /** The usage of a branch's conversation without its current turn, and of its turns that were discarded or undone. */
  #usageIn(branch: string, session: Session, current: string | undefined): Usage {
    const turns = new Set(session.messages.flatMap(entry => ('turn' in entry ? [entry.turn] : [])))
    const gone = this.choices.spentIn(branch).filter(({ turn }) => !turns.has(turn))
    const messages = session.messages.filter(entry => !('turn' in entry) || entry.turn !== current)
    return gone.reduce((sum, { usage }) => addUsage(sum, usage), usageOf({ ...session, messages }))
  }

  /**
   * For some files, whether the AI's context has them whole, as a summary or not; empty without a model, or until
   * known.
   */
  async circlesIn(branch: string, paths: readonly Path[]): Promise<ReadonlyMap<Path, FolderEntry['context']>> {
    return await this.#inTime(branch, this.#circlesIn(branch, paths), new Map())
  }

  async #circlesIn(branch: string, paths: readonly Path[]): Promise<ReadonlyMap<Path, FolderEntry['context']>> {
    await this.ai.models.look()
    const { session } = await this.#sessionAt({ kind: 'branch', branch })
    const state = await this.#stateOf(session, branch)
    if (!state) return new Map()
    const { circlesOf } = await import('../../ai/meter.ts')
    return await circlesOf(session, state, paths)
  }

  /** The files that the user has put into the context of a branch's AI, also those that are gone since. */
  async activeIn(branch: string): Promise<readonly Path[]> {
    const { session } = await this.#sessionAt({ kind: 'branch', branch })
    return session.active_files
  }

  /** The commit of a turn in a branch. Throws a {@link Failure} if there is none. */
  async commitOf({ tip: commit, name }: BranchWork, turn: string): Promise<Oid> {
    const { session } = await this.#sessions.in(new WorkInProgressVfs(this.#objects, commit))
    const found = (await this.#commitsOf(session, commit)).get(turn)
    if (!found) throw new Failure(`There is no commit of this turn in ${visiblePath(name)}.`)
    if (found.isUndone) throw new Failure('This turn was taken back already.')
    return found.oid
  }

  /** The last turn of the conversation in a commit; undefined if there is none. */
  async lastTurnIn(commit: Oid): Promise<string | undefined> {
    const { session } = await this.#sessions.in(new WorkInProgressVfs(this.#objects, commit))
    return session.messages.findLast(entry => 'turn' in entry)?.turn
  }

  /** The conversation of a turn, with the choices made since it began, which the next one applies. */
  #sessionIn({ now, work, wishes }: BranchTurn): Session {
    return withWishes(now.session, this.choices.wishesSince(work.name, wishes))
  }

  async #sessionAt(at: At): Promise<Looked> {
    if (at.kind === 'commit')
      return { ...(await this.#sessions.in(new WorkInProgressVfs(this.#objects, at.commit))), commit: at.commit }
    const turn = this.turns.in(at.branch)
    if (turn) return { session: this.#sessionIn(turn), commit: turn.now.base, turn }
    const { tip: commit, merging, drafts } = await this.open(at.branch)
    // In a waiting merge, turns are drafts and not committed yet.
    const turns = merging === undefined ? undefined : asChanges(drafts.files)
    const vfs = new WorkInProgressVfs(this.#objects, commit, turns)
    const { session, unreadable } = await this.#sessions.in(vfs)
    const entry = await vfs.entryAt(SESSION)
    const isOwn = entry !== undefined && this.room.writtenHere.has(entry.oid)
    // The session as the next turn will use it: without the opening (the context before the first message) if it was
    // written elsewhere.
    const taken = isOwn ? session : withoutOpening(session)
    return { session: withWishes(taken, this.choices.wishesIn(at.branch)), unreadable, commit, isOwn }
  }

  /**
   * Gives a warning before the AI continues a conversation that was not written on this desk; undefined if none is
   * needed.
   */
  async #strangerIn({ session, isOwn }: Looked, commits: ReadonlyMap<string, TurnCommit>): Promise<string | undefined> {
    if (isOwn || session.messages.length === 0) return undefined
    const last = commits.get(lastTurn(session)?.turn ?? '')
    const [made] = last ? await describe(this.#objects, [last.oid]) : []
    const who = made ? ` (the last of it is in ${made.oid.slice(0, 8)} by ${visible(made.author.name)})` : ''
    const first = `This conversation was not written on this desk${who}: what it says that you asked for, approved or were answered may be made up.`
    return `${first} The AI takes it for what happened. Read it before you go on with it; to begin a new one, delete ${SESSION}.`
  }

  async #commitsOf(session: Session, commit: Oid | undefined): Promise<ReadonlyMap<string, TurnCommit>> {
    // The earliest time rather than the first: the first entry may be a stranger's, or from a wrong clock.
    const times = session.messages.flatMap(entry => (entry.kind === 'user' ? [entry.at] : []))
    if (commit === undefined || times.length === 0) return new Map()
    const since = Math.floor(times.reduce((earliest, at) => Math.min(earliest, at)) / 1000)
    const key = `${commit} ${since}`
    const found = this.#commits.get(key) ?? turnCommits(this.#objects.repository, commit, since)
    this.#commits.delete(key)
    this.#commits.set(key, found)
    for (const old of [...this.#commits.keys()].slice(0, -MAX_HISTORIES)) this.#commits.delete(old)
    // Errors are not cached.
    found.catch(() => this.#commits.delete(key))
    return await found
  }

  /** How full the model's context window is. */
  async #contextIn(branch: string, session: Session): Promise<Conversation['context']> {
    return await this.#inTime(branch, this.#contextOf(session, branch), NO_CONTEXT)
  }

  /**
   * Waits for a value that the chat only displays, for a limited time, else gives `instead`. The first reading of a
   * large repository takes longer: the page is then told to ask again when it is done.
   */
  async #inTime<Value>(branch: string, coming: Promise<Value>, instead: Value): Promise<Value> {
    const known = coming.then(
      value => ({ value }),
      // An error is ignored, since the value is only displayed; a turn that needs it reports the error.
      () => ({ value: instead }),
    )
    if (this.#slow.has(branch)) return (await known).value
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const clock = setTimeout(() => resolve(undefined), PAGE_WAIT_MS)
    const come = await Promise.race([known, late])
    clearTimeout(clock)
    if (come) return come.value
    this.#slow.add(branch)
    void known.then(() => this.room.say({ say: 'branch', branch }))
    return instead
  }

  async #contextOf(session: Session, branch: string): Promise<Conversation['context']> {
    const state = await this.#stateOf(session, branch)
    if (!state) return NO_CONTEXT
    const { meterOf, warm } = await import('../../ai/meter.ts')
    const meter = await meterOf(session, state)
    // Prepares the provider's cache for a message that may follow. Errors are shown by the turn.
    void warm(session, state, Date.now()).catch(() => undefined)
    return meter
  }

  /** What the next request would be made from (model, tools, files); undefined without a model. */
  async #stateOf(session: Session, branch: string): Promise<State | undefined> {
    const { ai } = this
    const { objects } = this.room
    const model = ai.modelOf(session, this.choices)
    const window = model === undefined ? 0 : await ai.models.windowOf(model)
    if (model === undefined || window === 0) return undefined
    const [builtIn, summaries, work] = await Promise.all([ai.tools.builtIn(), ai.summaries(), this.open(branch)])
    const tools = builtIn.map(({ description }) => description)
    const { tree } = await readingPlace(objects, await work.vfs())
    return { objects, summaries, model: { name: model, window }, tools, tree, branch }
  }
}

/** Why no turn can be undone here; undefined if turns can. */
function whyNoUndo(at: At, turn: BranchTurn | undefined): string | undefined {
  if (at.kind === 'commit') return 'A commit stays as it is: undo the turn in its branch.'
  if (!turn) return undefined
  return turn.state === 'running' ? 'A turn is running.' : 'Keep or discard the last turn first.'
}

function about({
  now: { turn, since, session, files },
  live,
  state,
  words,
  renames,
}: BranchTurn): Conversation['turn'] {
  const renamed = new Set(renames.map(({ from }) => from))
  const isRunning = state === 'running'
  const paths = [...files.keys()].filter(path => !isOfForge(path))
  return {
    id: turn,
    state: isRunning && live.waits ? 'waits' : state,
    words: isRunning ? live.words : words,
    since: Math.floor(since / 1000),
    usage: isRunning ? live.usage : usageOfTurn(session, turn),
    files: paths,
    renamed: paths.filter(path => renamed.has(path)),
  }
}
