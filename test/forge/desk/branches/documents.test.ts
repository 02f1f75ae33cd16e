/** A text that several windows edit: one order for all, and no harm from a page. */
import { expect, test } from 'bun:test'
import { ChangeSet } from '@codemirror/state'
import { Document } from '../../../../forge/desk/branches/documents.ts'
import { MAX_EDITABLE_BYTES } from '../../../../forge/desk/contract/limits.ts'
import { encode } from '../../../../forge/desk/reading/text.ts'
import { replacement } from '../../../support/desk.ts'
import { randomFrom } from '../../../support/random.ts'

const LF = { lineEnd: 'LF', bom: false } as const
const by = (...changes: unknown[]) => changes.map(it => ({ client: 'window', changes: it }))

test('an edit of the newest version is accepted, one of an older version is not', () => {
  const document = new Document('one\n', LF)
  expect(document.take(0, by([4, [0, 'two', '']]))).toEqual({ accepted: true, edits: by([4, [0, 'two', '']]) })
  expect([document.text, document.version]).toEqual(['one\ntwo\n', 1])
  expect(document.take(0, by([4, [0, 'late']]))).toEqual({ accepted: false })
  expect(document.take(1, by([[1, 'O'], 7], [8, [0, '!']]))).toMatchObject({ accepted: true })
  expect([document.text, document.version]).toEqual(['One\ntwo\n!', 3])
})

test('all edits of a call are accepted, or none', () => {
  const document = new Document('abc', LF)
  expect(() => document.take(0, by([3, [0, 'd']], [99]))).toThrow('no edit of this text')
  expect([document.text, document.version]).toEqual(['abc', 0])
})

test('a change that does not fit the text is refused', () => {
  const hostile: unknown[] = [
    ...[undefined, null, 3, 'x', {}, [], [2], [4], [-1, 4], [3.5], [Number.NaN], [Number.POSITIVE_INFINITY], ['3']],
    ...[[[3, 1]], [[-3, 'x'], 6], [[3, 'a\nb']], [[3, null]], [[], 3], [[[3]]], [2 ** 53, 3]],
    ...[[{ length: 3 }], [3, { 0: 0, length: 1 }]],
  ]
  const document = new Document('abc', LF)
  for (const changes of hostile) expect(() => document.take(0, by(changes))).toThrow()
  expect([document.text, document.version]).toEqual(['abc', 0])
})

test('text that can’t be written is refused with the reason, with all edits sent together', () => {
  const document = new Document('abc', LF)
  for (const [text, why] of [
    ['\0a\0', '2 NUL characters'],
    ['\ud800', 'half of a character'],
  ])
    expect(document.take(0, by([3, [0, 'd']], [4, [0, text]]))).toEqual({
      accepted: false,
      refused: expect.stringContaining(why ?? ''),
    })
  expect([document.text, document.version]).toEqual(['abc', 0])
})

test('a surrogate pair is not split', () => {
  const document = new Document('a🎉b', LF)
  for (const changes of [
    [1, [1], 2],
    [2, [1], 1],
    [2, [0, 'x'], 2],
  ])
    expect(document.take(0, by(changes))).toEqual({ accepted: false, refused: expect.stringContaining('half') })
  document.take(0, by([1, [2], 1]))
  expect(document.text).toBe('ab')
})

test('a text can’t grow beyond the limit of editing, and can always shrink', () => {
  const document = new Document('x'.repeat(MAX_EDITABLE_BYTES), LF)
  expect(document.take(0, by([MAX_EDITABLE_BYTES, [0, 'y']]))).toEqual({
    accepted: false,
    refused: expect.stringContaining('2 MB'),
  })
  expect(document.take(0, by([MAX_EDITABLE_BYTES - 1, [1]]))).toMatchObject({ accepted: true })
})

// Texts of which one more letter exceeds the limit; \r\n and a byte order mark count, too.
for (const [what, text, form, more] of [
  ['of three bytes a letter', '語'.repeat(Math.floor(MAX_EDITABLE_BYTES / 3)), LF, '語'],
  ['with \\r\\n', '\n'.repeat(MAX_EDITABLE_BYTES / 2), { lineEnd: 'CRLF', bom: false }, '\n'],
  ['with a byte order mark', 'x'.repeat(MAX_EDITABLE_BYTES - 3), { lineEnd: 'LF', bom: true }, 'x'],
] as const)
  test(`a text ${what} is limited by its bytes, as when it is opened`, () => {
    const document = new Document(text, form)
    expect(encode(text, form).length).toBeGreaterThan(MAX_EDITABLE_BYTES - 3)
    expect(document.take(0, by(replacement(text.length, 9, 0, more)))).toMatchObject({ accepted: false })
    // Replacing text by the same number of bytes is accepted.
    const same = by(replacement(text.length, 9, 1, more))
    expect(document.take(0, same)).toMatchObject({ accepted: true })
    expect(document.mark().at(-1)?.length).toBeLessThanOrEqual(MAX_EDITABLE_BYTES)
  })

test('edits made while the server changes the text are kept', () => {
  const random = randomFrom(5)
  const words = ['alpha\n', 'beta\n', 'gamma\n', 'delta\n']
  for (let round = 0; round < 500; round++) {
    const [before = '', after = ''] = [0, 1].map(() => {
      const text = Array.from({ length: random.below(8) }, () => random.pick(words)).join('')
      return random.below(2) === 0 ? text : text.trimEnd()
    })
    const document = new Document(before, LF)
    const window = new Document(before, LF)
    document.mark()
    const at = random.below(before.length + 1)
    const typed = by(replacement(before.length, at, 0, `<${round}>`))
    document.take(0, typed)
    window.take(0, typed)
    const made = document.become(after, LF)
    expect(document.text.replace(`<${round}>`, '')).toBe(after)
    expect(document.text).toContain(`<${round}>`)
    // A window that receives the edit has the same text.
    if (made) window.take(made.version, [made.edit])
    expect([window.text, window.version]).toEqual([document.text, document.version])
  }
})

for (const [side, choice] of [
  ['theirs', 'ours'],
  ['ours', 'theirs'],
  ['ours', 'ours'],
] as const)
  test(`${choice} is chosen for a long conflict while ${side} is taken for all: it has that text, once`, () => {
    const entry = (at: number) => `  "${at}": {\n    "dev": true\n  },\n`
    const sides = {
      ours: '  "one": 1\n',
      base: Array.from({ length: 2_000 }, (_, at) => entry(at)).join(''),
      theirs: Array.from({ length: 2_000 }, (_, at) => entry(at % 100 === 0 ? at + 5_000 : at)).join(''),
    }
    const conflict = `<<<<<<< ours\n${sides.ours}||||||| base\n${sides.base}=======\n${sides.theirs}>>>>>>> theirs\n`
    const document = new Document(`{\n${conflict}}\n`, LF)
    document.mark()
    document.take(0, by([2, [conflict.length, ...sides[choice].split('\n')], 2]))
    document.become(`{\n${sides[side]}}\n`, LF)
    expect(document.text === `{\n${sides[choice]}}\n`).toBe(true)
  })

test('an edit in a line that conflict markers are inserted around stays in that line', () => {
  const lines = (two: string, five = 'five\n') => `one\n${two}three\nfour\n${five}`
  const marked = '<<<<<<< draft\nmine\n||||||| base\ntwo\n=======\ntheirs\n>>>>>>> main\n'
  const before = lines('mine\n')
  for (const [at, expected] of [
    [before.indexOf('mine'), lines(marked.replace('mine', 'TYPED mine'), '5\n')],
    [before.indexOf('mine') + 4, lines(marked.replace('mine', 'mineTYPED '), '5\n')],
    [before.indexOf('four'), lines(marked, '5\n').replace('four', 'TYPED four')],
  ] as const) {
    const document = new Document(before, LF)
    document.mark()
    document.take(0, by(replacement(before.length, at, 0, 'TYPED ')))
    document.become(lines(marked, '5\n'), LF)
    expect(document.text).toBe(expected)
  }
})

test('an edit at the end of a last line without a line end stays in that line', () => {
  const marked = 'one\n<<<<<<< draft\nmine\n||||||| base\ntwo\n=======\ntheirs\n>>>>>>> main\n'
  const before = 'one\nmine'
  const document = new Document(before, LF)
  document.mark()
  document.take(0, by(replacement(before.length, before.length, 0, ' typed')))
  const made = document.become(marked, LF)
  expect(document.text).toBe(marked.replace('mine', 'mine typed'))
  // A window where the cursor is at the end of the line keeps it there.
  const change = ChangeSet.fromJSON(made?.edit.changes)
  expect(change.mapPos(change.length, -1)).toBe(document.text.indexOf('\n||||'))
})
