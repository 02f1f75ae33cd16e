/** What must be visible is inside the window: the shown tab, conflicts, and unsaved files. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { commit, git } from '../../../support/git.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until as untilWithin } from '../../../support/repository.ts'
import { openBranch, openFile, paste, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const until = (isSo: () => boolean | Promise<boolean>) => untilWithin(isSo, 15_000)
const NAMES = ['adapters', 'certificates', 'cookies', 'exceptions', 'sessions', 'structures', 'utilities']
/** More branches than tabs fit into a narrow window. */
const MANY = ['a', 'b', 'c', 'd', 'e'].map(letter => `a-rather-long-name-${letter}`)
const FILES = Object.fromEntries(NAMES.map(name => [`${name}.py`, `${name}\n`]))

describe.skipIf(!hasBrowser)('a desk that shows what matters', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage

  beforeAll(async () => {
    browser = await openBrowser()
    const base = { ...FILES, 'src/deep/a.txt': 'one\ntwo\nthree\n' }
    desk = await openRealDesk({ built: await builtPage(), branches: { main: base } })
    for (const branch of ['topic', 'tabs', ...MANY]) await git(desk.path, 'branch', branch, 'main')
    await desk.commit('topic', { 'src/deep/a.txt': 'one\nTOPIC\nthree\n' })
    await desk.commit('main', { 'src/deep/a.txt': 'one\nMAIN\nthree\n' })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    page = await visit(browser.context, desk)
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  test('the tab that is shown and that of the chat stay in view when the window gets narrower', async () => {
    await openBranch(page, 'tabs')
    for (const name of NAMES) await page.getByRole('treeitem', { name: `${name}.py` }).dblclick()
    const tabs = page.getByRole('tablist', { name: 'Files' })
    const isInView = async (name: string) => {
      const [list, tab] = await Promise.all([tabs.boundingBox(), tabs.getByRole('tab', { name }).boundingBox()])
      return Boolean(list && tab && tab.x >= list.x - 1 && tab.x + tab.width <= list.x + list.width + 1)
    }
    await page.setViewportSize({ width: 800, height: 600 })
    await until(() => isInView('utilities.py'))
    expect(await isInView('AI chat')).toBe(true)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('the whole ring of the focus is seen around what a branch can begin with', async () => {
    await openBranch(page, 'topic')
    const way = page.getByRole('button', { name: /^Go to file/ })
    await way.focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Shift+Tab')
    // The outline is drawn inside the button, since the frame around the buttons cuts off what is outside.
    expect(await way.evaluate(element => getComputedStyle(element).outlineOffset)).toBe('-2px')
  })

  test('the age of a commit with a long subject stays on one line in the list to compare with', async () => {
    await openBranch(page, 'topic')
    await page.keyboard.press('Alt+r')
    await page.getByRole('button', { name: /^against/ }).click()
    await page.getByRole('dialog').locator('input:focus').waitFor()
    await page.keyboard.type('and longer')
    await page.getByRole('dialog').getByText('No results').waitFor()
    // Made after the search: the commit is found once the desk knows it.
    await git(desk.path, 'branch', 'long', 'main')
    await commit(desk.path, 'long', { 'long.txt': 'long\n' }, { message: `Long ${'and longer '.repeat(20)}` })
    const age = page
      .getByRole('dialog')
      .getByRole('option', { name: /Long and longer/ })
      .locator('> .meta')
    await age.waitFor()
    expect((await age.boundingBox())?.height).toBeLessThan(22)
  })

  test('a selected file looks selected under the mouse, too', async () => {
    await openBranch(page, 'tabs')
    const file = page.getByRole('treeitem', { name: 'cookies.py' })
    await file.click()
    await page.getByRole('treeitem', { name: 'cookies.py', selected: true }).waitFor()
    const colour = () => file.evaluate(it => getComputedStyle(it).backgroundColor)
    const underMouse = await colour()
    await page.mouse.move(900, 500)
    expect(await colour()).toBe(underMouse)
  })

  test('in forced colours, the ring of the focus is seen on a selected commit, and a button that is off is grey', async () => {
    await page.emulateMedia({ forcedColors: 'active' })
    await openBranch(page, 'topic')
    await page.keyboard.press('Alt+h')
    const row = page.getByRole('listbox', { name: 'History' }).locator('.crow.active')
    await until(async () => (await row.evaluate(it => getComputedStyle(it).outlineStyle)) === 'solid')
    // The colour of the selection's text, since the system chooses that of the selection.
    const { outlineColor, color } = await row.evaluate(it => {
      const style = getComputedStyle(it)
      return { outlineColor: style.outlineColor, color: style.color }
    })
    expect(outlineColor).toBe(color)
    const colourOf = (name: string) =>
      page
        .getByRole('button', { name })
        .first()
        .evaluate(it => getComputedStyle(it).color)
    expect(await colourOf('Save')).not.toBe(await colourOf('Revert'))
    await page.emulateMedia({ forcedColors: 'none' })
  })

  test('an undo that is not possible looks like no button, and its title says why', async () => {
    await openFile(page, 'tabs', 'adapters.py')
    for (const key of ['a', 'b']) {
      const tip = await git(desk.path, 'rev-parse', 'tabs')
      await page.keyboard.type(key)
      await page.keyboard.press('Control+s')
      await until(async () => (await git(desk.path, 'rev-parse', 'tabs')) !== tip)
    }
    await page.keyboard.press('Alt+o')
    const rows = page.getByRole('dialog').locator('.operation')
    const off = rows.getByRole('button', { name: 'Undo', disabled: true }).first()
    const on = rows.getByRole('button', { name: 'Undo', disabled: false }).first()
    await off.waitFor()
    const borderOf = (button: typeof on) => button.evaluate(element => getComputedStyle(element).borderTopColor)
    expect(await borderOf(off)).toBe(await borderOf(on))
    const lookOf = (button: typeof on) =>
      button.evaluate(element => [getComputedStyle(element).opacity, getComputedStyle(element).cursor])
    expect((await lookOf(off))[1]).toBe('not-allowed')
    expect((await lookOf(off))[0]).not.toBe((await lookOf(on))[0])
    expect(await off.getAttribute('title')).toBe('tabs has moved since. Undo what came later first.')
  })

  test('the tabs of the repository and of the tasks stay side by side, however many branches are open', async () => {
    await page.setViewportSize({ width: 800, height: 600 })
    for (const branch of MANY) await openBranch(page, branch)
    const tabs = page.getByRole('tablist', { name: 'Branches' }).getByRole('tab')
    const [repository, tasks] = await Promise.all([tabs.nth(0).boundingBox(), tabs.nth(1).boundingBox()])
    expect(repository?.x).toBe(0)
    expect(tasks?.x).toBe(repository?.width ?? Number.NaN)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('a match in a comment is as readable as other text', async () => {
    await openFile(page, 'a-rather-long-name-a', 'structures.py')
    await page.keyboard.type('# word and word\n')
    await page.keyboard.press('Control+f')
    await page.keyboard.type('word')
    const matches = page.locator('.cm-searchMatch')
    await until(async () => (await matches.count()) === 2)
    const colourOf = (element: Element) => getComputedStyle(element).color
    const text = await page.locator('.cm-content').evaluate(colourOf)
    const inside = page.locator(':is(.cm-searchMatch, .cm-searchMatch *)')
    expect(new Set(await inside.evaluateAll(all => all.map(it => getComputedStyle(it).color)))).toEqual(new Set([text]))
  })

  test('a branch with drafts has a mark in the list of branches', async () => {
    await openFile(page, 'tabs', 'cookies.py')
    await page.keyboard.type('typed ')
    await page.keyboard.press('Alt+0')
    await page.getByRole('button', { name: /^tabs ?, 1 draft/ }).waitFor()
  })

  test('a text that is refused at the end of a long file is seen at once', async () => {
    await openFile(page, 'tabs', 'sessions.py')
    await paste(page, 'line\n'.repeat(200))
    await page.keyboard.press('Control+End')
    await paste(page, 'with a NUL \0')
    await until(async () => {
      const [box, editor] = await Promise.all([
        page.locator('.refused-box').boundingBox(),
        page.locator('.cm-scroller').boundingBox(),
      ])
      return Boolean(box && editor && box.y >= editor.y && box.y + box.height <= editor.y + editor.height)
    })
  })

  test('a file in conflict is marked in the explorer, and what a choice takes away is not marked as deleted', async () => {
    await openBranch(page, 'main')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('>Merge a branch into main')
    await page.getByRole('option').first().filter({ hasText: 'Merge a branch' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('option').filter({ hasText: 'topic' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Merge and resolve 1 file' }).click()
    const conflict = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await conflict.waitFor()
    await page.getByRole('button', { name: 'Show the explorer' }).click()
    await page.getByRole('treeitem', { name: /^src ?, in conflict/ }).waitFor()
    await page.keyboard.press('F8')
    await page.keyboard.press('2')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.getByText('1 of 1 conflict resolved').waitFor()
    await page.getByRole('treeitem', { name: /^src ?, has drafts/ }).waitFor()
    const triangles = page.locator('.cm-marks :is(.mark-deleted, .mark-deleted-above)')
    const contents = await triangles.evaluateAll(all => all.map(it => getComputedStyle(it, '::before').content))
    expect(contents.filter(content => content !== 'none')).toEqual([])
    // A key pressed once too often is not typed into the file.
    await page.keyboard.press('2')
    expect(await page.locator('.cm-content').textContent()).not.toContain('2')
    await page.keyboard.press('Control+z')
    await conflict.waitFor()
    await conflict.focus()
    await page.keyboard.press('1')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.type('typed ')
    await page.locator('.cm-line').filter({ hasText: 'typed ' }).waitFor()
  })
})
