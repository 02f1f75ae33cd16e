/** The Tasks tab: runs, the graph, answering a question, pause, stop, review and landing. */

import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { commit } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import type { TaskCommand } from '../../../support/task-command.ts'
import { findings } from './axe.ts'
import { type DeskPage, openPage, until } from './page-scene.ts'
import { APPROVING, ASKING, DONE, LANDING, openTasksScene, PLAN, RUN, SWEEP } from './tasks-scene.ts'

setDefaultTimeout(120_000)

describe.skipIf(!hasBrowser)('the tasks', () => {
  let browser: OpenBrowser
  let desk: PageDesk
  let tasks: TaskCommand
  let page: DeskPage

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser[Symbol.asyncDispose]())
  afterEach(async () => {
    expect(page.troubles).toEqual([])
    await page.close()
    await desk[Symbol.asyncDispose]()
  })

  const open = async (...scene: Parameters<typeof openTasksScene>) => {
    ;({ desk, tasks } = await openTasksScene(...scene))
    page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+t')
  }
  /** Waits until the command was started this many times with an answer or decision. */
  const isTold = (count: number) => until(async () => (await tasks.told()).length === count)
  const runs = () => page.getByRole('navigation', { name: 'Runs' })
  const graph = () => page.getByRole('list', { name: 'Tasks of the run' })
  const node = (name: string) => graph().getByRole('button', { name })
  const detail = (name: string) => page.getByRole('complementary', { name, exact: true })
  /** Types into a file of main, and waits until the desk has the edits. */
  const typeInto = async (path: string) => {
    await page.getByRole('tab', { name: 'main' }).click()
    await page.getByRole('treeitem', { name: path }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.type('typed')
    await desk.isText('main', path, 'typed')
  }
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')

  test('are asked for only while they are shown', async () => {
    ;({ desk, tasks } = await openTasksScene([]))
    const list = desk.proxy.hold('tasks runs')
    page = await openPage(browser.context, desk)
    await page.keyboard.press('Alt+t')
    await page.getByText('No runs yet').waitFor()
    list()
    await page.getByRole('button', { name: 'New run…' }).first().waitFor()
    expect(await page.getByText('forge run').count()).toBe(0)
    await until(() => desk.proxy.count('tasks mark') > 1)
    // If no ref has moved and no run is active, the command is not started again.
    expect(desk.proxy.count('tasks runs')).toBe(1)
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Alt+0')
    await page.getByRole('region', { name: 'Repository' }).waitFor()
    const looks = () => desk.proxy.asked.filter(({ ask }) => ask.startsWith('tasks ')).length
    const before = looks()
    await Bun.sleep(3_500)
    expect(looks()).toBe(before)
  })

  test('have the focus on the button of a new run where there is none yet', async () => {
    await open([])
    await page.keyboard.press('Alt+0')
    await page.getByRole('region', { name: 'Repository' }).waitFor()
    await page.keyboard.press('Alt+t')
    await page.getByRole('button', { name: 'New run…' }).and(page.locator(':focus')).waitFor()
  })

  test('leave the focus to a commit that is opened from the palette', async () => {
    await open([])
    await page.getByRole('tab', { name: 'Tasks', exact: true }).focus()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('#')
    await page
      .getByRole('dialog', { name: 'Command palette' })
      .getByRole('option', { name: /Begin main/ })
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByText(/^Files at/).waitFor()
    await page.locator('main:focus-within').waitFor()
  })

  test('say within seconds that the Temporal server does not answer, until it does', async () => {
    await open()
    const words = page.getByText('The Temporal server has not answered yet.')
    await page.getByRole('navigation', { name: 'Runs' }).waitFor()
    const answer = desk.proxy.hold('tasks mark')
    await words.waitFor()
    await page.getByText('What is shown may be out of date.').waitFor()
    answer()
    await words.waitFor({ state: 'detached' })
    // The names of the runs are known from git, while the program that tells their states is slow.
    const states = desk.proxy.hold('tasks runs')
    await page.reload()
    await page.getByRole('tab', { name: /^Tasks/ }).click()
    await runs()
      .getByRole('button', { name: `${RUN} loading…` })
      .waitFor()
    states()
    await runs()
      .getByRole('button', { name: /Idempotency keys for enqueue and HTTP/ })
      .waitFor()
  })

  test('that can’t be used say why', async () => {
    await open([])
    await page.keyboard.press('Alt+0')
    await tasks.fails('The packages of the tasks are not installed: run make tasks-runtime in the folder of Forge.')
    await page.reload()
    await page.getByRole('tab', { name: 'Tasks' }).click()
    await page.getByText('run make tasks-runtime').waitFor()
  })

  test('show each run with its state in words, its counts and its cost, and first the one that asks', async () => {
    await open()
    await runs()
      .getByRole('button', { name: /Idempotency keys.*waiting for you\s*4 of 11\s*\$1\.86/ })
      .waitFor()
    for (const words of ['running', 'done', 'out of budget', 'stopped']) await runs().getByText(words).waitFor()
    await page.getByRole('heading', { name: 'Idempotency keys for enqueue and HTTP' }).first().waitFor()
    await detail('The task sweep').getByText('How long must a key be remembered?').first().waitFor()
    await node('Review of the whole').getByText('paused').waitFor()
    await node('Bench: a million keys').getByText('after sweep, claim').waitFor()
    expect(await page.getByRole('status', { name: 'Status' }).textContent()).toContain('2 tasks running')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await findings(page)).toEqual([])
    }
  })

  test('are reached by the keyboard alone: runs, the graph by its arrows, a task, and back', async () => {
    await open()
    await detail('The task sweep').waitFor()
    await until(async () => (await focused()).startsWith('Sweep keys'))
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowLeft')
    expect(await focused()).toStartWith('Keys in the memory store')
    await page.keyboard.press('Enter')
    await detail('The task memory').getByRole('heading', { name: 'Keys in the memory store' }).waitFor()
    expect(await node('Keys in the memory store').getAttribute('aria-current')).toBe('true')
    await page.keyboard.press('Alt+Shift+w')
    await detail('The run').getByText('Both attempts chose a number').waitFor()
    await page.keyboard.press('Alt+x')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Upstream 2.13 by groups' }).first().waitFor()
    expect(await findings(page)).toEqual([])
    // No key is lost while a run is loading.
    const answer = desk.proxy.hold('tasks run')
    await page.keyboard.press('Alt+PageUp')
    await page.keyboard.press('Alt+PageUp')
    answer()
    await page.getByRole('heading', { name: 'otel spans' }).first().waitFor()
  })

  test('tell of a task what it does, where it may write, what decides, and its journal attempt by attempt', async () => {
    await open()
    const sweep = detail('The task sweep')
    await sweep.getByText('Add sweepKeys(store, now)').waitFor()
    await sweep.getByText('src/store/**').waitFor()
    await sweep.getByText('review: Is any retry').waitFor()
    const journal = sweep.getByRole('region', { name: 'Journal' })
    await journal.getByText('Attempt 2', { exact: true }).waitFor()
    await journal.getByText('The review refused').waitFor()
    expect(await journal.getByText('The plan is approved').count()).toBe(0)
  })

  test('take an answer by the keyboard, and go on', async () => {
    await open()
    await detail('The task sweep').getByRole('form', { name: 'Answer' }).waitFor()
    await page.keyboard.press('Alt+a')
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.type('As long as the job’s retention.\nNo longer.')
    const { tasks: before } = ASKING
    await tasks.change(desk.path, RUN, {
      state: 'runs',
      tasks: before.map(it => (it.id === 'sweep' ? { ...it, state: 'runs', doing: 'thinks', attempt: 3 } : it)),
    })
    await page.keyboard.press('Control+Enter')
    await node('Sweep keys').getByText('attempt 3 · thinks').waitFor()
    expect(await tasks.told()).toEqual([
      ['answer', '--', RUN, 'sweep', 'As long as the job’s retention.\nNo longer.\n'],
    ])
    expect(await page.getByRole('form', { name: 'Answer' }).count()).toBe(0)
  })

  test.each([
    ['Answer Ctrl', '--may-write=src/lib/clock.ts'],
    ['Answer in words only', '--only-words'],
  ])('hold back an answer that names a file which the task may not write, until %s', async (button, option) => {
    await open([ASKING], { details: { sweep: { ...SWEEP, outside: ['src/lib/clock.ts'] } } })
    const answer = detail('The task sweep').getByRole('form', { name: 'Answer' })
    // Only the details know what the task may write.
    await detail('The task sweep').getByText('How long must a key be remembered?').first().waitFor()
    await answer.getByLabel('Your answer').fill('You may change src/lib/clock.ts, too.')
    await page.keyboard.press('Control+Enter')
    await answer.getByText('the task may not write this').waitFor()
    expect(await answer.getByLabel('May also write these files').inputValue()).toBe('src/lib/clock.ts')
    expect(await tasks.told()).toEqual([])
    await answer.getByRole('button', { name: button }).click()
    await isTold(1)
    const said = ['answer', option, '--', RUN, 'sweep', 'You may change src/lib/clock.ts, too.\n']
    expect(await tasks.told()).toEqual([said])
  })

  test('keep what was typed as an answer where forge says no, and say why', async () => {
    await open()
    desk.proxy.refused.set('tell tasks', 'No Temporal server could be started: install temporal.')
    await page.getByLabel('Your answer').fill('24 hours')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('alert').getByText('No Temporal server could be started').waitFor()
    await node('Claim skips').click()
    await detail('The task claim').waitFor()
    await node('Sweep keys').click()
    expect(await page.getByLabel('Your answer').inputValue()).toBe('24 hours')
  })

  test('follow a run that goes on by itself', async () => {
    await open()
    await runs()
      .getByRole('button', { name: /Upstream/ })
      .click()
    const upstream = '20261121-upstream-groups-c0d3'
    await node('Part 5').getByText('running').waitFor()
    await tasks.changeTask(desk.path, upstream, 't5', { doing: 'its checks run' })
    await node('Part 5').getByText('its checks run').waitFor()
    await tasks.changeTask(desk.path, upstream, 't5', { state: 'failed', doing: '', words: '2 of 3 checks failed.' })
    await node('Part 5').getByText('failed').waitFor()
    // Shown first: how many requests wait in batches, and for how long. Then: what the batches have saved.
    const batch = { out: 12, since: Date.now() - 65 * 60_000, answered: 3, saved: 0.42 }
    await tasks.change(desk.path, upstream, { batch })
    await page.getByText('12 out for 1 h 5 min').waitFor()
    await tasks.change(desk.path, upstream, { batch: { out: 0, answered: 15, saved: 1.84 } })
    await page.getByText('$1.84 saved', { exact: true }).waitFor()
  })

  test('pause, go on with another budget, and stop only after a question', async () => {
    await open()
    await runs()
      .getByRole('button', { name: /Upstream/ })
      .click()
    await page.getByRole('region', { name: 'Run', exact: true }).getByRole('button', { name: 'Pause' }).click()
    await isTold(1)
    // The limits of a run are changed while it works.
    await page.keyboard.press('Alt+Shift+d')
    const limits = page.getByRole('dialog', { name: /^Limits of / })
    await limits.getByLabel('Minutes').fill('x')
    await page.keyboard.press('Enter')
    await limits.getByRole('alert').getByText('Minutes: Write a whole number').waitFor()
    expect(await findings(page)).toEqual([])
    await limits.getByLabel('Minutes').fill('90')
    await page.keyboard.press('Enter')
    await isTold(2)
    await limits.waitFor({ state: 'detached' })
    await runs()
      .getByRole('button', { name: /Docs for operators/ })
      .click()
    await page.getByRole('button', { name: 'Resume' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('textbox').inputValue()).toBe('10.00')
    await dialog.getByRole('textbox').fill('seven')
    await page.keyboard.press('Enter')
    await dialog.getByText('Write an amount').waitFor()
    await dialog.getByRole('textbox').fill('7.50')
    await page.keyboard.press('Enter')
    await isTold(3)
    await until(async () => (await dialog.count()) === 0)
    await page.keyboard.press('Alt+Shift+z')
    await dialog.getByText('The run ends: nothing more').waitFor()
    expect(await focused()).toStartWith('Cancel')
    await dialog.getByRole('button', { name: 'Stop the run' }).click()
    await isTold(4)
    await until(async () => (await dialog.count()) === 0)
    await runs()
      .getByRole('button', { name: /otel spans/ })
      .click()
    await page.getByRole('heading', { name: 'otel spans' }).first().waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await isTold(5)
    expect(await tasks.told()).toEqual([
      ['pause', '20261121-upstream-groups-c0d3'],
      ['resume', '20261121-upstream-groups-c0d3', '--minutes=90'],
      ['resume', '20261120-docs-operators-1a2b', '--budget=7.50'],
      ['stop', '20261120-docs-operators-1a2b'],
      ['resume', '20261119-otel-spans-9z8y'],
    ])
  })

  test('ask for more of what a run is out of, whatever that is', async () => {
    await open()
    await tasks.change(desk.path, RUN, { state: 'out of budget', limit: 'requests', limits: { requests: 40, cost: 5 } })
    await page.getByRole('button', { name: 'Resume' }).click()
    const box = page.getByRole('dialog').getByRole('textbox')
    expect(await box.inputValue()).toBe('80')
    await box.fill('many')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('Write a whole number').waitFor()
    await box.fill('120')
    await page.keyboard.press('Enter')
    await isTold(1)
    expect(await tasks.told()).toEqual([['resume', RUN, '--requests=120']])
  })

  test('open a task’s result as a branch at its review', async () => {
    await open()
    await node('Types: Job.key').click()
    await detail('The task types')
      .getByRole('button', { name: /Review/ })
      .waitFor()
    await page.keyboard.press('Alt+r')
    await page.getByRole('tab', { name: `forge/${RUN}/types/done`, selected: true }).waitFor()
    await page.getByRole('tab', { name: /Review/, selected: true }).waitFor()
  })

  test('show a plan that waits for a yes whole, with each command, and approve just that one by the keyboard', async () => {
    await open([DONE, APPROVING])
    const plan = page.getByRole('region', { name: 'Plan', exact: true })
    await plan.getByText('Each event gets a type of its own').waitFor()
    await plan.getByText('Then, at the same time').waitFor()
    await plan.getByText('not known: runs alone').waitFor()
    await plan.getByText('without network').waitFor()
    for (const { command } of PLAN.commands) expect(await plan.locator('.command').allTextContents()).toContain(command)
    await plan.getByText('biome check --write .').waitFor()
    await plan.getByText('It stops at $5.00.').waitFor()
    await page.getByText('Approving signs 6 commands with your key, for this run only.').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await findings(page)).toEqual([])
    }
    desk.proxy.refused.set(
      'tell tasks',
      'Nothing was approved: the plan, or what belongs to it, has changed since. Look at it again.',
    )
    await page.keyboard.press('Alt+y')
    await until(async () => (await focused()) === 'Approve')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Nothing was approved').waitFor()
    desk.proxy.refused.clear()
    await page.keyboard.press('Alt+y')
    await page.keyboard.press('Enter')
    await isTold(1)
    expect(await tasks.told()).toEqual([['approve', APPROVING.run, `--seen=${PLAN.seen}`]])
    await tasks.change(desk.path, APPROVING.run, { state: 'runs' })
    await page.getByRole('region', { name: 'Contract' }).waitFor()
    expect(await plan.count()).toBe(0)
  })

  test('take what is to be different in a plan, in words, also while it runs', async () => {
    await open([APPROVING])
    await page.getByRole('button', { name: 'Request changes…' }).click()
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.type('Leave Postgres alone.')
    await page.keyboard.press('Control+Enter')
    await isTold(1)
    const answered = ['answer', '--', APPROVING.run, 'Leave Postgres alone.\n']
    expect(await tasks.told()).toEqual([answered])
    await tasks.change(desk.path, APPROVING.run, { state: 'runs' })
    await page.getByRole('button', { name: 'Edit the plan…' }).click()
    await page.getByRole('region', { name: 'Edit the plan' }).getByRole('button', { name: 'Request changes…' }).click()
    const dialog = page.getByRole('dialog', { name: /^Request changes to / })
    await dialog.getByLabel('What should change in the plan?').fill('--yes')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(await tasks.told()).toEqual([answered, ['plan', '--', APPROVING.run, '--yes\n']])
    expect(await page.getByRole('region', { name: 'Edit the plan' }).count()).toBe(0)
  })

  test('keep their branches out of lists, folded under their run, unless their name is typed', async () => {
    await open()
    await detail('The task sweep').waitFor()
    await page.keyboard.press('Alt+b')
    const options = page.getByRole('dialog', { name: 'Command palette' }).getByRole('option')
    await options.getByText('retry-jitter').waitFor()
    expect((await options.allTextContents()).filter(words => words.includes('forge/'))).toEqual([])
    await options.getByText('5 branches of runs').click()
    await options.getByText(`forge/${RUN}/types/done`).waitFor()
    await page.keyboard.type('mem')
    await until(async () => (await options.first().textContent())?.includes(`forge/${RUN}/memory/done`) === true)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+0')
    const side = page.getByRole('navigation', { name: 'Branches and tags' })
    await side.getByRole('button', { name: 'retry-jitter' }).waitFor()
    expect(await side.getByRole('button', { name: 'types/done' }).count()).toBe(0)
    await side.getByRole('button', { name: 'idempotency-keys-x7k2 11-22 · 4', expanded: false }).click()
    await side.getByRole('button', { name: 'types/done' }).waitFor()
    expect(await findings(page)).toEqual([])
    await side.getByRole('button', { name: 'retry-jitter' }).click({ button: 'right' })
    await page.getByRole('menuitem', { name: /^Merge into/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('option').first().waitFor()
    expect((await dialog.getByRole('option').allTextContents()).filter(words => words.includes('forge/'))).toEqual([])
    await page.keyboard.type('types/')
    await dialog.getByRole('option', { name: `forge/${RUN}/types/done` }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('say first what their checks do not show, where they are reviewed and where they are landed', async () => {
    const doubt = 'A1: its check passed before anything was done, so it does not show that it was [make check]'
    await open([DONE], { landing: { ...LANDING, doubts: [doubt] } })
    await node('Part 1').waitFor()
    await page.keyboard.press('Alt+Shift+f')
    const dialog = page.getByRole('dialog', { name: 'Typed errors in http → main' })
    await dialog.getByRole('region', { name: 'Check before landing' }).getByText(doubt).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Alt+r')
    const facts = page.getByRole('region', { name: 'Result of a run' })
    await facts.getByText(doubt).waitFor()
    expect(await findings(page)).toEqual([])
    await facts.getByRole('button', { name: 'Land…' }).click()
    await page.getByRole('dialog', { name: /→ main$/ }).waitFor()
  })

  test('are landed on a branch with drafts once these are saved, and one with conflicts is resolved', async () => {
    const prepare = (path: string) => commit(path, 'main', { 'src/http/routes.ts': 'export const routes = [1]\n' })
    await open([DONE], { prepare })
    await desk.ask({ ask: 'new file', branch: 'main', path: 'a.md' })
    await typeInto('a.md')
    desk.proxy.refused.set('tasks landing', 'main has changed meanwhile. Open the desk with forge, and merge it there.')
    await page.keyboard.press('Alt+t')
    await node('Part 1').waitFor()
    await page.keyboard.press('Alt+Shift+f')
    const dialog = page.getByRole('dialog', { name: 'Typed errors in http → main' })
    await dialog.getByText('some files conflict with the result').waitFor()
    expect(await dialog.getByText('Open the desk').count()).toBe(0)
    await dialog.getByText('main has 1 draft').waitFor()
    await dialog.getByRole('button', { name: 'Save all drafts' }).click()
    await until(async () => (await dialog.getByText('main has 1 draft').count()) === 0)
    await dialog.getByRole('button', { name: 'Land and resolve…' }).click()
    await page.getByRole('dialog', { name: /\/result → main$/ }).waitFor()
  })

  test('are landed only as what was shown, by a dialog with the files and a safe button first', async () => {
    const hook = async (path: string) => {
      await mkdir(join(path, 'hooks'), { recursive: true })
      await writeFile(join(path, 'hooks/pre-commit'), '#!/bin/sh\n', { mode: 0o755 })
    }
    await open([DONE], { prepare: hook })
    await node('Part 1').waitFor()
    await page.keyboard.press('Alt+Shift+f')
    const dialog = page.getByRole('dialog', { name: 'Typed errors in http → main' })
    await dialog.getByText('A1 Each route names its errors').waitFor()
    await dialog.getByText('Hooks of this repository do not run').waitFor()
    expect(await focused()).toStartWith('Cancel')
    expect(await findings(page)).toEqual([])
    desk.proxy.refused.set(
      'tell tasks',
      'Nothing was merged: main or the result has moved since you saw it. Look at it again.',
    )
    const previews = desk.proxy.count('preview')
    await dialog.getByRole('button', { name: 'Land', exact: true }).click()
    await dialog.getByText('has moved since you saw it').waitFor()
    await until(() => desk.proxy.count('preview') > previews)
    desk.proxy.refused.clear()
    await tasks.says([
      'Typed errors in http, onto main',
      'Merged into main as 5f20c1aa.',
      'To undo: git reset --keep 1234',
    ])
    await dialog.getByRole('combobox', { name: 'Onto' }).selectOption('retry-jitter')
    await page.getByRole('dialog', { name: /→ retry-jitter/ }).waitFor()
    await page.getByRole('dialog').getByText('A1 Each route names its errors').waitFor()
    await page.getByRole('button', { name: 'Land', exact: true }).click()
    await page.locator('.toast').getByText('Merged into main as 5f20c1aa.').waitFor()
    // A button to undo takes the place of the command that the output names.
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).waitFor()
    expect(await page.getByText('git reset').count()).toBe(0)
    expect(await tasks.told()).toEqual([
      ['land', DONE.run, '--onto=retry-jitter', '--yes', '--seen=5f20c1aa5f20c1aa5f20c1aa5f20c1aa5f20c1aa'],
    ])
  })

  test('that the user did not check say so, and are landed only by Land anyway', async () => {
    const [first, ...others] = DONE.tasks
    if (!first) throw new Error('There is no task')
    const why = 'there is no signature of yours for its checks'
    await open([{ ...DONE, unchecked: why, tasks: [{ ...first, unchecked: why }, ...others] }])
    await node('Part 1').waitFor()
    await page.getByText(`The result was not verified by you: ${why}.`).waitFor()
    await tasks.lands({ ...LANDING, unchecked: `This was not checked by you, as ${why}.` })
    await page.keyboard.press('Alt+Shift+f')
    const dialog = page.getByRole('dialog', { name: 'Typed errors in http → main' })
    await dialog.getByText(`This was not checked by you, as ${why}.`).waitFor()
    expect(await focused()).toStartWith('Cancel')
    expect(await findings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Land anyway', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const tree = '5f20c1aa5f20c1aa5f20c1aa5f20c1aa5f20c1aa'
    expect(await tasks.told()).toEqual([['land', DONE.run, '--onto=main', '--yes', `--seen=${tree}`, '--anyway']])
  })

  test('never let what models wrote be more than text', async () => {
    const evil = '<img src=x onerror="document.title=1"> \u202Eturned'
    const [first] = ASKING.tasks
    if (!first) throw new Error('There is no task')
    const run = { ...ASKING, title: evil, wish: evil, report: evil, words: evil, complaints: [evil], summary: evil }
    await open([{ ...run, tasks: [{ ...first, title: evil, words: evil }] }])
    await node('onerror').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.locator('main').textContent()).not.toContain('\u202E')
  })

  test('are there again after the window is loaded anew, and by Back', async () => {
    await open()
    await detail('The task sweep').waitFor()
    await until(async () => {
      const layout = await desk.layout()
      return layout !== undefined && layout.active > layout.tabs.length
    })
    await page.reload()
    await detail('The task sweep').waitFor()
    await page.keyboard.press('Alt+0')
    await page.getByRole('tab', { name: 'Repository', selected: true }).waitFor()
    await page.goBack()
    await page.getByRole('tab', { name: 'Tasks', selected: true }).waitFor()
  })

  test('show their state whole: in one line where they are wide, else in two', async () => {
    await open()
    await page.setViewportSize({ width: 1920, height: 1080 })
    const state = node('Sweep keys').locator('.state > .words')
    const missing = () =>
      state.evaluate(it => [it.scrollWidth - it.clientWidth, it.scrollHeight - it.clientHeight].join(' by '))
    const widthOf = async () => (await node('Sweep keys').boundingBox())?.width
    await until(async () => (await widthOf()) === 200)
    expect(await state.textContent()).toBe('waiting for you · attempt 2')
    expect(await missing()).toBe('0 by 0')
    await page.setViewportSize({ width: 800, height: 800 })
    await until(async () => (await widthOf()) === 139)
    expect(await missing()).toBe('0 by 0')
    await page.setViewportSize({ width: 1280, height: 800 })
    await until(async () => (await widthOf()) !== 139)
    expect(await missing()).toBe('0 by 0')
  })

  test('fit a narrow window: the other runs are in a menu', async () => {
    await open()
    await page.setViewportSize({ width: 800, height: 800 })
    await detail('The task sweep').waitFor()
    await page.getByRole('button', { name: 'Other runs' }).click()
    await page.getByRole('menuitem', { name: /Typed errors in http/ }).click()
    await page.getByRole('heading', { name: 'Typed errors in http' }).first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(800)
    await page.setViewportSize({ width: 1280, height: 800 })
  })
})
