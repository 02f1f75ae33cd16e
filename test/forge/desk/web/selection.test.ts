/** A selection is visible everywhere: screenshots with and without it, in light and dark. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { TestWindow } from '../../../support/served.ts'
import { changedBy, type Rectangle, textBox } from './pixels.ts'
import { openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const FILE = 'const first = alpha\nconst second = beta\nconst third = gamma\nconst word = word + word\n'
const [OURS, THEIRS] = [FILE.replace('alpha', 'ours'), FILE.replace('alpha', 'theirs')]
/** At least this share of a selected text's rectangle must change. */
const MIN_CHANGED_SHARE = 0.5

describe.skipIf(!hasBrowser)('a selection is seen', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage

  beforeAll(async () => {
    browser = await openBrowser()
    const branches = { main: { 'a.ts': FILE }, other: { 'a.ts': FILE } }
    desk = await openRealDesk({ built: await builtPage(), branches })
    page = await visit(browser.context, desk)
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })

  const line = (number: number) => page.locator('.cm-line').nth(number - 1)

  async function inBothSchemes(look: () => Promise<void>): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await look()
    }
  }

  async function expectSeen(clip: Rectangle, select: () => Promise<unknown>): Promise<void> {
    expect(await changedBy(page, clip, select)).toBeGreaterThan(MIN_CHANGED_SHARE)
  }

  /** Selects a line of the editor from its start, as with Shift+End, and expects to see the selection. */
  async function expectLineSeen(element: Locator): Promise<void> {
    await element.click()
    await page.keyboard.press('Home')
    await expectSeen(await textBox(element), () => page.keyboard.press('Shift+End'))
    await page.keyboard.press('Home')
  }

  /** Selects a text outside of the editor's own with the mouse, and expects to see the selection. */
  async function expectTextSeen(element: Locator): Promise<void> {
    const { x, y, width, height } = await textBox(element)
    await expectSeen({ x, y, width, height }, async () => {
      await page.mouse.move(x + 1, y + height / 2)
      await page.mouse.down()
      await page.mouse.move(x + width, y + height / 2, { steps: 4 })
      await page.mouse.up()
      await page.mouse.move(1, 1)
    })
  }

  test('on the line of the cursor', async () => {
    await openFile(page, 'main', 'a.ts')
    await inBothSchemes(() => expectLineSeen(line(2)))
  })

  test('where the editor has lost the focus', async () => {
    await openFile(page, 'main', 'a.ts')
    await inBothSchemes(async () => {
      await page.keyboard.press('Control+Home')
      await expectSeen(await textBox(line(1)), async () => {
        await page.keyboard.press('Shift+End')
        await page.getByRole('treeitem', { name: 'a.ts' }).focus()
      })
      await line(3).click()
    })
  })

  test('over words that are marked because they are the same, or were searched for', async () => {
    await openFile(page, 'main', 'a.ts')
    await inBothSchemes(async () => {
      await line(4).dblclick({ position: { x: 60, y: 8 } })
      await page.keyboard.press('Control+f')
      await page.locator('.find-panel [name="search"]').fill('word')
      await expectLineSeen(line(4))
      await page.keyboard.press('Control+f')
      await page.keyboard.press('Escape')
    })
  })

  test('in fields', async () => {
    await openFile(page, 'main', 'a.ts')
    const field = async (name: string, open: string) => {
      await page.keyboard.press(open)
      const input = page.getByRole('textbox', { name })
      await input.fill('mmmmmmmmmmmmmmmmmmmmmmmm')
      const { x, y, width, height } = (await input.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
      const clip = { x: x + 14, y: y + height / 2 - 6, width: Math.min(width - 28, 100), height: 12 }
      // Letters cover more than half of the clip.
      expect(await changedBy(page, clip, () => input.press('Control+a'))).toBeGreaterThan(0.3)
      await input.fill('')
    }
    await inBothSchemes(() => field('Find in files', 'Control+Shift+F'))
    await page.keyboard.press('Alt+w')
  })

  test('in a diff, on a line that was added', async () => {
    await openFile(page, 'main', 'a.ts')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('const added = delta')
    await page.keyboard.press('Alt+r')
    await page.keyboard.press('Alt+Shift+3')
    const added = page.locator('.diff').getByText('const added = delta')
    await added.waitFor()
    await inBothSchemes(async () => {
      await page.evaluate(() => getSelection()?.removeAllRanges())
      await expectTextSeen(added)
    })
  })

  test('beside a conflict, on its line that is settled, and inside of one that is left', async () => {
    await using window = await TestWindow.at(desk.address)
    const from = await desk.commit('base', { 'a.ts': FILE })
    for (const branch of ['left', 'right']) await window.ask({ ask: 'new branch', branch, from })
    const [left, right] = [OURS, THEIRS].map(text => text.replace('gamma', text === OURS ? 'left' : 'right'))
    await desk.commit('left', { 'a.ts': left ?? '' })
    const commit = await desk.commit('right', { 'a.ts': right ?? '' })
    await window.ask({
      ask: 'do',
      step: { step: 'merge', source: { branch: 'right', commit, words: 'right' }, onto: 'left' },
    })
    await openBranch('left')
    await page.getByRole('navigation', { name: 'Conflicted files' }).getByRole('button', { name: 'a.ts' }).click()
    const conflict = (number: number) => page.getByRole('region', { name: `Conflict ${number} of 2`, exact: true })
    await conflict(1).getByRole('button', { name: 'Ours' }).click()
    const mended = page.locator('.cm-line.mended')
    await mended.waitFor()
    await inBothSchemes(() => expectLineSeen(mended))
    await inBothSchemes(() => expectLineSeen(page.locator('.cm-line', { hasText: 'word + word' })))
    await page.getByRole('button', { name: /a\.ts.*1 left/ }).waitFor()
    const side = conflict(2).getByText('const third = left').first()
    await inBothSchemes(async () => {
      await page.evaluate(() => getSelection()?.removeAllRanges())
      await expectTextSeen(side)
    })
  })

  async function openBranch(name: string): Promise<void> {
    await page.keyboard.press('Alt+b')
    await page.getByRole('combobox', { name: 'Command palette' }).fill(`@${name}`)
    await page.getByRole('option', { name }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name, selected: true }).waitFor()
  }
})
