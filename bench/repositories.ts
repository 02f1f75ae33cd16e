/** Makes a fork and its upstream of any size with `git fast-import`: identical on every machine, within seconds. */
import { rm } from 'node:fs/promises'
import { bare, git, PLAIN } from '../test/support/git.ts'
import { ORIGIN_URL, UPSTREAM_URL, type World } from '../test/support/world.ts'

export type Size = { name: string; files: number; commits: number; bytesPerFile: number }

/** The shares of commits that only upstream has, and that only the fork has; both change the first files. */
const UPSTREAM_SHARE = 0.05
const FORK_SHARE = 0.02
const CONFLICTS = 3
const FILES_PER_COMMIT = 5
const COLUMNS = 76

/** Pseudo-random numbers, the same for the same seed. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed >>> 0; ; ) {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    yield (mixed ^ (mixed >>> 14)) >>> 0
  }
}

/** Text in lines that compresses to three quarters of its size, like the less repetitive half of source code. */
function textPool(bytes: number): string {
  const random = numbers(1)
  const words = Uint32Array.from({ length: Math.ceil((bytes * 3) / 16) }, () => random.next().value)
  return Buffer.from(words.buffer)
    .toString('base64')
    .replace(/(.{75})./g, '$1\n')
}

const pathOf = (file: number): string => `part${file % 23}/area${Math.floor(file / 23) % 29}/file${file}.txt`
const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`

/**
 * Fills a test world's two servers and its checkout with a fork that lacks commits of upstream and conflicts with it in
 * a few files.
 */
export async function fill(world: World, size: Size): Promise<void> {
  for (const place of [world.upstream, world.origin, world.checkout]) await rm(place, { recursive: true })
  await bare(world.upstream)
  await importHistory(world.upstream, size)
  await git('/', 'clone', '--quiet', '--bare', '--local', world.upstream, world.origin)
  await git(world.origin, 'remote', 'remove', 'origin')
  await git(world.origin, 'branch', '--force', '--quiet', '--no-track', 'main', 'fork')
  for (const server of [world.origin, world.upstream]) await git(server, 'branch', '--quiet', '-D', 'fork')
  await world.git('clone', '--quiet', '--local', world.origin, world.checkout, { cwd: world.home })
  await world.git('remote', 'set-url', 'origin', ORIGIN_URL)
  await world.git('remote', 'add', 'upstream', UPSTREAM_URL)
  await world.git('fetch', '--quiet', 'upstream')
}

/** Writes a history into a bare repository: refs/heads/main is upstream, refs/heads/fork the fork. */
export async function importHistory(repository: string, { files, commits, bytesPerFile }: Size): Promise<void> {
  const child = Bun.spawn(['git', '-c', 'pack.compression=1', 'fast-import', '--quiet'], {
    cwd: repository,
    env: { PATH: process.env.PATH, HOME: '/nonexistent', ...PLAIN },
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  const pool = textPool(1 << 22)
  const random = numbers(2)
  const upTo = (limit: number): number => random.next().value % limit
  const starts = Uint32Array.from({ length: files }, () => upTo((1 << 22) - 2 * bytesPerFile))
  const edits = new Map<number, Map<number, string>>()
  const content = (file: number): string => {
    const start = starts[file] ?? 0
    const lines = pool.slice(start, start + bytesPerFile / 2 + (start % bytesPerFile)).split('\n')
    for (const [line, text] of edits.get(file) ?? []) lines[line % lines.length] = text
    return `${lines.join('\n')}\n`
  }
  let count = 0
  const write = async (branch: string, from: string, changed: Iterable<number>) => {
    count++
    const who = `A. Person <person@nowhere.example> ${1_700_000_000 + count * 600} +0000`
    child.stdin.write(`commit refs/heads/${branch}\ncommitter ${who}\n${data(`Change ${count}`)}${from}`)
    for (const file of changed) child.stdin.write(`M 100644 inline ${pathOf(file)}\n${data(content(file))}`)
    await child.stdin.flush()
  }
  const edit = (file: number, line: number): number => {
    const text = `${'='.repeat(4)} edit ${count} `.padEnd(COLUMNS - 1, '-')
    edits.set(file, (edits.get(file) ?? new Map<number, string>()).set(line, text))
    return file
  }
  const someOf = (first: number, end: number) =>
    Array.from({ length: FILES_PER_COMMIT }, () => edit(first + upTo(end - first), upTo(1000)))
  const contested = (line: number) => Array.from({ length: CONFLICTS }, (_, file) => edit(file, line))

  await write('main', '', Array(files).keys())
  const [theirs, ours] = [Math.ceil(commits * UPSTREAM_SHARE), Math.ceil(commits * FORK_SHARE)]
  for (let at = 1; at < commits - theirs - ours; at++) await write('main', '', someOf(CONFLICTS, files))
  child.stdin.write('reset refs/heads/fork\nfrom refs/heads/main\n\n')
  // The two sides change different files, except for those in conflict.
  const border = Math.floor(files / 4)
  const before = Array.from({ length: CONFLICTS }, (_, file) => [file, new Map(edits.get(file))] as const)
  for (let at = 0; at < ours; at++) await write('fork', '', at === 0 ? contested(0) : someOf(CONFLICTS, border))
  for (const [file, lines] of before) edits.set(file, lines)
  for (let at = 0; at < theirs; at++) await write('main', '', at === 0 ? contested(0) : someOf(border, files))
  await child.stdin.end()
  if ((await child.exited) !== 0) throw new Error('git fast-import failed')
}
