/** The user's settings: kept with what the desk does not know, never written over what it can't read. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { lstat, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { UserSettings } from '../../../../forge/desk/contract/settings.ts'
import { SettingsFile } from '../../../../forge/desk/server/user-settings.ts'
import { makeFolder, until } from '../../../support/repository.ts'

let folder: Awaited<ReturnType<typeof makeFolder>>
let heard: UserSettings[]
let settings: SettingsFile
let path: string

beforeEach(async () => {
  folder = await makeFolder()
  heard = []
  path = join(folder.path, 'forge/settings.json')
  settings = new SettingsFile(join(folder.path, 'forge'), it => heard.push(it))
  await settings.begin()
})
afterEach(async () => {
  settings[Symbol.dispose]()
  await folder[Symbol.asyncDispose]()
})

const text = () => readFile(path, 'utf8')
const put = async (content: string) => {
  await mkdir(join(folder.path, 'forge'), { recursive: true })
  await writeFile(path, content)
}

test('a value is set and removed, and the other keys stay, in their order', async () => {
  await put('{ "mine": { "a": [1] }, "theme": "dark", "editor.fontSize": 99 }')
  expect(await settings.read()).toEqual({
    path,
    values: { theme: 'dark' },
    unknown: ['mine'],
    problems: ['editor.fontSize must be a number from 8 to 32: it has its default.'],
  })
  await settings.set('editor.tabSize', 8)
  await settings.set('theme', null)
  expect(JSON.parse(await text())).toEqual({ mine: { a: [1] }, 'editor.fontSize': 99, 'editor.tabSize': 8 })
  expect(Object.keys(JSON.parse(await text()))).toEqual(['mine', 'editor.fontSize', 'editor.tabSize'])
  expect(heard.at(-1)?.values).toEqual({ 'editor.tabSize': 8 })
})

test('each value that is not allowed is named with what it may be', async () => {
  const wrong = { theme: 'blue', 'editor.fontFamily': 'url(x)', 'editor.fontSize': '13', 'editor.lineHeight': 0.5 }
  await put(JSON.stringify({ ...wrong, 'editor.tabSize': 2.5, 'editor.blame': 'yes' }))
  expect(await settings.read()).toMatchObject({
    values: {},
    problems: [
      'theme must be "system", "light" or "dark": it has its default.',
      'editor.fontFamily must be names of fonts, separated by commas, of at most 200 characters: it has its default.',
      'editor.fontSize must be a number from 8 to 32: it has its default.',
      'editor.lineHeight must be a number from 1 to 3: it has its default.',
      'editor.tabSize must be a whole number from 1 to 16: it has its default.',
      'editor.blame must be true or false: it has its default.',
    ],
  })
})

test('a broken file is said in a sentence, keeps the last values, and is not written', async () => {
  await settings.set('theme', 'light')
  for (const broken of ['{ "theme": "dark", // comment\n}', '[]', '{"theme":']) {
    await put(broken)
    const read = await settings.read()
    expect(read.broken).toContain(`${path} is not read and not changed until it is mended: it is not`)
    expect(read.values).toEqual({ theme: 'light' })
    expect(await settings.set('theme', 'dark').catch(String)).toContain('is not read and not changed')
    expect(await text()).toBe(broken)
  }
})

test('a change of the file from outside is told, and one of values that are not allowed refused', async () => {
  await put('{ "theme": "dark" }')
  await until(() => heard.at(-1)?.values.theme === 'dark')
  const font = 'x; background: url(https://example.com)'
  expect(await settings.set('editor.fontFamily', font).catch(String)).toContain('must be names of fonts')
  expect(await settings.set('editor.tabSize', 2.5).catch(String)).toContain('editor.tabSize')
})

test('a link is followed, and both it and the permissions stay', async () => {
  const dotfile = join(folder.path, 'dotfile.json')
  await writeFile(dotfile, '{}', { mode: 0o644 })
  await mkdir(join(folder.path, 'forge'))
  await symlink(dotfile, path)
  await settings.set('theme', 'dark')
  expect((await lstat(path)).isSymbolicLink()).toBe(true)
  expect(JSON.parse(await readFile(dotfile, 'utf8'))).toEqual({ theme: 'dark' })
  expect((await lstat(dotfile)).mode & 0o777).toBe(0o644)
})
