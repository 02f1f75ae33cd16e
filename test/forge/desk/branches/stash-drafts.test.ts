/** A stash of a checkout is applied to the drafts of a branch, as git stash apply does to files. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask, edit, makeDesk, settleIn, textOf } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { refusedBy } from '../../../support/refusals.ts'

setDefaultTimeout(60_000)

const LINES = Array.from({ length: 12 }, (_, at) => `${at}`)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

/** main with a stash of some changed lines and a new file, and a commit after it that changes line 6. */
async function makeStash(stashed = LINES.with(2, 'two')) {
  const desk = await makeDesk({ files: { 'a.txt': text(LINES) } })
  await writeFile(join(desk.path, 'a.txt'), text(stashed))
  await writeFile(join(desk.path, 'new.txt'), 'new\n')
  await desk.git('-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash', '--quiet', '-u')
  await commit(desk.path, 'main', { 'a.txt': text(LINES.with(6, 'six')) }, { message: 'Six' })
  await desk.work.look()
  const stash = await desk.git('rev-parse', 'stash')
  /** Types in a.txt in place of a line. */
  const type = async (from: string, to: string) => {
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type(to, editor.text.indexOf(`${from}\n`), from.length)
  }
  const apply = (oid = stash) => ask(desk.work, 'apply stash', { branch: 'main', commit: oid })
  const draft = (path = 'a.txt') => textOf(desk.work, 'main', path)
  return Object.assign(desk, { stash, type, apply, draft })
}

test('it is merged with what was typed, with untracked files; one undo takes it back, and the stash stays', async () => {
  const desk = await makeStash()
  await using _ = desk
  const before = await desk.git('rev-parse', 'main')
  await desk.type('9', 'nine')
  expect(await desk.apply()).toEqual({ conflicts: [], name: 'stash@{0}' })
  const applied = LINES.with(2, 'two').with(6, 'six').with(9, 'nine')
  expect(await desk.draft()).toBe(text(applied))
  expect(await desk.draft('new.txt')).toBe('new\n')
  expect(await desk.git('rev-parse', 'main')).toBe(before)
  expect(await desk.git('rev-parse', 'stash')).toBe(desk.stash)
  expect(await refusedBy(desk.apply())).toThrow('main has all of this stash already.')
  // What is typed in between stays at the undo and at the redo.
  await desk.type('11', 'eleven')
  await ask(desk.work, 'undo', {})
  expect(await desk.draft()).toBe(text(LINES.with(6, 'six').with(9, 'nine').with(11, 'eleven')))
  expect((await desk.work.branches.work('main')).draftPaths).toEqual(['a.txt'])
  await desk.type('10', 'ten')
  await ask(desk.work, 'redo', {})
  await desk.restart()
  expect(await desk.draft()).toBe(text(applied.with(10, 'ten').with(11, 'eleven')))
  expect(await desk.draft('new.txt')).toBe('new\n')
})

test('where the same line was typed in, it is a conflict of the draft; another commit is no stash', async () => {
  const desk = await makeStash()
  await using _ = desk
  await desk.type('2', 'mine')
  expect(await desk.apply()).toMatchObject({ conflicts: ['a.txt'] })
  expect((await desk.work.branches.work('main')).conflictPaths).toEqual(['a.txt'])
  expect(await desk.draft()).toContain('mine')
  expect(await desk.draft()).toContain('two')
  await ask(desk.work, 'undo', {})
  expect(await desk.draft()).toBe(text(LINES.with(2, 'mine').with(6, 'six')))
  expect((await desk.work.branches.work('main')).conflictPaths).toEqual([])
  expect(await refusedBy(desk.apply(await desk.git('rev-parse', 'main')))).toThrow(/^[0-9a-f]{8} is no stash\.$/)
})

test('in a conflict with what was typed, that is ours and the stash theirs, and they are named so', async () => {
  const desk = await makeStash()
  await using _ = desk
  await desk.type('2', 'mine')
  await desk.apply()
  const look = async () => {
    const { oursName, theirsName } = await ask(desk.work, 'conflict', { branch: 'main', path: 'a.txt' })
    expect({ oursName, theirsName }).toEqual({ oursName: 'your draft', theirsName: 'the stash' })
    expect(await desk.draft()).toMatch(/^<{7} draft\nmine\n\|{7} base\n2\n={7}\ntwo\n>{7} .*$/m)
  }
  await look()
  await desk.restart()
  await look()
  await ask(desk.work, 'take conflicts', { branch: 'main', paths: ['a.txt'], side: 'ours' })
  expect(await desk.draft()).toBe(text(LINES.with(2, 'mine').with(6, 'six')))
  await ask(desk.work, 'undo', {})
  await ask(desk.work, 'take conflicts', { branch: 'main', paths: ['a.txt'], side: 'theirs' })
  expect(await desk.draft()).toBe(text(LINES.with(2, 'two').with(6, 'six')))
})

test('what is typed between the undo and the redo is in the conflict, whose other side is still named the stash', async () => {
  await using desk = await makeStash()
  await desk.type('2', 'mine')
  await desk.apply()
  await ask(desk.work, 'undo', {})
  await desk.type('10', 'ten')
  await ask(desk.work, 'redo', {})
  expect(await ask(desk.work, 'conflict', { branch: 'main', path: 'a.txt' })).toMatchObject({ theirsName: 'the stash' })
  expect(await desk.draft()).toContain('ten')
  expect(await desk.draft()).toContain('mine')
})

test('what two desks type in its conflict is in one conflict, whose other side is still named the stash', async () => {
  await using desk = await makeStash()
  await desk.type('2', 'mine')
  await desk.apply()
  await desk.work.flush()
  const { work: other } = await desk.another()
  const there = await edit(other, 'main', 'a.txt')
  await desk.type('10', 'ten')
  await there.type('zero', 0, 1)
  for (const work of [desk.work, other, desk.work]) {
    await work.look()
    await work.flush()
  }
  expect(await ask(desk.work, 'conflict', { branch: 'main', path: 'a.txt' })).toMatchObject({ theirsName: 'the stash' })
  expect(await desk.draft()).toMatch(/^zero\n[\s\S]*mine[\s\S]*\nten\n/)
})

test('where the branch has changed the same line, too, a draft beside that line is ours, with the branch’s line', async () => {
  const desk = await makeStash()
  await using _ = desk
  await commit(desk.path, 'main', { 'a.txt': text(LINES.with(2, 'branch').with(6, 'six')) }, { message: 'Two' })
  await desk.work.look()
  await desk.type('9', 'nine')
  expect(await desk.apply()).toMatchObject({ conflicts: ['a.txt'] })
  expect(await ask(desk.work, 'conflict', { branch: 'main', path: 'a.txt' })).toMatchObject({ theirsName: 'the stash' })
  expect(await desk.draft()).toMatch(/^<{7} draft\nbranch\n\|{7} base\n2\n={7}\ntwo\n>{7} .*$/m)
  await ask(desk.work, 'take conflicts', { branch: 'main', paths: ['a.txt'], side: 'theirs' })
  expect(await desk.draft()).toBe(text(LINES.with(2, 'two').with(6, 'six').with(9, 'nine')))
  await ask(desk.work, 'undo', {})
  await ask(desk.work, 'undo', {})
  expect(await desk.draft()).toBe(text(LINES.with(2, 'branch').with(6, 'six').with(9, 'nine')))
  expect((await desk.work.branches.work('main')).conflictPaths).toEqual([])
})

test('where one of its lines is in conflict with the branch and another is typed in, its other lines are applied', async () => {
  const desk = await makeStash(LINES.with(2, 'two').with(11, 'eleven'))
  await using _ = desk
  await commit(desk.path, 'main', { 'a.txt': text(LINES.with(2, 'branch').with(6, 'six')) }, { message: 'Two' })
  await desk.work.look()
  await desk.type('9', 'nine')
  expect(await desk.apply()).toMatchObject({ conflicts: ['a.txt'] })
  await ask(desk.work, 'take conflicts', { branch: 'main', paths: ['a.txt'], side: 'theirs' })
  expect(await desk.draft()).toBe(text(LINES.with(2, 'two').with(6, 'six').with(9, 'nine').with(11, 'eleven')))
})

test('where the branch has changed the same line, it is a conflict of the draft', async () => {
  const desk = await makeStash()
  await using _ = desk
  await commit(desk.path, 'main', { 'a.txt': text(LINES.with(2, 'branch')) }, { message: 'Two' })
  await desk.work.look()
  expect(await desk.apply()).toMatchObject({ conflicts: ['a.txt'] })
  expect(await desk.draft()).toContain('branch')
  expect(await desk.draft()).toContain('two')
})

/** {@link makeStash}, where main has another line 2 than the stash, and the stash is applied. */
async function makeConflict() {
  const desk = await makeStash()
  const branch = LINES.with(2, 'branch').with(6, 'six')
  const move = async (lines: readonly string[]) => {
    await commit(desk.path, 'main', { 'a.txt': text(lines) }, { message: 'Two' })
    await desk.work.look()
  }
  await move(branch)
  expect(await desk.apply()).toMatchObject({ conflicts: ['a.txt'] })
  const conflicts = async () => (await ask(desk.work, 'merging', { branch: 'main' }))?.files ?? []
  return Object.assign(desk, { branch, move, conflicts })
}

test('the undo takes the conflict that it brought, and leaves what was typed beside it; the redo has both', async () => {
  await using desk = await makeConflict()
  await desk.type('six', 'six typed')
  await desk.type('11', 'eleven')
  await ask(desk.work, 'undo', {})
  expect(await desk.conflicts()).toEqual([])
  expect(await desk.draft()).toBe(text(desk.branch.with(6, 'six typed').with(11, 'eleven')))
  expect((await desk.work.branches.work('main')).draftPaths).toEqual(['a.txt'])
  await ask(desk.work, 'redo', {})
  expect(await desk.conflicts()).toMatchObject([{ path: 'a.txt', left: 1, all: 1 }])
  expect(await desk.draft()).toContain('six typed')
  expect(await desk.draft()).toContain('eleven')
})

test('the undo leaves what was typed, also after the branch has moved, and after the conflict was resolved', async () => {
  await using desk = await makeConflict()
  await desk.type('9', 'nine')
  const moved = desk.branch.with(4, 'four')
  await desk.move(moved)
  await ask(desk.work, 'undo', {})
  expect(await desk.conflicts()).toEqual([])
  expect(await desk.draft()).toBe(text(moved.with(9, 'nine')))
  await ask(desk.work, 'redo', {})
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side: 'ours' })
  await ask(desk.work, 'undo', {})
  expect(await desk.conflicts()).toHaveLength(1)
  await ask(desk.work, 'undo', {})
  expect(await desk.conflicts()).toEqual([])
  expect(await desk.draft()).toBe(text(moved.with(9, 'nine')))
})

test.each(['theirs', 'both'] as const)(
  'the undo takes the lines of the stash, also where %s was chosen',
  async side => {
    await using desk = await makeConflict()
    const all = (await desk.draft()) ?? ''
    const [conflict = '', ours = '', theirs = ''] =
      /<{7}.*\n([\s\S]*)\|{7}[\s\S]*={7}\n([\s\S]*)>{7}.*\n/.exec(all) ?? []
    await settleIn(desk.work, 'main', 'a.txt', all.replace(conflict, side === 'both' ? ours + theirs : theirs))
    await desk.type('9', 'nine')
    await ask(desk.work, 'undo', {})
    expect(await desk.conflicts()).toEqual([])
    expect(await desk.draft()).toBe(text(desk.branch.with(9, 'nine')))
  },
)

test('after the undo, what was typed in the lines of the conflict is in conflict with the branch', async () => {
  await using desk = await makeConflict()
  await desk.type('two', 'two typed')
  await ask(desk.work, 'undo', {})
  const [conflict] = await desk.conflicts()
  expect(conflict).toMatchObject({ path: 'a.txt', left: 1, all: 1 })
  expect(await desk.draft()).toMatch(/^<{7} draft\ntwo typed\n\|{7} base\ntwo\n={7}\nbranch\n>{7} branch$/m)
})

test('what the branch changes later, beside the conflict, is no conflict, also after typing', async () => {
  await using desk = await makeConflict()
  await desk.type('9', 'nine')
  await desk.move(desk.branch.with(6, 'seven'))
  expect(await desk.conflicts()).toMatchObject([{ path: 'a.txt', left: 1, all: 1 }])
  await desk.type('nine', 'nine typed')
  await desk.move([...desk.branch.with(6, 'eight'), 'end'])
  expect(await desk.conflicts()).toMatchObject([{ path: 'a.txt', left: 1, all: 1 }])
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side: 'both' })
  const settled = [...LINES.with(2, 'two\nbranch').with(6, 'eight').with(9, 'nine typed'), 'end']
  expect(await desk.draft()).toBe(text(settled))
})

test('a file that it renames is renamed in the drafts, with what the branch has changed in it since', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': text(LINES), 'b.txt': 'b\n' } })
  await desk.git('mv', 'a.txt', 'moved.txt')
  await writeFile(join(desk.path, 'moved.txt'), text(LINES.with(2, 'two')))
  await desk.git('-c', 'user.name=M', '-c', 'user.email=m@example.com', 'stash', '--quiet', '-u')
  await commit(desk.path, 'main', { 'a.txt': text(LINES.with(6, 'six')) }, { message: 'Six' })
  await desk.work.look()
  await (await edit(desk.work, 'main', 'b.txt')).type('more\n')
  await ask(desk.work, 'apply stash', { branch: 'main', commit: await desk.git('rev-parse', 'stash') })
  const work = await desk.work.branches.work('main')
  expect(work.draftPaths).toEqual(['b.txt', 'moved.txt'])
  expect(await textOf(desk.work, 'main', 'moved.txt')).toBe(text(LINES.with(2, 'two').with(6, 'six')))
  await ask(desk.work, 'save', { branch: 'main', paths: ['moved.txt'] })
  expect(await desk.git('show', '--format=%s', '--name-status', 'main')).toMatch(
    /^rename: a\.txt → moved\.txt\n\nR\d+\ta\.txt\tmoved\.txt$/,
  )
  expect(work.draftPaths).toEqual(['b.txt'])
})

test('in a draft that was put aside, what was typed is there once when the file comes back', async () => {
  await using desk = await makeStash(LINES.with(11, 'stashed'))
  const before = await desk.git('rev-parse', 'main')
  await desk.type('11', 'mine')
  await desk.work.flush()
  await commit(desk.path, 'main', { 'a.txt': { mode: '120000', content: 'elsewhere' } })
  await desk.work.look()
  const path = 'a.txt~draft'
  await ask(desk.work, 'take side', { branch: 'main', path, side: 'ours' })
  expect(await desk.apply()).toMatchObject({ conflicts: [path] })
  const both = text([...LINES.with(6, 'six').with(11, 'mine'), 'stashed'])
  await settleIn(desk.work, 'main', path, both)
  await (await edit(desk.work, 'main', path)).type('TOP ', 0)
  const typed = await desk.draft(path)
  expect(typed).toContain('TOP 0\n1\n')
  await desk.git('update-ref', 'refs/heads/main', before)
  await desk.work.look()
  const { draftPaths } = await desk.work.branches.work('main')
  const texts = await Promise.all(draftPaths.map(it => desk.draft(it)))
  expect(draftPaths).toEqual(['a.txt~draft', 'new.txt'])
  expect(texts).toEqual([typed, 'new\n'])
  expect(await desk.draft()).toBe(await desk.git('show', 'main:a.txt').then(it => `${it}\n`))
})

test('dropping it is an operation: undone, redone, and refused where a terminal was first', async () => {
  await using desk = await makeStash()
  const { stash } = desk
  const stashes = () => desk.git('stash', 'list', '--format=%H')
  const drop = () => ask(desk.work, 'drop stash', { commit: stash })
  await drop()
  expect(await stashes()).toBe('')
  expect(await desk.git('for-each-ref', 'refs/stash')).toBe('')
  expect(await refusedBy(drop)).toThrow(`${stash.slice(0, 8)} is no stash any more: nothing was dropped.`)
  // The operation keeps it from garbage collection.
  await desk.git('-c', 'gc.reflogExpire=now', 'gc', '--quiet', '--prune=now')
  await ask(desk.work, 'undo', {})
  expect(await stashes()).toBe(stash)
  await ask(desk.work, 'redo', {})
  expect(await stashes()).toBe('')
  await desk.git('stash', 'store', '-m', 'Again', stash)
  const [last] = await ask(desk.work, 'operations', { from: 0, count: 1 })
  expect(last?.inTheWay).toBeUndefined()
  const undo = () => ask(desk.work, 'undo', {})
  expect(await refusedBy(undo)).toThrow(`The stash ${stash.slice(0, 8)} is there again: nothing was undone.`)
  expect(await stashes()).toBe(stash)
})

test('it is dropped in a bare repository, too', async () => {
  await using place = await makeStash()
  const { stash } = place
  await place.git('config', 'core.bare', 'true')
  await place.restart()
  await ask(place.work, 'drop stash', { commit: stash })
  expect(await place.git('for-each-ref', 'refs/stash')).toBe('')
  await ask(place.work, 'undo', {})
  expect(await place.git('rev-parse', 'refs/stash')).toBe(stash)
})
