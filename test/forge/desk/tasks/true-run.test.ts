/**
 * Runs of the tasks in the browser: the real forge, the real Temporal server and worker, and a scripted model. All
 * tests share one scene, one desk and one window.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { type OpenForge, openForge } from '../../../support/forge.ts'
import { commit } from '../../../support/git.ts'
import { until } from '../../../support/repository.ts'
import { done, says, task, write } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'
import { findings } from '../web/axe.ts'

setDefaultTimeout(240_000)

/** Time limit for a run to change its state on a busy machine, in milliseconds. */
const STATE_TIMEOUT_MS = 90_000

describe.skipIf(!hasBrowser || hasNoTemporal)('a true run', () => {
  let browser: OpenBrowser
  let scene: TaskScene
  let forge: OpenForge
  let window: Page
  const troubles: string[] = []

  beforeAll(async () => {
    const [built, opened, world] = await Promise.all([builtPage(), openBrowser(), TaskScene.open()])
    browser = opened
    scene = world
    forge = await openForge({ env: scene.env, checkout: scene.folder }, built)
    window = await browser.context.newPage()
    window.setDefaultTimeout(STATE_TIMEOUT_MS)
    window.on('pageerror', error => troubles.push(String(error)))
    await window.goto(forge.address)
    await window.getByRole('tab', { name: 'Tasks' }).click()
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await forge?.[Symbol.asyncDispose]()
    await scene?.[Symbol.asyncDispose]()
  })

  const detailOf = (id: string) => window.getByRole('complementary', { name: `The task ${id}` })
  const runRegion = () => window.getByRole('region', { name: 'Run', exact: true })
  const show = async (title: string) => {
    await window.getByRole('navigation', { name: 'Runs' }).getByRole('button', { name: title }).press('Enter')
    await runRegion().getByRole('heading', { name: title }).waitFor()
  }
  const canLand = () =>
    until(
      async () => (await runRegion().getByRole('button', { name: 'Land…' }).getAttribute('aria-disabled')) === 'false',
      STATE_TIMEOUT_MS,
    )

  test('is watched, asks, is answered by keyboard, reviewed and landed on the desk', async () => {
    const asks = { signal: 'blocked_on_human', words: 'It is not said in which words.', question: 'In which words?' }
    const { run, err } = await scene.run('Two notes', {
      tasks: [task('a'), task('b', { after: ['a'] })],
      answer: asked => (asked.kind === 'implement' && asked.task === 'b' && !asked.answered ? asks : undefined),
    })
    if (!run) throw new Error(err)
    await detailOf('b').getByText('In which words?').first().waitFor()
    await window.getByRole('button', { name: 'Make a', exact: false }).first().waitFor()
    await window.keyboard.press('Alt+a')
    await window.locator('textarea:focus').waitFor()
    await window.keyboard.type('In yours.')
    await window.keyboard.press('Control+Enter')
    await canLand()
    // When the run has ended, a task's result has no branch any more, but can still be reviewed and landed.
    expect(await scene.git('branch', '--list', '--format=%(refname:short)', 'forge/*')).toBe(`forge/${run}/result`)
    await runRegion()
      .getByRole('button', { name: /^Make a/ })
      .click()
    await detailOf('a').getByRole('button', { name: 'Review' }).click()
    const diff = window.getByRole('region', { name: 'Diff' })
    await diff.getByText('a.txt').first().waitFor()
    expect(await diff.getByText('b.txt').count()).toBe(0)
    await window.getByRole('button', { name: /^against/ }).waitFor()
    await window.getByRole('tab', { name: 'Tasks' }).click()
    await detailOf('a').getByRole('button', { name: 'Land…' }).click()
    const alone = window.getByRole('dialog', { name: 'Make a → main' })
    await alone.getByText('1 file', { exact: true }).waitFor()
    await alone.getByText('a.txt').first().waitFor()
    await alone.getByRole('button', { name: 'Cancel' }).click()
    await runRegion().getByRole('button', { name: 'Land…' }).click()
    const dialog = window.getByRole('dialog', { name: 'Two notes → main' })
    await dialog.getByText('b.txt says done.').first().waitFor()
    await dialog.getByText('b.txt').first().waitFor()
    await dialog.getByRole('button', { name: 'Land', exact: true }).click()
    await window.getByText('Merged into main as').first().waitFor()
    expect(await scene.git('log', '--format=%s', '-1', 'main')).toBe('Two notes')
    expect(await scene.git('status', '--porcelain')).toBe('')
    expect((await scene.git('ls-tree', '--name-only', 'main')).split('\n')).toEqual(['README.md', 'a.txt', 'b.txt'])
    // The landing is an operation of the desk, whose undo also restores the files.
    await window.getByRole('button', { name: 'Undo', exact: true }).click()
    await until(async () => (await scene.git('log', '--format=%s', '-1', 'main')) === 'Begin', 30_000)
    await until(async () => (await scene.git('status', '--porcelain')) === '', 30_000)
    expect((await scene.git('ls-files')).split('\n')).toEqual(['README.md'])
    expect(await findings(Object.assign(window, { troubles }))).toEqual([])
    expect(troubles).toEqual([])
  })

  test('is corrected on the page: by more files that a task may write, and by an edited plan', async () => {
    const helps = write('helper.txt', 'help\n')
    const { run, err } = await scene.run('Narrow bounds', {
      tasks: [task('c'), task('d', { after: ['c'] })],
      answer: ({ kind, task: id, text }) => {
        if (kind !== 'implement') return undefined
        const edits = [write(`${id}.txt`, text.includes('Write it twice') ? 'done twice\n' : 'done\n')]
        if (id === 'c') return says('success', 'Make c.', { edits: [...edits, helps] })
        return says('success', `Make ${id}.`, { edits })
      },
    })
    if (!run) throw new Error(err)
    await show('Narrow bounds')
    const detail = detailOf('c')
    await detail.getByLabel('May also write these files').fill('helper.txt')
    await detail.getByLabel('Also gets these files as context').fill('README.md')
    // Before the run continues, the plan's text for the task that has not begun is changed.
    await runRegion().getByRole('button', { name: 'Edit the plan…' }).click()
    const plan = window.getByRole('region', { name: 'Edit the plan' })
    const text = plan.getByRole('textbox', { name: 'Plan' })
    // The editor renders only visible lines: the last task is at the end.
    await text.locator('.cm-line').first().click()
    await window.keyboard.press('Control+End')
    await text.getByText('Write d.txt.').first().waitFor()
    const change = async (from: string, to: string) => {
      const line = text.locator('.cm-line').filter({ hasText: from }).first()
      const words = (await line.textContent()) ?? ''
      await line.click()
      await window.keyboard.press('Home')
      await window.keyboard.press('Home')
      await window.keyboard.press('Shift+End')
      await window.keyboard.insertText(words.replace(from, to))
    }
    await change('behaviour: Write d.txt.', 'behaviour: Write it twice in d.txt.')
    await change('depends_on', 'depends_of')
    await window.keyboard.press('Control+Enter')
    await plan.getByRole('alert').getByText('is no field of a plan').waitFor()
    await text.locator('.plan-complaint').getByText('is no field of a plan').waitFor()
    await change('depends_of', 'depends_on')
    await window.keyboard.press('Control+Enter')
    await plan.getByRole('button', { name: 'Approve' }).click()
    await window.getByText('The plan is changed').first().waitFor()
    await detail.getByLabel('May also write these files').waitFor()
    expect(await detail.getByLabel('May also write these files').inputValue()).toBe('helper.txt')
    await detail.getByRole('button', { name: 'Answer', exact: false }).click()
    await canLand()
    expect(await scene.git('show', `forge/${run}/result:helper.txt`)).toBe('help')
    expect(await scene.git('show', `forge/${run}/result:d.txt`)).toBe('done twice')
  })

  test('says within seconds that its provider does not answer, and that it was terminated', async () => {
    scene.model.knows('No answer', {
      tasks: [task('e')],
      answer: () => ({ turn: { status: 503, words: 'The provider is overloaded.' } }),
    })
    const running = scene.forge(['run', '--yes', 'No answer'])
    await window.getByRole('navigation', { name: 'Runs' }).getByRole('button', { name: 'No answer' }).waitFor()
    await show('No answer')
    await window
      .getByText(/overloaded.*since \d\d:\d\d:\d\d/)
      .first()
      .waitFor()
    await runRegion().getByText('Elapsed').waitFor()
    const { out } = await scene.forge(['runs', '--json'])
    const run = JSON.parse(out.split('\n').find(line => line.includes('No answer')) ?? '{}').run
    await scene.temporal.client.workflow.getHandle(`forge-run-${run}`).terminate('No room')
    await runRegion().getByText('failed', { exact: true }).first().waitFor()
    await window.getByText('It was terminated on the Temporal server (No room)').first().waitFor()
    await running
  })

  test('is started on the desk: what was typed stays when nothing can start, and the plan is shown and approved', async () => {
    scene.model.knows('Begun here', { tasks: [task('f')] })
    await window.keyboard.press('Control+Alt+n')
    const dialog = window.getByRole('dialog', { name: 'New run' })
    const wish = dialog.getByLabel('What you want')
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.getByRole('alert').getByText('Write what you want.').waitFor()
    await wish.fill('Begun here\n\n--yes is no option in here.')
    await dialog.getByLabel('Budget in dollars').fill('2.50')
    await dialog.getByLabel('Minutes').fill('45')
    await dialog.getByLabel('Tasks at the same time').fill('2')
    expect(await dialog.getByLabel('Begins at').inputValue()).toBe('main')
    await scene.useEngine('down')
    await wish.press('Control+Enter')
    await dialog.getByRole('alert').getByText('Nothing was begun, and nothing is paid').waitFor()
    expect(await findings(window)).toEqual([])
    await scene.useEngine('')
    await window.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await window.getByRole('button', { name: 'New run' }).click()
    expect(await wish.inputValue()).toBe('Begun here\n\n--yes is no option in here.')
    await wish.press('Control+Enter')
    await dialog.waitFor({ state: 'detached' })
    await runRegion().getByRole('button', { name: 'Approve' }).click()
    await runRegion().getByRole('heading', { name: 'Begun here' }).waitFor()
    await canLand()
    const [listed = '{}'] = (await scene.forge(['runs', '--json'])).out.split('\n')
    const { run } = JSON.parse(listed)
    expect(await scene.git('show', `forge/${run}/result:f.txt`)).toBe('done')
    expect(JSON.parse((await scene.forge(['show', run, '--json'])).out)).toMatchObject({
      limits: { cost: 2.5, minutes: 45 },
    })
  })

  test('its lessons are read, edited and removed', async () => {
    const text = `---\nid: tide-tables\ntitle: Writing notes\ndate: 2026-01-01\n---\n\nTides are written in metres.\n`
    const file = join(scene.temporal.folder, 'lesson.md')
    await writeFile(file, text)
    expect((await scene.forge(['playbooks', 'edit', 'tide-tables', '--file', file])).code).toBe(0)
    await window.getByRole('button', { name: 'Lessons' }).click()
    const dialog = window.getByRole('dialog', { name: 'Lessons' })
    const lesson = dialog.getByRole('listitem', { name: 'Writing notes' })
    await lesson.getByText('Tides are written in metres.').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await window.emulateMedia({ colorScheme })
      expect(await findings(window)).toEqual([])
    }
    await lesson.getByRole('button', { name: 'Edit' }).click()
    const field = dialog.getByRole('textbox')
    await field.fill('no lesson')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').getByText('It begins with no front matter').waitFor()
    await field.fill(text.replace('metres', 'feet'))
    await dialog.getByRole('button', { name: 'Save' }).click()
    await lesson.getByText('Tides are written in feet.').waitFor()
    expect((await scene.forge(['playbooks', 'show', 'tide-tables'])).out).toContain('Tides are written in feet.')
    await lesson.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByText('No lessons yet.').waitFor()
    expect((await scene.forge(['playbooks', '--json'])).out).toBe('')
    await window.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  test('that resolves a merge in parts opens as a branch on the desk, with what is resolved', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `src/${at}.txt`)
    const files = (word: string) => Object.fromEntries(names.map(name => [name, `first\n${word}\nlast\n`]))
    const root = await scene.git('rev-parse', 'main')
    const base = await commit(scene.folder, 'main', files('old'), { parents: [root] })
    await commit(scene.folder, 'other', files('theirs'), { parents: [base] })
    await commit(scene.folder, 'main', files('ours'), { parents: [base] })
    await scene.git('reset', '--quiet', '--hard', 'main')
    scene.model.knows('Merge other', {
      tasks: [],
      answer: ({ kind, text, task: id }) => {
        if (kind !== 'resolve') return undefined
        if (id === 'part-1') return says('blocked_on_human', 'Unclear.', { question: 'Which side?' })
        const own = names.filter(name => new RegExp(`^${name}$`, 'm').test(text))
        return done('Both.', ...own.map(name => write(name, 'first\nboth\nlast\n')))
      },
    })
    const { err } = await scene.forge(['resolve', 'other', '--yes'])
    const branch = `merge-${runIn(err)}`
    await show('Merge other')
    await runRegion().getByRole('button', { name: 'Finish by hand' }).click()
    await window.getByRole('tab', { name: branch }).waitFor()
    await window.getByText('src/0.txt').first().waitFor()
    expect(await scene.git('show', `refs/forge/drafts/${branch}:src/9.txt`)).toBe('first\nboth\nlast')
    expect(await scene.git('show', `refs/forge/drafts/${branch}:src/0.txt`)).toContain('<<<<<<<')
    expect(await scene.git('log', '-1', '--format=%s', `refs/forge/merging/${branch}`)).toBe('Merging other into main')
    expect(troubles).toEqual([])
  })
})
