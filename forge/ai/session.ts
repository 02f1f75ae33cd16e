/**
 * A conversation as it is committed with its code, in `.forge/session.json`. It contains everything that led to a
 * request, so that the next request begins with the same bytes, even after a restart. Functions here do not change a
 * session: each gives a new one. The file's format is in session-file.ts.
 */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import type { Path } from '../../core/git/repository.ts'
import type { ModelAnswer, Usage } from './request.ts'

/** The path of the session in a tree. */
export const SESSION = '.forge/session.json'

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const Finite = v.pipe(v.number(), v.finite())
/** Text without lone surrogates, which servers refuse in a request. */
const Text = v.pipe(
  v.string(),
  v.transform(text => text.toWellFormed()),
)
const Oid = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
/**
 * A path: in memory a string with one character for each byte; in the file plain text, or an object where the bytes are
 * no UTF-8.
 */
const PathInFile = v.pipe(
  v.union([
    v.pipe(
      v.string(),
      v.transform(text => Buffer.from(text).toString('latin1')),
    ),
    v.pipe(
      v.object({ bytes: v.pipe(v.string(), v.regex(/^[\0-\xff]*$/)) }),
      v.transform(({ bytes }) => bytes),
    ),
  ]),
  v.nonEmpty(),
  v.maxLength(4096),
)
const TurnId = v.pipe(v.string(), v.regex(/^[0-9a-z-]{1,64}$/))

const UsageInFile = v.object({
  input: Count,
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  /** US dollars. The limit keeps a hostile file from making sums infinite. */
  cost: v.exactOptional(v.pipe(v.number(), v.minValue(0), v.maxValue(1e9))),
})

/** At most this many files can be made active; instruction files do not count. */
export const MAX_ACTIVE_FILES = 1000

/** An entry of the conversation; entries are in the order of events. */
export const SessionEntry = v.variant('kind', [
  v.object({ kind: v.literal('user'), turn: TurnId, at: Finite, text: Text }),
  /** A model's answer to one request. */
  v.object({
    kind: v.literal('answer'),
    turn: TurnId,
    model: Text,
    blocks: v.array(
      v.variant('type', [
        v.object({ type: v.literal('text'), text: Text }),
        v.object({ type: v.literal('reasoning'), text: Text, provider: v.exactOptional(v.unknown()) }),
        v.object({
          type: v.literal('call'),
          id: Text,
          name: Text,
          arguments: v.unknown(),
          provider: v.exactOptional(v.unknown()),
        }),
      ]),
    ),
    usage: UsageInFile,
  }),
  /** A tool's result. `words` and `seconds` are shown to the user only. */
  v.object({
    kind: v.literal('result'),
    turn: TurnId,
    id: Text,
    name: Text,
    text: Text,
    isError: v.boolean(),
    words: Text,
    seconds: Finite,
  }),
  /**
   * Records that a file has this content from here on in the conversation; `oid` null: it was deleted. With `edited`,
   * the model's own tools changed it: its content is not sent, since the model knows it from the tools' results.
   */
  v.object({
    kind: v.literal('file'),
    path: PathInFile,
    oid: v.nullable(Oid),
    why: v.picklist(['active', 'changed', 'inactive', 'edited']),
  }),
  /** The model's summary of all entries before it, which are no longer sent. */
  v.object({ kind: v.literal('summary'), turn: TurnId, text: Text, usage: UsageInFile }),
  /**
   * The result of FORGE.md's checks at the end of a turn; failures are sent to the model. `isAgain`: this is the second
   * run, of the failed ones, after the model had seen their failures.
   */
  v.object({
    kind: v.literal('checks'),
    turn: TurnId,
    isGood: v.boolean(),
    isAgain: v.boolean(),
    text: Text,
    words: Text,
    seconds: Finite,
  }),
  /**
   * The end of a turn. `message`: its commit message, as the model wrote it; later requests contain the question for it
   * and this answer. The commit has the turn's id in a trailer.
   */
  v.object({
    kind: v.literal('end'),
    turn: TurnId,
    at: Finite,
    how: v.picklist(['done', 'stopped', 'failed', 'limit']),
    /** A sentence that says why, where the turn was not done. */
    words: v.exactOptional(Text),
    message: v.exactOptional(Text),
    model: Text,
    /** The sum of all requests of the turn. */
    usage: UsageInFile,
    seconds: Finite,
  }),
])
export type SessionEntry = v.InferOutput<typeof SessionEntry>
export type EntryOf<Kind extends SessionEntry['kind']> = Extract<SessionEntry, { kind: Kind }>

/**
 * The context that precedes the conversation in each request while the provider's cache is warm: the summaries of the
 * files in `tree`, and the whole content of `files`.
 */
export const Opening = v.object({
  tree: Oid,
  files: v.pipe(v.array(v.object({ path: PathInFile, oid: Oid })), v.maxLength(2 * MAX_ACTIVE_FILES)),
  /** When this context was put together. `from`: the index of the first entry whose file contents are not in it. */
  at: Finite,
  from: Count,
  /** The cache lifetime that the provider is asked for. */
  ttl: v.picklist(['5m', '1h']),
  /** The branch that this context was made for; a fork of that branch needs a new one. */
  branch: v.pipe(Text, v.maxLength(4096)),
  /** Definitions of names in the user's message for which this context was made; lines from 1. */
  names: v.exactOptional(v.pipe(v.array(v.object({ name: Text, path: PathInFile, line: Count })), v.maxLength(100))),
  /** Files that are named by words of the user's message for which this context was made. */
  near: v.exactOptional(v.pipe(v.array(PathInFile), v.maxLength(100))),
  /** The subjects of the branch's last commits, newest first, as examples of the style of messages. */
  subjects: v.exactOptional(v.pipe(v.array(v.pipe(Text, v.maxLength(1000))), v.maxLength(20))),
  /** A digest of what else precedes each request: the model, its tools, the system prompt. */
  key: v.pipe(v.string(), v.regex(/^[0-9a-f]{1,64}$/)),
})
export type Opening = v.InferOutput<typeof Opening>

export const Session = v.object({
  version: v.literal(1),
  /** The branch's own model; undefined: the default one. */
  model: v.exactOptional(Text),
  active_files: v.pipe(v.array(PathInFile), v.maxLength(MAX_ACTIVE_FILES)),
  /** Instruction files (see INSTRUCTIONS) that the user removed from the context. */
  left_out: v.exactOptional(v.array(PathInFile)),
  opening: v.exactOptional(Opening),
  messages: v.array(SessionEntry),
})
export type Session = v.InferOutput<typeof Session>

/** Blacks out secrets. Every text that enters a session goes through it first. */
export type Clean = (text: string) => string

export const newSession = (): Session => ({ version: 1, active_files: [], messages: [] })

/** The result of a tool call that was never run. */
export const NOT_RUN = 'This was not run: the turn ended before it. Call it again if it is still wanted.'

/** Deeper values occur in no tool's arguments, and a file that has them could not be read again. */
const MAX_ARGUMENT_DEPTH = 32

/** Gives a session with more entries at its end. */
export const withEntries = (session: Session, ...entries: SessionEntry[]): Session => ({
  ...session,
  messages: [...session.messages, ...entries],
})

/** Sets the model that this branch uses; undefined for the default one. */
export function withModel({ model: _, ...session }: Session, model: string | undefined): Session {
  return model === undefined ? session : { ...session, model }
}

/** Makes a file active: its content is sent from the next request on. @throws Failure where too many are active. */
export function withActive(session: Session, path: Path): Session {
  if (session.active_files.length >= MAX_ACTIVE_FILES && !session.active_files.includes(path))
    throw new Failure(
      '1,000 files are active already, and more can not be: take some of them out of the context first.',
    )
  const { left_out = [], ...rest } = session
  const out = left_out.filter(it => it !== path)
  const active_files = session.active_files.includes(path) ? session.active_files : [...session.active_files, path]
  return { ...rest, active_files, ...(out.length > 0 && { left_out: out }) }
}

/** Makes a file inactive. Instruction files, which are added by themselves, stay out from then on. */
export function withInactive(session: Session, path: Path): Session {
  const { left_out = [] } = session
  const out = isInstructions(path) && !left_out.includes(path) ? [...left_out, path] : left_out
  const active_files = session.active_files.filter(it => it !== path)
  return { ...session, active_files, ...(out.length > 0 && { left_out: out }) }
}

/**
 * Names of instruction files, which are in the context from the start where they are in the root or above an active
 * file.
 */
export const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md', 'FORGE.md']

export const isInstructions = (path: Path): boolean => INSTRUCTIONS.includes(path.slice(path.lastIndexOf('/') + 1))

/**
 * Removes the opening (the context sent before the conversation): the next request is built from scratch, with the
 * files as they are then.
 */
export function withoutOpening({ opening: _, ...session }: Session): Session {
  return session
}

/**
 * Appends the user's message. All entries have their keys in one order, so that a session that is read and written
 * again has the same bytes.
 */
export function withUser(session: Session, said: { turn: string; at: number; text: string }, clean: Clean): Session {
  const { turn, at, text } = said
  return withEntries(session, { kind: 'user', turn, at, text: cleanText(text, clean) })
}

/**
 * Appends a model's answer without secrets. Its calls are run from the original answer, as they may be blacked out
 * here. Reasoning with a secret in it is left out, since its provider takes it back unchanged or not at all.
 */
export function withAnswer(
  session: Session,
  { turn, model, answer }: { turn: string; model: string; answer: Pick<ModelAnswer, 'blocks' | 'usage'> },
  clean: Clean,
): Session {
  const blocks = answer.blocks.flatMap(block => cleanBlock(block, clean))
  return withEntries(session, { kind: 'answer', turn, model, blocks, usage: addUsage(NO_USAGE, answer.usage) })
}

type Block = EntryOf<'answer'>['blocks'][number]

function cleanBlock(block: ModelAnswer['blocks'][number], clean: Clean): Block[] {
  if (block.type === 'text') return [{ type: 'text', text: cleanText(block.text, clean) }]
  const { provider: sent } = block
  const provider = cleanValue(sent, clean)
  const isAsSent = Bun.deepEquals(provider, sent)
  const kept = isAsSent && provider !== undefined ? { provider } : {}
  if (block.type === 'reasoning') {
    const text = cleanText(block.text, clean)
    return isAsSent && text === block.text ? [{ type: 'reasoning', text, ...kept }] : []
  }
  const { id, name } = block
  return [
    {
      type: 'call',
      id: cleanText(id, clean),
      name: cleanText(name, clean),
      arguments: cleanValue(block.arguments, clean) ?? {},
      ...kept,
    },
  ]
}

/** Appends a tool's result. */
export function withResult(session: Session, result: Omit<EntryOf<'result'>, 'kind'>, clean: Clean): Session {
  const { turn, id, name, isError, seconds } = result
  const [text, words] = [cleanText(result.text, clean), cleanText(result.words, clean)]
  const names = { id: cleanText(id, clean), name: cleanText(name, clean) }
  return withEntries(session, { kind: 'result', turn, ...names, text, isError, words, seconds })
}

/** Appends the result of checks at the end of a turn. */
export function withChecks(session: Session, checks: Omit<EntryOf<'checks'>, 'kind'>, clean: Clean): Session {
  const { turn, isGood, isAgain, seconds } = checks
  const [text, words] = [cleanText(checks.text, clean), cleanText(checks.words, clean)]
  return withEntries(session, { kind: 'checks', turn, isGood, isAgain, text, words, seconds })
}

/**
 * Adds a result "not run" for each call of the last answer that has none, as providers refuse a request without them.
 */
export function withMissingResults(session: Session, text: string = NOT_RUN): Session {
  const at = session.messages.findLastIndex(({ kind }) => kind === 'answer' || kind === 'user' || kind === 'end')
  const answer = session.messages[at]
  if (answer?.kind !== 'answer') return session
  const done = new Set(session.messages.slice(at).map(entry => (entry.kind === 'result' ? entry.id : undefined)))
  const missing = answer.blocks.flatMap((block): SessionEntry[] => {
    if (block.type !== 'call' || done.has(block.id)) return []
    const { id, name } = block
    return [{ kind: 'result', turn: answer.turn, id, name, text, isError: true, words: 'not run', seconds: 0 }]
  })
  return missing.length === 0 ? session : withEntries(session, ...missing)
}

/** Appends the entry that ends a turn, after adding a result for each tool call that has none. */
export function withEnd(session: Session, end: Omit<EntryOf<'end'>, 'kind'>, clean: Clean): Session {
  const { turn, at, how, words, message, model, usage, seconds } = end
  return withEntries(withMissingResults(session), {
    kind: 'end',
    turn,
    at,
    how,
    ...(words !== undefined && { words: cleanText(words, clean) }),
    ...(message !== undefined && { message: cleanText(message, clean) }),
    model,
    usage: addUsage(NO_USAGE, usage),
    seconds,
  })
}

const cleanText = (text: string, clean: Clean): string => clean(text.toWellFormed()).toWellFormed()

/** A JSON value with secrets in its texts blacked out. */
function cleanValue(value: unknown, clean: Clean, depth = 0): unknown {
  if (typeof value === 'string') return cleanText(value, clean)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value === null || typeof value === 'boolean') return value
  if (typeof value !== 'object') return undefined
  if (depth === MAX_ARGUMENT_DEPTH) return '(deeper than anything that is kept)'
  if (Array.isArray(value)) return value.map(it => cleanValue(it, clean, depth + 1) ?? null)
  const kept = Object.entries(value).flatMap(([name, it]) => {
    const part = cleanValue(it, clean, depth + 1)
    return part === undefined ? [] : [[cleanText(name, clean), part]]
  })
  return Object.fromEntries(kept)
}

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** The sum of two usages; it has a cost where one of them has. */
export function addUsage(one: Usage, other: Usage): Usage {
  const cost = one.cost === undefined && other.cost === undefined ? undefined : (one.cost ?? 0) + (other.cost ?? 0)
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    ...(cost !== undefined && { cost }),
  }
}

/** A turn's usage: from its end entry, or, before it has ended, the sum of its answers so far. */
export function usageOfTurn(session: Session, turn: string): Usage {
  const entries = session.messages.filter(entry => 'turn' in entry && entry.turn === turn)
  const ends = entries.filter(entry => entry.kind === 'end')
  const counted = ends.length > 0 ? ends : entries
  return counted.reduce((sum, entry) => ('usage' in entry ? addUsage(sum, entry.usage) : sum), NO_USAGE)
}

/** The usage of the whole conversation. */
export function usageOf(session: Session): Usage {
  const ended = new Set(session.messages.map(entry => (entry.kind === 'end' ? entry.turn : undefined)))
  const counted = session.messages.filter(entry => entry.kind === 'end' || ('usage' in entry && !ended.has(entry.turn)))
  return counted.reduce((sum, entry) => ('usage' in entry ? addUsage(sum, entry.usage) : sum), NO_USAGE)
}

/** The current turn, or the last one; undefined before the first one. */
export function lastTurn(session: Session): { turn: string; isEnded: boolean } | undefined {
  const last = session.messages.findLast(entry => 'turn' in entry)
  return last && 'turn' in last ? { turn: last.turn, isEnded: last.kind === 'end' } : undefined
}

/** The time of the last request or answer, as far as the session tells; undefined where there was none. */
export function lastHeard(session: Session): number | undefined {
  const last = session.messages.findLast(entry => 'at' in entry)
  const times = [session.opening?.at, last && 'at' in last ? last.at : undefined].filter(it => it !== undefined)
  return times.length === 0 ? undefined : Math.max(...times)
}
