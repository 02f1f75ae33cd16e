/** Some lines of drafts are saved alone, and some lines of a commit are taken back as drafts. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Part } from '../../../../forge/desk/contract/values.ts'
import { ask, edit, makeDesk } from '../../../support/desk.ts'
import { commit, gitWith } from '../../../support/git.ts'
import { refusedBy } from '../../../support/refusals.ts'

setDefaultTimeout(60_000)

const LINES = Array.from({ length: 12 }, (_, at) => `${at}`)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`
const line = (at: number) => ({ fromA: at, toA: at + 1, fromB: at, toB: at + 1 })

test('what is left out of a save stays a draft, also after a restart; undo makes all of it a draft again', async () => {
  const desk = await makeDesk({ files: { 'a.txt': text(LINES), 'b.txt': 'b\n' } })
  await using _ = desk
  const typed = text(LINES.with(2, 'two').with(9, 'nine'))
  await (await edit(desk.work, 'main', 'a.txt')).type(typed, 0, text(LINES).length)
  await (await edit(desk.work, 'main', 'b.txt')).type('more\n')
  const before = await desk.git('rev-parse', 'main')
  const parts = [{ path: 'a.txt', lines: [line(9)] }]
  const { commit } = await ask(desk.work, 'save parts', { branch: 'main', parts, message: 'Only nine' })
  expect(await desk.git('show', `${commit}:a.txt`)).toBe(text(LINES.with(9, 'nine')).trimEnd())
  expect(await desk.git('show', '--format=%s', '--name-only', 'main')).toBe('Only nine\n\na.txt')
  await desk.restart()
  const drafts = async () => (await desk.work.branches.work('main')).draftPaths
  expect(await drafts()).toEqual(['a.txt', 'b.txt'])
  expect((await edit(desk.work, 'main', 'a.txt')).text).toBe(typed)
  await ask(desk.work, 'undo', {})
  expect(await desk.git('rev-parse', 'main')).toBe(before)
  expect(await drafts()).toEqual(['a.txt', 'b.txt'])
  expect((await edit(desk.work, 'main', 'a.txt')).text).toBe(typed)
  // A file that is saved whole is no draft any more.
  await ask(desk.work, 'save parts', { branch: 'main', parts: [{ path: 'b.txt' }] })
  expect(await drafts()).toEqual(['a.txt'])
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe('edit: b.txt')
})

test('lines that were chosen of other texts than the present ones are not saved', async () => {
  const desk = await makeDesk({ files: { 'a.txt': text(LINES) } })
  await using _ = desk
  await (await edit(desk.work, 'main', 'a.txt')).type(text(LINES.with(9, 'nine')), 0, text(LINES).length)
  const after = await gitWith(desk.path, ['hash-object', '-w', '--stdin'], text(LINES.with(9, 'nine')))
  const shown = { before: await desk.git('rev-parse', 'main:a.txt'), after }
  const save = () =>
    ask(desk.work, 'save parts', { branch: 'main', parts: [{ path: 'a.txt', lines: [line(9)], shown }] })
  const outside = await commit(desk.path, 'main', { 'a.txt': text(['new', ...LINES]) }, { message: 'Outside' })
  await desk.work.look()
  expect(await refusedBy(save())).toThrow(
    'a.txt was changed meanwhile, and nothing was done: look at its changes again.',
  )
  expect(await desk.git('rev-parse', 'main')).toBe(outside)
})

test('single lines have the line endings of the last commit, unless the change of all line endings is saved, too', async () => {
  const desk = await makeDesk({ files: { 'a.txt': text(LINES) } })
  await using _ = desk
  await ask(desk.work, 'change line ends', { branch: 'main', path: 'a.txt', lineEnd: 'CRLF' })
  await (await edit(desk.work, 'main', 'a.txt')).type(text(LINES.with(2, 'two').with(9, 'nine')), 0, text(LINES).length)
  const save = (part: Pick<Part, 'lines' | 'lineEnds'>) =>
    ask(desk.work, 'save parts', { branch: 'main', parts: [{ path: 'a.txt', ...part }] })
  const bytes = async (ref: string) => (await desk.git('show', `${ref}:a.txt`)).replaceAll('\r\n', '⏎')
  const two = LINES.with(2, 'two').with(9, 'nine')
  await save({ lines: [line(9)] })
  expect(await bytes('main')).toBe(LINES.with(9, 'nine').join('\n'))
  await save({ lines: [line(2)], lineEnds: true })
  expect(await bytes('main')).toBe(two.join('⏎'))
  expect((await desk.work.branches.work('main')).draftPaths).toEqual([])
  // So it is with what is taken back of a commit.
  const takeBack = async (part: Pick<Part, 'lines' | 'lineEnds'>) => {
    const commit = await desk.git('rev-parse', 'main')
    await ask(desk.work, 'take back', { branch: 'main', commit, parts: [{ path: 'a.txt', ...part }] })
  }
  await takeBack({ lines: [line(2)] })
  expect(await bytes('refs/forge/drafts/main')).toBe(two.with(2, '2').join('⏎'))
  await ask(desk.work, 'undo', {})
  await takeBack({ lines: [], lineEnds: true })
  expect(await bytes('refs/forge/drafts/main')).toBe(two.join('\n'))
})

test('single lines have the file mode of the last commit, unless the change of the mode is saved, too', async () => {
  const desk = await makeDesk({ files: { 'a.sh': text(LINES) } })
  await using _ = desk
  await ask(desk.work, 'set executable', { branch: 'main', path: 'a.sh', isExecutable: true })
  const two = LINES.with(2, 'two').with(9, 'nine')
  await (await edit(desk.work, 'main', 'a.sh')).type(text(two), 0, text(LINES).length)
  const save = (part: Pick<Part, 'lines' | 'mode'>) =>
    ask(desk.work, 'save parts', { branch: 'main', parts: [{ path: 'a.sh', ...part }] })
  const mode = async (ref: string) => (await desk.git('ls-tree', ref, 'a.sh')).split(' ')[0]
  await save({ lines: [line(9)] })
  expect(await mode('main')).toBe('100644')
  expect(await desk.git('show', 'main:a.sh')).toBe(text(LINES.with(9, 'nine')).trimEnd())
  await save({ lines: [], mode: true })
  expect(await mode('main')).toBe('100755')
  expect(await desk.git('show', 'main:a.sh')).toBe(text(LINES.with(9, 'nine')).trimEnd())
  await save({ lines: [line(2)] })
  expect((await desk.work.branches.work('main')).draftPaths).toEqual([])
  await commit(desk.path, 'main', { 'other.txt': 'x\n' }, { message: 'Outside' })
  // So it is with what is taken back of a commit.
  const of = await desk.git('rev-parse', 'main~2')
  await ask(desk.work, 'take back', { branch: 'main', commit: of, parts: [{ path: 'a.sh', lines: [], mode: true }] })
  expect(await mode('refs/forge/drafts/main')).toBe('100644')
  expect(await desk.git('show', 'refs/forge/drafts/main:a.sh')).toBe(text(two).trimEnd())
})

test('a draft in conflict is not saved in part, and others are meanwhile', async () => {
  const desk = await makeDesk({ files: { 'a.txt': text(LINES), 'b.txt': 'b\n' } })
  await using _ = desk
  await (await edit(desk.work, 'main', 'a.txt')).type(text(LINES.with(9, 'mine')), 0, text(LINES).length)
  await (await edit(desk.work, 'main', 'b.txt')).type('more\n')
  await ask(desk.work, 'message', { branch: 'main', paths: ['a.txt', 'b.txt'] })
  await commit(desk.path, 'main', { 'a.txt': text(LINES.with(9, 'theirs')) }, { message: 'Outside' })
  await desk.work.look()
  const save = (path: string) => ask(desk.work, 'save parts', { branch: 'main', parts: [{ path }] })
  expect(await refusedBy(save('a.txt'))).toThrow('a.txt has conflicts between your draft and the branch')
  await save('b.txt')
  expect(await desk.git('show', '--format=%s', '--name-only', 'main')).toBe('edit: b.txt\n\nb.txt')
  const { conflictPaths, draftPaths } = await desk.work.branches.work('main')
  expect([conflictPaths, draftPaths]).toEqual([['a.txt'], ['a.txt']])
})

test('lines of a commit are taken back as drafts, beside what was typed; later changes in the way refuse it', async () => {
  const desk = await makeDesk({ files: { 'a.txt': text(LINES), 'old.txt': 'to be renamed\n' } })
  await using _ = desk
  await writeFile(join(desk.path, 'a.txt'), text(LINES.with(2, 'two').with(9, 'nine')))
  await desk.git('mv', 'old.txt', 'new.txt')
  await desk.git('commit', '-q', '-a', '-m', 'Both')
  const both = await desk.git('rev-parse', 'main')
  await desk.work.look()
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('typed\n')
  const parts = [{ path: 'a.txt', lines: [line(2)] }, { path: 'new.txt' }]
  await ask(desk.work, 'take back', { branch: 'main', commit: both, parts })
  expect(await desk.git('rev-parse', 'main')).toBe(both)
  const textNow = async () => (await edit(desk.work, 'main', 'a.txt')).text
  expect(await textNow()).toBe(`${text(LINES.with(9, 'nine'))}typed\n`)
  expect((await desk.work.branches.work('main')).draftPaths).toEqual(['a.txt', 'old.txt'])
  await ask(desk.work, 'undo', {})
  expect(await textNow()).toBe(`${text(LINES.with(2, 'two').with(9, 'nine'))}typed\n`)
  const again = await edit(desk.work, 'main', 'a.txt')
  await again.type('other', again.text.indexOf('nine'), 4)
  const nine = { branch: 'main', commit: both, parts: [{ path: 'a.txt', lines: [line(9)] }] }
  expect(await refusedBy(ask(desk.work, 'take back', nine))).toThrow(
    'Later changes of the same lines of a.txt are in the way: select other files',
  )
})

test('lines of a file that a commit has renamed are taken back with the rename, and the others stay', async () => {
  const desk = await makeDesk({ files: { 'old.txt': text(LINES) } })
  await using _ = desk
  await desk.git('mv', 'old.txt', 'new.txt')
  await writeFile(join(desk.path, 'new.txt'), text(LINES.with(2, 'two').with(9, 'nine')))
  await desk.git('commit', '-q', '-a', '-m', 'Rename and edit')
  const both = await desk.git('rev-parse', 'main')
  await desk.work.look()
  await ask(desk.work, 'take back', { branch: 'main', commit: both, parts: [{ path: 'new.txt', lines: [line(2)] }] })
  expect((await desk.work.branches.work('main')).draftPaths).toEqual(['old.txt'])
  expect((await edit(desk.work, 'main', 'old.txt')).text).toBe(text(LINES.with(9, 'nine')))
  // A save of the file is one of both of its paths.
  await ask(desk.work, 'save', { branch: 'main', paths: ['old.txt'] })
  expect(await desk.git('show', '--format=%s', '--name-status', 'main')).toMatch(
    /^rename: new\.txt → old\.txt\n\nR\d+\tnew\.txt\told\.txt$/,
  )
})

test('the refusal names each file that is in the way, also one that was renamed since; nothing else is named', async () => {
  const desk = await makeDesk({ files: { 'a.txt': text(LINES), 'b.txt': text(LINES), 'c.txt': text(LINES) } })
  await using _ = desk
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await writeFile(join(desk.path, name), text(LINES.with(2, 'two')))
  await desk.git('commit', '-q', '-a', '-m', 'Two')
  const two = await desk.git('rev-parse', 'main')
  for (const name of ['a.txt', 'c.txt']) await writeFile(join(desk.path, name), text(LINES.with(2, 'later')))
  await desk.git('mv', 'c.txt', 'd.txt')
  await desk.git('commit', '-q', '-a', '-m', 'Later')
  await desk.work.look()
  const takeBack = (...paths: string[]) =>
    ask(desk.work, 'take back', { branch: 'main', commit: two, parts: paths.map(path => ({ path })) })
  expect(await refusedBy(takeBack('a.txt', 'b.txt'))).toThrow('of a.txt are in the way')
  expect(await refusedBy(takeBack('b.txt', 'c.txt'))).toThrow('of d.txt are in the way')
  await takeBack('b.txt')
  expect((await desk.work.branches.work('main')).draftPaths).toEqual(['b.txt'])
})

test('a file that a commit has renamed is renamed back with what was typed in it, and open windows follow', async () => {
  const desk = await makeDesk({ files: { 'old.txt': text(LINES), 'other.txt': 'other\n' } })
  await using _ = desk
  await desk.git('mv', 'old.txt', 'new.txt')
  await desk.git('commit', '-q', '-a', '-m', 'Rename')
  const rename = await desk.git('rev-parse', 'main')
  await desk.work.look()
  const editor = await edit(desk.work, 'main', 'new.txt')
  await editor.type('typed\n')
  const isTold = () => desk.news.some(it => it.say === 'renamed file' && it.from === 'new.txt' && it.to === 'old.txt')
  await ask(desk.work, 'take back', { branch: 'main', commit: rename, parts: [{ path: 'new.txt' }] })
  expect(isTold()).toBe(true)
  const work = await desk.work.branches.work('main')
  expect(work.draftPaths).toEqual(['old.txt'])
  expect((await edit(desk.work, 'main', 'old.txt')).text).toBe(`${text(LINES)}typed\n`)
  await ask(desk.work, 'undo', {})
  expect(work.draftPaths).toEqual(['new.txt'])
  expect((await edit(desk.work, 'main', 'new.txt')).text).toBe(`${text(LINES)}typed\n`)
  // A rename that the drafts have taken back already is no change any more.
  await ask(desk.work, 'redo', {})
  await ask(desk.work, 'discard', { branch: 'main', paths: ['old.txt'] })
  expect(work.draftPaths).toEqual([])
})
