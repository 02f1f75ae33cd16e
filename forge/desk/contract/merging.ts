/** A branch in which a merge, rebase or cherry-pick waits for a person. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { Done } from './steps.ts'
import { Branch, Count, Oid, Path } from './values.ts'

/**
 * A file of a merge, rebase or cherry-pick that waits. `open`: it has conflicts left. `odd`: what it became is not what
 * such a merge makes, in words. `by`: the model that settled it, where none of the persons did.
 */
export const MergingFile = v.object({
  path: Path,
  kind: v.string(),
  state: v.picklist(['open', 'odd', 'settled']),
  left: Count,
  all: Count,
  words: v.optional(v.string()),
  by: v.optional(v.string()),
})
export type MergingFile = v.InferOutput<typeof MergingFile>

export const Merging = v.object({
  /** `drafts`: no merge waits; drafts are in conflict with what has become of their branch. */
  kind: v.picklist(['merge', 'rebase', 'cherry-pick', 'revert', 'drafts']),
  /** As a person calls the two sides; byte strings. */
  ours: v.string(),
  theirs: v.string(),
  oursCommit: Oid,
  theirsCommit: Oid,
  /** Of a rebase: the commit that it is at, and how many there are. */
  at: v.optional(v.object({ number: Count, of: Count, subject: v.string() })),
  files: v.array(MergingFile),
  /** Files that git merged by itself. */
  byGit: Count,
  message: v.string(),
  /** What is odd about the whole of it, a sentence each, once nothing is open. */
  odd: v.array(v.string()),
  /** Why `Finish` is not there yet. */
  notYet: v.optional(v.string()),
  /** A run of Forklift that this goes on with: it is published when it is finished. */
  forklift: v.optional(v.object({ run: v.string(), stuck: v.optional(v.string()) })),
})
export type Merging = v.InferOutput<typeof Merging>

/** A side of a conflict that is no text, or what is there instead of a file. */
const ConflictSide = v.variant('is', [
  v.object({ is: v.literal('text'), text: v.string(), mode: v.string() }),
  v.object({ is: v.literal('other'), words: v.string(), mode: v.string(), oid: Oid }),
  v.object({ is: v.literal('nothing') }),
])

/**
 * A file in conflict. Where all sides are text, the file itself is in the editor with the conflicts between marks of
 * `mark` characters, as git's diff3 style has them: what stands between them is the sides' own.
 */
export const ConflictFile = v.object({
  path: Path,
  kind: v.string(),
  /** What it is about. */
  words: v.string(),
  mark: v.optional(Count),
  /** The text as it was before anything was settled, where the last commit does not have it. */
  marked: v.optional(v.string()),
  base: ConflictSide,
  ours: ConflictSide,
  theirs: ConflictSide,
})
export type ConflictFile = v.InferOutput<typeof ConflictFile>

/** What a whole file becomes: `both` keeps what can be kept of either. */
const WholeSide = v.picklist(['ours', 'theirs', 'base', 'both'])
export type WholeSide = v.InferOutput<typeof WholeSide>

export const mergingQuestions = {
  merging: repeatable({ branch: Branch }, v.nullable(Merging)),
  conflict: repeatable({ branch: Branch, path: Path }, ConflictFile),
  /** The whole file becomes that of one side; text is settled in the editor. */
  'take side': question({ branch: Branch, path: Path, side: WholeSide }, Nothing),
  'finish merging': question({ branch: Branch, message: v.optional(v.string()) }, Done),
  'abort merging': question({ branch: Branch }, Done),
}
