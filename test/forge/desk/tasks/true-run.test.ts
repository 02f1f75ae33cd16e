/** A run of the tasks in the browser: the real forge, the real Temporal server and its worker, and a scripted model. */
import { describe, expect, test } from 'bun:test'
import { hasBrowser, openBrowser } from '../../../support/browser.ts'
import { openForge } from '../../../support/forge.ts'
import { task } from '../../../support/task-model.ts'
import { TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'
import { findings } from '../web/axe.ts'
import { until } from '../web/scene.ts'
import { builtPage } from '../web-stand-in.ts'

describe.skipIf(!hasBrowser || hasNoTemporal)('a true run', () => {
  test('is seen at work, asked, answered by the keyboard, reviewed and landed on the desk', async () => {
    const built = await builtPage()
    await using browser = await openBrowser()
    await using scene = await TaskScene.open()
    const asks = { signal: 'blocked_on_human', words: 'It is not said in which words.', question: 'In which words?' }
    const { run, err } = await scene.run('Two notes', {
      tasks: [task('a'), task('b', { after: ['a'] })],
      answer: asked => (asked.kind === 'implement' && asked.task === 'b' && !asked.answered ? asks : undefined),
    })
    if (!run) throw new Error(err)
    await using forge = await openForge({ env: scene.env, checkout: scene.folder }, built)
    const window = await browser.context.newPage()
    const troubles: string[] = []
    window.on('pageerror', error => troubles.push(String(error)))
    await window.goto(forge.address)
    await window.getByRole('tab', { name: 'Tasks' }).click()
    const detail = window.getByRole('complementary', { name: 'The task b' })
    await detail.getByText('In which words?').first().waitFor({ timeout: 60_000 })
    await window.getByRole('button', { name: 'Make a', exact: false }).first().waitFor()
    await window.keyboard.press('Alt+a')
    await window.locator('textarea:focus').waitFor()
    await window.keyboard.type('In yours.')
    await window.keyboard.press('Control+Enter')
    const land = window.getByRole('region', { name: 'Run', exact: true }).getByRole('button', { name: 'Land…' })
    await until(async () => (await land.getAttribute('aria-disabled')) === 'false', 90_000)
    await land.click()
    const dialog = window.getByRole('dialog', { name: /→ main$/ })
    await dialog.getByText('commits become one').waitFor({ timeout: 60_000 })
    await dialog.getByText('b.txt').first().waitFor()
    await dialog.getByRole('button', { name: 'Land', exact: true }).click()
    await window.getByText('Merged into main as').first().waitFor({ timeout: 60_000 })
    expect(await scene.git('log', '--format=%s', '-1', 'main')).toBe('Two notes')
    expect(await scene.git('status', '--porcelain')).toBe('')
    expect((await scene.git('ls-tree', '--name-only', 'main')).split('\n')).toEqual(['README.md', 'a.txt', 'b.txt'])
    // The desk knows it as one of its own steps, and takes it back with the files there.
    await window.getByRole('button', { name: 'Undo', exact: true }).click()
    await until(async () => (await scene.git('log', '--format=%s', '-1', 'main')) === 'Begin', 30_000)
    await until(async () => (await scene.git('status', '--porcelain')) === '', 30_000)
    expect((await scene.git('ls-files')).split('\n')).toEqual(['README.md'])
    expect(await findings(Object.assign(window, { troubles }))).toEqual([])
    expect(troubles).toEqual([])
    await window.close()
  }, 240_000)
})
