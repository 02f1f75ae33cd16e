/** Changes to the same branch by a terminal, a pull or another desk: no edit is lost, in whatever order they happen. */

import { expect, test } from 'bun:test'
import { mkdir, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openFile } from '../../../forge/desk/branches/places.ts'
import { Watch } from '../../../forge/desk/branches/watch.ts'
import { ask, conflictsIn, edit, makeDesk, settleIn, textOf } from '../../support/desk.ts'
import { commit, gitWith } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'
import { makePlace, until } from '../../support/repository.ts'
import { shortest } from '../../support/times.ts'

const LINES = 'one\ntwo\nthree\nfour\nfive\n'

test('a branch moved in a terminal is noticed, and the drafts are merged onto its new tip', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': 'b\n' }, bare: true })
  const editor = await edit(desk.work, 'main', 'a.ts')
  await editor.type('typed\n')
  const tip = await commit(desk.path, 'main', { 'a.ts': LINES.replace('one', 'ONE'), 'b.ts': 'B\n' })
  const moved = () => desk.news.some(it => it.say === 'replaced' && it.path === 'a.ts')
  await until(moved)
  expect(await textOf(desk.work, 'main', 'a.ts')).toBe(`${LINES.replace('one', 'ONE')}typed\n`)
  await desk.work.flush()
  expect(await desk.git('rev-parse', 'refs/forge/drafts/main^')).toBe(tip)
  // Windows receive the change as an edit rather than as a new text, so that their own unsent edits are kept.
  expect(desk.news).toContainEqual(expect.objectContaining({ say: 'edited', version: 1, path: 'a.ts' }))
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', '--format=', '--numstat', 'main')).toBe('1\t0\ta.ts')
})

test('a move is noticed within two seconds', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n' }, bare: true })
  const notice = async () => {
    const seen = desk.news.length
    await commit(desk.path, 'main', { 'a.ts': `${seen}\n` })
    await until(() => desk.news.slice(seen).some(it => it.say === 'branch' && it.branch === 'main'))
  }
  expect(await shortest(2_000, notice)).toBeLessThan(2_000)
})

test('packing refs, and moving one twice, are noticed', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n' }, bare: true })
  await edit(desk.work, 'main', 'a.ts')
  await desk.git('pack-refs', '--all')
  for (let round = 0; round < 3; round++) {
    await commit(desk.path, 'main', { 'a.ts': `${round}\n` })
    await desk.work.look()
    expect(await textOf(desk.work, 'main', 'a.ts')).toBe(`${round}\n`)
    await desk.git('pack-refs', '--all')
  }
})

test('a branch that is set back right after a save, before the desk has looked, shows what git has', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES }, bare: true })
  const before = await desk.git('rev-parse', 'main')
  for (let round = 0; round < 3; round++) {
    await (await edit(desk.work, 'main', 'a.ts')).type(`typed ${round}\n`)
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    await desk.git('update-ref', 'refs/heads/main', before)
    await desk.work.look()
    expect(await textOf(desk.work, 'main', 'a.ts')).toBe(LINES)
  }
})

test('in a repository with a reftable, the list of tables is watched for all refs', async () => {
  await using place = await makePlace()
  const tables = join(place.path, 'reftable/tables.list')
  await mkdir(dirname(tables))
  await writeFile(tables, 'one\n')
  const seen: string[] = []
  const take = async (parts: ReadonlySet<string>) => void seen.push(...parts)
  await using watch = new Watch(place.repository, take, () => undefined)
  await watch.begin()
  await watch.look()
  expect(seen).toEqual([])
  // The file is written as git does it: under another name first.
  await writeFile(`${tables}.lock`, 'one\ntwo\n')
  await rename(`${tables}.lock`, tables)
  await watch.look()
  expect(seen.sort()).toEqual(['branches', 'checkouts', 'drafts', 'remotes', 'turns'])
})

test('a branch in a folder that was renamed in the same tick of the clock in which it was made is noticed', async () => {
  await using place = await makePlace()
  const heads = join(place.path, 'refs/heads')
  const tick = new Date('2026-01-01T12:00:00Z')
  const seen: string[] = []
  const take = async (parts: ReadonlySet<string>) => void seen.push(...parts)
  await using watch = new Watch(place.repository, take, () => undefined)
  await watch.begin()
  await mkdir(join(heads, 'one'))
  await utimes(heads, tick, tick)
  await watch.look()
  await rename(join(heads, 'one'), join(heads, 'two'))
  await utimes(heads, tick, tick)
  await watch.look()
  await watch.look()
  seen.splice(0)
  await writeFile(join(heads, 'two/topic'), '')
  await watch.look()
  expect(seen).toEqual(['branches'])
})

test('if both sides changed the same lines, both are kept until the conflict is resolved', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': 'b\n' }, bare: true })
  const editor = await edit(desk.work, 'main', 'a.ts')
  await editor.type('MINE', LINES.indexOf('two'), 3)
  await (await edit(desk.work, 'main', 'b.ts')).type('more\n')
  const theirs = LINES.replace('two', 'THEIRS')
  await commit(desk.path, 'main', { 'a.ts': theirs })
  await desk.work.look()
  const clash = { path: 'a.ts', base: LINES, draft: LINES.replace('two', 'MINE'), tip: theirs }
  expect(await conflictsIn(desk.work, 'main')).toMatchObject([clash])
  expect((await desk.work.describeBranches())[0]?.conflicts).toEqual(['a.ts'])
  expect(await openFile(desk.work.branches, { kind: 'branch', branch: 'main' }, 'a.ts')).toMatchObject({
    text: expect.stringContaining('<<<<<<< draft\nMINE\n||||||| base\ntwo\n=======\nTHEIRS\n>>>>>>> branch\n'),
    readOnly: undefined,
  })
  // The conflicting file can't be saved, but others can.
  expect(await refusedBy(ask(desk.work, 'save', { branch: 'main', paths: 'all' }))).toThrow('resolve')
  expect((await ask(desk.work, 'save', { branch: 'main', paths: ['b.ts'] })).commit).toBeDefined()
  // The conflict survives a restart and a garbage collection.
  await desk.work.flush()
  await desk.git('-c', 'gc.pruneExpire=now', 'gc', '-q', '--prune=now')
  const work = await desk.restart()
  expect(await conflictsIn(work, 'main')).toMatchObject([clash])
  await settleIn(work, 'main', 'a.ts', LINES.replace('two', 'MINE and THEIRS'))
  expect(await conflictsIn(work, 'main')).toEqual([])
  const message = async () => (await ask(work, 'message', { branch: 'main', paths: 'all' })).message
  expect(await message()).toBe('edit: a.ts')
  await settleIn(work, 'main', 'a.ts', theirs)
  expect(await message()).toBe('')
  await settleIn(work, 'main', 'a.ts', LINES.replace('two', 'MINE and THEIRS'))
  await ask(work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe('edit: a.ts')
  expect(await desk.git('show', 'main:a.ts')).toBe(LINES.replace('two', 'MINE and THEIRS').trimEnd())
})

test('typing in a file in conflict changes the draft', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES }, bare: true })
  await (await edit(desk.work, 'main', 'a.ts')).type('MINE', LINES.indexOf('two'), 3)
  const theirs = LINES.replace('two', 'THEIRS')
  await commit(desk.path, 'main', { 'a.ts': theirs })
  await desk.work.look()
  const editor = await edit(desk.work, 'main', 'a.ts')
  await editor.type(' and more', editor.text.indexOf('MINE') + 4)
  await editor.type('on top\n', 0)
  const draft = `on top\n${LINES.replace('two', 'MINE and more')}`
  expect(await conflictsIn(desk.work, 'main')).toMatchObject([{ draft, tip: theirs }])
  await desk.work.flush()
  const work = await desk.restart()
  expect(await conflictsIn(work, 'main')).toMatchObject([{ draft, tip: theirs }])
  await ask(work, 'take side', { branch: 'main', path: 'a.ts', side: 'ours' })
  expect(await textOf(work, 'main', 'a.ts')).toBe(draft)
})

test('a save of a branch that moves at the same moment is on top of the other commit', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES }, bare: true })
  await (await edit(desk.work, 'main', 'a.ts')).type('typed\n')
  const tip = await commit(desk.path, 'main', { 'a.ts': LINES.replace('one', 'ONE') })
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('rev-parse', 'main^')).toBe(tip)
  expect(await desk.git('show', 'main:a.ts')).toBe(`${LINES.replace('one', 'ONE')}typed`)
})

test('a file deleted outside while it was edited is a conflict, and its text is kept', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n', 'b.ts': 'b\n' }, bare: true })
  await (await edit(desk.work, 'main', 'a.ts')).type('typed\n')
  await commit(desk.path, 'main', { 'a.ts': null })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toMatchObject([
    { path: 'a.ts', base: 'a\n', draft: 'a\ntyped\n', tip: { what: 'nothing' } },
  ])
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.ts', side: 'ours' })
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:a.ts')).toBe('a\ntyped')
})

test('a file without edits shows the branch’s new content', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n', 'b.ts': 'b\n' }, bare: true })
  await edit(desk.work, 'main', 'a.ts')
  await edit(desk.work, 'main', 'b.ts')
  await commit(desk.path, 'main', { 'a.ts': 'other\n', 'b.ts': null })
  await desk.work.look()
  const replaced = desk.news.filter(it => it.say === 'replaced')
  expect(replaced).toContainEqual(
    expect.objectContaining({ path: 'a.ts', file: expect.objectContaining({ text: 'other\n', saved: 'other\n' }) }),
  )
  expect(replaced).toContainEqual(expect.objectContaining({ path: 'b.ts', file: { kind: 'nothing' } }))
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual([])
})

test('a branch deleted outside can be restored with all its drafts', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n' }, bare: true })
  const tip = await commit(desk.path, 'topic', { 'b.ts': 'b\n' }, { parents: [await desk.git('rev-parse', 'main')] })
  await desk.work.look()
  const editor = await edit(desk.work, 'topic', 'a.ts')
  await editor.type('typed\n')
  await desk.git('branch', '-D', 'topic')
  await desk.work.look()
  await editor.type('and more\n')
  expect(await refusedBy(ask(desk.work, 'save', { branch: 'topic', paths: 'all' }))).toThrow('was deleted: restore it')
  expect(await desk.work.vanished()).toEqual([{ branch: 'topic', drafts: ['a.ts'] }])
  const work = await desk.restart()
  expect(await work.vanished()).toEqual([{ branch: 'topic', drafts: ['a.ts'] }])
  await ask(work, 'restore branch', { branch: 'topic' })
  expect(await desk.git('rev-parse', 'topic')).toBe(tip)
  expect(await textOf(work, 'topic', 'a.ts')).toBe('a\ntyped\nand more\n')
  await ask(work, 'save', { branch: 'topic', paths: 'all' })
  expect(await desk.git('show', 'topic:a.ts')).toBe('a\ntyped\nand more')
})

test('a deleted branch without drafts is restored at its last commit', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n' }, bare: true })
  const tip = await commit(desk.path, 'topic', { 'b.ts': 'b\n' })
  await desk.work.look()
  await desk.git('branch', '-D', 'topic')
  // A page may know of the deletion before the desk has checked the refs.
  await ask(desk.work, 'restore branch', { branch: 'topic' })
  expect(await desk.git('rev-parse', 'topic')).toBe(tip)
  expect(await refusedBy(ask(desk.work, 'restore branch', { branch: 'never' }))).toThrow('is not known')
})

test('two desks on one repository show each other’s drafts, and destroy none', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': 'b\n', 'c.ts': 'c\n' }, bare: true })
  const { work: other } = await desk.another()
  await (await edit(desk.work, 'main', 'a.ts')).type('from one\n')
  await (await edit(other, 'main', 'b.ts')).type('from two\n')
  await Promise.all([desk.work.flush(), other.flush()])
  await Promise.all([desk.work.look(), other.look()])
  for (const work of [desk.work, other]) {
    expect(await textOf(work, 'main', 'a.ts')).toBe(`${LINES}from one\n`)
    expect(await textOf(work, 'main', 'b.ts')).toBe('b\nfrom two\n')
  }
  // Different lines of a file are merged; a save by one desk saves both.
  await (await edit(other, 'main', 'a.ts')).type('TOP ', 0)
  await Promise.all([desk.work.flush(), other.flush()])
  await desk.work.look()
  expect(await textOf(desk.work, 'main', 'a.ts')).toBe(`TOP ${LINES}from one\n`)
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await other.look()
  expect((await other.describeBranches())[0]?.drafts).toEqual([])
  await ask(desk.work, 'operations', { from: 0, count: 1 })
})

test('conflicting edits of two desks are both kept', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES }, bare: true })
  const { work: other } = await desk.another()
  await (await edit(desk.work, 'main', 'a.ts')).type('FIRST', LINES.indexOf('two'), 3)
  await (await edit(other, 'main', 'a.ts')).type('SECOND', LINES.indexOf('two'), 3)
  await desk.work.flush()
  await other.flush()
  await desk.work.look()
  for (const work of [desk.work, other])
    expect(await conflictsIn(work, 'main')).toMatchObject([
      { path: 'a.ts', base: LINES, draft: LINES.replace('two', 'SECOND'), tip: LINES.replace('two', 'FIRST') },
    ])
  await settleIn(other, 'main', 'a.ts', LINES.replace('two', 'FIRST and SECOND'))
  await other.flush()
  await desk.work.look()
  expect(await textOf(desk.work, 'main', 'a.ts')).toBe(LINES.replace('two', 'FIRST and SECOND'))
  expect(await conflictsIn(desk.work, 'main')).toEqual([])
})

test('simultaneous saves of two desks both succeed', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n', 'b.ts': 'b\n' }, bare: true })
  const { work: other } = await desk.another()
  const one = await edit(desk.work, 'main', 'a.ts')
  const two = await edit(other, 'main', 'b.ts')
  for (let round = 0; round < 4; round++) {
    await Promise.all([one.type(`${round}\n`), two.type(`${round}\n`)])
    await Promise.all([
      ask(desk.work, 'save', { branch: 'main', paths: ['a.ts'] }),
      ask(other, 'save', { branch: 'main', paths: ['b.ts'] }),
    ])
  }
  expect(await desk.git('show', 'main:a.ts')).toBe('a\n0\n1\n2\n3')
  expect(await desk.git('show', 'main:b.ts')).toBe('b\n0\n1\n2\n3')
  expect(await desk.git('rev-list', '--count', 'main')).toBe('9')
  expect(await ask(desk.work, 'operations', { from: 0, count: 99 })).toHaveLength(8)
})

test('a branch lists its drafts in conflict, until there are none', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': LINES }, bare: true })
  for (const path of ['a.ts', 'b.ts']) await (await edit(desk.work, 'main', path)).type('MINE', LINES.indexOf('two'), 3)
  const other = LINES.replace('two', 'THEIRS')
  await commit(desk.path, 'main', { 'a.ts': other, 'b.ts': other })
  await desk.work.look()
  const left = async () => (await desk.work.describeBranches())[0]?.conflicts
  expect(await left()).toEqual(['a.ts', 'b.ts'])
  await settleIn(desk.work, 'main', 'a.ts', LINES.replace('two', 'BOTH'))
  await desk.work.flush()
  expect(await left()).toEqual(['b.ts'])
  await ask(desk.work, 'take side', { branch: 'main', path: 'b.ts', side: 'ours' })
  expect(await left()).toBeUndefined()
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:b.ts')).toBe(LINES.replace('two', 'MINE').trimEnd())
})

test('a draft in conflict in the first line of a file with a byte order mark is saved with that one mark', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': '\ufeffone\n' }, bare: true })
  const file = await edit(desk.work, 'main', 'a.ts')
  await file.type('mine ', 0)
  await commit(desk.path, 'main', { 'a.ts': '\ufefftwo\n' })
  await desk.work.look()
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.ts', side: 'both' })
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  const wanted = await gitWith(desk.path, ['hash-object', '--stdin'], '\ufeffmine one\ntwo\n')
  expect(await desk.git('rev-parse', 'main:a.ts')).toBe(wanted)
})

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(2000)])

test.each<[string, string | Buffer | null, unknown]>([
  ['an image', PNG, { what: 'an image of 2,008 bytes' }],
  ['a binary file', Buffer.from('a\0b'), { what: 'a binary file of 3 bytes' }],
  [
    'a text in Latin-1',
    Buffer.from('caf\xe9\n', 'latin1'),
    { what: 'a text of 5 bytes in Latin-1, which is not edited here' },
  ],
  ['a large text', 'line\n'.repeat(500_000), { what: 'a file of 2.4 MB: more than can be edited here' }],
  ['nothing', null, { what: 'nothing' }],
])('a draft of a file that became %s elsewhere is a choice between what each is', async (_, content, tip) => {
  for (const side of ['ours', 'theirs'] as const) {
    await using desk = await makeDesk({ files: { 'a.ts': 'a\n', 'b.ts': 'b\n' } })
    await (await edit(desk.work, 'main', 'a.ts')).type('typed\n')
    await desk.git('checkout', '-q', '--detach')
    if (content === null) await desk.git('rm', '-q', 'a.ts')
    else await writeFile(join(desk.path, 'a.ts'), content)
    await desk.git('commit', '-q', '-a', '-m', 'Outside')
    const outside = await desk.git('rev-parse', 'HEAD')
    await desk.git('update-ref', 'refs/heads/main', outside)
    await desk.work.look()
    expect(await conflictsIn(desk.work, 'main')).toMatchObject([
      { path: 'a.ts', base: 'a\n', draft: 'a\ntyped\n', tip },
    ])
    await ask(desk.work, 'take side', { branch: 'main', path: 'a.ts', side })
    const saved = (await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit
    if (side === 'theirs') expect([saved, await desk.git('rev-parse', 'main')]).toEqual([undefined, outside])
    else expect(await desk.git('show', 'main:a.ts')).toBe('a\ntyped')
  }
})

/** A branch moved by two commits, with a draft that merges, one that conflicts, and one typed since. */
async function movedWithDrafts() {
  const desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': LINES, 'c.ts': LINES }, bare: true })
  const before = await desk.git('rev-parse', 'main')
  await (await edit(desk.work, 'main', 'a.ts')).type('MINE', LINES.indexOf('two'), 3)
  await (await edit(desk.work, 'main', 'b.ts')).type('MINE', LINES.indexOf('two'), 3)
  await commit(desk.path, 'main', { 'a.ts': LINES.replace('two', 'THEIRS') })
  const after = await commit(desk.path, 'main', { 'b.ts': LINES.replace('five', 'FIVE'), 'c.ts': 'c\n' })
  await desk.work.look()
  await (await edit(desk.work, 'main', 'b.ts')).type('MORE ', 0)
  return { desk, before, after }
}
const ON_OLD = [
  ['a.ts', LINES.replace('two', 'MINE')],
  ['b.ts', `MORE ${LINES.replace('two', 'MINE')}`],
  ['c.ts', LINES],
] as const
const ON_NEW = [
  ['b.ts', `MORE ${LINES.replace('two', 'MINE').replace('five', 'FIVE')}`],
  ['c.ts', 'c\n'],
] as const

test('a branch that moved under drafts says from where to where, by how many commits and by whom, until no drafts are left', async () => {
  const { desk, before, after } = await movedWithDrafts()
  await using _ = desk
  const moved = async () => (await desk.work.describeBranches())[0]?.moved
  expect(await moved()).toEqual({ from: before, to: after, commits: 2, by: [expect.any(String)] })
  const newest = await commit(desk.path, 'main', { 'd.ts': 'd\n' })
  await desk.work.look()
  expect(await moved()).toMatchObject({ from: before, to: newest, commits: 3 })
  await desk.restart()
  expect(await moved()).toMatchObject({ from: before, to: newest, commits: 3, by: [expect.any(String)] })
  await ask(desk.work, 'discard', { branch: 'main', paths: ['a.ts', 'b.ts'] })
  expect(await moved()).toBeUndefined()
  // Later edits are on the newest commit.
  await (await edit(desk.work, 'main', 'd.ts')).type('more\n')
  expect(await moved()).toBeUndefined()
})

test('the drafts of a branch that moved are moved to a new one at the old commit, and back by undo', async () => {
  const { desk, before, after } = await movedWithDrafts()
  await using _ = desk
  await ask(desk.work, 'drafts elsewhere', { branch: 'main', from: before, to: 'mine' })
  expect(await desk.git('rev-parse', 'mine', 'main')).toBe(`${before}\n${after}`)
  expect(await conflictsIn(desk.work, 'mine')).toEqual([])
  expect(await conflictsIn(desk.work, 'main')).toEqual([])
  expect((await desk.work.describeBranches()).map(({ drafts, moved }) => [drafts, moved])).toEqual([
    [[], undefined],
    [['a.ts', 'b.ts'], undefined],
  ])
  for (const [path, text] of ON_OLD) expect(await textOf(desk.work, 'mine', path)).toBe(text)
  await (await edit(desk.work, 'mine', 'c.ts')).type('typed there\n')
  let work = await desk.restart()
  await work.undo()
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/forge/drafts')).toBe(
    'refs/forge/drafts/main\nrefs/heads/main',
  )
  expect((await conflictsIn(work, 'main')).map(({ path }) => path)).toEqual(['a.ts', 'c.ts'])
  expect(await textOf(work, 'main', 'b.ts')).toBe(ON_NEW[0][1])
  work = await desk.restart()
  await work.redo()
  for (const [path, text] of ON_OLD)
    expect(await textOf(work, 'mine', path)).toBe(path === 'c.ts' ? `${text}typed there\n` : text)
  for (const name of ['main', 'mine'])
    expect(await refusedBy(ask(work, 'drafts elsewhere', { branch: 'main', from: before, to: name }))).toThrow(
      'There is a branch',
    )
  expect(await refusedBy(ask(work, 'drafts elsewhere', { branch: 'main', from: before, to: 'other' }))).toThrow(
    'There are no drafts in main any more.',
  )
  expect(await refusedBy(ask(work, 'drafts elsewhere', { branch: 'mine', from: '1'.repeat(40), to: 'other' }))).toThrow(
    'There is no commit',
  )
})

test('drafts are moved onto another branch with its own ones, in conflict where both have typed, and back by undo', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': LINES, 'c.ts': LINES }, bare: true })
  await commit(desk.path, 'other', { 'a.ts': LINES.replace('five', 'FIVE'), 'b.ts': LINES, 'c.ts': LINES })
  await desk.work.look()
  const typed = async (branch: string, path: string, text: string) =>
    await (await edit(desk.work, branch, path)).type(text, LINES.indexOf('two'), 3)
  await typed('main', 'a.ts', 'MINE')
  await typed('main', 'b.ts', 'MINE')
  await typed('other', 'b.ts', 'THERE')
  await typed('other', 'c.ts', 'THERE')
  const onto = (branch: string, to: string) => ask(desk.work, 'drafts onto', { branch, to })
  expect(await refusedBy(onto('main', 'main'))).toThrow('are in main already')
  expect(await onto('main', 'other')).toMatchObject({ gone: [] })
  expect((await desk.work.describeBranches()).map(({ drafts }) => drafts)).toEqual([[], ['a.ts', 'b.ts', 'c.ts']])
  expect(await textOf(desk.work, 'other', 'a.ts')).toBe(LINES.replace('two', 'MINE').replace('five', 'FIVE'))
  expect(await textOf(desk.work, 'other', 'c.ts')).toBe(LINES.replace('two', 'THERE'))
  expect(await conflictsIn(desk.work, 'other')).toMatchObject([
    { path: 'b.ts', draft: LINES.replace('two', 'MINE'), tip: LINES.replace('two', 'THERE') },
  ])
  expect(await refusedBy(onto('main', 'other'))).toThrow('There are no drafts in main any more.')
  expect(await refusedBy(onto('other', 'main'))).toThrow('b.ts has conflicts')
  const work = await desk.restart()
  await work.undo()
  expect((await work.describeBranches()).map(({ drafts }) => drafts)).toEqual([
    ['a.ts', 'b.ts'],
    ['b.ts', 'c.ts'],
  ])
  expect(await conflictsIn(work, 'other')).toEqual([])
  expect(await textOf(work, 'main', 'b.ts')).toBe(LINES.replace('two', 'MINE'))
  expect(await textOf(work, 'other', 'b.ts')).toBe(LINES.replace('two', 'THERE'))
})

test('thousands of branch folders are checked about as fast as the system reads their time stamps', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': 'a\n' }, bare: true })
  const tip = await desk.git('rev-parse', 'main')
  const names = Array.from({ length: 4000 }, (_, number) => `refs/heads/person-${number}`)
  const moves = names.map(name => `create ${name}/work ${tip}\n`).join('')
  await gitWith(desk.path, ['update-ref', '--stdin'], moves)
  // Changed refs are looked at once more in the next check: after three checks nothing is left to report.
  for (let times = 0; times < 3; times++) await desk.work.look()
  const timeOf = async (task: () => Promise<unknown>) => {
    const begun = performance.now()
    await task()
    return performance.now() - begun
  }
  const looks: number[] = []
  for (let times = 0; times < 5; times++) {
    const system = await timeOf(() => Promise.all(names.map(name => stat(join(desk.path, name), { bigint: true }))))
    looks.push((await timeOf(() => desk.work.look())) / system)
  }
  expect(Math.min(...looks)).toBeLessThan(8)
})

test('an open file that was renamed outside stays open under its new name, with its draft', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': 'b\n' }, bare: true })
  const editor = await edit(desk.work, 'main', 'a.ts')
  await editor.type('typed\n')
  await commit(desk.path, 'main', { 'a.ts': null, 'lib/new.ts': LINES })
  await desk.work.look()
  expect(desk.news).toContainEqual({ say: 'renamed file', branch: 'main', from: 'a.ts', to: 'lib/new.ts' })
  expect(await conflictsIn(desk.work, 'main')).toEqual([])
  expect(await textOf(desk.work, 'main', 'lib/new.ts')).toBe(`${LINES}typed\n`)
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', '--format=', '--numstat', 'main')).toBe('1\t0\tlib/new.ts')
})

test('what came from outside has no own save in it: after one, it is counted anew', async () => {
  await using desk = await makeDesk({ files: { 'a.ts': LINES, 'b.ts': 'b\n' }, bare: true })
  const moved = async () => (await desk.work.describeBranches())[0]?.moved
  await (await edit(desk.work, 'main', 'a.ts')).type('kept\n')
  await (await edit(desk.work, 'main', 'b.ts')).type('saved\n')
  const begun = await desk.git('rev-parse', 'main')
  const first = await commit(desk.path, 'main', { 'c.ts': 'c\n' })
  await desk.work.look()
  const { commit: saved = '' } = await ask(desk.work, 'save', { branch: 'main', paths: ['b.ts'] })
  expect(await moved()).toMatchObject({ from: begun, to: first, commits: 1 })
  await commit(desk.path, 'main', { 'd.ts': 'd\n' })
  await desk.work.look()
  const newest = await commit(desk.path, 'main', { 'e.ts': 'e\n' })
  await desk.work.look()
  expect(await moved()).toEqual({ from: saved, to: newest, commits: 2, by: ['Una Upstream'] })
  await desk.git('update-ref', 'refs/heads/main', saved)
  await desk.work.look()
  expect(await moved()).toBeUndefined()
})
