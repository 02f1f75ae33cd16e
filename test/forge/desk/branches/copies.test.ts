/** Copies of files and folders: drafts with the same modes and bytes, under names that are free. */
import { describe, expect, test } from 'bun:test'
import { nameOfCopy } from '../../../../forge/desk/contract/paths.ts'
import type { At } from '../../../../forge/desk/contract/values.ts'
import { addSubmodule, ask, conflictsIn, type Desk, edit, makeDesk, saveIn, textOf } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { refusedBy } from '../../../support/refusals.ts'

const ODD = {
  'odd/crlf.txt': 'one\r\ntwo\r\n',
  'odd/bom.txt': '\ufeffone\n',
  'odd/latin1.txt': Buffer.from('gr\xfc\xdfe\n', 'latin1'),
  'odd/nul.bin': Buffer.from([0, 255, 13, 10, 0]),
  'odd/cr.txt': 'one\rtwo\n\r\n',
  'a.ts': 'a\n',
  'b/c.ts': 'c\n',
}
const main = { branch: 'main' }
const inMain: At = { kind: 'branch', ...main }

type How = { at?: At; findsNames?: boolean }

const copy = async (desk: Desk, copies: [from: string, to: string][], { at = inMain, findsNames = true }: How = {}) => {
  const wanted = { at, ...main, copies: copies.map(([from, to]) => ({ from, to })), findsNames }
  return (await ask(desk.work, 'copy', wanted)).paths
}
const drafts = async (desk: Desk) => (await desk.work.describeBranches()).find(({ name }) => name === 'main')?.drafts
/** The modes, ids and names of the files in a folder of the drafts. */
const listed = async (desk: Desk, folder: string, ref = 'refs/forge/drafts/main') =>
  (await desk.git('ls-tree', '-r', `${ref}:${folder}`)).split('\n')

/** Adds an executable file and a link to main. */
async function withModes(desk: Desk): Promise<void> {
  await commit(desk.path, 'main', {
    'odd/run.sh': { mode: '100755', content: '#!/bin/sh\n' },
    'odd/link': { mode: '120000', content: '../a.ts' },
  })
  await desk.work.look()
}

test('a copied folder has the modes and bytes of each file, whatever it contains', async () => {
  await using desk = await makeDesk({ files: ODD, bare: true })
  await withModes(desk)
  expect(await copy(desk, [['odd', 'odd']])).toEqual(['odd copy'])
  const before = await listed(desk, 'odd', 'main')
  expect(before.map(line => line.slice(0, 6))).toEqual([
    '100644',
    '100644',
    '100644',
    '100644',
    '120000',
    '100644',
    '100755',
  ])
  expect(await listed(desk, 'odd copy')).toEqual(before)
  expect(await drafts(desk)).toEqual(before.map(line => `odd copy/${line.split('\t')[1]}`))
  await saveIn(desk.work, 'main')
  expect(await listed(desk, 'odd copy', 'main')).toEqual(before)
  // A copy of one file keeps them, too.
  const paths = ['run.sh', 'link', 'nul.bin'].map(name => `odd/${name}`)
  await copy(
    desk,
    paths.map(path => [path, `b/${path.slice(4)}`]),
  )
  const wanted = before.filter(line => /run\.sh|link|nul/.test(line))
  expect((await listed(desk, 'b')).filter(line => !line.includes('c.ts'))).toEqual(wanted)
})

test('a copy gets the first free name, also among drafts and in one step', async () => {
  await using desk = await makeDesk({ files: ODD, bare: true })
  expect(await copy(desk, [['a.ts', 'a.ts']])).toEqual(['a copy.ts'])
  expect(await copy(desk, [['a.ts', 'a.ts']])).toEqual(['a copy 2.ts'])
  expect(await copy(desk, [['a copy.ts', 'a copy.ts']])).toEqual(['a copy 3.ts'])
  await ask(desk.work, 'delete', { ...main, paths: ['a copy 2.ts'] })
  const both: [string, string][] = [
    ['a.ts', 'a.ts'],
    ['b/c.ts', 'a.ts'],
    ['b', 'odd/b'],
  ]
  expect(await copy(desk, both)).toEqual(['a copy 2.ts', 'a copy 4.ts', 'odd/b'])
  expect(await refusedBy(copy(desk, [['a.ts', 'b']], { findsNames: false }))).toThrow('There is b already')
  expect(await copy(desk, [['a.ts', 'new/deep.ts']], { findsNames: false })).toEqual(['new/deep.ts'])
  expect(await desk.work.undoable('main')).toMatchObject({ undo: 'copy a.ts to new/deep.ts in main' })
})

test('names of copies are those of VS Code', () => {
  const names = (name: string, isFolder = false) => nameOfCopy(name, isFolder)
  expect(names('a.ts')).toBe('a copy.ts')
  expect(names('a copy.ts')).toBe('a copy 2.ts')
  expect(names('a copy 9.test.ts')).toBe('a copy 9.test copy.ts')
  expect(names('a copy 9.ts')).toBe('a copy 10.ts')
  expect(names('.env')).toBe('.env copy')
  expect(names('Makefile')).toBe('Makefile copy')
  expect(names('v1.2', true)).toBe('v1.2 copy')
  expect(names('v1.2 copy', true)).toBe('v1.2 copy 2')
  expect(names('a copy 1073741824.ts')).toBe('a copy 1073741824 copy.ts')
})

describe('what is typed', () => {
  test('is in a copy as it is at that moment, and not what is typed later', async () => {
    await using desk = await makeDesk({ files: ODD, bare: true })
    const editor = await edit(desk.work, 'main', 'b/c.ts')
    await editor.type('typed\n')
    await copy(desk, [['b', 'b']])
    await editor.type('later\n')
    expect(await textOf(desk.work, 'main', 'b copy/c.ts')).toBe('c\ntyped\n')
    expect(await textOf(desk.work, 'main', 'b/c.ts')).toBe('c\ntyped\nlater\n')
  })

  test('in another branch is copied with its file, and a commit gives the file as it was', async () => {
    await using desk = await makeDesk({ files: ODD, bare: true })
    const first = await desk.git('rev-parse', 'main')
    await ask(desk.work, 'new branch', { branch: 'other', from: first })
    await commit(desk.path, 'main', { 'b/c.ts': null })
    await desk.work.look()
    await (await edit(desk.work, 'other', 'b/c.ts')).type('typed\n')
    await ask(desk.work, 'delete', { branch: 'other', paths: ['a.ts'] })
    expect(await copy(desk, [['b', 'b']], { at: { kind: 'branch', branch: 'other' } })).toEqual(['b'])
    expect(await textOf(desk.work, 'main', 'b/c.ts')).toBe('c\ntyped\n')
    expect(await copy(desk, [['b', 'b']], { at: { kind: 'commit', commit: first } })).toEqual(['b copy'])
    expect(await textOf(desk.work, 'main', 'b copy/c.ts')).toBe('c\n')
    expect(await refusedBy(copy(desk, [['a.ts', 'z.ts']], { at: { kind: 'branch', branch: 'other' } }))).toThrow(
      'There is no a.ts in other any more.',
    )
  })

  test('in a copy is undone with it, and done again with it', async () => {
    await using desk = await makeDesk({ files: ODD, bare: true })
    await copy(desk, [
      ['a.ts', 'a.ts'],
      ['b', 'b'],
    ])
    await (await edit(desk.work, 'main', 'a copy.ts')).type('typed\n')
    expect(await desk.work.undoable('main')).toMatchObject({ undo: 'copy a.ts and b to the top folder in main' })
    await desk.work.undo()
    expect(await drafts(desk)).toEqual([])
    await desk.work.redo()
    expect(await drafts(desk)).toEqual(['a copy.ts', 'b copy/c.ts'])
    expect(await textOf(desk.work, 'main', 'a copy.ts')).toBe('a\ntyped\n')
  })
})

test('a copy in the place of a deleted file, as that was, is no draft, and undo deletes the file again', async () => {
  await using desk = await makeDesk({ files: ODD, bare: true })
  await copy(desk, [['b', 'kept']])
  await ask(desk.work, 'delete', { ...main, paths: ['b', 'a.ts'] })
  expect(
    await copy(desk, [
      ['kept', 'b'],
      ['odd/bom.txt', 'a.ts'],
    ]),
  ).toEqual(['b', 'a.ts'])
  expect(await drafts(desk)).toEqual(['a.ts', 'kept/c.ts'])
  await desk.work.undo()
  expect(await drafts(desk)).toEqual(['a.ts', 'b/c.ts', 'kept/c.ts'])
  expect(await textOf(desk.work, 'main', 'b/c.ts')).toBe(undefined)
})

test('a file that Git LFS keeps is copied as its pointer, and saved; another filter’s file is refused', async () => {
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'
  const attributes = '*.psd filter=lfs\n*.key filter=git-crypt\n'
  const files = { '.gitattributes': attributes, 'in/a.psd': pointer, 'raw.psd': 'raw\n', 'b.key': 'b\n' }
  await using desk = await makeDesk({ files, bare: true })
  await copy(desk, [['in', 'in']])
  await saveIn(desk.work, 'main')
  expect(await listed(desk, 'in copy', 'main')).toEqual(await listed(desk, 'in', 'main'))
  await copy(desk, [['in/a.psd', 'more.psd']])
  await ask(desk.work, 'save parts', { ...main, parts: [{ path: 'more.psd' }] })
  expect(await desk.git('show', 'main:more.psd')).toBe(pointer.trim())
  for (const name of ['raw.psd', 'b.key']) {
    expect(await refusedBy(copy(desk, [[name, name]]))).toThrow('edit it in a checkout')
    expect(await drafts(desk)).toEqual([])
  }
})

test('what can’t be copied is refused with a sentence, and nothing of the rest is copied', async () => {
  await using desk = await makeDesk({ files: { ...ODD, '.gitattributes': '*.psd filter=lfs\n' }, bare: true })
  await addSubmodule(desk, 'with')
  for (const [from, to, why] of [
    ['b', 'b/deeper', 'b can’t be copied into itself.'],
    ['none', 'more', 'There is no none in main any more.'],
    ['odd', 'a.ts/odd', 'a.ts is a file: nothing can be in it'],
    ['odd', '.git/odd', 'git refuses .git'],
    ['with', 'more', 'with/sub is a submodule: add another one by git submodule add.'],
    ['with/sub', 'more', 'with/sub is a submodule: add another one by git submodule add.'],
    ['a.ts', 'a.psd', 'a.psd is a file that Git LFS keeps'],
  ] as const)
    expect(
      await refusedBy(
        copy(desk, [
          ['a.ts', 'z.ts'],
          [from, to],
        ]),
      ),
    ).toThrow(why.replace('’', "'"))
  await (await edit(desk.work, 'main', 'a.ts')).type('mine', 0, 1)
  await commit(desk.path, 'main', { 'a.ts': 'theirs\n' })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toHaveLength(1)
  expect(await refusedBy(copy(desk, [['a.ts', 'z.ts']]))).toThrow('resolve them first')
  expect(await drafts(desk)).toEqual(['a.ts'])
})
