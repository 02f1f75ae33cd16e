/** Formatting a file by the repository's own formatter, with a stand-in for docker that runs commands directly. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasBrowser } from '../../../support/browser.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { findings } from './axe.ts'
import { type DeskPage, templateWith, withEachPage } from './page-scene.ts'

setDefaultTimeout(120_000)

const { PATH, FORKLIFT_TEST_DOCKER } = process.env
let engine = ''
beforeAll(async () => {
  engine = await mkdtemp(join(tmpdir(), 'forge-format-'))
  process.env.PATH = `${join(import.meta.dir, '../../../stand-ins')}:${PATH}`
  process.env.FORKLIFT_TEST_DOCKER = engine
})
afterAll(async () => {
  process.env.PATH = PATH
  if (FORKLIFT_TEST_DOCKER === undefined) delete process.env.FORKLIFT_TEST_DOCKER
  else process.env.FORKLIFT_TEST_DOCKER = FORKLIFT_TEST_DOCKER
  await rm(engine, { recursive: true, force: true })
})

const template = templateWith({
  main: { 'FORGE.md': '# Checks\n\n- mend: `sed -i s/tow/two/ a.txt b.txt`\n', 'a.txt': 'one\n', 'b.txt': 'tow\n' },
})

describe.skipIf(!hasBrowser)('a file', () => {
  let desk: PageDesk
  let page: DeskPage
  withEachPage(
    each => {
      desk = each.desk
      page = each.page
    },
    { template },
  )

  test('is formatted on wish, after a question, as an edit that undo takes back', async () => {
    await page.getByRole('treeitem', { name: 'a.txt' }).click()
    await page.getByRole('textbox', { name: 'Editor' }).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('tow')
    await page.keyboard.press('Alt+Shift+f')
    await page.getByRole('dialog', { name: 'Allow commands to format files?' }).waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Allow and format' }).click()
    await page.locator('.toast').getByText('a.txt was formatted').waitFor()
    await desk.isText('main', 'a.txt', 'one\ntwo')
    await page.getByRole('textbox', { name: 'Editor' }).focus()
    await page.keyboard.press('Control+z')
    await desk.isText('main', 'a.txt', 'one\ntow')
    expect(await desk.textOf('main', 'b.txt')).toBe('tow\n')
    await page.keyboard.press('Control+y')
    await desk.isText('main', 'a.txt', 'one\ntwo')
    await page.keyboard.press('Alt+Shift+f')
    await page.locator('.toast').getByText('a.txt is formatted already').waitFor()
  })
})
