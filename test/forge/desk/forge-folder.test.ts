/** The folder of a conversation belongs to its branch, whoever merges. */
import { expect, test } from 'bun:test'
import { mergeTrees } from '../../../core/git/merges.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { withOwnFolder } from '../../../forge/desk/forge-folder.ts'
import { commit } from '../../support/git.ts'
import { makePlace } from '../../support/repository.ts'

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
