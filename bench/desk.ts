/**
 * What the desk costs on a large repository: until it answers, what it answers, and its memory. `bun bench/desk.ts`, or
 * with the path of a repository that such a run has made there before, since making it takes minutes.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { At } from '../forge/desk/messages.ts'
import { bare, git, PLAIN } from '../test/support/git.ts'
import { cookieOf, makePage, TestWindow } from '../test/support/served.ts'
import { median, time } from './measure.ts'
import { importHistory } from './repositories.ts'

const FORGE = join(import.meta.dir, '../forge.ts')
const ROUNDS = 5
const main: At = { kind: 'branch', branch: 'main' }

const folder = await mkdtemp(join(tmpdir(), 'forge-bench-'))
const env = { ...PLAIN, PATH: process.env.PATH, HOME: folder, XDG_STATE_HOME: join(folder, 'state') }

/** Starts the desk; milliseconds until its port has answered. */
async function start(repository: string, page: string) {
  const begun = performance.now()
  const child = Bun.spawn([FORGE, '--no-open', repository], {
    env: { ...env, FORGE_PAGE: page },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const piece of child.stdout) {
    text += Buffer.from(piece).toString()
    if (text.includes('\n')) break
  }
  const [, port = '', token = ''] = /:(\d+)\/\?token=(\S+)/.exec(text) ?? []
  const key = { port: Number(port), token }
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { cookie: cookieOf(key) } })
  if (!answer.ok) throw new Error(`the desk answered ${answer.status}`)
  return { child, key, wall: performance.now() - begun }
}

/** Resident memory in MiB: of a process, and of all that it has started. */
async function memory(pid: number): Promise<{ own: number; all: number }> {
  const list = await Bun.$`ps -A -o pid=,ppid=,rss=`.text()
  const rows = list.split('\n').map(line => line.trim().split(/\s+/).map(Number))
  const sizes = rows
    .filter(([id, parent]) => id === pid || parent === pid)
    .map(([, , kilobytes = 0]) => kilobytes / 1024)
  const own = (rows.find(([id]) => id === pid)?.[2] ?? 0) / 1024
  return { own, all: sizes.reduce((sum, it) => sum + it, 0) }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await act()
  return performance.now() - begun
}

const say = (what: string, value: number, unit: string) =>
  console.log(`${what.padEnd(52)} ${value.toFixed(1).padStart(9)} ${unit}`)

async function make(repository: string): Promise<void> {
  await bare(repository)
  await importHistory(repository, { name: 'large', files: 50_000, commits: 50_000, bytesPerFile: 2000 })
  await git(repository, 'repack', '-adfq')
}

try {
  const repository = process.argv[2] ?? join(folder, 'large.git')
  if (!(await stat(repository).catch(() => undefined))) await make(repository)
  const page = await makePage(join(folder, 'page'))
  const starts: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { child, wall } = await start(repository, page)
    starts.push(wall)
    child.kill('SIGINT')
    await child.exited
  }
  say('start to the port answering', median(starts), 'ms')
  const { child, key } = await start(repository, page)
  say('memory after the start (the server, with its gits)', (await memory(child.pid)).own, 'MiB')
  const window = await TestWindow.open(key)
  const ask = (question: Parameters<TestWindow['ask']>[0]) => timed(() => window.ask(question))
  say('the desk, first and again', await ask({ ask: 'desk' }), 'ms')
  say('', await ask({ ask: 'desk' }), 'ms')
  say('a folder', await ask({ ask: 'folder', at: main, path: 'part1' }), 'ms')
  say('open a file', await ask({ ask: 'open', at: main, path: 'part1/area0/file1.txt' }), 'ms')
  say(
    'a file by its name, first and again',
    await ask({ ask: 'find file', at: main, words: 'file4711', count: 50 }),
    'ms',
  )
  say('', await ask({ ask: 'find file', at: main, words: 'ar7fi99', count: 50 }), 'ms')
  say('history, the first 100 and then the last', await ask({ ask: 'history', at: main, from: 0, count: 100 }), 'ms')
  say('', await ask({ ask: 'history', at: main, from: 40_000, count: 100 }), 'ms')
  const tip = await git(repository, 'rev-parse', 'main')
  say('a commit', await ask({ ask: 'commit', commit: tip.slice(0, 10) }), 'ms')
  say(
    'changes from another branch',
    await ask({ ask: 'changes', from: { kind: 'branch', branch: 'fork' }, to: main }),
    'ms',
  )
  const find = async () => {
    const question = { ask: 'find text', at: main, words: 'edit 49', isRegex: false, matchCase: true } as const
    const { search } = (await window.ask(question)) as { search: number }
    await window.heard('found', news => news.search === search && news.isDone)
  }
  await find()
  const [found, bareGit] = [[] as number[], [] as number[]]
  for (let round = 0; round < ROUNDS; round++) {
    found.push(await timed(find))
    bareGit.push((await time(['git', 'grep', '-n', '-I', '-F', 'edit 49', 'main'], { cwd: repository, env })).wall)
  }
  say('find text in all files', median(found), 'ms')
  say('git grep', median(bareGit), 'ms')
  const after = await memory(child.pid)
  say('memory of the server after all this', after.own, 'MiB')
  say('and with the gits that it keeps', after.all, 'MiB')
  window.socket.close()
  child.kill('SIGINT')
  await child.exited
} finally {
  await rm(folder, { recursive: true, force: true })
}
