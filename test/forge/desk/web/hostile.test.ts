/** Hostile repositories, which try to run a script in the page, deceive the reader, or freeze the page. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser, openBrowser, workOf } from '../../../support/browser.ts'
import { PERSON } from '../../../support/desk.ts'
import { commit, git, gitWith } from '../../../support/git.ts'
import { tabOf } from '../../../support/page-desk.ts'
import { openPage, openScene, settled, templateOf, templateWith, until } from './page-scene.ts'

setDefaultTimeout(120_000)

const SCRIPT = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
/** The script as the name of a branch. */
const BRANCH = SCRIPT.replaceAll(' ', '/')
const ENTRIES = 100_000
/** The most CPU time allowed, in milliseconds: a page that freezes takes minutes. */
const MAX_WORK_MS = 2_000

describe.skipIf(!hasBrowser)('a hostile repository', () => {
  let browser: OpenBrowser

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  test('runs no script: names, contents and messages are text', async () => {
    const name = SCRIPT.replaceAll('/', '|')
    const files = { [`${name}.html`]: `${SCRIPT}\n`, 'b.md': `[x](javascript:alert(1)) ${SCRIPT}\n` }
    const desk = await openScene({
      name,
      template: templateWith({ main: files }),
      layout: { tabs: [tabOf(BRANCH)], active: 0 },
    })
    await desk.commit('main', {}, { message: SCRIPT, author: `${SCRIPT.replaceAll(/[<>]/g, '')} <a@b>` })
    await desk.git('update-ref', `refs/heads/${BRANCH}`, 'main')
    await desk.ask({ ask: 'new file', branch: BRANCH, path: `${name}.txt` })
    const page = await openPage(browser.context, desk)
    await page.getByRole('treeitem').first().click()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('onerror').first().waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    for (const keys of ['Alt+h', 'Alt+r', 'Alt+o', 'Escape', 'Alt+0', 'Control+k']) {
      await page.keyboard.press(keys)
      await settled(page)
    }
    await page.keyboard.type('img')
    await settled(page)
    await page.keyboard.press('Escape')
    desk.proxy.say({ say: 'notice', words: SCRIPT, isBad: true })
    await page.getByText(SCRIPT).first().waitFor()
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
    expect(await page.locator('img, body script').count()).toBe(0)
    expect(page.troubles).toEqual([])
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test('can not turn a name around, or hide in it', async () => {
    const desk = await openScene({
      template: templateOf(async path => {
        const names = ['photo\u202Egpj.exe', 'a\u200Bb', 'line\nbreak']
        await commit(path, 'main', Object.fromEntries(names.map(name => [name, ''])))
        // A name that is not UTF-8 is written by its bytes.
        const empty = await git(path, 'hash-object', '-w', '-t', 'blob', '/dev/null')
        const before = await gitWith(path, ['ls-tree', '-z', 'main'])
        const tree = Buffer.concat([Buffer.from(before), Buffer.from(`100644 blob ${empty}\t\xff\xfe\0`, 'latin1')])
        const made = Bun.spawn(['git', 'mktree', '-z'], { cwd: path, stdin: tree, stdout: 'pipe' })
        const oid = (await new Response(made.stdout).text()).trim()
        const author = { GIT_AUTHOR_NAME: 'M', GIT_AUTHOR_EMAIL: 'm@example.com' }
        const committer = { GIT_COMMITTER_NAME: 'M', GIT_COMMITTER_EMAIL: 'm@example.com' }
        const done = await gitWith(path, ['commit-tree', oid, '-m', 'Names'], undefined, { ...author, ...committer })
        await git(path, 'update-ref', 'refs/heads/main', done)
      }),
    })
    const page = await openPage(browser.context, desk)
    for (const name of ['photo\\u202egpj.exe', 'a\\u200bb', 'line\\nbreak', '\\xff\\xfe']) {
      await page.getByRole('treeitem', { name, exact: true }).waitFor()
    }
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test('can not turn a line of code around: each control of the direction is shown as its escape', async () => {
    const controls = [...'\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069']
    const text = controls.map(control => `a${control}b\n`).join('')
    const desk = await openScene({ template: templateWith({ main: { 'code.ts': text } }) })
    const page = await openPage(browser.context, desk)
    await page.getByRole('treeitem', { name: 'code.ts' }).click()
    await page.locator('.cm-specialChar').first().waitFor()
    const shown = controls.map(control => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`)
    expect(await page.locator('.cm-specialChar').allTextContents()).toEqual(shown)
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test('a name of 255 bytes from right to left is whole in its dialog, and turns no sentence around', async () => {
    const name = `${'ש'.repeat(126)}.ts`
    const desk = await openScene({ template: templateWith({ main: { [name]: 'x\n' } }) })
    const page = await openPage(browser.context, desk)
    await page.getByRole('treeitem', { name }).click()
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    await page.keyboard.press('Alt+Delete')
    const title = page.getByRole('dialog').getByRole('heading')
    expect(await title.textContent()).toBe(`Delete \u2068${name}\u2069?`)
    const [width, wanted] = await title.evaluate(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])
    expect(wanted).toBeLessThanOrEqual(width ?? 0)
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true)
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test('what is cut says all of itself in a title', async () => {
    const subject = 'a subject that is much longer than any row '.repeat(10).trim()
    const desk = await openScene({
      template: templateOf(path => commit(path, 'main', { a: '' }, { message: subject })),
    })
    const page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+h')
    const cut = page.getByRole('option').first().locator('.subject bdi.cut')
    await cut.hover()
    await until(async () => (await cut.getAttribute('title')) === subject)
    await page.mouse.move(0, 0)
    await until(async () => (await cut.getAttribute('title')) === null)
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test('three hundred open tabs and quick switching lose no letter', async () => {
    const paths = Array.from({ length: 300 }, (_, index) => `file-${index}.ts`)
    const files = Object.fromEntries(paths.map(path => [path, '\n']))
    const tabs = ['one', 'two'].map(branch => ({ ...tabOf(branch, paths), active: 'file-150.ts' }))
    const desk = await openScene({ template: templateWith({ one: files, two: files }), layout: { tabs, active: 0 } })
    const page = await openPage(browser.context, desk)
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.press('Alt+2')
    await page.locator('.cm-content:focus').waitFor()
    desk.proxy.delay = 60
    for (let turn = 0; turn < 10; turn++) {
      await page.keyboard.press(`Alt+${1 + (turn % 2)}`)
      await page.keyboard.type(`${turn} `)
    }
    desk.proxy.delay = 0
    await desk.isText('one', 'file-150.ts', '0 2 4 6 8 \n')
    await desk.isText('two', 'file-150.ts', '1 3 5 7 9 \n')
    expect(await page.getByRole('tablist', { name: 'Files' }).getByRole('tab').count()).toBe(301)
    expect(page.troubles).toEqual([])
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test(`${ENTRIES.toLocaleString('en')} entries in a folder do not freeze it`, async () => {
    // git fast-import, by which commit() makes trees, searches the whole folder for each of its entries.
    const template = templateOf(async path => {
      const write = (text: string) => gitWith(path, ['hash-object', '-w', '--stdin'], text)
      const [empty, last] = [await write(''), await write('last\n')]
      const names = Array.from({ length: ENTRIES }, (_, index) => `file-${String(index).padStart(6, '0')}.txt`)
      const many = await gitWith(path, ['mktree'], names.map(name => `100644 blob ${empty}\t${name}\n`).join(''))
      const top = await gitWith(path, ['mktree'], `040000 tree ${many}\tmany\n100644 blob ${last}\tz.txt\n`)
      await git(
        path,
        'update-ref',
        'refs/heads/main',
        await gitWith(path, ['commit-tree', '-m', 'Begin', top], '', PERSON),
      )
    })
    const desk = await openScene({ template })
    const page = await openPage(browser.context, desk)
    await page.getByRole('treeitem', { name: 'many' }).waitFor()
    const work = await workOf(page, async () => {
      await page.getByRole('treeitem', { name: 'many' }).click()
      await page.getByRole('treeitem', { name: 'file-000000.txt' }).waitFor()
      await page.keyboard.press('End')
      await page.getByRole('treeitem', { name: 'z.txt' }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('textbox', { name: 'Editor' }).getByText('last').waitFor()
    })
    const rows = await page.getByRole('treeitem').count()
    console.log(`${ENTRIES} entries: ${Math.round(work)} ms of work, ${rows} rows in the page`)
    expect(work).toBeLessThan(MAX_WORK_MS)
    expect(rows).toBeLessThan(100)
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test('a file of two megabytes, one line of it very long, opens and can be edited', async () => {
    const text = `${'x'.repeat(500_000)}\n${'const a = 1\n'.repeat(120_000)}`
    const desk = await openScene({ template: templateWith({ main: { 'big.ts': text } }) })
    const page = await openPage(browser.context, desk)
    await page.getByRole('treeitem', { name: 'big.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    await page.keyboard.press('Alt+i')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('end')
    await desk.isText('main', 'big.ts', found => found.endsWith('end'))
    await page.close()
    await desk[Symbol.asyncDispose]()
  })
})
