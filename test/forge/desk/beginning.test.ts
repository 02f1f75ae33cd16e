/** The answers embedded in the page: the first view with access, nothing without. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { isQuestionName, PageBeginning, questions } from '../../../forge/desk/contract/contract.ts'
import { hasBrowser, openBrowser } from '../../support/browser.ts'
import { builtPage } from '../../support/built-page.ts'
import { commit } from '../../support/git.ts'
import { makePlace, type Place } from '../../support/repository.ts'
import { cookieOf, openTestDesk, type TestDesk } from '../../support/served.ts'

let place: Place
let desk: TestDesk

beforeAll(async () => {
  place = await makePlace()
  await commit(
    place.path,
    'main',
    { 'a.txt': 'one\n' },
    { message: 'End it </script><script>alert(1)</script><!-- now' },
  )
  desk = await openTestDesk(place.path, { ...(hasBrowser && { built: await builtPage() }) })
})
afterAll(async () => {
  await desk[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

const address = () => `http://127.0.0.1:${desk.key.port}/`

/** The HTML of the page for a query and headers. */
async function pageFor(query: string, headers: Record<string, string> = {}): Promise<string> {
  return await (await fetch(address() + query, { headers })).text()
}

/** Parses the answers that are embedded as JSON in the HTML of a page. */
function broughtBy(page: string): PageBeginning {
  const [, text = ''] = /<script type="application\/json" id="beginning">(.*)<\/script>/.exec(page) ?? []
  return v.parse(PageBeginning, JSON.parse(text))
}

describe.skipIf(!hasBrowser)('a visit with the token in the address', () => {
  test('gets the state of the desk, the graph and the refs embedded in the page', async () => {
    const { answers } = broughtBy(await pageFor(`?token=${desk.key.token}`))
    for (const { ask, fields, value } of answers) {
      if (!isQuestionName(ask)) throw new Error(`${ask} is no question`)
      v.parse(questions[ask].fields as v.GenericSchema, fields)
      v.parse(questions[ask].reply as v.GenericSchema, value)
    }
    expect(answers).toMatchObject([
      { ask: 'desk', value: { desk: { branches: [{ name: 'main' }] } } },
      { ask: 'graph', value: { rows: [{ author: { name: expect.any(String) } }] } },
      { ask: 'refs', value: { remotes: [], tags: [] } },
    ])
  })

  test('gets no content of the repository as HTML', async () => {
    const page = await pageFor(`?token=${desk.key.token}`)
    expect(page.match(/<\/script>/g)).toHaveLength(2)
    expect(page).not.toContain('<!--')
    expect(JSON.stringify(broughtBy(page))).toContain('</script><script>alert(1)</script><!-- now')
  })

  test('gets nothing of the repository with the cookie alone', async () => {
    const page = await pageFor('', { cookie: cookieOf(desk.key) })
    expect(page).toContain('<script type="application/json" id="beginning"></script>')
    expect(page).not.toContain('alert(1)')
  })

  test('can ask whether it missed news since the page was made', async () => {
    const { said } = broughtBy(await pageFor(`?token=${desk.key.token}`))
    await using window = await desk.window()
    expect(await window.ask({ ask: 'has missed', said })).toBe(false)
    await window.ask({ ask: 'new branch', branch: 'other', from: null })
    expect(await window.ask({ ask: 'has missed', said })).toBe(true)
    await window.ask({ ask: 'delete branch', branch: 'other' })
  })

  test('shows the embedded answers first, and then what changed meanwhile', async () => {
    await using browser = await openBrowser()
    const page = await browser.context.newPage()
    const held = Promise.withResolvers<void>()
    await page.routeWebSocket(/\/socket$/, async socket => {
      await held.promise
      socket.connectToServer()
    })
    await page.goto(`${address()}?token=${desk.key.token}`)
    const row = (words: string) => page.getByRole('listbox', { name: 'Commits' }).getByRole('option', { name: words })
    await row('End it').waitFor()
    await using window = await desk.window()
    await commit(place.path, 'main', { 'a.txt': 'two\n' }, { message: 'Made meanwhile' })
    await window.heard('branch', news => news.branch === 'main')
    expect(await row('Made meanwhile').count()).toBe(0)
    held.resolve()
    await row('Made meanwhile').waitFor()
  })
})
