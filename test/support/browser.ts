/**
 * A real Chromium (Debian's) for the tests of pages, without background activity of its own. Its headless shell, the
 * same engine without a browser's own windows, takes a quarter less of the processor.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { childrenWith } from './repository.ts'

const [HEADLESS_SHELL, CHROMIUM] = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const PROGRAM = process.env.CHROMIUM ?? (existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : CHROMIUM)

export const hasBrowser = existsSync(PROGRAM)

/** The reason for skipping the tests where there is no browser. */
export const NO_BROWSER = `There is no Chromium at ${PROGRAM}: apt-get install chromium-headless-shell, or say where it is by CHROMIUM=…`

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Playwright has Chromium note the calls that led to each request. To find their lines, V8 parses the page's whole
  // script a second time unless it has kept them: a quarter of the main thread's work while a page opens.
  '--js-flags=--no-enable-lazy-source-positions',
]

/** Slows the processor of pages by this factor: `SLOW=6 bun test …` shows what happens on a busy machine. */
const SLOW = Number(process.env.SLOW ?? '1')

async function slowDown(page: Page): Promise<void> {
  try {
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW })
  } catch {
    // The page is already closed.
  }
}

export interface BrowserOptions {
  colorScheme?: 'light' | 'dark'
  width?: number
  height?: number
  /** The folder of the profile, which stays. By default a new one, which is removed with the browser. */
  profile?: string
}

export interface OpenBrowser extends AsyncDisposable {
  context: BrowserContext
  /** Kills the browser with SIGKILL, with all of its processes. */
  kill: () => Promise<void>
}

/** Opens a browser. */
export async function openBrowser({
  colorScheme = 'light',
  width = 1280,
  height = 800,
  profile: kept,
}: BrowserOptions = {}): Promise<OpenBrowser> {
  const profile = kept ?? (await mkdtemp(join(tmpdir(), 'forge-browser-')))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: PROGRAM,
    args: FLAGS,
    colorScheme,
    viewport: { width, height },
    reducedMotion: 'reduce',
  })
  // Shorter than a test's time limit: a failed wait then reports what it waited for, and the browser is kept for the
  // next test.
  context.setDefaultTimeout(60_000)
  if (SLOW > 1) context.on('page', page => slowDown(page))
  return {
    context,
    async kill() {
      const closed = new Promise(resolve => context.once('close', resolve))
      // The browser leads a process group, in which its other processes are.
      for (const pid of await childrenWith(profile)) process.kill(-pid, 'SIGKILL')
      await closed
    },
    async [Symbol.asyncDispose]() {
      await context.close()
      if (kept === undefined) await rm(profile, { recursive: true, force: true })
    },
  }
}

/**
 * CPU milliseconds of the page's main thread during a task. Unlike wall-clock time, it does not depend on the load of
 * the machine.
 */
export async function workOf(page: Page, doing: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const taken = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
  const before = await taken()
  await doing()
  const work = (await taken()) - before
  await session.detach()
  return work
}

/** Opens the palette by a key, and chooses the first entry with this part of a name. */
export async function pick(page: Page, key: string, name: string): Promise<void> {
  await page.keyboard.press(key)
  await page.keyboard.type(name)
  await page
    .getByRole('option', { name: new RegExp(name) })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
}
