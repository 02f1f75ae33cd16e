/** The page in a real browser on a real desk: a day of work, mostly by keyboard. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, showBranch, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

describe.skipIf(!hasBrowser)('the page', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
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
    await desk.isText('main', 'README.md', '# Tern\n\nA queue.\nMore.')
    await files().getByRole('tab', { name: 'README.md , draft' }).waitFor()

    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'edit: README.md')
    expect(await desk.git('show', 'main:README.md')).toBe('# Tern\n\nA queue.\nMore.')
    await status()
      .getByText((await desk.tip('main')).slice(0, 8), { exact: true })
      .waitFor()
    await files().getByRole('tab', { name: 'README.md', exact: true }).waitFor()
  })

  test('the message of a commit can be another one', async () => {
    await openByName('README')
    await page.keyboard.type('New ')
    const message = page.getByRole('textbox', { name: 'Commit message' })
    await until(async () => (await message.inputValue()) === 'edit: README.md')
    await message.fill('Say what is new')
    await page.keyboard.press('Enter')
    await desk.isMessage('main', 'Say what is new')
    // The browser's undo would bring the message of that commit back: the field stays empty for the next one.
    await until(async () => (await message.inputValue()) === '')
    await page.keyboard.press('Control+z')
    expect(await message.inputValue()).toBe('')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('Newer ')
    await until(async () => (await message.inputValue()) === 'edit: README.md')
    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'edit: README.md')
  })

  test('saving without a change makes nothing', async () => {
    await openByName('README')
    await page.keyboard.press('Control+s')
    await until(() => desk.proxy.count('save') > 0)
    await Bun.sleep(50)
    expect(await desk.messageOf('main')).toBe('Begin main')
  })

  test('all drafts of a branch are saved in one commit', async () => {
    await openByName('README')
    await page.keyboard.type('1')
    await openByName('FORK')
    await page.keyboard.type('2')
    await desk.isText('main', 'FORK.md', text => text.startsWith('2'))
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'edit: FORK.md, README.md')
  })

  test('branches are switched by keys, and each keeps what it shows', async () => {
    await openByName('README')
    await showBranch(page, 'retry-jitter')
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
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Alt+Delete')
    const confirm = page.getByRole('dialog', { name: 'Delete other.md?' })
    await confirm.getByRole('button', { name: 'Delete' }).click()
    await until(async () => (await files().getByRole('tab').count()) === 1)
    // Nothing is left to save, and nothing was committed.
    await status().getByText('No drafts since').first().waitFor()
    expect(await desk.messageOf('main')).toBe('Begin main')
  })

  test('what is typed from the Enter of a new file on gets into the file', async () => {
    await page.getByRole('treeitem', { name: 'src' }).click()
    await page.keyboard.press('Alt+n')
    const field = page.getByRole('dialog', { name: 'New file' }).getByRole('textbox')
    await field.fill('new.js')
    const isMade = desk.proxy.hold('new file')
    await page.keyboard.press('Enter')
    await page.keyboard.type("'use ")
    expect(await field.inputValue()).toBe('new.js')
    const isOpen = desk.proxy.hold('open')
    isMade()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.type("strict'")
    isOpen()
    await until(async () => (await page.locator('.cm-content').textContent()) === "'use strict'")
  })

  test('a new file has what is typed while it opens and gets its colours, in its order', async () => {
    await page.getByRole('treeitem', { name: 'tools' }).click()
    // The colours of the second one come with its text.
    for (const name of ['one.py', 'two.py']) {
      await page.keyboard.press('Alt+n')
      await page.getByRole('dialog').getByRole('textbox').fill(name)
      const isOpen = desk.proxy.hold('open')
      await page.keyboard.press('Enter')
      await page.getByRole('tab', { name: `${name} , draft`, selected: true }).waitFor()
      await page.keyboard.type('@')
      isOpen()
      await page.locator('.cm-line span').waitFor()
      await page.keyboard.type('abc')
      await desk.isText('main', name, '@abc')
    }
  })

  test('what is typed from the Enter of a rename on gets into the file', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    const editor = page.getByRole('textbox', { name: 'Editor' })
    await editor.click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('F2')
    const field = page.getByRole('dialog', { name: 'Rename README.md' }).getByRole('textbox')
    await field.fill('ABOUT.md')
    const isMoved = desk.proxy.hold('move')
    await page.keyboard.press('Enter')
    await page.keyboard.type('typed ')
    expect(await field.inputValue()).toBe('ABOUT.md')
    isMoved()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.type('at once')
    await files().getByRole('tab', { name: 'ABOUT.md', selected: true }).waitFor()
    await until(async () => (await page.locator('.cm-content').textContent())?.startsWith('typed at once') === true)
  })

  test('a dialog stays and says why where it did not work', async () => {
    await page.getByRole('treeitem', { name: 'src' }).waitFor()
    await page.keyboard.press('Alt+n')
    await page.getByRole('dialog').getByRole('textbox').fill('README.md')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('There is README.md already').waitFor()
    // Blanks are no name: nothing is asked of the desk.
    const asked = desk.proxy.count('new file')
    await page.getByRole('dialog').getByRole('textbox').fill('   ')
    await page.keyboard.press('Enter')
    expect(desk.proxy.count('new file')).toBe(asked)
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
    await until(async () => (await page.locator('.line-column').textContent()) === '46:36 (10 selected)')
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
    await page.keyboard.press('Control+Alt+d')
    await diff.locator('.pair').first().waitFor()
  })

  test('a review counts the lines of a file as git does, in its list and above its diff, also once that is drawn', async () => {
    await desk.commit('ends', { 'a.txt': 'a\nb' })
    await showBranch(page, 'ends')
    await openByName('a.txt')
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Enter')
    await page.keyboard.type('c')
    await desk.isText('ends', 'a.txt', 'a\nb\nc')
    await page.keyboard.press('Alt+r')
    await page.keyboard.press('Alt+Shift+3')
    const diff = page.getByRole('article', { name: 'a.txt' })
    await diff.locator('.dl.a').getByText('c').waitFor()
    // The line before it has got a newline.
    expect(await diff.locator('.dl.m').count()).toBe(1)
    const counts = [diff.locator('header'), page.locator('.filerow')]
    for (const count of counts) {
      expect(await count.locator('.num').allTextContents()).toEqual(['+2', '−1'])
    }
  })

  test('a sum of lines says how many files it leaves out, since they are binary or large', async () => {
    await desk.commit(
      'main',
      {
        'large.txt': 'line\n'.repeat(500_000),
        'data.bin': 'a\0',
        'small.txt': 'one\n',
      },
      { message: 'Bring three files' },
    )
    await page.getByRole('tab', { name: 'Repository' }).click()
    await page.getByRole('option', { name: 'Bring three files' }).click()
    const sum = page.locator('.detail-changes h3')
    await sum.getByText('2 not counted').waitFor()
    await sum.getByText('+1', { exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Alt+r')
    await page.getByText('The lines of 2 files are not counted').waitFor()
  })

  test('history: a commit opens as it was, read-only, and a branch can begin there', async () => {
    await openByName('README')
    await page.keyboard.type('x')
    const first = await desk.tip('main')
    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'edit: README.md')
    await page.keyboard.press('Alt+h')
    await page.getByRole('option', { name: 'Begin main' }).dblclick()
    await branches()
      .getByRole('tab', { name: first.slice(0, 8), selected: true })
      .waitFor()
    await openByName('README')
    await page.keyboard.type('not to be seen')
    expect(await editor().textContent()).toContain('# Tern')
    expect(await editor().textContent()).not.toContain('not to be seen')
    await page.getByRole('button', { name: 'New branch from here' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('again')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'again', selected: true }).waitFor()
  })

  test('two files of one name are told from each other by their folders', async () => {
    const [one, other] = ['src/http/index.ts', 'test/http/index.ts'] as const
    for (const path of [one, other]) await desk.ask({ ask: 'new file', branch: 'main', path })
    const open = async (path: string) => {
      await page.keyboard.press('Control+p')
      await page.keyboard.type(path)
      await page.getByRole('option', { name: `index.ts ${path.replace('index.ts', '')}` }).waitFor()
      await page.keyboard.press('Enter')
    }
    await open(one)
    const tabs = page.getByRole('tablist', { name: 'Files' })
    await tabs.getByRole('tab', { name: 'index.ts , draft' }).waitFor()
    await open(other)
    await tabs.getByRole('tab', { name: /index.ts\s+src\/http/ }).waitFor()
    await tabs.getByRole('tab', { name: /index.ts\s+test\/http/ }).waitFor()
  })

  test('a new branch has the name that was typed for it, and says where it begins', async () => {
    await page.getByRole('button', { name: 'Open or create a branch' }).click()
    await page.keyboard.type('not-there-yet')
    await page.getByRole('option', { name: 'New branch not-there-yet…' }).waitFor()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'New branch' })
    const tip = (await desk.tip('main')).slice(0, 8)
    await dialog.getByText(`It starts at main (${tip}).`).waitFor()
    expect(await dialog.getByLabel('Branch name').inputValue()).toBe('not-there-yet')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'not-there-yet', selected: true }).waitFor()
  })

  test('undo and redo are at hand, and operations are listed', async () => {
    await openByName('README')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'edit: README.md')
    await status()
      .getByText((await desk.tip('main')).slice(0, 8), { exact: true })
      .waitFor()
    await page.keyboard.press('Control+Alt+z')
    await page.locator('.toast').getByText('Undone: save README.md to main').waitFor()
    await page.getByRole('button', { name: 'Redo', exact: true }).click()
    await page.locator('.toast').getByText('Redone: save README.md to main').waitFor()
    expect(await page.locator('.toast').count()).toBe(1)
    await page.keyboard.press('Alt+o')
    await page.getByRole('dialog', { name: 'Operations' }).waitFor()
  })

  test('the layout is restored', async () => {
    await openByName('README')
    await openByName('lease.ts')
    await until(async () => (await desk.layout())?.tabs[0]?.active === 'src/queue/lease.ts')
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
    await desk.isText('main', 'README.md', text => text.startsWith('kept'))
    await desk.git('branch', '-D', 'main')
    await page.getByText('main was deleted').waitFor()
    await page.getByRole('button', { name: 'Restore branch' }).click()
    await until(() => desk.has('main'))
    await until(async () => (await page.getByText('main was deleted').count()) === 0)
  })

  test('what can not be edited says what it is', async () => {
    await page.getByRole('treeitem', { name: 'data.bin' }).click()
    await page.getByText('A binary file.').waitFor()
    await page.getByRole('treeitem', { name: 'big.locked' }).click()
    await page.getByText('A pointer of Git LFS').waitFor()
    await page.getByRole('treeitem', { name: 'logo.png' }).click()
    await page.getByRole('img', { name: 'logo.png' }).waitFor()
  })

  test('what went wrong is said, and what is kept', async () => {
    desk.proxy.refused.set('save', 'The commit could not be signed.')
    await openByName('README')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await page.getByRole('alert').getByText('The commit could not be signed.').waitFor()
    await files().getByRole('tab', { name: 'README.md , draft' }).waitFor()
  })
})
