/** The definitions of names in a message, which the first request of a conversation lists. */
import { expect, test } from 'bun:test'
import { definitionsIn, filesNamed } from '../../../forge/ai/named.ts'
import { commit } from '../../support/git.ts'
import { makePlace } from '../../support/repository.ts'

test('names are found where a line defines them, and not in a sentence that has such words', async () => {
  await using place = await makePlace()
  const head = await commit(place.path, 'main', {
    'a.py': '@cached\nasync def read_tide(place):\n    pass\n\nclass Tide:\n    def height(self):\n        pass\n',
    'a.ts': 'export default async function readTide(): void {}\nexport const highWater = 1\n',
    'a.go': 'func (t Tide) Height() int {\n',
    'a.rs': 'pub(crate) async fn read_wind() {}\n',
    'notes.md': 'This function does what the class with the name says.\n',
  })
  const text = 'read_tide and readTide with a Height, height() and read_wind: what does highWater of Tide say?'
  const found = await definitionsIn(place.objects, {
    tree: (await place.objects.info(`${head}^{tree}`))?.oid ?? '',
    text,
    signal: new AbortController().signal,
  })
  expect(found.map(({ name, path, line }) => `${name} ${path} ${line}`)).toEqual([
    'Height a.go 1',
    'read_tide a.py 2',
    'Tide a.py 5',
    'height a.py 6',
    'read_wind a.rs 1',
    'readTide a.ts 1',
    'highWater a.ts 2',
  ])
})

test('a word that may be one of the sentence means neither a method nor what a test defines', async () => {
  await using place = await makePlace()
  const head = await commit(place.path, 'main', {
    'src/again.ts': 'export const retry = 1\nclass A {\n  async function replace() {}\n}\n',
    'test/again.ts': 'const retry = 2\n',
  })
  const found = await definitionsIn(place.objects, {
    tree: (await place.objects.info(`${head}^{tree}`))?.oid ?? '',
    text: 'retry should replace what was there',
    signal: new AbortController().signal,
  })
  expect(found).toEqual([{ name: 'retry', path: 'src/again.ts', line: 1 }])
})

test('files are found by words that they are called by, with their tests, and not by words of any sentence', async () => {
  await using place = await makePlace()
  const head = await commit(place.path, 'main', {
    'uint_slice.go': '',
    'uint_slice_test.go': '',
    'docs/jws.rst': '',
    'src/jws.py': '',
    'tests/test_jws.py': '',
    'src/retry.ts': '',
    'src/retry.spec.ts': '',
    'CHANGES.rst': '',
    'src/index.ts': '',
    'src/the.ts': '',
    'test.js': '',
    '.forge/retry.ts': '',
  })
  const tree = (await place.objects.info(`${head}^{tree}`))?.oid ?? ''
  const by = async (text: string) => await filesNamed(place.objects, { tree, text })
  expect(await by('UintSlice should take the index, with tests.')).toEqual(['uint_slice.go', 'uint_slice_test.go'])
  expect(await by('Deprecate the JWS classes in CHANGES.rst')).toEqual([
    'CHANGES.rst',
    'docs/jws.rst',
    'src/jws.py',
    'tests/test_jws.py',
  ])
  expect(await by('A retry')).toEqual(['src/retry.spec.ts', 'src/retry.ts'])
  expect(await by('')).toEqual([])
})
