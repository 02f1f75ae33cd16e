/** Edits and requests survive a reload of the page and a break of its connection. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WebSocketRoute } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { git } from '../../../support/git.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until as untilWithin } from '../../../support/repository.ts'
import { openBranch, openFile, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

const until = (isSo: () => boolean | Promise<boolean>) => untilWithin(isSo, 15_000)

describe.skipIf(!hasBrowser)('what was typed and asked for', () => {
  let browser: OpenBrowser
  let desk: RealDesk
  let page: RealPage

  beforeAll(async () => {
    browser = await openBrowser()
    const files = { 'a.txt': 'one\n' }
    const lines = { 'a.txt': 'one\ntwo\nthree\nfour\nfive\n' }
    const away = {
      'away-1': lines,
      'away-2': lines,
      'away-3': lines,
      'away-4': lines,
      'away-5': lines,
      'away-6': lines,
      'away-7': lines,
      'away-8': lines,
      'away-9': lines,
      'away-10': lines,
    }
    const branches = { main: files, other: files, third: files, ...away }
    desk = await openRealDesk({ built: await builtPage(), branches })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await desk?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    page = await visit(browser.context, desk)
  })
  afterEach(() => page.close({ runBeforeUnload: false }))

  const message = () => page.getByRole('textbox', { name: 'Commit message' })

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
    await page.getByRole('combobox', { name: 'Command palette' }).fill('>Undo')
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
    let structures = 0
    await page.routeWebSocket(/socket/, socket => {
      current = socket
      if (isAway) {
        socket.close()
        return
      }
      const server = socket.connectToServer()
      socket.onMessage(message => {
        if (message.toString().includes('"file structure"')) structures++
        server.send(message)
      })
    })
    await page.reload()
    await openFile(page, 'other', 'a.txt')
    await until(() => structures > 0)
    isAway = true
    await current?.close()
    await page.getByText('The desk does not answer').waitFor()
    const before = structures
    // With pauses after which the symbols of the text are asked for.
    for (const words of ['wh', 'ile ', 'aw', 'ay ']) {
      await page.keyboard.type(words)
      await page.waitForTimeout(350)
    }
    await page.keyboard.press('Control+s')
    isAway = false
    await until(async () => (await desk.show('other', 'a.txt')) === 'while away one\n')
    await until(() => structures > before)
    // One for what was typed, and one for the text as the desk has it.
    expect(structures - before).toBeLessThanOrEqual(2)
    expect(await page.getByText('is not open').count()).toBe(0)
    expect(await page.getByText('not accepted').count()).toBe(0)
  })

  const draftIs = (branch: string, text: string) =>
    until(async () => (await desk.show(`refs/forge/drafts/${branch}`, 'a.txt')) === text)
  const kept = () => page.evaluate(() => Object.keys(localStorage).filter(key => key.startsWith('unsent text of ')))
  /** Kills the desk, types, and loads the page again, which fails without the desk. */
  const typeAndReloadWithoutDesk = async (typed: string) => {
    await desk.kill()
    await page.getByText('The desk does not answer').waitFor()
    await page.keyboard.type(typed)
    await page.reload().catch(() => undefined)
  }
  const startAndOpen = async () => {
    await desk.start()
    // Chromium loads a page that it could not reach again by itself, which may interrupt this.
    await page.goto(desk.address).catch(() => page.goto(desk.address))
  }

  test('what can’t be written is said also after a reload, and survives kill -9 of the desk in the page that shows it', async () => {
    await openFile(page, 'away-7', 'a.txt')
    const inTheWay = join(desk.path, 'refs/forge/drafts/away-7')
    await mkdir(inTheWay, { recursive: true })
    await writeFile(join(inTheWay, 'a.lock'), '')
    const notice = page.locator('.notice').filter({ hasText: 'What is typed in away-7 can’t be written' })
    await page.keyboard.type('not written ')
    await notice.waitFor()
    await page.reload()
    await notice.waitFor()
    await page.locator('.cm-content').getByText('not written').waitFor()
    await desk.kill()
    await page.getByText('The desk does not answer').waitFor()
    await rm(inTheWay, { recursive: true })
    await desk.start()
    await draftIs('away-7', 'not written one\ntwo\nthree\nfour\nfive\n')
    await page.locator('.cm-content').getByText('not written').waitFor()
    await notice.waitFor({ state: 'detached' })
  })

  test('what is typed after kill -9 of the desk survives a reload without it, and the browser then forgets it', async () => {
    await openFile(page, 'away-1', 'a.txt')
    await page.keyboard.type('typed ')
    // Killed at once: the desk has written none or some of this.
    await until(async () => page.sent.some(({ ask }) => ask === 'edit'))
    await typeAndReloadWithoutDesk('without it ')
    await startAndOpen()
    await draftIs('away-1', 'typed without it one\ntwo\nthree\nfour\nfive\n')
    await page.locator('.toast').getByText('Added to a.txt in away-1: what you typed before its page was').waitFor()
    await page.locator('.cm-line').getByText('typed without it one').waitFor()
    expect(await kept()).toEqual([])
  })

  test('a commit made meanwhile is merged with it', async () => {
    await openFile(page, 'away-2', 'a.txt')
    await typeAndReloadWithoutDesk('typed ')
    await desk.commit('away-2', { 'a.txt': 'one\ntwo\nthree\nfour\nother\n' })
    await startAndOpen()
    await draftIs('away-2', 'typed one\ntwo\nthree\nfour\nother\n')
    await until(async () => (await kept()).length === 0)
  })

  test('a commit that changed the same line makes a draft conflict of it, which keeps both', async () => {
    await openFile(page, 'away-3', 'a.txt')
    await typeAndReloadWithoutDesk('typed ')
    await desk.commit('away-3', { 'a.txt': 'other\ntwo\nthree\nfour\nfive\n' })
    await startAndOpen()
    await page.getByText('resolve it, then save').waitFor()
    const conflict = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await conflict.getByText('typed one').waitFor()
    await conflict.getByText('other', { exact: true }).waitFor()
    expect(await desk.show('away-3', 'a.txt')).toBe('other\ntwo\nthree\nfour\nfive\n')
    await conflict.getByRole('button', { name: /^Both/ }).click()
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('away-3', 'a.txt')).includes('typed one'))
    expect(await desk.show('away-3', 'a.txt')).toContain('other')
  })

  test('of two windows that are closed without the desk, the next one sends what was typed in both', async () => {
    const second = await visit(browser.context, desk)
    await openFile(second, 'away-4', 'a.txt')
    await second.keyboard.press('Control+End')
    await openFile(page, 'away-4', 'a.txt')
    await desk.kill()
    for (const window of [page, second]) {
      await window.getByText('The desk does not answer').waitFor()
      await window.keyboard.type('typed ')
      await window.close({ runBeforeUnload: true })
    }
    await desk.start()
    page = await visit(browser.context, desk)
    await draftIs('away-4', 'typed one\ntwo\nthree\nfour\nfive\ntyped ')
    // The desk's answer, after which the browser forgets it, comes after the draft.
    await until(async () => (await kept()).length === 0)
  })

  for (const isLoadedAgain of [true, false])
    test(`of two windows in one file stays once after kill -9 of the desk, with ${isLoadedAgain ? 'one loaded again' : 'both still there'}`, async () => {
      const branch = isLoadedAgain ? 'away-8' : 'away-9'
      const second = await visit(browser.context, desk)
      await openFile(second, branch, 'a.txt')
      await second.keyboard.press('Control+End')
      await openFile(page, branch, 'a.txt')
      const windows = [page, second]
      const shown = (window: RealPage, words: string) => window.locator('.cm-content').getByText(words).waitFor()
      // The desk has told both windows of it, and has not written it yet, or a part of it.
      await Promise.all([page.keyboard.type('first '), second.keyboard.type('second ')])
      await Promise.all(windows.flatMap(window => ['first one', 'second'].map(words => shown(window, words))))
      await desk.kill()
      for (const window of windows) await window.getByText('The desk does not answer').waitFor()
      await Promise.all(windows.map(window => window.keyboard.type('more ')))
      if (isLoadedAgain) await page.reload().catch(() => undefined)
      await desk.start()
      await until(async () => (await desk.show(`refs/forge/drafts/${branch}`, 'a.txt')).includes('second more'))
      if (isLoadedAgain) await page.goto(desk.address).catch(() => page.goto(desk.address))
      await draftIs(branch, 'first more one\ntwo\nthree\nfour\nfive\nsecond more ')
      await until(async () => (await kept()).length === 0)
      await second.close()
    })

  test('after kill -9 of the desk is saved as it was at the key, and undone from the last edit on', async () => {
    await openFile(page, 'away-10', 'a.txt')
    await page.keyboard.type('saved ')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.show('away-10', 'a.txt')).startsWith('saved one'))
    await desk.kill()
    await page.getByText('The desk does not answer').waitFor()
    await page.keyboard.type('dead ')
    await page.keyboard.press('Control+s')
    await page.waitForTimeout(700)
    await page.keyboard.type('late ')
    await desk.start()
    await until(async () => (await desk.show('away-10', 'a.txt')).startsWith('saved dead'))
    expect(await desk.show('away-10', 'a.txt')).toStartWith('saved dead one')
    await draftIs('away-10', 'saved dead late one\ntwo\nthree\nfour\nfive\n')
    const shows = (text: string) => page.locator('.cm-line').getByText(text, { exact: true }).waitFor()
    await page.keyboard.press('Control+z')
    await shows('saved dead one')
    await page.keyboard.press('Control+y')
    await shows('saved dead late one')
  })

  test('of a branch that was deleted meanwhile it stays in the browser, and is added once the branch is back', async () => {
    await openFile(page, 'away-6', 'a.txt')
    await typeAndReloadWithoutDesk('typed ')
    const tip = await git(desk.path, 'rev-parse', 'away-6')
    await git(desk.path, 'update-ref', '-d', 'refs/heads/away-6')
    await startAndOpen()
    // In the tab of the branch, which may be shown again, the notice that it was deleted comes first.
    await openBranch(page, 'main')
    const notice = page.locator('.notice').filter({ hasText: 'What you typed in a.txt in away-6 is not in its draft' })
    await notice.getByRole('button', { name: 'Show more' }).click()
    await notice.locator('pre').getByText('typed one', { exact: true }).waitFor()
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await notice.getByRole('button', { name: 'Copy' }).click()
    await page.locator('.toast').getByText('Copied').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('typed one')
    expect((await kept()).length).toBe(1)
    await git(desk.path, 'update-ref', 'refs/heads/away-6', tip)
    await draftIs('away-6', 'typed one\ntwo\nthree\nfour\nfive\n')
    await page.getByText('is not in its draft yet').waitFor({ state: 'detached' })
    await until(async () => (await kept()).length === 0)
  })

  test('nothing typed stays in the browser once the desk has it; with its storage full the page asks before it goes', async () => {
    await openFile(page, 'away-5', 'a.txt')
    await page.keyboard.type('password ')
    await draftIs('away-5', 'password one\ntwo\nthree\nfour\nfive\n')
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('password')
    await page.evaluate(() => localStorage.setItem('full', 'x'.repeat(5 * (1 << 20) - 2_000)))
    await desk.kill()
    await page.getByText('What you type is kept in this browser').waitFor()
    await page.keyboard.insertText('y'.repeat(4_000))
    await page.getByText('kept in this window alone').waitFor()
    const asked = page.waitForEvent('dialog')
    await page.evaluate(() => {
      setTimeout(() => location.reload())
    })
    await (await asked).dismiss()
    await page.evaluate(() => localStorage.removeItem('full'))
    await desk.start()
    await until(async () => (await desk.show('refs/forge/drafts/away-5', 'a.txt')).includes('yyyy'))
  })
})
