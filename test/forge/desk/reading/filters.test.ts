/** Files with Git LFS or another filter, and attributes that only affect checkouts. */

import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFile, vfsAt } from '../../../../forge/desk/branches/places.ts'
import { WorkInProgressVfs } from '../../../../forge/vfs.ts'
import { ask, edit, makeDesk, PERSON, textOf } from '../../../support/desk.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { bytesFrom, makeFolder } from '../../../support/repository.ts'

const POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'
const ATTRIBUTES =
  '[attr]kept filter=lfs diff=lfs merge=lfs -text\n*.psd kept\nsecret/** filter=git-crypt\nsecret/open -filter\n'
const FILES = {
  '.gitattributes': ATTRIBUTES,
  'a.txt': 'a\n',
  'raw.psd': 'raw\n',
  'pointer.psd': POINTER,
  'secret/key': 'key\n',
  'secret/open': 'open\n',
  'plain/b.txt': 'b\n',
  'own/.gitattributes': '*.bin filter=lfs\n',
  'own/c.bin': POINTER,
}
const at = { kind: 'branch', branch: 'main' } as const
const BY_LFS = 'that Git LFS keeps (.gitattributes), which the desk does not run: edit it in a checkout.'

for (const bare of [true, false])
  test(`files with a filter are shown read-only, and not created, in a ${bare ? 'bare ' : ''}repository`, async () => {
    await using desk = await makeDesk({ files: FILES, bare })
    const { work } = desk
    expect(await openFile(work.branches, at, 'raw.psd')).toMatchObject({
      text: 'raw\n',
      readOnly: `raw.psd is a file ${BY_LFS}`,
    })
    expect(
      await refusedBy(
        ask(work, 'edit', { branch: 'main', path: 'raw.psd', version: 0, edits: [{ client: 'x', changes: [4] }] }),
      ),
    ).toThrow("can't be edited")
    expect(await openFile(work.branches, at, 'pointer.psd')).toMatchObject({
      kind: 'other',
      what: expect.stringContaining('pointer'),
    })
    expect(await openFile(work.branches, at, 'secret/key')).toMatchObject({
      readOnly: expect.stringContaining('secret/key is a file that the filter git-crypt keeps'),
    })
    expect(await openFile(work.branches, at, 'secret/open')).toMatchObject({ text: 'open\n', readOnly: undefined })
    expect(await openFile(work.branches, at, 'a.txt')).toMatchObject({ text: 'a\n', readOnly: undefined })
    const tip = await desk.git('rev-parse', 'main')
    for (const path of ['new.psd', 'deep/new.psd', 'own/new.bin'])
      expect(await refusedBy(ask(work, 'new file', { branch: 'main', path }))).toThrow(`${path} is a file ${BY_LFS}`)
    for (const [from, to] of [
      ['a.txt', 'a.psd'],
      ['pointer.psd', 'pointer.txt'],
      ['plain', 'secret/plain'],
      ['own/c.bin', 'c.bin'],
    ] as const)
      expect(await refusedBy(ask(work, 'move', { branch: 'main', moves: [{ from, to }] }))).toThrow(
        'which the desk does not run',
      )
    expect(await desk.git('rev-parse', 'main')).toBe(tip)
    // A rename under the same filter is allowed, and a folder's own .gitattributes move with it.
    await ask(work, 'move', { branch: 'main', moves: [{ from: 'pointer.psd', to: 'deep/other.psd' }] })
    await ask(work, 'move', { branch: 'main', moves: [{ from: 'own', to: 'other' }] })
    await ask(work, 'delete', { branch: 'main', paths: ['raw.psd'] })
    await ask(work, 'save', { branch: 'main', paths: 'all' })
    expect(await bytesFrom(desk.path, 'cat-file', 'blob', 'main:deep/other.psd')).toBe(POINTER)
  })

test('a draft of a file that got a filter later is not saved, and is kept', async () => {
  await using desk = await makeDesk({ files: { 'a.psd': 'a\n', '.gitattributes': '\n' }, bare: true })
  const editor = await edit(desk.work, 'main', 'a.psd')
  await editor.type('typed\n')
  await (await edit(desk.work, 'main', '.gitattributes')).type('*.psd filter=lfs\n')
  await ask(desk.work, 'save', { branch: 'main', paths: ['.gitattributes'] })
  expect(await refusedBy(ask(desk.work, 'save', { branch: 'main', paths: 'all' }))).toThrow(BY_LFS)
  expect(await textOf(desk.work, 'main', 'a.psd')).toBe('a\ntyped\n')
  await ask(desk.work, 'discard', { branch: 'main', paths: ['a.psd'] })
  expect(await openFile(desk.work.branches, at, 'a.psd')).toMatchObject({
    text: 'a\n',
    readOnly: expect.stringContaining('Git LFS'),
  })
})

test('the user’s own attributes for the repository apply, too', async () => {
  await using desk = await makeDesk({ files: { 'a.psd': 'a\n' }, bare: true })
  await mkdir(join(desk.path, 'info'), { recursive: true })
  await writeFile(join(desk.path, 'info/attributes'), '*.psd filter=lfs\n')
  expect(await refusedBy(ask(desk.work, 'new file', { branch: 'main', path: 'b.psd' }))).toThrow(BY_LFS)
})

test('the user’s attributes for all repositories apply, too', async () => {
  await using folder = await makeFolder()
  const [named, usual] = [join(folder.path, 'named'), join(folder.path, 'git/attributes')]
  await mkdir(join(folder.path, 'git'))
  for (const file of [named, usual]) await writeFile(file, '*.psd filter=lfs\n')
  const byName = {
    GIT_CONFIG_COUNT: '3',
    GIT_CONFIG_KEY_2: 'core.attributesFile',
    GIT_CONFIG_VALUE_2: named,
  }
  for (const more of [byName, { XDG_CONFIG_HOME: folder.path }]) {
    await using desk = await makeDesk({ files: { 'a.psd': 'a\n' }, bare: true, env: { ...PERSON, ...more } })
    expect(await refusedBy(ask(desk.work, 'new file', { branch: 'main', path: 'b.psd' }))).toThrow(BY_LFS)
    expect(await openFile(desk.work.branches, at, 'a.psd')).toMatchObject({
      readOnly: expect.stringContaining('Git LFS'),
    })
  }
})

test('an AI is told why it can’t write such a file', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const { objects, base } = (await vfsAt(desk.work.branches, at)) as WorkInProgressVfs
  const { Filters } = await import('../../../../forge/desk/reading/filters.ts')
  const filters = new Filters(objects)
  const vfs = new WorkInProgressVfs(objects, base, new Map(), path => filters.verifyNone(base, [path]))
  expect(await refusedBy(vfs.writeFile('new.psd', Buffer.from('x')))).toThrow(BY_LFS)
  await vfs.writeFile('new.txt', Buffer.from('x'))
})

test('opening a file is not slowed down by attributes, also in a repository with filters', async () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`folder/${at}.txt`, 'text\n']))
  await using desk = await makeDesk({ files: { ...FILES, ...many }, bare: true })
  const times: number[] = []
  for (const path of Object.keys(many)) {
    const begun = performance.now()
    await openFile(desk.work.branches, at, path)
    times.push(performance.now() - begun)
  }
  // The slowest of the faster half is compared, since the others may have waited for other processes.
  expect(times.toSorted((one, other) => one - other)[25]).toBeLessThan(50)
})

test('line ends are as git add would make them in a new file, or those of the file', async () => {
  const files = {
    '.gitattributes': 'auto.txt text=auto\nall.txt text eol=crlf\nnew* text eol=crlf\n',
    'auto.txt': 'one\r\ntwo\r\n',
    'all.txt': 'one\ntwo\n',
  }
  await using desk = await makeDesk({ files: { 'other.txt': 'x\n' } })
  // The file is committed without the attributes, as if these were added later.
  for (const [path, text] of Object.entries(files)) await writeFile(join(desk.path, path), text)
  const oid = await desk.git('hash-object', '-w', '--no-filters', 'auto.txt')
  await desk.git('add', '.gitattributes', 'all.txt')
  await desk.git('update-index', '--add', '--cacheinfo', `100644,${oid},auto.txt`)
  await desk.git('commit', '-q', '-m', 'Text')
  await desk.work.look()
  await ask(desk.work, 'new file', { branch: 'main', path: 'new.txt' })
  for (const path of ['auto.txt', 'all.txt', 'new.txt']) await (await edit(desk.work, 'main', path)).type('typed\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await desk.work.flush()
  const blob = (path: string) => bytesFrom(desk.path, 'cat-file', 'blob', `main:${path}`)
  expect(await blob('auto.txt')).toBe('one\r\ntwo\r\ntyped\r\n')
  expect(await blob('all.txt')).toBe('one\ntwo\ntyped\n')
  expect(await blob('new.txt')).toBe('typed\n')
  // The checkout was updated with the line ends that git expects: git add changes nothing.
  expect(await Bun.file(join(desk.path, 'new.txt')).text()).toBe('typed\r\n')
  await desk.git('add', '--renormalize', 'new.txt', 'all.txt')
  await desk.git('add', 'auto.txt')
  expect(await desk.git('status', '--porcelain')).toBe('')
})
