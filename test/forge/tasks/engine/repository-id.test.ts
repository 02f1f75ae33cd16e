/** The id of a repository: made once, also by several processes at the same time, and independent of its path. */
import { expect, test } from 'bun:test'
import { cp, rename, rm } from 'node:fs/promises'
import { openRepository } from '../../../../core/git/repository.ts'
import { queueOf, repositoryIdOf } from '../../../../forge/tasks/engine/repository-id.ts'
import { git } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'

test('several processes that make the id of a repository at the same time agree on one', async () => {
  await using place = await makePlace()
  const ids = await Promise.all(Array.from({ length: 8 }, () => repositoryIdOf(place.repository)))
  expect(new Set(ids).size).toBe(1)
  expect(await git(place.path, 'rev-parse', 'refs/forge/id')).toBe(ids[0] as string)
})

test('a repository keeps its queue when it is moved; another one has another queue', async () => {
  await using place = await makePlace()
  await using other = await makePlace()
  const queue = await queueOf(place.repository)
  expect(queue).toMatch(/^forge\/[0-9a-f]{20}$/)
  const moved = `${place.path}-moved`
  await rename(place.path, moved)
  expect(await queueOf(await openRepository(moved))).toBe(queue)
  await rename(moved, place.path)
  expect(await queueOf(other.repository)).not.toBe(queue)
})

test('a copy of a repository gets an id of its own, so that it is not given the tasks of the original', async () => {
  await using place = await makePlace()
  const queue = await queueOf(place.repository)
  const path = `${place.path}-copy`
  await cp(place.path, path, { recursive: true })
  const copy = await openRepository(path)
  const [own, again] = await Promise.all([queueOf(copy), queueOf(copy)])
  expect(own).not.toBe(queue)
  expect(again).toBe(own)
  expect(await queueOf(place.repository)).toBe(queue)
  // Where the original is gone, what is there counts as moved, not copied.
  const kept = `${place.path}-kept`
  await cp(path, kept, { recursive: true })
  await rm(path, { recursive: true })
  expect(await queueOf(await openRepository(kept))).toBe(own)
})
