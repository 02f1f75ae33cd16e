/** Forklift in the page: the fork with its runs, Run with its output, and a stuck run that is finished by hand. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openForge } from '../../../support/forge.ts'
import type { ForkliftCommand } from '../../../support/forklift-command.ts'
import { git, show } from '../../../support/git.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { expectExit, makeWorld } from '../../../support/world.ts'
import { findings } from './axe.ts'
import { openFork, STUCK_BRANCH, STUCK_RUN } from './forklift-scene.ts'
import { type DeskPage, openPage, until } from './page-scene.ts'

setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('Forklift', () => {
  let built: string
  let browser: OpenBrowser
  let desk: PageDesk
  let forklift: ForkliftCommand
  let page: DeskPage

  beforeAll(async () => {
    built = await builtPage()
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  describe('in a repository', () => {
    afterEach(async () => {
      expect(page.troubles).toEqual([])
      await page.close()
      await desk[Symbol.asyncDispose]()
    })

    const panel = () => page.getByRole('region', { name: 'Forklift', exact: true })
    const open = async () => {
      page = await openPage(browser.context, desk)
      await page.keyboard.press('Alt+0')
    }

    test('shows how far upstream is ahead, and each run with a word for its end', async () => {
      ;({ desk, forklift } = await openFork())
      await open()
      await panel().getByRole('heading', { name: 'Fork of quayside/tern' }).waitFor()
      await panel().getByText('3 ahead').waitFor()
      for (const words of ['Stuck', 'Merged', 'Out of time', 'Refused', 'Failed'])
        await panel().getByText(words).first().waitFor()
      expect(await panel().getByRole('link', { name: '#41' }).count()).toBe(1)
      // A run whose words take two lines does not cover the next one.
      const runs = panel().locator('.ref')
      const cut = await runs.evaluateAll(all => all.filter(it => it.scrollHeight > it.clientHeight).length)
      expect(cut).toBe(0)
      expect(await findings(page)).toEqual([])
    })

    test('is nothing but a sentence where there is no fork, and says so where there was no run', async () => {
      ;({ desk, forklift } = await openFork({ hasRun: false }))
      await open()
      await panel().getByText('No upstream remote').waitFor()
      expect(await panel().getByRole('button').count()).toBe(0)
      await desk.git('config', 'remote.upstream.url', 'https://github.com/quayside/tern.git')
      desk.proxy.say({ say: 'repository' })
      await panel().getByText('Forklift has not run here yet').waitFor()
      await panel().getByText('Upstream was not fetched yet').waitFor()
    })

    test('opens a stuck run by the keyboard as a branch in merging, with its letter beside the files', async () => {
      ;({ desk, forklift } = await openFork())
      await open()
      await panel()
        .getByRole('button', { name: /Stuck, 2 files in conflict/ })
        .focus()
      await page.keyboard.press('Enter')
      await page.getByRole('tab', { name: /forklift-20261122_101500 ?, merging/, selected: true }).waitFor()
      expect(desk.proxy.asked).toContainEqual(expect.objectContaining({ ask: 'open run', run: STUCK_RUN }))
      await page.getByRole('article', { name: 'STUCK.md, from Forklift' }).waitFor()
      await page.getByRole('navigation', { name: 'Conflicted files' }).getByRole('button', { name: 'claim.ts' }).click()
      await page.getByRole('complementary', { name: 'AI chat' }).getByText('Two conflicts need someone').waitFor()
    })

    test('begins the chat of a stuck run with the letter of its agent, whatever stands in it', async () => {
      ;({ desk, forklift } = await openFork())
      await desk.ask({ ask: 'open run', run: STUCK_RUN })
      await desk.ask({ ask: 'keep layout', layout: { tabs: [tabOf(STUCK_BRANCH)], active: 0 } })
      page = await openPage(browser.context, desk)
      const letter = page.getByRole('article', { name: 'STUCK.md, from Forklift' })
      await letter.getByText('Two conflicts need someone').waitFor()
      await letter.getByRole('heading', { name: 'What I could not decide' }).waitFor()
      expect(await letter.locator('img, script').count()).toBe(0)
      expect(await page.title()).not.toContain('pwned')
      await page.getByText('Forklift judges the merge and opens the pull request').waitFor()
    })

    test('runs with its lines as a log, and stops', async () => {
      ;({ desk, forklift } = await openFork())
      await open()
      await panel().getByRole('button', { name: 'Run Forklift' }).click()
      await panel().getByRole('button', { name: 'Stop Forklift' }).waitFor()
      await forklift.says('Fetching upstream/main')
      await forklift.says('<b>not bold</b> \u202Eturned')
      const log = panel().getByRole('log', { name: 'What Forklift says' })
      await log.getByText('Fetching upstream/main').waitFor()
      await log.getByText('<b>not bold</b> \\u202eturned').waitFor()
      expect(await findings(page)).toEqual([])
      await panel().getByRole('button', { name: 'Stop Forklift' }).click()
      await panel().getByText('Stopped.').waitFor()
      await panel().getByRole('button', { name: 'Run Forklift' }).waitFor()
    })

    test('says why it can’t be run', async () => {
      ;({ desk, forklift } = await openFork())
      await open()
      await panel().getByRole('button', { name: 'Run Forklift' }).waitFor()
      desk.proxy.refused.set('run forklift', 'Forklift is running already: wait for it, or stop it.')
      await panel().getByRole('button', { name: 'Run Forklift' }).click()
      await page.getByRole('alert').getByText('Forklift is running already').waitFor()
    })

    test('publishes a branch that goes on with a run, and shows the pull request or what it said', async () => {
      const finished = async (path: string) => await git(path, 'branch', STUCK_BRANCH, 'main')
      ;({ desk, forklift } = await openFork({ branches: [STUCK_BRANCH], prepare: finished }))
      page = await openPage(browser.context, desk)
      const strip = page.getByRole('region', { name: 'Publish with Forklift' })
      await strip.getByRole('button', { name: 'Publish' }).click()
      await forklift.says(`Judging ${STUCK_BRANCH}`)
      await strip.getByText(`Judging ${STUCK_BRANCH}`).waitFor()
      expect(await forklift.told()).toEqual([`--publish ${STUCK_BRANCH}`])
      await forklift.says('Refused: conflict markers are left in claim.ts.')
      await forklift.ends(3)
      await strip.getByText('The result was refused.').waitFor()
      await strip.getByText('Refused: conflict markers').first().waitFor()
      expect(await findings(page)).toEqual([])
      await strip.getByRole('button', { name: 'Publish again' }).click()
      const pullRequest = 'https://github.com/mira/tern/pull/42'
      await forklift.published('tern_20261122_120000', STUCK_BRANCH, pullRequest)
      await forklift.ends(0)
      await strip.getByRole('link', { name: pullRequest }).waitFor()
      expect(await strip.getByRole('button', { name: /Publish/ }).count()).toBe(0)
    })
  })

  test('gets stuck, is opened, finished by hand by the keyboard alone, and goes out as a pull request', async () => {
    await using world = await makeWorld()
    await world.agent('merge || true; printf "Which **greeting**?\\n" >STUCK.md; exit 4')
    expectExit(await world.run(), 4)
    await using forge = await openForge(world, built)
    const window = await browser.context.newPage()
    const troubles: string[] = []
    window.on('pageerror', error => troubles.push(String(error)))
    await window.goto(forge.address)
    await window.getByRole('tab', { name: 'Repository' }).waitFor()
    await window.keyboard.press('Alt+0')
    const panel = window.getByRole('region', { name: 'Forklift', exact: true })
    await panel.getByText('1 ahead').waitFor()
    await panel.getByRole('button', { name: /Stuck, 1 file in conflict/ }).focus()
    await window.keyboard.press('Enter')
    await window.getByRole('article', { name: 'STUCK.md, from Forklift' }).getByText('greeting').waitFor()
    await window.getByRole('button', { name: 'greeting.txt' }).getByText('1 left').waitFor()
    await window.keyboard.press('F8')
    const conflict = window.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
    await conflict.getByText('hello from upstream').waitFor()
    await until(() => conflict.evaluate(element => element === document.activeElement))
    await window.keyboard.press('3')
    await window.getByLabel('Commit message').waitFor()
    await window.keyboard.press('Alt+Shift+f')
    const strip = window.getByRole('region', { name: 'Publish with Forklift' })
    await strip.getByRole('button', { name: 'Publish' }).focus()
    await window.keyboard.press('Enter')
    await strip.getByRole('link', { name: 'https://github.com/me/fork/pull/1' }).waitFor({ timeout: 30_000 })
    expect(await show(world.origin, world.pull.headSha, 'greeting.txt')).toBe(
      'hello from the fork\nhello from upstream',
    )
    expect(troubles).toEqual([])
    await window.close()
  })
})
