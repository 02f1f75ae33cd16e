/** Tags are created with and without a message, which is shown at their commit. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import { PERSON } from '../../../support/desk.ts'
import { git, gitWith } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, settled, showBranch, until, withEachPage } from './page-scene.ts'

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

  test('of the newest release is the first one beside the graph, whatever the names were before', async () => {
    for (const [name, date] of [
      ['1.7', '2011-04-13T12:00:00Z'],
      ['tern-parent-2.9.1', '2022-07-31T12:00:00Z'],
      ['tern-parent-2.14.0', '2026-03-01T12:00:00Z'],
    ] as const) {
      const env = { ...PERSON, GIT_COMMITTER_DATE: date }
      const made = await gitWith(desk.path, ['commit-tree', '-m', name, 'main^{tree}'], undefined, env)
      await desk.git('tag', name, made)
    }
    await page.keyboard.press('Alt+0')
    const shown = page
      .getByRole('navigation', { name: 'Branches and tags' })
      .getByRole('button', { name: /^(1|tern-)/ })
    await shown.nth(2).waitFor()
    expect(await shown.allTextContents()).toEqual(['tern-parent-2.14.0', 'tern-parent-2.9.1', '1.7'])
  })

  test('that was not listed at first has the focus when more are shown by Enter', async () => {
    const tags = Array.from({ length: 110 }, (_, index) => `v1.${200 - index}`)
    const commands = tags.map(tag => `create refs/tags/${tag} main\n`).join('')
    await gitWith(desk.path, ['update-ref', '--stdin'], commands)
    await page.keyboard.press('Alt+0')
    const refs = page.getByRole('navigation', { name: 'Branches and tags' })
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    await refs.getByRole('button', { name: '106 more' }).focus()
    await page.keyboard.press('Enter')
    await until(async () => (await focused()) === 'v1.196')
    await refs.getByRole('button', { name: '6 more' }).focus()
    await page.keyboard.press('Enter')
    await until(async () => (await focused()) === 'v1.96')
  })

  test('keeps a message that was typed before Escape', async () => {
    await askForTag()
    await dialog().getByRole('textbox', { name: 'Message (optional)' }).fill('What is new')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await askForTag()
    expect(await dialog().getByRole('textbox', { name: 'Message (optional)' }).inputValue()).toBe('What is new')
  })

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

  test('has its message, tagger and date with its commit in the history of a branch, too', async () => {
    const env = { ...PERSON, GIT_COMMITTER_DATE: new Date().toISOString() }
    const words = ['-m', 'The first release', '-m', 'Notes: a queue.']
    await gitWith(desk.path, ['tag', ...words, 'v1.0', 'retry-jitter'], undefined, env)
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Alt+h')
    const section = page.getByRole('region', { name: 'Tag v1.0' })
    await section.getByText('The first release').waitFor()
    await section.getByText('Notes: a queue.').waitFor()
    const tagger = await desk.git('for-each-ref', '--format=%(taggername)', 'refs/tags/v1.0')
    await section.getByText(`${tagger}, just now`).waitFor()
    await page.getByRole('listbox', { name: 'History' }).getByRole('option').last().click()
    await section.waitFor({ state: 'detached' })
  })

  test('stands above the files of its commit, which is shown in the graph from there and from a history', async () => {
    await desk.git('tag', 'v1.0', 'retry-jitter~0')
    await page.keyboard.press('Alt+0')
    await page.getByRole('option', { name: /Begin retry-jitter/ }).dblclick()
    const bar = page.locator('.then')
    await bar.getByText('v1.0').waitFor()
    await page.keyboard.press('Alt+0')
    const option = page.getByRole('option', { name: /Begin retry-jitter/ })
    const isSelected = () => page.locator('.graph-row[aria-selected="true"]').filter({ hasText: 'Begin retry-jitter' })
    await page.getByRole('option', { name: /Begin main/ }).click()
    await page.locator('.graph-row .label[data-branch="main"]').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Show only this' }).click()
    await option.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: (await desk.tip('retry-jitter')).slice(0, 8) }).click()
    await bar.getByRole('button', { name: 'Show in the graph' }).click()
    // The filter hid it, so all refs are shown.
    await isSelected().waitFor()
    await page.getByRole('option', { name: /Begin main/ }).click()
    await showBranch(page, 'retry-jitter')
    await page.keyboard.press('Alt+h')
    await page
      .getByRole('listbox', { name: 'History' })
      .getByRole('option', { name: /Begin retry-jitter/ })
      .click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Show in the graph' }).click()
    await isSelected().waitFor()
  })

  test('that is made in a terminal while the graph is loaded stays shown', async () => {
    const tag = page.getByRole('navigation', { name: 'Branches and tags' }).getByRole('button', { name: 'v9' })
    const arrive = desk.proxy.hold('graph')
    await page.keyboard.press('Alt+0')
    await until(() => desk.proxy.count('graph') > 0)
    // The refs that the graph has asked for are read.
    await desk.ask({ ask: 'refs' })
    await desk.git('tag', 'v9', 'main')
    await tag.waitFor()
    arrive()
    await page.getByRole('option', { name: /Begin main/ }).click()
    await settled(page)
    expect(await tag.count()).toBe(1)
  })

  test('is deleted on its remote, too, where that is chosen, and pushed again by Undo', async () => {
    const origin = join(desk.path, '../origin.git')
    await git('/', 'clone', '--quiet', '--bare', desk.path, origin)
    await desk.git('remote', 'add', 'origin', origin)
    await desk.git(
      '-c',
      'user.name=Mira',
      '-c',
      'user.email=mira@example.com',
      'tag',
      '-a',
      '-m',
      'Ninth',
      'v9',
      'main',
    )
    await desk.git('push', '--quiet', 'origin', 'v9')
    const object = await desk.git('rev-parse', 'v9')
    const there = () => git(origin, 'for-each-ref', '--format=%(objectname)', 'refs/tags')
    await page.reload()
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .label').filter({ hasText: 'v9' }).first().click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete the tag…' }).click()
    await dialog().getByText('a fetch brings it back').waitFor()
    await dialog().getByRole('tab', { name: 'Also on origin' }).click()
    await dialog().getByText('deletes the tag v9 here and on origin').waitFor()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deleted the tag v9 here and on origin.').first().waitFor()
    expect([await there(), await desk.git('tag')]).toEqual(['', ''])
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone: delete the tag v9 here and on origin').first().waitFor()
    expect([await there(), await desk.git('rev-parse', 'v9')]).toEqual([object, object])
  })

  test('that is another one on its remote is refused there, with what to do, and is not shown as one to push', async () => {
    const origin = join(desk.path, '../origin.git')
    await git('/', 'clone', '--quiet', '--bare', desk.path, origin)
    await git(origin, 'tag', 'v9', 'retry-jitter')
    await desk.git('remote', 'add', 'origin', origin)
    await desk.git('tag', 'v9', 'main')
    await page.reload()
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .label').filter({ hasText: 'v9' }).first().click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Push the tag…' }).click()
    const outlook = dialog().getByText('pushes the tag v9 to origin')
    await outlook.waitFor()
    await page.keyboard.press('Enter')
    await dialog().getByRole('alert').getByText('rename it (Rename the tag… in its menu)').waitFor()
    expect(await outlook.count()).toBe(0)
    await git(origin, 'tag', '-d', 'v9')
    await dialog().getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Pushed the tag v9 to origin.').first().waitFor()
  })

  test('is renamed by its menu, with its message, and gets its name back by undo', async () => {
    const me = ['-c', 'user.name=Mira', '-c', 'user.email=mira@example.com']
    await desk.git(...me, 'tag', '-a', '-m', 'Ninth', 'v9', 'main')
    const object = await desk.git('rev-parse', 'v9')
    await page.keyboard.press('Alt+0')
    const label = (name: string) => page.locator('.graph-row .label').filter({ hasText: name }).first()
    await label('v9').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Rename the tag…' }).click()
    await dialog().getByRole('textbox', { name: 'New name' }).fill('v10')
    await page.keyboard.press('Enter')
    await page.getByText('Renamed the tag v9 to v10.').first().waitFor()
    await label('v10').waitFor()
    expect(await desk.git('for-each-ref', '--format=%(refname:short) %(tag) %(contents:subject)', 'refs/tags')).toBe(
      'v10 v10 Ninth',
    )
    await desk.git('fsck', '--strict')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await label('v9').waitFor()
    expect(await desk.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/tags')).toBe(
      `refs/tags/v9 ${object}`,
    )
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
