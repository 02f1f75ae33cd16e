/** A commit is split, and a squash with conflicts is finished, in a real browser. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, settled, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const MIRA = { author: 'Mira Okafor <mira@example.com>' }
const LINES = Array.from({ length: 20 }, (_, at) => `line ${at}`)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

/** Lines that one commit changes together. */
const PAIR = 'if (one) {\n  return 1\n}\n'

const template = templateOf(async path => {
  await commit(
    path,
    'main',
    { 'a.txt': text(LINES), 'same.txt': 'begin\n', 'pair.txt': PAIR },
    { ...MIRA, message: 'Begin' },
  )
  const both = LINES.with(2, 'second').with(15, 'fifteenth')
  const other = PAIR.replaceAll('one', 'two').replace('1', '2')
  await commit(
    path,
    'main',
    { 'a.txt': text(both), 'new.txt': 'new\n', 'pair.txt': other },
    { ...MIRA, message: 'Do both\n\nAt once.' },
  )
  for (const name of ['one', 'two', 'three'])
    await commit(path, 'main', { 'same.txt': `${name}\n` }, { ...MIRA, message: `Write ${name}` })
})

describe.skipIf(!hasBrowser)('the history of a branch', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  const list = () => page.getByRole('listbox', { name: 'History' })
  const row = (subject: string) => list().getByRole('option', { name: subject })
  const dialog = () => page.getByRole('dialog')
  const subjects = async () => (await desk.git('log', '--format=%s', 'main')).split('\n')
  const open = async () => {
    await page.keyboard.press('Alt+h')
    await row('Write three').waitFor()
  }

  test('a commit is split by files and lines, with two messages and a preview', async () => {
    await open()
    await row('Do both').click()
    await page.keyboard.press('p')
    const parts = dialog().getByRole('region', { name: 'Changes of the first commit' })
    await parts.getByRole('checkbox', { name: 'Change at line 3 of a.txt' }).check()
    // The first of two changed lines: the other one stays below it.
    await parts.getByRole('button', { name: 'pair.txt' }).click()
    await parts.getByRole('checkbox', { name: 'deleted if (one) {' }).check()
    await parts.getByRole('checkbox', { name: 'added if (two) {' }).check()
    // The preview of the changes chosen before is gone.
    await settled(page)
    await dialog().getByText('rewrites 4 commits').waitFor()
    const commits = dialog().getByRole('list', { name: 'What becomes of the commits' })
    await commits.getByRole('listitem').nth(4).getByText('Do both').waitFor()
    // The list follows the messages without a question to the server.
    const release = desk.proxy.hold('preview')
    await dialog().getByLabel('Message of the first commit').fill('Do the first')
    await dialog().getByLabel('Message of the second commit').fill('Do the\nsecond\n\nLater.')
    await commits.getByRole('listitem').nth(4).getByText('Do the first').waitFor()
    await commits.getByRole('listitem').nth(3).getByText('Do the second').waitFor()
    release()
    await dialog().getByLabel('Message of the second commit').fill('Do the second\n\nLater.')
    expect(await commits.getByRole('listitem').count()).toBe(5)
    expect(
      await parts.getByRole('checkbox', { name: 'All changes of a.txt' }).evaluate(it => it.matches(':indeterminate')),
    ).toBe(true)
    expect(await findings(page)).toEqual([])
    await dialog().getByRole('button', { name: 'Split', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    expect((await subjects()).slice(3)).toEqual(['Do the second', 'Do the first', 'Begin'])
    expect(await desk.git('show', 'main~4:a.txt')).toBe(text(LINES.with(2, 'second')).trimEnd())
    expect(await desk.git('show', 'main~4:pair.txt')).toBe('if (two) {\n  return 1\n}')
    expect(await desk.git('log', '-1', '--format=%b', 'main~3')).toBe('Later.')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await row('Do both').waitFor()
  })

  test('what was selected for a split, and both messages, are there again after Escape', async () => {
    await open()
    await row('Do both').click()
    await page.keyboard.press('p')
    const parts = dialog().getByRole('region', { name: 'Changes of the first commit' })
    await parts.getByRole('checkbox', { name: 'Change at line 3 of a.txt' }).check()
    await parts.getByRole('checkbox', { name: 'All changes of new.txt' }).check()
    await dialog().getByLabel('Message of the first commit').fill('Do the first')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    // Another commit has a choice of its own.
    await row('Write two').click()
    await page.keyboard.press('p')
    await dialog().getByText('Nothing is selected yet.').waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await row('Do both').click()
    await page.keyboard.press('p')
    await dialog().getByText('rewrites 4 commits').waitFor()
    await parts.getByRole('checkbox', { name: 'Change at line 3 of a.txt', checked: true }).waitFor()
    await parts.getByRole('checkbox', { name: 'Change at line 16 of a.txt', checked: false }).waitFor()
    await parts.getByRole('checkbox', { name: 'All changes of new.txt', checked: true }).waitFor()
    expect(await dialog().getByLabel('Message of the first commit').inputValue()).toBe('Do the first')
    await dialog().getByRole('button', { name: 'Split', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    expect(await desk.git('show', '--format=', '--name-only', 'main~4')).toBe('a.txt\nnew.txt')
    // A split that was done starts anew.
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await row('Do both').click()
    await page.keyboard.press('p')
    await dialog().getByText('Nothing is selected yet.').waitFor()
  })

  test('a split of a branch that was moved meanwhile is refused, and shows what it would do now', async () => {
    await open()
    await row('Do both').click()
    await page.keyboard.press('p')
    const parts = dialog().getByRole('region', { name: 'Changes of the first commit' })
    await parts.getByRole('checkbox', { name: 'All changes of new.txt' }).check()
    await dialog().getByText('rewrites 4 commits').waitFor()
    const release = desk.proxy.hold('do')
    const split = dialog().getByRole('button', { name: 'Split', exact: true })
    await split.click()
    await until(() => desk.proxy.count('do') === 1)
    const moved = await desk.commit('main', {}, { message: 'Moved' })
    release()
    const refusal = dialog().getByText('main was moved since this was previewed: nothing was done. Look at it again.')
    await refusal.waitFor()
    await dialog().getByText('rewrites 5 commits').waitFor()
    expect(await desk.tip('main')).toBe(moved)
    expect(await split.evaluate(it => it === document.activeElement)).toBe(false)
    // It goes with the next change.
    await dialog().getByLabel('Message of the first commit').fill('Add new.txt')
    await refusal.waitFor({ state: 'detached' })
    await split.click()
    await dialog().waitFor({ state: 'detached' })
    expect((await subjects()).slice(0, 6)).toEqual([
      ...['Moved', 'Write three', 'Write two', 'Write one'],
      ...['Do both', 'Add new.txt'],
    ])
  })

  test('a reordering that meets conflicts shows where, and each is resolved in the editor', async () => {
    const below = (await desk.git('rev-parse', 'main~3')).slice(0, 8)
    // The status bar names the commit that is applied, and the one that it comes after now.
    const places = [
      new RegExp(`\\(Write two\\) onto ${below}$`),
      /\(Write one\) onto [0-9a-f]{8} \(Write two\)$/,
      /\(Write three\) onto [0-9a-f]{8} \(Write one\)$/,
    ]
    await open()
    await row('Write one').click()
    await page.keyboard.press('Alt+ArrowUp')
    const commits = dialog().getByRole('list', { name: 'What becomes of the commits' })
    await commits.getByRole('listitem').filter({ hasText: 'Write two' }).getByText('conflicts here').waitFor()
    await dialog().getByRole('button', { name: 'Reorder and resolve 1 file' }).click()
    const files = page.getByRole('navigation', { name: 'Conflicted files' })
    for (const number of [1, 2, 3]) {
      await files.getByText(`Commit ${number} of 3`).waitFor()
      await page
        .locator('.seg')
        .filter({ hasText: places[number - 1] ?? '' })
        .waitFor()
      await files.getByRole('button', { name: 'same.txt' }).click()
      await page.getByRole('region', { name: 'Conflict 1 of 1' }).getByRole('button', { name: 'Theirs' }).click()
      await page.getByRole('button', { name: number === 3 ? 'Finish' : 'Finish this commit', exact: true }).click()
    }
    await until(async () => (await subjects())[1] === 'Write one')
    expect((await subjects()).slice(0, 3)).toEqual(['Write three', 'Write one', 'Write two'])
    expect(await desk.git('show', 'main:same.txt')).toBe('three')
  })
})
