/** Text in the conversation: links, figures, invisible characters, and Markdown that arrives in pieces. */
import { describe, expect, test } from 'bun:test'
import { cacheShare, clock, duration, money, tokens } from '../../../../forge/desk/web/ui/figures.ts'
import { headingOf, slugOf } from '../../../../forge/desk/web/ui/heading-slugs.ts'
import { fragmentOf, targetOf } from '../../../../forge/desk/web/ui/links.ts'
import { inlineTokens, MarkdownBlocks } from '../../../../forge/desk/web/ui/markdown-blocks.ts'
import { isTooDeepToColour } from '../../../../forge/desk/web/ui/nesting.ts'
import { readableProse, withEntities } from '../../../../forge/desk/web/ui/prose.ts'
import { RICH_ANSWER } from './conversation-scene.ts'

describe('a link leads', () => {
  const PAGES: [string, string][] = [
    ['https://example.com/a?b#c', 'https://example.com/a?b#c'],
    ['HTTP://example.com', 'http://example.com/'],
    ['//example.com/a', 'https://example.com/a'],
    ['https://ex\u0430mple.com', 'https://xn--exmple-4nf.com/'],
  ]
  test.each(PAGES)('to a page: %s', (href, address) => {
    expect(targetOf(href)).toEqual({ kind: 'page', address })
  })

  test.each([
    'javascript:alert(1)',
    'java\nscript:alert(1)',
    ' javascript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>',
    'vbscript:x',
    'file:///etc/passwd',
    'mailto:a@example.com',
    'https://bank.example@evil.example/',
    'https://',
    '../../outside',
    '..%2f..%2foutside',
    'a\\b',
    '#top',
    '',
  ])('nowhere: %j', href => {
    expect(targetOf(href).kind).toBe('other')
  })

  test.each([
    ['src/a.ts', 'src/a.ts'],
    ['./src/a.ts#L10', 'src/a.ts'],
    ['/docs/a%20b.md', 'docs/a b.md'],
    ['100%.txt', '100%.txt'],
  ])('to a file: %s', (href, path) => {
    expect(targetOf(href)).toEqual({ kind: 'file', path })
  })
})

test.each([
  ['# Getting started!', 'getting-started'],
  ['## The `--flag`, a **bold** [link](x.md) and ![an image](y.png)', 'the---flag-a-bold-link-and-'],
  ['Über *uns* &amp; 数字_1\n===', 'über-uns--数字_1'],
  ['# What’s new in v1.2?', 'whats-new-in-v12'],
  ['# :rocket: Start', 'rocket-start'],
])('the heading %j has the slug %s', (markdown, slug) => {
  const [block] = new MarkdownBlocks().read(markdown)
  const token = block && inlineTokens(block, {})
  expect(token?.type === 'heading' && slugOf(token.tokens ?? [])).toBe(slug)
})

test('a link leads to one of several headings with the same text by a number', () => {
  const slugs = ['a', 'a', 'a-1', 'a', '']
  expect(['a', 'A-1', 'a-1-1', 'a-2', 'a-3', '', 'b'].map(wanted => headingOf(wanted, slugs))).toEqual([
    0, 1, 2, 3, -1, 4, -1,
  ])
  const many = Array.from({ length: 20_000 }, () => 'a')
  expect(headingOf('a-19999', many)).toBe(19_999)
  expect(['a.md', '#', 'a.md#b%20c', '#%'].map(fragmentOf)).toEqual([undefined, '', 'b c', '%'])
})

test('what can not be seen is told, colours of a terminal go, and scripts that need joiners keep them', () => {
  expect(readableProse('\u001b[31mred\u001b[0m\u001b]8;;http://x\u0007link')).toBe('redlink')
  expect(readableProse('a\u202Eb\u2066c\u200Bd\u0000')).toBe('a\\u202eb\\u2066c\\u200bd\\u0000')
  expect(readableProse('a\r\nb\rc\td')).toBe('a\nb\nc\td')
  expect(readableProse('👩\u200d💻 می\u200cخواهم')).toBe('👩\u200d💻 می\u200cخواهم')
  expect(readableProse(`a${'\u0301'.repeat(1_000)}b`)).toHaveLength(8)
})

test('entities are what they mean, but not what could not be seen', () => {
  expect(withEntities('&lt;b&gt; &amp;amp; &#8212; &#x2014; &constructor; &#x202e;')).toBe(
    '<b> &amp; — — &constructor; \\u202e',
  )
})

test('figures are short', () => {
  expect([0, 999, 1_000, 9_949, 9_950, 148_400, 999_499, 999_500].map(tokens)).toEqual([
    '0',
    '999',
    '1.0k',
    '9.9k',
    '10k',
    '148k',
    '999k',
    '1.0M',
  ])
  expect([undefined, 0, 0.004, 0.185, 12].map(money)).toEqual([undefined, '$0.00', '< $0.01', '$0.18', '$12.00'])
  expect([0.2, 59.94, 72, 3_723].map(duration)).toEqual(['0.2 s', '59.9 s', '1:12', '1:02:03'])
  expect(clock(-3)).toBe('0:00')
  expect(cacheShare({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })).toBeUndefined()
})

describe('markdown in pieces', () => {
  const text = `${RICH_ANSWER}\n\n`.repeat(3)

  test('is the same as the whole', () => {
    const whole = new MarkdownBlocks().read(text).map(({ raw }) => raw.trim())
    const reader = new MarkdownBlocks()
    for (let length = 1; length < text.length; length++) reader.read(text.slice(0, length))
    expect(reader.read(text).map(({ raw }) => raw.trim())).toEqual(whole)
  })

  test('keeps the blocks that are finished', () => {
    const reader = new MarkdownBlocks()
    const before = [...reader.read('One.\n\n- two\n- three\n\nFour.\n\nFi')]
    const after = reader.read('One.\n\n- two\n- three\n\nFour.\n\nFive.')
    expect(after.slice(0, 3).every((block, index) => block === before[index])).toBe(true)
    expect(after[3]?.raw).toBe('Five.')
  })

  test('begins anew where the text is another', () => {
    const reader = new MarkdownBlocks()
    reader.read('One.\n\nTwo.\n\nThree.\n\nFour.')
    expect(reader.read('Other.').map(({ raw }) => raw)).toEqual(['Other.'])
    expect(reader.read('')).toEqual([])
  })

  test('is quick with markers that could be read in many ways', () => {
    const began = performance.now()
    const text = `${'-    '.repeat(23)}x\n${'1.   '.repeat(23)}x\n${'>    '.repeat(23)}x\n`
    expect(
      new MarkdownBlocks()
        .read(text)
        .map(({ raw }) => raw)
        .join(''),
    ).toBe(text)
    expect(isTooDeepToColour(`${'-    '.repeat(99)}x`)).toBe(false)
    expect(['- ', '1. ', '> ', '>', '[', '{'].filter(sign => isTooDeepToColour(sign.repeat(2_000)))).toHaveLength(6)
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  test('knows the definitions, of which the first counts, and keeps the object while they are equal', () => {
    const reader = new MarkdownBlocks()
    const parts = [
      '[a] and [b][]\n\n',
      '> [A]: one\n\n',
      '[a]: two\n',
      '[^1]: note\n',
      `[c]: ${'x'.repeat(2_000)}\n\n`,
      'End',
    ]
    let text = ''
    const seen = parts.map(part => {
      text += part
      reader.read(text)
      return reader.definitions
    })
    expect(Object.entries(reader.definitions)).toEqual([['a', { href: 'one', title: undefined }]])
    expect(new Set(seen).size).toBe(2)
    const [first] = reader.read(text)
    const paragraph = first && inlineTokens(first, reader.definitions)
    const tokens = paragraph?.type === 'paragraph' ? paragraph.tokens : []
    expect(tokens?.map(({ type, raw }) => [type, raw])).toEqual([
      ['link', '[a]'],
      ['text', ' and [b][]'],
    ])
    // A block's own definitions, which are ignored as too long, are not added to the others.
    for (const block of reader.read(`${text}\n\n- [d]: ${'x'.repeat(2_000)}`)) inlineTokens(block, reader.definitions)
    expect(Object.keys(reader.definitions)).toEqual(['a'])
  })

  test('loses no character of a long text', () => {
    const long = '- a *list* of `many`\n  lines\n'.repeat(4_000)
    const blocks = new MarkdownBlocks().read(long)
    expect(blocks.map(({ raw }) => raw).join('')).toBe(long)
    expect(Math.max(...blocks.map(({ raw }) => raw.length))).toBeLessThan(24_000)
  })
})
