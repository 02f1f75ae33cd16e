/** Actions on Forklift: run, stop, continue a run that did not end well, publish. */

import type { Forklift } from '../../contract/forklift.ts'
import { attempt } from '../page/actions.ts'
import { branchOf, isMerging } from '../page/branch-facts.ts'
import { settle } from '../page/saving.ts'
import { type Page, TASKS, type Tab } from '../page/state.ts'
import type { Action, Actions } from '../ui/action.ts'
import { withoutTricks } from '../ui/names.ts'
import { ago } from '../ui/times.ts'

const TOPIC = 'forklift'

export function runForklift(page: Page): Promise<void> {
  return attempt(
    page,
    async () => {
      await page.connection.ask('run forklift', {})
      await page.forklift.refresh()
    },
    { topic: TOPIC },
  )
}

export function stopForklift(page: Page): Promise<void> {
  return attempt(page, () => page.connection.ask('stop forklift', {}), { topic: TOPIC })
}

/**
 * Opens a run as a branch with a waiting merge, or shows the branch that it is open as. The agent's report is in its
 * chat.
 */
export function openRun(page: Page, run: string, known?: string): Promise<void> {
  return attempt(
    page,
    async () => {
      const branch = known ?? (await page.connection.ask('open run', { run })).branch
      const tab = page.open({ kind: 'branch', branch })
      await tab.merging.refresh()
      if (tab.merging.latest.peek()?.forklift?.stuck !== undefined && page.isWide.peek()) page.dock(true)
      page.wantFocus()
    },
    { topic: TOPIC },
  )
}

export function publish(page: Page, tab: Tab): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return Promise.resolve()
  return attempt(
    page,
    async () => {
      await settle(page, branch, 'all')
      await page.connection.ask('publish', { branch })
      await page.forklift.refresh()
    },
    { branch, topic: TOPIC },
  )
}

/** Forklift's state; undefined if the repository is not a fork, or the state is not known yet. */
function forkOf(page: Page): Forklift | undefined {
  const info = page.forklift.latest.value
  return info?.missing === undefined ? info : undefined
}

export const forkliftActions = {
  stop: {
    label: 'Stop Forklift',
    keys: 'Alt+Shift+L',
    icon: 'stop',
    isPossible: page => forkOf(page)?.isRunning === true,
    run: stopForklift,
  },
  run: {
    label: 'Run Forklift',
    keys: 'Alt+Shift+L',
    icon: 'play',
    isPossible: page => forkOf(page)?.isRunning === false,
    run: runForklift,
  },
} satisfies Actions<Page>

/** At most this many runs are offered to continue. */
const MAX_LISTED_RUNS = 3

/** The runs that can be continued, for the palette. In a narrow window this is the only place that lists them. */
export function runsToGoOnWith(page: Page): OneRun[] {
  const runs = forkOf(page)?.runs.filter(({ canOpen, isByHand }) => canOpen && !isByHand) ?? []
  return runs.slice(0, MAX_LISTED_RUNS).map(run => ({ page, run }))
}

interface OneRun {
  page: Page
  run: Forklift['runs'][number]
}

/** Gives the merge of a run to the tasks, and shows the run that does it. */
function resolveInParts(page: Page, forklift: string): Promise<void> {
  return attempt(
    page,
    async () => {
      const { run, notes } = await page.connection.ask('resolve in parts', { forklift })
      page.active.value = TASKS
      for (const title of notes) page.notify({ tone: 'plain', title: withoutTricks(title) })
      page.tasks.showStarted(run)
    },
    { topic: TOPIC },
  )
}

export const resolveRunInParts = {
  label: 'Resolve in parts',
  inPalette: ({ run: { words, started } }) =>
    `Resolve Forklift’s run in parts: ${withoutTricks(words)}, ${ago(started)}`,
  icon: 'merge',
  run: ({ page, run: { run } }) => resolveInParts(page, run),
} satisfies Action<OneRun>

export const goOnWithRun = {
  label: 'Continue a run of Forklift',
  inPalette: ({ run: { words, started } }) => `Continue Forklift’s run: ${withoutTricks(words)}, ${ago(started)}`,
  icon: 'warning',
  run: ({ page, run: { run, branch } }) => openRun(page, run, branch),
} satisfies Action<OneRun>

/** Actions in the tab of a branch that continues a run of Forklift. */
export const publishActions = {
  publish: {
    label: 'Publish with Forklift',
    keys: 'Alt+Shift+U',
    icon: 'merge',
    isPossible: ({ page, tab }) => {
      const isOfRun = page.forklift.latest.value?.runs.some(({ branch }) => branch === branchOf(tab)) ?? false
      return isOfRun && !page.isGone(tab.at) && !isMerging(page, tab)
    },
    run: ({ page, tab }) => publish(page, tab),
  },
} satisfies Actions<{ page: Page; tab: Tab }>
