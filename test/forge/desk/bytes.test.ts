/** Unchanged parts of a file keep their bytes, whatever these are. */

import { expect, test } from 'bun:test'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openRepository } from '../../../core/git/repository.ts'
import { openFile, vfsAt } from '../../../forge/desk/branches/places.ts'
import { addFile, ask, edit, makeDesk, PERSON, textOf } from '../../support/desk.ts'
import { gitWith, PLAIN } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'
import { bytesFrom } from '../../support/repository.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const CASES: [what: string, before: string, after: string][] = [
  ['CRLF', 'a\r\nb\r\n', 'a\r\nb\r\nnew\r\n'],
  ['mixed line endings', 'a\r\nb\nc\r\n', 'a\r\nb\nc\r\nnew\n'],
  ['a byte order mark', '\xef\xbb\xbfa\n', '\xef\xbb\xbfa\nnew\n'],
  ['no final newline', 'a\nb', 'a\nbnew\n'],
  ['nothing at all', '', 'new\n'],
  [
    'signs of other alphabets',
    'caf\xc3\xa9 \xf0\x9f\x8e\x89 \xd7\xa9\n',
    'caf\xc3\xa9 \xf0\x9f\x8e\x89 \xd7\xa9\nnew\n',
  ],
  ['an old Mac’s line ends', 'a\rb\r', 'a\rb\rnew\n'],
]

for (const [what, before, after] of CASES)
  test(`a file with ${what} keeps all unchanged bytes`, async () => {
    const others = { 'latin1.txt': latin1('caf\xe9\n'), 'nul.bin': latin1('a\0b'), 'other.txt': latin1(before) }
    await using desk = await makeDesk({ files: { 'a.txt': latin1(before), ...others } })
    await (await edit(desk.work, 'main', 'a.txt')).type('new\n')
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    expect(await bytesFrom(desk.path, 'cat-file', 'blob', 'main:a.txt')).toBe(after)
    expect(await desk.git('diff', '--name-status', 'main^', 'main')).toBe('M\ta.txt')
    // After deleting it again, the file is as before, and there is no draft.
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('', editor.text.length - 4, 4)
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    expect(await desk.git('diff', '--name-status', 'main^^', 'main')).toBe('')
  })

test('names of any bytes are opened, edited, renamed, deleted and listed', async () => {
  const names = [
    'with space.txt',
    'line\nbreak',
    '"quotes" \'too\'',
    'bytes\xff\xfe',
    'caf\xc3\xa9',
    '\xe2\x80\xaertl',
    '-rf',
    ':(glob)*',
    'back\\slash',
    '$(x) `y` %s',
  ]
  await using desk = await makeDesk({ files: Object.fromEntries(names.map(name => [name, 'a\n'])), bare: true })
  for (const name of names) await (await edit(desk.work, 'main', name)).type('b\n')
  const work = await desk.restart()
  expect((await work.describeBranches())[0]?.drafts).toEqual(names.toSorted())
  await ask(work, 'save', { branch: 'main', paths: 'all' })
  for (const name of names) expect(await blob(desk.path, name)).toBe('a\nb\n')
  for (const name of names.filter(it => !it.includes('\n')))
    await ask(work, 'move', { branch: 'main', moves: [{ from: name, to: `moved/${name}` }] })
  await ask(work, 'save', { branch: 'main', paths: ['moved/bytes\xff\xfe'] })
  expect(await blob(desk.path, 'moved/bytes\xff\xfe')).toBe('a\nb\n')
  expect(await desk.git('log', '--format=%s', '--grep=ff')).toBe('rename: bytes\\xff\\xfe → moved/bytes\\xff\\xfe')
  expect((await (await desk.restart()).describeBranches())[0]?.drafts).toHaveLength(names.length - 2)
  await ask(desk.work, 'delete', { branch: 'main', paths: ['moved'] })
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await bytesFrom(desk.path, 'ls-tree', '-r', '-z', '--name-only', 'main')).toBe('line\nbreak\0')
})

const blob = async (repository: string, path: string): Promise<string> => {
  const listed = await bytesFrom(repository, 'ls-tree', '-r', '-z', 'main')
  const line = listed.split('\0').find(it => it.endsWith(`\t${path}`))
  return bytesFrom(repository, 'cat-file', 'blob', line?.split(/[ \t]/)[2] ?? '')
}

test('modes, links and submodules stay; files that are not text are not edited', async () => {
  await using desk = await makeDesk({ files: { 'run.sh': '#!/bin/sh\n', 'a.txt': 'a\n' } })
  const module = await desk.git('rev-parse', 'main')
  await symlink('a.txt', join(desk.path, 'link'))
  await desk.git('add', 'link')
  await desk.git('update-index', '--chmod=+x', 'run.sh')
  await desk.git('update-index', '--add', '--cacheinfo', `160000,${module},module`)
  await desk.git('commit', '-q', '-m', 'odd')
  await desk.work.look()
  const before = await desk.git('ls-tree', '-r', 'main')
  await (await edit(desk.work, 'main', 'run.sh')).type('exit\n')
  await (await edit(desk.work, 'main', 'a.txt')).type('b\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  const after = await desk.git('ls-tree', '-r', 'main')
  const kept = (list: string) => list.split('\n').map(line => line.replace(/(blob) \w+(\t(run.sh|a.txt))/, '$1$2'))
  expect(kept(after)).toEqual(kept(before))
  const at = { kind: 'branch', branch: 'main' } as const
  expect(await openFile(desk.work.branches, at, 'link')).toMatchObject({
    kind: 'other',
    what: 'A symbolic link to a.txt.',
  })
  expect(await openFile(desk.work.branches, at, 'module')).toMatchObject({ kind: 'other', mode: '160000' })
  expect(
    await refusedBy(
      ask(desk.work, 'edit', { branch: 'main', path: 'link', version: 0, edits: [{ client: 'x', changes: [5] }] }),
    ),
  ).toThrow("can't be edited")
  expect(await refusedBy(ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'module', to: 'other' }] }))).toThrow(
    'git mv',
  )
  expect(await refusedBy(ask(desk.work, 'delete', { branch: 'main', paths: ['module'] }))).toThrow('git rm')
})

test('attributes and configuration about line ends or filters change nothing', async () => {
  const files = {
    '.gitattributes': '* text=auto eol=crlf ident\n*.txt working-tree-encoding=ISO-8859-1\n',
    'a.txt': 'one $Id$\n',
  }
  await using desk = await makeDesk({ files, bare: true })
  await desk.git('config', 'core.autocrlf', 'true')
  await (await edit(desk.work, 'main', 'a.txt')).type('two é\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await bytesFrom(desk.path, 'cat-file', 'blob', 'main:a.txt')).toBe('one $Id$\ntwo \xc3\xa9\n')
})

test('large files are read-only, and larger ones are only named', async () => {
  const files = {
    big: 'x'.repeat(3 << 20),
    huge: 'y'.repeat(11 << 20),
    pointer: 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
  }
  await using desk = await makeDesk({ files, bare: true })
  const at = { kind: 'branch', branch: 'main' } as const
  expect(await openFile(desk.work.branches, at, 'big')).toMatchObject({
    kind: 'text',
    readOnly: expect.stringContaining('3.0 MB'),
  })
  expect(await openFile(desk.work.branches, at, 'huge')).toMatchObject({
    kind: 'other',
    what: '11.0 MB: too large to be shown.',
  })
  expect(await openFile(desk.work.branches, at, 'pointer')).toMatchObject({ kind: 'other' })
  expect(
    await refusedBy(
      ask(desk.work, 'edit', { branch: 'main', path: 'big', version: 0, edits: [{ client: 'x', changes: [3 << 20] }] }),
    ),
  ).toThrow("can't be edited")
})

test('a commit is shown read-only', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  const old = await desk.git('rev-parse', 'main')
  await (await edit(desk.work, 'main', 'a.txt')).type('b\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  const file = await openFile(desk.work.branches, { kind: 'commit', commit: old }, 'a.txt')
  expect(file).toMatchObject({ kind: 'text', text: 'a\n', readOnly: expect.stringContaining('never changes') })
  const vfs = await vfsAt(desk.work.branches, { kind: 'commit', commit: old })
  expect(await refusedBy(vfs.writeFile('a.txt', Buffer.from('x')))).toThrow('never changes')
  expect(await refusedBy(openFile(desk.work.branches, { kind: 'commit', commit: '1'.repeat(40) }, 'a.txt'))).toThrow(
    'There is no commit',
  )
  expect(await refusedBy(openFile(desk.work.branches, { kind: 'commit', commit: '--help' }, 'a.txt'))).toThrow(
    'There is no commit',
  )
})

test('paths that lead out of the repository, or into .git, are refused with a sentence', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const bad = [
    '../x',
    'a/../b',
    '.git/config',
    'x/.GIT/hooks',
    '.git ',
    'git~1',
    '/etc/passwd',
    'a//b',
    '',
    'a\nb',
    'a\x1bb',
    'x/',
    '\u012e\u012e/x',
    '\u012egit/config',
    '\u012fetc',
  ]
  for (const path of bad) {
    expect(await refusedBy(ask(desk.work, 'new file', { branch: 'main', path }))).toThrow("can't be the name of a file")
    expect(await refusedBy(ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: path }] }))).toThrow(
      "can't be the name of a file",
    )
  }
  expect(await refusedBy(ask(desk.work, 'new file', { branch: 'main', path: 'a.txt' }))).toThrow(
    'There is a.txt already',
  )
  expect(await refusedBy(ask(desk.work, 'new file', { branch: 'main', path: 'a.txt/b' }))).toThrow(
    'a.txt is a file: nothing can be in it',
  )
  expect(await desk.git('rev-list', '--count', 'main')).toBe('1')
})

test('a day of work in bare, sha256 and empty repositories and in a linked worktree', async () => {
  for (const options of [{ bare: true }, { format: 'sha256' as const }, { bare: true, format: 'sha256' as const }]) {
    await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, ...options })
    await (await edit(desk.work, 'main', 'a.txt')).type('b\n')
    await desk.restart()
    const commit = (await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit
    expect(await desk.git('rev-parse', 'main')).toBe(commit ?? '')
    await desk.work.undo()
    await desk.work.redo()
    expect(await desk.git('show', 'main:a.txt')).toBe('a\nb')
  }
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  const linked = join(desk.folder, 'linked')
  await desk.git('worktree', 'add', '-q', '-b', 'topic', linked)
  const { openWork } = await import('../../../forge/desk/work.ts')
  const repository = await openRepository(linked, { env: { ...PLAIN, ...PERSON } })
  await using work = await openWork(repository, { state: join(desk.folder, 'linked-state'), onNews: () => undefined })
  await (await edit(work, 'topic', 'a.txt')).type('b\n')
  await ask(work, 'save', { branch: 'topic', paths: 'all' })
  await work.flush()
  expect(await gitWith(linked, ['status', '--porcelain', '-b'])).toBe('## topic')
  expect(await Bun.file(join(linked, 'a.txt')).text()).toBe('a\nb\n')
})

test('the first save in an empty repository makes the first commit and the branch', async () => {
  for (const bare of [true, false]) {
    await using desk = await makeDesk({ bare })
    expect(await desk.work.describeBranches()).toEqual([])
    expect(await refusedBy(ask(desk.work, 'new branch', { branch: 'topic', from: null }))).toThrow('no commit yet')
    await ask(desk.work, 'new file', { branch: 'main', path: 'read me.md' })
    await (await edit(desk.work, 'main', 'read me.md')).type('# Hello\n')
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    expect(await desk.git('log', '--format=%s', 'main')).toBe('add: read me.md')
    await desk.work.flush()
    if (!bare) expect(await desk.git('status', '--porcelain')).toBe('')
    await desk.work.undo()
    expect(await desk.git('for-each-ref', 'refs/heads')).toBe('')
    expect(await textOf(desk.work, 'main', 'read me.md')).toBe('# Hello\n')
    await desk.work.undo()
    expect(await desk.git('for-each-ref', 'refs/forge/drafts')).toBe('')
    await desk.work.redo()
    await desk.work.redo()
    expect(await desk.git('log', '--format=%s', 'main')).toBe('add: read me.md')
    expect(await desk.git('show', 'main:read me.md')).toBe('# Hello')
  }
})

test('a commit contains only what was saved: other files in the folder are not added', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  await writeFile(join(desk.path, 'untracked'), 'mine')
  await addFile(desk.work, 'main', 'b.txt')
  await desk.work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('?? untracked')
})

test('a text in Latin-1 is shown with a guess of its encoding, and no byte of it changes', async () => {
  const latin = Buffer.from('caf\xe9\r\n\x93x\x94\r\n', 'latin1')
  await using desk = await makeDesk({ files: { 'a.txt': latin, 'b.txt': 'b\n' }, bare: true })
  const at = { kind: 'branch', branch: 'main' } as const
  const file = await openFile(desk.work.branches, at, 'a.txt')
  expect(file).toMatchObject({ kind: 'text', text: 'café\n“x”\n', saved: 'café\n“x”\n', lineEnd: 'CRLF' })
  expect(file).toMatchObject({
    readOnly: 'a.txt is not UTF-8. Shown as Windows-1252 (a guess), read-only.',
  })
  const edits = [{ client: 'window', changes: [[0, 'x'], 9] }]
  expect(await refusedBy(ask(desk.work, 'edit', { branch: 'main', path: 'a.txt', version: 0, edits }))).toThrow(
    "can't be edited",
  )
  await (await edit(desk.work, 'main', 'b.txt')).type('more\n')
  await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: 'folder/a.txt' }] })
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(
    await openFile(desk.work.branches, { kind: 'commit', commit: await desk.git('rev-parse', 'main') }, 'folder/a.txt'),
  ).toMatchObject({ kind: 'text', text: 'café\n“x”\n', readOnly: expect.stringContaining('A commit never changes') })
  const child = Bun.spawn(['git', 'cat-file', 'blob', 'main:folder/a.txt'], { cwd: desk.path, stdout: 'pipe' })
  expect(Buffer.from(await child.stdout.bytes()).equals(latin)).toBe(true)
})
