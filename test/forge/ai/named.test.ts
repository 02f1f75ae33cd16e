/** The definitions of names in a message, which the first request of a conversation lists. */
import { expect, test } from 'bun:test'
import { definitionsIn, filesNamed } from '../../../forge/ai/named.ts'
import { CodeReader } from '../../../forge/code/reader.ts'
import { commit } from '../../support/git.ts'
import { makePlace } from '../../support/repository.ts'

/** The definitions of a message's names in files, each as `name path line`. */
async function definitionsAmong(files: Record<string, string>, text: string): Promise<string[]> {
  await using place = await makePlace()
  using code = new CodeReader(place.objects, place.folder)
  const head = await commit(place.path, 'main', files)
  const tree = (await place.objects.info(`${head}^{tree}`))?.oid ?? ''
  const found = await definitionsIn(code, { tree, text, signal: new AbortController().signal })
  return found.map(({ name, path, line }) => `${name} ${path} ${line}`)
}

test('names are found where the syntax defines them, and not in comments, strings and calls', async () => {
  const files = {
    'a.py': '@cached\nasync def read_tide(place):\n    pass\n\nclass Tide:\n    def height(self):\n        pass\n',
    'a.ts': 'export default async function readTide(): void {}\nexport const highWater = 1\n',
    'a.go': 'package sea\n\nfunc (t Tide) Height() int {\n\treturn 1\n}\n',
    'a.rs': 'pub(crate) async fn read_wind() {}\n',
    // No keyword is in front of these names.
    'a.c': 'static char *\ntide_name(int at)\n{\n  return "class Tide";\n}\n',
    'Sea.java': 'class Sea {\n  private final int lowWater = 0;\n  int tideAt(int hour) { return lowWater; }\n}\n',
    'a.kt': 'fun tideTable(at: Int): Int = at\n',
    'b.ts': '/*\nclass Tide is here\n*/\nconst text = `\nfunction readTide() {}\n`\nreadTide(text)\n',
    'c.ts': 'function read() {\n  const highWater = 2\n  return highWater\n}\n',
    'notes.md': 'This function does what the class with the name says.\nclass Tide\n',
  }
  const text = `read_tide and readTide with a Height, height() and read_wind: what does highWater of Tide say,
    and \`tide_name\`, lowWater, tideAt and tideTable?`
  expect(await definitionsAmong(files, text)).toEqual([
    'lowWater Sea.java 2',
    'tideAt Sea.java 3',
    'tide_name a.c 2',
    'Height a.go 3',
    'tideTable a.kt 1',
    'read_tide a.py 2',
    'Tide a.py 5',
    'height a.py 6',
    'read_wind a.rs 1',
    'readTide a.ts 1',
    'highWater a.ts 2',
  ])
})

test('a word that may be one of the sentence means neither a method nor what a test defines', async () => {
  const files = {
    'src/again.ts': 'export const retry = 1\nclass A {\n  async replace() {}\n}\n',
    'test/again.ts': 'const retry = 2\n',
  }
  expect(await definitionsAmong(files, 'retry should replace what was there')).toEqual(['retry src/again.ts 1'])
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
