/**
 * Rewrites commits of a branch: amend, reword, squash, drop and reorder, as `git rebase --interactive` does. Later
 * commits are applied again; earlier ones stay.
 */
import { Failure } from '../../../core/failure.ts'
import { type Commit, isAncestor, textOf } from '../../../core/git/commits.ts'
import { subjectOf } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, type Oid } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { emptyTree } from '../../../core/git/trees.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { AMEND } from '../branches/undo.ts'
import { groupsOf, isClean } from '../conflicts/conflicts.ts'
import type { RewriteStep, Rewriting } from '../contract/steps.ts'
import { applyChange, type Pace, type Picks, readCommit } from './picks.ts'
import { filesInConflict, type Planned, type StepPlan, type StepTarget } from './plan.ts'
import { everyTime, type Once } from './plannings.ts'

/** At most this many commits are applied again; above that, the step is refused and git rebase is needed. */
const MAX_COMMITS = 5000

/**
 * A branch whose commits are rewritten. `treeWithDrafts`: its files with all drafts, if its newest commit takes these.
 */
export type RewriteTarget = StepTarget & { treeWithDrafts: Oid | undefined }

/** One resulting commit: the first of these commits, with the changes of the others added. */
type Item = { commits: readonly [Oid, ...Oid[]]; message?: string | undefined }

/** A commit in the branch's first-parent history. */
type OnLine = Commit & { oid: Oid }

type Rewrite = {
  /** The parent of the first rewritten commit; undefined before a first commit. */
  onto: Oid | undefined
  /** The resulting commits, oldest first. */
  items: readonly Item[]
  /** The operation in a few words, without the branch. */
  does: string
  /** The default of the message that the user can edit. */
  message?: string | undefined
  dropped: number
}

/**
 * Plans a rewriting. Throws a {@link Failure} if a commit is not in the branch's first-parent history, if a merge
 * prevents it, or if a conflict could not wait because more than plain commits follow it.
 */
export async function planRewrite(
  objects: Objects,
  target: RewriteTarget,
  { rewriting, message: typed }: Pick<RewriteStep, 'rewriting' | 'message'>,
  once: Once = everyTime,
): Promise<StepPlan> {
  const { branch, tip } = target
  const line = await lineDownTo(objects, target, commitsOf(rewriting, tip))
  const rewrite = rewriteOf(line, rewriting, typed)
  const name = visiblePath(branch)
  const plan = {
    branch,
    before: tip,
    kind: rewriting.do === 'amend' ? AMEND : 'rewrite',
    does: `${rewrite.does} in ${name}`,
    onto: rewrite.onto,
    also: [],
  }
  const replaced = oldestReplaced(line, rewrite, rewriting)
  await verifyNoLaterMerge(objects, line, replaced)
  const key = `rewrite ${tip} ${target.treeWithDrafts} ${JSON.stringify(rewriting)} ${typed ?? ''}`
  const { picks } = await once(key, async pace => {
    return { picks: await apply(objects, target, line, { rewrite, rewriting }, pace), commits: line.length, same: 0 }
  })
  const { chain, tree, dropped, stop } = picks
  const made = chain.filter(({ is }) => is === 'new').length + (stop ? 1 + stop.state.todo.length : 0)
  const isSame = made === 0 && rewrite.items.length === line.length
  const lost = dropped.map(({ subject }) => `“${visible(subject)}” changes nothing any more, and is left out.`)
  const { message } = rewrite
  const shared = { ...plan, chain, tree, commits: made, warnings: lost, replaced, message }
  if (isSame) return { ...shared, is: 'nothing', words: 'nothing to do' }
  if (stop) {
    const where = `${filesInConflict(groupsOf(stop.merge).length)}, at commit ${stop.state.number} of ${stop.state.of}`
    return { ...shared, is: 'conflicts', words: where, stop }
  }
  if (rewrite.dropped > 0) return { ...shared, is: 'drops', words: `drops ${many(rewrite.dropped, 'commit')}` }
  return { ...shared, is: 'clean', words: made === 1 ? 'rewrites 1 commit' : `rewrites ${made} commits` }
}

/** The commits that the rewriting names. */
function commitsOf(rewriting: Rewriting, tip: Oid): readonly Oid[] {
  switch (rewriting.do) {
    case 'amend':
      return [tip]
    case 'reword':
      return [rewriting.commit]
    case 'squash':
    case 'drop':
      return rewriting.commits
    case 'reorder':
      return rewriting.after === 'before the first' ? rewriting.commits : [...rewriting.commits, rewriting.after]
  }
}

/** The first-parent history from the oldest of some commits to the tip, oldest first. */
async function lineDownTo(objects: Objects, { branch, tip }: StepTarget, needed: readonly Oid[]): Promise<OnLine[]> {
  const missing = new Set(needed)
  const line: OnLine[] = []
  let next: Oid | undefined = tip
  while (missing.size > 0 && next !== undefined) {
    if (line.length === MAX_COMMITS)
      throw new Failure(`The commit is more than ${MAX_COMMITS} commits back: use git rebase --interactive.`)
    const commit: Commit = await readCommit(objects, next)
    line.push({ ...commit, oid: next })
    missing.delete(next)
    next = commit.parents[0]
  }
  const [first] = missing
  if (first === undefined) return line.reverse()
  const short = first.slice(0, 8)
  const isIn = await isAncestor(objects.repository, first, tip)
  throw new Failure(
    isIn
      ? `${short} came into ${visiblePath(branch)} by a merge: it can be changed on a branch of its own only.`
      : `${short} is not in ${visiblePath(branch)}.`,
  )
}

function rewriteOf(line: readonly OnLine[], rewriting: Rewriting, typed: string | undefined): Rewrite {
  const onto = line[0]?.parents[0]
  const plain = (oid: Oid): Item => ({ commits: [oid] })
  const all = line.map(({ oid }) => oid)
  const messageOf = (oid: Oid) => textMessage(line, oid)
  switch (rewriting.do) {
    case 'amend':
    case 'reword': {
      const oid = rewriting.do === 'amend' ? (all.at(-1) ?? '') : rewriting.commit
      const own = messageOf(oid)
      // Without a typed message the commit is planned as reworded, so that the preview shows what that would rewrite.
      const isOther = typed === undefined ? !isAmendedWithDrafts(rewriting) : typed.trim() !== own.trim()
      const item = isOther ? { commits: [oid] as const, message: typed ?? own } : plain(oid)
      const does = `${rewriting.do} ${oid.slice(0, 8)}`
      return { onto, items: all.map(it => (it === oid ? item : plain(it))), does, message: typed ?? own, dropped: 0 }
    }
    case 'squash': {
      const [into, ...others] = inOrder(all, rewriting.commits)
      if (into === undefined || others.length === 0)
        throw new Failure('Select the commits to be squashed: two or more.')
      const joined = `${[into, ...others].map(oid => messageOf(oid).trimEnd()).join('\n\n')}\n`
      const message = typed ?? (rewriting.isFixup ? undefined : joined)
      const merge = line.find(({ oid, parents }) => others.includes(oid) && parents.length > 1)
      if (merge) throw new Failure(`${merge.oid.slice(0, 8)} is a merge, and can’t be squashed into another commit.`)
      const item: Item = { commits: [into, ...others], message }
      const items = all.flatMap(it => (it === into ? [item] : others.includes(it) ? [] : [plain(it)]))
      const does = `squash ${many(others.length + 1, 'commit')}`
      return { onto, items, does, ...(!rewriting.isFixup && { message: typed ?? joined }), dropped: 0 }
    }
    case 'drop': {
      const gone = inOrder(all, rewriting.commits)
      const items = all.filter(it => !gone.includes(it)).map(plain)
      const does = gone.length === 1 ? `drop ${gone[0]?.slice(0, 8)}` : `drop ${many(gone.length, 'commit')}`
      if (onto === undefined && items.length === 0)
        throw new Failure('A branch needs a commit: to drop all of them, delete the branch.')
      return { onto, items, does, dropped: gone.length }
    }
    case 'reorder': {
      const moved = inOrder(all, rewriting.commits)
      const { after } = rewriting
      if (after !== 'before the first' && moved.includes(after))
        throw new Failure('A commit can’t be put after itself: choose another place.')
      const rest = all.filter(it => !moved.includes(it))
      const at = after === 'before the first' ? 0 : rest.indexOf(after) + 1
      const items = [...rest.slice(0, at), ...moved, ...rest.slice(at)].map(plain)
      const does = moved.length === 1 ? `reorder ${moved[0]?.slice(0, 8)}` : `reorder ${many(moved.length, 'commit')}`
      return { onto, items, does, dropped: 0 }
    }
  }
}

/** Some commits, each once, in the order of the history. */
function inOrder(all: readonly Oid[], some: readonly Oid[]): Oid[] {
  return all.filter(oid => some.includes(oid))
}

function textMessage(line: readonly OnLine[], oid: Oid): string {
  const commit = line.find(it => it.oid === oid)
  return commit ? textOf(commit.message, commit.encoding) : ''
}

/** The oldest commit that becomes another one. The commits before it stay; undefined if all do. */
function oldestReplaced(line: readonly OnLine[], { items }: Rewrite, rewriting: Rewriting): Oid | undefined {
  const changed = line.find(({ oid }, at) => !isKept(items[at], oid))
  return (changed ?? (isAmendedWithDrafts(rewriting) ? line.at(-1) : undefined))?.oid
}

/** Throws if a branch that was merged later begins at the oldest replaced commit or after it. */
async function verifyNoLaterMerge(
  { repository }: Objects,
  line: readonly OnLine[],
  replaced: Oid | undefined,
): Promise<void> {
  const merged = line.flatMap(({ parents }) => parents.slice(1))
  if (replaced === undefined || merged.length === 0) return
  const args = ['rev-list', '-n', '1', '--ancestry-path', ...merged, `^${replaced}`, '--']
  if (!merged.includes(replaced) && (await read(repository, args)) === '') return
  throw new Failure(
    `A branch that was merged later begins after ${replaced.slice(0, 8)}: use git rebase --rebase-merges.`,
  )
}

const isKept = (item: Item | undefined, oid: Oid): boolean =>
  item?.commits.length === 1 && item.commits[0] === oid && item.message === undefined

const isAmendedWithDrafts = (rewriting: Rewriting): boolean => rewriting.do === 'amend' && rewriting.isWithDrafts

type Work = { rewrite: Rewrite; rewriting: Rewriting }

/** Applies the items, one after the other, up to the end or the first conflict that can wait. */
async function apply(
  objects: Objects,
  { tip: branchTip, treeWithDrafts }: RewriteTarget,
  line: readonly OnLine[],
  { rewrite: { onto, items }, rewriting }: Work,
  { signal, tell }: Pace,
): Promise<Picks> {
  const { format } = objects.repository
  const byOid = new Map(line.map(commit => [commit.oid, commit]))
  const treeOf = async (oid: Oid | undefined) =>
    oid === undefined ? emptyTree(format) : (byOid.get(oid) ?? (await readCommit(objects, oid))).tree
  const ontoWords = onto === undefined ? 'the beginning' : onto.slice(0, 8)
  const chain: Planned[] = []
  const dropped: Picks['dropped'] = []
  if (onto !== undefined && !(await objects.info(onto)))
    throw new Failure('This clone is shallow, and ends at the commit that would be rewritten: git fetch --unshallow.')
  let tree = await treeOf(onto)
  let tip = onto
  for (const [at, { commits, message }] of items.entries()) {
    signal.throwIfAborted()
    tell(`Rewriting: commit ${at + 1} of ${items.length}`)
    const [first, ...others] = commits
    const commit = byOid.get(first) as OnLine
    const takesDrafts = first === branchTip && treeWithDrafts !== undefined && treeWithDrafts !== commit.tree
    const isChanged = message !== undefined || others.length > 0 || takesDrafts
    if (!isChanged && commit.parents[0] === tip) {
      chain.push({ is: 'there', commit: first, tree: commit.tree })
      tip = first
      tree = commit.tree
      continue
    }
    tip = undefined
    const before = tree
    for (const oid of commits) {
      const picked = byOid.get(oid) as OnLine
      const base = await treeOf(picked.parents[0])
      const short = oid.slice(0, 8)
      // The conversation moves with its branch's commits; after a reordering, the newest commit gets the branch's
      // current conversation.
      const owner = at === items.length - 1 && rewriting.do === 'reorder' ? branchTip : oid
      const merge = await applyChange(objects, { tree, from: base, to: oid, owner, theirs: short, signal })
      if (isClean(merge)) {
        tree = merge.tree
        continue
      }
      const todo = items.slice(at + 1)
      verifyCanWait(picked, { isPlain: !isChanged, todo, byOid })
      const subject = subjectOf(picked)
      const state = {
        ...{ does: 'rebase' as const, base: picked.parents[0] ?? null, todo: todo.map(it => it.commits[0]), subject },
        ...{ number: at + 1, of: items.length, onto: ontoWords },
      }
      const words = { ours: ontoWords, theirs: asBytes(`${short} (${visible(subject)})`) }
      return { chain, tree, dropped, stop: { merge, ours: tree, theirs: oid, words, state } }
    }
    if (takesDrafts) tree = treeWithDrafts
    const wasEmpty = commit.tree === (await treeOf(commit.parents[0]))
    if (tree === before && !wasEmpty && commit.parents.length < 2 && !isChanged) {
      dropped.push({ commit: first, subject: subjectOf(commit) })
      continue
    }
    const { author, encoding } = commit
    const words = message === undefined ? { message: commit.message, encoding } : { message }
    chain.push({ is: 'new', tree, others: commit.parents.slice(1), ...words, author })
  }
  return { chain, tree, dropped }
}

/** Throws if more than plain commits are left after a conflict, since a waiting merge stores only those. */
function verifyCanWait(
  { oid, parents }: OnLine,
  { isPlain, todo, byOid }: { isPlain: boolean; todo: readonly Item[]; byOid: ReadonlyMap<Oid, OnLine> },
): void {
  const short = oid.slice(0, 8)
  if (parents.length > 1) throw new Failure(`The merge ${short} would get conflicts: use git rebase --rebase-merges.`)
  const arePlain = todo.every(
    ({ commits, message }) =>
      message === undefined && commits.length === 1 && (byOid.get(commits[0])?.parents.length ?? 0) < 2,
  )
  if (isPlain && arePlain) return
  throw new Failure(
    `${short} would get conflicts: reorder it to where it should be first, which lets you resolve them, and squash it then.`,
  )
}
