/** A conversation is parsed once while it is shown, and again after a commit. */
import { expect, test } from 'bun:test'
import { SessionCache } from '../../../../forge/desk/chat/session-cache.ts'
import { CommitVfs } from '../../../../forge/vfs.ts'
import { commit } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'

const session = (file: string) => ({
  '.forge/session.json': `{"version": 1, "active_files": ["${file}"], "messages": []}`,
})

test('a conversation in two commits is read once', async () => {
  await using place = await makePlace()
  const { objects, path } = place
  const cache = new SessionCache(objects)
  const at = (oid: string) => cache.in(new CommitVfs(objects, oid))
  const one = await at(await commit(path, 'main', session('a.txt')))
  const two = await at(await commit(path, 'main', { 'b.txt': 'b\n' }))
  expect(two.session).toBe(one.session)
  const three = await at(await commit(path, 'main', session('b.txt')))
  expect(three.session.active_files).toEqual(['b.txt'])
})

test('an unreadable conversation is read again', async () => {
  await using place = await makePlace()
  const { objects, path } = place
  const cache = new SessionCache(objects)
  const oid = await commit(path, 'main', { '.forge/session.json': 'no json' })
  const [one, two] = [await cache.in(new CommitVfs(objects, oid)), await cache.in(new CommitVfs(objects, oid))]
  expect(one.unreadable).toContain('it is no JSON')
  expect(two).not.toBe(one)
})
