/**
 * Drafts that conflict with a new commit of their branch, on the real desk: resolved in the editor, as a merge's
 * conflicts are.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { commit, git } from '../../../support/git.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { findings } from './axe.ts'
import { until } from './page-scene.ts'
import { openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const LINES = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n'
const THEIRS = LINES.replace('two', 'THEIR TWO').replace('six', 'THEIR SIX')
/** A folder for screenshots. */
const { PICTURES } = Bun.env

describe.skipIf(!hasBrowser)('drafts in conflict with their branch', () => {
  let desk: RealDesk
  let browser: OpenBrowser
  beforeAll(async () => {
    const branches = {
      main: { 'a.txt': LINES, 'b.txt': 'b\n', 'typed.txt': LINES, 'moved.txt': LINES, 'gone.txt': 'gone\n' },
    }
    desk = await openRealDesk({ built: await builtPage(), branches })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await desk[Symbol.asyncDispose]()
  })

  /** Replaces a line of the shown file. */
  const replaceLine = async (page: RealPage, number: number, words: string) => {
    await page.keyboard.press('Control+Home')
    for (let line = 1; line < number; line++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+End')
    await page.keyboard.type(words)
  }
  const conflict = (page: RealPage, number: number) =>
    page.getByRole('region', { name: `Conflict ${number} of 2`, exact: true })
  const boxOf = async (locator: Locator) => (await locator.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  const picture = async (page: RealPage, name: string) => {
    for (const colorScheme of PICTURES ? (['light', 'dark'] as const) : []) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}.png` })
    }
  }

  test('are resolved by one side for a whole file, or for all files, in one step each, with an undo', async () => {
    await desk.commit('main', { 'sides.txt': LINES, 'cut.txt': 'two' })
    const page = await visit(browser.context, desk)
    const draft = (path: string) => desk.show('refs/forge/drafts/main', path)
    const text = async () => (await page.locator('.cm-line').allTextContents()).join('\n')
    await openFile(page, 'main', 'cut.txt')
    await page.keyboard.type('my ')
    await openFile(page, 'main', 'sides.txt')
    await replaceLine(page, 2, 'MY TWO')
    await replaceLine(page, 4, 'typed')
    await replaceLine(page, 6, 'MY SIX')
    await until(
      async () => (await draft('sides.txt')).includes('MY SIX') && (await draft('cut.txt')).includes('my two'),
    )
    await desk.commit('main', { 'sides.txt': THEIRS, 'cut.txt': 'their two' })
    await conflict(page, 2).waitFor()
    await page.keyboard.press('Control+Shift+F8')
    await page.getByRole('region', { name: 'Conflict 2 of 2, resolved' }).waitFor()
    await page.locator('.toast').getByText('Resolved the conflicts left in sides.txt by theirs.').waitFor()
    const taken = THEIRS.replace('four', 'typed')
    await until(async () => (await text()) === taken)
    const undo = page.locator('.toast').getByRole('button', { name: 'Undo' })
    await undo.click()
    await conflict(page, 2).waitFor()
    await page.keyboard.press('Alt+Shift+K')
    const files = page.getByRole('navigation', { name: 'Conflicted files' })
    await files.getByRole('button', { name: /cut\.txt/ }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Take theirs for all conflicts of all files' }).click()
    await files.getByRole('heading', { name: 'To do' }).waitFor({ state: 'detached' })
    await until(async () => (await text()) === taken)
    await undo.click()
    await files.getByRole('region', { name: 'To do' }).getByRole('button').nth(1).waitFor()
    await files.getByRole('button', { name: /sides\.txt/ }).click()
    await conflict(page, 2).waitFor()
    await page.keyboard.press('Control+F8')
    await files.getByRole('region', { name: 'Resolved' }).getByText('sides.txt').waitFor()
    await files.getByRole('button', { name: /cut\.txt/ }).click()
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
    await page.keyboard.press('Control+Shift+F8')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.press('Control+Shift+s')
    await until(async () => (await desk.show('main', 'sides.txt')).includes('MY SIX'))
    const mine = LINES.replace('two', 'MY TWO').replace('four', 'typed').replace('six', 'MY SIX')
    expect(await desk.show('main', 'sides.txt')).toBe(mine)
    expect(await desk.show('main', 'cut.txt')).toBe('their two')
    await page.close()
  })

  test('take no key that chooses a side as text when theirs is taken for all: the focus goes from box to box', async () => {
    await desk.commit('main', { 'focus.txt': LINES })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'focus.txt')
    await replaceLine(page, 2, 'MY TWO')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'focus.txt')).includes('MY TWO'))
    await desk.commit('main', { 'focus.txt': LINES.replace('two', 'THEIR TWO') })
    const box = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await box.waitFor()
    await page.keyboard.press('F8')
    await until(() => box.evaluate(it => it === document.activeElement))
    await page.evaluate(() => {
      window.addEventListener('focusin', ({ target }) => {
        if (target instanceof Element && target.matches('.cm-content')) target.setAttribute('data-had-focus', '')
      })
    })
    await page.keyboard.press('Control+Shift+F8')
    const resolved = page.getByRole('region', { name: 'Conflict 1 of 1, resolved' })
    await until(() => resolved.evaluate(it => it === document.activeElement))
    expect(await page.locator('[data-had-focus]').count()).toBe(0)
    await page.keyboard.press('1')
    await page.keyboard.press('Control+s')
    await page.locator('.cm-line').getByText('THEIR TWO', { exact: true }).waitFor()
    await page.close()
  })

  test('leave no draft when the one that was moved to another branch is resolved by theirs and saved', async () => {
    await desk.commit('main', { 'onto.txt': LINES })
    await git(desk.path, 'branch', 'onto', 'main')
    await desk.commit('onto', { 'onto.txt': THEIRS })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'onto.txt')
    await replaceLine(page, 2, 'MY TWO')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'onto.txt')).includes('MY TWO'))
    await page.keyboard.press('Control+Alt+Shift+O')
    await page.getByRole('option', { name: /^onto/ }).waitFor()
    await page.keyboard.type('onto')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: /^onto/, selected: true }).waitFor()
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
    await page.keyboard.press('F8')
    await page.keyboard.press('2')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.getByText('1 draft since').waitFor()
    await page.keyboard.press('Control+s')
    await page.getByText('1 draft since').waitFor({ state: 'detached' })
    await page.getByPlaceholder('Nothing to save').waitFor()
    await page.close()
  })

  test('are left whole by the keys that move a line over them', async () => {
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'moved.txt')
    await replaceLine(page, 2, 'MY TWO')
    await replaceLine(page, 6, 'MY SIX')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'moved.txt')).includes('MY SIX'))
    await desk.commit('main', { 'moved.txt': THEIRS })
    await conflict(page, 2).waitFor()
    const lines = page.locator('.cm-editor .cm-line')
    const words = async () => (await lines.allTextContents()).join(' ')
    const before = await words()
    await lines.filter({ hasText: 'three' }).click()
    await page.keyboard.press('Alt+ArrowUp')
    await lines.filter({ hasText: 'five' }).click()
    await page.keyboard.press('Alt+ArrowDown')
    expect(await words()).toBe(before)
    // A line moves where there is no conflict.
    await page.keyboard.press('Alt+ArrowUp')
    await until(async () => (await words()) === before.replace('four five', 'five four'))
    await page.keyboard.press('Alt+ArrowDown')
    await page.keyboard.press('Alt+Shift+a')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Discard/ })
      .click()
    await conflict(page, 1).waitFor({ state: 'detached' })
    await page.close()
  })

  test('are chosen by the keys of a merge, in two windows, and saved as any draft', async () => {
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'b.txt')
    await page.keyboard.type('mine ')
    await openFile(page, 'main', 'a.txt')
    await replaceLine(page, 2, 'MY TWO')
    await replaceLine(page, 6, 'MY SIX')
    // The desk has all edits before the branch moves.
    await until(async () => (await desk.show('refs/forge/drafts/main', 'a.txt')).includes('MY SIX'))
    await page.keyboard.press('Control+End')
    await desk.commit('main', { 'a.txt': THEIRS })
    await page.getByText('main moved outside the desk').waitFor()
    await conflict(page, 1).waitFor()
    // While the draft of a.txt can not be saved, that of b.txt can.
    await page.getByPlaceholder('Resolve the conflicts first').waitFor()
    await openFile(page, 'main', 'b.txt')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'b.txt')) === 'mine b\n')
    const other = await visit(browser.context, desk)
    await page.getByRole('button', { name: 'Resolve' }).click()
    await until(() => conflict(page, 1).evaluate(box => box === document.activeElement))
    await page
      .getByRole('navigation', { name: 'Conflicted files' })
      .getByRole('button', { name: /a\.txt.*2 left/ })
      .waitFor()
    await picture(page, 'drafts-in-conflict')
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('3')
    await until(() => conflict(page, 2).evaluate(box => box === document.activeElement))
    await page.keyboard.press('2')
    await page.getByRole('heading', { name: 'Resolved' }).waitFor()
    await picture(page, 'drafts-settled')
    // The other window has the file with the resolution, and the message of its save.
    await openFile(other, 'main', 'a.txt')
    await other.locator('.cm-line').getByText('MY TWO').waitFor()
    const message = other.getByRole('textbox', { name: 'Commit message' })
    await until(async () => (await message.inputValue()) === 'edit: a.txt')
    await other.close()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+s')
    const saved = LINES.replace('two', 'MY TWO\nTHEIR TWO').replace('six', 'THEIR SIX')
    await until(async () => (await desk.show('main', 'a.txt')) === saved)
    await page.getByRole('navigation', { name: 'Conflicted files' }).waitFor({ state: 'detached' })
    // The undo of the editor does not bring the conflict back.
    const lines = () => page.locator('.cm-line').allTextContents()
    const before = await lines()
    await page.keyboard.press('Control+z')
    expect(await lines()).toEqual(before)
    await page.close()
  })

  test('leave the focus in the text when they are saved, and a letter typed in ours is deleted again', async () => {
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'typed.txt')
    await replaceLine(page, 2, 'MY TWO')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'typed.txt')).includes('MY TWO'))
    await desk.commit('main', { 'typed.txt': THEIRS })
    const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await block.waitFor()
    // The cursor is where the conflict is now.
    const ours = block.getByRole('region', { name: 'Ours' }).locator('pre')
    const cursor = ours.locator('.side-cursor')
    await cursor.waitFor()
    await page.keyboard.type('xy')
    await until(async () => (await ours.textContent()) === 'MY TWOxy\n')
    expect(await cursor.evaluate(it => it.previousSibling?.textContent)).toBe('MY TWOxy')
    await picture(page, 'typed-in-conflict')
    await page.keyboard.press('Enter')
    await page.keyboard.type('z')
    await until(async () => (await ours.textContent()) === 'MY TWOxy\nz\n')
    for (const _ of '\nzxy') await page.keyboard.press('Backspace')
    await until(async () => (await ours.textContent()) === 'MY TWO\n')
    await page.keyboard.press('F8')
    await until(() => block.evaluate(box => box === document.activeElement))
    await page.keyboard.press('3')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.press('Control+s')
    const saved = THEIRS.replace('THEIR TWO', 'MY TWO\nTHEIR TWO')
    await until(async () => (await desk.show('main', 'typed.txt')) === saved)
    // No key is lost, however soon it is typed.
    await page.keyboard.type('z')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'typed.txt')).includes('z'))
    await page.keyboard.press('Backspace')
    await page.close()
  })

  test('are numbered anew where a redo makes others of them, and none that is open is marked as resolved', async () => {
    const long = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`).join('')
    // A branch of its own, as its conflict stays open.
    await git(desk.path, 'branch', 'numbered', 'main')
    await desk.commit('numbered', { 'long.txt': long })
    const page = await visit(browser.context, desk)
    const editor = page.getByRole('textbox', { name: 'Editor' })
    const isDraft = (words: string) =>
      until(async () => (await desk.show('refs/forge/drafts/numbered', 'long.txt').catch(() => '')).includes(words))
    const conflicts = page.getByRole('region', { name: /^Conflict \d/ })
    await openFile(page, 'numbered', 'long.txt')
    await replaceLine(page, 5, 'first draft')
    await replaceLine(page, 20, 'second draft')
    await isDraft('second draft')
    await page.keyboard.press('Alt+Shift+d')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.locator('.cm-line').getByText('line 20', { exact: true }).waitFor()
    await editor.click()
    await replaceLine(page, 5, 'typed')
    await isDraft('typed')
    await page.keyboard.press('Control+Alt+z')
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
    await page.locator('.cm-line').getByText('second draft', { exact: true }).click()
    await page.keyboard.press('End')
    await page.keyboard.type(' typed on')
    await page.locator('.toast').getByRole('button', { name: 'Redo' }).click()
    const ours = conflicts.getByRole('region', { name: 'Ours' })
    await ours.getByText('second draft typed on').waitFor()
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
    expect(await conflicts.count()).toBe(1)
    await page.close()
  })

  test('keep in ours what is typed on in a last line without a line end', async () => {
    await desk.commit('main', { 'end.txt': 'first\nlast' })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'end.txt')
    await page.keyboard.press('Control+End')
    let typed = 'last'
    const type = async (words: string) => {
      await page.keyboard.type(words)
      typed += words
    }
    await type(' mine')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'end.txt')) === `first\n${typed}`)
    await desk.commit('main', { 'end.txt': 'first\nlast of theirs' })
    const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    for (let word = 1; !(await block.isVisible()); word++) await type(` v${word}`)
    await type(' and on')
    const ours = block.getByRole('region', { name: 'Ours' }).locator('pre')
    await until(async () => (await ours.textContent()) === `${typed}\n`)
    await page.keyboard.press('F8')
    await until(() => block.evaluate(box => box === document.activeElement))
    await page.keyboard.press('1')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'end.txt')) === `first\n${typed}`)
    await page.close()
  })

  test('are in view with the cursor where one is of a whole long file that is typed in at its end', async () => {
    const lines = Array.from({ length: 98 }, (_, at) => `line ${at}`).join('\n')
    await desk.commit('main', { 'long.txt': lines })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'long.txt')
    await page.keyboard.press('Control+End')
    const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    const cursor = block.locator('.side-cursor')
    await page.keyboard.type('typed ')
    const outside = desk.commit('main', { 'long.txt': 'new\n' })
    while ((await cursor.count()) === 0) await page.keyboard.type('on ', { delay: 20 })
    await outside
    await page.keyboard.type('END')
    const isSeen = () =>
      cursor.evaluate(it => {
        const { left, top, height } = it.getBoundingClientRect()
        return it.closest('pre')?.contains(document.elementFromPoint(left, top + height / 2)) === true
      })
    await until(isSeen)
    expect(await block.getByRole('region', { name: 'Ours' }).locator('pre').textContent()).toContain(' END')
    await block.getByRole('button', { name: 'Ours' }).click()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'long.txt')).includes(' END'))
    await page.close()
  })

  test('keep the indentation of the lines that are typed on in them', async () => {
    await desk.commit('main', { 'pool.go': 'func get() {\n\treturn\n}\n' })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'pool.go')
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.type(' 1')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'pool.go')).includes('\treturn 1\n'))
    await desk.commit('main', { 'pool.go': 'func get() {\n\treturn 2\n}\n' })
    const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await block.locator('.side-cursor').waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.type('if x {')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type('y()')
    await block.getByText('y()').waitFor()
    await page.keyboard.press('F8')
    await until(() => block.evaluate(box => box === document.activeElement))
    await page.keyboard.press('1')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.press('Control+s')
    const saved = 'func get() {\n\treturn 1\n\tif x {\n\t\ty()\n}\n'
    await until(async () => (await desk.show('main', 'pool.go')) === saved)
    await page.close()
  })

  for (const { path, where, changed } of [
    { path: 'first.txt', where: 'that was selected first', changed: 'theirs\nthree\nfour\nfive\nname\nseven\n' },
    { path: 'other.txt', where: 'of another cursor', changed: 'name\nthree\nfour\nfive\ntheirs\nseven\n' },
  ])
    test(`get what is typed on with several cursors, as the text around them does: in the line ${where}`, async () => {
      const both = (name: string) => `${name}\nthree\nfour\nfive\n${name}\nseven\n`
      await desk.commit('main', { [path]: both('name') })
      const page = await visit(browser.context, desk)
      await openFile(page, 'main', path)
      await page.locator('.cm-line').getByText('name', { exact: true }).first().dblclick()
      await page.keyboard.press('Control+Shift+l')
      await page.keyboard.type('mine')
      await until(async () => (await desk.show('refs/forge/drafts/main', path)) === both('mine'))
      await desk.commit('main', { [path]: changed })
      const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
      const ours = block.getByRole('region', { name: 'Ours' }).locator('pre')
      await block.locator('.side-cursor').waitFor()
      const texts = async () => [await ours.textContent(), ...(await page.locator('.cm-line').allTextContents())]
      const isTyped = async (lines: string) => (await texts()).join('\n').split(lines).length === 3
      await page.keyboard.type('xy')
      await until(() => isTyped('minexy'))
      await picture(page, `typed-at-cursors-${where.replaceAll(' ', '-')}`)
      await page.keyboard.press('Enter')
      await page.keyboard.type('zw')
      await until(() => isTyped('minexy\nzw'))
      for (const _ of '\nzw') await page.keyboard.press('Backspace')
      await until(async () => (await isTyped('minexy')) && !(await texts()).join('\n').includes('z'))
      await page.keyboard.press('F8')
      await until(() => block.evaluate(box => box === document.activeElement))
      await page.keyboard.press('1')
      await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
      await page.keyboard.press('Control+s')
      await until(async () => (await desk.show('main', path)) === both('minexy'))
      await page.close()
    })

  test('appear around the line being typed, which stays in view at its height, also while typing goes on', async () => {
    const numbered = (changed: string) =>
      Array.from({ length: 120 }, (_, at) => (at === 39 ? changed : `line ${at + 1}`)).join('\n')
    await desk.commit('main', { 'rows.txt': numbered('line 40') })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'rows.txt')
    await page.keyboard.press('Control+Home')
    for (let line = 1; line < 40; line++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    for (let row = 1; row <= 8; row++) await page.keyboard.type(`\nrow ${row}`)
    await until(async () => (await desk.show('refs/forge/drafts/main', 'rows.txt')).includes('row 8'))
    const place = page.getByTitle(/: go to a line/)
    expect(await place.textContent()).toContain('48:6')
    const editor = page.getByRole('textbox', { name: 'Editor' })
    // The line is the last one that is visible.
    const scroller = page.locator('.cm-scroller')
    const row = editor.locator('.cm-line').getByText('row 8', { exact: true })
    await row.evaluate(it => it.scrollIntoView({ block: 'end' }))
    const topOf = (it: Element) => it.getBoundingClientRect().top
    const before = await row.evaluate(topOf)
    await desk.commit('main', { 'rows.txt': numbered('THEIR 40\nTHEIR 41\nTHEIR 42') })
    const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await block.waitFor()
    await page.getByText('main moved outside the desk').waitFor()
    const cursor = block.locator('.side-cursor')
    await cursor.waitFor()
    // The rows of a conflict are a little lower than those of the text.
    const moved = async () => Math.abs((await cursor.evaluate(topOf)) - before)
    await until(async () => (await moved()) < 4)
    expect(await place.textContent()).toContain('48:6')
    await picture(page, 'typed-where-a-conflict-appears')
    for (let next = 9; next <= 40; next++) {
      await page.keyboard.type(`\nrow ${next}`)
      await block.getByText(`row ${next}`, { exact: true }).waitFor()
      // The editor scrolls in the next frame.
      await until(async () => {
        const [{ y, height }, view] = await Promise.all([boxOf(cursor), boxOf(scroller)])
        return y >= view.y && y + height <= view.y + view.height
      })
    }
    expect(await place.textContent()).toContain('80:7')
    await page.keyboard.press('F8')
    await until(() => block.evaluate(box => box === document.activeElement))
    await page.keyboard.press('1')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'rows.txt')).includes('row 40'))
    await page.close()
  })

  test('show their heads below the lines that stay in view, where they appear around a line at the top', async () => {
    const line = (number: number, changed: string) => (number === 60 ? `    ${changed}` : `    step(${number})`)
    const text = (changed: string) => {
      const lines = Array.from({ length: 150 }, (_, at) => line(at + 1, changed))
      return ['class Long {', '  run() {', ...lines, '  }', '}', ''].join('\n')
    }
    await desk.commit('main', { 'long.ts': text('step(60)') })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'long.ts')
    await replaceLine(page, 62, '    mine(60)')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'long.ts')) === text('mine(60)'))
    const sticky = page.locator('.cm-sticky-line')
    const typed = page.locator('.cm-line').getByText('mine(60)')
    await typed.evaluate(it => it.scrollIntoView({ block: 'start' }))
    await until(async () => (await sticky.count()) === 2)
    const scroller = page.locator('.cm-scroller')
    const heightBelow = await page.locator('.cm-sticky').evaluate(it => it.getBoundingClientRect().height)
    await scroller.evaluate((it, by) => it.scrollBy(0, -by), heightBelow)
    await desk.commit('main', { 'long.ts': text('theirs(60)') })
    const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await block.waitFor()
    await page.getByText('main moved outside the desk').waitFor()
    const isHeadInView = () =>
      block.evaluate(it => {
        const { left, top } = it.getBoundingClientRect()
        return it.contains(document.elementFromPoint(left + 20, top + 2))
      })
    await until(isHeadInView)
    await picture(page, 'conflict-below-sticky-lines')
    await block.focus()
    await page.keyboard.press('1')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'long.ts')) === text('mine(60)'))
    await page.close()
  })

  test('do not shift the numbers of the lines that stay in view below them', async () => {
    const text = (first: string) => `${first}\nclass Long {\n${'  step()\n'.repeat(150)}}\n`
    await desk.commit('main', { 'below.ts': text('begin()') })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'below.ts')
    await replaceLine(page, 1, 'mine()')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'below.ts')) === text('mine()'))
    await desk.commit('main', { 'below.ts': text('theirs()') })
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
    await page.keyboard.press('Control+End')
    await page.locator('.cm-sticky-line').getByText('class Long').waitFor()
    expect(await page.locator('.cm-sticky-number').textContent()).toBe('2')
    await page.keyboard.press('F8')
    await page.keyboard.press('1')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'below.ts')) === text('mine()'))
    await page.close()
  })

  test('are in view as a whole when the text is scrolled sideways, and so is the cursor after a choice', async () => {
    await desk.commit('main', { 'long.txt': `${'long '.repeat(200)}\ntwo\n` })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'long.txt')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.type(' more'.repeat(60))
    await until(async () => (await desk.show('refs/forge/drafts/main', 'long.txt')).endsWith(' more\n'))
    const scroller = page.locator('.cm-scroller')
    expect(await scroller.evaluate(it => it.scrollLeft)).toBeGreaterThan(500)
    await desk.commit('main', { 'long.txt': `${'long '.repeat(200)}\nTHEIR TWO\n` })
    const block = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await block.waitFor()
    const isInView = async () => {
      const [box, gutters, editor] = await Promise.all(
        [block, page.locator('.cm-gutters'), scroller].map(it => it.boundingBox()),
      )
      if (!box || !gutters || !editor) return false
      // The block begins in the gutters, and covers them.
      const isAbove = await block.evaluate(it => {
        const { left, top } = it.getBoundingClientRect()
        return it.contains(document.elementFromPoint(left + 6, top + 16))
      })
      return isAbove && Math.abs(box.x - gutters.x - 12) < 1 && box.x + box.width <= editor.x + editor.width
    }
    await until(isInView)
    await scroller.evaluate(it => it.scrollTo({ left: 700 }))
    await until(isInView)
    await picture(page, 'conflict-scrolled-sideways')
    await page.keyboard.press('F8')
    await page.keyboard.press('2')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    await until(async () => (await scroller.evaluate(it => it.scrollLeft)) === 0)
    await page.close()
  })

  test('of a file that was deleted are chosen as a whole', async () => {
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'gone.txt')
    await page.keyboard.type('still ')
    await page.getByRole('tab', { name: 'gone.txt , draft' }).waitFor()
    await commit(desk.path, 'main', { 'gone.txt': null })
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await whole.getByText('deleted in main, changed in your draft').waitFor()
    // What is typed on meanwhile goes into the draft.
    await page.keyboard.type('here ')
    await page.getByRole('textbox', { name: 'Editor' }).getByText('still here gone').waitFor()
    await picture(page, 'draft-of-deleted-file')
    await whole.focus()
    await page.keyboard.press('1')
    await whole.waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'gone.txt')) === 'still here gone\n')
    await page.close()
  })

  test('follow their file when it is renamed outside, while typing goes on', async () => {
    await commit(desk.path, 'main', { 'old.txt': LINES })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'old.txt')
    await page.keyboard.type('mine ')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'old.txt')).startsWith('mine '))
    const renamed = page.getByRole('tab', { name: 'new.txt', selected: true })
    await commit(desk.path, 'main', { 'old.txt': null, 'new.txt': LINES })
    let typed = 'mine '
    while (!(await renamed.isVisible())) {
      await page.keyboard.type('x')
      typed += 'x'
    }
    await page.keyboard.type(' end ')
    await page.getByText('+1 −1').waitFor()
    expect(await page.getByRole('alert').getByText('is not open').count()).toBe(0)
    expect(await page.getByText('was not found').count()).toBe(0)
    await picture(page, 'draft-of-renamed-file')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'new.txt')) === `${typed} end ${LINES}`)
    await page.close()
  })

  test('are not counted above a file that is deleted', async () => {
    await commit(desk.path, 'main', { 'left.txt': LINES })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'left.txt')
    await page.keyboard.type('mine ')
    await page.getByText('+1 −1').waitFor()
    await until(async () => (await desk.show('refs/forge/drafts/main', 'left.txt')).startsWith('mine '))
    await commit(desk.path, 'main', { 'left.txt': null })
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await whole.focus()
    await page.keyboard.press('2')
    await page.getByText('left.txt was deleted').waitFor()
    expect(await page.getByText('+1 −1').count()).toBe(0)
    await page.close()
  })

  test('do not change the headings above them, in the list of symbols and in the preview', async () => {
    const text = (line: string) => `# Tern\n\n## Use\n\nOne line\nabove\n${line}\nbelow\n\n### More\n\nEnd.\n`
    await commit(desk.path, 'main', { 'guide.md': text('one') })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'guide.md')
    await replaceLine(page, 7, 'MINE')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'guide.md')) === text('MINE'))
    await page.getByRole('button', { name: 'Preview' }).click()
    const preview = page.getByRole('region', { name: 'Preview' })
    await preview.getByText('MINE').waitFor()
    await commit(desk.path, 'main', { 'guide.md': text('THEIRS') })
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).waitFor()
    await preview.getByText('Our side of the conflict.').waitFor()
    await preview.getByText('One line above MINE below').waitFor()
    expect(await preview.getByRole('heading').allTextContents()).toEqual(['Tern', 'Use', 'More'])
    await picture(page, 'draft-conflict-in-markdown')
    await page.getByRole('textbox', { name: 'Editor' }).focus()
    await page.keyboard.press('Alt+l')
    const symbols = page.getByRole('option')
    await until(async () => (await symbols.count()) === 3)
    const names = (await symbols.allTextContents()).map(name => name.replace(/heading$/, '').trim())
    expect(names).toEqual(['Tern', 'Use', 'More'])
    await page.close()
  })

  test('are left out by find and replace, which counts what it replaces', async () => {
    const text = (line: string) => `a draft of one\nabove\n${line}\nbelow\none is last\n`
    await commit(desk.path, 'main', { 'find.txt': text('one') })
    const page = await visit(browser.context, desk)
    await openFile(page, 'main', 'find.txt')
    await replaceLine(page, 3, 'one of mine')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'find.txt')) === text('one of mine'))
    await commit(desk.path, 'main', { 'find.txt': text('one of theirs') })
    const box = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await box.waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).focus()
    await page.keyboard.press('Control+f')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const said = panel.getByRole('status')
    const find = panel.getByRole('textbox', { name: 'Find', exact: true })
    for (const [words, count] of [
      ['draft', '1 of 1'],
      ['mine', 'No results'],
      ['>>>>', 'No results'],
      ['one', '2 of 2'],
    ] as const) {
      await find.fill(words)
      await until(async () => (await said.textContent()) === count)
    }
    await panel.getByRole('textbox', { name: 'Replace', exact: true }).fill('1')
    await panel.getByRole('button', { name: 'Replace all' }).click()
    await said.getByText('2 matches replaced').waitFor()
    await box.focus()
    await page.keyboard.press('3')
    const replaced = 'a draft of 1\nabove\none of mine\none of theirs\nbelow\n1 is last\n'
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'find.txt')) === replaced)
    await page.close()
  })
})
