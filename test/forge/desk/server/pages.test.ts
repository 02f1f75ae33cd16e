/** The page's files, as a browser gets them. */
import { afterAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { buildPage } from '../../../../forge/desk/build.ts'
import { Pages } from '../../../../forge/desk/server/pages.ts'

/** The folder of a page with one script. */
async function folderOf(script: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'desk-page-'))
  folders.push(folder)
  await writeFile(join(folder, 'page.html'), '<script src="/page-12345678.js">')
  await writeFile(join(folder, 'page-12345678.js'), script)
  return folder
}

const folders: string[] = []
afterAll(() => Promise.all(folders.map(folder => rm(folder, { recursive: true, force: true }))))

/** The script of an opened page, requested with some accepted encodings. */
async function scriptIn(pages: Pages, accepted = ''): Promise<{ encoding: string | null; body: Buffer }> {
  const [name = ''] = /\/page-\w+\.js/.exec(pages.html({ nonce: '', theme: 'light' })) ?? []
  const answer = await pages.answer(name, new Headers({ 'accept-encoding': accepted }))
  if (!answer) throw new Error('there was no answer')
  return { encoding: answer.headers.get('content-encoding'), body: Buffer.from(await answer.arrayBuffer()) }
}

const scriptOf = async (script: string, accepted: string) =>
  await scriptIn(await Pages.open(await folderOf(script)), accepted)

const LONG = 'export const answer = 42\n'.repeat(200)

test('a short script is sent uncompressed, with matching headers', async () => {
  const { encoding, body } = await scriptOf('export {}', 'gzip, br')
  expect([encoding, body.toString()]).toEqual([null, 'export {}'])
})

test('a long script is sent compressed, as its header says', async () => {
  const brotli = await scriptOf(LONG, 'gzip, br')
  expect([brotli.encoding, brotliDecompressSync(brotli.body).toString()]).toEqual(['br', LONG])
  const gzip = await scriptOf(LONG, 'gzip')
  expect([gzip.encoding, gunzipSync(gzip.body).toString()]).toEqual(['gzip', LONG])
})

test('a browser that accepts no encoding gets none', async () => {
  const { encoding, body } = await scriptOf(LONG, 'br;q=0, identity')
  expect([encoding, body.toString()]).toEqual([null, LONG])
})

test('a desk goes on serving the page that it was started with when another one is built', async () => {
  const folder = await folderOf('export {}')
  const pages = await Pages.open(folder)
  await rm(folder, { recursive: true })
  await mkdir(folder)
  expect((await scriptIn(pages)).body.toString()).toBe('export {}')
})

test('a desk that starts while its page is built, also by two others at once, has a whole page', async () => {
  const folder = await folderOf('export {}')
  let isBuilding = true
  const building = Promise.all([buildPage(folder), buildPage(folder)]).finally(() => {
    isBuilding = false
  })
  const scripts = new Set<string>()
  while (isBuilding) scripts.add((await scriptIn(await Pages.open(folder))).body.toString())
  await building
  const built = await scriptIn(await Pages.open(folder))
  expect([...scripts, built.body.toString()].every(it => it === 'export {}' || it === built.body.toString())).toBe(true)
  expect(scripts).toContain('export {}')
  // Only the files of the page that was built last stay.
  await expect(Bun.file(join(folder, 'page-12345678.js')).exists()).resolves.toBe(false)
})
