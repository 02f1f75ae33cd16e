/** The commits beside the lines of a file, in a real browser. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, templateOf, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

/** A long function, whose line 250 is a text. */
const long = (words: string) => {
  const line = (_: unknown, at: number) => `  ${at === 248 ? words : `step(${at + 2})`}\n`
  return `export function long() {\n${Array.from({ length: 400 }, line).join('')}}\n`
}

const template = templateOf(async path => {
  const by = (name: string) => ({ author: `${name} <${name}@example.com>` })
  await commit(
    path,
    'main',
    { 'old.txt': 'one\ntwo\nthree\nfour\n', 'long.ts': long('begin()') },
    { ...by('Mira'), message: 'Count' },
  )
  const code = (one: number, two: number) =>
    `export function first() {\n  return ${one}\n}\n\nexport function second() {\n  return ${two}\n}\n`
  await commit(path, 'main', { 'code.ts': code(1, 1) }, { ...by('Mira'), message: 'Code' })
  await commit(path, 'main', { 'code.ts': code(1, 2) }, { ...by('Mira'), message: 'Mend the second' })
  await commit(path, 'main', { 'code.ts': code(3, 2) }, { ...by('Mira'), message: 'Mend the first' })
  const renamed = { 'old.txt': null, 'new.txt': 'one\ntwo\nthree\nfour\n', 'long.ts': long('end()') }
  await commit(path, 'main', renamed, { ...by('Jun'), message: 'Rename' })
  await commit(path, 'main', { 'new.txt': 'one\nTWO\nthree\nfour\n' }, { ...by('Ada'), message: 'Shout' })
})

describe.skipIf(!hasBrowser)('a file with its blame', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  const names = () => page.locator('.cm-blame :is(.blame-name, .blame-draft)').allInnerTexts()
  const open = async () => {
    await page.getByRole('treeitem', { name: 'new.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Control+Alt+b')
    await page.locator('.cm-blame .blame-first').first().waitFor()
  }

  test('says that it is loading, in the row above the text, which stays in its place', async () => {
    await page.getByRole('treeitem', { name: 'new.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    const top = async () => (await page.locator('.cm-editor').boundingBox())?.y
    const before = await top()
    const answer = desk.proxy.hold('blame')
    await page.keyboard.press('Control+Alt+b')
    const words = page.getByText('Loading the blame')
    await words.waitFor()
    expect(await top()).toBe(before)
    // Like other waits, it is seen only if it takes long.
    await until(() => words.evaluate(it => getComputedStyle(it).opacity === '1'))
    answer()
    await page.locator('.cm-blame .blame-first').first().waitFor()
    expect(await words.count()).toBe(0)
  })

  test('says who wrote each line and when, follows what is typed, and leaves by the same key', async () => {
    await open()
    expect(await names()).toEqual(['Mira', 'Ada', 'Mira'])
    expect(await findings(page)).toEqual([])
    const places = ['.cm-blame', '.cm-foldGutter', '.cm-lineNumbers'].map(async gutter => {
      const box = await page.locator(gutter).boundingBox()
      return box?.x ?? 0
    })
    const [blame = 0, fold = 0, numbers = 0] = await Promise.all(places)
    expect(blame).toBeLessThan(fold)
    expect(fold).toBeLessThan(numbers)
    await page.keyboard.type('zero\n')
    await until(async () => (await names())[0] === 'Not saved')
    expect(await names()).toEqual(['Not saved', 'Mira', 'Ada', 'Mira'])
    // The breadcrumbs are of the file: the words beside them name the line of the cursor.
    await page.keyboard.press('ArrowUp')
    await page.locator('.crumbs').getByText('This line is not saved').waitFor()
    await page.keyboard.press('Control+s')
    await until(async () => !(await names()).includes('Not saved'))
    // A commit that the branch's list names is passed over: the line is from the commit before it.
    const shout = await desk.git('log', '-1', '--format=%H', '--grep=Shout', 'main')
    await desk.commit('main', { '.git-blame-ignore-revs': `# Only capitals\n${shout}\n` }, { message: 'Ignore it' })
    await until(async () => !(await names()).includes('Ada'))
    expect(await names()).toHaveLength(2)
    expect((await names())[1]).toBe('Mira')
    await page.keyboard.press('Control+Alt+b')
    await until(async () => (await page.locator('.cm-blame').count()) === 0)
  })

  test('says nothing of a line above a file that is deleted', async () => {
    await open()
    await page.keyboard.type('mine ')
    await desk.isText('main', 'new.txt', text => text.startsWith('mine '))
    await page.locator('.crumbs').getByText('This line is not saved').waitFor()
    await desk.commit('main', { 'new.txt': null })
    await page.getByRole('region', { name: 'Conflict', exact: true }).focus()
    await page.keyboard.press('2')
    await page.getByText('new.txt was deleted').waitFor()
    expect(await page.getByText('This line is not saved').count()).toBe(0)
  })

  test('names the model of a commit that an AI has made', async () => {
    const message = 'Whisper\n\nForge-Model: openrouter/some/large-model\nForge-Turn: 1\n'
    await desk.commit('main', { 'new.txt': 'one\ntwo, softly\nthree\nfour\n' }, { message })
    await open()
    await until(async () => (await names())[1] === 'Una Upstream with large-model')
    expect(await names()).toEqual(['Mira', 'Una Upstream with large-model', 'Mira'])
    await page.keyboard.press('ArrowDown')
    await page.getByRole('button', { name: /^This line: Una Upstream with large-model, .*: Whisper$/ }).waitFor()
  })

  test('moves the cursor, the selection and the lines at the top along with the text, also beside a long line', async () => {
    const words = Array.from({ length: 80 }, (_, at) => `word${at}`).join(' ')
    await desk.commit('main', { 'long.ts': long(`call('${words}')`) })
    await page.getByRole('treeitem', { name: 'long.ts' }).click()
    const editor = page.getByRole('textbox', { name: 'Editor' })
    await editor.click()
    await page.keyboard.press('Control+g')
    await page.keyboard.type('254')
    await page.keyboard.press('Enter')
    await page.getByText('254:1', { exact: true }).waitFor()
    const sticky = page.locator('.cm-sticky-line > span:last-child')
    await sticky.getByText('long').waitFor()
    const leftOf = async (what: typeof editor) => (await what.boundingBox())?.x ?? Number.NaN
    const ofText = () => leftOf(editor)
    /** How far something is from the left end of the text, in pixels. */
    const distance = async (what: typeof editor) => Math.round((await leftOf(what)) - (await ofText()))
    const cursor = page.locator('.cm-cursor-primary')
    const selected = page.locator('.cm-selectionBackground').first()
    const before = await distance(cursor)
    const ofSticky = await distance(sticky)
    const left = await ofText()
    await page.keyboard.press('Control+Alt+b')
    await until(async () => (await ofText()) > left + 50)
    await until(async () => (await distance(cursor)) === before)
    await until(async () => (await distance(sticky)) === ofSticky)
    await page.keyboard.press('Control+Shift+ArrowRight')
    await selected.waitFor()
    const ofSelection = await distance(selected)
    await page.keyboard.press('Control+Alt+b')
    await until(async () => (await ofText()) === left)
    await until(async () => (await distance(selected)) === ofSelection)
    await until(async () => (await distance(sticky)) === ofSticky)
  })

  test('names the commit of many lines at the first one in view', async () => {
    await page.getByRole('treeitem', { name: 'long.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Alt+b')
    await page.locator('.cm-blame .blame-first').first().waitFor()
    const goTo = async (line: number) => {
      await page.keyboard.press('Control+g')
      await page.keyboard.type(String(line))
      await page.keyboard.press('Enter')
      await page.getByText(`${line}:1`, { exact: true }).waitFor()
    }
    /** The name in the column at the first line that is not covered by those that stay at the top. */
    const first = () =>
      page.evaluate(() => {
        const [column, lines] = ['.cm-blame', '.cm-sticky'].map(it => document.querySelector(it))
        const top = lines?.getBoundingClientRect().bottom ?? 0
        const at = document.elementFromPoint((column?.getBoundingClientRect().left ?? 0) + 12, top + 6)
        return at?.closest('.blame-first')?.querySelector('.blame-name')?.textContent
      })
    await goTo(150)
    await page.locator('.cm-sticky-line').getByText('long').waitFor()
    await until(async () => (await first()) === 'Mira')
    await goTo(254)
    // The commit of one line among those of another one stays at its line.
    const names = page.locator('.cm-blame .blame-name')
    const tops = async () => {
      const shown = await names.evaluateAll(all =>
        all.map(it => [it.textContent, it.getBoundingClientRect().y] as const),
      )
      return shown.filter(([name]) => name === 'Jun').map(([, y]) => y)
    }
    const line = page.locator('.cm-line').getByText('end()')
    await until(async () => Math.abs(((await tops())[0] ?? 0) - ((await line.boundingBox())?.y ?? 0)) < 8)
    await until(async () => (await first()) === 'Mira')
    await goTo(390)
    await until(async () => (await first()) === 'Mira')
    await page.mouse.click(((await page.locator('.cm-blame').boundingBox())?.x ?? 0) + 12, 300)
    await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'long.ts' }).waitFor()
    const count = (await desk.git('log', '-1', '--format=%H', '--grep=Count', 'main')).slice(0, 8)
    await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: count, selected: true }).waitFor()
  })

  test('leads from the cursor’s line to its commit, and to the file before it', async () => {
    await open()
    await page.keyboard.press('ArrowDown')
    const line = page.getByRole('button', { name: /^This line: Ada, .*: Shout$/ })
    await line.waitFor()
    await page.getByRole('button', { name: 'Before this' }).click()
    const before = (await desk.git('rev-parse', 'main~1')).slice(0, 8)
    await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: before, selected: true }).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('two', { exact: true }).waitFor()
    await page.getByText('2:1', { exact: true }).waitFor()
    // The commit that it shows can be reverted from its tab, in a branch that is asked for.
    await page.keyboard.press('Control+k')
    await page.keyboard.type(`Revert ${before}`)
    await page.getByRole('option', { name: `Revert ${before} in a branch…` }).click()
    await page
      .getByRole('dialog', { name: `Revert ${before} in…` })
      .getByText('main')
      .waitFor()
    await page.keyboard.press('Escape')
    // The line comes from a commit in which the file had another name.
    await page.locator('.cm-blame .blame-first').getByText('Mira').click()
    await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'old.txt' }).waitFor()
  })

  test('leads to the place that the line had before its commit, which added lines above it and renamed the file', async () => {
    const changed = `added 1\nadded 2\nadded 3\n${long('end()').replace('step(3)', 'jump(3)')}`
    await desk.commit('main', { 'long.ts': null, 'far.ts': changed }, { message: 'Move and add' })
    await page.getByRole('treeitem', { name: 'far.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('jump(3)').click()
    await page.keyboard.press('Control+Alt+b')
    await page.getByRole('button', { name: /^This line: .*: Move and add$/ }).waitFor()
    await page.getByRole('button', { name: 'Before this' }).click()
    await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'long.ts', selected: true }).waitFor()
    await page.getByText('3:1', { exact: true }).waitFor()
  })

  test('a file that a draft has renamed keeps its blame and its history', async () => {
    await open()
    await page.keyboard.press('F2')
    await page.getByRole('dialog').getByRole('textbox').fill('moved.txt')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: /^moved.txt/, selected: true }).waitFor()
    await until(async () => (await names()).join() === 'Mira,Ada,Mira')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+Alt+g')
    await page.getByRole('listbox', { name: 'History of line 2 of moved.txt' }).getByText('Shout').waitFor()
  })

  test('a commit of a file’s history opens the file under the name that it had then', async () => {
    await open()
    await page.keyboard.press('Alt+Shift+h')
    const list = page.getByRole('listbox', { name: 'History of new.txt' })
    await list.getByRole('option', { name: 'Count' }).click()
    await page.keyboard.press('Enter')
    await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'old.txt', selected: true }).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('two').waitFor()
  })

  test('the history of the selected lines is opened by a key, and follows the rename', async () => {
    await open()
    await page.keyboard.press('Control+Alt+b')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+Alt+g')
    const list = page.getByRole('listbox', { name: 'History of line 2 of new.txt' })
    await list.getByRole('option').first().waitFor()
    expect(await list.getByRole('option').locator('.subject').allInnerTexts()).toEqual(['Shout', 'Count'])
    const changes = page.getByRole('region', { name: 'Changes of these lines' })
    await changes.getByText('TWO', { exact: true }).waitFor()
    // The list has the focus.
    await until(async () => await list.evaluate(it => it === document.activeElement))
    // The commit that broke the line is reverted from here.
    await page.keyboard.press('e')
    const revert = page.getByRole('dialog', { name: /^Revert [0-9a-f]{8} in main$/ })
    await revert.getByText('“Shout”').waitFor()
    await page.keyboard.press('Escape')
    await until(async () => await list.evaluate(it => it === document.activeElement))
    await page.keyboard.press('ArrowDown')
    await page.getByRole('complementary', { name: 'Commit' }).getByRole('heading', { name: 'Count' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: 'old.txt' }).waitFor()
  })

  test('what is after the last line end has no history, and a selection to the end has that of its lines', async () => {
    await open()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Control+Alt+g')
    await page.getByRole('status').getByText('No saved line is selected').waitFor()
    await page.keyboard.press('Shift+ArrowUp')
    await page.keyboard.press('Shift+ArrowUp')
    await page.keyboard.press('Control+Alt+g')
    await page
      .getByRole('listbox', { name: 'History of lines 3 to 4 of new.txt' })
      .getByRole('option')
      .first()
      .waitFor()
  })

  test('the line numbers have a menu, and a function’s history is that of its lines', async () => {
    await page.getByRole('treeitem', { name: 'code.ts' }).click()
    await page.locator('.cm-lineNumbers .cm-gutterElement').getByText('6', { exact: true }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'History of this function' }).click()
    const list = page.getByRole('listbox', { name: 'History of second of code.ts' })
    await list.getByRole('option').first().waitFor()
    expect(await list.getByRole('option').locator('.subject').allInnerTexts()).toEqual(['Mend the second', 'Code'])
  })
})
