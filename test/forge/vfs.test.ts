/** The Vfs: the files of a commit, and those of work in progress. */
import { expect, test } from 'bun:test'
import { mkdir, readdir, readFile, readlink, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { CommitVfs, removeLeftBehind, WorkInProgressVfs } from '../../forge/vfs.ts'
import { commit } from '../support/git.ts'
import { refusedBy } from '../support/refusals.ts'
import { makePlace, type Place } from '../support/repository.ts'

const FILES = {
  'a.txt': 'a\r\n',
  'folder/b.txt': 'b',
  'folder/run.sh': { mode: '100755' as const, content: '#!/bin/sh\n' },
  link: { mode: '120000' as const, content: '/etc/passwd' },
}
const text = (words: string) => Buffer.from(words)

async function makeWork(place: Place): Promise<WorkInProgressVfs> {
  return new WorkInProgressVfs(place.objects, await commit(place.path, 'main', FILES))
}
const pathsOf = async (vfs: WorkInProgressVfs, folder = '') =>
  (await vfs.listFiles(folder)).map(it => `${it.mode} ${it.path}`)

test('the files of a commit are read and listed, and never change', async () => {
  await using place = await makePlace()
  const vfs = new CommitVfs(place.objects, await commit(place.path, 'main', FILES))
  expect((await vfs.readFile('a.txt')).toString()).toBe('a\r\n')
  expect((await vfs.listFiles('folder')).map(it => it.path)).toEqual(['folder/b.txt', 'folder/run.sh'])
  expect([await vfs.fileExists('folder/b.txt'), await vfs.fileExists('folder'), await vfs.fileExists('x')]).toEqual([
    true,
    false,
    false,
  ])
  expect(await refusedBy(vfs.readFile('folder'))).toThrow('There is no file folder')
  expect(await refusedBy(vfs.deleteFile('a.txt'))).toThrow('never changes')
})

test('work in progress shows its changes at once, and the commit has them', async () => {
  await using place = await makePlace()
  const vfs = await makeWork(place)
  await vfs.writeFile('folder/run.sh', text('new\n'))
  await vfs.writeFile('tools/x.sh', text('x'), { mode: '100755' })
  await vfs.writeFile('plain', text('\0\xff'))
  await vfs.deleteFile('a.txt')
  expect((await vfs.readFile('folder/run.sh')).toString()).toBe('new\n')
  const expected = ['100644 folder/b.txt', '100755 folder/run.sh', '120000 link', '100644 plain', '100755 tools/x.sh']
  expect(await pathsOf(vfs)).toEqual(expected)
  const oid = await vfs.commit({
    message: 'x\n',
    author: { name: 'A', email: 'a@b' },
    committer: { name: 'A', email: 'a@b' },
  })
  expect((await new CommitVfs(place.objects, oid).listFiles('')).map(it => `${it.mode} ${it.path}`)).toEqual(expected)
  expect(await place.git('rev-parse', `${oid}^`)).toBe(vfs.base ?? '')
})

test('a folder is deleted with all in it; nothing is not', async () => {
  await using place = await makePlace()
  const vfs = await makeWork(place)
  await vfs.writeFile('folder/new', text('x'))
  await vfs.deleteFile('folder')
  expect(await pathsOf(vfs)).toEqual(['100644 a.txt', '120000 link'])
  expect(await refusedBy(vfs.deleteFile('folder'))).toThrow('There is no file folder')
  await vfs.writeFile('folder', text('a file now'))
  expect(await pathsOf(vfs)).toContain('100644 folder')
  await vfs.writeTree()
})

test('a file and a folder of one name are refused, and paths that git refuses', async () => {
  await using place = await makePlace()
  const vfs = await makeWork(place)
  expect(await refusedBy(vfs.writeFile('folder', text('')))).toThrow('folder is a folder')
  expect(await refusedBy(vfs.writeFile('a.txt/x', text('')))).toThrow('a.txt is a file')
  const bad = [
    '..',
    'a/../b',
    '.git',
    'x/.Git/y',
    'GIT~1',
    '.git./x',
    '/a',
    'a//b',
    'a/',
    '',
    'a\0',
    'a\x07',
    '.g\xe2\x80\x8cit/x',
    'x'.repeat(300),
  ]
  for (const path of bad) expect(await refusedBy(vfs.writeFile(path, text('')))).toThrow("can't be the name of a file")
  expect(vfs.changes.size).toBe(0)
})

test('a folder for commands has every file exactly as it is, and is gone afterwards', async () => {
  await using place = await makePlace()
  const tip = await commit(place.path, 'main', {
    ...FILES,
    '.gitattributes': '* text eol=crlf ident filter=f working-tree-encoding=UTF-16\n',
  })
  await place.git('config', 'filter.f.smudge', 'tr a-z A-Z')
  const vfs = new WorkInProgressVfs(place.objects, tip)
  await vfs.writeFile('new/draft', text('one $Id$\n'))
  const parent = join(place.folder, 'materialized')
  let folder = ''
  {
    await using made = await vfs.materialize(parent)
    folder = made.folder
    expect(await readFile(join(folder, 'a.txt'), 'latin1')).toBe('a\r\n')
    expect(await readFile(join(folder, 'new/draft'), 'latin1')).toBe('one $Id$\n')
    expect((await stat(join(folder, 'folder/run.sh'))).mode & 0o111).toBe(0o111)
    expect(await readlink(join(folder, 'link'))).toBe('/etc/passwd')
    expect((await readdir(folder)).sort()).toEqual(['.gitattributes', 'a.txt', 'folder', 'link', 'new'])
  }
  expect(await readdir(parent)).toEqual([])
  await using empty = await new WorkInProgressVfs(place.objects, undefined).materialize(parent)
  expect(await readdir(empty.folder)).toEqual([])
})

test('folders of killed processes are removed, those of living ones and of other machines are not', async () => {
  await using place = await makePlace()
  const parent = join(place.folder, 'materialized')
  const dead = Bun.spawn(['true'])
  await dead.exited
  const names = [
    `scratch-${hostname()}-${dead.pid}-abc`,
    `scratch-${hostname()}-${process.pid}-abc`,
    'scratch-elsewhere-1-abc',
    'notes',
  ]
  for (const name of names) await mkdir(join(parent, name), { recursive: true })
  await removeLeftBehind(parent)
  expect((await readdir(parent)).sort()).toEqual(names.slice(1).sort())
})

test('a file is written as quickly beside tens of thousands of others as beside none', async () => {
  await using place = await makePlace()
  const vfs = new WorkInProgressVfs(place.objects, undefined)
  const times: number[] = []
  for (let number = 0, begun = performance.now(); number < 20_000; number++) {
    await vfs.writeFile(`made/${number % 100}/${number}`, text('x'))
    if (number % 500 !== 499) continue
    times.push(performance.now() - begun)
    begun = performance.now()
  }
  expect(Math.min(...times.slice(-4)) / Math.min(...times.slice(0, 4))).toBeLessThan(5)
  expect(await refusedBy(vfs.writeFile('made/7', text('x')))).toThrow('made/7 is a folder')
  for (const { path } of await vfs.listFiles('made/7')) await vfs.deleteFile(path)
  await vfs.writeFile('made/7', text('x'))
  expect(await vfs.fileExists('made/7')).toBe(true)
})
