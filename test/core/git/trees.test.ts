/** Trees are read and written without an index, with the same result as git's. */
import { expect, test } from 'bun:test'
import { writeBlob, writeObjects } from '../../../core/git/objects.ts'
import { type Entry, isOid, type Path } from '../../../core/git/repository.ts'
import {
  emptyTree,
  entryAt,
  isSafeName,
  listFiles,
  readTree,
  type TreeChange,
  treeBytes,
  writeTree,
} from '../../../core/git/trees.ts'
import { commit, git, gitWith } from '../../support/git.ts'
import { randomFrom } from '../../support/random.ts'
import { refusedBy } from '../../support/refusals.ts'
import { bytesFrom, makePlace, type Place } from '../../support/repository.ts'

const text = (words: string): TreeChange => ({ mode: '100644', bytes: Buffer.from(words) })
const write = (place: Place, base: string | undefined, changes: Record<Path, TreeChange>): Promise<string> =>
  writeTree(place.objects, base, new Map(Object.entries(changes)))
/** The paths of all files, as git lists them. */
const paths = async (place: Place, tree: string): Promise<Path[]> =>
  (await bytesFrom(place.path, 'ls-tree', '-r', '-z', '--name-only', tree)).split('\0').slice(0, -1)

test('any changes to any tree make the tree that an index would make', async () => {
  await using place = await makePlace()
  const random = randomFrom(3)
  const names = ['a', 'a.b', 'a-b', 'a0', 'b', 'B', 'z']
  const somePath = () => Array.from({ length: 1 + random.below(3) }, () => random.pick(names)).join('/')
  const oid = await writeBlob(place.repository, Buffer.from('old'))
  let tree: string | undefined
  for (let round = 0; round < 12; round++) {
    const changes = new Map<Path, TreeChange>()
    for (let at = 0; at < 6; at++) {
      const path = somePath()
      // Conflicting changes are excluded here: they are an error.
      const clash = [...changes.keys()].some(it => `${it}/`.startsWith(`${path}/`) || `${path}/`.startsWith(`${it}/`))
      if (!clash) changes.set(path, random.chance(0.35) ? undefined : { mode: random.pick(['100644', '100755']), oid })
    }
    const env = { GIT_INDEX_FILE: `${place.folder}/index` }
    await gitWith(place.path, tree ? ['read-tree', tree] : ['read-tree', '--empty'], undefined, env)
    for (const [path, to] of changes) {
      // Deleting a path deletes everything below it.
      const below = await gitWith(place.path, ['ls-files', '--', `:(literal)${path}`], undefined, env)
      const gone = to ? [] : below.split('\n').filter(Boolean)
      const lines = to && 'oid' in to ? [`${to.mode} ${to.oid}\t${path}`] : gone.map(it => `0 ${'0'.repeat(40)}\t${it}`)
      await gitWith(place.path, ['update-index', '--replace', '--index-info'], lines.map(it => `${it}\n`).join(''), env)
    }
    const expected = await gitWith(place.path, ['write-tree'], undefined, env)
    tree = await writeTree(place.objects, tree, changes)
    expect([round, tree]).toEqual([round, expected])
  }
})

test('only the folders that are touched are written', async () => {
  await using place = await makePlace()
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [`d${at % 10}/e${at % 30}/f${at}`, text('x')]),
  )
  const base = await write(place, undefined, files)
  const objects = async () => Number((await place.git('count-objects')).split(' ')[0])
  const before = await objects()
  await write(place, base, { 'd1/e1/f1': text('new') })
  // One blob, and the three trees from it to the top.
  expect((await objects()) - before).toBe(4)
})

test('a file makes way for a folder, a folder for a file, and an empty folder is gone', async () => {
  await using place = await makePlace()
  const base = await write(place, undefined, {
    file: text('1'),
    'folder/a': text('2'),
    'deep/er/b': text('3'),
    keep: text('4'),
  })
  const tree = await write(place, base, {
    'file/in/side': text('5'),
    folder: text('6'),
    'deep/er/b': undefined,
    'not/there': undefined,
    'keep/not/there': undefined,
  })
  expect(await paths(place, tree)).toEqual(['file/in/side', 'folder', 'keep'])
  expect(await write(place, tree, { file: undefined, folder: undefined, keep: undefined })).toBe(emptyTree('sha1'))
})

test('a whole folder is put into another place by its tree, and changed there in one go', async () => {
  await using place = await makePlace()
  const base = await write(place, undefined, { 'old/a': text('1'), 'old/b': text('2') })
  const folder = (await entryAt(place.objects, base, 'old')) as NonNullable<Entry>
  const tree = await write(place, base, { old: undefined, 'new/place': folder, 'new/place/c': text('3') })
  expect(await paths(place, tree)).toEqual(['new/place/a', 'new/place/b', 'new/place/c'])
})

test('changes that are in each other’s way are refused', async () => {
  await using place = await makePlace()
  expect(await refusedBy(write(place, undefined, { a: text('1'), 'a/b': text('2') }))).toThrow("a can't be a file")
})

test('names of any bytes are written, listed and found again', async () => {
  await using place = await makePlace()
  const names = [
    'with space',
    '"quote"',
    'line\nbreak',
    'tab\t',
    'caf\xc3\xa9',
    'bytes\xff\xfe',
    '-rf',
    ':(glob)*',
    '\\',
    '\x01',
  ]
  const all = names.flatMap(name => [`${name}/${name}`, `top ${name}`])
  const tree = await write(place, undefined, Object.fromEntries(all.map(path => [path, text(path)])))
  expect((await paths(place, tree)).toSorted()).toEqual(all.toSorted())
  expect((await listFiles(place.objects, tree, { limit: 1000 })).files.map(({ path }) => path)).toEqual(
    await paths(place, tree),
  )
  for (const path of all) {
    const entry = await entryAt(place.objects, tree, path)
    expect((await place.objects.read(entry?.oid ?? ''))?.bytes?.toString()).toBe(path)
  }
  await place.git('fsck', '--strict')
})

test('the entry at a path is found for files, folders, the top and missing paths', async () => {
  await using place = await makePlace()
  const tip = await commit(place.path, 'main', { 'a/b': 'x', 'a/link': { mode: '120000', content: 'b' } })
  const at = async (path: Path) => (await entryAt(place.objects, tip, path))?.mode
  expect(await Promise.all(['', 'a', 'a/b', 'a/link', 'a/b/c', 'x', 'a/'].map(at))).toEqual([
    ...['040000', '040000', '100644', '120000'],
    ...[undefined, undefined, undefined],
  ])
  expect(await entryAt(place.objects, 'refs/heads/none', 'a')).toBeUndefined()
})

test('no name is written that some file system takes for .git or a way out', async () => {
  const unsafe = [
    '',
    '.',
    '..',
    '.git',
    '.GIT',
    'git~1',
    'GIT~1',
    '.git ',
    '.git.',
    '.git . .',
    '.git::$INDEX_ALLOCATION',
  ]
  const more = [
    '.git:x',
    'a\\.git',
    '.git\\x',
    '..\\x',
    'a/b',
    'a\0b',
    '.g\xe2\x80\x8cit',
    '\xef\xbb\xbf.Git',
    '.git\xe2\x81\xaa',
    '\u012e\u012e',
    '\u012egit',
    'a\u012fb',
  ]
  const safe = [
    '.gitignore',
    '.github',
    'git',
    'git~2',
    '...',
    '.git~1',
    'x.git',
    'a:b',
    'a\\b',
    '.gi\xc3\xa9t',
    ' .git',
  ]
  expect([...unsafe, ...more].filter(isSafeName)).toEqual([])
  expect(safe.filter(name => !isSafeName(name))).toEqual([])
})

test('unsafe names are not written; those in an existing tree can be deleted', async () => {
  await using place = await makePlace()
  for (const path of ['a/.git/config', '../out', 'a//b', '/a', 'a/', '', 'a\0'])
    expect(await refusedBy(write(place, undefined, { [path]: text('x') }))).toThrow(/no path|refuses/)
  expect(await refusedBy(write(place, undefined, { a: { mode: '100600', bytes: Buffer.from('') } }))).toThrow('no mode')
  expect(
    await refusedBy(write(place, undefined, { '.gitmodules': { mode: '120000', bytes: Buffer.from('x') } })),
  ).toThrow('link')
  const oid = await writeBlob(place.repository, Buffer.from('evil'))
  const bytes = treeBytes([
    { mode: '100644', name: '.git', oid },
    { mode: '100644', name: 'good', oid },
  ])
  const [hostile = ''] = await writeObjects(place.repository, [{ type: 'tree', bytes }])
  expect(await paths(place, await write(place, hostile, { '.git': undefined }))).toEqual(['good'])
})

test('a change that refers to nothing, or to something else, is refused', async () => {
  await using place = await makePlace()
  const blob = await writeBlob(place.repository, Buffer.from('x'))
  const missing = '1'.repeat(40)
  expect(await refusedBy(write(place, undefined, { a: { mode: '100644', oid: missing } }))).toThrow('There is no blob')
  expect(await refusedBy(write(place, undefined, { a: { mode: '040000', oid: blob } }))).toThrow('There is no tree')
  expect(await refusedBy(write(place, missing, { a: text('x') }))).toThrow('There is no tree')
  expect(await refusedBy(write(place, undefined, { a: { mode: '100644', oid: '--help' } }))).toThrow('no content')
  // A submodule's commit is in another repository.
  expect(await write(place, undefined, { a: { mode: '160000', oid: missing } })).toMatch(/^[0-9a-f]{40}$/)
})

test('of a tree with more files than there are atoms, only the first are listed', async () => {
  await using place = await makePlace()
  const blob = await writeBlob(place.repository, Buffer.from('boom'))
  let [mode, oid] = ['100644', blob]
  for (let depth = 0; depth < 12; depth++) {
    const bytes = treeBytes(Array.from({ length: 10 }, (_, at) => ({ mode, name: `${at}`, oid })))
    const [tree = ''] = await writeObjects(place.repository, [{ type: 'tree', bytes }])
    ;[mode, oid] = ['040000', tree]
  }
  const { files, cut } = await listFiles(place.objects, oid, { limit: 2345 })
  expect([files.length, cut, files[2344]?.path]).toEqual([2345, true, '0/0/0/0/0/0/0/0/2/3/4/4'])
})

test('one level of a tree is read from a commit, a ref or a tree', async () => {
  await using place = await makePlace()
  const tip = await commit(place.path, 'main', { 'a/b': 'x', c: 'y' })
  const tree = await git(place.path, 'rev-parse', 'main^{tree}')
  for (const name of [tip, tree, 'refs/heads/main', 'HEAD'])
    expect((await readTree(place.objects, name)).map(it => `${it.mode} ${it.name}`)).toEqual(['040000 a', '100644 c'])
  expect(await refusedBy(readTree(place.objects, 'refs/heads/none'))).toThrow('There is no tree')
})

test('sha256 trees are written and read', async () => {
  await using place = await makePlace('sha256')
  const base = await write(place, undefined, { 'a/b': text('1') })
  const tree = await write(place, base, { 'a/c': text('2') })
  expect([isOid('sha256', tree), await paths(place, tree)]).toEqual([true, ['a/b', 'a/c']])
  expect(await write(place, tree, { a: undefined })).toBe(emptyTree('sha256'))
})

test('many trees are written at the same time', async () => {
  await using place = await makePlace()
  const base = await write(place, undefined, { 'a/x': text('x'), y: text('y') })
  const all = Array.from({ length: 20 }, (_, at) => write(place, base, { [`a/${at}`]: text(`${at}`) }))
  for (const [at, tree] of (await Promise.all(all)).entries())
    expect(await paths(place, tree)).toEqual([`a/${at}`, 'a/x', 'y'].toSorted())
})
