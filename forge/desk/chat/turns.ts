/**
 * The turns of AIs in the branches of one repository: at most one in each branch, any number in parallel. A branch's
 * files are read-only while a turn runs. It ends as one commit; an unfinished one waits to be kept or discarded, also
 * after a restart. Models are only asked on a message of the user.
 */

import { Failure } from '../../../core/failure.ts'
import { oidOf } from '../../../core/git/objects.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import type { Format, Oid, Path } from '../../../core/git/repository.ts'
import type { TreeChange } from '../../../core/git/trees.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import type { Model } from '../../ai/request.ts'
import {
  type EntryOf,
  SESSION,
  type Session,
  usageOfTurn,
  withEnd,
  withoutOpening,
  withUser,
} from '../../ai/session.ts'
import { loadSession, setAside } from '../../ai/session-file.ts'
import type { Renamed } from '../../operations.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import type { AtWork, BranchServices, BranchWork, HeldBranch } from '../branches/branch-work.ts'
import { headRef, tipsBelow } from '../branches/branches.ts'
import { withoutUnused, withRename } from '../branches/draft-renames.ts'
import { asChanges, type DraftFile, draftsOf, entryInTip, noDrafts, verifyNoClash } from '../branches/drafts.ts'
import { setUpMergeDriver } from '../branches/forge-folder.ts'
import { readSignature } from '../branches/save.ts'
import { whyTurnPreventsUndo } from '../branches/undo.ts'
import type { BranchInfo } from '../contract/branches.ts'
import type { TurnNews } from '../contract/chat.ts'
import type { Asked } from '../merging/request.ts'
import { TURNS, turnRef } from '../refs.ts'
import type { Ai } from './ai.ts'
import { type Choices, type Wishes, withWishes } from './choices.ts'
import { LiveTurn } from './live-turn.ts'
import { isInMerging, settleByTurn } from './merging-turns.ts'
import { type Checkpoint, Checkpoints, readCheckpoint, whereItRuns } from './turn-checkpoints.ts'
import { commitTurn, discardTurn, keepTurn, renamesOf, type TurnEnd } from './turn-ends.ts'
import { ToolQuestions } from './turn-tools.ts'

/** A turn that runs, or waits to be kept or discarded. */
export type BranchTurn = {
  work: BranchWork
  checkpoints: Checkpoints
  /** The turn's current state. */
  now: Checkpoint
  state: 'running' | 'unfinished'
  /** Why the turn is unfinished. */
  words: string
  /** The files that the turn has renamed. */
  renames: readonly Renamed[]
  live: LiveTurn
  questions: ToolQuestions
  /** The user's choices that the turn applies. */
  wishes: Wishes
  control: AbortController
  done: Promise<void>
}

/** A turn runs in the branch: the next one can begin when it has ended. */
export class TurnRuns extends Failure {}

const NO_WISHES: Wishes = { whole: {} }

export class Turns implements AsyncDisposable {
  /** By the work on their branches, whose names may change while a turn runs. */
  readonly #turns = new Map<BranchWork, BranchTurn>()
  /** The branches in which a turn is just beginning. */
  readonly #beginning = new Set<BranchWork>()
  /**
   * The attempt to configure git's merge driver for conversations, which never rejects. Undefined before the first
   * attempt, and after a failed one.
   */
  #driver: Promise<void> | undefined

  constructor(
    readonly room: BranchServices,
    readonly ai: Ai,
    /** Choices that the user made between turns (such as the model), which the next turn applies. */
    readonly choices: Choices,
    /** Opens the work on a branch. */
    readonly open: (branch: string) => Promise<BranchWork>,
    /** Checks now whether another program has moved or renamed a branch. */
    readonly lookAtBranches: () => Promise<void>,
  ) {}

  /**
   * Finds unfinished turns, from earlier processes or restored by an undo, which wait to be kept or discarded. `known`:
   * the commits of their refs, by branch.
   */
  async look(known?: ReadonlyMap<string, Oid>): Promise<void> {
    const refs = known ?? (await tipsBelow(this.room.objects.repository, TURNS))
    for (const turn of this.#turns.values()) {
      if (turn.state !== 'unfinished' || refs.get(turn.work.name) === turn.checkpoints.written) continue
      // The turn may have written its last checkpoint since the refs were read.
      const now = (await this.room.objects.info(turnRef(turn.work.name)))?.oid
      if (now !== turn.checkpoints.written) await this.#overElsewhere(turn)
    }
    for (const [branch, commit] of refs) {
      if (this.in(branch) || this.#isBeginningIn(branch)) continue
      // An unreadable turn must not hide the others.
      await this.#findAgain(branch, commit).catch(error => this.#complain(error, branch))
    }
  }

  #isBeginningIn(branch: string): boolean {
    return [...this.#beginning].some(({ name }) => name === branch)
  }

  // --- State ---

  /** The turn of a branch that runs or waits. */
  in(branch: string): BranchTurn | undefined {
    return this.#turns.values().find(({ work }) => work.name === branch)
  }

  stateIn(branch: string): BranchInfo['turn'] {
    const turn = this.in(branch)
    if (turn?.state !== 'running') return turn?.state
    return turn.live.waits ? 'waits' : 'running'
  }

  /** Whether a branch has a turn that runs here, or that waits to be kept or discarded and no other desk may run. */
  isOwnIn(branch: string): boolean {
    const turn = this.in(branch)
    return turn !== undefined && (turn.state === 'running' || whereItRuns(turn.now) === undefined)
  }

  /** Shows the turn of a branch that has got a new name under that. */
  async renamed(to: string): Promise<void> {
    const turn = this.in(to)
    // The turn may be over when the branch is locked.
    if (turn) await turn.work.locked(async held => this.#turns.has(turn.work) && held.showAtWork(shownOf(turn)))
  }

  // --- From the message to the commit ---

  /**
   * Begins a turn, which continues in the background. Returns its id once the request is written. Throws a {@link
   * TurnRuns} while another one runs. `asked`: the conflicts to resolve, if the message asks only for that.
   */
  async send(branch: string, text: string, asked?: Asked): Promise<string> {
    const work = await this.open(branch)
    const { turn, run } = await work.locked(held => this.#beginIn(held, text, asked))
    this.#say(turn, { is: 'begun', turn: turn.now.turn })
    turn.done = run().catch(error => this.#complain(error, turn.work.name))
    this.choices.tellPublic().catch(error => this.#complain(error))
    return turn.now.turn
  }

  async #beginIn(held: HeldBranch, text: string, asked: Asked | undefined): Promise<Begun> {
    const { work } = held
    this.#verifyNone(work)
    this.#beginning.add(work)
    try {
      const begun = await this.#begin(held, text, asked)
      this.#turns.set(work, begun.turn)
      return begun
    } finally {
      this.#beginning.delete(work)
    }
  }

  #verifyNone(work: BranchWork): void {
    const name = visiblePath(work.name)
    const turn = this.#turns.get(work)
    if (turn?.state === 'unfinished')
      throw new Failure(`The last turn in ${name} did not end well: keep or discard what it did first.`)
    if (turn) throw new TurnRuns(`The AI is at work in ${name}: wait until it is done, or stop it.`)
  }

  async #begin(held: HeldBranch, text: string, asked: Asked | undefined): Promise<Begun> {
    const { work } = held
    await held.collect()
    await held.lookAgain()
    if (work.isGone) throw new Failure(`The branch ${visiblePath(work.name)} was deleted: restore it first.`)
    // No await between this check and `showAtWork`, which makes the files read-only: so no edit comes in between.
    verifySaved(work)
    const files = work.merging === undefined ? noDrafts(work.tip) : work.drafts
    const shown = held.showAtWork({ files, why: whyAtWork(work.name) })
    try {
      await shown
      return await this.#start(work, text, asked)
    } catch (error) {
      await held.showAtWork(undefined)
      throw error
    }
  }

  async #start(work: BranchWork, text: string, asked: Asked | undefined): Promise<Begun> {
    const { objects } = this.room
    const { models } = this.ai
    // Resolutions of a merge's conflicts are not committed yet: the AI works on top of them.
    const settled = work.merging === undefined ? undefined : asChanges(work.drafts.files)
    const before = work.merging === undefined ? [] : work.drafts.renames
    const { tip } = work
    const vfs = new WorkInProgressVfs(objects, tip, settled, path => this.room.filters.verifyNone(tip, [path]))
    const { session: loaded, unreadable } = await loadSession(vfs)
    if (unreadable !== undefined) await setAside(vfs)
    const wishes = this.choices.wishesIn(work.name)
    // The opening (the context before the first message) of another user's conversation is not in this provider's
    // cache, and may contain anything.
    const session = withWishes((await this.#isOwn(work.tip)) ? loaded : withoutOpening(loaded), wishes)
    const model = await this.#openModel(session)
    await this.#verifyFits(session, text, { model, vfs, branch: work.name })
    // Throws if git has no name for commits, since a turn that could not be committed is not begun.
    await readSignature(objects.repository)
    // Turns that begin at once share one setup; after a failure the next turn tries again.
    this.#driver ??= setUpMergeDriver(objects.repository).catch(error => {
      this.#driver = undefined
      this.#complain(error)
    })
    await this.#driver
    const id = crypto.randomUUID()
    const since = Date.now()
    const checkpoint: Checkpoint = {
      turn: id,
      base: work.tip,
      from: session.messages.length,
      since,
      model: model.name,
      does: 'works',
      session: withUser(session, { turn: id, at: since, text }, models.clean),
      ...(await workIn(vfs, before)),
      ...(asked && { asked }),
    }
    const turn: BranchTurn = {
      work,
      checkpoints: new Checkpoints(work),
      now: checkpoint,
      state: 'running',
      words: '',
      renames: before,
      ...this.#seen(work, id),
      wishes,
      control: new AbortController(),
      done: Promise.resolve(),
    }
    await turn.checkpoints.begin(checkpoint)
    return { turn, run: () => this.#run(turn, { session, text, model, vfs, before }) }
  }

  /** Whether the conversation in a commit was written on this desk. */
  async #isOwn(commit: Oid | undefined): Promise<boolean> {
    const entry = await entryInTip(this.room.objects, commit, SESSION)
    return entry !== undefined && this.room.writtenHere.has(entry.oid)
  }

  async #openModel(session: Session): Promise<Model> {
    const { models } = this.ai
    await models.look()
    const name = this.ai.modelOf(session, this.choices)
    const missing = models.missing(name)
    if (name === undefined || missing !== undefined) throw new Failure(missing ?? 'No model is chosen.')
    return await models.open(name)
  }

  /** Throws a {@link Failure} if a message alone is too long for the model's window. */
  async #verifyFits(session: Session, text: string, about: { model: Model; vfs: WorkInProgressVfs; branch: string }) {
    const { model, vfs, branch } = about
    // So short a message fits, or something else fills the window: a token has several bytes on average.
    if (Buffer.byteLength(text) < model.window) return
    const { whyMessageTooLong } = await import('../../ai/meter.ts')
    const [builtIn, summaries, tree] = await Promise.all([
      this.ai.tools.builtIn(),
      this.ai.summaries(),
      vfs.writeTree(),
    ])
    const tools = builtIn.map(({ description }) => description)
    const state = { objects: this.room.objects, summaries, model, tools, tree, branch, base: vfs.base }
    const why = await whyMessageTooLong(session, state, text)
    if (why !== undefined) throw new Failure(why)
  }

  /** Makes the objects of a new turn that tell the windows of its progress (`live`) and ask the user (`questions`). */
  #seen(work: BranchWork, turn: string): Pick<BranchTurn, 'live' | 'questions'> {
    const { clean } = this.ai.models
    const live = new LiveTurn(turn, clean, news => this.room.say({ say: 'turn', branch: work.name, news }))
    const onWait = (call: string, waits: boolean) => {
      live.wait(call, waits)
      this.room.say({ say: 'branch', branch: work.name })
    }
    return { live, questions: new ToolQuestions(() => live.running, onWait) }
  }

  /** Runs a turn to its end. Does not throw. */
  async #run(turn: BranchTurn, start: Start): Promise<void> {
    try {
      const session = await this.#ask(turn, start)
      turn.now = { ...turn.now, session, ...(await workIn(start.vfs, start.before)), does: 'ended' }
    } catch (error) {
      turn.now = { ...turn.now, session: this.#ended(turn.now, inWords(error)) }
    }
    await this.#end(turn)
  }

  async #ask(turn: BranchTurn, { session, text, model, vfs, before }: Start): Promise<Session> {
    const { runTurn } = await import('../../ai/turn.ts')
    const { work, live, control, now, questions } = turn
    const { limits, clean, checksAfterTurn } = this.ai.models
    const check = checksAfterTurn ? await this.ai.tools.checksOf(vfs) : undefined
    const options = { branch: work.name, signal: control.signal, questions, checksAfterTurn: check !== undefined }
    const { tools, broken } = await this.ai.tools.of(vfs, options)
    for (const words of broken) live.hear({ type: 'note', words })
    return await runTurn(session, {
      turn: now.turn,
      text,
      model,
      branch: work.name,
      vfs,
      tools,
      sources: { objects: this.room.objects, summaries: await this.ai.summaries() },
      limits,
      ...(check && { check }),
      // What the turn does in a waiting merge is committed with that, by its message.
      asksForMessage: !(await isInMerging(this.room.objects, now)),
      signal: control.signal,
      onEvent: event => live.hear(event),
      checkpoint: async (so, does) =>
        // The page gets arriving text by other news: here the session is only written, so that it survives a crash.
        does === 'hears'
          ? turn.checkpoints.write({ ...turn.now, session: so })
          : this.#checkpoint(turn, { session: so, ...(await workIn(vfs, before)), does }),
      clean,
    })
  }

  /** Shows the state of a turn, and writes it as a checkpoint. */
  async #checkpoint(turn: BranchTurn, news: Pick<Checkpoint, 'session' | 'files' | 'renames' | 'does'>): Promise<void> {
    const { work } = turn
    const isSame = isSameFiles(turn.now.files, news.files)
    const isOpeningNew = turn.now.session.opening !== news.session.opening
    turn.now = { ...turn.now, ...news }
    // Windows have counted the context without what the opening has for the message.
    if (isOpeningNew) this.room.say({ say: 'branch', branch: work.name })
    if (!isSame) {
      turn.renames = await renamesOf(this.room, turn.now)
      await work.locked(held => held.showAtWork(shownOf(turn)))
    }
    await turn.checkpoints.write(turn.now)
  }

  /** Ends a turn: commits it, or leaves it unfinished if it did not end well. */
  async #end(turn: BranchTurn): Promise<void> {
    const end = endOf(turn.now)
    if (end?.how !== 'done') return await this.#wait(turn, end?.words ?? 'It has ended, and nobody knows why.')
    const why = await this.#commit(turn)
    if (why === undefined) await this.#over(turn)
    else await this.#wait(turn, why)
  }

  /** Why a turn could not be committed, as a sentence; undefined if it was. */
  async #commit(turn: BranchTurn): Promise<string | undefined> {
    const { objects } = this.room
    const { work, now } = turn
    try {
      // A branch that is gone may have another name since a moment ago.
      if (!(await objects.info(headRef(work.name)))) await this.lookAtBranches()
      if (await isInMerging(objects, now)) {
        await settleByTurn(work, now, this.#endOf(turn), false)
        return undefined
      }
      const committed = await commitTurn(work, now, this.#endOf(turn))
      if ('commit' in committed) return undefined
      const moved = `${visiblePath(work.name)} was moved meanwhile, and ${nameSome(committed.clashing)}`
      return `${moved} can't be merged with it: nothing was overwritten. Keep what was done, and choose file by file.`
    } catch (error) {
      return `It is done, but could not be committed: ${inWords(error)}`
    }
  }

  /** Leaves a turn unfinished, to be kept or discarded. */
  async #wait(turn: BranchTurn, words: string): Promise<void> {
    turn.now = { ...turn.now, does: 'ended', words }
    const { work } = turn
    try {
      await turn.checkpoints.write(turn.now)
      turn.renames = await renamesOf(this.room, turn.now)
    } finally {
      turn.state = 'unfinished'
      turn.words = words
      await work.locked(held => held.showAtWork(shownOf(turn)))
      this.#say(turn, { is: 'changed', turn: turn.now.turn })
    }
  }

  #endOf(turn: BranchTurn): TurnEnd {
    return { checkpoints: turn.checkpoints, over: held => this.#free(turn, held) }
  }

  /** Removes a turn: the branch's files can be edited again. */
  async #free({ work }: BranchTurn, held: HeldBranch): Promise<void> {
    this.#turns.delete(work)
    await held.showAtWork(undefined)
    this.room.say({ say: 'refusal over', words: whyTurnPreventsUndo(work.name) })
  }

  async #overElsewhere(turn: BranchTurn): Promise<void> {
    await turn.work.locked(held => this.#free(turn, held))
    await this.#over(turn)
  }

  /**
   * After the end of a turn: the choices that it has applied are made by that, unless it was discarded: its message may
   * be sent again.
   */
  async #over(turn: BranchTurn, isDiscarded = false): Promise<void> {
    const { work } = turn
    const { turn: id, session } = turn.now
    // Counted from here on; a disk that refuses to keep it must not hide that the turn is over.
    const spent = this.choices.spend(work.name, id, usageOfTurn(session, id))
    this.#say(turn, { is: 'changed', turn: id })
    await spent
    if (!isDiscarded) await this.choices.fulfilled(work.name, id, turn.wishes)
  }

  // --- Actions of the user ---

  /** Ends a turn as soon as possible. */
  stop(branch: string): void {
    const turn = this.in(branch)
    if (turn?.state === 'running') turn.control.abort(new Failure('You stopped it.'))
  }

  /** Answers a tool's question for approval. */
  approve(branch: string, path: Path, oid: Oid, isApproved: boolean): void {
    const turn = this.in(branch)
    if (turn?.state !== 'running') throw new Failure(`No turn in ${visiblePath(branch)} waits for an approval.`)
    turn.questions.decide(path, oid, isApproved)
  }

  /** Keeps an unfinished turn, with its files as drafts, or discards it. */
  async end(branch: string, keep: boolean): Promise<void> {
    const turn = this.in(branch)
    if (turn?.state === 'running')
      throw new Failure(`The AI is at work in ${visiblePath(branch)}: stop it first, and choose then.`)
    if (!turn) throw new Failure(`There is nothing to keep or discard in ${visiblePath(branch)}.`)
    // Waits until the turn's last checkpoint is written, or another window's choice (keep or discard) is carried out.
    const chosen = turn.done.then(() => this.#choose(turn, keep))
    turn.done = chosen.catch(() => undefined)
    await chosen
  }

  async #choose(turn: BranchTurn, keep: boolean): Promise<void> {
    const { work, now } = turn
    const end = this.#endOf(turn)
    if (this.#turns.get(work) !== turn)
      throw new Failure(`In ${visiblePath(work.name)} it was kept or discarded already.`)
    try {
      if (keep && (await isInMerging(this.room.objects, now))) await settleByTurn(work, now, end, true)
      else if (keep) await keepTurn(work, { ...now, renames: turn.renames }, end)
      else await discardTurn(work, now, end)
    } catch (error) {
      // Another desk has ended the turn meanwhile.
      if (error instanceof RefMoved) await this.look()
      throw error
    }
    await this.#over(turn, !keep)
  }

  // --- After a restart ---

  async #findAgain(branch: string, commit: Oid): Promise<void> {
    const found = await readCheckpoint(this.room.objects, commit)
    if (!found) throw new Failure(`${visiblePath(TURNS + branch)} is no turn of an AI: delete it by git update-ref -d.`)
    const work = await this.open(branch)
    // The turn may have ended, or another one have begun, while its checkpoint was read.
    const now = (await this.room.objects.info(turnRef(branch)))?.oid
    if (now !== commit || this.#turns.has(work) || this.#beginning.has(work)) return
    const words = found.words ?? whyBroken(found)
    const turn: BranchTurn = {
      work,
      checkpoints: new Checkpoints(work, commit),
      now: { ...found, session: this.#ended(found, words) },
      state: 'unfinished',
      words,
      renames: await renamesOf(this.room, found),
      ...this.#seen(work, found.turn),
      wishes: NO_WISHES,
      control: new AbortController(),
      done: Promise.resolve(),
    }
    this.#turns.set(work, turn)
    await work.locked(held => held.showAtWork(shownOf(turn)))
    this.#say(turn, { is: 'changed', turn: found.turn })
  }

  /** Ends an interrupted conversation with a failure entry, if it has no end yet. */
  #ended(found: Checkpoint, words: string): Session {
    if (endOf(found)) return found.session
    const { turn, model, session } = found
    const usage = usageOfTurn(session, turn)
    const end = { turn, at: Date.now(), how: 'failed', words, model, usage, seconds: 0 } as const
    return withEnd(session, end, this.ai.models.clean)
  }

  // --- End ---

  #say({ work }: BranchTurn, news: TurnNews): void {
    this.room.say({ say: 'turn', branch: work.name, news })
    this.room.say({ say: 'branch', branch: work.name })
  }

  #complain(error: unknown, branch?: string): void {
    this.room.say({ say: 'notice', words: inWords(error), isBad: true, ...(branch !== undefined && { branch }) })
  }

  /** Stops all running turns; each is left unfinished, to be kept or discarded. */
  async [Symbol.asyncDispose](): Promise<void> {
    const turns = [...this.#turns.values()]
    for (const turn of turns)
      if (turn.state === 'running') turn.control.abort(new Failure('The desk was closed while it ran.'))
    await Promise.all(turns.map(({ done }) => done))
  }
}

/** `before`: the renames in the resolutions of a waiting merge, with which the turn begins. */
type Start = { session: Session; text: string; model: Model; vfs: WorkInProgressVfs; before: readonly Renamed[] }
type Begun = { turn: BranchTurn; run: () => Promise<void> }

const whyAtWork = (branch: string): string =>
  `The AI is at work in ${visiblePath(branch)}: its files can be changed again when it is done, or stopped.`
const whyUnfinished = (branch: string): string =>
  `The AI’s turn in ${visiblePath(branch)} did not end well: keep or discard what it did, then go on.`

function whyBroken(checkpoint: Checkpoint): string {
  const where = whereItRuns(checkpoint)
  if (where !== undefined)
    return `Another desk ${where} began this turn, and may still be at work on it: look there first. To keep or discard it here ends it there.`
  return checkpoint.does === 'asks'
    ? 'The desk ended while the model was answering. What is not here of that answer is lost, and may have been paid for; it is not asked for again unless you do.'
    : 'The desk ended in the middle of this turn.'
}

/** Throws a {@link Failure} if there are unsaved edits, which the AI would not see. */
function verifySaved({ name, draftPaths, drafts, merging }: BranchWork): void {
  if (merging !== undefined) verifyNoClash(drafts, drafts.clashes.keys())
  if (merging !== undefined || draftPaths.length === 0) return
  const files = `${nameSome(draftPaths)} in ${visiblePath(name)}`
  throw new Failure(`What was typed in ${files} is not saved: save or discard it first, since the AI works on commits.`)
}

const nameSome = (paths: readonly Path[]): string =>
  paths.length <= 2 ? paths.map(visiblePath).join(' and ') : many(paths.length, 'file')

/**
 * What a turn shows in its branch until it is over. An unfinished one that changed no file, outside of a waiting merge,
 * is only a conversation: it holds no file back.
 */
function shownOf({ state, work: { name, merging }, now: { base, files }, renames }: BranchTurn): AtWork | undefined {
  const shown = { ...draftsOf(base, files), renames }
  if (state === 'running') return { files: shown, why: whyAtWork(name) }
  if (files.size === 0 && merging === undefined) return undefined
  return { files: shown, why: whyUnfinished(name) }
}

const endOf = ({ session, turn }: Checkpoint): EntryOf<'end'> | undefined =>
  session.messages.findLast((entry): entry is EntryOf<'end'> => entry.kind === 'end' && entry.turn === turn)

/** The files that a turn has changed, and its renames. `before`: the renames with which it began. */
async function workIn(
  vfs: WorkInProgressVfs,
  before: readonly Renamed[],
): Promise<Pick<Checkpoint, 'files' | 'renames'>> {
  const drafts = draftsOf(vfs.base, filesIn(vfs))
  let all = before
  for (const renamed of vfs.renames) all = withRename({ ...drafts, renames: all }, renamed)
  // A file that the turn itself has made has no old path.
  const old = await Promise.all(all.map(({ from }) => entryInTip(vfs.objects, vfs.base, from)))
  const { files, renames } = withoutUnused({ ...drafts, renames: all.filter((_, at) => old[at] !== undefined) })
  return { files, renames }
}

/** The files that a turn has changed, without its conversation. */
function filesIn({ changes, objects }: WorkInProgressVfs): Map<Path, DraftFile> {
  const files = [...changes].filter(([path]) => path !== SESSION)
  return new Map(files.map(([path, change]) => [path, asDraft(objects.repository.format, change)]))
}

function asDraft(format: Format, change: TreeChange): DraftFile {
  if (!change || 'oid' in change) return change
  const bytes = Buffer.from(change.bytes)
  return { mode: change.mode, oid: oidOf(format, { type: 'blob', bytes }), bytes }
}

const isSameFiles = (one: Checkpoint['files'], other: Checkpoint['files']): boolean =>
  one.size === other.size &&
  [...one].every(([path, file]) => {
    const twin = other.get(path)
    return other.has(path) && twin?.oid === file?.oid && twin?.mode === file?.mode
  })

const inWords = (error: unknown): string => visible(error instanceof Error ? error.message : String(error))
