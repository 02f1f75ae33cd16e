/** Finding and replacing in files, and going to a line of a file by its name, in a real browser. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { hasBrowser } from '../../../support/browser.ts'
import { replacement } from '../../../support/desk.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, templateWith, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const SCENE = {
  'src/a.ts': "import { lease } from './lease'\n\nexport const one = lease(1)\n",
  'src/b.ts': "import { lease } from './lease'\n\nexport const two = lease(2) + lease(3)\n",
  'src/index.ts': 'export * from "./a"\n',
  'test/index.ts': 'test\n',
  'docs/lease.md': '# lease\n',
  'docs/long.txt': Array.from({ length: 900 }, (_, at) => `line ${at + 1}\n`).join(''),
}
const template = templateWith({ main: SCENE })

describe.skipIf(!hasBrowser)('a search in files', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  const field = (name: string) => page.getByRole('textbox', { name })
  const options = () => page.getByRole('listbox', { name: 'Results' }).getByRole('option').allInnerTexts()
  const status = (words: string) => page.getByRole('status').getByText(words).waitFor()

  test('says that files in Latin-1 were not searched, where git has no Perl expressions for that', async () => {
    const bin = `${desk.path}-bin`
    const without = 'fatal: cannot use Perl-compatible regexes when not compiled with USE_LIBPCRE'
    const script = `#!/bin/sh\ncase " $* " in *" grep "*" -P "*) echo '${without}' >&2; exit 128;; esac\n`
    await mkdir(bin)
    await writeFile(`${bin}/git`, `${script}exec '${Bun.which('git')}' "$@"\n`, { mode: 0o755 })
    const { PATH } = process.env
    process.env.PATH = `${bin}:${PATH}`
    try {
      await page.keyboard.press('Control+Shift+f')
      await page.keyboard.type('grüße')
      const words = 'Files in Latin-1 were not searched: this git was built without PCRE.'
      await status(`No results. ${words}`)
      await field('Find in files').fill('lease')
      await status('5 lines in 3 files')
      expect(await page.getByText(words).count()).toBe(0)
    } finally {
      process.env.PATH = PATH
    }
  })

  test('replaces what is chosen in all files at once, by the keyboard, and one undo takes it back', async () => {
    await page.keyboard.press('Control+Shift+h')
    await page.keyboard.type('lease')
    await page.keyboard.press('Tab')
    await page.keyboard.type('claim')
    expect(await field('Replace in files').inputValue()).toBe('claim')
    await field('Files to search').fill('src, !index.ts')
    await status('7 matches in 2 files')
    await until(async () => (await options()).at(-1)?.replace(/\s+/g, ' ').includes('leaseclaim(3)') === true)
    expect(await findings(page)).toEqual([])
    // The last hit is left out.
    await field('Files to search').press('ArrowDown')
    for (let row = 0; row < 7; row++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.locator('.result.left-out').getByText('(3)').waitFor()
    await page.getByRole('button', { name: 'Replace 6' }).waitFor()
    await page.keyboard.press('Control+Alt+Enter')
    await page.getByRole('paragraph').getByText('Replaced 6 matches in 2 files').waitFor()
    await desk.isText('main', 'src/b.ts', "import { claim } from './claim'\n\nexport const two = claim(2) + lease(3)\n")
    // The search shows the match that was not replaced, which stays left out.
    await status('1 match in 1 file')
    await page.locator('.result.left-out').getByText('(3)').waitFor()
    await page.getByRole('button', { name: 'Replace', exact: true }).last().waitFor()
    await page.keyboard.press('Control+Shift+s')
    await until(async () => (await desk.messageOf('main')).startsWith('edit: src/a.ts, src/b.ts'))
  })

  test('follows what another window changes, and leaves out what was left out, also where Enter repeats it', async () => {
    await page.keyboard.press('Control+Shift+h')
    await page.keyboard.type('lease')
    await field('Replace in files').fill('claim')
    await field('Files to search').fill('src, !index.ts')
    await status('7 matches in 2 files')
    await field('Files to search').press('ArrowDown')
    for (let row = 0; row < 7; row++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Replace 6' }).waitFor()
    await using window = await desk.desk.window()
    await window.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: 'src/a.ts' })
    const { length } = SCENE['src/a.ts']
    const edits = [{ client: 'other', changes: replacement(length, 0, 0, '// lease\n') }]
    await window.ask({ ask: 'edit', branch: 'main', path: 'src/a.ts', version: 0, edits })
    await status('8 matches in 2 files')
    await page.getByRole('button', { name: 'Replace 7' }).waitFor()
    const searches = desk.proxy.count('find text')
    await field('Find in files').press('Enter')
    await until(() => desk.proxy.count('find text') > searches)
    await status('8 matches in 2 files')
    await page.getByRole('button', { name: 'Replace 7' }).waitFor()
  })

  test('leaves out the same of many lines of one text, where another window edits it and the lines above', async () => {
    const path = 'src/checks.ts'
    const lines = Array.from({ length: 9 }, () => 'check(lease)\n')
    await desk.commit('main', { [path]: lines.join('') })
    await page.keyboard.press('Control+Shift+h')
    await page.keyboard.type('lease')
    await field('Replace in files').fill('claim')
    await field('Files to search').fill(path)
    await status('9 matches in 1 file')
    await field('Files to search').press('ArrowDown')
    for (let row = 0; row < 3; row++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    const leftOut = page.locator('.result.left-out')
    await leftOut.getByText('4', { exact: true }).waitFor()
    await using window = await desk.desk.window()
    await window.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path })
    let text = lines.join('')
    let version = 0
    const insert = async (at: number, words: string) => {
      const edits = [{ client: 'other', changes: replacement(text.length, at, 0, words) }]
      await window.ask({ ask: 'edit', branch: 'main', path, version, edits })
      text = text.slice(0, at) + words + text.slice(at)
      version++
    }
    // The second edit changes no list of drafts.
    await insert(0, '// first\n')
    await leftOut.getByText('5', { exact: true }).waitFor()
    await insert(text.indexOf('\n', 3 * 13 + 9 + 5), ' // edited')
    await leftOut.getByText('edited').waitFor()
    expect(await leftOut.count()).toBe(1)
    await page.getByRole('button', { name: 'Replace 8' }).waitFor()
  })

  test('leaves out what was left out also where its file is renamed: by a commit, in another window, or both', async () => {
    await page.keyboard.press('Control+Shift+h')
    await page.keyboard.type('lease')
    await field('Replace in files').fill('claim')
    await field('Files to search').fill('src, !index.ts')
    await status('7 matches in 2 files')
    await field('Files to search').press('ArrowDown')
    for (let row = 0; row < 7; row++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Replace 6' }).waitFor()
    const isShown = async (name: string) => {
      await until(async () => (await options()).some(words => words.includes(name)))
      await status('7 matches in 2 files')
      await page.getByRole('button', { name: 'Replace 6' }).waitFor()
    }
    // Its text changes a little with it, as in a refactoring.
    await desk.commit('main', { 'src/b.ts': null, 'src/c.ts': `${SCENE['src/b.ts']}// end\n` })
    await isShown('c.ts')
    await desk.ask({ ask: 'move', branch: 'main', moves: [{ from: 'src/c.ts', to: 'src/d.ts' }] })
    await isShown('d.ts')
    await desk.ask({ ask: 'move', branch: 'main', moves: [{ from: 'src/d.ts', to: 'src/e.ts' }] })
    await isShown('e.ts')
    await desk.ask({ ask: 'save', branch: 'main', paths: 'all' })
    await desk.commit('main', { 'src/e.ts': null, 'src/f.ts': `${SCENE['src/b.ts']}// end\n` })
    await isShown('f.ts')
    await page.keyboard.press('Control+Alt+Enter')
    await desk.isText('main', 'src/f.ts', text => text.includes('claim(2) + lease(3)'))
  })

  test('replaces by groups of an expression, with words of its own for what is wrong', async () => {
    await page.keyboard.press('Control+Shift+f')
    await page.getByRole('button', { name: 'Replace' }).click()
    await page.getByRole('button', { name: 'Regular expression' }).click()
    await field('Find in files').fill(String.raw`lease\((\d)\)`)
    await field('Replace in files').fill('$1.lease()')
    await status('3 matches in 2 files')
    await page.getByRole('button', { name: 'Replace 3' }).click()
    await desk.isText('main', 'src/b.ts', text => text.includes('2.lease() + 3.lease()'))
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await desk.isText('main', 'src/b.ts', text => text.includes('lease(2) + lease(3)'))
    // The menu of a folder limits the search to it.
    await page.getByRole('treeitem', { name: 'docs' }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Find in folder…' }).click()
    await until(async () => (await field('Files to search').inputValue()) === 'docs/')
    await status('No results')
    await field('Files to search').fill('../x')
    await status('leave out the “..”')
  })

  test('shows the files as they are now: a result that typing has moved is opened where it is', async () => {
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('two')
    await status('1 line in 1 file')
    await page.getByRole('option', { name: /export const two/ }).click()
    await page.getByText(/^3:17 \(\d+ selected\)$/).waitFor()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('first\nsecond\n')
    await page.keyboard.press('Control+Shift+f')
    const moved = page.getByRole('option', { name: /^5.*export const two/ })
    await moved.waitFor()
    expect(await moved.getAttribute('aria-selected')).toBe('true')
    await moved.click()
    await page.getByText(/^5:17 \(\d+ selected\)$/).waitFor()
    await page.keyboard.type('three')
    await desk.isText('main', 'src/b.ts', text => text.includes('export const three = lease(2)'))
  })

  test('shows the line of a result, or of a name and a line, in a file that is open in a tab behind', async () => {
    const shows = async (number: number) => {
      const line = page.locator('.cm-line').getByText(`line ${number}`, { exact: true })
      await line.waitFor()
      const [top, shown] = await Promise.all([line, page.locator('.cm-scroller')].map(it => it.boundingBox()))
      return top && shown && top.y >= shown.y && top.y + top.height <= shown.y + shown.height
    }
    await page.keyboard.press('Control+p')
    await page.keyboard.type('long.txt:800')
    await page.keyboard.press('Enter')
    await until(async () => (await shows(800)) === true)
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('line 450')
    await page.getByRole('option', { name: /line 450/ }).click()
    await until(async () => (await shows(450)) === true)
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('long.txt:100')
    await page.keyboard.press('Enter')
    await until(async () => (await shows(100)) === true)
  })

  test('lists files that can’t be edited with the reason, and replaces in the others', async () => {
    await desk.commit('main', { 'docs/big.txt': 'lease, and what belongs to it\n'.repeat(80_000) })
    await page.keyboard.press('Control+Shift+h')
    await page.keyboard.type('lease')
    await field('Replace in files').fill('claim')
    await status('8 matches in 3 files. 1 file left out: read-only.')
    const big = page.getByRole('option').filter({ hasText: 'big.txt' })
    await big.getByText('docs/big.txt has 2.3 MB: files of more than 2 MB are shown and not edited.').waitFor()
    expect(await big.getAttribute('aria-checked')).toBe(null)
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Replace 8' }).click()
    await page.getByRole('paragraph').getByText('Replaced 8 matches in 3 files').waitFor()
    await desk.isText('main', 'docs/lease.md', '# claim\n')
    await status('0 matches in 0 files. 1 file left out: read-only.')
  })

  test('replaces empty lines, and says that a line end is not found', async () => {
    await page.keyboard.press('Control+Shift+h')
    await page.getByRole('button', { name: 'Regular expression' }).click()
    await field('Find in files').fill('^$')
    await field('Replace in files').fill('// nothing')
    await field('Files to search').fill('*.ts')
    await status('2 matches in 2 files')
    await page.getByRole('button', { name: 'Replace 2' }).click()
    await desk.isText('main', 'src/a.ts', "import { lease } from './lease'\n// nothing\nexport const one = lease(1)\n")
    await field('Find in files').fill(String.raw`lease'\nexport`)
    await status(String.raw`No results. A search in files goes line by line: \n matches nothing.`)
    await field('Find in files').fill(String.raw`lease'[^\n]*|\\no`)
    // Without the sentence.
    await page.getByRole('status').getByText('2 matches in 2 files', { exact: true }).waitFor()
  })

  test('replaces at the ends of lines that end in CRLF, which stay', async () => {
    await desk.commit('main', { 'windows.txt': 'one;\r\ntwo;  \r\nthree\r\n' })
    await page.keyboard.press('Control+Shift+h')
    await page.getByRole('button', { name: 'Regular expression' }).click()
    await field('Find in files').fill(String.raw`;(\s*)$`)
    await field('Replace in files').fill('.$1')
    await status('2 matches in 1 file')
    await page.getByRole('button', { name: 'Replace 2' }).click()
    await page.getByRole('paragraph').getByText('Replaced 2 matches in 1 file').waitFor()
    await page.keyboard.press('Control+Shift+s')
    await until(async () => (await desk.git('show', 'main:windows.txt')).includes('.'))
    expect(await desk.git('show', 'main:windows.txt')).toBe('one.\r\ntwo.  \r\nthree')
  })

  test('is as it was after a reload, and in a new window: words, replacement, files, switches, what is left out', async () => {
    await page.keyboard.press('Control+Shift+h')
    await page.getByRole('button', { name: 'Regular expression' }).click()
    await field('Files to search').fill('src')
    await field('Replace in files').fill('claim$&')
    await field('Find in files').fill('lease(?=.[0-9])')
    await status('3 matches in 2 files')
    // The hit in src/a.ts is left out.
    await field('Files to search').press('ArrowDown')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Replace 2' }).waitFor()
    const isShown = async (window: DeskPage) => {
      await window.getByRole('button', { name: 'Replace 2' }).waitFor()
      const names = ['Find in files', 'Replace in files', 'Files to search']
      const texts = names.map(name => window.getByRole('textbox', { name }).inputValue())
      expect(await Promise.all(texts)).toEqual(['lease(?=.[0-9])', 'claim$&', 'src'])
    }
    await until(async () => JSON.stringify(await desk.layout()).includes('"leftOut":[{"path":"src/a.ts"'))
    await page.reload()
    await isShown(page)
    const other = await page.context().newPage()
    // With the token, the page shows what it brings along before it is connected.
    await other.goto(desk.url)
    await isShown(other as DeskPage)
    await other.close()
  })

  test('replaces in the case of each match, if that is wished, also after a reload', async () => {
    await page.keyboard.press('Control+Shift+h')
    await field('Find in files').fill('lease')
    await field('Replace in files').fill('CLAIM')
    await field('Files to search').fill('src, !index.ts')
    await status('7 matches in 2 files')
    const isLast = async (words: string) => (await options()).at(-1)?.replace(/\s+/g, ' ').includes(words) === true
    await until(() => isLast('leaseCLAIM(3)'))
    await page.getByRole('button', { name: 'Preserve case', pressed: false }).click()
    await until(() => isLast('leaseclaim(3)'))
    await until(async () => JSON.stringify(await desk.layout()).includes('"preservesCase":true'))
    await page.reload()
    await page.getByRole('button', { name: 'Preserve case', pressed: true }).waitFor()
    await page.getByRole('button', { name: 'Replace 7' }).waitFor()
    await page.keyboard.press('Control+Alt+Enter')
    await desk.isText('main', 'src/b.ts', "import { claim } from './claim'\n\nexport const two = claim(2) + claim(3)\n")
  })

  test('finds whole words', async () => {
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('leas')
    await status('5 lines in 3 files')
    await page.getByRole('button', { name: 'Match whole word' }).click()
    await status('No results')
  })

  test('by name goes to a line and column, and files of one name show their folders', async () => {
    // From the repository, the files of HEAD's branch are found.
    await page.keyboard.press('Alt+0')
    await page.getByRole('listbox', { name: 'Commits' }).waitFor()
    await page.keyboard.press('Control+p')
    await page.keyboard.type('b.ts:3:14')
    await page.getByRole('option', { name: /b\.ts.*line 3/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Editor' }).getByText('two').waitFor()
    await until(() => page.evaluate(() => document.activeElement?.classList.contains('cm-content') ?? false))
    await page.keyboard.type('X')
    await desk.isText('main', 'src/b.ts', text => text.includes('export const Xtwo'))
    await page.keyboard.press('Control+p')
    await page.keyboard.type('index.ts')
    const found = page.getByRole('listbox').getByRole('option')
    await until(async () => (await found.count()) === 2)
    expect((await found.allInnerTexts()).map(text => text.replace(/\s+/g, ' ')).sort()).toEqual([
      'index.ts src/',
      'index.ts test/',
    ])
    await page.keyboard.press('Escape')
    for (const folder of ['src', 'test']) {
      await page.keyboard.press('Control+p')
      await page.keyboard.type(`${folder}/index.ts`)
      await page.getByRole('option', { name: `index.ts ${folder}/` }).waitFor()
      await page.keyboard.press('Enter')
      await page
        .getByRole('tablist', { name: 'Files' })
        .getByRole('tab', { name: 'index.ts', selected: true })
        .waitFor()
    }
    await page.getByRole('tab', { name: 'index.ts src' }).waitFor()
    await page.getByRole('tab', { name: 'index.ts test' }).waitFor()
  })
  test('by name without words lists the files that were open last first, so that Enter goes back to the one before', async () => {
    const goTo = async (name: string) => {
      await page.keyboard.press('Control+p')
      await page.keyboard.type(name)
      await page.getByRole('option', { name: new RegExp(`^${name}`) }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name, selected: true }).waitFor()
    }
    for (const name of ['a.ts', 'lease.md', 'b.ts']) await goTo(name)
    await page.keyboard.press('Alt+w')
    await page.getByRole('tab', { name: 'lease.md', selected: true }).waitFor()
    await page.keyboard.press('Control+p')
    const recent = page.getByRole('group', { name: 'Recently opened' }).getByRole('option')
    await page.getByRole('group', { name: 'Files', exact: true }).waitFor()
    expect((await recent.allInnerTexts()).map(text => text.replace(/\s+/g, ' '))).toEqual(['b.ts src/', 'a.ts src/'])
    expect(await page.getByRole('option', { name: 'b.ts src/' }).count()).toBe(1)
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'b.ts', selected: true }).waitFor()
    await page.keyboard.press('Control+p')
    await page.getByRole('group', { name: 'Files', exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'lease.md', selected: true }).waitFor()
  })
})
