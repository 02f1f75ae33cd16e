/** Going from a name to its definition and to the lines that mention it, in a real browser. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import type { Answer } from '../../../../forge/desk/contract/contract.ts'
import { hasBrowser } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, templateWith, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const template = templateWith({
  main: {
    'a-use.ts': "import { backoff } from './backoff'\n\nbackoff(1)\nclose()\nmissing()\n",
    'backoff.ts': '// About backoff.\nexport function backoff(tries: number): number {\n  return 2 ** tries\n}\n',
    'one.py': 'class One:\n    def close(self):\n        pass\n',
    'remark.ts': '// See backoff.\nexport const other = 1\n',
    'deep.ts': `export class Deep {\n  next(at: number): number {\n    return [\n      at,\n${'      1,\n'.repeat(100)}    ].length\n  }\n}\n`,
    'lib/chart.ex':
      'defmodule Sea.Chart do\n  def first(at), do: shown!(at)\n\n  def shown(at), do: at\n\n  defp shown!(at), do: at\nend\n',
    'lib/page.rb': 'class Page\n  def shown?(now)\n    now\n  end\n\n  def shown\n  end\nend\n',
    'lib/site.rb': 'def first(page)\n  page.shown?(1)\nend\n',
    'lib/local.rs': 'fn build() {\n    let seed = next();\n    start(seed)\n}\n',
    'lib/stream.rs':
      'fn first() {\n    deepen()\n}\n\ncfg_net! {\n    pub struct TcpStream {\n        at: u8,\n    }\n\n    fn deepen() {}\n}\n',
    'two.go': 'package two\n\nfunc close() {\n}\n',
  },
})

describe.skipIf(!hasBrowser)('a name in a file', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  const editor = () => page.getByRole('textbox', { name: 'Editor' })
  const palette = () => page.getByRole('combobox', { name: 'Command palette' })
  /** Opens the file that uses the names, with the cursor in a line, counted from 1. */
  const openAtLine = async (line: number) => {
    await page.getByRole('treeitem', { name: 'a-use.ts' }).click()
    await page.getByRole('tab', { name: 'a-use.ts', selected: true }).waitFor()
    await editor().click()
    await page.keyboard.press('Control+Home')
    for (let at = 1; at < line; at++) await page.keyboard.press('ArrowDown')
  }
  const showsFile = (name: string) => page.getByRole('tab', { name, selected: true }).waitFor()
  /** Opens a file by the palette at a line and column, such as 2:9. */
  const openAt = async (name: string, place: string) => {
    await page.keyboard.press('Control+p')
    await palette().fill(`${name}:${place}`)
    await page.getByRole('option', { name }).first().waitFor()
    await page.keyboard.press('Enter')
    await showsFile(name)
    await page.locator('.line-column').getByText(place, { exact: true }).waitFor()
  }
  const selected = () => page.evaluate(() => getSelection()?.toString())
  /** Waits until the editor has drawn what a key has moved: it measures once more after a scroll. */
  const drawn = () =>
    page.evaluate(async () => {
      for (let frame = 0; frame < 4; frame++) await new Promise(resolve => requestAnimationFrame(resolve))
    })

  test('leads by F12 to its only definition, which is selected', async () => {
    await openAtLine(3)
    await page.keyboard.press('F12')
    await showsFile('backoff.ts')
    await until(async () => (await selected()) === 'backoff')
    // A remark above the function has the name, too: the definition's own line is selected.
    await page.locator('.cm-activeLine').getByText('export function').waitFor()
  })

  test('of a method in Ruby may end in a question mark', async () => {
    await openAt('site.rb', '2:9')
    await page.keyboard.press('F12')
    await showsFile('page.rb')
    await page.locator('.cm-activeLine').getByText('shown?(now)').waitFor()
    await until(async () => (await selected()) === 'shown?')
  })

  test('of a private function in Elixir is found, with its exclamation mark', async () => {
    await openAt('chart.ex', '2:25')
    await page.keyboard.press('F12')
    await page.locator('.line-column').getByText(/^6:/).waitFor()
    await until(async () => (await selected()) === 'shown!')
  })

  test('that is defined in the call of a macro in Rust is found, and is a symbol', async () => {
    await openAt('stream.rs', '2:6')
    await page.keyboard.press('F12')
    await page.locator('.line-column').getByText(/^10:/).waitFor()
    await until(async () => (await selected()) === 'deepen')
    await page.keyboard.press('Alt+Shift+l')
    await palette().fill('tcpstream')
    await page.getByRole('option', { name: /TcpStream/ }).waitFor()
  })

  test('of a variable in a function leads to its declaration', async () => {
    await openAt('local.rs', '3:12')
    await page.keyboard.press('F12')
    await page.locator('.line-column').getByText(/^2:/).waitFor()
    await until(async () => (await selected()) === 'seed')
  })

  test('of a variable in a function is found by an F12 that comes before the colours of its language', async () => {
    const { promise: loads, resolve: load } = Promise.withResolvers<void>()
    await page.route('**/*.js', async route => {
      await loads
      await route.continue()
    })
    await openAt('local.rs', '3:12')
    await page.keyboard.press('F12')
    await until(() => desk.proxy.count('file structure') > 0)
    load()
    await page.locator('.line-column').getByText(/^2:/).waitFor()
  })

  test('whose definition is found after a click elsewhere is shown by a button only', async () => {
    await openAtLine(3)
    const answer = desk.proxy.hold('named places')
    await page.keyboard.press('F12')
    await until(() => desk.proxy.count('named places') > 0)
    const message = page.getByRole('textbox', { name: 'Commit message' })
    await message.click()
    await page.keyboard.type('begin ')
    answer()
    await page.locator('.toast').getByText('Definitions of backoff, by name: found').waitFor()
    await page.keyboard.type('again')
    expect(await message.inputValue()).toBe('begin again')
    await page.getByRole('button', { name: 'Show' }).click()
    await showsFile('backoff.ts')
    await until(async () => (await selected()) === 'backoff')
  })

  test('that is defined twice lets one choose, by its path', async () => {
    await openAtLine(4)
    await page.keyboard.press('F12')
    await page.getByRole('group', { name: 'Definitions of close, by name' }).waitFor()
    expect(await page.getByRole('option').count()).toBe(2)
    await palette().fill('two.go')
    await until(async () => (await page.getByRole('option').count()) === 1)
    await page.keyboard.press('Enter')
    await showsFile('two.go')
    await until(async () => (await selected()) === 'close')
  })

  test('that is defined in a draft only is found there', async () => {
    await page.getByRole('treeitem', { name: 'remark.ts' }).click()
    await showsFile('remark.ts')
    await editor().click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('export const missing = 2\n')
    await openAtLine(5)
    await page.keyboard.press('F12')
    await showsFile('remark.ts')
    await until(async () => (await selected()) === 'missing')
  })

  test('without a definition says so, and so does a place without a name', async () => {
    await openAtLine(5)
    await page.keyboard.press('F12')
    await page.getByText('No definition of missing was found').first().waitFor()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('F12')
    await page.getByText('There is no name at the cursor').first().waitFor()
  })

  test('lists by Shift+F12 the lines that mention it, without files that have it in a remark only', async () => {
    await openAtLine(3)
    await page.keyboard.press('Shift+F12')
    await page.getByRole('group', { name: 'References to backoff, by name' }).waitFor()
    const places = await page.getByRole('option').allInnerTexts()
    expect(places.map(text => /[\w.-]+:\d+$/.exec(text.trim())?.[0])).toEqual([
      'a-use.ts:1',
      'a-use.ts:3',
      'backoff.ts:1',
      'backoff.ts:2',
    ])
    await palette().fill('export function')
    await page.keyboard.press('Enter')
    await showsFile('backoff.ts')
  })

  test('is a link to its definition while Ctrl is held', async () => {
    await openAtLine(1)
    const name = page.locator('.cm-line').nth(2).getByText('backoff')
    await page.keyboard.down('Control')
    await name.hover({ position: { x: 10, y: 5 } })
    await page.locator('.cm-definition-link').getByText('backoff').waitFor()
    await page.keyboard.up('Control')
    await until(async () => (await page.locator('.cm-definition-link').count()) === 0)
    await name.click({ modifiers: ['Control'], position: { x: 10, y: 5 } })
    await showsFile('backoff.ts')
    await until(async () => (await selected()) === 'backoff')
  })

  test('is found among the symbols of its file and of the branch, in drafts, too', async () => {
    await page.getByRole('treeitem', { name: 'one.py' }).click()
    await showsFile('one.py')
    await editor().click()
    await page.keyboard.press('Alt+l')
    await page.getByRole('option', { name: 'close' }).waitFor()
    const own = await page.getByRole('option').allInnerTexts()
    expect(own.map(text => text.replace(/\s+/g, ' ').trim())).toEqual(['One class', 'close method'])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('def closest(): pass\n')
    await page.keyboard.press('Alt+Shift+l')
    await page.keyboard.type('clos')
    const group = page.getByRole('group', { name: 'Symbols by name' })
    await group.getByRole('option', { name: 'closest' }).waitFor()
    const expected = ['close One method · one.py:2', 'close function · two.go:3', 'closest function · one.py:4']
    // Files that are read for the first time are found one by one.
    await until(async () => {
      const found = await page.getByRole('option').allInnerTexts()
      return found.map(text => text.replace(/\s+/g, ' ').trim()).join() === expected.join()
    })
    await palette().fill('close two')
    await until(async () => (await page.getByRole('option').count()) === 0)
    await palette().fill('two close')
    await until(async () => (await page.getByRole('option').count()) === 1)
    await page.keyboard.press('Enter')
    await showsFile('two.go')
    await until(async () => (await selected()) === 'close')
  })

  test('has a path above the editor, lines that stay in view, and a block around it that folds and is selected', async () => {
    await page.getByRole('treeitem', { name: 'deep.ts' }).click()
    await showsFile('deep.ts')
    await editor().click()
    await page.keyboard.press('Control+g')
    await page.keyboard.type('60')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'In Deep, next: go to another symbol' }).waitFor()
    const sticky = page.locator('.cm-sticky-line')
    await until(async () => (await sticky.count()) === 2)
    expect((await sticky.allInnerTexts()).map(text => text.replace(/\s+/g, ' ').trim())).toEqual([
      '1 export class Deep {',
      '2 next(at: number): number {',
    ])
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    const lengths: number[] = []
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft']) {
      const before = (await selected())?.length
      await page.keyboard.press(`Alt+Shift+${key}`)
      await until(async () => (await selected())?.length !== before)
      lengths.push((await selected())?.trim().split('\n').length ?? 0)
    }
    const [first = 0, second = 0, third = 0, back = 0] = lengths
    expect([first, back]).toEqual([1, second])
    expect(second).toBeGreaterThan(1)
    expect(third).toBeGreaterThanOrEqual(second)
    await sticky.first().click()
    await until(async () => (await sticky.count()) === 0)
    await page.keyboard.press('Control+Shift+BracketLeft')
    await page.locator('.cm-foldPlaceholder').waitFor()
    const folded = await page.locator('.cm-line').allInnerTexts()
    expect(folded.map(text => text.trim())).toEqual(['export class Deep {…}', ''])
    await desk.ask({ ask: 'set setting', key: 'editor.stickyScroll', value: false })
    await page.keyboard.press('Control+Shift+BracketRight')
    await page.keyboard.press('Control+End')
    await until(async () => (await page.locator('.cm-sticky').count()) === 0)
  })

  test('do not cover a match to which the search goes upward, nor the cursor after Page Up', async () => {
    const inner = `    target() {\n      target()\n${'      step()\n'.repeat(30)}    }\n`
    const outer = `namespace Out {\n  class Many {\n${inner}${inner}  }\n}\n`
    await desk.commit('main', { 'many.ts': `${outer}${'step()\n'.repeat(100)}` })
    await page.getByRole('treeitem', { name: 'many.ts' }).click()
    await showsFile('many.ts')
    await editor().click()
    const isCovered = async (line: Locator) => {
      const lines = await page.locator('.cm-sticky-line').all()
      const [box, ...above] = await Promise.all([line, ...lines].map(it => it.boundingBox()))
      return above.some(it => it && box && it.y + it.height > box.y + 1)
    }
    await page.keyboard.press('Control+f')
    await page.keyboard.type('target')
    await editor().click()
    const match = page.locator('.cm-line', { has: page.locator('.cm-searchMatch-selected') })
    for (let at = 0; at < 4; at++) {
      await page.keyboard.press('Control+End')
      for (let back = 0; back <= at; back++) await page.keyboard.press('Shift+F3')
      await match.waitFor()
      await drawn()
      expect(await isCovered(match)).toBe(false)
    }
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+End')
    for (let pages = 0; pages < 7; pages++) {
      await page.keyboard.press('PageUp')
      await drawn()
      expect(await isCovered(page.locator('.cm-activeLine'))).toBe(false)
    }
  })

  test('of a type in C stays in view by its first line, though its name is in the last one', async () => {
    const pool = `typedef struct Pool {\n${'  int used;\n'.repeat(100)}} Pool;\n\nint after(void) { return 1; }\n`
    await desk.commit('main', { 'pool.c': pool }, { message: 'Add a pool' })
    await page.getByRole('treeitem', { name: 'pool.c' }).waitFor()
    await page.keyboard.press('Control+p')
    await palette().fill('pool.c:80')
    await page.getByRole('option', { name: /pool\.c/ }).waitFor()
    await page.keyboard.press('Enter')
    await showsFile('pool.c')
    const sticky = page.locator('.cm-sticky-line')
    await sticky.first().waitFor()
    expect((await sticky.allInnerTexts()).map(text => text.replace(/\s+/g, ' ').trim())).toEqual([
      '1 typedef struct Pool {',
    ])
  })

  test('of a C++ class is found behind macros, before its constructors, and is in the path above the editor', async () => {
    const header =
      'namespace detail {\nauto is_low(int at) -> bool { return true; }\n}\n\nSEA_BEGIN_EXPORT\n\n// A view.\n' +
      'template <typename Char> class tide_view {\n  const Char* data_;\n\n public:\n  tide_view() : data_() {}\n' +
      '#if SEA_GCC\n  SEA_INLINE\n#endif\n  SEA_CONSTEXPR tide_view(const Char* s) : data_(s) {\n' +
      '#if SEA_HAS(strlen)\n    if (!detail::is_low(1)) {\n      return;\n    }\n#endif\n  }\n};\nSEA_END_EXPORT\n'
    await desk.commit('main', { 'tide.h': header, 'use.cc': 'tide_view<char> view;\n' }, { message: 'Add a view' })
    await page.getByRole('treeitem', { name: 'use.cc' }).waitFor()
    await page.keyboard.press('Control+p')
    await palette().fill('use.cc:1:3')
    await page.getByRole('option', { name: /use\.cc/ }).waitFor()
    await page.keyboard.press('Enter')
    await showsFile('use.cc')
    await page.locator('.cm-content:focus').getByText('view;').waitFor()
    await page.keyboard.press('F12')
    await page.getByRole('option').nth(2).waitFor()
    expect(await page.getByRole('option').first().textContent()).toContain('class tide_view')
    await page.keyboard.press('Enter')
    await showsFile('tide.h')
    await page.locator('.cm-activeLine').getByText('class tide_view').waitFor()
    await page.getByRole('button', { name: 'In tide_view: go to another symbol' }).waitFor()
  })

  test('is found in a commit as it was there', async () => {
    const commit = await desk.tip('main')
    const at = { kind: 'commit', commit } as const
    const ask = { ask: 'named places', at, path: 'a-use.ts', name: 'backoff' } as const
    const found = await desk.ask<Answer<'named places'>>(ask)
    expect(found.definitions).toEqual([
      {
        path: 'backoff.ts',
        line: 2,
        ranges: [[16, 23]],
        text: expect.stringContaining('backoff(tries: number): number'),
        kind: 'function',
      },
    ])
  })
})
