/** What the editor inserts while typing: closing tags, quotes and indentation, on the real desk. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until } from './page-scene.ts'
import { openBeside, openBranch, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

/** What is typed in each file, and what the file has then, if it is not the same. */
const TYPED: Record<string, [typed: string, text?: string]> = {
  'a.tsx': ['const A = <p><b>x</b> y</p>;'],
  'fragment.jsx': ['const A = <><b>x</b> y</>;'],
  'a.html': ['<p><b>x</b> y</p>'],
  'a.xml': ['<a><b>x</b></a>'],
  'a.vue': ['<template><p>x</p></template>'],
  'nested.html': ['<p><i>x</i><b>y</b></p>'],
  'prefix.tsx': ['const A = <pre><p>x</p></pre>;'],
  'kept.html': ['<p>x', '<p>x</p>'],
  'docstring.py': ['"""One line."""'],
  'quotes.py': ["x = '''one ''' + \"two\""],
  'lines.py': ['"""First.\nSecond.\n"""\n'],
  'empty.py': ['""""""\n'],
  'quoted.py': ['"""Say "hi"."""\nx = "a"\ny = {"b": 1}\n'],
  'single.py': ["'''a 'b' c'''\nu = 'd'\n"],
  'fold.md': ['<details>\n<summary>S</summary>\n\ntext\n\n</details>\n\n<div align="center">\n<b>x</b>\n</div>\nend\n'],
  'assert.py': ['"""\nassert "a" == \'b\'\n"""\ny = "z"\n'],
}
/** New files, what is typed in them with the Tab key as \t, the text then, and what the status bar says. */
const INDENTED: Record<string, [typed: string, text: string, words: string]> = {
  'new.py': ['def f():\npass', 'def f():\n    pass', 'Spaces: 4'],
  'new.rs': ['fn f() {\n1', 'fn f() {\n    1\n}', 'Spaces: 4'],
  'new.go': ['func f() {\n1', 'func f() {\n\t1\n}', 'Tab width: 4'],
  'rules.mk': ['all:\n\techo 1\necho 2', 'all:\n\techo 1\n\techo 2', 'Tab width: 4'],
  Makefile: ['all:\n\techo 1\necho 2', 'all:\n\techo 1\n\techo 2', 'Tab width: 4'],
  'new.ts': ['{\n1', '{\n  1\n}', 'Spaces: 2'],
}
/** Files with text, and what is typed at their end. */
const ADDED: Record<string, [text: string, typed: string]> = {
  'open.tsx': ['const A = <p>x', '</p>;'],
  'open.html': ['<p>x', '</p>y'],
  'open.xml': ['<a><b>x', '</b></a>'],
}

describe.skipIf(!hasBrowser)('what the editor inserts', () => {
  let desk: RealDesk
  let browser: OpenBrowser
  let page: RealPage
  beforeAll(async () => {
    const typed = [...Object.keys({ ...TYPED, ...INDENTED }), 'list.md'].map(path => [path, ''] as const)
    const added = Object.entries(ADDED).map(([path, [text]]) => [path, text] as const)
    desk = await openRealDesk({
      built: await builtPage(),
      branches: { main: Object.fromEntries([...typed, ...added]) },
    })
    browser = await openBrowser()
    page = await visit(browser.context, desk)
    await openBranch(page, 'main')
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await desk[Symbol.asyncDispose]()
  })

  const isIndentation = (words: string) => page.getByRole('button', { name: words, exact: true }).waitFor()
  const chooseIndentation = (words: string) =>
    page.getByRole('menuitemradio', { name: words, exact: true }).press('Enter')

  const textAfter = async (path: string, keys: string): Promise<string> => {
    await openBeside(page, path)
    await page.keyboard.press('Control+End')
    // The language comes after the text.
    if (/\.(?!mk)/.test(path)) await page.locator('.cm-content[data-language]').waitFor()
    await page.keyboard.type(keys)
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', path)) !== (ADDED[path]?.[0] ?? ''))
    return await desk.show('main', path)
  }

  for (const [path, [typed, text = typed]] of Object.entries(TYPED))
    test(`is typed over in ${path}: ${JSON.stringify(typed)}`, async () => {
      expect(await textAfter(path, typed)).toBe(text)
    })

  test('is no marker of a list or a quote in Markdown: Enter keeps the indentation, as in any text', async () => {
    const typed = '- [x] done\n- [ ] todo\n  more\n\n> quoted\nend\n'
    expect(await textAfter('list.md', typed)).toBe('- [x] done\n- [ ] todo\n  more\n\n  > quoted\n  end\n  ')
  })

  test('is a new line alone within an entry of a list in Markdown', async () => {
    await desk.commit('main', { 'entry.md': '- first line\n  second line\n' })
    await openBeside(page, 'entry.md')
    await page.locator('.cm-content[data-language="markdown"]').waitFor()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.keyboard.type('between')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'entry.md')) === '- first line\nbetween\n  second line\n')
  })

  for (const [path, [before, typed]] of Object.entries(ADDED))
    test(`is not doubled in ${path}, where the rest of the closing tag is typed`, async () => {
      expect(await textAfter(path, typed)).toBe(before + typed)
    })

  for (const [path, [typed, text, words]] of Object.entries(INDENTED))
    test(`is the usual indentation of the language in a new ${path}, and the status bar says it`, async () => {
      expect(await textAfter(path, typed)).toBe(text)
      await isIndentation(words)
    })

  test('is the indentation that the file has, after a rename that of its new language', async () => {
    await desk.commit('main', { 'two.py': 'if 1:\n  x\n', 'moved.txt': '' })
    await openBeside(page, 'two.py')
    await isIndentation('Spaces: 2')
    await openBeside(page, 'moved.txt')
    await isIndentation('Spaces: 2')
    await page.getByRole('treeitem', { name: 'moved.txt' }).press('F2')
    const name = page.getByRole('dialog').getByRole('textbox')
    await name.fill('moved.go')
    await name.press('Enter')
    await isIndentation('Tab width: 4')
  })

  test('is the indentation that is chosen in the status bar, also after the page is loaded again', async () => {
    await desk.commit('main', { 'chosen.ts': 'if (1) {\n  x\n}\n', 'as-before.ts': '{\n  x\n}\n' })
    await openBeside(page, 'chosen.ts')
    const tabSize = () => page.locator('.cm-content').evaluate(it => getComputedStyle(it).tabSize)

    await page.getByRole('button', { name: 'Spaces: 2', exact: true }).click()
    const menu = page.getByRole('menu', { name: 'Indentation of chosen.ts' })
    expect(await menu.locator('[aria-checked="true"]').allInnerTexts()).toEqual(['Indent using spaces: 2'])
    await chooseIndentation('Indent using tabs, width 8')
    await isIndentation('Tab width: 8')
    await page.getByRole('status', { name: 'Status' }).getByText('Indentation of chosen.ts: Tab width: 8').waitFor()
    expect(await tabSize()).toBe('8')

    await openBeside(page, 'as-before.ts')
    await isIndentation('Spaces: 2')
    await page.reload()
    await openBeside(page, 'chosen.ts')
    await isIndentation('Tab width: 8')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'chosen.ts')) === '\tif (1) {\n  x\n}\n')
  })

  test('is the indentation that is chosen by the keyboard, or detected again', async () => {
    await desk.commit('main', { '.editorconfig': '[by-keys.py]\nindent_style = tab\n', 'by-keys.py': 'if 1:\n    x\n' })
    await openBeside(page, 'by-keys.py')
    await isIndentation('Spaces: 4')
    const openMenu = async () => {
      await page.keyboard.press('Control+k')
      await page.keyboard.type('>change the indentation')
      await page.getByRole('option', { name: 'Change the indentation of by-keys.py…' }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('menuitemradio', { name: 'Indent using spaces: 2' }).and(page.locator(':focus')).waitFor()
    }
    await openMenu()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Alt+Shift+t')
    await page.getByRole('menuitemradio', { name: 'Indent using spaces: 2' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await isIndentation('Spaces: 8')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('main', 'by-keys.py')).startsWith('        if'))
    for (const [item, words] of [
      ['Indent using spaces: 2', 'Spaces: 2'],
      ['Detect from content', 'Spaces: 4'],
    ] as const) {
      await openMenu()
      await page.getByRole('menu').getByText(item, { exact: true }).click()
      await isIndentation(words)
    }
  })
})
