/** Messages between windows and the desk: unknown questions, too large ones, and fields that look like options. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asBytes } from '../../../core/git/repository.ts'
import type { BranchInfo } from '../../../forge/desk/contract/branches.ts'
import type { DeskInfo, Layout } from '../../../forge/desk/contract/desk.ts'
import type { FolderEntry } from '../../../forge/desk/contract/reading.ts'
import type { At } from '../../../forge/desk/contract/values.ts'
import { commit, git, gitWith } from '../../support/git.ts'
import { bytesFrom, makePlace, type Place } from '../../support/repository.ts'
import { type Ask, openTestDesk, type TestDesk, type TestWindow } from '../../support/served.ts'

let place: Place
let desk: TestDesk
let tip = ''
let blob = ''
const main: At = { kind: 'branch', branch: 'main' }

beforeAll(async () => {
  place = await makePlace()
  tip = await commit(place.path, 'main', { 'a.txt': 'one\n', 'folder/b.txt': 'two\n' })
  blob = await place.git('rev-parse', 'main:a.txt')
  desk = await openTestDesk(place.path)
})
afterAll(async () => {
  await desk[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

const describeDesk = async (window: TestWindow) =>
  (await window.ask({ ask: 'desk' })) as { desk: DeskInfo; layout: Layout | undefined }

/** The error in place of an answer. */
const why = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    value => {
      throw new Error(`it was answered: ${JSON.stringify(value)}`)
    },
    (error: Error) => error.message,
  )

describe('an unknown question', () => {
  test.each([
    '',
    '{',
    'null',
    '[]',
    '7',
    '"desk"',
    '{}',
    '{"id":"1","ask":"desk"}',
    '{"id":-1,"ask":"desk"}',
    '{"id":1.5,"ask":"desk"}',
    '{"ask":"desk"}',
    '[{"id":1,"ask":"desk"}]',
  ])('and can’t be replied to, ends the window: %p', async text => {
    await using window = await desk.window()
    window.socket.send(text)
    expect(await window.ended).toMatchObject({ code: 1008, reason: 'The desk did not understand this page.' })
  })

  test.each<[string, object]>([
    ['an unknown one', { ask: 'nosuch' }],
    ['none', {}],
    ['__proto__', { ask: '__proto__' }],
    ['constructor', { ask: 'constructor' }],
    ['without its fields', { ask: 'folder' }],
    ['a path of numbers', { ask: 'open', at: { kind: 'branch', branch: 'main' }, path: [1] }],
    ['an empty branch', { ask: 'delete branch', branch: '' }],
    ['an odd place', { ask: 'folder', at: { kind: 'tag', tag: 'v1' }, path: '' }],
    ['a commit that is none', { ask: 'folder', at: { kind: 'commit', commit: 'HEAD' }, path: '' }],
    ['a commit with a line end', { ask: 'folder', at: { kind: 'commit', commit: `${'a'.repeat(40)}\n` }, path: '' }],
    ['an endless name', { ask: 'open', at: { kind: 'branch', branch: 'main' }, path: 'x'.repeat(5000) }],
    ['too many rows', { ask: 'history', at: { kind: 'branch', branch: 'main' }, from: 0, count: 1e9 }],
    ['rows before the first', { ask: 'history', at: { kind: 'branch', branch: 'main' }, from: -1, count: 1 }],
  ])('is told, and the window goes on: %s', async (_, question) => {
    await using window = await desk.window()
    expect(await why(window.say({ id: 1, ...question } as never))).toMatch(
      /^The desk did not understand this page.*: reload it\.$/,
    )
    expect((await describeDesk(window)).desk.name).toBe('repo')
  })

  test('binary messages disconnect the window', async () => {
    await using window = await desk.window()
    window.socket.send(new Uint8Array([1, 2, 3]))
    expect((await window.ended).code).toBe(1003)
  })
})

describe('too much', () => {
  test('a message of more than 16 MB disconnects the window, and one of 15 MB does not', async () => {
    await using window = await desk.window()
    const paste = (megabytes: number) =>
      window.ask({
        ...{ ask: 'edit', branch: 'main', path: 'a.txt', version: 0 },
        edits: [{ client: 'x', changes: 'x'.repeat(megabytes << 20) }],
      })
    await why(paste(15))
    expect((await describeDesk(window)).desk.name).toBe('repo')
    paste(17).catch(() => undefined)
    expect((await window.ended).code).toBe(1009)
    await using other = await desk.window()
    expect((await describeDesk(other)).desk.name).toBe('repo')
  })

  test('a page that sends too many messages is disconnected, and no other window with it', async () => {
    await using wild = await desk.window()
    await using other = await desk.window()
    for (let id = 1; id < 20_000; id++) wild.socket.send(`{"id":${id},"ask":"stop finding","search":0}`)
    expect(await wild.ended).toMatchObject({ code: 1008, reason: 'Too many questions at once.' })
    expect((await describeDesk(other)).desk.name).toBe('repo')
  })

  test('too many windows: the next one is refused, until one is closed', async () => {
    const sockets = await Promise.all(Array.from({ length: 64 }, () => desk.window().catch(() => undefined)))
    expect(await desk.window().catch((error: Error) => error.message)).toBe('the socket was refused')
    for (const it of sockets) await it?.[Symbol.asyncDispose]()
    await using window = await desk.window()
    expect((await describeDesk(window)).desk.name).toBe('repo')
  })
})

const HOSTILE = [
  '--help',
  '--upload-pack=touch OWNED',
  '-c core.fsmonitor=touch OWNED',
  '--output=OWNED',
  '--open-files-in-pager=touch OWNED',
  '-Otouch OWNED',
  'ext::sh -c touch% OWNED',
  '@{-1}',
  'HEAD',
  'main..other',
  ':/one',
  ':(exclude)a.txt',
  '../../../../etc/passwd',
  '/etc/passwd',
  '.git/config',
  'a.txt\n--help',
  'main\nHEAD',
  'main\0',
  '\u001b]0;owned\u0007',
  '$(touch OWNED)',
  '`touch OWNED`',
  '; touch OWNED',
  '%00',
  'constructor',
  '__proto__',
]

describe('a name that looks like an option, another ref or another file is only a name', () => {
  const questions = (word: string): Ask[] => [
    { ask: 'folder', at: { kind: 'branch', branch: word }, path: '' },
    { ask: 'folder', at: main, path: word },
    { ask: 'open', at: { kind: 'branch', branch: word }, path: 'a.txt' },
    { ask: 'open', at: main, path: word },
    { ask: 'close', at: main, path: word },
    { ask: 'find file', at: { kind: 'branch', branch: word }, words: 'a', count: 3 },
    { ask: 'find file', at: main, words: word, count: 3 },
    { ask: 'edit', branch: word, path: word, version: 0, edits: [] },
    { ask: 'save', branch: word, paths: 'all' },
    { ask: 'save', branch: 'main', paths: [word], message: word },
    { ask: 'discard', branch: 'main', paths: [word] },
    { ask: 'message', branch: 'main', paths: [word] },
    { ask: 'move', branch: 'main', moves: [{ from: word, to: 'c.txt' }] },
    { ask: 'delete', branch: 'main', paths: [word] },
    { ask: 'rename branch', branch: word, to: 'other' },
    { ask: 'delete branch', branch: word },
    { ask: 'restore branch', branch: word },
    { ask: 'name now', branch: word },
    { ask: 'changes', from: { kind: 'branch', branch: word }, to: main },
    { ask: 'changes', to: { kind: 'branch', branch: word } },
    { ask: 'history', at: { kind: 'branch', branch: word }, from: 0, count: 3 },
    { ask: 'history', at: main, path: word, from: 0, count: 3 },
    { ask: 'commit', commit: word },
    { ask: 'find text', at: { kind: 'branch', branch: word }, words: 'a', isRegex: false, matchCase: true },
    { ask: 'find text', at: main, words: word, isRegex: false, matchCase: true },
    { ask: 'find text', at: main, words: word, isRegex: true, matchCase: false },
    { ask: 'merging', branch: word },
    { ask: 'conflict', branch: 'main', path: word },
    { ask: 'take side', branch: 'main', path: word, side: 'theirs' },
    { ask: 'save elsewhere', branch: word, to: 'other' },
    { ask: 'save elsewhere', branch: 'main', to: word },
    { ask: 'drafts elsewhere', branch: word, from: tip, to: 'other' },
    { ask: 'drafts elsewhere', branch: 'main', from: tip, to: word },
    { ask: 'drafts elsewhere', branch: 'main', from: word, to: 'other' },
    { ask: 'drafts onto', branch: word, to: 'other' },
    { ask: 'drafts onto', branch: 'main', to: word },
  ]

  test.each(HOSTILE)('%j', async word => {
    await using window = await desk.window()
    for (const question of questions(word)) {
      const answer = await window.ask(question).catch((error: Error) => error.message)
      const text = JSON.stringify(answer) ?? ''
      // The message may contain the hostile name itself, but no content of other files, usage text or stack trace.
      expect(text).not.toMatch(/root:x|usage: git|\bat .*\.ts:\d+|repositoryformatversion/)
    }
    expect(await place.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads')).toBe(
      `refs/heads/main ${tip}`,
    )
    for (const folder of [process.cwd(), place.path, place.folder])
      expect(await stat(join(folder, 'OWNED')).catch(() => undefined)).toBeUndefined()
  })

  const NO_BRANCHES = HOSTILE.filter(word => /^[-.@:/]|\n|\.\.|~|\\0|^;|^ext|^HEAD$/.test(word)).concat(
    'main\0',
    'a b',
    '\u001b',
  )
  test.each(NO_BRANCHES)('no branch is called %j', async word => {
    await using window = await desk.window()
    await why(window.ask({ ask: 'new branch', branch: word, from: tip }))
    await why(window.ask({ ask: 'rename branch', branch: 'main', to: word }))
    expect(await place.git('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main')
  })

  const NO_FILES = [
    '../x',
    'a/../b',
    '/etc/passwd',
    '.git/config',
    'x/.GIT/y',
    'git~1/x',
    'a\nb',
    'a\0',
    '\u001b[31m',
    'a//b',
    '.',
    '..',
    'a.txt/b',
  ]
  test.each(NO_FILES)('no file is called %j', async word => {
    await using window = await desk.window()
    await why(window.ask({ ask: 'new file', branch: 'main', path: word }))
    await why(window.ask({ ask: 'move', branch: 'main', moves: [{ from: 'a.txt', to: word }] }))
    expect(await place.git('rev-parse', 'main')).toBe(tip)
  })
})

describe('failures are reported in sentences', () => {
  test.each<[string, () => Ask, RegExp]>([
    [
      'a branch that is not there',
      () => ({ ask: 'folder', at: { kind: 'branch', branch: 'nosuch' }, path: '' }),
      /^There is no branch nosuch\.$/,
    ],
    [
      'a folder that is not there',
      () => ({ ask: 'folder', at: main, path: 'nosuch' }),
      /^There is no folder nosuch here any more\.$/,
    ],
    ['a file as a folder', () => ({ ask: 'folder', at: main, path: 'a.txt' }), /^There is no folder a\.txt/],
    [
      'a commit that is not there',
      () => ({ ask: 'folder', at: { kind: 'commit', commit: '1'.repeat(40) }, path: '' }),
      /^There is no commit 1+ in this repository\.$/,
    ],
    [
      'a blob as a commit',
      () => ({ ask: 'folder', at: { kind: 'commit', commit: blob }, path: '' }),
      /^There is no commit [0-9a-f]+ in this repository\.$/,
    ],
    [
      'an expression that is none',
      () => ({ ask: 'find text', at: main, words: '(', isRegex: true, matchCase: true }),
      /^This is no expression: missing closing parenthesis\.$/,
    ],
    [
      'several lines to find',
      () => ({ ask: 'find text', at: main, words: 'a\nb', isRegex: false, matchCase: true }),
      /^Text is found line by line/,
    ],
    ['an id of three digits', () => ({ ask: 'commit', commit: 'abc' }), /^abc is no commit/],
  ])('%s', async (_, question, sentence) => {
    await using window = await desk.window()
    expect(await why(window.ask(question()))).toMatch(sentence)
  })
})

test('hostile names of files and branches are preserved exactly', async () => {
  await using other = await makePlace()
  const names = ['<img src=x onerror=alert(1)>', 'a\nb', '"quoted"', 'rtl\u202etxt.exe', '-rf', '$(x)', 'ünï', ' ']
  await commit(other.path, 'main', Object.fromEntries(names.map(name => [name, `${name}\n`])))
  // A commit with a file name that is not UTF-8.
  const person = 'committer A <a@b> 1700000000 +0000\ndata 0\n'
  const stream = `commit refs/heads/main\n${person}from refs/heads/main^0\nM 100644 inline "b\\344d"\ndata 4\nodd\nM 100644 inline "\\033[31m"\ndata 4\nodd\n\n`
  await gitWith(other.path, ['fast-import', '--quiet'], stream)
  for (const branch of ['<b>bold</b>', 'ünï', "it's", 'a;b', 'with"quote'])
    await other.git('update-ref', `refs/heads/${branch}`, 'main')
  await using opened = await openTestDesk(other.path)
  await using window = await opened.window()
  const entries = (await window.ask({ ask: 'folder', at: main, path: '' })) as FolderEntry[]
  expect(entries.map(({ name }) => name).sort()).toEqual([...names.map(asBytes), 'b\xe4d', '\u001b[31m'].sort())
  for (const name of names)
    expect(await window.ask({ ask: 'open', at: main, path: asBytes(name) })).toMatchObject({ text: `${name}\n` })
  const { desk: described } = await describeDesk(window)
  const branches = described.branches.map(({ name }: BranchInfo) => name)
  for (const branch of ['<b>bold</b>', 'ünï', "it's", 'a;b', 'with"quote']) expect(branches).toContain(asBytes(branch))
  expect(await bytesFrom(other.path, 'for-each-ref', '--format=%(refname)')).toContain(asBytes('ünï'))
})

test('ref names with line ends, planted in the repository’s files, are no branches and break nothing', async () => {
  await using other = await makePlace()
  const at = await commit(other.path, 'main', { a: 'a\n' })
  await mkdir(join(other.path, 'refs/heads'), { recursive: true })
  await writeFile(join(other.path, 'refs/heads/evil\nname'), `${at}\n`)
  await using opened = await openTestDesk(other.path)
  await using window = await opened.window()
  expect((await describeDesk(window)).desk.branches.map(({ name }) => name)).toEqual(['main'])
  await why(window.ask({ ask: 'folder', at: { kind: 'branch', branch: 'evil\nname' }, path: '' }))
})

describe('the desk:', () => {
  test('describes itself', async () => {
    await using window = await desk.window()
    const { desk: described, layout } = await describeDesk(window)
    expect(described).toMatchObject({
      name: 'repo',
      folder: place.path,
      isBare: true,
      isEmpty: false,
      head: 'main',
      identity: { name: 'Dora Desk', email: 'dora@desk.example' },
      hooks: [],
    })
    expect(layout).toBeUndefined()
  })

  test('names the hooks that it does not run', async () => {
    await mkdir(join(place.path, 'hooks'), { recursive: true })
    for (const name of ['pre-commit', 'commit-msg', 'pre-push.sample', 'notes.txt'])
      await writeFile(join(place.path, 'hooks', name), '#!/bin/sh\n')
    await chmod(join(place.path, 'hooks/pre-commit'), 0o755)
    await chmod(join(place.path, 'hooks/pre-push.sample'), 0o755)
    await using window = await desk.window()
    expect((await describeDesk(window)).desk.hooks).toEqual(['pre-commit'])
  })

  test.each(['sha1', 'sha256'] as const)('shows an empty repository as such (%s)', async format => {
    await using other = await makePlace(format)
    await using opened = await openTestDesk(other.path)
    await using window = await opened.window()
    const { desk: described } = await describeDesk(window)
    expect(described).toMatchObject({ isEmpty: true, head: 'main', branches: [] })
    expect(await window.ask({ ask: 'folder', at: main, path: '' })).toEqual([])
    expect(await window.ask({ ask: 'history', at: main, from: 0, count: 10 })).toEqual({ rows: [], total: 0 })
    expect(await window.ask({ ask: 'find file', at: main, words: 'a', count: 10 })).toEqual([])
    await window.ask({ ask: 'new file', branch: 'main', path: 'a.txt' })
    const { desk: drafted } = await describeDesk(window)
    expect(drafted).toMatchObject({ isEmpty: true, branches: [], firstDrafts: ['a.txt'] })
    await window.ask({ ask: 'save', branch: 'main', paths: 'all' })
    expect(await git(other.path, 'ls-tree', '--name-only', 'main')).toBe('a.txt')
    expect(await window.ask({ ask: 'folder', at: main, path: '' })).toMatchObject([{ name: 'a.txt' }])
  })

  test('stores the layout, readable only by the user, and gives it to the next window', async () => {
    const layout = (active: number): Layout => ({
      tabs: [{ at: main, files: [{ path: 'a.txt', firstLine: 1.5, cursor: 2 }], active: 'a.txt', folders: ['folder'] }],
      active,
    })
    {
      await using window = await desk.window()
      await Promise.all([0, 1, 2, 3].map(active => window.ask({ ask: 'keep layout', layout: layout(active) })))
    }
    await using window = await desk.window()
    expect((await describeDesk(window)).layout).toEqual(layout(3))
    const file = join(desk.state, 'layout.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(layout(3))
    await writeFile(file, '{"tabs":')
    expect((await describeDesk(window)).layout).toBeUndefined()
  })

  test('sends the changes of one window to all', async () => {
    await using other = await makePlace()
    await commit(other.path, 'main', { 'a.txt': 'one\n' })
    await using opened = await openTestDesk(other.path)
    await using one = await opened.window()
    await using two = await opened.window()
    await two.ask({ ask: 'open', at: main, path: 'a.txt' })
    await one.ask({ ask: 'open', at: main, path: 'a.txt' })
    const edits = [{ client: 'one', changes: [3, [0, ' more'], 1] }]
    expect(await one.ask({ ask: 'edit', branch: 'main', path: 'a.txt', version: 0, edits })).toEqual({ accepted: true })
    expect(await two.heard('edited')).toMatchObject({ path: 'a.txt', version: 0, edits })
    const saved = (await one.ask({ ask: 'save', branch: 'main', paths: 'all' })) as { commit: string }
    expect((await two.heard('saved')).commit).toBe(saved.commit)
    await two.heard('desk', ({ desk: it }) => it.branches[0]?.tip === saved.commit)
    expect(await git(other.path, 'show', 'main:a.txt')).toBe('one more')
  })

  test('a file stays open as long as one window shows it', async () => {
    await using other = await makePlace()
    await commit(other.path, 'main', { 'a.txt': 'one\n' })
    await using opened = await openTestDesk(other.path)
    await using one = await opened.window()
    {
      await using two = await opened.window()
      await one.ask({ ask: 'open', at: main, path: 'a.txt' })
      await two.ask({ ask: 'open', at: main, path: 'a.txt' })
      await two.ask({ ask: 'close', at: main, path: 'a.txt' })
      // A window can't close what another one has open.
      await two.ask({ ask: 'close', at: main, path: 'a.txt' })
    }
    const edits = [{ client: 'one', changes: [4, [0, 'x']] }]
    expect(await one.ask({ ask: 'edit', branch: 'main', path: 'a.txt', version: 0, edits })).toEqual({ accepted: true })
  })
})
