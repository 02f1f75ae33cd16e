/** Review, history and the palette's commits on a real desk: they match git's results. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { urlOf } from '../../../../forge/desk/server/address.ts'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { commit, gitWith } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'
import { openTestDesk, type TestDesk } from '../../../support/served.ts'

const DEEP = 620

/** A long history whose first commit is far below the newest 500. */
async function importHistory(place: Place): Promise<void> {
  const commits = Array.from({ length: DEEP }, (_, at) => {
    const message = at === 0 ? 'Needle in the deep' : `Step ${at}\n\nOf ${DEEP} steps.`
    return [
      'commit refs/heads/main',
      `committer Mira Okafor <mira@example.org> ${1_600_000_000 + at * 60} +0000`,
      `data ${Buffer.byteLength(message)}\n${message}`,
      `M 100644 inline steps.txt\ndata ${String(at).length}\n${at}\n`,
    ].join('\n')
  })
  await gitWith(place.path, ['fast-import', '--quiet'], commits.join('\n'))
}

describe.skipIf(!hasBrowser)('review and history on git', () => {
  let browser: OpenBrowser
  let place: Place
  let desk: TestDesk
  let page: Page

  beforeAll(async () => {
    browser = await openBrowser()
    place = await makePlace()
    await importHistory(place)
    const base = await place.git('rev-parse', 'main')
    await place.git('tag', 'v1', base)
    await commit(place.path, 'main', { 'main.txt': 'main\n' }, { message: 'Only on main' })
    await place.git('update-ref', 'refs/remotes/origin/main', 'refs/heads/main')
    await place.git('update-ref', 'refs/remotes/origin/feature', base)
    await commit(place.path, 'topic', { 'topic.txt': 'one\n' }, { message: 'Topic, first', parents: [base] })
    const large = 'a line\n'.repeat(400_000)
    await commit(place.path, 'sizes', { 'large.txt': large }, { parents: [base] })
    await commit(place.path, 'sizes', { 'large.txt': null, 'moved.txt': large }, { message: 'Rename the large one' })
    await commit(place.path, 'sizes', { 'binary.bin': 'a\0b' }, { message: 'Add a binary one' })
    await commit(place.path, 'sizes', { 'moved.txt': `${large}more\n` }, { message: 'Change the large one' })
    await commit(place.path, 'topic', { 'more.txt': 'two\n' }, { message: 'Topic, second\n\nWith a rare word: zebra.' })
    desk = await openTestDesk(place.path, { built: await builtPage() })
    page = await browser.context.newPage()
    await page.goto(urlOf(desk.key))
    await page.locator('.graph-row .subject').first().waitFor()
  })
  beforeEach(async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('@topic')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'topic', selected: true }).waitFor()
  })
  afterAll(async () => {
    await page.close()
    await desk[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
    await browser[Symbol.asyncDispose]()
  })

  const changed = () => page.getByRole('navigation', { name: 'Changed files' })
  const against = () => page.getByRole('button', { name: /^against/ })
  const compareWith = async (words: string, option: RegExp) => {
    await against().click()
    const field = page.getByRole('combobox', { name: 'Branch, tag or commit' })
    await field.fill(words)
    await page.getByRole('dialog').getByRole('option', { name: option }).click()
  }

  test('a branch is compared with any other, with a remote branch, a tag or a commit, but not with itself', async () => {
    await page.keyboard.press('Alt+r')
    await changed().getByText('topic.txt').waitFor()
    expect(await against().textContent()).toContain('main')
    await against().click()
    const names = await page.getByRole('dialog').getByRole('option').allTextContents()
    expect(names.some(name => name.startsWith('topic'))).toBe(false)
    expect(names.filter(name => /^(main|origin\/feature|v1)/.test(name))).toHaveLength(3)
    await page.keyboard.press('Escape')
    await compareWith('origin/ma', /origin\/main/)
    await against().getByText('origin/main').waitFor()
    await compareWith('v1', /^v1/)
    await against().getByText('v1').waitFor()
    await changed().getByText('more.txt').waitFor()
    await compareWith('Topic, first', /Topic, first/)
    await changed().getByText('topic.txt').waitFor({ state: 'detached' })
    await changed().getByText('more.txt').waitFor()
  })

  test('a comparison is with the merge base, or direct, and says which', async () => {
    await page.keyboard.press('Alt+r')
    await compareWith('main', /^main/)
    const compared = page.getByRole('combobox', { name: 'Compared' })
    expect(await compared.inputValue()).toBe('base')
    await changed().getByText('topic.txt').waitFor()
    expect(await changed().getByText('main.txt').count()).toBe(0)
    await compared.selectOption('straight')
    await changed().getByText('main.txt').waitFor()
    await compared.selectOption('base')
    await changed().getByText('main.txt').waitFor({ state: 'detached' })
  })

  test('the commits of a review are above its files', async () => {
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'By commit' }).click()
    const commits = page.locator('.list.commits')
    await commits.getByText('Topic, second').waitFor()
    const [list, files] = [await commits.boundingBox(), await changed().boundingBox()]
    expect(list?.y ?? 0).toBeLessThan(files?.y ?? 0)
    // Between the commits and the changed files there is no gap but for a heading and the field that filters them.
    expect((files?.y ?? 0) - (list?.y ?? 0) - (list?.height ?? 0)).toBeLessThan(76)
    await page.getByRole('tab', { name: 'All changes' }).click()
  })

  test('a history is searched as a whole, and a file of its commit opens the diff', async () => {
    await page.keyboard.press('Alt+h')
    const rows = page.getByRole('listbox', { name: 'History' }).getByRole('option')
    await rows.filter({ hasText: 'Topic, second' }).waitFor()
    const search = page.getByRole('textbox', { name: 'Search this history' })
    await search.fill('zebra')
    await page.getByRole('status').filter({ hasText: '1 commit' }).first().waitFor()
    await search.fill('needle in')
    await rows.filter({ hasText: 'Needle in the deep' }).waitFor()
    expect(await rows.count()).toBe(1)
    const commit = page.getByRole('complementary', { name: 'Commit' })
    await commit.locator('.dl').first().waitFor()
    await commit.getByRole('button', { name: /steps\.txt/ }).click()
    await commit.locator('.dl').first().waitFor({ state: 'detached' })
    await search.fill('no such words')
    await page.getByText('No results').waitFor()
    await search.fill('')
    await rows.filter({ hasText: 'Topic, second' }).waitFor()
  })

  test('a file that was only renamed is said to be, and one without a diff says whether it is binary or too large', async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('@sizes')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'sizes', selected: true }).waitFor()
    await page.keyboard.press('Alt+h')
    const rows = page.getByRole('listbox', { name: 'History' }).getByRole('option')
    const commit = page.getByRole('complementary', { name: 'Commit' })
    await rows.filter({ hasText: 'Rename the large one' }).click()
    await commit.getByText('Renamed without changes.').waitFor()
    await rows.filter({ hasText: 'Change the large one' }).click()
    await commit.getByText(/^Larger than 2 MB: /).waitFor()
    await rows.filter({ hasText: 'Add a binary one' }).click()
    await commit.getByText(/^Binary: /).waitFor()
  })

  test('the palette finds a commit that is older than the newest 500, and one of another branch', async () => {
    const find = async (words: string, option: string) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Command palette' }).fill(`#${words}`)
      await page.getByRole('option', { name: option }).waitFor()
      await page.keyboard.press('Escape')
    }
    await find('needle', 'Needle in the deep')
    await find('only on main', 'Only on main')
    await find((await place.git('rev-parse', 'main')).slice(0, 7), 'Only on main')
  })
})
