/** Tags are created with and without a message, which is shown at their commit. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, withEachPage } from './page-scene.ts'

setDefaultTimeout(60_000)

if (!hasBrowser) console.warn(NO_BROWSER)

describe.skipIf(!hasBrowser)('a tag', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
    page.setDefaultTimeout(15_000)
  })

  const dialog = () => page.getByRole('dialog')
  const askForTag = async () => {
    await page.keyboard.press('Alt+0')
    await page.getByRole('option', { name: /Begin retry-jitter/ }).click()
    await page.keyboard.press('t')
    await dialog().getByRole('textbox', { name: 'Tag name' }).waitFor()
  }

  test('with a message is an annotated one, whose message is shown at its commit, and comes back by undo', async () => {
    await askForTag()
    await page.keyboard.type('v1.0')
    await dialog().getByRole('textbox', { name: 'Message (optional)' }).fill('The first release\n\n# Notes: a *queue*.')
    await page.keyboard.press('Control+Enter')
    await page
      .getByText(/^Tagged .* as v1\.0\.$/)
      .first()
      .waitFor()
    expect(await desk.git('for-each-ref', '--format=%(objecttype) %(contents)', 'refs/tags/v1.0')).toBe(
      'tag The first release\n\n# Notes: a *queue*.',
    )
    const section = page.getByRole('region', { name: 'Tag v1.0' })
    await section.getByText('The first release').waitFor()
    await section.getByText('# Notes: a *queue*.').waitFor()
    const object = await desk.git('rev-parse', 'v1.0')
    const label = page.locator('.graph-row .label').filter({ hasText: 'v1.0' }).first()
    await label.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete the tag…' }).click()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await section.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+z')
    await section.getByText('The first release').waitFor()
    expect(await desk.git('rev-parse', 'v1.0')).toBe(object)
  })

  test('without one is a lightweight one', async () => {
    await askForTag()
    await page.keyboard.type('v1.0')
    await page.keyboard.press('Enter')
    await page
      .getByText(/^Tagged .* as v1\.0\.$/)
      .first()
      .waitFor()
    expect(await desk.git('cat-file', '-t', 'v1.0')).toBe('commit')
  })
})
