/** New files, renames and deletions in the page: drafts that the explorer and the review show, saved together. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

describe.skipIf(!hasBrowser)('files as drafts', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const files = () => page.getByRole('tablist', { name: 'Files' })
  const editor = () => page.getByRole('textbox', { name: 'Editor' })
  const status = () => page.getByRole('status', { name: 'Status' })
  const row = (name: string | RegExp) => page.getByRole('tree', { name: 'Explorer' }).getByRole('treeitem', { name })
  /** Answers the dialog with one field. */
  const answer = async (title: string, words: string) => {
    await page.getByRole('dialog', { name: title }).getByRole('textbox').fill(words)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }

  test('a new file, an edit and a rename are saved in one commit, and seen before', async () => {
    await row('README.md').click()
    await editor().waitFor()
    await page.keyboard.press('F2')
    await answer('Rename README.md', 'docs/README.md')
    await files().getByRole('tab', { name: 'README.md , draft', selected: true }).waitFor()
    // The explorer shows the file where it is now: its new folder is open, and it is selected.
    await row('README.md , renamed').and(page.locator('[aria-selected="true"]')).waitFor()
    await page.keyboard.press('Alt+n')
    await answer('New file', 'docs/new.md')
    await files().getByRole('tab', { name: 'new.md , draft', selected: true }).waitFor()
    await page.locator('.cm-focused').waitFor()
    await page.keyboard.type('See README.')
    await desk.isText('main', 'docs/new.md', 'See README.')
    await row('new.md , added').waitFor()
    await row('README.md , renamed').waitFor()
    await row('docs , has drafts').waitFor()
    await status().getByText('2 drafts since').waitFor()
    expect(await desk.messageOf('main')).toBe('Begin main')
    // The review and the search by name know the draft files.
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'Unsaved changes' }).click()
    await page.getByRole('button', { name: /renamed .*README\.md/ }).waitFor()
    await page.getByRole('button', { name: /added .*new\.md/ }).waitFor()
    await page.keyboard.press('Control+p')
    await page.keyboard.type('newmd')
    await page
      .getByRole('option', { name: /new.md/ })
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'rename: README.md → docs/README.md; add: docs/new.md')
    await status().getByText('Saved →').first().waitFor()
  })

  test('saving a renamed file saves both of its paths, and nothing else', async () => {
    await row('FORK.md').click()
    await editor().click()
    await page.keyboard.type('Typed ')
    await row('README.md').click()
    await page.locator('.crumbs .here').getByText('README.md').waitFor()
    await page.keyboard.press('F2')
    await answer('Rename README.md', 'READ.md')
    await files().getByRole('tab', { name: 'READ.md , draft', selected: true }).waitFor()
    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'rename: README.md → READ.md')
    expect(await desk.git('show', '--format=', '--name-status', '-M', 'main')).toBe('R100\tREADME.md\tREAD.md')
    await files().getByRole('tab', { name: 'FORK.md , draft' }).waitFor()
  })

  test('a deleted file stays in the explorer until it is saved, and can be restored there', async () => {
    await row('README.md').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row('README.md , deleted').click()
    await page.getByRole('heading', { name: 'README.md is deleted' }).waitFor()
    await row('README.md , deleted').click({ button: 'right' })
    expect(await page.getByRole('menuitem').allTextContents()).not.toContain('Delete…')
    await page.getByRole('menuitem', { name: 'Restore' }).click()
    await row('README.md').waitFor()
    await editor().getByText('A queue.').waitFor()
    await page.keyboard.press('Alt+Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row('README.md , deleted').click()
    await page.getByRole('button', { name: 'Restore' }).click()
    await editor().getByText('A queue.').waitFor()
    await status().getByText('Saved →').first().waitFor()
  })

  test('two windows show the same draft files, also after the server was restarted', async () => {
    const other = await page.context().newPage()
    await other.goto(desk.url)
    await page.keyboard.press('Alt+n')
    await answer('New file', 'one.md')
    await files().getByRole('tab', { name: 'one.md , draft', selected: true }).waitFor()
    await page.locator('.cm-focused').waitFor()
    await page.keyboard.type('One.')
    await desk.isText('main', 'one.md', 'One.')
    const there = other.getByRole('tree', { name: 'Explorer' })
    await there.getByRole('treeitem', { name: 'one.md , added' }).click()
    await other.getByRole('textbox', { name: 'Editor' }).getByText('One.').waitFor()
    await page.keyboard.press('F2')
    await answer('Rename one.md', 'two.md')
    await there.getByRole('treeitem', { name: 'two.md , added' }).waitFor()
    await other.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'two.md , draft' }).waitFor()
    await desk.restart()
    await row('two.md , added').waitFor()
    await editor().click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' Two.')
    await other.getByRole('textbox', { name: 'Editor' }).getByText('One. Two.').waitFor()
    await page.keyboard.press('Control+s')
    await desk.isMessage('main', 'add: two.md')
    await other.close()
  })

  test('undo takes a new file back, and redo brings it with what was typed', async () => {
    await page.keyboard.press('Alt+n')
    await answer('New file', 'new.md')
    await files().getByRole('tab', { name: 'new.md , draft', selected: true }).waitFor()
    await page.locator('.cm-focused').waitFor()
    await page.keyboard.type('Typed.')
    await desk.isText('main', 'new.md', 'Typed.')
    await page.keyboard.press('Control+Alt+z')
    await until(async () => (await row(/new\.md/).count()) === 0)
    await page.keyboard.press('Control+Alt+Shift+z')
    await row('new.md , added').click()
    await editor().getByText('Typed.').waitFor()
  })

  test('a deletion that conflicts with a change from outside is shown, and either side is chosen', async () => {
    await row('README.md').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row('README.md , deleted').waitFor()
    await desk.commit('main', { 'README.md': '# Tern\n\nFrom outside.\n' })
    await page.getByRole('button', { name: 'Resolve' }).click()
    const conflict = page.getByRole('region', { name: 'Conflict' })
    await conflict.getByText('deleted in your draft, changed in main').waitFor()
    await conflict.getByText('From outside.').waitFor()
    await conflict.focus()
    await page.keyboard.press('1')
    await conflict.waitFor({ state: 'detached' })
    await row('README.md , deleted').waitFor()
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'delete: README.md')
  })

  describe('a file that another window deletes while there is unsaved text in it', () => {
    const deleteElsewhere = () => desk.ask({ ask: 'delete', branch: 'main', paths: ['README.md'] })
    const notice = () => page.getByRole('status').filter({ hasText: 'README.md was deleted in another window' })
    const type = async (words: string) => {
      await editor().click()
      await page.keyboard.press('Control+Home')
      await page.keyboard.type(words)
    }
    const openAndType = async () => {
      await row('README.md').dblclick()
      await type('Mine ')
      await desk.isText('main', 'README.md', text => text.startsWith('Mine # Tern'))
    }

    test('says so where the text stays, and the file is restored by saving it', async () => {
      await openAndType()
      await deleteElsewhere()
      await notice().getByText('Saving it or typing on restores the file.').waitFor()
      await editor().getByText('Mine # Tern').waitFor()
      await row('README.md , deleted').waitFor()
      await editor().click()
      await page.keyboard.press('Control+s')
      await desk.isMessage('main', 'edit: README.md')
      expect(await desk.git('show', 'main:README.md')).toBe('Mine # Tern\n\nA queue.')
      await notice().waitFor({ state: 'detached' })
    })

    test('says that typing on restored it as a draft, which can be deleted again', async () => {
      await openAndType()
      await deleteElsewhere()
      await notice().waitFor()
      await type('Still ')
      await notice().getByText('is a draft, which restores the file when you save').waitFor()
      await desk.isText('main', 'README.md', text => text.startsWith('Still Mine # Tern'))
      await notice().getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await row('README.md , deleted').waitFor()
      await files()
        .getByRole('tab', { name: /README\.md/ })
        .waitFor({ state: 'detached' })
    })

    test('stays deleted where it is closed', async () => {
      await openAndType()
      await deleteElsewhere()
      await notice().getByRole('button', { name: 'Close' }).click()
      await files()
        .getByRole('tab', { name: /README\.md/ })
        .waitFor({ state: 'detached' })
      await row('README.md , deleted').waitFor()
      expect(await desk.textOf('main', 'README.md')).toBe(undefined)
      await page.keyboard.press('Control+Shift+s')
      await desk.isMessage('main', 'delete: README.md')
    })

    test('keeps what was on its way to the desk, and says so', async () => {
      await row('README.md').dblclick()
      await editor().waitFor()
      const arrive = desk.proxy.hold('edit')
      await type('Mine ')
      await until(() => desk.proxy.count('edit') > 0)
      await deleteElsewhere()
      await page.getByRole('alert').getByText('README.md was deleted').waitFor()
      arrive()
      await notice().getByText('is a draft, which restores the file when you save').waitFor()
      await desk.isText('main', 'README.md', text => text.startsWith('Mine # Tern'))
      await editor().getByText('Mine # Tern').waitFor()
      await page.getByRole('alert').waitFor({ state: 'detached' })
    })

    test('also says so of a commit from outside', async () => {
      await row('README.md').dblclick()
      await editor().waitFor()
      const arrive = desk.proxy.hold('edit')
      await type('Mine ')
      await until(() => desk.proxy.count('edit') > 0)
      await desk.commit('main', { 'README.md': null })
      await page.getByRole('alert').getByText('README.md was deleted').waitFor()
      arrive()
      await page.getByRole('status').getByText('README.md was deleted by a commit to main').waitFor()
      await editor().click()
      await page.keyboard.press('Control+s')
      await desk.isMessage('main', 'add: README.md')
    })
  })
})
