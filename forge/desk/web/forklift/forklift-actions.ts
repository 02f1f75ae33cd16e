/** What a person can do with Forklift: run it, stop it, go on with a run that did not end well, publish. */
import { attempt, branchOf, settle } from '../app/actions.ts'
import type { Page, Tab } from '../app/state.ts'

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

/** Opens a run as a branch in `merging`, or the branch that it is open as. The letter stands in its chat. */
export function openRun(page: Page, run: string, known?: string): Promise<void> {
  return attempt(
    page,
    async () => {
      const branch = known ?? (await page.connection.ask('open run', { run })).branch
      const tab = page.open({ kind: 'branch', branch })
      await tab.merging.refresh()
      if (tab.merging.merging.peek()?.forklift?.stuck !== undefined && page.isWide.peek()) page.dock(true)
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
