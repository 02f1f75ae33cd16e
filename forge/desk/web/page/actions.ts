/** Functions that run an action in the page, with their dialogs, notices and errors. */
import { branchWhileTyping, named, readable, shortId, toName } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { branchOf, draftsOf } from './branch-facts.ts'
import { branchWarning } from './case-twins.ts'
import type { RemoteBranch } from './remote-branches.ts'
import type { Page, Tab } from './state.ts'

interface About {
  branch?: string | undefined
  /** The topic whose earlier notices are removed when the action succeeds. */
  topic?: string
  /** Whether the notice of a failure still applies; it disappears when this returns false. */
  lasts?: ((page: Page) => boolean) | undefined
}

/**
 * The topic of an action that names none. Its failure replaces the one shown before for the same branch, and is hidden
 * when such an action succeeds there.
 */
const ACTION = 'action'

/** Runs an action. If it fails, shows a notice with the error. */
export async function attempt(page: Page, run: () => Promise<unknown>, about: About = {}): Promise<void> {
  const { branch, topic = ACTION } = about
  // Where the branch was deleted, that is the reason of the failure: the notice goes when the branch is restored.
  const isGone = () => branch !== undefined && page.isGone({ kind: 'branch', branch })
  try {
    await run()
    page.solved(topic, branch)
  } catch (error) {
    const lasts = about.lasts ?? (isGone() ? isGone : undefined)
    page.complain(error, { branch, topic, lasts })
  }
}

/** Shows the commits that someone else has added to a branch, as a review. */
export function showWhatCameIn(tab: Tab, moved: { from: string; to: string }): void {
  tab.review.cameIn.value = { from: moved.from, to: moved.to }
  tab.review.kind.value = 'came in'
  tab.show({ kind: 'review' })
}

/** The start of a new branch: a commit, and its name on the screen. */
export interface Start {
  commit: string
  words: string
  /** The remote branch, if the start is one. */
  remote?: RemoteBranch | undefined
}

/** The start of a new branch if none is given: the shown commit or branch, else the branch of HEAD. */
function startHere(page: Page): Start | undefined {
  const tab = page.tab.peek()
  if (tab?.at.kind === 'commit') return { commit: tab.at.commit, words: shortId(tab.at.commit) }
  const branch = page.branch(branchOf(tab) ?? page.desk.peek()?.head ?? '') ?? page.desk.peek()?.branches[0]
  return branch && { commit: branch.tip, words: branch.name }
}

/** Asks for the name of a new branch and creates it. `name` fills the field. */
export function newBranch(page: Page, start: Start | undefined = startHere(page), name?: string): void {
  const remote = start?.remote
  const namesake = remote && !page.branch(remote.name) ? readable(remote.name) : ''
  // A branch of another name would be pushed to the remote branch that it tracks.
  const tracks = remote ? ` With the name ${named(remote.name)}, it tracks ${named(remote.words)}.` : ''
  const isStash = start !== undefined && isStashed(page, start.commit)
  const untracked = isStash ? ' Untracked files of the stash come along as drafts.' : ''
  page.dialog.value = {
    kind: 'ask',
    title: 'New branch',
    label: 'Branch name',
    value: name ?? namesake,
    button: 'Create branch',
    whileTyping: branchWhileTyping,
    warn: typed => branchWarning(page, toName(typed)),
    ...(start && { hint: `It starts at ${whereOf(start)}.${tracks}${untracked}${whatOfDrafts(page, start)}` }),
    run: async typed => {
      const branch = toName(typed)
      const upstream = branch === remote?.name ? { tracks: remote.ref } : {}
      await page.connection.ask('new branch', { branch, from: start?.commit ?? null, ...upstream })
      page.open({ kind: 'branch', branch })
      page.wantFocus()
    },
  }
}

const isStashed = ({ graph }: Page, commit: string): boolean =>
  graph.labels
    .peek()
    .get(commit)
    ?.some(({ kind }) => kind === 'stash') === true

/** Says that the drafts of the branch that a new one starts from stay there, and how they are taken along. */
function whatOfDrafts(page: Page, { words: branch }: Start): string {
  const { length: count } = draftsOf(page, branch)
  if (count === 0) return ''
  const along = `“Move drafts to a new branch…” takes ${count === 1 ? 'it' : 'them'} along.`
  return ` ${count === 1 ? 'Its draft stays' : `Its ${plural(count, 'draft')} stay`} there: ${along}`
}

/** The start of a new branch in words: the name of the branch that it starts from, and the short commit id. */
export const whereOf = ({ commit, words }: Start): string =>
  words === shortId(commit) ? words : `${named(words)} (${shortId(commit)})`

/** The topic of the notice why a branch can't be restored. */
export const RESTORE = 'restore'

export function restoreBranch(page: Page, branch: string): Promise<void> {
  return attempt(page, () => page.connection.ask('restore branch', { branch }), { branch, topic: RESTORE })
}

/** Begins words with a capital letter. They must not begin with a name, which would be changed. */
export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Asks for a commit id and opens the commit. */
export function goToCommit(page: Page): void {
  page.dialog.value = {
    kind: 'ask',
    title: 'Go to a commit',
    label: 'Commit hash, or its first digits',
    value: '',
    button: 'Open',
    run: async words => {
      const { row } = await page.connection.ask('commit', { commit: words.slice(0, 64) })
      page.open({ kind: 'commit', commit: row.oid })
    },
  }
}

export async function copy(page: Page, words: string): Promise<void> {
  await attempt(page, async () => {
    await navigator.clipboard.writeText(words)
    page.spoken.value = 'Copied'
  })
}
