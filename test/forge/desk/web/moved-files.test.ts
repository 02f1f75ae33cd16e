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

  test('is renamed while the connection is broken follows it', async () => {
    await editor().getByText('A queue.').waitFor()
    await desk.restart(() => desk.commit('main', { 'README.md': null, 'READ.md': README }))
    await until(async () => (await shown()) === 'AI chat,READ.md,design.md,AGENTS.md')
    await editor().getByText('A queue.').waitFor()
    expect(await page.getByText('was not found').count()).toBe(0)
  })
})
