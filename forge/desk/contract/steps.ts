/** What can be done to refs: how it would come out, its preview, and doing it. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { Branch, Count, Oid, Path } from './values.ts'

/** A branch or any commit. `words`, a byte string, are how a person calls it, such as upstream/main or abc12345. */
export const Source = v.object({ commit: Oid, branch: v.optional(Branch), words: v.string() })
export type Source = v.InferOutput<typeof Source>

const Commits = v.pipe(v.array(Oid), v.minLength(1), v.maxLength(1000))

/**
 * A change of commits that a branch has already, as `git rebase --interactive` makes it. `amend` is of the newest one;
 * `squash` puts some commits into the oldest of them; `reorder` puts some right after another one, in the order that they
 * have; `before the first` is where a branch begins.
 */
export const Rewriting = v.variant('do', [
  v.object({ do: v.literal('amend'), isWithDrafts: v.boolean() }),
  v.object({ do: v.literal('reword'), commit: Oid }),
  /** `isFixup`: the message of the oldest one stays as it is. */
  v.object({ do: v.literal('squash'), commits: Commits, isFixup: v.boolean() }),
  v.object({ do: v.literal('drop'), commits: Commits }),
  v.object({ do: v.literal('reorder'), commits: Commits, after: v.union([Oid, v.literal('before the first')]) }),
])
export type Rewriting = v.InferOutput<typeof Rewriting>

/** What can be done to a branch in this repository alone: it can be previewed, and be looked at before in few words. */
export const BranchStep = v.variant('step', [
  /** A fast-forward where that is possible, unless a commit is wanted. */
  v.object({
    step: v.literal('merge'),
    source: Source,
    onto: Branch,
    message: v.optional(v.string()),
    isCommitWanted: v.optional(v.boolean()),
  }),
  /** One commit with all that the source has, without .forge/; the source's tip is kept at refs/forge/kept/. */
  v.object({ step: v.literal('land'), source: Source, onto: Branch, message: v.optional(v.string()) }),
  /** Rebases the commits of a branch onto another commit. */
  v.object({ step: v.literal('rebase'), branch: Branch, onto: Source }),
  v.object({ step: v.literal('cherry-pick'), commits: v.array(Oid), onto: Branch }),
  /** A commit of the branch, undone by a new one. */
  v.object({ step: v.literal('revert'), commit: Oid, onto: Branch, message: v.optional(v.string()) }),
  /** A confirmed reset. */
  v.object({ step: v.literal('move'), branch: Branch, to: Source }),
])
export type BranchStep = v.InferOutput<typeof BranchStep>

/** `message`: of the commit that is amended, reworded, or squashed into; as the preview has it, where it is left out. */
const RewriteStep = v.object({
  step: v.literal('rewrite'),
  branch: Branch,
  rewriting: Rewriting,
  message: v.optional(v.string()),
})
export type RewriteStep = v.InferOutput<typeof RewriteStep>

export const Step = v.variant('step', [
  ...BranchStep.options,
  RewriteStep,
  v.object({ step: v.literal('tag'), name: Branch, at: Oid, message: v.optional(v.string()) }),
  v.object({ step: v.literal('delete tag'), name: Branch }),
  /** From one remote, from the one that a branch follows, or from all. */
  v.object({ step: v.literal('fetch'), remote: v.optional(v.string()), branch: v.optional(Branch) }),
  v.object({ step: v.literal('pull'), branch: Branch, how: v.picklist(['fast-forward', 'merge', 'rebase']) }),
  /** `isForced`: with a lease on what the remote was when this was previewed. */
  v.object({
    step: v.literal('push'),
    branch: Branch,
    remote: v.string(),
    to: v.optional(Branch),
    isForced: v.boolean(),
  }),
])
export type Step = v.InferOutput<typeof Step>

const ENDS = ['clean', 'drops', 'conflicts', 'nothing', 'impossible'] as const

/**
 * How a step would come out, for the word on a target: green, red, yellow, grey. It is what the step's preview says, or
 * that it takes too long to be known of many targets. `drops`: commits leave a branch, or a
 * remote's branch by a forced push.
 */
export const Outlook = v.object({
  is: v.picklist([...ENDS, 'unknown']),
  /** Files in conflict. */
  conflicts: Count,
  words: v.string(),
})
export type Outlook = v.InferOutput<typeof Outlook>

/** What a step would do, before anything moves. */
export const Preview = v.object({
  ...Outlook.entries,
  is: v.picklist(ENDS),
  /** The target's commit and tree now, and the tree after it where nothing is in conflict. */
  before: v.optional(Oid),
  tree: v.optional(Oid),
  /** A commit that no ref has, with those files: `changes` from `before` to it is what the step would change. */
  result: v.optional(Oid),
  /** The commits that it takes along, or makes. */
  commits: Count,
  /** The files in conflict, and what each conflict is about. */
  conflictsIn: v.array(v.object({ path: Path, words: v.string() })),
  /** The message of the commit that it makes, to be edited. */
  message: v.optional(v.string()),
  /**
   * Where the remote's branch was when it was fetched last: what a pull brings in, and what a forced push overwrites;
   * null where there was none.
   */
  there: v.optional(v.nullable(Oid)),
  /**
   * What makes a step possible that is not now: a pull, where a remote would reject a push; a save, where the conflicts
   * have to wait in a branch that has drafts; to publish a branch, where it has no upstream branch to pull from.
   */
  offers: v.optional(v.picklist(['pull', 'save', 'publish'])),
  /** What a person should know before: hooks that do not run, a checkout that can not follow, what is on a remote. */
  warnings: v.array(v.string()),
})
export type Preview = v.InferOutput<typeof Preview>

/** What came of a step. `merging`: it waits for a person in that branch's tab. */
export const Done = v.object({ words: v.string(), commit: v.optional(Oid), merging: v.optional(Branch) })
export type Done = v.InferOutput<typeof Done>

export const stepQuestions = {
  /** One for each step. */
  outlooks: repeatable({ steps: v.pipe(v.array(BranchStep), v.maxLength(64)) }, v.array(Outlook)),
  preview: repeatable({ step: Step }, Preview),
  /**
   * `before` is the target's commit as it was previewed, and `there` that of the remote's branch (null for none): where
   * one of them has moved since, nothing is done. A forced push is not done without `there`.
   */
  do: question({ step: Step, before: v.optional(Oid), there: v.optional(v.nullable(Oid)) }, Done),
  /** Ends what is under way: a fetch, pull or push, a step of many commits or its preview. */
  'stop step': repeatable({}, Nothing),
  /** Ends the preview that this window asked for last; so does the next one. */
  'stop preview': question({}, Nothing),
}
