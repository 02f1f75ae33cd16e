/** The page's files, as a browser gets them. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Pages } from '../../../../forge/desk/server/pages.ts'

/** Builds a page with one script, and requests that with some accepted encodings. */
async function scriptOf(script: string, accepted: string): Promise<{ encoding: string | null; body: Buffer }> {
  const folder = await mkdtemp(join(tmpdir(), 'desk-page-'))
  try {
    await writeFile(join(folder, 'page.html'), '<!doctype html>')
    await writeFile(join(folder, 'part-12345678.js'), script)
    const pages = await Pages.open(folder)
    const answer = await pages.answer('/part-12345678.js', new Headers({ 'accept-encoding': accepted }))
    if (!answer) throw new Error('there was no answer')
    return { encoding: answer.headers.get('content-encoding'), body: Buffer.from(await answer.arrayBuffer()) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

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
