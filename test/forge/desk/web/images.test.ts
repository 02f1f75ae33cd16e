/** Images in changes and conflicts: a user sees them, not only that they are binary. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import type { Locator } from 'playwright-core'
import { hasBrowser, type OpenBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { git, gitWith } from '../../../support/git.ts'
import { openRealDesk, type RealDesk } from '../../../support/real-desk.ts'
import { makeFolder } from '../../../support/repository.ts'
import { openBranch, type RealPage, visit } from './real-page.ts'

setDefaultTimeout(120_000)

/** A grey PNG. */
function pngOf(width: number, height: number): Buffer {
  const chunk = (type: string, content: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), content])
    const [size, check] = [Buffer.alloc(4), Buffer.alloc(4)]
    size.writeUInt32BE(content.length)
    check.writeUInt32BE(Bun.hash.crc32(body))
    return Buffer.concat([size, body, check])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 8
  const rows = Buffer.alloc((width + 1) * height, 0x80)
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0
  const start = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([start, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}

describe.skipIf(!hasBrowser)('an image', () => {
  let desk: RealDesk
  let browser: OpenBrowser
  let page: RealPage

  /** Commits one PNG as all that a branch contains. */
  const commitImage = async (branch: string, parent: string | undefined, [width, height]: [number, number]) => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'logo.png')
    await writeFile(file, pngOf(width, height))
    const blob = await git(desk.path, 'hash-object', '-w', file)
    const tree = await gitWith(desk.path, ['mktree'], `100644 blob ${blob}\tlogo.png\n`)
    const author = ['-c', 'user.name=Mira', '-c', 'user.email=mira@example.org']
    const parents = parent === undefined ? [] : ['-p', parent]
    const made = await git(desk.path, ...author, 'commit-tree', tree, ...parents, '-m', `Draw ${width} × ${height}`)
    await git(desk.path, 'update-ref', `refs/heads/${branch}`, made)
    return made
  }
  const hasDrawn = async (place: Locator, name: string, pixels: string) => {
    const figure = place.getByRole('figure').filter({ has: page.getByRole('img', { name, exact: true }) })
    await figure.getByText(pixels).waitFor()
  }

  beforeAll(async () => {
    desk = await openRealDesk({ built: await builtPage(), branches: { start: { 'a.txt': 'a\n' } } })
    const base = await commitImage('main', undefined, [40, 30])
    await commitImage('topic', base, [60, 20])
    await commitImage('main', base, [50, 50])
    browser = await openBrowser()
    page = await visit(browser.context, desk)
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await desk[Symbol.asyncDispose]()
  })

  test('is shown as it was before and after a commit, in places that keep their height', async () => {
    await openBranch(page, 'main')
    await page.keyboard.press('Alt+h')
    const commit = page.getByRole('complementary', { name: 'Commit' })
    await hasDrawn(commit, 'logo.png, before', '40 × 30')
    await hasDrawn(commit, 'logo.png, after', '50 × 50')
    await page.getByRole('option', { name: /Draw 40 × 30/ }).click()
    await hasDrawn(commit, 'logo.png, after', '40 × 30')
    expect(await commit.getByRole('img').count()).toBe(1)
    const box = await commit.locator('.image-box').boundingBox()
    expect(box?.height).toBe(240)
  })

  test('is shown as each side of a conflict', async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('>Merge a branch into main')
    await page.getByRole('option').filter({ hasText: 'Merge a branch into main' }).click()
    await page.getByRole('option').filter({ hasText: 'topic' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Merge and resolve 1 file' }).click()
    await page.getByRole('tab', { name: /^main ?, merging/, selected: true }).waitFor()
    const conflict = page.getByRole('region', { name: 'Conflict', exact: true })
    await hasDrawn(conflict, 'Ours: an image', '50 × 50')
    await hasDrawn(conflict, 'Theirs: an image', '60 × 20')
    await page.getByRole('button', { name: /^Theirs/ }).click()
    await hasDrawn(page.getByRole('main'), 'logo.png', '60 × 20')
  })
})
