/** The tabs of files that are renamed or deleted outside of the desk, or by a step on the branch. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, NO_BROWSER } from '../../../support/browser.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { type DeskPage, SCENE_FILES, until, withEachPage } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

const [DESIGN, PLAN] = ['docs/design.md', 'docs/plan.md'] as const
const README = SCENE_FILES['README.md']
const text = SCENE_FILES[DESIGN]

describe.skipIf(!hasBrowser)('a tab whose file', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    {
      layout: {
        tabs: [
          { ...tabOf('main', ['README.md', DESIGN, 'AGENTS.md']), active: 'README.md' },
          tabOf('retry-jitter', ['FORK.md', DESIGN]),
        ],
        active: 0,
      },
    },
  )

  const editor = () => page.getByRole('textbox', { name: 'Editor' })
  const files = () => page.getByRole('tablist', { name: 'Files' })
  const shown = async () => (await files().getByRole('tab').allTextContents()).join()

  test('is renamed follows it, also when it was not shown since a reload', async () => {
    await editor().getByText('A queue.').waitFor()
    const before = await desk.tip('main')
    await desk.commit('main', { [DESIGN]: null, [PLAN]: text })
    await until(async () => (await shown()) === 'AI chat,README.md,plan.md,AGENTS.md')
    await desk.commit('main', { [PLAN]: null, 'docs/plans.md': text })
    await until(async () => (await shown()) === 'AI chat,README.md,plans.md,AGENTS.md')
    await desk.git('update-ref', 'refs/heads/main', before)
    await until(async () => (await shown()) === 'AI chat,README.md,design.md,AGENTS.md')
    await files().getByRole('tab', { name: 'design.md' }).click()
    await editor().getByText('A queue with').waitFor()
    // So does the tab in a branch that was not shown since then.
    await desk.commit('retry-jitter', { [DESIGN]: null, [PLAN]: text })
    await until(async () => JSON.stringify(await desk.layout()).includes(PLAN))
    await page.getByRole('tab', { name: 'retry-jitter' }).click()
    await until(async () => (await shown()) === 'AI chat,FORK.md,plan.md')
    await files().getByRole('tab', { name: 'plan.md' }).click()
    await editor().getByText('A queue with').waitFor()
  })

  const gone = (name: string) => page.getByRole('heading', { name: `${name} was deleted` })

  test('was deleted says so, by which commit, and comes back with the commit', async () => {
    await files().getByRole('tab', { name: 'design.md' }).click()
    await editor().getByText('A queue with').waitFor()
    await files().getByRole('tab', { name: 'README.md' }).click()
    await editor().getByText('A queue.').click()
    const before = await desk.tip('main')
    const deleted = { 'README.md': null, [DESIGN]: null, 'AGENTS.md': null }
    const commit = await desk.commit('main', deleted, { message: 'Drop the texts' })
    await gone('README.md').waitFor()
    // The other tabs say it, too, also the one that was not shown yet.
    for (const name of ['README.md', 'design.md', 'AGENTS.md'])
      await files()
        .getByRole('tab', { name: `${name} , deleted` })
        .waitFor()
    await page.getByRole('button', { name: `${commit.slice(0, 8)} Drop the texts` }).click()
    await page.getByRole('tab', { name: commit.slice(0, 8), exact: true, selected: true }).waitFor()
    await page.getByRole('tab', { name: `Changes of ${commit.slice(0, 8)}`, selected: true }).waitFor()
    await page.getByRole('tab', { name: 'main' }).click()
    await gone('README.md').waitFor()
    await files().getByRole('tab', { name: 'AGENTS.md , deleted' }).click()
    await gone('AGENTS.md').waitFor()
    await page.getByRole('button', { name: 'Restore' }).click()
    await editor().getByText('For agents').waitFor()
    await page.keyboard.press('Control+Alt+z')
    await gone('AGENTS.md').waitFor()
    await files().getByRole('tab', { name: 'README.md , deleted' }).click()
    await desk.git('update-ref', 'refs/heads/main', before)
    await editor().getByText('A queue.').waitFor()
    for (const name of ['README.md', 'design.md', 'AGENTS.md'])
      await files().getByRole('tab', { name, exact: true }).waitFor()
  })

  test('was deleted by a merge offers to restore it as a draft; undo of the merge brings it back', async () => {
    await editor().getByText('A queue.').click()
    await page.keyboard.press('Control+End')
    const main = await desk.tip('main')
    const source = await desk.commit('drop', { 'README.md': null }, { message: 'Drop it', parents: [main] })
    const step = { step: 'merge', source: { commit: source, branch: 'drop', words: 'drop' }, onto: 'main' } as const
    await desk.ask({ ask: 'do', step })
    await gone('README.md').waitFor()
    await page.keyboard.press('Control+Alt+z')
    await editor().getByText('A queue.').waitFor()
    await page.keyboard.press('Control+Alt+Shift+z')
    await gone('README.md').waitFor()
    await page.getByRole('button', { name: `${source.slice(0, 8)} Drop it` }).waitFor()
    await page.getByRole('button', { name: 'Restore' }).click()
    await files().getByRole('tab', { name: 'README.md , draft', selected: true }).waitFor()
    await desk.isText('main', 'README.md', README)
    await page.keyboard.press('Control+Alt+z')
    await gone('README.md').waitFor()
    expect(await desk.textOf('main', 'README.md')).toBe(undefined)
    await page.getByRole('button', { name: 'Close' }).click()
    await until(async () => (await shown()) === 'AI chat,design.md,AGENTS.md')
  })

  test('is not in the branch after a reset offers to restore it as it was, text or not, with its mode', async () => {
    const before = await desk.tip('main')
    await desk.commit('main', { 'run.sh': { mode: '100755', content: 'true\n' }, 'new.png': SCENE_FILES['logo.png'] })
    for (const name of ['run.sh', 'new.png']) {
      await page.getByRole('treeitem', { name }).dblclick()
      await files().getByRole('tab', { name, selected: true }).waitFor()
    }
    await page.locator('.picture img').waitFor()
    await desk.git('update-ref', 'refs/heads/main', before)
    for (const name of ['new.png', 'run.sh']) {
      await files()
        .getByRole('tab', { name: `${name} , deleted` })
        .click()
      await page.getByRole('heading', { name: `${name} is not in main`, exact: true }).waitFor()
      await page.getByRole('button', { name: 'Restore' }).click()
      await files()
        .getByRole('tab', { name: `${name} , draft` })
        .waitFor()
    }
    await editor().getByText('true').waitFor()
    await page.keyboard.press('Control+Shift+s')
    await desk.isMessage('main', 'add: new.png, run.sh')
    expect(await desk.git('ls-tree', 'main', 'run.sh')).toStartWith('100755')
  })

  test('is renamed while the connection is broken follows it', async () => {
    await editor().getByText('A queue.').waitFor()
    await desk.restart(() => desk.commit('main', { 'README.md': null, 'READ.md': README }))
    await until(async () => (await shown()) === 'AI chat,READ.md,design.md,AGENTS.md')
    await editor().getByText('A queue.').waitFor()
    expect(await page.getByText('was not found').count()).toBe(0)
  })
})
