/**
 * A conversation as it is committed with its code: `.forge/session.json` in the branch's tree. Everything that led to a
 * request is in it, so that the next request begins with the same bytes, also after a restart. Nothing here changes a
 * session: each function gives a new one. How it stands in the file is in session-file.ts.
 */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import type { Path } from '../../core/git/repository.ts'
import type { ModelAnswer, Usage } from './request.ts'

/** Where it stands in a tree. */
export const SESSION = '.forge/session.json'

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const Finite = v.pipe(v.number(), v.finite())
/** Half a character would make a request that a server refuses. */
const Text = v.pipe(
  v.string(),
  v.transform(text => text.toWellFormed()),
)
const Oid = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
/** In memory, bytes as characters, as everywhere. In the file, text; an object where the bytes are no UTF-8. */
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
  /** In US dollars; the bound keeps a hostile file from making sums infinite. */
  cost: v.exactOptional(v.pipe(v.number(), v.minValue(0), v.maxValue(1e9))),
})

/** The most files that a person or a model can make active; files of instructions do not count. */
export const MAX_ACTIVE_FILES = 1000

/** In the order in which it happened. */
export const SessionEntry = v.variant('kind', [
  v.object({ kind: v.literal('user'), turn: TurnId, at: Finite, text: Text }),
  /** What a model answered to one request. */
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
  /** What a tool said; `words` and `seconds` are for the eye. */
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
   * A file's whole content, as it was from here on; without an oid, it is gone. `edited`: the model's own tools have
   * left it so, and nothing is sent, since their results have said it.
   */
  v.object({
    kind: v.literal('file'),
    path: PathInFile,
    oid: v.nullable(Oid),
    why: v.picklist(['active', 'changed', 'inactive', 'edited']),
  }),
  /** The model's summary of everything before it, which is not sent any more. */
  v.object({ kind: v.literal('summary'), turn: TurnId, text: Text, usage: UsageInFile }),
  /**
   * What the checks of FORGE.md said when the model had nothing more to do; what failed is sent to it. `isAgain`: those
   * that had failed, after the model had seen that.
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
   * The end of a turn. `message` is that of its commit, as the model wrote it when it was asked: the next request has
   * the question and this answer in it. The commit bears the turn's id in a trailer.
   */
  v.object({
    kind: v.literal('end'),
    turn: TurnId,
    at: Finite,
    how: v.picklist(['done', 'stopped', 'failed', 'limit']),
    /** Why, as a sentence, where it was not done. */
    words: v.exactOptional(Text),
    message: v.exactOptional(Text),
    model: Text,
    /** All requests of the turn together. */
    usage: UsageInFile,
    seconds: Finite,
  }),
])
export type SessionEntry = v.InferOutput<typeof SessionEntry>
export type EntryOf<Kind extends SessionEntry['kind']> = Extract<SessionEntry, { kind: Kind }>

/**
 * What stands before the conversation in each request for as long as the provider's cache is warm: the summaries of the
 * files of this tree, and these files whole.
 */
export const Opening = v.object({
  tree: Oid,
  files: v.pipe(v.array(v.object({ path: PathInFile, oid: Oid })), v.maxLength(2 * MAX_ACTIVE_FILES)),
  /** When it was made, and the entry that the requests go on with: what files were before is in here. */
  at: Finite,
  from: Count,
  /** For how long the provider is asked to keep it. */
  ttl: v.picklist(['5m', '1h']),
  /** The branch that it was made for: another one has forked from it. */
  branch: v.pipe(Text, v.maxLength(4096)),
  /** Where names of the message that it was made for are defined, by the line from 1. */
  names: v.exactOptional(v.pipe(v.array(v.object({ name: Text, path: PathInFile, line: Count })), v.maxLength(100))),
  /** Files that are called by words of that message. */
  near: v.exactOptional(v.pipe(v.array(PathInFile), v.maxLength(100))),
  /** The subjects of the branch's last commits, the newest first: how commits are written here. */
  subjects: v.exactOptional(v.pipe(v.array(v.pipe(Text, v.maxLength(1000))), v.maxLength(20))),
  /** A digest of what else stands at the start of each request: the model, its tools, the system prompt. */
  key: v.pipe(v.string(), v.regex(/^[0-9a-f]{1,64}$/)),
})
export type Opening = v.InferOutput<typeof Opening>

export const Session = v.object({
  version: v.literal(1),
  /** The model that the branch has chosen; else the default one. */
  model: v.exactOptional(Text),
  active_files: v.pipe(v.array(PathInFile), v.maxLength(MAX_ACTIVE_FILES)),
  /** Files of instructions (see INSTRUCTIONS) that a person took out of the context. */
  left_out: v.exactOptional(v.array(PathInFile)),
  opening: v.exactOptional(Opening),
  messages: v.array(SessionEntry),
})
export type Session = v.InferOutput<typeof Session>

/** Blacks out what looks like a secret: whatever enters a session goes through it first. */
export type Clean = (text: string) => string

export const newSession = (): Session => ({ version: 1, active_files: [], messages: [] })

/** The result of a tool call that was never run. */
export const NOT_RUN = 'This was not run: the turn ended before it. Call it again if it is still wanted.'

/** Deeper values are in no tool's arguments, and a file that has them can't be read again. */
const MAX_ARGUMENT_DEPTH = 32

/** Adds entries at the end. */
export const withEntries = (session: Session, ...entries: SessionEntry[]): Session => ({
  ...session,
  messages: [...session.messages, ...entries],
})

/** The model that this branch asks from now on; undefined for the default one. */
export function withModel({ model: _, ...session }: Session, model: string | undefined): Session {
  return model === undefined ? session : { ...session, model }
}

/**
 * A person or the model wants a file whole in the context: it is sent from the next request on.
 * @throws Failure where too many are active already.
 */
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

/** The reverse. Files of instructions, which come in by themselves, stay out from then on. */
export function withInactive(session: Session, path: Path): Session {
  const { left_out = [] } = session
  const out = isInstructions(path) && !left_out.includes(path) ? [...left_out, path] : left_out
  const active_files = session.active_files.filter(it => it !== path)
  return { ...session, active_files, ...(out.length > 0 && { left_out: out }) }
}

/** Files that are in the context from the start, where they are in the root or above an active file. */
export const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md', 'FORGE.md']

const isInstructions = (path: Path): boolean => INSTRUCTIONS.includes(path.slice(path.lastIndexOf('/') + 1))

/** The next request is built from scratch, with all files as they are then. */
export function withoutOpening({ opening: _, ...session }: Session): Session {
  return session
}

/** What a person says. Keys stand in one order in all entries, so that a file that is read and written is the same. */
export function withUser(session: Session, said: { turn: string; at: number; text: string }, clean: Clean): Session {
  const { turn, at, text } = said
  return withEntries(session, { kind: 'user', turn, at, text: cleanText(text, clean) })
}

/**
 * What a model answered, without secrets. Its calls are run from the answer itself: here they may be blacked out. A
 * thought that would have to be changed is left out, since its provider takes it back as it was or not at all.
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

/** What a tool said to a call. */
export function withResult(session: Session, result: Omit<EntryOf<'result'>, 'kind'>, clean: Clean): Session {
  const { turn, id, name, isError, seconds } = result
  const [text, words] = [cleanText(result.text, clean), cleanText(result.words, clean)]
  const names = { id: cleanText(id, clean), name: cleanText(name, clean) }
  return withEntries(session, { kind: 'result', turn, ...names, text, isError, words, seconds })
}

/** What checks said at the end of a turn. */
export function withChecks(session: Session, checks: Omit<EntryOf<'checks'>, 'kind'>, clean: Clean): Session {
  const { turn, isGood, isAgain, seconds } = checks
  const [text, words] = [cleanText(checks.text, clean), cleanText(checks.words, clean)]
  return withEntries(session, { kind: 'checks', turn, isGood, isAgain, text, words, seconds })
}

/**
 * Gives each call of the last answer that has no result one which says that it was not run: what comes next may be sent
 * to no provider before.
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

/** The end of a turn: every call has its result before it. */
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

/** A value as it comes back from JSON, its texts without secrets. */
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

/** The sum of two; a cost where one of them has one. */
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

/** What a turn has cost: all that its end says, or, before it ended, its answers so far. */
export function usageOfTurn(session: Session, turn: string): Usage {
  const entries = session.messages.filter(entry => 'turn' in entry && entry.turn === turn)
  const ends = entries.filter(entry => entry.kind === 'end')
  const counted = ends.length > 0 ? ends : entries
  return counted.reduce((sum, entry) => ('usage' in entry ? addUsage(sum, entry.usage) : sum), NO_USAGE)
}

/** What the whole conversation has cost. */
export function usageOf(session: Session): Usage {
  const ended = new Set(session.messages.map(entry => (entry.kind === 'end' ? entry.turn : undefined)))
  const counted = session.messages.filter(entry => entry.kind === 'end' || ('usage' in entry && !ended.has(entry.turn)))
  return counted.reduce((sum, entry) => ('usage' in entry ? addUsage(sum, entry.usage) : sum), NO_USAGE)
}

/** The turn that the conversation is in, or was in last. */
export function lastTurn(session: Session): { turn: string; isEnded: boolean } | undefined {
  const last = session.messages.findLast(entry => 'turn' in entry)
  return last && 'turn' in last ? { turn: last.turn, isEnded: last.kind === 'end' } : undefined
}

/** When something was last sent or answered, by what the session knows; undefined where nothing was. */
export function lastHeard(session: Session): number | undefined {
  const last = session.messages.findLast(entry => 'at' in entry)
  const times = [session.opening?.at, last && 'at' in last ? last.at : undefined].filter(it => it !== undefined)
  return times.length === 0 ? undefined : Math.max(...times)
}
