/** One change of a draft is discarded or saved alone, and one of a commit taken back, in a real browser. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const LINES = Array.from({ length: 12 }, (_, at) => `line ${at + 1}`)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

const template = templateOf(async path => {
  await commit(path, 'main', { 'a.txt': text(LINES) }, { message: 'Begin' })
  await commit(path, 'main', { 'a.txt': text(LINES.with(1, 'second').with(9, 'tenth')) }, { message: 'Change two' })
})

describe.skipIf(!hasBrowser)('parts of changes', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  const isText = (expected: string) => desk.isText('main', 'a.txt', it => it === expected)
  const type = async (at: number, words: string) => {
    await page.keyboard.press('Control+Home')
    for (let line = 0; line < at; line++) await page.keyboard.press('ArrowDown')
    await page.keyboard.type(words)
  }
  const open = async () => {
    await page.getByRole('treeitem', { name: 'a.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
  }
  const now = LINES.with(1, 'second').with(9, 'tenth')

  test('the change at the cursor is discarded by a key, and so are selected lines; undo restores each', async () => {
    await open()
    await type(4, 'new\nand new\n')
    await type(8, 'X')
    const typed = now.toSpliced(4, 0, 'new', 'and new').with(8, 'Xline 7')
    await isText(text(typed))
    await page.keyboard.press('Alt+Shift+F5')
    await isText(text(typed.with(8, 'line 7')))
    await page.keyboard.press('Control+z')
    await isText(text(typed))
    await page.keyboard.press('Control+Home')
    for (let line = 0; line < 5; line++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Alt+Shift+F5')
    await isText(text(typed.toSpliced(5, 1)))
  })

  test('some lines are saved, and the rest stays a draft', async () => {
    await open()
    await type(0, 'A')
    await type(6, 'B')
    await isText(text(now.with(0, 'Aline 1').with(6, 'Bline 7')))
    await page.keyboard.press('Control+Alt+s')
    const dialog = page.getByRole('dialog', { name: 'Save some changes of main' })
    await dialog.getByRole('checkbox', { name: 'Change at line 7 of a.txt' }).check()
    await dialog.getByLabel('Commit message').fill('Only B')
    expect(await findings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await desk.git('show', 'main:a.txt')).toBe(text(now.with(6, 'Bline 7')).trimEnd())
    await page.getByText('1 draft since').waitFor()
    await isText(text(now.with(0, 'Aline 1').with(6, 'Bline 7')))
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.git('log', '-1', '--format=%s', 'main')) === 'Change two')
    await isText(text(now.with(0, 'Aline 1').with(6, 'Bline 7')))
  })

  test('a newline that was added at the end is a change of its own, which is saved or left out', async () => {
    await desk.commit('main', { 'end.txt': 'one\ntwo' })
    await page.getByRole('treeitem', { name: 'end.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await type(0, 'first\n')
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Enter')
    await desk.isText('main', 'end.txt', 'first\none\ntwo\n')
    await page.keyboard.press('Control+Alt+s')
    const dialog = page.getByRole('dialog', { name: 'Save some changes of main' })
    const change = (line: number) => dialog.getByRole('checkbox', { name: `Change at line ${line} of end.txt` })
    await change(3).waitFor()
    await dialog.getByRole('checkbox', { name: 'deleted two, no newline at end of file' }).waitFor()
    await dialog.getByText('No newline at end of file').waitFor()
    await change(1).check()
    expect(await change(3).isChecked()).toBe(false)
    expect(await findings(page)).toEqual([])
    const sizeIs = (text: string) =>
      until(async () => (await desk.git('cat-file', '-s', 'main:end.txt')) === `${text.length}`)
    const save = async () => {
      await dialog.getByRole('button', { name: 'Save', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await save()
    await sizeIs('first\none\ntwo')
    // The newline alone is left.
    await page.keyboard.press('Control+Alt+s')
    await change(3).check()
    await save()
    await sizeIs('first\none\ntwo\n')
  })

  test('of a renamed file, the rename is saved with some lines or alone, and the other lines stay a draft', async () => {
    await desk.ask({ ask: 'move', branch: 'main', moves: [{ from: 'a.txt', to: 'b.txt' }] })
    await page.getByRole('treeitem', { name: 'b.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await type(0, 'A')
    await type(6, 'B')
    const typed = text(now.with(0, 'Aline 1').with(6, 'Bline 7'))
    await desk.isText('main', 'b.txt', typed)
    await page.keyboard.press('Control+Alt+s')
    const dialog = page.getByRole('dialog', { name: 'Save some changes of main' })
    const rename = dialog.getByRole('checkbox', { name: 'Rename of b.txt' })
    const line = dialog.getByRole('checkbox', { name: 'Change at line 7 of b.txt' })
    await line.check()
    expect(await rename.isChecked()).toBe(true)
    await rename.uncheck()
    expect(await line.isChecked()).toBe(false)
    await line.check()
    expect(await findings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const names = () => desk.git('show', '--format=', '--name-status', '-M', 'main')
    expect(await names()).toMatch(/^R\d+\ta\.txt\tb\.txt$/)
    expect(await desk.git('show', 'main:b.txt')).toBe(text(now.with(6, 'Bline 7')).trimEnd())
    await page.getByText('1 draft since').waitFor()
    await desk.isText('main', 'b.txt', typed)
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.git('log', '-1', '--format=%s', 'main')) === 'Change two')
    // The rename is a draft again, and is saved alone.
    await page.keyboard.press('Control+Alt+s')
    await rename.check()
    expect(await line.isChecked()).toBe(false)
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await names()).toBe('R100\ta.txt\tb.txt')
    await desk.isText('main', 'b.txt', typed)
  })

  test('lines are chosen anew where the branch was moved meanwhile; the choice and the message stay after Escape', async () => {
    await open()
    await type(0, 'A')
    await type(6, 'B')
    await isText(text(now.with(0, 'Aline 1').with(6, 'Bline 7')))
    await page.keyboard.press('Control+Alt+s')
    const dialog = page.getByRole('dialog', { name: 'Save some changes of main' })
    const message = dialog.getByLabel('Commit message')
    await dialog.getByRole('checkbox', { name: 'Change at line 7 of a.txt' }).check()
    await message.fill('Only B')
    await desk.commit('main', { 'a.txt': text(now.with(11, 'twelfth')) })
    await dialog.getByRole('alert').getByText('a.txt has changed: choose its lines again.').waitFor()
    await dialog.getByRole('checkbox', { name: 'Change at line 7 of a.txt' }).check()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+s')
    expect(await message.inputValue()).toBe('Only B')
    expect(await dialog.getByRole('checkbox', { name: 'Change at line 7 of a.txt' }).isChecked()).toBe(true)
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await desk.messageOf('main')).toBe('Only B')
    expect(await desk.git('show', 'main:a.txt')).toBe(text(now.with(6, 'Bline 7').with(11, 'twelfth')).trimEnd())
  })

  test('no conflict markers are offered of a draft in conflict: a sentence says what comes first', async () => {
    await open()
    await type(6, 'B')
    await isText(text(now.with(6, 'Bline 7')))
    await desk.ask({ ask: 'new file', branch: 'main', path: 'b.txt' })
    await page.keyboard.press('Control+Alt+s')
    const dialog = page.getByRole('dialog', { name: 'Save some changes of main' })
    await dialog.getByRole('checkbox', { name: 'Change at line 7 of a.txt' }).check()
    await desk.commit('main', { 'a.txt': text(now.with(6, 'theirs')) })
    await dialog.getByText('a.txt has conflicts between your draft and the branch: resolve them first.').waitFor()
    expect(await dialog.getByText('<<<<<<<').count()).toBe(0)
    expect(await dialog.getByRole('checkbox', { name: /a\.txt/ }).count()).toBe(0)
    expect(await dialog.getByText('choose its lines again').count()).toBe(0)
    await dialog.getByRole('checkbox', { name: 'All changes of b.txt' }).check()
    expect(await findings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await desk.git('show', '--format=', '--name-only', 'main')).toBe('b.txt')
  })

  test('dialogs about a branch follow it to a new name, with what is chosen and typed in them', async () => {
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    const rename = async (from: string, to: string) => {
      await desk.git('branch', '-m', from, to)
      await page.getByRole('tab', { name: to, selected: true }).waitFor()
    }
    const dialog = (name: string) => page.getByRole('dialog', { name, exact: true })
    await open()
    await type(0, 'A')
    await type(6, 'B')
    await isText(text(now.with(0, 'Aline 1').with(6, 'Bline 7')))
    await page.keyboard.press('Control+Alt+s')
    await dialog('Save some changes of main').getByRole('checkbox', { name: 'Change at line 7 of a.txt' }).check()
    await page.getByRole('dialog').getByLabel('Commit message').fill('Only')
    await rename('main', 'trunk')
    await page.keyboard.type(' B')
    await dialog('Save some changes of trunk').getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await desk.git('log', '-1', '--format=%s', 'trunk')).toBe('Only B')
    await desk.isText('trunk', 'a.txt', text(now.with(0, 'Aline 1').with(6, 'Bline 7')))
    // A field with a name, which is neither selected nor replaced.
    await page.keyboard.press('Alt+n')
    await page.getByLabel('Path in trunk').fill('n')
    await rename('trunk', 'stem')
    await page.getByLabel('Path in stem').waitFor()
    await page.keyboard.type('ew.txt')
    await page.keyboard.press('Enter')
    await page.getByRole('treeitem', { name: 'new.txt' }).waitFor()
    // Its own rename closes its dialog, and so does a confirmation.
    await page.keyboard.press('Shift+F2')
    await dialog('Rename stem').getByRole('textbox').fill('leaf')
    await rename('stem', 'bough')
    await dialog('Rename bough').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('tab', { name: 'leaf', selected: true }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Alt+Shift+Delete')
    await dialog('Delete the branch leaf?').waitFor()
    await rename('leaf', 'twig')
    await dialog('Delete the branch twig?').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until(async () => !(await desk.has('twig')))
    await page.getByRole('tab', { name: 'twig' }).waitFor({ state: 'detached' })
  })

  test('a line of a commit is taken back as a draft', async () => {
    await page.keyboard.press('Alt+h')
    const list = page.getByRole('listbox', { name: 'History' })
    await list.getByRole('option', { name: 'Change two' }).click()
    await page.keyboard.press('Shift+E')
    const dialog = page.getByRole('dialog', { name: /^Revert some changes of/ })
    await dialog.getByRole('checkbox', { name: 'Change at line 10 of a.txt' }).check()
    await dialog.getByRole('button', { name: 'Revert as drafts' }).click()
    await dialog.waitFor({ state: 'detached' })
    await isText(text(LINES.with(1, 'second')))
    expect((await desk.git('log', '--format=%s', 'main')).split('\n')).toEqual(['Change two', 'Begin'])
    await page.locator('.toast').waitFor()
    await until(async () => (await page.getByRole('treeitem', { name: 'a.txt' }).count()) === 1)
  })

  test('a rename of a commit is taken back as a rename, which the open tab follows; its notice has Undo', async () => {
    await desk.commit('main', { 'a.txt': null, 'b.txt': text(now) }, { message: 'Rename' })
    await page.getByRole('treeitem', { name: 'b.txt' }).dblclick()
    const tab = (name: string) => page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name })
    await tab('b.txt').waitFor()
    await page.keyboard.press('Alt+h')
    await page.getByRole('listbox', { name: 'History' }).getByRole('option', { name: 'Rename' }).click()
    await page.keyboard.press('Shift+E')
    const dialog = page.getByRole('dialog', { name: /^Revert some changes of/ })
    await dialog.getByRole('checkbox', { name: 'All changes of b.txt' }).check()
    await dialog.getByRole('button', { name: 'Revert as drafts' }).click()
    await dialog.waitFor({ state: 'detached' })
    await tab('a.txt').waitFor()
    await page.getByText('1 draft since').waitFor()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await tab('b.txt').waitFor()
    await page.locator('.status .saved').getByText('Saved →').waitFor()
    await page.keyboard.press('Control+Alt+Shift+z')
    await tab('a.txt').click()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.messageOf('main')) === 'rename: b.txt → a.txt')
    expect(await desk.git('ls-tree', '--name-only', 'main')).toBe('a.txt')
  })

  test('the conversation is not among the changes of a commit that can be taken back', async () => {
    const files = { 'a.txt': text(LINES.with(4, 'fifth')), '.forge/session.json': '{}\n' }
    await desk.commit('main', files, { message: 'A turn' })
    await page.keyboard.press('Alt+h')
    const list = page.getByRole('listbox', { name: 'History' })
    await list.getByRole('option', { name: 'A turn' }).click()
    await page.keyboard.press('Shift+E')
    const dialog = page.getByRole('dialog', { name: /^Revert some changes of/ })
    await dialog.getByRole('checkbox', { name: 'All changes of a.txt' }).waitFor()
    expect(await dialog.getByRole('checkbox', { name: /session\.json/ }).count()).toBe(0)
  })
})
