/** Where the names of a message are defined, which the first request of a conversation says. */
import { expect, test } from 'bun:test'
import { definitionsIn } from '../../../forge/ai/named.ts'
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
  const text = 'read_tide and readTide with a Height, height and read_wind: what does highWater of Tide say?'
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
