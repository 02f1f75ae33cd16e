/** Which files are shown beside those of a task: those that import each other, and those that change together. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { asBytes } from '../../../../core/git/repository.ts'
import { type CodeMap, openCodeMap } from '../../../../forge/tasks/context/map.ts'
import { companionsOf, doesImport, relatedTo } from '../../../../forge/tasks/context/related.ts'
import { commit, type Files } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

const FILES: Files = {
  'src/tides.ts':
    "import { readChart } from './chart.ts'\nexport function nextTide(at: number): Tide {\n  return readChart(at)\n}\nexport type Tide = { at: number }\n",
  'src/chart.ts': 'export const readChart = (at: number) => at\nexport function drawChart(): void {}\n',
  'src/page.ts': "import { nextTide } from './tides.ts'\n\nexport const showPage = () => nextTide(1)\n",
  'src/namesake.ts': 'const nextTide = 1\nexport const readChart2 = nextTide\n',
  'docs/tides.md': '# Tides\n',
}

let place: Place
let head = ''
let map: CodeMap
beforeAll(async () => {
  place = await makePlace()
  let files = FILES
  for (let at = 0; at < 5; at++) {
    files = {
      ...files,
      'src/tides.ts': `${FILES['src/tides.ts']}// ${at}\n`,
      ...(at > 1 && { 'docs/tides.md': `# ${at}\n` }),
    }
    head = await commit(place.path, 'main', files)
  }
  map = openCodeMap(place.objects, { folder: place.folder })
})
afterAll(async () => {
  map[Symbol.dispose]()
  await place[Symbol.asyncDispose]()
})

const relating = (...own: string[]) => ({
  objects: place.objects,
  commit: head,
  own: own.map(asBytes),
  names: new Set<string>(),
})

test('what a file imports is shown by what it uses of it, and its importers by the lines that do', async () => {
  const related = await relatedTo(await map.near(head, ['src/tides.ts']), relating('src/tides.ts'))
  expect(related).toEqual([
    { path: 'src/chart.ts', how: 'imported', lines: ['export const readChart = (at: number) => at'] },
    { path: 'src/page.ts', how: 'importing', lines: ['3: export const showPage = () => nextTide(1)'] },
  ])
})

test('what often changed in the same commits is named', async () => {
  expect(await companionsOf(relating('src/tides.ts'))).toEqual([{ path: 'docs/tides.md', together: 4, of: 5 }])
})

test.each([
  ['src/a.ts', "import { b } from './b.ts'", 'src/b.ts', true],
  ['src/a.ts', "import { b } from '../lib'", 'lib/index.ts', true],
  ['src/a.ts', "import { b } from './b.ts'", 'test/b.ts', false],
  ['src/a.js', "const b = require('./deep/b')", 'src/deep/b.js', true],
  ['pkg/a.py', 'from .b import c', 'pkg/b.py', true],
  ['pkg/a.py', 'from . import b, c', 'pkg/c.py', true],
  ['pkg/sub/a.py', 'from ..b import c', 'pkg/b.py', true],
  ['tests/test_a.py', 'from pkg.a import f', 'pkg/a.py', true],
  ['tests/test_a.py', 'import pkg.a as a', 'pkg/a.py', true],
  ['pkg/a.py', 'from collections import b', 'pkg/b.py', false],
  ['flag.go', 'package flag', 'bool.go', true],
  ['cmd/main.go', 'import (\n\t"example.com/x/internal/tide"\n)', 'internal/tide/read.go', true],
  ['cmd/main.go', 'import "fmt"', 'internal/tide/read.go', false],
  ['src/main.rs', 'mod tide;\nuse crate::chart::read;', 'src/tide.rs', true],
  ['src/main.rs', 'use crate::chart::read;', 'src/chart.rs', true],
  ['src/A.java', 'import org.tide.Chart;', 'src/org/tide/Chart.java', true],
  ['a.c', '#include "tide.h"', 'tide.h', true],
])('%s with %j imports %s: %p', (from, text, to, does) => {
  expect(doesImport(asBytes(from), text, asBytes(to))).toBe(does)
})
