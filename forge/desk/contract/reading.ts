/** What is read of branches and commits: folders, history, differences, and searches in files. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { At, Change, Count, Oid, Path, Person } from './values.ts'

/** What stands in one folder, folders first, then by name. */
export const FolderEntry = v.object({
  name: v.string(),
  mode: v.string(),
  draft: v.boolean(),
  /** How an AI knows a file: by its summary, whole, or not at all. */
  context: v.optional(v.picklist(['none', 'summary', 'whole'])),
})
export type FolderEntry = v.InferOutput<typeof FolderEntry>

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

/** Lines of a file, counted from 1, that come from one commit. */
const BlamedLines = v.object({ commit: Oid, line: Count, count: Count })
export const BlamedCommit = v.object({
  oid: Oid,
  /** The file's path in it, where that is known. */
  path: v.optional(Path),
  /** The author's. */
  name: v.string(),
  /** Seconds since 1970. */
  authored: v.number(),
  subject: v.string(),
  /** The commit before it in which the file was there, too. */
  previous: v.optional(v.object({ oid: Oid, path: v.optional(Path) })),
})
export type BlamedCommit = v.InferOutput<typeof BlamedCommit>
export const Blame = v.object({ lines: v.array(BlamedLines), commits: v.array(BlamedCommit) })
export type Blame = v.InferOutput<typeof Blame>

export const readingQuestions = {
  /** `path` is '' for the top. */
  folder: repeatable({ at: At, path: v.pipe(v.string(), v.maxLength(4096)) }, v.array(FolderEntry)),
  /** The best match first, each with the ranges of its path that match. */
  'find file': repeatable(
    { at: At, words: v.pipe(v.string(), v.maxLength(400)), count: Count },
    v.array(v.object({ path: Path, ranges: v.array(v.tuple([Count, Count])) })),
  ),
  /**
   * What differs from a commit, or from another branch since the two parted; without `from`, from the parent of a
   * commit, or what is not saved in a branch. `isFromMergeBase` says which of the two is wanted for any `from`.
   */
  changes: repeatable({ from: v.optional(At), to: At, isFromMergeBase: v.optional(v.boolean()) }, v.array(Change)),
  /** No text where it is binary or too large; the encoding where it is guessed. */
  blob: repeatable({ oid: Oid }, v.object({ text: v.optional(v.string()), encoding: v.optional(v.string()) })),
  /**
   * `beyond`: only commits that this other place does not have. `words`: only commits with these words in the message
   * or the author, or whose hash begins with them. The total is left out where it is not known.
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
    v.object({ rows: v.array(CommitRow), total: v.optional(Count) }),
  ),
  /**
   * Whether a place has all commits of another one, and by which merge they came; none after a fast-forward, and where
   * the search for it takes too long.
   */
  contained: repeatable({ at: At, into: At }, v.object({ isContained: v.boolean(), merge: v.optional(CommitRow) })),
  /** A commit by its id or the beginning of it. */
  commit: repeatable(
    { commit: v.pipe(v.string(), v.maxLength(64)) },
    v.object({ row: CommitRow, message: v.string(), changes: v.array(Change) }),
  ),
  /** The commit of each line of a file as it is saved; no lines where there is no such file. */
  blame: repeatable({ at: At, path: Path }, Blame),
  /** The matches come as the news `found`, with the number of the search. */
  'find text': question(
    { at: At, words: v.string(), isRegex: v.boolean(), matchCase: v.boolean() },
    v.object({ search: Count }),
  ),
  'stop finding': question({ search: Count }, Nothing),
}
