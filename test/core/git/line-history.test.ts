/** The commits that changed some lines of a file, as `git log -L` says it. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { lineHistory } from '../../../core/git/line-history.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { bare, commit, git, PLAIN } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'
import { makeFolder } from '../../support/repository.ts'

test('lines keep their history across renames, and other changes of the file are left out', async () => {
  await using folder = await makeFolder()
  const path = await bare(join(folder.path, 'repository'))
  const repository = await openRepository(path, { env: PLAIN })
  const lines = ['one', 'two', 'three', 'four', 'five', 'six']
  const text = (some: string[]) => `${some.join('\n')}\n`
  const begin = await commit(path, 'main', { 'ä: b.txt': text(lines) })
  const changed = await commit(path, 'main', { 'ä: b.txt': text(lines.with(1, 'TWO')) })
  await commit(path, 'main', { 'ä: b.txt': null, 'c.txt': text(['zero', ...lines.with(1, 'TWO')]) })
  const tip = await commit(path, 'main', { 'c.txt': text(['zero', ...lines.with(1, 'TWO').with(5, 'SIX')]) })
  const found = await lineHistory(repository, tip, 'c.txt', { from: 3, to: 3 })
  const name = Buffer.from('ä: b.txt').toString('latin1')
  expect(found.map(({ oid, path }) => [oid, path])).toEqual([
    [changed, name],
    [begin, name],
  ])
  expect(found[0]?.hunks).toEqual([{ before: 2, after: 2, lines: ['-two', '+TWO'] }])
  const byGit = await git(path, 'log', '--format=%H', '-s', '-L3,3:c.txt', 'main')
  expect(found.map(({ oid }) => oid)).toEqual(byGit.split('\n'))
  expect(await refusedBy(lineHistory(repository, tip, 'c.txt', { from: 99, to: 100 }))).toThrow(
    'The file has no such lines in the last commit.',
  )
  expect(await refusedBy(lineHistory(repository, tip, 'none.txt', { from: 1, to: 1 }))).toThrow(
    'The file is not in the last commit: it has no history yet.',
  )
})
