/** The repository of our own that verdicts are made in. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mergeTrees } from '../../../core/git/merges.ts'
import { openScratch } from '../../../core/git/scratch.ts'
import { commit, git } from '../../support/git.ts'

test('the attributes of one commit do not count for the next one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'forklift-scratch-'))
  await git(folder, 'init', '--quiet', '--bare', '--initial-branch=main')
  const root = await commit(folder, 'main', { list: 'a\n', '.gitattributes': 'list merge=union\n' })
  await git(folder, 'branch', 'other', root)
  const theirs = await commit(folder, 'other', { list: 'a\ntheirs\n' })
  const ours = await commit(folder, 'main', { list: 'a\nours\n' })
  const without = await commit(folder, 'main', { '.gitattributes': null })
  const scratch = await openScratch({
    parent: join(folder, 'state'),
    borrowed: [join(folder, 'objects')],
    format: 'sha1',
  })
  try {
    expect((await mergeTrees(scratch, ours, theirs)).stages).toEqual([])
    expect((await mergeTrees(scratch, without, theirs)).stages).toHaveLength(3)
  } finally {
    await scratch[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
})

test('a merge that is clean as text is a conflict where an attribute says so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'forklift-scratch-'))
  await git(folder, 'init', '--quiet', '--bare', '--initial-branch=main')
  const lines = (first: string, last: string) => [first, ...'abcdefgh', last].join('\n')
  // A folder whose name looks like an option is in nobody's way.
  const attributes = { '.gitattributes': 'lock -merge\n', '-x/.gitattributes': '*.txt -merge\n' }
  const files = (text: string) => ({ lock: text, '-x/a.txt': text })
  const root = await commit(folder, 'main', { ...files(lines('1', '9')), ...attributes })
  await git(folder, 'branch', 'other', root)
  const theirs = await commit(folder, 'other', files(lines('1', 'theirs')))
  const ours = await commit(folder, 'main', files(lines('ours', '9')))
  const scratch = await openScratch({
    parent: join(folder, 'state'),
    borrowed: [join(folder, 'objects')],
    format: 'sha1',
  })
  try {
    const { conflicts } = await mergeTrees(scratch, ours, theirs)
    expect(new Set(conflicts.flatMap(({ paths }) => paths))).toEqual(new Set(['lock', '-x/a.txt']))
    expect((await mergeTrees(scratch, theirs, ours)).stages).toHaveLength(6)
  } finally {
    await scratch[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
})
