/** What the page can ask to read branches and commits: folders, history, differences, and searches. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { At, Change, Count, Image, Oid, Path, Person } from './values.ts'

/** How drafts change a file or folder. A folder is `changed` if something in it is. */
export const DraftState = v.picklist(['added', 'changed', 'deleted', 'renamed'])
export type DraftState = v.InferOutput<typeof DraftState>

/** An entry of a folder. Folders come first, then by name. */
export const FolderEntry = v.object({
  name: v.string(),
  mode: v.string(),
  /** The unsaved change; undefined for none. What a draft deletes is listed, too. */
  draft: v.optional(DraftState),
  /** The old path of a renamed file or folder. */
  from: v.optional(Path),
  /** How an AI's context contains the file: not, by its summary, or whole. */
  context: v.optional(v.picklist(['none', 'summary', 'whole'])),
})
export type FolderEntry = v.InferOutput<typeof FolderEntry>

export const CommitRow = v.object({
  oid: Oid,
  parents: v.array(Oid),
  subject: v.string(),
  author: Person,
  committed: v.number(),
  /** When it was authored, if that is another time, as after a rebase. */
  authored: v.optional(v.number()),
  /** The model that made the commit or a part of it, if an AI did; several are separated by commas. */
  model: v.optional(v.string()),
  /** In the history of a file: its path in this commit, if that is another one. */
  path: v.optional(Path),
})
export type CommitRow = v.InferOutput<typeof CommitRow>

/**
 * A line of a file, from 1, in the whole text. `shownLine`: its number beside the text, where the file has open
 * conflicts: their markers and the other side are not counted.
 */
export const LinePlace = v.object({ path: Path, line: Count, shownLine: v.optional(Count) })
export type LinePlace = v.InferOutput<typeof LinePlace>

/** `isCut`: the text is only a part of a long line. */
export const Match = v.object({
  ...LinePlace.entries,
  text: v.string(),
  ranges: v.array(v.tuple([Count, Count])),
  isCut: v.optional(v.boolean()),
})
export type Match = v.InferOutput<typeof Match>

/**
 * A run of lines in a file, from line 1, that come from the same commit; `from`: the number of the first one there.
 */
const BlamedLines = v.object({ commit: Oid, line: Count, from: Count, count: Count })
export const BlamedCommit = v.object({
  oid: Oid,
  /** The file's path in the commit, if known. */
  path: v.optional(Path),
  /** The author's name. */
  name: v.string(),
  /** The model that made the commit, if it says so. */
  model: v.optional(v.string()),
  /** When the commit was authored, in seconds since 1970. */
  authored: v.number(),
  subject: v.string(),
  /** Whether a shallow clone ends at this commit: its lines may be of an earlier one. */
  isCut: v.boolean(),
  /** The previous commit that contains the file. */
  previous: v.optional(v.object({ oid: Oid, path: v.optional(Path) })),
})
export type BlamedCommit = v.InferOutput<typeof BlamedCommit>
export const Blame = v.object({ lines: v.array(BlamedLines), commits: v.array(BlamedCommit) })

const FileOfCommit = v.object({ commit: Oid, path: Path })
export type Blame = v.InferOutput<typeof Blame>

/** How a file is indented, by the .editorconfig files above it, in columns; undefined where they do not say. */
export const EditorConfig = v.object({
  indentStyle: v.optional(v.picklist(['tab', 'space'])),
  indentSize: v.optional(Count),
  tabWidth: v.optional(Count),
})
export type EditorConfig = v.InferOutput<typeof EditorConfig>

/** At most this many files and folders are asked for by path at once. */
export const MAX_ENTRIES = 1_000

export const readingQuestions = {
  /** The content of a file, to download it. Refused for a large one. */
  'file bytes': repeatable({ at: At, path: Path }, v.object({ base64: v.string() })),
  /** `path` is '' for the top. */
  folder: repeatable({ at: At, path: v.pipe(v.string(), v.maxLength(4096)) }, v.array(FolderEntry)),
  /** Some files and folders of a branch or a commit; those that do not exist are left out. */
  entries: repeatable(
    { at: At, paths: v.pipe(v.array(Path), v.maxLength(MAX_ENTRIES)) },
    v.array(v.object({ path: Path, ...FolderEntry.entries })),
  ),
  /** Finds files, best match first, each with the matched ranges of its path. */
  'find file': repeatable(
    { at: At, words: v.pipe(v.string(), v.maxLength(400)), count: Count },
    v.array(v.object({ path: Path, ranges: v.array(v.tuple([Count, Count])) })),
  ),
  /**
   * The differences of `to` from `from`. Without `from`: from a commit's parent, or the drafts of a branch. By default,
   * a branch `from` is compared at the merge base, a commit directly; `isFromMergeBase` overrides this.
   */
  changes: repeatable({ from: v.optional(At), to: At, isFromMergeBase: v.optional(v.boolean()) }, v.array(Change)),
  /** A blob. Without a text, `what` says why in a few words; `encoding` is set if it was guessed. */
  blob: repeatable(
    { oid: Oid },
    v.object({
      text: v.optional(v.string()),
      what: v.optional(v.string()),
      encoding: v.optional(v.string()),
      image: v.optional(Image),
    }),
  ),
  /**
   * `beyond`: only commits that this other branch or commit lacks. `words`: only commits with these words in their
   * message or author, or at the start of their hash. The total is undefined if unknown. `isCut`: there may be older
   * commits with the words.
   */
  history: repeatable(
    {
      at: At,
      path: v.optional(Path),
      beyond: v.optional(At),
      words: v.optional(v.pipe(v.string(), v.maxLength(400))),
      from: Count,
      count: v.pipe(Count, v.maxValue(500)),
    },
    v.object({ rows: v.array(CommitRow), total: v.optional(Count), isCut: v.optional(v.boolean()) }),
  ),
  /**
   * Whether `into` contains all commits of `at`, and by which merge (`merge`: missing after a fast-forward, or if the
   * search takes too long).
   */
  contained: repeatable({ at: At, into: At }, v.object({ isContained: v.boolean(), merge: v.optional(CommitRow) })),
  /** A commit by its id or the start of it. */
  commit: repeatable(
    { commit: v.pipe(v.string(), v.maxLength(64)) },
    v.object({ row: CommitRow, message: v.string(), changes: v.array(Change) }),
  ),
  /** The commit of each line of a saved file; no lines if the file does not exist. */
  blame: repeatable({ at: At, path: Path }, Blame),
  /** The place of a line of a file in an earlier commit, where the file may have another path. Lines count from 1. */
  'line before': repeatable({ later: FileOfCommit, earlier: FileOfCommit, line: Count }, Count),
  /** The id of a file's content; none if the file does not exist. */
  'blob of': repeatable({ at: At, path: Path }, v.object({ oid: v.optional(Oid) })),
  /** How a file is to be indented. */
  'editor config': repeatable({ at: At, path: Path }, EditorConfig),
  /** The commits that changed some lines of a file, from line 1, newest first, with what they changed in them. */
  'line history': repeatable(
    { at: At, path: Path, from: v.pipe(Count, v.minValue(1)), to: v.pipe(Count, v.minValue(1)) },
    v.array(
      v.object({
        commit: CommitRow,
        /** The file's path in the commit, if known. */
        path: v.optional(Path),
        /** Git's patch: each line begins with a space, + or -. */
        hunks: v.array(v.object({ before: Count, after: Count, lines: v.array(v.string()) })),
      }),
    ),
  ),
  /**
   * Starts a search. The matches come as `found` news with the search's number. `files`: path filters, such as `*.ts,
   * !test`. `wholeLines`: only far longer lines are cut, since a replacement needs the whole line, and files of
   * a branch that can't be edited are left out: the news name them. In the reply, `tree` is the searched tree.
   */
  'find text': question(
    {
      at: At,
      words: v.string(),
      isRegex: v.boolean(),
      matchCase: v.boolean(),
      matchWord: v.optional(v.boolean()),
      files: v.optional(v.pipe(v.string(), v.maxLength(4096))),
      wholeLines: v.optional(v.boolean()),
    },
    v.object({ search: Count, tree: Oid }),
  ),
  'stop finding': question({ search: Count }, Nothing),
}
