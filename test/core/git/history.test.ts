/** History for a graph, by path, and from reflogs. */
import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commit as commitOf } from '../../../core/git/commits.ts'
import { onlyInReflogs, openHistory, subjectOf, touching } from '../../../core/git/history.ts'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { writeTree } from '../../../core/git/trees.ts'
import { commit, git, gitWith, PLAIN } from '../../support/git.ts'
import { randomFrom } from '../../support/random.ts'
import { refusedBy } from '../../support/refusals.ts'
import { childrenWith, makePlace, type Place, until } from '../../support/repository.ts'

const PERSON = { name: 'Una', email: 'una@upstream.example', date: { seconds: 1_700_000_000, zone: '+0000' } }

/** Makes `count` commits with random branches and merges, some in the same second. Gives the tips. */
async function grow(place: Place, seed: number, count: number): Promise<string[]> {
  const random = randomFrom(seed)
  const lines: string[] = []
  for (let at = 1; at <= count; at++) {
    const when = 1_700_000_000 + seed * 100_000 + Math.floor(at / 3) * 60
    const who = `Una <una@upstream.example> ${when} +0000`
    const parents =
      at === 1
        ? []
        : [
            ...new Set([
              at - 1 - random.below(Math.min(at - 1, 12)),
              ...(random.chance(0.3) ? [1 + random.below(at - 1)] : []),
            ]),
          ]
    lines.push(
      `commit refs/heads/b${seed}-${random.below(9)}\nmark :${at}\nauthor ${who}\ncommitter ${who}\ndata 4\nn${`${at}`.padStart(3)}`,
    )
    lines.push(
      parents.length === 0
        ? 'deleteall'
        : parents.map((it, nth) => `${nth === 0 ? 'from' : 'merge'} :${it}`).join('\n'),
    )
  }
  await gitWith(place.path, ['fast-import', '--quiet', '--force'], `${lines.join('\n')}\n`)
  return await tipsOf(place)
}

const tipsOf = async (place: Place) =>
  (await place.git('for-each-ref', '--format=%(objectname)')).split('\n').filter(Boolean)
const inGitsOrder = async (place: Place) => (await place.git('rev-list', '--topo-order', '--all')).split('\n')

test('all commits come in git’s topological order, with their parents', async () => {
  await using place = await makePlace()
  const tips = await grow(place, 1, 300)
  await using history = openHistory(place.objects, tips)
  const order = await inGitsOrder(place)
  expect(await history.complete).toBe(order.length)
  const shape = await history.shape(0, 1000)
  expect(shape.map(({ oid }) => oid)).toEqual(order)
  const parents = await place.git('log', '--topo-order', '--all', '--format=%P:')
  expect(shape.map(it => `${it.parents.join(' ')}:`)).toEqual(parents.split('\n'))
})

test('a window has the rows from one place to another, with author, time and subject', async () => {
  await using place = await makePlace()
  for (let at = 1; at <= 5; at++)
    await commit(
      place.path,
      'main',
      { a: `${at}` },
      { message: `Change ${at}\nmore\n\nBody`, when: 1_700_000_000 + at, author: 'Ünä <u@x>' },
    )
  await using history = openHistory(place.objects, await tipsOf(place))
  const rows = await history.window(1, 3)
  const order = await inGitsOrder(place)
  expect(rows).toMatchObject([
    { oid: order[1], parents: [order[2]], committed: 1_700_000_004, subject: 'Change 4 more', author: { name: 'Ünä' } },
    { oid: order[2], parents: [order[3]], committed: 1_700_000_003, subject: 'Change 3 more' },
  ])
  expect(await history.window(4, 100)).toHaveLength(1)
  expect(await history.window(100, 200)).toEqual([])
  expect(await history.placeOf(order[3] ?? '')).toBe(3)
  expect(await history.placeOf('1'.repeat(40))).toBeUndefined()
})

test('when tips move, only new commits are read, and unreachable commits are removed', async () => {
  await using place = await makePlace()
  await using history = openHistory(place.objects, await grow(place, 1, 200))
  await history.complete
  await grow(place, 2, 100)
  await history.move(await tipsOf(place))
  expect((await history.shape(0, 1000)).map(({ oid }) => oid)).toEqual(await inGitsOrder(place))
  const tips = (await tipsOf(place)).slice(3)
  await history.move(tips)
  const expected = (await gitWith(place.path, ['rev-list', '--topo-order', '--stdin'], `${tips.join('\n')}\n`)).split(
    '\n',
  )
  expect((await history.shape(0, 1000)).map(({ oid }) => oid).toSorted()).toEqual(expected.toSorted())
  expect(await history.move([])).toBe(0)
})

test('by date, a commit that was known already is there again with its tip', async () => {
  await using place = await makePlace()
  const first = await commit(place.path, 'main', { a: '1' }, { when: 1_700_000_001 })
  const second = await commit(place.path, 'main', { a: '2' }, { when: 1_700_000_002 })
  await using history = openHistory(place.objects, [first, second], 'date')
  await history.complete
  const listed = async (...tips: string[]) => {
    await history.move(tips)
    return (await history.shape(0, 10)).map(({ oid }) => oid)
  }
  expect(await listed(first)).toEqual([first])
  expect(await listed(first, second)).toEqual([second, first])
  expect(await listed(first)).toEqual([first])
  const third = await commit(place.path, 'main', { a: '3' }, { when: 1_700_000_003 })
  expect(await listed(first, third)).toEqual([third, second, first])
  const fourth = await commit(place.path, 'main', { a: '4' }, { when: 1_700_000_004 })
  expect(await listed(first, fourth)).toEqual([fourth, third, second, first])
})

test('no tips are an empty history, and tags are the commits that they name', async () => {
  await using place = await makePlace()
  await using none = openHistory(place.objects, [])
  expect([await none.complete, await none.window(0, 9)]).toEqual([0, []])
  const tip = await commit(place.path, 'main', { a: '1' })
  await place.git('-c', 'user.name=A', '-c', 'user.email=a@b', 'tag', '-m', 'x', 'v1', tip)
  await using tagged = openHistory(place.objects, [await place.git('rev-parse', 'v1')])
  expect((await tagged.window(0, 9)).map(({ oid }) => oid)).toEqual([tip])
  expect(await tagged.move([await place.git('rev-parse', 'v1')])).toBe(1)
})

test('a history that can not be read is an error for its callers', async () => {
  await using place = await makePlace()
  await using history = openHistory(place.objects, ['1'.repeat(40)])
  expect(await refusedBy(history.window(0, 9))).toThrow('bad object')
  expect(await refusedBy(history.complete)).toThrow('bad object')
  await using odd = openHistory(place.objects, ['--all'])
  expect(await refusedBy(odd.complete)).toThrow('no full object id')
})

test('a history that is closed leaves no git behind', async () => {
  await using place = await makePlace()
  const tips = await grow(place, 1, 300)
  {
    await using history = openHistory(place.objects, tips)
    history.complete.catch(() => undefined)
  }
  await until(async () => (await childrenWith('rev-list')).length === 0)
})

test('shallow and sha256 histories end where they end', async () => {
  await using place = await makePlace('sha256')
  for (const a of ['1', '2', '3']) await commit(place.path, 'main', { a })
  await git(place.folder, 'clone', '--quiet', '--bare', '--depth=2', `file://${place.path}`, 'shallow')
  const repository = await openRepository(join(place.folder, 'shallow'), { env: PLAIN })
  await using objects = openObjects(repository)
  await using history = openHistory(objects, await tipsOf(place))
  expect((await history.window(0, 9)).map(({ subject }) => subject)).toEqual(['Change a', 'Change a'])
})

test('a subject is the first paragraph on one line', () => {
  const subject = (message: string, encoding?: string) =>
    subjectOf({ message: Buffer.from(message, 'latin1'), encoding })
  expect(subject('\n\n one\ntwo \n \nthree')).toBe('one two')
  expect(subject('')).toBe('')
  expect(subject('Gr\xfc\xdfe', 'ISO-8859-1')).toBe('Grüße')
  expect(subject('Gr\xfc\xdfe')).toBe('Grüße')
})

test('the commits that touched a file or a folder come newest first, in windows', async () => {
  await using place = await makePlace()
  const made: string[] = []
  for (let at = 0; at < 5; at++) made.unshift(await commit(place.path, 'main', { 'in/file': `${at}`, other: `${at}` }))
  const tip = await commit(place.path, 'main', { other: 'x' })
  const window = (path: string, count: number, after = 0) => touching(place.repository, tip, path, { count, after })
  const oids = async (...args: Parameters<typeof window>) => (await window(...args)).touches.map(({ oid }) => oid)
  expect(await oids('in/file', 9)).toEqual(made)
  expect(await oids('in', 2, 3)).toEqual(made.slice(3))
  expect([(await window('in', 2, 2)).more, (await window('in', 2, 3)).more]).toEqual([true, false])
  expect(await oids('--all', 9)).toEqual([])
  expect(await oids('*', 9)).toEqual([])
})

test('a file is followed through renames', async () => {
  await using place = await makePlace()
  const text = Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join('')
  const first = await commit(place.path, 'main', { 'old name': text })
  const second = await commit(place.path, 'main', { 'old name': null, new: text })
  const third = await commit(place.path, 'main', { new: `${text}more\n` })
  const followed = await touching(place.repository, third, 'new', { count: 9, follow: true })
  expect(followed).toEqual({
    touches: [
      { oid: third, path: 'new' },
      { oid: second, path: 'new' },
      { oid: first, path: 'old name' },
    ],
    more: false,
  })
  expect((await touching(place.repository, third, 'new', { count: 9 })).touches).toHaveLength(2)
  // A later page of the file's history, whose commits are before the rename, still shows the file's old name.
  const later = await touching(place.repository, third, 'new', { count: 9, after: 2, follow: true })
  expect(later).toEqual({ ...followed, touches: followed.touches.slice(2) })
})

test('paths of any bytes are found in history', async () => {
  await using place = await makePlace()
  const paths = ['bytes\xff\xfe', 'caf\xc3\xa9', 'line\nbreak', '"q"', ':(glob)*', '-x']
  const changes = paths.map(path => [path, { mode: '100644', bytes: Buffer.from(path) }] as const)
  const tree = await writeTree(place.objects, undefined, new Map(changes))
  const tip = await commitOf(place.objects, { tree, parents: [], message: 'x', author: PERSON, committer: PERSON })
  for (const path of paths)
    expect([path, (await touching(place.repository, tip, path, { count: 1 })).touches]).toEqual([
      path,
      [{ oid: tip, path }],
    ])
  expect(await refusedBy(touching(place.repository, tip, '\xff\n', { count: 1 }))).toThrow('odd bytes')
})

test('commits that only reflogs know are found, from all worktrees and the stash', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { a: '1' })
  const checkout = join(place.folder, 'checkout')
  await git(place.folder, 'clone', '--quiet', place.path, checkout)
  const me = ['-c', 'user.name=A', '-c', 'user.email=a@b']
  const at = (cwd: string, ...args: string[]) => git(cwd, ...me, ...args)
  await at(checkout, 'commit', '--quiet', '--allow-empty', '-m', 'amended away')
  const amended = await at(checkout, 'rev-parse', 'HEAD')
  await at(checkout, 'commit', '--quiet', '--amend', '--allow-empty', '-m', 'instead')
  const linked = join(place.folder, 'linked')
  await at(checkout, 'worktree', 'add', '--quiet', '--detach', linked)
  await at(linked, 'commit', '--quiet', '--allow-empty', '-m', 'left behind')
  const left = await at(linked, 'rev-parse', 'HEAD')
  await at(linked, 'checkout', '--quiet', '--detach', 'HEAD^')
  const stashes: string[] = []
  for (const text of ['2', '3']) {
    await writeFile(join(checkout, 'a'), text)
    await at(checkout, 'stash', 'push', '--quiet')
    stashes.push(await at(checkout, 'rev-parse', 'refs/stash'))
  }
  const repository = await openRepository(checkout, { env: PLAIN })
  await using objects = openObjects(repository)
  const forgotten = await onlyInReflogs(objects)
  expect(forgotten.map(({ oid }) => oid).toSorted()).toEqual([amended, left, stashes[0] ?? ''].toSorted())
  const [amendment] = forgotten.filter(({ oid }) => oid === amended)
  expect(amendment?.ref).toMatch(/^(HEAD|refs\/heads\/main)$/)
  expect(forgotten.find(({ oid }) => oid === left)?.ref).toBe('worktrees/linked/HEAD')
  // The result is the same if a loaded history tells which commits the refs have.
  await using history = openHistory(objects, [await at(checkout, 'rev-parse', 'HEAD'), stashes[1] ?? ''])
  await history.complete
  const known = new Set((await history.shape(0, 99)).map(({ oid }) => oid))
  expect(await onlyInReflogs(objects, oid => known.has(oid))).toEqual(forgotten)
  // Commits that git has expired from the reflogs are not listed.
  await at(checkout, 'reflog', 'expire', '--expire=now', '--all')
  expect(await onlyInReflogs(objects)).toEqual([])
})

test('a repository without reflogs has nothing in them', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { a: '1' })
  expect(await onlyInReflogs(place.objects)).toEqual([])
})
