/** Undo and redo of all operations on refs. */
import { expect, test } from 'bun:test'
import type { Work } from '../../../../forge/desk/work.ts'
import { addFile, ask, conflictsIn, edit, makeDesk, saveIn, settleIn, textOf } from '../../../support/desk.ts'
import { commit, show } from '../../../support/git.ts'
import { makePair } from '../../../support/merging.ts'
import { refusedBy } from '../../../support/refusals.ts'

const FILES = { 'a.txt': 'a\n', 'b.txt': 'b\n', 'folder/c.txt': 'c\n' }

/** Types in a file and saves it. Returns the commit. */
async function editAndSave(work: Work, branch: string, path: string): Promise<string> {
  await (await edit(work, branch, path)).type('more\n')
  return await saveIn(work, branch, [path])
}

test('undo in a branch reverts the branch’s last operation, whatever came later elsewhere', async () => {
  await using desk = await makeDesk({ files: FILES })
  await desk.git('branch', 'topic', 'main')
  await desk.work.look()
  const main = await desk.git('rev-parse', 'main')
  await editAndSave(desk.work, 'topic', 'a.txt')
  const topic = await desk.git('rev-parse', 'topic')
  await editAndSave(desk.work, 'main', 'b.txt')
  expect(await desk.work.undoableInBranches()).toEqual(
    new Map([
      ['main', { undo: 'save b.txt to main' }],
      ['topic', { undo: 'save a.txt to topic' }],
    ]),
  )
  await desk.work.undo(undefined, 'topic')
  expect(await desk.git('rev-parse', 'topic')).toBe(main)
  expect(await desk.work.undoable('topic')).toEqual({ redo: 'save a.txt to topic' })
  expect(await desk.work.undoable('main')).toEqual({ undo: 'save b.txt to main' })
  await desk.work.redo('topic')
  expect(await desk.git('rev-parse', 'topic')).toBe(topic)
  await desk.work.undo(undefined, 'main')
  expect(await desk.git('rev-parse', 'main')).toBe(main)
  await desk.work.undo(undefined, 'topic')
  expect(await desk.work.undo(undefined, 'topic').catch((error: Error) => error.message)).toBe(
    'There is nothing to undo in topic.',
  )
})

test('each operation has a description and the earlier commits of its refs', async () => {
  await using desk = await makeDesk({ files: FILES })
  const before = await desk.git('rev-parse', 'main')
  const after = await editAndSave(desk.work, 'main', 'a.txt')
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  const [second, first] = await ask(desk.work, 'operations', { from: 0, count: 10 })
  expect(first).toMatchObject({
    kind: 'save',
    words: 'save a.txt to main',
    refs: [{ ref: 'refs/heads/main', before, after }],
  })
  expect(second).toMatchObject({ kind: 'new branch', words: 'create the branch topic' })
  expect(await ask(desk.work, 'operations', { from: 1, count: 10 })).toEqual([first as never])
  // Plain git can read the operation.
  expect(await desk.git('log', '-1', '--format=%s', 'refs/forge/operations')).toBe('create the branch topic')
  await desk.git('fsck', '--strict')
})

test('the list says which operations can be undone: not undone ones, nor those of a branch that moved since', async () => {
  await using desk = await makeDesk({ files: FILES })
  const shown = async () =>
    (await ask(desk.work, 'operations', { from: 0, count: 10 })).map(it => [
      it.words,
      it.isPast ?? it.inTheWay ?? 'can',
    ])
  await editAndSave(desk.work, 'main', 'a.txt')
  await editAndSave(desk.work, 'main', 'b.txt')
  expect(await shown()).toEqual([
    ['save b.txt to main', 'can'],
    ['save a.txt to main', 'main has moved since. Undo what came later first.'],
  ])
  await desk.work.undo()
  expect(await shown()).toEqual([
    ['undo: save b.txt to main', 'can'],
    ['save b.txt to main', true],
    ['save a.txt to main', 'can'],
  ])
})

test('the list says why an operation can not be undone: a checkout on a new branch, and what was done in a terminal', async () => {
  await using desk = await makeDesk({ files: FILES })
  const shown = async () => {
    const [last] = await ask(desk.work, 'operations', { from: 0, count: 1 })
    return [last?.words, last?.inTheWay]
  }
  const tip = await editAndSave(desk.work, 'main', 'a.txt')
  await desk.git('update-ref', 'refs/heads/main', 'main^')
  await desk.work.look()
  const outside = 'main has moved since. What came later was done outside of the desk: take it back there first.'
  expect(await shown()).toEqual(['save a.txt to main', outside])
  expect(await refusedBy(desk.work.undo())).toThrow('What came later was done outside of the desk')
  await desk.git('update-ref', 'refs/heads/main', tip)
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  expect(await shown()).toEqual(['create the branch topic', undefined])
  await desk.git('symbolic-ref', 'HEAD', 'refs/heads/topic')
  const [words, why] = await shown()
  expect(words).toBe('create the branch topic')
  expect(why).toContain('topic is checked out in ')
  expect(await refusedBy(desk.work.undo())).toThrow('topic is checked out in ')
})

test('every kind of operation is undone, in any order, without a trace', async () => {
  await using desk = await makeDesk({ files: FILES })
  const { work } = desk
  const state = async () => [
    await desk.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads'),
    await desk.git('status', '--porcelain'),
    (await work.describeBranches()).map(it => it.drafts),
  ]
  const steps: (() => Promise<unknown>)[] = [
    () => ask(work, 'new file', { branch: 'main', path: 'new.txt' }),
    () => ask(work, 'move', { branch: 'main', moves: [{ from: 'folder', to: 'other' }] }),
    () => ask(work, 'delete', { branch: 'main', paths: ['b.txt'] }),
    () => saveIn(work, 'main'),
    () => ask(work, 'new branch', { branch: 'topic', from: null }),
    () => ask(work, 'move', { branch: 'topic', moves: [{ from: 'new.txt', to: 'newer.txt' }] }),
    () => work.renameBranch('topic', 'renamed'),
    () => ask(work, 'delete branch', { branch: 'renamed' }),
  ]
  const states = [await state()]
  for (const step of steps) {
    await step()
    await work.flush()
    states.push(await state())
  }
  for (let round = 0; round < 2; round++) {
    for (const before of states.toReversed().slice(1)) {
      await work.undo()
      await work.flush()
      expect(await state()).toEqual(before)
    }
    expect(await refusedBy(work.undo())).toThrow('nothing to undo')
    for (const after of states.slice(1)) {
      await work.redo()
      await work.flush()
      expect(await state()).toEqual(after)
    }
    expect(await refusedBy(work.redo())).toThrow('nothing to redo')
  }
})

test('after a new operation there is nothing to redo', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new file', { branch: 'main', path: 'one.txt' })
  await desk.work.undo()
  await ask(desk.work, 'new file', { branch: 'main', path: 'two.txt' })
  expect(await refusedBy(desk.work.redo())).toThrow('nothing to redo')
  expect(await desk.work.undoable()).toEqual({ undo: 'add two.txt to main' })
  await desk.work.undo()
  expect(await refusedBy(desk.work.undo())).toThrow('nothing to undo')
})

test('an operation whose ref has moved since is not undone, and the ref is named', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await addFile(desk.work, 'main', 'one.txt')
  const [first] = await ask(desk.work, 'operations', { from: 0, count: 1 })
  await addFile(desk.work, 'main', 'two.txt')
  expect(await refusedBy(desk.work.undo(first?.id))).toThrow(
    'main has moved since: nothing was undone. Undo what came later first.',
  )
  const tip = await commit(desk.path, 'main', { x: 'x' })
  expect(await refusedBy(desk.work.undo())).toThrow(
    'main has moved since: nothing was undone. What came later was done outside of the desk: take it back there first.',
  )
  expect(await desk.git('rev-parse', 'main')).toBe(tip)
})

test('an operation with a commit from outside on top is not undone, which says so also where later ones are undone', async () => {
  await using desk = await makeDesk({ files: FILES })
  const { work } = desk
  await editAndSave(work, 'main', 'a.txt')
  await commit(desk.path, 'main', { 'outside.txt': 'x\n' })
  await work.look()
  await editAndSave(work, 'main', 'b.txt')
  await work.undo()
  const outside = 'What came later was done outside of the desk: take it back there first.'
  expect(await refusedBy(work.undo(undefined, 'main'))).toThrow(`main has moved since: nothing was undone. ${outside}`)
  const operations = await ask(work, 'operations', { from: 0, count: 10 })
  expect(operations.at(-1)).toMatchObject({
    words: 'save a.txt to main',
    inTheWay: `main has moved since. ${outside}`,
  })
})

test('an operation whose branch was deleted since is not undone, which says so, and what to do first', async () => {
  await using desk = await makeDesk({ files: FILES })
  const { work } = desk
  await ask(work, 'new branch', { branch: 'topic', from: null })
  const tip = await editAndSave(work, 'topic', 'a.txt')
  const [saved] = await ask(work, 'operations', { from: 0, count: 1 })
  const refusal = () => refusedBy(work.undo(saved?.id))
  await desk.git('branch', '-D', 'topic')
  await work.look()
  expect(await refusal()).toThrow(/^topic was deleted since: nothing was undone. Restore the branch first.$/)
  const [shown] = await ask(work, 'operations', { from: 0, count: 1 })
  expect(shown?.inTheWay).toBe('topic was deleted since. Restore the branch first.')
  const why = async () => (await ask(work, 'why not reversed', { kind: 'undo', branch: 'topic' })).why
  expect(await why()).toBe('topic was deleted since: nothing was undone. Restore the branch first.')
  await ask(work, 'restore branch', { branch: 'topic' })
  expect(await why()).toBe(undefined)
  await work.undo(saved?.id)
  expect(await desk.git('rev-parse', 'topic')).toBe(await desk.git('rev-parse', `${tip}^`))
  await work.redo('topic')
  await ask(work, 'delete branch', { branch: 'topic' })
  expect(await refusal()).toThrow(/^topic was deleted since: nothing was undone. Undo what came later first.$/)
})

test('an older operation on another branch can be undone alone', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const before = await desk.git('rev-parse', 'main')
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  await addFile(desk.work, 'main', 'one.txt')
  const [operation] = await ask(desk.work, 'operations', { from: 0, count: 1 })
  const other = await addFile(desk.work, 'topic', 'two.txt')
  expect(await desk.work.undo(operation?.id)).toEqual({
    words: 'undo: save one.txt to main',
    refs: ['refs/heads/main', 'refs/forge/drafts/main'],
    of: operation?.id ?? '',
  })
  expect(await desk.git('rev-parse', 'main', 'topic')).toBe(`${before}\n${other}`)
  await desk.work.redo()
  expect(await desk.git('ls-tree', '--name-only', 'main')).toContain('one.txt')
})

test('edits after a save are kept when the save is undone', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('saved\n')
  await (await edit(desk.work, 'main', 'b.txt')).type('kept\n')
  await ask(desk.work, 'save', { branch: 'main', paths: ['a.txt'] })
  await editor.type('typed\n')
  await desk.work.undo()
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\nsaved\ntyped\n')
  expect(await textOf(desk.work, 'main', 'b.txt')).toBe('b\nkept\n')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['a.txt', 'b.txt'])
  await editor.type('on\n')
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\nsaved\ntyped\non\n')
})

test('the redo of a save has no conflict with an edit beside what was saved', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const { work } = desk
  const editor = await edit(work, 'main', 'a.txt')
  await editor.type('saved\n')
  await saveIn(work, 'main')
  await work.undo()
  await (await edit(work, 'main', 'a.txt')).type('typed\n')
  await work.redo()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await show(desk.path, 'main', 'a.txt')).toEndWith('saved')
  expect(await textOf(work, 'main', 'a.txt')).toEndWith('saved\ntyped\n')
  await work.undo()
  expect(await textOf(work, 'main', 'a.txt')).toEndWith('saved\ntyped\n')
})

test('the redo of a merge has the conflict of a draft as it was resolved', async () => {
  const sides = { base: { 'a.txt': 'a\n', 'b.txt': 'b\n' }, ours: {}, theirs: { 'a.txt': 'theirs\n' } }
  await using desk = await makePair(sides)
  const { work, source } = desk
  await settleIn(work, 'main', 'a.txt', 'draft\n')
  await work.steps.do({ step: 'merge', source, onto: 'main' })
  expect((await conflictsIn(work, 'main')).map(({ path }) => path)).toEqual(['a.txt'])
  await settleIn(work, 'main', 'a.txt', 'theirs\ndraft\n')
  await work.undo()
  await (await edit(work, 'main', 'a.txt')).type('typed\n')
  await settleIn(work, 'main', 'b.txt', 'typed\n')
  await work.redo()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'a.txt')).toBe('theirs\ndraft\ntyped\n')
  expect(await textOf(work, 'main', 'b.txt')).toBe('typed\n')
})

test('discarded drafts are restored by undo', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('typed\n')
  await (await edit(desk.work, 'main', 'b.txt')).type('kept\n')
  await ask(desk.work, 'discard', { branch: 'main', paths: ['a.txt'] })
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\n')
  expect(desk.news).toContainEqual(expect.objectContaining({ say: 'replaced', path: 'a.txt' }))
  await desk.git('gc', '-q', '--prune=now')
  await desk.work.undo()
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\ntyped\n')
  await desk.work.redo()
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\n')
  expect(await textOf(desk.work, 'main', 'b.txt')).toBe('b\nkept\n')
})

test('what is typed just before discarded drafts are restored stays when they are discarded again', async () => {
  await using desk = await makeDesk({ files: FILES })
  await (await edit(desk.work, 'main', 'a.txt')).type('discarded\n')
  await ask(desk.work, 'discard', { branch: 'main', paths: ['a.txt'] })
  await (await edit(desk.work, 'main', 'b.txt')).type('typed\n')
  await desk.work.undo()
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\ndiscarded\n')
  await desk.work.redo()
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\n')
  expect(await textOf(desk.work, 'main', 'b.txt')).toBe('b\ntyped\n')
})

test('discarded drafts of a branch that was renamed since are restored under its new name', async () => {
  await using desk = await makeDesk({ files: FILES })
  await (await edit(desk.work, 'main', 'a.txt')).type('discarded\n')
  await ask(desk.work, 'discard', { branch: 'main', paths: ['a.txt'] })
  const [discard] = await ask(desk.work, 'operations', { from: 0, count: 1 })
  await ask(desk.work, 'rename branch', { branch: 'main', to: 'trunk' })
  await desk.work.undo(discard?.id)
  expect(await textOf(desk.work, 'trunk', 'a.txt')).toBe('a\ndiscarded\n')
  await desk.work.flush()
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts')).toBe('refs/forge/drafts/trunk')
})

test('a draft follows a rename, and is restored with a deleted file', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const editor = await edit(desk.work, 'main', 'folder/c.txt')
  await editor.type('typed\n')
  await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'folder', to: 'moved' }] })
  expect(await textOf(desk.work, 'main', 'moved/c.txt')).toBe('c\ntyped\n')
  expect(await desk.git('show', 'refs/forge/drafts/main:moved/c.txt')).toBe('c\ntyped')
  expect(desk.news).toContainEqual({ say: 'renamed file', branch: 'main', from: 'folder', to: 'moved' })
  await ask(desk.work, 'delete', { branch: 'main', paths: ['moved'] })
  // The window that still shows the file keeps its unsaved text.
  expect(await desk.git('ls-tree', '-r', '--name-only', 'refs/forge/drafts/main')).not.toContain('c.txt')
  await desk.work.undo()
  expect(await textOf(desk.work, 'main', 'moved/c.txt')).toBe('c\ntyped\n')
  await desk.work.undo()
  expect(await textOf(desk.work, 'main', 'folder/c.txt')).toBe('c\ntyped\n')
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual(['folder/c.txt'])
})

test('a foreign ref at refs/forge/operations does no harm', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await desk.git('update-ref', 'refs/forge/operations', 'main')
  expect(await ask(desk.work, 'operations', { from: 0, count: 9 })).toEqual([])
  expect(await refusedBy(desk.work.undo())).toThrow('nothing to undo')
  for (const id of ['1'.repeat(40), '1'.repeat(64), '--help', await desk.git('rev-parse', 'main^{tree}')])
    expect(await refusedBy(desk.work.undo(id))).toThrow('no operation')
  await ask(desk.work, 'new file', { branch: 'main', path: 'one.txt' })
  expect(await ask(desk.work, 'operations', { from: 0, count: 9 })).toHaveLength(1)
  await desk.work.undo()
})

test('a rename of a file or folder is undone and redone across restarts, with the edits in it', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n', 'folder/b.txt': 'b\n' } })
  await (await edit(desk.work, 'main', 'a.txt')).type('draft of a\n')
  await (await edit(desk.work, 'main', 'folder/b.txt')).type('draft of b\n')
  await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: 'c.txt' }] })
  await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'folder', to: 'other' }] })
  let work = await desk.restart()
  await (await edit(work, 'main', 'other/b.txt')).type('and more\n')
  await work.undo()
  work = await desk.restart()
  await work.undo()
  expect(await desk.git('ls-tree', '-r', '--name-only', 'main')).toBe('a.txt\nfolder/b.txt')
  expect(await textOf(work, 'main', 'a.txt')).toBe('a\ndraft of a\n')
  expect(await textOf(work, 'main', 'folder/b.txt')).toBe('b\ndraft of b\nand more\n')
  work = await desk.restart()
  await work.redo()
  await work.redo()
  expect(await desk.git('ls-tree', '-r', '--name-only', 'refs/forge/drafts/main')).toBe('c.txt\nother/b.txt')
  expect(await textOf(work, 'main', 'other/b.txt')).toBe('b\ndraft of b\nand more\n')
  await work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('')
})

test('edits in a new branch survive undo and redo of its creation', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'one\n' } })
  await ask(desk.work, 'new branch', { branch: 'new', from: null })
  await (await edit(desk.work, 'new', 'a.ts')).type('two\n')
  await desk.work.undo()
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main')
  expect(await desk.work.vanished()).toEqual([{ branch: 'new', drafts: ['a.ts'] }])
  expect(await conflictsIn(desk.work, 'new')).toEqual([])
  await desk.restart()
  await desk.work.redo()
  expect(await conflictsIn(desk.work, 'new')).toEqual([])
  expect(await textOf(desk.work, 'new', 'a.ts')).toBe('one\ntwo\n')
  await ask(desk.work, 'save', { branch: 'new', paths: 'all' })
  expect(await desk.git('diff', '--name-status', 'main', 'new')).toBe('M\ta.ts')
})
