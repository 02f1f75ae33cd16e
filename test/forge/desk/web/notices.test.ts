/** Notices, and the actions they offer. */
import { describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { hasBrowser } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, showBranch, until, withEachPage } from './page-scene.ts'

describe.skipIf(!hasBrowser)('a notice', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const branches = () => page.getByRole('tablist', { name: 'Branches' })

  test('of a checkout that could not follow offers a new branch, and the window goes on there', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'main')
    await writeFile(`${folder}/README.md`, 'Changed in a terminal.\n')
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await page.getByRole('button', { name: 'Save to a new branch instead' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save to a new branch instead' })
    await dialog.getByLabel('Branch name').fill('mine')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'mine' }).waitFor()
    expect(await branches().getByRole('tab', { name: 'mine' }).getAttribute('aria-selected')).toBe('true')
    expect(await desk.git('show', 'mine:README.md')).toContain('x')
    expect(await desk.messageOf('main')).toBe('Begin main')
    expect(await page.getByRole('button', { name: 'Save to a new branch instead' }).count()).toBe(0)
    await page.getByRole('tab', { name: 'README.md' }).waitFor()
  })

  test('of a checkout that could not follow has the new name of a branch that is renamed', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'main')
    await writeFile(`${folder}/README.md`, 'Changed in a terminal.\n')
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    const again = page.getByRole('button', { name: 'Save to a new branch instead' })
    await again.waitFor()
    await page.keyboard.press('Shift+F2')
    await page.getByRole('dialog').getByRole('textbox').fill('trunk')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'trunk', selected: true }).waitFor()
    await again.click()
    const dialog = page.getByRole('dialog', { name: 'Save to a new branch instead' })
    expect(await dialog.getByLabel('Branch name').inputValue()).toBe('trunk-saved')
    await page.keyboard.press('Escape')
    await desk.git('-C', folder, 'reset', '--quiet', '--hard')
    await again.waitFor({ state: 'detached' })
  })

  test('of what was undone is shown where it was asked for, and in no other branch', async () => {
    await showBranch(page, 'retry-jitter')
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await desk.isMessage('retry-jitter', 'edit: README.md')
    await page.getByText('Saved →').first().waitFor()
    await page.keyboard.press('Control+Alt+z')
    const undone = page.locator('.toast').getByText('Undone: save README.md to retry-jitter')
    await undone.waitFor()
    // A later operation is another one to undo.
    await page.keyboard.press('Control+Alt+Shift+z')
    const redone = page.locator('.toast').getByText('Redone: save README.md to retry-jitter')
    await redone.waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('y')
    await page.keyboard.press('Control+s')
    await redone.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+z')
    await undone.waitFor()
    for (const other of ['main', 'Repository']) {
      await branches().getByRole('tab', { name: other }).click()
      await branches().getByRole('tab', { name: other, selected: true }).waitFor()
      expect(await undone.count()).toBe(0)
    }
  })

  test('of a deleted branch offers to undo that, by the key of Undo, too, also in a branch with saves', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'edit: README.md')
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Alt+Shift+Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.locator('.toast').getByText('Deleted retry-jitter').waitFor()
    await branches().getByRole('tab', { name: 'main', selected: true }).waitFor()
    await page.keyboard.press('Control+Alt+z')
    await page.locator('.toast').getByText('Undone: delete the branch retry-jitter').waitFor()
    expect(await desk.has('retry-jitter')).toBe(true)
    expect(await desk.messageOf('main')).toBe('edit: README.md')
  })

  test('of a deleted branch, undone, brings its tab back with its files and drafts, also after a reload', async () => {
    await showBranch(page, 'retry-jitter')
    const files = page.getByRole('tablist', { name: 'Files' })
    await page.getByRole('treeitem', { name: 'README.md' }).dblclick()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    await desk.isText('retry-jitter', 'README.md', text => text.includes('x'))
    await branches().getByRole('tab', { name: 'retry-jitter , drafts' }).waitFor()
    await page.keyboard.press('Alt+Shift+Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.locator('.toast').getByText('Deleted retry-jitter').waitFor()
    await branches()
      .getByRole('tab', { name: /retry-jitter/ })
      .waitFor({ state: 'detached' })
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await branches().getByRole('tab', { name: 'retry-jitter , drafts', selected: true }).waitFor()
    await files.getByRole('tab', { name: 'README.md , draft', selected: true }).waitFor()
    await page.locator('.toast').getByText('Undone: delete the branch retry-jitter').waitFor()
    await page.reload()
    await branches().getByRole('tab', { name: 'retry-jitter , drafts', selected: true }).waitFor()
    await files.getByRole('tab', { name: 'README.md , draft', selected: true }).waitFor()
  })

  test.each([
    ['topic', 'topic/new'],
    ['topic/old', 'topic'],
  ])('is not shown where git branch -m renames %s to %s: its tab follows, with what is typed', async (from, to) => {
    await desk.git('branch', from, 'main')
    await showBranch(page, from)
    await page.getByRole('treeitem', { name: 'README.md' }).dblclick()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('before ')
    await desk.isText(from, 'README.md', text => text.startsWith('before '))
    await branches()
      .getByRole('tab', { name: `${from} , drafts` })
      .waitFor()
    await desk.git('-c', 'core.logAllRefUpdates=true', 'branch', '-m', from, to)
    await branches()
      .getByRole('tab', { name: `${to} , drafts`, selected: true })
      .waitFor()
    await page.keyboard.type('after ')
    await desk.isText(to, 'README.md', text => text.startsWith('before after '))
    await until(async () => (await desk.git('show', `refs/forge/drafts/${to}:README.md`)).startsWith('before after '))
    expect(await page.locator('.middle .notice').count()).toBe(0)
    await page.keyboard.press('Control+Alt+z')
    await branches()
      .getByRole('tab', { name: `${from} , drafts`, selected: true })
      .waitFor()
    await desk.isText(from, 'README.md', text => text.startsWith('before after '))
  })

  test('of what went well leaves by itself, unless it is pointed at', async () => {
    await page.clock.install()
    const done = page.locator('.toast').getByText('It is written again.')
    desk.proxy.say({ say: 'notice', words: 'It is written again.', isBad: false })
    await done.waitFor()
    // The notice is not in the middle of the page, where it would move other elements.
    expect(await page.locator('.middle .notice').count()).toBe(0)
    await done.hover()
    await page.clock.runFor(20_000)
    expect(await done.count()).toBe(1)
    await page.mouse.move(600, 20)
    await page.clock.runFor(20_000)
    await done.waitFor({ state: 'detached' })
    // It stands above the message field of the chat beside the editor.
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.keyboard.press('Alt+Shift+J')
    const form = page.getByRole('form', { name: 'Message to the AI' })
    await form.waitFor()
    desk.proxy.say({ say: 'notice', words: 'It is written again.', isBad: false })
    await done.waitFor()
    await until(async () => {
      const [toast, field] = [await page.locator('.toast').boundingBox(), await form.boundingBox()]
      return toast !== null && field !== null && toast.y + toast.height <= field.y
    })
  })

  test('of a failure stays until it is settled, where it belongs, and never on top of another one', async () => {
    desk.proxy.say({
      say: 'notice',
      topic: 'drafts',
      words: 'What is typed can’t be written: the disk is full.',
      isBad: true,
    })
    const long = `README.md is changed, ${'and so is another file, '.repeat(20)} so nothing was touched.`
    desk.proxy.say({ say: 'checkout left behind', branch: 'main', folder: '/home/mira/tern', why: long, isAhead: true })
    const shown = page.locator('.middle .notice')
    await shown.getByText('the disk is full').waitFor()
    await shown.getByRole('button', { name: '1 of 2' }).click()
    await shown.getByText('stays behind').waitFor()
    expect(await shown.count()).toBe(1)
    expect((await shown.boundingBox())?.height).toBe(44)
    await shown.getByRole('button', { name: 'Show more' }).click()
    expect((await shown.boundingBox())?.height).toBeGreaterThan(44)
    await branches().getByRole('tab', { name: 'Repository' }).click()
    await shown.getByText('the disk is full').waitFor()
    expect(await shown.getByRole('button', { name: /of 2/ }).count()).toBe(0)
    desk.proxy.say({ say: 'notice', topic: 'drafts', words: 'It is written again: nothing was lost.', isBad: false })
    await page.locator('.toast').getByText('It is written again').waitFor()
    expect(await shown.count()).toBe(0)
    desk.proxy.say({ say: 'notice', topic: 'find text', words: 'The search ended early.', isBad: true })
    await shown.getByText('The search ended early').waitFor()
    await branches().getByRole('tab', { name: 'main' }).click()
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('queue')
    await page.locator('.notice').getByText('The search ended early').waitFor({ state: 'detached' })
  })

  test('has its height where the window is narrow, too, with its main button in it and the others in a menu', async () => {
    await page.setViewportSize({ width: 800, height: 800 })
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('tab', { name: 'README.md', selected: true }).waitFor()
    await desk.git('branch', '-D', 'main')
    const notice = page.locator('.notice').filter({ hasText: 'main was deleted' })
    await notice.waitFor()
    const button = await notice.getByRole('button', { name: 'Restore branch' }).boundingBox()
    const whole = await notice.boundingBox()
    if (!button || !whole) throw new Error('The notice is not shown.')
    expect(whole.height).toBe(44)
    expect(button.y).toBeGreaterThanOrEqual(whole.y)
    expect(button.y + button.height).toBeLessThanOrEqual(whole.y + whole.height)
    await notice.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Close the tab' }).click()
    await notice.waitFor({ state: 'detached' })
  })

  test('is not needed where another window has renamed the branch: this one goes on under the new name', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.locator('.cm-content').waitFor()
    await desk.ask({ ask: 'rename branch', branch: 'main', to: 'trunk' })
    await branches().getByRole('tab', { name: 'trunk' }).waitFor()
    await page.getByRole('tab', { name: 'README.md' }).waitFor()
    expect(await branches().getByRole('tab', { name: 'main' }).count()).toBe(0)
    expect(await page.getByRole('alert').allTextContents()).toEqual([])
  })

  test('is not needed either where it was renamed while this window was away', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    const comeBack = desk.proxy.goAway()
    await page.getByText('The desk does not answer').waitFor()
    await desk.ask({ ask: 'rename branch', branch: 'main', to: 'trunk' })
    comeBack()
    await branches().getByRole('tab', { name: 'trunk' }).waitFor()
    expect(await branches().getByRole('tab', { name: 'main' }).count()).toBe(0)
    await page.getByRole('tab', { name: 'README.md' }).waitFor()
  })

  test('of a branch that moved under drafts shows what came in, and offers them a branch of their own', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('mine ')
    await page.getByRole('tab', { name: 'README.md , draft' }).waitFor()
    const from = await desk.tip('main')
    await desk.isText('main', 'README.md', text => text.includes('mine'))
    const author = 'Jonas Brandt <jonas@example.com>'
    const first = await desk.commit('incoming', { 'new.ts': 'new\n' }, { author, parents: [from] })
    const to = await desk.commit('incoming', { 'newer.ts': 'new\n' }, { author, parents: [first] })
    await desk.git('update-ref', 'refs/heads/main', to)
    const title = `main moved outside the desk: 2 new commits by Jonas Brandt, ${from.slice(0, 8)} → ${to.slice(0, 8)}`
    await page.getByText(title).waitFor()
    await page.getByText('Your drafts merge cleanly').waitFor()
    await page.getByRole('button', { name: 'Incoming changes' }).click()
    await page.getByRole('tab', { name: 'Incoming changes', selected: true }).waitFor()
    await page.getByRole('navigation', { name: 'Changed files' }).getByText('new.ts').waitFor()
    // They are not compared with the base.
    expect(await page.getByRole('button', { name: 'against ' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    expect(await page.getByText(title).count()).toBe(0)
    await desk.git('update-ref', 'refs/heads/main', await desk.commit('incoming', { 'new.ts': 'newer\n' }, { author }))
    await page.getByRole('button', { name: 'Move drafts to a new branch' }).click()
    const dialog = page.getByRole('dialog', { name: 'Move drafts to a new branch' })
    await dialog
      .getByText(`It starts at ${from.slice(0, 8)}, where main was before it moved outside the desk`)
      .waitFor()
    await dialog.getByLabel('Branch name').fill('mine')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'mine', selected: true }).waitFor()
    await desk.isText('mine', 'README.md', text => text.includes('mine'))
    expect(await desk.tip('mine')).toBe(from)
    expect(await desk.textOf('main', 'README.md')).toBe('# Tern\n\nA queue.\n')
  })

  test('of a branch that moved before and after a save counts and shows only what came from outside', async () => {
    const short = async () => (await desk.tip('main')).slice(0, 8)
    const by = (name: string) => ({ author: `${name} <${name.toLowerCase()}@example.com>` })
    await desk.commit('main', { 'notes.md': 'Notes.\n' })
    await page.getByRole('treeitem', { name: 'notes.md' }).waitFor()
    for (const [path, words] of Object.entries({ 'README.md': 'saved ', 'notes.md': 'kept ' })) {
      await page.getByRole('treeitem', { name: path }).click()
      await page.getByRole('textbox', { name: 'Editor' }).click()
      await page.keyboard.type(words)
      await desk.isText('main', path, text => text.includes(words.trim()))
    }
    const before = await short()
    await desk.commit('main', { 'first.ts': 'first\n' }, by('Jonas'))
    const notice = (commits: string, from: string, to: string) =>
      page.getByText(`main moved outside the desk: ${commits}, ${from} → ${to}`)
    await notice('1 new commit by Jonas', before, await short()).waitFor()
    await page.getByRole('tab', { name: 'README.md , draft' }).click()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.git('show', 'main:README.md')).includes('saved'))
    const saved = await short()
    await desk.commit('main', { 'second.ts': 'second\n' }, by('Mira'))
    await notice('1 new commit by Mira', saved, await short()).waitFor()
    await page.getByRole('button', { name: 'Incoming changes' }).click()
    const files = page.getByRole('navigation', { name: 'Changed files' })
    await files.getByText('second.ts').waitFor()
    // The shown changes follow what the notice says.
    await desk.commit('main', { 'third.ts': 'third\n' }, by('Mira'))
    await notice('2 new commits by Mira', saved, await short()).waitFor()
    await files.getByText('third.ts').waitFor()
    expect(await files.getByText('second.ts').count()).toBe(1)
    expect(await files.getByText(/README|first/).count()).toBe(0)
    expect(await desk.git('diff', '--name-only', saved, 'main')).toBe('second.ts\nthird.ts')
    // As after an amend in a terminal.
    const amended = await desk.commit('side', { 'first.ts': 'amended\n' }, { ...by('Mira'), parents: [before] })
    await desk.git('update-ref', 'refs/heads/main', amended)
    await notice('1 new commit by Mira, 2 old commits gone', saved, amended.slice(0, 8)).waitFor()
  })

  test('of a conflict that a merge on the desk brings does not blame what came in from outside before', async () => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('mine ')
    await desk.isText('main', 'README.md', text => text.includes('mine'))
    const begin = await desk.tip('main')
    const readme = await desk.git('show', 'main:README.md')
    await desk.commit('main', { 'new.ts': 'new\n' }, { author: 'Mara <mara@example.com>' })
    await page.getByText('main moved outside the desk: 1 new commit by Mara').waitFor()
    const files = { 'README.md': `theirs ${readme}` }
    const commit = await desk.commit('theirs', files, { author: 'Carl <carl@example.com>', parents: [begin] })
    await desk.ask({ ask: 'do', step: { step: 'merge', source: { commit, words: 'theirs' }, onto: 'main' } })
    await page.getByText('Drafts of main are in conflict with what was brought in').waitFor()
    await page.getByText('README.md is in conflict: resolve it').waitFor()
    expect(await page.getByText('moved outside the desk').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Incoming changes' }).count()).toBe(0)
  })

  test('of a branch that moved offers drafts a branch of their own that has what was saved since', async () => {
    for (const name of ['README.md', 'FORK.md']) {
      await page.getByRole('treeitem', { name }).click()
      await page.locator('.crumbs .here').getByText(name).waitFor()
      await page.getByRole('textbox', { name: 'Editor' }).click()
      await page.keyboard.type('mine ')
      await desk.isText('main', name, text => text.includes('mine'))
    }
    await desk.commit('main', { 'new.ts': 'new\n' })
    await page.getByText('main moved outside the desk').waitFor()
    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'edit: FORK.md')
    const saved = await desk.tip('main')
    await page
      .getByRole('status', { name: 'Status' })
      .getByText(`1 draft since ${saved.slice(0, 8)}`)
      .waitFor()
    await page.keyboard.press('Control+Alt+Shift+b')
    const dialog = page.getByRole('dialog', { name: 'Move drafts to a new branch' })
    await dialog
      .getByText(`It starts at ${saved.slice(0, 8)}, the commit of main, and gets all of its drafts.`)
      .waitFor()
    await dialog.getByLabel('Branch name').fill('mine')
    await page.keyboard.press('Enter')
    await branches().getByRole('tab', { name: 'mine', selected: true }).waitFor()
    await desk.isText('mine', 'README.md', text => text.includes('mine'))
    expect(await desk.tip('mine')).toBe(saved)
  })
})
