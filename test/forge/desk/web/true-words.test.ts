/** Sentences, labels and counts on the page that have to be true at every moment, on the real desk. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { commit, git } from '../../../support/git.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until } from './page-scene.ts'
import { openBranch, openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const LINES = 'one\ntwo\nthree\n'
/** A folder for screenshots. */
const { PICTURES } = Bun.env

describe.skipIf(!hasBrowser)('what the page says', () => {
  let desk: RealDesk
  let browser: OpenBrowser
  let page: RealPage
  beforeAll(async () => {
    const branches = { main: { 'a.txt': LINES, 'b.txt': LINES, 'c.txt': LINES } }
    desk = await openRealDesk({ built: await builtPage(), branches })
    await git(desk.path, 'branch', 'checked', 'main')
    await git(desk.path, 'worktree', 'add', '--quiet', `${desk.path}-checked`, 'checked')
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    page = await visit(browser.context, desk)
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  const picture = async (name: string) => {
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png` })
  }
  /** Types at the start of a file's first line, which a commit from outside then changes, too. */
  const makeConflict = async (path: string) => {
    await openFile(page, 'main', path)
    await page.keyboard.type('mine ')
    await until(async () => (await desk.show('refs/forge/drafts/main', path)).startsWith('mine '))
    const author = 'Otto Outside <otto@outside.example>'
    await commit(desk.path, 'main', { [path]: LINES.replace('one', 'THEIRS') }, { author })
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
  }

  test('of many changed lines has thousands separators, for a file and for all of them', async () => {
    const files = { 'a.txt': 'x\n'.repeat(12_345), 'b.txt': 'x\n'.repeat(1_000) }
    await commit(desk.path, 'many', files, { parents: [await git(desk.path, 'rev-parse', 'main')] })
    await openBranch(page, 'many')
    await page.keyboard.press('Alt+r')
    const side = page.getByRole('complementary', { name: 'Side bar' })
    await side.getByText('+13,345', { exact: true }).waitFor()
    await side.getByText('+12,345', { exact: true }).waitFor()
    await side.getByText('+1,000', { exact: true }).waitFor()
  })

  test('of a save refused because of conflicts leaves when these are resolved', async () => {
    await makeConflict('a.txt')
    await page.keyboard.press('Control+s')
    const refusal = page.getByText('a.txt has conflicts between your draft and the branch')
    await refusal.waitFor()
    const conflict = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await page.keyboard.press('F8')
    await until(() => conflict.evaluate(box => box === document.activeElement))
    await page.keyboard.press('1')
    await refusal.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'a.txt')).startsWith('mine one'))
  })

  test('of a conflict in which something was typed is the choice that was made', async () => {
    await makeConflict('b.txt')
    // The cursor is still in the line, so that what is typed on belongs to our side.
    await page.keyboard.type('more ')
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).getByText('mine more').waitFor()
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).focus()
    await page.keyboard.press('3')
    await page.getByText('Both', { exact: true }).first().waitFor()
    await picture('both')
    expect(await page.getByText('Edited', { exact: true }).count()).toBe(0)
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'b.txt')).includes('mine more one\nTHEIRS\n'))
  })

  test('of each line’s author is of the newest commit in a file with conflicts, too', async () => {
    await openFile(page, 'main', 'c.txt')
    await page.keyboard.press('Control+Alt+b')
    await page.locator('.cm-blame .blame-first').first().waitFor()
    await makeConflict('c.txt')
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).focus()
    await page.keyboard.press('2')
    await page.locator('.cm-blame').getByText('Otto Outside').waitFor()
    await picture('blame')
    await page.keyboard.press('Control+Alt+b')
  })

  test('of a refused name leaves with the next key', async () => {
    await openBranch(page, 'main')
    await page.keyboard.press('Alt+Shift+B')
    const name = page.getByRole('dialog').getByRole('textbox')
    await name.fill('')
    await page.keyboard.type('two word..s')
    expect(await name.inputValue()).toBe('two-word..s')
    // The cursor stays where a space becomes a dash.
    await page.keyboard.press('Home')
    await page.keyboard.type('a b')
    expect(await name.inputValue()).toBe('a-btwo-word..s')
    await page.keyboard.press('Enter')
    const refusal = page
      .getByRole('dialog')
      .getByText("a-btwo-word..s can't be the name of a branch: it has two dots in a row.")
    await refusal.waitFor()
    await page.keyboard.press('End')
    await page.keyboard.type('x')
    await refusal.waitFor({ state: 'detached' })
  })

  test('before a branch is deleted is that it is checked out', async () => {
    await openBranch(page, 'checked')
    await page.keyboard.press('Alt+Shift+Delete')
    await page.getByRole('dialog').getByText('It is checked out in').waitFor()
    await picture('delete')
  })

  test('of a detached HEAD is that it is detached, and where', async () => {
    const tip = await git(desk.path, 'rev-parse', 'main')
    await git(desk.path, 'update-ref', '--no-deref', 'HEAD', tip)
    await page.reload()
    await page.getByRole('tab', { name: 'Repository' }).click()
    await page.getByRole('button', { name: `HEAD detached at ${tip.slice(0, 8)}` }).waitFor()
    await page.locator('.graph-row .labels').getByText('HEAD', { exact: true }).waitFor()
    await picture('detached')
    await git(desk.path, 'symbolic-ref', 'HEAD', 'refs/heads/main')
  })
})
