/** The layout of a branch's tab: the side bar, the order of the tabs, two editors side by side, and several windows. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser } from '../../../support/browser.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, openPage, templateWith, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const template = templateWith({ main: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' } })

describe.skipIf(!hasBrowser)('the layout', () => {
  let desk: PageDesk
  let page: DeskPage
  let browser: OpenBrowser
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
      browser = each.browser
    },
    { template, layout: { tabs: [{ ...tabOf('main', ['a.txt', 'b.txt', 'c.txt']), active: 'a.txt' }], active: 0 } },
  )

  const fileTabs = (at = page) => at.getByRole('tablist', { name: 'Files' }).getByRole('tab')
  const names = async (at = page) => (await fileTabs(at).allInnerTexts()).map(name => name.trim().split(/[,\n]/)[0])
  const tab = (name: string) => page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name })
  const sideWidth = () => page.locator('.tab-view > .side').evaluate(side => (side as HTMLElement).offsetWidth)
  const half = (name: string) => page.getByRole('region', { name })
  const editor = (name: string) => half(name).getByRole('textbox', { name: 'Editor' })
  const isKept = (test: (layout: string) => boolean) =>
    until(async () => test(JSON.stringify((await desk.layout()) ?? {})))

  test('has a side bar that is resized by its edge, hidden by a key, and remembered', async () => {
    await fileTabs().nth(3).waitFor()
    const before = await sideWidth()
    const edge = page.getByRole('separator', { name: 'Width of the side bar' })
    await edge.focus()
    await page.keyboard.press('ArrowRight')
    await until(async () => (await sideWidth()) === before + 16)
    const box = (await edge.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    await page.mouse.move(box.x + box.width / 2, box.y + 100)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 2 + 84, box.y + 100)
    await page.mouse.up()
    await until(async () => (await sideWidth()) === before + 100)
    await isKept(layout => layout.includes(`"side":{"width":${before + 100}}`))
    await page.reload()
    await until(async () => (await sideWidth()) === before + 100)
    await page.keyboard.press('Control+b')
    await page.getByRole('tree', { name: 'Explorer' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Control+b')
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
  })

  test('has tabs that are moved by keys and by dragging, and pinned ones that stay first', async () => {
    await fileTabs().nth(3).waitFor()
    expect(await names()).toEqual(['AI chat', 'a.txt', 'b.txt', 'c.txt'])
    await page.keyboard.press('Alt+Shift+PageDown')
    expect(await names()).toEqual(['AI chat', 'b.txt', 'a.txt', 'c.txt'])
    await tab('c.txt').dragTo(tab('b.txt'))
    await until(async () => (await names()).join() === 'AI chat,c.txt,b.txt,a.txt')
    await tab('a.txt').click()
    await page.keyboard.press('Alt+Shift+Enter')
    await until(async () => (await names()).join() === 'AI chat,a.txt,c.txt,b.txt')
    await tab('b.txt').click()
    await page.keyboard.press('Alt+Shift+o')
    await until(async () => (await names()).join() === 'AI chat,a.txt,b.txt')
    await isKept(layout => layout.includes('"pinned":["a.txt"]'))
    await page.reload()
    await page.getByRole('tab', { name: /a\.txt.*pinned/ }).waitFor()
  })

  test('shows two files side by side, and keys apply to the one with the focus', async () => {
    await fileTabs().nth(3).waitFor()
    await page.keyboard.press('Control+\\')
    await half('Left half').getByRole('textbox', { name: 'Editor' }).waitFor()
    await half('Right half').locator('.cm-focused').waitFor()
    await tab('c.txt').click()
    await half('Right half').locator('.cm-line', { hasText: 'c' }).waitFor()
    expect(await findings(page)).toEqual([])
    await half('Right half').getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('right ')
    await desk.isText('main', 'c.txt', 'right c\n')
    await half('Left half').getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('left ')
    await desk.isText('main', 'a.txt', 'left a\n')
    await page.getByRole('tab', { name: 'a.txt', selected: true }).waitFor()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.messageOf('main')).startsWith('edit: a.txt'))
    await page.keyboard.press('Alt+\\')
    await page.getByRole('tab', { name: 'c.txt', selected: true }).waitFor()
    await page.keyboard.type('again ')
    await desk.isText('main', 'c.txt', text => text.includes('again'))
    await isKept(layout => layout.includes('"split":{"path":"a.txt"'))
    await page.reload()
    await half('Left half').getByText('left a').waitFor()
    await page.keyboard.press('Control+Shift+\\')
    await half('Left half').waitFor({ state: 'detached' })
  })

  test('shows one file in both halves: one text and one undo, but two cursors and scroll positions', async () => {
    await fileTabs().nth(3).waitFor()
    const lines = Array.from({ length: 200 }, (_, line) => `line ${line + 1}\n`).join('')
    await desk.commit('main', { 'a.txt': lines })
    await page.locator('.cm-line', { hasText: 'line 1' }).first().waitFor()
    await page.keyboard.press('Control+\\')
    await half('Right half').locator('.cm-focused').waitFor()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('at the end')
    await page.getByText('201:11').waitFor()
    expect(await editor('Left half').getByText('at the end').count()).toBe(0)
    await page.keyboard.press('Alt+\\')
    await half('Left half').locator('.cm-focused').waitFor()
    await page.getByText('1:1', { exact: true }).waitFor()
    await page.keyboard.type('at the start ')
    await desk.isText('main', 'a.txt', `at the start ${lines}at the end`)
    // The other half goes to the last edit by undo, wherever that was made; this one keeps its cursor.
    await page.keyboard.press('Alt+\\')
    await half('Right half').locator('.cm-focused').waitFor()
    await page.keyboard.press('Control+z')
    await desk.isText('main', 'a.txt', `${lines}at the end`)
    await editor('Right half').getByText('line 1', { exact: true }).waitFor()
    await page.keyboard.press('Control+z')
    await desk.isText('main', 'a.txt', lines)
    await page.keyboard.press('Control+y')
    await page.keyboard.press('Control+y')
    await desk.isText('main', 'a.txt', `at the start ${lines}at the end`)
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.messageOf('main')).startsWith('edit: a.txt'))
    // Text that can't be in the file stands in both halves, and leaves both.
    await page.evaluate(() => navigator.clipboard.writeText('no\0'))
    await page.keyboard.press('Control+v')
    await page.locator('.refused-host').nth(1).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.refused-host').first().waitFor({ state: 'detached' })
    // Both places are there again after a reload, and the half that stays keeps its own.
    await page.keyboard.press('Control+End')
    await isKept(layout => /"split":\{"path":"a.txt","isRight":false,"top":\d+,"cursor":\d+\}/.test(layout))
    await page.reload()
    await editor('Right half').getByText('at the end').waitFor()
    await editor('Left half').getByText('at the start').waitFor()
    await half('Right half').locator('.cm-focused').waitFor()
    await page.keyboard.press('Control+Shift+\\')
    await half('Left half').waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'Editor' }).getByText('at the end').waitFor()
    await page.keyboard.type('!')
    await desk.isText('main', 'a.txt', text => text.endsWith('at the end!'))
  })

  test('opens a file by a single click in the preview tab, and keeps it by an edit, a double click or Enter', async () => {
    await fileTabs().nth(3).waitFor()
    const row = (name: string) => page.getByRole('treeitem', { name })
    const preview = (name: string) => page.getByRole('tab', { name: new RegExp(`^${name}.*, preview`) })
    await desk.commit('main', { 'd.txt': 'd\n', 'e.txt': 'e\n', 'f.txt': 'f\n', 'g.txt': 'g\n' })
    await row('d.txt').click()
    await preview('d.txt').waitFor()
    expect(
      await preview('d.txt')
        .locator('bdi')
        .first()
        .evaluate(it => getComputedStyle(it).fontStyle),
    ).toBe('italic')
    expect(await findings(page)).toEqual([])
    await row('e.txt').click()
    await preview('e.txt').waitFor()
    expect(await names()).toEqual(['AI chat', 'a.txt', 'b.txt', 'c.txt', 'e.txt'])
    await page.locator('.cm-line', { hasText: 'e' }).click()
    await page.keyboard.type('typed ')
    await preview('e.txt').waitFor({ state: 'detached' })
    await row('d.txt').dblclick()
    await page.getByRole('tab', { name: 'd.txt', selected: true }).waitFor()
    await page.locator('.cm-focused').waitFor()
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('End')
    await page.keyboard.press('Space')
    await preview('g.txt').waitFor()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Space')
    await preview('f.txt').waitFor()
    await isKept(layout => layout.includes('"previewed":"f.txt"'))
    await page.reload()
    await preview('f.txt').waitFor()
    await page.keyboard.press('Control+Alt+k')
    await preview('f.txt').waitFor({ state: 'detached' })
    await row('g.txt').click()
    await preview('g.txt').dblclick()
    await preview('g.txt').waitFor({ state: 'detached' })
    expect(await names()).toEqual(['AI chat', 'a.txt', 'b.txt', 'c.txt', 'e.txt', 'd.txt', 'f.txt', 'g.txt'])
    // A click in the palette shows a preview, Enter does not.
    await page.keyboard.press('Alt+Shift+o')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('d.txt')
    await page.getByRole('option', { name: 'd.txt' }).click()
    await preview('d.txt').waitFor()
    await page.keyboard.press('Control+p')
    await page.keyboard.type('d.txt')
    await page.getByRole('option', { name: 'd.txt' }).waitFor()
    await page.keyboard.press('Enter')
    await preview('d.txt').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('f')
    await page.getByRole('option', { name: 'f.txt' }).click()
    await preview('f.txt').waitFor()
  })

  test('opens each file in a tab of its own where the preview tab is switched off', async () => {
    await fileTabs().nth(3).waitFor()
    await desk.commit('main', { 'd.txt': 'd\n', 'e.txt': 'e\n' })
    await page.keyboard.press('Control+,')
    await page.getByRole('checkbox', { name: 'Preview tab' }).uncheck()
    await page.keyboard.press('Escape')
    await page.getByRole('treeitem', { name: 'd.txt' }).click()
    await page.getByRole('treeitem', { name: 'e.txt' }).click()
    await until(async () => (await names()).join() === 'AI chat,a.txt,b.txt,c.txt,d.txt,e.txt')
  })

  test('is each window’s own, also when its page is loaded again', async () => {
    await fileTabs().nth(3).waitFor()
    const other = await openPage(browser.context, desk)
    await fileTabs(other).nth(3).waitFor()
    for (let closed = 0; closed < 3; closed++) {
      await other.keyboard.press('Alt+w')
      await fileTabs(other)
        .nth(3 - closed)
        .waitFor({ state: 'detached' })
    }
    await until(() => other.evaluate(() => JSON.stringify({ ...sessionStorage }).includes(String.raw`\"files\":[]`)))
    // What is shown beside the files is kept, too: in its place, and with what was searched for.
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('no such words')
    await page.keyboard.press('Alt+h')
    await page.keyboard.press('Alt+r')
    const shown = ['AI chat', 'a.txt', 'b.txt', 'c.txt', 'Find', 'History', 'Review']
    await until(async () => (await names()).join() === shown.join())
    await until(() =>
      page.evaluate(() => JSON.stringify({ ...sessionStorage }).includes(String.raw`\"view\":\"review\"`)),
    )
    await page.reload()
    await fileTabs().nth(6).waitFor()
    expect(await names()).toEqual(shown)
    await page.getByRole('tab', { name: 'Review', selected: true }).waitFor()
    await fileTabs().nth(4).click()
    await page.getByRole('status').getByText('No results').first().waitFor()
    expect(await page.getByRole('textbox', { name: 'Find in files' }).inputValue()).toBe('no such words')
    await other.reload()
    await fileTabs(other).first().waitFor()
    expect(await names(other)).toEqual(['AI chat'])
    await other.close()
  })
})
