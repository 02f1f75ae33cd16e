/** What is typed or resolved between a step of a waiting merge and its undo or redo stays, or it is named. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { closeFile } from '../../../../forge/desk/branches/places.ts'
import type { WholeSide } from '../../../../forge/desk/contract/merging.ts'
import { ask, edit, textOf } from '../../../support/desk.ts'
import { commit, type Files, show } from '../../../support/git.ts'
import { lines, makePair, type Pair, rowsIn } from '../../../support/merging.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, ScriptedModel, write } from '../../../support/scripted-model.ts'

setDefaultTimeout(120_000)

/** Two conflicts in a.txt, one in b.txt, and one of two binary files. Only topic changes d.txt, and no side c.txt. */
const SIDES = {
  base: { 'a.txt': lines(), 'b.txt': 'base\n', 'c.txt': lines(), 'd.txt': lines(), p: 'base\0' },
  ours: { 'a.txt': lines({ 2: 'ours 2', 8: 'ours 8' }), 'b.txt': 'ours\n', p: 'ours\0' },
  theirs: {
    ...{ 'a.txt': lines({ 2: 'theirs 2', 8: 'theirs 8' }), 'b.txt': 'theirs\n', p: 'theirs\0' },
    'd.txt': lines({ 9: 'theirs 9' }),
  },
}
const SETTLED = lines({ 2: 'by the AI', 8: 'by the AI' })
const MAIN = { kind: 'branch', branch: 'main' } as const

async function makeDesk(): Promise<Pair> {
  const model = new ScriptedModel([{ calls: [write('a.txt', SETTLED)] }, { text: 'Settled.' }])
  return await makePair(SIDES, { bare: true, models: modelsOf(model) })
}

/** Replaces a part of a file by typing. */
async function type({ work }: Pair, path: string, from: string | RegExp, to: string): Promise<void> {
  const editor = await edit(work, 'main', path)
  const [found = ''] = editor.text.match(from) ?? []
  expect(found).not.toBe('')
  await editor.type(to, editor.text.indexOf(found), found.length)
  await closeFile(work.branches, MAIN, path)
}

const FIRST_CONFLICT = /^<{7} .*?^>{7}[^\n]*\n/ms
const read = ({ work }: Pair, path: string) => textOf(work, 'main', path)
const begin = ({ work, source }: Pair) => work.steps.do({ step: 'merge', source, onto: 'main' })
const finish = ({ work }: Pair) => work.mergings.finish('main')

async function resolve({ work }: Pair, side: WholeSide = 'theirs'): Promise<void> {
  for (const { path } of (await work.mergings.in('main'))?.files ?? []) await work.mergings.takeSide('main', path, side)
}

/** Lets the AI settle what is in conflict in a.txt. */
async function settle({ work }: Pair): Promise<void> {
  await ask(work, 'ask for conflicts', { branch: 'main', paths: ['a.txt'] })
  await until(async () => (await ask(work, 'conversation', { at: MAIN })).turn?.state !== 'running')
  await work.chat.turns.in('main')?.done
}

/** Commits to main as another program does. */
async function move(desk: Pair, path: string): Promise<void> {
  await commit(desk.path, 'main', { [path]: 'moved\n' }, { message: 'Moved\n' })
  await desk.work.look()
}

/** A rebase of main onto topic with a conflict in a.txt at each of two commits. */
async function beginRebase(desk: Pair): Promise<void> {
  const { work, ours, theirs } = desk
  await commit(desk.path, 'main', { 'a.txt': lines({ 2: 'ours 2', 5: 'ours 5', 8: 'ours 8' }) }, { parents: [ours] })
  const onto = await commit(desk.path, 'topic', { 'a.txt': lines({ 2: 'x', 5: 'x', 8: 'x' }) }, { parents: [theirs] })
  await work.look()
  await work.steps.do({ step: 'rebase', branch: 'main', onto: { commit: onto, words: 'topic' } })
}

/** Two more commits of main, newest first, that change other lines of what is typed in. */
async function twoMore({ path, work }: Pair): Promise<string[]> {
  const one = await commit(path, 'main', { 'c.txt': lines({ 9: 'one' }) }, { message: 'One\n' })
  const two = await commit(path, 'main', { 'e.txt': 'e\n' }, { message: 'Two\n' })
  await work.look()
  return [two, one]
}

type Case = { does: string; first?: (desk: Pair) => Promise<unknown>; act: (desk: Pair) => Promise<unknown> }

const CASES: Case[] = [
  { does: 'the begin of a merge', act: begin },
  { does: 'an abort', first: begin, act: ({ work }) => work.mergings.abort('main') },
  {
    does: 'the end of a merge',
    first: async desk => {
      await begin(desk)
      await resolve(desk)
    },
    act: finish,
  },
  {
    does: 'the end of a cherry-pick',
    first: async desk => {
      await desk.work.steps.do({ step: 'cherry-pick', commits: [desk.theirs], onto: 'main' })
      await resolve(desk)
    },
    act: finish,
  },
  { does: 'the begin of a rebase', act: beginRebase },
  {
    does: 'a step of a rebase to its next conflict',
    first: async desk => {
      await beginRebase(desk)
      await resolve(desk, 'ours')
    },
    act: async desk => expect((await finish(desk)).merging).toBe('main'),
  },
  {
    does: 'the end of a rebase',
    first: async desk => {
      await beginRebase(desk)
      await resolve(desk, 'ours')
      await finish(desk)
      await resolve(desk)
    },
    act: finish,
  },
  {
    does: 'an update of a merge',
    first: async desk => {
      await begin(desk)
      await resolve(desk)
      await move(desk, 'new.txt')
    },
    act: ({ work }) => work.mergings.update('main'),
  },
  {
    does: 'an update of a rebase',
    first: async desk => {
      await beginRebase(desk)
      await move(desk, 'new.txt')
    },
    act: ({ work }) => work.mergings.update('main'),
  },
  { does: 'what an AI settled', first: begin, act: settle },
  {
    does: 'a revert of several commits',
    act: async desk => {
      const { work } = desk
      await work.steps.do({ step: 'revert', commits: await twoMore(desk), onto: 'main' })
    },
  },
  {
    does: 'the end of a revert of several commits',
    first: async desk => {
      const { work, ours } = desk
      const commits = await twoMore(desk)
      await commit(desk.path, 'main', { 'a.txt': lines({ 2: 'later 2', 8: 'ours 8' }) })
      await work.look()
      await work.steps.do({ step: 'revert', commits: [...commits, ours], onto: 'main' })
      expect(await work.mergings.in('main')).toMatchObject({ at: { number: 3, of: 3 } })
      await resolve(desk)
    },
    act: finish,
  },
  {
    does: 'a squash',
    act: async desk => {
      const rewriting = { do: 'squash', commits: await twoMore(desk), isFixup: false } as const
      await desk.work.steps.do({ step: 'rewrite', branch: 'main', rewriting })
    },
  },
]

for (const { does, first, act } of CASES)
  test(`what is typed after ${does} stays at its undo, its redo and the next undo`, async () => {
    await using desk = await makeDesk()
    const { work } = desk
    await first?.(desk)
    await act(desk)
    const typed: string[] = []
    for (const [round, reverse] of [
      () => work.undo(),
      () => work.redo(),
      () => work.undo(),
      () => work.redo(),
    ].entries()) {
      // Only the first words are written into the repository before.
      for (const path of ['c.txt', 'd.txt']) await type(desk, path, `line ${round + 2}`, `typed ${round}`)
      typed.push(`typed ${round}`)
      if (round === 0) await work.flush()
      expect((await reverse()).words).not.toContain('goes with it')
      for (const path of ['c.txt', 'd.txt'])
        expect((await read(desk, path))?.match(/typed \d/g)?.join()).toBe(typed.join())
      await work.flush()
      expect((await work.describeBranches()).find(({ name }) => name === 'main')?.conflicts ?? []).toEqual([])
    }
    await desk.restart()
    expect((await read(desk, 'c.txt'))?.match(/typed \d/g)).toHaveLength(4)
  })

/** What an undo says of files of which something that was typed goes with a merge. */
const lost = (files: string) => `what was resolved or typed in ${files} goes with it, and comes back by Redo`

test('the undo of what an AI settled takes back nothing that was chosen or typed after it', async () => {
  await using desk = await makeDesk()
  const { work } = desk
  await begin(desk)
  await settle(desk)
  const [settled] = await ask(work, 'operations', { from: 0, count: 1 })
  await work.mergings.takeSide('main', 'b.txt', 'ours')
  await work.mergings.takeSide('main', 'p', 'both')
  await type(desk, 'a.txt', 'line 5', 'typed')
  await work.undo(settled?.id)
  expect(await rowsIn(work)).toEqual([
    ['a.txt', 'text', 'open'],
    ['b.txt', 'text', 'settled'],
    ['p', 'binary', 'settled'],
  ])
  expect(await read(desk, 'a.txt')).toContain('typed\n')
  expect((await work.mergings.in('main'))?.files[0]).not.toHaveProperty('by')
  await work.redo()
  expect(await read(desk, 'a.txt')).toBe(SETTLED.replace('line 5', 'typed'))
  expect((await work.mergings.in('main'))?.files.map(({ state }) => state)).not.toContain('open')
})

test('the undo of the begin of a merge keeps what was typed as drafts, and names the files whose resolutions go', async () => {
  await using desk = await makeDesk()
  const { work } = desk
  await begin(desk)
  await settle(desk)
  await resolve(desk)
  await type(desk, 'c.txt', 'line 5', 'typed')
  await type(desk, 'd.txt', 'theirs 9', 'typed')
  await work.flush()
  const rows = await rowsIn(work)
  const begun = (await ask(work, 'operations', { from: 0, count: 9 })).find(({ kind }) => kind === 'begin merge')
  expect((await work.undo(begun?.id)).words).toBe(
    `undo: begin to merge topic into main; ${lost('a.txt, b.txt, d.txt, p')}`,
  )
  expect((await work.describeBranches())[0]?.drafts).toEqual(['c.txt'])
  await type(desk, 'c.txt', 'line 6', 'more')
  await work.redo()
  expect(await rowsIn(work)).toEqual(rows)
  expect(await read(desk, 'c.txt')).toBe(lines({ 5: 'typed', 6: 'more' }))
  expect(await read(desk, 'd.txt')).toBe(lines({ 9: 'typed' }))
})

test('the undo of the begin of a merge names a file once that has a draft in conflict with another draft', async () => {
  await using desk = await makeDesk()
  const { work } = desk
  await begin(desk)
  const [begun] = await ask(work, 'operations', { from: 0, count: 9 })
  await type(desk, 'c.txt', 'line 5', 'typed')
  await ask(work, 'discard', { branch: 'main', paths: ['c.txt'] })
  await type(desk, 'c.txt', 'line 5', 'other')
  await work.undo()
  expect((await work.undo(begun?.id)).words).toBe(`undo: begin to merge topic into main; ${lost('c.txt')}`)
})

test('the redo of an end keeps a resolution that was changed since as a draft, and is refused with open conflicts', async () => {
  await using desk = await makeDesk()
  const { work } = desk
  await begin(desk)
  await resolve(desk)
  await finish(desk)
  await work.undo()
  await type(desk, 'a.txt', 'theirs 2', '<<<<<<< main\nours 2\n||||||| base\nline 2\n=======\ntheirs 2\n>>>>>>> topic')
  expect(await refusedBy(work.redo())).toThrow(
    'a.txt has open conflicts again: nothing was redone. Resolve them first.',
  )
  await type(desk, 'a.txt', FIRST_CONFLICT, 'both 2\n')
  await work.redo()
  expect(await show(desk.path, 'main', 'a.txt')).toContain('theirs 2')
  expect(await read(desk, 'a.txt')).toContain('both 2')
  await work.undo()
  expect(await read(desk, 'a.txt')).toContain('both 2')
})

test('an undo that can’t keep what was typed since is refused, and says where', async () => {
  await using desk = await makeDesk()
  const { work } = desk
  await begin(desk)
  await settle(desk)
  await type(desk, 'a.txt', 'by the AI', 'by hand')
  const refused = (path: string, done: string) =>
    `${path} was changed since, which can’t be merged with this: nothing was ${done}. Take that change back first.`
  expect(await refusedBy(work.undo())).toThrow(refused('a.txt', 'undone'))
  expect(await read(desk, 'a.txt')).toContain('by hand')
  await work.mergings.abort('main')
  await work.undo()
  await type(desk, 'd.txt', 'theirs 9', 'typed')
  expect(await refusedBy(work.redo())).toThrow(refused('d.txt', 'redone'))
  expect(await read(desk, 'd.txt')).toContain('typed')
})

test('an older operation of a merge is not undone in the next one', async () => {
  await using desk = await makeDesk()
  const { work } = desk
  await begin(desk)
  const [begun] = await ask(work, 'operations', { from: 0, count: 9 })
  await work.mergings.abort('main')
  await work.steps.do({ step: 'cherry-pick', commits: [desk.theirs], onto: 'main' })
  expect(await refusedBy(work.undo(begun?.id))).toThrow('What waits in main is not what did then')
})

test.each(['ours', 'base'] as const)(
  'what was typed in a version comes back by undo after a choice of %s',
  async other => {
    const sides = { base: { 'n.txt': 'base\n' }, ours: { 'n.txt': null }, theirs: { 'n.txt': 'theirs\n' } }
    await using desk = await makePair(sides)
    const { work } = desk
    const take = async (side: WholeSide) =>
      (await ask(work, 'take side', { branch: 'main', path: 'n.txt', side })).words
    const done = async () => (await ask(work, 'operations', { from: 0, count: 9 })).map(({ words }) => words)
    await begin(desk)
    expect(await take('theirs')).toBe('Resolved n.txt in main by theirs.')
    const begun = await done()
    await type(desk, 'n.txt', 'theirs', 'theirs, typed')
    expect(await take(other)).toBe('Discarded what was typed in n.txt in main.')
    expect(await take('theirs')).toBe('Resolved n.txt in main by theirs.')
    expect(await read(desk, 'n.txt')).toBe('theirs\n')
    const [discarded, chosen] = ['discard what was typed in n.txt in main', 'resolve n.txt in main by theirs']
    expect(await done()).toEqual([chosen, discarded, ...begun])
    // The same choice once more changes nothing.
    expect(await take('theirs')).toBeUndefined()
    expect((await work.undo()).words).toBe(`undo: ${chosen}`)
    expect((await work.undo()).words).toBe(`undo: ${discarded}`)
    expect(await read(desk, 'n.txt')).toBe('theirs, typed\n')
    expect(await rowsIn(work)).toEqual([['n.txt', 'modify/delete', 'settled']])
    expect((await work.redo()).words).toBe(`redo: ${discarded}`)
    await work.undo()
    await finish(desk)
    expect(await show(desk.path, 'main', 'n.txt')).toBe('theirs, typed')
  },
)

test.each([
  ['ours', 'ours'],
  ['theirs', 'theirs'],
  ['base', 'the base'],
  ['both', 'both sides'],
] as const)(
  'an undo takes back alone the first choice of %s for a whole file, which is open again',
  async (side, by) => {
    const sides = (word: string): Files => ({ 'logo.png': `${word}\0`, 'a.txt': lines({ 2: word }) })
    await using desk = await makePair({ base: sides('base'), ours: sides('ours'), theirs: sides('theirs') })
    const { work } = desk
    await begin(desk)
    const choose = () => ask(work, 'take side', { branch: 'main', path: 'logo.png', side })
    await choose()
    await type(desk, 'a.txt', FIRST_CONFLICT, 'by hand\n')
    const words = `resolve logo.png in main by ${by}`
    expect((await work.undo(undefined, 'main')).words).toBe(`undo: ${words}`)
    const after = (state: string): [string, string, string][] => [
      ['a.txt', 'text', 'settled'],
      ['logo.png', 'binary', state],
    ]
    expect(await rowsIn(work)).toEqual(after('open'))
    expect(await read(desk, 'a.txt')).toBe(lines({ 2: 'by hand' }))
    expect(await refusedBy(finish(desk))).toThrow('1 conflict is left in logo.png')
    expect((await work.redo('main')).words).toBe(`redo: ${words}`)
    expect(await rowsIn(work)).toEqual(after('settled'))
    // The same choice once more changes nothing.
    expect(await choose()).toEqual({})
    await finish(desk)
  },
)

test('what was resolved in a text beside a folder of its name comes back by undo after a choice of a version', async () => {
  await using desk = await makePair({
    base: { a: lines() },
    ours: { a: null, b: lines({ 5: 'ours' }) },
    theirs: { a: lines({ 5: 'theirs' }), 'b/in': 'in\n' },
  })
  const { work } = desk
  await begin(desk)
  const path = 'b~HEAD'
  await type(desk, path, FIRST_CONFLICT, 'by hand\n')
  const { words } = await ask(work, 'take side', { branch: 'main', path, side: 'ours' })
  expect(words).toBe(`Discarded what was resolved in ${path} in main.`)
  expect(await read(desk, 'b')).toBe(lines({ 5: 'ours' }))
  expect((await work.undo()).words).toBe(`undo: discard what was resolved in ${path} in main`)
  expect(await read(desk, path)).toBe(lines({ 5: 'by hand' }))
})
