/** Hostile answers of a model: to run a script, send data away, deceive the reader, or freeze the page. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Failure } from '../../../../core/failure.ts'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type Script, ScriptedModel, write } from '../../../support/scripted-model.ts'
import { ask, BRANCH, FOREVER, HOSTILE_ANSWER, inPieces, openConversation, pastTurns } from './conversation-scene.ts'
import { type DeskPage, openPage, until } from './page-scene.ts'

setDefaultTimeout(120_000)

const ITEMS = 1_000
const MEGABYTE = 1_000_000
/**
 * The longest task allowed, in milliseconds, on a busy machine: a page that freezes has tasks of minutes. The measured
 * time is printed.
 */
const LONGEST_TASK = 5_000
/** Nested, unclosed or repeated markup that a parser might be slow with. */
const TOO_MUCH: Record<string, string> = {
  'lists in lists': Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth * 2)}- a`).join('\n'),
  'lists on a line': `${'- '.repeat(2_000)}a`,
  'quotes in quotes': `${'> '.repeat(2_000)}a`,
  brackets: '['.repeat(50_000),
  links: '[a]('.repeat(10_000),
  stars: '*a **b _c '.repeat(5_000),
  backticks: Array.from({ length: 600 }, (_, count) => `${'`'.repeat(count + 1)} `).join(''),
  tags: '<a '.repeat(15_000),
  'a table': `|${'a|'.repeat(60)}\n|${'-|'.repeat(60)}\n${`|${'b|'.repeat(60)}\n`.repeat(3_000)}`,
  'one word': 'x'.repeat(MEGABYTE),
  'one paragraph': 'word *it* '.repeat(MEGABYTE / 10),
  'many paragraphs': 'A word, *it*, and `c` here.\n\n'.repeat(MEGABYTE / 30),
  code: `\`\`\`ts\n${'const a = "b" // c\n'.repeat(MEGABYTE / 19)}\`\`\``,
  'signs on signs': `a${'\u0301\u0323'.repeat(50_000)}`,
}

describe.skipIf(!hasBrowser)('a hostile answer', () => {
  let browser: OpenBrowser
  const model = new ScriptedModel([])

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  const openChat = async (script: Script): Promise<{ desk: PageDesk; page: DeskPage; asked: string[] }> => {
    const desk = await openConversation({ model, hasTurns: false })
    model.play(script)
    const page = await openPage(browser.context, desk)
    const asked: string[] = []
    page.on('request', request => asked.push(request.url()))
    await page.keyboard.press('Alt+j')
    await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor()
    return { desk, page, asked }
  }

  test('runs nothing, loads nothing, and sends no request', async () => {
    const { desk, page, asked } = await openChat([
      { text: 'It begins.', error: new Failure(HOSTILE_ANSWER) },
      {
        reasoning: HOSTILE_ANSWER,
        calls: [
          { name: HOSTILE_ANSWER, arguments: { path: HOSTILE_ANSWER } },
          { name: 'get_lines', arguments: { path: HOSTILE_ANSWER } },
          write('<img src=x>', HOSTILE_ANSWER),
        ],
      },
      { pieces: () => inPieces(`${HOSTILE_ANSWER}\n\n\`\`\`html\n${HOSTILE_ANSWER}\n\`\`\`\n\nThe end`, 7) },
      { text: HOSTILE_ANSWER },
    ])
    await ask(page, HOSTILE_ANSWER)
    // The failed request is back in the message field.
    await page.getByRole('log').getByText('It begins.').waitFor()
    await until(async () => (await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()) !== '')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const log = page.getByRole('log')
    await log.getByRole('article').last().getByRole('button', { name: 'Diff' }).waitFor()
    await log.locator('.folded summary').click()
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
    expect(await log.locator('img, script, style, iframe, object, a[href], form, math, b').count()).toBe(0)
    expect(await log.locator('svg:not(.i, .bars)').count()).toBe(0)
    expect(asked.filter(url => new URL(url).origin !== new URL(desk.url).origin)).toEqual([])
    expect(page.troubles).toEqual([])
    const text = (await log.textContent()) ?? ''
    expect(text).not.toContain('\u001b')
    expect(text).not.toContain('\u202e')
    expect(text).toContain('\\u202etxt.exe')
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  test('a link is followed by a click alone, and its page learns nothing of the desk', async () => {
    const visits: { path: string; referrer: string | null }[] = []
    using server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: request => {
        visits.push({ path: new URL(request.url).pathname, referrer: request.headers.get('referer') })
        return new Response('<script>document.title = String(window.opener)</script>', {
          headers: { 'content-type': 'text/html' },
        })
      },
    })
    const text = `See [this](${server.url}page), or [that](javascript:window.pwned=1), or ![it](${server.url}picture).`
    const { desk, page } = await openChat([{ text }])
    await ask(page, 'Link')
    const link = page.getByRole('link', { name: `this ${server.url}page` })
    await link.hover()
    await page.getByRole('link', { name: /^that/ }).click()
    const dialog = page.getByRole('dialog', { name: 'This leads to no web page' })
    await dialog.getByText('javascript:window.pwned=1').waitFor()
    await page.keyboard.press('Escape')
    expect(visits).toEqual([])
    const opened = browser.context.waitForEvent('page')
    await link.click()
    const other = await opened
    await until(async () => (await other.title()) === 'null')
    expect(visits.filter(({ path }) => path !== '/favicon.ico')).toEqual([{ path: '/page', referrer: null }])
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
    await other.close()
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  for (const [name, text] of Object.entries(TOO_MUCH)) {
    test(`${name} do not freeze the page, whole or piece by piece`, async () => {
      const { desk, page } = await openChat([
        { text, pieces: () => inPieces('\n\nStill there.\n', 20), until: FOREVER },
      ])
      const longest = await longestTasks(page)
      await ask(page, 'Much')
      const stop = page.getByRole('button', { name: 'Stop', exact: true })
      await stop.waitFor()
      await page.getByRole('log').getByText('Still there.').last().waitFor()
      const field = page.getByRole('textbox', { name: 'Message', exact: true })
      await field.click()
      await page.keyboard.type('typed meanwhile')
      await until(async () => (await field.inputValue()) === 'typed meanwhile')
      const took = await longest()
      const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
      console.log(`${name}, ${text.length} characters: the longest task took ${Math.round(took)} ms, ${nodes} elements`)
      expect(took).toBeLessThan(LONGEST_TASK)
      expect(nodes).toBeLessThan(20_000)
      await page.close()
      await desk[Symbol.asyncDispose]()
    })
  }

  for (const [name, text] of Object.entries({
    paragraphs: 'A word, *it*, and `c` here.\n\n'.repeat(MEGABYTE / 30),
    'code without an end': `\`\`\`ts\n${'const a = "b" // c\n'.repeat(MEGABYTE / 19)}`,
    'a list': '- A word, *it*, and `c` here.\n'.repeat(MEGABYTE / 30),
  })) {
    test(`a megabyte of ${name}, piece by piece, does not freeze the page`, async () => {
      const { desk, page } = await openChat([{ pieces: () => inPieces(text, 4_000) }])
      const longest = await longestTasks(page)
      await ask(page, 'Much')
      await page.getByRole('status', { name: 'What the AI says' }).getByText('The turn has ended: done.').waitFor()
      const took = await longest()
      console.log(`a megabyte of ${name} in pieces: the longest task took ${Math.round(took)} ms`)
      expect(took).toBeLessThan(LONGEST_TASK)
      await page.close()
      await desk[Symbol.asyncDispose]()
    })
  }

  test(`a conversation of ${ITEMS.toLocaleString('en')} items stays quick`, async () => {
    const text = 'It is **renewed** at `0.6` of the time.\n\n- one\n- two\n\n```ts\nconst a = 1\n```\n'
    const turns = Array.from({ length: ITEMS / 10 }, (_, at) => ({ question: `Question ${at}`, calls: 7, text }))
    const desk = await openConversation({
      model,
      hasTurns: false,
      prepare: path => commit(path, BRANCH, { '.forge/session.json': pastTurns(turns) }),
    })
    const last = async function* () {
      yield* inPieces('More and more words. '.repeat(100), 20)
      yield ' The last word. '
    }
    model.play([{ pieces: last }])
    const page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+j')
    const began = performance.now()
    await page
      .getByRole('log')
      .getByText(`Question ${ITEMS / 10 - 1}`)
      .first()
      .waitFor()
    const opened = performance.now() - began
    const longest = await longestTasks(page)
    await ask(page, 'On')
    await page.getByRole('log').getByText('The last word.').waitFor()
    const streamed = await longest()
    await page.getByRole('log').focus()
    await page.keyboard.press('Home')
    // Earlier turns are loaded step by step, and the visible content stays in place.
    const shown = page.locator('.thread > *')
    while ((await page.getByRole('log').getByText('Question 0', { exact: true }).count()) === 0) {
      const before = await shown.count()
      await page.getByRole('log').evaluate(element => element.scrollTo(0, 0))
      await until(async () => (await shown.count()) > before)
    }
    const scrolled = await longest()
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
    console.log(
      `${ITEMS} items: there after ${Math.round(opened)} ms; longest task ${Math.round(streamed)} ms while streaming, ` +
        `${Math.round(scrolled)} ms while going to the beginning; ${nodes} elements then`,
    )
    expect(streamed).toBeLessThan(LONGEST_TASK)
    await page.close()
    await desk[Symbol.asyncDispose]()
  })
})

/** Starts measuring; the returned function gives the page's longest task since, in milliseconds. */
async function longestTasks(page: DeskPage): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const tasks: number[] = []
    Object.assign(window, { tasks })
    new PerformanceObserver(list => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
      entryTypes: ['longtask'],
    })
  })
  return async () => {
    // The observer reports with a delay.
    await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 100)))
    return await page.evaluate(() => Math.max(0, ...(window as unknown as { tasks: number[] }).tasks))
  }
}
