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
