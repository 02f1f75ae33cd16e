/** Refs are listed, and moved all together or not at all. */
import { expect, test } from 'bun:test'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { finishMoves, moveRefsPatiently } from '../../../core/git/patience.ts'
import { listRefs, moveRefs, RefMoved, readHead, resolve } from '../../../core/git/refs.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { commit, git, PLAIN } from '../../support/git.ts'
import { refusalOf, refusedBy } from '../../support/refusals.ts'
import { makePlace, type Place } from '../../support/repository.ts'

const MESSAGE = { message: 'test' }
const refsOf = async (place: Place) =>
  Object.fromEntries((await listRefs(place.repository)).map(({ name, oid }) => [name, oid]))

/** Makes two commits, and moves main to the first. */
async function twoCommits(place: Place): Promise<[string, string]> {
  const one = await commit(place.path, 'main', { a: '1' })
  const two = await commit(place.path, 'next', { a: '2' }, { parents: [one] })
  await place.git('update-ref', '-d', 'refs/heads/next')
  return [one, two]
}

test('refs are listed with their targets, packed or not', async () => {
  await using place = await makePlace()
  const [one] = await twoCommits(place)
  await place.git('-c', 'user.name=A', '-c', 'user.email=a@b', 'tag', '-m', 'words', 'v1', one)
  await place.git('tag', 'light', one)
  await place.git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/heads/main')
  const tag = await place.git('rev-parse', 'v1')
  const expected = [
    { name: 'refs/heads/main', oid: one },
    { name: 'refs/remotes/origin/HEAD', oid: one, symbolic: 'refs/heads/main' },
    { name: 'refs/tags/light', oid: one },
    { name: 'refs/tags/v1', oid: tag, peeled: one },
  ]
  expect(await listRefs(place.repository)).toEqual(expected)
  await place.git('pack-refs', '--all')
  expect(await listRefs(place.repository)).toEqual(expected)
  expect((await listRefs(place.repository, ['refs/tags/', 'refs/heads/none'])).map(({ name }) => name)).toEqual([
    'refs/tags/light',
    'refs/tags/v1',
  ])
  // A broken ref does not hide others.
  await writeFile(join(place.path, 'refs/heads/broken'), `${'1'.repeat(40)}\n`)
  expect((await listRefs(place.repository)).find(({ name }) => name === 'refs/tags/v1')?.peeled).toBe(one)
})

test('names of refs keep their bytes, and are found by them', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const names = ['refs/heads/gr\xc3\xb6\xc3\x9fe', 'refs/heads/bytes\xff', 'refs/heads/"q"']
  await moveRefs(
    place.repository,
    names.map(ref => ({ ref, from: undefined, to: one })),
    MESSAGE,
  )
  expect((await listRefs(place.repository)).map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  for (const name of names) expect(await resolve(place.objects, name)).toBe(one)
  await moveRefs(
    place.repository,
    names.map(ref => ({ ref, from: one, to: two })),
    MESSAGE,
  )
  expect(await resolve(place.objects, names[1] ?? '')).toBe(two)
})

test('an empty repository has no refs, and a branch that is not born', async () => {
  await using place = await makePlace()
  expect(await listRefs(place.repository)).toEqual([])
  expect(await resolve(place.objects, 'HEAD')).toBeUndefined()
  expect(await readHead(place.repository)).toEqual({ ref: 'refs/heads/main' })
  const one = await commit(place.path, 'main', { a: '1' })
  expect(await readHead(place.repository)).toEqual({ ref: 'refs/heads/main', oid: one })
  await place.git('update-ref', '--no-deref', 'HEAD', one)
  expect(await readHead(place.repository)).toEqual({ oid: one })
})

test('refs are made, moved, deleted and held to in one go', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  await place.git('update-ref', 'refs/heads/old', one)
  await place.git('update-ref', 'refs/heads/held', one)
  const moves = [
    { ref: 'refs/heads/main', from: one, to: two },
    { ref: 'refs/heads/old', from: one, to: undefined },
    { ref: 'refs/heads/held', from: one, to: one },
    { ref: 'refs/forge/ops', from: undefined, to: two },
    { ref: 'refs/heads/not-there', from: undefined, to: undefined },
  ]
  await moveRefs(place.repository, moves, MESSAGE)
  expect(await refsOf(place)).toEqual({ 'refs/forge/ops': two, 'refs/heads/held': one, 'refs/heads/main': two })
})

test('if one ref is not where it is expected, none is moved, and the error names it', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  await place.git('update-ref', 'refs/heads/other', two)
  const before = await refsOf(place)
  const good = { ref: 'refs/heads/main', from: one, to: two }
  const bad = [
    { move: { ref: 'refs/heads/other', from: one, to: undefined }, found: two },
    { move: { ref: 'refs/heads/other', from: one, to: one }, found: two },
    { move: { ref: 'refs/heads/other', from: undefined, to: one }, found: two },
    { move: { ref: 'refs/heads/gone', from: one, to: two }, found: undefined },
  ]
  for (const { move, found } of bad) {
    const error = await moveRefs(place.repository, [good, move], MESSAGE).catch(it => it)
    expect(error).toBeInstanceOf(RefMoved)
    expect(error).toMatchObject({ ref: move.ref, expected: move.from, found })
    expect(await refsOf(place)).toEqual(before)
  }
})

test('of many concurrent moves of a ref, one succeeds and the others fail', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const all = Array.from({ length: 8 }, (_, at) =>
    moveRefs(
      place.repository,
      [
        { ref: 'refs/heads/main', from: one, to: two },
        { ref: `refs/heads/mine-${at}`, from: undefined, to: two },
      ],
      MESSAGE,
    ),
  )
  const ends = await Promise.allSettled(all)
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(RefMoved)
  expect(Object.keys(await refsOf(place))).toHaveLength(2)
})

test('a lock, a ref in the way and a commit that is not there are git’s errors', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const move = (ref: string, to: string) => moveRefs(place.repository, [{ ref, from: undefined, to }], MESSAGE)
  expect(await refusalOf(move('refs/heads/main/below', two))).toBeInstanceOf(GitError)
  expect(await refusalOf(move('refs/heads/new', '1'.repeat(40)))).toBeInstanceOf(GitError)
  await writeFile(join(place.path, 'refs/heads/locked.lock'), '')
  await place.git('config', 'core.filesRefLockTimeout', '0')
  expect(await refusalOf(move('refs/heads/locked', one))).toBeInstanceOf(GitError)
})

test('a ref takes the place of one whose name is a folder of its own, or none of both is moved', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const how = { ...MESSAGE, own: 'refs/own/' }
  const make = { ref: 'refs/heads/x/y', from: undefined, to: one }
  await moveRefs(place.repository, [make], MESSAGE)
  const moves = [
    { ref: 'refs/heads/x', from: undefined, to: two },
    { ref: 'refs/heads/main', from: one, to: two },
    { ref: 'refs/heads/x/y', from: one, to: undefined },
  ]
  const lock = join(place.path, 'refs/heads/x.lock')
  await writeFile(lock, '')
  await place.git('config', 'core.filesRefLockTimeout', '0')
  expect(await refusalOf(moveRefsPatiently(place.repository, moves, how))).toBeInstanceOf(GitError)
  expect(await refsOf(place)).toEqual({ 'refs/heads/main': one, 'refs/heads/x/y': one })
  await rm(lock)
  await moveRefsPatiently(place.repository, moves, how)
  expect(await refsOf(place)).toEqual({ 'refs/heads/main': two, 'refs/heads/x': two })
})

test('a ref that a killed process has not created is created later, unless another one has its name', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const mark = (ref: string, to: string) => ({ ref: `refs/own/moving/+refs/+heads/${ref}`, from: undefined, to })
  await moveRefs(place.repository, [mark('+x/=y', one), mark('=main', two)], MESSAGE)
  expect(await finishMoves(place.repository, 'refs/own/')).toEqual(['refs/heads/main'])
  expect(await refsOf(place)).toEqual({
    'refs/heads/main': one,
    'refs/heads/x/y': one,
    'refs/own/moving/+refs/+heads/=main': two,
  })
})

test('incomplete ref names and ids are refused before git sees them', async () => {
  await using place = await makePlace()
  const [one] = await twoCommits(place)
  const names = [
    'main',
    'HEAD',
    '--stdin',
    'refs/heads/',
    'refs/heads/a b',
    'refs/heads/a\nb',
    'refs/heads/a..b',
    'refs/heads/.a',
  ]
  const more = [
    'refs/heads/a.lock',
    'refs/heads/a.lock/b',
    'refs/heads/a@{1}',
    'refs//a',
    'refs/heads/a.',
    'refs/heads/a\0',
    'refs/heads/ä\u0100',
  ]
  for (const ref of [...names, ...more, 'refs/heads/a:b', 'refs/heads/a^', 'refs/heads/*'])
    expect(await refusedBy(moveRefs(place.repository, [{ ref, from: undefined, to: one }], MESSAGE))).toThrow(
      'no full name',
    )
  const ref = 'refs/heads/x'
  expect(await refusedBy(moveRefs(place.repository, [{ ref, from: undefined, to: 'main' }], MESSAGE))).toThrow(
    'no full object id',
  )
  const twice = [
    { ref, from: undefined, to: one },
    { ref, from: undefined, to: one },
  ]
  expect(await refusedBy(moveRefs(place.repository, twice, MESSAGE))).toThrow('two ways')
})

test('a reflog says why, on one line, where git keeps one', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const checkout = join(place.folder, 'checkout')
  await git(place.folder, 'clone', '--quiet', place.path, checkout)
  await git(checkout, 'fetch', '--quiet', place.path, two).catch(() => undefined)
  await git(checkout, '-c', 'user.name=A', '-c', 'user.email=a@b', 'commit', '--quiet', '--allow-empty', '-m', 'x')
  const tip = await git(checkout, 'rev-parse', 'HEAD')
  const repository = await openRepository(checkout, { env: PLAIN })
  await moveRefs(repository, [{ ref: 'refs/heads/main', from: tip, to: one }], { message: 'undo:\n the last  one' })
  const log = await readFile(join(checkout, '.git/logs/refs/heads/main'), 'utf8')
  expect(log.trimEnd().split('\n').at(-1)).toEndWith('\tundo: the last one')
})

test('a linked worktree moves the refs that all worktrees share', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const linked = join(place.folder, 'linked')
  await place.git('worktree', 'add', '--quiet', '--detach', linked, one)
  const repository = await openRepository(linked, { env: PLAIN })
  await moveRefs(repository, [{ ref: 'refs/heads/main', from: one, to: two }], MESSAGE)
  expect(await resolve(place.objects, 'refs/heads/main')).toBe(two)
  expect(await readHead(repository)).toEqual({ oid: one })
})

test('sha256 repositories move refs, too', async () => {
  await using place = await makePlace('sha256')
  const [one, two] = await twoCommits(place)
  await moveRefs(place.repository, [{ ref: 'refs/heads/new', from: undefined, to: one }], MESSAGE)
  expect(
    await refusalOf(moveRefs(place.repository, [{ ref: 'refs/heads/new', from: undefined, to: two }], MESSAGE)),
  ).toBeInstanceOf(RefMoved)
})

test('a hook of the repository does not run when refs are moved', async () => {
  await using place = await makePlace()
  const [one, two] = await twoCommits(place)
  const ran = join(place.folder, 'ran')
  const hooks = join(place.repository.commonDir, 'hooks')
  await mkdir(hooks, { recursive: true })
  await writeFile(join(hooks, 'reference-transaction'), `#!/bin/sh\ntouch '${ran}'\n`, { mode: 0o755 })
  await moveRefs(place.repository, [{ ref: 'refs/heads/main', from: one, to: two }], MESSAGE)
  expect(await place.git('rev-parse', 'main')).toBe(two)
  expect(await Bun.file(ran).exists()).toBe(false)
})
