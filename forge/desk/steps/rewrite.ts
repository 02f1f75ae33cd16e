/**
 * Rewrites commits of a branch: amend, reword, squash, drop, reorder and split, as `git rebase --interactive` does.
 * Later commits are applied again; earlier ones stay.
 */
import { Failure } from '../../../core/failure.ts'
import { type Commit, isAncestor, textOf } from '../../../core/git/commits.ts'
import { subjectOf } from '../../../core/git/history.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { AMEND } from '../branches/undo.ts'
import type { WrittenHere } from '../branches/written-here.ts'
import { groupsOf } from '../conflicts/conflicts.ts'
import type { RewriteStep, Rewriting } from '../contract/steps.ts'
import { type Outcome, readCommit } from './picks.ts'
import { filesInConflict, notesOn, type Rewritten, type StepPlan, type StepTarget } from './plan.ts'
import { everyTime, type Once } from './plannings.ts'
import { applyItems, type Course, type Item } from './rewrite-items.ts'
import { splitItems } from './split.ts'

/** At most this many commits are applied again; above that, the step is refused and git rebase is needed. */
const MAX_COMMITS = 5000

/**
 * A branch whose commits are rewritten. `treeWithDrafts`: its files with all drafts, if its newest commit takes these.
 * `writtenHere`: the conversations written on this desk, to which rewritten ones are added.
 */
export type RewriteTarget = StepTarget & { treeWithDrafts: Oid | undefined; writtenHere: WrittenHere }

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
 * Plans a rewriting. Throws a {@link Failure} if a commit is not in the branch's first-parent history, or if a merge
 * prevents it.
 */
export async function planRewrite(
  objects: Objects,
  target: RewriteTarget,
  { rewriting, message: typed }: Pick<RewriteStep, 'rewriting' | 'message'>,
  once: Once = everyTime,
): Promise<StepPlan> {
  const { branch, tip } = target
  const line = await lineDownTo(objects, target, commitsOf(rewriting, tip))
  const rewrite = await rewriteOf(objects, line, rewriting, typed)
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
  const course: Course = {
    ...{ onto: rewrite.onto, items: rewrite.items, of: rewrite.items.length },
    ontoWords: rewrite.onto === undefined ? 'the beginning' : rewrite.onto.slice(0, 8),
    does: plan.does,
    writtenHere: target.writtenHere,
    ...(target.treeWithDrafts !== undefined && { drafts: { of: tip, tree: target.treeWithDrafts } }),
  }
  if (rewrite.onto !== undefined && !(await objects.info(rewrite.onto)))
    throw new Failure('This clone is shallow, and ends at the commit that would be rewritten: git fetch --unshallow.')
  const { picks } = await once(key, async pace => {
    return { picks: await applyItems(objects, course, pace), commits: line.map(({ oid }) => oid), same: 0 }
  })
  const { chain, tree, dropped, stop, outcomes = [] } = picks
  const made = outcomes.filter(it => it === 'new' || it === 'conflict' || it === 'waiting').length
  const isSame = made === 0 && rewrite.items.length === line.length
  const lost = dropped.map(({ subject }) => `“${visible(subject)}” changes nothing any more, and is left out.`)
  const { message } = rewrite
  const rewritten = rewrittenIn(line, rewrite, rewriting, outcomes)
  const left = { leftOut: dropped.map(({ subject }) => subject), notes: notesOn(stop) }
  const merged = mergedInto(line, rewriting)
  const shared = { ...plan, ...left, chain, tree, commits: made, warnings: lost, replaced, rewritten, merged, message }
  if (isSame) return { ...shared, is: 'nothing', words: 'nothing to do' }
  if (stop) {
    const where = `${filesInConflict(groupsOf(stop.merge).length)}, at commit ${stop.state.number} of ${stop.state.of}`
    return { ...shared, is: 'conflicts', words: where, stop }
  }
  if (rewrite.dropped > 0) return { ...shared, is: 'drops', words: `drops ${many(rewrite.dropped, 'commit')}` }
  // Counted are the old commits: a squash makes one of several, a split two of one.
  const old = rewrite.items.flatMap(({ commits }, at) => (outcomes[at] === 'kept' ? [] : commits))
  const count = new Set(old).size
  return { ...shared, is: 'clean', words: `rewrites ${many(count, 'commit')}` }
}

/** The commits that the rewriting names. */
function commitsOf(rewriting: Rewriting, tip: Oid): readonly Oid[] {
  switch (rewriting.do) {
    case 'amend':
      return [tip]
    case 'reword':
    case 'split':
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

async function rewriteOf(
  objects: Objects,
  line: readonly OnLine[],
  rewriting: Rewriting,
  typed: string | undefined,
): Promise<Rewrite> {
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
      const messages = [messageOf(into), ...others.map(oid => withoutFixupSubject(messageOf(oid)))]
      const joined = `${messages
        .map(message => message.trimEnd())
        .filter(Boolean)
        .join('\n\n')}\n`
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
    case 'split': {
      const commit = line.find(({ oid }) => oid === rewriting.commit) as OnLine
      const own = messageOf(commit.oid)
      const parts = await splitItems(objects, commit, rewriting.first)
      const [first, rest] = [
        { ...parts.first, message: typed ?? own },
        { ...parts.rest, message: rewriting.rest ?? own },
      ]
      const items = all.flatMap((oid): Item[] => (oid === commit.oid ? [first, rest] : [plain(oid)]))
      return { onto, items, does: `split ${commit.oid.slice(0, 8)}`, message: typed ?? own, dropped: 0 }
    }
  }
}

/** A message without the subject by which `git commit --squash` names another commit: git leaves it out, too. */
const withoutFixupSubject = (message: string): string => message.replace(/^(?:fixup|squash)! .*\n*/, '')

/** Some commits, each once, in the order of the history. */
function inOrder(all: readonly Oid[], some: readonly Oid[]): Oid[] {
  return all.filter(oid => some.includes(oid))
}

function textMessage(line: readonly OnLine[], oid: Oid): string {
  const commit = line.find(it => it.oid === oid)
  return commit ? textOf(commit.message, commit.encoding) : ''
}

/** The oldest commit that a rewriting replaces; undefined if it replaces none. */
function oldestReplaced(line: readonly OnLine[], { items }: Rewrite, rewriting: Rewriting): Oid | undefined {
  const changed = line.find(({ oid }, at) => !isKept(items[at], oid))
  return (changed ?? (isAmendedWithDrafts(rewriting) ? line.at(-1) : undefined))?.oid
}

/** The commits that were merged on the way, and that the rewriting leaves merged. */
function mergedInto(line: readonly OnLine[], rewriting: Rewriting): Oid[] {
  const dropped = rewriting.do === 'drop' ? rewriting.commits : []
  return line.flatMap(({ oid, parents }) => (dropped.includes(oid) ? [] : parents.slice(1)))
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

/** At most this many commits are listed in a preview. */
const MAX_LISTED_COMMITS = 200

/** What becomes of the commits from the oldest replaced one on, newest first. */
function rewrittenIn(
  line: readonly OnLine[],
  { items }: Rewrite,
  rewriting: Rewriting,
  outcomes: readonly Outcome[],
): Rewritten[] {
  const subjects = new Map(line.map(commit => [commit.oid, subjectOf(commit)]))
  const made = items.map(({ commits, message }, at): Rewritten & { outcome: Outcome } => {
    const outcome = outcomes[at] ?? 'waiting'
    const own = subjects.get(commits[0]) ?? ''
    const subject = message === undefined ? own : subjectOf({ message: Buffer.from(message), encoding: undefined })
    const isAmended = rewriting.do === 'amend' && at === items.length - 1
    const isMoved = rewriting.do === 'reorder' && rewriting.commits.includes(commits[0])
    const isOther = message !== undefined || commits.length > 1 || isAmended || isMoved
    const whole = isOther ? BECOMES[rewriting.do] : 'reapplied'
    const becomes = outcome === 'kept' || outcome === 'new' ? whole : outcome
    return { from: [...commits], subject, becomes, outcome }
  })
  const gone = rewriting.do === 'drop' ? rewriting.commits : []
  const dropped = line.filter(({ oid }) => gone.includes(oid))
  // A dropped commit is listed directly above its older neighbour.
  for (const { oid } of dropped) {
    const older = new Set(
      line
        .slice(
          0,
          line.findIndex(it => it.oid === oid),
        )
        .map(it => it.oid),
    )
    const at = made.findLastIndex(({ from }) => from.some(it => older.has(it))) + 1
    made.splice(at, 0, { from: [oid], subject: subjects.get(oid) ?? '', becomes: 'dropped', outcome: 'new' })
  }
  const changed = made.filter(({ outcome }) => outcome !== 'kept')
  return changed
    .map(({ outcome: _, ...row }) => row)
    .reverse()
    .slice(0, MAX_LISTED_COMMITS)
}

const BECOMES = {
  amend: 'amended',
  reword: 'reworded',
  squash: 'squashed',
  split: 'split',
  drop: 'reapplied',
  reorder: 'moved',
} as const
