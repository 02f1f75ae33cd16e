/** Decoding a file's bytes for the editor, and encoding them again without a change. */
import { expect, test } from 'bun:test'
import { MAX_EDITABLE_BYTES } from '../../../../forge/desk/contract/limits.ts'
import { decodeText, encode, guess, showWithoutText, whyReadOnly } from '../../../../forge/desk/reading/text.ts'
import { randomFrom } from '../../../support/random.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')
const OID = '1'.repeat(40)
const shown = (content: Buffer | undefined, mode = '100644') =>
  showWithoutText('a', { mode, oid: OID }, content && { mode, oid: OID, size: content.length, bytes: content })

test('line ends, byte order mark and final newline are recognised', () => {
  const cases: [string, string, string, boolean][] = [
    ['', '', 'LF', false],
    ['a\nb', 'a\nb', 'LF', false],
    ['a\r\nb\r\n', 'a\nb\n', 'CRLF', false],
    ['a\r\nb', 'a\nb', 'CRLF', false],
    ['a\r\nb\n', 'a\r\nb\n', 'mixed', false],
    ['a\rb', 'a\rb', 'mixed', false],
    ['a\r\r\n', 'a\r\r\n', 'mixed', false],
    ['\n\r\n', '\n\r\n', 'mixed', false],
    ['\xef\xbb\xbfa\r\n', 'a\n', 'CRLF', true],
    ['\xef\xbb\xbf', '', 'LF', true],
    ['\xef\xbb\xbf\xef\xbb\xbfa', '\ufeffa', 'LF', true],
  ]
  for (const [file, text, lineEnd, bom] of cases)
    expect(decodeText(bytes(file))).toEqual({ text, lineEnd: lineEnd as 'LF', bom })
})

test('bytes that are not UTF-8, and those with a NUL, are read-only', () => {
  for (const file of [
    'caf\xe9',
    '\xff\xfe\x41\x00',
    'a\0b',
    '\xc0\xaf',
    '\xed\xa0\x80',
    '\xf4\x90\x80\x80',
    '\xe2\x82',
  ])
    expect(decodeText(bytes(file))).toBeUndefined()
})

test('all editable bytes are preserved', () => {
  const random = randomFrom(7)
  const pieces = [
    'a',
    'line',
    '\n',
    '\r\n',
    '\r',
    '\xef\xbb\xbf',
    '\xc3\xa9',
    '\xf0\x9f\x8e\x89',
    '\xe2\x80\xa8',
    '\t',
    '\x7f',
  ]
  let edited = 0
  for (let round = 0; round < 20_000; round++) {
    // Some files have only one kind of line ends, and some any bytes.
    const some = random.chance(0.5) ? pieces.filter(() => random.chance(0.5)) : pieces
    const list = some.length > 0 ? some : pieces
    const parts = Array.from({ length: random.below(12) }, () =>
      random.chance(0.02) ? String.fromCharCode(random.below(256)) : random.pick(list),
    )
    const file = bytes(parts.join(''))
    const decoded = decodeText(file)
    if (!decoded) continue
    edited++
    expect(encode(decoded.text, decoded).toString('latin1')).toBe(file.toString('latin1'))
  }
  expect(edited).toBeGreaterThan(10_000)
})

test('an edit of one line does not change the ends of other lines', () => {
  const random = randomFrom(11)
  for (let round = 0; round < 2000; round++) {
    const ends = random.pick([['\n'], ['\r\n'], ['\n', '\r\n']])
    const lines = Array.from({ length: 1 + random.below(6) }, (_, at) => `line ${at}${random.pick(ends)}`)
    const decoded = decodeText(bytes(lines.join('')))
    if (!decoded) throw new Error('it is text')
    const at = random.below(lines.length)
    const after = encode(decoded.text.replace(`line ${at}`, 'other'), decoded).toString('latin1')
    expect(after).toBe(lines.join('').replace(`line ${at}`, 'other'))
  }
})

test('content that is not text is described', () => {
  const whatOf = (content: Buffer | undefined, mode?: string) => {
    const file = shown(content, mode)
    return file?.kind === 'other' ? file.what : file?.kind
  }
  expect(whatOf(bytes('../x'), '120000')).toBe('A symbolic link to ../x.')
  expect(whatOf(undefined, '160000')).toBe(`A submodule: another repository, at its commit ${OID}.`)
  expect(whatOf(bytes('version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n'))).toStartWith(
    'A pointer of Git LFS',
  )
  expect(whatOf(bytes('caf\xe9'))).toBeUndefined()
  expect(whatOf(bytes('caf\xe9\x01'))).toStartWith('Bytes that are no text in UTF-8')
  expect(whatOf(bytes('a\0b'))).toBe('A binary file.')
  expect(whatOf(bytes('\xff\xfea\0'))).toStartWith('Text in UTF-16')
  expect(whatOf(undefined)).toContain('not in this repository')
  expect(whatOf(bytes('text'))).toBeUndefined()
  expect(shown(bytes('\x89PNG\r\n\x1a\n'))).toEqual({
    kind: 'image',
    mode: '100644',
    size: 8,
    type: 'image/png',
    oid: OID,
  })
  expect(shown(bytes('GIF89a'))).toMatchObject({ type: 'image/gif' })
  expect(shown(bytes('<svg onload="x"/>'))).toBeUndefined()
})

test('files of more than 2 MB are read-only', () => {
  expect(whyReadOnly('a', MAX_EDITABLE_BYTES)).toBeUndefined()
  expect(whyReadOnly('big \xc3\xa9', MAX_EDITABLE_BYTES + 1)).toBe(
    'big é has 2.0 MB: files of more than 2 MB are shown and not edited.',
  )
})

test.each<[string, string, string | undefined, string | undefined]>([
  ['Latin-1', 'caf\xe9\n', 'café\n', 'Latin-1'],
  ['Latin-1 of Windows', '\x93caf\xe9\x94 \x80\r\n', '“café” €\n', 'Windows-1252'],
  ['an old log with colours', '\x1b[31mcaf\xe9\x1b[0m\tx\n', '\x1b[31mcafé\x1b[0m\tx\n', 'Latin-1'],
  ['a byte that Windows has no character for', 'caf\x81\n', undefined, undefined],
  ['a NUL', 'caf\xe9\0', undefined, undefined],
  ['a control character', 'caf\xe9\x02', undefined, undefined],
  ['UTF-16', '\xff\xfeaXbX', undefined, undefined],
])('%s is guessed as what it looks like', (_, raw, text, encoding) => {
  const guessed = guess(bytes(raw))
  expect([guessed?.text, guessed?.encoding]).toEqual([text, encoding])
})
