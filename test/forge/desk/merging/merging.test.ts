/** Waiting merges, rebases and cherry-picks: every kind of conflict, to its end and back. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import * as v from 'valibot'
import { closeFile, openFile } from '../../../../forge/desk/branches/places.ts'
import { ConflictFile, Merging } from '../../../../forge/desk/contract/merging.ts'
import { Preview, type Step } from '../../../../forge/desk/contract/steps.ts'
import type { Work } from '../../../../forge/desk/work.ts'
import { ask, type Desk, edit, PERSON, textOf } from '../../../support/desk.ts'
import { commit, type Files, gitWith, PLAIN, show, tryGit } from '../../../support/git.ts'
import { lines, makeChain, makePair, type Pair, rowsIn, type Sides, typeMessage } from '../../../support/merging.ts'
import { randomFrom } from '../../../support/random.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, ScriptedModel, write } from '../../../support/scripted-model.ts'

const merge = ({ source }: Pick<Pair, 'source'>) => ({ step: 'merge', source, onto: 'main' }) as const

/** Begins the merge of topic into main, as previewed. */
async function begin(desk: Pair): Promise<void> {
  const preview = v.parse(Preview, await desk.work.steps.preview(merge(desk)))
  expect(preview.is).toBe('conflicts')
  const done = await desk.work.steps.do(merge(desk), preview)
  expect(done.merging).toBe('main')
  // The conflicts are those of the preview, and match the page's schema.
  const { files } = v.parse(Merging, await desk.work.mergings.in('main'))
  for (const { path } of files) v.parse(ConflictFile, await desk.work.mergings.conflict('main', path))
  expect(files.map(({ path, words = '' }) => ({ path, words }))).toEqual(preview.conflictsIn)
}

/** The files of a commit: mode, path, and the content of short ones. */
async function filesOf(desk: Desk, commitish: string): Promise<Record<string, string>> {
  const list = (await desk.git('ls-tree', '-r', '-z', '--full-tree', commitish)).split('\0').filter(Boolean)
  const files = list.map(async entry => {
    const [, mode = '', type = '', oid = '', path = ''] = /^(\d+) (\w+) ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? []
    const content = type === 'commit' ? oid.slice(0, 4) : await desk.git('cat-file', 'blob', oid)
    return [path, mode === '100644' ? content : `${mode} ${content}`] as const
  })
  return Object.fromEntries(await Promise.all(files))
}

const link = (content: string) => ({ mode: '120000', content }) as const
const program = (content: string) => ({ mode: '100755', content }) as const
const long = lines({}, 20).trimEnd()
const changed = lines({ 20: 'changed' }, 20).trimEnd()
const changedInBoth = lines({ 20: 'changed\notherwise' }, 20).trimEnd()

type Case = {
  name: string
  sides: Sides
  rows: [string, string][]
  /** The files of the commit if our side is chosen for the first row; `theirs` and `both`: if these are. */
  ours: Record<string, string>
  theirs: Record<string, string>
  both: Record<string, string>
}

const CASES: Case[] = [
  {
    name: 'a text changed in two ways',
    sides: { base: { a: 'one\n' }, ours: { a: 'two\n' }, theirs: { a: 'three\n' } },
    rows: [['a', 'text']],
    ours: { a: 'two' },
    theirs: { a: 'three' },
    both: { a: 'two\nthree' },
  },
  {
    name: 'a text that both have added',
    sides: { base: { z: 'z\n' }, ours: { a: 'two\n' }, theirs: { a: 'three\n' } },
    rows: [['a', 'text']],
    ours: { a: 'two', z: 'z' },
    theirs: { a: 'three', z: 'z' },
    both: { a: 'two\nthree', z: 'z' },
  },
  {
    name: 'bytes that are no text',
    sides: { base: { a: 'a\0' }, ours: { a: 'b\0' }, theirs: { a: 'c\0' } },
    rows: [['a', 'binary']],
    ours: { a: 'b\0' },
    theirs: { a: 'c\0' },
    both: { a: 'b\0' },
  },
  {
    name: 'changed here, deleted there',
    sides: { base: { a: 'one\n', z: 'z\n' }, ours: { a: 'two\n' }, theirs: { a: null } },
    rows: [['a', 'modify/delete']],
    ours: { a: 'two', z: 'z' },
    theirs: { z: 'z' },
    both: { a: 'two', z: 'z' },
  },
  {
    name: 'deleted here, changed there',
    sides: { base: { a: 'one\n', z: 'z\n' }, ours: { a: null }, theirs: { a: 'two\n' } },
    rows: [['a', 'modify/delete']],
    ours: { z: 'z' },
    theirs: { a: 'two', z: 'z' },
    both: { a: 'two', z: 'z' },
  },
  {
    name: 'renamed here, deleted there',
    sides: { base: { a: `${long}\n`, z: 'z\n' }, ours: { a: null, b: `${long}\n` }, theirs: { a: null } },
    rows: [['b', 'rename/delete']],
    ours: { b: long, z: 'z' },
    theirs: { z: 'z' },
    both: { b: long, z: 'z' },
  },
  {
    name: 'renamed here to a file that is added there, with other lines in each',
    sides: {
      base: { a: `${long}\n`, z: 'z\n' },
      ours: { a: null, b: `${changed}\n` },
      theirs: { a: null, b: 'of theirs alone\n' },
    },
    rows: [['b', 'text']],
    ours: { b: changed, z: 'z' },
    theirs: { b: 'of theirs alone', z: 'z' },
    both: { b: `${changed}\nof theirs alone`, z: 'z' },
  },
  {
    name: 'renamed here to a file of bytes that is added there',
    sides: {
      base: { a: `${long}\n`, z: 'z\n' },
      ours: { a: null, b: `${changed}\n` },
      theirs: { a: null, b: 'b\0' },
    },
    rows: [['b', 'binary']],
    ours: { b: changed, z: 'z' },
    theirs: { b: 'b\0', z: 'z' },
    both: { b: changed, z: 'z' },
  },
  {
    name: 'two other names for one file',
    sides: {
      base: { a: `${long}\n`, z: 'z\n' },
      ours: { a: null, b: `${changed}\n` },
      theirs: { a: null, c: `${long}\n` },
    },
    rows: [['b', 'rename/rename']],
    ours: { b: changed, z: 'z' },
    theirs: { c: changed, z: 'z' },
    both: { b: changed, c: changed, z: 'z' },
  },
  {
    name: 'two other names for one file, with other lines in each',
    sides: {
      base: { a: `${long}\n`, z: 'z\n' },
      ours: { a: null, b: `${changed}\n` },
      theirs: { a: null, c: `${lines({ 20: 'otherwise' }, 20)}` },
    },
    rows: [['b', 'rename/rename']],
    ours: { b: changedInBoth, z: 'z' },
    theirs: { c: changedInBoth, z: 'z' },
    both: { b: changedInBoth, c: changedInBoth, z: 'z' },
  },
  {
    name: 'two other names for bytes that are no text, with others in each',
    sides: {
      base: { a: `${long}\0`, z: 'z\n' },
      ours: { a: null, b: `${long}\0ours` },
      theirs: { a: null, c: `${long}\0theirs` },
    },
    rows: [['b', 'rename/rename']],
    ours: { b: `${long}\0ours`, z: 'z' },
    theirs: { c: `${long}\0theirs`, z: 'z' },
    both: { b: `${long}\0ours`, c: `${long}\0theirs`, z: 'z' },
  },
  {
    name: 'two other names for a text that is too large to edit, with other lines in each',
    sides: {
      base: { a: lines({}, 250_000), z: 'z\n' },
      ours: { a: null, b: lines({ 20: 'ours' }, 250_000) },
      theirs: { a: null, c: lines({ 20: 'theirs' }, 250_000) },
    },
    rows: [['b', 'rename/rename']],
    ours: { b: lines({ 20: 'ours' }, 250_000).trimEnd(), z: 'z' },
    theirs: { c: lines({ 20: 'theirs' }, 250_000).trimEnd(), z: 'z' },
    both: {
      b: lines({ 20: 'ours' }, 250_000).trimEnd(),
      c: lines({ 20: 'theirs' }, 250_000).trimEnd(),
      z: 'z',
    },
  },
  {
    name: 'a file here, a folder there',
    sides: { base: { a: 'one\n', z: 'z\n' }, ours: { a: 'two\n' }, theirs: { a: null, 'a/in': 'in\n' } },
    rows: [['a~HEAD', 'file/folder']],
    ours: { a: 'two', z: 'z' },
    theirs: { 'a/in': 'in', z: 'z' },
    both: { 'a~HEAD': 'two', 'a/in': 'in', z: 'z' },
  },
  {
    name: 'a folder here, a file there',
    sides: { base: { z: 'z\n' }, ours: { 'a/in': 'in\n' }, theirs: { a: 'two\n' } },
    rows: [['a~topic', 'file/folder']],
    ours: { 'a/in': 'in', z: 'z' },
    theirs: { a: 'two', z: 'z' },
    both: { 'a~topic': 'two', 'a/in': 'in', z: 'z' },
  },
  {
    name: 'renamed here to the path of a folder there, with other lines in each',
    sides: {
      base: { a: `${long}\n`, z: 'z\n' },
      ours: { a: null, b: `${changed}\n` },
      theirs: { a: lines({ 20: 'otherwise' }, 20), 'b/in': 'in\n' },
    },
    rows: [['b~HEAD', 'file/folder']],
    ours: { b: changed, z: 'z' },
    theirs: { b: lines({ 20: 'otherwise' }, 20).trimEnd(), z: 'z' },
    both: { 'b~HEAD': lines({ 20: 'changed\notherwise' }, 20).trimEnd(), 'b/in': 'in', z: 'z' },
  },
  {
    name: 'a file here, a link there',
    sides: { base: { z: 'z\n' }, ours: { a: 'two\n' }, theirs: { a: link('z') } },
    rows: [['a~HEAD', 'file/link']],
    ours: { a: 'two', z: 'z' },
    theirs: { a: '120000 z', z: 'z' },
    both: { 'a~HEAD': 'two', a: '120000 z', z: 'z' },
  },
  {
    name: 'a link here, a file there',
    sides: { base: { z: 'z\n' }, ours: { a: link('z') }, theirs: { a: 'two\n' } },
    rows: [['a', 'file/link']],
    ours: { a: '120000 z', z: 'z' },
    theirs: { a: 'two', z: 'z' },
    both: { 'a~topic': 'two', a: '120000 z', z: 'z' },
  },
  {
    name: 'one file with two modes',
    sides: { base: { z: 'z\n' }, ours: { a: 'same\n' }, theirs: { a: program('same\n') } },
    rows: [['a', 'mode']],
    ours: { a: 'same', z: 'z' },
    theirs: { a: '100755 same', z: 'z' },
    both: { a: 'same', z: 'z' },
  },
  {
    name: 'links that lead elsewhere',
    sides: { base: { a: link('x') }, ours: { a: link('y') }, theirs: { a: link('z') } },
    rows: [['a', 'symlink']],
    ours: { a: '120000 y' },
    theirs: { a: '120000 z' },
    both: { a: '120000 y' },
  },
  {
    name: 'a file added to a folder that the other side has renamed',
    sides: {
      base: { 'old/a': `${long}\n`, 'old/b': `${long}b\n` },
      ours: { 'old/a': null, 'old/b': null, 'new/a': `${long}\n`, 'new/b': `${long}b\n` },
      theirs: { 'old/c': 'c\n' },
    },
    rows: [['new/c', 'folder rename']],
    ours: { 'new/a': long, 'new/b': `${long}b` },
    theirs: { 'new/a': long, 'new/b': `${long}b`, 'new/c': 'c' },
    both: { 'new/a': long, 'new/b': `${long}b`, 'new/c': 'c' },
  },
]

const SIDES = ['ours', 'theirs', 'both'] as const

for (const { name, sides, rows, ...ends } of CASES)
  for (const side of SIDES)
    test(`${name}: ${side} can be taken, finished, undone and aborted`, async () => {
      await using desk = await makePair(sides)
      const { work } = desk
      await begin(desk)
      expect(await rowsIn(work)).toEqual(rows.map(([path, kind]) => [path, kind, 'open']))
      expect((await work.mergings.in('main'))?.notYet).toContain('left in')
      expect(await refusedBy(work.mergings.finish('main'))).toThrow('left in')
      const [path = ''] = rows[0] ?? []
      const conflict = await work.mergings.conflict('main', path)
      expect(conflict).toMatchObject({ path, kind: rows[0]?.[1] })
      // What git left is a version of its own only where it has something of both sides.
      const hasBoth = ['text', 'file/folder', 'file/link', 'rename/rename'].includes(conflict.kind)
      expect(conflict.leftAs === undefined).toBe(hasBoth)
      // Of a text with two new names, only the name is to choose.
      const isName = name.startsWith('two other names for one file')
      expect(conflict.names).toEqual(isName ? { ours: 'b', theirs: 'c', base: 'a' } : undefined)
      const resolveText = async () => {
        if (isName && conflict.mark !== undefined) await settleFirst(work, path, 'changed\notherwise\n')
      }
      await resolveText()
      // The last choice counts, whatever was chosen or discarded before.
      for (const other of SIDES.filter(it => it !== side)) await work.mergings.takeSide('main', path, other)
      await ask(work, 'discard', {
        branch: 'main',
        paths: (await work.describeBranches()).find(({ name: it }) => it === 'main')?.drafts ?? [],
      })
      await resolveText()
      await work.mergings.takeSide('main', path, side)
      const chosen = side === 'both' ? (conflict.leftAs ?? side) : side
      // Of a text, the editor says what was chosen at each of its conflicts.
      const isSaid = conflict.kind !== 'text' && (side !== 'both' || conflict.mark === undefined || isName)
      const settled = await work.mergings.in('main')
      expect(settled?.files[0]?.taken).toBe(isSaid ? chosen : undefined)
      expect(settled).not.toHaveProperty('notYet')
      expect(await desk.git('rev-parse', 'main')).toBe(desk.ours)
      const { commit: made = '' } = await work.mergings.finish('main')
      expect(await desk.git('rev-parse', 'main', 'main^1', 'main^2')).toBe([made, desk.ours, desk.theirs].join('\n'))
      expect(await filesOf(desk, 'main')).toEqual(ends[side])
      expect((await work.describeBranches()).find(it => it.name === 'main')).toMatchObject({ drafts: [] })
      expect(await work.mergings.in('main')).toBeUndefined()
      await work.undo()
      expect(await desk.git('rev-parse', 'main')).toBe(desk.ours)
      expect((await rowsIn(work)).map(([at, , state]) => [at, state])).not.toContainEqual([path, 'open'])
      await work.mergings.abort('main')
      expect(await desk.git('for-each-ref', 'refs/forge/merging', 'refs/forge/drafts')).toBe('')
      await desk.git('fsck', '--strict')
    })

test.each(['merge', 'diff3', 'zdiff3'])(
  'a file that both sides added has a conflict at each place where they differ, as in git (%s)',
  async style => {
    const text = (side: string) => lines({ 1: side, 15: `${side} again` }, 20)
    const ours = { a: text('ours'), b: `${text('ours')}the end\r\n` }
    const theirs = { a: text('theirs'), b: `${text('theirs')}an end\r\n` }
    await using desk = await makePair({ base: { z: 'z\n' }, ours, theirs })
    await desk.git('config', 'merge.conflictStyle', style)
    await begin(desk)
    const { work } = desk
    const how = ['-c', 'merge.conflictStyle=merge', 'merge-tree', '--write-tree']
    const { stdout } = await tryGit(desk.path, [...how, 'main', 'topic'])
    const [tree = ''] = stdout.split('\n')
    const files = (await work.mergings.in('main'))?.files ?? []
    const counts = files.map(async ({ path }) => {
      const marked = await desk.git('cat-file', 'blob', `${tree}:${path}`)
      return { path, left: [...marked.matchAll(/^<<<<<<< /gm)].length }
    })
    expect(files.map(({ path, left }) => ({ path, left }))).toEqual(await Promise.all(counts))
    await work.mergings.takeConflicts('main', ['a', 'b'], 'theirs')
    await work.mergings.finish('main')
    for (const path of ['a', 'b'])
      expect(await desk.git('rev-parse', `main:${path}`)).toBe(await desk.git('rev-parse', `topic:${path}`))
  },
)

test('a file that both sides added is called that, also where one of them renamed another file to it', async () => {
  const base = { old: `${long}\n`, z: 'z\n' }
  const ours = { old: null, text: `${changed}\n`, bytes: 'ours\0' }
  const theirs = { old: null, text: 'of theirs alone\n', bytes: 'theirs\0' }
  await using desk = await makePair({ base, ours, theirs })
  await begin(desk)
  expect((await desk.work.mergings.in('main'))?.files.map(({ path, words }) => [path, words])).toEqual([
    ['bytes', 'both added it, and it can’t be merged as text here'],
    ['text', 'both added it, each with other lines'],
  ])
})

test('the begin of a merge that is finished can not be undone alone, and the list of operations says so', async () => {
  const sides = { base: { a: 'one\n' }, ours: { a: 'two\n' }, theirs: { a: 'three\n' } }
  await using desk = await makePair(sides)
  const { work } = desk
  const shown = async () =>
    (await ask(work, 'operations', { from: 0, count: 3 })).map(it => [it.words, it.isPast ?? it.inTheWay ?? 'can'])
  await begin(desk)
  const begun = 'begin to merge topic into main'
  expect(await shown()).toEqual([[begun, 'can']])
  await work.mergings.takeSide('main', 'a', 'ours')
  await work.mergings.finish('main')
  const ended = [begun, 'What waited in main has ended. Undo what came later first.']
  expect((await shown()).at(-1)).toEqual(ended)
  // Nor while another merge waits: it is not the one that was begun then.
  await commit(desk.path, 'topic', { a: 'four\n' })
  await work.look()
  await work.steps.do({
    step: 'merge',
    source: { commit: await desk.git('rev-parse', 'topic'), words: 'topic' },
    onto: 'main',
  })
  expect((await shown()).map(([, can]) => can).filter(can => can === 'can')).toHaveLength(1)
  expect((await ask(work, 'operations', { from: 0, count: 9 })).findLast(it => it.words === begun)?.inTheWay).toBe(
    ended[1],
  )
})

test.each([
  ['all sides', '\ufeffone\n'],
  ['both sides, but not the base', 'one\n'],
])('a byte order mark of %s stays before a conflict in the first line, and is in no side', async (_, a) => {
  const sides = { base: { a }, ours: { a: '\ufefftwo\n' }, theirs: { a: '\ufeffthree\n' } }
  await using desk = await makePair(sides)
  const { work } = desk
  await begin(desk)
  const file = await openFile(work.branches, { kind: 'branch', branch: 'main' }, 'a')
  expect(file).toMatchObject({ kind: 'text', bom: true, text: expect.stringMatching(/^<{7} .*\ntwo\n\|/) })
  expect((await work.mergings.in('main'))?.files).toMatchObject([{ path: 'a', all: 1, left: 1 }])
  await work.mergings.takeSide('main', 'a', 'both')
  await work.mergings.finish('main')
  expect(await desk.git('rev-parse', 'main:a')).toBe(
    await gitWith(desk.path, ['hash-object', '--stdin'], '\ufefftwo\nthree\n'),
  )
})

test.each([
  ['ours', lines({ 1: 'ours 1', 5: 'typed 5', 9: 'ours 9' }), `${lines({ 1: 'ours 1', 5: 'theirs 5' })}ours end`],
  [
    'theirs',
    lines({ 1: 'theirs 1', 5: 'typed 5', 9: 'ours 9' }),
    `${lines({ 1: 'ours 1', 5: 'theirs 5' })}theirs end\n`,
  ],
] as const)(
  'all open conflicts of two texts are resolved by %s in one step, and the rest of them stays',
  async (side, a, b) => {
    await using desk = await makePair({
      base: { 'a.txt': lines(), 'b.txt': `${lines()}end\n` },
      ours: {
        'a.txt': lines({ 1: 'ours 1', 5: 'ours 5', 9: 'ours 9' }),
        'b.txt': `${lines({ 1: 'ours 1' })}ours end`,
      },
      theirs: {
        'a.txt': lines({ 1: 'theirs 1', 5: 'theirs 5' }),
        'b.txt': `${lines({ 5: 'theirs 5' })}theirs end\n`,
      },
    })
    const { work } = desk
    await begin(desk)
    const editor = await edit(work, 'main', 'a.txt')
    const from = editor.text.lastIndexOf('<<<<<<<')
    await editor.type('typed 5\n', from, editor.text.indexOf('line 6') - from)
    await closeFile(work.branches, { kind: 'branch', branch: 'main' }, 'a.txt')
    const before = await textOf(work, 'main', 'a.txt')
    expect(await ask(work, 'take conflicts', { branch: 'main', paths: ['a.txt', 'b.txt'], side })).toEqual({
      words: `Resolved the conflicts left in 2 files by ${side}.`,
    })
    expect(await rowsIn(work)).toEqual([
      ['a.txt', 'text', 'settled'],
      ['b.txt', 'text', 'settled'],
    ])
    expect(await textOf(work, 'main', 'a.txt')).toBe(a)
    await work.undo()
    expect(await textOf(work, 'main', 'a.txt')).toBe(before)
    expect((await work.mergings.in('main'))?.notYet).toContain('2 conflicts are left')
    await ask(work, 'take conflicts', { branch: 'main', paths: ['a.txt', 'b.txt'], side })
    await work.mergings.finish('main')
    expect(await desk.git('rev-parse', 'main:b.txt')).toBe(await gitWith(desk.path, ['hash-object', '--stdin'], b))
  },
)

test('a submodule at two commits waits for a choice', async () => {
  await using desk = await makePair({ base: { z: 'z\n' }, ours: { z: 'z\n' }, theirs: { z: 'z\n' } })
  const { work } = desk
  const put = async (branch: string, digit: string) => {
    const tree = await gitWith(desk.path, ['mktree'], `160000 commit ${digit.repeat(40)}\tsub\n`)
    const made = await desk.git('commit-tree', tree, '-p', desk.base, '-m', 'Sub')
    await desk.git('update-ref', `refs/heads/${branch}`, made)
    return made
  }
  const [, theirs] = [await put('main', '1'), await put('topic', '2')]
  await work.look()
  await begin({ ...desk, source: { ...desk.source, commit: theirs } })
  expect(await rowsIn(work)).toEqual([['sub', 'submodule', 'open']])
  expect((await work.mergings.conflict('main', 'sub')).theirs).toMatchObject({ is: 'other', mode: '160000' })
  await work.mergings.takeSide('main', 'sub', 'theirs')
  await work.mergings.finish('main')
  expect(await filesOf(desk, 'main')).toEqual({ sub: '160000 2222' })
})

/** A merge of one file with two conflicts. */
const TWO: Sides = {
  base: { 'a.txt': lines(), 'b.txt': 'b\n' },
  ours: { 'a.txt': lines({ 2: 'ours 2', 8: 'ours 8' }) },
  theirs: { 'a.txt': lines({ 2: 'theirs 2', 8: 'theirs 8' }), 'b.txt': 'changed\n' },
}

/** Replaces the first conflict in main's a.txt by a text, by typing. */
async function settleFirst(work: Work, path: string, text: string): Promise<void> {
  const editor = await edit(work, 'main', path)
  const [conflict = ''] = /^<{7} .*?^>{7}[^\n]*\n/ms.exec(editor.text) ?? []
  await editor.type(text, editor.text.indexOf(conflict), conflict.length)
  await closeFile(work.branches, { kind: 'branch', branch: 'main' }, path)
}

test('a file that git merges by itself counts once, also where it is renamed', async () => {
  const text = lines()
  await using desk = await makePair({
    base: { 'a.txt': 'a\n', 'old.txt': text, 'b.txt': 'b\n' },
    ours: { 'a.txt': 'ours\n', 'old.txt': text, 'b.txt': 'b\n' },
    theirs: { 'a.txt': 'theirs\n', 'new.txt': text, 'b.txt': 'changed\n' },
  })
  await begin(desk)
  // Git merged two files by itself: the renamed one and b.txt.
  expect((await desk.work.mergings.in('main'))?.byGit).toBe(2)
})

test('conflicts are resolved by typing, one after the other', async () => {
  await using desk = await makePair(TWO)
  const { work } = desk
  await begin(desk)
  const file = async () => (await work.mergings.in('main'))?.files[0]
  expect(await file()).toMatchObject({ left: 2, all: 2, state: 'open' })
  expect(await work.mergings.in('main')).toMatchObject({ kind: 'merge', ours: 'main', theirs: 'topic', byGit: 1 })
  expect((await work.describeBranches()).find(({ name }) => name === 'main')?.merging).toBe('merge')
  await settleFirst(work, 'a.txt', 'both 2\n')
  expect(await file()).toMatchObject({ left: 1, all: 2, state: 'open' })
  await settleFirst(work, 'a.txt', 'both 8\n')
  expect(await file()).toMatchObject({ left: 0, state: 'settled' })
  await typeMessage(work, 'main', 'Bring topic in')
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'a.txt')).toBe(lines({ 2: 'both 2', 8: 'both 8' }).trimEnd())
  expect(await show(desk.path, 'main', 'b.txt')).toBe('changed')
  expect(await desk.git('log', '-1', '--format=%B%an', 'main')).toBe('Bring topic in\nAda')
})

/** A file that both sides renamed, with a conflict in line 2, and a change of each side that git merges. */
const RENAMED: Sides = {
  base: { 'old.md': lines({}, 20) },
  ours: { 'old.md': null, 'ours.md': lines({ 2: 'ours', 8: 'ours alone' }, 20) },
  theirs: { 'old.md': null, 'theirs.md': lines({ 2: 'theirs', 14: 'theirs alone' }, 20) },
}
const mergedWith = (line: string) => lines({ 2: line, 8: 'ours alone', 14: 'theirs alone' }, 20)

test.each([
  ['ours', 'ours.md'],
  ['theirs', 'theirs.md'],
  ['base', 'old.md'],
] as const)(
  'the merged and resolved text of a file that both sides renamed stays under the name of %s, with what was typed',
  async (side, path) => {
    await using desk = await makePair(RENAMED)
    const { work } = desk
    await begin(desk)
    const file = async () => (await work.mergings.in('main'))?.files[0]
    // It waits under one name, so that it is resolved once.
    expect(await file()).toMatchObject({ path: 'ours.md', kind: 'rename/rename', left: 2, all: 2, isWholeOpen: true })
    expect(await textOf(work, 'main', 'theirs.md')).toBeUndefined()
    await settleFirst(work, 'ours.md', 'both\n')
    const typist = await edit(work, 'main', 'ours.md')
    await typist.type('typed ', 0)
    expect(await file()).toMatchObject({ left: 1, all: 2, state: 'open', isWholeOpen: true })
    await work.mergings.takeSide('main', 'ours.md', side)
    const settled = await file()
    expect(settled).toMatchObject({ left: 0, state: 'settled', taken: side })
    expect(settled?.result ?? settled?.path).toBe(path)
    await work.mergings.finish('main')
    expect(await filesOf(desk, 'main')).toEqual({ [path]: `typed ${mergedWith('both')}`.trimEnd() })
  },
)

test('open conflicts of a file that both sides renamed stay open under the name that is chosen', async () => {
  await using desk = await makePair(RENAMED)
  const { work } = desk
  await begin(desk)
  const file = async () => (await work.mergings.in('main'))?.files[0]
  expect(await refusedBy(work.mergings.takeSide('main', 'ours.md', 'both'))).toThrow('resolve them first')
  const marked = await textOf(work, 'main', 'ours.md')
  await work.mergings.takeSide('main', 'ours.md', 'theirs')
  expect(await file()).toMatchObject({ path: 'ours.md', result: 'theirs.md', left: 1, all: 2, taken: 'theirs' })
  expect(await textOf(work, 'main', 'theirs.md')).toBe(marked)
  expect(await refusedBy(work.mergings.finish('main'))).toThrow('1 conflict is left')
  // An undo takes the name back, one more the merge, and their redo brings both back.
  expect((await work.undo()).words).toBe('undo: resolve the name of ours.md in main by theirs')
  expect(await file()).toMatchObject({ path: 'ours.md', left: 2, all: 2, isWholeOpen: true })
  expect(await textOf(work, 'main', 'ours.md')).toBe(marked)
  await work.undo()
  expect((await work.describeBranches()).find(({ name }) => name === 'main')?.drafts).toEqual([])
  await work.redo()
  await work.redo()
  expect(await file()).toMatchObject({ result: 'theirs.md', left: 1, taken: 'theirs' })
  await work.mergings.takeConflicts('main', ['ours.md'], 'theirs')
  expect(await file()).toMatchObject({ result: 'theirs.md', left: 0, state: 'settled' })
  // An undo of that opens the conflict again, under the same name.
  await work.undo()
  expect(await file()).toMatchObject({ result: 'theirs.md', left: 1, state: 'open' })
  await work.mergings.takeConflicts('main', ['ours.md'], 'ours')
  await work.mergings.takeSide('main', 'ours.md', 'ours')
  await work.mergings.finish('main')
  expect(await filesOf(desk, 'main')).toEqual({ 'ours.md': mergedWith('ours').trimEnd() })
})

test('of two files from one that both sides renamed, one can be left out, and an undo brings back what was typed in it', async () => {
  await using desk = await makePair(RENAMED)
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'ours.md', 'both\n')
  await work.mergings.takeSide('main', 'ours.md', 'both')
  expect(await textOf(work, 'main', 'theirs.md')).toBe(mergedWith('both'))
  const typist = await edit(work, 'main', 'theirs.md')
  await typist.type('typed ', 0)
  const { words } = await work.mergings.takeSide('main', 'ours.md', 'ours')
  expect(words).toBe('Discarded what was typed in theirs.md in main.')
  expect(await textOf(work, 'main', 'theirs.md')).toBeUndefined()
  await work.undo()
  expect(await textOf(work, 'main', 'theirs.md')).toBe(`typed ${mergedWith('both')}`)
  expect((await work.mergings.in('main'))?.files[0]).toMatchObject({ left: 0, taken: 'both' })
})

test('a text that contains markers of its own gets longer ones', async () => {
  const own = (word: string) => `<<<<<<< a heading\n${word}\n=======\n>>>>>>>>\n`
  const files = (word: string): Files => ({ a: own(word) })
  await using desk = await makePair({ base: files('one'), ours: files('two'), theirs: files('three') })
  const { work } = desk
  await begin(desk)
  expect((await work.mergings.conflict('main', 'a')).mark).toBe(9)
  expect(await textOf(work, 'main', 'a')).toContain(`${'<'.repeat(9)} main\ntwo\n`)
  await work.mergings.takeSide('main', 'a', 'both')
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'a')).toBe(own('two\nthree').trimEnd())
})

test('merged and resolved text keeps its line ends', async () => {
  const crlf = (changes: Record<number, string>) => lines(changes).replaceAll('\n', '\r\n')
  await using desk = await makePair({
    base: { a: crlf({}) },
    ours: { a: crlf({ 3: 'ours' }) },
    theirs: { a: crlf({ 3: 'theirs', 7: 'more' }) },
  })
  await begin(desk)
  await settleFirst(desk.work, 'a', 'settled\n')
  await desk.work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'a')).toBe(crlf({ 3: 'settled', 7: 'more' }).trimEnd())
})

test('abort leaves no trace, and an undo restores all resolutions', async () => {
  await using desk = await makePair(TWO)
  const { work } = desk
  const before = await desk.git('for-each-ref', 'refs/heads', 'refs/forge/drafts', 'refs/forge/merging')
  await begin(desk)
  await settleFirst(work, 'a.txt', 'settled\n')
  const text = await textOf(work, 'main', 'a.txt')
  await work.mergings.abort('main')
  expect(await desk.git('for-each-ref', 'refs/heads', 'refs/forge/drafts', 'refs/forge/merging')).toBe(before)
  expect(await textOf(work, 'main', 'a.txt')).toBe(lines({ 2: 'ours 2', 8: 'ours 8' }))
  await desk.git('gc', '-q', '--prune=now')
  await work.undo()
  expect(await textOf(work, 'main', 'a.txt')).toBe(text)
  expect((await work.mergings.in('main'))?.files[0]).toMatchObject({ left: 1, all: 2 })
  await work.undo()
  expect(await work.mergings.in('main')).toBeUndefined()
  await work.redo()
  expect(await textOf(work, 'main', 'a.txt')).toBe(text)
})

test('undo after the end restores the merge with all resolutions, and redo finishes it again', async () => {
  await using desk = await makePair(TWO, {})
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'a.txt', 'one\n')
  await settleFirst(work, 'a.txt', 'two\n')
  const { commit: made } = await work.mergings.finish('main')
  await work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('')
  await work.undo()
  await work.flush()
  expect(await desk.git('rev-parse', 'main')).toBe(desk.ours)
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(await textOf(work, 'main', 'a.txt')).toBe(lines({ 2: 'one', 8: 'two' }))
  expect(await rowsIn(work)).toEqual([['a.txt', 'text', expect.stringMatching(/settled|odd/)]])
  await work.redo()
  await work.flush()
  expect(await desk.git('rev-parse', 'main')).toBe(made ?? '')
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(await desk.git('for-each-ref', 'refs/forge/merging', 'refs/forge/drafts')).toBe('')
})

test('while a merge waits the branch is not saved, renamed, deleted or merged into', async () => {
  await using desk = await makePair(TWO)
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'a.txt', 'settled\n')
  for (const refused of [
    () => ask(work, 'save', { branch: 'main', paths: 'all' }),
    () => ask(work, 'new file', { branch: 'main', path: 'new.txt' }),
    () => ask(work, 'delete', { branch: 'main', paths: ['b.txt'] }),
    () => work.renameBranch('main', 'other'),
    () => ask(work, 'delete branch', { branch: 'main' }),
    () => work.steps.do(merge(desk)),
  ])
    expect(await refusedBy(refused())).toThrow('A merge, rebase or other step waits in main')
  expect(await work.steps.preview(merge(desk))).toMatchObject({
    is: 'impossible',
    words: expect.stringContaining('waits'),
  })
  // Other branches are not affected.
  await ask(work, 'new file', { branch: 'topic', path: 'new.txt' })
})

test.each([
  'trunk',
  // Git can't have refs of both names at the same time.
  'main/new',
])('a waiting merge goes with its branch where git branch -m renames it to %s, and undo brings both back', async to => {
  await using desk = await makePair(TWO, { bare: false })
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'a.txt', 'settled\n')
  const refs = () => desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/merging', 'refs/forge/drafts')
  const refsOf = (name: string) => `refs/forge/drafts/${name}\nrefs/forge/merging/${name}`
  await desk.git('branch', '-m', 'main', to)
  await work.look()
  expect(desk.news).toContainEqual({ say: 'renamed', branch: 'main', to })
  const known = (await work.describeBranches()).map(({ name, merging, drafts }) => [name, merging, drafts])
  expect(known).toContainEqual([to, 'merge', ['a.txt']])
  expect(await refs()).toBe(refsOf(to))
  const waits = { kind: 'merge', ours: to, theirs: 'topic', files: [{ path: 'a.txt', left: 1, all: 2 }] }
  expect(await work.mergings.in(to)).toMatchObject(waits)
  await work.undo(undefined, to)
  expect(await refs()).toBe(refsOf('main'))
  expect(await work.mergings.in('main')).toMatchObject({ ...waits, ours: 'main' })
  await work.redo()
  expect(await refs()).toBe(refsOf(to))
  await desk.restart()
  await ask(desk.work, 'take side', { branch: to, path: 'a.txt', side: 'theirs' })
  expect((await ask(desk.work, 'finish merging', { branch: to })).words).toBe(`Merged topic into ${to}.`)
  expect(await refs()).toBe('')
})

test('a waiting merge goes with its branch where git branch -m renames it while no desk runs', async () => {
  await using desk = await makePair(TWO, { bare: false })
  await begin(desk)
  await settleFirst(desk.work, 'a.txt', 'settled\n')
  await desk.work[Symbol.asyncDispose]()
  await desk.git('branch', '-m', 'main', 'trunk')
  const work = await desk.restart()
  const waits = { kind: 'merge', ours: 'trunk', theirs: 'topic', files: [{ path: 'a.txt', left: 1, all: 2 }] }
  expect(await work.mergings.in('trunk')).toMatchObject(waits)
  const refs = await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/merging', 'refs/forge/drafts')
  expect(refs).toBe('refs/forge/drafts/trunk\nrefs/forge/merging/trunk')
})

test('what waits in a deleted branch does not keep a waiting merge from following a rename by git branch -m', async () => {
  await using desk = await makePair(TWO, { bare: false })
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'a.txt', 'settled\n')
  await work.flush()
  await desk.git('update-ref', 'refs/forge/merging/trunk/gone', 'main')
  await desk.git('branch', '-m', 'main', 'trunk')
  await work.look()
  const words =
    'What waits in trunk/gone, which is gone, was put aside, since git can’t keep it beside the branch trunk. ' +
    'It is kept in Operations.'
  expect(desk.news).toContainEqual({ say: 'notice', branch: 'trunk/gone', words, isBad: true })
  expect(await work.mergings.in('trunk')).toMatchObject({ files: [{ path: 'a.txt', left: 1, all: 2 }] })
})

test('unsaved edits prevent a merge with conflicts, and nothing else', async () => {
  await using desk = await makePair(TWO)
  const { work } = desk
  await (await edit(work, 'main', 'b.txt')).type('typed\n')
  const preview = await work.steps.preview(merge(desk))
  expect(preview.warnings.join()).toContain('save or discard them first')
  expect(await refusedBy(work.steps.do(merge(desk)))).toThrow('b.txt in main is not saved')
  expect(await textOf(work, 'main', 'b.txt')).toBe('b\ntyped\n')
  expect(await desk.git('for-each-ref', 'refs/forge/merging')).toBe('')
})

test('a branch moved from outside is not overwritten', async () => {
  await using desk = await makePair(TWO)
  const { work } = desk
  await begin(desk)
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  const tip = await commit(desk.path, 'main', { 'c.txt': 'c\n' })
  await work.look()
  expect((await work.mergings.in('main'))?.notYet).toContain('main was moved')
  expect(await refusedBy(work.mergings.finish('main'))).toThrow('update the merge')
  expect(await textOf(work, 'main', 'a.txt')).toContain('theirs 2')
  await work.mergings.abort('main')
  expect(await desk.git('rev-parse', 'main')).toBe(tip)
  expect(await textOf(work, 'main', 'c.txt')).toBe('c\n')
})

test('a merge updated to the newest commit of its branch keeps the resolutions whose three sides are the same', async () => {
  const sides = (word: string): Files => ({
    'a.txt': lines({ 2: `${word} 2`, 10: `${word} 10`, 18: `${word} 18` }, 20),
    'b.txt': lines({ 5: `${word} 5` }),
    'logo.png': `${word}\0`,
  })
  await using desk = await makePair({ base: sides('base'), ours: sides('ours'), theirs: sides('theirs') })
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'a.txt', 'settled 2\n')
  await settleFirst(work, 'a.txt', 'settled 10\n')
  await settleFirst(work, 'b.txt', 'settled 5\n')
  await work.mergings.takeSide('main', 'logo.png', 'ours')
  const before = await textOf(work, 'main', 'a.txt')
  expect((await work.mergings.in('main'))?.canUpdate).toBeUndefined()
  expect(await refusedBy(work.mergings.update('main'))).toThrow('finish or abort it')

  // A line beside the conflicts, and a side of the second one, are others now.
  const moved = lines({ 2: 'ours 2', 6: 'moved 6', 10: 'moved 10', 18: 'ours 18' }, 20)
  await commit(desk.path, 'main', { 'a.txt': moved, 'c.txt': 'c\n' })
  await work.look()
  expect((await work.mergings.in('main'))?.canUpdate).toBe(true)
  const { words } = await work.mergings.update('main')
  expect(words).toBe(
    'Updated the merge to the newest commit of main: 2 conflicts are left, and 1 of 4 resolutions no longer fit.',
  )
  const text = (await textOf(work, 'main', 'a.txt')) ?? ''
  expect(text).toStartWith(lines({ 2: 'settled 2', 6: 'moved 6' }, 9))
  expect(text).toContain('moved 10\n|||||||')
  expect(text).not.toContain('settled 10')
  const states = (await work.mergings.in('main'))?.files.map(({ path, state, left }) => [path, state, left])
  expect(states).toEqual([
    ['a.txt', 'open', 2],
    ['b.txt', 'settled', 0],
    ['logo.png', 'settled', 0],
  ])

  // One undo brings back what the update has taken.
  await work.undo()
  expect(await textOf(work, 'main', 'a.txt')).toBe(before)
  await work.mergings.update('main')
  await settleFirst(work, 'a.txt', 'again 10\n')
  await settleFirst(work, 'a.txt', 'again 18\n')
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'a.txt')).toBe(
    lines({ 2: 'settled 2', 6: 'moved 6', 10: 'again 10', 18: 'again 18' }, 20).trimEnd(),
  )
  expect(await show(desk.path, 'main', 'b.txt')).toBe(lines({ 5: 'settled 5' }).trimEnd())
  expect(await desk.git('show', 'main:logo.png')).toBe('ours\0')
  expect(await show(desk.path, 'main', 'c.txt')).toBe('c')
})

test('what was typed beside the conflicts of a merge becomes a conflict where its branch has changed the same line', async () => {
  const sides = (word: string): Files => ({
    'a.txt': lines({ 2: `${word} 2` }, 20),
    'b.txt': lines({ 5: `${word} 5` }, 20),
  })
  await using desk = await makePair({ base: sides('base'), ours: sides('ours'), theirs: sides('theirs') })
  const { work } = desk
  await begin(desk)
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  await work.mergings.takeSide('main', 'b.txt', 'theirs')
  for (const [path, line] of [
    ['a.txt', 'line 10\n'],
    ['b.txt', 'line 15\n'],
  ] as const) {
    const text = (await textOf(work, 'main', path)) ?? ''
    const at = text.indexOf(line)
    expect(at).toBeGreaterThan(0)
    await (await edit(work, 'main', path)).type('typed ', at)
  }

  // In b.txt the branch has also taken the other side, so that the new merge has no conflict there.
  const moved = {
    'a.txt': lines({ 2: 'ours 2', 10: 'moved 10' }, 20),
    'b.txt': lines({ 5: 'theirs 5', 15: 'moved' }, 20),
  }
  await commit(desk.path, 'main', moved)
  await work.look()
  const { words } = await work.mergings.update('main')
  expect(words).toContain('2 conflicts are left')
  const block = (ours: string, base: string, typed: string) =>
    `<<<<<<< main\n${ours}\n||||||| base\n${base}\n=======\n${typed}\n>>>>>>> changed in this merge\n`
  expect(await textOf(work, 'main', 'a.txt')).toContain(block('moved 10', 'line 10', 'typed line 10'))
  expect(await textOf(work, 'main', 'a.txt')).toContain('theirs 2')
  expect(await textOf(work, 'main', 'b.txt')).toContain(block('moved', 'line 15', 'typed line 15'))
  const files = (await work.mergings.in('main'))?.files.map(({ path, left, all }) => [path, left, all])
  expect(files).toEqual([
    ['a.txt', 1, 2],
    ['b.txt', 1, 1],
  ])

  // The added conflicts survive a further update, and are resolved as every other one.
  await commit(desk.path, 'main', { ...moved, 'c.txt': 'c\n' })
  await work.look()
  await work.mergings.update('main')
  expect(await textOf(work, 'main', 'a.txt')).toContain(block('moved 10', 'line 10', 'typed line 10'))
  await settleFirst(work, 'a.txt', 'both 10\n')
  await settleFirst(work, 'b.txt', 'both 15\n')
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', 'a.txt')).toBe(lines({ 2: 'theirs 2', 10: 'both 10' }, 20).trimEnd())
  expect(await show(desk.path, 'main', 'b.txt')).toBe(lines({ 5: 'theirs 5', 15: 'both 15' }, 20).trimEnd())
})

test('a landing that was updated still ends as one commit, with what was typed beside its conflicts', async () => {
  await using desk = await makePair(TWO)
  const { work, source } = desk
  await work.steps.do({ step: 'land', source, onto: 'main', message: 'Land it' })
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  await (await edit(work, 'main', 'b.txt')).type('typed\n')
  const tip = await commit(desk.path, 'main', { 'c.txt': 'c\n' })
  await work.look()
  await work.mergings.update('main')
  expect((await work.mergings.in('main'))?.message).toBe('Land it')
  await work.mergings.finish('main')
  expect(await desk.git('log', '-1', '--format=%s %P', 'main')).toBe(`Land it ${tip}`)
  expect(await show(desk.path, 'main', 'b.txt')).toEndWith('typed')
  expect(await desk.git('rev-parse', `refs/forge/kept/topic-${desk.theirs.slice(0, 8)}`)).toBe(desk.theirs)
})

test('another desk sees the waiting merge and its resolutions, and can finish it', async () => {
  await using desk = await makePair(TWO)
  await begin(desk)
  const { work: other } = await desk.another()
  await settleFirst(desk.work, 'a.txt', 'one\n')
  await desk.work.flush()
  await other.look()
  expect((await other.mergings.in('main'))?.files[0]).toMatchObject({ left: 1 })
  await other.mergings.takeSide('main', 'a.txt', 'theirs')
  await other.mergings.finish('main')
  await desk.work.look()
  expect(await desk.work.mergings.in('main')).toBeUndefined()
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe(lines({ 2: 'theirs 2', 8: 'theirs 8' }))
})

test('the conversation stays that of the target branch', async () => {
  const file = '.forge/session.json'
  await using desk = await makePair({
    base: { ...TWO.base, [file]: 'base\n' },
    ours: { ...TWO.ours, [file]: 'ours\n' },
    theirs: { ...TWO.theirs, [file]: 'theirs\n' },
  })
  const { work } = desk
  await begin(desk)
  expect(await rowsIn(work)).toEqual([['a.txt', 'text', 'open']])
  await work.mergings.takeSide('main', 'a.txt', 'both')
  expect((await work.mergings.in('main'))?.odd).toEqual([])
  await work.mergings.finish('main')
  expect(await show(desk.path, 'main', file)).toBe('ours')
})

test('a landing with conflicts ends as one commit, and its tip is kept', async () => {
  await using desk = await makePair(TWO)
  const { work, source } = desk
  const done = await work.steps.do({ step: 'land', source, onto: 'main', message: 'Land it' })
  expect(done.merging).toBe('main')
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  await work.mergings.finish('main')
  expect(await desk.git('log', '-1', '--format=%s %P', 'main')).toBe(`Land it ${desk.ours}`)
  expect(await desk.git('rev-parse', `refs/forge/kept/topic-${desk.theirs.slice(0, 8)}`)).toBe(desk.theirs)
})

// --- Rebases and cherry-picks ---

test('a rebase stops at each of three conflicts, and moves its branch once, at the end', async () => {
  await using desk = await makeChain()
  const { work, step } = desk
  const before = await desk.git('rev-parse', 'topic')
  const preview = await work.steps.preview(step)
  expect(preview).toMatchObject({
    is: 'conflicts',
    conflicts: 1,
    commits: 5,
    words: expect.stringContaining('commit 1 of 5'),
  })
  expect(await work.steps.do(step, preview)).toMatchObject({ merging: 'topic' })
  for (const [number, subject, ours] of [
    [1, 'Change theirs', 'main'],
    [3, 'Three', 'main with the commits rebased so far'],
    [5, 'Five', 'main with the commits rebased so far'],
  ] as const) {
    expect(await work.mergings.in('topic')).toMatchObject({
      kind: 'rebase',
      ours,
      onto: 'main',
      at: { number, of: 5, subject },
    })
    expect(await desk.git('rev-parse', 'topic')).toBe(before)
    await work.mergings.takeSide('topic', 'a.txt', 'both')
    await work.mergings.finish('topic')
  }
  expect(await work.mergings.in('topic')).toBeUndefined()
  const log = await desk.git('log', '--reverse', '--format=%s %an %cn', 'main..topic')
  expect(log.split('\n')).toEqual([
    'Change theirs Una Upstream Ada',
    ...['Two', 'Three', 'Four', 'Five'].map(it => `${it} Bea Ada`),
  ])
  expect(await show(desk.path, 'topic', 'a.txt')).toContain('main 5\ntopic 5\n')
  // Undo goes back from one conflict of the rebase to the one before, with the resolutions made there.
  await work.undo()
  expect(await desk.git('rev-parse', 'topic')).toBe(before)
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 5 } })
  expect((await rowsIn(work, 'topic')).map(it => it[2])).not.toContain('open')
  await work.undo()
  expect((await rowsIn(work, 'topic')).map(it => it[2])).toContain('open')
  await work.undo()
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 3 } })
  await work.redo()
  await work.redo()
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 5 } })
  await desk.git('gc', '-q', '--prune=now')
  await work.mergings.finish('topic')
  expect(await desk.git('log', '--reverse', '--format=%s', 'main..topic')).toBe('Change theirs\nTwo\nThree\nFour\nFive')
})

test('a message that is typed while a merge waits is kept through an update and a restart, and is used at its end', async () => {
  await using desk = await makePair(TWO)
  await begin(desk)
  const before = "Merge branch 'topic'"
  const keep = (message: string, theirs = desk.theirs) =>
    ask(desk.work, 'keep merging message', { branch: 'main', theirs, before, message })
  expect(await keep('Mine')).toEqual({ message: 'Mine' })
  // That of another merge is not meant for this one.
  expect(await keep('Another', desk.ours)).toEqual({})
  // Another window has not seen it yet.
  expect(await keep('Yours')).toEqual({ message: 'Mine' })
  await desk.work.mergings.takeSide('main', 'a.txt', 'ours')
  await commit(desk.path, 'main', { 'c.txt': 'c\n' })
  await desk.work.look()
  await desk.work.mergings.update('main')
  const work = await desk.restart()
  expect((await work.mergings.in('main'))?.message).toBe('Mine')
  for (const { path, state } of (await work.mergings.in('main'))?.files ?? [])
    if (state === 'open') await work.mergings.takeSide('main', path, 'ours')
  await work.mergings.finish('main')
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe('Mine')
  await work.undo()
  expect((await work.mergings.in('main'))?.message).toBe('Mine')
})

test('a message that was emptied is that of git again at the end', async () => {
  await using desk = await makePair({ base: { 'a.txt': 'a\n' }, ours: { 'a.txt': 'b\n' }, theirs: { 'a.txt': 'c\n' } })
  await begin(desk)
  for (const [before, message] of [
    ["Merge branch 'topic'", 'Mine'],
    ['Mine', ''],
  ] as const) {
    await ask(desk.work, 'keep merging message', { branch: 'main', theirs: desk.theirs, before, message })
    expect((await desk.work.mergings.in('main'))?.message).toBe(message)
  }
  await desk.work.mergings.takeSide('main', 'a.txt', 'ours')
  await desk.work.mergings.finish('main')
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe("Merge branch 'topic'")
})

test('the message typed for a commit of a rebase comes back with its conflict by undo, and is used then', async () => {
  await using desk = await makeChain()
  const { work, step } = desk
  await work.steps.do(step)
  await work.mergings.takeSide('topic', 'a.txt', 'both')
  await typeMessage(work, 'topic', 'Typed for one')
  await work.mergings.finish('topic')
  await work.undo()
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 1 }, message: 'Typed for one' })
  await work.mergings.finish('topic')
  await work.mergings.takeSide('topic', 'a.txt', 'both')
  await typeMessage(work, 'topic', 'Typed for three')
  await work.mergings.abort('topic')
  await work.undo()
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 3 }, message: 'Typed for three' })
  await work.mergings.finish('topic')
  await work.mergings.takeSide('topic', 'a.txt', 'both')
  await work.mergings.finish('topic')
  const made = await desk.git('log', '--reverse', '--format=%s %an', 'main..topic')
  expect(made.split('\n')).toEqual([
    'Typed for one Una Upstream',
    'Two Bea',
    'Typed for three Bea',
    'Four Bea',
    'Five Bea',
  ])
})

test('a rebase is aborted in its middle, and the branch is where it was', async () => {
  await using desk = await makeChain()
  const { work, step } = desk
  const before = await desk.git('rev-parse', 'topic')
  await work.steps.do(step)
  await work.mergings.takeSide('topic', 'a.txt', 'ours')
  // A resolution equal to the existing content makes no commit.
  await work.mergings.finish('topic')
  expect(await work.mergings.in('topic')).toMatchObject({ at: { number: 3 }, onto: 'main' })
  await work.mergings.abort('topic')
  expect(await desk.git('rev-parse', 'topic')).toBe(before)
  expect(await work.mergings.in('topic')).toBeUndefined()
})

test('a commit of a rebase of which nothing is left is skipped, and the end says which ones were left out', async () => {
  await using desk = await makeChain()
  const { work, step } = desk
  const preview = await work.steps.preview(step)
  expect(preview.notes).toEqual(['The 4 commits after it may have conflicts, too: resolve them one after the other.'])
  await work.steps.do(step, preview)
  const skip = async () => {
    expect((await work.mergings.in('topic'))?.nothingLeft).toBeUndefined()
    await work.mergings.takeSide('topic', 'a.txt', 'ours')
    expect((await work.mergings.in('topic'))?.nothingLeft).toContain('git rebase --skip')
    await typeMessage(work, 'topic', 'A message without a commit\n')
    return (await work.mergings.finish('topic')).words
  }
  expect(await skip()).toBe(
    'There are conflicts again, at commit 3 of 5. “Change theirs” changed nothing any more, and was left out.',
  )
  expect(await skip()).toContain('at commit 5 of 5. “Three” changed nothing any more')
  await desk.restart()
  await ask(desk.work, 'take side', { branch: 'topic', path: 'a.txt', side: 'ours' })
  expect((await ask(desk.work, 'finish merging', { branch: 'topic' })).words).toBe(
    'Rebased topic onto main. 3 of 5 commits changed nothing any more, and were left out: “Change theirs”, “Three”, “Five”.',
  )
  expect(await desk.git('log', '--reverse', '--format=%s', 'main..topic')).toBe('Two\nFour')
})

test('a cherry-pick, a revert and a landing that are skipped make no commit, and say so', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const [, two = '', three = '', four = ''] = (await desk.git('rev-list', '--reverse', 'main..topic')).split('\n')
  const before = await desk.git('rev-parse', 'main')
  const skip = async () => {
    await work.mergings.takeSide('main', 'a.txt', 'ours')
    const { nothingLeft } = (await work.mergings.in('main')) ?? {}
    return [nothingLeft, (await work.mergings.finish('main')).words]
  }
  await work.steps.do({ step: 'cherry-pick', commits: [three], onto: 'main' })
  expect(await skip()).toEqual([
    'Nothing is left of this commit: it is left out, as with git cherry-pick --skip.',
    'Skipped the cherry-pick onto main. “Three” changed nothing any more, and was left out.',
  ])
  const source = { commit: await desk.git('rev-parse', 'topic~2'), words: 'three' }
  await work.steps.do({ step: 'land', source, onto: 'main' })
  // Beside the conflict, the landing brings a change that git has merged.
  await work.mergings.takeSide('main', 'a.txt', 'ours')
  expect(await work.mergings.in('main')).not.toHaveProperty('nothingLeft')
  await work.mergings.abort('main')
  await work.steps.do({ step: 'land', source: { commit: desk.theirs, words: 'topic~4' }, onto: 'main' })
  expect(await skip()).toEqual([
    'Nothing is left to land: no commit is made.',
    'Skipped the landing of topic~4 on main.',
  ])
  expect(await desk.git('for-each-ref', 'refs/forge/kept')).toBe('')
  expect(await desk.git('rev-parse', 'main')).toBe(before)
  await commit(desk.path, 'main', { 'a.txt': lines({ 1: 'main again' }) }, { message: 'Again' })
  await work.look()
  await work.steps.do({ step: 'revert', commits: [before], onto: 'main' })
  expect(await skip()).toEqual([
    'Nothing is left to revert: no commit is made, as with git revert --skip.',
    `Skipped the revert of ${before.slice(0, 8)} in main.`,
  ])
  expect(await desk.git('rev-parse', 'main^')).toBe(before)
  // What is left out without any conflict is said, too.
  await work.steps.do({ step: 'cherry-pick', commits: [two], onto: 'main' })
  const again = await work.steps.do({ step: 'cherry-pick', commits: [two, four], onto: 'main' })
  expect(again.words).toBe('Cherry-picked 2 commits onto main. “Two” changed nothing any more, and was left out.')
})

test('interrupted cherry-picks continue with the remaining commits', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const commits = (await desk.git('rev-list', '--reverse', 'main..topic')).split('\n')
  const done = await work.steps.do({ step: 'cherry-pick', commits: [commits[2] ?? '', commits[3] ?? ''], onto: 'main' })
  expect(done).toMatchObject({ merging: 'main' })
  expect(await work.mergings.in('main')).toMatchObject({
    kind: 'cherry-pick',
    at: { number: 1, of: 2, subject: 'Three' },
  })
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  await typeMessage(work, 'main', 'Three, here\n')
  const { words } = await work.mergings.finish('main')
  expect(words).toBe('Cherry-picked 2 commits onto main.')
  expect(await desk.git('log', '--reverse', '--format=%s %an', `${desk.ours}..main`)).toBe('Three, here Bea\nFour Bea')
})

test('the notice of a cherry-pick that had conflicts names its commit', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const three = await desk.git('rev-parse', 'topic~2')
  await work.steps.do({ step: 'cherry-pick', commits: [three], onto: 'main' })
  await work.mergings.takeSide('main', 'a.txt', 'theirs')
  expect((await work.mergings.finish('main')).words).toBe(`Cherry-picked ${three.slice(0, 8)} onto main.`)
})

test('a revert with conflicts waits in its branch, and is finished as one commit', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const [, , three = ''] = (await desk.git('rev-list', '--reverse', 'main..topic')).split('\n')
  await commit(desk.path, 'topic', { 'a.txt': lines({ 1: 'topic 1', 5: 'topic again', 9: 'topic 9' }) })
  await work.look()
  const step: Step = { step: 'revert', commits: [three], onto: 'topic' }
  const preview = await work.steps.preview(step)
  expect(preview).toMatchObject({ is: 'conflicts', conflicts: 1, message: expect.stringContaining('Revert "Three"') })
  expect(await work.steps.do(step, preview)).toMatchObject({ merging: 'topic' })
  expect(await work.mergings.in('topic')).toMatchObject({ kind: 'revert', ours: 'topic' })
  await work.mergings.takeSide('topic', 'a.txt', 'theirs')
  const { words } = await work.mergings.finish('topic')
  expect(words).toBe(`Reverted ${three.slice(0, 8)} in topic.`)
  expect(await desk.git('log', '-1', '--format=%s %an', 'topic')).toBe('Revert "Three" Ada')
  expect(await desk.git('show', 'topic:a.txt')).toBe(lines({ 1: 'topic 1' }).trimEnd())
  await work.undo()
  expect(await work.mergings.in('topic')).toMatchObject({ kind: 'revert' })
})

test('reverts wait in the middle for a conflict, and go on with the others; Abort drops all of them', async () => {
  await using desk = await makeChain()
  const { work } = desk
  const [, two = '', three = '', four = ''] = (await desk.git('rev-list', '--reverse', 'main..topic')).split('\n')
  const files = { 'a.txt': lines({ 1: 'topic 1', 5: 'topic again', 9: 'topic 9' }) }
  const before = await commit(desk.path, 'topic', files, { message: 'Again\n' })
  await work.look()
  const step: Step = { step: 'revert', commits: [four, three, two], onto: 'topic' }
  const begins = async () => {
    const preview = await work.steps.preview(step)
    expect(preview).toMatchObject({ is: 'conflicts', words: '1 file in conflict, at commit 2 of 3', commits: 3 })
    expect(preview.notes).toEqual(['The commit after it may have conflicts, too: resolve them one after the other.'])
    expect(await work.steps.do(step, preview)).toMatchObject({ merging: 'topic' })
    expect(await work.mergings.in('topic')).toMatchObject({
      kind: 'revert',
      reverts: `${three.slice(0, 8)} (Three)`,
      at: { number: 2, of: 3, subject: 'Three' },
      message: expect.stringContaining(`This reverts commit ${three}.`),
    })
  }
  await begins()
  await work.mergings.abort('topic')
  expect(await desk.git('rev-parse', 'topic')).toBe(before)
  await begins()
  await desk.restart()
  await ask(desk.work, 'take side', { branch: 'topic', path: 'a.txt', side: 'theirs' })
  await typeMessage(desk.work, 'topic', 'Not three\n')
  expect((await ask(desk.work, 'finish merging', { branch: 'topic' })).words).toBe('Reverted 3 commits in topic.')
  expect((await desk.git('log', '--format=%s %an', `${before}..topic`)).split('\n')).toEqual([
    'Revert "Two" Ada',
    'Not three Ada',
    'Revert "Four" Ada',
  ])
  expect(await desk.git('show', 'topic:a.txt')).toBe(lines({ 1: 'topic 1' }).trimEnd())
  expect(await desk.git('show', 'topic:b.txt')).toBe(lines().trimEnd())
  await desk.work.undo()
  expect(await desk.work.mergings.in('topic')).toMatchObject({ kind: 'revert', at: { number: 2 } })
  // One of which nothing is left is skipped, and the others are done.
  await desk.work.mergings.takeSide('topic', 'a.txt', 'ours')
  expect((await desk.work.mergings.finish('topic')).words).toBe(
    'Reverted 3 commits in topic. “Three” changed nothing any more, and was left out.',
  )
  expect(await desk.git('log', '--format=%s', `${before}..topic`)).toBe('Revert "Two"\nRevert "Four"')
})

// --- Oddities ---

test('changes beside the conflicts are listed as odd, and do not prevent the end', async () => {
  await using desk = await makePair(TWO)
  const { work } = desk
  await begin(desk)
  await work.mergings.takeSide('main', 'a.txt', 'both')
  await (await edit(work, 'main', 'b.txt')).type('and more\n')
  const merging = await work.mergings.in('main')
  expect(merging?.files).toContainEqual(
    expect.objectContaining({ path: 'b.txt', state: 'odd', words: expect.stringContaining('no conflict') }),
  )
  expect(merging).not.toHaveProperty('notYet')
  await work.mergings.finish('main')
})

test('changes in a file with conflicts, but far from them, are listed as odd', async () => {
  await using desk = await makePair({
    base: { 'a.txt': lines({}, 30) },
    ours: { 'a.txt': lines({ 5: 'ours' }, 30) },
    theirs: { 'a.txt': lines({ 5: 'theirs' }, 30) },
  })
  const { work, source } = desk
  const files = { 'a.txt': lines({ 5: 'ours and theirs', 25: 'slipped in' }, 30) }
  const result = await commit(desk.path, 'result', files, { parents: [desk.ours] })
  await work.mergings.begin('main', source, { result })
  expect((await work.mergings.in('main'))?.files).toContainEqual(
    expect.objectContaining({ path: 'a.txt', state: 'odd', words: 'changed beside its conflicts, too' }),
  )
})

test('a file resolved by hand with one side is resolved, and not odd', async () => {
  await using desk = await makePair({
    base: { 'a.txt': lines({}, 30), 'b.txt': lines({}, 3) },
    ours: { 'a.txt': lines({ 5: 'ours', 15: 'ours', 25: 'ours alone' }, 30), 'b.txt': lines({ 2: 'ours' }, 3) },
    theirs: { 'a.txt': lines({ 5: 'theirs', 15: 'theirs' }, 30), 'b.txt': lines({ 2: 'theirs' }, 3) },
  })
  const { work } = desk
  await begin(desk)
  await work.mergings.takeSide('main', 'b.txt', 'theirs')
  const taken = lines({ 5: 'theirs', 15: 'theirs', 25: 'ours alone' }, 30)
  const file = await edit(work, 'main', 'a.txt')
  await file.type(taken, 0, file.text.length)
  const merging = await work.mergings.in('main')
  expect(merging?.files.map(({ path, state }) => [path, state])).toEqual([
    ['a.txt', 'settled'],
    ['b.txt', 'settled'],
  ])
  expect(merging?.odd).toEqual([])
})

test('a merge can begin with earlier resolutions, also if git finds no conflict', async () => {
  await using desk = await makePair({ ...TWO, theirs: { 'b.txt': 'changed\n' } })
  const { work, source } = desk
  const result = await commit(
    desk.path,
    'result',
    { 'b.txt': 'otherwise\n', '.forge/session.json': '{}\n' },
    { parents: [desk.ours] },
  )
  await work.mergings.begin('main', source, { result, forklift: { run: 'run-1', stuck: 'Which one?' } })
  expect(await work.mergings.in('main')).toMatchObject({ forklift: { run: 'run-1', stuck: 'Which one?' } })
  await work.mergings.finish('main')
  expect(await filesOf(desk, 'main')).toEqual({
    'a.txt': lines({ 2: 'ours 2', 8: 'ours 8' }).trimEnd(),
    'b.txt': 'otherwise',
  })
  await work.undo()
  await work.undo()
  expect(await desk.git('for-each-ref', 'refs/forge/merging', 'refs/forge/drafts')).toBe('')
})

test('names of any bytes, and commit ids of 64 digits, are merged and resolved', async () => {
  const name = 'm\xfcll'
  const sides: Sides = {
    base: { a: 'one\n', d: 'd\n' },
    ours: { a: 'two\n', d: 'dd\n' },
    theirs: { a: 'three\n', d: null, 'd/in': 'in\n' },
  }
  await using desk = await makePair(sides, { bare: true, format: 'sha256' })
  const { work } = desk
  const source = { commit: desk.theirs, words: `x/${name}` }
  await work.steps.do({ step: 'merge', source, onto: 'main' })
  expect(await rowsIn(work)).toEqual([
    ['a', 'text', 'open'],
    ['d~HEAD', 'file/folder', 'open'],
  ])
  expect(await textOf(work, 'main', 'a')).toContain('>>>>>>> x/m\\xfcll\n')
  await work.mergings.takeSide('main', 'd~HEAD', 'both')
  await work.mergings.takeSide('main', 'a', 'theirs')
  await work.mergings.finish('main')
  expect(await filesOf(desk, 'main')).toEqual({ a: 'three', 'd/in': 'in', 'd~HEAD': 'dd' })
})

// --- The AI ---

const FILES_OF_TWO = { 'a.txt': lines({ 2: 'both 2', 8: 'both 8' }) }

/** Asks the AI to resolve all conflicts in main, and waits for the end of its turn. */
async function askForAll(work: Work): Promise<void> {
  await ask(work, 'ask for conflicts', { branch: 'main', paths: 'all' })
  await until(
    async () => (await ask(work, 'conversation', { at: { kind: 'branch', branch: 'main' } })).turn?.state !== 'running',
  )
}

test('an AI resolves conflicts as drafts, and is named; its conversation is committed with the merge', async () => {
  const model = new ScriptedModel([{ calls: [write('a.txt', FILES_OF_TWO['a.txt'])] }, { text: 'Settled.' }])
  await using desk = await makePair(TWO, { bare: true, models: modelsOf(model) })
  const { work } = desk
  await begin(desk)
  const marked = await desk.git('rev-parse', 'refs/forge/merging/main:a.txt')
  await askForAll(work)
  expect(JSON.stringify(model.requests[0])).toContain('a.txt` (text, 2 conflicts left)')
  // It is not asked for a commit message, as the merge has one.
  expect(model.requests).toHaveLength(2)
  expect(await desk.git('rev-parse', 'main')).toBe(desk.ours)
  expect((await work.mergings.in('main'))?.files).toEqual([
    expect.objectContaining({
      ...{ path: 'a.txt', left: 0 },
      by: { model: 'openai/scripted', oid: expect.any(String), before: marked, settled: 2, isChanged: false },
    }),
  ])
  const said = await ask(work, 'conversation', { at: { kind: 'branch', branch: 'main' } })
  expect(said.items.map(({ kind }) => kind)).toEqual(['user', 'call', 'text', 'end'])
  // Undo reverts the turn, and redo restores it.
  await work.undo()
  expect((await work.mergings.in('main'))?.files[0]).toMatchObject({ left: 2 })
  await work.redo()
  await work.mergings.finish('main')
  expect(await desk.git('rev-parse', 'main^1', 'main^2')).toBe(`${desk.ours}\n${desk.theirs}`)
  expect(await show(desk.path, 'main', 'a.txt')).toBe(FILES_OF_TWO['a.txt'].trimEnd())
  expect(await show(desk.path, 'main', '.forge/session.json')).toContain('Settled.')
})

test('an AI is asked for one conflict, by its line, and for no other', async () => {
  const model = new ScriptedModel([{ text: 'I look at it.' }])
  await using desk = await makePair(TWO, { bare: true, models: modelsOf(model) })
  const { work } = desk
  await begin(desk)
  const text = (await textOf(work, 'main', 'a.txt')) ?? ''
  const marks = [...text.matchAll(/^<<<<<<< /gm)].map(({ index }) => text.slice(0, index).split('\n').length)
  expect(marks).toHaveLength(2)
  const { text: request } = await work.mergings.requestFor('main', ['a.txt'], 1)
  expect(request).toContain(`the one that begins in line ${marks[1]}, number 2 of the 2 that are left`)
  expect(request).toContain('could not settle this file:\n\n- `a.txt` (text, 2 conflicts left)')
  expect((await work.mergings.requestFor('main', ['a.txt'])).text).not.toContain('begins in line')
  expect(await refusedBy(work.mergings.requestFor('main', ['a.txt'], 2))).toThrow('no such conflict left in a.txt')
  await ask(work, 'ask for conflicts', { branch: 'main', paths: ['a.txt'], only: 0 })
  await until(
    async () => (await ask(work, 'conversation', { at: { kind: 'branch', branch: 'main' } })).turn?.state !== 'running',
  )
  expect(JSON.stringify(model.requests[0])).toContain(`begins in line ${marks[0]}, number 1 of the 2`)
})

test('a file in which the AI has resolved more conflicts than it was asked to is to be reviewed', async () => {
  const model = new ScriptedModel([])
  await using desk = await makePair(TWO, { bare: true, models: modelsOf(model) })
  const { work } = desk
  await begin(desk)
  const marked = (await textOf(work, 'main', 'a.txt')) ?? ''
  const askFor = async (only: number | undefined, text: string) => {
    model.play([{ calls: [write('a.txt', text)] }, { text: 'Settled.' }])
    await ask(work, 'ask for conflicts', { branch: 'main', paths: ['a.txt'], ...(only !== undefined && { only }) })
    const at = { kind: 'branch', branch: 'main' } as const
    await until(async () => (await ask(work, 'conversation', { at })).turn === undefined)
    return (await work.mergings.in('main'))?.files[0]
  }
  // Asked for one of two, it settles both.
  const odd = { state: 'odd', left: 0, words: 'the AI has changed more of it than it was asked to' }
  expect(await askFor(0, FILES_OF_TWO['a.txt'])).toMatchObject(odd)
  await work.undo()
  // Asked for one of two, and then for the other one, it does just that.
  expect(await askFor(0, marked.replace(/^<{7}.*?^>{7}.*?\n/ms, 'both 2\n'))).toMatchObject({ state: 'open', left: 1 })
  expect(await askFor(0, FILES_OF_TWO['a.txt'])).toMatchObject({ state: 'settled', left: 0 })
})

test('a resolution of the user that the AI has changed without being asked to is to be reviewed', async () => {
  const model = new ScriptedModel([])
  const sides = { ...TWO, ours: { ...TWO.ours, 'b.txt': 'b of ours\n' } }
  await using desk = await makePair(sides, { bare: true, models: modelsOf(model) })
  const { work } = desk
  await begin(desk)
  const marked = (await textOf(work, 'main', 'a.txt')) ?? ''
  const resolveFirst = (text: string, words: string) => text.replace(/^<{7}.*?^>{7}.*?\n/ms, `${words}\n`)
  const askFor = async (paths: string[], only: number | undefined, calls: ReturnType<typeof write>[]) => {
    model.play([{ calls }, { text: 'Settled.' }])
    await ask(work, 'ask for conflicts', { branch: 'main', paths, ...(only !== undefined && { only }) })
    const at = { kind: 'branch', branch: 'main' } as const
    await until(async () => (await ask(work, 'conversation', { at })).turn === undefined)
    return await wordsOf('a.txt')
  }
  const wordsOf = async (at: string) => (await work.mergings.in('main'))?.files.find(({ path }) => path === at)?.words
  const odd = 'the AI has changed more of it than it was asked to'
  const mine = resolveFirst(marked, 'mine')
  await (await edit(work, 'main', 'a.txt')).type(mine, 0, marked.length)
  // In the same file: asked for the conflict that is left.
  const one = await askFor(['a.txt'], 0, [write('a.txt', resolveFirst(mine, 'of the AI'))])
  expect(one).not.toBe(odd)
  await work.undo()
  const both = await askFor(['a.txt'], 0, [write('a.txt', resolveFirst(mine, 'of the AI').replace('mine', 'its own'))])
  expect(both).toBe(odd)
  await work.undo()
  // In a file that it was not asked for.
  await work.mergings.takeSide('main', 'a.txt', 'ours')
  const other = [write('b.txt', 'b\n'), write('a.txt', lines({ 2: 'its own', 8: 'ours 8' }))]
  expect(await askFor(['b.txt'], undefined, other)).toBe(odd)
  // Until the user has changed it.
  const editor = await edit(work, 'main', 'a.txt')
  await editor.type('my', editor.text.indexOf('its own'), 'its'.length)
  expect(await wordsOf('a.txt')).not.toBe(odd)
})

test('the conversation during a waiting rebase is in the branch at its end', async () => {
  const settled = { name: 'write_file', arguments: { path: 'a.txt', content: lines({ 1: 'both 1', 5: 'main 5' }) } }
  const model = new ScriptedModel([{ calls: [settled] }, { text: 'Settled.' }])
  await using desk = await makePair(
    {
      base: { 'a.txt': lines() },
      ours: { 'a.txt': lines({ 1: 'main 1', 5: 'main 5' }) },
      theirs: { 'a.txt': lines({ 1: 'topic 1' }) },
    },
    { bare: true, models: modelsOf(model) },
  )
  const { work } = desk
  await commit(desk.path, 'topic', { 'b.txt': 'b\n' })
  await work.look()
  await work.steps.do({ step: 'rebase', branch: 'topic', onto: { commit: desk.ours, words: 'main' } })
  await ask(work, 'ask for conflicts', { branch: 'topic', paths: ['a.txt'] })
  await until(
    async () =>
      (await ask(work, 'conversation', { at: { kind: 'branch', branch: 'topic' } })).turn?.state !== 'running',
  )
  await work.mergings.finish('topic')
  expect(await show(desk.path, 'topic', 'b.txt')).toBe('b')
  expect(await show(desk.path, 'topic', '.forge/session.json')).toContain('Settled.')
})

test('an AI’s changes beside the conflicts are odd, and later changes by hand are not attributed to it', async () => {
  const calls = [write('a.txt', FILES_OF_TWO['a.txt']), write('b.txt', 'something else\n')]
  const model = new ScriptedModel([{ calls }, { text: 'Settled.' }])
  await using desk = await makePair(TWO, { bare: true, models: modelsOf(model) })
  const { work } = desk
  await begin(desk)
  await askForAll(work)
  const odd = (await work.mergings.in('main'))?.files.find(({ path }) => path === 'b.txt')
  expect(odd).toMatchObject({ state: 'odd', words: expect.stringContaining('no conflict') })
  await (await edit(work, 'main', 'a.txt')).type('mine\n')
  expect((await work.mergings.in('main'))?.files[0]).toMatchObject({ by: { isChanged: true } })
})

test('a turn continues with the resolutions, and its work before a stop can be kept', async () => {
  const model = new ScriptedModel([{ calls: [write('c.txt', 'c\n')] }, { text: 'And', error: new Error('It broke.') }])
  await using desk = await makePair(TWO, { bare: true, models: modelsOf(model) })
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'a.txt', 'settled 2\n')
  await askForAll(work)
  expect(await textOf(work, 'main', 'a.txt')).toContain('settled 2')
  expect(await refusedBy(work.mergings.finish('main'))).toThrow('did not end well')
  await work.chat.turns.end('main', true)
  expect(await textOf(work, 'main', 'c.txt')).toBe('c\n')
  expect((await work.mergings.in('main'))?.files[0]).toMatchObject({ left: 1 })
  await work.mergings.abort('main')
  expect(await textOf(work, 'main', 'c.txt')).toBeUndefined()
})

test('an undo of a turn that was kept in a waiting merge lets the turn wait again, with its changes', async () => {
  const model = new ScriptedModel([{ calls: [write('c.txt', 'c\n')] }, { text: 'And', error: new Error('It broke.') }])
  await using desk = await makePair(TWO, { bare: true, models: modelsOf(model) })
  const { work } = desk
  await begin(desk)
  await settleFirst(work, 'a.txt', 'settled 2\n')
  await askForAll(work)
  const turn = async () => (await ask(work, 'conversation', { at: { kind: 'branch', branch: 'main' } })).turn
  for (const isRedone of [false, true]) {
    if (isRedone) await work.redo()
    else await work.chat.turns.end('main', true)
    await until(async () => (await turn()) === undefined)
    expect(await textOf(work, 'main', 'c.txt')).toBe('c\n')
    expect(await work.draftsIn('main')).toContain('c.txt')
    expect((await work.undo()).words).toBe('undo: keep what scripted did in main')
    await until(async () => (await turn())?.state === 'unfinished')
    expect(await turn()).toMatchObject({ files: ['a.txt', 'c.txt'] })
    expect(await work.draftsIn('main')).toEqual(['a.txt'])
  }
  await work.chat.turns.end('main', false)
  expect(await textOf(work, 'main', 'c.txt')).toBeUndefined()
  expect(await textOf(work, 'main', 'a.txt')).toContain('settled 2')
})

// --- Kill -9 ---

const MERGER = join(import.meta.dir, 'merger.ts')

/** Runs a desk that merges, resolves, finishes and undoes in a loop, and kills it; returns what it reported as done. */
async function mergeUntilKilled(words: string[], milliseconds: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, MERGER, ...words], {
    env: { ...process.env, ...PLAIN, ...PERSON },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let said = ''
  for await (const piece of child.stdout) {
    if (said === '') setTimeout(() => child.kill('SIGKILL'), milliseconds)
    said += Buffer.from(piece).toString()
  }
  await child.exited
  return said.split('\n').slice(0, -1)
}

test('after kill -9 at any moment the merge waits with its resolutions, or is finished, or has not begun', async () => {
  await using desk = await makePair(TWO)
  await desk.work[Symbol.asyncDispose]()
  const random = randomFrom(Date.now())
  for (let round = 0; round < 6; round++) {
    const said = await mergeUntilKilled([desk.path, join(desk.folder, 'state'), desk.theirs], 100 + random.below(1200))
    const work = await desk.restart()
    const merging = await work.mergings.in('main')
    const [head, parents] = (await desk.git('log', '-1', '--format=%H,%P', 'main')).split(',')
    const written = said.findLast(line => line.startsWith('written'))?.split(' ')[1]
    const last = said.at(-1) ?? ''
    if (merging) {
      expect(head).toBe(desk.ours)
      if (last.startsWith('written')) expect(await textOf(work, 'main', 'a.txt')).toContain(`settled ${written}\n`)
      await work.mergings.takeSide('main', 'a.txt', 'theirs')
      await work.mergings.finish('main')
      expect(await desk.git('rev-parse', 'main^1', 'main^2')).toBe(`${desk.ours}\n${desk.theirs}`)
    } else if (head !== desk.ours) {
      expect(parents).toBe(`${desk.ours} ${desk.theirs}`)
      expect(await desk.git('show', 'main:a.txt')).toContain('settled')
    } else expect(last === 'finished' || last.startsWith('written')).toBe(false)
    expect(await desk.git('for-each-ref', 'refs/forge/merging', 'refs/forge/drafts')).toBe('')
    await work.steps
      .do({ step: 'move', branch: 'main', to: { commit: desk.ours, words: 'ours' } })
      .catch(() => undefined)
    await work[Symbol.asyncDispose]()
  }
  await desk.git('fsck', '--strict', '--no-dangling')
}, 120_000)
