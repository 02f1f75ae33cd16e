/** What the page can ask about a branch with a waiting merge, rebase or cherry-pick. */
import * as v from 'valibot'
import { question, repeatable } from './question.ts'
import { Done } from './steps.ts'
import { Branch, Change, Count, Image, Oid, Path } from './values.ts'

/** The label of the draft's side, in a conflict of a draft with its branch. */
export const DRAFT_SIDE = 'draft'
/** The label of the side with what the user or the AI changed, in a conflict that the update of a merge has added. */
export const CHANGED_IN_MERGE = 'changed in this merge'
/** The name of the base in such a conflict: the text of the merge that was changed. */
export const BEFORE_CHANGE = 'before that change'
/** Matches the last marker line of such a conflict, also of one that an earlier version of the desk has added. */
export const ENDS_CHANGED_IN_MERGE = /> (?:changed|typed) in this merge\s*$/

/** The choices for a whole file: `both` keeps what can be kept of either. */
const WholeSide = v.picklist(['ours', 'theirs', 'base', 'both'])
export type WholeSide = v.InferOutput<typeof WholeSide>

/**
 * A file of a waiting merge. `open`: it has open conflicts. `odd`: the result differs from what such a merge makes, in
 * words. `by`: the model whose turns changed it, the blob that it made, and whether that was changed since, by hand;
 * `before`: the blob without what these turns resolved; `settled`: how many conflicts they resolved, all if undefined.
 * `result`: the path of the resolved file, if the side that was taken has it under another name than `path`.
 * `taken`: of a file of which a whole version or a name is chosen, what it has now, if it is one of the choices.
 * `isWholeOpen`: a version of the whole file, or its name, is still to be chosen, which is one of those `left`.
 * `isOfDraft`: while a merge waits, its draft is in conflict with what waits. `marked`: of a draft in conflict, the
 * blob with all its conflicts, which is another one when other versions are in conflict.
 */
export const MergingFile = v.object({
  path: Path,
  kind: v.string(),
  state: v.picklist(['open', 'odd', 'settled']),
  left: Count,
  all: Count,
  words: v.optional(v.string()),
  by: v.optional(
    v.object({
      model: v.string(),
      oid: v.optional(Oid),
      before: v.optional(Oid),
      settled: v.optional(Count),
      isChanged: v.boolean(),
    }),
  ),
  result: v.optional(Path),
  taken: v.optional(WholeSide),
  isWholeOpen: v.optional(v.literal(true)),
  isOfDraft: v.optional(v.literal(true)),
  marked: v.optional(Oid),
})
export type MergingFile = v.InferOutput<typeof MergingFile>

/** What can wait in a branch for its conflicts to be resolved. */
const WAITING = ['merge', 'land', 'rebase', 'cherry-pick', 'revert'] as const
export const WaitingKind = v.picklist(WAITING)
export type WaitingKind = v.InferOutput<typeof WaitingKind>

export const Merging = v.object({
  /** `drafts`: no merge waits; drafts conflict with the branch's new commit. */
  kind: v.picklist([...WAITING, 'drafts']),
  /** The name of our side; a byte string. */
  ours: v.string(),
  /** The name of their side; a byte string. */
  theirs: v.string(),
  oursCommit: Oid,
  theirsCommit: Oid,
  /** For a rebase: the subject of the commit being rebased, its number from 1, and how many commits there are. */
  at: v.optional(v.object({ number: Count, of: Count, subject: v.string() })),
  /** For several commits: the subjects of those whose conflicts were resolved so far, and which are made. */
  finished: v.optional(v.array(v.string())),
  files: v.array(MergingFile),
  /** For a revert: the reverted commit, such as `1234abcd (Add a file)`; a byte string. Their side is its parent. */
  reverts: v.optional(v.string()),
  /** For a rebase: the name of the branch or commit that it is onto; a byte string. */
  onto: v.optional(v.string()),
  /** For a rebase that rewrites commits of its own branch: what it does, such as `drop 1234abcd in main`. */
  rewrites: v.optional(v.string()),
  /** The number of files that git merged by itself. */
  byGit: Count,
  message: v.string(),
  /** Oddities of the whole merge, one sentence each, once nothing is open. */
  odd: v.array(v.string()),
  /** Why Finish is not possible yet. */
  notYet: v.optional(v.string()),
  /** Why Finish makes no commit: the commit, revert or landing would change nothing any more. */
  nothingLeft: v.optional(v.string()),
  /** Whether the branch was moved since the merge began, so that the merge can be made anew on its newest commit. */
  canUpdate: v.optional(v.literal(true)),
  /** The run of Forklift that the merge continues: it can be published when the merge is finished. */
  forklift: v.optional(v.object({ run: v.string(), stuck: v.optional(v.string()) })),
})
export type Merging = v.InferOutput<typeof Merging>

/** What waits in a branch, as a noun: `the landing`. */
export const nounOf = (kind: Merging['kind']): string => (kind === 'land' ? 'landing' : kind)

/** One side of a conflict: its text, a description if it is not text, or nothing. */
const ConflictSide = v.variant('is', [
  v.object({ is: v.literal('text'), text: v.string(), mode: v.string() }),
  v.object({
    is: v.literal('other'),
    words: v.string(),
    mode: v.string(),
    oid: Oid,
    image: v.optional(Image),
  }),
  v.object({ is: v.literal('nothing') }),
])

/**
 * A file in conflict. If all sides are text, the editor has the file with its conflicts between markers of `mark`
 * characters, in git's diff3 style.
 */
export const ConflictFile = v.object({
  path: Path,
  kind: v.string(),
  /** A description of the conflict. */
  words: v.string(),
  mark: v.optional(Count),
  /** The text before anything was resolved, if the last commit does not contain it. */
  marked: v.optional(v.string()),
  /** The side that git's result is the same as, if there is one: keeping git's result takes that side. */
  leftAs: v.optional(v.picklist(['ours', 'theirs', 'base'])),
  /** The names of the two sides, if they are not those of the merge: a draft, and what that meets; byte strings. */
  oursName: v.optional(v.string()),
  theirsName: v.optional(v.string()),
  /**
   * The names of a file that both sides renamed, if git has merged its text: only a name is chosen. Without conflicts
   * in the text, `ours` and `theirs` both have the merged text.
   */
  names: v.optional(v.object({ ours: Path, theirs: Path, base: Path })),
  base: ConflictSide,
  ours: ConflictSide,
  theirs: ConflictSide,
})
export type ConflictFile = v.InferOutput<typeof ConflictFile>

export const mergingQuestions = {
  merging: repeatable({ branch: Branch }, v.nullable(Merging)),
  conflict: repeatable({ branch: Branch, path: Path }, ConflictFile),
  /**
   * Replaces a whole file by one side, as one operation; text is resolved in the editor. `words`: what was done; none
   * if that was chosen already.
   */
  'take side': question({ branch: Branch, path: Path, side: WholeSide }, v.object({ words: v.optional(v.string()) })),
  /**
   * Resolves the open conflicts of texts by one side, as one operation: those of a waiting merge, or those of drafts.
   * What git has merged, and what was resolved or typed beside them, stays.
   */
  'take conflicts': question(
    { branch: Branch, paths: v.array(Path), side: v.picklist(['ours', 'theirs']) },
    v.object({ words: v.string() }),
  ),
  /**
   * Keeps what the user types as the message of what waits, for all windows. `theirs`: the merged commit for which it
   * is meant. `before`: the message that it was made of. The answer has the message that is kept now: where another
   * window has changed it from `before`, that one, with which the page merges what was typed. Without a message,
   * another commit is merged by now.
   */
  'keep merging message': repeatable(
    { branch: Branch, theirs: Oid, before: v.string(), message: v.string() },
    v.object({ message: v.optional(v.string()) }),
  ),
  /** Commits with the message that is kept. An undo restores it with the conflicts, as that of an abort does. */
  'finish merging': question({ branch: Branch }, Done),
  /** Makes what waits anew after its branch was moved; keeps the resolution of each conflict with the same sides. */
  'update merging': question({ branch: Branch }, Done),
  'abort merging': question({ branch: Branch }, Done),
  /** What a merge of two parents changes in what git merges by itself: how its conflicts were resolved, and more. */
  'changes by hand': repeatable({ commit: Oid }, v.array(Change)),
}
