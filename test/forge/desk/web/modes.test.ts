/** The modes of files: in a review, and changed in the explorer. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

// A busy machine renders slowly.
setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('the mode of a file', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  test('stands in a review where it changed, also beside a change of the content, and of what was added', async () => {
    await desk.commit('main', {
      'tool.sh': 'true\n',
      'mode.sh': 'true\n',
      gone: { mode: '120000', content: 'nowhere' },
    })
    const commit = await desk.commit('main', {
      'tool.sh': { mode: '100755', content: 'true\nfalse\n' },
      'mode.sh': { mode: '100755', content: 'true\n' },
      'FORK.md': { mode: '120000', content: '/etc/passwd' },
      'new.sh': { mode: '100755', content: 'new\n' },
      link: { mode: '120000', content: 'elsewhere' },
      'plain.txt': 'plain\n',
      gone: null,
    })
    await page.keyboard.press('Alt+c')
    await page.keyboard.type(commit)
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: commit.slice(0, 8), exact: true, selected: true }).waitFor()
    await page.keyboard.press('Alt+r')
    const lines = page.locator('.diff-none').filter({ hasText: 'mode' })
    await until(async () => (await lines.count()) === 6)
    expect(await lines.allTextContents()).toEqual([
      'File mode changed: 100644 → 120000 (symbolic link).',
      'Deleted file mode: 120000 (symbolic link).',
      'New file mode: 120000 (symbolic link).',
      'File mode changed: 100644 → 100755 (executable).',
      'New file mode: 100755 (executable).',
      'File mode changed: 100644 → 100755 (executable).',
    ])
    // The changes of the content are beside it.
    await page.getByText('/etc/passwd').waitFor()
    await page.getByText('false', { exact: true }).waitFor()
  })

  test('stands beside the sides of a conflict: of a file that one side deleted, and whose mode the other one changed', async () => {
    const text = 'one\ntwo\n'
    const first = await desk.commit('main', { 'doc.md': text })
    await desk.commit('mode', { 'doc.md': { mode: '100755', content: text } }, { parents: [first] })
    await desk.commit('main', { 'doc.md': null })
    await page.keyboard.press('Alt+Shift+5')
    await page.getByRole('dialog').getByRole('combobox').fill('mode')
    await page.getByRole('option', { name: 'mode' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Merge and resolve 1 file' }).click()
    const sides = page.getByRole('region', { name: 'Conflict' })
    await sides.getByRole('region', { name: 'Theirs' }).getByText('executable', { exact: true }).waitFor()
    expect(await sides.getByRole('region', { name: 'Base' }).getByText('executable').count()).toBe(0)
  })

  test('is changed in the explorer: a draft with what is typed, that is undone and saved', async () => {
    await desk.commit('main', { 'run.sh': 'true\n' })
    const row = page.getByRole('treeitem', { name: 'run.sh' })
    const item = (words: string) => page.getByRole('menu').getByRole('menuitem', { name: words, exact: true })
    const choose = async (words: string) => {
      // The explorer has a new mode a moment later than git, and an open menu does not change: it is opened again.
      await until(async () => {
        await row.click({ button: 'right' })
        await page.getByRole('menu').waitFor()
        if ((await item(words).count()) > 0) return true
        await page.keyboard.press('Escape')
        return false
      })
      await item(words).click()
    }
    const draft = async () => (await desk.git('ls-tree', 'refs/forge/drafts/main', 'run.sh')).slice(0, 6)
    await row.dblclick()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('typed ')
    await choose('Make executable')
    await page.locator('.toast').getByText('run.sh is executable now').waitFor()
    await until(async () => (await draft()) === '100755')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await draft()) === '100644')
    await choose('Make executable')
    await row.getByText('M', { exact: true }).waitFor()
    await until(async () => (await draft()) === '100755')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('more ')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.git('ls-tree', 'main', 'run.sh')).startsWith('100755'))
    expect(await desk.git('show', 'main:run.sh')).toContain('more')
    await choose('Make not executable')
    await page.locator('.toast').getByText('run.sh is not executable now').waitFor()
  })
})
