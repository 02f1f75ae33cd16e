/** Work on several branches at the same time. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Maintenance } from '../../../../core/git/maintenance.ts'
import { BranchWork } from '../../../../forge/desk/branches/branch-work.ts'
import { Checkouts } from '../../../../forge/desk/branches/checkouts.ts'
import { MovedBranches } from '../../../../forge/desk/branches/moved-branches.ts'
import { lockedAll } from '../../../../forge/desk/branches/open-branches.ts'
import { WrittenHere } from '../../../../forge/desk/branches/written-here.ts'
import { Filters } from '../../../../forge/desk/reading/filters.ts'
import { Operations } from '../../../../forge/operations.ts'
import { commit } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'

test('two tasks that lock the same branches do not deadlock', async () => {
  await using place = await makePlace()
  const { objects } = place
  await commit(place.path, 'one', { a: 'a' })
  await commit(place.path, 'two', { a: 'a' })
  const say = () => undefined
  const room = {
    objects,
    operations: new Operations(objects),
    checkouts: await Checkouts.open(objects, place.folder, say),
    filters: new Filters(objects),
    maintenance: new Maintenance(objects.repository),
    moved: await MovedBranches.open(place.folder, objects.repository),
    run: 'this',
    writtenHere: await WrittenHere.open(join(place.folder, 'conversations')),
    seen: { branches: new Map() },
    say,
  }
  const one = await BranchWork.open(room, 'one')
  const two = await BranchWork.open(room, 'two')
  const done = await Promise.all([
    lockedAll([one, two], async () => 'first'),
    lockedAll([two, one], async () => 'second'),
  ])
  expect(done).toEqual(['first', 'second'])
})
