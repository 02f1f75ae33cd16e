/**
 * Measures how long reading the definitions of 20,000 files takes in the background, and its processor time, beside
 * ctags on the same files, and how fast the desk answers meanwhile and afterwards. Then in a real browser: how long the
 * desk takes to start, and from a key until the character is drawn, while they are read and afterwards, beside a branch
 * without code.
 * `bun bench/code.ts [FOLDER [COUNT]]`: the files are copies of the code in FOLDER's repository (by default of this
 * one), each with another last line, so that each has to be parsed.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { openObjects } from '../core/git/objects.ts'
import { asBytes, openRepository } from '../core/git/repository.ts'
import { grammarOf } from '../forge/code/languages.ts'
import { CodeReader } from '../forge/code/reader.ts'
import { structureOf } from '../forge/desk/code/structure.ts'
import { SymbolIndex } from '../forge/desk/code/symbol-index.ts'
import { openBrowser, pick } from '../test/support/browser.ts'
import { git } from '../test/support/git.ts'
import { TestWindow } from '../test/support/served.ts'
import { noteFirst, openBranch, startDesk, typeOne, whenDrawn } from './desk-page.ts'
import { median, memoryOf, time } from './measure.ts'

const COUNT = Number(process.argv[3] ?? 20_000)
/** Characters that are typed for a median. */
const KEYS = 60
const MAX_FILE_BYTES = 256 << 10
const SEARCHES = ['open', 'rd', 'parseText', 'nothingIsCalledThis', 'state.open']
/** Between two looks at the memory and the answers meanwhile, which take processor time themselves. */
const PAUSE_MS = 2000

const say = (what: string, value: number, unit: string) =>
  console.log(`${what.padEnd(72)} ${value.toFixed(value < 10 ? 2 : 0).padStart(8)} ${unit}`)

async function timed<T>(act: () => Promise<T>): Promise<[T, number]> {
  const begun = performance.now()
  const result = await act()
  return [result, performance.now() - begun]
}

/** A line that makes a copy of a file another content, as a comment of its language. */
const lastLine = (path: string, copy: number): string =>
  /\.(?:py|rb|sh|bash)$/.test(path) ? `# Copy ${copy}\n` : `// Copy ${copy}\n`

/** Writes copies of a repository's code into a new repository with a checkout, and commits them. */
async function makeCopies(source: string, target: string): Promise<{ bytes: number; file: string }> {
  const paths = (await git(source, 'ls-files', '-z')).split('\0').filter(path => grammarOf(asBytes(path)) !== undefined)
  const texts: { path: string; text: string }[] = []
  for (const path of paths) {
    const text = await readFile(join(source, path), 'utf8').catch(() => '')
    if (text !== '' && text.length <= MAX_FILE_BYTES) texts.push({ path, text })
  }
  let bytes = 0
  for (let at = 0; at < COUNT; at++) {
    const { path, text } = texts[at % texts.length] ?? { path: 'a.ts', text: '' }
    const copy = Math.floor(at / texts.length)
    const file = join(target, `copy${copy}`, path)
    await mkdir(dirname(file), { recursive: true })
    const content = `${text}\n${lastLine(path, copy)}`
    bytes += content.length
    await writeFile(file, content)
  }
  await git(target, 'init', '--quiet')
  await git(target, 'add', '.')
  await git(target, '-c', 'user.name=A', '-c', 'user.email=a@b', 'commit', '--quiet', '--message', 'Copies')
  return { bytes, file: basename(texts[0]?.path ?? '') }
}

/** Makes the branch `plain` of the same files under names of no language: nothing is read of them. */
async function makePlain(place: string): Promise<void> {
  const entries = (await git(place, 'ls-tree', '-r', 'HEAD')).trim().split('\n')
  const index = { GIT_INDEX_FILE: join(place, '.git/plain-index') }
  const child = Bun.spawn(['git', 'update-index', '--index-info'], {
    cwd: place,
    env: { ...process.env, ...index },
    stdin: Buffer.from(`${entries.map(entry => `${entry}.txt`).join('\n')}\n`),
  })
  await child.exited
  const written = Bun.spawn(['git', 'write-tree'], { cwd: place, env: { ...process.env, ...index } })
  const tree = (await written.stdout.text()).trim()
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@b']
  const commit = (await git(place, ...identity, 'commit-tree', tree, '-p', 'HEAD', '-m', 'Plain')).trim()
  await git(place, 'branch', 'plain', commit)
}

type Felt = { start: number; key: number; longest: number }

/**
 * Starts the desk, opens a file of a branch and types into it. `wait`: the file is opened, and all files of the branch
 * are read, before the keys are counted.
 */
async function feel(
  place: string,
  home: string,
  { branch, file, wait }: { branch: string; file: string; wait: boolean },
): Promise<Felt> {
  await using browser = await openBrowser()
  // A desk that is started again shows the file that was open.
  await noteFirst(browser.context, '.graph-row .subject, .cm-line')
  const page = await browser.context.newPage()
  await using running = await startDesk(place, home)
  await page.goto(running.address, { waitUntil: 'commit' })
  const start = (await whenDrawn(page)) - running.begun
  await openBranch(page, branch)
  await pick(page, 'Control+P', file)
  await page.getByRole('textbox', { name: 'Editor' }).waitFor()
  if (wait) await allRead(running.address, branch)
  await page.getByRole('tablist', { name: 'Files' }).getByRole('tab', { name: file, selected: true }).first().waitFor()
  await page.locator('.editor:not([aria-busy]) .cm-content:focus').waitFor()
  const times: number[] = []
  for (let key = 0; key < KEYS; key++) times.push(await typeOne(page))
  return { start, key: median(times), longest: Math.max(...times) }
}

async function allRead(address: string, branch: string): Promise<void> {
  await using window = await TestWindow.at(address)
  for (;;) {
    const at = { kind: 'branch', branch } as const
    const { left } = (await window.ask({ ask: 'find symbol', at, words: 'x', count: 1 })) as { left: number }
    if (left === 0) return
    await Bun.sleep(PAUSE_MS)
  }
}

async function feelAll(place: string, folder: string, file: string): Promise<void> {
  await makePlain(place)
  await git(place, 'branch', 'code')
  const homes = ['plain', 'code'].map(name => join(folder, `home-${name}`)) as [string, string]
  for (const home of homes) await writeIdentity(home)
  const rows = [
    ['a branch without code', homes[0], { branch: 'plain', file, wait: true }],
    ['while the files are read', homes[1], { branch: 'code', file, wait: false }],
    ['the desk started again meanwhile', homes[1], { branch: 'code', file, wait: false }],
    ['when all are read', homes[1], { branch: 'code', file, wait: true }],
    ['the desk started again after that', homes[1], { branch: 'code', file, wait: true }],
  ] as const
  for (const [what, home, options] of rows) {
    const { start, key, longest } = await feel(place, home, options)
    // Each begins without a draft, as the first one.
    await git(place, 'update-ref', '-d', `refs/forge/drafts/${options.branch}`)
    say(`${what}: start until the first view is drawn`, start, 'ms')
    say(`${what}: from a key until it is drawn, median`, key, 'ms')
    say(`${what}: the same, at most`, longest, 'ms')
  }
}

async function writeIdentity(home: string): Promise<void> {
  await Bun.write(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n')
}

const folder = await mkdtemp(join(tmpdir(), 'forge-bench-'))
try {
  const path = join(folder, 'copies')
  await mkdir(path)
  const { bytes, file } = await makeCopies(process.argv[2] ?? join(import.meta.dir, '..'), path)
  say(`files, of ${Math.round(bytes / 1e6)} MB in all`, COUNT, '')
  const repository = await openRepository(path)
  await using objects = openObjects(repository)
  const tree = await git(path, 'rev-parse', 'HEAD^{tree}')
  const cache = join(folder, 'cache')
  await mkdir(cache)
  let inBackground = { wall: 0, cpu: 0 }
  {
    using code = new CodeReader(objects, cache)
    using index = new SymbolIndex(objects, code)
    const own = await readFile(join(import.meta.dir, '../forge/code/parse.ts'), 'utf8')
    const [answers, memory]: [number[], number[]] = [[], []]
    const before = await memoryOf(process.pid)
    const begun = performance.now()
    for (let left = Number.POSITIVE_INFINITY; left > 0; ) {
      const [found] = await timed(() => index.find(tree, 'nothingIsCalledThis', 10))
      left = found.left
      // A text that is edited meanwhile: each one is new.
      const text = `${own}\n// ${answers.length}\n`
      const [, answer] = await timed(() => structureOf(code, asBytes('own.ts'), text))
      answers.push(answer)
      const now = await memoryOf(process.pid)
      memory.push(now.all - before.all)
      inBackground = { wall: performance.now() - begun, cpu: now.cpu - before.cpu }
      if (left > 0) await Bun.sleep(PAUSE_MS)
    }
    say('reading all of them in the background, nothing known before', inBackground.wall / 1000, 's')
    say('processor time of it, in all processes', inBackground.cpu / 1000, 's')
    say('peak memory of it, with the processes that parse', Math.max(...memory), 'MiB')
    say('symbols of an edited file meanwhile, median', median(answers), 'ms')
    say('the same, at most', Math.max(...answers), 'ms')
    for (const words of SEARCHES) {
      const times: number[] = []
      for (let round = 0; round < 5; round++) times.push((await timed(() => index.find(tree, words, 300)))[1])
      say(`finding ${words} among all, median of 5`, median(times), 'ms')
    }
  }
  {
    using code = new CodeReader(objects, cache)
    using index = new SymbolIndex(objects, code)
    const [{ left }, first] = await timed(() => index.find(tree, 'open', 300))
    say(`the first search after a restart (${left} files to read)`, first, 'ms')
  }
  const command = { cwd: path, env: { PATH: process.env.PATH } }
  const tags = await time(['ctags', '--recurse', '-f', join(folder, 'tags'), '.'], command)
  say('ctags --recurse on a checkout of them, one process', tags.wall / 1000, 's')
  say('processor time of it', tags.cpu / 1000, 's')
  say('ratio of the background to ctags, in processor time', inBackground.cpu / tags.cpu, '')
  await feelAll(path, folder, file)
} finally {
  await rm(folder, { recursive: true, force: true })
}
