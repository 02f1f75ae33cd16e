/** Searches for text in the files of a tree, limited to some folders and files. */
import { expect, test } from 'bun:test'
import { findText, type GrepMatch, textSearch } from '../../../core/git/grep.ts'
import { writeTree } from '../../../core/git/trees.ts'
import { makePlace } from '../../support/repository.ts'

const NAMES = [
  'a.ts',
  '*.ts',
  ':(top)a',
  '[ab].ts',
  'caf\xe9.ts',
  'caf\xc3\xa9.ts',
  'folder/a.ts',
  'folder2/a.ts',
  '-v',
]

test('text is searched in the given files and folders only, whatever their names are', async () => {
  await using place = await makePlace()
  const files = NAMES.map(name => [name, { mode: '100644', bytes: Buffer.from('needle\n') }] as const)
  const tree = await writeTree(place.objects, undefined, new Map(files))
  const found = async (where: { only?: string[]; besides?: string[] }) => {
    const matches: GrepMatch[] = []
    const question = { tree, words: 'needle', isRegex: false, matchCase: true }
    await findText(place.repository, await textSearch(place.repository, question), {
      signal: new AbortController().signal,
      onFound: it => matches.push(...it),
      ...where,
    })
    return matches.map(({ path }) => path).sort()
  }
  expect(await found({})).toEqual([...NAMES].sort())
  for (const name of NAMES) expect(await found({ only: [name] })).toEqual([name])
  expect(await found({ only: ['folder', 'a.ts'] })).toEqual(['a.ts', 'folder/a.ts'])
  expect(await found({ only: ['folder', 'folder2'], besides: ['folder'] })).toEqual(['folder2/a.ts'])
  expect(await found({ besides: NAMES.slice(0, -1) })).toEqual(['-v'])
})

/** Searches for an expression in files with these bytes, and gives `path:line:text` with the matches in brackets. */
async function foundIn(
  files: Record<string, string>,
  words: string,
  options: { isRegex?: boolean; matchCase?: boolean },
) {
  await using place = await makePlace()
  const entries = Object.entries(files).map(
    ([name, bytes]) => [name, { mode: '100644', bytes: Buffer.from(bytes, 'latin1') }] as const,
  )
  const tree = await writeTree(place.objects, undefined, new Map(entries))
  const found: string[] = []
  const question = await textSearch(place.repository, { tree, words, isRegex: true, matchCase: true, ...options })
  await findText(place.repository, question, {
    signal: new AbortController().signal,
    onFound: matches => {
      for (const { path, line, text, ranges } of matches) {
        const marked = ranges.toReversed().reduce((all, [from, to]) => {
          return `${all.slice(0, from)}[${all.slice(from, to)}]${all.slice(to)}`
        }, text)
        found.push(`${path}:${line}:${marked}`)
      }
    },
  })
  return found.sort()
}

const LINES = ['foo', 'foo bar  ', '', 'end foo']
const BOTH = { crlf: LINES.map(it => `${it}\r\n`).join(''), lf: LINES.map(it => `${it}\n`).join('') }

for (const [expression, lines] of [
  ['foo$', ['1:[foo]', '4:end [foo]']],
  ['^$', ['3:']],
  ['\\s+$', ['2:foo bar[  ]']],
  ['bar.*', ['2:foo [bar  ]']],
  ['foo[^,]*$', ['1:[foo]', '2:[foo bar  ]', '4:end [foo]']],
  ['^\\s*$', ['3:']],
  ['(?<=foo)$', ['1:foo', '4:end foo']],
] as const) {
  test(`${expression} finds the same in a file whose lines end in CRLF as in one with LF`, async () => {
    const expected = Object.keys(BOTH).flatMap(name => lines.map(it => `${name}:${it}`))
    expect(await foundIn(BOTH, expression, {})).toEqual(expected)
  })
}

const WORDS = {
  latin: 'Gr\xfc\xdfe\r\nGR\xdcSSE\n',
  utf: 'Gr\xc3\xbc\xc3\x9fe\n',
  windows: '\x93Gr\xfc\xdfe\x94 (1 \x80)\n',
}

for (const [words, options, found] of [
  ['Grüße', { isRegex: false }, ['latin:1:[Grüße]', 'utf:1:[Grüße]', 'windows:1:“[Grüße]” (1 €)']],
  [
    'grü',
    { isRegex: false, matchCase: false },
    ['latin:1:[Grü]ße', 'latin:2:[GRÜ]SSE', 'utf:1:[Grü]ße', 'windows:1:“[Grü]ße” (1 €)'],
  ],
  ['“.*” \\(1 €\\)', {}, ['windows:1:[“Grüße” (1 €)]']],
  ['r[üé]ß', {}, ['latin:1:G[rüß]e', 'utf:1:G[rüß]e', 'windows:1:“G[rüß]e” (1 €)']],
  ['[[:upper:]]r\\ü[ß\\]]', {}, ['latin:1:[Grüß]e', 'utf:1:[Grüß]e', 'windows:1:“[Grüß]e” (1 €)']],
  [
    '[[:upper:]é]r\\Ü',
    { matchCase: false },
    ['latin:1:[Grü]ße', 'latin:2:[GRÜ]SSE', 'utf:1:[Grü]ße', 'windows:1:“[Grü]ße” (1 €)'],
  ],
  ['(1 €)', { isRegex: false }, ['windows:1:“Grüße” [(1 €)]']],
  ['e$|ü', {}, ['latin:1:Gr[ü]ß[e]', 'utf:1:Gr[ü]ß[e]', 'windows:1:“Gr[ü]ße” (1 €)']],
] as const) {
  test(`${words} is found in files in Latin-1 and Windows-1252, too: ${JSON.stringify(options)}`, async () => {
    expect(await foundIn(WORDS, words, options)).toEqual([...found])
  })
}

test('letters that no Latin-1 text has are looked for in UTF-8 alone', async () => {
  const files = { utf: '\xe6\xbc\xa2 \xc3\xa9\n', latin: 'caf\xe9\n' }
  expect(await foundIn(files, '漢', { isRegex: false })).toEqual(['utf:1:[漢] é'])
  expect(await foundIn(files, 'é', { isRegex: false })).toEqual(['latin:1:caf[é]', 'utf:1:漢 [é]'])
})
