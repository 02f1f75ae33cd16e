/** The repository of our own that verdicts are made in. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mergeTree, openRoom } from '../host/git.ts'
import { commit, git } from './git.ts'

test('the attributes of one commit do not count for the next one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'forklift-room-'))
  await git(folder, 'init', '--quiet', '--bare', '--initial-branch=main')
  const root = await commit(folder, 'main', { list: 'a\n', '.gitattributes': 'list merge=union\n' })
  await git(folder, 'branch', 'other', root)
  const theirs = await commit(folder, 'other', { list: 'a\ntheirs\n' })
  const ours = await commit(folder, 'main', { list: 'a\nours\n' })
  const without = await commit(folder, 'main', { '.gitattributes': null })
  const room = await openRoom(join(folder, 'state'), [join(folder, 'objects')], 'sha1')
  try {
    expect((await mergeTree(room, ours, theirs)).stages).toEqual([])
    expect((await mergeTree(room, without, theirs)).stages).toHaveLength(3)
  } finally {
    await room.close()
    await rm(folder, { recursive: true, force: true })
  }
})
