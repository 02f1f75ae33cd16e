/** The files shown besides a task's own: those that import each other, and those that change together. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { asBytes } from '../../../../core/git/repository.ts'
import { type CodeMap, openCodeMap } from '../../../../forge/tasks/context/map.ts'
import { readInterfaceBy } from '../../../../forge/tasks/context/offers.ts'
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
  readInterface: readInterfaceBy(map.code),
})

test('what a file imports is shown by what it uses of it, and its importers by the lines that do', async () => {
  const related = await relatedTo(await map.near(head, ['src/tides.ts']), relating('src/tides.ts'))
  expect(related).toEqual([
    { path: 'src/chart.ts', how: 'imported', lines: ['export const readChart = (at: number)'] },
    { path: 'src/page.ts', how: 'importing', lines: ['3: export const showPage = () => nextTide(1)'] },
  ])
})

test('of a file that uses others, the classes that extend theirs are shown first, then what the task names', async () => {
  await using other = await makePlace()
  const uses = Array.from({ length: 6 }, (_, at) => `assert BadTide(${at})\n`).join('')
  const tree = await commit(other.path, 'main', {
    'pkg/tide.py': 'class TestTide:\n    pass\n\nclass BadTide:\n    pass\n\ndef next_tide():\n    pass\n',
    'pkg/wind.py': `from .tide import TestTide, BadTide, next_tide\n\n${uses}\nnext_tide()\n\nclass TestWind(Base, TestTide):\n    pass\n`,
  })
  using near = openCodeMap(other.objects, { folder: other.folder })
  const own = [asBytes('pkg/tide.py')]
  const of = {
    objects: other.objects,
    commit: tree,
    own,
    names: new Set(['next_tide']),
    readInterface: readInterfaceBy(near.code),
  }
  expect(await relatedTo(await near.near(tree, own), of)).toEqual([
    {
      path: asBytes('pkg/wind.py'),
      how: 'importing',
      lines: ['3: assert BadTide(0)', '4: assert BadTide(1)', '10: next_tide()', '12: class TestWind(Base, TestTide):'],
    },
  ])
})

test('names that many files of a package define relate no two of them', async () => {
  await using other = await makePlace()
  const kinds = ['Bool', 'Int', 'Uint', 'Text', 'Time']
  const value = (kind: string) => `package flag\n\nfunc (v ${kind}) Set(s string) error {\n\treturn nil\n}\n`
  const tree = await commit(other.path, 'main', {
    ...Object.fromEntries(kinds.map(kind => [`${kind.toLowerCase()}.go`, value(kind)])),
    'flag.go': 'package flag\n\nfunc Lookup(name string) {}\n',
    'slice.go': `${value('Slice')}\nfunc Slice() {\n\tLookup("x").Set("y")\n}\n`,
  })
  using near = openCodeMap(other.objects, { folder: other.folder })
  const own = [asBytes('slice.go')]
  const of = {
    objects: other.objects,
    commit: tree,
    own,
    names: new Set<string>(),
    readInterface: readInterfaceBy(near.code),
  }
  expect(await relatedTo(await near.near(tree, own), of)).toEqual([
    { path: asBytes('flag.go'), how: 'imported', lines: ['func Lookup(name string)'] },
  ])
})

test('what often changed in the same commits is named', async () => {
  expect(await companionsOf(relating('src/tides.ts'))).toEqual([{ path: 'docs/tides.md', together: 4, of: 5 }])
})

test('what changed together is counted anew after one more commit, and stays the same at the earlier one', async () => {
  await companionsOf(relating('src/tides.ts'))
  const next = await commit(
    place.path,
    'next',
    { 'src/tides.ts': '// 5\n', 'docs/tides.md': '# 5\n' },
    { parents: [head] },
  )
  const companions = (at: string) => companionsOf({ ...relating('src/tides.ts'), commit: at })
  expect(await companions(next)).toEqual([{ path: 'docs/tides.md', together: 5, of: 6 }])
  expect(await companions(head)).toEqual([{ path: 'docs/tides.md', together: 4, of: 5 }])
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
  ['src/A.kt', 'import org.tide.Chart', 'src/org/tide/Chart.kt', true],
])('%s with %j imports %s: %p', async (from, text, to, does) => {
  const { imports } = await readInterfaceBy(map.code)(asBytes(from), text)
  expect(doesImport(asBytes(from), imports, asBytes(to))).toBe(does)
})
