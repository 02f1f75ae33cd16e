/** The repository of most tests of the page, and the page of its desk in a browser. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { bare, commit, type Files, git } from '../../../support/git.ts'
import { removeAtEnd } from '../../../support/leftovers.ts'
import { PageDesk, type PageDeskOptions } from '../../../support/page-desk.ts'
import { makeFolder, until } from '../../../support/repository.ts'

export { until }

const LEASE = await Bun.file(`${import.meta.dir}/lease.txt`).text()
/** An image of one pixel. */
const GIF = 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;'

export const SCENE_FILES = {
  'docs/design.md': '# Design\n\nA queue with *leases*.\n',
  'src/http/routes.ts': 'export const routes = []\n',
  'src/queue/backoff.ts': 'export function backoff(tries: number): number {\n  return 2 ** tries\n}\n',
  'src/queue/claim.ts':
    "import type { Lease } from './types'\n\nexport async function claim(): Promise<Lease> {\n  throw new Error('none')\n}\n",
  'src/queue/lease.ts': LEASE,
  'src/queue/retry.ts': 'export const RETRIES = 3\n',
  'src/queue/sweep.ts': 'export function sweep(): void {}\n',
  'src/queue/types.ts': 'export interface Lease {\n  token: string\n  expiresAt: number\n}\n',
  'src/store/memory.ts': 'export class MemoryStore {}\n',
  'src/store/postgres.ts': 'export class PostgresStore {}\n',
  'src/store/sqlite.ts': 'export class SqliteStore {}\n',
  'src/index.ts': "export * from './worker'\n",
  'src/metrics.ts': 'export const metrics = new Map<string, number>()\n',
  'src/worker.ts': 'export class Worker {}\n',
  'test/lease.test.ts': "import { test } from 'bun:test'\n\ntest('a lease', () => {})\n",
  'tools/store_stats.ts': 'export const schema = {}\n',
  'AGENTS.md': '# For agents\n',
  'FORK.md': '# Fork\n',
  'README.md': '# Tern\n\nA queue.\n',
  'logo.png': GIF,
  'data.bin': 'a\0b',
  'big.locked': `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`,
  'package.json': '{\n  "name": "tern"\n}\n',
  'tsconfig.json': '{}\n',
}

let ofProcess: Promise<string> | undefined

/** A new folder, which is removed when the process ends. */
export async function makeScratch(): Promise<string> {
  ofProcess ??= makeFolder().then(({ path }) => {
    removeAtEnd(path)
    return path
  })
  return await mkdtemp(join(await ofProcess, 'scratch-'))
}

/** A bare repository that desks of tests copy. It is created once per process, and removed with it. */
export function templateOf(fill: (path: string) => Promise<unknown>): () => Promise<string> {
  let made: Promise<string> | undefined
  const make = async () => {
    const path = await bare(join(await makeScratch(), 'template'))
    await fill(path)
    return path
  }
  return () => {
    made ??= make()
    return made
  }
}

/** A repository with the same files in some branches, each with a first commit of its own. */
export const templateWith = (branches: Record<string, Files>): (() => Promise<string>) =>
  templateOf(async path => {
    for (const [branch, files] of Object.entries(branches))
      await commit(path, branch, files, { message: `Begin ${branch}`, author: 'Mira Okafor <mira@example.com>' })
  })

/** main with the files above, and three branches that begin there. */
export const sceneTemplate = templateOf(async path => {
  const options = { author: 'Mira Okafor <mira@example.com>' }
  const main = await commit(path, 'main', SCENE_FILES, { ...options, message: 'Begin main' })
  for (const branch of ['retry-jitter', 'lease-renewal', 'http-metrics'])
    await commit(path, branch, {}, { ...options, message: `Begin ${branch}`, parents: [main] })
  await git(path, 'pack-refs', '--all')
})

export type DeskPage = Page & {
  /** Errors of the page, and violations of its content security policy. */
  troubles: string[]
}

const SETTLED = `(async () => {
  const idle = () => new Promise(resolve => requestIdleCallback(resolve))
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
  for (const next of [frame, idle, frame, idle]) await next()
})()`

/** Waits until the page has rendered its state, and is idle. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(SETTLED)
}

/** Types numbers into what has the focus, a few letters a time; `typed` is all of them, so that a lost one shows. */
export function numbersTyped(page: Page): { readonly typed: string; type: () => Promise<void> } {
  let typed = ''
  return {
    get typed() {
      return typed
    },
    async type() {
      const next = `${typed.length} `
      typed += next
      await page.keyboard.type(next)
    },
  }
}

/** Opens the page of a desk, and waits until its branches are shown, as they are now. */
export async function openPage(context: BrowserContext, desk: PageDesk): Promise<DeskPage> {
  const page = await context.newPage()
  const troubles: string[] = []
  page.on('pageerror', error => troubles.push(String(error)))
  page.on('console', message => {
    const isExpected =
      /WebSocket connection to|ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE|status of (401|502)/.test(
        message.text(),
      )
    if (message.type() === 'error' && !isExpected) troubles.push(message.text())
  })
  const { begun } = desk.proxy
  await page.goto(desk.url)
  await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab').nth(1).waitFor()
  await until(() => desk.proxy.begun > begun)
  return Object.assign(page, { troubles })
}

/** Shows a branch by the palette, as soon as the page knows it. */
export async function showBranch(page: Page, branch: string): Promise<void> {
  await page.keyboard.press('Alt+b')
  await page.keyboard.type(branch)
  await page
    .getByRole('option', { name: new RegExp(`^${branch}`) })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('tablist', { name: 'Branches' }).getByRole('tab', { name: branch, selected: true }).waitFor()
}

export interface PageScene {
  desk: PageDesk
  page: DeskPage
  browser: OpenBrowser
}

type SceneOptions = Omit<PageDeskOptions, 'template'> & { template?: () => Promise<string> }

/** Opens a desk on a copy of a repository: by default, of the scene. */
export async function openScene({ template = sceneTemplate, ...options }: SceneOptions = {}): Promise<PageDesk> {
  return await PageDesk.open({ ...options, template: await template(), built: await builtPage() })
}

/** Opens a desk and its page before each test of a block; after it, the page must have had no errors. */
export function withEachPage(give: (scene: PageScene) => unknown, options: SceneOptions = {}): void {
  let browser: OpenBrowser
  let desk: PageDesk
  let page: DeskPage

  beforeAll(async () => {
    browser = await openBrowser()
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    desk = await openScene(options)
    page = await openPage(browser.context, desk)
    await give({ desk, page, browser })
  })
  afterEach(async () => {
    expect(page.troubles).toEqual([])
    await page.close({ runBeforeUnload: false })
    await desk[Symbol.asyncDispose]()
  })
}
