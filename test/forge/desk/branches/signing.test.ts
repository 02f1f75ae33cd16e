/** A commit that waits for a signature by the user: typing does not wait. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { vfsAt } from '../../../../forge/desk/branches/places.ts'
import { ask, type Desk, edit, makeDesk, PERSON, textOf } from '../../../support/desk.ts'
import { commit, PLAIN, tryGit } from '../../../support/git.ts'
import { makePair } from '../../../support/merging.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { until } from '../../../support/repository.ts'
import { signBySlowHand } from '../../../support/signing.ts'

const SIGNER = join(import.meta.dir, 'signer.ts')

/** A file in the stored drafts of main. */
const draftOf = async (desk: Desk, path: string): Promise<string> =>
  (await tryGit(desk.path, ['show', `refs/forge/drafts/main:${path}`])).stdout

const start = () => makeDesk({ files: { 'a.txt': 'a\n', 'b.txt': 'b\n' }, bare: true })

test('edits made while a save waits for its signature are written, and are a draft on top of the save', async () => {
  await using desk = await start()
  const hand = await signBySlowHand(desk.folder, desk.path)
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('saved\n')
  const saved = ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await hand.asked()
  await editor.type('typed\n')
  // Other files of the branch can be opened, read and edited.
  await (await edit(desk.work, 'main', 'b.txt')).type('too\n')
  expect((await vfsAt(desk.work.branches, { kind: 'branch', branch: 'main' })).constructor.name).toBe(
    'WorkInProgressVfs',
  )
  await until(async () => (await draftOf(desk, 'a.txt')) === 'a\nsaved\ntyped\n')
  await until(async () => (await draftOf(desk, 'b.txt')) === 'b\ntoo\n')
  await hand.answer('yes')
  expect((await saved).commit).toBe(await desk.git('rev-parse', 'main'))
  expect(await desk.git('cat-file', 'commit', 'main')).toContain('gpgsig')
  expect(await desk.git('show', 'main:a.txt')).toBe('a\nsaved')
  expect(await desk.git('show', 'main:b.txt')).toBe('b')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['a.txt', 'b.txt'])
  const work = await desk.restart()
  expect(await textOf(work, 'main', 'a.txt')).toBe('a\nsaved\ntyped\n')
  expect(await textOf(work, 'main', 'b.txt')).toBe('b\ntoo\n')
  expect(await hand.questions()).toBe(1)
})

test('without the signature nothing is saved, and all edits are kept', async () => {
  await using desk = await start()
  const hand = await signBySlowHand(desk.folder, desk.path)
  const tip = await desk.git('rev-parse', 'main')
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('saved\n')
  const saved = ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await hand.asked()
  await editor.type('typed\n')
  await hand.answer('no')
  expect(await refusedBy(saved)).toThrow('could not be signed')
  expect(await desk.git('rev-parse', 'main')).toBe(tip)
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\nsaved\ntyped\n')
  await desk.work.flush()
  expect(await draftOf(desk, 'a.txt')).toBe('a\nsaved\ntyped\n')
})

test('edits reverted while their save waits for the signature stay reverted after it', async () => {
  await using desk = await start()
  const hand = await signBySlowHand(desk.folder, desk.path)
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('saved\n')
  const saved = ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await hand.asked()
  await editor.type('', 2, 'saved\n'.length)
  await desk.work.flush()
  await hand.answer('yes')
  await saved
  expect(await desk.git('show', 'main:a.txt')).toBe('a\nsaved')
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\n')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['a.txt'])
})

test('a branch that moves while a save waits for its signature is not overwritten: the save is signed again on top', async () => {
  await using desk = await start()
  const hand = await signBySlowHand(desk.folder, desk.path)
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('saved\n')
  const saved = ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await hand.asked()
  const tip = await commit(desk.path, 'main', { 'b.txt': 'theirs\n' })
  await desk.work.look()
  await editor.type('typed\n')
  await hand.answer('yes')
  await hand.asked(2)
  await hand.answer('yes')
  await saved
  expect(await desk.git('rev-parse', 'main^')).toBe(tip)
  expect(await desk.git('show', 'main:a.txt')).toBe('a\nsaved\ntyped')
  expect(await desk.git('show', 'main:b.txt')).toBe('theirs')
})

test('other branches are saved while one waits for its signature, and a second save of that branch waits', async () => {
  await using desk = await start()
  await ask(desk.work, 'new branch', { branch: 'other', from: null })
  const hand = await signBySlowHand(desk.folder, desk.path)
  await (await edit(desk.work, 'main', 'a.txt')).type('first\n')
  const editor = await edit(desk.work, 'main', 'b.txt')
  const first = ask(desk.work, 'save', { branch: 'main', paths: ['a.txt'] })
  await hand.asked()
  await editor.type('second\n')
  const second = ask(desk.work, 'save', { branch: 'main', paths: ['b.txt'] })
  await desk.git('config', 'commit.gpgSign', 'false')
  await (await edit(desk.work, 'other', 'a.txt')).type('other\n')
  await ask(desk.work, 'save', { branch: 'other', paths: 'all' })
  expect(await desk.git('show', 'other:a.txt')).toBe('a\nother')
  await desk.git('config', 'commit.gpgSign', 'true')
  expect(await hand.questions()).toBe(1)
  await hand.answer('yes')
  await first
  await hand.asked(2)
  await hand.answer('yes')
  await second
  expect(await desk.git('log', '--format=%s', '-2', 'main')).toBe('edit: b.txt\nedit: a.txt')
})

test('a discard or an undo says that it waits for a save’s signature, until it has run', async () => {
  await using desk = await start()
  await (await edit(desk.work, 'main', 'b.txt')).type('first\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  const hand = await signBySlowHand(desk.folder, desk.path)
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  const saved = ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await hand.asked()
  const said = () => desk.news.flatMap(news => (news.say === 'waiting' ? [news.words] : []))
  const discarded = ask(desk.work, 'discard', { branch: 'main', paths: ['b.txt'] })
  await until(async () => said().length === 1)
  expect(said()).toEqual([expect.stringContaining('A commit in main is still being made')])
  await hand.answer('yes')
  await Promise.all([saved, discarded])
  expect(said()).toEqual([expect.any(String), undefined])
})

test('edits in a renamed file whose save waits for its signature are a draft', async () => {
  await using desk = await start()
  const hand = await signBySlowHand(desk.folder, desk.path)
  await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: 'c.txt' }] })
  const editor = await edit(desk.work, 'main', 'c.txt')
  await editor.type('before\n')
  const saved = ask(desk.work, 'save', { branch: 'main', paths: ['c.txt'] })
  await hand.asked()
  await editor.type('meanwhile\n')
  await desk.work.flush()
  await hand.answer('yes')
  await saved
  expect(await desk.git('ls-tree', '--name-only', 'main')).toBe('b.txt\nc.txt')
  expect(await desk.git('show', 'main:c.txt')).toBe('a\nbefore')
  expect(await textOf(desk.work, 'main', 'c.txt')).toBe('a\nbefore\nmeanwhile\n')
  expect(await textOf(desk.work, 'main', 'a.txt')).toBeUndefined()
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['c.txt'])
})

test('a new file while a save of a deletion waits for its signature is a draft', async () => {
  await using desk = await start()
  const hand = await signBySlowHand(desk.folder, desk.path)
  await ask(desk.work, 'delete', { branch: 'main', paths: ['a.txt'] })
  const saved = ask(desk.work, 'save', { branch: 'main', paths: ['a.txt'] })
  await hand.asked()
  const added = ask(desk.work, 'new file', { branch: 'main', path: 'new.txt' })
  await hand.answer('yes')
  await saved
  await added
  expect(await desk.git('ls-tree', '--name-only', 'main')).toBe('b.txt')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['new.txt'])
})

test('edits made while the end of a merge waits for its signature are a draft on the merge', async () => {
  await using desk = await makePair({ base: { a: 'one\n' }, ours: { a: 'two\n' }, theirs: { a: 'three\n' } })
  await desk.work.steps.do({ step: 'merge', source: desk.source, onto: 'main' })
  const editor = await edit(desk.work, 'main', 'a')
  await editor.type('settled\n', 0, editor.text.length)
  const hand = await signBySlowHand(desk.folder, desk.path)
  const finished = desk.work.mergings.finish('main')
  await hand.asked()
  await editor.type('typed\n')
  await desk.work.flush()
  await hand.answer('yes')
  await finished
  expect(await desk.git('show', 'main:a')).toBe('settled')
  expect(await textOf(desk.work, 'main', 'a')).toBe('settled\ntyped\n')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['a'])
})

test('after kill -9 while a save waits for its signature, all edits are kept', async () => {
  await using desk = await start()
  await desk.work[Symbol.asyncDispose]()
  const hand = await signBySlowHand(desk.folder, desk.path)
  const child = Bun.spawn([process.execPath, SIGNER, desk.path, join(desk.folder, 'state')], {
    env: { ...process.env, ...PLAIN, ...PERSON },
    stdin: 'pipe',
    stdout: 'inherit',
    stderr: 'inherit',
  })
  try {
    await hand.asked()
    child.stdin.write('type\n')
    child.stdin.flush()
    await until(async () => (await draftOf(desk, 'a.txt')) === 'a\nsaved\ntyped\n')
  } finally {
    child.kill('SIGKILL')
    await child.exited
    // Otherwise the waiting git process would never end.
    await hand.answer('no')
  }
  const work = await desk.restart()
  expect(await textOf(work, 'main', 'a.txt')).toBe('a\nsaved\ntyped\n')
  expect(await desk.git('show', 'main:a.txt')).toBe('a')
  await desk.git('fsck', '--strict', '--no-dangling')
})
