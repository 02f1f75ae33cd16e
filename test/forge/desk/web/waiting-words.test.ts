/** The words for what waits in a branch: what it is called, and what goes with it when it is aborted. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, templateOf, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const LINES = 'one\ntwo\nthree\nfour\n'

/** `topic` and main have changed the same line, and main has changed it twice. */
const template = templateOf(async path => {
  const base = await commit(path, 'main', { 'a.txt': LINES, 'b.txt': LINES }, { message: 'Begin' })
  await commit(path, 'topic', { 'a.txt': LINES.replace('two', 'TOPIC') }, { message: 'Topic', parents: [base] })
  await commit(path, 'main', { 'a.txt': LINES.replace('two', 'MAIN') }, { message: 'README: fine' })
  await commit(path, 'main', { 'a.txt': LINES.replace('two', 'AGAIN') }, { message: 'Again' })
})

describe.skipIf(!hasBrowser)('what waits in a branch', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  const side = () => page.getByRole('complementary', { name: 'Side bar' })
  const status = () => page.getByRole('status', { name: 'Status' })
  const abortion = (what: string) => page.getByRole('dialog', { name: `Abort the ${what} in main?` })

  const land = async () => {
    const source = { commit: await desk.tip('topic'), words: 'topic' }
    await desk.ask({ ask: 'do', step: { step: 'land', source, onto: 'main' } })
    await side().getByText('0 of 1').waitFor()
  }

  test('is called a landing if it is one, also where it is updated and aborted', async () => {
    await land()
    await side().getByRole('heading', { name: 'Landing topic', exact: true }).waitFor()
    await status().getByText('main · landing').waitFor()
    await status().getByText('topic on main').waitFor()
    await page.getByRole('tab', { name: /^main ?, landing/ }).waitFor()
    await desk.commit('main', { 'later.txt': 'later\n' })
    await side().getByText('update the landing').waitFor()
    await side().getByRole('button', { name: 'Update' }).click()
    await page.getByText('Updated the landing to the newest commit of main').first().waitFor()
    await side().getByRole('button', { name: 'Abort' }).click()
    await abortion('landing').getByText('The landing ends, and main stays at its last commit.').waitFor()
    await abortion('landing').getByRole('button', { name: 'Abort' }).click()
    await page.locator('.toast').getByText('Aborted the landing in main.').waitFor()
  })

  test('is named by the commit that is reverted, not by its parent', async () => {
    const commit = await desk.git('rev-parse', 'main~1')
    await desk.ask({ ask: 'do', step: { step: 'revert', commits: [commit], onto: 'main' } })
    const words = `${commit.slice(0, 8)} (README: fine)`
    await side()
      .getByRole('heading', { name: `Reverting ${words}`, exact: true })
      .waitFor()
    await status().getByText(`${words} in main`).waitFor()
  })

  test('says before it is aborted in how many files something was resolved or typed, also beside an open conflict', async () => {
    const words = abortion('landing').getByText('goes with it')
    await land()
    await side().getByRole('button', { name: 'Abort' }).click()
    await abortion('landing').getByText('Undo restores it.').waitFor()
    expect(await words.count()).toBe(0)
    await page.keyboard.press('Escape')
    await side().getByRole('button', { name: 'a.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('LOST?')
    await side().getByText('1 left').waitFor()
    await side().getByRole('button', { name: 'Abort' }).click()
    await words.waitFor()
    expect(await words.textContent()).toBe(
      'What was resolved or typed in 1 file goes with it. Undo brings all of it back.',
    )
  })

  test('says before a rebase is aborted which of its commits were resolved already', async () => {
    const onto = { commit: await desk.tip('topic'), words: 'topic' }
    await desk.ask({ ask: 'do', step: { step: 'rebase', branch: 'main', onto } })
    await side().getByRole('button', { name: 'a.txt' }).click()
    await page.getByRole('region', { name: 'Conflict 1 of 1' }).getByRole('button', { name: 'Both' }).click()
    await side().getByRole('button', { name: 'Finish this commit' }).click()
    await side().getByText('commit 2 of 2').waitFor()
    await side().getByRole('button', { name: 'Abort' }).click()
    const words = 'What was resolved in 1 finished commit goes with it: “README: fine”. Undo brings all of it back.'
    await abortion('rebase').getByText(words).waitFor()
  })
})
