/** The parts of a long file that a step sees: those its task is about in full, and the names of other definitions. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { asBytes } from '../../../../core/git/repository.ts'
import { CodeReader } from '../../../../forge/code/reader.ts'
import { excerptInWords, namesIn } from '../../../../forge/tasks/context/excerpt.ts'
import { type ReadInterface, readInterfaceBy } from '../../../../forge/tasks/context/offers.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

let place: Place
let code: CodeReader
let readInterface: ReadInterface
beforeAll(async () => {
  place = await makePlace()
  code = new CodeReader(place.objects, place.folder)
  readInterface = readInterfaceBy(code)
})
afterAll(async () => {
  code[Symbol.dispose]()
  await place[Symbol.asyncDispose]()
})

const body = (name: string) => [
  `    """Says ${name}."""`,
  ...Array.from({ length: 12 }, (_, at) => `    line_${at} = '${name}'`),
]
const functions = ['first', 'second', 'third', 'fourth', 'fifth'].flatMap(name => [
  '',
  '',
  '@cached',
  `def ${name}_of(text):`,
  ...body(name),
])
const MODULE = ['"""A module."""', 'import re', ...functions, ''].join('\n')

const shown = (path: string, text: string, words: string, whole = 500, parts = 20_000) =>
  excerptInWords(asBytes(path), 'may be written', Buffer.from(text), {
    names: namesIn(words),
    readInterface,
    whole,
    parts,
  })

test('a short file is whole', async () => {
  const { text, isWhole } = await shown('a.py', MODULE, 'third_of', 100_000)
  expect(isWhole).toBe(true)
  expect(text).toContain("line_11 = 'fifth'")
})

test('of a long one, the definition that the task names with what stands above it, and the names of the others', async () => {
  const { text, isWhole } = await shown('a.py', MODULE, 'Let fourth_of take bytes.')
  expect(isWhole).toBe(false)
  expect(text).toStartWith(
    'The file "a.py" may be written (87 lines; only parts of it are here):\nLines 1 to 25:\n```\n"""A module."""',
  )
  expect(text).toContain('\n@cached\ndef fourth_of(text):\n    """Says fourth."""\n')
  expect(text).toContain("    line_11 = 'fourth'\n")
  expect(text).not.toContain('"""Says third."""')
  expect(text).toMatch(/Lines \d+ to \d+ are left out; they define:\n```\ndef third_of\(text\)\n```/)
})

test('all lines are shown or said to be left out, each once', async () => {
  const { text } = await shown('a.py', MODULE, 'fifth_of')
  const ranges = [...text.matchAll(/^Lines (\d+) to (\d+)/gm)].map(
    ([, from, to]) => [Number(from), Number(to)] as const,
  )
  expect(ranges[0]?.[0]).toBe(1)
  for (const [at, [from]] of ranges.entries()) if (at > 0) expect(from).toBe((ranges[at - 1]?.[1] ?? 0) + 1)
  expect(ranges.at(-1)?.[1]).toBe(87)
})

test('of a text its top and its end are shown, and the places that have a name of the task', async () => {
  const lines = Array.from({ length: 300 }, (_, at) => (at === 150 ? 'Use `parse_timedelta` for it.' : `Line ${at}.`))
  const { text } = await shown('CHANGELOG.md', lines.join('\n'), 'Add an entry on parse_timedelta')
  expect(text).toContain('Line 0.')
  expect(text).toContain('Line 299.')
  expect(text).toContain('Use `parse_timedelta` for it.')
  expect(text).not.toContain('Line 100.')
})

test('no more is shown than there is room for', async () => {
  const { text } = await shown('a.py', MODULE, 'first_of second_of third_of fourth_of fifth_of', 500, 1500)
  expect(text.length).toBeLessThan(3000)
})
