/** Finding conflicts in a text, and the results of resolving them. */
import { describe, expect, test } from 'bun:test'
import { css } from '@codemirror/lang-css'
import { html } from '@codemirror/lang-html'
import { javascript } from '@codemirror/lang-javascript'
import { json } from '@codemirror/lang-json'
import { markdown } from '@codemirror/lang-markdown'
import { aroundConflicts } from '../../../../forge/desk/web/editor/conflict-language.ts'
import {
  chosen,
  firstConflictLine,
  outsideConflicts,
  parseConflicts,
  placesAfter,
  settling,
  wordsOfSettled,
} from '../../../../forge/desk/web/editor/conflict-regions.ts'

const BOTH_END = { ours: true, theirs: true }

function marked(ours: string, base: string, theirs: string, mark = 7): string {
  const line = (sign: string, words = '') => `${sign.repeat(mark)}${words}\n`
  return line('<', ' main') + ours + line('|', ' base') + base + line('=') + theirs + line('>', ' upstream/main')
}

const only = (text: string, mark = 7) => {
  const { regions, strays } = parseConflicts(text, mark)
  expect(strays).toEqual([])
  expect(regions).toHaveLength(1)
  return regions[0] as (typeof regions)[0]
}

describe('a conflict', () => {
  test('is what stands between its marks, with the lines of three sides', () => {
    const text = `one\n${marked('a\nb\n', 'x\n', 'c\n')}two\n`
    const region = only(text)
    expect(firstConflictLine(text, 7)).toBe(2)
    expect(firstConflictLine(text, 8)).toBeUndefined()
    expect(region).toMatchObject({ ours: 'a\nb\n', base: 'x\n', theirs: 'c\n' })
    expect(text.slice(region.from, region.to)).toStartWith('<<<<<<< main\n')
    expect(text.slice(region.from, region.to)).toEndWith('\n>>>>>>> upstream/main')
  })

  test('with empty sides is one', () => {
    expect(only(marked('', '', ''))).toMatchObject({ ours: '', base: '', theirs: '' })
    expect(only(marked('', 'x\n', 'c\n'))).toMatchObject({ ours: '', base: 'x\n', theirs: 'c\n' })
  })

  test('has marks of exactly that length: others are lines of the file', () => {
    const inside = marked('a\n', '', 'b\n')
    const region = only(marked(inside, '', '<<<<<<<<< nine\n', 8), 8)
    expect(region.ours).toBe(inside)
    expect(region.theirs).toBe('<<<<<<<<< nine\n')
    expect(parseConflicts(inside, 8)).toEqual({ regions: [], strays: [] })
  })

  test('is not begun by what only looks like a mark', () => {
    const text = 'Heading\n========\n =======\n=======x\n<<<<<<<\tx\nfoo <<<<<<< a\n'
    expect(parseConflicts(text, 7)).toEqual({ regions: [], strays: [] })
  })

  test('is not begun behind other separators of lines, which are characters of the text', () => {
    expect(parseConflicts('a\u2028<<<<<<< b\nc\r=======\n', 7)).toEqual({ regions: [], strays: [] })
  })

  test('may have lines that end with \\r\\n', () => {
    const text = marked('a\n', 'x\n', 'b\n').replaceAll('\n', '\r\n')
    expect(only(text)).toMatchObject({ ours: 'a\r\n', base: 'x\r\n', theirs: 'b\r\n' })
  })

  test('may end the file without a line end', () => {
    const text = marked('a\n', 'x\n', 'b\n').trimEnd()
    expect(only(text).to).toBe(text.length)
  })

  test('without the mark of its base is one without a base', () => {
    const region = only('<<<<<<< a\nours\n=======\ntheirs\n>>>>>>> b\n')
    expect(region).toMatchObject({ ours: 'ours\n', base: undefined, theirs: 'theirs\n' })
  })

  test('that is begun inside of another one leaves the first mark over', () => {
    const text = `<<<<<<< a\nlost\n${marked('a\n', '', 'b\n')}rest\n>>>>>>> b\n`
    const { regions, strays } = parseConflicts(text, 7)
    expect(regions.map(({ ours, theirs }) => [ours, theirs])).toEqual([['a\n', 'b\n']])
    expect(strays.map(({ line }) => line)).toEqual([1, 10])
  })

  test('without one of its markers is none: the remaining markers are reported by line', () => {
    const whole = marked('a\n', 'x\n', 'b\n').split('\n')
    expect(parseConflicts(whole.toSpliced(0, 1).join('\n'), 7).strays.map(({ line }) => line)).toEqual([2, 4, 6])
    expect(parseConflicts(whole.toSpliced(6, 1).join('\n'), 7).strays.map(({ line }) => line)).toEqual([1, 3, 5])
    expect(parseConflicts(whole.toSpliced(0, 1).join('\n'), 7).regions).toEqual([])
  })

  test('behind another one is a second one', () => {
    const text = marked('a\n', '', 'b\n') + marked('c\n', '', 'd\n')
    expect(parseConflicts(text, 7).regions.map(({ ours }) => ours)).toEqual(['a\n', 'c\n'])
  })
})

describe('settling a conflict', () => {
  const settled = (text: string, choice: 'ours' | 'theirs' | 'both', ends = BOTH_END) => {
    const { from, to, insert } = settling(text, only(text), choice, ends)
    return text.slice(0, from) + insert + text.slice(to)
  }

  test('puts one side or both in its place, and touches nothing else', () => {
    const text = `one\n${marked('a\n', 'x\n', 'b\n')}two\n`
    expect(settled(text, 'ours')).toBe('one\na\ntwo\n')
    expect(settled(text, 'theirs')).toBe('one\nb\ntwo\n')
    expect(settled(text, 'both')).toBe('one\na\nb\ntwo\n')
  })

  test('by an empty side leaves nothing', () => {
    const text = `one\n${marked('', 'x\n', 'b\n')}two\n`
    expect(settled(text, 'ours')).toBe('one\ntwo\n')
    expect(settled(text, 'both')).toBe('one\nb\ntwo\n')
  })

  test('at the end of the file ends it as the side does', () => {
    const text = `one\n${marked('a\n', 'x\n', 'b\n')}`
    expect(settled(text, 'ours', { ours: false, theirs: true })).toBe('one\na')
    expect(settled(text, 'theirs', { ours: false, theirs: true })).toBe('one\nb\n')
    expect(settled(text, 'both', { ours: true, theirs: false })).toBe('one\na\nb')
    expect(settled(`${text}two\n`, 'ours', { ours: false, theirs: false })).toBe('one\na\ntwo\n')
  })

  test('is told afterwards by what stands there', () => {
    const region = only(marked('a\n', 'x\n', 'b\n'))
    const words = ['a\n', 'b\n', 'a\nb\n', 'x\n', 'c\n', ''].map(now => wordsOfSettled(region, now))
    expect(words).toEqual(['Ours', 'Theirs', 'Both', 'Base', 'Edited', 'Neither'])
    expect(chosen(region, 'both')).toBe('a\nb\n')
  })
})

describe('the place of a conflict that is settled', () => {
  const FIRST = marked('a\nb\n', 'x\n', 'c\n')
  const SECOND = marked('d\n', 'y\n', 'e\n')
  const before = `one\n${FIRST}two\n${SECOND}three\n`

  const placesIn = (after: string) => {
    const { regions } = parseConflicts(before, 7)
    return placesAfter(before, regions, after).map(({ from, to }) => after.slice(from, to))
  }

  test('is that of the side that was taken', () => {
    for (const words of ['a\nb\n', 'c\n', 'a\nb\nc\n', 'other\n', ''])
      expect(placesIn(`one\n${words}two\n${SECOND}three\n`)).toEqual([words, SECOND])
  })

  test('is found where both are settled and lines were put in before them', () => {
    expect(placesIn('zero\nmore\none\nc\ntwo\nd\nthree\n')).toEqual(['c\n', 'd\n'])
  })

  test('is its own where all of many in a long file were settled at once', () => {
    const lines = Array.from({ length: 17_000 }, (_, index) => (index % 3 === 0 ? '}\n' : `line ${index}\n`))
    const isConflict = (index: number) => index % 400 === 7
    const conflicted = lines.map((line, index) =>
      isConflict(index) ? marked(`A ${index}\n`, line, `B ${index}\n`) : line,
    )
    const settled = lines.map((line, index) => (isConflict(index) ? `B ${index}\n` : line)).join('')
    const { regions } = parseConflicts(conflicted.join(''), 7)
    const places = placesAfter(conflicted.join(''), regions, settled)
    expect(places.map(({ from, to }) => settled.slice(from, to))).toEqual(settled.match(/B .*\n/g) ?? [])
  })

  test('goes along with what is typed at the end of the file', () => {
    expect(placesIn(`one\n${FIRST}two\nd\ne\nthree\nfour\n`)).toEqual([FIRST, 'd\ne\n'])
  })
})

test('what is code of a text with conflicts is all but the marks, the base and their side', () => {
  const codeOf = (text: string) =>
    outsideConflicts(text, 7)
      .map(({ from, to }) => text.slice(from, to))
      .join('')
  expect(codeOf(`a\n${marked('ours\n', 'base\n', 'theirs\n')}b\n`)).toBe('a\nours\nb\n')
  expect(codeOf(`a\n${marked('', 'base\n', 'theirs\n')}b\n`)).toBe('a\ntheirs\nb\n')
  expect(codeOf(marked('', 'base\n', ''))).toBe('')
  expect(codeOf('no conflict\n')).toBe('no conflict\n')
})

test('the marks of a conflict are no heading, also where it is all of a text', () => {
  for (const [ours, theirs] of [
    ['', 'theirs\n'],
    ['ours\n', ''],
    ['', ''],
  ] as const)
    for (const rest of ['', 'rest\n']) {
      const tree = aroundConflicts(markdown().language, 7).parser.parse(`${marked(ours, 'base\n', theirs)}${rest}`)
      expect(tree.toString()).not.toContain('Heading')
    }
})

test('the tree around a conflict at the end of a text is that of the whole text, so that no older colours stay', () => {
  const text = `plain\n${marked('ours\n', 'base\n', 'theirs\n')}`
  const tree = aroundConflicts(markdown().language, 7).parser.parse(text)
  expect([tree.length, tree.toString()]).toEqual([text.length, 'Document(Paragraph)'])
})

describe('behind a conflict at the beginning of a file the text is read as in a file without one', () => {
  const conflict = '<<<<<<< a\nours and more\n||||||| base\n=======\ntheirs\n>>>>>>> b\n'
  const cases = [
    [
      markdown(),
      '# Heading\n\nIt is **strong** here.\n',
      ['ATXHeading1', 'StrongEmphasis'],
      ['# Heading', '**strong**'],
    ],
    [javascript(), "\nlet one = 'two'\nlet three = 4\n", ['String', 'Number'], ["'two'", '4']],
    [css(), 'a { color: red }\nb { color: blue }\n', ['ValueName'], ['red', 'blue']],
    [html(), '<p>one</p>\n<script>let two = "three"</script>\n', ['Element', 'String'], ['<p>one</p>', '"three"']],
    [json(), '{ "one": 2, "three": true }\n', ['Number', 'True'], ['2', 'true']],
  ] as const
  for (const [{ language }, rest, names, wanted] of cases)
    test(`in ${language.name}`, () => {
      const text = `${conflict}${rest}`
      const found: string[] = []
      const tree = aroundConflicts(language, 7).parser.parse(text)
      tree.iterate({
        enter: ({ name, from, to }) => {
          if ((names as readonly string[]).includes(name)) found.push(text.slice(from, to))
        },
      })
      for (const words of wanted) expect(found).toContain(words)
    })
})
