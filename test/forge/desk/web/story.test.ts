/** The story in README, in a real browser: the result of `make demo` is finished on the desk. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, NO_BROWSER, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { runDemo } from '../../../support/demo.ts'
import { show } from '../../../support/git.ts'

if (!hasBrowser) console.warn(NO_BROWSER)
setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('the story of the README', () => {
  test('the demo ends with a question; the desk answers it, and it is a pull request', async () => {
    await using demo = await runDemo()
    expect(demo.said).toContain('"See you soon"')
    await using browser = await openBrowser()
    const page = await browser.context.newPage()
    await page.goto(await demo.openDesk(await builtPage()))

    const panel = page.getByRole('region', { name: 'Forklift', exact: true })
    await panel.getByText('3 ahead').waitFor()
    await panel.getByRole('button', { name: /Stuck/ }).click()
    await page.getByRole('article', { name: 'STUCK.md, from Forklift' }).getByText('What I could not decide').waitFor()
    await page.getByText('2 of 3 resolved', { exact: true }).waitFor()

    await page
      .getByRole('navigation', { name: 'Conflicted files' })
      .getByRole('button', { name: /goodbye/ })
      .click()
    const conflict = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await conflict.getByRole('button', { name: 'Both' }).click()
    await page.getByRole('button', { name: 'Finish' }).click()
    const strip = page.getByRole('region', { name: 'Publish by Forklift' })
    await strip.getByRole('button', { name: 'Publish' }).click()
    const link = strip.getByRole('link', { name: /\/you\/my-fork\/pull\/1$/ })

    const [pull] = await Promise.all([browser.context.waitForEvent('page'), link.click()])
    await pull.getByRole('heading', { name: /Merge main .* #1/ }).waitFor()
    await pull.getByText('goodbye.sh').first().waitFor()
    const branch = (await pull.locator('code').nth(1).textContent()) ?? ''
    const pushed = await show(`${demo.folder}/origin.git`, branch, 'goodbye.sh')
    expect(pushed).toContain('Fair winds')
    expect(pushed).toContain('See you soon')
  })
})
