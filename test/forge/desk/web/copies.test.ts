/** Files and folders copied, cut, pasted and duplicated in the explorer. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, SCENE_FILES, showBranch, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

// A busy machine renders slowly.
setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('the explorer', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const tree = () => page.getByRole('tree', { name: 'Explorer' })
  const row = (name: string | RegExp) => tree().getByRole('treeitem', { name, exact: true })
  const selected = async () => (await tree().locator('[aria-selected="true"] .grow').allTextContents()).join().trim()
  const item = (name: string | RegExp) => page.getByRole('menuitem', { name })
  const entry = (path: string, ref = 'refs/forge/drafts/main') =>
    desk.git('ls-tree', '-r', '--format=%(objectmode) %(objectname)', ref, '--', path)
  const copies = async () =>
    (await desk.git('ls-tree', '-r', '--name-only', 'refs/forge/drafts/main'))
      .split('\n')
      .filter(path => path.includes('copy'))

  test('copies a file by Ctrl+C and Ctrl+V, with what is typed in it, under the next free name', async () => {
    await row('README.md').click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('typed')
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('Control+c')
    await page.keyboard.press('Control+v')
    await row('README copy.md , added').waitFor()
    await until(async () => (await selected()) === 'README copy.md')
    await desk.isText('main', 'README copy.md', '# Tern\n\nA queue.\ntyped')
    await page.keyboard.press('Control+v')
    await row('README copy 2.md , added').waitFor()
    // One Undo takes one of them back.
    await page.keyboard.press('Control+Alt+z')
    await row('README copy 2.md , added').waitFor({ state: 'detached' })
    await row('README copy.md , added').click()
    await page.keyboard.press('F2')
    await page.getByRole('dialog', { name: 'Rename README copy.md' }).getByRole('textbox').fill('GUIDE.md')
    await page.keyboard.press('Enter')
    await row('GUIDE.md , added').waitFor()
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'add: GUIDE.md; edit: README.md')
  })

  test('copies binary files, executables and links as they are, and folders beside themselves, by its menu', async () => {
    await desk.commit('main', {
      'odd/run.sh': { mode: '100755', content: 'true\r\n' },
      'odd/link': { mode: '120000', content: '../README.md' },
      'odd/nul.bin': 'a\0b\r\n',
    })
    await row('odd').click({ button: 'right' })
    await item('Copy').first().click()
    await row('odd').click({ button: 'right' })
    expect(await findings(page)).toEqual([])
    await item('Paste').click()
    await row('odd copy , added').waitFor()
    for (const name of ['run.sh', 'link', 'nul.bin'])
      expect(await entry(`odd copy/${name}`)).toBe(await entry(`odd/${name}`, 'main'))
    await until(async () => (await selected()) === 'odd copy')
    await page.keyboard.press('ArrowRight')
    for (const name of [/^run\.sh , added/, /^link , added/, /^nul\.bin , added/]) await row(name).waitFor()
    await row('data.bin').click()
    await row('logo.png').click({ modifiers: ['Control'] })
    await page.keyboard.press('Control+c')
    await row('src').click()
    await page.keyboard.press('Control+v')
    await row(/^data\.bin , added/).waitFor()
    for (const name of ['data.bin', 'logo.png']) expect(await entry(`src/${name}`)).toBe(await entry(name, 'main'))
  })

  test('copies from a commit and from another branch', async () => {
    const before = await desk.tip('main')
    await desk.commit('main', { 'FORK.md': '# Other\n' })
    await page.keyboard.press('Alt+c')
    await page.keyboard.type(before)
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: before.slice(0, 8), exact: true, selected: true }).waitFor()
    await row('FORK.md').click()
    await page.keyboard.press('Control+c')
    // A commit takes no files.
    await row('docs').click({ button: 'right' })
    expect(await item('Paste').count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: 'main' }).click()
    await row('docs').click({ button: 'right' })
    await item('Paste').click()
    await desk.isText('main', 'docs/FORK.md', SCENE_FILES['FORK.md'])
    await showBranch(page, 'retry-jitter')
    await row('docs').click()
    await page.keyboard.press('Control+v')
    await desk.isText('retry-jitter', 'docs/FORK.md', SCENE_FILES['FORK.md'])
    await row('FORK.md , added').waitFor()
  })

  test('moves what was cut, and says that it can’t move to another branch', async () => {
    await row('FORK.md').click()
    await page.keyboard.press('Control+x')
    await row('FORK.md , cut').waitFor()
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await row('FORK.md').waitFor()
    await page.keyboard.press('Control+x')
    await showBranch(page, 'retry-jitter')
    await row('docs').click()
    await page.keyboard.press('Control+v')
    await page.getByText('FORK.md can’t be moved to another branch: use Copy in place of Cut.').first().waitFor()
    await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: 'main' }).click()
    await row('docs').click()
    await page.keyboard.press('Control+v')
    await row('FORK.md , renamed').waitFor()
    await desk.isText('main', 'docs/FORK.md', SCENE_FILES['FORK.md'])
    expect(await desk.textOf('main', 'FORK.md')).toBe(undefined)
    // It is pasted once.
    await row('src').click({ button: 'right' })
    await item('New file here…').waitFor()
    expect(await item('Paste').count()).toBe(0)
  })

  test('duplicates a file or folder under a chosen name, also by the palette', async () => {
    await row('src').click()
    await row('index.ts').click()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('>duplicate')
    await page.getByRole('option', { name: /Duplicate file index\.ts/ }).waitFor()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Duplicate index.ts' })
    expect(await dialog.getByRole('textbox').inputValue()).toBe('src/index copy.ts')
    await page.keyboard.type('main')
    await page.keyboard.press('Enter')
    await page
      .getByRole('tablist', { name: 'Files' })
      .getByRole('tab', { name: 'main.ts , draft', selected: true })
      .waitFor()
    await desk.isText('main', 'src/main.ts', SCENE_FILES['src/index.ts'])
    await row('docs').click()
    await page.keyboard.press('Control+Shift+F2')
    await page.getByRole('dialog', { name: 'Duplicate docs' }).getByRole('textbox').fill('src')
    await page.keyboard.press('Enter')
    await page.getByText('There is src already: choose another name.').waitFor()
    await page.getByRole('dialog').getByRole('textbox').fill('docs/copy')
    await page.keyboard.press('Enter')
    await page.getByText("docs can't be copied into itself.").waitFor()
    await page.getByRole('dialog').getByRole('textbox').fill('copy/of docs')
    await page.keyboard.press('Enter')
    await row('of docs , added').waitFor()
    expect(await copies()).toEqual(['copy/of docs/design.md'])
  })
})
