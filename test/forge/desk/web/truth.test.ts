/** The page says what is true: the status, notices, and why an action is impossible. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { reversalOf } from '../../../../forge/desk/web/page/undo.ts'
import { hasBrowser } from '../../../support/browser.ts'
import { bare } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, SCENE_FILES, showBranch, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

test('an undo and a redo are said in words that do not pile up', () => {
  expect(reversalOf('undo: save a.ts')).toEqual({ isUndo: true, does: 'save a.ts', title: 'Undone: save a.ts' })
  expect(reversalOf('redo: save a.ts')).toEqual({ isUndo: false, does: 'save a.ts', title: 'Redone: save a.ts' })
})

describe.skipIf(!hasBrowser)('the page says what is true', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const editor = () => page.getByRole('textbox', { name: 'Editor' })
  const status = () => page.getByRole('status', { name: 'Status' })
  const open = async (name: string) => {
    await page.getByRole('treeitem', { name }).click()
    await editor().click()
  }

  test('the status says Saved only after a save, where nothing is unsaved', async () => {
    const said = page.locator('.status .saved')
    await said.getByText('No drafts since').waitFor()
    await open('README.md')
    await page.keyboard.type('x')
    await said.getByText('1 draft since').waitFor()
    expect(await said.count()).toBe(1)
    await page.keyboard.press('Alt+Shift+a')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click()
    await said.getByText('No drafts since').waitFor()
    await page.keyboard.type('y')
    await said.getByText('1 draft since').waitFor()
    await page.keyboard.press('Control+s')
    await said.getByText('Saved →').waitFor()
    expect(await said.count()).toBe(1)
    await desk.commit('main', { 'outside.txt': 'From another program.\n' })
    await said.getByText('No drafts since').waitFor()
  })

  test('what was typed just now is no longer said to be saved, however slow the desk is', async () => {
    await open('README.md')
    const answer = desk.proxy.hold('edit')
    await page.keyboard.type('x')
    await page.locator('.status .saved').getByText('1 draft since').waitFor()
    await page.getByRole('treeitem', { name: 'README.md , draft' }).waitFor()
    answer()
  })

  test('how far a branch is from its upstream is said where it is', async () => {
    expect(await status().getByText('↑').count()).toBe(0)
    const origin = await bare(`${desk.path}-origin.git`)
    await desk.git('remote', 'add', 'origin', origin)
    await desk.git('push', '--quiet', '--set-upstream', 'origin', 'main')
    await status().getByRole('button', { name: 'Up to date with origin/main' }).waitFor()
    expect(await status().getByText('↑').count()).toBe(0)
    await desk.git('branch', 'far', 'main')
    for (const at of [1, 2]) await desk.commit('far', {}, { message: `Far ${at}` })
    await desk.git('update-ref', 'refs/remotes/origin/main', 'far')
    await status().getByText('↓2', { exact: true }).waitFor()
    expect(await status().getByText('↑').count()).toBe(0)
  })

  test('a branch that a terminal sets back right after a save is shown as git has it', async () => {
    await open('README.md')
    const before = await desk.tip('main')
    for (let round = 0; round < 5; round++) {
      await page.keyboard.type(`typed${round}`)
      await page.keyboard.press('Control+s')
      await until(async () => (await desk.tip('main')) !== before)
      await desk.git('update-ref', 'refs/heads/main', before)
      await editor().getByText(`typed${round}`).waitFor({ state: 'detached' })
      expect(await desk.textOf('main', 'README.md')).toBe(SCENE_FILES['README.md'])
      await page.locator('.status .saved').getByText('No drafts since').waitFor()
    }
  })

  test('why saving failed is said until it works', async () => {
    desk.proxy.refused.set('save', 'The commit could not be signed.')
    await open('README.md')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await page.getByRole('alert').getByText('could not be signed').waitFor()
    desk.proxy.refused.set('save', 'The disk is full.')
    await page.keyboard.press('Control+s')
    await page.getByRole('alert').getByText('The disk is full.').waitFor()
    expect(await page.locator('.notice').count()).toBe(1)
    desk.proxy.refused.delete('save')
    await page.keyboard.press('Control+s')
    await until(async () => (await page.locator('.notice').count()) === 0)
  })

  test('what the desk could not read is said, and can be tried again', async () => {
    desk.proxy.refused.set('history', 'The disk can not be read.')
    await page.keyboard.press('Alt+h')
    await page.getByRole('alert').getByText('The disk can not be read.').waitFor()
    desk.proxy.refused.delete('history')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('listbox', { name: 'History' }).getByRole('option').first().waitFor()
    desk.proxy.refused.set('changes', 'A commit is missing.')
    await page.keyboard.press('Alt+r')
    await page.getByRole('alert').getByText('A commit is missing.').waitFor()
    desk.proxy.refused.delete('changes')
    await page.getByRole('button', { name: 'Try again' }).click()
    await until(async () => (await page.getByRole('alert').count()) === 0)
  })

  test('a checkout that was left behind is said until it is in order, at each save, also after it was dismissed', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'main')
    const save = async () => {
      const before = await desk.tip('main')
      await page.keyboard.type('x')
      await page.keyboard.press('Control+s')
      await until(async () => (await desk.tip('main')) !== before)
    }
    const notice = page.locator('.notice').filter({ hasText: 'stays behind' })
    await writeFile(`${folder}/README.md`, 'Changed in a terminal.\n')
    await open('README.md')
    for (let saves = 0; saves < 2; saves++) {
      await save()
      await notice.waitFor()
      expect(await page.locator('.notice').count()).toBe(1)
      await notice.getByRole('button', { name: 'Dismiss' }).click()
      await notice.waitFor({ state: 'detached' })
      await editor().focus()
    }
    await save()
    await notice.waitFor()
    await desk.git('-C', folder, 'reset', '--quiet', '--hard')
    await notice.waitFor({ state: 'detached' })
    await writeFile(`${folder}/README.md`, 'Changed again.\n')
    await save()
    await notice.waitFor()
    // After a reload the page shows the notice again, until the folder is on another branch.
    await page.reload()
    await notice.getByText(`The checkout in ${folder} stays behind`).waitFor()
    await notice.getByText('README.md has changes there that are not committed.').waitFor()
    await desk.git('-C', folder, 'symbolic-ref', 'HEAD', 'refs/heads/retry-jitter')
    await notice.waitFor({ state: 'detached' })
    await page.reload()
    await editor().waitFor()
    expect(await notice.count()).toBe(0)
  })

  test('that a checkout stays behind is said after a break, too, and no more where it was put in order meanwhile', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'main')
    const notice = page.locator('.notice').filter({ hasText: 'stays behind' })
    await writeFile(`${folder}/README.md`, 'Changed in a terminal.\n')
    await open('README.md')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await notice.waitFor()
    await desk.restart(() => desk.git('-C', folder, 'reset', '--quiet', '--hard'))
    await notice.waitFor({ state: 'detached' })
  })

  test('that a rebase waits in a checkout is said until it has ended there', async () => {
    const folder = `${desk.path}-checkout`
    await desk.commit('main', { 'later.txt': 'later\n' })
    await desk.git('worktree', 'add', '--quiet', folder, 'main')
    const committer = ['-c', 'user.name=M', '-c', 'user.email=m@example.com']
    await desk.git('-C', folder, ...committer, 'rebase', '--quiet', '--exec', 'false', 'HEAD~1').catch(() => undefined)
    const notice = page.locator('.notice').filter({ hasText: 'A rebase of main waits in' })
    await open('README.md')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await notice.waitFor()
    await desk.git('-C', folder, ...committer, 'rebase', '--continue')
    await notice.waitFor({ state: 'detached' })
  })

  test('undo and redo leave one message, for as long as there is a way back', async () => {
    await open('README.md')
    await page.keyboard.type('x')
    await page.keyboard.press('Control+s')
    await page.locator('.status .saved').getByText('Saved →').waitFor()
    for (const [keys, words] of [
      ['Control+Alt+z', 'Undone: save README.md to main'],
      ['Control+Alt+Shift+Z', 'Redone: save README.md to main'],
      ['Control+Alt+z', 'Undone: save README.md to main'],
    ] as const) {
      await page.keyboard.press(keys)
      await page.locator('.toast').getByText(words).waitFor()
      expect(await page.locator('.toast').count()).toBe(1)
    }
    // A save is another operation to undo: there is nothing to redo after it.
    await page.keyboard.type('y')
    await page.keyboard.press('Control+s')
    await until(async () => (await page.locator('.toast').count()) === 0)
    // That is no error: it is said in passing.
    await page.keyboard.press('Control+Alt+Shift+Z')
    await page.locator('.toast').getByText('There is nothing to redo in main.').waitFor()
    expect(await page.locator('.notice.bad').count()).toBe(0)
  })

  test('a review by commit has the commits that the chosen branch lacks', async () => {
    await desk.commit('stacked', {}, { message: 'Only here', parents: [await desk.tip('retry-jitter')] })
    await showBranch(page, 'stacked')
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'By commit' }).click()
    await page.getByText('2 commits', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Only here' }).waitFor()
    await page.getByRole('button', { name: /^against/ }).click()
    await page
      .getByRole('dialog')
      .getByRole('option', { name: /^retry-jitter/ })
      .click()
    await page.getByText('1 commit', { exact: true }).waitFor()
  })

  test('the branch that is checked out is compared with the default branch, and a moved file shows both paths', async () => {
    await desk.git('symbolic-ref', 'HEAD', 'refs/heads/retry-jitter')
    const moved = { 'src/queue/retry.ts': null, 'src/queue/again.ts': 'export const RETRIES = 3\n' }
    await desk.commit('retry-jitter', moved, { message: 'Move it' })
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Alt+r')
    await page.getByRole('button', { name: 'against main' }).waitFor()
    const head = page.locator('.diff-head').first()
    await head.getByText('retry.ts').waitFor()
    expect((await head.textContent())?.replace(/\s+/g, '')).toContain('src/queue/retry.ts→src/queue/again.ts')
    expect(await head.locator('.old-path').isVisible()).toBe(true)
    // In the list, where there is no room for both, the title has the old one.
    const row = page.locator('.side .filerow')
    expect(await row.getAttribute('title')).toBe('src/queue/retry.ts → src/queue/again.ts')
    expect(await row.getByText('retry.ts').isVisible()).toBe(false)
  })

  test('a review has what was typed right before it was opened, however slow the desk is', async () => {
    await open('README.md')
    await page.keyboard.type('first ')
    await desk.isText('main', 'README.md', text => text.includes('first'))
    const answer = desk.proxy.hold('edit')
    await page.keyboard.type('second ')
    await page.keyboard.press('Alt+r')
    await page.keyboard.press('Alt+Shift+3')
    await page.locator('.diff').getByText('first').first().waitFor()
    answer()
    await page.locator('.diff').getByText('second').first().waitFor()
  })

  test('History and Review stay where they are, also once their tabs are open', async () => {
    for (const name of ['History', 'Review']) {
      const button = page.locator('.end-bar').getByRole('button', { name })
      const before = await button.boundingBox()
      await button.click()
      await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name }).waitFor()
      expect(await button.boundingBox()).toEqual(before)
    }
  })

  test('what could not be drawn says so, the rest goes on, and another tab shows what it has', async () => {
    await open('README.md')
    await page.evaluate("Date.prototype.toLocaleString = () => { throw new Error('no clock here') }")
    await page.keyboard.press('Alt+h')
    const alert = page.getByRole('alert').filter({ hasText: 'could not be drawn' })
    await alert.getByText('What you typed and saved is kept.').waitFor()
    await alert.getByText('no clock here').waitFor()
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
    await page.getByRole('tab', { name: 'README.md' }).click()
    await editor().waitFor()
    expect(await alert.count()).toBe(0)
    page.troubles.length = 0
  })

  test('marks of drafts stand in one column, whether the AI’s knowledge of a file is known or not', async () => {
    await open('README.md')
    await page.keyboard.type('x')
    const row = page.getByRole('treeitem', { name: 'README.md' })
    await row.locator('.mark').waitFor()
    const [mark, whole] = [await row.locator('.mark').boundingBox(), await row.boundingBox()]
    expect((whole?.x ?? 0) + (whole?.width ?? 0) - ((mark?.x ?? 0) + (mark?.width ?? 0))).toBeGreaterThan(18)
  })

  test('History is there on a narrow screen, and folds stay on one line', async () => {
    await page.setViewportSize({ width: 800, height: 600 })
    expect(await page.locator('.end-bar').getByRole('button', { name: 'History' }).isVisible()).toBe(true)
  })
})
