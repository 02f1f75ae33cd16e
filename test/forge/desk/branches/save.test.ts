/** Saves: the commit's message and author, and concurrent saves. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { closeFile } from '../../../../forge/desk/branches/places.ts'
import { messageFor } from '../../../../forge/desk/branches/save.ts'
import { ask, edit, makeDesk, PERSON, textOf } from '../../../support/desk.ts'
import { refusedBy } from '../../../support/refusals.ts'

const FILES = { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' }

test('messages name the files, or their number if there are many', () => {
  const edits = (...paths: string[]) => paths.map(path => ({ path, does: 'edit' as const }))
  expect(messageFor(edits('a.ts'))).toBe('edit: a.ts')
  expect(messageFor(edits('a.ts', 'b.ts'))).toBe('edit: a.ts, b.ts')
  expect(messageFor(edits(...'abcdefg'))).toBe('edit: 7 files')
  expect(messageFor(edits('long/'.repeat(9), 'long/'.repeat(9)))).toBe('edit: 2 files')
  expect(messageFor(edits('caf\xc3\xa9', 'x\ny\xff\xe2\x80\xae'))).toBe('edit: café, x\\x0ay\\xff\\xe2\\x80\\xae')
  expect(messageFor([{ path: 'a', does: 'add' }])).toBe('add: a')
})

test('messages say of each file whether it is added, deleted, renamed or edited, also where they only count', () => {
  const does = (does: 'edit' | 'add' | 'delete', ...paths: string[]) => paths.map(path => ({ path, does }))
  const rename = (from: string, path: string, files = 1) => ({ path, does: 'rename' as const, from, files })
  expect(messageFor([...does('add', 'a'), ...does('delete', 'b')])).toBe('add: a; delete: b')
  expect(messageFor([rename('a', 'b'), rename('c', 'd'), ...does('edit', 'e')])).toBe('rename: a → b, c → d; edit: e')
  expect(messageFor([rename('a', 'b', 9), ...does('edit', ...'cdefg')])).toBe('rename: a → b; edit: 5 files')
  const long = 'long/'.repeat(9)
  expect(messageFor([rename('a', 'b', 9), ...does('edit', long, long)])).toBe('rename: a → b; edit: 2 files')
  expect(messageFor([rename(long, long, 9), ...does('edit', 'c')])).toBe('rename: 9 files; edit: 1 file')
  expect(messageFor(does('delete', long.repeat(2)))).toBe(`delete: ${long.repeat(2)}`)
})

test('one file is saved and the others stay drafts; all are saved in one commit', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const { work } = desk
  for (const path of Object.keys(FILES)) await (await edit(work, 'main', path)).type('more\n')
  expect((await ask(work, 'message', { branch: 'main', paths: 'all' })).message).toBe('edit: a.txt, b.txt, c.txt')
  expect((await ask(work, 'message', { branch: 'main', paths: ['b.txt'] })).message).toBe('edit: b.txt')
  await ask(work, 'save', { branch: 'main', paths: ['b.txt'] })
  expect((await work.describeBranches())[0]?.drafts).toEqual(['a.txt', 'c.txt'])
  expect(await desk.git('rev-parse', 'refs/forge/drafts/main^')).toBe(await desk.git('rev-parse', 'main'))
  await ask(work, 'save', { branch: 'main', paths: 'all', message: '  Say more\n\nBecause.\n\n' })
  expect(await desk.git('log', '-1', '--format=%B', 'main')).toBe('Say more\n\nBecause.')
  expect(await desk.git('for-each-ref', 'refs/forge/drafts')).toBe('')
  expect(await desk.git('rev-list', '--count', 'main')).toBe('3')
})

test('a change that was reverted is no draft', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('more')
  await editor.type('', 2, 4)
  const seen = desk.news.length
  await desk.work.flush()
  expect(desk.news.slice(seen)).toEqual([{ say: 'branch', branch: 'main', isOfDrafts: true }])
  expect((await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit).toBeUndefined()
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual([])
  expect(await desk.git('for-each-ref', 'refs/forge')).toBe('')
})

test('branch, drafts and operation move in one transaction: if one can’t, none does', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await (await edit(desk.work, 'main', 'a.txt')).type('more\n')
  await desk.work.flush()
  // A ref below its name prevents writing the ref of the operations.
  await desk.git('update-ref', 'refs/forge/operations/in-the-way', 'main')
  const before = await desk.git('for-each-ref')
  expect(await refusedBy(ask(desk.work, 'save', { branch: 'main', paths: 'all' }))).toThrow('What was typed is kept')
  expect(await desk.git('for-each-ref')).toBe(before)
  await desk.git('update-ref', '-d', 'refs/forge/operations/in-the-way')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
})

test('without a name in git’s configuration a save says what to set, and typing goes on', async () => {
  const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'user.useConfigOnly', GIT_CONFIG_VALUE_0: 'true' }
  await using desk = await makeDesk({ files: FILES, bare: true, env: { ...env, EMAIL: '' } })
  await (await edit(desk.work, 'main', 'a.txt')).type('more\n')
  expect(await refusedBy(ask(desk.work, 'save', { branch: 'main', paths: 'all' }))).toThrow(
    'git config --global user.name and user.email',
  )
  await desk.work.flush()
  expect(await desk.git('show', 'refs/forge/drafts/main:a.txt')).toBe('a\nmore')
  await desk.git('config', 'user.name', 'Bo')
  await desk.git('config', 'user.email', 'bo@example.org')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('log', '-1', '--format=%an %cn', 'main')).toBe('Bo Bo')
})

test('a commit has the author and the committer that git has configured', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await desk.git('config', 'author.name', 'Bo')
  await (await edit(desk.work, 'main', 'a.txt')).type('more\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('log', '-1', '--format=%an %cn', 'main')).toBe('Bo Ada')
})

test.each(['true', 'On', '2'])(
  'commits are signed where commit.gpgSign is %s, and not made where it fails',
  async sign => {
    await using desk = await makeDesk({ files: FILES, bare: true })
    const key = join(desk.folder, 'key')
    await Bun.$`ssh-keygen -q -t ed25519 -N "" -f ${key}`.quiet()
    const settings = { 'gpg.format': 'ssh', 'user.signingKey': key, 'commit.gpgSign': sign }
    for (const [name, value] of Object.entries(settings)) await desk.git('config', name, value)
    await (await edit(desk.work, 'main', 'a.txt')).type('more\n')
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    expect(await desk.git('cat-file', 'commit', 'main')).toContain('BEGIN SSH SIGNATURE')
    await desk.git('config', 'user.signingKey', '/nowhere')
    await (await edit(desk.work, 'main', 'a.txt')).type('and more\n')
    expect(await refusedBy(ask(desk.work, 'save', { branch: 'main', paths: 'all' }))).toThrow('could not be signed')
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\nmore\nand more\n')
  },
)

test('typing does not wait for a save, and later edits are a draft on top of it', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const editor = await edit(desk.work, 'main', 'a.txt')
  let typed = ''
  for (let round = 0; round < 5; round++) {
    await editor.type(`${round}\n`)
    typed += `${round}\n`
    const saving = ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    for (let at = 0; at < 20; at++) {
      await editor.type('.')
      typed += '.'
      await Bun.sleep(1)
    }
    await saving
  }
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe(`a\n${typed}`)
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:a.txt')).toBe(`a\n${typed}`)
})

test('two windows on one file: the later one receives the edit, and both have the same text', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const one = await edit(desk.work, 'main', 'a.txt')
  const two = await edit(desk.work, 'main', 'a.txt')
  await one.type('first\n')
  const late = [{ client: 'two', changes: [2, [0, 'second', '']] }]
  expect(
    (await ask(desk.work, 'edit', { branch: 'main', path: 'a.txt', version: two.version, edits: late })).accepted,
  ).toBe(false)
  expect(desk.news).toContainEqual(expect.objectContaining({ say: 'edited', path: 'a.txt', version: 0 }))
  const again = [{ client: 'two', changes: [8, [0, 'second', '']] }]
  expect((await ask(desk.work, 'edit', { branch: 'main', path: 'a.txt', version: 1, edits: again })).accepted).toBe(
    true,
  )
  // One window closes: the file is still open in the other.
  await closeFile(desk.work.branches, { kind: 'branch', branch: 'main' }, 'a.txt')
  expect(
    (
      await ask(desk.work, 'edit', {
        branch: 'main',
        path: 'a.txt',
        version: 2,
        edits: [{ client: 'one', changes: [15, [0, '!']] }],
      })
    ).accepted,
  ).toBe(true)
  await closeFile(desk.work.branches, { kind: 'branch', branch: 'main' }, 'a.txt')
  await desk.work.flush()
  expect(await refusedBy(ask(desk.work, 'edit', { branch: 'main', path: 'a.txt', version: 3, edits: [] }))).toThrow(
    'is not open',
  )
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\nfirst\nsecond\n!')
})

test('several branches are worked on at once', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const names = Array.from({ length: 6 }, (_, at) => `topic-${at}`)
  for (const name of names) await ask(desk.work, 'new branch', { branch: name, from: null })
  await Promise.all(
    names.map(async name => {
      const editor = await edit(desk.work, name, 'a.txt')
      for (let round = 0; round < 3; round++) {
        await editor.type(`${name} ${round}\n`)
        await ask(desk.work, 'save', { branch: name, paths: 'all' })
      }
    }),
  )
  for (const name of names) expect(await desk.git('rev-list', '--count', `main..${name}`)).toBe('3')
  expect(await ask(desk.work, 'operations', { from: 0, count: 99 })).toHaveLength(24)
})

test('a branch that is a folder in the names of others’ drafts can be used', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true, env: PERSON })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  await (await edit(desk.work, 'topic', 'a.txt')).type('kept\n')
  await desk.work.flush()
  await desk.git('branch', '-D', 'topic')
  await desk.work.look()
  // Git can't have refs/forge/drafts/topic/one beside refs/forge/drafts/topic.
  await ask(desk.work, 'new branch', { branch: 'topic/one', from: null })
  await (await edit(desk.work, 'topic/one', 'a.txt')).type('new\n')
  await desk.work.flush()
  const work = await desk.restart()
  expect(await textOf(work, 'topic/one', 'a.txt')).toBe('a\nnew\n')
  await desk.git('branch', '-D', 'topic/one')
  await work.look()
  await ask(work, 'restore branch', { branch: 'topic' })
  expect(await textOf(work, 'topic', 'a.txt')).toBe('a\nkept\n')
})
