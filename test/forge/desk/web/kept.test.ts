/** Edits and requests survive a reload of the page and a break of its connection. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { WebSocketRoute } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until as untilWithin } from '../../../support/repository.ts'
import { openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const until = (isSo: () => boolean | Promise<boolean>) => untilWithin(isSo, 15_000)

describe.skipIf(!hasBrowser)('what was typed and asked for', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage

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
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  const message = () => page.getByRole('textbox', { name: 'Message of the commit' })

  test('the message of a commit survives a reload, until it is used', async () => {
    await openFile(page, 'main', 'a.txt')
    await page.keyboard.type('typed ')
    await until(async () => (await desk.show('refs/forge/drafts/main', 'a.txt')) === 'typed one\n')
    await message().fill('why it is typed')
    await page.reload()
    await until(async () => (await message().inputValue()) === 'why it is typed')
    await message().press('Enter')
    await until(async () => (await desk.show('main', 'a.txt')) === 'typed one\n')
    await until(async () => (await message().inputValue()) === '')
    await page.reload()
    await page.getByRole('tab', { name: 'a.txt', selected: true }).waitFor()
    expect(await message().inputValue()).toBe('')
  })

  test('a message to the AI survives a reload, also without a model', async () => {
    await openFile(page, 'other', 'a.txt')
    await page.getByRole('tab', { name: 'Chat' }).click()
    const field = () => page.getByRole('textbox', { name: 'Message', exact: true })
    await page.getByText('The chat needs a model').waitFor()
    await field().fill('what I want')
    await page.reload()
    await page.getByRole('tab', { name: 'other', selected: true }).waitFor()
    await page.getByRole('tab', { name: 'Chat' }).click()
    await page.getByText('The chat needs a model').waitFor()
    expect(await field().inputValue()).toBe('what I want')
    await field().fill('')
  })

  test('an undo by its keys says so for some seconds, with a way to do it again', async () => {
    await openFile(page, 'third', 'a.txt')
    await page.keyboard.type('typed ')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('third', 'a.txt')) === 'typed one\n')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Find or run' }).fill('>Undo')
    await page.getByRole('option').filter({ hasText: 'Undo: ' }).first().waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Alt+z')
    await until(async () => (await desk.show('third', 'a.txt')) === 'one\n')
    const redo = page.locator('.toast').getByRole('button', { name: 'Redo' })
    await redo.waitFor()
    await page.getByText('typed one').waitFor()
    await redo.click()
    await until(async () => (await desk.show('third', 'a.txt')) === 'typed one\n')
  })

  test('what is typed and saved while the desk does not answer is saved when it does again, without a word', async () => {
    let isAway = false
    let current: WebSocketRoute | undefined
    await page.routeWebSocket(/socket/, socket => {
      current = socket
      if (isAway) socket.close()
      else socket.connectToServer()
    })
    await page.reload()
    await openFile(page, 'other', 'a.txt')
    isAway = true
    await current?.close()
    await page.getByText('The desk does not answer').waitFor()
    await page.keyboard.type('while away ')
    await page.keyboard.press('Control+s')
    isAway = false
    await until(async () => (await desk.show('other', 'a.txt')) === 'while away one\n')
    expect(await page.getByText('is not open').count()).toBe(0)
    expect(await page.getByText('not accepted').count()).toBe(0)
  })
})
