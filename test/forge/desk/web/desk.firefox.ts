/**
 * The desk in Firefox, by WebDriver BiDi, on repositories of both hash formats: typing, drafts, saving and the palette.
 * `make test-firefox` runs it, once for each release.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import { builtPage } from '../../../support/built-page.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { until } from '../../../support/repository.ts'

const PROGRAM = process.env.FIREFOX ?? '/usr/bin/firefox-esr'
if (!existsSync(PROGRAM)) throw new Error(`There is no Firefox at ${PROGRAM}: make test-firefox, or FIREFOX=its path.`)
setDefaultTimeout(60_000)

const LINES = 'one\ntwo\nthree\n'

let browser: Browser
let built: string
beforeAll(async () => {
  built = await builtPage()
  browser = await puppeteer.launch({ browser: 'firefox', executablePath: PROGRAM, headless: true })
})
afterAll(() => browser?.close())

for (const format of ['sha1', 'sha256'] as const)
  describe(`in Firefox, on a ${format} repository`, () => {
    let desk: RealDesk
    let page: Page
    const errors: string[] = []

    beforeAll(async () => {
      const files = { 'a.txt': LINES, 'src/b.txt': LINES }
      desk = await openRealDesk({ built, branches: { main: files, other: files }, format })
      page = await browser.newPage()
      page.on('pageerror', error => {
        // Expected errors of the connection to a killed desk.
        if (!/establish a connection|connection .* was interrupted/.test(String(error))) errors.push(String(error))
      })
      await page.goto(desk.address)
      await page.waitForSelector('[role="tablist"][aria-label="Branches"]')
    })
    afterAll(async () => {
      await page?.close()
      await desk?.[Symbol.asyncDispose]()
    })

    const press = async (...keys: Parameters<Page['keyboard']['press']>[0][]) => {
      for (const key of keys.slice(0, -1)) await page.keyboard.down(key)
      const last = keys.at(-1)
      if (last) await page.keyboard.press(last)
      for (const key of keys.slice(0, -1).reverse()) await page.keyboard.up(key)
    }
    const palette = '[role="combobox"][aria-label="Find or run"]'
    /** Chooses an option of the palette, which the keys open. */
    const choose = async (keys: Parameters<typeof press>, words: string, found: string) => {
      await press(...keys)
      await page.waitForSelector(palette)
      await page.keyboard.type(words)
      await page.waitForFunction(
        wanted => document.querySelector('[role="option"][aria-selected="true"]')?.textContent?.includes(wanted),
        {},
        found,
      )
      await press('Enter')
      await page.waitForSelector(palette, { hidden: true })
    }
    const openFile = async (path: string) => {
      await choose(['Control', 'p'], path, path)
      await page.waitForFunction(
        wanted =>
          document
            .querySelector('[role="tablist"][aria-label="Files"] [aria-selected="true"]')
            ?.textContent?.includes(wanted),
        {},
        path,
      )
      await page.locator('.cm-content').click()
      await press('Control', 'Home')
    }
    const isDraft = (path: string, text: string) =>
      until(async () => (await desk.show('refs/forge/drafts/other', path)) === text, 20_000)
    const isSaved = (path: string, text: string) => until(async () => (await desk.show('other', path)) === text, 20_000)

    test('the palette opens a branch and a file', async () => {
      await choose(['Alt', 'b'], 'other', 'other')
      await openFile('a.txt')
      expect(await page.$eval('.cm-content', content => content.textContent)).toContain('one')
    })

    test('what is typed is a draft within a second or two, and comes back after kill -9 of the desk', async () => {
      await page.keyboard.type('typed ')
      await isDraft('a.txt', `typed ${LINES}`)
      await desk.kill()
      await page.keyboard.type('meanwhile ')
      await desk.start()
      await isDraft('a.txt', `typed meanwhile ${LINES}`)
    })

    test('Ctrl+S saves it as a commit, and undo of the editor still works', async () => {
      await press('Control', 's')
      await isSaved('a.txt', `typed meanwhile ${LINES}`)
      await page.waitForFunction(() => document.querySelector('.status .saved')?.textContent?.includes('Saved →'))
      await press('Control', 'z')
      await until(async () => !(await desk.show('refs/forge/drafts/other', 'a.txt')).includes('meanwhile'), 20_000)
      await press('Control', 'y')
      await page.waitForFunction(() => document.querySelector('.cm-content')?.textContent?.includes('meanwhile'))
    })

    test('Ctrl+Shift+S saves all drafts in one commit', async () => {
      await openFile('b.txt')
      await page.keyboard.type('more ')
      await isDraft('src/b.txt', `more ${LINES}`)
      await press('Control', 'Shift', 's')
      await isSaved('src/b.txt', `more ${LINES}`)
    })

    test('nothing went wrong on the page', () => {
      expect(errors).toEqual([])
    })
  })
