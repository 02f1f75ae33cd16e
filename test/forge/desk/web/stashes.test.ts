/** What was put away by git stash in a checkout is in the graph, in a real browser. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { hasBrowser } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('a stash', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
    page.setDefaultTimeout(15_000)
  })

  test('is in the graph as soon as it is made: it is looked at, branched from and cherry-picked', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'retry-jitter')
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .label').first().waitFor()
    await writeFile(`${folder}/README.md`, 'Put away\n')
    await desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash')
    const label = page.locator('.graph-row .label').filter({ hasText: 'stash@{0}' })
    await label.click()
    await page.getByRole('region', { name: 'Files' }).getByRole('button', { name: 'changed README.md' }).waitFor()
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'New branch from here…' }).waitFor()
    expect(await page.getByRole('menuitem', { name: 'Show only this' }).count()).toBe(0)
    await page.getByRole('menuitem', { name: 'Cherry-pick' }).click()
    await page.getByRole('dialog').getByRole('combobox').fill('lease-renewal')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Cherry-pick', exact: true }).click()
    await until(async () => (await desk.textOf('lease-renewal', 'README.md')) === 'Put away\n')
    await desk.git('-C', folder, 'stash', 'drop')
    await label.waitFor({ state: 'detached' })
  })

  test('is applied to the drafts of a branch by its menu, also by keys, and stays; Undo takes the drafts back', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'retry-jitter')
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .label').first().waitFor()
    await writeFile(`${folder}/README.md`, 'Put away\n')
    await desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash')
    const label = page.locator('.graph-row .label').filter({ hasText: 'stash@{0}' })
    const dialog = page.getByRole('dialog')
    const before = await desk.textOf('lease-renewal', 'README.md')
    const finish = async () => {
      await dialog.getByRole('combobox').fill('lease-renewal')
      await page.keyboard.press('Enter')
      const notice = page.locator('.toast', { hasText: 'Applied stash@{0} to the drafts of lease-renewal.' })
      await notice.waitFor()
      await desk.isText('lease-renewal', 'README.md', text => text === 'Put away\n')
      await notice.getByRole('button', { name: 'Undo' }).click()
      await desk.isText('lease-renewal', 'README.md', text => text === before)
      await page.keyboard.press('Alt+0')
    }
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Apply to the drafts of a branch…' }).click()
    await finish()
    await label.click()
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: 'stash@{0}…' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Apply to the drafts of a branch…' }).focus()
    await page.keyboard.press('Enter')
    await finish()
    expect(await desk.git('-C', folder, 'stash', 'list')).toContain('stash@{0}')
  })

  test('has its untracked files, and brings them to the branch that it is picked onto, the only way to use it', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'retry-jitter')
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .label').first().waitFor()
    await writeFile(`${folder}/README.md`, 'Put away\n')
    await writeFile(`${folder}/docs/new.md`, 'Untracked\n')
    await desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash', '-u')
    const label = page.locator('.graph-row .label').filter({ hasText: 'stash@{0}' })
    await label.click()
    const files = page.getByRole('region', { name: 'Files' })
    await files.getByRole('heading', { name: /^2 files/ }).waitFor()
    await files.getByRole('button', { name: /^added .*new\.md/ }).waitFor()
    // Also by the keys and the menu of its row.
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: 'Cherry-pick' }).waitFor()
    for (const name of ['Merge', 'Land', 'Move a branch'])
      expect(await page.getByRole('menuitem', { name }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox').fill('lease-renewal')
    await page.keyboard.press('Enter')
    await dialog.getByText(/is a stash: .* with its untracked files\.$/).waitFor()
    expect(await dialog.getByRole('tab').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Cherry-pick', exact: true }).click()
    await until(async () => (await desk.textOf('lease-renewal', 'docs/new.md')) === 'Untracked\n')
    // A new branch from it has them as drafts.
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'New branch from here…' }).click()
    await dialog.getByText('Untracked files of the stash come along as drafts.').waitFor()
    await dialog.getByRole('textbox').fill('from-stash')
    await page.keyboard.press('Enter')
    await page.getByRole('treeitem', { name: 'docs' }).click()
    await page.getByRole('treeitem', { name: /^new\.md/ }).waitFor()
    await until(async () => (await desk.git('ls-tree', '-r', 'refs/forge/drafts/from-stash')).includes('docs/new.md'))
    expect(await desk.git('ls-tree', '-r', 'from-stash')).not.toContain('docs/new.md')
    expect(await desk.textOf('from-stash', 'README.md')).toBe('Put away\n')
    // One undo takes all of it back.
    await page.keyboard.press('Control+Alt+Z')
    await until(async () => (await desk.git('for-each-ref', 'refs/heads/from-stash', 'refs/forge/drafts')) === '')
    await page.keyboard.press('Alt+0')
    // The files as they were have it, too.
    await label.dblclick()
    await page.getByRole('treeitem', { name: 'docs' }).click()
    await page.getByRole('treeitem', { name: 'new.md' }).click()
    await page.getByText('Untracked').first().waitFor()
  })

  test('is dropped by its menu; Undo makes it the newest one, and says so', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'retry-jitter')
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .label').first().waitFor()
    const tips: string[] = []
    for (const text of ['One', 'Two']) {
      await writeFile(`${folder}/README.md`, `${text}\n`)
      await desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash', 'push', '-m', text)
      tips.unshift((await desk.git('rev-parse', 'stash')).trim())
    }
    const stashes = async () => (await desk.git('log', '-g', '--format=%H', 'stash')).trim().split('\n')
    const label = page.locator('.graph-row .label').filter({ hasText: 'stash@{1}' })
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Drop the stash' }).click()
    const dropped = page.locator('.toast', { hasText: 'Dropped stash@{1}' })
    await dropped.waitFor()
    await label.waitFor({ state: 'detached' })
    expect(await stashes()).toEqual(tips.slice(0, 1))
    await dropped.getByRole('button', { name: 'Undo' }).click()
    await page.locator('.toast', { hasText: /Undone: drop stash@\{1\} .*; it is stash@\{0\} now/ }).waitFor()
    await label.waitFor()
    expect(await stashes()).toEqual(tips.toReversed())
    expect(await desk.git('-C', folder, 'stash', 'list')).toContain('stash@{0}: On retry-jitter: One')
    // Another program makes a stash while the menu is open: the notice has the number that the stash has by then.
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Drop the stash' }).waitFor()
    await writeFile(`${folder}/README.md`, 'Three\n')
    await desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash', 'push', '-m', 'Three')
    await page.getByRole('menuitem', { name: 'Drop the stash' }).click()
    await page.locator('.toast', { hasText: 'Dropped stash@{2}' }).waitFor()
  })
})
