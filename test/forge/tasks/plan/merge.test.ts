/** A merge in parts: what can be resolved, what can be chosen, and which files come together. */
import { describe, expect, test } from 'bun:test'
import { mergeTrees } from '../../../../core/git/merges.ts'
import type { CodeReader } from '../../../../forge/code/reader.ts'
import { type Conflicts, conflictsOf } from '../../../../forge/tasks/plan/conflicts.ts'
import { groupUnits } from '../../../../forge/tasks/plan/grouping.ts'
import { planOfMerge } from '../../../../forge/tasks/plan/merge.ts'
import { partsOf } from '../../../../forge/tasks/plan/parts.ts'
import { applyResolutions, conflictsLeft } from '../../../../forge/tasks/steps/resolutions.ts'
import { commit, type Files } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

type Sides = { base: Files; ours: Files; theirs: Files }

/** Makes both sides of a merge, and sorts its conflicts. */
async function conflictsIn(place: Place, { base, ours, theirs }: Sides) {
  const root = await commit(place.path, 'main', base)
  const sides = {
    ours: await commit(place.path, 'main', ours, { parents: [root] }),
    theirs: await commit(place.path, 'other', theirs, { parents: [root] }),
  }
  const { objects, repository } = place
  const merge = await mergeTrees(repository, sides.ours, sides.theirs, { objects, withBase: true })
  return { ...sides, conflicts: await conflictsOf(objects, merge) }
}

const LONG = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n'
const link = (content: string) => ({ mode: '120000' as const, content })
const takes = ({ choices }: Conflicts): Record<string, string[]> =>
  Object.fromEntries(choices.map(({ paths, choices: some }) => [paths.join(' '), some.map(({ take }) => take)]))

describe('a conflict without markers is a closed choice', () => {
  test.each<[string, Sides, Record<string, string[]>]>([
    [
      'a file that theirs has deleted',
      { base: { a: LONG }, ours: { a: `${LONG}ours\n` }, theirs: { a: null } },
      { a: ['ours', 'deleted'] },
    ],
    [
      'a file that ours has deleted',
      { base: { a: LONG }, ours: { a: null }, theirs: { a: `${LONG}theirs\n` } },
      { a: ['deleted', 'theirs'] },
    ],
    ['a binary file', { base: { a: '\0b' }, ours: { a: '\0o' }, theirs: { a: '\0t' } }, { a: ['ours', 'theirs'] }],
    ['a link', { base: { a: link('b') }, ours: { a: link('o') }, theirs: { a: link('t') } }, { a: ['ours', 'theirs'] }],
    [
      'a file that both have renamed',
      { base: { a: LONG }, ours: { a: null, b: LONG }, theirs: { a: null, c: LONG } },
      { 'a b c': ['ours', 'theirs', 'both'] },
    ],
    [
      'a file in a folder that ours has renamed',
      {
        base: { 'x/a': LONG, 'x/b': `${LONG}b\n` },
        ours: { 'x/a': null, 'x/b': null, 'y/a': LONG, 'y/b': `${LONG}b\n` },
        theirs: { 'x/new': 'new\n' },
      },
      { 'y/new x/new': ['ours', 'theirs'] },
    ],
  ])('%s', async (_, sides, wanted) => {
    await using place = await makePlace()
    const { conflicts } = await conflictsIn(place, { ...sides, base: { keep: 'k\n', ...sides.base } })
    expect(takes(conflicts)).toEqual(wanted)
    expect(conflicts.left).toEqual([])
    expect(conflicts.texts).toEqual([])
  })
})

test('a file in the way of a folder, names that no plan can have and very long conflicts are left for a person', async () => {
  await using place = await makePlace()
  const lines = (word: string) => `${word} ${'x'.repeat(100)}\n`.repeat(1000)
  const { conflicts } = await conflictsIn(place, {
    base: { keep: 'k\n', 'a*.txt': LONG, long: lines('base') },
    ours: { 'a*.txt': 'ours\n', long: lines('ours'), way: 'file\n' },
    theirs: { 'a*.txt': 'theirs\n', long: lines('theirs'), 'way/in': 'folder\n' },
  })
  expect(conflicts.left.map(({ paths }) => paths.join()).join(' ')).toMatch(/a\*\.txt.*long/)
  expect(conflicts.left.map(({ why }) => why)).toContain('its conflicts are longer than a model can answer')
  expect([...conflicts.texts, ...conflicts.choices]).toEqual([])
})

test('resolutions replace conflicts by their ids, keep line ends, and say what is missing or unknown', async () => {
  await using place = await makePlace()
  const text = (one: string, other: string) => `${one}\r\nkept\r\nkept\r\nkept\r\nkept\r\n${other}\r\n`
  const { ours, theirs, conflicts } = await conflictsIn(place, {
    base: { a: text('1', '2'), gone: LONG },
    ours: { a: text('o1', 'o2'), gone: `${LONG}more\n` },
    theirs: { a: text('t1', 't2'), gone: null },
  })
  const { objects } = place
  const [part] = await partsOf(objects, { ours, theirs }, conflicts)
  if (!part) throw new Error('There is no part')
  expect(part).toMatchObject({ texts: ['a'], ours: [ours], theirs: [theirs] })
  const resolve = (tree: string, some: Parameters<typeof applyResolutions>[3]) =>
    applyResolutions(objects, tree, part, some)
  const good = await resolve(conflicts.tree, [
    { id: 'M1', text: 'both\nof them' },
    { id: 'M2', take: 'both' },
    { id: 'C1', take: 'deleted' },
  ])
  const made = good.changes?.get('a')
  expect(made && 'bytes' in made ? Buffer.from(made.bytes).toString() : '').toBe(
    'both\r\nof them\r\nkept\r\nkept\r\nkept\r\nkept\r\no2\r\nt2\r\n',
  )
  expect(good.changes?.has('gone')).toBe(true)
  expect(good.changes?.get('gone')).toBeUndefined()
  const bad = await resolve(conflicts.tree, [{ id: 'M1' }, { id: 'M9', take: 'ours' }, { id: 'C1', take: 'both' }])
  expect(bad.complaints).toEqual([
    'M1: it has neither `take` nor `text`.',
    "C1 can't be resolved by both: take one of ours, deleted.",
    'There is no conflict M9 here.',
  ])
  expect(await conflictsLeft(objects, conflicts.tree, part)).toContain(
    '2 conflicts of this part are not resolved (M1, M2)',
  )
})

test('files that import each other, or that the same commits changed, come together within the bounds', async () => {
  const units = ['a/1', 'b/1', 'a/2', 'c/1', 'c/2'].map(path => ({ paths: [path], bytes: 10 }))
  const bounds = { files: 2, bytes: 100 }
  const links = [
    { one: 0, other: 1, weight: 3 },
    { one: 0, other: 2, weight: 1 },
    { one: 2, other: 3, weight: 2 },
  ]
  expect(groupUnits(units, links, bounds)).toEqual([[0, 1], [2, 3], [4]])
  expect(groupUnits(units, links, { files: 8, bytes: 15 })).toHaveLength(5)
  await using place = await makePlace()
  const py = (word: string) => ({ 'z/core.py': `import helper\n${word}\n`, 'a/helper.py': `${word}\n` })
  const rest = (word: string) =>
    Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`m${at}/x${at}.py`, `${word}\n`]))
  const root = await commit(place.path, 'main', { ...py('b'), ...rest('b') })
  await commit(place.path, 'main', py('o'), { parents: [root] })
  const ours = await commit(place.path, 'main', rest('o'))
  const theirs = await commit(place.path, 'other', { ...py('t'), ...rest('t') }, { parents: [root] })
  const merge = await mergeTrees(place.repository, ours, theirs, { objects: place.objects, withBase: true })
  const parts = await partsOf(place.objects, { ours, theirs }, await conflictsOf(place.objects, merge))
  expect(parts.find(({ texts }) => texts.includes('z/core.py'))?.texts).toContain('a/helper.py')
  const plan = planOfMerge('Merge other', { parts, left: [{ paths: ['odd'], why: 'odd' }] })
  expect(plan.summary).toContain('11 files in conflict, resolved in 2 parts.')
  expect(plan.summary).toContain("1 conflict can't be resolved so, and will be left for you.")
})

test('of thousands of files with one name, each comes together with those that it imports, within seconds', async () => {
  await using place = await makePlace()
  const base = await commit(place.path, 'main', { 'a.txt': 'a\n' })
  const names = Array.from({ length: 1000 }, (_, at) => [`p${at}/src/types.ts`, `p${at}/src/index.ts`]).flat()
  // Another folder's file, by its whole path.
  const more = ['z/last.ts', 'p7/src/other/only.ts']
  const texts = [...names, ...more].map(path => ({
    path,
    bytes: 5 << 10,
    count: 1,
    sides: { ours: base, theirs: base },
  }))
  const importsOf: Record<string, string[]> = { 'z/last.ts': ['other/only'] }
  const factsOf = async (files: { path: string }[]) =>
    files.map(({ path }) => ({ imports: importsOf[path] ?? ['./types', '../types', '@all/types', './index.js'] }))
  const code = { factsOf } as unknown as CodeReader
  const parts = await partsOf(place.objects, { ours: base, theirs: base }, { texts, choices: [] }, code)
  const partOf = (path: string) => parts.findIndex(part => part.texts.includes(path))
  for (const at of [0, 7, 500, 999]) expect(partOf(`p${at}/src/types.ts`)).toBe(partOf(`p${at}/src/index.ts`))
  expect(partOf('z/last.ts')).toBe(partOf('p7/src/other/only.ts'))
}, 20_000)
