/** The size of what the browser loads before the page can be used. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { buildPage } from '../../../forge/desk/build.ts'
import { makeFolder } from '../../support/repository.ts'

const MAX_PAGE_BYTES = 400_000

test('the page is one script and one style, under 400 KB compressed', async () => {
  await using folder = await makeFolder()
  const { page } = await buildPage(folder.path)
  const html = await Bun.file(join(folder.path, page)).text()
  const names = [...html.matchAll(/(?:href|src)="\/([^"]+)"/g)].map(([, name]) => name ?? '')
  expect(names.map(name => name.replace(/-.*\./, '.')).sort()).toEqual(['page.css', 'page.js'])
  const script = names.find(name => name.endsWith('.js')) ?? ''
  const source = await Bun.file(join(folder.path, script)).text()
  const parts = new Bun.Transpiler({ loader: 'js' }).scanImports(source)
  expect(parts.filter(({ kind }) => kind === 'import-statement')).toEqual([])
  const params = { [constants.BROTLI_PARAM_QUALITY]: 8 }
  const sizes = names.map(async name => brotliCompressSync(await Bun.file(join(folder.path, name)).bytes(), { params }))
  const bytes = (await Promise.all(sizes)).reduce((sum, { length }) => sum + length, 0)
  expect(bytes).toBeLessThan(MAX_PAGE_BYTES)
}, 30_000)
