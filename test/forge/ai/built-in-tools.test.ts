/** The built-in tools, on the files of a real repository. */
import { expect, test } from 'bun:test'
import { builtInTools, readingTools } from '../../../forge/ai/built-in-tools.ts'
import type { ToolContext, ToolResult } from '../../../forge/ai/tool.ts'
import { CommitVfs, WorkInProgressVfs } from '../../../forge/vfs.ts'
import { refusedBy } from '../../support/refusals.ts'
import { makePlace, type Place } from '../../support/repository.ts'
import { roomOf } from './room.ts'

const POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5\n'
const FILES: Record<string, string | Buffer> = {
  'a.ts': 'export const a = 1\nexport const b = 2\n',
  'crlf.txt': '\ufeffone\r\ntwo\r\n',
  'latin.txt': Buffer.from('caf\xe9\nend\n', 'latin1'),
  'wide.txt': Buffer.from('\xff\xfea\0b\0', 'latin1'),
  'image.bin': Buffer.from([0, 1, 2]),
  'large.dat': POINTER,
  'src/deep/x.ts': 'const x = "needle"\n',
  'src/deep/y.ts': 'const y = 1\n',
  '.forge/session.json': '{"text":"needle"}\n',
}
const SUBMODULE = '1234567890123456789012345678901234567890'

type Scene = Place & {
  vfs: WorkInProgressVfs
  active: Set<string>
  misses: Map<string, number>
  call: (name: string, sent: unknown) => Promise<ToolResult>
  textOf: (path: string) => Promise<string>
}

/** A repository with files of all kinds, and a context in which tools are called. */
async function makeScene(files = FILES): Promise<Scene> {
  const place = await makePlace()
  const first = new WorkInProgressVfs(place.objects, undefined)
  for (const [path, content] of Object.entries(files)) await first.writeFile(path, Buffer.from(content as string))
  await first.writeFile('run.sh', Buffer.from('#!/bin/sh\n'), { mode: '100755' })
  const link = { mode: '120000', bytes: Buffer.from('/etc/passwd') }
  const changes = new Map([
    ...first.changes,
    ['link', link] as const,
    ['lib', { mode: '160000', oid: SUBMODULE }] as const,
  ])
  const person = { name: 'A', email: 'a@b' }
  const all = new WorkInProgressVfs(place.objects, undefined, changes)
  const base = await all.commit({ message: 'x\n', author: person, committer: person })
  const vfs = new WorkInProgressVfs(place.objects, base)
  const active = new Set<string>()
  const misses = new Map<string, number>()
  const room: ToolContext = {
    vfs,
    activate: path => active.add(path),
    deactivate: path => active.delete(path),
    active,
    misses,
    changed: async path => (path === 'src/deep/y.ts' ? 'in the commit abc12345 by Ann' : undefined),
    forPerson: wait => wait(),
    signal: new AbortController().signal,
  }
  const call = async (name: string, sent: unknown) => {
    const tool = [...builtInTools(), ...readingTools()].find(it => it.description.name === name)
    if (!tool) throw new Error(`There is no tool ${name}`)
    const result = await tool.run(sent, room)
    if (result.missed) misses.set(result.missed, (misses.get(result.missed) ?? 0) + 1)
    return result
  }
  const textOf = async (path: string) => (await vfs.readFile(path)).toString('latin1')
  return { ...place, vfs, active, misses, call, textOf }
}

const edits = (search: string, replace: string) => [{ search, replace }]

test('a file is written, and its result says what changed', async () => {
  await using scene = await makeScene()
  const made = await scene.call('write_file', { path: 'new/file.ts', content: 'a\nb\n' })
  expect(made).toMatchObject({ isError: false, words: 'new  +2 −0', touched: ['new/file.ts'] })
  const changed = await scene.call('write_file', {
    path: './a.ts',
    content: 'export const a = 1\nexport const c = 3\n',
  })
  expect(changed).toMatchObject({ text: 'Wrote a.ts: +1 −1 lines.', words: '+1 −1', touched: ['a.ts'] })
  expect(await scene.textOf('a.ts')).toBe('export const a = 1\nexport const c = 3\n')
  const same = await scene.call('write_file', { path: 'new/file.ts', content: 'a\nb\n' })
  expect(same).toEqual({
    text: 'new/file.ts is like this already: nothing changed.',
    isError: false,
    words: 'no change',
  })
})

test('a file that is written keeps its mode, its BOM and its line ends', async () => {
  await using scene = await makeScene()
  const result = await scene.call('write_file', { path: 'crlf.txt', content: 'one\n2\n' })
  expect(result.text).toBe('Wrote crlf.txt: +1 −1 lines. It kept its line ends, CRLF and its BOM.')
  expect(await scene.textOf('crlf.txt')).toBe('\xef\xbb\xbfone\r\n2\r\n')
  await scene.call('write_file', { path: 'run.sh', content: '#!/bin/bash\n' })
  expect((await scene.vfs.entryAt('run.sh'))?.mode).toBe('100755')
})

const OTHERS: [string, RegExp][] = [
  ['link', /symbolic link to \/etc\/passwd/],
  ['lib', /submodule, at its commit 123456789012/],
  ['large.dat', /pointer of Git LFS/],
  ['image.bin', /binary file/],
  ['wide.txt', /UTF-16/],
  ['src/deep', /folder/],
]
for (const [path, says] of OTHERS)
  test(`${path} is not overwritten, edited, read as text or taken into the context`, async () => {
    await using scene = await makeScene()
    const calls: [string, unknown][] = [
      ['write_file', { path, content: 'x' }],
      ['search_replace', { path, edits: edits('a', 'x') }],
      ['get_lines', { path }],
      ['update_context', { add: [path] }],
    ]
    for (const [name, sent] of calls) {
      const result = await scene.call(name, sent)
      expect(result).toMatchObject({ isError: true })
      expect(result.text).toMatch(says)
    }
    expect(scene.vfs.changes.size).toBe(0)
    expect(scene.active.size).toBe(0)
  })

test('Latin-1 is kept by an edit, and never written over as a whole', async () => {
  await using scene = await makeScene()
  expect((await scene.call('write_file', { path: 'latin.txt', content: 'x' })).text).toContain('no UTF-8')
  const result = await scene.call('search_replace', { path: 'latin.txt', edits: edits('end', 'END') })
  const shown = 'It is now (line number and tab in front):\n1\tcaf\\xe9\n2\tEND'
  expect(result).toMatchObject({ text: `Edited latin.txt: +1 −1 lines. ${shown}`, words: '1 edit  +1 −1' })
  expect(await scene.textOf('latin.txt')).toBe('caf\xe9\nEND\n')
  expect((await scene.call('get_lines', { path: 'latin.txt' })).text).toContain('1\tcaf\\xe9\n')
})

test('files that are too large are neither read nor changed', async () => {
  await using scene = await makeScene({ 'huge.txt': 'x\n'.repeat(6 << 20) })
  for (const [name, more] of [
    ['write_file', { content: 'x' }],
    ['search_replace', { edits: edits('x', 'y') }],
    ['get_lines', {}],
  ] as const)
    expect((await scene.call(name, { path: 'huge.txt', ...more })).text).toContain('12.0 MB')
  const large = await scene.call('write_file', { path: 'b', content: 'x'.repeat(3 << 20) })
  expect(large).toMatchObject({ isError: true })
  expect(scene.vfs.changes.size).toBe(0)
})

const FORBIDDEN = [
  ...['../x', '/etc/passwd', '.git/config', 'a/.GIT/hooks/x', 'git~1/x', 'a//b', 'a\nb', '', '.'],
  ...['.forge/session.json', './.forge/approved_tools.json', '.FORGE/x', '.forge./x', '.forge::$DATA/x', 'forge~1/x'],
  ...['.fo\u200crge/x', '.forge', '.\ufeffforge/x', '.forge\\approved_tools.json', 'x\ud800'],
]
test("no path leads out of the repository, into .git or to what is the forge's own", async () => {
  await using scene = await makeScene()
  for (const path of FORBIDDEN) {
    const calls: [string, unknown][] = [
      ['write_file', { path, content: 'x' }],
      ['search_replace', { path, edits: edits('text', 'x') }],
      ['delete_file', { path }],
      ['delete_file', { path: `${path}/` }],
      ['rename_file', { from: path, to: 'b' }],
      ['rename_file', { from: 'a.ts', to: path }],
      ['update_context', { add: [path] }],
    ]
    for (const [name, sent] of calls)
      expect([path, name, (await scene.call(name, sent)).isError]).toEqual([path, name, true])
  }
  expect(scene.vfs.changes.size).toBe(0)
})

test('files whose names are no UTF-8 are named as they are shown', async () => {
  await using scene = await makeScene({ 'caf\xe9.txt': 'a\n' })
  const result = await scene.call('search_replace', { path: 'caf\\xe9.txt', edits: edits('a', 'b') })
  expect(result).toMatchObject({ isError: false, touched: ['caf\xe9.txt'] })
  await scene.call('write_file', { path: 'café.txt', content: 'x' })
  expect(await scene.textOf('caf\xc3\xa9.txt')).toBe('x')
  const found = await scene.call('grep_open', { text: 'b', folder: 'caf\\xe9.txt' })
  expect(found.text).toContain('1\tb')
})

test('several edits are made or none, and what the file has otherwise is said', async () => {
  await using scene = await makeScene()
  const two = [...edits('a = 1', 'a = 10'), ...edits('nothing like it', 'x')]
  const refused = await scene.call('search_replace', { path: 'a.ts', edits: two })
  expect(refused).toMatchObject({ isError: true, words: 'not found', missed: 'a.ts' })
  expect(refused.text).toStartWith('a.ts was not edited, by none of the edits.\nEdit 2 of 2: The search is nowhere')
  expect(scene.vfs.changes.size).toBe(0)
  const moved = edits('  export const a = 1\n  export const b = 2\n', '  export const a = 1\n  export const b = 3\n')
  const made = await scene.call('search_replace', { path: 'a.ts', edits: moved })
  expect(made.text).toContain('The file has another indentation')
  expect(await scene.textOf('a.ts')).toBe('export const a = 1\nexport const b = 3\n')
})

test('after the second miss in a file, the model gets the whole of it', async () => {
  await using scene = await makeScene()
  const first = await scene.call('search_replace', { path: 'a.ts', edits: edits('const c = 1', 'x') })
  expect(first.text).toContain('1\texport const a = 1')
  expect(first.text).not.toContain('write_file')
  const second = await scene.call('search_replace', { path: 'a.ts', edits: edits('const d = 1', 'x') })
  expect(second.text).toEndWith('write_file now. This is what it is:\nexport const a = 1\nexport const b = 2\n')
  expect(scene.misses.get('a.ts')).toBe(2)
  const several = await scene.call('search_replace', { path: 'a.ts', edits: edits('export', 'x') })
  expect(several).toMatchObject({ isError: true, words: 'found more than once' })
  expect(several.missed).toBeUndefined()
})

test('a miss in a file that was changed elsewhere says so', async () => {
  await using scene = await makeScene()
  const result = await scene.call('search_replace', { path: 'src/deep/y.ts', edits: edits('const z', 'x') })
  expect(result.text).toContain('Somebody else has changed it since your last turn, in the commit abc12345 by Ann.')
})

test('a file that is not there is named where it is', async () => {
  await using scene = await makeScene()
  const result = await scene.call('search_replace', { path: 'src/x.ts', edits: edits('a', 'b') })
  expect(result.text).toBe('There is no file src/x.ts. There is src/deep/x.ts. To make it, write the whole file.')
})

test('files are deleted, a folder only where that is said', async () => {
  await using scene = await makeScene()
  scene.active.add('src/deep/x.ts')
  const folder = await scene.call('delete_file', { path: 'src' })
  expect(folder.text).toContain('src is a folder of 2 files: to delete all of them, give src/. It has src/deep/x.ts')
  expect((await scene.call('delete_file', { path: 'src/' })).touched).toEqual(['src/deep/x.ts', 'src/deep/y.ts'])
  expect(scene.active.size).toBe(0)
  expect(await scene.call('delete_file', { path: 'link' })).toMatchObject({ isError: false, words: 'deleted' })
  expect(await scene.call('delete_file', { path: 'lib' })).toMatchObject({ isError: true })
  expect((await scene.call('delete_file', { path: 'none' })).text).toBe('There is no file none.')
})

test('a file is renamed with its bytes, its mode and its place in the context', async () => {
  await using scene = await makeScene()
  scene.active.add('run.sh')
  const result = await scene.call('rename_file', { from: 'run.sh', to: 'bin/run.sh' })
  expect(result).toMatchObject({ text: 'Renamed run.sh to bin/run.sh.', touched: ['run.sh', 'bin/run.sh'] })
  expect((await scene.vfs.entryAt('bin/run.sh'))?.mode).toBe('100755')
  expect([...scene.active]).toEqual(['bin/run.sh'])
  await scene.call('rename_file', { from: 'latin.txt', to: 'latin.txt/inside' })
  expect(await scene.textOf('latin.txt/inside')).toBe('caf\xe9\nend\n')
  await scene.vfs.writeTree()
})

test('a rename overwrites nothing, and what fails leaves all as it was', async () => {
  await using scene = await makeScene()
  for (const [from, to] of [
    ['a.ts', 'crlf.txt'],
    ['a.ts', 'src'],
    ['a.ts', 'src/deep/x.ts/inside'],
    ['a.ts', 'a.ts'],
    ['a.ts', 'lib'],
    ['link', 'b'],
    ['lib', 'b'],
    ['src', 'b'],
    ['none', 'b'],
  ])
    expect(await scene.call('rename_file', { from, to })).toMatchObject({ isError: true })
  expect(await scene.vfs.writeTree()).toBe(await new CommitVfs(scene.objects, scene.vfs.base ?? '').writeTree())
})

test('lines are read with their numbers, and no more than are asked for', async () => {
  await using scene = await makeScene({
    'long.txt': Array.from({ length: 3000 }, (_, at) => `line ${at + 1}\r\n`).join(''),
  })
  const part = await scene.call('get_lines', { path: 'long.txt', from: 2, to: '3' })
  expect(part).toMatchObject({ text: 'long.txt, lines 2 to 3 of 3000:\n2\tline 2\n3\tline 3', words: '2 lines' })
  const all = await scene.call('get_lines', { path: 'long.txt' })
  expect(all.text).toEndWith('There is more: go on from line 1001.')
  expect((await scene.call('get_lines', { path: 'long.txt', from: 4000 })).text).toContain('3,000 lines')
  expect((await scene.call('get_lines', { path: 'long.txt', from: 3, to: 2 })).isError).toBe(true)
})

test('a line without an end is cut', async () => {
  await using scene = await makeScene({ 'min.js': `${'x'.repeat(100_000)}\ny\n` })
  const { text } = await scene.call('get_lines', { path: 'min.js' })
  expect(text.length).toBeLessThan(2000)
  expect(text).toContain('[100001 bytes in this line]\n2\ty')
})

test('text is found in the active files, in a folder and everywhere, as it is now', async () => {
  await using scene = await makeScene()
  await scene.vfs.writeFile('fresh.ts', Buffer.from('a needle (1+1)\n'))
  scene.active.add('fresh.ts')
  const open = await scene.call('grep_open', { text: 'needle' })
  expect(open.text).toBe('1 line in the 1 active file:\nfresh.ts\n1\ta needle (1+1)')
  const all = await scene.call('grep_open', { text: 'NEEDLE', ignore_case: true, everywhere: true })
  expect(all.text).toBe('2 lines in the repository:\nfresh.ts\n1\ta needle (1+1)\nsrc/deep/x.ts\n1\tconst x = "needle"')
  const folder = await scene.call('grep_open', { text: 'const', folder: 'src/' })
  expect(folder.words).toBe('2 lines')
  expect((await scene.call('grep_open', { text: '(1+1)' })).words).toBe('1 line')
  expect((await scene.call('grep_open', { text: '\\b[xy]\\b =', regex: true, everywhere: true })).words).toBe('2 lines')
  expect((await scene.call('grep_open', { text: '--version', everywhere: true })).words).toBe('nothing found')
  expect((await scene.call('grep_open', { text: '(', regex: true })).text).toStartWith('This is no expression')
  expect((await scene.call('grep_open', { text: 'a', folder: 'nowhere' })).text).toContain('no folder or file nowhere')
})

test('text is found everywhere where no file is active, with the lines around it where they are wanted', async () => {
  await using scene = await makeScene({
    'rows.txt': 'one\ntwo\nneedle\nfour\nfive\nsix\nseven\nneedle\n',
    'other.txt': 'x\n',
  })
  const found = await scene.call('grep_open', { text: 'needle', folder: 'rows.txt', context: 1 })
  expect(found.text).toBe(
    '2 lines in rows.txt:\nrows.txt\n2-\ttwo\n3:\tneedle\n4-\tfour\n…\n7-\tseven\n8:\tneedle\n9-\t',
  )
  expect((await scene.call('grep_open', { text: 'needle' })).text).toStartWith('2 lines in the repository:')
  // FORGE.md is an instruction file, which is active from the start.
  scene.active.add('FORGE.md')
  expect((await scene.call('grep_open', { text: 'needle' })).text).toStartWith('2 lines in the repository:')
  scene.active.add('other.txt')
  expect((await scene.call('grep_open', { text: 'needle' })).text).toBe(
    'Nothing in the 1 active file. With everywhere, all other files are looked at, too.',
  )
})

test('the result of an edit shows what each changed place is now', async () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`).join('')
  await using scene = await makeScene({ 'rows.txt': lines })
  const wanted = [...edits('line 5\n', 'a\nb\n'), ...edits('line 25\n', 'c\n')]
  const { text } = await scene.call('search_replace', { path: 'rows.txt', edits: wanted })
  expect(text.split('\n').slice(1)).toEqual([
    ...['3\tline 3', '4\tline 4', '5\ta', '6\tb', '7\tline 6', '8\tline 7', '…'],
    ...['24\tline 23', '25\tline 24', '26\tc', '27\tline 26', '28\tline 27'],
  ])
})

test('what is found is bounded, and an expression that takes for ever is ended', async () => {
  const hostile = `${'a'.repeat(50_000)}!\n`.repeat(20)
  await using scene = await makeScene({ 'many.txt': 'needle\n'.repeat(5000), 'hostile.txt': hostile })
  const many = await scene.call('grep_open', { text: 'needle', everywhere: true })
  expect(many.text).toContain('There may be more')
  expect(many.text.length).toBeLessThan(25_000)
  const slow = await scene.call('grep_open', { text: '^(a+)+$', regex: true, folder: 'hostile.txt' })
  expect(slow).toMatchObject({ isError: true })
  expect(slow.text).toMatch(/takes too long/)
}, 30_000)

test('files come into the context and leave it, all that are named or none', async () => {
  await using scene = await makeScene()
  const added = await scene.call('update_context', { add: ['a.ts', 'latin.txt'] })
  expect(added.text).toBe('Added a.ts, 38 bytes, about 11 tokens.\nAdded latin.txt, 9 bytes, about 3 tokens.')
  expect(added.words).toBe('+2 in the context')
  expect(await scene.call('update_context', { add: ['run.sh', 'none'], remove: ['a.ts'] })).toMatchObject({
    isError: true,
  })
  expect([...scene.active]).toEqual(['a.ts', 'latin.txt'])
  const changed = await scene.call('update_context', { add: '["run.sh"]', remove: 'a.ts' })
  expect(changed.words).toBe('+1 −1 in the context')
  expect([...scene.active]).toEqual(['latin.txt', 'run.sh'])
})

test('wrong arguments are told in a sentence, and nothing is done', async () => {
  await using scene = await makeScene()
  const told = async (name: string, sent: unknown) => {
    const { text, isError } = await scene.call(name, sent)
    expect(isError).toBe(true)
    return text
  }
  expect(await told('write_file', { path: 'x' })).toBe(
    'The argument content is missing. Nothing was done: send it again.',
  )
  expect(await told('write_file', { path: 'x', content: 1 })).toStartWith(
    'The argument content must be string, and was 1.',
  )
  expect(await told('write_file', { path: 'x', content: '', mode: '755' })).toStartWith('There is no argument mode.')
  expect(await told('write_file', '{"path": "x", "content": "cut of')).toStartWith(
    'The arguments must be a JSON object',
  )
  expect(await told('search_replace', { path: 'a.ts', edits: [] })).toStartWith('The argument edits is empty.')
  expect(await told('search_replace', { path: 'a.ts', edits: [{ search: 'a' }] })).toContain(
    'edits.0.replace is missing',
  )
  expect(await told('get_lines', { path: 'a.ts', from: 0 })).toContain('must be at least 1')
  expect(await told('get_lines', null)).toContain('a JSON object, and were null')
  expect(scene.vfs.changes.size).toBe(0)
})

test('arguments are understood where they can mean one thing only', async () => {
  await using scene = await makeScene()
  const sent = JSON.stringify({ path: 'a.ts', edits: JSON.stringify(edits('a = 1', 'a = 2')) })
  expect(await scene.call('search_replace', sent)).toMatchObject({ isError: false })
  expect(await scene.call('search_replace', { path: 'a.ts', edits: edits('a = 2', 'a = 3')[0] })).toMatchObject({
    isError: false,
  })
})

test('each tool says what it takes, and is titled whatever was sent', () => {
  const titles: Record<string, unknown> = {
    write_file: { path: 'a\u202e.ts', content: '' },
    rename_file: { from: 'a', to: 'b' },
    search_replace: { path: 'lease.ts' },
    update_context: { add: ['a'], remove: ['b'] },
    get_lines: { path: 'a', from: 3, to: 9 },
    grep_open: { text: 'needle' },
    append_to_file: { path: 'log.md', content: 'x' },
    delete_file: 7,
  }
  const tools = builtInTools()
  expect(tools.map(tool => tool.title(titles[tool.description.name])).sort()).toEqual([
    'append_to_file log.md',
    'delete_file',
    'get_lines a 3–9',
    'grep_open needle',
    'rename_file a → b',
    'search_replace lease.ts',
    'update_context +a −b',
    'write_file a\\u202e.ts',
  ])
  for (const { description } of tools) {
    expect(description.parameters).toMatchObject({ type: 'object', additionalProperties: false })
    expect(description.description.length).toBeLessThan(300)
  }
})

test('of a long piece that an edit brings in, its ends are shown with the lines around them', async () => {
  await using scene = await makeScene({ 'a.txt': 'one\ntwo\nthree\nfour\nfive\n' })
  const piece = [...Array(40).keys()].map(at => `new ${at}`).join('\n')
  const { text } = await scene.call('search_replace', { path: 'a.txt', edits: [{ search: 'three', replace: piece }] })
  expect(text).toEndWith(
    'in front):\n1\tone\n2\ttwo\n3\tnew 0\n4\tnew 1\n…\n41\tnew 38\n42\tnew 39\n43\tfour\n44\tfive',
  )
})

test('lines are added at the end of a file, on lines of their own and as the file ends its lines', async () => {
  await using scene = await makeScene({ ...FILES, 'open.txt': 'one\ntwo' })
  const added = await scene.call('append_to_file', { path: 'open.txt', content: 'three' })
  expect(added).toMatchObject({ isError: false, touched: ['open.txt'], words: '+2 −1' })
  expect(added.text).toContain('It is now (line number and tab in front):\n1\tone\n2\ttwo\n3\tthree')
  expect(await scene.textOf('open.txt')).toBe('one\ntwo\nthree\n')
  await scene.call('append_to_file', { path: 'crlf.txt', content: 'three\nfour\n' })
  expect(await scene.textOf('crlf.txt')).toEndWith('two\r\nthree\r\nfour\r\n')
  const told = async (path: string, content = 'é') => (await scene.call('append_to_file', { path, content })).text
  expect(await told('nowhere.txt')).toBe('There is no file nowhere.txt. To make it, write the whole file.')
  expect(await told('latin.txt')).toContain('has bytes that are no UTF-8')
  expect(await told('link')).toContain('a symbolic link')
  expect(await told('a.ts', '')).toStartWith('The argument content is empty.')
})

test('a file is made executable where that is asked for', async () => {
  await using scene = await makeScene()
  const mode = async (path: string) => (await scene.vfs.entryAt(path))?.mode
  await scene.call('write_file', { path: 'new.sh', content: 'true\n', executable: true })
  await scene.call('write_file', { path: 'a.ts', content: 'export {}\n' })
  await scene.call('write_file', { path: 'run.sh', content: '#!/bin/sh\n', executable: false })
  expect(await Promise.all(['new.sh', 'a.ts', 'run.sh'].map(mode))).toEqual(['100755', '100644', '100644'])
})

test('a planner finds lines in all files, and the commits that changed one', async () => {
  await using scene = await makeScene()
  expect((await scene.call('grep', { text: 'needle', folder: 'src/' })).text).toBe(
    '1 line in src:\nsrc/deep/x.ts\n1\tconst x = "needle"',
  )
  expect((await scene.call('grep', { text: 'nothing like it' })).text).toBe('Nothing in the repository.')
  const history = await scene.call('get_history', { path: 'src/deep' })
  expect(history.text).toMatch(/^\d{4}-\d\d-\d\d x\n {2}\S+(?:, \S+)* and \d+ more$/)
  expect((await scene.call('get_history', { text: 'no such words' })).text).toBe('No commit is like that.')
})

test('a tool that is stopped throws the reason', async () => {
  await using scene = await makeScene()
  const [tool] = builtInTools()
  if (!tool) throw new Error('There is no tool.')
  const room = roomOf(scene.vfs, AbortSignal.abort(new Error('Stop')))
  expect(await refusedBy(tool.run({ path: 'a.ts', edits: edits('a', 'b') }, room))).toThrow('Stop')
})
