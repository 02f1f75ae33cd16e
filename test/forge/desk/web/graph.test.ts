/** The repository view in a real browser: the graph, drag and drop, and the same by keyboard. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { serveGit } from '../../../doubles/git-http.ts'
import { hasBrowser, NO_BROWSER, type OpenBrowser, openBrowser, workOf } from '../../../support/browser.ts'
import { commit, git, gitWith } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { randomFrom } from '../../../support/random.ts'
import { findings } from './axe.ts'
import { type DeskPage, openPage, openScene, templateOf, until } from './page-scene.ts'

if (!hasBrowser) console.warn(NO_BROWSER)

const lines = (changes: Record<number, string> = {}) =>
  Array.from({ length: 30 }, (_, at) => `${changes[at] ?? `export const line${at} = ${at}`}\n`).join('')

const MIRA = { author: 'Mira Okafor <mira@example.com>' }

/**
 * main with 31 commits, and branches that begin at its first one: topic merges cleanly into main and has conflicts in
 * two files with clash-metrics; same-docs contains all of topic.
 */
const template = templateOf(async path => {
  const first = await commit(
    path,
    'main',
    { 'lease.ts': lines(), 'queue.ts': lines() },
    { ...MIRA, message: 'Begin main' },
  )
  for (let at = 0; at < 30; at++) {
    const message = `Change ${at} of main\n\nWhy ${at}.`
    await commit(path, 'main', { 'lease.ts': lines({ 2: `// ${at}` }) }, { ...MIRA, message })
  }
  for (const branch of ['clash-metrics', 'topic']) {
    const text = lines({ 20: `// ${branch}` })
    const files = { 'lease.ts': text, 'queue.ts': text }
    await commit(path, branch, files, { ...MIRA, message: `Begin ${branch}`, parents: [first] })
  }
  await git(path, 'branch', 'same-docs', 'topic')
  await commit(path, 'same-docs', { 'docs.md': '# Docs\n' }, { ...MIRA, message: 'Begin same-docs' })
})

/** A fast-import command for a commit without files of its own. */
function emptyCommit(
  branch: string,
  { message, at, parents }: { message: string; at: number; parents: string[] },
): string {
  const [first, ...others] = parents
  return [
    `commit refs/heads/${branch}`,
    `mark :${at}`,
    `committer Mira Okafor <mira@example.com> ${1_700_000_000 + at * 60} +0000`,
    `data ${message.length}\n${message}`,
    ...(first === undefined ? [] : [`from ${first}`]),
    ...others.map(parent => `merge ${parent}`),
    '',
  ].join('\n')
}

/** Commits in some branches that merge each other now and then. The oldest has the highest number. */
const manyCommits = (count: number, branches: number) =>
  templateOf(async path => {
    const random = randomFrom(4)
    const tips = new Map<number, number>()
    let words = ''
    for (let at = 1; at <= count; at++) {
      const line = at > count - branches ? count - at : random.below(branches)
      const first = tips.get(line) ?? (at > 1 ? 1 : undefined)
      const other = at > 41 && random.chance(0.2) ? at - 1 - random.below(40) : undefined
      const parents = [...new Set([first, other])].flatMap(it => (it === undefined ? [] : [`:${it}`]))
      words += emptyCommit(line === 0 ? 'main' : `line-${line}`, { message: `Change ${count - at}`, at, parents })
      tips.set(line, at)
    }
    await gitWith(path, ['fast-import', '--quiet', '--force'], words)
  })

describe.skipIf(!hasBrowser)('the repository view', () => {
  let browser: OpenBrowser
  let desk: PageDesk
  let page: DeskPage

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    desk = await openScene({ template })
    page = await openPage(browser.context, desk)
  })
  afterEach(async () => {
    expect(page.troubles).toEqual([])
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  const list = () => page.getByRole('listbox', { name: 'Commits' })
  const selected = () => list().locator('[aria-selected="true"]')
  const dialog = () => page.getByRole('dialog')
  const label = (branch: string) => page.locator(`.graph-row .label[data-branch="${branch}"]`)
  const open = async () => {
    await page.keyboard.press('Alt+0')
    await page.locator('.graph-row .subject').first().waitFor()
    await list().focus()
  }
  const middleOf = async (branch: string) => {
    const box = await label(branch).boundingBox()
    if (!box) throw new Error(`${branch} is not to be seen`)
    return [box.x + box.width / 2, box.y + box.height / 2] as const
  }
  /** Opens the page of another repository. */
  const openOther = async (other: () => Promise<string>) => {
    await page.close()
    await desk[Symbol.asyncDispose]()
    desk = await openScene({ template: other })
    page = await openPage(browser.context, desk)
    await open()
  }
  const dragTo = async (from: string, to: string) => {
    await page.mouse.move(...(await middleOf(from)))
    await page.mouse.down()
    const [x, y] = await middleOf(from)
    await page.mouse.move(x + 10, y + 4)
    await label(to).locator('.why').waitFor()
    await page.mouse.move(...(await middleOf(to)), { steps: 3 })
  }

  test('all history is a list: each row has its branches, its author and its parents', async () => {
    await open()
    expect(await list().getAttribute('aria-activedescendant')).toBe('row-0')
    const words = /^branch topic Begin topic , after [0-9a-f]{8}, by Mira Okafor [0-9a-f]{8} \S+ \S+$/
    await page.getByRole('option', { name: words }).waitFor()
    await page.getByRole('option', { name: /Begin main , first commit, by Mira Okafor/ }).waitFor({ state: 'attached' })
    const second = page.getByRole('option', { name: /^Change 28 of main , after [0-9a-f]{8}, by Mira Okafor/ })
    expect(await second.getAttribute('aria-posinset')).toBe('5')
    await page.getByText('34 commits').waitFor()
  })

  test('a commit is reverted in a branch that has it: those without it come last, and say so', async () => {
    await open()
    await page.getByRole('option', { name: /Begin same-docs/ }).click()
    await page.keyboard.press('e')
    const branches = page.getByRole('dialog').getByRole('listbox', { name: 'Branches' }).getByRole('option')
    await branches.filter({ hasText: 'main' }).getByText('does not have the commit').waitFor()
    expect(await branches.first().textContent()).toStartWith('same-docs')
    expect(await branches.first().getAttribute('aria-selected')).toBe('true')
    expect(await page.getByText('does not have the commit').count()).toBe((await branches.count()) - 1)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: /in same-docs$/ }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('a first start shows it', async () => {
    await using first = await openScene({ template, layout: 'none' })
    const other = await openPage(browser.context, first)
    await other.getByRole('tab', { name: 'Repository', selected: true }).waitFor()
    await other.getByRole('option', { name: /Change 29 of main/ }).waitFor()
    await other.close()
  })

  test('what came while the desk was away is there when it is back', async () => {
    await open()
    desk.proxy.say({ say: 'progress', words: 'Fetching…' })
    await page.locator('.graph-bar .progress').waitFor()
    const comeBack = desk.proxy.goAway()
    await page.getByText('The desk does not answer').waitFor()
    await desk.commit('main', {}, { message: 'Made in a terminal' })
    comeBack()
    await page.getByRole('option', { name: /Made in a terminal/ }).waitFor()
    await until(async () => (await page.locator('.graph-bar .progress').count()) === 0)
  })

  test('what can be done is in the palette, too', async () => {
    await open()
    await page.keyboard.press('Control+k')
    await page
      .getByRole('option', { name: /Open a branch/ })
      .first()
      .waitFor()
    expect(await page.getByRole('option', { name: /Command palette/ }).count()).toBe(0)
    await page.keyboard.type('>push same-docs')
    await page.keyboard.press('Enter')
    await page.getByText('No remote to push to').waitFor()
  })

  test('the keys move through it, show a commit, and open it as it was', async () => {
    await open()
    await page.keyboard.press('End')
    await until(async () => (await selected().getAttribute('id')) === 'row-33')
    await page.keyboard.press('Home')
    for (let at = 0; at < 6; at++) await page.keyboard.press('ArrowDown')
    await until(async () => (await selected().getAttribute('id')) === 'row-6')
    await page.getByRole('complementary', { name: 'Commit' }).getByText('Why 26.').waitFor()
    await page.keyboard.press('Space')
    await until(async () => page.evaluate(() => document.activeElement?.classList.contains('detail') === true))
    await page.keyboard.press('Escape')
    await until(async () => page.evaluate(() => document.activeElement?.getAttribute('role') === 'listbox'))
    await page.keyboard.press('PageDown')
    await until(async () => Number((await selected().getAttribute('id'))?.slice(4)) > 20)
    await page.keyboard.press('Enter')
    await page.getByText('Files at').first().waitFor()
  })

  test('a commit is found by what it says, and the next one by Enter', async () => {
    await open()
    await page.keyboard.press('/')
    await page.keyboard.type('change 1')
    await page.getByText('1 of 11 commits').waitFor()
    await until(async () => (await selected().textContent())?.startsWith('Change 19') === true)
    await page.keyboard.press('Enter')
    await page.getByText('2 of 11 commits').waitFor()
    await page.keyboard.press('Shift+Enter')
    await page.getByText('1 of 11 commits').waitFor()
    await page.keyboard.press('Escape')
    await until(async () => (await page.locator('.graph-row.found').count()) === 0)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('listbox')
  })

  test('subjects begin at one place, whatever lanes pass by, and each commit has its dot, at 800 pixels too', async () => {
    await openOther(manyCommits(400, 24))
    const starts = () =>
      page.locator('.graph-row').evaluateAll(all => [
        ...new Set(
          all.flatMap(row => {
            const subject = row.querySelector('.subject')
            return subject ? [subject.getBoundingClientRect().left - row.getBoundingClientRect().left] : []
          }),
        ),
      ])
    // The rows without a dot: no run of pixels in their middle is wider than a line.
    const rowsWithoutDot = () =>
      page.locator('.lane-tiles canvas').evaluateAll(([first]) => {
        const canvas = first as HTMLCanvasElement
        const context = canvas.getContext('2d') as CanvasRenderingContext2D
        const height = 26 * devicePixelRatio
        const without: number[] = []
        for (let row = 0; row < 20; row++) {
          const { data } = context.getImageData(0, Math.round((row + 0.5) * height), canvas.width, 1)
          let [run, widest] = [0, 0]
          for (let x = 0; x < canvas.width; x++) {
            run = (data[4 * x + 3] ?? 0) > 128 ? run + 1 : 0
            widest = Math.max(widest, run)
          }
          if (widest < 6 * devicePixelRatio) without.push(row)
        }
        return without
      })
    const [start = 0, ...others] = await starts()
    expect(others).toEqual([])
    expect(start).toBeLessThan(140)
    expect(await rowsWithoutDot()).toEqual([])
    const cutLabels = () =>
      page
        .locator('.label.short .ref-name')
        .evaluateAll(all => all.filter(name => name.scrollWidth > name.clientWidth).map(name => name.textContent))
    expect(await cutLabels()).toEqual([])
    await page.setViewportSize({ width: 800, height: 700 })
    await until(async () => (await page.locator('.graph-list').boundingBox())?.width !== undefined)
    expect(await cutLabels()).toEqual([])
    await until(async () => (await starts()).length === 1)
    expect(await rowsWithoutDot()).toEqual([])
    // Panning shows the lanes beyond the column, and the others keep their dots.
    for (let pan = 0; pan < 8; pan++) await page.keyboard.press('ArrowRight')
    expect(await rowsWithoutDot()).toEqual([])
  })

  /** The middles of the dots of the first rows, in pixels, without those that are the same: the lanes that are seen. */
  const dotPlaces = () =>
    page.locator('.lane-tiles canvas').evaluateAll(([first]) => {
      const canvas = first as HTMLCanvasElement
      const context = canvas.getContext('2d') as CanvasRenderingContext2D
      const places = new Set<number>()
      for (let row = 0; row < 20; row++) {
        const middle = Math.round((row + 0.5) * 26 * devicePixelRatio)
        const pixels = new Uint32Array(context.getImageData(0, middle, canvas.width, 1).data.buffer)
        // A dot is the widest run of one colour.
        let [run, widest, end] = [0, 0, 0]
        for (let x = 0; x < pixels.length; x++) {
          run = pixels[x] !== 0 && pixels[x] === pixels[x - 1] ? run + 1 : 0
          if (run > widest) [widest, end] = [run, x]
        }
        places.add(Math.round((end - widest / 2) / devicePixelRatio))
      }
      return [...places].sort((one, other) => one - other)
    })
  const leastDistance = (places: number[]) =>
    Math.min(...places.slice(1).map((place, at) => place - (places[at] as number)))

  test('the lanes of a stash that is made meanwhile have room, and stay apart when it is selected', async () => {
    const folder = `${desk.path}-checkout`
    await desk.git('worktree', 'add', '--quiet', folder, 'topic')
    await open()
    const before = (await dotPlaces()).length
    await writeFile(join(folder, 'queue.ts'), 'Put away\n')
    await writeFile(join(folder, 'new.ts'), 'New\n')
    await desk.git('-C', folder, '-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash', '-u')
    await page.locator('.graph-row .label').filter({ hasText: 'stash@{0}' }).click()
    await until(async () => (await dotPlaces()).length > before)
    expect(leastDistance(await dotPlaces())).toBeGreaterThanOrEqual(13)
  })

  test('no line connects the commits of lanes without room, which are of different branches', async () => {
    await openOther(manyCommits(400, 24))
    /** The rows between whose commits and the next ones something is drawn at the edge of the lanes. */
    const connected = () =>
      page.locator('.lane-tiles canvas').evaluateAll(([first]) => {
        const canvas = first as HTMLCanvasElement
        const context = canvas.getContext('2d') as CanvasRenderingContext2D
        const edge = canvas.width - Math.round(8 * devicePixelRatio)
        const rows = Array.from({ length: 20 }, (_, row) => row)
        return rows.filter(row => {
          const { data } = context.getImageData(edge - 1, Math.round((row + 1) * 26 * devicePixelRatio), 3, 1)
          return [3, 7, 11].some(at => data[at] !== 0)
        })
      })
    expect((await dotPlaces()).length).toBeGreaterThan(5)
    expect(await connected()).toEqual([])
  })

  test('lanes that are scrolled sideways are never drawn upon each other', async () => {
    await openOther(manyCommits(400, 24))
    await list().hover()
    const seen = new Set<string>()
    for (let turn = 0; turn < 14; turn++) {
      const places = await dotPlaces()
      expect(leastDistance(places)).toBeGreaterThanOrEqual(5)
      seen.add(places.join())
      await page.mouse.wheel(5, 0)
      await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
    }
    expect(seen.size).toBeGreaterThan(5)
  })

  test('panes are resized and hidden, and are so again after a restart', async () => {
    await open()
    const edge = page.getByRole('separator', { name: 'Width of the commit' })
    const commit = page.getByRole('complementary', { name: /^Commit/ })
    const width = async () => (await commit.boundingBox())?.width
    const before = (await width()) ?? 0
    await edge.focus()
    await page.keyboard.press('ArrowLeft')
    await until(async () => (await width()) === before + 16)
    const { x = 0, y = 0 } = (await edge.boundingBox()) ?? {}
    await page.mouse.move(x + 4, y + 200)
    await page.mouse.down()
    await page.mouse.move(x - 60, y + 200, { steps: 4 })
    await page.mouse.up()
    await until(async () => (await width()) === before + 16 + 64)
    await page.getByRole('button', { name: 'Branches and tags' }).click()
    await page.getByRole('complementary', { name: 'Refs' }).waitFor({ state: 'detached' })
    await until(async () => (await desk.layout())?.panes?.refs?.isShown === false)
    expect((await desk.layout())?.panes?.commit?.width).toBe(before + 80)
    await page.reload()
    await page.keyboard.press('Alt+0')
    await until(async () => (await width()) === before + 80)
    expect(await page.getByRole('complementary', { name: 'Refs' }).count()).toBe(0)
    await page.getByRole('separator', { name: 'Width of the commit' }).dblclick()
    await until(async () => (await width()) === before)
  })

  test('a commit opens large: its message as it was written and the diff of every file; the arrows go on', async () => {
    await open()
    await page.getByRole('option', { name: /Change 29 of main/ }).click()
    await page.keyboard.press('o')
    const commit = page.getByRole('complementary', { name: /^Commit/ })
    await commit.locator('.written').waitFor()
    expect(await page.getByRole('complementary', { name: 'Refs' }).count()).toBe(0)
    const [wide, list] = [await commit.boundingBox(), await page.locator('.graph-list').boundingBox()]
    expect(wide?.width ?? 0).toBeGreaterThan(list?.width ?? 0)
    const first = await commit.getByRole('heading').first().textContent()
    await page.keyboard.press('ArrowDown')
    await until(async () => (await commit.getByRole('heading').first().textContent()) !== first)
    await page.keyboard.press('Escape')
    await page.getByRole('complementary', { name: 'Refs' }).waitFor()
    // In a narrow window it covers the list, and a search in all commits shows that again.
    await page.setViewportSize({ width: 800, height: 700 })
    await page.keyboard.press('o')
    await page.locator('.graph-list').waitFor({ state: 'hidden' })
    await page.keyboard.press('Alt+g')
    await page.locator('.graph-list').waitFor()
    await page.getByRole('textbox', { name: 'Find a commit' }).waitFor()
  })

  test('Ctrl+F opens the search of commits, and goes back to it from the list', async () => {
    await open()
    await page.keyboard.press('Control+f')
    const field = page.getByRole('textbox', { name: 'Find a commit' })
    await field.and(page.locator(':focus')).waitFor()
    await page.keyboard.type('topic')
    await page.getByRole('listbox', { name: 'Commits' }).focus()
    await page.keyboard.press('Control+f')
    await page.keyboard.type('main')
    expect(await field.inputValue()).toBe('main')
  })

  test('what was selected stays so when a commit comes above it', async () => {
    await open()
    for (let at = 0; at < 5; at++) await page.keyboard.press('ArrowDown')
    const before = await selected().textContent()
    await desk.commit('topic', {}, { message: 'Newest of all' })
    await page.getByRole('option', { name: 'Newest of all' }).waitFor()
    await until(async () => (await selected().getAttribute('id')) === 'row-6')
    expect(await selected().textContent()).toBe(before)
  })

  test('Home shows and selects the newest commit, also one that came while the list was scrolled down', async () => {
    await openOther(manyCommits(400, 4))
    await page.keyboard.press('End')
    await page.getByRole('option', { name: 'Change 399' }).waitFor()
    await desk.commit('main', {}, { message: 'Newest of all' })
    await page.getByText('401 commits').waitFor()
    await page.keyboard.press('Home')
    await page.getByRole('option', { name: 'Newest of all', selected: true }).waitFor()
    await page
      .getByRole('complementary', { name: /^Commit/ })
      .getByText('Newest of all')
      .waitFor()
  })

  test('a filter keeps the selected commit, scrolls to it, and says so where it hides it', async () => {
    await openOther(manyCommits(400, 24))
    const commitPane = page.getByRole('complementary', { name: /^Commit/ })
    const isInView = async () => {
      const [row, box] = [await selected().boundingBox(), await list().boundingBox()]
      return row !== null && box !== null && row.y >= box.y && row.y + row.height <= box.y + box.height
    }
    const choose = async (filter: string) => {
      await page.getByTitle('Which branches, tags and remotes are shown').click()
      await page.getByRole('menuitem', { name: filter }).click()
    }
    // The first commit of all is in each branch, and far below the first rows.
    await page.keyboard.press('End')
    await until(async () => (await selected().getAttribute('id')) === 'row-399')
    await commitPane.getByRole('heading', { name: 'Change 399' }).waitFor()
    await choose('main only')
    await until(async () => (await selected().textContent())?.startsWith('Change 399') === true && (await isInView()))
    await commitPane.getByRole('heading', { name: 'Change 399' }).waitFor()
    await choose('All refs')
    await until(async () => (await selected().getAttribute('id')) === 'row-399' && (await isInView()))
    // The newest commit of line-1 is not in main.
    const side = page.getByRole('navigation', { name: 'Branches and tags' })
    await side.getByRole('button', { name: /^line-1,|^line-1$/ }).click()
    await until(async () => /branch line-1(?!\d)/.test((await selected().textContent()) ?? ''))
    const subject = (await commitPane.getByRole('heading').first().textContent()) ?? ''
    await side.getByRole('button', { name: /^main/ }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Show only this' }).click()
    await commitPane.getByText('Hidden by the filter of the graph').waitFor()
    await commitPane.getByRole('heading', { name: subject }).waitFor()
    expect(await selected().count()).toBe(0)
    await commitPane.getByRole('button', { name: 'Show all refs' }).click()
    await until(async () => (await selected().textContent())?.includes(subject) === true && (await isInView()))
    await commitPane.getByText('Hidden by the filter of the graph').waitFor({ state: 'hidden' })
  })

  test('several commits are selected by Shift and Ctrl; their hashes are copied, and they are cherry-picked in one step', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await open()
    const option = (name: string) => page.getByRole('option', { name: new RegExp(`(^| )${name} ,`) })
    await option('Begin same-docs').click()
    await option('Change 28 of main').click({ modifiers: ['Control'] })
    expect(await selected().count()).toBe(2)
    await page.getByText('2 commits selected; this one was selected last').waitFor()
    await option('Change 28 of main').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Copy 2 commit hashes' }).click()
    const ids = [await desk.tip('same-docs'), await desk.git('rev-parse', 'main~1')]
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === ids.join('\n'))
    // Ctrl takes one of them out again, and a click without it selects that one alone.
    await option('Change 28 of main').click({ modifiers: ['Control'] })
    expect(await selected().count()).toBe(1)
    await option('Begin topic').click()
    expect(await selected().count()).toBe(1)
    for (let at = 0; at < 2; at++) await page.keyboard.press('Shift+ArrowDown')
    await until(async () => (await selected().count()) === 3)
    await page.keyboard.press('Shift+ArrowUp')
    await until(async () => (await selected().count()) === 2)
    await page.keyboard.press('Escape')
    await until(async () => (await selected().count()) === 1)
    // The oldest comes first, in whatever order they were selected.
    await option('Begin same-docs').click()
    await option('Begin topic').click({ modifiers: ['Control'] })
    const before = await desk.tip('main')
    await page.keyboard.press('c')
    await dialog().getByRole('combobox').fill('main')
    await page.keyboard.press('Enter')
    await dialog().getByRole('heading', { name: '2 commits → main' }).waitFor()
    await dialog().getByRole('button', { name: 'Cherry-pick', exact: true }).click()
    await until(async () => (await desk.tip('main')) !== before)
    expect((await desk.git('log', '--format=%s', `${before}..main`)).split('\n')).toEqual([
      'Begin same-docs',
      'Begin topic',
    ])
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.tip('main')) === before)
  })

  test('the tooltips of a branch say in which folder it is checked out, and its deletion why it is refused', async () => {
    const folder = join(desk.path, '../checked-out')
    await open()
    await desk.git('worktree', 'add', '--quiet', folder, 'topic')
    const title = `topic, checked out in ${folder}`
    await page.locator('.graph-row').getByTitle(title).first().waitFor()
    const refs = page.getByRole('navigation', { name: 'Branches and tags' })
    await refs.getByTitle(title).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await dialog().getByText(`It is checked out in ${folder}: first switch to another branch there.`).waitFor()
    await page.keyboard.press('Escape')
    await refs.getByTitle(title).dblclick()
    await page.getByRole('tab', { name: 'topic', selected: true }).and(page.getByTitle(title)).waitFor()
    await desk.git('worktree', 'remove', folder)
    await page.getByTitle(title).first().waitFor({ state: 'detached' })
  })

  test('a key of one commit says so where several are selected; one of a history, where that is', async () => {
    await open()
    const says = (words: string) => page.locator('.toast').getByText(words).waitFor()
    await page.getByRole('option', { name: /(^| )Change 28 of main ,/ }).click()
    await page.keyboard.press('p')
    await says('“Split…” is in the history of a branch (Alt H).')
    await page.keyboard.press('Shift+ArrowDown')
    await until(async () => (await selected().count()) === 2)
    await page.keyboard.press('r')
    await says('“Rebase onto…” is for one commit: select only one.')
    await page.keyboard.press('Shift+E')
    await says('“Revert some changes as drafts…” is in the history of a branch (Alt H).')
    await page.keyboard.press('t')
    await says('“New tag here…” is for one commit: select only one.')
    await page.keyboard.press('p')
    await says('“Split…” is in the history of a branch (Alt H).')
    expect(await dialog().count()).toBe(0)
    expect(await selected().count()).toBe(2)
  })

  test('selected commits are in the order of the graph, also when others came above them meanwhile', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await open()
    const option = (name: string) => page.getByRole('option', { name: new RegExp(`(^| )${name} ,`) })
    await option('Change 26 of main').click()
    await option('Change 24 of main').click({ modifiers: ['Control'] })
    for (const name of ['One', 'Two', 'Three']) await desk.commit('main', { [name]: name }, { message: name })
    await option('Three').waitFor()
    await until(async () => (await selected().count()) === 2)
    await option('Change 25 of main').click({ modifiers: ['Control'] })
    await option('Change 25 of main').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Copy 3 commit hashes' }).click()
    const ids = (await desk.git('log', '--format=%H', '--grep=^Change 2[456]', 'main')).split('\n')
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === ids.join('\n'))
  })

  test('Shift extends a selection of several from its first commit, also when others came above it meanwhile', async () => {
    await open()
    const option = (name: string) => page.getByRole('option', { name: new RegExp(`(^| )${name} ,`) })
    const active = () => list().locator('.active')
    const areSelected = async (...subjects: string[]) => {
      await until(async () => `${await selected().locator('.subject > bdi').allInnerTexts()}` === `${subjects}`)
    }
    const changes = (from: number, to: number) =>
      Array.from({ length: from - to + 1 }, (_, at) => `Change ${from - at} of main`)
    await option('Change 26 of main').click()
    await option('Change 24 of main').click({ modifiers: ['Shift'] })
    await areSelected(...changes(26, 24))
    await desk.commit('topic', {}, { message: 'Newest of all' })
    await option('Newest of all').waitFor()
    await active().filter({ hasText: 'Change 24 of main' }).waitFor()
    await page.keyboard.press('Shift+ArrowDown')
    await areSelected(...changes(26, 23))
    await desk.commit('topic', {}, { message: 'Newer still' })
    await option('Newer still').waitFor()
    await active().filter({ hasText: 'Change 23 of main' }).waitFor()
    await option('Change 21 of main').click({ modifiers: ['Shift'] })
    await areSelected(...changes(26, 21))
  })

  test('several commits are reverted by keys and by the palette, in a branch that has them', async () => {
    await open()
    const before = await desk.tip('main')
    await page.getByRole('option', { name: /(^| )Change 28 of main ,/ }).click()
    await page.keyboard.press('Shift+ArrowDown')
    await until(async () => (await selected().count()) === 2)
    await page.keyboard.press('e')
    const branches = dialog().getByRole('listbox', { name: 'Branches' }).getByRole('option')
    await branches.filter({ hasText: 'topic' }).getByText('does not have the commits').first().waitFor()
    await branches.first().getByText('1 file in conflict, at commit 1 of 2').waitFor()
    expect(await branches.first().textContent()).toStartWith('main')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.getByRole('option', { name: /(^| )Change 29 of main ,/ }).click()
    await page.keyboard.press('Shift+ArrowDown')
    await until(async () => (await selected().count()) === 2)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('>revert 2 commits')
    await page.keyboard.press('Enter')
    await branches.first().getByText('reverts cleanly').waitFor()
    await page.keyboard.press('Enter')
    await dialog().getByRole('heading', { name: 'Revert 2 commits in main' }).waitFor()
    await dialog().getByText('reverts cleanly').waitFor()
    await page.keyboard.press('Enter')
    await until(async () => (await desk.tip('main')) !== before)
    expect((await desk.git('log', '--format=%s', `${before}..main`)).split('\n')).toEqual([
      'Revert "Change 28 of main"',
      'Revert "Change 29 of main"',
    ])
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.tip('main')) === before)
  })

  test('commits that follow one another are squashed by the menu, with the plan and the message before', async () => {
    await open()
    const before = await desk.tip('main')
    const option = (name: string) => page.getByRole('option', { name: new RegExp(`(^| )${name} ,`) })
    await desk.git('update-ref', 'refs/remotes/origin/main', 'main')
    await option('Change 28 of main').click()
    await option('Change 26 of main').click({ modifiers: ['Shift'] })
    await until(async () => (await selected().count()) === 3)
    await option('Change 27 of main').click({ button: 'right' })
    await page.getByRole('menuitem', { name: /^Squash 3 commits…/ }).click()
    const branches = dialog().getByRole('listbox', { name: 'Branches' }).getByRole('option')
    await branches.filter({ hasText: 'topic' }).getByText('does not have the commits').first().waitFor()
    await branches.filter({ hasText: 'main' }).first().dblclick()
    await dialog().getByRole('heading', { name: 'Squash 3 commits in main' }).waitFor()
    // The plan, the message, and what is pushed already, as of other rewritings.
    await dialog().getByText('rewrites 4 commits').waitFor()
    await dialog()
      .getByText(/on a remote/)
      .first()
      .waitFor()
    const message = dialog().getByLabel('Commit message')
    await until(async () => (await message.inputValue()).includes('Why 28.'))
    await message.fill('Three changes')
    await dialog().getByRole('button', { name: 'Squash', exact: true }).click()
    await until(async () => (await desk.tip('main')) !== before)
    const subjects = async () => (await desk.git('log', '-3', '--format=%s', 'main')).split('\n')
    const squashed = ['Change 29 of main', 'Three changes', 'Change 25 of main']
    expect(await subjects()).toEqual(squashed)
    expect(await desk.git('diff', before, 'main')).toBe('')
    await option('Three changes').waitFor()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.tip('main')) === before)
    await desk.git('update-ref', '-d', 'refs/remotes/origin/main')
  })

  test('commits are squashed by keys and by the palette, and not where they do not follow one another', async () => {
    await open()
    const before = await desk.tip('main')
    const option = (name: string) => page.getByRole('option', { name: new RegExp(`(^| )${name} ,`) })
    await option('Change 29 of main').click()
    await option('Change 27 of main').click({ modifiers: ['Control'] })
    await page.keyboard.press('s')
    await page.locator('.toast').getByText('Only several commits that follow one another').waitFor()
    expect(await dialog().count()).toBe(0)
    await option('Change 27 of main').click({ button: 'right' })
    await page.getByRole('menuitem', { name: /^Revert 2 commits…/ }).waitFor()
    expect(await page.getByRole('menuitem', { name: /^Squash/ }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await option('Change 29 of main').click()
    await page.keyboard.press('Shift+ArrowDown')
    await until(async () => (await selected().count()) === 2)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('>squash 2 commits')
    await page.keyboard.press('Enter')
    await dialog().getByRole('listbox', { name: 'Branches' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('s')
    await dialog().getByRole('listbox', { name: 'Branches' }).waitFor()
    await page.keyboard.press('Enter')
    await dialog().getByText('rewrites 2 commits').waitFor()
    await page.keyboard.press('Control+Enter')
    await until(async () => (await desk.tip('main')) !== before)
    expect((await desk.git('log', '-2', '--format=%s', 'main')).split('\n')).toEqual([
      'Change 28 of main',
      'Change 27 of main',
    ])
    // The old commits are gone, and no longer selected.
    await until(async () => (await selected().count()) === 1)
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.tip('main')) === before)
  })

  test('a branch at the side leads to its commit', async () => {
    await open()
    await page.keyboard.press('End')
    await page.getByRole('navigation', { name: 'Branches and tags' }).getByRole('button', { name: 'topic' }).click()
    await until(async () => (await selected().textContent())?.includes('branch topic') === true)
  })

  test('a drag says on every branch how it would come out, and shows what a drop would do', async () => {
    await open()
    await dragTo('topic', 'main')
    expect(await label('main').locator('.why').textContent()).toBe('clean')
    expect(await label('clash-metrics').locator('.why').textContent()).toBe('conflict in 2 files')
    expect(await label('same-docs').locator('.why').textContent()).toBe('nothing to do')
    const preview = page.getByRole('status', { name: 'Preview of the drop' })
    await preview.getByText('merges cleanly').waitFor()
    await page.mouse.move(...(await middleOf('clash-metrics')), { steps: 3 })
    await preview.getByText('lease.ts').waitFor()
    await page.keyboard.press('Escape')
    await until(async () => (await page.locator('.why').count()) === 0)
    await page.mouse.up()
    expect(await dialog().count()).toBe(0)
  })

  test('a drag of one of several selected commits takes all of them, and leaves the focus ring on the last one', async () => {
    await open()
    const row = (subject: string) => page.getByRole('option', { name: new RegExp(`^${subject} of main , after`) })
    await row('Change 28').click()
    await row('Change 26').click({ modifiers: ['Shift'] })
    await page.getByText('3 commits selected').waitFor()
    const { x = 0, y = 0 } = (await row('Change 27').locator('.subject').boundingBox()) ?? {}
    await page.mouse.move(x + 4, y + 4)
    await page.mouse.down()
    await page.mouse.move(x + 20, y + 8)
    await page.locator('.drag-ghost').getByText('3 commits').waitFor()
    await page.mouse.move(...(await middleOf('topic')), { steps: 3 })
    const preview = page.getByRole('status', { name: 'Preview of the drop' })
    await preview.getByText('3 commits → topic').waitFor()
    await preview.getByText('Drop to pick').waitFor()
    await page.mouse.up()
    await dialog().getByRole('heading', { name: '3 commits → topic' }).waitFor()
    await dialog()
      .getByText(/changes of 3 commits/)
      .waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(await list().evaluate(it => it === document.activeElement)).toBe(true)
    await list().locator('.active').filter({ hasText: 'Change 26' }).waitFor()
  })

  test('the preview of a drop names the branch, also where its outcome is long', async () => {
    const files = (text: string) => ({ 'lease.ts': lines({ 20: text }) })
    const first = await desk.commit('two', files('// first of two'), { message: 'First of two' })
    await desk.commit('two', files('// second of two'), { message: 'Second of two', parents: [first] })
    await open()
    await page.getByRole('option', { name: /Second of two/ }).click()
    await page.getByRole('option', { name: /First of two/ }).click({ modifiers: ['Shift'] })
    await page.getByText('2 commits selected').waitFor()
    await page.getByRole('option', { name: /First of two/ }).hover()
    await page.mouse.down()
    await page.mouse.move(...(await middleOf('clash-metrics')), { steps: 5 })
    const preview = page.getByRole('status', { name: 'Preview of the drop' })
    await preview.getByText('1 file in conflict, at commit 1 of 2').waitFor()
    const name = preview.getByText('2 commits → clash-metrics')
    expect(await name.evaluate(it => it.clientHeight < 30 && it.scrollWidth <= it.clientWidth)).toBe(true)
    await page.keyboard.press('Escape')
    await page.mouse.up()
  })

  test('the list of branches keeps its order during a drag, so that no other branch comes under the pointer', async () => {
    await open()
    const refs = page.getByRole('navigation', { name: 'Branches and tags' }).locator('[data-branch]')
    const order = async () => (await refs.evaluateAll(all => all.map(it => it.dataset.branch))).join(' ')
    const before = await order()
    await page.mouse.move(...(await middleOf('topic')))
    await page.mouse.down()
    await page.mouse.move(10, 300, { steps: 5 })
    await page.locator('.drag-ghost').waitFor()
    await desk.commit('clash-metrics', {}, { message: 'Newest of all' })
    await desk.commit('added', {}, { message: 'Added meanwhile' })
    await page.getByRole('option', { name: 'Newest of all' }).waitFor()
    await refs.filter({ hasText: 'added' }).waitFor()
    expect(await order()).toBe(`${before} added`)
    await page.keyboard.press('Escape')
    await page.mouse.up()
    await until(async () => (await order()) !== `${before} added`)
  })

  test('a dragged commit that changes a file which the branch never had says so, with room for its name', async () => {
    await open()
    await desk.commit('topic', { 'src/typing_demo.ts': 'one\n' }, { message: 'Add the demo' })
    await desk.commit(
      'topic',
      { 'src/typing_demo.ts': 'two\n' },
      { message: 'Change the demo, in words that are many' },
    )
    const subject = page.locator('.graph-row .subject').getByText('Change the demo')
    await subject.hover()
    await page.mouse.down()
    await page.mouse.move(...(await middleOf('main')), { steps: 5 })
    const row = page.getByRole('status', { name: 'Preview of the drop' }).locator('.conflict-row')
    await row.getByText('not in main, changed in').waitFor()
    const name = row.getByText('src/typing_demo.ts')
    expect(await name.evaluate(it => it.clientWidth > 0 && it.scrollWidth <= it.clientWidth)).toBe(true)
    await page.keyboard.press('Escape')
    await page.mouse.up()
  })

  test('a drag shows the names of files in conflict also where their paths are long', async () => {
    const folder = 'gson/src/main/java/com/google/gson/stream'
    const [reader, writer] = [`${folder}/JsonReader.java`, `${folder}/JsonWriter.java`]
    for (const branch of ['main', 'topic'])
      await desk.commit(branch, { [reader]: `${branch}\n`, [writer]: `${branch}\n` }, MIRA)
    await open()
    // The rows and the labels of branches arrive apart.
    for (const branch of ['main', 'topic'])
      await page
        .locator('.graph-row')
        .filter({ hasText: 'JsonReader.java' })
        .locator(`[data-branch="${branch}"]`)
        .waitFor()
    await dragTo('topic', 'main')
    const rows = page.getByRole('status', { name: 'Preview of the drop' }).locator('.conflict-row')
    for (const [at, name] of ['JsonReader.java', 'JsonWriter.java'].entries()) {
      const shown = rows.nth(at).getByText(name, { exact: true })
      await shown.waitFor()
      const [box, row] = [await shown.boundingBox(), await rows.nth(at).boundingBox()]
      expect(box && row && box.x + box.width <= row.x + row.width && box.y < row.y + row.height).toBe(true)
      expect(await shown.evaluate(it => it.clientWidth > 0 && it.scrollWidth <= it.clientWidth)).toBe(true)
    }
    await page.keyboard.press('Escape')
    await page.mouse.up()
  })

  describe('by touch', () => {
    const touch = async () => {
      const session = await browser.context.newCDPSession(page)
      await session.send('Emulation.setTouchEmulationEnabled', { enabled: true })
      return (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
        session.send('Input.dispatchTouchEvent', { type, touchPoints })
    }
    const placeOf = async (branch: string) => {
      const [x, y] = await middleOf(branch)
      return { x, y }
    }

    test('a finger that stays picks up, and drops on a branch', async () => {
      await open()
      const send = await touch()
      const from = await placeOf('topic')
      await send('touchStart', from)
      await label('main').locator('.why').waitFor()
      const to = await placeOf('clash-metrics')
      for (const part of [0.3, 0.6, 1])
        await send('touchMove', { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) })
      const preview = page.getByRole('status', { name: 'Preview of the drop' })
      await preview.getByText('lease.ts').waitFor()
      const box = await preview.boundingBox()
      expect(box && (box.y + box.height < to.y || box.y > to.y)).toBe(true)
      await send('touchEnd')
      await dialog().getByRole('button', { name: 'Merge and resolve 2 files' }).waitFor()
      expect(await page.getByRole('menu').count()).toBe(0)
    })

    test('a finger that stays and is lifted opens the menu', async () => {
      await open()
      const send = await touch()
      await send('touchStart', await placeOf('topic'))
      await label('main').locator('.why').waitFor()
      await send('touchEnd')
      await page.getByRole('menuitem', { name: 'Rebase onto…' }).waitFor()
      expect(await page.locator('.why').count()).toBe(0)
    })

    test('a finger that moves at once scrolls, and picks nothing up', async () => {
      await open()
      const send = await touch()
      const { x, y } = await placeOf('main')
      await send('touchStart', { x, y: y + 300 })
      for (const moved of [30, 60, 90, 120, 150]) await send('touchMove', { x, y: y + 300 - moved })
      await send('touchEnd')
      await until(async () => (await list().evaluate(element => element.scrollTop)) > 60)
      expect(await page.locator('.drag-ghost').count()).toBe(0)
    })
  })

  test('a drop asks how, is done as it was previewed, and can be undone', async () => {
    await mkdir(join(desk.path, 'hooks'), { recursive: true })
    await writeFile(join(desk.path, 'hooks/pre-commit'), '#!/bin/sh\n', { mode: 0o755 })
    const before = await desk.tip('main')
    await open()
    await dragTo('topic', 'main')
    await page.mouse.up()
    await dialog().getByText('merges cleanly').waitFor()
    await dialog().getByRole('tab', { name: 'Land' }).click()
    await dialog().getByText('pre-commit').first().waitFor()
    await dialog().getByRole('textbox', { name: 'Commit message' }).fill('Land what topic has')
    await dialog().getByRole('button', { name: 'Land' }).click()
    await desk.isMessage('main', 'Land what topic has')
    expect(await desk.git('diff', '--name-only', 'main^', 'main')).toBe('lease.ts\nqueue.ts')
    expect(await desk.git('rev-parse', 'main^')).toBe(before)
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.tip('main')) === before)
  })

  test('the files of the conversation with the AI are folded in dialogs and commits, and not counted', async () => {
    const files = {
      'queue.ts': lines({ 5: '// here' }),
      '.forge/session.json': '{}\n',
      '.forge/.gitattributes': '* x\n',
    }
    await desk.commit('topic', files, { message: 'Talk' })
    await open()
    await page.getByRole('option', { name: /Talk/ }).click()
    const commit = page.getByRole('complementary', { name: /^Commit/ })
    const areFolded = async (place: Locator, sum: RegExp) => {
      await place.getByText('Conversation with the AI').waitFor()
      expect(await place.textContent()).toMatch(sum)
      expect(await place.getByText('session.json').count()).toBe(0)
      await place.getByRole('button', { name: 'Conversation with the AI' }).click()
      await place.getByRole('button', { name: 'session.json' }).click()
      await place.getByRole('region', { name: 'Diff of .forge/session.json' }).waitFor()
    }
    await areFolded(commit, /1 file\+2−2/)
    await page.keyboard.press('Escape')
    await list().focus()
    await page.keyboard.press('c')
    await dialog().getByRole('combobox').fill('main')
    await page.keyboard.press('Enter')
    await dialog().getByRole('heading', { name: /main$/ }).waitFor()
    await dialog().getByRole('tab', { name: 'Move' }).click()
    await areFolded(dialog(), /2 files\+3−3/)
    expect(await findings(page)).toEqual([])
  })

  test('the dialog of a step with many files in conflict scrolls its body alone', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `test/shouldComponentUpdate.${at}.test.jsx`)
    for (const branch of ['main', 'topic'])
      await desk.commit(branch, Object.fromEntries(names.map(name => [name, `${branch}\n`])), MIRA)
    await page.setViewportSize({ width: 1280, height: 657 })
    await open()
    await page.locator('.graph-row .subject').filter({ hasText: 'shouldComponentUpdate' }).nth(1).waitFor()
    await dragTo('topic', 'main')
    await page.mouse.up()
    await dialog()
      .getByRole('button', { name: /^Merge and resolve/ })
      .waitFor()
    const hiddenIn = (box: Locator) => box.evaluate(it => it.scrollHeight - it.clientHeight)
    expect(await hiddenIn(dialog().getByRole('tabpanel'))).toBeGreaterThan(0)
    expect(await hiddenIn(dialog())).toBe(0)
  })

  test('a branch that is dropped on a remote branch is rebased onto it, and a commit says why not', async () => {
    await desk.git('update-ref', 'refs/remotes/origin/next', await desk.commit('next', {}, { message: 'Next' }))
    await desk.git('update-ref', '-d', 'refs/heads/next')
    await desk.git('remote', 'add', 'origin', desk.path)
    await open()
    const remote = page.locator('.graph-row .label[data-ref="refs/remotes/origin/next"]')
    await remote.waitFor()
    const dragOver = async (target: Locator) => {
      const box = await target.boundingBox()
      if (!box) throw new Error('origin/next is not to be seen')
      await page.mouse.down()
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 5 })
    }
    const drop = async () => {
      await dragOver(remote)
      await page.mouse.up()
    }
    // It shows that a drop is possible there, and what it would do: in the graph, and in the list of branches.
    const refs = page.getByRole('navigation', { name: 'Branches and tags' })
    await refs.getByRole('button', { name: 'origin' }).click()
    const preview = page.getByRole('status', { name: 'Preview of the drop' })
    for (const target of [remote, refs.locator('[data-ref="refs/remotes/origin/next"]')]) {
      await page.mouse.move(...(await middleOf('topic')))
      await dragOver(target)
      await preview.getByText('topic → origin/next').waitFor()
      await preview.getByText('rebases cleanly').waitFor()
      await preview.getByText('Drop to rebase').waitFor()
      await until(() => target.evaluate(it => getComputedStyle(it).boxShadow !== 'none'))
      await page.keyboard.press('Escape')
      await page.mouse.up()
      await preview.waitFor({ state: 'detached' })
    }
    await page.mouse.move(...(await middleOf('topic')))
    await drop()
    await dialog().getByRole('heading', { name: 'Rebase topic onto origin/next' }).waitFor()
    await dialog().getByRole('button', { name: 'Rebase', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.graph-row .subject').filter({ hasText: 'Change 28 of main' }).hover()
    await dragOver(remote)
    expect(await preview.count()).toBe(0)
    await page.mouse.up()
    await page.locator('.toast').getByText('origin/next is a remote branch, which only a push moves').waitFor()
    expect(await dialog().count()).toBe(0)
  })

  test('a merge with conflicts goes on in the branch’s tab', async () => {
    await open()
    await dragTo('topic', 'clash-metrics')
    await page.mouse.up()
    await dialog().getByRole('button', { name: 'Merge and resolve 2 files' }).click()
    await page.getByRole('tab', { name: 'clash-metrics', selected: true }).waitFor()
  })

  test('a drag onto a branch whose drafts are to be saved first goes by Enter to the button that does that', async () => {
    await desk.ask({ ask: 'new file', branch: 'clash-metrics', path: 'new.txt' })
    await open()
    await dragTo('topic', 'clash-metrics')
    await page.mouse.up()
    const save = dialog().getByRole('button', { name: 'Save all drafts' })
    await save.waitFor()
    const before = await desk.tip('clash-metrics')
    await page.keyboard.press('Enter')
    await until(() => save.evaluate(it => it === document.activeElement))
    expect(await desk.tip('clash-metrics')).toBe(before)
    await page.keyboard.press('Enter')
    await dialog().getByRole('button', { name: 'Merge and resolve 2 files' }).waitFor()
    expect(await desk.tip('clash-metrics')).not.toBe(before)
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'clash-metrics', selected: true }).waitFor()
  })

  test('what moved meanwhile is said, and the dialog stays', async () => {
    await open()
    await dragTo('topic', 'main')
    await page.mouse.up()
    await dialog().getByText('merges cleanly').waitFor()
    const release = desk.proxy.hold('do')
    await dialog().getByRole('button', { name: 'Merge', exact: true }).click()
    await until(() => desk.proxy.count('do') === 1)
    const moved = await desk.commit('main', {}, { message: 'Moved' })
    release()
    const refusal = dialog().getByText('was moved since this was previewed')
    await refusal.waitFor()
    await until(() => desk.proxy.count('preview') >= 3)
    expect(await desk.tip('main')).toBe(moved)
    await dialog().getByLabel('Commit message').fill('Merge it')
    await refusal.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await until(async () => (await dialog().count()) === 0)
  })

  test('all that a drag does is there by keyboard', async () => {
    await open()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: 'Merge into…' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('r')
    await dialog()
      .getByRole('option', { name: /clash-metrics.*2 files in conflict/ })
      .waitFor()
    await page.keyboard.type('main')
    await until(async () => (await dialog().getByRole('option').count()) === 1)
    await page.keyboard.press('Enter')
    await dialog().getByRole('tab', { name: 'Rebase', selected: true }).waitFor()
    await dialog().getByText('rebases cleanly').waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowRight')
    await dialog().getByText('rebases cleanly').waitFor()
    for (let tabs = 0; tabs < 12; tabs++) {
      if (
        await page.evaluate(
          () => document.activeElement?.textContent === 'Rebase' && document.activeElement.matches('[type="submit"]'),
        )
      )
        break
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await until(async () => (await desk.git('merge-base', 'main', 'topic')) === (await desk.tip('main')))
    expect(await desk.messageOf('topic')).toBe('Begin topic')
    await until(async () => (await dialog().count()) === 0)
    await until(async () => page.evaluate(() => document.activeElement?.getAttribute('role') === 'listbox'))
    // The rebased commit is the newest.
    const topic = page.getByRole('option', { name: /^branch topic Begin topic/ })
    await until(() => topic.evaluate(row => row.id === 'row-0'))
    await topic.click()
    await list().focus()
    for (const [key, title] of [
      ['b', 'New branch'],
      ['t', 'New tag at '],
      ['c', 'Cherry-pick topic onto…'],
      ['l', 'Land topic on…'],
      ['v', 'Move a branch to topic'],
    ] as const) {
      await page.keyboard.press(key)
      await dialog().getByRole('heading', { name: title }).waitFor()
      await page.keyboard.press('Escape')
      await until(async () => (await dialog().count()) === 0)
    }
  })

  test('a commit is chosen by Enter that is pressed before the commits with these words have come', async () => {
    const answer = desk.proxy.hold('find commits')
    await page.keyboard.press('Alt+Shift+7')
    await dialog().getByRole('heading', { name: 'Cherry-pick a commit onto' }).waitFor()
    await page.keyboard.type('Begin topic')
    await page.keyboard.press('Enter')
    await until(() => desk.proxy.count('find commits') > 0)
    answer()
    await dialog()
      .getByText(/^Applies the changes of [0-9a-f]{8} to main/)
      .waitFor()
  })

  test('a fetch shows what git says, and can be stopped', async () => {
    await using server = serveGit(join(desk.path, '..'), { delay: 60_000 })
    await desk.git('remote', 'add', 'origin', `${server.url}/origin.git`)
    await open()
    await page.getByRole('toolbar').getByRole('button', { name: 'Fetch' }).click()
    await until(() => desk.proxy.count('do') === 1)
    // The desk's own first report may come after this one, and take its place.
    const words = 'Receiving objects: 40 %'
    await until(async () => {
      desk.proxy.say({ say: 'progress', words })
      return (await page.getByText(words).count()) > 0
    })
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('The fetch was stopped').first().waitFor()
    await page.getByRole('toolbar').getByRole('button', { name: 'Fetch' }).waitFor()
  })

  test('in 200 branches the words are there soon after a drag begins', async () => {
    const branches = Array.from({ length: 200 }, (_, at) => {
      const name = `${['work', 'clash', 'same'][at % 3]}-${at}`
      return emptyCommit(name, { message: `Begin ${name}`, at: 1_000_000 + at, parents: ['refs/heads/main^0'] })
    })
    await gitWith(desk.path, ['fast-import', '--quiet'], branches.join(''))
    await open()
    await label('same-197').waitFor()
    const [x, y] = await middleOf('same-197')
    await page.mouse.move(x, y)
    await page.mouse.down()
    let took = 0
    const work = await workOf(page, async () => {
      took = await page.evaluate(
        ([x, y]) =>
          new Promise<number>(resolve => {
            const start = performance.now()
            window.dispatchEvent(new PointerEvent('pointermove', { clientX: (x ?? 0) + 9, clientY: (y ?? 0) + 9 }))
            const look = () => {
              const isSeen = (element: Element) => element.getBoundingClientRect().bottom < window.innerHeight
              const targets = [...document.querySelectorAll('.graph-row .label[data-branch]:not(.from)')].filter(isSeen)
              if (targets.length > 0 && targets.every(target => target.querySelector('.why')))
                resolve(performance.now() - start)
              else requestAnimationFrame(look)
            }
            look()
          }),
        [x, y],
      )
    })
    console.log(`the words on all targets in view: after ${took.toFixed(0)} ms, by ${work.toFixed(0)} ms of work`)
    expect(work).toBeLessThan(300)
    await page.mouse.up()
    // Only outcomes of visible branches were requested.
    const asked = desk.proxy.asked.flatMap(question => (question.ask === 'outlooks' ? question.steps : []))
    expect(asked.length).toBeLessThan(80)
  })

  test('a hundred thousand commits scroll without a stutter', async () => {
    await openOther(manyCommits(100_000, 12))
    await page.getByText('100,000 commits').waitFor()
    let frames: number[] = []
    const work = await workOf(page, async () => {
      frames = await page.evaluate(
        () =>
          new Promise<number[]>(resolve => {
            const list = document.querySelector('.graph-list') as HTMLElement
            const times: number[] = []
            let last = performance.now()
            const step = (now: number) => {
              times.push(now - last)
              last = now
              list.scrollTop += 120
              if (times.length < 120) requestAnimationFrame(step)
              else resolve(times.slice(2))
            }
            requestAnimationFrame(step)
          }),
      )
    })
    const share = frames.filter(time => time < 17).length / frames.length
    const each = work / frames.length
    console.log(
      `${frames.length} frames: ${(100 * share).toFixed(0)} % under 16.7 ms, each ${each.toFixed(1)} ms of work`,
    )
    await page.keyboard.press('End')
    await page.getByRole('option', { name: 'Change 99999' }).waitFor()
    expect(await page.locator('.graph-row').count()).toBeLessThan(150)
    expect(each).toBeLessThan(16)
  })

  test('it can be zoomed, and wide graphs can be panned', async () => {
    await open()
    const height = async () => (await selected().boundingBox())?.height
    expect(await height()).toBe(26)
    await page.keyboard.press('-')
    await until(async () => (await height()) === 22)
    await page.keyboard.press('0')
    await until(async () => (await height()) === 26)
    await openOther(manyCommits(2000, 60))
    await page.getByText('2,000 commits').waitFor()
    const picture = () =>
      page.evaluate(() => (document.querySelector('.lane-tiles canvas') as HTMLCanvasElement).toDataURL())
    const before = await picture()
    await page.keyboard.press('ArrowRight')
    await until(async () => (await picture()) !== before)
  })

  test('axe finds nothing serious in the graph and its dialogs', async () => {
    await open()
    const look = () => findings(page)
    await page.getByRole('complementary', { name: 'Commit' }).getByText('docs.md').first().waitFor()
    expect(await look()).toEqual([])
    await page.keyboard.press('/')
    await page.keyboard.type('change')
    await page.getByText('30 commits', { exact: false }).first().waitFor()
    expect(await look()).toEqual([])
    await page.keyboard.press('Escape')
    await label('topic').click()
    await selected().locator('.label[data-branch="topic"]').waitFor()
    await list().focus()
    await page.keyboard.press('m')
    await dialog()
      .getByRole('option', { name: /main.*clean/ })
      .waitFor()
    expect(await look()).toEqual([])
    await page.keyboard.type('main')
    await page.keyboard.press('Enter')
    await dialog().getByText('merges cleanly').waitFor()
    expect(await look()).toEqual([])
  })
})
