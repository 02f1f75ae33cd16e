/** The folder of a conversation stays with its branch in every merge. */
import { expect, test } from 'bun:test'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mergeTrees } from '../../../../core/git/merges.ts'
import { entryAt } from '../../../../core/git/trees.ts'
import { setUpMergeDriver, withOwnFolder } from '../../../../forge/desk/branches/forge-folder.ts'
import { commit } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'

const CASES: { name: string; base: string | null; ours: string | null; theirs: string | null }[] = [
  { name: 'both have gone on', base: 'base', ours: 'ours', theirs: 'theirs' },
  { name: 'both have begun one', base: null, ours: 'ours', theirs: 'theirs' },
  { name: 'only theirs has one', base: null, ours: null, theirs: 'theirs' },
  { name: 'only ours has one', base: null, ours: 'ours', theirs: null },
  { name: 'theirs has let it go', base: 'base', ours: 'base', theirs: null },
]

for (const { name, base, ours, theirs } of CASES)
  test(`a merge keeps the target’s own conversation: ${name}`, async () => {
    await using place = await makePlace()
    const { path, objects, git } = place
    const file = '.forge/session.json'
    const start = await commit(path, 'main', { 'a.txt': 'a\n', [file]: base })
    await git('branch', 'other', start)
    const one = await commit(path, 'main', { 'b.txt': 'b\n', [file]: ours })
    const other = await commit(path, 'other', { 'c.txt': 'c\n', [file]: theirs })
    const merge = await withOwnFolder(objects, one, await mergeTrees(place.repository, one, other, { objects }))
    expect(merge).toMatchObject({ stages: [], conflicts: [] })
    expect(await entryAt(objects, merge.tree, '.forge')).toEqual(await entryAt(objects, one, '.forge'))
    expect(await git('ls-tree', '--name-only', merge.tree)).toContain('c.txt')
  })

test('the merge driver for the folder ignores no change elsewhere, whatever attributes name it', async () => {
  await using place = await makePlace()
  const { path, repository, objects, git } = place
  const lines = (top: string, end: string) => `${[top, ...'23456789', end].join('\n')}\n`
  const [strange, own] = ['odd $(touch x) \'name".txt', '.forge/session.json']
  await setUpMergeDriver(repository)
  await git('config', 'merge.forge-own.driver', 'true')
  await setUpMergeDriver(repository)
  const attributes = { '.gitattributes': '* merge=forge-own\n' }
  const start = await commit(path, 'main', { ...attributes, [strange]: lines('1', '0'), [own]: 'base', 'b.txt': 'b\n' })
  await git('branch', 'other', start)
  const one = await commit(path, 'main', { [strange]: lines('ours', '0'), [own]: 'ours', 'b.txt': 'ours\n' })
  const two = await commit(path, 'other', { [strange]: lines('1', 'theirs'), [own]: 'theirs', 'b.txt': 'theirs\n' })
  const merge = await mergeTrees(repository, one, two, { objects })
  expect(await git('show', `${merge.tree}:${strange}`)).toBe(lines('ours', 'theirs').trim())
  expect(await git('show', `${merge.tree}:${own}`)).toBe('ours')
  expect(merge.conflicts.map(({ paths }) => paths)).toEqual([['b.txt']])
})

test('the merge driver can be configured concurrently, also while another git writes the configuration', async () => {
  await using place = await makePlace()
  const lock = join(place.path, 'config.lock')
  await writeFile(lock, '')
  const all = Promise.all(Array.from({ length: 6 }, () => setUpMergeDriver(place.repository)))
  await Bun.sleep(120)
  await rm(lock)
  await all
  expect(await place.git('config', '--get-all', 'merge.forge-own.driver')).toContain('git merge-file')
  expect((await place.git('config', '--get-all', 'merge.forge-own.name')).split('\n')).toHaveLength(1)
})
