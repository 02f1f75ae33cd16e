/** The message of a save: a field that grows in the status bar, and a dialog with subject and body. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, numbersTyped, openPage, showBranch, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

/** A folder for screenshots. */
const { PICTURES } = Bun.env

describe.skipIf(!hasBrowser)('the message of a save', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const dialog = () => page.getByRole('dialog', { name: /Save \d+ drafts? to main/ })
  const subject = () => dialog().getByRole('textbox', { name: 'Subject' })
  const body = () => dialog().getByRole('textbox', { name: 'Body' })
  const field = () => page.getByRole('textbox', { name: 'Commit message' })
  const typeIn = async (name: string, branch = 'main') => {
    await page.getByRole('treeitem', { name }).click()
    await page.locator('.crumbs .here').getByText(name).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('Typed. ')
    await desk.isText(branch, name, text => text.includes('Typed.'))
  }

  test('of another branch does not get what is typed after the branch was opened from the message', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await field().click()
    await showBranch(page, 'retry-jitter')
    await page.locator(':focus:not([aria-label="Commit message"])').waitFor()
    await typeIn('FORK.md', 'retry-jitter')
    await field().click()
    await showBranch(page, 'main')
    await field().and(page.locator(':focus')).waitFor()
    await showBranch(page, 'retry-jitter')
    await until(async () => (await field().inputValue()) === 'edit: FORK.md')
  })

  test('and the words to find in a file are typed on after a look at another branch', async () => {
    await typeIn('README.md')
    await field().click()
    await page.keyboard.type('docs: ')
    await showBranch(page, 'retry-jitter')
    await page.locator(':focus:not([aria-label="Commit message"])').waitFor()
    await showBranch(page, 'main')
    await page.keyboard.type('my words')
    expect(await field().inputValue()).toBe('docs: my words')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+f')
    await page.keyboard.type('cla')
    await showBranch(page, 'retry-jitter')
    await page.locator(':focus:not([aria-label="Find"])').waitFor()
    await showBranch(page, 'main')
    await page.keyboard.type('ss')
    expect(await page.getByRole('textbox', { name: 'Find', exact: true }).inputValue()).toBe('class')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await showBranch(page, 'retry-jitter')
    await showBranch(page, 'main')
    await page.getByRole('textbox', { name: 'Editor' }).and(page.locator(':focus')).waitFor()
  })

  test('is not that of another file, after a change of files, and after the last conflict of one is resolved', async () => {
    await typeIn('FORK.md')
    await typeIn('README.md')
    await until(async () => (await field().inputValue()) === 'edit: README.md')
    const release = desk.proxy.hold('message')
    await page.getByRole('treeitem', { name: 'FORK.md' }).click()
    await page.locator('.crumbs .here').getByText('FORK.md').waitFor()
    expect(await field().inputValue()).toBe('')
    release()
    await until(async () => (await field().inputValue()) === 'edit: FORK.md')
    await desk.commit('main', { 'README.md': 'Another text.\n' })
    await page.getByRole('button', { name: 'Resolve' }).click()
    await page.locator('section.conflict-box:focus').waitFor()
    expect(await field().getAttribute('placeholder')).toBe('Resolve the conflicts first')
    const releaseLater = desk.proxy.hold('message')
    await page.keyboard.press('1')
    await page.getByPlaceholder('Commit message').waitFor()
    expect(await field().inputValue()).toBe('')
    releaseLater()
    await until(async () => (await field().inputValue()) === 'edit: README.md')
  })

  test('that is being written when another window begins a merge does not go on in the code, and is kept', async () => {
    await desk.commit('retry-jitter', { 'FORK.md': 'Another text\n' })
    await desk.commit('main', { 'FORK.md': 'A third text\n' })
    await typeIn('README.md')
    await field().click()
    await page.keyboard.type('The first half ')
    const source = { branch: 'retry-jitter', commit: await desk.tip('retry-jitter'), words: 'retry-jitter' }
    await desk.ask({ ask: 'discard', branch: 'main', paths: ['README.md'] })
    const merged = desk.ask({ ask: 'do', step: { step: 'merge', source, onto: 'main' } })
    const numbers = numbersTyped(page)
    while ((await field().count()) > 0) await numbers.type()
    await merged
    await numbers.type()
    await page.getByText('merging').first().waitFor()
    await numbers.type()
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true)
    const notice = page.getByRole('alert').filter({ hasText: 'The field that you typed in is gone' })
    await notice.getByRole('button', { name: 'Show more' }).click()
    await notice.getByText(`The first half ${numbers.typed}`.trim()).waitFor()
    expect(await desk.textOf('main', 'README.md')).toBe('# Tern\n\nA queue.\n')
  })

  test('of several lines saves by Ctrl+Enter, also beside a message to the AI, which is not sent', async () => {
    await typeIn('README.md')
    await page.getByRole('tab', { name: 'AI chat' }).click()
    const message = page.getByRole('textbox', { name: 'Message', exact: true })
    await message.fill('Not yet')
    await field().click()
    await page.keyboard.type('Say what is typed')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('once')
    await page.keyboard.press('Control+Enter')
    await desk.isMessage('main', 'Say what is typed\nonce')
    expect(await message.inputValue()).toBe('Not yet')
  })

  test('is written in the dialog, kept after Escape, a reload and a failure, and used once', async () => {
    await typeIn('README.md')
    await typeIn('FORK.md')
    await page.keyboard.press('Alt+s')
    await until(async () => (await subject().inputValue()) === 'edit: FORK.md, README.md')
    expect(await dialog().getByRole('listitem').allTextContents()).toEqual(['FORK.md', 'README.md'])
    // The suggestion is selected, also when it comes after the dialog.
    await page.keyboard.type('Say what is typed')
    expect(await subject().inputValue()).toBe('Say what is typed')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Because it was not said.')
    await page.keyboard.press('Enter')
    await page.keyboard.type('- once')
    for (const colorScheme of PICTURES ? (['light', 'dark'] as const) : []) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${PICTURES}/save-dialog-${colorScheme}.png` })
    }
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.reload()
    await page.getByRole('status', { name: 'Status' }).getByText('2 drafts since').waitFor()
    await page.keyboard.press('Alt+s')
    expect(await subject().inputValue()).toBe('Say what is typed')
    expect(await body().inputValue()).toBe('Because it was not said.\n- once')
    // Another git process holds the branch.
    await Bun.write(`${desk.path}/refs/heads/main.lock`, '')
    await page.keyboard.press('Control+Enter')
    await dialog().getByRole('alert').getByText('Nothing was done in main').waitFor()
    expect(await body().inputValue()).toBe('Because it was not said.\n- once')
    await Bun.file(`${desk.path}/refs/heads/main.lock`).delete()
    await page.keyboard.press('Control+Enter')
    await desk.isMessage('main', 'Say what is typed\n\nBecause it was not said.\n- once')
    await dialog().waitFor({ state: 'detached' })
    await typeIn('README.md')
    await until(async () => (await field().inputValue()) === 'edit: README.md')
  })

  test('is used once, also by another window that shows it, and what was typed there since stays', async () => {
    await typeIn('README.md')
    await field().click()
    await page.keyboard.type('Said once')
    const other = await openPage(page.context(), desk)
    const there = other.getByRole('textbox', { name: 'Commit message' })
    await until(async () => (await there.inputValue()) === 'Said once')
    await there.press('Enter')
    await desk.isMessage('main', 'Said once')
    await until(async () => (await field().inputValue()) === '')
    await typeIn('README.md')
    await other.getByPlaceholder('Commit message').waitFor()
    await there.fill('Said there')
    await field().fill('Said here')
    await there.press('Enter')
    await desk.isMessage('main', 'Said there')
    await until(async () => (await there.inputValue()) === '')
    expect(await field().inputValue()).toBe('Said here')
    await other.close()
  })

  test('is used once, by the first of two saves of which the second begins before the first has ended', async () => {
    await typeIn('README.md')
    await field().fill('Said once')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    const release = desk.proxy.hold('save')
    await page.keyboard.press('Control+s')
    await until(() => desk.proxy.count('save') === 1)
    await page.keyboard.type('More. ')
    await page.keyboard.press('Control+s')
    release()
    await until(async () => (await desk.git('log', '--format=%s', '-2', 'main')) === 'edit: README.md\nSaid once')
  })

  test('takes nothing after Ctrl+Enter in the dialog: what is typed on gets into the file', async () => {
    await typeIn('README.md')
    await page.keyboard.press('Alt+s')
    await until(async () => (await subject().inputValue()) === 'edit: README.md')
    await page.keyboard.type('All of it')
    const save = desk.proxy.hold('save')
    // The second time it means the same, and is no key for the file.
    await page.keyboard.press('Control+Enter')
    await page.keyboard.press('Control+Enter')
    await page.keyboard.type('ABC')
    expect(await subject().inputValue()).toBe('All of it')
    save()
    await page.keyboard.type('DEF')
    await dialog().waitFor({ state: 'detached' })
    await page.keyboard.type('GHI')
    await desk.isText('main', 'README.md', text => text.includes('Typed. ABCDEFGHI'))
    await desk.isMessage('main', 'All of it')
    await until(async () => (await field().inputValue()) === 'edit: README.md')
  })

  test('has more lines in the status bar by Shift+Enter, is saved whole by Ctrl+Enter, and the bar keeps its height', async () => {
    await typeIn('README.md')
    await until(async () => (await field().inputValue()) === 'edit: README.md')
    const bar = page.locator('footer.status')
    const before = await bar.boundingBox()
    await field().click()
    // A click selects the suggestion, so that typing replaces it.
    await page.keyboard.type('Say it')
    for (const [at, line] of ['', 'Because it was needed.', 'Twice.'].entries()) {
      // In a message of several lines, Enter adds one, too.
      await page.keyboard.press(at === 0 ? 'Shift+Enter' : 'Enter')
      await page.keyboard.type(line)
    }
    const grown = await field().boundingBox()
    expect(grown?.height).toBeGreaterThan((before?.height ?? 0) * 1.5)
    expect(await bar.boundingBox()).toEqual(before)
    for (const colorScheme of PICTURES ? (['light', 'dark'] as const) : []) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${PICTURES}/save-field-${colorScheme}.png` })
    }
    expect(await field().inputValue()).toBe('Say it\n\nBecause it was needed.\nTwice.')
    await page.keyboard.press('Control+Enter')
    await desk.isMessage('main', 'Say it\n\nBecause it was needed.\nTwice.')
    await until(async () => (await field().inputValue()) === '')
  })

  test('stays in one row of the status bar while a long line is typed, and begins there when it is left', async () => {
    await typeIn('README.md')
    await until(async () => (await field().inputValue()) === 'edit: README.md')
    await field().click()
    const line = 'docs: message typed slowly, to see whether all of its words are on one row'
    await page.keyboard.type(line)
    // Home leaves the padding out of view.
    const scrolled = () => field().evaluate(({ scrollTop, scrollLeft }) => ({ scrollTop, isAside: scrollLeft > 20 }))
    expect(await scrolled()).toEqual({ scrollTop: 0, isAside: true })
    await page.keyboard.press('Home')
    await until(async () => !(await scrolled()).isAside)
    await page.keyboard.press('End')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await until(async () => !(await scrolled()).isAside)
    expect(await field().inputValue()).toBe(line)
  })

  test('is not asked for without drafts', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).waitFor()
    await page.keyboard.press('Alt+s')
    await page.getByText('Nothing to save').first().waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})
