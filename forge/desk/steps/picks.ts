/** Applies commits to another commit as git's cherry-pick and revert do, for rebases, cherry-picks and reverts. */
import { type Commit, parseCommit } from '../../../core/git/commits.ts'
import { subjectOf } from '../../../core/git/history.ts'
import { type MergedTree, mergeTrees } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, type Oid, type Repository } from '../../../core/git/repository.ts'
import { treeWithUntracked } from '../../../core/git/stash.ts'
import { emptyTree } from '../../../core/git/trees.ts'
import { visible } from '../../../core/text.ts'
import { withOwnFolder } from '../branches/forge-folder.ts'
import type { WrittenHere } from '../branches/written-here.ts'
import { isClean, withPlainNames } from '../conflicts/conflicts.ts'
import { withAppliedFolder } from './applied-folder.ts'
import { hasSameFolder } from './merge.ts'
import { type Planned, type Stop, treeOfCommit } from './plan.ts'

/** A long computation: the signal that stops it, and the callback for its progress. */
export type Pace = { signal: AbortSignal; tell: (words: string) => void }

type PickRules = {
  does: 'rebase' | 'cherry-pick' | 'revert'
  /** The name of the commit or branch onto which the commits are picked. */
  ours: string
  /** The number of all commits, including those already picked. */
  of: number
  onto?: string | undefined
  /** Whether some of the commits were picked before, up to a conflict that is resolved now. */
  isBegun?: boolean
  /** Whether the commit to pick onto is one that this rebase has made. */
  hasRebased?: boolean
  /** The subjects of the commits that were left out before. */
  leftOut?: readonly string[]
  /** The message of a revert, as typed; undefined: git's. */
  message?: string | undefined
}

const WORDS = { rebase: 'Rebasing', 'cherry-pick': 'Cherry-picking', revert: 'Reverting' } as const

/** What becomes of a commit: an existing one, a new one, none, the one in conflict, or one after a conflict. */
export type Outcome = 'kept' | 'new' | 'empty' | 'conflict' | 'waiting'

export type Picks = {
  chain: Planned[]
  /** The tree of the last commit of the chain. */
  tree: Oid
  /** Commits that would change nothing. */
  dropped: { commit: Oid; subject: string }[]
  /** For a rewriting of a branch's commits: what becomes of each of them. */
  outcomes?: Outcome[]
  stop?: Stop
}

/** Picks or reverts commits, one after the other, onto a commit, up to the end or the first conflict. */
export async function planPicks(
  objects: Objects,
  onto: Oid,
  commits: readonly Oid[],
  { does, ours, of, onto: ontoWords, isBegun = false, hasRebased = false, leftOut = [], message: typed }: PickRules,
  { signal, tell }: Pace,
): Promise<Picks> {
  const chain: Planned[] = []
  const dropped: Picks['dropped'] = []
  let tree = await treeOfCommit(objects, onto)
  // A commit whose parent is already the one to pick onto stays, as in git's rebase.
  let tip: Oid | undefined = onto
  for (const [at, oid] of commits.entries()) {
    signal.throwIfAborted()
    tell(`${WORDS[does]}: commit ${of - commits.length + at + 1} of ${of}`)
    const commit = await readCommit(objects, oid)
    if (does === 'rebase' && commit.parents.length === 1 && commit.parents[0] === tip) {
      chain.push({ is: 'there', commit: oid, tree: commit.tree })
      tip = oid
      tree = commit.tree
      continue
    }
    const subject = subjectOf(commit)
    const short = oid.slice(0, 8)
    // The result of a cherry-pick or a revert is the branch itself; that of a rebase is no longer the branch that it is
    // onto.
    const isOnBranch = does !== 'rebase' || (chain.length === 0 && !hasRebased)
    const change = await changeOf(objects, oid, commit, does)
    const words = { ours: isOnBranch ? ours : rebasedOnto(ours), theirs: asBytes(change.words) }
    const { from, to } = change
    const isOwn = does !== 'rebase' || ((isBegun || chain.length > 0) && (await hasSameFolder(objects, from, oid)))
    const owner = isOwn ? tree : oid
    const merge = await applyChange(objects, { tree, from, to, owner, theirs: short, signal })
    const message = does === 'revert' ? (typed ?? revertMessage(oid, commit)) : undefined
    if (!isClean(merge)) {
      const todo = commits.slice(at + 1)
      const state: Stop['state'] = {
        ...{ does, base: change.base, todo: [...todo], subject, number: of - todo.length, of },
        leftOut: [...leftOut, ...dropped.map(it => it.subject)],
        ...(ontoWords !== undefined && { onto: ontoWords }),
        ...(message !== undefined && { message }),
      }
      return { chain, tree, dropped, stop: { merge, ours: tree, theirs: change.theirs, words, state } }
    }
    const wasEmpty = commit.tree === from
    if (merge.tree === tree && !(does === 'rebase' && wasEmpty)) {
      dropped.push({ commit: oid, subject })
      continue
    }
    const { message: own, encoding, author } = commit
    const copied = { message: own, encoding, author }
    chain.push({ is: 'new', tree: merge.tree, others: [], ...(message === undefined ? copied : { message }) })
    tree = merge.tree
    tip = undefined
  }
  return { chain, tree, dropped }
}

/**
 * A change to apply: the two commits or trees between which it is, the commit of the side that brings it with its name,
 * and the base that is stored with its conflicts.
 */
type Change = { from: Oid; to: Oid; theirs: Oid; words: string; base: Oid | null }

/** What a commit has changed, since its first parent; for a revert, the way back. */
async function changeOf(objects: Objects, oid: Oid, commit: Commit, does: PickRules['does']): Promise<Change> {
  const { parents, tree } = commit
  const [parent] = parents
  const name = `${oid.slice(0, 8)} (${visible(subjectOf(commit))})`
  if (does !== 'revert') {
    const to = does === 'cherry-pick' ? await treeWithUntracked(objects, oid) : oid
    return { from: await baseOf(objects, commit), to, theirs: oid, words: name, base: parent ?? null }
  }
  if (parent === undefined) throw new Error(`Nothing is before the first commit ${oid}`)
  return { from: tree, to: parent, theirs: parent, words: `parent of ${name}`, base: oid }
}

/** The message of a revert, as git writes it: the revert of a revert is a reapplication. */
export function revertMessage(oid: Oid, commit: Commit): string {
  const [parent = '', ...others] = commit.parents
  const subject = subjectOf(commit)
  const [, reverted] = /^Revert "(.*)"$/.exec(subject) ?? []
  const title = reverted === undefined ? `Revert "${subject}"` : `Reapply "${reverted}"`
  const what = others.length > 0 ? `${oid}, reversing\nchanges made to ${parent}` : oid
  return `${title}\n\nThis reverts commit ${what}.\n`
}

/** The name of our side in a rebase after its first commits, as a byte string. */
const rebasedOnto = (onto: string): string => `${onto} with the commits rebased so far`

export async function readCommit(objects: Objects, oid: Oid): Promise<Commit> {
  const object = await objects.read(oid)
  if (object?.type !== 'commit' || !object.bytes) throw new Error(`There is no commit ${oid}`)
  return parseCommit(object.bytes)
}

/** A copy of the repository whose git processes are also stopped by the signal. */
export function endedBy(repository: Repository, signal: AbortSignal): Repository {
  return { ...repository, signal: repository.signal ? AbortSignal.any([repository.signal, signal]) : signal }
}

/** The tree of a commit's parent. */
async function baseOf(objects: Objects, { parents: [parent] }: Commit): Promise<Oid> {
  return parent === undefined ? emptyTree(objects.repository.format) : await treeOfCommit(objects, parent)
}

/**
 * `owner`: the commit whose .forge folder (the AI's conversation) is kept: the target branch's commit in a cherry-pick,
 * the rebased branch's in a rebase. With `writtenHere` instead, the folder changes, too. `theirs`: the name of the
 * other side, in the names of files that git puts aside.
 */
type AppliedChange = { tree: Oid; from: Oid; to: Oid; theirs: string; signal: AbortSignal } & (
  | { owner: Oid }
  | { writtenHere: WrittenHere }
)

/** Applies the differences between two commits or trees (`from` and `to`) to a third tree. */
export async function applyChange(objects: Objects, change: AppliedChange): Promise<MergedTree> {
  const { tree, from, to, theirs, signal } = change
  const isTheSame = from === tree
  const merge = isTheSame
    ? { tree: await treeOfCommit(objects, to), stages: [], conflicts: [] }
    : await mergeTrees(endedBy(objects.repository, signal), tree, to, { base: from, objects })
  const applied =
    'owner' in change
      ? await withOwnFolder(objects, change.owner, merge)
      : await withAppliedFolder(objects, change, merge)
  return await withPlainNames(objects, applied, theirs)
}
