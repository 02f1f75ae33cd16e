/**
 * Measures how long reading the definitions of 20,000 files takes in the background, beside ctags on the same files, and
 * how fast the desk answers meanwhile and afterwards. `bun bench/code.ts [FOLDER]`: the files are copies of the code in
 * FOLDER's repository (by default of this one), each with another last line, so that each has to be parsed.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openObjects } from '../core/git/objects.ts'
import { asBytes, openRepository } from '../core/git/repository.ts'
import { grammarOf } from '../forge/code/languages.ts'
import { CodeReader } from '../forge/code/reader.ts'
import { structureOf } from '../forge/desk/code/structure.ts'
import { SymbolIndex } from '../forge/desk/code/symbol-index.ts'
import { git } from '../test/support/git.ts'
import { median, memoryOf, time } from './measure.ts'

const COUNT = 20_000
const MAX_FILE_BYTES = 256 << 10
const SEARCHES = ['open', 'rd', 'parseText', 'nothingIsCalledThis', 'state.open']
const PAUSE_MS = 200

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
async function makeCopies(source: string, target: string): Promise<{ bytes: number }> {
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
  return { bytes }
}

const folder = await mkdtemp(join(tmpdir(), 'forge-bench-'))
try {
  const path = join(folder, 'copies')
  await mkdir(path)
  const { bytes } = await makeCopies(process.argv[2] ?? join(import.meta.dir, '..'), path)
  say(`files, of ${Math.round(bytes / 1e6)} MB in all`, COUNT, '')
  const repository = await openRepository(path)
  await using objects = openObjects(repository)
  const tree = await git(path, 'rev-parse', 'HEAD^{tree}')
  const cache = join(folder, 'cache')
  await mkdir(cache)
  let inBackground = 0
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
      memory.push((await memoryOf(process.pid)).all - before.all)
      if (left > 0) await Bun.sleep(PAUSE_MS)
    }
    inBackground = performance.now() - begun
    say('reading all of them in the background, nothing known before', inBackground / 1000, 's')
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
  say('ratio of the background to ctags', inBackground / tags.wall, '')
} finally {
  await rm(folder, { recursive: true, force: true })
}
