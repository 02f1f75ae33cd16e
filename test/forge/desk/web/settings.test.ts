/**
 * The settings and the list of keys in a real browser: each setting has its effect, and the file and all windows agree.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasBrowser } from '../../../support/browser.ts'
import { gitWith } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, templateWith, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

/** The repository's own settings, in each place where one could expect them. */
const REPOSITORYS = '{ "theme": "dark", "editor.fontSize": 30, "editor.blame": true }'

const template = templateWith({
  main: {
    'settings.json': REPOSITORYS,
    '.forge/settings.json': REPOSITORYS,
    'forge/settings.json': REPOSITORYS,
    '.config/forge/settings.json': REPOSITORYS,
    '.vscode/settings.json': REPOSITORYS,
    '.editorconfig':
      '[*.go]\nindent_style = tab\ntab_width = 7\n[*.py]\nindent_style = space\nindent_size = 3\n[{Makefile,*.js}]\nindent_style = space\n',
    'a.go': 'x\n',
    'b.py': 'x\n',
    'c.js': 'if (a) {\n\tb()\n}\n',
    Makefile: 'all:\n\ttrue\n',
    'notes.md': '| a |\n|---|\n| b |\n\n```\ncode\n```\n',
  },
})

describe.skipIf(!hasBrowser)('the settings', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    {
      template,
      prepare: async path => {
        // Neither a bare repository's own folder nor its configuration counts.
        await mkdir(join(path, 'forge'))
        await writeFile(join(path, 'settings.json'), REPOSITORYS)
        await writeFile(join(path, 'forge/settings.json'), REPOSITORYS)
        await gitWith(path, ['config', 'forge.theme', 'dark'])
      },
    },
  )

  const file = () => join(desk.desk.state, 'settings.json')
  const inFile = async () => JSON.parse(await readFile(file(), 'utf8'))
  const open = async (name: string) => {
    await page.getByRole('treeitem', { name, exact: true }).click()
    await page.getByRole('tab', { name, selected: true }).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
  }
  const css = (of: string, property: string) =>
    page
      .locator(of)
      .first()
      .evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), property)

  test('are found by search and changed by keyboard and mouse, at once in the page and in the file', async () => {
    await open('a.go')
    // Nothing comes from the repository.
    expect([await css('html', 'color-scheme'), await css('.cm-scroller', 'font-size')]).toEqual(['light dark', '13px'])
    expect(await page.locator('.cm-blame').count()).toBe(0)
    await page.keyboard.press('Control+,')
    const dialog = page.getByRole('dialog', { name: 'Settings' })
    await dialog.waitFor()
    expect(await dialog.getByText('The desk does not know').count()).toBe(0)
    expect(await findings(page)).toEqual([])
    await page.keyboard.type('fontSize')
    await until(async () => (await dialog.locator('.setting').count()) === 1)
    await page.keyboard.press('Tab')
    await page.keyboard.type('19')
    await page.keyboard.press('Enter')
    await until(async () => (await css('.cm-scroller', 'font-size')) === '19px')
    expect(await inFile()).toEqual({ 'editor.fontSize': 19 })
    await dialog.getByRole('button', { name: 'Reset' }).click()
    await until(async () => (await css('.cm-scroller', 'font-size')) === '13px')
    await dialog.getByRole('searchbox').fill('')
    await dialog.getByRole('combobox', { name: 'Color theme' }).selectOption('Dark')
    await until(async () => (await css('html', 'color-scheme')) === 'dark')
    expect(await css('body', 'background-color')).toBe('rgb(21, 23, 27)')
    await dialog.getByRole('checkbox', { name: 'Word wrap' }).check()
    await dialog.getByRole('checkbox', { name: 'Auto-closing brackets' }).uncheck()
    await dialog.getByRole('checkbox', { name: 'Blame' }).check()
    await dialog.getByRole('textbox', { name: 'Font of code' }).fill('Courier New')
    await dialog.getByRole('spinbutton', { name: 'Line height' }).fill('2')
    await dialog.getByRole('spinbutton', { name: 'Tab width' }).fill('5')
    await page.keyboard.press('Tab')
    await until(async () => (await css('.cm-content', 'tab-size')) === '5')
    await page.keyboard.press('Escape')
    expect(await css('.cm-scroller', 'line-height')).toBe('26px')
    expect(await css('.cm-scroller', 'font-family')).toStartWith('"Courier New"')
    await page.locator('.cm-content.cm-lineWrapping').waitFor()
    await page.locator('.cm-blame').waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('(')
    await desk.isText('main', 'a.go', text => text.includes('(') && !text.includes(')'))
  })

  test('a number that is refused says why at its field, also where the list has scrolled', async () => {
    await open('a.go')
    await page.setViewportSize({ width: 1280, height: 560 })
    await page.keyboard.press('Control+,')
    const dialog = page.getByRole('dialog', { name: 'Settings' })
    const field = dialog.getByRole('spinbutton', { name: 'Tab width' })
    await field.click()
    await page.keyboard.type('99')
    await page.keyboard.press('Tab')
    const refusal = dialog.getByRole('alert').filter({ hasText: 'editor.tabSize must be a number from 1 to 16.' })
    await refusal.waitFor()
    const [said, typed] = [await refusal.boundingBox(), await field.boundingBox()]
    const distance = (said?.y ?? 0) - ((typed?.y ?? 0) + (typed?.height ?? 0))
    expect(distance).toBeWithin(0, 12)
    await field.fill('8')
    await page.keyboard.press('Tab')
    await refusal.waitFor({ state: 'hidden' })
  })

  test('the font size of code is that of the editor, the review and the preview, each with its line height', async () => {
    await desk.ask({ ask: 'set setting', key: 'editor.fontSize', value: 24 })
    await page.getByRole('treeitem', { name: 'notes.md', exact: true }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('new ')
    const fontOf = async (of: string) => [await css(of, 'font-size'), await css(of, 'line-height')]
    await until(async () => (await css('.cm-scroller', 'font-size')) === '24px')
    const inEditor = await fontOf('.cm-scroller')
    await page.keyboard.press('Control+Alt+v')
    await page.locator('.preview pre').waitFor()
    expect(await fontOf('.preview pre')).toEqual(inEditor)
    // Words keep their size, and the height of their lines.
    expect(await fontOf('.preview table')).toEqual(['13px', '20px'])
    await page.keyboard.press('Alt+r')
    await page.locator('.diff-code .line-number').first().click()
    await page.getByRole('textbox', { name: /^Comment on/ }).waitFor()
    expect(await fontOf('.diff-code')).toEqual(inEditor)
    expect(await fontOf('.line-comments')).toEqual(['12px', '20px'])
  })

  test('a font whose name begins with a digit, and a quote without its other one, leave the other fonts and the size', async () => {
    await open('a.go')
    await desk.ask({ ask: 'set setting', key: 'editor.fontSize', value: 20 })
    for (const [family, shown] of [
      ['0xProto, DejaVu Sans Mono', '"0xProto", "DejaVu Sans Mono"'],
      ['3270 Nerd Font,, monospace', '"3270 Nerd Font", monospace'],
      [`"Fira Code', 'inherit'`, '"Fira Code", "inherit"'],
    ]) {
      await desk.ask({ ask: 'set setting', key: 'editor.fontFamily', value: family ?? '' })
      await until(async () => (await css('.cm-scroller', 'font-family')) === `${shown}, ui-monospace, monospace`)
      expect(await css('.cm-scroller', 'font-size')).toBe('20px')
    }
  })

  test('line numbers have the font size of code, in the editor and the review', async () => {
    await open('a.go')
    expect(await css('.cm-lineNumbers', 'font-size')).toBe('12px')
    await desk.ask({ ask: 'set setting', key: 'editor.fontSize', value: 32 })
    await until(async () => (await css('.cm-scroller', 'font-size')) === '32px')
    expect(await css('.cm-lineNumbers', 'font-size')).toBe('32px')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('new')
    await page.keyboard.press('Alt+r')
    const number = page.locator('.diff-code .line-number').first()
    await number.waitFor()
    expect(await css('.diff-code .line-number', 'font-size')).toBe('32px')
    // The column has room for five digits.
    const width = await number.evaluate(element => {
      element.textContent = '12345'
      return [element.scrollWidth, element.clientWidth]
    })
    expect(width[0]).toBe(width[1] as number)
  })

  test('stay as they were set while another one arrives', async () => {
    await page.keyboard.press('Control+,')
    const dialog = page.getByRole('dialog', { name: 'Settings' })
    const blame = dialog.getByRole('checkbox', { name: 'Blame' })
    await blame.waitFor()
    const answer = desk.proxy.hold('set setting')
    await blame.click()
    // As for a setting of another window.
    await desk.ask({ ask: 'set setting', key: 'editor.tabSize', value: 5 })
    await until(async () => (await dialog.getByRole('spinbutton', { name: 'Tab width' }).inputValue()) === '5')
    expect(await blame.isChecked()).toBe(true)
    answer()
    await until(async () => (await inFile())['editor.blame'] === true)
    expect(await blame.isChecked()).toBe(true)
  })

  test('show the page in the chosen theme before its script runs', async () => {
    await writeFile(file(), '{ "theme": "dark" }')
    await until(async () => (await css('html', 'color-scheme')) === 'dark')
    await page.route('**/*.js', route => route.abort())
    await page.reload()
    expect(await css('html', 'color-scheme')).toBe('dark')
    page.troubles.length = 0
  })

  test('follow the file, which keeps other keys, and say what is wrong with it', async () => {
    await writeFile(file(), '{ "theme": "dark", "other.key": 1, "editor.tabSize": "wide" }')
    await until(async () => (await css('html', 'color-scheme')) === 'dark')
    await page.keyboard.press('Control+,')
    const dialog = page.getByRole('dialog', { name: 'Settings' })
    await dialog.getByText('The desk does not know other.key. It stays in the file.').waitFor()
    await dialog.getByText('editor.tabSize must be a number from 1 to 16: it has its default.').waitFor()
    await dialog.getByRole('combobox', { name: 'Color theme' }).selectOption('Light')
    await until(async () => (await inFile()).theme === 'light')
    expect(await inFile()).toEqual({ theme: 'light', 'other.key': 1, 'editor.tabSize': 'wide' })
    await writeFile(file(), '{ "theme": ')
    await dialog.getByText('is not read and not changed until it is mended').waitFor()
    expect(await dialog.getByRole('combobox', { name: 'Color theme' }).isDisabled()).toBe(true)
    expect(await css('html', 'color-scheme')).toBe('light')
  })

  test('tabs and indentation are those of .editorconfig', async () => {
    await open('a.go')
    await until(async () => (await css('.cm-content', 'tab-size')) === '7')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Tab')
    await desk.isText('main', 'a.go', '\tx\n')
    await open('b.py')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await until(async () => (await css('.cm-content', 'tab-size')) === '3')
    await page.keyboard.press('Tab')
    await desk.isText('main', 'b.py', '   x\n')
  })

  test('a new line has the tabs of a file and of a makefile, where .editorconfig says spaces', async () => {
    const addedTo = async (name: string) => {
      await open(name)
      await page.getByRole('textbox', { name: 'Editor' }).click()
      await page.keyboard.press('Control+Home')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('End')
      await page.keyboard.press('Enter')
      await page.keyboard.type('x')
    }
    await addedTo('Makefile')
    await desk.isText('main', 'Makefile', 'all:\n\ttrue\n\tx\n')
    await addedTo('c.js')
    await desk.isText('main', 'c.js', 'if (a) {\n\tb()\n\tx\n}\n')
  })

  test('the list of keys is searched by name and by keys', async () => {
    await page.keyboard.press('Alt+k')
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await dialog.getByText('Find in files').first().waitFor()
    await page.keyboard.type('ctrl+shift+h')
    await until(async () => new Set(await dialog.locator('dd').allInnerTexts()).size === 1)
    await dialog.getByRole('searchbox').fill('zoom in')
    await dialog.getByRole('region', { name: 'A commit in the graph' }).getByText('Zoom in').waitFor()
    expect(await findings(page)).toEqual([])
  })
})
