/** A cherry-pick, revert or rebase that waits with conflicts while its branch gets commits from elsewhere: Update. */
import { expect, test } from 'bun:test'
import { commit, show } from '../../../support/git.ts'
import { lines, makeChain } from '../../../support/merging.ts'
import { refusedBy } from '../../../support/refusals.ts'

const MOVED = { message: 'Moved\n', author: 'Eve <eve@example.org>' }

test('a cherry-pick of several commits is updated: those before the conflict are picked anew, and resolutions stay', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const [, two = '', three = '', four = ''] = (await desk.git('rev-list', '--reverse', 'main..topic')).split('\n')
  await work.steps.do({ step: 'cherry-pick', commits: [two, three, four], onto: 'main' })
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  const moved = await commit(desk.path, 'main', { 'd.txt': 'd\n' }, MOVED)
  await work.look()
  const waits = await work.mergings.in('main')
  expect(waits).toMatchObject({ kind: 'cherry-pick', canUpdate: true })
  expect(waits?.notYet).toContain('update the cherry-pick, which keeps what is resolved')
  expect(await refusedBy(work.mergings.finish('main'))).toThrow('update the cherry-pick')
  expect((await work.mergings.update('main')).words).toBe(
    'Updated the cherry-pick to the newest commit of main: 0 conflicts are left.',
  )
  expect(await work.mergings.in('main')).toMatchObject({ at: { number: 2, of: 3, subject: 'Three' } })
  await work.mergings.finish('main')
  const log = await desk.git('log', '--reverse', '--format=%s %an', `${moved}..main`)
  expect(log).toBe('Two Bea\nThree Bea\nFour Bea')
  expect(await desk.git('rev-parse', 'main~3')).toBe(moved)
  expect(await show(desk.path, 'main', 'a.txt')).toBe(lines({ 1: 'topic 1', 5: 'topic 5' }).trimEnd())
  // The undo of the end, and that of the update, go back to what waited before.
  await work.undo()
  await work.undo()
  expect((await work.mergings.in('main'))?.canUpdate).toBe(true)
})

test('a conflict of a cherry-pick that has another side after the update is open again', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const three = await desk.git('rev-parse', 'topic~2')
  await work.steps.do({ step: 'cherry-pick', commits: [three], onto: 'main' })
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  await commit(desk.path, 'main', { 'a.txt': lines({ 1: 'main 1', 5: 'main again', 9: 'main 9' }) }, MOVED)
  await work.look()
  expect((await work.mergings.update('main')).words).toMatch(
    /: 1 conflict is left, and 1 of \d resolutions? no longer fit/,
  )
  await work.mergings.takeSide('main', 'a.txt', 'both')
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'a.txt')).toContain('main again\ntopic 5\n')
})

test('a revert is updated, and says so if its branch no longer has the commit', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const three = await desk.git('rev-parse', 'topic~2')
  await commit(desk.path, 'topic', { 'a.txt': lines({ 1: 'topic 1', 5: 'topic again', 9: 'topic 9' }) })
  await work.look()
  await work.steps.do({ step: 'revert', commit: three, onto: 'topic' })
  await work.mergings.takeSide('topic', 'a.txt', 'theirs')
  const moved = await commit(desk.path, 'topic', { 'd.txt': 'd\n' }, MOVED)
  await work.look()
  expect((await work.mergings.update('topic')).words).toBe(
    'Updated the revert to the newest commit of topic: 0 conflicts are left.',
  )
  await work.mergings.finish('topic')
  expect(await desk.git('rev-parse', 'topic^')).toBe(moved)
  expect(await desk.git('show', 'topic:a.txt')).toBe(lines({ 1: 'topic 1' }).trimEnd())
  await work.undo()
  await desk.git('update-ref', 'refs/heads/topic', desk.theirs)
  await work.look()
  const waits = await work.mergings.in('topic')
  expect(waits?.canUpdate).toBeUndefined()
  expect(waits?.notYet).toContain('abort it, and begin anew')
})

test('a rebase goes on with the commits that its branch got meanwhile, and keeps every resolution', async () => {
  await using desk = await makeChain()
  const { work, step } = desk
  await work.steps.do(step)
  await work.mergings.takeSide('topic', 'a.txt', 'both')
  await commit(desk.path, 'topic', { 'd.txt': 'd\n' }, MOVED)
  await work.look()
  expect((await work.mergings.in('topic'))?.notYet).toContain('update the rebase')
  expect((await work.mergings.update('topic')).words).toBe('Updated the rebase: it goes on with 1 new commit of topic.')
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 1, of: 6 } })
  await work.mergings.finish('topic')
  for (const _ of ['Three', 'Five']) {
    await work.mergings.takeSide('topic', 'a.txt', 'both')
    await work.mergings.finish('topic')
  }
  expect(await show(desk.path, 'topic', 'a.txt')).toContain('main 5\ntopic 5\n')
  expect(await work.mergings.in('topic')).toBeUndefined()
  const log = await desk.git('log', '--reverse', '--format=%s %an', 'main..topic')
  expect(log.split('\n')).toEqual([
    'Change theirs Una Upstream',
    ...['Two', 'Three', 'Four', 'Five'].map(it => `${it} Bea`),
    'Moved Eve',
  ])
})

test('a rebase whose branch was set to another commit can’t be updated', async () => {
  await using desk = await makeChain()
  const { work, step } = desk
  await work.steps.do(step)
  await desk.git('update-ref', 'refs/heads/topic', 'topic~1')
  await work.look()
  const waits = await work.mergings.in('topic')
  expect(waits?.canUpdate).toBeUndefined()
  expect(waits?.notYet).toContain('abort it, and begin anew')
  expect(await refusedBy(work.mergings.update('topic'))).toThrow('finish or abort it')
})

test('a rewriting of commits goes on with those that its branch got meanwhile', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const three = await desk.git('rev-parse', 'topic~2')
  await commit(desk.path, 'topic', { 'a.txt': lines({ 1: 'topic 1', 5: 'again', 9: 'topic 9' }) }, { message: 'Six\n' })
  await work.look()
  await work.steps.do({ step: 'rewrite', branch: 'topic', rewriting: { do: 'drop', commits: [three] } })
  await work.mergings.takeSide('topic', 'a.txt', 'theirs')
  await commit(desk.path, 'topic', { 'd.txt': 'd\n' }, MOVED)
  await work.look()
  await work.mergings.update('topic')
  await work.mergings.finish('topic')
  expect(await work.mergings.in('topic')).toBeUndefined()
  const log = await desk.git('log', '--reverse', '--format=%s', 'main..topic')
  expect(log.split('\n')).toEqual(['Change theirs', 'Two', 'Four', 'Five', 'Six', 'Moved'])
})
