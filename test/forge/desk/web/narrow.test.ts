/**
 * The places of what the page shows, above all in a small window, as one of 1280 by 800 pixels is at a zoom of 200 %:
 * all of it can be seen and reached.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { commit, git } from '../../../support/git.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { ScriptedModel } from '../../../support/scripted-model.ts'
import { ask, HALF_A_TURN, openConversation, QUESTION } from './conversation-scene.ts'
import { openPage, openScene, settled, templateOf, until } from './page-scene.ts'
import { APPROVING, DONE, openTasksScene } from './tasks-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const SMALL = { width: 640, height: 400 }
const TOPIC = 'topic'
/** A base whose name is longer than a narrow bar. */
const BASE = 'a-release-with-a-rather-long-name'
const OTHERS = ['one', 'two', 'three', 'four'].map(name => `another-branch-${name}`)

/** A branch with two commits, another one to compare with, and a commit with several branches. */
const template = templateOf(async path => {
  const first = await commit(path, 'main', { 'a.txt': 'a\n' }, { message: 'Begin' })
  for (const branch of [BASE, ...OTHERS]) await git(path, 'branch', branch, first)
  await commit(path, TOPIC, { 'a.txt': 'A\n' }, { message: 'Change a', parents: [first] })
})

/** A branch with changed files in folders with short and long names. */
async function prepare(path: string): Promise<void> {
  const files = ['src/a.ts', 'engine/retry.ts', 'engine/scheduler.ts', 'engine/source/an-entry.ts', 'packages/index.ts']
  await commit(path, 'folders', Object.fromEntries(files.map(file => [file, `${file}\n`.repeat(120)])))
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

const boxesOf = async (elements: Locator): Promise<Box[]> =>
  await Promise.all((await elements.all()).map(async it => (await it.boundingBox()) as Box))

/** Where the text of an element begins and ends, whatever room the element has around it. */
const textOf = (element: Element): { start: number; end: number } => {
  const range = document.createRange()
  range.selectNodeContents(element)
  const { left, right } = range.getBoundingClientRect()
  return { start: Math.round(left), end: Math.round(right) }
}

const isWithin = (one: Box, other: Box): boolean =>
  one.x >= other.x - 0.5 &&
  one.y >= other.y - 0.5 &&
  one.x + one.width <= other.x + other.width + 0.5 &&
  one.y + one.height <= other.y + other.height + 0.5

const isOver = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width - 0.5 &&
  other.x < one.x + one.width - 0.5 &&
  one.y < other.y + other.height - 0.5 &&
  other.y < one.y + one.height - 0.5

describe.skipIf(!hasBrowser)('in a small window', () => {
  let browser: OpenBrowser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.[Symbol.asyncDispose]())

  const withPage = async (opening: Promise<PageDesk>, look: (page: Page, desk: PageDesk) => Promise<void>) => {
    await using desk = await opening
    const page = await openPage(browser.context, desk)
    await look(page, desk)
    expect(page.troubles).toEqual([])
    await page.close({ runBeforeUnload: false })
  }
  const isInWindow = async (element: Locator) => {
    const { width = 0, height = 0 } = element.page().viewportSize() ?? {}
    const box = await element.boundingBox()
    return box !== null && isWithin(box, { x: 0, y: 0, width, height })
  }
  const layout = { tabs: [tabOf(TOPIC)], active: 0 }

  test('no control of a review is cut or covered by another one', () =>
    withPage(openScene({ template, layout }), async page => {
      await page.keyboard.press('Alt+r')
      await page.getByRole('button', { name: /against/ }).click()
      await page.keyboard.type(BASE)
      await page.getByRole('option', { name: new RegExp(BASE) }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: new RegExp(`against ${BASE}`) }).waitFor()
      const bar = page.locator('.review-bar')
      const controls = bar.locator('button, select')
      for (const width of [640, 800, 1280]) {
        await page.setViewportSize({ width, height: 400 })
        await settled(page)
        const [frame] = (await boxesOf(bar)) as [Box]
        const boxes = await boxesOf(controls)
        expect(boxes).toHaveLength(7)
        expect(boxes.filter(box => !isWithin(box, frame))).toEqual([])
        expect(boxes.filter((box, at) => boxes.slice(at + 1).some(other => isOver(box, other)))).toEqual([])
      }
    }))

  test('the list of a review shows folders so far that they can be told apart, or not at all', () =>
    withPage(openScene({ template, layout: { tabs: [tabOf('folders')], active: 0 }, prepare }), async page => {
      await page.keyboard.press('Alt+r')
      const folders = page.locator('.side .filerow .dir')
      await folders.getByText('engine').first().waitFor()
      for (const width of [640, 900, 1280]) {
        await page.setViewportSize({ width, height: 600 })
        await settled(page)
        const shown = await folders.evaluateAll(all =>
          all.flatMap(dir => {
            const [box, line] = [dir.getBoundingClientRect(), dir.parentElement?.getBoundingClientRect()]
            const isInLine =
              line !== undefined && box.width > 0 && box.top < line.bottom - 2 && box.bottom > line.top + 2
            return isInLine ? [{ width: dir.clientWidth, whole: dir.scrollWidth }] : []
          }),
        )
        expect(shown.length).toBeGreaterThan(0)
        expect(shown.filter(({ width, whole }) => width < whole && width < 45)).toEqual([])
      }
    }))

  test('files of one name are told apart in the changes of a commit by the ends of their folders', () => {
    const files = ['docs/assets/index.html', 'docs/code_of_conduct/index.html', 'docs/collections/index.html']
    const changed = templateOf(path => commit(path, 'main', Object.fromEntries(files.map(it => [it, `${it}\n`]))))
    return withPage(openScene({ template: changed }), async page => {
      await page.setViewportSize({ width: 800, height: 800 })
      await page.keyboard.press('Alt+0')
      const folders = page.locator('.detail-changes .filerow .dir')
      await folders.nth(2).waitFor()
      const shown = await folders.evaluateAll(all =>
        all.map(dir => {
          const [box, line] = [dir.getBoundingClientRect(), dir.parentElement?.getBoundingClientRect()]
          return line !== undefined && box.top < line.bottom && box.top >= line.top - 1
        }),
      )
      expect(shown).toEqual([true, true, true])
    })
  })

  test('the bar of a review keeps to one line where the window is 800 pixels wide', () =>
    withPage(openScene({ template, layout }), async page => {
      await page.setViewportSize({ width: 800, height: 600 })
      await page.keyboard.press('Alt+r')
      await page.getByRole('button', { name: 'against main' }).waitFor()
      expect((await page.locator('.review-bar').boundingBox())?.height).toBe(40)
    }))

  test('in the changes of a commit, the tab, the bar of the commit and all buttons are whole', () =>
    withPage(
      openScene({ template, layout, prepare: path => git(path, 'tag', '11.0.0-rc.0', TOPIC) }),
      async (page, desk) => {
        const oid = await desk.git('rev-parse', TOPIC)
        await page.keyboard.press('Control+k')
        await page.getByRole('combobox', { name: 'Command palette' }).fill(`#${oid.slice(0, 12)}`)
        await page
          .getByRole('option', { name: /Change a/ })
          .first()
          .waitFor()
        await page.keyboard.press('Enter')
        await page.getByRole('tab', { name: oid.slice(0, 8), selected: true }).waitFor()
        await page.keyboard.press('Control+Alt+r')
        await page.getByRole('dialog', { name: `Compare ${oid.slice(0, 8)} with` }).waitFor()
        await page.keyboard.type(BASE)
        await page.getByRole('option', { name: new RegExp(BASE) }).waitFor()
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Only this commit' }).waitFor()
        const tabs = page.getByRole('tablist', { name: 'Files' })
        const tab = tabs.getByRole('tab', { name: `Changes of ${oid.slice(0, 8)}` })
        const bar = page.locator('.then')
        await bar.getByText('11.0.0-rc.0').waitFor()
        for (const width of [520, 640, 800]) {
          await page.setViewportSize({ width, height: 400 })
          await settled(page)
          const [list, shown, cross] = (await boxesOf(tabs.or(tab).or(tab.locator('.end')))) as [Box, Box, Box]
          expect(shown.x + shown.width).toBeLessThanOrEqual(list.x + list.width)
          expect(isWithin(cross, shown)).toBe(true)
          expect(await page.locator('.files').evaluate(it => it.scrollWidth - it.clientWidth)).toBe(0)
          for (const name of ['New branch from here', 'Show in the graph', 'Only this commit']) {
            expect(await isInWindow(page.getByRole('button', { name }).first())).toBe(true)
          }
          const [frame] = (await boxesOf(bar)) as [Box]
          const parts = await boxesOf(bar.locator('> :visible'))
          expect(parts.filter(box => !isWithin(box, frame))).toEqual([])
          // The base is cut only after its first letters.
          expect((await page.getByRole('button', { name: /^against/ }).boundingBox())?.width).toBeGreaterThan(95)
        }
      },
    ))

  test('the button that saves is whole, beside the message', () =>
    withPage(openScene({ template, layout }), async (page, desk) => {
      await page.getByRole('treeitem', { name: 'a.txt' }).click()
      await page.locator('.cm-line').first().click()
      await page.keyboard.type('draft ')
      await desk.isText(TOPIC, 'a.txt', it => it.includes('draft'))
      await page.keyboard.press('Alt+r')
      const save = page.getByRole('button', { name: /^Save/ })
      await save.getByText('Ctrl Shift S').waitFor()
      for (const width of [520, 640, 800]) {
        await page.setViewportSize({ width, height: 400 })
        await settled(page)
        expect(await isInWindow(save)).toBe(true)
        const [field, button] = (await boxesOf(page.locator('.message-field').or(save))) as [Box, Box]
        expect(isOver(field, button)).toBe(false)
        const { start, end } = await save.evaluate(textOf)
        expect(start).toBeGreaterThanOrEqual(button.x)
        expect(end).toBeLessThanOrEqual(button.x + button.width)
      }
    }))

  test('all buttons of the graph can be reached, also beside the list of branches', () =>
    withPage(openScene({ template, layout }), async page => {
      await page.setViewportSize(SMALL)
      await page.keyboard.press('Alt+0')
      const bar = page.getByRole('toolbar', { name: 'Repository' })
      const check = async () => {
        const [frame] = (await boxesOf(bar)) as [Box]
        const boxes = await boxesOf(bar.locator('button:visible'))
        expect(boxes.length).toBeGreaterThan(6)
        expect(boxes.filter(box => !isWithin(box, frame))).toEqual([])
      }
      await bar.getByRole('button', { name: 'Push' }).waitFor()
      expect((await bar.boundingBox())?.height).toBe(32)
      await check()
      await bar.getByRole('button', { name: 'Branches and tags' }).click()
      await page.getByRole('navigation', { name: 'Branches and tags' }).waitFor()
      await check()
      // There is room for one pane beside the commits.
      const commit = page.getByRole('complementary', { name: 'Commit' })
      await commit.waitFor({ state: 'detached' })
      expect((await page.locator('.graph-list').boundingBox())?.width).toBeGreaterThan(400)
      await bar.getByRole('button', { name: 'Commit', exact: true }).click()
      await commit.waitFor()
      expect(await page.getByRole('navigation', { name: 'Branches and tags' }).count()).toBe(0)
    }))

  test('the filter of the graph is seen and can be removed', () =>
    withPage(openScene({ template, layout }), async page => {
      await page.setViewportSize({ width: 800, height: 600 })
      await page.keyboard.press('Alt+0')
      const bar = page.getByRole('toolbar', { name: 'Repository' })
      const menu = page.getByRole('menu')
      await bar.getByRole('button', { name: 'All refs' }).click()
      await menu.getByRole('menuitem', { name: 'Local branches' }).click()
      const filter = bar.getByRole('button', { name: 'Branches', exact: true })
      await filter.getByText('Branches').waitFor()
      await filter.click()
      await menu.getByRole('menuitem', { name: 'All refs' }).click()
      await bar.getByRole('button', { name: 'All refs' }).waitFor()
      expect((await bar.boundingBox())?.height).toBe(32)
    }))

  test('a dialog shows its buttons, and scrolls what is above them', () =>
    withPage(openScene({ template, layout }), async page => {
      await page.setViewportSize(SMALL)
      await page.keyboard.press('Control+Alt+n')
      const dialog = page.getByRole('dialog', { name: 'New run' })
      const start = dialog.getByRole('button', { name: /Start/ })
      await start.waitFor()
      const [frame, box] = (await boxesOf(dialog.or(start))) as [Box, Box]
      expect(isWithin(box, frame)).toBe(true)
      const models = dialog.getByText('Models for this run')
      await models.scrollIntoViewIfNeeded()
      expect(await isInWindow(models)).toBe(true)
    }))

  test('the boxes of viewed files are in line, also where a file is deleted', () =>
    withPage(
      openScene({
        template,
        layout,
        prepare: path => commit(path, TOPIC, { 'a.txt': null, 'b.txt': 'b\n' }, { message: 'Move a' }),
      }),
      async page => {
        await page.keyboard.press('Alt+r')
        const boxes = page.getByRole('checkbox', { name: 'Viewed' })
        await until(async () => (await boxes.count()) === 2)
        const places = (await boxesOf(boxes)).map(({ x }) => x)
        expect(new Set(places).size).toBe(1)
      },
    ))

  test('a history shows the number of further branches at a commit, and enough of a name', () =>
    withPage(openScene({ template, layout }), async page => {
      await page.setViewportSize(SMALL)
      await page.keyboard.press('Alt+h')
      const labels = page.getByRole('option', { name: /Begin/ }).locator('.labels')
      await until(async () => (await labels.locator('.several').textContent()) === '+5')
      const [frame] = (await boxesOf(labels)) as [Box]
      const boxes = await boxesOf(labels.locator('.label'))
      expect(boxes.filter(box => !isWithin(box, frame))).toEqual([])
      expect(await labels.locator('.several').evaluate(it => it.scrollWidth - it.clientWidth)).toBe(0)
      // "main" is not cut.
      await labels.getByText('main', { exact: true }).waitFor()
      const name = labels.locator('.label').first().locator('.ref-name')
      expect(await name.evaluate(it => it.scrollWidth - it.clientWidth)).toBe(0)
    }))

  test('the label of a detached HEAD is whole beside those of the branches', () => {
    const detached = templateOf(async path => {
      const first = await commit(path, 'main', { 'a.txt': 'a\n' }, { message: 'Begin' })
      await git(path, 'branch', 'big-branch', first)
      await git(path, 'update-ref', '--no-deref', 'HEAD', first)
    })
    return withPage(openScene({ template: detached }), async page => {
      await page.setViewportSize({ width: 800, height: 800 })
      await page.keyboard.press('Alt+0')
      const labels = page.getByRole('option', { name: /Begin/ }).locator('.labels > .label')
      await labels.filter({ hasText: 'HEAD' }).waitFor()
      expect(await labels.evaluateAll(all => all.filter(it => it.scrollWidth > it.clientWidth).length)).toBe(0)
      const boxes = [...(await boxesOf(labels)), ...(await boxesOf(page.locator('.graph-row .subject > .cut')))]
      for (const [index, box] of boxes.entries()) {
        expect(boxes.slice(index + 1).filter(other => isOver(box, other))).toEqual([])
      }
    })
  })

  test('beside the pane of a commit, no label of the graph is over the subject', () => {
    const labelled = templateOf(async path => {
      const first = await commit(path, 'main', { 'a.txt': 'a\n' }, { message: 'Begin with some words' })
      await commit(path, 'feat/print', { 'b.txt': 'b\n' }, { message: 'Only help is printed', parents: [first] })
      await commit(path, 'topic/zero', { 'c.txt': 'c\n' }, { message: 'two: comment in help', parents: [first] })
      await git(path, 'branch', 'another-branch', 'topic/zero')
      await git(path, 'tag', 'v1.0.0', 'topic/zero')
    })
    return withPage(openScene({ template: labelled }), async page => {
      await page.keyboard.press('Alt+0')
      await page.locator('.graph-row .label').getByText('print', { exact: true }).waitFor()
      for (const width of [480, 560, 640, 800]) {
        await page.setViewportSize({ width, height: 700 })
        await page.getByRole('complementary', { name: /^Commit/ }).waitFor()
        await settled(page)
        for (const row of await page.locator('.graph-row').all()) {
          const [list, subject] = (await boxesOf(row.locator('.subject, .subject > .cut'))) as [Box, Box]
          const labels = await boxesOf(row.locator('.label'))
          expect(subject.width).toBeGreaterThan(24)
          expect(labels.filter(label => isOver(label, subject) || !isWithin(label, list))).toEqual([])
          for (const label of await row.locator('.label').all())
            expect(await label.evaluate(it => it.scrollWidth - it.clientWidth < 2 || it.clientWidth > 40)).toBe(true)
        }
      }
    })
  })

  test('the name of a remote branch in the graph loses letters of its folder first, and stays in its frame', () => {
    const named = templateOf(async path => {
      const first = await commit(path, 'main', { 'a.txt': 'a\n' }, { message: 'Begin' })
      const words = 'A subject that leaves no more room for the label beside it than half of what both have together'
      const far = await commit(path, 'far', { 'b.txt': 'b\n' }, { message: words, parents: [first] })
      await git(path, 'update-ref', 'refs/remotes/origin/a-folder-with-a-long-name/mpsc-bounded-array-backend', far)
      await git(path, 'branch', '-q', '-D', 'far')
    })
    return withPage(openScene({ template: named }), async page => {
      await page.setViewportSize({ width: 1280, height: 700 })
      await page.keyboard.press('Alt+0')
      const label = page.getByRole('option', { name: /A subject/ }).locator('.labels > .label')
      await label.waitFor()
      // Letters that are cut are drawn as an ellipsis, behind which their room is empty.
      const isWhole = (it: Element) => {
        const range = document.createRange()
        range.selectNodeContents(it)
        return range.getBoundingClientRect().width <= it.getBoundingClientRect().width
      }
      expect(await label.locator('.ref-name > .dir').evaluate(isWhole)).toBe(false)
      expect(await label.locator('.ref-name > .cut').evaluate(isWhole)).toBe(true)
      await page.setViewportSize({ width: 560, height: 700 })
      expect(await label.evaluate(it => getComputedStyle(it).overflowX)).toBe('hidden')
    })
  })

  test('the place of the cursor is at the right end of the status bar', () => {
    const shown = { tabs: [{ ...tabOf(TOPIC, ['a.txt']), active: 'a.txt' }], active: 0 }
    return withPage(openScene({ template, layout: shown }), async page => {
      await page.locator('.cm-line').first().waitFor()
      const place = page.locator('.status .line-column')
      for (const width of [640, 800]) {
        await page.setViewportSize({ width, height: 600 })
        await until(async () => {
          const box = await place.boundingBox()
          return box !== null && box.x + box.width > width - 8 && box.x + box.width <= width
        })
      }
    })
  })

  test('nothing in the status bar is over something else, however narrow the window is', () => {
    const shown = { tabs: [{ ...tabOf(TOPIC, ['a.txt']), active: 'a.txt' }], active: 0 }
    return withPage(openScene({ template, layout: shown }), async (page, desk) => {
      await desk.git('branch', '--quiet', '--set-upstream-to=main', TOPIC)
      await page.locator('.cm-line').first().click()
      await page.keyboard.insertText(`${'\n'.repeat(1_756)}${'a'.repeat(47)}`)
      await desk.isText(TOPIC, 'a.txt', text => text.includes('aaa'))
      for (let at = 0; at < 11; at++) await page.keyboard.press('Shift+ArrowLeft')
      const bar = page.locator('.status')
      await bar.getByText('(11 selected)').waitFor()
      await bar.getByText('1 draft').waitFor()
      await bar.getByRole('button', { name: /^Push|ahead of/ }).waitFor()
      for (const width of [400, 480, 481, 520, 560, 600, 640, 641, 680, 720, 800, 961]) {
        await page.setViewportSize({ width, height: 600 })
        await settled(page)
        // All parts that are seen: those that only a screen reader tells have a width of 1 pixel.
        const parts = bar.locator(
          '.place, .distance > .button, .saved, .message-field, .save, .save kbd, .line-column .button',
        )
        const boxes = (await boxesOf(parts)).filter(box => box.width > 1)
        const covered = boxes.filter((box, at) =>
          boxes.some((other, index) => index > at && isOver(box, other) && !isWithin(other, box)),
        )
        expect({ width, covered, isWide: await bar.evaluate(it => it.scrollWidth > it.clientWidth) }).toEqual({
          width,
          covered: [],
          isWide: false,
        })
        // The icon and the first letter of the branch.
        expect((await bar.locator('.place').boundingBox())?.width).toBeGreaterThan(36)
      }
    })
  })

  test('with a blame in a split editor, the name of the file and the folders are not cut together', () => {
    const path = 'engine/source/an-entry.ts'
    const shown = { tabs: [{ ...tabOf('folders', [path]), active: path }], active: 0 }
    return withPage(openScene({ template, layout: shown, prepare }), async page => {
      await page.locator('.cm-line').first().click()
      await page.keyboard.press('Control+\\')
      await page.getByRole('region', { name: 'Right half' }).locator('.cm-focused').waitFor()
      await page.keyboard.press('Control+Alt+b')
      await page
        .getByRole('button', { name: /^This line/ })
        .first()
        .waitFor()
      for (const width of [800, 1280]) {
        await page.setViewportSize({ width, height: 600 })
        // A cut by less than a pixel shows an ellipsis, too.
        const isWhole = (name: Element) => {
          const range = document.createRange()
          range.selectNodeContents(name)
          return range.getBoundingClientRect().width <= name.getBoundingClientRect().width + 0.05
        }
        await until(async () => {
          const names = await page.locator('.crumb-path .here').all()
          return names.length === 2 && (await Promise.all(names.map(it => it.evaluate(isWhole)))).every(Boolean)
        })
        for (const bar of await page.locator('.crumbs').all()) {
          const [frame] = (await boxesOf(bar)) as [Box]
          const shownParts = (await bar.locator('> :not(.grow)').all()).map(it => it.boundingBox())
          const boxes = (await Promise.all(shownParts)).filter(box => box !== null)
          expect(boxes.filter(box => !isWithin(box, frame))).toEqual([])
        }
      }
    })
  })

  test('the counts of changed lines are in line, also where one has four digits', () =>
    withPage(
      openScene({
        template,
        layout,
        prepare: path => commit(path, TOPIC, { 'a.txt': 'A\n', 'b.txt': 'b\n'.repeat(1234) }, { message: 'Add b' }),
      }),
      async page => {
        await page.setViewportSize({ width: 1280, height: 800 })
        await page.keyboard.press('Alt+r')
        const counts = page.locator('.side .filerow .add-n')
        await until(async () => (await counts.count()) === 2)
        const ends = await counts.evaluateAll(all =>
          all.map(it => {
            const range = document.createRange()
            range.selectNodeContents(it)
            return Math.round(range.getBoundingClientRect().right)
          }),
        )
        expect(new Set(ends).size).toBe(1)
      },
    ))

  test('the counts of changed lines end in line, also where one of the two is missing', () =>
    withPage(
      openScene({ template, layout, prepare: path => commit(path, TOPIC, { 'b.txt': 'b\n' }, { message: 'Add b' }) }),
      async page => {
        await page.setViewportSize({ width: 800, height: 600 })
        await page.keyboard.press('Alt+r')
        const rows = page.locator('.side .filerow')
        await until(async () => (await rows.count()) === 2)
        const ends = async (counts: Locator) =>
          await Promise.all((await counts.all()).map(async it => (await it.evaluate(textOf)).end))
        const counts = page.locator('.side :is(.del-n:not(:empty), .add-n:has(+ :empty))')
        expect(await counts.allInnerTexts()).toEqual(['−1', '−1', '+1'])
        expect(new Set(await ends(counts)).size).toBe(1)
        await page.keyboard.press('Alt+0')
        const ofCommit = page.locator('.detail-changes :is(h3, .filerow) > .add-n')
        await until(async () => (await ofCommit.allInnerTexts()).join() === '+1,+1')
        expect(new Set(await ends(ofCommit)).size).toBe(1)
      },
    ))

  test('the head of a diff is in line with what is above it', async () => {
    const startOf = async (element: Locator) => (await element.first().evaluate(textOf)).start
    await withPage(openScene({ template, layout }), async page => {
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.keyboard.press('Alt+0')
      await page.locator('.detail .diff-head .base-name').waitFor()
      expect(await startOf(page.locator('.detail .diff-head .base-name'))).toBe(
        await startOf(page.locator('.detail .detail-head h2')),
      )
    })
    const model = new ScriptedModel([])
    await withPage(
      openConversation({ model }).then(desk => {
        model.play([{ calls: [{ name: 'store_stats', arguments: { store: 'postgres' } }] }])
        return desk
      }),
      async page => {
        await page.setViewportSize({ width: 1280, height: 800 })
        await ask(page, QUESTION)
        await page.getByRole('button', { name: 'Review the tool' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByRole('button', { name: 'Approve' }).waitFor()
        expect(await startOf(dialog.locator('.diff-head .dir'))).toBe(await startOf(dialog.locator('.dialog-lede')))
      },
    )
  })

  test('the ends of long file names that begin alike are seen in the list of a review', () =>
    withPage(
      openScene({
        template,
        layout,
        prepare: path => {
          const files = ['eot', 'svg', 'woff'].map(end => [`fonts/glyphicons-halflings-regular.${end}`, 'x\n'])
          return commit(path, TOPIC, Object.fromEntries(files), { message: 'Add fonts' })
        },
      }),
      async page => {
        await page.setViewportSize({ width: 1280, height: 800 })
        await page.keyboard.press('Alt+r')
        const rows = page.locator('.side .filerow')
        await until(async () => (await rows.count()) === 4)
        for (const end of ['eot', 'svg', 'woff']) {
          const row = page.locator('.side').getByRole('button', { name: `glyphicons-halflings-regular.${end}` })
          const [frame] = (await boxesOf(row.locator('.path'))) as [Box]
          const [tail] = (await boxesOf(row.getByText(`-regular.${end}`.slice(-12), { exact: true }))) as [Box]
          expect(isWithin(tail, frame)).toBe(true)
        }
      },
    ))

  test('of long file names that end alike, the beginnings are seen in the list of a review and of a commit', () =>
    withPage(
      openScene({
        template,
        layout,
        prepare: path => {
          const files = ['addHelp', 'help'].map(name => [`tests/command.${name}Option.test.js`, 'x\n'])
          return commit(path, TOPIC, Object.fromEntries(files), { message: 'Add tests' })
        },
      }),
      async page => {
        const areToldApart = async (list: string) => {
          for (const [name, shown] of [
            ['command.addHelpOption.test.js', 'command.add'],
            ['command.helpOption.test.js', 'command.hel'],
          ] as const) {
            const label = page.locator(`${list} .filerow`).getByText(name, { exact: true })
            await label.waitFor()
            // The width of these letters, and of the dots after them.
            const room = await label.evaluate((it, letters) => {
              const range = document.createRange()
              range.setStart(it.firstChild as Node, 0)
              range.setEnd(it.firstChild as Node, letters + 2)
              return it.getBoundingClientRect().right - range.getBoundingClientRect().right
            }, shown.length)
            expect(room).toBeGreaterThan(0)
          }
        }
        for (const width of [640, 1280]) {
          await page.setViewportSize({ width, height: 800 })
          await page.keyboard.press('Alt+r')
          await settled(page)
          await areToldApart('.side')
          await page.keyboard.press('Alt+0')
          await page.getByRole('option', { name: /Add tests/ }).click()
          await settled(page)
          await areToldApart('.detail')
          await page.getByRole('tab', { name: new RegExp(TOPIC) }).click()
        }
      },
    ))

  test('the fields of a search in files begin at one place, and those of a search in a file have one width', () => {
    const shown = { tabs: [{ ...tabOf(TOPIC, ['a.txt']), active: 'a.txt' }], active: 0 }
    return withPage(openScene({ template, layout: shown }), async page => {
      await page.setViewportSize(SMALL)
      await page.locator('.cm-line').first().click()
      await page.keyboard.press('Control+f')
      const inFile = page.getByRole('search', { name: 'Find in the file' }).getByRole('textbox')
      await inFile.nth(1).waitFor()
      expect(new Set((await boxesOf(inFile)).map(({ width }) => width)).size).toBe(1)
      await page.keyboard.press('Control+Shift+h')
      const inFiles = page.locator('.finding').getByRole('textbox')
      await inFiles.nth(2).waitFor()
      expect(new Set((await boxesOf(inFiles)).map(({ x }) => x)).size).toBe(1)
      // In a wide window they do not go from one edge to the other, and the first two end at one place.
      await page.setViewportSize({ width: 1920, height: 1080 })
      const [words, replacement, files] = (await boxesOf(inFiles)) as [Box, Box, Box]
      expect(files.width).toBeLessThan(900)
      expect(words.x + words.width).toBeCloseTo(replacement.x + replacement.width, 0)
    })
  })

  test('all of the search in a file is in the window, however narrow that is', () => {
    const shown = { tabs: [{ ...tabOf(TOPIC, ['a.txt']), active: 'a.txt' }], active: 0 }
    return withPage(openScene({ template, layout: shown }), async page => {
      await page.locator('.cm-line').first().click()
      await page.keyboard.press('Control+f')
      await page.keyboard.type('a')
      const panel = page.getByRole('search', { name: 'Find in the file' })
      await panel
        .getByRole('status')
        .getByText(/of|No results/)
        .waitFor()
      for (const width of [400, 480, 560, 670, 720, 800]) {
        await page.setViewportSize({ width, height: 600 })
        await settled(page)
        const [frame] = (await boxesOf(panel)) as [Box]
        expect(frame.x + frame.width).toBeLessThanOrEqual(width)
        const boxes = await boxesOf(panel.locator('button, input, [role="status"]'))
        expect(boxes).toHaveLength(13)
        expect(boxes.filter(box => !isWithin(box, frame))).toEqual([])
        expect(boxes.filter((box, at) => boxes.slice(at + 1).some(other => isOver(box, other)))).toEqual([])
        expect(Math.min(...(await boxesOf(panel.getByRole('textbox'))).map(({ width }) => width))).toBeGreaterThan(110)
      }
    })
  })

  test('the words in the empty field of the palette are not cut', () =>
    withPage(openScene({ template, layout }), async page => {
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.keyboard.press('Control+k')
      const field = page.getByRole('combobox', { name: 'Command palette' })
      await field.waitFor()
      const { needed, width } = await field.evaluate(it => {
        const measure = document.createElement('span')
        measure.textContent = it.getAttribute('placeholder')
        measure.className = 'nowrap'
        measure.style.position = 'absolute'
        measure.style.fontSize = getComputedStyle(it).fontSize
        it.before(measure)
        const found = { needed: measure.getBoundingClientRect().width, width: it.clientWidth }
        measure.remove()
        return found
      })
      expect(needed).toBeGreaterThan(100)
      expect(needed).toBeLessThanOrEqual(width)
    }))

  test('the plan of a run can be read to its end and approved, and the status bar is not covered', () =>
    withPage(
      openTasksScene([APPROVING]).then(({ desk }) => desk),
      async page => {
        await page.setViewportSize(SMALL)
        await page.keyboard.press('Alt+t')
        const approve = page.getByRole('button', { name: 'Approve', exact: true })
        await approve.waitFor()
        await approve.scrollIntoViewIfNeeded()
        await until(() => isInWindow(approve))
        const text = page.locator('.plan-text')
        await page.getByRole('region', { name: 'Run', exact: true }).evaluate(it => it.scrollTo(0, it.scrollHeight))
        await until(() => isInWindow(approve))
        expect(await text.evaluate(it => it.scrollHeight - it.clientHeight)).toBe(0)
        const [end, foot, status] = (await boxesOf(text.or(page.locator('.plan-foot, .status')))) as [Box, Box, Box]
        expect(isOver(end, foot)).toBe(false)
        expect(foot.y + foot.height).toBeLessThanOrEqual(status.y)
        await page.locator('.node').first().scrollIntoViewIfNeeded()
        const covering = await page.evaluate(
          ({ x, y, width, height }) =>
            [0.1, 0.3, 0.5, 0.7, 0.9]
              .map(part => document.elementFromPoint(x + part * width, y + height / 2))
              .filter(it => !it?.closest('.status')).length,
          status,
        )
        expect(covering).toBe(0)
      },
    ))

  test('a run can be started and the lessons be read where the list of runs has no room', () =>
    withPage(
      openTasksScene().then(({ desk }) => desk),
      async page => {
        await page.keyboard.press('Alt+t')
        const head = page.locator('.run-head')
        await head.getByRole('heading').waitFor()
        for (const width of [640, 800, 1000]) {
          await page.setViewportSize({ width, height: 800 })
          for (const name of ['New run', 'Lessons']) {
            const button = page.getByRole('button', { name, exact: true })
            // The page rearranges itself after it got its new size.
            await until(() => isInWindow(button))
            await button.click()
            await page.getByRole('dialog', { name }).waitFor()
            await page.keyboard.press('Escape')
            await page.getByRole('dialog').waitFor({ state: 'detached' })
          }
          const title = head.getByRole('heading')
          expect(await title.evaluate(it => it.scrollHeight - it.clientHeight)).toBe(0)
        }
      },
    ))

  test('the tokens of an answer are shown whole', async () => {
    const model = new ScriptedModel([])
    const usage = { input: 12_345, output: 6_789, cacheRead: 10_000, cacheWrite: 2_000, cost: 0.0123 }
    await withPage(
      openConversation({ model }).then(desk => {
        model.play([{ text: 'It is renewed in time.', usage }])
        return desk
      }),
      async page => {
        await page.setViewportSize(SMALL)
        await ask(page, QUESTION)
        const foot = page.locator('.card-foot').last()
        const [talk, undo] = [foot.locator('.card-talk'), foot.getByRole('button', { name: 'Undo this turn' })]
        const cost = foot.locator('.cost').filter({ hasText: '10k read, 2.0k written' })
        await cost.waitFor()
        for (const width of [640, 800, 1280]) {
          await page.setViewportSize({ width, height: 400 })
          await cost.scrollIntoViewIfNeeded()
          const [frame] = (await boxesOf(foot)) as [Box]
          const boxes = await boxesOf(talk.or(undo).or(cost))
          expect(boxes).toHaveLength(3)
          expect(boxes.filter(box => !isWithin(box, frame))).toEqual([])
          expect(boxes.filter((box, at) => boxes.slice(at + 1).some(other => isOver(box, other)))).toEqual([])
          for (const part of [talk, cost]) expect(await part.evaluate(it => it.scrollWidth - it.clientWidth)).toBe(0)
        }
      },
    )
  })

  test('a message takes one line until it is begun, and then at most a third of the height', () =>
    withPage(openConversation({ model: new ScriptedModel([]) }), async page => {
      await page.setViewportSize(SMALL)
      const form = page.getByRole('form', { name: 'Message to the AI' })
      const [field, send] = [form.getByRole('textbox', { name: 'Message' }), form.getByRole('button', { name: 'Send' })]
      const box = form.locator('.compose-box')
      const heightOf = async (part: Locator) => (await part.boundingBox())?.height ?? 0
      await field.waitFor()
      await until(async () => (await heightOf(box)) < 40)
      const [one, other] = (await boxesOf(field.or(send))) as [Box, Box]
      expect(isOver(one, other)).toBe(false)
      expect(await heightOf(page.locator('.log'))).toBeGreaterThan(220)
      await field.fill('A line\n'.repeat(20))
      await until(async () => (await heightOf(box)) > 100)
      expect(await heightOf(box)).toBeLessThanOrEqual(SMALL.height / 3)
      expect(await isInWindow(send)).toBe(true)
      await field.fill('')
      await until(async () => (await heightOf(box)) < 40)
    }))

  test('a menu closes when the window changes its size, and its row has the focus again', () =>
    withPage(openScene({ template, layout }), async page => {
      const row = page.getByRole('treeitem', { name: 'a.txt' })
      await row.click()
      await page.getByRole('tree', { name: 'Explorer' }).press('Shift+F10')
      const menu = page.getByRole('menu', { name: 'a.txt' })
      await menu.waitFor()
      await page.setViewportSize(SMALL)
      await menu.waitFor({ state: 'detached' })
      const isInExplorer = () => page.evaluate(() => document.activeElement?.closest('[role="tree"]') !== null)
      await until(isInExplorer)
    }))

  test('the comments of a review are whole, with their author and buttons, and so is the name of a renamed file', () =>
    withPage(
      openScene({
        template,
        layout,
        prepare: async path => {
          const text = Array.from({ length: 20 }, (_, at) => `line ${at} of a file\n`)
          const first = await commit(path, 'main', { 'src/old-name.ts': text.join('') }, { message: 'Add it' })
          const files = { 'src/new-name.ts': text.with(3, 'changed\n').join('') }
          await commit(path, TOPIC, files, { message: 'Rename it', parents: [first] })
          await git(path, 'config', 'user.name', 'Rita Releasemanager')
        },
      }),
      async page => {
        await page.setViewportSize({ width: 1280, height: 800 })
        await page.keyboard.press('Alt+r')
        await page.getByRole('button', { name: 'Comment on line 4', exact: true }).click()
        await page.keyboard.type('Why?')
        await page.keyboard.press('Control+Enter')
        const comment = page.getByRole('article', { name: 'Comment of' })
        await comment.getByRole('button', { name: 'Reply' }).click()
        await page.keyboard.type('Because')
        for (const keys of ['', 'Control+Alt+d']) {
          if (keys !== '') await page.keyboard.press(keys)
          for (const width of [480, 560, 640]) {
            await page.setViewportSize({ width, height: 800 })
            await settled(page)
            for (const card of await page.locator('.comment').all()) {
              const [frame] = (await boxesOf(card)) as [Box]
              const boxes = await boxesOf(card.locator('button, textarea, header > .strong'))
              expect(boxes.filter(box => !isWithin(box, frame) || box.width < 8)).toEqual([])
              expect(boxes.filter((box, at) => boxes.slice(at + 1).some(other => isOver(box, other)))).toEqual([])
              expect(frame.x + frame.width).toBeLessThanOrEqual(width)
            }
            const author = comment.locator('header > .strong')
            if (keys === '') expect(await author.evaluate(it => it.scrollWidth <= it.clientWidth)).toBe(true)
            const name = page.locator('.diff-head').getByText('new-name.ts', { exact: true })
            expect(await name.evaluate(it => it.clientWidth > 50)).toBe(true)
          }
        }
      },
    ))

  test('side by side, the numbers of a wrapped line are both at its first row', () =>
    withPage(
      openScene({
        template,
        layout,
        prepare: async path => {
          const [before, after] = [`${'words '.repeat(30)}end\n`, `${'words '.repeat(30)}END\n`]
          const first = await commit(path, 'main', { 'long.txt': before }, { message: 'Add a long line' })
          await commit(path, TOPIC, { 'long.txt': after }, { message: 'Change it', parents: [first] })
        },
      }),
      async page => {
        await page.setViewportSize(SMALL)
        await page.keyboard.press('Alt+r')
        await page.keyboard.press('Control+Alt+d')
        const halves = page.locator('.pair .dl:not(.nothing)')
        await until(async () => (await halves.count()) === 2)
        for (const half of await halves.all()) {
          const [number, code] = (await boxesOf(half.locator('.line-number, :scope > span'))) as [Box, Box]
          expect(code.height).toBeGreaterThan(40)
          expect(number.y + number.height).toBeLessThan(code.y + 24)
        }
      },
    ))

  test('in a dialog, one line is between the changed files and the first diff, and the dialog scrolls both', () =>
    withPage(
      openTasksScene([DONE]).then(({ desk }) => desk),
      async page => {
        await page.setViewportSize(SMALL)
        await page.keyboard.press('Alt+t')
        await page.locator('.node').first().waitFor()
        await page.keyboard.press('Alt+Shift+f')
        const diff = page.getByRole('dialog').getByRole('region', { name: /^Diff of/ })
        await diff.waitFor()
        const style = await diff.evaluate(it => {
          const { borderTopWidth, overflowY } = getComputedStyle(it)
          return { borderTopWidth, overflowY }
        })
        expect(style).toEqual({ borderTopWidth: '0px', overflowY: 'visible' })
        // A diff is rendered once it is near the view.
        await diff.locator('.diff-head').scrollIntoViewIfNeeded()
        const last = diff.locator('.dl').last()
        await last.waitFor()
        await last.scrollIntoViewIfNeeded()
        expect(await isInWindow(last)).toBe(true)
      },
    ))

  test('the sentence of an empty explorer is in line with its title', () =>
    withPage(openScene({ template: templateOf(async () => {}) }), async page => {
      const startOf = (words: string) =>
        page.getByText(words, { exact: true }).evaluate(it => {
          const range = document.createRange()
          range.selectNodeContents(it)
          return range.getBoundingClientRect().x
        })
      await page.getByText('No files yet').waitFor()
      expect(await startOf('No files yet')).toBe(await startOf('Explorer'))
    }))

  test('each half of a split keeps room for its text beside the blame and the preview', () => {
    const notes = templateOf(path =>
      commit(path, 'main', { 'notes.md': '# Notes\n\nWords.\n' }, { author: 'Mira Okafor <mira@example.com>' }),
    )
    return withPage(openScene({ template: notes, layout: { tabs: [tabOf('main')], active: 0 } }), async page => {
      await page.setViewportSize({ width: 800, height: 600 })
      await page.getByRole('treeitem', { name: 'notes.md' }).click()
      await page.getByRole('textbox', { name: 'Editor' }).click()
      await page.keyboard.press('Control+Alt+v')
      await page.keyboard.press('Control+Alt+b')
      await page.keyboard.press('Control+\\')
      const blamed = page.locator('.cm-blame .blame-name')
      await until(async () => (await blamed.count()) === 2)
      await until(async () => (await page.locator('.preview').count()) === 2)
      const roomForText = async () =>
        await page
          .locator('.cm-scroller')
          .evaluateAll(all => all.map(it => it.clientWidth - (it.querySelector('.cm-gutters')?.clientWidth ?? 0)))
      for (const width of [800, 1000, 1280]) {
        await page.setViewportSize({ width, height: 600 })
        await settled(page)
        expect(Math.min(...(await roomForText()))).toBeGreaterThan(140)
        // The names are cut, but there.
        expect(Math.min(...(await boxesOf(blamed)).map(box => box.width))).toBeGreaterThan(30)
      }
    })
  })

  test('while the AI works, its file is grey in the gutter, too, and it is said why the last turn can’t be undone', async () => {
    const model = new ScriptedModel([])
    await withPage(
      openConversation({ model }).then(desk => {
        model.play(HALF_A_TURN)
        return desk
      }),
      async page => {
        await page.setViewportSize({ width: 800, height: 800 })
        await ask(page, QUESTION)
        const reason = page.getByText('A turn is running.').last()
        await reason.waitFor()
        expect(await reason.evaluate(it => it.scrollWidth - it.clientWidth)).toBe(0)
        await page.getByRole('tab', { name: /lease\.ts/ }).click()
        const editor = page.locator('.editor.locked')
        await editor.locator('.cm-line').first().waitFor()
        const colours = await editor.evaluate(it =>
          ['.cm-editor', '.cm-gutters'].map(part => getComputedStyle(it.querySelector(part) ?? it).backgroundColor),
        )
        expect(new Set(colours).size).toBe(1)
      },
    )
  })

  test('a call that failed is in line with the others', async () => {
    const change = (search: string, replace: string) => ({
      name: 'search_replace',
      arguments: { path: 'src/worker.ts', edits: [{ search, replace }] },
    })
    const model = new ScriptedModel([])
    await withPage(
      openConversation({ model }).then(desk => {
        model.play([
          { calls: [change('not in the file', '')] },
          { calls: [change('class Worker', 'class Runner')] },
          { text: 'Renamed.' },
          { text: 'Rename the worker' },
        ])
        return desk
      }),
      async page => {
        await page.setViewportSize({ width: 800, height: 600 })
        await ask(page, QUESTION)
        const calls = page.locator('.call').filter({ hasText: 'src/worker.ts' })
        await page.getByRole('button', { name: /failed: search_replace/ }).waitFor()
        await page.getByText('Renamed.').waitFor()
        const places = (await boxesOf(calls.locator('.arg'))).map(({ x }) => Math.round(x))
        expect(places).toHaveLength(2)
        expect(new Set(places).size).toBe(1)
        const heights = (await boxesOf(calls)).map(({ height }) => height)
        expect(heights).toEqual([24, 24])
      },
    )
  })
})
