/** The repository view on a real desk: drag and drop changes the real repository, and Undo reverts it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { urlOf } from '../../../../forge/desk/server/address.ts'
import { serveGit } from '../../../doubles/git-http.ts'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { bare, commit, git } from '../../../support/git.ts'
import { makePlace, type Place, until } from '../../../support/repository.ts'
import { openTestDesk, type TestDesk } from '../../../support/served.ts'

describe.skipIf(!hasBrowser)('the repository view on git', () => {
  let built: string
  let browser: OpenBrowser
  let place: Place
  let desk: TestDesk
  let page: Page

  beforeAll(async () => {
    built = await builtPage()
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    place = await makePlace()
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at}\n`)
    const changed = (at: number, words: string) => lines.with(at, `${words}\n`).join('')
    const base = await commit(place.path, 'main', { 'a.txt': lines.join('') }, { message: 'Base' })
    await commit(place.path, 'main', { 'a.txt': changed(2, 'main') }, { message: 'Main moves' })
    await commit(place.path, 'same-line', { 'a.txt': changed(2, 'other') }, { message: 'Same line', parents: [base] })
    await commit(place.path, 'topic', { 'a.txt': changed(20, 'topic') }, { message: 'Topic 1', parents: [base] })
    await commit(place.path, 'topic', { 'b.txt': 'new\n' }, { message: 'Topic 2' })
    desk = await openTestDesk(place.path, { built })
    page = await browser.context.newPage()
    await page.goto(urlOf(desk.key))
    await page.getByRole('option', { name: /Topic 2/ }).waitFor()
  })
  afterEach(async () => {
    await page.close()
    await desk[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  })

  const tip = (branch: string) => place.git('rev-parse', `refs/heads/${branch}`)
  const label = (branch: string) => page.locator(`.graph-row .label[data-branch="${branch}"]`)
  const dialog = () => page.getByRole('dialog')
  const middleOf = async (branch: string) => {
    const box = await label(branch).boundingBox()
    if (!box) throw new Error(`${branch} is not to be seen`)
    return [box.x + box.width / 2, box.y + box.height / 2] as const
  }
  const drop = async (from: string, onto: string) => {
    const [x, y] = await middleOf(from)
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 9, y + 5)
    await label(onto).locator('.why').waitFor()
    await page.mouse.move(...(await middleOf(onto)), { steps: 3 })
    await page.locator('.drop-preview .outlook').waitFor()
    await page.mouse.up()
    await dialog().locator('.step-outlook .outlook').waitFor()
  }

  test('dropping a branch on another merges it, the graph shows it, and Undo reverts it', async () => {
    const before = await tip('main')
    await drop('topic', 'main')
    await dialog().getByRole('textbox', { name: 'Commit message' }).fill('Bring in the topic')
    await dialog().getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('option', { name: /main Bring in the topic.*merge of 2 commits/ }).waitFor()
    expect(await place.git('log', '-1', '--format=%s %P', 'main')).toBe(
      `Bring in the topic ${before} ${await tip('topic')}`,
    )
    expect(await place.git('show', 'main:b.txt')).toBe('new')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByRole('option', { name: /Bring in the topic/ }).waitFor({ state: 'detached' })
    expect(await tip('main')).toBe(before)
  })

  test('a commit is reverted from its menu, and the revert from the history of its branch', async () => {
    const commits = page.getByRole('listbox', { name: 'Commits' })
    await commits.getByRole('option', { name: /Topic 1/ }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Revert…' }).click()
    await dialog()
      .getByRole('option', { name: /main.*does not have/ })
      .waitFor()
    await dialog().getByRole('combobox').fill('topic')
    await dialog()
      .getByRole('option', { name: /topic.*reverts cleanly/ })
      .waitFor()
    await page.keyboard.press('Enter')
    await dialog().getByText('reverts cleanly').waitFor()
    expect(await dialog().getByRole('textbox', { name: 'Commit message' }).inputValue()).toStartWith('Revert "Topic 1"')
    await dialog().getByRole('button', { name: 'Revert', exact: true }).click()
    await commits.getByRole('option', { name: /topic Revert "Topic 1"/ }).waitFor()
    expect(await place.git('show', 'topic:a.txt')).toBe(await place.git('show', 'topic~2~1:a.txt'))
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('@topic')
    await page.getByRole('option', { name: 'topic' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: /topic/, selected: true }).waitFor()
    await page.keyboard.press('Alt+h')
    await page.getByRole('complementary', { name: 'Commit' }).getByRole('button', { name: 'Revert…' }).click()
    await dialog().getByText('reverts cleanly').waitFor()
    await page.keyboard.press('Control+Enter')
    await until(async () => (await place.git('log', '-1', '--format=%s', 'topic')) === 'Reapply "Topic 1"')
    expect(await place.git('rev-parse', 'topic^{tree}')).toBe(await place.git('rev-parse', 'topic~2^{tree}'))
  })

  test('a conflict is announced on the drop target, and waits in its tab', async () => {
    const before = await tip('main')
    await drop('same-line', 'main')
    await dialog().getByText('a.txt').first().waitFor()
    await dialog().getByRole('button', { name: 'Merge and resolve 1 file' }).waitFor()
    // The tab Merge of the dialog has the focus: Enter presses the dialog's button, as in other dialogs.
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: /main/, selected: true }).waitFor()
    expect(await tip('main')).toBe(before)
    expect(await place.git('for-each-ref', '--format=%(refname)', 'refs/forge/merging')).toBe('refs/forge/merging/main')
  })

  test('a branch is rebased by keyboard alone, and its old commits are shown as unreachable', async () => {
    const before = await tip('topic')
    await page.getByRole('listbox', { name: 'Commits' }).focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('r')
    await dialog()
      .getByRole('option', { name: /main.*clean/ })
      .waitFor()
    await page.keyboard.type('main')
    await until(async () => (await dialog().getByRole('option').count()) === 1)
    await page.keyboard.press('Enter')
    await dialog().getByText('rebases cleanly').waitFor()
    await dialog().getByRole('button', { name: 'Rebase', exact: true }).focus()
    await page.keyboard.press('Enter')
    await dialog().waitFor({ state: 'detached' })
    expect(await tip('topic')).not.toBe(before)
    expect(await place.git('log', '--format=%s', 'main..topic')).toBe('Topic 2\nTopic 1')
    expect(await place.git('merge-base', 'main', 'topic')).toBe(await tip('main'))
    await page.getByRole('listbox', { name: 'Commits' }).focus()
    await page.keyboard.press('a')
    await page.getByRole('option', { name: /Topic 2.*unreachable/ }).waitFor()
  })

  test('a rejected push offers a pull, which fetches before its preview, and a push sends the result', async () => {
    const origin = await bare(join(place.folder, 'origin.git'))
    await place.git('remote', 'add', 'origin', origin)
    await place.git('push', '-q', '-u', 'origin', 'main')
    await commit(origin, 'main', { 'far.txt': 'far\n' }, { message: 'Made far away' })
    await commit(place.path, 'main', { 'near.txt': 'near\n' }, { message: 'Made here' })
    await page.getByRole('option', { name: /Made here/ }).click()
    const button = (name: string) => page.getByRole('toolbar', { name: 'Repository' }).getByRole('button', { name })
    await button('Push').click()
    await dialog().getByText('1 commit to origin/main').waitFor()
    await dialog().getByRole('button', { name: 'Push', exact: true }).click()
    // Nothing was fetched: the remote rejects the push, and the dialog offers the pull.
    await dialog().getByText('origin/main has 1 commit that main does not have').waitFor()
    await dialog().getByText('Rejected: ').waitFor({ state: 'detached' })
    await dialog().getByRole('button', { name: 'Pull…' }).click()
    await dialog().getByText('merges cleanly').waitFor()
    await dialog().getByRole('button', { name: 'Pull', exact: true }).click()
    await page.getByRole('option', { name: /Merge remote-tracking branch 'origin\/main'/ }).waitFor()
    await button('Push').click()
    await dialog().getByText('2 commits to origin/main').waitFor()
    await dialog().getByRole('button', { name: 'Push', exact: true }).click()
    await page.getByText('Pushed main to origin/main: 2 commits.').first().waitFor()
    expect(await git(origin, 'rev-parse', 'main')).toBe(await tip('main'))
    await rm(origin, { recursive: true })
    await button('Fetch').click()
    await page.getByText('There is no repository where origin points to').first().waitFor()
  })

  test('a pull is a rebase where git would rebase, and names what it rebases and what it brings', async () => {
    const origin = await bare(join(place.folder, 'origin.git'))
    await place.git('remote', 'add', 'origin', origin)
    await place.git('push', '-q', '-u', 'origin', 'main')
    for (const name of ['one', 'two'])
      await commit(origin, 'main', { [`${name}.txt`]: `${name}\n` }, { message: `Far ${name}` })
    await commit(place.path, 'main', { 'near.txt': 'near\n' }, { message: 'Made here' })
    await page.getByRole('option', { name: /Made here/ }).click()
    const pull = () =>
      page.getByRole('toolbar', { name: 'Repository' }).getByRole('button', { name: 'Pull', exact: true }).click()
    const selected = async (name: string) => {
      await dialog().getByRole('tab', { name, selected: true }).waitFor()
      // Its fetch has ended: the next pull begins one, too.
      await dialog().locator('.step-outlook .outlook').waitFor()
    }
    await pull()
    await selected('Merge')
    await page.keyboard.press('Escape')
    await place.git('config', 'pull.rebase', 'merges')
    await pull()
    await selected('Rebase')
    await page.keyboard.press('Escape')
    await place.git('config', 'branch.main.rebase', 'false')
    await pull()
    await selected('Merge')
    await page.keyboard.press('Escape')
    await place.git('config', 'branch.main.rebase', 'true')
    await pull()
    await selected('Rebase')
    expect(await dialog().getByText('rebases cleanly').count()).toBe(1)
    const rowsOf = (name: string) => dialog().getByRole('list', { name }).getByRole('listitem').locator('.subject')
    expect(await rowsOf('Rebases 1 commit').allTextContents()).toEqual(['Made here'])
    expect(await rowsOf('Brings 2 commits').allTextContents()).toEqual(['Far two', 'Far one'])
    expect(await dialog().locator('.step-outlook').getByText('commit').count()).toBe(0)
    await dialog().getByRole('button', { name: 'Pull', exact: true }).click()
    await until(async () => (await tip('main~1')) === (await git(origin, 'rev-parse', 'main')))
    expect(await place.git('log', '-1', '--format=%s', 'main')).toBe('Made here')
  })

  test('a branch is pulled, pushed, merged and rebased from its tab, the status bar and the palette', async () => {
    const origin = await bare(join(place.folder, 'origin.git'))
    await place.git('remote', 'add', 'origin', origin)
    await place.git('push', '-q', '-u', 'origin', 'main')
    await commit(place.path, 'main', { 'near.txt': 'near\n' }, { message: 'Made here' })
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('main')
    await page.getByRole('option', { name: /^main/ }).waitFor()
    await page.keyboard.press('Enter')
    const bar = page.locator('footer.status')
    await bar.getByRole('button', { name: 'Push main: 1 commit ahead of origin/main' }).click()
    await dialog().getByText('1 commit to origin/main').waitFor()
    await page.keyboard.press('Control+Enter')
    await bar.getByRole('button', { name: 'Up to date with origin/main' }).waitFor()
    expect(await git(origin, 'rev-parse', 'main')).toBe(await tip('main'))
    await commit(origin, 'main', { 'far.txt': 'far\n' }, { message: 'Made far away' })
    const tab = page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: 'main' })
    await tab.click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Fetch origin/main' }).click()
    await bar.getByRole('button', { name: 'Pull 1 commit from origin/main' }).click()
    await dialog().getByText('fast-forward', { exact: true }).waitFor()
    await page.keyboard.press('Control+Enter')
    await bar.getByRole('button', { name: 'Up to date with origin/main' }).waitFor()
    expect(await tip('main')).toBe(await git(origin, 'rev-parse', 'main'))
    const run = async (words: string, picked: string) => {
      await until(async () => (await dialog().count()) === 0)
      await page.keyboard.press('Control+k')
      await page.keyboard.type(words)
      await page.getByRole('option', { name: new RegExp(words) }).waitFor()
      await page.keyboard.press('Enter')
      await dialog().getByRole('option', { name: picked }).waitFor()
      await page.keyboard.type(picked)
      await page.keyboard.press('Enter')
    }
    await run('Merge a branch into main', 'topic')
    await dialog().getByText('merges cleanly').waitFor()
    await page.keyboard.press('Control+Enter')
    await until(async () => (await place.git('log', '-1', '--format=%s', 'main')).startsWith('Merge branch'))
    await run('Cherry-pick a commit onto main', 'same-line')
    await dialog().getByRole('option', { name: 'Same line' }).waitFor()
    await page.keyboard.press('Enter')
    await dialog().getByText('1 file in conflict').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('same-line')
    await page.getByRole('option', { name: /^same-line/ }).waitFor()
    await page.keyboard.press('Enter')
    await run('Rebase same-line onto', 'origin/main')
    await dialog().getByText('1 file in conflict').waitFor()
  })

  test('a fetch that hangs is stopped by its button, which takes the place of no other one', async () => {
    await using server = serveGit(place.folder, { delay: 60_000 })
    await place.git('remote', 'add', 'origin', `${server.url}/origin.git`)
    await page.getByRole('option', { name: /Main moves/ }).click()
    const bar = page.getByRole('toolbar', { name: 'Repository' })
    const places = () =>
      Promise.all(['Fetch', 'Pull', 'Push'].map(name => bar.getByRole('button', { name }).boundingBox()))
    const before = await places()
    await bar.getByRole('button', { name: 'Fetch' }).click()
    await bar.getByText('Fetching…').waitFor()
    expect(await places()).toEqual(before)
    await bar.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('The fetch was stopped: nothing new.').first().waitFor()
    await bar.getByRole('button', { name: 'Fetch', disabled: false }).waitFor()
  })

  test('moves in a terminal are shown without a reload', async () => {
    await commit(place.path, 'elsewhere', { 'c.txt': '1\n' }, { message: 'Made in a terminal' })
    await page.getByRole('option', { name: /branch elsewhere Made in a terminal/ }).waitFor()
    await place.git('tag', 'v1', 'main')
    await page.getByRole('option', { name: /tag v1/ }).waitFor()
  })
})
