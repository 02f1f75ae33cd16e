#!/usr/bin/env bun
/** `make pictures`: takes README's pictures of the desk, on its example repository and on the result of `make demo`. */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { ModelServer, type Turn } from '../test/doubles/model-server.ts'
import { openBrowser, pick } from '../test/support/browser.ts'
import { runDemo } from '../test/support/demo.ts'

const PROJECT = dirname(import.meta.dir)

/** The answers of a scripted model: no real model is asked for a picture. */
const CALLS: Turn[] = [
  {
    text: 'I look at how the search steps.',
    calls: [{ name: 'get_lines', arguments: { path: 'src/next.ts', from: 1, to: 18 } }],
  },
  {
    calls: [
      {
        name: 'search_replace',
        arguments: {
          path: 'src/next.ts',
          edits: [
            {
              search: 'const MINUTE = 60_000\n',
              replace:
                'const MINUTE = 60_000\n/** Two tides: where none is found in so long, the sea never turns. */\nconst LONGEST = 25 * 60 * MINUTE\n',
            },
            {
              search: 'export function nextHighWater(harbour: Harbour, after: Date): Date {',
              replace: 'export function nextHighWater(harbour: Harbour, after: Date): Date | undefined {',
            },
            {
              search: 'for (let at = after.getTime() + MINUTE; ; at += MINUTE) {',
              replace:
                'const end = after.getTime() + LONGEST\n  for (let at = after.getTime() + MINUTE; at < end; at += MINUTE) {',
            },
          ],
        },
      },
      {
        name: 'write_file',
        arguments: {
          path: 'test/next.test.ts',
          content:
            "import { expect, test } from 'bun:test'\nimport { nextHighWater } from '../src/next.ts'\n\ntest('a flat sea has no high water', () => {\n  expect(nextHighWater({ name: 'Still', constituents: [] }, new Date(0))).toBeUndefined()\n})\n",
        },
      },
    ],
  },
  {
    text: 'The search ends after **25 hours**, which is two tides: `nextHighWater` gives `undefined` where the sea never turns. A test holds it for a harbour without constituents.',
  },
  { text: 'Stop looking where the sea never turns\n\nTwo tides without a high water are enough to know.' },
]
const QUESTION = 'A harbour without a tide makes the search go on for ever. Bound it, and test that.'

/** Runs a desk without user configuration on a new example, until `take` has finished. */
async function withDesk(take: (address: string) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'desk-pictures-'))
  const model = await ModelServer.start(CALLS)
  const settings = model.environment('openrouter')
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', TZ: 'UTC', ...settings }
  const example = Bun.spawn([join(PROJECT, 'forge/desk/example.ts')], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const repository = (await example.stdout.text()).trim()
  const desk = Bun.spawn([join(PROJECT, 'forge.ts'), '--no-open', repository], { env, stdout: 'pipe' })
  try {
    for await (const bytes of desk.stdout) {
      const address = /http:\S+/.exec(Buffer.from(bytes).toString())?.[0]
      if (!address) continue
      await take(address)
      return
    }
    throw new Error('The desk did not open: make desk says why.')
  } finally {
    desk.kill('SIGTERM')
    await desk.exited
    await model[Symbol.asyncDispose]()
    await rm(home, { recursive: true, force: true })
  }
}

async function openFile(page: Page, name: string): Promise<void> {
  await pick(page, 'Control+P', name)
  await page.getByRole('textbox', { name: 'Editor' }).waitFor()
}

async function openBranch(page: Page, name: string): Promise<void> {
  await pick(page, 'Alt+B', name)
  await page.getByRole('tab', { name: new RegExp(name), selected: true }).waitFor()
}

/** Takes a branch with a draft (light), the changes of that branch (dark), and a turn of an AI (light). */
async function takePictures(address: string, folder: string): Promise<void> {
  {
    await using browser = await openBrowser({ colorScheme: 'light' })
    const page = await openDesk(browser.context, address)
    await openBranch(page, 'faster')
    await openFile(page, 'tide.ts')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('// Heights are in metres above the chart datum.\n')
    await page.getByText('since').first().waitFor()
    // Move the cursor into a function, which the breadcrumbs then show.
    for (let line = 0; line < 8; line++) await page.keyboard.press('ArrowDown')
    await page.locator('.crumb-symbols').waitFor()
    await page.locator('.cm-line span').first().waitFor()
    // The explorer has found the file, and the context is counted.
    await page.getByRole('treeitem', { name: 'tide.ts' }).locator('.mark').waitFor()
    await page.getByText('in context').first().waitFor()
    await page.screenshot({ path: join(folder, 'desk-branch-light.png') })
    // The next window begins with the layout of this one, which the desk keeps a moment after its last change.
    await Bun.sleep(1_000)
  }
  {
    await using browser = await openBrowser({ colorScheme: 'dark' })
    const page = await openDesk(browser.context, address)
    await openBranch(page, 'faster')
    await page.keyboard.press('Alt+R')
    await page.getByText(/^[1-9]\d* files?$/).waitFor()
    await page.getByText('9 unchanged lines').waitFor()
    const message = page.getByRole('textbox', { name: 'Commit message' })
    while ((await message.inputValue()) === '') await Bun.sleep(50)
    await page.screenshot({ path: join(folder, 'desk-review-dark.png') })
  }
  await using browser = await openBrowser({ colorScheme: 'light' })
  const page = await openDesk(browser.context, address)
  await openBranch(page, 'next-high-water')
  await page.keyboard.press('Alt+J')
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(QUESTION)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('article').getByText('Stop looking where the sea never turns').waitFor()
  await page.waitForLoadState('networkidle')
  await Bun.sleep(500)
  await page.screenshot({ path: join(folder, 'desk-chat-light.png') })
}

async function openDesk(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(address)
  await page.getByRole('tab', { name: 'Repository' }).waitFor()
  return page
}

/** Takes the pictures of the story in README: a fork that is behind, the open question, and the pull request. */
async function tellTheStory(folder: string): Promise<void> {
  await using demo = await runDemo()
  await using browser = await openBrowser({ colorScheme: 'light', height: 720 })
  const page = await browser.context.newPage()
  await page.goto(await demo.openDesk())
  const run = page.getByRole('region', { name: 'Forklift', exact: true }).getByRole('button', { name: /Stuck/ })
  await run.waitFor()
  await page.getByRole('complementary', { name: 'Commit' }).getByText('4 files').waitFor()
  await run.hover()
  await page.screenshot({ path: join(folder, 'story-behind-light.png') })
  await run.click()
  await page.getByRole('article', { name: 'STUCK.md, from Forklift' }).waitFor()
  const files = page.getByRole('navigation', { name: 'Conflicted files' })
  await files.getByRole('button', { name: /goodbye/ }).click()
  const both = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).getByRole('button', { name: 'Both' })
  await both.waitFor()
  await page.waitForLoadState('networkidle')
  await page.locator('.cm-line span').first().waitFor()
  await page.screenshot({ path: join(folder, 'story-question-light.png') })
  await both.click()
  await page.getByRole('button', { name: 'Finish' }).click()
  const strip = page.getByRole('region', { name: 'Publish with Forklift' })
  await strip.getByRole('button', { name: 'Publish' }).click()
  await strip.getByRole('link').waitFor()
  await page.screenshot({ path: join(folder, 'story-published-light.png') })
}

const draft = await mkdtemp(join(tmpdir(), 'pictures-'))
await withDesk(address => takePictures(address, draft))
await tellTheStory(draft)
await cp(draft, import.meta.dir, { recursive: true })
await rm(draft, { recursive: true })
