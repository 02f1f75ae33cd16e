/** The work of a day on one small repository with a remote, by keyboard and mouse, as a person does it. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import { commit, git } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, showBranch, templateOf, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)
setDefaultTimeout(120_000)

const MIRA = { author: 'Mira Okafor <mira@example.com>' }

const GREET = 'export function greet(name: string): string {\n  const text = "Hello, "\n  return text + name\n}\n'
const FILES = {
  'src/words/greet.ts': GREET,
  'src/index.ts': "import { greet } from './words/greet'\n\nconsole.log(greet('world'))\n",
  'src/page.ts': "import { greet } from './words/greet'\n\nexport const title = greet('reader')\n",
  'test/greet.test.ts':
    "import { greet } from '../src/words/greet'\n\ntest('greets', () => expect(greet('a')).toBe('Hello, a'))\n",
  'NEWS.md': '# News\n\n- Nothing yet.\n',
}

const template = templateOf(async path => {
  const one = await commit(path, 'main', FILES, { ...MIRA, message: 'Greet' })
  await git(path, 'tag', 'v1.0', one)
  const two = await commit(path, 'main', { 'LICENSE.md': 'Free\n' }, { ...MIRA, message: 'Add a license' })
  await git(path, 'tag', 'v1.1', two)
})

/** Adds a remote with main, which the branch follows. */
async function withRemote(path: string): Promise<void> {
  await git(path, 'clone', '--quiet', '--bare', path, `${path}-origin.git`)
  await git(path, 'remote', 'add', 'origin', `${path}-origin.git`)
  await git(path, 'config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*')
  await git(path, 'fetch', '--quiet', 'origin')
  await git(path, 'branch', '--set-upstream-to', 'origin/main', 'main')
}

describe.skipIf(!hasBrowser)('a day', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template, prepare: withRemote },
  )

  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const type = (text: string) => page.keyboard.type(text)
  /** Confirms the dialog that is open, and waits until it is closed. */
  const confirm = async (keys = 'Control+Enter') => {
    await press(keys)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  const dialog = (name?: string | RegExp) => page.getByRole('dialog', name === undefined ? {} : { name })
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const isInEditor = () => page.evaluate(() => document.activeElement?.classList.contains('cm-content') ?? false)
  /** Opens a file at a place by its name, as `file:line:column`. */
  const goTo = async (place: string, text: string) => {
    await press('Control+p')
    await type(place)
    await page
      .getByRole('option', { name: new RegExp(place.split(':')[0] ?? '') })
      .first()
      .waitFor()
    await press('Enter')
    await page.getByRole('textbox', { name: 'Editor' }).getByText(text).first().waitFor()
    await until(isInEditor)
  }
  /** Waits until the page shows the newest commit of the branch as saved. */
  const isSaved = async (branch: string) =>
    await page
      .locator('.status .saved')
      .getByText((await desk.tip(branch)).slice(0, 8))
      .waitFor()
  const subjects = async (branch: string, count: number) =>
    (await desk.git('log', `-${count}`, '--format=%s', branch)).split('\n')
  const filesOf = async (commit: string) =>
    (await desk.git('show', '--format=', '--name-status', '-M', commit)).split('\n')

  test('a bug is fixed, a folder renamed, commits are mended, merged, pushed, reverted and reviewed', async () => {
    // A bug is fixed in three files, with a test: by the keyboard, and saved as one commit with subject and body.
    await press('Alt+Shift+b')
    await type('fix/greet')
    await press('Enter')
    await page.getByRole('tab', { name: 'fix/greet', selected: true }).waitFor()
    await goTo('greet.ts:2:10', 'Hello')
    await press('Control+Shift+l')
    await type('word')
    await goTo('index.ts:3:21', 'world')
    await press('Control+d')
    await type('World')
    await goTo('page.ts:3:29', 'reader')
    await press('Control+d')
    await type('Reader')
    await goTo('greet.test.ts:3', 'greets')
    await press('Control+Shift+Enter')
    await type("test('greets readers', () => expect(greet('B')).toBe('Hello, B'))")
    await desk.isText('fix/greet', 'test/greet.test.ts', text => text.includes("greet('B')).toBe('Hello, B'))"))
    await press('Alt+s')
    await until(async () => (await page.getByRole('textbox', { name: 'Subject' }).inputValue()).startsWith('edit: '))
    await type('Greet by names as they are written')
    await press('Tab')
    await type('They were all lower case.')
    await confirm()
    await desk.isMessage('fix/greet', 'Greet by names as they are written\n\nThey were all lower case.')
    expect(await filesOf('fix/greet')).toHaveLength(4)
    expect(await desk.git('show', 'fix/greet:src/words/greet.ts')).toBe(GREET.replaceAll('text', 'word').trimEnd())

    // A folder is renamed by its menu, with the imports of it in the same commit: by mouse, message in the status bar.
    await page.getByRole('treeitem', { name: /^words/ }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Rename…' }).click()
    await type('phrases')
    await dialog('Rename words').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('treeitem', { name: /^phrases/ }).waitFor()
    await button('Find in files').click()
    await button('Replace').click()
    await page.getByRole('textbox', { name: 'Find in files' }).fill('words/greet')
    await page.getByRole('textbox', { name: 'Replace in files' }).fill('phrases/greet')
    await button('Replace 3').click()
    await page.getByText('Replaced 3 matches in 3 files').first().waitFor()
    await page.getByRole('textbox', { name: 'Commit message' }).click()
    await type('Call them phrases')
    // No file is shown, so it saves all drafts.
    await page.locator('.save-form').getByRole('button', { name: /^Save/ }).click()
    await desk.isMessage('fix/greet', 'Call them phrases')
    expect(await filesOf('fix/greet')).toEqual([
      'M\tsrc/index.ts',
      'M\tsrc/page.ts',
      'R100\tsrc/words/greet.ts\tsrc/phrases/greet.ts',
      'M\ttest/greet.test.ts',
    ])

    // The last commit is amended with a draft; the one before it is reworded, and split into the code and its test.
    await goTo('NEWS.md:3:4', 'Nothing yet')
    await press('Control+d')
    await type('Phrases')
    await desk.isText('fix/greet', 'NEWS.md', '# News\n\n- Phrases yet.\n')
    await press('Alt+Shift+t')
    await dialog().getByText('Saves all drafts').waitFor()
    await dialog().getByText('rewrites 1 commit').waitFor()
    await confirm()
    await until(async () => (await filesOf('fix/greet')).includes('M\tNEWS.md'))
    await press('Alt+h')
    await page.getByRole('option', { name: /Greet by names/ }).click()
    await press('r')
    await dialog().locator('textarea:focus').waitFor()
    await press('End')
    await type(' (#7)')
    await dialog().getByText('rewrites 2 commits').waitFor()
    await confirm()
    await page.getByRole('option', { name: /#7/ }).click()
    await press('p')
    await dialog().getByRole('checkbox', { name: 'All changes of test/greet.test.ts' }).check()
    await dialog().getByLabel('Message of the first commit').fill('Test greetings')
    await dialog().getByText('rewrites 2 commits').waitFor()
    await dialog().getByRole('list').getByText('Test greetings').waitFor()
    await dialog().getByRole('button', { name: 'Split' }).click()
    await dialog().waitFor({ state: 'detached' })
    await until(async () => (await subjects('fix/greet', 2))[1] === 'Greet by names as they are written (#7)')
    expect(await subjects('fix/greet', 4)).toEqual([
      'Call them phrases',
      'Greet by names as they are written (#7)',
      'Test greetings',
      'Add a license',
    ])

    // It is merged and pushed; the push meets a commit of someone else, and the pull a conflict.
    await showBranch(page, 'main')
    await press('Alt+Shift+5')
    await dialog()
      .getByRole('option', { name: /fix\/greet/ })
      .waitFor()
    await press('Enter')
    await dialog().getByText('fast-forward', { exact: true }).waitFor()
    await confirm()
    await until(async () => (await subjects('main', 1))[0] === 'Call them phrases')
    await isSaved('main')
    const origin = `${desk.path}-origin.git`
    await commit(origin, 'main', { 'NEWS.md': '# News\n\n- A license.\n' }, { ...MIRA, message: 'Tell of the license' })
    await press('Alt+v')
    await dialog('Push main').getByText('3 commits to origin/main').waitFor()
    await press('Enter')
    await dialog('Push main').getByText('pull first').waitFor()
    await dialog('Push main').getByRole('button', { name: 'Pull…' }).click()
    await dialog(/^Pull/).getByText('1 file in conflict').waitFor()
    await confirm()
    await page.locator('.conflict-box:focus').waitFor()
    await press('3')
    await page.getByText('1 of 1 resolved').waitFor()
    await button('Finish').click()
    await until(async () => (await desk.git('rev-list', '--merges', '--count', 'main')) === '1')
    await isSaved('main')
    expect(await desk.git('show', 'main:NEWS.md')).toBe('# News\n\n- Phrases yet.\n- A license.')
    await press('Alt+v')
    await dialog('Push main').getByText('4 commits to origin/main').waitFor()
    await confirm('Enter')
    await until(async () => (await git(origin, 'rev-parse', 'main')) === (await desk.tip('main')))

    // The commit that changed a line is found from the line, and reverted.
    await goTo('index.ts:3', 'World')
    await press('Control+Alt+g')
    await page.getByRole('listbox', { name: 'History of line 3 of index.ts' }).getByText('#7').waitFor()
    await until(() => page.evaluate(() => document.activeElement?.getAttribute('role') === 'listbox'))
    await press('e')
    await dialog(/^Revert/)
      .getByText('cleanly')
      .waitFor()
    await confirm()
    await until(async () => (await subjects('main', 1))[0]?.startsWith('Revert "Greet by names') === true)
    await isSaved('main')
    expect(await desk.git('show', 'main:src/index.ts')).toContain("greet('world')")

    // The push meets another commit; after the pull, its notice offers the push again.
    await commit(origin, 'main', { 'AUTHORS.md': 'Mira\n' }, { ...MIRA, message: 'Name the authors' })
    await press('Alt+v')
    await dialog('Push main').getByText('1 commit to origin/main').waitFor()
    await press('Enter')
    await dialog('Push main').getByRole('button', { name: 'Pull…' }).click()
    await dialog(/^Pull/).getByText('merges cleanly').waitFor()
    await confirm()
    await page.locator('.toast').getByRole('button', { name: 'Push…' }).click()
    await dialog('Push main').getByText('2 commits to origin/main').waitFor()
    await confirm('Enter')
    await until(async () => (await git(origin, 'rev-parse', 'main')) === (await desk.tip('main')))

    // A comment of the review is answered after its line has changed as it wants.
    await showBranch(page, 'main')
    await press('Control+Alt+r')
    await page.getByRole('combobox', { name: 'Branch, tag or commit' }).fill('v1.0')
    await page.getByRole('option', { name: /v1\.0/ }).first().waitFor()
    await press('Enter')
    const news = page.getByRole('article', { name: 'NEWS.md', exact: true })
    await news.getByRole('button', { name: 'Comment on line 3' }).last().click()
    await type('Which ones?')
    await press('Control+Enter')
    await page.getByRole('article', { name: 'Comment of' }).getByText('Which ones?').waitFor()
    await goTo('NEWS.md:3', 'Phrases')
    await press('End')
    await type(' All of them.')
    await desk.isText('main', 'NEWS.md', text => text.includes('yet. All of them.'))
    await press('Control+s')
    await desk.isMessage('main', 'edit: NEWS.md')
    await press('Alt+r')
    const others = page.getByRole('region', { name: 'Comments on other lines' })
    await others.getByRole('button', { name: 'Reply' }).click()
    await type('All of them.')
    await press('Control+Enter')
    await others.getByRole('article').nth(1).getByText('All of them.').waitFor()
    await others.getByRole('button', { name: 'Resolve' }).first().click()
    await others.getByText('Resolved').waitFor()

    // Two releases are compared, by the menu of a tag.
    await press('Alt+0')
    await page.getByText('v1.1', { exact: true }).first().click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Compare with…' }).first().click()
    await page.getByRole('combobox', { name: 'Branch, tag or commit' }).fill('v1.0')
    await page.getByRole('option', { name: /v1\.0/ }).first().waitFor()
    await press('Enter')
    await button('against v1.0').waitFor()
    await page.getByRole('article', { name: 'LICENSE.md', exact: true }).getByText('Free').waitFor()
    expect(await page.getByRole('article').count()).toBe(1)
  })
})
