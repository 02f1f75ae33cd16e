/** The line endings of a file are changed from the status bar: a draft that is reviewed, undone and saved. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, until, withEachPage } from './page-scene.ts'
import { openBeside } from './real-page.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

describe.skipIf(!hasBrowser)('the line endings of a file', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const menu = () => page.getByRole('menu', { name: /^Line endings of / })
  const toast = (words: string) => page.locator('.toast').filter({ hasText: words })
  const choose = async (shown: string, wanted: RegExp) => {
    await button(shown).click()
    await menu().getByRole('menuitemradio', { name: wanted }).click()
  }
  const drafts = () => page.getByRole('status', { name: 'Status' }).getByText('1 draft since')
  const open = async (path: string, text: string) => {
    await desk.commit('main', { [path]: text })
    await openBeside(page, path)
  }

  test('are changed to CRLF and saved; the review says so, and typed text has them, too', async () => {
    await open('lines.txt', 'one\ntwo\nthree\n')
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('first ')
    await button('LF').click()
    expect(await menu().locator('[aria-checked="true"]').allInnerTexts()).toEqual(['LF (Linux, macOS)'])
    await menu().getByRole('menuitemradio', { name: /^CRLF/ }).click()
    await toast('All line endings of lines.txt are CRLF now').waitFor()
    await button('CRLF').waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('new\n')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.git('show', 'main:lines.txt')) === 'new\r\nfirst one\r\ntwo\r\nthree')
  })

  test('stay whole where they are mixed: what is typed at the end of a line goes before them, as Enter, Backspace and Delete do', async () => {
    await open('mixed.txt', 'one\r\ntwo\r\nthree\n')
    const isText = (text: string) => desk.isText('main', 'mixed.txt', text)
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await press('Control+Home', 'End', 'End')
    await page.keyboard.type(' and')
    await isText('one and\r\ntwo\r\nthree\n')
    await press('Enter')
    await page.keyboard.type('half')
    await isText('one and\r\nhalf\r\ntwo\r\nthree\n')
    await press('ArrowRight', 'x', 'ArrowLeft', 'ArrowLeft', 'y')
    await isText('one and\r\nhalfy\r\nxtwo\r\nthree\n')
    await press('ArrowRight', 'Backspace')
    await isText('one and\r\nhalfyxtwo\r\nthree\n')
    await press('Control+Home', 'End', 'Delete')
    await isText('one andhalfyxtwo\r\nthree\n')
    // Behind the line, as a click there does.
    await page
      .locator('.cm-line')
      .first()
      .click({ position: { x: 600, y: 8 } })
    await page.keyboard.type('z')
    await isText('one andhalfyxtwoz\r\nthree\n')
    await press('Shift+Home', 'Delete')
    await isText('\r\nthree\n')
    await press('ArrowDown', 'End', 'Enter')
    await isText('\r\nthree\n\n')
    await press('Control+z', 'Control+z', 'Control+z')
    await isText('one andhalfyxtwo\r\nthree\n')
  })

  test('are named as they are once the last other one is gone from the text', async () => {
    await open('mixed.txt', 'one\r\ntwo\nthree\r\n')
    await button('mixed line endings').waitFor()
    await page.keyboard.press('Control+f')
    const find = page.getByRole('textbox', { name: 'Find', exact: true })
    await find.fill('\\r')
    await page.getByRole('button', { name: /regular expression/i }).click()
    await page.getByRole('textbox', { name: 'Replace', exact: true }).fill('')
    await page.getByRole('button', { name: /^Replace all/i }).click()
    await button('LF').waitFor()
    // The panel says what it did, not that nothing is left.
    await page.getByText('2 matches replaced').waitFor()
  })

  test('are a draft by themselves, which the review names and Undo takes back', async () => {
    await open('lines.txt', 'one\ntwo\n')
    await choose('LF', /^CRLF/)
    await drafts().waitFor()
    await page.getByRole('tab', { name: 'lines.txt , draft', selected: true }).waitFor()
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'Unsaved changes' }).click()
    await page.getByText('All line endings changed: LF → CRLF.').waitFor()
    await toast('All line endings').getByRole('button', { name: 'Undo' }).click()
    await toast('Undone: change the line endings of lines.txt to CRLF in main').waitFor()
    await drafts().waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: /^lines\.txt/ }).click()
    await button('LF').waitFor()
  })

  test('of a last line that had none, and got one with a line after it, are named in the review as git diff has them', async () => {
    await open('end.txt', 'one\ntwo')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('\nthree')
    await drafts().waitFor()
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'Unsaved changes' }).click()
    const diff = page.getByRole('article', { name: 'end.txt' }).locator('.diff-code')
    const rows = () =>
      diff
        .locator('.dl')
        .evaluateAll(all => all.map(row => `${row.querySelector('b')?.textContent}${row.lastChild?.textContent}`))
    const ofGit = ['one', '−two', '\\No newline at end of file', '+two', '+three', '\\No newline at end of file']
    await until(async () => (await rows()).join() === ofGit.join())
    await page
      .getByRole('button', { name: /side by side/i })
      .first()
      .click()
    const signs = () => diff.locator('.pair').evaluateAll(all => all.map(pair => pair.textContent?.replace(/\d+/g, '')))
    const named = '\\No newline at end of file'
    await until(async () => (await signs()).join() === ['oneone', '−two+two', named, '+three', named].join())
    expect(await findings(page)).toEqual([])
  })

  test('are none of a draft any more when they are changed back', async () => {
    await open('lines.txt', 'one\r\ntwo\r\n')
    await choose('CRLF', /^LF/)
    await drafts().waitFor()
    await choose('LF', /^CRLF/)
    await drafts().waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'lines.txt', exact: true }).waitFor()
  })

  test('are made the same where they were mixed', async () => {
    await open('mixed.txt', 'one\r\ntwo\nthree\rfour\n')
    await choose('mixed line endings', /^LF/)
    await button('LF').waitFor()
    await desk.isText('main', 'mixed.txt', 'one\ntwo\nthree\nfour\n')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.git('show', 'main:mixed.txt')) === 'one\ntwo\nthree\nfour')
  })

  test('are undone after more was typed, which stays', async () => {
    await open('lines.txt', 'one\ntwo\n')
    await choose('LF', /^CRLF/)
    await button('CRLF').waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('zero ')
    await desk.isText('main', 'lines.txt', 'zero one\ntwo\n')
    await page.keyboard.press('Control+Alt+z')
    await toast('Undone: change the line endings').waitFor()
    await button('LF').waitFor()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.git('show', 'main:lines.txt')) === 'zero one\ntwo')
  })

  test('are chosen by a key, and can’t be chosen of a commit, nor of a text without any', async () => {
    await open('none.txt', 'one')
    await page.keyboard.press('Control+Alt+Shift+l')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await toast('none.txt has no line ending yet').waitFor()
    expect(await drafts().count()).toBe(0)
    await page.keyboard.press('Alt+h')
    await page.getByRole('listbox', { name: 'History' }).getByRole('option').first().dblclick()
    await page.getByRole('treeitem', { name: 'none.txt' }).click()
    await page.locator('.status').getByText('LF · UTF-8').waitFor()
    expect(await button('LF').count()).toBe(0)
  })
})
