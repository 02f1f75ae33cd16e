/** Git's own merges: by the attributes of one side, with any base, and many at once. */
import { expect, test } from 'bun:test'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { commonLines, mergeLines, mergeMany, mergeTrees } from '../../../core/git/merges.ts'
import { writeObjects } from '../../../core/git/objects.ts'
import type { Format } from '../../../core/git/repository.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { openScratch, type Scratch } from '../../../core/git/scratch.ts'
import { treeBytes } from '../../../core/git/trees.ts'
import { commit, type Files, git, PLAIN, tryGit } from '../../support/git.ts'
import { refusalOf, refusedBy } from '../../support/refusals.ts'
import { bytesFrom, makePlace, type Place } from '../../support/repository.ts'

type Scene = Place & { scratch: Scratch }

async function makeScene(format: Format = 'sha1'): Promise<Scene> {
  const place = await makePlace(format)
  const scratch = await openScratch({
    parent: join(place.folder, 'state'),
    borrowed: [place.repository.objects],
    format,
  })
  return { ...place, scratch }
}

/** Lines of which the first and the last can be changed independently without a conflict. */
const lines = (first: string, last: string) => [first, ...'abcdefgh', last, ''].join('\n')

/** Makes two commits on a common one. */
async function sides({ path }: Place, base: Files, ours: Files, theirs: Files) {
  const root = await commit(path, 'main', base)
  await git(path, 'branch', '--force', 'other', root)
  return { root, ours: await commit(path, 'main', ours), theirs: await commit(path, 'other', theirs) }
}

const show = (scene: Scene, tree: string, path: string) =>
  git(scene.scratch.cwd, '--git-dir', scene.scratch.gitDir, 'cat-file', 'blob', `${tree}:${path}`)

test('the attributes of one commit do not count for the next one', async () => {
  await using scene = await makeScene()
  const attributes = { '.gitattributes': 'list merge=union\n' }
  const { ours, theirs } = await sides(
    scene,
    { list: 'a\n', ...attributes },
    { list: 'a\nours\n' },
    { list: 'a\ntheirs\n' },
  )
  const without = await commit(scene.path, 'main', { '.gitattributes': null })
  expect((await mergeTrees(scene.scratch, ours, theirs)).stages).toEqual([])
  expect((await mergeTrees(scene.scratch, without, theirs)).stages).toHaveLength(3)
})

test('a merge that is clean as text is a conflict where an attribute says so', async () => {
  await using scene = await makeScene()
  // A folder name that looks like an option is harmless.
  const attributes = { '.gitattributes': 'lock -merge\n', '-x/.gitattributes': '*.txt -merge\n' }
  const files = (text: string) => ({ lock: text, '-x/a.txt': text })
  const both = [files(lines('ours', '9')), files(lines('1', 'theirs'))] as const
  const { ours, theirs } = await sides(scene, { ...files(lines('1', '9')), ...attributes }, ...both)
  const { conflicts } = await mergeTrees(scene.scratch, ours, theirs)
  expect(new Set(conflicts.flatMap(({ paths }) => paths))).toEqual(new Set(['lock', '-x/a.txt']))
  expect((await mergeTrees(scene.scratch, theirs, ours)).stages).toHaveLength(6)
})

test('many merges at a time have the same results as one at a time, whatever their attributes', async () => {
  await using scene = await makeScene()
  const { ours: plain, theirs } = await sides(
    scene,
    { list: 'a\n', 'in/list': 'a\n' },
    { list: 'a\nours\n', 'in/list': 'a\nours\n' },
    { list: 'a\ntheirs\n', 'in/list': 'a\ntheirs\n' },
  )
  const kinds = [
    'list merge=union\n',
    '/list merge=union\n',
    'in/* merge=union\n',
    'list -merge\n',
    '# nothing\n',
    '* merge=ours\n',
  ]
  const tips = [plain]
  for (const kind of kinds) tips.push(await commit(scene.path, 'main', { '.gitattributes': kind }))
  tips.push(await commit(scene.path, 'main', { '.gitattributes': null, 'in/.gitattributes': 'list merge=union\n' }))
  const alone: unknown[] = []
  for (const tip of tips) alone.push(await mergeTrees(scene.scratch, tip, theirs))
  expect(new Set(alone.map(it => JSON.stringify(it))).size).toBeGreaterThan(4)
  const all = Array.from({ length: 2 * tips.length }, (_, at) =>
    mergeTrees(scene.scratch, tips[at % tips.length] ?? '', theirs),
  )
  for (const [at, merge] of (await Promise.all(all)).entries())
    expect(merge).toEqual(alone[at % tips.length] as typeof merge)
  expect(await readdir(scene.scratch.cwd)).toEqual(['.git'])
})

test('attributes are read from the commit, not from a checkout', async () => {
  await using place = await makePlace()
  const { ours, theirs } = await sides(place, { list: 'a\n' }, { list: 'a\nours\n' }, { list: 'a\ntheirs\n' })
  const checkout = join(place.folder, 'checkout')
  await git(place.folder, 'clone', '--quiet', place.path, checkout)
  await Bun.write(join(checkout, '.gitattributes'), '* merge=union\n')
  const temporary = join(place.folder, 'temporary')
  await mkdir(temporary)
  const repository = { ...(await openRepository(checkout, { env: PLAIN })), temporary }
  expect((await mergeTrees(repository, ours, theirs)).stages).toHaveLength(3)
  // Nothing is left behind in the checkout.
  expect((await git(checkout, 'status', '--porcelain')).trim()).toBe('?? .gitattributes')
  expect(await readdir(temporary)).toEqual([])
})

test('a bare repository of the user’s merges by attributes, too', async () => {
  await using place = await makePlace()
  const { ours, theirs } = await sides(
    place,
    { list: 'a\n', '.gitattributes': 'list merge=union\n' },
    { list: 'a\nours\n' },
    { list: 'a\ntheirs\n' },
  )
  expect((await mergeTrees(place.repository, ours, theirs)).stages).toEqual([])
})

test('attributes in folders that no checkout has lead nowhere', async () => {
  await using scene = await makeScene()
  const { scratch } = scene
  const make = async (text: string, parents: string[]) => {
    const [file = '', evil = ''] = await writeObjects(
      scratch,
      [text, 'f -merge\n'].map(it => ({ type: 'blob', bytes: Buffer.from(it) })),
    )
    const entries = [
      { mode: '100644', name: '.gitattributes', oid: evil },
      { mode: '100644', name: 'f', oid: file },
    ]
    const [inner = ''] = await writeObjects(scratch, [{ type: 'tree', bytes: treeBytes(entries) }])
    const [top = ''] = await writeObjects(scratch, [
      { type: 'tree', bytes: treeBytes([{ mode: '040000', name: '..', oid: inner }]) },
    ])
    return await git(
      scratch.cwd,
      '--git-dir',
      scratch.gitDir,
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@b',
      'commit-tree',
      top,
      '-m',
      'x',
      ...parents.flatMap(it => ['-p', it]),
    )
  }
  const root = await make(lines('1', '9'), [])
  const merge = mergeTrees(scratch, await make(lines('ours', '9'), [root]), await make(lines('1', 'theirs'), [root]))
  await merge.catch(() => undefined)
  expect(await readdir(scratch.cwd)).toEqual(['.git'])
})

test('with a base of its own, a merge is a cherry-pick', async () => {
  await using scene = await makeScene()
  const { ours, theirs } = await sides(
    scene,
    { list: lines('1', '9') },
    { list: lines('ours', '9') },
    { list: lines('1', 'two') },
  )
  const picked = await commit(scene.path, 'other', { new: 'file\n' })
  const merge = await mergeTrees(scene.scratch, ours, picked, { base: theirs })
  expect(merge.stages).toEqual([])
  // Only the changes of the picked commit were applied.
  expect(await show(scene, merge.tree, 'list')).toBe(lines('ours', '9').trim())
  expect(await show(scene, merge.tree, 'new')).toBe('file')
  expect(await mergeTrees(scene.scratch, ours, picked, { base: theirs })).toEqual(merge)
  // Trees are accepted too, and so are unrelated or equal sides.
  const tree = (oid: string) => git(scene.path, 'rev-parse', `${oid}^{tree}`)
  const byTrees = await mergeTrees(scene.scratch, await tree(ours), await tree(picked), { base: await tree(theirs) })
  expect(byTrees).toEqual(merge)
  expect((await mergeTrees(scene.scratch, ours, ours, { base: theirs })).tree).toBe(await tree(ours))
  const [zero, two] = [
    await commit(scene.path, 'x', { list: lines('0', '9') }),
    await commit(scene.path, 'x', { list: lines('2', '9') }),
  ]
  const clash = await mergeTrees(scene.scratch, ours, two, { base: zero })
  expect(clash.conflicts.map(({ kind }) => kind)).toEqual(['contents'])
})

test('conflicts have their stages, and renames are followed', async () => {
  await using scene = await makeScene()
  const { ours, theirs } = await sides(
    scene,
    { both: 'a\n', gone: lines('1', '9'), 'caf\u00e9 "x"\n': 'a\n' },
    { both: 'b\n', gone: null, moved: lines('1', '9'), 'caf\u00e9 "x"\n': 'b\n' },
    { both: 'c\n', gone: lines('1', 'theirs'), 'caf\u00e9 "x"\n': 'c\n' },
  )
  const { tree, stages, conflicts } = await mergeTrees(scene.scratch, ours, theirs)
  expect(await show(scene, tree, 'moved')).toBe(lines('1', 'theirs').trim())
  const odd = 'caf\xc3\xa9 "x"\n'
  expect(stages.map(({ path, stage }) => `${stage} ${path}`)).toEqual([
    ...['1 both', '2 both', '3 both'],
    ...[`1 ${odd}`, `2 ${odd}`, `3 ${odd}`],
  ])
  expect(conflicts).toEqual([
    { kind: 'contents', paths: ['both'] },
    { kind: 'contents', paths: [odd] },
  ])
})

test('histories that crossed are merged as git merges them', async () => {
  await using scene = await makeScene()
  const { ours, theirs } = await sides(
    scene,
    { a: lines('1', '9') },
    { a: lines('ours', '9') },
    { a: lines('1', 'theirs') },
  )
  const both = { a: lines('ours', 'theirs') }
  const left = await commit(scene.path, 'left', both, { parents: [ours, theirs] })
  const right = await commit(scene.path, 'right', { ...both, b: 'x' }, { parents: [theirs, ours] })
  const expected = await git(scene.path, 'merge-tree', '--write-tree', left, right)
  expect(await mergeTrees(scene.scratch, left, right)).toEqual({ tree: expected, stages: [], conflicts: [] })
})

test('commits without a common ancestor and missing commits are errors', async () => {
  await using scene = await makeScene()
  const [one, other] = [await commit(scene.path, 'main', { a: '1' }), await commit(scene.path, 'other', { a: '2' })]
  expect(await refusedBy(mergeTrees(scene.scratch, one, other))).toThrow('unrelated')
  expect(await refusedBy(mergeTrees(scene.scratch, one, '1'.repeat(40)))).toThrow()
  expect(await refusedBy(mergeTrees(scene.scratch, one, await git(scene.path, 'rev-parse', 'main:a')))).toThrow()
  expect((await tryGit(scene.path, ['count-objects'])).stdout).not.toBe('')
})

test('sha256 commits are merged, with a base of their own or without', async () => {
  await using scene = await makeScene('sha256')
  const { root, ours, theirs } = await sides(
    scene,
    { list: lines('1', '9') },
    { list: lines('ours', '9') },
    { list: lines('1', 'theirs') },
  )
  const merge = await mergeTrees(scene.scratch, ours, theirs)
  expect(
    await bytesFrom(scene.scratch.cwd, '--git-dir', scene.scratch.gitDir, 'cat-file', 'blob', `${merge.tree}:list`),
  ).toBe(lines('ours', 'theirs'))
  expect(await mergeTrees(scene.scratch, ours, theirs, { base: root })).toEqual(merge)
})

test('two texts are merged line by line, and a line that both changed is there twice', async () => {
  await using place = await makePlace()
  const merge = async (...texts: [string | undefined, string, string]) => {
    const [base, ours, theirs] = texts.map(it => (it === undefined ? undefined : Buffer.from(it, 'latin1')))
    return (await mergeLines(place.repository, base, ours ?? Buffer.of(), theirs ?? Buffer.of())).toString('latin1')
  }
  expect(await merge('a\nb\nc\n', 'A\nb\nc\n', 'a\nb\nC\n')).toBe('A\nb\nC\n')
  expect(await merge('a\nb\nc\n', 'a\n1\nc\n', 'a\n2\nc\n')).toBe('a\n1\n2\nc\n')
  expect(await merge(undefined, '1\r\n', '2\xff\n')).toBe('1\r\n2\xff\n')
  expect(await refusalOf(merge('a\0', 'b\0', 'c\0'))).toBeInstanceOf(GitError)
})

test('the common lines of two texts do not depend on the user’s diff configuration', async () => {
  await using place = await makePlace()
  await place.git('config', 'diff.suppressBlankEmpty', 'true')
  await place.git('config', 'color.ui', 'always')
  const common = async (one: string, other: string) =>
    (await commonLines(place.repository, Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'))).toString('latin1')
  expect(await common('a\n', 'a\n')).toBe('a\n')
  expect(await common('a\n\nb\nc\n', 'a\n\nB\nc\n')).toBe('a\n\nc\n')
  expect(await common('@@ a\n+b\n\\ c\n', '@@ a\n-b\n\\ c\n')).toBe('@@ a\n\\ c\n')
  expect(await common('a\r\n\xff\nb', 'c\n\xff\nb')).toBe('\xff\nb')
  expect(await common('a\nb', 'a\nb\n')).toBe('a\n')
  expect(await common('', 'a\n')).toBe('')
  expect(await common('a\0\nb\n', 'a\0\nc\n')).toBe('a\0\n')
})

test('many pairs by one git come out as each alone, also behind one that git can’t merge', async () => {
  await using scene = await makeScene()
  const { objects, repository } = scene
  const files = (list: string, lock: string) => ({ list, lock })
  const attributes = { '.gitattributes': 'list merge=union\nlock -merge\n' }
  const base = { ...files('a\n', lines('1', '9')), ...attributes }
  const { root, ours, theirs } = await sides(
    scene,
    base,
    files('a\nours\n', lines('1', '9')),
    files('a\ntheirs\n', lines('1', 'x')),
  )
  const locked = await commit(scene.path, 'main', files('a\nours\n', lines('y', '9')))
  const without = await commit(scene.path, 'main', { '.gitattributes': null })
  const stranger = await commit(scene.path, 'stranger', { list: 'b\n' })
  const pairs = [
    [ours, theirs],
    [ours, stranger],
    [locked, theirs],
    [without, theirs],
    [root, theirs],
    [theirs, root],
    [theirs, locked],
  ] as const
  const alone = await Promise.all(
    pairs.map(([one, other]) => mergeTrees(repository, one, other, { objects }).catch(() => undefined)),
  )
  expect(alone.map(merge => merge?.conflicts.length)).toEqual([0, undefined, 2, 1, 0, 0, 2])
  expect(await mergeMany(repository, pairs, objects)).toEqual(alone)
})
