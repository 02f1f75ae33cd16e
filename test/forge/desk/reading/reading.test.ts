/** Reading: folders, files by name, text, changes, history, with drafts and with hostile content. */
import { describe, expect, test } from 'bun:test'
import { asBytes, asText } from '../../../../core/git/repository.ts'
import type { CommitRow, FolderEntry } from '../../../../forge/desk/contract/reading.ts'
import type { Done } from '../../../../forge/desk/contract/steps.ts'
import type { At, Change } from '../../../../forge/desk/contract/values.ts'
import { commit, gitWith } from '../../../support/git.ts'
import { makePlace, until } from '../../../support/repository.ts'
import { openTestDesk, type TestWindow } from '../../../support/served.ts'

const main: At = { kind: 'branch', branch: 'main' }

async function makeDesk(files: Parameters<typeof commit>[2], format: 'sha1' | 'sha256' = 'sha1') {
  const place = await makePlace(format)
  const tip = await commit(place.path, 'main', files)
  const desk = await openTestDesk(place.path)
  const window = await desk.window()
  return {
    place,
    tip,
    desk,
    window,
    [Symbol.asyncDispose]: async () => {
      await window[Symbol.asyncDispose]()
      await desk[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}

/** Replaces the whole text of a file. */
async function type(window: TestWindow, path: string, before: number, text: string) {
  await window.ask({ ask: 'open', at: main, path })
  const changes = [[before, ...text.split('\n')]]
  await window.ask({ ask: 'edit', branch: 'main', path, version: 0, edits: [{ client: 'me', changes }] })
}

/** All matches of a search. */
async function find(
  window: TestWindow,
  words: string,
  options: { isRegex?: boolean; matchCase?: boolean; at?: At } = {},
) {
  const { isRegex = false, matchCase = true, at = main } = options
  const { search } = (await window.ask({ ask: 'find text', at, words, isRegex, matchCase })) as { search: number }
  const { isCut } = await window.heard('found', news => news.search === search && news.isDone)
  const matches = window.news.flatMap(news => (news.say === 'found' && news.search === search ? news.matches : []))
  return { matches, isCut }
}

describe('a listed folder', () => {
  const folder = async (window: TestWindow, path = '', at: At = main) =>
    (await window.ask({ ask: 'folder', at, path })) as FolderEntry[]

  test('has one level, folders first, and marks unsaved files', async () => {
    await using it = await makeDesk({
      'b.txt': 'b\n',
      'z/deep/c.txt': 'c\n',
      'a/d.txt': 'd\n',
      x: { mode: '100755', content: '#' },
    })
    expect(await folder(it.window)).toEqual([
      { name: 'a', mode: '040000' },
      { name: 'z', mode: '040000' },
      { name: 'b.txt', mode: '100644' },
      { name: 'x', mode: '100755' },
    ])
    await type(it.window, 'z/deep/c.txt', 2, 'typed')
    expect((await folder(it.window)).map(({ name, draft }) => [name, draft])).toEqual([
      ['a', undefined],
      ['z', 'changed'],
      ['b.txt', undefined],
      ['x', undefined],
    ])
    expect(await folder(it.window, 'z/deep')).toEqual([{ name: 'c.txt', mode: '100644', draft: 'changed' }])
    expect(await folder(it.window, 'z/deep', { kind: 'commit', commit: it.tip })).toEqual([
      { name: 'c.txt', mode: '100644' },
    ])
  })

  test('is sorted without regard to case, by the value of digits, and with é near e', async () => {
    const names = [
      '.git-blame',
      '_x.py',
      'CHANGES.rst',
      'con.txt',
      'Con.txt',
      'e.txt',
      'é.txt',
      'f2',
      'f10',
      'README.md',
    ]
    const files = Object.fromEntries(names.map(name => [name, '']))
    await using it = await makeDesk({ ...files, 'Zoo/a': '', 'lib10/a': '', 'lib9/a': '' })
    const listed = (await folder(it.window)).map(({ name }) => asText(name))
    expect(listed).toEqual([
      ...['lib9', 'lib10', 'Zoo'],
      ...['_x.py', '.git-blame', 'CHANGES.rst', 'con.txt', 'Con.txt', 'e.txt', 'é.txt', 'f2', 'f10', 'README.md'],
    ])
  })

  test('says what is added, deleted and renamed, and lists a renamed file once', async () => {
    await using it = await makeDesk({
      ...{ 'a.txt': 'a\n', 'b.txt': 'b\n', 'lib/c.txt': 'c\n', 'lib/in/e.txt': 'e\n', 'old/d.txt': 'd\n' },
    })
    await it.window.ask({ ask: 'new file', branch: 'main', path: 'more/new.txt' })
    const moves = [
      { from: 'a.txt', to: 'lib/a.txt' },
      { from: 'lib', to: 'src' },
    ]
    await it.window.ask({ ask: 'move', branch: 'main', moves })
    await it.window.ask({ ask: 'delete', branch: 'main', paths: ['b.txt', 'old'] })
    await it.window.ask({ ask: 'new file', branch: 'main', path: 'src/added/new.txt' })
    expect(await folder(it.window)).toEqual([
      { name: 'more', mode: '040000', draft: 'added' },
      { name: 'old', mode: '040000', draft: 'deleted' },
      { name: 'src', mode: '040000', draft: 'renamed', from: 'lib' },
      { name: 'b.txt', mode: '100644', draft: 'deleted' },
    ])
    expect(await folder(it.window, 'src')).toEqual([
      { name: 'added', mode: '040000', draft: 'added' },
      { name: 'in', mode: '040000', draft: 'renamed', from: 'lib/in' },
      { name: 'a.txt', mode: '100644', draft: 'renamed', from: 'a.txt' },
      { name: 'c.txt', mode: '100644', draft: 'renamed', from: 'lib/c.txt' },
    ])
    expect(await folder(it.window, 'old')).toEqual([{ name: 'd.txt', mode: '100644', draft: 'deleted' }])
  })

  test('with 100,000 files is listed within seconds, while other questions are answered', async () => {
    await using place = await makePlace()
    const blob = await gitWith(place.path, ['hash-object', '-w', '--stdin'], 'a\n')
    const lines = Array.from({ length: 100_000 }, (_, at) => `100644 blob ${blob}\tf${at}\n`)
    const tree = await gitWith(place.path, ['mktree'], lines.join(''))
    const person = ['-c', 'user.name=A', '-c', 'user.email=a@b']
    await place.git('update-ref', 'refs/heads/main', await place.git(...person, 'commit-tree', '-m', 'Many', tree))
    await using desk = await openTestDesk(place.path)
    await using window = await desk.window()
    await using other = await desk.window()
    const begun = performance.now()
    const listed = folder(window)
    await other.ask({ ask: 'stop finding', search: 0 })
    const answered = performance.now() - begun
    expect(await listed).toHaveLength(100_000)
    expect(answered).toBeLessThan(1000)
    expect(performance.now() - begun).toBeLessThan(5000)
  })
})

describe('a search for files', () => {
  const named = async (window: TestWindow, words: string, count = 10) =>
    (await window.ask({ ask: 'find file', at: main, words, count })) as { path: string; ranges: [number, number][] }[]

  test('finds a file by a few letters, its own name before its folders', async () => {
    await using it = await makeDesk({ 'lease/other.ts': '', 'src/lease.ts': '', 'src/release.ts': '', 'README.md': '' })
    expect((await named(it.window, 'lease.ts'))[0]).toEqual({ path: 'src/lease.ts', ranges: [[4, 12]] })
    expect((await named(it.window, 'rdme')).map(({ path }) => path)).toEqual(['README.md'])
    expect(await named(it.window, 'nosuchthing')).toEqual([])
    expect(await named(it.window, '', 2)).toEqual([
      { path: 'README.md', ranges: [] },
      { path: 'lease/other.ts', ranges: [] },
    ])
  })

  test('finds first the files whose name was typed in full, with or without folders and extension', async () => {
    const exact = ['src/net/tcp/stream.rs', 'src/net/unix/stream.rs']
    const paths = [...exact, 'tests/my_stream.rs', 'tests/stream_of.rs', 'src/stream/mod.rs']
    await using it = await makeDesk(Object.fromEntries(paths.map(path => [path, ''])))
    const first = async (words: string) => (await named(it.window, words)).slice(0, 2).map(({ path }) => path)
    for (const words of ['stream.rs', 'stream', 'Stream.rs']) expect(await first(words)).toEqual(exact)
    expect((await first('unix/stream'))[0]).toBe('src/net/unix/stream.rs')
  })

  test('finds a name that was typed in its own case before its twin in another case', async () => {
    await using it = await makeDesk({ 'zoo/TABS.PY': '', 'zoo/tabs.py': '' })
    for (const words of ['tabs.py', 'tabs', 'zoo/tabs.py']) {
      expect((await named(it.window, words)).map(({ path }) => path)).toEqual(['zoo/tabs.py', 'zoo/TABS.PY'])
    }
    expect((await named(it.window, 'TABS.PY'))[0]?.path).toBe('zoo/TABS.PY')
  })

  test('finds names in any script, with ranges of their bytes', async () => {
    await using it = await makeDesk({ 'Tromsø/größe.txt': '', plain: '' })
    const [found] = await named(it.window, 'größe')
    expect(found?.path).toBe(asBytes('Tromsø/größe.txt'))
    const hit = (found?.ranges ?? []).map(([from, to]) => found?.path.slice(from, to)).join('')
    expect(hit).toBe(asBytes('größe'))
  })

  test('finds a new file, but not a deleted one', async () => {
    await using it = await makeDesk({ 'old.txt': 'x\n' })
    expect(await named(it.window, 'txt')).toHaveLength(1)
    await it.window.ask({ ask: 'new file', branch: 'main', path: 'new.txt' })
    await it.window.ask({ ask: 'delete', branch: 'main', paths: ['old.txt'] })
    expect((await named(it.window, 'txt')).map(({ path }) => path)).toEqual(['new.txt'])
  })
})

describe('a search for text', () => {
  test('finds it with its position, in all text files', async () => {
    await using it = await makeDesk({
      'a.txt': 'x\nfoo bar foo\r\n',
      'sp ace\nline.txt': 'foo\n',
      bin: 'foo\0\n',
      'u.txt': 'ä foo ö\n',
    })
    const { matches, isCut } = await find(it.window, 'foo')
    expect(isCut).toBe(false)
    expect(matches).toEqual([
      {
        path: 'a.txt',
        line: 2,
        text: 'foo bar foo',
        ranges: [
          [0, 3],
          [8, 11],
        ],
      },
      { path: 'sp ace\nline.txt', line: 1, text: 'foo', ranges: [[0, 3]] },
      { path: 'u.txt', line: 1, text: 'ä foo ö', ranges: [[2, 5]] },
    ])
  })

  test('finds it in drafts as typed, not as saved', async () => {
    await using it = await makeDesk({ 'a.txt': 'before\n', 'b.txt': 'before\n' })
    await type(it.window, 'a.txt', 7, 'after\n')
    expect((await find(it.window, 'before')).matches.map(({ path }) => path)).toEqual(['b.txt'])
    expect((await find(it.window, 'after')).matches.map(({ path }) => path)).toEqual(['a.txt'])
    const commitAt: At = { kind: 'commit', commit: it.tip }
    expect((await find(it.window, 'before', { at: commitAt })).matches).toHaveLength(2)
  })

  test('finds it literally or by an expression, with or without case', async () => {
    await using it = await makeDesk({ 'a.txt': 'a.b\naxb\nA.B\nÄ1\nä2\n' })
    const lines = async (words: string, options = {}) =>
      (await find(it.window, words, options)).matches.map(({ line }) => line)
    expect(await lines('a.b')).toEqual([1])
    expect(await lines('a.b', { matchCase: false })).toEqual([1, 3])
    expect(await lines('a.b', { isRegex: true })).toEqual([1, 2])
    expect(await lines('ä', { matchCase: false })).toEqual([4, 5])
    expect(await lines('^\\w\\d$|ä\\d', { isRegex: true, matchCase: false })).toEqual([4, 5])
    expect(await lines('--help')).toEqual([])
  })

  test('shows a line that is not UTF-8 as its file is shown, and marks the match in it', async () => {
    await using it = await makeDesk({ 'a.txt': 'no\n' })
    const oid = await blobOf(it.place.path, Buffer.from('un caf\xe9 l\xe0\r\n', 'latin1'))
    const tree = await gitWith(it.place.path, ['mktree'], `100644 blob ${oid}\tlatin.txt\n`)
    const now = '<a@example.com> 1 +0000'
    const raw = `tree ${tree}\nauthor A ${now}\ncommitter A ${now}\n\nLatin\n`
    const made = await gitWith(it.place.path, ['hash-object', '-t', 'commit', '-w', '--stdin'], raw)
    const { matches } = await find(it.window, 'l', { at: { kind: 'commit', commit: made } })
    expect(matches).toEqual([{ path: 'latin.txt', line: 1, text: 'un café là', ranges: [[8, 9]] }])
  })

  test('is not misled by a file that imitates its separators', async () => {
    await using it = await makeDesk({ 'a.txt': '\u001b[31mfake\u001b[m foo \u001b[38;2;1;2;3mx\u001b[m\n' })
    const [match] = (await find(it.window, 'foo')).matches
    expect(match?.text.slice(...(match.ranges[0] ?? [0, 0]))).toBe('foo')
    expect(match?.text).toBe('\u001b[31mfake\u001b[m foo \u001b[38;2;1;2;3mx\u001b[m')
  })

  test('shows the part of a very long line around the match', async () => {
    await using it = await makeDesk({ 'min.js': `${'x'.repeat(300_000)}needle${'y'.repeat(300_000)}\n` })
    const [match] = (await find(it.window, 'needle')).matches
    expect(match?.text.length).toBeLessThan(500)
    expect(match?.text.slice(...(match.ranges[0] ?? [0, 0]))).toBe('needle')
  })

  test('with very many matches is cut, and ends', async () => {
    await using it = await makeDesk({ 'a.txt': 'foo\n'.repeat(30_000) })
    const { matches, isCut } = await find(it.window, 'foo')
    expect([matches.length, isCut]).toEqual([10_000, true])
  })

  test('with an expression that never ends stops with a sentence', async () => {
    await using it = await makeDesk({ 'a.txt': `${'a'.repeat(50_000)}!\n` })
    expect(await find(it.window, '(a+)+$', { isRegex: true })).toEqual({ matches: [], isCut: true })
    expect((await it.window.heard('notice')).words).toMatch(/^The expression takes too long .*: make it simpler\.$/)
  })

  test('ends when a newer one begins', async () => {
    await using it = await makeDesk({ 'a.txt': 'foo\n' })
    const ask = async () =>
      (
        (await it.window.ask({ ask: 'find text', at: main, words: 'foo', isRegex: false, matchCase: true })) as {
          search: number
        }
      ).search
    const search = await ask()
    await it.window.ask({ ask: 'stop finding', search })
    await it.window.heard('found', news => news.search === search && news.isDone)
    expect(it.window.news.filter(news => news.say === 'notice')).toEqual([])
  })
})

describe('the changes', () => {
  const changes = async (window: TestWindow, to: At, from?: At) =>
    (await window.ask({ ask: 'changes', to, ...(from && { from }) })) as Change[]

  test('of a commit, with lines, renames, modes and what is binary', async () => {
    const moved = 'one\ntwo\nthree\nfour\n'
    await using it = await makeDesk({
      'a.txt': 'a\n',
      'old name.txt': moved,
      script: '#',
      bin: 'a\0',
      gone: 'was here\n',
    })
    const second = await commit(it.place.path, 'main', {
      'a.txt': 'b\nc\n',
      'old name.txt': null,
      'new\nname.txt': `${moved}five\n`,
      script: { mode: '100755', content: '#' },
      bin: 'b\0',
      gone: null,
      added: 'x\n',
    })
    const found = await changes(it.window, { kind: 'commit', commit: second })
    expect(found.map(({ path, from, status, added, deleted }) => [path, from, status, added, deleted])).toEqual([
      ['a.txt', undefined, 'changed', 2, 1],
      ['added', undefined, 'added', 1, 0],
      ['bin', undefined, 'changed', undefined, undefined],
      ['gone', undefined, 'deleted', 0, 1],
      ['new\nname.txt', 'old name.txt', 'renamed', 1, 0],
      ['script', undefined, 'mode', 0, 0],
    ])
    expect(found[0]?.before?.oid).toBe(await it.place.git('rev-parse', `${it.tip}:a.txt`))
    // The first commit has no parent.
    expect(
      (await changes(it.window, { kind: 'commit', commit: it.tip })).every(({ status }) => status === 'added'),
    ).toBe(true)
  })

  test('of drafts, and against another branch', async () => {
    await using it = await makeDesk({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
    await it.place.git('branch', 'other')
    await commit(it.place.path, 'other', { 'b.txt': 'B\n' })
    expect(await changes(it.window, main)).toEqual([])
    await type(it.window, 'a.txt', 2, 'typed\n')
    const [unsaved] = await changes(it.window, main)
    expect(unsaved).toMatchObject({ path: 'a.txt', status: 'changed', added: 1, deleted: 1 })
    expect(await it.window.ask({ ask: 'blob', oid: unsaved?.after?.oid ?? '' })).toEqual({ text: 'typed\n' })
    const against = await changes(it.window, main, { kind: 'branch', branch: 'other' })
    // Changes on the other branch since the merge base do not count.
    expect(against.map(({ path }) => path)).toEqual(['a.txt'])
    const other = await changes(it.window, { kind: 'branch', branch: 'other' }, main)
    expect(other.map(({ path }) => path)).toEqual(['b.txt'])
  })

  test('of a file that was renamed onto the path of a deleted one are one, as its draft is', async () => {
    const text = 'one\ntwo\nthree\nfour\n'
    await using it = await makeDesk({ 'a.txt': text, 'b.txt': 'b\n' })
    const { window } = it
    await window.ask({ ask: 'delete', branch: 'main', paths: ['b.txt'] })
    await window.ask({ ask: 'move', branch: 'main', moves: [{ from: 'a.txt', to: 'b.txt' }] })
    await type(window, 'b.txt', text.length, `${text}typed\n`)
    const { desk } = (await window.ask({ ask: 'desk' })) as { desk: { branches: { drafts: string[] }[] } }
    const found = await changes(window, main)
    expect(desk.branches.map(({ drafts }) => drafts)).toEqual([['b.txt']])
    expect(found.map(({ path, from, status, added, deleted }) => [path, from, status, added, deleted])).toEqual([
      ['b.txt', 'a.txt', 'renamed', 1, 0],
    ])
  })

  test('of drafts are as many as the drafts: a file renamed on the desk counts once, and no other pair does', async () => {
    const text = 'one\ntwo\nthree\nfour\n'
    await using it = await makeDesk({ 'a.txt': text, 'b.txt': text, 'c.txt': text, 'd.txt': 'd\n' })
    const { window } = it
    await window.ask({ ask: 'move', branch: 'main', moves: [{ from: 'a.txt', to: 'lib/a.txt' }] })
    await window.ask({ ask: 'move', branch: 'main', moves: [{ from: 'b.txt', to: 'lib/b.txt' }] })
    await type(window, 'lib/b.txt', text.length, 'nothing of it is left\n')
    await window.ask({
      ask: 'copy',
      at: main,
      branch: 'main',
      copies: [{ from: 'c.txt', to: 'e.txt' }],
      findsNames: false,
    })
    await window.ask({ ask: 'delete', branch: 'main', paths: ['c.txt'] })
    const { desk } = (await window.ask({ ask: 'desk' })) as { desk: { branches: { drafts: string[] }[] } }
    const found = await changes(window, main)
    expect(found.map(({ path }) => path)).toEqual(desk.branches[0]?.drafts ?? [])
    const listed = [
      ['c.txt', undefined, 'deleted', 0, 4],
      ['e.txt', undefined, 'added', 4, 0],
      ['lib/a.txt', 'a.txt', 'renamed', 0, 0],
      ['lib/b.txt', 'b.txt', 'renamed', 1, 4],
    ]
    const columns = (all: Change[]) =>
      all.map(({ path, from, status, added, deleted }) => [path, from, status, added, deleted])
    expect(columns(found)).toEqual(listed)
    expect(found[3]?.before?.oid).toBe(await it.place.git('rev-parse', 'main:b.txt'))
    // The review asks for them from the branch's commit.
    expect(columns(await changes(window, main, { kind: 'commit', commit: it.tip }))).toEqual(listed)
    // Some of them are saved as they were shown.
    const { path, before, after } = found[3] as Change
    const parts = [{ path, shown: { before: before?.oid, after: after?.oid } }]
    await window.ask({ ask: 'save parts', branch: 'main', parts })
    expect(await it.place.git('show', '--format=', '--name-status', '--no-renames', 'main')).toBe(
      'D\tb.txt\nA\tlib/b.txt',
    )
  })

  test('that are too many to show are a sentence', async () => {
    await using it = await makeDesk({ a: '' })
    const many = await commit(
      it.place.path,
      'main',
      Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`d${at % 50}/${at}`, ''])),
    )
    const answer = changes(it.window, { kind: 'commit', commit: many })
    expect(await answer.catch((error: Error) => error.message)).toBe(
      'More than 20,000 files differ: too many to be shown.',
    )
  })

  test('treat only text as text', async () => {
    await using it = await makeDesk({ text: 'ä\r\n', bin: 'a\0', large: 'x'.repeat(3 << 20) })
    const text = async (name: string) =>
      await it.window.ask({ ask: 'blob', oid: await it.place.git('rev-parse', `main:${name}`) })
    expect([await text('text'), await text('bin'), await text('large')]).toEqual([
      { text: 'ä\r\n' },
      { what: 'Binary' },
      { what: 'Larger than 2 MB' },
    ])
  })

  test('in a text in UTF-16 are not called binary', async () => {
    await using it = await makeDesk({ a: '' })
    const oid = await blobOf(it.place.path, Buffer.from('\ufeffwords\n', 'utf16le'))
    expect(await it.window.ask({ ask: 'blob', oid })).toEqual({ what: 'Text in UTF-16, which is not shown' })
  })

  test('in a text in Latin-1 are compared, with a guess of the encoding', async () => {
    await using it = await makeDesk({ a: '' })
    const oid = await blobOf(it.place.path, Buffer.from('caf\xe9\r\n', 'latin1'))
    expect(await it.window.ask({ ask: 'blob', oid })).toEqual({ text: 'café\r\n', encoding: 'Latin-1' })
  })
})

describe.each(['sha1', 'sha256'] as const)('the history (%s)', format => {
  const history = async (window: TestWindow, from: number, count: number, path?: string, at = main) =>
    (await window.ask({ ask: 'history', at, from, count, ...(path !== undefined && { path }) })) as {
      rows: CommitRow[]
      total?: number
    }

  test('of a branch is read in windows, and follows its tip', async () => {
    await using it = await makeDesk({ a: '0\n' }, format)
    for (let at = 1; at < 30; at++) await commit(it.place.path, 'main', { a: `${at}\n` }, { message: `Change ${at}` })
    const oids = (await it.place.git('rev-list', 'main')).split('\n')
    const { rows } = await history(it.window, 5, 10)
    expect(rows.map(({ oid }) => oid)).toEqual(oids.slice(5, 15))
    expect(rows[0]).toMatchObject({ subject: 'Change 24', author: { name: 'Una Upstream' }, parents: [oids[6]] })
    await commit(
      it.place.path,
      'main',
      { a: 'x\n' },
      { message: 'By a model\n\nForge-Model: some/model-1\nForge-Turn: 3' },
    )
    await until(async () => (await history(it.window, 0, 1)).total === 31)
    const { rows: newest, total } = await history(it.window, 0, 1)
    expect(newest).toMatchObject([{ subject: 'By a model', model: 'some/model-1' }])
    expect(total).toBe(31)
    expect((await history(it.window, 100, 10)).rows).toEqual([])
  })

  test('of a branch that is moved in a terminal has its new commit as soon as the list of branches has it', async () => {
    await using it = await makeDesk({ a: '0\n' }, format)
    expect((await history(it.window, 0, 1)).rows).toMatchObject([{ oid: it.tip }])
    const tip = await commit(it.place.path, 'main', { a: '1\n' })
    expect(await it.window.ask({ ask: 'desk' })).toMatchObject({ desk: { branches: [{ name: 'main', tip }] } })
    expect((await history(it.window, 0, 1)).rows).toMatchObject([{ oid: tip }])
  })

  test('of many branches is read at once, without ending one another', async () => {
    await using it = await makeDesk({ a: '1\n' })
    const names = Array.from({ length: 12 }, (_, at) => `topic${at}`)
    for (const name of names) await commit(it.place.path, name, { [name]: 'x\n' }, { parents: [it.tip] })
    const asked = names.map(async branch => {
      const at = { kind: 'branch', branch } as const
      const { rows } = (await it.window.ask({ ask: 'history', at, from: 0, count: 5 })) as { rows: CommitRow[] }
      const filter = { refs: [`refs/heads/${branch}`], withAbandoned: false }
      const graph = (await it.window.ask({ ask: 'graph', filter, from: 0, count: 5 })) as { rows: unknown[] }
      return [rows.length, graph.rows.length]
    })
    expect(await Promise.all(asked)).toEqual(names.map(() => [2, 2]))
  })

  test('of a branch with a waiting merge is the branch’s own', async () => {
    await using it = await makeDesk({ a: '1\n' })
    const other = await commit(it.place.path, 'other', { a: '2\n' }, { parents: [it.tip] })
    const tip = await commit(it.place.path, 'main', { a: '3\n' }, { parents: [it.tip] })
    const source = { commit: other, branch: 'other', words: 'other' }
    const { merging } = (await it.window.ask({ ask: 'do', step: { step: 'merge', source, onto: 'main' } })) as Done
    expect(merging).toBe('main')
    const oids = async (question: { path?: string; beyond?: At }) => {
      const asked = { ask: 'history', at: main, from: 0, count: 9, ...question } as const
      return ((await it.window.ask(asked)) as { rows: CommitRow[] }).rows.map(({ oid }) => oid)
    }
    expect(await oids({})).toEqual([tip, it.tip])
    expect(await oids({ path: 'a' })).toEqual([tip, it.tip])
    expect(await oids({ beyond: { kind: 'branch', branch: 'other' } })).toEqual([tip])
  })

  test('of what a branch has beyond another one is listed', async () => {
    await using it = await makeDesk({ a: '0\n' }, format)
    await it.place.git('branch', 'other')
    await commit(it.place.path, 'main', { a: '1\n' }, { message: 'Only on main' })
    await commit(it.place.path, 'other', { b: '1\n' }, { message: 'Only on other' })
    await it.window.heard('branch')
    const beyond = async (at: At, beyond: string, from = 0) => {
      const other = { kind: 'branch', branch: beyond } as const
      const answer = await it.window.ask({ ask: 'history', at, beyond: other, from, count: 10 })
      return (answer as { rows: CommitRow[] }).rows.map(({ subject }) => subject)
    }
    expect(await beyond(main, 'other')).toEqual(['Only on main'])
    expect(await beyond({ kind: 'branch', branch: 'other' }, 'main')).toEqual(['Only on other'])
    expect(await beyond(main, 'main')).toEqual([])
    expect(await beyond(main, 'other', 1)).toEqual([])
  })

  test('of a file is followed through its renames', async () => {
    await using it = await makeDesk({ 'old.txt': 'one\ntwo\nthree\n', other: '' }, format)
    await commit(it.place.path, 'main', { other: 'x' })
    await commit(it.place.path, 'main', { 'old.txt': null, 'new.txt': 'one\ntwo\nthree\n' }, { message: 'Rename' })
    const { rows } = await history(it.window, 0, 10, 'new.txt')
    expect(rows.map(({ subject }) => subject)).toEqual(['Rename', 'Change old.txt, other'])
    expect((await history(it.window, 1, 10, 'new.txt')).rows).toHaveLength(1)
  })

  test('of a file is searched across its renames, by message, author and hash', async () => {
    await using it = await makeDesk({ 'old.txt': 'one\ntwo\nthree\n', other: '' }, format)
    const first = await commit(it.place.path, 'main', { 'old.txt': 'one\ntwo\n4\n' }, { message: 'Größe\n\nA  Body' })
    await commit(it.place.path, 'main', { other: 'x' }, { message: 'A body beside it' })
    await commit(it.place.path, 'main', { 'old.txt': null, 'new.txt': 'one\ntwo\n4\n' }, { message: 'Rename' })
    await commit(it.place.path, 'main', { 'new.txt': 'one\ntwo\n5\n' }, { message: 'Größe again' })
    const found = async (words: string) => {
      const asked = { ask: 'history', at: main, path: 'new.txt', words, from: 0, count: 9 } as const
      const { rows } = (await it.window.ask(asked)) as { rows: CommitRow[] }
      return rows.map(({ subject, path }) => (path === undefined ? subject : `${subject} in ${path}`)).sort()
    }
    expect(await found('GRÖße')).toEqual(['Größe again', 'Größe in old.txt'])
    expect(await found('größe  again')).toEqual(['Größe again'])
    expect(await found('rename')).toEqual(['Rename'])
    expect(await found('body')).toEqual(['Größe in old.txt'])
    expect(await found(first.slice(0, 8))).toEqual(['Größe in old.txt'])
    const author = await it.place.git('log', '-1', '--format=%an <%ae>', 'main')
    expect(await found(author.toUpperCase())).toHaveLength(4)
    expect(await found('nothing')).toEqual([])
  })

  test('names and finds authors as .mailmap has them, like git log', async () => {
    await using it = await makeDesk({ 'a.txt': '1\n' }, format)
    const by = (author: string) => ({ author, message: `By ${author.split(' ')[0]}` })
    const oid = await commit(it.place.path, 'main', { 'a.txt': '2\n' }, by('Old Name <ann@old.example>'))
    await commit(it.place.path, 'main', { 'a.txt': '3\n' }, by('Una <una@example.com>'))
    const map = 'Ann New <ann@example.com> Old Name <ann@old.example>\n'
    await commit(it.place.path, 'main', { '.mailmap': map }, by('Una <una@example.com>'))
    const found = async (words: string, path?: string) => {
      const about = { words, from: 0, count: 9, ...(path !== undefined && { path }) }
      const { rows } = (await it.window.ask({ ask: 'history', at: main, ...about })) as { rows: CommitRow[] }
      return rows.map(({ author }) => `${author.name} <${author.email}>`)
    }
    const whole = (await it.window.ask({ ask: 'commit', commit: oid })) as { row: CommitRow }
    expect(whole.row.author).toEqual({ name: 'Ann New', email: 'ann@example.com' })
    for (const path of [undefined, 'a.txt']) {
      expect(await found('ann new', path)).toEqual(['Ann New <ann@example.com>'])
      expect(await found('ann@old', path)).toEqual([])
    }
    const filter = { withAbandoned: false }
    const inGraph = await it.window.ask({ ask: 'find commits', filter, words: 'Ann New', described: 1 })
    const { commits } = inGraph as { commits: CommitRow[] }
    expect(commits.map(({ author }) => author.name)).toEqual(['Ann New'])
  })

  test('has a commit by its id or the start of it', async () => {
    await using it = await makeDesk({ a: 'a\n' }, format)
    const tip = await commit(it.place.path, 'main', { a: 'b\n' }, { message: 'Subject\n\nBody' })
    for (const id of [tip, tip.slice(0, 8), ` ${tip.slice(0, 8).toUpperCase()} `])
      expect(await it.window.ask({ ask: 'commit', commit: id })).toMatchObject({
        row: { oid: tip, subject: 'Subject' },
        message: 'Subject\n\nBody',
        changes: [{ path: 'a', added: 1, deleted: 1 }],
      })
  })
})

/** Writes a blob of any bytes; its id. */
async function blobOf(cwd: string, stdin: Buffer): Promise<string> {
  const hash = ['git', 'hash-object', '-w', '--stdin']
  return (await Bun.spawn(hash, { cwd, stdin, stdout: 'pipe' }).stdout.text()).trim()
}
