/** Applies the commits of a rewriting one after the other, up to the end or the first conflict. */
import { type Commit, textOf } from '../../../core/git/commits.ts'
import { subjectOf } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, type Oid } from '../../../core/git/repository.ts'
import { emptyTree } from '../../../core/git/trees.ts'
import { visible } from '../../../core/text.ts'
import type { StoredRewrite } from '../branches/merging-commits.ts'
import { isClean } from '../conflicts/conflicts.ts'
import { applyChange, type Outcome, type Pace, type Picks, readCommit } from './picks.ts'
import { type Planned, type Stop, treeOfCommit } from './plan.ts'

/** One resulting commit: the first of these commits, with the changes of the others added. */
export type Item = {
  commits: readonly [Oid, ...Oid[]]
  message?: string | undefined
  /** For a part of a commit that is split: the trees between which its changes are. */
  part?: { from: Oid; to: Oid } | undefined
}

/** The commits to make, and where they begin. */
export type Course = {
  /** The parent of the first item; undefined for a first commit. */
  onto: Oid | undefined
  items: readonly Item[]
  /**
   * If a conflict in the first item was resolved: the item's tree so far, and how many of its commits that tree
   * contains.
   */
  begun?: { tree: Oid; applied: number } | undefined
  /** The number of all items of the rewriting, including those already made. */
  of: number
  /** The name, as shown on the screen, of the commit at which the rewriting starts. */
  ontoWords: string
  /** The name of what the first item is applied to, if that is not the commit at which the rewriting starts. */
  ours?: string
  /** The operation in a few words. */
  does: string
  /** The files that the branch's newest commit, `of`, gets from the drafts. */
  drafts?: { of: Oid; tree: Oid } | undefined
  /** The subjects of the commits that were left out before. */
  leftOut?: readonly string[]
}

export async function applyItems(objects: Objects, course: Course, { signal, tell }: Pace): Promise<Picks> {
  const { onto, items, begun, of, ontoWords, does, drafts, leftOut = [] } = course
  const read = commitReader(objects)
  const nothing = emptyTree(objects.repository.format)
  const treeOf = async (oid: Oid | undefined) => (oid === undefined ? nothing : (await read(oid)).tree)
  const chain: Planned[] = []
  const outcomes: Outcome[] = []
  const dropped: Picks['dropped'] = []
  /** The items so far that stay as they are: all of them come first, and are not counted. */
  let kept = 0
  let ours = course.ours ?? ontoWords
  let tree = onto === undefined ? nothing : await treeOfCommit(objects, onto)
  // The existing commit that the chain has reached; undefined once a new one was made.
  let tip = begun ? undefined : { oid: onto }
  for (const [at, item] of items.entries()) {
    signal.throwIfAborted()
    const number = of - items.length + at + 1 - kept
    tell(`Rewriting: commit ${number} of ${of - kept}`)
    const { commits, message, part } = item
    const commit = await read(commits[0])
    const takesDrafts = commits[0] === drafts?.of && drafts.tree !== commit.tree
    const isChanged = message !== undefined || commits.length > 1 || takesDrafts
    if (tip && !isChanged && commit.parents[0] === tip.oid) {
      chain.push({ is: 'there', commit: commits[0], tree: commit.tree })
      outcomes.push('kept')
      kept++
      ours = nameOf(commits[0], commit)
      tip = { oid: commits[0] }
      tree = commit.tree
      continue
    }
    tip = undefined
    const before = tree
    const done = at === 0 && begun ? begun.applied : 0
    if (at === 0 && begun) tree = begun.tree
    for (const [index, oid] of commits.entries()) {
      if (index < done) continue
      const picked = await read(oid)
      const short = oid.slice(0, 8)
      const change = (index === 0 && part) || { from: await treeOf(picked.parents[0]), to: oid }
      const merge = await applyChange(objects, { tree, ...change, theirs: short, signal })
      if (isClean(merge)) {
        tree = merge.tree
        continue
      }
      const rest = [...commits.slice(index + 1), ...items.slice(at + 1).flatMap(it => it.commits)]
      const isBegun = index > 0
      if (isBegun) {
        chain.push(newCommit(commit, tree, message))
        ours = nameOf(commits[0], commit)
      }
      const own = message ?? (isBegun ? textOf(commit.message, commit.encoding) : undefined)
      const left = items.slice(at + 1).map(storedItem)
      const rewrite: StoredRewrite = { items: [storedItem(item), ...left], applied: index + 1, amends: isBegun, does }
      const state: Stop['state'] = {
        ...{ does: 'rebase', base: picked.parents[0] ?? null, todo: rest, subject: subjectOf(picked) },
        ...{ number, of: of - kept, onto: ontoWords, rewrite, ...(own !== undefined && { message: own }) },
        leftOut: [...leftOut, ...dropped.map(it => it.subject)],
      }
      const words = { ours, theirs: nameOf(oid, picked) }
      outcomes.push('conflict', ...items.slice(at + 1).map((): Outcome => 'waiting'))
      return { chain, tree, dropped, outcomes, stop: { merge, ours: tree, theirs: oid, words, state } }
    }
    if (takesDrafts) tree = drafts.tree
    const wasEmpty = commit.tree === (await treeOf(commit.parents[0]))
    if (tree === before && !wasEmpty && commit.parents.length < 2 && !isChanged) {
      dropped.push({ commit: commits[0], subject: subjectOf(commit) })
      outcomes.push('empty')
      continue
    }
    chain.push(newCommit(commit, tree, message))
    ours = nameOf(commits[0], commit)
    outcomes.push('new')
  }
  return { chain, tree, dropped, outcomes }
}

/** The name of a commit on the screen, as a byte string. One that is made again has the id that it had before. */
const nameOf = (oid: Oid, commit: Commit): string => asBytes(`${oid.slice(0, 8)} (${visible(subjectOf(commit))})`)

function storedItem({ commits: [first, ...others], message, part }: Item): StoredRewrite['items'][0] {
  return { commits: [first, ...others], ...(message !== undefined && { message }), ...(part && { part }) }
}

/** A commit like another one, with its author and its parents after the first. */
function newCommit({ message: own, encoding, author, parents }: Commit, tree: Oid, message?: string): Planned {
  const words = message === undefined ? { message: own, encoding } : { message }
  return { is: 'new', tree, others: parents.slice(1), ...words, author }
}

/** Reads commits, each once. */
function commitReader(objects: Objects): (oid: Oid) => Promise<Commit> {
  const known = new Map<Oid, Commit>()
  return async oid => {
    const commit = known.get(oid) ?? (await readCommit(objects, oid))
    known.set(oid, commit)
    return commit
  }
}
