/** The page in a real browser, against the stand-in of the server: a person's day, mostly by keyboard. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { StandIn } from '../web-stand-in.ts'
import { withEachDesk } from './each-desk.ts'
import { type DeskPage, until } from './scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

describe.skipIf(!hasBrowser)('the page', () => {
  let desk: StandIn
  let page: DeskPage
  withEachDesk(each => {
    desk = each.desk
    page = each.page
  })

  const files = () => page.getByRole('tablist', { name: 'Files' })
  const branches = () => page.getByRole('tablist', { name: 'Branches' })
  const editor = () => page.getByRole('textbox', { name: 'Editor' })
  const status = () => page.getByRole('status', { name: 'Status' })
  const openByName = async (name: string) => {
    await page.keyboard.press('Control+p')
    await page.keyboard.type(name)
    await page.keyboard.press('Enter')
    await page.locator('.crumbs .here').getByText(name).waitFor()
    await editor().waitFor()
  }

  test('a file is opened from the tree, edited and saved', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await editor().click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('More.')
    await until(() => desk.textOf('main', 'README.md') === '# Tern\n\nA queue.\nMore.')
    await files().getByRole('tab', { name: 'README.md , draft' }).waitFor()

    await page.keyboard.press('Control+s')
    await until(() => desk.branches.get('main')?.commits.length === 2)
    const commit = desk.branches.get('main')?.commits[0]
    expect(commit?.message).toBe('edit: README.md')
    await status()
      .getByText(`${commit?.oid.slice(0, 8)}`, { exact: true })
      .waitFor()
    await files().getByRole('tab', { name: 'README.md', exact: true }).waitFor()
  })

  test('the message of a commit can be another one', async () => {
    await openByName('README')
    await page.keyboard.type('New ')
    const message = page.getByRole('textbox', { name: 'Message of the commit' })
    await until(async () => (await message.inputValue()) === 'edit: README.md')
    await message.fill('Say what is new')
    await page.keyboard.press('Enter')
    await until(() => desk.branches.get('main')?.commits[0]?.message === 'Say what is new')
  })

  test('saving without a change makes nothing', async () => {
    await openByName('README')
    await page.keyboard.press('Control+s')
    await until(() => desk.asked.some(({ ask }) => ask === 'save'))
    await Bun.sleep(50)
    expect(desk.branches.get('main')?.commits.length).toBe(1)
  })

  test('all drafts of a branch are saved in one commit', async () => {
    await openByName('README')
    await page.keyboard.type('1')
    await openByName('FORK')
    await page.keyboard.type('2')
    await until(() => desk.textOf('main', 'FORK.md')?.startsWith('2'))
    await page.keyboard.press('Control+Shift+s')
    await until(() => desk.branches.get('main')?.commits[0]?.message === 'edit: README.md, FORK.md')
  })

  test('branches are switched by keys, and each keeps what it shows', async () => {
    await openByName('README')
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('jitter')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'retry-jitter', selected: true }).waitFor()
    await files().getByRole('tab', { name: 'AI chat', selected: true }).waitFor()
    await page.keyboard.press('Alt+1')
    await files().getByRole('tab', { name: 'README.md', selected: true }).waitFor()
  })

  test('the tree is walked by keys', async () => {
    await page.getByRole('treeitem', { name: 'src' }).waitFor()
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('s')
    await page.keyboard.press('ArrowRight')
    await page.getByRole('treeitem', { name: 'queue' }).waitFor()
    await page.keyboard.press('i')
    await page.keyboard.press('Enter')
    await files().getByRole('tab', { name: 'index.ts', selected: true }).waitFor()
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    const source = page.getByRole('treeitem', { name: 'src' })
    await until(async () => (await source.getAttribute('aria-expanded')) === 'false')
  })

  test('every command has keys of its own, none of the browser, and stands in the palette', async () => {
    await openByName('README')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('>')
    await until(async () => (await page.getByRole('group').count()) === 1)
    const keys = await page.getByRole('option').locator('kbd').allTextContents()
    const options = await page.getByRole('option').count()
    expect(keys.length).toBe(options)
    expect(new Set(keys).size).toBe(keys.length)
    for (const key of ['Ctrl N', 'Ctrl T', 'Ctrl W', 'Ctrl Tab', 'Ctrl Shift N', 'Alt F4'])
      expect(keys).not.toContain(key)
  })

  test('files are made, renamed and deleted by keys', async () => {
    await page.getByRole('treeitem', { name: 'src' }).waitFor()
    await page.keyboard.press('Alt+n')
    const dialog = page.getByRole('dialog', { name: 'New file' })
    await dialog.getByRole('textbox').fill('docs/new.md')
    await page.keyboard.press('Enter')
    await files().getByRole('tab', { name: 'new.md', selected: true }).waitFor()
    await page.keyboard.press('F2')
    await page.getByRole('dialog', { name: 'Rename new.md' }).getByRole('textbox').fill('docs/other.md')
    await page.keyboard.press('Enter')
    await files().getByRole('tab', { name: 'other.md', selected: true }).waitFor()
    await page.keyboard.press('Alt+Delete')
    const confirm = page.getByRole('dialog', { name: 'Delete other.md?' })
    await confirm.getByRole('button', { name: 'Delete' }).click()
    await until(() => desk.branches.get('main')?.commits[0]?.message === 'delete: docs/other.md')
    await until(async () => (await files().getByRole('tab').count()) === 1)
  })

  test('a dialog stays and says why where it did not work', async () => {
    await page.getByRole('treeitem', { name: 'src' }).waitFor()
    await page.keyboard.press('Alt+n')
    await page.getByRole('dialog').getByRole('textbox').fill('README.md')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('README.md is there already.').waitFor()
    await page.keyboard.press('Escape')
    await until(async () => (await page.getByRole('dialog').count()) === 0)
  })

  test('text is found in all files, as it comes, and opened at its place', async () => {
    await page.getByRole('treeitem', { name: 'src' }).waitFor()
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('leaselost(')
    await page.getByRole('status').getByText('1 line in 1 file').waitFor()
    await page.getByRole('option').nth(1).click()
    await editor().waitFor()
    await until(async () => (await page.locator('.line-column').textContent()) === '46:36')
  })

  test('a review shows what was typed, with unchanged lines folded', async () => {
    await openByName('lease.ts')
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('// first')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'Unsaved changes' }).click()
    const diff = page.getByRole('article', { name: 'src/queue/lease.ts' })
    await diff.locator('.dl.a').getByText('// first').waitFor()
    const fold = diff.getByRole('button', { name: /unchanged lines/ })
    const before = await diff.locator('.dl').count()
    await fold.click()
    await until(async () => (await diff.locator('.dl').count()) > before + 20)
    await page.keyboard.press('Alt+s')
    await diff.locator('.pair').first().waitFor()
  })

  test('a review counts the lines that it shows, where git counts a line end more', async () => {
    desk.addBranch('ends', { 'a.txt': 'a\nb' })
    desk.sayDesk()
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('ends')
    await page.getByRole('option', { name: 'ends' }).waitFor()
    await page.keyboard.press('Enter')
    await openByName('a.txt')
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Enter')
    await page.keyboard.type('c')
    await until(() => desk.textOf('ends', 'a.txt') === 'a\nb\nc')
    await page.keyboard.press('Alt+r')
    await page.keyboard.press('Alt+Shift+3')
    const diff = page.getByRole('article', { name: 'a.txt' })
    await diff.locator('.dl.a').getByText('c').waitFor()
    expect(await diff.locator('.dl.m').count()).toBe(0)
    await diff.locator('header .add-n').getByText('+1').waitFor()
    expect(await diff.locator('header .del-n').textContent()).toBe('')
  })

  test('history: a commit opens as it was, read-only, and a branch can begin there', async () => {
    await openByName('README')
    await page.keyboard.type('x')
    await until(() => desk.textOf('main', 'README.md')?.startsWith('x'))
    await page.keyboard.press('Control+s')
    await until(() => desk.branches.get('main')?.commits.length === 2)
    await page.keyboard.press('Alt+h')
    const first = desk.branches.get('main')?.commits[1]
    await page.getByRole('option', { name: 'Begin main' }).dblclick()
    await branches()
      .getByRole('tab', { name: first?.oid.slice(0, 8) ?? '', selected: true })
      .waitFor()
    await openByName('README')
    await page.keyboard.type('not to be seen')
    expect(await editor().textContent()).toContain('# Tern')
    expect(await editor().textContent()).not.toContain('not to be seen')
    await page.getByRole('button', { name: 'Branch from here' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('again')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'again', selected: true }).waitFor()
  })

  test('two files of one name are told from each other by their folders', async () => {
    const main = desk.branches.get('main')
    if (!main) throw new Error('There is no main')
    for (const path of ['src/http/index.ts', 'test/http/index.ts'])
      main.files.set(path, { mode: '100644', text: '1\n' })
    const open = async (path: string) => {
      await page.keyboard.press('Control+p')
      await page.keyboard.type(path)
      await page.getByRole('option', { name: `index.ts ${path.replace('index.ts', '')}` }).waitFor()
      await page.keyboard.press('Enter')
    }
    await open('src/http/index.ts')
    const tabs = page.getByRole('tablist', { name: 'Files' })
    await tabs.getByRole('tab', { name: 'index.ts', exact: true }).waitFor()
    await open('test/http/index.ts')
    await tabs.getByRole('tab', { name: 'index.ts src/http' }).waitFor()
    await tabs.getByRole('tab', { name: 'index.ts test/http' }).waitFor()
  })

  test('a new branch has the name that was typed for it, and says where it begins', async () => {
    await page.getByRole('button', { name: 'Open or make a branch' }).click()
    await page.keyboard.type('not-there-yet')
    await page.getByRole('option', { name: 'New branch not-there-yet…' }).waitFor()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'New branch' })
    const tip = desk.branches.get('main')?.commits[0]?.oid.slice(0, 8)
    await dialog.getByText(`It starts at main (${tip}).`).waitFor()
    expect(await dialog.getByLabel('Branch name').inputValue()).toBe('not-there-yet')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'not-there-yet', selected: true }).waitFor()
  })

  test('undo and redo are at hand, and operations are listed', async () => {
    await openByName('README')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await until(() => desk.canUndo !== undefined)
    await status()
      .getByText(`${desk.branches.get('main')?.commits[0]?.oid.slice(0, 8)}`, { exact: true })
      .waitFor()
    await page.keyboard.press('Control+Alt+z')
    await page.locator('.notice').getByText('Undone: edit: README.md').waitFor()
    await page.getByRole('button', { name: 'Redo', exact: true }).click()
    await page.locator('.notice').getByText('Redone: edit: README.md').waitFor()
    expect(await page.locator('.notice').count()).toBe(1)
    await page.keyboard.press('Alt+o')
    await page.getByRole('dialog', { name: 'Operations' }).waitFor()
  })

  test('the layout is there again', async () => {
    await openByName('README')
    await openByName('lease.ts')
    await until(() => desk.layout?.tabs[0]?.active === 'src/queue/lease.ts')
    await page.reload()
    await files().getByRole('tab', { name: 'README.md' }).waitFor()
    await files().getByRole('tab', { name: 'lease.ts', selected: true }).waitFor()
    await editor().getByText('LeaseKeeper').first().waitFor()
  })

  test('the layout is kept where the window goes at once', async () => {
    await openByName('README')
    await page.reload()
    await files().getByRole('tab', { name: 'README.md', selected: true }).waitFor()
    await page.goBack()
    await page.goForward()
    await files().getByRole('tab', { name: 'README.md', selected: true }).waitFor()
  })

  test('a branch that vanished is said to be gone, and comes back', async () => {
    await openByName('README')
    await page.keyboard.type('kept')
    desk.branches.delete('main')
    desk.sayDesk()
    await page.getByText('main was deleted').waitFor()
    await page.getByRole('button', { name: 'Restore branch' }).click()
    await until(() => desk.branches.has('main'))
    await until(async () => (await page.getByText('main was deleted').count()) === 0)
  })

  test('what can not be edited says what it is', async () => {
    await page.getByRole('treeitem', { name: 'data.bin' }).click()
    await page.getByText('These bytes are no UTF-8 text.').waitFor()
    await page.getByRole('treeitem', { name: 'big.locked' }).click()
    await page.getByText('kept by git-lfs').waitFor()
    await page.getByRole('treeitem', { name: 'logo.png' }).click()
    await page.getByRole('img', { name: 'logo.png' }).waitFor()
  })

  test('what went wrong is said, and what is kept', async () => {
    desk.refused.set('save', 'The commit could not be signed.')
    await openByName('README')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await page.getByRole('alert').getByText('The commit could not be signed.').waitFor()
    await files().getByRole('tab', { name: 'README.md , draft' }).waitFor()
  })
})
