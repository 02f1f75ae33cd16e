/**
 * A turn: the model is asked, its calls are run, and it is asked again, until it makes no more calls, the user stops
 * it, a limit is reached or something fails. Turn.run is the loop; its steps follow below.
 */
import { Failure } from '../../core/failure.ts'
import { describe, touching } from '../../core/git/history.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { many, visible } from '../../core/text.ts'
import type { WorkInProgressVfs } from '../vfs.ts'
import { Budget, LimitReached, type TurnLimits } from './budget.ts'
import { cleanMessage } from './commit-message.ts'
import { requestFor } from './context.ts'
import { needsShortening } from './meter.ts'
import { prepareSession, type Sources, type State, withToolsDone } from './opening.ts'
import type { CallBlock, Model, ModelAnswer, Progress, Request, TextBlock, Usage } from './request.ts'
import { type Clean, NO_USAGE, type Session, withAnswer, withChecks, withEnd, withResult, withUser } from './session.ts'
import { Fullness, whyTooMuch } from './session-file.ts'
import { shorten } from './shorten.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'
import type { Checked } from './turn-checks.ts'

export type TurnEvent =
  /** A part of an answer has arrived. */
  | { type: 'progress'; progress: Progress }
  /** An answer has ended, complete or not: it is in the session. */
  | { type: 'answered' }
  | { type: 'runs'; call: CallBlock; title: string }
  | { type: 'ran'; call: CallBlock; title: string; result: ToolResult; seconds: number }
  /** What the turn is doing, in a few words. */
  | { type: 'doing'; words: string; usage: Usage }
  /** A message for the user. */
  | { type: 'note'; words: string }

export type TurnMeans = {
  /** The turn's id, which all its entries have. */
  turn: string
  /** The user's message. */
  text: string
  model: Model
  /** The branch that the turn works on. `vfs`: its files. */
  branch: string
  vfs: WorkInProgressVfs
  tools: readonly Tool[]
  /** What requests are packed from. */
  sources: Pick<Sources, 'objects' | 'summaries'>
  limits: TurnLimits
  /** Ends the turn as soon as possible; the reason's message is a sentence that says why. */
  signal: AbortSignal
  onEvent: (event: TurnEvent) => void
  /**
   * Stores the session and the files so far. Awaited before each request (`asks`), after each answer and between tools
   * (`works`); where it throws then, the turn fails. While an answer streams in (`hears`), it is called at most once a
   * second with the answer so far; an error then is ignored, as the next call stores more.
   */
  checkpoint: (session: Session, does: 'asks' | 'works' | 'hears') => Promise<void>
  /**
   * Runs the repository's checks on the turn's files; `only`: just these commands. Gives undefined where none can run.
   * Without this function, no checks run.
   */
  check?: (signal: AbortSignal, only?: readonly string[]) => Promise<Checked | undefined>
  /** Whether the model writes the message of the turn's commit, if it changes files. Default: true. */
  asksForMessage?: boolean
  /** Blacks out secrets in a text. */
  clean: Clean
}

/** A turn ends after this many answers in a row without a successful call. */
const MAX_FAILED_ANSWERS = 8
/**
 * Milliseconds between checkpoints of an unfinished answer. KEPT_SHARE: the largest share of time that these may take.
 */
const KEPT_EVERY = 1000
const KEPT_SHARE = 0.05
/** A longer word at a cut may be the start of a secret that can't be recognised any more. */
const MAX_CUT_WORD_CHARS = 7
/** At most this many characters of an answer that broke off are kept, so that they fit into the session. */
const MAX_PARTIAL_ANSWER_CHARS = 1 << 20
const NO_ANSWER = 'The model’s answer was empty: send the message again, or choose another model.'

/** Runs a turn on a session. Gives the session with all new entries and the turn's end. Never throws. */
export async function runTurn(session: Session, means: TurnMeans): Promise<Session> {
  using budget = new Budget(means.limits)
  return await new Turn(session, means, budget).run()
}

type Ending = { how: 'done' | 'stopped' | 'failed' | 'limit'; words?: string; message?: string }

class Turn {
  readonly #signal: AbortSignal
  readonly #room: TurnToolContext
  /** The tree of the files after the last tool. */
  #tree: Oid | undefined
  #inVain = 0
  /** The checks that failed at the end of the turn; undefined before the first run, empty after the last. */
  #failing: readonly string[] | undefined
  #hasTriedToShorten = false
  readonly #fullness = new Fullness()

  constructor(
    private session: Session,
    readonly means: TurnMeans,
    readonly budget: Budget,
  ) {
    this.#signal = AbortSignal.any([means.signal, budget.signal])
    this.#room = new TurnToolContext(means.vfs, this.#signal, wait => budget.standStill(wait))
  }

  async run(): Promise<Session> {
    const ending = await this.#untilDone()
      .then(() => this.#done())
      .catch(error => this.#endedBy(error))
    const { turn, model, clean } = this.means
    const { usage, taken: seconds } = this.budget
    const end = { turn, at: Date.now(), ...ending, model: model.name, usage, seconds }
    return withEnd(this.session, end, clean)
  }

  async #untilDone(): Promise<void> {
    await this.#begin()
    for (;;) {
      const { blocks } = await this.#ask()
      const calls = blocks.filter(block => block.type === 'call')
      if (calls.length > 0) await this.#run(calls)
      else if (!(await this.#hasFailing())) return
    }
  }

  /**
   * Runs the checks when the model makes no more calls. Gives whether some fail, so that the model has to be asked
   * again. After its next answer the failed ones run once more, so that the result of the turn is known.
   */
  async #hasFailing(): Promise<boolean> {
    const { check, vfs, turn, clean, checkpoint } = this.means
    if (!check || vfs.changes.size === 0 || this.#failing?.length === 0) return false
    const only = this.#failing
    this.#failing = []
    this.#say('Runs the checks of FORGE.md')
    const begun = performance.now()
    const checked = await check(this.#signal, only)
    if (!checked) return false
    const seconds = Math.round(performance.now() - begun) / 1000
    const { isGood, text, words } = checked
    this.session = withChecks(this.session, { turn, isGood, isAgain: only !== undefined, text, words, seconds }, clean)
    await checkpoint(this.session, 'works')
    if (isGood || only) return false
    this.#failing = checked.failed
    return true
  }

  // --- Steps ---------------------------------------------------------------------------------------------------------

  async #begin(): Promise<void> {
    const { turn, text, clean } = this.means
    const begun = this.session
    // The message is stored first, so that it is kept even if preparing the session fails.
    this.session = withUser(begun, { turn, at: Date.now(), text }, clean)
    const state = { ...(await this.#state()), text, signal: this.#signal }
    const prepared = await prepareSession(begun, state, Date.now())
    this.session = withUser(prepared, { turn, at: Date.now(), text }, clean)
    const news = prepared.messages.slice(begun.messages.length)
    this.#room.changedByOthers(
      news.flatMap(entry => (entry.kind === 'file' && entry.why === 'changed' ? [entry.path] : [])),
    )
  }

  /** Asks the model and stores its answer. */
  async #ask(): Promise<ModelAnswer> {
    const { checkpoint } = this.means
    this.#verifyRoom()
    await this.#shortenIfNeeded()
    this.budget.reserve()
    await checkpoint(this.session, 'asks')
    const answer = await this.#answerTo(await requestFor(this.session, await this.#state()))
    const why = whyTooMuch(answer)
    if (why) throw new Failure(why)
    this.#take(answer)
    await checkpoint(this.session, 'works')
    if (answer.end === 'refused') throw new Failure('The model refused to answer this.')
    if (answer.end === 'length') throw new LimitReached('Its answer was longer than an answer can be, and was cut.')
    return answer
  }

  /** Ends the turn where the session is full, as a further answer could not be stored. */
  #verifyRoom(): void {
    const why = this.#fullness.of(this.session)
    if (why) throw new LimitReached(why)
  }

  async #answerTo(request: Request): Promise<ModelAnswer> {
    const { model, onEvent } = this.means
    // Of an answer that breaks off, the part that the user has seen is kept.
    let text = ''
    const keeper = new Keeper(() => this.means.checkpoint(this.#with(partOf(text)), 'hears'))
    const onProgress = (progress: Progress) => {
      if (progress.type === 'text') text += progress.delta
      if (progress.type === 'again') text = ''
      onEvent({ type: 'progress', progress })
      if (progress.type === 'resent') this.#say('Thinks')
      if (text.trim() !== '') keeper.keep()
    }
    this.#signal.throwIfAborted()
    this.#say('Thinks')
    try {
      const answer = await model.ask(request, { signal: this.#signal, onProgress })
      this.budget.spend(answer.usage)
      if (answer.miss) onEvent({ type: 'note', words: answer.miss })
      return answer
    } catch (error) {
      if (text.trim() !== '') this.#take(partOf(text))
      throw error
    } finally {
      await keeper.end()
    }
  }

  #take(answer: ModelAnswer): void {
    this.session = this.#with(answer)
    this.means.onEvent({ type: 'answered' })
  }

  #with(answer: ModelAnswer): Session {
    const { turn, model, clean } = this.means
    return withAnswer(this.session, { turn, model: model.name, answer }, clean)
  }

  /** Runs the calls one after the other, and tells the model which files have changed. */
  async #run(calls: readonly CallBlock[]): Promise<void> {
    this.#room.begin(this.session.active_files)
    let worked = 0
    for (const call of calls) {
      // Store the changes of the call before. Those of the last call are stored together with the next request.
      if (call !== calls[0]) await this.means.checkpoint(this.session, 'works')
      this.#verifyRoom()
      if (await this.#call(call)) worked++
    }
    this.session = await withToolsDone(this.session, await this.#state(), this.#room.done())
    this.#inVain = worked > 0 ? 0 : this.#inVain + 1
    if (this.#inVain < MAX_FAILED_ANSWERS) return
    throw new LimitReached(`Nothing of what it called has worked ${many(this.#inVain, 'time')} in a row.`)
  }

  /** Runs a tool and stores its result. Gives whether it succeeded. */
  async #call(call: CallBlock): Promise<boolean> {
    const { tools, onEvent, turn, clean } = this.means
    this.#signal.throwIfAborted()
    const tool = tools.find(({ description }) => description.name === call.name)
    const title = tool ? titleOf(tool, call) : visible(call.name)
    this.#say(title)
    onEvent({ type: 'runs', call, title })
    // The turn's clock, which stands still while a person is asked.
    const begun = this.budget.taken
    const result = tool ? await runTool(tool, call, this.#room) : unknownTool(tools, call)
    const seconds = Math.round((this.budget.taken - begun) * 1000) / 1000
    this.#room.took(result)
    this.#tree = undefined
    const { text, isError, words } = result
    this.session = withResult(
      this.session,
      { turn, id: call.id, name: call.name, text, isError, words, seconds },
      clean,
    )
    onEvent({ type: 'ran', call, title, result, seconds })
    return !isError
  }

  /** Shortens the conversation where it is close to the end of the model's window, once in a turn. */
  async #shortenIfNeeded(): Promise<void> {
    if (this.#hasTriedToShorten || !(await needsShortening(this.session, await this.#state()))) return
    this.#hasTriedToShorten = true
    this.budget.reserve()
    await this.means.checkpoint(this.session, 'asks')
    this.#say('Shortens the conversation')
    const { turn, model, clean } = this.means
    const means = { turn, model, clean, now: Date.now(), signal: this.#signal, onProgress: () => undefined }
    const { session, words, usage } = await shorten(this.session, { state: await this.#state(), ...means })
    this.budget.spend(usage)
    this.session = session
    this.means.onEvent({ type: 'note', words })
  }

  // --- Ends ----------------------------------------------------------------------------------------------------------

  /**
   * The end of a turn whose model makes no more calls, with the commit message where files were changed. Without any
   * text or changed file, the turn has failed.
   */
  async #done(): Promise<Ending> {
    const { turn, vfs, asksForMessage = true } = this.means
    if (vfs.changes.size > 0) {
      const message = asksForMessage ? await this.#askForMessage() : undefined
      return { how: 'done', ...(message && { message }) }
    }
    const hasText = this.session.messages.some(
      entry => entry.kind === 'answer' && entry.turn === turn && entry.blocks.some(({ type }) => type === 'text'),
    )
    return hasText ? { how: 'done' } : { how: 'failed', words: NO_ANSWER }
  }

  #endedBy(error: unknown): Ending {
    const { signal } = this.means
    if (error instanceof LimitReached) return { how: 'limit', words: error.message }
    if (signal.aborted) return { how: 'stopped', words: inWords(signal.reason) }
    if (this.budget.signal.aborted) return { how: 'limit', words: inWords(this.budget.signal.reason) }
    if (error instanceof Failure) return { how: 'failed', words: error.message }
    return { how: 'failed', words: `This was not expected: ${inWords(error)}` }
  }

  /** The model's commit message; undefined where it gives none, or has no time or money left. Throws if stopped. */
  async #askForMessage(): Promise<string | undefined> {
    const { checkpoint, model, clean } = this.means
    try {
      this.budget.reserve()
      this.#say('Writes the commit message')
      await checkpoint(this.session, 'asks')
      const request = await requestFor(this.session, await this.#state(), { asks: 'commit message' })
      const answer = await model.ask(request, { signal: this.#signal, onProgress: () => undefined })
      this.budget.spend(answer.usage)
      const texts = answer.blocks.filter((block): block is TextBlock => block.type === 'text')
      return cleanMessage(clean(texts.map(({ text }) => text).join('')))
    } catch (error) {
      // The user may have stopped the turn because its changes are not to be committed.
      if (this.means.signal.aborted) throw error
      // The changes are committed all the same, with a generated message.
      return undefined
    }
  }

  // --- What a step needs ---------------------------------------------------------------------------------------------

  async #state(): Promise<State> {
    const { sources, model, tools, vfs, branch } = this.means
    const descriptions = tools.map(({ description }) => description)
    this.#tree ??= await vfs.writeTree()
    return { ...sources, model, tools: descriptions, tree: this.#tree, branch, base: vfs.base }
  }

  #say(words: string): void {
    this.means.onEvent({ type: 'doing', words, usage: this.budget.usage })
  }
}

/** Makes an answer of the text that had arrived when the model's answer broke off. */
function partOf(text: string): ModelAnswer {
  const part = text.slice(0, MAX_PARTIAL_ANSWER_CHARS)
  const word = Math.max(...[' ', '\n', '\t'].map(blank => part.lastIndexOf(blank))) + 1
  const said = part.length - word > MAX_CUT_WORD_CHARS ? `${part.slice(0, word)}…` : part
  return { blocks: [{ type: 'text', text: said }], end: 'done', usage: NO_USAGE }
}

/** Runs `write` from time to time, never twice at once. Errors are ignored, as the next run writes more. */
class Keeper {
  #next = performance.now() + KEPT_EVERY
  #clock: ReturnType<typeof setTimeout> | undefined
  #writing: Promise<void> | undefined

  constructor(readonly write: () => Promise<void>) {}

  /** Schedules a checkpoint with the content that has arrived, unless one is scheduled or being written. */
  keep(): void {
    if (this.#clock || this.#writing) return
    const write = () => {
      this.#clock = undefined
      this.#writing = this.#write()
    }
    this.#clock = setTimeout(write, Math.max(this.#next - performance.now(), 0))
  }

  /** Resolves when nothing is being written any more. */
  async end(): Promise<void> {
    clearTimeout(this.#clock)
    await this.#writing
  }

  async #write(): Promise<void> {
    const begun = performance.now()
    await this.write().catch(() => undefined)
    const now = performance.now()
    this.#next = now + Math.max(KEPT_EVERY, (now - begun) / KEPT_SHARE)
    this.#writing = undefined
  }
}

/** The context of the tools, which collects what the tools of one answer have done. */
class TurnToolContext implements ToolContext {
  #active = new Set<Path>()
  #before = new Set<Path>()
  #touched = new Set<Path>()
  readonly #misses = new Map<Path, number>()
  #changed = new Set<Path>()

  constructor(
    readonly vfs: WorkInProgressVfs,
    readonly signal: AbortSignal,
    readonly forPerson: ToolContext['forPerson'],
  ) {}

  readonly activate = (path: Path): void => void this.#active.add(path)
  readonly deactivate = (path: Path): void => void this.#active.delete(path)

  get active(): ReadonlySet<Path> {
    return this.#active
  }

  /** For each file, how many edits in this turn did not find their search text. */
  get misses(): ReadonlyMap<Path, number> {
    return this.#misses
  }

  /** Marks files that others have changed since the end of the last turn. */
  changedByOthers(paths: readonly Path[]): void {
    this.#changed = new Set(paths)
  }

  readonly changed = async (path: Path): Promise<string | undefined> => {
    const { base, objects } = this.vfs
    if (base === undefined || !this.#changed.has(path)) return undefined
    const { touches } = await touching(objects.repository, base, path, { count: 1 })
    const [last] = await describe(
      objects,
      touches.map(({ oid }) => oid),
    )
    return last && `in the commit ${last.oid.slice(0, 8)} by ${last.author.name}`
  }

  /**
   * Forgets what the tools of the last answer have done. `active`: the files in the context when the next answer
   * begins.
   */
  begin(active: readonly Path[]): void {
    this.#active = new Set(active)
    this.#before = new Set(active)
    this.#touched = new Set()
  }

  took({ missed, touched = [] }: ToolResult): void {
    if (missed !== undefined) this.#misses.set(missed, (this.#misses.get(missed) ?? 0) + 1)
    for (const path of touched) this.#touched.add(path)
  }

  done() {
    return {
      touched: [...this.#touched],
      activated: [...this.#active].filter(path => !this.#before.has(path)),
      deactivated: [...this.#before].filter(path => !this.#active.has(path)),
    }
  }
}

async function runTool(tool: Tool, call: CallBlock, room: TurnToolContext): Promise<ToolResult> {
  try {
    return await tool.run(call.arguments, room)
  } catch (error) {
    room.signal.throwIfAborted()
    const words = error instanceof Failure ? error.message : `This did not work: ${inWords(error)}`
    return { text: words, isError: true, words: 'did not work' }
  }
}

function unknownTool(tools: readonly Tool[], { name }: CallBlock): ToolResult {
  const names = tools.map(({ description }) => description.name)
  return { text: `There is no tool ${visible(name)}. There are: ${names.join(', ')}.`, isError: true, words: 'unknown' }
}

/** The title of a call; the arguments may have any shape. */
function titleOf(tool: Tool, call: CallBlock): string {
  try {
    return tool.title(call.arguments)
  } catch {
    return tool.description.name
  }
}

const inWords = (error: unknown): string => {
  const words = error instanceof Error ? error.message : String(error)
  return visible(words.split('\n')[0] ?? '').slice(0, 300)
}
