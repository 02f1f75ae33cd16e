/**
 * A branch with a waiting merge: its conflicts are resolved in the files, by mouse and by keyboard alone, and it is
 * finished.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { ModelError } from '../../../../forge/ai/request.ts'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { commit, git } from '../../../support/git.ts'
import { type PageDesk, type PageDeskOptions, tabOf } from '../../../support/page-desk.ts'
import { modelsOf, ScriptedModel, write } from '../../../support/scripted-model.ts'
import { openTestDesk } from '../../../support/served.ts'
import { findings } from './axe.ts'
import { ask } from './conversation-scene.ts'
import { BRANCH, CLAIM, LOGO, mergingTemplate, POSTGRES, rebasingTemplate, settled, upstreamIn } from './merge-scene.ts'
import {
  type DeskPage,
  numbersTyped,
  openPage,
  openScene,
  settled as rendered,
  showBranch,
  templateOf,
  until,
} from './page-scene.ts'

const template = mergingTemplate()
const LINES = Array.from({ length: 300 }, (_, at) => `line ${at}\n`).join('')
/** A path that is longer than the side column is wide, with a conflict. */
const DEEP = 'gson/src/main/java/com/google/gson/stream/JsonReader.java'
const between = (words: string) => `first\n\n\n\n${words}\n\n\n\nlast\n`
const deepTemplate = mergingTemplate({
  [DEEP]: { base: between('base'), ours: between('ours'), theirs: between('theirs') },
})
/** A line in which our side changed words, and theirs deleted some. */
const wordsTemplate = mergingTemplate({
  [DEEP]: { base: 'call(one, two) + 1\n', ours: 'call(one, 2) + 1\n', theirs: 'call(one)\n' },
})
/** A long text that our side changed at its end, and theirs deleted. */
const NOTES = { base: `${LINES}the end\n`, ours: `${LINES}the end, changed\n`, theirs: null }
/** A conflict of as many lines as a window has, in a function of a class. */
const tallIn = (words: string) => {
  const lines = (count: number, name: string) =>
    Array.from({ length: count }, (_, at) => `    ${name}(${at})\n`).join('')
  return `class Tall {\n  run() {\n${lines(80, 'before')}${lines(40, words)}${lines(80, 'after')}  }\n}\n`
}
const tallTemplate = mergingTemplate({
  'tall.ts': { base: tallIn('base'), ours: tallIn('ours'), theirs: tallIn('theirs') },
})
/** A conflict whose base and one side are long, with the same lines many times, as in a lock file. */
const packages = (version: number) =>
  Array.from({ length: 1_000 }, (_, at) => `  "${at}": {\n    "version": ${version},\n    "dev": true\n  },\n`).join('')
const lockSides = { base: `{\n${packages(1)}}\n`, ours: '{\n  "one": 1\n}\n', theirs: `{\n${packages(2)}}\n` }
const lockTemplate = mergingTemplate({ 'deps.json': lockSides })
/** A text of which theirs changed all line ends. */
const plain = (line: string) => `one\n${line}\n\nfour\n`
const crlfTemplate = mergingTemplate({
  'ends.md': { base: plain('two'), ours: plain('second'), theirs: plain('two').replaceAll('\n', '\r\n') },
})
const model = new ScriptedModel([])

describe.skipIf(!hasBrowser)('a branch that is merging', () => {
  let browser: OpenBrowser
  let desk: PageDesk
  let page: DeskPage

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  afterEach(async () => {
    expect(page.troubles).toEqual([])
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  const openDesk = async (of = template, options: Pick<PageDeskOptions, 'models'> = { models: modelsOf(model) }) => {
    desk = await openScene({ ...options, template: of, layout: { tabs: [tabOf(BRANCH)], active: 0 } })
  }
  const open = async (of = template) => {
    await openDesk(of)
    page = await openPage(browser.context, desk)
  }
  const files = () => page.getByRole('navigation', { name: 'Conflicted files' })
  const row = (name: string) => files().getByRole('button', { name })
  const conflict = (number: number, of = 2) =>
    page.getByRole('region', { name: `Conflict ${number} of ${of}`, exact: true })
  const status = () => page.getByRole('status', { name: 'Status' })
  const textIs = (path: string, words: string | ((text: string) => boolean)) => desk.isText(BRANCH, path, words)
  const textIn = async (path: string) => (await desk.textOf(BRANCH, path)) ?? ''

  test('a side that changed all line endings says so, and taken, it is a text of CRLF that can be typed in', async () => {
    await open(crlfTemplate)
    await row('ends.md').click()
    const box = conflict(1, 1)
    await box.waitFor()
    const heads = () => box.getByRole('heading').allInnerTexts()
    expect((await heads()).map(words => words.split('\n').at(-1))).toEqual(['LF', 'LF', 'CRLF'])
    expect(await findings(page)).toEqual([])
    await box.press('2')
    await page.locator('.status').getByText('CRLF · UTF-8').waitFor()
    expect(await page.locator('.cm-specialChar:visible').count()).toBe(0)
    await page.locator('.cm-line').getByText('two').click()
    await page.keyboard.press('End')
    await page.keyboard.type(' words\nmore')
    await textIs('ends.md', 'one\r\ntwo words\r\nmore\r\n\r\nfour\r\n')
    // A line without words is as high as the others.
    const heights = await page.locator('.cm-line').evaluateAll(lines => lines.map(line => line.clientHeight))
    expect(new Set(heights).size).toBe(1)
  })

  /** Goes to the next conflict and takes our side. */
  const resolveFirst = async () => {
    const left = files().getByText(/ left$/)
    const before = (await left.allTextContents()).join()
    await page.keyboard.press('F8')
    await until(() => page.evaluate(() => document.activeElement?.matches('section.conflict-box') ?? false))
    await page.keyboard.press('1')
    await until(async () => (await left.allTextContents()).join() !== before)
  }

  test('says so on its tab and in the status bar, and lists its files by what is to do', async () => {
    await open()
    await page.getByRole('tab', { name: /upstream-2.14 ?, merging/ }).waitFor()
    await files().getByRole('heading', { name: 'To do' }).waitFor()
    expect(await files().getByRole('region', { name: 'To do' }).getByRole('button').count()).toBe(2)
    expect(await files().getByRole('region', { name: 'Resolved' }).getByRole('button').count()).toBe(4)
    // A file that was renamed counts once.
    await files().getByRole('heading', { name: 'Merged by git 2 files' }).waitFor()
    await status().getByText('merging').waitFor()
    await status().getByText('7 of 10 conflicts resolved').waitFor()
    await page.getByText('3 conflicts are left').waitFor()
    expect(await page.getByRole('button', { name: 'Finish' }).getAttribute('aria-disabled')).toBe('true')
    expect(await page.getByLabel('Commit message').count()).toBe(0)
  })

  test('shows each conflict as a block with both sides, instead of its marks', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(1).waitFor()
    await conflict(2).getByText('this.#leaseMs').waitFor()
    await conflict(2).getByText('shards.advance(leases)').first().waitFor()
    expect(await page.getByRole('textbox', { name: 'Editor' }).getByText('<<<<<<<').count()).toBe(0)
    await page.getByText('2 of 2 left').waitFor()
  })

  for (const [way, go] of [
    ['F8', () => page.keyboard.press('F8')],
    ['a click on its file', () => row('claim.ts').click()],
  ] as const)
    test(`takes no key that chooses a side as text while ${way} is on its way to it`, async () => {
      await open()
      await page.getByRole('tab', { name: 'AI chat' }).click()
      const release = desk.proxy.hold('conflict')
      await go()
      await page.getByRole('textbox', { name: 'Editor' }).waitFor()
      await page.keyboard.press('2')
      release()
      await until(() => conflict(1).evaluate(element => element === document.activeElement))
      await page.getByText('2 of 2 left').waitFor()
      expect(await textIn(CLAIM)).not.toContain('2<')
      await page.keyboard.press('2')
      await page.getByText('1 of 2 left').waitFor()
    })

  test('has the focus on a conflict that an undo has opened, and its keys, also those of undo and redo', async () => {
    await open()
    await page.keyboard.press('F8')
    const hasFocus = (box: Locator) => until(() => box.evaluate(it => it === document.activeElement))
    const resolved = page.getByRole('region', { name: 'Conflict 2 of 2, resolved' })
    await hasFocus(conflict(1))
    const text = await textIn(CLAIM)
    await page.keyboard.press('1')
    await hasFocus(conflict(2))
    await page.keyboard.press('1')
    await hasFocus(resolved)
    await page.keyboard.press('Control+z')
    await hasFocus(conflict(2))
    await page.keyboard.press('2')
    await resolved.getByText('Theirs').waitFor()
    await page.keyboard.press('Control+z')
    await hasFocus(conflict(2))
    await page.keyboard.press('Control+z')
    await hasFocus(conflict(1))
    await textIs(CLAIM, text)
    await page.keyboard.press('Control+y')
    await page.getByText('1 of 2 left').waitFor()
  })

  test('has no cursor at a box, where it would not be seen: the text has it before or after that', async () => {
    await open()
    await row('claim.ts').click()
    const hasFocus = () => until(() => conflict(1).evaluate(it => it === document.activeElement))
    const isSeen = () => page.locator('.cm-cursor-primary').waitFor()
    await hasFocus()
    await page.keyboard.press('Escape')
    await isSeen()
    await page.keyboard.type(' // before')
    await textIs(CLAIM, text => / \/\/ before\n<{7,} /.test(text))
    await page.keyboard.press('F8')
    await hasFocus()
    await page.getByRole('textbox', { name: 'Editor' }).focus()
    await page.keyboard.press('ArrowRight')
    await isSeen()
    await page.keyboard.type('/* after */')
    await textIs(CLAIM, text => />{7,} [^\n]*\n\/\* after \*\//.test(text))
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.type(' it')
    await textIs(CLAIM, text => / \/\/ before it\n<{7,} /.test(text))
    // Nothing of the conflict is deleted by the keys that delete what is before and after the cursor.
    await page.keyboard.press('Delete')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Backspace')
    await page.keyboard.type('!')
    await textIs(CLAIM, text => />{7,} [^\n]*\n!\/\* after \*\//.test(text) && / before it\n<{7,} /.test(text))
    await page.keyboard.press('F8')
    await page.keyboard.press('Shift+F8')
    await hasFocus()
    await page.keyboard.press('1')
    await page.getByText('1 of 2 left').waitFor()
  })

  test('has its line numbers beside their lines, also when a wider window makes the blocks lower', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(2).waitFor()
    const topOfLast = async (selector: string) => (await page.locator(selector).last().boundingBox())?.y ?? Number.NaN
    const isBeside = async () => {
      const line = await topOfLast('.cm-line')
      const number = await topOfLast('.cm-lineNumbers .cm-gutterElement')
      return Math.abs(line - number) < 2
    }
    for (const width of [800, 1900, 1280]) {
      await page.setViewportSize({ width, height: 1000 })
      await until(isBeside)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('shows the head of a tall conflict, below the lines that stay in view', async () => {
    await open(tallTemplate)
    await page.setViewportSize({ width: 1280, height: 657 })
    await row('tall.ts').click()
    const isHeadInView = () =>
      conflict(1, 1).evaluate(it => {
        const { left, top } = it.getBoundingClientRect()
        return it.contains(document.elementFromPoint(left + 20, top + 2))
      })
    for (const key of ['F8', 'Shift+F8', 'F8']) {
      await until(() => conflict(1, 1).evaluate(it => it === document.activeElement))
      await until(async () => (await page.locator('.cm-sticky-line').count()) === 2)
      await rendered(page)
      expect(await isHeadInView()).toBe(true)
      await page.keyboard.press('Escape')
      await page.keyboard.press(key === 'F8' ? 'Control+Home' : 'Control+End')
      await page.keyboard.press(key)
    }
  })

  test('is updated after its branch was moved, and what was resolved stays so', async () => {
    await open()
    await page.getByText('3 conflicts are left').waitFor()
    await commit(desk.path, BRANCH, { 'moved.txt': 'moved\n' })
    await page.getByText(/was moved since this began: update the merge/).waitFor()
    await page.getByRole('button', { name: 'Update', exact: true }).click()
    await page.getByText('3 conflicts are left in').waitFor()
    await status().getByText('7 of 10 conflicts resolved').waitFor()
    expect(await page.getByRole('button', { name: 'Update', exact: true }).count()).toBe(0)
  })

  test('shows what was typed beside the conflicts as a side of its own, where the branch has changed that line', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(2).waitFor()
    const seen = (words: string) => `#seen = 0; // ${words}`
    await settled(desk, CLAIM, (await textIn(CLAIM)).replace('#seen = 0;', seen('a sentence of mine')))
    const ours = await git(desk.path, 'show', `${BRANCH}:${CLAIM}`)
    await commit(desk.path, BRANCH, { [CLAIM]: `${ours.replace('#seen = 0;', seen('moved'))}\n` })
    await page.getByRole('button', { name: 'Update', exact: true }).click()
    const typed = conflict(1, 3).getByRole('region', { name: 'Theirs, changed in this merge' })
    await typed.getByText('a sentence of mine').waitFor()
    await conflict(1, 3)
      .getByRole('region', { name: `Ours, ${BRANCH}` })
      .getByText('moved')
      .waitFor()
    // Its base is the text of the merge, and not that of the commit that both branches come from.
    const base = (number: number, name: string) =>
      conflict(number, 3).getByRole('region', { name: `Base, ${name}`, includeHidden: true })
    await base(1, 'before that change').waitFor({ state: 'attached' })
    await base(2, 'common ancestor').waitFor({ state: 'attached' })
    await page.getByText('3 of 3 left').waitFor()
  })

  test('is not updated while a file that its branch has deleted has typed text, and is once that is discarded', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(2).waitFor()
    await settled(desk, CLAIM, (await textIn(CLAIM)).replace('#seen = 0;', '#seen = 0; // a sentence of mine'))
    await commit(desk.path, BRANCH, { [CLAIM]: null })
    const update = page.getByRole('button', { name: 'Update', exact: true })
    await update.click()
    await page.getByText(`discard the changes to ${CLAIM}, then try again.`).waitFor()
    await page.keyboard.press('Alt+i')
    await page.keyboard.press('Alt+Shift+d')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await update.click()
    await page.locator('.toast').getByText(`newest commit of ${BRANCH}: `).waitFor()
    await page.getByText(`discard the changes to ${CLAIM}, then try again.`).waitFor({ state: 'detached' })
  })

  test('lists what was typed in another file as a conflict after its update, where the branch has changed that line', async () => {
    await open()
    for (const _ of [1, 2, 3]) await resolveFirst()
    await page.getByLabel('Commit message').waitFor()
    await page.keyboard.press('Control+p')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('README.md')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'README.md', selected: true }).waitFor()
    const text = page.getByRole('textbox', { name: 'Editor' })
    await text.click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('A sentence of mine')
    await textIs('README.md', '# Tern\nA sentence of mine')
    await commit(desk.path, BRANCH, { 'README.md': '# Tern\nA sentence of the branch\n' })
    const update = page.getByRole('button', { name: 'Update', exact: true })
    await update.waitFor()
    const answer = desk.proxy.hold('merging')
    await update.click()
    const notice = page.locator('.toast').getByText(`newest commit of ${BRANCH}: 1 conflict is left.`)
    await notice.waitFor()
    answer()
    await row('README.md').getByText('1 left').waitFor()
    await until(() => page.evaluate(() => document.activeElement !== document.body))
    // The end of the notice would give the page its focus back, too.
    expect(await notice.count()).toBe(1)
    await conflict(1, 1).getByRole('region', { name: 'Theirs, changed in this merge' }).getByText('mine').waitFor()
    await status().getByText('10 of 11 conflicts resolved').waitFor()
    expect(await page.getByText(/is in conflict: resolve it/).count()).toBe(0)
    expect(await text.getByText('<<<<<<<').count()).toBe(0)

    await page.reload()
    await conflict(1, 1)
      .getByRole('region', { name: `Ours, ${BRANCH}` })
      .getByText('of the branch')
      .waitFor()
    await page.keyboard.press('F8')
    await until(() => conflict(1, 1).evaluate(element => element === document.activeElement))
    await page.keyboard.press('3')
    await conflict(1, 1).waitFor({ state: 'detached' })
    await status().getByText('11 of 11 conflicts resolved').waitFor()
    await page.getByRole('button', { name: 'Finish', exact: true }).click()
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
    expect(await git(desk.path, 'show', `${BRANCH}:README.md`)).toBe(
      '# Tern\nA sentence of the branch\nA sentence of mine',
    )
  })

  test('of a cherry-pick names the sides of a conflict that its update adds, and those of the others as before', async () => {
    const lines = (second: string, last: string) => `1\n${second}\n3\n4\n5\n6\n7\n8\n${last}\n10\n`
    await openDesk(
      templateOf(async path => {
        const base = await commit(path, BRANCH, { 'a.txt': lines('base 2', 'base 9') })
        await commit(path, BRANCH, { 'a.txt': lines('ours 2', 'ours 9') })
        const changed = { 'a.txt': lines('theirs 2', 'theirs 9') }
        const picked = await commit(path, 'topic', changed, { message: 'Pick', parents: [base] })
        await using ofStep = await openTestDesk(path)
        await using window = await ofStep.window()
        await window.ask({ ask: 'do', step: { step: 'cherry-pick', commits: [picked], onto: BRANCH } })
      }),
    )
    page = await openPage(browser.context, desk)
    await row('a.txt').click()
    await conflict(1).getByRole('button', { name: /^Both/ }).click()
    await textIs('a.txt', text => text.startsWith('1\nours 2\ntheirs 2\n3\n'))
    // Line 2 is that of the base again: there, the cherry-pick has no conflict any more.
    await desk.commit(BRANCH, { 'a.txt': lines('base 2', 'ours 9') })
    await page.getByRole('button', { name: 'Update', exact: true }).click()
    const side = (number: number, name: string) => conflict(number).getByRole('region', { name, exact: true })
    await side(1, `Ours, ${BRANCH} after the update`).getByText('theirs 2').waitFor()
    await side(1, 'Theirs, changed in this cherry-pick').getByText('ours 2').waitFor()
    await side(2, `Ours, ${BRANCH}`).getByText('ours 9').waitFor()
    await side(2, `Theirs, ${(await desk.tip('topic')).slice(0, 8)} (Pick)`)
      .getByText('theirs 9')
      .waitFor()
  })

  test('takes one side for all conflicts of a file, or of all files, in one step each, with an undo', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(2).waitFor()
    await page.keyboard.press('Control+Shift+F8')
    await page.getByRole('region', { name: 'Conflict 2 of 2, resolved' }).waitFor()
    await textIs(CLAIM, text => text.includes('{ shards }') && !text.includes('#leaseMs'))
    const undo = page.locator('.toast').getByRole('button', { name: 'Undo' })
    await undo.click()
    await conflict(2).waitFor()
    await row('postgres.ts').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Take ours for all conflicts of all files' }).click()
    await files().getByRole('heading', { name: 'To do' }).waitFor({ state: 'detached' })
    await textIs(CLAIM, text => text.includes('#leaseMs') && !text.includes('{ shards }'))
    await textIs(POSTGRES, text => text.includes('claim = 1') && !text.includes('claim = 2'))
    await undo.click()
    await files().getByRole('region', { name: 'To do' }).getByRole('button').nth(1).waitFor()
    await row('postgres.ts').focus()
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: 'Take theirs for all conflicts of the file' }).click()
    await textIs(POSTGRES, text => text.includes('claim = 2') && !text.includes('claim = 1'))
    await row('claim.ts').getByText('2 left').waitFor()
  })

  test('says which files one side taken for all files leaves open, and why', async () => {
    await open(mergingTemplate(LOGO))
    await row('postgres.ts').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Take theirs for all conflicts of all files' }).click()
    const toast = page.locator('.toast')
    await toast.getByText('Resolved the conflicts left in 2 files by theirs.').waitFor()
    await toast
      .getByText(`1 file still needs a choice of its own: logo.png (deleted in ${BRANCH}, changed in upstream).`)
      .waitFor()
    const left = files().getByRole('region', { name: 'To do' }).getByRole('button')
    await until(async () => (await left.count()) === 1)
    await toast.getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await left.count()) === 3)
  })

  test('has one side of a long conflict that is chosen by a key while theirs is taken for all', async () => {
    await open(lockTemplate)
    await row('deps.json').click()
    await until(() => conflict(1, 1).evaluate(it => it === document.activeElement))
    await page.keyboard.press('Control+Shift+F8')
    await page.keyboard.press('1')
    await page
      .getByRole('region', { name: 'Conflict 1 of 1, resolved' })
      .getByText(/^(Ours|Theirs)$/)
      .waitFor()
    await page
      .getByRole('paragraph')
      .filter({ hasText: 'Resolved the conflicts left in deps.json by theirs' })
      .waitFor()
    await textIs('deps.json', text => text === lockSides.ours || text === lockSides.theirs)
  })

  test('has the choice of one of two windows that choose differently in a conflict at the same time', async () => {
    await open()
    const other = await openPage(browser.context, desk)
    const windows = [page, other]
    for (const it of windows) {
      await it.keyboard.press('F8')
      const box = it.getByRole('region', { name: 'Conflict 1 of 2', exact: true })
      await until(() => box.evaluate(element => element === document.activeElement))
    }
    await Promise.all([page.keyboard.press('1'), other.keyboard.press('2')])
    const labels = () =>
      Promise.all(windows.map(it => it.getByRole('region', { name: 'Conflict 1 of 2, resolved' }).textContent()))
    await until(async () => {
      const [here, there] = await labels()
      return here === there
    })
    const text = await textIn(CLAIM)
    const label = (await labels())[0] ?? ''
    expect(label).toMatch(/^(Ours|Theirs)/)
    expect([text.includes('size: number, lease = LEASE_MS'), text.includes('if (this.#draining) return [];')]).toEqual(
      label.startsWith('Ours') ? [true, false] : [false, true],
    )
    await other.close()
  })

  test('shows the bar of a conflict at the beginning of a file that one side was taken for', async () => {
    await openDesk()
    const side = (word: string) => `${word}\n${'line\n'.repeat(100)}`
    await desk.commit('main', { 'top.md': side('base') })
    await desk.git('branch', 'left', 'main')
    await desk.commit('left', { 'top.md': side('left') })
    const theirs = await desk.commit('main', { 'top.md': side('right') })
    await using window = await desk.desk.window()
    const source = { commit: theirs, branch: 'main', words: 'main' }
    await window.ask({ ask: 'do', step: { step: 'merge', source, onto: 'left' } })
    page = await openPage(browser.context, desk)
    await showBranch(page, 'left')
    await row('top.md').click()
    await until(() => conflict(1, 1).evaluate(box => box === document.activeElement))
    await page.keyboard.press('Control+Shift+F8')
    const bar = page.getByRole('region', { name: 'Conflict 1 of 1, resolved' })
    await bar.waitFor()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).waitFor()
    await rendered(page)
    const topOf = (it: Element) => it.getBoundingClientRect().top
    const view = await page.locator('.cm-scroller').evaluate(topOf)
    expect(await bar.evaluate(topOf)).toBeGreaterThanOrEqual(view)
  })

  test('shows the bar of a resolved conflict that undo and redo of the editor go to from below', async () => {
    await openDesk()
    const side = (word: string) => `${'line\n'.repeat(100)}${word}\n${'line\n'.repeat(100)}`
    await desk.commit('main', { 'mid.md': side('base') })
    await desk.git('branch', 'left', 'main')
    await desk.commit('left', { 'mid.md': side('left') })
    const theirs = await desk.commit('main', { 'mid.md': side('right') })
    await using window = await desk.desk.window()
    const source = { commit: theirs, branch: 'main', words: 'main' }
    await window.ask({ ask: 'do', step: { step: 'merge', source, onto: 'left' } })
    page = await openPage(browser.context, desk)
    await showBranch(page, 'left')
    await row('mid.md').click()
    await until(() => conflict(1, 1).evaluate(box => box === document.activeElement))
    await page.keyboard.press('1')
    const bar = page.getByRole('region', { name: 'Conflict 1 of 1, resolved' })
    await bar.waitFor()
    const topOf = (it: Element) => it.getBoundingClientRect().top
    const press = async (keys: string, shown: Locator) => {
      await page.getByRole('textbox', { name: 'Editor' }).focus()
      await page.keyboard.press('Control+End')
      await rendered(page)
      await page.keyboard.press(keys)
      await shown.waitFor()
      await rendered(page)
      const view = await page.locator('.cm-scroller').evaluate(topOf)
      expect(await shown.evaluate(topOf)).toBeGreaterThanOrEqual(view)
    }
    await press('Control+z', conflict(1, 1))
    await press('Control+y', bar)
    await bar.getByRole('button', { name: 'Change' }).click()
    await conflict(1, 1).waitFor()
    await press('Control+z', bar)
    await press('Control+y', conflict(1, 1))
  })

  test('counts what is resolved while the desk is away, and says why it can’t be finished then', async () => {
    await open()
    await page.keyboard.press('F8')
    await until(() => conflict(1).evaluate(element => element === document.activeElement))
    const comeBack = desk.proxy.goAway()
    await page.getByText('The desk does not answer at the moment: finish when it is back.').waitFor()
    await page.keyboard.press('1')
    await until(() => conflict(2).evaluate(element => element === document.activeElement))
    await row('claim.ts').getByText('1 left').waitFor()
    await page.keyboard.press('1')
    await files().getByRole('region', { name: 'Resolved' }).getByText('claim.ts').waitFor()
    await page.getByText('9 of 10 resolved').waitFor()
    expect(await page.getByText('conflicts are left in').count()).toBe(0)
    comeBack()
    await page.getByText('1 conflict is left in src/store/postgres.ts.').waitFor()
    await status().getByText('9 of 10 conflicts resolved').waitFor()
  })

  test('has the history of its branch, without what the desk keeps for the merge', async () => {
    await open()
    await page.keyboard.press('Alt+h')
    await page.getByRole('listbox', { name: 'History' }).getByRole('option').first().waitFor()
    const asked = desk.proxy.asked.find(({ ask }) => ask === 'history')
    expect(asked).toMatchObject({ at: { kind: 'commit', commit: await desk.tip(BRANCH) } })
  })

  test('colours what stands behind a conflict as in a file without one', async () => {
    const code = (line: string) => `function one() {\n${line}\n  }\n  return 'an end'\n}\n`
    const sides = { base: code('  if (b) { `'), ours: code('  if (a) {'), theirs: code('  if (c) { /*') }
    await open(mergingTemplate({ [CLAIM]: sides }))
    await row('claim.ts').click()
    await conflict(1, 1).waitFor()
    const colourOf = (words: string) =>
      page
        .locator('.cm-line span', { hasText: words })
        .first()
        .evaluate(element => getComputedStyle(element).color)
    // A long text is coloured in several steps, and what stands behind the conflict after what is in it.
    await until(async () => (await colourOf('return')) === (await colourOf('function')))
    await until(async () => (await colourOf("'an end'")) !== (await colourOf('return')))
  })

  test('has the base beside both sides where there is room, below them where not, and all stacked where it is narrow', async () => {
    await open()
    await row('claim.ts').click()
    const side = (name: RegExp) => conflict(1).getByRole('region', { name })
    await page.setViewportSize({ width: 1920, height: 1080 })
    await side(/^Base/).waitFor()
    await page.setViewportSize({ width: 1000, height: 800 })
    await side(/^Base/).waitFor({ state: 'hidden' })
    await conflict(1).locator('summary').getByText('Base').waitFor()
    const tops = async () => [await side(/^Ours/).boundingBox(), await side(/^Theirs/).boundingBox()].map(box => box?.y)
    const [ours, theirs] = await tops()
    expect(ours).toBe(theirs)
    await page.setViewportSize({ width: 640, height: 800 })
    await until(async () => {
      const [above = 0, below = 0] = await tops()
      return above < below
    })
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('takes what is chosen by the buttons, and gives it back by Change', async () => {
    await open()
    const before = await textIn(CLAIM)
    await row('claim.ts').click()
    await conflict(1).getByRole('button', { name: 'Theirs' }).click()
    const isTheirs = (text: string) => text.includes('if (this.#draining)') && !text.includes('lease = LEASE_MS')
    await desk.isText(BRANCH, CLAIM, isTheirs)
    await page.getByText('1 of 2 left').waitFor()
    await row('claim.ts, 1 left').or(files().getByText('1 left').first()).first().waitFor()
    const settled = page.getByRole('region', { name: 'Conflict 1 of 2, resolved' })
    await settled.getByText('Theirs').waitFor()
    await settled.getByRole('button', { name: 'Change' }).click()
    await textIs(CLAIM, before)
    await conflict(1).waitFor()
  })

  test('is settled by the keyboard alone, from the list of files to Finish', async () => {
    await open()
    await page.keyboard.press('F8')
    await page.getByText('2 of 2 left').waitFor()
    await until(() => conflict(1).evaluate(element => element === document.activeElement))
    await page.keyboard.press('3')
    await until(() => conflict(2).evaluate(element => element === document.activeElement))
    await page.keyboard.press('1')
    await desk.isText(BRANCH, CLAIM, text => !text.includes('<<<<<<<'))
    await files().getByRole('region', { name: 'Resolved' }).getByText('claim.ts').waitFor()
    await page.keyboard.press('F8')
    await until(() => conflict(1, 1).evaluate(element => element === document.activeElement))
    await page.keyboard.press('2')
    await textIs(POSTGRES, 'export class PostgresStore {\n  claim = 2\n}\n')
    await page.getByLabel('Commit message').waitFor()
    await page.keyboard.press('Alt+Shift+f')
    await desk.isMessage(BRANCH, `Merge branch 'upstream' into ${BRANCH}`)
    expect(await desk.git('show', `${BRANCH}:${POSTGRES}`)).toBe('export class PostgresStore {\n  claim = 2\n}')
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
  })

  test('after a choice by a key, keys that move the cursor and select act in a long text as in any other', async () => {
    const long = (first: string) => `${first}\n${LINES}the end\n`
    await open(mergingTemplate({ [CLAIM]: { base: long('base'), ours: long('ours'), theirs: long('theirs') } }))
    const place = (words: string) => page.locator('.line-column').getByText(words, { exact: true }).waitFor()
    const settledBox = page.getByRole('region', { name: 'Conflict 1 of 1, resolved' })
    const chooseTheirs = async () => {
      await until(() => conflict(1, 1).evaluate(element => element === document.activeElement))
      await page.keyboard.press('2')
      await settledBox.waitFor()
      await until(() => settledBox.evaluate(element => element === document.activeElement))
    }
    await page.keyboard.press('F8')
    await chooseTheirs()
    await page.keyboard.press('Control+End')
    await place('303:1')
    // At once, since letters that are typed slowly are several steps of undo.
    await page.keyboard.insertText('typed')
    await textIs(CLAIM, `${long('theirs')}typed`)
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Control+z')
    await chooseTheirs()
    // The key of a choice, pressed once too often, is not typed, also not after Ctrl alone.
    await page.keyboard.press('Control')
    await page.keyboard.press('2')
    await page.keyboard.press('Control+ArrowRight')
    await place('1:7')
    await page.keyboard.press('Shift+ArrowDown')
    await page.getByText('2:7 (7 selected)', { exact: true }).waitFor()
    await textIs(CLAIM, long('theirs'))
  })

  test('a key that goes on after each choice leaves no conflict out', async () => {
    await open()
    const hasFocus = (box: ReturnType<typeof conflict>) =>
      until(() => box.evaluate(element => element === document.activeElement))
    await page.keyboard.press('F8')
    await hasFocus(conflict(1))
    await page.keyboard.press('1')
    await hasFocus(conflict(2))
    await page.keyboard.press('F8')
    await hasFocus(conflict(2))
    // A second F8 goes on, and resolves nothing.
    await page.keyboard.press('F8')
    await hasFocus(conflict(1, 1))
    await page.keyboard.press('Shift+F8')
    await hasFocus(conflict(2))
  })

  test('the way from one conflict to the next leads around the end, among the files and in one of them', async () => {
    await openDesk()
    const answer = desk.proxy.hold('merging')
    page = await openPage(browser.context, desk)
    const hasFocus = (box: ReturnType<typeof conflict>) =>
      until(() => box.evaluate(element => element === document.activeElement))
    // The list of files is still loading.
    await page.keyboard.press('Shift+F8')
    answer()
    await hasFocus(conflict(1, 1))
    await row('claim.ts').click()
    await conflict(2).waitFor()
    await page.keyboard.press('Alt+i')
    await page.keyboard.press('Control+End')
    await page.keyboard.press('F8')
    await hasFocus(conflict(1, 1))
    await page.keyboard.press('Shift+F8')
    await hasFocus(conflict(2))
    await page.keyboard.press('Shift+F8')
    await hasFocus(conflict(1))
    await page.keyboard.press('Shift+F8')
    await hasFocus(conflict(1, 1))
    // However it is left, a file is entered at its first conflict.
    await page.keyboard.press('F8')
    await hasFocus(conflict(1))
    await page.keyboard.press('F8')
    await hasFocus(conflict(2))
  })

  test('the buttons above a file lead from one of its conflicts to the next, and a key from the text to the one at the cursor', async () => {
    await open()
    const hasFocus = (box: ReturnType<typeof conflict>) =>
      until(() => box.evaluate(element => element === document.activeElement))
    await row('claim.ts').click()
    await hasFocus(conflict(1))
    const [next, previous] = ['Next conflict', 'Previous conflict'].map(name => page.getByRole('button', { name }))
    await next?.click()
    await hasFocus(conflict(2))
    await previous?.click()
    await hasFocus(conflict(1))
    await page.keyboard.press('Escape')
    await page.keyboard.press('F8')
    await hasFocus(conflict(1))
  })

  test('finishes right after the last choice, which the desk does not have yet', async () => {
    await openDesk()
    await settled(desk, CLAIM, 'x\n')
    page = await openPage(browser.context, desk)
    await page.keyboard.press('F8')
    await until(() => conflict(1, 1).evaluate(element => element === document.activeElement))
    const answer = desk.proxy.hold('edit')
    await page.keyboard.press('2')
    await page.keyboard.press('Alt+Shift+f')
    answer()
    await page.locator('.toast').getByText('Merged upstream into').waitFor()
    expect(await desk.git('show', `${BRANCH}:${POSTGRES}`)).toBe('export class PostgresStore {\n  claim = 2\n}')
    expect(await page.getByText(/conflicts? (is|are) left in/).count()).toBe(0)
  })

  test('says that no conflict is left, and how it is finished, instead of going into the text', async () => {
    await open(mergingTemplate(LOGO))
    const hasFocus = (box: ReturnType<typeof conflict>) =>
      until(() => box.evaluate(element => element === document.activeElement))
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await page.keyboard.press('F8')
    await hasFocus(whole)
    await page.keyboard.press('1')
    await files().getByRole('region', { name: 'Resolved' }).getByText('logo.png').waitFor()
    // The next file in the list follows one that is resolved, too.
    await page.keyboard.press('F8')
    await hasFocus(conflict(1))
    await page.keyboard.press('2')
    await hasFocus(conflict(2))
    await page.keyboard.press('2')
    await page.keyboard.press('F8')
    await hasFocus(conflict(1, 1))
    // The server has not heard yet that the last one is resolved.
    const answer = desk.proxy.hold('edit')
    await page.keyboard.press('2')
    await page.keyboard.press('F8')
    await hasFocus(page.getByRole('button', { name: 'Finish', exact: true }))
    await page.keyboard.press('2')
    answer()
    await page.locator('.toast').getByText('No conflicts are left: finish with Alt Shift F').waitFor()
    await textIs(POSTGRES, 'export class PostgresStore {\n  claim = 2\n}\n')
    await page.keyboard.press('Enter')
    await desk.isMessage(BRANCH, `Merge branch 'upstream' into ${BRANCH}`)
    expect(await desk.git('show', `${BRANCH}:${POSTGRES}`)).toBe('export class PostgresStore {\n  claim = 2\n}')
  })

  test('is previewed with the words about a file with a long name below it, in full width, and others beside it', async () => {
    const folder = 'test/fixtures/controller.bar'
    const text = 'words\n'.repeat(20)
    const RENAMED_DEEP = {
      [`${folder}/borderRadius/border-radius-stacked.js`]: { base: text, ours: null, theirs: null },
      'test/fixtures/bar/borderRadius/border-radius-stacked.js': { base: null, ours: text, theirs: null },
      [`${folder}/radius/border-radius-stacked.js`]: { base: null, ours: null, theirs: text },
    }
    await open(templateOf(async path => void (await upstreamIn(path, BRANCH, RENAMED_DEEP))))
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.keyboard.press('Control+k')
    await page.keyboard.type(`>Merge a branch into ${BRANCH}`)
    await page.keyboard.press('Enter')
    await page.getByRole('option').filter({ hasText: 'upstream' }).last().click()
    await page.getByRole('button', { name: 'Continue' }).click()
    const boxes = async (name: string) => {
      const item = page.getByRole('list', { name: 'Files in conflict' }).getByRole('listitem').filter({ hasText: name })
      const [path, words] = [await item.locator('.path').boundingBox(), await item.locator('.meta').boundingBox()]
      if (!path || !words) throw new Error(`${name} is not to be seen`)
      return { path, words }
    }
    await page.getByRole('list', { name: 'Files in conflict' }).waitFor()
    const long = await boxes('border-radius-stacked.js')
    expect(long.words.y).toBeGreaterThanOrEqual(long.path.y + long.path.height)
    expect(long.words.x).toBe(long.path.x)
    expect(long.words.height).toBeLessThan(70)
    const short = await boxes('claim.ts')
    expect(short.words.x).toBeGreaterThan(short.path.x + short.path.width)
  })

  test('begins at the first conflict, however soon the key is pressed that goes to the next one', async () => {
    await open(templateOf(async path => void (await upstreamIn(path, BRANCH))))
    await page.keyboard.press('Control+k')
    await page.keyboard.type(`>Merge a branch into ${BRANCH}`)
    await page.keyboard.press('Enter')
    await page.getByRole('option').filter({ hasText: 'upstream' }).last().click()
    await page.getByRole('button', { name: 'Continue' }).click()
    const answer = desk.proxy.hold('conflict')
    await page.getByRole('button', { name: /^Merge and resolve/ }).click()
    await page.getByRole('tab', { name: 'index.ts', selected: true }).waitFor()
    await page.keyboard.press('F8')
    answer()
    await until(() => conflict(1, 1).evaluate(element => element === document.activeElement))
    await page.getByRole('tab', { name: 'index.ts', selected: true }).waitFor()
  })

  test('begins in the file that is shown, if that is in conflict, wherever the cursor is', async () => {
    await open(templateOf(async path => void (await upstreamIn(path, BRANCH))))
    await page.keyboard.press('Control+p')
    await page.keyboard.type('claim.ts')
    await page.getByRole('option', { name: 'claim.ts' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'claim.ts', selected: true }).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Control+k')
    await page.keyboard.type(`>Merge a branch into ${BRANCH}`)
    await page.keyboard.press('Enter')
    await page.getByRole('option').filter({ hasText: 'upstream' }).last().click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: /^Merge and resolve/ }).click()
    await row('index.ts').waitFor()
    await until(() => conflict(1).evaluate(element => element === document.activeElement))
    await page.getByRole('tab', { name: 'claim.ts', selected: true }).waitFor()
  })

  test('marks the words of a side that have changed, and by a line of its own colour where some are gone', async () => {
    await open(wordsTemplate)
    await row('JsonReader.java').click()
    const box = conflict(1, 1)
    await box.waitFor()
    const sideOf = (look: string) => box.locator(`.sides .${look}`)
    const marked = (look: string) => sideOf(look).locator('.w').allInnerTexts()
    expect([await marked('ours'), await marked('theirs')]).toEqual([['2'], []])
    expect(await sideOf('ours').locator('.gap').count()).toBe(0)
    const gaps = sideOf('theirs').locator('.gap')
    expect(await gaps.count()).toBe(2)
    const [place, line] = [await gaps.first().boundingBox(), await sideOf('theirs').locator('pre').boundingBox()]
    expect(place?.width).toBeGreaterThanOrEqual(1)
    expect(place?.height).toBeGreaterThan(8)
    expect(place?.x).toBeGreaterThan((line?.x ?? 0) + 20)
  })

  test('leaves the focus in a field that is clicked before the conflicts of a file are shown', async () => {
    await open()
    await row('claim.ts').waitFor()
    const answer = desk.proxy.hold('conflict')
    await row('claim.ts').click()
    await page.getByRole('tab', { name: 'claim.ts', selected: true }).waitFor()
    await page.keyboard.press('Control+Alt+f')
    const filter = page.getByRole('textbox', { name: 'Filter files' })
    await filter.click()
    await page.keyboard.type('claim')
    answer()
    await conflict(1).waitFor()
    await rendered(page)
    await page.keyboard.type('.ts')
    expect(await filter.inputValue()).toBe('claim.ts')
  })

  test('numbers the lines of the file, behind a conflict that is left as on our side', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(2).waitFor()
    const numbers = async () =>
      (await page.locator('.cm-lineNumbers .cm-gutterElement').allTextContents()).map(Number).filter(Boolean)
    // The gutter keeps the width of the widest number.
    const shown = async () => (await numbers()).slice(1)
    // Lines of an open conflict have no number; only our lines count.
    const expected: number[] = []
    let [number, side] = [0, '']
    for (const line of (await textIn(CLAIM)).split('\n')) {
      const [, mark] = /^(?:(<)<{6}|(\|)\|{6}|(=)={6}|(>)>{6})/.exec(line) ? [line, line[0]] : []
      if (mark !== undefined) side = mark === '>' ? '' : mark
      else if (side === '' || side === '<') number++
      if (mark === undefined && side === '') expected.push(number)
    }
    expect(expected.length).toBeGreaterThan(8)
    await until(async () => (await shown()).join() === expected.join())
    await page.keyboard.press('F8')
    await until(async () => /^\d+:1$/.test((await page.locator('.line-column').textContent()) ?? ''))
    await page.keyboard.press('2')
    await page.keyboard.press('2')
    await desk.isText(BRANCH, CLAIM, text => !text.includes('<<<<<<<'))
    const all = (await textIn(CLAIM)).split('\n').map((_, at) => at + 1)
    await until(async () => (await shown()).join() === all.join())
  })

  test('goes to the line that has a number beside it, also behind an open conflict', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(2).waitFor()
    const place = (words: string) => page.locator('.line-column').getByText(words, { exact: true }).waitFor()
    const goToLine = async (line: number) => {
      await page.keyboard.press('Control+g')
      await page.keyboard.type(String(line))
      await page.getByRole('option', { name: `Go to line ${line}`, exact: true }).waitFor()
      await page.keyboard.press('Enter')
      await place(`${line}:1`)
    }
    // Before a conflict, our lines of both, and behind them.
    for (const line of [3, 7, 15, 16, 21]) await goToLine(line)
    await goToLine(12)
    await page.keyboard.type('/* typed */')
    await desk.isText(BRANCH, CLAIM, text => text.includes('/* typed */    const shards ='))
    await page.keyboard.press('Control+p')
    await page.keyboard.type('claim.ts:20:3')
    const option = page.getByRole('option', { name: 'claim.ts src/queue/ line 20', exact: true })
    await until(async () => (await option.getAttribute('aria-selected', { timeout: 1_000 })) === 'true')
    await page.keyboard.press('Enter')
    await place('20:3')
  })

  test('has in the lists of found lines and symbols the numbers beside the text, and goes there', async () => {
    await open()
    const place = (words: string) => page.locator('.line-column').getByText(words).waitFor()
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('claimBatch')
    const results = page.getByRole('listbox', { name: 'Results' })
    const numbers = () => results.locator('.line-number').allTextContents()
    await until(async () => (await numbers()).join() === '8,11')
    await page.getByRole('button', { name: 'Replace', exact: true }).first().click()
    await results.getByRole('option').getByText('claimBatch').nth(1).waitFor()
    await until(async () => (await numbers()).join() === '8,11')
    await results.getByRole('option', { name: /async #claimBatch/ }).click()
    await place('11:')
    await page.keyboard.press('Control+g')
    await page.keyboard.type('1:15')
    await page.getByRole('option', { name: 'Go to line 1', exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await place('1:15')
    await page.keyboard.press('Shift+F12')
    await page.getByRole('option', { name: 'src/queue/claim.ts:11' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+Shift+l')
    await page.keyboard.type('free')
    await page.getByRole('option', { name: 'method · src/queue/claim.ts:21' }).click()
    await place('21:')
  })

  test('lists what to review with each file on one line, whose name is whole, and the reason below it', async () => {
    await openDesk(deepTemplate)
    for (const path of [CLAIM, POSTGRES, DEEP]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    const item = page.getByRole('list', { name: 'To review' }).getByRole('listitem').filter({ hasText: 'JsonReader' })
    const button = item.getByRole('button')
    await button.waitFor()
    const name = button.getByText('JsonReader.java', { exact: true })
    expect(await name.evaluate(it => it.clientWidth > 0 && it.scrollWidth <= it.clientWidth)).toBe(true)
    const words = await item.getByText('changed beside its conflicts, too', { exact: true }).boundingBox()
    const [file, whole] = [await button.boundingBox(), await item.boundingBox()]
    if (!words || !file || !whole) throw new Error('The list is not shown.')
    const lineHeight = await item.evaluate(it => Number.parseFloat(getComputedStyle(it).lineHeight))
    expect(file.height).toBeLessThan(1.5 * lineHeight)
    expect(file.x).toBe(whole.x)
    expect(words.x).toBe(whole.x)
    expect(words.y).toBeGreaterThanOrEqual(file.y + file.height)
    await button.click()
    await page.getByRole('tab', { name: /^JsonReader\.java/, selected: true }).waitFor()
  })

  test('finishes with the edited message, which is kept when the page is loaded again and the merge is updated', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    await page.getByRole('list', { name: 'To review' }).getByText('claim.ts').first().waitFor()
    const message = page.getByLabel('Commit message')
    await message.fill('Bring in 2.14')
    await page.reload()
    await until(async () => (await message.inputValue()) === 'Bring in 2.14')
    await commit(desk.path, BRANCH, { 'moved.txt': 'moved\n' })
    await page.getByRole('button', { name: 'Update', exact: true }).click()
    await page.getByRole('button', { name: 'Update', exact: true }).waitFor({ state: 'detached' })
    await until(async () => (await message.inputValue()) === 'Bring in 2.14')
    await page.getByRole('button', { name: 'Finish' }).click()
    await desk.isMessage(BRANCH, 'Bring in 2.14')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: 'Finish' }).waitFor()
  })

  test('is finished by Ctrl+Enter in its message, which is no message to the AI then, and says why it can’t be', async () => {
    await openDesk()
    const marked = await textIn(CLAIM)
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    await page.getByRole('tab', { name: 'AI chat' }).click()
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Not yet')
    const message = page.getByLabel('Commit message')
    await message.fill('Bring in')
    await settled(desk, CLAIM, marked)
    await row('claim.ts').getByText('2 left').waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByRole('status').getByText('2 conflicts are left').waitFor({ state: 'attached' })
    await settled(desk, CLAIM, 'x\n')
    await page.getByRole('button', { name: 'Finish', exact: true, disabled: false }).waitFor()
    await page.keyboard.type(' 2.14')
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Control+Enter')
    await desk.isMessage(BRANCH, 'Bring in 2.14')
    await files().waitFor({ state: 'detached' })
    expect(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).toBe('Not yet')
  })

  for (const keys of ['Control+Enter', 'Alt+Shift+F'])
    test(`has what is typed on after ${keys} in its message in the file that is shown then, and not in the message`, async () => {
      await openDesk()
      for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
      page = await openPage(browser.context, desk)
      await row('postgres.ts').click()
      await page.locator('.cm-line').getByText('x', { exact: true }).waitFor()
      const message = page.getByLabel('Commit message')
      await message.fill('Bring in 2.14')
      const answer = desk.proxy.hold('finish merging')
      await page.keyboard.press(keys)
      await page.keyboard.type('abc')
      await until(() => desk.proxy.count('finish merging') === 1)
      await page.keyboard.type('def')
      answer()
      await page.keyboard.type('ghi')
      await desk.isMessage(BRANCH, 'Bring in 2.14')
      await files().waitFor({ state: 'detached' })
      await textIs(POSTGRES, text => text.includes('abcdefghi'))
      expect(await page.getByText('The field that you typed in is gone').count()).toBe(0)
    })

  test('has what is typed on in its message where it can’t be finished', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    const message = page.getByLabel('Commit message')
    await message.fill('Bring in')
    desk.proxy.refused.set('finish merging', 'not now')
    await page.keyboard.press('Control+Enter')
    await page.keyboard.type(' 2.14')
    await page.getByText('not now').waitFor()
    await until(async () => (await message.inputValue()) === 'Bring in 2.14')
  })

  test('keeps its message under the hands that type it when the branch is moved, or a file is in conflict again', async () => {
    await openDesk(rebasingTemplate)
    const marked = await textIn(CLAIM)
    await settled(desk, CLAIM, 'x\n')
    page = await openPage(browser.context, desk)
    const message = page.getByLabel('Commit message')
    await message.fill('Claim')
    await desk.commit(BRANCH, { 'moved.txt': 'moved\n' })
    await page.getByText(/was moved since this began: update the rebase/).waitFor()
    await page.keyboard.type(' by')
    await page.getByRole('button', { name: 'Finish this commit', exact: true, disabled: true }).waitFor()
    await page.getByRole('button', { name: 'Update', exact: true }).waitFor()
    // Another window takes its resolution back.
    await settled(desk, CLAIM, marked)
    await row('claim.ts').getByText('1 left').waitFor()
    await page.keyboard.type(' shard')
    await rendered(page)
    expect(await message.inputValue()).toBe('Claim by shard')
    expect(await message.evaluate(it => it === document.activeElement)).toBe(true)
  })

  test('finishes with the message that was typed in another window, which shows it, too', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    const other = await openPage(browser.context, desk)
    await other.getByRole('button', { name: 'Finish', exact: true, disabled: false }).waitFor()
    await other.getByLabel('Commit message').waitFor()
    await page.getByLabel('Commit message').fill('Typed in one window')
    await until(async () => (await other.getByLabel('Commit message').inputValue()) === 'Typed in one window')
    await other.getByRole('button', { name: 'Finish', exact: true }).click()
    await desk.isMessage(BRANCH, 'Typed in one window')
    await files().waitFor({ state: 'detached' })
    // The undo of the end brings it back in both.
    await page.keyboard.press('Control+Alt+z')
    for (const it of [page, other])
      await until(async () => (await it.getByLabel('Commit message').inputValue()) === 'Typed in one window')
    await other.close()
  })

  test('shows the message that was typed last in another browser, and keeps what both type at the same time', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    await using second = await openBrowser()
    const other = await openPage(second.context, desk)
    const [here, there] = [page, other].map(it => it.getByLabel('Commit message')) as [Locator, Locator]
    await here.fill('Typed here\n')
    await until(async () => (await there.inputValue()) === 'Typed here\n')
    await there.fill('Typed there')
    await until(async () => (await here.inputValue()) === 'Typed there')
    const areBoth = (text: string) =>
      until(async () => (await here.inputValue()) === text && (await there.inputValue()) === text)
    // While the desk has neither, both replace all of it.
    const arrive = desk.proxy.hold('keep merging message')
    await here.fill('First')
    await there.fill('Second')
    const isSent = (message: string) => () =>
      desk.proxy.asked.some(it => it.ask === 'keep merging message' && it.message === message)
    await until(isSent('First'))
    await until(isSent('Second'))
    expect([await here.inputValue(), await there.inputValue()]).toEqual(['First', 'Second'])
    arrive()
    await until(async () => (await here.inputValue()).includes('\n') && (await there.inputValue()).includes('\n'))
    const both = await here.inputValue()
    expect(['First\nSecond', 'Second\nFirst']).toContain(both)
    await areBoth(both)
    await Promise.any(
      [page, other].map(it => it.locator('.toast').getByText('Another window changed the same lines').waitFor()),
    )
    // Each types in its own line.
    for (const [it, line] of [
      [page, 'First'],
      [other, 'Second'],
    ] as const) {
      await it.getByLabel('Commit message').focus()
      await it.keyboard.press(both.startsWith(line) ? 'Control+Home' : 'Control+End')
      await it.keyboard.press('End')
    }
    const arriveLater = desk.proxy.hold('keep merging message')
    await Promise.all([page.keyboard.type(' of here'), other.keyboard.type(' of there')])
    arriveLater()
    await areBoth(both.replace('First', 'First of here').replace('Second', 'Second of there'))
    // A new window has it, too, also where it is finished without a change of the message.
    const last = await here.inputValue()
    await other.reload()
    await until(async () => (await there.inputValue()) === last)
    // What another window has just typed, and is not shown here yet, is in the commit.
    const theirs = await desk.tip('upstream')
    const elsewhere = { ask: 'keep merging message', branch: BRANCH, theirs, before: last } as const
    const release = desk.proxy.hold('merging')
    await desk.ask({ ...elsewhere, message: `${last}\n\nBecause.` })
    await there.fill(`Title: ${last}`)
    await other.getByRole('button', { name: 'Finish', exact: true }).click()
    await desk.isMessage(BRANCH, `Title: ${last}\n\nBecause.`)
    release()
  })

  test('has once what each of two windows types at the same time in a line of its own', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    const other = await openPage(browser.context, desk)
    const [here, there] = [page, other].map(it => it.getByLabel('Commit message')) as [Locator, Locator]
    const areBoth = async (text: string) => {
      const texts = async () => [await here.inputValue(), await there.inputValue()]
      await until(async () => (await texts()).every(it => it === text)).catch(() => {})
      expect(await texts()).toEqual([text, text])
    }
    const keys = (words: string, backspaces = 0) => [...words, ...Array.from({ length: backspaces }, () => 'Backspace')]
    const press = async (it: DeskPage, pressed: readonly string[], delay: number) => {
      for (const key of pressed) await it.keyboard.press(key === ' ' ? 'Space' : key, { delay })
    }
    for (const delay of [0, 150, 600]) {
      desk.proxy.delay = 0
      await here.fill('Subject of it xxxxxxxx\n\nBody line')
      await areBoth('Subject of it xxxxxxxx\n\nBody line')
      await here.click()
      await page.keyboard.press('Control+Home')
      await page.keyboard.press('End')
      await there.click()
      await other.keyboard.press('Control+End')
      desk.proxy.delay = delay
      const subject = [...keys('', 9), ...keys(' alpha beta gammax', 1), ...keys(' delta epsylon', 4), ...keys('ilon')]
      await Promise.all([press(page, subject, 65), press(other, keys(' uno due tre quattro cinque sei sette'), 60)])
      await areBoth('Subject of it alpha beta gamma delta epsilon\n\nBody line uno due tre quattro cinque sei sette')
    }
    await other.close()
  })

  test('leaves the cursor at its place in the message when another window types in it', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    const other = await openPage(browser.context, desk)
    const [here, there] = [page, other].map(it => it.getByLabel('Commit message')) as [Locator, Locator]
    await here.fill('Bring in 2.14')
    await until(async () => (await there.inputValue()) === 'Bring in 2.14')
    await there.click()
    await other.keyboard.press('Control+End')
    await here.click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Control+ArrowRight')
    const typeThere = async (words: string, text: string) => {
      await other.keyboard.type(words)
      await until(async () => (await here.inputValue()) === text)
    }
    await typeThere(' at last', 'Bring in 2.14 at last')
    await page.keyboard.type(' it')
    await until(async () => (await there.inputValue()) === 'Bring it in 2.14 at last')
    // Above the cursor, too, and a selection stays one.
    await page.keyboard.press('Control+Shift+ArrowRight')
    await other.keyboard.press('Control+Home')
    await typeThere('Queue: ', 'Queue: Bring it in 2.14 at last')
    const selected = await here.evaluate((it: HTMLTextAreaElement) =>
      it.value.slice(it.selectionStart, it.selectionEnd).trim(),
    )
    expect(selected).toBe('in')
    await other.close()
  })

  test('has in a second window the message that is typed in the first one while it opens, and has it once', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    const here = page.getByLabel('Commit message')
    await here.waitFor()
    const usual = await here.inputValue()
    const load = desk.proxy.hold('merging')
    const asked = desk.proxy.count('merging')
    const other = await openPage(browser.context, desk)
    const there = other.getByLabel('Commit message')
    await until(() => desk.proxy.count('merging') > asked)
    const keep = desk.proxy.hold('keep merging message')
    await here.fill('Bring in 2.14')
    load()
    await there.waitFor()
    expect(await there.inputValue()).toBe(usual)
    keep()
    await until(async () => (await there.inputValue()) === 'Bring in 2.14')
    await there.press('Control+End')
    await other.keyboard.type(' at last')
    await until(async () => (await here.inputValue()) === 'Bring in 2.14 at last')
    await other.close()
  })

  test('has the typed message again after an undo of its abort, and after one of its end', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    await page.getByRole('list', { name: 'To review' }).getByText('claim.ts').first().waitFor()
    const message = page.getByLabel('Commit message')
    await message.fill('Bring in 2.14')
    await page.getByRole('button', { name: 'Abort', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort', exact: true }).click()
    await files().waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+z')
    await until(async () => (await message.inputValue()) === 'Bring in 2.14')
    await message.fill('Bring in 2.14, at last')
    await page.getByRole('button', { name: 'Finish' }).click()
    await desk.isMessage(BRANCH, 'Bring in 2.14, at last')
    await files().waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+z')
    await until(async () => (await message.inputValue()) === 'Bring in 2.14, at last')
    // It is used, even if nothing more is typed.
    await page.getByRole('button', { name: 'Finish' }).click()
    await desk.isMessage(BRANCH, 'Bring in 2.14, at last')
  })

  test('a message that is typed while another window aborts the merge goes into no file, and is kept', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    await row('postgres.ts').click()
    const message = page.getByLabel('Commit message')
    await message.click()
    await page.keyboard.press('Control+a')
    const before = await desk.git('show', `${BRANCH}:${POSTGRES}`)
    await using window = await desk.desk.window()
    const aborted = window.ask({ ask: 'abort merging', branch: BRANCH })
    const numbers = numbersTyped(page)
    while ((await files().count()) > 0) await numbers.type()
    await aborted
    await numbers.type()
    const notice = page.getByRole('alert').filter({ hasText: 'The field that you typed in is gone' })
    await notice.waitFor()
    await rendered(page)
    await numbers.type()
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true)
    await notice.getByRole('button', { name: 'Show more' }).click()
    await notice.getByText(numbers.typed.trim()).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    expect(await desk.git('show', `${BRANCH}:${POSTGRES}`)).toBe(before)
  })

  test('has what is typed without a pause in the message when another window finishes it, and a notice has all', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    await row('postgres.ts').click()
    const message = page.getByLabel('Commit message')
    // Not by `focus`: the file that is opening would still take the focus.
    await message.click()
    await page.keyboard.press('Control+a')
    const numbers = numbersTyped(page)
    while (desk.proxy.count('keep merging message') < 2) await numbers.type()
    await using window = await desk.desk.window()
    const finished = window.ask({ ask: 'finish merging', branch: BRANCH })
    while ((await files().count()) > 0) await numbers.type()
    await finished
    const committed = await desk.git('log', '-1', '--format=%B', BRANCH)
    // What was typed last may have been kept too late for the commit.
    expect(committed).toMatch(/^0/)
    expect(numbers.typed).toStartWith(committed)
    const notice = page.getByRole('alert').filter({ hasText: 'The field that you typed in is gone' })
    await numbers.type()
    await notice.getByRole('button', { name: 'Show more' }).click()
    await notice.getByText(numbers.typed.trim()).waitFor()
    expect(await textIn(POSTGRES)).toBe('x\n')
  })

  test('a message to the AI is sent without a question about the resolved files, which can’t be saved yet', async () => {
    model.play([{ text: 'claim.ts has two conflicts.' }])
    await open()
    await page.keyboard.press('Alt+j')
    await ask(page, 'What is left?')
    await page.getByRole('log', { name: 'Conversation' }).getByText('claim.ts has two conflicts.').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('a conflict that the AI has resolved in its own way is not called edited by hand', async () => {
    await openDesk()
    const text = await textIn(CLAIM)
    model.play([{ calls: [write(CLAIM, text.replace(/<{7}.*?>{7}[^\n]*/s, '  // by the AI'))] }, { text: 'Done.' }])
    page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+j')
    await ask(page, 'Resolve the first conflict, please.')
    await row('claim.ts').getByText('1 left').waitFor()
    await row('claim.ts').click()
    const resolved = page.getByRole('region', { name: 'Conflict 1 of 2, resolved' })
    await resolved.getByText('Edited, by openai/scripted').waitFor()
    // It is still named where another conflict is resolved by hand, also after a reload.
    await conflict(2).getByRole('button', { name: 'Ours' }).click()
    const byHand = page.getByRole('region', { name: 'Conflict 2 of 2, resolved' })
    await byHand.getByText('Ours', { exact: true }).waitFor()
    await files().getByText(', resolved in part by openai/scripted, edited since').waitFor()
    await resolved.getByText('Edited, by openai/scripted').waitFor()
    await page.reload()
    await byHand.getByText('Ours', { exact: true }).waitFor()
    await resolved.getByText('Edited, by openai/scripted').waitFor()
    // Not where its own text is edited.
    await page.getByRole('textbox', { name: 'Editor' }).getByText('// by the AI').click()
    await page.keyboard.press('End')
    await page.keyboard.type(', and by hand')
    await resolved.getByText('Edited', { exact: true }).waitFor()
  })

  test('names of a file only those conflicts as resolved by the AI that its turns have resolved', async () => {
    await openDesk()
    const first = /<{7}.*?>{7}[^\n]*/s
    const before = await textIn(CLAIM)
    const byHand = before.replace(first, '  // by hand')
    await settled(desk, CLAIM, byHand)
    await settled(desk, POSTGRES, 'by hand\n')
    const calls = [write(CLAIM, byHand.replace(first, '    // by the AI')), write(POSTGRES, 'by hand\n// a note\n')]
    model.play([{ calls }, { text: 'Done.' }])
    page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+j')
    await ask(page, 'Resolve the other conflict, please.')
    const group = files().getByRole('region', { name: 'Resolved' })
    await group.getByRole('button', { name: 'claim.ts' }).getByText('resolved in part by openai/scripted').waitFor()
    // The conversation is a draft of the merge, too, and no file that was resolved or typed in.
    await page.getByRole('button', { name: 'Abort' }).click()
    const abortion = page.getByRole('dialog')
    await abortion.getByText('What was resolved or typed in 6 files goes with it.').waitFor()
    await abortion.getByText('The conversation with the AI since the merge began goes with it.').waitFor()
    await page.keyboard.press('Escape')
    const postgres = group.getByRole('button', { name: 'postgres.ts' })
    await postgres.waitFor()
    expect(await postgres.textContent()).not.toContain('openai/scripted')
    await row('claim.ts').click()
    const resolved = (number: number) =>
      page.getByRole('region', { name: `Conflict ${number} of 2, resolved`, exact: true })
    await resolved(2).getByText('Edited, by openai/scripted').waitFor()
    await resolved(1).getByText('Edited', { exact: true }).waitFor()
    // After a change by hand and another turn, the same ones are named.
    const typed = (await textIn(CLAIM)).replace('// by hand', '// by hand, again')
    await settled(desk, CLAIM, typed)
    model.play([{ calls: [write(CLAIM, `${typed}// a note\n`)] }, { text: 'Done.' }])
    await page.keyboard.press('Alt+j')
    await ask(page, 'Add a note, please.')
    await page.getByRole('log', { name: 'Conversation' }).getByText('Done.').nth(1).waitFor()
    await row('claim.ts').click()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('// a note').waitFor()
    await resolved(2).getByText('Edited, by openai/scripted').waitFor()
    await resolved(1).getByText('Edited', { exact: true }).waitFor()
  })

  test('that the AI has resolved in part has its model beside the merge commit in the history', async () => {
    await openDesk()
    await settled(desk, CLAIM, 'by hand\n')
    model.play([{ calls: [write(POSTGRES, 'by the AI\n')] }, { text: 'Done.' }])
    page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+j')
    await ask(page, 'Resolve the other file, please.')
    await page.getByText('10 of 10 conflicts resolved').waitFor()
    await until(
      async () => (await page.getByRole('button', { name: 'Finish' }).getAttribute('aria-disabled')) !== 'true',
    )
    await page.keyboard.press('Alt+Shift+f')
    await desk.isMessage(BRANCH, `Merge branch 'upstream' into ${BRANCH}\n\nForge-Model: openai/scripted`)
    await page.keyboard.press('Alt+h')
    const merged = page.getByRole('option', { name: `Merge branch 'upstream' into ${BRANCH}` })
    await merged.getByText('scripted', { exact: true }).waitFor()
    await page.getByText('with scripted').waitFor()
  })

  test('a turn of the AI that is kept in it becomes drafts of the merge, and waits again after an undo', async () => {
    model.play([{ calls: [write(CLAIM, 'the AI\n')] }, { error: new ModelError('key', 'The key was refused.') }])
    await open()
    await page.keyboard.press('Alt+j')
    await ask(page, 'Resolve claim.ts, please.')
    const strip = page.getByRole('region', { name: 'The last turn was not completed' })
    const keep = strip.getByRole('button', { name: 'Keep' })
    for (const isAgain of [false, true]) {
      await strip.getByText('to be committed when it is finished; Discard removes both').waitFor()
      // The button goes away last, when nothing else changes any more.
      const release = desk.proxy.hold('conversation')
      if (isAgain) await keep.press('Enter')
      else await keep.click()
      await files().getByRole('region', { name: 'Resolved' }).getByRole('button', { name: 'claim.ts' }).waitFor()
      await page.getByText('9 of 10 conflicts resolved').waitFor()
      release()
      await strip.waitFor({ state: 'detached' })
      await page.locator('textarea:focus').waitFor()
      await desk.isText(BRANCH, CLAIM, 'the AI\n')
      await page.keyboard.press('Control+Alt+z')
      await strip.waitFor()
    }
    await page.getByRole('log', { name: 'Conversation' }).getByText('Resolve claim.ts, please.').waitFor()
  })

  test('lists what the AI has resolved as resolved while its turn waits: a file that it has deleted, and one that is not open', async () => {
    const calls = [{ name: 'delete_file', arguments: { path: 'notes.txt' } }, write(POSTGRES, 'by the AI\n')]
    model.play([{ calls }, { error: new ModelError('key', 'The key was refused.') }])
    await open(mergingTemplate({ 'notes.txt': NOTES }))
    const isIn = async (title: string, name: string) =>
      await files().getByRole('region', { name: title }).getByRole('button', { name }).waitFor()
    await isIn('To do', 'notes.txt')
    await page.keyboard.press('Alt+j')
    await ask(page, 'Resolve them, please.')
    const strip = page.getByRole('region', { name: 'The last turn was not completed' })
    await strip.waitFor()
    for (const name of ['notes.txt', 'postgres.ts']) await isIn('Resolved', name)
    await isIn('To do', 'claim.ts')
    await page.getByText('9 of 11 conflicts resolved').waitFor()
    await page.getByText('keep or discard what it did, then go on').first().waitFor()
    await strip.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    for (const name of ['notes.txt', 'postgres.ts']) await isIn('To do', name)
  })

  test('keeps what is typed between the undo and the redo of its end, and says what goes with its begin', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    page = await openPage(browser.context, desk)
    await page.getByLabel('Commit message').waitFor()
    await page.keyboard.press('Control+p')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('README.md')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'README.md', selected: true }).waitFor()
    await page.getByRole('button', { name: 'Finish', exact: true }).click()
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
    const toast = page.locator('.toast')
    const text = page.getByRole('textbox', { name: 'Editor' })
    const type = async (words: string) => {
      await text.click()
      await page.keyboard.press('Control+End')
      await page.keyboard.type(words)
    }
    await page.keyboard.press('Control+Alt+z')
    await files().waitFor()
    await type('typed')
    await page.keyboard.press('Control+Alt+Shift+Z')
    await toast.getByText(/^Redone: merge upstream/).waitFor()
    await page.getByRole('tab', { name: 'README.md , draft', selected: true }).waitFor()
    await type(' on')
    await page.keyboard.press('Control+Alt+z')
    await files().waitFor()
    await textIs('README.md', '# Tern\ntyped on')
    await page.keyboard.press('Control+Alt+z')
    await toast.getByText(/^Undone: begin to merge upstream/).waitFor()
    await toast.getByText(`what was resolved or typed in ${CLAIM}, ${POSTGRES} goes with it`).waitFor()
    await text.getByText('typed on').waitFor()
    expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/merging')).toBe('')
    await textIs('README.md', '# Tern\ntyped on')
    await page.keyboard.press('Control+Alt+Shift+Z')
    await status().getByText('10 of 10 conflicts resolved').waitFor()
    await textIs('README.md', '# Tern\ntyped on')
  })

  test('goes with its branch where git branch -m renames it, with the message', async () => {
    await open(rebasingTemplate)
    await row('claim.ts').click()
    await conflict(1, 1).getByRole('button', { name: 'Theirs' }).click()
    await page.getByLabel('Commit message').fill('Claim by shard, again')
    await git(desk.path, 'config', 'core.logAllRefUpdates', 'true')
    await git(desk.path, 'branch', '-m', BRANCH, 'renamed')
    await page.getByRole('tab', { name: /renamed ?, rebasing/ }).waitFor()
    await page.getByText('Commit 2 of 3: Claim by shard').waitFor()
    await until(async () => (await page.getByLabel('Commit message').inputValue()) === 'Claim by shard, again')
    await page.getByRole('button', { name: 'Finish this commit' }).click()
    await page.getByText('Rebased renamed onto main.').first().waitFor()
    expect(await git(desk.path, 'log', '--format=%s', 'main..renamed')).toBe('Last\nClaim by shard, again\nFirst')
  })

  for (const [when, isReloaded] of [
    ['while the page is open', false],
    ['while the page is closed', true],
  ] as const)
    test(`has no message of one that another program has aborted ${when}`, async () => {
      await openDesk()
      for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
      page = await openPage(browser.context, desk)
      const message = () => page.getByLabel('Commit message')
      await message().fill('Mine')
      // What is not written yet would be a draft again after its ref is deleted.
      const written = (path: string) =>
        desk.git('cat-file', 'blob', `refs/forge/drafts/${BRANCH}:${path}`).catch(() => '')
      for (const path of [CLAIM, POSTGRES]) await until(async () => (await written(path)) === 'x')
      if (isReloaded) await page.close()
      await desk.git('update-ref', '-d', `refs/forge/drafts/${BRANCH}`)
      await desk.git('update-ref', '-d', `refs/forge/merging/${BRANCH}`)
      // A page that is opened before the desk has noticed would still show what waited.
      await until(async () => (await desk.ask({ ask: 'merging', branch: BRANCH })) === null)
      if (isReloaded) page = await openPage(browser.context, desk)
      await page.getByRole('tree', { name: 'Explorer' }).waitFor()
      await status().getByText('merging').waitFor({ state: 'detached' })
      // A page that learns of the next merge of the same commit first keeps the message, as for a merge made anew.
      await page.getByRole('button', { name: 'Show the conflicts' }).waitFor({ state: 'detached' })
      // What was resolved are drafts of the branch by now, which a merge would not touch.
      const others = ['src/queue/lease.ts', 'src/queue/sweep.ts', 'src/store/memory.ts', 'src/index.ts']
      const paths = [CLAIM, POSTGRES, ...others]
      await desk.ask({ ask: 'discard', branch: BRANCH, paths })
      const source = { branch: 'upstream', commit: await desk.tip('upstream'), words: 'upstream' }
      await desk.ask({ ask: 'do', step: { step: 'merge', source, onto: BRANCH } })
      await files().waitFor()
      for (const path of paths) await settled(desk, path, 'x\n')
      await message().waitFor()
      expect(await message().inputValue()).toBe(`Merge branch 'upstream' into ${BRANCH}`)
    })

  test('keeps the rest of the file editable, and its marks from being typed into', async () => {
    await open()
    const inConflict = (await textIn(POSTGRES)).slice('export class PostgresStore {\n'.length, -'}\n'.length)
    await row('postgres.ts').click()
    await conflict(1, 1).waitFor()
    const editor = page.getByRole('textbox', { name: 'Editor' })
    await editor.getByText('export class PostgresStore').click()
    await page.keyboard.press('Home')
    await page.keyboard.type('// mine\n')
    const before = `// mine\nexport class PostgresStore {\n${inConflict}`
    await textIs(POSTGRES, `${before}}\n`)
    // Directly after the conflict: deleting its last line end is rejected.
    await page.keyboard.press('Control+End')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Home')
    await page.keyboard.press('Backspace')
    await page.keyboard.type('y')
    await textIs(POSTGRES, `${before}y}\n`)
    await page.keyboard.press('Control+a')
    await page.keyboard.press('Delete')
    await desk.isText(BRANCH, POSTGRES, text => !text.includes('PostgresStore'))
    expect(await textIn(POSTGRES)).toContain(inConflict)
    await conflict(1, 1).waitFor()
  })

  test('undoes a choice in the editor', async () => {
    await open()
    await row('postgres.ts').click()
    await conflict(1, 1).getByRole('button', { name: 'Ours' }).click()
    await textIs(POSTGRES, 'export class PostgresStore {\n  claim = 1\n}\n')
    await page.keyboard.press('Control+z')
    await conflict(1, 1).waitFor()
  })

  test('leaves nothing to undo in the editor where another window has changed which conflicts are open', async () => {
    await open()
    const other = await openPage(browser.context, desk)
    const partsOf = (it: DeskPage) => ({
      conflict: it.getByRole('region', { name: 'Conflict 1 of 1', exact: true }),
      resolved: it.getByRole('region', { name: 'Conflict 1 of 1, resolved' }),
      row: it.getByRole('navigation', { name: 'Conflicted files' }).getByRole('button', { name: 'postgres.ts' }),
    })
    const [here, there] = [partsOf(page), partsOf(other)]
    const press = async (key: string) => {
      await page.getByRole('textbox', { name: 'Editor' }).focus()
      await page.keyboard.press(key)
    }
    const isNothing = () => page.getByText('There is nothing left to undo here').first().waitFor()
    const marked = await textIn(POSTGRES)
    for (const { row } of [here, there]) await row.click()
    await here.conflict.getByRole('button', { name: 'Both' }).click()
    await there.resolved.getByRole('button', { name: 'Change' }).click()
    await textIs(POSTGRES, marked)
    await here.conflict.waitFor()
    await press('Control+z')
    await isNothing()
    expect(await textIn(POSTGRES)).toBe(marked)
    // Nor is there a choice to make again after the other window has made it.
    await here.conflict.getByRole('button', { name: 'Ours' }).click()
    await there.resolved.waitFor()
    await press('Control+z')
    await there.conflict.getByRole('button', { name: 'Theirs' }).click()
    await here.resolved.waitFor()
    for (const key of ['Control+y', 'Control+z']) await press(key)
    await rendered(page)
    await textIs(POSTGRES, OURS.replace('1', '2'))
    // What is typed since can be undone.
    await typeFirst('y ')
    await textIs(POSTGRES, `y ${OURS.replace('1', '2')}`)
    await press('Control+z')
    await textIs(POSTGRES, OURS.replace('1', '2'))
    await other.close()
  })

  /** Opens claim.ts in a branch that has another last line than main, and types `x ` before its first line. */
  const typeBeforeMerge = async () => {
    const template = templateOf(async path => {
      const base = await commit(path, 'main', { [CLAIM]: 'top\n\none\n' }, { message: 'Begin main' })
      await commit(path, 'main', { [CLAIM]: 'top\n\ntheirs\n' }, { message: 'Go on' })
      await commit(path, BRANCH, { [CLAIM]: 'top\n\nours\n' }, { message: 'What the fork has', parents: [base] })
    })
    await open(template)
    await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: BRANCH, selected: true }).waitFor()
    await page.keyboard.press('Control+p')
    await page.keyboard.type('claim')
    await page.getByRole('option', { name: 'claim.ts' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.cm-line').getByText('ours').waitFor()
    await typeFirst('x ')
    await textIs(CLAIM, 'x top\n\nours\n')
  }
  const mergeMain = async () => {
    const source = { branch: 'main', commit: await desk.tip('main'), words: 'main' }
    await desk.ask({ ask: 'do', step: { step: 'merge', source, onto: BRANCH } })
    await conflict(1, 1).waitFor()
  }
  const isSaved = async (text: string) =>
    await until(async () => (await desk.git('show', `${BRANCH}:${CLAIM}`)) === text.trimEnd())

  test('keeps the undo of the editor to what was typed since it began, and after its end to what was typed since that', async () => {
    await typeBeforeMerge()
    await page.keyboard.press('Control+s')
    await isSaved('x top\n\nours\n')
    await mergeMain()
    await page.keyboard.press('Control+z')
    await page.getByText('There is nothing left to undo here').first().waitFor()
    await page.keyboard.press('F8')
    await until(() => page.evaluate(() => document.activeElement?.matches('section.conflict-box') ?? false))
    await page.keyboard.press('3')
    await textIs(CLAIM, 'x top\n\nours\ntheirs\n')
    await page.getByRole('button', { name: 'Finish', exact: true }).click()
    await isSaved('x top\n\nours\ntheirs\n')
    await files().waitFor({ state: 'detached' })
    await typeFirst('y ')
    await textIs(CLAIM, 'y x top\n\nours\ntheirs\n')
    await page.keyboard.press('Control+z')
    await textIs(CLAIM, 'x top\n\nours\ntheirs\n')
    const text = () => page.locator('.cm-line').allTextContents()
    await page.keyboard.press('Control+z')
    expect(await text()).toEqual(['x top', '', 'ours', 'theirs', ''])
  })

  test('leaves nothing to undo in the editor when it is aborted', async () => {
    await open()
    await row('postgres.ts').click()
    await conflict(1, 1).getByRole('button', { name: 'Theirs' }).click()
    await textIs(POSTGRES, OURS.replace('1', '2'))
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await files().waitFor({ state: 'detached' })
    await page.locator('.cm-line').getByText('claim = 1').waitFor()
    await typeFirst('y ')
    await textIs(POSTGRES, `y ${OURS}`)
    for (const _ of 'yz') await page.keyboard.press('Control+z')
    await textIs(POSTGRES, OURS)
    expect(await page.locator('.cm-content').textContent()).not.toContain('claim = 2')
  })

  test('says where a mark is left that belongs to no conflict', async () => {
    await openDesk()
    await settled(desk, POSTGRES, 'a\n=======\nb\n')
    page = await openPage(browser.context, desk)
    await row('postgres.ts').click()
    await page.getByRole('button', { name: 'a conflict marker is left in line 2' }).waitFor()
  })

  for (const sign of ['<', '=', '>'])
    test(`counts a conflict as left of which only the marker ${sign} was removed`, async () => {
      await openDesk()
      await settled(desk, CLAIM, 'x\n')
      const text = await textIn(POSTGRES)
      await settled(desk, POSTGRES, text.replace(new RegExp(`^${sign}{7}.*\\n`, 'm'), ''))
      page = await openPage(browser.context, desk)
      await row('postgres.ts').click()
      await page.getByRole('button', { name: /a conflict marker is left in line/ }).waitFor()
      await page.getByText('1 of 1 left', { exact: true }).waitFor()
      await row('postgres.ts').getByText('1 left').waitFor()
      await status().getByText('9 of 10 conflicts resolved').waitFor()
      await page.getByText('1 conflict is left in src/store/postgres.ts.').waitFor()
      expect(await page.getByRole('region', { name: /^Conflict 1 of 1/ }).count()).toBe(0)
      // Without its other markers, it is resolved.
      await settled(desk, POSTGRES, text.replace(/^[<|=>]{7}.*\n/gm, ''))
      await status().getByText('10 of 10 conflicts resolved').waitFor()
      await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).waitFor()
    })

  test('has the choice of a whole file where it is no text, by button and by key', async () => {
    await open(mergingTemplate({ ...LOGO, 'notes.txt': NOTES }))
    // Of a long text the lines that differ are shown, wherever they are.
    await row('notes.txt').click()
    await page.getByRole('region', { name: 'Ours', exact: true }).getByText('the end, changed').waitFor()
    await page.getByRole('region', { name: 'Base', exact: true }).getByText('… 297 unchanged lines').waitFor()
    await row('logo.png').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    const why = `deleted in ${BRANCH}, changed in upstream`
    await whole.getByText(why).waitFor()
    // The list of files has the sentence for screen readers only.
    expect(await page.locator(`:not(.vh):text("${why}")`).count()).toBe(1)
    await whole.getByText('(no file)').waitFor()
    await whole.getByText('image/gif, 13 bytes').first().waitFor()
    // Only its first bytes are those of an image.
    await whole.getByText('The browser can’t draw this image').first().waitFor()
    // The choice has the focus, and, when it is made, the way to change it.
    await until(() => whole.evaluate(box => box === document.activeElement))
    await page.keyboard.press('2')
    await files().getByRole('region', { name: 'Resolved' }).getByText('logo.png').waitFor()
    await until(() => desk.proxy.count('take side') === 1)
    const versions = page.getByRole('group', { name: 'Versions' })
    await until(() => versions.evaluate(group => group === document.activeElement))
    await page.keyboard.press('1')
    await until(() => desk.proxy.asked.some(it => it.ask === 'take side' && it.side === 'ours'))
    await page.getByRole('button', { name: 'Theirs' }).click()
    await until(() => desk.proxy.count('take side') === 3)
    // Git left what theirs has, so there is no version beside the two sides and the base; the chosen one is marked.
    const chosen = versions.getByRole('button', { pressed: true })
    expect(await versions.getByRole('button').allTextContents()).toEqual(['Ours', 'Theirs', 'Base'])
    await until(async () => (await chosen.allTextContents()).join() === 'Theirs')
    await versions.getByRole('button', { name: 'Base' }).click()
    await until(async () => (await chosen.allTextContents()).join() === 'Base')
    await page.reload()
    await row('logo.png').click()
    await until(async () => (await chosen.allTextContents()).join() === 'Base')
    // F8 comes to a whole file, too.
    await row('claim.ts').click()
    await until(() => conflict(1).evaluate(box => box === document.activeElement))
    await page.keyboard.press('Shift+F8')
    await until(() => whole.evaluate(box => box === document.activeElement))
    await whole.getByText('297 unchanged lines').first().waitFor()
  })

  const versions = () => page.getByRole('group', { name: /^(Versions|Names)$/ })
  const isChosen = async (words: string) =>
    await until(
      async () => (await versions().getByRole('button', { pressed: true }).allTextContents()).join() === words,
    )

  test('takes back the first choice of a whole file by the keys that Ctrl+Z names there, and by its notice', async () => {
    await open(mergingTemplate(LOGO))
    await row('logo.png').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    const hasFocus = (it: Locator) => until(() => it.evaluate(element => element === document.activeElement))
    await hasFocus(whole)
    await page.keyboard.press('2')
    await isChosen('Theirs')
    const chosen = `logo.png in ${BRANCH} by theirs`
    const notice = (words: string) => page.locator('.toast').filter({ hasText: words })
    await notice(`Resolved ${chosen}`).waitFor()
    await hasFocus(versions())
    // The desk tells what can be undone a moment after the answer.
    await until(async () => {
      await page.keyboard.press('Control+z')
      return (await notice(`Press Ctrl Alt Z to undo: resolve ${chosen}`).count()) > 0
    })
    await page.keyboard.press('Control+Alt+z')
    await notice(`Undone: resolve ${chosen}`).waitFor()
    await whole.getByText('Select a version').waitFor()
    await row('logo.png').getByText('1 left').waitFor()
    // It is chosen by its key again.
    await hasFocus(whole)
    await page.keyboard.press('1')
    await isChosen('Ours')
    await notice('Resolved logo.png').getByRole('button', { name: 'Undo' }).click()
    await whole.getByText('Select a version').waitFor()
  })

  for (const [what, path] of [
    ['an image', 'logo.png'],
    ['a text', 'notes.txt'],
  ] as const)
    test(`takes no late key for another choice of ${what} that was chosen in another window, nor as text`, async () => {
      await open(mergingTemplate({ ...LOGO, 'notes.txt': NOTES }))
      await row(path).click()
      const whole = page.getByRole('region', { name: 'Conflict', exact: true })
      await until(() => whole.evaluate(box => box === document.activeElement))
      await desk.ask({ ask: 'take side', branch: BRANCH, path, side: 'ours' })
      await whole.waitFor({ state: 'detached' })
      const tab = page.getByRole('tab', { name: path, exact: false, selected: true })
      await until(() => tab.evaluate(it => it === document.activeElement))
      const versions = page.getByRole('group', { name: 'Versions' })
      const chosen = versions.getByRole('button', { pressed: true })
      await until(async () => (await chosen.allTextContents()).join() === 'Ours')
      await page.keyboard.type('12')
      await rendered(page)
      expect(await tab.evaluate(it => it === document.activeElement)).toBe(true)
      expect(desk.proxy.count('take side')).toBe(0)
      expect(desk.proxy.count('edit')).toBe(0)
    })

  test('says of a file that the chosen side has deleted when it leaves the branch', async () => {
    await open(mergingTemplate({ 'notes.txt': { base: 'a\n', ours: 'b\n', theirs: null } }))
    await row('notes.txt').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await until(() => whole.evaluate(box => box === document.activeElement))
    await page.keyboard.press('2')
    await page.getByRole('heading', { name: 'notes.txt is deleted' }).waitFor()
    await page.getByText('The file leaves the branch when you finish.').waitFor()
  })

  test('shows a file that both sides renamed under the name that was chosen', async () => {
    const text = 'export const RETRIES = 3\nexport const PAUSE = 200\nexport const LONGEST = 5_000\n'
    await open(
      mergingTemplate({
        'src/retry.ts': { base: text, ours: null, theirs: null },
        'src/again.ts': { base: null, ours: text, theirs: null },
        'src/tries.ts': { base: null, ours: null, theirs: text },
      }),
    )
    const shown = (name: string) =>
      page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: new RegExp(name) })
    await row('again.ts').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await until(() => whole.evaluate(box => box === document.activeElement))
    await page.keyboard.press('2')
    await shown('tries.ts').and(page.locator('[aria-selected="true"]')).waitFor()
    await shown('again.ts').waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'Editor' }).getByText('RETRIES').waitFor()
    await files().getByRole('region', { name: 'Resolved' }).getByText('tries.ts', { exact: true }).waitFor()
    // The choice can be changed there, also by its key.
    const versions = page.getByRole('group', { name: 'Names' })
    await until(() => versions.evaluate(group => group === document.activeElement))
    await page.keyboard.press('1')
    await shown('again.ts').and(page.locator('[aria-selected="true"]')).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('RETRIES').waitFor()
    await shown('tries.ts').waitFor({ state: 'detached' })
  })

  const textWith = (first: string, last: string) => `${first}\n${'same\n'.repeat(20)}${last}\n`
  /** A file that both sides renamed, with lines that git merges. */
  const RENAMED = {
    'old.md': { base: textWith('first', 'last'), ours: null, theirs: null },
    'ours.md': { base: null, ours: textWith('first', 'our last'), theirs: null },
    'theirs.md': { base: null, ours: null, theirs: textWith('their first', 'last') },
  }

  test('has the names to choose of a file that both sides renamed, where git has merged its text', async () => {
    await open(mergingTemplate(RENAMED))
    await row('ours.md').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await whole.getByText('Select a name').waitFor()
    await whole.getByText('Git has merged the text, so it is the same under each name.').waitFor()
    await whole.getByRole('heading', { name: 'Our name ours.md' }).waitFor()
    await whole.getByRole('heading', { name: 'Their name theirs.md' }).waitFor()
    // The page shows the first letter as a capital, which must not be one of a name.
    const about = await whole.locator('.about').textContent()
    expect(about).toStartWith(`the file old.md is ours.md in ${BRANCH}, and theirs.md in upstream. Git has merged`)
    await whole.getByRole('button', { name: 'Their name' }).click()
    await versions().getByRole('button', { name: 'Their name' }).waitFor()
    await textIs('theirs.md', textWith('their first', 'our last'))
  })

  test('keeps what is typed in a file that both sides renamed under each name that is chosen', async () => {
    await open(mergingTemplate(RENAMED))
    await row('ours.md').click()
    await page
      .getByRole('region', { name: 'Conflict', exact: true })
      .getByRole('button', { name: 'Their name' })
      .click()
    await isChosen('Their name2')
    const merged = textWith('their first', 'our last')
    await page.locator('.cm-line').getByText('their first').waitFor()
    await typeFirst('typed ')
    await textIs('theirs.md', `typed ${merged}`)
    await isChosen('Their name2')
    // Nor is it lost by another click on the same name.
    const asked = desk.proxy.count('take side')
    await versions().getByRole('button', { name: 'Their name' }).click()
    await until(() => desk.proxy.count('take side') > asked)
    await versions().getByRole('button', { name: 'Our name' }).click()
    await isChosen('Our name1')
    await textIs('ours.md', `typed ${merged}`)
    await page.getByRole('tab', { name: 'ours.md', exact: false, selected: true }).waitFor()
    // The file stays open under its new name, with the undo of the editor.
    await page.getByRole('textbox', { name: 'Editor' }).focus()
    await page.keyboard.press('Control+z')
    await textIs('ours.md', merged)
    await isChosen('Our name1')
    expect(await desk.textOf(BRANCH, 'theirs.md')).toBeUndefined()
  })

  for (const [when, isWhole] of [
    ['its text has no conflict', true],
    ['its text has one', false],
  ] as const)
    test(`has the tab of a file that both sides renamed under the chosen name, left at once, where ${when}`, async () => {
      const words = (side: string) => (isWhole ? 'words' : `${side} words`)
      await open(
        mergingTemplate({
          'old.md': { base: textWith('first', words('base')), ours: null, theirs: null },
          'ours.md': { base: null, ours: textWith('first', words('our')), theirs: null },
          'theirs.md': { base: null, ours: null, theirs: textWith('first', words('their')) },
        }),
      )
      const fileTab = (name: string) => page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name })
      const hasFocus = (it: Locator) => until(() => it.evaluate(element => element === document.activeElement))
      await row('ours.md').click()
      const place = isWhole ? page.getByRole('region', { name: 'Conflict', exact: true }) : versions()
      await hasFocus(isWhole ? place : conflict(1, 1))
      if (!isWhole) await page.keyboard.press('F8')
      await hasFocus(place)
      const release = desk.proxy.hold('take side')
      await page.keyboard.press('2')
      await page.keyboard.press('F8')
      await hasFocus(conflict(1))
      release()
      await fileTab('theirs.md').waitFor()
      expect(await fileTab('ours.md').count()).toBe(0)
      await page.keyboard.press('Alt+PageUp')
      await page.getByRole('tab', { name: 'theirs.md', selected: true }).waitFor()
      await page.locator('.cm-line').getByText('first').waitFor()
      await isChosen('Their name2')
      expect(await page.getByText('is deleted').count()).toBe(0)
    })

  test('shows a file under the path of its chosen side, also where the file was left at once', async () => {
    const gif = (side: string) => `GIF89a\x01\0\x01\0${side} ${'same '.repeat(200)}`
    await open(
      mergingTemplate({
        'old.png': { base: gif('base'), ours: null, theirs: null },
        'ours.png': { base: null, ours: gif('our'), theirs: null },
        'theirs.png': { base: null, ours: null, theirs: gif('their') },
      }),
    )
    const fileTab = (name: string) => page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name })
    const hasFocus = (it: Locator) => until(() => it.evaluate(element => element === document.activeElement))
    await row('ours.png').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await hasFocus(whole)
    const release = desk.proxy.hold('take side')
    await page.keyboard.press('2')
    await page.keyboard.press('F8')
    await hasFocus(conflict(1))
    release()
    await files().getByRole('region', { name: 'Resolved' }).getByText('theirs.png', { exact: true }).waitFor()
    await fileTab('theirs.png').waitFor()
    expect(await fileTab('ours.png').count()).toBe(0)
    await page.keyboard.press('Alt+PageUp')
    await rendered(page)
    await isChosen('Theirs')
    expect(await page.getByText('is deleted').count()).toBe(0)
    // Its undo leads back to the conflict, under the path of our side.
    await page.keyboard.press('Control+Alt+z')
    await whole.getByText('Select a version').waitFor()
    await fileTab('ours.png').and(page.locator('[aria-selected="true"]')).waitFor()
    expect(await fileTab('theirs.png').count()).toBe(0)
  })

  test('chooses the name of a file that both sides renamed apart from the conflicts in its text, by keys', async () => {
    const middle = (first: string, words: string, last: string) => textWith(first, `${words}\n\n\n\n\n${last}`)
    const CLASHING = {
      'old.md': { base: middle('first', 'words', 'last'), ours: null, theirs: null },
      'ours.md': { base: null, ours: middle('first', 'our words', 'our last'), theirs: null },
      'theirs.md': { base: null, ours: null, theirs: middle('their first', 'their words', 'last') },
    }
    await open(mergingTemplate(CLASHING))
    const bar = page.locator('.conf-bar')
    const hasFocus = (it: Locator) => until(() => it.evaluate(element => element === document.activeElement))
    await row('ours.md').click()
    // The list and the bar above the file count the name, too.
    await hasFocus(conflict(1, 1))
    await row('ours.md').getByText('2 left').waitFor()
    await bar.getByText('2 of 2 left').waitFor()
    await page.getByText('Select a name: the file old.md is ours.md in').waitFor()
    // Its open conflict stays open under the other name, and is resolved there.
    await page.keyboard.press('F8')
    await hasFocus(versions())
    await page.keyboard.press('2')
    await isChosen('Their name2')
    await hasFocus(versions())
    await page.getByRole('tab', { name: 'theirs.md', exact: false, selected: true }).waitFor()
    await bar.getByText('1 of 2 left').waitFor()
    await row('theirs.md').getByText('1 left').waitFor()
    await page.keyboard.press('F8')
    await hasFocus(conflict(1, 1))
    await page.keyboard.press('3')
    const both = middle('their first', 'our words\ntheir words', 'our last')
    await textIs('theirs.md', both)
    await files().getByRole('region', { name: 'Resolved' }).getByText('theirs.md', { exact: true }).waitFor()
    await typeFirst('typed ')
    await textIs('theirs.md', `typed ${both}`)
    // Another name takes all of it along, and takes nothing away.
    await versions().getByRole('button', { name: 'Our name' }).click()
    await isChosen('Our name1')
    await textIs('ours.md', `typed ${both}`)
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).getByText('Both').waitFor()
    expect(await page.locator('.toast').filter({ hasText: 'Discarded' }).count()).toBe(0)
    expect(await desk.textOf(BRANCH, 'theirs.md')).toBeUndefined()
  })

  test('comes by key to the name of a file that both sides renamed, where only that is left', async () => {
    await open(
      mergingTemplate({
        'old.md': { base: textWith('first', 'last'), ours: null, theirs: null },
        'ours.md': { base: null, ours: textWith('ours', 'last'), theirs: null },
        'theirs.md': { base: null, ours: null, theirs: textWith('theirs', 'last') },
      }),
    )
    const hasFocus = (it: Locator) => until(() => it.evaluate(element => element === document.activeElement))
    await settled(desk, 'ours.md', textWith('both', 'last'))
    await row('ours.md').getByText('1 left').waitFor()
    await row('claim.ts').click()
    await hasFocus(conflict(1))
    await page.keyboard.press('Shift+F8')
    await hasFocus(versions())
    await page.locator('.conf-bar').getByText('1 of 2 left').waitFor()
    await page.keyboard.press('1')
    await isChosen('Our name1')
    await hasFocus(versions())
    await textIs('ours.md', textWith('both', 'last'))
    await page.keyboard.press('F8')
    await hasFocus(conflict(1))
  })

  test('gives back what was typed in a version in place of which another one was chosen', async () => {
    await open(mergingTemplate({ 'notes.txt': { base: 'a\n', ours: null, theirs: 'b\n' } }))
    await row('notes.txt').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await whole.getByRole('button', { name: 'Theirs' }).click()
    await isChosen('Theirs')
    await typeFirst('typed ')
    await textIs('notes.txt', 'typed b\n')
    await isChosen('')
    await versions().getByRole('button', { name: 'Ours' }).click()
    await page.getByText('notes.txt is left out').waitFor()
    const notice = page.locator('.toast').filter({ hasText: 'Discarded what was typed in notes.txt' })
    await notice.getByRole('button', { name: 'Undo' }).click()
    await textIs('notes.txt', 'typed b\n')
    await page.locator('.cm-line').getByText('typed b').waitFor()
  })

  test('says of a file that only their side has that the branch does not get it', async () => {
    await open(mergingTemplate({ 'notes.txt': { base: 'a\n', ours: null, theirs: 'b\n' } }))
    await row('notes.txt').click()
    await page.getByRole('region', { name: 'Conflict', exact: true }).getByRole('button', { name: 'Ours' }).click()
    await page.getByRole('heading', { name: 'notes.txt is left out' }).waitFor()
    await page.getByText('upstream-2.14 does not have the file, and does not get it when you finish.').waitFor()
  })

  test('says of a file that the other branch of a rebase has deleted that this one loses it', async () => {
    const rebasing = templateOf(async path => {
      const base = await commit(path, 'main', { 'notes.txt': 'a\n', 'b.txt': 'b\n' }, { message: 'Begin main' })
      const onto = await commit(path, 'main', { 'notes.txt': null }, { message: 'Delete the notes' })
      await commit(path, BRANCH, { 'notes.txt': 'more\n' }, { message: 'Add notes', parents: [base] })
      await using at = await openTestDesk(path)
      await using window = await at.window()
      const source = { branch: 'main', commit: onto, words: 'main' }
      await window.ask({ ask: 'do', step: { step: 'rebase', branch: BRANCH, onto: source } })
    })
    await open(rebasing)
    await row('notes.txt').click()
    await page.getByRole('region', { name: 'Conflict', exact: true }).getByRole('button', { name: 'Ours' }).click()
    await page.getByRole('heading', { name: 'notes.txt is deleted' }).waitFor()
    await page.getByText('The file leaves the branch when you finish.').waitFor()
  })

  test('names the sides of a draft that does not fit what is resolved in it', async () => {
    await openDesk()
    await settled(desk, POSTGRES, 'resolved\n')
    await using window = await desk.desk.window()
    await window.ask({ ask: 'abort merging', branch: BRANCH })
    await settled(desk, POSTGRES, 'typed meanwhile\n')
    await window.ask({ ask: 'undo', branch: BRANCH })
    page = await openPage(browser.context, desk)
    await page.getByText(/postgres.ts is in conflict: resolve it, then finish/).waitFor()
    await row('postgres.ts').click()
    await page.getByRole('region', { name: 'Ours, your draft', exact: true }).waitFor()
    await page.getByRole('region', { name: 'Theirs, what waits here', exact: true }).waitFor()
  })

  test('lists and counts the conflicts of drafts with what waits, which are resolved as its own', async () => {
    await openDesk()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    await settled(desk, 'README.md', '# Tern in the merge\n')
    await using window = await desk.desk.window()
    await window.ask({ ask: 'abort merging', branch: BRANCH })
    await settled(desk, 'README.md', '# Tern on the branch\n')
    await settled(desk, POSTGRES, 'typed meanwhile\n')
    await window.ask({ ask: 'undo', branch: BRANCH })
    page = await openPage(browser.context, desk)
    const toDo = files().getByRole('region', { name: 'To do' })
    await toDo.getByRole('button', { name: /README\.md.*1 left/ }).waitFor()
    await toDo.getByRole('button', { name: /postgres\.ts.*1 left/ }).waitFor()
    await page.getByText(/^2 conflicts are left in README.md and src\/store\/postgres.ts/).waitFor()
    await row('README.md').click()
    await page.getByRole('region', { name: 'Ours, your draft', exact: true }).getByText('on the branch').waitFor()
    await page.getByRole('region', { name: 'Theirs, what waits here', exact: true }).getByText('in the merge').waitFor()
    await until(() => conflict(1, 1).evaluate(box => box === document.activeElement))
    await page.keyboard.press('1')
    await page.getByText(/^1 conflict is left in src\/store\/postgres.ts/).waitFor()
    await page.keyboard.press('F8')
    await page.getByRole('tab', { name: 'postgres.ts', selected: true }).waitFor()
    await until(() => conflict(1, 1).evaluate(box => box === document.activeElement))
    await page.keyboard.press('2')
    await page.getByRole('button', { name: 'Finish', exact: true, disabled: false }).click()
    await files().waitFor({ state: 'detached' })
    expect(await desk.git('show', `${BRANCH}:README.md`)).toBe('# Tern on the branch')
    expect(await desk.git('show', `${BRANCH}:${POSTGRES}`)).toBe('x')
  })

  test('has the choice of a whole version for a draft that conflicts with what waits', async () => {
    await openDesk()
    await using window = await desk.desk.window()
    for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
    await settled(desk, 'README.md', '# Tern in the merge\n')
    await window.ask({ ask: 'abort merging', branch: BRANCH })
    await window.ask({ ask: 'discard', branch: BRANCH, paths: ['README.md'] })
    await window.ask({ ask: 'delete', branch: BRANCH, paths: ['README.md'] })
    const operations = (await window.ask({ ask: 'operations', from: 0, count: 9 })) as { id: string; kind: string }[]
    const operation = operations.find(({ kind }) => kind === 'abort merging')?.id
    await window.ask({ ask: 'undo', operation })
    page = await openPage(browser.context, desk)
    await row('README.md').click()
    const whole = page.getByRole('region', { name: 'Conflict', exact: true })
    await whole.getByText('deleted in your draft, changed in what waits here').waitFor()
    expect(await whole.getByRole('button').allTextContents()).toEqual(['Ours1', 'Theirs2', 'Base5'])
    await whole.getByRole('button', { name: 'Theirs' }).click()
    await page.getByRole('button', { name: 'Finish', exact: true, disabled: false }).click()
    await files().waitFor({ state: 'detached' })
    expect(await desk.git('show', `${BRANCH}:README.md`)).toBe('# Tern in the merge')
  })

  test('asks the AI for one conflict or for all', async () => {
    await open()
    await row('postgres.ts').click()
    await conflict(1, 1).focus()
    await page.keyboard.press('4')
    await until(() =>
      desk.proxy.asked.some(it => it.ask === 'ask for conflicts' && it.paths[0] === POSTGRES && it.only === 0),
    )
    await page.getByRole('button', { name: 'Ask the AI for all' }).click()
    await until(() => desk.proxy.asked.some(it => it.ask === 'ask for conflicts' && it.paths === 'all'))
  })

  test('has no two commands on one key, and a way to its files by key', async () => {
    await open()
    await row('claim.ts').waitFor()
    await page.keyboard.press('Alt+x')
    await until(() => row('claim.ts').evaluate(element => element === document.activeElement))
    await page.keyboard.press('Enter')
    await conflict(1).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('>')
    const options = page.getByRole('dialog').getByRole('option')
    await options.filter({ hasText: 'Next conflict' }).waitFor()
    const keys = await options.locator('kbd').allTextContents()
    expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
  })

  test('offers no AI where there is no model to ask', async () => {
    await openDesk(template, {})
    page = await openPage(browser.context, desk)
    await row('postgres.ts').click()
    await page.getByRole('button', { name: 'Theirs' }).first().waitFor()
    await until(async () => (await page.getByRole('button', { name: /Ask the AI/ }).count()) === 0)
  })

  test('says why the AI was not asked', async () => {
    await open()
    desk.proxy.refused.set('ask for conflicts', 'No model yet: set a key.')
    await row('postgres.ts').click()
    await page.getByRole('button', { name: 'Ask the AI for all' }).click()
    await page.getByRole('alert').getByText('No model yet: set a key.').waitFor()
  })

  test('aborts when it is confirmed, and is as it was before', async () => {
    await open()
    await page.getByRole('button', { name: 'Abort' }).click()
    const dialog = page.getByRole('dialog', { name: `Abort the merge in ${BRANCH}?` })
    await dialog.getByText('Undo brings all of it back').waitFor()
    await dialog.getByRole('button', { name: 'Abort' }).click()
    await until(async () => (await desk.git('for-each-ref', 'refs/forge/merging')) === '')
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
    await page.getByRole('tab', { name: BRANCH, exact: true }).waitFor()
    const toast = page.locator('.toast')
    await toast.getByText(`Aborted the merge in ${BRANCH}.`).waitFor()
    await toast.getByRole('button', { name: 'Undo' }).click()
    await files().waitFor()
    await status().getByText('7 of 10 conflicts resolved').waitFor()
  })

  test('closes the tabs of files that its branch does not have when it is aborted, until that is undone', async () => {
    await open(mergingTemplate({ 'notes.txt': { base: 'a\n', ours: null, theirs: 'b\n' }, ...LOGO }))
    const tabs = page.getByRole('tablist', { name: 'Files' })
    await row('claim.ts').click()
    await conflict(1).waitFor()
    for (const name of ['notes.txt', 'logo.png']) {
      await row(name).click()
      await tabs.getByRole('tab', { name, selected: true }).waitFor()
    }
    const during = (await tabs.getByRole('tab').allTextContents()).join()
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await page.locator('.toast').getByText(`Aborted the merge in ${BRANCH}.`).waitFor()
    await tabs.getByRole('tab', { name: 'claim.ts', exact: true, selected: true }).waitFor()
    expect((await tabs.getByRole('tab').allTextContents()).join()).toBe('AI chat,claim.ts')
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await tabs.getByRole('tab').allTextContents()).join() === during)
  })

  test('closes the tabs of files that its branch does not have in the other windows, too, until that is undone', async () => {
    await open(mergingTemplate({ 'notes.txt': { base: 'a\n', ours: null, theirs: 'b\n' }, ...LOGO }))
    const other = await openPage(browser.context, desk)
    const tabs = other.getByRole('tablist', { name: 'Files' })
    const ofOther = other.getByRole('navigation', { name: 'Conflicted files' })
    for (const name of ['claim.ts', 'notes.txt']) {
      await ofOther.getByRole('button', { name }).click()
      await tabs.getByRole('tab', { name, selected: true }).waitFor()
    }
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await tabs.getByRole('tab', { name: 'notes.txt' }).waitFor({ state: 'detached' })
    await tabs.getByRole('tab', { name: 'claim.ts', exact: true, selected: true }).waitFor()
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await tabs.getByRole('tab', { name: 'notes.txt', selected: true }).waitFor()
    await other.close()
  })

  test('says why it can’t be saved until it has ended: by Abort, or in a terminal', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(1).waitFor()
    const refused = page.locator('.notice').getByText(`A merge, rebase or other step waits in ${BRANCH}: finish it`)
    await page.keyboard.press('Control+s')
    await refused.waitFor()
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await refused.waitFor({ state: 'detached' })
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click()
    await row('claim.ts').click()
    await conflict(1).waitFor()
    await page.keyboard.press('Control+s')
    await refused.waitFor()
    await desk.git('update-ref', '-d', `refs/forge/merging/${BRANCH}`)
    await refused.waitFor({ state: 'detached' })
  })

  /** Shows something else than a file with one conflict, does something, and shows the file again. */
  const whileHidden = async (
    by: 'a file' | 'the chat' | 'a branch',
    act: () => Promise<unknown>,
    name = 'postgres.ts',
  ) => {
    if (by === 'a file') {
      await page.keyboard.press('Control+p')
      await page.keyboard.type('README')
      await page.getByRole('option', { name: 'README.md' }).first().waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('tab', { name: 'README.md', selected: true }).waitFor()
    } else if (by === 'the chat') await page.getByRole('tab', { name: 'Chat' }).click()
    else await showBranch(page, 'main')
    await page.getByRole('region', { name: /^Conflict 1 of 1/ }).waitFor({ state: 'detached' })
    await act()
    if (by === 'a branch') await page.getByRole('tab', { name: BRANCH }).click()
    await page.getByRole('tab', { name }).click()
  }
  const OURS = 'export class PostgresStore {\n  claim = 1\n}\n'
  /** Types at the start of the shown file. */
  const typeFirst = async (words: string) => {
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type(words)
  }
  const isMerging = async () => (await desk.git('for-each-ref', 'refs/forge/merging')) !== ''

  test('ends and comes back in a file that is not shown, by Abort, undo and redo', async () => {
    await open()
    await row('postgres.ts').click()
    await conflict(1, 1).waitFor()
    await whileHidden('a file', async () => {
      await page.getByRole('button', { name: 'Abort' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
      await until(async () => !(await isMerging()))
    })
    await page.locator('.cm-line').getByText('claim = 1').waitFor()
    expect(await page.locator('.cm-content').textContent()).not.toContain('<<<<<<<')
    await whileHidden('the chat', async () => {
      await page.keyboard.press('Control+Alt+z')
      await until(isMerging)
    })
    await conflict(1, 1).waitFor()
    await whileHidden('a branch', async () => {
      await desk.ask({ ask: 'redo', branch: BRANCH })
    })
    await conflict(1, 1).waitFor({ state: 'detached' })
    await page.locator('.cm-line').getByText('claim = 1').waitFor()
    await typeFirst('// mine\n')
    await textIs(POSTGRES, `// mine\n${OURS}`)
  })

  test('takes no text after the undo of its abort until the conflicts are shown, and all after that', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(1).waitFor()
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
    const editor = page.getByRole('textbox', { name: 'Editor' })
    await editor.getByText('#leaseMs').click()
    const release = desk.proxy.hold('merging')
    await page.keyboard.press('Control+Alt+z')
    await editor.getByText('<<<<<<<').first().waitFor()
    await page.keyboard.type('early ')
    release()
    await conflict(2).waitFor()
    await page.getByText('2 of 2 left').waitFor()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('// late ')
    await textIs(CLAIM, text => text.startsWith('// late import'))
    expect(await textIn(CLAIM)).not.toContain('early')
    await page.keyboard.press('Control+z')
    await textIs(CLAIM, text => text.startsWith('import'))
  })

  test('shows its conflicts after the undo of its abort without waiting for the list of branches', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(1).waitFor()
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
    desk.proxy.untold.add('desk')
    await page.keyboard.press('Control+Alt+z')
    await conflict(2).waitFor()
    expect(await page.getByRole('textbox', { name: 'Editor' }).getByText('<<<<<<<').count()).toBe(0)
  })

  test('has the focus on its conflict after the undo of its abort, as before, and the conflict’s keys', async () => {
    await open()
    await row('postgres.ts').click()
    const isFocused = () => conflict(1, 1).evaluate(box => box === document.activeElement)
    await conflict(1, 1).waitFor()
    await until(isFocused)
    await page.keyboard.press('Alt+Shift+Z')
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('tree', { name: 'Explorer' }).waitFor()
    await page.locator('.cm-content:focus').getByText('claim = 1').waitFor()
    await page.keyboard.press('Control+Alt+z')
    await conflict(1, 1).waitFor()
    await until(isFocused)
    await page.keyboard.press('2')
    await textIs(POSTGRES, OURS.replace('1', '2'))
  })

  test('is resolved in a file that this window does not show, by another window', async () => {
    await open()
    await row('postgres.ts').click()
    await conflict(1, 1).waitFor()
    await whileHidden('the chat', async () => {
      await settled(desk, POSTGRES, OURS)
    })
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).getByText('Ours').waitFor()
    await typeFirst('// mine\n')
    await textIs(POSTGRES, `// mine\n${OURS}`)
  })

  test('of a rebase is resolved in a file that this window does not show, and goes on from there', async () => {
    await open(rebasingTemplate)
    await row('claim.ts').click()
    await conflict(1, 1).waitFor()
    await whileHidden('the chat', () => settled(desk, CLAIM, 'main\nshard\n'), 'claim.ts')
    await page.getByRole('region', { name: 'Conflict 1 of 1, resolved' }).getByText('Both').waitFor()
    await typeFirst('mine ')
    await textIs(CLAIM, 'mine main\nshard\n')
    await page.getByRole('button', { name: 'Finish this commit' }).click()
    await until(async () => !(await isMerging()))
    expect(await desk.git('show', `${BRANCH}:${CLAIM}`)).toBe('mine main\nshard')
  })

  test('a draft’s conflict ends in a file that is not shown, by the undo of the step that has brought it', async () => {
    const template = templateOf(async path => {
      const base = await commit(path, 'main', { [CLAIM]: 'one\n' }, { message: 'Begin main' })
      await git(path, 'branch', BRANCH, base)
      await commit(path, 'main', { [CLAIM]: 'theirs\n' }, { message: 'Go on' })
    })
    await open(template)
    await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: BRANCH, selected: true }).waitFor()
    await page.keyboard.press('Control+p')
    await page.keyboard.type('claim')
    await page.getByRole('option', { name: 'claim.ts' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.cm-line').getByText('one').waitFor()
    await typeFirst('mine ')
    await textIs(CLAIM, 'mine one\n')
    const source = { branch: 'main', commit: await desk.tip('main'), words: 'main' }
    await desk.ask({ ask: 'do', step: { step: 'merge', source, onto: BRANCH } })
    await conflict(1, 1).waitFor()
    await whileHidden(
      'the chat',
      async () => {
        await desk.ask({ ask: 'undo', branch: BRANCH })
        await textIs(CLAIM, 'mine one\n')
      },
      'claim.ts',
    )
    await page.locator('.cm-line').getByText('mine one').waitFor()
    await typeFirst('more ')
    await textIs(CLAIM, 'more mine one\n')
  })

  test('has all files within reach, and the way back to the conflicts', async () => {
    await open()
    await page.getByRole('button', { name: 'Show the explorer' }).click()
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('button', { name: 'Show the conflicts' }).click()
    await row('claim.ts').waitFor()
  })

  test('says which commit of a rebase it is at', async () => {
    await open(rebasingTemplate)
    await page.getByText('Commit 2 of 3: Claim by shard').waitFor()
    await page.getByRole('heading', { name: 'Rebasing onto main' }).waitFor()
    await row('claim.ts').click()
    const ours = page.getByRole('region', { name: 'Ours, main with the commits rebased so far', exact: true })
    await ours.waitFor()
    await page.getByRole('status', { name: 'Status', exact: true }).getByText('rebasing').waitFor()
    await page.getByRole('button', { name: 'Finish this commit' }).waitFor()
  })

  const LANDING = templateOf(async path => {
    const { theirs } = await upstreamIn(path, BRANCH)
    await using own = await openTestDesk(path)
    await using window = await own.window()
    const source = { branch: 'upstream', commit: theirs, words: 'upstream' }
    await window.ask({ ask: 'do', step: { step: 'land', source, onto: BRANCH, message: 'Land it' } })
  })
  for (const [noun, of] of [
    ['rebase', rebasingTemplate],
    ['landing', LANDING],
  ] as const)
    test(`is named in the palette as what it is: a ${noun}`, async () => {
      await open(of)
      await commit(desk.path, BRANCH, { 'moved.txt': 'moved\n' })
      await page.getByRole('button', { name: 'Update', exact: true }).waitFor()
      await page.keyboard.press('Control+k')
      await page.keyboard.type('>')
      for (const words of [`Finish the ${noun}`, `Update the ${noun}`, `Abort the ${noun}…`])
        await page.getByRole('dialog').getByRole('option', { name: words }).waitFor()
      expect(await page.getByRole('dialog').getByText('the merge').count()).toBe(0)
    })

  test('of a rebase whose branch was moved, has all buttons within the side bar', async () => {
    await open(rebasingTemplate)
    await page.getByText('Commit 2 of 3: Claim by shard').waitFor()
    await commit(desk.path, BRANCH, { 'moved.txt': 'moved\n' })
    await page.getByRole('button', { name: 'Update', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Finish this commit' }).waitFor()
    const end = page.locator('.side .finish')
    expect(await end.evaluate(it => it.scrollWidth - it.clientWidth)).toBe(0)
  })

  test('says what a rewriting does whose later commits are in conflict', async () => {
    const texts = ['one\n', 'two\n', 'three\n']
    await open(
      templateOf(async path => {
        for (const text of texts) await commit(path, BRANCH, { 'a.txt': text }, { message: `Write ${text}` })
      }),
    )
    const dropped = await desk.git('rev-parse', `${BRANCH}~1`)
    await desk.ask({
      ask: 'do',
      step: { step: 'rewrite', branch: BRANCH, rewriting: { do: 'drop', commits: [dropped] } },
    })
    await page.getByRole('heading', { name: `Dropping ${dropped.slice(0, 8)} in ${BRANCH}` }).waitFor()
  })

  test('says of a commit of which nothing is left that it is skipped, and at the end that it was left out', async () => {
    await open(rebasingTemplate)
    await page.getByText('Commit 2 of 3: Claim by shard').waitFor()
    await row('claim.ts').click()
    await conflict(1, 1).getByRole('button', { name: 'Theirs' }).click()
    await page.getByLabel('Commit message').fill('Claim by shard, again')
    await page
      .getByRole('region', { name: 'Conflict 1 of 1, resolved' })
      .getByRole('button', { name: 'Change' })
      .click()
    await conflict(1, 1).getByRole('button', { name: 'Ours' }).click()
    await page.getByText('Nothing is left of this commit: it is left out, as with git rebase --skip.').waitFor()
    expect(await page.getByLabel('Commit message').count()).toBe(0)
    await page.getByRole('button', { name: 'Skip this commit' }).click()
    const words = 'Rebased upstream-2.14 onto main. “Claim by shard” changed nothing any more, and was left out.'
    await page.getByText(words).first().waitFor()
    expect(await git(desk.path, 'log', '--reverse', '--format=%s', `main..${BRANCH}`)).toBe('First\nLast')
  })

  test('knows what was settled before it was opened', async () => {
    await open()
    await row('claim.ts').click()
    await conflict(1).getByRole('button', { name: 'Both' }).click()
    await page.getByRole('region', { name: 'Conflict 1 of 2, resolved' }).waitFor()
    await desk.isText(BRANCH, CLAIM, text => text.split('<<<<<<<').length === 2)
    await page.reload()
    await row('claim.ts').click()
    await page
      .getByRole('region', { name: 'Conflict 1 of 2, resolved' })
      .getByText(/^(Both|Edited)$/)
      .waitFor()
    await conflict(2).waitFor()
  })

  test('has nothing serious for axe: with blocks, settled ones, a whole file, and at its end', async () => {
    await open(mergingTemplate(LOGO))
    await row('claim.ts').waitFor()
    expect(await findings(page)).toEqual([])
    await row('claim.ts').click()
    await conflict(1).getByRole('button', { name: 'Theirs' }).click()
    await page.getByRole('region', { name: 'Conflict 1 of 2, resolved' }).waitFor()
    await page.keyboard.press('Alt+Shift+J')
    expect(await findings(page)).toEqual([])
    await row('logo.png').click()
    await page.getByRole('region', { name: 'Conflict', exact: true }).waitFor()
    expect(await findings(page)).toEqual([])
  })
})
