/** A day at the desk: edits are kept, saves are commits, and everything can be undone. */

import { expect, test } from 'bun:test'
import { openFile } from '../../../forge/desk/branches/places.ts'
import { ask, edit, makeDesk, textOf } from '../../support/desk.ts'

test('a file is opened, edited and saved: the commit is in git log, by the user', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'one\n' } })
  const file = await openFile(desk.work.branches, { kind: 'branch', branch: 'main' }, 'a.ts')
  expect(file).toMatchObject({ kind: 'text', text: 'one\n', version: 0, saved: 'one\n', lineEnd: 'LF', mode: '100644' })
  const editor = await edit(desk.work, 'main', 'a.ts')
  await editor.type('two\n')
  const commit = (await ask(desk.work, 'save', { branch: 'main', paths: ['a.ts'] })).commit
  expect(await desk.git('log', '--format=%H %an %s', '-1', 'main')).toBe(`${commit} Ada edit: a.ts`)
  expect(await desk.git('show', 'main:a.ts')).toBe('one\ntwo')
  expect(desk.news).toContainEqual({ say: 'saved', branch: 'main', commit: commit ?? '', drafts: [] })
  expect((await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit).toBeUndefined()
})

test('edits are there after a restart, but not in the branch', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'one\n', 'b.ts': 'two\n' } })
  await (await edit(desk.work, 'main', 'a.ts')).type('typed\n')
  const work = await desk.restart()
  expect(await textOf(work, 'main', 'a.ts')).toBe('one\ntyped\n')
  expect((await work.describeBranches())[0]?.drafts).toEqual(['a.ts'])
  expect(await desk.git('show', 'main:a.ts')).toBe('one')
  expect(await desk.git('show', 'refs/forge/drafts/main:a.ts')).toBe('one\ntyped')
  expect(await desk.git('rev-parse', 'refs/forge/drafts/main^')).toBe(await desk.git('rev-parse', 'main'))
})

test('undo of a save reverts the commit and leaves the text as a draft; redo saves it again', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'one\n' } })
  const before = await desk.git('rev-parse', 'main')
  await (await edit(desk.work, 'main', 'a.ts')).type('two\n')
  const commit = (await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit
  expect(await desk.work.undoable()).toEqual({ undo: 'save a.ts to main' })
  await desk.work.undo()
  expect(await desk.git('rev-parse', 'main')).toBe(before)
  expect(await textOf(desk.work, 'main', 'a.ts')).toBe('one\ntwo\n')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['a.ts'])
  await desk.work.redo()
  expect(await desk.git('rev-parse', 'main')).toBe(commit ?? '')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual([])
  expect((await ask(desk.work, 'operations', { from: 0, count: 9 })).map(({ words }) => words)).toEqual([
    'redo: save a.ts to main',
    'undo: save a.ts to main',
    'save a.ts to main',
  ])
})
