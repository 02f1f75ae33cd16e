/** The conversation with the AI in a branch or a commit. All text of a model is hostile. */
import * as v from 'valibot'
import { Reversed } from './branches.ts'
import { Nothing, question, repeatable } from './question.ts'
import { At, Branch, Count, Oid, Path, Paths } from './values.ts'

/** Tokens; `input` includes cached ones. `cost`: in US dollars, if the provider has prices. */
export const TurnUsage = v.object({
  input: Count,
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  cost: v.optional(v.number()),
})
export type TurnUsage = v.InferOutput<typeof TurnUsage>

/** A tool call of a model. `title` and `words`: lines to show, about its input and its result. */
export const Call = v.object({
  id: v.string(),
  name: v.string(),
  title: v.string(),
  state: v.picklist(['coming', 'waits', 'runs', 'done', 'failed']),
  words: v.optional(v.string()),
  /** The result that the model received, shown when the row is opened. */
  result: v.optional(v.string()),
  seconds: v.optional(v.number()),
})
export type Call = v.InferOutput<typeof Call>

/** An entry of the conversation as the page shows it. */
export const Item = v.variant('kind', [
  v.object({ kind: v.literal('user'), turn: v.string(), at: v.number(), text: v.string() }),
  /** A part of the AI's answer, in Markdown. */
  v.object({ kind: v.literal('text'), turn: v.string(), text: v.string() }),
  v.object({ kind: v.literal('reasoning'), turn: v.string(), text: v.string() }),
  v.object({ kind: v.literal('call'), turn: v.string(), call: Call }),
  /** A file that entered the AI's context (`active`), was changed by others, or left the context (`inactive`). */
  v.object({ kind: v.literal('file'), path: Path, why: v.picklist(['active', 'changed', 'inactive']) }),
  /** The summary that is sent instead of everything before it. */
  v.object({ kind: v.literal('summary'), text: v.string() }),
  /** A remark, such as that a session is unreadable, or why the cache was missed. */
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
    /** The commit of the turn, if this branch contains it, and its changes without the session. */
    commit: v.optional(
      v.object({
        oid: Oid,
        subject: v.string(),
        files: v.array(
          v.object({
            path: Path,
            status: v.picklist(['added', 'changed', 'deleted', 'renamed']),
            added: v.optional(Count),
            deleted: v.optional(Count),
          }),
        ),
        /** Whether `undo turn` is possible now, and why not. */
        canUndo: v.boolean(),
        why: v.optional(v.string()),
      }),
    ),
  }),
])
export type Item = v.InferOutput<typeof Item>

/** A tool of the repository that needs approval before it runs. */
export const Approval = v.object({
  path: Path,
  /** The blob id of the tool's source, which the user approves. */
  oid: Oid,
  source: v.string(),
  /** The source of this tool that was approved before, to compare with. */
  before: v.optional(v.string()),
  /** The tool call that waits for the approval, if one does. */
  call: v.optional(v.string()),
})
export type Approval = v.InferOutput<typeof Approval>

export const Conversation = v.object({
  items: v.array(Item),
  /** The model of this branch. */
  model: v.optional(v.string()),
  /** The models that can be chosen. */
  models: v.array(v.string()),
  /** Why no model can be used: what to set, in one line. */
  missing: v.optional(v.string()),
  /** Set if `missing` is about a setting that is not valid, rather than about one to make. */
  areSettingsWrong: v.optional(v.literal(true)),
  /** The running or unfinished turn: `unfinished` waits for Keep or Discard. Its items are the last of `items`. */
  turn: v.optional(
    v.object({
      id: v.string(),
      state: v.picklist(['running', 'waits', 'unfinished']),
      /** The turn's current action, or why it ended, in words. */
      words: v.string(),
      since: v.number(),
      usage: TurnUsage,
      files: v.array(Path),
      /** Those of `files` that are the old paths of renamed files. */
      renamed: v.array(Path),
    }),
  ),
  approvals: v.array(Approval),
  /** The usage of all turns together, without that of `turn`. */
  usage: TurnUsage,
  /**
   * How full the model's context window is, in tokens, by the last request and what the next one adds, or an estimate;
   * `of`: its size. `isCut`: only the first part of the file is sent. `words`: set if the summaries of files are
   * incomplete.
   */
  context: v.object({
    used: Count,
    of: Count,
    files: v.array(v.object({ path: Path, tokens: Count, sent: v.picklist(['whole', 'part', 'nothing']) })),
    words: v.optional(v.string()),
  }),
  /** Whether commands may run in the container here, and why they can't. */
  commands: v.object({ isAllowed: v.boolean(), why: v.optional(v.string()) }),
  /** Whether to tell the user that the conversation is committed and published with the branch. */
  isPublicNew: v.boolean(),
})
export type Conversation = v.InferOutput<typeof Conversation>

/** The progress of a turn. A window that missed such news loads the conversation again. */
export const TurnNews = v.variant('is', [
  v.object({ is: v.literal('begun'), turn: v.string() }),
  v.object({ is: v.literal('text'), turn: v.string(), delta: v.string() }),
  v.object({ is: v.literal('reasoning'), turn: v.string(), delta: v.string() }),
  /** A tool call that is new or has changed. */
  v.object({ is: v.literal('call'), turn: v.string(), call: Call }),
  /** The current action, in a few words for the status bar, such as that a request is retried in 5 s. */
  v.object({ is: v.literal('doing'), turn: v.string(), words: v.string(), usage: TurnUsage }),
  /** The answer was cut off and is retried: its text is removed. */
  v.object({ is: v.literal('again'), turn: v.string(), words: v.string(), seconds: v.number() }),
  /** The turn ended, or waits for an answer: the conversation is to be loaded. */
  v.object({ is: v.literal('changed'), turn: v.string() }),
])
export type TurnNews = v.InferOutput<typeof TurnNews>

const Turn = v.object({ turn: v.string() })

export const chatQuestions = {
  conversation: repeatable({ at: At }, Conversation),
  /**
   * Begins a turn; its progress comes as news. Drafts must be saved before. Without `turn`, nothing was sent, since
   * another turn runs, as one that another window has begun at the same time.
   */
  send: question(
    { branch: Branch, text: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200_000)) },
    v.object({ turn: v.optional(v.string()) }),
  ),
  /** Ends the turn as soon as possible. */
  'stop turn': question({ branch: Branch }, Nothing),
  /** Keeps an unfinished turn (its files become drafts), or discards it. */
  'end turn': question({ branch: Branch, keep: v.boolean() }, Nothing),
  /** Undoes a committed turn. The reply is as that of `undo`; without `of`, a new commit has undone it. */
  'undo turn': question({ branch: Branch, turn: v.string() }, Reversed),
  'choose model': repeatable({ branch: Branch, model: v.string() }, Nothing),
  'set context': repeatable({ branch: Branch, path: Path, isWhole: v.boolean() }, Nothing),
  'approve tool': question({ branch: Branch, path: Path, oid: Oid, isApproved: v.boolean() }, Nothing),
  'allow commands': repeatable({ isAllowed: v.boolean() }, Nothing),
  /** The commands that the branch's FORGE.md lists as formatters. */
  formatters: repeatable({ branch: Branch }, v.array(v.string())),
  /**
   * Gives a file's text, with its draft, as the formatters that the branch's FORGE.md lists leave it. They run in the
   * container, if commands are allowed. Nothing is changed.
   */
  'format file': repeatable({ branch: Branch, path: Path }, v.object({ text: v.string() })),
  /**
   * Asks the AI to resolve the open conflicts of some files or all; `only`: the index of one open conflict in a file,
   * from 0.
   */
  'ask for conflicts': question({ branch: Branch, paths: Paths, only: v.optional(Count) }, Turn),
}
