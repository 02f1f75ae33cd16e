#!/usr/bin/env bun
/** Screenshots of the page at several widths, in light and dark: bun screenshots.ts FOLDER [NAME…] */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { Failure } from '../../../../core/failure.ts'
import { asBytes } from '../../../../core/git/repository.ts'
import { openBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { type Script, ScriptedModel } from '../../../support/scripted-model.ts'
import {
  ask,
  FOREVER,
  HALF_A_TURN,
  HOSTILE_ANSWER,
  openConversation,
  QUESTION,
  RICH_ANSWER,
} from './conversation-scene.ts'
import { openFork, STUCK_BRANCH, STUCK_RUN } from './forklift-scene.ts'
import { BRANCH, CLAIM, LOGO, mergingTemplate, POSTGRES, settled } from './merge-scene.ts'
import { openPage, openScene, SCENE_FILES, templateOf } from './page-scene.ts'
import { APPROVING, DONE, openTasksScene } from './tasks-scene.ts'

const [folder = '/tmp/desk-pictures', ...wanted] = Bun.argv.slice(2)
/** The smallest is a window of 1280 by 800 pixels at a zoom of 200 %. */
const SIZES = [
  { width: 640, height: 400 },
  { width: 800, height: 800 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
]

const LONG = `src/${'a-folder-with-a-long-name/'.repeat(3)}${'name-'.repeat(30)}.ts`
const TURNED = asBytes('docs/evil\u202Etxt.exe')

interface Scene {
  /** Opens the desk for the picture; by default, that of most tests. */
  open?: () => Promise<PageDesk>
  act: (page: Page, desk: PageDesk) => Promise<unknown>
  /** Acts after each change of the window's size, which closes menus. */
  actAtSize?: (page: Page) => Promise<unknown>
}

async function openFile(page: Page, path: string): Promise<void> {
  const tree = page.getByRole('tree', { name: 'Explorer' })
  const parts = path.split('/')
  for (const [index, part] of parts.entries()) {
    const item = tree.getByRole('treeitem', { name: part, exact: true, level: index + 1 }).first()
    const isOpen = (await item.getAttribute('aria-expanded')) === 'true'
    if (!isOpen) await item.click()
  }
  await Bun.sleep(200)
}

const EDITED = SCENE_FILES['src/queue/lease.ts']
  .replace('const RENEW_AT = 0.6', 'const RENEW_AT = 0.75')
  .replace('\n/** Renewals in a row that may fail before the lease is given up. */\nconst MAX_MISSES = 3;\n', '')
  .replace(
    '    let misses = 0;\n',
    '    let misses = 0;\n    const started = this.#clock.now();\n    let last = started;\n',
  )

const JITTER = 'retry-jitter'
const JITTER_LAYOUT = {
  tabs: [
    tabOf('lease-renewal'),
    {
      ...tabOf(
        JITTER,
        ['src/queue/lease.ts', 'src/queue/backoff.ts', 'src/queue/claim.ts'],
        ['src', 'src/queue', 'src/store'],
      ),
      active: 'src/queue/lease.ts',
    },
    tabOf('http-metrics'),
  ],
  active: 1,
}

/** A branch with some commits, and a file of it open. */
async function openJitter(): Promise<PageDesk> {
  const prepare = async (path: string) => {
    for (const file of ['src/queue/backoff.ts', 'README.md', 'src/queue/types.ts'] as const) {
      const text = `${SCENE_FILES[file]}\n// edited\n`
      await commit(path, JITTER, { [file]: text }, { message: `edit: ${file.slice(file.lastIndexOf('/') + 1)}` })
    }
    const message = 'Bound renewals and give up a lost lease\n\nA lease that is lost is not renewed for ever.'
    await commit(path, JITTER, { 'src/queue/lease.ts': EDITED }, { message })
  }
  return await openScene({ layout: JITTER_LAYOUT, prepare })
}

/** A branch with turns, whose model follows the script. */
const talking =
  (script: Script = []) =>
  async (): Promise<PageDesk> => {
    const model = new ScriptedModel([])
    const desk = await openConversation({ model })
    model.play(script)
    return desk
  }

const merging =
  (template = mergingTemplate()) =>
  () =>
    openScene({ template, layout: { tabs: [tabOf(BRANCH)], active: 0 } })

async function type(page: Page): Promise<void> {
  await page.getByText('while (!signal').click()
  await page.keyboard.press('End')
  await page.keyboard.type('\nconst now = this.#clock.now();')
  await Bun.sleep(500)
}

const SCENES: Record<string, Scene> = {
  branch: { open: openJitter, act: type },
  chat: { act: async () => {} },
  conversation: { open: talking(), act: async () => {} },
  'turn-running': {
    open: talking(HALF_A_TURN),
    act: async page => {
      await ask(page, QUESTION)
      await Bun.sleep(1_500)
    },
  },
  'turn-docked': {
    open: talking(HALF_A_TURN),
    act: async page => {
      await ask(page, QUESTION)
      await openFile(page, 'src/queue/lease.ts')
      await page.keyboard.press('Alt+Shift+J')
      await Bun.sleep(500)
    },
  },
  'turn-stopped': {
    open: talking(HALF_A_TURN),
    act: async page => {
      await ask(page, QUESTION)
      await page.getByRole('button', { name: 'Stop', exact: true }).click()
      await page.getByRole('button', { name: 'Keep' }).waitFor()
    },
  },
  'turn-again': {
    open: talking([
      {
        reasoning: 'I am reading the worker',
        again: { words: 'The provider is overloaded', seconds: 12 },
        until: FOREVER,
      },
    ]),
    act: async page => {
      await ask(page, QUESTION)
      await Bun.sleep(1_200)
    },
  },
  'turn-approval': {
    open: talking([{ calls: [{ name: 'store_stats', arguments: { store: 'postgres' } }] }]),
    act: async page => {
      await ask(page, 'How many queries are there?')
      await page.getByRole('button', { name: 'Review the tool' }).waitFor()
    },
  },
  approval: {
    open: talking([{ calls: [{ name: 'store_stats', arguments: { store: 'postgres' } }] }]),
    act: async page => {
      await ask(page, 'How many queries are there?')
      await page.getByRole('button', { name: 'Review the tool' }).click()
      await page.getByRole('button', { name: 'Approve' }).waitFor()
      await Bun.sleep(400)
    },
  },
  'answer-rich': {
    open: talking([{ text: RICH_ANSWER }]),
    act: async page => {
      await ask(page, 'Say all of it')
      await Bun.sleep(800)
    },
  },
  'answer-hostile': {
    open: talking([
      {
        text: HOSTILE_ANSWER,
        error: new Failure('The key has no credit left at OpenRouter: top it up there, or choose another model.'),
      },
    ]),
    act: async page => {
      await ask(page, 'Be nasty')
      await Bun.sleep(800)
    },
  },
  'past-conversation': {
    open: talking(),
    act: async page => {
      await page.keyboard.press('Alt+h')
      await page.getByRole('option').first().dblclick()
      await Bun.sleep(500)
    },
  },
  repository: {
    open: openJitter,
    act: async page => {
      await page.getByRole('tab', { name: 'Repository' }).click()
    },
  },
  review: {
    open: openJitter,
    act: async page => {
      await type(page)
      await page.keyboard.press('Alt+r')
      await Bun.sleep(600)
    },
  },
  'side-by-side': {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Alt+r')
      await page.keyboard.press('Control+Alt+d')
      await Bun.sleep(600)
    },
  },
  palette: {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Alt+r')
      await Bun.sleep(400)
      await page.keyboard.press('Control+k')
      await page.keyboard.type('re')
      await Bun.sleep(400)
    },
  },
  history: {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Alt+h')
      await Bun.sleep(400)
    },
  },
  'time-travel': {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Alt+h')
      await page.getByRole('option').nth(1).dblclick()
      await Bun.sleep(300)
      await openFile(page, 'src/queue/lease.ts')
    },
  },
  find: {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Control+Shift+f')
      await page.keyboard.type('lease')
      await Bun.sleep(600)
    },
  },
  gone: {
    open: openJitter,
    act: async (page, desk) => {
      await type(page)
      await desk.git('branch', '-D', JITTER)
      await page.getByText(`${JITTER} was deleted`).waitFor()
    },
  },
  search: {
    open: openJitter,
    act: async page => {
      await page.getByText('while (!signal').click()
      for (let line = 0; line < 9; line++) await page.keyboard.press('Shift+ArrowUp')
      await page.keyboard.press('Control+f')
      await page.getByRole('button', { name: 'Find in selection' }).click()
      await page.getByRole('search').getByRole('textbox', { name: 'Find' }).fill('const')
      await Bun.sleep(300)
    },
  },
  dialog: {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Alt+n')
      await Bun.sleep(200)
    },
  },
  operations: {
    open: openJitter,
    act: async (page, desk) => {
      const from = await desk.tip(JITTER)
      for (const [branch, to] of [
        ['old', 'older'],
        ['jitter', 'full-jitter'],
      ] as const) {
        await desk.ask({ ask: 'new branch', branch, from })
        await desk.ask({ ask: 'rename branch', branch, to })
      }
      await desk.ask({ ask: 'delete branch', branch: 'older' })
      await page.keyboard.press('Alt+o')
      await Bun.sleep(300)
    },
  },
  menu: {
    open: openJitter,
    act: async page => {
      await page.getByRole('treeitem', { name: 'claim.ts' }).waitFor()
    },
    actAtSize: async page => {
      await page.getByRole('treeitem', { name: 'claim.ts' }).click({ button: 'right' })
      await Bun.sleep(200)
    },
  },
  symbols: {
    open: openJitter,
    act: async page => {
      await page.getByText('while (!signal').click()
      await page.keyboard.press('Alt+l')
      await Bun.sleep(300)
    },
  },
  merging: {
    open: async () => {
      const { desk } = await openFork({ branches: [STUCK_BRANCH] })
      await desk.ask({ ask: 'open run', run: STUCK_RUN })
      return desk
    },
    act: async page => {
      await page.keyboard.press('Alt+Shift+J')
      await page.getByRole('button', { name: /postgres\.ts/ }).click()
      await page.getByRole('button', { name: /claim\.ts/ }).click()
      await page.getByRole('button', { name: 'Next conflict' }).click()
      await Bun.sleep(800)
    },
  },
  'merging-whole': {
    open: merging(mergingTemplate(LOGO)),
    act: async page => {
      await page.getByRole('button', { name: /logo\.png/ }).click()
      await Bun.sleep(400)
    },
  },
  'merging-done': {
    open: async () => {
      const desk = await merging()()
      for (const path of [CLAIM, POSTGRES]) await settled(desk, path, 'x\n')
      return desk
    },
    act: async page => {
      await page
        .getByRole('button', { name: /claim\.ts/ })
        .first()
        .click()
      await Bun.sleep(400)
    },
  },
  forklift: {
    open: async () => (await openFork()).desk,
    act: async (page, desk) => {
      await page.getByRole('tab', { name: 'Repository' }).click()
      await page.getByRole('button', { name: 'Run Forklift' }).click()
      desk.proxy.say({ say: 'forklift', line: 'Fetching upstream/main' })
      desk.proxy.say({ say: 'forklift', line: 'The agent merges: claude-sonnet-5, at most 8:00' })
      await Bun.sleep(500)
    },
  },
  'by-commit': {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Alt+r')
      await page.getByRole('tab', { name: 'By commit' }).click()
      await Bun.sleep(600)
    },
  },
  tasks: {
    open: async () => (await openTasksScene()).desk,
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.getByRole('form', { name: 'Answer' }).waitFor()
      await page.locator('.journal li').first().waitFor()
      await Bun.sleep(300)
    },
  },
  'tasks-run': {
    open: async () => (await openTasksScene()).desk,
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.getByRole('button', { name: 'Back to the run' }).click()
      await page.locator('.report').waitFor()
      await page.locator('.journal li').first().waitFor()
      await Bun.sleep(200)
    },
  },
  'tasks-plan': {
    open: async () => (await openTasksScene([APPROVING, DONE])).desk,
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.locator('.plan-task').first().waitFor()
      await page.locator('.journal li').first().waitFor()
      await Bun.sleep(200)
    },
  },
  'tasks-plan-end': {
    open: async () => (await openTasksScene([APPROVING, DONE])).desk,
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.locator('.plan-commands').first().waitFor()
      await page.locator('.plan-text').evaluate(it => it.scrollTo(0, it.scrollHeight))
      await Bun.sleep(300)
    },
  },
  'tasks-land': {
    open: async () => (await openTasksScene([DONE])).desk,
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.locator('.node').first().waitFor()
      await page.keyboard.press('Alt+Shift+f')
      await page.getByRole('dialog').getByText('A1 Each route').waitFor()
      await Bun.sleep(200)
    },
  },
  'tasks-none': {
    open: async () => (await openTasksScene([])).desk,
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.getByText('No runs yet').waitFor()
    },
  },
  waiting: {
    open: openJitter,
    act: async (page, desk) => {
      desk.proxy.delay = 10_000
      await page.getByRole('treeitem', { name: 'README.md' }).click()
      await Bun.sleep(900)
    },
  },
  keys: {
    open: openJitter,
    act: async page => {
      await page.keyboard.press('Alt+k')
      await Bun.sleep(200)
    },
  },
  empty: {
    open: () => openScene({ template: templateOf(async () => {}), name: 'sandpiper' }),
    act: async () => {},
  },
  long: {
    open: async () => {
      const branch = `feature/${'a-very-long-branch-name-'.repeat(8)}`
      const files = { ...SCENE_FILES, [LONG]: 'x\n', 'docs/evil\u202Etxt.exe': 'a\rb\u202Ec\n' }
      const tabs = ['main', 'retry-jitter', 'lease-renewal', 'http-metrics', branch].map(it => ({
        ...tabOf(it, [LONG, TURNED], ['src', 'docs']),
        active: TURNED,
      }))
      const prepare = (path: string) => commit(path, branch, files)
      return await openScene({ prepare, layout: { tabs: [...tabs, ...tabs], active: 4 } })
    },
    act: async () => {
      await Bun.sleep(300)
    },
  },
  refused: {
    open: openJitter,
    act: async (page, desk) => {
      desk.proxy.refused.set(
        'save',
        'The commit could not be signed: gpg has no key for mira@example.com. The draft is kept. Set user.signingKey, or switch commit.gpgSign off.',
      )
      await type(page)
      await page.keyboard.press('Control+s')
      await Bun.sleep(300)
    },
  },
  away: {
    open: openJitter,
    act: async (page, desk) => {
      await page.getByText('while (!signal').waitFor()
      desk.proxy.goAway()
      await type(page)
    },
  },
}

await mkdir(folder, { recursive: true })
await using browser = await openBrowser()
for (const [name, { open = openScene, act, actAtSize }] of Object.entries(SCENES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const desk = await open()
  const page = await openPage(browser.context, desk)
  await page.setViewportSize({ width: 1280, height: 800 })
  await act(page, desk)
  for (const { width, height } of SIZES) {
    await page.setViewportSize({ width, height })
    await Bun.sleep(120)
    await actAtSize?.(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) })
    }
  }
  if (page.troubles.length > 0) console.log(name, page.troubles)
  await page.close()
  await desk[Symbol.asyncDispose]()
}
process.exit(0)
