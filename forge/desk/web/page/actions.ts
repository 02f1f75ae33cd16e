/** What a person can do, each as the questions and dialogs that it takes. */
import { named, shortId, toName } from '../ui/names.ts'
import { branchOf } from './branch-facts.ts'
import type { Page, Tab } from './state.ts'

interface About {
  branch?: string | undefined
  /** What earlier notices of this topic said is solved when it works now. */
  topic?: string
}

/** What is said of actions without a topic of their own: what failed last, until the next one works. */
const ACTION = 'action'

/** Runs something, and says in the page why it did not work. */
export async function attempt(page: Page, run: () => Promise<unknown>, about: About = {}): Promise<void> {
  const { branch, topic = ACTION } = about
  try {
    await run()
    page.solved(topic, branch)
  } catch (error) {
    page.complain(error, { branch, topic })
  }
}

/** What somebody else has brought to a branch, as a review. */
export function showWhatCameIn(tab: Tab, moved: { from: string; to: string }): void {
  tab.review.cameIn.value = { from: moved.from, to: moved.to }
  tab.review.kind.value = 'came in'
  tab.show({ kind: 'review' })
}

/** Where a new branch begins: a commit, and how a person calls it. */
export interface Start {
  commit: string
  words: string
}

/** Where a new branch begins if nobody says: at the commit or branch that is shown, else at the branch of HEAD. */
function startHere(page: Page): Start | undefined {
  const tab = page.tab.peek()
  if (tab?.at.kind === 'commit') return { commit: tab.at.commit, words: shortId(tab.at.commit) }
  const branch = page.branch(branchOf(tab) ?? page.desk.peek()?.head ?? '') ?? page.desk.peek()?.branches[0]
  return branch && { commit: branch.tip, words: branch.name }
}

/** Asks for the name of a new branch, which may have been typed elsewhere already, and makes it. */
export function newBranch(page: Page, start: Start | undefined = startHere(page), name = ''): void {
  page.dialog.value = {
    kind: 'ask',
    title: 'New branch',
    label: 'Branch name',
    value: name,
    button: 'Create branch',
    ...(start && { hint: `It starts at ${whereOf(start)}.` }),
    run: async typed => {
      const branch = toName(typed)
      await page.connection.ask('new branch', { branch, from: start?.commit ?? null })
      page.open({ kind: 'branch', branch })
    },
  }
}

/** What a branch starts at: the name of a branch, and its commit. */
export const whereOf = ({ commit, words }: Start): string =>
  words === shortId(commit) ? words : `${named(words)} (${shortId(commit)})`

export function restoreBranch(page: Page, branch: string): Promise<void> {
  return attempt(page, () => page.connection.ask('restore branch', { branch }), { branch, topic: 'restore' })
}

export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Opens a commit that a person names by its id. */
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
