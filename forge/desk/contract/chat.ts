/** The conversation with the AI in a branch, or as it was in a commit. Whatever a model wrote is hostile text. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { At, Branch, Count, Oid, Path, Paths, RefName } from './values.ts'

/** Tokens; `input` is all that was sent, `cost` in US dollars where the provider tells. */
export const TurnUsage = v.object({
  input: Count,
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  cost: v.optional(v.number()),
})
export type TurnUsage = v.InferOutput<typeof TurnUsage>

/** A tool that a model called. `title` and `words` are lines to show: what it is about, and what came of it. */
export const Call = v.object({
  id: v.string(),
  name: v.string(),
  title: v.string(),
  state: v.picklist(['coming', 'waits', 'runs', 'done', 'failed']),
  words: v.optional(v.string()),
  /** The result that the model got, shown when the row is opened. */
  result: v.optional(v.string()),
  seconds: v.optional(v.number()),
})
export type Call = v.InferOutput<typeof Call>

/** One thing in the conversation, in the order in which they stand. */
export const Item = v.variant('kind', [
  v.object({ kind: v.literal('user'), turn: v.string(), at: v.number(), text: v.string() }),
  /** Markdown. */
  v.object({ kind: v.literal('text'), turn: v.string(), text: v.string() }),
  v.object({ kind: v.literal('reasoning'), turn: v.string(), text: v.string() }),
  v.object({ kind: v.literal('call'), turn: v.string(), call: Call }),
  /** A file came into the context, changed from outside or left it. */
  v.object({ kind: v.literal('file'), path: Path, why: v.picklist(['active', 'changed', 'inactive']) }),
  /** Everything before it is sent as this summary. */
  v.object({ kind: v.literal('summary'), text: v.string() }),
  /** Something to know, such as that a session could not be read, or why the cache did not hold. */
  v.object({ kind: v.literal('note'), words: v.string(), isBad: v.boolean() }),
  v.object({
    kind: v.literal('end'),
    turn: v.string(),
    at: v.number(),
    how: v.picklist(['done', 'stopped', 'failed', 'limit']),
    words: v.optional(v.string()),
    model: v.string(),
    usage: TurnUsage,
    seconds: v.number(),
    /** The commit of the turn, where this branch has it, and what it changed but for the session. */
    commit: v.optional(
      v.object({
        oid: Oid,
        subject: v.string(),
        files: v.array(
          v.object({
            path: Path,
            status: v.picklist(['added', 'changed', 'deleted']),
            added: v.optional(Count),
            deleted: v.optional(Count),
          }),
        ),
        /** Whether `undo turn` would take it back now; why not, where it would not. */
        canUndo: v.boolean(),
        why: v.optional(v.string()),
      }),
    ),
  }),
])
export type Item = v.InferOutput<typeof Item>

/** A tool of the repository that must be looked at before it runs. */
export const Approval = v.object({
  path: Path,
  /** What is approved: this content and no other. */
  oid: Oid,
  source: v.string(),
  /** What was approved before, to be compared. */
  before: v.optional(v.string()),
  /** The call that waits for it, where one does. */
  call: v.optional(v.string()),
})
export type Approval = v.InferOutput<typeof Approval>

export const Conversation = v.object({
  items: v.array(Item),
  /** The model of this branch, and those that can be chosen. */
  model: v.optional(v.string()),
  models: v.array(v.string()),
  /** Why no model can be asked: what to set, in one line. */
  missing: v.optional(v.string()),
  /**
   * The turn that is under way or that did not end well: `unfinished` waits for Keep or Discard. Its items are the last
   * ones of `items`.
   */
  turn: v.optional(
    v.object({
      id: v.string(),
      state: v.picklist(['running', 'waits', 'unfinished']),
      /** What it is doing now, or why it ended, in words. */
      words: v.string(),
      since: v.number(),
      usage: TurnUsage,
      files: v.array(Path),
    }),
  ),
  approvals: v.array(Approval),
  /** All turns together. */
  usage: TurnUsage,
  /**
   * How full the model's window is, by the last request or an estimate; `of` in tokens. `words`: where the summaries of
   * the files are not complete.
   */
  context: v.object({
    used: Count,
    of: Count,
    files: v.array(v.object({ path: Path, tokens: Count })),
    words: v.optional(v.string()),
  }),
  /** Whether commands may run in the container here; why not, where they can not. */
  commands: v.object({ isAllowed: v.boolean(), why: v.optional(v.string()) }),
  /** The conversation is committed and goes wherever the branch goes: to be said once. */
  isPublicNew: v.boolean(),
})
export type Conversation = v.InferOutput<typeof Conversation>

/** The progress of a turn. A window that missed some asks for the conversation again. */
export const TurnNews = v.variant('is', [
  v.object({ is: v.literal('begun'), turn: v.string() }),
  v.object({ is: v.literal('text'), turn: v.string(), delta: v.string() }),
  v.object({ is: v.literal('reasoning'), turn: v.string(), delta: v.string() }),
  /** A call is new, or is in another state than it was. */
  v.object({ is: v.literal('call'), turn: v.string(), call: Call }),
  /** What it is doing, in a few words for the status bar, for example that a request is retried in 5 s. */
  v.object({ is: v.literal('doing'), turn: v.string(), words: v.string(), usage: TurnUsage }),
  /** What came of the answer that was cut is not part of the conversation: take its text away. */
  v.object({ is: v.literal('again'), turn: v.string(), words: v.string(), seconds: v.number() }),
  /** It ended, or waits for a person: ask for the conversation. */
  v.object({ is: v.literal('changed'), turn: v.string() }),
])
export type TurnNews = v.InferOutput<typeof TurnNews>

const Turn = v.object({ turn: v.string() })

export const chatQuestions = {
  conversation: repeatable({ at: At }, Conversation),
  /** A turn has begun; what becomes of it comes as news. Drafts have to be saved before. */
  send: question({ branch: Branch, text: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200_000)) }, Turn),
  /** The turn ends as soon as it can. */
  'stop turn': question({ branch: Branch }, Nothing),
  /** What a turn did that did not end well is kept (its files are drafts then) or discarded. */
  'end turn': question({ branch: Branch, keep: v.boolean() }, Nothing),
  /** What it did, and to which refs, as `undo`. */
  'undo turn': question({ branch: Branch, turn: v.string() }, v.object({ words: v.string(), refs: v.array(RefName) })),
  'choose model': repeatable({ branch: Branch, model: v.string() }, Nothing),
  'set context': repeatable({ branch: Branch, path: Path, isWhole: v.boolean() }, Nothing),
  'approve tool': question({ branch: Branch, path: Path, oid: Oid, isApproved: v.boolean() }, Nothing),
  'allow commands': repeatable({ isAllowed: v.boolean() }, Nothing),
  /**
   * The AI is asked to settle the open conflicts of some files, or of all; `only`: of one file the open conflict of
   * this index, from 0.
   */
  'ask for conflicts': question({ branch: Branch, paths: Paths, only: v.optional(Count) }, Turn),
}
