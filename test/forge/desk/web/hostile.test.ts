/** Repositories that want to run a script in the page, to deceive the eye, or to freeze it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser, workOf } from '../../../support/browser.ts'
import { builtPage, bytes, StandIn } from '../web-stand-in.ts'
import { openDesk, settled, until } from './scene.ts'

setDefaultTimeout(120_000)

const SCRIPT = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
const ENTRIES = 100_000
/** The most work that it may be, in milliseconds of a processor: what freezes a page does so for minutes. */
const MOST_WORK = 2_000

describe.skipIf(!hasBrowser)('a hostile repository', () => {
  let built: string
  let browser: OpenBrowser

  beforeAll(async () => {
    built = await builtPage()
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  test('runs no script: names, contents and messages are text', async () => {
    const desk = await StandIn.start(built)
    const path = `${SCRIPT.replaceAll('/', '|')}.html`
    desk.head = SCRIPT
    desk.name = SCRIPT
    desk.addBranch(SCRIPT, { [path]: `${SCRIPT}\n`, 'b.md': `[x](javascript:alert(1)) ${SCRIPT}\n` })
    desk.commit(SCRIPT, SCRIPT, SCRIPT)
    desk.canUndo = SCRIPT
    const page = await openDesk(browser.context, desk)
    await page.getByRole('treeitem').first().click()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('onerror').first().waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    for (const keys of ['Alt+h', 'Alt+r', 'Alt+o', 'Escape', 'Alt+0', 'Control+k']) {
      await page.keyboard.press(keys)
      await settled(page)
    }
    await page.keyboard.type('img')
    await settled(page)
    await page.keyboard.press('Escape')
    desk.say({ say: 'notice', words: SCRIPT, isBad: true })
    await page.getByText(SCRIPT).first().waitFor()
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
    expect(await page.locator('img, body script').count()).toBe(0)
    expect(page.troubles).toEqual([])
    await page.close()
    await desk.stop()
  })

  test('can not turn a name around, or hide in it', async () => {
    const desk = await StandIn.start(built)
    desk.addBranch('main', {
      [bytes('photo\u202Egpj.exe')]: '',
      [bytes('a\u200Bb')]: '',
      'line\nbreak': '',
      '\xff\xfe': '',
    })
    const page = await openDesk(browser.context, desk)
    for (const name of ['photo\\u202egpj.exe', 'a\\u200bb', 'line\\nbreak', '\\xff\\xfe']) {
      await page.getByRole('treeitem', { name, exact: true }).waitFor()
    }
    await page.close()
    await desk.stop()
  })

  test('a name of 255 bytes from right to left is whole in its dialog, and turns no sentence around', async () => {
    const desk = await StandIn.start(built)
    const name = `${'ש'.repeat(126)}.ts`
    desk.addBranch('main', { [bytes(name)]: 'x\n' })
    const page = await openDesk(browser.context, desk)
    await page.getByRole('treeitem', { name }).click()
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    await page.keyboard.press('Alt+Delete')
    const title = page.getByRole('dialog').getByRole('heading')
    expect(await title.textContent()).toBe(`Delete \u2068${name}\u2069?`)
    const [width, wanted] = await title.evaluate(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])
    expect(wanted).toBeLessThanOrEqual(width ?? 0)
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true)
    await page.close()
    await desk.stop()
  })

  test('what is cut says all of itself in a title', async () => {
    const desk = await StandIn.start(built)
    const subject = 'a subject that is much longer than any row '.repeat(10).trim()
    desk.addBranch('main', { a: '' })
    desk.commit('main', subject)
    const page = await openDesk(browser.context, desk)
    await page.keyboard.press('Alt+h')
    const cut = page.getByRole('option').first().locator('.subject .cut')
    await cut.hover()
    await until(async () => (await cut.getAttribute('title')) === subject)
    await page.mouse.move(0, 0)
    await until(async () => (await cut.getAttribute('title')) === null)
    await page.close()
    await desk.stop()
  })

  test('three hundred open tabs and quick switching lose no letter', async () => {
    const desk = await StandIn.start(built)
    const paths = Array.from({ length: 300 }, (_, index) => `file-${index}.ts`)
    for (const branch of ['one', 'two']) desk.addBranch(branch, Object.fromEntries(paths.map(path => [path, '\n'])))
    desk.layout = {
      tabs: ['one', 'two'].map(branch => ({
        at: { kind: 'branch' as const, branch },
        files: paths.map(path => ({ path, top: 0, cursor: 0 })),
        active: 'file-150.ts',
        folders: [],
      })),
      active: 0,
    }
    const page = await openDesk(browser.context, desk)
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.press('Alt+2')
    await page.locator('.cm-content:focus').waitFor()
    desk.delay = 60
    for (let turn = 0; turn < 10; turn++) {
      await page.keyboard.press(`Alt+${1 + (turn % 2)}`)
      await page.keyboard.type(`${turn} `)
    }
    desk.delay = 0
    await until(() => desk.textOf('one', 'file-150.ts') === '0 2 4 6 8 \n')
    await until(() => desk.textOf('two', 'file-150.ts') === '1 3 5 7 9 \n')
    expect(await page.getByRole('tablist', { name: 'Files' }).getByRole('tab').count()).toBe(301)
    expect(page.troubles).toEqual([])
    await page.close()
    await desk.stop()
  })

  test(`${ENTRIES.toLocaleString('en')} entries in a folder do not freeze it`, async () => {
    const desk = await StandIn.start(built)
    const names = Array.from({ length: ENTRIES }, (_, index) => [`many/file-${String(index).padStart(6, '0')}.txt`, ''])
    desk.addBranch('main', { ...Object.fromEntries(names), 'z.txt': 'last\n' })
    const page = await openDesk(browser.context, desk)
    await page.getByRole('treeitem', { name: 'many' }).waitFor()
    const work = await workOf(page, async () => {
      await page.getByRole('treeitem', { name: 'many' }).click()
      await page.getByRole('treeitem', { name: 'file-000000.txt' }).waitFor()
      await page.keyboard.press('End')
      await page.getByRole('treeitem', { name: 'z.txt' }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('textbox', { name: 'Editor' }).getByText('last').waitFor()
    })
    const rows = await page.getByRole('treeitem').count()
    console.log(`${ENTRIES} entries: ${Math.round(work)} ms of work, ${rows} rows in the page`)
    expect(work).toBeLessThan(MOST_WORK)
    expect(rows).toBeLessThan(100)
    await page.close()
    await desk.stop()
  })

  test('a file of two megabytes, one line of it very long, opens and can be edited', async () => {
    const desk = await StandIn.start(built)
    const text = `${'x'.repeat(500_000)}\n${'const a = 1\n'.repeat(120_000)}`
    desk.addBranch('main', { 'big.ts': text })
    const page = await openDesk(browser.context, desk)
    await page.getByRole('treeitem', { name: 'big.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    await page.keyboard.press('Alt+i')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('end')
    await until(() => desk.textOf('main', 'big.ts')?.endsWith('end') === true)
    await page.close()
    await desk.stop()
  })
})
