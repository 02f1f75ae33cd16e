/** After any action outside the text, typing goes where it is expected: focus, renames, other windows. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until as untilWithin } from '../../../support/repository.ts'
import { openBeside, openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const LINES = 'one\ntwo\nthree\nfour\n'
/** Python would not indent the second line. */
const ODD = 'a = 1\n    y\n'
const DOC = 'class A {\n  /***/\n  a = 1\n}\n'
const until = (isSo: () => boolean | Promise<boolean>) => untilWithin(isSo, 15_000)

describe.skipIf(!hasBrowser)('typing goes on', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage
  let count = 0
  let branch = ''

  beforeAll(async () => {
    browser = await openBrowser()
    const files = {
      'a.txt': LINES,
      'src/one.ts': LINES,
      'src/two.ts': LINES,
      'src/deep/three.ts': LINES,
      'odd.py': ODD,
      'gap.ts': 'a()\n\n\nb()\n',
      'doc.ts': DOC,
    }
    const names = Array.from({ length: 40 }, (_, number) => `work-${number + 1}`)
    const branches = Object.fromEntries(['main', ...names].map(name => [name, files]))
    desk = await openRealDesk({ built: await builtPage(), branches })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    branch = `work-${++count}`
    page = await visit(browser.context, desk)
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  const isDraft = (path: string, text: string) =>
    until(async () => (await desk.show(`refs/forge/drafts/${branch}`, path)) === text)
  const tabs = (at = page) =>
    at
      .getByRole('tablist', { name: 'Files' })
      .getByRole('tab')
      .evaluateAll(all => all.map(tab => tab.getAttribute('title') ?? ''))
  const gutter = (name: string) => page.locator(`.${name} .cm-gutterElement`)
  const rename = async (from: string, to: string) => {
    await page.getByRole('treeitem', { name: from }).click()
    await page.getByRole('tree', { name: 'Explorer' }).focus()
    await page.keyboard.press('F2')
    const field = page.getByRole('dialog').getByRole('textbox')
    await field.fill(to)
    await field.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  }

  test('at several cursors, and over a selection, which the status bar counts', async () => {
    await openFile(page, branch, 'a.txt')
    const place = (words: string) => page.locator('.line-column').getByText(words, { exact: true }).waitFor()
    await place('1:1')
    await page.keyboard.press('Shift+End')
    await place('1:4 (3 selected)')
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Control+Alt+ArrowDown')
    await place('2:1 (2 cursors)')
    await page.keyboard.type('x')
    await isDraft('a.txt', 'xone\nxtwo\nthree\nfour\n')
  })

  test('after a click on a line number: it selects the line, and the editor keeps the focus', async () => {
    await openFile(page, branch, 'a.txt')
    await gutter('cm-lineNumbers').getByText('2', { exact: true }).click()
    await page.keyboard.type('TWO\n')
    await isDraft('a.txt', LINES.replace('two', 'TWO'))
    await gutter('cm-lineNumbers').getByText('3', { exact: true }).click()
    await gutter('cm-lineNumbers')
      .getByText('4', { exact: true })
      .click({ modifiers: ['Shift'] })
    await page.keyboard.press('Delete')
    await isDraft('a.txt', 'one\nTWO\n')
  })

  test('after Ctrl+/ where no comments are known, which says so; the name of a file tells its comments', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+/')
    await page.getByRole('paragraph').filter({ hasText: 'No comments are known for files like a.txt' }).waitFor()
    await page.keyboard.type('x')
    await isDraft('a.txt', `x${LINES}`)
    await rename('a.txt', 'Makefile')
    await page.locator('.cm-content').focus()
    await page.keyboard.press('Control+/')
    await isDraft('Makefile', `# x${LINES}`)
  })

  test('after another language was chosen for the file, which has its comments, until it is detected again', async () => {
    await openFile(page, branch, 'a.txt')
    const language = (name: string) => page.getByRole('button', { name, exact: true })
    const option = (name: string) => page.getByRole('option', { name, exact: true })
    await language('Plain text').click()
    await page.keyboard.type('pyth')
    await option('Python').waitFor()
    await page.keyboard.press('Enter')
    await language('Python').waitFor()
    await page.locator('.cm-content').and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Control+/')
    await isDraft('a.txt', `# ${LINES}`)
    await page.reload()
    await language('Python').waitFor()
    await page.locator('.cm-content').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+/')
    await isDraft('a.txt', `# ${LINES.replace('two', '# two')}`)
    await page.keyboard.press('Control+Alt+Shift+m')
    await option('Auto detect Plain text').click()
    await language('Plain text').waitFor()
  })

  test('after lines are joined, sorted and trimmed and a word changes case, by the palette and by keys', async () => {
    await openFile(page, branch, 'a.txt')
    const run = async (name: string) => {
      await page.keyboard.press('Control+k')
      await page.keyboard.type(`>${name}`)
      await page.getByRole('option', { name }).first().waitFor()
      await page.keyboard.press('Enter')
      await page.locator('.cm-content:focus').waitFor()
    }
    await page.keyboard.press('Control+Home')
    await run('Sort lines ascending')
    await isDraft('a.txt', 'four\none\nthree\ntwo\n')
    await run('Transform to uppercase')
    await isDraft('a.txt', 'FOUR\none\nthree\ntwo\n')
    await page.keyboard.press('Control+Alt+j')
    await page.keyboard.press('End')
    await page.keyboard.type('  ')
    await isDraft('a.txt', 'FOUR one  \nthree\ntwo\n')
    await run('Trim trailing whitespace')
    await isDraft('a.txt', 'FOUR one\nthree\ntwo\n')
    await page.keyboard.press('Control+z')
    await isDraft('a.txt', 'FOUR one  \nthree\ntwo\n')
  })

  test('after a click on a change mark: the cursor is in its line', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.type('new ')
    await page.keyboard.press('Control+End')
    await page.locator('.cm-marks .mark-changed').click()
    await page.keyboard.type('more ')
    await isDraft('a.txt', `more new ${LINES}`)
  })

  test('after a folder was renamed: all its files stay open, in their places, with what was typed and its undo', async () => {
    await openFile(page, branch, 'a.txt')
    await page.getByRole('treeitem', { name: 'src' }).click()
    await openBeside(page, 'one.ts')
    await page.keyboard.type('typed ')
    await openBeside(page, 'two.ts')
    await page.keyboard.press('End')
    await page.keyboard.type(' here')
    await until(() => page.sent.some(it => it.ask === 'keep layout' && it.layout.tabs.at(-1)?.active === 'src/two.ts'))
    const other = await visit(browser.context, desk)
    await other.getByRole('tab', { name: 'two.ts', selected: true }).waitFor()
    await rename('src', 'lib')
    const after = ['', 'a.txt', 'lib/one.ts', 'lib/two.ts']
    await until(async () => (await tabs()).join() === after.join())
    await until(async () => (await tabs(other)).join() === after.join())
    expect(await page.getByRole('tab', { name: 'two.ts', selected: true }).count()).toBe(1)
    await page.getByRole('textbox', { name: 'Editor' }).focus()
    await page.keyboard.type('!')
    await isDraft('lib/two.ts', LINES.replace('one', 'one here!'))
    for (let undo = 0; undo < 2; undo++) await page.keyboard.press('Control+z')
    await until(async () => (await desk.show(`refs/forge/drafts/${branch}`, 'lib/two.ts')) === LINES)
    // The other window has the same file, and types into it.
    await other.getByRole('textbox', { name: 'Editor' }).click()
    await other.keyboard.press('Control+Home')
    await other.keyboard.type('other ')
    await isDraft('lib/two.ts', `other ${LINES}`)
    await isDraft('lib/one.ts', `typed ${LINES}`)
    expect(await other.getByText('was not found').count()).toBe(0)
    // Undo restores everything.
    await page.keyboard.press('Control+Alt+z')
    await until(async () => (await tabs(other)).join() === after.join().replaceAll('lib/', 'src/'))
    await isDraft('src/two.ts', `other ${LINES}`)
    await other.close()
  })

  test('in a file that another window renames at that moment', async () => {
    await openFile(page, branch, 'a.txt')
    const other = await visit(browser.context, desk)
    await openFile(other, branch, 'a.txt')
    const typing = other.keyboard.type('one two three four five six ', { delay: 25 })
    await rename('a.txt', 'b.txt')
    await typing
    await isDraft('b.txt', `one two three four five six ${LINES}`)
    expect(await other.getByRole('alert').count()).toBe(0)
    await other.close()
  })

  test('in Find: ↓ goes to the results, ↑ comes back from the first', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+Shift+F')
    const field = page.getByRole('textbox', { name: 'Find in files' })
    await field.fill('three')
    await page.getByRole('option').nth(1).waitFor()
    await page.keyboard.press('ArrowDown')
    const results = page.getByRole('listbox', { name: 'Results' })
    expect(await results.evaluate(list => list === document.activeElement)).toBe(true)
    for (let up = 0; up < 2; up++) await page.keyboard.press('ArrowUp')
    expect(await field.evaluate(input => input === document.activeElement)).toBe(true)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'a.txt', selected: true }).waitFor()
    await page.keyboard.type('found')
    await isDraft('a.txt', LINES.replace('three', 'found'))
  })

  test('Enter in front of an indented line moves it down as it is, whatever its language expects', async () => {
    await openFile(page, branch, 'odd.py')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await isDraft('odd.py', ODD.replace('\n', '\n\n'))
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await isDraft('odd.py', ODD.replace('\n', '\n\n\n'))
    await page.keyboard.type('x')
    await isDraft('odd.py', ODD.replace('\n', '\n\n\n').replace('y', 'xy'))
  })

  test('Enter after words typed in front of an indentation moves the line down as it is', async () => {
    await openFile(page, branch, 'odd.py')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Home')
    await page.keyboard.press('Home')
    await page.keyboard.type('# typed')
    await page.keyboard.press('Enter')
    await isDraft('odd.py', ODD.replace('\n', '\n# typed\n'))
  })

  test('an indented block has no spaces in its empty lines, and an empty line alone is indented', async () => {
    await openFile(page, branch, 'gap.ts')
    await page.keyboard.press('Shift+Control+End')
    await page.keyboard.press('Control+]')
    await isDraft('gap.ts', '  a()\n\n\n  b()\n')
    await page.keyboard.press('Tab')
    await isDraft('gap.ts', '    a()\n\n\n    b()\n')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await isDraft('gap.ts', '  a()\n  \n\n  b()\n')
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Control+z')
    await isDraft('gap.ts', '    a()\n\n\n    b()\n')
  })

  test('Enter in a comment goes on with an asterisk, and one undo takes a line back', async () => {
    await openFile(page, branch, 'doc.ts')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    for (let at = 0; at < 2; at++) await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await isDraft('doc.ts', DOC.replace('/***/', '/**\n   * \n   */'))
    await page.keyboard.type('One')
    await page.keyboard.press('Enter')
    await page.keyboard.type('Two')
    await isDraft('doc.ts', DOC.replace('/***/', '/**\n   * One\n   * Two\n   */'))
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.keyboard.type('b = 2')
    await isDraft('doc.ts', DOC.replace('/***/', '/**\n   * One\n   * Two\n   */\n  b = 2'))
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await isDraft('doc.ts', DOC.replace('/***/', '/**\n   * One\n   * Two\n   * \n   */\n  b = 2'))
    await page.keyboard.press('Control+z')
    await isDraft('doc.ts', DOC.replace('/***/', '/**\n   * One\n   * Two\n   */\n  b = 2'))
  })

  test('in the find panel: it counts the matches, selects the nearest, and replaces the selected one or all', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+f')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const isSaid = (words: string) => panel.getByRole('status').getByText(words, { exact: true }).waitFor()
    await page.keyboard.type('O')
    await isSaid('2 of 3')
    await page.keyboard.press('Enter')
    await isSaid('3 of 3')
    await page.keyboard.press('Enter')
    await isSaid('1 of 3')
    await panel.getByRole('button', { name: 'Match case' }).click()
    await isSaid('No results')
    await panel.getByRole('textbox', { name: 'Find' }).fill('(')
    await panel.getByRole('button', { name: 'Regular expression' }).click()
    await isSaid('Invalid regular expression')
    await panel.getByRole('textbox', { name: 'Find' }).fill('t\\w')
    await isSaid('1 of 2')
    await panel.getByRole('textbox', { name: 'Replace' }).fill('X')
    await page.keyboard.press('Enter')
    await isDraft('a.txt', LINES.replace('tw', 'X'))
    await panel.getByRole('button', { name: 'Replace all' }).click()
    await isDraft('a.txt', LINES.replace('tw', 'X').replace('th', 'X'))
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'hidden' })
    await page.keyboard.type('!')
    await until(async () => (await desk.show(`refs/forge/drafts/${branch}`, 'a.txt')).includes('!'))
  })

  test('in the find panel: each letter goes to the nearest match from where the search began, also of whole words', async () => {
    await desk.commit(branch, { 'words.txt': 'amber\namber\namber\na am\n' })
    await openFile(page, branch, 'words.txt')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+f')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const isSaid = (words: string) => panel.getByRole('status').getByText(words, { exact: true }).waitFor()
    await panel.getByRole('button', { name: 'Match whole word' }).click()
    await panel.getByRole('textbox', { name: 'Find' }).click()
    await page.keyboard.type('amber', { delay: 50 })
    await isSaid('2 of 3')
    // The next search begins at the match to which Enter has led.
    await page.keyboard.press('Enter')
    await isSaid('3 of 3')
    await panel.getByRole('textbox', { name: 'Find' }).fill('am')
    await isSaid('1 of 1')
  })

  test('in the find panel: replacements have the case of their matches, if that is wished', async () => {
    await openFile(page, branch, 'doc.ts')
    await page.keyboard.press('Control+f')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    await panel.getByRole('textbox', { name: 'Find' }).fill('a')
    await panel.getByRole('textbox', { name: 'Replace' }).fill('box')
    await panel.getByRole('button', { name: 'Preserve case' }).click()
    await panel.getByRole('button', { name: 'Replace', exact: true }).click()
    await isDraft('doc.ts', DOC.replace('a', 'box'))
    await panel.getByRole('button', { name: 'Replace all' }).click()
    await isDraft('doc.ts', DOC.replaceAll('a', 'box').replaceAll('A', 'BOX'))
  })

  test('in the find panel: Tab goes to the replacement, and Ctrl+Z on a button undoes in the text', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+f')
    await page.keyboard.type('two')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const inFocus = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))
    await page.keyboard.press('Tab')
    await page.keyboard.type('2')
    await page.keyboard.press('Tab')
    expect(await inFocus()).toBe('Match case')
    await page.keyboard.press('Shift+Tab')
    expect(await inFocus()).toBe('Replace')
    await panel.getByRole('button', { name: 'Replace all' }).click()
    await isDraft('a.txt', LINES.replace('two', '2'))
    await page.keyboard.press('Control+z')
    await page.locator('.cm-line', { hasText: 'two' }).waitFor()
    await page.keyboard.press('Control+y')
    await page.locator('.cm-line', { hasText: 'two' }).waitFor({ state: 'detached' })
    // A field has an undo of its own.
    await panel.getByRole('textbox', { name: 'Replace' }).focus()
    await page.keyboard.press('Control+z')
    expect(await page.locator('.cm-line', { hasText: 'two' }).count()).toBe(0)
  })

  test('in the find panel: in the selection alone, until it is switched off or the panel is closed', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Control+f')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const isSaid = (words: string) => panel.getByRole('status').getByText(words, { exact: true }).waitFor()
    const toggle = panel.getByRole('button', { name: 'Find in selection' })
    await toggle.click()
    await page.locator('.find-scope').first().waitFor()
    await panel.getByRole('textbox', { name: 'Find' }).fill('o')
    await isSaid('1 of 2')
    await panel.getByRole('textbox', { name: 'Replace' }).fill('0')
    await panel.getByRole('button', { name: 'Replace all' }).click()
    await isDraft('a.txt', LINES.replace('o', '0').replace('o', '0'))
    await toggle.click()
    await isSaid('? of 1')
    expect(await page.locator('.find-scope').count()).toBe(0)
    await toggle.click()
    await isSaid('No results')
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'hidden' })
    expect(await page.locator('.find-scope').count()).toBe(0)
    await page.keyboard.press('Control+f')
    expect(await toggle.getAttribute('aria-pressed')).toBe('false')
  })

  test('in the find panel: in the lines that were selected before it went from match to match', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Control+f')
    await page.keyboard.type('o')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const isSaid = (words: string) => panel.getByRole('status').getByText(words, { exact: true }).waitFor()
    await isSaid('1 of 3')
    await panel.getByRole('button', { name: 'Find in selection' }).click()
    await isSaid('1 of 2')
  })

  test('in the find panel: in the line of a selected word, which is what is searched for', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.type('one ')
    await page.keyboard.press('Home')
    await page.keyboard.press('Control+Shift+ArrowRight')
    await page.keyboard.press('Control+f')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const isSaid = (words: string) => panel.getByRole('status').getByText(words, { exact: true }).waitFor()
    await isSaid('1 of 2')
    await panel.getByRole('button', { name: 'Find in selection' }).click()
    await isSaid('1 of 2')
  })

  test('in the find panel: the keys of the search in all files switch its settings and replace all matches', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+f')
    await page.keyboard.type('O|t')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const isSaid = (words: string) => panel.getByRole('status').getByText(words, { exact: true }).waitFor()
    await isSaid('No results')
    await page.keyboard.press('Alt+Shift+e')
    await isSaid('1 of 5')
    await page.keyboard.press('Alt+Shift+i')
    await isSaid('1 of 2')
    await panel.getByRole('textbox', { name: 'Replace' }).click()
    await page.keyboard.type('T')
    await page.keyboard.press('Control+Alt+Enter')
    await isDraft('a.txt', LINES.replaceAll('t', 'T'))
    await isSaid('2 matches replaced')
  })

  test('in the find panel: a selected text is searched for as it is, and typing replaces it', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.type('call(a.b) call(a_b)\n')
    await page.keyboard.press('Control+f')
    const panel = page.getByRole('search', { name: 'Find in the file' })
    const field = panel.getByRole('textbox', { name: 'Find' })
    const isSaid = (words: string) => panel.getByRole('status').getByText(words, { exact: true }).waitFor()
    await panel.getByRole('textbox', { name: 'Replace' }).fill('kept')
    await panel.getByRole('button', { name: 'Regular expression' }).click()
    await field.fill('call\\S+')
    await isSaid('1 of 2')
    // The match is selected in the text.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+f')
    await isSaid('1 of 1')
    expect(await field.inputValue()).toBe('call\\(a\\.b\\)')
    await page.keyboard.type('two')
    await isSaid('1 of 1')
    // The panel stays open.
    await page.locator('.cm-line', { hasText: 'three' }).dblclick()
    await page.keyboard.press('Control+f')
    await page.keyboard.type('four')
    await until(async () => (await field.inputValue()) === 'four')
    expect(await panel.getByRole('textbox', { name: 'Replace' }).inputValue()).toBe('kept')
  })

  test('after the other half of a split is closed by its key, with which Shift gives another character', async () => {
    await openFile(page, branch, 'a.txt')
    const editors = page.locator('.cm-editor')
    await page.keyboard.press('Control+Backslash')
    await until(async () => (await editors.count()) === 2)
    await page.keyboard.press('Control+Shift+Backslash')
    await until(async () => (await editors.count()) === 1)
  })

  test('in the new half of a split, also with the find panel open', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+f')
    await page.keyboard.type('two')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+f')
    await page.locator('.cm-line', { hasText: 'three' }).click()
    await page.keyboard.press('Control+\\')
    await until(async () => (await page.locator('.cm-editor').count()) === 2)
    await page.keyboard.press('Control+End')
    await page.keyboard.type('typed')
    await isDraft('a.txt', `${LINES}typed`)
    expect(await page.locator('.cm-editor').nth(1).locator('.cm-content:focus').count()).toBe(1)
  })

  test('in the palette of files, which the repository and the tasks open in the last branch', async () => {
    await openFile(page, branch, 'a.txt')
    for (const keys of ['Alt+0', 'Alt+T']) {
      await page.keyboard.press(keys)
      await page.getByRole('tab', { name: keys === 'Alt+0' ? 'Repository' : 'Tasks', selected: true }).waitFor()
      await page.keyboard.press('Control+p')
      await page.keyboard.type('three')
      await page.getByRole('option', { name: 'three.ts' }).waitFor()
      await page.keyboard.press('Escape')
      expect(await page.getByRole('tab', { name: branch, selected: true }).count()).toBe(1)
    }
  })

  test('after the keys of Discard all changes, which ask also for one draft, and never edit', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('one.ts')
    await page.getByRole('option', { name: 'one.ts' }).click()
    await page.locator('.cm-content:focus').getByText('one').waitFor()
    await page.keyboard.press('Alt+Shift+A')
    await page.keyboard.type('x')
    await isDraft('src/one.ts', `x${LINES}`)
    await page.keyboard.press('Alt+Shift+A')
    await page.getByRole('dialog').getByText('one.ts').first().waitFor()
    await page.keyboard.press('Escape')
  })

  test('in a text field after a dialog or the palette over it was closed', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+f')
    const field = page.getByRole('search', { name: 'Find in the file' }).getByRole('textbox', { name: 'Find' })
    await page.keyboard.type('a')
    for (const keys of ['Control+k', 'Alt+k']) {
      await page.keyboard.press(keys)
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await page.keyboard.type('b')
    }
    expect(await field.inputValue()).toBe('abb')
  })

  test('in the palette while words are composed: the Enter that ends a composition runs nothing', async () => {
    await openFile(page, branch, 'a.txt')
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Command palette' })
    await field.fill('>history')
    await page.getByRole('option').first().waitFor()
    for (const pressed of [
      { key: 'Enter', isComposing: true },
      { key: 'Enter', keyCode: 229 },
    ])
      await field.evaluate((input, init) => {
        input.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true }))
      }, pressed)
    expect(await field.count()).toBe(1)
    await page.keyboard.press('Enter')
    await field.waitFor({ state: 'hidden' })
  })
})
