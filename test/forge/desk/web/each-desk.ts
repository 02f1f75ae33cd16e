/** The setup that tests of the page share: one browser per file, a desk and a page for each test. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'bun:test'
import { type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import type { StandIn } from '../web-stand-in.ts'
import { type DeskPage, openDesk, startScene } from './scene.ts'

export interface EachDesk {
  desk: StandIn
  page: DeskPage
  built: string
  browser: OpenBrowser
}

/** Opens a desk and its page before each test of the calling block; after it, checks that nothing went wrong. */
export function withEachDesk(give: (each: EachDesk) => unknown): void {
  let built: string
  let browser: OpenBrowser
  let desk: StandIn
  let page: DeskPage

  beforeAll(async () => {
    built = await builtPage()
    browser = await openBrowser()
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    desk = await startScene(built)
    page = await openDesk(browser.context, desk)
    await give({ desk, page, built, browser })
  })
  afterEach(async () => {
    expect(page.troubles).toEqual([])
    await page.close()
    await desk.stop()
  })
}
