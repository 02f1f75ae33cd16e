/** Forklift in the page: the fork with its runs, Run with what it says, and a stuck run that a person finishes. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openForge } from '../../../support/forge.ts'
import { show } from '../../../support/git.ts'
import { expectExit, makeWorld } from '../../../support/world.ts'
import { FORK, ForkliftStandIn } from '../merging-stand-in.ts'
import type { StandIn } from '../web-stand-in.ts'
import { findings } from './axe.ts'
import { RUNS } from './forklift-scene.ts'
import { BRANCH, STUCK, withMerging } from './merging-scene.ts'
import { type DeskPage, openDesk, startScene, until } from './scene.ts'

setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('Forklift', () => {
  let built: string
  let browser: OpenBrowser
  let desk: StandIn
  let forklift: ForkliftStandIn
  let page: DeskPage

  beforeAll(async () => {
    built = await builtPage()
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  describe('in a repository', () => {
    beforeEach(async () => {
      desk = await startScene(built)
      forklift = new ForkliftStandIn(desk)
      forklift.info = { ...FORK, runs: RUNS }
    })
    afterEach(async () => {
      expect(page.troubles).toEqual([])
      await page.close()
      await desk.stop()
    })

    const panel = () => page.getByRole('region', { name: 'Forklift', exact: true })
    const open = async () => {
      page = await openDesk(browser.context, desk)
      await page.keyboard.press('Alt+0')
    }

    test('shows how far upstream is ahead, and each run with a word for its end', async () => {
      await open()
      await panel().getByRole('heading', { name: 'Fork of quayside/tern' }).waitFor()
      await panel().getByText('37 ahead').waitFor()
      for (const words of ['Stuck', 'Merged', 'Out of time', 'Refused', 'Failed'])
        await panel().getByText(words).first().waitFor()
      expect(await panel().getByRole('link', { name: '#41' }).count()).toBe(1)
      expect(await findings(page)).toEqual([])
    })

    test('is nothing but a sentence where there is no fork, and says so where there was no run', async () => {
      forklift.info = { missing: 'This is no fork that Forklift knows.', runs: [], isRunning: false }
      await open()
      await panel().getByText('This is no fork').waitFor()
      expect(await panel().getByRole('button').count()).toBe(0)
      forklift.info = { runs: [], isRunning: false }
      desk.say({ say: 'repository' })
      await panel().getByText('Forklift has not run here yet').waitFor()
      await panel().getByText('Upstream was not fetched yet').waitFor()
    })

    test('opens a stuck run by the keyboard as a branch in merging, with its letter beside the files', async () => {
      const merging = withMerging(desk)
      merging.forklift = { run: 'tern_20261122_101500', stuck: 'Which one?' }
      desk.layout = undefined
      forklift.opens = BRANCH
      await open()
      await panel()
        .getByRole('button', { name: /Stuck, 2 conflicts/ })
        .focus()
      await page.keyboard.press('Enter')
      await page.getByRole('tab', { name: /upstream-2.14 ?, merging/, selected: true }).waitFor()
      expect(desk.asked).toContainEqual(expect.objectContaining({ ask: 'open run', run: 'tern_20261122_101500' }))
      await page.getByRole('article', { name: 'STUCK.md, from Forklift' }).waitFor()
      await page.getByRole('navigation', { name: 'Conflicted files' }).getByRole('button', { name: 'claim.ts' }).click()
      await page.getByRole('complementary', { name: 'AI chat' }).getByText('Which one?').waitFor()
    })

    test('begins the chat of a stuck run with the letter of its agent, whatever stands in it', async () => {
      withMerging(desk).forklift = { run: 'tern_20261122_101500', stuck: STUCK }
      page = await openDesk(browser.context, desk)
      const letter = page.getByRole('article', { name: 'STUCK.md, from Forklift' })
      await letter.getByText('Two conflicts need someone').waitFor()
      await letter.getByRole('heading', { name: 'What I could not decide' }).waitFor()
      expect(await letter.locator('img, script').count()).toBe(0)
      expect(await page.title()).not.toContain('pwned')
      await page.getByText('Forklift judges the merge and opens the pull request').waitFor()
    })

    test('runs with its lines as a log, and stops', async () => {
      await open()
      await panel().getByRole('button', { name: 'Run Forklift' }).click()
      await panel().getByRole('button', { name: 'Stop Forklift' }).waitFor()
      forklift.line('Fetching upstream/main')
      forklift.line('<b>not bold</b> \u202Eturned')
      const log = panel().getByRole('log', { name: 'What Forklift says' })
      await log.getByText('Fetching upstream/main').waitFor()
      await log.getByText('<b>not bold</b> \\u202eturned').waitFor()
      expect(await findings(page)).toEqual([])
      await panel().getByRole('button', { name: 'Stop Forklift' }).click()
      await panel().getByText('Stopped.').waitFor()
      await panel().getByRole('button', { name: 'Run Forklift' }).waitFor()
    })

    test('says why it can’t be run', async () => {
      desk.refused.set('run forklift', 'Forklift is running already: wait for it, or stop it.')
      await open()
      await panel().getByRole('button', { name: 'Run Forklift' }).click()
      await page.getByRole('alert').getByText('Forklift is running already').waitFor()
    })

    test('publishes a branch that goes on with a run, and shows the pull request or what it said', async () => {
      const [stuck] = RUNS
      if (!stuck) throw new Error('There is no run')
      forklift.info = { ...FORK, runs: [{ ...stuck, branch: 'main' }] }
      page = await openDesk(browser.context, desk)
      const strip = page.getByRole('region', { name: 'Publish with Forklift' })
      await strip.getByRole('button', { name: 'Publish' }).click()
      await until(() => desk.asked.some(it => it.ask === 'publish' && it.branch === 'main'))
      forklift.line('Judging main')
      await strip.getByText('Judging main').waitFor()
      forklift.line('Refused: conflict markers are left in claim.ts.')
      forklift.end(3)
      await strip.getByText('The result was refused.').waitFor()
      await strip.getByText('Refused: conflict markers').first().waitFor()
      expect(await findings(page)).toEqual([])
      await strip.getByRole('button', { name: 'Publish again' }).click()
      const pullRequest = 'https://github.com/quayside/tern/pull/42'
      const made = { ...stuck, run: 'tern_20261122_120000', end: 'merged', isByHand: true, canOpen: false } as const
      forklift.info = { ...forklift.info, runs: [{ ...made, branch: 'main', pullRequest }, ...forklift.info.runs] }
      forklift.end(0)
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
