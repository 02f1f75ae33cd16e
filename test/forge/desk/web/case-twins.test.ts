/** Names that differ from existing ones only in case: their dialogs warn, and still create them. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { caseTwin } from '../../../../forge/desk/web/page/case-twins.ts'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, settled, until, withEachPage } from './page-scene.ts'

setDefaultTimeout(60_000)

if (!hasBrowser) console.warn(NO_BROWSER)

test.each([
  ['Main', ['main'], 'main'],
  ['main', ['main', 'Main'], undefined],
  ['mains', ['main'], undefined],
  ['Fix/one', ['fix/two'], 'fix/'],
  ['fix/ONE', ['fix/two', 'fix/one'], 'fix/one'],
  ['fix/two', ['fix/one', 'Fix/one'], undefined],
  ['\u00c3\u0089t\u00c3\u00a9', ['\u00c3\u00a9t\u00c3\u00a9'], '\u00c3\u00a9t\u00c3\u00a9'],
])('%s beside %p meets %p', (name, others, twin) => {
  expect(caseTwin(name, others)).toBe(twin)
})

describe.skipIf(!hasBrowser)('the dialog', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(each => {
    desk = each.desk
    page = each.page
    page.setDefaultTimeout(15_000)
  })

  const dialog = () => page.getByRole('dialog')
  const field = () => dialog().getByRole('textbox').first()
  const warning = (twin: string) =>
    dialog()
      .getByRole('status')
      .getByText(`Differs from ${twin} only in case: on macOS and Windows they can’t both exist.`)
  const none = () => until(async () => (await dialog().getByRole('status').textContent()) === '')

  test('of a new branch warns, and creates it all the same', async () => {
    await page.keyboard.press('Alt+Shift+b')
    await field().fill('Main')
    await warning('main').waitFor()
    await field().fill('mainly')
    await none()
    await field().fill('Retry-jitter')
    await warning('retry-jitter').waitFor()
    await page.keyboard.press('Enter')
    await until(() => desk.has('Retry-jitter'))
  })

  test('that asks for no name has no warning', async () => {
    await page.keyboard.press('Alt+c')
    await field().fill('main')
    await settled(page)
    expect(await dialog().getByRole('status').innerHTML()).toBe('')
  })

  test('of a rename warns of other branches, not of the renamed one', async () => {
    await page.keyboard.press('Shift+F2')
    await field().fill('MAIN')
    await none()
    await field().fill('HTTP-metrics')
    await warning('http-metrics').waitFor()
  })

  test('of a tag warns', async () => {
    await desk.git('tag', 'v1', 'main')
    await page.keyboard.press('Alt+0')
    await page.getByRole('option', { name: /tag v1/ }).click()
    await page.keyboard.press('t')
    await field().fill('V1')
    await warning('v1').waitFor()
  })

  test('of a new or renamed file warns of files and folders', async () => {
    await page.keyboard.press('Alt+n')
    await field().fill('Src/queue/more.ts')
    await warning('src/').waitFor()
    await field().fill('src/queue/Lease.ts')
    await warning('src/queue/lease.ts').waitFor()
    await field().fill('src/queue/leases.ts')
    await none()
    await page.keyboard.press('Escape')
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.keyboard.press('F2')
    await field().fill('Readme.md')
    await none()
    await field().fill('agents.md')
    await warning('AGENTS.md').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('treeitem', { name: 'agents.md , renamed' }).waitFor()
  })
})
