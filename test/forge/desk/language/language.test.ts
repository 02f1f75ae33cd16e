/**
 * Language servers of a branch: they follow it, and hostile ones harm nothing. A double runs in place of a container.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { File } from '../../../../forge/desk/contract/branches.ts'
import type { Answer } from '../../../../forge/desk/contract/contract.ts'
import { bare, commit, git } from '../../../support/git.ts'
import { type Behaviour, doubleLauncher, type TestLauncher } from '../../../support/language.ts'
import { makeFolder, until } from '../../../support/repository.ts'
import { type Ask, openTestDesk, type TestDesk, type TestWindow } from '../../../support/served.ts'

setDefaultTimeout(60_000)

const FILES = {
  'a.py': 'def one():\n    wrong\n',
  'lib/b.py': 'one\none one\n',
  'FORGE.md': '# Notes\n',
}

type Scene = AsyncDisposable & {
  desk: TestDesk
  window: TestWindow
  path: string
  launcher: TestLauncher
  ask: <Reply>(question: Ask) => Promise<Reply>
}

type SceneOptions = { behaviour?: Behaviour; files?: Record<string, string>; missing?: string }

async function makeScene({ behaviour, files = {}, missing }: SceneOptions = {}) {
  const folder = await makeFolder()
  const path = await bare(join(folder.path, 'repository'))
  await commit(path, 'main', { ...FILES, ...files })
  const launcher = doubleLauncher(behaviour)
  launcher.missing = missing
  const desk = await openTestDesk(path, { languageServers: launcher })
  const window = await desk.window()
  await window.ask({ ask: 'switch language servers', isOn: true })
  const scene: Scene = {
    ...{ desk, window, path, launcher },
    ask: async <Reply>(question: Ask) => (await window.ask(question)) as Reply,
    [Symbol.asyncDispose]: async () => {
      await window[Symbol.asyncDispose]()
      await desk[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
  return scene
}

const A = { branch: 'main', path: 'a.py' }
const START = { line: 0, character: 5 }

async function open({ ask }: Scene, branch = 'main', path = 'a.py'): Promise<string> {
  const file = await ask<File>({ ask: 'open', at: { kind: 'branch', branch }, path })
  await until(
    async () => (await ask<Answer<'understand file'>>({ ask: 'understand file', branch, path }))?.is === 'ready',
  )
  return file.kind === 'text' ? file.text : ''
}

const lines = async ({ ask }: Scene, branch = 'main', path = 'a.py') =>
  (await ask<Answer<'problems'>>({ ask: 'problems', branch, path })).problems.map(({ range }) => range.start.line)

const type = async (
  { ask }: Scene,
  { branch, path }: { branch: string; path: string },
  version: number,
  changes: unknown,
) => await ask({ ask: 'edit', branch, path, version, edits: [{ client: 'a', changes }] })

const textOf = async ({ ask }: Scene, branch: string, path: string) => {
  const file = await ask<File>({ ask: 'open', at: { kind: 'branch', branch }, path })
  return file.kind === 'text' ? file.text : undefined
}

/** The server runs again, or another file of the branch can be edited and saved as before. */
async function worksAsBefore(scene: Scene): Promise<void> {
  const file = await scene.ask<File>({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: 'FORGE.md' })
  if (file.kind !== 'text') throw new Error('FORGE.md is no text')
  await type(scene, { branch: 'main', path: 'FORGE.md' }, file.version, [[0, 'New. '], file.text.length])
  await scene.ask({ ask: 'save', branch: 'main', paths: ['FORGE.md'], message: 'Save' })
  expect(await git(scene.path, 'show', 'main:FORGE.md')).toBe('New. # Notes')
}

test('nothing starts before a file of its language is open, and where it is switched off', async () => {
  await using scene = await makeScene()
  await scene.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: 'FORGE.md' })
  expect(await scene.ask({ ask: 'understand file', branch: 'main', path: 'FORGE.md' })).toBeUndefined()
  await scene.ask({ ask: 'switch language servers', isOn: false })
  expect(await scene.ask({ ask: 'understand file', ...A })).toEqual({ is: 'off', program: 'pyright' })
  expect(scene.launcher.started).toEqual([])
})

test('without docker one line says so, and nothing else', async () => {
  await using scene = await makeScene({
    missing: 'docker, which is not installed: install Docker Engine or Docker Desktop.',
  })
  expect(await scene.ask({ ask: 'understand file', ...A })).toEqual({
    is: 'missing',
    program: 'pyright',
    words: 'Language servers need docker, which is not installed: install Docker Engine or Docker Desktop.',
  })
  expect(scene.window.news.filter(({ say }) => say === 'notice')).toEqual([])
})

test('problems follow what is typed, and two branches have a server each, on their own files', async () => {
  await using scene = await makeScene()
  await git(scene.path, 'branch', 'other', 'main')
  const text = await open(scene)
  await until(async () => String(await lines(scene)) === '1')
  await open(scene, 'other')
  await until(async () => String(await lines(scene, 'other')) === '1')
  expect(scene.launcher.started).toHaveLength(2)
  await type(scene, A, 0, [[0, 'wrong', ''], text.length])
  await until(async () => String(await lines(scene)) === '0,2')
  expect(await lines(scene, 'other')).toEqual([1])
  const news = await scene.window.heard('problems', ({ version }) => version === 1)
  expect(news.problems[0]).toMatchObject({ severity: 'error', message: 'This is wrong.', source: 'double 1' })
})

test('the copy follows drafts, saves, moves of the branch, new, deleted and renamed files', async () => {
  await using scene = await makeScene()
  await open(scene)
  const [{ folder = '' } = {}] = scene.launcher.started
  const read = (path: string) => readFile(join(folder, path), 'utf8').catch(() => undefined)
  await type(scene, A, 0, [[0, 'draft '], FILES['a.py'].length])
  await until(async () => (await read('a.py')) === `draft ${FILES['a.py']}`)
  await commit(scene.path, 'main', { 'from/outside.py': 'new\n' })
  await until(async () => (await read('from/outside.py')) === 'new\n')
  await scene.ask({ ask: 'move', branch: 'main', moves: [{ from: 'from/outside.py', to: 'there.py' }] })
  await until(async () => (await read('there.py')) === 'new\n' && !existsSync(join(folder, 'from')))
  await scene.ask({ ask: 'delete', branch: 'main', paths: ['there.py'] })
  await until(async () => (await read('there.py')) === undefined)
  await scene.ask({ ask: 'save', branch: 'main', paths: 'all', message: 'Save' })
  const saved = await git(scene.path, 'rev-parse', 'main')
  expect(await read('a.py')).toBe(`draft ${FILES['a.py']}`)
  // Forward, and back.
  await commit(scene.path, 'main', { 'a.py': 'wrong\n', 'more.py': '' }, { parents: [saved] })
  await until(async () => (await read('a.py')) === 'wrong\n' && (await read('more.py')) === '')
  await until(async () => String(await lines(scene)) === '0')
  await git(scene.path, 'update-ref', 'refs/heads/main', saved)
  await until(async () => (await read('more.py')) === undefined)
  await until(async () => String(await lines(scene)) === '1')
  expect(scene.launcher.started).toHaveLength(1)
})

test('a server is loaded while the files are copied, and is told when it may read them', async () => {
  await using scene = await makeScene()
  const { launcher } = scene
  const { own, start } = launcher
  const [answered, copied] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFolderThere = false
  launcher.own = async folder => {
    // The second time, the files are there.
    if (isFolderThere) await copied.promise
    isFolderThere = true
    return await own(folder)
  }
  const said: string[] = []
  launcher.start = (spec, folder) => {
    const running = start(spec, folder)
    const write = (bytes: Uint8Array) => {
      for (const [, method = ''] of Buffer.from(bytes)
        .toString()
        .matchAll(/"method":"([^"]+)"/g))
        said.push(method)
      running.write(bytes)
    }
    const transform = (chunk: Uint8Array, controller: TransformStreamDefaultController) => {
      controller.enqueue(chunk)
      answered.resolve()
    }
    return { ...running, write, output: running.output.pipeThrough(new TransformStream({ transform })) }
  }
  await scene.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: 'a.py' })
  await scene.ask({ ask: 'understand file', ...A })
  await answered.promise
  said.push('copied')
  copied.resolve()
  await until(() => said.includes('textDocument/didOpen'))
  expect(said.slice(0, 3)).toEqual(['initialize', 'copied', 'initialized'])
})

test('a renamed branch keeps its server; one that was deleted and created again has another one', async () => {
  await using scene = await makeScene()
  await git(scene.path, 'branch', 'first', 'main')
  const text = await open(scene, 'first')
  await scene.ask({ ask: 'rename branch', branch: 'first', to: 'second' })
  await scene.ask({ ask: 'close', at: { kind: 'branch', branch: 'first' }, path: 'a.py' })
  await open(scene, 'second')
  await type(scene, { branch: 'second', path: 'a.py' }, 0, [[0, 'wrong', ''], text.length])
  await until(async () => String(await lines(scene, 'second')) === '0,2')
  expect(scene.launcher.started).toHaveLength(1)
  await scene.ask({ ask: 'discard', branch: 'second', paths: ['a.py'] })
  await scene.ask({ ask: 'close', at: { kind: 'branch', branch: 'second' }, path: 'a.py' })
  await scene.ask({ ask: 'delete branch', branch: 'second' })
  await commit(scene.path, 'second', { 'a.py': 'wrong wrong\n' })
  await open(scene, 'second')
  await until(async () => String(await lines(scene, 'second')) === '0,0')
  expect(scene.launcher.started).toHaveLength(2)
  await until(() => scene.launcher.running === 1)
})

test('a link that a preparing command left does not lead a write out of the copy', async () => {
  await using scene = await makeScene()
  await open(scene)
  const [{ folder = '' } = {}] = scene.launcher.started
  const outside = join(scene.desk.state, 'outside')
  await Bun.write(join(outside, 'kept'), 'kept')
  await symlink(outside, join(folder, 'new'))
  await symlink(join(outside, 'kept'), join(folder, 'link.py'))
  await commit(scene.path, 'main', { 'new/file.py': 'inside\n', 'link.py': 'inside\n' })
  await until(async () => (await readFile(join(folder, 'new/file.py'), 'utf8').catch(() => '')) === 'inside\n')
  expect(await readdir(outside)).toEqual(['kept'])
  expect(await readFile(join(outside, 'kept'), 'utf8')).toBe('kept')
  expect(await readFile(join(folder, 'link.py'), 'utf8')).toBe('inside\n')
})

test('commands of FORGE.md prepare the files once the user has approved them', async () => {
  const forge = '# Checks\n\n- prepare: `echo made > made.txt`\n- `true`\n'
  await using scene = await makeScene({ files: { 'FORGE.md': forge } })
  await open(scene)
  const state = await scene.ask<Answer<'understand file'>>({ ask: 'understand file', ...A })
  expect(state).toMatchObject({ is: 'ready', commands: ['echo made > made.txt'] })
  expect(scene.launcher.prepared).toEqual([])
  const other = scene.ask({ ask: 'approve preparing', branch: 'main', commands: ['echo other'] }).catch(String)
  expect(await other).toContain('FORGE.md has changed meanwhile')
  await scene.ask({ ask: 'approve preparing', branch: 'main', commands: ['echo made > made.txt'] })
  await open(scene)
  expect(scene.launcher.prepared).toEqual(['echo made > made.txt'])
  const folder = scene.launcher.started.at(-1)?.folder ?? ''
  expect(await readFile(join(folder, 'made.txt'), 'utf8')).toBe('made\n')
})

test('a rename becomes drafts of all files, which one undo takes back', async () => {
  await using scene = await makeScene()
  await open(scene)
  const renamed = await scene.ask<Answer<'rename symbol'>>({ ask: 'rename symbol', ...A, position: START, name: 'two' })
  expect(renamed).toMatchObject({ files: 2, edits: 4, skipped: [] })
  expect(await textOf(scene, 'main', 'a.py')).toBe('def two():\n    wrong\n')
  expect(await textOf(scene, 'main', 'lib/b.py')).toBe('two\ntwo two\n')
  await scene.ask({ ask: 'undo', branch: 'main' })
  expect(await textOf(scene, 'main', 'a.py')).toBe(FILES['a.py'])
  expect(await textOf(scene, 'main', 'lib/b.py')).toBe(FILES['lib/b.py'])
})

test('a rename waits until the server knows all files', async () => {
  await using scene = await makeScene({ behaviour: 'indexing' })
  await open(scene)
  await until(async () => String(await lines(scene)) === '1')
  const renamed = await scene.ask<Answer<'rename symbol'>>({ ask: 'rename symbol', ...A, position: START, name: 'two' })
  expect(renamed).toMatchObject({ files: 2, edits: 4, skipped: [] })
})

test('a quick fix and a format are edits of the file, for its editor', async () => {
  await using scene = await makeScene()
  await open(scene)
  const range = { start: { line: 1, character: 4 }, end: { line: 1, character: 4 } }
  const { list, fixes } = await scene.ask<Answer<'quick fixes'>>({ ask: 'quick fixes', ...A, range })
  expect(fixes).toEqual([{ fix: 0, title: 'Mend wrong' }])
  const made = await scene.ask<Answer<'make quick fix'>>({ ask: 'make quick fix', ...A, list, fix: 0 })
  expect(made.changes).toEqual([{ range: { start: range.start, end: { line: 1, character: 9 } }, text: 'right' }])
  const formatted = await scene.ask<Answer<'format by server'>>({
    ask: 'format by server',
    ...A,
    tabSize: 2,
    usesSpaces: true,
  })
  expect(formatted.changes).toHaveLength(1)
})

// --- Hostile servers

test('a lying server: edits outside of the branch are refused as a whole, and what it says of others is dropped', async () => {
  await using scene = await makeScene({ behaviour: 'lying' })
  await open(scene)
  await until(async () => String(await lines(scene)) === '1')
  const rename = scene.ask({ ask: 'rename symbol', ...A, position: START, name: 'two' }).catch(String)
  expect(await rename).toContain('outside of this branch. Nothing was changed.')
  const range = { start: START, end: START }
  const { list } = await scene.ask<Answer<'quick fixes'>>({ ask: 'quick fixes', ...A, range })
  const fix = scene.ask({ ask: 'make quick fix', ...A, list, fix: 0 }).catch(String)
  expect(await fix).toContain('create, rename or delete files. Nothing was changed.')
  const format = scene.ask({ ask: 'format by server', ...A, tabSize: 2, usesSpaces: true }).catch(String)
  expect(await format).toContain('do not fit the text. Nothing was changed.')
  const asked = { ask: 'symbol places', ...A, position: START, of: 'definitions' } as const
  expect(await scene.ask<Answer<'symbol places'>>(asked)).toEqual({
    places: [],
    outside: ['/etc/passwd'],
    isCut: false,
  })
  // Lines that do not exist are left out, and of a range the part that exists remains.
  expect(await scene.ask<Answer<'symbol places'>>({ ...asked, of: 'references' })).toEqual({
    places: [{ path: 'a.py', line: 1, text: 'def one():', ranges: [[0, 10]] }],
    outside: ['/etc/passwd', '../etc/passwd', 'workspace/.git/config', '/workspace/none.py', '/x/', '/workspace/a.py'],
    isCut: false,
  })
  expect(
    (await scene.ask<Answer<'all problems'>>({ ask: 'all problems', branch: 'main' })).map(({ path }) => path),
  ).toEqual(['a.py'])
  expect(await textOf(scene, 'main', 'a.py')).toBe(FILES['a.py'])
  expect(await git(scene.path, 'for-each-ref', 'refs/forge')).toBe('')
  await worksAsBefore(scene)
})

test('a server that is killed starts again; after three times it stays ended, and says so', async () => {
  await using scene = await makeScene()
  await open(scene)
  scene.launcher.kill()
  await until(() => scene.launcher.started.length === 2)
  await open(scene)
  await until(async () => String(await lines(scene)) === '1')
  scene.launcher.kill()
  await until(() => scene.launcher.started.length === 3)
  await open(scene)
  scene.launcher.kill()
  const { state } = await scene.window.heard('language server', news => news.state.is === 'ended')
  expect(state).toMatchObject({ words: 'It ended with SIGKILL.' })
  expect(scene.launcher.started).toHaveLength(3)
  expect(scene.window.news.filter(({ say }) => say === 'notice')).toEqual([])
  await scene.ask({ ask: 'restart language server', ...A })
  await open(scene)
  await worksAsBefore(scene)
})

for (const [behaviour, why] of [
  ['flooding', 'It sent too many messages.'],
  ['no protocol', 'What it sent is not the protocol.'],
] as const)
  test(`a server that is ${behaviour} is ended, and everything else works`, async () => {
    await using scene = await makeScene({ behaviour })
    await scene.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: 'a.py' })
    await scene.ask({ ask: 'understand file', ...A })
    const hover = { ask: 'hover', ...A, position: START } as const
    await until(async () => {
      await scene.ask(hover).catch(() => undefined)
      return scene.window.news.some(news => news.say === 'language server' && news.state.is === 'ended')
    })
    const { state } = await scene.window.heard('language server', news => news.state.is === 'ended')
    expect(state).toMatchObject({ words: why })
    await until(() => scene.launcher.running === 0)
    await worksAsBefore(scene)
  })

test('a huge answer is not read, and the server goes on', async () => {
  await using scene = await makeScene({ behaviour: 'huge' })
  await open(scene)
  const hover = scene.ask({ ask: 'hover', ...A, position: START }).catch(String)
  const completed = await scene.ask<Answer<'complete'>>({ ask: 'complete', ...A, position: START, prefix: 'w' })
  expect(completed.items.map(({ label }) => label)).toEqual(['window', 'wonder'])
  expect(await hover).toContain('is too large')
  const { problems } = await scene.ask<Answer<'problems'>>({ ask: 'problems', ...A })
  expect(problems).toHaveLength(1_000)
  const range = { start: START, end: START }
  expect((await scene.ask<Answer<'quick fixes'>>({ ask: 'quick fixes', ...A, range })).fixes).toHaveLength(1)
  expect(scene.launcher.started).toHaveLength(1)
  await worksAsBefore(scene)
})

test('a server that hangs is ended, and what is typed and saved is not held up', async () => {
  await using scene = await makeScene({ behaviour: 'hanging' })
  scene.launcher.patience = 0.05
  await open(scene)
  const hover = () => scene.ask({ ask: 'hover', ...A, position: START }).catch(String)
  const asked = [hover(), hover(), hover()]
  await worksAsBefore(scene)
  expect(String(await asked[0])).toContain('did not answer in time')
  await until(() => scene.launcher.started.length === 2)
})

test('a server that never answers does not start, and that is said', async () => {
  await using scene = await makeScene({ behaviour: 'silent' })
  scene.launcher.patience = 0.005
  await scene.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: 'a.py' })
  await scene.ask({ ask: 'understand file', ...A })
  const { state } = await scene.window.heard('language server', news => news.state.is === 'ended')
  expect(state).toMatchObject({ words: 'The language server did not answer in time.' })
  expect(scene.launcher.started).toHaveLength(3)
  await worksAsBefore(scene)
})

test('switched off, all servers end, and their copies are removed', async () => {
  await using scene = await makeScene()
  await open(scene)
  await scene.ask({ ask: 'switch language servers', isOn: false })
  await until(() => scene.launcher.running === 0)
  expect(await readdir(join(scene.desk.state, 'materialized'))).toEqual([])
})
