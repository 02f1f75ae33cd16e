/** The modes of changed files in a review. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

// A busy machine renders slowly.
setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('the review of a commit', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  test('says how the mode of a file changed, also beside a change of its content, and what was added', async () => {
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
})
