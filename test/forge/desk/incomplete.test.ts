/** Repositories without a part of their history or contents: only what would give wrong results is refused. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { CommitRow } from '../../../forge/desk/contract/reading.ts'
import { commit, git } from '../../support/git.ts'
import { makeFolder } from '../../support/repository.ts'
import { openTestDesk } from '../../support/served.ts'

const main = { kind: 'branch', branch: 'main' } as const
const NOT_FETCHED =
  'This repository is a partial clone that lacks what this needs, and the desk fetches nothing: get all of it by `git fetch --refetch --no-filter`.'

/** A clone of three commits, of which the second changed a.txt and the third f/b.txt, with its desk. */
async function cloned(...args: string[]) {
  const folder = await makeFolder()
  const origin = join(folder.path, 'origin')
  await git('/', 'init', '-q', '--bare', '-b', 'main', origin)
  await git(origin, 'config', 'uploadpack.allowFilter', 'true')
  await commit(origin, 'main', { 'a.txt': 'one\n', 'f/b.txt': 'two\n' })
  const second = await commit(origin, 'main', { 'a.txt': 'one\nmore\n' })
  const third = await commit(origin, 'main', { 'f/b.txt': 'TWO\n' })
  const path = join(folder.path, 'clone')
  await git('/', 'clone', '-q', ...args, `file://${origin}`, path)
  const desk = await openTestDesk(path)
  const window = await desk.window()
  const why = (question: Parameters<typeof window.ask>[0]) =>
    window.ask(question).catch((error: Error) => error.message)
  return {
    window,
    path,
    second,
    third,
    why,
    [Symbol.asyncDispose]: async () => {
      await window[Symbol.asyncDispose]()
      await desk[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const edits = [{ client: 'window', changes: [[0, 'new'], 9] }]

test('a shallow clone supports everything but the changes of its last commits', async () => {
  await using clone = await cloned('--depth=2')
  const { window, why, second, third } = clone
  expect(await window.ask({ ask: 'desk' })).toMatchObject({ desk: { isShallow: true } })
  const rows = async (path?: string) =>
    ((await window.ask({ ask: 'history', at: main, path, from: 0, count: 9 })) as { rows: CommitRow[] }).rows
  expect((await rows()).map(({ oid }) => oid)).toEqual([third, second])
  expect((await rows('f/b.txt')).map(({ oid }) => oid)).toEqual([third])
  // Git would report that the oldest commit here added all files.
  expect(await rows('a.txt')).toEqual([])
  expect(await window.ask({ ask: 'changes', to: { kind: 'commit', commit: third } })).toMatchObject([
    { path: 'f/b.txt' },
  ])
  expect(await why({ ask: 'changes', to: { kind: 'commit', commit: second } })).toBe(
    'What this commit changed is not known here: its parent was not fetched (git fetch --unshallow).',
  )
  await window.ask({ ask: 'open', at: main, path: 'a.txt' })
  expect(await window.ask({ ask: 'edit', branch: 'main', path: 'a.txt', version: 0, edits })).toEqual({
    accepted: true,
  })
  await window.ask({ ask: 'save', branch: 'main', paths: 'all' })
  expect(await git(clone.path, 'rev-parse', 'main^')).toBe(third)
  await window.ask({ ask: 'undo' })
  expect(await git(clone.path, 'rev-parse', 'main')).toBe(third)
})

test('in a partial clone with a checkout, files are edited and saved, and missing content is not guessed', async () => {
  await using clone = await cloned('--filter=blob:none')
  const { window, why, second, third } = clone
  expect(await window.ask({ ask: 'open', at: main, path: 'a.txt' })).toMatchObject({ text: 'one\nmore\n' })
  expect(await window.ask({ ask: 'edit', branch: 'main', path: 'a.txt', version: 0, edits })).toEqual({
    accepted: true,
  })
  await window.ask({ ask: 'save', branch: 'main', paths: 'all' })
  expect(await git(clone.path, 'show', 'main:a.txt')).toBe('newone\nmore')
  // The changed files are known, but not the line counts.
  const changes = await window.ask({ ask: 'changes', to: { kind: 'commit', commit: second } })
  expect(changes).toEqual([expect.objectContaining({ path: 'a.txt', status: 'changed' })])
  expect(changes).toEqual([expect.not.objectContaining({ added: expect.anything() })])
  const old = { kind: 'commit', commit: await git(clone.path, 'rev-parse', `${third}~2`) } as const
  expect(await why({ ask: 'open', at: old, path: 'a.txt' })).toBe(NOT_FETCHED)
  await window.ask({ ask: 'find text', at: old, words: 'one', isRegex: false, matchCase: true })
  expect((await window.heard('notice')).words).toBe(NOT_FETCHED)
})

test('in a bare partial clone new files can be made, and missing ones are reported', async () => {
  await using clone = await cloned('--bare', '--filter=blob:none')
  const { window, why } = clone
  expect(await window.ask({ ask: 'folder', at: main, path: '' })).toMatchObject([{ name: 'f' }, { name: 'a.txt' }])
  expect(await why({ ask: 'open', at: main, path: 'a.txt' })).toBe(NOT_FETCHED)
  await window.ask({ ask: 'new file', branch: 'main', path: 'f/new.txt' })
  // The move is refused although its result would be right, since no tree is written with content that this clone
  // lacks.
  expect(await why({ ask: 'move', branch: 'main', moves: [{ from: 'a.txt', to: 'c.txt' }] })).toContain(
    NOT_FETCHED.slice(0, -1),
  )
  await window.ask({ ask: 'save', branch: 'main', paths: 'all' })
  expect(await git(clone.path, 'ls-tree', '-r', '--name-only', 'main')).toBe('a.txt\nf/b.txt\nf/new.txt')
  // The advice in the message works.
  await git(clone.path, 'fetch', '-q', '--refetch', '--no-filter')
  expect(await window.ask({ ask: 'open', at: main, path: 'a.txt' })).toMatchObject({ text: 'one\nmore\n' })
})
