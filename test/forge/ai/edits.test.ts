/** A model's edits: each is made at its place or not at all, and nothing else in a file changes. */
import { expect, test } from 'bun:test'
import { applyEdits, countLines, inFormOf } from '../../../forge/ai/edits.ts'
import type { Rung } from '../../../forge/ai/places.ts'
import { type Random, randomFrom } from '../../support/random.ts'
import { HARD_EDITS } from './hard-edits.ts'

for (const { name, file, edits, expected } of HARD_EDITS)
  test(`a hard edit: ${name}`, () => {
    const before = Buffer.from(file as string)
    const bytes = Buffer.from(before)
    const answer = applyEdits(bytes, edits)
    expect(bytes).toEqual(before)
    if ('why' in expected) {
      if (!('refusals' in answer)) throw new Error(`It was made: ${answer.bytes}`)
      expect(answer.refusals.map(({ why }) => why)).toEqual([expected.why])
      expect(answer.refusals[0]?.text).toMatch(expected.says)
      return
    }
    if ('refusals' in answer) throw new Error(answer.refusals[0]?.text)
    expect(answer.bytes.toString('latin1')).toBe(Buffer.from(expected.file as string).toString('latin1'))
    expect(answer.made.map(({ rung }) => rung)).toEqual(expected.rungs)
  })

test('what is shown of a file with an edit that has no place is bounded', () => {
  const file = Buffer.from(`one two\n${'x one two three '.repeat(5000)}\n`.repeat(20))
  const answer = applyEdits(file, [{ search: `three two one\n${'one two\n'.repeat(1000)}`, replace: 'x' }])
  if (!('refusals' in answer)) throw new Error('It was made')
  expect(answer.refusals[0]?.text.length).toBeLessThan(10_000)
  const several = applyEdits(Buffer.from('a\n'.repeat(100_000)), [{ search: 'a', replace: 'b' }])
  expect('refusals' in several && several.refusals[0]?.text.length).toBeLessThan(500)
})

test('of many edits without a place, the first few are told of, and none is made', () => {
  const edits = Array.from({ length: 20 }, (_, at) => ({ search: at % 2 ? `missing ${at}` : 'a', replace: 'x' }))
  const answer = applyEdits(Buffer.from('a\n'), [...edits])
  expect('refusals' in answer && answer.refusals.map(({ edit }) => edit)).toEqual([1, 2, 3])
})

test('a hostile file takes time in proportion to its length', () => {
  const [size, length] = [2 << 20, 1 << 18]
  const hostile: [string, string][] = [
    ['a'.repeat(size), `${'a'.repeat(length)}b`],
    ['ab'.repeat(size / 2), `${'ab'.repeat(length / 2)}c`],
    ['a\n'.repeat(size / 2), `${'a\n'.repeat(length / 2)}b`],
    [' a\n'.repeat(size / 3), 'a\n'.repeat(length / 2)],
    [' a\n  a\n'.repeat(size / 7), 'a\n'.repeat(length / 2)],
    ['\n'.repeat(size), `${'\n'.repeat(length)}b`],
    [' '.repeat(size), `${' '.repeat(length)}b`],
    ['a '.repeat(size / 2), `${'a '.repeat(length / 2)}b`],
    ['“'.repeat(size / 3), `${'"'.repeat(length)}b`],
    ['\\'.repeat(size), `${'\\n'.repeat(length / 2)}b`],
  ]
  const began = performance.now()
  for (const [file, search] of hostile)
    expect('refusals' in applyEdits(Buffer.from(file), [{ search, replace: 'a replacement of some length' }])).toBe(
      true,
    )
  // The edits take two seconds on a slow machine; in quadratic time they would take hours.
  expect(performance.now() - began).toBeLessThan(60_000)
}, 120_000)

test('lines that came and went are counted, and what moved is not always both', () => {
  const count = (before: string, after: string) => countLines(Buffer.from(before), Buffer.from(after))
  expect(count('', 'a\nb\n')).toEqual({ added: 2, deleted: 0 })
  expect(count('a\nb\nc', 'a\nc')).toEqual({ added: 0, deleted: 1 })
  expect(count('a\nb\nc\nd\n', 'x\nb\ny\nd\nz\n')).toEqual({ added: 3, deleted: 2 })
  expect(count('a\nb\n', 'b\na\n')).toEqual({ added: 1, deleted: 1 })
})

test('a new text has the form of the old one where that is one', () => {
  const formed = (old: string, text: string) => inFormOf(Buffer.from(old), text).bytes.toString()
  expect(formed('a\r\nb\r\n', 'x\ny\n')).toBe('x\r\ny\r\n')
  expect(formed('a\r\nb\n', 'x\ny\n')).toBe('x\ny\n')
  expect(formed('a\nb\n', 'x\r\ny\r\n')).toBe('x\r\ny\r\n')
  expect(formed('a\r\nb\r\n', 'x\r\ny\n')).toBe('x\r\ny\n')
  expect(formed('\ufeffa\r\n', 'x\n')).toBe('\ufeffx\r\n')
  expect(formed('\ufeffa', '\ufeffx')).toBe('\ufeffx')
})

// --- Random files, and a slow reference that is right ----------------------------------------------------------------

const WORDS = ['a', 'b', 'ab', '}', '"q" - x', '“q” — x', "it's", 'it’s', '', '']
const INDENTS = ['', '  ', '    ', '\t', '\t\t']
const pickLine = (random: Random) => {
  const word = random.pick(WORDS)
  const indent = random.chance(0.6) ? '' : random.pick(INDENTS)
  const blanks = random.chance(0.15) ? random.pick([' ', '\t', '  ']) : ''
  return `${indent}${word}${blanks}`
}
const pickFile = (random: Random) => {
  const end = random.pick(['\n', '\r\n', undefined])
  const lines = Array.from(
    { length: 1 + random.below(9) },
    () => pickLine(random) + (end ?? random.pick(['\n', '\r\n'])),
  )
  const text = lines.join('')
  const bom = random.chance(0.1) ? '\ufeff' : ''
  return Buffer.from(bom + (random.chance(0.2) ? text.replace(/\r?\n$/, '') : text))
}

/** Some lines of the file as a model may send them: exact, or slightly different. */
const pickSearch = (random: Random, file: Buffer): string => {
  const lines = linesOf(file.toString().replace(/^\ufeff/, ''))
  const first = random.below(lines.length)
  let block = lines.slice(first, first + 1 + random.below(3)).join('')
  if (random.chance(0.5)) block = block.replaceAll('\r\n', '\n')
  if (random.chance(0.3)) block = block.replace(/[ \t]+(?=\r?\n)/g, '')
  if (random.chance(0.1)) block = block.replace(/(?=\r?\n)/, '  ')
  if (random.chance(0.2)) block = block.replace(/^(?=[^\s])/gm, random.pick(['  ', '\t', '    ']))
  if (random.chance(0.2)) block = block.replace(/^\t/gm, '    ')
  if (random.chance(0.2)) block = plainText(block)
  if (random.chance(0.1)) block = `${block}${random.pick(WORDS)}`
  if (random.chance(0.2)) block = block.replace(/\r?\n$/, '')
  return block
}
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
const plainText = (text: string) => text.replace(/[“”]/g, '"').replace(/’/g, "'").replace(/—/g, '-')
const withoutBlanks = (text: string) => text.replace(/[ \t]+(?=\n)/g, '')
const withEnd = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/** The lines, by index from 0, in which occurrences of a text begin. */
function places(file: string, text: string): number[] {
  const found: number[] = []
  const isWhole = (at: number) => file.slice(Math.max(at - 1, 0), at + 1) !== '\r\n'
  for (let at = file.indexOf(text); at >= 0 && text !== ''; at = file.indexOf(text, at + 1))
    if (isWhole(at) && isWhole(at + text.length)) found.push(file.slice(0, at).split('\n').length - 1)
  return found
}

const columnsOf = (indent: string, width: number) =>
  [...indent].reduce((count, it) => (it === '\t' ? count - (count % width) + width : count + 1), 0)

/** As `places`, for whole lines with a common difference in indentation. */
function placesOfRows(file: string, text: string): number[] {
  const rows = (all: string) => linesOf(withEnd(all)).map(line => /^([ \t]*)(.*)\n$/.exec(line)?.slice(1) ?? ['', ''])
  const [there, wanted] = [rows(file), rows(text)]
  const fits = (at: number): boolean => {
    const pairs = wanted.map(([indent = '', rest = ''], row) => ({ indent, rest, row: there[at + row] }))
    if (!pairs.every(({ rest, row }) => row?.[1] === rest)) return false
    const indents = pairs.filter(({ rest }) => rest !== '').map(({ indent, row }) => [indent, row?.[0] ?? ''] as const)
    const isShifted = (longer: 0 | 1) => {
      const more = indents.map(pair => [pair[longer], pair[1 - longer] ?? ''] as const)
      const front = more[0]?.[0].slice(0, more[0][0].length - more[0][1].length) ?? ''
      return more.every(([long, rest]) => long === front + rest)
    }
    const isMoved = (width: number) =>
      new Set(indents.map(([from, to]) => columnsOf(to, width) - columnsOf(from, width))).size < 2
    // No match where one indentation of the search text stands for several different ones in the file.
    if (new Map(indents).size < new Set(indents.map(pair => pair.join('>'))).size) return false
    const isMixed = indents.flat().some(it => it.includes('\t')) && indents.flat().some(it => it.includes(' '))
    return (!isMixed && (isShifted(0) || isShifted(1))) || [2, 3, 4, 8].some(isMoved)
  }
  return there.flatMap((_, at) => (at + wanted.length <= there.length && fits(at) ? [at] : []))
}

/** The expected kind of match (rung) of a search text, and the lines in which it is found; undefined for none. */
function reference(file: Buffer, search: string): { rung: Rung; lines: number[] } | undefined {
  const exact = places(file.toString('latin1'), Buffer.from(search).toString('latin1'))
  if (exact.length > 0) return { rung: 'exact', lines: exact }
  if (search.trim() === '') return undefined
  const unified = withEnd(file.toString().replace(/^\ufeff/, '')).replaceAll('\r\n', '\n')
  const wanted = search.replaceAll('\r\n', '\n')
  const isStripped = /[ \t]$/.test(wanted)
  const bare = withoutBlanks(wanted).replace(/[ \t]+$/, '')
  const upToEnd = (all: string, text: string) => (isStripped ? places(all, `${text}\n`) : places(all, text))
  const rows = isStripped && bare.endsWith('\n') ? () => [] : placesOfRows
  const steps: [Rung, () => number[]][] = [
    ['line ends', () => places(unified, wanted)],
    ['trailing blanks', () => upToEnd(withoutBlanks(unified), bare)],
    ['indentation', () => rows(withoutBlanks(unified), bare)],
    ['punctuation', () => upToEnd(plainText(withoutBlanks(unified)), plainText(bare))],
    ['punctuation', () => rows(plainText(withoutBlanks(unified)), plainText(bare))],
  ]
  for (const [rung, find] of steps) {
    const lines = find()
    if (lines.length > 0) return { rung, lines }
  }
  return undefined
}

for (const seed of [1, 2, 3, 4])
  test(`a random edit is made in its one place or not at all (${seed})`, () => {
    const random = randomFrom(seed)
    const seen = new Map<string, number>()
    for (let round = 0; round < 5000; round++) {
      const file = pickFile(random)
      const search = pickSearch(random, file)
      if (search === '') continue
      // One line of the search text is changed; the others only locate it.
      const lines = linesOf(search)
      const at = random.below(lines.length)
      const [, indent = '', end = ''] = /^([ \t]*)[\s\S]*?(\r?\n)?$/.exec(lines[at] ?? '') ?? []
      const isBlank = (lines[at] ?? '').trim() === ''
      const replace = lines.map((line, index) => (index === at ? `${indent}NEW${end}` : line)).join('')
      const answer = applyEdits(file, [{ search, replace }])
      const expected = reference(file, search)
      const say = () => JSON.stringify({ file: file.toString(), search, replace, answer, expected })
      if (!expected || expected.lines.length > 1) {
        if (!('refusals' in answer)) throw new Error(`It was made: ${say()}`)
        if (answer.refusals[0]?.why !== (expected ? 'several' : 'none')) throw new Error(say())
        seen.set(expected ? 'several' : 'none', (seen.get(expected ? 'several' : 'none') ?? 0) + 1)
        continue
      }
      seen.set(expected.rung, (seen.get(expected.rung) ?? 0) + 1)
      // An empty line has no indentation to convert.
      if (isBlank && expected.rung !== 'exact') continue
      if ('refusals' in answer) throw new Error(`It was not made: ${say()}`)
      if (answer.made[0]?.rung !== expected.rung) throw new Error(`By another rung: ${say()}`)
      const [before, after] = [linesOf(file.toString('latin1')), linesOf(answer.bytes.toString('latin1'))]
      const changed = (expected.lines[0] ?? 0) + at
      const sameLines =
        before.length === after.length && before.every((line, index) => index === changed || after[index] === line)
      if (!sameLines) throw new Error(`Other lines have changed: ${say()}`)
      const [old = '', young = ''] = [before[changed], after[changed]]
      const endOf = (line: string) => /\r?\n$/.exec(line)?.[0] ?? ''
      if (!young.includes('NEW') || endOf(young) !== endOf(old)) throw new Error(`Another line end: ${say()}`)
    }
    // The random cases have to cover each of these kinds of match.
    for (const rung of ['exact', 'line ends', 'trailing blanks', 'indentation', 'punctuation', 'several', 'none'])
      expect(seen.get(rung) ?? 0).toBeGreaterThan(5)
  })

test('random edits with any replacement are spliced in as they are, one after the other', () => {
  const random = randomFrom(7)
  let made = 0
  for (let round = 0; round < 5000; round++) {
    const text = Array.from({ length: 2 + random.below(8) }, () => `${pickLine(random)}\n`).join('')
    const pickPart = (all: string) => {
      const from = random.below(all.length)
      return all.slice(from, from + 1 + random.below(12))
    }
    const edits = Array.from({ length: 1 + random.below(3) }, () => ({
      search: pickPart(text),
      replace: random.pick(['', 'NEW', '$&\n', 'x\ny\n', pickPart(text)]),
    }))
    let expected: string | undefined = text
    for (const { search, replace } of edits) {
      const first: number = expected?.indexOf(search) ?? -1
      const isOnce: boolean = first >= 0 && expected?.indexOf(search, first + 1) === -1 && search !== replace
      expected = isOnce ? expected?.slice(0, first) + replace + expected?.slice(first + search.length) : undefined
    }
    const answer = applyEdits(Buffer.from(text), edits)
    // An edit whose text is not found after the earlier edits may still be found in the original file.
    if (expected === undefined || 'refusals' in answer || answer.made.some(({ rung }) => rung !== 'exact')) continue
    made++
    if (answer.bytes.toString() !== expected)
      throw new Error(JSON.stringify({ text, edits, expected, bytes: answer.bytes.toString() }))
  }
  expect(made).toBeGreaterThan(500)
})
