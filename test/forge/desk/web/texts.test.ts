/** Functions of the page for names and texts, without a browser. */
import { describe, expect, test } from 'bun:test'
import { EditorState, Text } from '@codemirror/state'
import { asBytes } from '../../../../core/git/repository.ts'
import { foldersAbove } from '../../../../forge/desk/contract/paths.ts'
import { changeMarks, countsOf } from '../../../../forge/desk/web/editor/change-marks.ts'
import { mergedMessage } from '../../../../forge/desk/web/page/merged-messages.ts'
import { diffOf, isWithoutNewline, lineIn } from '../../../../forge/desk/web/review/diff.ts'
import { movedPosition } from '../../../../forge/desk/web/ui/kept-selection.ts'
import { markedPieces, readable, toName, typedName, visible } from '../../../../forge/desk/web/ui/names.ts'
import { age } from '../../../../forge/desk/web/ui/times.ts'
import { randomFrom } from '../../../support/random.ts'

describe('names', () => {
  test('are readable, whatever their bytes are', () => {
    expect(readable('plain.ts')).toBe('plain.ts')
    expect(readable(asBytes('Übung ☃.md'))).toBe('Übung ☃.md')
    expect(readable('latin-\xe9-1')).toBe('latin-\\xe9-1')
    expect(readable(asBytes('a\u202eb\nc'))).toBe('a\\u202eb\\nc')
  })

  test('keep the joiners of an emoji, and show those between letters', () => {
    const emoji = '👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 👩🏽\u200d💻'
    expect(visible(`\t${emoji}`)).toBe(`\t${emoji}`)
    expect(visible('pass\u200dword \u200d👩 👩\u200d')).toBe('pass\\u200dword \\u200d👩 👩\\u200d')
  })

  test('come back as the bytes that were typed', () => {
    expect(toName('Übung')).toBe(asBytes('Übung'))
    expect(readable(toName('日本語/ファイル.txt'))).toBe('日本語/ファイル.txt')
  })

  test('that can’t be typed whole keep what is not typed anew, and no escape becomes letters', () => {
    expect(typedName('a\\n/new.txt', 'a\n/', 'old.txt')).toBe('a\n/new.txt')
    expect(typedName('src/a\\nb.txt', 'src/', 'a\nb.txt')).toBe('src/a\nb.txt')
    expect(typedName('src/a\\nb.txt', 'src/', 'c.txt')).toBe('src/a\\nb.txt')
    expect(typedName('other/ü.txt', 'src/', 'a.txt')).toBe(asBytes('other/ü.txt'))
    expect(typedName('src/ new.txt ', 'src/')).toBe('src/new.txt')
    expect(typedName('src/ old.txt', 'src/', ' old.txt')).toBe('src/ old.txt')
    for (const [words, folder, name] of [
      ['src/a\\nb2.txt', 'src/', 'a\nb.txt'],
      ['src/\\xff2', 'src/', '\xff'],
      ['top/a\\n/new.txt', 'a\n/', 'old.txt'],
    ] as const)
      expect(() => typedName(words, folder, name)).toThrow('stands for a character that can’t be typed here')
  })

  test('are marked in whole characters', () => {
    const name = asBytes('aüb')
    expect(markedPieces(name, [[2, 3]])).toEqual([
      { text: 'a', isFound: false },
      { text: 'ü', isFound: true },
      { text: 'b', isFound: false },
    ])
  })

  test('have folders above them', () => {
    expect(foldersAbove('a/b/c.ts')).toEqual(['a', 'a/b'])
    expect(foldersAbove('c.ts')).toEqual([])
  })
})

describe('times', () => {
  test('are short, also by a clock that was set back', () => {
    const now = 1_000_000
    expect([age(now + 500, now), age(now - 59, now), age(now - 61, now), age(now - 7_200, now)]).toEqual([
      'now',
      'now',
      '1 min',
      '2 h',
    ])
  })
})

describe('a diff', () => {
  const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`)
  const shape = (before: string, after: string, ignoresBlanks = false) => {
    return diffOf(before, after, ignoresBlanks).parts.map(({ kind, lines }) => `${kind} ${lines.length}`)
  }

  test('of a new, an emptied and an unchanged text', () => {
    expect(diffOf('', 'a\nb\n', false)).toMatchObject({ added: 2, deleted: 0 })
    expect(diffOf('a\nb\n', '', false)).toMatchObject({ added: 0, deleted: 2 })
    // A short line between two changes is unchanged, as in git.
    expect(diffOf('a\nb\n', 'xa\nb\nc\n', false)).toMatchObject({ added: 2, deleted: 1 })
    expect(diffOf('a\n', 'a\n', false)).toMatchObject({ added: 0, deleted: 0 })
  })

  test('folds what is far from a change, and says what it is in', () => {
    const before = [...lines(30), '}', 'last'].join('\n')
    const { parts } = diffOf(before, before.replace('last', 'changed'), false)
    expect(parts.map(({ kind }) => kind)).toEqual(['fold', 'lines'])
    expect(parts[0]?.where).toBe('line 28')
    expect(shape(before, before.replace('line 15\n', 'line 15\nnew\n'))).toEqual(['fold 12', 'lines 7', 'fold 14'])
  })

  test('of a long text with changes all over has only their lines, here and in the marks of the editor', () => {
    // Most lines occur more than once, as in code.
    const before = Array.from({ length: 14_000 }, (_, at) => (at % 40 === 0 ? `f${at}() {` : `  line ${at % 300}`))
    const after = before.flatMap((line, at) => (at % 110 === 7 ? [line, '  new'] : at % 113 === 5 ? [] : [line]))
    const [one, other] = [before, after].map(it => `${it.join('\n')}\n`) as [string, string]
    const { added, deleted } = diffOf(one, other, false)
    expect({ added, deleted }).toEqual({ added: 128, deleted: 123 })
    const state = EditorState.create({ doc: other, extensions: changeMarks(Text.of(one.split('\n'))) })
    expect(countsOf(state)).toEqual({ added: 128, deleted: 123 })
  })

  test('of two long texts without a common line has each line once', () => {
    const of = (word: string) => `${Array.from({ length: 9_000 }, (_, at) => `${word} ${at}`).join('\n')}\n`
    const { added, deleted } = diffOf(of('a'), of('b'), false)
    expect({ added, deleted }).toEqual({ added: 9_000, deleted: 9_000 })
  })

  test('numbers its lines as they are in both texts', () => {
    const { parts } = diffOf('a\nb\nc\n', 'a\nx\ny\nc\n', false)
    expect(parts.flatMap(part => part.lines.map(({ kind, before, after }) => [kind, before, after]))).toEqual([
      ['same', 1, 1],
      ['deleted', 2, undefined],
      ['added', undefined, 2],
      ['added', undefined, 3],
      ['same', 3, 4],
    ])
  })

  test('has a last line whose line end came or went as another line, as git has it', () => {
    const seen = (before: string, after: string) => {
      const diff = diffOf(before, after, false)
      return diff.parts
        .flatMap(part => part.lines)
        .map(line => {
          const { kind, before, after } = line
          return `${kind} ${before ?? '-'} ${after ?? '-'}${isWithoutNewline(diff, line) ? ' \\' : ''}`
        })
    }
    const appended = ['same 1 1', 'same 2 2', 'added - 3']
    expect(seen('a\nb\n', 'a\nb\nc\n')).toEqual(appended)
    const continued = ['same 1 1', 'deleted 2 - \\', 'added - 2']
    expect(seen('a\nb', 'a\nb\nc')).toEqual([...continued, 'added - 3 \\'])
    expect(seen('a\nb', 'a\nb\nc\n')).toEqual([...continued, 'added - 3'])
    expect(seen('a\nb', 'a\nb\n')).toEqual(continued)
    expect(seen('a\nb\n', 'a\nb\nc')).toEqual(['same 1 1', 'same 2 2', 'added - 3 \\'])
    expect(seen('a\nb\n', 'a\nb')).toEqual(['same 1 1', 'deleted 2 -', 'added - 2 \\'])
    expect(seen('a\nb', 'x\nb')).toEqual(['deleted 1 -', 'added - 1', 'same 2 2'])
    expect(seen('a\nb\nc\n', 'a\nb\n')).toEqual(['same 1 1', 'same 2 2', 'deleted 3 -'])
    expect(seen('a\n', 'a\n\n')).toEqual(['same 1 1', 'added - 2'])
    expect(seen('', '\n')).toEqual(['added - 1'])
    expect(seen('\n', '')).toEqual(['deleted 1 -'])
    expect(seen('', 'a')).toEqual(['added - 1 \\'])
    expect(diffOf('a\nb', 'a\nb\nc', false)).toMatchObject({ added: 2, deleted: 1, end: undefined })
    expect(diffOf('a\nb', 'a\nb\n', true)).toMatchObject({ added: 0, deleted: 0, end: 'added' })
    expect(lineIn('a\nb', 'a\nb\nc', 2)).toBe(2)
  })

  test('compares line ends for the whole where all are alike, and by line where they are mixed', () => {
    const windows = 'a\r\nb\r\n'
    expect(diffOf(windows, 'a\nb\n', false)).toMatchObject({ added: 0, deleted: 0, lineEnds: ['CRLF', 'LF'] })
    expect(diffOf(windows, `${windows}c\r\n`, false)).toMatchObject({ added: 1, deleted: 0, lineEnds: undefined })
    expect(diffOf(windows, 'a\nb\r\n', false)).toMatchObject({ added: 1, deleted: 1, lineEnds: undefined })
    expect(diffOf('', windows, false).after.line(1).text).toBe('a')
  })

  test('change marks count the lines as shown in the editor', () => {
    const counts = (saved: string, doc: string) => {
      const [one, other] = [saved, doc].map(text => Text.of(text.split('\n'))) as [Text, Text]
      const { added, deleted } = countsOf(EditorState.create({ doc: other, extensions: changeMarks(one) }))
      return [added, deleted]
    }
    expect(counts('a\nb\n', 'a\nb\nc')).toEqual([1, 0])
    expect(counts('a\nb\n', 'a\nb\nc\n')).toEqual([1, 0])
    expect(counts('a\nb', 'a\nb\nc')).toEqual([1, 0])
    expect(counts('a\n', 'a\n\n\nb\n  ')).toEqual([4, 0])
    expect(counts('a\nb\n', 'a\n')).toEqual([0, 1])
    expect(counts('a\nb', 'a\n')).toEqual([0, 1])
    expect(counts('', 'a\nb\n')).toEqual([2, 0])
    expect(counts('a\nb\nc\n', 'a\nx\nc\n')).toEqual([1, 1])
    expect(counts('a\n', 'a\n')).toEqual([0, 0])
  })

  test('can leave out lines in which only white space has changed, as git diff -w does', () => {
    const seen = (before: string, after: string) =>
      diffOf(before, after, true)
        .parts.flatMap(({ lines }) => lines)
        .map(({ kind, before, after }) => `${kind} ${before ?? '-'} ${after ?? '-'}`)
    const changed = (before: string, after: string) => seen(before, after).filter(line => !line.startsWith('same'))
    // Lines of the old text are equal to others of the new one.
    const code = ['f() {', '  a()', '    b()', '      c()', '    b()', '  a()', '}', ''].join('\n')
    const deeper = code.replaceAll(/^ {2}/gm, '    ')
    expect(changed(code, deeper)).toEqual([])
    expect(changed(code, deeper.replace('c()', 'd()'))).toEqual(['deleted 4 -', 'added - 4'])
    const wrapped = `if (x) {\n${code.replaceAll(/^(?=.)/gm, '  ')}} // x\n`
    expect(changed(code, wrapped)).toEqual(['added - 1', 'added - 9'])
    expect(seen('a\nb\n', 'a\n\n  b\n')).toEqual(['same 1 1', 'added - 2', 'same 2 3'])
    expect(changed('f(a, b)\n', 'f( a,b )\t\n')).toEqual([])
    expect(changed('a\r\nb\nc\n', 'a\nb\nc\n')).toEqual([])
    expect(changed('a b\n', 'a\u00a0b\n')).toEqual(['deleted 1 -', 'added - 1'])
  })

  test('has a new function from its first line to its last, as in git', () => {
    const of = (name: string) => `function ${name}() {\n  if (${name}) {\n    run()\n  }\n}\n`
    const added = (before: string, after: string) => {
      const diff = diffOf(before, after, false)
      const lines = diff.parts.flatMap(part => part.lines).filter(({ kind }) => kind === 'added')
      return lines.map(line => `${diff.after.line(line.after ?? 0).text}\n`).join('')
    }
    expect(added(`${of('a')}\n${of('c')}`, `${of('a')}\n${of('b')}\n${of('c')}`)).toBe(`${of('b')}\n`)
    expect(added(of('a'), of('a') + of('b'))).toBe(of('b'))
    const list = (...names: string[]) => `[\n${names.map(it => `  {\n    ${it},\n  },\n`).join('')}]\n`
    expect(added(list('a', 'c'), list('a', 'b', 'c'))).toBe('  {\n    b,\n  },\n')
  })

  test('of any two texts has every line of both, once', () => {
    const seeds = Array.from({ length: 300 }, (_, seed) => [randomText(seed), randomText(seed * 7 + 1)] as const)
    for (const [before, after] of [...seeds, ['\nb\na\na\n\nb', '\na\na\n\n\nb'] as const]) {
      for (const ignoresBlanks of [false, true]) {
        const all = diffOf(before, after, ignoresBlanks).parts.flatMap(({ lines }) => lines)
        expect(all.flatMap(line => line.before ?? [])).toEqual(numbers(before))
        expect(all.flatMap(line => line.after ?? [])).toEqual(numbers(after))
      }
    }
  })
})

/** Few different lines, so that texts share some; with and without a final line end. */
function randomText(seed: number): string {
  let state = seed + 1
  const next = (bound: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * bound)
  }
  const lines = Array.from({ length: next(30) }, () => ['', 'a', 'b', '  c', 'd(', '}'][next(6)])
  return lines.join('\n') + (next(2) === 0 ? '\n' : '')
}

function numbers(text: string): number[] {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  return text === '' ? [] : Array.from({ length: lines }, (_, index) => index + 1)
}

test('the cursor of a field keeps its place in a text that is replaced', () => {
  const moved = (before: string, after: string) => movedPosition(before.replace('|', ''), after, before.indexOf('|'))
  expect(moved('Revert |it', 'Revert it now')).toBe('Revert '.length)
  expect(moved('Revert |it', 'Now: Revert it')).toBe('Now: Revert '.length)
  expect(moved('|it', 'Revert it')).toBe(0)
  expect(moved('it|', 'it, too')).toBe('it'.length)
  // Where the cursor was, the text is another one: it goes no further than that.
  expect(moved('a lo|ng word', 'a word')).toBe('a '.length)
  expect(moved('a long| word', 'a brief word')).toBe('a brief'.length)
  expect(moved('aa|a', 'aa')).toBe(2)
})

describe('a commit message that two windows change', () => {
  const BASE = 'Merge topic\n\nBecause.'
  const FIRST_LINE = BASE.replace('Merge', 'Bring in')
  const merged = (theirs: string, own: string, base = BASE) => mergedMessage(base, theirs, own).text

  test('has the changes of both at different places', () => {
    expect(merged(FIRST_LINE, `${BASE} And so.`)).toBe(`${FIRST_LINE} And so.`)
    expect(merged(`${BASE} And so.`, FIRST_LINE)).toBe(`${FIRST_LINE} And so.`)
    expect(merged(BASE, FIRST_LINE)).toBe(FIRST_LINE)
    expect(merged(FIRST_LINE, BASE)).toBe(FIRST_LINE)
  })

  test('has the lines of both that changed the same place, and no others twice', () => {
    expect(mergedMessage(BASE, 'Theirs\n\nBecause.', 'Own\n\nBecause.')).toEqual({
      text: 'Theirs\nOwn\n\nBecause.',
      hasBoth: true,
    })
    expect(merged('Merge it', 'Mer', 'Merge topic')).toBe('Merge it\nMer')
    expect(merged('Theirs', '', 'Merge topic')).toBe('Theirs')
    expect(merged('', 'Own', 'Merge topic')).toBe('Own')
  })

  test('goes on in the line of each', () => {
    expect(merged('Theirs\nOwn', 'Theirs go', 'Theirs')).toBe('Theirs go\nOwn')
    expect(merged('Theirs go\nOwn', 'Theirs\nOwn go', 'Theirs\nOwn')).toBe('Theirs go\nOwn go')
    expect(merged('Theirs go', 'Theirs\nOwn', 'Theirs')).toBe('Theirs go\nOwn')
  })

  test('has what was typed once, where the answer to its first part was lost', () => {
    expect(merged('Own', 'Own go', 'Merge topic')).toBe('Own go')
    expect(merged('Own', 'Own go', '')).toBe('Own go')
    // Another window has changed it since.
    expect(merged('Merge topic now\n\nAs it is.', 'Merge topic now, at last\n\nBecause.')).toBe(
      'Merge topic now, at last\n\nAs it is.',
    )
    expect(merged('Merge to\n\nAs it is.', 'Merge\n\nBecause.')).toBe('Merge\n\nAs it is.')
  })

  test('has the changes of each in several places, and a line of both only where both changed the same words', () => {
    const base = 'one\ntwo\n\nthree\nfour\nfive'
    expect(mergedMessage(base, 'one!\ntwo\n\nthree!\nfour\nfive', 'one\ntwo!\n\nthree\nfour!\nfive!')).toEqual({
      text: 'one!\ntwo!\n\nthree!\nfour!\nfive!',
      hasBoth: false,
    })
    expect(mergedMessage(base, '1\ntwo!\n\nthree\nfour\n5', 'I\ntwo\n\nthree!\nfour\nV')).toEqual({
      text: '1\nI\ntwo!\n\nthree!\nfour\n5\nV',
      hasBoth: true,
    })
  })

  describe('at random, each in lines of its own', () => {
    const { below, chance, pick } = randomFrom(7)
    const letters = (count: number) => Array.from({ length: count }, () => pick([...'abcde'])).join('')
    const words = () => Array.from({ length: below(5) }, () => letters(1 + below(6))).join(' ')
    // Each line has a number, and so is there once.
    const numbered = () => Array.from({ length: 1 + below(6) }, (_, at) => `${at} ${words()}`)
    const changed = (line: string) => {
      const [from, length] = [2 + below(line.length - 1), below(4)]
      const added = pick(['', letters(1), ` ${letters(4)}`, `${letters(6)} `])
      return line.slice(0, from) + added + line.slice(from + length)
    }

    test('has all changes of both', () => {
      for (let round = 0; round < 2_000; round++) {
        const lines = numbered().map(line => ({ line, owner: below(3), edited: changed(changed(line)) }))
        const by = (...owners: number[]) =>
          lines.map(({ line, owner, edited }) => (owners.includes(owner) ? edited : line)).join('\n')
        const [base, theirs, own] = [by(), by(1), by(2)]
        expect(mergedMessage(base, theirs, own)).toEqual({ text: by(1, 2), hasBoth: false })
        expect(mergedMessage(base, own, theirs)).toEqual({ text: by(1, 2), hasBoth: false })
      }
    })

    test('is the same in both windows in the end, whenever each of them sends what was typed', () => {
      for (let round = 0; round < 200; round++) {
        const typed = numbered()
        let kept = typed.join('\n')
        const windows = [0, 1].map(owner => ({ owner, before: kept, text: kept }))
        for (let step = 0; step < 60; step++) {
          const window = pick(windows)
          const number = below(typed.length)
          if (chance(0.6) && number % 2 === window.owner) {
            const lines = window.text.split('\n')
            typed[number] = lines[number] = changed(lines[number] ?? '')
            window.text = lines.join('\n')
          }
          if (chance(0.3)) {
            if (kept === window.before) kept = window.text
            else window.text = mergedMessage(window.before, kept, window.text).text
            window.before = kept
          }
        }
        for (const { before, text } of windows) kept = mergedMessage(before, kept, text).text
        expect(kept).toBe(typed.join('\n'))
      }
    })
  })
})
