/** Related files: those that define what a file uses, and those that use what it defines. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asBytes } from '../../../../core/git/repository.ts'
import type { FileEntry } from '../../../../core/git/trees.ts'
import { CodeReader, type ReadOptions } from '../../../../forge/code/reader.ts'
import { CodeMap, openCodeMap } from '../../../../forge/tasks/context/map.ts'
import { offersAmong } from '../../../../forge/tasks/context/offers.ts'
import { TagStore } from '../../../../forge/tasks/context/tags.ts'
import { commit, type Files } from '../../../support/git.ts'
import { makeFolder, makePlace, type Place } from '../../../support/repository.ts'

const FILES: Files = {
  'src/tides.ts':
    "import { readChart } from './chart.ts'\nexport function nextTide(at: number): Tide {\n  return readChart(at)\n}\nexport type Tide = { at: number }\n",
  'src/chart.ts':
    "import { openLedger } from './ledger.ts'\nexport const readChart = (at: number) => openLedger(at)\nexport function drawChart(): void {}\n",
  'src/ledger.ts': 'export async function openLedger(at: number): Promise<void> {}\n',
  'src/page.ts': "import { nextTide } from './tides.ts'\nexport const showPage = () => nextTide(1)\n",
  'src/other.ts': 'export const nothingNear = 1\n',
  'tool.py':
    'from sea import read_water_level\n\nclass Gauge:\n    def measure(self):\n        return read_water_level()\n',
  'sea.py': 'def read_water_level(place=None):\n    return 1\n',
  'README.md': '# nextTide\n',
  'node_modules/x/index.js': 'export function nextTide() {}\n',
  'logo.ts': '\0export const openLedger = 1\n',
}

let place: Place
let tree = ''
let map: CodeMap
beforeAll(async () => {
  place = await makePlace()
  tree = await commit(place.path, 'main', FILES)
  map = openCodeMap(place.objects, { folder: place.folder })
})
afterAll(async () => {
  map[Symbol.dispose]()
  await place[Symbol.asyncDispose]()
})

const pathsNear = async (...own: string[]) => {
  const near = await map.near(tree, own)
  return {
    next: near
      .filter(it => it.isNext)
      .map(it => it.path)
      .sort(),
    further: near.filter(it => !it.isNext).map(it => it.path),
  }
}

test('files that define what a file uses, files that use what it defines, and what these use', async () => {
  expect(await pathsNear('src/tides.ts')).toEqual({ next: ['src/chart.ts', 'src/page.ts'], further: ['src/ledger.ts'] })
})

test('signatures and no bodies', async () => {
  const [chart] = (await map.near(tree, ['src/tides.ts'])).filter(({ path }) => path === 'src/chart.ts')
  expect(chart?.lines).toEqual(['export const readChart = (at: number)', 'export function drawChart(): void'])
  const [sea] = await map.near(tree, ['tool.py'])
  expect(sea).toEqual({ path: 'sea.py', isNext: true, lines: ['def read_water_level(place=None)'] })
})

test('a file that does not exist, or is no code, has nothing near', async () => {
  expect(await map.near(tree, ['src/new.ts', 'README.md'])).toEqual([])
})

test('the result is the same: rebuilt, from the file of an earlier process, and where that is broken', async () => {
  const first = await map.near(tree, ['src/tides.ts'])
  await using folder = await makeFolder()
  for (const round of ['made', 'kept', 'broken']) {
    if (round === 'broken') await writeFile(join(folder.path, 'tags-2.sqlite'), 'no database')
    using other = openCodeMap(place.objects, { folder: folder.path })
    expect(await other.near(tree, ['src/tides.ts'])).toEqual(first)
  }
})

test('after a commit, only what has changed is another', async () => {
  const next = await commit(place.path, 'later', { ...FILES, 'src/page.ts': 'export const showPage = 1\n' })
  const near = await map.near(next, ['src/tides.ts'])
  expect(near.map(({ path }) => path)).toEqual(['src/chart.ts', 'src/ledger.ts'])
  expect((await pathsNear('src/tides.ts')).next).toEqual(['src/chart.ts', 'src/page.ts'])
})

test('a map that has followed many commits says the same as a rebuilt one', async () => {
  await using folder = await makeFolder()
  using following = openCodeMap(place.objects, { folder: folder.path })
  const tide = FILES['src/tides.ts'] as string
  const changes: Files[] = [
    { 'src/ledger.ts': 'export const readChart = 1\n' },
    { 'src/ledger.ts': 'export async function openLedger(): Promise<void> {}\nexport const nextTide = 2\n' },
    { 'src/more.ts': "import { readChart } from './chart.ts'\nexport const drawMore = () => readChart(2)\n" },
    { 'src/tides.ts': tide.replaceAll('readChart', 'drawMore') },
    { 'src/chart.ts': 'export const nothing = 1\n' },
    { 'src/chart.ts': FILES['src/chart.ts'] as string, 'src/tides.ts': tide },
    { 'lib/ledger.ts': FILES['src/ledger.ts'] as string },
  ]
  const trees = [tree]
  let files = FILES
  for (const change of changes) {
    files = { ...files, ...change }
    trees.push(await commit(place.path, 'following', files))
  }
  // The map follows every change of the tree, also back to an earlier one or to another task's commit.
  for (const at of [0, 1, 2, 3, 4, 5, 6, 7, 3, 0, 6]) {
    const [own, it] = [['src/tides.ts', 'src/page.ts'], trees[at] as string]
    await using other = await makeFolder()
    using anew = openCodeMap(place.objects, { folder: other.path })
    expect(await following.near(it, own)).toEqual(await anew.near(it, own))
  }
})

test('a tree that is read ahead is read in the background until a step needs it', async () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`src/many${at}.kt`, `class Tide${at}\n`]))
  const next = await commit(place.path, 'many', many)
  await using folder = await makeFolder()
  const reader = new SlowReader(place.objects, folder.path)
  using ahead = new CodeMap(place.objects, reader, new TagStore(reader, folder.path))
  const reading = ahead.warm(next)
  await reader.begins
  const near = ahead.near(next, ['src/many1.kt'])
  // Objects are read in order: afterwards, the map knows that a step waits.
  await place.objects.info(next)
  reader.goOn()
  await Promise.all([reading, near])
  expect(reader.seen).toEqual([true, false, false])
})

/**
 * Waits before its first files until it may go on. `seen`: for each group of files, whether it is in the background.
 */
class SlowReader extends CodeReader {
  readonly seen: (boolean | undefined)[] = []
  readonly #begun = Promise.withResolvers<void>()
  readonly #going = Promise.withResolvers<void>()
  readonly begins = this.#begun.promise
  readonly goOn = this.#going.resolve

  override async factsOf(files: readonly FileEntry[], options: ReadOptions = {}) {
    this.seen.push(options.isBackground)
    this.#begun.resolve()
    await this.#going.promise
    return await super.factsOf(files, options)
  }
}

test('a test that defines nothing is near what it uses', async () => {
  const tested = await commit(place.path, 'tested', {
    ...FILES,
    'test/tides.test.ts': "import { nextTide } from '../src/tides.ts'\ntest('the next one', () => void nextTide(1))\n",
  })
  const near = await map.near(tested, ['src/tides.ts'])
  expect(near.filter(({ isNext }) => isNext).map(({ path }) => path)).toContain('test/tides.test.ts')
})

test('a name that many files define brings none of them near', async () => {
  const same = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [`src/same${at}.ts`, 'export function readChart() {}\n']),
  )
  const next = await commit(place.path, 'same', { ...FILES, ...same })
  const near = await map.near(next, ['src/tides.ts'])
  expect(near.map(({ path }) => path)).toEqual(['src/page.ts'])
})

test('what a file without a grammar offers, by its lines', async () => {
  const offersOf = async (path: string, text: string) => offersAmong(await map.code.factsOfText(asBytes(path), text))
  expect(
    await offersOf('a.kt', 'class Tide : Sea {\n    fun next(at: Int): Int {\n        return at\n    }\n}\n'),
  ).toEqual([
    { name: 'Tide', line: 'class Tide : Sea', at: 0, end: 5 },
    { name: 'next', line: '  fun next(at: Int): Int', at: 1, end: 4 },
  ])
  expect(await offersOf('a.md', '# A heading\n')).toEqual([])
})
