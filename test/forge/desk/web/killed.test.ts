/** New files, renames, moves, deletions and text survive kill -9 of the browser, and of browser and desk together. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { hasBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { git } from '../../../support/git.ts'
import { randomFrom } from '../../../support/random.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until } from '../../../support/repository.ts'
import { after, FIRST, FIRST_FILES, type FileStep, filesOf, kindOf, stepAt, stepThatLedTo } from '../file-steps.ts'
import { makeScratch } from './page-scene.ts'
import { openBranch, visit } from './real-page.ts'

setDefaultTimeout(280_000)

/** The most typing, in milliseconds, that a kill of the desk may lose: a second, and more on a busy machine. */
const MAX_LOST_MS = 2_500
const ROUNDS = 6

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)

/** Does one step in the page as a person does, until the page shows that it is done. */
async function doStep(page: Page, step: FileStep): Promise<void> {
  const row = (name: string) => page.getByRole('tree', { name: 'Explorer' }).getByRole('treeitem', { name })
  const answer = async (dialog: string, path: string) => {
    await page.getByRole('dialog', { name: dialog }).getByRole('textbox').fill(path)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  const open = async (path: string) => {
    await page.keyboard.press('Control+p')
    await page.getByRole('combobox').fill(path)
    await page
      .getByRole('option')
      .filter({ hasText: nameOf(path) })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.crumbs .here').getByText(nameOf(path), { exact: true }).waitFor()
    await page.locator('.cm-content:focus').waitFor()
  }
  switch (step.kind) {
    case 'new':
      await page.keyboard.press('Alt+n')
      await answer('New file', step.path)
      return
    case 'delete':
      await open(step.path)
      await page.keyboard.press('Alt+Delete')
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      return
    case 'move':
      if (step.from.includes('/')) {
        await open(step.from)
        await page.keyboard.press('F2')
      } else {
        await row(step.from).first().click({ button: 'right' })
        await page.getByRole('menuitem', { name: 'Rename…' }).click()
      }
      await answer(`Rename ${nameOf(step.from)}`, step.to)
      return
    case 'type':
      await open(step.path)
      await page.keyboard.press('Control+End')
      await page.keyboard.insertText(step.text)
      return
    case 'save': {
      const status = page.getByRole('status', { name: 'Status' })
      const hasNothing =
        (await status
          .locator('.saved')
          .getByText(/^(Saved →|No drafts)/)
          .count()) > 0
      // What an earlier save has said stays there.
      const said = () => status.locator('> .vh').textContent()
      const before = await said()
      if (step.paths !== 'all') await open(step.paths[0] ?? '')
      await page.keyboard.press(step.paths === 'all' ? 'Control+Shift+s' : 'Control+s')
      if (hasNothing) return
      await until(async () => {
        const words = await said()
        return words !== before && words?.startsWith('Saved →') === true
      })
    }
  }
}

interface Progress {
  /** The number of the last step that was begun. */
  begun: number
  /** The steps that the page has shown as done, with the time in milliseconds at which it did. */
  done: { number: number; at: number }[]
}

/** Does the steps from a number on, until the page is gone; throws where a step fails before. */
async function doSteps(page: Page, first: number, progress: Progress): Promise<void> {
  let files = FIRST
  for (let number = 1; ; number++) {
    const step = stepAt(number, files)
    files = after(files, step)
    if (number < first) continue
    progress.begun = number
    try {
      await doStep(page, step)
    } catch (error) {
      if (page.isClosed()) return
      throw new Error(`Step ${number} failed: ${JSON.stringify(step)}`, { cause: error })
    }
    progress.done.push({ number, at: performance.now() })
  }
}

describe.skipIf(!hasBrowser)('kill -9 of the browser at any moment', () => {
  let desk: RealDesk
  let profile: string

  beforeAll(async () => {
    desk = await openRealDesk({ built: await builtPage(), branches: { main: FIRST_FILES } })
    profile = join(await makeScratch(), 'profile')
  })
  afterAll(() => desk?.[Symbol.asyncDispose]())

  test('leaves new, renamed, moved, deleted and saved files as after one of the last steps, also with the desk', async () => {
    const seed = Date.now()
    const random = randomFrom(seed)
    let from = 1
    for (let round = 0; round < ROUNDS; round++) {
      const isDeskKilled = round % 2 === 1
      const progress: Progress = { begun: from - 1, done: [] }
      const browser = await openBrowser({ profile })
      const page = await visit(browser.context, desk)
      await openBranch(page, 'main')
      await page.getByRole('treeitem').first().waitFor()
      const ended = doSteps(page, from, progress)
      await Promise.race([ended, Bun.sleep(random.below(5_000))])
      const killed = performance.now()
      await Promise.all([browser.kill(), isDeskKilled ? desk.kill() : undefined])
      await ended
      if (isDeskKilled) await desk.start()
      // The desk keeps what is typed while it lives. Killed, it may have lost the last second of it, but nothing else.
      const certain = progress.done.findLast(
        ({ number, at }) => !isDeskKilled || at < killed - MAX_LOST_MS || kindOf(number) !== 'type',
      )
      const since = certain?.number ?? from - 1

      await using again = await openBrowser({ profile })
      const next = await visit(again.context, desk)
      await openBranch(next, 'main')
      let reached: number | undefined
      const isReached = async () => {
        reached = stepThatLedTo(await filesOf(desk.path), since, progress.begun)
        return reached !== undefined
      }
      await until(isReached, 15_000).catch(async cause => {
        const found = JSON.stringify(await filesOf(desk.path))
        const message = `Seed ${seed}, round ${round}: steps ${since} to ${progress.begun} do not lead to ${found}`
        throw new Error(message, { cause })
      })
      await expectShown(next, Object.keys((await filesOf(desk.path)).shown))
      from = 1 + (reached ?? since)
    }
    // Some steps were done, on a busy machine too.
    expect(from).toBeGreaterThan(ROUNDS / 2)
    await git(desk.path, 'fsck', '--strict', '--no-dangling')
  })
})

/** Expects that the explorer shows these files and no others, but for deleted ones, which it shows as such. */
async function expectShown(page: Page, paths: string[]): Promise<void> {
  const tree = page.getByRole('tree', { name: 'Explorer' })
  // While the files are loading, the explorer has one row, which is no file.
  await tree.locator('[aria-posinset]').first().waitFor()
  await tree.focus()
  const folders = tree.getByRole('treeitem', { expanded: false })
  while ((await folders.count()) > 0) await folders.first().click()
  const expected = paths.map(nameOf).sort()
  let shown: string[] = []
  await until(async () => {
    shown = await tree
      .locator('[role="treeitem"]:not([aria-expanded])')
      .evaluateAll(rows =>
        rows.filter(row => !row.querySelector('.deleted')).map(row => row.querySelector('.grow')?.textContent ?? ''),
      )
    return JSON.stringify(shown.sort()) === JSON.stringify(expected)
  }, 15_000).catch(cause => {
    throw new Error(`The explorer shows ${shown.join()} instead of ${expected.join()}`, { cause })
  })
}
