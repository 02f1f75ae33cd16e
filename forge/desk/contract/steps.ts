/** What the page can ask about steps (merge, rebase, push and the like): the outcome, the preview, and running one. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { Branch, Count, Oid, Part, Path, RefName } from './values.ts'

/** A branch or any commit. `words`: its name on the screen, a byte string, such as upstream/main or abc12345. */
export const Source = v.object({ commit: Oid, branch: v.optional(Branch), words: v.string() })
export type Source = v.InferOutput<typeof Source>

const Commits = v.pipe(v.array(Oid), v.minLength(1), v.maxLength(1000))

/**
 * A change of a branch's commits, as with `git rebase --interactive`. `amend`: changes the newest commit; `squash`:
 * joins some commits into the oldest of them; `reorder`: moves some commits, in the given order, after another one or
 * `before the first` of the branch; `split`: makes two commits of one.
 */
export const Rewriting = v.variant('do', [
  v.object({ do: v.literal('amend'), isWithDrafts: v.boolean() }),
  v.object({ do: v.literal('reword'), commit: Oid }),
  /** `isFixup`: the oldest commit keeps its message. */
  v.object({ do: v.literal('squash'), commits: Commits, isFixup: v.boolean() }),
  v.object({ do: v.literal('drop'), commits: Commits }),
  v.object({ do: v.literal('reorder'), commits: Commits, after: v.union([Oid, v.literal('before the first')]) }),
  /** `first`: the changes of the first commit. `rest`: the message of the second one; undefined: the commit's own. */
  v.object({
    do: v.literal('split'),
    commit: Oid,
    first: v.pipe(v.array(Part), v.maxLength(20_000)),
    rest: v.optional(v.string()),
  }),
])
export type Rewriting = v.InferOutput<typeof Rewriting>

/** A step within this repository, which has a preview and an outcome in a few words. */
export const BranchStep = v.variant('step', [
  /** Merges the source: by a fast-forward if possible, unless a merge commit is requested. */
  v.object({
    step: v.literal('merge'),
    source: Source,
    onto: Branch,
    message: v.optional(v.string()),
    isCommitWanted: v.optional(v.boolean()),
  }),
  /** Lands the source: as one commit with all its changes, without .forge/. Its tip is kept at refs/forge/kept/. */
  v.object({ step: v.literal('land'), source: Source, onto: Branch, message: v.optional(v.string()) }),
  /** Rebases the commits of a branch onto another commit. */
  v.object({ step: v.literal('rebase'), branch: Branch, onto: Source }),
  v.object({ step: v.literal('cherry-pick'), commits: v.array(Oid), onto: Branch }),
  /** Undoes commits of the branch, in this order, each by a new one. `message`: of the new one, if it is only one. */
  v.object({ step: v.literal('revert'), commits: Commits, onto: Branch, message: v.optional(v.string()) }),
  /** Resets the branch to a commit; the user has confirmed it. */
  v.object({ step: v.literal('move'), branch: Branch, to: Source }),
])
export type BranchStep = v.InferOutput<typeof BranchStep>

/** `message`: of the amended, reworded or squashed commit, or of the first part; undefined: as in the preview. */
const RewriteStep = v.object({
  step: v.literal('rewrite'),
  branch: Branch,
  rewriting: Rewriting,
  message: v.optional(v.string()),
})
export type RewriteStep = v.InferOutput<typeof RewriteStep>

const PullWay = v.picklist(['fast-forward', 'merge', 'rebase'])

export const Step = v.variant('step', [
  ...BranchStep.options,
  RewriteStep,
  v.object({ step: v.literal('tag'), name: Branch, at: Oid, message: v.optional(v.string()) }),
  /** Renames a tag of this repository; one on a remote keeps its name. */
  v.object({ step: v.literal('rename tag'), name: Branch, to: Branch }),
  /** `remote`: where the tag is deleted, too, unless it is another one there. */
  v.object({ step: v.literal('delete tag'), name: Branch, remote: v.optional(v.string()) }),
  v.object({ step: v.literal('push tag'), name: Branch, remote: v.string() }),
  /** Deletes a branch of a remote, which `ref` (below refs/remotes/) tracks, unless it has moved since the preview. */
  v.object({ step: v.literal('delete remote branch'), ref: RefName }),
  /** Fetches from one remote, from a branch's remote, or from all. */
  v.object({ step: v.literal('fetch'), remote: v.optional(v.string()), branch: v.optional(Branch) }),
  /** From the upstream, or from the branch that a push to `remote` goes to. */
  v.object({
    step: v.literal('pull'),
    branch: Branch,
    remote: v.optional(v.string()),
    how: PullWay,
  }),
  /** `isForced`: a forced push, with a lease on the remote's commit at the time of the preview. */
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
 * The outcome of a step, shown as a coloured word on the branch that something is dragged onto: green, red, yellow or
 * grey. It matches the preview, or is `unknown` where it takes too long to compute. `drops`: commits leave a branch, or
 * a remote branch by a forced push.
 */
export const Outlook = v.object({
  is: v.picklist([...ENDS, 'unknown']),
  /** The number of files in conflict. */
  conflicts: Count,
  /** A sentence to show: text, in which names are readable already. */
  words: v.string(),
})
export type Outlook = v.InferOutput<typeof Outlook>

/** What becomes of one or several commits of a branch in a rewriting. */
export const RewrittenCommit = v.object({
  /** The commits before the rewriting, oldest first. */
  from: v.array(Oid),
  /** The subject after the rewriting. */
  subject: v.string(),
  /**
   * `reapplied`: only with another parent; `empty`: left out, since it changes nothing any more; `waiting`: comes after
   * a conflict.
   */
  becomes: v.picklist([
    ...(['reapplied', 'reworded', 'amended', 'squashed', 'split', 'moved'] as const),
    ...(['dropped', 'empty', 'conflict', 'waiting'] as const),
  ]),
  /** Whether a remote branch contained the commits when last fetched. */
  isPushed: v.boolean(),
})
export type RewrittenCommit = v.InferOutput<typeof RewrittenCommit>

/** At most this many commits are named in a preview: the newest. */
export const MAX_BROUGHT_COMMITS = 100

/** The commits that a step brings: the number of all, and the newest, newest first. */
export const Brought = v.object({
  count: Count,
  newest: v.array(v.object({ oid: Oid, subject: v.string() })),
})
export type Brought = v.InferOutput<typeof Brought>

/** The commits that leave a branch: the number of all, and the newest, newest first. */
export const Lost = v.object({
  count: Count,
  newest: v.array(v.object({ oid: Oid, subject: v.string(), author: v.string() })),
})
export type Lost = v.InferOutput<typeof Lost>

/** What a step would do, computed before anything moves. */
export const Preview = v.object({
  ...Outlook.entries,
  is: v.picklist(ENDS),
  /** The target's commit now. */
  before: v.optional(Oid),
  /** The commit of the branch that is merged, landed, moved to, or rebased onto, where the step has such a source. */
  source: v.optional(Oid),
  /** The target's tree after the step; undefined if there are conflicts. */
  tree: v.optional(Oid),
  /** A commit without a ref that has the result's files: its `changes` from `before` are those of the step. */
  result: v.optional(Oid),
  /** The number of commits that the step brings or makes. */
  commits: Count,
  /** What a merge, a pull or a push brings. */
  brings: v.optional(Brought),
  /** The branch's own commits of which a pull that rebases makes others. */
  rebases: v.optional(Brought),
  /** The commits that a forced push drops from the remote branch. */
  loses: v.optional(Lost),
  /** The files in conflict, with a description of each. */
  conflictsIn: v.array(v.object({ path: Path, words: v.string() })),
  /** The message of the resulting commit, for editing. */
  message: v.optional(v.string()),
  /**
   * The remote branch's commit when last fetched, which a pull brings in, a forced push overwrites, and a deletion
   * deletes; null if there was none.
   */
  there: v.optional(v.nullable(Oid)),
  /**
   * What makes the step possible: a pull, if a remote would reject a push; a forced push, if it would do so only for
   * old versions of commits that were rewritten here; a save, if conflicts have to wait in a branch with drafts;
   * publishing, if a branch has no upstream to pull from.
   */
  offers: v.optional(v.picklist(['pull', 'force', 'save', 'publish'])),
  /** For a rewriting: what becomes of the commits, newest first; at most 200. */
  rewritten: v.optional(v.array(RewrittenCommit)),
  /** Warnings: hooks that do not run, a checkout that can't follow, commits that are on a remote. */
  warnings: v.array(v.string()),
  /** What else the step does, which is no reason to hesitate. */
  notes: v.optional(v.array(v.string())),
})
export type Preview = v.InferOutput<typeof Preview>

/**
 * The result of a step. `merging`: the branch in which a merge waits. `isUndoable`: of a fetch, whether it has removed
 * remote branches, which Undo restores; `gone`: how many, as a sentence.
 */
export const Done = v.object({
  words: v.string(),
  commit: v.optional(Oid),
  merging: v.optional(Branch),
  isUndoable: v.optional(v.boolean()),
  gone: v.optional(v.string()),
})
export type Done = v.InferOutput<typeof Done>

/** The address of a remote. It may have a secret in it, which is refused. */
const Url = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))

export const stepQuestions = {
  /** Asks for the outcomes of several steps: the reply has one for each, in the same order. */
  outlooks: repeatable({ steps: v.pipe(v.array(BranchStep), v.maxLength(64)) }, v.array(Outlook)),
  preview: repeatable({ step: Step }, Preview),
  /** How `git pull` would bring what was fetched last into a branch, from the upstream or from this remote. */
  'way to pull': repeatable({ branch: Branch, remote: v.optional(v.string()) }, PullWay),
  /** The remote that `git push` is configured to push a branch to; without one, a tag. Null: none is configured. */
  'push remote': repeatable({ branch: v.optional(Branch) }, v.nullable(v.string())),
  /**
   * Runs a step. `before`, `source` and `there`: the commits of the target, of the source and of the remote branch
   * (null for none) in the preview; if one of these has moved since, nothing is done. `tree`: the target's tree after
   * the step in the preview; if an amend would take other drafts into it, nothing is done. A forced push and a deletion
   * on a remote require `there`.
   */
  do: question(
    {
      step: Step,
      before: v.optional(Oid),
      source: v.optional(Oid),
      there: v.optional(v.nullable(Oid)),
      tree: v.optional(Oid),
    },
    Done,
  ),
  'add remote': question({ name: Branch, url: Url }, Nothing),
  'change remote url': question({ name: Branch, url: Url }, Nothing),
  /** Removes a remote with its remote branches in this repository. */
  'remove remote': question({ name: Branch }, Nothing),
  /** Stops what is running: a fetch, pull or push, or a step of many commits or its preview. */
  'stop step': repeatable({}, Nothing),
  /** Stops the preview that this window asked for last. Asking for another preview stops it, too. */
  'stop preview': question({}, Nothing),
}
