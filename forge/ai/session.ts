/**
 * A conversation as it is committed with its code: `.forge/session.json` in the branch's tree. Everything that led to a
 * request is in it, so that the next request begins with the same bytes, also after a restart.
 */
import * as v from 'valibot'

/** Where it stands in a tree. */
export const SESSION = '.forge/session.json'

const Count = v.pipe(v.number(), v.integer(), v.minValue(0))
const Oid = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
/** Bytes as characters, as everywhere; see core/git. */
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))
const TurnId = v.pipe(v.string(), v.regex(/^[0-9a-z-]{1,64}$/))

const Usage = v.object({
  input: Count,
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  cost: v.optional(v.number()),
})

/** In the order in which it happened. */
export const Entry = v.variant('kind', [
  v.object({ kind: v.literal('user'), turn: TurnId, at: v.number(), text: v.string() }),
  /** What a model answered to one request. */
  v.object({
    kind: v.literal('answer'),
    turn: TurnId,
    model: v.string(),
    blocks: v.array(
      v.variant('type', [
        v.object({ type: v.literal('text'), text: v.string() }),
        v.object({ type: v.literal('reasoning'), text: v.string(), provider: v.optional(v.unknown()) }),
        v.object({
          type: v.literal('call'),
          id: v.string(),
          name: v.string(),
          arguments: v.unknown(),
          provider: v.optional(v.unknown()),
        }),
      ]),
    ),
    usage: Usage,
  }),
  /** What a tool said; `words` and `seconds` are for the eye. */
  v.object({
    kind: v.literal('result'),
    turn: TurnId,
    id: v.string(),
    name: v.string(),
    text: v.string(),
    isError: v.boolean(),
    words: v.string(),
    seconds: v.number(),
  }),
  /** A file's whole content, as it was from here on; without an oid, it is gone. */
  v.object({
    kind: v.literal('file'),
    path: Path,
    oid: v.nullable(Oid),
    why: v.picklist(['active', 'changed', 'inactive']),
  }),
  /** The model's summary of everything before it, which is not sent any more. */
  v.object({ kind: v.literal('summary'), turn: TurnId, text: v.string(), usage: Usage }),
  /**
   * The end of a turn. `message` is that of its commit, which bears the turn's id in a trailer.
   */
  v.object({
    kind: v.literal('end'),
    turn: TurnId,
    at: v.number(),
    how: v.picklist(['done', 'stopped', 'failed', 'limit']),
    /** Why, as a sentence, where it was not done. */
    words: v.optional(v.string()),
    message: v.optional(v.string()),
    model: v.string(),
    /** All requests of the turn together. */
    usage: Usage,
    seconds: v.number(),
  }),
])
export type Entry = v.InferOutput<typeof Entry>

/**
 * What stands before the conversation in each request for as long as the provider's cache is warm: the summaries of the
 * files of this tree, and these files whole.
 */
export const Opening = v.object({
  tree: Oid,
  files: v.array(v.object({ path: Path, oid: Oid })),
  /** When it was made, and the entry that the requests go on with. */
  at: v.number(),
  from: Count,
})
export type Opening = v.InferOutput<typeof Opening>

export const Session = v.object({
  version: v.literal(1),
  /** The model that the branch has chosen; else the default one. */
  model: v.optional(v.string()),
  active_files: v.array(Path),
  opening: v.optional(Opening),
  messages: v.array(Entry),
})
export type Session = v.InferOutput<typeof Session>
