/**
 * Plans of steps: each kind of step computes a plan before anything moves, a preview shows it, and running the step
 * carries out the same plan.
 */
import type { CommitIdentity } from '../../../core/git/commits.ts'
import type { MergedTree } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Move } from '../../../core/git/refs.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { many } from '../../../core/text.ts'
import type { StoredMerging } from '../branches/merging-commits.ts'
import type { RewrittenCommit } from '../contract/steps.ts'

/** The branch that a step moves, and its commit. */
export type StepTarget = { branch: string; tip: Oid }

/** A commit of a chain: an existing one, or one to be made on the one before. */
export type Planned =
  | { is: 'there'; commit: Oid; tree: Oid }
  | {
      is: 'new'
      tree: Oid
      /** The commit's parents after the first. */
      others: readonly Oid[]
      /** Typed text, or the message bytes of a copied commit. */
      message: string | Buffer
      encoding?: string | undefined
      /** The author and time; undefined: the user, now. */
      author?: CommitIdentity | undefined
    }

/** Where a chain of commits stops at conflicts: the merge, and what is left to do. */
export type Stop = {
  /**
   * Git's merge, with the names of the sides in place of commit ids in file names (see withPlainNames), and with the
   * branch's own .forge folder.
   */
  merge: MergedTree
  /** The tree into which `theirs` is merged. */
  ours: Oid
  theirs: Oid
  words: { ours: string; theirs: string }
  state: Pick<
    StoredMerging,
    | 'does'
    | 'base'
    | 'message'
    | 'typedMessage'
    | 'todo'
    | 'number'
    | 'of'
    | 'subject'
    | 'leftOut'
    | 'finished'
    | 'onto'
    | 'keep'
    | 'rewrite'
  >
}

/** What becomes of a commit of a branch, before it is known whether a remote has that commit. */
export type Rewritten = Omit<RewrittenCommit, 'isPushed'>

export type StepPlan = {
  branch: string
  /** The branch's commit before the step. */
  before: Oid
  is: 'clean' | 'drops' | 'nothing' | 'conflicts'
  /** The outcome in a few words, as shown on a drop target. */
  words: string
  /** The kind of the operation as which the step is recorded. */
  kind: string
  does: string
  /** How the step is done, such as ` by a fast-forward`: appended to `does`, which says what the step does. */
  how?: string
  /** The commit that `chain` is put on; undefined if the first commit of `chain` has no parent. */
  onto: Oid | undefined
  /** The planned commits, up to the last one or to the first with conflicts ({@link Stop}). */
  chain: readonly Planned[]
  stop?: Stop | undefined
  /** The branch's tree after the step. */
  tree: Oid
  /** The number of commits that the step brings or makes. */
  commits: number
  /** Of a rebase: the commits of which it makes others, oldest first. */
  rebased?: readonly Oid[]
  /** Of a pull by rebase: a commit that was dropped from the upstream, and that is left out with its history. */
  forkPoint?: Oid | undefined
  /** The subjects of the commits that the step leaves out, since they would change nothing. */
  leftOut?: readonly string[]
  /** The message of the resulting commit, for editing. */
  message?: string | undefined
  /**
   * Of a rewriting: `replaced` is the oldest commit that becomes another one, and `rewritten` what becomes of each
   * commit from there on.
   */
  replaced?: Oid | undefined
  rewritten?: readonly Rewritten[] | undefined
  /** Of a rewriting: the commits that were merged into the branch, and that stay in it with their history. */
  merged?: readonly Oid[]
  /** Other refs that move with the branch. */
  also: readonly Move[]
  /** Warnings for the preview. */
  warnings: readonly string[]
  /** What else the preview says, which is no reason to hesitate. */
  notes?: readonly string[]
}

export async function treeOfCommit(objects: Objects, commit: Oid): Promise<Oid> {
  const tree = await objects.info(`${commit}^{tree}`)
  if (!tree) throw new Error(`There is no commit ${commit}`)
  return tree.oid
}

export const filesInConflict = (count: number): string =>
  count === 1 ? '1 file in conflict' : `${count} files in conflict`

/** Notes for the preview that the commits after a conflict are applied only when it is resolved. */
export function notesOn(stop: Stop | undefined): string[] {
  const left = stop?.state.todo.length ?? 0
  if (left === 0) return []
  const after = left === 1 ? 'The commit' : `The ${many(left, 'commit')}`
  return [`${after} after it may have conflicts, too: resolve them one after the other.`]
}

export const FORWARD = ' by a fast-forward'

const PAST: Record<string, string> = {
  abort: 'Aborted',
  amend: 'Amended',
  'cherry-pick': 'Cherry-picked',
  delete: 'Deleted',
  discard: 'Discarded',
  drop: 'Dropped',
  land: 'Landed',
  merge: 'Merged',
  move: 'Moved',
  pull: 'Pulled',
  rebase: 'Rebased',
  rename: 'Renamed',
  reorder: 'Reordered',
  resolve: 'Resolved',
  reword: 'Reworded',
  revert: 'Reverted',
  skip: 'Skipped',
  split: 'Split',
  squash: 'Squashed',
  tag: 'Tagged',
}

/** The past tense of an operation's words: `merge a into b` becomes "Merged a into b". */
export const pastOf = (does: string): string => does.replace(/^[\w-]+/, verb => PAST[verb] ?? verb)
