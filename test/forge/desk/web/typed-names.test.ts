/** The name of a ref that is typed in full is the first choice wherever refs are found by words. */
import { describe, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import { commit, git } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, showBranch, until, withEachPage } from './page-scene.ts'

setDefaultTimeout(60_000)

if (!hasBrowser) console.warn(NO_BROWSER)

/** Each name is also the beginning of another one, of a kind that is listed before it. */
async function withAlikeNames(path: string): Promise<void> {
  const origin = join(path, '../origin.git')
  await git('/', 'clone', '--quiet', '--bare', path, origin)
  await commit(origin, 'v1.9.0-dep-updates', { 'deps.md': 'one\n' }, { message: 'Update' })
  await commit(origin, 'proposed', { 'proposed.md': 'one\n' }, { message: 'Propose' })
  await git(path, 'remote', 'add', 'origin', origin)
  await git(path, 'fetch', '--quiet', 'origin')
  await git(path, 'tag', 'v1.9.0', 'main')
  await git(path, 'branch', 'proposed-too', 'main')
  await git(path, 'branch', 'settings', 'main')
}

describe.skipIf(!hasBrowser)('a name that is typed in full is the first choice', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
      page.setDefaultTimeout(15_000)
    },
    { prepare: withAlikeNames },
  )

  const isFirst = async (list: string, name: RegExp) => {
    const options = page.getByRole('listbox', { name: list }).getByRole('option')
    await options
      .first()
      .and(page.getByRole('option', { name, selected: true }))
      .waitFor()
  }
  const refsAreThere = () => page.getByRole('option', { name: /origin\/v1\.9\.0-dep-updates/ }).waitFor()

  test('of what a branch is compared with', async () => {
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Control+Alt+r')
    await page.keyboard.type('v1.9.0')
    await refsAreThere()
    await isFirst('What to compare with', /^v1\.9\.0 tag/)
    await page.keyboard.press('Enter')
    await page
      .getByRole('button', { name: /\bv1\.9\.0$/ })
      .first()
      .waitFor()
  })

  test('of what a branch is rebased onto', async () => {
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Alt+Shift+6')
    await page.keyboard.type('v1.9.0')
    await refsAreThere()
    await isFirst('Branches', /^v1\.9\.0(?!-)/)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('heading', { name: 'Rebase retry-jitter onto v1.9.0' }).waitFor()
  })

  test('of the palette: a tag leads to its commit, a branch comes before commands and files', async () => {
    const tip = (await desk.tip('main')).slice(0, 8)
    const open = async (words: string, name: RegExp) => {
      await page.keyboard.press('Control+k')
      await page.keyboard.type(words)
      await isFirst('Results', name)
    }
    await open('v1.9.0', /^v1\.9\.0\s*tag/)
    await page.keyboard.press('Enter')
    await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: tip, selected: true }).waitFor()
    await open('settings', /^settings(?!-)/)
    await page.keyboard.press('Escape')
    await open('#v1.9.0', /^v1\.9\.0\s*tag/)
    await page.keyboard.press('Escape')
    await open('@proposed', /^origin\/proposed(?!-)/)
    await page.keyboard.press('Enter')
    await until(async () => (await desk.git('branch', '--list', 'proposed')) !== '')
  })
})
