/** Starts a desk in a process of its own, and measures in its page what a user waits for. */
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { pick } from '../test/support/browser.ts'
import { PLAIN } from '../test/support/git.ts'

const FORGE = join(import.meta.dir, '../forge.ts')

export type RunningDesk = { address: string; pid: number; begun: number } & AsyncDisposable

export const environment = (home: string) => ({
  ...PLAIN,
  PATH: process.env.PATH,
  HOME: home,
  GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
})

export async function startDesk(repository: string, home: string): Promise<RunningDesk> {
  const begun = performance.now()
  const child = Bun.spawn([FORGE, '--no-open', repository], {
    env: { ...environment(home), XDG_STATE_HOME: join(home, 'state') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const piece of child.stdout) {
    text += Buffer.from(piece).toString()
    if (text.includes('\n')) break
  }
  const address = /http:\S+/.exec(text)?.[0]
  if (!address) throw new Error(`The desk did not open: ${text}`)
  return {
    address,
    pid: child.pid,
    begun,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await child.exited
    },
  }
}

// --- In the page -----------------------------------------------------------------------------------------------------

/** In the page: resolves when a frame with the page's current state has been drawn. */
const DRAWN = `new Promise(resolve => requestAnimationFrame(() => {
  // The message arrives after the frame's layout and painting.
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = resolve
  port2.postMessage(0)
}))`

/** In the page: resolves when an expression is true; evaluated after every change of the page. */
const untilTrue = (isShown: string): string => `new Promise((resolve, reject) => {
  const look = () => {
    if (!(${isShown})) return false
    observer.disconnect()
    clearTimeout(clock)
    resolve()
    return true
  }
  const observer = new MutationObserver(look)
  const clock = setTimeout(() => reject(new Error(document.querySelector('[role=status]')?.textContent)), 10_000)
  const all = { subtree: true, childList: true, attributes: true, characterData: true }
  if (!look()) observer.observe(document, all)
})`

/**
 * Runs `act` in the page. Gives the milliseconds until a frame is drawn in which `isShown` is true. Both are
 * expressions.
 */
export async function untilShown(page: Page, act: string, isShown: string): Promise<number> {
  // The page's policy forbids making functions from text, so the expressions are part of the script that is sent.
  return (await page.evaluate(`(async () => {
    let begun = performance.now();
    ${act};
    await ${untilTrue(isShown)}
    await ${DRAWN}
    return performance.now() - begun
  })()`)) as number
}

/** Makes every page of a browser record when something was first drawn: see {@link whenDrawn}. */
export async function noteFirst(context: BrowserContext, selector: string): Promise<void> {
  await context.addInitScript(`window.firstDrawn = (async () => {
    await ${untilTrue(`document.querySelector('${selector}')`)}
    await ${DRAWN}
    return performance.timeOrigin + performance.now()
  })()`)
}

/** The time that {@link noteFirst} recorded, on the clock of performance.now() here. */
export async function whenDrawn(page: Page): Promise<number> {
  return ((await page.evaluate('window.firstDrawn')) as number) - performance.timeOrigin
}

/** In the page: the visible text of the editor. */
export const EDITOR = `document.querySelector('.cm-content')?.textContent`

export async function openBranch(page: Page, name: string): Promise<void> {
  await pick(page, 'Alt+B', name)
  await page.getByRole('tab', { name: new RegExp(name), selected: true }).waitFor()
}

/** In the page: the visible text of the editor that has the focus. */
const FOCUSED = `document.querySelector('.cm-content:focus')?.textContent`

/** Types a character into the editor. Gives the milliseconds from the key until the frame with it is drawn. */
export async function typeOne(page: Page): Promise<number> {
  // The key must not come before what listens to it.
  await page.evaluate(`{
    const typed = { at: 0, before: ${FOCUSED} }
    window.typed = typed
    addEventListener('keydown', event => { typed.at ||= event.timeStamp }, { capture: true, once: true })
  }`)
  const isShown = `typed.at > 0 && (begun = typed.at) && ${FOCUSED} !== typed.before`
  const shown = untilShown(page, 'const typed = window.typed', isShown)
  await page.keyboard.press('x')
  return await shown
}
