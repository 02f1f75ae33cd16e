/** What globs of boundaries match, and what two of them have in common, compared with all short paths. */
import { expect, test } from 'bun:test'
import { commonPath, fits, folderOfGlob, type Glob, readGlob } from '../../../../forge/tasks/plan/globs.ts'
import { randomFrom } from '../../../support/random.ts'

const glob = (text: string): Glob => {
  const read = readGlob(text)
  if (typeof read === 'string') throw new Error(`${text} ${read}`)
  return read
}

test.each([
  ['src/**', 'src/a/b.ts', true],
  ['src/**', 'src', false],
  ['src/', 'src/a/b.ts', true],
  ['**', '.github/x', true],
  ['**/*.ts', 'a.ts', true],
  ['*.ts', 'a/b.ts', false],
  ['a/**/b', 'a/b', true],
  ['a/**/b', 'a/x/y/b', true],
  ['a**b', 'a/b', false],
  ['a**b', 'axb', true],
  ['./a', 'a', true],
  ['{a,b{c,d}}/x', 'bd/x', true],
  ['[!a-c]x', 'bx', false],
  ['[!a-c]x', 'dx', true],
  ['a?c', 'a/c', false],
  ['[ab', '[ab', true],
  ['app/[id]/page.tsx', 'app/[id]/page.tsx', true],
  ['app/[id]/page.tsx', 'app/i/page.tsx', true],
])('%s fits %s: %p', (text, path, does) => {
  expect(fits(glob(text), path)).toBe(does)
})

test.each(['/a', '!a', 'a\\b', 'a//b', 'a/../b', '{a', 'a}', '{a,b}'.repeat(7)])('%s is no glob', text => {
  expect(readGlob(text)).toBeString()
})

test('the folder of a glob is what its names have in front of any pattern', () => {
  expect(['src/a/*.ts', 'src/**', '**', 'src/a.ts', 'a.ts', 's*/x'].map(folderOfGlob)).toEqual([
    'src/a',
    'src',
    '',
    'src',
    '',
    '',
  ])
})

test('two globs have a path in common that fits both, wherever any does', () => {
  const names = ['a', 'b', 'c', 'ab', 'ba', 'bb', 'acb']
  const paths = names.flatMap(one => [
    one,
    ...names.flatMap(two => [`${one}/${two}`, ...names.map(it => `${one}/${two}/${it}`)]),
  ])
  const random = randomFrom(7)
  const pieces = ['a', 'b', 'ab', '*', 'a*', '*b', '?', '?b', '[ab]', '[!a]*', '{a,b}', '{a,*c}']
  const some = (): string => {
    const parts = Array.from({ length: 1 + random.below(2) }, () => random.pick(pieces))
    if (random.chance(0.4)) parts.splice(random.below(parts.length + 1), 0, '**')
    return parts.join('/')
  }
  for (let round = 0; round < 200; round++) {
    const [one, other] = [some(), some()]
    const [a, b] = [glob(one), glob(other)]
    const found = commonPath(a, b)
    const shared = paths.find(path => fits(a, path) && fits(b, path))
    // The shortest common path may be longer than all paths that are compared here.
    if (shared !== undefined) expect([one, other, found]).not.toEqual([one, other, undefined])
    if (found !== undefined)
      expect([one, other, found, fits(a, found), fits(b, found)]).toEqual([one, other, found, true, true])
  }
})

test('a glob fits what it fits elsewhere, too', () => {
  const random = randomFrom(11)
  const pieces = ['a', 'b*', '*', '?a', '[ab]*', '{a,b}x', '**']
  const names = ['a', 'b', 'ax', 'bx', 'ba', 'aa']
  for (let round = 0; round < 1000; round++) {
    const parts = Array.from({ length: 1 + random.below(3) }, () => random.pick(pieces))
    const path = Array.from({ length: 1 + random.below(3) }, () => random.pick(names)).join('/')
    // The glob ends with a name, since it does not matter whether `a/**` matches `a` itself.
    const text = `${parts.join('/')}/z`
    expect([text, path, fits(glob(text), `${path}/z`)]).toEqual([text, path, new Bun.Glob(text).match(`${path}/z`)])
  }
})
