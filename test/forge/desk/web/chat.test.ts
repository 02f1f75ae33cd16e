/** The conversation with an AI in a real browser. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { ModelError } from '../../../../forge/ai/request.ts'
import { SetModels } from '../../../../forge/desk/chat/models.ts'
import { tokens } from '../../../../forge/desk/web/ui/figures.ts'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { commit, git } from '../../../support/git.ts'
import { type PageDesk, tabOf } from '../../../support/page-desk.ts'
import { makeFolder } from '../../../support/repository.ts'
import { type Script, ScriptedModel, write } from '../../../support/scripted-model.ts'
import {
  ask,
  BRANCH,
  conversationOf,
  FOREVER,
  HALF_A_TURN,
  inPieces,
  OTHER_MODEL,
  openConversation,
  QUESTION,
  RICH_ANSWER,
  TOOL,
  TOOL_SOURCE,
} from './conversation-scene.ts'
import { type DeskPage, openPage, openScene, settled, showBranch, until } from './page-scene.ts'

const STORE_STATS = { name: 'store_stats', arguments: { store: 'postgres' } }

describe.skipIf(!hasBrowser)('the conversation', () => {
  let browser: OpenBrowser
  let desk: PageDesk
  let page: DeskPage
  const model = new ScriptedModel([])

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  afterEach(async () => {
    const { troubles } = page
    await page.close()
    await desk[Symbol.asyncDispose]()
    expect(troubles).toEqual([])
  })

  /** Opens the page on a desk whose model follows the script. */
  const open = async (script: Script = []) => {
    desk = await openConversation({ model })
    await openOn(script)
  }
  const openOn = async (script: Script = []) => {
    model.play(script)
    page = await openPage(browser.context, desk)
    await field().waitFor()
  }
  const log = () => page.getByRole('log', { name: 'Conversation' })
  const field = () => page.getByRole('textbox', { name: 'Message', exact: true })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  /** Sends a message, and another one while its turn runs. */
  const askAndQueue = async (first: string, second: string) => {
    await ask(page, first)
    await button('Stop').waitFor()
    await field().fill(second)
    await page.keyboard.press('Enter')
    await page.getByText('Sent when this turn has ended well').waitFor()
  }
  const asked = (kind: string) => desk.proxy.asked.filter(question => question.ask === kind)

  test('a message is answered as it comes, and ends with its commit, whose diff is a click away', async () => {
    const replace = 'export class Worker {\n  inDoubt = false\n}'
    const edits = [{ search: 'export class Worker {}', replace }]
    await open([
      { calls: [{ name: 'search_replace', arguments: { path: 'src/worker.ts', edits } }] },
      { pieces: () => inPieces('It **asks** before each claim.\n\nDone.', 12), usage: { input: 148_000 } },
      { text: 'Stop claiming in doubt' },
    ])
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
    await log().getByText('Edited src/worker.ts').waitFor()
    await card.getByRole('button', { name: 'Diff' }).click()
    await page.getByRole('tab', { name: 'By commit' }).waitFor()
    expect(await page.getByRole('tab', { name: 'By commit' }).getAttribute('aria-selected')).toBe('true')
  })

  test('the id of a turn’s commit leads to it in History, also where the turn has changed no file', async () => {
    await open([{ text: 'The worker asks first.' }])
    await ask(page, QUESTION)
    await until(async () => (await desk.git('log', '-1', '--format=%s', BRANCH)).startsWith('chat: Now the worker'))
    const found = await desk.git('log', '-1', '--format=%H', '--grep=Bound renewals', BRANCH)
    const commits = [await desk.git('rev-parse', BRANCH), found]
    for (const commit of commits) {
      await log()
        .getByRole('button', { name: commit.slice(0, 8), exact: true })
        .click()
      await page.getByRole('complementary', { name: 'Commit', exact: true }).getByText(commit).waitFor()
      await page.getByRole('tab', { name: BRANCH }).click()
    }
  })

  test('while a turn runs, files are read-only, the tabs say so, and Escape stops it at the second press', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await button('Stop').waitFor()
    await page.getByRole('tab', { name: `${BRANCH} , the AI is working` }).waitFor()
    await page.getByRole('tab', { name: 'lease.ts , read-only while the AI works' }).click()
    const editor = page.getByRole('textbox', { name: 'Editor' })
    await editor.waitFor()
    await editor.click()
    await page.keyboard.type('typed in between')
    await page.getByText('Turn 4 · Thinks').waitFor()
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

  test('what was typed just before a turn is kept, and that the AI is at work is said once', async () => {
    await open([{ until: FOREVER }])
    await page.getByRole('tab', { name: 'worker.ts' }).click()
    const arrive = desk.proxy.hold('edit')
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('x')
    await until(() => asked('edit').length > 0)
    await desk.ask({ ask: 'send', branch: BRANCH, text: QUESTION })
    const reason = page.getByText('The AI is at work in').filter({ visible: true })
    await reason.waitFor()
    arrive()
    await page.getByText('What you typed last is kept in this window').waitFor()
    expect(await reason.count()).toBe(1)
  })

  test('an editor follows what the AI writes', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const text = 'export class Worker { inDoubt = true }\n'
    await open([{ until: promise, calls: [write('src/worker.ts', text)] }, { until: FOREVER }])
    await page.getByRole('tab', { name: 'worker.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('Worker').waitFor()
    await page.keyboard.press('Alt+j')
    await ask(page, QUESTION)
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    resolve()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('inDoubt').waitFor()
  })

  test('a commit from outside while a turn runs is no change of the turn, and a notice says that there is one', async () => {
    await open(HALF_A_TURN)
    const base = await desk.git('rev-parse', BRANCH)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    const lease = await desk.git('show', `${BRANCH}:src/queue/lease.ts`)
    await desk.commit(BRANCH, { 'src/queue/lease.ts': `// outside\n${lease}\n`, 'README.md': 'outside\n' })
    await page.getByText(`${BRANCH} moved outside the desk: 1 new commit by Una Upstream`).waitFor()
    await page.getByText('Its changes are merged onto the new commit when its turn is over.').waitFor()
    await page
      .getByRole('contentinfo')
      .getByText(`2 files changed since ${base.slice(0, 8)}`)
      .waitFor()
    await page.getByRole('tab', { name: /^lease.ts/ }).click()
    await page.getByText(`+1 −1 since ${base.slice(0, 8)}`).waitFor()
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: 'Unsaved changes' }).click()
    const changes = page.getByRole('button', { name: /^Diff of / })
    await until(async () => (await changes.count()) === 2)
    expect(await page.getByRole('button', { name: 'Diff of README.md' }).count()).toBe(0)
    expect(await page.getByText('// outside').count()).toBe(0)
    await desk.ask({ ask: 'stop turn', branch: BRANCH })
    await until(async () => (await conversationOf(desk)).turn?.state === 'unfinished')
    await desk.ask({ ask: 'end turn', branch: BRANCH, keep: true })
    await page.getByRole('contentinfo').getByText('2 drafts since').waitFor()
    const tip = await desk.git('rev-parse', BRANCH)
    expect(await page.getByRole('contentinfo').textContent()).toContain(tip.slice(0, 8))
  })

  test('a file that is renamed outside while a turn waits stays open as the AI has it, and follows after Keep', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await page.getByRole('tab', { name: /^lease.ts/ }).click()
    const edited = page.getByRole('textbox', { name: 'Editor' }).getByText('export const RENEW_AT')
    await edited.waitFor()
    const lease = await desk.git('show', `${BRANCH}:src/queue/lease.ts`)
    await desk.commit(BRANCH, { 'src/queue/lease.ts': null, 'src/queue/renewed.ts': `${lease}\n` })
    await page.getByText('Its changes are merged onto the new commit when its turn is over.').waitFor()
    await settled(page)
    expect(await page.getByRole('tab', { name: /^renewed.ts/ }).count()).toBe(0)
    expect(await edited.isVisible()).toBe(true)
    await desk.ask({ ask: 'stop turn', branch: BRANCH })
    // What became of the turn is said first, and what becomes of its changes after it.
    await page.getByTitle('Show the next notice').click()
    await page.getByText('Its changes are merged onto the new commit when you keep them.').waitFor()
    expect(await page.getByRole('textbox', { name: 'Commit message' }).count()).toBe(0)
    await desk.ask({ ask: 'end turn', branch: BRANCH, keep: true })
    await page.getByRole('tab', { name: 'renewed.ts , draft', selected: true }).waitFor()
    await edited.waitFor()
    await page.getByRole('textbox', { name: 'Commit message' }).waitFor()
  })

  test('a stopped turn waits for Keep or for Discard, which asks once more; the message has the focus', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await button('Stop').click()
    await page.getByText('2 files changed: worker.ts, lease.ts.').waitFor()
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.type('And now?')
    await page.keyboard.press('Enter')
    // The page asks what to do with the files of the last turn before anything is sent.
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
    // What was written meanwhile is still in the field, behind the message of the turn.
    expect(await field().inputValue()).toBe(`${QUESTION}\n\nAnd now?`)
  })

  test('the message of a discarded turn is in the field again, until its undo, and after a redo, too', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await button('Stop').click()
    await button('Discard').click()
    expect(await field().inputValue()).toBe('')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await button('Keep').waitFor({ state: 'detached' })
    expect(await field().inputValue()).toBe(QUESTION)
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.press('Control+Alt+z')
    await button('Keep').waitFor()
    await until(async () => (await field().inputValue()) === '')
    await field().fill('half wri')
    await page.keyboard.press('Control+Alt+Shift+z')
    await button('Keep').waitFor({ state: 'detached' })
    await until(async () => (await field().inputValue()) === `${QUESTION}\n\nhalf wri`)
    await page.keyboard.press('Control+Alt+z')
    await button('Keep').waitFor()
    await until(async () => (await field().inputValue()) === 'half wri')
  })

  test('the message of a failed turn is not in the field twice after Discard, whether it was changed there or not', async () => {
    await open([{}])
    await ask(page, QUESTION)
    await until(async () => (await field().inputValue()) === QUESTION)
    const discard = async () => {
      await button('Discard').click()
      await page
        .getByRole('dialog', { name: 'Discard the last turn?' })
        .getByRole('button', { name: 'Discard' })
        .click()
      await button('Keep').waitFor({ state: 'detached' })
    }
    await discard()
    expect(await field().inputValue()).toBe(QUESTION)
    await page.keyboard.press('Control+Alt+z')
    await button('Keep').waitFor()
    await field().fill('In other words')
    await discard()
    expect(await field().inputValue()).toBe('In other words')
  })

  test('the discard of a turn without changes asks, too, and keeps its message above what is typed by then', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([{ until: promise, text: 'The first is done.' }, {}])
    await askAndQueue('first', 'second')
    await page.keyboard.type('half wri')
    resolve()
    await page.getByText('No file changed.').waitFor()
    await page.keyboard.press('Alt+Shift+q')
    await page.getByRole('dialog', { name: 'Discard the last turn?' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Alt+Shift+q')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await button('Keep').waitFor({ state: 'detached' })
    expect(await field().inputValue()).toBe('second\n\nhalf wri')
    expect(asked('send').map(question => 'text' in question && question.text)).toEqual(['first', 'second'])
  })

  test('the discard of a turn is undone by its notice, and by the key of the branch', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await button('Stop').click()
    const discard = async () => {
      await button('Discard').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
      await button('Keep').waitFor({ state: 'detached' })
    }
    const notice = page.locator('.toast')
    await discard()
    await notice.getByText(`Discarded the last turn in ${BRANCH}`).waitFor()
    await notice.getByRole('button', { name: 'Undo' }).click()
    await button('Keep').waitFor()
    await notice.getByText('Undone: discard what scripted did').waitFor()
    await discard()
    await notice.getByRole('button', { name: 'Dismiss' }).click()
    await page.keyboard.press('Control+Alt+z')
    await button('Keep').waitFor()
    expect((await conversationOf(desk)).turn?.files).toHaveLength(2)
  })

  test('that another turn prevents an undo is said until that turn is discarded', async () => {
    await open(HALF_A_TURN)
    const discard = async () => {
      await log().getByText('keeper.inDoubt').waitFor()
      await button('Stop').click()
      await button('Discard').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
      await button('Keep').waitFor({ state: 'detached' })
    }
    await ask(page, QUESTION)
    await discard()
    model.play(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await page.keyboard.press('Control+Alt+z')
    const refusal = page.getByText(`There is another turn of the AI in ${BRANCH}: nothing was undone.`)
    await refusal.waitFor()
    await discard()
    await refusal.waitFor({ state: 'detached' })
  })

  test('what a running turn has cost so far is in the sums, too', async () => {
    const second = Promise.withResolvers<void>()
    const calls = [{ name: 'get_lines', arguments: { path: 'src/worker.ts' } }]
    await open([{ calls, cost: 0.02 }, { calls, cost: 0.02, until: second.promise }, { until: FOREVER }])
    await ask(page, QUESTION)
    const rail = page.getByRole('complementary', { name: 'This conversation' })
    for (const cost of ['$0.02', '$0.04']) {
      await rail.locator('[aria-current=true]').getByText(cost).waitFor()
      await rail.getByRole('definition').filter({ hasText: cost }).waitFor()
      await page.getByRole('contentinfo').getByText(cost).waitFor()
      second.resolve()
    }
  })

  test('a message without an answer, whose turn was stopped, is sent with what was typed since', async () => {
    await open([{ until: FOREVER }])
    await ask(page, 'a long request')
    await page.getByText('Turn 4 · Thinks').waitFor()
    await field().fill('and use strict types')
    await button('Stop').click()
    await button('Keep').waitFor()
    model.play([{ text: 'Both are done.' }])
    await button('Send').click()
    await log().getByText('Both are done.').waitFor()
    await log().getByText('a long request').waitFor()
    const sent = JSON.stringify(model.requests.at(-1))
    for (const message of ['a long request', 'and use strict types']) expect(sent).toContain(message)
  })

  test('a message without an answer is sent once where it is in the field again after its turn was stopped', async () => {
    await open([{ until: FOREVER }])
    await ask(page, 'a long request')
    await page.getByText('Turn 4 · Thinks').waitFor()
    await button('Stop').click()
    await until(async () => (await field().inputValue()) === 'a long request')
    await page.reload()
    await button('Keep').waitFor()
    await until(async () => (await field().inputValue()) === 'a long request')
    await field().fill('Once more: a long request, and a short one')
    model.play([{ text: 'It is done.' }])
    await button('Send').click()
    await log().getByText('It is done.').waitFor()
    expect(JSON.stringify(model.requests.at(-1)).split('a long request')).toHaveLength(2)
  })

  test('a message without an answer stays in the conversation where another one is sent instead of it', async () => {
    await open([{ error: new ModelError('key', 'The key was refused (401): set another one.') }])
    await ask(page, 'a long request')
    await page.getByText('The last turn was not completed.').waitFor()
    await until(async () => (await field().inputValue()) === 'a long request')
    await field().fill('quite another one')
    model.play([{ text: 'It is done.' }])
    await button('Send').click()
    await log().getByText('It is done.').waitFor()
    await log().getByText('a long request').waitFor()
    expect(asked('end turn')).toEqual([expect.objectContaining({ keep: true })])
    expect(JSON.stringify(model.requests.at(-1))).toContain('a long request')
  })

  test('the message of a failed turn leaves the field when the turn is kept, but not what was written below it', async () => {
    const failed = new ModelError('key', 'The key was refused (401): set another one.')
    await open([{ calls: [write('src/queue/mod.ts', 'one\n')] }, { error: failed }])
    await ask(page, QUESTION)
    await button('Keep').waitFor()
    await until(async () => (await field().inputValue()) === QUESTION)
    await field().fill(`${QUESTION}\n\nand more`)
    await button('Keep').click()
    await until(async () => (await field().inputValue()) === 'and more')
    await log().getByText(QUESTION).first().waitFor()
  })

  test('a turn that failed names a renamed file once, and files of the same name with their folders', async () => {
    const rename = { name: 'rename_file', arguments: { from: 'src/queue/retry.ts', to: 'src/store/retry.ts' } }
    const calls = [rename, write('src/queue/mod.ts', 'one\n'), write('src/store/mod.ts', 'two\n')]
    await open([{ calls }, { error: new ModelError('key', 'The key was refused (401): set another one.') }])
    await ask(page, QUESTION)
    await page.getByText('3 files changed: retry.ts, queue/mod.ts, store/mod.ts.').waitFor()
    await button('Discard').click()
    const dialog = page.getByRole('dialog', { name: 'Discard the changes of the turn to 3 files?' })
    await dialog.getByRole('button', { name: 'Discard' }).click()
    await button('Keep').waitFor({ state: 'detached' })
  })

  test('the tab of a file that the AI renames and rewrites follows at once, and the file is saved as one after Keep', async () => {
    const [from, to] = ['src/queue/retry.ts', 'src/queue/again.ts']
    const { promise, resolve } = Promise.withResolvers<void>()
    const rename = { name: 'rename_file', arguments: { from, to } }
    desk = await openConversation({ model })
    await openOn([
      { calls: [rename, write(to, 'export const nothing = "of the old text"\n')] },
      { until: promise, error: new ModelError('key', 'The key was refused.') },
    ])
    await page.keyboard.press('Control+p')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('retry.ts')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'retry.ts', selected: true }).waitFor()
    await page.keyboard.press('Alt+j')
    await field().waitFor()
    await ask(page, QUESTION)
    await page.getByRole('tab', { name: /^again.ts/ }).click()
    await page.getByRole('textbox', { name: 'Editor' }).getByText('of the old text').waitFor()
    expect(await page.getByRole('tab', { name: /^retry.ts/ }).count()).toBe(0)
    const row = page.getByTitle(`${to}, renamed from ${from}`)
    await row.waitFor()
    resolve()
    await page.getByText('1 file changed').first().waitFor()
    await row.waitFor()
    await page.keyboard.press('Alt+j')
    await button('Keep').click()
    await page.getByRole('tab', { name: /^again.ts , draft/ }).waitFor()
    await row.waitFor()
    await page.getByRole('tab', { name: /^again.ts/ }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+s')
    await until(async () => /rename: .*retry.ts → .*again.ts/.test(await desk.git('log', '-1', '--format=%s', BRANCH)))
    expect(await desk.git('ls-tree', '-r', '--name-only', BRANCH, from, to)).toBe(to)
  })

  test('a file that the AI renamed, and that is typed in after Keep, is one changed file after the undo of Keep', async () => {
    const rename = { name: 'rename_file', arguments: { from: 'src/queue/retry.ts', to: 'src/queue/again.ts' } }
    await open([{ calls: [rename] }, { error: new ModelError('key', 'The key was refused.') }])
    await ask(page, QUESTION)
    await page.getByRole('contentinfo').getByText('1 file changed since').waitFor()
    await button('Keep').click()
    await button('Keep').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+p')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('again.ts')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Editor' }).press('Control+Home')
    await page.keyboard.type('// Typed after Keep')
    await desk.isText(BRANCH, 'src/queue/again.ts', text => text.startsWith('// Typed after Keep'))
    await page.keyboard.press('Control+Alt+z')
    await page.locator('.toast').getByText('what was typed in src/queue/again.ts is kept').waitFor()
    await page.getByRole('contentinfo').getByText('1 file changed since').waitFor()
  })

  test('what is written while a turn runs is sent when that has ended, and never twice', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([
      { until: promise, calls: [write('src/metrics.ts', 'first\n')] },
      { text: 'The first is done.' },
      { text: 'Do the first' },
      { calls: [write('src/metrics.ts', 'second\n')] },
      { text: 'The second is done.' },
      { text: 'Do the second' },
    ])
    await askAndQueue('first', 'second')
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    resolve()
    await until(() => asked('send').length === 2)
    await page.keyboard.press('Alt+j')
    await log().getByText('Do the second').waitFor()
    expect(asked('send').map(question => 'text' in question && question.text)).toEqual(['first', 'second'])
  })

  test('what is to be sent stays in the message, and nothing is asked, where the turn waits for a decision', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([
      { until: promise, calls: [write('src/metrics.ts', 'of the AI\n')] },
      { text: 'The first is done.' },
      { text: 'Do the first' },
    ])
    await askAndQueue('first', 'second')
    await desk.commit(BRANCH, { 'src/metrics.ts': 'of a terminal\n' })
    resolve()
    await page.getByText("can't be merged with it").first().waitFor()
    await until(async () => (await page.getByText('Sent when this turn has ended well').count()) === 0)
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await field().inputValue()).toBe('second')
    expect(asked('send')).toHaveLength(1)
    // On request, the question says why it is asked.
    await button('Send').click()
    await page.getByRole('dialog').getByText("can't be merged with it").waitFor()
  })

  test('a queued message is in the field again where the model answered nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([{ until: promise }])
    await askAndQueue('first', 'second')
    resolve()
    await until(async () => (await field().inputValue()) === 'first\n\nsecond')
    await log().getByText('The model’s answer was empty').waitFor()
    expect(asked('send')).toHaveLength(1)
  })

  test('the message of a failed turn is put once before what was typed meanwhile, and both are sent as one', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([{ until: promise }, { text: 'Both are done.' }])
    await ask(page, 'first')
    await button('Stop').waitFor()
    await field().fill('second')
    resolve()
    await until(async () => (await field().inputValue()) === 'first\n\nsecond')
    await field().fill('first, in other words\n\nsecond')
    await page.reload()
    await button('Discard').waitFor()
    await settled(page)
    expect(await field().inputValue()).toBe('first, in other words\n\nsecond')
    await button('Send').click()
    await log().getByText('Both are done.').waitFor()
    expect(asked('end turn')).toMatchObject([{ keep: false }])
    expect(await field().inputValue()).toBe('')
  })

  test('what is to be sent when the turn has ended is so after a reload, too', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([
      { until: promise, calls: [write('src/metrics.ts', 'first\n')] },
      { text: 'The first is done.' },
      { text: 'Do the first' },
      { text: 'The second is done.' },
    ])
    await askAndQueue('first', 'second')
    await page.reload()
    await page.getByRole('region', { name: 'Queued message' }).getByText('second').waitFor()
    expect(await field().inputValue()).toBe('')
    await field().fill('third')
    await page.reload()
    await page.getByRole('region', { name: 'Queued message' }).getByText('second').waitFor()
    expect(await field().inputValue()).toBe('third')
    resolve()
    await log().getByText('The second is done.').waitFor()
    expect(await field().inputValue()).toBe('third')
  })

  test('what is typed after a message was queued is another message; the queued one can be taken back', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([{ until: promise, text: 'The first is done.' }, { text: 'The second is done.' }])
    await askAndQueue('first', 'second')
    const queued = page.getByRole('region', { name: 'Queued message' })
    await page.keyboard.type('third')
    expect(await field().inputValue()).toBe('third')
    await button('Cancel and edit').click()
    await queued.waitFor({ state: 'detached' })
    await page.locator('textarea:focus').waitFor()
    expect(await field().inputValue()).toBe('second\n\nthird')
    await field().fill('second')
    await page.keyboard.press('Control+Enter')
    await queued.getByText('second').waitFor()
    await page.keyboard.type('third')
    resolve()
    await log().getByText('The second is done.').waitFor()
    await queued.waitFor({ state: 'detached' })
    expect(asked('send').map(question => 'text' in question && question.text)).toEqual(['first', 'second'])
    expect(await field().inputValue()).toBe('third')
  })

  test('a long queued message is shown whole on request', async () => {
    await open([{ until: FOREVER }])
    const lines = Array.from({ length: 6 }, (_, at) => `${at + 1}. thing to do`)
    await askAndQueue('first', lines.join('\n'))
    const queued = page.getByRole('region', { name: 'Queued message' })
    const isWhole = () => queued.locator('.as-typed').evaluate(it => it.scrollHeight <= it.clientHeight + 1)
    expect(await isWhole()).toBe(false)
    await queued.getByRole('button', { name: 'Show more' }).click()
    await until(isWhole)
    await queued.getByRole('button', { name: 'Show less' }).click()
    await until(async () => !(await isWhole()))
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
    await open([{ calls: [write('src/metrics.ts', 'done\n')] }, { text: 'It is done.' }, { text: 'Do it' }])
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

  test('what is typed on while a question about drafts appears is the next message', async () => {
    await open([{ text: 'Do it' }])
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('// typed\r')
    await page.getByRole('tab', { name: 'worker.ts , draft' }).waitFor()
    await page.keyboard.press('Alt+j')
    await ask(page, 'one')
    const question = page.getByRole('dialog', { name: 'Save the draft first?' })
    await question.waitFor()
    await page.keyboard.type('and then twoo')
    await page.keyboard.press('Backspace')
    await until(async () => (await field().inputValue()) === 'one\n\nand then two')
    await question.waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await until(() => asked('send').length === 1)
    expect(asked('send')).toMatchObject([{ text: 'one' }])
    await until(async () => (await field().inputValue()) === 'and then two')
  })

  test('a message that is refused says why, and stays', async () => {
    await open()
    const words = 'The key has no credit left at OpenRouter: top it up there, or choose another model.'
    desk.proxy.refused.set('send', words)
    await ask(page, QUESTION)
    await page.getByText('The key has no credit left').waitFor()
    expect(await field().inputValue()).toBe(QUESTION)
  })

  test('the reason of a refusal stays until the message is sent again or changed, or the reason is dismissed', async () => {
    await open([{ text: 'Yes.' }])
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('// typed\r')
    await page.getByRole('tab', { name: 'worker.ts , draft' }).waitFor()
    await page.keyboard.press('Alt+j')
    await ask(page, QUESTION)
    desk.proxy.refused.set('send', 'The key has no credit left.')
    await button('Discard and send').click()
    const reason = page.getByText('The key has no credit left.')
    const form = page.getByRole('form', { name: 'Message to the AI' })
    await reason.waitFor()
    // It stays when the drafts are gone that were discarded for the message.
    await page.getByRole('tab', { name: 'worker.ts', exact: true }).waitFor()
    await settled(page)
    await form.getByRole('button', { name: 'Dismiss' }).click()
    await reason.waitFor({ state: 'detached' })
    await page.locator('textarea:focus').waitFor()
    expect(await field().inputValue()).toBe(QUESTION)
    await button('Send').click()
    await reason.waitFor()
    await page.keyboard.press('Alt+m')
    await page.keyboard.type('!')
    await reason.waitFor({ state: 'detached' })
    await button('Send').click()
    await reason.waitFor()
    desk.proxy.refused.delete('send')
    const release = desk.proxy.hold('send')
    await button('Send').click()
    await reason.waitFor({ state: 'detached' })
    release()
    await log().getByText('Yes.').waitFor()
  })

  test('what the provider says of its fault is readable to its end while it is tried again', async () => {
    const words = `api.example.org has a fault (500); it says: ${'the backend has failed, '.repeat(8)}call support.`
    await open([{ text: 'So', again: { words, seconds: 12 }, resent: FOREVER, until: FOREVER }])
    await ask(page, QUESTION)
    const said = page.locator('.doing').getByText('call support.')
    await said.waitFor()
    expect(await said.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
  })

  test('a wait for another try counts down, and nothing moves', async () => {
    const again = { words: 'The provider is overloaded', seconds: 12 }
    const { promise: resent, resolve } = Promise.withResolvers<void>()
    await open([{ text: 'cut in the mid', again, resent, until: FOREVER }])
    await ask(page, QUESTION)
    const row = page.locator('.doing')
    await row.getByText('tries again in').waitFor()
    expect(await log().getByText('cut in the mid').count()).toBe(0)
    const places = [JSON.stringify(await row.boundingBox())]
    const words = await row.textContent()
    await until(async () => (await row.textContent()) !== words)
    places.push(JSON.stringify(await row.boundingBox()))
    expect(new Set(places).size).toBe(1)
    // The wait is over when the request is sent, which may be long before its answer begins.
    resolve()
    await row.getByText('Thinks').waitFor()
    expect(await row.getByText('tries again').count()).toBe(0)
  })

  test('a tool of the repository is looked at before it runs: the safe button has the focus', async () => {
    await open([{ calls: [STORE_STATS] }, { text: 'It was refused.' }])
    await ask(page, 'How many?')
    await page.getByRole('tab', { name: `${BRANCH} , the AI waits for you` }).waitFor()
    await page.getByText('Turn 4 · waits for you: store_stats').waitFor()
    await page.keyboard.press('Alt+y')
    const dialog = page.getByRole('dialog', { name: 'Let the AI use the changed tool store_stats?' })
    await dialog.locator('.dl.a').first().waitFor()
    expect(await dialog.getByRole('button', { name: /Not now/ }).evaluate(e => e === document.activeElement)).toBe(true)
    await dialog.getByRole('tab', { name: 'Whole source' }).click()
    await dialog.locator('.code-line', { hasText: 'queriesOf(source: string)' }).waitFor()
    await dialog.getByRole('button', { name: 'Refuse' }).click()
    await log().getByText('the user has not approved it').first().waitFor()
    const oid = await desk.git('rev-parse', `${BRANCH}:${TOOL}`)
    expect(asked('approve tool')).toMatchObject([{ oid, isApproved: false }])
  })

  test('a tool that changed while it was looked at is not approved', async () => {
    await open([
      { calls: [STORE_STATS] },
      { calls: [write(TOOL, `${TOOL_SOURCE}// Another one.\n`)] },
      { calls: [STORE_STATS] },
    ])
    await ask(page, 'How many?')
    await button('Review the tool').click()
    const [seen] = (await conversationOf(desk)).approvals
    if (!seen) throw new Error('Nothing waits')
    const arrive = desk.proxy.hold('approve tool')
    await button('Approve').click()
    // Another window refuses the tool; the AI changes it, and calls it again.
    await desk.ask({ ask: 'approve tool', branch: BRANCH, path: TOOL, oid: seen.oid, isApproved: false })
    await until(async () => {
      const [next] = (await conversationOf(desk)).approvals
      return next !== undefined && next.oid !== seen.oid
    })
    arrive()
    await page.getByText('has changed meanwhile: look at it again').waitFor()
    expect((await conversationOf(desk)).approvals).toHaveLength(1)
  })

  test('what the files of a message add to the context is counted before the first answer to it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const small = new ScriptedModel([{ until: promise, text: 'Nothing.' }], 8_000)
    const many = Array.from({ length: 800 }, (_, at) => [`many/p${at % 4}/q${at % 40}/handler${at}.ts`, `// ${at}\n`])
    const prepare = async (path: string) => void (await commit(path, BRANCH, Object.fromEntries(many)))
    desk = await openConversation({ model: small, hasTurns: false, prepare })
    page = await openPage(browser.context, desk)
    await field().waitFor()
    const context = async () => (await conversationOf(desk)).context
    const shown = async () => (await page.locator('details.foot').textContent()) ?? ''
    const isShown = async () => {
      const { used, words = '' } = await context()
      return (await shown()).includes(words) && (await shown()).includes(`${tokens(used)} of`)
    }
    await until(isShown)
    const { words: before } = await context()
    expect(before).toMatch(/^\d+ files are too many to be listed: [\d,]+ near/)
    await ask(page, 'What is in handler399.ts?')
    await button('Stop').waitFor()
    await until(() => small.requests.length === 1)
    expect((await context()).words).not.toBe(before)
    await until(isShown)
    resolve()
    await log().getByText('Nothing.').waitFor()
  })

  test('the circle of a file, and Alt+A, give the AI all of it, or take it out', async () => {
    await open()
    const row = page.getByRole('treeitem', { name: 'worker.ts', exact: true })
    // The tree is shown before what the server says of the context.
    await until(async () => (await row.getAttribute('aria-description')) === 'its summary is in the AI’s context')
    await row.locator('.ctx').click()
    await until(async () => (await row.getAttribute('aria-description')) === 'in the AI’s context')
    await page.getByText('5 files in full', { exact: true }).waitFor()
    // The sign of a whole file covers nothing of its row.
    const sign = await row.locator('.ctx').boundingBox()
    expect(Math.max(sign?.width ?? 99, sign?.height ?? 99)).toBeLessThanOrEqual(24)
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

  test('a file is in the context at once while a turn waits for Keep or Discard, and says if only a part is sent', async () => {
    desk = await openConversation({
      model,
      prepare: path => commit(path, BRANCH, { 'long.txt': 'a long line\n'.repeat(20_000) }),
    })
    await openOn(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    const row = page.getByRole('treeitem', { name: 'long.txt', exact: true })
    await row.locator('.ctx').click()
    const words = '5 files, 1 of them in part'
    await until(async () => (await row.getAttribute('aria-description')) === 'in the AI’s context')
    await page.getByText(words, { exact: true }).waitFor()
    await button('Stop').click()
    await button('Keep').waitFor()
    const rail = page.getByRole('complementary', { name: 'This conversation' })
    await rail.getByRole('list', { name: words }).getByText('first 36k').waitFor()
    await button('Keep').click()
    await button('Keep').waitFor({ state: 'detached' })
    await page.getByText(words, { exact: true }).waitFor()
  })

  test('an image in the context counts no tokens, and says that it is not sent', async () => {
    desk = await openConversation({
      model,
      prepare: path => commit(path, BRANCH, { 'image.gif': `GIF\0${'x'.repeat(100_000)}` }),
    })
    await openOn()
    const row = page.getByRole('treeitem', { name: 'image.gif', exact: true })
    await row.locator('.ctx').click()
    const words = '5 files, 1 not sent'
    await page.getByText(words, { exact: true }).waitFor()
    const rail = page.getByRole('complementary', { name: 'This conversation' })
    await rail.getByRole('list', { name: words }).getByText('not sent').waitFor()
  })

  test('in a narrow window, the files of the context show the end of their names and of their folders', async () => {
    const FOLDER = 'packages/service/src/main/java/org/example'
    const name = 'LeaseRenewalCoordinatorService'
    const paths = [`queue/${name}.java`, `queue/${name}Test.java`, 'store/Index.java', 'queue/Index.java']
    const files = paths.map(path => `${FOLDER}/${path}`)
    desk = await openConversation({
      model,
      hasTurns: false,
      prepare: path => commit(path, BRANCH, Object.fromEntries(files.map(file => [file, 'x\n']))),
    })
    for (const path of files) await desk.ask({ ask: 'set context', branch: BRANCH, path, isWhole: true })
    await openOn()
    await page.setViewportSize({ width: 800, height: 700 })
    await page.getByText('5 files in full', { exact: true }).click()
    const list = page.getByRole('list', { name: '5 files in full' })
    await list.getByRole('listitem').nth(4).waitFor()
    // The letters at the right end of each file's name and folder, as far as they are inside of the list's row.
    const ends = await list.locator('li').evaluateAll(rows =>
      rows.map(row =>
        ['.base-name', '.dir'].map(selector => {
          const box = row.querySelector(selector)
          const texts = document.createTreeWalker(box ?? row, NodeFilter.SHOW_TEXT)
          let last: Node | null = null
          while (texts.nextNode()) last = texts.currentNode
          const range = document.createRange()
          if (!last || !box) return ''
          const { length } = last.textContent ?? ''
          range.setStart(last, Math.max(0, length - 6))
          range.setEnd(last, length)
          const [end, room] = [range.getBoundingClientRect(), box.getBoundingClientRect()]
          return end.left >= room.left - 1 && end.right <= room.right + 1 ? range.toString() : 'cut'
        }),
      ),
    )
    expect(ends).toEqual([
      ['NTS.md', ''],
      ['e.java', 'queue/'],
      ['t.java', 'queue/'],
      ['x.java', 'store/'],
      ['x.java', 'queue/'],
    ])
  })

  test('a model is chosen for this branch alone', async () => {
    await open()
    const choice = page.getByRole('combobox', { name: 'Model' })
    await choice.waitFor()
    await page.keyboard.press('Alt+Shift+M')
    await until(() => choice.evaluate(element => element === document.activeElement))
    await choice.selectOption(OTHER_MODEL)
    await until(() => asked('choose model').length === 1)
    await until(async () => (await conversationOf(desk)).model === OTHER_MODEL)
    expect((await conversationOf(desk, 'http-metrics')).model).toBe(model.name)
  })

  test('a turn can be undone; one that can not says why', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    const undo = log().getByRole('button', { name: 'Undo this turn' })
    await log().getByText('A turn is running.').waitFor()
    expect(await undo.getAttribute('aria-disabled')).toBe('true')
    await button('Stop').click()
    await button('Discard').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await button('Keep').waitFor({ state: 'detached' })
    await field().fill('')
    await undo.click()
    await page
      .locator('.toast')
      .getByText(/^Undone: /)
      .waitFor()
    expect(asked('undo turn')).toHaveLength(1)
    // Its message is in the empty field again.
    await until(async () => (await field().inputValue()).startsWith('Renewals must not pile up'))
    expect(await desk.git('show', `${BRANCH}:src/queue/lease.ts`)).toContain('const RENEW_AT = 0.6')
  })

  test('a message that waits in the field keeps that of an undone turn above it, until the turn is redone', async () => {
    await open()
    await field().fill('half wri')
    await log().getByRole('button', { name: 'Undo this turn' }).last().click()
    await until(async () => /^Renewals must not pile up.*\n\nhalf wri$/s.test(await field().inputValue()))
    await page.keyboard.press('Control+Alt+Shift+z')
    await until(async () => (await field().inputValue()) === 'half wri')
  })

  test('the message of an undone turn leaves the field again when the turn is redone, unless it was changed', async () => {
    await open()
    const undo = log().getByRole('button', { name: 'Undo this turn' })
    await undo.last().click()
    await until(async () => (await field().inputValue()).startsWith('Renewals must not pile up'))
    await page.keyboard.press('Control+Alt+Shift+z')
    await until(async () => (await field().inputValue()) === '')
    await undo.last().click()
    await until(async () => (await field().inputValue()).startsWith('Renewals must not pile up'))
    await field().press('End')
    await field().pressSequentially(' And more.')
    await page.locator('.toast').getByRole('button', { name: 'Redo' }).click()
    await log().getByText('After three misses it aborts the job').waitFor()
    expect(await field().inputValue()).toContain('And more.')
  })

  test('the key that undoes the last operation brings the message of a turn back into the field, too', async () => {
    await open([{ calls: [write('src/metrics.ts', 'first\n')] }, { text: 'It is done.' }, { text: 'Do it' }])
    await ask(page, QUESTION)
    await log().getByText('Do it').waitFor()
    await field().fill('half wri')
    for (const _ of ['undo', 'undo after a redo']) {
      await page.keyboard.press('Control+Alt+z')
      await until(async () => (await field().inputValue()) === `${QUESTION}\n\nhalf wri`)
      await page.keyboard.press('Control+Alt+Shift+z')
      await until(async () => (await field().inputValue()) === 'half wri')
    }
  })

  test('the undo of a turn by a new commit says so, and has Undo in its notice', async () => {
    await open()
    const made = await desk.tip(BRANCH)
    await page.getByRole('tab', { name: 'lease.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).press('Control+Home')
    await page.keyboard.type('// Later')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.tip(BRANCH)) !== made)
    const later = await desk.tip(BRANCH)
    await page.keyboard.press('Alt+j')
    await log().getByRole('button', { name: 'Undo this turn' }).last().click()
    const notice = page.locator('.toast').filter({ hasText: 'Taken back by a new commit: ' })
    await notice.getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await desk.tip(BRANCH)) === later)
  })

  test('the undo of a turn by a new commit removes the notice of an undo that was refused before', async () => {
    await open()
    const made = await desk.tip(BRANCH)
    await page.getByRole('tab', { name: 'lease.ts' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).press('Control+Home')
    await page.keyboard.type('// Later')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+s')
    await until(async () => (await desk.tip(BRANCH)) !== made)
    await desk.commit(BRANCH, { 'elsewhere.txt': 'From another program.\n' }, { when: Math.floor(Date.now() / 1000) })
    await page.keyboard.press('Control+Alt+z')
    const refusal = page.getByText(`${BRANCH} has moved since: nothing was undone.`)
    await refusal.waitFor()
    await page.keyboard.press('Alt+j')
    await log().getByRole('button', { name: 'Undo this turn' }).last().click()
    await page.locator('.toast').getByText('Taken back by a new commit: ').waitFor()
    await refusal.waitFor({ state: 'detached' })
  })

  test('the files that the AI has edited in its turn are marked in the explorer, in tabs or not', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    const row = page.getByRole('treeitem', { name: /^worker\.ts/ })
    await row.locator('.mark').getByText('M').waitFor()
    await button('Stop').click()
    await button('Keep').waitFor()
    await row.locator('.mark').getByText('M').waitFor()
  })

  test('in a step, the key that undoes the last turn says why there is none to undo', async () => {
    await open()
    await desk.commit('main', { 'src/queue/lease.ts': 'const RENEW_AT = 0.1\n' })
    const source = { branch: 'main', commit: await desk.tip('main'), words: 'main' }
    await desk.ask({ ask: 'do', step: { step: 'merge', source, onto: BRANCH } })
    await page.getByText('merging').first().waitFor()
    await page.keyboard.press('Alt+u')
    const title = 'The AI’s turns in the merge are not committed yet: Undo takes back what was done last'
    await page.locator('.toast').getByText(title).waitFor()
    expect(asked('undo turn')).toEqual([])
  })

  test('a turn that was cut by the end of the desk waits at the next start', async () => {
    desk = await openConversation({ model })
    model.play(HALF_A_TURN)
    await desk.ask({ ask: 'send', branch: BRANCH, text: QUESTION })
    await until(async () => (await conversationOf(desk)).turn?.files.length === 2)
    await desk.restart()
    await openOn()
    await page.getByText('The desk was closed while it ran.').first().waitFor()
    await page.keyboard.press('Alt+Shift+Y')
    await until(() => asked('end turn').length === 1)
    expect(asked('end turn')).toMatchObject([{ keep: true }])
  })

  test('the notice of an undo covers neither Keep and Discard nor the message', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await button('Stop').click()
    await button('Keep').click()
    await button('Keep').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Alt+z')
    const notice = page.locator('.toast').getByText(/^Undone: /)
    await notice.waitFor()
    await button('Keep').waitFor()
    await settled(page)
    const below = (await page.locator('.toast').boundingBox()) ?? { y: 0, height: 0 }
    const strip = await page.getByRole('region', { name: 'The last turn was not completed' }).boundingBox()
    expect(below.y + below.height).toBeLessThanOrEqual(strip?.y ?? 0)
    await button('Keep').click({ timeout: 1_000 })
    await button('Keep').waitFor({ state: 'detached' })
  })

  test('a commit shows the conversation up to it, to be read and gone on with', async () => {
    await open()
    await page.keyboard.press('Alt+h')
    await page.getByRole('option').first().dblclick()
    await log().getByText('Nobody: the row is left as it was.').waitFor()
    expect(await field().count()).toBe(0)
    await page.locator('.then-bar').getByRole('button', { name: 'New branch from here' }).click()
    await page.getByRole('dialog', { name: 'New branch' }).waitFor()
  })

  test('that the branch of a turn was deleted is not said any more when the branch is there again', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await button('Stop').click()
    await button('Keep').waitFor()
    await desk.git('update-ref', '-d', `refs/heads/${BRANCH}`)
    await page.getByText(`${BRANCH} was deleted`, { exact: true }).waitFor()
    await button('Keep').click()
    await page.getByText(/^[12] of 2$/).waitFor()
    await page.getByText('restore it first').filter({ visible: true }).first().waitFor()
    await page.getByTitle('Show the next notice').click()
    await button('Restore branch').click()
    await page.getByText(`${BRANCH} was deleted`, { exact: true }).waitFor({ state: 'detached' })
    await settled(page)
    expect(await page.getByText('restore it first').filter({ visible: true }).count()).toBe(0)
    await button('Keep').click()
    await button('Keep').waitFor({ state: 'detached' })
  })

  test('a deleted branch with a turn that waits is in the list of branches, also after a restart, to be restored', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await desk.git('update-ref', '-d', `refs/heads/${BRANCH}`)
    await page.getByText('What the AI did in it is kept, also if you close this tab (Alt+B lists it).').waitFor()
    await button('Stop').click()
    await button('Keep').waitFor()
    await button('Close the tab').click()
    const option = page.getByRole('option', { name: `${BRANCH} deleted, has a turn` })
    const openByList = async () => {
      await page.keyboard.press('Alt+b')
      await option.click()
      await page.getByText(`${BRANCH} was deleted`, { exact: true }).waitFor()
    }
    await openByList()
    await button('Close the tab').click()
    await desk.restart()
    await openByList()
    await button('Restore branch').click()
    await page.getByText(`${BRANCH} was deleted`, { exact: true }).waitFor({ state: 'detached' })
    await page.keyboard.press('Alt+b')
    await page.getByRole('option', { name: new RegExp(`^${BRANCH}`) }).waitFor()
    expect(await option.count()).toBe(0)
    await page.keyboard.press('Escape')
    await button('Keep').click()
    await button('Keep').waitFor({ state: 'detached' })
    await desk.isText(BRANCH, 'src/worker.ts', text => text.includes('claims = true'))
  })

  test('a notice above a file says that the last turn was not completed', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    await page.keyboard.press('Alt+q')
    await page.getByText('The last turn of the AI was not completed').waitFor()
    await button('Go to the chat').click()
    await button('Keep').click()
    await until(() => asked('end turn').length === 1)
  })

  test('a draft that conflicts with a turn after the undo of Keep is resolved when that is kept or discarded', async () => {
    await open(HALF_A_TURN)
    await ask(page, QUESTION)
    await log().getByText('keeper.inDoubt').waitFor()
    await button('Stop').click()
    await button('Keep').click()
    await button('Keep').waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: /^worker.ts/ }).click()
    const text = page.getByRole('textbox', { name: 'Editor' })
    await text.getByText('claims = true').click()
    await page.keyboard.press('End')
    await page.keyboard.type(' // mine')
    await desk.isText(BRANCH, 'src/worker.ts', it => it.includes('mine'))
    await page.keyboard.press('Control+Alt+z')
    await page.locator('.toast').getByText('; what was typed in src/worker.ts is kept, and shown again when').waitFor()
    await page.getByRole('button', { name: /^[12] of 2$/ }).waitFor()
    const words = page.getByText(/^worker.ts is in conflict: keep or discard what the AI did, then resolve it/)
    if ((await words.count()) === 0) await button('1 of 2').click()
    await words.waitFor()
    await text.getByText('mine').waitFor({ state: 'detached' })
    for (const shown of [button('Resolve'), page.getByText('resolved', { exact: true })])
      expect(await shown.count()).toBe(0)
    await page.keyboard.press('Alt+Shift+k')
    await page.keyboard.press('Alt+j')
    await button('Discard').click()
    await page.getByRole('dialog').getByText('What was typed in src/worker.ts is shown again, as drafts.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await button('Keep').waitFor({ state: 'detached' })
    await button('Resolve').click()
    await page.getByRole('region', { name: 'Conflict 1 of 1', exact: true }).getByText('mine').waitFor()
  })

  test('what was asked in a turn that failed is in the message again, which has the focus, and can be sent at once', async () => {
    await open([{ error: new ModelError('key', 'The key was refused (401): set another one.') }])
    await ask(page, QUESTION)
    await page.getByText('The key was refused (401): set another one.').first().waitFor()
    await until(async () => (await field().inputValue()) === QUESTION)
    await page.locator('textarea:focus').waitFor()
    // The reason stands once, and the notice has room for all of its lines.
    const reasons = page.locator(':not(.vh)').getByText('The key was refused (401): set another one.')
    const isSeen = (all: Element[]) => all.filter(element => !element.matches('.vh')).length
    expect(await reasons.evaluateAll(isSeen)).toBe(1)
    const isWithin = (notice: Element) => notice.scrollHeight <= notice.clientHeight
    expect(await page.getByRole('region', { name: 'The last turn was not completed' }).evaluate(isWithin)).toBe(true)
    model.play(HALF_A_TURN)
    await page.keyboard.press('Enter')
    await until(() => asked('send').length === 2)
    // The failed turn has changed nothing: it is discarded, so that no commit contains it.
    expect(asked('end turn')).toEqual([expect.objectContaining({ keep: false })])
  })

  test('an empty answer says what to do next, and the message is in the field again, to be sent at once', async () => {
    await open([{}])
    await ask(page, QUESTION)
    const words = 'The model’s answer was empty: send the message again, or choose another model.'
    await log().getByText(words).waitFor()
    await page.getByText('The last turn was not completed.').waitFor()
    await until(async () => (await field().inputValue()) === QUESTION)
    await page.locator('textarea:focus').waitFor()
    model.play([{ text: 'Now it is answered.' }])
    await page.keyboard.press('Enter')
    await log().getByText('Now it is answered.').waitFor()
    expect(asked('end turn')).toEqual([expect.objectContaining({ keep: false })])
    expect(await log().getByText(words).count()).toBe(0)
  })

  for (const how of ['on the desk', 'by git branch -m'])
    test(`the model and the context go along when the branch is renamed ${how}`, async () => {
      await open()
      await page.getByRole('combobox', { name: 'Model' }).selectOption(OTHER_MODEL)
      await desk.ask({ ask: 'set context', branch: BRANCH, path: 'src/worker.ts', isWhole: true })
      await page.getByText('5 files in full', { exact: true }).waitFor()
      if (how === 'on the desk') await desk.ask({ ask: 'rename branch', branch: BRANCH, to: 'renamed' })
      else {
        await git(desk.path, 'config', 'core.logAllRefUpdates', 'true')
        await git(desk.path, 'branch', '-m', BRANCH, 'renamed')
      }
      await page.getByRole('tab', { name: /^renamed/ }).waitFor()
      await page.getByText('5 files in full', { exact: true }).waitFor()
      await until(async () => (await page.getByRole('combobox', { name: 'Model' }).inputValue()) === OTHER_MODEL)
    })

  test('a turn goes on where git branch -m renames its branch, with its queued message and what is typed', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([
      { calls: [write('src/metrics.ts', 'first\n')] },
      { text: 'The first is half done.', until: promise },
      { text: 'Do the first' },
      { text: 'The second breaks.', error: new Error('It broke') },
    ])
    await askAndQueue('first', 'second')
    await page.keyboard.type('third, ')
    await git(desk.path, 'config', 'core.logAllRefUpdates', 'true')
    await git(desk.path, 'branch', '-m', BRANCH, 'renamed')
    await page.getByRole('tab', { name: 'renamed , the AI is working' }).waitFor()
    await log().getByText('The first is half').waitFor()
    await page.getByRole('region', { name: 'Queued message' }).getByText('second').waitFor()
    await button('Stop').waitFor()
    // The cursor is where it was.
    await page.keyboard.type('typed on')
    await until(async () => (await field().inputValue()) === 'third, typed on')
    resolve()
    await page.getByRole('article').getByText('Do the first').waitFor()
    await log().getByText('The second breaks.').waitFor()
    await until(async () => (await field().inputValue()) === 'second\n\nthird, typed on')
    await button('Keep').click()
    await button('Keep').waitFor({ state: 'detached' })
    expect(await field().inputValue()).toBe('third, typed on')
    expect(await desk.git('show', 'renamed:src/metrics.ts')).toBe('first')
  })

  test('a message queued in a branch that git branch -m renames is sent, also while another tab is shown', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([{ text: 'The first is done.', until: promise }, { text: 'The second is done.' }])
    await askAndQueue('first', 'second')
    await page.getByRole('tab', { name: 'retry-jitter' }).click()
    await git(desk.path, 'config', 'core.logAllRefUpdates', 'true')
    await git(desk.path, 'branch', '-m', BRANCH, 'renamed')
    await page.getByRole('tab', { name: 'renamed , the AI is working' }).waitFor()
    resolve()
    await until(() => model.requests.length === 2)
    await page.getByRole('tab', { name: /^renamed/ }).click()
    await log().getByText('The second is done.').waitFor()
    expect(await field().inputValue()).toBe('')
  })

  test('what is written goes along when its branch is renamed', async () => {
    await open()
    await field().fill('not sent yet')
    await page.keyboard.press('Shift+F2')
    await page.getByRole('dialog').getByRole('textbox').and(page.locator(':focus')).waitFor()
    // The old name is selected, so that typing replaces it.
    await page.keyboard.type('lease-renewed')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'lease-renewed' }).waitFor()
    await until(async () => (await field().inputValue()) === 'not sent yet')
  })

  test('two windows show the same turn', async () => {
    await open(HALF_A_TURN)
    const other = await openPage(browser.context, desk)
    await ask(page, QUESTION)
    await other.getByRole('log').getByText('keeper.inDoubt').waitFor()
    expect(await other.getByRole('button', { name: 'Stop', exact: true }).count()).toBe(1)
    await other.close()
  })

  test('the message of a stopped turn is in no other window’s field, unless the one that sent it is closed', async () => {
    await open([{ until: FOREVER }])
    const other = await openPage(browser.context, desk)
    const otherField = other.getByRole('textbox', { name: 'Message', exact: true })
    await otherField.waitFor()
    const stopInOther = async () => {
      await other.getByRole('button', { name: 'Stop', exact: true }).click()
      await other.getByRole('button', { name: 'Discard', exact: true }).waitFor()
    }
    await ask(page, QUESTION)
    // Also after a reload, and whatever is written next.
    await button('Stop').waitFor()
    await page.reload()
    await button('Stop').waitFor()
    await field().fill('Half a message')
    await stopInOther()
    await button('Discard').waitFor()
    expect(await otherField.inputValue()).toBe('')
    const keep = other.getByRole('button', { name: 'Keep', exact: true })
    await keep.click()
    await keep.waitFor({ state: 'detached' })
    model.play([{ until: FOREVER }])
    await ask(other, 'Then this.')
    await other.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await field().fill('')
    await other.close()
    // The browser releases the locks of a closed window a moment later.
    const windows = () =>
      page.evaluate(async () => new Set((await navigator.locks.query()).held?.map(it => it.clientId)).size)
    await until(async () => (await windows()) === 1)
    await button('Stop').click()
    await until(async () => (await field().inputValue()) === 'Then this.')
  })

  test('a conversation that is still loading is not shown as one that has not begun', async () => {
    desk = await openConversation({ model })
    const release = desk.proxy.hold('conversation')
    await openOn()
    await page.keyboard.press('Alt+2')
    await page.keyboard.press('Alt+1')
    await page.getByText('The conversation is still loading.').waitFor()
    expect(await page.getByRole('heading', { name: `Ask for a change on ${BRANCH}` }).count()).toBe(0)
    release()
    await log().getByText('Who holds a refused claim').waitFor()
    await page.keyboard.press('Alt+2')
    await page.getByRole('heading', { name: 'Ask for a change on retry-jitter' }).waitFor()
  })

  test('a message that two windows show is in neither field after one has sent it; a changed one stays', async () => {
    await open([{ text: 'One is done.' }, { text: 'Two is done.' }])
    await field().fill('Said once')
    const other = await openPage(browser.context, desk)
    const otherField = other.getByRole('textbox', { name: 'Message', exact: true })
    await until(async () => (await otherField.inputValue()) === 'Said once')
    await page.keyboard.press('Enter')
    await other.getByText('One is done.').waitFor()
    await until(async () => (await otherField.inputValue()) === '')
    await other.reload()
    await other.getByText('One is done.').waitFor()
    expect(await otherField.inputValue()).toBe('')
    await field().fill('Said here')
    await otherField.fill('Said here, and more')
    await button('Send').click()
    await other.getByText('Two is done.').waitFor()
    await until(async () => (await field().inputValue()) === '')
    expect(await otherField.inputValue()).toBe('Said here, and more')
    await other.close()
  })

  test('messages that two windows queue in one turn are both sent, one after the other', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await open([
      { until: promise, text: 'The first is done.' },
      { text: 'One is done.' },
      { text: 'The other is done.' },
    ])
    const other = await openPage(browser.context, desk)
    await ask(page, 'first')
    for (const [window, text] of [
      [page, 'from one window'],
      [other, 'from the other window'],
    ] as const) {
      await window.getByRole('button', { name: 'Stop', exact: true }).waitFor()
      await window.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
      await window.keyboard.press('Enter')
      await window.getByText('Sent when this turn has ended well').waitFor()
    }
    resolve()
    for (const window of [page, other]) {
      await window.getByRole('log').getByText('The other is done.').waitFor()
      expect(await window.getByText('The AI is at work').count()).toBe(0)
      expect(await window.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).toBe('')
    }
    await other.close()
  })

  test('a window that was away has the conversation again', async () => {
    await open([{ text: 'It was said while nobody listened.' }])
    const comeBack = desk.proxy.goAway()
    await desk.ask({ ask: 'send', branch: BRANCH, text: 'Say it.' })
    await until(async () => (await conversationOf(desk)).turn === undefined)
    comeBack()
    await log().getByText('It was said while nobody listened.').waitFor()
  })

  test('the chat stands beside the editor where there is room, and is a tab where not', async () => {
    await open()
    await page.getByRole('tab', { name: 'worker.ts' }).click()
    await page.keyboard.press('Alt+Shift+J')
    const dock = page.getByRole('complementary', { name: 'AI chat' })
    await dock.getByRole('log').waitFor()
    await page.keyboard.press('Alt+m')
    await until(() => field().evaluate(element => element === document.activeElement))
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.setViewportSize({ width: 1100, height: 800 })
    await dock.waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    await dock.getByRole('button', { name: 'Move the chat to its tab' }).click()
    await dock.waitFor({ state: 'detached' })
  })

  test('what is typed right after a key that shows a chat is in its message, also from a file and from the explorer', async () => {
    await open()
    const branches = page.getByRole('tablist', { name: 'Branches' })
    await showBranch(page, 'main')
    const tabs = await branches.getByRole('tab', { name: /^(?!Repository|Tasks)/ }).allTextContents()
    const [toMain, toBranch] = ['main', BRANCH].map(name => `Alt+${tabs.findIndex(tab => tab.startsWith(name)) + 1}`)
    const typed = { main: '', [BRANCH]: '' }
    const typeAfter = async (keys = '', branch: 'main' | typeof BRANCH, text: string) => {
      await page.keyboard.press(keys)
      await page.keyboard.type(text)
      typed[branch] += text
      await page.getByRole('tab', { name: branch, selected: true }).waitFor()
      expect(await field().inputValue()).toBe(typed[branch])
    }
    await typeAfter(toBranch, BRANCH, 'abcdefgh ')
    await typeAfter(toMain, 'main', 'ijklmnop ')
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await typeAfter('Alt+j', 'main', 'qrstuvwx ')
    await page.keyboard.press('Alt+x')
    await until(() => page.getByRole('tree').evaluate(tree => tree.contains(document.activeElement)))
    await typeAfter('Alt+j', 'main', 'abcdefgh ')
    await page.getByRole('tab', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await typeAfter('Alt+w', 'main', 'ijklmnop ')
    await page.keyboard.press('Alt+x')
    await until(() => page.getByRole('tree').evaluate(tree => tree.contains(document.activeElement)))
    await typeAfter(toBranch, BRANCH, 'qrstuvwx ')
  })

  test('a message beside the editor or a history is typed on after a look at other branches', async () => {
    await open()
    const branches = page.getByRole('tablist', { name: 'Branches' })
    await showBranch(page, 'main')
    const main = await branches.getByRole('tab', { name: /^(?!Repository|Tasks)/ }).count()
    await page.getByRole('treeitem', { name: 'README.md' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Alt+Shift+J')
    await page.getByRole('complementary', { name: 'AI chat' }).waitFor()
    await page.keyboard.press('Alt+m')
    await page.keyboard.type('seven ')
    const ways: (() => Promise<void>)[] = [
      () => page.keyboard.press('Alt+1'),
      () => page.keyboard.press('Alt+0'),
      () => branches.getByRole('tab', { name: BRANCH }).click(),
      () => showBranch(page, BRANCH),
    ]
    let typed = 'seven '
    for (const leave of ways) {
      await leave()
      await branches.getByRole('tab', { name: 'main', selected: false }).waitFor()
      await page.keyboard.press(`Alt+${main}`)
      await page.keyboard.type('words ')
      typed += 'words '
      await branches.getByRole('tab', { name: 'main', selected: true }).waitFor()
      expect(await field().inputValue()).toBe(typed)
    }
    await page.keyboard.press('Alt+h')
    await page.getByRole('listbox').and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Alt+m')
    await desk.git('branch', 'looked-at', 'main')
    await showBranch(page, 'looked-at')
    await page.keyboard.press('Alt+Shift+W')
    await branches.getByRole('tab', { name: 'main', selected: true }).waitFor()
    await page.keyboard.type('better-naming')
    expect(await field().inputValue()).toBe(`${typed}better-naming`)
  })

  test('a message typed beside the editor is typed on in the chat’s tab when the window gets narrow', async () => {
    await open()
    await page.getByRole('tab', { name: 'worker.ts' }).click()
    await page.keyboard.press('Alt+Shift+J')
    const dock = page.getByRole('complementary', { name: 'AI chat' })
    await dock.getByRole('log').waitFor()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Alt+m')
    await page.keyboard.type('Renew ')
    await page.setViewportSize({ width: 1000, height: 800 })
    await dock.waitFor({ state: 'detached' })
    await page.keyboard.type('twice')
    expect(await field().inputValue()).toBe('Renew twice')
    expect(await page.getByText('The field that you typed in is gone').count()).toBe(0)
  })

  test('selection in a finished block survives, and the end is followed only from the end', async () => {
    const [more, evenMore] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const pieces = async function* () {
      yield 'A finished paragraph.\n\nAnother one.\n\nA third one.\n\n'
      await more.promise
      yield* inPieces('More and more words.\n\n'.repeat(60), 200)
      yield 'The last word.\n\n'
      await evenMore.promise
      yield 'Still more.\n\nAnd more.\n\n'
    }
    await open([{ pieces, until: FOREVER }])
    await ask(page, QUESTION)
    const first = log().getByText('A finished paragraph.')
    await first.waitFor()
    await first.evaluate(element => getSelection()?.selectAllChildren(element))
    await first.evaluate(element => Object.assign(element, { isTheSame: true }))
    more.resolve()
    await log().getByText('The last word.').waitFor()
    expect(await page.evaluate(() => String(getSelection()))).toBe('A finished paragraph.')
    expect(await first.evaluate(element => 'isTheSame' in element)).toBe(true)
    expect(await distanceToEnd(log())).toBeLessThan(2)
    await log().evaluate(element => element.scrollBy(0, -400))
    await settled(page)
    const top = await log().evaluate(element => element.scrollTop)
    evenMore.resolve()
    await log().getByText('And more.').waitFor()
    expect(await log().evaluate(element => element.scrollTop)).toBe(top)
  })

  test('a look at a file, or at another branch, keeps the place where one reads in a long answer', async () => {
    const paragraphs = Array.from({ length: 120 }, (_, index) => `Paragraph ${index + 1}. ${'Words. '.repeat(40)}`)
    await open([{ text: paragraphs.join('\n\n') }, { text: 'Here it is.\n', until: FOREVER }])
    await ask(page, QUESTION)
    await log().getByText('Paragraph 120.').waitFor()
    await button('Send').waitFor()
    const read = log().getByText('Paragraph 41.')
    const distance = async () => ((await read.boundingBox())?.y ?? 0) - ((await log().boundingBox())?.y ?? 0)
    const goOnReading = async () => {
      await read.evaluate(element => element.scrollIntoView({ block: 'start' }))
      await log().evaluate(element => element.scrollBy(0, 7))
      await until(async () => Math.round(await distance()) === -7)
    }
    const isWhereItWas = async () => {
      await log().waitFor()
      await settled(page)
      expect(await distance()).toBeCloseTo(-7, 0)
    }
    const toEditor = async () => {
      await page.getByRole('tab', { name: 'worker.ts' }).click()
      await page.getByRole('textbox', { name: 'Editor' }).waitFor()
    }
    await goOnReading()
    await toEditor()
    await page.keyboard.press('Alt+j')
    await isWhereItWas()
    await showBranch(page, 'main')
    await log().waitFor({ state: 'detached' })
    await showBranch(page, BRANCH)
    await isWhereItWas()
    // Beside the editor, the lines are shorter, and the same paragraph is read.
    await toEditor()
    await page.keyboard.press('Alt+Shift+J')
    await isWhereItWas()
    await ask(page, QUESTION)
    await log().getByText('Here it is.').waitFor()
    await until(async () => (await distanceToEnd(log())) < 2)
    // So it is where the answer is in an earlier turn.
    await goOnReading()
    await page.keyboard.press('Alt+Shift+J')
    await page.getByRole('tab', { name: /^AI chat/ }).click()
    await isWhereItWas()
  })

  test('a queued message that is sent by itself leaves the log where one reads the answer before it', async () => {
    const more = Promise.withResolvers<void>()
    const pieces = async function* () {
      yield Array.from({ length: 120 }, (_, index) => `Paragraph ${index + 1}. ${'Words. '.repeat(40)}\n\n`).join('')
      await more.promise
      yield 'The last word.\n\n'
    }
    await open([{ pieces }, { text: 'Here it is.\n', until: FOREVER }])
    await askAndQueue('first', 'second')
    const read = log().getByText('Paragraph 41.')
    const distance = async () => ((await read.boundingBox())?.y ?? 0) - ((await log().boundingBox())?.y ?? 0)
    await log().getByText('Paragraph 120.').waitFor()
    await read.evaluate(element => element.scrollIntoView({ block: 'start' }))
    await log().evaluate(element => element.scrollBy(0, 7))
    await until(async () => Math.round(await distance()) === -7)
    more.resolve()
    await log().getByText('Here it is.').waitFor()
    await settled(page)
    expect(await distance()).toBeCloseTo(-7, 0)
  })

  test('a message that was sent is seen, wherever one was reading', async () => {
    await open([{ text: 'Here it is.\n', until: FOREVER }])
    await log().evaluate(element => element.scrollTo(0, 0))
    await ask(page, QUESTION)
    await log().getByText('Here it is.').waitFor()
    await until(async () => (await distanceToEnd(log())) < 2)
  })

  test('markdown is shown as such, code in the colours of the editor, and all of it can be copied', async () => {
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await open([{ pieces: () => inPieces(RICH_ANSWER, 40) }])
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
    await open([{ text: 'The first paragraph is whole.\n\nThe second is', until: promise }])
    expect(await log().getAttribute('aria-live')).toBe('off')
    await ask(page, QUESTION)
    const spoken = page.getByRole('status', { name: 'What the AI says' })
    await spoken.getByText('The first paragraph is whole.').waitFor()
    expect(await spoken.textContent()).not.toContain('second')
    resolve()
    await spoken.getByText('The turn has ended: done.').waitFor()
  })

  test('every action of the chat is in the palette, with its keys', async () => {
    await open([{ calls: [STORE_STATS] }])
    await field().fill('How many?')
    const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    const areListed = async (...actions: string[]) => {
      await page.keyboard.press('Alt+k')
      for (const words of actions) await keys.getByText(words, { exact: true }).first().waitFor()
      await page.keyboard.press('Escape')
      await keys.waitFor({ state: 'detached' })
    }
    await areListed(
      'Write to the AI',
      'Send the message',
      'Undo the last turn',
      'Select the model…',
      'Allow the AI to run commands…',
      'Chat beside the editor',
    )
    await button('Send').click()
    await button('Review the tool').waitFor()
    await areListed('Review the tool store_stats.ts…')
  })

  test('commands that are allowed, but can’t run, say why', async () => {
    const { DOCKER_HOST } = process.env
    process.env.DOCKER_HOST = 'unix:///nowhere.sock'
    try {
      await open()
      await button('Allow commands').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Allow commands' }).click()
      await page.getByText('The AI may run them, but cannot now. Commands need docker').waitFor()
    } finally {
      if (DOCKER_HOST === undefined) delete process.env.DOCKER_HOST
      else process.env.DOCKER_HOST = DOCKER_HOST
    }
  })

  test('without a model the chat says what to set', async () => {
    let missing: string | undefined = 'No model yet: set ANTHROPIC_API_KEY.'
    const models = { missing: () => missing }
    desk = await openConversation({ model, models, hasTurns: false })
    page = await openPage(browser.context, desk)
    // Without a model, the tab of a branch first shows buttons to find files.
    await page.getByRole('button', { name: 'Go to file…' }).waitFor()
    expect(await page.getByText('The chat needs a model').count()).toBe(0)
    await page.keyboard.press('Alt+j')
    await page.getByText('The chat needs a model').waitFor()
    const instruction = page.getByText('No model yet: set ANTHROPIC_API_KEY.')
    await instruction.waitFor()
    expect(await instruction.count()).toBe(1)
    expect(await page.getByRole('button', { name: 'Send', exact: true }).getAttribute('aria-disabled')).toBe('true')
    // The settings are made while the window is open.
    missing = undefined
    await page.getByText('The chat needs a model').waitFor({ state: 'detached' })
    await field().waitFor()
  })

  test('a setting that is not valid is named instead of a model to set up', async () => {
    await using folder = await makeFolder()
    const settings = join(folder.path, 'forge', 'forge.env')
    const setPrices = async (prices: string) => {
      const lines = ['FORGE_MODEL=openai/local', 'OPENAI_BASE_URL=http://localhost:9/v1', `FORGE_PRICES=${prices}`]
      await writeFile(settings, lines.join('\n'), { mode: 0o600 })
    }
    await mkdir(join(folder.path, 'forge'))
    await setPrices('{"openai/local": secret')
    const models = new SetModels({ XDG_CONFIG_HOME: folder.path })
    desk = await openScene({ models, layout: { tabs: [tabOf(BRANCH)], active: 0 } })
    page = await openPage(browser.context, desk)
    await page.getByRole('button', { name: 'Set up the AI chat… One of its settings is not valid' }).click()
    await page.getByRole('heading', { name: 'A setting of the AI is not valid' }).waitFor()
    await page.getByText(`FORGE_PRICES in ${settings} must be prices such as anthropic/NAME=4/20/0.2/5`).waitFor()
    expect(await page.getByText('The chat needs a model').count()).toBe(0)
    expect(await page.getByText('ANTHROPIC_API_KEY').count()).toBe(0)
    await setPrices('openai/local=1/2')
    await page.getByText('A setting of the AI is not valid').waitFor({ state: 'detached' })
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
  })

  test('that a conversation is public is said once', async () => {
    desk = await openConversation({ model, hasTurns: false })
    page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+j')
    await button('Got it').click()
    await page.reload()
    await field().waitFor()
    expect(await button('Got it').count()).toBe(0)
  })

  function distanceToEnd(of: Locator): Promise<number> {
    return of.evaluate(element => element.scrollHeight - element.scrollTop - element.clientHeight)
  }
})
