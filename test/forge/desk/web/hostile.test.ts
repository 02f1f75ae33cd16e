/** Repositories that want to run a script in the page, to deceive the eye, or to freeze it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage, bytes, StandIn } from '../web-stand-in.ts'
import { openDesk, until } from './scene.ts'

const SCRIPT = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
const ENTRIES = 100_000
/** The longest time in which the page may not answer, in milliseconds. */
const LONGEST_TASK = 300

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
      await Bun.sleep(150)
    }
    await page.keyboard.type('img')
    await Bun.sleep(200)
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

  test(`${ENTRIES.toLocaleString('en')} entries in a folder do not freeze it`, async () => {
    const desk = await StandIn.start(built)
    const names = Array.from({ length: ENTRIES }, (_, index) => [`many/file-${String(index).padStart(6, '0')}.txt`, ''])
    desk.addBranch('main', { ...Object.fromEntries(names), 'z.txt': 'last\n' })
    const page = await openDesk(browser.context, desk)
    await page.getByRole('treeitem', { name: 'many' }).waitFor()
    await page.evaluate(() => {
      const tasks: number[] = []
      Object.assign(window, { tasks })
      new PerformanceObserver(list => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
        entryTypes: ['longtask'],
      })
    })
    await page.getByRole('treeitem', { name: 'many' }).click()
    await page.getByRole('treeitem', { name: 'file-000000.txt' }).waitFor()
    await page.keyboard.press('End')
    await page.getByRole('treeitem', { name: 'z.txt' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Editor' }).getByText('last').waitFor()
    const longest = await page.evaluate(() => Math.max(0, ...(window as unknown as { tasks: number[] }).tasks))
    const rows = await page.getByRole('treeitem').count()
    console.log(`${ENTRIES} entries: the longest task took ${Math.round(longest)} ms, ${rows} rows in the page`)
    expect(longest).toBeLessThan(LONGEST_TASK)
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
    await until(() => desk.textOf('main', 'big.ts')?.endsWith('end') === true, 15_000)
    await page.close()
    await desk.stop()
  })
})
