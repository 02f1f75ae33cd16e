/**
 * Packs a session into a request, in the order in which a provider caches it: tools, system prompt, summaries of all
 * files, active files, conversation. While the cache is warm, each request begins with the whole request before it.
 */
import type { Objects } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { visiblePath } from '../../core/text.ts'
import {
  ASK_FOR_MESSAGE,
  ASK_FOR_SUMMARY,
  CHECKS_FAIL,
  CHECKS_FAIL_STILL,
  FILES_ARE_FROM_HERE,
  PERSON_SAYS,
  SYSTEM,
} from './desk-words.ts'
import { bytesIn, fenced, fileInWords, MAX_SENT_BYTES, quoted, tokensIn } from './fence.ts'
import { cacheOf, contentOf, nearFiles, type Sources } from './opening.ts'
import type { CallBlock, Mark, ReasoningBlock, Request, RequestMessage, ResultBlock, TextBlock } from './request.ts'
import { type EntryOf, NOT_RUN, type Opening, type Session } from './session.ts'

/** What the desk, and not the user, can ask the model for at the end of a request, after the conversation. */
export type Asks = 'commit message' | 'summary'

type Options = {
  asks?: Asks
  /** Only the entries before this index are sent; undefined: all. */
  until?: number
}

const QUESTIONS: Record<Asks, string> = { 'commit message': ASK_FOR_MESSAGE, summary: ASK_FOR_SUMMARY }
const DEFAULT_OUTPUT = 32_000
/** The fewest tokens that a request leaves for its answer. */
const MIN_OUTPUT = 1024
/** The share of a model's window that a request and its answer may fill, as tokens are only estimated. */
const USABLE = 0.98
/** The share of a model's window that all files together may fill when a session opens. */
const ALL_FILES = 0.5
/** The share of a model's window that one file alone may fill. */
const ONE_FILE = 0.25
/** The most bytes of one file that are sent to a model with this window. */
export const mostOfFile = (window: number): number => Math.min(bytesIn(window * ONE_FILE), MAX_SENT_BYTES)
/** Larger files, in bytes, are not read at all. */
const MAX_READ_BYTES = 8 << 20

/**
 * Packs the next request of a session, which prepareSession has prepared. The result depends on nothing but the session
 * and the objects that it names. Entries in an invalid order, in an untrusted session, are left out, so that no
 * provider refuses the request.
 */
export async function requestFor(
  session: Session,
  sources: Sources,
  { asks, until = session.messages.length }: Options = {},
): Promise<Request> {
  const { opening, messages } = session
  if (!opening) throw new Error('A session is prepared before it is packed into a request')
  const { model, tools, output = DEFAULT_OUTPUT } = sources
  const contents = await contentsOf(session, sources)
  const opened = openedFiles(opening, contents, model.window)
  const transcript = new Transcript(session, contents, model.window, opened)
  transcript.user(await fileList(opening, sources))
  for (const { text } of opened) transcript.user(text)
  const begin = beginOf(session, until)
  const summary = messages[begin]
  if (summary?.kind === 'summary') transcript.summary(summary, begin)
  const prefix = transcript.end
  for (let at = begin; at <= until; at++) {
    if (at === opening.from && at > begin) transcript.aside(FILES_ARE_FROM_HERE)
    if (at < until) transcript.entry(at)
  }
  if (asks) transcript.user(QUESTIONS[asks])
  const all = transcript.messages
  const plain = { tools, system: [{ type: 'text' as const, text: SYSTEM }], messages: all }
  const request: Request = { ...plain, output: Math.max(MIN_OUTPUT, Math.min(output, roomAfter(plain, model.window))) }
  if (!cacheOf(model.name).isMarked) return request
  const isBorder = asks === 'commit message' || isFirstOfTurn(session)
  return withMarks(request, prefix, opening.ttl, isBorder ? opening.ttl : '5m')
}

/** The tokens of a model's window that a request leaves, by estimate; negative if the request is larger. */
function roomAfter({ tools, system, messages }: Omit<Request, 'output'>, window: number): number {
  const texts = system.map(({ text }) => text)
  return Math.floor(window * USABLE) - tokensIn(JSON.stringify([tools, ...texts, messages]))
}

/** Whether a request and a short answer fit into a model's window, by estimate. */
export const fits = (request: Request, window: number): boolean => roomAfter(request, window) >= MIN_OUTPUT

/** The index of the entry from which the conversation is sent: its last summary, or its first entry. */
export const beginOf = ({ messages }: Session, until = messages.length): number =>
  Math.max(
    messages.findLastIndex(({ kind }, at) => kind === 'summary' && at < until),
    0,
  )

const isFirstOfTurn = ({ messages }: Session): boolean =>
  messages.findLast(({ kind }) => kind === 'user' || kind === 'answer')?.kind === 'user'

/** A block's position in the messages. */
type Place = { message: number; block: number }

/**
 * Sets the cache marks, at most four: after the system prompt (which includes the tools), before the conversation, at
 * the end of the previous request, and at the end of this one. The end of the previous one is marked again since a
 * provider looks back by only twenty blocks, and one answer can have more calls.
 */
function withMarks(request: Request, prefix: Place, ttl: Mark, endTtl: Mark): Request {
  const last = (message: number): Place => ({ message, block: (request.messages[message]?.blocks.length ?? 0) - 1 })
  const answer = request.messages.findLastIndex(({ role }) => role === 'assistant')
  // Providers want the cache marks with the longer lifetime first.
  const places: [Place, Mark][] = [
    [prefix, ttl],
    ...(answer > 0 ? [[last(answer - 1), endTtl] as [Place, Mark]] : []),
    [last(request.messages.length - 1), endTtl],
  ]
  const markAt = (message: number, block: number): { mark?: Mark } => {
    const mark = places.find(([place]) => place.message === message && place.block === block)?.[1]
    return mark ? { mark } : {}
  }
  const messages = request.messages.map((message, at): RequestMessage => {
    if (message.role === 'assistant') return message
    if (message.role === 'tool')
      return { role: 'tool', blocks: message.blocks.map((block, index) => ({ ...block, ...markAt(at, index) })) }
    return { role: 'user', blocks: message.blocks.map((block, index) => ({ ...block, ...markAt(at, index) })) }
  })
  return { ...request, system: request.system.map(block => ({ ...block, mark: ttl })), messages }
}

/** The content of files by blob id; undefined where a blob is missing or too large. */
type Contents = ReadonlyMap<Oid, Buffer | undefined>

/** Reads all content that a session sends. */
async function contentsOf(session: Session, { objects }: Sources): Promise<Contents> {
  const oids = contentOf(session)
  const bytes = await Promise.all(oids.map(oid => readContent(objects, oid)))
  return new Map(oids.map((oid, at) => [oid, bytes[at]]))
}

/** The content of a blob; undefined where it is missing or too large. */
export async function readContent(objects: Objects, oid: Oid): Promise<Buffer | undefined> {
  if (oid.length !== (objects.repository.format === 'sha1' ? 40 : 64)) return undefined
  const object = await objects.read(oid, { limit: MAX_READ_BYTES })
  return object?.type === 'blob' ? object.bytes : undefined
}

type Opened = { path: Path; text: string; isWhole: boolean }

/**
 * The active files of an opening (the context sent before the conversation): whole ones, until their share of the
 * window is full.
 */
function openedFiles({ files }: Opening, contents: Contents, window: number): Opened[] {
  const first = new Map<Oid, Path>()
  let room = bytesIn(window * ALL_FILES)
  const most = mostOfFile(window)
  return files.map(({ path, oid }) => {
    const name = `The file ${quoted(path)} is active`
    const same = first.get(oid)
    if (same !== undefined) return { path, text: `${name}. Its content is that of ${quoted(same)}.`, isWhole: false }
    const bytes = contents.get(oid)
    const text = fileInWords(path, 'is active', bytes, most)
    room -= Buffer.byteLength(text)
    if (room < 0)
      return {
        path,
        text: `${name}, but there is no room for it in your window: read it with get_lines.`,
        isWhole: false,
      }
    first.set(oid, path)
    return { path, text, isWhole: bytes !== undefined && bytes.length <= most }
  })
}

/** The part of an opening (the context sent before the conversation) that lists all files with their summaries. */
async function fileList(opening: Opening, { summaries, model }: Sources): Promise<string> {
  const active = opening.files.map(({ path }) => path)
  const wanted = { tree: opening.tree, active, near: nearFiles(opening), window: model.window }
  const { text, words = 'It is complete.' } = await summaries.of(wanted)
  const { names = [], subjects = [] } = opening
  const defined = names.map(({ name, path, line }) => `${name}: ${visiblePath(path)}, line ${line}`)
  return [
    `# The files of this branch\nEach with what it is about, or, where that is not known, its name behind its folder. ${words}\n${fenced(text)}`,
    ...(defined.length > 0 ? [`Where names of the first message are defined:\n${fenced(defined.join('\n'))}`] : []),
    ...(subjects.length > 0 ? [`Subjects of the last commits:\n${fenced(subjects.join('\n'))}`] : []),
  ].join('\n\n')
}

type AssistantBlock = TextBlock | ReasoningBlock | CallBlock

/** Collects entries as messages in which user and assistant alternate. */
class Transcript {
  readonly messages: RequestMessage[] = []
  readonly #active: Set<Path>
  /** Files whose whole content the model knows: from a request, or from its own edits. */
  readonly #whole = new Map<Path, Oid>()
  /** Files that the model's own tools deleted. */
  readonly #gone = new Set<Path>()
  /**
   * Ids of calls in this request. They are made unique, since some servers number the calls of each answer from the
   * start.
   */
  readonly #ids = new Set<string>()
  readonly #sweptTurns: ReadonlySet<string>
  /** Whether a note that the desk adds now becomes a user message: true if no tool result of this turn precedes it. */
  #isOver = true

  constructor(
    readonly session: Session,
    readonly contents: Contents,
    readonly window: number,
    opened: readonly Opened[],
  ) {
    const { opening, messages } = session
    const whole = new Set(opened.flatMap(({ path, isWhole }) => (isWhole ? [path] : [])))
    for (const { path, oid } of opening?.files ?? []) if (whole.has(path)) this.#whole.set(path, oid)
    this.#active = new Set(opening?.files.map(({ path }) => path))
    const before = messages.slice(0, opening?.from ?? 0)
    this.#sweptTurns = new Set(before.flatMap(entry => (entry.kind === 'end' ? [entry.turn] : [])))
  }

  /** The position of the last block of the last message. */
  get end(): Place {
    return { message: this.messages.length - 1, block: (this.messages.at(-1)?.blocks.length ?? 0) - 1 }
  }

  user(text: string): void {
    if (text.trim() === '') return
    const last = this.messages.at(-1)
    if (last?.role === 'user') last.blocks.push({ type: 'text', text })
    else this.messages.push({ role: 'user', blocks: [{ type: 'text', text }] })
  }

  /**
   * Adds a message of the desk: within a turn as part of the last result, since some models accept no user message
   * there.
   */
  aside(text: string): void {
    const last = this.messages.at(-1)
    const result = last?.role === 'tool' && !this.#isOver ? last.blocks.at(-1) : undefined
    if (result) result.text = `${result.text}\n\n${text}`
    else this.user(text)
  }

  entry(at: number): void {
    const entry = this.session.messages[at]
    if (entry?.kind === 'user') {
      this.#isOver = true
      this.user(`${PERSON_SAYS}\n${entry.text}`)
    } else if (entry?.kind === 'answer') this.#answer(entry, at)
    else if (entry?.kind === 'file') this.#file(entry, at)
    else if (entry?.kind === 'checks') this.#checks(entry)
    else if (entry?.kind === 'end') this.#end(entry)
  }

  /**
   * Begins the messages anew with a summary of all earlier ones. In the middle of a turn, the user's message of that
   * turn is repeated word by word.
   */
  summary({ text, turn }: EntryOf<'summary'>, at: number): void {
    this.user(`[The desk says:] Your own summary of the conversation so far:\n${text}`)
    const before = this.session.messages.slice(0, at)
    const isInside = this.session.messages[at + 1]?.kind !== 'user'
    const asked = before.findLast(entry => entry.kind === 'user' && entry.turn === turn)
    if (isInside && asked?.kind === 'user') this.user(`${PERSON_SAYS}\n${asked.text}`)
  }

  #answer({ blocks, turn }: EntryOf<'answer'>, at: number): void {
    const calls: CallBlock[] = blocks
      .filter(block => block.type === 'call')
      .map((block, index) => ({ ...block, id: this.#newId(block.id, at, index) }))
    const texts = blocks.filter(block => block.type === 'text' && block.text.trim() !== '')
    if (calls.length === 0 && texts.length === 0) return
    let call = 0
    const sent = blocks.flatMap((block): AssistantBlock[] => {
      if (block.type === 'call') return calls.slice(call, ++call)
      if (block.type === 'text') return texts.includes(block) ? [block] : []
      // Within a turn, reasoning has to be sent back. Later it is dropped once the whole request is rebuilt anyway.
      return this.#sweptTurns.has(turn) ? [] : [block]
    })
    const last = this.messages.at(-1)
    if (last?.role === 'assistant') last.blocks.push(...sent)
    else this.messages.push({ role: 'assistant', blocks: sent })
    if (calls.length === 0) return
    this.#isOver = false
    const results = this.#resultsOf(at)
    const said = blocks.flatMap(block => (block.type === 'call' ? [results.get(block.id)] : []))
    const done = calls.map(({ id, name }, index): ResultBlock => {
      const { text, isError } = said[index] ?? { text: NOT_RUN, isError: true }
      return { type: 'result', id, name, text: text || '(nothing)', isError }
    })
    this.messages.push({ role: 'tool', blocks: done })
  }

  /** The results that follow an answer, by call id, in whatever order they stand. */
  #resultsOf(at: number): Map<string, EntryOf<'result'>> {
    const results = new Map<string, EntryOf<'result'>>()
    for (let next = at + 1; next < this.session.messages.length; next++) {
      const entry = this.session.messages[next]
      if (entry?.kind === 'answer' || entry?.kind === 'user' || entry?.kind === 'end') break
      if (entry?.kind === 'result' && !results.has(entry.id)) results.set(entry.id, entry)
    }
    return results
  }

  #newId(id: string, at: number, index: number): string {
    // Some providers allow few characters in ids; replacing the others can make two ids equal.
    const plain = (it: string) => it.replace(/[^a-zA-Z0-9_-]/g, '_')
    const fresh = id === '' || this.#ids.has(plain(id)) ? `${id}-${at}-${index}` : id
    this.#ids.add(plain(fresh))
    return fresh
  }

  #file(entry: EntryOf<'file'>, at: number): void {
    // Statements about files are left out where the opening, the context sent before the conversation, was made after
    // them.
    if (at < (this.session.opening?.from ?? 0)) return
    const { path, oid, why } = entry
    const words = this.#wordsOnFile(entry)
    const isSent = why === 'active' || (why === 'changed' && this.#active.has(path))
    if (why === 'active') this.#active.add(path)
    if (why === 'inactive' || oid === null) this.#active.delete(path)
    if (why === 'changed') this.#whole.delete(path)
    if (isSent && oid !== null && this.#isWhole(oid)) this.#whole.set(path, oid)
    if (why === 'edited') this.#edited(path, oid)
    if (words !== undefined) this.aside(words)
  }

  /**
   * Records an edit by the model's own tools; `oid`: the new content, null if the file was deleted. The model still
   * knows the content of a deleted file, as the file may have been renamed; a file written to that path later counts as
   * unknown to the model.
   */
  #edited(path: Path, oid: Oid | null): void {
    if (oid === null) this.#gone.add(path)
    else if (this.#gone.delete(path)) this.#whole.delete(path)
    else if (this.#whole.has(path)) this.#whole.set(path, oid)
  }

  /** Whether the content is sent in full, not cut. */
  #isWhole(oid: Oid): boolean {
    const bytes = this.contents.get(oid)
    return bytes !== undefined && bytes.length <= mostOfFile(this.window)
  }

  #wordsOnFile({ path, oid, why }: EntryOf<'file'>): string | undefined {
    // The model knows of its own edits by the results of its tools.
    if (why === 'edited') return undefined
    const name = `[The desk says:] The file ${quoted(path)}`
    if (oid === null) return `${name} is gone: somebody else deleted or moved it.`
    if (why === 'inactive') return `${name} is not active any more.`
    if (why === 'changed' && !this.#active.has(path))
      return `${name} has changed, not by your edits: read it again before you edit it.`
    if (why === 'active' && this.#whole.get(path) === oid)
      return `${name} is active from here on: you have its content already.`
    const same = why === 'active' ? [...this.#whole].find(([, it]) => it === oid)?.[0] : undefined
    if (same !== undefined)
      return `${name} is active from here on. Its content is that of ${quoted(same)}, as you had it.`
    const said =
      why === 'active' ? 'is active from here on' : 'has changed, not by your edits: this replaces what you had'
    return fileInWords(path, said, this.contents.get(oid), mostOfFile(this.window))
  }

  /** Failed checks are sent as a message of the user after an answer, so that the model reacts to them. */
  #checks({ isGood, isAgain, text }: EntryOf<'checks'>): void {
    if (isGood) return
    this.#isOver = true
    this.user(`${isAgain ? CHECKS_FAIL_STILL : CHECKS_FAIL}\n${fenced(text)}`)
  }

  #end({ how, words, message }: EntryOf<'end'>): void {
    this.#isOver = true
    if (message?.trim()) {
      this.user(ASK_FOR_MESSAGE)
      this.messages.push({ role: 'assistant', blocks: [{ type: 'text', text: message }] })
    }
    if (how === 'done') return
    const why = {
      stopped: 'The person stopped this turn',
      failed: 'This turn failed',
      limit: 'This turn reached a limit',
    }
    this.user(`[The desk says:] ${why[how]}${words ? `: ${words}` : '.'}`)
  }
}
