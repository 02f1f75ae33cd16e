/** Differences between two trees, with file names of any bytes and a limit on the text. */
import { expect, test } from 'bun:test'
import { changesIn, diffTrees, lineBefore, patchOf } from '../../../core/git/diffs.ts'
import { writeBlob } from '../../../core/git/objects.ts'
import { type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { makePlace, type Place } from '../../support/repository.ts'

const text = (words: string): TreeChange => ({ mode: '100644', bytes: Buffer.from(words, 'latin1') })
const write = (place: Place, changes: Record<string, TreeChange>) =>
  writeTree(place.objects, undefined, new Map(Object.entries(changes)))

test('each path has its entries before and after, whatever bytes the path has', async () => {
  await using place = await makePlace()
  const odd = 'bytes\xff\n"\t'
  const from = await write(place, { [odd]: text('1'), gone: text('2'), same: text('3') })
  const to = await write(place, {
    [odd]: text('4'),
    same: text('3'),
    'new/one': { mode: '120000', bytes: Buffer.from('same') },
  })
  const changes = [...changesIn(await diffTrees(place.repository, from, to))]
  expect(changes.map(([path, before, after]) => [path, before?.mode, after?.mode])).toEqual([
    [odd, '100644', '100644'],
    ['gone', '100644', undefined],
    ['new/one', undefined, '120000'],
  ])
  expect([...changesIn(await diffTrees(place.repository, to, to))]).toEqual([])
})

test('a patch is limited in bytes, and marked as cut', async () => {
  await using place = await makePlace()
  const from = await write(place, { 'in/a': text('one\ntwo\n') })
  const to = await write(place, { 'in/a': text('one\n2\xff\n') })
  const whole = await patchOf(place.repository, from, to, { context: 0, limit: 10_000 })
  expect(whole.text).toEndWith('-two\n+2\xff\n')
  expect(whole.cut).toBe(false)
  const part = await patchOf(place.repository, from, to, { context: 0, limit: 40 })
  expect(part).toEqual({ text: whole.text.slice(0, 40), cut: true })
  const small = await patchOf(place.repository, from, to, { context: 0, limit: 10_000, biggestFile: '4' })
  expect(small.text).toContain('Binary files')
})

test('a line has its place in an earlier version, also where the lines above it, or it itself, have changed', async () => {
  await using place = await makePlace()
  const blob = (lines: string[]) => writeBlob(place.repository, Buffer.from(lines.map(line => `${line}\n`).join('')))
  const earlier = ['one', 'two', 'three', 'four', 'five', 'six', '@@ -1 +9 @@', 'eight']
  const later = ['zero', 'one', 'TWO', 'three', 'five', 'SIX', 'six and a half', '@@ -1 +9 @@', 'eight', 'nine']
  const [from, to] = [await blob(earlier), await blob(later)]
  const places = await Promise.all(later.map((_, at) => lineBefore(place.repository, from, to, at + 1)))
  const named = places.map((line, at) => `${later[at]}: ${earlier[line - 1]}`)
  expect(named).toEqual([
    ...['zero: one', 'one: one', 'TWO: two', 'three: three', 'five: five'],
    ...['SIX: six', 'six and a half: six', '@@ -1 +9 @@: @@ -1 +9 @@', 'eight: eight', 'nine: eight'],
  ])
  expect(await lineBefore(place.repository, from, from, 3)).toBe(3)
})
