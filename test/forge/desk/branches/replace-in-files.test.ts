/** Replacing in several files: drafts of all of them by one operation, and nothing where a file has changed. */
import { describe, expect, test } from 'bun:test'
import type { Answer } from '../../../../forge/desk/contract/contract.ts'
import type { Match } from '../../../../forge/desk/contract/reading.ts'
import type { At } from '../../../../forge/desk/contract/values.ts'
import { editsOf, hitsOf, type Replacing } from '../../../../forge/desk/web/page/replacing.ts'
import { commit, type Files } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'
import { openTestDesk } from '../../../support/served.ts'

const main: At = { kind: 'branch', branch: 'main' }

async function makeDesk(files: Files, format: 'sha1' | 'sha256' = 'sha1') {
  const place = await makePlace(format)
  await commit(place.path, 'main', files)
  const desk = await openTestDesk(place.path)
  const window = await desk.window()
  const searchFor = async (replacing: Partial<Replacing>, files = '', matchWord = false) => {
    const asked = { words: '', isRegex: false, matchCase: true, ...replacing }
    const { replacement = '', ...question } = asked
    const { search, tree } = (await window.ask({
      ask: 'find text',
      at: main,
      ...question,
      files,
      matchWord,
      wholeLines: true,
    })) as Answer<'find text'>
    await window.heard('found', news => news.search === search && news.isDone)
    const matches = window.news.flatMap((news): Match[] => {
      return news.say === 'found' && news.search === search ? news.matches : []
    })
    const readOnly = window.news.flatMap(news => {
      return news.say === 'found' && news.search === search ? (news.readOnly ?? []) : []
    })
    return { tree, matches, readOnly, ...hitsOf(matches, { ...question, replacement }) }
  }
  const replace = async ({ tree, hits }: Awaited<ReturnType<typeof searchFor>>) =>
    (await window.ask({
      ask: 'replace in files',
      branch: 'main',
      tree,
      words: '“a” by “b”',
      files: editsOf(hits),
    })) as Answer<'replace in files'>
  const textOf = async (path: string) => {
    await using other = await desk.window()
    return ((await other.ask({ ask: 'open', at: main, path })) as { text?: string }).text
  }
  const type = async (path: string, text: string) => {
    await window.ask({ ask: 'open', at: main, path })
    await window.ask({
      ask: 'edit',
      branch: 'main',
      path,
      version: 0,
      edits: [{ client: 'me', changes: [[0, ...text.split('\n')], (await textOf(path))?.length ?? 0] }],
    })
  }
  return {
    place,
    window,
    searchFor,
    replace,
    textOf,
    type,
    [Symbol.asyncDispose]: async () => {
      await window[Symbol.asyncDispose]()
      await desk[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}

describe('a replacement in files', () => {
  test('changes all files by one operation, with what was typed, and one undo takes only it back', async () => {
    await using it = await makeDesk({ 'a.ts': 'cat cat\n', 'src/b.ts': 'a cat\r\nno\r\n', 'c.md': '\ufeffcat\n' })
    await it.type('a.ts', 'a typed cat, ')
    const found = await it.searchFor({ words: 'cat', replacement: 'dog' })
    expect(await it.replace(found)).toEqual({ files: 3, edits: 5, skipped: [] })
    expect(await it.textOf('a.ts')).toBe('a typed dog, dog dog\n')
    expect(await it.textOf('src/b.ts')).toBe('a dog\nno\n')
    expect(await it.textOf('c.md')).toBe('dog\n')
    await it.window.ask({ ask: 'save', branch: 'main', paths: ['src/b.ts', 'c.md'] })
    expect(await it.place.git('cat-file', 'blob', 'main:src/b.ts')).toContain('a dog\r\n')
    // The byte order mark is still there.
    expect(await it.place.git('cat-file', '-s', 'main:c.md')).toBe('7')
    await it.window.ask({ ask: 'undo', branch: 'main' })
    const { words } = (await it.window.ask({ ask: 'undo', branch: 'main' })) as Answer<'undo'>
    expect(words).toBe('undo: replace “a” by “b” in 3 files in main')
    expect(await it.textOf('a.ts')).toBe('a typed cat, cat cat\n')
    expect(await it.textOf('src/b.ts')).toBe('a cat\nno\n')
  })

  test('leaves out hits, and searches words, expressions with groups, and only some files', async () => {
    await using it = await makeDesk({
      'a.ts': 'fetch(a, b) fetchAll(c)\n',
      'lib/b.ts': 'fetch(x, y)\n',
      'lib/b.test.ts': 'fetch(t, u)\n',
      'lib/deep/c.js': 'fetch(m, n)\n',
      'other/d.ts': 'Fetch(o, p)\n',
    })
    const groups = { words: String.raw`fetch\((\w+), (\w+)\)`, isRegex: true, replacement: '$2.fetch($1, $$, $3)' }
    const found = await it.searchFor(groups, 'lib, !*.test.ts')
    expect(found.hits.map(({ path, insert }) => [path, insert])).toEqual([
      ['lib/b.ts', 'y.fetch(x, $, $3)'],
      ['lib/deep/c.js', 'n.fetch(m, $, $3)'],
    ])
    await it.replace({ ...found, hits: found.hits.slice(0, 1) })
    expect(await it.textOf('lib/b.ts')).toBe('y.fetch(x, $, $3)\n')
    expect(await it.textOf('lib/deep/c.js')).toBe('fetch(m, n)\n')
    const paths = async (files: string, isWord = true) =>
      (await it.searchFor({ words: 'fetch', matchCase: false }, files, isWord)).hits.map(({ path }) => path)
    expect(await paths('*.{js,md}, other/d.ts')).toEqual(['lib/deep/c.js', 'other/d.ts'])
    expect(await paths('/a.ts')).toEqual(['a.ts'])
    expect(await paths('/a.ts', false)).toEqual(['a.ts', 'a.ts'])
    expect(await paths('lib/*.ts')).toEqual(['lib/b.test.ts', 'lib/b.ts'])
  })

  test('does nothing at all when one of the files has changed since the search', async () => {
    await using it = await makeDesk({ 'a.ts': 'cat\n', 'b.ts': 'cat\n' })
    const found = await it.searchFor({ words: 'cat', replacement: 'dog' })
    await it.type('b.ts', 'new ')
    const error = await it.replace(found).catch(String)
    expect(error).toContain('b.ts has changed since this search. Nothing was replaced: look at the results again.')
    expect(await it.textOf('a.ts')).toBe('cat\n')
    const edits = [{ line: 9, from: 0, to: 1, insert: '' }]
    const wrong = {
      ask: 'replace in files',
      branch: 'main',
      tree: found.tree,
      words: 'x',
      files: [{ path: 'a.ts', edits }],
    }
    expect(await it.window.ask(wrong as never).catch(String)).toContain('Nothing was replaced')
  })

  test('says which files can not be edited, and leaves them as they are', async () => {
    const long = `${'x'.repeat(6_000)} cat\n`
    await using it = await makeDesk(
      { 'a.ts': 'cat\n', 'b.big': 'cat\n', 'long.js': long, '.gitattributes': '*.big filter=lfs\n' },
      'sha256',
    )
    const found = await it.searchFor({ words: 'cat', replacement: 'dog' })
    expect(found.tooLong).toBe(1)
    expect(found.readOnly.map(({ path }) => path)).toEqual(['b.big'])
    expect(await it.replace(found)).toEqual({ files: 1, edits: 1, skipped: [] })
    expect(await it.textOf('a.ts')).toBe('dog\n')
    const half = await it.searchFor({ words: 'dog', replacement: '\ud800' })
    expect(await it.replace(half).catch(String)).toContain('a character that no text file can contain')
  })

  test('leaves out the files of .forge, such as the conversation, unless the search names that folder', async () => {
    await using it = await makeDesk({
      '.forge/session.json': '{ "text": "cat" }\n',
      'a/.forge': 'cat\n',
      'b.ts': 'cat\n',
    })
    const cats = { words: 'cat', replacement: 'dog' }
    const found = await it.searchFor(cats)
    expect(found.hits.map(({ path }) => path)).toEqual(['a/.forge', 'b.ts'])
    expect(found.readOnly).toEqual([
      {
        path: '.forge/session.json',
        why: '.forge/session.json belongs to the AI’s work: nothing is replaced in it unless Files names .forge.',
      },
    ])
    expect((await it.searchFor(cats, '*.json, !.forge/x')).hits).toEqual([])
    const named = await it.searchFor(cats, '/.forge/*.json')
    expect(named.readOnly).toEqual([])
    await it.replace(named)
    expect(await it.textOf('.forge/session.json')).toBe('{ "text": "dog" }\n')
  })

  test('is offered for the lines that can be edited alone, and others do not use up the limit', async () => {
    await using it = await makeDesk({
      'a/big.txt': 'a cat among others\n'.repeat(120_000),
      'b.ts': 'cat\n',
    })
    const found = await it.searchFor({ words: 'cat', replacement: 'dog' })
    expect(found.hits.map(({ path }) => path)).toEqual(['b.ts'])
    expect(found.readOnly).toEqual([
      { path: 'a/big.txt', why: 'a/big.txt has 2.2 MB: files of more than 2 MB are shown and not edited.' },
    ])
    expect(await it.replace(found)).toEqual({ files: 1, edits: 1, skipped: [] })
    expect(await it.textOf('b.ts')).toBe('dog\n')
  })

  test('refuses path filters that no repository has', async () => {
    await using it = await makeDesk({ 'a.ts': 'cat\n' })
    expect(await it.searchFor({ words: 'cat' }, '../x').catch(String)).toContain('leave out the “..”')
    const braces = '{a,b}'.repeat(12)
    expect(await it.searchFor({ words: 'cat' }, braces).catch(String)).toContain('too many names')
    // The special syntax of git's pathspecs, such as `:(attr:x)`, is taken as a plain name.
    expect((await it.searchFor({ words: 'cat' }, ':(attr:x)*')).hits).toEqual([])
  })
})
