/** What a narrow place cuts, what stays whole there, and where the focus is afterwards. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { hasBrowser } from '../../../support/browser.ts'
import { commit, git } from '../../../support/git.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { type DeskPage, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const MIRA = { author: 'Mira Okafor <mira@example.com>' }
const PATH = 'source/requests/with-a-long-name/adapters.ts'
const SUBJECT = 'Détecter les boucles 好'

/** main with a tag, a branch with a name of 12 letters, and one with a commit in another alphabet, also of an AI. */
const template = templateOf(async path => {
  const first = await commit(
    path,
    'main',
    { [PATH]: 'export function send() {\n  return 1\n}\n' },
    { ...MIRA, message: 'Begin' },
  )
  await commit(path, 'main', { 'a.txt': 'a\n' }, { ...MIRA, message: 'Add a' })
  await git(path, 'tag', 'v1', first)
  await commit(path, 'split-quotes', { 'b.txt': 'b\n' }, { ...MIRA, message: 'Add b', parents: [first] })
  const message = `${SUBJECT}\n\nForge-Model: openrouter/vendor/large-model\n`
  await commit(path, 'loops', { 'c.txt': 'c\n' }, { ...MIRA, message, parents: [first] })
})

const widthOf = async (element: Locator): Promise<number> => (await element.boundingBox())?.width ?? 0
const isCut = (element: Locator): Promise<boolean> => element.evaluate(it => it.scrollWidth > it.clientWidth)

describe.skipIf(!hasBrowser)('what is shown', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template, layout: { tabs: [{ ...tabOf('main', [PATH]), active: PATH }], active: 0 } },
  )

  const showGraph = async () => {
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .subject').first().waitFor()
  }
  const dialog = () => page.getByRole('dialog')
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

  test('a label of the graph is as wide as its name', async () => {
    await showGraph()
    const label = page.locator('.label[data-branch="split-quotes"]')
    const name = label.locator('.ref-name')
    expect(await isCut(name)).toBe(false)
    // The icon, the gap and the padding.
    expect((await widthOf(label)) - (await widthOf(name.locator('.cut')))).toBeLessThan(34)
  })

  test('the end of a long branch name, which tells it from others', async () => {
    const names = [11, 12].map(number => `team/feature-with-a-rather-long-name-that-is-number-${number}`)
    for (const name of names) await desk.git('branch', name, 'loops')
    await showGraph()
    for (const name of names) {
      const shown = page.locator(`.ref .ref-name[title="${name}"]`)
      await shown.waitFor()
      expect(await isCut(shown.locator('.cut'))).toBe(true)
      const [whole, tail] = [await shown.boundingBox(), await shown.locator('.tail').boundingBox()]
      const ends = [whole, tail].map(box => (box ? box.x + box.width : Number.NaN)) as [number, number]
      expect(ends[1]).toBeLessThan(ends[0] + 1)
    }
  })

  test('a commit of an AI names its model without the provider', async () => {
    await showGraph()
    await page.locator('.graph-row .who', { hasText: /^large-model$/ }).click()
    await page.getByRole('complementary', { name: 'Commit' }).getByText('large-model for Mira Okafor').waitFor()
  })

  test('half of a split editor in a narrow window names its file, and a history there has room for subjects', async () => {
    await page.setViewportSize({ width: 800, height: 800 })
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+\\')
    const right = page.getByRole('region', { name: 'Right half' })
    await right.getByRole('textbox', { name: 'Editor' }).waitFor()
    expect(await isCut(right.locator('.crumbs .here'))).toBe(false)
    expect(await widthOf(right.locator('.crumbs .here'))).toBeGreaterThan(40)
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.keyboard.press('Alt+h')
    const row = page.getByRole('listbox', { name: 'History' }).getByRole('option', { name: 'Add a' })
    await row.waitFor()
    expect(await widthOf(row)).toBeGreaterThan(400)
  })

  test('a history shows the branches and tags at its commits', async () => {
    await page.keyboard.press('Alt+h')
    const list = page.getByRole('listbox', { name: 'History' })
    await list.getByRole('option', { name: /^branch main Add a/ }).waitFor()
    await list.getByRole('option', { name: /^tag v1 Begin/ }).waitFor()
  })

  test('a list of changed files shows the nearest part of a long folder', async () => {
    const text = (await desk.textOf('main', PATH)) ?? ''
    await commit(desk.path, 'main', { [PATH]: `${text}// more\n` }, { message: 'More' })
    await page.setViewportSize({ width: 800, height: 800 })
    await page.keyboard.press('Alt+r')
    const folder = page.getByRole('navigation', { name: 'Changed files' }).locator('.dir')
    await page.getByRole('tab', { name: 'By commit' }).click()
    await page.getByRole('complementary', { name: 'Side bar' }).getByRole('button', { name: 'More' }).click()
    await folder.filter({ hasText: 'source/' }).waitFor()
    expect(await folder.evaluate(it => getComputedStyle(it).direction)).toBe('rtl')
    expect(await folder.textContent()).toBe('source/requests/with-a-long-name/')
  })

  test('a commit is cherry-picked by words of its message, in any alphabet', async () => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('>cherry-pick a commit onto main')
    await page.getByRole('option', { name: /Cherry-pick a commit onto main/ }).waitFor()
    await page.keyboard.press('Enter')
    await dialog().getByRole('combobox').fill('boucles')
    await dialog().getByRole('option', { name: SUBJECT }).waitFor()
    await page.keyboard.press('Enter')
    await dialog()
      .getByRole('heading', { name: `${SUBJECT} → main` })
      .waitFor()
    await dialog().getByRole('tab', { name: 'Cherry-pick', selected: true }).waitFor()
    await dialog().getByRole('button', { name: 'Cherry-pick' }).click()
    await until(async () => (await desk.messageOf('main')).startsWith(SUBJECT))
  })

  test('a click on a commit leaves the focus in the list, whose ring follows the selection', async () => {
    await showGraph()
    await page.locator('.graph-row', { hasText: 'Begin' }).click()
    expect(await focused()).toBe('Commits')
    await page.getByRole('tab', { name: 'main' }).click()
    await page.keyboard.press('Alt+h')
    await page.getByRole('listbox', { name: 'History' }).getByRole('option', { name: 'Begin' }).click()
    expect(await focused()).toBe('History')
  })

  test('a new branch has the focus in its work, not at the button that made it', async () => {
    await page.getByRole('button', { name: 'Open or create a branch' }).click()
    await page.keyboard.type('work-of-today')
    await page.getByRole('option', { name: 'New branch work-of-today…' }).waitFor()
    await page.keyboard.press('Enter')
    await dialog().getByRole('button', { name: 'Create branch' }).click()
    await page.getByRole('tab', { name: 'work-of-today', selected: true }).waitFor()
    await until(() => page.evaluate(() => document.activeElement?.closest('.middle') !== null))
  })

  test('a split begins with the focus on the first file', async () => {
    await page.keyboard.press('Alt+h')
    await page.getByRole('listbox', { name: 'History' }).getByRole('option', { name: 'Add a' }).click()
    await page.keyboard.press('p')
    await dialog().getByRole('checkbox').first().waitFor()
    await until(() => page.evaluate(() => document.activeElement?.matches('.part-picker input') === true))
  })

  test('a commit compared with a tag lists the commits between', async () => {
    await page.getByRole('tab', { name: 'main' }).waitFor()
    await showGraph()
    await page.locator('.graph-row', { hasText: 'Add a' }).click()
    await page.keyboard.press('d')
    await dialog().getByRole('combobox').fill('v1')
    await dialog().getByRole('option', { name: /^v1/ }).waitFor()
    await page.keyboard.press('Enter')
    const side = page.getByRole('complementary', { name: 'Side bar' })
    await side.getByRole('heading', { name: '1 commit' }).waitFor()
    await side.getByRole('button', { name: 'Add a' }).waitFor()
  })

  test('a commit that is clicked while the graph loads again stays selected, with its message', async () => {
    await showGraph()
    const row = page.locator('.graph-row', { hasText: 'Begin' })
    await row.waitFor()
    const go = desk.proxy.hold('graph')
    await desk.commit('main', {}, { message: 'Made in a terminal' })
    await until(() => desk.proxy.count('graph place') > 0)
    await row.click()
    go()
    await page.locator('.graph-row', { hasText: 'Made in a terminal' }).waitFor()
    await page.getByRole('complementary', { name: 'Commit' }).getByRole('heading', { name: 'Begin' }).waitFor()
    expect(await page.getByRole('listbox').locator('[aria-selected="true"]').textContent()).toContain('Begin')
  })
})
