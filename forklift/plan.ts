/**
 * Decides where a run starts and whether there is anything to do, from the commits of the open pull request, which one
 * run opens and later runs add to.
 */
import { commit, isAncestor } from '../core/git/commits.ts'
import { mergeTrees } from '../core/git/merges.ts'
import { openObjects } from '../core/git/objects.ts'
import type { Oid } from '../core/git/repository.ts'
import { read } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { allOf } from '../core/together.ts'
import type { Fork, Head } from './fork.ts'
import type { PullRequest, PullRequestHost } from './host.ts'
import { isOurPage } from './pull-request.ts'
import * as remotes from './remotes.ts'
import type { Report } from './terminal.ts'

export type ForkliftPlan =
  | { kind: 'nothing'; because: string }
  /** The branch is on origin already, only its pull request is missing. */
  | { kind: 'propose'; head: Head; leftBehind: Head[] }
  /** Merge upstream into `start`. `head`: the branch to continue; undefined: a new one. */
  | { kind: 'merge'; start: Oid; head?: Head; leftBehind: Head[] }

/** A plan with something to merge. */
export type MergePlan = Extract<ForkliftPlan, { kind: 'merge' }>

/**
 * The facts for the decision what to publish. `heads`: Forklift's branches on origin, newest first. `closed`: its pull
 * requests that people have closed, merged or not.
 */
type Situation = {
  scratch: Scratch
  origin: Oid
  upstream: Oid
  heads: Head[]
  closed: PullRequest[]
  host: PullRequestHost | undefined
  /**
   * Whether the user publishes a merge of their own (--publish): reasons that keep a scheduled run from starting do not
   * count then.
   */
  isByHand: boolean
  fetchCommit: (oid: Oid) => Promise<boolean>
}

/** After this many updates in a row without a comment or review by a person, a pull request is no longer updated. */
const UPDATES_UNSEEN = 7
/** The author and time of helper commits: fixed, so that every run makes the same commits. */
const FORKLIFT_AUTHOR = {
  name: 'Forklift',
  email: 'forklift@forklift.invalid',
  date: { seconds: Date.UTC(2000, 0) / 1000, zone: '+0000' },
}

/** Collects the facts for the decision, and decides. */
export async function decideWhereToStart(
  fork: Fork,
  scratch: Scratch,
  isByHand: boolean,
  report: Report,
): Promise<ForkliftPlan> {
  const { origin, upstream, host } = fork
  const pulls = await fork.pulls
  const heads = await remotes.fetchOurHeads(fork, pulls, report)
  // The host's list is limited: pull requests into other branches may have displaced Forklift's.
  const all = host && pulls.mayBeMore ? await host.pullsInto(origin.branch, 'closed') : pulls.closed
  const closed = all.filter(pull => remotes.isOurs(pull.branch)).slice(0, 20)
  const fetchCommit = (oid: Oid) => remotes.commitIsHere(fork, oid, report)
  const commits = { origin: origin.tip, upstream: upstream.tip }
  return await whereToStart({ scratch, host, ...commits, heads, closed, isByHand, fetchCommit })
}

async function whereToStart(now: Situation): Promise<ForkliftPlan> {
  const refused = now.isByHand ? undefined : await closedForThisUpstream(now)
  if (refused) return nothing(`a person closed #${refused.number} for this upstream commit: it is not opened again`)
  const leftBehind: Head[] = []
  for (const head of now.heads) {
    const updates = await updatesOn(now, head.tip)
    const isOurs = updates || isOurPage(head.pull?.body ?? '')
    if (!isOurs && !(await isAncestor(now.scratch, head.tip, now.upstream))) continue
    const [join, isCurrent] = await allOf([
      joinOf(now.scratch, head.tip, now.origin),
      isAncestor(now.scratch, now.upstream, head.tip),
    ])
    if (!join) {
      leftBehind.push(head)
      continue
    }
    const name = nameOfHead(head)
    if (isCurrent) {
      if (now.host && !head.pull) return { kind: 'propose', head, leftBehind }
      // The user publishes a merge of their own, which may differ from what this branch has.
      if (now.isByHand) return { kind: 'merge', start: join, head, leftBehind }
      return nothing(`${name} already brings upstream's newest commit: it waits to be merged`)
    }
    const attention = head.pull && now.host && !now.isByHand ? await now.host.attention(head.pull) : undefined
    if (attention?.approved) return nothing(`${name} is approved and waits to be merged`)
    const seen = (updates ?? []).map(({ ours, date }) => !ours || date <= Date.parse(attention?.lastSign || '1970'))
    if (attention && [...seen, true].indexOf(true) >= UPDATES_UNSEEN) {
      return nothing(
        `${name} was updated ${UPDATES_UNSEEN} times without a word from anyone: comment, review or close it`,
      )
    }
    return { kind: 'merge', start: join, head, leftBehind }
  }
  const repair = await repairAfterSquash(now)
  if (repair?.upstream === now.upstream)
    return nothing(`#${repair.pull.number} already brought upstream's newest commit, squashed or rebased`)
  return { kind: 'merge', start: repair?.start ?? now.origin, leftBehind }
}

/** Names a branch of Forklift's in a sentence, by its pull request where it has one. */
export const nameOfHead = ({ ref, pull }: Head): string =>
  pull ? `pull request #${pull.number} (${pull.url})` : `branch ${ref} on origin`

const nothing = (because: string): ForkliftPlan => ({ kind: 'nothing', because })

/**
 * A commit that contains a branch and origin's branch: the branch itself if it does, else a clean merge. Undefined
 * where they conflict.
 */
export async function joinOf(scratch: Scratch, tip: Oid, origin: Oid): Promise<Oid | undefined> {
  if (await isAncestor(scratch, origin, tip)) return tip
  const { stages, tree } = await mergeTrees(scratch, tip, origin)
  return stages.length > 0 ? undefined : helperCommit(scratch, tree, [tip, origin], 'Join the fork as it is now')
}

/** Makes a helper commit, the same on every run. `message` is one line. */
export async function helperCommit(scratch: Scratch, tree: Oid, parents: Oid[], message: string): Promise<Oid> {
  await using objects = openObjects(scratch)
  return await commit(objects, {
    tree,
    parents,
    message: `${message}\n`,
    author: FORKLIFT_AUTHOR,
    committer: FORKLIFT_AUTHOR,
  })
}

/**
 * The first-parent commits of a branch beyond origin's, newest first, without helper commits; Forklift's are recognised
 * by their trailer. Undefined where none is Forklift's: then the branch is a person's.
 */
async function updatesOn({ scratch, origin }: Situation, tip: Oid) {
  const format = '%(trailers:key=Forklift-Upstream,valueonly,separator=%x2C)%x09%ct%x09%ae'
  const log = await read(scratch, ['log', '--first-parent', `--format=${format}`, `${origin}..${tip}`])
  const commits = log.split('\n').filter(Boolean)
  const updates = commits.map(line => {
    const [upstream = '', date = '', author] = line.split('\t')
    const ours = /^[0-9a-f]{40,64}$/.test(upstream)
    // Published commits have Forklift's author too where the user has no name set. Only the trailer tells them from
    // helper commits.
    return { upstream, ours, isHelper: !ours && author === FORKLIFT_AUTHOR.email, date: Number(date) * 1000 }
  })
  return updates.some(({ ours, isHelper }) => ours || isHelper)
    ? updates.filter(({ isHelper }) => !isHelper)
    : undefined
}

/** The upstream commit that a pull request merges, by its head commit, whose branch origin may have deleted. */
async function upstreamOf(now: Situation, pull: PullRequest): Promise<Oid | undefined> {
  if (pull.tip === now.upstream) return now.upstream
  if (await now.fetchCommit(pull.tip)) {
    const newest = (await updatesOn(now, pull.tip))?.find(commit => commit.ours)
    return newest?.upstream
  }
  const message = await now.host?.commitMessage(pull.tip)
  return /^Forklift-Upstream: ([0-9a-f]{40,64})$/m.exec(message ?? '')?.[1]
}

async function closedForThisUpstream(now: Situation): Promise<PullRequest | undefined> {
  for (const pull of now.closed) {
    if (!pull.isMerged && (await upstreamOf(now, pull)) === now.upstream) return pull
  }
  return undefined
}

/**
 * After a pull request was squashed or rebased, upstream's commits are not in origin's history, so their conflicts
 * would come back every day. If merging the pull request's head into the resulting commit changes nothing, the start is
 * a merge commit that records this: origin's tree, with the upstream commit as its second parent.
 */
async function repairAfterSquash(
  now: Situation,
): Promise<{ start: Oid; upstream: Oid; pull: PullRequest } | undefined> {
  for (const pull of now.closed) {
    const landed = pull.mergedAs
    if (!pull.isMerged || !landed || !(await now.fetchCommit(landed)) || !(await now.fetchCommit(pull.tip))) continue
    // A later merge commit brought everything that earlier pull requests had, so nothing needs repair.
    if (await isAncestor(now.scratch, pull.tip, now.origin)) return undefined
    if (!(await isAncestor(now.scratch, landed, now.origin))) continue
    const upstream = await upstreamOf(now, pull)
    if (!upstream || (await isAncestor(now.scratch, upstream, now.origin))) continue
    const merge = await mergeTrees(now.scratch, landed, pull.tip)
    const trees = await read(now.scratch, ['rev-parse', `${landed}^{tree}`, `${now.origin}^{tree}`])
    const [landedTree, originTree = ''] = trees.split('\n')
    if (merge.stages.length > 0 || merge.tree !== landedTree) continue
    const message = `Record that #${pull.number} brought upstream's commits`
    const start = await helperCommit(now.scratch, originTree, [now.origin, upstream], message)
    return { start, upstream, pull }
  }
  return undefined
}
