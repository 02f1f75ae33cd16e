/** The explorer: several files selected, moved by drag and by keys, and what its menu offers. */
import { describe, expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, settled, showBranch, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

/** A folder for screenshots. */
const { PICTURES } = Bun.env

describe.skipIf(!hasBrowser)('the explorer', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const tree = () => page.getByRole('tree', { name: 'Explorer' })
  const row = (name: string | RegExp) => tree().getByRole('treeitem', { name })
  const selected = async () =>
    (await tree().locator('[aria-selected="true"] .grow').allTextContents()).map(words => words.trim())
  const items = () => page.getByRole('menuitem').allTextContents()
  const drafts = async () => {
    const { desk: shown } = await desk.ask<{ desk: { branches: { name: string; drafts: string[] }[] } }>({
      ask: 'desk',
    })
    return shown.branches.find(({ name }) => name === 'main')?.drafts
  }
  const picture = async (name: string) => {
    for (const colorScheme of PICTURES ? (['light', 'dark'] as const) : []) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}.png` })
    }
  }

  test('several files are selected by keys, and moved by their menu, after a look at what changes', async () => {
    await row('AGENTS.md').waitFor()
    await page.keyboard.press('Alt+x')
    // The letters of a name, typed in one go, select it; also from a row that begins alike.
    await page.keyboard.type('ag')
    await until(async () => (await selected()).join() === 'AGENTS.md')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    expect(await selected()).toEqual(['AGENTS.md', 'big.locked', 'data.bin'])
    await page.getByRole('status', { name: 'Status' }).getByText('3 selected').waitFor()
    await page.keyboard.press('Shift+ArrowUp')
    expect(await selected()).toEqual(['AGENTS.md', 'big.locked'])
    await row('AGENTS.md').click()
    await row('FORK.md').click({ modifiers: ['ControlOrMeta'] })
    expect(await selected()).toEqual(['AGENTS.md', 'FORK.md'])
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: /Move to/ }).waitFor()
    expect((await items()).join()).not.toContain('Rename')
    await picture('explorer-menu')
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+F2')
    await page.getByRole('dialog', { name: 'Move 2 files' }).getByRole('textbox').fill('docs/more')
    await page.keyboard.press('Enter')
    await row('AGENTS.md , renamed').waitFor()
    expect(await drafts()).toEqual(['docs/more/AGENTS.md', 'docs/more/FORK.md'])
    // One Undo takes both moves back.
    await page.keyboard.press('Control+Alt+z')
    await until(async () => (await drafts())?.length === 0)
    await until(async () => (await row(/renamed|added|drafts/).count()) === 0)
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('Control+a')
    await until(async () => (await selected()).length === (await tree().getByRole('treeitem').count()))
    await page.keyboard.press('Escape')
    expect((await selected()).length).toBe(1)
  })

  test('files are selected by mouse with Ctrl and Shift, and deleted together', async () => {
    await row('AGENTS.md').click()
    await row('README.md').click({ modifiers: ['Control'] })
    expect(await selected()).toEqual(['AGENTS.md', 'README.md'])
    await row('tsconfig.json').click({ modifiers: ['Shift'] })
    expect((await selected())[0]).toBe('README.md')
    await row('AGENTS.md').click()
    await row('README.md').click({ modifiers: ['Control'] })
    await row('README.md').click({ button: 'right' })
    await page.getByRole('menuitem', { name: /Delete/ }).click()
    await page.getByRole('dialog', { name: 'Delete 2 files?' }).getByRole('button', { name: 'Delete' }).click()
    await row('AGENTS.md , deleted').waitFor()
    await row('README.md , deleted').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Restore' }).click()
    await until(async () => (await drafts())?.length === 0)
  })

  test('the dialog of a deletion counts folders and files', async () => {
    await row('docs').click()
    await row('README.md').click({ modifiers: ['Control'] })
    await page.keyboard.press('Delete')
    const dialog = page.getByRole('dialog', { name: 'Delete 1 folder and 1 file?' })
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  test('after new files and folders are deleted, the row beside them is selected', async () => {
    for (const path of ['docs/a.md', 'docs/b.md', 'docs/zz/in.md', 'docs/zzz.md'])
      await desk.ask({ ask: 'new file', branch: 'main', path })
    await row('docs').click()
    await row(/^b.md /).click()
    const deleteIt = async (name: string) => {
      await tree().focus()
      await page.keyboard.press('Delete')
      await page
        .getByRole('dialog', { name: `Delete ${name}?` })
        .getByRole('button', { name: 'Delete' })
        .click()
      await row(new RegExp(`^${name} `)).waitFor({ state: 'detached' })
    }
    await deleteIt('b.md')
    await until(async () => (await selected()).join() === 'design.md')
    await row(/^zz /).click()
    await deleteIt('zz')
    await until(async () => (await selected()).join() === 'a.md')
    // The last one of its folder: the row above.
    await row(/^zzz.md /).click()
    await deleteIt('zzz.md')
    await until(async () => (await selected()).join() === 'design.md')
    // What is committed stays in its place.
    await page.keyboard.press('Delete')
    await page.getByRole('dialog', { name: 'Delete design.md?' }).getByRole('button', { name: 'Delete' }).click()
    await row('design.md , deleted').waitFor()
    expect(await selected()).toEqual(['design.md'])
  })

  test('files are dragged into a folder: the move is shown before, and is a draft', async () => {
    await row('AGENTS.md').click()
    await row('FORK.md').click({ modifiers: ['Control'] })
    await row('FORK.md').dragTo(row('docs'))
    const dialog = page.getByRole('dialog', { name: 'Move 2 files to docs?' })
    await dialog.waitFor()
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual([
      'AGENTS.md → docs/AGENTS.md',
      'FORK.md → docs/FORK.md',
    ])
    await picture('explorer-move')
    expect(await drafts()).toEqual([])
    await page.keyboard.press('Enter')
    await row('docs , has drafts').waitFor()
    expect(await drafts()).toEqual(['docs/AGENTS.md', 'docs/FORK.md'])
    // The tab of the open file shows the moved file.
    await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'AGENTS.md , draft' }).waitFor()
    await picture('explorer-moved')
    // A folder can be dragged into another folder, but not into one inside itself.
    await row('docs , has drafts').dragTo(row('src'))
    await page.getByRole('dialog', { name: 'Move docs to src?' }).getByRole('button', { name: 'Move' }).click()
    await until(async () => (await drafts())?.includes('src/docs/AGENTS.md') === true)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('Moved 1 folder', { exact: true }).waitFor({ state: 'attached' })
    await row('src , has drafts').dragTo(row('docs , renamed'))
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'rename: 3 files')
  })

  test('a drag into a folder where the name is taken says so at once, and moves nothing', async () => {
    await desk.commit('main', { 'docs/README.md': 'Another one.\n', 'src/README.md': 'A third one.\n' })
    await row('docs').click()
    await until(async () => (await row('README.md').count()) === 2)
    await row('README.md').last().dragTo(row('docs'))
    const dialog = page.getByRole('dialog', { name: 'Move README.md to docs?' })
    await dialog.getByText('Two files or folders would be docs/README.md: rename one of them first.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Move' }).getAttribute('aria-disabled')).toBe('true')
    expect(await findings(page)).toEqual([])
    // Cancel has the focus.
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(await drafts()).toEqual([])
    // Two of the dragged ones have the same name.
    await row('src').click()
    await until(async () => (await row('README.md').count()) === 3)
    await row('README.md').nth(0).click()
    await row('README.md')
      .nth(1)
      .click({ modifiers: ['Control'] })
    await row('README.md').nth(1).dragTo(row('test'))
    await page
      .getByRole('dialog', { name: 'Move 2 files to test?' })
      .getByText('Two files or folders would be test/README.md: rename one of them first.')
      .waitFor()
    expect(await drafts()).toEqual([])
  })

  test('a folder that opens under a drag stays under the pointer, also where that pushes the dragged file out of view', async () => {
    const bottomOf = async (of: Locator) => {
      const { y = 0, height = 0 } = (await of.boundingBox()) ?? {}
      return y + height
    }
    // The list ends below the file that is dragged.
    const { height = 0 } = page.viewportSize() ?? {}
    const room = (await bottomOf(tree())) - (await bottomOf(row('README.md')))
    await page.setViewportSize({ width: 1280, height: height - Math.floor(room) })
    await row('README.md').hover()
    await page.mouse.down()
    const { y: before } = (await row('src').boundingBox()) ?? {}
    await row('src').hover()
    // The second move is over the row, for which the first one has begun the drag.
    await row('src').hover({ position: { x: 60, y: 9 } })
    await row('queue').waitFor()
    await settled(page)
    expect((await row('src').boundingBox())?.y).toBe(before)
    expect(await tree().evaluate(element => element.scrollTop)).toBe(0)
    expect(await bottomOf(row('README.md'))).toBeGreaterThan(await bottomOf(tree()))
    await page.mouse.up()
    await page.getByRole('dialog', { name: 'Move README.md to src?' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await row('src').boundingBox())?.y).toBe(before)
  })

  test('paths are copied, and the open file is revealed from its tab', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await row('AGENTS.md').click()
    await row('FORK.md').click({ modifiers: ['Control'] })
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: /Copy paths/ }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('AGENTS.md\nFORK.md')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('sweep')
    await page.keyboard.press('Enter')
    await page.locator('.crumbs .here').getByText('sweep.ts').waitFor()
    await row('src').click()
    await until(async () => (await row('sweep.ts').count()) === 0)
    await page.keyboard.press('Alt+Shift+0')
    await until(async () => (await selected()).join() === 'sweep.ts')
    await until(() => tree().evaluate(element => element === document.activeElement))
  })

  test('the absolute path is in the checkout of the branch, and not offered where there is none', async () => {
    const isOffered = async () => {
      await row('FORK.md').click({ button: 'right' })
      await page.getByRole('menuitem', { name: 'Copy path' }).waitFor()
      const count = await page.getByRole('menuitem', { name: 'Copy absolute path' }).count()
      if (count === 0) await page.keyboard.press('Escape')
      return count > 0
    }
    const folder = `${desk.path}-größe`
    await desk.git('worktree', 'add', '--quiet', folder, 'retry-jitter')
    expect(await isOffered()).toBe(false)
    await showBranch(page, 'retry-jitter')
    // Until the page has heard of the checkout.
    await until(isOffered)
    await page.getByRole('menuitem', { name: 'Copy absolute path' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${folder}/FORK.md`)
    expect(await Bun.file(`${folder}/FORK.md`).text()).toBe('# Fork\n')
  })

  test('a link is marked as other files when it is added, moved or deleted', async () => {
    await desk.commit('main', { 'to-readme': { mode: '120000', content: 'README.md' } })
    await row('to-readme').click()
    await page.keyboard.press('F2')
    await page.getByRole('dialog', { name: 'Rename to-readme' }).getByRole('textbox').fill('to-it')
    await page.keyboard.press('Enter')
    await row('to-it , renamed').getByText('R', { exact: true }).waitFor()
    await row('to-it , renamed').getByText('link', { exact: true }).waitFor()
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'rename: to-readme → to-it')
    await row('to-it').click()
    await page.keyboard.press('Delete')
    await page.getByRole('dialog', { name: 'Delete to-it?' }).getByRole('button', { name: 'Delete' }).click()
    await row('to-it , deleted').getByText('D', { exact: true }).waitFor()
  })

  test('is narrowed to files that match, and drafts among them', async () => {
    await row('src').waitFor()
    await desk.ask({ ask: 'new file', branch: 'main', path: 'src/queue/sweeper.ts' })
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('/')
    const field = page.getByRole('textbox', { name: 'Filter files' })
    await field.fill('sweep')
    await until(async () => (await tree().getByRole('treeitem').count()) === 4)
    expect((await tree().locator('[role="treeitem"] .grow').allTextContents()).map(words => words.trim())).toEqual([
      ...['src', 'queue', 'sweep.ts', 'sweeper.ts'],
    ])
    // What the explorer shows of a file is there, too: its draft, and in its menu whether it is executable.
    await tree()
      .getByRole('treeitem', { name: /^sweeper\.ts.*added/ })
      .waitFor()
    await tree()
      .getByRole('treeitem', { name: /^sweep\.ts/ })
      .click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Make executable' }).click()
    await tree()
      .getByRole('treeitem', { name: /^sweep\.ts/ })
      .getByText('M', { exact: true })
      .waitFor()
    await field.focus()
    await picture('explorer-filter')
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.locator('.crumbs .here').getByText('sweeper.ts').waitFor()
    await page.locator('.cm-focused').waitFor()
    await field.fill('no such file at all')
    await tree().getByText('No results').waitFor()
    await field.press('Escape')
    await row('README.md').waitFor()
    expect(await field.count()).toBe(0)
  })

  test('a folder is renamed and what imports from it mended, in one commit', async () => {
    await page.keyboard.press('Control+p')
    await page.keyboard.type('src/index.ts')
    await page.keyboard.press('Enter')
    await page.locator('.crumbs .here').getByText('index.ts').waitFor()
    await row('http').click()
    await page.keyboard.press('F2')
    await page.getByRole('dialog', { name: 'Rename http' }).getByRole('textbox').fill('src/web')
    await page.keyboard.press('Enter')
    await row('web , renamed').waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type("export * from './web/routes'")
    await desk.isText('main', 'src/index.ts', text => text.includes('./web/routes'))
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'rename: src/http → src/web; edit: src/index.ts')
    expect(await desk.git('show', '--format=', '--name-status', '-M', 'main')).toBe(
      'M\tsrc/index.ts\nR100\tsrc/http/routes.ts\tsrc/web/routes.ts',
    )
  })
})
