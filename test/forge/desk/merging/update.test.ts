/** A cherry-pick, revert or rebase that waits with conflicts while its branch gets commits from elsewhere: Update. */
import { expect, test } from 'bun:test'
import { closeFile } from '../../../../forge/desk/branches/places.ts'
import { ask, edit, textOf } from '../../../support/desk.ts'
import { commit, show } from '../../../support/git.ts'
import { lines, makeChain, makePair, rowsIn } from '../../../support/merging.ts'
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
  await work.steps.do({ step: 'revert', commits: [three], onto: 'topic' })
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

test('reverts of several commits are updated: those before the conflict are made anew', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const [, two = '', three = '', four = ''] = (await desk.git('rev-list', '--reverse', 'main..topic')).split('\n')
  await commit(desk.path, 'topic', { 'a.txt': lines({ 1: 'topic 1', 5: 'topic again', 9: 'topic 9' }) })
  await work.look()
  await work.steps.do({ step: 'revert', commits: [four, three, two], onto: 'topic' })
  await work.mergings.takeSide('topic', 'a.txt', 'theirs')
  const moved = await commit(desk.path, 'topic', { 'd.txt': 'd\n' }, MOVED)
  await work.look()
  await work.mergings.update('topic')
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 2, of: 3, subject: 'Three' } })
  await work.mergings.finish('topic')
  expect((await desk.git('log', '--format=%s', `${moved}..topic`)).split('\n')).toEqual([
    'Revert "Two"',
    'Revert "Three"',
    'Revert "Four"',
  ])
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

// --- What was typed in files that git has merged ---

/**
 * A desk whose branches main and topic conflict in a.txt only, and where git merges b.txt and c.txt. A step of topic
 * waits in main with a.txt resolved, and a word typed in line 3 of the two others. Then main got a commit that changes
 * this line of b.txt, and another one of c.txt.
 */
async function typedBeside(does: 'merge' | 'cherry-pick') {
  const merged = { 'b.txt': lines({ 9: 'theirs 9' }), 'c.txt': lines({ 9: 'theirs 9' }) }
  const desk = await makePair({
    base: { 'a.txt': 'base\n', 'b.txt': lines(), 'c.txt': lines(), 'd.txt': 'd\n' },
    ours: { 'a.txt': 'ours\n' },
    theirs: { 'a.txt': 'theirs\n', ...merged },
  })
  const { work, source } = desk
  if (does === 'merge') await work.steps.do({ step: 'merge', source, onto: 'main' })
  else await work.steps.do({ step: 'cherry-pick', commits: [desk.theirs], onto: 'main' })
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  for (const path of ['b.txt', 'c.txt']) {
    const editor = await edit(work, 'main', path)
    await editor.type('typed ', editor.text.indexOf('line 3'))
    await closeFile(work.branches, MAIN, path)
  }
  await commit(desk.path, 'main', { 'b.txt': lines({ 3: 'moved 3' }), 'c.txt': lines({ 1: 'moved 1' }) }, MOVED)
  await work.look()
  return desk
}

const MAIN = { kind: 'branch', branch: 'main' } as const
const ADDED = '<<<<<<< main\nmoved 3\n||||||| base\nline 3\n=======\ntyped line 3\n>>>>>>> changed in this merge\n'
const CLEAN = lines({ 1: 'moved 1', 3: 'typed line 3', 9: 'theirs 9' })

test('what was typed in a file without conflicts of a merge is a conflict like others after the update, where the branch has changed that line', async () => {
  await using desk = await typedBeside('merge')
  expect((await desk.work.mergings.update('main')).words).toBe(
    'Updated the merge to the newest commit of main: 1 conflict is left.',
  )
  await desk.restart()
  const { work } = desk
  expect(await textOf(work, 'main', 'b.txt')).toBe(lines({ 9: 'theirs 9' }).replace('line 3\n', ADDED))
  expect(await textOf(work, 'main', 'c.txt')).toBe(CLEAN)
  expect(await rowsIn(work)).toEqual([
    ['a.txt', 'text', 'settled'],
    ['b.txt', 'text', 'open'],
  ])
  expect(await work.mergings.in('main')).toMatchObject({ notYet: '1 conflict is left in b.txt.', byGit: 1 })
  expect((await work.describeBranches())[0]?.conflicts ?? []).toEqual([])
  expect(await work.mergings.conflict('main', 'b.txt')).toMatchObject({
    words: 'both changed the same lines',
    base: { text: lines({ 9: 'theirs 9' }) },
    ours: { text: lines({ 3: 'moved 3', 9: 'theirs 9' }) },
    theirs: { text: lines({ 3: 'typed line 3', 9: 'theirs 9' }) },
  })

  const editor = await edit(work, 'main', 'b.txt')
  await editor.type('both 3\n', editor.text.indexOf(ADDED), ADDED.length)
  await closeFile(work.branches, MAIN, 'b.txt')
  expect(await work.mergings.in('main')).not.toHaveProperty('notYet')
  expect((await work.mergings.in('main'))?.files).toMatchObject([
    { path: 'a.txt', state: 'settled' },
    { path: 'b.txt', state: 'odd', words: 'changed, though git merged it with no conflict' },
    { path: 'c.txt', state: 'odd', words: 'changed, though git merged it with no conflict' },
  ])
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'b.txt')).toBe(lines({ 3: 'both 3', 9: 'theirs 9' }).trimEnd())
  expect(await show(desk.path, 'main', 'c.txt')).toBe(CLEAN.trimEnd())
  // What waited before the update comes back by undo.
  await work.undo()
  await work.undo()
  expect(await textOf(work, 'main', 'b.txt')).toBe(lines({ 3: 'typed line 3', 9: 'theirs 9' }))
  expect((await work.mergings.in('main'))?.canUpdate).toBe(true)
})

test('what was typed in a file without conflicts of a cherry-pick is a conflict after the update, and after another one', async () => {
  await using desk = await typedBeside('cherry-pick')
  const { work } = desk
  expect((await work.mergings.update('main')).words).toBe(
    'Updated the cherry-pick to the newest commit of main: 1 conflict is left.',
  )
  await commit(desk.path, 'main', { 'e.txt': 'e\n' }, MOVED)
  await work.look()
  await work.mergings.update('main')
  expect(await textOf(work, 'main', 'b.txt')).toContain(ADDED)
  expect(await textOf(work, 'main', 'c.txt')).toBe(CLEAN)
  expect(await refusedBy(work.mergings.finish('main'))).toThrow('1 conflict is left in b.txt.')
  await work.mergings.takeSide('main', 'b.txt', 'theirs')
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'b.txt')).toBe(lines({ 3: 'typed line 3', 9: 'theirs 9' }).trimEnd())
  expect(await show(desk.path, 'main', 'c.txt')).toBe(CLEAN.trimEnd())
})

test('what was typed in a file without conflicts of a rebase is in its commit after the update, and in conflict with a new one', async () => {
  await using desk = await makeChain()
  const { work, step } = desk
  await work.steps.do(step)
  await work.mergings.takeSide('topic', 'a.txt', 'both')
  await (await edit(work, 'topic', 'b.txt')).type('typed ', 0)
  await commit(desk.path, 'topic', { 'b.txt': lines({ 1: 'moved 1', 2: 'topic b' }) }, MOVED)
  await work.look()
  expect((await work.mergings.update('topic')).words).toBe('Updated the rebase: it goes on with 1 new commit of topic.')
  expect(await textOf(work, 'topic', 'b.txt')).toBe(lines({ 1: 'typed line 1' }))
  expect(await rowsIn(work, 'topic')).toEqual([
    ['a.txt', 'text', 'settled'],
    ['b.txt', 'no conflict', 'odd'],
  ])
  expect((await work.mergings.finish('topic')).words).toContain('There are conflicts again, at commit 2 of 6.')
  expect(await show(desk.path, 'refs/forge/merging/topic', 'b.txt')).toContain('typed line 1')
  expect(await rowsIn(work, 'topic')).toEqual([['b.txt', 'text', 'open']])
})

test('a merge whose branch has deleted a file in which something was typed is not updated, and says what to do', async () => {
  await using desk = await typedBeside('merge')
  const { work } = desk
  await (await edit(work, 'main', 'd.txt')).type('typed\n')
  await commit(desk.path, 'main', { 'd.txt': null }, MOVED)
  await work.look()
  expect(await refusedBy(work.mergings.update('main'))).toThrow(
    'What was typed in d.txt can’t be merged with what main has there now: discard the changes to d.txt',
  )
  expect(await work.mergings.in('main')).toHaveProperty('canUpdate')
  await ask(work, 'discard', { branch: 'main', paths: ['d.txt'] })
  await work.mergings.update('main')
  await ask(work, 'take side', { branch: 'main', path: 'b.txt', side: 'ours' })
  await work.mergings.finish('main')
  expect(await desk.git('ls-tree', '--name-only', 'main')).toBe('a.txt\nb.txt\nc.txt')
})

for (const [what, path, conflicts] of [
  ['a file with conflicts', 'a.txt', [['a.txt', 'modify/delete', 'open']]],
  [
    'a file that the other side changed',
    'b.txt',
    [
      ['a.txt', 'text', 'open'],
      ['b.txt', 'modify/delete', 'open'],
    ],
  ],
] as const)
  test(`a merge whose branch has deleted ${what} is not updated while that has typed text, which would be lost or count as the choice`, async () => {
    await using desk = await makePair({
      base: { 'a.txt': lines(), 'b.txt': lines() },
      ours: { 'a.txt': lines({ 2: 'ours 2' }) },
      theirs: { 'a.txt': lines({ 2: 'theirs 2' }), 'b.txt': lines({ 9: 'theirs 9' }) },
    })
    const { work, source } = desk
    await work.steps.do({ step: 'merge', source, onto: 'main' })
    await (await edit(work, 'main', path)).type('typed ', 0)
    await commit(desk.path, 'main', { [path]: null }, MOVED)
    await work.look()
    expect(await refusedBy(work.mergings.update('main'))).toThrow(
      `What was typed in ${path} can’t be merged with what main has there now: discard the changes to ${path}`,
    )
    expect(await textOf(work, 'main', path)).toStartWith('typed line 1\n')
    await ask(work, 'discard', { branch: 'main', paths: [path] })
    await work.mergings.update('main')
    expect(await rowsIn(work)).toEqual(conflicts.map(row => [...row]))
  })

test('a version chosen for a conflict is dropped where the branch has deleted the file: nothing was typed', async () => {
  await using desk = await makePair({
    base: { 'a.txt': 'base\n' },
    ours: { 'a.txt': 'ours\n' },
    theirs: { 'a.txt': 'theirs\n' },
  })
  const { work, source } = desk
  await work.steps.do({ step: 'merge', source, onto: 'main' })
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  await commit(desk.path, 'main', { 'a.txt': null }, MOVED)
  await work.look()
  expect((await work.mergings.update('main')).words).toContain('1 of 1 resolutions no longer fit')
  expect(await rowsIn(work)).toEqual([['a.txt', 'modify/delete', 'open']])
})

test('a merge is not updated while a stray conflict marker is left in a file with other typed text, which would be lost', async () => {
  const base = { 'a.txt': lines() }
  await using desk = await makePair({
    base,
    ours: { 'a.txt': lines({ 2: 'ours 2' }) },
    theirs: { 'a.txt': lines({ 2: 'theirs 2' }) },
  })
  const { work, source } = desk
  await work.steps.do({ step: 'merge', source, onto: 'main' })
  const editor = await edit(work, 'main', 'a.txt')
  const [start, end] = ['<<<<<<< main\nours 2\n||||||| base\nline 2\n=======\n', '>>>>>>> topic\n']
  await editor.type('', editor.text.indexOf(start), start.length)
  await editor.type('typed\n', editor.text.length)
  await closeFile(work.branches, MAIN, 'a.txt')
  const typed = lines({ 2: 'theirs 2' }).replace('line 3', `${end}line 3`).concat('typed\n')
  expect(await textOf(work, 'main', 'a.txt')).toBe(typed)
  await commit(desk.path, 'main', { 'a.txt': lines({ 1: 'moved 1', 2: 'ours 2' }) }, MOVED)
  await work.look()
  expect(await refusedBy(work.mergings.update('main'))).toThrow(
    'The conflict markers in a.txt do not belong together: mend them in the editor, then update.',
  )
  expect(await textOf(work, 'main', 'a.txt')).toBe(typed)

  const again = await edit(work, 'main', 'a.txt')
  await again.type('', again.text.indexOf(end), end.length)
  await closeFile(work.branches, MAIN, 'a.txt')
  await work.mergings.update('main')
  expect(await textOf(work, 'main', 'a.txt')).toEndWith('line 9\ntyped\n')
})

test('a merge whose branch has a deleted file again is not updated while something was typed in the version that was kept', async () => {
  await using desk = await makePair({
    base: { 'a.txt': lines(), 'b.txt': 'b\n' },
    ours: { 'a.txt': null },
    theirs: { 'a.txt': lines({ 2: 'theirs 2' }) },
  })
  const { work, source } = desk
  await work.steps.do({ step: 'merge', source, onto: 'main' })
  expect(await rowsIn(work)).toEqual([['a.txt', 'modify/delete', 'open']])
  await (await edit(work, 'main', 'a.txt')).type('typed ', 0)
  await closeFile(work.branches, MAIN, 'a.txt')
  await commit(desk.path, 'main', { 'a.txt': lines({ 2: 'ours 2' }) }, MOVED)
  await work.look()
  expect(await refusedBy(work.mergings.update('main'))).toThrow(
    'What was typed in a.txt can’t be merged with what main has there now: discard the changes to a.txt',
  )
  expect(await textOf(work, 'main', 'a.txt')).toStartWith('typed line 1\n')
})

/** Both sides rename a file, and change the same line. */
const RENAMED_BY_BOTH = {
  base: { 'old.md': lines({}, 20) },
  ours: { 'old.md': null, 'ours.md': lines({ 2: 'ours' }, 20) },
  theirs: { 'old.md': null, 'theirs.md': lines({ 2: 'theirs' }, 20) },
}

test('an update keeps the resolved text of a file that both sides renamed, under the name that was chosen', async () => {
  await using desk = await makePair(RENAMED_BY_BOTH)
  const { work } = desk
  await work.steps.do({ step: 'merge', source: desk.source, onto: 'main' })
  const file = async () => (await work.mergings.in('main'))?.files[0]
  await work.mergings.takeConflicts('main', ['ours.md'], 'theirs')
  await work.mergings.takeSide('main', 'ours.md', 'theirs')
  const typist = await edit(work, 'main', 'theirs.md')
  await typist.type('typed ', 0)
  await commit(desk.path, 'main', { 'ours.md': lines({ 2: 'ours', 14: 'moved' }, 20) }, MOVED)
  await work.look()
  expect((await work.mergings.update('main')).words).toBe(
    'Updated the merge to the newest commit of main: 0 conflicts are left.',
  )
  expect(await file()).toMatchObject({ result: 'theirs.md', taken: 'theirs', left: 0, all: 2 })
  expect(await textOf(work, 'main', 'theirs.md')).toBe(`typed ${lines({ 2: 'theirs', 14: 'moved' }, 20)}`)
  // The resolved conflict is still known in the text, which the branch's last commit has under our name.
  const { saved } = (await ask(work, 'open', { at: { kind: 'branch', branch: 'main' }, path: 'theirs.md' })) as {
    saved?: string
  }
  expect(saved).toContain('<<<<<<<')
  // Where our side has another name for it now, what was typed does not fit, and nothing is updated.
  await commit(desk.path, 'main', { 'ours.md': null, 'again.md': lines({ 2: 'ours', 14: 'moved' }, 20) }, MOVED)
  await work.look()
  expect(await refusedBy(work.mergings.update('main'))).toThrow('discard the changes to')
  expect(await textOf(work, 'main', 'theirs.md')).toContain('typed ')
})

test('an update is refused where a file has both names and was typed in under one: the text stays', async () => {
  await using desk = await makePair(RENAMED_BY_BOTH)
  const { work } = desk
  await work.steps.do({ step: 'merge', source: desk.source, onto: 'main' })
  await work.mergings.takeConflicts('main', ['ours.md'], 'theirs')
  await work.mergings.takeSide('main', 'ours.md', 'both')
  await (await edit(work, 'main', 'theirs.md')).type('typed ', 0)
  await commit(desk.path, 'main', { 'ours.md': lines({ 2: 'ours', 14: 'moved' }, 20) }, MOVED)
  await work.look()
  expect(await refusedBy(work.mergings.update('main'))).toThrow('discard the changes to')
  expect(await textOf(work, 'main', 'theirs.md')).toBe(`typed ${lines({ 2: 'theirs' }, 20)}`)
})
