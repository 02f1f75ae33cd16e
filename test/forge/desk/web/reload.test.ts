/** The first moments of a window: the user's choice counts, however late the desk answers. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('right after a reload', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage
  /** Releases the answer to the page's first question. */
  let answer: () => void
  /** Resolves when the answer to the page's first question is held. */
  let isHeld: Promise<void>
  /** Resolves when the desk has sent its state as news. */
  let isHeard: Promise<void>

  beforeAll(async () => {
    browser = await openBrowser()
    const files = { 'a.txt': 'one\n' }
    desk = await openRealDesk({ built: await builtPage(), branches: { main: files, other: files, third: files } })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    page = await visit(browser.context, desk)
    await openFile(page, 'main', 'a.txt')
    const [held, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const released = Promise.withResolvers<void>()
    isHeld = held.promise
    isHeard = heard.promise
    answer = released.resolve
    await page.routeWebSocket(/socket/, socket => {
      const server = socket.connectToServer()
      server.onMessage(async message => {
        if (String(message).includes('"layout"')) {
          held.resolve()
          await released.promise
        }
        socket.send(message)
        if (String(message).includes('"say":"desk"')) heard.resolve()
      })
    })
    await page.reload()
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  const tab = (name: string) => page.getByRole('tab', { name })
  const selected = (name: string) => page.getByRole('tab', { name, selected: true })

  test('nothing is shown as chosen before it is known what was open, and then that is', async () => {
    await isHeld
    await tab('Repository').waitFor()
    expect(await page.getByRole('tab', { selected: true }).count()).toBe(0)
    answer()
    await selected('main').waitFor()
    await selected('a.txt').waitFor()
  })

  test('a branch that is chosen before the desk has said which there are is opened, and no new one is offered', async () => {
    await page.keyboard.press('Alt+b')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('@other')
    await page.keyboard.press('Enter')
    await isHeld
    await page.getByRole('listbox', { name: 'Results' }).waitFor({ state: 'attached' })
    expect(await page.getByRole('option').count()).toBe(0)
    answer()
    await selected('other').waitFor()
    await tab('main').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('the place that is chosen by a key stays, and what was open is there beside it', async () => {
    await page.keyboard.press('Alt+t')
    await selected('Tasks').waitFor()
    await isHeld
    answer()
    await tab('main').waitFor()
    await selected('Tasks').waitFor()
    await page.keyboard.press('Alt+1')
    await selected('a.txt').waitFor()
  })

  test('a branch that is chosen after news of the desk, and before its answer, stays chosen', async () => {
    await isHeld
    await desk.commit('third', { 'b.txt': 'new\n' })
    await isHeard
    await page.keyboard.press('Alt+b')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('@third')
    await page.keyboard.press('Enter')
    answer()
    await tab('main').waitFor()
    await selected('third').waitFor()
    await page.getByRole('treeitem', { name: 'b.txt' }).waitFor()
  })
})
