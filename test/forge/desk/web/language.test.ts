/** A file with a language server, in a real browser: a double answers in place of the container. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser } from '../../../support/browser.ts'
import { type Behaviour, doubleLauncher } from '../../../support/language.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type DeskPage, settled, templateWith, until, withEachPage } from './page-scene.ts'

// A busy machine renders slowly.
setDefaultTimeout(120_000)

const template = templateWith({
  main: { 'a.py': 'def one():\n    wrong\n', 'b.py': 'one\none one\n', 'notes.md': 'None.\n' },
})

describe.skipIf(!hasBrowser)('a file with a language server', () => {
  const languageServers = doubleLauncher()
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template, languageServers },
  )

  const editor = () => page.getByRole('textbox', { name: 'Editor' })
  const problems = () => page.locator('.cm-lintRange-error')
  const open = async (name = 'a.py') => {
    await page.getByRole('treeitem', { name }).click()
    await page.getByRole('tab', { name, selected: true }).waitFor()
    await editor().click()
  }
  const turnOn = async (behaviour: Behaviour = 'good') => {
    languageServers.behaviour = behaviour
    await open()
    await page.getByRole('button', { name: 'Turn on language servers' }).click()
    await problems().first().waitFor()
    await editor().click()
    await page.keyboard.press('Control+Home')
  }

  test('shows problems after it was switched on, and follows what is typed', async () => {
    await turnOn()
    await page.getByRole('button', { name: '1 error' }).waitFor()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('wrong again')
    await page.getByRole('button', { name: '2 errors' }).waitFor()
    await page.keyboard.press('Control+Home')
    await problems().nth(1).waitFor()
    await page.keyboard.press('F8')
    await page.locator('.cm-diagnostic', { hasText: 'This is wrong.' }).first().waitFor()
    await page.keyboard.press('Control+Alt+p')
    await page.getByRole('group', { name: '2 problems' }).waitFor()
  })

  test('lists several problems of a line with their severities, one of them selected', async () => {
    await turnOn()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('doubtful wrong wrong')
    await page.getByRole('button', { name: '3 errors' }).waitFor()
    await page.keyboard.press('Control+Alt+p')
    const options = page.getByRole('group', { name: '4 problems' }).getByRole('option')
    const selected = page.getByRole('option', { selected: true })
    await until(async () => (await options.count()) === 4)
    const ids = await options.evaluateAll(all => all.map(({ id }) => id))
    expect(new Set(ids).size).toBe(4)
    for (const id of ids) {
      expect(await selected.evaluateAll(all => all.map(it => it.id))).toEqual([id])
      expect(await page.getByRole('combobox').getAttribute('aria-activedescendant')).toBe(id)
      await page.keyboard.press('ArrowDown')
    }
    await page.getByRole('option', { name: 'This is wrong. error · a.py:3' }).first().waitFor()
    await page.getByRole('option', { name: 'This is doubtful. warning · a.py:3' }).waitFor()
    expect(await page.locator('.opt .i.is-bad').count()).toBe(3)
    expect(await page.locator('.opt .i.is-warn').count()).toBe(1)
  })

  test('shows the problem that F8 went to until one goes on, while the server tells the same again', async () => {
    await turnOn('repeating')
    await page.keyboard.press('F8')
    const tip = page.locator('.cm-diagnostic', { hasText: 'This is wrong.' })
    await tip.waitFor()
    // As often as the desk tells the same problems until the tip would be closed.
    await using window = await desk.desk.window()
    await window.heard('problems')
    window.news.splice(0)
    await until(() => window.news.filter(({ say }) => say === 'problems').length >= 3)
    await settled(page)
    expect(await tip.count()).toBe(1)
    await page.keyboard.press('Control+Home')
    await tip.waitFor({ state: 'detached' })
  })

  test('shows the problems of two files side by side, each as it is typed in', async () => {
    await turnOn()
    await page.keyboard.press('Control+\\')
    await page.getByRole('region', { name: 'Right half' }).locator('.cm-focused').waitFor()
    await page.getByRole('treeitem', { name: 'b.py' }).click()
    const half = (name: string) => page.getByRole('region', { name })
    await half('Right half').locator('.cm-line', { hasText: 'one one' }).waitFor()
    await half('Left half').getByRole('button', { name: '1 error' }).waitFor()
    await half('Right half').getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('wrong wrong')
    await half('Right half').getByRole('button', { name: '2 errors' }).waitFor()
    await half('Right half').locator('.cm-lintRange-error').nth(1).waitFor()
    await half('Left half').getByRole('button', { name: '1 error' }).waitFor()
    expect(await half('Left half').locator('.cm-lintRange-error').count()).toBe(1)
    expect(languageServers.running).toBe(1)
  })

  test('offers completions while one types, with what goes with them', async () => {
    await turnOn()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('wi')
    await page.getByRole('option', { name: /^window/ }).waitFor()
    await page.locator('.cm-completionInfo', { hasText: 'Opens a window.' }).waitFor()
    // An Enter within 75 ms of the list is a new line: it was typed before the list could be seen. No event says its
    // end.
    await Bun.sleep(100)
    await page.keyboard.press('Enter')
    await desk.isText('main', 'a.py', text => text.includes('import'))
    expect(await desk.textOf('main', 'a.py')).toBe('import window\ndef one():\n    wrong\nwindow')
  })

  test('renames a symbol in all files, which Undo takes back at once', async () => {
    await turnOn()
    for (let at = 0; at < 5; at++) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('F2')
    await page.getByRole('textbox', { name: 'New name' }).fill('two')
    await page.keyboard.press('Enter')
    await page.getByText('Renamed one to two in 2 files').first().waitFor()
    await desk.isText('main', 'b.py', 'two\ntwo two\n')
    await page.keyboard.press('Control+Alt+z')
    await desk.isText('main', 'b.py', 'one\none one\n')
    await desk.isText('main', 'a.py', 'def one():\n    wrong\n')
  })

  test('makes a quick fix, which Ctrl+Z takes back', async () => {
    await turnOn()
    await page.keyboard.press('Control+.')
    await page.getByRole('menuitem', { name: 'Mend wrong' }).click()
    await desk.isText('main', 'a.py', 'def one():\n    right\n')
    await editor().click()
    await page.keyboard.press('Control+z')
    await desk.isText('main', 'a.py', 'def one():\n    wrong\n')
  })

  test('is formatted by the server, where FORGE.md lists no formatter', async () => {
    await open('notes.md')
    await page.keyboard.press('Alt+Shift+f')
    await page.getByText('No formatter is known').first().waitFor()
    await open()
    await page.keyboard.press('Alt+Shift+f')
    await page.getByText('turn on language servers').first().waitFor()
    await turnOn()
    await page.keyboard.press('Alt+Shift+f')
    await desk.isText('main', 'a.py', '  def one():\n    wrong\n')
    // What did not work before is settled.
    expect(await page.getByText('No formatter is known').count()).toBe(0)
    await page.keyboard.press('Control+z')
    await desk.isText('main', 'a.py', 'def one():\n    wrong\n')
  })

  test('shows what is known of a name, and problems and completions, as text: their HTML does nothing', async () => {
    await turnOn('html')
    for (let at = 0; at < 5; at++) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Control+Alt+h')
    const tip = page.locator('.cm-known')
    await tip.waitFor()
    expect(await tip.locator('strong').textContent()).toBe('one')
    expect(await tip.textContent()).toContain('<img src=x')
    expect(await tip.locator('img, script').count()).toBe(0)
    await page.keyboard.press('F8')
    const problem = page.locator('.cm-diagnostic')
    await problem.waitFor()
    expect(await problem.textContent()).toContain('<img src=x')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('wi')
    const details = page.locator('.cm-completionInfo', { hasText: 'Opens a window.' })
    await details.waitFor()
    expect(await details.textContent()).toContain('<img src=x')
    expect(await page.locator('.cm-tooltip').locator('img, script').count()).toBe(0)
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false)
  })

  test('says in one quiet line that docker is missing, and nothing else', async () => {
    languageServers.missing = 'docker, which is not installed: install Docker Engine or Docker Desktop.'
    await open()
    await page.getByRole('button', { name: 'Turn on language servers' }).click()
    await page.locator('.crumbs').getByText('Language servers need docker, which is not installed').waitFor()
    // What would come later: of another file, and while one types.
    await open('b.py')
    await page.locator('.crumbs').getByText('Language servers need docker').waitFor()
    await page.keyboard.type('wi')
    await desk.isText('main', 'b.py', text => text.includes('wi'))
    await settled(page)
    expect(await page.getByText('docker').count()).toBe(1)
    expect(await page.locator('.toast, .notice').count()).toBe(0)
    languageServers.missing = undefined
  })

  test('leads by F12 to the definition that the server knows', async () => {
    await turnOn()
    await open('b.py')
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('F12')
    await page.getByRole('tab', { name: 'a.py', selected: true }).waitFor()
    await until(async () => (await page.evaluate(() => getSelection()?.toString())) === 'one')
  })
})
