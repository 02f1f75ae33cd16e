/** What a merge itself decided is what `git show --remerge-diff` shows. */
import { expect, test } from 'bun:test'
import { changesByHand } from '../../../../forge/desk/merging/changes-by-hand.ts'
import { commit } from '../../../support/git.ts'
import { lines, makePair, type Pair } from '../../../support/merging.ts'
import { refusedBy } from '../../../support/refusals.ts'

const SIDES = {
  base: { 'a.txt': lines(), 'b.txt': 'b\n' },
  ours: { 'a.txt': lines({ 2: 'ours 2' }), 'b.txt': 'b\n' },
  theirs: { 'a.txt': lines({ 2: 'theirs 2', 8: 'theirs 8' }), 'b.txt': 'theirs\n' },
}

/** A merge of topic into main with these files. */
const merged = async (desk: Pair, files: Record<string, string>) =>
  await commit(desk.path, 'main', files, { parents: [desk.ours, desk.theirs], message: 'Merge topic' })

test('of a merge with a conflict, the resolution and what was changed beside it are shown', async () => {
  await using desk = await makePair(SIDES)
  const merge = await merged(desk, {
    'a.txt': lines({ 2: 'both 2', 8: 'theirs 8' }),
    'b.txt': 'theirs\n',
    'c.txt': 'beside\n',
  })
  const changes = await changesByHand(desk.work.branches.room.objects, merge)
  const seen = changes.map(({ path, status, added, deleted }) => [path, status, added, deleted])
  const byGit = await desk.git('show', '--remerge-diff', '--format=', '--numstat', merge)
  expect(seen).toEqual([
    ['a.txt', 'changed', 1, 5],
    ['c.txt', 'added', 1, 0],
  ])
  expect(byGit.split('\n').sort()).toEqual(['1\t0\tc.txt', '1\t5\ta.txt'])
})

test('of a merge as git makes it nothing is shown, and a commit that is no merge is refused', async () => {
  await using desk = await makePair({ ...SIDES, ours: { ...SIDES.ours, 'a.txt': lines({ 9: 'ours 9' }) } })
  const files = { 'a.txt': lines({ 2: 'theirs 2', 8: 'theirs 8', 9: 'ours 9' }), 'b.txt': 'theirs\n' }
  const theirs = await commit(desk.path, 'topic', { 'a.txt': lines({ 2: 'theirs 2' }) })
  const clean = await commit(
    desk.path,
    'main',
    { ...files, 'a.txt': lines({ 2: 'theirs 2', 9: 'ours 9' }) },
    { parents: [desk.ours, theirs] },
  )
  expect(await changesByHand(desk.work.branches.room.objects, clean)).toEqual([])
  expect(await refusedBy(changesByHand(desk.work.branches.room.objects, theirs))).toThrow('is no merge of two commits')
})
