/**
 * What the desk's server and its page say to each other, over one WebSocket: JSON, parsed on both sides by what stands
 * here. The page asks and gets one reply; the server says by itself what has become different.
 *
 * Names of files, branches and refs are byte strings, one character per byte (latin1), so that any name survives; the
 * page decodes them for the eye alone. Object ids are 40 or 64 hex digits. Times are seconds since 1970.
 */
import * as v from 'valibot'
import { TurnNews } from './chat/conversation.ts'
import { BranchStep, GraphFilter, Step } from './graph/repository-view.ts'
import { TasksLook, TasksWord } from './tasks/tasks-questions.ts'

const Oid = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))
const Branch = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1024))
const Count = v.pipe(v.number(), v.integer(), v.minValue(0))

/**
 * Where something is looked at: a branch as it is being worked on, drafts included, or a commit, which never changes.
 */
export const At = v.variant('kind', [
  v.object({ kind: v.literal('branch'), branch: Branch }),
  v.object({ kind: v.literal('commit'), commit: Oid }),
])
export type At = v.InferOutput<typeof At>

export const Person = v.object({ name: v.string(), email: v.string() })

/** Where somebody else has moved a branch while there were drafts in it, by how many commits, and whose. */
export const Moved = v.object({ from: Oid, to: Oid, commits: Count, by: v.array(v.string()) })
export type Moved = v.InferOutput<typeof Moved>

/** A local branch. `session`: an AI has a conversation in it. */
export const BranchInfo = v.object({
  name: Branch,
  tip: Oid,
  committed: v.number(),
  subject: v.string(),
  session: v.boolean(),
  /** The branch that it follows, and how many commits each has that the other lacks. */
  upstream: v.optional(v.object({ name: v.string(), ahead: Count, behind: Count })),
  /** The folder of the work tree in which it is checked out. */
  checkout: v.optional(v.string()),
  /** Files with text that is not saved yet. */
  drafts: v.array(Path),
  /** An AI is at work in it, waits for the person, or has ended badly. */
  turn: v.optional(v.picklist(['running', 'waits', 'unfinished'])),
  /** A merge, rebase or cherry-pick waits in it for a person. */
  merging: v.optional(v.picklist(['merge', 'rebase', 'cherry-pick'])),
  moved: v.optional(Moved),
  /** What an undo and a redo in this branch would take back and do again. */
  canUndo: v.optional(v.string()),
  canRedo: v.optional(v.string()),
})
export type BranchInfo = v.InferOutput<typeof BranchInfo>

/** What stands in one folder, folders first, then by name. */
export const FolderEntry = v.object({
  name: v.string(),
  mode: v.string(),
  draft: v.boolean(),
  /** How an AI knows a file: by its summary, whole, or not at all. */
  context: v.optional(v.picklist(['none', 'summary', 'whole'])),
})
export type FolderEntry = v.InferOutput<typeof FolderEntry>

/** What is shown for a file. Only `text` without `readOnly` can be edited. */
export const File = v.variant('kind', [
  v.object({
    kind: v.literal('text'),
    /** With \n between lines. In a file of mixed line ends the \r are characters of the text. */
    text: v.string(),
    /** How many edits led to this text since the server has it: the first one is 0. */
    version: Count,
    /** The same file in the branch's last commit; undefined where it is new. */
    saved: v.optional(v.string()),
    lineEnd: v.picklist(['LF', 'CRLF', 'mixed']),
    bom: v.boolean(),
    mode: v.string(),
    /** Why it can't be edited, as a sentence. */
    readOnly: v.optional(v.string()),
  }),
  v.object({ kind: v.literal('image'), mode: v.string(), size: Count, type: v.string(), oid: Oid }),
  /**
   * Bytes that are no UTF-8, a file that is too large, a link, a submodule, a pointer of Git LFS: said in a sentence.
   */
  v.object({ kind: v.literal('other'), mode: v.string(), size: Count, what: v.string() }),
  v.object({ kind: v.literal('nothing') }),
])
export type File = v.InferOutput<typeof File>

/** An edit as @codemirror/collab has it: who made it, and a ChangeSet as JSON. */
export const Edit = v.object({ client: v.string(), changes: v.unknown() })
export type Edit = v.InferOutput<typeof Edit>

export const Change = v.object({
  path: Path,
  /** Where a renamed file was. */
  from: v.optional(Path),
  status: v.picklist(['added', 'changed', 'deleted', 'renamed', 'mode']),
  /** What is there before and after; undefined for nothing. */
  before: v.optional(v.object({ mode: v.string(), oid: Oid })),
  after: v.optional(v.object({ mode: v.string(), oid: Oid })),
  /** Lines; undefined where the file is binary or too large. */
  added: v.optional(Count),
  deleted: v.optional(Count),
})
export type Change = v.InferOutput<typeof Change>

export const CommitRow = v.object({
  oid: Oid,
  parents: v.array(Oid),
  subject: v.string(),
  author: Person,
  committed: v.number(),
  /** The model that made it, where an AI did. */
  model: v.optional(v.string()),
})
export type CommitRow = v.InferOutput<typeof CommitRow>

export const Match = v.object({ path: Path, line: Count, text: v.string(), ranges: v.array(v.tuple([Count, Count])) })
export type Match = v.InferOutput<typeof Match>

/** What the desk did to refs, and what it would take back. */
export const Operation = v.object({
  id: Oid,
  kind: v.string(),
  /** What it did, in a few words: save lease.ts to main. */
  words: v.string(),
  time: v.number(),
  refs: v.array(v.object({ ref: v.string(), before: v.optional(Oid), after: v.optional(Oid) })),
  /** The operation that it undid or did again. */
  of: v.optional(Oid),
})
export type Operation = v.InferOutput<typeof Operation>

/**
 * What a window shows: it is there again after a restart. The server keeps it and does not look inside the positions.
 */
export const Layout = v.object({
  tabs: v.array(
    v.object({
      at: At,
      files: v.array(v.object({ path: Path, top: Count, cursor: Count })),
      active: v.optional(Path),
      folders: v.array(v.string()),
    }),
  ),
  active: Count,
})
export type Layout = v.InferOutput<typeof Layout>

/** One side of a clash: its text, or what it is instead, in a sentence: deleted, or an image, or no UTF-8. */
export const Side = v.union([v.string(), v.object({ what: v.string() })])
export type Side = v.InferOutput<typeof Side>

/**
 * Drafts that can't be merged onto a tip that moved: for each file the three sides, until the person has chosen.
 * `choice` is another one where one of the sides is.
 */
export const Clash = v.object({ path: Path, base: Side, draft: Side, tip: Side, choice: v.optional(v.string()) })
export type Clash = v.InferOutput<typeof Clash>

/** All of the desk but the contents of files. */
export const Desk = v.object({
  /** The repository's name, and its folder. */
  name: v.string(),
  folder: v.string(),
  isBare: v.boolean(),
  isEmpty: v.boolean(),
  /** Where HEAD is, if on a branch: the default for reviews. */
  head: v.optional(Branch),
  /** Whose name commits bear; undefined where git knows none, and what to do then is said when something is saved. */
  identity: v.optional(Person),
  branches: v.array(BranchInfo),
  canUndo: v.optional(v.string()),
  canRedo: v.optional(v.string()),
  /** The hooks of this repository, which the desk does not run. */
  hooks: v.array(v.string()),
})
export type Desk = v.InferOutput<typeof Desk>

const ask = <const Kind extends string, const Fields extends v.ObjectEntries>(kind: Kind, fields: Fields) =>
  v.object({ id: Count, ask: v.literal(kind), ...fields })

/** What the page asks. The comments say what the reply's `value` is. */
export const Question = v.variant('ask', [
  /** { desk: Desk, layout: Layout | undefined } */
  ask('desk', {}),
  /** boolean: whether anything was said to all windows since a page was made, see {@link PageBeginning} */
  ask('has missed', { said: Count }),
  /** nothing */
  ask('keep layout', { layout: Layout }),
  /** FolderEntry[]; `path` is '' for the top */
  ask('folder', { at: At, path: v.pipe(v.string(), v.maxLength(4096)) }),
  /** { path, ranges: [from, to][] }[], the best first, by name */
  ask('find file', { at: At, words: v.pipe(v.string(), v.maxLength(400)), count: Count }),
  /** File; the server says `edited` from then on */
  ask('open', { at: At, path: Path }),
  /** nothing: no more is said of it */
  ask('close', { at: At, path: Path }),
  /** { accepted: boolean }: false where others were faster, whose edits come by themselves */
  ask('edit', { branch: Branch, path: Path, version: Count, edits: v.array(Edit) }),
  /** { commit: Oid | undefined }: undefined where nothing was different */
  ask('save', { branch: Branch, paths: v.union([v.array(Path), v.literal('all')]), message: v.optional(v.string()) }),
  /**
   * { commit: Oid }: where a checkout could not follow, the new branch `to` gets the saved commits and the drafts, and
   * the branch goes back to where the checkout is
   */
  ask('save elsewhere', { branch: Branch, to: Branch }),
  /** nothing: the new branch `to` gets the drafts, at the commit `from` where the branch was before it moved */
  ask('drafts elsewhere', { branch: Branch, from: Oid, to: Branch }),
  /** nothing: drafts are let go; the operation can be undone */
  ask('discard', { branch: Branch, paths: v.array(Path) }),
  /** { message: string }: what a save would be called */
  ask('message', { branch: Branch, paths: v.union([v.array(Path), v.literal('all')]) }),
  /** { commit: Oid } each */
  ask('new file', { branch: Branch, path: Path }),
  ask('rename', { branch: Branch, from: Path, to: Path }),
  ask('delete', { branch: Branch, path: Path }),
  /** nothing */
  ask('new branch', { branch: Branch, from: v.union([Oid, v.null()]) }),
  ask('rename branch', { branch: Branch, to: Branch }),
  ask('delete branch', { branch: Branch }),
  /** { branch: Branch }: what a branch that is not there is called now, if it was renamed; else the same name */
  ask('name now', { branch: Branch }),
  /** nothing: the branch is made again where it was when it vanished */
  ask('restore branch', { branch: Branch }),
  /**
   * Change[]: what differs from a commit, or from another branch since the two parted; without `from`, from the parent
   * of a commit, or what is not saved in a branch
   */
  ask('changes', { from: v.optional(At), to: At }),
  /**
   * { text: string | undefined, encoding?: string }: undefined where it is no text; the encoding where it is guessed
   */
  ask('blob', { oid: Oid }),
  /** { rows: CommitRow[], total: number | undefined }; `beyond`: only commits that this other branch has not */
  ask('history', {
    at: At,
    path: v.optional(Path),
    beyond: v.optional(Branch),
    from: Count,
    count: v.pipe(Count, v.maxValue(500)),
  }),
  /** { row: CommitRow, message: string, changes: Change[] } */
  ask('commit', { commit: v.pipe(v.string(), v.maxLength(64)) }),
  /** { search: number }: matches come by themselves */
  ask('find text', { at: At, words: v.string(), isRegex: v.boolean(), matchCase: v.boolean() }),
  ask('stop finding', { search: Count }),
  /** Operation[], the newest first */
  ask('operations', { from: Count, count: Count }),
  /** { words: string, refs: string[] }; of the last operation, or of the last one about a branch */
  ask('undo', { operation: v.optional(Oid), branch: v.optional(Branch) }),
  ask('redo', { branch: v.optional(Branch) }),
  /** Clash[] */
  ask('clashes', { branch: Branch }),
  /** nothing: a file that clashes is to have this text, or what one side has */
  ask('settle', { branch: Branch, path: Path, text: v.string(), choice: v.optional(v.string()) }),
  /** Conversation, of conversation.ts; that of a commit is as it was */
  ask('conversation', { at: At }),
  /** { turn: string }: a turn has begun; what becomes of it comes by itself. Drafts have to be saved before. */
  ask('send', { branch: Branch, text: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200_000)) }),
  /** nothing: the turn ends as soon as it can */
  ask('stop turn', { branch: Branch }),
  /** nothing: what a turn did that did not end well is kept (its files are drafts then) or let go */
  ask('end turn', { branch: Branch, keep: v.boolean() }),
  /** { words: string, refs: string[] }, as `undo` */
  ask('undo turn', { branch: Branch, turn: v.string() }),
  /** nothing */
  ask('choose model', { branch: Branch, model: v.string() }),
  ask('set context', { branch: Branch, path: Path, isWhole: v.boolean() }),
  ask('approve tool', { branch: Branch, path: Path, oid: Oid, isApproved: v.boolean() }),
  ask('allow commands', { isAllowed: v.boolean() }),
  /** GraphWindow, of repository-view.ts */
  ask('graph', { filter: GraphFilter, from: Count, count: v.pipe(Count, v.maxValue(500)) }),
  /** { row: number | undefined }: where a commit or a ref stands in the graph */
  ask('graph place', { filter: GraphFilter, name: v.pipe(v.string(), v.maxLength(1100)) }),
  /** { rows: { row: number, oid: string }[], isCut: boolean }: commits by words in message, author or hash */
  ask('find commits', { filter: GraphFilter, words: v.pipe(v.string(), v.nonEmpty(), v.maxLength(400)) }),
  /** Refs */
  ask('refs', {}),
  /** Outlook[], one for each step: how it would come out */
  ask('outlooks', { steps: v.pipe(v.array(BranchStep), v.maxLength(64)) }),
  /** Preview */
  ask('preview', { step: Step }),
  /**
   * Done; `before` is the target's commit as it was previewed, and `there` that of the remote's branch (null for none):
   * where one of them has moved since, nothing is done. A forced push is not done without `there`.
   */
  ask('do', { step: Step, before: v.optional(Oid), there: v.optional(v.nullable(Oid)) }),
  /** nothing: what is under way (a fetch, pull or push, a step of many commits or its preview) is ended */
  ask('stop step', {}),
  /** nothing: nobody waits for the preview any more that this window has asked for last; the next one ends it, too */
  ask('stop preview', {}),
  /** Merging | null */
  ask('merging', { branch: Branch }),
  /** ConflictFile */
  ask('conflict', { branch: Branch, path: Path }),
  /** nothing: the whole file becomes that of one side; text is settled in the editor */
  ask('take side', { branch: Branch, path: Path, side: v.picklist(['ours', 'theirs', 'base', 'both']) }),
  /**
   * { turn: string }: the AI is asked to settle what is left in some files, or in all; `only`: of one file nothing but
   * this one of the conflicts that are left, the first is 0
   */
  ask('ask for conflicts', {
    branch: Branch,
    paths: v.union([v.array(Path), v.literal('all')]),
    only: v.optional(Count),
  }),
  /** Done */
  ask('finish merging', { branch: Branch, message: v.optional(v.string()) }),
  ask('abort merging', { branch: Branch }),
  /** Forklift, of repository-view.ts */
  ask('forklift', {}),
  /** nothing: what it says comes by itself */
  ask('run forklift', {}),
  ask('stop forklift', {}),
  /** { branch: string } */
  ask('open run', { run: v.pipe(v.string(), v.maxLength(400)) }),
  /** nothing: `forklift --publish BRANCH` is started, and what it says comes by itself */
  ask('publish', { branch: Branch }),
  /** As tasks-view.ts has it for what is looked at */
  ask('look at tasks', { look: TasksLook }),
  /** { words: string[] }: what `forge` said to it */
  ask('tell tasks', { word: TasksWord }),
  ask('settle by side', {
    branch: Branch,
    path: Path,
    side: v.picklist(['draft', 'tip']),
    choice: v.optional(v.string()),
  }),
])
export type Question = v.InferOutput<typeof Question>

/** The answer to a question, or why there is none: what happened, what is kept, what to do. */
export const Reply = v.union([v.object({ re: Count, value: v.unknown() }), v.object({ re: Count, error: v.string() })])
export type Reply = v.InferOutput<typeof Reply>

/**
 * What comes with a page: the answers to its first questions, and how much had been said to all windows before: what is
 * said later it may have missed, until it is one of them itself.
 */
export const PageBeginning = v.object({ said: Count, replies: v.array(Reply) })
export type PageBeginning = v.InferOutput<typeof PageBeginning>

const say = <const Kind extends string, const Fields extends v.ObjectEntries>(kind: Kind, fields: Fields) =>
  v.object({ say: v.literal(kind), ...fields })

/** What the server says by itself. */
export const News = v.variant('say', [
  say('desk', { desk: Desk }),
  /**
   * A branch has another tip or other drafts (`isOfDrafts`: only these): what is shown of it is to be asked for again,
   * but for files that are open, of which the server says by itself what becomes of them.
   */
  say('branch', { branch: Branch, isOfDrafts: v.optional(v.boolean()) }),
  /** A branch has another name: whoever shows it goes on under that. */
  say('renamed', { branch: Branch, to: Branch }),
  /** Edits of an open file, the first of which leads to `version` + 1. The window's own come back, too. */
  say('edited', { branch: Branch, path: Path, version: Count, edits: v.array(Edit) }),
  /** An open file has another text altogether: saved elsewhere, merged, undone, discarded. */
  say('replaced', { branch: Branch, path: Path, file: File }),
  /** `drafts`: those that are left in the branch. */
  say('saved', { branch: Branch, commit: Oid, drafts: v.array(Path) }),
  /** A checkout of the branch could not follow: why, and in which folder. */
  say('checkout left behind', { branch: Branch, folder: v.string(), why: v.string() }),
  /**
   * The drafts that have to be settled by the person, all that are left: none, where another window has done it. Also
   * said where one of them is about other texts than before.
   */
  say('clashes', { branch: Branch, paths: v.array(Path) }),
  say('found', { search: Count, matches: v.array(Match), isDone: v.boolean(), isCut: v.boolean() }),
  /** What an AI does in a branch. */
  say('turn', { branch: Branch, news: TurnNews }),
  /** What git says of a fetch or push that is under way; without words, it has ended. */
  say('progress', { words: v.optional(v.string()) }),
  /** A line that Forklift printed, and how it ended. */
  say('forklift', { line: v.optional(v.string()), end: v.optional(Count) }),
  /** Refs, the graph or the runs of Forklift are not what they were. */
  say('repository', {}),
  /**
   * What was to be done in a branch waits for a commit that a person has to sign; without words, nothing does any more.
   */
  say('waiting', { branch: Branch, words: v.optional(v.string()) }),
  /**
   * Something that a person should know, once: drafts can't be written, for example. What is said of a topic later takes
   * the place of what was said before.
   */
  say('notice', { words: v.string(), isBad: v.boolean(), topic: v.optional(v.string()) }),
])
export type News = v.InferOutput<typeof News>
