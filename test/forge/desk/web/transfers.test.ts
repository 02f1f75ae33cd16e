/** Files from this computer into the branch, by drop and by a dialog of the browser, and back by download. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

describe.skipIf(!hasBrowser)('the explorer', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
  })

  const tree = () => page.getByRole('tree', { name: 'Explorer' })
  const row = (name: string | RegExp) => tree().getByRole('treeitem', { name })
  /** Drops a file of this computer on a row. */
  const drop = async (onto: string, name: string, text: string) => {
    const data = await page.evaluateHandle(
      ({ name, text }) => {
        const transfer = new DataTransfer()
        transfer.items.add(new File([text], name))
        return transfer
      },
      { name, text },
    )
    for (const type of ['dragover', 'drop']) await row(onto).dispatchEvent(type, { dataTransfer: data })
  }

  test('takes dropped files as drafts, and asks before one is replaced', async () => {
    await drop('docs', 'größe.bin', 'a\0b')
    await row('größe.bin , added').waitFor()
    expect(await desk.messageOf('main')).toBe('Begin main')
    await drop('README.md', 'README.md', 'Other\n')
    const dialog = page.getByRole('dialog', { name: 'Replace README.md?' })
    await dialog.getByText('is a draft until you save').waitFor()
    expect(await desk.textOf('main', 'README.md')).toBe('# Tern\n\nA queue.\n')
    await dialog.getByRole('button', { name: 'Replace' }).click()
    await desk.isText('main', 'README.md', 'Other\n')
    await page.keyboard.press('Control+Alt+z')
    await desk.isText('main', 'README.md', '# Tern\n\nA queue.\n')
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'add: docs/größe.bin')
    expect(await desk.git('show', 'main:docs/größe.bin')).toBe('a\0b')
  })

  test('refuses what it can’t add with a sentence', async () => {
    await drop('docs', 'new.locked', 'x'.repeat(11 << 20))
    await page.getByText('at most 10 MB are added at once').first().waitFor()
    expect(await row('docs , has drafts').count()).toBe(0)
  })

  test('uploads chosen files by its menu, and downloads a file with its draft', async () => {
    await row('docs').click({ button: 'right' })
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('menuitem', { name: 'Upload files here…' }).click(),
    ])
    const files = ['one.txt', 'two.txt'].map(name => ({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from(`${name}\n`),
    }))
    await chooser.setFiles(files)
    await row('one.txt , added').click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('typed')
    await desk.isText('main', 'docs/one.txt', 'one.txt\ntyped')
    await row(/one\.txt/).click({ button: 'right' })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('one.txt')
    expect(await Bun.file((await download.path()) ?? '').text()).toBe('one.txt\ntyped')
    await until(async () => (await row(/two\.txt/).count()) === 1)
  })

  test('uploads files of which some are there already: the question and the undo name all', async () => {
    await desk.commit('main', { 'docs/one.txt': 'old\n' })
    await row('docs').click()
    await row('one.txt').click({ button: 'right' })
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('menuitem', { name: 'Upload files here…' }).click(),
    ])
    const names = ['one.txt', 'two.txt', 'three.txt']
    await chooser.setFiles(names.map(name => ({ name, mimeType: 'text/plain', buffer: Buffer.from('new\n') })))
    const dialog = page.getByRole('dialog', { name: 'Replace one.txt?' })
    await dialog.getByText('It is in main already.').waitFor()
    await dialog.getByText('2 other files will be added with it.').waitFor()
    await dialog.getByRole('button', { name: 'Replace' }).click()
    await desk.isText('main', 'docs/three.txt', 'new\n')
    await page.keyboard.press('Control+Alt+z')
    await page.getByRole('paragraph').getByText('Undone: add 3 files to main, and replace docs/one.txt').waitFor()
    await desk.isText('main', 'docs/one.txt', 'old\n')
  })
})
