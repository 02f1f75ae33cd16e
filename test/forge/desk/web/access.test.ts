/**
 * Accessibility of each part of the page: no serious findings of axe-core, in light and dark, nor in what is spoken.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Failure } from '../../../../core/failure.ts'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { ScriptedModel } from '../../../support/scripted-model.ts'
import { COLOURS, findings } from './axe.ts'
import { ask, HALF_A_TURN, HOSTILE_ANSWER, openConversation, RICH_ANSWER } from './conversation-scene.ts'
import { type DeskPage, openPage, openScene, settled } from './page-scene.ts'
import { spokenFindings } from './spoken-tree.ts'

/** Functions that bring the conversation into each state to be tested, by the name of the state. */
const CHAT_STEPS: Record<string, (page: DeskPage, model: ScriptedModel) => Promise<void>> = {
  'a conversation': async page => {
    await page.getByRole('log').waitFor()
    await page
      .getByRole('log')
      .getByRole('button', { name: /get_lines/ })
      .click()
  },
  'an answer with all of markdown': async (page, model) => {
    const text = `${RICH_ANSWER}\n\n${HOSTILE_ANSWER}`
    model.play([{ reasoning: 'I think', text, error: new Failure('It failed.') }])
    await ask(page, 'All of it')
    await page.getByText('It failed.').first().waitFor()
  },
  'a turn that runs': async (page, model) => {
    model.play(HALF_A_TURN)
    await ask(page, 'Half of it')
    await page.getByText('keeper.inDoubt').waitFor()
  },
  'beside the editor': async page => {
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    await page.keyboard.press('Alt+Shift+J')
    await page.getByRole('complementary', { name: 'AI chat' }).getByRole('log').waitFor()
  },
  'a turn that was stopped': async page => {
    await page.keyboard.press('Alt+j')
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByRole('button', { name: 'Keep' }).waitFor()
  },
  'the files in the context': async page => {
    await page.locator('.foot summary').click()
    await page.locator('.foot[open], .foot details[open]').waitFor()
  },
  'a tool that waits': async (page, model) => {
    await page.keyboard.press('Alt+Shift+Y')
    await page.getByRole('button', { name: 'Keep' }).waitFor({ state: 'detached' })
    model.play([{ calls: [{ name: 'store_stats', arguments: { store: 'postgres' } }] }])
    await ask(page, 'Count')
    await page.getByRole('button', { name: 'Save and send' }).click()
    await page.getByRole('button', { name: 'Review the tool' }).waitFor()
  },
  'a tool that is looked at': async page => {
    await page.keyboard.press('Alt+y')
    await page.locator('.dl.a').first().waitFor()
  },
}

const STEPS: Record<string, (page: DeskPage, desk: PageDesk) => Promise<void>> = {
  chat: async () => {},
  editor: async page => {
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('typed\r')
    await page.keyboard.press('Control+f')
    await page.locator('.find-panel').waitFor()
  },
  review: async page => {
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'Unsaved changes' }).click()
    await page.locator('.dl.a').first().waitFor()
  },
  'side by side': async page => {
    await page.keyboard.press('Control+Alt+d')
    await page.locator('.pair').first().waitFor()
  },
  'by commit': async page => {
    await page.getByRole('tab', { name: 'By commit' }).click()
    await page.getByRole('heading', { name: /^1 commit/ }).waitFor()
  },
  'the menu of a row': async page => {
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('Alt+1')
    await page.getByRole('tab', { name: 'README.md' }).click()
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menuitem', { name: 'Copy path' }).waitFor()
  },
  'the menu of a tab': async page => {
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'More tab actions' }).click()
    await page.getByRole('menu', { name: 'main' }).waitFor()
  },
  symbols: async page => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+l')
    await page.getByRole('option', { name: 'Tern' }).waitFor()
  },
  confirmation: async page => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+Delete')
    await page.getByRole('dialog', { name: 'Delete README.md?' }).waitFor()
  },
  keys: async page => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+k')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  },
  history: async page => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+h')
    await page.getByRole('complementary', { name: 'Commit' }).waitFor()
  },
  find: async page => {
    await page.keyboard.press('Control+Shift+f')
    await page.keyboard.type('tern')
    await page.getByRole('option').first().waitFor()
  },
  palette: async page => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type('re')
    await page.getByRole('option', { name: 'README.md' }).first().waitFor()
  },
  dialog: async page => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+n')
    await page.getByRole('dialog', { name: 'New file' }).waitFor()
  },
  operations: async page => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+o')
    await page.getByRole('dialog', { name: 'Operations' }).waitFor()
  },
  'another file': async page => {
    await page.keyboard.press('Escape')
    await page.getByRole('treeitem', { name: 'FORK.md' }).click()
    await page.locator('.crumbs .here').getByText('FORK.md').waitFor()
  },
  'a commit': async (page, desk) => {
    await page.keyboard.press('Alt+c')
    await page.keyboard.type((await desk.tip('main')).slice(0, 8))
    await page.keyboard.press('Enter')
    await page.getByText('Files at').first().waitFor()
  },
  'a picture and bytes': async page => {
    await page.keyboard.press('Alt+1')
    await page.getByRole('treeitem', { name: 'data.bin' }).click()
    await page.getByText('A binary file.').waitFor()
    await page.getByRole('treeitem', { name: 'logo.png' }).click()
    await page.getByRole('img', { name: 'logo.png' }).waitFor()
  },
  notices: async (page, desk) => {
    desk.proxy.say({ say: 'notice', words: 'Something was not so good.', isBad: true })
    await desk.git('update-ref', '-d', 'refs/heads/main')
    await page.getByRole('button', { name: 'Restore branch' }).waitFor()
  },
  repository: async page => {
    await page.keyboard.press('Alt+0')
    await page.getByRole('listbox', { name: 'Commits' }).waitFor()
  },
}

/** The keys of dialogs that open over a file with a draft. */
const DIALOGS = [
  ...[
    'Control+k',
    'Control+p',
    'Alt+k',
    'Alt+o',
    'Alt+n',
    'Alt+Shift+n',
    'Alt+b',
    'Alt+c',
    'Alt+l',
    'Alt+s',
    'Control+,',
  ],
  ...['F2', 'Control+F2', 'Alt+Delete', 'Alt+Shift+d', 'Alt+Shift+b', 'Alt+Shift+t', 'Alt+Shift+5', 'Alt+Shift+6'],
  ...['Control+Alt+s', 'Control+Alt+n', 'Shift+F2', 'Alt+Shift+Delete', 'Alt+Shift+l'],
]

/** Goes to a step through all earlier ones that have not run yet, so that each test can run alone. */
function walk<Args extends unknown[]>(steps: Record<string, (...args: Args) => Promise<void>>) {
  const left = Object.entries(steps)
  return async (name: string, ...args: Args) => {
    while (left.some(([step]) => step === name)) await left.shift()?.[1](...args)
  }
}

describe.skipIf(!hasBrowser)('for assistive technology', () => {
  let browser: OpenBrowser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  describe('nothing serious is found in', () => {
    let desk: PageDesk
    let page: DeskPage
    beforeAll(async () => {
      desk = await openScene()
      page = await openPage(browser.context, desk)
    })
    afterAll(async () => {
      await page.close()
      await desk[Symbol.asyncDispose]()
    })
    const goTo = walk(STEPS)
    for (const name of Object.keys(STEPS)) {
      test(name, async () => {
        await goTo(name, page, desk)
        expect(await findingsInBoth(page)).toEqual([])
      })
    }
  })

  test('a dialog that is left gives the focus back', async () => {
    const desk = await openScene()
    const page = await openPage(browser.context, desk)
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('typed')
    const focused = () => page.evaluate(() => document.activeElement?.ariaLabel)
    const dialog = page.locator('dialog[open]')
    const wrong: string[] = []
    for (const keys of DIALOGS) {
      await page.keyboard.press(keys)
      await dialog.waitFor()
      await settled(page)
      wrong.push(...(await spokenFindings(page)).map(words => `${keys}: ${words}`))
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await settled(page)
      if ((await focused()) !== 'Editor') wrong.push(`${keys}: the focus is at ${await focused()}`)
    }
    expect(wrong).toEqual([])
    await page.close({ runBeforeUnload: false })
    await desk[Symbol.asyncDispose]()
  })

  describe('nothing serious is found in the chat, in', () => {
    const model = new ScriptedModel([])
    let desk: PageDesk
    let page: DeskPage
    beforeAll(async () => {
      desk = await openConversation({ model })
      page = await openPage(browser.context, desk)
    })
    afterAll(async () => {
      await page.close()
      await desk[Symbol.asyncDispose]()
    })
    const goTo = walk(CHAT_STEPS)
    for (const name of Object.keys(CHAT_STEPS)) {
      test(name, async () => {
        await goTo(name, page, model)
        expect(await findingsInBoth(page)).toEqual([])
      })
    }
  })
})

/** The findings of axe-core in the light theme, and those about colours in the dark one, where all else is the same. */
async function findingsInBoth(page: DeskPage): Promise<string[]> {
  await settled(page)
  const light = await findings(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await settled(page)
  const dark = await findings(page, COLOURS)
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark.map(words => `In the dark: ${words}`)]
}
