/** The page without a mouse: keys for all commands, focus, and menus. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hasBrowser, type OpenBrowser } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import {
  type DeskPage,
  openPage,
  openScene,
  settled,
  showBranch,
  templateOf,
  until,
  withEachPage,
} from './page-scene.ts'
import { openTasksScene } from './tasks-scene.ts'

// A busy machine renders slowly: a failed wait should be reported before the test's time is over.
setDefaultTimeout(120_000)

/**
 * Keys that browsers reserve, or that users know from browsers: no command may use one. F12 is none of them: a page may
 * take it, as editors in browsers do, and the browser's tools have Ctrl+Shift+I, too.
 */
const BROWSERS = [
  ...['Ctrl N', 'Ctrl T', 'Ctrl W', 'Ctrl Shift N', 'Ctrl Shift T', 'Ctrl Shift W', 'Ctrl Tab', 'Ctrl Shift Tab'],
  ...['Ctrl R', 'Ctrl Shift R', 'Ctrl L', 'Ctrl D', 'Ctrl H', 'Ctrl J', 'Ctrl Q', 'Ctrl Shift I', 'Ctrl Shift J'],
  ...['Ctrl Shift B', 'Ctrl Shift O', 'Ctrl Shift Del', 'Ctrl PgDn', 'Ctrl PgUp', 'Ctrl 0', 'Ctrl +', 'Ctrl -'],
  ...['Alt F4', 'Alt ArrowLeft', 'Alt ArrowRight', 'Alt Home', 'Alt D', 'Alt F', 'Alt E', 'Alt Tab', 'Alt Enter'],
  ...['F1', 'F3', 'F5', 'F6', 'F7', 'F10', 'F11', 'Shift F10'],
]

describe.skipIf(!hasBrowser)('by keyboard', () => {
  let desk: PageDesk
  let page: DeskPage
  let browser: OpenBrowser
  withEachPage(each => {
    ;({ desk, page, browser } = each)
  })

  const menu = (name: string) => page.getByRole('menu', { name })
  const tree = () => page.getByRole('tree', { name: 'Explorer' })
  const openByName = async (name: string) => {
    await page.keyboard.press('Control+p')
    await page.keyboard.type(name)
    await page.keyboard.press('Enter')
    await until(async () => (await page.getByRole('dialog').count()) === 0)
    await page.locator('.crumbs .here').getByText(name).waitFor()
    await page.locator('.cm-content:focus').waitFor()
  }
  /** The focused element in a few words; 'BODY' if there is none. */
  const focused = () =>
    page.evaluate(() => {
      const { activeElement: element } = document
      const what = element?.getAttribute('aria-label') ?? element?.textContent?.trim().slice(0, 30) ?? ''
      return element === null || element === document.body ? 'BODY' : `${element.tagName} ${what}`
    })
  /** All commands that are possible now: names and keys. */
  const commands = async () => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('>')
    await until(async () => (await page.getByRole('group').count()) === 1)
    const all = await page
      .getByRole('dialog')
      .getByRole('option')
      .evaluateAll(options =>
        options.map(option => [
          option.querySelector('.cut')?.textContent ?? '',
          option.querySelector('kbd')?.textContent,
        ]),
      )
    await page.keyboard.press('Escape')
    await until(async () => (await page.getByRole('dialog').count()) === 0)
    return all as [string, string | undefined][]
  }

  const expectOwnKeys = async () => {
    const all = await commands()
    const keys = all.map(([, keys]) => keys)
    expect(all.filter(([, keys]) => keys === undefined)).toEqual([])
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
    expect(keys.filter(key => BROWSERS.includes(key ?? ''))).toEqual([])
  }
  /** Makes something to undo (a saved file) and to redo (a new file, whose creation is undone). Leaves no drafts. */
  const canUndoAndRedo = async () => {
    await desk.ask({ ask: 'new file', branch: 'main', path: 'a' })
    await desk.ask({ ask: 'save', branch: 'main', paths: 'all' })
    await desk.ask({ ask: 'new file', branch: 'main', path: 'b' })
    await desk.ask({ ask: 'undo', branch: 'main' })
  }

  const STATES: Record<string, () => Promise<unknown>> = {
    'the repository': async () => {
      await page.keyboard.press('Alt+0')
      await page.getByRole('listbox', { name: 'Commits' }).getByRole('option', { selected: true }).waitFor()
    },
    'the chat': async () => {},
    'two drafts': async () => {
      await openByName('FORK')
      await page.keyboard.type('1')
      await openByName('README')
      await page.keyboard.type('2')
      await desk.isText('main', 'README.md', text => text.startsWith('2'))
    },
    'a review': () => page.keyboard.press('Alt+r'),
    'a search': () => page.keyboard.press('Control+Shift+f'),
    'a conflict': async () => {
      await openByName('README')
      await page.keyboard.type('mine ')
      await desk.isText('main', 'README.md', text => text.startsWith('mine'))
      await desk.commit('main', { 'README.md': 'Theirs\n' })
      await page.getByText('main moved outside the desk').waitFor()
    },
    'a deleted branch': async () => {
      await desk.git('branch', '-D', 'main')
      await page.getByText('main was deleted').waitFor()
    },
    'a history': () => page.keyboard.press('Alt+h'),
    'a commit': async () => {
      await page.keyboard.press('Alt+c')
      await page.keyboard.type((await desk.tip('main')).slice(0, 8))
      await page.keyboard.press('Enter')
      await page.getByText('Files at').first().waitFor()
    },
  }

  for (const [name, prepare] of Object.entries(STATES)) {
    test(`every command has keys of its own, and none of the browser: ${name}`, async () => {
      await canUndoAndRedo()
      await prepare()
      await expectOwnKeys()
    })
  }

  test('a repository without commits has the focus on the button that begins it, in both of its views', async () => {
    await using empty = await openScene({ template: templateOf(async () => undefined), layout: 'none' })
    const own = page
    page = await openPage(browser.context, empty)
    const focused = page.locator(':focus')
    await page.getByRole('button', { name: 'New file…' }).and(focused).waitFor()
    await page.keyboard.press('Alt+0')
    await page.getByRole('button', { name: 'New branch', exact: true }).and(focused).waitFor()
    expect(page.troubles).toEqual([])
    await page.close({ runBeforeUnload: false })
    page = own
  })

  test('every command has keys of its own, and none of the browser: the tasks, and one that has passed', async () => {
    await using scene = (await openTasksScene()).desk
    const own = page
    page = await openPage(browser.context, scene)
    await page.keyboard.press('Alt+t')
    await page.getByRole('form', { name: 'Answer' }).waitFor()
    await expectOwnKeys()
    await page.getByRole('button', { name: /^Types: Job.key/ }).click()
    await page.getByRole('button', { name: /^Land/ }).nth(1).waitFor()
    await expectOwnKeys()
    await page.close()
    page = own
  })

  const SHARES = 6
  for (let share = 0; share < SHARES; share++) {
    test(`every command leaves the focus somewhere: share ${share + 1} of ${SHARES}`, async () => {
      await canUndoAndRedo()
      const lost: string[] = []
      const editor = page.locator('main', { has: page.locator('.crumbs .here').getByText('lease.ts') })
      const begin = async () => {
        if ((await editor.locator('.cm-content:focus').count()) > 0) return
        await page.keyboard.press('Alt+1')
        await openByName('lease.ts')
      }
      await begin()
      const all = (await commands()).map(([words]) => words)
      expect(all.length).toBeGreaterThan(25)
      for (const words of all.filter((_, at) => at % SHARES === share)) {
        await page.keyboard.press('Control+k')
        await page.keyboard.type(`>${words}`)
        await page.getByRole('option', { name: words }).first().waitFor()
        await page.keyboard.press('Enter')
        await settled(page)
        if ((await focused()) === 'BODY') lost.push(words)
        // Closes what the command opened.
        await page.keyboard.press('Escape')
        await settled(page)
        if ((await focused()) === 'BODY') lost.push(`${words}, and Escape`)
        if (words.startsWith('Close this branch tab')) await showBranch(page, 'main')
        await begin()
      }
      expect(lost).toEqual([])
    })
  }

  test('the palette that is open for one thing opens for another, and keeps the focus', async () => {
    await openByName('README')
    await page.keyboard.press('Control+p')
    await page.keyboard.type('lease')
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('jitter')
    await page.getByRole('option', { name: 'retry-jitter' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'retry-jitter', selected: true }).waitFor()
    expect(await desk.textOf('main', 'README.md')).toBe('# Tern\n\nA queue.\n')
  })

  test('what a key opens takes the place of the palette', async () => {
    await openByName('README')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
    await page.keyboard.press('Alt+n')
    await page.getByRole('dialog', { name: 'New file' }).waitFor()
    expect(await page.getByRole('dialog', { name: 'Command palette' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await until(async () => (await page.getByRole('dialog').count()) === 0)
    await page.locator('.cm-content:focus').waitFor()
  })

  test('Back and Forward lead through what was shown, and do not leave the desk', async () => {
    const shown = (name: string) => page.getByRole('tab', { name, selected: true }).first().waitFor()
    await openByName('README')
    await openByName('FORK')
    await page.keyboard.press('Alt+b')
    await page.keyboard.type('jitter')
    await page.getByRole('option', { name: 'retry-jitter' }).waitFor()
    await page.keyboard.press('Enter')
    await shown('retry-jitter')
    await page.keyboard.press('Alt+0')
    await shown('Repository')
    await page.goBack()
    await shown('retry-jitter')
    await page.goBack()
    await shown('FORK.md')
    await page.locator('.cm-content:focus').waitFor()
    await page.goBack()
    await shown('README.md')
    await page.goForward()
    await shown('FORK.md')
    // The closed tab is back, and the typed text went nowhere.
    await page.keyboard.type('typed ')
    await page.keyboard.press('Alt+w')
    await shown('README.md')
    await page.goBack()
    await shown('FORK.md')
    await page.locator('.cm-content').getByText('typed').waitFor()
    await page.goForward()
    await shown('README.md')
  })

  test('Back and Forward lead through the jumps within a file, and to where a file was left', async () => {
    const lines = Array.from({ length: 200 }, (_, at) => `line ${at + 1}\n`).join('')
    await desk.commit('main', { 'long.txt': lines })
    await page.getByRole('treeitem', { name: 'long.txt' }).waitFor()
    await openByName('long')
    await page.locator('.cm-content:focus').waitFor()
    const isAt = (place: string) => page.getByText(place, { exact: true }).waitFor()
    const goToLine = async (line: number) => {
      await page.keyboard.press('Control+g')
      await page.keyboard.type(String(line))
      await page.getByRole('option', { name: `Go to line ${line}` }).waitFor()
      await page.keyboard.press('Enter')
      await isAt(`${line}:1`)
    }
    await goToLine(30)
    await page.keyboard.press('ArrowDown')
    await goToLine(150)
    await page.keyboard.press('ArrowDown')
    await openByName('README')
    await page.getByRole('tab', { name: 'README.md', selected: true }).waitFor()
    await page.goBack()
    await isAt('151:1')
    await page.goBack()
    await isAt('31:1')
    await page.goBack()
    await isAt('1:1')
    await page.goForward()
    await page.goForward()
    await isAt('151:1')
  })

  test('the browser has its keys for Back and Forward, in a file too', async () => {
    await openByName('README')
    await page.locator('.cm-content:focus').waitFor()
    await page.evaluate(() => {
      window.addEventListener('keydown', ({ key, defaultPrevented }) => {
        if (key.startsWith('Arrow')) document.body.dataset.taken = `${key} ${defaultPrevented}`
      })
    })
    for (const key of ['ArrowLeft', 'ArrowRight']) {
      await page.keyboard.press(`Alt+${key}`)
      await page.locator(`body[data-taken="${key} false"]`).waitFor()
    }
  })

  test('a notice that is put away, or solved, leaves the focus to what is shown', async () => {
    await openByName('README')
    desk.proxy.say({ say: 'notice', words: 'Something to know.', isBad: false })
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.locator('.cm-content:focus').waitFor()
    await desk.git('branch', '-D', 'main')
    await page.getByRole('button', { name: 'Restore branch' }).click()
    await until(async () => (await page.locator('.notice').count()) === 0)
    await page.locator('.cm-content:focus').waitFor()
  })

  test('a field that is clicked before a view has taken the focus keeps it, also when news come', async () => {
    await openByName('README')
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.type('typed ')
    await desk.isText('main', 'README.md', text => text.includes('typed '))
    // On a busy machine a frame is long in coming.
    await page.evaluate(() => {
      const frames: FrameRequestCallback[] = []
      const { requestAnimationFrame } = window
      window.requestAnimationFrame = callback => frames.push(callback)
      Object.assign(window, {
        countFrames: () => frames.length,
        release: () => {
          window.requestAnimationFrame = requestAnimationFrame
          for (const callback of frames) callback(0)
        },
      })
    })
    const frames = () => page.evaluate<number>('countFrames()')
    const before = await frames()
    await page.keyboard.press('Alt+h')
    await until(async () => (await frames()) > before)
    await page.getByRole('textbox', { name: 'Commit message' }).click()
    const clicked = await frames()
    desk.proxy.say({ say: 'notice', words: 'Something to know.', isBad: false })
    await page.getByRole('paragraph').getByText('Something to know.').waitFor()
    await until(async () => (await frames()) > clicked)
    await page.evaluate('release()')
    await settled(page)
    expect(await focused()).toBe('TEXTAREA Commit message')
  })

  test('a click on a tab goes on in what it shows', async () => {
    await openByName('README')
    await openByName('FORK')
    await page.getByRole('tab', { name: 'README.md' }).click()
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.press('Alt+0')
    await page.getByRole('tab', { name: 'main' }).click()
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.type('typed ')
    await desk.isText('main', 'README.md', text => text.includes('typed '))
  })

  test('what is opened at once after something was left stays open', async () => {
    await openByName('README')
    const opened: [string, string][] = [
      ['Alt+k', 'Keyboard shortcuts'],
      ['Alt+o', 'Operations'],
      ['Alt+n', 'New file'],
      ['Control+k', 'Command palette'],
      ['Control+p', 'Command palette'],
      ['Alt+k', 'Keyboard shortcuts'],
    ]
    for (const [keys, name] of opened) {
      await page.keyboard.press(keys)
      await page.getByRole('dialog', { name }).waitFor()
      await settled(page)
      expect(await page.getByRole('dialog', { name }).count()).toBe(1)
      await page.keyboard.press('Escape')
    }
    // The button that names the key does not keep it from the page.
    await page.locator('header button.find').focus()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
  })

  test('the explorer has the focus by its key, also from a review and where the side bar is hidden', async () => {
    await page.keyboard.press('Alt+r')
    await page.getByRole('tree', { name: 'Explorer' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Shift+e')
    await page.locator('[role="tree"][aria-label="Explorer"]:focus').waitFor()
    await page.keyboard.press('Control+b')
    await page.getByRole('tree', { name: 'Explorer' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+f')
    await page.locator('[aria-label="Filter files"]:focus').waitFor()
  })

  test('the explorer has the focus by the key of VS Code, too', async () => {
    await openByName('README')
    await page.keyboard.press('Control+Shift+E')
    await until(async () => (await focused()).endsWith(' Explorer'))
  })

  test('what is opened by a key has the focus', async () => {
    await openByName('README')
    const opened: [string, string][] = [
      ['Alt+h', 'DIV History'],
      ['Alt+r', 'SECTION Diff'],
      ['Alt+j', 'TEXTAREA Message'],
      ['Alt+PageDown', 'DIV Editor'],
      ['Alt+Shift+h', 'DIV History of README.md'],
      ['Alt+x', 'DIV Explorer'],
    ]
    for (const [keys, name] of opened) {
      await page.keyboard.press(keys)
      await until(async () => (await focused()) === name)
    }
  })

  test('the editor has the focus by its key, also from the chat and a review, in the file that was shown last', async () => {
    const isPossible = async () => (await commands()).some(([label]) => label === 'Go to the editor')
    expect(await isPossible()).toBe(false)
    await openByName('README')
    await openByName('FORK')
    await page.getByRole('tab', { name: 'README.md' }).click()
    for (const [keys, name] of [
      ['Alt+j', 'TEXTAREA Message'],
      ['Alt+r', 'SECTION Diff'],
      ['Alt+x', 'DIV Explorer'],
    ] as const) {
      await page.keyboard.press(keys)
      await until(async () => (await focused()) === name)
      await page.keyboard.press('Alt+i')
      await until(async () => (await focused()) === 'DIV Editor')
      await page.getByRole('tab', { name: 'README.md', selected: true }).waitFor()
    }
  })

  test('a new file has the focus as soon as it is made', async () => {
    await tree().getByRole('treeitem', { name: 'src' }).waitFor()
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('Alt+n')
    await page.getByRole('dialog').getByRole('textbox').fill('new.md')
    await page.keyboard.press('Enter')
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.type('at once')
    await desk.isText('main', 'new.md', 'at once')
  })

  test('a row of the explorer has a menu, by its own key and back to where it was', async () => {
    await tree().getByRole('treeitem', { name: 'README.md' }).waitFor()
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('r')
    await page.keyboard.press('Shift+F10')
    await menu('README.md').waitFor()
    expect(await page.getByRole('menuitem').locator('.grow').allTextContents()).toEqual([
      ...[
        'Open',
        'New file here…',
        'New folder here…',
        'Upload files here…',
        'Cut',
        'Copy',
        'Duplicate…',
        'Rename…',
        'Move to…',
        'Make executable',
        'Delete…',
        'History',
      ],
      ...['Download', 'Copy path'],
    ])
    await page.keyboard.press('ArrowUp')
    expect(await focused()).toContain('Copy path')
    await page.keyboard.press('Home')
    await page.keyboard.press('r')
    expect(await focused()).toContain('Rename…')
    await page.keyboard.press('Escape')
    await until(async () => (await page.getByRole('menu').count()) === 0)
    expect(await focused()).toBe('DIV Explorer')
    await page.keyboard.press('ContextMenu')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'README.md')
    expect(await focused()).toBe('DIV Explorer')
  })

  test('a menu opens by the right button and by its dots, and is gone with a click elsewhere', async () => {
    const row = tree().getByRole('treeitem', { name: 'docs' })
    await row.click({ button: 'right' })
    await menu('docs').getByRole('menuitem', { name: 'New file here…' }).click()
    const dialog = page.getByRole('dialog', { name: 'New file' })
    expect(await dialog.getByRole('textbox').inputValue()).toBe('docs/')
    await page.keyboard.press('Escape')
    await row.locator('.more').click()
    await menu('docs').getByRole('menuitem', { name: 'Open' }).click()
    await tree().getByRole('treeitem', { name: 'design.md' }).waitFor()
    await row.click({ button: 'right' })
    await page.mouse.click(640, 400)
    await until(async () => (await page.getByRole('menu').count()) === 0)
  })

  test('branch tabs and file tabs have menus', async () => {
    await openByName('README')
    await openByName('FORK')
    await openByName('lease.ts')
    const files = page.getByRole('tablist', { name: 'Files' })
    await files.getByRole('tab', { name: 'FORK.md' }).click({ button: 'right' })
    await menu('FORK.md').getByRole('menuitem', { name: 'Close others' }).click()
    await until(async () => (await files.getByRole('tab').count()) === 2)
    const branch = page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: 'main' })
    await branch.focus()
    await page.keyboard.press('Shift+F10')
    await menu('main').getByRole('menuitem', { name: 'Copy name' }).click()
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'main')
    await page.keyboard.press('ContextMenu')
    await menu('main').getByRole('menuitem', { name: 'Rename…' }).click()
    await page.getByRole('dialog', { name: 'Rename main' }).getByRole('textbox').fill('trunk')
    await page.keyboard.press('Enter')
    await until(() => desk.has('trunk'))
    await until(async () => (await focused()) !== 'BODY')
  })

  test('a commit’s rows can be looked at, not changed', async () => {
    await page.keyboard.press('Alt+h')
    await page.getByRole('option').first().dblclick()
    await page.getByText('Files at').first().waitFor()
    await tree().getByRole('treeitem', { name: 'README.md' }).click({ button: 'right' })
    expect(await page.getByRole('menuitem').locator('.grow').allTextContents()).toEqual([
      'Open',
      'Copy',
      'History',
      'Download',
      'Copy path',
    ])
  })

  test('the crumbs say what the cursor is in, and the palette goes to a symbol', async () => {
    await openByName('lease.ts')
    await page.keyboard.press('Alt+l')
    await page.getByRole('option', { name: 'LeaseKeeper' }).waitFor()
    await page.keyboard.type('keep')
    await page.getByRole('option', { name: 'keep method', exact: true }).click()
    await page.getByRole('button', { name: 'In LeaseKeeper, keep: go to another symbol' }).waitFor()
    await page.locator('.cm-content:focus').waitFor()
    await page.keyboard.press('Control+Home')
    await until(async () => (await page.locator('.crumb-symbols').count()) === 0)
  })
})
