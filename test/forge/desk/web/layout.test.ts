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
    const half = (name: string) => page.getByRole('region', { name })
    await half('Left half').getByRole('textbox', { name: 'Editor' }).waitFor()
    await half('Right half').getByRole('textbox', { name: 'Editor' }).waitFor()
    await half('Right half').locator('.cm-focused').waitFor()
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
    await page.reload()
    await fileTabs().nth(3).waitFor()
    await other.reload()
    await fileTabs(other).first().waitFor()
    expect(await names(other)).toEqual(['AI chat'])
    await other.close()
  })
})
