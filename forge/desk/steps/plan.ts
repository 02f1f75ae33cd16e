/**
 * What would come of a step, before anything moves: each kind of step computes a plan, a preview shows it, and to do
 * the step is to carry the same plan out.
 */
import type { CommitIdentity } from '../../../core/git/commits.ts'
import type { MergedTree } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Move } from '../../../core/git/refs.ts'
import type { Oid } from '../../../core/git/repository.ts'
import type { StoredMerging } from '../conflicts/merging-commits.ts'

/** A branch that a step is done to, and where it is. */
export type StepTarget = { branch: string; tip: Oid }

/** A commit of a chain: one that is there already, or one that is made on the one before it. */
export type Planned =
  | { is: 'there'; commit: Oid; tree: Oid }
  | {
      is: 'new'
      tree: Oid
      /** Its parents after the first. */
      others: readonly Oid[]
      /** A text that a person typed, or the bytes of the message of a commit that is copied. */
      message: string | Buffer
      encoding?: string | undefined
      /** The user, now, where it is not given. */
      author?: CommitIdentity | undefined
    }

/** Where a chain meets conflicts: what it was doing there, and what is left to do. */
export type Stop = {
  /** Git's own merge, with plain names, and with the folder .forge of its branch. */
  merge: MergedTree
  /** The tree that theirs is merged into. */
  ours: Oid
  theirs: Oid
  words: { ours: string; theirs: string }
  state: Pick<StoredMerging, 'does' | 'base' | 'message' | 'todo' | 'number' | 'of' | 'subject' | 'onto' | 'keep'>
}

export type StepPlan = {
  branch: string
  /** Where the branch is. */
  before: Oid
  is: 'clean' | 'drops' | 'nothing' | 'conflicts'
  /** What comes of it, for the word on a target. */
  words: string
  /** The operation that it is: its kind, and what it does, in a few words. */
  kind: string
  does: string
  /** What follows these words where it is said that it was done. */
  how?: string
  /** The commit that the chain begins on (undefined where it begins a history), and the chain up to its end or stop. */
  onto: Oid | undefined
  chain: readonly Planned[]
  stop?: Stop | undefined
  /** The tree of the branch after it. */
  tree: Oid
  /** How many commits it takes along, or makes. */
  commits: number
  /** Of the commit that it makes, to be edited. */
  message?: string | undefined
  /** Refs that move beside the branch. */
  also: readonly Move[]
  /** What a person should know before. */
  warnings: readonly string[]
}

export async function treeOfCommit(objects: Objects, commit: Oid): Promise<Oid> {
  const tree = await objects.info(`${commit}^{tree}`)
  if (!tree) throw new Error(`There is no commit ${commit}`)
  return tree.oid
}

export const filesInConflict = (count: number): string =>
  count === 1 ? '1 file in conflict' : `${count} files in conflict`

export const FORWARD = ' by a fast-forward'

const PAST: Record<string, string> = {
  abort: 'Aborted',
  amend: 'Amended',
  'cherry-pick': 'Cherry-picked',
  delete: 'Deleted',
  drop: 'Dropped',
  land: 'Landed',
  merge: 'Merged',
  move: 'Moved',
  pull: 'Pulled',
  rebase: 'Rebased',
  reorder: 'Reordered',
  reword: 'Reworded',
  revert: 'Reverted',
  squash: 'Squashed',
  tag: 'Tagged',
}

/** What was done, from the words of its operation: `merge a into b` is "Merged a into b". */
export const pastOf = (does: string): string => does.replace(/^[\w-]+/, verb => PAST[verb] ?? verb)
