/** The commit of each line, as git blame says it. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { blame, IGNORED_COMMITS } from '../../core/git/blame.ts'
import { openObjects } from '../../core/git/objects.ts'
import { openRepository } from '../../core/git/repository.ts'
import { bare, commit, git, PLAIN } from '../support/git.ts'
import { makeFolder } from '../support/repository.ts'

async function openBare() {
  const folder = await makeFolder()
  const path = await bare(join(folder.path, 'repository'))
  const objects = openObjects(await openRepository(path, { env: PLAIN }))
  const close = async () => {
    await objects[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  }
  return { path, objects, [Symbol.asyncDispose]: close }
}

test('each line has its commit, with its author, time and subject, and the one before it', async () => {
  await using repository = await openBare()
  const { path, objects } = repository
  const first = await commit(path, 'main', { 'ä b.txt': 'one\ntwo\nthree\n' }, { message: 'Begin' })
  const author = 'Mira Okafor <mira@example.com>'
  const second = await commit(
    path,
    'main',
    { 'ä b.txt': 'new\none\nTWO\nthree\n' },
    { author, message: 'Shout\n\nWhy.' },
  )
  const name = Buffer.from('ä b.txt').toString('latin1')
  const { lines, commits } = await blame(objects, second, name)
  expect(lines.map(({ commit, line, from, count }) => [commit, line, from, count])).toEqual([
    [second, 1, 1, 1],
    [first, 2, 1, 1],
    [second, 3, 3, 1],
    [first, 4, 3, 1],
  ])
  const authored = Number(await git(path, 'log', '-1', '--format=%at', second))
  expect(commits.find(({ oid }) => oid === second)).toEqual({
    ...{
      oid: second,
      path: name,
      name: 'Mira Okafor',
      authored,
      subject: 'Shout',
      isCut: false,
      previous: { oid: first, path: name },
    },
  })
  expect(await blame(objects, second, 'nowhere.txt')).toEqual({ lines: [], commits: [] })
})

test('lines of the commit at which a shallow clone ends may be of an earlier one', async () => {
  await using repository = await openBare()
  const { path } = repository
  await commit(path, 'main', { 'a.txt': 'one\n' })
  const second = await commit(path, 'main', { 'a.txt': 'one\ntwo\n' })
  const third = await commit(path, 'main', { 'a.txt': 'one\ntwo\nthree\n' })
  const cut = async (...depth: string[]) => {
    await using folder = await makeFolder()
    await git('/', 'clone', '-q', '--bare', ...depth, `file://${path}`, join(folder.path, 'clone'))
    await using objects = openObjects(await openRepository(join(folder.path, 'clone')))
    const { commits } = await blame(objects, third, 'a.txt')
    return commits.filter(({ isCut }) => isCut).map(({ oid }) => oid)
  }
  expect(await cut('--depth=2')).toEqual([second])
  expect(await cut()).toEqual([])
})

test('commits that the list of the repository names are ignored, and others in it do no harm', async () => {
  await using repository = await openBare()
  const { path, objects } = repository
  const first = await commit(path, 'main', { 'a.txt': 'one  two\n' })
  const reformatted = await commit(path, 'main', { 'a.txt': 'one two\n' })
  const list = `# Formatting\n${reformatted} # only spaces\n${'f'.repeat(40)}\nnonsense\n--output=x\n`
  const tip = await commit(path, 'main', { [IGNORED_COMMITS]: list })
  expect((await blame(objects, reformatted, 'a.txt')).lines[0]?.commit).toBe(reformatted)
  expect((await blame(objects, tip, 'a.txt')).lines[0]?.commit).toBe(first)
})
