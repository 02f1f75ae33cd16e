/** New files, moves and deletions as drafts: how they are saved, undone, and merged with changes from outside. */
import { expect, test } from 'bun:test'
import { openFile } from '../../../../forge/desk/branches/places.ts'
import { addSubmodule, ask, conflictsIn, type Desk, edit, makeDesk, saveIn, textOf } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { refusedBy } from '../../../support/refusals.ts'

const LINES = Array.from({ length: 12 }, (_, at) => `line ${at}\n`).join('')
const FILES = { 'a.txt': LINES, 'b.txt': 'b\n', 'lib/one.ts': `1\n${LINES}`, 'lib/two.ts': `2\n${LINES}` }
const main = { branch: 'main' }

const move = (desk: Desk, ...moves: [from: string, to: string][]) =>
  ask(desk.work, 'move', { ...main, moves: moves.map(([from, to]) => ({ from, to })) })
const drafts = async (desk: Desk) => (await desk.work.describeBranches())[0]?.drafts
const listed = (desk: Desk, ref = 'main') => desk.git('ls-tree', '-r', '--name-only', ref)
const message = (desk: Desk) => desk.git('log', '-1', '--format=%s', 'main')

test('a new file, a rename and a deletion are drafts that move no branch, and are saved in one commit', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const tip = await desk.git('rev-parse', 'main')
  await ask(desk.work, 'new file', { ...main, path: 'new.txt' })
  await (await edit(desk.work, 'main', 'new.txt')).type('new\n')
  await move(desk, ['a.txt', 'docs/a.txt'])
  await ask(desk.work, 'delete', { ...main, paths: ['b.txt'] })
  expect(await desk.git('rev-parse', 'main')).toBe(tip)
  expect(await drafts(desk)).toEqual(['b.txt', 'docs/a.txt', 'new.txt'])
  await saveIn(desk.work, 'main')
  expect(await desk.git('show', '--format=%P', '--name-status', '-M', 'main')).toBe(
    `${tip}\n\nD\tb.txt\nR100\ta.txt\tdocs/a.txt\nA\tnew.txt`,
  )
  expect(await desk.git('for-each-ref', 'refs/forge/drafts')).toBe('')
})

test('a reply to a new file, a rename or a deletion means that it survives the end of the process', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'new file', { ...main, path: 'new.txt' })
  expect(await listed(desk, 'refs/forge/drafts/main')).toContain('new.txt')
  await move(desk, ['lib', 'src'])
  expect(await listed(desk, 'refs/forge/drafts/main')).toContain('src/one.ts\nsrc/two.ts')
  await ask(desk.work, 'delete', { ...main, paths: ['b.txt'] })
  expect(await listed(desk, 'refs/forge/drafts/main')).not.toContain('b.txt')
  // A second desk reads what the first has written, as one after a kill does.
  const { work } = await desk.another()
  const messageOf = async (paths: string[]) => (await ask(work, 'message', { ...main, paths })).message
  // A folder of which one file is saved is not renamed by that.
  expect(await messageOf(['src/one.ts'])).toBe('rename: lib/one.ts → src/one.ts')
  expect(await messageOf(['src/one.ts', 'src/two.ts'])).toBe('rename: lib → src')
  await saveIn(work, 'main', ['src/one.ts'])
  expect(await desk.git('show', '--format=', '--name-status', '-M', 'main')).toBe('R100\tlib/one.ts\tsrc/one.ts')
})

test('the name of an operation counts a rename as one file, whose name is the new one', async () => {
  await using desk = await makeDesk({ files: { ...FILES, 'lib/three.ts': `3\n${LINES}` }, bare: true })
  await move(desk, ['lib', 'src'])
  await saveIn(desk.work, 'main')
  expect(await desk.work.undoable('main')).toEqual({ undo: 'save 3 files to main' })
  await move(desk, ['a.txt', 'c.txt'])
  await saveIn(desk.work, 'main')
  expect(await desk.work.undoable('main')).toEqual({ undo: 'save c.txt to main' })
  await move(desk, ['c.txt', 'd.txt'])
  await ask(desk.work, 'discard', { ...main, paths: ['c.txt', 'd.txt'] })
  expect(await desk.work.undoable('main')).toMatchObject({ undo: 'discard what was typed in d.txt in main' })
})

test('saving a renamed file saves both of its paths, however much of it was typed since', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['a.txt', 'c.txt'])
  const editor = await edit(desk.work, 'main', 'c.txt')
  await editor.type('all else\n', 0, editor.text.length)
  await (await edit(desk.work, 'main', 'b.txt')).type('more\n')
  await move(desk, ['c.txt', 'd.txt'])
  expect((await ask(desk.work, 'message', { ...main, paths: ['d.txt'] })).message).toBe('rename: a.txt → d.txt')
  await saveIn(desk.work, 'main', ['d.txt'])
  expect(await listed(desk)).toBe('b.txt\nd.txt\nlib/one.ts\nlib/two.ts')
  expect(await desk.git('show', 'main:d.txt')).toBe('all else')
  expect(await drafts(desk)).toEqual(['b.txt'])
  // Saving by the old path also saves the whole rename.
  await move(desk, ['d.txt', 'e.txt'])
  await saveIn(desk.work, 'main', ['d.txt'])
  expect(await listed(desk)).toBe('b.txt\ne.txt\nlib/one.ts\nlib/two.ts')
})

test('a renamed folder and the files that had to follow are one commit, whose message says so', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['lib', 'src/lib'])
  await (await edit(desk.work, 'main', 'a.txt')).type('import\n')
  await saveIn(desk.work, 'main')
  expect(await message(desk)).toBe('rename: lib → src/lib; edit: a.txt')
  expect(await listed(desk)).toBe('a.txt\nb.txt\nsrc/lib/one.ts\nsrc/lib/two.ts')
})

test('a message without names counts each file of a renamed folder', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['lib', 'long-'.repeat(14)])
  for (const path of ['a.txt', 'b.txt']) await (await edit(desk.work, 'main', path)).type('import\n')
  await saveIn(desk.work, 'main')
  expect(await message(desk)).toBe('rename: 2 files; edit: 2 files')
})

test('what was moved back, or added and deleted, is no draft', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['lib', 'src'])
  await move(desk, ['src/one.ts', 'one.ts'])
  await move(desk, ['one.ts', 'src/one.ts'])
  await move(desk, ['src', 'lib'])
  await ask(desk.work, 'new file', { ...main, path: 'new.txt' })
  await ask(desk.work, 'delete', { ...main, paths: ['new.txt'] })
  expect(await drafts(desk)).toEqual([])
  expect(await desk.git('for-each-ref', 'refs/forge/drafts')).toBe('')
})

test('several files are moved or deleted together: all or none, and undone by one step', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  expect(await refusedBy(move(desk, ['a.txt', 'docs/a.txt'], ['b.txt', 'docs/a.txt']))).toThrow('choose another name')
  expect(await drafts(desk)).toEqual([])
  await move(desk, ['a.txt', 'docs/a.txt'], ['b.txt', 'docs/b.txt'])
  expect(await desk.work.undoable()).toEqual({ undo: 'rename 2 files to docs in main' })
  await ask(desk.work, 'delete', { ...main, paths: ['docs', 'lib/one.ts', 'lib'] })
  expect(await drafts(desk)).toEqual(['a.txt', 'b.txt', 'lib/one.ts', 'lib/two.ts'])
  await desk.work.undo()
  expect(await drafts(desk)).toEqual(['docs/a.txt', 'docs/b.txt'])
  await desk.work.undo()
  expect(await drafts(desk)).toEqual([])
  await desk.work.redo()
  expect(await drafts(desk)).toEqual(['docs/a.txt', 'docs/b.txt'])
})

test('undo of a new file in the place of a deleted one deletes that again, and redo restores the new one', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'delete', { ...main, paths: ['b.txt'] })
  await ask(desk.work, 'new file', { ...main, path: 'b.txt' })
  await (await edit(desk.work, 'main', 'b.txt')).type('typed\n')
  await desk.work.undo()
  expect(await drafts(desk)).toEqual(['b.txt'])
  expect(await listed(desk, 'refs/forge/drafts/main')).not.toContain('b.txt')
  await desk.work.redo()
  expect(await textOf(desk.work, 'main', 'b.txt')).toBe('typed\n')
})

test('undo removes a new file, and redo restores it with what was typed', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'new file', { ...main, path: 'new.txt' })
  await (await edit(desk.work, 'main', 'new.txt')).type('typed\n')
  await desk.work.undo()
  expect(await drafts(desk)).toEqual([])
  await desk.restart()
  await desk.work.redo()
  expect(await textOf(desk.work, 'main', 'new.txt')).toBe('typed\n')
  await saveIn(desk.work, 'main')
  const [, , , added] = await ask(desk.work, 'operations', { from: 0, count: 9 })
  expect(added?.words).toBe('add new.txt to main')
  const [, redone] = await ask(desk.work, 'operations', { from: 0, count: 9 })
  expect(await refusedBy(desk.work.undo(redone?.id))).toThrow('new.txt was saved since: nothing was undone')
})

test('undo of a save makes the rename a draft again, which is saved as a whole', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['a.txt', 'c.txt'])
  const editor = await edit(desk.work, 'main', 'c.txt')
  await editor.type('all else\n', 0, editor.text.length)
  await saveIn(desk.work, 'main')
  await desk.work.undo()
  expect(await drafts(desk)).toEqual(['c.txt'])
  await saveIn(desk.work, 'main', ['c.txt'])
  expect(await message(desk)).toBe('rename: a.txt → c.txt')
  expect(await listed(desk)).not.toContain('a.txt')
})

test('discarding a rename restores the old path, and discarding a deletion the file', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['a.txt', 'c.txt'])
  await ask(desk.work, 'delete', { ...main, paths: ['b.txt'] })
  await ask(desk.work, 'discard', { ...main, paths: ['c.txt'] })
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe(LINES)
  expect(await drafts(desk)).toEqual(['b.txt'])
  await ask(desk.work, 'discard', { ...main, paths: ['b.txt'] })
  expect(await drafts(desk)).toEqual([])
  await desk.work.undo()
  await desk.work.undo()
  expect(await drafts(desk)).toEqual(['b.txt', 'c.txt'])
})

test('a file that takes the place of a folder is saved with the folder’s deletion, and the reverse', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'delete', { ...main, paths: ['lib', 'b.txt'] })
  await ask(desk.work, 'new file', { ...main, path: 'lib' })
  await ask(desk.work, 'new file', { ...main, path: 'b.txt/deep' })
  await saveIn(desk.work, 'main', ['b.txt/deep'])
  expect(await listed(desk)).toBe('a.txt\nb.txt/deep\nlib/one.ts\nlib/two.ts')
  await saveIn(desk.work, 'main', ['lib'])
  expect(await listed(desk)).toBe('a.txt\nb.txt/deep\nlib')
  expect(await drafts(desk)).toEqual([])
})

test('an edit from outside follows a rename that is a draft', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['a.txt', 'c.txt'])
  await (await edit(desk.work, 'main', 'c.txt')).type('typed\n')
  await commit(desk.path, 'main', { 'a.txt': `outside\n${LINES}` })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toEqual([])
  expect(await textOf(desk.work, 'main', 'c.txt')).toBe(`outside\n${LINES}typed\n`)
  await saveIn(desk.work, 'main', ['c.txt'])
  expect(await listed(desk)).toBe('b.txt\nc.txt\nlib/one.ts\nlib/two.ts')
})

test('an edit from outside follows a rename that is a draft, also where that renames the file, too', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['a.txt', 'c.txt'])
  await (await edit(desk.work, 'main', 'c.txt')).type('typed\n')
  await commit(desk.path, 'main', { 'a.txt': null, 'there.txt': `outside\n${LINES}` })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toEqual([])
  expect(await drafts(desk)).toEqual(['c.txt'])
  expect(await textOf(desk.work, 'main', 'c.txt')).toBe(`outside\n${LINES}typed\n`)
  expect((await ask(desk.work, 'message', { ...main, paths: 'all' })).message).toBe('rename: there.txt → c.txt')
  await saveIn(desk.work, 'main', ['c.txt'])
  expect(await listed(desk)).toBe('b.txt\nc.txt\nlib/one.ts\nlib/two.ts')
})

test('an edit from outside follows a rename that is a draft, however little is left of the file', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['a.txt', 'c.txt'])
  const end = LINES.lastIndexOf('line')
  await (await edit(desk.work, 'main', 'c.txt')).type('all of it is new\n'.repeat(20), 0, end)
  await commit(desk.path, 'main', { 'a.txt': `${LINES}outside\n` })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toEqual([])
  expect(await drafts(desk)).toEqual(['c.txt'])
  expect(await textOf(desk.work, 'main', 'c.txt')).toBe(
    `${'all of it is new\n'.repeat(20)}${LINES.slice(end)}outside\n`,
  )
})

test('an edit from outside of the same lines of a renamed file is a conflict under the new path', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['a.txt', 'c.txt'])
  const editor = await edit(desk.work, 'main', 'c.txt')
  await editor.type('mine', 0, 'line 0'.length)
  await commit(desk.path, 'main', { 'a.txt': LINES.replace('line 0', 'theirs') })
  await desk.work.look()
  const both = { base: LINES, draft: LINES.replace('line 0', 'mine'), tip: LINES.replace('line 0', 'theirs') }
  expect(await conflictsIn(desk.work, 'main')).toEqual([{ path: 'c.txt', ...both }])
  await desk.restart()
  expect(await conflictsIn(desk.work, 'main')).toEqual([{ path: 'c.txt', ...both }])
  await ask(desk.work, 'take side', { ...main, path: 'c.txt', side: 'theirs' })
  await saveIn(desk.work, 'main', ['c.txt'])
  expect(await listed(desk)).toBe('b.txt\nc.txt\nlib/one.ts\nlib/two.ts')
  expect(await desk.git('show', 'main:c.txt')).toBe(both.tip.trim())
})

test('the undo of a rename whose file is in conflict is refused, and says that nothing was undone', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['lib', 'src'])
  await (await edit(desk.work, 'main', 'src/one.ts')).type('mine', 0, 1)
  await commit(desk.path, 'main', { 'lib/one.ts': 'theirs\n' })
  await desk.work.look()
  const why = 'src/one.ts is in conflict with the branch: nothing was undone. Resolve it first.'
  expect(await refusedBy(ask(desk.work, 'undo', {}))).toThrow(why)
})

test('an edit from outside of a file that a draft deletes is a conflict, and either side can be taken', async () => {
  for (const side of ['ours', 'theirs'] as const) {
    await using desk = await makeDesk({ files: FILES, bare: true })
    await ask(desk.work, 'delete', { ...main, paths: ['b.txt'] })
    await commit(desk.path, 'main', { 'b.txt': 'b\nmore\n' })
    await desk.work.look()
    const found = { path: 'b.txt', base: 'b\n', draft: { what: 'nothing' }, tip: 'b\nmore\n' }
    expect(await conflictsIn(desk.work, 'main')).toEqual([found])
    expect((await ask(desk.work, 'merging', main))?.files[0]).toMatchObject({
      kind: 'modify/delete',
      words: 'deleted in your draft, changed in main',
    })
    expect(await refusedBy(saveIn(desk.work, 'main'))).toThrow('resolve them first')
    await desk.restart()
    expect(await conflictsIn(desk.work, 'main')).toEqual([found])
    await ask(desk.work, 'take side', { ...main, path: 'b.txt', side })
    expect(await drafts(desk)).toEqual(side === 'ours' ? ['b.txt'] : [])
    if (side === 'ours') await saveIn(desk.work, 'main')
    expect((await listed(desk)).includes('b.txt')).toBe(side === 'theirs')
  }
})

test('a file that both added is a conflict', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'new file', { ...main, path: 'new.txt' })
  await (await edit(desk.work, 'main', 'new.txt')).type('mine\n')
  await commit(desk.path, 'main', { 'new.txt': 'theirs\n' })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toEqual([
    { path: 'new.txt', base: { what: 'nothing' }, draft: 'mine\n', tip: 'theirs\n' },
  ])
})

test('a file from outside in a folder that a draft has moved is not lost', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await move(desk, ['lib', 'src'])
  await commit(desk.path, 'main', { 'lib/three.ts': '3\n' })
  await desk.work.look()
  await saveIn(desk.work, 'main')
  expect(await listed(desk)).toBe('a.txt\nb.txt\nsrc/one.ts\nsrc/three.ts\nsrc/two.ts')
})

test('drafts that a merge has put aside have their names again after its undo, without a conflict', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const base = await desk.git('rev-parse', 'main')
  const folders = { 'a.txt': null, 'a.txt/deep': 'x\n', 'lib/one.ts': null, 'lib/two.ts': null, lib: 'a file\n' }
  const other = await commit(desk.path, 'other', folders, { parents: [base] })
  await (await edit(desk.work, 'main', 'a.txt')).type('typed a\n')
  await (await edit(desk.work, 'main', 'lib/one.ts')).type('typed one\n')
  await ask(desk.work, 'new file', { ...main, path: 'lib/new.ts' })
  await (await edit(desk.work, 'main', 'lib/new.ts')).type('mine\n')
  const source = { branch: 'other', commit: other, words: 'other' }
  await ask(desk.work, 'do', { step: { step: 'merge', source, onto: 'main' } })
  expect(await drafts(desk)).toEqual(['a.txt~draft', 'lib~draft/new.ts', 'lib~draft/one.ts'])
  await ask(desk.work, 'undo', {})
  expect(await drafts(desk)).toEqual(['a.txt', 'lib/new.ts', 'lib/one.ts'])
  expect((await desk.work.branches.work('main')).conflictPaths).toEqual([])
  expect(await textOf(desk.work, 'main', 'a.txt')).toEndWith('typed a\n')
  expect(await textOf(desk.work, 'main', 'lib/one.ts')).toEndWith('typed one\n')
  const names = { from: 'a.txt~draft', to: 'a.txt' }
  expect(desk.news).toContainEqual({ say: 'renamed file', branch: 'main', ...names })
  await saveIn(desk.work, 'main')
  expect(await listed(desk)).toBe('a.txt\nb.txt\nlib/new.ts\nlib/one.ts\nlib/two.ts')
})

test('a renamed file whose new name came from outside: the branch’s version, taken, takes the rename back', async () => {
  for (const isWhole of [false, true]) {
    await using desk = await makeDesk({ files: FILES, bare: true })
    await move(desk, ['a.txt', 'c.txt'])
    await (await edit(desk.work, 'main', 'c.txt')).type('mine\n')
    await commit(desk.path, 'main', { 'c.txt': 'theirs\n' })
    await desk.work.look()
    expect((await conflictsIn(desk.work, 'main')).map(({ path }) => path)).toEqual(['c.txt'])
    if (isWhole) await ask(desk.work, 'take side', { ...main, path: 'c.txt', side: 'theirs' })
    else await ask(desk.work, 'take conflicts', { ...main, paths: ['c.txt'], side: 'theirs' })
    expect(await ask(desk.work, 'save', { ...main, paths: 'all' })).toEqual({})
    expect(await drafts(desk)).toEqual([])
    expect(await listed(desk)).toBe('a.txt\nb.txt\nc.txt\nlib/one.ts\nlib/two.ts')
    expect(await desk.git('show', 'main:c.txt')).toBe('theirs')
  }
})

test('nothing is a draft where a conflict was resolved by the branch’s version, and another choice is one', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await (await edit(desk.work, 'main', 'a.txt')).type('mine', 0, 'line 0'.length)
  await commit(desk.path, 'main', { 'a.txt': LINES.replace('line 0', 'theirs') })
  await desk.work.look()
  expect(await drafts(desk)).toEqual(['a.txt'])
  await ask(desk.work, 'take conflicts', { ...main, paths: ['a.txt'], side: 'theirs' })
  expect(await drafts(desk)).toEqual([])
  await ask(desk.work, 'undo', {})
  expect(await drafts(desk)).toEqual(['a.txt'])
  await ask(desk.work, 'take conflicts', { ...main, paths: ['a.txt'], side: 'ours' })
  expect(await drafts(desk)).toEqual(['a.txt'])
})

test('a new file where a folder came from outside is kept beside it', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'new file', { ...main, path: 'new' })
  await (await edit(desk.work, 'main', 'new')).type('mine\n')
  await commit(desk.path, 'main', { 'new/deep.txt': 'theirs\n' })
  await desk.work.look()
  expect(await drafts(desk)).toEqual(['new~draft'])
  expect(await textOf(desk.work, 'main', 'new~draft')).toBe('mine\n')
  await saveIn(desk.work, 'main')
  expect(await listed(desk)).toContain('new/deep.txt\nnew~draft')
})

test('drafts in a folder where a file came from outside are put aside with it, and the file stays', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'new file', { ...main, path: 'lib/new.ts' })
  await (await edit(desk.work, 'main', 'lib/new.ts')).type('mine\n')
  const open = await edit(desk.work, 'main', 'lib/one.ts')
  await open.type('typed\n')
  await commit(desk.path, 'main', { 'lib/one.ts': null, 'lib/two.ts': null, lib: 'a file\n' })
  await desk.work.look()
  const { branches } = desk.work
  expect(await drafts(desk)).toEqual(['lib~draft/new.ts', 'lib~draft/one.ts'])
  expect((await branches.work('main')).conflictPaths).toEqual(['lib~draft/one.ts'])
  expect((await ask(desk.work, 'merging', main))?.files.map(({ words }) => words)).toEqual([
    'lib is a file in main: your draft stands beside it',
  ])
  expect(await textOf(desk.work, 'main', 'lib~draft/new.ts')).toBe('mine\n')
  expect([...(await branches.work('main')).drafts.files.keys()]).toEqual(['lib~draft/new.ts'])
  // The tab of an open file follows.
  expect(desk.news).toContainEqual({ say: 'renamed file', branch: 'main', from: 'lib/one.ts', to: 'lib~draft/one.ts' })
  await ask(desk.work, 'take side', { ...main, path: 'lib~draft/one.ts', side: 'theirs' })
  await saveIn(desk.work, 'main')
  expect(await listed(desk)).toBe('a.txt\nb.txt\nlib\nlib~draft/new.ts')
})

test('renames by two desks come together', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const other = await desk.another()
  await move(desk, ['a.txt', 'c.txt'])
  await ask(other.work, 'move', { ...main, moves: [{ from: 'b.txt', to: 'd.txt' }] })
  await desk.work.look()
  expect(await drafts(desk)).toEqual(['c.txt', 'd.txt'])
  expect((await ask(desk.work, 'message', { ...main, paths: 'all' })).message).toBe(
    'rename: a.txt → c.txt, b.txt → d.txt',
  )
})

test('a submodule is not moved or deleted, also not with its folder, but what is beside it is', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await addSubmodule(desk, 'with')
  for (const from of ['with/sub', 'with'])
    expect(await refusedBy(move(desk, ['a.txt', 'c.txt'], [from, 'other']))).toThrow(
      'with/sub is a submodule: move it by git mv.',
    )
  for (const path of ['with/sub', 'with'])
    expect(await refusedBy(ask(desk.work, 'delete', { ...main, paths: ['a.txt', path] }))).toThrow(
      'with/sub is a submodule: delete it by git rm.',
    )
  expect(await drafts(desk)).toEqual([])
  await move(desk, ['with/beside.txt', 'beside.txt'])
  expect(await drafts(desk)).toEqual(['beside.txt'])
})

test('what can’t be moved or deleted is refused with a sentence', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'delete', { ...main, paths: ['b.txt'] })
  for (const [from, to, why] of [
    ['b.txt', 'c.txt', 'There is no b.txt in main.'],
    ['lib', 'lib/deeper', 'moved into itself'],
    ['lib', 'a.txt/lib', 'a.txt is a file: nothing can be in it'],
    ['a.txt', 'lib', 'There is lib already'],
  ] as const)
    expect(await refusedBy(move(desk, [from, to]))).toThrow(why)
  expect(await refusedBy(ask(desk.work, 'delete', { ...main, paths: ['b.txt'] }))).toThrow('There is no b.txt in main.')
  await ask(desk.work, 'new file', { ...main, path: 'b.txt' })
  expect(await openFile(desk.work.branches, { kind: 'branch', ...main }, 'b.txt')).toMatchObject({
    text: '',
    saved: 'b\n',
  })
})
