/** A real Chromium for the tests of pages: Debian's, without anything of its own going on in the background. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'

const PROGRAM = process.env.CHROMIUM ?? '/usr/bin/chromium'

export const hasBrowser = existsSync(PROGRAM)

/** Why the tests are skipped, where there is no browser. */
export const NO_BROWSER = `There is no Chromium at ${PROGRAM}: apt-get install chromium, or say where it is by CHROMIUM=…`

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export interface BrowserOptions {
  colorScheme?: 'light' | 'dark'
  width?: number
  height?: number
}

export interface OpenBrowser extends AsyncDisposable {
  context: BrowserContext
}

/** A browser with a profile of its own, which goes with it. */
export async function openBrowser({
  colorScheme = 'light',
  width = 1280,
  height = 800,
}: BrowserOptions = {}): Promise<OpenBrowser> {
  const profile = await mkdtemp(join(tmpdir(), 'forge-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: PROGRAM,
    args: FLAGS,
    colorScheme,
    viewport: { width, height },
    reducedMotion: 'reduce',
  })
  // Shorter than a test's time: a wait that fails says for what, and the browser stays for the next test.
  context.setDefaultTimeout(25_000)
  return {
    context,
    async [Symbol.asyncDispose]() {
      await context.close()
      await rm(profile, { recursive: true, force: true })
    },
  }
}
