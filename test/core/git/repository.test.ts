/** Opening a repository from any folder in it gives the same facts as git. */
import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { asBytes, asText, openRepository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { bare, commit, git, PLAIN } from '../../support/git.ts'
import { refusalOf } from '../../support/refusals.ts'
import { makeFolder, makePlace } from '../../support/repository.ts'

const open = (folder: string, env = {}) => openRepository(folder, { env: { ...PLAIN, ...env } })

test('a checkout is found from a nested folder', async () => {
  await using folder = await makeFolder()
  const top = join(folder.path, 'line\nbreak and space')
  await mkdir(join(top, 'a/b'), { recursive: true })
  await git(top, 'init', '--quiet')
  expect(await open(join(top, 'a/b'))).toMatchObject({
    ...{ cwd: top, workTree: top, gitDir: join(top, '.git'), commonDir: join(top, '.git') },
    ...{ objects: join(top, '.git/objects'), format: 'sha1', isBare: false, isShallow: false, isPartial: false },
  })
})

test('a bare repository has no work tree, nor has the inside of a .git folder', async () => {
  await using place = await makePlace('sha256')
  expect(place.repository).toMatchObject({ cwd: place.path, workTree: undefined, isBare: true, format: 'sha256' })
  await git(place.folder, 'init', '--quiet', 'checkout')
  const inside = await open(join(place.folder, 'checkout/.git/refs'))
  expect(inside).toMatchObject({ workTree: undefined, isBare: false, gitDir: join(place.folder, 'checkout/.git') })
})

test('a linked worktree has a .git folder of its own and shares the rest', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { a: '1' })
  const linked = join(place.folder, 'linked')
  await place.git('worktree', 'add', '--quiet', linked, 'main')
  const repository = await open(linked)
  expect(repository).toMatchObject({
    ...{ workTree: linked, gitDir: join(place.path, 'worktrees/linked'), commonDir: place.path },
    ...{ objects: join(place.path, 'objects'), isBare: false },
  })
  expect(await read(repository, ['status', '--porcelain'])).toBe('')
})

test('a work tree may lie elsewhere, even in another repository', async () => {
  await using place = await makePlace()
  const other = join(place.folder, 'other')
  await mkdir(other)
  await git(other, 'init', '--quiet')
  const named = await open(other, { GIT_DIR: place.path, GIT_WORK_TREE: other })
  expect(named).toMatchObject({ gitDir: place.path, workTree: other })
  await place.git('config', 'core.bare', 'false')
  await place.git('config', 'core.worktree', other)
  expect(await open(place.path)).toMatchObject({ gitDir: place.path, workTree: other, cwd: other })
  expect(await read(named, ['rev-parse', '--git-dir'])).toBe(place.path)
})

test('variables that point elsewhere do not mislead', async () => {
  await using place = await makePlace()
  process.env.GIT_DIR = '/nowhere'
  try {
    expect((await open(place.path)).gitDir).toBe(place.path)
    expect(await read(place.repository, ['rev-parse', '--absolute-git-dir'])).toBe(place.path)
  } finally {
    delete process.env.GIT_DIR
  }
})

test('where there is none, a sentence says so', async () => {
  await using folder = await makeFolder()
  const file = join(folder.path, 'file')
  await writeFile(file, '')
  for (const [path, words] of [
    [folder.path, 'There is no git repository in'],
    [join(folder.path, 'nowhere'), 'nowhere is no folder: check its name.'],
    [file, 'file is no folder: check its name.'],
  ] as const) {
    const error = await open(path).catch(it => it)
    expect(error).toBeInstanceOf(Failure)
    expect(error.message).toContain(words)
    expect(error.message).not.toContain('\n')
  }
  await writeFile(join(folder.path, '.git'), 'gitdir: /nowhere\n')
  expect(await refusalOf(open(folder.path))).toBeInstanceOf(Failure)
})

test('shallow and partial clones are recognised', async () => {
  await using place = await makePlace()
  for (const a of ['1', '2']) await commit(place.path, 'main', { a })
  await place.git('config', 'uploadpack.allowFilter', 'true')
  await git(place.folder, 'clone', '--quiet', '--bare', '--depth=1', `file://${place.path}`, 'shallow')
  await git(place.folder, 'clone', '--quiet', '--bare', '--filter=blob:none', `file://${place.path}`, 'partial')
  const facts = async (name: string) => {
    const { isShallow, isPartial } = await open(join(place.folder, name))
    return { isShallow, isPartial }
  }
  expect(await facts('shallow')).toEqual({ isShallow: true, isPartial: false })
  expect(await facts('partial')).toEqual({ isShallow: false, isPartial: true })
})

test('names go from text to bytes and back', () => {
  expect([asBytes('größe'), asText(asBytes('größe'))]).toEqual(['gr\xc3\xb6\xc3\x9fe', 'größe'])
})

test('an empty repository is one', async () => {
  await using folder = await makeFolder()
  expect((await open(await bare(join(folder.path, 'x.git')))).isBare).toBe(true)
})
