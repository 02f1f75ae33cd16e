/** The conversation with an AI in a real browser. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import type { ChatStandIn } from '../chat-stand-in.ts'
import type { StandIn } from '../web-stand-in.ts'
import { ask, BRANCH, HALF_A_TURN, QUESTION, RICH_ANSWER, TOOL_APPROVAL, withTurns } from './chat-scene.ts'
import { type DeskPage, openDesk, startScene, until } from './scene.ts'

describe.skipIf(!hasBrowser)('the conversation', () => {
  let built: string
  let browser: OpenBrowser
  let desk: StandIn
  let ai: ChatStandIn
  let page: DeskPage

  beforeAll(async () => {
    built = await builtPage()
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  beforeEach(async () => {
    desk = await startScene(built)
    ai = withTurns(desk)
  })
  afterEach(async () => {
    const { troubles } = page
    await page.close()
    await desk.stop()
    expect(troubles).toEqual([])
  })

  const open = async () => {
    page = await openDesk(browser.context, desk)
    await field().waitFor()
  }
  const log = () => page.getByRole('log', { name: 'Conversation' })
  const field = () => page.getByRole('textbox', { name: 'Message', exact: true })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const asked = (kind: string) => desk.asked.filter(question => question.ask === kind)

  test('a message is answered as it comes, and ends with its commit, whose diff is a click away', async () => {
    ai.script = async turn => {
      turn.call({
        name: 'search_replace',
        title: 'src/worker.ts',
        words: '1 edit +6 −1',
        result: 'Replaced lines 3 to 9.',
      })
      await turn.type('It **asks** before each claim.\n\nDone.')
      turn.done('Stop claiming in doubt', [{ path: 'src/worker.ts', status: 'changed', added: 6, deleted: 1 }])
    }
    await open()
    await ask(page, QUESTION)
    await log().getByText(QUESTION).waitFor()
    await log().locator('strong', { hasText: 'asks' }).waitFor()
    const card = page.getByRole('article').last()
    await card.getByText('Stop claiming in doubt').waitFor()
    expect(await card.textContent()).toContain('in 148k')
    expect(await field().inputValue()).toBe('')
    await log()
      .getByRole('button', { name: /search_replace src\/worker.ts/ })
      .click()
    await log().getByText('Replaced lines 3 to 9.').waitFor()
    await card.getByRole('button', { name: 'Diff' }).click()
    await page.getByRole('tab', { name: 'By commit' }).waitFor()
    expect(await page.getByRole('tab', { name: 'By commit' }).getAttribute('aria-selected')).toBe('true')
  })

  test('while a turn runs, files are read-only, the tabs say so, and Escape stops it at the second press', async () => {
    ai.script = HALF_A_TURN
    await open()
    await ask(page, QUESTION)
    await button('Stop').waitFor()
    await page.getByRole('tab', { name: `${BRANCH} , the AI is working` }).waitFor()
    await page.getByRole('tab', { name: 'lease.ts , read-only while the AI works' }).click()
    const editor = page.getByRole('textbox', { name: 'Editor' })
    await editor.waitFor()
    await editor.click()
    await page.keyboard.type('typed in between')
    await page.getByText('Turn 4 · running bun test').waitFor()
    expect(asked('edit')).toEqual([])
    await page.keyboard.press('Alt+m')
    await until(() => field().evaluate(element => element === document.activeElement))
    await page.keyboard.press('Escape')
    await page.getByText('Esc again stops').waitFor()
    expect(asked('stop turn')).toEqual([])
    await page.keyboard.press('Escape')
    await button('Keep').waitFor()
    expect(asked('stop turn').length).toBe(1)
  })

  test('an editor follows what the AI writes', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ai.script = async turn => {
      await promise
      turn.write('src/worker.ts', 'export class Worker { inDoubt = true }\n')
      await turn.stopped
    }
    await open()
    await page.getByRole('tab', { name: 'worker.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('Worker').waitFor()
    await page.keyboard.press('Alt+j')
    await ask(page, QUESTION)
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    resolve()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('inDoubt').waitFor()
  })

  test('a stopped turn waits for Keep or for Discard, which asks once more; the message has the focus', async () => {
    ai.script = HALF_A_TURN
    await open()
    await ask(page, QUESTION)
    await button('Stop').click()
    await page.getByText('2 files changed: worker.ts, lease.ts.').waitFor()
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.type('And now?')
    await page.keyboard.press('Enter')
    // Asks what to do with its files before anything is sent.
    await page.getByRole('dialog', { name: 'Keep the changes of the last turn to 2 files?' }).waitFor()
    await page.keyboard.press('Escape')
    expect(asked('end turn')).toEqual([])
    await button('Discard').click()
    const dialog = page.getByRole('dialog')
    await until(() => dialog.getByRole('button', { name: 'Cancel' }).evaluate(e => e === document.activeElement))
    await dialog.getByRole('button', { name: 'Discard' }).click()
    await button('Keep').waitFor({ state: 'detached' })
    expect(asked('end turn')).toMatchObject([{ keep: false }])
    expect(await log().getByText('running', { exact: true }).count()).toBe(0)
  })

  test('what is written while a turn runs is sent when that has ended, and never twice', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ai.script = async (turn, text) => {
      if (text === 'first') await promise
      turn.done(`Do the ${text}`, [{ path: 'src/worker.ts', status: 'changed', added: 1 }])
    }
    await open()
    await ask(page, 'first')
    await button('Stop').waitFor()
    await field().fill('second')
    await page.keyboard.press('Enter')
    await page.getByText('Sent when this turn has ended well').waitFor()
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    resolve()
    await until(() => asked('send').length === 2)
    await page.keyboard.press('Alt+j')
    await log().getByText('Do the second').waitFor()
    expect(asked('send').map(question => 'text' in question && question.text)).toEqual(['first', 'second'])
  })

  test('Shift and Enter make a line; what is written stays over tabs, branches and a reload', async () => {
    await open()
    await field().fill('one')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('two')
    await page.getByRole('tab', { name: 'worker.ts' }).click()
    await page.keyboard.press('Alt+2')
    await field().waitFor()
    expect(await field().inputValue()).toBe('')
    await page.keyboard.press('Alt+1')
    await page.reload()
    await page.getByRole('tab', { name: 'worker.ts' }).waitFor()
    await page.keyboard.press('Alt+m')
    await field().waitFor()
    await until(async () => (await field().inputValue()) === 'one\ntwo')
    expect(asked('send')).toEqual([])
  })

  test('unsaved drafts are saved, discarded, or nothing is sent', async () => {
    ai.script = async turn => turn.done('Do it', [{ path: 'src/worker.ts', status: 'changed', added: 1 }])
    await open()
    const edit = async () => {
      await page.getByRole('tab', { name: /^worker.ts/ }).click()
      await page.getByRole('textbox', { name: 'Editor' }).click()
      await page.keyboard.type('// typed\r')
      await page.getByRole('tab', { name: 'worker.ts , draft' }).waitFor()
      await page.keyboard.press('Alt+j')
    }
    await edit()
    await ask(page, 'one')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(asked('send')).toEqual([])
    expect(await field().inputValue()).toBe('one')
    await button('Send').click()
    await button('Save and send').click()
    await until(() => asked('send').length === 1)
    expect(asked('save').length).toBe(1)
    await log().getByText('Do it').waitFor()
    await edit()
    await ask(page, 'two')
    await button('Discard and send').click()
    await until(() => asked('send').length === 2)
    expect(asked('discard').length).toBe(1)
  })

  test('a message that is refused says why, and stays', async () => {
    desk.refused.set('send', 'The key has no credit left at OpenRouter: top it up there, or choose another model.')
    await open()
    await ask(page, QUESTION)
    await page.getByText('The key has no credit left').waitFor()
    expect(await field().inputValue()).toBe(QUESTION)
  })

  test('a wait for another try counts down, and nothing moves', async () => {
    ai.script = async turn => {
      turn.text('cut in the mid')
      await Bun.sleep(120)
      turn.again('The provider is overloaded', 12)
      await turn.stopped
    }
    await open()
    await ask(page, QUESTION)
    const row = page.locator('.doing')
    await row.getByText('tries again in').waitFor()
    expect(await log().getByText('cut in the mid').count()).toBe(0)
    const places = [JSON.stringify(await row.boundingBox())]
    const words = await row.textContent()
    await until(async () => (await row.textContent()) !== words)
    places.push(JSON.stringify(await row.boundingBox()))
    expect(new Set(places).size).toBe(1)
  })

  test('a tool of the repository is looked at before it runs: the safe button has the focus', async () => {
    ai.script = async turn => {
      const call = turn.call({ name: 'store_stats', title: 'postgres', state: 'waits' })
      const isApproved = await turn.waits({ ...TOOL_APPROVAL, call: call.id }, 'store_stats is to be looked at')
      turn.call({ ...call, state: isApproved ? 'done' : 'failed', words: isApproved ? 'approved' : 'refused' })
      turn.end({ how: 'done' })
    }
    await open()
    await ask(page, 'How many?')
    await page.getByRole('tab', { name: `${BRANCH} , the AI waits for you` }).waitFor()
    await page.getByText('Turn 4 · waits for you: store_stats is to be looked at').waitFor()
    await page.keyboard.press('Alt+y')
    const dialog = page.getByRole('dialog', { name: 'Let the AI use the changed tool store_stats?' })
    await dialog.locator('.dl.a').first().waitFor()
    expect(await dialog.getByRole('button', { name: /Not now/ }).evaluate(e => e === document.activeElement)).toBe(true)
    await dialog.getByRole('tab', { name: 'Whole source' }).click()
    await dialog.locator('.code-line', { hasText: 'queriesOf(source: string)' }).waitFor()
    await dialog.getByRole('button', { name: 'Refuse' }).click()
    await log().getByText('refused', { exact: true }).waitFor()
    expect(asked('approve tool')).toMatchObject([{ oid: TOOL_APPROVAL.oid, isApproved: false }])
  })

  test('a tool that changed while it was looked at is not approved', async () => {
    ai.of(BRANCH).approvals = [TOOL_APPROVAL]
    await open()
    await page.getByRole('button', { name: 'Review store_stats.ts' }).click()
    await button('Approve').waitFor()
    ai.of(BRANCH).approvals = [{ ...TOOL_APPROVAL, oid: 'b'.repeat(40) }]
    await button('Approve').click()
    await page.getByText('The tool is another one now.').waitFor()
  })

  test('the circle of a file, and Alt+A, give the AI all of it, or take it out', async () => {
    await open()
    const row = page.getByRole('treeitem', { name: 'worker.ts', exact: true })
    expect(await row.getAttribute('aria-description')).toBe('its summary is in the AI’s context')
    await row.locator('.ctx').click()
    await until(async () => (await row.getAttribute('aria-description')) === 'whole in the AI’s context')
    await page.getByText('5 files in full', { exact: true }).waitFor()
    await row.click()
    await page.keyboard.press('Alt+a')
    await until(async () => (await row.getAttribute('aria-description')) === 'its summary is in the AI’s context')
    expect(asked('set context')).toMatchObject([
      { path: 'src/worker.ts', isWhole: true },
      { path: 'src/worker.ts', isWhole: false },
    ])
    await page.keyboard.press('Alt+j')
    const rail = page.getByRole('complementary', { name: 'This conversation' })
    await rail.getByRole('button', { name: 'Remove AGENTS.md from the context' }).click()
    await page.getByText('3 files in full', { exact: true }).waitFor()
  })

  test('a model is chosen for this branch alone', async () => {
    await open()
    await page.keyboard.press('Alt+Shift+M')
    const choice = page.getByRole('combobox', { name: 'Model' })
    await until(() => choice.evaluate(element => element === document.activeElement))
    await choice.selectOption('openrouter/some/large-model')
    await until(() => asked('choose model').length === 1)
    expect(ai.of(BRANCH).model).toBe('openrouter/some/large-model')
    expect(ai.of('http-metrics').model).toBe('anthropic/opus-5.5')
  })

  test('a turn can be undone; one that can not says why', async () => {
    await open()
    const undo = log().getByRole('button', { name: 'Undo this turn' })
    expect(await undo.first().getAttribute('aria-disabled')).toBe('true')
    await log().getByText('It was taken back.').first().waitFor()
    await undo.last().click()
    await page.locator('.toast').getByText('Undone: turn in lease-renewal').waitFor()
    expect(asked('undo turn')).toMatchObject([{ turn: 'past-3' }])
  })

  test('a turn that ended in a crash waits at the next start', async () => {
    ai.of(BRANCH).turn = {
      id: 'past-3',
      state: 'unfinished',
      words: 'The desk ended in the middle of the turn',
      since: 0,
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      files: ['src/worker.ts'],
    }
    await open()
    await page.getByText('The desk ended in the middle of the turn').waitFor()
    await page.keyboard.press('Alt+Shift+Y')
    await until(() => asked('end turn').length === 1)
    expect(asked('end turn')).toMatchObject([{ keep: true }])
  })

  test('a commit shows the conversation up to it, to be read and gone on with', async () => {
    const [tip] = desk.branches.get(BRANCH)?.commits ?? []
    ai.past.set(tip?.oid ?? '', ai.of(BRANCH).items.slice(0, 3))
    await open()
    await page.keyboard.press('Alt+h')
    await page.getByRole('option').first().dblclick()
    await log().getByText('Nobody: the row is left as it was.').waitFor()
    expect(await field().count()).toBe(0)
    await page.locator('.then-bar').getByRole('button', { name: 'Branch from here' }).click()
    await page.getByRole('dialog', { name: 'New branch' }).waitFor()
  })

  test('whoever looks at a file is told that the last turn was not completed', async () => {
    ai.script = HALF_A_TURN
    await open()
    await ask(page, QUESTION)
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    await page.keyboard.press('Alt+q')
    await page.getByText('The last turn of the AI was not completed').waitFor()
    await button('Go to the chat').click()
    await button('Keep').click()
    await until(() => asked('end turn').length === 1)
  })

  test('what was asked in a turn that failed is in the message again, which has the focus, and can be sent at once', async () => {
    ai.script = async turn => turn.unfinished('The key was refused (401): set another one.', [])
    await open()
    await ask(page, QUESTION)
    await page.getByText('The key was refused (401): set another one.').first().waitFor()
    await until(async () => (await field().inputValue()) === QUESTION)
    await page.locator('textarea:focus').waitFor()
    ai.script = HALF_A_TURN
    await page.keyboard.press('Enter')
    await until(() => asked('send').length === 2)
    // A failure without changes is in no commit.
    expect(asked('end turn')).toEqual([expect.objectContaining({ keep: false })])
  })

  test('what is written goes along when its branch is renamed', async () => {
    await open()
    await field().fill('not sent yet')
    await page.keyboard.press('Shift+F2')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').fill('lease-renewed')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'lease-renewed' }).waitFor()
    await until(async () => (await field().inputValue()) === 'not sent yet')
  })

  test('two windows show the same turn', async () => {
    ai.script = HALF_A_TURN
    await open()
    const other = await openDesk(browser.context, desk)
    await ask(page, QUESTION)
    await other.getByRole('log').getByText('keeper.inDoubt').waitFor()
    expect(await other.getByRole('button', { name: 'Stop', exact: true }).count()).toBe(1)
    await other.close()
  })

  test('a window that was away has the conversation again', async () => {
    await open()
    desk.breakConnections()
    ai.of(BRANCH).items = [...ai.of(BRANCH).items, { kind: 'note', words: 'said while nobody listened', isBad: false }]
    await log().getByText('said while nobody listened').waitFor()
  })

  test('the chat stands beside the editor where there is room, and is a tab where not', async () => {
    await open()
    await page.getByRole('tab', { name: 'worker.ts' }).click()
    await page.keyboard.press('Alt+Shift+J')
    const dock = page.getByRole('complementary', { name: 'AI chat' })
    await dock.getByRole('log').waitFor()
    await page.keyboard.press('Alt+m')
    await until(() => field().evaluate(element => element === document.activeElement))
    expect(await page.getByRole('textbox', { name: 'Editor' }).count()).toBe(1)
    await page.setViewportSize({ width: 1100, height: 800 })
    await dock.waitFor({ state: 'detached' })
    await page.setViewportSize({ width: 1280, height: 800 })
    await dock.getByRole('button', { name: 'Move the chat to its tab' }).click()
    await dock.waitFor({ state: 'detached' })
  })

  test('selection in a finished block survives, and the end is followed only from the end', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ai.script = async turn => {
      turn.text('A finished paragraph.\n\nAnother one.\n\nA third one.\n\n')
      await promise
      await turn.type('More and more words.\n\n'.repeat(60), 200)
      turn.text('The last word.')
      await turn.stopped
    }
    await open()
    await ask(page, QUESTION)
    const first = log().getByText('A finished paragraph.')
    await first.waitFor()
    await first.evaluate(element => getSelection()?.selectAllChildren(element))
    await first.evaluate(element => Object.assign(element, { isTheSame: true }))
    resolve()
    await log().getByText('The last word.').waitFor()
    expect(await page.evaluate(() => String(getSelection()))).toBe('A finished paragraph.')
    expect(await first.evaluate(element => 'isTheSame' in element)).toBe(true)
    expect(await distanceToEnd(log())).toBeLessThan(2)
    await log().evaluate(element => element.scrollBy(0, -400))
    await Bun.sleep(50)
    const top = await log().evaluate(element => element.scrollTop)
    ai.say(BRANCH, { is: 'text', turn: 'turn-1', delta: '\n\nStill more.\n\nAnd more.' })
    await log().getByText('And more.').waitFor()
    expect(await log().evaluate(element => element.scrollTop)).toBe(top)
  })

  test('a message that was sent is seen, wherever one was reading', async () => {
    ai.script = async turn => {
      turn.text('Here it is.')
      await turn.stopped
    }
    await open()
    await log().evaluate(element => element.scrollTo(0, 0))
    await ask(page, QUESTION)
    await log().getByText('Here it is.').waitFor()
    await until(async () => (await distanceToEnd(log())) < 2)
  })

  test('markdown is shown as such, code in the colours of the editor, and all of it can be copied', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    ai.script = async turn => {
      await turn.type(RICH_ANSWER, 40, 1)
      turn.end({ how: 'done' })
    }
    await open()
    await ask(page, QUESTION)
    const block = log().locator('.code-block')
    await block.locator('.x-key', { hasText: 'export' }).waitFor()
    await block.getByRole('button', { name: 'Copy' }).click()
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith('const MAX_MISSES'))
    expect(await log().locator('table td').allInnerTexts()).toEqual(['slow store', '12', '1', 'lost lease', '∞', '3'])
    expect(await log().locator('.prose ol > li > ul > li').count()).toBe(2)
    await log().getByRole('link', { name: 'the design' }).click()
    await page.getByRole('tab', { name: 'design.md' }).waitFor()
  })

  test('what comes is said once it is whole', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ai.script = async turn => {
      turn.text('The first paragraph is whole.\n\nThe second is')
      await promise
      turn.done('Say it', [])
    }
    await open()
    expect(await log().getAttribute('aria-live')).toBe('off')
    await ask(page, QUESTION)
    const spoken = page.getByRole('status', { name: 'What the AI says' })
    await spoken.getByText('The first paragraph is whole.').waitFor()
    expect(await spoken.textContent()).not.toContain('second')
    resolve()
    await spoken.getByText('The turn has ended: done.').waitFor()
  })

  test('every action of the chat is in the palette, with its keys', async () => {
    ai.of(BRANCH).approvals = [TOOL_APPROVAL]
    await open()
    await field().fill('x')
    await page.keyboard.press('Alt+k')
    const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    for (const words of [
      'Write to the AI',
      'Send the message',
      'Undo the last turn',
      'Review the tool store_stats.ts…',
      'Select the model…',
      'Allow the AI to run commands…',
      'Chat beside the editor',
    ]) {
      await keys.getByText(words, { exact: true }).waitFor()
    }
  })

  test('without a model the chat says what to set', async () => {
    ai.of(BRANCH).missing = 'No model yet: set ANTHROPIC_API_KEY.'
    ai.of(BRANCH).items = []
    page = await openDesk(browser.context, desk)
    // A branch opens on the ways to its files.
    await page.getByRole('button', { name: 'Go to file…' }).waitFor()
    expect(await page.getByText('The chat needs a model').count()).toBe(0)
    await page.keyboard.press('Alt+j')
    await page.getByText('The chat needs a model').waitFor()
    await page.getByText('No model yet: set ANTHROPIC_API_KEY.').waitFor()
    expect(await page.getByRole('button', { name: 'Send', exact: true }).getAttribute('aria-disabled')).toBe('true')
  })

  test('that a conversation is public is said once', async () => {
    ai.of(BRANCH).isPublicNew = true
    await open()
    await button('Got it').click()
    await page.reload()
    await field().waitFor()
    expect(await button('Got it').count()).toBe(0)
  })

  function distanceToEnd(of: Locator): Promise<number> {
    return of.evaluate(element => element.scrollHeight - element.scrollTop - element.clientHeight)
  }
})
