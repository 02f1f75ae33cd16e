/** The double of a provider's cache behaves as providers document theirs. */
import { expect, test } from 'bun:test'
import { ModelCache, type Piece } from './model-cache.ts'

const piece = (bytes: string, mark?: Piece['mark']): Piece => ({ bytes, ...(mark && { mark }) })
const text = (letter: string, tokens: number) => letter.repeat(tokens * 3.6)

function makeCache(least?: number) {
  const clock = { now: 0 }
  return { cache: new ModelCache(() => clock.now, least), clock }
}

test('marked prefixes are read from the cache, and new ones written', () => {
  const { cache } = makeCache()
  const first = [piece(text('a', 1000), '1h'), piece(text('b', 500), '5m')]
  expect(cache.countMarked('m', first)).toEqual({ input: 1500, read: 0, write: { '5m': 500, '1h': 1000 } })
  const second = [
    piece(text('a', 1000), '1h'),
    piece(text('b', 500)),
    piece(text('c', 250), '5m'),
    piece(text('d', 50)),
  ]
  expect(cache.countMarked('m', second)).toEqual({ input: 1800, read: 1500, write: { '5m': 250, '1h': 0 } })
})

test('one changed byte invalidates everything after it', () => {
  const { cache } = makeCache()
  cache.countMarked('m', [piece(text('a', 100), '1h'), piece(text('b', 100), '5m')])
  expect(cache.countMarked('m', [piece(text('a', 100), '1h'), piece(text('B', 100), '5m')]).read).toBe(100)
  expect(cache.countMarked('m', [piece(text('A', 100), '1h'), piece(text('b', 100), '5m')]).read).toBe(0)
  expect(cache.countMarked('other', [piece(text('a', 100), '1h')]).read).toBe(0)
})

test('each mark lives for its lifetime, and longer when it is read', () => {
  const { cache, clock } = makeCache()
  const pieces = [piece(text('a', 100), '1h'), piece(text('b', 100), '5m')]
  cache.countMarked('m', pieces)
  clock.now = 200
  expect(cache.countMarked('m', pieces).read).toBe(200)
  clock.now = 490
  expect(cache.countMarked('m', pieces).read).toBe(200)
  clock.now = 900
  expect(cache.countMarked('m', pieces).read).toBe(100)
  clock.now = 5000
  expect(cache.countMarked('m', pieces).read).toBe(0)
})

test('the cache is searched at most 20 blocks back', () => {
  const { cache } = makeCache()
  const start = piece(text('a', 100), '5m')
  cache.countMarked('m', [start])
  const more = (count: number) => Array.from({ length: count }, (_, at) => piece(`block ${at}`))
  const read = (count: number) => cache.countMarked('m', [piece(start.bytes), ...more(count), piece('end', '5m')]).read
  expect(read(25)).toBe(0)
  expect(read(18)).toBe(100)
})

test('too short prefixes are silently not cached', () => {
  const { cache } = makeCache(1024)
  expect(cache.countMarked('m', [piece(text('a', 1000), '5m')]).write['5m']).toBe(0)
  expect(cache.countMarked('m', [piece(text('a', 1000), '5m')]).read).toBe(0)
})

test('without marks, a long common beginning is read in steps', () => {
  const { cache } = makeCache()
  cache.countAutomatic('m', [piece(text('a', 3000))])
  expect(cache.countAutomatic('m', [piece(text('a', 3000)), piece(text('b', 100))])).toMatchObject({
    input: 3100,
    read: 2944,
  })
  expect(cache.countAutomatic('m', [piece(text('a', 500))]).read).toBe(0)
})
