/** Publishes a good result: makes one commit, pushes it, and opens or updates the pull request. */
import { Failure } from '../core/failure.ts'
import { commit, isAncestor } from '../core/git/commits.ts'
import { openObjects } from '../core/git/objects.ts'
import type { Oid, Repository } from '../core/git/repository.ts'
import { treeOf } from '../core/git/trees.ts'
import type { MergeReview } from '../core/review.ts'
import type { Fork, Head } from './fork.ts'
import { readForkLessons } from './fork-lessons.ts'
import type { RunSteps } from './outcome.ts'
import type { ForkliftPlan } from './plan.ts'
import { isOurTitle, ledgerText, mergeBody, page, type Story } from './pull-request.ts'
import * as remotes from './remotes.ts'
import type { Report } from './terminal.ts'

export type Publishable = Extract<ForkliftPlan, { leftBehind: Head[] }>

/** The commit to publish, its review, and other facts for the page. */
type Publication = {
  /** The repository that has the commit. */
  from: Repository
  commit: Oid
  judged: MergeReview
  story: Story
  /** The command that publishes the result again after a failure. */
  again: string
}

/** The facts for the page about the repositories and older pull requests. */
export function storyOf({ origin, upstream, host, hosted }: Fork, plan: Publishable): Story {
  const leftBehind = plan.leftBehind.flatMap(({ pull }) => (pull ? [pull.url] : []))
  const branches = { originBranch: origin.branch, upstreamBranch: upstream.branch }
  const pages = { origin: host?.web, upstream: upstream.web, format: host?.page }
  return { ...branches, ...pages, buttons: hosted?.buttons, leftBehind }
}

/**
 * Pushes the commit as planned, and opens or updates the pull request. Yields each finding as soon as it is true, even
 * if a later step fails, and returns the last line of a good end.
 */
export async function* publish(
  fork: Fork,
  plan: Publishable,
  { from, commit: tip, judged, story, again }: Publication,
  report: Report,
): RunSteps {
  const { origin, host } = fork
  report.begin()
  const head = await headNow(fork, plan.head, story, report)
  const ref = head?.ref ?? (await remotes.newBranchName(fork))
  yield { branch: ref }
  if (plan.kind === 'merge') {
    if (await remotes.hasLargeFiles(fork)) await remotes.carryLargeFiles(fork, report)
    report.step(`Pushing ${ref}`)
    const faster = await remotes.pushCommit(fork, { from, commit: tip, ref, expected: head?.tip ?? '' }, again, report)
    if (faster) return `Pull request of another run: ${faster.url}`
  }
  const ledger = host ? '' : ledgerText(judged)
  if (ledger) report.step(ledger)
  if (!host) return `Pushed ${ref} to origin: merge it into ${origin.branch} there, with a merge commit.`
  const lessons = await readForkLessons(fork.repository)
  const { title, body, draft } = page(judged, { ...story, lessons })
  const pull = head?.pull
  try {
    const text = {
      title: pull && !isOurTitle(pull.title) ? pull.title : title,
      body: mergeBody(pull?.body ?? '', body, host.page),
    }
    if (pull && draft && !(await host.makeDraft(pull)))
      report.note(
        `${pull.url} stays ready, as ${host.name} makes no draft of it: look at its page before you merge it.`,
      )
    const made = pull
      ? await host.update(pull, text)
      : await host.open({ ...text, head: ref, base: origin.branch, draft })
    yield { pullRequest: made.url }
    return `Pull request ${pull ? 'updated' : 'opened'}: ${made.url}`
  } catch (error) {
    fork.repository.signal.throwIfAborted()
    if (!(error instanceof Failure)) throw error
    const link = host.linkToOpen(ref, origin.branch)
    // The advice "run forklift again" becomes the command `again`, which publishes the finished result without a new
    // run.
    const reason = error.message.replaceAll('run forklift again', `run ${again} again`)
    throw new Failure(`${ref} is pushed, its pull request is not made. ${reason} By hand: ${link}`)
  }
}

/**
 * The branch to push to; undefined where a new one is needed. A person may have merged or closed the pull request
 * during the run.
 */
async function headNow(fork: Fork, head: Head | undefined, story: Story, report: Report): Promise<Head | undefined> {
  const { host, origin } = fork
  if (!host || !head?.pull) return head
  const meanwhile = story.byHand === undefined ? 'while the agent worked' : 'meanwhile'
  const { number, url } = head.pull
  const pulls = await host.pullsFrom(head.ref, origin.branch)
  const pull = pulls.find(it => it.number === number) ?? head.pull
  if (pull.isOpen) return { ...head, pull }
  if (!pull.isMerged)
    throw new Failure(`A person closed ${url} ${meanwhile}: nothing was pushed. Run forklift for a new one.`)
  if (await remotes.hasNow(fork, origin, head.tip, report)) return undefined
  throw new Failure(`${url} was squashed ${meanwhile}, so this no longer fits it: run forklift again.`)
}

/**
 * Makes the published commit: the result's tree, with the start and upstream as parents, whatever the agent's history
 * was. If the start contains upstream already, it is the only parent.
 */
export async function mergeCommit(
  from: Repository,
  { result, start, upstream }: { result: Oid; start: Oid; upstream: Oid },
  identity: Fork['identity'],
  message: string,
): Promise<Oid> {
  await using objects = openObjects(from)
  const tree = await treeOf(objects, result)
  const parents = (await isAncestor(from, upstream, start)) ? [start] : [start, upstream]
  return await commit(objects, { tree, parents, message, author: identity, committer: identity })
}
